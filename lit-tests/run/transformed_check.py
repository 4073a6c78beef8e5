"""Programs with epoch markers and unrolled loops behave as the original.

Each program is compiled to bitcode once a level (-O0 without optnone, and -O2 as the front end leaves it). Then opt runs
the epoch passes in some order, with some factor, checks that the module is valid and that epochs are bounded, and
optimizes and instruments it as `covsched cc` would; what is linked from that must print what the original prints, and
end with the same code.

With all orders, factors and levels that is a thousand builds, so each program takes its turn in a list of them: by
default PER_PROGRAM of them, so that over the programs every one is taken; COVSCHED_TEST_LONG takes all.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import sys

from programs import covsched, must, outcome, run

PER_PROGRAM = 3
LONG = bool(os.environ.get("COVSCHED_TEST_LONG"))

LEVELS = {
    "-O0": ["-O0", "-Xclang", "-disable-O0-optnone"],
    "-O2": ["-O2", "-Xclang", "-disable-llvm-passes"],
}
HOOKS = "covsched-instrument<no-bitcode>"
ORDERS = {
    "unroll, mark": ["sync-unroll<factor={}>", "epoch-markers"],
    "mark, unroll": ["epoch-markers", "sync-unroll<factor={}>"],
    "hooks, unroll, mark": [HOOKS, "sync-unroll<factor={}>", "epoch-markers"],
    "hooks, mark, unroll": [HOOKS, "epoch-markers", "sync-unroll<factor={}>"],
    "unroll, mark whole": ["sync-unroll<factor={};whole-program>", "epoch-markers<whole-program;count-instructions>"],
}
FACTORS = [2, 4, 8]
VARIANTS = list(itertools.product(ORDERS, FACTORS, LEVELS))

# What a program needs, by its name: arguments; whether it prints the same each time; flags.
Special = collections.namedtuple("Special", "args varies flags", defaults=([], False, []))
SPECIAL = {
    "append_order.c": Special(varies=True),
    "cxx_locks.cpp": Special(flags=["-std=c++20"]),
    "pool_server.c": Special(args=["32", "500"]),
}


def compile_to_bitcode(options, source, level):
    special = SPECIAL.get(os.path.basename(source), Special())
    bitcode = f"{options.work}.{os.path.basename(source)}{level}.bc"
    compiler = "clang++-16" if source.endswith(".cpp") else "clang-16"
    flags = [*LEVELS[level], "-gline-tables-only", "-pthread", *special.flags, "-c", "-emit-llvm"]
    must(compiler, *flags, source, "-o", bitcode)
    return bitcode


def link(options, source, bitcode, level, app):
    """An executable of bitcode that needs no more passes; the plugin finds nothing to do in it."""
    driver = os.path.join(options.bin, "covsched-c++" if source.endswith(".cpp") else "covsched-cc")
    must("clang-16", level, "-fPIE", "-Xclang", "-disable-llvm-passes", "-c", bitcode, "-o", app + ".o")
    must(driver, "-pthread", app + ".o", "-lm", "-o", app)


def transform(options, bitcode, order, factor, level, to):
    """Runs the passes, and those of the level."""
    passes = [name.format(factor) for name in ORDERS[order]]
    whole = ";whole-program" if "whole" in order else ""
    passes += ["verify", f"verify<covsched-epochs{whole}>", f"default<{level[1:]}>", "verify"]
    must("opt-16", f"-load-pass-plugin={options.plugin}", "-passes=" + ",".join(passes), bitcode, "-o", to)


def check(options, number, source):
    """One program; gives the variants that were tried."""
    special = SPECIAL.get(os.path.basename(source), Special())
    same = (lambda done: outcome(done)[0]) if special.varies else outcome
    native = f"{options.work}.{os.path.basename(source)}.native"
    compiler = "clang++-16" if source.endswith(".cpp") else "clang-16"
    must(compiler, "-O2", "-pthread", *special.flags, source, "-lm", "-o", native)
    wanted = run(native, *special.args)
    start = number * PER_PROGRAM
    chosen = VARIANTS if LONG else [VARIANTS[(start + turn) * 7 % len(VARIANTS)] for turn in range(PER_PROGRAM)]
    bitcode = {level: compile_to_bitcode(options, source, level) for level in sorted({level for _, _, level in chosen})}
    for turn, (order, factor, level) in enumerate(chosen):
        base = f"{options.work}.{os.path.basename(source)}.{turn}"
        transform(options, bitcode[level], order, factor, level, base + ".bc")
        link(options, source, base + ".bc", level, base)
        what = f"{os.path.basename(source)}: {order}, factor {factor}, {level}"
        runs = [run(base, *special.args)]
        # The first is recorded, too: its sites must be known, duplicated ones included.
        if turn == 0:
            runs.append(run(covsched(options), "record", "-o", base + ".sched", "--", base, *special.args))
            must(covsched(options), "verify", base + ".sched")
        for done in runs:
            if same(done) != same(wanted):
                raise AssertionError(f"{what}\nwanted: {wanted}\ngot: {done}")
        os.remove(base)
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--plugin", required=True, help="libcovsched.so")
    parser.add_argument("--work", required=True, help="prefix of the files to make")
    parser.add_argument("sources", nargs="+", help="the programs, one file each")
    options = parser.parse_args()
    tried = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(check, options, number, source) for number, source in enumerate(sorted(options.sources))]
    failed = [str(job.exception()) for job in jobs if job.exception()]
    if failed:
        sys.exit("\n".join(failed))
    for job in jobs:
        tried.update(job.result())
    missing = [variant for variant in VARIANTS if not tried[variant]]
    print(f"{len(options.sources)} programs, {sum(tried.values())} builds, {len(missing)} variants not tried")
    if missing:
        sys.exit(f"not tried: {missing}")


main()
