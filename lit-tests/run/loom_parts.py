"""Filters for code that came into the program in another way than by compiling one file: a shared object that is loaded
while threads run, and functions of other files, inlined by the linker (LTO).
"""

import pathlib

import loom_process
from loom_process import Failed, Live

FOLDER = loom_process.HERE / "Inputs" / "loom" / "parts"
SECONDS = 1
# A whole region, one of each record, a function, and all others paused.
FILTERS = {
    "mutual": "{part.c:[begin]; part.c:[end]} <> {part.c:[begin]; part.c:[end]}",
    "value": "{part.c:[begin](record); part.c:[end](record)} <> {part.c:[begin](record); part.c:[end](record)}",
    "function": "part_step(record) <> part_step(record)",
    "unilateral": "{part.c:[begin]; part.c:[end]} <> *",
}


def protects(live):
    """Each filter in turn; without one there are failures."""
    live.wait_for(lambda: live.failures >= 3, "failures without a filter")
    for name, text in FILTERS.items():
        number, _ = live.add(loom_process.filter_file(live.options, name, text, FOLDER))
        live.failures_in(loom_process.SETTLE)
        failures = live.failures_in(SECONDS)
        if failures:
            raise Failed(f"{name}: {failures} failures in {SECONDS} s")
        [listed] = live.filters()
        if listed["state"] != "installed" or not listed["operations"]:
            raise Failed(f"{name}: ls says {listed}")
        if name == "value" and listed["objects"] != 2:
            raise Failed(f"{name}: not a lock for each of two records: {listed}")
        live.remove(number)
        before = live.failures
        live.wait_for(lambda start=before: live.failures >= start + 3, f"failures after {name} was removed")
    live.stop_clean()
    if "covsched" in live.said():
        raise Failed(f"the runtime says: {live.said()}")


def opened(options):
    app = loom_process.build(options, FOLDER / "host.c", flags=["-DOPENED"], name="opened")
    shared = ["-shared", "-fPIC", "-g"]
    part = loom_process.build(options, FOLDER / "part.c", flags=shared, name="part.so")
    with Live(options, app, threads=4, more=[str(pathlib.Path(part).resolve())]) as live:
        protects(live)


def lto(options, kind):
    flags = [kind, "-fuse-ld=lld", "-g", str(FOLDER / "part.c")]
    app = loom_process.build(options, FOLDER / "host.c", flags=flags, name=f"lto{kind[5:]}")
    with Live(options, app, threads=4) as live:
        protects(live)


CHECKS = {
    "opened": opened,
    "lto": lambda options: lto(options, "-flto"),
    "thin": lambda options: lto(options, "-flto=thin"),
}


def main():
    parser = loom_process.arguments(__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("checks", nargs="+", choices=CHECKS)
    options = parser.parse_args()
    loom_process.finish([(name, lambda n=name: CHECKS[n](options)) for name in options.checks])


main()
