"""Whatever happens to the conversation with the engine, and during an update, the program runs on, unchanged.

Faults of the conversation, against a server under load: garbage, half messages, messages that are too long, a
controller that is killed at every moment, plans with damage, plans of another build. Faults of filters: deadlocks, dead
code, a region that somebody never leaves. Programs that are hard to update (Inputs/loom): threads that come and go,
forks, signals, callbacks, regions that are left in every way there is.
"""

import os
import random
import signal
import struct
import subprocess
import time

import loom_process
import programs
from loom_process import EXAMPLES, HEAD, HERE, Failed, Live, Wire, message

INPUTS = HERE / "Inputs" / "loom"
LONG = bool(os.environ.get("COVSCHED_TEST_LONG"))
CYCLES = 200 if LONG else 25
DAMAGED = 2000 if LONG else 150


def still_serves(live, filters=0):
    """The engine answers, has so many filters, and the program goes on."""
    with Wire(live.pid) as wire:
        found = wire.filters()
    if len(found) != filters:
        raise Failed(f"{len(found)} filters instead of {filters}: {found}")
    live.go_on()


def remove_all(live):
    with Wire(live.pid) as wire:
        for found in wire.filters():
            if found["state"] == loom_process.INSTALLED:
                wire.remove(found["id"])


def serve(options, app, fault):
    """A fault, or several, against the server; nothing is lost."""
    with Live(options, app, delay=100, threads=16) as live:
        live.go_on(200)
        said = fault(live)
        live.go_on(200)
        printed = live.stop_clean()
    if " 0 lost" not in printed:
        raise Failed(printed)
    return said


def send_and_leave(live, data):
    with Wire(live.pid) as wire:
        wire.send(data)


def garbage(live):
    source = random.Random(1)
    heads = [
        b"",
        bytes(12),
        b"\xff" * 12,
        message(loom_process.LIST, magic=b"CVLN"),
        message(loom_process.LIST, version=2),
        message(0),
        message(7),
        message(65535),
        message(loom_process.DONE, bytes(16)),
        message(loom_process.ADD, length=0xFFFFFFFF),
        message(loom_process.ADD, length=loom_process.MAX_LENGTH + 1),
        message(loom_process.REMOVE, b"\1"),
        message(loom_process.REMOVE, bytes(4)),
        message(loom_process.REMOVE, struct.pack("<I", 77)),
        message(loom_process.REPLACE, bytes(7)),
        message(loom_process.REPLACE, struct.pack("<II", 77, 1)),
        message(loom_process.ADD, b""),
        message(loom_process.HELLO, bytes(100)),
        message(loom_process.LIST, bytes(1 << 20)),
        message(loom_process.ADD, bytes(1 << 20)),
        message(loom_process.ADD, source.randbytes(loom_process.MAX_LENGTH)),
        b"GET / HTTP/1.0\r\n\r\n",
    ]
    for data in heads + [source.randbytes(source.randrange(1, 5000)) for _ in range(40)]:
        with Wire(live.pid, seconds=5) as wire:
            wire.send(data)
            wire.socket.shutdown(1)
            # Some answer, or the end: nothing is done.
            answer = wire.receive()
            if answer is not None and answer[0] in (loom_process.DONE, loom_process.NOT_DONE):
                raise Failed(f"{data[:40]!r} is answered by {answer}")
    still_serves(live)
    return f"{len(heads) + 40} messages"


def cut_off(plans):
    """Connections that end at each byte of a head, and at some of a body."""

    def fault(live):
        whole = message(loom_process.ADD, plans["table_server.mutual"])
        early, last = HEAD.size + 40, len(whole) - 1
        cuts = [*range(early), *range(early, last, max(1, last // 60)), last]
        for kind in loom_process.HELLO, loom_process.LIST, loom_process.WHERE, loom_process.REMOVE:
            for cut in range(HEAD.size):
                send_and_leave(live, message(kind, bytes(4) if kind == loom_process.REMOVE else b"")[:cut])
        for cut in cuts:
            send_and_leave(live, whole[:cut])
        still_serves(live)
        return f"{len(cuts) + 4 * HEAD.size} connections"

    return fault


def asked_and_gone(plans):
    """Who asked does not wait for the answer."""

    def fault(live):
        for name in plans:
            send_and_leave(live, message(loom_process.ADD, plans[name]))
        live.wait_for(lambda: installed(live) == len(plans), "the filters of who is gone")
        remove_all(live)
        still_serves(live)

    return fault


def installed(live):
    with Wire(live.pid) as wire:
        return sum(found["state"] == loom_process.INSTALLED for found in wire.filters())


def stalled(live):
    """One who never ends his message does not keep others out."""
    with Wire(live.pid) as wire:
        wire.send(message(loom_process.ADD, b"x" * 100, length=5000))
        with Wire(live.pid) as other:
            if other.ask(loom_process.LIST) is None:
                raise Failed("nobody else is answered while one connection stalls")
    many = []
    try:
        for _ in range(40):
            many.append(Wire(live.pid, seconds=0.1))
    except BlockingIOError:
        pass  # no more are let in
    live.go_on(200)
    for wire in many:
        wire.__exit__()
    still_serves(live)


def killed_controllers(options):
    """The controller is killed at some moment, in all its requests."""

    def fault(live):
        source = random.Random(2)
        path = loom_process.filter_file(options, "table_server.mutual")
        for number in range(40 if not LONG else 400):
            command = ["add", str(live.pid), path] if number % 3 else ["remove", str(live.pid), "1"]
            process = subprocess.Popen(
                [programs.covsched(options), "loom", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(source.random() * 0.1)
            process.kill()
            process.wait()
            if number % 10 == 9:
                live.go_on(50)
                remove_all(live)
        time.sleep(0.2)
        remove_all(live)
        still_serves(live)

    return fault


def damaged_plans(plans):
    """Plans with some bytes changed, or cut off. What is installed all the same is removed: it may be right."""

    def fault(live):
        source, answers = random.Random(3), {}
        plan = plans["table_server.mutual"]
        for number in range(DAMAGED):
            broken = bytearray(plan)
            if number % 4 == 0:
                broken = broken[: source.randrange(len(plan))]
            for _ in range(source.choice([1, 1, 2, 8])):
                # Mostly in the head, which is small beside the rest.
                limit = len(broken) if number % 2 else min(96, len(broken))
                if limit:
                    at = source.randrange(limit)
                    broken[at] = source.choice([0, 1, 255, broken[at] ^ 1 << source.randrange(8)])
            with Wire(live.pid) as wire:
                answer = wire.ask(loom_process.ADD, bytes(broken))
            kind = answer[0] if answer else None
            answers[kind] = answers.get(kind, 0) + 1
            if kind == loom_process.DONE:
                remove_all(live)
        remove_all(live)
        live.go_on()
        return f"{answers.get(loom_process.REFUSED, 0)} of {DAMAGED} refused"

    return fault


def another_build(options, app):
    """A plan of a program that was built otherwise is refused, by the engine and at start."""
    path = loom_process.filter_file(options, "log_rotation.mutual")
    other = loom_process.build(options, EXAMPLES / "log_rotation.cpp", "-O1", flags=["-DPAUSE_MORE"], name="other")
    plan_path, plan = loom_process.plan(options, path, other)
    with Live(options, app) as live:
        live.go_on()
        with Wire(live.pid) as wire:
            answer = wire.ask(loom_process.ADD, plan)
        if answer is None or answer[0] != loom_process.REFUSED or not answer[1]:
            raise Failed(f"another build's plan: {answer}")
        still_serves(live)
        live.stop_clean()
    with Live(options, app, env={"COVSCHED_OPTIONS": f"filter='{plan_path}'"}) as live:
        time.sleep(1)
        if "covsched: " not in live.said():
            raise Failed("nothing is said of another build's plan at start")
    return answer[1].decode()


def expelled(live, seconds=60):
    """Waits until the engine has taken a filter out; gives its report."""
    found = []

    def is_out():
        with Wire(live.pid) as wire:
            found[:] = [one for one in wire.filters() if one["state"] == loom_process.EXPELLED]
        return bool(found)

    live.wait_for(is_out, "the filter is taken out", seconds)
    if not found[0]["report"]:
        raise Failed(f"no report: {found}")
    return found[0]["report"].strip().split("\n")[0]


def deadlock(options, app, text):
    path = loom_process.filter_file(options, "deadlock", text, INPUTS)
    with Live(options, app, env={"COVSCHED_OPTIONS": "loom-timeout=1000"}) as live:
        live.go_on()
        live.add(path)
        report = expelled(live)
        live.go_on(200)
        if "covsched: " not in live.said():
            raise Failed("nothing is said of a filter that was taken out")
        live.stop_clean()
    return report


def dead_code(options, app):
    """A filter on code that never runs does nothing; one on lines without code is refused, with a hint."""
    line = "deadlock.c:[never]"
    path = loom_process.filter_file(options, "dead", f"{{{line}; {line}}} <> {{{line}; {line}}}\n", INPUTS)
    with Live(options, app) as live:
        live.go_on()
        number, _ = live.add(path)
        live.go_on(100)
        live.remove(number)
        for number, text in enumerate(["deadlock.c:1 > deadlock.c:2", "insides <> arounds", "{x.c:3; x.c:4} <> *"]):
            path = loom_process.filter_file(options, f"refused{number}", text + "\n", INPUTS)
            refused = live.controller("add", path)
            if refused.returncode == 0 or not refused.stderr + refused.stdout:
                raise Failed(f"{text}: {refused}")
        still_serves(live)
        live.stop_clean()


def stuck(options, app):
    """A thread that does not leave the region: a report with thread and line, and nothing has changed."""
    text = "{blocked.c:[enter]; blocked.c:[leave]} <> {blocked.c:[enter]; blocked.c:[leave]}\n"
    path = loom_process.filter_file(options, "stuck", text, INPUTS)
    line = loom_process.number_lines.marks(INPUTS / "blocked.c")["stuck"]
    with Live(options, app, env={"COVSCHED_OPTIONS": "loom-patience=2000"}) as live:
        live.go_on()
        refused = live.controller("add", path, seconds=120)
        said = refused.stdout + refused.stderr
        if refused.returncode == 0 or f"blocked.c:{line}" not in said and str(line) not in said:
            raise Failed(f"{refused}")
        still_serves(live)
        live.process.send_signal(signal.SIGUSR1)
        live.go_on()
        live.add(path)
        live.go_on()
        live.stop_clean()
    return f"{len(said)} bytes of report"


def hard_to_update(options, source, text, delay, flags=(), name=None):
    """Cycles of install, replace and remove; with the filter there are no failures, and nobody gives back what he does not hold."""
    app = loom_process.build(options, INPUTS / source, flags=[f"-I{EXAMPLES}", *flags], name=name)
    path = loom_process.filter_file(options, f"{name or source}.region", text, INPUTS)
    _, plan = loom_process.plan(options, path, app)
    with Live(options, app, delay=delay) as live:
        live.go_on()
        longest = 0
        for cycle in range(CYCLES):
            with Wire(live.pid, seconds=60) as wire:
                number, added = wire.add(plan)
                if cycle % 3 == 0:
                    number, _ = wire.replace(number, plan)
                live.go_on(5)
                reports = [one["report"] for one in wire.filters() if one["report"]]
                wire.remove(number)
            if reports:
                raise Failed(f"cycle {cycle}: {reports}")
            longest = max(longest, added["nanoseconds"])
        number, _ = live.add(path)
        live.failures_in(loom_process.SETTLE)
        found = live.failures_in(2)
        if found:
            raise Failed(f"{found} failures under the filter")
        live.remove(number)
        live.go_on()
        live.stop_clean()
        if live.said():
            raise Failed(live.said())
    return f"{CYCLES} cycles, longest {longest / 1e6:.1f} ms"


def with_unit(options, source, text, delay):
    """The same, of a program whose other unit is in NAME_unit."""
    path = INPUTS / source
    return hard_to_update(options, source, text, delay, [str(path.with_stem(f"{path.stem}_unit"))])


def overlapping(options):
    """Regions of two filters that overlap, in which a thread runs alone: that one of the filters comes and goes does not change what the
    other one does, nor does that the thread blocks with a lock, or forks."""
    app = loom_process.build(options, INPUTS / "alone.c", flags=[f"-I{EXAMPLES}"])
    region = "{{alone.c:[{0}]; alone.c:[{0}-end]}} <> *\n"
    lines = {name: loom_process.filter_file(options, name, region.format(name), INPUTS) for name in ("first", "second")}
    with Live(options, app, delay=100) as live:
        live.go_on()
        # Threads fork in the region, which an update must not keep them from.
        _, added = live.add(lines["second"])
        live.failures_in(loom_process.SETTLE)
        before = live.failures
        for _ in range(CYCLES):
            number, _ = live.add(lines["first"])
            live.go_on(2)
            live.remove(number)
        if live.failures != before:
            raise Failed(f"{live.failures - before} failures under the filter")
        if added["nanoseconds"] > 3e9:
            raise Failed(f"{added}")
        if any(one["report"] for one in live.filters()):
            raise Failed(f"taken out: {live.filters()}")
        live.stop_clean()
        if live.said():
            raise Failed(live.said())


def called_early(options):
    """Code that runs before its unit is known does not keep the first filter out, nor is that filter taken out while the process ends."""
    app = loom_process.build(options, INPUTS / "own_malloc.cpp", flags=[f"-I{EXAMPLES}"])
    path, _ = loom_process.plan(options, loom_process.filter_file(options, "own_malloc", MUTUAL, INPUTS), app)
    with Live(options, app, delay=100, env={"COVSCHED_OPTIONS": f"filter='{path}'"}) as live:
        live.go_on(500)
        if installed(live) != 1 or live.failures:
            raise Failed(f"{installed(live)} filters, {live.failures} failures")
        live.stop_clean()
        if live.said():
            raise Failed(live.said())


LINES = "{{{0}:[enter]; {0}:[leave]}} <> {{{0}:[enter]; {0}:[leave]}}\n"
# One that is stuck is to be seen while a check lasts.
MUTUAL, ALONE = "region <> region; timeout 1s\n", "region <> *; timeout 1s\n"
# The region takes a mutex of the program, which others have.
LOCKED = "{locked_calls.c:[enter]; locked_calls.c:[leave]} <> *; timeout 1s\n"


def main():
    parser = loom_process.arguments(__doc__.split("\n")[0])
    parser.add_argument("--only", help="checks whose names have this in them")
    options = parser.parse_args()
    server = loom_process.build(options, EXAMPLES / "table_server.c")
    rotation = loom_process.build(options, EXAMPLES / "log_rotation.cpp")
    include = [f"-I{EXAMPLES}"]
    deadlocked = loom_process.build(options, INPUTS / "deadlock.c", flags=include)
    blocked = loom_process.build(options, INPUTS / "blocked.c", flags=include)
    names = ["table_server.mutual", "table_server.rare"]
    plans = {n: loom_process.plan(options, loom_process.filter_file(options, n), server)[1] for n in names}
    inversion = "{deadlock.c:[inside]; deadlock.c:[inside]} <> {deadlock.c:[around-begin]; deadlock.c:[around-end]}\n"
    never = "thread inside\nthread around\nthread rarely\ndeadlock.c:[never] > deadlock.c:[inside]\n"
    checks = [
        ("garbage", lambda: serve(options, server, garbage)),
        ("cut off", lambda: serve(options, server, cut_off(plans))),
        ("asked and gone", lambda: serve(options, server, asked_and_gone(plans))),
        ("stalled", lambda: serve(options, server, stalled)),
        ("killed controllers", lambda: serve(options, server, killed_controllers(options))),
        ("damaged plans", lambda: serve(options, server, damaged_plans(plans))),
        ("another build", lambda: another_build(options, rotation)),
        ("deadlock of locks", lambda: deadlock(options, deadlocked, inversion)),
        ("deadlock of an order", lambda: deadlock(options, deadlocked, never)),
        ("dead code", lambda: dead_code(options, deadlocked)),
        ("stuck thread", lambda: stuck(options, blocked)),
        ("threads come and go", lambda: hard_to_update(options, "churn.c", LINES.format("churn.c"), 100)),
        ("forks", lambda: hard_to_update(options, "forks.c", LINES.format("forks.c"), 100)),
        ("signals", lambda: hard_to_update(options, "signals.c", LINES.format("signals.c"), 0)),
        ("callbacks", lambda: hard_to_update(options, "callbacks.c", LINES.format("callbacks.c"), 0)),
        ("left in every way", lambda: hard_to_update(options, "leaves.cpp", "region <> jump_out\n", 100)),
        ("exceptions", lambda: hard_to_update(options, "landing.cpp", "region <> region\n", 100)),
        ("jumps", lambda: hard_to_update(options, "jumps.c", MUTUAL, 100)),
        ("jumps of handlers", lambda: hard_to_update(options, "handler_jumps.c", MUTUAL, 100)),
        ("jumps of handlers, alone", lambda: hard_to_update(options, "handler_jumps.c", ALONE, 100)),
        ("jumps of handlers, alone with locks", lambda: hard_to_update(options, "jump_locks.c", ALONE, 300)),
        ("called early", lambda: called_early(options)),
        ("handlers", lambda: hard_to_update(options, "handlers.c", MUTUAL, 100)),
        ("handlers, alone", lambda: hard_to_update(options, "handlers.c", ALONE, 100)),
        ("threads of a handler's type", lambda: with_unit(options, "thread_functions.cpp", MUTUAL, 50)),
        ("a handler of another unit", lambda: with_unit(options, "foreign_handler.c", LINES.format("foreign_handler.c"), 0)),
        ("locks, alone", lambda: hard_to_update(options, "locked_calls.c", LOCKED, 100)),
        ("nested locks, alone", lambda: hard_to_update(options, "locked_calls.c", LOCKED, 100, ["-DNESTED"], "nested_calls")),
        ("overlapping regions, alone", lambda: overlapping(options)),
        ("cancelled", lambda: hard_to_update(options, "cancelled.c", MUTUAL, 0)),
        ("cancelled, alone", lambda: hard_to_update(options, "cancelled.c", ALONE, 0)),
    ]
    loom_process.finish([check for check in checks if (options.only or "") in check[0]])


main()
