//! `covsched_interpose.o`, linked into dynamic executables: see runtime-lib/src/interpose.rs for what it is for.
//! Compiled on its own (scripts/build), since its symbols must not be in the archive.
#![no_std]

use core::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn covsched_interposed_cond_signal(cond: *mut c_void) -> c_int;
    fn covsched_interposed_cond_broadcast(cond: *mut c_void) -> c_int;
    fn covsched_interposed_barrier_wait(barrier: *mut c_void) -> c_int;
}

/// Tells the runtime that the interposers are there, and how to find what they stand in front of.
#[no_mangle]
pub static covsched_interpose: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void = dlsym;

/// # Safety
/// As glibc's.
#[no_mangle]
pub unsafe extern "C" fn pthread_cond_signal(cond: *mut c_void) -> c_int {
    // SAFETY: by the contract; so below.
    unsafe { covsched_interposed_cond_signal(cond) }
}

/// # Safety
/// As glibc's.
#[no_mangle]
pub unsafe extern "C" fn pthread_cond_broadcast(cond: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe { covsched_interposed_cond_broadcast(cond) }
}

/// # Safety
/// As glibc's.
#[no_mangle]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    // SAFETY: as above.
    unsafe { covsched_interposed_barrier_wait(barrier) }
}
