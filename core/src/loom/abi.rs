//! What instrumented code and the runtime share.
//!
//! # Threads
//! Each thread has a word, [`AT`]: [`AT_UNKNOWN`] before its first instrumented function, [`AT_RUNNING`] while it runs
//! instrumented code, else the address of a *location byte*: the thread is released there (in a call that may block, or
//! paused) and an update need not wait for it. Only the thread itself writes the word.
//!
//! # Functions
//! Each function has a word, of which code looks at the first byte, 0 in normal operation: [`SWITCH_SLOW`] sends it to its slow path, [`SWITCH_WAIT`] says that
//! an update is under way, [`SWITCH_FENCES`] that the kernel has no `membarrier`. [`SWITCH_SLOW`] changes only while no thread is running (or in a test mode, while no
//! filter is installed); the slow path is always right, the fast path only while the bit is not set. The rest of the word says once more whether
//! one of the first two is set ([`switch_word`]): code on x86-64 asks that of it with one operation.
//!
//! # Locations
//! Where a thread can pause or be released: function entries, back edges, calls that may block, slots. Each has a byte in
//! its unit's array: [`LOCATION_SAFE`], or what makes it otherwise for the update that is under way.
//!
//! # Code
//! ```text
//! entry of a function that code outside may call:
//!     cmpq $1, %fs:covsched_loom_at ; jne F.outside     (tail call, all arguments in place) ; jmp F.in (the code, for code with loom)
//! entry, if it is a place to pause:                     entry, if not:
//!     testq %rsp, word(F) ; jne cold                        testq %rsp, word(F) ; jne slow
//! cold: call covsched_loom_check(location) ; jmp slow   (always right; the fast path would have to keep its arguments)
//! back edge, fast:   testq %rsp, word(F) ; jne cold     back edge, slow: cmpb $1, byte(F) ; jne cold
//! call that may block:
//!     movq $location, %fs:covsched_loom_at
//!     call read
//!     movq $1, %fs:covsched_loom_at
//!     cmpb $0, byte(F) ; jne cold                        cold: call covsched_loom_reacquire(location) ; testq %rsp, word(F) ; jne slow
//! the same on the slow path, and in functions without one:
//!     cmpb $0, covsched_loom_pending ; jne cold          cold: call covsched_loom_reacquire(location)
//! after a call in which the thread may have paused:
//!     testq %rsp, word(F) ; jne slow                     (which pauses, if that is what is wanted)
//! where an exception lands: as after a call that may block
//! a loop that does one of these in each iteration has no check on the fast path's back edge
//! a call of F on F's own fast path, followed by that test:
//!     call F.again                                       (the fast path alone: the word was tested on the way here)
//! slot, in the slow path only:
//!     call covsched_loom_slot(cell, frame)
//! ```
//! `F.outside` makes room for an [`Outer`], calls [`ENTER`], F and [`LEAVE`] (also when F unwinds), returns what F
//! returned. A call of a function G that may or may not be instrumented goes on the fast path to `G.in.HASH`, of which G's unit has a
//! definition, if it is instrumented, and the caller's a weak one. That, and other calls of such functions, store the contents of
//! a *call cell* instead of the location: the runtime sets that to [`AT_RUNNING`] when it finds the callee among the instrumented ones.
//!
//! [`CHECK`], [`REACQUIRE`] and [`SLOT`] keep every register (LLVM's `preserve_allcc` on x86-64).

use core::mem::size_of;

/// The thread's word: thread-local, initial-exec, 8 bytes, defined by the runtime.
pub const AT: &str = "covsched_loom_at";
/// A byte: not 0 if a thread that sets [`AT`] to [`AT_RUNNING`] must call [`REACQUIRE`] before it goes on.
pub const PENDING: &str = "covsched_loom_pending";
/// `void (ptr first_unit, ptr after_last_unit)`: from one constructor a linked object.
pub const REGISTER: &str = "covsched_loom_register";
/// `void (ptr first_unit, ptr after_last_unit)`: from its destructor, when it is unloaded or the process ends.
pub const UNREGISTER: &str = "covsched_loom_unregister";
/// `void (ptr location)`, preserve_all: at an entry or back edge.
pub const CHECK: &str = "covsched_loom_check";
/// `void (ptr location)`, preserve_all: after a call that may have blocked. [`AT`] is [`AT_RUNNING`] again.
pub const REACQUIRE: &str = "covsched_loom_reacquire";
/// `void (ptr cell, ptr frame)`, preserve_all: does what filters have for this slot. `frame`: the values of the
/// function's variables, 8 bytes each, as [`super::table::Variable::index`] numbers them; null if it keeps none.
pub const SLOT: &str = "covsched_loom_slot";
/// `void (ptr outer)`: code that runs while its thread is released, or is unknown, is entered.
pub const ENTER: &str = "covsched_loom_enter";
/// `void (ptr outer)`: as [`ENTER`], for a function that may be a signal handler: the thread may be anywhere, running too.
pub const HANDLER_ENTER: &str = "covsched_loom_handler_enter";
/// `void (ptr outer)`: the end of both.
pub const LEAVE: &str = "covsched_loom_leave";

/// The section of [`Unit`]s.
pub const UNITS_SECTION: &str = "covsched_loom_units";

/// [`AT`]: not known to the runtime.
pub const AT_UNKNOWN: usize = 0;
/// [`AT`]: runs instrumented code.
pub const AT_RUNNING: usize = 1;

/// A function's byte: take the slow path.
pub const SWITCH_SLOW: u8 = 1;
/// A function's byte: an update wants threads to pause. Set in all functions before [`PENDING`] says so, cleared before it no longer does.
pub const SWITCH_WAIT: u8 = 2;
/// A function's byte: there is no `membarrier`, so that whoever sets [`AT`] to [`AT_RUNNING`] must call [`REACQUIRE`]. Always set,
/// or never.
pub const SWITCH_FENCES: u8 = 4;

/// A function's word with this byte in it: all other bits are set if the function is slow or is to wait, and else none. The stack pointer, which
/// is never 0 and a multiple of 8, has a bit in common with it in the first case only.
pub const fn switch_word(byte: u8) -> u64 {
    let is_busy = byte & (SWITCH_SLOW | SWITCH_WAIT) != 0;
    byte as u64 | if is_busy { !7 } else { 0 }
}

/// A location's byte: a thread may stay here during the update.
pub const LOCATION_SAFE: u8 = 0;
/// A location's byte: it must go on first.
pub const LOCATION_UNSAFE: u8 = 1;
/// A location's byte: so must a thread that was created here and has not begun.
pub const LOCATION_UNSAFE_BIRTH: u8 = 2;
/// A location's byte: a thread here may hold a lock of the program, for which others may be waiting.
pub const LOCATION_HOLDS: u8 = 4;
/// A location's byte, with [`LOCATION_UNSAFE`]: a thread may stay here nevertheless, if no function that the plan names
/// ([`super::plan::Frame`]) has a frame on its stack.
pub const LOCATION_BY_CALLER: u8 = 8;
/// A location's byte: a thread that waits here may be waiting for a lock of the program.
pub const LOCATION_TAKES: u8 = 16;
/// What stays: it does not depend on filters, and is asked as long as a thread may run alone.
pub const LOCATION_LASTING: u8 = LOCATION_HOLDS | LOCATION_TAKES;
/// All of these.
pub const LOCATION_MARKS: u8 =
    LOCATION_UNSAFE | LOCATION_UNSAFE_BIRTH | LOCATION_BY_CALLER | LOCATION_LASTING;

/// Version of [`Unit`] and of all symbols above.
pub const VERSION: u32 = 2;

/// In the frame of `F.outside`: what the thread was at when F was called. A thread's are a list, innermost first, which
/// the engine reads while the thread is released: it is as unsafe as the least safe of them.
#[derive(Debug)]
#[repr(C)]
pub struct Outer {
    /// [`AT`] before.
    pub at: usize,
    /// The next one out.
    pub next: *const Outer,
}

/// A translation unit's descriptor, in [`UNITS_SECTION`]. All arrays are the unit's own.
#[derive(Debug)]
#[repr(C)]
pub struct Unit {
    /// [`VERSION`].
    pub version: u32,
    /// `size_of::<Unit>()`.
    pub size: u32,
    /// [`super::table`]'s hash of the unit's table: which build this is.
    pub hash: u64,
    /// One word a function: [`switch_word`].
    pub functions: *mut u64,
    /// One byte a location; those of slots come last.
    pub locations: *mut u8,
    /// One word a slot, null while no filter has anything there: the runtime's own.
    pub slots: *mut usize,
    /// Call cells: at first the address of the call's location.
    pub calls: *mut usize,
    /// For each call cell the hash of its callee's linkage name ([`name_hash`]).
    pub callees: *const u64,
    /// The hashes of the linkage names of functions that are defined here and seen from other units.
    pub defined: *const u64,
    /// How many functions.
    pub function_count: u32,
    /// How many locations, slots included.
    pub location_count: u32,
    /// How many slots.
    pub slot_count: u32,
    /// The first slot's location: slot i is at `slot_base + i`.
    pub slot_base: u32,
    /// How many call cells.
    pub call_count: u32,
    /// How many hashes in `defined`.
    pub defined_count: u32,
}

const _: () = assert!(size_of::<Unit>() == 88);
const _: () = assert!(size_of::<Outer>() == 16);

/// The hash of a linkage name in a [`Unit`].
pub fn name_hash(linkage_name: &str) -> u64 {
    crate::hash::Hasher::default().field(linkage_name).finish()
}
