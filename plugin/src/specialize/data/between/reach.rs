//! Searches through the blocks of one layer of a function, and what was found before.
//!
//! A layer is all that lies between two items: places before which the same steps may have begun. A block may begin in
//! one layer and end in another; its part in a layer has no hole.

use crate::ir::code::{BlockId, FuncId, InstId};
use crate::specialize::data::places::shape::ends_in_return;
use crate::specialize::data::places::Places;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

/// Blocks in all searches that are kept, together. More, and all are forgotten.
const MOST_BLOCKS: usize = 1 << 22;

/// Where a way leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Goal {
    /// To an instruction.
    Place(InstId),
    /// From a layer of a function to a later one.
    NextLayer(FuncId, u32),
    /// The same, or to a return in the layer.
    Return(FuncId, u32),
}

/// Which end of a way others will be asked for, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keep {
    /// Where it begins.
    Source,
    /// Where it leads.
    Target,
}

/// Blocks, sorted.
type Blocks = Rc<Vec<BlockId>>;

/// Blocks by layer.
type Layers = HashMap<u32, Vec<BlockId>>;

/// What was found.
#[derive(Default)]
pub(in super::super) struct Reach {
    /// Blocks from whose end there is a way to a goal, without an instruction.
    ways: Kept<(Goal, Option<InstId>)>,
    /// Blocks to which control can come from the end of a block, in the layer of that end.
    behind: Kept<BlockId>,
    /// By function: its blocks that end in a layer, or leave it by an item, by layer.
    layers: RefCell<HashMap<FuncId, Rc<Layers>>>,
}

/// Found sets by question.
struct Kept<K>(RefCell<(HashMap<K, Blocks>, usize)>);

impl<K> Default for Kept<K> {
    fn default() -> Self {
        Kept(RefCell::default())
    }
}

impl<K: Eq + Hash> Kept<K> {
    fn get(&self, key: K, find: impl FnOnce() -> Vec<BlockId>) -> Blocks {
        if let Some(found) = self.0.borrow().0.get(&key) {
            return found.clone();
        }
        let mut found = find();
        found.sort_unstable();
        let (kept, blocks) = &mut *self.0.borrow_mut();
        *blocks += found.len() + 1;
        if *blocks > MOST_BLOCKS {
            kept.clear();
            *blocks = found.len() + 1;
        }
        kept.entry(key).or_insert(Rc::new(found)).clone()
    }
}

fn contains(blocks: &Blocks, block: BlockId) -> bool {
    blocks.binary_search(&block).is_ok()
}

impl Places<'_, '_> {
    /// Whether control can go from an instruction to a goal in its layer without passing `without`, which is in that layer.
    pub(super) fn has_way(&self, inst: InstId, goal: Goal, without: Option<InstId>) -> bool {
        let block = self.code.inst(inst).block;
        let stop = without.filter(|&stop| self.code.inst(stop).block == block && inst <= stop);
        let is_direct = match goal {
            Goal::Place(place) => {
                self.code.inst(place).block == block && inst < place && stop.is_none_or(|stop| place <= stop)
            }
            _ => self.leaves(block, goal) && stop.is_none(),
        };
        is_direct || (stop.is_none() && contains(&self.ways_to(goal, without), block))
    }

    /// Whether a block leaves its layer for a goal before its end, or with it.
    fn leaves(&self, block: BlockId, goal: Goal) -> bool {
        match goal {
            Goal::Place(_) => false,
            Goal::NextLayer(_, layer) => self.spans.exit_layer(block) != layer,
            Goal::Return(_, layer) => {
                self.spans.exit_layer(block) != layer || ends_in_return(self.code, block)
            }
        }
    }

    /// The blocks from whose end there is a way to a goal.
    fn ways_to(&self, goal: Goal, without: Option<InstId>) -> Blocks {
        self.reach.ways.get((goal, without), || {
            let mut search = Search::default();
            let has_stop = |block: BlockId| without.is_some_and(|stop| self.code.inst(stop).block == block);
            let layer = match goal {
                Goal::Place(place) => {
                    let (block, layer) = (self.code.inst(place).block, self.spans.layer(place));
                    if !(has_stop(block) && without < Some(place)) {
                        self.come_to(block, layer, &mut search);
                    }
                    layer
                }
                Goal::NextLayer(function, layer) | Goal::Return(function, layer) => {
                    for &block in self.layers_of(function).get(&layer).into_iter().flatten() {
                        if self.leaves(block, goal) && !has_stop(block) {
                            self.come_to(block, layer, &mut search);
                        }
                        let mut next = self.code.block(block).next.iter();
                        if self.spans.exit_layer(block) == layer
                            && next.any(|&next| self.spans.entry_layer(next) != layer)
                        {
                            search.add(block);
                        }
                    }
                    layer
                }
            };
            let mut next = 0;
            while let Some(&block) = search.found.get(next) {
                next += 1;
                if !has_stop(block) {
                    self.come_to(block, layer, &mut search);
                }
            }
            search.found
        })
    }

    /// Adds the blocks that lead to the begin of one, if that is in the layer.
    fn come_to(&self, block: BlockId, layer: u32, search: &mut Search) {
        if self.spans.entry_layer(block) == layer {
            let before = self.code.block(block).previous.iter().copied();
            let before = before.filter(|&before| self.shape.is_known(before));
            before
                .filter(|&before| self.spans.exit_layer(before) == layer)
                .for_each(|before| search.add(before));
        }
    }

    /// Whether control can go from the end of one block to another, in the layer of that end.
    pub(super) fn leads_from(&self, from: BlockId, to: BlockId) -> bool {
        let behind = self.reach.behind.get(from, || {
            let layer = self.spans.exit_layer(from);
            let mut search = Search::default();
            let enter = |block: BlockId, search: &mut Search| {
                if self.spans.exit_layer(block) == layer {
                    let next = self.code.block(block).next.iter();
                    next.filter(|&&next| self.spans.entry_layer(next) == layer)
                        .for_each(|&next| search.add(next));
                }
            };
            enter(from, &mut search);
            let mut next = 0;
            while let Some(&block) = search.found.get(next) {
                next += 1;
                enter(block, &mut search);
            }
            search.found
        });
        contains(&behind, to)
    }

    /// The blocks of a function by the layers in which they begin and end.
    fn layers_of(&self, function: FuncId) -> Rc<HashMap<u32, Vec<BlockId>>> {
        let mut known = self.reach.layers.borrow_mut();
        let layers = known.entry(function).or_insert_with(|| {
            let mut layers: HashMap<u32, Vec<BlockId>> = HashMap::new();
            let owned = self.function(function);
            for &block in owned.iter().flat_map(|owned| &owned.blocks) {
                let (first, last) = (self.spans.entry_layer(block), self.spans.exit_layer(block));
                layers.entry(first).or_default().push(block);
                if first != last {
                    layers.entry(last).or_default().push(block);
                }
            }
            Rc::new(layers)
        });
        layers.clone()
    }
}

/// Blocks in the order in which they are found.
#[derive(Default)]
struct Search {
    found: Vec<BlockId>,
    seen: HashSet<BlockId>,
}

impl Search {
    fn add(&mut self, block: BlockId) {
        if self.seen.insert(block) {
            self.found.push(block);
        }
    }
}
