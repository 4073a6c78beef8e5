//! A function's points, chains and accesses, from its blocks.
//!
//! Of a function with slots the slots say which lines are active. Of one without, as all are before optimization, the
//! lines of its instructions do, by the rule that the pass has for slots: instructions without a line have that of
//! the one before them in their block, else of the first one after them, else that of all blocks before if they agree.
//!
//! Every block begins with a [`PointKind::Join`]; those that tell nothing are taken out at the end.

use crate::analysis::threads::start_argument_of;
use crate::ir::tell::{AccessFacts, Block, End, InlinedAt, Item, ItemKind, Place, Release};
use covsched_core::hash::Hasher;
use covsched_core::hooks::{CXX_HOOKS, HOOKS};
use covsched_core::loom::loops;
use covsched_core::loom::table::{Access, Chain, Line, Point, PointKind, Start, Target, Text, NONE};
use std::collections::HashMap;

/// The unit's strings and chains, each once.
pub struct Texts {
    /// The strings.
    pub strings: Vec<String>,
    /// The chains; the first is empty.
    pub chains: Vec<Chain>,
    known: HashMap<String, Text>,
    chain_numbers: HashMap<Chain, u32>,
}

impl Default for Texts {
    fn default() -> Self {
        let empty = Chain::new();
        Texts {
            strings: Vec::new(),
            chains: vec![empty.clone()],
            known: HashMap::new(),
            chain_numbers: HashMap::from([(empty, 0)]),
        }
    }
}

impl Texts {
    /// The number of a string.
    pub fn text(&mut self, text: &str) -> Text {
        if let Some(&number) = self.known.get(text) {
            return number;
        }
        let number = self.strings.len() as Text;
        self.strings.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }

    /// The number of a string, [`NONE`] if it is empty.
    fn optional(&mut self, text: &str) -> Text {
        if text.is_empty() {
            NONE
        } else {
            self.text(text)
        }
    }

    fn chain(&mut self, chain: Chain) -> u32 {
        if let Some(&number) = self.chain_numbers.get(&chain) {
            return number;
        }
        let number = self.chains.len() as u32;
        self.chains.push(chain.clone());
        self.chain_numbers.insert(chain, number);
        number
    }
}

/// The hash of a type's text.
pub fn shape_hash(shape: &str) -> u64 {
    Hasher::default().field(shape).finish()
}

/// What a call of a hook was before; other names stay.
pub fn original_name(linkage_name: &str) -> &str {
    let mut hooks = HOOKS.iter().chain(CXX_HOOKS);
    match linkage_name.starts_with("covsched_") {
        true => hooks.find(|hook| hook.symbol == linkage_name).map_or(linkage_name, |hook| hook.replaces),
        false => linkage_name,
    }
}

/// Where the lines come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lines {
    /// From slots.
    Slots,
    /// From instructions; slots are where the pass would put them, without numbers.
    AsSlots,
    /// From instructions; there are no slots.
    WithoutSlots,
}

/// The lines of one function, and which copy of which inlined function they are of.
pub struct Places<'m> {
    name: Text,
    copies: HashMap<(Text, InlinedAt<'m>), u32>,
    counts: HashMap<Text, u32>,
    numbers: HashMap<Place<'m>, u32>,
}

impl<'m> Places<'m> {
    /// Of the function with this linkage name.
    pub fn new(name: Text) -> Self {
        Places { name, copies: HashMap::new(), counts: HashMap::new(), numbers: HashMap::new() }
    }

    /// The number of the copy, and the function's linkage name: its own name where it is itself.
    pub fn copy(
        &mut self,
        texts: &mut Texts,
        function: &str,
        inlined_at: Option<InlinedAt<'m>>,
    ) -> (Text, u32) {
        let Some(at) = inlined_at else { return (self.name, 0) };
        let function = texts.text(function);
        let count = self.counts.entry(function).or_default();
        let copy = *self.copies.entry((function, at)).or_insert_with(|| {
            *count += 1;
            *count
        });
        (function, copy)
    }

    /// The number of the chain of lines that is active at a place.
    pub fn chain(&mut self, texts: &mut Texts, place: Option<Place<'m>>) -> u32 {
        let Some(place) = place else { return 0 };
        if let Some(&number) = self.numbers.get(&place) {
            return number;
        }
        let lines = place.chain();
        let chain = lines
            .iter()
            .map(|line| {
                let (function, copy) = self.copy(texts, &line.function, line.inlined_at);
                Line { function, file: texts.text(&line.file), line: line.line, copy }
            })
            .collect();
        let number = texts.chain(chain);
        self.numbers.insert(place, number);
        number
    }
}

/// What there is to say of a function's code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// Its points.
    pub points: Vec<Point>,
    /// Its accesses, in the order of blocks.
    pub accesses: Vec<Access>,
}

/// Makes the graph. `cells`: the location of each call cell.
pub fn build<'m>(
    texts: &mut Texts,
    places: &mut Places<'m>,
    blocks: &[Block<'m>],
    lines: Lines,
    cells: &[u32],
) -> Graph {
    let next: Vec<Vec<usize>> = blocks.iter().map(|block| block.next.clone()).collect();
    let depths = loops::depths(&next);
    let (starts, ends) = block_chains(texts, places, blocks, lines);
    let mut drafts = Drafts {
        texts,
        places,
        cells,
        lines,
        points: Vec::new(),
        accesses: Vec::new(),
        unwinding: Vec::new(),
    };
    let mut firsts = Vec::with_capacity(blocks.len());
    let mut lasts = Vec::with_capacity(blocks.len());
    for (number, block) in blocks.iter().enumerate() {
        firsts.push(drafts.points.len() as u32);
        let kind = if number == 0 { PointKind::Entry { location: NONE } } else { PointKind::Join };
        let chain = if number == 0 { 0 } else { starts[number] };
        drafts.points.push(Point { kind, chain, next: vec![] });
        if number == 0 {
            drafts.set_line(starts[0]);
        }
        block.items.iter().for_each(|item| drafts.add(item, depths[number]));
        drafts.end(block.end);
        // What follows a call is one point, so that its second successor is where it unwinds to.
        if block.end == End::GoesOn && drafts.ends_in_call() {
            drafts.push(PointKind::Join, drafts.chain());
        }
        lasts.push(drafts.points.len() - 1);
    }
    for (number, block) in blocks.iter().enumerate() {
        for &to in &block.next {
            let mut first = firsts[to];
            let (from, chain) = (ends[number], starts[to]);
            if lines == Lines::AsSlots && from != chain {
                let kind = PointKind::Slot { slot: NONE, from, available: vec![] };
                drafts.points.push(Point { kind, chain, next: vec![first] });
                first = drafts.points.len() as u32 - 1;
            }
            drafts.points[lasts[number]].next.push(first);
        }
    }
    drafts.let_exceptions_out();
    let Drafts { mut points, mut accesses, .. } = drafts;
    if lines == Lines::Slots {
        spread_chains(&mut points);
    }
    drop_joins(&mut points, &mut accesses);
    for access in &mut accesses {
        // Where the line is not known, the function's own name is still there.
        if let Some(line) = texts.chains[points[access.point as usize].chain as usize].first() {
            (access.function, access.copy) = (line.function, line.copy);
            (access.file, access.line) = (line.file, line.line);
        }
    }
    Graph { points, accesses }
}

/// The chains at each block's start and end; all empty where slots tell them.
fn block_chains<'m>(
    texts: &mut Texts,
    places: &mut Places<'m>,
    blocks: &[Block<'m>],
    lines: Lines,
) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![None; blocks.len()];
    let mut ends = vec![None; blocks.len()];
    if lines != Lines::Slots {
        for (number, block) in blocks.iter().enumerate() {
            let mut own = block.items.iter().filter(|item| item.kind == ItemKind::Line);
            let first = own.next();
            starts[number] = first.map(|item| places.chain(texts, item.place));
            ends[number] = own.next_back().or(first).map(|item| places.chain(texts, item.place));
        }
        let mut before = vec![Vec::new(); blocks.len()];
        for (number, block) in blocks.iter().enumerate() {
            block.next.iter().for_each(|&to| before[to].push(number));
        }
        // Each round carries lines over at least one more block without any.
        loop {
            let mut changed = false;
            for number in 0..blocks.len() {
                if ends[number].is_some() {
                    continue;
                }
                let mut known = before[number].iter().filter_map(|&from| ends[from]);
                if let Some(first) = known.next() {
                    let agreed = if known.all(|other| other == first) { first } else { 0 };
                    (starts[number], ends[number]) = (Some(agreed), Some(agreed));
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
    }
    let plain = |chains: Vec<Option<u32>>| chains.into_iter().map(Option::unwrap_or_default).collect();
    (plain(starts), plain(ends))
}

/// Points in the making: those of a block follow each other.
struct Drafts<'a, 'm> {
    texts: &'a mut Texts,
    places: &'a mut Places<'m>,
    cells: &'a [u32],
    lines: Lines,
    points: Vec<Point>,
    accesses: Vec<Access>,
    /// Calls by which exceptions leave the function.
    unwinding: Vec<usize>,
}

impl<'m> Drafts<'_, 'm> {
    fn chain(&self) -> u32 {
        self.points[self.points.len() - 1].chain
    }

    fn ends_in_call(&self) -> bool {
        matches!(self.points[self.points.len() - 1].kind, PointKind::Call { .. })
    }

    /// Adds a point after the last one.
    fn push(&mut self, kind: PointKind, chain: u32) {
        let number = self.points.len() as u32;
        self.points[number as usize - 1].next.push(number);
        self.points.push(Point { kind, chain, next: vec![] });
    }

    /// What follows is at another chain.
    fn set_line(&mut self, chain: u32) {
        let from = self.chain();
        match self.lines {
            Lines::AsSlots if from != chain => {
                self.push(PointKind::Slot { slot: NONE, from, available: vec![] }, chain);
            }
            Lines::WithoutSlots if from != chain => self.push(PointKind::Join, chain),
            _ => {}
        }
    }

    fn add(&mut self, item: &Item<'m>, depth: u32) {
        match &item.kind {
            ItemKind::Line => {
                let chain = self.places.chain(self.texts, item.place);
                self.set_line(chain);
            }
            ItemKind::Slot { slot, from, available } => {
                let from = self.places.chain(self.texts, *from);
                let chain = self.places.chain(self.texts, item.place);
                let mut available = available.clone();
                available.sort_unstable();
                self.push(PointKind::Slot { slot: *slot, from, available }, chain);
            }
            &ItemKind::Check { location } => match (&mut self.points[0].kind, depth) {
                // Nothing but the entry has a check that is not in a cycle.
                (PointKind::Entry { location: at }, 0) => *at = location,
                _ => self.push(PointKind::Check { location }, self.chain()),
            },
            &ItemKind::Landing { location } => self.push(PointKind::Landing { location }, self.chain()),
            &ItemKind::Call { release, may_unwind, is_asm, returns_twice, is_last } => {
                let Some(facts) = &item.access else { return };
                let name = original_name(&facts.callee);
                if name.starts_with("covsched_") && release == Release::Not {
                    return;
                }
                let target = self.target(item, name, is_asm);
                let starts = self.starts(item, name);
                let location = match release {
                    Release::Not => NONE,
                    Release::At(location) => location,
                    Release::Cell(cell) => self.cells.get(cell as usize).copied().unwrap_or(NONE),
                };
                // A thread runs while something is called that comes back twice, and may pause when it has come back.
                let (location, lands) = if returns_twice { (NONE, location) } else { (location, NONE) };
                self.push(PointKind::Call { target, location, starts, is_last }, self.chain());
                if may_unwind {
                    self.unwinding.push(self.points.len() - 1);
                }
                if !is_asm {
                    self.access(facts, name, depth);
                }
                if returns_twice {
                    self.push(PointKind::Landing { location: lands }, self.chain());
                }
            }
            ItemKind::Access => {
                if let Some(facts) = &item.access {
                    self.access(facts, "", depth);
                }
            }
        }
    }

    fn access(&mut self, facts: &AccessFacts, callee: &str, depth: u32) {
        let place = match callee {
            "" => facts.address,
            name => shape_hash(name),
        };
        self.accesses.push(Access {
            point: self.points.len() as u32 - 1,
            function: self.places.name,
            copy: 0,
            file: self.texts.text(""),
            line: 0,
            kind: facts.kind,
            depth,
            bytes: facts.bytes,
            callee: self.texts.optional(callee),
            object: self.texts.optional(&facts.object),
            place: (place ^ (place >> 32)) as u32,
            local: facts.local,
            vector: facts.vector,
            ends: facts.ends,
        });
    }

    fn target(&mut self, item: &Item<'m>, name: &str, is_asm: bool) -> Target {
        if is_asm {
            return Target::Asm;
        }
        if !name.is_empty() {
            return Target::Named(self.texts.text(name));
        }
        let shapes: Vec<u64> = item.inst.shapes().iter().map(|shape| shape_hash(shape)).collect();
        match shapes[..] {
            [shape] => Target::Shape(shape),
            _ => Target::Shapes(shapes),
        }
    }

    fn starts(&mut self, item: &Item<'m>, name: &str) -> Vec<Start> {
        let Some(argument) = start_argument_of(name) else { return vec![] };
        let Some((argument, shape)) = argument else { return vec![Start::StdThread] };
        let (names, are_all) = item.inst.all_functions_behind(argument);
        let mut starts: Vec<Start> = names.iter().map(|name| Start::Named(self.texts.text(name))).collect();
        if !are_all {
            starts.push(Start::Shape(shape_hash(shape)));
        }
        starts
    }

    fn end(&mut self, end: End) {
        let kind = match end {
            End::GoesOn | End::Invokes => return,
            End::Returns => PointKind::Return,
            End::Unwinds => PointKind::Unwind,
            End::Stops => PointKind::Stop,
        };
        if kind != PointKind::Stop {
            self.set_line(0);
        }
        self.push(kind, self.chain());
    }

    /// Calls that may throw and have no landing pad lead out of the function.
    fn let_exceptions_out(&mut self) {
        if self.unwinding.is_empty() {
            return;
        }
        let out = self.points.len() as u32;
        self.points.push(Point { kind: PointKind::Unwind, chain: 0, next: vec![] });
        for call in std::mem::take(&mut self.unwinding) {
            self.points[call].next.push(out);
        }
    }
}

/// Gives each point the chain of the last slot before it.
fn spread_chains(points: &mut [Point]) {
    let mut open = vec![0];
    let mut seen = vec![false; points.len()];
    seen[0] = true;
    while let Some(number) = open.pop() {
        let chain = points[number].chain;
        for next in points[number].next.clone() {
            let next = next as usize;
            if !std::mem::replace(&mut seen[next], true) {
                if !matches!(points[next].kind, PointKind::Slot { .. }) {
                    points[next].chain = chain;
                }
                open.push(next);
            }
        }
    }
}

/// Of a cycle of nothing but what is to be taken out, one point stays: that to which a depth-first search comes back.
fn keep_one_of_each_cycle(points: &[Point], is_out: &mut [bool]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        OnTheWay,
        Done,
    }
    let mut seen = vec![Seen::Not; points.len()];
    for start in 0..points.len() {
        if !is_out[start] || seen[start] != Seen::Not {
            continue;
        }
        seen[start] = Seen::OnTheWay;
        // Points, and which of their successors comes next.
        let mut way = vec![(start, 0)];
        while let Some((at, step)) = way.last_mut() {
            let Some(&next) = points[*at].next.get(*step) else {
                seen[*at] = Seen::Done;
                way.pop();
                continue;
            };
            *step += 1;
            let next = next as usize;
            match seen[next] {
                _ if !is_out[next] => {}
                Seen::Not => {
                    seen[next] = Seen::OnTheWay;
                    way.push((next, 0));
                }
                Seen::OnTheWay => is_out[next] = false,
                Seen::Done => {}
            }
        }
    }
}

/// Takes out joins that tell nothing: nothing is accessed after them, and they lead on to one point, or come from one that
/// is no call, whose successors have their places.
fn drop_joins(points: &mut Vec<Point>, accesses: &mut [Access]) {
    let mut before = vec![0u32; points.len()];
    points.iter().flat_map(|point| &point.next).for_each(|&next| before[next as usize] += 1);
    let mut is_used = vec![false; points.len()];
    let mut follows_call = vec![false; points.len()];
    for point in points.iter().filter(|point| matches!(point.kind, PointKind::Call { .. })) {
        point.next.iter().for_each(|&next| follows_call[next as usize] = true);
    }
    accesses.iter().for_each(|access| is_used[access.point as usize] = true);
    let mut is_out: Vec<bool> = (0..points.len())
        .map(|number| {
            let point = &points[number];
            let leads_to_itself = point.next.contains(&(number as u32));
            point.kind == PointKind::Join
                && !is_used[number]
                && !leads_to_itself
                && !point.next.is_empty()
                && (point.next.len() == 1 || (before[number] == 1 && !follows_call[number]))
        })
        .collect();
    keep_one_of_each_cycle(points, &mut is_out);
    let mut numbers = vec![NONE; points.len()];
    let mut count = 0;
    for number in 0..points.len() {
        if !is_out[number] {
            numbers[number] = count;
            count += 1;
        }
    }
    let resolved = |number: u32| -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![number];
        while let Some(at) = open.pop() {
            match is_out[at as usize] {
                true => open.extend(points[at as usize].next.iter().rev()),
                false => found.push(numbers[at as usize]),
            }
        }
        found
    };
    let mut kept = Vec::with_capacity(count as usize);
    for (_, point) in points.iter().enumerate().filter(|&(number, _)| !is_out[number]) {
        let mut next: Vec<u32> = Vec::with_capacity(point.next.len());
        for to in point.next.iter().flat_map(|&next| resolved(next)) {
            // A switch may lead to one block several times.
            if !next.contains(&to) {
                next.push(to);
            }
        }
        kept.push(Point { kind: point.kind.clone(), chain: point.chain, next });
    }
    for access in accesses {
        access.point = numbers[access.point as usize];
    }
    *points = kept;
}
