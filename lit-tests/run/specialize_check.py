"""Specialized programs behave as the original, or say that their input is not covered: the differential check.

A program is built by covsched, recorded on its first input, and specialized for that schedule, in each --mode that is asked
for: control flow only (`control`), data flow (`data`), and with more of LLVM's passes (`aggressive`). The result must pass
LLVM's verifier; it is compiled at several levels and run under the schedule:

- on the recorded input it ends as the original does under the schedule, and prints the same;
- on another input that the original takes through the schedule (with --on-divergence abort it does not end with 66) so does
  the specialized program, if the run has the same derived synchronizations: which call led to a synchronization
  is part of the schedule, but no run is ended for it;
- on any other input the specialized program ends with 66 and says why. It never prints a wrong answer, crashes or hangs.

In mode `check` the program compares every value that was claimed to be constant, and says so if one is not: that must not
happen in many runs with random delays, on all inputs that the schedule covers. (On others a claim need not hold.)

A specialization that covsched refuses counts as refused, with its reason. Programs are files with --args for each input,
or random ones (random_programs.py).
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import sys

import random_programs
from programs import covsched, must, outcome, run

LONG = bool(os.environ.get("COVSCHED_TEST_LONG"))
# How many runs look at the claims of a program, on the recorded input; a fifth of that on each other one.
CLAIM_RUNS = int(os.environ.get("COVSCHED_TEST_CLAIM_RUNS", "50"))
LEVELS = ["-O0", "-O2", "-O3"]
MODES = {"control": ["--control-only"], "data": [], "aggressive": ["--aggressive"], "check": ["--check"]}
LEFT = 66
TRAP = re.compile(r"^covsched: input not covered by this schedule: \S.*$")
DIVERGED = re.compile(r"^covsched: .*schedule")
BUG = re.compile(r"^covsched: bug: .*$", re.MULTILINE)


class Wrong(Exception):
    """What a specialized program must not do."""


class Checked:
    """What was seen of one program."""

    def __init__(self):
        self.counts = collections.Counter()
        self.refused = None
        self.features = ()


def words(text):
    return text.split()


def fail(what, *runs):
    raise Wrong("\n".join([what, *(f"  {name}: {str(done)[:1500]}" for name, done in runs)]))


def specialize(options, app, schedule, output, order, mode="control", more=()):
    """None if it worked, else the reason. Figures are in OUTPUT.json."""
    command = [covsched(options), "specialize", app, "--schedule", schedule, *MODES[mode], "--order", order, "-o", output]
    done = run(*command, "--stats", output + ".json", *more, seconds=600 if LONG else 240)
    if done.returncode in (1, 2):
        lines = [line for line in done.stderr.split("\n") if line]
        return lines[-1] if lines else f"exit {done.returncode} without a word"
    if done.returncode != 0 or done.timed_out:
        fail(f"{' '.join(command)}: exit {done.returncode}", ("specialize", done))
    must("opt-16", "-passes=verify", "-disable-output", output)
    return None


def under(options, app, schedule, order, arguments, seconds=40):
    command = [covsched(options), "run", "--schedule", schedule, "--order", order, "--on-divergence", "abort"]
    return run(*command, "--", app, *arguments, seconds=seconds)


def paths(options, schedule):
    """What each thread did, with its calls."""
    shown = json.loads(must(covsched(options), "show", "--format", "json", schedule))
    threads = collections.defaultdict(list)
    for event in shown["events"]:
        threads[event["thread"]].append((event["op"], event["phase"], event["site"]))
    return threads


def same_paths(options, app, schedule, order, arguments):
    """Whether the original makes the same calls on this input under the schedule."""
    again = schedule + ".again"
    command = [covsched(options), "run", "--schedule", schedule, "--order", order, "--record", again]
    run(*command, "--", app, *arguments)
    return paths(options, schedule) == paths(options, again)


def check_claims(options, special, schedule, order, arguments, original, runs, what):
    """Runs a program that looks at what was claimed, each time with other delays; it does as the original does."""
    command = [covsched(options), "run", "--schedule", schedule, "--order", order, "--on-divergence", "abort"]
    done = run(*command, "--delay", "1", "--repeat", str(runs), "--", special, *arguments, seconds=300)
    if BUG.search(done.stderr):
        fail(f"{what}: a claim is wrong: {BUG.search(done.stderr).group()}", ("checked", done))
    if outcome(done)[0] != outcome(original)[0] or done.stdout != original.stdout * runs or done.timed_out:
        fail(f"{what}: behaves differently in {runs} runs", ("original", original), ("checked", done))


def judge(checked, original, special, is_recorded, has_same_paths, what):
    """Compares two runs under the schedule on one input."""
    if original.timed_out:
        checked.counts["inputs on which the original stalls"] += 1
        if special.timed_out:
            return
    elif special.timed_out:
        fail(f"{what}: hangs", ("original", original), ("specialized", special))
    covered = original.returncode != LEFT and not original.timed_out
    if is_recorded and not covered:
        fail(f"{what}: the original leaves its own schedule", ("original", original))
    said = [line for line in special.stderr.split("\n") if line.startswith("covsched: ")]
    trapped = special.returncode == LEFT and any(TRAP.match(line) for line in said)
    if covered and trapped and not is_recorded and not has_same_paths():
        checked.counts["traps for other calls"] += 1
        return
    if covered:
        if outcome(special) != outcome(original):
            fail(f"{what}: behaves differently", ("original", original), ("specialized", special))
        checked.counts["recorded inputs" if is_recorded else "covered inputs"] += 1
        return
    if special.returncode != LEFT or not said:
        fail(f"{what}: the input is not covered, and nothing says so", ("original", original), ("specialized", special))
    if trapped:
        checked.counts["traps"] += 1
    elif any(DIVERGED.match(line) for line in said):
        checked.counts["divergences"] += 1
    else:
        fail(f"{what}: says something else", ("original", original), ("specialized", special))


def is_covered(original):
    return original.returncode != LEFT and not original.timed_out


def judge_runs(options, checked, special, app, schedule, inputs, originals, mode, source):
    """Runs a specialized program on all inputs."""
    order = options.order
    for number, (arguments, original) in enumerate(zip(inputs, originals)):
        what = f"{special} {' '.join(arguments)} ({source}, {mode})"
        has_same_paths = lambda: same_paths(options, app, schedule, order, arguments)
        if mode == "check":
            if number == 0 or (is_covered(original) and has_same_paths()):
                runs = CLAIM_RUNS if number == 0 else max(CLAIM_RUNS // 5, 1)
                check_claims(options, special, schedule, order, arguments, original, runs, what)
                checked.counts["runs with checked claims"] += runs
            continue
        # It must end on the recorded input, however busy the machine is; on others it may stall as the original does.
        done = under(options, special, schedule, order, arguments, seconds=40 if number else 120)
        judge(checked, original, done, number == 0, has_same_paths, what)


def check(options, base, source, inputs, levels, flags=()):
    """Checks one program; the files it makes begin with `base`. Levels: of the original, then of the specialized program."""
    checked = Checked()
    cxx = source.endswith(".cpp")
    compiler = os.path.join(options.bin, "covsched-c++" if cxx else "covsched-cc")
    app, schedule = base + ".app", base + ".sched"
    must(compiler, levels[0], "-pthread", *flags, source, "-o", app, seconds=300)
    recorded = run(covsched(options), "record", "-o", schedule, "--delay", "3", "--", app, *inputs[0])
    must(covsched(options), "verify", schedule)
    order, originals = options.order, []
    for mode in options.mode:
        bitcode = f"{base}.{mode}.bc"
        limit = ["--solver-time", str(options.solver_time)] if options.solver_time and mode != "control" else []
        checked.refused = specialize(options, app, schedule, bitcode, order, mode, limit)
        if checked.refused:
            return checked
        originals = originals or [under(options, app, schedule, order, arguments) for arguments in inputs]
        if outcome(originals[0]) != outcome(recorded):
            fail(f"{app}: enforcing differs from recording", ("recorded", recorded), ("enforced", originals[0]))
        for level in levels[1:2] if mode == "check" else levels[1:]:
            special = f"{base}{level}.{mode}.spec"
            must(compiler, level, "-pthread", *flags, bitcode, "-o", special, seconds=300)
            judge_runs(options, checked, special, app, schedule, inputs, originals, mode, source)
            os.remove(special)
        with open(bitcode + ".json", encoding="utf-8") as stats:
            told = json.load(stats)
        for name in ("constants", "branches_folded", "loops_unrolled", "solver_unknown") if mode == "data" else ():
            checked.counts[f"figure {name}"] += told[name]
    return checked


def random_program(options, seed):
    program = random_programs.generate(seed)
    source = random_programs.write(program, options.work)
    # Levels of the original, then of the specialized program.
    levels = [LEVELS[seed % 3], *(LEVELS if LONG or options.all_levels else [LEVELS[seed // 3 % 3]])]
    checked = check(options, os.path.splitext(source)[0], source, program.inputs, levels)
    checked.features = [*program.features, f"language {program.language}"]
    if not checked.refused:
        for file in os.listdir(options.work):
            if file.startswith(f"random{seed}.") or file.startswith(f"random{seed}-"):
                os.remove(os.path.join(options.work, file))
    return checked


def given_program(options, source):
    base = os.path.join(options.work, os.path.basename(source).replace(".", "-"))
    inputs = [words(text) for text in options.args] or [[]]
    return check(options, base, source, inputs, [options.level, *options.levels.split(",")], options.flag)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--work", required=True, help="folder to work in")
    parser.add_argument("--random", type=int, default=0, help="so many random programs")
    parser.add_argument("--seed", type=int, default=1, help="of the first")
    parser.add_argument("--order", default="hb")
    parser.add_argument("--mode", action="append", choices=MODES, help="how to specialize; several times: each [control]")
    parser.add_argument("--data", action="store_true", help="all modes with data flow")
    parser.add_argument("--level", default="-O2", help="of the original, for a program that is given")
    parser.add_argument("--levels", default=",".join(LEVELS), help="of the specialized program; --levels=-O0,-O2")
    parser.add_argument("--all-levels", action="store_true", help="also for random programs")
    parser.add_argument("--solver-time", type=int, help="seconds that the solver has for a program; covsched's own default")
    parser.add_argument("--refusals", type=float, default=0.0, help="which part of the programs may be refused")
    parser.add_argument("--args", action="append", default=[], help="an input: arguments, with spaces; the first is recorded")
    parser.add_argument("--flag", action="append", default=[], help="a compiler flag more")
    parser.add_argument("sources", nargs="*", help="programs, one file each")
    options = parser.parse_args()
    options.mode = [mode for mode in MODES if mode != "control"] if options.data else options.mode or ["control"]
    os.makedirs(options.work, exist_ok=True)
    counts, features, refusals, failed = collections.Counter(), collections.Counter(), collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(given_program, options, source) for source in options.sources]
        jobs += [pool.submit(random_program, options, options.seed + number) for number in range(options.random)]
        for job in jobs:
            try:
                checked = job.result()
            except (Wrong, SystemExit) as error:
                failed.append(error)
                print(f"WRONG: {error}", flush=True)
                continue
            counts.update(checked.counts)
            features.update(checked.features)
            if checked.refused:
                refusals[checked.refused] += 1
    for name, number in sorted(features.items()):
        print(f"feature {name}: {number}")
    for reason, number in refusals.most_common():
        print(f"refused: {number}: {reason}")
    for name, number in sorted(counts.items()):
        print(f"{name}: {number}")
    refused = sum(refusals.values())
    print(f"{len(jobs)} programs, {refused} refused, {len(failed)} wrong")
    sys.exit(bool(failed) or refused > options.refusals * len(jobs))


if __name__ == "__main__":
    main()
