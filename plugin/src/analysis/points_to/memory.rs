//! Abstract memory: objects, and places in them by byte offset.

use super::locations::{LocationId, PLACES};
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
    /// What the analysis has in hand while memory is copied. Nothing points to it.
    Buffer,
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

impl Object {
    /// A variable one that is not single.
    pub(super) fn new(kind: ObjectKind, bytes: Option<u64>) -> Object {
        Object { kind, bytes, is_single: false, is_thread_local: false, is_constant: false }
    }
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

/// All objects, and the offsets in them that were asked for.
#[derive(Debug)]
pub struct Memory {
    objects: Vec<Object>,
    /// By object, the offsets that are told apart; place 0 in a set's numbers is none of them.
    offsets: Vec<Vec<(u64, u8)>>,
    places: Map<(u32, u64), u32>,
    /// See [`Limits::steps`](super::limits::Limits::steps).
    most_steps: u8,
}

impl Memory {
    /// Only the special objects.
    pub fn new(most_steps: u8) -> Memory {
        let mut memory =
            Memory { objects: Vec::new(), offsets: Vec::new(), places: Map::default(), most_steps };
        for kind in [ObjectKind::External, ObjectKind::Library, ObjectKind::Environment] {
            memory.add(Object::new(kind, None));
        }
        memory
    }

    /// A new object.
    pub fn add(&mut self, object: Object) -> ObjectId {
        if self.objects.len() as u32 >= LocationId::OBJECTS {
            // So many that they have no numbers: unknown memory.
            return ObjectId::EXTERNAL;
        }
        self.objects.push(object);
        self.offsets.push(Vec::new());
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
        let object = id.object();
        let offset = match (id.place(), self.object(object).kind) {
            (0, ObjectKind::Function(_)) => Offset::At(0),
            (0, _) => Offset::Any,
            (place, _) => Offset::At(self.offsets[object.index()][place as usize - 1].0),
        };
        Location { object, offset }
    }

    /// How many locations are told apart.
    pub fn location_count(&self) -> usize {
        self.objects.len() + self.places.len()
    }

    /// So many bytes into an object.
    pub fn at(&mut self, object: ObjectId, offset: i64) -> LocationId {
        self.stepped(object, offset, 0)
    }

    /// So many bytes further.
    pub fn shifted(&mut self, from: LocationId, by: i64) -> LocationId {
        if from.place() == 0 || by == 0 {
            return from;
        }
        let object = from.object();
        let (at, steps) = self.offsets[object.index()][from.place() as usize - 1];
        match (at as i64).checked_add(by) {
            Some(to) => self.stepped(object, to, steps.saturating_add(1)),
            None => LocationId::any(object),
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
            return LocationId::any(object);
        }
        let known = &mut self.offsets[object.index()];
        let place = match self.places.get(&(object.0, offset as u64)) {
            Some(&place) => place,
            None if steps > self.most_steps || known.len() as u32 + 1 >= PLACES => {
                return LocationId::any(object)
            }
            None => {
                known.push((offset as u64, steps));
                self.places.insert((object.0, offset as u64), known.len() as u32);
                known.len() as u32
            }
        };
        LocationId::new(object, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_outside_of_an_object_are_any() {
        let mut memory = Memory::new(6);
        let global = memory.add(Object::new(ObjectKind::Global(GlobalId(0)), Some(16)));
        let any = LocationId::any(global);
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
        let mut memory = Memory::new(6);
        let function = memory.add(Object::new(ObjectKind::Function(FuncId(0)), None));
        let it = memory.at(function, 0);
        assert_eq!(memory.shifted(it, 8), it);
        assert_eq!(LocationId::any(function), it);
        assert_eq!(memory.shifted(LocationId::EXTERNAL, 8), LocationId::EXTERNAL);
        assert_eq!(memory.location(LocationId::EXTERNAL), Location::EXTERNAL);
        assert_eq!(memory.location(LocationId::LIBRARY).object, ObjectId::LIBRARY);
        assert_eq!(memory.location(LocationId::ENVIRONMENT).object, ObjectId::ENVIRONMENT);
    }

    #[test]
    fn a_walk_along_an_object_ends() {
        let mut memory = Memory::new(6);
        let heap = memory.add(Object::new(ObjectKind::Heap(InstId(0)), None));
        let mut at = memory.at(heap, 0);
        let any = LocationId::any(heap);
        let mut steps = 0;
        while at != any {
            at = memory.shifted(at, 8);
            steps += 1;
        }
        assert_eq!(steps, 7);
    }
}
