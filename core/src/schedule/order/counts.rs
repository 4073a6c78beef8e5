//! Semaphores and once.
//!
//! - Semaphore: posts are not ordered among each other, nor waits. The nth wait follows the (n - initial count)th post, so
//!   that it always finds a unit. All follow the init; the destroy follows all. `sem_getvalue` sees the count, so it
//!   follows everything before and comes before everything after. Where the count is not known, or others
//!   take units too (shared, named), the operations are a chain.
//! - Once: the begin and the end of the routine are a chain; the others follow its last end.

use super::locks::Fenced;
use super::walk::Sources;
use crate::hooks::{Effect, Op};
use crate::schedule::{Event, Phase};
use std::collections::VecDeque;

/// A semaphore.
pub(super) struct Semaphore<M> {
    shared: bool,
    /// Whether units can be told: its init was the first thing that happened to it, and it is nobody else's.
    counted: bool,
    used: bool,
    /// Units of the initial count that nobody has taken.
    initial: u32,
    /// Posts whose unit nobody has taken.
    posts: VecDeque<M>,
    uses: Fenced<M>,
}

impl<M> Semaphore<M> {
    pub(super) fn new(shared: bool) -> Self {
        let (posts, uses) = (VecDeque::new(), Fenced::new());
        Semaphore { shared, counted: false, used: false, initial: 0, posts, uses }
    }
}

impl<M: Clone> Semaphore<M> {
    pub(super) fn sources(&mut self, event: &Event, sources: &mut Sources<'_, M>) {
        match event.op.effect() {
            Effect::Release if self.counted => self.uses.follow_fence(sources),
            Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire if self.counted => {
                if self.initial > 0 {
                    self.initial -= 1;
                    self.uses.follow_fence(sources);
                } else if let Some(post) = self.posts.pop_front() {
                    self.uses.follow_fence(sources);
                    sources.object([&post]);
                } else {
                    // A unit from nowhere: the program posts where nothing sees it.
                    self.counted = false;
                    self.uses.follow_all(sources);
                }
            }
            _ => self.uses.follow_all(sources),
        }
    }

    pub(super) fn done(&mut self, event: &Event, mark: &M) {
        let effect = event.op.effect();
        if effect == Effect::Init {
            self.counted = !self.used && !self.shared && event.op != Op::sem_open;
            self.initial = event.count.unwrap_or_default();
            self.counted &= event.count.is_some();
        }
        self.used = true;
        match effect {
            Effect::Release if self.counted => {
                self.posts.push_back(mark.clone());
                self.uses.add_use(event.thread, mark);
            }
            Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire if self.counted => {
                self.uses.add_use(event.thread, mark);
            }
            _ => self.uses.set_fence(mark),
        }
    }
}

/// A once control.
pub(super) struct Once<M> {
    /// The last begin or end.
    last: Option<M>,
}

impl<M> Once<M> {
    pub(super) fn new() -> Self {
        Once { last: None }
    }
}

impl<M: Clone> Once<M> {
    pub(super) fn sources(&self, sources: &mut Sources<'_, M>) {
        sources.object(&self.last);
    }

    pub(super) fn done(&mut self, event: &Event, mark: &M) {
        if event.phase != Phase::Both {
            self.last = Some(mark.clone());
        }
    }
}
