"""The helper of the tests with `epochs=barrier`: programs with markers behave as without.

A program is built natively, and by covsched with epoch markers, at a level that its name chooses. With markers as
barriers it must end, and print and return what it does natively: many times with random delays, some of them with other
shapes of epochs, and a few times recorded, when the schedule must be legal (`covsched verify`), complete, and its epochs
numbered. A run that hangs is killed and fails.
"""

import argparse
import concurrent.futures
import json
import os
import sys

import programs

# How many runs, and how many of them are recorded too.
RUNS = int(os.environ.get("COVSCHED_TEST_EPOCH_RUNS", "50"))
RECORDED = max(3, RUNS // 20)
# What is asked for in turn, beside the barrier: most runs stop at every marker.
SHAPES = ["", "", ":epoch-markers=3", ":epoch-balance=2", "", ":epoch-instructions=200:epoch-balance=100"]
LEVELS = ["-O0", "-O2", "-O3"]


def build(options):
    """The program natively, and by covsched with markers."""
    cxx = options.sources[0].endswith(".cpp")
    level = programs.one_of(LEVELS, options.sources[0])
    flags = [level, "-pthread", *options.flag, *options.sources, "-o"]
    native, app = options.work + ".native", options.work + ".app"
    programs.must("clang++-16" if cxx else "clang-16", *flags, native)
    compiler = os.path.join(options.bin, "covsched-c++" if cxx else "covsched-cc")
    programs.must(compiler, options.epochs, *flags, app)
    return native, app


def check_epochs(shown, schedule):
    """Epochs are numbered from 0 in the order of the events."""
    last = 0
    for event in shown["events"]:
        epoch = event["epoch"] or 0
        if epoch < last:
            sys.exit(f"{schedule}: event {event['seq']} is of epoch {epoch}, after one of {last}")
        last = epoch
    return last


def record(options, app, wanted, same, seed):
    """A recorded run; how many epochs it had."""
    schedule = f"{app}.{seed}.sched"
    delay = ["--delay", str(seed)] if seed else []
    command = [programs.covsched(options), "record", "--epochs", "barrier", "-o", schedule, *delay, "--", app]
    done = programs.run(*command, *options.args)
    if same(done) != wanted:
        sys.exit(f"recorded with seed {seed}: {done}")
    programs.must(programs.covsched(options), "verify", schedule)
    shown = json.loads(programs.must(programs.covsched(options), "show", "--format", "json", schedule))
    if not shown["complete"]:
        sys.exit(f"{schedule} is incomplete")
    return check_epochs(shown, schedule)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    programs.add_arguments(parser)
    parser.add_argument("--epochs", default="--epochs", help="how covsched cc is asked for markers")
    parser.add_argument("--runs", type=int, default=RUNS, help="how many runs")
    parser.add_argument("--varies", action="store_true", help="what it prints depends on the schedule")
    parser.add_argument("--args", nargs="*", default=[], help="the program's arguments")
    options = parser.parse_args()
    native, app = build(options)
    same = (lambda done: programs.outcome(done)[0]) if options.varies else programs.outcome
    wanted = same(programs.run(native, *options.args))
    off = programs.run(app, *options.args)
    if same(off) != wanted:
        sys.exit(f"mode off: {off}")

    def one(seed):
        asked = f"epochs=barrier{SHAPES[seed % len(SHAPES)]}" + (f":delay={seed}" if seed else "")
        done = programs.run(app, *options.args, env={"COVSCHED_OPTIONS": asked})
        return None if same(done) == wanted else f"{asked}: {done}\nwanted: {wanted}"

    # Two at a time, as many as the processors: threads are then also interrupted where no delay is.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for failure in pool.map(one, range(options.runs)):
            if failure:
                sys.exit(failure)
    epochs = [record(options, app, wanted, same, seed) for seed in range(RECORDED)]
    print(f"{options.runs} runs, epochs of the recorded ones: {epochs}")


main()
