//! Runs of random programs: walks through the code that follow the schedule, with an explicit stack, and what their
//! synchronizations order. Shares nothing with the analysis but the code that it reads.

use super::Scene;
use crate::epoch::testing::Random;
use crate::ir::code::{BlockId, Callee, FuncId, InstId, Op};
use covsched_core::hooks::{Effect, Op as Operation};
use covsched_core::schedule::order::{for_each_edge, is_step, Node, Order};
use covsched_core::ThreadId;
use std::collections::{HashMap, HashSet};

/// Instructions that a walk executes at most.
const LONGEST: usize = 300;

/// One execution of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub inst: InstId,
    /// Its place among all that happens in its thread.
    pub begin: usize,
    /// Where it ends; `None` if it does not, in this walk.
    pub end: Option<usize>,
    /// It came back, and not by an exception.
    pub is_normal: bool,
    /// Steps of its thread that are over when it begins.
    pub done: usize,
    /// Steps that have begun when it ends, or at the end of the walk: the next one does not begin while it runs.
    pub begun: usize,
}

/// What one thread does in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub executions: Vec<Execution>,
    /// All steps are done, and its function has come back.
    pub is_whole: bool,
}

/// Walks through one thread. `None`: the walk leaves the schedule.
pub(crate) fn walk(scene: &Scene, thread: ThreadId, random: &mut Random) -> Option<Trace> {
    let events = &scene.schedule.events;
    let own = |event: &&covsched_core::schedule::Event| event.thread == thread && is_step(event);
    let steps: Vec<Option<Operation>> = events.iter().filter(own).map(|event| Some(event.op)).collect();
    let root = scene.kept.roots[thread.0 as usize]?;
    let function = clone_of(scene, root)?;
    let mut walker = Walker {
        scene,
        thread,
        entry: steps.iter().position(|op| *op == Some(Operation::entry))?,
        steps: steps.len(),
        items: HashMap::new(),
        random,
        trace: Trace::default(),
        stack: Vec::new(),
        time: 0,
        done: 0,
        is_last_done: true,
    };
    walker.find_items();
    walker.done = walker.entry;
    let follows = walker.run(function);
    let Walker { mut trace, done, .. } = walker;
    for execution in trace.executions.iter_mut().filter(|execution| execution.end.is_none()) {
        execution.begun = done;
    }
    follows.then_some(trace)
}

fn clone_of(scene: &Scene, place: usize) -> Option<FuncId> {
    let frame = &scene.kept.frames[place];
    let is_it = |function: &crate::ir::code::FuncData<'_>| {
        function.clone.as_ref().is_some_and(|clone| clone.frame == Some((frame.thread, frame.number)))
    };
    Some(FuncId(scene.code.functions.iter().position(is_it)? as u32))
}

struct Call {
    /// The call's execution; none for the thread's own function.
    execution: Option<usize>,
    function: FuncId,
    block: BlockId,
    next: u32,
    /// Items that were done before.
    items: usize,
    /// Steps that were done before.
    done: usize,
}

struct Walker<'a> {
    scene: &'a Scene,
    thread: ThreadId,
    entry: usize,
    steps: usize,
    /// By step: of which item it is, as the place of its frame and its number.
    items: HashMap<usize, (usize, u32)>,
    random: &'a mut Random,
    trace: Trace,
    stack: Vec<Call>,
    time: usize,
    done: usize,
    /// The last call did its item.
    is_last_done: bool,
}

impl Walker<'_> {
    fn find_items(&mut self) {
        let mut numbers = HashMap::new();
        let events = self.scene.schedule.events.iter().enumerate();
        let own = events.filter(|(_, event)| event.thread == self.thread && is_step(event));
        for (number, (index, _)) in own.enumerate() {
            numbers.insert(index as u64 + 1, number);
        }
        for (place, frame) in self.scene.kept.frames.iter().enumerate() {
            for (item, kept) in (0..).zip(&frame.items) {
                if frame.thread == self.thread && kept.first.0 > 0 {
                    for number in numbers[&kept.first.0]..=numbers[&kept.last.0] {
                        self.items.insert(number, (place, item));
                    }
                }
            }
        }
    }

    /// The next step is one that no item has.
    fn is_outside(&self) -> bool {
        self.done < self.steps && self.done != self.entry && !self.items.contains_key(&self.done)
    }

    fn enter(&mut self, function: FuncId, execution: Option<usize>) {
        let first = BlockId(self.scene.code.function(function).blocks.start);
        let next = self.scene.code.block(first).insts.start;
        self.stack.push(Call { execution, function, block: first, next, items: 0, done: self.done });
    }

    fn go_to(&mut self, block: BlockId) {
        let next = self.scene.code.block(block).insts.start;
        let call = self.stack.last_mut().unwrap();
        (call.block, call.next) = (block, next);
    }

    fn end(&mut self, execution: usize, is_normal: bool) {
        self.time += 1;
        let execution = &mut self.trace.executions[execution];
        (execution.end, execution.begun, execution.is_normal) = (Some(self.time), self.done, is_normal);
    }

    /// False if the walk leaves the schedule.
    fn run(&mut self, function: FuncId) -> bool {
        self.enter(function, None);
        while self.trace.executions.len() < LONGEST {
            let Some(call) = self.stack.last_mut() else { return true };
            let (inst, block) = (InstId(call.next), call.block);
            call.next += 1;
            self.time += 1;
            let number = self.trace.executions.len();
            self.trace.executions.push(Execution {
                inst,
                begin: self.time,
                end: None,
                is_normal: false,
                done: self.done,
                begun: self.done,
            });
            let next = &self.scene.code.block(block).next;
            let goes_on = match &self.scene.code.inst(inst).op {
                Op::Call(call) => match call.callee {
                    Callee::Function(callee) => self.call(inst, number, callee, call.item),
                    _ => false,
                },
                Op::Return(_) => {
                    self.end(number, true);
                    self.leave(true)
                }
                // Resume.
                Op::Other { .. } => {
                    self.end(number, true);
                    self.leave(false)
                }
                Op::Unreachable => {
                    self.trace.executions.pop();
                    return true;
                }
                Op::Branch(_) | Op::Switch { .. } => {
                    self.end(number, true);
                    let chosen = match self.scene.flags.contains(&block) {
                        true => next[usize::from(!self.is_last_done)],
                        false => *self.random.pick(next),
                    };
                    self.go_to(chosen);
                    true
                }
                _ => {
                    self.end(number, true);
                    true
                }
            };
            if !goes_on {
                return false;
            }
        }
        true
    }

    fn call(&mut self, inst: InstId, number: usize, callee: FuncId, item: Option<u32>) -> bool {
        let data = self.scene.code.function(callee);
        if !data.blocks.is_empty() {
            self.enter(callee, Some(number));
            return true;
        }
        if data.name == "covsched_not_covered" {
            return false;
        }
        if data.name == "covsched_thread_enter" {
            if self.done == self.entry {
                self.done += 1;
            }
        } else if let Some(item) = item {
            if !self.synchronize(item) {
                return false;
            }
        } else if data.name == "ext" {
            while self.is_outside() && self.random.chance(60) {
                self.done += 1;
            }
            if self.random.chance(15) {
                self.end(number, false);
                return self.land(inst) || self.leave(false);
            }
        }
        self.end(number, true);
        self.come_back(inst);
        true
    }

    /// All steps of the item that the innermost frame is at.
    fn synchronize(&mut self, item: u32) -> bool {
        let call = self.stack.last_mut().unwrap();
        let clone = self.scene.code.function(call.function).clone.as_ref();
        let place = clone.and_then(|clone| clone.frame).and_then(|(thread, number)| {
            let mut frames = self.scene.kept.frames.iter();
            frames.position(|frame| (frame.thread, frame.number) == (thread, number))
        });
        if self.items.get(&self.done).copied() != place.map(|place| (place, item))
            || call.items != item as usize
        {
            return false;
        }
        call.items += 1;
        let now = self.items[&self.done];
        while self.items.get(&self.done) == Some(&now) {
            self.done += 1;
        }
        true
    }

    /// Behind a call, also one at the end of its block.
    fn come_back(&mut self, inst: InstId) {
        let block = self.scene.code.inst(inst).block;
        if inst.0 + 1 == self.scene.code.block(block).insts.end {
            let normal = self.scene.code.block(block).next[0];
            self.go_to(normal);
        }
    }

    /// An exception out of a call lands in its function, if that is an invoke.
    fn land(&mut self, inst: InstId) -> bool {
        let block = self.scene.code.inst(inst).block;
        let is_invoke = inst.0 + 1 == self.scene.code.block(block).insts.end;
        if is_invoke {
            self.go_to(self.scene.code.block(block).next[1]);
        }
        is_invoke
    }

    /// Leaves functions: one by a return, or as many as an exception does.
    fn leave(&mut self, is_normal: bool) -> bool {
        loop {
            let Some(left) = self.stack.pop() else { return false };
            let clone = self.scene.code.function(left.function).clone.as_ref();
            if let Some((thread, number)) = clone.and_then(|clone| clone.frame) {
                let frames = &self.scene.kept.frames;
                let frame = frames.iter().find(|frame| (frame.thread, frame.number) == (thread, number));
                let count = frame.map_or(0, |frame| frame.items.len());
                // A clone that may come back without its items does so only by a return here.
                let did_nothing = is_normal && left.items == 0 && left.done == self.done;
                if left.items != count && !did_nothing {
                    return false;
                }
            }
            let Some(execution) = left.execution else {
                // The thread's own function; what no item has may come behind it.
                while self.is_outside() {
                    self.done += 1;
                }
                self.trace.is_whole = is_normal && self.done == self.steps;
                return self.trace.is_whole;
            };
            self.end(execution, is_normal);
            let inst = self.trace.executions[execution].inst;
            self.is_last_done = self.note_item(inst, left.done);
            if is_normal {
                self.come_back(inst);
                return true;
            }
            if self.land(inst) {
                return true;
            }
        }
    }

    /// Counts the item that a call was, if it did it.
    fn note_item(&mut self, inst: InstId, done: usize) -> bool {
        let Op::Call(call) = &self.scene.code.inst(inst).op else { return false };
        let Some(item) = call.item else { return false };
        let did = self.done > done;
        if let Some(frame) = self.stack.last_mut() {
            if did && frame.items == item as usize {
                frame.items += 1;
            }
        }
        did
    }
}

/// What is over before what, of different threads, by the edges of an order.
pub(crate) struct Orders {
    /// By thread: its steps' nodes.
    steps: Vec<Vec<usize>>,
    /// By node: what comes behind it.
    reach: Vec<HashSet<usize>>,
    events: usize,
    threads: usize,
}

impl Orders {
    pub fn of(scene: &Scene, order: Order) -> Orders {
        let schedule = &scene.schedule;
        let (events, threads) = (schedule.events.len(), schedule.threads.len());
        let mut steps: Vec<Vec<usize>> = vec![Vec::new(); threads];
        for (index, event) in schedule.events.iter().enumerate().filter(|(_, event)| is_step(event)) {
            steps[event.thread.0 as usize].push(index);
        }
        // Events, begins of threads, ends of threads, gathers.
        let (begin, end) = (|thread: usize| events + thread, |thread: usize| events + threads + thread);
        let node = |node: Node| match node {
            Node::Step(index) => index,
            Node::Gather(number) => events + 2 * threads + number,
        };
        let mut next: HashMap<usize, Vec<usize>> = HashMap::new();
        for_each_edge(schedule, order, |edge| next.entry(node(edge.from)).or_default().push(node(edge.to)));
        for (index, event) in schedule.events.iter().enumerate() {
            let Some(child) = event.child.map(|child| child.0 as usize) else { continue };
            match event.op.effect() {
                Effect::Create => next.entry(index).or_default().push(begin(child)),
                Effect::Join => next.entry(end(child)).or_default().push(index),
                _ => {}
            }
        }
        for (thread, steps) in steps.iter().enumerate() {
            next.entry(begin(thread)).or_default().extend(steps.first());
            if let Some(&last) = steps.last() {
                next.entry(last).or_default().push(end(thread));
            }
        }
        let reach = (0..events + 2 * threads).map(|from| {
            let mut seen = HashSet::from([from]);
            let mut work = vec![from];
            while let Some(node) = work.pop() {
                work.extend(next.get(&node).into_iter().flatten().copied().filter(|&to| seen.insert(to)));
            }
            seen
        });
        Orders { reach: reach.collect(), steps, events, threads }
    }

    /// Whether one execution is over before another thread's begins; also if that one does not happen, as the first does
    /// not end.
    pub fn is_over(&self, (a, one): (usize, &Execution), (b, other): (usize, &Execution)) -> bool {
        let end = self.steps[a].get(one.begun).copied().unwrap_or(self.events + self.threads + a);
        let begin = match other.done.checked_sub(1) {
            Some(last) => self.steps[b][last],
            None => self.events + b,
        };
        self.reach[end].contains(&begin)
    }
}
