//! The symbols that instrumented code calls.
//!
//! `check`, `reacquire` and `slot` keep every register: a few lines of assembly that test whether there is anything to do, and
//! only then save general registers and the state of x87, SSE, AVX and AVX-512 (`xsave`, with the size that this
//! processor needs) and call Rust. Nothing to do costs:
//! ```text
//! covsched_loom_check:      testb $5, pending ; jne ; ret
//! covsched_loom_reacquire:  lock orl $0, -4(%rsp) ; testb $5, pending ; jne ; ret
//! covsched_loom_slot:       cmpq $0, (%rdi) ; jne ; ret
//! ```

use super::members::{self, address_of, Member, INTERRUPTED, OUTSIDE};
use super::stack::{self, Frames};
use super::{alone, protocol, words};
use crate::sys;
use core::arch::global_asm;
use core::sync::atomic::{AtomicU32, Ordering};
use covsched_core::loom::abi::{Outer, Unit, AT_RUNNING, AT_UNKNOWN};
use covsched_core::loom::wire;

/// What `xsave` keeps: 0 if the processor does not have it.
static STATE_MASK: AtomicU32 = AtomicU32::new(0);
/// Bytes of it, and of what `fxsave` keeps.
static STATE_SIZE: AtomicU32 = AtomicU32::new(512);

#[cfg(target_arch = "x86_64")]
macro_rules! trampoline {
    ($name:literal, $target:ident, $($test:literal),*) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            ".p2align 4",
            concat!(".globl ", $name),
            concat!(".type ", $name, ", @function"),
            concat!($name, ":"),
            ".cfi_startproc",
            $($test,)*
            "jne 2f",
            "ret",
            "2:",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "push rax",
            "push rcx",
            "push rdx",
            "push rbx",
            ".cfi_offset rbx, -48",
            "push rsi",
            "push rdi",
            "push r8",
            "push r9",
            "push r10",
            "push r11",
            "mov eax, dword ptr [rip + {size}]",
            "sub rsp, rax",
            "and rsp, -64",
            "mov rbx, rsp",
            "mov eax, dword ptr [rip + {mask}]",
            "test eax, eax",
            "je 3f",
            // xrstor wants the header's unused words to be 0.
            "xor edx, edx",
            "mov qword ptr [rsp + 512], rdx",
            "mov qword ptr [rsp + 520], rdx",
            "mov qword ptr [rsp + 528], rdx",
            "mov qword ptr [rsp + 536], rdx",
            "mov qword ptr [rsp + 544], rdx",
            "mov qword ptr [rsp + 552], rdx",
            "mov qword ptr [rsp + 560], rdx",
            "mov qword ptr [rsp + 568], rdx",
            "xsave64 [rsp]",
            "jmp 4f",
            "3:",
            "fxsave64 [rsp]",
            "4:",
            // Rust expects the default modes, and the direction flag as the ABI has it, which callers keep.
            "mov rdx, rbp",
            "call {target}",
            "mov rsp, rbx",
            "mov eax, dword ptr [rip + {mask}]",
            "test eax, eax",
            "je 5f",
            "xor edx, edx",
            "xrstor64 [rsp]",
            "jmp 6f",
            "5:",
            "fxrstor64 [rsp]",
            "6:",
            "lea rsp, [rbp - 80]",
            "pop r11",
            "pop r10",
            "pop r9",
            "pop r8",
            "pop rdi",
            "pop rsi",
            "pop rbx",
            ".cfi_restore rbx",
            "pop rdx",
            "pop rcx",
            "pop rax",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $name, ", . - ", $name),
            ".popsection",
            size = sym STATE_SIZE,
            mask = sym STATE_MASK,
            target = sym $target,
        );
    };
}

// 5: the bits of protocol::PAUSE.
#[cfg(target_arch = "x86_64")]
trampoline!("covsched_loom_check", check, "test byte ptr [rip + covsched_loom_pending], 5");
#[cfg(target_arch = "x86_64")]
trampoline!(
    "covsched_loom_reacquire",
    reacquire,
    "lock or dword ptr [rsp - 4], 0",
    "test byte ptr [rip + covsched_loom_pending], 5"
);
#[cfg(target_arch = "x86_64")]
trampoline!("covsched_loom_slot", slot, "cmp qword ptr [rdi], 0");

const _: () = assert!(protocol::PAUSE == 5);

/// Finds out what is to be saved. Before any of the three above has something to do.
fn measure_state() {
    #[cfg(target_arch = "x86_64")]
    if STATE_MASK.load(Ordering::Relaxed) == 0 {
        use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
        const OSXSAVE: u32 = 1 << 27;
        // x87, SSE, AVX, and the three parts of AVX-512. Nothing here touches the others.
        const KEPT: u64 = 0xe7;
        // SAFETY: every x86-64 has cpuid; the others are there if it says so.
        unsafe {
            if __cpuid(1).ecx & OSXSAVE == 0 {
                return;
            }
            #[target_feature(enable = "xsave")]
            unsafe fn enabled() -> u64 {
                // SAFETY: the feature is there.
                unsafe { _xgetbv(0) }
            }
            let mask = enabled() & KEPT;
            // The legacy area and the header, then each part where the processor says.
            let ends = (2..8).filter(|bit| mask & (1 << bit) != 0).map(|bit| {
                let part = __cpuid_count(13, bit);
                part.eax + part.ebx
            });
            let size = ends.fold(576, u32::max);
            STATE_SIZE.store(size, Ordering::Relaxed);
            STATE_MASK.store(mask as u32, Ordering::Release);
        }
    }
}

/// At an entry or back edge.
unsafe extern "C" fn check(location: usize, _: usize, stack: usize) {
    let Some(member) = members::known() else { return };
    member.forget_left(stack);
    // A handler may come here while the thread waits elsewhere.
    let before = member.waits.swap(wire::AT_CHECK, Ordering::Relaxed);
    member.with_stack(stack, || super::pause(member, location));
    member.waits.store(before, Ordering::Relaxed);
}

/// After a call that may have blocked. The word is [`AT_RUNNING`] again, and a fence has been.
unsafe extern "C" fn reacquire(location: usize, _: usize, stack: usize) {
    let Some(member) = members::known() else { return };
    member.forget_left(stack);
    member.with_stack(stack, || {
        super::pause(member, location);
        alone::gather_again(member, location);
    });
}

/// At a slot that filters have something for.
unsafe extern "C" fn slot(cell: usize, frame: *const u64, stack: usize) {
    let Some(member) = members::known() else { return };
    member.forget_left(stack);
    // SAFETY: a slot's cell and the values of its function's variables.
    member.with_stack(stack, || unsafe { super::slot::run(member, cell, frame, stack) });
}

/// Code outside calls an instrumented function.
#[export_name = "covsched_loom_enter"]
unsafe extern "C" fn enter(outer: *mut Outer) {
    // SAFETY: in the caller's frame.
    unsafe { begin(outer, false) };
    super::engine::start_if_wanted();
}

/// As above; the thread may be anywhere.
#[export_name = "covsched_loom_handler_enter"]
unsafe extern "C" fn handler_enter(outer: *mut Outer) {
    // SAFETY: as above.
    let is_first = unsafe {
        begin(outer, true);
        (*outer).at == AT_UNKNOWN
    };
    let is_to_begin = || members::known().is_some_and(Member::has_not_entered);
    if is_first && (is_to_begin() || super::engine::is_wanted()) && is_plain_call(outer) {
        members::known().into_iter().for_each(Member::has_entered);
        super::engine::start_if_wanted();
    }
}

/// Whether a function of a handler's type was called by code, not by a signal: that leaves where handlers return to right above the
/// function's frame.
fn is_plain_call(outer: *const Outer) -> bool {
    const FRAME: usize = 256;
    let frame = outer as usize;
    matches!(stack::find_between(frame, frame + FRAME, Frames(&[])), Some(None))
}

unsafe fn begin(outer: *mut Outer, is_handler: bool) {
    let at = words::at().load(Ordering::Relaxed);
    // SAFETY: by the contract.
    unsafe { outer.write(Outer { at, next: core::ptr::null() }) };
    let Some(member) = members::current() else {
        words::at().store(AT_RUNNING, Ordering::Relaxed);
        return;
    };
    let from = match at {
        AT_RUNNING => address_of(&INTERRUPTED),
        AT_UNKNOWN => address_of(&OUTSIDE),
        location => location,
    };
    member.push_outer(from, outer as usize, is_handler);
    member.with_stack(outer as usize, || match at {
        AT_RUNNING => super::return_from(member, from),
        _ => super::reacquire(member, from),
    });
    if !is_handler {
        member.has_entered();
    }
}

/// The end of both.
#[export_name = "covsched_loom_leave"]
unsafe extern "C" fn leave(outer: *mut Outer) {
    // SAFETY: by the contract.
    let at = unsafe { (*outer).at };
    let Some(member) = members::known() else {
        words::at().store(at, Ordering::Relaxed);
        return;
    };
    let back = if at == AT_UNKNOWN { address_of(&OUTSIDE) } else { at };
    if back == AT_RUNNING {
        // Still running; an update that wanted it to pause in the handler finds it at its next check.
        member.pop_outer(outer as usize);
        return;
    }
    // Released first: an update may then look at what is left.
    protocol::release(member, back);
    member.pop_outer(outer as usize);
}

/// One constructor a linked object.
#[export_name = "covsched_loom_register"]
unsafe extern "C" fn register(first: *const Unit, after: *const Unit) {
    measure_state();
    super::start();
    // SAFETY: the linker's bounds of one section.
    if let Err(text) = unsafe { super::units::register(first, after) } {
        sys::write_error(&["covsched: loom: ", text, "\n"]);
    }
    super::registered(first);
}

/// Its destructor.
#[export_name = "covsched_loom_unregister"]
unsafe extern "C" fn unregister(first: *const Unit, after: *const Unit) {
    super::unload(first, after);
}
