"""What the end-to-end checks share: building a program, and running commands that must end."""

import os
import subprocess
import sys
import time
import zlib


def run(*command, seconds=60, env=None):
    """A command that is killed, with its whole process group, if it takes too long."""
    command = ["timeout", "-s", "KILL", str(seconds), *command]
    env = {**os.environ, **env} if env else None
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", env=env)
    done.timed_out = time.monotonic() - start >= seconds
    return done


def outcome(done):
    """Exit code, as a shell has it, and standard output."""
    return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout


def reports(done):
    """What covsched itself has said on standard error: one line begins each."""
    return [line for line in done.stderr.split("\n") if line.startswith("covsched: ")]


def must(*command, **more):
    """The standard output of a command that succeeds."""
    done = run(*command, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def add_arguments(parser):
    """The arguments that all checks have."""
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--work", required=True, help="prefix of the files to make")
    parser.add_argument("--flag", action="append", default=[], help="a compiler flag more")
    parser.add_argument("--own-flag", action="append", default=[], help="one more of covsched's own")
    parser.add_argument("sources", nargs="+", help="the program's files, the main one first")


def build(options, level):
    """The program at a level: natively, and by covsched."""
    cxx = options.sources[0].endswith(".cpp")
    base = f"{options.work}{level}"
    flags = [level, "-pthread", *options.flag, *options.sources, "-o"]
    must("clang++-16" if cxx else "clang-16", *flags, base + ".native")
    compiler = os.path.join(options.bin, "covsched-c++" if cxx else "covsched-cc")
    must(compiler, *options.own_flag, *flags, base + ".app")
    return base + ".native", base + ".app"


def covsched(options):
    return os.path.join(options.bin, "covsched")


def one_of(levels, source):
    """A level that depends on the program's name, so that the programs spread over the levels."""
    return levels[zlib.crc32(os.path.basename(source).encode()) % len(levels)]
