//! A process from outside: whose it is, what it runs, where its engine listens.
//!
//! All from `/proc/PID`: the executable through `exe`, which opens even if the file is gone; the shared objects through `maps`
//! and `root`, so that a process in a container is looked at in its own files. Limit: a shared object that was replaced on
//! disk after the process loaded it cannot be read.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A process that was there when it was looked at.
pub struct Process {
    pub pid: u32,
    /// Whose it is.
    pub user: u32,
    /// Its number where it runs itself: in a container it is another one.
    inner_pid: u32,
    /// How many threads it has.
    pub threads: u32,
    folder: PathBuf,
}

/// Why a process cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("there is no process {0}")]
    None(u32),
    #[error("process {0} has ended: its parent has not looked at its exit code yet")]
    Ended(u32),
    #[error("process {pid} belongs to user {user}: only that user, or root, may look into it")]
    OtherUser { pid: u32, user: u32 },
    #[error("process {pid}: {path}: {error}")]
    File { pid: u32, path: PathBuf, error: io::Error },
}

/// A file that is mapped into a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapped {
    /// For people: the path as the process sees it.
    pub name: PathBuf,
    /// What to open.
    pub path: PathBuf,
    /// The file that was mapped is no more at its place.
    pub gone: bool,
}

impl Process {
    /// Looks at a process.
    pub fn find(pid: u32) -> Result<Process, ProcessError> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let status = fs::read_to_string(folder.join("status")).map_err(|_| ProcessError::None(pid))?;
        let Status { state, thread_group, user, inner_pid, threads } = Status::parse(&status);
        // The ids of threads have folders too.
        if thread_group != Some(pid) {
            return Err(ProcessError::None(pid));
        }
        if matches!(state, 'Z' | 'X') {
            return Err(ProcessError::Ended(pid));
        }
        Ok(Process { pid, user, inner_pid: inner_pid.unwrap_or(pid), threads, folder })
    }

    /// All processes whose files this user may read.
    pub fn all() -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut pids: Vec<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        pids.sort_unstable();
        pids.into_iter().filter_map(|pid| Process::find(pid).ok()).filter(Process::is_mine).collect()
    }

    /// Whether the engine would answer us.
    pub fn is_mine(&self) -> bool {
        let me = effective_user();
        me == 0 || me == self.user
    }

    /// Refuses another user's.
    pub fn check_owner(&self) -> Result<(), ProcessError> {
        if self.is_mine() {
            Ok(())
        } else {
            Err(ProcessError::OtherUser { pid: self.pid, user: self.user })
        }
    }

    /// What it runs, for people.
    pub fn name(&self) -> String {
        match fs::read_link(self.folder.join("exe")) {
            Ok(path) => path.to_string_lossy().trim_end_matches(" (deleted)").to_owned(),
            Err(_) => fs::read_to_string(self.folder.join("comm")).unwrap_or_default().trim_end().to_owned(),
        }
    }

    /// The executable first, then every other file that is mapped with code in it.
    pub fn mapped(&self) -> Result<Vec<Mapped>, ProcessError> {
        let failed = |path: PathBuf, error: io::Error| self.failed(path, error);
        let exe = self.folder.join("exe");
        let facts = fs::metadata(&exe).map_err(|error| failed(exe.clone(), error))?;
        let maps = self.folder.join("maps");
        let text = fs::read(&maps).map_err(|error| failed(maps.clone(), error))?;
        let mut files = vec![Mapped { name: PathBuf::from(self.name()), path: exe, gone: false }];
        for (inode, name) in mapped_code(&text) {
            if inode == facts.ino() && files[0].name == name {
                continue;
            }
            let path = self.inside(&name);
            let gone = fs::metadata(&path).map_or(true, |found| found.ino() != inode);
            files.push(Mapped { name, path, gone });
        }
        Ok(files)
    }

    /// Why one of its files cannot be read. What the kernel hides from its own user, or from root, is not another user's.
    fn failed(&self, path: PathBuf, error: io::Error) -> ProcessError {
        match error.kind() {
            io::ErrorKind::PermissionDenied if !self.is_mine() => {
                ProcessError::OtherUser { pid: self.pid, user: self.user }
            }
            io::ErrorKind::NotFound => ProcessError::None(self.pid),
            _ => ProcessError::File { pid: self.pid, path, error },
        }
    }

    /// The sockets at which its engine may listen, the likeliest first.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let environment = fs::read(self.folder.join("environ")).unwrap_or_default();
        sockets(&environment, self.user, self.inner_pid).iter().map(|path| self.inside(path)).collect()
    }

    /// A path of the process's own, seen from here.
    fn inside(&self, path: &Path) -> PathBuf {
        let root = self.folder.join("root");
        let same = |a: &Path, b: &Path| match (fs::metadata(a), fs::metadata(b)) {
            (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
            // Not ours to see: most processes have the same root.
            _ => true,
        };
        match path.strip_prefix("/") {
            Ok(rest) if !same(&root, Path::new("/")) => root.join(rest),
            Ok(_) => path.to_owned(),
            Err(_) => self.folder.join("cwd").join(path),
        }
    }
}

/// The user whose rights this process has.
pub fn effective_user() -> u32 {
    // SAFETY: no preconditions.
    unsafe { libc::geteuid() }
}

/// The folders in which this user's processes have their sockets, as far as they were not told otherwise.
pub fn usual_folders() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").filter(|value| !value.is_empty());
    let runtime = runtime.map(|folder| Path::new(&folder).join("covsched"));
    runtime.into_iter().chain([PathBuf::from(format!("/tmp/covsched-{}", effective_user()))]).collect()
}

/// As [`covsched_core::loom::wire`] says, with the process's own environment. It may have changed that before the engine started, so both places
/// count.
fn sockets(environment: &[u8], user: u32, pid: u32) -> Vec<PathBuf> {
    let value = |name: &str| {
        let found = environment.split(|&byte| byte == 0).find_map(|entry| {
            entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").filter(|value| !value.is_empty())
        });
        found.map(OsStr::from_bytes)
    };
    let name = format!("{pid}.sock");
    let mut places = Vec::new();
    if let Some(options) = value("COVSCHED_OPTIONS").and_then(OsStr::to_str) {
        let wanted = covsched_core::options::Parse::new(options).flatten();
        let folders = wanted.filter(|(row, _)| row.key == "loom-socket");
        places.extend(folders.map(|(_, folder)| Path::new(folder).join(&name)));
    }
    if let Some(folder) = value("XDG_RUNTIME_DIR") {
        places.push(Path::new(folder).join("covsched").join(&name));
    }
    places.push(PathBuf::from(format!("/tmp/covsched-{user}")).join(&name));
    places
}

#[derive(Default)]
struct Status {
    state: char,
    thread_group: Option<u32>,
    user: u32,
    inner_pid: Option<u32>,
    threads: u32,
}

impl Status {
    fn parse(text: &str) -> Status {
        let mut status = Status::default();
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let mut words = value.split_whitespace();
            match key {
                "State" => status.state = words.next().and_then(|word| word.chars().next()).unwrap_or('?'),
                "Tgid" => status.thread_group = words.next().and_then(|word| word.parse().ok()),
                // Real, effective, saved, file system.
                "Uid" => status.user = words.nth(1).and_then(|word| word.parse().ok()).unwrap_or(0),
                "NSpid" => status.inner_pid = words.last().and_then(|word| word.parse().ok()),
                "Threads" => status.threads = words.next().and_then(|word| word.parse().ok()).unwrap_or(0),
                _ => {}
            }
        }
        status
    }
}

/// Inode and path of each file that has code mapped, once.
fn mapped_code(maps: &[u8]) -> Vec<(u64, PathBuf)> {
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for line in maps.split(|&byte| byte == b'\n') {
        // address permissions offset device inode path
        let mut rest = line;
        let mut words = [&b""[..]; 5];
        for word in &mut words {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            (*word, rest) = rest.split_at(end);
        }
        let path = rest.trim_ascii_start();
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        let inode = std::str::from_utf8(words[4]).ok().and_then(|word| word.parse().ok()).unwrap_or(0);
        if !words[1].contains(&b'x') || !path.starts_with(b"/") || inode == 0 {
            continue;
        }
        let entry = (inode, PathBuf::from(OsStr::from_bytes(path)));
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processs_status_is_read() {
        let text = "Name:\tapp\nState:\tS (sleeping)\nTgid:\t17\nUid:\t1000\t1001\t1000\t1000\nNSpid:\t17\t3\nThreads:\t5\n";
        let status = Status::parse(text);
        assert_eq!((status.state, status.thread_group, status.user), ('S', Some(17), 1001));
        assert_eq!((status.inner_pid, status.threads), (Some(3), 5));
    }

    #[test]
    fn files_with_code_are_found_once() {
        let maps = b"00400000-00452000 r--p 00000000 08:02 173 /opt/my app\n\
            00452000-00453000 r-xp 00052000 08:02 173 /opt/my app\n\
            00453000-00454000 r-xp 00053000 08:02 173 /opt/my app\n\
            7f00-7f01 r-xp 00000000 08:02 99                         /usr/lib/lib x.so (deleted)\n\
            7f02-7f03 r-xp 00000000 00:00 0 [vdso]\n\
            7f04-7f05 rw-p 00000000 08:02 55 /data\n";
        let expected = [(173, PathBuf::from("/opt/my app")), (99, PathBuf::from("/usr/lib/lib x.so"))];
        assert_eq!(mapped_code(maps), expected);
    }

    #[test]
    fn sockets_are_where_the_processs_environment_says() {
        let environment = b"A=1\0XDG_RUNTIME_DIR=/run/user/7\0XDG_RUNTIME_DIRS=/x\0";
        let expected = ["/run/user/7/covsched/3.sock", "/tmp/covsched-7/3.sock"].map(PathBuf::from);
        assert_eq!(sockets(environment, 7, 3), expected);
        assert_eq!(sockets(b"", 7, 3), expected[1..]);
    }

    #[test]
    fn this_process_runs_this_test() {
        let me = Process::find(std::process::id()).unwrap();
        assert!(me.is_mine() && me.check_owner().is_ok() && me.threads >= 1);
        let files = me.mapped().unwrap();
        assert_eq!(files[0].name, std::env::current_exe().unwrap());
        assert_eq!(files.iter().filter(|file| file.name == files[0].name).count(), 1);
        assert!(files.iter().any(|file| !file.gone && file.name.ends_with("libc.so.6")), "{files:?}");
        assert!(Process::all().iter().any(|process| process.pid == me.pid));
    }

    #[test]
    fn what_the_kernel_hides_from_its_own_user_is_not_anothers() {
        let me = Process::find(std::process::id()).unwrap();
        let hidden = me.failed("/proc/1/exe".into(), io::ErrorKind::PermissionDenied.into());
        assert!(matches!(hidden, ProcessError::File { .. }), "{hidden}");
    }

    #[test]
    fn what_is_no_process_is_said() {
        // Larger than the kernel's largest.
        assert!(matches!(Process::find(5_000_000), Err(ProcessError::None(5_000_000))));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let ended = loop {
            match Process::find(child.id()) {
                Ok(_) => std::thread::yield_now(),
                Err(error) => break error,
            }
        };
        assert!(matches!(ended, ProcessError::Ended(_)), "{ended}");
        child.wait().unwrap();
    }
}
