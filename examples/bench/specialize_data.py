"""Measures data-flow specialization on the kernels of examples/kernels, and the points-to analysis on bitcode that is given.

Each kernel is built with -O2 and debug info, recorded on the arguments that its head names, and specialized: control flow
alone, and control and data flow. The pass says its own time and counts (--stats, --facts); memory is what the system says of
the process. Points-to analysis is measured by `opt` on files that --bitcode names: programs of a size that no example has.
`specialize_data.py --bitcode FILE.bc...` prints that table alone.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import figures
import report
from specialize_speed import synchronizations, use

HERE = pathlib.Path(__file__).resolve().parent
KERNELS = HERE.parent / "kernels"
DEBUG_FILE = re.compile(r'!DIFile\(filename: "([^"]*)", directory: "([^"]*)"')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
HEAD = re.compile(r"^// (RECORDED|FLAGS):(.*)$", re.MULTILINE)

# Issue: data flow of each program in a minute, with less than 4 GiB; points-to of 100,000 lines in a minute.
TARGET_SECONDS, TARGET_MEGABYTES, TARGET_POINTS_TO = 60, 4096, 60

# `told` is what --stats says, `found` the summary of --facts; of the last repetition. Times of all of them.
Row = collections.namedtuple("Row", "name arguments lines synchronizations told found controls datas commands")
# Of a file: lines of source, figures by what is counted, memory.
PointsTo = collections.namedtuple("PointsTo", "name lines figures memory")

KINDS = """\
Lines: of code, without comments and blank lines. Synchronizations: of the schedule. Constraints: conditions and equalities that the
solver had, in the round that had most. Queries: questions to the solver; with those that were answered without it, and those
that it did not answer in time. Constants: values that were proven constant, branches that were decided, loops that became
straight code. Apart: pairs of accesses by two threads that the schedule does not order and whose pointers may point to the same
object, one of them a write; of how many it was proven that they never meet. Control and data: seconds of the pass;
memory: the peak of the whole command."""

POINTS_TO = """\
`opt -passes='print<covsched-points-to>'`, one run each; seconds are the analysis's own, memory the peak of the whole process,
which has read the bitcode. Lines: of the source files that debug info names, without comments and blank lines. Mean set:
locations that the pointer of a load or store may point to, on average; all unknown memory counts as one location, and
external are the loads and stores that may touch it."""


def head_of(source):
    """What a kernel says of itself: arguments, flags."""
    said = {name: words.split() for name, words in HEAD.findall(source.read_text(encoding="utf-8"))}
    return said["RECORDED"], said.get("FLAGS", [])


def lines_of(source):
    """Lines of code."""
    stripped = (line.strip() for line in source.read_text(encoding="utf-8").split("\n"))
    return sum(1 for line in stripped if line and not line.startswith("//"))


def lines_behind(bitcode):
    """Lines of code in the source files that debug info names, as far as they are there."""
    text = subprocess.run(["llvm-dis-16", bitcode, "-o", "-"], check=True, capture_output=True, text=True).stdout
    files = {os.path.join(folder, name) for name, folder in DEBUG_FILE.findall(text)}
    count = 0
    for file in map(pathlib.Path, sorted(files)):
        if file.is_file():
            code = COMMENT.sub("", file.read_text(encoding="utf-8", errors="replace"))
            count += sum(1 for line in code.split("\n") if line.strip())
    return count


def measure_one(source, work, covsched, repetitions):
    arguments, flags = head_of(source)
    app, schedule, stats, facts = work / source.stem, work / "sched", work / "stats.json", work / "facts.json"
    subprocess.run([f"{covsched}-cc", "-O2", "-g", "-pthread", source, *flags, "-o", app], check=True)
    use([covsched, "record", "-o", schedule, "--", app, *arguments], stdout=subprocess.DEVNULL)
    command = [covsched, "specialize", app, "--schedule", schedule, "--stats", stats, "-o", work / "spec.bc"]
    controls, datas, commands = [], [], []
    for _ in range(repetitions):
        use([*command, "--control-only"])
        controls.append(json.loads(stats.read_text(encoding="utf-8"))["seconds"]["control"])
        commands.append(use([*command, "--facts", facts]))
        told = json.loads(stats.read_text(encoding="utf-8"))
        datas.append(told["seconds"]["data"])
    found = json.loads(facts.read_text(encoding="utf-8"))["summary"]
    count, lines = synchronizations(schedule), lines_of(source)
    return Row(source.stem, " ".join(arguments), lines, count, told, found, controls, datas, commands)


def measure(covsched, repetitions, only=None):
    """The rows, by kernel."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="covsched-bench-") as folder:
        for source in sorted(KERNELS.glob("*.c")):
            if only in (None, source.stem):
                print(f"specializing {source.stem}", file=sys.stderr, flush=True)
                rows.append(measure_one(source, pathlib.Path(folder), covsched, repetitions))
    return rows


def measure_points_to(plugin, files):
    """The rows, by file."""
    rows = []
    for file in map(pathlib.Path, files):
        print(f"points-to of {file.name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryFile("w+") as errors:
            command = ["opt-16", f"-load-pass-plugin={plugin}", "-passes=print<covsched-points-to>", "-disable-output", file]
            used = use(command, stderr=errors)
            errors.seek(0)
            said = errors.read()
        line = re.search(r"^covsched: points-to: (.*)$", said, re.MULTILINE)
        if not line:
            sys.exit(f"{file}: no figures in: {said[:500]}")
        rows.append(PointsTo(file.stem, lines_behind(file), read_figures(line.group(1)), used.memory))
    return rows


def read_figures(line):
    """`12 functions, mean set 1.25, 5 accesses (2 external), 0.10 s` by what is counted."""
    found = {}
    for part in re.split(r", | \(|\)", line):
        if words := re.fullmatch(r"([\d.]+) (\S+)", part):
            found[words.group(2)] = float(words.group(1))
        elif words := re.fullmatch(r"(\D+?) ([\d.]+)", part):
            found[words.group(1)] = float(words.group(2))
    return found


def memory(row):
    return max(used.memory for used in row.commands)


def kernel_table(rows):
    header = ["program", "arguments", "lines", "synchronizations", "constraints", "rounds", "queries (fast, unknown)"]
    header += ["constants", "branches", "loops", "apart", "control", "data", "memory"]
    table = []
    for row in rows:
        told, found = row.told, row.found
        queries = f"{told['solver_queries']:,} ({told['fast_answers']:,}, {told['solver_unknown']:,})"
        counts = [f"{told[key]:,}" for key in ("constants", "branches_folded", "loops_unrolled")]
        times = [f"{figures.median(seconds):.3f} s" for seconds in (row.controls, row.datas)]
        table.append(
            [row.name, row.arguments, row.lines, row.synchronizations, f"{told['constraints']:,}", told["iterations"], queries]
            + [*counts, f"{found['disjoint']} of {found['pairs']}", *times, f"{memory(row):.0f} MB"]
        )
    return report.table(header, table)


def points_to_table(rows):
    keys = ["functions", "instructions", "objects", "constraints", "accesses", "external", "mean set", "largest"]
    shown = lambda row, key: f"{row.figures[key]:,.2f}" if key == "mean set" else f"{row.figures[key]:,.0f}"
    table = [
        [row.name, f"{row.lines:,}", *(shown(row, key) for key in keys), f"{row.figures['s']:.2f} s", f"{row.memory:.0f} MB"]
        for row in rows
    ]
    return report.table(["program", "lines", *keys, "time", "memory"], table)


def points_to_target(rows):
    """Whether the target is met, in words."""
    slowest = max((row.figures["s"], row.name) for row in rows)
    largest = max((row.memory, row.name) for row in rows)
    met = slowest[0] <= TARGET_POINTS_TO and largest[0] < TARGET_MEGABYTES
    return (
        f"Target: {TARGET_POINTS_TO} s each, with less than 4 GiB: {slowest[0]:.2f} s ({slowest[1]}), "
        f"{largest[0]:.0f} MB ({largest[1]}); met: {'yes' if met else 'no'}."
    )


def write(rows, points_to, root):
    """The report."""
    slowest = max((figures.median(row.datas), row.name) for row in rows)
    largest = max((memory(row), row.name) for row in rows)
    met = slowest[0] <= TARGET_SECONDS and largest[0] < TARGET_MEGABYTES
    lines = [
        "# How fast data-flow specialization is, and what it finds",
        "",
        "Written by `scripts/bench`; do not edit. The programs are in examples/kernels.",
        "",
        *report.machine(root),
        f"- {len(rows[0].datas)} repetitions, medians; programs built with -O2 -g",
        "",
        "## Kernels",
        "",
        *KINDS.split("\n"),
        "",
        *kernel_table(rows),
        "",
        f"Targets: data flow in {TARGET_SECONDS} s each, with less than 4 GiB: {slowest[0]:.2f} s ({slowest[1]}), "
        f"{largest[0]:.0f} MB ({largest[1]}); met: {'yes' if met else 'no'}.",
    ]
    if points_to:
        lines += [
            "",
            "## Points-to analysis of large programs",
            "",
            *POINTS_TO.split("\n"),
            "",
            *points_to_table(points_to),
            "",
            points_to_target(points_to),
        ]
    return "\n".join(lines) + "\n"


def main():
    """The points-to analysis alone."""
    installed = os.environ.get("COVSCHED_INSTALL") or HERE.parent.parent / "target" / "install"
    parser = argparse.ArgumentParser(description="measures the points-to analysis")
    parser.add_argument("--plugin", default=pathlib.Path(installed) / "lib" / "covsched" / "libcovsched.so")
    parser.add_argument("--bitcode", nargs="+", required=True, help="programs")
    options = parser.parse_args()
    rows = measure_points_to(options.plugin, options.bitcode)
    print("\n".join([*points_to_table(rows), "", points_to_target(rows)]))


if __name__ == "__main__":
    main()
