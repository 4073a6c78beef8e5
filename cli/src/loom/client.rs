//! The controller's side of the conversation with the engine in a process ([`wire`]).
//!
//! A process that does not answer, answers something else, or promises more bytes than a message may have is an error in
//! words, never a hang: the time for a request is that for all of its answer, however slowly it drips. Who listens
//! is checked by the kernel's word ([`Client::peer`]), since a folder in `/tmp` may be anybody's.

use covsched_core::loom::wire::{self, FilterInfo, Head, Outcome, Process, ThreadAt};
use covsched_core::rawlog::Plain;
use std::io::{self, Read, Write};
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Why there is no answer to work with.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody listens there, or not for us.
    #[error("cannot connect to {path}: {error}")]
    Connect {
        /// The socket.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// The time is over.
    #[error("did not answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// It hung up: it ended, or was sent something that it does not take.
    #[error("closed the connection without an answer")]
    Closed,
    /// The socket broke.
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    /// Another version of covsched is linked in there.
    #[error(
        "speaks version {0} of the protocol and this covsched speaks {v}: use the covsched that it was built with",
        v = wire::VERSION
    )]
    Version(u16),
    /// It is no engine, or a broken one.
    #[error("sent an answer that makes no sense: {0}")]
    Malformed(&'static str),
    /// The engine's own words.
    #[error("{0}")]
    Refused(String),
}

/// What came of a change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It was made.
    Done(Outcome),
    /// It was not: these threads stood in the way. The program is as it was.
    NotDone(Outcome, Vec<ThreadAt>),
}

/// Who answers, and the hashes of its units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Greeting {
    pub process: Process,
    pub units: Vec<u64>,
}

/// A filter in a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    pub info: FilterInfo,
    /// The file it came from.
    pub name: String,
    /// Its text.
    pub source: String,
    /// What the engine has to say of it; empty if nothing.
    pub report: String,
}

/// Who listens at a socket, by the kernel's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    pub pid: u32,
    pub user: u32,
}

/// A connection to an engine.
pub struct Client {
    stream: UnixStream,
    timeout: Duration,
}

impl Client {
    /// Connects; `timeout` is for each request and its answer.
    pub fn connect(path: &Path, timeout: Duration) -> Result<Client, ClientError> {
        let failed = |error| ClientError::Connect { path: path.display().to_string(), error };
        let stream = connect(path, timeout).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => ClientError::Timeout(timeout),
            _ => failed(error),
        })?;
        Ok(Client { stream, timeout })
    }

    /// Who listens.
    pub fn peer(&self) -> io::Result<Peer> {
        // SAFETY: all zeros is a value of this plain C struct.
        let mut found: libc::ucred = unsafe { std::mem::zeroed() };
        let mut size = size_of_val(&found) as libc::socklen_t;
        // SAFETY: an open socket, and room for what this option gives.
        let failed = unsafe {
            libc::getsockopt(
                self.stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut found).cast(),
                &mut size,
            )
        };
        match failed {
            0 => Ok(Peer { pid: found.pid as u32, user: found.uid }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Asks who this is.
    pub fn hello(&mut self) -> Result<Greeting, ClientError> {
        let body = self.ask(wire::HELLO, &[], wire::PROCESS)?;
        let short = ClientError::Malformed("who it is, cut off");
        let Some(process) = Process::read(&body) else { return Err(short) };
        let units = &body[size_of::<Process>()..];
        if units.len() != 8 * process.units as usize {
            return Err(short);
        }
        let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("chunks of 8"));
        Ok(Greeting { process, units: units.chunks_exact(8).map(word).collect() })
    }

    /// Has a plan installed.
    pub fn add(&mut self, plan: &[u8]) -> Result<Answer, ClientError> {
        self.change(wire::ADD, plan)
    }

    /// Has a filter taken out.
    pub fn remove(&mut self, filter: u32) -> Result<Answer, ClientError> {
        self.change(wire::REMOVE, &filter.to_ne_bytes())
    }

    /// Has a plan take a filter's place, in one step.
    pub fn replace(&mut self, filter: u32, plan: &[u8]) -> Result<Answer, ClientError> {
        let mut body = filter.to_ne_bytes().to_vec();
        body.extend_from_slice(&[0; 4]);
        body.extend_from_slice(plan);
        self.change(wire::REPLACE, &body)
    }

    /// The filters.
    pub fn list(&mut self) -> Result<Vec<Filter>, ClientError> {
        let body = self.ask(wire::LIST, &[], wire::FILTERS)?;
        let short = || ClientError::Malformed("a list of filters, cut off");
        let mut filters = Vec::new();
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            let info = FilterInfo::read(rest).ok_or_else(short)?;
            rest = &rest[size_of::<FilterInfo>()..];
            let texts = [info.name, info.source, info.report].map(u64::from);
            // Cannot overflow: three 32-bit numbers.
            let all = texts.iter().sum::<u64>();
            if all.next_multiple_of(8) > rest.len() as u64 {
                return Err(short());
            }
            let mut at = 0;
            let [name, source, report] = texts.map(|length| {
                let text = &rest[at..at + length as usize];
                at += length as usize;
                String::from_utf8_lossy(text).into_owned()
            });
            rest = &rest[at.next_multiple_of(8)..];
            filters.push(Filter { info, name, source, report });
        }
        Ok(filters)
    }

    /// Where the threads are.
    pub fn threads(&mut self) -> Result<Vec<ThreadAt>, ClientError> {
        read_threads(&self.ask(wire::WHERE, &[], wire::THREADS)?)
    }

    fn change(&mut self, kind: u16, body: &[u8]) -> Result<Answer, ClientError> {
        let (kind, body) = self.exchange(kind, body)?;
        let outcome = || Outcome::read(&body).ok_or(ClientError::Malformed("an outcome, cut off"));
        match kind {
            wire::DONE => Ok(Answer::Done(outcome()?)),
            wire::NOT_DONE => Ok(Answer::NotDone(outcome()?, read_threads(&body[size_of::<Outcome>()..])?)),
            _ => Err(unexpected(kind, &body)),
        }
    }

    /// A request that has one kind of answer.
    fn ask(&mut self, kind: u16, body: &[u8], expected: u16) -> Result<Vec<u8>, ClientError> {
        let (kind, body) = self.exchange(kind, body)?;
        if kind == expected {
            Ok(body)
        } else {
            Err(unexpected(kind, &body))
        }
    }

    /// Sends a request and reads its answer.
    fn exchange(&mut self, kind: u16, body: &[u8]) -> Result<(u16, Vec<u8>), ClientError> {
        let deadline = Instant::now() + self.timeout;
        let head = Head {
            magic: wire::MAGIC,
            version: wire::VERSION,
            kind,
            length: u32::try_from(body.len()).map_err(|_| ClientError::Malformed("a request too long"))?,
        };
        let mut message = head.as_bytes().to_vec();
        message.extend_from_slice(body);
        self.send(&message, deadline)?;
        let mut bytes = [0; size_of::<Head>()];
        self.receive(&mut bytes, deadline)?;
        let head = Head::read(&bytes).expect("as many bytes as it has");
        if head.magic != wire::MAGIC {
            return Err(ClientError::Malformed("it does not begin with the protocol's magic word"));
        }
        if head.version != wire::VERSION {
            return Err(ClientError::Version(head.version));
        }
        if head.length as usize > wire::MAX_LENGTH {
            return Err(ClientError::Malformed("it is longer than a message may be"));
        }
        let mut body = vec![0; head.length as usize];
        self.receive(&mut body, deadline)?;
        Ok((head.kind, body))
    }

    fn send(&mut self, mut bytes: &[u8], deadline: Instant) -> Result<(), ClientError> {
        while !bytes.is_empty() {
            let time = self.time_left(deadline)?;
            self.stream.set_write_timeout(Some(time)).map_err(ClientError::Broken)?;
            match self.stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                // The engine may have refused the head already, and said so.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                Err(error) => self.retry(error)?,
            }
        }
        Ok(())
    }

    fn receive(&mut self, mut into: &mut [u8], deadline: Instant) -> Result<(), ClientError> {
        while !into.is_empty() {
            let time = self.time_left(deadline)?;
            self.stream.set_read_timeout(Some(time)).map_err(ClientError::Broken)?;
            match self.stream.read(into) {
                Ok(0) => return Err(ClientError::Closed),
                Ok(count) => into = &mut into[count..],
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(ClientError::Closed)
                }
                Err(error) => self.retry(error)?,
            }
        }
        Ok(())
    }

    fn time_left(&self, deadline: Instant) -> Result<Duration, ClientError> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(ClientError::Timeout(self.timeout))
        } else {
            Ok(left)
        }
    }

    fn retry(&self, error: io::Error) -> Result<(), ClientError> {
        match error.kind() {
            io::ErrorKind::Interrupted => Ok(()),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Err(ClientError::Timeout(self.timeout)),
            _ => Err(ClientError::Broken(error)),
        }
    }
}

fn unexpected(kind: u16, body: &[u8]) -> ClientError {
    match kind {
        wire::REFUSED => ClientError::Refused(String::from_utf8_lossy(body).into_owned()),
        _ => ClientError::Malformed("it answers another question"),
    }
}

fn read_threads(bytes: &[u8]) -> Result<Vec<ThreadAt>, ClientError> {
    if bytes.len() % size_of::<ThreadAt>() != 0 {
        return Err(ClientError::Malformed("a list of threads, cut off"));
    }
    Ok(bytes.chunks_exact(size_of::<ThreadAt>()).filter_map(ThreadAt::read).collect())
}

/// As [`UnixStream::connect`], with a timeout (an engine may be slow to accept) and for paths of any length (those
/// into containers are long).
fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = std::fs::File::open(folder)?;
    // A name that fits into the address, whatever the folder's is.
    let mut short = format!("/proc/self/fd/{}/", folder.as_raw_fd()).into_bytes();
    short.extend_from_slice(name.as_bytes());
    // SAFETY: all zeros is a value of this plain C struct.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if short.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, &from) in address.sun_path.iter_mut().zip(&short) {
        *to = from as libc::c_char;
    }
    // SAFETY: no preconditions.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and nobody else's.
    let stream = UnixStream::from(unsafe { OwnedFd::from_raw_fd(socket) });
    // Counts for connecting too.
    stream.set_write_timeout(Some(timeout))?;
    // SAFETY: an address of this family and its size.
    let failed = unsafe {
        libc::connect(socket, (&raw const address).cast(), size_of_val(&address) as libc::socklen_t)
    };
    match failed {
        0 => Ok(stream),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests;
