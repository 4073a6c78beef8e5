//! Ways through a function: where control can go without passing what ends an epoch.
//!
//! Must-execute (Bergan, Fig. 3.2 lines 9 and 12) is decided by taking out the steps that end an epoch and asking
//! what is still reached. This is stronger than asking for one block that dominates the latches or post-dominates the
//! header: both arms of an `if` may have a marker each. An invoke that throws has not come past its step, so what the
//! callee does counts on the normal edge only. A call ends an epoch if it is sure to run one of the program's functions
//! and each of them does so before it returns, or never returns.

use super::program::{Action, BlockId, Flow, FunctionId, Leave, Program};
use covsched_core::hooks::Effect;
use std::collections::{BTreeMap, BTreeSet};

/// What ends an epoch. Calls that never return end every way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ends {
    /// Epoch markers, those that stand in the program and those that are to be placed.
    pub markers: bool,
    /// The program's barriers.
    pub barriers: bool,
}

impl Ends {
    /// Nothing does.
    pub const NOTHING: Ends = Ends { markers: false, barriers: false };

    fn index(self) -> usize {
        usize::from(self.markers) + 2 * usize::from(self.barriers)
    }
}

/// A place for a marker: before a block's step, at its start if that is the first, or at its end.
pub type Spot = (BlockId, usize);

/// What stopped a way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stop {
    /// A marker that is to be placed.
    Spot(Spot),
    /// A step.
    Step(BlockId, usize),
}

/// What a way passes.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    /// Steps that are passed or at least begun, as (block, step).
    pub steps: BTreeSet<(BlockId, usize)>,
    /// Blocks that are reached at their start.
    pub blocks: BTreeSet<BlockId>,
    /// Blocks whose end is reached, so that they may leave the function.
    pub ends: BTreeSet<BlockId>,
    /// What stood in the way.
    pub stops: BTreeSet<Stop>,
}

/// The program with its markers so far, and what is known of its functions.
pub struct Ways<'p, 'm> {
    /// The program.
    pub program: &'p Program<'m>,
    /// Markers that are to be placed.
    pub spots: BTreeMap<FunctionId, BTreeSet<Spot>>,
    /// By [`Ends::index`] and function: there is a way from its entry to a return. True until it is known.
    passable: [Vec<bool>; 4],
}

impl<'p, 'm> Ways<'p, 'm> {
    /// Nothing is known yet.
    pub fn new(program: &'p Program<'m>) -> Self {
        let unknown = vec![true; program.functions.len()];
        Ways { program, spots: BTreeMap::new(), passable: std::array::from_fn(|_| unknown.clone()) }
    }

    /// A function's flow.
    pub fn flow(&self, function: FunctionId) -> &'p Flow<'m> {
        &self.program.functions[function.0 as usize]
    }

    /// Places a marker; false if there is one already.
    pub fn mark(&mut self, function: FunctionId, spot: Spot) -> bool {
        self.spots.entry(function).or_default().insert(spot)
    }

    /// Whether a marker is to be placed here.
    pub fn stops_at(&self, function: FunctionId, spot: Spot) -> bool {
        self.spots.get(&function).is_some_and(|spots| spots.contains(&spot))
    }

    /// Whether no way leads past this.
    pub fn stops(&self, action: &Action, ends: Ends) -> bool {
        match action {
            Action::Marker(_) => ends.markers,
            Action::Synchronizes(op) => match op.effect() {
                Effect::Arrive => ends.barriers,
                Effect::EndThread | Effect::EndProcess => true,
                _ => false,
            },
            Action::Calls { functions, unknown: false, certain: true } if !functions.is_empty() => {
                !functions.iter().any(|id| self.passable[ends.index()][id.0 as usize])
            }
            Action::Calls { .. } => false,
        }
    }

    /// Follows all ways from these places; only to blocks of `within`, if that is given.
    pub fn from(
        &self,
        function: FunctionId,
        starts: impl IntoIterator<Item = Spot>,
        within: Option<&BTreeSet<BlockId>>,
        ends: Ends,
    ) -> Reached {
        let blocks = &self.flow(function).blocks;
        let mut reached = Reached::default();
        let mut work: Vec<Spot> = starts.into_iter().collect();
        reached.blocks.extend(work.iter().filter(|spot| spot.1 == 0).map(|spot| spot.0));
        while let Some((id, from)) = work.pop() {
            let block = &blocks[id.0 as usize];
            let mut stop = None;
            for at in from..=block.steps.len() {
                if ends.markers && self.stops_at(function, (id, at)) {
                    stop = Some(Stop::Spot((id, at)));
                } else if let Some(step) = block.steps.get(at) {
                    reached.steps.insert((id, at));
                    if self.stops(&step.action, ends) {
                        stop = Some(Stop::Step(id, at));
                    }
                }
                if stop.is_some() {
                    break;
                }
            }
            let next = match stop {
                None => {
                    reached.ends.insert(id);
                    &block.next[..]
                }
                // The exception of an invoke goes on whatever the callee did.
                Some(Stop::Step(_, at)) if block.steps[at].is_invoke => block.next.get(1..).unwrap_or(&[]),
                Some(_) => &[],
            };
            reached.stops.extend(stop);
            for &next in next {
                if within.is_none_or(|within| within.contains(&next)) && reached.blocks.insert(next) {
                    work.push((next, 0));
                }
            }
        }
        reached
    }

    /// The same from the function's entry.
    pub fn from_entry(&self, function: FunctionId, ends: Ends) -> Reached {
        let entry = (!self.flow(function).blocks.is_empty()).then_some((BlockId(0), 0));
        self.from(function, entry, None, ends)
    }

    /// Whether a block that is reached, and its end, lead to another block: by its end, or by an exception.
    pub fn leads_to(&self, function: FunctionId, reached: &Reached, from: BlockId, to: BlockId) -> bool {
        let block = &self.flow(function).blocks[from.0 as usize];
        if reached.ends.contains(&from) {
            return block.next.contains(&to);
        }
        let last = block.steps.len().checked_sub(1);
        last.is_some_and(|last| {
            block.steps[last].is_invoke
                && reached.steps.contains(&(from, last))
                && block.next.get(1..).is_some_and(|next| next.contains(&to))
        })
    }

    /// Whether a reached block returns.
    pub fn returns(&self, function: FunctionId, reached: &Reached) -> bool {
        let blocks = &self.flow(function).blocks;
        reached.ends.iter().any(|id| blocks[id.0 as usize].leaves == Some(Leave::Returns))
    }

    /// Whether a function has a way from its entry to a return; true until it is known.
    pub fn is_passable(&self, function: FunctionId, ends: Ends) -> bool {
        self.passable[ends.index()][function.0 as usize]
    }

    /// Makes that known ([`super::knot`] finds it out).
    pub fn set_passable(&mut self, function: FunctionId, ends: Ends, is_passable: bool) {
        self.passable[ends.index()][function.0 as usize] = is_passable;
    }
}
