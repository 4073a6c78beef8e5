"""Stands for covsched in a test of data_check.py. It specializes control flow only, and says that it has found what the program
SOURCE asks for. REAL is covsched; LIE says how it goes wrong:

    facts     of the first constant another value was found
    more      something was found of every line that nothing must be found of
    check     a run of the program that checks its claims finds one wrong
    output    a run of the program that is to be used prints something more
    goes-on   an input that leaves the schedule does not end the run
    unchecked the program that checks claims has none to check
    shape     facts have no values
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import claims

LIE = os.environ.get("LIE", "")


def facts_for(program, is_check):
    """What the program asks for, and more if that is the lie."""
    facts = {"constants": [], "branches": [], "loops": [], "accesses": [], "summary": {}}
    numbers = {}
    for claim in program.claims:
        if (claim.is_not and LIE != "more") or claim.what == "DISJOINT":
            continue
        place = {"file": program.source, "line": claim.line, "function": "f", "thread": claim.arguments[0]}
        value = claim.arguments[-1] if len(claim.arguments) > 1 else "3"
        value = numbers.setdefault(value, str(100 + len(numbers))) if value.startswith("?") else value
        if claim.what == "CONST":
            kind = "load" if claim.arguments[1] == "any" else claim.arguments[1]
            if claim.is_not and len(claim.arguments) < 3:
                value = "3"
            facts["constants"].append({**place, "kind": kind, "value": value, "tainted": False})
        elif claim.what == "TAKEN":
            facts["branches"].append({**place, "taken": {"true": True, "false": False}.get(value, value)})
        else:
            facts["loops"].append({**place, "trips": int(value)})
    for claim in program.claims:
        if claim.what == "DISJOINT":
            side = {"file": program.source, "function": "f", "thread": "t1", "access": "write"}
            two = {"first": {**side, "line": claim.line}, "second": {**side, "line": claim.arguments[0]}}
            facts["accesses"].append({**two, "disjoint": claim.is_not == (LIE == "more")})
    if LIE == "facts":
        facts["constants"][0]["value"] = "-12345"
    if LIE == "shape":
        del facts["constants"][0]["value"]
    if LIE == "unchecked" and is_check:
        facts["constants"] = []
    return facts


def specialize(arguments):
    is_check, kept, facts = "--check" in arguments, [], None
    words = iter(arguments)
    for word in words:
        if word in ("--facts", "--summaries", "--solver-time"):
            place = next(words)
            facts = place if word == "--facts" else facts
        elif word not in ("--check", "--aggressive", "--control-only"):
            kept.append(word)
    if facts:
        with open(facts, "w", encoding="utf-8") as file:
            json.dump(facts_for(claims.read(os.environ["SOURCE"]), is_check), file)
    return subprocess.run([os.environ["REAL"], *kept, "--control-only"], check=False).returncode


def run(arguments):
    app = arguments[arguments.index("--") + 1]
    if LIE == "check" and ".check.bc" in app:
        print("covsched: bug: a load was claimed to be 1 and is 2", file=sys.stderr)
        return 70
    done = subprocess.run([os.environ["REAL"], *arguments], check=False).returncode
    if LIE == "output" and ".data.bc" in app:
        print("and more")
    if LIE == "goes-on" and ".aggressive.bc" in app and done == 66:
        return 0
    return done


def main(arguments):
    if arguments[0] == "specialize":
        return specialize(arguments)
    if arguments[0] == "run":
        return run(arguments)
    return subprocess.run([os.environ["REAL"], *arguments], check=False).returncode


sys.exit(main(sys.argv[1:]))
