"""What the facts say of examples/partition.c: the number of threads, the workers' numbers, whether they write apart."""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    facts = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    lines = [""] + file.read().split("\n")
found = lambda text, kind: [f for f in facts["constants"] if text in lines[f["line"]] and f["kind"] == kind]
print("p =", *sorted({f["value"] for f in found("int p =", "call")}))
print("ids", sorted({int(f["value"]) for f in found("global_id++", "load")}))
pairs = [p for p in facts["accesses"] if all("results[i] = " in lines[p[side]["line"]] for side in ("first", "second"))]
print("stores to results apart:", all(p["disjoint"] for p in pairs))
