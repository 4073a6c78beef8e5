//! What a thread can do in a program, found by running it: an explicit stack of frames, every choice a transition. No
//! summaries, no components: nothing of [`crate::epoch::verify`] but the meaning of a step.
//!
//! The count of synchronizations between markers grows without bound exactly if a path can be *pumped*: it leads from a
//! point, without a marker, to the same point with the same frames below, or with more frames (down), or from a stack
//! with more frames to one with less (up). [`Machine::pump`] looks for such a path with at most so many frames.
//! [`Machine::walk`] counts on one long random path.

use super::Random;
use crate::epoch::program::{Action, Leave, Program, Step};
use covsched_core::hooks::Effect;
use std::cell::Cell;
use std::collections::HashSet;

/// A place in a program: function, block, step.
pub(crate) type Point = (u32, u32, u32);

/// What a transition does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Sync {
    Nothing,
    Marker,
    Wait,
    Create,
    Join,
    /// May wake waiters.
    Notify,
    Other,
}

/// What a path has done so far: a set of [`Sync`].
type Done = u8;

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pump {
    Found,
    None,
    /// Given up: too many states.
    TooMany,
}

/// A program that runs.
pub(crate) struct Machine<'p> {
    program: &'p Program<'static>,
    /// Most frames.
    depth: usize,
    /// Untimed waits count like locks: notifications are unbounded.
    waits_count: bool,
    /// So many states may still be looked at, in all searches together.
    budget: Cell<usize>,
}

/// What is not found by then is given up.
const MOST_STATES: usize = 100_000;

fn of_effect(effect: Effect) -> Sync {
    match effect {
        Effect::Arrive => Sync::Marker,
        Effect::Wait => Sync::Wait,
        Effect::Create => Sync::Create,
        Effect::Join => Sync::Join,
        Effect::Signal | Effect::Broadcast | Effect::Notify => Sync::Notify,
        Effect::EndThread | Effect::EndProcess => Sync::Nothing,
        _ => Sync::Other,
    }
}

impl<'p> Machine<'p> {
    pub fn new(program: &'p Program<'static>, depth: usize) -> Self {
        Machine { program, depth, waits_count: false, budget: Cell::new(MOST_STATES) }
    }

    /// Takes one state from the budget.
    fn may_look(&self) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        left > 0
    }

    fn block(&self, (f, b, _): Point) -> &'p crate::epoch::program::Block<'static> {
        &self.program.functions[f as usize].blocks[b as usize]
    }

    fn step(&self, at: Point) -> Option<&'p Step<'static>> {
        self.block(at).steps.get(at.2 as usize)
    }

    fn landing(&self, at: Point) -> Option<Point> {
        let step = self.step(at)?;
        step.is_invoke.then(|| (at.0, self.block(at).next[1].0, 0))
    }

    /// The stack after an exception at its top; empty if nobody catches it.
    fn thrown(&self, stack: &[Point]) -> Vec<Point> {
        let mut stack = stack.to_vec();
        stack.pop();
        while let Some(call) = stack.pop() {
            if let Some(landing) = self.landing(call) {
                stack.push(landing);
                return stack;
            }
        }
        stack
    }

    /// Every next stack with what is done on the way. Empty stacks (the thread's end) are left out.
    pub fn next(&self, stack: &[Point], visit: &mut dyn FnMut(Vec<Point>, Sync)) {
        let (&top, below) = stack.split_last().expect("a running thread has a frame");
        let (f, _, i) = top;
        let at = |point: Point| [below, &[point]].concat();
        let past = (top.0, top.1, i + 1);
        // An exception may come from anywhere.
        let thrown = self.thrown(stack);
        if !thrown.is_empty() {
            visit(thrown, Sync::Nothing);
        }
        let Some(step) = self.step(top) else {
            let block = self.block(top);
            let is_invoke = block.steps.last().is_some_and(|step| step.is_invoke);
            for next in block.next.iter().take(if is_invoke { 1 } else { usize::MAX }) {
                visit(at((f, next.0, 0)), Sync::Nothing);
            }
            if block.leaves == Some(Leave::Returns) {
                if let Some((&(f, b, i), below)) = below.split_last() {
                    visit([below, &[(f, b, i + 1)]].concat(), Sync::Nothing);
                }
            }
            return;
        };
        if let Some(landing) = self.landing(top) {
            visit(at(landing), Sync::Nothing);
        }
        match &step.action {
            Action::Marker(_) => visit(at(past), Sync::Marker),
            Action::Synchronizes(op) => {
                let sync = of_effect(op.effect());
                if !matches!(op.effect(), Effect::EndThread | Effect::EndProcess) {
                    visit(at(past), sync);
                }
                // Done, and then thrown; a barrier that throws was none.
                if let Some(landing) = self.landing(top).filter(|_| sync != Sync::Marker) {
                    visit(at(landing), sync);
                }
            }
            Action::Calls { functions, unknown, certain } => {
                if !certain || (functions.is_empty() && !unknown) {
                    visit(at(past), Sync::Nothing);
                }
                if *unknown {
                    visit(at(past), Sync::Notify);
                    if let Some(landing) = self.landing(top) {
                        visit(at(landing), Sync::Notify);
                    }
                }
                if stack.len() < self.depth {
                    for callee in functions.iter() {
                        visit([stack, &[(callee.0, 0, 0)]].concat(), Sync::Nothing);
                    }
                }
            }
        }
    }

    /// Whether repeating this is without bound.
    fn is_unbounded(&self, done: Done) -> bool {
        let alone = |sync: Sync| done == 1 << sync as u8;
        let is_trivial = alone(Sync::Create) || alone(Sync::Join) || (alone(Sync::Wait) && !self.waits_count);
        done != 0 && !is_trivial
    }

    /// The points that can be reached from their function's entry; `None` if that are too many stacks.
    pub fn live(&self) -> Option<HashSet<Point>> {
        let mut live = HashSet::new();
        let mut seen: HashSet<Vec<Point>> = HashSet::new();
        let mut work: Vec<Vec<Point>> =
            (0..self.program.functions.len() as u32).map(|f| vec![(f, 0, 0)]).collect();
        while let Some(stack) = work.pop() {
            if !seen.insert(stack.clone()) {
                continue;
            }
            if !self.may_look() {
                return None;
            }
            if let [point] = stack[..] {
                live.insert(point);
            }
            self.next(&stack, &mut |next, _| work.push(next));
        }
        Some(live)
    }

    /// Looks for a path without markers from one of these stacks to the goal, that does something without bound (or
    /// notifies, if that is asked for), never with fewer frames than the goal.
    fn search(&self, start: &[Point], notifies: bool, is_goal: &dyn Fn(&[Point]) -> bool) -> Pump {
        let is_wanted =
            |done: Done| self.is_unbounded(done) && (!notifies || done & (1 << Sync::Notify as u8) != 0);
        let mut seen: HashSet<(Vec<Point>, Done)> = HashSet::new();
        let mut work: Vec<(Vec<Point>, Done)> = vec![(start.to_vec(), 0)];
        let mut found = false;
        while let Some((stack, done)) = work.pop() {
            self.next(&stack, &mut |next, sync| {
                let done = match sync {
                    Sync::Nothing => done,
                    Sync::Marker => return,
                    _ => done | 1 << sync as u8,
                };
                found |= is_wanted(done) && is_goal(&next);
                let state = (next, done);
                if !seen.contains(&state) {
                    seen.insert(state.clone());
                    work.push(state);
                }
            });
            if found {
                return Pump::Found;
            }
            if !self.may_look() {
                return Pump::TooMany;
            }
        }
        Pump::None
    }

    /// Paths from a point to itself, with as many frames or more. Every such path passes a block's start.
    pub fn pump_down(&self, point: Point, notifies: bool) -> Pump {
        // A lower frame than the start's may be left only by a machine that has one: there is none.
        self.search(&[point], notifies, &|stack| stack.last() == Some(&point))
    }

    /// Paths from a point to itself with fewer frames. Every such path passes a block's end, since it returns or
    /// unwinds; where it unwinds, it passes a landing pad's start.
    pub fn pump_up(&self, point: Point, live: &HashSet<Point>, notifies: bool) -> Pump {
        let mut chains: Vec<Vec<Point>> =
            live.iter().filter(|at| at.0 == point.0).map(|&at| vec![at]).collect();
        while let Some(chain) = chains.pop() {
            let Some(Action::Calls { functions, .. }) =
                chain.last().and_then(|&call| self.step(call)).map(|step| &step.action)
            else {
                continue;
            };
            for callee in functions.iter() {
                if callee.0 == point.0 {
                    let start = [&chain[..], &[point]].concat();
                    let pump = self.search(&start, notifies, &|stack| stack == [point]);
                    if pump != Pump::None {
                        return pump;
                    }
                }
                if chain.len() + 2 < self.depth {
                    let more = live.iter().filter(|at| at.0 == callee.0);
                    chains.extend(more.map(|&at| [&chain[..], &[at]].concat()));
                }
            }
        }
        Pump::None
    }

    /// Whether anything is unbounded (or any notification); looks everywhere.
    fn any_pump(&self, live: &HashSet<Point>, notifies: bool) -> Pump {
        let mut points: Vec<Point> = live.iter().copied().collect();
        points.sort_unstable();
        for point in points {
            let is_start = point.2 == 0;
            let is_end = self.step(point).is_none();
            let down = if is_start { self.pump_down(point, notifies) } else { Pump::None };
            if down != Pump::None {
                return down;
            }
            let up = if is_start || is_end { self.pump_up(point, live, notifies) } else { Pump::None };
            if up != Pump::None {
                return up;
            }
        }
        Pump::None
    }

    /// Whether synchronizations are unbounded. Learns whether notifications are.
    pub fn unbounded(&mut self, live: &HashSet<Point>) -> Pump {
        self.waits_count = false;
        match self.any_pump(live, true) {
            Pump::TooMany => return Pump::TooMany,
            Pump::Found => self.waits_count = true,
            Pump::None => {}
        }
        self.any_pump(live, false)
    }

    /// The most synchronizations between two markers on a random path with so many transitions, and as many frames as
    /// it likes. Of a run of one trivial kind, one is counted.
    pub fn walk(&self, random: &mut Random, transitions: usize) -> usize {
        let functions = self.program.functions.len();
        let mut stack: Vec<Point> = Vec::new();
        let (mut most, mut count, mut last) = (0, 0, Sync::Nothing);
        for _ in 0..transitions {
            if stack.is_empty() {
                stack.push((random.below(functions) as u32, 0, 0));
                (count, last) = (0, Sync::Nothing);
            }
            let mut choices: Vec<(Vec<Point>, Sync)> = Vec::new();
            self.next(&stack, &mut |next, sync| choices.push((next, sync)));
            // Most choices stay without a marker, if they can.
            let free: Vec<usize> =
                (0..choices.len()).filter(|&choice| choices[choice].1 != Sync::Marker).collect();
            if choices.is_empty() {
                stack.clear();
                continue;
            }
            let choice = if !free.is_empty() && random.chance(80) {
                *random.pick(&free)
            } else {
                random.below(choices.len())
            };
            let (next, sync) = choices.swap_remove(choice);
            stack = next;
            match sync {
                Sync::Nothing => {}
                Sync::Marker => (count, last) = (0, Sync::Nothing),
                Sync::Wait | Sync::Create | Sync::Join
                    if sync == last && !(self.waits_count && sync == Sync::Wait) => {}
                _ => (count, last) = (count + 1, sync),
            }
            most = most.max(count);
        }
        most
    }
}
