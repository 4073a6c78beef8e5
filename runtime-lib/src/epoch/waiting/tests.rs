//! The queues from inside: woken, not woken, too late.

use super::*;
use std::cell::UnsafeCell;
use std::time::{Duration, Instant};

struct Object(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex.
unsafe impl Sync for Object {}

impl Object {
    const fn new() -> Object {
        Object(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    fn want(&self) -> Want {
        let object = self.0.get().cast();
        Want { op: Op::pthread_mutex_lock, site: SiteId(1), object, deadline: None }
    }

    fn wait(&self, deadline: Option<(c_int, *mut c_void)>) -> c_int {
        // SAFETY: zeros are a descriptor of a thread that takes no part, as in a new slab; the mutex lives.
        unsafe {
            let thread = Box::new(core::mem::zeroed::<Thread>());
            wait(&thread, Want { deadline, ..self.want() })
        }
    }

    fn waiters(&self) -> u32 {
        place(Op::pthread_mutex_lock, self.0.get() as usize).waiters.load(Ordering::SeqCst)
    }
}

#[test]
fn who_waits_gets_it_from_who_gives_it_up_or_finds_it_free() {
    static MUTEX: Object = Object::new();
    for is_told in [true, false] {
        // SAFETY: a live mutex, locked and unlocked by this thread.
        assert_eq!(unsafe { libc::pthread_mutex_lock(MUTEX.0.get()) }, 0);
        let waiter = std::thread::spawn(|| {
            assert_eq!(MUTEX.wait(None), 0);
            // SAFETY: held now.
            assert_eq!(unsafe { libc::pthread_mutex_unlock(MUTEX.0.get()) }, 0);
        });
        while MUTEX.waiters() == 0 {
            std::thread::yield_now();
        }
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(MUTEX.0.get()) }, 0);
        if is_told {
            let object = MUTEX.0.get() as usize;
            wake(place(Op::pthread_mutex_lock, object), Op::pthread_mutex_unlock, object);
        }
        waiter.join().unwrap();
        assert_eq!(MUTEX.waiters(), 0);
    }
}

#[test]
fn a_deadline_ends_the_wait_and_is_not_early() {
    static MUTEX: Object = Object::new();
    // SAFETY: a live mutex.
    assert_eq!(unsafe { libc::pthread_mutex_lock(MUTEX.0.get()) }, 0);
    for milliseconds in [2, 25] {
        let (start, clock) = (Instant::now(), libc::CLOCK_MONOTONIC);
        let mut at = sys::time_in(clock, milliseconds);
        let result = MUTEX.wait(Some((clock, (&raw mut at).cast())));
        assert_eq!(result, libc::ETIMEDOUT);
        assert!(start.elapsed() >= Duration::from_millis(milliseconds));
        assert_eq!(MUTEX.waiters(), 0);
    }
}

#[test]
fn what_glibc_refuses_is_not_waited_for() {
    let mutex = Object::new();
    let mut at = timespec { tv_sec: 1, tv_nsec: -1 };
    let mut refused = |clock, nanoseconds| {
        at.tv_nsec = nanoseconds;
        let deadline = Some((clock, (&raw mut at).cast()));
        // SAFETY: a live mutex and a timespec.
        unsafe { is_refused(&Want { deadline, ..mutex.want() }) }
    };
    assert!(refused(libc::CLOCK_REALTIME, -1));
    assert!(refused(libc::CLOCK_REALTIME, 1_000_000_000));
    assert!(refused(77, 0));
    assert!(!refused(libc::CLOCK_MONOTONIC, 0));
}
