//! Readers and writers.

use crate::hook::{rwlock_flags, Call};
use crate::real;
use covsched_core::hooks::Op;
use covsched_core::SiteId;
use libc::{c_int, c_void};

pub unsafe fn pthread_rwlock_init(rwlock: *mut c_void, attr: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_init, site, rwlock).flags(rwlock_flags);
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe { call.init(|| real::pthread_rwlock_init(rwlock, attr)) }
}

pub unsafe fn pthread_rwlock_destroy(rwlock: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_destroy, site, rwlock).flags(rwlock_flags);
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_rwlock_destroy(rwlock)) }
}

pub unsafe fn pthread_rwlock_rdlock(rwlock: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_rdlock, site, rwlock).flags(rwlock_flags);
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_rwlock_rdlock(rwlock)) }
}

pub unsafe fn pthread_rwlock_tryrdlock(rwlock: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_tryrdlock, site, rwlock).flags(rwlock_flags);
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_rwlock_tryrdlock(rwlock)) }
}

pub unsafe fn pthread_rwlock_timedrdlock(rwlock: *mut c_void, deadline: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_timedrdlock, site, rwlock)
        .flags(rwlock_flags)
        .until(libc::CLOCK_REALTIME, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::pthread_rwlock_timedrdlock(rwlock, deadline)) }
}

pub unsafe fn pthread_rwlock_clockrdlock(
    rwlock: *mut c_void,
    clock: c_int,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    let call =
        Call::new(Op::pthread_rwlock_clockrdlock, site, rwlock).flags(rwlock_flags).until(clock, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::pthread_rwlock_clockrdlock(rwlock, clock, deadline)) }
}

pub unsafe fn pthread_rwlock_wrlock(rwlock: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_wrlock, site, rwlock).flags(rwlock_flags);
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_rwlock_wrlock(rwlock)) }
}

pub unsafe fn pthread_rwlock_trywrlock(rwlock: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_trywrlock, site, rwlock).flags(rwlock_flags);
    // SAFETY: as above.
    unsafe { call.lock(|| real::pthread_rwlock_trywrlock(rwlock)) }
}

pub unsafe fn pthread_rwlock_timedwrlock(rwlock: *mut c_void, deadline: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_timedwrlock, site, rwlock)
        .flags(rwlock_flags)
        .until(libc::CLOCK_REALTIME, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::pthread_rwlock_timedwrlock(rwlock, deadline)) }
}

pub unsafe fn pthread_rwlock_clockwrlock(
    rwlock: *mut c_void,
    clock: c_int,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    let call =
        Call::new(Op::pthread_rwlock_clockwrlock, site, rwlock).flags(rwlock_flags).until(clock, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::pthread_rwlock_clockwrlock(rwlock, clock, deadline)) }
}

pub unsafe fn pthread_rwlock_unlock(rwlock: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::pthread_rwlock_unlock, site, rwlock).flags(rwlock_flags);
    // SAFETY: as above.
    unsafe { call.release(|| real::pthread_rwlock_unlock(rwlock)) }
}
