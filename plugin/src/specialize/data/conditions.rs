//! What holds where an instruction executes: conditions of branches that control must have taken, and what is assumed.
//!
//! An edge that dominates a block was taken last among all edges of its branch, whenever control is there. And the
//! condition is as it was then: whatever computes it dominates the branch, so every way from there to the block passes the
//! edge again. So all conditions found here hold of the most recent values of their registers.
//!
//! They go on at the call of an owned function; not at a thread's creation, since its creator goes on.
//!
//! Limit: only edges by which alone control comes to a block (but for loops back to it) are seen, not that several edges
//! say the same.

use super::places::shape::Shape;
use super::places::Places;
use crate::ir::code::{BlockId, Callee, Code, FuncId, InstId, Op, Operand};

const NOT_COVERED: &str = "covsched_not_covered";
const ASSUME: &str = "llvm.assume";

/// What a branch decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// The block that branches.
    pub block: BlockId,
    /// On what.
    pub value: Operand,
    /// Which way.
    pub taken: Taken,
    /// All other ways leave the schedule: this is a guard.
    pub is_guard: bool,
}

/// Which way control went.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    /// A branch's condition is this.
    If(bool),
    /// A switch's value is one of these, not sign-extended.
    OneOf(Vec<u64>),
    /// It is none of these.
    NoneOf(Vec<u64>),
}

/// Where there is something to be found.
pub struct Facts {
    /// By block: the next one, itself or above it in the dominator tree, that a branch's edge leads to alone.
    conditions: Vec<Option<BlockId>>,
    /// By block: the next one, itself or above it, with an assume.
    assumes: Vec<Option<BlockId>>,
    assume: Option<FuncId>,
    not_covered: Option<FuncId>,
}

impl Facts {
    /// Of owned functions' blocks, dominators first.
    pub fn of<'b>(code: &Code<'_>, shape: &Shape, blocks: impl Iterator<Item = &'b BlockId>) -> Facts {
        let named = |name: &str| {
            let mut functions = (0..).map(FuncId).zip(&code.functions);
            functions.find(|(_, function)| function.name == name).map(|(id, _)| id)
        };
        let mut facts = Facts {
            conditions: vec![None; code.blocks.len()],
            assumes: vec![None; code.blocks.len()],
            assume: named(ASSUME),
            not_covered: named(NOT_COVERED),
        };
        for &block in blocks {
            let above = code.block(block).idom;
            let inherit = |of: &[Option<BlockId>]| above.and_then(|above| of[above.index()]);
            let branches = above.is_some_and(|above| edge_of(code, shape, above, block).is_some());
            facts.conditions[block.index()] =
                if branches { Some(block) } else { inherit(&facts.conditions) };
            let assumes = code.insts_of(block).any(|inst| calls(code, inst, facts.assume));
            facts.assumes[block.index()] = if assumes { Some(block) } else { inherit(&facts.assumes) };
        }
        facts
    }
}

fn calls(code: &Code<'_>, inst: InstId, function: Option<FuncId>) -> bool {
    match (&code.inst(inst).op, function) {
        (Op::Call(call), Some(function)) => call.callee == Callee::Function(function),
        _ => false,
    }
}

/// The last instruction of a block.
fn last(code: &Code<'_>, block: BlockId) -> InstId {
    InstId(code.block(block).insts.end.saturating_sub(1))
}

/// On what a block branches, and which way, if it does so to another that it alone leads to.
fn edge_of(code: &Code<'_>, shape: &Shape, from: BlockId, to: BlockId) -> Option<(Operand, Taken)> {
    let next = &code.block(from).next;
    let (value, taken) = match &code.inst(last(code, from)).op {
        Op::Branch(Some(value)) => match next[..] {
            [yes, no] if yes != no && (yes == to || no == to) => (*value, Taken::If(yes == to)),
            _ => return None,
        },
        Op::Switch { value, cases } => {
            let (default, others) = next.split_first()?;
            let leads = |is: bool| {
                let pairs = cases.iter().zip(others).filter(move |(_, &next)| (next == to) == is);
                pairs.map(|(&case, _)| case).collect::<Vec<u64>>()
            };
            match *default == to {
                true if leads(false).is_empty() => return None,
                true => (*value, Taken::NoneOf(leads(false))),
                false if leads(true).is_empty() => return None,
                false => (*value, Taken::OneOf(leads(true))),
            }
        }
        _ => return None,
    };
    shape.edge_dominates(code, (from, to), to).then_some((value, taken))
}

impl Places<'_, '_> {
    /// What branches say wherever control is in a block, the nearest first.
    pub fn conditions(&self, block: BlockId) -> impl Iterator<Item = Condition> + '_ {
        let mut next = Some(block);
        std::iter::from_fn(move || loop {
            let block = next?;
            match self.facts.conditions[block.index()] {
                Some(found) => {
                    next = self.code.block(found).idom;
                    return self.condition(found);
                }
                None => next = self.call_site(self.code.block(block).function).map(|call| self.code.inst(call).block),
            }
        })
    }

    /// What the edge by which alone control comes to a block of an owned function says.
    pub fn condition(&self, block: BlockId) -> Option<Condition> {
        if !self.shape.is_known(block) || !self.is_owned(self.code.block(block).function) {
            return None;
        }
        let from = self.code.block(block).idom?;
        let (value, taken) = edge_of(self.code, &self.shape, from, block)?;
        let mut others = self.code.block(from).next.iter().filter(|&&next| next != block);
        let is_guard = others.all(|&next| self.is_trap(next));
        Some(Condition { block: from, value, taken, is_guard })
    }

    /// The block next above in the dominator tree, going on at the call of an owned function: what holds there holds in
    /// the block.
    pub fn above(&self, block: BlockId) -> Option<BlockId> {
        let call = || self.call_site(self.code.block(block).function);
        self.code.block(block).idom.or_else(|| call().map(|call| self.code.inst(call).block))
    }

    /// The calls of `llvm.assume` that have executed whenever an instruction does, the nearest block's first.
    pub fn assumes(&self, inst: InstId) -> impl Iterator<Item = InstId> + '_ {
        let mut next = self.thread(inst).map(|_| (self.code.inst(inst).block, Some(inst)));
        let blocks = std::iter::from_fn(move || {
            let (block, until) = next?;
            let found = self.facts.assumes[block.index()];
            next = match found.map(|found| self.code.block(found).idom) {
                Some(Some(above)) => Some((above, None)),
                // The entry, or nothing up to it.
                _ => self
                    .call_site(self.code.block(block).function)
                    .map(|call| (self.code.inst(call).block, Some(call))),
            };
            Some((found, until))
        });
        blocks.flat_map(move |(found, until)| {
            let until = until.filter(|&until| found == Some(self.code.inst(until).block));
            let insts = found.into_iter().flat_map(|block| self.code.insts_of(block));
            let insts = insts.take_while(move |&inst| until.is_none_or(|until| inst < until));
            insts.filter(|&inst| calls(self.code, inst, self.facts.assume))
        })
    }

    /// Whether a block leaves the schedule.
    pub fn is_trap(&self, block: BlockId) -> bool {
        self.code.insts_of(block).any(|inst| calls(self.code, inst, self.facts.not_covered))
    }
}
