//! The shape of functions' control flow: dominance in constant time, and cycles.

use crate::ir::code::{BlockId, Code, FuncId, InstId, Op};

/// Of a block that was not looked at, or that control does not come to.
const NOWHERE: u32 = u32::MAX;

/// By block of the module; functions are added one by one.
#[derive(Debug)]
pub struct Shape {
    /// Where a walk through the dominator tree enters a block, and the last that it enters below.
    entered: Vec<u32>,
    last_below: Vec<u32>,
    /// The block's strongly connected component, numbered so that numbers fall along edges between components.
    rank: Vec<u32>,
    /// In a cycle, natural loop or not.
    in_cycle: Vec<bool>,
}

impl Shape {
    /// Of no function yet.
    pub fn new(code: &Code<'_>) -> Shape {
        let blocks = code.blocks.len();
        Shape {
            entered: vec![NOWHERE; blocks],
            last_below: vec![0; blocks],
            rank: vec![NOWHERE; blocks],
            in_cycle: vec![false; blocks],
        }
    }

    /// Looks at a function with a body. Gives its blocks that control comes to, so that a block's dominators come before
    /// it.
    pub fn add(&mut self, code: &Code<'_>, function: FuncId) -> Vec<BlockId> {
        let order = self.number_dominators(code, function);
        self.find_cycles(code, function);
        order
    }

    fn number_dominators(&mut self, code: &Code<'_>, function: FuncId) -> Vec<BlockId> {
        let range = code.function(function).blocks.clone();
        let local = |block: BlockId| (block.0 - range.start) as usize;
        let mut below: Vec<Vec<BlockId>> = vec![Vec::new(); range.len()];
        for block in code.blocks_of(function).filter(|&block| code.block(block).is_reachable) {
            if let Some(above) = code.block(block).idom {
                below[local(above)].push(block);
            }
        }
        let mut order = Vec::new();
        let mut work = vec![(BlockId(range.start), false)];
        while let Some((block, is_left)) = work.pop() {
            if is_left {
                self.last_below[block.index()] = order.len() as u32 - 1;
                continue;
            }
            self.entered[block.index()] = order.len() as u32;
            order.push(block);
            work.push((block, true));
            work.extend(below[local(block)].iter().map(|&block| (block, false)));
        }
        order
    }

    /// Tarjan's algorithm, without recursion: components come out sinks first.
    fn find_cycles(&mut self, code: &Code<'_>, function: FuncId) {
        let range = code.function(function).blocks.clone();
        let local = |block: BlockId| (block.0 - range.start) as usize;
        let (mut number, mut low) = (vec![NOWHERE; range.len()], vec![0; range.len()]);
        let (mut numbers, mut ranks) = (0, 0);
        let mut open: Vec<BlockId> = Vec::new();
        let mut path = vec![(BlockId(range.start), 0)];
        while let Some(&(block, slot)) = path.last() {
            if slot == 0 && number[local(block)] == NOWHERE {
                (number[local(block)], low[local(block)]) = (numbers, numbers);
                numbers += 1;
                open.push(block);
            }
            if let Some(&next) = code.block(block).next.get(slot) {
                let top = path.len() - 1;
                path[top].1 = slot + 1;
                if number[local(next)] == NOWHERE {
                    path.push((next, 0));
                } else if self.rank[next.index()] == NOWHERE {
                    low[local(block)] = low[local(block)].min(number[local(next)]);
                }
                self.in_cycle[block.index()] |= next == block;
                continue;
            }
            path.pop();
            if let Some(&(above, _)) = path.last() {
                low[local(above)] = low[local(above)].min(low[local(block)]);
            }
            if low[local(block)] != number[local(block)] {
                continue;
            }
            let from = open.iter().rposition(|&one| one == block).unwrap_or(0);
            let is_cycle = open.len() - from > 1;
            for one in open.drain(from..) {
                self.rank[one.index()] = ranks;
                self.in_cycle[one.index()] |= is_cycle;
            }
            ranks += 1;
        }
    }

    /// Control comes to the block, and its function was added.
    pub fn is_known(&self, block: BlockId) -> bool {
        self.entered[block.index()] != NOWHERE
    }

    /// Control can come to the block again, in one call of its function.
    pub fn is_in_cycle(&self, block: BlockId) -> bool {
        self.in_cycle[block.index()]
    }

    /// Falls along edges between different components, and is the same in one.
    pub fn rank(&self, block: BlockId) -> u32 {
        self.rank[block.index()]
    }

    /// Whether control comes to `b` only by way of `a`; a block dominates itself.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let (a, b) = (a.index(), b.index());
        self.entered[a] <= self.entered[b] && self.entered[b] <= self.last_below[a]
    }

    /// Whether control comes to `b` only by way of the edge from `from` to `to`.
    pub fn edge_dominates(&self, code: &Code<'_>, (from, to): (BlockId, BlockId), b: BlockId) -> bool {
        let others = code.block(to).previous.iter().filter(|&&block| block != from && self.is_known(block));
        self.dominates(to, b) && others.into_iter().all(|&block| self.dominates(to, block))
    }

    /// Whether an instruction was executed, and came back normally, whenever control comes to the end of its block's
    /// way to `b`: same function, different instructions.
    pub fn inst_dominates(&self, code: &Code<'_>, a: InstId, b: InstId) -> bool {
        let (in_a, in_b) = (code.inst(a).block, code.inst(b).block);
        match normal_edge(code, a) {
            Some(edge) => self.edge_dominates(code, edge, in_b),
            None if in_a == in_b => a < b,
            None => self.dominates(in_a, in_b),
        }
    }

    /// The deepest block that dominates all of these.
    pub fn common_dominator(
        &self,
        code: &Code<'_>,
        blocks: impl IntoIterator<Item = BlockId>,
    ) -> Option<BlockId> {
        let mut blocks = blocks.into_iter();
        let mut common = blocks.next()?;
        for block in blocks {
            while !self.dominates(common, block) {
                common = code.block(common).idom?;
            }
        }
        Some(common)
    }
}

/// Whether an instruction is a call at the end of its block: an invoke, which may also come back to a landing pad.
pub fn is_invoke(code: &Code<'_>, inst: InstId) -> bool {
    normal_edge(code, inst).is_some()
}

/// Where control goes on from an invoke that comes back normally.
pub fn normal_edge(code: &Code<'_>, inst: InstId) -> Option<(BlockId, BlockId)> {
    let data = code.inst(inst);
    let block = code.block(data.block);
    let is_last = inst.0 + 1 == block.insts.end;
    let next = block.next.first().filter(|_| is_last && matches!(data.op, Op::Call(_)))?;
    Some((data.block, *next))
}

/// Whether a block ends in a return.
pub fn ends_in_return(code: &Code<'_>, block: BlockId) -> bool {
    let last = code.insts_of(block).last();
    last.is_some_and(|last| matches!(code.inst(last).op, Op::Return(_)))
}
