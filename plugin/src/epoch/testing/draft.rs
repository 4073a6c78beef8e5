//! Random programs. A draft is made in one of two ways: *wired*, blocks with edges at random (irreducible cycles,
//! blocks that cannot be reached), and *structured*, statements in each other (loops of all shapes, several exits,
//! exceptions, now and then a jump into a loop), as compilers make them.

use super::Random;
use crate::epoch::program::{Action, Block, BlockId, Flow, FunctionId, Leave, Program, Step};
use covsched_core::hooks::Op;
use covsched_core::SiteId;

/// A program that can be written as plain data and as LLVM IR.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub functions: Vec<DraftFunction>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct DraftFunction {
    pub blocks: Vec<DraftBlock>,
    /// A call through a pointer may come to it.
    pub address_taken: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct DraftBlock {
    pub steps: Vec<Deed>,
    pub end: End,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Deed {
    Sync(Op),
    Marker,
    Call(usize),
    /// Through a pointer.
    Pointer,
    /// To code outside.
    Unknown,
    /// To code outside, with a function of the program.
    Callback(usize),
}

/// How a block ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Jump(usize),
    Branch(usize, usize),
    /// Branches on a volatile load.
    Spin(usize, usize),
    Switch(Vec<usize>),
    /// What it calls, where control goes on, where exceptions land.
    Invoke(Deed, usize, usize),
    Return,
    Resume,
    /// `unreachable`, after a call that does not return.
    Stop,
}

/// How large and of what kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub functions: usize,
    /// Blocks a function when wired, statements when structured.
    pub size: usize,
    pub structured: bool,
    /// Percentage of steps that are markers.
    pub markers: usize,
    /// At most so many calls of functions of the program.
    pub calls: usize,
    /// Invokes and `resume`.
    pub exceptions: bool,
    /// Code outside, callbacks and pointers that may be code outside.
    pub outside: bool,
}

/// Everything that a step may do to an object.
const OPS: &[Op] = &[
    Op::pthread_mutex_lock,
    Op::pthread_mutex_unlock,
    Op::pthread_mutex_trylock,
    Op::sem_post,
    Op::pthread_cond_wait,
    Op::pthread_cond_wait,
    Op::pthread_cond_timedwait,
    Op::pthread_cond_signal,
    Op::pthread_cond_broadcast,
    Op::pthread_create,
    Op::pthread_create,
    Op::pthread_join,
    Op::pthread_join,
    Op::pthread_barrier_wait,
];

struct Maker<'r> {
    random: &'r mut Random,
    shape: Shape,
    /// The function's number.
    function: usize,
    /// What is made now is run whenever the function is: a recursion here would never end.
    always: bool,
    calls: usize,
    blocks: Vec<DraftBlock>,
    /// Headers and exits of the loops around.
    loops: Vec<(usize, usize)>,
}

impl Draft {
    pub fn random(random: &mut Random, shape: Shape) -> Draft {
        let mut calls = shape.calls;
        let mut functions = Vec::new();
        for function in 0..shape.functions {
            let (blocks, loops) = (Vec::new(), Vec::new());
            let mut maker = Maker { random, shape, function, always: true, calls, blocks, loops };
            if shape.structured {
                maker.structured();
            } else {
                maker.wired();
            }
            calls = maker.calls;
            let blocks = maker.blocks;
            functions.push(DraftFunction { blocks, address_taken: random.chance(40) });
        }
        let mut draft = Draft { functions };
        draft.take_addresses();
        draft
    }

    /// A callback's address is taken.
    fn take_addresses(&mut self) {
        let mut taken = Vec::new();
        for block in self.functions.iter().flat_map(|function| &function.blocks) {
            let invoked = match block.end {
                End::Invoke(deed, ..) => Some(deed),
                _ => None,
            };
            for deed in block.steps.iter().copied().chain(invoked) {
                if let Deed::Callback(f) = deed {
                    taken.push(f);
                }
            }
        }
        taken.into_iter().for_each(|f| self.functions[f].address_taken = true);
    }

    /// As plain data. `whole`: pointers reach functions of the program only.
    pub fn program(&self, whole: bool) -> Program<'static> {
        let functions = self.functions.iter().enumerate().map(|(f, function)| Flow {
            function: None,
            name: format!("f{f}"),
            blocks: function.blocks.iter().map(|block| self.block(block, whole)).collect(),
            loops: vec![],
            irreducible: vec![],
        });
        Program { functions: functions.collect() }
    }

    fn block(&self, block: &DraftBlock, whole: bool) -> Block<'static> {
        let step = |deed, is_invoke| Step { inst: None, action: self.action(deed, whole), is_invoke };
        let mut steps: Vec<Step<'static>> = block.steps.iter().map(|&deed| step(deed, false)).collect();
        let (next, leaves): (Vec<usize>, _) = match &block.end {
            End::Jump(to) => (vec![*to], None),
            End::Branch(one, other) | End::Spin(one, other) => (vec![*one, *other], None),
            End::Switch(targets) => (targets.clone(), None),
            End::Invoke(deed, normal, landing) => {
                steps.push(step(*deed, true));
                (vec![*normal, *landing], None)
            }
            End::Return => (vec![], Some(Leave::Returns)),
            End::Resume => (vec![], Some(Leave::Unwinds)),
            End::Stop => (vec![], None),
        };
        Block { steps, next: next.into_iter().map(|b| BlockId(b as u32)).collect(), leaves }
    }

    fn action(&self, deed: Deed, whole: bool) -> Action {
        let calls = |functions: &[usize], unknown, certain| Action::Calls {
            functions: functions.iter().map(|&f| FunctionId(f as u32)).collect(),
            unknown,
            certain,
        };
        match deed {
            Deed::Sync(op) => Action::Synchronizes(op),
            Deed::Marker => Action::Marker(SiteId(1)),
            Deed::Call(f) => calls(&[f], false, true),
            // A library calls back what it can have got hold of.
            Deed::Unknown if whole => calls(&self.taken(), false, false),
            Deed::Unknown => calls(&[], true, false),
            Deed::Callback(f) => calls(&[f], !whole, false),
            Deed::Pointer => calls(&self.taken(), !whole, true),
        }
    }

    fn taken(&self) -> Vec<usize> {
        (0..self.functions.len()).filter(|&f| self.functions[f].address_taken).collect()
    }
}

impl Maker<'_> {
    fn deed(&mut self) -> Deed {
        if self.random.chance(self.shape.markers) {
            return Deed::Marker;
        }
        let callee = self.callee();
        match self.random.below(10) {
            0..=3 if self.calls > 0 => {
                self.calls -= 1;
                match (self.random.below(8), callee) {
                    (0, _) => Deed::Pointer,
                    (1, Some(callee)) if self.shape.outside => Deed::Callback(callee),
                    (_, Some(callee)) => Deed::Call(callee),
                    (_, None) => Deed::Sync(Op::pthread_mutex_lock),
                }
            }
            4 if self.shape.outside && self.random.chance(30) => Deed::Unknown,
            5 if self.random.chance(10) => Deed::Sync(Op::pthread_exit),
            _ => Deed::Sync(*self.random.pick(OPS)),
        }
    }

    /// A function to call. One that is always called is a later one, mostly.
    fn callee(&mut self) -> Option<usize> {
        let first = if self.always && self.random.chance(90) { self.function + 1 } else { 0 };
        (first < self.shape.functions).then(|| first + self.random.below(self.shape.functions - first))
    }

    fn deeds(&mut self, most: usize) -> Vec<Deed> {
        (0..self.random.below(most + 1)).map(|_| self.deed()).collect()
    }

    fn wired(&mut self) {
        let count = 1 + self.random.below(self.shape.size);
        for number in 0..count {
            self.always = number == 0;
            let mut steps = self.deeds(2);
            let mut to = || self.random.below(count);
            let (one, other, third) = (to(), to(), to());
            let end = match self.random.below(12) {
                0..=2 => End::Jump(one),
                3..=5 => End::Branch(one, other),
                6 => End::Switch(vec![one, other, third]),
                7 | 8 if self.shape.exceptions => End::Invoke(self.deed(), one, other),
                9 if self.shape.exceptions => End::Resume,
                10 if self.random.chance(30) => End::Stop,
                _ => End::Return,
            };
            // A thread that ends does not go on.
            if steps.contains(&Deed::Sync(Op::pthread_exit)) && self.random.chance(50) {
                steps.truncate(1);
            }
            self.blocks.push(DraftBlock { steps, end });
        }
    }

    fn structured(&mut self) {
        let first = self.open();
        let count = 1 + self.random.below(self.shape.size);
        let last = self.statements(first, count, 0);
        if let Some(last) = last {
            self.blocks[last].end = End::Return;
        }
        // A jump to anywhere: into a loop, often.
        if self.random.chance(15) {
            let (from, to) = (self.random.below(self.blocks.len()), self.random.below(self.blocks.len()));
            if let End::Jump(next) = self.blocks[from].end {
                self.blocks[from].end = End::Branch(next, to);
            }
        }
    }

    /// A new block, which does not end yet.
    fn open(&mut self) -> usize {
        let steps = if self.random.chance(50) { self.deeds(1) } else { vec![] };
        self.blocks.push(DraftBlock { steps, end: End::Stop });
        self.blocks.len() - 1
    }

    fn condition(&mut self, one: usize, other: usize) -> End {
        if self.random.chance(8) {
            End::Spin(one, other)
        } else if self.random.chance(50) {
            End::Branch(one, other)
        } else {
            End::Branch(other, one)
        }
    }

    /// Statements from this block on; gives the block where control is afterwards, if it comes there.
    fn statements(&mut self, from: usize, count: usize, depth: usize) -> Option<usize> {
        let mut at = from;
        for _ in 0..count {
            self.always = depth == 0;
            at = self.statement(at, depth)?;
        }
        Some(at)
    }

    fn inner(&mut self, from: usize, depth: usize) -> Option<usize> {
        let count = if depth > 2 { 1 } else { 1 + self.random.below(2) };
        self.statements(from, count, depth + 1)
    }

    fn join(&mut self, arms: &[Option<usize>], to: usize) {
        for &arm in arms.iter().flatten() {
            self.blocks[arm].end = End::Jump(to);
        }
    }

    fn statement(&mut self, at: usize, depth: usize) -> Option<usize> {
        let kind = if depth > 3 { self.random.below(4) } else { self.random.below(20) };
        match kind {
            4..=5 => {
                let (then, after) = (self.open(), self.open());
                self.blocks[at].end = self.condition(then, after);
                let end = self.inner(then, depth);
                self.join(&[end], after);
                Some(after)
            }
            6 => {
                let (then, other) = (self.open(), self.open());
                self.blocks[at].end = self.condition(then, other);
                let arms = [self.inner(then, depth), self.inner(other, depth)];
                arms.iter().any(Option::is_some).then(|| {
                    let after = self.open();
                    self.join(&arms, after);
                    after
                })
            }
            // while
            7..=9 => {
                let (header, body, after) = (self.open(), self.open(), self.open());
                self.blocks[at].end = End::Jump(header);
                self.blocks[header].end = self.condition(body, after);
                self.loops.push((header, after));
                let end = self.inner(body, depth);
                self.loops.pop();
                self.join(&[end], header);
                Some(after)
            }
            // do while
            10 | 11 => {
                let (body, test, after) = (self.open(), self.open(), self.open());
                self.blocks[at].end = End::Jump(body);
                self.loops.push((test, after));
                let end = self.inner(body, depth);
                self.loops.pop();
                self.join(&[end], test);
                self.blocks[test].end = self.condition(body, after);
                Some(after)
            }
            12 => {
                let arms: Vec<usize> = (0..2 + self.random.below(3)).map(|_| self.open()).collect();
                let after = self.open();
                let mut targets = arms.clone();
                targets.push(after);
                self.blocks[at].end = End::Switch(targets);
                for arm in arms {
                    let end = self.inner(arm, depth);
                    self.join(&[end], after);
                }
                Some(after)
            }
            // break, continue
            13 | 14 if !self.loops.is_empty() => {
                let (header, exit) = *self.random.pick(&self.loops.clone());
                let after = self.open();
                let away = if self.random.chance(60) { exit } else { header };
                self.blocks[at].end = self.condition(away, after);
                Some(after)
            }
            // try
            15 | 16 if self.shape.exceptions => {
                let (landing, after) = (self.open(), self.open());
                let deed = self.deed();
                self.blocks[at].end = End::Invoke(deed, after, landing);
                if self.random.chance(50) {
                    self.blocks[landing].end = End::Resume;
                } else {
                    let end = self.inner(landing, depth);
                    self.join(&[end], after);
                }
                Some(after)
            }
            // An early end.
            17 => {
                let (out, after) = (self.open(), self.open());
                self.blocks[at].end = self.condition(out, after);
                self.blocks[out].end = if self.random.chance(70) { End::Return } else { End::Stop };
                Some(after)
            }
            // A loop that never ends, but by what is inside.
            18 if depth > 0 => {
                let (header, after) = (self.open(), self.open());
                self.blocks[at].end = End::Jump(header);
                self.loops.push((header, after));
                let end = self.inner(header, depth);
                self.loops.pop();
                self.join(&[end], header);
                let is_used = self.blocks.iter().any(|block| match &block.end {
                    End::Branch(one, other) | End::Spin(one, other) => [*one, *other].contains(&after),
                    _ => false,
                });
                is_used.then_some(after)
            }
            _ => {
                let more = self.deeds(2);
                self.blocks[at].steps.extend(more);
                Some(at)
            }
        }
    }
}
