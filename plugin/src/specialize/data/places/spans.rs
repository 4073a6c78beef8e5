//! Spans: which of its thread's steps are over when an instruction executes, and which cannot have begun.
//!
//! One forward pass a function, callers first, so that a function begins with what is known at its call. What is over is
//! the least over all ways to a place, what may have begun the most. An item leaves no doubt: behind it all its steps
//! are over, before it none has begun. (If its callee may come back without having done it, it does not count for what
//! is over, until the next item shows that it was done. The same holds where an exception out of its callee lands.)
//!
//! What may have begun is also found going forward, not backward from the next item: where control is, nothing can have
//! begun that comes behind the next item, wherever control goes from there. That holds of loops that never end and of
//! calls that do not come back, too, where a backward search finds no item at all. Steps that no item has, because they
//! were in code that is not specialized, lie between two items; they may have begun in the whole time between them.
//!
//! A function whose items do not come in their order is not what the schedule says; it is reported, not believed.

use super::shape::{ends_in_return, is_invoke, Shape};
use super::tree::{call_of, Owned, Start, Tree};
use crate::ir::code::{BlockId, Call, Callee, Code, FuncId, InstId, Op};
use crate::specialize::items::{Does, KeptFrames};
use covsched_core::hooks::Effect;
use covsched_core::schedule::frames::FrameId;
use covsched_core::schedule::{order, Schedule};
use covsched_core::Seq;
use std::collections::HashSet;

/// The steps around an instruction's executions, by their index in the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// So many steps are over whenever it begins.
    pub after: u32,
    /// The first step that cannot have begun when it has ended; the number of all steps if there is none.
    pub until: u32,
}

/// Steps of a thread.
#[derive(Clone, Debug, Default)]
struct ThreadSteps {
    /// The first step of each of its synchronizations that are items, sorted; then the number of all.
    starts: Vec<u32>,
    /// The step with which its function begins.
    entry: Option<u32>,
}

impl ThreadSteps {
    /// The first step, at this one or behind it, that an item begins with.
    fn next_start(&self, step: u32) -> u32 {
        let at = self.starts.partition_point(|&start| start < step);
        self.starts.get(at).copied().unwrap_or(u32::MAX)
    }
}

/// The steps of all items.
pub struct Steps {
    threads: Vec<ThreadSteps>,
    /// By kept frame and item: first and last step.
    items: Vec<Vec<(u32, u32)>>,
}

impl Steps {
    /// `schedule` is the one that runs follow: what is left out is no step of it.
    pub fn of(schedule: &Schedule, kept: &KeptFrames) -> Steps {
        let steps = order::steps(schedule);
        let mut numbers = vec![u32::MAX; schedule.events.len()];
        let mut threads: Vec<ThreadSteps> = Vec::with_capacity(steps.len());
        for steps in &steps {
            let mut thread = ThreadSteps::default();
            for (number, &index) in (0..).zip(steps) {
                numbers[index] = number;
                if schedule.events[index].op.effect() == Effect::Enter {
                    thread.entry = thread.entry.or(Some(number));
                }
            }
            threads.push(thread);
        }
        let number = |seq: Seq| numbers.get((seq.0 as usize).wrapping_sub(1)).copied().unwrap_or(u32::MAX);
        let mut items: Vec<Vec<(u32, u32)>> = vec![Vec::new(); kept.frames.len()];
        // Callees come behind their callers.
        for (place, frame) in kept.frames.iter().enumerate().rev() {
            for item in &frame.items {
                let range = match item.does {
                    Does::Calls(FrameId(callee)) => {
                        let callee = kept.places.get(callee as usize).copied().flatten();
                        let inner = callee.map(|callee| &items[callee]).filter(|inner| !inner.is_empty());
                        inner.map_or((u32::MAX, 0), |inner| (inner[0].0, inner[inner.len() - 1].1))
                    }
                    Does::Synchronizes | Does::Creates(_) => {
                        let range = (number(item.first), number(item.last));
                        threads[frame.thread.0 as usize].starts.push(range.0);
                        range
                    }
                };
                items[place].push(range);
            }
        }
        for (thread, steps) in threads.iter_mut().zip(&steps) {
            thread.starts.push(steps.len() as u32);
            thread.starts.sort_unstable();
        }
        Steps { threads, items }
    }
}

/// By instruction and block of the module; of owned functions only.
pub struct Spans {
    insts: Vec<Span>,
    /// What may have begun before an instruction, as [`Span::until`]: never falls along control flow.
    before: Vec<u32>,
    entry: Vec<Option<Span>>,
    exit: Vec<u32>,
}

impl Spans {
    /// Of all owned functions; those whose items are out of order are taken out of the tree.
    pub fn of(code: &Code<'_>, shape: &Shape, steps: &Steps, tree: &mut Tree) -> Spans {
        let mut spans = Spans {
            insts: vec![Span::default(); code.insts.len()],
            before: vec![0; code.insts.len()],
            entry: vec![None; code.blocks.len()],
            exit: vec![0; code.blocks.len()],
        };
        let does_all = find_finishing(code, tree);
        for place in 0..tree.order.len() {
            let function = tree.order[place];
            let Some(owned) = &tree.owned[function.index()] else { continue };
            let pass = Pass::new(Pass {
                code,
                shape,
                steps: &steps.threads[owned.thread.0 as usize],
                owned,
                items: owned.frame.map_or(&[], |place| &steps.items[place]),
                does_all: &does_all,
                is_uncertain: Vec::new(),
                may_unwind: Vec::new(),
            });
            if !pass.run(function, &mut spans) {
                tree.remove(code, function);
            }
        }
        spans
    }

    /// The steps around an instruction.
    pub fn of_inst(&self, inst: InstId) -> Span {
        self.insts[inst.index()]
    }

    /// What may have begun right before an instruction.
    pub fn layer(&self, inst: InstId) -> u32 {
        self.before[inst.index()]
    }

    /// The same at a block's begin.
    pub fn entry_layer(&self, block: BlockId) -> u32 {
        self.entry[block.index()].map_or(u32::MAX, |span| span.until)
    }

    /// The same at a block's end.
    pub fn exit_layer(&self, block: BlockId) -> u32 {
        self.exit[block.index()]
    }

    /// The same right behind an instruction, in its block or on its way out.
    pub fn layer_behind(&self, code: &Code<'_>, inst: InstId) -> u32 {
        let block = code.inst(inst).block;
        match inst.0 + 1 < code.block(block).insts.end {
            true => self.before[inst.index() + 1],
            false => self.exit[block.index()],
        }
    }
}

/// By function: it is called once, and has done its frame's items when it returns. Callees first.
fn find_finishing(code: &Code<'_>, tree: &Tree) -> Vec<bool> {
    let mut does_all = vec![false; code.functions.len()];
    for &function in tree.order.iter().rev() {
        let Some(owned) = &tree.owned[function.index()] else { continue };
        let Some(&(_, last)) = owned.items.iter().max_by_key(|(_, number)| number) else { continue };
        let mut work = vec![BlockId(code.function(function).blocks.start)];
        let mut seen: HashSet<BlockId> = work.iter().copied().collect();
        does_all[function.index()] = loop {
            let Some(block) = work.pop() else { break true };
            let mut insts = code.insts_of(block);
            let done = insts.find(|&inst| {
                call_of(code, inst)
                    .is_some_and(|call| call.item == Some(last) && is_certain(code, call, &does_all))
            });
            let next = &code.block(block).next;
            match done.map(|done| call_of(code, done).is_some_and(|call| is_hook(code, call))) {
                None if ends_in_return(code, block) => break false,
                None => work.extend(next.iter().copied().filter(|&next| seen.insert(next))),
                // An exception may come out of a clone before its items.
                Some(false) if done.is_some_and(|done| is_invoke(code, done)) => {
                    work.extend(next.iter().skip(1).copied().filter(|&next| seen.insert(next)));
                }
                Some(_) => {}
            }
        };
    }
    does_all
}

/// Whether an item's call synchronizes itself.
fn is_hook(code: &Code<'_>, call: &Call) -> bool {
    match call.callee {
        Callee::Function(callee) => code.function(callee).blocks.is_empty(),
        _ => true,
    }
}

/// Whether an item is done when its call returns: it is a synchronization, or a call of a clone that nobody else calls and
/// that does not return before.
fn is_certain(code: &Code<'_>, call: &Call, does_all: &[bool]) -> bool {
    match call.callee {
        Callee::Function(callee) => is_hook(code, call) || does_all[callee.index()],
        _ => true,
    }
}

/// One function.
struct Pass<'a, 'm> {
    code: &'a Code<'m>,
    shape: &'a Shape,
    steps: &'a ThreadSteps,
    owned: &'a Owned,
    /// By item of its frame: first and last step.
    items: &'a [(u32, u32)],
    /// By function.
    does_all: &'a [bool],
    /// By item: its callee may come back without having done it.
    is_uncertain: Vec<bool>,
    /// By item: an exception out of its callee may land in this function, maybe before it was done.
    may_unwind: Vec<bool>,
}

impl Pass<'_, '_> {
    fn new(mut pass: Self) -> Self {
        pass.is_uncertain = vec![false; pass.items.len()];
        pass.may_unwind = vec![false; pass.items.len()];
        for &(inst, number) in &pass.owned.items {
            let Some(call) = call_of(pass.code, inst) else { continue };
            pass.is_uncertain[number as usize] |= !is_certain(pass.code, call, pass.does_all);
            pass.may_unwind[number as usize] |= !is_hook(pass.code, call) && is_invoke(pass.code, inst);
        }
        pass
    }

    /// Whether all items come in their order.
    fn run(&self, function: FuncId, spans: &mut Spans) -> bool {
        // All events of items are steps, unless the schedule is another.
        if self.items.iter().any(|&(first, last)| first.max(last) == u32::MAX) {
            return false;
        }
        let entry = BlockId(self.code.function(function).blocks.start);
        spans.entry[entry.index()] = Some(self.start(spans));
        let mut work: Vec<BlockId> = self.owned.blocks.clone();
        // Most blocks come after all that lead to them.
        work.sort_unstable_by_key(|&block| self.shape.rank(block));
        let mut is_waiting = vec![false; self.code.function(function).blocks.len()];
        let local = |block: BlockId| block.index() - entry.index();
        work.iter().for_each(|&block| is_waiting[local(block)] = true);
        while let Some(block) = work.pop() {
            is_waiting[local(block)] = false;
            let Some(mut state) = spans.entry[block.index()] else { continue };
            let mut unwound = None;
            for inst in self.code.insts_of(block) {
                self.pass(inst, &mut state, spans);
                if self.unwinds_early(inst) {
                    unwound = Some(Span { after: spans.of_inst(inst).after, ..state });
                }
            }
            spans.exit[block.index()] = state.until;
            for (slot, &next) in self.code.block(block).next.iter().enumerate() {
                let state = unwound.filter(|_| slot > 0).unwrap_or(state);
                let known = &mut spans.entry[next.index()];
                let joined = known.map_or(state, |known| Span {
                    after: known.after.min(state.after),
                    until: known.until.max(state.until),
                });
                if known.replace(joined) != Some(joined)
                    && !std::mem::replace(&mut is_waiting[local(next)], true)
                {
                    work.push(next);
                }
            }
        }
        self.owned.blocks.iter().all(|&block| self.is_in_order(block, spans))
    }

    /// What is known where the function begins.
    fn start(&self, spans: &Spans) -> Span {
        match self.owned.start {
            Start::Call(call) => Span { after: spans.of_inst(call).after, until: spans.layer(call) },
            Start::Main | Start::Thread(_) => {
                let after = self.steps.entry.unwrap_or(0);
                Span { after, until: self.steps.next_start(after) }
            }
        }
    }

    /// Goes past an instruction.
    fn pass(&self, inst: InstId, state: &mut Span, spans: &mut Spans) {
        spans.before[inst.index()] = state.until;
        let Op::Call(call) = &self.code.inst(inst).op else {
            spans.insts[inst.index()] = *state;
            return;
        };
        if let Some(number) = call.item.map(|number| number as usize) {
            let (_, last) = self.items[number];
            if number > 0 {
                // Else control would not be here.
                state.after = state.after.max(self.items[number - 1].1 + 1);
            }
            let after = state.after;
            state.until = state.until.max(self.steps.next_start(last + 1));
            // A synchronization is over with its last step; a callee may go on to steps that no item has.
            let until = if is_hook(self.code, call) { last + 1 } else { state.until };
            spans.insts[inst.index()] = Span { after, until };
            if !self.is_uncertain[number] {
                state.after = last + 1;
            }
            return;
        }
        spans.insts[inst.index()] = *state;
        if let (Callee::Function(callee), Some(entry)) = (call.callee, self.entry_step()) {
            if is_enter(self.code, callee) {
                state.after = state.after.max(entry + 1);
            }
        }
    }

    /// Whether an exception out of an item's callee may land in this function, maybe before the item was done.
    fn unwinds_early(&self, inst: InstId) -> bool {
        let call = call_of(self.code, inst).filter(|call| call.item.is_some());
        call.is_some_and(|call| !is_hook(self.code, call)) && is_invoke(self.code, inst)
    }

    /// The step with which the thread's function begins, if this is it.
    fn entry_step(&self) -> Option<u32> {
        let is_root = !matches!(self.owned.start, Start::Call(_));
        self.steps.entry.filter(|_| is_root)
    }

    /// Whether a block's items come when those before them are done and none behind them is. Of items that their callee
    /// may not have done nothing is known.
    fn is_in_order(&self, block: BlockId, spans: &Spans) -> bool {
        let Some(mut over) = spans.entry[block.index()].map(|span| span.after) else { return true };
        let is_over = |over: u32, count: usize| match count.checked_sub(1) {
            Some(last) if !self.is_uncertain[last] && !self.may_unwind[last] => over > self.items[last].1,
            _ => true,
        };
        self.code.insts_of(block).all(|inst| match &self.code.inst(inst).op {
            Op::Call(Call { item: Some(number), .. }) => {
                let (first, last) = self.items[*number as usize];
                let is_due = is_over(over, *number as usize) && spans.layer(inst) <= first;
                let is_uncertain = self.is_uncertain[*number as usize];
                over = if is_uncertain { over } else { last + 1 };
                is_uncertain || is_due
            }
            _ => true,
        })
    }
}

/// The marker with which threads' functions begin.
fn is_enter(code: &Code<'_>, function: FuncId) -> bool {
    matches!(code.function(function).name.as_str(), "covsched_main_enter" | "covsched_thread_enter")
}
