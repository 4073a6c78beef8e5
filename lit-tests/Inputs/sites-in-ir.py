"""Prints the sites of all hook calls in an .ll file, sorted, each once: those of calls that synchronize."""
import re
import sys

HOOK = re.compile(r"(?:call|invoke) .*@covsched_(?!thread_|main_|derived_|register)\w+\(.*i64 (-?\d+)\)")
with open(sys.argv[1], encoding="utf-8") as ir:
    found = {int(match.group(1)) & (1 << 64) - 1 for match in map(HOOK.search, ir) if match}
for site in sorted(f"{site:016x}" for site in found):
    print(site)
