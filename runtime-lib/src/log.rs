//! A thread's log: the file `P.tN`, written through a window that is mapped shared, so that every record is
//! the kernel's as soon as it is written.
//!
//! The file gets real space (fallocate) before it is mapped: a full disk is an error that sets `lost`, never a
//! SIGBUS in the program. Windows start small, for short threads, and double.
//!
//! # Signal handlers
//! A handler on the same thread may write records between any two instructions here. So a slot is reserved
//! with one instruction (`xadd` without `lock`: other threads have no business here), and whoever used
//! the window checks afterwards that it was not exchanged meanwhile: [`Log::generation`]. A slot reserved in
//! a window that is no longer current stays a hole, which readers skip. A handler's exchange keeps the old
//! window mapped ([`Log::retired`]), since the interrupted code may be about to write there.

use crate::meta::{self, Path};
use crate::sys;
use core::cell::UnsafeCell;
use core::mem::size_of;
use core::ptr::{null_mut, read_volatile, write_volatile};
use core::sync::atomic::{compiler_fence, AtomicUsize, Ordering};
use covsched_core::rawlog::{Plain, Record, ThreadHeader, THREAD_MAGIC, VERSION};

const PAGE: usize = 4096;
const FIRST_WINDOW: usize = 16 << 10;
const LARGEST_WINDOW: usize = 1 << 20;

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
    record: *mut Record,
    generation: u64,
    offset: usize,
}

impl Slot {
    /// No record: it was lost, or not wanted.
    pub const NONE: Slot = Slot { record: null_mut(), generation: 0, offset: 0 };
}

/// A thread's log. All zeros, as in a new descriptor, is one without a file.
pub struct Log {
    /// Address of the next free slot.
    cursor: AtomicUsize,
    /// A slot is in the window if its address is less than this.
    limit: Own<usize>,
    /// Address of a slot minus its offset in the file.
    bias: Own<usize>,
    /// Counts exchanges of the window.
    generation: Own<u64>,
    /// How many writers are on the stack: more than one means in a signal handler that interrupted one.
    pub nesting: Own<u32>,
    /// The window: address and length.
    window: Own<(*mut u8, usize)>,
    /// A window that a signal handler's exchange left behind.
    retired: Own<(*mut u8, usize)>,
    /// First slot of the window.
    first: Own<usize>,
    /// Length of the file.
    length: Own<usize>,
    /// No more records: the file cannot grow, or the thread has ended.
    closed: Own<bool>,
    header: Own<(u32, u32, u32)>,
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

impl Log {
    /// Makes it the log of a thread that is about to begin: number, parent, nth.
    pub fn begin(&self, number: u32, parent: u32, nth: u32) {
        self.cursor.store(0, Ordering::Relaxed);
        self.limit.set(0);
        self.nesting.set(0);
        self.window.set((null_mut(), 0));
        self.retired.set((null_mut(), 0));
        self.length.set(0);
        self.closed.set(false);
        self.header.set((number, parent, nth));
        self.generation.set(self.generation.get() + 1);
    }

    /// Reserves a slot; `None` if the record is lost.
    #[inline(always)]
    pub fn reserve(&self) -> Option<Slot> {
        loop {
            let generation = self.generation.get();
            let address = fetch_add_on_thread(&self.cursor, size_of::<Record>());
            let inside = address < self.limit.get();
            let offset = address.wrapping_sub(self.bias.get());
            compiler_fence(Ordering::SeqCst);
            if self.generation.get() != generation {
                continue;
            }
            if inside {
                return Some(Slot { record: address as *mut Record, generation, offset });
            }
            if !self.grow() {
                return None;
            }
        }
    }

    /// Writes a record into a slot, its clock last. The caller has raised [`Log::nesting`].
    #[inline(always)]
    pub fn fill(&self, slot: Slot, record: Record) {
        // SAFETY: the slot is in a window that stays mapped while nesting is raised.
        unsafe {
            let to = slot.record;
            (*to).site = record.site;
            (*to).object = record.object;
            (*to).extra = record.extra;
            // One store for the last word: result, op, phase, flags, reserved.
            let last = u64::from(record.result as u32)
                | u64::from(record.op) << 32
                | u64::from(record.phase) << 40
                | u64::from(record.flags) << 48;
            (&raw mut (*to).result).cast::<u64>().write(last.to_le());
            (*(&raw mut (*to).clock).cast::<core::sync::atomic::AtomicU64>())
                .store(record.clock, Ordering::Release);
        }
    }

    /// Sets the result of a record that was written before its call returned.
    #[inline(always)]
    pub fn set_result(&self, slot: Slot, result: i32) {
        if slot.record.is_null() {
            return;
        }
        let nesting = self.nesting.get();
        self.nesting.set(nesting + 1);
        compiler_fence(Ordering::SeqCst);
        if self.generation.get() == slot.generation {
            // SAFETY: the window is current, and stays mapped while nesting is raised.
            unsafe { write_volatile(&raw mut (*slot.record).result, result) };
        } else {
            self.set_result_in_file(slot.offset, result);
        }
        compiler_fence(Ordering::SeqCst);
        self.nesting.set(nesting);
    }

    #[cold]
    fn set_result_in_file(&self, offset: usize, result: i32) {
        let path = self.path();
        if let Ok(fd) = sys::open(path.zero_ended(), libc::O_RDWR) {
            let offset = offset + core::mem::offset_of!(Record, result);
            // The record itself stands; without its result it reads as pending.
            let _ = sys::write_at(fd, &result.to_ne_bytes(), offset);
            sys::close(fd);
        }
    }

    fn path(&self) -> Path {
        meta::thread_file(self.header.get().0)
    }

    /// Offset in the file after the window's last whole slot.
    fn end_of_slots(&self) -> usize {
        let (first, limit) = (self.first.get(), self.limit.get());
        let slots = limit.saturating_sub(first).div_ceil(size_of::<Record>());
        first + slots * size_of::<Record>() - self.bias.get()
    }

    /// Exchanges the window for the next one. False if there is none to be had.
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
            let result = self.map_next_window();
            if result.is_err() {
                self.stop();
                meta::note_lost_records();
            }
            result.is_ok()
        };
        sys::restore_signals(mask);
        grown
    }

    fn map_next_window(&self) -> Result<(), i32> {
        let old = self.window.get();
        let is_first = old.1 == 0;
        let (create, next, size) = if is_first {
            (libc::O_CREAT | libc::O_TRUNC, size_of::<ThreadHeader>(), FIRST_WINDOW)
        } else {
            (0, self.end_of_slots(), (2 * old.1).min(LARGEST_WINDOW))
        };
        let (old_length, start) = (self.length.get(), next & !(PAGE - 1));
        let length = start + size;
        let fd = sys::open(self.path().zero_ended(), libc::O_RDWR | create)?;
        let mapped = (|| {
            sys::allocate(fd, old_length, length)?;
            if is_first {
                let (thread, parent, nth) = self.header.get();
                let header = ThreadHeader {
                    magic: THREAD_MAGIC,
                    version: VERSION,
                    thread,
                    parent,
                    nth,
                    reserved: [0; 2],
                };
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
        self.release_windows(self.nesting.get() > 1);
        self.window.set((address, size));
        self.length.set(length);
        self.bias.set((address as usize).wrapping_sub(start));
        self.first.set(address as usize + (next - start));
        self.limit.set(address as usize + size - (size_of::<Record>() - 1));
        self.cursor.store(self.first.get(), Ordering::Relaxed);
        self.generation.set(self.generation.get() + 1);
        Ok(())
    }

    /// Unmaps what is not in use; in a handler (`keep`) the current window is only retired.
    fn release_windows(&self, keep: bool) {
        let (window, retired) = (self.window.get(), self.retired.get());
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

    /// The thread has ended: cuts the file to what was written and unmaps it.
    pub fn finish(&self) {
        let mask = sys::block_signals();
        if self.window.get().1 != 0 {
            let used = if self.closed.get() {
                self.length.get()
            } else {
                // The cursor runs past the limit when growing failed.
                (self.cursor.load(Ordering::Relaxed) - self.bias.get()).min(self.end_of_slots())
            };
            self.stop();
            self.release_windows(false);
            self.window.set((null_mut(), 0));
            // A longer file only has zeros at its end.
            let _ = sys::truncate(self.path().zero_ended(), used);
        }
        self.closed.set(true);
        sys::restore_signals(mask);
    }

    /// In a forked child: the mappings are the parent's.
    pub fn abandon(&self) {
        self.stop();
        self.release_windows(false);
        self.window.set((null_mut(), 0));
    }
}
