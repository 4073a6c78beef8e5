"""Record, enforce, compare: the one helper of the tests in which runs follow a schedule.

A program is recorded a few times, with random delays, so that the schedules differ. Each schedule is then
followed many times under each order, with other delays: `covsched run --repeat N --check` sees to it that output,
exit code and the schedule recorded meanwhile are those of the recording, and that nothing diverges. A run that
hangs is killed and fails.
"""

import argparse
import os
import sys

import programs

ORDERS = "hb,total"
# How many runs under each order, in all, and how many schedules they share.
RUNS = int(os.environ.get("COVSCHED_TEST_ENFORCED_RUNS", "50"))
RECORDINGS = max(5, RUNS // 50)


def add_arguments(parser):
    parser.add_argument("--orders", default=ORDERS, help="which orders to follow")
    parser.add_argument("--recordings", type=int, default=RECORDINGS, help="how many schedules to follow")


def record(options, app, arguments, schedule, seed):
    """A schedule with its run's standard output and exit code."""
    delay = ["--delay", str(seed)] if seed else []
    done = programs.run(programs.covsched(options), "record", "-o", schedule, *delay, "--", app, *arguments)
    programs.must(programs.covsched(options), "verify", schedule)
    return done


def follow(options, app, arguments, recorded, schedule, order, runs):
    """Runs the program so many times under a schedule; each must be as the recorded one."""
    command = [programs.covsched(options), "run", "--schedule", schedule, "--order", order]
    # A check tells whether its runs are the same, and prints what the first one printed; another run tells the code.
    once = programs.run(*command, "--delay", "7", "--", app, *arguments)
    checked = programs.run(*command, "--repeat", str(runs), "--check", "--", app, *arguments, seconds=30 + runs)
    same = [(0, recorded.stdout), programs.outcome(recorded)]
    if [programs.outcome(checked), programs.outcome(once)] != same or programs.reports(once):
        kept = schedule.replace(".sched", f".{order}.failed.sched")
        os.replace(schedule, kept)
        sys.exit(f"{schedule} is kept as {kept}\nrecorded: {recorded}\nonce: {once}\nchecked: {checked}")


def check(options, app, arguments, runs):
    """Records and follows; gives what the recorded runs printed."""
    outputs = []
    # A whole number of runs a recording, not fewer in all than asked for.
    recordings = min(options.recordings, runs)
    each = -(-runs // recordings) if runs else 0
    for seed in range(recordings):
        schedule = f"{app}.enforce.{seed}.sched"
        recorded = record(options, app, arguments, schedule, seed)
        outputs.append(recorded.stdout)
        for order in options.orders.split(","):
            follow(options, app, arguments, recorded, schedule, order, each)
    return outputs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    programs.add_arguments(parser)
    add_arguments(parser)
    parser.add_argument("--runs", type=int, default=RUNS, help="under each order")
    parser.add_argument("--levels", default="-O0,-O2,-O3", help="one of them is built")
    parser.add_argument("--varies", action="store_true", help="the recordings must not all print the same")
    parser.add_argument("--args", nargs="*", default=[], help="the program's arguments")
    options = parser.parse_args()
    level = programs.one_of(options.levels.split(","), options.sources[0])
    _, app = programs.build(options, level)
    outputs = check(options, app, options.args, options.runs)
    if options.varies and len(set(outputs)) < 2:
        sys.exit(f"{len(outputs)} recordings printed the same: {outputs[0]}")


if __name__ == "__main__":
    main()
