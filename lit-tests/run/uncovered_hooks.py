"""Names the rows of core's hook table that no example's comments expect at least once in a schedule."""

import pathlib
import re
import sys

table, examples = map(pathlib.Path, sys.argv[1:])
rows = re.findall(r"^ +(\w+)\(.*\) -> \w+ : \w+ \w+;$", table.read_text(), re.MULTILINE)
assert len(rows) > 70, f"only {len(rows)} rows found: has the table's form changed?"
programs = [path for path in examples.rglob("*") if path.suffix in (".c", ".cpp", ".h")]
expected = re.findall(r"[A-Z]: (\w+) x[1-9]", "".join(path.read_text() for path in programs))
for row in rows:
    if row not in expected:
        print(row)
