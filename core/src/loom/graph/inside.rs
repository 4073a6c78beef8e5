//! Forward reachability with matched calls and returns: where a thread that entered a region may be before it has left
//! it. The mirror image of [`super::reach`].

use super::{FunctionId, Graph, GroupId, PointId};
use crate::loom::table::PointKind;

/// In the function that entered the region, or one that it returned to: returns go to all callers.
pub const OUT: u8 = 1;
/// In a function that was called since: returns go to the calls through which it was entered.
pub const DOWN: u8 = 2;
const BITS: [u8; 2] = [OUT, DOWN];
const RETURN: u8 = 1;
const UNWIND: u8 = 2;

/// What a walk does at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Goes on.
    Pass,
    /// Ends here: the point counts as reached, nothing behind it does.
    Stop,
}

/// States of points ([`OUT`], [`DOWN`]): where a thread may come from behind `entries`; `step` says where it ends.
pub fn forward(graph: &Graph<'_>, entries: &[PointId], step: &dyn Fn(PointId) -> Step) -> Vec<u8> {
    let mut walk = Walk {
        graph,
        step,
        states: vec![0; graph.point_count()],
        done: vec![0; graph.groups.len()],
        out: vec![0; graph.function_count()],
        entered: vec![0; graph.function_count()],
        jumped: false,
        work: Vec::new(),
    };
    for &entry in entries {
        for next in graph.next(entry) {
            walk.mark(next, OUT);
        }
    }
    while let Some((id, bit)) = walk.work.pop() {
        walk.visit(id, bit);
    }
    walk.states
}

struct Walk<'g, 'a> {
    graph: &'g Graph<'a>,
    step: &'g dyn Fn(PointId) -> Step,
    states: Vec<u8>,
    /// By which ways out a thread that enters a group may leave it.
    done: Vec<u8>,
    /// By which ways each function was left, in state [`OUT`].
    out: Vec<u8>,
    /// By which ways each function was left, in state [`DOWN`].
    entered: Vec<u8>,
    jumped: bool,
    work: Vec<(PointId, u8)>,
}

impl Walk<'_, '_> {
    fn mark(&mut self, id: PointId, bit: u8) {
        if self.states[id as usize] & bit == 0 {
            self.states[id as usize] |= bit;
            self.work.push((id, bit));
        }
    }

    fn visit(&mut self, id: PointId, bit: u8) {
        if (self.step)(id) == Step::Stop {
            return;
        }
        let graph = self.graph;
        match &graph.point(id).kind {
            PointKind::Call { .. } => {
                let Some(group) = graph.group(id) else { return };
                self.call(id, group, bit);
                if !self.jumped && graph.jumps.contains(&id) {
                    self.jumped = true;
                    for &landing in &graph.landings {
                        self.mark(landing, OUT);
                    }
                }
            }
            PointKind::Return => self.leave(graph.function_of(id), RETURN, bit),
            PointKind::Unwind => self.leave(graph.function_of(id), UNWIND, bit),
            _ => {
                for next in graph.next(id) {
                    self.mark(next, bit);
                }
            }
        }
    }

    fn call(&mut self, call: PointId, group: GroupId, bit: u8) {
        let graph = self.graph;
        for &function in &graph.groups[group as usize].functions {
            self.mark(graph.place(function).first, DOWN);
        }
        let open = graph.groups[group as usize].open;
        for way in [RETURN, UNWIND] {
            if open || self.done[group as usize] & way != 0 {
                self.after(call, way, bit);
            }
        }
    }

    /// Behind a call that returned, or threw.
    fn after(&mut self, call: PointId, way: u8, bit: u8) {
        match self.graph.next(call).nth(usize::from(way == UNWIND)) {
            Some(next) => self.mark(next, bit),
            None if way == UNWIND => self.leave(self.graph.function_of(call), UNWIND, bit),
            None => {}
        }
    }

    fn leave(&mut self, function: FunctionId, way: u8, bit: u8) {
        let graph = self.graph;
        // Exceptions may pass many functions: a list instead of recursion.
        let mut left = vec![(function, bit)];
        while let Some((function, bit)) = left.pop() {
            let seen = if bit == OUT { &mut self.out } else { &mut self.entered };
            if seen[function as usize] & way != 0 {
                continue;
            }
            seen[function as usize] |= way;
            for &group in &graph.groups_of[function as usize] {
                if bit == DOWN {
                    self.done[group as usize] |= way;
                }
                for &call in &graph.groups[group as usize].callers {
                    let states = if bit == OUT { OUT } else { self.states[call as usize] };
                    for state in BITS {
                        if states & state == 0 {
                            continue;
                        }
                        match graph.next(call).nth(usize::from(way == UNWIND)) {
                            Some(next) => self.mark(next, state),
                            None if way == UNWIND => left.push((graph.function_of(call), state)),
                            None => {}
                        }
                    }
                }
            }
        }
    }
}
