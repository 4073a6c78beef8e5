//! Abstract memory: objects, and places in them by byte offset.

use crate::ir::code::{FuncId, GlobalId, InstId};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with small numbers for keys.
pub type Map<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;
/// A set of such.
pub type Set<K> = std::collections::HashSet<K, BuildHasherDefault<NumberHasher>>;

/// Multiplies; keys come from the analysis itself, so nobody chooses them to collide.
#[derive(Clone, Copy, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}

/// An object's place in [`super::PointsTo::objects`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// What code that is not here owns.
    pub const EXTERNAL: ObjectId = ObjectId(0);
    /// What the C library owns: errno, streams, the results of `localtime` and the like.
    pub const LIBRARY: ObjectId = ObjectId(1);
    /// The program's arguments and environment.
    pub const ENVIRONMENT: ObjectId = ObjectId(2);

    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ObjectKind {
    /// All memory of code that is not here. A pointer to it may also point to any object that escaped.
    External,
    /// All memory of the C library that programs may look into.
    Library,
    /// `argv` and the environment, the strings included.
    Environment,
    /// A variable.
    Global(GlobalId),
    /// A function.
    Function(FuncId),
    /// What an alloca makes, each time.
    Stack(InstId),
    /// What an allocating call makes, each time.
    Heap(InstId),
    /// A parameter's copy of what the caller passed by value.
    ByValue(FuncId, u32),
    /// The arguments of a variadic function's calls that have no parameter.
    Variadic(FuncId),
}

/// Memory that is not told apart further, but for offsets.
#[derive(Clone, Debug)]
pub struct Object {
    /// What.
    pub kind: ObjectKind,
    /// How large it is, if that is always the same.
    pub bytes: Option<u64>,
    /// There is one in a run, as far as the kind says: a variable's. Whether an alloca runs once is for others to say.
    pub is_single: bool,
    /// Each thread has its own.
    pub is_thread_local: bool,
    /// Never written.
    pub is_constant: bool,
}

/// Where in an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Offset {
    /// So many bytes from its start.
    At(u64),
    /// Anywhere in it.
    Any,
}

/// Where a pointer may point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Location {
    /// To what.
    pub object: ObjectId,
    /// Where in it.
    pub offset: Offset,
}

impl Location {
    /// Anywhere in unknown code's memory.
    pub const EXTERNAL: Location = Location { object: ObjectId::EXTERNAL, offset: Offset::Any };
}

/// A location's number, by which points-to sets know it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LocationId(pub u32);

impl LocationId {
    /// [`Location::EXTERNAL`].
    pub const EXTERNAL: LocationId = LocationId(0);
    /// Anywhere in the C library's memory.
    pub const LIBRARY: LocationId = LocationId(1);
    /// Anywhere in arguments and environment.
    pub const ENVIRONMENT: LocationId = LocationId(2);
}

/// How often an offset may be derived from another one that was new. A pointer that walks along an object comes to ever
/// new offsets; a field of a field of a field does so, too, but not so often.
const MOST_STEPS: u8 = 12;
/// How many offsets into one object are told apart.
const MOST_OFFSETS: u32 = 4096;

/// All objects, and the locations in them that were asked for.
#[derive(Debug)]
pub struct Memory {
    objects: Vec<Object>,
    /// How many offsets are told apart in each.
    offsets: Vec<u32>,
    locations: Vec<(Location, u8)>,
    index: Map<(u32, u64), LocationId>,
}

/// [`Offset::Any`] in the index.
const ANY: u64 = u64::MAX;

impl Memory {
    /// Only the special objects.
    pub fn new() -> Memory {
        let mut memory =
            Memory { objects: Vec::new(), offsets: Vec::new(), locations: Vec::new(), index: Map::default() };
        for kind in [ObjectKind::External, ObjectKind::Library, ObjectKind::Environment] {
            let object = memory.add(Object {
                kind,
                bytes: None,
                is_single: false,
                is_thread_local: false,
                is_constant: false,
            });
            memory.any(object);
        }
        memory
    }

    /// A new object.
    pub fn add(&mut self, object: Object) -> ObjectId {
        self.objects.push(object);
        self.offsets.push(0);
        ObjectId(self.objects.len() as u32 - 1)
    }

    /// All of them.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// One of them.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.index()]
    }

    /// Another call makes an object of this kind with another size.
    pub fn forget_size(&mut self, id: ObjectId) {
        self.objects[id.index()].bytes = None;
    }

    /// A location.
    pub fn location(&self, id: LocationId) -> Location {
        self.locations[id.0 as usize].0
    }

    /// How many locations there are.
    pub fn location_count(&self) -> usize {
        self.locations.len()
    }

    /// Anywhere in an object; a function is one place.
    pub fn any(&mut self, object: ObjectId) -> LocationId {
        if matches!(self.object(object).kind, ObjectKind::Function(_)) {
            return self.intern(object, 0, 0);
        }
        self.intern(object, ANY, 0)
    }

    /// So many bytes into an object.
    pub fn at(&mut self, object: ObjectId, offset: i64) -> LocationId {
        self.stepped(object, offset, 0)
    }

    /// So many bytes further.
    pub fn shifted(&mut self, from: LocationId, by: i64) -> LocationId {
        let (Location { object, offset }, steps) = self.locations[from.0 as usize];
        match offset {
            Offset::Any => from,
            _ if by == 0 => from,
            Offset::At(at) => match (at as i64).checked_add(by) {
                Some(to) => self.stepped(object, to, steps.saturating_add(1)),
                None => self.any(object),
            },
        }
    }

    fn stepped(&mut self, object: ObjectId, offset: i64, steps: u8) -> LocationId {
        let Object { kind, bytes, .. } = *self.object(object);
        let is_one_place = matches!(
            kind,
            ObjectKind::External | ObjectKind::Library | ObjectKind::Environment | ObjectKind::Function(_)
        );
        // One past the end is a place that pointers come back from.
        let is_inside = offset >= 0 && bytes.is_none_or(|bytes| offset as u64 <= bytes);
        if is_one_place || !is_inside {
            return self.any(object);
        }
        if let Some(&known) = self.index.get(&(object.0, offset as u64)) {
            return known;
        }
        if steps > MOST_STEPS || self.offsets[object.index()] >= MOST_OFFSETS {
            return self.any(object);
        }
        self.offsets[object.index()] += 1;
        self.intern(object, offset as u64, steps)
    }

    fn intern(&mut self, object: ObjectId, raw: u64, steps: u8) -> LocationId {
        let locations = &mut self.locations;
        *self.index.entry((object.0, raw)).or_insert_with(|| {
            let offset = if raw == ANY { Offset::Any } else { Offset::At(raw) };
            locations.push((Location { object, offset }, steps));
            LocationId(locations.len() as u32 - 1)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: ObjectKind, bytes: Option<u64>) -> Object {
        Object { kind, bytes, is_single: false, is_thread_local: false, is_constant: false }
    }

    #[test]
    fn offsets_outside_of_an_object_are_any() {
        let mut memory = Memory::new();
        let global = memory.add(object(ObjectKind::Global(GlobalId(0)), Some(16)));
        let any = memory.any(global);
        let start = memory.at(global, 0);
        let end = memory.shifted(start, 16);
        assert_eq!(memory.location(end), Location { object: global, offset: Offset::At(16) });
        assert_eq!(memory.shifted(end, -16), start);
        assert_eq!(memory.shifted(end, 1), any);
        assert_eq!(memory.shifted(start, -1), any);
        assert_eq!(memory.shifted(any, 8), any);
        assert_eq!(memory.at(global, -4), any);
    }

    #[test]
    fn functions_and_external_memory_are_one_place() {
        let mut memory = Memory::new();
        let function = memory.add(object(ObjectKind::Function(FuncId(0)), None));
        let it = memory.at(function, 0);
        assert_eq!(memory.shifted(it, 8), it);
        assert_eq!(memory.any(function), it);
        assert_eq!(memory.shifted(LocationId::EXTERNAL, 8), LocationId::EXTERNAL);
        assert_eq!(memory.location(LocationId::EXTERNAL), Location::EXTERNAL);
        assert_eq!(memory.location(LocationId::LIBRARY).object, ObjectId::LIBRARY);
        assert_eq!(memory.location(LocationId::ENVIRONMENT).object, ObjectId::ENVIRONMENT);
    }

    #[test]
    fn a_walk_along_an_object_ends() {
        let mut memory = Memory::new();
        let heap = memory.add(object(ObjectKind::Heap(InstId(0)), None));
        let mut at = memory.at(heap, 0);
        let any = memory.any(heap);
        let mut steps = 0;
        while at != any {
            at = memory.shifted(at, 8);
            steps += 1;
        }
        assert_eq!(steps, u32::from(MOST_STEPS) + 1);
    }
}
