//! Mutexes.

use crate::hook::Call;
use crate::real;
use covsched_core::hooks::Op;
use covsched_core::SiteId;
use libc::{c_int, c_void};

pub unsafe fn pthread_mutex_init(mutex: *mut c_void, attr: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_mutex_init, site, mutex).on_mutex_to_begin();
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe { call.init(|| real::pthread_mutex_init(mutex, attr)) }
}

pub unsafe fn pthread_mutex_destroy(mutex: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_mutex_destroy, site, mutex).on_mutex_to_end();
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_mutex_destroy(mutex)) }
}

pub unsafe fn pthread_mutex_lock(mutex: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_mutex_lock, site, mutex).on_mutex();
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_mutex_lock(mutex)) }
}

pub unsafe fn pthread_mutex_trylock(mutex: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_mutex_trylock, site, mutex).on_mutex();
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_mutex_trylock(mutex)) }
}

pub unsafe fn pthread_mutex_timedlock(mutex: *mut c_void, deadline: *mut c_void, site: SiteId) -> c_int {
    let call =
        Call::new(Op::pthread_mutex_timedlock, site, mutex).on_mutex().until(libc::CLOCK_REALTIME, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::pthread_mutex_timedlock(mutex, deadline)) }
}

pub unsafe fn pthread_mutex_clocklock(
    mutex: *mut c_void,
    clock: c_int,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    let call = Call::new(Op::pthread_mutex_clocklock, site, mutex).on_mutex().until(clock, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::pthread_mutex_clocklock(mutex, clock, deadline)) }
}

pub unsafe fn pthread_mutex_unlock(mutex: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_mutex_unlock, site, mutex).on_mutex();
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_mutex_unlock(mutex)) }
}
