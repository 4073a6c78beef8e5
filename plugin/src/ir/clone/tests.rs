//! Clones are made for what a run did, verified, compiled and run: on the same input they must do the same, on
//! another one the same or say that it is not covered.

mod limits;
mod product;
mod programs;
mod random;
mod speed;
mod told;

use super::*;
use crate::ir::testing::{function, text_of};
use crate::testing::complaints;
use product::straighten;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// What every program has: synchronizations that say their site, and the trap.
const SUPPORT: &str = "
int printf(const char *, ...);
void exit(int) __attribute__((noreturn));
int atoi(const char *);
__attribute__((nomerge)) int covsched_sync(long site);
__attribute__((noinline)) int covsched_sync(long site) { printf(\"sync %ld\\n\", site); return (int)site * 3; }
__attribute__((noinline, noreturn)) void covsched_not_covered(long site, const char *text, int thread) {
  printf(\"not covered: %ld %s in thread %d\\n\", site, text, thread);
  exit(66);
}
";

/// Whether a call is one of `SUPPORT`'s synchronizations, and its site.
pub(super) fn sync_site(call: &CallFacts<'_>) -> Option<u64> {
    let name = call.named.filter(|_| call.form != Form::Return).map(Global::name);
    (name.as_deref() == Some("covsched_sync")).then(|| call.inst.constant_argument(0)).flatten()
}

/// A program whose function `f` is cloned. It calls it through `choice`.
pub(super) struct Program {
    directory: TempDir,
    ir: String,
    compiler: &'static str,
}

impl Program {
    /// Compiles a source to IR with debug info.
    pub(super) fn new(source: &str, is_cxx: bool, level: &str) -> Program {
        let directory = TempDir::new().expect("a temporary directory");
        let (compiler, file) = if is_cxx { ("clang++-16", "p.cpp") } else { ("clang-16", "p.c") };
        let source = if is_cxx {
            format!("extern \"C\" {{ {SUPPORT} }}\n{source}")
        } else {
            format!("{SUPPORT}\n{source}")
        };
        fs::write(directory.path().join(file), source).expect("can be written");
        let program = Program { directory, ir: String::new(), compiler };
        program.compile(&["-g", level, "-S", "-emit-llvm", file, "-o", "p.ll"]);
        let ir = fs::read_to_string(program.path("p.ll")).expect("was made");
        Program { ir, ..program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn compile(&self, arguments: &[&str]) {
        let made = Command::new(self.compiler)
            .args(arguments)
            .current_dir(self.directory.path())
            .output()
            .expect("clang runs");
        assert!(made.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&made.stderr));
    }

    /// Compiles IR to an executable.
    fn build(&self, ir: &str, name: &str, level: &str) -> PathBuf {
        let file = format!("{name}.ll");
        fs::write(self.path(&file), ir).expect("can be written");
        self.compile(&[level, "-Wno-override-module", &file, "-o", name]);
        self.path(name)
    }

    /// The original with its output on an input.
    fn original(&self) -> PathBuf {
        self.build(&self.ir, "original", "-O1")
    }

    /// Makes a clone of `f` that does these synchronizations, and verifies it. Gives the IR of the program that uses
    /// it.
    fn specialized(&self, items: &[u64], guards: Guards) -> String {
        let mut result = String::new();
        let reports = complaints(&self.ir, |module| {
            let original = function(module, "f");
            let template = Template::of(original, |call| sync_site(call).is_some()).expect("no limit");
            let clone = template.declare_clone("f.t1.7", Identity::Frame { thread: 1, frame: 7 }, false);
            let body = straighten(&template, module, items, guards);
            let made = template.make_clone(clone, &body);
            assert_ne!(made.nodes, 0);
            result = text_of(module);
        });
        assert!(reports.is_empty(), "{reports:?}");
        let used = result.replace("global ptr @f,", "global ptr @f.t1.7,");
        assert_ne!(used, result, "choice is where it is expected");
        used
    }

    /// The differential test: a clone for each of the inputs, run on all of them.
    pub(super) fn check(&self, inputs: &[&[&str]]) {
        let original = self.original();
        let expected: Vec<Output> = inputs.iter().map(|input| run(&original, input)).collect();
        for (number, own) in expected.iter().enumerate() {
            let items = sites(own);
            let ir = self.specialized(&items, Guards::Trap);
            // What is only assumed must be valid, too.
            self.specialized(&items, Guards::Assume);
            for level in ["-O0", "-O2"] {
                let clone = self.build(&ir, &format!("clone{number}{level}"), level);
                for (input, expected) in inputs.iter().zip(&expected) {
                    let got = run(&clone, input);
                    let same = got.stdout == expected.stdout && got.status == expected.status;
                    let covered = sites(expected) == items;
                    let said = String::from_utf8_lossy(&got.stdout).contains("not covered: ")
                        && got.status.code() == Some(66);
                    assert!(
                        if covered { same } else { said },
                        "clone for {:?} on {input:?} at {level}: {:?} {}\nexpected {}\n{ir}",
                        inputs[number],
                        got.status,
                        String::from_utf8_lossy(&got.stdout),
                        String::from_utf8_lossy(&expected.stdout),
                    );
                }
            }
        }
    }
}

fn run(program: &Path, input: &[&str]) -> Output {
    Command::new(program).args(input).output().expect("can be run")
}

fn sites(output: &Output) -> Vec<u64> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.strip_prefix("sync ")?.parse().ok()).collect()
}
