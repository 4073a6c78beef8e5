//! Functions that call each other, with all that finding their markers asks again and again: the points of each and how
//! control goes between them, which is built once; and which of these ways are open, which changes with each marker.
//!
//! A call through a pointer may come to hundreds of functions, and hundreds of calls may come to the same ones. All
//! targets of such calls are one [`Group`], so that `n` calls of `n` functions are `2n` edges and not `n * n`, and what
//! is known of the targets is kept for the group. A round over all functions takes time linear in their size.

use super::effects::Effects;
use super::graph::components;
use super::place::Placing;
use super::program::{Action, BlockId, FunctionId, Leave};
use super::ways::{Ends, Spot};
use covsched_core::hooks::Effect;
use std::collections::HashMap;

/// What calls of one kind may come to.
pub struct Group {
    /// Its functions of the knot, by their place there, ascending.
    pub inside: Vec<usize>,
    outside: Vec<FunctionId>,
    /// All that its functions may do.
    effects: Effects,
    /// The functions of the knot that call it.
    callers: Vec<usize>,
}

/// A call from one of the functions to others of them.
pub struct InnerCall {
    /// Who calls.
    pub caller: usize,
    /// What is called.
    pub group: usize,
    /// The point before it.
    pub point: usize,
    /// Where it lands if it throws: the point and its spot.
    pub landing: Option<(usize, Spot)>,
    /// Where a marker after it goes; the block after an invoke.
    pub after: Spot,
}

/// What is between two points.
#[derive(Clone, Copy)]
enum Passes {
    /// Nothing that matters.
    Nothing,
    /// A step that comes back in any case, as far as is known.
    Step(Effects),
    /// What ends an epoch.
    Marker,
    /// The same, if the user wants it.
    Barrier(Effects),
    /// A call that comes back if one of the group does; in any case, if `may_skip`.
    Call { group: usize, unknown: Effects, may_skip: bool },
}

struct Move {
    from: usize,
    to: usize,
    passes: Passes,
}

/// A function's points, before each step and at each block's end.
struct Shape {
    /// By block, its first point.
    starts: Vec<usize>,
    /// In the order of where they start.
    moves: Vec<Move>,
    /// By point, its first move; and one more.
    first: Vec<usize>,
    /// By point, the moves that lead there.
    into: Vec<Vec<usize>>,
    /// The points at which the function returns.
    returns: Vec<usize>,
    /// By point: a marker is to be placed there.
    marked: Vec<bool>,
}

/// What happens on the ways from each point of a function.
pub struct Ahead {
    /// All that may happen from there on.
    pub all: Vec<Effects>,
    /// What may happen on the ways to a return; `None` if there is none.
    pub to_return: Vec<Option<Effects>>,
}

/// The functions.
pub struct Knot {
    /// Ascending.
    pub functions: Vec<FunctionId>,
    /// What they call.
    pub groups: Vec<Group>,
    /// Calls among them.
    pub calls: Vec<InnerCall>,
    /// By function, the groups that it is in.
    pub member_of: Vec<Vec<usize>>,
    shapes: Vec<Shape>,
    /// By group: one of its functions returns without passing what ends an epoch, as far as that was found out last.
    passable: Vec<bool>,
    /// By group: what they do on the way.
    through: Vec<Effects>,
}

/// Finds the group of a call.
struct Groups<'k> {
    functions: &'k [FunctionId],
    found: Vec<Group>,
    single: HashMap<FunctionId, usize>,
    /// By where the list of targets is, which calls of one kind share.
    several: HashMap<usize, usize>,
}

impl Groups<'_> {
    fn of(&mut self, placing: &Placing<'_, '_>, caller: usize, targets: &std::rc::Rc<[FunctionId]>) -> usize {
        let next = self.found.len();
        let number = match targets[..] {
            [one] => *self.single.entry(one).or_insert(next),
            _ => *self.several.entry(targets.as_ptr() as usize).or_insert(next),
        };
        if number == next {
            let mut group = Group {
                inside: Vec::new(),
                outside: Vec::new(),
                effects: Effects::NONE,
                callers: Vec::new(),
            };
            for &id in targets.iter() {
                group.effects |= placing.effects[id.0 as usize];
                match self.functions.binary_search(&id) {
                    Ok(at) => group.inside.push(at),
                    Err(_) => group.outside.push(id),
                }
            }
            group.inside.sort_unstable();
            group.inside.dedup();
            self.found.push(group);
        }
        let callers = &mut self.found[number].callers;
        if callers.last() != Some(&caller) {
            callers.push(caller);
        }
        number
    }
}

impl Knot {
    /// Of functions in ascending order, of which those outside that they call are done.
    pub fn of(placing: &Placing<'_, '_>, functions: &[FunctionId]) -> Knot {
        let mut groups =
            Groups { functions, found: Vec::new(), single: HashMap::new(), several: HashMap::new() };
        let (mut shapes, mut calls) = (Vec::new(), Vec::new());
        for caller in 0..functions.len() {
            shapes.push(Shape::of(placing, caller, &mut groups, &mut calls));
        }
        let groups = groups.found;
        calls.retain(|call: &InnerCall| !groups[call.group].inside.is_empty());
        let mut member_of = vec![Vec::new(); functions.len()];
        for (number, group) in groups.iter().enumerate() {
            group.inside.iter().for_each(|&member| member_of[member].push(number));
        }
        Knot {
            functions: functions.to_vec(),
            passable: vec![true; groups.len()],
            through: groups.iter().map(|group| group.effects).collect(),
            groups,
            calls,
            member_of,
            shapes,
        }
    }

    /// A new marker.
    pub fn mark(&mut self, function: usize, (block, step): Spot) {
        let shape = &mut self.shapes[function];
        let point = shape.starts[block.0 as usize] + step;
        shape.marked[point] = true;
    }

    /// Whether a marker is to be placed at a point.
    pub fn is_marked(&self, function: usize, point: usize) -> bool {
        self.shapes[function].marked[point]
    }

    /// The point of a spot.
    pub fn point(&self, function: usize, (block, step): Spot) -> usize {
        self.shapes[function].starts[block.0 as usize] + step
    }

    /// What happens on a move; `None` if it is not open.
    fn effects_of(&self, function: usize, step: &Move, ends: Ends) -> Option<Effects> {
        if ends.markers && self.shapes[function].marked[step.from] {
            return None;
        }
        match step.passes {
            Passes::Nothing => Some(Effects::NONE),
            Passes::Step(effects) => Some(effects),
            Passes::Marker => (!ends.markers).then_some(Effects::NONE),
            Passes::Barrier(effects) => (!ends.barriers).then_some(effects),
            Passes::Call { group, unknown, may_skip } => {
                (may_skip || self.passable[group]).then(|| unknown | self.through[group])
            }
        }
    }

    fn open_moves<'k>(
        &'k self,
        function: usize,
        point: usize,
        ends: Ends,
    ) -> impl Iterator<Item = (usize, Effects)> + 'k {
        let shape = &self.shapes[function];
        let moves = &shape.moves[shape.first[point]..shape.first[point + 1]];
        moves.iter().filter_map(move |step| Some((step.to, self.effects_of(function, step, ends)?)))
    }

    /// The points that are reached from a function's entry.
    pub fn from_entry(&self, function: usize, ends: Ends) -> Vec<bool> {
        let mut seen = vec![false; self.shapes[function].marked.len()];
        let mut work = Vec::new();
        if let Some(entry) = seen.first_mut() {
            *entry = true;
            work.push(0);
        }
        while let Some(point) = work.pop() {
            for (to, _) in self.open_moves(function, point, ends) {
                if !std::mem::replace(&mut seen[to], true) {
                    work.push(to);
                }
            }
        }
        seen
    }

    /// What happens on the ways from the entry, from which `reached` is reached, to some points.
    pub fn on_the_way_to(&self, function: usize, reached: &[bool], targets: &[usize], ends: Ends) -> Effects {
        let shape = &self.shapes[function];
        let mut leads = vec![false; shape.marked.len()];
        let mut work: Vec<usize> = targets.iter().copied().filter(|&target| reached[target]).collect();
        let mut all = Effects::NONE;
        while let Some(point) = work.pop() {
            if std::mem::replace(&mut leads[point], true) {
                continue;
            }
            for step in shape.into[point].iter().map(|&number| &shape.moves[number]) {
                if let Some(effects) = self.effects_of(function, step, ends).filter(|_| reached[step.from]) {
                    all |= effects;
                    work.push(step.from);
                }
            }
        }
        all
    }

    /// What may happen from each point of a function on.
    pub fn ahead(&self, function: usize, ends: Ends) -> Ahead {
        let shape = &self.shapes[function];
        let count = shape.marked.len();
        let mut ahead = Ahead { all: vec![Effects::NONE; count], to_return: vec![None; count] };
        let next = |point: usize| self.open_moves(function, point, ends).map(|(to, _)| to).collect();
        let mut is_return = vec![false; count];
        shape.returns.iter().for_each(|&point| is_return[point] = !(ends.markers && shape.marked[point]));
        // Each after what it leads to.
        for component in components(count, next) {
            let inside = |point: usize| component.nodes.binary_search(&point).is_ok();
            let (mut all, mut home, mut within) = (Effects::NONE, None, Effects::NONE);
            for &point in &component.nodes {
                if is_return[point] {
                    home.get_or_insert(Effects::NONE);
                }
                for (to, effects) in self.open_moves(function, point, ends) {
                    if inside(to) {
                        within |= effects;
                        continue;
                    }
                    all |= effects | ahead.all[to];
                    if let Some(further) = ahead.to_return[to] {
                        *home.get_or_insert(Effects::NONE) |= effects | further;
                    }
                }
            }
            for &point in &component.nodes {
                ahead.all[point] = all | within;
                ahead.to_return[point] = home.map(|home| home | within);
            }
        }
        ahead
    }

    /// Finds out which of the functions have a way from entry to return, and what they do on it. By induction on the
    /// length of a run the least solution is right: a recursion that never ends does not return.
    pub fn summarize(&mut self, placing: &mut Placing<'_, '_>, ends: Ends) {
        for (number, group) in self.groups.iter().enumerate() {
            self.passable[number] = group.outside.iter().any(|&id| placing.ways.is_passable(id, ends));
        }
        let mut returns = vec![false; self.functions.len()];
        self.until_nothing_changes(|knot, function| {
            if returns[function] {
                return Vec::new();
            }
            let reached = knot.from_entry(function, ends);
            let shape = &knot.shapes[function];
            let is_end = |&&point: &&usize| reached[point] && !(ends.markers && shape.marked[point]);
            returns[function] = shape.returns.iter().find(is_end).is_some();
            let now = returns[function];
            let knot_groups = knot.member_of[function].iter().copied();
            knot_groups.filter(|&group| now && !std::mem::replace(&mut knot.passable[group], true)).collect()
        });
        for (&id, &returns) in self.functions.iter().zip(&returns) {
            placing.ways.set_passable(id, ends, returns);
        }
        if ends != placing.ends() {
            return;
        }
        for (number, group) in self.groups.iter().enumerate() {
            let outside = group.outside.iter().map(|id| placing.through[id.0 as usize]);
            self.through[number] = outside.fold(Effects::NONE, |all, effects| all | effects);
        }
        let mut through = vec![Effects::NONE; self.functions.len()];
        self.until_nothing_changes(|knot, function| {
            let reached = knot.from_entry(function, ends);
            let shape = &knot.shapes[function];
            let returns: Vec<usize> = shape
                .returns
                .iter()
                .copied()
                .filter(|&point| !(ends.markers && shape.marked[point]))
                .collect();
            through[function] = knot.on_the_way_to(function, &reached, &returns, ends);
            let now = through[function];
            let mut grown = Vec::new();
            for &group in &knot.member_of[function] {
                if knot.through[group] | now != knot.through[group] {
                    knot.through[group] |= now;
                    grown.push(group);
                }
            }
            grown
        });
        for (&id, &effects) in self.functions.iter().zip(&through) {
            placing.through[id.0 as usize] = effects;
        }
    }

    /// Looks at each function, and again at those that call a group of which more is known.
    fn until_nothing_changes(&mut self, mut look: impl FnMut(&mut Knot, usize) -> Vec<usize>) {
        let mut waits = vec![true; self.functions.len()];
        let mut work: Vec<usize> = (0..self.functions.len()).rev().collect();
        while let Some(function) = work.pop() {
            waits[function] = false;
            for group in look(self, function) {
                for &caller in &self.groups[group].callers {
                    if !std::mem::replace(&mut waits[caller], true) {
                        work.push(caller);
                    }
                }
            }
        }
    }
}

impl Shape {
    fn of(
        placing: &Placing<'_, '_>,
        caller: usize,
        groups: &mut Groups<'_>,
        calls: &mut Vec<InnerCall>,
    ) -> Shape {
        let function = groups.functions[caller];
        let flow = placing.ways.flow(function);
        let mut starts = Vec::with_capacity(flow.blocks.len());
        let mut count = 0;
        for block in &flow.blocks {
            starts.push(count);
            count += block.steps.len() + 1;
        }
        let mut shape = Shape {
            moves: Vec::with_capacity(count),
            first: Vec::with_capacity(count + 1),
            into: vec![Vec::new(); count],
            returns: Vec::new(),
            marked: vec![false; count],
            starts,
        };
        for (block, number) in flow.blocks.iter().zip(0..) {
            let start = shape.starts[number as usize];
            for (at, step) in block.steps.iter().enumerate() {
                shape.first.push(shape.moves.len());
                let from = start + at;
                let landing = block.next.get(1).copied().filter(|_| step.is_invoke);
                let landing = landing.map(|id| (shape.starts[id.0 as usize], (id, 0)));
                // What happens if an exception ends it, too: all that callees may do.
                let mut thrown = match &step.action {
                    Action::Calls { unknown: true, .. } => Effects::UNKNOWN,
                    Action::Calls { .. } | Action::Marker(_) => Effects::NONE,
                    Action::Synchronizes(op) => Effects::of_op(*op),
                };
                let past = match &step.action {
                    Action::Marker(_) => Some(Passes::Marker),
                    Action::Synchronizes(op) => match op.effect() {
                        Effect::Arrive => Some(Passes::Barrier(thrown)),
                        Effect::EndThread | Effect::EndProcess => None,
                        _ => Some(Passes::Step(thrown)),
                    },
                    Action::Calls { functions, .. } if functions.is_empty() => Some(Passes::Step(thrown)),
                    Action::Calls { functions, unknown, certain } => {
                        let group = groups.of(placing, caller, functions);
                        let after = match block.next.first() {
                            Some(&next) if step.is_invoke => (next, 0),
                            _ => (BlockId(number), at + 1),
                        };
                        calls.push(InnerCall { caller, group, point: from, landing, after });
                        let passes = Passes::Call { group, unknown: thrown, may_skip: *unknown || !*certain };
                        thrown |= groups.found[group].effects;
                        Some(passes)
                    }
                };
                if let Some((to, _)) = landing {
                    shape.moves.push(Move { from, to, passes: Passes::Step(thrown) });
                }
                if let Some(passes) = past {
                    shape.moves.push(Move { from, to: from + 1, passes });
                }
            }
            shape.first.push(shape.moves.len());
            let from = start + block.steps.len();
            let is_invoke = block.steps.last().is_some_and(|step| step.is_invoke);
            for next in block.next.iter().take(if is_invoke { 1 } else { usize::MAX }) {
                let to = shape.starts[next.0 as usize];
                shape.moves.push(Move { from, to, passes: Passes::Nothing });
            }
            if block.leaves == Some(Leave::Returns) {
                shape.returns.push(from);
            }
        }
        shape.first.push(shape.moves.len());
        for (number, step) in shape.moves.iter().enumerate() {
            shape.into[step.to].push(number);
        }
        for &(block, step) in placing.ways.spots.get(&function).into_iter().flatten() {
            shape.marked[shape.starts[block.0 as usize] + step] = true;
        }
        shape
    }
}
