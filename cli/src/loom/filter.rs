//! A filter's file, compiled for a program.

use super::code;
use super::dwarf::Debug;
use super::images::Images;
use crate::failure::Failure;
use crate::names::demangle;
use covsched_core::loom::compile::{
    compile, Compiled, Covered, Diagnostic, Moved, Options, Program, Severity,
};
use covsched_core::loom::moved::{reasons, Scope};
use covsched_core::loom::plan;
use serde_json::{json, Value};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// A filter as it was written.
pub struct Filter {
    /// Its file.
    pub name: String,
    pub source: String,
}

/// Why a filter has no plan.
pub struct Rejected {
    pub errors: Vec<Diagnostic>,
    /// What debug info lacks, in words.
    pub notes: Vec<String>,
}

impl Filter {
    /// Reads it; `-` is standard input.
    pub fn read(path: &Path) -> Result<Filter, Failure> {
        let failed = |error: &std::io::Error| Failure::file(path, error);
        let mut bytes = Vec::new();
        // One byte more than allowed, to see that there is more.
        let most = plan::MAX_SIZE as u64 + 1;
        let (name, read) = match path.to_str() {
            Some("-") => ("<stdin>".to_owned(), std::io::stdin().lock().take(most).read_to_end(&mut bytes)),
            _ => {
                let file = std::fs::File::open(path).map_err(|error| failed(&error))?;
                (path.display().to_string(), file.take(most).read_to_end(&mut bytes))
            }
        };
        read.map_err(|error| failed(&error))?;
        if bytes.len() > plan::MAX_SIZE {
            return Err(Failure::bad(format!("{name}: a filter has at most {} bytes", plan::MAX_SIZE)));
        }
        let source = String::from_utf8(bytes)
            .map_err(|error| Failure::bad(format!("{name}: {}: is this a filter?", error.utf8_error())))?;
        Ok(Filter { name, source })
    }

    /// Compiles it.
    pub fn compile(&self, images: &Images) -> Result<Compiled, Rejected> {
        let debug = Debug::new(&images.files, &images.program.units);
        let plain = |name: &str| Some(demangle(name)).filter(|demangled| demangled != name);
        let code = |functions: &BTreeSet<(usize, String)>| code::of_functions(images, functions);
        let options = Options { demangle: &plain, moved: &moved, code: &code };
        compile(&self.name, &self.source, &images.program, &debug, &options)
            .map_err(|errors| Rejected { errors, notes: debug.why_missing() })
    }

    /// What is wrong with it, as compilers say it.
    pub fn render(&self, diagnostics: &[Diagnostic]) -> String {
        diagnostics.iter().map(|found| found.render(&self.name, &self.source)).collect()
    }

    /// The failure of a filter that has no plan.
    pub fn failure(&self, rejected: &Rejected) -> Failure {
        let mut text =
            format!("{}: this filter cannot be used:\n{}", self.name, self.render(&rejected.errors));
        for note in &rejected.notes {
            text += &format!("note: {note}\n");
        }
        Failure::bad(text.trim_end().to_owned())
    }
}

/// Whether optimization left what a filter names where its lines say.
fn moved(program: &Program, covered: &Covered) -> Vec<Moved> {
    let Some(unit) = program.units.get(covered.unit) else { return Vec::new() };
    // An event has one line and no range.
    let range = covered.range.or(match covered.lines[..] {
        [(file, line)] => Some((file, line, line)),
        _ => None,
    });
    let scope = Scope { functions: &covered.functions, function: covered.function, range };
    let found = reasons(&unit.table, scope).into_iter();
    found
        .map(|reason| match reason.refuses() {
            true => Moved::Refused(reason.to_string()),
            false => Moved::Doubtful(reason.to_string()),
        })
        .collect()
}

/// For `--format json`.
pub fn diagnostics_json(diagnostics: &[Diagnostic]) -> Value {
    let one = |found: &Diagnostic| {
        json!({
            "severity": match found.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "line": found.line,
            "column": found.column,
            "length": found.length,
            "message": found.message,
            "help": found.help,
        })
    };
    diagnostics.iter().map(one).collect()
}
