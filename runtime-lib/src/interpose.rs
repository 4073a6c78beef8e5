//! Code without hooks that signals a condition variable, or arrives at a barrier, on which code with hooks waits.
//!
//! Waiters are in queues of ours, which glibc does not know. So a dynamic executable also links
//! `covsched_interpose.o` (source: runtime-lib/interposers.rs), which defines the few functions concerned
//! and sends them here. It is an object, not a member of the archive: a linker would take it from there for
//! any reference to these functions, in static executables too, where there is no second definition
//! to pass the call on to. Without it such code is a limit: the waiter is not woken.
//!
//! With it, these names mean the interposers everywhere, in hooks too. The real ones are found with
//! `dlsym(RTLD_NEXT, ...)`, at start.

use crate::{barrier, cond, exports, real, sys};
use core::ffi::{c_char, c_int, c_void, CStr};
use core::mem::transmute;
use core::sync::atomic::{AtomicPtr, Ordering};
use covsched_core::hooks::Op;
use covsched_core::SiteId;

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;
type Real = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Real functions; null where there are no interposers.
static COND_SIGNAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static COND_BROADCAST: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
static BARRIER_WAIT: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Finds the real functions, in every mode.
pub fn start() {
    // In covsched_interpose.o: the address of dlsym, to which static executables should not refer.
    let table = sys::weak_address!("covsched_interpose").cast::<Dlsym>();
    if table.is_null() {
        return;
    }
    let find = |place: &AtomicPtr<c_void>, name: &CStr| {
        // SAFETY: the object is linked, so its table is there; RTLD_NEXT is after the executable.
        let found = unsafe { (*table)(libc::RTLD_NEXT, name.as_ptr()) };
        if found.is_null() {
            sys::write_error(&[
                "covsched: a static executable cannot have covsched_interpose.o: link it without, as `covsched cc` does\n",
            ]);
            // SAFETY: no preconditions. The interposers would call themselves for ever.
            unsafe { libc::abort() };
        }
        place.store(found, Ordering::Release);
    };
    find(&COND_SIGNAL, c"pthread_cond_signal");
    find(&COND_BROADCAST, c"pthread_cond_broadcast");
    find(&BARRIER_WAIT, c"pthread_barrier_wait");
}

/// # Safety
/// As the real function.
#[inline(always)]
unsafe fn call(place: &AtomicPtr<c_void>, by_name: Real, argument: *mut c_void) -> c_int {
    let found = place.load(Ordering::Relaxed);
    // SAFETY: a function of that type, by start.
    unsafe {
        if found.is_null() {
            by_name(argument)
        } else {
            transmute::<*mut c_void, Real>(found)(argument)
        }
    }
}

/// glibc's pthread_cond_signal.
///
/// # Safety
/// As that.
pub unsafe fn real_cond_signal(cond: *mut c_void) -> c_int {
    // SAFETY: by the contract.
    unsafe { call(&COND_SIGNAL, real::pthread_cond_signal, cond) }
}

/// glibc's pthread_cond_broadcast.
///
/// # Safety
/// As that.
pub unsafe fn real_cond_broadcast(cond: *mut c_void) -> c_int {
    // SAFETY: by the contract.
    unsafe { call(&COND_BROADCAST, real::pthread_cond_broadcast, cond) }
}

/// glibc's pthread_barrier_wait.
///
/// # Safety
/// As that.
pub unsafe fn real_barrier_wait(barrier: *mut c_void) -> c_int {
    // SAFETY: by the contract.
    unsafe { call(&BARRIER_WAIT, real::pthread_barrier_wait, barrier) }
}

#[export_name = "covsched_interposed_cond_signal"]
unsafe extern "C-unwind" fn cond_signal(cond: *mut c_void) -> c_int {
    // SAFETY: the caller keeps the contract of the function that it called; so below.
    unsafe {
        if exports::is_off() {
            return real_cond_signal(cond);
        }
        cond::foreign_signal(Op::pthread_cond_signal, cond, cond::Wake::One)
    }
}

#[export_name = "covsched_interposed_cond_broadcast"]
unsafe extern "C-unwind" fn cond_broadcast(cond: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe {
        if exports::is_off() {
            return real_cond_broadcast(cond);
        }
        cond::foreign_signal(Op::pthread_cond_broadcast, cond, cond::Wake::All)
    }
}

#[export_name = "covsched_interposed_barrier_wait"]
unsafe extern "C-unwind" fn barrier_wait(barrier: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe {
        if exports::is_off() {
            return real_barrier_wait(barrier);
        }
        barrier::arrive(barrier, SiteId::NONE)
    }
}
