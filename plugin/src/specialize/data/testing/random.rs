//! Random specialized programs and schedules that fit them: threads that create and join each other, frames in frames,
//! clones that may come back without having synchronized, private functions, loops, exceptions, traps.

use super::{Block, Body, Draft, End, Line, Step, What};
use crate::epoch::testing::Random;
use covsched_core::hooks::Op;
use covsched_core::schedule::{Event, ObjectId, Phase};
use covsched_core::ThreadId;

/// A frame while it is made: what its items do.
struct Plan {
    thread: u32,
    number: u32,
    items: Vec<Does>,
    is_uncertain: bool,
}

#[derive(Clone, Copy)]
enum Does {
    Locks,
    Waits,
    Creates(u32),
    Joins(u32),
    Returns,
    /// The frame with this place among all plans.
    Calls(usize),
}

pub(crate) fn draft(random: &mut Random) -> Draft {
    let threads = 1 + random.below(3) as u32;
    let mut maker =
        Maker { random, draft: Draft::default(), plans: Vec::new(), names: 0, joined: Vec::new() };
    let mut orders = Vec::new();
    for thread in 0..threads {
        orders.push(maker.thread(thread, threads));
    }
    for place in 0..maker.plans.len() {
        maker.frame(place);
    }
    maker.text("fn main\n e: call main.t0.0; ret");
    maker.interleave(orders);
    maker.draft
}

struct Maker<'r> {
    random: &'r mut Random,
    draft: Draft,
    plans: Vec<Plan>,
    names: usize,
    joined: Vec<u32>,
}

/// The blocks of a function while they are made.
struct Writer {
    blocks: Vec<Block>,
    /// The block that is being filled.
    open: usize,
    depth: usize,
    /// Items of a frame.
    frame: Option<usize>,
}

impl Writer {
    fn new(depth: usize, frame: Option<usize>) -> Writer {
        let mut writer = Writer { blocks: Vec::new(), open: 0, depth, frame };
        writer.open = writer.block();
        writer
    }

    fn block(&mut self) -> usize {
        self.blocks.push(Block { lines: Vec::new(), end: End::Stop });
        self.blocks.len() - 1
    }

    fn end(&mut self, end: End) {
        self.blocks[self.open].end = end;
    }

    /// Goes on in another block.
    fn go_on(&mut self, end: impl FnOnce(usize) -> End) {
        let next = self.block();
        self.end(end(next));
        self.open = next;
    }
}

impl Maker<'_> {
    fn text(&mut self, text: &str) {
        self.draft.bodies.extend(Draft::parse(text, "").bodies);
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("i{}", self.names)
    }

    /// Plans a thread's frames; gives its steps.
    fn thread(&mut self, thread: u32, threads: u32) -> Vec<Step> {
        let mut numbers = 0;
        let root = self.plan(thread, &mut numbers, 0);
        let mut extra = Vec::new();
        for child in thread + 1..threads {
            // Each is made by one of those before it.
            let is_mine = child == thread + 1 && (thread > 0 || threads == 2 || self.random.chance(50));
            if is_mine || (thread == 0 && !(threads == 3 && child == 2 && self.has_two())) {
                extra.push(child);
            }
        }
        for child in extra {
            if self.plans.iter().any(|p| p.items.iter().any(|i| matches!(i, Does::Creates(c) if *c == child)))
            {
                continue;
            }
            let at = self.random.below(self.plans[root].items.len() + 1);
            self.plans[root].items.insert(at, Does::Creates(child));
            if self.random.chance(60) {
                let at = at + 1 + self.random.below(self.plans[root].items.len() - at);
                self.plans[root].items.insert(at, Does::Joins(child));
                self.joined.push(child);
            }
        }
        if self.joined.contains(&thread) || self.random.chance(70) {
            self.plans[root].items.push(Does::Returns);
        }
        let mut steps = Vec::new();
        if thread == 0 && self.random.chance(30) {
            steps.push(self.step(thread, None, Does::Locks));
        }
        steps.push(Step { item: None, event: Event::new(ThreadId(thread), Op::entry) });
        self.flatten(root, &mut steps);
        if self.random.chance(20) {
            let last = self.step(thread, None, Does::Locks);
            steps.push(last);
        }
        steps
    }

    /// Whether the second thread shall make the third.
    fn has_two(&mut self) -> bool {
        self.random.chance(50)
    }

    fn plan(&mut self, thread: u32, numbers: &mut u32, depth: usize) -> usize {
        let place = self.plans.len();
        let is_uncertain = depth > 0 && self.random.chance(25);
        self.plans.push(Plan { thread, number: *numbers, items: Vec::new(), is_uncertain });
        *numbers += 1;
        for _ in 0..self.random.below(3) + usize::from(depth > 0) {
            let item = match self.random.below(4) {
                0 if depth < 2 => Does::Calls(self.plan(thread, numbers, depth + 1)),
                1 => Does::Waits,
                _ => Does::Locks,
            };
            self.plans[place].items.push(item);
        }
        place
    }

    fn step(&mut self, thread: u32, item: Option<(u32, u32)>, does: Does) -> Step {
        let (op, child) = match does {
            Does::Creates(child) => (Op::pthread_create, Some(child)),
            Does::Joins(child) => (Op::pthread_join, Some(child)),
            Does::Returns => (Op::leave, None),
            _ => (Op::pthread_mutex_lock, None),
        };
        let mut event = Event::new(ThreadId(thread), op);
        event.result = Some(0);
        event.child = child.map(ThreadId);
        event.object = matches!(does, Does::Locks).then(|| ObjectId(self.random.below(2) as u32));
        Step { item, event }
    }

    fn flatten(&mut self, place: usize, steps: &mut Vec<Step>) {
        let (thread, number) = (self.plans[place].thread, self.plans[place].number);
        for (item, does) in (0..).zip(self.plans[place].items.clone()) {
            if self.random.chance(10) {
                // In code that is not specialized.
                let step = self.step(thread, None, Does::Locks);
                steps.push(step);
            }
            match does {
                Does::Calls(callee) => self.flatten(callee, steps),
                Does::Waits => {
                    for phase in [Phase::Begin, Phase::End] {
                        let mut event = Event::new(ThreadId(thread), Op::pthread_cond_wait);
                        (event.object, event.mutex) = (Some(ObjectId(2)), Some(ObjectId(0)));
                        event.phase = phase;
                        event.result = (phase == Phase::End).then_some(0);
                        steps.push(Step { item: Some((number, item)), event });
                    }
                }
                _ => {
                    let step = self.step(thread, Some((number, item)), does);
                    steps.push(step);
                }
            }
        }
    }

    /// All threads' steps in one order: a thread begins when it was made, and is joined when it has ended.
    fn interleave(&mut self, orders: Vec<Vec<Step>>) {
        let mut next = vec![0; orders.len()];
        let mut is_made = vec![false; orders.len()];
        is_made[0] = true;
        loop {
            let ready = |thread: &usize| {
                let Some(step) = orders[*thread].get(next[*thread]) else { return false };
                let child = step.event.child.map(|child| child.0 as usize);
                is_made[*thread]
                    && (step.event.op != Op::pthread_join
                        || child.is_some_and(|child| next[child] == orders[child].len()))
            };
            let ready: Vec<usize> = (0..orders.len()).filter(ready).collect();
            if ready.is_empty() {
                return;
            }
            let thread = *self.random.pick(&ready);
            let step = orders[thread][next[thread]].clone();
            if step.event.op == Op::pthread_create {
                is_made[step.event.child.unwrap().0 as usize] = true;
            }
            next[thread] += 1;
            self.draft.steps.push(step);
        }
    }

    fn frame_name(&self, place: usize) -> String {
        let Plan { thread, number, .. } = self.plans[place];
        let name = if thread == 0 && number == 0 { "main" } else { "f" };
        format!("{name}.t{thread}.{number}")
    }

    fn frame(&mut self, place: usize) {
        let mut writer = Writer::new(0, Some(place));
        let Plan { thread, number, is_uncertain, .. } = self.plans[place];
        if number == 0 {
            self.plain(&mut writer, 1);
            writer.blocks[0].lines.push(Line { name: None, item: None, what: What::Enter });
        }
        let items = self.plans[place].items.clone();
        for (item, does) in (0..).zip(&items) {
            self.region(&mut writer);
            if item == 0 && is_uncertain {
                let back = writer.block();
                writer.blocks[back].end = End::Return;
                writer.go_on(|next| End::Branch(next, back));
            }
            self.item(&mut writer, item, *does);
        }
        self.region(&mut writer);
        let end = if self.random.chance(10) { End::Resume } else { End::Return };
        writer.end(if number == 0 { End::Return } else { end });
        let name = self.frame_name(place);
        self.draft.bodies.push(Body { name, frame: Some((thread, number)), blocks: writer.blocks });
    }

    fn item(&mut self, writer: &mut Writer, item: u32, does: Does) {
        let what = match does {
            Does::Creates(child) => What::Create(format!("f.t{child}.0")),
            Does::Calls(callee) => What::Call(self.frame_name(callee)),
            _ => What::Lock,
        };
        let name = self.name();
        let line = Line { name: Some(name), item: Some(item), what };
        let is_uncertain = matches!(does, Does::Calls(callee) if self.plans[callee].is_uncertain);
        let is_lock = line.what == What::Lock;
        match self.random.below(4) {
            _ if is_uncertain => self.uncertain_item(writer, line),
            0 if is_lock => {
                // In two places.
                let (a, b, after) = (writer.block(), writer.block(), writer.block());
                writer.end(End::Branch(a, b));
                for (block, name) in [(a, line.name.clone()), (b, Some(self.name()))] {
                    writer.open = block;
                    self.plain(writer, 2);
                    writer.blocks[block].lines.push(Line { name, ..line.clone() });
                    self.plain(writer, 2);
                    writer.end(End::Jump(after));
                }
                writer.open = after;
            }
            1 if !is_lock => {
                let (ok, bad) = (writer.block(), writer.block());
                writer.end(End::Invoke(line, ok, bad));
                writer.open = bad;
                self.plain(writer, 2);
                writer.end(End::Jump(ok));
                writer.open = ok;
            }
            _ => writer.blocks[writer.open].lines.push(line),
        }
    }

    /// A call that may come back without having done its item: again in a loop, or elsewhere.
    fn uncertain_item(&mut self, writer: &mut Writer, line: Line) {
        let (first, not_done, done) = (writer.block(), writer.block(), writer.block());
        writer.end(End::Jump(first));
        writer.open = first;
        self.plain(writer, 2);
        writer.blocks[first].lines.push(line.clone());
        writer.end(End::Flag(done, not_done));
        writer.open = not_done;
        self.region(writer);
        match self.random.below(3) {
            0 => {
                let trap = writer.block();
                writer.blocks[trap].end = End::Trap;
                let name = Some(self.name());
                writer.blocks[writer.open].lines.push(Line { name, ..line });
                writer.end(End::Flag(done, trap));
            }
            1 => writer.end(End::Trap),
            _ => writer.end(End::Jump(first)),
        }
        writer.open = done;
    }

    /// Stores and calls.
    fn plain(&mut self, writer: &mut Writer, most: usize) {
        for _ in 0..self.random.below(most + 1) {
            let what = match self.random.below(8) {
                0 => What::Call("ext".to_owned()),
                1 if writer.depth < 2 => What::Call(self.private(writer.depth + 1)),
                _ => What::Store,
            };
            let name = Some(self.name());
            writer.blocks[writer.open].lines.push(Line { name, item: None, what });
        }
    }

    /// Some blocks in any shape; control comes out at the open one.
    fn region(&mut self, writer: &mut Writer) {
        self.plain(writer, 2);
        if self.random.chance(40) {
            return;
        }
        let first = writer.blocks.len();
        let count = 2 + self.random.below(3);
        (0..count).for_each(|_| {
            writer.block();
        });
        writer.end(End::Jump(first));
        for block in first..first + count {
            writer.open = block;
            self.plain(writer, 2);
            let last = first + count - 1;
            if block == last {
                return;
            }
            let any = first + self.random.below(count);
            let end = match self.random.below(10) {
                0 | 1 => End::Jump(block + 1),
                2 => {
                    let trap = writer.block();
                    writer.blocks[trap].end = if self.random.chance(70) { End::Trap } else { End::Stop };
                    End::Branch(block + 1, trap)
                }
                3 | 4 if any != block + 1 => {
                    let is_private = writer.depth < 2 && self.random.chance(70);
                    let callee = if is_private { self.private(writer.depth + 1) } else { "ext".to_owned() };
                    let name = Some(self.name());
                    End::Invoke(Line { name, item: None, what: What::Call(callee) }, block + 1, any)
                }
                5 if writer.frame.is_none() => {
                    let back = writer.block();
                    writer.blocks[back].end = if self.random.chance(70) { End::Return } else { End::Resume };
                    End::Branch(block + 1, back)
                }
                6 => End::Switch(any, vec![(1, block + 1), (2, first + self.random.below(count))]),
                _ => End::Branch(block + 1, any),
            };
            writer.open = block;
            writer.end(end);
        }
    }

    /// A function that is called once.
    fn private(&mut self, depth: usize) -> String {
        let mut writer = Writer::new(depth, None);
        self.region(&mut writer);
        if self.random.chance(30) {
            self.region(&mut writer);
        }
        writer.end(End::Return);
        let name = format!("p{}", self.name());
        self.draft.bodies.push(Body { name: name.clone(), frame: None, blocks: writer.blocks });
        name
    }
}
