"""Checks that following a schedule needs no memory for a synchronization beyond the schedule itself.

The thread pool server of examples/pool_server.c is enforced with few and with many requests. It tells its peak of all
memory (VmHWM, which has the mapped plan in it) and its own memory without files (RssAnon). From few requests to many
- its own memory must not grow, but for the word that the runtime has for each signal that woke somebody, and which is
  there from the start; so much room for noise that a bit for each synchronization would be noticed;
- the peak must not grow by more than the schedule file does: the plan is the schedule, in another form.
What a program has without schedule (stacks, its data) is in both runs and cancels out.
"""

import argparse
import os
import re
import sys

import enforce_check
import programs

THREADS, FEW, MANY = "32", "20000", "100000"


def measure(options, app, requests, order):
    """Of an enforced run: VmHWM, RssAnon and the schedule's size in bytes, its events, and how many were woken."""
    schedule, arguments = f"{app}.{requests}.sched", (THREADS, requests, "memory")
    if not os.path.exists(schedule):
        enforce_check.record(options, app, arguments, schedule, 0)
    command = [programs.covsched(options), "run", "--schedule", schedule, "--order", order, "-v", "--", app]
    done = programs.run(*command, *arguments, seconds=120)
    if done.returncode != 0 or "no divergence" not in done.stderr:
        sys.exit(f"{order}, {requests} requests: {done}")
    found = {name: int(kilobytes) * 1024 for name, kilobytes in re.findall(r"(\w+):\s+(\d+) kB", done.stderr)}
    found["events"] = int(re.search(r"followed \d+ of (\d+)", done.stderr).group(1))
    with open(schedule, encoding="utf-8") as lines:
        found["woken"] = sum(" waker=" in line for line in lines)
    return {**found, "schedule": os.path.getsize(schedule)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    programs.add_arguments(parser)
    options = parser.parse_args()
    _, app = programs.build(options, "-O2")
    for requests in FEW, MANY:
        if os.path.exists(f"{app}.{requests}.sched"):
            os.remove(f"{app}.{requests}.sched")
    for order in "hb", "total":
        few, many = (measure(options, app, requests, order) for requests in (FEW, MANY))
        grown = {name: many[name] - few[name] for name in few}
        print(f"{order}: from {FEW} to {MANY} requests: {grown}")
        if grown["events"] < 8 * int(MANY) * 0.75:
            sys.exit("fewer synchronizations than the test is made for")
        if grown["RssAnon"] > 8 * grown["woken"] + grown["events"] // 8:
            sys.exit(f"own memory grows by {grown['RssAnon']} bytes")
        if grown["VmHWM"] > grown["schedule"]:
            sys.exit(f"the peak grows by {grown['VmHWM']} bytes, the schedule by {grown['schedule']}")


main()
