//! C11 threads. glibc's `mtx_t`, `cnd_t` and `thrd_t` are pthread's under other names; only the results differ.

use crate::cond::{self, Limit, Wake};
use crate::hook::{cond_flags, Call};
use crate::loom::birth;
use crate::real;
use crate::thread::{self, Join};
use covsched_core::hooks::Op;
use covsched_core::SiteId;
use libc::{c_int, c_ulong, c_void};

// <threads.h>
const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NOMEM: c_int = 3;
const TIMEDOUT: c_int = 4;

/// From `thrd_` results to the errno that the pthread call would have returned.
fn to_errno(returned: c_int) -> c_int {
    match returned {
        SUCCESS => 0,
        BUSY => libc::EBUSY,
        NOMEM => libc::ENOMEM,
        TIMEDOUT => libc::ETIMEDOUT,
        _ => libc::EINVAL,
    }
}

/// And back.
fn from_errno(result: c_int) -> c_int {
    match result {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NOMEM,
        libc::ETIMEDOUT => TIMEDOUT,
        _ => ERROR,
    }
}

fn mutex_call(op: Op, site: SiteId, mutex: *mut c_void) -> Call {
    Call::new(op, site, mutex).on_mutex().result(to_errno, from_errno)
}

pub unsafe fn thrd_create(thread: *mut c_void, start: *mut c_void, arg: *mut c_void, site: SiteId) -> c_int {
    let real = |start, arg| {
        // SAFETY: the caller keeps the wrapped function's contract; so below.
        unsafe { birth::thrd_create(thread, start, arg) }
    };
    // SAFETY: as above.
    unsafe { thread::create(Op::thrd_create, site, thread, true, (start, arg), real, to_errno) }
}

pub unsafe fn thrd_join(thread: c_ulong, value: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    let real = || unsafe { real::thrd_join(thread, value) };
    let slice = |milliseconds| {
        let mut returned: *mut c_void = core::ptr::null_mut();
        // SAFETY: as above; what the thread's function returned is an int.
        unsafe {
            let result = thread::join_slice(thread, (&raw mut returned).cast(), milliseconds);
            if result == Some(0) && !value.is_null() {
                value.cast::<c_int>().write(returned as c_int);
            }
            result
        }
    };
    let (op, deadline) = (Op::thrd_join, None);
    let (result, returns) = (to_errno, from_errno);
    thread::join(Join { op, site, pthread: thread, deadline, real, slice, result, returns })
}

pub unsafe fn thrd_detach(thread: c_ulong, site: SiteId) -> c_int {
    // SAFETY: as above.
    thread::notify(Op::thrd_detach, site, thread, || unsafe { real::thrd_detach(thread) }, to_errno)
}

pub unsafe fn thrd_exit(value: c_int, site: SiteId) -> ! {
    thread::note_exit(Op::thrd_exit, site);
    // SAFETY: as above.
    unsafe { real::thrd_exit(value) }
}

pub unsafe fn mtx_init(mutex: *mut c_void, kind: c_int, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { mutex_call(Op::mtx_init, site, mutex).on_mutex_to_begin().init(|| real::mtx_init(mutex, kind)) }
}

pub unsafe fn mtx_destroy(mutex: *mut c_void, site: SiteId) {
    // SAFETY: as above.
    unsafe {
        mutex_call(Op::mtx_destroy, site, mutex).on_mutex_to_end().release(|| {
            real::mtx_destroy(mutex);
            SUCCESS
        });
    }
}

pub unsafe fn mtx_lock(mutex: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { mutex_call(Op::mtx_lock, site, mutex).lock(|| real::mtx_lock(mutex)) }
}

pub unsafe fn mtx_trylock(mutex: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { mutex_call(Op::mtx_trylock, site, mutex).lock(|| real::mtx_trylock(mutex)) }
}

pub unsafe fn mtx_timedlock(mutex: *mut c_void, deadline: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe {
        mutex_call(Op::mtx_timedlock, site, mutex)
            .until(libc::CLOCK_REALTIME, deadline)
            .acquire(|| real::mtx_timedlock(mutex, deadline))
    }
}

pub unsafe fn mtx_unlock(mutex: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    unsafe { mutex_call(Op::mtx_unlock, site, mutex).release(|| real::mtx_unlock(mutex)) }
}

pub unsafe fn cnd_init(cond: *mut c_void, site: SiteId) -> c_int {
    let call = Call::new(Op::cnd_init, site, cond).flags(cond_flags).result(to_errno, from_errno);
    // SAFETY: as above.
    unsafe { call.init(|| real::cnd_init(cond)) }
}

pub unsafe fn cnd_destroy(cond: *mut c_void, site: SiteId) {
    let call = Call::new(Op::cnd_destroy, site, cond).flags(cond_flags);
    // SAFETY: as above.
    unsafe {
        call.release(|| {
            real::cnd_destroy(cond);
            SUCCESS
        });
    }
}

pub unsafe fn cnd_wait(cond: *mut c_void, mutex: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    from_errno(unsafe { cond::wait(Op::cnd_wait, cond, mutex, Limit::None, site) })
}

pub unsafe fn cnd_timedwait(
    cond: *mut c_void,
    mutex: *mut c_void,
    deadline: *mut c_void,
    site: SiteId,
) -> c_int {
    // SAFETY: as above.
    from_errno(unsafe { cond::wait(Op::cnd_timedwait, cond, mutex, Limit::Deadline(deadline), site) })
}

pub unsafe fn cnd_signal(cond: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    from_errno(unsafe { cond::signal(Op::cnd_signal, cond, Wake::One, site) })
}

pub unsafe fn cnd_broadcast(cond: *mut c_void, site: SiteId) -> c_int {
    // SAFETY: as above.
    from_errno(unsafe { cond::signal(Op::cnd_broadcast, cond, Wake::All, site) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_go_there_and_back() {
        for returned in [SUCCESS, BUSY, ERROR, NOMEM, TIMEDOUT] {
            assert_eq!(from_errno(to_errno(returned)), returned);
        }
    }
}
