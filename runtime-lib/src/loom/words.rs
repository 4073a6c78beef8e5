//! The words that instrumented code reads and writes without a call: two thread-local ones and a byte.
//!
//! `covsched_loom_at` is seen from outside, in the initial-exec model, as `covsched_instructions` is ([`crate::tls`]);
//! `covsched_loom_member` is the runtime's own.

use core::arch::{asm, global_asm};
use core::ops::Deref;
use core::sync::atomic::{AtomicU8, AtomicUsize};

global_asm!(
    ".pushsection .tbss.covsched_loom,\"awT\",@nobits",
    ".p2align 3",
    ".globl covsched_loom_at",
    ".type covsched_loom_at, @object",
    ".size covsched_loom_at, 8",
    "covsched_loom_at:",
    ".zero 8",
    ".globl covsched_loom_member",
    ".hidden covsched_loom_member",
    ".type covsched_loom_member, @object",
    ".size covsched_loom_member, 8",
    "covsched_loom_member:",
    ".zero 8",
    ".popsection",
);

/// A byte that programs read all the time, in a cache line of its own: a variable beside it that the program writes would make
/// each next read on another processor slow.
#[repr(C, align(64))]
pub struct OwnLine(AtomicU8);

impl Deref for OwnLine {
    type Target = AtomicU8;
    fn deref(&self) -> &AtomicU8 {
        &self.0
    }
}

/// The `PENDING` of core's `loom::abi`: bits of [`super::protocol`].
#[export_name = "covsched_loom_pending"]
pub static PENDING: OwnLine = OwnLine(AtomicU8::new(0));

/// The calling thread's `AT`, for as long as the thread lives.
#[inline(always)]
pub fn at() -> &'static AtomicUsize {
    let address: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: computes an address.
    unsafe {
        asm!("mov {0}, qword ptr fs:[0]", "lea {0}, [{0} + covsched_loom_at@TPOFF]", out(reg) address,
             options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("mrs {0}, tpidr_el0", "add {0}, {0}, #:tprel_hi12:covsched_loom_at, lsl #12",
             "add {0}, {0}, #:tprel_lo12_nc:covsched_loom_at", out(reg) address,
             options(nostack, preserves_flags, readonly));
    }
    // SAFETY: the thread's own word.
    unsafe { &*(address as *const AtomicUsize) }
}

/// Which member the thread is; 0 in a new thread.
#[inline(always)]
pub fn member() -> usize {
    let word: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!("mov {}, qword ptr fs:[covsched_loom_member@TPOFF]", out(reg) word,
             options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("mrs {0}, tpidr_el0", "add {0}, {0}, #:tprel_hi12:covsched_loom_member, lsl #12",
             "ldr {0}, [{0}, #:tprel_lo12_nc:covsched_loom_member]", out(reg) word,
             options(nostack, preserves_flags, readonly));
    }
    word
}

/// Sets it.
pub fn set_member(word: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes the thread's own word.
    unsafe {
        asm!("mov qword ptr fs:[covsched_loom_member@TPOFF], {}", in(reg) word,
             options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("mrs {0}, tpidr_el0", "add {0}, {0}, #:tprel_hi12:covsched_loom_member, lsl #12",
             "str {1}, [{0}, #:tprel_lo12_nc:covsched_loom_member]", out(reg) _, in(reg) word,
             options(nostack, preserves_flags));
    }
}
