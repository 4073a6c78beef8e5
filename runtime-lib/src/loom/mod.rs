//! Loom: execution filters in this process (Wu, Ch. 5). core's `loom::abi` says what instrumented code does; this is the rest.
//!
//! - [`words`], [`entry`]: the symbols that instrumented code uses
//! - [`protocol`]: pause and re-acquire; [`members`]: the threads; [`birth`]: those to come; [`units`]: what was compiled with loom
//! - [`slot`]: what filters do there: [`objects`] ([`latch`], [`fraction`], [`heir`]), [`holdings`], [`alone`], [`wait`], [`expression`]
//! - [`filter`]: a plan that was checked; [`update`]: evacuation and the change; [`block`]: memory of both; [`stack`], [`look`]: who called
//! - [`engine`]: the thread that does it; [`clients`], [`requests`], [`net`]: its socket
//! - [`settings`], [`switches`], [`fork`], [`pile`], [`report`]
//!
//! Nothing here needs the hooks' mode: a program without `COVSCHED_OPTIONS` is controlled too. A program without
//! loom's units never comes here.
//!
//! # Locks
//! In this order: `update::ROUND`, an object table's, the members', [`CONTROL`], the units'. All with signals blocked.

mod alone;
pub mod birth;
mod block;
mod clients;
mod engine;
mod entry;
mod expression;
mod filter;
mod fork;
mod fraction;
#[cfg(test)]
mod fraction_tests;
mod heir;
mod holdings;
mod latch;
#[cfg(test)]
mod latch_tests;
mod look;
mod members;
mod net;
mod objects;
mod pile;
mod protocol;
mod report;
mod requests;
pub mod settings;
mod slot;
mod stack;
mod switches;
mod units;
mod update;
mod wait;
mod words;

/// What [`protocol`], [`latch`], [`heir`] and [`fraction`] are made of; the model test has its own.
mod sync {
    pub use core::sync::atomic::{fence, AtomicU32, AtomicU64, AtomicU8, AtomicUsize, Ordering};
}

use crate::lock::Lock;
use crate::log::Own;
use crate::options::LoomOptions;
use crate::sys::SignalMask;
use crate::{meta, sys};
use core::ffi::{c_char, c_void, CStr};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU8, Ordering};
use covsched_core::loom::abi::{Unit, SWITCH_FENCES, SWITCH_SLOW};
use covsched_core::loom::plan;
use filter::Filter;
use members::Member;
use settings::Settings;

/// What all threads share.
struct Gate {
    generation: AtomicU32,
}

impl Gate {
    /// Nanoseconds, at most.
    fn sleep_for(&self, generation: u32, limit: u64) {
        // A wake-up, a signal or the limit: the caller looks again.
        let _ = sys::futex_wait_until(&self.generation, generation, sys::Deadline::After(limit / 1_000_000));
    }
}

/// The one gate.
static GATE: Gate = Gate { generation: AtomicU32::new(0) };

static SETTINGS: Settings = Settings::new();

impl protocol::Shared for Gate {
    fn pending(&self) -> &AtomicU8 {
        &words::PENDING
    }

    fn generation(&self) -> &AtomicU32 {
        &self.generation
    }

    fn sleep(&self, generation: u32) {
        self.sleep_for(generation, alone::watch());
    }

    fn wake(&self) {
        sys::futex_wake(&self.generation, i32::MAX as usize);
    }

    fn barrier(&self) {
        barrier();
    }
}

/// [`GATE`] for a thread that pauses: signals are blocked but while it sleeps. While it looks at its stack, and until its word says
/// where it is, no handler may run instrumented code: one without loom may come to it without being seen.
struct Quiet(SignalMask);

impl protocol::Shared for Quiet {
    fn pending(&self) -> &AtomicU8 {
        GATE.pending()
    }

    fn generation(&self) -> &AtomicU32 {
        GATE.generation()
    }

    fn sleep(&self, generation: u32) {
        // A handler may jump away, which must not be out of a look.
        let limit = alone::watch();
        sys::restore_signals(self.0);
        GATE.sleep_for(generation, limit);
        sys::block_signals();
    }

    fn wake(&self) {
        GATE.wake();
    }

    fn barrier(&self) {
        GATE.barrier();
    }
}

/// [`protocol::pause`], quietly.
fn pause(member: &Member, location: usize) {
    let quiet = Quiet(sys::block_signals());
    protocol::pause(&quiet, member, location);
    sys::restore_signals(quiet.0);
}

/// [`protocol::reacquire`], quietly if it is likely to pause.
fn return_from(member: &Member, location: usize) {
    if words::PENDING.load(Ordering::Relaxed) & protocol::PAUSE != 0 {
        let quiet = Quiet(sys::block_signals());
        protocol::reacquire(&quiet, member, location);
        sys::restore_signals(quiet.0);
    } else if protocol::comes_back(&GATE, member) {
        pause(member, location);
    }
}

/// The thread has been released at `location`, and wants to run: alone, if it did before.
fn reacquire(member: &Member, location: usize) {
    return_from(member, location);
    alone::gather_again(member, location);
}

/// Every running thread executes a full fence, unless each has its own.
fn barrier() {
    if words::PENDING.load(Ordering::Relaxed) & protocol::FENCES == 0 {
        sys::membarrier();
    }
}

/// Between looks at other threads: spins a little, then sleeps a little.
fn wait_a_little(looks: u32) {
    const SPINS: u32 = 20;
    if looks < SPINS {
        (0..32).for_each(|_| core::hint::spin_loop());
    } else {
        sys::sleep_nanoseconds(((looks - SPINS) * 2000).clamp(20_000, 100_000));
    }
}

/// Who may change the pending byte and the functions' "wait" bits.
static CONTROL: Lock = Lock::new();

/// Runs `body` alone among those who ask threads to pause.
fn with_control<R>(body: impl FnOnce() -> R) -> R {
    let mask = sys::block_signals();
    CONTROL.acquire();
    let result = body();
    CONTROL.release();
    sys::restore_signals(mask);
    result
}

/// A plan of the option `filter`, as mapped: installed when its units are there.
static FIRST_PLAN: Own<(*const u8, usize)> = Own::new((core::ptr::null(), 0));
/// The environment of the process.
static ENVIRONMENT: Own<*const *const c_char> = Own::new(core::ptr::null());

/// At the process's start, in all programs: where the environment is.
pub fn remember_environment(environment: *const *const c_char) {
    ENVIRONMENT.set(environment);
}

/// At the process's start: all functions stay on their slow paths, which alone have the markers of recordings.
pub fn stay_slow() {
    SETTINGS.want_slow();
    units::begin_with(SWITCH_SLOW);
}

/// At the process's start: options. What is wrong goes to `complain`.
pub fn configure(options: &LoomOptions<'_>, complain: impl Fn(&[&str])) {
    SETTINGS.set(options);
    if options.switch != settings::SwitchMode::Fast {
        // Flips are the engine's work.
        if options.switch == settings::SwitchMode::Slow {
            stay_slow();
        } else {
            SETTINGS.want_engine();
        }
    }
    let Some(file) = options.filter else { return };
    SETTINGS.want_engine();
    let mut path = meta::Path::EMPTY;
    path.push(file.as_bytes());
    match sys::map_file(path.zero_ended(), false) {
        Err(_) => complain(&["cannot read filter '", file, "'; running without it"]),
        Ok((bytes, length)) => {
            let head = length.min(plan::MAGIC.len());
            // SAFETY: a mapping of that length.
            if unsafe { core::slice::from_raw_parts(bytes, head) } == plan::MAGIC {
                return FIRST_PLAN.set((bytes, length));
            }
            sys::unmap(bytes, length);
            let advice = "' is no compiled filter: `covsched loom check FILTER APP -o FILE` makes one; running without it";
            complain(&["'", file, advice]);
        }
    }
}

/// Before the first unit registers.
fn start() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    with_control(|| {
        if STARTED.swap(true, Ordering::Relaxed) {
            return;
        }
        if !SETTINGS.has_membarrier() || !sys::register_membarrier() {
            units::begin_with(SWITCH_FENCES);
            words::PENDING.fetch_or(protocol::FENCES, Ordering::Release);
        }
        net::make_room();
        // Whoever starts a set-user-id program must not choose where it listens.
        if SETTINGS.folder().is_empty() && !crate::start::is_privileged_process(ENVIRONMENT.get()) {
            // SAFETY: the process's environment, which is as it was at its start.
            if let Some(folder) = unsafe { variable(b"XDG_RUNTIME_DIR=") } {
                SETTINGS.set_folder(&[folder, b"/covsched"]);
            }
        }
    });
}

/// The value of an environment variable.
///
/// # Safety
/// Before main.
unsafe fn variable(name: &[u8]) -> Option<&'static [u8]> {
    let mut at = ENVIRONMENT.get();
    // SAFETY: a null-ended array of zero-ended strings.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            if let Some(value) = CStr::from_ptr(*at).to_bytes().strip_prefix(name) {
                return Some(value).filter(|value| !value.is_empty());
            }
            at = at.add(1);
        }
    }
    None
}

/// The executable's own units have registered.
static ARE_OWN_HERE: AtomicBool = AtomicBool::new(false);

/// Where the executable's own units are; null if it has none.
fn own_units() -> *const Unit {
    sys::weak_address!("__start_covsched_loom_units", ".hidden").cast()
}

/// Whether all units are here that the process starts with. Constructors of shared objects come before those of the executable, and may
/// call its functions, such as a `malloc` of its own.
fn is_complete() -> bool {
    ARE_OWN_HERE.load(Ordering::Relaxed) || own_units().is_null()
}

/// Units have registered: the first filter's may be among them.
fn registered(first: *const Unit) {
    if first == own_units() {
        ARE_OWN_HERE.store(true, Ordering::Relaxed);
        if members::count() > 0 {
            // One that was registered before the C library's own handler comes after the destructors.
            watch_exit();
        }
    }
    let (bytes, length) = FIRST_PLAN.get();
    if bytes.is_null() {
        return;
    }
    // SAFETY: a mapping of that length.
    match Filter::new(unsafe { core::slice::from_raw_parts(bytes, length) }, SETTINGS.timeout()) {
        Ok(filter) => {
            if !engine::install_at_start(filter) {
                sys::write_error(&["covsched: loom: COVSCHED_OPTIONS: filter: a thread was there before it; running without it\n"]);
            }
        }
        // The other units may still come.
        Err(filter::OTHER_BUILD) => return,
        Err(text) => refuse_first(text),
    }
    forget_first();
}

/// The units in `first..after` go: filters that are about them end, and nothing of the units is touched any more.
fn unload(first: *const Unit, after: *const Unit) {
    // All objects say so at the end of the process, but stay, and threads may run there for a while.
    if IS_ENDING.load(Ordering::Acquire) {
        return;
    }
    let was_read = update::in_round(|| {
        units::unregister(first, after, |unit| {
            engine::unload(unit);
            let locations = unit.locations as usize;
            let locations = locations..locations + unit.location_count as usize;
            members::for_each(|member| member.forget_birth(locations.clone()));
        });
        block::retire()
    });
    // A thread in a slot elsewhere may be reading a variable of the object.
    let mut looks = 0;
    while block::oldest_reader() < was_read && looks < MOST_LOOKS {
        looks += 1;
        wait_a_little(looks);
    }
}

/// About half a second.
const MOST_LOOKS: u32 = 5000;

static IS_ENDING: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn __cxa_atexit(
        body: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        object: *mut c_void,
    ) -> libc::c_int;
}

/// With the first thread that becomes known, and with the executable's units, so that this handler comes before all destructors.
fn watch_exit() {
    unsafe extern "C" fn ends(_: *mut c_void) {
        IS_ENDING.store(true, Ordering::Release);
    }
    // SAFETY: a handler of the right type, of no object that could be unloaded.
    let _ = unsafe { __cxa_atexit(ends, core::ptr::null_mut(), core::ptr::null_mut()) };
}

fn forget_first() {
    let (bytes, length) = FIRST_PLAN.get();
    FIRST_PLAN.set((core::ptr::null(), 0));
    sys::unmap(bytes.cast_mut(), length);
}

fn refuse_first(text: &str) {
    sys::write_error(&["covsched: loom: COVSCHED_OPTIONS: filter: ", text, "; running without it\n"]);
}

/// A thread has become known: the how-manieth.
fn thread_begins(count: u32) {
    if !FIRST_PLAN.get().0.is_null() && is_complete() {
        refuse_first(filter::OTHER_BUILD);
        forget_first();
    }
    engine::thread_begins(count);
}

/// A thread ends, or has vanished: what it holds of filters is released.
fn thread_ends(member: &Member) {
    holdings::release_all(member);
    holdings::abandon(member);
    engine::thread_ends(member.tid());
}

/// After all exit handlers.
pub fn process_ends() {
    engine::process_ends();
}

/// How many threads of the process are the runtime's own.
pub fn own_threads() -> usize {
    engine::is_running().into()
}
