//! Programs that get more rights than whoever starts them: setuid, setgid, file capabilities. The kernel marks such a
//! process, and the runtime in it reads no options from the environment, as it must not: the user could make it
//! write files with those rights. So it can neither be recorded nor follow a schedule.

use crate::failure::Failure;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who starts a program.
struct User {
    user: u32,
    group: u32,
}

/// Refuses a program that would not see its options.
pub fn check(app: &Path) -> Result<(), Failure> {
    // A program that is not there is told of elsewhere.
    let Ok(facts) = app.metadata() else { return Ok(()) };
    let Ok(name) = CString::new(app.as_os_str().as_bytes()) else { return Ok(()) };
    // SAFETY: these have no preconditions.
    let me = unsafe { User { user: libc::getuid(), group: libc::getgid() } };
    let gained = by_mode(facts.mode(), facts.uid(), facts.gid(), &me)
        .or_else(|| (me.user != 0 && has_capabilities(&name)).then_some("has file capabilities"));
    match gained.filter(|_| !are_disregarded(&name)) {
        None => Ok(()),
        Some(what) => Err(Failure::bad(format!(
            "{}: {what}: it would run with other rights than yours, and such a program takes no options from covsched. \
             Give a copy of it without them",
            app.display()
        ))),
    }
}

/// What the mode of a file says.
fn by_mode(mode: u32, owner: u32, group: u32, me: &User) -> Option<&'static str> {
    // Without the group's right to execute, the bit means something else.
    let sets_group = libc::S_ISGID | libc::S_IXGRP;
    if mode & libc::S_ISUID != 0 && owner != me.user {
        Some("is setuid")
    } else if mode & sets_group == sets_group && group != me.group {
        Some("is setgid")
    } else {
        None
    }
}

fn has_capabilities(app: &CString) -> bool {
    // SAFETY: zero-ended names, and no room to write to.
    unsafe { libc::getxattr(app.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

/// Whether the file system, or this process, gives no rights to anybody.
fn are_disregarded(app: &CString) -> bool {
    // SAFETY: all zeros is a value of this plain C struct; a zero-ended name; prctl with this option only tells.
    unsafe {
        let mut facts: libc::statvfs = std::mem::zeroed();
        let known = libc::statvfs(app.as_ptr(), &mut facts) == 0;
        known && facts.f_flag & libc::ST_NOSUID != 0
            || libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_another_user_or_group_gains_rights() {
        let me = User { user: 1000, group: 100 };
        assert_eq!(by_mode(0o755, 0, 0, &me), None);
        assert_eq!(by_mode(0o4755, 0, 100, &me), Some("is setuid"));
        assert_eq!(by_mode(0o4755, 1000, 100, &me), None);
        assert_eq!(by_mode(0o2755, 1000, 0, &me), Some("is setgid"));
        assert_eq!(by_mode(0o2745, 1000, 0, &me), None);
        assert_eq!(by_mode(0o6755, 1000, 100, &me), None);
    }

    #[test]
    fn the_users_own_programs_are_not_refused() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o4755)).unwrap();
        assert!(check(file.path()).is_ok());
        assert!(check(Path::new("/nonexistent")).is_ok());
    }
}
