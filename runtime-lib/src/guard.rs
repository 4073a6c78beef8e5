//! Calls that an exception or a cancellation may leave, with something to do on the way.
//!
//! Rust with `panic=abort` has no landing pads. So the call is made by a few lines of assembly whose frame names
//! a personality routine of our own: the unwinder, libgcc's for C++ and the one that glibc cancels
//! threads with, calls it for that frame, it runs the cleanup, and unwinding goes on.

use crate::threads::{current, Thread};
use core::arch::global_asm;
use core::ffi::c_void;

/// What to do when a guarded call is left by unwinding. On the stack of who guards.
pub struct Guard {
    outer: *const Guard,
    /// The cleanup, and what it gets.
    cleanup: (unsafe fn(&Thread, *mut c_void), *mut c_void),
}

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".pushsection .text.covsched_call_guarded,\"ax\",@progbits",
    ".globl covsched_call_guarded",
    ".hidden covsched_call_guarded",
    ".type covsched_call_guarded, @function",
    "covsched_call_guarded:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}", // pcrel | sdata4
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "call rax",
    "pop rbp",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size covsched_call_guarded, . - covsched_call_guarded",
    ".popsection",
    personality = sym personality,
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".pushsection .text.covsched_call_guarded,\"ax\",@progbits",
    ".globl covsched_call_guarded",
    ".hidden covsched_call_guarded",
    ".type covsched_call_guarded, @function",
    "covsched_call_guarded:",
    ".cfi_startproc",
    ".cfi_personality 0x1b, {personality}",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    ".cfi_def_cfa_register x29",
    "mov x8, x0",
    "mov x0, x1",
    "blr x8",
    "ldp x29, x30, [sp], #16",
    ".cfi_def_cfa sp, 0",
    "ret",
    ".cfi_endproc",
    ".size covsched_call_guarded, . - covsched_call_guarded",
    ".popsection",
    personality = sym personality,
);

unsafe extern "C" {
    fn covsched_call_guarded(
        function: unsafe extern "C" fn(*mut c_void) -> i32,
        argument: *mut c_void,
    ) -> i32;
}

/// Calls `function(argument)`. If the call is left by unwinding, `cleanup(thread, argument)` runs, and whoever
/// called this is unwound too.
///
/// # Safety
/// `function` and `cleanup` may be called with `argument`.
pub unsafe fn call(
    thread: &Thread,
    function: unsafe extern "C" fn(*mut c_void) -> i32,
    cleanup: unsafe fn(&Thread, *mut c_void),
    argument: *mut c_void,
) -> i32 {
    let guard = Guard { outer: thread.guard.get(), cleanup: (cleanup, argument) };
    thread.guard.set(&guard);
    // SAFETY: by the contract.
    let result = unsafe { covsched_call_guarded(function, argument) };
    thread.guard.set(guard.outer);
    result
}

/// The Itanium ABI's personality routine.
unsafe extern "C" fn personality(
    _version: i32,
    actions: i32,
    _class: u64,
    _exception: *mut c_void,
    _context: *mut c_void,
) -> i32 {
    const CLEANUP_PHASE: i32 = 2;
    const CONTINUE_UNWIND: i32 = 8;
    if actions & CLEANUP_PHASE != 0 {
        if let Some(thread) = current() {
            // SAFETY: the guard is on the stack that is about to be unwound, and still there.
            if let Some(guard) = unsafe { thread.guard.get().as_ref() } {
                thread.guard.set(guard.outer);
                // The hooks around it are left too.
                crate::epoch::unwound(thread, 0);
                // SAFETY: by the contract of call.
                unsafe { (guard.cleanup.0)(thread, guard.cleanup.1) };
            }
        }
    }
    CONTINUE_UNWIND
}
