//! Raw system calls. Not libc's: those may be replaced by the program, are cancellation points, set errno.
//!
//! Results are the kernel's: a negative errno on failure, here as `Err(errno)`.

use core::arch::asm;
use core::sync::atomic::AtomicU32;

/// The address of a symbol that need not be there: null then. The directive stands with the use, or another codegen
/// unit of a test build would ask for it in earnest.
macro_rules! weak_address {
    ($symbol:literal $(, $directive:literal)?) => {{
        let address: *const u8;
        #[cfg(target_arch = "x86_64")]
        // SAFETY: loads a word of the linker's own table.
        unsafe {
            core::arch::asm!(concat!(".weak ", $symbol), $(concat!($directive, " ", $symbol),)?
                             concat!("mov {}, qword ptr [rip + ", $symbol, "@GOTPCREL]"), out(reg) address,
                             options(nostack, preserves_flags, readonly));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            core::arch::asm!(concat!(".weak ", $symbol), $(concat!($directive, " ", $symbol),)?
                             concat!("adrp {0}, :got:", $symbol),
                             concat!("ldr {0}, [{0}, #:got_lo12:", $symbol, "]"), out(reg) address,
                             options(nostack, preserves_flags, readonly));
        }
        address
    }};
}
pub(crate) use weak_address;

type Result<T> = core::result::Result<T, i32>;

/// A system call with six arguments.
///
/// # Safety
/// As the call itself: pointers must be good for what the kernel does with them.
#[inline(always)]
pub unsafe fn call(number: i64, arguments: [usize; 6]) -> Result<usize> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the kernel's convention; rcx and r11 are clobbered.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the kernel's convention.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d,
             in("x4") e, in("x5") f, options(nostack));
    }
    if result < 0 {
        Err(-result as i32)
    } else {
        Ok(result as usize)
    }
}

/// A file descriptor that is closed by hand ([`close`]).
#[derive(Clone, Copy)]
pub struct Fd(usize);

impl Fd {
    /// As the kernel counts.
    pub fn number(self) -> usize {
        self.0
    }
}

/// Opens `path` (which ends with a zero byte), close-on-exec.
pub fn open(path: &[u8], flags: i32) -> Result<Fd> {
    debug_assert!(path.last() == Some(&0));
    let flags = (flags | libc::O_CLOEXEC) as usize;
    // SAFETY: the path is zero-ended.
    unsafe {
        call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags, 0o600, 0, 0]).map(Fd)
    }
}

/// Closes a file.
pub fn close(fd: Fd) {
    // SAFETY: no memory involved. An error changes nothing: the descriptor is gone.
    let _ = unsafe { call(libc::SYS_close, [fd.0, 0, 0, 0, 0, 0]) };
}

/// Writes all parts with one call; fails if not everything was written.
pub fn write_parts(fd: Fd, parts: &[&[u8]]) -> Result<()> {
    const EMPTY: libc::iovec = libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 };
    let mut vectors = [EMPTY; 8];
    let mut total = 0;
    for (vector, part) in vectors.iter_mut().zip(parts) {
        *vector = libc::iovec { iov_base: part.as_ptr() as *mut _, iov_len: part.len() };
        total += part.len();
    }
    let count = parts.len().min(vectors.len());
    // SAFETY: the vectors describe live slices.
    match unsafe { call(libc::SYS_writev, [fd.0, vectors.as_ptr() as usize, count, 0, 0, 0]) } {
        Ok(written) if written == total => Ok(()),
        Ok(_) => Err(libc::ENOSPC),
        Err(error) => Err(error),
    }
}

/// Writes all bytes at an offset.
pub fn write_at(fd: Fd, bytes: &[u8], offset: usize) -> Result<()> {
    // SAFETY: a live slice.
    match unsafe { call(libc::SYS_pwrite64, [fd.0, bytes.as_ptr() as usize, bytes.len(), offset, 0, 0]) } {
        Ok(written) if written == bytes.len() => Ok(()),
        Ok(_) => Err(libc::ENOSPC),
        Err(error) => Err(error),
    }
}

/// Says something on standard error, in one write.
pub fn write_error(parts: &[&str]) {
    let mut bytes: [&[u8]; 8] = [&[]; 8];
    for (byte, part) in bytes.iter_mut().zip(parts) {
        *byte = part.as_bytes();
    }
    // Nobody is left to tell if standard error is closed.
    let _ = write_parts(Fd(2), &bytes);
}

/// Says something on standard error, in one write.
pub fn write_error_bytes(bytes: &[u8]) {
    // As above.
    let _ = write_parts(Fd(2), &[bytes]);
}

/// Reads into `buffer`; how much.
pub fn read(fd: Fd, buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: a live buffer.
    unsafe { call(libc::SYS_read, [fd.0, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) }
}

/// Removes a file.
pub fn remove(path: &[u8]) -> Result<()> {
    debug_assert!(path.last() == Some(&0));
    // SAFETY: the path is zero-ended.
    unsafe {
        call(libc::SYS_unlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0]).map(drop)
    }
}

/// Gives the range of a file real space, so that writing to a mapping of it cannot fail. Respects
/// RLIMIT_FSIZE without the signal that exceeding it would send.
pub fn allocate(fd: Fd, from: usize, to: usize) -> Result<()> {
    let mut limit = [0u64; 2];
    // SAFETY: the kernel writes two words.
    let known = unsafe {
        let resource = libc::RLIMIT_FSIZE as usize;
        call(libc::SYS_prlimit64, [0, resource, 0, limit.as_mut_ptr() as usize, 0, 0])
    };
    if known.is_ok() && to as u64 > limit[0] {
        return Err(libc::EFBIG);
    }
    loop {
        // SAFETY: no memory involved.
        match unsafe { call(libc::SYS_fallocate, [fd.0, 0, from, to - from, 0, 0]) } {
            Err(libc::EINTR) => continue,
            Err(libc::EOPNOTSUPP | libc::ENOSYS) => break,
            other => return other.map(drop),
        }
    }
    // A file system without fallocate: write zeros.
    let zeros = [0u8; 512];
    let mut at = from;
    while at < to {
        let end = to.min(at + zeros.len());
        write_at(fd, &zeros[..end - at], at)?;
        at = end;
    }
    Ok(())
}

/// Maps `length` bytes of a file at `offset`, shared and writable, its pages present where the kernel can
/// do that ahead of time.
pub fn map_shared(fd: Fd, offset: usize, length: usize) -> Result<*mut u8> {
    let prot = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a new mapping.
    let address =
        unsafe { call(libc::SYS_mmap, [0, length, prot, libc::MAP_SHARED as usize, fd.0, offset])? };
    const MADV_POPULATE_WRITE: usize = 23;
    // SAFETY: advice on the new mapping.
    match unsafe { call(libc::SYS_madvise, [address, length, MADV_POPULATE_WRITE, 0, 0, 0]) } {
        // Older kernels do not know it: pages then come one by one.
        Ok(_) | Err(libc::EINVAL) => Ok(address as *mut u8),
        Err(error) => {
            unmap(address as *mut u8, length);
            Err(error)
        }
    }
}

/// Fresh zeroed memory of the process's own.
pub fn map_private(length: usize) -> Result<*mut u8> {
    let prot = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as usize;
    // SAFETY: a new mapping.
    unsafe { call(libc::SYS_mmap, [0, length, prot, flags, usize::MAX, 0]).map(|address| address as *mut u8) }
}

/// Removes a mapping.
pub fn unmap(address: *mut u8, length: usize) {
    // SAFETY: the callers give mappings that they made and no longer use.
    let _ = unsafe { call(libc::SYS_munmap, [address as usize, length, 0, 0, 0, 0]) };
}

/// Whether the whole range is mapped.
pub fn is_mapped(start: *const u8, length: usize) -> bool {
    const PAGE: usize = 4096;
    let end = start as usize + length;
    (start as usize & !(PAGE - 1)..end).step_by(PAGE).all(|page| {
        let mut residence = 0u8;
        // SAFETY: the kernel only looks at its tables and writes one byte.
        unsafe { call(libc::SYS_mincore, [page, 1, &raw mut residence as usize, 0, 0, 0]) }.is_ok()
    })
}

/// Reads up to 8 bytes of the process's own memory: EFAULT if they are not there.
pub fn read_memory(address: usize, bytes: usize) -> Result<u64> {
    let mut word = [0u8; 8];
    read_own(address, word.get_mut(..bytes).ok_or(libc::EFAULT)?)?;
    Ok(u64::from_ne_bytes(word))
}

/// Reads words of the process's own memory, which may change or go meanwhile: EFAULT if they are not all there.
pub fn read_words(address: usize, words: &mut [usize]) -> Result<()> {
    // SAFETY: any bytes are words.
    let bytes =
        unsafe { core::slice::from_raw_parts_mut(words.as_mut_ptr().cast(), core::mem::size_of_val(words)) };
    read_own(address, bytes)
}

fn read_own(address: usize, bytes: &mut [u8]) -> Result<()> {
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
    // SAFETY: the kernel writes into bytes of ours, and looks whether it can read.
    let read = unsafe {
        let (local, remote) = (&raw const local as usize, &raw const remote as usize);
        call(libc::SYS_process_vm_readv, [process_id() as usize, local, 1, remote, 1, 0])?
    };
    if read == bytes.len() {
        Ok(())
    } else {
        Err(libc::EFAULT)
    }
}

/// Sleeps while `*word == value`; may return early.
pub fn futex_wait(word: &AtomicU32, value: u32) {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: a live word; no timeout.
    let _ = unsafe { call(libc::SYS_futex, [word as *const _ as usize, operation, value as usize, 0, 0, 0]) };
}

/// Wakes up to `count` sleepers. The word itself is not read: it may be gone by now.
pub fn futex_wake(word: *const AtomicU32, count: usize) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the kernel uses the address only as a key.
    let _ = unsafe { call(libc::SYS_futex, [word as usize, operation, count, 0, 0, 0]) };
}

/// Until when to sleep.
#[derive(Clone, Copy)]
pub enum Deadline {
    /// Milliseconds from now.
    After(u64),
    /// A time by a clock: CLOCK_REALTIME or CLOCK_MONOTONIC. The timespec may be anything; the kernel looks at it.
    At(i32, *const libc::timespec),
}

/// Sleeps while `*word == value`, or until the deadline: ETIMEDOUT.
pub fn futex_wait_until(word: &AtomicU32, value: u32, deadline: Deadline) -> Result<()> {
    let length: [u64; 2];
    let (operation, time) = match deadline {
        Deadline::After(milliseconds) => {
            length = [milliseconds / 1000, milliseconds % 1000 * 1_000_000];
            (libc::FUTEX_WAIT, length.as_ptr() as usize)
        }
        Deadline::At(clock, time) => {
            let by_clock = if clock == libc::CLOCK_REALTIME { libc::FUTEX_CLOCK_REALTIME } else { 0 };
            (libc::FUTEX_WAIT_BITSET | by_clock, time as usize)
        }
    };
    let (operation, everybody) = ((operation | libc::FUTEX_PRIVATE_FLAG) as usize, u32::MAX as usize);
    let word = word as *const AtomicU32 as usize;
    // SAFETY: a live word; the time is ours, or whatever the program gave, which the kernel copies or refuses.
    unsafe { call(libc::SYS_futex, [word, operation, value as usize, time, 0, everybody]).map(drop) }
}

/// Sleeps while `*word == value`, until a time of [`monotonic_nanoseconds`] at most; may return early. `kind`: bits that tell
/// those who sleep on a word apart.
pub fn futex_wait_as(word: &AtomicU32, value: u32, until: u64, kind: u32) {
    let operation = (libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG) as usize;
    let time = [until / 1_000_000_000, until % 1_000_000_000];
    let arguments = [
        word as *const AtomicU32 as usize,
        operation,
        value as usize,
        time.as_ptr() as usize,
        0,
        kind as usize,
    ];
    // SAFETY: a live word and a time.
    let _ = unsafe { call(libc::SYS_futex, arguments) };
}

/// Wakes all who sleep as one of `kinds`. The word itself is not read.
pub fn futex_wake_those(word: *const AtomicU32, kinds: u32) {
    let operation = (libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the kernel uses the address only as a key.
    let _ =
        unsafe { call(libc::SYS_futex, [word as usize, operation, i32::MAX as usize, 0, 0, kinds as usize]) };
}

/// Wakes whoever sleeps on a word in a shared mapping, in other processes too.
pub fn futex_wake_shared(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE as usize;
    // SAFETY: a live word.
    let _ =
        unsafe { call(libc::SYS_futex, [word as *const _ as usize, operation, i32::MAX as usize, 0, 0, 0]) };
}

/// Nanoseconds since some moment.
pub fn monotonic_nanoseconds() -> u64 {
    let now = time(libc::CLOCK_MONOTONIC);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The time by a clock.
fn time(clock: i32) -> libc::timespec {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a timespec.
    let _ = unsafe { call(libc::SYS_clock_gettime, [clock as usize, &raw mut now as usize, 0, 0, 0, 0]) };
    now
}

/// CLOCK_REALTIME in so many milliseconds.
pub fn realtime_in(milliseconds: u64) -> libc::timespec {
    time_in(libc::CLOCK_REALTIME, milliseconds)
}

/// The time by a clock in so many milliseconds.
pub fn time_in(clock: i32, milliseconds: u64) -> libc::timespec {
    let mut at = time(clock);
    let nanoseconds = at.tv_nsec + (milliseconds % 1000) as i64 * 1_000_000;
    at.tv_sec += (milliseconds / 1000) as i64 + nanoseconds / 1_000_000_000;
    at.tv_nsec = nanoseconds % 1_000_000_000;
    at
}

/// Whether a time by a clock has passed.
///
/// # Safety
/// `at` is a timespec.
pub unsafe fn is_past(clock: i32, at: *const libc::timespec) -> bool {
    // SAFETY: by the contract.
    let (now, at) = (time(clock), unsafe { at.read() });
    (now.tv_sec, now.tv_nsec) >= (at.tv_sec, at.tv_nsec)
}

/// Whether a time by a clock will have passed in so many milliseconds.
///
/// # Safety
/// `at` is a timespec.
pub unsafe fn is_within(clock: i32, at: *const libc::timespec, milliseconds: u64) -> bool {
    // SAFETY: by the contract.
    let (then, at) = (time_in(clock, milliseconds), unsafe { at.read() });
    (then.tv_sec, then.tv_nsec) >= (at.tv_sec, at.tv_nsec)
}

/// The handlers of all signals that have one: the kernel's own struct of handler, flags, restorer, mask.
fn handlers() -> impl Iterator<Item = [usize; 4]> {
    const SIGNALS: usize = 64;
    (1..=SIGNALS).filter_map(|signal| {
        let mut action = [0usize; 4];
        // SAFETY: the kernel writes those words.
        let found =
            unsafe { call(libc::SYS_rt_sigaction, [signal, 0, action.as_mut_ptr() as usize, 8, 0, 0]) };
        let is_handler = action[0] != libc::SIG_DFL && action[0] != libc::SIG_IGN;
        (found.is_ok() && is_handler).then_some(action)
    })
}

/// Whether some signal has a handler after which system calls are not restarted.
pub fn has_interrupting_handler() -> bool {
    handlers().any(|[_, flags, ..]| flags & libc::SA_RESTART as usize == 0)
}

/// The addresses that signal handlers return to.
pub fn for_each_restorer(body: impl FnMut(usize)) {
    const SA_RESTORER: usize = 0x0400_0000;
    handlers()
        .filter(|[_, flags, ..]| flags & SA_RESTORER != 0)
        .map(|[_, _, restorer, _]| restorer)
        .for_each(body);
}

/// Ends the process at once.
pub fn exit_process(status: i32) -> ! {
    loop {
        // SAFETY: no memory involved.
        let _ = unsafe { call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Maps a whole file, shared if it is to be written; its address and length.
pub fn map_file(path: &[u8], write: bool) -> Result<(*mut u8, usize)> {
    let fd = open(path, if write { libc::O_RDWR } else { libc::O_RDONLY })?;
    let mapped = (|| {
        // SAFETY: no memory involved.
        let length = unsafe { call(libc::SYS_lseek, [fd.0, 0, libc::SEEK_END as usize, 0, 0, 0])? };
        if write {
            return Ok((map_shared(fd, 0, length)?, length));
        }
        let (prot, flags) = (libc::PROT_READ as usize, libc::MAP_PRIVATE as usize);
        // SAFETY: a new mapping.
        let address = unsafe { call(libc::SYS_mmap, [0, length, prot, flags, fd.0, 0])? };
        Ok((address as *mut u8, length))
    })();
    close(fd);
    mapped
}

/// The process.
pub fn process_id() -> u32 {
    // SAFETY: no memory involved.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// The thread.
pub fn thread_id() -> u32 {
    // SAFETY: no memory involved.
    unsafe { call(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// How many threads the process has; many if that cannot be known.
pub fn threads_of_process() -> usize {
    // SAFETY: plain C data.
    let mut facts: libc::stat = unsafe { core::mem::zeroed() };
    let path = b"/proc/self/task\0";
    // SAFETY: a zero-ended path, and a struct for the kernel to fill in.
    let found = unsafe {
        let at = libc::AT_FDCWD as usize;
        call(libc::SYS_newfstatat, [at, path.as_ptr() as usize, &raw mut facts as usize, 0, 0, 0])
    };
    // Each is a folder in there, and a folder has two names beside those of its folders.
    if found.is_ok() {
        (facts.st_nlink as usize).saturating_sub(2)
    } else {
        usize::MAX
    }
}

/// Whether the process has a thread with this id.
pub fn is_thread(tid: u32) -> bool {
    // SAFETY: no memory involved; signal 0 is none.
    let sent = unsafe { call(libc::SYS_tgkill, [process_id() as usize, tid as usize, 0, 0, 0, 0]) };
    sent != Err(libc::ESRCH)
}

/// Whether the calling code runs on its thread's alternate stack.
pub fn is_on_alternate_stack() -> bool {
    let mut stack = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: the kernel writes that struct.
    let asked = unsafe { call(libc::SYS_sigaltstack, [0, &raw mut stack as usize, 0, 0, 0, 0]) };
    asked.is_ok() && stack.ss_flags & libc::SS_ONSTACK != 0
}

/// Makes [`membarrier`] possible; false where the kernel does not have it.
pub fn register_membarrier() -> bool {
    const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;
    // SAFETY: no memory involved.
    unsafe { call(libc::SYS_membarrier, [REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) }.is_ok() && membarrier()
}

/// Every running thread of the process executes a full fence.
pub fn membarrier() -> bool {
    const PRIVATE_EXPEDITED: usize = 1 << 3;
    // SAFETY: no memory involved.
    unsafe { call(libc::SYS_membarrier, [PRIVATE_EXPEDITED, 0, 0, 0, 0, 0]) }.is_ok()
}

/// Lets others run.
pub fn yield_now() {
    // SAFETY: no memory involved.
    let _ = unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

/// Sleeps; a signal may cut it short.
pub fn sleep_nanoseconds(nanoseconds: u32) {
    let time = [0i64, i64::from(nanoseconds)];
    // SAFETY: a live timespec; no remainder wanted.
    let _ = unsafe { call(libc::SYS_nanosleep, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Sleeps for up to so many milliseconds, or until a signal that `mask` lets through has been handled: true.
pub fn sleep_with_signals(milliseconds: u64, mask: &SignalMask) -> bool {
    let length = [milliseconds / 1000, milliseconds % 1000 * 1_000_000];
    // SAFETY: no descriptors; a time and a mask of ours.
    let slept = unsafe {
        let mask = (mask as *const SignalMask as usize, size_of::<SignalMask>());
        call(libc::SYS_ppoll, [0, 0, length.as_ptr() as usize, mask.0, mask.1, 0])
    };
    slept == Err(libc::EINTR)
}

/// Reads a symbolic link into `buffer`; the length.
pub fn read_link(path: &[u8], buffer: &mut [u8]) -> Result<usize> {
    debug_assert!(path.last() == Some(&0));
    let at = libc::AT_FDCWD as usize;
    // SAFETY: a zero-ended path and a live buffer.
    unsafe {
        call(
            libc::SYS_readlinkat,
            [at, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0],
        )
    }
}

/// The working directory into `buffer`; the length without the zero byte.
pub fn working_directory(buffer: &mut [u8]) -> Result<usize> {
    // SAFETY: a live buffer.
    unsafe { call(libc::SYS_getcwd, [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0]) }
        .map(|length| length.saturating_sub(1))
}

/// Signals that were blocked before [`block_signals`].
#[derive(Clone, Copy)]
pub struct SignalMask(u64);

fn set_mask(how: i32, mask: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: two live words of the kernel's sigset size.
    let _ = unsafe {
        let (new, old) = (&mask as *const u64 as usize, &mut old as *mut u64 as usize);
        call(libc::SYS_rt_sigprocmask, [how as usize, new, old, 8, 0, 0])
    };
    old
}

/// Blocks every signal of the calling thread, glibc's own included.
pub fn block_signals() -> SignalMask {
    SignalMask(set_mask(libc::SIG_SETMASK, !0))
}

/// Undoes [`block_signals`].
pub fn restore_signals(mask: SignalMask) {
    set_mask(libc::SIG_SETMASK, mask.0);
}

/// Blocks no signal of the calling thread.
pub fn unblock_signals() {
    set_mask(libc::SIG_SETMASK, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_gives_its_errno_and_leaves_errno_alone() {
        // SAFETY: glibc's errno of this thread.
        unsafe { *libc::__errno_location() = 77 };
        assert_eq!(open(b"/nonexistent/file\0", libc::O_RDONLY).err(), Some(libc::ENOENT));
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
    }

    #[test]
    fn the_process_is_ours() {
        assert_eq!(process_id(), std::process::id());
    }
}
