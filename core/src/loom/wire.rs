//! What controller and engine say to each other over a Unix socket: the controller asks, the engine answers each request
//! with one message. A message is a [`Head`] and `length` bytes; both sides come from one build, the version is there to
//! refuse a mix. Whatever comes, the engine answers [`REFUSED`] or closes the connection.
//!
//! The socket is `PID.sock` in a folder that belongs to the process's user alone, mode 0700: `$XDG_RUNTIME_DIR/covsched` if
//! that variable is set, else `/tmp/covsched-UID`; or what the option `loom-socket` names. Only the same user and root
//! are answered.

use crate::rawlog::Plain;
use core::mem::size_of;

/// Magic word of [`Head`].
pub const MAGIC: [u8; 4] = *b"CVLM";
/// Version of everything in this module.
pub const VERSION: u16 = 1;
/// The longest message: a plan and what comes with it.
pub const MAX_LENGTH: usize = super::plan::MAX_SIZE + 4096;

/// Head of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Head {
    /// [`MAGIC`].
    pub magic: [u8; 4],
    /// [`VERSION`].
    pub version: u16,
    /// One of the numbers below.
    pub kind: u16,
    /// Bytes that follow.
    pub length: u32,
}

/// Asks who this is; answered by [`PROCESS`].
pub const HELLO: u16 = 1;
/// A plan to install; answered by [`DONE`], [`NOT_DONE`] or [`REFUSED`].
pub const ADD: u16 = 2;
/// A filter's id (`u32`) to remove; answered likewise.
pub const REMOVE: u16 = 3;
/// A filter's id (`u32`), then 4 zero bytes, then the plan that takes its place; answered likewise.
pub const REPLACE: u16 = 4;
/// Asks for the filters; answered by [`FILTERS`].
pub const LIST: u16 = 5;
/// Asks for the threads; answered by [`THREADS`].
pub const WHERE: u16 = 6;

/// [`Process`], then one `u64` a unit: its hash.
pub const PROCESS: u16 = 65;
/// [`Outcome`].
pub const DONE: u16 = 66;
/// [`Outcome`], then [`ThreadAt`]s that stood in the way. The program is as it was.
pub const NOT_DONE: u16 = 67;
/// A text: why.
pub const REFUSED: u16 = 68;
/// [`FilterInfo`]s, each followed by its name, its source and its report, padded together to a multiple of 8.
pub const FILTERS: u16 = 69;
/// [`ThreadAt`]s.
pub const THREADS: u16 = 70;

/// Who answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Process {
    /// [`crate::ProgramId`] of the executable.
    pub program: u64,
    /// The process.
    pub pid: u32,
    /// How many threads it knows.
    pub threads: u32,
    /// How many units.
    pub units: u32,
    /// 1 if the kernel's membarrier is used, 0 if threads have fences instead.
    pub membarrier: u32,
}

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Outcome {
    /// The filter's id.
    pub filter: u32,
    /// How often threads were asked to pause.
    pub tries: u32,
    /// From the request's arrival to its end.
    pub nanoseconds: u64,
}

/// [`ThreadAt::state`]: in a call that may block.
pub const AT_CALL: u32 = 0;
/// [`ThreadAt::state`]: paused at a check.
pub const AT_CHECK: u32 = 1;
/// [`ThreadAt::state`]: waits at a slot for a filter's lock or semaphore.
pub const AT_SLOT: u32 = 2;
/// [`ThreadAt::state`]: runs; where is not known.
pub const AT_NOWHERE: u32 = 3;
/// [`ThreadAt::state`]: in a signal handler that interrupted it while it ran.
pub const AT_HANDLER: u32 = 4;
/// [`ThreadAt::state`]: in code that was not compiled with loom.
pub const AT_OUTSIDE: u32 = 5;
/// [`ThreadAt::state`]: was created there, and has not come to code that was compiled with loom.
pub const AT_BIRTH: u32 = 6;

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ThreadAt {
    /// Hash of the unit of the location; 0 if there is none.
    pub unit: u64,
    /// The location's number in the unit.
    pub location: u32,
    /// The kernel's id of the thread; 0 if it has not begun.
    pub thread: u32,
    /// One of the `AT_` numbers.
    pub state: u32,
    /// [`NOT_IN_THE_WAY`], or why it is.
    pub in_the_way: u32,
}

/// [`ThreadAt::in_the_way`]: it is at a safe place.
pub const NOT_IN_THE_WAY: u32 = 0;
/// [`ThreadAt::in_the_way`]: its location is not safe for the update, or it runs.
pub const IN_THE_WAY: u32 = 1;
/// [`ThreadAt::in_the_way`]: its location is not safe since what the filter is about called it: its stack says so.
pub const IN_THE_WAY_BY_CALLER: u32 = 2;
/// [`ThreadAt::in_the_way`]: its location is not safe if what the filter is about called it, and its stack could not be looked at.
pub const IN_THE_WAY_OF_UNKNOWN: u32 = 3;

/// [`FilterInfo::state`]: installed.
pub const FILTER_INSTALLED: u32 = 0;
/// [`FilterInfo::state`]: taken out by the engine: its report says why.
pub const FILTER_EXPELLED: u32 = 1;

/// How a report names a location, which the controller can translate: this and its number, ...
pub const REPORT_LOCATION: &str = "location ";
/// ... then this and the unit's hash, in 16 digits. A unit alone is named by this.
pub const REPORT_UNIT: &str = " of unit ";

/// A filter in the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct FilterInfo {
    /// Its id, from 1.
    pub id: u32,
    /// One of the `FILTER_` numbers.
    pub state: u32,
    /// Milliseconds since it was installed.
    pub age: u64,
    /// How often its operations ran.
    pub operations: u64,
    /// How often a thread had to wait.
    pub waits: u64,
    /// How many locks and semaphores it has now.
    pub objects: u32,
    /// Bytes of its name.
    pub name: u32,
    /// Bytes of its source.
    pub source: u32,
    /// Bytes of its report.
    pub report: u32,
}

const _: () = assert!(size_of::<Head>() == 12);
const _: () = assert!(size_of::<Process>() == 24);
const _: () = assert!(size_of::<Outcome>() == 16);
const _: () = assert!(size_of::<ThreadAt>() == 24);
const _: () = assert!(size_of::<FilterInfo>() == 48);
// SAFETY: repr(C), no padding (sizes pinned), integers only.
unsafe impl Plain for Head {}
// SAFETY: as above.
unsafe impl Plain for Process {}
// SAFETY: as above.
unsafe impl Plain for Outcome {}
// SAFETY: as above.
unsafe impl Plain for ThreadAt {}
// SAFETY: as above.
unsafe impl Plain for FilterInfo {}
