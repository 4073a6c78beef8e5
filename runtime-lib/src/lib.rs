//! covsched's runtime: the hooks that instrumented code calls (`libcovsched_rt.a`).
//!
//! # Ground rules
//! 1. One gate: every event passes through [`gate`], and nothing else writes to a recording. One turn: what a plan
//!    orders passes through [`enforce`], before and after the real call.
//! 2. Own memory by mmap, own files by raw system calls ([`sys`]): never malloc, never a libc function that the
//!    program may have replaced, that is a cancellation point, or that sets errno. What is called by
//!    name is the wrapped function itself ([`real`]) and a few functions of glibc that have no other form
//!    (thread-specific keys, fork handlers, `dl_iterate_phdr`, `pthread_create` for [`loom`]'s engine).
//! 3. The runtime does not unwind, and lets others unwind: C++ exceptions and glibc's cancellation pass through
//!    hook frames. These frames have unwind tables and no destructors; where something must happen on the
//!    way, [`guard`] does it. So no hook keeps a value with a `Drop` across a wrapped call.
//! 4. errno after a hook is what the wrapped call left there.
//! 5. A hook is as safe in a signal handler as the call that it wraps: `sem_post` takes no lock that its own
//!    thread may hold. Locks of the runtime ([`lock`]) are taken with signals blocked where a handler could
//!    want them.
//! 6. Works before main, after exit handlers, in forked children, in threads that other code made, that are
//!    detached or cancelled. A thread whose last destructor ran is no longer recorded.
//! 7. Mode off costs one predictable branch a hook ([`exports`]).
//!
//! # Files
//! One primitive is one file: [`mutex`], [`cond`], [`barrier`], [`rwlock`], [`spin`], [`sem`], [`once`],
//! [`thread`], [`c11`], [`cxx`], [`process`]; [`exports`] makes the C symbols from core's tables, [`markers`] are
//! the hooks that the pass adds, [`not_covered`] is where specialized programs leave their schedule. [`enforce`] makes a run follow a plan. Under them: [`gate`], [`clock`], [`log`], [`meta`], [`parking`], [`threads`],
//! [`options`], [`delay`], [`tls`], [`start`]. [`loom`] stands beside all that: execution filters.
//!
//! Linux with glibc, x86-64. The few lines for aarch64 in [`sys`], [`tls`] and [`guard`] have not been run.
#![cfg_attr(not(test), no_std)]

#[cfg(not(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("the runtime knows glibc's layouts and Linux's system calls on x86-64 and aarch64 only");

mod barrier;
mod c11;
mod clock;
mod cond;
mod cxx;
mod delay;
mod enforce;
mod epoch;
mod exports;
mod gate;
mod guard;
mod hook;
mod interpose;
mod lock;
mod log;
mod loom;
mod markers;
mod meta;
mod mutex;
mod not_covered;
mod once;
mod options;
mod parking;
mod process;
mod real;
mod rwlock;
mod sem;
mod spin;
mod start;
mod sys;
mod thread;
mod threads;
mod tls;

/// A panic is a bug of covsched: say so and stop. The texts of panics are not kept (no formatting in here).
/// Only in the archive, whose profile aborts: elsewhere a feature of core may bring std and its own.
#[cfg(all(panic = "abort", not(test)))]
#[panic_handler]
fn stop_on_bug(_: &core::panic::PanicInfo<'_>) -> ! {
    sys::write_error(&["covsched: bug in the runtime: it panicked\n"]);
    // SAFETY: no preconditions.
    unsafe { libc::abort() }
}
