"""Updates reach threads that hardly ever leave their loops: these count, so nothing in them is checked but between two strips."""

import statistics

import loom_process
from loom_process import Failed, Live

FOLDER = loom_process.HERE / "Inputs" / "loom"
UPDATES = 10
# Milliseconds. Threads run one after the other here, and a strip takes microseconds: without a check in each loop, or with one
# that is never passed, the update would not succeed at all.
MEDIAN, LONGEST = 200, 2000
REGION = "{endless_nests.c:[beat]; endless_nests.c:[beat]}"


def check(options, level, precise):
    app = loom_process.build(options, FOLDER / "endless_nests.c", level=level, precise=precise, name=f"nests{level}{precise}")
    took = []
    with Live(options, app) as live:
        live.go_on(20)
        mutual = loom_process.filter_file(options, "mutual", f"{REGION} <> {REGION}", FOLDER)
        alone = loom_process.filter_file(options, "alone", f"{REGION} <> *", FOLDER)
        for _ in range(UPDATES):
            number, outcome = live.add(mutual)
            took.append(outcome["nanoseconds"] / 1e6)
            live.go_on(5)
            live.remove(number)
        # Whoever beats pauses all others, each time.
        number, _ = live.add(alone)
        live.go_on(20, seconds=60)
        if live.filters()[0]["state"] != "installed":
            raise Failed(f"taken out: {live.filters()}")
        live.remove(number)
        live.go_on(5)
    if statistics.median(took) > MEDIAN or max(took) > LONGEST:
        raise Failed(f"updates took {took} ms")
    print(f"{level}{' precise' if precise else ''}: median {statistics.median(took):.1f} ms, longest {max(took):.1f} ms", flush=True)


def main():
    options = loom_process.arguments(__doc__).parse_args()
    builds = [("-O0", False), ("-O2", False), ("-O2", True), ("-O3", False)]
    loom_process.finish([(f"{level} {precise}", lambda b=(level, precise): check(options, *b)) for level, precise in builds])


main()
