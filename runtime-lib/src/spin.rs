//! Spin locks. They do not know whether they are shared with other processes: only their init says so.

use crate::hook::Call;
use crate::real;
use covsched_core::hooks::Op;
use covsched_core::rawlog::FLAG_SHARED;
use covsched_core::SiteId;
use libc::{c_int, c_void};

pub unsafe fn pthread_spin_init(spin: *mut c_void, shared: c_int, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_spin_init, site, spin)
        .flags(if shared == libc::PTHREAD_PROCESS_SHARED { is_shared } else { is_private });
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe { call.init(|| real::pthread_spin_init(spin, shared)) }
}

pub unsafe fn pthread_spin_destroy(spin: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_spin_destroy, site, spin);
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_spin_destroy(spin)) }
}

pub unsafe fn pthread_spin_lock(spin: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_spin_lock, site, spin);
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_spin_lock(spin)) }
}

pub unsafe fn pthread_spin_trylock(spin: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_spin_trylock, site, spin);
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_spin_trylock(spin)) }
}

pub unsafe fn pthread_spin_unlock(spin: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_spin_unlock, site, spin);
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_spin_unlock(spin)) }
}

unsafe fn is_shared(_: *mut c_void) -> u8 {
    FLAG_SHARED
}

unsafe fn is_private(_: *mut c_void) -> u8 {
    0
}
