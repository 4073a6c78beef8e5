//! Random programs: pointers in fields, arrays, integers, bytes and halves, through calls, library functions, threads and
//! unknown code. Each is analysed and run; see [`super::machine`].

use super::machine::Machine;
use super::{analysed_within, Limits};
use crate::epoch::testing::{count_from_environment, Random};
use std::fmt::Write;

const DECLARATIONS: &str = "\
@a = internal global [4 x ptr] [ptr @b, ptr @f1, ptr null, ptr @t]
@b = internal global { i64, ptr, [2 x ptr] } { i64 ptrtoint (ptr @a to i64), ptr @b, [2 x ptr] zeroinitializer }
@t = internal constant [2 x ptr] [ptr @f2, ptr @f3]
@l = internal thread_local global ptr @c
@c = internal global ptr getelementptr (i8, ptr @b, i64 8)
@d = internal global [3 x i64] zeroinitializer
@e = internal global [64 x i8] zeroinitializer
declare ptr @malloc(i64)
declare ptr @realloc(ptr, i64)
declare ptr @memcpy(ptr, ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @memchr(ptr, i32, i64)
declare void @qsort(ptr, i64, i64, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_setspecific(i32, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @atexit(ptr)
declare ptr @unknown(ptr, i64)
";
const GLOBALS: [&str; 6] = ["@a", "@b", "@t", "@c", "@d", "@e"];
const FUNCTIONS: [&str; 4] = ["@f0", "@f1", "@f2", "@f3"];

/// A function while it is written: the registers that there are.
struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    pointers: Vec<String>,
    words: Vec<String>,
    count: usize,
    /// How likely unknown code is.
    strangers: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "  {text}");
    }

    /// A new register.
    fn set(&mut self, text: &str) -> String {
        self.count += 1;
        let name = format!("%r{}", self.count);
        self.line(&format!("{name} = {text}"));
        name
    }

    fn pointer(&mut self) -> String {
        match self.random.below(12) {
            0 => (*self.random.pick(&GLOBALS)).to_owned(),
            1 => (*self.random.pick(&FUNCTIONS)).to_owned(),
            2..=6 => self.pointers[self.pointers.len().saturating_sub(4)..]
                [self.random.below(self.pointers.len().min(4))]
            .clone(),
            _ => self.random.pick(&self.pointers).clone(),
        }
    }

    fn word(&mut self) -> String {
        if self.words.is_empty() || self.random.chance(20) {
            return (8 * self.random.below(5)).to_string();
        }
        self.random.pick(&self.words).clone()
    }

    fn keep_pointer(&mut self, text: &str) {
        let name = self.set(text);
        self.pointers.push(name);
    }

    fn keep_word(&mut self, text: &str) {
        let name = self.set(text);
        self.words.push(name);
    }

    /// Copies 8 bytes in parts of so many.
    fn copy_parts(&mut self, bits: usize) {
        let (from, to) = (self.pointer(), self.pointer());
        for at in (0..8).step_by(bits / 8) {
            let [source, target] =
                [&from, &to].map(|base| self.set(&format!("getelementptr i8, ptr {base}, i64 {at}")));
            let part = self.set(&format!("load i{bits}, ptr {source}"));
            self.line(&format!("store i{bits} {part}, ptr {target}"));
        }
    }

    /// Takes a word apart and puts it together.
    fn reassemble(&mut self) {
        let word = self.word();
        let low = self.set(&format!("trunc i64 {word} to i32"));
        let moved = self.set(&format!("lshr i64 {word}, 32"));
        let high = self.set(&format!("trunc i64 {moved} to i32"));
        let [low, high] = [low, high].map(|part| self.set(&format!("zext i32 {part} to i64")));
        let high = self.set(&format!("shl i64 {high}, 32"));
        self.keep_word(&format!("or i64 {high}, {low}"));
    }

    fn statement(&mut self) {
        let (p, q, w, v) = (self.pointer(), self.pointer(), self.word(), self.word());
        let by = 8 * self.random.below(6) as i64 - 8 + if self.random.chance(15) { 4 } else { 0 };
        let function = *self.random.pick(&FUNCTIONS);
        match self.random.below(34) {
            0 => self.keep_pointer(&format!("call ptr @malloc(i64 {})", by + 16)),
            1..=3 => self.keep_pointer(&format!("getelementptr i8, ptr {p}, i64 {by}")),
            4 | 5 => self.keep_pointer(&format!("getelementptr [2 x ptr], ptr {p}, i64 0, i64 {w}")),
            6..=9 => self.keep_pointer(&format!("load ptr, ptr {p}")),
            10..=14 => self.line(&format!("store ptr {q}, ptr {p}")),
            15 => self.keep_word(&format!("load i64, ptr {p}")),
            16 => self.line(&format!("store i64 {w}, ptr {p}")),
            17 => self.keep_word(&format!("ptrtoint ptr {p} to i64")),
            18 => self.keep_pointer(&format!("inttoptr i64 {w} to ptr")),
            19 => {
                let op = *self
                    .random
                    .pick(&["add", "sub", "and", "or", "xor", "mul", "shl", "lshr", "udiv", "urem"]);
                self.keep_word(&format!("{op} i64 {w}, {v}"));
            }
            20 => self.copy_parts(8),
            21 => self.copy_parts(32),
            22 => self.reassemble(),
            23 => {
                let condition = self.set(&format!("icmp eq i64 {w}, {v}"));
                self.keep_pointer(&format!("select i1 {condition}, ptr {p}, ptr {q}"));
            }
            24 => {
                let bytes = *self.random.pick(&["4", "8", "12", "16", "24", "512", &w]);
                self.line(&format!(
                    "call void @llvm.memcpy.p0.p0.i64(ptr {p}, ptr {q}, i64 {bytes}, i1 false)"
                ));
            }
            25 => self.keep_pointer(&format!("call ptr @memcpy(ptr {p}, ptr {q}, i64 {by})")),
            26 => self.keep_pointer(&format!("call ptr @realloc(ptr {p}, i64 32)")),
            27 => self.keep_pointer(&format!("atomicrmw xchg ptr {p}, ptr {q} seq_cst")),
            28 => self.keep_pointer(&format!("call ptr {function}(ptr {p}, i64 {w})")),
            29 => self.keep_pointer(&format!("call ptr {p}(ptr {q}, i64 {w})")),
            30 => match self.random.below(6) {
                0 => self.line(&format!("call void @qsort(ptr {p}, i64 2, i64 8, ptr {function})")),
                1 => self
                    .line(&format!("call i32 @pthread_create(ptr {q}, ptr null, ptr {function}, ptr {p})")),
                2 => self.line(&format!("call i32 @pthread_join(i64 {w}, ptr {p})")),
                3 => self.line(&format!("call i32 @pthread_setspecific(i32 0, ptr {p})")),
                4 => self.keep_pointer("call ptr @pthread_getspecific(i32 0)"),
                _ => self.line(&format!("call i32 @atexit(ptr {function})")),
            },
            31 => self.keep_pointer(&format!("call ptr @memchr(ptr {p}, i32 0, i64 16)")),
            32 if self.random.chance(self.strangers) => {
                self.keep_pointer(&format!("call ptr @unknown(ptr {p}, i64 {w})"))
            }
            32 => self.keep_pointer("call ptr @llvm.threadlocal.address.p0(ptr @l)"),
            _ => self.keep_pointer("alloca [3 x ptr]"),
        }
    }

    /// Straight code, then a loop, then straight code.
    fn body(&mut self, length: usize) -> String {
        for bytes in [8, 24] {
            self.keep_pointer(&format!("alloca [{bytes} x i8]"));
        }
        (0..length).for_each(|_| self.statement());
        let (first, around) = (self.pointer(), self.count);
        let _ = writeln!(self.text, "  br label %loop\nloop:");
        let phis = self.text.len();
        self.pointers.push(format!("%walk{around}"));
        let (pointers, words) = (self.pointers.len(), self.words.len());
        (0..length / 2).for_each(|_| self.statement());
        let next = self.pointer();
        let phi = format!(
            "  %walk{around} = phi ptr [ {first}, %entry ], [ {next}, %loop ]\n  %turn = phi i64 [ 0, %entry ], [ %more, %loop ]\n"
        );
        self.text.insert_str(phis, &phi);
        let _ = writeln!(self.text, "  %more = add i64 %turn, 1\n  %goes = icmp ult i64 %turn, 3\n  br i1 %goes, label %loop, label %end\nend:");
        // What the loop made is there, too.
        assert!(pointers <= self.pointers.len() && words <= self.words.len());
        (0..length / 2).for_each(|_| self.statement());
        self.pointer()
    }
}

fn program(random: &mut Random) -> String {
    let mut text = DECLARATIONS.to_owned() + "declare ptr @llvm.threadlocal.address.p0(ptr)\n";
    let strangers = *random.pick(&[0, 0, 60]);
    for name in FUNCTIONS.into_iter().chain(["@main"]) {
        let length = 4 + random.below(16);
        let (mut pointers, mut words) = (vec!["%p".to_owned()], vec!["%w".to_owned()]);
        if name == "@main" {
            (pointers, words) = (vec!["@a".to_owned()], Vec::new());
        }
        let mut writer = Writer { random, text: String::new(), pointers, words, count: 0, strangers };
        let result = writer.body(length);
        let body = writer.text;
        let _ = if name == "@main" {
            writeln!(text, "define i32 @main() {{\nentry:\n{body}  ret i32 0\n}}")
        } else {
            writeln!(
                text,
                "define internal ptr {name}(ptr %p, i64 %w) {{\nentry:\n{body}  ret ptr {result}\n}}"
            )
        };
    }
    text
}

#[test]
fn every_pointer_of_a_run_is_in_its_set() {
    let count = count_from_environment("COVSCHED_POINTS_TO_PROGRAMS", 400);
    let (mut pointers, mut accesses) = (0, 0);
    for seed in 0..count as u64 {
        let mut random = Random::new(seed);
        let ir = program(&mut random);
        // Programs are too small for the usual limits.
        let limits = *random.pick(&[
            Limits::default(),
            Limits { new_edges: 10, ..Limits::default() },
            Limits { steps: 1, words: 1, new_edges: 5, ..Limits::default() },
            Limits { objects_apart: 0, bytes_at_once: 8, new_edges: 20, ..Limits::default() },
        ]);
        let run = std::panic::AssertUnwindSafe(|| {
            analysed_within(&ir, limits, |code, points_to| {
                for run in 0..3 {
                    let mut machine = Machine::new(code, points_to, Random::new(seed * 16 + run));
                    machine.run();
                    pointers += machine.pointers;
                    accesses += machine.accesses;
                }
            });
        });
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("program {seed}:\n{ir}");
            std::panic::resume_unwind(panic);
        }
    }
    // A test that checks nothing finds nothing.
    assert!(pointers > 100 * count && accesses > 50 * count, "{pointers} pointers, {accesses} accesses");
}
