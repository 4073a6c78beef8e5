"""Time that a virtual machine does not get, which Linux counts as "steal": others on the same host took it.

While that happens, runs that follow each other cannot be compared. So what was disturbed is done again.
"""

import collections
import os
import time

# A round of runs is disturbed if so much of the machine's time was taken meanwhile; it is done again, so often at most.
MOST, TRIES = 0.02, 5

# Of all rounds so far: how many there were, were done again, and were disturbed even so.
ROUNDS = collections.Counter()


def stolen():
    """Seconds of all processors since the machine started."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def undisturbed(round_of_runs):
    """What a round gives during which hardly any time was stolen; if there is none, that of the least disturbed one."""
    rounds = []
    while len(rounds) < TRIES:
        before, start = stolen(), time.perf_counter()
        given = round_of_runs()
        share = (stolen() - before) / (time.perf_counter() - start) / os.cpu_count()
        rounds.append((share, given))
        if share <= MOST:
            break
    share, given = min(rounds, key=lambda one: one[0])
    ROUNDS.update(all=1, again=len(rounds) > 1, disturbed=share > MOST)
    return given


def describe():
    """A line for a report."""
    return (
        f"- of {ROUNDS['all']} rounds of runs, {ROUNDS['again']} were done again, since the host gave more than {MOST:.0%} of the "
        f"machine's time to others meanwhile; {ROUNDS['disturbed']} were disturbed each of {TRIES} times"
    )
