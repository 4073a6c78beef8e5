"""What a program says about its own schedule, in comments on the lines that synchronize.

`// SCHED: pthread_mutex_lock x4` on a line: the line does that call four times in a run. `x4+` is at least
four times. `= 16` after it is the result of each. `// SCHED-TOTAL: ...` on a line of its own counts the call
wherever it happens, for calls inside of headers. Calls without a comment must not happen in the file at all.
Other words than SCHED are for runs that other arguments cause; a test names the words that hold for it.
"""

import collections
import json
import os
import re

Expected = collections.namedtuple("Expected", "count more result")
# Entry, return and derived events are everywhere; they count only where a comment asks for them.
UNASKED = ("entry", "return", "call")


def read(sources, words):
    """{(file, line, op): Expected} of the comments; the file of a total is None."""
    expected = {}
    pattern = re.compile(r"\b(%s)(-TOTAL)?: (\w+) x(\d+)(\+?)(?: = (-?\d+))?" % "|".join(words))
    for source in sources:
        with open(source, encoding="utf-8") as text:
            for number, line in enumerate(text, 1):
                for _, total, op, count, more, result in pattern.findall(line):
                    place = (None, None) if total else (os.path.basename(source), number)
                    expected[(*place, op)] = Expected(int(count), bool(more), int(result) if result else None)
    return expected


def differences(schedule, expected, sources):
    """What in a schedule (as `show --format json` gives it) is not as expected: a list of sentences."""
    names = {os.path.basename(source) for source in sources}
    counts, results, found = collections.Counter(), collections.defaultdict(set), []
    for event in schedule["events"]:
        place = (os.path.basename(event["file"] or ""), event["line"])
        for key in ((*place, event["op"]), (None, None, event["op"])):
            # An operation with two moments is one execution; its result is known at the end.
            counts[key] += event["phase"] != "end"
            if event["phase"] != "begin":
                results[key].add(event["result"])
        if place[0] in names and event["op"] not in UNASKED and (*place, event["op"]) not in expected:
            found.append(f"unexpected {event['op']} at {place[0]}:{place[1]}")
    for (file, line, op), want in expected.items():
        where = f"{op} at {file}:{line}" if file else f"{op} in all"
        got = counts[file, line, op]
        if got < want.count or (got > want.count and not want.more):
            found.append(f"{where}: {got} times, expected {want.count}{' or more' if want.more else ''}")
        elif want.result is not None and results[file, line, op] - {want.result}:
            found.append(f"{where}: results {sorted(results[file, line, op], key=str)}, expected {want.result}")
    return sorted(set(found))


def sites(schedule, expected):
    """{(file, line, op): sites} of the calls that happen in every run, to compare builds with each other."""
    found = collections.defaultdict(set)
    for event in schedule["events"]:
        key = (os.path.basename(event["file"] or ""), event["line"], event["op"])
        if key in expected and not expected[key].more:
            found[key].add(event["site"])
    return found


def load(text):
    """A schedule from JSON, with the contract's keys checked."""
    schedule = json.loads(text)
    assert set(schedule) >= {"version", "command", "complete", "threads", "events"}, sorted(schedule)
    event_keys = {"seq", "thread", "op", "phase", "kind", "file", "line", "function", "site", "object", "child"}
    for event in schedule["events"]:
        assert set(event) >= event_keys | {"result", "epoch"}, sorted(event)
        if event["kind"] == "derived":
            # Comments and checks ask for "call", whatever is called.
            event["op"] = "call"
    for thread in schedule["threads"]:
        assert set(thread) >= {"id", "entry", "parent", "nth"}, sorted(thread)
    return schedule
