//! The folder for what the runtime reads and writes: in memory if there is room, else beside the schedule that is
//! to be written, or with other temporary files if there is none or if it goes to a device; gone afterwards.

use crate::failure::Failure;
use crate::schedule_file::is_special;
use std::ffi::CString;
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How much of /dev/shm must be free.
const ROOM_IN_MEMORY: u64 = 1 << 30;

/// Removed when dropped, unless kept.
pub struct PrivateFolder {
    folder: TempDir,
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
        let absolute = std::path::absolute(&parent).unwrap_or_else(|_| parent.clone());
        let made = tempfile::Builder::new()
            .prefix("covsched-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(absolute);
        let folder = made.map_err(|error| {
            Failure::bad(format!("cannot make a temporary folder in {}: {error}", parent.display()))
        })?;
        Ok(PrivateFolder { folder })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves the folder where it is, and says where that is.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
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
