//! What threads hold of filters.

use super::members::Member;
use super::pile::Entry;

/// A lock that a thread holds.
#[derive(Clone, Copy)]
pub struct Holding {
    object: usize,
}

impl Entry for Holding {
    const EMPTY: Self = Holding { object: 0 };
    fn is_empty(&self) -> bool {
        self.object == 0
    }
}

/// Everything that a thread holds is released.
pub fn release_all(member: &Member) {
    member.holdings.clear();
}
