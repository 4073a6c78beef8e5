//! The three shapes of a plain hook: one that gets something, one that gives something up, one that begins an
//! object's life. What does not fit (condition variables, barriers, once, threads) is built from the gate.
//!
//! `returned` below is what the C function returned, `result` what a schedule says: 0 or the errno.

use crate::clock;
use crate::delay;
use crate::enforce::{self, turn, Turn};
use crate::epoch::{self, waiting};
use crate::exports::{is_barrier, is_recording};
use crate::gate::{self, Event};
use crate::log::Slot;
use crate::threads::{current, Thread};
use crate::{real, sys};
use core::sync::atomic::{AtomicUsize, Ordering};
use covsched_core::hooks::{Effect, ObjectClass, Op};
use covsched_core::plan::{Step, NONE};
use covsched_core::rawlog::{FLAG_ERRORCHECK, FLAG_RECURSIVE, FLAG_SHARED, RESULT_PENDING};
use covsched_core::{Clock, SiteId};
use libc::{c_int, c_void};

/// What a plain hook is about.
#[derive(Clone, Copy)]
pub struct Call {
    /// The operation.
    pub op: Op,
    /// Where.
    pub site: SiteId,
    /// On what.
    pub object: *mut c_void,
    /// [`Event::extra`].
    pub extra: u64,
    /// The object's flags, read while the object is sure to live.
    pub flags: unsafe fn(*mut c_void) -> u8,
    /// From what the function returned to a result.
    pub result: fn(c_int) -> c_int,
    /// And back.
    pub returns: fn(c_int) -> c_int,
    /// The clock and deadline of a timed operation.
    pub deadline: Option<(c_int, *mut c_void)>,
    /// Where objects of this kind have their last clock.
    keeper: Keeper,
}

/// Where an object has its last clock.
#[derive(Clone, Copy)]
struct Keeper {
    /// Reads it; also gets the time.
    last: unsafe fn(*mut c_void, u64) -> u64,
    publish: unsafe fn(*mut c_void, u64),
}

const IN_TABLE: Keeper = Keeper {
    last: |object, _| clock::last(object as usize),
    publish: |object, clock| clock::publish(object as usize, clock),
};
const IN_MUTEX: Keeper = Keeper { last: clock::last_of_mutex, publish: clock::publish_of_mutex };
/// What is done with a new mutex follows its begin, which follows what was in its place.
const BEGIN_OF_MUTEX: Keeper = Keeper {
    last: IN_TABLE.last,
    publish: |mutex, clock| {
        clock::publish(mutex as usize, clock);
        // SAFETY: as Keeper's users promise.
        unsafe { clock::publish_of_mutex(mutex, clock) };
    },
};
/// The end of a mutex follows what was done with it; what is made in its place follows the end.
const END_OF_MUTEX: Keeper = Keeper {
    // SAFETY: as Keeper's users promise.
    last: |mutex, time| unsafe { clock::last_of_mutex(mutex, time) }.max(clock::last(mutex as usize)),
    publish: IN_TABLE.publish,
};

impl Call {
    /// Of a function that returns its errno, on an object without flags.
    #[inline(always)]
    pub fn new(op: Op, site: SiteId, object: *mut c_void) -> Call {
        Call {
            op,
            site,
            object,
            extra: 0,
            flags: no_flags,
            result: |returned| returned,
            returns: |result| result,
            deadline: None,
            keeper: IN_TABLE,
        }
    }

    /// On a mutex.
    #[inline(always)]
    pub fn on_mutex(self) -> Call {
        Call { flags: mutex_flags, keeper: IN_MUTEX, ..self }
    }

    /// The begin of a mutex.
    #[inline(always)]
    pub fn on_mutex_to_begin(self) -> Call {
        Call { flags: mutex_flags, keeper: BEGIN_OF_MUTEX, ..self }
    }

    /// The end of a mutex.
    #[inline(always)]
    pub fn on_mutex_to_end(self) -> Call {
        Call { flags: mutex_flags, keeper: END_OF_MUTEX, ..self }
    }

    /// With flags.
    #[inline(always)]
    pub fn flags(self, flags: unsafe fn(*mut c_void) -> u8) -> Call {
        Call { flags, ..self }
    }

    /// Of a function that tells its result in another way: how to read it, and how to say it.
    #[inline(always)]
    pub fn result(self, result: fn(c_int) -> c_int, returns: fn(c_int) -> c_int) -> Call {
        Call { result, returns, ..self }
    }

    /// With a deadline by a clock.
    #[inline(always)]
    pub fn until(self, clock: c_int, deadline: *mut c_void) -> Call {
        Call { deadline: Some((clock, deadline)), ..self }
    }

    /// With an extra.
    #[inline(always)]
    pub fn extra(self, extra: u64) -> Call {
        Call { extra, ..self }
    }

    #[inline(always)]
    fn event(&self) -> Event {
        Event::new(self.op, self.site, self.object as usize).extra(self.extra)
    }

    /// Gets something: recorded when it has completed. It follows what was given up before, if it got it.
    ///
    /// # Safety
    /// The object is live, as `real` needs it too.
    #[inline(always)]
    pub unsafe fn acquire(self, real: impl Fn() -> c_int + Copy) -> c_int {
        // SAFETY: by the contract.
        unsafe { self.get(real, false) }
    }

    /// As [`Call::acquire`], for a lock that only threads of this process give up: if it had to wait, the one who
    /// gave it up says since when it is free. So the time is read before, not while the lock is held.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn lock(self, real: impl Fn() -> c_int + Copy) -> c_int {
        // SAFETY: by the contract.
        unsafe { self.get(real, true) }
    }

    #[inline(always)]
    unsafe fn get(self, real: impl Fn() -> c_int + Copy, is_given_up_here: bool) -> c_int {
        let Some(thread) = current() else { return real() };
        delay::point(thread);
        // SAFETY: the object is live, by the contract of acquire.
        unsafe {
            match self.acquire_in_turn(thread, real) {
                Taken::Returned(returned) => return returned,
                Taken::Vanishing => wait_to_vanish(),
                Taken::Freely => (),
            }
            let before = if is_given_up_here { gate::now() } else { 0 };
            let returned = if is_barrier() { self.get_in_epoch(thread, real) } else { real() };
            let result = (self.result)(returned);
            // An owner that died said nothing.
            let is_told = is_given_up_here && result != libc::EOWNERDEAD;
            self.record_acquired(thread, if is_told { before } else { gate::now() }, result);
            delay::point(thread);
            returned
        }
    }

    /// With `epochs=barrier`: waits in our own queue.
    #[cold]
    unsafe fn get_in_epoch(self, thread: &Thread, real: impl Fn() -> c_int + Copy) -> c_int {
        let want =
            waiting::Want { op: self.op, site: self.site, object: self.object, deadline: self.deadline };
        // SAFETY: the object is live, by the contract of acquire.
        unsafe { epoch::get(thread, want, real, self.returns) }
    }

    /// Does it as the plan says, if there is one.
    ///
    /// # Safety
    /// The object is live.
    #[inline(always)]
    unsafe fn acquire_in_turn(self, thread: &Thread, real: impl Fn() -> c_int + Copy) -> Taken {
        let step = match enforce::arrive_where_cancelled(thread, self.event()) {
            Turn::Step(step) => step,
            Turn::Free => return Taken::Freely,
            Turn::Vanishes => return Taken::Vanishing,
        };
        // SAFETY: by the contract.
        unsafe {
            let succeeds = step.result == 0 && self.op.effect() != Effect::Read;
            let result = if succeeds { attempt(self.op, self.object) } else { libc::EBUSY };
            let result = match result {
                libc::EBUSY | libc::EAGAIN => match self.outcome(thread, step, real) {
                    Some(result) => result,
                    None => return Taken::Freely,
                },
                result => result,
            };
            if is_recording() {
                self.record_step(thread, result);
            }
            enforce::done_with(thread, step, self.event().result(result));
            delay::point(thread);
            Taken::Returned((self.returns)(result))
        }
    }

    /// What comes of a step that is not simply done. `None` if the plan was left meanwhile.
    #[cold]
    #[inline(never)]
    unsafe fn outcome(self, thread: &Thread, step: &'static Step, real: impl Fn() -> c_int) -> Option<c_int> {
        // SAFETY: a live object of the operation's class, by the contract of acquire.
        unsafe {
            match step.result {
                _ if self.op.effect() == Effect::Read => Some((self.result)(real())),
                // It is free, unless somebody holds it who is not in the plan.
                0 | RESULT_PENDING | libc::EOWNERDEAD => {
                    wait_for_object(thread, self.op, self.object, self.deadline, step)
                }
                // What others did in the recorded run, and need not do now.
                libc::EBUSY | libc::EAGAIN => Some(step.result),
                // A signal came. One that another thread sends may be through already; others come when they come.
                libc::EINTR if enforce::is_signalled(thread) => Some(step.result),
                libc::EINTR => {
                    turn::wait_for_signal(thread, || enforce::has_units(self.object)).then_some(step.result)
                }
                libc::ETIMEDOUT => match self.deadline {
                    Some((clock, deadline)) if !turn::sleep_until(thread, clock, deadline) => None,
                    _ => Some(step.result),
                },
                _ => Some((self.result)(real())),
            }
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn record_step(self, thread: &Thread, result: c_int) {
        // SAFETY: the object is live, by the contract of acquire.
        unsafe { self.record_acquired(thread, gate::now(), result) };
    }

    #[inline(always)]
    unsafe fn record_acquired(self, thread: &Thread, time: u64, result: c_int) {
        if !is_recording() {
            return;
        }
        // A robust mutex whose owner died is held all the same.
        let got_it = result == 0 || result == libc::EOWNERDEAD;
        // SAFETY: the object is live, by the callers' contracts.
        let floor = if got_it { unsafe { (self.keeper.last)(self.object, time) } } else { 0 };
        // SAFETY: as above.
        let flags = unsafe { (self.flags)(self.object) };
        gate::completed_since(thread, time, Clock(floor), self.event().result(result).flags(flags));
    }

    /// Gives something up: recorded before it happens. The object may be gone when `real` returns.
    ///
    /// # Safety
    /// The object is live until then.
    #[inline(always)]
    pub unsafe fn release(self, real: impl FnOnce() -> c_int) -> c_int {
        let Some(thread) = current() else {
            let returned = real();
            self.tell_waiters();
            return returned;
        };
        delay::point(thread);
        let event = self.event();
        let step = enforce::arrive(thread, event);
        // SAFETY: by the contract.
        let slot = unsafe { self.record_released(thread) };
        // Who held it then may not hold it at this very moment.
        let is_busy =
            self.op.effect() == Effect::Destroy && step.is_some_and(|step| step.result == libc::EBUSY);
        let returned = if is_busy { (self.returns)(libc::EBUSY) } else { real() };
        self.tell_waiters();
        gate::returned(thread, slot, (self.result)(returned));
        if let Some(step) = step {
            if self.op.effect() == Effect::Destroy && (self.result)(returned) == 0 {
                enforce::object_ended(step);
            }
            enforce::done_with(thread, step, event.result((self.result)(returned)));
        }
        delay::point(thread);
        returned
    }

    /// Who waits in our own queue for what has been given up may have it now.
    #[inline(always)]
    fn tell_waiters(&self) {
        if self.op.effect() == Effect::Release {
            waiting::released(self.op, self.object);
        }
    }

    #[inline(always)]
    unsafe fn record_released(self, thread: &Thread) -> Slot {
        if !is_recording() {
            return Slot::NONE;
        }
        // SAFETY: the object is live, by the contract of release.
        unsafe {
            let (time, flags) = (clock::now(), (self.flags)(self.object));
            let floor = (self.keeper.last)(self.object, time);
            let publish = |clock| (self.keeper.publish)(self.object, clock);
            gate::ordered_since(thread, time, Clock(floor), self.event().flags(flags), publish).1
        }
    }

    /// Begins an object's life. Nobody else can use it before, so it is recorded after: then its flags
    /// are known.
    ///
    /// # Safety
    /// The object is live if `real` returns 0.
    #[inline(always)]
    pub unsafe fn init(self, real: impl FnOnce() -> c_int) -> c_int {
        let Some(thread) = current() else { return real() };
        delay::point(thread);
        let step = enforce::arrive(thread, self.event());
        let returned = real();
        let result = (self.result)(returned);
        // SAFETY: by the contract.
        let flags = if result == 0 { unsafe { (self.flags)(self.object) } } else { 0 };
        let event = self.event().result(result).flags(flags);
        // SAFETY: an object that was not made is not touched: its clock goes to the table.
        unsafe {
            let keeper = if result == 0 { self.keeper } else { IN_TABLE };
            let time = clock::now();
            let floor = (keeper.last)(self.object, time);
            let publish = |clock| (keeper.publish)(self.object, clock);
            gate::ordered_since(thread, time, Clock(floor), event, publish);
        }
        if let Some(step) = step {
            enforce::done_with(thread, step, event);
        }
        delay::point(thread);
        returned
    }
}

/// Tries to get an object, by the kind of operation: 0, EOWNERDEAD, EBUSY or EAGAIN, or another error.
///
/// # Safety
/// A live object of that operation's class.
#[inline(always)]
pub unsafe fn attempt(op: Op, object: *mut c_void) -> c_int {
    // SAFETY: by the contract.
    unsafe {
        match (op.class(), op.effect()) {
            (ObjectClass::Semaphore, _) => {
                let errno = real::errno();
                let result = real::errno_result(real::sem_trywait(object));
                real::set_errno(errno);
                result
            }
            (ObjectClass::Spin, _) => real::pthread_spin_trylock(object),
            (
                ObjectClass::Rwlock,
                Effect::AcquireShared | Effect::TryAcquireShared | Effect::TimedAcquireShared,
            ) => real::pthread_rwlock_tryrdlock(object),
            (ObjectClass::Rwlock, _) => real::pthread_rwlock_trywrlock(object),
            _ => real::pthread_mutex_trylock(object),
        }
    }
}

/// Gets an object that is not free although its turn has come: somebody without hooks has it, or another process,
/// or two objects of the plan are one. `None` if the plan was left meanwhile.
///
/// # Safety
/// As [`attempt`].
#[cold]
#[inline(never)]
pub unsafe fn wait_for_object(
    thread: &Thread,
    op: Op,
    object: *mut c_void,
    deadline: Option<(c_int, *mut c_void)>,
    step: &'static Step,
) -> Option<c_int> {
    // SAFETY: by the contract; so below.
    let slice = |milliseconds| unsafe { wait_a_slice(op, object, milliseconds) };
    // glibc writes who holds a mutex (`__owner`), and who writes under an rwlock (`__cur_writer`).
    let holder = || match op.class() {
        _ if enforce::is_shared(step) => NONE,
        ObjectClass::Mutex => enforce::thread_with(unsafe { word(object, 8) }),
        ObjectClass::Rwlock => enforce::thread_with(unsafe { word(object, 24) }),
        _ => NONE,
    };
    let is_try = matches!(op.effect(), Effect::TryAcquire | Effect::TryAcquireShared);
    let busy = if op.class() == ObjectClass::Semaphore { libc::EAGAIN } else { libc::EBUSY };
    let gives_up = || match deadline {
        // SAFETY: the program's deadline.
        Some((clock, at)) if unsafe { sys::is_past(clock, at.cast()) } => Some(libc::ETIMEDOUT),
        None if is_try && holder() == NONE => Some(busy),
        _ => None,
    };
    turn::wait_outside(thread, slice, holder, gives_up)
}

/// Waits for an object for up to so many milliseconds; `None` if it is not to be had. Not a cancellation point: in the
/// plan it is got.
///
/// # Safety
/// As [`attempt`].
unsafe fn wait_a_slice(op: Op, object: *mut c_void, milliseconds: u64) -> Option<c_int> {
    let mut until = sys::realtime_in(milliseconds);
    let until = (&raw mut until).cast::<c_void>();
    // SAFETY: by the contract.
    let result = unsafe {
        match (op.class(), op.effect()) {
            (ObjectClass::Semaphore, _) => {
                let (errno, mut state) = (real::errno(), 0);
                pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut state);
                let result = real::errno_result(real::sem_timedwait(object, until));
                pthread_setcancelstate(state, core::ptr::null_mut());
                real::set_errno(errno);
                result
            }
            (ObjectClass::Spin, _) => {
                sys::sleep_nanoseconds(100_000);
                real::pthread_spin_trylock(object)
            }
            (
                ObjectClass::Rwlock,
                Effect::AcquireShared | Effect::TryAcquireShared | Effect::TimedAcquireShared,
            ) => real::pthread_rwlock_timedrdlock(object, until),
            (ObjectClass::Rwlock, _) => real::pthread_rwlock_timedwrlock(object, until),
            _ => real::pthread_mutex_timedlock(object, until),
        }
    };
    Some(result).filter(|&result| !matches!(result, libc::ETIMEDOUT | libc::EINTR | libc::EBUSY))
}

unsafe extern "C" {
    pub fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
    pub fn pthread_testcancel();
}

/// `<pthread.h>`.
pub const PTHREAD_CANCEL_DISABLE: c_int = 1;

/// Waits to be cancelled, without taking what another thread gets in the plan; or until there is no plan any more.
fn wait_to_vanish() {
    // SAFETY: zeros are a semaphore of value 0, which nobody posts.
    let mut never: libc::sem_t = unsafe { core::mem::zeroed() };
    let errno = real::errno();
    while !enforce::is_free() {
        let mut until = sys::realtime_in(100);
        // SAFETY: a semaphore and a time of ours. A cancellation point.
        unsafe { real::sem_timedwait((&raw mut never).cast(), (&raw mut until).cast()) };
    }
    real::set_errno(errno);
}

/// What came of an acquisition under a plan.
enum Taken {
    /// It was a step, and returned this.
    Returned(c_int),
    /// There is no plan: it has not been tried.
    Freely,
    /// Likewise; but in the plan the thread is cancelled in it.
    Vanishing,
}

unsafe fn no_flags(_: *mut c_void) -> u8 {
    0
}

/// # Safety
/// `object` is at least `offset + 4` bytes.
#[inline(always)]
pub unsafe fn word(object: *mut c_void, offset: usize) -> u32 {
    // SAFETY: by the contract; glibc's other threads may write it, so volatile.
    unsafe { object.cast::<u8>().add(offset).cast::<u32>().read_volatile() }
}

/// Flags of glibc's mutexes: `__kind`.
///
/// # Safety
/// A live mutex.
#[inline(always)]
pub unsafe fn mutex_flags(mutex: *mut c_void) -> u8 {
    // SAFETY: by the contract.
    let kind = unsafe { word(mutex, 16) };
    let own = match kind & 3 {
        1 => FLAG_RECURSIVE,
        2 => FLAG_ERRORCHECK,
        _ => 0,
    };
    own | if kind & 128 != 0 { FLAG_SHARED } else { 0 }
}

/// Where `__wrefs` is in glibc's condition variables: at 36, from version 2.41 at 28.
static COND_WORD: AtomicUsize = AtomicUsize::new(36);

fn cond_word() -> usize {
    COND_WORD.load(Ordering::Relaxed)
}

/// Looks where this glibc has what the hooks read. At start.
pub fn start() {
    // SAFETY: attributes and a condition variable of our own; zeros are valid for both.
    unsafe {
        let mut attributes: libc::pthread_condattr_t = core::mem::zeroed();
        let mut cond: libc::pthread_cond_t = core::mem::zeroed();
        libc::pthread_condattr_init(&mut attributes);
        libc::pthread_condattr_setpshared(&mut attributes, libc::PTHREAD_PROCESS_SHARED);
        libc::pthread_cond_init(&mut cond, &attributes);
        let cond = (&raw mut cond).cast::<c_void>();
        if word(cond, 28) & 1 != 0 && word(cond, 36) & 1 == 0 {
            COND_WORD.store(28, Ordering::Relaxed);
        }
    }
}

/// Flags of glibc's condition variables: bit 0 of `__wrefs`.
///
/// # Safety
/// A live condition variable.
#[inline(always)]
pub unsafe fn cond_flags(cond: *mut c_void) -> u8 {
    // SAFETY: by the contract.
    if unsafe { word(cond, cond_word()) } & 1 != 0 {
        FLAG_SHARED
    } else {
        0
    }
}

/// The clock of a condition variable's deadlines: bit 1 of `__wrefs`.
///
/// # Safety
/// A live condition variable.
pub unsafe fn cond_clock(cond: *mut c_void) -> c_int {
    // SAFETY: by the contract.
    if unsafe { word(cond, cond_word()) } & 2 != 0 {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

/// Flags of glibc's barriers: `shared`.
///
/// # Safety
/// A live barrier.
#[inline(always)]
pub unsafe fn barrier_flags(barrier: *mut c_void) -> u8 {
    // SAFETY: by the contract.
    if unsafe { word(barrier, 12) } != 0 {
        FLAG_SHARED
    } else {
        0
    }
}

/// How many threads a glibc barrier is for.
///
/// # Safety
/// A live barrier.
pub unsafe fn barrier_count(barrier: *mut c_void) -> u32 {
    // SAFETY: by the contract.
    unsafe { word(barrier, 8) }
}

/// Flags of glibc's rwlocks: `__shared`.
///
/// # Safety
/// A live rwlock.
#[inline(always)]
pub unsafe fn rwlock_flags(rwlock: *mut c_void) -> u8 {
    // SAFETY: by the contract.
    if unsafe { word(rwlock, 28) } != 0 {
        FLAG_SHARED
    } else {
        0
    }
}

/// Flags of glibc's semaphores: `private`, which is nonzero if shared.
///
/// # Safety
/// A live semaphore.
#[inline(always)]
pub unsafe fn sem_flags(sem: *mut c_void) -> u8 {
    // SAFETY: by the contract.
    if unsafe { word(sem, 8) } != 0 {
        FLAG_SHARED
    } else {
        0
    }
}
