//! Registers as terms: Wu's Table 4.1, and the rest of the instructions, at their real widths.
//!
//! A register's term is made of what gives it its value, down to what is opaque: input, library results, loads whose
//! definition is not known, loop counters. Equal registers become the same term, which is the union-find of Wu 4.3.2: an
//! equality costs nothing.
//!
//! A register in a loop has many values in a run. A term speaks of its most recent value at one place, the one that a
//! question is about. Of two places that are looked at together each has its own [`Side`], so that nobody concludes that
//! two iterations are one. A register that has at most one value in a run ([`Places::once`]) is the same on both.
//! Seen from behind a loop, its registers have the values of its last iteration: another [`View`] of them.
//!
//! Why the equations hold between most recent values: if `a` uses `b`, `b`'s definition dominates `a`, and `a` dominates
//! the place. Were `b` given a newer value after `a` ran, control would come from `b` to the place without passing `a`,
//! and it could have done so at first. Header PHIs are the exception, since one of their values comes around the loop
//! (`loops`).
//!
//! A PHI where ways meet is a choice among them (`ways`).
//!
//! What LLVM leaves undefined (undef, poison) is any value, a fresh one each time.

mod loops;
mod ways;

use super::places::Places;
use crate::ir::code::{
    Binary, BlockId, Call, Callee, Cast, Code, Compare, Def, FuncId, GlobalId, InstId, LoopId, Op, Operand,
    Ty, ValueId,
};
use crate::smt::{Term, Terms};
use std::collections::{HashMap, HashSet};

/// Which of two places that a question is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// The one, and what has one value in a run.
    A,
    /// The other.
    B,
}

/// How a register is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct View {
    /// From which place.
    pub side: Side,
    /// The outermost loop around the register that the place is not in: what is meant is the last iteration.
    pub over: Option<LoopId>,
}

impl From<Side> for View {
    /// Of registers whose loops the place is in.
    fn from(side: Side) -> View {
        View { side, over: None }
    }
}

/// Bits of an address.
pub const POINTER: u32 = 64;

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

/// What stands for a register or an unknown in the solver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Unknown {
    /// The same in each round if it is seen from its own loops.
    Register(ValueId, View),
    /// A register of a cycle that is no loop, seen from another block.
    Astray(ValueId, BlockId, View),
    /// How often control came back to a loop's header.
    Iteration(LoopId, View),
    /// Which way control came to a block with PHIs.
    Way(BlockId, u32, View),
    /// A branch whose condition is not known.
    Turn(BlockId, u32, View),
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
    known: HashMap<(ValueId, View), Term>,
    unknowns: HashMap<Unknown, Term>,
    /// What a variable stands for.
    meanings: HashMap<Term, Unknown>,
    /// Registers that are being made: a cycle is cut by an unknown.
    open: Vec<(ValueId, View)>,
    ways: HashMap<(BlockId, View), Vec<Term>>,
    /// What holds of loop counters, whether or not their loops run.
    pub bounds: Vec<Term>,
    /// Those whose bound is there.
    bounded: HashSet<(LoopId, View)>,
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
            meanings: HashMap::new(),
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

    /// The register whose value a variable is.
    pub fn register_behind(&self, term: Term) -> Option<ValueId> {
        match self.meanings.get(&term) {
            Some(&Unknown::Register(value, _)) => Some(value),
            _ => None,
        }
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
    pub fn operand(&mut self, operand: Operand, at: InstId, view: impl Into<View>) -> Option<Term> {
        let block = self.code.inst(at).block;
        self.operand_in(operand, block, view.into())
    }

    /// An operand as it is in a block of owned code, when control was there last.
    fn operand_in(&mut self, operand: Operand, from: BlockId, view: View) -> Option<Term> {
        match operand {
            Operand::Value(value) => self.seen(value, from, view),
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
    pub fn register(&mut self, value: ValueId, view: impl Into<View>) -> Option<Term> {
        let view = if self.has_one_value(value) { Side::A.into() } else { view.into() };
        if let Some(&term) = self.known.get(&(value, view)) {
            return Some(term);
        }
        let width = self.width(value)?;
        if self.open.contains(&(value, view)) {
            return Some(self.unknown(Unknown::Register(value, view), width));
        }
        self.open.push((value, view));
        let made = self.make(value, view).filter(|&term| self.terms.width(term) == width);
        self.open.pop();
        let term = made.unwrap_or_else(|| self.unknown(Unknown::Register(value, view), width));
        self.known.insert((value, view), term);
        Some(term)
    }

    /// How a block that dominates another is seen from there.
    pub fn view_of(&self, block: BlockId, from: BlockId, side: Side) -> View {
        match self.over(block, from) {
            over @ Some(_) if self.places.once_block(from) => View { side: Side::A, over },
            over => View { side, over },
        }
    }

    /// A register's value as it is in a block that its definition dominates.
    fn seen(&mut self, value: ValueId, from: BlockId, view: View) -> Option<Term> {
        let own = self.block_of(value);
        if view.over.is_some_and(|over| self.is_inside(own, over)) {
            return self.register(value, view);
        }
        if self.code.block(own).in_irreducible_cycle && own != from {
            let width = self.width(value)?;
            return Some(self.unknown(Unknown::Astray(value, from, view), width));
        }
        let view = self.view_of(own, from, view.side);
        self.register(value, view)
    }

    /// The outermost loop that one block is in and another is not.
    fn over(&self, block: BlockId, from: BlockId) -> Option<LoopId> {
        let around = |id: Option<LoopId>| std::iter::successors(id, |&id| self.code.loops[id.index()].parent);
        let is_without = |id: &LoopId| self.code.loops[id.index()].blocks.binary_search(&from).is_err();
        around(self.code.block(block).in_loop).take_while(is_without).last()
    }

    /// Whether a block runs as part of a loop, be it in a function that is called there.
    fn is_inside(&self, block: BlockId, id: LoopId) -> bool {
        let data = &self.code.loops[id.index()];
        let function = self.code.block(data.header).function;
        let mut block = block;
        while self.code.block(block).function != function {
            match self.places.call_site(self.code.block(block).function) {
                Some(call) => block = self.code.inst(call).block,
                None => return false,
            }
        }
        data.blocks.binary_search(&block).is_ok()
    }

    /// Where a register gets its value.
    fn block_of(&self, value: ValueId) -> BlockId {
        match self.code.values[value.index()].def {
            Def::Inst(inst) => self.code.inst(inst).block,
            Def::Parameter(function, _) => BlockId(self.code.function(function).blocks.start),
        }
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
        let term = match unknown {
            // So that answers are found again in the next round.
            Unknown::Register(value, View { side, over: None }) => {
                self.terms.variable_keyed(width, (self.numbers)(value) << 1 | (side == Side::B) as u64)
            }
            _ => self.terms.variable(width),
        };
        self.unknowns.insert(unknown, term);
        self.meanings.insert(term, unknown);
        term
    }

    fn make(&mut self, value: ValueId, view: View) -> Option<Term> {
        match self.code.values[value.index()].def {
            Def::Parameter(function, number) => self.parameter(function, number, view),
            Def::Inst(inst) => self.instruction(value, inst, view),
        }
    }

    /// An owned function has one call, and a thread's function one creation.
    fn parameter(&mut self, function: FuncId, number: u32, view: View) -> Option<Term> {
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
        self.operand(operand, call, view)
    }

    fn instruction(&mut self, value: ValueId, inst: InstId, view: View) -> Option<Term> {
        let code = self.code;
        let block = code.inst(inst).block;
        let width = self.width(value)?;
        match &code.inst(inst).op {
            &Op::Binary { op, a, b, .. } => {
                let (a, b) = (self.operand(a, inst, view)?, self.operand(b, inst, view)?);
                Some(self.binary(op, a, b))
            }
            &Op::Compare { op, a, b } => {
                let (a, b) = (self.operand(a, inst, view)?, self.operand(b, inst, view)?);
                Some(compare(&mut self.terms, op, a, b))
            }
            &Op::Cast { op, a } => {
                let a = self.operand(a, inst, view)?;
                self.cast(op, a, width)
            }
            Op::Gep { base, offset, terms, .. } => {
                let mut sum = self.operand(*base, inst, view)?;
                let offset = self.terms.constant(POINTER, *offset as u64);
                sum = self.terms.add(sum, offset);
                for &(index, scale) in terms {
                    let index = self.operand(index, inst, view)?;
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
                let cond = self.operand(cond, inst, view)?;
                let (a, b) = (self.operand(a, inst, view)?, self.operand(b, inst, view)?);
                Some(self.terms.ite(cond, a, b))
            }
            &Op::Freeze(a) => self.operand(a, inst, view),
            Op::Phi(incoming) => {
                if self.is_header(block) {
                    return self.recurrence(value, block, view);
                }
                self.meeting(block, incoming, view)
            }
            Op::Load { .. } => match *self.sources.get(&value)? {
                Source::Constant(constant) => Some(self.terms.constant(width, constant)),
                Source::Address(operand) => self.operand(operand, inst, view),
                Source::Operand { operand, at } => {
                    let block = self.code.inst(at).block;
                    let view = match view.over {
                        _ if self.places.once(at) => Side::A.into(),
                        Some(over) if !self.is_inside(block, over) => view.side.into(),
                        _ => view,
                    };
                    self.operand(operand, at, view)
                }
            },
            Op::Call(call) => self.result(call, view),
            _ => None,
        }
    }

    /// What an owned function returns, if it has one return.
    fn result(&mut self, call: &Call, view: View) -> Option<Term> {
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
        self.operand(operand, last, view)
    }

    fn larger(&mut self, op: Compare, a: Term, b: Term) -> Term {
        let takes_other = compare(&mut self.terms, op, a, b);
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
}

fn compare(terms: &mut Terms, op: Compare, a: Term, b: Term) -> Term {
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
