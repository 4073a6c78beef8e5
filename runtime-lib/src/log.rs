//! Logs: the files `P.tN`, written through windows that are mapped shared, so that every record is the
//! kernel's as soon as it is written. core's `rawlog::words` says what a log looks like.
//!
//! A log belongs to a thread's descriptor, and stays with it: a descriptor's next thread goes on where the last
//! one ended, so that a server with a thread a connection does not make a file a connection.
//!
//! The file gets real space (fallocate) before it is mapped: a full disk is an error that sets `lost`, never a
//! SIGBUS in the program. Windows start small, for short threads, and double.
//!
//! # Signal handlers
//! A handler on the same thread may write records between any two instructions here. So words are reserved
//! with one instruction (`xadd` without `lock`: other threads have no business here), and whoever used
//! the window checks afterwards that it was not exchanged meanwhile: [`Log::generation`]. Words reserved in
//! a window that is no longer current stay a hole, which readers skip. A handler's exchange keeps the old
//! window mapped ([`Log::retired`]), since the interrupted code may be about to write there. A handler that
//! interrupted a writer leaves the dictionary alone.

use crate::meta::{self, Path};
use crate::sys;
use core::cell::UnsafeCell;
use core::mem::size_of;
use core::ptr::{null_mut, read_volatile, write_volatile};
use core::sync::atomic::{compiler_fence, AtomicU64, AtomicUsize, Ordering};
use covsched_core::rawlog::words::{
    open_word, short_result, thread_words, without_dictionary, Dictionary, Encoded, LONGEST,
    LONG_RESULT_WORD, SHORT_PENDING, SHORT_RESULT_AT,
};
use covsched_core::rawlog::{LogHeader, Plain, Record, LOG_MAGIC, VERSION};

const FIRST_WINDOW: usize = 16 << 10;
const LARGEST_WINDOW: usize = 1 << 20;
/// Bytes of the longest record.
const MOST: usize = LONGEST * WORD;
const WORD: usize = size_of::<u64>();

/// A field that only its thread touches, its signal handlers included: every access really happens, in order.
pub struct Own<T>(UnsafeCell<T>);

// SAFETY: only one thread touches it, by its contract.
unsafe impl<T> Sync for Own<T> {}

impl<T: Copy> Own<T> {
    /// Holding `value`.
    pub const fn new(value: T) -> Self {
        Own(UnsafeCell::new(value))
    }

    /// The value.
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: only this thread writes, and a handler's write is done when it returns.
        unsafe { read_volatile(self.0.get()) }
    }

    /// Sets the value.
    #[inline(always)]
    pub fn set(&self, value: T) {
        // SAFETY: as in get.
        unsafe { write_volatile(self.0.get(), value) }
    }
}

/// A record in a log whose result may still be filled in.
#[derive(Clone, Copy)]
pub struct Slot {
    /// Where the result is; null for none.
    result: *mut u8,
    /// A whole word, not a byte.
    is_long: bool,
    generation: u64,
    /// Of the result, in the file.
    offset: usize,
}

impl Slot {
    /// No record: it was lost, or not wanted.
    pub const NONE: Slot = Slot { result: null_mut(), is_long: false, generation: 0, offset: 0 };
}

/// A log. All zeros, as in a new descriptor, is one without a file.
pub struct Log {
    /// Address of the next free word.
    cursor: AtomicUsize,
    /// Every record that starts before this address is in the window. 0 where something must be done first.
    limit: Own<usize>,
    /// Address of a word minus its offset in the file.
    bias: Own<usize>,
    /// Counts exchanges of the window.
    generation: Own<u64>,
    /// How many writers are on the stack: more than one means in a signal handler that interrupted one.
    pub nesting: Own<u32>,
    /// The window: address and length.
    window: Own<(*mut u8, usize)>,
    /// A window that a signal handler's exchange left behind.
    retired: Own<(*mut u8, usize)>,
    /// Length of the file; 0 if there is none.
    length: Own<usize>,
    /// `N` of the file's name.
    file: Own<u32>,
    /// No more records: the file cannot grow, or the thread has ended.
    closed: Own<bool>,
    /// The thread: number, parent, nth.
    thread: Own<(u32, u32, u32)>,
    /// Whether the log says whose events follow.
    is_named: Own<bool>,
    /// What the records have named; used only by the outermost writer.
    dictionary: UnsafeCell<Dictionary>,
}

/// Adds to a word that signal handlers on this thread also add to; the old value.
#[inline(always)]
fn fetch_add_on_thread(word: &AtomicUsize, add: usize) -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let mut value = add;
        // SAFETY: a live word; one instruction is atomic on its own processor.
        unsafe {
            core::arch::asm!("xadd qword ptr [{}], {}", in(reg) word.as_ptr(), inout(reg) value,
                             options(nostack));
        }
        value
    }
    #[cfg(not(target_arch = "x86_64"))]
    word.fetch_add(add, Ordering::Relaxed)
}

/// Stores one word; the compiler keeps the order of these stores.
#[inline(always)]
unsafe fn put(address: usize, word: u64) {
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the caller reserved the word, in a window that stays mapped while nesting is raised.
    unsafe { (*(address as *const AtomicU64)).store(word.to_le(), Ordering::Relaxed) };
}

/// Stores a record of several words: a reader sees all of it, or that it was being written.
#[inline(always)]
unsafe fn put_all(address: usize, words: &[u64]) {
    // SAFETY: as in put.
    unsafe {
        put(address, open_word(words.len()));
        for (index, &word) in words.iter().enumerate().skip(1) {
            put(address + index * WORD, word);
        }
        put(address, words[0]);
    }
}

impl Log {
    /// Makes it the log of a thread that is about to begin: number, parent, nth.
    pub fn begin(&self, number: u32, parent: u32, nth: u32) {
        // The first record finds that there is something to do: see grow. A new file has named nothing yet; and a
        // thread that left a signal handler for good may have named what it did not write.
        if self.length.get() == 0 || self.nesting.get() != 0 {
            self.forget_names();
        }
        self.limit.set(0);
        self.nesting.set(0);
        self.closed.set(false);
        self.is_named.set(false);
        self.thread.set((number, parent, nth));
        self.generation.set(self.generation.get() + 1);
    }

    /// Long records again, as in an empty log.
    #[cold]
    #[inline(never)]
    fn forget_names(&self) {
        // SAFETY: nobody is writing: a thread begins, or a record was lost by the only writer.
        unsafe { *self.dictionary.get() = Dictionary::new() };
    }

    /// Reserves `size` bytes; `None` if the record is lost. The address, its offset in the file, and the window's
    /// generation.
    #[inline(always)]
    fn reserve(&self, size: usize) -> Option<(usize, usize, u64)> {
        loop {
            let generation = self.generation.get();
            let address = fetch_add_on_thread(&self.cursor, size);
            let inside = address < self.limit.get();
            let offset = address.wrapping_sub(self.bias.get());
            compiler_fence(Ordering::SeqCst);
            if self.generation.get() != generation {
                continue;
            }
            if inside {
                return Some((address, offset, generation));
            }
            if !self.grow() {
                return None;
            }
        }
    }

    /// Writes a record. The caller has raised [`Log::nesting`] to `nesting`.
    #[inline(always)]
    pub fn write(&self, record: &Record, nesting: u32) -> Slot {
        // SAFETY: only this thread has it; a handler that interrupts this (nesting 2) does not touch it.
        let encoded = match nesting {
            1 => unsafe { (*self.dictionary.get()).encode(record) },
            _ => without_dictionary(record),
        };
        let size = match encoded {
            Encoded::Short(_) => WORD,
            Encoded::WithObject(..) => 2 * WORD,
            Encoded::Long(_) => MOST,
        };
        let Some((address, offset, generation)) = self.reserve(size) else {
            // The dictionary has named what no reader will see.
            if nesting == 1 {
                self.forget_names();
            }
            return Slot::NONE;
        };
        // SAFETY: reserved, in a window that stays mapped while nesting is raised.
        unsafe {
            match encoded {
                Encoded::Short(word) => put(address, word),
                Encoded::WithObject(word, object) => put_all(address, &[word, object]),
                Encoded::Long(words) => put_all(address, &words),
            }
        }
        let is_long = matches!(encoded, Encoded::Long(_));
        let place = if is_long { LONG_RESULT_WORD * WORD } else { SHORT_RESULT_AT };
        Slot { result: (address + place) as *mut u8, is_long, generation, offset: offset + place }
    }

    /// Sets the result of a record that was written before its call returned.
    #[inline(always)]
    pub fn set_result(&self, slot: Slot, result: i32) {
        if slot.result.is_null() {
            return;
        }
        let nesting = self.nesting.get();
        self.nesting.set(nesting + 1);
        compiler_fence(Ordering::SeqCst);
        // Every errno fits into the byte.
        let short = short_result(result).unwrap_or(SHORT_PENDING);
        if self.generation.get() != slot.generation {
            self.set_result_in_file(slot, result, short);
        } else if slot.is_long {
            // SAFETY: the window is current, and stays mapped while nesting is raised.
            unsafe { write_volatile(slot.result.cast::<i32>(), result.to_le()) };
        } else {
            // SAFETY: as above.
            unsafe { write_volatile(slot.result, short) };
        }
        compiler_fence(Ordering::SeqCst);
        self.nesting.set(nesting);
    }

    #[cold]
    fn set_result_in_file(&self, slot: Slot, result: i32, short: u8) {
        if let Ok(fd) = sys::open(self.path().zero_ended(), libc::O_RDWR) {
            // The record itself stands; without its result it reads as pending.
            let _ = match slot.is_long {
                true => sys::write_at(fd, &result.to_le_bytes(), slot.offset),
                false => sys::write_at(fd, &[short], slot.offset),
            };
            sys::close(fd);
        }
    }

    fn path(&self) -> Path {
        meta::thread_file(self.file.get())
    }

    /// What [`Log::limit`] is while the window is in use.
    fn limit_of_window(&self) -> usize {
        let (address, size) = self.window.get();
        (address as usize + size).saturating_sub(MOST - 1)
    }

    /// Makes room: a window, and the words that say whose events follow. False if there is none to be had.
    #[cold]
    #[inline(never)]
    fn grow(&self) -> bool {
        let generation = self.generation.get();
        let mask = sys::block_signals();
        let grown = if self.closed.get() {
            false
        } else if self.generation.get() != generation {
            true
        } else {
            let result = self.make_room();
            if result.is_err() {
                self.stop();
                meta::note_lost_records();
            }
            result.is_ok()
        };
        sys::restore_signals(mask);
        grown
    }

    fn make_room(&self) -> Result<(), i32> {
        let is_full = self.cursor.load(Ordering::Relaxed) >= self.limit_of_window();
        if self.window.get().1 == 0 || is_full {
            self.map_next_window()?;
        }
        if !self.is_named.get() {
            let (number, parent, nth) = self.thread.get();
            let words = thread_words(number, parent, nth);
            let address = fetch_add_on_thread(&self.cursor, words.len() * WORD);
            // SAFETY: there is room for the longest record, and signals are blocked.
            unsafe { put_all(address, &words) };
            self.is_named.set(true);
        }
        self.limit.set(self.limit_of_window());
        Ok(())
    }

    fn map_next_window(&self) -> Result<(), i32> {
        let (old_window, start) = (self.window.get().1, self.length.get());
        let is_first = start == 0;
        if is_first {
            self.file.set(self.thread.get().0);
        }
        let create = if is_first { libc::O_CREAT | libc::O_TRUNC } else { 0 };
        let size = (2 * old_window).clamp(FIRST_WINDOW, LARGEST_WINDOW);
        let fd = sys::open(self.path().zero_ended(), libc::O_RDWR | create)?;
        let mapped = (|| {
            sys::allocate(fd, start, start + size)?;
            if is_first {
                let header = LogHeader { magic: LOG_MAGIC, version: VERSION, log: self.file.get() };
                sys::write_at(fd, header.as_bytes(), 0)?;
            }
            sys::map_shared(fd, start, size)
        })();
        sys::close(fd);
        if is_first && mapped.is_err() {
            // Rather no log than one without a header.
            let _ = sys::remove(self.path().zero_ended());
        }
        let address = mapped?;
        let old = self.window.get();
        self.window.set((address, size));
        self.release(old, self.nesting.get() > 1);
        self.length.set(start + size);
        self.bias.set((address as usize).wrapping_sub(start));
        let head = if is_first { size_of::<LogHeader>() } else { 0 };
        self.cursor.store(address as usize + head, Ordering::Relaxed);
        self.generation.set(self.generation.get() + 1);
        Ok(())
    }

    /// Unmaps a window that is no longer in use; in a handler (`keep`) it is only retired.
    fn release(&self, window: (*mut u8, usize), keep: bool) {
        let retired = self.retired.get();
        if keep {
            // Two exchanges inside handlers, one retired place: the first of them stays mapped for good.
            self.retired.set(window);
            return;
        }
        for (address, length) in [window, retired] {
            if length != 0 {
                sys::unmap(address, length);
            }
        }
        self.retired.set((null_mut(), 0));
    }

    fn stop(&self) {
        self.closed.set(true);
        self.limit.set(0);
        self.generation.set(self.generation.get() + 1);
    }

    /// The thread has ended: no more records until the log begins again.
    pub fn finish(&self) {
        let mask = sys::block_signals();
        self.stop();
        sys::restore_signals(mask);
    }

    /// In a forked child: the file and the mappings are the parent's. The next record begins a new file. The window
    /// stays mapped: its thread may have been about to exchange it, and then the address is somebody else's.
    pub fn abandon(&self) {
        self.stop();
        self.window.set((null_mut(), 0));
        self.retired.set((null_mut(), 0));
        self.length.set(0);
    }
}
