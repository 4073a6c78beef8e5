"""Filters go into a server under load and out again, many times: examples/loom/table_server.c (Wu, Fig. 5.7).

16 workers with blocking I/O, a region that is always occupied by someone, functions that never return. Each cycle
installs a filter, replaces it by another one and removes that. The latency is the engine's own, from the request's
arrival to the end of the update. No request is lost, memory does not grow, and the server is as fast afterwards as
before.
"""

import os
import re
import time

import loom_process
from loom_process import EXAMPLES, Failed, Live, Wire

CYCLES = int(os.environ.get("COVSCHED_TEST_LOOM_CYCLES", "100"))
# Milliseconds. scripts/bench has the real figure; other tests run beside this one.
MEDIAN_LIMIT = 200
# Kilobytes. In 1,000 cycles 4 kB a cycle would be noticed.
MEMORY_LIMIT = 2500
FILTERS = [f"table_server.{name}" for name in ("mutual", "mutual_all", "unilateral", "functions", "rare")]


FENCES = {"COVSCHED_OPTIONS": "loom-membarrier=0"}


def median(values):
    return sorted(values)[len(values) // 2]


def rate(live, seconds=2):
    """Operations a second."""
    before, start = live.operations, time.monotonic()
    live.failures_in(seconds)
    return (live.operations - before) / (time.monotonic() - start)


def percent(part, whole):
    return f"{100 * part / whole:.0f}%"


def cycles(options, app, count, delay, by_hand, env=None):
    """`by_hand`: plans that were compiled before go over the socket; else the controller does it all."""
    names = [loom_process.filter_file(options, name) for name in FILTERS]
    plans = [loom_process.plan(options, name, app)[1] for name in names] if by_hand else []
    latencies = {"add": [], "replace": [], "remove": []}
    with Live(options, app, delay=delay, threads=16, env=env) as live:
        live.go_on(2000)
        before = rate(live)
        memory = []
        for cycle in range(count):
            first, second = cycle % len(FILTERS), (cycle + 1 + cycle // len(FILTERS)) % len(FILTERS)
            if by_hand:
                with Wire(live.pid) as wire:
                    number, added = wire.add(plans[first])
                    number, replaced = wire.replace(number, plans[second])
                    _, removed = wire.remove(number)
            else:
                number, added = live.add(names[first])
                number, replaced = live.replace(number, names[second])
                removed = live.remove(number)
            for what, outcome in ("add", added), ("replace", replaced), ("remove", removed):
                latencies[what].append(outcome["nanoseconds"] / 1e6)
            live.must_run()
            memory.append(live.memory())
        # It goes up and down: what was removed is given back after a while.
        third = max(1, count // 3)
        grown = min(memory[-third:]) - min(memory[:third])
        after = rate(live)
        with Wire(live.pid) as wire:
            left = wire.filters()
        printed = live.stop_clean()
        said = live.said()
    lost, quiet = (int(re.search(rf"(\d+) {word}", printed).group(1)) for word in ("lost", "quiet"))
    if lost or quiet or said or left:
        raise Failed(f"{printed}{said}{left}")
    # The program's own memory does not grow.
    if grown > MEMORY_LIMIT:
        raise Failed(f"memory grows by {grown} kB in {count} cycles")
    if after < before / 2:
        raise Failed(f"{before:.0f} requests/s before, {after:.0f} after")
    medians = {what: median(taken) for what, taken in latencies.items()}
    if max(medians.values()) > MEDIAN_LIMIT:
        raise Failed(f"medians in ms: {medians}")
    shown = ", ".join(f"{what} {middle:.1f} ms (most {max(latencies[what]):.1f})" for what, middle in medians.items())
    return f"{count} cycles: {shown}; {grown} kB more; {percent(after, before)} of the requests/s"


def main():
    options = loom_process.arguments(__doc__.split("\n")[0]).parse_args()
    app = loom_process.build(options, EXAMPLES / "table_server.c")
    precise = loom_process.build(options, EXAMPLES / "table_server.c", precise=True, name="precise")
    address = ["-fsanitize=address", "-fno-omit-frame-pointer"]
    sanitized = loom_process.build(options, EXAMPLES / "table_server.c", flags=address, name="sanitized")
    loom_process.finish(
        [
            ("over the socket", lambda: cycles(options, app, CYCLES, 200, True)),
            ("over the socket, with long delays", lambda: cycles(options, app, CYCLES // 4, 3000, True)),
            ("over the socket, without delays", lambda: cycles(options, app, CYCLES // 4, 0, True)),
            ("by the controller", lambda: cycles(options, app, CYCLES // 10, 200, False)),
            ("without membarrier", lambda: cycles(options, app, CYCLES // 4, 200, True, FENCES)),
            ("under AddressSanitizer", lambda: cycles(options, sanitized, CYCLES // 4, 200, True)),
            ("instrumented before optimization", lambda: cycles(options, precise, CYCLES // 4, 200, True)),
        ]
    )


main()
