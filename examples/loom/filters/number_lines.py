"""Writes the filters of this folder: those of templates/, with line numbers in place of marks.

Filters name lines, and lines move when a program is edited. So a line that filters name ends in a mark, `// [name]`, and a
template says `file.c:[name]`.

    number_lines.py            writes the filters
    number_lines.py --check    says which are not what their templates make, and fails
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MARK = re.compile(r"// \[([a-z0-9-]+)\]\s*$")
PLACE = re.compile(r"([\w./]+\.(?:c|cpp)):\[([a-z0-9-]+)\]")


def marks(source):
    """{name: line} of a program."""
    found = {}
    for number, line in enumerate(source.read_text(encoding="utf-8").split("\n"), 1):
        mark = MARK.search(line)
        if mark and found.setdefault(mark.group(1), number) != number:
            sys.exit(f"{source.name} has two lines [{mark.group(1)}]")
    return found


def fill(template, folder):
    """A template's text with numbers; the programs are in `folder`."""

    def number(place):
        file, name = place.groups()
        line = marks(pathlib.Path(folder) / file).get(name)
        if line is None:
            sys.exit(f"{file} has no line [{name}]")
        return f"{file}:{line}"

    return PLACE.sub(number, template)


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit("usage: number_lines.py [--check]")
    wanted = {t.name: fill(t.read_text(encoding="utf-8"), HERE.parent) for t in (HERE / "templates").glob("*.loom")}
    there = {f.name: f.read_text(encoding="utf-8") for f in HERE.glob("*.loom")}
    if check:
        wrong = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
        if wrong:
            sys.exit(f"not up to date, run {HERE.name}/number_lines.py: {', '.join(wrong)}")
        print(f"{len(wanted)} filters are up to date")
        return
    for name in there.keys() - wanted.keys():
        (HERE / name).unlink()
    for name, text in wanted.items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
