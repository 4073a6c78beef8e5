//! What data-flow specialization does to a module (Wu, 4.2.2): constants in the place of registers, and what follows from
//! them.
//!
//! Nothing here removes, merges or adds an access to memory that may execute (Wu, 4.2.3.2): race detectors look at the
//! result. Reads stay whose value nobody needs; so LLVM's own simplification (SimplifyCFG, InstCombine, GVN, SROA of what
//! is not local) is not used, and is kept from such reads where it comes with a utility that is. The one exception is
//! [`Module::optimize_aggressively`], for users who say that there are no races.
//!
//! A conclusion that does not hold for every input comes with a run-time check ([`Keep::Check`]). A block that a check
//! leads to calls `covsched_not_covered`, as those of guards do; one of a claim calls `covsched_claim_failed`. The
//! instructions of checks carry the metadata `!covsched.check`: in them a register is never replaced.
//!
//! Odd code (funclets, coroutines, `musttail`, `naked`, setjmp) is left as it is.

use super::bridge::{
    self, constant_kinds, keeps, RawConstant, RawFolded, RawKept, RawUnrollLimits, RawUnrolledLoop, Text,
    OWN_THREAD,
};
use super::clone::{Template, NOT_COVERED};
use super::{optional, Function, Global, Inst, Location, Module, Value};
use covsched_core::ThreadId;
use llvm_plugin::inkwell::llvm_sys::core::{LLVMCountParams, LLVMGetParam};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

const CLAIM_FAILED: &str = "covsched_claim_failed";

/// What a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constant<'m> {
    /// An integer of the register's width, at most 64 bits; bits above the width are 0.
    Int(u64),
    /// The null pointer.
    Null,
    /// So many bytes into a variable, which is not one that each thread has its own of.
    Address(Global<'m>, i64),
    /// A function's address.
    Function(Function<'m>),
}

/// What still looks at a register that was replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep<'a> {
    /// Nothing: it is this constant in every run.
    Nothing,
    /// A run in which it is another is not covered by the schedule, and ends where the register gets its value.
    Check {
        /// What was expected, after "expected ": `the value 2 at partition.c:35 (main)`.
        text: &'a str,
        /// Whose run it is; `None` to take the thread whose clone the function is, if it is one.
        thread: Option<ThreadId>,
    },
    /// A run in which it is another shows a bug, and ends. For tests.
    Claim {
        /// Which value, before " was claimed to be ".
        text: &'a str,
    },
}

/// What folding did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Folded {
    /// Instructions in whose place others, or constants, are used.
    pub values: u64,
    /// Branches and switches that go one way.
    pub branches: u64,
    /// Blocks that control does not reach.
    pub blocks_removed: u64,
    /// Blocks that were put at the end of the only one that leads to them.
    pub merged: u64,
}

/// How much unrolling may add.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnrollLimits {
    /// Instructions that one loop may become.
    pub instructions: u64,
    /// How often it may run.
    pub trips: u32,
    /// Instructions that all loops of a function may become, those that were in others included.
    pub growth: u64,
}

/// A loop that is gone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnrolledLoop {
    /// Where it stood in the source.
    pub location: Location,
    /// How often it ran.
    pub trips: u32,
}

impl Default for UnrollLimits {
    fn default() -> Self {
        UnrollLimits { instructions: 4_000, trips: 256, growth: 40_000 }
    }
}

impl<'m> Inst<'m> {
    /// Its result.
    pub fn result(self) -> Value<'m> {
        Value(self.0, PhantomData)
    }

    /// Copies the function that this call calls by name, for this call alone: an internal function with locals in
    /// registers. `None`, and nothing is changed, if the call names none, if the function is not the only definition of
    /// its name, is a frame's clone, or leads to the call (recursion has no end), or if it has something that cannot be
    /// copied or that knows its frame ([`super::clone::Obstacle`], `va_start`).
    pub fn give_own_copy(self, name: &str) -> Option<Function<'m>> {
        // SAFETY: the call is of a live module.
        let callee =
            optional(unsafe { bridge::cov_callee_to_copy(self.0) }, |raw| Function(raw, PhantomData))?;
        let copy = Template::of(callee, |_| false).ok()?.copy(name);
        // SAFETY: as above; the copy has the function's type.
        unsafe { bridge::cov_call_clone(self.0, copy.0) };
        Some(copy)
    }
}

// SAFETY of all calls below: as in `ir`.
impl<'m> Function<'m> {
    /// A parameter's register.
    pub fn parameter(self, number: u32) -> Option<Value<'m>> {
        // SAFETY: see above.
        let count = unsafe { LLVMCountParams(self.0) };
        // SAFETY: there are that many.
        (number < count).then(|| Value(unsafe { LLVMGetParam(self.0, number) }, PhantomData))
    }

    /// How many instructions it has, without those of debug info.
    pub fn size(self) -> usize {
        // SAFETY: see above.
        unsafe { bridge::cov_size(self.0) }
    }

    /// Puts locals into registers, but for those that are volatile or whose address is used otherwise. Whether anything
    /// changed; instructions may be gone then.
    pub fn promote_locals(self) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_promote_locals(self.0) }
    }

    /// Does what follows from constants, until nothing does: simpler instructions, branches that go one way, blocks that
    /// control does not reach or that follow another alone. Nothing is concluded from undefined values, and an assume
    /// that is false stays. Instructions may be gone afterwards.
    pub fn fold(self) -> Folded {
        let mut done = RawFolded::default();
        // SAFETY: see above.
        unsafe { bridge::cov_fold(self.0, &mut done) };
        let RawFolded { values, branches, blocks_removed, merged } = done;
        Folded { values, branches, blocks_removed, merged }
    }

    /// Unrolls loops that run a constant number of times, unless the run ends in them or an exception leaves them;
    /// loops in others, too, and not those with items in them. Those that are gone; if some are, instructions may be.
    pub fn unroll_constant_loops(self, limits: UnrollLimits) -> Vec<UnrolledLoop> {
        extern "C" fn visit(context: *mut c_void, raw: *const RawUnrolledLoop) {
            // SAFETY: both are given by the call below.
            let (found, raw) = unsafe { (&mut *context.cast::<Vec<UnrolledLoop>>(), &*raw) };
            found.push(UnrolledLoop { location: Location::from_raw(raw.place), trips: raw.trips });
        }
        let UnrollLimits { instructions, trips, growth } = limits;
        let limits = RawUnrollLimits { instructions, growth, trips };
        let mut found: Vec<UnrolledLoop> = Vec::new();
        // SAFETY: see above.
        unsafe { bridge::cov_unroll_constant(self.0, &limits, visit, (&raw mut found).cast()) };
        found
    }
}

impl<'m> Module<'m> {
    /// A variable by its linkage name.
    pub fn variable(self, name: &str) -> Option<Global<'m>> {
        // SAFETY: see above.
        optional(unsafe { bridge::cov_variable(self.0, Text::new(name)) }, |raw| Global(raw, PhantomData))
    }

    /// Puts a constant in the place of a register, wherever it is used but in checks of it, and in debug info. Whether
    /// anything changed: nothing does if it is not used, cannot be this constant by its type, or cannot be checked.
    pub fn replace_uses(self, value: Value<'m>, with: Constant<'m>, keep: Keep<'_>) -> bool {
        let (global, number, kind) = match with {
            Constant::Int(number) => (null_mut(), number, constant_kinds::INT),
            Constant::Null => (null_mut(), 0, constant_kinds::NULL),
            Constant::Address(variable, offset) => (variable.0, offset as u64, constant_kinds::ADDRESS),
            Constant::Function(function) => (function.0, 0, constant_kinds::FUNCTION),
        };
        let (symbol, text, thread, keep) = match keep {
            Keep::Nothing => (None, "", OWN_THREAD, keeps::NOTHING),
            Keep::Check { text, thread } => {
                let thread = thread.map_or(OWN_THREAD, |thread| i32::try_from(thread.0).unwrap_or(-1));
                (Some(NOT_COVERED), text, thread, keeps::CHECK)
            }
            Keep::Claim { text } => (Some(CLAIM_FAILED), text, OWN_THREAD, keeps::CLAIM),
        };
        let hook = match symbol.map(|symbol| self.declare_marker(symbol)) {
            None => null_mut(),
            Some(Some(hook)) => hook.0,
            // The program uses its name for something else.
            Some(None) => return false,
        };
        let with = RawConstant { global, number, kind };
        let kept = RawKept { hook, text: Text::new(text), thread, keep };
        // SAFETY: see above.
        unsafe { bridge::cov_replace_uses(value.0, &with, &kept) }
    }

    /// Runs LLVM's optimizer over the module, as if there were no data races. Calls of hooks stay, and are neither merged
    /// nor copied; so do traps. Functions, instructions and variables that were known before may be gone.
    pub fn optimize_aggressively(self) {
        // SAFETY: see above.
        unsafe { bridge::cov_optimize(self.0) }
    }
}

#[cfg(test)]
mod tests;
