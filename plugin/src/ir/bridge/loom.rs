//! The part of the bridge that `loom` uses: as in `cpp/bridge.h`.

use super::Text;
use llvm_plugin::inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use std::ffi::c_void;

/// As `CovLoomAbi`.
#[repr(C)]
pub(crate) struct RawAbi {
    pub(crate) at: Text,
    pub(crate) pending: Text,
    pub(crate) check: Text,
    pub(crate) reacquire: Text,
    pub(crate) slot: Text,
    pub(crate) enter: Text,
    pub(crate) handler_enter: Text,
    pub(crate) leave: Text,
    pub(crate) running: u64,
    pub(crate) slow: u8,
    pub(crate) wait: u8,
    pub(crate) outer_size: u32,
    pub(crate) options: u32,
}

/// Bits of [`RawAbi::options`].
pub(crate) mod options {
    pub(crate) const NO_CLONING: u32 = 1 << 0;
    pub(crate) const NO_FILTER_BYTE: u32 = 1 << 1;
    pub(crate) const NO_INLINE: u32 = 1 << 2;
    pub(crate) const NO_DIRECT: u32 = 1 << 3;
}

/// Bits that `cov_loom_facts` gives.
pub(crate) mod facts {
    pub(crate) const FROM_OUTSIDE: u8 = 1 << 0;
    pub(crate) const ADDRESS_TAKEN: u8 = 1 << 1;
    pub(crate) const HANDLER_TYPE: u8 = 1 << 2;
    pub(crate) const FORWARDS: u8 = 1 << 3;
}

/// Bits that `cov_loom_call_facts` gives.
pub(crate) mod call_facts {
    pub(crate) const SYSTEM_CALL: u8 = 1 << 0;
    pub(crate) const OF_HANDLERS_TYPE: u8 = 1 << 1;
}

/// Bits of [`RawFunctionPlan::how`].
pub(crate) mod how {
    pub(crate) const CLONE: u8 = 1 << 0;
    pub(crate) const OUTSIDE: u8 = 1 << 1;
    pub(crate) const INLINE_OUTSIDE: u8 = 1 << 2;
    pub(crate) const HANDLER: u8 = 1 << 3;
}

/// As `CovLoomBackEdge`.
#[repr(C)]
pub(crate) struct RawBackEdge {
    pub(crate) end: LLVMValueRef,
    pub(crate) to: LLVMValueRef,
    pub(crate) calls: *const LLVMValueRef,
    pub(crate) call_count: usize,
    pub(crate) trips: u32,
    pub(crate) to_pad: bool,
    pub(crate) leaves: bool,
    pub(crate) outermost: bool,
    pub(crate) nests: bool,
}

/// As `CovLoomCall`.
#[repr(C)]
pub(crate) struct RawCall {
    pub(crate) call: LLVMValueRef,
    pub(crate) location: u32,
    pub(crate) cell: u32,
    pub(crate) kind: u8,
    pub(crate) returns_next: bool,
}

/// As `CovLoomCheck`.
#[repr(C)]
pub(crate) struct RawCheck {
    pub(crate) end: LLVMValueRef,
    pub(crate) to: LLVMValueRef,
    pub(crate) location: u32,
    pub(crate) to_fast: bool,
    pub(crate) before_end: bool,
}

/// As `CovLoomPad`.
#[repr(C)]
pub(crate) struct RawPad {
    pub(crate) pad: LLVMValueRef,
    pub(crate) location: u32,
    pub(crate) pauses: bool,
}

/// As `CovLoomFunction`.
#[repr(C)]
pub(crate) struct RawFunctionPlan {
    pub(crate) function: LLVMValueRef,
    pub(crate) calls: *const RawCall,
    pub(crate) call_count: usize,
    pub(crate) checks: *const RawCheck,
    pub(crate) check_count: usize,
    pub(crate) pads: *const RawPad,
    pub(crate) pad_count: usize,
    pub(crate) markers: *const LLVMValueRef,
    pub(crate) marker_count: usize,
    pub(crate) jumps: *const LLVMValueRef,
    pub(crate) jump_count: usize,
    pub(crate) number: u32,
    pub(crate) entry_location: u32,
    pub(crate) how: u8,
}

/// As `CovLoomUnit`.
#[repr(C)]
pub(crate) struct RawUnitFacts {
    pub(crate) section: Text,
    pub(crate) register_hook: Text,
    pub(crate) unregister_hook: Text,
    pub(crate) hash: u64,
    pub(crate) callees: *const u64,
    pub(crate) cell_locations: *const u32,
    pub(crate) cell_count: usize,
    pub(crate) defined: *const u64,
    pub(crate) defined_count: usize,
    pub(crate) version: u32,
    pub(crate) functions: u32,
    pub(crate) locations: u32,
}

/// A unit in the making, on the other side.
#[repr(C)]
pub(crate) struct RawUnit {
    _private: [u8; 0],
}

extern "C" {
    pub(crate) fn cov_loom_new(module: LLVMModuleRef, abi: *const RawAbi) -> *mut RawUnit;
    pub(crate) fn cov_loom_drop(unit: *mut RawUnit);
    pub(crate) fn cov_loom_is_done(function: LLVMValueRef) -> bool;
    pub(crate) fn cov_loom_prepare(function: LLVMValueRef, few: u32);
    pub(crate) fn cov_loom_obstacle(function: LLVMValueRef, at: *mut LLVMValueRef) -> u8;
    pub(crate) fn cov_loom_facts(function: LLVMValueRef) -> u8;
    pub(crate) fn cov_loom_back_edges(
        function: LLVMValueRef,
        visit: extern "C" fn(*mut c_void, *const RawBackEdge),
        context: *mut c_void,
    );
    pub(crate) fn cov_loom_pads(
        function: LLVMValueRef,
        visit: extern "C" fn(*mut c_void, LLVMValueRef),
        context: *mut c_void,
    );
    pub(crate) fn cov_loom_call_facts(call: LLVMValueRef) -> u8;
    pub(crate) fn cov_loom_mark_last(call: LLVMValueRef);
    pub(crate) fn cov_loom_change(
        unit: *mut RawUnit,
        function: *const RawFunctionPlan,
        first_slot: *mut u32,
        slots: *mut u32,
    );
    pub(crate) fn cov_loom_finish(unit: *mut RawUnit, facts: *const RawUnitFacts);
}
