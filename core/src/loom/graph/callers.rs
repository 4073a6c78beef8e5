//! Unsafe by itself, or only because of who called (beyond Wu 5.3.1, whose unsafe locations know no callers).
//!
//! A thread that blocks in a function that a region may call is inside of the region only if the region did call. A path from there
//! to an exit that first returns from the function goes on behind a call that is active now. So a thread with the location L
//! and active calls c is outside if neither L leads to an exit without a return ([`Reached::directly`]) nor what comes behind any
//! c does. The engine sees return addresses of functions, not of calls: [`Callers::functions`] are those with such a
//! c, and more where a frame may not be what it seems:
//! - A call that only the return follows may be a jump: its function has no frame then. What it calls counts instead, all of it.
//! - Code that is optimized after its table was made may be inlined into who calls it: those count too.
//! - A call of code without a table, which may call back, counts also if an exit can be come to in it.
//!
//! A program that switches stacks itself has frames that its threads' stacks do not show: nothing is told by callers then.

use super::reach::Reached;
use super::{FunctionId, Graph, PointId};
use crate::loom::table::{Point, PointKind, Precision, Target};

/// Library functions by which a thread goes on with another stack.
const SWITCHES_STACKS: &[&str] = &[
    "swapcontext",
    "setcontext",
    "makecontext",
    "jump_fcontext",
    "ontop_fcontext",
    "make_fcontext",
    "coro_transfer",
    "co_switch",
];

/// How unsafe points depend on callers.
#[derive(Clone, Debug)]
pub struct Callers {
    /// By function: it has a frame, or may stand for one, that makes a thread unsafe.
    frames: Vec<bool>,
    /// By function: it may have been jumped to by one of these.
    jumped_to: Vec<bool>,
    /// Nothing is told by callers.
    is_blind: bool,
}

impl Callers {
    /// Of what a search reached.
    pub fn of(graph: &Graph<'_>, reached: &Reached) -> Callers {
        let mut callers = Callers {
            frames: vec![false; graph.function_count()],
            jumped_to: vec![false; graph.function_count()],
            is_blind: switches_stacks(graph),
        };
        let calls: Vec<PointId> =
            (0..graph.point_count() as PointId).filter(|&id| graph.group(id).is_some()).collect();
        let leads_back = |call: PointId| {
            let is_open = graph.group(call).is_some_and(|group| graph.groups[group as usize].open);
            graph.next(call).any(|next| reached.directly(next)) || (is_open && reached.directly(call))
        };
        let jumps: Vec<PointId> = calls.iter().copied().filter(|&call| may_be_jump(graph, call)).collect();
        let mut jumps_of: Vec<Vec<PointId>> = vec![Vec::new(); graph.function_count()];
        jumps.iter().for_each(|&call| jumps_of[graph.function_of(call) as usize].push(call));
        let mut work: Vec<PointId> = Vec::new();
        for &call in calls.iter().filter(|&&call| leads_back(call)) {
            callers.frames[graph.function_of(call) as usize] = true;
            if may_be_jump(graph, call) {
                work.push(call);
            }
        }
        while let Some(call) = work.pop() {
            let Some(group) = graph.group(call) else { continue };
            for &function in &graph.groups[group as usize].functions {
                if !std::mem::replace(&mut callers.jumped_to[function as usize], true) {
                    callers.frames[function as usize] = true;
                    work.extend(&jumps_of[function as usize]);
                }
            }
        }
        callers.add_inlined(graph);
        callers
    }

    /// Functions in whose code a function's may be, since it was inlined after its table was made.
    fn add_inlined(&mut self, graph: &Graph<'_>) {
        let all = 0..graph.function_count() as FunctionId;
        let mut work: Vec<FunctionId> = all.filter(|&id| self.frames[id as usize]).collect();
        while let Some(id) = work.pop() {
            if !changes_later(graph, id) {
                continue;
            }
            for &group in &graph.groups_of[id as usize] {
                for &call in &graph.groups[group as usize].callers {
                    let caller = graph.function_of(call);
                    if changes_later(graph, caller)
                        && !std::mem::replace(&mut self.frames[caller as usize], true)
                    {
                        work.push(caller);
                    }
                }
            }
        }
    }

    /// Whether a thread at a point that was reached is unsafe whoever called.
    pub fn is_unsafe_itself(&self, graph: &Graph<'_>, reached: &Reached, id: PointId) -> bool {
        self.is_blind || reached.directly(id) || self.jumped_to[graph.function_of(id) as usize]
    }

    /// Functions with a frame that makes a thread unsafe.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        (0..self.frames.len() as FunctionId).filter(|&id| self.frames[id as usize])
    }
}

fn switches_stacks(graph: &Graph<'_>) -> bool {
    (0..graph.point_count() as PointId).any(|id| {
        let PointKind::Call { target: Target::Named(name), .. } = &graph.point(id).kind else { return false };
        SWITCHES_STACKS.contains(&graph.text(graph.place(graph.function_of(id)).unit, *name))
    })
}

/// Whether its code is optimized after its table was made.
fn changes_later(graph: &Graph<'_>, id: FunctionId) -> bool {
    let table = &graph.program.units[graph.place(id).unit].table;
    table.precision == Precision::Precise || table.is_for_lto
}

/// Whether a call may be a jump: nothing comes behind it but its function's return, on the fast path, which has no slots. (A call that
/// something else follows is followed by a test of the switch, which stays, if the function has one.)
pub(super) fn may_be_jump(graph: &Graph<'_>, call: PointId) -> bool {
    let Point { kind: PointKind::Call { is_last, .. }, next, .. } = graph.point(call) else { return false };
    let function = graph.function_of(call);
    let may_lose_the_rest = || !graph.function(function).limit.is_empty() && changes_later(graph, function);
    *is_last || (next.len() == 1 && may_lose_the_rest())
}
