"""The helper of the tests that record: compile, run, record, verify, compare; then enforce.

A program is built at several levels, natively and by covsched. It must behave the same natively, in mode off
and while it is recorded, many times with random delays; each recording must be complete, legal (`covsched
verify`) and as the program's comments say (expectations.py); and each call must have the same site at every
level. At one level, runs then follow such schedules (enforce_check.py). With --app, an executable that the test
has built takes the place of the builds.
"""

import argparse
import glob
import os
import sys

import enforce_check
import expectations
from programs import add_arguments, build, covsched, must, one_of, outcome, run

# How many recordings at each level.
RUNS = int(os.environ.get("COVSCHED_TEST_RUNS", "34"))


def same_code(done):
    return outcome(done)[0]


def check(options, native, app, expected):
    """Records the runs of one build; gives the sites of its calls."""
    same = same_code if options.varies else outcome
    wanted = run(native, *options.args)
    off = run(app, *options.args)
    assert same(off) == same(wanted), f"mode off: {off}"
    all_sites, schedule = {}, app + ".sched"
    for seed in range(options.runs):
        delay = ["--delay", str(seed)] if seed else []
        recorded = run(covsched(options), "record", "-o", schedule, *delay, "--", app, *options.args)
        assert same(recorded) == same(wanted), f"{delay}: {recorded}"
        for child in glob.glob(glob.escape(app) + ".[0-9]*.sched"):
            must(covsched(options), "verify", child)
            os.remove(child)
        must(covsched(options), "verify", schedule)
        events = expectations.load(must(covsched(options), "show", "--format", "json", schedule))
        assert events["complete"] is True, f"{schedule} is incomplete"
        found = expectations.differences(events, expected, options.sources)
        if found:
            sys.exit(f"{schedule} (seed {seed}):\n" + "\n".join(found))
        for key, here in expectations.sites(events, expected).items():
            all_sites.setdefault(key, set()).update(here)
    return all_sites


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_arguments(parser)
    enforce_check.add_arguments(parser)
    parser.add_argument("--words", default="SCHED", help="which comments hold, by their first words: A,B")
    parser.add_argument("--runs", type=int, help="how many recordings at each level, and enforced runs an order")
    parser.add_argument("--enforced", type=int, help="how many enforced runs an order")
    parser.add_argument("--levels", default="-O0,-O2,-O3", help="which builds; give it as --levels=-O0,-O2")
    parser.add_argument("--app", nargs=2, metavar=("NATIVE", "APP"), help="what to run instead of builds")
    parser.add_argument("--varies", action="store_true", help="what it prints depends on the schedule")
    parser.add_argument("--args", nargs="*", default=[], help="the program's arguments")
    options = parser.parse_args()
    if options.enforced is None:
        options.enforced = enforce_check.RUNS if options.runs is None else options.runs
    if options.runs is None:
        options.runs = RUNS
    expected = expectations.read(options.sources, options.words.split(","))
    levels = options.levels.split(",")
    builds = [options.app] if options.app else [build(options, level) for level in levels]
    sites = [check(options, native, app, expected) for native, app in builds]
    for level, here in zip(levels, sites):
        assert here == sites[0], f"sites at {level} differ from {levels[0]}: {here} {sites[0]}"
    _, app = one_of(builds, options.sources[0])
    enforce_check.check(options, app, options.args, options.enforced)


main()
