"""The helper of the tests in which a run cannot follow its schedule, since it has another input.

The program is recorded with one input and run under that schedule with another, under each order. Going on
(`--on-divergence continue`) it must end as it does natively, and say once where it left the schedule: the report
names the lines that the program marks for the test (`// DIVERGES word`), all of them, or with --any at least one.
With `abort` it must end with 66, or with what `exitcode=` says. It never hangs: a run that does is killed and fails.
"""

import argparse
import os
import re
import sys

import programs

SECONDS = 20


def marked_lines(source, word):
    """`file:line` of the lines that are marked with the word."""
    name = os.path.basename(source)
    with open(source, encoding="utf-8") as text:
        marks = [(number, re.search(r"// DIVERGES (.*)", line)) for number, line in enumerate(text, 1)]
    found = [f"{name}:{number}" for number, mark in marks if mark and word in mark.group(1).split()]
    return found or sys.exit(f"{source} marks no line with {word}")


def ends(options, app, order, *more, **environment):
    """A run under the schedule, which must end in time."""
    command = [programs.covsched(options), "run", "--schedule", app + ".sched", "--order", order, *more]
    command += ["--", app, *options.input.split()]
    settings = ":".join([*options.setting, *(f"{key}={value}" for key, value in environment.items())])
    done = programs.run(*command, seconds=SECONDS, env={"COVSCHED_OPTIONS": settings} if settings else None)
    if done.timed_out:
        sys.exit(f"hangs: {settings} {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done


def names(text, line):
    return re.search(re.escape(line) + r"\b", text) is not None


def check(options, native, app, lines, seed):
    if options.expect_crash:
        return check_crash(options, native, app, seed)
    wanted = programs.run(native, *options.input.split())
    delay = ["--delay", str(seed)] if seed else []
    for order in options.orders.split(","):
        went_on = ends(options, app, order, *delay)
        if programs.outcome(went_on) != programs.outcome(wanted):
            sys.exit(f"{order}, seed {seed}: natively {wanted}\ngoing on: {went_on}")
        named = [line for line in lines if names(went_on.stderr, line)]
        if len(programs.reports(went_on)) != 1 or not named or (named != lines and not options.any):
            sys.exit(f"{order}, seed {seed}: expected one report, of {lines}:\n{went_on.stderr}")
        aborted = ends(options, app, order, *delay, "--on-divergence", "abort")
        seven = ends(options, app, order, *delay, "--on-divergence", "abort", exitcode=7)
        for done, code in (aborted, 66), (seven, 7):
            if done.returncode != code or len(programs.reports(done)) != 1:
                sys.exit(f"{order}, seed {seed}: expected exit {code} and one report: {done}")


def check_crash(options, native, app, seed):
    """A crash is the program's own end, whatever is to be done about divergences."""
    wanted = programs.run(native, *options.input.split())
    delay = ["--delay", str(seed)] if seed else []
    for order in options.orders.split(","):
        for divergence in "continue", "abort":
            done = ends(options, app, order, *delay, "--on-divergence", divergence)
            if programs.outcome(done) != programs.outcome(wanted) or programs.reports(done):
                sys.exit(f"{order}, seed {seed}: natively {wanted}\nenforced: {done}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    programs.add_arguments(parser)
    parser.add_argument("--recorded", default="", help="the recorded run's arguments, in one word")
    parser.add_argument("--input", default="", help="the enforced runs' arguments, in one word")
    parser.add_argument("--word", help="which marks hold")
    parser.add_argument("--any", action="store_true", help="one marked line in the report is enough")
    parser.add_argument("--expect-crash", action="store_true", help="the program crashes before anything else")
    parser.add_argument("--setting", action="append", default=[], help="for COVSCHED_OPTIONS: key=value")
    parser.add_argument("--orders", default="hb,total")
    parser.add_argument("--seeds", type=int, default=3, help="how many recordings, each with other delays")
    options = parser.parse_args()
    native, app = programs.build(options, "-O2")
    lines = [] if options.expect_crash else marked_lines(options.sources[0], options.word)
    for seed in range(options.seeds):
        delay = ["--delay", str(seed)] if seed else []
        command = [programs.covsched(options), "record", "-o", app + ".sched", *delay, "--", app]
        recorded = programs.run(*command, *options.recorded.split())
        if not os.path.exists(app + ".sched"):
            sys.exit(f"nothing recorded: {recorded}")
        check(options, native, app, lines, seed)
        os.remove(app + ".sched")


main()
