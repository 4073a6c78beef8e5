//! Semaphores. The functions return -1 and set errno; results are that errno.
//!
//! `sem_post` may be called in a signal handler, while its thread is anywhere, hooks included: nothing on its
//! way takes a lock that the thread may hold (see [`crate::log`] and [`crate::threads`]).

use crate::hook::{sem_flags, Call};
use crate::real::{self, errno_result, errno_returns};
use covsched_core::hooks::Op;
use covsched_core::SiteId;
use libc::{c_int, c_uint, c_void};

fn on_sem(op: Op, site: SiteId, sem: *mut c_void) -> Call {
    Call::new(op, site, sem).flags(sem_flags).result(errno_result, errno_returns)
}

pub unsafe fn sem_init(sem: *mut c_void, shared: c_int, value: c_uint, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_init, site, sem).extra(u64::from(value));
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe { call.init(|| real::sem_init(sem, shared, value)) }
}

pub unsafe fn sem_destroy(sem: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_destroy, site, sem);
    // SAFETY: as above.
    unsafe { call.release(|| real::sem_destroy(sem)) }
}

pub unsafe fn sem_close(sem: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_close, site, sem);
    // SAFETY: as above.
    unsafe { call.release(|| real::sem_close(sem)) }
}

pub unsafe fn sem_wait(sem: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_wait, site, sem);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::sem_wait(sem)) }
}

pub unsafe fn sem_trywait(sem: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_trywait, site, sem);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::sem_trywait(sem)) }
}

pub unsafe fn sem_timedwait(sem: *mut c_void, deadline: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_timedwait, site, sem).until(libc::CLOCK_REALTIME, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::sem_timedwait(sem, deadline)) }
}

pub unsafe fn sem_clockwait(sem: *mut c_void, clock: c_int, deadline: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_clockwait, site, sem).until(clock, deadline);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::sem_clockwait(sem, clock, deadline)) }
}

pub unsafe fn sem_post(sem: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_post, site, sem);
    // SAFETY: as above.
    unsafe { call.release(|| real::sem_post(sem)) }
}

pub unsafe fn sem_getvalue(sem: *mut c_void, value: *mut c_void, site: SiteId) -> c_int {
    let call = on_sem(Op::sem_getvalue, site, sem);
    // SAFETY: as above.
    unsafe { call.acquire(|| real::sem_getvalue(sem, value)) }
}

/// The object is known when it is open: recorded then. Several opens give one object.
pub unsafe fn sem_open(
    name: *mut c_void,
    flags: c_int,
    mode: c_uint,
    value: c_uint,
    site: SiteId,
) -> *mut c_void {
    // SAFETY: as above.
    let opened = unsafe { real::sem_open(name, flags, mode, value) };
    let failed = opened.cast() == libc::SEM_FAILED;
    let object = if failed { core::ptr::null_mut() } else { opened };
    let call = Call::new(Op::sem_open, site, object).flags(sem_flags).extra(u64::from(value));
    // SAFETY: the object is live if there is one, and flags are read only then.
    unsafe { call.init(|| if failed { real::errno() } else { 0 }) };
    opened
}
