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
            facts.conditions[block.index()] = if branches { Some(block) } else { inherit(&facts.conditions) };
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
                None => {
                    next =
                        self.call_site(self.code.block(block).function).map(|call| self.code.inst(call).block)
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specialize::data::testing::Scene;

    fn scene() -> Scene {
        Scene::new(
            "fn main
               e: call main.t0.0; ret
             fn main.t0.0 t0/0
               e: enter; a; br t x
               t: trap
               x: h=assume; b; br l r
               l: c; switch m 1:l 2:n 3:n 4:t
               r: d; jmp m
               m: g; i=assume; call f; ret
               n: k; j=assume; call s; ret
             fn f
               e: o; br p q
               p: u; v=assume; br p q
               q: w; ret
             fn s
               e: y; switch z 7:z 8:t 9:t
               t: trap
               z: z1; ret",
            "t0 - entry",
        )
    }

    /// The name of a block's first instruction that has one.
    fn name(scene: &Scene, block: BlockId) -> &str {
        let mut names = scene.names.iter().filter(|(_, &inst)| scene.code.inst(inst).block == block);
        names.next().unwrap().0
    }

    fn conditions(scene: &Scene, at: &str) -> Vec<String> {
        let places = scene.places();
        let block = scene.code.inst(scene.at(at)).block;
        let words = |it: Condition| {
            let guard = if it.is_guard { " guard" } else { "" };
            match it.taken {
                Taken::If(taken) => format!("{} {taken}{guard}", name(scene, it.block)),
                Taken::OneOf(cases) => format!("{} {cases:?}{guard}", name(scene, it.block)),
                Taken::NoneOf(cases) => format!("{} not {cases:?}{guard}", name(scene, it.block)),
            }
        };
        places.conditions(block).map(words).collect()
    }

    #[test]
    fn conditions_are_those_of_edges_that_dominate() {
        let scene = scene();
        assert_eq!(conditions(&scene, "a"), Vec::<String>::new());
        assert_eq!(conditions(&scene, "b"), ["a false guard"]);
        // The loop comes back to it, and was entered by that edge.
        assert_eq!(conditions(&scene, "c"), ["b true", "a false guard"]);
        assert_eq!(conditions(&scene, "k"), ["c [2, 3]", "b true", "a false guard"]);
        // Both sides come here.
        assert_eq!(conditions(&scene, "g"), ["a false guard"]);
    }

    #[test]
    fn conditions_go_on_at_the_call() {
        let scene = scene();
        assert_eq!(conditions(&scene, "o"), ["a false guard"]);
        assert_eq!(conditions(&scene, "u"), ["o true", "a false guard"]);
        assert_eq!(conditions(&scene, "w"), ["a false guard"]);
        assert_eq!(conditions(&scene, "z1"), ["y not [8, 9] guard", "c [2, 3]", "b true", "a false guard"]);
    }

    #[test]
    fn assumes_are_those_that_have_executed() {
        let scene = scene();
        let places = scene.places();
        let assumes = |at: &str| {
            let found = places.assumes(scene.at(at));
            let named = found.map(|inst| scene.names.iter().find(|(_, &other)| other == inst).unwrap().0);
            named.map(String::as_str).collect::<Vec<&str>>()
        };
        assert_eq!(assumes("a"), Vec::<&str>::new());
        assert_eq!(assumes("h"), Vec::<&str>::new());
        assert_eq!(assumes("b"), ["h"]);
        assert_eq!(assumes("g"), ["h"], "its own comes later");
        assert_eq!(assumes("o"), ["i", "h"]);
        assert_eq!(assumes("w"), ["i", "h"]);
        assert_eq!(assumes("z1"), ["j", "h"]);
        assert_eq!(assumes("u"), ["i", "h"]);
    }

    #[test]
    fn above_is_the_dominator_or_the_call() {
        let scene = scene();
        let places = scene.places();
        let block = |at: &str| scene.code.inst(scene.at(at)).block;
        assert_eq!(places.above(block("w")), Some(block("o")));
        assert_eq!(places.above(block("o")), Some(block("g")));
        assert_eq!(places.above(block("g")), Some(block("b")));
        assert_eq!(places.above(block("a")), None);
    }
}
