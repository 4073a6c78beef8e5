"""Are the random programs what random_programs.py says, and can they be recorded and enforced?

Each is compiled without warnings and run natively many times on all its inputs: it always ends, and always prints the same. A
few are also run under ThreadSanitizer and UndefinedBehaviorSanitizer. Each is recorded with random delays, and runs
follow that schedule under both orders.
"""

import argparse
import collections
import concurrent.futures
import os
import sys

import random_programs
from programs import covsched, must, outcome, run

SANITIZERS = {"thread": {"TSAN_OPTIONS": "halt_on_error=1"}, "undefined": {}}


def build(compiler, source, target, *flags):
    must(compiler, "-pthread", *flags, source, "-o", target, seconds=300)
    return target


def same_each_time(app, arguments, runs, env=None):
    """What it printed."""
    first = run(app, *arguments, env=env)
    for _ in range(runs):
        done = run(app, *arguments, env=env)
        if outcome(done) != outcome(first) or done.timed_out or done.stderr:
            raise AssertionError(f"{app} {arguments}\nfirst: {first}\nthen: {done}")
    return outcome(first)


def check(options, seed):
    program = random_programs.generate(seed)
    source = random_programs.write(program, options.work)
    base = os.path.splitext(source)[0]
    cxx = program.language == "cpp"
    compiler = "clang++-16" if cxx else "clang-16"
    level = ["-O0", "-O2", "-O3"][seed % 3]
    native = build(compiler, source, base + ".native", level, "-Wall", "-Wextra", "-Werror")
    wanted = [same_each_time(native, arguments, options.runs) for arguments in program.inputs]
    if seed % options.sanitize == 0:
        for name, env in SANITIZERS.items():
            flags = ["-O1", "-g", f"-fsanitize={name}", "-fno-sanitize-recover=all"]
            app = build(compiler, source, f"{base}.{name}", *flags)
            for arguments, printed in zip(program.inputs, wanted):
                if same_each_time(app, arguments, 2, env) != printed:
                    raise AssertionError(f"{app} {arguments}: prints something else")
    app = build(os.path.join(options.bin, "covsched-c++" if cxx else "covsched-cc"), source, base + ".app", level)
    for number, arguments in enumerate(program.inputs[:3]):
        schedule = f"{base}.{number}.sched"
        recorded = run(covsched(options), "record", "--delay", str(number), "-o", schedule, "--", app, *arguments)
        if outcome(recorded) != wanted[number]:
            raise AssertionError(f"{app} {arguments}: recorded: {recorded}\nwanted: {wanted[number]}")
        must(covsched(options), "verify", schedule)
        for order in ["hb", "total"]:
            command = [covsched(options), "run", "--schedule", schedule, "--order", order, "--on-divergence", "abort"]
            checked = run(*command, "--repeat", "4", "--check", "--", app, *arguments, seconds=120)
            if checked.returncode != 0:
                raise AssertionError(f"{app} {arguments} under {schedule} ({order}): {checked}")
    for file in os.listdir(options.work):
        if file.startswith(program.name + "."):
            os.remove(os.path.join(options.work, file))
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="where covsched is")
    parser.add_argument("--work", required=True, help="folder to work in")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--runs", type=int, default=10, help="native runs on each input")
    parser.add_argument("--sanitize", type=int, default=8, help="one of so many with sanitizers")
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    features, failed = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(check, options, options.seed + number) for number in range(options.count)]
        for job in jobs:
            try:
                features.update(job.result().features.keys())
            except AssertionError as error:
                failed.append(str(error))
                print(str(error)[:3000], flush=True)
    for feature, count in sorted(features.items()):
        print(f"{feature}: {count}")
    print(f"{options.count} programs, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
