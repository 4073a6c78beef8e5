//! Owned functions: those that run as part of one thread, called from one place. They are a tree a thread.
//!
//! - A thread's root is its clone. Main's is called once, by a function that nobody calls (`main`, which does nothing
//!   else); another thread's is mentioned once: as an argument of the call that is the item that creates the thread, or
//!   in a vtable that only that call's function mentions.
//! - Below it are all functions that are mentioned once in the module: by a direct call in an owned function. Nothing in
//!   such a tree can be recursive, since a call of an ancestor would be the second mention of it.
//! - A frame's clone must be called by the item that it is, and not in a cycle. One that is called from several places,
//!   or in a cycle, may come back without having synchronized, and begin again: such code is not owned.
//!
//! Not owned either, with all that is below: functions that call `setjmp` or the like, after which control comes back to
//! where it was; clones in which items are missing, or are not what the schedule has there, or that have other
//! synchronizations beside them.

use super::shape::Shape;
use super::uses::{Mentions, Uses};
use crate::ir::code::{BlockId, Call, Callee, Code, FuncId, InstId, Op, Operand};
use crate::specialize::items::{Does, Kept, KeptFrames};
use covsched_core::hooks::{CXX_HOOKS, HOOKS};
use covsched_core::schedule::frames::FrameId;
use covsched_core::{SiteId, ThreadId};
use std::collections::{HashMap, HashSet};

/// Functions after which control may come back to where they were called.
const RETURN_TWICE: [&str; 9] = [
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "savectx",
    "getcontext",
    "vfork",
    "llvm.eh.sjlj.setjmp",
    "_setjmpex",
];

/// How an owned function begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// With the program.
    Main,
    /// As a thread's function; the call that creates the thread, if that is in owned code.
    Thread(Option<InstId>),
    /// By the only call of it.
    Call(InstId),
}

/// An owned function.
#[derive(Clone, Debug)]
pub struct Owned {
    /// Who runs it.
    pub thread: ThreadId,
    /// How it begins.
    pub start: Start,
    /// Calls around it.
    pub depth: u32,
    /// At most once in a run.
    pub is_once: bool,
    /// Its frame's place among the kept, if it is a frame's clone.
    pub frame: Option<usize>,
    /// The calls that are its frame's items, with their numbers, sorted.
    pub items: Vec<(InstId, u32)>,
    /// Its blocks that control comes to; a block's dominators come before it.
    pub blocks: Vec<BlockId>,
}

/// All of them.
#[derive(Debug)]
pub struct Tree {
    /// By function.
    pub owned: Vec<Option<Owned>>,
    /// Callers first.
    pub order: Vec<FuncId>,
}

/// What the tree is built from.
pub struct Builder<'a, 'm> {
    pub code: &'a Code<'m>,
    pub kept: &'a KeptFrames,
    pub shape: &'a mut Shape,
    uses: Uses,
    /// By thread and number: a frame's place among the kept.
    places: HashMap<(ThreadId, u32), usize>,
    /// By kept frame: its clone.
    clones: Vec<Option<FuncId>>,
    /// By function.
    is_hook: Vec<bool>,
    tree: Tree,
}

impl<'a, 'm> Builder<'a, 'm> {
    pub fn new(code: &'a Code<'m>, kept: &'a KeptFrames, shape: &'a mut Shape) -> Self {
        let numbered = kept.frames.iter().enumerate();
        let places: HashMap<(ThreadId, u32), usize> =
            numbered.map(|(place, frame)| ((frame.thread, frame.number), place)).collect();
        let mut clones = vec![None; kept.frames.len()];
        let mut is_twice = vec![false; kept.frames.len()];
        for (number, function) in (0..).map(FuncId).zip(&code.functions) {
            if let Some(place) = frame_of(code, number).and_then(|frame| places.get(&frame)) {
                is_twice[*place] |= clones[*place].is_some() || function.blocks.is_empty();
                clones[*place] = Some(number);
            }
        }
        for (clone, _) in clones.iter_mut().zip(is_twice).filter(|(_, is_twice)| *is_twice) {
            *clone = None;
        }
        let symbols: HashSet<&str> = HOOKS.iter().chain(CXX_HOOKS).map(|hook| hook.symbol).collect();
        let is_hook = code.functions.iter().map(|function| symbols.contains(function.name.as_str()));
        let tree = Tree { owned: vec![None; code.functions.len()], order: Vec::new() };
        let is_hook = is_hook.collect();
        Builder { code, kept, shape, uses: Uses::of(code), places, clones, is_hook, tree }
    }

    /// The tree.
    pub fn build(mut self) -> Tree {
        for (thread, root) in (0..).map(ThreadId).zip(&self.kept.roots) {
            let Some(function) = root.and_then(|root| self.clones[root]) else { continue };
            let start = match thread {
                ThreadId::MAIN => self.main_start(function),
                _ => self.thread_start(thread, function),
            };
            if let Some(start) = start {
                self.add(function, thread, start, 0, true);
            }
        }
        let mut next = 0;
        while let Some(&function) = self.tree.order.get(next) {
            next += 1;
            self.add_callees(function);
        }
        self.find_creators();
        self.tree
    }

    /// Main's clone is called by one function, which nobody calls.
    fn main_start(&self, function: FuncId) -> Option<Start> {
        let Mentions::Inst(call) = self.uses.calls[function.index()] else { return None };
        let outer = self.code.function_of(call);
        let is_apart = self.code.function(outer).blocks.len() == 1
            && self.uses.others[function.index()] == Mentions::None
            && !self.code.function(function).is_address_taken
            && self.uses.calls[outer.index()] == Mentions::None
            && !self.code.function(outer).is_address_taken;
        is_apart.then_some(Start::Main)
    }

    /// A thread's clone is given to the call that creates the thread, and to nobody else.
    fn thread_start(&self, thread: ThreadId, function: FuncId) -> Option<Start> {
        if self.uses.calls[function.index()] != Mentions::None {
            return None;
        }
        let creates =
            |inst: InstId| self.item(inst).is_some_and(|(_, _, item)| item.does == Does::Creates(thread));
        match self.uses.others[function.index()] {
            Mentions::Inst(inst) => creates(inst).then_some(Start::Thread(Some(inst))),
            Mentions::Global(vtable) => {
                let frames = self.kept.frames.iter().zip(&self.clones);
                let creators = frames
                    .filter(|(frame, _)| frame.items.iter().any(|item| item.does == Does::Creates(thread)));
                let creator = (*creators.map(|(_, clone)| clone).next()?)?;
                if !self.uses.is_private_to(vtable, creator) {
                    return None;
                }
                let mut calls = insts_of(self.code, creator).filter(|&inst| creates(inst));
                let call = calls.next()?;
                calls.next().is_none().then_some(Start::Thread(Some(call)))
            }
            Mentions::None | Mentions::Many => None,
        }
    }

    /// The item that a call is: its frame's place, its number, and what the schedule has there.
    fn item(&self, inst: InstId) -> Option<(usize, u32, &'a Kept)> {
        let call = call_of(self.code, inst)?;
        let place = *self.places.get(&frame_of(self.code, self.code.function_of(inst))?)?;
        let number = call.item?;
        Some((place, number, self.kept.frames[place].items.get(number as usize)?))
    }

    fn add(&mut self, function: FuncId, thread: ThreadId, start: Start, depth: u32, is_once: bool) {
        if self.tree.owned[function.index()].is_some() || self.returns_twice(function) {
            return;
        }
        let blocks = self.shape.add(self.code, function);
        let frame = frame_of(self.code, function).and_then(|frame| self.places.get(&frame).copied());
        let Some(items) = self.items_of(function, frame, &blocks) else { return };
        self.tree.owned[function.index()] =
            Some(Owned { thread, start, depth, is_once, frame, items, blocks });
        self.tree.order.push(function);
    }

    fn returns_twice(&self, function: FuncId) -> bool {
        insts_of(self.code, function).any(|inst| match call_of(self.code, inst).map(|call| call.callee) {
            Some(Callee::Function(callee)) => {
                RETURN_TWICE.contains(&self.code.function(callee).name.as_str())
            }
            _ => false,
        })
    }

    /// The items of a function; `None` if they are not what the schedule says.
    fn items_of(
        &self,
        function: FuncId,
        frame: Option<usize>,
        blocks: &[BlockId],
    ) -> Option<Vec<(InstId, u32)>> {
        // Behind the items of an open frame all is as it was.
        let may_have_more = frame.is_none_or(|place| self.kept.frames[place].is_open);
        let mut items = Vec::new();
        for inst in blocks.iter().flat_map(|&block| self.code.insts_of(block)) {
            let Some(call) = call_of(self.code, inst) else { continue };
            let Some(number) = call.item else {
                if !may_have_more && self.synchronizes(call) {
                    return None;
                }
                continue;
            };
            let (place, _, item) = self.item(inst)?;
            if Some(place) != frame || !self.is_as_kept(inst, item) {
                return None;
            }
            items.push((inst, number));
        }
        let count = frame.map_or(0, |place| self.kept.frames[place].items.len());
        let mut is_there = vec![false; count];
        items.iter().for_each(|&(_, number)| is_there[number as usize] = true);
        items.sort_unstable();
        let is_whole = is_there.into_iter().all(|is_there| is_there)
            // A clone of no frame that is kept is of another schedule.
            && frame.is_some() == frame_of(self.code, function).is_some();
        is_whole.then_some(items)
    }

    /// Whether a call is of a hook that is not left out.
    fn synchronizes(&self, call: &Call) -> bool {
        let Callee::Function(callee) = call.callee else { return false };
        let is_left_out = |argument: &Operand| matches!(argument, Operand::Int { value, .. } if *value == SiteId::IGNORED.0);
        self.is_hook[callee.index()] && !call.arguments.last().is_some_and(is_left_out)
    }

    /// Whether a call does what its item says.
    fn is_as_kept(&self, inst: InstId, item: &Kept) -> bool {
        let Some(call) = call_of(self.code, inst) else { return false };
        match item.does {
            Does::Calls(FrameId(frame)) => {
                let place = self.kept.places.get(frame as usize).copied().flatten();
                let clone = place.and_then(|place| self.clones[place]);
                clone.is_some_and(|clone| call.callee == Callee::Function(clone))
            }
            Does::Synchronizes | Does::Creates(_) => {
                let is_site = |argument: &Operand| matches!(argument, Operand::Int { value, .. } if *value == item.site.0);
                call.arguments.last().is_some_and(is_site)
                    && !self.shape.is_in_cycle(self.code.inst(inst).block)
            }
        }
    }

    /// Functions that are mentioned once, by a call in this one.
    fn add_callees(&mut self, function: FuncId) {
        let Some(owned) = &self.tree.owned[function.index()] else { return };
        let (thread, depth, is_once) = (owned.thread, owned.depth, owned.is_once);
        for block in owned.blocks.clone() {
            let is_once = is_once && !self.shape.is_in_cycle(block);
            for inst in self.code.insts_of(block) {
                if let Some(callee) = self.only_callee(inst) {
                    self.add(callee, thread, Start::Call(inst), depth + 1, is_once);
                }
            }
        }
    }

    /// The function that a call calls, if nothing else mentions it.
    fn only_callee(&self, inst: InstId) -> Option<FuncId> {
        let Callee::Function(callee) = call_of(self.code, inst)?.callee else { return None };
        let data = self.code.function(callee);
        let is_only = !data.blocks.is_empty()
            && data.is_internal
            && !data.is_address_taken
            && self.uses.calls[callee.index()] == Mentions::Inst(inst)
            && self.uses.others[callee.index()] == Mentions::None;
        // A frame's clone is called by its item (which was found to name it), and once.
        let is_called = frame_of(self.code, callee).is_none()
            || (self.item(inst).is_some() && !self.shape.is_in_cycle(self.code.inst(inst).block));
        (is_only && is_called).then_some(callee)
    }

    /// Calls that create threads are only told if they are in owned code.
    fn find_creators(&mut self) {
        for number in 0..self.tree.owned.len() {
            let Some(Owned { start: Start::Thread(Some(call)), .. }) = self.tree.owned[number] else {
                continue;
            };
            if self.tree.owned[self.code.function_of(call).index()].is_none() {
                if let Some(owned) = &mut self.tree.owned[number] {
                    owned.start = Start::Thread(None);
                }
            }
        }
    }
}

impl Tree {
    /// Callers first.
    pub fn functions(&self) -> impl Iterator<Item = &Owned> {
        self.order.iter().filter_map(|function| self.owned[function.index()].as_ref())
    }

    /// Takes a function out, with all that is below it. `order` keeps it, so that who goes through it need not stop.
    pub fn remove(&mut self, code: &Code<'_>, function: FuncId) {
        self.owned[function.index()] = None;
        for &other in &self.order {
            let Some(Owned { start, .. }) = &self.owned[other.index()] else { continue };
            match *start {
                Start::Call(call) if self.owned[code.function_of(call).index()].is_none() => {
                    self.owned[other.index()] = None;
                }
                Start::Thread(Some(call)) if self.owned[code.function_of(call).index()].is_none() => {
                    if let Some(owned) = &mut self.owned[other.index()] {
                        owned.start = Start::Thread(None);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The thread and number of the frame that a function is a clone of.
pub fn frame_of(code: &Code<'_>, function: FuncId) -> Option<(ThreadId, u32)> {
    code.function(function).clone.as_ref()?.frame
}

/// An instruction as a call.
pub fn call_of<'c>(code: &'c Code<'_>, inst: InstId) -> Option<&'c Call> {
    match &code.inst(inst).op {
        Op::Call(call) => Some(call),
        _ => None,
    }
}

fn insts_of<'c>(code: &'c Code<'_>, function: FuncId) -> impl Iterator<Item = InstId> + 'c {
    let blocks = code.blocks_of(function);
    blocks.flat_map(|block| code.insts_of(block))
}
