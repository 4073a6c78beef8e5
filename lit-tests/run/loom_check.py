"""A race of examples/loom is there, is gone while a filter is installed, and is back when the filter is removed.

For each program:
- without a filter it fails within seconds;
- in another process, which has failed already, the first of its protecting filters is installed live: from then on there
  are no failures for COVSCHED_TEST_LOOM_SECONDS; it is removed, and failures come back; it is installed again and
  replaced by the next one, and so on, without a failure in between: a replacement is one step;
- the filter that forces the race makes failures where there is no delay that would;
- with a filter from the start (COVSCHED_OPTIONS=filter=PLAN) there is no failure at all.
The program's own invariants hold all the time, and it ends as it should.
"""

import os

import loom_process
import programs
from loom_process import EXAMPLES, SETTLE, Failed, Live

SECONDS = float(os.environ.get("COVSCHED_TEST_LOOM_SECONDS", "4"))
REPLACED_SECONDS = SECONDS / 2
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
# What must come from a race before it counts as there.
ENOUGH = 3


def filters_for(program):
    """Of a program: the names of its protecting filters, and of the one that forces the race, or None."""
    names = sorted(p.stem for p in (EXAMPLES / "filters").glob(f"{program}.*.loom"))
    force = f"{program}.force"
    protecting = [name for name in names if name != force and name not in NO_PROTECTION]
    return protecting, force if force in names else None


# Filters that are there for benchmarks.
NO_PROTECTION = ("table_server.functions", "table_server.often", "table_server.rare")


def fails_freely(options, app):
    with Live(options, app) as live:
        live.wait_for(lambda: live.failures >= ENOUGH, "failures without a filter")
        live.stop_clean()


def is_protected(live, name, seconds=SECONDS):
    """No failure from now on."""
    found = live.failures_in(seconds)
    if found:
        raise Failed(f"{found} failures under {name}; {live.state()}")


def protects(options, app, protecting):
    """All protecting filters in one process, one after the other."""
    first = loom_process.filter_file(options, protecting[0])
    with Live(options, app) as live:
        live.wait_for(lambda: live.failures >= ENOUGH, "failures without a filter")
        number, _ = live.add(first)
        live.failures_in(SETTLE)
        is_protected(live, protecting[0])
        live.remove(number)
        before = live.failures
        live.wait_for(lambda: live.failures >= before + ENOUGH, "failures after the filter was removed")
        number, _ = live.add(first)
        live.failures_in(SETTLE)
        before = live.failures
        for name in [*protecting[1:], protecting[0]]:
            number, _ = live.replace(number, loom_process.filter_file(options, name))
            is_protected(live, name, REPLACED_SECONDS)
        if live.failures != before:
            raise Failed(f"{live.failures - before} failures while filters were replaced")
        listed = live.filters()
        if len(listed) != 1 or listed[0]["id"] != number:
            raise Failed(f"ls says {listed}")
        live.remove(number)
        live.go_on()
        live.stop_clean()
        if "covsched" in live.said():
            raise Failed(f"the runtime says: {live.said()}")


def forces(options, app, name):
    """The race happens where nothing else makes it happen."""
    with Live(options, app, delay=0) as live:
        live.go_on()
        live.add(loom_process.filter_file(options, name))
        before = live.failures
        live.wait_for(lambda: live.failures >= before + ENOUGH, f"failures under {name}")
        # Threads wait for each other's events all the time: the filter can be removed all the same.
        [listed] = live.filters()
        if listed["state"] != "installed":
            raise Failed(f"ls says {listed}")
        live.remove(listed["id"])
        live.go_on()
        live.stop_clean()


def from_the_start(options, app, name):
    path, _ = loom_process.plan(options, loom_process.filter_file(options, name), app)
    with Live(options, app, env={"COVSCHED_OPTIONS": f"filter='{path}'"}) as live:
        live.go_on()
        is_protected(live, f"{name} from the start", REPLACED_SECONDS)
        live.stop_clean()
        if live.failures:
            raise Failed(f"{live.failures} failures under {name} from the start")


def main():
    parser = loom_process.arguments(__doc__.split("\n")[0])
    parser.add_argument("--precise", action="store_true", help="instrument before optimization")
    parser.add_argument("--level", help="of optimization; else the program's name chooses it")
    parser.add_argument("--flag", action="append", default=[], help="a compiler flag more")
    parser.add_argument("programs", nargs="+", help="names of programs in examples/loom")
    options = parser.parse_args()
    checks = []
    for program in options.programs:
        source = next(p for p in EXAMPLES.glob(f"{program}.c*") if p.suffix in (".c", ".cpp"))
        level = options.level or programs.one_of(LEVELS, source)
        app = loom_process.build(options, source, level, options.precise, options.flag)
        protecting, force = filters_for(program)
        what = f"{program} {level}{' precise' if options.precise else ''}"
        checks.append((f"{what} fails freely", lambda a=app: fails_freely(options, a)))
        checks.append((f"{what} under {protecting}", lambda a=app, p=protecting: protects(options, a, p)))
        if force:
            checks.append((f"{what} forced", lambda a=app, f=force: forces(options, a, f)))
        checks.append((f"{what} from the start", lambda a=app, p=protecting: from_the_start(options, a, p[0])))
    loom_process.finish(checks)


main()
