//! libcovsched.so: everything of covsched that reads or writes LLVM IR. The CLI uses it as an rlib.
//!
//! - [`parameters`]: the passes by name
//! - [`ir`]: the safe view of LLVM; [`analysis`], [`instrument`], [`epoch`], [`specialize`], [`loom`]: what the passes do
//!   with it; [`report`]
//! - [`bitcode`]: the whole program's bitcode, from an executable
//!
//! This file registers the passes, and catches panics at the C boundary: a bug in covsched is an LLVM error.
//! Registration goes through the bridge and not through `llvm-plugin`'s macro, for three reasons: the passes must
//! be required (a bisecting user would lose his sites), must have their names in `-print-after=` and
//! `-debug-pass-manager`, and one guard must stand around all calls from C++. `llvm-plugin` brings llvm-sys and
//! links libLLVM dynamically, so that LLVM is in the process once.

pub mod analysis;
pub mod bitcode;
pub mod epoch;
pub mod instrument;
pub mod ir;
pub mod loom;
pub mod parameters;
pub mod report;
pub mod smt;
pub mod specialize;
pub mod tell;
#[cfg(test)]
mod testing;

pub use ir::demangle;

use ir::bridge::{cov_register_passes, PassCallbacks, Text, LOOM_EARLY};
use ir::{Module, Severity};
use llvm_plugin::inkwell::llvm_sys::prelude::LLVMModuleRef;
use llvm_plugin::PassPluginLibraryInfo;
use parameters::{InstrumentOptions, ParameterError, Pass};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::Mutex;

/// What a pass in a pipeline was told. From the environment it may be nonsense, which only a run can report.
type Told = Result<Pass, ParameterError>;

/// `CovPass` of the bridge.
fn raw_pass(pass: &Pass) -> u8 {
    match pass {
        Pass::Instrument(_) => 1,
        Pass::Lower { .. } => 2,
        Pass::PrintSites => 3,
        Pass::EpochMarkers(_) => 4,
        Pass::SyncUnroll(_) => 5,
        Pass::PrintEpochs(_) => 6,
        Pass::VerifyEpochs(_) => 7,
        Pass::Specialize(_) => 8,
        Pass::PrintPointsTo { .. } => 9,
        Pass::Loom(_) => 10,
        Pass::PrintLoom => 11,
    }
}

fn into_raw(told: Told) -> *mut c_void {
    Box::into_raw(Box::new(told)).cast()
}

/// LLVM tries an element several times, as several kinds of pass; a complaint is printed once.
fn complain_once(message: String) {
    static LAST: Mutex<String> = Mutex::new(String::new());
    let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if *last != message {
        eprintln!("covsched: {message}");
        *last = message;
    }
}

extern "C" fn parse_pass(text: Text, parameters: *mut *mut c_void) -> u8 {
    let parsed = catch_unwind(|| {
        // SAFETY: LLVM's text, for the length of this call.
        let text = unsafe { text.to_text() };
        parameters::parse(&text)
    });
    match parsed {
        Ok(Ok(Some(pass))) => {
            let raw = raw_pass(&pass);
            // SAFETY: the bridge gives a place for the pointer.
            unsafe { *parameters = into_raw(Ok(pass)) };
            raw
        }
        Ok(Ok(None)) => 0,
        Ok(Err(error)) => {
            complain_once(error.to_string());
            0
        }
        Err(panic) => {
            complain_once(describe_bug(panic.as_ref()));
            0
        }
    }
}

extern "C" fn pass_from_environment(pass: u8) -> *mut c_void {
    let told = if pass == raw_pass(&Pass::Lower { verbose: false }) {
        // What is wrong with the environment is reported when `covsched-instrument` runs.
        Ok(Pass::Lower { verbose: environment().is_ok_and(|asked| asked.lower_verbose) })
    } else {
        environment().map(|asked| Pass::Instrument(asked.instrument))
    };
    into_raw(told)
}

/// The passes to run before a module is instrumented, by number; 0 after the last. What is wrong with the environment
/// is reported when `covsched-instrument` runs.
extern "C" fn pass_before(number: usize, parameters: *mut *mut c_void) -> u8 {
    let Some(pass) = environment().ok().and_then(|asked| asked.before.get(number).cloned()) else {
        return 0;
    };
    let raw = raw_pass(&pass);
    // SAFETY: the bridge gives a place for the pointer.
    unsafe { *parameters = into_raw(Ok(pass)) };
    raw
}

/// What `loom` takes where the environment asks for it at this stage; null if it does not. What is wrong with the
/// environment is reported when `covsched-instrument` runs.
extern "C" fn loom_at(stage: u8) -> *mut c_void {
    match environment().ok().and_then(|asked| asked.loom) {
        Some(options) if options.precise == (stage == LOOM_EARLY) => into_raw(Ok(Pass::Loom(options))),
        _ => null_mut(),
    }
}

fn environment() -> Result<parameters::Asked, ParameterError> {
    let text = std::env::var_os(parameters::ENVIRONMENT).unwrap_or_default();
    parameters::parse_environment(&text.to_string_lossy())
}

extern "C" fn run_pass(_: u8, parameters: *const c_void, module: LLVMModuleRef) -> bool {
    // SAFETY: `into_raw` made the parameters; LLVM gives a module for the length of the run.
    let (told, module) = unsafe { (&*parameters.cast::<Told>(), Module::from_raw(module)) };
    or_report_bug(module, || match told {
        Ok(Pass::Instrument(options)) => {
            let is_prepared = specialize::optimizer::prepare(module);
            instrument::instrument(module, *options) || is_prepared
        }
        Ok(Pass::Lower { verbose }) => instrument::lower::lower(module, *verbose),
        Ok(Pass::PrintSites) => {
            instrument::print::print_sites(module);
            false
        }
        Ok(Pass::EpochMarkers(options)) => epoch::place_markers(module, *options),
        Ok(Pass::SyncUnroll(options)) => epoch::unroll(module, *options),
        Ok(Pass::PrintEpochs(options)) => {
            epoch::print_epochs(module, *options);
            false
        }
        Ok(Pass::VerifyEpochs(options)) => {
            epoch::verify_epochs(module, *options);
            false
        }
        Ok(Pass::Specialize(options)) => specialize::run_pass(module, options),
        Ok(Pass::PrintPointsTo { sets }) => {
            analysis::points_to::print_points_to(module, *sets);
            false
        }
        Ok(Pass::Loom(options)) => loom::instrument(module, *options),
        Ok(Pass::PrintLoom) => {
            tell::print::print_tables(module);
            false
        }
        Err(error) => {
            module.report(Severity::Error, &format!("{}: {error}", parameters::ENVIRONMENT));
            // The error ends the compilation; until then the module is at least a whole one.
            instrument::instrument(module, InstrumentOptions::default())
        }
    })
}

/// Runs a pass; a panic is an error of LLVM's, which ends the compilation before the module is used.
fn or_report_bug(module: Module<'_>, run: impl FnOnce() -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        module.report(Severity::Error, &describe_bug(panic.as_ref()));
        true
    })
}

extern "C" fn drop_parameters(parameters: *mut c_void) {
    // SAFETY: `into_raw` made them, and the bridge drops them once.
    drop(unsafe { Box::from_raw(parameters.cast::<Told>()) });
}

fn describe_bug(panic: &(dyn Any + Send)) -> String {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    format!("bug in covsched: {what}")
}

extern "C" fn register(pass_builder: *mut c_void) {
    let callbacks = PassCallbacks {
        parse: parse_pass,
        from_environment: pass_from_environment,
        before: pass_before,
        loom: loom_at,
        run: run_pass,
        drop: drop_parameters,
    };
    debug_assert_ne!(pass_builder, null_mut());
    // SAFETY: LLVM gives its pass builder, which copies the callbacks.
    unsafe { cov_register_passes(pass_builder, &callbacks) }
}

/// What LLVM asks a plugin for.
#[no_mangle]
pub extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo {
    PassPluginLibraryInfo {
        api_version: llvm_plugin::get_llvm_plugin_api_version__(),
        plugin_name: c"covsched".as_ptr().cast(),
        plugin_version: concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr(),
        plugin_registrar: register,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::hooks::{CXX_HOOKS, HOOKS};

    #[test]
    fn a_panic_becomes_an_llvm_error() {
        let complaints = testing::complaints("define void @f() {\n  ret void\n}\n", |module| {
            assert!(or_report_bug(module, || panic!("of course")));
        });
        assert_eq!(complaints, ["bug in covsched: of course"]);
    }

    #[test]
    fn the_ir_test_of_hooks_has_every_row() {
        let test = include_str!("../../lit-tests/ir/every-hook.ll");
        for hook in HOOKS.iter().chain(CXX_HOOKS) {
            assert!(test.contains(&format!("@{}(", hook.symbol)), "{}", hook.symbol);
            assert!(test.contains(&format!("@{}(", hook.replaces)), "{}", hook.replaces);
        }
    }

    #[test]
    fn linkage_names_are_demangled() {
        assert_eq!(demangle("_ZNSt6thread4joinEv"), "std::thread::join()");
        assert_eq!(demangle("main"), "main");
        assert_eq!(demangle(""), "");
    }
}
