//! Epochs: where a run's threads stopped at markers (Bergan 3.2.2), and which epoch an event is in.
//!
//! A recording has two kinds of records about epochs, and a schedule has a [`Boundary`] for each: a thread stopped at a
//! marker; all threads began an epoch, which only a run with `epochs=barrier` has. Boundaries are no events:
//! they order nothing that the events do not order already, and [`super::legal`], [`super::order`],
//! [`super::compile`] and [`super::compare`] do not look at them.
//!
//! With `epochs=barrier` leaving a barrier of the program is a stop too, at the site of its wait.
//!
//! A boundary never stands between a derived event and the true one that it belongs to: derived events have no moment of
//! their own, so they are in the epoch of the true one.
//!
//! Limit: markers that a thread passed by are counted at the next one where it stops. Those after its last stop are
//! not in the schedule.

use super::{Schedule, SiteId, ThreadId};
use std::collections::BTreeMap;
use std::fmt;

/// An epoch's name: the hash of the multiset of the markers, with their call stacks, that its threads begin at
/// (Bergan 3.6.2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EpochId(pub u64);

impl fmt::Display for EpochId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The hash of a thread's call stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct StackHash(pub u64);

impl fmt::Display for StackHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Where an epoch ends or begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EpochBoundary {
    /// How many events of the total order come before it.
    pub place: usize,
    /// What happened there.
    pub boundary: Boundary,
}

/// What happens at a boundary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Boundary {
    /// A thread stopped at a marker: its epoch is over.
    Marker(Marker),
    /// All threads begin an epoch.
    Start {
        /// Its number, from 1: the run begins in epoch 0.
        number: u64,
        /// Its name.
        id: EpochId,
    },
}

/// A thread at a marker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marker {
    /// Who.
    pub thread: ThreadId,
    /// Where: a marker or the wait at a barrier; [`SiteId::NONE`] if no table knows it.
    pub site: SiteId,
    /// Inside of which calls.
    pub stack: StackHash,
    /// Markers that it passed by since it stopped before, since the epoch was too short.
    pub passed_short: u32,
    /// Markers that it passed by since then for balance.
    pub passed_balance: u32,
    /// Instructions since then; `None` if the program does not count them.
    pub instructions: Option<u32>,
}

/// What a schedule's boundaries come to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EpochCounts {
    /// Stops at a marker.
    pub stopped: u64,
    /// Markers passed by for length.
    pub passed_short: u64,
    /// Markers passed by for balance.
    pub passed_balance: u64,
    /// Starts of an epoch by all threads; 0 without `epochs=barrier`.
    pub starts: u64,
    /// Stops of the thread that has the most.
    pub most_stops: u64,
    /// Least, median and most instructions of a thread's epoch, of those that are counted.
    pub instructions: Option<[u32; 3]>,
}

impl Schedule {
    /// Whether all threads began epochs together.
    pub fn has_global_epochs(&self) -> bool {
        self.epochs.iter().any(|each| matches!(each.boundary, Boundary::Start { .. }))
    }

    /// Each event's epoch: with `epochs=barrier` the one that all threads are in, else how often the event's thread has
    /// stopped at a marker before. `None` if the schedule has no boundary.
    pub fn event_epochs(&self) -> Option<Vec<u64>> {
        if self.epochs.is_empty() {
            return None;
        }
        let is_global = self.has_global_epochs();
        let mut global = 0;
        let mut stops = vec![0; self.threads.len()];
        let mut boundaries = self.epochs.iter().peekable();
        let epochs = self.events.iter().enumerate().map(|(index, event)| {
            while let Some(reached) = boundaries.next_if(|each| each.place <= index) {
                match &reached.boundary {
                    Boundary::Start { number, .. } => global = *number,
                    Boundary::Marker(marker) => {
                        if let Some(count) = stops.get_mut(marker.thread.0 as usize) {
                            *count += 1;
                        }
                    }
                }
            }
            if is_global {
                global
            } else {
                stops.get(event.thread.0 as usize).copied().unwrap_or_default()
            }
        });
        Some(epochs.collect())
    }

    /// For each start of an epoch by all threads, in order: the markers at which threads waited for it. The others
    /// were blocked, had left their epoch for a call that may block, or had ended.
    pub fn markers_at_starts(&self) -> Vec<Vec<&Marker>> {
        let mut starts = Vec::new();
        let mut waiting: BTreeMap<ThreadId, &Marker> = BTreeMap::new();
        for each in &self.epochs {
            match &each.boundary {
                Boundary::Marker(marker) => {
                    waiting.insert(marker.thread, marker);
                }
                Boundary::Start { .. } => starts.push(std::mem::take(&mut waiting).into_values().collect()),
            }
        }
        starts
    }

    /// What the boundaries come to.
    pub fn epoch_counts(&self) -> EpochCounts {
        let mut counts = EpochCounts::default();
        let mut stops: BTreeMap<ThreadId, u64> = BTreeMap::new();
        let mut instructions = Vec::new();
        for each in &self.epochs {
            match &each.boundary {
                Boundary::Start { .. } => counts.starts += 1,
                Boundary::Marker(marker) => {
                    counts.stopped += 1;
                    counts.passed_short += u64::from(marker.passed_short);
                    counts.passed_balance += u64::from(marker.passed_balance);
                    *stops.entry(marker.thread).or_default() += 1;
                    instructions.extend(marker.instructions);
                }
            }
        }
        counts.most_stops = stops.into_values().max().unwrap_or_default();
        instructions.sort_unstable();
        if let (Some(&least), Some(&most)) = (instructions.first(), instructions.last()) {
            counts.instructions = Some([least, instructions[instructions.len() / 2], most]);
        }
        counts
    }
}

#[cfg(test)]
pub(super) mod tests;
