"""Measures specialization: time and memory by the length of the schedule, and how long the results take to compile.

The programs are those of specialize/: loops around a barrier, a lock and a queue with condition variables. Each is built
with -O2 and debug info and recorded with the sizes that make some 500, 5,000 and 50,000 synchronizations; the command is
`covsched specialize --control-only`. The pass says its own time (--stats); the command's time, its processor time
and its peak memory are what the system says of the process.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import figures
import report

HERE = pathlib.Path(__file__).resolve().parent

# Size: that makes some 500 synchronizations with this many threads.
Program = collections.namedtuple("Program", "name size")
PROGRAMS = [Program("barrier_loop", 125), Program("lock_loop", 62), Program("queue_loop", 76)]
THREADS = 4
FACTORS = (1, 10, 100)
# The results that are compiled are those of these, at these levels.
COMPILED_FACTORS, LEVELS = (1, 10), ("-O0", "-O1", "-O2")

# Issue: 5,000 synchronizations in a second.
TARGET_FACTOR, TARGET_SECONDS = 10, 1.0

# Seconds on the clock, seconds of processors, peak memory in megabytes.
Used = collections.namedtuple("Used", "wall processor memory")
# Of one program and size. Synchronizations: what the program did, a wait once. Size of the bitcode in megabytes.
Row = collections.namedtuple("Row", "name factor synchronizations blocks passes commands bitcode compiles")

TIME = """\
Pass: `seconds.control` of `--stats`. Command: all of `covsched specialize`, which also reads the schedule and checks it,
reads the program, verifies the result and writes it; its processor time and its peak memory stand beside it. Growth: the
time a synchronization takes (pass; processor time of the command), as a multiple of the row before; 1 is linear, less
is what a program costs whatever its schedule. Every synchronization becomes code of its own, which is what the memory is."""

COMPILE = """\
`covsched cc` of the result, processor seconds, compiled and linked, once. A specialized program is long and straight where
the original is a loop; the optimizer is LLVM's own, and some of its passes take more than linear time in that: most of
all those for loops, where a loop with a synchronization has other loops in it, of which there then are thousands in
one function."""


def use(command, **more):
    """Runs a command: what it used."""
    start = time.perf_counter()
    process = subprocess.Popen(command, **more)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {process.returncode}")
    return Used(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def synchronizations(schedule):
    """How many there are: no calls, and a wait counts when it ends."""
    count, are_events = 0, False
    with open(schedule, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if are_events and words[0] != "end":
                count += words[1] not in ("call", "entry") and words[2] != "begin"
            are_events = are_events or words[:1] == ["events"]
    return count


def measure_one(program, factor, app, work, covsched, repetitions):
    schedule, bitcode, stats = work / "sched", work / "spec.bc", work / "stats.json"
    arguments = [str(THREADS), str(program.size * factor)]
    use([covsched, "record", "-o", schedule, "--", app, *arguments], stdout=subprocess.DEVNULL)
    command = [covsched, "specialize", app, "--schedule", schedule, "--control-only", "--stats", stats, "-o", bitcode]
    passes, commands = [], []
    for _ in range(repetitions):
        commands.append(use(command))
        told = json.loads(stats.read_text(encoding="utf-8"))
        passes.append(told["seconds"]["control"])
    compiles = {}
    for level in LEVELS if factor in COMPILED_FACTORS else ():
        compile_it = [f"{covsched}-cc", level, "-pthread", bitcode, "-o", work / "special"]
        compiles[level] = use(compile_it).processor
    size = bitcode.stat().st_size / 1e6
    return Row(program.name, factor, synchronizations(schedule), told["blocks"], passes, commands, size, compiles)


def measure(covsched, repetitions, only=None):
    """The rows, by program and size."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="covsched-bench-") as folder:
        work = pathlib.Path(folder)
        for program in [p for p in PROGRAMS if only in (None, p.name)]:
            app = work / program.name
            source = HERE / "specialize" / f"{program.name}.c"
            subprocess.run([f"{covsched}-cc", "-O2", "-g", "-pthread", source, "-o", app], check=True)
            for factor in FACTORS:
                print(f"specializing {program.name}, size {program.size * factor}", file=sys.stderr, flush=True)
                rows.append(measure_one(program, factor, app, work, covsched, repetitions))
    return rows


def used(row, what):
    return figures.median([getattr(one, what) for one in row.commands])


def growths(row, before):
    """Of the pass and of the command, against the row before."""
    if not before or before.name != row.name:
        return "-"
    more = row.synchronizations / before.synchronizations
    of_pass = figures.median(row.passes) / figures.median(before.passes) / more
    of_command = used(row, "processor") / used(before, "processor") / more
    return f"{of_pass:.2f}; {of_command:.2f}"


def write(rows, root):
    """The report."""
    header = ["program", "synchronizations", "blocks", "pass", "command", "processor", "memory", "bitcode", "growth"]
    table = [
        [
            row.name,
            f"{row.synchronizations:,}",
            f"{row.blocks:,}",
            f"{figures.median(row.passes):.3f} s",
            f"{used(row, 'wall'):.2f} s",
            f"{used(row, 'processor'):.2f} s",
            f"{used(row, 'memory'):.0f} MB",
            f"{row.bitcode:.1f} MB",
            growths(row, before),
        ]
        for row, before in zip(rows, [None, *rows])
    ]
    compiled = [
        [row.name, f"{row.synchronizations:,}", *(f"{row.compiles[level]:.1f} s" for level in LEVELS)]
        for row in rows
        if row.compiles
    ]
    slowest = max((used(row, "wall"), row.name) for row in rows if row.factor == TARGET_FACTOR)
    met = "yes" if slowest[0] <= TARGET_SECONDS else "no"
    target = f"Target: 5,000 synchronizations in {TARGET_SECONDS:.0f} s, the whole command: "
    lines = [
        "# How fast specialization is",
        "",
        "Written by `scripts/bench`; do not edit. The programs are in examples/bench/specialize.",
        "",
        *report.machine(root),
        f"- {len(rows[0].commands)} repetitions, medians; {THREADS} threads and the main thread; programs built with -O2 -g",
        "",
        "## Time and memory",
        "",
        *TIME.split("\n"),
        "",
        *report.table(header, table),
        "",
        f"{target}{slowest[0]:.2f} s ({slowest[1]}); met: {met}.",
        "",
        "## Compiling the result",
        "",
        *COMPILE.split("\n"),
        "",
        *report.table(["program", "synchronizations", *LEVELS], compiled),
    ]
    return "\n".join(lines) + "\n"
