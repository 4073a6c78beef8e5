//! What of a schedule's frames is specialized, and as which steps.
//!
//! Left out, to run as it is: what users ignore; calls into code that is not cloned (libraries that call back, functions
//! with a construct that is a limit, calls whose callee is not the frame's function); calls of which nothing is left;
//! threads that no call that is left has made.

use super::graph::{Callee, FunctionId, Ways};
use super::layers::Step;
use super::program::Program;
use covsched_core::hooks::Effect;
use covsched_core::schedule::frames::{Action, FrameId, Frames, Item};
use covsched_core::schedule::{Event, Schedule};
use covsched_core::site::SiteKind;
use covsched_core::{Seq, SiteId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// What a step is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Does {
    /// A synchronization.
    Synchronizes,
    /// The same, and a thread that is specialized begins.
    Creates(ThreadId),
    /// A call.
    Calls(FrameId),
}

/// A kept item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Where.
    pub site: SiteId,
    /// What.
    pub does: Does,
    /// Its first event; of a call, the first inside.
    pub first: Seq,
    /// The last event, of a synchronization.
    pub last: Seq,
}

/// A frame that is specialized.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptFrame {
    /// Which.
    pub frame: FrameId,
    /// Whose.
    pub thread: ThreadId,
    /// How many of the thread's kept frames come before.
    pub number: u32,
    /// Its function.
    pub function: FunctionId,
    /// The frame that calls it, by its place among the kept, and which of its items the call is.
    pub caller: Option<(usize, usize)>,
    /// What it did, as far as that is kept.
    pub items: Vec<Kept>,
    /// After its last item the thread is where nobody knows.
    pub is_open: bool,
}

/// All kept frames, each after the one that calls it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeptFrames {
    /// The frames.
    pub frames: Vec<KeptFrame>,
    /// By frame: its place among the kept.
    pub places: Vec<Option<usize>>,
    /// By thread: the place of its own frame.
    pub roots: Vec<Option<usize>>,
    /// Synchronizations in kept frames.
    pub events: usize,
    /// Calls of functions by name in which others than those synchronized: they are to be left as they are.
    pub misnamed: BTreeSet<(FunctionId, SiteId)>,
    /// Calls in which something synchronized, and which are left as they are: how often. The frames in them are no part
    /// of the call stack.
    pub left: BTreeMap<SiteId, usize>,
}

/// Chooses. `function_of` gives the function in which a site stands, if it can be cloned; `is_ignored` knows what
/// users ignore.
pub fn keep(
    schedule: &Schedule,
    frames: &Frames,
    program: &Program,
    function_of: &dyn Fn(SiteId) -> Option<FunctionId>,
    is_ignored: &dyn Fn(SiteId) -> bool,
) -> KeptFrames {
    let mut choice =
        Choice { schedule, frames, program, is_ignored, functions: Vec::new(), counts: Vec::new() };
    choice.functions =
        frames.frames.iter().enumerate().map(|(number, _)| choice.function(number, function_of)).collect();
    choice.counts = vec![0; frames.frames.len()];
    // Callees first: a call of which nothing is left is no item.
    for number in (0..frames.frames.len()).rev() {
        choice.counts[number] =
            frames.frames[number].items.iter().filter(|item| choice.keeps(number, item)).count();
    }
    choice.collect()
}

struct Choice<'a> {
    schedule: &'a Schedule,
    frames: &'a Frames,
    program: &'a Program,
    is_ignored: &'a dyn Fn(SiteId) -> bool,
    functions: Vec<Option<FunctionId>>,
    counts: Vec<usize>,
}

impl Choice<'_> {
    fn function(
        &self,
        number: usize,
        function_of: &dyn Fn(SiteId) -> Option<FunctionId>,
    ) -> Option<FunctionId> {
        let frame = &self.frames.frames[number];
        let entry = self.schedule.threads[frame.thread.0 as usize].entry.filter(|_| frame.caller.is_none());
        function_of(entry.or_else(|| frame.items.first().map(|item| item.site))?)
    }

    fn event(&self, seq: Seq) -> &Event {
        &self.schedule.events[seq.0 as usize - 1]
    }

    fn keeps(&self, frame: usize, item: &Item) -> bool {
        let Some(function) = self.functions[frame] else { return false };
        if (self.is_ignored)(item.site) {
            return false;
        }
        match item.action {
            // A thread that exits ends where it called that, and not by a return.
            Action::Synchronized { op, .. } if op.effect() == Effect::Leave => {
                self.schedule.sites.get(&item.site).is_some_and(|site| site.kind == SiteKind::Exit)
            }
            Action::Synchronized { .. } => true,
            Action::Called(None) => false,
            Action::Called(Some(FrameId(callee))) => {
                let callee = callee as usize;
                let is_named = match self.program.callee(function, item.site) {
                    Some(Callee::Function(named)) => self.functions[callee] == Some(named),
                    Some(Callee::Pointer) => self.functions[callee].is_some(),
                    Some(Callee::Elsewhere) | None => false,
                };
                is_named && self.counts[callee] > 0
            }
        }
    }

    /// A call whose frame is not the one that the program names, or is none that can be cloned.
    fn leaves(&self, frame: usize, item: &Item) -> bool {
        let Action::Called(callee) = item.action else { return false };
        if self.functions[frame].is_none() || (self.is_ignored)(item.site) || self.keeps(frame, item) {
            return false;
        }
        let callee = callee.map(|FrameId(callee)| callee as usize);
        // A call of which nothing is left was left out, if it is of a function that could be cloned.
        !callee.is_some_and(|callee| self.functions[callee].is_some() && self.counts[callee] == 0)
    }

    fn misnamed(&self) -> BTreeSet<(FunctionId, SiteId)> {
        let mut found = BTreeSet::new();
        for (function, frame) in self.functions.iter().zip(&self.frames.frames) {
            let Some(function) = *function else { continue };
            for item in &frame.items {
                let Action::Called(callee) = item.action else { continue };
                let really = callee.and_then(|FrameId(callee)| self.functions[callee as usize]);
                if let Some(Callee::Function(named)) = self.program.callee(function, item.site) {
                    if really != Some(named) {
                        found.insert((function, item.site));
                    }
                }
            }
        }
        found
    }

    /// Callers first: a frame is kept if its call or its thread's creation is.
    fn collect(&self) -> KeptFrames {
        let threads = self.schedule.threads.len();
        let mut kept = KeptFrames {
            frames: Vec::new(),
            places: vec![None; self.frames.frames.len()],
            roots: vec![None; threads],
            events: 0,
            misnamed: self.misnamed(),
            left: BTreeMap::new(),
        };
        let mut is_made = vec![false; threads];
        is_made[0] = true;
        let mut calls: Vec<Option<(usize, usize)>> = vec![None; self.frames.frames.len()];
        let mut numbers = vec![0; threads];
        let mut ends = vec![false; threads];
        for (number, frame) in self.frames.frames.iter().enumerate() {
            let thread = frame.thread.0 as usize;
            for item in frame.items.iter().filter(|item| self.leaves(number, item)) {
                *kept.left.entry(item.site).or_default() += 1;
            }
            let (is_kept, caller) = match frame.caller {
                None => (is_made[thread], None),
                Some(_) => (calls[number].is_some(), calls[number]),
            };
            let Some(function) = self.functions[number].filter(|_| is_kept) else { continue };
            let place = kept.frames.len();
            let mut items = Vec::new();
            for item in frame.items.iter().filter(|item| self.keeps(number, item)) {
                let (first, last, does) = match item.action {
                    Action::Synchronized { first, last, .. } => {
                        let last = last.unwrap_or(first);
                        kept.events += if first == last { 1 } else { 2 };
                        let event = self.event(last);
                        ends[thread] |= event.unwound
                            || matches!(event.op.effect(), Effect::EndThread | Effect::EndProcess)
                            || (event.op.effect() == Effect::Leave && frame.caller.is_none());
                        (first, last, self.creation(event, &mut is_made))
                    }
                    Action::Called(Some(callee)) => {
                        calls[callee.0 as usize] = Some((place, items.len()));
                        (Seq(0), Seq(0), Does::Calls(callee))
                    }
                    Action::Called(None) => continue,
                };
                items.push(Kept { site: item.site, does, first, last });
            }
            if frame.caller.is_none() {
                kept.roots[thread] = Some(place);
            }
            kept.places[number] = Some(place);
            let order = numbers[thread];
            numbers[thread] += 1;
            kept.frames.push(KeptFrame {
                frame: FrameId(number as u32),
                thread: frame.thread,
                number: order,
                function,
                caller,
                items,
                is_open: false,
            });
        }
        kept.find_firsts();
        kept.open(&ends);
        kept
    }

    fn creation(&self, event: &Event, is_made: &mut [bool]) -> Does {
        let succeeded = event.op.effect() == Effect::Create && event.result == Some(0) && !event.unwound;
        match event.child.filter(|child| succeeded && self.frames.threads[child.0 as usize].root.is_some()) {
            Some(child) if self.schedule.threads[child.0 as usize].parent == Some(event.thread) => {
                is_made[child.0 as usize] = true;
                Does::Creates(child)
            }
            _ => Does::Synchronizes,
        }
    }
}

impl KeptFrames {
    /// A call's first event is the first inside.
    fn find_firsts(&mut self) {
        for place in (0..self.frames.len()).rev() {
            for number in 0..self.frames[place].items.len() {
                if let Does::Calls(FrameId(callee)) = self.frames[place].items[number].does {
                    let callee = self.places[callee as usize];
                    let first = callee.and_then(|callee| self.frames[callee].items.first());
                    self.frames[place].items[number].first = first.map_or(Seq(0), |item| item.first);
                }
            }
        }
    }

    /// A thread whose end is not among its items was somewhere when the process ended: in the call of its last item,
    /// or behind it.
    fn open(&mut self, ends: &[bool]) {
        for (root, _) in self.roots.clone().into_iter().zip(ends).filter(|(_, &ends)| !ends) {
            let mut place = root;
            while let Some(open) = place {
                self.frames[open].is_open = true;
                place = match self.frames[open].items.last().map(|item| item.does) {
                    Some(Does::Calls(FrameId(callee))) => self.places[callee as usize],
                    _ => None,
                };
            }
        }
    }

    /// A synchronization as a step. Calls depend on what their callee's frame does.
    pub fn step(&self, schedule: &Schedule, item: &Kept) -> Step {
        let event = &schedule.events[item.last.0.max(1) as usize - 1];
        let (done, ends) = match event.op.effect() {
            _ if event.unwound => (Ways::UNWINDS, true),
            Effect::EndThread => (Ways::UNWINDS, true),
            Effect::EndProcess => (Ways::NONE, true),
            // What libstdc++ reports by an exception is an error in the schedule.
            _ => (Ways { returns: true, unwinds: event.result.is_some_and(|result| result != 0) }, false),
        };
        Step { site: item.site, done, ends, skipped: Ways::NONE }
    }

    /// The item that comes next for a frame's thread when so many of the frame's items are done: the frame that
    /// synchronizes next itself, and which of its items that is.
    pub fn expected(&self, place: usize, done: usize) -> Option<(usize, usize)> {
        let (mut place, mut done) = (place, done);
        while self.frames[place].items.len() <= done {
            let (caller, number) = self.frames[place].caller?;
            (place, done) = (caller, number + 1);
        }
        while let Does::Calls(FrameId(callee)) = self.frames[place].items[done].does {
            (place, done) = (self.places[callee as usize]?, 0);
        }
        Some((place, done))
    }

    /// The first event of the item that comes next.
    pub fn expected_seq(&self, place: usize, done: usize) -> Option<Seq> {
        self.expected(place, done).map(|(place, done)| self.frames[place].items[done].first)
    }

    /// A site of a frame, and the calls that the frame was made in, innermost first.
    pub fn callers(&self, place: usize, site: SiteId) -> impl Iterator<Item = SiteId> + '_ {
        let calls = std::iter::successors(self.frames[place].caller, |&(place, _)| self.frames[place].caller);
        std::iter::once(site).chain(calls.map(|(place, number)| self.frames[place].items[number].site))
    }
}
