"""What a program says that data-flow specialization must find of it, and must not: comments on the lines of code.

    // CONST t1 load 4          some load of thread t1 on this line is proven to be 4. Kinds: load, call, argument, phi,
                                compare, binary, other, or any. Values: a number (signed by its width), true, false, null,
                                &name, &name+8, or ?a: some number, the same wherever ?a stands, and another one than ?b
    // NOT CONST t1 load        no such value is proven; with a value: it is not proven to be that one
    // TAKEN t1 true            a branch on this line is decided: true, false, or a switch's case
    // NOT TAKEN t1             none is; with a value: none is decided in that way
    // TRIPS t0 2               a loop that begins on this line has so many rounds
    // NOT TRIPS t0             none has a known number of rounds
    // DISJOINT self            this line's accesses by different threads do not meet; with a line's number or its label: the
                                accesses of both lines. Where points-to analysis or the order tells them apart, they are in no
                                list, and that is as good
    // NOT DISJOINT self        some of them may meet
    // LABEL name               names this line

Several stand in one comment, with semicolons. A comment on a line of its own is about the next line of code. `HB` or `TOTAL`
before one: it holds if specialized for that order. In the comment at a program's head:

    // RECORDED: 2 10           arguments of the run that is recorded
    // COVERED: 2 1000          arguments of another run that takes the same schedule; any number of such lines
    // LEAVES: 3 10             arguments of a run that leaves it
    // RACY                     it has a data race on purpose
    // ORDERS: hb total         for which orders it is specialized, if not for hb alone
    // FLAGS: -lm               more arguments for the compiler
    // SPECIALIZE: --x HERE/y   more arguments for covsched specialize; HERE is the program's folder
"""

import dataclasses
import os
import re

KINDS = ("load", "call", "argument", "phi", "compare", "binary", "other", "any")
PART = re.compile(r"(?:(HB|TOTAL) )?(NOT )?(CONST|TAKEN|TRIPS|DISJOINT|LABEL)((?: \S+)*)$")
# A comment with one of these words is no prose.
MARKED = re.compile(r"\b(CONST|TAKEN|TRIPS|DISJOINT|LABEL)\b")
HEAD = re.compile(r"// (RECORDED|COVERED|LEAVES|ORDERS|FLAGS|SPECIALIZE):(.*)$")
THREAD = re.compile(r"t\d+$")
VALUE = re.compile(r"-?\d+$|true$|false$|null$|&[\w.$]+(\+\d+)?$|\?\w+$")


class Unreadable(Exception):
    """A comment that means nothing: file, line and what is wrong."""


@dataclasses.dataclass
class Claim:
    """One of them. `arguments` are the words after the keyword, a line for DISJOINT."""

    line: int
    order: str
    is_not: bool
    what: str
    arguments: list

    def __str__(self):
        return " ".join([*(["NOT"] if self.is_not else []), self.what, *map(str, self.arguments)])


@dataclasses.dataclass
class Program:
    """What a file says of itself."""

    source: str
    claims: list
    recorded: list
    covered: list
    leaves: list
    orders: list
    flags: list
    specialize: list
    is_racy: bool = False

    def inputs(self):
        """The recorded one first."""
        return [self.recorded, *self.covered, *self.leaves]


def read_part(place, line, text):
    """One claim of a comment."""
    found = PART.match(text)
    if not found:
        raise Unreadable(f"{place}: cannot read `{text}`")
    order, is_not, what, rest = found.groups()
    words = rest.split()
    fits = {
        "CONST": [["thread", "kind", "value"], ["thread", "kind"]],
        "TAKEN": [["thread", "value"], ["thread"]],
        "TRIPS": [["thread", "value"], ["thread"]],
        "DISJOINT": [["where"]],
        "LABEL": [["where"]],
    }[what]
    kinds = {
        "thread": THREAD.match,
        "kind": KINDS.__contains__,
        "value": VALUE.match,
        "where": re.compile(r"self$|\d+$|[a-z]\w*$").match,
    }
    # Only a NOT may leave the value out.
    shapes = fits if is_not else fits[:1]
    if not any(len(words) == len(shape) and all(kinds[k](w) for k, w in zip(shape, words)) for shape in shapes):
        raise Unreadable(f"{place}: cannot read `{text}`: expected {what} {' '.join(shapes[0])}")
    if is_not and any(word.startswith("?") for word in words):
        raise Unreadable(f"{place}: `{text}`: a name cannot be denied")
    if what == "LABEL" and (is_not or order or words[0] == "self"):
        raise Unreadable(f"{place}: cannot read `{text}`")
    return Claim(line, order.lower() if order else "", bool(is_not), what, words)


def resolve(source, claims):
    """Labels become lines."""
    labels = {}
    for claim in claims:
        if claim.what == "LABEL" and labels.setdefault(claim.arguments[0], claim.line) != claim.line:
            raise Unreadable(f"{source}:{claim.line}: a second label `{claim.arguments[0]}`")
    kept = [claim for claim in claims if claim.what != "LABEL"]
    for claim in kept:
        if claim.what == "DISJOINT":
            where = claim.arguments[0]
            line = claim.line if where == "self" else int(where) if where.isdigit() else labels.get(where)
            if line is None:
                raise Unreadable(f"{source}:{claim.line}: no label `{where}`")
            claim.arguments = [line]
    return kept


def parse(source, text):
    """What a program's text says."""
    head = {"RECORDED": [], "COVERED": [], "LEAVES": [], "ORDERS": [], "FLAGS": [], "SPECIALIZE": []}
    claims, waiting, is_racy = [], [], False
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{source}:{number}"
        code, slashes, comment = line.partition("//")
        comment = comment.strip()
        if found := HEAD.match(line):
            head[found.group(1)].append(found.group(2).split())
        elif line.strip() == "// RACY":
            is_racy = True
        elif slashes and MARKED.search(comment):
            parts = [read_part(place, number, part.strip()) for part in comment.split(";")]
            waiting += parts
        if code.strip():
            for claim in waiting:
                claim.line = number
            claims += waiting
            waiting = []
    if waiting:
        raise Unreadable(f"{source}:{waiting[0].line}: no code follows `{waiting[0]}`")
    if len(head["RECORDED"]) > 1 or (not head["RECORDED"] and (head["COVERED"] or head["LEAVES"])):
        raise Unreadable(f"{source}: there must be one RECORDED")
    flat = {name: [word for words in head[name] for word in words] for name in ("ORDERS", "FLAGS", "SPECIALIZE")}
    here = os.path.dirname(os.path.abspath(source))
    return Program(
        source,
        resolve(source, claims),
        head["RECORDED"][0] if head["RECORDED"] else [],
        head["COVERED"],
        head["LEAVES"],
        flat["ORDERS"] or ["hb"],
        flat["FLAGS"],
        [word.replace("HERE", here) for word in flat["SPECIALIZE"]],
        is_racy,
    )


def read(source):
    with open(source, encoding="utf-8") as file:
        return parse(source, file.read())


# What was found.

SHAPES = {
    "constants": {"file", "line", "function", "thread", "kind", "value", "tainted"},
    "branches": {"file", "line", "function", "thread", "taken"},
    "loops": {"file", "line", "function", "thread", "trips"},
    "accesses": {"first", "second", "disjoint"},
}
SIDE = {"file", "line", "function", "thread", "access"}


def check_shape(facts):
    """Whether it is what `--facts` promises: a list of complaints."""
    wrong = [f"no `{key}`" for key in [*SHAPES, "summary"] if key not in facts]
    for key, wanted in SHAPES.items():
        for fact in facts.get(key, []):
            if not wanted <= set(fact):
                wrong.append(f"{key}: {fact}: no {sorted(wanted - set(fact))}")
            elif key == "accesses" and not (SIDE <= set(fact["first"]) and SIDE <= set(fact["second"])):
                wrong.append(f"{key}: {fact}: sides must have {sorted(SIDE)}")
            elif key == "constants" and fact["kind"] not in KINDS[:-1]:
                wrong.append(f"{key}: {fact}: no such kind")
    return wrong


def plain(value):
    """A value in one form, whatever it was written as."""
    if isinstance(value, bool):
        return "1" if value else "0"
    text = str(value)
    return {"true": "1", "false": "0"}.get(text, text.removesuffix("+0") if text.startswith("&") else text)


def equals(found, wanted):
    """A bit that is true is -1 if it is signed by its width."""
    return plain(found) == plain(wanted) or (wanted == "true" and plain(found) == "-1")


def ours(source, fact, line, thread):
    return (
        os.path.basename(fact["file"] or "") == os.path.basename(source)
        and fact["line"] == line
        and fact["thread"] == thread
    )


def values(source, facts, claim):
    """What was found of the kind that a claim is about: values."""
    key, field = {"CONST": ("constants", "value"), "TAKEN": ("branches", "taken"), "TRIPS": ("loops", "trips")}[claim.what]
    found = [fact for fact in facts[key] if ours(source, fact, claim.line, claim.arguments[0])]
    if claim.what == "CONST" and claim.arguments[1] != "any":
        found = [fact for fact in found if fact["kind"] == claim.arguments[1]]
    return [fact[field] for fact in found]


def pairs(source, facts, claim):
    """Whether each pair of accesses of two lines is disjoint."""
    name, lines = os.path.basename(source), sorted([claim.line, claim.arguments[0]])
    sides = [(fact, (fact["first"], fact["second"])) for fact in facts["accesses"]]
    return [
        fact["disjoint"]
        for fact, two in sides
        if all(os.path.basename(side["file"] or "") == name for side in two) and sorted(s["line"] for s in two) == lines
    ]


def unmet_alone(source, facts, claim):
    """Why a claim without names does not hold, or None."""
    if claim.what == "DISJOINT":
        found = pairs(source, facts, claim)
        if claim.is_not:
            return None if not all(found) else f"{len(found)} pairs, all disjoint" if found else "no such pair"
        return None if all(found) else f"{found.count(False)} of {len(found)} pairs may meet"
    found = values(source, facts, claim)
    wanted = claim.arguments[2 if claim.what == "CONST" else 1 :]
    hits = [value for value in found if not wanted or equals(value, wanted[0])]
    if bool(hits) != claim.is_not:
        return None
    return f"found {', '.join(sorted({plain(value) for value in found})) or 'nothing'}"


def assign(domains):
    """A value for each name, all different, or None."""
    if not domains:
        return {}
    name = min(domains, key=lambda name: len(domains[name]))
    rest = {other: domain for other, domain in domains.items() if other != name}
    for value in sorted(domains[name]):
        found = assign({other: domain - {value} for other, domain in rest.items()})
        if found is not None:
            return {name: value, **found}
    return None


def unmet(program, facts, order="hb"):
    """Sentences on the claims that do not hold, with file and line."""
    source, sentences, named = program.source, [], {}
    for claim in program.claims:
        if claim.order not in ("", order):
            continue
        name = claim.arguments[-1] if claim.what != "DISJOINT" and claim.arguments[-1].startswith("?") else None
        if name is None:
            why = unmet_alone(source, facts, claim)
            if why:
                sentences.append(f"{source}:{claim.line}: {claim}: {why}")
            continue
        found = {plain(value) for value in values(source, facts, claim)}
        if found:
            named.setdefault(name, []).append((claim, found))
        else:
            sentences.append(f"{source}:{claim.line}: {claim}: found nothing")
    domains = {name: set.intersection(*(found for _, found in uses)) for name, uses in named.items()}
    if assign(domains) is None:
        for name, uses in named.items():
            claim = uses[0][0]
            told = ", ".join(sorted(domains[name])) or "nothing that fits all its places"
            sentences.append(f"{source}:{claim.line}: {name} cannot be unlike the others: found {told}")
    return sentences


def threads_named(program):
    """All threads that claims are about, with a line for each."""
    return {c.arguments[0]: c.line for c in program.claims if c.what != "DISJOINT"}
