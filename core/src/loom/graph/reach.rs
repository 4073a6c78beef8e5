//! Backward reachability with matched calls and returns (Wu 5.3.1): from which points a thread may come to given ones.
//!
//! A path on which every return goes back to its call first returns out of functions (any number of times), then
//! calls into others. Backward, from the targets: through callers, state [`UP`]; and wherever a call is passed, down
//! into what it calls, from its returns, state [`RETURN`], or from where exceptions leave it, state [`UNWIND`]. A
//! function entered that way never leads to all of its callers, only past the call in question: once its entry is
//! reached, every call of it is passed whose continuation is. Each point has each state once, so the time is linear.
//!
//! A call that enters the region and leaves it again on its way back can be passed: a function that calls itself is still
//! inside when the inner call is over. So behind an exit (looking backward) a callee is in the state [`RETURN_OPEN`], from
//! which an entry leads back to [`RETURN`]. Wu's definition, which has no such pairs, calls a thread before the inner
//! call safe, though its own exit is still to come.
//!
//! Beyond Wu, too: exceptions; `longjmp`, which may land at every `setjmp`; functions that code without tables calls back;
//! created threads, for orders.

use super::{FunctionId, Graph, GroupId, PointId};
use crate::loom::table::PointKind;

/// Reaches a target, with any stack.
const UP: u8 = 1;
/// Reaches its function's return.
const RETURN: u8 = 2;
/// Reaches where an exception leaves its function.
const UNWIND: u8 = 4;
/// Reaches its function's return, but leaves the region once more than it enters it.
const RETURN_OPEN: u8 = 8;
/// The same for exceptions.
const UNWIND_OPEN: u8 = 16;
const BITS: [u8; 5] = [UP, RETURN, UNWIND, RETURN_OPEN, UNWIND_OPEN];

/// What is asked.
#[derive(Clone, Copy, Default)]
pub struct Question<'a> {
    /// The points to come to, a region's exits: slots. They count themselves.
    pub targets: &'a [PointId],
    /// Points that are not passed, the region's entries: slots.
    pub barriers: &'a [PointId],
    /// Follow thread creation too: from a thread's start to who creates it.
    pub creators: bool,
    /// Functions whose callers and creators are not followed: conceptual thread functions.
    pub starts: &'a [FunctionId],
}

/// The answer, by point.
#[derive(Clone, Debug)]
pub struct Reached {
    states: Vec<u8>,
}

impl Reached {
    /// Whether a thread there may come to a target.
    pub fn contains(&self, id: PointId) -> bool {
        self.states[id as usize] != 0
    }

    /// Whether a thread there may come to a target without returning from the function first.
    pub fn directly(&self, id: PointId) -> bool {
        self.states[id as usize] & UP != 0
    }

    /// All such points.
    pub fn points(&self) -> impl Iterator<Item = PointId> + '_ {
        (0..self.states.len() as PointId).filter(|&id| self.contains(id))
    }
}

/// Answers a question.
pub fn backward(graph: &Graph<'_>, question: Question<'_>) -> Reached {
    let mut search = Search {
        graph,
        creators: question.creators,
        states: vec![0; graph.point_count()],
        barrier: vec![false; graph.point_count()],
        target: vec![false; graph.point_count()],
        start: vec![false; graph.function_count()],
        asked: vec![0; graph.groups.len()],
        passed: vec![0; graph.groups.len()],
        function_asked: vec![0; graph.function_count()],
        jumps: false,
        outside: false,
        work: Vec::new(),
    };
    for &id in question.barriers {
        search.barrier[id as usize] = true;
    }
    for &id in question.starts {
        search.start[id as usize] = true;
    }
    for &id in question.targets {
        search.target[id as usize] = true;
        search.mark(id, UP);
    }
    while let Some((id, bit)) = search.work.pop() {
        search.visit(id, bit);
    }
    Reached { states: search.states }
}

struct Search<'g, 'a> {
    graph: &'g Graph<'a>,
    creators: bool,
    states: Vec<u8>,
    barrier: Vec<bool>,
    target: Vec<bool>,
    start: Vec<bool>,
    /// For which ways out a group's functions have been asked.
    asked: Vec<u8>,
    /// By which ways out a thread may come from a group's entry.
    passed: Vec<u8>,
    function_asked: Vec<u8>,
    /// The calls of longjmp are in.
    jumps: bool,
    /// The calls that may call back, or create threads, are in.
    outside: bool,
    work: Vec<(PointId, u8)>,
}

impl Search<'_, '_> {
    fn mark(&mut self, id: PointId, bit: u8) {
        if self.states[id as usize] & bit == 0 {
            self.states[id as usize] |= bit;
            self.work.push((id, bit));
        }
    }

    /// From behind a point to before it. At a slot that leaves and enters the region, leaving comes first.
    fn come_to(&mut self, id: PointId, mut bit: u8) {
        if self.barrier[id as usize] {
            match bit {
                RETURN_OPEN => bit = RETURN,
                UNWIND_OPEN => bit = UNWIND,
                _ => return,
            }
        }
        if self.target[id as usize] {
            match bit {
                RETURN => bit = RETURN_OPEN,
                UNWIND => bit = UNWIND_OPEN,
                _ => {}
            }
        }
        self.mark(id, bit);
    }

    fn visit(&mut self, id: PointId, bit: u8) {
        let graph = self.graph;
        for &before in graph.before(id) {
            match graph.group(before) {
                None => self.come_to(before, bit),
                Some(group) => self.pass_call(before, group, id, bit),
            }
        }
        let function = graph.function_of(id);
        if graph.place(function).first == id {
            self.leave_by_entry(function, bit);
        }
        if !self.jumps && graph.landings.contains(&id) {
            self.jumps = true;
            for &jump in &graph.jumps {
                self.come_to(jump, UP);
            }
        }
    }

    /// From what comes after a call to the call, and into its callees.
    fn pass_call(&mut self, call: PointId, group: GroupId, after: PointId, bit: u8) {
        for (position, next) in self.graph.next(call).enumerate() {
            if next == after {
                let way = if position == 0 { RETURN } else { UNWIND };
                self.ask(group, way);
                if self.may_pass(group, way) {
                    self.come_to(call, bit);
                }
            }
        }
    }

    fn may_pass(&self, group: GroupId, way: u8) -> bool {
        self.graph.groups[group as usize].open || self.passed[group as usize] & way != 0
    }

    fn ask(&mut self, group: GroupId, way: u8) {
        // A worklist of its own: groups can be asked for in long chains.
        let mut groups = vec![group];
        while let Some(group) = groups.pop() {
            if self.asked[group as usize] & way != 0 {
                continue;
            }
            self.asked[group as usize] |= way;
            for &function in &self.graph.groups[group as usize].functions {
                if self.function_asked[function as usize] & way != 0 {
                    continue;
                }
                self.function_asked[function as usize] |= way;
                self.ask_function(function, way, &mut groups);
            }
        }
    }

    fn ask_function(&mut self, function: FunctionId, way: u8, groups: &mut Vec<GroupId>) {
        let place = self.graph.place(function);
        for id in place.first..place.first + place.count {
            match &self.graph.point(id).kind {
                PointKind::Return if way == RETURN => self.come_to(id, way),
                PointKind::Unwind if way == UNWIND => self.come_to(id, way),
                // An exception passes a call that does not catch it.
                PointKind::Call { .. } if way == UNWIND && self.graph.point(id).next.len() < 2 => {
                    let Some(group) = self.graph.group(id) else { continue };
                    groups.push(group);
                    if self.may_pass(group, UNWIND) {
                        self.come_to(id, UNWIND);
                    }
                }
                _ => {}
            }
        }
    }

    fn leave_by_entry(&mut self, function: FunctionId, bit: u8) {
        let graph = self.graph;
        if bit == UP {
            if self.start[function as usize] {
                return;
            }
            for &group in &graph.groups_of[function as usize] {
                let group = &graph.groups[group as usize];
                let creators: &[PointId] = if self.creators { &group.creators } else { &[] };
                for &call in group.callers.iter().chain(creators) {
                    self.come_to(call, UP);
                }
            }
            if graph.address_taken[function as usize] && !self.outside {
                self.outside = true;
                let creations: &[PointId] = if self.creators { &graph.creations } else { &[] };
                for &call in graph.callbacks.iter().chain(creations) {
                    self.come_to(call, UP);
                }
            }
            return;
        }
        if bit != RETURN && bit != UNWIND {
            return;
        }
        for &group in &graph.groups_of[function as usize] {
            if self.passed[group as usize] & bit != 0 {
                continue;
            }
            self.passed[group as usize] |= bit;
            for &call in &graph.groups[group as usize].callers {
                let after = graph.next(call).nth(usize::from(bit == UNWIND));
                match after {
                    Some(after) => {
                        let states = self.states[after as usize];
                        for state in BITS {
                            if states & state != 0 {
                                self.come_to(call, state);
                            }
                        }
                    }
                    None if bit == UNWIND
                        && self.function_asked[graph.function_of(call) as usize] & UNWIND != 0 =>
                    {
                        self.come_to(call, UNWIND);
                    }
                    None => {}
                }
            }
        }
    }
}
