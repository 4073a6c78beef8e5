"""What the loom checks share: programs built with `covsched cc --loom`, a live process with its counters, the
controller, and the protocol of core/src/loom/wire.rs, spoken by hand.
"""

import argparse
import json
import mmap
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import time

import programs

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples" / "loom"
sys.path.insert(0, str(EXAMPLES / "filters"))
import number_lines  # noqa: E402  (it stands beside the filters)

COUNTERS_SIZE = 4096
# How long what had begun before an update may still take to be counted.
SETTLE = 0.3
# Microseconds in the racy window, if a test says nothing else.
DEFAULT_DELAY = 500


class Failed(Exception):
    """What must not happen."""


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--work", required=True, help="prefix of the files to make")
    return parser


def build(options, source, level="-O2", precise=False, flags=(), name=None):
    """The program, compiled with loom."""
    cxx = str(source).endswith(".cpp")
    app = f"{options.work}.{name or pathlib.Path(source).stem}"
    driver = os.path.join(options.bin, "covsched-c++" if cxx else "covsched-cc")
    loom = "--loom=precise" if precise else "--loom"
    programs.must(driver, loom, level, "-pthread", *flags, str(source), "-lm", "-o", app, seconds=300)
    return app


def filter_file(options, name, text=None, folder=EXAMPLES):
    """A filter: one of the examples' by its name, or a text with marks for the programs of `folder`. Gives its path."""
    if text is None:
        return str(EXAMPLES / "filters" / f"{name}.loom")
    path = f"{options.work}.{name}.loom"
    pathlib.Path(path).write_text(number_lines.fill(text, folder), encoding="utf-8")
    return path


def plan(options, filter_path, app):
    """A filter compiled for a program, as a file's path and its bytes."""
    path = f"{options.work}.{pathlib.Path(filter_path).stem}.plan"
    programs.must(programs.covsched(options), "loom", "check", filter_path, app, "-o", path)
    return path, pathlib.Path(path).read_bytes()


class Live:
    """A running program of examples/loom, or one that uses its race.h. Ends with the `with` block."""

    def __init__(self, options, app, delay=DEFAULT_DELAY, threads=None, env=None, more=()):
        self.options, self.app = options, app
        self.counters_path = f"{app}.counters"
        with open(self.counters_path, "wb") as file:
            file.write(bytes(COUNTERS_SIZE))
        with open(self.counters_path, "r+b") as file:
            self.counters = mmap.mmap(file.fileno(), COUNTERS_SIZE)
        command = [app, "0", str(delay), self.counters_path, *([str(threads)] if threads else []), *more]
        self.out_path, self.err_path = f"{app}.out", f"{app}.err"
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env={**os.environ, **(env or {})}
            )
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if kind is not None:
            print(f"{self.app} printed: {self.printed()}{self.said()}", flush=True)
        self.counters.close()

    def printed(self):
        return pathlib.Path(self.out_path).read_text(encoding="utf-8", errors="replace")

    def said(self):
        return pathlib.Path(self.err_path).read_text(encoding="utf-8", errors="replace")

    def word(self, number):
        return struct.unpack_from("<Q", self.counters, 8 * number)[0]

    def set_word(self, number, value):
        struct.pack_into("<Q", self.counters, 8 * number, value)

    operations = property(lambda self: self.word(0))
    failures = property(lambda self: self.word(1))

    def must_run(self):
        if self.process.poll() is not None:
            raise Failed(f"{self.app} has ended with {self.process.returncode}: {self.printed()}{self.said()}")

    def wait_for(self, condition, what, seconds=20):
        """Waits until the condition holds; the program must run meanwhile."""
        end = time.monotonic() + seconds
        while not condition():
            self.must_run()
            if time.monotonic() > end:
                raise Failed(f"{self.app}: {what}: not within {seconds} s; {self.state()}")
            time.sleep(0.01)

    def state(self):
        return f"{self.operations} operations, {self.failures} failures; {self.said()[-2000:]}"

    def go_on(self, more=20, seconds=20):
        """The program makes progress."""
        goal = self.operations + more
        self.wait_for(lambda: self.operations >= goal, f"{more} operations more", seconds)

    def failures_in(self, seconds):
        """How many failures in so many seconds; the program must make progress."""
        before, operations = self.failures, self.operations
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.must_run()
            time.sleep(min(0.1, max(0, end - time.monotonic())))
        if self.operations == operations:
            raise Failed(f"{self.app}: nothing happens; {self.state()}")
        return self.failures - before

    def memory(self):
        """VmRSS in kilobytes."""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def controller(self, *command, seconds=60):
        """Runs `covsched loom` for this process: the run itself."""
        # A program may fail before its engine listens.
        self.wait_for(lambda: os.path.exists(socket_path(self.pid)), "the engine's socket")
        verb, *rest = command
        command = ["loom", verb, str(self.pid), *rest, "--format", "json"]
        return programs.run(programs.covsched(self.options), *command, seconds=seconds)

    def control(self, *command, seconds=60):
        """As `controller`; it must succeed. Gives what it says, from JSON. The engine may have only begun."""
        self.wait_for(lambda: os.path.exists(socket_path(self.pid)), "a socket")
        done = self.controller(*command, seconds=seconds)
        if done.returncode != 0:
            raise Failed(f"covsched loom {' '.join(command)}: {done}; {self.state()}")
        return json.loads(done.stdout)

    def add(self, path):
        """Installs a filter: its id, and what came of it."""
        outcome = self.control("add", path)
        return outcome["filter"], outcome

    def remove(self, number):
        return self.control("remove", str(number))

    def replace(self, number, path):
        outcome = self.control("replace", str(number), path)
        return outcome["filter"], outcome

    def filters(self):
        return self.control("ls")["processes"][0]["filters"]

    def stop(self, seconds=30):
        """Ends it by SIGTERM: its exit code, and what it printed."""
        self.must_run()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.app} does not end; {self.state()}") from None
        return code, self.printed()

    def stop_clean(self):
        """Ends it; what it prints fits its counters, and the runtime had nothing to complain about."""
        code, printed = self.stop()
        if f"{self.operations} operations, {self.failures} failures" not in printed:
            raise Failed(f"{self.app} printed {printed!r}; {self.state()}")
        if code != (self.failures != 0):
            raise Failed(f"{self.app}: exit {code}; {self.state()}")
        return printed


# The protocol.

HEAD = struct.Struct("<4sHHI")
OUTCOME = struct.Struct("<IIQ")
PROCESS = struct.Struct("<QIIII")
FILTER = struct.Struct("<IIQQQIIII")
MAGIC, VERSION = b"CVLM", 1
HELLO, ADD, REMOVE, REPLACE, LIST, WHERE = range(1, 7)
ANSWER_PROCESS, DONE, NOT_DONE, REFUSED, FILTERS, THREADS = range(65, 71)
MAX_LENGTH = (1 << 20) + 4096
INSTALLED, EXPELLED = 0, 1


def socket_path(pid):
    folder = os.environ.get("XDG_RUNTIME_DIR")
    return f"{folder}/covsched/{pid}.sock" if folder else f"/tmp/covsched-{os.getuid()}/{pid}.sock"


def message(kind, body=b"", length=None, magic=MAGIC, version=VERSION):
    return HEAD.pack(magic, version, kind, len(body) if length is None else length) + body


class Wire:
    """A connection to an engine."""

    def __init__(self, pid, seconds=20):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(seconds)
        end = time.monotonic() + seconds
        while True:
            try:
                self.socket.connect(socket_path(pid))
                return
            except (BlockingIOError, FileNotFoundError):  # as many wait as it lets wait; it has only begun
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends what the engine takes; it may hang up before it has all."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self):
        """A message as kind and body; None if the engine hung up."""
        head = self.exactly(HEAD.size)
        if head is None:
            return None
        magic, version, kind, length = HEAD.unpack(head)
        if magic != MAGIC or version != VERSION or length > MAX_LENGTH:
            raise Failed(f"the engine answers {head!r}")
        return kind, self.exactly(length)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except ConnectionResetError:
                return None
            if not part:
                return None
            data += part
        return data

    def ask(self, kind, body=b""):
        self.send(message(kind, body))
        return self.receive()

    def change(self, kind, body):
        """A request that changes something: the filter's id and the outcome; it must be done."""
        answer = self.ask(kind, body)
        if answer is None or answer[0] != DONE:
            raise Failed(f"request {kind}: {answer}")
        number, tries, nanoseconds = OUTCOME.unpack(answer[1][: OUTCOME.size])
        return number, {"tries": tries, "nanoseconds": nanoseconds}

    def add(self, plan_bytes):
        return self.change(ADD, plan_bytes)

    def remove(self, number):
        return self.change(REMOVE, struct.pack("<I", number))

    def replace(self, number, plan_bytes):
        return self.change(REPLACE, struct.pack("<II", number, 0) + plan_bytes)

    def filters(self):
        """[{id, state, operations, waits, objects, name, report}]"""
        kind, body = self.ask(LIST)
        if kind != FILTERS:
            raise Failed(f"LIST: {kind}, {body!r}")
        found = []
        while body:
            number, state, _, operations, waits, objects, name, source, report = FILTER.unpack_from(body)
            texts = body[FILTER.size :]
            found.append(
                {
                    "id": number,
                    "state": state,
                    "operations": operations,
                    "waits": waits,
                    "objects": objects,
                    "name": texts[:name].decode(errors="replace"),
                    "report": texts[name + source : name + source + report].decode(errors="replace"),
                }
            )
            body = texts[(name + source + report + 7) // 8 * 8 :]
        return found


def finish(checks):
    """Runs checks, [(name, function)], says of each how it went, and ends: with 1 if one failed."""
    failed = 0
    for name, check in checks:
        start = time.monotonic()
        try:
            said = check()
            print(f"{name}: ok{', ' + said if said else ''} ({time.monotonic() - start:.1f} s)", flush=True)
        except (Failed, OSError, KeyError, ValueError) as error:
            failed += 1
            print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
    print(f"{len(checks)} checks, {failed} failed")
    sys.exit(bool(failed))
