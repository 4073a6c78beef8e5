//! The bound verifier: whether a thread can do any number of synchronizations between two epoch markers.
//!
//! **The invariant** (Bergan 3.3.1: "a bounded number of synchronization operations are executed before the program
//! either reaches another epoch marker or halts"; the paper has no checker): every cycle of the interprocedural
//! control flow in which a thread can synchronize passes a marker or a barrier, trivial cycles aside. Checked on
//! [`Program`] alone, knowing nothing of how markers were chosen. A path is what the control-flow graph allows:
//! conditions are not looked at. "Free" below means: without a marker and without a barrier (`Effect::Arrive`).
//!
//! What is checked: there is no free cycle with a synchronization
//! 1. *inside a function*, where a call is passed if one of its callees has a free path from entry to return, and
//!    synchronizes as those paths can;
//! 2. *down the stack*: from a call to its callee's entry, and on to a call in that one, never to return;
//! 3. *up the stack*: from a function's return (or its unwinding) to where its caller goes on, and on to that one's
//!    return, or unwinding.
//!
//! **Why these three suffice.** A thread's path between two markers is a valid path of a recursive state machine: it
//! first leaves frames that it entered before the first marker (up), then enters frames that it does not leave before
//! the second (down); in between it runs calls from entry to return, all free. Let there be no cycle of the three kinds.
//! Inside one frame, a step on a cycle does not synchronize, so each step that does is run at most once. Going up, a
//! chain of frames passes each strongly connected part of the up graph once, and inside a part nothing synchronizes (an
//! edge inside a part is on a cycle of kind 3), so the chain has as many synchronizing frames as there are parts, at
//! most; going down likewise. A call that is run from entry to return is a tree of frames with as many children each as
//! a frame has synchronizing steps. Take a path from its root to a leaf: its edges are both ways down and ways up, and
//! where such an edge stays in a strongly connected part, neither what its frame does before the call nor what it
//! does after synchronizes (kinds 2 and 3; calls beside the path included, since they are passed on the way). So along
//! the path only as many frames have more than one synchronizing child as there are parts, and the tree has a bounded
//! number of synchronizations. Conversely a cycle of one of the kinds can be repeated: down, by calling again; up, since
//! every call on it can be reached from its function's entry, so that a stack as high as wanted can be built (passing
//! markers on the way).
//!
//! So one search for strongly connected components in each of three graphs of program points ([`graph`]) decides, in
//! time about linear in the program (each call through a pointer asks what its targets do). Points that cannot be reached from
//! their function's entry do not count, nor do those after calls that never return.
//!
//! **Trivial cycles** (Bergan 3.3.1): all synchronizations of a strongly connected part are untimed condition waits and
//! notifications are bounded; or all are thread creations, or all are joins, and no loop of the part in which they are
//! done may go on for ever by itself ([`Loop::may_go_on`](super::program::Loop::may_go_on); the paper does not ask for
//! that). A recursion that only creates or only joins is taken to end for its own reasons. (Mixed ones are not trivial: a part has a
//! cycle through all its edges. Creating and joining go on for ever with two threads alive.) Notifications are bounded
//! if none is in a cycle that is reported here; code outside of the program may notify. A wait with a deadline counts
//! like a lock: it can come back for ever.
//!
//! **Exceptions.** A [`Program`] does not say what throws, so anything may, at any point: an invoke can be left to its
//! landing pad whatever the callee is, having done what the callee does on free paths from its entry; and a function can
//! be unwound from any point.
//!
//! **Limits.** A call to code outside of the program counts as one synchronization (what is compiled with covsched has
//! its own markers; a library's is not seen), and that code's calls back into the program are not seen; a callback is
//! taken to be run once (a synchronizing comparator of `qsort` is not found). `longjmp` is not seen. Nor is a loop that
//! waits without synchronizing: that is no question of bounds.

mod graph;
mod report;
#[cfg(test)]
mod tests;

pub use graph::Place;
pub use report::report;

use super::graph::components;
use super::program::{Action, BlockId, FunctionId, Irreducible, Loop, Program, Step};
use crate::ir::Location;
use graph::{Edge, Graph};
use std::collections::BTreeSet;
use std::ops::{BitOr, BitOrAssign};

/// A cycle in which a thread can synchronize any number of times without an epoch marker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unbounded {
    /// What kind of cycle it is.
    pub way: Way,
    /// The linkage name of the function in which its first synchronization stands.
    pub function: String,
    /// Where that stands in the source, if that is known.
    pub location: Location,
    /// Its steps that synchronize (inside, if they are calls), in the program's order; never empty.
    pub steps: Vec<Place>,
    /// All its blocks, in the program's order.
    pub blocks: Vec<(FunctionId, BlockId)>,
    /// Why it is not bounded, in words that follow "in FUNCTION: ".
    pub why: String,
}

/// A kind of cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// Inside a function.
    Cycle,
    /// Calls that lead to each other: each recursion synchronizes on the way down.
    Descent,
    /// The same, on the way back.
    Ascent,
}

/// A set of kinds of synchronization, as far as trivial cycles need to know them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub const NONE: Kinds = Kinds(0);
    /// Untimed condition wait.
    pub const WAIT: Kinds = Kinds(1);
    pub const CREATE: Kinds = Kinds(2);
    pub const JOIN: Kinds = Kinds(4);
    /// What wakes waiters.
    pub const NOTIFY: Kinds = Kinds(8);
    pub const OTHER: Kinds = Kinds(16);
    /// Code outside of the program, which may do anything.
    pub const UNKNOWN: Kinds = Kinds(32);

    fn has(self, kinds: Kinds) -> bool {
        self.0 & kinds.0 != 0
    }

    /// Whether a cycle with these kinds is bounded without a marker.
    fn are_bounded(self, notifications_are: bool, may_go_on: bool) -> bool {
        match self {
            Kinds::NONE => true,
            Kinds::CREATE | Kinds::JOIN => !may_go_on,
            Kinds::WAIT => notifications_are,
            _ => false,
        }
    }
}

impl BitOr for Kinds {
    type Output = Kinds;
    fn bitor(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }
}

impl BitOrAssign for Kinds {
    fn bitor_assign(&mut self, other: Kinds) {
        *self = *self | other;
    }
}

/// A strongly connected part of one of the graphs that synchronizes.
struct Part {
    way: Way,
    kinds: Kinds,
    /// Its points.
    points: Vec<Place>,
    /// Those before a step that synchronizes.
    steps: Vec<Place>,
    /// It synchronizes in a loop that may go on for ever by itself.
    may_go_on: bool,
}

impl Part {
    fn is_unbounded(&self, notifications_are_bounded: bool) -> bool {
        !self.kinds.are_bounded(notifications_are_bounded, self.may_go_on)
    }
}

/// Every cycle that is not bounded; empty if the invariant holds.
pub fn check(program: &Program<'_>) -> Vec<Unbounded> {
    let graph = Graph::of(program);
    let mut parts = synchronizing_parts(&graph, Way::Cycle, &[]);
    parts.extend(synchronizing_parts(&graph, Way::Descent, &graph.between.down));
    parts.extend(synchronizing_parts(&graph, Way::Ascent, &graph.between.up));
    for part in &mut parts {
        part.may_go_on = may_go_on(program, part);
    }

    let notifies = |part: &Part| part.kinds.has(Kinds::NOTIFY | Kinds::UNKNOWN);
    let notifications_are_bounded = parts.iter().all(|part| !part.is_unbounded(true) || !notifies(part));

    // A loop is part of what surrounds it in the other graphs: said once, as what it is first of all.
    let mut said: BTreeSet<Place> = BTreeSet::new();
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| part.is_unbounded(notifications_are_bounded)) {
        if part.steps.iter().any(|step| !said.contains(step)) {
            said.extend(&part.steps);
            found.push(describe(program, part));
        }
    }
    found
}

/// The strongly connected parts in which something synchronizes, of the ways inside functions and those between.
fn synchronizing_parts(graph: &Graph, way: Way, between: &[(u32, u32)]) -> Vec<Part> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes];
    let inside = graph.within.iter().map(|edge| (edge.from, edge.to));
    for (from, to) in inside.chain(between.iter().copied()) {
        next[from as usize].push(to as usize);
    }
    let components = components(graph.nodes, |node| next[node].clone());
    let mut component = vec![0; graph.nodes];
    for (number, members) in components.iter().enumerate() {
        members.nodes.iter().for_each(|&node| component[node] = number);
    }
    let of = |node: u32| component[node as usize];
    let is_inside = |edge: &&Edge| edge.kinds != Kinds::NONE && of(edge.from) == of(edge.to);
    let mut part_of: Vec<Option<usize>> = vec![None; components.len()];
    let mut parts: Vec<Part> = Vec::new();
    for edge in graph.within.iter().filter(is_inside) {
        let number = *part_of[of(edge.from)].get_or_insert_with(|| {
            let (points, steps) = (Vec::new(), Vec::new());
            parts.push(Part { way, kinds: Kinds::NONE, points, steps, may_go_on: false });
            parts.len() - 1
        });
        parts[number].kinds |= edge.kinds;
        parts[number].steps.push(graph.places[edge.from as usize]);
    }
    for (node, &place) in graph.places.iter().enumerate() {
        if let Some(number) = part_of[of(node as u32)] {
            parts[number].points.push(place);
        }
    }
    // An invoke that synchronizes both ways is two edges.
    parts.iter_mut().for_each(|part| part.steps.dedup());
    parts
}

/// Whether a part synchronizes in a loop that may go on for ever by itself, and comes round in that. A loop of which the
/// part has the header, but no latch, is passed, and not gone round in.
fn may_go_on(program: &Program<'_>, part: &Part) -> bool {
    // A loop that is gone round without a marker is a part of the ways inside its function, too, and judged there. In the
    // other graphs a part may have its header and latch and still pass the marker between: by way of a caller.
    let only_one_kind = part.kinds == Kinds::CREATE || part.kinds == Kinds::JOIN;
    if part.way != Way::Cycle || !only_one_kind {
        return false;
    }
    let points: BTreeSet<Place> = part.points.iter().copied().collect();
    let functions: BTreeSet<FunctionId> = part.steps.iter().map(|step| step.function).collect();
    functions.into_iter().any(|function| {
        let flow = &program.functions[function.0 as usize];
        let starts = |block: BlockId| points.contains(&Place { function, block, step: 0 });
        let ends = |block: BlockId| {
            let steps = &flow.blocks[block.0 as usize].steps;
            // What an invoke throws does not come to the end of its block.
            let is_invoke = steps.last().is_some_and(|step| step.is_invoke);
            let last = steps.len() - usize::from(is_invoke);
            (last..=steps.len()).any(|step| points.contains(&Place { function, block, step }))
        };
        let synchronizes = |blocks: &[BlockId]| {
            part.steps.iter().any(|step| step.function == function && blocks.contains(&step.block))
        };
        let goes_round = |natural: &&Loop| {
            starts(natural.header)
                && natural.latches.iter().any(|&latch| ends(latch))
                && synchronizes(&natural.blocks)
        };
        let endless_loop = flow.loops.iter().filter(|natural| natural.may_go_on).any(|l| goes_round(&l));
        // What stays in a loop inside of a cycle with several entries goes round in that loop only.
        let stays_in_loop = |part: &Irreducible| {
            let blocks: BTreeSet<BlockId> = points
                .iter()
                .filter(|point| point.function == function && part.blocks.contains(&point.block))
                .map(|point| point.block)
                .collect();
            let inner = |natural: &&Loop| natural.blocks.iter().all(|block| part.blocks.contains(block));
            flow.loops
                .iter()
                .filter(inner)
                .any(|natural| blocks.iter().all(|block| natural.blocks.contains(block)))
        };
        let mut endless_parts = flow.irreducible.iter().filter(|part| part.may_go_on);
        endless_loop || endless_parts.any(|part| synchronizes(&part.blocks) && !stays_in_loop(part))
    })
}

fn step_at<'p, 'm>(program: &'p Program<'m>, place: Place) -> &'p Step<'m> {
    &program.functions[place.function.0 as usize].blocks[place.block.0 as usize].steps[place.step]
}

fn describe(program: &Program<'_>, part: &Part) -> Unbounded {
    let first = part.steps[0];
    let mut blocks: Vec<_> = part.points.iter().map(|point| (point.function, point.block)).collect();
    blocks.dedup();
    let inst = step_at(program, first).inst;
    Unbounded {
        way: part.way,
        function: program.functions[first.function.0 as usize].name.clone(),
        location: inst.map(|inst| inst.location()).unwrap_or_default(),
        why: why(program, part),
        steps: part.steps.clone(),
        blocks,
    }
}

fn why(program: &Program<'_>, part: &Part) -> String {
    let what = what_synchronizes(program, &part.steps);
    if part.kinds == Kinds::WAIT {
        return format!(
            "it waits in a cycle without an epoch marker ({what}), which is bounded only if notifications are, and \
             another cycle without a marker may notify"
        );
    }
    if part.kinds == Kinds::CREATE || part.kinds == Kinds::JOIN {
        let what_it_does = if part.kinds == Kinds::CREATE { "creates" } else { "joins" };
        return format!(
            "a cycle without an epoch marker {what_it_does} threads ({what}), and it has no exit, or one that depends \
             on what that gave"
        );
    }
    let among = || {
        let functions: BTreeSet<FunctionId> = part.points.iter().map(|point| point.function).collect();
        let names = functions.iter().map(|f| crate::demangle(&program.functions[f.0 as usize].name));
        shortened(names.collect())
    };
    match part.way {
        Way::Cycle => format!("a cycle without an epoch marker synchronizes: {what}"),
        Way::Descent => {
            format!(
                "recursion without an epoch marker on the way down synchronizes there: {what} (among {})",
                among()
            )
        }
        Way::Ascent => {
            format!(
                "recursion without an epoch marker on the way back synchronizes there: {what} (among {})",
                among()
            )
        }
    }
}

fn what_synchronizes(program: &Program<'_>, steps: &[Place]) -> String {
    let mut names: Vec<String> = Vec::new();
    for &place in steps {
        let name = match &step_at(program, place).action {
            Action::Synchronizes(op) => op.name().to_owned(),
            Action::Marker(_) => continue,
            Action::Calls { functions, unknown, .. } => match functions[..] {
                [callee] if !unknown => {
                    format!("call of {}", crate::demangle(&program.functions[callee.0 as usize].name))
                }
                [] => "call of code that is not known".to_owned(),
                _ => "call through a pointer".to_owned(),
            },
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    shortened(names)
}

/// At most four names.
fn shortened(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(4);
    names.truncate(4);
    let names = names.join(", ");
    if more == 0 {
        names
    } else {
        format!("{names} and {more} more")
    }
}
