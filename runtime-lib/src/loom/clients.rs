//! The engine's socket and who is connected to it.
//!
//! Everything is non-blocking: a message is read as it comes, and its answer sent as there is room. Who begins a message and does not go on, or does
//! not read an answer, is cut off after a while. What is not a message is the end of its connection.

use super::block::{self, Block};
use super::net::{self, Socket};
use super::report::Line;
use super::requests;
use super::settings::LONGEST_FOLDER;
use super::update::Installed;
use super::SETTINGS;
use crate::sys;
use core::mem::size_of;
use core::ptr::null_mut;
use covsched_core::loom::wire::{Head, MAGIC, MAX_LENGTH, VERSION};
use covsched_core::rawlog::Plain;

const MOST: usize = 16;
/// Room for a socket's name.
const PATH: usize = LONGEST_FOLDER + 18;
/// Nanoseconds after which a client that does not go on is cut off.
const PATIENCE: u64 = 10_000_000_000;
/// How often the socket is made again if the program closes it meanwhile.
const TRIES: u32 = 16;
/// Nanoseconds between them: it closes others, too, and is done with that soon.
const BETWEEN_TRIES: u32 = 20_000_000;

/// A connection.
struct Client {
    socket: Socket,
    head: [u8; size_of::<Head>()],
    /// How much of head and body has come.
    received: usize,
    body: *mut Block,
    answer: *mut Block,
    /// Of the answer: how long, and how much of it is sent.
    length: usize,
    sent: usize,
    /// When something last happened.
    last: u64,
}

/// All connections.
pub struct Clients {
    listener: Option<Socket>,
    clients: [Option<Client>; MOST],
    path: Line<PATH>,
    /// The process whose path it is; 0: no file.
    process: u32,
}

enum Next {
    /// Keep it.
    Keep,
    /// End it.
    End,
}

impl Clients {
    /// Nobody, and no socket.
    pub const fn new() -> Self {
        const NOBODY: Option<Client> = None;
        Clients { listener: None, clients: [NOBODY; MOST], path: Line::new(), process: 0 }
    }

    /// Makes the socket.
    pub fn open(&mut self) {
        let process = sys::process_id();
        let user = net::user();
        let mut folder = Line::<{ LONGEST_FOLDER + 2 }>::new();
        if SETTINGS.folder().is_empty() {
            folder.push("/tmp/covsched-").number(user.into());
        } else {
            folder.push_bytes(SETTINGS.folder());
        }
        if folder.bytes().len() > LONGEST_FOLDER {
            return complain(&folder, "has too long a name for a socket in it");
        }
        self.path = Line::new();
        self.path.push_bytes(folder.bytes()).push("/").number(process.into()).push(".sock");
        if let Err(text) = net::make_private_folder(folder.zero_ended(), user) {
            return complain(&folder, text);
        }
        remove_abandoned(&mut folder);
        // It gets its name when it listens, so that nobody takes it for abandoned.
        let mut unnamed = Line::<PATH>::new();
        unnamed.push_bytes(folder.bytes()).push("/").number(process.into()).push(".new");
        let mut listen = || {
            let _ = sys::remove(unnamed.zero_ended());
            net::listen(unnamed.zero_ended()).and_then(|listener| {
                let renamed = net::rename(unnamed.zero_ended(), self.path.zero_ended());
                renamed.map(|()| listener).inspect_err(|_| listener.close())
            })
        };
        // A program that closes all descriptors at its start closes this one too, at whatever step.
        let is_lost = |error: i32| matches!(error, libc::EBADF | libc::ENOTSOCK | libc::EINVAL);
        let mut listener = listen();
        for _ in 0..TRIES {
            if !listener.is_err_and(is_lost) {
                break;
            }
            sys::sleep_nanoseconds(BETWEEN_TRIES);
            listener = listen();
        }
        match listener {
            Ok(listener) => {
                self.listener = Some(listener);
                self.process = process;
            }
            Err(_) => complain(&folder, "does not take a socket"),
        }
    }

    /// Waits for up to `milliseconds`, and does what clients ask.
    pub fn serve(&mut self, installed: &mut Installed, milliseconds: u64) {
        const NOBODY: libc::pollfd = libc::pollfd { fd: -1, events: 0, revents: 0 };
        let mut polled = [NOBODY; MOST + 1];
        let has_room = self.clients.iter().any(|client| client.is_none());
        if let Some(listener) = self.listener.filter(|_| has_room) {
            if !listener.is_own() {
                // The program closed what it does not know. It can have done so only by number: make another.
                self.listener = None;
                sys::sleep_nanoseconds(BETWEEN_TRIES);
                self.open();
                return;
            }
            polled[MOST] = listener.wants(libc::POLLIN);
        }
        for (place, client) in polled.iter_mut().zip(&self.clients) {
            if let Some(client) = client {
                let events = if client.answer.is_null() { libc::POLLIN } else { libc::POLLOUT };
                *place = client.socket.wants(events);
            }
        }
        let has_clients = self.clients.iter().any(|client| client.is_some());
        net::poll(&mut polled, if has_clients { milliseconds.min(200) } else { milliseconds });
        let now = sys::monotonic_nanoseconds();
        for (place, polled) in self.clients.iter_mut().zip(&polled) {
            let Some(client) = place else { continue };
            let next = match polled.revents {
                0 if client.is_stuck(now) => Next::End,
                0 => Next::Keep,
                _ if !client.socket.is_own() => Next::End,
                _ => client.go_on(installed, now),
            };
            if matches!(next, Next::End) {
                client.free();
                *place = None;
            }
        }
        if polled[MOST].revents & libc::POLLIN != 0 {
            self.accept(now);
        }
    }

    fn accept(&mut self, now: u64) {
        let Some(listener) = self.listener.filter(Socket::is_own) else { return };
        for place in self.clients.iter_mut().filter(|client| client.is_none()) {
            let Ok(socket) = listener.accept() else { return };
            let peer = socket.peer_user();
            if peer.is_none_or(|peer| peer != 0 && peer != net::user()) {
                socket.close();
                continue;
            }
            *place = Some(Client {
                socket,
                head: [0; size_of::<Head>()],
                received: 0,
                body: null_mut(),
                answer: null_mut(),
                length: 0,
                sent: 0,
                last: now,
            });
        }
    }

    /// Ends all connections, and removes the file.
    pub fn close(&mut self) {
        self.clients.iter_mut().filter_map(Option::take).for_each(|client| client.free());
        self.listener.take().into_iter().for_each(Socket::close);
        self.remove_file();
        self.process = 0;
    }

    /// In a forked child: the connections are the parent's. Its engine may have been in the middle of anything: only descriptors are looked at,
    /// which are closed if they are what they should be; memory of messages is left.
    pub fn after_fork_in_child(&mut self) {
        self.clients.iter_mut().filter_map(Option::take).for_each(|client| client.socket.close());
        self.listener.take().into_iter().for_each(Socket::close);
        self.process = 0;
    }

    /// Removes the file, if it is this process's.
    pub fn remove_file(&mut self) {
        if self.process != 0 && self.process == sys::process_id() {
            let _ = sys::remove(self.path.zero_ended());
        }
    }
}

/// Removes sockets of processes that ended without doing so.
fn remove_abandoned(folder: &mut Line<{ LONGEST_FOLDER + 2 }>) {
    let mut path = Line::<PATH>::new();
    path.push_bytes(folder.bytes()).push("/");
    let folder_length = path.bytes().len();
    net::for_each_name(folder.zero_ended(), |name| {
        if name.ends_with(b".sock") {
            path.cut(folder_length);
            path.push_bytes(name);
            if net::is_abandoned(path.zero_ended()) {
                let _ = sys::remove(path.zero_ended());
            }
        }
    });
}

fn complain(folder: &Line<{ LONGEST_FOLDER + 2 }>, text: &str) {
    let folder = core::str::from_utf8(folder.bytes()).unwrap_or("?");
    sys::write_error(&["covsched: loom: folder '", folder, "' ", text, "; this process takes no filters\n"]);
}

impl Client {
    fn free(&self) {
        self.socket.close();
        [self.body, self.answer].into_iter().filter(|block| !block.is_null()).for_each(block::unmap);
    }

    /// Whether it has begun something and does not go on.
    fn is_stuck(&self, now: u64) -> bool {
        let has_begun = self.received > 0 || !self.answer.is_null();
        now - self.last > if has_begun { PATIENCE } else { 6 * PATIENCE }
    }

    fn go_on(&mut self, installed: &mut Installed, now: u64) -> Next {
        self.last = now;
        if !self.answer.is_null() {
            return self.send();
        }
        match self.receive() {
            Err(()) => Next::End,
            Ok(false) => Next::Keep,
            Ok(true) => {
                // SAFETY: received in full; an empty body has no block.
                let body = unsafe {
                    match self.body.is_null() {
                        true => &[],
                        false => core::slice::from_raw_parts(
                            block::body(self.body),
                            self.received - self.head.len(),
                        ),
                    }
                };
                let kind = Head::read(&self.head).map_or(0, |head| head.kind);
                let answer = requests::answer(installed, kind, body, now);
                if !self.body.is_null() {
                    block::unmap(self.body);
                }
                (self.body, self.received) = (null_mut(), 0);
                let Some((answer, length)) = answer else { return Next::End };
                (self.answer, self.length, self.sent) = (answer, length, 0);
                self.send()
            }
        }
    }

    /// Whether a whole message is there.
    fn receive(&mut self) -> Result<bool, ()> {
        let head_size = self.head.len();
        loop {
            if self.received < head_size {
                match take(&self.socket, &mut self.head[self.received..])? {
                    0 => return Ok(false),
                    count => self.received += count,
                }
                continue;
            }
            let head = Head::read(&self.head).ok_or(())?;
            let length = head.length as usize;
            if head.magic != MAGIC || head.version != VERSION || length > MAX_LENGTH {
                return Err(());
            }
            let missing = length - (self.received - head_size);
            if missing == 0 {
                return Ok(true);
            }
            if self.body.is_null() {
                self.body = block::map(length).ok_or(())?;
            }
            // SAFETY: the block has room for the body.
            let room = unsafe {
                let rest = block::body(self.body).add(self.received - head_size);
                core::slice::from_raw_parts_mut(rest, missing)
            };
            match take(&self.socket, room)? {
                0 => return Ok(false),
                count => self.received += count,
            }
        }
    }

    fn send(&mut self) -> Next {
        while self.sent < self.length {
            // SAFETY: the answer has so many bytes.
            let rest = unsafe {
                core::slice::from_raw_parts(block::body(self.answer).add(self.sent), self.length - self.sent)
            };
            match self.socket.send(rest) {
                Ok(count) => self.sent += count,
                Err(libc::EAGAIN | libc::EINTR) => return Next::Keep,
                Err(_) => return Next::End,
            }
        }
        block::unmap(self.answer);
        self.answer = null_mut();
        Next::Keep
    }
}

/// Receives what is there, 0 if nothing is yet.
fn take(socket: &Socket, room: &mut [u8]) -> Result<usize, ()> {
    match socket.receive(room) {
        Ok(0) => Err(()),
        Ok(count) => Ok(count),
        Err(libc::EAGAIN | libc::EINTR) => Ok(0),
        Err(_) => Err(()),
    }
}
