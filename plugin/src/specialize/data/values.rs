//! Registers as terms: Wu's Table 4.1, and the rest of the instructions, at their real widths.
//!
//! A register's term is made of what gives it its value, down to what is opaque: input, library results, loads whose
//! definition is not known, loop counters. Equal registers become the same term, which is the union-find of Wu 4.3.2: an
//! equality costs nothing.
//!
//! A register in a loop has many values in a run. A term speaks of its most recent value at one place, the one that a
//! question is about. Of two places that are looked at together each has its own [`Side`], so that nobody concludes that
//! two iterations are one. A register that has at most one value in a run ([`Places::once`]) is the same on both.
//! A loop's value that is used behind the loop is that of its last iteration: a variable of its own.
//!
//! Why the equations hold between most recent values: if `a` uses `b`, `b`'s definition dominates `a`, and `a` dominates
//! the place. Were `b` given a newer value after `a` ran, control would come from `b` to the place without passing `a`,
//! and it could have done so at first. Header PHIs are the exception, since one of their values comes around the loop;
//! ScalarEvolution says what they are: `start + step * k`.
//!
//! A PHI where ways meet is a choice by the conditions of the ways, if those between it and its dominator are known, and
//! else by unknown ones, which the PHIs of one block share. A choice is defined whether or not the block is reached, so
//! that it excludes nothing.
//!
//! What LLVM leaves undefined (undef, poison) is any value, a fresh one each time.

use super::owned::shares_loops;
use super::places::Places;
use crate::ir::code::{
    Binary, BlockId, Call, Callee, Cast, Code, Compare, Def, FuncId, GlobalId, InstId, LoopId, Nary, Op,
    Operand, Scev, Ty, ValueId,
};
use crate::smt::{Term, Terms};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Which of two places that a question is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The one, and what has one value in a run.
    A,
    /// The other.
    B,
}

/// Bits of an address.
pub const POINTER: u32 = 64;

/// Blocks between a PHI and its dominator, up to which the conditions of the ways are followed.
const MOST_BLOCKS: usize = 64;

/// What a load is known to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// What an instruction stored, or read itself.
    Operand {
        /// The value.
        operand: Operand,
        /// The store or load.
        at: InstId,
    },
    /// A constant, from an initializer.
    Constant(u64),
    /// An address, from an initializer.
    Address(Operand),
}

/// What stands for a register or an unknown in the solver, the same in each round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Unknown {
    Register(ValueId, Side),
    /// The value of a loop's register behind the loop.
    Last(ValueId, Side),
    /// How often control came back to a loop's header.
    Iteration(LoopId, Side),
    /// Which way control came to a block with PHIs.
    Way(BlockId, u32, Side),
    /// A branch whose condition is not known.
    Turn(BlockId, u32, Side),
    Global(GlobalId, u32),
    Function(FuncId),
}

/// Makes terms of registers.
pub struct Values<'a, 'm> {
    code: &'a Code<'m>,
    places: &'a Places<'a, 'm>,
    /// The terms.
    pub terms: Terms,
    /// What loads read.
    pub sources: HashMap<ValueId, Source>,
    known: HashMap<(ValueId, Side), Option<Term>>,
    unknowns: HashMap<Unknown, Term>,
    /// Registers that are being made: a cycle is cut by an unknown.
    open: Vec<(ValueId, Side)>,
    ways: HashMap<(BlockId, Side), Vec<Term>>,
    /// What holds of loop counters, whether or not their loops run.
    pub bounds: Vec<Term>,
    /// Those whose bound is there.
    bounded: HashSet<(LoopId, Side)>,
    function_terms: HashMap<Term, FuncId>,
    /// Stable numbers of registers over rounds.
    numbers: &'a dyn Fn(ValueId) -> u64,
}

impl<'a, 'm> Values<'a, 'm> {
    /// None yet. `numbers` gives each register a number that it has in each round.
    pub fn new(
        code: &'a Code<'m>,
        places: &'a Places<'a, 'm>,
        terms: Terms,
        numbers: &'a dyn Fn(ValueId) -> u64,
    ) -> Values<'a, 'm> {
        Values {
            code,
            places,
            terms,
            sources: HashMap::new(),
            known: HashMap::new(),
            unknowns: HashMap::new(),
            open: Vec::new(),
            ways: HashMap::new(),
            bounds: Vec::new(),
            bounded: HashSet::new(),
            function_terms: HashMap::new(),
            numbers,
        }
    }

    /// Learns what loads read, and forgets terms that were made when less was known.
    pub fn learn(&mut self, sources: impl IntoIterator<Item = (ValueId, Source)>) {
        self.sources.extend(sources);
        self.known.clear();
        self.ways.clear();
        // Bounds are made anew with their counters.
        self.bounds.clear();
        self.bounded.clear();
    }

    /// The terms, for the next round.
    pub fn into_terms(self) -> Terms {
        self.terms
    }

    /// The function whose address a term is.
    pub fn function_behind(&self, term: Term) -> Option<FuncId> {
        self.function_terms.get(&term).copied()
    }

    /// The width of a register's term; `None` if it has none.
    pub fn width(&self, value: ValueId) -> Option<u32> {
        match self.code.values[value.index()].ty {
            Ty::Int(width @ 1..=64) => Some(width),
            Ty::Ptr => Some(POINTER),
            _ => None,
        }
    }

    /// An operand as it is at an instruction of owned code.
    pub fn operand(&mut self, operand: Operand, at: InstId, side: Side) -> Option<Term> {
        let block = self.code.inst(at).block;
        self.operand_in(operand, block, side)
    }

    /// An operand as it is in a block of owned code.
    pub fn operand_in(&mut self, operand: Operand, from: BlockId, side: Side) -> Option<Term> {
        match operand {
            Operand::Value(value) => self.seen(value, from, side),
            Operand::Int { value, width: width @ 1..=64 } => Some(self.terms.constant(width, value)),
            Operand::Int { .. } => None,
            Operand::Null => Some(self.terms.constant(POINTER, 0)),
            Operand::Global(global, offset) => {
                let base = self.global(global, from);
                let offset = self.terms.constant(POINTER, offset as u64);
                Some(self.terms.add(base, offset))
            }
            Operand::Function(function) => {
                let term = self.unknown(Unknown::Function(function), POINTER);
                self.function_terms.insert(term, function);
                Some(term)
            }
            Operand::Undef | Operand::Opaque(_) => None,
        }
    }

    /// A variable's address, in the thread of a block.
    pub fn global(&mut self, global: GlobalId, from: BlockId) -> Term {
        let thread = match self.code.globals[global.index()].is_thread_local {
            true => self.places.thread_of(self.code.block(from).function).map_or(u32::MAX, |thread| thread.0),
            false => u32::MAX,
        };
        self.unknown(Unknown::Global(global, thread), POINTER)
    }

    /// A register's value, as it is where it gets it.
    pub fn register(&mut self, value: ValueId, side: Side) -> Option<Term> {
        let side = if self.has_one_value(value) { Side::A } else { side };
        if let Some(&term) = self.known.get(&(value, side)) {
            return term;
        }
        let width = self.width(value)?;
        if self.open.contains(&(value, side)) {
            return Some(self.unknown(Unknown::Register(value, side), width));
        }
        self.open.push((value, side));
        let made = self.make(value, side).filter(|&term| self.terms.width(term) == width);
        self.open.pop();
        let term = made.unwrap_or_else(|| self.unknown(Unknown::Register(value, side), width));
        self.known.insert((value, side), Some(term));
        Some(term)
    }

    /// A register's value as it is in a block that its definition dominates.
    fn seen(&mut self, value: ValueId, from: BlockId, side: Side) -> Option<Term> {
        let Def::Inst(inst) = self.code.values[value.index()].def else { return self.register(value, side) };
        let own = self.code.inst(inst).block;
        if shares_loops(self.code, from, own) {
            return self.register(value, side);
        }
        let width = self.width(value)?;
        let side = if self.places.once_block(from) { Side::A } else { side };
        Some(self.unknown(Unknown::Last(value, side), width))
    }

    fn has_one_value(&self, value: ValueId) -> bool {
        match self.code.values[value.index()].def {
            Def::Inst(inst) => self.places.once(inst),
            Def::Parameter(function, _) => self.places.once_function(function),
        }
    }

    fn unknown(&mut self, unknown: Unknown, width: u32) -> Term {
        if let Some(&term) = self.unknowns.get(&unknown) {
            return term;
        }
        let number = |value| (self.numbers)(value);
        // Registers have the same variable in each round, so that answers are found again.
        let key = match unknown {
            Unknown::Register(value, side) => Some((number(value), side, 0)),
            Unknown::Last(value, side) => Some((number(value), side, 1)),
            _ => None,
        };
        let term = match key {
            Some((number, side, kind)) => {
                self.terms.variable_keyed(width, number << 2 | kind << 1 | (side == Side::B) as u64)
            }
            None => self.terms.variable(width),
        };
        self.unknowns.insert(unknown, term);
        term
    }

    fn make(&mut self, value: ValueId, side: Side) -> Option<Term> {
        match self.code.values[value.index()].def {
            Def::Parameter(function, number) => self.parameter(function, number, side),
            Def::Inst(inst) => self.instruction(value, inst, side),
        }
    }

    /// An owned function has one call, and a thread's function one creation.
    fn parameter(&mut self, function: FuncId, number: u32, side: Side) -> Option<Term> {
        let (call, operand) = match self.places.call_site(function) {
            Some(call) => {
                let Op::Call(Call { arguments, by_value, .. }) = &self.code.inst(call).op else {
                    return None;
                };
                let is_copied = number >= 64 || by_value >> number & 1 != 0;
                (call, *arguments.get(number as usize).filter(|_| !is_copied)?)
            }
            None if number == 0 => self.places.start_argument(function)?,
            None => return None,
        };
        self.operand(operand, call, side)
    }

    fn instruction(&mut self, value: ValueId, inst: InstId, side: Side) -> Option<Term> {
        let code = self.code;
        let block = code.inst(inst).block;
        let width = self.width(value)?;
        match &code.inst(inst).op {
            &Op::Binary { op, a, b, .. } => {
                let (a, b) = (self.operand(a, inst, side)?, self.operand(b, inst, side)?);
                Some(self.binary(op, a, b))
            }
            &Op::Compare { op, a, b } => {
                let (a, b) = (self.operand(a, inst, side)?, self.operand(b, inst, side)?);
                Some(self.compare(op, a, b))
            }
            &Op::Cast { op, a } => {
                let a = self.operand(a, inst, side)?;
                self.cast(op, a, width)
            }
            Op::Gep { base, offset, terms, .. } => {
                let mut sum = self.operand(*base, inst, side)?;
                let offset = self.terms.constant(POINTER, *offset as u64);
                sum = self.terms.add(sum, offset);
                for &(index, scale) in terms {
                    let index = self.operand(index, inst, side)?;
                    let index = match self.terms.width(index) {
                        ..POINTER => self.terms.sext(index, POINTER),
                        _ => index,
                    };
                    let scale = self.terms.constant(POINTER, scale as u64);
                    let product = self.terms.mul(index, scale);
                    sum = self.terms.add(sum, product);
                }
                Some(sum)
            }
            &Op::Select { cond, a, b } => {
                let cond = self.operand(cond, inst, side)?;
                let (a, b) = (self.operand(a, inst, side)?, self.operand(b, inst, side)?);
                Some(self.terms.ite(cond, a, b))
            }
            &Op::Freeze(a) => self.operand(a, inst, side),
            Op::Phi(incoming) => {
                if self.is_header(block) {
                    return self.recurrence(value, block, side);
                }
                self.meeting(block, incoming, side)
            }
            Op::Load { .. } => match *self.sources.get(&value)? {
                Source::Constant(constant) => Some(self.terms.constant(width, constant)),
                Source::Address(operand) => self.operand(operand, inst, side),
                Source::Operand { operand, at } => {
                    let side = if self.places.once(at) { Side::A } else { side };
                    self.operand(operand, at, side)
                }
            },
            Op::Call(call) => self.result(call, side),
            _ => None,
        }
    }

    /// What an owned function returns, if it has one return.
    fn result(&mut self, call: &Call, side: Side) -> Option<Term> {
        let Callee::Function(callee) = call.callee else { return None };
        if !self.places.is_owned(callee) {
            return None;
        }
        let code = self.code;
        let mut returns =
            code.blocks_of(callee).filter(|&block| code.block(block).is_reachable).filter_map(|block| {
                let last = InstId(code.block(block).insts.end.checked_sub(1)?);
                match code.inst(last).op {
                    Op::Return(operand) => Some((last, operand)),
                    _ => None,
                }
            });
        let (Some((last, Some(operand))), None) = (returns.next(), returns.next()) else { return None };
        self.operand(operand, last, side)
    }

    fn is_header(&self, block: BlockId) -> bool {
        let data = self.code.block(block);
        data.in_irreducible_cycle
            || data.in_loop.is_some_and(|id| self.code.loops[id.index()].header == block)
    }

    fn recurrence(&mut self, value: ValueId, block: BlockId, side: Side) -> Option<Term> {
        let id = self.code.block(block).in_loop?;
        let width = self.width(value)?;
        let code = self.code;
        let recurrence = code.loops[id.index()].recurrences.iter().find(|found| found.value == value)?;
        // What is outside is seen from the header: it is the same in each iteration.
        let start = self.scev(&recurrence.start, block, side)?;
        let step = self.scev(&recurrence.step, block, side)?;
        if self.terms.width(start) != width || self.terms.width(step) != width {
            return None;
        }
        let count = self.iteration(id, side);
        let count = match width {
            POINTER => count,
            _ => self.terms.trunc(count, width),
        };
        let grown = self.terms.mul(step, count);
        Some(self.terms.add(start, grown))
    }

    /// How often control came back to a loop's header, at most as often as ScalarEvolution says.
    fn iteration(&mut self, id: LoopId, side: Side) -> Term {
        let side = if self.places.once_block(self.code.loops[id.index()].header) { Side::A } else { side };
        let count = self.unknown(Unknown::Iteration(id, side), POINTER);
        if !self.bounded.insert((id, side)) {
            return count;
        }
        let code = self.code;
        let data = &code.loops[id.index()];
        let most = data.most_backedges.as_ref().and_then(|most| self.scev(most, data.header, side));
        if let Some(most) = most {
            let most = match self.terms.width(most) {
                ..POINTER => self.terms.zext(most, POINTER),
                _ => most,
            };
            let bound = self.terms.ule(count, most);
            self.bounds.push(bound);
        }
        count
    }

    fn scev(&mut self, scev: &Scev, header: BlockId, side: Side) -> Option<Term> {
        match scev {
            Scev::Operand(operand) => self.operand_in(*operand, header, side),
            Scev::UDiv(a, b) => {
                let (a, b) = (self.scev(a, header, side)?, self.scev(b, header, side)?);
                Some(self.terms.udiv(a, b))
            }
            Scev::Cast(op, a, width) => {
                let a = self.scev(a, header, side)?;
                self.cast(*op, a, *width)
            }
            Scev::Nary(op, parts) => {
                let mut parts = parts.iter();
                let mut all = self.scev(parts.next()?, header, side)?;
                for part in parts {
                    let part = self.scev(part, header, side)?;
                    if self.terms.width(part) != self.terms.width(all) {
                        return None;
                    }
                    all = match op {
                        Nary::Add => self.terms.add(all, part),
                        Nary::Mul => self.terms.mul(all, part),
                        Nary::UMax => self.larger(Compare::Ult, all, part),
                        Nary::SMax => self.larger(Compare::Slt, all, part),
                        Nary::UMin => self.larger(Compare::Ugt, all, part),
                        Nary::SMin => self.larger(Compare::Sgt, all, part),
                    };
                }
                Some(all)
            }
        }
    }

    fn larger(&mut self, op: Compare, a: Term, b: Term) -> Term {
        let takes_other = self.compare(op, a, b);
        self.terms.ite(takes_other, b, a)
    }

    fn cast(&mut self, op: Cast, a: Term, width: u32) -> Option<Term> {
        let from = self.terms.width(a);
        match op {
            _ if from == width => Some(a),
            Cast::Trunc if width < from => Some(self.terms.trunc(a, width)),
            Cast::ZExt if width > from => Some(self.terms.zext(a, width)),
            Cast::SExt if width > from => Some(self.terms.sext(a, width)),
            // Pointers and integers of other widths.
            Cast::ZExt => Some(self.terms.trunc(a, width)),
            _ => None,
        }
    }

    /// An operation on terms of one width.
    pub fn binary(&mut self, op: Binary, a: Term, b: Term) -> Term {
        let terms = &mut self.terms;
        match op {
            Binary::Add => terms.add(a, b),
            Binary::Sub => terms.sub(a, b),
            Binary::Mul => terms.mul(a, b),
            Binary::UDiv => terms.udiv(a, b),
            Binary::SDiv => terms.sdiv(a, b),
            Binary::URem => terms.urem(a, b),
            Binary::SRem => terms.srem(a, b),
            Binary::Shl => terms.shl(a, b),
            Binary::LShr => terms.lshr(a, b),
            Binary::AShr => terms.ashr(a, b),
            Binary::And => terms.and(a, b),
            Binary::Or => terms.or(a, b),
            Binary::Xor => terms.xor(a, b),
        }
    }

    fn compare(&mut self, op: Compare, a: Term, b: Term) -> Term {
        let terms = &mut self.terms;
        match op {
            Compare::Eq => terms.eq(a, b),
            Compare::Ne => terms.ne(a, b),
            Compare::Ult => terms.ult(a, b),
            Compare::Ule => terms.ule(a, b),
            Compare::Ugt => terms.ugt(a, b),
            Compare::Uge => terms.uge(a, b),
            Compare::Slt => terms.slt(a, b),
            Compare::Sle => terms.sle(a, b),
            Compare::Sgt => terms.sgt(a, b),
            Compare::Sge => terms.sge(a, b),
        }
    }
}

impl Values<'_, '_> {
    /// A PHI where ways meet.
    fn meeting(&mut self, block: BlockId, incoming: &[(BlockId, Operand)], side: Side) -> Option<Term> {
        let ways = self.ways_to(block, side);
        let previous = &self.code.block(block).previous;
        let mut chosen: Option<Term> = None;
        // The last way is what remains.
        for (number, &from) in previous.iter().enumerate().rev() {
            let &(_, operand) = incoming.iter().find(|&&(way, _)| way == from)?;
            // Seen from here: what a loop gave that control has left is what it gave last.
            let value = self.operand_in(operand, block, side)?;
            chosen = Some(match chosen {
                None => value,
                Some(other) => self.terms.ite(ways[number], value, other),
            });
        }
        chosen
    }

    /// By predecessor: whether control came from there, given that it came here.
    fn ways_to(&mut self, block: BlockId, side: Side) -> Vec<Term> {
        let side = if self.places.once_block(block) { Side::A } else { side };
        if let Some(found) = self.ways.get(&(block, side)) {
            return found.clone();
        }
        let previous = self.code.block(block).previous.clone();
        let exact = self.exact_ways(block, &previous, side);
        let ways = exact.unwrap_or_else(|| {
            (0..previous.len() as u32).map(|way| self.unknown(Unknown::Way(block, way, side), 1)).collect()
        });
        self.ways.insert((block, side), ways.clone());
        ways
    }

    /// The conditions of the ways from a block's dominator to it, if there is no cycle between.
    fn exact_ways(&mut self, block: BlockId, previous: &[BlockId], side: Side) -> Option<Vec<Term>> {
        let top = self.code.block(block).idom?;
        // What lies between, in an order in which each stands after those that lead to it.
        let mut order: Vec<BlockId> = Vec::new();
        let mut state: HashMap<BlockId, bool> = HashMap::new();
        let mut stack: Vec<(BlockId, usize)> = Vec::new();
        for &from in previous.iter().filter(|&&from| from != top) {
            if let Entry::Vacant(new) = state.entry(from) {
                new.insert(false);
                stack.push((from, 0));
            }
            while let Some((current, next)) = stack.pop() {
                let data = self.code.block(current);
                match data.previous.get(next) {
                    Some(&before) => {
                        stack.push((current, next + 1));
                        if before == top {
                            continue;
                        }
                        match state.get(&before) {
                            Some(true) => {}
                            Some(false) => return None,
                            None => {
                                if state.len() >= MOST_BLOCKS || !self.code.block(before).is_reachable {
                                    return None;
                                }
                                state.insert(before, false);
                                stack.push((before, 0));
                            }
                        }
                    }
                    None => {
                        state.insert(current, true);
                        order.push(current);
                    }
                }
            }
        }
        // In loops that control has left, conditions were those of an iteration that is over.
        if !order.iter().chain([&top]).all(|&between| shares_loops(self.code, block, between)) {
            return None;
        }
        let yes = self.terms.constant(1, 1);
        let mut reached: HashMap<BlockId, Term> = HashMap::from([(top, yes)]);
        for current in order {
            let ways = self.code.block(current).previous.clone();
            let mut any = self.terms.constant(1, 0);
            for from in ways {
                let way = self.way(*reached.get(&from)?, from, current, side);
                any = self.terms.or(any, way);
            }
            reached.insert(current, any);
        }
        previous.iter().map(|from| Some(self.way(*reached.get(from)?, *from, block, side))).collect()
    }

    /// The condition of an edge, if it is known.
    pub fn edge_condition(&mut self, from: BlockId, to: BlockId, side: Side) -> Option<Term> {
        let last = InstId(self.code.block(from).insts.end.checked_sub(1)?);
        match self.code.inst(last).op {
            Op::Branch(Some(_)) | Op::Switch { .. } => Some(self.edge(from, to, side)),
            _ => None,
        }
    }

    /// Control is in `from` and goes to `to`.
    fn way(&mut self, in_from: Term, from: BlockId, to: BlockId, side: Side) -> Term {
        let goes = self.edge(from, to, side);
        self.terms.and(in_from, goes)
    }

    /// Control goes from a block to another.
    fn edge(&mut self, from: BlockId, to: BlockId, side: Side) -> Term {
        let code = self.code;
        let data = code.block(from);
        let yes = self.terms.constant(1, 1);
        if data.next.iter().all(|&next| next == to) {
            return yes;
        }
        let last = InstId(data.insts.end.saturating_sub(1));
        let turn = |values: &mut Self| {
            let side = if values.places.once_block(from) { Side::A } else { side };
            // Two ways exclude each other: the choice among the first of them is the block's.
            let number = data.next.iter().position(|&next| next == to).unwrap_or(0) as u32;
            values.unknown(Unknown::Turn(from, number, side), 1)
        };
        match &code.inst(last).op {
            // Seen from where it leads: out of a loop it is the condition of the last iteration.
            Op::Branch(Some(cond)) => match self.operand_in(*cond, to, side) {
                Some(cond) if data.next[0] == to => cond,
                Some(cond) => self.terms.not(cond),
                None => turn(self),
            },
            Op::Switch { value, cases } => {
                let Some(value) = self.operand_in(*value, to, side) else { return turn(self) };
                let width = self.terms.width(value);
                let mut any = self.terms.constant(1, 0);
                let mut some = self.terms.constant(1, 0);
                for (&case, &next) in cases.iter().zip(&data.next[1..]) {
                    let case = self.terms.constant(width, case);
                    let is_case = self.terms.eq(value, case);
                    some = self.terms.or(some, is_case);
                    if next == to {
                        any = self.terms.or(any, is_case);
                    }
                }
                if data.next[0] == to {
                    let none = self.terms.not(some);
                    any = self.terms.or(any, none);
                }
                any
            }
            _ => turn(self),
        }
    }
}
