//! The bytes of a plan.

use super::expression::Instruction;
use super::operations::Operation;
use super::{CodeRange, Program};
use crate::loom::graph::Graph;
use crate::loom::plan::{
    code, ConstraintRecord, Frame, OpRecord, Part, PlanHeader, Switch, UnitRef, UnsafeAt, MAGIC, MAX_SIZE,
    NONE, OP_LEAVE, OP_TOGETHER, OP_UNLOCK, OP_UP, VERSION,
};
use crate::loom::table::PointKind;
use crate::rawlog::Plain;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::size_of;

/// What goes into a plan.
pub(super) struct Parts<'p> {
    pub(super) name: &'p str,
    pub(super) source: &'p str,
    pub(super) timeout_ms: u32,
    /// Each with the index of its constraint.
    pub(super) operations: Vec<(u16, &'p Operation)>,
    /// Unit and location: `LOCATION_` bits.
    pub(super) unsafe_at: BTreeMap<(usize, u32), u8>,
    /// Code of who makes threads unsafe by calling.
    pub(super) frames: Vec<CodeRange>,
    /// Unit and function.
    pub(super) switches: BTreeSet<(usize, u32)>,
    pub(super) constraints: Vec<ConstraintRecord>,
}

/// Whether an operation lets others go on; such come first at a slot.
pub(super) fn releases(kind: u8) -> bool {
    matches!(kind, OP_UNLOCK | OP_LEAVE | OP_UP | OP_TOGETHER)
}

/// The plan, or how many bytes it would have had.
pub(super) fn emit(graph: &Graph<'_>, parts: &Parts<'_>) -> Result<Vec<u8>, usize> {
    let program = graph.program;
    let units = used_units(graph, parts);
    let number = |unit: usize| units.get(&unit).copied().unwrap_or(NONE);
    let mut expressions = Expressions { bytes: Vec::new(), known: HashMap::new() };
    let mut ops: Vec<OpRecord> = Vec::new();
    for &(constraint, operation) in &parts.operations {
        let PointKind::Slot { slot, .. } = graph.point(operation.point).kind else { continue };
        let mut place = |code: &Option<Vec<Instruction>>| match code {
            Some(code) => expressions.place(code, &number),
            None => NONE,
        };
        ops.push(OpRecord {
            unit: number(graph.place(graph.function_of(operation.point)).unit),
            slot,
            kind: operation.kind,
            step: operation.step,
            constraint,
            key: place(&operation.key),
            times: place(&operation.times),
            flags: operation.flags,
        });
    }
    ops.sort_by_key(|op| (op.unit, op.slot, !releases(op.kind), op.constraint, op.step, op.kind));

    let unit_refs: Vec<UnitRef> = units
        .keys()
        .map(|&unit| UnitRef { hash: program.units[unit].hash, address: program.units[unit].address })
        .collect();
    let switches: Vec<Switch> =
        parts.switches.iter().map(|&(unit, function)| Switch { unit: number(unit), function }).collect();
    let unsafe_at = in_rows(&parts.unsafe_at, number);
    let in_file = |file: usize| units.keys().copied().find(|&unit| program.units[unit].file == file);
    let frames: Vec<Frame> = parts
        .frames
        .iter()
        .filter_map(|range| {
            let unit = number(in_file(range.file)?);
            Some(Frame { unit, reserved: 0, first: range.first, last: range.end })
        })
        .collect();

    let mut out = Writer { bytes: vec![0; size_of::<PlanHeader>()] };
    let units = out.records(&unit_refs);
    let switches = out.records(&switches);
    let unsafe_at = out.records(&unsafe_at);
    let frames = out.records(&frames);
    let ops = out.records(&ops);
    let constraints = out.records(&parts.constraints);
    let code = out.text(&expressions.bytes);
    let name = out.text(parts.name.as_bytes());
    let source = out.text(parts.source.as_bytes());
    let size = out.bytes.len().next_multiple_of(8);
    out.bytes.resize(size, 0);
    if size > MAX_SIZE {
        return Err(size);
    }
    let header = PlanHeader {
        magic: MAGIC,
        version: VERSION,
        size: size as u32,
        timeout_ms: parts.timeout_ms,
        reserved: 0,
        units,
        switches,
        unsafe_at,
        frames,
        ops,
        constraints,
        code,
        name,
        source,
    };
    out.bytes[..size_of::<PlanHeader>()].copy_from_slice(header.as_bytes());
    Ok(out.bytes)
}

/// Locations with equal marks that follow each other are one record.
fn in_rows(unsafe_at: &BTreeMap<(usize, u32), u8>, number: impl Fn(usize) -> u32) -> Vec<UnsafeAt> {
    let mut rows: Vec<UnsafeAt> = Vec::new();
    for (&(unit, location), &marks) in unsafe_at {
        let (unit, marks) = (number(unit), u32::from(marks));
        match rows.last_mut() {
            Some(row) if (row.unit, row.first + row.count, row.marks) == (unit, location, marks) => {
                row.count += 1;
            }
            _ => rows.push(UnsafeAt { unit, first: location, count: 1, marks }),
        }
    }
    rows
}

/// The units that the plan is about, numbered in their order.
fn used_units(graph: &Graph<'_>, parts: &Parts<'_>) -> BTreeMap<usize, u32> {
    let mut used: BTreeSet<usize> = BTreeSet::new();
    used.extend(parts.unsafe_at.keys().map(|(unit, _)| unit));
    used.extend(parts.switches.iter().map(|(unit, _)| unit));
    for range in &parts.frames {
        let in_file = |unit: &usize| graph.program.units[*unit].file == range.file;
        if !used.iter().any(in_file) {
            used.extend((0..graph.program.units.len()).find(in_file));
        }
    }
    for (_, operation) in &parts.operations {
        used.insert(graph.place(graph.function_of(operation.point)).unit);
        for instruction in operation.key.iter().chain(&operation.times).flatten() {
            if let Instruction::Global { unit, .. } = instruction {
                used.insert(*unit);
            }
        }
    }
    used.into_iter().zip(0..).collect()
}

struct Expressions {
    bytes: Vec<u8>,
    known: HashMap<Vec<Instruction>, u32>,
}

impl Expressions {
    fn place(&mut self, instructions: &[Instruction], number: &dyn Fn(usize) -> u32) -> u32 {
        if let Some(&at) = self.known.get(instructions) {
            return at;
        }
        let at = self.bytes.len() as u32;
        for instruction in instructions {
            instruction.encode(&mut self.bytes, number);
        }
        self.bytes.push(code::END);
        self.known.insert(instructions.to_vec(), at);
        at
    }
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn align(&mut self) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.len() as u32
    }

    fn records<T: Plain>(&mut self, records: &[T]) -> Part {
        let at = self.align();
        for record in records {
            self.bytes.extend_from_slice(record.as_bytes());
        }
        Part { at, count: records.len() as u32 }
    }

    fn text(&mut self, text: &[u8]) -> Part {
        let at = self.align();
        self.bytes.extend_from_slice(text);
        Part { at, count: text.len() as u32 }
    }
}

/// How many locations a program has.
pub(super) fn location_count(program: &Program) -> usize {
    program.units.iter().map(|unit| unit.location_count as usize).sum()
}
