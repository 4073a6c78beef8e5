//! The memory accesses of owned code, by the objects that they may touch.
//!
//! A call of shared code counts as one access that may touch all that its callee may, and what that calls. A call of an
//! owned function counts as none: its accesses are there themselves. What runs at moments that no call says (handlers,
//! thread functions that are not cloned) floats: it may touch its objects at any time.

use super::places::Places;
use crate::analysis::points_to::{ObjectId, ObjectKind, ObjectSet, PointsTo};
use crate::ir::code::{Call, Callee, Code, FuncId, GlobalId, InstId, Op, Operand};
use std::collections::HashMap;

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Reads one place.
    Load,
    /// Writes one place.
    Store {
        /// With what.
        value: Operand,
    },
    /// Writes one place with a value that nobody knows.
    Fill,
    /// May write anything in its objects.
    Call,
}

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The instruction.
    pub inst: InstId,
    /// What it does.
    pub kind: Kind,
    /// Where, but for calls.
    pub address: Option<Operand>,
    /// How much, but for calls.
    pub bytes: u64,
    /// The value is not to be concluded: volatile or atomic.
    pub is_special: bool,
}

/// An access's place in [`Memory::accesses`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AccessId(pub u32);

/// All accesses of owned code.
pub struct Memory {
    /// In the order of the code.
    pub accesses: Vec<Access>,
    writers: HashMap<ObjectId, Vec<AccessId>>,
    readers: HashMap<ObjectId, Vec<AccessId>>,
    /// What may be written at any time.
    floating: ObjectSet,
    /// What constructors may write before main.
    early: ObjectSet,
}

impl Memory {
    /// Of a program.
    pub fn of(code: &Code<'_>, places: &Places<'_, '_>, points_to: &PointsTo) -> Memory {
        let mut memory = Memory {
            accesses: Vec::new(),
            writers: HashMap::new(),
            readers: HashMap::new(),
            floating: ObjectSet::default(),
            early: ObjectSet::default(),
        };
        for function in places.functions() {
            for block in code.blocks_of(function).filter(|&block| code.block(block).is_reachable) {
                for inst in code.insts_of(block) {
                    memory.add(code, places, points_to, inst);
                }
            }
        }
        let float = |memory: &mut Memory, function: FuncId| {
            memory.floating.unite(points_to.writes_of_function(function));
        };
        for &function in points_to.floating() {
            float(&mut memory, function);
        }
        for (number, data) in code.insts.iter().enumerate() {
            if matches!(data.op, Op::Call(_)) {
                for &started in points_to.starts(InstId(number as u32)) {
                    if !places.is_owned(started) {
                        float(&mut memory, started);
                    }
                }
            }
        }
        for &function in points_to.constructors() {
            memory.early.unite(points_to.writes_of_function(function));
        }
        memory
    }

    fn add(&mut self, code: &Code<'_>, places: &Places<'_, '_>, points_to: &PointsTo, inst: InstId) {
        let access = |kind, address, bytes, is_special| Access { inst, kind, address, bytes, is_special };
        let (reads, writes, access) = match code.inst(inst).op {
            Op::Load { address, bytes, is_special } => {
                (true, false, access(Kind::Load, Some(address), bytes, is_special))
            }
            Op::Store { address, value, bytes, is_special } => {
                (false, true, access(Kind::Store { value }, Some(address), bytes, is_special))
            }
            Op::Exchange { address, bytes, .. } => {
                (true, true, access(Kind::Fill, Some(address), bytes, true))
            }
            Op::Call(ref call) => {
                if matches!(call.callee, Callee::Function(callee) if places.is_owned(callee)) {
                    return;
                }
                match filled(code, call) {
                    // It also reads what it copies: as a call, of which only that counts.
                    Some((address, bytes)) => (true, true, access(Kind::Fill, Some(address), bytes, false)),
                    None => (true, true, access(Kind::Call, None, 0, false)),
                }
            }
            Op::Other { reads, writes, .. } if reads || writes => {
                (reads, writes, access(Kind::Call, None, 0, false))
            }
            _ => return,
        };
        let id = AccessId(self.accesses.len() as u32);
        self.accesses.push(access);
        if writes {
            for object in points_to.writes(inst).iter() {
                self.writers.entry(object).or_default().push(id);
            }
        }
        if reads {
            for object in points_to.reads(inst).iter() {
                self.readers.entry(object).or_default().push(id);
            }
        }
    }

    /// An access.
    pub fn access(&self, id: AccessId) -> &Access {
        &self.accesses[id.0 as usize]
    }

    /// Those that may write one of these objects.
    pub fn writers(&self, objects: &ObjectSet) -> Vec<AccessId> {
        of_objects(&self.writers, objects)
    }

    /// Those that may read one of these objects.
    pub fn readers(&self, objects: &ObjectSet) -> Vec<AccessId> {
        of_objects(&self.readers, objects)
    }

    /// Whether one of these objects may be written at any time.
    pub fn is_floating(&self, objects: &ObjectSet) -> bool {
        self.floating.intersects(objects)
    }

    /// Whether one of these objects may be written before main.
    pub fn is_early(&self, objects: &ObjectSet) -> bool {
        self.early.intersects(objects)
    }
}

fn of_objects(table: &HashMap<ObjectId, Vec<AccessId>>, objects: &ObjectSet) -> Vec<AccessId> {
    let mut found: Vec<AccessId> =
        objects.iter().filter_map(|object| table.get(&object)).flatten().copied().collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The variable that an address is in, if it can be in no other object.
pub fn variable(points_to: &PointsTo, address: Operand) -> Option<GlobalId> {
    let mut objects = points_to.objects_behind(address).iter();
    match (points_to.object(objects.next()?).kind, objects.next()) {
        (ObjectKind::Global(global), None) => Some(global),
        _ => None,
    }
}

/// What memset and its kin write, if that is so many bytes.
fn filled(code: &Code<'_>, call: &Call) -> Option<(Operand, u64)> {
    const FILLS: [&str; 3] = ["llvm.memset.", "llvm.memcpy.", "llvm.memmove."];
    let Callee::Function(callee) = call.callee else { return None };
    let name = &code.function(callee).name;
    if !FILLS.iter().any(|fill| name.starts_with(fill)) {
        return None;
    }
    match call.arguments[..] {
        [to, _, Operand::Int { value, .. }, ..] if value > 0 => Some((to, value)),
        _ => None,
    }
}
