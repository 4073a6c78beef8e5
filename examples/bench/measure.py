"""Measures what covsched costs: every program of this folder in every mode, interleaved, against native.

A mode is one row of MODES, a program one row of PROGRAMS. What is timed is the program's own process, from its
start to its end; for recording that leaves out what `covsched record` does afterwards, when it turns the
recording into a schedule file. The report goes to standard output and to docs/benchmarks.md.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INSTALL = pathlib.Path(os.environ.get("COVSCHED_INSTALL") or ROOT / "target" / "install")

# Size: for the time, with 4 threads. Small: for the instruction counts, with 1 thread, fifty times slower.
Program = collections.namedtuple("Program", "name threads size small")
PROGRAMS = [
    Program("matmul", 4, 1024, 192),
    Program("fft", 4, 21, 14),
    Program("radix_sort", 4, 16000000, 400000),
    Program("stencil", 4, 1024, 128),
    Program("nbody", 4, 7000, 600),
    Program("task_queue", 4, 14, 10),
    Program("compressor", 4, 4000, 60),
    Program("echo_server", 4, 60000, 20000),
    Program("lock100ns", 4, 1500000, 30000),
]

# Build: which executable. Options: what COVSCHED_OPTIONS says, LOG standing for an empty folder.
Mode = collections.namedtuple("Mode", "name build options")
MODES = [
    Mode("native", "native", None),
    Mode("off", "covsched", None),
    Mode("recording", "covsched", "mode=record:log='LOG'"),
]


def build(program, work):
    source, flags = HERE / f"{program.name}.c", ["-O2", "-pthread", "-lm"]
    for name, compiler in ("native", "clang-16"), ("covsched", INSTALL / "bin" / "covsched-cc"):
        subprocess.run([compiler, source, *flags, "-o", work / f"{program.name}.{name}"], check=True)


def run(program, mode, work, size, threads, prefix=()):
    """One run in one mode: seconds, standard output, standard error."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COVSCHED_")}
    # Where `covsched record` keeps a recording too.
    log = tempfile.mkdtemp(prefix="covsched-bench-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else work)
    if mode.options:
        environment["COVSCHED_OPTIONS"] = mode.options.replace("LOG", log)
    command = [*prefix, work / f"{program.name}.{mode.build}", str(threads), str(size)]
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    seconds = time.perf_counter() - start
    if mode.options and not os.listdir(log):
        sys.exit(f"{program.name} recorded nothing")
    shutil.rmtree(log)
    if done.returncode != 0:
        sys.exit(f"{program.name}, {mode.name}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return seconds, done.stdout, done.stderr


def measure_time(program, work, repetitions):
    """{mode: seconds of each repetition}. The modes take turns, and another one begins each time."""
    seconds, outputs = collections.defaultdict(list), set()
    for repetition in range(-1, repetitions):
        for turn in range(len(MODES)):
            mode = MODES[(repetition + turn) % len(MODES)]
            took, output, _ = run(program, mode, work, program.size, program.threads)
            outputs.add(output)
            if repetition >= 0:  # the first round warms up
                seconds[mode.name].append(took)
    if len(outputs) != 1:
        sys.exit(f"{program.name} gives different results: {outputs}")
    return seconds


def measure_instructions(program, work):
    """{mode: instructions} of a small run with one thread, by callgrind."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    counts = {}
    for mode in MODES:
        _, _, errors = run(program, mode, work, program.small, 1, valgrind)
        counts[mode.name] = int(re.search(r"Collected : (\d+)", errors).group(1))
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=30, help="of each program in each mode")
    parser.add_argument("--only", help="one program; nothing is written")
    parser.add_argument("--no-instructions", action="store_true", help="skip callgrind")
    options = parser.parse_args()
    programs = [p for p in PROGRAMS if options.only in (None, p.name)] or sys.exit(f"no program {options.only}")
    times, counts = {}, {}
    with tempfile.TemporaryDirectory(prefix="covsched-bench-") as folder:
        work = pathlib.Path(folder)
        for program in programs:
            print(f"measuring {program.name}", file=sys.stderr, flush=True)
            build(program, work)
            times[program.name] = measure_time(program, work, options.repetitions)
            if not options.no_instructions:
                counts[program.name] = measure_instructions(program, work)
    text = report.write([mode.name for mode in MODES], times, counts, ROOT)
    print(text)
    if not options.only:
        (ROOT / "docs" / "benchmarks.md").write_text(text, encoding="utf-8")


main()
