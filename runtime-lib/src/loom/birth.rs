//! Threads that are created, from before they exist to when they enter an instrumented function.
//!
//! An order is about what all threads have done and will do: one that was created before an update and has its event
//! before it counts, though it has not run yet (Wu 5.3.1 starts from the entries of thread functions; on a
//! loaded machine a thread gets there long after the call that creates it). So whoever creates one makes its record first
//! ([`members::expect`]), with the call's location; the new thread takes it over, and gives up the location when it
//! has entered its first instrumented function.
//!
//! Limit: threads that code without hooks creates are not known before they enter an instrumented function.

use super::members::{self, Member, OUTSIDE, SOMEWHERE};
use super::words;
use crate::cxx::{self, StateFunctions, StateVtable};
use crate::log::Own;
use crate::real;
use core::mem::{offset_of, transmute};
use core::sync::atomic::Ordering;
use covsched_core::loom::abi::{AT_RUNNING, AT_UNKNOWN};
use libc::{c_int, c_void};

/// What a new thread is to do; part of its record. For libstdc++ an object of the class `std::thread::_State`.
#[repr(C)]
pub struct Work {
    vtable: Own<*const StateFunctions>,
    /// The program's start function, or null; and its argument, or the program's object.
    start: Own<(*mut c_void, *mut c_void)>,
    has_run: Own<bool>,
}

static VTABLE: StateVtable = StateVtable {
    offset_to_top: 0,
    type_info: 0,
    functions: StateFunctions { complete_destructor: destroy, deleting_destructor: destroy, run },
};

/// The record of a thread that the calling one is about to create; `None` if that is of no interest, or without memory.
fn expect() -> Option<&'static Member> {
    let location = match words::at().load(Ordering::Relaxed) {
        AT_UNKNOWN => return None,
        AT_RUNNING => members::address_of(&SOMEWHERE),
        at if at == members::address_of(&OUTSIDE) => return None,
        at => at,
    };
    members::expect(location)
}

unsafe extern "C" fn begin(member: *mut c_void) -> *mut c_void {
    // SAFETY: a record that was made for this thread.
    let member = unsafe { &*member.cast::<Member>() };
    let (start, argument) = member.work.start.get();
    if !members::begin_expected(member) {
        members::put_away(member);
    }
    // SAFETY: what the program gave to whoever creates threads. In tail position: no frame of ours stays.
    unsafe { transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void) -> *mut c_void>(start)(argument) }
}

/// `real` gets a start function and its argument; 0 is success.
fn create(
    start: *mut c_void,
    argument: *mut c_void,
    real: impl FnOnce(*mut c_void, *mut c_void) -> c_int,
) -> c_int {
    let Some(member) = expect() else { return real(start, argument) };
    member.work.start.set((start, argument));
    let result = real(begin as *mut c_void, (member as *const Member).cast_mut().cast());
    if result != 0 {
        members::expect_no_longer(member);
    }
    result
}

/// # Safety
/// As the real one.
pub unsafe fn pthread_create(
    thread: *mut c_void,
    attr: *mut c_void,
    start: *mut c_void,
    arg: *mut c_void,
) -> c_int {
    // SAFETY: by the contract.
    create(start, arg, |start, arg| unsafe { real::pthread_create(thread, attr, start, arg) })
}

/// # Safety
/// As the real one. Its start functions return an int, in the same register.
pub unsafe fn thrd_create(thread: *mut c_void, start: *mut c_void, arg: *mut c_void) -> c_int {
    // SAFETY: by the contract; success is 0 here too.
    create(start, arg, |start, arg| unsafe { real::thrd_create(thread, start, arg) })
}

/// # Safety
/// `original` is libstdc++'s, with its arguments.
pub unsafe fn std_thread_start(
    this: *mut c_void,
    state: *mut c_void,
    depend: *mut c_void,
    original: unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void),
) {
    // SAFETY: by the contract: the second argument is where a unique_ptr of the state is.
    unsafe {
        if let Some(member) = expect() {
            let work = &member.work;
            work.vtable.set(&raw const VTABLE.functions);
            work.start.set((core::ptr::null_mut(), state.cast::<*mut c_void>().read()));
            work.has_run.set(false);
            state.cast::<*const Work>().write(work);
        }
        // May throw: then who called us deletes the object.
        original(this, state, depend);
    }
}

/// # Safety
/// Part of a record.
unsafe fn member_of(work: *mut c_void) -> &'static Member {
    // SAFETY: by the contract.
    unsafe { &*work.cast::<u8>().sub(offset_of!(Member, work)).cast::<Member>() }
}

unsafe extern "C" fn run(work: *mut c_void) {
    // SAFETY: called by libstdc++, in the new thread, on what std_thread_start gave it.
    unsafe {
        let member = member_of(work);
        let (_, original) = member.work.start.get();
        member.work.has_run.set(true);
        members::begin_expected(member);
        (cxx::functions(original).run)(original);
        // On the stack meanwhile: LeakSanitizer does not look into records.
        core::hint::black_box(original);
    }
}

/// After the run, in the new thread; or, if the thread could not be made, in the one that wanted it.
unsafe extern "C" fn destroy(work: *mut c_void) {
    // SAFETY: called by libstdc++ on what std_thread_start gave it, once.
    unsafe {
        let member = member_of(work);
        let (_, original) = member.work.start.get();
        if !member.work.has_run.get() {
            members::expect_no_longer(member);
        } else if !members::known().is_some_and(|own| core::ptr::eq(own, member)) {
            members::put_away(member);
        }
        (cxx::functions(original).deleting_destructor)(original);
    }
}
