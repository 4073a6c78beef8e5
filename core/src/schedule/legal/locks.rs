//! Mutexes, spin locks, readers and writers.
//!
//! - A lock is acquired when nobody holds it; a recursive mutex also by its holder, which counts.
//! - It is released by the thread that holds it, and destroyed by nobody while it is held.
//! - A robust mutex whose owner died (EOWNERDEAD) is acquired although somebody holds it.
//! - Readers exclude writers and not each other; a reader may read-lock again, which counts.

use super::{errno, happened, list};
use crate::hooks::Effect;
use crate::ids::ThreadId;
use crate::schedule::{Event, MutexKind};
use std::collections::HashMap;

/// A mutex or a spin lock.
pub(super) struct Lock {
    kind: MutexKind,
    /// Whether the holder is known; in a forked process it is not at first.
    known: bool,
    holder: Option<ThreadId>,
    depth: u32,
}

impl Lock {
    pub(super) fn new(kind: MutexKind, known: bool) -> Lock {
        Lock { kind, known, holder: None, depth: 0 }
    }

    pub(super) fn event(&mut self, thread: ThreadId, event: &Event) -> Result<(), String> {
        let holds = self.holder == Some(thread);
        match event.op.effect() {
            Effect::Init if happened(event) => self.known = true,
            Effect::Destroy if happened(event) => {
                if let Some(holder) = self.holder {
                    return Err(format!("is destroyed while {holder} holds it"));
                }
            }
            Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire => match event.result {
                None | Some(0) => return self.acquire(thread, false),
                Some(errno::EOWNERDEAD) => return self.acquire(thread, true),
                Some(errno::EDEADLK) if self.kind == MutexKind::ErrorChecking && self.known && !holds => {
                    return Err(format!("fails with EDEADLK, but {thread} does not hold it"));
                }
                Some(_) => {}
            },
            Effect::Release => match event.result {
                None | Some(0) => return self.release(thread),
                Some(errno::EPERM) if holds => {
                    return Err(format!("fails with EPERM, but {thread} holds it"));
                }
                Some(_) => {}
            },
            _ => {}
        }
        Ok(())
    }

    pub(super) fn acquire(&mut self, thread: ThreadId, owner_died: bool) -> Result<(), String> {
        if !self.known {
            // How often a recursive one was locked before the fork stays unknown.
            self.known = self.kind != MutexKind::Recursive;
            (self.holder, self.depth) = (self.known.then_some(thread), 1);
            return Ok(());
        }
        match self.holder {
            None => (self.holder, self.depth) = (Some(thread), 1),
            Some(holder) if holder == thread && self.kind == MutexKind::Recursive => self.depth += 1,
            Some(holder) if holder != thread && owner_died => (self.holder, self.depth) = (Some(thread), 1),
            Some(holder) => return Err(format!("expected to be free for {thread}, but {holder} holds it")),
        }
        Ok(())
    }

    pub(super) fn release(&mut self, thread: ThreadId) -> Result<(), String> {
        if !self.known {
            self.known = self.kind != MutexKind::Recursive;
            return Ok(());
        }
        match self.holder {
            Some(holder) if holder == thread => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.holder = None;
                }
                Ok(())
            }
            Some(holder) => Err(format!("expected {thread} to hold it, but {holder} does")),
            None => Err(format!("expected {thread} to hold it, but nobody does")),
        }
    }
}

/// A lock for readers and writers.
pub(super) struct Rwlock {
    known: bool,
    writer: Option<ThreadId>,
    readers: HashMap<ThreadId, u32>,
}

impl Rwlock {
    pub(super) fn new(known: bool) -> Rwlock {
        Rwlock { known, writer: None, readers: HashMap::new() }
    }

    pub(super) fn event(&mut self, thread: ThreadId, event: &Event) -> Result<(), String> {
        if !happened(event) {
            return Ok(());
        }
        match event.op.effect() {
            Effect::Init => self.known = true,
            Effect::Destroy => self.need_free("to be free")?,
            Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire => {
                self.need_free(&format!("to be free for {thread} to write"))?;
                // Nobody else can hold it now, whatever was before.
                self.known = true;
                self.writer = Some(thread);
            }
            Effect::AcquireShared | Effect::TryAcquireShared | Effect::TimedAcquireShared => {
                if let Some(writer) = self.writer {
                    return Err(format!("expected no writer for {thread} to read, but {writer} holds it"));
                }
                *self.readers.entry(thread).or_default() += 1;
            }
            Effect::Release => return self.release(thread),
            _ => {}
        }
        Ok(())
    }

    fn need_free(&self, expected: &str) -> Result<(), String> {
        match self.writer {
            Some(writer) => Err(format!("expected {expected}, but {writer} holds it")),
            None if !self.readers.is_empty() && self.known => {
                Err(format!("expected {expected}, but {} read", list(self.readers.keys().copied())))
            }
            None => Ok(()),
        }
    }

    fn release(&mut self, thread: ThreadId) -> Result<(), String> {
        if self.writer == Some(thread) {
            self.writer = None;
            return Ok(());
        }
        match self.readers.get_mut(&thread) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) => {
                self.readers.remove(&thread);
            }
            None if !self.known => {}
            None => return Err(format!("expected {thread} to hold it, but it does not")),
        }
        Ok(())
    }
}
