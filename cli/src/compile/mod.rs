//! `covsched cc` and `covsched c++`: clang, with the plugin and the runtime.
//!
//! The arguments are looked at ([`arguments`]), a few are added, and clang takes this process over by exec, so
//! that its output, exit code and signals are its own. What the user wrote stays in place and in order.
//!
//! What is added, in front unless said otherwise:
//! - where clang runs its optimizer: `-fpass-plugin=libcovsched.so`, and `-gline-tables-only`, which any
//!   -g option of the user overrides since it comes later; with `--loom` it is `-g`, since filters speak of variables;
//! - where it links an executable: the runtime's archive, `-u` for the symbol that makes the linker take it
//!   (so its place does not matter, and a `-x c` or `--whole-archive` of the user does not apply to it), the
//!   interposers, and the export of the hooks, for shared objects that refer to them. A static executable
//!   exports nothing and has no interposers, which would stand beside the C library's own definitions; one with
//!   ThreadSanitizer has none either, for they would hide synchronization from its own interceptors;
//! - where it links a shared object with `-z defs` or `--no-undefined`: `-Wl,-z,undefs` at the end (gold: a word
//!   of its own), for the hooks are in the executable;
//! - where lld links with `-flto`: `--load-pass-plugin`, for functions that come without hooks.
//!
//! `--epochs`, `--sync-unroll=N` and `--loom` are covsched's own and are taken out: [`passes`]. With `-flto` lld runs the
//! plugin's passes as well and inherits the environment, so `--loom` belongs on the line that links, too.
//!
//! Nothing is added for preprocessing, dependency and syntax-only runs, for calls without input files
//! (`--version`, `-print-...`), for `-cc1`, and for code that is not hosted (`-ffreestanding`, `-mcmodel=kernel`;
//! `-nostdlib` and its like without a `-lc`): it has no threads of the kind that covsched knows, and no C library
//! for the runtime. That holds with `-c` too. `record` and `sites` refuse such a file and name these options.

mod arguments;
mod passes;
mod response;

use crate::failure::Failure;
use crate::install::{clang, Libraries};
use arguments::{Analysis, LinkKind, Stage};
use covsched::parameters::ENVIRONMENT;
use passes::Requested;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Becomes clang.
pub fn run(cxx: bool, user: &[OsString]) -> Result<ExitCode, Failure> {
    let (requested, user) = Requested::take(user)?;
    let user = user.as_slice();
    let analysis = Analysis::of(user, &response::read);
    let program = clang(cxx);
    let environment = std::env::var_os(ENVIRONMENT).unwrap_or_default();
    let environment = environment.to_string_lossy();
    let debug_info = if requested.wants_variables(&environment) { "-g" } else { "-gline-tables-only" };
    let mut command = Command::new(&program);
    if analysis.stage == Stage::Other {
        command.args(user);
    } else {
        command.args(with_additions(user, &analysis, debug_info, &Libraries::find()?));
    }
    if let Some(options) = requested.pass_options(&environment) {
        command.env(ENVIRONMENT, options);
    }
    // exec returns only if it failed.
    let error = command.exec();
    let variable = if cxx { "COVSCHED_CLANGXX" } else { "COVSCHED_CLANG" };
    Err(Failure::bad(format!(
        "cannot run {}: {error}. covsched needs clang 16 in PATH, or its name in {variable}",
        Path::new(&program).display()
    )))
}

/// The whole command line for clang, without its own name.
fn with_additions(
    user: &[OsString],
    analysis: &Analysis,
    debug_info: &str,
    libraries: &Libraries,
) -> Vec<OsString> {
    let joined = |option: &str, path: &Path| {
        let mut word = OsString::from(option);
        word.push(path);
        word
    };
    // In a -Werror build an argument that this run does not need must not be an error.
    let mut front: Vec<OsString> = vec!["--start-no-unused-arguments".into()];
    front.push(joined("-fpass-plugin=", &libraries.plugin));
    front.push(debug_info.into());
    let mut back: Vec<OsString> = Vec::new();
    if analysis.stage == Stage::Link {
        match analysis.link_kind {
            LinkKind::Executable => {
                front.push("-Wl,-u,covsched_register".into());
                if !analysis.is_static {
                    if !analysis.thread_sanitizer {
                        front.push(libraries.interposers.clone().into_os_string());
                    }
                    // gold knows no patterns here.
                    let gold = analysis.links_with("gold");
                    let export = if gold { "--export-dynamic" } else { "--export-dynamic-symbol=covsched_*" };
                    front.push(format!("-Wl,{export}").into());
                }
                front.push(libraries.runtime.clone().into_os_string());
            }
            // It knows no `-z undefs`.
            LinkKind::Shared if analysis.refuses_undefined && analysis.links_with("gold") => {
                back.push("-Wl,--unresolved-symbols=ignore-all".into());
            }
            LinkKind::Shared if analysis.refuses_undefined => back.push("-Wl,-z,undefs".into()),
            LinkKind::Shared | LinkKind::Relocatable => {}
        }
        if analysis.lto && analysis.links_with("lld") {
            // -Wl would split a path at its commas.
            front.push("-Xlinker".into());
            front.push(joined("--load-pass-plugin=", &libraries.plugin));
        }
    }
    front.push("--end-no-unused-arguments".into());
    // After `--` everything is an input file.
    let files = user.iter().position(|word| word == "--").unwrap_or(user.len());
    let (options, files) = user.split_at(files);
    front.into_iter().chain(options.iter().cloned()).chain(back).chain(files.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;
