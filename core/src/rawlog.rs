//! What the runtime writes while it records: plain memory, mapped shared, so that nothing written is lost
//! however the process ends. `covsched record` turns it into a schedule; nothing else reads it, and both
//! sides come from one build, so the version is only there to refuse a mix.
//!
//! # Files
//! A recording is a folder. Each process writes
//! - `P.meta`: a [`MetaHeader`], then entries, each an [`EntryHeader`], its bytes, and zeros up to a multiple
//!   of 8. The header is mapped shared (its `state` is the last word on how the process ended); entries are
//!   appended with `write`, each with one call.
//! - `P.tN`: a [`LogHeader`], then words ([`words`]) that tell whose events follow and what they are. A log
//!   belongs to one thread at a time; a thread that begins may go on in the log of one that has ended.
//!
//! `P` is the process id, a dash and a number from 0 that tells images of one process (exec) apart.
//!
//! # The order
//! Each record carries a clock; sorting by (clock, thread, place in the thread) gives the total order. The
//! clock is a hybrid logical clock (Kulkarni et al., 2014): the larger of the processor's time stamp counter
//! and one more than every clock that the event must follow, namely the thread's own last and the object's
//! last, which is kept in the object (mutexes) or in a hashed table. So the order of an object's events is legal even
//! where the counters of two processors disagree, it is the order of real time where they agree, and no cache
//! line is shared by threads that do not share an object. What was made anew in the same memory without an init
//! (`std::mutex`) is told from its predecessor by real time alone.
//!
//! Derived records ([`crate::hooks::Op::derived`]) have no moment of their own: they carry the clock of the
//! true synchronization that they precede in their thread.

pub mod words;

/// Magic word of [`MetaHeader`].
pub const META_MAGIC: [u8; 8] = *b"CVMETA\0\0";
/// Magic word of [`LogHeader`].
pub const LOG_MAGIC: [u8; 8] = *b"CVLOG\0\0\0";
/// Version of everything in this module.
pub const VERSION: u32 = 2;

/// [`MetaHeader::record_size`].
pub const RECORD_SIZE: u32 = 8 * words::LONGEST as u32;

/// The process is running, or was killed, or ended in a way that no hook saw.
pub const STATE_RUNNING: u32 = 0;
/// The process ended by exit, by return from main, or by the end of its last thread.
pub const STATE_COMPLETE: u32 = 1;

/// Set in [`MetaHeader::lost`] when a record could not be written (no space, no memory).
pub const LOST_RECORDS: u32 = 1;

/// "No thread" in [`words::Item::Thread`] and [`Record::extra`].
pub const NO_THREAD: u32 = u32::MAX;

/// Head of `P.meta`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MetaHeader {
    /// [`META_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of the longest record, [`RECORD_SIZE`].
    pub record_size: u32,
    /// The process.
    pub pid: u32,
    /// The process that forked it while recording, or 0.
    pub forked_from: u32,
    /// In a forked child, the number, in the parent, of the thread that forked.
    pub forking_thread: u32,
    /// [`STATE_RUNNING`] or [`STATE_COMPLETE`].
    pub state: u32,
    /// What was lost, [`LOST_RECORDS`].
    pub lost: u32,
    /// The exit status given to exit, where known.
    pub status: i32,
    /// [`crate::ProgramId`] of the program.
    pub program: u64,
    /// The clock when the recording began.
    pub started: u64,
}

/// Head of an entry of `P.meta`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct EntryHeader {
    /// One of the `ENTRY_` numbers.
    pub kind: u32,
    /// Bytes that follow, without padding.
    pub len: u32,
}

/// The command line as in `/proc/self/cmdline`: arguments, each ended by a zero byte.
pub const ENTRY_COMMAND: u32 = 1;
/// A linked object that registered: its load bias (8 bytes, native order), then its path.
pub const ENTRY_OBJECT: u32 = 2;
/// The site tables of the object named by the entry before, as they stand in its section.
pub const ENTRY_SITES: u32 = 3;

/// Head of `P.tN`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct LogHeader {
    /// [`LOG_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// `N`: the number of the first thread that wrote here.
    pub log: u32,
}

/// When in an operation a record was made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Phase {
    /// The only moment that orders something.
    Both = 0,
    /// The first of two.
    Begin = 1,
    /// The second of two.
    End = 2,
}

/// The result is not known: the process ended inside the call.
pub const RESULT_PENDING: i32 = i32::MIN;

/// Set in [`Record::flags`] of a mutex operation: the mutex is recursive.
pub const FLAG_RECURSIVE: u8 = 1;
/// Set in [`Record::flags`] of a mutex operation: the mutex is error-checking.
pub const FLAG_ERRORCHECK: u8 = 2;
/// Set in [`Record::flags`]: the object is shared with other processes, whose operations are not seen.
pub const FLAG_SHARED: u8 = 4;
/// Set in [`Record::flags`] of a condition wait's end: cancelled, or otherwise unwound.
pub const FLAG_UNWOUND: u8 = 8;

/// One event; [`words`] says how it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Record {
    /// The place in the total order; never 0.
    pub clock: u64,
    /// [`crate::SiteId`]; 0 in code without hooks.
    pub site: u64,
    /// The object's address; 0 if none.
    pub object: u64,
    /// By effect: the mutex of a wait's begin; the clock of the signal that ended a wait (0: none did, the
    /// wake-up was spurious or a timeout); the count of a barrier's or semaphore's init; the thread made,
    /// joined, detached or notified ([`NO_THREAD`] if unknown). An epoch marker: the markers that its thread passed
    /// by since the one before, in the low half those of too short an epoch, in the high half those for balance;
    /// its `object` is the hash of the call stack, its `result` the instructions since the marker before (0 if they are
    /// not counted, at most `i32::MAX`). An epoch's start: its number, from 1; its `object` is the epoch's id.
    pub extra: u64,
    /// 0, the errno, `PTHREAD_BARRIER_SERIAL_THREAD` (-1), the exit status, or [`RESULT_PENDING`].
    pub result: i32,
    /// [`crate::hooks::Op`] by number.
    pub op: u8,
    /// [`Phase`].
    pub phase: u8,
    /// The `FLAG_` bits.
    pub flags: u8,
    /// How many calls that may synchronize the thread was in, modulo 128: a derived record's own call not among them.
    pub depth: u8,
}

/// [`Record::depth`] of so many calls.
#[inline(always)]
pub const fn depth_byte(depth: u32) -> u8 {
    (depth % DEPTHS) as u8
}

/// What [`Record::depth`] is counted modulo.
pub const DEPTHS: u32 = 128;

// The layout is shared by two programs: pin it.
const _: () = assert!(core::mem::size_of::<MetaHeader>() == 56);
const _: () = assert!(core::mem::size_of::<LogHeader>() == 16);
const _: () = assert!(core::mem::size_of::<Record>() == 40);

/// A header or record that any bytes are valid for.
///
/// # Safety
/// `Self` is `repr(C)`, has no padding, and every bit pattern is a value.
pub unsafe trait Plain: Copy {
    /// The bytes of `self`.
    fn as_bytes(&self) -> &[u8] {
        // SAFETY: no padding, by the trait's contract; the lifetime is that of self.
        unsafe { core::slice::from_raw_parts((self as *const Self).cast(), core::mem::size_of::<Self>()) }
    }

    /// Reads one from the front of `bytes`, or `None` if there are too few.
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..core::mem::size_of::<Self>())?;
        // SAFETY: long enough, every bit pattern is a value, and the read is unaligned.
        Some(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() })
    }
}

// SAFETY: repr(C), sizes pinned above to the sum of their fields, integers only.
unsafe impl Plain for MetaHeader {}
// SAFETY: as above.
unsafe impl Plain for EntryHeader {}
// SAFETY: as above.
unsafe impl Plain for LogHeader {}
// SAFETY: as above.
unsafe impl Plain for Record {}
