//! Library calls that never block: a thread that makes one need not count as released (`loom`).
//!
//! Of the functions that the library table knows, those that [`may_block`] knows are not among these, nor what
//! works on files, asks name services or starts processes; of the hooks, those that wait for nothing. A wait for a lock
//! inside the library (malloc's, stdio's) is no wait: who holds it goes on by itself.

use super::{begins_with, may_block, never_synchronizes};
use crate::hooks::{Effect, Hook, CXX_HOOKS, HOOKS, MARKERS};

/// Whether a call of this function, a hook or a marker of covsched among them, never blocks.
pub fn never_blocks(linkage_name: &str) -> bool {
    if let Some(hook) = hook_behind(linkage_name) {
        return !waits(hook.op.effect());
    }
    if MARKERS.iter().any(|marker| marker.symbol == linkage_name) || runs_callback(linkage_name) {
        return true;
    }
    never_synchronizes(linkage_name)
        && !may_block(linkage_name)
        && SLOW.binary_search(&linkage_name).is_err()
        && !begins_with(linkage_name, SLOW_PREFIXES)
}

/// Whether this function, which never blocks by itself, runs functions of the program before it returns.
pub fn runs_callback(linkage_name: &str) -> bool {
    RUNS_CALLBACK.binary_search(&linkage_name).is_ok()
}

/// Whether this is a function of a library, or of covsched's runtime, whatever it does.
pub fn is_known(linkage_name: &str) -> bool {
    never_synchronizes(linkage_name)
        || may_block(linkage_name)
        || runs_callback(linkage_name)
        || hook_behind(linkage_name).is_some()
        || MARKERS.iter().any(|marker| marker.symbol == linkage_name)
}

fn hook_behind(linkage_name: &str) -> Option<&'static Hook> {
    HOOKS.iter().chain(CXX_HOOKS).find(|hook| hook.replaces == linkage_name || hook.symbol == linkage_name)
}

/// Making a thread waits for the system, ending one does not come back.
fn waits(effect: Effect) -> bool {
    !matches!(
        effect,
        Effect::Init
            | Effect::Destroy
            | Effect::TryAcquire
            | Effect::TryAcquireShared
            | Effect::Release
            | Effect::Signal
            | Effect::Broadcast
            | Effect::Detach
            | Effect::Notify
            | Effect::Read
    )
}

/// Run functions of the program.
#[rustfmt::skip]
const RUNS_CALLBACK: &[&str] = &[
    "_Unwind_Backtrace", "_Unwind_DeleteException", "__cxa_end_catch", "__cxa_finalize", "_pthread_cleanup_pop",
    "bsearch", "dl_iterate_phdr", "lfind", "lsearch", "pthread_cleanup_pop", "qsort", "qsort_r", "raise",
    "tdelete", "tdestroy", "tfind", "tsearch", "twalk", "twalk_r",
];

/// Files, name services, terminals, processes.
#[rustfmt::skip]
const SLOW: &[&str] = &[
    "__fxstat", "__fxstat64", "__fxstatat", "__fxstatat64", "__lxstat", "__lxstat64", "__open64_2", "__open_2",
    "__openat64_2", "__openat_2", "__overflow", "__readlink_chk", "__readlinkat_chk", "__realpath_chk",
    "__uflow", "__xstat", "__xstat64", "_flushlbf", "access", "backtrace_symbols_fd", "canonicalize_file_name",
    "catopen", "chdir", "chmod", "chown", "chroot", "close_range", "closedir", "closefrom", "closelog", "creat",
    "creat64", "daemon", "eaccess", "endgrent", "endhostent", "endmntent", "endprotoent", "endpwent",
    "endservent", "err", "error", "error_at_line", "errx", "euidaccess", "eventfd_read", "eventfd_write",
    "execl", "execle", "execlp", "execv", "execve", "execveat", "execvp", "execvpe", "faccessat", "fallocate",
    "fallocate64", "fchdir", "fchmod", "fchmodat", "fchown", "fchownat", "fcloseall", "fdopendir", "fexecve",
    "fgetpos", "fgetpos64", "fgetxattr", "flistxattr", "fremovexattr", "fseek", "fseeko", "fseeko64", "fsetpos",
    "fsetpos64", "fsetxattr", "fstat", "fstat64", "fstatat", "fstatat64", "fstatfs", "fstatfs64", "fstatvfs",
    "fstatvfs64", "ftell", "ftello", "ftello64", "ftok", "futimens", "futimes", "futimesat", "getdate",
    "getdents64", "getgrent", "getgrgid", "getgrgid_r", "getgrnam", "getgrnam_r", "getgrouplist",
    "gethostbyaddr_r", "gethostbyname2", "gethostbyname2_r", "gethostent", "getifaddrs", "getlogin",
    "getlogin_r", "getmntent", "getmntent_r", "getprotobyname", "getprotobyname_r", "getprotobynumber",
    "getprotobynumber_r", "getprotoent", "getpwent", "getpwnam", "getpwnam_r", "getpwuid", "getpwuid_r",
    "getservbyname", "getservbyname_r", "getservbyport", "getservbyport_r", "getservent", "getutent",
    "getxattr", "grantpt", "herror", "iconv_open", "initgroups", "inotify_add_watch", "lchmod", "lchown",
    "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "login_tty", "lremovexattr", "lsetxattr", "lstat",
    "lstat64", "lutimes", "malloc_stats", "mkdir", "mkdirat", "mkdtemp", "mkfifo", "mkfifoat", "mknod",
    "mknodat", "mkostemp", "mkostemps", "mkstemp", "mkstemp64", "mkstemps", "mktemp", "mount", "mq_open",
    "opendir", "openlog", "openpty", "posix_fallocate", "posix_fallocate64", "posix_openpt", "posix_spawn",
    "posix_spawnp", "ptrace", "readahead", "readdir", "readdir64", "readdir_r", "readlink", "readlinkat",
    "realpath", "remove", "removexattr", "rename", "renameat", "renameat2", "rewind", "rmdir", "setgrent",
    "sethostent", "setlocale", "setmntent", "setns", "setprotoent", "setpwent", "setservent", "setxattr",
    "shm_open", "shm_unlink", "shutdown", "stat", "stat64", "statfs", "statfs64", "statvfs", "statvfs64",
    "statx", "symlink", "symlinkat", "tcflow", "tcsetattr", "tempnam", "tmpfile", "tmpfile64", "tmpnam",
    "tmpnam_r", "truncate", "truncate64", "umount", "umount2", "unlink", "unlinkat", "unshare", "utime",
    "utimensat", "utimes", "verr", "verrx", "wordexp",
];

/// The same of libstdc++.
#[rustfmt::skip]
const SLOW_PREFIXES: &[&str] = &[
    "_ZNKSt10filesystem", "_ZNKSt12__basic_file", "_ZNKSt13random_device", "_ZNSd", "_ZNSt10filesystem",
    "_ZNSt12__basic_file", "_ZNSt13basic_fstream", "_ZNSt13random_device", "_ZNSt14basic_ifstream",
    "_ZNSt14basic_iostream", "_ZNSt14basic_ofstream", "_ZNSt15basic_streambuf", "_ZSt2ws", "_ZSt4ends",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_and_hold_known_names() {
        for table in [RUNS_CALLBACK, SLOW, SLOW_PREFIXES] {
            for pair in table.windows(2) {
                assert!(pair[0] < pair[1], "{} before {}", pair[0], pair[1]);
            }
        }
        for pair in SLOW_PREFIXES.windows(2) {
            assert!(!pair[1].starts_with(pair[0]), "{} covers {}", pair[0], pair[1]);
        }
        for &name in SLOW {
            assert!(never_synchronizes(name) && !may_block(name), "{name} need not be here");
        }
    }

    #[test]
    fn computing_never_blocks() {
        let never = "sin powf sqrtl strlen memcpy __memcpy_chk snprintf malloc free realloc isalpha qsort \
                     bsearch clock_gettime gettimeofday time pthread_self pthread_getspecific pthread_mutex_unlock \
                     covsched_pthread_mutex_unlock pthread_mutex_trylock pthread_cond_signal sem_post \
                     covsched_derived_enter covsched_epoch_marker __cxa_begin_catch __cxa_throw _Znwm _ZdlPvm __divti3 \
                     __errno_location __stack_chk_fail longjmp \
                     _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm";
        for name in never.split_whitespace() {
            assert!(never_blocks(name), "{name}");
            assert!(is_known(name), "{name}");
        }
    }

    #[test]
    fn what_waits_is_known_and_blocks() {
        let blocks = "read write poll printf puts open stat rename getpwnam execve pthread_mutex_lock \
                      covsched_pthread_mutex_lock pthread_cond_wait pthread_join pthread_barrier_wait sem_wait pthread_once \
                      pthread_create __cxa_guard_acquire nanosleep _ZNSolsEi _ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1Ev \
                      _ZNSt10filesystem6statusERKNS_4pathE";
        for name in blocks.split_whitespace() {
            assert!(!never_blocks(name), "{name}");
            assert!(is_known(name), "{name}");
        }
        for name in ["", "my_function", "mallocs", "_ZN3app4workEv", "covsched_unknown"] {
            assert!(!never_blocks(name) && !is_known(name), "{name}");
        }
    }
}
