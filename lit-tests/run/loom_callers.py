"""Who called decides whether a thread that blocks in a shared wrapper, or runs in a shared helper, is inside of a region
(Inputs/loom/callers.c).

A filter is installed at once although a background thread waits in the wrapper for ever, and another goes round in the helper, and protects
when the former gets work. It is refused, with a report, while a thread waits in the wrapper that the region called, in each way that there is to call.
"""

import subprocess
import time

import loom_process
from loom_process import EXAMPLES, HERE, Failed, Live

INPUTS = HERE / "Inputs" / "loom"
WAYS = [
    "direct",
    "through others",
    "inlined",
    "by pointer",
    "by pointer, last",
    "last",
    "by library",
    "deep",
    "in handler",
    "runs",
]
# Words of the counters, behind the two of all programs.
WAY, COMES, BLOCKS, MAY_GO, WORK, WORKED = range(2, 8)
# The background thread never ends its wait: who is slow has waited for it.
LONGEST = 0.5e9
FILTER = "region <> region\n"


def install(live, path):
    """The filter must be installed at once."""
    number, outcome = live.add(path)
    if outcome["nanoseconds"] > LONGEST:
        raise Failed(f"it took {outcome['nanoseconds'] / 1e6:.1f} ms: {outcome}")
    return number


def protects(live):
    """Nobody meets anybody, also when the thread comes back that waited while the filter was installed."""
    live.failures_in(loom_process.SETTLE)
    before = live.failures
    worked = live.word(WORKED)
    live.set_word(WORK, 1)
    live.wait_for(lambda: live.word(WORKED) > worked, "the background thread's work")
    live.go_on(50)
    if live.failures != before:
        raise Failed(f"{live.failures - before} failures under the filter")


def refused(live, path, way):
    """A thread that blocks inside of the region is in the way, and is reported; when it has gone, no more."""
    live.set_word(WAY, WAYS.index(way) + 1)
    live.set_word(BLOCKS, 0)
    live.set_word(COMES, 1)
    live.wait_for(lambda: live.word(BLOCKS), f"the visitor, {way}")
    time.sleep(0.05)
    answer = live.controller("add", path, seconds=120)
    if answer.returncode != 1:
        raise Failed(f"{way}: the filter was installed around a thread: {answer}")
    does, why = ("runs", "it went on in code") if way == "runs" else ("blocks", "it blocks in pthread_cond_wait")
    line = loom_process.number_lines.marks(INPUTS / "callers.c")[does]
    if f'"line": {line},' not in answer.stdout or why not in answer.stdout:
        if way != "in handler":
            raise Failed(f"{way}: the report does not say where: {answer}")
    # By library, it compares once.
    live.set_word(MAY_GO, 1)
    live.wait_for(lambda: not live.word(COMES), f"the visitor's end, {way}")
    live.go_on()


def callers(options, app, ways, env=None):
    path = loom_process.filter_file(options, "callers", FILTER, INPUTS)
    patience = "loom-patience=300" + (f":{env}" if env else "")
    with Live(options, app, delay=50, env={"COVSCHED_OPTIONS": patience}) as live:
        live.go_on()
        for way in ways:
            refused(live, path, way)
        number = install(live, path)
        protects(live)
        live.remove(number)
        live.go_on()
        live.stop_clean()


def without_symbols(options, app):
    """Whose code is where is not known: then every thread that blocks there is in the way, as before."""
    stripped = f"{app}.stripped"
    subprocess.run(["llvm-strip-16", "--strip-all", "--keep-section=.llvmcmd", app, "-o", stripped], check=True)
    path = loom_process.filter_file(options, "callers", FILTER, INPUTS)
    with Live(options, stripped, delay=50, env={"COVSCHED_OPTIONS": "loom-patience=300"}) as live:
        live.go_on()
        answer = live.controller("add", path, seconds=120)
        if answer.returncode != 1:
            raise Failed(f"{answer}")
        live.go_on()
        live.stop_clean()


def main():
    options = loom_process.arguments(__doc__.split("\n")[0]).parse_args()

    def build(name, level, *flags, precise=False):
        include = [f"-I{EXAMPLES}", "-D_GNU_SOURCE"]
        return loom_process.build(
            options, INPUTS / "callers.c", level, precise, [*include, *flags], name=f"callers-{name}"
        )

    apps = {"-O0": build("O0", "-O0"), "-O2": build("O2", "-O2"), "-O3, static": build("O3", "-O3", "-static")}
    never = "-DNEVER_ENTERS"
    checks = [(f"{name}", lambda app=app: callers(options, app, WAYS)) for name, app in apps.items()]
    slow = "loom-switch=slow"
    checks += [
        (f"{name}, slow", lambda app=app: callers(options, app, WAYS, slow)) for name, app in apps.items()
    ]
    precise = build("precise", "-O2", never, precise=True)
    checks.append(("precise", lambda: callers(options, precise, WAYS)))
    linked = build("lto", "-O2", never, "-flto", "-fuse-ld=lld")
    checks.append(("lto", lambda: callers(options, linked, WAYS)))
    checks.append(("without symbols", lambda: without_symbols(options, apps["-O2"])))
    loom_process.finish(checks)


if __name__ == "__main__":
    main()
