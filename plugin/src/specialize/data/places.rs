//! Who runs what, and when, in every run that follows a schedule: what the cloned code, its items and the order of the
//! schedule's steps say together (Wu 4.2.2: segments, and the partial order on them).
//!
//! *Owned* functions run as part of one thread and are called from one place (`tree`); all claims are of their
//! instructions. Each has a span of its thread's steps (`spans`): when it begins, so many are over; when it ends,
//! that one cannot have begun. Two spans and what is known of the steps' order ([`Known`]) say whether one instruction
//! is over before another begins; where spans of one thread meet, control flow says ([`super::between`]).
//!
//! A claim holds in every run that follows the schedule, also in one that has not ended or that stops on its way, except
//! [`Places::always`], which is of runs that follow it to their end. Nothing is claimed of other code, nor of code that
//! control does not come to: questions about it get the answer that permits least.
//!
//! Where this deviates from Wu: segments are not sets of cloned statements but spans, which private copies of functions
//! without synchronizations have as well; happens-before is of executions, so that loops need no special rule.
//!
//! Limits: a clone that may come back without having synchronized is not owned if it is called in a loop or from several
//! places; signal handlers and what libraries call back are not owned.

mod always;
pub mod shape;
pub mod spans;
mod tree;
mod uses;

pub use spans::Span;
pub use tree::Start;
pub use uses::for_each_operand;

use super::between::Reach;
use super::conditions::Facts;
use crate::ir::code::{BlockId, Code, FuncId, InstId};
use crate::specialize::items::KeptFrames;
use always::Always;
use covsched_core::schedule::order::{Known, Order};
use covsched_core::schedule::Schedule;
use covsched_core::ThreadId;
use shape::Shape;
use spans::{Spans, Steps};
use tree::{Builder, Owned, Tree};

/// Answers questions about the places of instructions.
pub struct Places<'c, 'm> {
    pub(super) code: &'c Code<'m>,
    pub(super) shape: Shape,
    pub(super) spans: Spans,
    pub(super) reach: Reach,
    pub(super) facts: Facts,
    known: Known,
    tree: Tree,
    always: Always,
    /// By function: the block that all its returns are below of.
    returns: Vec<Option<BlockId>>,
}

impl<'c, 'm> Places<'c, 'm> {
    /// Of a program after control-flow specialization. `schedule` is the one that runs follow: without what users leave
    /// out ([`Schedule::leave_out`]). `kept` is of the same schedule.
    pub fn of(code: &'c Code<'m>, schedule: &Schedule, order: Order, kept: &KeptFrames) -> Self {
        let mut shape = Shape::new(code);
        let mut tree = Builder::new(code, kept, &mut shape).build();
        let spans = Spans::of(code, &shape, &Steps::of(schedule, kept), &mut tree);
        let mut returns = vec![None; code.functions.len()];
        for (common, owned) in returns.iter_mut().zip(&tree.owned) {
            let Some(owned) = owned else { continue };
            *common = shape.common_dominator(code, always::returns(code, &owned.blocks));
        }
        Places {
            code,
            always: Always::of(code, &shape, &tree),
            facts: Facts::of(code, &shape, tree.functions().flat_map(|owned| &owned.blocks)),
            shape,
            spans,
            reach: Reach::default(),
            known: Known::of(schedule, order),
            tree,
            returns,
        }
    }

    /// Owned functions, callers before those that they call.
    pub fn functions(&self) -> impl Iterator<Item = FuncId> + '_ {
        self.tree.order.iter().copied().filter(|&function| self.is_owned(function))
    }

    /// Whether a function runs as part of one thread, called from one place.
    pub fn is_owned(&self, function: FuncId) -> bool {
        self.tree.owned[function.index()].is_some()
    }

    /// How an owned function begins.
    pub fn start(&self, function: FuncId) -> Option<Start> {
        self.function(function).map(|owned| owned.start)
    }

    /// The only call of an owned function; `None` for threads' own.
    pub fn call_site(&self, function: FuncId) -> Option<InstId> {
        match self.start(function)? {
            Start::Call(call) => Some(call),
            Start::Main | Start::Thread(_) => None,
        }
    }

    /// Who runs an instruction; `None` if it is not owned, or if control does not come to it.
    pub fn thread(&self, inst: InstId) -> Option<ThreadId> {
        self.owner(inst).map(|owned| owned.thread)
    }

    /// The steps of its thread around an instruction.
    pub fn span(&self, inst: InstId) -> Option<Span> {
        self.owner(inst).map(|_| self.spans.of_inst(inst))
    }

    /// Whether an instruction executes in every run that follows the schedule to its end.
    pub fn always(&self, inst: InstId) -> bool {
        self.owner(inst).is_some() && self.always.contains(self.code, inst)
    }

    /// Whether control comes to a block in every run that follows the schedule to its end.
    pub fn always_comes_to(&self, block: BlockId) -> bool {
        self.always(InstId(self.code.block(block).insts.start))
    }

    /// Whether an instruction executes at most once in a run.
    pub fn once(&self, inst: InstId) -> bool {
        let is_once = |owned: &Owned| owned.is_once && !self.shape.is_in_cycle(self.code.inst(inst).block);
        self.owner(inst).is_some_and(is_once)
    }

    /// Whether two instructions of different threads may execute at the same time.
    pub fn concurrent(&self, a: InstId, b: InstId) -> bool {
        match (self.thread(a), self.thread(b)) {
            (Some(one), Some(other)) if one != other => !self.before(a, b) && !self.before(b, a),
            (Some(_), Some(_)) => false,
            // Nothing is known.
            _ => true,
        }
    }

    pub(super) fn function(&self, function: FuncId) -> Option<&Owned> {
        self.tree.owned[function.index()].as_ref()
    }

    /// The owned function of an instruction that control comes to.
    pub(super) fn owner(&self, inst: InstId) -> Option<&Owned> {
        let block = self.code.inst(inst).block;
        let owned = self.function(self.code.block(block).function)?;
        self.shape.is_known(block).then_some(owned)
    }

    /// Whether what one thread does in a span is over before another begins what it does in its span.
    pub(super) fn are_apart(&self, (a, first): (ThreadId, Span), (b, then): (ThreadId, Span)) -> bool {
        match a == b {
            true => first.until < then.after,
            false => self.known.separates(a, first.until as usize, b, then.after as usize),
        }
    }

    /// The block that all returns of an owned function are below of.
    pub(super) fn common_return(&self, function: FuncId) -> Option<BlockId> {
        self.returns[function.index()]
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
