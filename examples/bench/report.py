"""Turns measurements into docs/benchmarks.md: ratios to native, side by side, and the targets beside them."""

import datetime
import os
import platform
import subprocess

import figures

# What DESIGN.md section 9 asks for: mode -> (geometric mean, worst case), None where it names none.
TARGETS = {"off": (1.01, 1.05), "recording": (1.05, None)}


def first_line(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, **more).stdout.split("\n")[0]


def machine(root):
    with open("/proc/cpuinfo", encoding="utf-8") as text:
        models = [line.split(":")[1].strip() for line in text if line.startswith("model name")]
    load = os.getloadavg()[2]
    return [
        f"- machine: {os.cpu_count()} x {models[0] if models else platform.machine()}, Linux {platform.release()}; "
        f"load average over the last 15 minutes, this benchmark included: {load:.1f}",
        f"- date: {datetime.date.today().isoformat()}, covsched at commit "
        + first_line("git", "-C", str(root), "describe", "--always", "--dirty"),
        f"- {first_line('clang-16', '--version')}; {first_line('rustc', '--version')}; "
        + first_line("ldd", "--version"),
    ]


def table(header, rows):
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def ratio(values):
    low, high = figures.interval(values)
    return f"{figures.median(values):.3f} [{low:.3f}, {high:.3f}]"


def write(modes, times, counts, root):
    others = [mode for mode in modes if mode != "native"]
    # Pairs of one repetition: what slows the whole machine for a while slows both.
    ratios = {
        program: {mode: [a / b for a, b in zip(seconds[mode], seconds["native"])] for mode in others}
        for program, seconds in times.items()
    }
    repetitions = len(next(iter(times.values()))["native"])
    rows = [
        [program, f"{figures.median(times[program]['native']):.3f} s", *(ratio(ratios[program][m]) for m in others)]
        for program in times
    ]
    means = {m: [figures.geomean(one) for one in zip(*(ratios[p][m] for p in times))] for m in others}
    rows.append(["**geometric mean**", "", *(ratio(means[m]) for m in others)])
    lines = [
        "# What covsched costs",
        "",
        "Written by `scripts/bench`; do not edit. The programs are in examples/bench.",
        "",
        *machine(root),
        f"- {repetitions} repetitions of each program in each mode, interleaved; ratio to the native run of the same",
        "  repetition, median and 95% interval (order statistics); 4 threads; both builds with -O2",
        "- recording: the program's own time; turning the recording into a schedule file comes after it",
        "",
        "## Time",
        "",
        *table(["program", "native", *others], rows),
        "",
        "## Targets",
        "",
        *table(["mode", "geometric mean", "target", "worst case", "target", "met"], targets(others, ratios, means)),
    ]
    if counts:
        lines += ["", "## Instructions", "", "`valgrind --tool=callgrind`, one thread, small sizes.", ""]
        rows = [
            [p, f"{c['native']:,}", *(f"{c[m] / c['native']:.4f}" for m in others)] for p, c in counts.items()
        ]
        means = [figures.geomean([c[m] / c["native"] for c in counts.values()]) for m in others]
        rows.append(["**geometric mean**", "", *(f"{mean:.4f}" for mean in means)])
        lines += table(["program", "native", *others], rows)
    return "\n".join(lines) + "\n"


def targets(others, ratios, means):
    rows = []
    for mode in others:
        mean = figures.median(means[mode])
        worst, name = max((figures.median(ratios[p][mode]), p) for p in ratios)
        mean_target, worst_target = TARGETS.get(mode, (None, None))
        met = mean <= (mean_target or mean) and worst <= (worst_target or worst)
        rows.append(
            [
                mode,
                f"{mean:.3f}",
                f"<= {mean_target:.2f}" if mean_target else "-",
                f"{worst:.3f} ({name})",
                f"<= {worst_target:.2f}" if worst_target else "-",
                "yes" if met else "no",
            ]
        )
    return rows
