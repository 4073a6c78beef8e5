//! PHIs where ways meet, and conditions of edges.
//!
//! Such a PHI is a choice by the conditions of the ways, if those between it and its dominator are known, and else by
//! unknown ones, which the PHIs of one block share. A choice is defined whether or not the block is reached, so that it
//! excludes nothing.

use super::super::owned::shares_loops;
use super::{Side, Unknown, Values, View};
use crate::ir::code::{BlockId, InstId, Op, Operand};
use crate::smt::Term;
use std::collections::hash_map::Entry;
use std::collections::HashMap;

/// Blocks between a PHI and its dominator, up to which the conditions of the ways are followed.
const MOST_BLOCKS: usize = 64;

impl Values<'_, '_> {
    /// A PHI where ways meet.
    pub(super) fn meeting(
        &mut self,
        block: BlockId,
        incoming: &[(BlockId, Operand)],
        view: View,
    ) -> Option<Term> {
        let ways = self.ways_to(block, view);
        let previous = &self.code.block(block).previous;
        let mut chosen: Option<Term> = None;
        // The last way is what remains.
        for (number, &from) in previous.iter().enumerate().rev() {
            let &(_, operand) = incoming.iter().find(|&&(way, _)| way == from)?;
            // Seen from here: what a loop gave that control has left is what it gave last.
            let value = self.operand_in(operand, block, view)?;
            chosen = Some(match chosen {
                None => value,
                Some(other) => self.terms.ite(ways[number], value, other),
            });
        }
        chosen
    }

    /// By predecessor: whether control came from there, given that it came here.
    fn ways_to(&mut self, block: BlockId, view: View) -> Vec<Term> {
        let view = if self.places.once_block(block) { Side::A.into() } else { view };
        if let Some(found) = self.ways.get(&(block, view)) {
            return found.clone();
        }
        let previous = self.code.block(block).previous.clone();
        let exact = self.exact_ways(block, &previous, view);
        let ways = exact.unwrap_or_else(|| {
            (0..previous.len() as u32).map(|way| self.unknown(Unknown::Way(block, way, view), 1)).collect()
        });
        self.ways.insert((block, view), ways.clone());
        ways
    }

    /// The conditions of the ways from a block's dominator to it, if there is no cycle between.
    fn exact_ways(&mut self, block: BlockId, previous: &[BlockId], view: View) -> Option<Vec<Term>> {
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
                let way = self.way(*reached.get(&from)?, from, current, view);
                any = self.terms.or(any, way);
            }
            reached.insert(current, any);
        }
        previous.iter().map(|from| Some(self.way(*reached.get(from)?, *from, block, view))).collect()
    }

    /// The condition of an edge, if it is known, as it was when control came to its end last.
    pub fn edge_condition(&mut self, from: BlockId, to: BlockId, view: View) -> Option<Term> {
        let last = InstId(self.code.block(from).insts.end.checked_sub(1)?);
        match self.code.inst(last).op {
            Op::Branch(Some(_)) | Op::Switch { .. } => Some(self.edge(from, to, view)),
            _ => None,
        }
    }

    /// Control is in `from` and goes to `to`.
    fn way(&mut self, in_from: Term, from: BlockId, to: BlockId, view: View) -> Term {
        let goes = self.edge(from, to, view);
        self.terms.and(in_from, goes)
    }

    /// Control goes from a block to another.
    fn edge(&mut self, from: BlockId, to: BlockId, view: View) -> Term {
        let code = self.code;
        let data = code.block(from);
        let yes = self.terms.constant(1, 1);
        if data.next.iter().all(|&next| next == to) {
            return yes;
        }
        let last = InstId(data.insts.end.saturating_sub(1));
        let turn = |values: &mut Self| {
            let view = if values.places.once_block(from) { Side::A.into() } else { view };
            // Two ways exclude each other: the choice among the first of them is the block's.
            let number = data.next.iter().position(|&next| next == to).unwrap_or(0) as u32;
            values.unknown(Unknown::Turn(from, number, view), 1)
        };
        match &code.inst(last).op {
            // Seen from where it leads: out of a loop it is the condition of the last iteration.
            Op::Branch(Some(cond)) => match self.operand_in(*cond, to, view) {
                Some(cond) if data.next[0] == to => cond,
                Some(cond) => self.terms.not(cond),
                None => turn(self),
            },
            Op::Switch { value, cases } => {
                let Some(value) = self.operand_in(*value, to, view) else { return turn(self) };
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
