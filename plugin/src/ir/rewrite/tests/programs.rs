//! Programs that are compiled, changed and run: they say and access the same as before, on an input for which what was
//! concluded holds; on another one a check ends them, or a claim.

use super::*;
use crate::ir::testing::insts;
use crate::ir::Form;
use llvm_plugin::inkwell::llvm_sys::core::{
    LLVMBuildCall2, LLVMConstInt, LLVMCreateBuilderInContext, LLVMDisposeBuilder, LLVMFunctionType,
    LLVMGetInstructionOpcode, LLVMGetModuleContext, LLVMGetNamedFunction, LLVMGetOperand,
    LLVMInt32TypeInContext, LLVMPointerTypeInContext, LLVMPositionBuilderBefore, LLVMVoidTypeInContext,
};
use llvm_plugin::inkwell::llvm_sys::LLVMOpcode;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{fs, iter};
use tempfile::TempDir;

/// The variables of all programs. Those in `fixed` are not written unless main's argument says so.
const HEADER: &str = "
int printf(const char *, ...);
int atoi(const char *);
struct shared { int a[8]; int b; };
extern struct shared shared;
extern int fixed0, fixed1, fixed2;
void trace(void *place, int is_store);
void finish(void);
";

/// The rest of every program: what is accessed, in which order, is part of what it says.
const SUPPORT: &str = "
struct shared shared = {{1, 2, 3, 4, 5, 6, 7, 8}, 9};
int fixed0 = 3, fixed1 = 2, fixed2 = 5;
static unsigned long hash = 5381, count;
void trace(void *place, int is_store) {
  long at = (char *)place - (char *)&shared;
  if (at < 0 || at >= (long)sizeof shared)
    at = place == &fixed0 ? 100 : place == &fixed1 ? 101 : place == &fixed2 ? 102 : -1;
  if (at < 0)
    return;
  hash = hash * 33 + at * 2 + is_store;
  count++;
}
void finish(void) {
  printf(\"shared\");
  for (int i = 0; i < 8; i++)
    printf(\" %d\", shared.a[i]);
  printf(\" %d\\n\", shared.b);
  printf(\"accesses %lu %lx\\n\", count, hash);
}
";

/// What the variables that do not change hold.
const FIXED: [(&str, u64); 3] = [("fixed0", 3), ("fixed1", 2), ("fixed2", 5)];

/// The runtime, built once.
fn runtime() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is in the repository");
        let made = Command::new(root.join("scripts/build")).arg("runtime").output().expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        root.join("target/install/lib/covsched/libcovsched_rt.a")
    })
}

struct Program {
    directory: TempDir,
    compiler: &'static str,
    ir: String,
}

impl Program {
    /// Compiles a source to IR with debug info.
    fn new(source: &str, file: &str, options: &[&str]) -> Program {
        let directory = TempDir::new().expect("a temporary directory");
        let is_cxx = file.ends_with(".cpp");
        let header = if is_cxx { format!("extern \"C\" {{{HEADER}}}") } else { HEADER.to_owned() };
        let header = header.replace('\n', " ");
        // Lines are counted from the source's own first.
        fs::write(directory.path().join(file), format!("{header}\n#line 1\n{source}"))
            .expect("can be written");
        fs::write(directory.path().join("support.c"), format!("{HEADER}{SUPPORT}")).expect("can be written");
        let compiler = if is_cxx { "clang++-16" } else { "clang-16" };
        let mut program = Program { directory, compiler, ir: String::new() };
        program.compile(compiler, &[options, &["-g", "-S", "-emit-llvm", file, "-o", "p.ll"]].concat());
        program.compile("clang-16", &["-O1", "-c", "support.c", "-o", "support.o"]);
        program.ir = fs::read_to_string(program.directory.path().join("p.ll")).expect("was made");
        program
    }

    fn compile(&self, compiler: &str, arguments: &[&str]) {
        let made = Command::new(compiler).args(arguments).current_dir(self.directory.path()).output();
        let made = made.expect("clang runs");
        assert!(made.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&made.stderr));
    }

    /// Changes a module made of the program, and compiles it.
    fn build(&self, name: &str, change: impl FnOnce(Module<'_>)) -> PathBuf {
        let file = format!("{name}.ll");
        on(&self.ir, |module| {
            change(module);
            fs::write(self.directory.path().join(&file), text_of(module)).expect("can be written");
        });
        let runtime = runtime().to_str().expect("a path in UTF-8");
        let arguments = ["-O1", "-Wno-override-module", &file, "support.o", runtime, "-pthread", "-o", name];
        self.compile(self.compiler, &arguments);
        self.directory.path().join(name)
    }
}

fn run(program: &Path, input: Option<&str>) -> Output {
    Command::new(program).args(input).output().expect("can be run")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Lets every load and store tell what it accesses.
fn trace_accesses(module: Module<'_>) {
    // SAFETY: everything is of the live module.
    unsafe {
        let context = LLVMGetModuleContext(module.0);
        let int = LLVMInt32TypeInContext(context);
        let mut types = [LLVMPointerTypeInContext(context, 0), int];
        let kind = LLVMFunctionType(LLVMVoidTypeInContext(context), types.as_mut_ptr(), 2, 0);
        let mut trace = LLVMGetNamedFunction(module.0, c"trace".as_ptr());
        if trace.is_null() {
            trace = llvm_plugin::inkwell::llvm_sys::core::LLVMAddFunction(module.0, c"trace".as_ptr(), kind);
        }
        let builder = LLVMCreateBuilderInContext(context);
        for facts in module.functions().iter().filter(|facts| facts.has_body()) {
            for inst in insts(facts.function) {
                let (place, is_store) = match LLVMGetInstructionOpcode(inst.0) {
                    LLVMOpcode::LLVMLoad => (LLVMGetOperand(inst.0, 0), 0),
                    LLVMOpcode::LLVMStore => (LLVMGetOperand(inst.0, 1), 1),
                    _ => continue,
                };
                LLVMPositionBuilderBefore(builder, inst.0);
                let mut arguments = [place, LLVMConstInt(int, is_store, 0)];
                LLVMBuildCall2(builder, kind, trace, arguments.as_mut_ptr(), 2, c"".as_ptr());
            }
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The loads of a variable by name.
fn loads_of<'m>(module: Module<'m>, function: Function<'m>, variable: &str) -> Vec<Inst<'m>> {
    let Some(variable) = module.variable(variable) else { return Vec::new() };
    let is_it = |inst: &Inst<'_>| {
        // SAFETY: a live instruction.
        unsafe {
            LLVMGetInstructionOpcode(inst.0) == LLVMOpcode::LLVMLoad
                && LLVMGetOperand(inst.0, 0) == variable.0
        }
    };
    insts(function).into_iter().filter(is_it).collect()
}

/// What a round of specialization does, in main and in what it calls.
fn specialize(module: Module<'_>, keep: Keep<'_>) -> (usize, Folded) {
    let main = function(module, "main");
    main.promote_locals();
    let mut owned = vec![main];
    let mut next = 0;
    while let Some(&function) = owned.get(next) {
        next += 1;
        for call in function.calls().iter().filter(|call| call.form != Form::Return) {
            let copy = (owned.len() < 60).then(|| call.inst.give_own_copy(&format!("copy{}", owned.len())));
            owned.extend(copy.flatten());
        }
    }
    let (mut loops, mut folded) = (0, Folded::default());
    for _ in 0..20 {
        let mut changed = 0;
        for &function in &owned {
            for (variable, value) in FIXED {
                for load in loads_of(module, function, variable) {
                    changed += usize::from(module.replace_uses(load.result(), Constant::Int(value), keep));
                }
            }
            let gone = function.unroll_constant_loops(UnrollLimits::default()).len();
            let done = function.fold();
            changed += gone + done.values as usize;
            loops += gone;
            folded.branches += done.branches;
            folded.blocks_removed += done.blocks_removed;
        }
        if changed == 0 {
            return (loops, folded);
        }
    }
    panic!("there is no end: {}", text_of(module));
}

const CHECK: Keep<'static> = Keep::Check { text: "the value 3 at p.c:2 (work)", thread: Some(ThreadId(0)) };
const CLAIM: Keep<'static> = Keep::Claim { text: "fixed0 at p.c:2 (work)" };

const WORK: &str = "static int work(int x) {
  int times = fixed0, sum = 0;
  for (int i = 0; i < times; i++) { int unused = shared.b; sum += x * shared.a[i]; shared.a[i] = sum; }
  return sum;
}
int main(int argc, char **argv) {
  if (argc > 1) fixed0 = atoi(argv[1]);
  printf(\"%d\\n\", work(2));
  finish();
}";

#[test]
fn a_run_that_is_not_covered_ends_with_66_and_says_what_was_expected() {
    let program = Program::new(WORK, "p.c", &["-O0"]);
    let original = program.build("original", trace_accesses);
    let checked = program.build("checked", |module| {
        let (loops, _) = specialize(module, CHECK);
        assert_eq!(loops, 1, "{}", text_of(module));
        trace_accesses(module);
    });
    let (expected, found) = (run(&original, None), run(&checked, None));
    assert_eq!((said(&found), found.status.code()), (said(&expected), Some(0)));
    let found = run(&checked, Some("4"));
    assert_eq!((said(&found), found.status.code()), (String::new(), Some(66)));
    assert_eq!(
        String::from_utf8_lossy(&found.stderr),
        "covsched: input not covered by this schedule: expected the value 3 at p.c:2 (work), thread t0\n"
    );
}

#[test]
fn a_claim_that_does_not_hold_ends_with_70_and_says_what_was_seen() {
    let program = Program::new(WORK, "p.c", &["-O0"]);
    let original = program.build("original", trace_accesses);
    let claiming = program.build("claiming", |module| {
        specialize(module, CLAIM);
        trace_accesses(module);
    });
    let (expected, found) = (run(&original, None), run(&claiming, None));
    assert_eq!((said(&found), found.status.code()), (said(&expected), Some(0)));
    let found = run(&claiming, Some("4"));
    assert_eq!((said(&found), found.status.code()), (String::new(), Some(70)));
    assert_eq!(
        String::from_utf8_lossy(&found.stderr),
        "covsched: bug: fixed0 at p.c:2 (work) was claimed to be 3 and is 4\n"
    );
}

/// Builds a program in all ways and compares them with the original on all inputs.
fn compare(program: &Program) -> (usize, Folded) {
    let inputs = [None, Some("0"), Some("1"), Some("2")];
    let original = program.build("original", trace_accesses);
    let expected: Vec<Output> = inputs.iter().map(|&input| run(&original, input)).collect();
    let mut done = Default::default();
    for (name, keep, code) in
        [("bare", Keep::Nothing, None), ("checked", CHECK, Some(66)), ("claims", CLAIM, Some(70))]
    {
        let changed = program.build(name, |module| {
            done = specialize(module, keep);
            trace_accesses(module);
        });
        for (&input, expected) in iter::zip(&inputs, &expected) {
            let found = run(&changed, input);
            let same = said(&found) == said(expected) && found.status == expected.status;
            let ended = found.status.code() == code && said(&found).is_empty();
            // Nobody says what is without check on other inputs.
            let good = same || (input.is_some() && (code.is_none() || ended));
            assert!(good, "{name} {input:?}: {found:?}, expected {expected:?}\n{}", program.ir);
        }
    }
    // Without races nobody can tell which accesses there are.
    let fast = program.build("fast", |module| {
        specialize(module, CHECK);
        module.optimize_aggressively();
    });
    let found = run(&fast, None);
    let without = |text: String| {
        text.lines().filter(|line| !line.starts_with("accesses")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without(said(&found)), without(said(&expected[0])), "{}", program.ir);
    done
}

const EXCEPTIONS: &str = "
struct Guard { int at; ~Guard() { shared.a[at] += 1; } };
static int risky(int x) {
  Guard guard{x & 7};
  if (x == fixed2) throw x;
  for (int i = 0; i < fixed1; i++) shared.b += i;
  return x + shared.b;
}
static int attempt(int x) {
  int sum = 0;
  for (int i = 0; i < fixed0; i++) {
    try { sum += risky(x + i); } catch (int e) { sum -= e; if (e > 100) throw; }
  }
  return sum;
}
int main(int argc, char **argv) {
  if (argc > 1) { int which = atoi(argv[1]); if (which == 0) fixed0++; if (which == 1) fixed1--; if (which == 2) fixed2 = 4; }
  printf(\"%d %d\\n\", attempt(4), attempt(1));
  finish();
}";

#[test]
fn exceptions_go_where_they_went() {
    // The compiler knows the sum of the inner loop.
    for (level, expected) in [("-O0", 4), ("-O1", 2)] {
        let (loops, _) = compare(&Program::new(EXCEPTIONS, "p.cpp", &[level]));
        assert_eq!(loops, expected, "{level}");
    }
}

/// Random programs: loops with counts that are constant, or fixed, or neither; locals, in registers and in memory; reads
/// that nobody needs; calls.
struct Writer {
    state: u64,
    text: String,
    loops: u64,
}

impl Writer {
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }

    fn place(&mut self) -> String {
        match self.below(5) {
            0 => "shared.b".to_owned(),
            1 => format!("shared.a[{}]", self.below(8)),
            2 => "shared.a[v0 & 7]".to_owned(),
            3 => "pair.y".to_owned(),
            _ => format!("v{}", self.below(3)),
        }
    }

    fn value(&mut self, number: u64) -> String {
        let (left, right) = (self.place(), self.place());
        match self.below(8) {
            0 => format!("{left} + {right}"),
            1 => format!("({left} ^ {right}) & 63"),
            2 => format!("({left} > {right} ? {left} : {right} - 1)"),
            3 | 4 => format!("fixed{}", self.below(3)),
            5 if number > 0 => format!("h{}({left} & 15, {right} & 15)", self.below(number)),
            6 => format!("*(({left}) & 1 ? &pair.x : &shared.b)"),
            _ => format!("{}", self.below(6)),
        }
    }

    fn statements(&mut self, number: u64, depth: u64) {
        for _ in 0..=self.below(3) {
            let (place, value) = (self.place(), self.value(number));
            let kind = self.below(if depth == 0 { 4 } else { 9 });
            let written = match kind {
                0 | 1 => writeln!(self.text, "{place} = ({value}) & 255;"),
                2 => writeln!(self.text, "{{ int unused = {value}; }}"),
                3 => writeln!(self.text, "printf(\"%d\\n\", {value});"),
                4 | 5 => {
                    let compare = ["==", "<"][self.below(2) as usize];
                    let fixed = self.below(3);
                    self.text += &format!("if (({value}) {compare} fixed{fixed}) {{\n");
                    self.statements(number, depth - 1);
                    self.text += "} else {\n";
                    self.statements(number, depth - 1);
                    writeln!(self.text, "}}")
                }
                6 => {
                    self.text += &format!("switch (({value}) & 3) {{\n");
                    for case in 0..3 {
                        self.text += &format!("case {case}:\n");
                        self.statements(number, depth - 1);
                        let end = ["break;\n", ""][self.below(2) as usize];
                        self.text += end;
                    }
                    writeln!(self.text, "}}")
                }
                _ => {
                    self.loops += 1;
                    let counter = format!("i{}", self.loops);
                    let times = match self.below(3) {
                        0 => format!("fixed{}", self.below(3)),
                        1 => format!("{}", self.below(5)),
                        _ => "(v1 & 3)".to_owned(),
                    };
                    let goes_on = self.below(2) == 0;
                    self.text += &format!("for (int {counter} = 0; {counter} < {times}; ++{counter}) {{\n");
                    if goes_on {
                        self.text += &format!("if (({value}) == 7) continue;\n");
                    }
                    self.statements(number, depth - 1);
                    writeln!(self.text, "v2 += {counter}; }}")
                }
            };
            written.expect("strings can be written");
        }
    }

    fn program(seed: u64) -> String {
        let mut writer = Writer { state: seed * 0x9e37_79b9_7f4a_7c15 + 1, text: String::new(), loops: 0 };
        for number in 0..4 {
            let head = format!("static int h{number}(int v0, int v1) {{ int v2 = v0; struct {{ int x, y; }} pair = {{v1, 3}};\n");
            writer.text += &head;
            writer.statements(number, 3);
            writer.text += "return (v0 + v1 * 3 + v2 + pair.y) & 1023; }\n";
        }
        writer.text
            + "int main(int argc, char **argv) {
                 if (argc > 1) { int which = atoi(argv[1]); *(which == 0 ? &fixed0 : which == 1 ? &fixed1 : &fixed2) += 1; }
                 printf(\"%d %d\\n\", h3(2, 5), h3(4, 1));
                 finish();
               }"
    }
}

#[test]
fn random_programs_say_and_access_what_they_did() {
    let number = std::env::var("COVSCHED_TEST_REWRITTEN").map_or(3, |text| text.parse().expect("a number"));
    let (mut loops, mut branches) = (0, 0);
    for seed in 1..=number {
        let source = Writer::program(seed);
        for options in [["-O0"].as_slice(), &["-O1"]] {
            let (gone, folded) = compare(&Program::new(&source, "p.c", options));
            loops += gone;
            branches += folded.branches;
        }
    }
    assert!(loops > 0 && branches > 0, "{loops} loops and {branches} branches are gone");
}
