//! A thread's look at its own stack: it comes to a place to pause where who called decides whether it may stay.
//!
//! The engine looks at threads that block ([`stack`]). One that runs all the time, mostly in code that a filter's region calls too, would
//! never come to a place at which its location alone says that it may stay. So it looks itself, for as long as an update asks,
//! and stays if it sees none of the [`Frames`](stack::Frames). Nothing of this happens while no update is under way.
//! Limit: who runs with a deep stack ([`stack::LARGEST_OWN`]) must come to another place, or block, before it may stay.

use super::filter::Filter;
use super::members::{self, Member};
use super::protocol::{self, Finding};
use super::{block, stack};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// How many rounds there were.
static ROUNDS: AtomicU64 = AtomicU64::new(0);

/// The filter that is to come, in whose frames threads would be inside.
static COMING: AtomicPtr<Filter> = AtomicPtr::new(null_mut());

/// Before a round's request, and after its marks: what threads shall look for.
///
/// Who knows the round's number sees its marks, and its filter or none.
pub fn begin(filter: Option<&'static Filter>) {
    end();
    ROUNDS.fetch_add(1, Ordering::Release);
    let filter = filter.filter(|filter| !filter.frames().0.is_empty());
    let place = filter.map_or(null_mut(), |filter| (filter as *const Filter).cast_mut());
    COMING.store(place, Ordering::Release);
}

/// After the last round. Threads may be looking still: the filter's memory is to be retired if it did not come.
pub fn end() {
    COMING.store(null_mut(), Ordering::Release);
}

/// The number of this round.
pub fn round() -> u64 {
    ROUNDS.load(Ordering::Acquire)
}

impl Member {
    /// What this thread, the calling one, sees at `location`, where its stack begins at [`Member::stack`]. With signals blocked.
    pub fn sees(&self, location: usize) -> Option<Finding> {
        if !self.unsafe_from(location).is_some_and(members::depends_on_caller) {
            return None;
        }
        // A thread that is inside comes to many such places before it leaves.
        if self.has_mark() {
            return Some(Finding::Inside);
        }
        protocol::look(&ROUNDS, self, || {
            let has_begun = block::begin_reading(self);
            let finding = self.look_for_frames(location);
            block::end_reading(self, has_begun);
            finding
        })
    }

    /// Whether it has seen in this round that it is inside, and that is still on its stack.
    pub fn has_mark(&self) -> bool {
        let mark = self.mark.get();
        self.mark_round.get() == round() && mark.at >= self.stack.get() && mark.is_there()
    }

    fn look_for_frames(&self, location: usize) -> Option<Finding> {
        let round = round();
        // SAFETY: a filter that was found after reading has begun stays until that ends.
        let filter = unsafe { COMING.load(Ordering::Acquire).as_ref() }?;
        // The location is asked once more: it may have been marked for this round since.
        let top = self.outermost(location)?;
        let Some(mark) = stack::find_between(self.stack.get(), top, filter.frames())? else {
            return Some(Finding::Outside);
        };
        self.mark.set(mark);
        self.mark_round.set(round);
        Some(Finding::Inside)
    }
}
