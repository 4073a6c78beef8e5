//! System calls for the engine's socket. As in [`crate::sys`]: raw, `Err(errno)` on failure. Descriptors are numbers here: the
//! program may close them, and give their numbers to something else, so each is used only after a look at what it is
//! ([`Socket::is_own`]).

use crate::sys::{call, SignalMask};
use core::mem::{size_of, size_of_val};

type Result<T> = core::result::Result<T, i32>;

/// A socket and its inode.
#[derive(Clone, Copy)]
pub struct Socket {
    fd: usize,
    inode: u64,
}

fn facts(fd: usize) -> Option<libc::stat> {
    // SAFETY: plain C data, which the kernel fills in.
    unsafe {
        let mut facts: libc::stat = core::mem::zeroed();
        call(libc::SYS_fstat, [fd, &raw mut facts as usize, 0, 0, 0, 0]).ok().map(|_| facts)
    }
}

/// What a call has just made. Lost if the program has closed it already: the number is then another file's, and left alone.
fn made(fd: usize) -> Result<Socket> {
    let is_socket = |facts: &libc::stat| facts.st_mode & libc::S_IFMT == libc::S_IFSOCK;
    let inode = facts(fd).filter(is_socket).ok_or(libc::EBADF)?.st_ino;
    Ok(Socket { fd, inode })
}

/// Out of the way of programs that count on low ones.
const HIGH: usize = 512;

fn duplicate(fd: usize) -> Result<usize> {
    // SAFETY: no memory involved.
    unsafe { call(libc::SYS_fcntl, [fd, libc::F_DUPFD_CLOEXEC as usize, HIGH, 0, 0, 0]) }
}

/// Has the kernel make its table of files large enough while there is one thread. Later it takes milliseconds, since all threads
/// are waited for, and a program that ends meanwhile waits, too.
pub fn make_room() {
    if let Ok(fd) = duplicate(libc::STDERR_FILENO as usize) {
        close(fd);
    }
}

/// Gives a socket a high number.
fn moved(socket: Socket) -> Result<Socket> {
    let Ok(fd) = duplicate(socket.fd) else {
        return if socket.is_own() { Ok(socket) } else { Err(libc::EBADF) };
    };
    let moved = Socket { fd, ..socket };
    if !moved.is_own() {
        // The program's own file, which has the number by now.
        close(fd);
        return Err(libc::EBADF);
    }
    socket.close();
    Ok(moved)
}

fn close(fd: usize) {
    // SAFETY: no memory involved.
    let _ = unsafe { call(libc::SYS_close, [fd, 0, 0, 0, 0, 0]) };
}

/// Opens a file for a moment. It is closed only if the number is still that file's.
fn with_file<T>(path: &[u8], flags: i32, body: impl FnOnce(crate::sys::Fd) -> T) -> Option<T> {
    let fd = crate::sys::open(path, flags).ok()?;
    let which = |facts: libc::stat| (facts.st_dev, facts.st_ino);
    let opened = facts(fd.number()).map(which);
    let done = body(fd);
    if opened.is_some() && facts(fd.number()).map(which) == opened {
        close(fd.number());
    }
    Some(done)
}

/// A new socket, and does something with it and an address (zero-ended).
fn with_address(path: &[u8], body: impl FnOnce(usize, usize, usize) -> Result<usize>) -> Result<Socket> {
    let kind = (libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as usize;
    // SAFETY: plain C data.
    unsafe {
        let mut address: libc::sockaddr_un = core::mem::zeroed();
        address.sun_family = libc::AF_UNIX as u16;
        if path.len() > address.sun_path.len() {
            return Err(libc::ENAMETOOLONG);
        }
        address.sun_path.iter_mut().zip(path).for_each(|(place, &byte)| *place = byte as _);
        let socket = made(call(libc::SYS_socket, [libc::AF_UNIX as usize, kind, 0, 0, 0, 0])?)?;
        let done = body(socket.fd, &raw const address as usize, size_of::<libc::sockaddr_un>());
        done.map(|_| socket).inspect_err(|_| socket.close())
    }
}

/// Listens at a path, which must not exist.
pub fn listen(path: &[u8]) -> Result<Socket> {
    const BACKLOG: usize = 16;
    // SAFETY: a live address.
    let bound = with_address(path, |fd, address, length| unsafe {
        call(libc::SYS_bind, [fd, address, length, 0, 0, 0])?;
        call(libc::SYS_listen, [fd, BACKLOG, 0, 0, 0, 0])
    });
    bound.and_then(moved)
}

/// Whether there is a socket at a path, and nobody listens any more.
pub fn is_abandoned(path: &[u8]) -> bool {
    let at = libc::AT_FDCWD as usize;
    // SAFETY: a zero-ended path, and plain C data for the kernel to fill in.
    let is_socket = unsafe {
        let mut facts: libc::stat = core::mem::zeroed();
        let flags = libc::AT_SYMLINK_NOFOLLOW as usize;
        let found =
            call(libc::SYS_newfstatat, [at, path.as_ptr() as usize, &raw mut facts as usize, flags, 0, 0]);
        found.is_ok() && facts.st_mode & libc::S_IFMT == libc::S_IFSOCK
    };
    if !is_socket {
        return false;
    }
    // SAFETY: a live address.
    let connected = with_address(path, |fd, address, length| unsafe {
        call(libc::SYS_connect, [fd, address, length, 0, 0, 0])
    });
    connected.map(Socket::close) == Err(libc::ECONNREFUSED)
}

/// Gives a file another name; both are zero-ended.
pub fn rename(from: &[u8], to: &[u8]) -> Result<()> {
    let at = libc::AT_FDCWD as usize;
    // SAFETY: zero-ended paths.
    unsafe {
        call(libc::SYS_renameat2, [at, from.as_ptr() as usize, at, to.as_ptr() as usize, 0, 0]).map(drop)
    }
}

/// Looks at the names in a folder (zero-ended), or some hundred of them.
pub fn for_each_name(folder: &[u8], mut body: impl FnMut(&[u8])) {
    const NAME_AT: usize = 19;
    let mut room = [0u64; 1024];
    let place = (room.as_mut_ptr() as usize, size_of_val(&room));
    // SAFETY: a live buffer.
    let read = with_file(folder, libc::O_RDONLY | libc::O_DIRECTORY, |fd| unsafe {
        call(libc::SYS_getdents64, [fd.number(), place.0, place.1, 0, 0, 0])
    });
    let Some(Ok(filled)) = read else { return };
    // SAFETY: the kernel wrote so many bytes.
    let mut rest = unsafe { core::slice::from_raw_parts(room.as_ptr().cast::<u8>(), filled) };
    while rest.len() > NAME_AT {
        let length = usize::from(u16::from_ne_bytes([rest[16], rest[17]]));
        let Some(record) = rest.get(NAME_AT..length) else { break };
        body(record.split(|&byte| byte == 0).next().unwrap_or(&[]));
        rest = &rest[length..];
    }
}

impl Socket {
    /// Whether the descriptor is still this socket.
    pub fn is_own(&self) -> bool {
        let is_socket = |facts: &libc::stat| facts.st_mode & libc::S_IFMT == libc::S_IFSOCK;
        facts(self.fd).is_some_and(|facts| is_socket(&facts) && facts.st_ino == self.inode)
    }

    /// Closes it, unless the program did.
    pub fn close(self) {
        if self.is_own() {
            close(self.fd);
        }
    }

    /// A connection, if one waits.
    pub fn accept(&self) -> Result<Socket> {
        let flags = (libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as usize;
        // SAFETY: no address wanted.
        unsafe { call(libc::SYS_accept4, [self.fd, 0, 0, flags, 0, 0]) }.and_then(made).and_then(moved)
    }

    /// Who is at the other end.
    pub fn peer_user(&self) -> Option<u32> {
        let mut credentials = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut length = size_of::<libc::ucred>() as u32;
        let (level, name) = (libc::SOL_SOCKET as usize, libc::SO_PEERCRED as usize);
        // SAFETY: the kernel writes that struct and its length.
        let asked = unsafe {
            let place = (&raw mut credentials as usize, &raw mut length as usize);
            call(libc::SYS_getsockopt, [self.fd, level, name, place.0, place.1, 0])
        };
        asked.ok().map(|_| credentials.uid)
    }

    /// Receives what is there: `Ok(0)` at the end, EAGAIN if there is nothing yet.
    pub fn receive(&self, room: &mut [u8]) -> Result<usize> {
        // SAFETY: a live buffer.
        unsafe {
            let flags = libc::MSG_DONTWAIT as usize;
            call(libc::SYS_recvfrom, [self.fd, room.as_mut_ptr() as usize, room.len(), flags, 0, 0])
        }
    }

    /// Sends what there is room for.
    pub fn send(&self, bytes: &[u8]) -> Result<usize> {
        let flags = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as usize;
        // SAFETY: a live buffer.
        unsafe { call(libc::SYS_sendto, [self.fd, bytes.as_ptr() as usize, bytes.len(), flags, 0, 0]) }
    }

    /// For [`poll`].
    pub fn wants(&self, events: i16) -> libc::pollfd {
        libc::pollfd { fd: self.fd as i32, events, revents: 0 }
    }
}

/// Waits until something happens to one of them, or so many milliseconds.
pub fn poll(sockets: &mut [libc::pollfd], milliseconds: u64) {
    let time = [milliseconds / 1000, milliseconds % 1000 * 1_000_000];
    let mask = (core::ptr::null::<SignalMask>() as usize, 0);
    // SAFETY: live structs; no mask.
    let _ = unsafe {
        let place = (sockets.as_mut_ptr() as usize, sockets.len());
        call(libc::SYS_ppoll, [place.0, place.1, time.as_ptr() as usize, mask.0, mask.1, 0])
    };
}

/// The user whose rights the process has.
pub fn user() -> u32 {
    // SAFETY: no memory involved.
    unsafe { call(libc::SYS_geteuid, [0; 6]) }.unwrap_or(0) as u32
}

/// Makes sure that a folder (zero-ended) is there, belongs to the user, and is nobody else's business.
pub fn make_private_folder(path: &[u8], user: u32) -> core::result::Result<(), &'static str> {
    let at = libc::AT_FDCWD as usize;
    let flags = (libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC | libc::O_RDONLY) as usize;
    // SAFETY: a zero-ended path.
    unsafe {
        // It may be there already: what counts is what it is.
        let _ = call(libc::SYS_mkdirat, [at, path.as_ptr() as usize, 0o700, 0, 0, 0]);
        let fd = call(libc::SYS_openat, [at, path.as_ptr() as usize, flags, 0, 0, 0])
            .map_err(|_| "cannot be made, or is no folder")?;
        let facts = facts(fd);
        close(fd);
        match facts {
            Some(facts) if facts.st_uid != user => Err("belongs to another user"),
            Some(facts) if facts.st_mode & 0o077 != 0 => {
                Err("is open to other users (its mode should be 0700)")
            }
            Some(_) => Ok(()),
            None => Err("cannot be looked at"),
        }
    }
}

/// Names the thread, and asks for sleeps that end on time.
pub fn introduce_thread(name: &[u8]) {
    debug_assert!(name.last() == Some(&0) && name.len() <= 16);
    const SLACK: usize = 1000;
    // SAFETY: a zero-ended name.
    unsafe {
        let _ = call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, name.as_ptr() as usize, 0, 0, 0, 0]);
        let _ = call(libc::SYS_prctl, [libc::PR_SET_TIMERSLACK as usize, SLACK, 0, 0, 0, 0]);
    }
}

/// Lets the signals through that glibc uses for itself: setuid in one thread must reach all.
pub fn let_glibc_signals_through() {
    const GLIBC: u64 = 1 << 31 | 1 << 32; // 32 and 33
                                          // SAFETY: one live word.
    let _ = unsafe {
        let how = libc::SIG_UNBLOCK as usize;
        call(libc::SYS_rt_sigprocmask, [how, &GLIBC as *const u64 as usize, 0, 8, 0, 0])
    };
}

/// Whether the thread that began the process has ended, and only the caller is left besides.
pub fn is_last_thread() -> bool {
    let mut text = [0u8; 512];
    let read = with_file(b"/proc/self/stat\0", libc::O_RDONLY, |fd| crate::sys::read(fd, &mut text));
    let Some(Ok(length)) = read else { return false };
    // After the name, which may hold anything: the state, and 17 fields later the number of threads.
    let text = &text[..length];
    let Some(end) = text.iter().rposition(|&byte| byte == b')') else { return false };
    let mut fields = text[end + 1..].split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let is_gone = fields.next() == Some(b"Z");
    is_gone && fields.nth(16) == Some(b"2")
}
