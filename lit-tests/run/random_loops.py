"""Random loops that synchronize, unrolled, compute what they compute as they are.

Writes a C++ program of functions with nested loops of all forms, breaks, continues, gotos, switches, returns and
exceptions; every loop locks on some of its ways. The program prints a hash of everything that its loops have done, in
order. Built natively, and with each factor and order of passes, it must print the same. Prints how often each form was
made, and how often sync-unroll has said what.

usage: random_loops.py --bin DIR --plugin FILE --work PREFIX [--seeds N]
"""

import argparse
import collections
import os
import random
import re

from programs import must

HEAD = """
#include <cstdio>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static unsigned long hash = 1, fuel;
static void note(unsigned long value) {
  pthread_mutex_lock(&m);
  hash = hash * 1099511628211ul + value;
  pthread_mutex_unlock(&m);
}
static bool runs() { return fuel != 0 && fuel-- != 0; }
"""


class Function:
    """One random function; `made` counts forms."""

    def __init__(self, source, name, made):
        self.source, self.name, self.made = source, name, made
        self.variables, self.labels, self.depth = 0, 0, 0

    def pick(self, *forms):
        form = self.source.choice(forms)
        self.made[form] += 1
        return form

    def value(self):
        return self.source.choice(["a", "b", "x", "(int)(hash % 5)", str(self.source.randint(0, 6))])

    def condition(self):
        return f"{self.value()} {self.source.choice(['<', '>', '==', '!='])} {self.value()}"

    def statement(self, in_loop):
        forms = ["note", "note", "add", "plain for", "if", "return", "throw", "try"]
        if self.depth < 2:
            forms += ["for", "constant for", "while", "do", "endless", "goto loop"]
        if in_loop:
            forms += ["break", "continue", "switch"]
        form = self.pick(*forms)
        value, number = self.value(), self.source.randint(0, 99)
        if form == "note":
            return f"note({value} + {number});"
        if form == "plain for":
            # Nothing in it leaves, so that it can have a remainder.
            self.variables += 1
            i = f"i{self.variables}"
            return f"for (int {i} = 0; {i} < {self.source.choice('ab')}; ++{i}) note({i} + {value});"
        if form == "add":
            return f"x = (int)((unsigned)x * 3 + {value}) & 1023;"
        if form == "return":
            return f"if (x % 11 == {number % 11}) return x;"
        if form == "throw":
            return f"if (x % 13 == {number % 13}) throw x + {number};"
        if form == "break":
            return f"if ({self.condition()}) break;"
        if form == "continue":
            return f"if ({self.condition()}) continue;"
        if form == "if":
            return f"if ({self.condition()}) {{ {self.block(in_loop)} }} else {{ {self.block(in_loop)} }}"
        if form == "try":
            return f"try {{ {self.block(in_loop)} }} catch (int e) {{ note(e); x += e % 7; }}"
        if form == "switch":
            cases = " ".join(f"case {at}: {self.block(False)} {self.source.choice(['break;', 'continue;', ''])}"
                             for at in range(3))
            return f"switch (x & 3) {{ {cases} default: ; }}"
        return self.loop(form)

    def loop(self, form):
        self.depth += 1
        self.variables += 1
        i = f"i{self.variables}"
        body = f"if (!runs()) return x; note({self.value()}); {self.block(True)}"
        self.depth -= 1
        if form == "for":
            return f"for (int {i} = {self.source.randint(0, 2)}; {i} < {self.value()}; {i} += 1) {{ x += {i}; {body} }}"
        if form == "constant for":
            return f"for (int {i} = 0; {i} < {self.source.randint(1, 11)}; ++{i}) {{ {body} }}"
        if form == "while":
            return f"while ({self.condition()}) {{ x += 1; {body} }}"
        if form == "do":
            return f"do {{ {body} x += 1; }} while ({self.condition()});"
        if form == "endless":
            return f"for (;;) {{ {body} if ({self.condition()}) break; x += 2; }}"
        # A `continue` in the body of a loop by goto would belong to the loop around it, so the body has none.
        self.labels += 1
        label = f"again{self.labels}"
        return f"{label}: if (!runs()) return x; note({self.value()}); x += 1; if ({self.condition()}) goto {label};"

    def block(self, in_loop):
        return " ".join(self.statement(in_loop) for _ in range(self.source.randint(1, 3)))

    def text(self):
        loops = " ".join(self.loop(self.pick("for", "constant for", "while", "do", "endless")) for _ in range(2))
        return f"static int {self.name}(int a, int b) {{ int x = a + 1; {loops} {self.block(False)} return x; }}\n"


def program(seed, made):
    source = random.Random(seed)
    names = [f"f{number}" for number in range(8)]
    text = HEAD + "".join(Function(source, name, made).text() for name in names)
    calls = "".join(f"fuel = 300; try {{ note({name}(a, b)); }} catch (int e) {{ note(e); }}\n" for name in names)
    main = f"for (int a = -1; a < 9; a += 2) for (int b = 0; b < 12; b += 3) {{\n{calls} }}\n"
    return text + f"int main() {{\n{main} std::printf(\"%lx\\n\", hash);\n}}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    made, said = collections.Counter(), collections.Counter()
    seeds = 40 if os.environ.get("COVSCHED_TEST_LONG") else options.seeds
    for seed in range(seeds):
        base = f"{options.work}.{seed}"
        with open(base + ".cpp", "w", encoding="utf-8") as file:
            file.write(program(seed, made))
        must("clang++-16", "-O1", "-w", "-pthread", base + ".cpp", "-o", base)
        wanted = must(base)
        for number, factor in enumerate([2, 3, 4]):
            level = ["-O0", "-Xclang", "-disable-O0-optnone"] if (seed + number) % 2 else ["-O2", "-Xclang", "-disable-llvm-passes"]
            must("clang++-16", "-w", "-g", *level, "-c", "-emit-llvm", base + ".cpp", "-o", base + ".bc")
            passes = [f"sync-unroll<factor={factor}>", "epoch-markers"]
            passes = passes if (seed + number) // 2 % 2 else passes[::-1]
            passes += ["verify", "verify<covsched-epochs>", f"default<{level[0][1:]}>", "verify"]
            remarks = base + ".remarks"
            must("opt-16", f"-load-pass-plugin={options.plugin}", "-passes=" + ",".join(passes), base + ".bc", "-o",
                 base + ".done.bc", f"-pass-remarks-output={remarks}", "-pass-remarks-filter=sync-unroll")
            with open(remarks, encoding="utf-8") as file:
                said.update(re.sub(r"\d+", "N", line) for line in re.findall(r"String: +'?(.*?)'?$", file.read(), re.M))
            must("clang++-16", level[0], "-fPIE", "-Xclang", "-disable-llvm-passes", "-c", base + ".done.bc", "-o",
                 base + ".o")
            must(os.path.join(options.bin, "covsched-c++"), "-pthread", base + ".o", "-o", base + ".app")
            got = must(base + ".app")
            assert got == wanted, f"{base}.cpp, {level[0]}, {passes[:2]}: {got} instead of {wanted}"
    for counts in (made, said):
        print("; ".join(f"{what}: {count}" for what, count in sorted(counts.items())))
    print(f"{seeds} programs are the same")


if __name__ == "__main__":
    main()
