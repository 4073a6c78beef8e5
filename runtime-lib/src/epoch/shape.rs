//! Which markers are passed by (Bergan 3.5): too short an epoch is worth little, and threads that stop at very
//! different moments wait for each other.
//!
//! A policy sees how long the thread's epoch is, and how long the longest of those is that already wait. Each lets a
//! thread pass a bounded number of markers, since lengths grow with every marker. Instructions only count where they
//! are counted: a thread in code without counters would never get to its minimum, so a marker before which
//! nothing was counted is judged by markers.

use core::sync::atomic::{AtomicU64, Ordering};

/// How long a thread's epoch is so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Length {
    /// Markers, this one included.
    pub markers: u64,
    /// Instructions, where they are counted.
    pub instructions: u64,
    /// Instructions have been counted since the marker before.
    pub is_counted: bool,
}

/// The longest epoch of a thread that waits at a marker. Read by who passes by, written only by who stops.
pub struct Ahead {
    markers: AtomicU64,
    instructions: AtomicU64,
}

impl Ahead {
    /// Nobody waits.
    pub const fn new() -> Ahead {
        Ahead { markers: AtomicU64::new(0), instructions: AtomicU64::new(0) }
    }

    /// A thread stops.
    pub fn reach(&self, length: &Length) {
        if length.markers > self.markers.load(Ordering::Relaxed) {
            self.markers.fetch_max(length.markers, Ordering::Relaxed);
        }
        if length.instructions > self.instructions.load(Ordering::Relaxed) {
            self.instructions.fetch_max(length.instructions, Ordering::Relaxed);
        }
    }

    /// An epoch starts.
    pub fn reset(&self) {
        self.markers.store(0, Ordering::Relaxed);
        self.instructions.store(0, Ordering::Relaxed);
    }
}

/// Why a marker is passed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The epoch would be too short.
    Short,
    /// Others are ahead.
    Balance,
}

/// A bypass policy.
pub trait Shape {
    /// Whether a thread passes by its marker.
    fn bypasses(&self, own: &Length, ahead: &Ahead) -> Option<Why>;
}

/// At least so many markers (`epoch-markers=N`).
pub struct MinimumMarkers(AtomicU64);

impl Shape for MinimumMarkers {
    #[inline(always)]
    fn bypasses(&self, own: &Length, _ahead: &Ahead) -> Option<Why> {
        (own.markers < self.0.load(Ordering::Relaxed)).then_some(Why::Short)
    }
}

/// At least so many instructions (`epoch-instructions=N`).
pub struct MinimumInstructions(AtomicU64);

impl Shape for MinimumInstructions {
    #[inline(always)]
    fn bypasses(&self, own: &Length, _ahead: &Ahead) -> Option<Why> {
        (own.is_counted && own.instructions < self.0.load(Ordering::Relaxed)).then_some(Why::Short)
    }
}

/// Not more than so much behind one that waits (`epoch-balance=K`): in instructions where they are counted, else in
/// markers. The largest number is for none.
pub struct Balance(AtomicU64);

impl Shape for Balance {
    #[inline(always)]
    fn bypasses(&self, own: &Length, ahead: &Ahead) -> Option<Why> {
        let most = self.0.load(Ordering::Relaxed);
        if most == u64::MAX {
            return None;
        }
        let (own, ahead) = if own.is_counted {
            (own.instructions, &ahead.instructions)
        } else {
            (own.markers, &ahead.markers)
        };
        (ahead.load(Ordering::Relaxed) > own.saturating_add(most)).then_some(Why::Balance)
    }
}

/// The policies of a run, in the order in which they are asked.
pub struct Policies {
    markers: MinimumMarkers,
    instructions: MinimumInstructions,
    balance: Balance,
}

impl Policies {
    /// That pass by no marker.
    pub const fn new() -> Policies {
        Policies {
            markers: MinimumMarkers(AtomicU64::new(1)),
            instructions: MinimumInstructions(AtomicU64::new(0)),
            balance: Balance(AtomicU64::new(u64::MAX)),
        }
    }

    /// As the options say. At start.
    pub fn set(&self, markers: u64, instructions: u64, balance: Option<u64>) {
        self.markers.0.store(markers, Ordering::Relaxed);
        self.instructions.0.store(instructions, Ordering::Relaxed);
        self.balance.0.store(balance.unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Shape for Policies {
    #[inline(always)]
    fn bypasses(&self, own: &Length, ahead: &Ahead) -> Option<Why> {
        self.markers
            .bypasses(own, ahead)
            .or_else(|| self.instructions.bypasses(own, ahead))
            .or_else(|| self.balance.bypasses(own, ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(markers: u64, instructions: u64) -> Length {
        Length { markers, instructions, is_counted: instructions > 0 }
    }

    #[test]
    fn without_options_every_marker_is_a_stop() {
        assert_eq!(Policies::new().bypasses(&length(1, 0), &Ahead::new()), None);
        let ahead = Ahead::new();
        ahead.reach(&length(99, 9999));
        assert_eq!(Policies::new().bypasses(&length(1, 0), &ahead), None);
    }

    #[test]
    fn an_epoch_has_its_minimum_of_markers_and_of_counted_instructions() {
        let (policies, ahead) = (Policies::new(), Ahead::new());
        policies.set(3, 100, None);
        assert_eq!(policies.bypasses(&length(2, 500), &ahead), Some(Why::Short));
        assert_eq!(policies.bypasses(&length(3, 99), &ahead), Some(Why::Short));
        assert_eq!(policies.bypasses(&length(3, 100), &ahead), None);
        // Nothing counted since the last marker: the minimum would never be reached.
        let uncounted = Length { markers: 3, instructions: 7, is_counted: false };
        assert_eq!(policies.bypasses(&uncounted, &ahead), None);
    }

    #[test]
    fn who_is_behind_goes_on_until_it_is_not() {
        let (policies, ahead) = (Policies::new(), Ahead::new());
        policies.set(1, 0, Some(2));
        assert_eq!(policies.bypasses(&length(1, 0), &ahead), None);
        ahead.reach(&length(5, 0));
        ahead.reach(&length(4, 0));
        assert_eq!(policies.bypasses(&length(2, 0), &ahead), Some(Why::Balance));
        assert_eq!(policies.bypasses(&length(3, 0), &ahead), None);
        ahead.reach(&length(1, 1000));
        assert_eq!(policies.bypasses(&length(9, 500), &ahead), Some(Why::Balance));
        assert_eq!(policies.bypasses(&length(9, 998), &ahead), None);
        ahead.reset();
        assert_eq!(policies.bypasses(&length(1, 1), &ahead), None);
    }
}
