//! The folder for what the runtime reads and writes: in memory if there is room, else beside the schedule that is
//! to be written, or with other temporary files if there is none or if it goes to a device; gone afterwards.
//!
//! A covsched that is killed leaves its folder behind, which in memory nobody can afford for long. So each holds a
//! lock on its folder, and the next one removes those that nobody holds.

use crate::failure::Failure;
use crate::schedule_file::is_special;
use std::ffi::CString;
use std::fs::{File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// How much of /dev/shm must be free.
const ROOM_IN_MEMORY: u64 = 1 << 30;

/// What the names of the folders begin with.
const PREFIX: &str = "covsched-";
/// Those that were kept on purpose: never removed.
const KEPT: &str = "covsched.kept-";

/// Removed when dropped, unless kept.
pub struct PrivateFolder {
    folder: TempDir,
    /// Locked as long as it is open; not in the program, which is another process.
    _lock: Option<File>,
}

impl PrivateFolder {
    /// Makes the folder.
    pub fn make(wanted: Option<&Path>, output: Option<&Path>) -> Result<PrivateFolder, Failure> {
        let memory = Path::new("/dev/shm");
        let parent = match wanted {
            Some(folder) => folder.to_owned(),
            None if free_space(memory) >= ROOM_IN_MEMORY => memory.to_owned(),
            None => on_disk(output),
        };
        if parent == memory {
            remove_abandoned(memory);
        }
        let absolute = std::path::absolute(&parent).unwrap_or_else(|_| parent.clone());
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(absolute);
        let folder = made.map_err(|error| {
            Failure::bad(format!("cannot make a temporary folder in {}: {error}", parent.display()))
        })?;
        let lock = File::open(folder.path()).ok().filter(lock);
        Ok(PrivateFolder { folder, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves the folder where it is, and says where that is.
    pub fn keep(self) -> PathBuf {
        let place = self.folder.keep();
        let name = place.file_name().unwrap_or_default().to_string_lossy().replacen(PREFIX, KEPT, 1);
        let kept = place.with_file_name(name);
        std::fs::rename(&place, &kept).map_or(place, |()| kept)
    }
}

/// Takes the lock of a folder, if nobody has it.
fn lock(folder: &File) -> bool {
    // SAFETY: an open file descriptor.
    unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) == 0 }
}

/// Removes the folders of those that are no more. Others' cannot be opened.
fn remove_abandoned(parent: &Path) {
    /// Between the making of a folder and its lock there is a moment.
    const MOMENT: Duration = Duration::from_secs(10);
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_new = |facts: std::fs::Metadata| {
            facts.modified().is_ok_and(|at| at.elapsed().unwrap_or_default() < MOMENT)
        };
        if !entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
            || entry.metadata().map_or(true, is_new)
        {
            continue;
        }
        if File::open(entry.path()).is_ok_and(|folder| lock(&folder)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Where there is room if memory has none. A folder of devices is no place for files.
fn on_disk(output: Option<&Path>) -> PathBuf {
    let Some(output) = output.filter(|output| !is_special(output)) else {
        return std::env::temp_dir();
    };
    let beside = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    beside.unwrap_or(Path::new(".")).to_owned()
}

/// Bytes that this user may still write; 0 if there is no such file system.
fn free_space(path: &Path) -> u64 {
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else { return 0 };
    // SAFETY: all zeros is a value of this plain C struct.
    let mut facts: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: a zero-ended name and a struct to write to.
    let failed = unsafe { libc::statvfs(name.as_ptr(), &mut facts) } != 0;
    if failed {
        return 0;
    }
    facts.f_bavail.saturating_mul(facts.f_frsize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_on_a_device_has_nothing_beside_it() {
        assert_eq!(on_disk(Some(Path::new("/dev/null"))), std::env::temp_dir());
        assert_eq!(on_disk(None), std::env::temp_dir());
        assert_eq!(on_disk(Some(Path::new("d/a.sched"))), Path::new("d"));
        assert_eq!(on_disk(Some(Path::new("a.sched"))), Path::new("."));
    }

    #[test]
    fn what_a_killed_covsched_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let living = PrivateFolder::make(Some(parent.path()), None).unwrap();
        let kept = PrivateFolder::make(Some(parent.path()), None).unwrap().keep();
        let [abandoned, young, other] =
            ["covsched-1", "covsched-2", "other"].map(|name| parent.path().join(name));
        for folder in [&abandoned, &young, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        for folder in [living.path(), &kept, &abandoned, &other] {
            File::open(folder).unwrap().set_modified(old).unwrap();
        }
        remove_abandoned(parent.path());
        assert!(!abandoned.exists());
        assert!([living.path(), &kept, &young, &other].into_iter().all(Path::is_dir));
    }

    #[test]
    fn the_folder_goes_away() {
        let parent = tempfile::tempdir().unwrap();
        let folder = PrivateFolder::make(Some(parent.path()), None).unwrap();
        let path = folder.path().to_owned();
        assert!(path.starts_with(parent.path()) && path.is_dir());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        drop(folder);
        assert!(!path.exists());
        assert!(PrivateFolder::make(Some(Path::new("/nonexistent")), None).is_err());
        assert_eq!(free_space(Path::new("/nonexistent")), 0);
    }
}
