//! What an epoch and a calling context are called (Bergan 3.6.2).
//!
//! A call stack is one number that grows and shrinks with the calls, as in PCC (Bond and McKinley, 2007): `3 * V + site`.
//! A call that returns restores the number from before it, so the number is always that of the calls that the
//! thread is in. As in the paper, two contexts may by chance have one number.
//!
//! An epoch's id is a hash of the multiset of (marker, call stack) over the live threads. Bergan sorts a list and
//! hashes that; here each pair is spread over a word and the words are added, which needs no order, no memory and no
//! sorting, and names the same multisets.

use covsched_core::hash::mix;
use covsched_core::SiteId;

/// The number of a call stack with one more call on it.
#[inline(always)]
pub fn with_call(stack: u64, site: SiteId) -> u64 {
    stack.wrapping_mul(3).wrapping_add(site.0)
}

/// Where threads are at the start of an epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bag {
    sum: u64,
    count: u64,
}

impl Bag {
    /// Adds a thread: the site where it is, and its call stack.
    pub fn add(&mut self, site: u64, stack: u64) {
        self.sum = self.sum.wrapping_add(mix(mix(site).wrapping_add(stack)));
        self.count += 1;
    }

    /// The id: never 0.
    pub fn id(&self) -> u64 {
        mix(self.sum ^ mix(self.count)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(threads: &[(u64, u64)]) -> u64 {
        let mut bag = Bag::default();
        threads.iter().for_each(|&(site, stack)| bag.add(site, stack));
        bag.id()
    }

    #[test]
    fn the_order_of_threads_does_not_matter_and_everything_else_does() {
        assert_eq!(id(&[(1, 2), (3, 4), (1, 2)]), id(&[(1, 2), (1, 2), (3, 4)]));
        let ids =
            [id(&[(1, 2)]), id(&[(2, 1)]), id(&[(1, 2), (1, 2)]), id(&[(1, 3)]), id(&[(0, 0)]), id(&[])];
        for (at, one) in ids.iter().enumerate() {
            assert!(*one != 0 && !ids[at + 1..].contains(one), "{at}");
        }
    }

    #[test]
    fn contexts_differ_by_the_calls_and_their_order() {
        let (a, b) = (SiteId(0x1234_5678_9abc), SiteId(0xdef0_1234));
        assert_ne!(with_call(with_call(0, a), b), with_call(with_call(0, b), a));
        assert_ne!(with_call(0, a), with_call(with_call(0, a), a));
    }
}
