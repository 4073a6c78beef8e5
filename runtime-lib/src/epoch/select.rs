//! What order an epoch has inside: asked once at each start, by the one thread that begins the epoch (`selectors` in
//! Bergan's Fig. 3.6).

use super::members::Members;

/// An epoch that is about to start: every thread is at a marker, blocked, or in a library call.
pub struct Start<'a> {
    /// Its number, from 1; what runs before the first start is epoch 0.
    pub number: u64,
    /// Its id: see [`super::id`].
    pub id: u64,
    /// Where the threads are. They stay there while this lasts, those in library calls aside.
    pub members: &'a Members<'a>,
}

/// What was selected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Selected {
    /// No order: the threads of the epoch run as they come.
    Free,
}

/// Chooses the order inside of an epoch.
pub trait Select {
    /// Runs while no thread that takes part is running.
    fn select(&self, epoch: &Start<'_>) -> Selected;
}

/// No order inside of any epoch.
pub struct Free;

impl Select for Free {
    #[inline(always)]
    fn select(&self, _epoch: &Start<'_>) -> Selected {
        Selected::Free
    }
}
