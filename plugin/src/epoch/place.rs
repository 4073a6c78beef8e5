//! Where epoch markers go (Bergan 3.3.1, Fig. 3.2). Pure: works on [`Program`], changes nothing.
//!
//! Functions bottom-up over the strongly connected components of the call graph, in each the loops from the inside out.
//! For a loop, the first of these that fits:
//! 1. it has a marker in its header: that is its marker;
//! 2. nothing in it synchronizes: a marker if it spins (its exit waits for what another thread writes to an atomic or
//!    volatile variable, and an epoch's end would wait for it for ever), else nothing is said of it;
//! 3. *trivial*: it only waits on condition variables without a deadline and all notifications of the program are
//!    bounded; or only creates threads, or only joins them, and ends for its own reasons: it has an exit, and none
//!    depends on what creating or joining gave. (This is stricter than the paper, in which all of these are trivial. But
//!    creating and joining can go on for ever with two threads alive, and so can a loop that creates threads which end by
//!    themselves, or that tries again until there is room for one more.)
//! 4. *barrier*: every iteration passes a barrier of the program;
//! 5. *covered*: every iteration passes a marker, maybe in a callee, or a barrier;
//! 6. otherwise a marker at the start of its header.
//!
//! Deviations from the paper: must-execute is by reachability ([`super::ways`]); recursion is supported
//! ([`super::recursion`]); a cycle with several entries, which is no loop, gets a marker at each of them and is named as
//! a limit, since the rules are not applied to it; spin loops.

#[cfg(test)]
mod tests;

use super::effects::{Effects, Trivial};
use super::graph::{components, Component};
use super::knot::Knot;
use super::program::{Action, BlockId, Flow, FunctionId, Loop, LoopId, Program};
use super::recursion;
use super::ways::{Ends, Reached, Spot, Stop, Ways};
use crate::parameters::EpochOptions;
use crate::report::limits::Limit;
use covsched_core::hooks::Effect;
use covsched_core::SiteId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// What placing must know of a function and its flow does not say.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Why no marker can be put into it.
    pub unmarkable: Option<Limit>,
    /// For each of its loops: an exit depends on an atomic or volatile variable.
    pub waits_for_memory: Vec<bool>,
    /// The same, for each of its cycles that are no loops.
    pub irreducible_waits: Vec<bool>,
    /// It calls `setjmp`.
    pub returns_twice: bool,
}

/// A marker that stands in the program or is to be placed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// It stands there.
    Standing(SiteId),
    /// It is to be placed.
    New(FunctionId, Spot),
}

/// Why a marker is placed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// A loop synchronizes.
    Loop,
    /// A loop spins.
    Spin,
    /// Functions that call each other synchronize.
    Recursion,
}

/// What every iteration passes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cover {
    /// Markers.
    pub markers: BTreeSet<Mark>,
    /// The functions that are called on the way and lead to them; not those that these call.
    pub through: BTreeSet<FunctionId>,
    /// Barriers, as steps of functions.
    pub barriers: BTreeSet<(FunctionId, BlockId, usize)>,
}

/// Why a loop has a marker, or has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// It has one. `None` in a program that has markers, but not here.
    Marker(Option<Mark>),
    /// It spins and has one; `None` as above.
    Spin(Option<Mark>),
    /// See [`Trivial`].
    Trivial(Trivial),
    /// Every iteration passes a marker or barrier.
    Covered(Cover),
    /// Every iteration passes a barrier.
    Barrier(Cover),
    /// It should have one, and that cannot be done, or not well.
    Limit(Limit, Vec<Mark>),
}

/// Which cycle a decision is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cycle {
    /// A natural loop.
    Loop(LoopId),
    /// One with several entries.
    Irreducible(BTreeSet<BlockId>),
}

/// A decision about a loop.
#[derive(Clone, Debug)]
pub struct LoopDecision {
    /// Whose loop.
    pub function: FunctionId,
    /// Which.
    pub cycle: Cycle,
    /// How it synchronizes.
    pub effects: Effects,
    /// What was decided.
    pub decision: Decision,
}

/// A decision about functions that call each other.
#[derive(Clone, Debug)]
pub struct RecursionDecision {
    /// The functions.
    pub functions: Vec<FunctionId>,
    /// What they do.
    pub effects: Effects,
    /// New markers.
    pub markers: Vec<Mark>,
    /// What is left without a marker.
    pub limit: Option<Limit>,
}

/// All that was decided.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// New markers.
    pub markers: BTreeMap<(FunctionId, Spot), Why>,
    /// Loops that synchronize or spin, in the program's order.
    pub loops: Vec<LoopDecision>,
    /// Recursion that synchronizes.
    pub recursions: Vec<RecursionDecision>,
    /// Functions in which `longjmp` may make a loop that synchronizes.
    pub jumps: Vec<FunctionId>,
}

/// The state of placing.
pub struct Placing<'p, 'm> {
    /// The program and its markers.
    pub ways: Ways<'p, 'm>,
    /// What each function may do.
    pub effects: Vec<Effects>,
    /// What each function may do on a way from entry to return that passes no marker.
    pub through: Vec<Effects>,
    /// By function.
    pub hints: &'p [Hints],
    /// What the user asked for.
    pub options: EpochOptions,
    /// Whether markers are to be placed; else the program has some, and the decisions say what it has.
    pub proposes: bool,
    /// So far.
    pub decisions: Decisions,
    notifications_are_bounded: bool,
    /// What is known of functions that are done.
    covers: HashMap<(FunctionId, Ends), Rc<Cover>>,
}

/// Decides. `hints` has one entry a function. Without `proposes` no new markers are thought of.
pub fn place(program: &Program<'_>, hints: &[Hints], options: EpochOptions, proposes: bool) -> Decisions {
    let effects = Effects::of_functions(program);
    let order = call_order(program);
    let mut placing = Placing {
        ways: Ways::new(program),
        through: effects.clone(),
        notifications_are_bounded: notifications_are_bounded(program, hints, &effects, &order),
        effects,
        hints,
        options,
        proposes,
        decisions: Decisions::default(),
        covers: HashMap::new(),
    };
    for component in &order {
        placing.place_in(component);
    }
    let mut decisions = placing.decisions;
    let jumps =
        |id: &FunctionId| hints[id.0 as usize].returns_twice && !placing.effects[id.0 as usize].is_empty();
    decisions.jumps = (0..hints.len() as u32).map(FunctionId).filter(jumps).collect();
    decisions.loops.sort_by_key(|line| {
        let start = match &line.cycle {
            Cycle::Loop(id) => program.functions[line.function.0 as usize].loops[id.0 as usize].header,
            Cycle::Irreducible(blocks) => blocks.first().copied().unwrap_or(BlockId(0)),
        };
        (line.function, start)
    });
    decisions
}

/// Functions that call each other, callees first.
fn call_order(program: &Program<'_>) -> Vec<Component> {
    components(program.functions.len(), |caller| {
        let steps = program.functions[caller].blocks.iter().flat_map(|block| &block.steps);
        let mut callees: Vec<usize> = steps
            .filter_map(|step| match &step.action {
                Action::Calls { functions, .. } => Some(functions),
                _ => None,
            })
            .flat_map(|functions| functions.iter())
            .map(|id| id.0 as usize)
            .collect();
        callees.sort_unstable();
        callees.dedup();
        callees
    })
}

/// Whether no notification stands in a cycle that will have no marker: only what no marker can be put into has none.
fn notifications_are_bounded(
    program: &Program<'_>,
    hints: &[Hints],
    effects: &[Effects],
    order: &[Component],
) -> bool {
    let notifies = |effects: Effects| effects.has(Effects::NOTIFY | Effects::UNKNOWN);
    let is_bounded = |function: usize| {
        let flow = &program.functions[function];
        let loops = flow.loops.iter().map(|natural| &natural.blocks);
        let others = flow.irreducible.iter().map(|part| &part.blocks);
        loops.chain(others).all(|blocks| !notifies(effects_of(flow, blocks, effects)))
    };
    let unmarkable = |function: &usize| hints[*function].unmarkable.is_some();
    order.iter().all(|component| {
        let recursive = component.is_cycle && notifies(effects[component.nodes[0]]);
        component.nodes.iter().filter(|f| unmarkable(f)).all(|&f| is_bounded(f) && !recursive)
    })
}

fn effects_of<'b>(
    flow: &Flow<'_>,
    blocks: impl IntoIterator<Item = &'b BlockId>,
    of_functions: &[Effects],
) -> Effects {
    let steps = blocks.into_iter().flat_map(|id| &flow.blocks[id.0 as usize].steps);
    steps.fold(Effects::NONE, |all, step| all | Effects::of_step(step, of_functions))
}

impl Placing<'_, '_> {
    /// What ends an epoch, barriers as the user wants it.
    pub fn ends(&self) -> Ends {
        Ends { markers: true, barriers: !self.options.no_barrier }
    }

    /// Whether a cycle with these effects needs no marker.
    pub fn is_trivial(&self, effects: Effects) -> Option<Trivial> {
        effects.trivial(self.notifications_are_bounded).filter(|_| !self.options.no_trivial)
    }

    /// The same for a loop or another cycle inside of a function, of which it is known whether it may go on for ever.
    fn is_trivial_cycle(&self, effects: Effects, may_go_on: bool) -> Option<Trivial> {
        self.is_trivial(effects).filter(|&trivial| trivial == Trivial::Waits || !may_go_on)
    }

    fn place_in(&mut self, component: &Component) {
        let functions: Vec<FunctionId> =
            component.nodes.iter().map(|&node| FunctionId(node as u32)).collect();
        for &function in &functions {
            for natural in 0..self.ways.flow(function).loops.len() as u32 {
                self.decide_loop(function, LoopId(natural));
            }
            for number in 0..self.ways.flow(function).irreducible.len() {
                self.decide_irreducible(function, number);
            }
        }
        let mut knot = Knot::of(self, &functions);
        if component.is_cycle {
            recursion::decide(self, &mut knot);
        }
        let ends = self.ends();
        for ends in [Ends::NOTHING, Ends { markers: false, ..ends }, ends] {
            knot.summarize(self, ends);
        }
    }

    fn decide_loop(&mut self, function: FunctionId, id: LoopId) {
        let flow = self.ways.flow(function);
        let natural = &flow.loops[id.0 as usize];
        let effects = effects_of(flow, &natural.blocks, &self.effects);
        let blocks: BTreeSet<BlockId> = natural.blocks.iter().copied().collect();
        let header = natural.header;
        let round = |placing: &Self, ends: Ends| -> Result<(), Reached> {
            let reached = placing.ways.from(function, [(header, 0)], Some(&blocks), ends);
            let comes_round =
                natural.latches.iter().any(|&latch| placing.ways.leads_to(function, &reached, latch, header));
            if comes_round {
                Ok(())
            } else {
                Err(reached)
            }
        };
        // What never comes round is no loop.
        if round(self, Ends::NOTHING).is_err() {
            return;
        }
        let spins = self.hints[function.0 as usize].waits_for_memory.get(id.0 as usize) == Some(&true);
        let decision = if let Some(site) = standing_marker(flow, header) {
            let mark = Some(Mark::Standing(site));
            if effects.is_empty() {
                Decision::Spin(mark)
            } else {
                Decision::Marker(mark)
            }
        } else if effects.is_empty() {
            // A marker that every iteration passes will do for a loop that spins.
            if !spins || round(self, self.ends()).is_err() {
                return;
            }
            self.marker_or_limit(function, header, Why::Spin)
        } else if let Some(trivial) = self.is_trivial_cycle(effects, natural.may_go_on) {
            if spins && self.comes_round_unblocked(function, id) {
                self.marker_or_limit(function, header, Why::Spin)
            } else {
                Decision::Trivial(trivial)
            }
        } else if let Err(reached) = round(self, Ends { markers: false, ..self.ends() }) {
            Decision::Barrier(self.cover(function, &reached, Ends { markers: false, ..self.ends() }))
        } else if let Some(reached) = round(self, self.ends()).err().filter(|_| !self.options.no_covered) {
            Decision::Covered(self.cover(function, &reached, self.ends()))
        } else {
            self.marker_or_limit(function, header, Why::Loop)
        };
        self.decisions.loops.push(LoopDecision { function, cycle: Cycle::Loop(id), effects, decision });
    }

    /// Whether a trivial loop has an iteration that waits for nobody.
    fn comes_round_unblocked(&self, function: FunctionId, id: LoopId) -> bool {
        let flow = self.ways.flow(function);
        let natural = &flow.loops[id.0 as usize];
        let blocks_thread = |action: &Action| matches!(action, Action::Synchronizes(op) if matches!(op.effect(), Effect::Wait | Effect::Join));
        let free =
            |id: &BlockId| !flow.blocks[id.0 as usize].steps.iter().any(|step| blocks_thread(&step.action));
        let blocks: BTreeSet<BlockId> = natural.blocks.iter().copied().filter(free).collect();
        if !blocks.contains(&natural.header) {
            return false;
        }
        let reached = self.ways.from(function, [(natural.header, 0)], Some(&blocks), self.ends());
        natural.latches.iter().any(|&latch| self.ways.leads_to(function, &reached, latch, natural.header))
    }

    /// Puts a marker at the start of a block, if that can be done and is wanted.
    fn marker_or_limit(&mut self, function: FunctionId, block: BlockId, why: Why) -> Decision {
        if let Some(limit) = self.hints[function.0 as usize].unmarkable {
            return Decision::Limit(limit, Vec::new());
        }
        let mark = self.mark(function, (block, 0), why);
        if why == Why::Spin {
            Decision::Spin(mark)
        } else {
            Decision::Marker(mark)
        }
    }

    /// Places a marker, if new ones are wanted.
    pub fn mark(&mut self, function: FunctionId, spot: Spot, why: Why) -> Option<Mark> {
        if !self.proposes {
            return None;
        }
        self.ways.mark(function, spot);
        self.decisions.markers.entry((function, spot)).or_insert(why);
        Some(Mark::New(function, spot))
    }

    /// A marker at each entry of a cycle that has several, and so on for what is left inside.
    fn decide_irreducible(&mut self, function: FunctionId, number: usize) {
        let flow = self.ways.flow(function);
        let part: BTreeSet<BlockId> = flow.irreducible[number].blocks.iter().copied().collect();
        let effects = effects_of(flow, &part, &self.effects);
        let spins = self.hints[function.0 as usize].irreducible_waits.get(number) == Some(&true);
        let is_trivial = self.is_trivial_cycle(effects, flow.irreducible[number].may_go_on).is_some();
        let is_quiet = effects.is_empty() || is_trivial;
        let needs_none = is_quiet && !spins;
        if needs_none || self.free_cycles(function, &part).is_empty() {
            let mut marks = standing_markers(flow, &part);
            if !marks.is_empty() && (spins || !effects.is_empty()) {
                marks.sort_unstable();
                let decision = Decision::Limit(Limit::EpochIrreducible, marks);
                let cycle = Cycle::Irreducible(part);
                self.decisions.loops.push(LoopDecision { function, cycle, effects, decision });
            }
            return;
        }
        let mut marks = Vec::new();
        let limit = self.hints[function.0 as usize].unmarkable;
        if limit.is_none() {
            let why = if is_quiet { Why::Spin } else { Why::Loop };
            self.mark_entries(function, part.clone(), why, &mut marks);
        }
        let decision = Decision::Limit(limit.unwrap_or(Limit::EpochIrreducible), marks);
        let cycle = Cycle::Irreducible(part);
        self.decisions.loops.push(LoopDecision { function, cycle, effects, decision });
    }

    fn mark_entries(
        &mut self,
        function: FunctionId,
        part: BTreeSet<BlockId>,
        why: Why,
        marks: &mut Vec<Mark>,
    ) {
        let mut work = vec![part];
        while let Some(part) = work.pop() {
            let flow = self.ways.flow(function);
            if why != Why::Spin && effects_of(flow, &part, &self.effects).is_empty() {
                continue;
            }
            let entries = entries_of(flow, &part);
            // With one entry it is a natural loop, and decided as such; unless LLVM saw another entry, which is behind a
            // call that never returns: then it found no loop here, or one of only some of these blocks.
            let is_natural = |natural: &Loop| {
                entries.len() == 1
                    && entries.contains(&natural.header)
                    && part.iter().all(|block| natural.blocks.contains(block))
            };
            let is_natural = flow.loops.iter().any(is_natural);
            if is_natural && why == Why::Spin {
                continue;
            }
            if !is_natural {
                for &entry in entries.iter().filter(|&&entry| standing_marker(flow, entry).is_none()) {
                    marks.extend(self.mark(function, (entry, 0), why));
                }
            }
            let rest: BTreeSet<BlockId> = part.difference(&entries).copied().collect();
            work.extend(self.free_cycles(function, &rest));
        }
    }

    /// The cycles inside these blocks that pass nothing that ends an epoch.
    fn free_cycles(&self, function: FunctionId, part: &BTreeSet<BlockId>) -> Vec<BTreeSet<BlockId>> {
        let blocks: Vec<BlockId> = part.iter().copied().collect();
        let next = |node: usize| {
            let alone = BTreeSet::new();
            let reached = self.ways.from(function, [(blocks[node], 0)], Some(&alone), self.ends());
            let leads = |to: &BlockId| self.ways.leads_to(function, &reached, blocks[node], *to);
            let all = &self.ways.flow(function).blocks[blocks[node].0 as usize].next;
            all.iter().filter(|to| leads(to)).filter_map(|to| blocks.binary_search(to).ok()).collect()
        };
        components(blocks.len(), next)
            .into_iter()
            .filter(|component| component.is_cycle)
            .map(|component| component.nodes.into_iter().map(|node| blocks[node]).collect())
            .collect()
    }

    /// What stood in all ways round a loop.
    fn cover(&mut self, function: FunctionId, reached: &Reached, ends: Ends) -> Cover {
        let mut cover = Cover::default();
        self.add_stops(function, reached, &mut cover);
        for callee in cover.through.clone() {
            let inside = self.cover_of(callee, ends);
            cover.markers.extend(&inside.markers);
            cover.barriers.extend(&inside.barriers);
        }
        cover
    }

    /// What stands in all ways through a function that has none to its return. Kept, since callers and their callers ask.
    fn cover_of(&mut self, function: FunctionId, ends: Ends) -> Rc<Cover> {
        if let Some(known) = self.covers.get(&(function, ends)) {
            return known.clone();
        }
        let mut cover = Cover { through: [function].into(), ..Cover::default() };
        let mut work = vec![function];
        while let Some(next) = work.pop() {
            if let Some(known) = self.covers.get(&(next, ends)) {
                cover.markers.extend(&known.markers);
                cover.barriers.extend(&known.barriers);
                continue;
            }
            let mut own = Cover::default();
            self.add_stops(next, &self.ways.from_entry(next, ends), &mut own);
            cover.markers.append(&mut own.markers);
            cover.barriers.append(&mut own.barriers);
            work.extend(own.through.into_iter().filter(|&callee| cover.through.insert(callee)));
        }
        let cover = Rc::new(cover);
        self.covers.insert((function, ends), cover.clone());
        cover
    }

    /// What stopped ways in one function.
    fn add_stops(&self, function: FunctionId, reached: &Reached, cover: &mut Cover) {
        for &stop in &reached.stops {
            let (block, step) = match stop {
                Stop::Spot(spot) => {
                    cover.markers.insert(Mark::New(function, spot));
                    continue;
                }
                Stop::Step(block, step) => (block, step),
            };
            match &self.ways.flow(function).blocks[block.0 as usize].steps[step].action {
                Action::Marker(site) => {
                    cover.markers.insert(Mark::Standing(*site));
                }
                Action::Synchronizes(op) if op.effect() == Effect::Arrive => {
                    cover.barriers.insert((function, block, step));
                }
                Action::Synchronizes(_) => {}
                Action::Calls { functions, .. } => cover.through.extend(functions.iter()),
            }
        }
    }
}

/// The marker that stands in a block and is passed whenever the block is. (One that somebody invokes is not, as far as
/// control flow goes.)
fn standing_marker(flow: &Flow<'_>, block: BlockId) -> Option<SiteId> {
    flow.blocks[block.0 as usize].steps.iter().find_map(|step| match step.action {
        Action::Marker(site) if !step.is_invoke => Some(site),
        _ => None,
    })
}

fn standing_markers(flow: &Flow<'_>, blocks: &BTreeSet<BlockId>) -> Vec<Mark> {
    blocks.iter().filter_map(|&block| standing_marker(flow, block)).map(Mark::Standing).collect()
}

/// The blocks of a part that control can come to from outside.
fn entries_of(flow: &Flow<'_>, part: &BTreeSet<BlockId>) -> BTreeSet<BlockId> {
    let outside = flow.blocks.iter().zip(0..).filter(|(_, number)| !part.contains(&BlockId(*number)));
    let entered = outside.flat_map(|(block, _)| &block.next).filter(|next| part.contains(next));
    entered.copied().chain(part.get(&BlockId(0)).copied()).collect()
}
