//! Where a thread may hold a lock of the program. A thread that pauses there may keep out others that must get on for
//! an update to come about, or the one that runs alone. How soon an update comes depends on this, and whether a region that runs alone gets
//! a lock that another thread has.
//!
//! Which lock a call is about is not known. Two estimates count: any release ends what any acquisition began, in the function
//! and those that it calls or returns to; and acquisitions are counted ([`depth`]).

use super::depth;
use super::inside::{forward, Step};
use super::{Graph, PointId};
use crate::hooks::{Effect, Hook, ObjectClass};
use crate::loom::table::{PointKind, Target};

/// With more rows of locations than so many, a plan would get too large for what it is good for.
pub const MOST: usize = 20_000;

/// What a call does to a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Take,
    GiveBack,
}

fn hook_of(graph: &Graph<'_>, id: PointId) -> Option<&'static Hook> {
    let PointKind::Call { target: Target::Named(name), .. } = &graph.point(id).kind else { return None };
    Hook::replacing(graph.text(graph.place(graph.function_of(id)).unit, *name))
}

pub(super) fn does(graph: &Graph<'_>, id: PointId) -> Option<Does> {
    let hook = hook_of(graph, id)?;
    if !matches!(hook.op.class(), ObjectClass::Mutex | ObjectClass::Rwlock | ObjectClass::Spin) {
        return None;
    }
    match hook.op.effect() {
        Effect::Acquire
        | Effect::TryAcquire
        | Effect::TimedAcquire
        | Effect::AcquireShared
        | Effect::TryAcquireShared
        | Effect::TimedAcquireShared => Some(Does::Take),
        Effect::Release => Some(Does::GiveBack),
        _ => None,
    }
}

/// Whether a thread may wait for a lock at a point: a wait for a condition takes its lock again.
fn waits_for_lock(graph: &Graph<'_>, id: PointId) -> bool {
    let is_wait = |hook: &Hook| {
        hook.op.class() == ObjectClass::Cond && matches!(hook.op.effect(), Effect::Wait | Effect::TimedWait)
    };
    does(graph, id) == Some(Does::Take) || hook_of(graph, id).is_some_and(is_wait)
}

/// The points with a location at which a thread may hold a lock, or is about to come back with one.
pub fn points(graph: &Graph<'_>) -> Vec<PointId> {
    let all = 0..graph.point_count() as PointId;
    let takes: Vec<PointId> = all.clone().filter(|&id| does(graph, id) == Some(Does::Take)).collect();
    if takes.is_empty() {
        return takes;
    }
    let step = |id| if does(graph, id) == Some(Does::GiveBack) { Step::Stop } else { Step::Pass };
    let states = forward(graph, &takes, &step);
    let counted = depth::points(graph);
    // Where it gives the lock back, it does not keep it.
    let holds = |&id: &PointId| {
        (states[id as usize] != 0 || counted[id as usize]) && does(graph, id) != Some(Does::GiveBack)
    };
    let mut found: Vec<PointId> = all.filter(holds).chain(takes).collect();
    found.retain(|&id| graph.location(id).is_some());
    found.sort_unstable();
    found.dedup();
    found
}

/// The points whose state is not 0 at which a thread may wait for a lock.
pub fn waits<'s>(graph: &'s Graph<'_>, states: &'s [u8]) -> impl Iterator<Item = PointId> + 's {
    let ids = (0..states.len() as PointId).filter(|&id| states[id as usize] != 0);
    ids.filter(|&id| waits_for_lock(graph, id))
}

/// How many rows these points' locations are.
pub fn rows(graph: &Graph<'_>, points: &[PointId]) -> usize {
    let mut locations: Vec<(usize, u32)> = points
        .iter()
        .filter_map(|&id| Some((graph.place(graph.function_of(id)).unit, graph.location(id)?)))
        .collect();
    locations.sort_unstable();
    locations.chunk_by(|a, b| a.0 == b.0 && b.1 <= a.1 + 1).count()
}
