//! The engine: a thread of the process that answers controllers and changes what is installed.
//!
//! A pthread, so that glibc knows it (setuid must reach every thread), made by the runtime itself, with all signals blocked but
//! glibc's own. It never touches the program's heap. When it is the last thread, it ends, and with it the process, as
//! if it had not been there.
//!
//! It starts when the second thread becomes known, or with the first if an option says so.

use super::clients::Clients;
use super::filter::Filter;
use super::settings::Start;
use super::update::{InTheWay, Installed};
use super::{members, net, switches, SETTINGS};
use crate::{real, sys};
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use covsched_core::loom::abi::Unit;

/// Nothing to do.
const IDLE: u32 = 0;
/// The next thread that enters a function starts it.
const WANTED: u32 = 1;
/// It runs.
const RUNS: u32 = 2;
/// It could not be started, or has ended.
const OVER: u32 = 3;

static STATE: AtomicU32 = AtomicU32::new(IDLE);
/// The thread that began the process has ended.
static HAS_MAIN_ENDED: AtomicBool = AtomicBool::new(false);

/// The process was forked by one with an engine.
static IS_CHILD: AtomicBool = AtomicBool::new(false);
const CHILD_WAITS: u32 = 20_000_000;

/// What is the engine's alone; before it runs, of whoever installs the first filter.
struct Own(UnsafeCell<(Installed, Clients)>);

// SAFETY: only the engine touches it, and before it starts, the process's only thread.
unsafe impl Sync for Own {}

static OWN: Own = Own(UnsafeCell::new((Installed::new(), Clients::new())));

/// Starts the engine if it is wanted and does not run yet.
#[inline]
pub fn start_if_wanted() {
    if is_wanted() && super::is_complete() {
        start();
    }
}

/// Whether it is to start as soon as it can.
pub fn is_wanted() -> bool {
    STATE.load(Ordering::Relaxed) == WANTED
}

/// Whether there is an engine.
pub fn is_running() -> bool {
    STATE.load(Ordering::Relaxed) == RUNS
}

/// A thread has become known.
pub fn thread_begins(count: u32) {
    let is_wanted = match SETTINGS.start() {
        Start::Off => false,
        Start::On => true,
        Start::Automatic => count > 1,
    };
    if is_wanted {
        let _ = STATE.compare_exchange(IDLE, WANTED, Ordering::Relaxed, Ordering::Relaxed);
    }
}

#[cold]
fn start() {
    if STATE.compare_exchange(WANTED, RUNS, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    let errno = real::errno();
    // The new thread inherits the mask.
    let mask = sys::block_signals();
    let is_made = make_thread(STACK) || make_thread(0);
    sys::restore_signals(mask);
    real::set_errno(errno);
    if !is_made {
        STATE.store(OVER, Ordering::Relaxed);
        sys::write_error(&["covsched: loom: no thread for the engine; this process takes no filters\n"]);
    }
}

/// Enough for the engine; exit handlers run there if it happens to be the last thread.
const STACK: usize = 256 << 10;

/// Makes the thread; 0 is the default size.
fn make_thread(stack: usize) -> bool {
    // SAFETY: plain C data, initialized before use.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        if libc::pthread_attr_init(&mut attributes) != 0 {
            return false;
        }
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        let is_set = stack == 0 || libc::pthread_attr_setstacksize(&mut attributes, stack) == 0;
        let mut thread: libc::pthread_t = 0;
        let made = is_set && libc::pthread_create(&mut thread, &attributes, main, null_mut()) == 0;
        libc::pthread_attr_destroy(&mut attributes);
        made
    }
}

/// A thread that was a member has ended.
pub fn thread_ends(tid: u32) {
    if tid == sys::process_id() {
        HAS_MAIN_ENDED.store(true, Ordering::Relaxed);
    }
}

extern "C" fn main(_: *mut c_void) -> *mut c_void {
    net::let_glibc_signals_through();
    net::introduce_thread(b"covsched-loom\0");
    // SAFETY: this is the engine.
    let (installed, clients) = unsafe { &mut *OWN.0.get() };
    if IS_CHILD.load(Ordering::Relaxed) {
        // Most children become another program at once, and a socket would stay behind.
        sys::sleep_nanoseconds(CHILD_WAITS);
    }
    clients.open();
    let mut flips = SETTINGS.flip_seed().map(switches::Flips::new);
    let mut last_look = sys::monotonic_nanoseconds();
    loop {
        clients.serve(installed, pause_between(installed, flips.is_some()));
        expel(installed);
        if let Some(flips) = &mut flips {
            flips.flip(installed);
        }
        let now = sys::monotonic_nanoseconds();
        if now - last_look >= LOOK_EVERY
            || HAS_MAIN_ENDED.load(Ordering::Relaxed)
            || installed.retired_blocks() >= MANY_RETIRED
        {
            last_look = now;
            installed.collect();
            if net::is_last_thread() {
                break;
            }
        }
    }
    STATE.store(OVER, Ordering::Relaxed);
    clients.close();
    // Exit handlers run with signals as a program expects them.
    sys::unblock_signals();
    null_mut()
}

/// Nanoseconds between looks at what is idle.
const LOOK_EVERY: u64 = 500_000_000;

/// With so many blocks that updates left behind they are looked at sooner: however fast updates follow each other, memory does not pile up.
const MANY_RETIRED: usize = 64;

/// Milliseconds that the engine may sleep.
fn pause_between(installed: &Installed, is_flipping: bool) -> u64 {
    if is_flipping {
        1
    } else if HAS_MAIN_ENDED.load(Ordering::Relaxed) {
        10
    } else if installed.all().next().is_some() {
        50
    } else {
        1000
    }
}

/// Takes out filters that broke, and keeps their reports; of those, the newest.
fn expel(installed: &mut Installed) {
    const KEPT: usize = 16;
    let Some(filter) = installed.first_to_expel() else { return };
    let mut in_the_way = InTheWay::new();
    if installed.change(None, Some(filter), &mut in_the_way).is_ok_and(|outcome| outcome.is_done) {
        filter.is_expelled.store(true, Ordering::Relaxed);
        let mut expelled = installed.all().filter(|filter| filter.is_expelled.load(Ordering::Relaxed));
        if let Some(oldest) = expelled.nth(KEPT) {
            installed.drop_report(oldest);
        }
    }
}

/// Installs the filter of the option, before there are threads. False if there are some already, unless they have left what they were in: then
/// it is gone.
pub fn install_at_start(filter: &'static Filter) -> bool {
    if !members::all(members::is_outside) || STATE.load(Ordering::Acquire) >= RUNS {
        filter.discard();
        return false;
    }
    // SAFETY: no engine runs, and no other thread does what this one does: constructors.
    let installed = unsafe { &mut (*OWN.0.get()).0 };
    let is_done =
        installed.change(Some(filter), None, &mut InTheWay::new()).is_ok_and(|outcome| outcome.is_done);
    if !is_done {
        installed.drop_refused(filter);
    }
    is_done
}

/// A unit goes. In a round.
pub fn unload(unit: &'static Unit) {
    // SAFETY: what is looked at is atomic, and changes in rounds.
    unsafe { &(*OWN.0.get()).0 }.unload(unit);
}

/// After all exit handlers.
pub fn process_ends() {
    if STATE.load(Ordering::Acquire) == RUNS {
        // SAFETY: only the path is read, which the engine wrote before it listened.
        unsafe { (*OWN.0.get()).1.remove_file() };
    }
}

/// In a forked child: objects that others were about to use.
pub fn reset_filters() {
    // SAFETY: the child's only thread; rounds are complete.
    let (installed, _) = unsafe { &mut *OWN.0.get() };
    let survivor = members::known().map_or(0, |member| member.number());
    installed.all().for_each(|filter| filter.objects.after_fork_in_child(survivor));
}

/// In a forked child: an engine of its own, if the parent had one.
pub fn start_in_child() {
    HAS_MAIN_ENDED.store(false, Ordering::Relaxed);
    // SAFETY: the child's only thread.
    let (_, clients) = unsafe { &mut *OWN.0.get() };
    clients.after_fork_in_child();
    if STATE.load(Ordering::Relaxed) == RUNS {
        IS_CHILD.store(true, Ordering::Relaxed);
        STATE.store(WANTED, Ordering::Relaxed);
        start();
    }
}
