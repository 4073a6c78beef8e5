"""Turns measurements into the reports in docs: ratios to native, side by side, and the targets beside them."""

import collections
import datetime
import os
import platform
import subprocess

import figures
import steal

# What DESIGN.md section 9 asks for: mode -> (geometric mean, worst case), None where it names none.
TARGETS = {"off": (1.01, 1.05), "recording": (1.05, None), "enforce hb": (1.05, 1.25), "loom idle": (1.01, 1.04)}

# Of all builds, where a report does not name others.
FLAGS = ["-O2"]

# The names of the modes, native first; those that enforce; how many threads the main table has.
Modes = collections.namedtuple("Modes", "all enforcing threads")

ENFORCING = """\
One schedule a program and number of threads; ratio to native with as many threads. Under the happens-before order
threads wait for each other only where they shared something when they were recorded. Under the total order each
synchronization waits for the one before it, whatever thread that was in: threads that have nothing to do with each
other take turns, and where the recorded order changes threads often, each change is a hand-over from one processor to
another, or the wake-up of a sleeping thread, in place of a lock that nobody else wanted. With more threads
than processors the thread whose turn it is may also be one that does not run."""


EPOCHS = """\
A build with `covsched cc --epochs`, ratio to native. Off: the markers are there and do nothing. `epochs=barrier`, not
recorded: a thread at a marker waits until every other is at one, is blocked or has ended; at each marker or, with
`epoch-markers=64`, at one of 64. Bergan's runtime, whose threads run in epochs and follow a schedule in each, takes
1.0 to 1.6 times as long as native (Table 3.5: 1.0 for programs with long epochs, 1.6 for pfscan, a queue of tasks with
some 6,000 instructions an epoch)."""


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


def ratios_to_native(times, modes):
    """{program: {mode: ratios}}, of pairs of one repetition: what slows the whole machine for a while slows both."""
    return {
        program: {mode: [a / b for a, b in zip(seconds[mode], seconds["native"])] for mode in modes}
        for program, seconds in times.items()
    }


def geometric_mean(ratios, mode):
    """Over the programs' medians, with its interval. (That of each repetition, and the median of these, would let one disturbed run of one
    program count for all programs of its repetition.)"""
    return figures.geomean_of_medians([modes[mode] for modes in ratios.values()])


def head(modes, times, root, flags=FLAGS):
    """What every report begins with, and the ratios."""
    repetitions = len(next(iter(times.values()))["native"])
    return [
        "Written by `scripts/bench`; do not edit. The programs are in examples/bench.",
        "",
        *machine(root),
        f"- {repetitions} repetitions of each program in each mode, interleaved; ratio to the native run of the same",
        f"  repetition, median and 95% interval (order statistics); {modes.threads} threads; all builds with {' '.join(flags)}",
        "- geometric means are those of the programs' medians, with a 95% interval (bootstrap); what takes seconds is repeated less often",
        steal.describe(),
    ]


def times_of_all(modes, times):
    """The table of all programs and modes."""
    others = modes.all[1:]
    ratios = ratios_to_native(times, others)
    rows = [
        [program, f"{figures.median(times[program]['native']):.3f} s", *(ratio(ratios[program][m]) for m in others)]
        for program in times
    ]
    means = [geometric_mean(ratios, mode) for mode in others]
    rows.append(["**geometric mean**", "", *(f"{mean:.3f} [{low:.3f}, {high:.3f}]" for mean, low, high in means)])
    worst = [max((figures.median(of[mode]), program) for program, of in ratios.items()) for mode in others]
    rows.append(["worst", "", *(f"{value:.3f} ({program})" for value, program in worst)])
    return ratios, table(["program", "native", *others], rows)


def instructions(modes, counts):
    """The table of instruction counts, with its heading."""
    if not counts:
        return []
    counted = [mode for mode in modes.all[1:] if mode in next(iter(counts.values()))]
    rows = [[p, f"{c['native']:,}", *(f"{c[m] / c['native']:.4f}" for m in counted)] for p, c in counts.items()]
    means = [figures.geomean([c[m] / c["native"] for c in counts.values()]) for m in counted]
    rows.append(["**geometric mean**", "", *(f"{mean:.4f}" for mean in means)])
    said = "`valgrind --tool=callgrind`, one thread, small sizes."
    return ["", "## Instructions", "", said, "", *table(["program", "native", *counted], rows)]


def write(modes, all_times, counts, root):
    """The main report. `all_times`: {threads: {program: {mode: seconds}}}."""
    times = all_times[modes.threads]
    ratios, rows = times_of_all(modes, times)
    lines = [
        "# What covsched costs",
        "",
        *head(modes, times, root),
        "- recording: the program's own time; turning the recording into a schedule file comes after it",
        "- enforcing: the program's own time; turning the schedule into a plan comes before it",
        "- epochs have a [report of their own](benchmarks-epochs.md), and so has the "
        "[speed of specialization](benchmarks-specialize.md)",
        "",
        "## Time",
        "",
        *rows,
        "",
        "## Targets",
        "",
        *targets(modes.all[1:], ratios),
    ]
    if len(all_times) > 1:
        lines += ["", "## Enforcing with more and fewer threads", "", *ENFORCING.split("\n"), ""]
        lines += by_threads(modes, all_times)
    return "\n".join(lines + instructions(modes, counts)) + "\n"


def write_epochs(modes, all_times, counts, root):
    """The report on epochs."""
    times = all_times[modes.threads]
    _, rows = times_of_all(modes, times)
    lines = ["# What epochs cost", "", *head(modes, times, root), "", "## Time", "", *EPOCHS.split("\n"), "", *rows]
    return "\n".join(lines + instructions(modes, counts)) + "\n"


def by_threads(modes, all_times):
    """The ratios of the modes in `enforcing`, by the number of threads."""
    columns = [(mode, threads) for mode in modes.enforcing for threads in sorted(all_times)]
    ratios = {threads: ratios_to_native(times, modes.enforcing) for threads, times in all_times.items()}
    rows = [
        [program, *(f"{figures.median(ratios[threads][program][mode]):.3f}" for mode, threads in columns)]
        for program in all_times[modes.threads]
    ]
    means = [geometric_mean(ratios[threads], mode)[0] for mode, threads in columns]
    rows.append(["**geometric mean**", *(f"{mean:.3f}" for mean in means)])
    counts = {threads: len(next(iter(times.values()))["native"]) for threads, times in sorted(all_times.items())}
    said = ", ".join(f"{count} with {threads} threads" for threads, count in counts.items())
    header = [f"{mode}, {threads}" for mode, threads in columns]
    return [f"Medians; repetitions: {said}.", "", *table(["program", *header], rows)]


def targets(others, ratios):
    """The table of what DESIGN.md asks for."""
    rows = []
    for mode in others:
        mean = geometric_mean(ratios, mode)[0]
        worst, name = max((figures.median(ratios[p][mode]), p) for p in ratios)
        mean_target, worst_target = TARGETS.get(mode, (None, None))
        reached = mean <= (mean_target or mean) and worst <= (worst_target or worst)
        met = "-" if mode not in TARGETS else "yes" if reached else "no"
        rows.append(
            [
                mode,
                f"{mean:.3f}",
                f"<= {mean_target:.2f}" if mean_target else "-",
                f"{worst:.3f} ({name})",
                f"<= {worst_target:.2f}" if worst_target else "-",
                met,
            ]
        )
    return table(["mode", "geometric mean", "target", "worst case", "target", "met"], rows)
