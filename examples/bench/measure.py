"""Measures what covsched costs: every program of this folder in every mode, interleaved, against native.

A mode is one row of MODES, a program one row of PROGRAMS. What is timed is the program's own process, from its
start to its end. For recording that leaves out what `covsched record` does afterwards, when it turns the recording
into a schedule file; for enforcing what `covsched run` does before, when it turns the schedule into a plan. A program
is recorded once for its enforced runs, which must follow that schedule to its end. Epochs are measured with a build of
their own, which has markers: off, and with every marker as a barrier, or one of 64, not recorded. They are a part of
their own, so that each part can be measured again without the others; the speed of specialization (specialize_speed.py)
is the third, what data flow finds and takes (specialize_data.py) the fourth, and execution filters (loom_cost.py) the fifth. The
reports go to standard output and to docs/benchmarks.md, docs/benchmarks-epochs.md, docs/benchmarks-specialize.md,
docs/benchmarks-data.md and docs/benchmarks-loom.md.
"""

import argparse
import collections
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

import loom_cost
import report
import specialize_data
import specialize_speed
import steal

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INSTALL = pathlib.Path(os.environ.get("COVSCHED_INSTALL") or ROOT / "target" / "install")
COVSCHED = INSTALL / "bin" / "covsched"
PLUGIN = INSTALL / "lib" / "covsched" / "libcovsched.so"

# Name: of a file, or of a folder with several. Size: for the time. Small: for the instruction counts, with 1 thread, fifty times
# slower. Long: in place of `size` where nothing is recorded, if that would be too short to tell a per cent from what a program pays once.
Program = collections.namedtuple("Program", "name size small long", defaults=(None,))
PROGRAMS = [
    Program("matmul", 1024, 192),
    Program("fft", 21, 14),
    Program("radix_sort", 16000000, 400000),
    Program("stencil", 1024, 128),
    Program("nbody", 7000, 600),
    Program("task_queue", 14, 10, long=15),
    Program("compressor", 4000, 60),
    Program("echo_server", 60000, 20000),
    Program("lock100ns", 200000, 30000, long=1000000),
]
STARTUP = Program("startup", 1, 1)
# The opposite of a kernel: calls of small functions from file to file. With loom only, and beside the targets.
INTERPRETER = Program("interpreter", 1500, 12)

# Build: which executable. Options: what COVSCHED_OPTIONS says, LOG standing for an empty folder. Order: the one to
# enforce, by `covsched run`. Most: no more repetitions than that, where a mode only stands beside others.
Mode = collections.namedtuple("Mode", "name build options order most", defaults=(None, None, None))
NATIVE = Mode("native", "native")
ENFORCING = [Mode("enforce hb", "covsched", order="hb"), Mode("enforce total", "covsched", order="total")]
EPOCHS = [
    Mode("epochs off", "epochs"),
    Mode("epochs=barrier", "epochs", "epochs=barrier"),
    Mode("epochs=barrier, 64 markers", "epochs", "epochs=barrier:epoch-markers=64"),
]
# The same executable twice tells how much of a ratio is noise.
AGAIN, IDLE = Mode("native again", "native"), Mode("loom idle", "loom")
XRAY = Mode("XRay, unpatched", "xray", most=30)
LOOM = [NATIVE, AGAIN, XRAY, IDLE]
LOOM_INTERPRETER = [NATIVE, AGAIN, XRAY, Mode("covsched cc, off", "covsched"), IDLE]
# Another build each: without an optimization of the pass.
LOOM_WITHOUT = [Mode(name, f"loom-{flag}") for name, flag in loom_cost.WITHOUT.items()]
LOOM_FILTERS = [Mode("rare line", "loom", "filter='PLANS.rare.plan'"), Mode("often", "loom", "filter='PLANS.often.plan'")]
MAIN = [NATIVE, Mode("off", "covsched"), Mode("recording", "covsched", "mode=record:log='LOG'"), *ENFORCING]

# The main table's, and those that the enforcing modes, and loom, are measured with besides.
THREADS, OTHER_THREADS, LOOM_THREADS = 4, (2, 8), (2, 8, 16, 32)

# A mode that takes longer than so many seconds is not measured more often than that.
SLOW_SECONDS, SLOW_REPETITIONS = 2, 3

# Of each specialization.
SPECIALIZE_REPETITIONS = 5


# How the builds that modes name are made.
CC = INSTALL / "bin" / "covsched-cc"
COMPILERS = {
    "native": ["clang-16"],
    "covsched": [CC],
    "epochs": [CC, "--epochs"],
    "xray": ["clang-16", "-fxray-instrument"],
    "loom": [CC, "--loom"],
    **{f"loom-{flag}": [CC, f"--loom={flag}"] for flag in loom_cost.WITHOUT.values()},
}


def sources(program):
    folder = HERE / program.name
    return sorted(folder.glob("*.c")) if folder.is_dir() else [HERE / f"{program.name}.c"]


def build(program, work, modes, flags=report.FLAGS):
    for name in {mode.build for mode in modes} | {"native"}:
        app = work / f"{program.name}.{name}"
        subprocess.run([*COMPILERS[name], *flags, *sources(program), "-pthread", "-lm", "-o", app], check=True)


def record(program, work, threads):
    """The schedule that the enforced runs with so many threads follow."""
    schedule = work / f"{program.name}.sched"
    command = [COVSCHED, "record", "-o", schedule, "--", work / f"{program.name}.covsched", str(threads)]
    subprocess.run([*command, str(program.size)], check=True, stdout=subprocess.DEVNULL)
    return schedule


def ended(process, timeout):
    """Its exit code, as soon as it ends. `Popen.wait` with a timeout looks every 50 ms, which is a fifth of what most runs take."""
    descriptor = os.pidfd_open(process.pid)
    try:
        if not select.select([descriptor], [], [], timeout)[0]:
            process.kill()
            sys.exit(f"{process.args}: not within {timeout} s")
    finally:
        os.close(descriptor)
    return process.wait()


def run(program, mode, work, size, threads, prefix=()):
    """One run in one mode: seconds, standard output, standard error."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COVSCHED_")}
    # Where `covsched record` keeps a recording too.
    log = tempfile.mkdtemp(prefix="covsched-bench-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else work)
    if mode.options:
        options = mode.options.replace("LOG", log).replace("PLANS", str(work / program.name))
        environment["COVSCHED_OPTIONS"] = options
    command = [*prefix, work / f"{program.name}.{mode.build}", str(threads), str(size)]
    if mode.order:
        own_time = os.path.join(log, "time")
        enforce = [COVSCHED, "run", "-v", "--schedule", work / f"{program.name}.sched", "--order", mode.order]
        command = [*enforce, "--time", own_time, "--", *command]
    # Into files: to read from pipes meanwhile would take time of the program's.
    output, errors = work / "output", work / "errors"
    with open(output, "wb") as output_file, open(errors, "wb") as errors_file:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=output_file, stderr=errors_file)
        code = ended(process, 600)
        seconds = time.perf_counter() - start
    printed, said = output.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8")
    if code != 0:
        sys.exit(f"{program.name}, {mode.name}, {threads} threads: exit {code}\n{printed}{said}")
    if "LOG" in (mode.options or "") and not os.listdir(log):
        sys.exit(f"{program.name} recorded nothing")
    if mode.order:
        if "no divergence" not in said:
            sys.exit(f"{program.name}, {mode.name}, {threads} threads: {said}")
        seconds = float(pathlib.Path(own_time).read_text(encoding="utf-8"))
    shutil.rmtree(log)
    return seconds, printed, said


def measure_time(program, work, modes, threads, repetitions):
    """{mode: seconds of each repetition}. The modes take turns, and another one begins each time."""
    seconds, outputs, slow = collections.defaultdict(list), set(), set()
    schedule = record(program, work, threads) if any(mode.order for mode in modes) else None

    def take_turns(repetition):
        taken = {}
        for turn in range(len(modes)):
            mode = modes[(repetition + turn) % len(modes)]
            most = SLOW_REPETITIONS if mode.name in slow else mode.most or repetitions
            if repetition >= most:
                continue
            taken[mode.name], output, _ = run(program, mode, work, program.size, threads)
            outputs.add(output)
        return taken

    slow.update(name for name, took in take_turns(-1).items() if took > SLOW_SECONDS)  # and warms up
    for repetition in range(repetitions):
        for name, took in steal.undisturbed(lambda turn=repetition: take_turns(turn)).items():
            seconds[name].append(took)
    if schedule:
        schedule.unlink()
    if len(outputs) != 1:
        sys.exit(f"{program.name} gives different results: {outputs}")
    return seconds


def measure_instructions(program, work, modes):
    """{mode: instructions} of a small run with one thread, by callgrind. Enforcing and the epoch barrier are about threads
    that wait."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    counts = {}
    for mode in modes:
        if not mode.order and "barrier" not in mode.name and mode is not AGAIN:
            # Valgrind 3.19 stops at some of clang's debug information (DWARF 5).
            stripped = mode._replace(build=f"{mode.build}.stripped")
            apps = [work / f"{program.name}.{one.build}" for one in (mode, stripped)]
            subprocess.run(["objcopy", "--strip-debug", *apps], check=True)
            _, _, errors = run(program, stripped, work, program.small, 1, valgrind)
            counts[mode.name] = int(re.search(r"Collected : (\d+)", errors).group(1))
    return counts


def measure(programs, modes, others, options, flags=report.FLAGS, other_threads=OTHER_THREADS):
    """{threads: {program: {mode: seconds}}} and {program: {mode: instructions}}. `others`: the modes that are measured
    with other numbers of threads as well."""
    times, counts = collections.defaultdict(dict), {}
    with tempfile.TemporaryDirectory(prefix="covsched-bench-") as folder:
        work = pathlib.Path(folder)
        for program in programs:
            print(f"measuring {program.name}", file=sys.stderr, flush=True)
            build(program, work, [*modes, *others], flags)
            times[THREADS][program.name] = measure_time(program, work, modes, THREADS, options.repetitions)
            for threads in other_threads if others and options.other_repetitions else ():
                taken = measure_time(program, work, [NATIVE, *others], threads, options.other_repetitions)
                times[threads][program.name] = taken
            if not options.no_instructions:
                counts[program.name] = measure_instructions(program, work, modes)
    return times, counts


def measure_startup(repetitions):
    """{mode: seconds} of a program that does nothing."""
    with tempfile.TemporaryDirectory(prefix="covsched-bench-") as folder:
        work = pathlib.Path(folder)
        build(STARTUP, work, LOOM, loom_cost.FLAGS)
        return measure_time(STARTUP, work, [mode._replace(most=None) for mode in LOOM], THREADS, repetitions)


def measure_kernels(programs, options):
    """What execution filters cost: the kernels, without optimizations of the pass, and with filters; then a server."""
    programs = [program._replace(size=program.long or program.size) for program in programs]
    times, counts = measure(programs, LOOM, [XRAY, IDLE], options, loom_cost.FLAGS, LOOM_THREADS)
    startup = measure_startup(10 * options.repetitions)
    few = argparse.Namespace(repetitions=options.other_repetitions, other_repetitions=0, no_instructions=options.no_instructions)
    modes = [NATIVE, IDLE, *LOOM_WITHOUT]
    without = measure(programs, modes, [], few, loom_cost.FLAGS) if options.other_repetitions else None
    filtered = {}
    with tempfile.TemporaryDirectory(prefix="covsched-bench-") as folder:
        work = pathlib.Path(folder)
        for program in programs:
            if program.name in loom_cost.FILTERED and options.other_repetitions:
                print(f"measuring {program.name} with filters", file=sys.stderr, flush=True)
                build(program, work, [NATIVE, IDLE], loom_cost.FLAGS)
                loom_cost.make_plans(COVSCHED, HERE, program.name, work)
                modes = [NATIVE, IDLE, *LOOM_FILTERS]
                filtered[program.name] = measure_time(program, work, modes, THREADS, options.other_repetitions)
    server = None if options.only else loom_cost.measure_server(COVSCHED, INSTALL, options.server_repetitions)
    return loom_cost.Kernels(times, counts, startup, without, filtered, server)


def measure_loom(programs, options):
    """The report. Of the programs the interpreter has a section of its own."""
    kernels = [program for program in programs if program != INTERPRETER]
    measured = measure_kernels(kernels, options) if kernels else None
    interpreter = None
    if INTERPRETER in programs:
        times, counts = measure([INTERPRETER], LOOM_INTERPRETER, [], options, loom_cost.FLAGS)
        interpreter = loom_cost.Interpreter(times[THREADS][INTERPRETER.name], counts.get(INTERPRETER.name))
    names = report.Modes([mode.name for mode in LOOM], [XRAY.name, IDLE.name], THREADS)
    return loom_cost.write(names, measured, interpreter, ROOT)


def publish(file, text, options):
    """Prints a report, and writes it if it is whole."""
    print(text)
    if not options.only:
        (ROOT / "docs" / file).write_text(text, encoding="utf-8")
    steal.ROUNDS.clear()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=30, help="of each program in each mode")
    parser.add_argument("--other-repetitions", type=int, default=5, help="with other numbers of threads; 0: skip them")
    parser.add_argument("--part", choices=["main", "epochs", "specialize", "data", "loom"], help="measure only this part")
    parser.add_argument("--server-repetitions", type=int, default=10, help="of loom's server, 2 s each")
    parser.add_argument("--only", help="one program; nothing is written")
    parser.add_argument("--bitcode", nargs="*", default=[], help="large programs for the points-to analysis, with part data")
    parser.add_argument("--no-instructions", action="store_true", help="skip callgrind")
    options = parser.parse_args()
    programs = [p for p in PROGRAMS if options.only in (None, p.name)]
    parts = {
        "main": (MAIN, ENFORCING, report.write, "benchmarks.md"),
        "epochs": ([NATIVE, *EPOCHS], [], report.write_epochs, "benchmarks-epochs.md"),
    }
    is_done = False
    for name, (modes, others, write, file) in parts.items():
        if options.part in (None, name) and programs:
            times, counts = measure(programs, modes, others, options)
            names = report.Modes([mode.name for mode in modes], [mode.name for mode in others], THREADS)
            publish(file, write(names, times, counts, ROOT), options)
            is_done = True
    if options.part in (None, "specialize"):
        rows = specialize_speed.measure(COVSCHED, min(options.repetitions, SPECIALIZE_REPETITIONS), options.only)
        if rows:
            publish("benchmarks-specialize.md", specialize_speed.write(rows, ROOT), options)
            is_done = True
    if options.part in (None, "data"):
        rows = specialize_data.measure(COVSCHED, min(options.repetitions, SPECIALIZE_REPETITIONS), options.only)
        if rows:
            points_to = specialize_data.measure_points_to(PLUGIN, options.bitcode)
            publish("benchmarks-data.md", specialize_data.write(rows, points_to, ROOT), options)
            is_done = True
    with_loom = [p for p in [*PROGRAMS, INTERPRETER] if options.only in (None, p.name)]
    if options.part in (None, "loom") and with_loom:
        publish("benchmarks-loom.md", measure_loom(with_loom, options), options)
        is_done = True
    if not is_done:
        sys.exit(f"no program {options.only}")


main()
