//! Locations by number, and sets of them: what a node points to.
//!
//! A pointer to anywhere in an object covers the pointers to its offsets: a set that has one keeps no others to that
//! object. Where pointers are mixed up, sets are large and consist of such members: they are bits by object, and whole
//! sets are united, told apart and filtered at once.

use super::bits::BitSet;
use super::memory::ObjectId;

/// How many places in an object are told apart: anywhere, and offsets.
pub const PLACES: u32 = 1024;
/// Blocks of a bit set that an object's places take.
const BLOCKS: u32 = PLACES / BitSet::BLOCK;

/// A location's number: an object's, and that of a place in it. Place 0 is anywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocationId(u32);

impl LocationId {
    /// Anywhere in unknown code's memory.
    pub const EXTERNAL: LocationId = LocationId::any(ObjectId::EXTERNAL);
    /// Anywhere in the C library's memory.
    pub const LIBRARY: LocationId = LocationId::any(ObjectId::LIBRARY);
    /// Anywhere in arguments and environment.
    pub const ENVIRONMENT: LocationId = LocationId::any(ObjectId::ENVIRONMENT);
    /// How many objects can have locations.
    pub const OBJECTS: u32 = u32::MAX / PLACES;

    /// A place in an object.
    pub const fn new(object: ObjectId, place: u32) -> LocationId {
        LocationId(object.0 * PLACES + place)
    }

    /// Anywhere in an object.
    pub const fn any(object: ObjectId) -> LocationId {
        LocationId::new(object, 0)
    }

    /// In which object.
    pub const fn object(self) -> ObjectId {
        ObjectId(self.0 / PLACES)
    }

    /// Where in it.
    pub const fn place(self) -> u32 {
        self.0 % PLACES
    }
}

/// A set of locations.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct LocationSet {
    /// Objects that are pointed to, nobody knows where.
    any: BitSet,
    /// Offsets into other objects, by location.
    at: BitSet,
}

impl LocationSet {
    /// Anywhere in some objects.
    pub fn anywhere_in(objects: BitSet) -> LocationSet {
        LocationSet { any: objects, at: BitSet::default() }
    }

    /// Has no members.
    pub fn is_empty(&self) -> bool {
        self.any.is_empty() && self.at.is_empty()
    }

    /// The objects that are pointed to, nobody knows where.
    pub fn any(&self) -> &BitSet {
        &self.any
    }

    /// The other members.
    pub fn at_offsets(&self) -> impl Iterator<Item = LocationId> + '_ {
        self.at.iter().map(LocationId)
    }

    /// All members: those that are anywhere in an object first, each part ascending.
    pub fn iter(&self) -> impl Iterator<Item = LocationId> + '_ {
        self.any.iter().map(|object| LocationId::any(ObjectId(object))).chain(self.at_offsets())
    }

    /// All objects that are pointed to.
    pub fn objects(&self) -> BitSet {
        let mut all = self.any.clone();
        let at: BitSet = self.at_offsets().map(|location| location.object().0).collect();
        all.unite(&at);
        all
    }

    /// Unknown code's memory is pointed to.
    pub fn has_external(&self) -> bool {
        self.any.contains(ObjectId::EXTERNAL.0)
    }

    /// Adds a member; whether neither it nor one that covers it was there.
    pub fn insert(&mut self, location: LocationId) -> bool {
        let object = location.object().0;
        if location.place() != 0 {
            return !self.any.contains(object) && self.at.insert(location.0);
        }
        let is_new = self.any.insert(object);
        if is_new && !self.at.is_empty() {
            self.at.remove_blocks(object * BLOCKS..(object + 1) * BLOCKS);
        }
        is_new
    }

    /// Adds another's members.
    pub fn unite(&mut self, other: &LocationSet) {
        if self.any.unite(&other.any) {
            self.at = uncovered(&self.at, &self.any);
        }
        if !other.at.is_empty() {
            self.at.unite(&uncovered(&other.at, &self.any));
        }
    }

    /// The members that another set neither has nor covers.
    pub fn without(&self, other: &LocationSet) -> LocationSet {
        let at = if self.at.is_empty() { BitSet::default() } else { self.at.without(&other.at) };
        LocationSet { any: self.any.without(&other.any), at: uncovered(&at, &other.any) }
    }

    /// What both sets point to.
    pub fn common(&self, other: &LocationSet) -> LocationSet {
        let any = self.any.common(&other.any);
        let mut at = self.at.common(&other.at);
        for (offsets, objects) in [(&self.at, &other.any), (&other.at, &self.any)] {
            at.unite(&offsets.filter_blocks(|block| objects.contains(block / BLOCKS)));
        }
        LocationSet { any, at }
    }

    /// The members that are not in these objects.
    pub fn outside_of(&self, objects: &BitSet) -> LocationSet {
        LocationSet { any: self.any.without(objects), at: uncovered(&self.at, objects) }
    }
}

/// The offsets that are not into these objects.
fn uncovered(at: &BitSet, objects: &BitSet) -> BitSet {
    if objects.is_empty() {
        return at.clone();
    }
    at.filter_blocks(|block| !objects.contains(block / BLOCKS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::testing::Random;
    use std::collections::BTreeSet;

    /// A set as the places that it stands for: of few objects with few places each.
    type Plain = BTreeSet<(u32, u32)>;

    const OBJECTS: usize = 6;
    const FEW: [u32; 4] = [1, 2, 63, PLACES - 1];

    fn plain(set: &LocationSet) -> Plain {
        let members = set.iter().flat_map(|location| {
            let places = if location.place() == 0 {
                FEW.iter().copied().chain([0]).collect()
            } else {
                vec![location.place()]
            };
            places.into_iter().map(move |place| (location.object().0, place))
        });
        members.collect()
    }

    fn sets() -> Vec<LocationSet> {
        let mut random = Random::new(1);
        let mut sets = vec![LocationSet::default()];
        for count in [1, 2, 4, 8, 16, 24] {
            for _ in 0..6 {
                let mut set = LocationSet::default();
                for _ in 0..random.below(count) + 1 {
                    let place = if random.chance(25) { 0 } else { *random.pick(&FEW) };
                    set.insert(LocationId::new(ObjectId(random.below(OBJECTS) as u32), place));
                }
                sets.push(set);
            }
        }
        sets
    }

    #[test]
    fn a_location_is_an_object_and_a_place() {
        let last = LocationId::new(ObjectId(LocationId::OBJECTS - 1), PLACES - 1);
        assert_eq!((last.object(), last.place()), (ObjectId(LocationId::OBJECTS - 1), PLACES - 1));
        assert_eq!(LocationId::LIBRARY.object(), ObjectId::LIBRARY);
    }

    #[test]
    fn operations_agree_with_plain_sets_of_places() {
        for a in sets() {
            for b in sets() {
                let (left, right) = (plain(&a), plain(&b));
                let mut united = a.clone();
                united.unite(&b);
                assert_eq!(plain(&united), &left | &right);
                assert_eq!(plain(&a.common(&b)), &left & &right, "{a:?} {b:?}");
                // Anywhere in an object is new as a whole.
                let new = plain(&a.without(&b));
                assert!(new.is_superset(&(&left - &right)) && new.is_subset(&left));
                assert_eq!(new.is_empty(), left.is_subset(&right), "{a:?} {b:?}");
                let outside = plain(&a.outside_of(b.any()));
                assert_eq!(
                    outside,
                    left.iter().copied().filter(|(object, _)| !b.any().contains(*object)).collect()
                );
            }
        }
    }

    #[test]
    fn anywhere_covers_offsets_whenever_it_comes() {
        let at = |place| LocationId::new(ObjectId(5), place);
        let mut set = LocationSet::default();
        assert!(set.insert(at(3)) && set.insert(at(1000)) && !set.insert(at(3)));
        assert!(set.insert(LocationId::new(ObjectId(4), PLACES - 1)));
        assert!(set.insert(at(0)) && !set.insert(at(3)) && !set.insert(at(0)));
        assert_eq!(set.iter().collect::<Vec<_>>(), [at(0), LocationId::new(ObjectId(4), PLACES - 1)]);
        assert_eq!(set.objects().iter().collect::<Vec<_>>(), [4, 5]);
        assert!(!set.has_external() && !set.is_empty());
    }
}
