//! The status file of a run: what the runtime in the program tells about how it follows the plan.
//! [`covsched_core::plan`] has the layout.

use crate::failure::Failure;
use covsched_core::plan::{
    status_size, Divergence, Progress, Status, STATE_DIVERGED, STATE_DIVERGING, STATE_FOLLOWING, STATUS_HEAD,
};
use covsched_core::schedule::compile::empty_status;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// [`Status::state`] after the program's end, if it did not diverge: only covsched sets and sees it.
const STATE_ENDED: u32 = u32::MAX;

/// A status file, mapped shared.
pub struct StatusFile {
    start: *mut u8,
    size: usize,
    threads: usize,
}

// SAFETY: the mapping is only looked at through atomics, and through `divergence` once the state says that it is
// complete; it belongs to no thread.
unsafe impl Send for StatusFile {}
// SAFETY: as above.
unsafe impl Sync for StatusFile {}

impl StatusFile {
    /// Makes a new file for so many threads.
    pub fn create(path: &Path, threads: usize) -> Result<StatusFile, Failure> {
        let failed = |error: std::io::Error| Failure::file(path, &error);
        let mut file = File::options().read(true).write(true).create_new(true).open(path).map_err(failed)?;
        file.write_all(&empty_status(threads)).map_err(failed)?;
        let size = status_size(threads);
        // SAFETY: a new mapping of a file that is as long as that.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(failed(std::io::Error::last_os_error()));
        }
        Ok(StatusFile { start: start.cast(), size, threads })
    }

    fn head(&self) -> &Status {
        // SAFETY: the mapping begins with a status, at a page's start; what others write meanwhile is atomic, except
        // for `divergence`, which no reference is used for.
        unsafe { &*self.start.cast() }
    }

    fn progress(&self) -> &[Progress] {
        // SAFETY: so many follow the head, which is a multiple of their alignment long; all fields are atomic.
        unsafe { std::slice::from_raw_parts(self.start.add(STATUS_HEAD).cast(), self.threads) }
    }

    /// Waits until the run has diverged, or until [`StatusFile::end`].
    pub fn wait(&self) -> Option<Divergence> {
        let state = &self.head().state;
        loop {
            match state.load(Ordering::Acquire) {
                STATE_DIVERGED => {
                    let place = std::ptr::addr_of!(self.head().divergence);
                    // SAFETY: in the mapping, any bytes are a value, and complete in this state.
                    return Some(unsafe { place.read() });
                }
                seen @ (STATE_FOLLOWING | STATE_DIVERGING) => futex_wait(state, seen),
                _ => return None,
            }
        }
    }

    /// The program has ended: nothing will change any more. A thread that was killed while it described a divergence
    /// does not keep anybody waiting.
    pub fn end(&self) {
        let state = &self.head().state;
        let over = |state| (state != STATE_DIVERGED).then_some(STATE_ENDED);
        let _ = state.fetch_update(Ordering::AcqRel, Ordering::Acquire, over);
        futex_wake(state);
    }

    /// Whether the runtime has taken up the plan.
    pub fn was_taken_up(&self) -> bool {
        self.head().process.load(Ordering::Acquire) != 0
    }

    /// How many times a thread found that it does not follow the plan.
    pub fn divergences(&self) -> u32 {
        self.head().divergences.load(Ordering::Acquire)
    }

    /// How many steps each thread has done.
    pub fn followed(&self) -> Vec<u32> {
        self.progress().iter().map(|thread| thread.followed.load(Ordering::Acquire)).collect()
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and references to it do not outlive it.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}

/// Sleeps while the word has this value; may wake for no reason. Shared between processes.
fn futex_wait(word: &AtomicU32, seen: u32) {
    let no_deadline = std::ptr::null::<libc::timespec>();
    // SAFETY: a futex word that lives as long as the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, no_deadline) };
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::plan::DivergenceKind;
    use std::time::Duration;

    fn status(folder: &tempfile::TempDir) -> StatusFile {
        StatusFile::create(&folder.path().join("plan.status"), 2).unwrap()
    }

    /// What the runtime does.
    fn diverge(status: &StatusFile, divergence: Divergence) {
        let head = status.head();
        head.state.store(STATE_DIVERGING, Ordering::Release);
        let place = std::ptr::addr_of!(head.divergence).cast_mut();
        // SAFETY: in the mapping, and nobody reads in this state.
        unsafe { place.write(divergence) };
        head.divergences.fetch_add(1, Ordering::Release);
        head.state.store(STATE_DIVERGED, Ordering::Release);
        futex_wake(&head.state);
    }

    #[test]
    fn who_waits_gets_the_divergence_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let status = status(&folder);
        let expected =
            Divergence { kind: DivergenceKind::OtherObject as u32, thread: 1, ..Default::default() };
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| status.wait());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!watcher.is_finished());
            diverge(&status, expected);
            assert_eq!(watcher.join().unwrap(), Some(expected));
        });
        // The end takes nothing away.
        status.end();
        assert_eq!(status.wait(), Some(expected));
        assert_eq!(status.divergences(), 1);
    }

    #[test]
    fn the_end_of_the_program_ends_the_wait() {
        for state in [STATE_FOLLOWING, STATE_DIVERGING] {
            let folder = tempfile::tempdir().unwrap();
            let status = status(&folder);
            status.head().state.store(state, Ordering::Release);
            std::thread::scope(|scope| {
                let watcher = scope.spawn(|| status.wait());
                std::thread::sleep(Duration::from_millis(20));
                status.end();
                assert_eq!(watcher.join().unwrap(), None);
            });
        }
    }

    #[test]
    fn progress_is_counted_by_thread() {
        let folder = tempfile::tempdir().unwrap();
        let status = status(&folder);
        assert!(!status.was_taken_up());
        status.head().process.store(7, Ordering::Relaxed);
        status.progress()[1].followed.store(3, Ordering::Relaxed);
        assert!(status.was_taken_up());
        assert_eq!(status.followed(), [0, 3]);
        assert!(StatusFile::create(&folder.path().join("plan.status"), 2).is_err());
    }
}
