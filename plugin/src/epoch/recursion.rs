//! Markers for functions that call each other (Bergan, footnote 1 of 3.3.1: not supported there).
//!
//! A recursion can synchronize any number of times without coming round a loop, in two ways: on the way down, between a
//! function's entry and the call that goes on; and on the way back, between such a call's return and the function's own,
//! or, where an exception unwinds it, between its landing pad and whatever it does before it is unwound further. Each way
//! is a graph of the functions; a cycle in it whose edges synchronize and pass no marker needs one:
//! - down: at one function's entry;
//! - back: in one function, after a call of the cycle that synchronizes behind it, or where its exception lands.
//!
//! One marker after the other is placed until no such cycle is left. Back goes first: its markers stand between
//! calls, so that often none is needed on the way down. Loops come before all of this, and recursion inside of a loop that
//! has a marker needs no other.

use super::effects::Effects;
use super::graph::components;
use super::place::{Placing, RecursionDecision, Why};
use super::program::{Action, BlockId, FunctionId, Leave};
use super::ways::{Ends, Spot};
use std::collections::BTreeSet;

/// A function's points, before each step and at each block's end, and where control goes from them without a marker.
struct Points {
    /// By block, its first point.
    starts: Vec<usize>,
    /// From, to, and what happens on the way.
    edges: Vec<(usize, usize, Effects)>,
    /// The points at which the function returns.
    returns: BTreeSet<usize>,
    count: usize,
}

impl Points {
    fn of(placing: &Placing<'_, '_>, function: FunctionId, ends: Ends) -> Points {
        let flow = placing.ways.flow(function);
        let mut points = Points { starts: Vec::new(), edges: Vec::new(), returns: BTreeSet::new(), count: 0 };
        for block in &flow.blocks {
            points.starts.push(points.count);
            points.count += block.steps.len() + 1;
        }
        for (block, number) in flow.blocks.iter().zip(0..) {
            let first = points.starts[number as usize];
            let throws_to = |at: usize| block.next.get(1).filter(|_| block.steps[at].is_invoke);
            for (at, step) in block.steps.iter().enumerate() {
                let spot = (BlockId(number), at);
                if placing.ways.stops_at(function, spot) {
                    continue;
                }
                if let Some(landing) = throws_to(at) {
                    let effects = Effects::of_step(step, &placing.effects);
                    points.edges.push((first + at, points.starts[landing.0 as usize], effects));
                }
                if !placing.ways.stops(&step.action, ends) {
                    let effects = Effects::of_step(step, &placing.through);
                    points.edges.push((first + at, first + at + 1, effects));
                }
            }
            let end = first + block.steps.len();
            if placing.ways.stops_at(function, (BlockId(number), block.steps.len())) {
                continue;
            }
            let is_invoke = block.steps.last().is_some_and(|step| step.is_invoke);
            for next in block.next.iter().take(if is_invoke { 1 } else { usize::MAX }) {
                points.edges.push((end, points.starts[next.0 as usize], Effects::NONE));
            }
            if block.leaves == Some(Leave::Returns) {
                points.returns.insert(end);
            }
        }
        points
    }

    fn at(&self, (block, step): Spot) -> usize {
        self.starts[block.0 as usize] + step
    }

    fn close(&self, from: impl IntoIterator<Item = usize>, forward: bool) -> Vec<bool> {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.count];
        for &(a, b, _) in &self.edges {
            if forward {
                next[a].push(b)
            } else {
                next[b].push(a)
            }
        }
        let mut seen = vec![false; self.count];
        let mut work: Vec<usize> = from.into_iter().collect();
        while let Some(point) = work.pop() {
            if !std::mem::replace(&mut seen[point], true) {
                work.extend(&next[point]);
            }
        }
        seen
    }

    /// What happens on the ways from a point to others; `None` if there is no such way.
    fn between(&self, from: usize, to: &BTreeSet<usize>) -> Option<Effects> {
        let (reached, leading) = (self.close([from], true), self.close(to.iter().copied(), false));
        to.iter().any(|&to| reached[to]).then(|| {
            let on_way = self.edges.iter().filter(|(a, b, _)| reached[*a] && leading[*b]);
            on_way.fold(Effects::NONE, |all, edge| all | edge.2)
        })
    }

    /// What may happen from a point on.
    fn after(&self, from: usize) -> Effects {
        let reached = self.close([from], true);
        self.edges.iter().filter(|edge| reached[edge.0]).fold(Effects::NONE, |all, edge| all | edge.2)
    }
}

/// A call from one of the functions to another.
struct InnerCall {
    caller: usize,
    callee: usize,
    spot: Spot,
    /// Where it lands if it throws.
    landing: Option<BlockId>,
    /// Where a marker after it goes; the block after an invoke.
    after: Spot,
}

fn inner_calls(placing: &Placing<'_, '_>, functions: &[FunctionId]) -> Vec<InnerCall> {
    let mut calls = Vec::new();
    for (caller, &function) in functions.iter().enumerate() {
        for (block, number) in placing.ways.flow(function).blocks.iter().zip(0..) {
            for (at, step) in block.steps.iter().enumerate() {
                let Action::Calls { functions: callees, .. } = &step.action else { continue };
                let after = match block.next.first() {
                    Some(&next) if step.is_invoke => (next, 0),
                    _ => (BlockId(number), at + 1),
                };
                let landing = block.next.get(1).copied().filter(|_| step.is_invoke);
                let known = callees.iter().filter_map(|callee| functions.binary_search(callee).ok());
                calls.extend(known.map(|callee| InnerCall {
                    caller,
                    callee,
                    spot: (BlockId(number), at),
                    landing,
                    after,
                }));
            }
        }
    }
    calls
}

/// Places the markers of functions that call each other.
pub fn decide(placing: &mut Placing<'_, '_>, functions: &[FunctionId]) {
    let effects = placing.effects[functions[0].0 as usize];
    if effects.is_empty() {
        return;
    }
    let calls = inner_calls(placing, functions);
    let mut decision =
        RecursionDecision { functions: functions.to_vec(), effects, markers: Vec::new(), limit: None };
    for find in [back_cycle, down_cycle] {
        loop {
            let ends = placing.ends();
            placing.ways.summarize(functions, ends);
            summarize(placing, functions);
            let candidates = find(placing, functions, &calls);
            let Some(first) = candidates.first() else { break };
            let markable = |f: usize| placing.hints[functions[f].0 as usize].unmarkable;
            let Some(&chosen) = candidates.iter().map(|(f, _)| f).find(|&&f| markable(f).is_none()) else {
                decision.limit = markable(first.0);
                break;
            };
            // The last one of a function first: what stands before it may then need none.
            let spot = candidates.iter().filter(|(f, _)| *f == chosen).map(|(_, spot)| *spot).max();
            let mark = spot.and_then(|spot| placing.mark(functions[chosen], spot, Why::Recursion));
            match mark {
                Some(mark) => decision.markers.push(mark),
                None => break,
            }
        }
    }
    placing.decisions.recursions.push(decision);
}

/// Where markers would break a cycle on the way down: at the entries of its functions.
fn down_cycle(
    placing: &Placing<'_, '_>,
    functions: &[FunctionId],
    calls: &[InnerCall],
) -> Vec<(usize, Spot)> {
    let points: Vec<Points> =
        functions.iter().map(|&function| Points::of(placing, function, placing.ends())).collect();
    let reached: Vec<Vec<bool>> =
        points.iter().map(|points| points.close((points.count > 0).then_some(0), true)).collect();
    let is_free = |call: &&InnerCall| {
        reached[call.caller][points[call.caller].at(call.spot)]
            && !placing.ways.stops_at(functions[call.caller], call.spot)
    };
    let edges: Vec<&InnerCall> = calls.iter().filter(is_free).collect();
    let found = components(functions.len(), |f| {
        edges.iter().filter(|call| call.caller == f).map(|call| call.callee).collect()
    });
    for component in found.iter().filter(|component| component.is_cycle) {
        let inside = |f: usize| component.nodes.binary_search(&f).is_ok();
        let mut effects = Effects::NONE;
        for &f in &component.nodes {
            let targets = edges.iter().filter(|call| call.caller == f && inside(call.callee));
            let targets: BTreeSet<usize> = targets.map(|call| points[f].at(call.spot)).collect();
            effects |= points[f].between(0, &targets).unwrap_or_default();
        }
        if !effects.is_empty() && placing.is_trivial(effects).is_none() {
            return component.nodes.iter().map(|&f| (f, (BlockId(0), 0))).collect();
        }
    }
    Vec::new()
}

/// Where markers would break a cycle on the way back: after its calls, and where they land.
fn back_cycle(
    placing: &Placing<'_, '_>,
    functions: &[FunctionId],
    calls: &[InnerCall],
) -> Vec<(usize, Spot)> {
    /// From one function's end to another's: even numbers return, odd ones unwind.
    struct Edge {
        from: usize,
        to: usize,
        effects: Effects,
        spot: Option<(usize, Spot)>,
    }
    let points: Vec<Points> =
        functions.iter().map(|&function| Points::of(placing, function, placing.ends())).collect();
    let mut edges: Vec<Edge> = Vec::new();
    for call in calls {
        let points = &points[call.caller];
        let mut add = |from: usize, start: usize, spot: Spot| {
            let spot = Some((call.caller, spot));
            // Anything may throw, at any point.
            edges.push(Edge { from, to: 2 * call.caller + 1, effects: points.after(start), spot });
            if let Some(effects) = points.between(start, &points.returns) {
                edges.push(Edge { from, to: 2 * call.caller, effects, spot });
            }
        };
        add(2 * call.callee, points.at(call.spot) + 1, call.after);
        let unwound = 2 * call.callee + 1;
        match call.landing {
            Some(landing) => add(unwound, points.at((landing, 0)), (landing, 0)),
            None => edges.push(Edge {
                from: unwound,
                to: 2 * call.caller + 1,
                effects: Effects::NONE,
                spot: None,
            }),
        }
    }
    let found = components(2 * functions.len(), |node| {
        edges.iter().filter(|edge| edge.from == node).map(|edge| edge.to).collect()
    });
    for component in found.iter().filter(|component| component.is_cycle) {
        let inside = |node: usize| component.nodes.binary_search(&node).is_ok();
        let inner: Vec<&Edge> = edges.iter().filter(|edge| inside(edge.from) && inside(edge.to)).collect();
        let effects = inner.iter().fold(Effects::NONE, |all, edge| all | edge.effects);
        if !effects.is_empty() && placing.is_trivial(effects).is_none() {
            let mut spots: Vec<(usize, Spot)> =
                inner.iter().filter(|edge| !edge.effects.is_empty()).filter_map(|edge| edge.spot).collect();
            spots.sort_unstable();
            return spots;
        }
    }
    Vec::new()
}

/// Finds out what these functions may do on a way from entry to return without a marker.
pub fn summarize(placing: &mut Placing<'_, '_>, functions: &[FunctionId]) {
    for id in functions {
        placing.through[id.0 as usize] = Effects::NONE;
    }
    loop {
        let mut changed = false;
        for &id in functions {
            let points = Points::of(placing, id, placing.ends());
            let all = points.between_entry_and_returns();
            changed |= std::mem::replace(&mut placing.through[id.0 as usize], all) != all;
        }
        if !changed {
            return;
        }
    }
}

impl Points {
    fn between_entry_and_returns(&self) -> Effects {
        if self.count == 0 {
            return Effects::NONE;
        }
        self.between(0, &self.returns).unwrap_or_default()
    }
}
