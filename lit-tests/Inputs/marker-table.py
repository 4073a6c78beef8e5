"""A table like Bergan's 3.3: how many epoch markers programs get with all rules, without each, and without any.

usage: marker-table.py PLUGIN PROGRAM.c...
"""

import os
import subprocess
import sys

RULES = ["trivial", "covered", "barrier"]
COLUMNS = [("rules", []), *((f"no-{rule}", [f"no-{rule}"]) for rule in RULES), ("none", [f"no-{rule}" for rule in RULES])]


def output(*command, text=None):
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def markers(plugin, ir, parameters):
    passes = f"epoch-markers<{';'.join(['whole-program', *parameters])}>,verify"
    changed = output("opt-16", f"-load-pass-plugin={plugin}", f"-passes={passes}", "-S", text=ir)
    return changed.count("call void @covsched_epoch_marker(")


def main(plugin, *programs):
    print(f"{'program':<16}" + "".join(f"{name:>12}" for name, _ in COLUMNS))
    for program in programs:
        flags = ["-O2", "-g", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm"]
        ir = output("clang-16", *flags, program, "-o", "-")
        counts = [markers(plugin, ir, parameters) for _, parameters in COLUMNS]
        name = os.path.basename(program).removesuffix(".c")
        print(f"{name:<16}" + "".join(f"{count:>12}" for count in counts))
        if 2 * counts[0] > counts[-1]:
            sys.exit(f"{name}: the rules remove less than half")


main(*sys.argv[1:])
