//! Mutexes, spin locks, readers and writers.
//!
//! - Mutex, spin lock: init, lock, unlock, the two moments of a condition wait, destroy: each follows the one before.
//!   So do a lock that failed since the mutex cannot be recovered, and a destroy that found it held.
//! - Rwlock: a read lock follows the end of the last write section, or the init. A write lock, an init and a destroy
//!   follow everything before. A reader's unlock follows only its own thread, and a destroy that found the lock held.

use super::walk::Sources;
use crate::hooks::Effect;
use crate::ids::ThreadId;
use crate::schedule::Event;
use std::collections::BTreeMap;

/// A mutex or a spin lock: a chain.
pub(super) struct Lock<M> {
    last: Option<M>,
}

impl<M: Clone> Lock<M> {
    pub(super) fn sources(&self, sources: &mut Sources<'_, M>) {
        sources.object(&self.last);
    }

    pub(super) fn done(&mut self, mark: &M) {
        self.last = Some(mark.clone());
    }
}

impl<M> Lock<M> {
    pub(super) fn new() -> Self {
        Lock { last: None }
    }
}

/// What everything before comes before, and what has come since then, which is not ordered.
pub(super) struct Fenced<M> {
    fence: Option<M>,
    /// The last use by each thread; what it did before that follows from its own order.
    since: BTreeMap<ThreadId, M>,
}

impl<M> Fenced<M> {
    pub(super) fn new() -> Self {
        Fenced { fence: None, since: BTreeMap::new() }
    }
}

impl<M: Clone> Fenced<M> {
    /// Of a use.
    pub(super) fn follow_fence(&self, sources: &mut Sources<'_, M>) {
        sources.object(&self.fence);
    }

    /// Of what becomes the next fence.
    pub(super) fn follow_all(&self, sources: &mut Sources<'_, M>) {
        self.follow_fence(sources);
        sources.object(self.since.values());
    }

    pub(super) fn add_use(&mut self, thread: ThreadId, mark: &M) {
        self.since.insert(thread, mark.clone());
    }

    pub(super) fn set_fence(&mut self, mark: &M) {
        self.fence = Some(mark.clone());
        self.since.clear();
    }
}

/// A lock for readers and writers.
pub(super) struct Rwlock<M> {
    /// Fences are write sections and init; uses are those of readers.
    uses: Fenced<M>,
    /// How often each thread holds it for reading. Needed to tell whose unlock an unlock is.
    readers: BTreeMap<ThreadId, u32>,
}

impl<M> Rwlock<M> {
    pub(super) fn new() -> Self {
        Rwlock { uses: Fenced::new(), readers: BTreeMap::new() }
    }
}

impl<M: Clone> Rwlock<M> {
    pub(super) fn sources(&self, event: &Event, sources: &mut Sources<'_, M>) {
        match event.op.effect() {
            Effect::AcquireShared | Effect::TryAcquireShared | Effect::TimedAcquireShared => {
                self.uses.follow_fence(sources)
            }
            // What it follows came before its lock, unless it is a destroy that found the lock held.
            Effect::Release if self.readers.contains_key(&event.thread) => self.uses.follow_fence(sources),
            _ => self.uses.follow_all(sources),
        }
    }

    pub(super) fn done(&mut self, event: &Event, mark: &M) {
        let thread = event.thread;
        match event.op.effect() {
            Effect::AcquireShared | Effect::TryAcquireShared | Effect::TimedAcquireShared => {
                *self.readers.entry(thread).or_default() += 1;
                self.uses.add_use(thread, mark);
            }
            // Whoever does not read, writes; or it held the lock before it forked, for whichever.
            Effect::Release => match self.readers.get_mut(&thread) {
                Some(count) => {
                    *count -= 1;
                    if *count == 0 {
                        self.readers.remove(&thread);
                    }
                    self.uses.add_use(thread, mark);
                }
                None => self.uses.set_fence(mark),
            },
            _ => self.uses.set_fence(mark),
        }
    }
}
