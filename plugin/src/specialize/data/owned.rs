//! Questions about the blocks and functions of owned code, in terms of those about instructions.

use super::places::{Places, Start};
use crate::ir::code::{BlockId, Call, Callee, FuncId, InstId, Op, Operand};
use covsched_core::ThreadId;

impl Places<'_, '_> {
    /// Whether a block runs at most once in a run.
    pub fn once_block(&self, block: BlockId) -> bool {
        self.once(InstId(self.code.block(block).insts.start))
    }

    /// Whether a block runs exactly once in every run that follows the schedule to its end.
    pub fn is_sure(&self, block: BlockId) -> bool {
        self.once_block(block) && self.always_comes_to(block)
    }

    /// Whether an owned function runs at most once in a run.
    pub fn once_function(&self, function: FuncId) -> bool {
        self.entry(function).is_some_and(|entry| self.once_block(entry))
    }

    /// Who runs an owned function.
    pub fn thread_of(&self, function: FuncId) -> Option<ThreadId> {
        let entry = self.entry(function)?;
        self.thread(InstId(self.code.block(entry).insts.start))
    }

    /// What a thread's function is given: the call that creates the thread, and which of its arguments.
    pub fn start_argument(&self, function: FuncId) -> Option<(InstId, Operand)> {
        let Start::Thread(Some(create)) = self.start(function)? else { return None };
        let Op::Call(Call { callee: Callee::Function(hook), arguments, .. }) = &self.code.inst(create).op
        else {
            return None;
        };
        let number = match self.code.function(*hook).name.as_str() {
            "covsched_pthread_create" => 3,
            "covsched_thrd_create" => 2,
            _ => return None,
        };
        Some((create, *arguments.get(number)?))
    }

    fn entry(&self, function: FuncId) -> Option<BlockId> {
        self.code.blocks_of(function).next()
    }
}

/// Whether a block is in each cycle in which another block of its function is, so that what that one did in the iteration that
/// control is in is what it did last.
pub fn shares_loops(code: &crate::ir::code::Code<'_>, block: BlockId, other: BlockId) -> bool {
    let data = code.block(other);
    if block == other {
        return true;
    }
    !data.in_irreducible_cycle
        && data.in_loop.is_none_or(|inner| code.loops[inner.index()].blocks.binary_search(&block).is_ok())
}
