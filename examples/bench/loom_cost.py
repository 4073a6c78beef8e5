"""What execution filters cost, beside the times of the kernels (measure.py): a server under load, filters on lines that are executed
rarely and often, what each optimization of the pass buys (Wu, Fig. 5.14), and how long an update takes.

The server is examples/loom/table_server.c: as many workers as clients, which are threads of another process; its counters are in a
mapped file. Builds and filters take turns, as everywhere here.
"""

import collections
import json
import mmap
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import figures
import report

HERE = pathlib.Path(__file__).resolve().parent
LOOM = HERE.parent / "loom"
sys.path.insert(0, str(LOOM / "filters"))
import number_lines  # noqa: E402  (it stands beside the filters)

# Of all builds, native ones included. Where a loop begins modulo 64 changes native itself by up to 25 %, any pass moves loops, and
# that is no part of what is measured.
FLAGS = [*report.FLAGS, "-falign-loops=64"]

# What a build without an optimization is called, and the pass's flag.
WITHOUT = {
    "checks in all loops": "all-loops",
    "no filter byte": "no-filter-byte",
    "no cloning": "no-cloning",
}
# Programs with lines [rare] and [often] that optimization leaves where they are.
FILTERED = ("nbody", "task_queue", "compressor", "echo_server", "lock100ns")

SERVER_THREADS = (2, 4, 8, 16, 32)
SERVER_SECONDS = 2.0
# Rounds through a table's rows for each request: some microseconds.
SERVER_WORK = 40
# Words of the counters, see table_server.c.
OPERATIONS, REPLIES, RESPONSE, WORK = 0, 3, 6, 9
SERVER_MODES = [
    ("native", "native", None),
    ("XRay, unpatched", "xray", None),
    ("loom idle", "loom", None),
    ("rare line", "loom", "table_server.rare"),
    ("often", "loom", "table_server.often"),
]
UPDATES = 100
# DESIGN.md, section 9.
TARGET_MS = 20.0

# Requests a second and mean response in seconds, of each repetition, by (threads, mode); updates by kind in milliseconds; how
# often nobody was inside handle_client while they were made.
Server = collections.namedtuple("Server", "rates responses updates tries quiet empty lost")
# Times by threads, program and mode, and instruction counts; startup: {mode: seconds} of a program that does nothing; without: times
# and counts of builds without optimizations; filtered: {program: {mode: seconds}}; server: a Server. None: not measured.
Kernels = collections.namedtuple("Kernels", "times counts startup without filtered server")
# {mode: seconds of each repetition}, {mode: instructions}.
Interpreter = collections.namedtuple("Interpreter", "times counts")

ALIGNED = """\
- loops are aligned in all builds (native, too): where a loop begins modulo 64 changes native itself by up to 25 %, whatever moved it
- what a program's threads write is in cache lines of its own: which of its variables share one otherwise depends on the build, and changed
  native task_queue by 8 %"""

IDLE = """\
`covsched cc --loom`, no filter installed, beside XRay's sleds (`-fxray-instrument`, not patched), which do less: they are at
functions' entries and exits only, and are measured at most 30 times. "native again" is the same executable as native: what its ratio
differs from 1 by is noise. The target is the one of DESIGN.md."""

STARTUP = """\
What a program pays once: it starts its threads, which do nothing, and ends. With the second thread the engine starts, which is a thread of
its own with a socket. The runs above are long enough for that to be less than 0.3 % of them."""

INTERPRETER = """\
examples/bench/interpreter: the interpreter of a small language, nine files of small functions that call each other, by pointers as well; each
thread compiles and runs scripts on a machine of its own. It stands for programs that are no kernels. It is not part of the table with
the targets, which DESIGN.md has for compute kernels, a lock-heavy program and a server. "covsched cc, off" is built without loom: what
recording needs around calls, while nothing is recorded."""

FILTERS = """\
A mutual exclusion of one line with itself, from the program's start: one that is executed a few times, and one that is executed
often. What the second costs is mostly what any lock around that line would cost. Ratio to native."""

OPTIMIZATIONS = """\
As Wu's Fig. 5.14. Each column is loom idle without one optimization: checks in loops that provably run a few times only;
a call of the runtime at each check in place of a test of the function's word; slots in the only copy of the code in place of
a slow copy."""

SERVER = """\
examples/loom/table_server.c, 2 s a run, all workers and clients on this machine's processors. Requests a second and mean
response time, ratio to native in the same repetition. Filters from the start: a line that one request in 4096 executes, and two
lines that every request executes."""

INSTALL = """\
The same server with 16 workers and 200 us of sleep inside the region, so that it is always occupied by someone: a filter is
added, replaced and removed; from the request's arrival in the engine to the end of the update. Function quiescence would wait
for a moment at which no worker is inside handle_client."""


def make_plans(covsched, sources, program, work):
    """PROGRAM.rare.plan and PROGRAM.often.plan in the folder `work`, for PROGRAM.loom there."""
    for which in "rare", "often":
        place = f"{program}.c:[{which}]"
        text = number_lines.fill(f"{{{place}; {place}}} <> {{{place}; {place}}}\n", sources)
        source = work / f"{program}.{which}.loom"
        source.write_text(text, encoding="utf-8")
        compile_filter(covsched, source, work / f"{program}.loom", work / f"{program}.{which}.plan")


def compile_filter(covsched, source, app, plan):
    subprocess.run([covsched, "loom", "check", source, app, "-o", plan], check=True, stdout=subprocess.DEVNULL)


class Running:
    """The server; stopped at the end of the `with` block."""

    def __init__(self, app, work, threads, delay=0, options=None):
        counters = work / "counters"
        counters.write_bytes(bytes(4096))
        with open(counters, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 4096)
        struct.pack_into("<Q", self.memory, 8 * WORK, SERVER_WORK)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("COVSCHED_")}
        if options:
            environment["COVSCHED_OPTIONS"] = options
        command = [app, "0", str(delay), counters, str(threads)]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        self.printed = ""

    def words(self):
        return struct.unpack_from("<16Q", self.memory)

    def __enter__(self):
        while self.words()[OPERATIONS] < 100:
            if self.process.poll() is not None:
                sys.exit(f"the server ended with {self.process.returncode}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.printed = self.process.communicate(timeout=60)[0]
        if " 0 lost" not in self.printed or self.process.returncode not in (0, 1):
            sys.exit(f"the server: exit {self.process.returncode}, {self.printed}")


def build_server(install, work):
    source, flags = LOOM / "table_server.c", [*FLAGS, "-g", "-pthread"]
    covsched = install / "bin" / "covsched-cc"
    compilers = {"native": ["clang-16"], "xray": ["clang-16", "-fxray-instrument"], "loom": [covsched, "--loom"]}
    for name, compiler in compilers.items():
        subprocess.run([*compiler, *flags, source, "-o", work / name], check=True)


def measure_server(covsched, install, repetitions):
    rates, responses = collections.defaultdict(list), collections.defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="covsched-bench-") as folder:
        work = pathlib.Path(folder)
        build_server(install, work)
        for _, _, name in SERVER_MODES:
            if name:
                compile_filter(covsched, LOOM / "filters" / f"{name}.loom", work / "loom", work / f"{name}.plan")
        for threads in SERVER_THREADS:
            print(f"measuring the server with {threads} threads", file=sys.stderr, flush=True)
            for repetition in range(repetitions):
                for turn in range(len(SERVER_MODES)):
                    mode, build, name = SERVER_MODES[(repetition + turn) % len(SERVER_MODES)]
                    options = f"filter='{work / name}.plan'" if name else None
                    with Running(work / build, work, threads, options=options) as server:
                        before, start = server.words(), time.perf_counter()
                        time.sleep(SERVER_SECONDS)
                        after, seconds = server.words(), time.perf_counter() - start
                    replies = after[REPLIES] - before[REPLIES]
                    rates[threads, mode].append(replies / seconds)
                    responses[threads, mode].append((after[RESPONSE] - before[RESPONSE]) / 1e9 / replies)
        updates, tries, printed = measure_updates(covsched, work)
    quiet, empty, lost = (int(re.search(rf"(\d+) {word}", printed).group(1)) for word in ("quiet", "empty", "lost"))
    return Server(rates, responses, updates, tries, quiet, empty, lost)


def measure_updates(covsched, work):
    """Milliseconds of each kind of update, their tries, and what the server printed."""
    updates, tries = collections.defaultdict(list), []
    filters = [LOOM / "filters" / f"table_server.{name}.loom" for name in ("mutual", "mutual_all")]
    print("measuring updates", file=sys.stderr, flush=True)
    with Running(work / "loom", work, 16, delay=200) as server:

        def control(verb, *rest):
            command = [covsched, "loom", verb, str(server.process.pid), *rest, "--format", "json"]
            told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            updates[verb].append(told["nanoseconds"] / 1e6)
            tries.append(told["tries"])
            return str(told["filter"])

        for _ in range(UPDATES):
            number = control("add", filters[0])
            number = control("replace", number, filters[1])
            control("remove", number)
    return updates, tries, server.printed


def ratio_table(values, describe):
    """Rows of modes, columns of threads."""
    rows = []
    for mode, _, _ in SERVER_MODES:
        row = [mode]
        for threads in SERVER_THREADS:
            own, native = values[threads, mode], values[threads, "native"]
            row.append(describe(own) if mode == "native" else report.ratio([a / b for a, b in zip(own, native)]))
        rows.append(row)
    return report.table(["", *(f"{threads} threads" for threads in SERVER_THREADS)], rows)


def write_server(server):
    rows = []
    for verb, taken in server.updates.items():
        low, high = figures.interval(taken)
        met = "yes" if figures.median(taken) <= TARGET_MS else "no"
        rows.append([verb, f"{figures.median(taken):.2f} [{low:.2f}, {high:.2f}]", f"{max(taken):.2f}", met])
    header = ["update", "median, ms", "longest, ms", f"median <= {TARGET_MS:.0f} ms"]
    moments = f"Tries: {max(server.tries)} at most. Meanwhile {server.lost} requests were lost; there were {server.quiet} moments at"
    return [
        "",
        "## A server under load",
        "",
        *SERVER.split("\n"),
        "",
        "Requests a second:",
        "",
        *ratio_table(server.rates, lambda values: f"{figures.median(values):,.0f}"),
        "",
        "Mean response time:",
        "",
        *ratio_table(server.responses, lambda values: f"{1e6 * figures.median(values):.0f} us"),
        "",
        "## How long an update takes",
        "",
        *INSTALL.split("\n"),
        "",
        *report.table(header, rows),
        "",
        moments,
        f"which no worker was inside handle_client, and {server.empty} at which no worker was inside the region.",
    ]


def write_startup(modes, startup):
    def milliseconds(mode):
        low, high = figures.interval(startup[mode])
        return f"{1e3 * figures.median(startup[mode]):.2f} ms [{1e3 * low:.2f}, {1e3 * high:.2f}]"

    header = [f"startup, {len(startup['native'])} repetitions", *modes.all]
    return report.table(header, [["from its start to its end", *map(milliseconds, modes.all)]])


def write_idle(modes, kernels):
    times = kernels.times[modes.threads]
    ratios, rows = report.times_of_all(modes, times)
    lines = ["", "## Idle", "", *IDLE.split("\n"), "", *rows, "", *report.targets(modes.all[1:], ratios)]
    lines += ["", *STARTUP.split("\n"), "", *write_startup(modes, kernels.startup)]
    if len(kernels.times) > 1:
        lines += ["", "With more and fewer threads. " + report.by_threads(modes, kernels.times)[0]]
        lines += report.by_threads(modes, kernels.times)[1:]
    return lines + report.instructions(modes, kernels.counts)


def write_interpreter(interpreter):
    times, counts = interpreter
    others = [mode for mode in times if mode != "native"]
    ratios = report.ratios_to_native({"interpreter": times}, others)["interpreter"]
    rows = [["time", f"{figures.median(times['native']):.3f} s", *(report.ratio(ratios[mode]) for mode in others)]]
    said = f"While no filter is installed, it takes {figures.median(ratios['loom idle']):.3f} times as long as native"
    if counts:
        counted = [f"{counts[mode] / counts['native']:.4f}" if mode in counts else "" for mode in others]
        rows.append(["instructions, one thread, small size", f"{counts['native']:,}", *counted])
        said += f", and executes {counts['loom idle'] / counts['native']:.3f} times the instructions"
    table = report.table(["interpreter", "native", *others], rows)
    return ["", "## A program of many small functions", "", *INTERPRETER.split("\n"), "", *table, "", said + "."]


def write_filtered(modes, filtered):
    names = ["native", "loom idle", "rare line", "often"]
    _, rows = report.times_of_all(report.Modes(names, [], modes.threads), filtered)
    return ["", "## With a filter", "", *FILTERS.split("\n"), "", *rows]


def write_without(modes, times, counts):
    named = report.Modes(["native", "loom idle", *WITHOUT], [], modes.threads)
    _, rows = report.times_of_all(named, times[modes.threads])
    repetitions = len(next(iter(times[modes.threads].values()))["native"])
    lines = ["", "## What each optimization buys", "", *OPTIMIZATIONS.split("\n"), f"{repetitions} repetitions.", "", *rows]
    counted = report.instructions(named, counts)
    return lines + (["", *counted[3:]] if counted else [])


def write(modes, kernels, interpreter, root):
    """The report; `kernels` or `interpreter` is None if it was not measured."""
    times = kernels.times[modes.threads] if kernels else {"interpreter": interpreter.times}
    lines = ["# What execution filters cost", "", *report.head(modes, times, root, FLAGS), ALIGNED]
    if kernels:
        lines += write_idle(modes, kernels)
    if interpreter:
        lines += write_interpreter(interpreter)
    if kernels and kernels.filtered:
        lines += write_filtered(modes, kernels.filtered)
    if kernels and kernels.without:
        lines += write_without(modes, *kernels.without)
    if kernels and kernels.server:
        lines += write_server(kernels.server)
    return "\n".join(lines) + "\n"
