//! Test aid: specialized programs and their schedules, written by hand or drawn at random, without LLVM.
//!
//! ```text
//! fn worker.t1.0 t1/0                 a frame's clone: thread, number of the frame
//!   e: enter; a; br x y               blocks: instructions, then how it ends
//!   x: item 0 lock; jmp y             an item that synchronizes
//!   y: b=call f; ret                  names are of instructions, all different
//! fn f                                another function of the module's own
//!   e: invoke g ok bad
//! ```
//! Instructions: a name alone (a store), `call F`, `enter`, `assume`, `item N lock`, `item N create F`, `item N call F`.
//! Ends: `ret`, `resume`, `stop`, `trap`, `jmp B`, `br B B`, `flag B B` (done, not done), `switch B 1:B 2:B`, `invoke F B B`,
//! `item N invoke F B B`. Functions that are called and not there are another module's.
//!
//! Events are `THREAD PLACE OP WORDS`: the place is `FRAME.ITEM`, or `-` for a step that no item has.

pub(crate) mod oracle;
pub(crate) mod random;

use super::places::Places;
use crate::ir::code::{
    BlockData, BlockId, Call, Callee, CloneOf, Code, FuncData, FuncId, InstData, InstId, Op, Operand,
};
use crate::ir::{Function, Inst};
use crate::specialize::graph::FunctionId;
use crate::specialize::items::{Does, Kept, KeptFrame, KeptFrames};
use covsched_core::hooks::{Effect, Op as Operation};
use covsched_core::schedule::frames::FrameId;
use covsched_core::schedule::order::Order;
use covsched_core::schedule::{Completeness, Event, Object, ObjectId, Phase, Schedule, Thread};
use covsched_core::{ProgramId, Seq, SiteId, ThreadId};
use std::collections::{BTreeMap, HashMap};

/// What an instruction is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Store,
    Enter,
    Assume,
    Call(String),
    Lock,
    Create(String),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub name: Option<String>,
    pub item: Option<u32>,
    pub what: What,
}

/// How a block ends; blocks by index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Return,
    Resume,
    Stop,
    Trap,
    Jump(usize),
    Branch(usize, usize),
    /// Whether the last call has done its item.
    Flag(usize, usize),
    Switch(usize, Vec<(u64, usize)>),
    Invoke(Line, usize, usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub lines: Vec<Line>,
    pub end: End,
}

#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub name: String,
    pub frame: Option<(u32, u32)>,
    pub blocks: Vec<Block>,
}

/// A step: its thread, the item that it is of, and what happens.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub item: Option<(u32, u32)>,
    pub event: Event,
}

/// A program and a schedule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub bodies: Vec<Body>,
    pub steps: Vec<Step>,
}

/// All that [`Places`] is made of.
pub(crate) struct Scene {
    pub code: Code<'static>,
    pub schedule: Schedule,
    pub kept: KeptFrames,
    /// Instructions by name.
    pub names: BTreeMap<String, InstId>,
    /// Blocks that ask whether the last call has done its item.
    pub flags: Vec<BlockId>,
}

impl Scene {
    pub fn new(program: &str, events: &str) -> Scene {
        Draft::parse(program, events).build()
    }

    pub fn places(&self) -> Places<'_, 'static> {
        self.places_in(Order::Hb)
    }

    pub fn places_in(&self, order: Order) -> Places<'_, 'static> {
        Places::of(&self.code, &self.schedule, order, &self.kept)
    }

    #[track_caller]
    pub fn at(&self, name: &str) -> InstId {
        self.names.get(name).copied().unwrap_or_else(|| panic!("no instruction {name}"))
    }

    /// The code and the events, for failures.
    pub fn show(&self) -> String {
        let mut text = String::new();
        let name = |inst: InstId| self.names.iter().find(|(_, &known)| known == inst).map(|(name, _)| name);
        for (number, function) in (0..).map(FuncId).zip(&self.code.functions) {
            text += &format!("{}:\n", function.name);
            for block in self.code.blocks_of(number) {
                text += &format!("  b{}:", block.0);
                for inst in self.code.insts_of(block) {
                    let what = match &self.code.inst(inst).op {
                        Op::Call(call) => match call.callee {
                            Callee::Function(callee) => {
                                let item = call.item.map_or(String::new(), |item| format!("item {item} "));
                                format!("={item}call {}", self.code.function(callee).name)
                            }
                            _ => "=call".to_owned(),
                        },
                        Op::Return(_) => "ret".to_owned(),
                        Op::Unreachable => "stop".to_owned(),
                        Op::Other { .. } => "resume".to_owned(),
                        _ => String::new(),
                    };
                    text += &format!(" {}{what};", name(inst).map_or("", String::as_str));
                }
                let next: Vec<u32> = self.code.block(block).next.iter().map(|next| next.0).collect();
                text += &format!(" -> {next:?}\n");
            }
        }
        for event in &self.schedule.events {
            let (child, object) = (event.child.map(|t| t.0), event.object.map(|object| object.0));
            text += &format!("{} {} {:?} {child:?} {object:?}\n", event.thread, event.op.name(), event.phase);
        }
        text
    }

    #[track_caller]
    pub fn function(&self, name: &str) -> FuncId {
        let found = self.code.functions.iter().position(|function| function.name == name);
        FuncId(found.unwrap_or_else(|| panic!("no function {name}")) as u32)
    }
}

fn site(thread: u32, frame: u32, item: u32) -> SiteId {
    SiteId(1 + (u64::from(thread) << 40 | u64::from(frame) << 20 | u64::from(item)))
}

/// `tN`.
fn thread_number(word: &str) -> Option<u32> {
    word.strip_prefix('t')?.parse().ok()
}

impl Draft {
    pub fn parse(program: &str, events: &str) -> Draft {
        let mut draft = Draft::default();
        let mut texts: Vec<Vec<(String, String)>> = Vec::new();
        for line in program.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(head) = line.strip_prefix("fn ") {
                let (name, frame) = head.split_once(' ').unwrap_or((head, ""));
                let frame = frame.split_once('/');
                let frame = frame.and_then(|(t, k)| Some((thread_number(t)?, k.parse().ok()?)));
                draft.bodies.push(Body { name: name.to_owned(), frame, blocks: Vec::new() });
                texts.push(Vec::new());
            } else {
                let (label, rest) = line.split_once(':').expect("LABEL: ...");
                texts.last_mut().expect("a function").push((label.to_owned(), rest.to_owned()));
            }
        }
        for (body, text) in draft.bodies.iter_mut().zip(&texts) {
            let target = |label: &str| {
                let found = text.iter().position(|(known, _)| known == label.trim());
                found.unwrap_or_else(|| panic!("{}: no block {label}", body.name))
            };
            body.blocks = text.iter().map(|(_, text)| Block::parse(text, &target)).collect();
        }
        draft.steps =
            events.lines().map(str::trim).filter(|line| !line.is_empty()).map(Step::parse).collect();
        draft
    }

    pub fn build(&self) -> Scene {
        let mut builder = Builder::default();
        for (number, body) in (0..).map(FuncId).zip(&self.bodies) {
            builder.ids.insert(body.name.clone(), number);
        }
        for body in &self.bodies {
            builder.body(body);
        }
        let defined = self.bodies.len();
        let mut functions: Vec<FuncData<'static>> = self.bodies.iter().map(function).collect();
        let mut others: Vec<(&String, &FuncId)> = builder.ids.iter().collect();
        others.retain(|(_, id)| id.index() >= defined);
        others.sort_unstable_by_key(|(_, id)| **id);
        functions.extend(others.into_iter().map(|(name, _)| external(name)));
        for (function, range) in functions.iter_mut().zip(&builder.ranges) {
            function.blocks = range.clone();
        }
        let mut code = Code { functions, blocks: builder.blocks, insts: builder.insts, ..Code::default() };
        for inst in &code.insts {
            if let Op::Call(call) = &inst.op {
                for argument in &call.arguments {
                    if let Operand::Function(function) = argument {
                        code.functions[function.index()].is_address_taken = true;
                    }
                }
            }
        }
        for number in 0..defined {
            find_dominators(&mut code, FuncId(number as u32));
        }
        let (schedule, kept) = (self.schedule(), self.kept());
        Scene { code, schedule, kept, names: builder.names, flags: builder.flags }
    }

    fn schedule(&self) -> Schedule {
        let events: Vec<Event> = self.steps.iter().map(|step| step.event.clone()).collect();
        let threads = events.iter().flat_map(|event| event.child.iter().chain([&event.thread]));
        let count = threads.map(|thread| thread.0 + 1).max().unwrap_or(1);
        let parent = |thread: u32| {
            let creates =
                |event: &&Event| event.op.effect() == Effect::Create && event.child == Some(ThreadId(thread));
            events.iter().find(creates).map(|event| event.thread)
        };
        let objects = events.iter().filter_map(|event| Some((event.object?, event.op.class())));
        let mut classes: BTreeMap<ObjectId, _> = objects.collect();
        // The mutexes of waits.
        for mutex in events.iter().filter_map(|event| event.mutex) {
            classes.entry(mutex).or_insert(covsched_core::hooks::ObjectClass::Mutex);
        }
        let object = |number| Object {
            class: classes
                .get(&ObjectId(number))
                .copied()
                .unwrap_or(covsched_core::hooks::ObjectClass::Mutex),
            number,
            symbol: None,
            shared: false,
            mutex_kind: Default::default(),
        };
        let most = classes.keys().map(|id| id.0 + 1).max().unwrap_or(0);
        Schedule {
            program: "app".to_owned(),
            program_id: ProgramId(0),
            command: Vec::new(),
            completeness: Completeness::Complete,
            forked: false,
            threads: (0..count).map(|n| Thread { parent: parent(n), nth: n, entry: None }).collect(),
            objects: (0..most).map(object).collect(),
            sites: BTreeMap::new(),
            events,
            epochs: Vec::new(),
        }
    }

    /// Callers before those that they call.
    fn kept(&self) -> KeptFrames {
        let frames = || self.bodies.iter().filter_map(|body| Some((body, body.frame?)));
        let mut order: Vec<(u32, u32)> = frames().map(|(_, frame)| frame).collect();
        order.sort_unstable();
        let place = |frame: (u32, u32)| order.iter().position(|&other| other == frame).unwrap();
        let by_name: HashMap<&str, (u32, u32)> =
            frames().map(|(body, frame)| (body.name.as_str(), frame)).collect();
        let threads = self.schedule().threads.len();
        let mut kept = KeptFrames {
            places: (0..order.len()).map(Some).collect(),
            roots: vec![None; threads],
            ..KeptFrames::default()
        };
        for (place, &(thread, number)) in order.iter().enumerate() {
            kept.frames.push(KeptFrame {
                frame: FrameId(place as u32),
                thread: ThreadId(thread),
                number,
                function: FunctionId(0),
                caller: None,
                items: Vec::new(),
                is_open: false,
            });
            if number == 0 {
                kept.roots[thread as usize] = Some(place);
            }
        }
        for (body, frame) in frames() {
            let mut items: BTreeMap<u32, Does> = BTreeMap::new();
            for line in body.blocks.iter().flat_map(Block::all_lines) {
                let Some(number) = line.item else { continue };
                let does = match &line.what {
                    What::Call(callee) => Does::Calls(FrameId(place(by_name[callee.as_str()]) as u32)),
                    What::Create(function) => Does::Creates(ThreadId(by_name[function.as_str()].0)),
                    _ => Does::Synchronizes,
                };
                items.insert(number, does);
            }
            for (number, does) in items {
                let seqs = (1..).zip(&self.steps).filter(|(_, step)| {
                    step.event.thread.0 == frame.0 && step.item == Some((frame.1, number))
                });
                let seqs: Vec<u64> = seqs.map(|(seq, _)| seq).collect();
                let seq = |seq: Option<&u64>| Seq(seq.copied().unwrap_or(0));
                if let Does::Calls(FrameId(callee)) = does {
                    kept.frames[callee as usize].caller = Some((place(frame), number as usize));
                }
                kept.frames[place(frame)].items.push(Kept {
                    site: site(frame.0, frame.1, number),
                    does,
                    first: seq(seqs.first()),
                    last: seq(seqs.last()),
                });
            }
        }
        kept
    }
}

impl Block {
    fn parse(text: &str, target: &dyn Fn(&str) -> usize) -> Block {
        let parts: Vec<&str> = text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
        let (last, lines) = parts.split_last().expect("an end");
        let lines = lines.iter().map(|line| Line::parse(line)).collect();
        let words: Vec<&str> = last.split_whitespace().collect();
        let end = match words[..] {
            ["ret"] => End::Return,
            ["resume"] => End::Resume,
            ["stop"] => End::Stop,
            ["trap"] => End::Trap,
            ["jmp", to] => End::Jump(target(to)),
            ["br", yes, no] => End::Branch(target(yes), target(no)),
            ["flag", yes, no] => End::Flag(target(yes), target(no)),
            ["switch", default, ref cases @ ..] => {
                let case = |case: &&str| {
                    let (value, to) = case.split_once(':').expect("VALUE:BLOCK");
                    (value.parse().expect("a number"), target(to))
                };
                End::Switch(target(default), cases.iter().map(case).collect())
            }
            [ref call @ .., normal, unwind] => {
                let call = call.join(" ").replace("invoke", "call");
                End::Invoke(Line::parse(&call), target(normal), target(unwind))
            }
            _ => panic!("no end: {last}"),
        };
        Block { lines, end }
    }

    fn all_lines(&self) -> impl Iterator<Item = &Line> {
        let invoke = match &self.end {
            End::Invoke(line, ..) => Some(line),
            _ => None,
        };
        self.lines.iter().chain(invoke)
    }

    pub fn next(&self) -> Vec<usize> {
        match &self.end {
            End::Return | End::Resume | End::Stop | End::Trap => Vec::new(),
            End::Jump(to) => vec![*to],
            End::Branch(a, b) | End::Flag(a, b) | End::Invoke(_, a, b) => vec![*a, *b],
            End::Switch(default, cases) => {
                std::iter::once(*default).chain(cases.iter().map(|&(_, to)| to)).collect()
            }
        }
    }
}

impl Line {
    fn parse(text: &str) -> Line {
        let (name, rest) = match text.split_once('=') {
            Some((name, rest)) => (Some(name.trim().to_owned()), rest),
            None => (None, text),
        };
        let mut words: Vec<&str> = rest.split_whitespace().collect();
        let mut item = None;
        if words[0] == "item" {
            item = Some(words[1].parse().expect("a number"));
            words.drain(..2);
        }
        let what = match words[..] {
            ["enter"] => What::Enter,
            ["assume"] => What::Assume,
            ["lock"] => What::Lock,
            ["create", function] => What::Create(function.to_owned()),
            ["call", function] => What::Call(function.to_owned()),
            [name] => return Line { name: Some(name.to_owned()), item: None, what: What::Store },
            _ => panic!("no instruction: {text}"),
        };
        Line { name, item, what }
    }
}

impl Step {
    fn parse(text: &str) -> Step {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [thread, place, op, ref rest @ ..] = words[..] else { panic!("no event: {text}") };
        let item = place.split_once('.').map(|(frame, item)| (frame.parse().unwrap(), item.parse().unwrap()));
        let op = Operation::from_name(op).unwrap_or_else(|| panic!("no operation: {op}"));
        let mut event = Event::new(ThreadId(thread_number(thread).expect("tN")), op);
        event.result = (op != Operation::entry).then_some(0);
        let mut objects = Vec::new();
        for word in rest {
            match *word {
                "begin" => (event.phase, event.result) = (Phase::Begin, None),
                "end" => event.phase = Phase::End,
                _ if word.starts_with('=') => event.result = word[1..].parse().ok(),
                _ if word.starts_with("by") => event.waker = word[2..].parse().ok().map(Seq),
                _ => match thread_number(word) {
                    Some(child) => event.child = Some(ThreadId(child)),
                    None => objects.push(ObjectId(word[1..].parse().expect("an object"))),
                },
            }
        }
        (event.object, event.mutex) = (objects.first().copied(), objects.get(1).copied());
        Step { item, event }
    }
}

fn function(body: &Body) -> FuncData<'static> {
    let clone = body.frame.map(|(thread, frame)| CloneOf {
        original: body.name.split('.').next().unwrap_or_default().to_owned(),
        frame: Some((ThreadId(thread), frame)),
    });
    FuncData { clone, is_internal: body.name != "main", ..external(&body.name) }
}

fn external(name: &str) -> FuncData<'static> {
    FuncData {
        function: Function::NONE,
        name: name.to_owned(),
        blocks: 0..0,
        parameters: Vec::new(),
        is_variadic: false,
        is_intrinsic: name.starts_with("llvm."),
        is_internal: false,
        is_address_taken: false,
        is_interposable: false,
        clone: None,
    }
}

#[derive(Default)]
struct Builder {
    ids: HashMap<String, FuncId>,
    ranges: Vec<std::ops::Range<u32>>,
    blocks: Vec<BlockData>,
    insts: Vec<InstData<'static>>,
    names: BTreeMap<String, InstId>,
    flags: Vec<BlockId>,
}

impl Builder {
    fn id(&mut self, name: &str) -> FuncId {
        let next = FuncId(self.ids.len() as u32);
        *self.ids.entry(name.to_owned()).or_insert(next)
    }

    fn body(&mut self, body: &Body) {
        let first = self.blocks.len() as u32;
        self.ranges.push(first..first + body.blocks.len() as u32);
        for block in &body.blocks {
            let number = BlockId(self.blocks.len() as u32);
            let start = self.insts.len() as u32;
            for line in &block.lines {
                self.line(line, number, body.frame);
            }
            let op = match &block.end {
                End::Return => Some(Op::Return(None)),
                End::Resume => Some(Op::Other { operands: Vec::new(), reads: false, writes: false }),
                End::Stop => Some(Op::Unreachable),
                End::Trap => {
                    self.line(&Line::parse("call covsched_not_covered"), number, None);
                    Some(Op::Unreachable)
                }
                End::Jump(_) => Some(Op::Branch(None)),
                End::Branch(..) => Some(Op::Branch(Some(Operand::Undef))),
                End::Flag(..) => {
                    self.flags.push(number);
                    Some(Op::Branch(Some(Operand::Undef)))
                }
                End::Switch(_, cases) => Some(Op::Switch {
                    value: Operand::Undef,
                    cases: cases.iter().map(|&(value, _)| value).collect(),
                }),
                End::Invoke(line, ..) => {
                    self.line(line, number, body.frame);
                    None
                }
            };
            self.insts.extend(op.map(|op| InstData { inst: Inst::NONE, block: number, result: None, op }));
            self.blocks.push(BlockData {
                function: self.ids[&body.name],
                insts: start..self.insts.len() as u32,
                next: block.next().into_iter().map(|to| BlockId(first + to as u32)).collect(),
                previous: Vec::new(),
                idom: None,
                is_reachable: false,
                in_loop: None,
                in_irreducible_cycle: false,
            });
        }
    }

    fn line(&mut self, line: &Line, block: BlockId, frame: Option<(u32, u32)>) {
        let mut call = Call {
            callee: Callee::Asm,
            arguments: Vec::new(),
            by_value: 0,
            never_returns: false,
            only_reads: false,
            touches_nothing: false,
            item: line.item,
        };
        let callee = match &line.what {
            What::Store => None,
            What::Enter => Some("covsched_thread_enter"),
            What::Assume => Some("llvm.assume"),
            What::Call(function) => Some(function.as_str()),
            What::Lock => Some("covsched_pthread_mutex_lock"),
            What::Create(function) => {
                call.arguments.push(Operand::Function(self.id(function)));
                Some("covsched_pthread_create")
            }
        };
        if let (Some((thread, frame)), Some(item)) = (frame, line.item) {
            call.arguments.push(Operand::Int { value: site(thread, frame, item).0, width: 64 });
        }
        let op = match callee {
            Some(callee) => {
                call.callee = Callee::Function(self.id(callee));
                Op::Call(call)
            }
            None => Op::Store { address: Operand::Null, value: Operand::Undef, bytes: 1, is_special: false },
        };
        if let Some(name) = &line.name {
            let before = self.names.insert(name.clone(), InstId(self.insts.len() as u32));
            assert!(before.is_none(), "{name} twice");
        }
        self.insts.push(InstData { inst: Inst::NONE, block, result: None, op });
    }
}

/// Predecessors, and dominators from their definition.
fn find_dominators(code: &mut Code<'_>, function: FuncId) {
    let blocks: Vec<BlockId> = code.blocks_of(function).collect();
    for &block in &blocks {
        for next in code.block(block).next.clone() {
            if !code.block(next).previous.contains(&block) {
                code.blocks[next.index()].previous.push(block);
            }
        }
    }
    let reached = |code: &Code<'_>, without: Option<BlockId>| {
        let mut seen = vec![false; code.blocks.len()];
        let mut work: Vec<BlockId> = blocks.first().copied().into_iter().collect();
        while let Some(block) = work.pop() {
            if Some(block) != without && !std::mem::replace(&mut seen[block.index()], true) {
                work.extend(&code.block(block).next);
            }
        }
        seen
    };
    let all = reached(code, None);
    let mut dominators: HashMap<BlockId, Vec<BlockId>> = HashMap::new();
    for &above in blocks.iter().filter(|block| all[block.index()]) {
        let without = reached(code, Some(above));
        for &block in blocks.iter().filter(|block| all[block.index()] && !without[block.index()]) {
            dominators.entry(block).or_default().push(above);
        }
    }
    for &block in &blocks {
        code.blocks[block.index()].is_reachable = all[block.index()];
        let mine = dominators.get(&block).into_iter().flatten().copied().filter(|&above| above != block);
        // The nearest is dominated by all others.
        code.blocks[block.index()].idom = mine.max_by_key(|above| dominators[above].len());
    }
}
