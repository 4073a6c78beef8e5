"""Random loops that count: what `covsched cc --loom` runs in strips.

Writes a C program of functions with nests of loops without calls, which count up and down, by steps of many sizes, with
counters of several types, to values that the function is given, that an outer loop has, or that another loop has computed;
short ones and long ones, some left early. Two threads run them; the program prints a hash of all that they have computed.
"""

import random

HEAD = """
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { N = 1 << 16 };
struct work { uint32_t *data; double *reals; uint64_t hash; long rounds; };
"""

MAIN = """
static void *worker(void *given) {
  struct work *w = given;
  static const long sizes[] = {0, 1, 3, 17, 100, 900, 70, 5000};
  for (long round = 0; round < w->rounds; ++round)
    for (int i = 0; i < 8; ++i) {
      long a = sizes[i], b = sizes[(i * 3 + round) & 7];
      if (a * b > 100000) b = 7;
%s    }
  return given;
}
int main(void) {
  pthread_t threads[2];
  struct work works[2];
  for (int i = 0; i < 2; ++i) {
    works[i] = (struct work){calloc(N, sizeof(uint32_t)), calloc(N, sizeof(double)), 14695981039346656037u, 20 + i};
    pthread_create(&threads[i], 0, worker, &works[i]);
  }
  for (int i = 0; i < 2; ++i) {
    pthread_join(threads[i], 0);
    uint64_t hash = works[i].hash;
    for (long at = 0; at < N; ++at)
      hash = (hash ^ works[i].data[at] ^ (uint64_t)works[i].reals[at]) * 1099511628211u;
    printf("%%016llx\\n", (unsigned long long)hash);
  }
}
"""


class Function:
    """One random function."""

    def __init__(self, source, name):
        self.source, self.name, self.variables = source, name, 0

    def bound(self, around):
        """How far a loop goes: together, nests have some hundred thousand iterations at most."""
        large = [["a", "a / 2"], ["b", "b + 3"]][: 2 - len(around)]
        small = ["x & 15", "12", "33", *(f"{name} & 31" for name in around)]
        return self.source.choice(self.source.choice([large[-1], small] if large else [small]))

    def body(self, counters):
        index = " + ".join(f"{name} * {self.source.choice([1, 1, 1, 3, 64])}" for name in counters)
        index = f"(uint32_t)({index}) & (N - 1)"
        return self.source.choice([
            f"w->data[{index}] += (uint32_t)x;",
            f"x += w->data[{index}] ^ (uint32_t){counters[-1]};",
            f"reals[{index}] += 1.0 + (double)({counters[0]} & 7);",
            f"if (data[{index}] & 1) x = x * 3 + 1; else x += 5;",
            f"data[{index}] = data[{index}] * 5 + 1; x ^= (uint64_t){counters[0]} << 7;",
            f"reals[{index}] += pow(2.0, (double)({counters[-1]} & 3));",
            f"if ((x & 0xfff) == 0x7a3) break; x += data[{index}] + 3;",
        ])

    def loop(self, depth, around):
        self.variables += 1
        i = f"i{self.variables}"
        kind = self.source.choice(["long", "int", "unsigned", "size_t"])
        step = self.source.choice([1, 1, 1, 2, 3, 7, 64])
        to = f"({kind})({self.bound(around)})"
        form = self.source.choice(["<", "<", "down", "!=", "pointer"] if step == 1 else ["<", "<", "down"])
        inner = " ".join(self.statement(depth - 1, [*around, i]) for _ in range(self.source.randint(1, 2)))
        if form == "<":
            return f"for ({kind} {i} = {self.source.choice([0, 1, 5])}; {i} < {to}; {i} += {step}) {{ {inner} }}"
        if form == "down":
            kind = kind.replace("unsigned", "int").replace("size_t", "long")
            return f"for ({kind} {i} = ({kind})({self.bound(around)}); {i} > 0; {i} -= {step}) {{ {inner} }}"
        if form == "!=":
            # It does not change meanwhile, so that it is reached.
            to = to.replace("x & 15", "b & 15")
            return f"for ({kind} {i} = 0; {i} != {to}; ++{i}) {{ {inner} }}"
        at, end = f"p{self.variables}", f"e{self.variables}"
        length = f"(({self.bound(around)}) & (N - 1))"
        return (f"for (uint32_t *{at} = data, *{end} = data + {length}; {at} < {end}; ++{at}) "
                f"{{ long {i} = {at} - data; {inner} }}")

    def statement(self, depth, around):
        if depth > 0 and self.source.random() < 0.6:
            return self.loop(depth, around)
        return self.body(around)

    def text(self):
        parts = []
        for _ in range(3):
            if self.source.random() < 0.3:
                # A loop that looks for something; another goes as far as it came.
                self.variables += 1
                k = f"k{self.variables}"
                parts.append(f"long {k}; for ({k} = 0; {k} < a; ++{k}) if (data[{k}] == 77) break; "
                             f"for (long j = 0; j < {k}; ++j) {{ {self.body(['j', k])} }}")
            parts.append(self.loop(self.source.choice([1, 2, 2, 3]), []))
        return (f"__attribute__((noinline)) static void {self.name}(struct work *w, long a, long b) {{\n"
                "  uint32_t *data = w->data; double *reals = w->reals; uint64_t x = w->hash;\n  "
                + "\n  ".join(parts) + "\n  w->hash = x;\n}\n")


def program(seed):
    source = random.Random(seed)
    names = [f"f{number}" for number in range(10)]
    text = HEAD + "".join(Function(source, name).text() for name in names)
    return text + MAIN % "".join(f"      {name}(w, a, b);\n" for name in names)
