//! The graph that the verifier looks for cycles in: program points, joined where control can go from one to the next
//! without an epoch marker. [`super`] says what its edges mean.

use super::Kinds;
use crate::epoch::program::{Action, Block, BlockId, Flow, FunctionId, Leave, Program, Step};
use covsched_core::hooks::{Effect, Op};
use std::collections::HashMap;

/// Where a step stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The function.
    pub function: FunctionId,
    /// The block in it.
    pub block: BlockId,
    /// The step in that; the number of steps for the block's end.
    pub step: usize,
}

/// A way from one node to another without a marker, inside a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub from: u32,
    pub to: u32,
    /// How it synchronizes on the way.
    pub kinds: Kinds,
}

/// All points of a program that can be reached from their function's entry, and what joins them.
pub(super) struct Graph {
    /// Where each point stands; after the points come two nodes a function, for its returning and its unwinding,
    /// and those of calls through pointers.
    pub places: Vec<Place>,
    /// All nodes.
    pub nodes: usize,
    /// Ways inside a function; calls that return are passed.
    pub within: Vec<Edge>,
    /// Ways between functions.
    pub between: Between,
}

/// Ways from one function into another.
#[derive(Default)]
pub(super) struct Between {
    /// From before a call to its callees' entries.
    pub down: Vec<(u32, u32)>,
    /// From a function's end to where its callers go on; and to that end, by an exception.
    pub up: Vec<(u32, u32)>,
    /// All nodes, those of calls through pointers too, which are the last.
    nodes: usize,
}

/// When control comes past a step in the normal way.
enum Passing<'a> {
    Always,
    Never,
    IfOneReturns(&'a [FunctionId]),
}

/// What can be reached from the functions' entries.
struct Reached {
    points: Vec<bool>,
    /// Which functions return.
    returns: Vec<bool>,
}

/// Numbers the points.
struct Points<'p, 'm> {
    program: &'p Program<'m>,
    /// By function and block, the node of the block's start.
    starts: Vec<Vec<u32>>,
    places: Vec<Place>,
}

impl Graph {
    pub fn of(program: &Program<'_>) -> Graph {
        let points = Points::of(program);
        let live = points.reach(true);
        let free = points.reach(false);
        let started = points.kinds_of_starts(&free);
        let mut within = points.ways(&live, &free);
        let passed = points.kinds_of_passing(&within, &free, &started);
        for edge in &mut within {
            edge.kinds = points.kinds_of_way(edge, |f| passed[f], |f| started[f]);
        }
        let between = points.ways_between(&live);
        let nodes = between.nodes;
        Graph { places: points.places, nodes, within, between }
    }
}

/// Whether a step ends an epoch.
fn is_marker(step: &Step<'_>) -> bool {
    match step.action {
        Action::Marker(_) => true,
        Action::Synchronizes(op) => op.effect() == Effect::Arrive,
        Action::Calls { .. } => false,
    }
}

fn kinds_of_op(op: Op) -> Kinds {
    match op.effect() {
        Effect::Wait => Kinds::WAIT,
        Effect::Create => Kinds::CREATE,
        Effect::Join => Kinds::JOIN,
        // A signal handler makes a wait return, too.
        Effect::Signal | Effect::Broadcast | Effect::Notify => Kinds::NOTIFY,
        // A thread ends once.
        Effect::EndThread | Effect::EndProcess => Kinds::NONE,
        // A barrier is a marker; the others are no calls of the program.
        Effect::Arrive | Effect::Enter | Effect::Leave | Effect::Call | Effect::Mark => Kinds::NONE,
        Effect::Init
        | Effect::Destroy
        | Effect::Acquire
        | Effect::TryAcquire
        | Effect::TimedAcquire
        | Effect::AcquireShared
        | Effect::TryAcquireShared
        | Effect::TimedAcquireShared
        | Effect::Release
        | Effect::TimedWait
        | Effect::RunOnce
        | Effect::TryJoin
        | Effect::Detach
        | Effect::Read => Kinds::OTHER,
    }
}

/// How a step synchronizes, with what is known of its callees.
fn kinds_of_step(step: &Step<'_>, of_callee: impl Fn(usize) -> Kinds) -> Kinds {
    match &step.action {
        Action::Marker(_) => Kinds::NONE,
        Action::Synchronizes(op) => kinds_of_op(*op),
        Action::Calls { functions, unknown, .. } => {
            let outside = if *unknown { Kinds::UNKNOWN } else { Kinds::NONE };
            functions.iter().fold(outside, |kinds, f| kinds | of_callee(f.0 as usize))
        }
    }
}

fn passing<'a>(step: &'a Step<'_>, through_markers: bool) -> Passing<'a> {
    if is_marker(step) {
        return if through_markers { Passing::Always } else { Passing::Never };
    }
    match &step.action {
        Action::Synchronizes(op) if matches!(op.effect(), Effect::EndThread | Effect::EndProcess) => {
            Passing::Never
        }
        Action::Calls { functions, unknown: false, certain: true } if !functions.is_empty() => {
            Passing::IfOneReturns(functions)
        }
        _ => Passing::Always,
    }
}

/// Where control goes from a block's end, and where it goes if the invoke before that throws.
fn successors<'b>(block: &'b Block<'_>) -> (&'b [BlockId], Option<BlockId>) {
    if block.steps.last().is_some_and(|step| step.is_invoke) {
        (block.next.get(..1).unwrap_or_default(), block.next.get(1).copied())
    } else {
        (&block.next, None)
    }
}

/// Carries what is known of functions to those that depend on them, until nothing changes. Each function changes at
/// most once a kind, so this is linear.
fn spread(kinds: &mut [Kinds], dependents: &[Vec<u32>]) {
    let mut work: Vec<usize> = (0..kinds.len()).filter(|&f| kinds[f] != Kinds::NONE).collect();
    while let Some(f) = work.pop() {
        for &dependent in &dependents[f] {
            let dependent = dependent as usize;
            let grown = kinds[dependent] | kinds[f];
            if grown != kinds[dependent] {
                kinds[dependent] = grown;
                work.push(dependent);
            }
        }
    }
}

impl<'p, 'm> Points<'p, 'm> {
    fn of(program: &'p Program<'m>) -> Self {
        let mut places = Vec::new();
        let mut starts = Vec::new();
        for (f, flow) in program.functions.iter().enumerate() {
            let mut blocks = Vec::with_capacity(flow.blocks.len());
            for (b, block) in flow.blocks.iter().enumerate() {
                blocks.push(places.len() as u32);
                let (function, block_id) = (FunctionId(f as u32), BlockId(b as u32));
                places.extend((0..=block.steps.len()).map(|step| Place { function, block: block_id, step }));
            }
            starts.push(blocks);
        }
        Points { program, starts, places }
    }

    fn nodes(&self) -> usize {
        self.places.len() + 2 * self.program.functions.len()
    }

    fn start(&self, function: FunctionId, block: BlockId) -> u32 {
        self.starts[function.0 as usize][block.0 as usize]
    }

    fn entry(&self, function: FunctionId) -> Option<u32> {
        self.starts[function.0 as usize].first().copied()
    }

    fn returns(&self, function: FunctionId) -> u32 {
        self.places.len() as u32 + 2 * function.0
    }

    fn unwinds(&self, function: FunctionId) -> u32 {
        self.returns(function) + 1
    }

    fn flow(&self, function: FunctionId) -> &'p Flow<'m> {
        &self.program.functions[function.0 as usize]
    }

    fn block(&self, place: Place) -> &'p Block<'m> {
        &self.flow(place.function).blocks[place.block.0 as usize]
    }

    /// The step after a point; `None` at a block's end and for nodes that are no points.
    fn step(&self, node: u32) -> Option<&'p Step<'m>> {
        let place = *self.places.get(node as usize)?;
        self.block(place).steps.get(place.step)
    }

    /// Where an exception lands that the step at this point throws, if it lands in the step's own function.
    fn landing(&self, node: u32) -> Option<u32> {
        let place = self.places[node as usize];
        let block = self.block(place);
        let is_last = place.step + 1 == block.steps.len();
        let landing = successors(block).1.filter(|_| is_last)?;
        Some(self.start(place.function, landing))
    }

    /// Where control goes from a point, but past its step.
    fn for_each_next(&self, node: u32, mut visit: impl FnMut(u32)) {
        let place = self.places[node as usize];
        let block = self.block(place);
        if place.step < block.steps.len() {
            if let Some(landing) = self.landing(node) {
                visit(landing);
            }
            return;
        }
        for &next in successors(block).0 {
            visit(self.start(place.function, next));
        }
        match block.leaves {
            Some(Leave::Returns) => visit(self.returns(place.function)),
            Some(Leave::Unwinds) => visit(self.unwinds(place.function)),
            None => {}
        }
    }

    /// What can be reached from the entries; past a call only if its callee comes back (which is the least solution:
    /// a recursion that never ends does not).
    fn reach(&self, through_markers: bool) -> Reached {
        let functions = self.program.functions.len();
        let mut reached = Reached { points: vec![false; self.nodes()], returns: vec![false; functions] };
        let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); functions];
        let mut work: Vec<u32> = Vec::new();
        let mut push = |work: &mut Vec<u32>, node: u32| {
            if !std::mem::replace(&mut reached.points[node as usize], true) {
                work.push(node);
            }
        };
        for f in 0..functions {
            if let Some(entry) = self.entry(FunctionId(f as u32)) {
                push(&mut work, entry);
            }
        }
        while let Some(node) = work.pop() {
            if let Some(exit) = (node as usize).checked_sub(self.places.len()) {
                if exit % 2 == 0 {
                    reached.returns[exit / 2] = true;
                    for call in std::mem::take(&mut waiting[exit / 2]) {
                        push(&mut work, call + 1);
                    }
                }
                continue;
            }
            self.for_each_next(node, |next| push(&mut work, next));
            match self.step(node).map(|step| passing(step, through_markers)) {
                None | Some(Passing::Never) => {}
                Some(Passing::Always) => push(&mut work, node + 1),
                Some(Passing::IfOneReturns(callees)) => {
                    if callees.iter().any(|f| reached.returns[f.0 as usize]) {
                        push(&mut work, node + 1);
                    } else {
                        for f in callees.iter() {
                            waiting[f.0 as usize].push(node);
                        }
                    }
                }
            }
        }
        reached
    }

    /// For each function, how it can synchronize from its entry on before a marker: all that it does if an exception
    /// ends it early.
    fn kinds_of_starts(&self, free: &Reached) -> Vec<Kinds> {
        let functions = self.program.functions.len();
        let mut kinds = vec![Kinds::NONE; functions];
        let mut callers = vec![Vec::new(); functions];
        for (node, place) in self.places.iter().enumerate().filter(|&(node, _)| free.points[node]) {
            let Some(step) = self.step(node as u32) else { continue };
            let f = place.function.0;
            kinds[f as usize] |= kinds_of_step(step, |_| Kinds::NONE);
            if let Action::Calls { functions, .. } = &step.action {
                functions.iter().for_each(|callee| callers[callee.0 as usize].push(f));
            }
        }
        spread(&mut kinds, &callers);
        kinds
    }

    /// The ways inside functions, not yet saying how they synchronize.
    fn ways(&self, live: &Reached, free: &Reached) -> Vec<Edge> {
        let mut ways = Vec::new();
        for from in (0..self.places.len() as u32).filter(|&from| live.points[from as usize]) {
            let mut add = |to| ways.push(Edge { from, to, kinds: Kinds::NONE });
            self.for_each_next(from, &mut add);
            let passes = match self.step(from).map(|step| passing(step, false)) {
                None | Some(Passing::Never) => false,
                Some(Passing::Always) => true,
                Some(Passing::IfOneReturns(callees)) => callees.iter().any(|f| free.returns[f.0 as usize]),
            };
            if passes {
                add(from + 1);
            }
        }
        ways
    }

    /// How a way synchronizes: past a step by what its callees do from entry to return, to a landing pad by what they
    /// do from entry on.
    fn kinds_of_way(
        &self,
        way: &Edge,
        passed: impl Fn(usize) -> Kinds,
        started: impl Fn(usize) -> Kinds,
    ) -> Kinds {
        match self.step(way.from) {
            None => Kinds::NONE,
            Some(step) if way.to == way.from + 1 => kinds_of_step(step, passed),
            Some(step) => kinds_of_step(step, started),
        }
    }

    /// For each function, how it can synchronize on ways from its entry to its return without a marker.
    fn kinds_of_passing(&self, ways: &[Edge], free: &Reached, started: &[Kinds]) -> Vec<Kinds> {
        let mut back: Vec<Vec<u32>> = vec![Vec::new(); self.nodes()];
        for way in ways {
            back[way.to as usize].push(way.from);
        }
        let mut leads_out = vec![false; self.nodes()];
        let functions = self.program.functions.len();
        let mut work: Vec<u32> = (0..functions).map(|f| self.returns(FunctionId(f as u32))).collect();
        while let Some(node) = work.pop() {
            if !std::mem::replace(&mut leads_out[node as usize], true) {
                work.append(&mut back[node as usize]);
            }
        }
        let mut kinds = vec![Kinds::NONE; functions];
        let mut callers = vec![Vec::new(); functions];
        for way in ways.iter().filter(|way| free.points[way.from as usize] && leads_out[way.to as usize]) {
            let f = self.places[way.from as usize].function.0;
            kinds[f as usize] |= self.kinds_of_way(way, |_| Kinds::NONE, |callee| started[callee]);
            if let Some(Step { action: Action::Calls { functions, .. }, .. }) = self.step(way.from) {
                if way.to == way.from + 1 {
                    functions.iter().for_each(|callee| callers[callee.0 as usize].push(f));
                }
            }
        }
        spread(&mut kinds, &callers);
        kinds
    }

    /// Ways down into callees, and back up. Calls through pointers of one type share their targets: what joins them
    /// goes through nodes of their own, three for all such calls, so that there are as many ways as calls and targets
    /// and not as many as pairs of both.
    fn ways_between(&self, live: &Reached) -> Between {
        let mut between = Between { nodes: self.nodes(), ..Between::default() };
        let mut shared: HashMap<*const FunctionId, u32> = HashMap::new();
        for node in (0..self.places.len() as u32).filter(|&node| live.points[node as usize]) {
            let function = self.places[node as usize].function;
            // An exception may come from anywhere.
            between.up.push((node, self.unwinds(function)));
            let Some(Step { action: Action::Calls { functions, .. }, .. }) = self.step(node) else {
                continue;
            };
            let lands = self.landing(node).unwrap_or(self.unwinds(function));
            if let [callee] = functions[..] {
                self.join(&mut between, live, callee, [node, node + 1, lands]);
                continue;
            }
            let start = *shared.entry(functions.as_ptr()).or_insert_with(|| {
                let start = between.nodes as u32;
                between.nodes += 3;
                for &callee in functions.iter() {
                    self.join(&mut between, live, callee, [start, start + 1, start + 2]);
                }
                start
            });
            between.down.push((node, start));
            between.up.extend([(start + 1, node + 1), (start + 2, lands)]);
        }
        between
    }

    /// The ways from a call to a function, from its return, and from its unwinding.
    fn join(
        &self,
        between: &mut Between,
        live: &Reached,
        callee: FunctionId,
        [call, after, lands]: [u32; 3],
    ) {
        between.down.extend(self.entry(callee).map(|entry| (call, entry)));
        between.up.push((self.unwinds(callee), lands));
        if live.returns[callee.0 as usize] {
            between.up.push((self.returns(callee), after));
        }
    }
}
