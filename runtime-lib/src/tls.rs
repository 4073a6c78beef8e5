//! Words of each thread, without std: symbols in `.tbss`, read in the local-exec model, which is right because
//! the runtime always lives in the executable. Instrumented code, in shared objects too, adds to one of them
//! (`covsched_instructions`), so that one is seen from outside.

use core::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss.covsched_thread,\"awT\",@nobits",
    ".p2align 3",
    ".globl covsched_thread_word", // other codegen units of a test build use it too
    ".hidden covsched_thread_word",
    ".type covsched_thread_word, @object",
    ".size covsched_thread_word, 8",
    "covsched_thread_word:",
    ".zero 8",
    ".globl covsched_instructions",
    ".type covsched_instructions, @object",
    ".size covsched_instructions, 8",
    "covsched_instructions:",
    ".zero 8",
    ".popsection",
);

/// The word; 0 in a new thread.
#[inline(always)]
pub fn get() -> usize {
    let word: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!("mov {}, qword ptr fs:[covsched_thread_word@TPOFF]", out(reg) word,
             options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!("mrs {0}, tpidr_el0", "add {0}, {0}, #:tprel_hi12:covsched_thread_word, lsl #12",
             "ldr {0}, [{0}, #:tprel_lo12_nc:covsched_thread_word]", out(reg) word,
             options(nostack, preserves_flags, readonly));
    }
    word
}

/// Sets the word.
#[inline(always)]
pub fn set(word: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes the thread's own word.
    unsafe {
        asm!("mov qword ptr fs:[covsched_thread_word@TPOFF], {}", in(reg) word,
             options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: writes the thread's own word.
    unsafe {
        asm!("mrs {0}, tpidr_el0", "add {0}, {0}, #:tprel_hi12:covsched_thread_word, lsl #12",
             "str {1}, [{0}, #:tprel_lo12_nc:covsched_thread_word]", out(reg) _, in(reg) word,
             options(nostack, preserves_flags));
    }
}

/// How many instructions the thread has counted.
#[inline(always)]
pub fn instructions() -> i64 {
    let count: i64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!("mov {}, qword ptr fs:[covsched_instructions@TPOFF]", out(reg) count,
             options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: reads the thread's own word.
    unsafe {
        asm!("mrs {0}, tpidr_el0", "add {0}, {0}, #:tprel_hi12:covsched_instructions, lsl #12",
             "ldr {0}, [{0}, #:tprel_lo12_nc:covsched_instructions]", out(reg) count,
             options(nostack, preserves_flags, readonly));
    }
    count
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_thread_has_its_own_word() {
        super::set(5);
        std::thread::spawn(|| assert_eq!(super::get(), 0)).join().unwrap();
        assert_eq!(super::get(), 5);
        super::set(0);
    }
}
