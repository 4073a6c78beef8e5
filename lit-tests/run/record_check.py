"""The one helper of the end-to-end tests: compile, run, record, verify, compare.

A program is built at several levels, natively and by covsched. It must behave the same natively, in mode off
and while it is recorded, many times with random delays; each recording must be complete, legal (`covsched
verify`) and as the program's comments say (expectations.py); and each call must have the same site at every
level. With --app, an executable that the test has built takes the place of the builds.
"""

import argparse
import glob
import os
import subprocess
import sys

import expectations


def run(*command):
    # timeout(1) ends the whole process group of a run that hangs.
    command = ["timeout", "-s", "KILL", "60", *command]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def must(*command):
    done = run(*command)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(options, level):
    cxx = options.sources[0].endswith(".cpp")
    base = f"{options.work}{level}"
    flags = [level, "-pthread", *options.flag, *options.sources, "-o"]
    must("clang++-16" if cxx else "clang-16", *flags, base + ".native")
    must(os.path.join(options.bin, "covsched-c++" if cxx else "covsched-cc"), *flags, base + ".app")
    return base + ".native", base + ".app"


def check(options, native, app, expected):
    """Records the runs of one build; gives the sites of its calls."""
    covsched = os.path.join(options.bin, "covsched")
    wanted = run(native, *options.args)
    off = run(app, *options.args)
    assert (off.returncode, off.stdout) == (wanted.returncode, wanted.stdout), f"mode off: {off}"
    all_sites, schedule = {}, app + ".sched"
    for seed in range(options.runs):
        delay = ["--delay", str(seed)] if seed else []
        recorded = run(covsched, "record", "-o", schedule, *delay, "--", app, *options.args)
        assert (recorded.returncode, recorded.stdout) == (wanted.returncode, wanted.stdout), f"{delay}: {recorded}"
        for child in glob.glob(glob.escape(app) + ".[0-9]*.sched"):
            must(covsched, "verify", child)
            os.remove(child)
        must(covsched, "verify", schedule)
        events = expectations.load(must(covsched, "show", "--format", "json", schedule))
        assert events["complete"] is True, f"{schedule} is incomplete"
        found = expectations.differences(events, expected, options.sources)
        if found:
            sys.exit(f"{schedule} (seed {seed}):\n" + "\n".join(found))
        for key, here in expectations.sites(events, expected).items():
            all_sites.setdefault(key, set()).update(here)
    return all_sites


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--work", required=True, help="prefix of the files to make")
    parser.add_argument("--words", default="SCHED", help="which comments hold, by their first words: A,B")
    parser.add_argument("--runs", type=int, default=int(os.environ.get("COVSCHED_TEST_RUNS", "34")))
    parser.add_argument("--flag", action="append", default=[], help="a compiler flag more")
    parser.add_argument("--levels", default="-O0,-O2,-O3", help="which builds; give it as --levels=-O0,-O2")
    parser.add_argument("--app", nargs=2, metavar=("NATIVE", "APP"), help="what to run instead of builds")
    parser.add_argument("--args", nargs="*", default=[], help="the program's arguments")
    parser.add_argument("sources", nargs="+", help="the program's files, the main one first")
    options = parser.parse_args()
    expected = expectations.read(options.sources, options.words.split(","))
    levels = options.levels.split(",")
    builds = [options.app] if options.app else [build(options, level) for level in levels]
    sites = [check(options, native, app, expected) for native, app in builds]
    for level, here in zip(levels, sites):
        assert here == sites[0], f"sites at {level} differ from {levels[0]}: {here} {sites[0]}"


main()
