//! libstdc++'s out-of-line functions: recorded as the pthread calls that they stand for.
//!
//! `std::thread` holds a `pthread_t`; `std::condition_variable` is a `pthread_cond_t`; `std::unique_lock` begins
//! with a pointer to the mutex. A new thread gets its work as a C++ object with virtual functions
//! (`std::thread::_State`): it is given an object of ours, which runs and then deletes the original.

use crate::cond::{self, Limit, Wake};
use crate::gate::{self, Event};
use crate::hook::{cond_flags, Call};
use crate::log::{Own, Slot};
use crate::loom::birth;
use crate::thread::{self, Join};
use crate::threads::{self, current, Thread};
use crate::{delay, enforce, epoch, real};
use core::mem::offset_of;
use covsched_core::hooks::Op;
use covsched_core::plan::Step;
use covsched_core::SiteId;
use libc::{c_int, c_ulong, c_void};

/// Of an object, its only argument.
pub type Destroy = unsafe extern "C" fn(*mut c_void);

/// Virtual functions of `std::thread::_State`, in the order of the Itanium ABI.
#[repr(C)]
pub struct StateFunctions {
    /// The destructor.
    pub complete_destructor: Destroy,
    /// The same, and gives the memory back.
    pub deleting_destructor: Destroy,
    /// What the thread is to do.
    pub run: Destroy,
}

#[repr(C)]
pub struct StateVtable {
    /// 0.
    pub offset_to_top: isize,
    /// Without: 0.
    pub type_info: usize,
    /// What objects point to.
    pub functions: StateFunctions,
}

static VTABLE: StateVtable = StateVtable {
    offset_to_top: 0,
    type_info: 0,
    functions: StateFunctions { complete_destructor: destroy, deleting_destructor: destroy, run },
};

/// Stands for a `std::thread::_State`; part of the new thread's descriptor.
#[repr(C)]
pub struct StateProxy {
    vtable: Own<*const StateFunctions>,
    original: Own<*mut c_void>,
    has_run: Own<bool>,
    /// Its record, and its step in the plan.
    creation: Own<(Slot, Option<&'static Step>)>,
}

/// # Safety
/// `state` is a live `std::thread::_State`.
pub unsafe fn functions(state: *mut c_void) -> &'static StateFunctions {
    // SAFETY: its first word points to its virtual functions.
    unsafe { &**state.cast::<*const StateFunctions>() }
}

/// # Safety
/// `proxy` is the proxy of a descriptor.
unsafe fn thread_of(proxy: *mut c_void) -> &'static Thread {
    // SAFETY: by the contract.
    unsafe { &*proxy.cast::<u8>().sub(offset_of!(Thread, proxy)).cast::<Thread>() }
}

unsafe extern "C" fn run(proxy: *mut c_void) {
    // SAFETY: called by libstdc++, in the new thread, on what std_thread_start gave it.
    unsafe {
        let thread = thread_of(proxy);
        thread.proxy.has_run.set(true);
        threads::begin_created(thread);
        let original = thread.proxy.original.get();
        (functions(original).run)(original);
        // On the stack meanwhile: LeakSanitizer does not look into descriptors.
        core::hint::black_box(original);
    }
}

/// After the run, in the new thread; or, if the thread could not be made, in the one that wanted it.
unsafe extern "C" fn destroy(proxy: *mut c_void) {
    // SAFETY: called by libstdc++ on what std_thread_start gave it, once.
    unsafe {
        let thread = thread_of(proxy);
        let original = thread.proxy.original.get();
        let (has_run, (slot, step)) = (thread.proxy.has_run.get(), thread.proxy.creation.get());
        if !has_run {
            if let Some(creator) = current() {
                // The hook that wanted it was left by an exception.
                epoch::unwound(creator, 0);
                gate::returned(creator, slot, libc::EAGAIN);
                if let Some(step) = step {
                    let event = Event::new(Op::pthread_create, SiteId(step.site), 0).result(libc::EAGAIN);
                    enforce::done_with(creator, step, event);
                }
            }
            threads::not_created(thread);
        }
        (functions(original).deleting_destructor)(original);
    }
}

pub unsafe fn std_thread_start(
    this: *mut c_void,
    state: *mut c_void,
    depend: *mut c_void,
    original: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void),
    site: SiteId,
) {
    // SAFETY: the caller keeps the wrapped function's contract; so below.
    unsafe {
        let Some(creator) = current() else { return birth::std_thread_start(this, state, depend, original) };
        delay::point(creator);
        let number = threads::next_number();
        let event = Event::new(Op::pthread_create, site, 0).extra(u64::from(number));
        let step = enforce::arrive(creator, event);
        let (clock, slot) = gate::announced_alone(creator, event);
        let Some(child) = threads::prepare(creator, number, clock, true, step) else {
            crate::meta::note_lost_records();
            return birth::std_thread_start(this, state, depend, original);
        };
        let proxy = &child.proxy;
        proxy.vtable.set(&raw const VTABLE.functions);
        proxy.original.set(state.cast::<*mut c_void>().read());
        proxy.has_run.set(false);
        proxy.creation.set((slot, step));
        state.cast::<*const StateProxy>().write(proxy);
        // May throw: then who called us deletes the proxy.
        birth::std_thread_start(this, state, depend, original);
        creator.children.set(creator.children.get() + 1);
        threads::created(child, number, this.cast::<c_ulong>());
        gate::returned(creator, slot, 0);
        if let Some(step) = step {
            enforce::done_with(creator, step, event.result(0));
        }
        delay::point(creator);
    }
}

/// Does what the original does, if that succeeds; if not, the original is called for its exception.
unsafe fn end_of_handle(this: *mut c_void, original: Destroy, recorded: impl FnOnce(c_ulong) -> c_int) {
    // SAFETY: `this` is a std::thread.
    unsafe {
        let handle = this.cast::<c_ulong>();
        if recorded(handle.read()) == 0 {
            handle.write(0);
        } else {
            epoch::throws();
            original(this);
        }
    }
}

pub unsafe fn std_thread_join(this: *mut c_void, original: Destroy, site: SiteId) {
    let join = |pthread| {
        // SAFETY: a joinable std::thread holds a pthread_t.
        let real = || unsafe {
            if pthread == 0 {
                libc::EINVAL
            } else {
                real::pthread_join(pthread, core::ptr::null_mut())
            }
        };
        // SAFETY: as above.
        let slice = |milliseconds| match pthread {
            0 => Some(libc::EINVAL),
            _ => unsafe { thread::join_slice(pthread, core::ptr::null_mut(), milliseconds) },
        };
        let (op, deadline) = (Op::pthread_join, None);
        let (result, returns) = (|returned| returned, |result| result);
        thread::join(Join { op, site, pthread, deadline, real, slice, result, returns })
    };
    // SAFETY: as above.
    unsafe { end_of_handle(this, original, join) }
}

pub unsafe fn std_thread_detach(this: *mut c_void, original: Destroy, site: SiteId) {
    let detach = |pthread| {
        // SAFETY: a joinable std::thread holds a pthread_t.
        let real = || unsafe {
            if pthread == 0 {
                libc::EINVAL
            } else {
                real::pthread_detach(pthread)
            }
        };
        thread::notify(Op::pthread_detach, site, pthread, real, |returned| returned)
    };
    // SAFETY: as above.
    unsafe { end_of_handle(this, original, detach) }
}

pub unsafe fn std_cond_construct(this: *mut c_void, original: Destroy, site: SiteId) {
    let call = Call::new(Op::pthread_cond_init, site, this).flags(cond_flags);
    // SAFETY: as above.
    unsafe {
        call.init(|| {
            original(this);
            0
        });
    }
}

pub unsafe fn std_cond_destruct(this: *mut c_void, original: Destroy, site: SiteId) {
    let call = Call::new(Op::pthread_cond_destroy, site, this).flags(cond_flags);
    // SAFETY: as above.
    unsafe {
        call.release(|| {
            original(this);
            0
        });
    }
}

pub unsafe fn std_cond_wait(
    this: *mut c_void,
    lock: *mut c_void,
    _original: unsafe extern "C" fn(*mut c_void, *mut c_void),
    site: SiteId,
) {
    // SAFETY: as above; the lock's first word is the mutex. libstdc++ ignores the result too.
    unsafe { cond::wait(Op::pthread_cond_wait, this, lock.cast::<*mut c_void>().read(), Limit::None, site) };
}

pub unsafe fn std_cond_notify_one(this: *mut c_void, _original: Destroy, site: SiteId) {
    // SAFETY: as above.
    unsafe { cond::signal(Op::pthread_cond_signal, this, Wake::One, site) };
}

pub unsafe fn std_cond_notify_all(this: *mut c_void, _original: Destroy, site: SiteId) {
    // SAFETY: as above.
    unsafe { cond::signal(Op::pthread_cond_broadcast, this, Wake::All, site) };
}
