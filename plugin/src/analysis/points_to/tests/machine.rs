//! A machine that runs a program's view, and asks at each step whether the analysis had expected it.
//!
//! Each object that a run makes knows what makes it. Asked are: every pointer that a register gets, every access (of the
//! instruction, of the functions and calls around it, and against who touched the byte before), and every call.
//! Accesses outside of objects do nothing. Functions named `unknown` are played by an adversary who does with what he can
//! reach what chance tells him.

mod library;

use crate::analysis::points_to::{ObjectId, ObjectKind, Offset, PointsTo};
use crate::epoch::testing::Random;
use crate::ir::code::{
    Binary, Call, Callee, Cast, Code, Compare, FuncId, GlobalId, Initial, InstId, Op, Operand, Ty, ValueId,
};
use std::collections::HashMap;

/// Where objects begin: no number that a program computes is there by chance, nor is half an address.
const FIRST: u64 = 0x1e00_1230_0000;
/// So far apart that no pointer comes from one to the next. More is left to chance, so that two addresses do not make a
/// third by addition.
const GAP: u64 = 1 << 20;
const MORE: u64 = 1 << 32;
const MOST_STEPS: u32 = 20_000;
const MOST_DEPTH: usize = 12;

/// An object of the run.
struct Live {
    kind: ObjectKind,
    begin: u64,
    bytes: u64,
}

/// A run.
pub struct Machine<'p, 'm> {
    code: &'p Code<'m>,
    points_to: &'p PointsTo,
    random: Random,
    ids: HashMap<ObjectKind, ObjectId>,
    objects: Vec<Live>,
    memory: HashMap<u64, u8>,
    functions: Vec<u64>,
    globals: Vec<u64>,
    /// Calls that are under way in this thread.
    calls: Vec<InstId>,
    /// Who touched a byte last: address and bytes.
    touched: HashMap<u64, (Operand, u64)>,
    foreign: Vec<u64>,
    kept: HashMap<&'static str, Vec<u64>>,
    steps: u32,
    /// Functions that are under way, in all threads.
    depth: usize,
    /// How many pointers were asked for.
    pub pointers: usize,
    /// How many accesses.
    pub accesses: usize,
}

impl<'p, 'm> Machine<'p, 'm> {
    pub fn new(code: &'p Code<'m>, points_to: &'p PointsTo, random: Random) -> Self {
        let ids =
            points_to.objects().iter().zip(0..).map(|(object, id)| (object.kind, ObjectId(id))).collect();
        let mut machine = Machine {
            code,
            points_to,
            random,
            ids,
            objects: Vec::new(),
            memory: HashMap::new(),
            functions: Vec::new(),
            globals: Vec::new(),
            calls: Vec::new(),
            touched: HashMap::new(),
            foreign: Vec::new(),
            kept: HashMap::new(),
            steps: 0,
            depth: 0,
            pointers: 0,
            accesses: 0,
        };
        let own = machine.make(ObjectKind::External, 64);
        machine.foreign.push(own);
        for index in 0..code.functions.len() as u32 {
            let address = machine.make(ObjectKind::Function(FuncId(index)), 0);
            machine.functions.push(address);
        }
        for (index, global) in (0..).zip(&code.globals) {
            let address = machine.make(ObjectKind::Global(GlobalId(index)), global.bytes);
            machine.globals.push(address);
            if let Initial::Bytes(bytes) = &global.initial {
                machine.memory.extend((address..).zip(bytes.iter().copied()));
            }
        }
        for (index, global) in code.globals.iter().enumerate() {
            for &(offset, operand) in &global.pointers {
                let value = machine.operand(&HashMap::new(), operand);
                machine.write(machine.globals[index] + offset, 8, value);
            }
        }
        machine
    }

    /// Runs main and what was registered for its end.
    pub fn run(&mut self) {
        let main = self.code.functions.iter().position(|function| function.name == "main").expect("main");
        self.call(FuncId(main as u32), &[0, 0]);
        for function in self.kept.remove("ends").unwrap_or_default() {
            self.call_floating(function, &[]);
        }
    }

    fn make(&mut self, kind: ObjectKind, bytes: u64) -> u64 {
        let end = self.objects.last().map_or(FIRST, |last| last.begin + last.bytes);
        let begin = (end + GAP + self.random.next() % MORE) & !15;
        self.objects.push(Live { kind, begin, bytes });
        begin
    }

    /// The object that an address is in, or just behind, and where.
    fn find(&self, address: u64) -> Option<(&Live, u64)> {
        let place = self.objects.partition_point(|object| object.begin <= address).checked_sub(1)?;
        let object = &self.objects[place];
        let offset = address - object.begin;
        (offset <= object.bytes).then_some((object, offset))
    }

    fn id(&self, kind: ObjectKind) -> ObjectId {
        *self.ids.get(&kind).unwrap_or_else(|| panic!("{kind:?} has an object"))
    }

    fn check_value(&mut self, value: ValueId, number: u64) {
        let Some((object, offset)) = self.find(number) else { return };
        let kind = object.kind;
        let id = self.id(kind);
        let places: Vec<_> = self.points_to.pointees(Operand::Value(value)).collect();
        let is_expected = places.iter().any(|place| {
            (place.object == ObjectId::EXTERNAL && self.points_to.has_escaped(id))
                || (place.object == id && [Offset::Any, Offset::At(offset)].contains(&place.offset))
        });
        let name = self.code.value(value).raw.name();
        assert!(is_expected, "%{name} points to {kind:?} at {offset}, and not into {places:?}");
        self.pointers += 1;
    }

    /// An access by the innermost call, or by an instruction of its function.
    fn check_access(
        &mut self,
        by: InstId,
        address: Option<Operand>,
        at: u64,
        bytes: u64,
        writes: bool,
    ) -> bool {
        let Some((object, offset)) = self.find(at) else { return false };
        let (kind, is_inside) = (object.kind, offset + bytes <= object.bytes);
        let id = self.id(kind);
        if !is_inside || bytes == 0 || (writes && self.points_to.object(id).is_constant) {
            return false;
        }
        self.accesses += 1;
        for &inst in self.calls.iter().chain([&by]) {
            let (set, function) = (
                if writes { self.points_to.writes(inst) } else { self.points_to.reads(inst) },
                self.code.function_of(inst),
            );
            assert!(set.contains(id), "{:?} (writes: {writes}) touches {kind:?}", self.code.inst(inst).op);
            let set = if writes {
                self.points_to.writes_of_function(function)
            } else {
                self.points_to.reads_of_function(function)
            };
            assert!(
                set.contains(id),
                "{} (writes: {writes}) touches {kind:?}",
                self.code.function(function).name
            );
            if writes {
                for byte in at..at + bytes {
                    if let Some(&(other, count)) = self.touched.get(&byte) {
                        assert!(
                            self.points_to.may_write_to(inst, (other, Some(count))),
                            "{other:?} is written"
                        );
                    }
                }
            }
        }
        if let Some(address) = address {
            for byte in at..at + bytes {
                if let Some((other, count)) = self.touched.insert(byte, (address, bytes)) {
                    let sides = [(address, Some(bytes)), (other, Some(count))];
                    assert!(self.points_to.may_alias(sides[0], sides[1]), "{sides:?} meet in {kind:?}");
                    assert!(self.points_to.may_alias(sides[1], sides[0]), "{sides:?} meet in {kind:?}");
                }
            }
        }
        true
    }

    fn read(&self, at: u64, bytes: u64) -> u64 {
        (0..bytes)
            .fold(0, |sum, byte| sum | u64::from(*self.memory.get(&(at + byte)).unwrap_or(&0)) << (8 * byte))
    }

    fn write(&mut self, at: u64, bytes: u64, value: u64) {
        self.memory.extend((0..bytes).map(|byte| (at + byte, (value >> (8 * byte)) as u8)));
    }

    fn operand(&self, values: &HashMap<ValueId, u64>, operand: Operand) -> u64 {
        match operand {
            Operand::Value(value) => values.get(&value).copied().unwrap_or(0),
            Operand::Int { value, .. } => value,
            Operand::Global(global, offset) => self.globals[global.index()].wrapping_add_signed(offset),
            Operand::Function(function) => self.functions[function.index()],
            Operand::Null | Operand::Undef | Operand::Opaque(_) => 0,
        }
    }

    fn width(&self, operand: Operand) -> u32 {
        match operand {
            Operand::Value(value) => match self.code.value(value).ty {
                Ty::Int(width) => width,
                _ => 64,
            },
            Operand::Int { width, .. } => width,
            _ => 64,
        }
    }

    /// Runs a function; `None` if this thread is to end.
    fn call(&mut self, function: FuncId, arguments: &[u64]) -> Option<u64> {
        self.depth += 1;
        let result = if self.depth > MOST_DEPTH { Some(0) } else { self.body(function, arguments) };
        self.depth -= 1;
        result
    }

    fn body(&mut self, function: FuncId, arguments: &[u64]) -> Option<u64> {
        let code = self.code;
        let data = code.function(function);
        let mut values = HashMap::new();
        for (&parameter, &argument) in data.parameters.iter().zip(arguments) {
            values.insert(parameter, argument);
            self.check_value(parameter, argument);
        }
        let (mut from, mut block) = (None, code.blocks_of(function).next()?);
        loop {
            let mut phis = Vec::new();
            for id in code.insts_of(block) {
                self.steps += 1;
                if self.steps > MOST_STEPS {
                    return None;
                }
                let inst = code.inst(id);
                if let (Op::Phi(ways), Some(result)) = (&inst.op, inst.result) {
                    let way = ways.iter().find(|way| Some(way.0) == from).expect("a way for each edge");
                    phis.push((result, self.operand(&values, way.1)));
                    continue;
                }
                for (result, value) in phis.drain(..) {
                    values.insert(result, value);
                    self.check_value(result, value);
                }
                match &inst.op {
                    Op::Return(value) => return Some(value.map_or(0, |value| self.operand(&values, value))),
                    Op::Branch(condition) => {
                        let is_true = condition.is_none_or(|on| self.operand(&values, on) & 1 != 0);
                        (from, block) = (Some(block), code.block(block).next[usize::from(!is_true)]);
                        break;
                    }
                    _ => {}
                }
                let value = self.step(&values, id)?;
                if let Some(result) = inst.result {
                    let value = cut(value, self.width(Operand::Value(result)));
                    values.insert(result, value);
                    self.check_value(result, value);
                }
            }
        }
    }

    fn step(&mut self, values: &HashMap<ValueId, u64>, id: InstId) -> Option<u64> {
        let get = |machine: &Self, operand: &Operand| machine.operand(values, *operand);
        Some(match &self.code.inst(id).op {
            Op::Binary { op, a, b, .. } => binary(*op, get(self, a), get(self, b), self.width(*a)),
            Op::Compare { op, a, b } => {
                let (a, b) = (get(self, a), get(self, b));
                u64::from(match op {
                    Compare::Eq => a == b,
                    Compare::Ne => a != b,
                    _ => a < b,
                })
            }
            Op::Cast { op: Cast::SExt, a } => signed(get(self, a), self.width(*a)) as u64,
            Op::Cast { a, .. } | Op::Freeze(a) => get(self, a),
            Op::Gep { base, offset, terms, .. } => {
                terms.iter().fold(get(self, base).wrapping_add_signed(*offset), |sum, (term, scale)| {
                    let term = signed(get(self, term), self.width(*term));
                    sum.wrapping_add_signed(term.wrapping_mul(*scale))
                })
            }
            Op::Select { cond, a, b } => get(self, if get(self, cond) & 1 != 0 { a } else { b }),
            Op::Alloca { bytes } => self.make(ObjectKind::Stack(id), bytes.expect("constant")),
            Op::Load { address, bytes, .. } => {
                let at = get(self, address);
                if self.check_access(id, Some(*address), at, *bytes, false) {
                    self.read(at, *bytes)
                } else {
                    0
                }
            }
            Op::Store { address, value, bytes, .. } => {
                let (at, value) = (get(self, address), get(self, value));
                if self.check_access(id, Some(*address), at, *bytes, true) {
                    self.write(at, *bytes, value);
                }
                0
            }
            // Programs of these tests have only those that put a value there.
            Op::Exchange { address, values, bytes } => {
                let (at, value) = (get(self, address), get(self, &values[0]));
                if !self.check_access(id, Some(*address), at, *bytes, true) {
                    return Some(0);
                }
                self.check_access(id, Some(*address), at, *bytes, false);
                let old = self.read(at, *bytes);
                self.write(at, *bytes, value);
                old
            }
            Op::Call(Call { callee, arguments, .. }) => {
                let arguments: Vec<u64> = arguments.iter().map(|argument| get(self, argument)).collect();
                let function = match callee {
                    Callee::Function(function) => Some(*function),
                    Callee::Pointer(pointer) => self.function_at(get(self, pointer)),
                    Callee::Asm => None,
                };
                let Some(function) = function else { return Some(0) };
                self.call_from(id, function, &arguments)?
            }
            other => panic!("{other:?} is not in these programs"),
        })
    }

    fn function_at(&self, address: u64) -> Option<FuncId> {
        match self.find(address)?.0.kind {
            ObjectKind::Function(function) => Some(function),
            _ => None,
        }
    }

    /// A call instruction comes to a function, also by way of a library function or unknown code.
    fn call_from(&mut self, inst: InstId, function: FuncId, arguments: &[u64]) -> Option<u64> {
        let data = self.code.function(function);
        if data.blocks.is_empty() {
            return self.library(inst, &data.name, arguments);
        }
        let callees = self.points_to.callees(inst);
        let is_expected = callees.functions.contains(&function)
            || (callees.is_unknown && self.points_to.has_escaped(self.id(ObjectKind::Function(function))));
        assert!(is_expected, "{} is called", data.name);
        self.calls.push(inst);
        let result = self.call(function, arguments);
        self.calls.pop();
        result
    }

    /// Runs a function that no call in the code runs: a thread's, a handler.
    fn call_floating(&mut self, address: u64, arguments: &[u64]) -> Option<u64> {
        let function = self.function_at(address).filter(|&id| !self.code.function(id).blocks.is_empty())?;
        let calls = std::mem::take(&mut self.calls);
        let result = self.call(function, arguments);
        self.calls = calls;
        result
    }
}

fn cut(value: u64, width: u32) -> u64 {
    if width < 64 {
        value & ((1 << width) - 1)
    } else {
        value
    }
}

fn signed(value: u64, width: u32) -> i64 {
    let shift = 64 - width.clamp(1, 64);
    (value << shift) as i64 >> shift
}

fn binary(op: Binary, a: u64, b: u64, width: u32) -> u64 {
    match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::UDiv => a.checked_div(b).unwrap_or(0),
        Binary::URem => a.checked_rem(b).unwrap_or(0),
        Binary::Shl => a.checked_shl(b as u32).unwrap_or(0),
        Binary::LShr => cut(a, width).checked_shr(b as u32).unwrap_or(0),
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::AShr | Binary::SDiv | Binary::SRem => panic!("{op:?} is not in these programs"),
    }
}
