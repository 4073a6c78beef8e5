//! Sets of numbers as bits, in blocks of 64; blocks without a member are left out.
//!
//! The sets of a points-to analysis are many, mostly small, often alike, and united all the time.

/// A set of numbers.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct BitSet {
    /// A block's number and its members; ascending, none empty.
    blocks: Vec<(u32, u64)>,
}

/// Below this share of the other's blocks, looking each up is faster than walking along both.
const LOOK_UP: usize = 8;

impl BitSet {
    /// Members in a block.
    pub const BLOCK: u32 = 64;

    /// A set with one member.
    pub fn of(member: u32) -> BitSet {
        BitSet { blocks: vec![(member / 64, 1 << (member % 64))] }
    }

    /// Has no members.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.blocks.iter().map(|&(_, bits)| bits.count_ones() as usize).sum()
    }

    /// Adds a member; whether it was none.
    pub fn insert(&mut self, member: u32) -> bool {
        let (key, bit) = (member / 64, 1u64 << (member % 64));
        match self.find(key) {
            Ok(at) => {
                let bits = &mut self.blocks[at].1;
                let is_new = *bits & bit == 0;
                *bits |= bit;
                is_new
            }
            Err(at) => {
                self.blocks.insert(at, (key, bit));
                true
            }
        }
    }

    /// Whether it is a member.
    pub fn contains(&self, member: u32) -> bool {
        self.find(member / 64).is_ok_and(|at| self.blocks[at].1 >> (member % 64) & 1 != 0)
    }

    /// Adds another's members; whether one was none.
    pub fn unite(&mut self, other: &BitSet) -> bool {
        let new = other.without(self);
        self.add_new(&new);
        !new.is_empty()
    }

    /// Adds another's members, and to `added` those that are new; whether there are any.
    pub fn absorb(&mut self, other: &BitSet, added: &mut BitSet) -> bool {
        let new = other.without(self);
        if new.is_empty() {
            return false;
        }
        self.add_new(&new);
        added.add_new(&new.without(added));
        true
    }

    /// The members that another set does not have.
    pub fn without(&self, other: &BitSet) -> BitSet {
        let mut blocks = Vec::new();
        if self.blocks.len() * LOOK_UP < other.blocks.len() {
            for &(key, bits) in &self.blocks {
                let theirs = other.find(key).map_or(0, |at| other.blocks[at].1);
                if bits & !theirs != 0 {
                    blocks.push((key, bits & !theirs));
                }
            }
            return BitSet { blocks };
        }
        let mut theirs = other.blocks.iter().peekable();
        for &(key, bits) in &self.blocks {
            while theirs.next_if(|&&(their, _)| their < key).is_some() {}
            let rest = match theirs.peek() {
                Some(&&(their, theirs)) if their == key => bits & !theirs,
                _ => bits,
            };
            if rest != 0 {
                blocks.push((key, rest));
            }
        }
        BitSet { blocks }
    }

    /// The members that another set has, too.
    pub fn common(&self, other: &BitSet) -> BitSet {
        let (few, many) = if self.blocks.len() < other.blocks.len() { (self, other) } else { (other, self) };
        let mut blocks = Vec::new();
        let mut from = 0;
        for &(key, bits) in &few.blocks {
            from += many.blocks[from..].partition_point(|&(their, _)| their < key);
            if let Some(&(their, theirs)) = many.blocks.get(from) {
                if their == key && bits & theirs != 0 {
                    blocks.push((key, bits & theirs));
                }
            }
        }
        BitSet { blocks }
    }

    /// Whether there is a common member.
    pub fn intersects(&self, other: &BitSet) -> bool {
        let (few, many) = if self.blocks.len() < other.blocks.len() { (self, other) } else { (other, self) };
        let mut from = 0;
        few.blocks.iter().any(|&(key, bits)| {
            from += many.blocks[from..].partition_point(|&(their, _)| their < key);
            many.blocks.get(from).is_some_and(|&(their, theirs)| their == key && bits & theirs != 0)
        })
    }

    /// The members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.blocks.iter().flat_map(|&(key, bits)| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                let lowest = rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
                (lowest < 64).then_some(key * 64 + lowest)
            })
        })
    }

    /// The members in blocks of which this is true, by the block's number.
    pub fn filter_blocks(&self, mut is_kept: impl FnMut(u32) -> bool) -> BitSet {
        BitSet { blocks: self.blocks.iter().copied().filter(|&(key, _)| is_kept(key)).collect() }
    }

    /// Removes all members in some blocks.
    pub fn remove_blocks(&mut self, range: std::ops::Range<u32>) {
        let from = self.blocks.partition_point(|&(key, _)| key < range.start);
        let to = self.blocks.partition_point(|&(key, _)| key < range.end);
        self.blocks.drain(from..to);
    }

    fn find(&self, key: u32) -> Result<usize, usize> {
        self.blocks.binary_search_by_key(&key, |&(key, _)| key)
    }

    /// Adds members that are none yet.
    fn add_new(&mut self, new: &BitSet) {
        if new.blocks.is_empty() {
            return;
        }
        if self.blocks.is_empty() {
            self.blocks.clone_from(&new.blocks);
            return;
        }
        if new.blocks.len() * LOOK_UP < self.blocks.len() {
            for &(key, bits) in &new.blocks {
                match self.find(key) {
                    Ok(at) => self.blocks[at].1 |= bits,
                    Err(at) => self.blocks.insert(at, (key, bits)),
                }
            }
            return;
        }
        let mut united = Vec::with_capacity(self.blocks.len() + new.blocks.len());
        let mut mine = self.blocks.iter().copied().peekable();
        for &(key, bits) in &new.blocks {
            while let Some(before) = mine.next_if(|&(my, _)| my < key) {
                united.push(before);
            }
            let same = mine.next_if(|&(my, _)| my == key).map_or(0, |(_, bits)| bits);
            united.push((key, bits | same));
        }
        united.extend(mine);
        self.blocks = united;
    }
}

impl std::fmt::Debug for BitSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl FromIterator<u32> for BitSet {
    fn from_iter<I: IntoIterator<Item = u32>>(members: I) -> BitSet {
        let mut set = BitSet::default();
        members.into_iter().for_each(|member| {
            set.insert(member);
        });
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::testing::Random;
    use std::collections::BTreeSet;

    /// Sets of several shapes: few and many members, close together and far apart.
    fn sets() -> Vec<BTreeSet<u32>> {
        let mut random = Random::new(1);
        let mut sets = vec![BTreeSet::new(), [0, 63, 64, u32::MAX].into()];
        for (count, below) in [(3, 100), (3, 100_000), (100, 128), (200, 50_000), (2000, 20_000)] {
            sets.push((0..count).map(|_| random.below(below) as u32).collect());
        }
        sets
    }

    #[test]
    fn operations_agree_with_a_plain_set() {
        for a in sets() {
            let set: BitSet = a.iter().copied().collect();
            assert_eq!(set.iter().collect::<BTreeSet<_>>(), a);
            assert_eq!((set.len(), set.is_empty()), (a.len(), a.is_empty()));
            for b in sets() {
                let other: BitSet = b.iter().copied().collect();
                let without: BitSet = a.difference(&b).copied().collect();
                assert_eq!(set.without(&other), without);
                assert_eq!(set.common(&other), a.intersection(&b).copied().collect());
                assert_eq!(set.intersects(&other), !a.is_disjoint(&b));
                let mut united = set.clone();
                let mut added = BitSet::of(7);
                assert_eq!(united.absorb(&other, &mut added), !b.is_subset(&a));
                assert_eq!(united, a.union(&b).copied().collect());
                assert_eq!(added, b.difference(&a).copied().chain([7]).collect());
                let mut same = set.clone();
                assert_eq!(same.unite(&other), !b.is_subset(&a));
                assert_eq!(same, united);
                assert!(b.iter().all(|&member| united.contains(member)));
                assert!(b.iter().all(|&member| set.contains(member) == a.contains(&member)));
            }
        }
    }
}
