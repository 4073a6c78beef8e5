//! Random functions: nested loops, branches, switches, jumps out, locals in registers and in memory.

use super::Program;
use std::fmt::Write;

/// A small generator of numbers (xorshift), so that a seed names a program.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

struct Writer {
    numbers: Numbers,
    text: String,
    sites: u64,
    loops: u64,
}

impl Writer {
    fn variable(&mut self) -> String {
        match self.numbers.below(6) {
            number @ 0..4 => format!("v{number}"),
            4 => "array[v0 & 3]".to_owned(),
            _ => "*pointer".to_owned(),
        }
    }

    fn value(&mut self) -> String {
        let (left, right) = (self.variable(), self.variable());
        match self.numbers.below(5) {
            0 => format!("{left} + {right} * 3"),
            1 => format!("({left} ^ {right}) & 255"),
            2 => format!("{left} > {right} ? {left} - 1 : {right} + 2"),
            3 => format!("{}", self.numbers.below(9)),
            _ => format!("helper({left}, {right})"),
        }
    }

    fn statements(&mut self, depth: u64) {
        for _ in 0..=self.numbers.below(3) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u64) {
        let kind = self.numbers.below(if depth == 0 { 4 } else { 9 });
        let (variable, value) = (self.variable(), self.value());
        match kind {
            0 => {
                self.sites += 1;
                writeln!(self.text, "{variable} += covsched_sync({});", self.sites)
            }
            1 | 2 => writeln!(self.text, "{variable} = {value};"),
            3 => writeln!(self.text, "printf(\"%d\\n\", {value});"),
            4 | 5 => {
                self.text += &format!("if (({value}) & 1) {{\n");
                self.statements(depth - 1);
                self.text += "} else {\n";
                self.statements(depth - 1);
                writeln!(self.text, "}}")
            }
            6 | 7 => {
                self.loops += 1;
                let (counter, times) = (self.loops, self.numbers.below(3) + 1);
                self.text +=
                    &format!("for (int i{counter} = 0; i{counter} < (v1 & {times}) + 1; ++i{counter}) {{\n");
                self.statements(depth - 1);
                self.text += &format!("if (({value}) == 7) break;\n");
                writeln!(self.text, "}}")
            }
            _ => {
                self.text += &format!("switch (({value}) & 3) {{\n");
                for case in 0..3 {
                    self.text += &format!("case {case}:\n");
                    self.statements(depth - 1);
                    if self.numbers.below(3) > 0 {
                        self.text += "break;\n";
                    }
                }
                writeln!(self.text, "default: if ({variable} == 3) return v2; }}")
            }
        }
        .expect("a string takes everything");
    }
}

fn source(seed: u64) -> String {
    let numbers = Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut writer = Writer { numbers, text: String::new(), sites: 0, loops: 0 };
    for _ in 0..4 {
        writer.statement(3);
    }
    format!(
        "__attribute__((noinline)) int helper(int a, int b) {{ return a * 5 + b % 7; }}
         int f(int a, int b) {{
           int v0 = a, v1 = b, v2 = a ^ b, v3 = 4, array[4] = {{a, b, 3, 4}}, other = 9;
           int *pointer = a & 1 ? &array[2] : &other;
           covsched_sync(1000);
           {}
           covsched_sync(1001);
           return v0 + v1 + v2 + v3 + array[1] + other;
         }}
         int (*choice)(int, int) = f;
         int main(int argc, char **argv) {{
           printf(\"result %d\\n\", choice(atoi(argv[1]), atoi(argv[2])));
         }}",
        writer.text
    )
}

#[test]
fn random_functions_do_what_they_did() {
    let count = if std::env::var_os("COVSCHED_TEST_LONG").is_some() { 100 } else { 4 };
    for seed in 1..=count {
        let level = ["-O0", "-O1"][seed as usize % 2];
        Program::new(&source(seed), false, level).check(&[&["1", "2"], &["4", "7"], &["9", "3"]]);
    }
}
