"""Data-flow specialization finds what the programs say that it must, claims nothing that is not so, and keeps what they do.

Each program has its inputs and what must be found in comments (claims.py). It is built by covsched, recorded with random
delays, and specialized for that schedule:

- what `--facts` lists has the promised shape and is what the comments say;
- specialized with `--check`, many runs with random delays find no claim wrong, on all inputs that the schedule covers;
- specialized for use, by default and with `--aggressive`, it does as the original on covered inputs, and ends with 66 on the
  others, at several levels.

`--mode control` does only the last, for control flow: are inputs covered that the program says are? `--mode native` looks at the
programs themselves: compiled without warnings, free of undefined behaviour and, but for those that are RACY, of races, the same
output each time.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import sys

import claims
from programs import covsched, must, one_of, outcome, run
from specialize_check import (
    CLAIM_RUNS,
    LEFT,
    LONG,
    Checked,
    Wrong,
    check_claims,
    fail,
    is_covered,
    judge,
    same_paths,
    specialize,
    under,
)

# Levels of the original, whose bitcode is specialized: it has names for lifetimes and types from -O1 on.
LEVELS = ["-O0", "-O2"]
SEEDS = "3,4,5" if LONG else "3"
# What is told of how specialization went.
FIGURES = ["constants", "branches_folded", "loops_unrolled", "iterations", "solver_queries", "solver_unknown"]
SANITIZERS = {
    "thread": {"TSAN_OPTIONS": "halt_on_error=1"},
    "undefined": {},
    "address": {"ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1"},
}


def compiler(options, source):
    return os.path.join(options.bin, "covsched-c++" if source.endswith(".cpp") else "covsched-cc")


class Recorded:
    """A program, its schedule, and how the original runs under it."""

    def __init__(self, options, program, base, level, seed, order):
        self.program, self.base, self.order = program, f"{base}{level}.{seed}.{order}", order
        self.level = level
        self.app, self.schedule = self.base + ".app", self.base + ".sched"
        must(compiler(options, program.source), level, "-pthread", *options.flag, program.source, *program.flags, "-o", self.app)
        command = [covsched(options), "record", "-o", self.schedule, "--delay", str(seed), "--", self.app]
        recorded = run(*command, *program.recorded)
        must(covsched(options), "verify", self.schedule)
        shown = json.loads(must(covsched(options), "show", "--format", "json", self.schedule))
        self.threads = {thread["id"] for thread in shown["threads"]}
        self.originals = [self.original(options, arguments) for arguments in program.inputs()]
        if outcome(recorded) != outcome(self.originals[0]):
            fail(f"{self.app}: enforcing differs", ("recorded", recorded), ("enforced", self.originals[0]))
        for arguments, original in zip(program.covered, self.originals[1:]):
            if not is_covered(original):
                fail(f"{program.source}: {' '.join(arguments)} is not covered by {self.schedule}", ("original", original))

    def original(self, options, arguments):
        """How the original does. If synchronizations are left out, the schedule is not one that it can follow."""
        if "--ignore-sites" in self.program.specialize and arguments not in self.program.leaves:
            return run(self.app, *arguments)
        return under(options, self.app, self.schedule, self.order, arguments)

    def specialize(self, options, mode, more=()):
        """The bitcode, and figures about it."""
        bitcode = f"{self.base}.{mode}.bc"
        more = [*self.program.specialize, *more]
        if mode == "control" and "--summaries" in more:
            # They are for the analysis of data flow.
            place = more.index("--summaries")
            del more[place : place + 2]
        # What must be found is found on a slow or busy machine, too.
        patience = [] if mode == "control" else ["--solver-time", "150"]
        reason = specialize(options, self.app, self.schedule, bitcode, self.order, mode, [*more, *patience])
        if reason:
            fail(f"{self.program.source}: {mode}: refused: {reason}")
        with open(bitcode + ".json", encoding="utf-8") as stats:
            return bitcode, json.load(stats)

    def build(self, options, bitcode, level):
        special = f"{bitcode}{level}.spec"
        flags = ["-pthread", *options.flag, bitcode, *self.program.flags]
        must(compiler(options, self.program.source), level, *flags, "-o", special, seconds=300)
        return special


def read_facts(path):
    with open(path, encoding="utf-8") as file:
        facts = json.load(file)
    if wrong := claims.check_shape(facts):
        fail(f"{path}: not as promised", *((number, text) for number, text in enumerate(wrong[:5])))
    return facts


def keys(facts):
    """What was claimed, to compare two runs of the specializer. What is computed of claimed values LLVM may fold before anyone
    claims it: in a program that compares, the values stand beside the comparisons."""
    return {
        (f["file"], f["line"], f["function"], f["thread"], f["kind"], str(f["value"]))
        for f in facts["constants"]
        if f["kind"] in ("load", "call", "argument", "phi")
    }


def check_facts(options, recorded, checked):
    """The program, what was found; sentences on what was not."""
    path = recorded.base + ".facts"
    for thread, line in claims.threads_named(recorded.program).items():
        if thread not in recorded.threads:
            fail(f"{recorded.program.source}:{line}: the schedule has no thread {thread}")
    bitcode, told = recorded.specialize(options, "data", ["--facts", path])
    facts = read_facts(path)
    for name in FIGURES:
        checked.counts[f"figure {name}"] += told[name]
    checked.counts["expectations"] += len(recorded.program.claims)
    checked.counts["claims"] += len(keys(facts))
    return bitcode, facts, claims.unmet(recorded.program, facts, recorded.order)


def check_checking(options, recorded, facts, checked):
    """Runs that look at each claim."""
    path = recorded.base + ".check.facts"
    bitcode, _ = recorded.specialize(options, "check", ["--facts", path])
    unchecked = keys(facts) - keys(read_facts(path))
    checked.counts["claims that no run looks at"] += len(unchecked)
    if options.verbose:
        for file, line, function, thread, kind, value in sorted(unchecked, key=str):
            print(f"not looked at: {os.path.basename(file)}:{line}: {function} {thread} {kind} {value}")
    special = recorded.build(options, bitcode, one_of(["-O0", "-O2"], recorded.program.source))
    program = recorded.program
    for number, arguments in enumerate([program.recorded, *program.covered]):
        runs = CLAIM_RUNS if number == 0 else max(CLAIM_RUNS // 5, 1)
        original = recorded.originals[number]
        what = f"{special} {' '.join(arguments)} ({program.source})"
        check_claims(options, special, recorded.schedule, recorded.order, arguments, original, runs, what)
        checked.counts["runs with checked claims"] += runs


def check_behaviour(options, recorded, mode, bitcode, checked):
    """The program that is to be used runs as the original, or says that it cannot."""
    program = recorded.program
    levels = options.levels.split(",") if options.levels else LEVELS if LONG else [one_of(["-O2", "-O0"], program.source + mode)]
    for level in levels:
        special = recorded.build(options, bitcode, level)
        for number, (arguments, original) in enumerate(zip(program.inputs(), recorded.originals)):
            what = f"{special} {' '.join(arguments)} ({program.source}, {mode})"
            done = under(options, special, recorded.schedule, recorded.order, arguments)
            if number <= len(program.covered) and done.returncode == LEFT:
                fail(f"{what}: leaves the schedule on an input that it covers", ("original", original), ("specialized", done))
            if number > len(program.covered) and done.returncode != LEFT:
                fail(f"{what}: goes on, on an input that the schedule does not cover", ("specialized", done))
            has_same_paths = lambda: same_paths(options, recorded.app, recorded.schedule, recorded.order, arguments)
            judge(checked, original, done, number == 0, has_same_paths, what)
        os.remove(special)


def check(options, source):
    """One program: what was seen, and the expectations that were not met."""
    program, checked, unmet = claims.read(source), Checked(), []
    base = os.path.join(options.work, os.path.basename(source).replace(".", "-"))
    levels = LEVELS if LONG else [options.level or one_of(LEVELS, source)]
    for order in program.orders:
        for level in levels:
            for seed in map(int, options.seeds.split(",")):
                recorded = Recorded(options, program, base, level, seed, order)
                if options.mode == "control":
                    bitcode, _ = recorded.specialize(options, "control")
                    check_behaviour(options, recorded, "control", bitcode, checked)
                    continue
                bitcode, facts, sentences = check_facts(options, recorded, checked)
                unmet += [f"{text} ({level}, {order}, delay {seed})" for text in sentences]
                if options.mode == "facts":
                    continue
                check_checking(options, recorded, facts, checked)
                check_behaviour(options, recorded, "data", bitcode, checked)
                bitcode, _ = recorded.specialize(options, "aggressive")
                check_behaviour(options, recorded, "aggressive", bitcode, checked)
    return checked, unmet


def check_native(options, source):
    """The program itself."""
    program, checked = claims.read(source), Checked()
    base = os.path.join(options.work, os.path.basename(source).replace(".", "-"))
    clang = "clang++-16" if source.endswith(".cpp") else "clang-16"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable"]
    must(clang, "-O2", "-pthread", *warnings, *options.flag, source, *program.flags, "-o", base)
    inputs = program.inputs()[: 1 + len(program.covered)]
    wanted = [run(base, *arguments) for arguments in inputs]
    if len({done.stdout for done in wanted}) != len(wanted):
        fail(f"{source}: prints the same on two inputs", *((" ".join(a), d) for a, d in zip(inputs, wanted)))
    for arguments, first in zip(inputs, wanted):
        for _ in range(5):
            done = run(base, *arguments)
            if outcome(done) != outcome(first) or done.timed_out or done.returncode > 127:
                fail(f"{base} {' '.join(arguments)}: differs", ("first", first), ("then", done))
    for name, env in SANITIZERS.items():
        if name == "thread" and program.is_racy:
            continue
        flags = ["-O1", "-g", f"-fsanitize={name}", "-fno-sanitize-recover=all"]
        must(clang, *flags, "-pthread", *options.flag, source, *program.flags, "-o", f"{base}.{name}", seconds=300)
        for arguments, first in zip(inputs, wanted):
            done = run(f"{base}.{name}", *arguments, env=env)
            if outcome(done) != outcome(first):
                fail(f"{base}.{name} {' '.join(arguments)}", ("native", first), ("with sanitizer", done))
        os.remove(f"{base}.{name}")
        checked.counts[f"sanitizer {name}"] += 1
    return checked, []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--work", required=True, help="folder to work in")
    parser.add_argument("--mode", choices=["data", "facts", "control", "native"], default="data")
    parser.add_argument("--level", help="of the original")
    parser.add_argument("--levels", help="of the specialized program; --levels=-O0,-O2")
    parser.add_argument("--seeds", default=SEEDS, help="of the delays of the recordings, by commas")
    parser.add_argument("--flag", action="append", default=[], help="a compiler flag more")
    parser.add_argument("--verbose", action="store_true", help="name the claims that no run looks at")
    parser.add_argument("sources", nargs="+", help="programs, one file each")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    counts, failed, missing = collections.Counter(), 0, 0
    one = check_native if options.mode == "native" else check
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(one, options, source) for source in options.sources]
        for job in jobs:
            try:
                checked, unmet = job.result()
            except (Wrong, SystemExit, claims.Unreadable) as error:
                failed += 1
                print(f"WRONG: {error}", flush=True)
                continue
            counts.update(checked.counts)
            missing += len(unmet)
            print(*(f"UNMET: {text}" for text in unmet), sep="\n", end="\n" if unmet else "", flush=True)
    for name, number in sorted(counts.items()):
        print(f"{name}: {number}")
    print(f"{len(jobs)} programs, {missing} expectations not met, {failed} wrong")
    sys.exit(bool(failed or missing))


if __name__ == "__main__":
    main()
