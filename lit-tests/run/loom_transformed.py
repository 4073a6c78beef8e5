"""Programs with cloned blocks behave as the original, on whatever path: the differential test of loom's block cloning.

Each program is built natively, and by `covsched cc --loom` at a level, instrumented late or before optimization
(precise). It must print what the original prints and end with the same code with the switches as they are (no filter: all
fast), all forced to the slow path, all to the fast one, and flipped at random while it runs.

With all levels and both places of the pass that is eight builds a program; by default each program takes its turn in
the list of them, so that over the programs every one is taken often; COVSCHED_TEST_LONG takes all.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import sys

import random_loops
import random_nests
import random_programs
from programs import must, outcome, run

LONG = bool(os.environ.get("COVSCHED_TEST_LONG"))
BUILDS = list(itertools.product(["-O2", "-O0", "-O3", "-O1"], ["--loom", "--loom=precise"]))
# Of COVSCHED_OPTIONS; SEED is another number each time.
SWITCHES = [None, "loom-switch=slow", "loom=on:loom-switch=fast", "loom=on:loom-switch=random,SEED"]

# varies: what it prints says who came first.
Special = collections.namedtuple("Special", "args flags varies", defaults=([], [], False))
SPECIAL = {
    "cxx_locks.cpp": Special(flags=["-std=c++20"]),
    "pool_server.c": Special(args=["32", "500"]),
    "diverge_accounts.c": Special(args=["0", "1"]),
    "once_throws.cpp": Special(varies=True),
    "robust.c": Special(varies=True),
    "interrupted.c": Special(varies=True),
}
# Not programs by themselves, ones that need other flags, or that time out on purpose.
LEFT_OUT = {"claim_failed.c", "not_covered.c", "own_wakers.c", "tail_recursion.c", "spawns.c"}
LEFT_OUT |= {"ignored.c", "ignored_pool.c"}
# Prints the number of a descriptor; an engine that starts at the same moment has one, too.
LEFT_OUT |= {"hook_manners.c"}
# Small sizes of the benchmark programs.
SIZES = pathlib.Path(__file__).resolve().parent / "Inputs" / "bench_sizes"


def special_of(source):
    name = os.path.basename(source)
    if os.path.basename(os.path.dirname(source)) == "bench":
        sizes = dict(line.split() for line in SIZES.read_text(encoding="utf-8").splitlines())
        return Special(args=["4", sizes[name.removesuffix(".c")]])
    return SPECIAL.get(name, Special())


def compare(wanted, done, varies):
    same = outcome(done)[0] == outcome(wanted)[0] and (varies or done.stdout == wanted.stdout)
    return same and not done.timed_out


def check(options, number, source, inputs=None):
    """One program: how many runs there were."""
    special = special_of(source)
    inputs = inputs or [special.args]
    base = f"{options.work}.{number}.{os.path.basename(source)}"
    cxx = source.endswith(".cpp")
    flags = ["-w", "-pthread", *special.flags, source, "-lm", "-o"]
    must("clang++-16" if cxx else "clang-16", "-O2", *flags, base + ".native", seconds=300)
    natives = [[run(base + ".native", *arguments, seconds=60) for _ in range(3)] for arguments in inputs]
    varies = special.varies or any(first.stdout != other.stdout for first, *others in natives for other in others)
    chosen = BUILDS if LONG or options.all else [BUILDS[(number + turn) % len(BUILDS)] for turn in range(options.builds)]
    driver = os.path.join(options.bin, "covsched-c++" if cxx else "covsched-cc")
    runs = 0
    for level, loom in chosen:
        app = f"{base}{level}{loom[6:]}"
        must(driver, loom, level, *flags, app, seconds=300)
        for arguments, (wanted, *_) in zip(inputs, natives):
            for turn, switch in enumerate(SWITCHES * (3 if LONG else 1)):
                asked = switch and switch.replace("SEED", str(number * 16 + turn))
                done = run(app, *arguments, seconds=120, env={"COVSCHED_OPTIONS": asked} if asked else None)
                runs += 1
                if compare(wanted, done, varies):
                    continue
                # What it prints may depend on the schedule, even if three runs agree: more of them are asked.
                native = [run(base + ".native", *arguments, seconds=60) for _ in range(20)]
                if done.timed_out or not any(compare(other, done, varies) for other in native):
                    what = f"{source} {' '.join(arguments)}: {level} {loom} {asked or 'no option'}"
                    raise AssertionError(f"{what}\nwanted: {wanted}\ngot: {done}")
        os.remove(app)
    os.remove(base + ".native")
    return runs


def made_programs(options):
    """Random ones: [(source, inputs)]."""
    folder = f"{options.work}.random"
    os.makedirs(folder, exist_ok=True)
    made = []
    for seed in range(options.first, options.first + options.random):
        program = random_programs.generate(1000 + seed)
        made.append((random_programs.write(program, folder), program.inputs[:2]))
    for seed in range(options.first, options.first + options.loops):
        path = os.path.join(folder, f"loops{seed}.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(random_loops.program(500 + seed, collections.Counter()))
        made.append((path, [[]]))
    for seed in range(options.first, options.first + options.nests):
        path = os.path.join(folder, f"nests{seed}.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(random_nests.program(seed))
        made.append((path, [[]]))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--work", required=True, help="prefix of the files to make")
    parser.add_argument("--builds", type=int, default=1, help="of each program")
    parser.add_argument("--all", action="store_true", help="all builds of each program")
    parser.add_argument("--one-of", type=int, default=1, help="take one of so many programs; with COVSCHED_TEST_LONG all")
    parser.add_argument("--random", type=int, default=0, help="random programs")
    parser.add_argument("--loops", type=int, default=0, help="programs of random loops")
    parser.add_argument("--nests", type=int, default=0, help="programs of random nests of loops that count")
    parser.add_argument("--first", type=int, default=0, help="number of the first of the random ones")
    parser.add_argument("sources", nargs="*", help="the programs, one file each")
    options = parser.parse_args()
    sources = [source for source in sorted(options.sources) if os.path.basename(source) not in LEFT_OUT]
    sources = sources if LONG else sources[:: options.one_of]
    jobs = [(source, None) for source in sources] + made_programs(options)
    failed, runs = [], 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        started = [pool.submit(check, options, number, *job) for number, job in enumerate(jobs)]
        for job in started:
            try:
                runs += job.result()
            except (AssertionError, SystemExit) as error:
                failed.append(error)
                print(str(error)[:3000], flush=True)
    print(f"{len(jobs)} programs, {runs} runs, {len(failed)} failed")
    sys.exit(bool(failed))


main()
