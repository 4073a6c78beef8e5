//! The solution: each register's set, with equal sets kept once.

use super::bits::BitSet;
use super::effects::ObjectSet;
use super::graph::Node;
use super::locations::LocationSet;
use super::memory::{Location, Map, Object, ObjectId, ObjectKind, Offset};
use super::solver::Solver;
use crate::ir::code::{FuncId, GlobalId, InstId, Op, OpaqueId, Operand};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A set's place in the list of sets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SetId(u32);

impl SetId {
    const EMPTY: SetId = SetId(0);
    const EXTERNAL: SetId = SetId(1);
}

/// Locations, sorted by object and then offset, [`Offset::Any`] last.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Places {
    pub(super) list: Box<[Location]>,
    /// Some are in unknown code's memory.
    pub(super) has_external: bool,
    /// Some are in what unknown code may reach.
    has_escaped: bool,
}

/// What an instruction touches itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) set: SetId,
    /// How much.
    pub(super) bytes: u64,
    pub(super) reads: bool,
    pub(super) writes: bool,
}

/// Sets that are in the list. Most nodes of a large program have one of few large sets: as bits these are found without
/// writing them out.
#[derive(Default)]
struct Known {
    bits: Map<LocationSet, SetId>,
    lists: HashMap<Box<[Location]>, SetId>,
}

/// Where everything points.
#[derive(Debug)]
pub(super) struct Solved {
    objects: Vec<Object>,
    escaped: Arc<BitSet>,
    sets: Vec<Places>,
    values: Vec<SetId>,
    opaques: Map<u32, SetId>,
    /// By node, of those that are asked for.
    nodes: Map<Node, SetId>,
    /// Of loads, stores and the like.
    accesses: Vec<Access>,
    first_function: ObjectId,
    first_global: ObjectId,
}

impl Solved {
    pub(super) fn of(solver: &mut Solver<'_, '_>) -> Solved {
        let code = solver.code;
        let mut solved = Solved {
            objects: solver.memory.objects().to_vec(),
            escaped: Arc::new(solver.escaped.clone()),
            sets: vec![
                Places::default(),
                Places { list: Box::new([Location::EXTERNAL]), has_external: true, has_escaped: true },
            ],
            values: Vec::with_capacity(code.values.len()),
            opaques: Map::default(),
            nodes: Map::default(),
            accesses: Vec::with_capacity(code.insts.len()),
            first_function: solver.object_of_function(FuncId(0)),
            first_global: solver.object_of_global(GlobalId(0)),
        };
        let mut known = Known::default();
        for (index, places) in solved.sets.iter().enumerate() {
            known.lists.insert(places.list.clone(), SetId(index as u32));
        }
        for index in 0..code.values.len() {
            let set = solver.values[index].map_or(SetId::EMPTY, |node| solved.add(solver, node, &mut known));
            solved.values.push(set);
        }
        for index in 0..code.opaques.len() as u32 {
            if let Some(node) = solver.operand(Operand::Opaque(OpaqueId(index))) {
                let set = solved.add(solver, node, &mut known);
                solved.opaques.insert(index, set);
            }
        }
        let touched = solver.runs.values().flat_map(|runs| runs.reads.iter().chain(&runs.writes));
        for touch in touched {
            if let super::calls::Touch::Behind(node) = *touch {
                solved.add(solver, node, &mut known);
            }
        }
        for inst in &code.insts {
            let (address, bytes, reads, writes) = match inst.op {
                Op::Load { address, bytes, .. } => (address, bytes, true, false),
                Op::Store { address, bytes, .. } => (address, bytes, false, true),
                Op::Exchange { address, bytes, .. } => (address, bytes, true, true),
                _ => (Operand::Null, 0, false, false),
            };
            let set = solved.set_of_address(address, &mut known);
            solved.accesses.push(Access { set, bytes, reads, writes });
        }
        solved
    }

    fn add(&mut self, solver: &Solver<'_, '_>, node: Node, known: &mut Known) -> SetId {
        let root = solver.graph.find(node);
        let set = self.nodes.get(&root).copied().unwrap_or_else(|| {
            let bits = solver.graph.set(root);
            let set = known.bits.get(bits).copied().unwrap_or_else(|| {
                let list = bits.iter().map(|location| solver.memory.location(location)).collect();
                let set = self.intern(list, known);
                known.bits.insert(bits.clone(), set);
                set
            });
            self.nodes.insert(root, set);
            set
        });
        self.nodes.insert(node, set);
        set
    }

    fn intern(&mut self, mut list: Vec<Location>, known: &mut Known) -> SetId {
        list.sort_unstable();
        let list = list.into_boxed_slice();
        if let Some(&known) = known.lists.get(&list) {
            return known;
        }
        let has_external = list.iter().any(|location| location.object == ObjectId::EXTERNAL);
        let has_escaped = list.iter().any(|location| self.escaped.contains(location.object.0));
        let id = SetId(self.sets.len() as u32);
        self.sets.push(Places { list: list.clone(), has_external, has_escaped });
        known.lists.insert(list, id);
        id
    }

    fn set_of_address(&mut self, address: Operand, known: &mut Known) -> SetId {
        match address {
            Operand::Value(value) => self.values[value.index()],
            Operand::Opaque(id) => self.opaques.get(&id.0).copied().unwrap_or(SetId::EMPTY),
            Operand::Int { .. } => SetId::EXTERNAL,
            Operand::Global(..) | Operand::Function(_) => {
                let list = self.constant(address).into_iter().collect();
                self.intern(list, known)
            }
            Operand::Null | Operand::Undef => SetId::EMPTY,
        }
    }

    /// Where a constant points that is a variable's or function's address.
    fn constant(&self, operand: Operand) -> Option<Location> {
        match operand {
            Operand::Function(function) => {
                let object = ObjectId(self.first_function.0 + function.0);
                Some(Location { object, offset: Offset::At(0) })
            }
            Operand::Global(global, offset) => {
                let object = ObjectId(self.first_global.0 + global.0);
                let bytes = self.objects[object.index()].bytes;
                let is_inside = offset >= 0 && bytes.is_none_or(|bytes| offset as u64 <= bytes);
                let offset = if is_inside { Offset::At(offset as u64) } else { Offset::Any };
                Some(Location { object, offset })
            }
            _ => None,
        }
    }

    /// Where an operand may point, if it is used as an address.
    pub(super) fn places(&self, operand: Operand) -> Cow<'_, Places> {
        let set = match operand {
            Operand::Value(value) => self.values.get(value.index()).copied().unwrap_or(SetId::EMPTY),
            Operand::Opaque(id) => self.opaques.get(&id.0).copied().unwrap_or(SetId::EMPTY),
            Operand::Int { value, .. } if value != 0 => SetId::EXTERNAL,
            _ => SetId::EMPTY,
        };
        match self.constant(operand) {
            Some(location) => Cow::Owned(Places {
                list: Box::new([location]),
                has_external: false,
                has_escaped: self.escaped.contains(location.object.0),
            }),
            None => Cow::Borrowed(&self.sets[set.0 as usize]),
        }
    }

    pub(super) fn set(&self, set: SetId) -> &Places {
        &self.sets[set.0 as usize]
    }

    pub(super) fn access(&self, inst: InstId) -> Option<Access> {
        self.accesses.get(inst.index()).copied().filter(|access| access.reads || access.writes)
    }

    pub(super) fn objects(&self) -> &[Object] {
        &self.objects
    }

    pub(super) fn escaped(&self) -> &Arc<BitSet> {
        &self.escaped
    }

    /// Functions with a body that unknown code may call are among these.
    pub(super) fn escaped_functions(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.escaped.iter().filter_map(|object| match self.objects[object as usize].kind {
            ObjectKind::Function(function) => Some(function),
            _ => None,
        })
    }

    pub(super) fn objects_of_set(&self, set: SetId) -> ObjectSet {
        self.objects_of(&self.sets[set.0 as usize])
    }

    pub(super) fn objects_of_node(&self, node: Node) -> ObjectSet {
        self.nodes.get(&node).map_or_else(ObjectSet::default, |&set| self.objects_of_set(set))
    }

    pub(super) fn objects_of(&self, places: &Places) -> ObjectSet {
        let bits = places.list.iter().map(|location| location.object.0).collect();
        ObjectSet::new(bits, places.has_external.then(|| self.escaped.clone()))
    }

    /// Whether accesses of so many bytes may touch the same byte.
    pub(super) fn may_alias(&self, a: (&Places, Option<u64>), b: (&Places, Option<u64>)) -> bool {
        let ((a, a_bytes), (b, b_bytes)) = (a, b);
        if a_bytes == Some(0) || b_bytes == Some(0) {
            return false;
        }
        if (a.has_external && (b.has_external || b.has_escaped)) || (b.has_external && a.has_escaped) {
            return true;
        }
        let (mut left, mut right) = (&a.list[..], &b.list[..]);
        while let (Some(first), Some(second)) = (left.first(), right.first()) {
            let (mine, rest_left) = split(left, first.object);
            let (theirs, rest_right) = split(right, second.object);
            match first.object.cmp(&second.object) {
                std::cmp::Ordering::Less => left = rest_left,
                std::cmp::Ordering::Greater => right = rest_right,
                std::cmp::Ordering::Equal => {
                    let meet =
                        |a: &Location| theirs.iter().any(|b| overlap(a.offset, a_bytes, b.offset, b_bytes));
                    if mine.iter().any(meet) {
                        return true;
                    }
                    (left, right) = (rest_left, rest_right);
                }
            }
        }
        false
    }
}

/// The locations in an object at the beginning of a list, and the rest.
fn split(list: &[Location], object: ObjectId) -> (&[Location], &[Location]) {
    list.split_at(list.partition_point(|location| location.object <= object))
}

fn overlap(a: Offset, a_bytes: Option<u64>, b: Offset, b_bytes: Option<u64>) -> bool {
    match (a, a_bytes, b, b_bytes) {
        (Offset::At(a), Some(a_bytes), Offset::At(b), Some(b_bytes)) => {
            a < b.saturating_add(b_bytes) && b < a.saturating_add(a_bytes)
        }
        _ => true,
    }
}
