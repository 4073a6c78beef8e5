//! A program as epochs see it: for each function its control flow, its loops, and what its instructions do that
//! matters. Plain data, so that placing ([`super::place`]) and checking ([`super::verify`]) need no LLVM and can be
//! tested on graphs that no compiler makes.
//!
//! Blocks, loops, and which parts are irreducible come from LLVM (`LoopInfo`); who is called comes from
//! [`crate::analysis::calls`].

use crate::ir::{Function, Inst};
use covsched_core::hooks::Op;
use covsched_core::SiteId;
use std::rc::Rc;

/// A function's place in [`Program::functions`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

/// A block's place in [`Flow::blocks`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockId(pub u32);

/// A loop's place in [`Flow::loops`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopId(pub u32);

/// Every function with a body.
#[derive(Clone, Debug, Default)]
pub struct Program<'m> {
    /// In the module's order.
    pub functions: Vec<Flow<'m>>,
}

/// A function's control flow.
#[derive(Clone, Debug)]
pub struct Flow<'m> {
    /// The function; `None` in tests without LLVM.
    pub function: Option<Function<'m>>,
    /// Its linkage name.
    pub name: String,
    /// Its blocks; the first is the entry.
    pub blocks: Vec<Block<'m>>,
    /// Its loops, each after those inside of it.
    pub loops: Vec<Loop>,
    /// Cycles that are no loops, since they can be entered at several blocks: largest parts only.
    pub irreducible: Vec<Irreducible>,
}

/// A block.
#[derive(Clone, Debug, Default)]
pub struct Block<'m> {
    /// What it does that matters, in order.
    pub steps: Vec<Step<'m>>,
    /// Where control goes from its end. If the last step is an invoke, first to its normal successor, then to where
    /// exceptions land.
    pub next: Vec<BlockId>,
    /// How it leaves the function, if it does.
    pub leaves: Option<Leave>,
}

/// How a block leaves its function. What never returns (`exit`, `unreachable`) does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// `ret`.
    Returns,
    /// `resume`: the exception goes on to the caller.
    Unwinds,
}

/// An instruction that matters.
#[derive(Clone, Debug)]
pub struct Step<'m> {
    /// The instruction; `None` in tests without LLVM.
    pub inst: Option<Inst<'m>>,
    /// What it does.
    pub action: Action,
    /// It ends its block: if it throws, control goes to the block's second successor, and what it does may not have
    /// been done.
    pub is_invoke: bool,
}

/// What an instruction does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// It synchronizes.
    Synchronizes(Op),
    /// It is an epoch marker.
    Marker(SiteId),
    /// It calls a function that is not known to be harmless.
    Calls {
        /// The functions of the program that it may call. Calls through pointers of one type share the list.
        functions: Rc<[FunctionId]>,
        /// It may come to code outside of the program that may synchronize.
        unknown: bool,
        /// It is sure to run one of `functions` or the code outside: no callback that may be skipped.
        certain: bool,
    },
}

/// A natural loop: entered at its header only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Where each iteration begins.
    pub header: BlockId,
    /// All its blocks, those of inner loops too, the header among them.
    pub blocks: Vec<BlockId>,
    /// The blocks from which control goes back to the header.
    pub latches: Vec<BlockId>,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// It has no exit, or one that depends on what creating or joining a thread gave. If it does nothing but create or
    /// join threads, that does not bound it: `while (pthread_create(...) == EAGAIN);` goes on until others make room, and
    /// `for (;;) pthread_create(...)` while they end. Exits by an exception, or that end the program, are none.
    pub may_go_on: bool,
}

/// A cycle that can be entered at several blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Irreducible {
    /// Its blocks.
    pub blocks: Vec<BlockId>,
    /// As [`Loop::may_go_on`].
    pub may_go_on: bool,
}
