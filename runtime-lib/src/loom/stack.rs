//! Who called: a look at the stack of a thread that is released in a call that may block, or at the calling thread's own.
//!
//! Where the kernel says that its stack pointer is, to where it entered its outermost function with loom, are the return addresses
//! of all its active functions with loom. A word in there that points into one of a filter's [`Frames`] may be one of them, or may be
//! left from before: it counts. Nothing is unwound, and debug info is not needed.
//!
//! What does not look like one plain stack tells nothing: a thread that runs; a signal handler, which may be on another stack; memory
//! that is not there between the two ends, as between two stacks.
//! Limit: only on x86-64, where a return address is always a word on the stack, as it is.

use crate::sys;
use core::mem::size_of;
use core::ops::RangeInclusive;

/// More is not looked at.
const LARGEST: usize = 64 << 20;
/// Of a thread's own stack, since it may look often.
pub const LARGEST_OWN: usize = 256 << 10;

/// Code in whose frames a thread is inside: addresses, sorted by their start, apart from each other.
#[derive(Clone, Copy)]
pub struct Frames<'f>(pub &'f [(usize, usize)]);

impl Frames<'_> {
    /// Whether an address is in one.
    fn contain(self, address: usize) -> bool {
        let Some(&(first, _)) = self.0.first() else { return false };
        if address < first {
            return false;
        }
        let behind = self.0.partition_point(|&(first, _)| first <= address);
        // The ranges are apart: only the last that begins before it can have it.
        self.0[..behind].last().is_some_and(|&(_, last)| address <= last)
    }
}

/// Sorts ranges, and makes one of those that overlap or touch; gives how many are left.
pub fn join(ranges: &mut [(usize, usize)]) -> usize {
    ranges.sort_unstable();
    let mut count = 0usize;
    for index in 0..ranges.len() {
        let (first, last) = ranges[index];
        match count.checked_sub(1).map(|before| &mut ranges[before]) {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => {
                ranges[count] = (first, last);
                count += 1;
            }
        }
    }
    count
}

/// Whether a blocked thread has none of the frames below `top`, a place on its stack; `None` if that cannot be told.
pub fn is_without(thread: u32, top: usize, frames: Frames<'_>) -> Option<bool> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    let pointer = stack_pointer(thread)?;
    let restorers = Restorers::find()?;
    let is_meant = |word| frames.contain(word) || restorers.contain(word);
    let mark = scan(pointer..=top, &mut [0; 512], is_meant)?;
    Some(mark.is_none())
}

/// A word on a stack by which its thread counts as inside.
#[derive(Clone, Copy)]
pub struct Mark {
    /// Its address.
    pub at: usize,
    word: usize,
}

impl Mark {
    /// None: there is no memory.
    pub const NOWHERE: Mark = Mark { at: 0, word: 0 };

    /// Whether it is still where it was found.
    pub fn is_there(self) -> bool {
        let mut word = [0];
        sys::read_words(self.at, &mut word).is_ok() && word[0] == self.word
    }
}

/// What [`is_without`] says of a blocked thread, of the calling one, whose stack begins at `pointer`: a mark, or that there is none;
/// `None` if that cannot be told.
pub fn find_between(pointer: usize, top: usize, frames: Frames<'_>) -> Option<Option<Mark>> {
    if !cfg!(target_arch = "x86_64") || top.saturating_sub(pointer) > LARGEST_OWN {
        return None;
    }
    // On a stack of the program's, which may be small.
    let mut words = [0; 128];
    if let Some(mark) = scan(pointer..=top, &mut words, |word| frames.contain(word))? {
        return Some(Some(mark));
    }
    // This takes longest, and is left for when the thread would stay.
    let restorers = Restorers::find()?;
    scan(pointer..=top, &mut words, |word| restorers.contain(word))
}

/// The first word from the start of a range of the process's memory to its end that is as `is_meant` says, if there is one; `None` if it
/// cannot be read. `words` is room for a part of them.
fn scan(
    range: RangeInclusive<usize>,
    words: &mut [usize],
    mut is_meant: impl FnMut(usize) -> bool,
) -> Option<Option<Mark>> {
    const WORD: usize = size_of::<usize>();
    let (mut at, end) = (range.start().next_multiple_of(WORD), *range.end());
    if at >= end || end - at > LARGEST {
        return None;
    }
    while at < end {
        let count = words.len().min((end - at).div_ceil(WORD));
        sys::read_words(at, &mut words[..count]).ok()?;
        if let Some(index) = words[..count].iter().position(|&word| is_meant(word)) {
            return Some(Some(Mark { at: at + index * WORD, word: words[index] }));
        }
        at += count * WORD;
    }
    Some(None)
}

/// The stack pointer of a thread of this process that is blocked; `None` if it is not.
fn stack_pointer(thread: u32) -> Option<usize> {
    let mut path = [0u8; 48];
    let mut length = 0;
    let mut push = |bytes: &[u8]| {
        path[length..length + bytes.len()].copy_from_slice(bytes);
        length += bytes.len();
    };
    push(b"/proc/self/task/");
    let mut digits = [0u8; 10];
    let mut first = digits.len();
    let mut rest = thread;
    while rest > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    push(&digits[first..]);
    push(b"/syscall\0");
    let fd = sys::open(&path[..length], libc::O_RDONLY | libc::O_CLOEXEC).ok()?;
    let mut line = [0u8; 256];
    let read = sys::read(fd, &mut line);
    sys::close(fd);
    parse_stack_pointer(&line[..read.ok()?])
}

/// `running`, or the call's number (-1 outside of one) and arguments, the stack pointer, where it goes on.
fn parse_stack_pointer(line: &[u8]) -> Option<usize> {
    let line = line.strip_suffix(b"\n")?;
    let mut words = line.rsplit(|&byte| byte == b' ');
    let (_, pointer, _) = (words.next()?, words.next()?, words.next()?);
    let digits = pointer.strip_prefix(b"0x")?;
    let value = |digit: u8| (digit as char).to_digit(16).map(|digit| digit as usize);
    let step = |sum: usize, &digit: &u8| sum.checked_mul(16)?.checked_add(value(digit)?);
    digits.iter().try_fold(0usize, step)
}

/// Where signal handlers return to: what a stack with one on it has.
struct Restorers {
    found: [usize; 8],
    count: usize,
}

impl Restorers {
    /// `None` if there are more different ones than anybody has.
    fn find() -> Option<Restorers> {
        let mut restorers = Restorers { found: [0; 8], count: 0 };
        let mut fits = true;
        sys::for_each_restorer(|restorer| {
            if restorers.contain(restorer) {
                return;
            }
            match restorers.found.get_mut(restorers.count) {
                Some(place) => {
                    *place = restorer;
                    restorers.count += 1;
                }
                None => fits = false,
            }
        });
        fits.then_some(restorers)
    }

    fn contain(&self, address: usize) -> bool {
        self.found[..self.count].contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_found_by_their_addresses() {
        let mut ranges = [(50, 60), (10, 20), (21, 30), (55, 57), (80, 80)];
        let count = join(&mut ranges);
        assert_eq!(ranges[..count], [(10, 30), (50, 60), (80, 80)]);
        let frames = Frames(&ranges[..count]);
        for address in 0..100 {
            let expected = (10..=30).contains(&address) || (50..=60).contains(&address) || address == 80;
            assert_eq!(frames.contain(address), expected, "{address}");
        }
        assert!(!Frames(&[]).contain(5));
        assert_eq!(join(&mut [(0, usize::MAX), (5, 6)]), 1);
    }

    #[test]
    fn the_kernels_line_has_the_stack_pointer() {
        let blocked = b"230 0x0 0x0 0x7fffb47cbf40 0x7fffb47cbf80 0x0 0x0 0x7fffb47cbf28 0x7f0a2141c503\n";
        assert_eq!(parse_stack_pointer(blocked), Some(0x7fff_b47c_bf28));
        assert_eq!(parse_stack_pointer(b"-1 0x7ffd00 0x401000\n"), Some(0x7f_fd00));
        for other in [&b"running\n"[..], b"", b"\n", b"-1 0x10", b"a b c\n", b"1 0xx 0x1\n"] {
            assert_eq!(parse_stack_pointer(other), None, "{other:?}");
        }
        assert_eq!(parse_stack_pointer(b"1 0xfffffffffffffffff 0x1\n"), None);
    }

    #[test]
    fn words_are_found_up_to_the_end_and_no_further() {
        let words: [usize; 2000] = core::array::from_fn(|index| index);
        let (first, behind) = (words.as_ptr() as usize, words.as_ptr_range().end as usize);
        let found = |range, value| {
            let mark = scan(range, &mut [0; 128], |word| word == value)?;
            mark.inspect(|mark| assert!(mark.is_there() && mark.at == first + 8 * value));
            Some(mark.is_some())
        };
        assert_eq!(found(first..=behind, 1999), Some(true));
        assert_eq!(found(first..=behind, 2000), Some(false));
        assert_eq!(found(first + 8..=behind, 0), Some(false));
        assert_eq!(found(first..=behind - 8, 1999), Some(false));
        assert_eq!(found(behind..=first, 5), None);
        assert_eq!(found(16..=4096, 5), None, "not there");
        assert_eq!(found(first..=first + LARGEST + 8, 5), None, "too large");
        assert!(!Mark::NOWHERE.is_there());
        assert!(!Mark { at: first, word: 1 }.is_there());
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_blocked_thread_shows_who_called() {
        use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
        static TOP: AtomicUsize = AtomicUsize::new(0);
        static THREAD: AtomicU32 = AtomicU32::new(0);
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let blocked = std::thread::spawn(move || {
            let here = 0usize;
            TOP.store(&raw const here as usize, Ordering::Relaxed);
            THREAD.store(sys::thread_id(), Ordering::Release);
            // A word of this frame's.
            let mark = core::hint::black_box([0x1234_5678usize, 0]);
            let _ = receive.recv();
            core::hint::black_box((&here, &mark));
        });
        while THREAD.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        let (thread, near) = (THREAD.load(Ordering::Relaxed), TOP.load(Ordering::Relaxed));
        let top = near + 256;
        let look = |frames: &[(usize, usize)]| loop {
            match is_without(thread, top, Frames(frames)) {
                Some(found) => break found,
                None => std::thread::yield_now(),
            }
        };
        assert!(!look(&[(0x1234_5678, 0x1234_5678)]));
        assert!(look(&[(0x1234_5679, 0x1234_5680)]));
        // A place below its stack pointer is no end of its stack; nor is one beyond what is mapped.
        assert_eq!(is_without(thread, 4096, Frames(&[])), None);
        drop(send);
        blocked.join().unwrap();
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_thread_sees_who_called_it() {
        let mark = core::hint::black_box([0x1234_5678usize, 0]);
        let first = mark.as_ptr() as usize;
        let (top, deep) = (first + size_of_val(&mark), first - LARGEST_OWN - 8);
        let found = |first, top, frames: &[(usize, usize)]| {
            find_between(first, top, Frames(frames)).map(|mark| mark.map(|mark| mark.at))
        };
        assert_eq!(found(first, top, &[(0x1234_5678, 0x1234_5678)]), Some(Some(first)));
        assert_eq!(found(first, top, &[(0x1234_5679, 0x1234_5680)]), Some(None));
        assert_eq!(found(deep, top, &[]), None, "too deep");
        assert_eq!(found(top, first, &[]), None, "another stack");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_thread_that_runs_shows_nothing() {
        use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
        static TOP: AtomicUsize = AtomicUsize::new(0);
        static THREAD: AtomicU32 = AtomicU32::new(0);
        static ENDS: AtomicBool = AtomicBool::new(false);
        let runs = std::thread::spawn(|| {
            let here = 0usize;
            TOP.store(&raw const here as usize, Ordering::Relaxed);
            THREAD.store(sys::thread_id(), Ordering::Release);
            while !ENDS.load(Ordering::Relaxed) {
                core::hint::spin_loop();
            }
        });
        while THREAD.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        let (thread, top) = (THREAD.load(Ordering::Relaxed), TOP.load(Ordering::Relaxed));
        assert_eq!(is_without(thread, top, Frames(&[])), None);
        ENDS.store(true, Ordering::Relaxed);
        runs.join().unwrap();
    }
}
