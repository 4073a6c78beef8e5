"""A filter protects, or is refused: for races in many forms, at all levels.

Each case of Inputs/loom/protect.* has its filter in a comment, `// FILTER case: TEXT`. `// EXPECT case: protects|refused [LEVEL...]`: at these
levels, or at all, just that; `// EXPECT case: any`: the filter is right, but says less than one would think, so there may be failures.
Nothing said: it protects, or is refused with a reason. Never may it be installed and not protect.
"""

import concurrent.futures
import os
import pathlib
import re
import sys

import loom_process
import programs
from loom_process import EXAMPLES, HERE, SETTLE, Failed, Live

INPUTS = HERE / "Inputs" / "loom"
SECONDS = float(os.environ.get("COVSCHED_TEST_LOOM_SECONDS", "0.6"))
ENOUGH = 3
# Each runs mostly in delays.
AT_ONCE = 4


def cases(source):
    """{name: (filter, {level: what must happen})} of a program; a level of None is every other one."""
    text = source.read_text(encoding="utf-8")
    found = {name: (rule, {}) for name, rule in re.findall(r"^// FILTER (\w+): (.+)$", text, re.MULTILINE)}
    for name, what, levels in re.findall(r"^// EXPECT (\w+): (\w+)((?: \S+)*)$", text, re.MULTILINE):
        for level in levels.split() or [None]:
            found[name][1][level] = what
    return found


def check(options, app, name, rule, expected):
    """What came of the filter: `protects` or `refused: WHY`."""
    own = f"{app}.{name}"
    pathlib.Path(own).unlink(missing_ok=True)
    os.link(app, own)
    path = loom_process.filter_file(options, f"{os.path.basename(app)}.{name}", rule + "\n", INPUTS)
    checked = programs.run(programs.covsched(options), "loom", "check", path, own)
    if checked.returncode == 2 and "error: " in checked.stderr:
        why = checked.stderr.split("error: ")[1].split("\n")[0]
        if expected in (None, "refused", "any"):
            return f"refused: {why}"
        raise Failed(f"refused: {why}")
    if checked.returncode != 0:
        raise Failed(f"{checked}")
    if expected == "refused":
        raise Failed("it is not refused")
    with Live(options, own, delay=100, threads=3, more=[name]) as live:
        live.wait_for(lambda: live.failures >= ENOUGH, "failures without a filter", seconds=10)
        number, _ = live.add(path)
        live.failures_in(SETTLE)
        found = live.failures_in(SECONDS)
        if found and expected != "any":
            raise Failed(f"{found} failures under {rule}; {checked.stdout}{checked.stderr}")
        [listed] = live.filters()
        if listed["state"] != "installed":
            raise Failed(f"ls says {listed}")
        live.remove(number)
        live.go_on()
        live.stop_clean()
        if live.said():
            raise Failed(live.said())
    return "protects"


def main():
    parser = loom_process.arguments(__doc__.split("\n")[0])
    parser.add_argument("--only", help="this case")
    parser.add_argument("--spread", action="store_true", help="each case at one of the ways to build, not at all")
    parser.add_argument("--build", action="append", help="a way to build: -O0, -O2precise, -O2lto, ...")
    parser.add_argument("programs", nargs="+", help="names in Inputs/loom")
    options = parser.parse_args()
    ways = options.build or ["-O0", "-O1", "-O2", "-O3", "-O2precise"]
    work = []
    for program in options.programs:
        # A folder is a program of several units.
        sources = sorted((INPUTS / program).glob("*.c*")) or [p for p in INPUTS.glob(f"{program}.c*")]
        listed = {name: rule for source in sources for name, rule in cases(source).items()}
        chosen = [name for name in listed if options.only in (None, name)]
        for number, way in enumerate(ways):
            here = [n for i, n in enumerate(chosen) if not options.spread or i % len(ways) == number]
            if not here:
                continue
            flags = [f"-I{EXAMPLES}", *(["-flto", "-fuse-ld=lld"] if way.endswith("lto") else [])]
            more, main_source = [str(s) for s in sources[:-1]], sources[-1]
            level = re.match(r"-O\w?(?=precise|lto|$)", way).group()
            app = loom_process.build(
                options, main_source, level, "precise" in way, [*flags, *more], name=f"{program}{way}"
            )
            for name in here:
                rule, expected = listed[name]
                work.append((f"{name} {way}", app, name, rule, expected.get(way, expected.get(None))))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for (what, *_), done in [(w, pool.submit(check, options, *w[1:])) for w in work]:
            try:
                print(f"{what}: ok, {done.result()}", flush=True)
            except Exception as why:  # noqa: BLE001  (whatever it is, the other cases go on)
                failed += 1
                print(f"{what}: FAILED: {why}", flush=True)
    print(f"{len(work)} checks, {failed} failed")
    sys.exit(failed != 0)


main()
