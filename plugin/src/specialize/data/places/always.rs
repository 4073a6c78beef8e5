//! What executes in every run that follows the schedule to its end.
//!
//! A frame's clone does its items, so what dominates an item has executed; if an item stands in several places, what
//! dominates all of them. A function that surely comes back has executed what dominates all its returns; that it comes
//! back is seen from the code behind its call, which executes itself. A function that is surely called executes its
//! entry, up to the first call that may not come back. Callers first: what is known of a function depends on what is
//! known of its call.

use super::shape::{ends_in_return, normal_edge, Shape};
use super::tree::{call_of, Owned, Start, Tree};
use crate::ir::code::{BlockId, Callee, Code, FuncId, InstId};
use covsched_core::hooks::MARKERS;
use std::collections::BTreeMap;

/// By block of the module: how many of its instructions always execute at least once, from the first.
pub struct Always(Vec<u32>);

impl Always {
    /// Of all owned functions.
    pub fn of(code: &Code<'_>, shape: &Shape, tree: &Tree) -> Always {
        let mut always = Always(vec![0; code.blocks.len()]);
        for &function in &tree.order {
            if let Some(owned) = &tree.owned[function.index()] {
                Marker { code, shape, always: &mut always }.run(function, owned);
            }
        }
        always
    }

    /// Whether an instruction executes at least once.
    pub fn contains(&self, code: &Code<'_>, inst: InstId) -> bool {
        let block = code.inst(inst).block;
        inst.0 - code.block(block).insts.start < self.0[block.index()]
    }
}

struct Marker<'a, 'm> {
    code: &'a Code<'m>,
    shape: &'a Shape,
    always: &'a mut Always,
}

impl Marker<'_, '_> {
    fn run(&mut self, function: FuncId, owned: &Owned) {
        let (is_entered, comes_back) = match owned.start {
            Start::Main | Start::Thread(_) => (true, false),
            Start::Call(call) => (self.always.contains(self.code, call), self.comes_back(call)),
        };
        if !is_entered {
            return;
        }
        self.enter(BlockId(self.code.function(function).blocks.start));
        let mut items: BTreeMap<u32, Vec<InstId>> = BTreeMap::new();
        for &(inst, number) in &owned.items {
            items.entry(number).or_default().push(inst);
        }
        for insts in items.values() {
            let blocks = insts.iter().map(|&inst| self.code.inst(inst).block);
            let Some(common) = self.shape.common_dominator(self.code, blocks) else { continue };
            // What is behind the item need not execute.
            match insts.iter().find(|&&inst| self.code.inst(inst).block == common) {
                Some(&inst) => self.mark_until(inst),
                None => self.mark_all(common),
            }
        }
        if comes_back {
            let returns = returns(self.code, &owned.blocks);
            if let Some(common) = self.shape.common_dominator(self.code, returns) {
                self.mark_all(common);
            }
        }
    }

    /// Whether a call that always executes comes back normally at least once.
    fn comes_back(&self, call: InstId) -> bool {
        match normal_edge(self.code, call) {
            None => self.always.contains(self.code, InstId(call.0 + 1)),
            Some((from, to)) => {
                self.always.0[to.index()] > 0 && self.shape.edge_dominates(self.code, (from, to), to)
            }
        }
    }

    /// Control comes to a block: it goes on until it may stop or choose.
    fn enter(&mut self, block: BlockId) {
        let mut block = block;
        loop {
            let stop = self.code.insts_of(block).find(|&inst| self.may_stop(inst));
            let known = self.always.0[block.index()];
            match stop {
                Some(inst) => return self.mark_until(inst),
                None => self.mark_all(block),
            }
            match self.code.block(block).next.as_slice() {
                // Once around an endless loop is enough.
                &[next] if known < self.always.0[block.index()] => block = next,
                _ => return,
            }
        }
    }

    /// A call from which control may not come back, or not to the next instruction.
    fn may_stop(&self, inst: InstId) -> bool {
        let Some(call) = call_of(self.code, inst) else { return false };
        let comes_back = match call.callee {
            Callee::Function(callee) => {
                let callee = self.code.function(callee);
                callee.is_intrinsic || MARKERS.iter().any(|marker| marker.symbol == callee.name)
            }
            _ => false,
        };
        !comes_back || call.never_returns
    }

    /// An instruction executes, and what dominates it.
    fn mark_until(&mut self, inst: InstId) {
        let block = self.code.inst(inst).block;
        let known = &mut self.always.0[block.index()];
        *known = (*known).max(inst.0 + 1 - self.code.block(block).insts.start);
        if let Some(above) = self.code.block(block).idom {
            self.mark_all(above);
        }
    }

    /// A block executes to its end, and what dominates it.
    fn mark_all(&mut self, block: BlockId) {
        let mut next = Some(block);
        while let Some(block) = next {
            let all = self.code.block(block).insts.len() as u32;
            if std::mem::replace(&mut self.always.0[block.index()], all) == all {
                return;
            }
            next = self.code.block(block).idom;
        }
    }
}

/// The blocks with a return.
pub fn returns<'c>(code: &'c Code<'_>, blocks: &'c [BlockId]) -> impl Iterator<Item = BlockId> + 'c {
    blocks.iter().copied().filter(|&block| ends_in_return(code, block))
}
