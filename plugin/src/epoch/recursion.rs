//! Markers for functions that call each other (Bergan, footnote 1 of 3.3.1: not supported there).
//!
//! A recursion can synchronize any number of times without coming round a loop, in two ways: on the way down, between a
//! function's entry and the call that goes on; and on the way back, between such a call's return and the function's own,
//! or, where an exception unwinds it, between its landing pad and whatever it does before it is unwound further. Each way
//! is a graph of the functions and of the groups that they call ([`super::knot`]); a cycle in it whose edges synchronize
//! and pass no marker needs one:
//! - down: at one function's entry;
//! - back: in one function, after a call of the cycle, or where its exception lands.
//!
//! Markers are placed in rounds until no such cycle is left; in a round every strongly connected part of the graph gets
//! some. A function that alone makes a cycle, since it may call itself, needs one in any case, so all of those come
//! first. What is left gets one where the most ways meet (most calls that come there times most that it goes on to):
//! of a dispatcher and the hundred functions that it calls through a pointer, the dispatcher. That is the usual way to
//! come near the fewest, which are hard to find.
//!
//! Back goes first: its markers stand between calls, so that often none is needed on the way down. Loops come before all
//! of this, and recursion inside of a loop that has a marker needs no other.

use super::effects::Effects;
use super::graph::components;
use super::knot::{Ahead, Knot};
use super::place::{Placing, RecursionDecision, Why};
use super::program::BlockId;
use super::ways::Spot;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where a marker would break a cycle.
struct Candidate {
    function: usize,
    spot: Spot,
    /// The function alone makes a cycle that this breaks.
    is_own_cycle: bool,
    /// How many ways meet there.
    ways: usize,
    /// Whether something synchronizes behind it.
    synchronizes: bool,
}

/// Places the markers of functions that call each other.
pub fn decide(placing: &mut Placing<'_, '_>, knot: &mut Knot) {
    let effects = placing.effects[knot.functions[0].0 as usize];
    if effects.is_empty() {
        return;
    }
    let mut decision =
        RecursionDecision { functions: knot.functions.clone(), effects, markers: Vec::new(), limit: None };
    for find in [back_cycles, down_cycles] {
        loop {
            let ends = placing.ends();
            knot.summarize(placing, ends);
            let mut progress = false;
            for candidates in find(placing, knot) {
                for (function, spot) in choose(placing, knot, &candidates, &mut decision) {
                    if let Some(mark) = placing.mark(knot.functions[function], spot, Why::Recursion) {
                        knot.mark(function, spot);
                        decision.markers.push(mark);
                        progress = true;
                    }
                }
            }
            if !progress {
                break;
            }
        }
    }
    placing.decisions.recursions.push(decision);
}

/// Which of the places to take in this round.
fn choose(
    placing: &Placing<'_, '_>,
    knot: &Knot,
    candidates: &[Candidate],
    decision: &mut RecursionDecision,
) -> Vec<(usize, Spot)> {
    let unmarkable = |f: usize| placing.hints[knot.functions[f].0 as usize].unmarkable;
    let markable = || candidates.iter().filter(|candidate| unmarkable(candidate.function).is_none());
    // The last one of a function first: what stands before it may then need none.
    let mut last: BTreeMap<usize, Spot> = BTreeMap::new();
    for candidate in markable().filter(|candidate| candidate.is_own_cycle) {
        let spot = last.entry(candidate.function).or_insert(candidate.spot);
        *spot = candidate.spot.max(*spot);
    }
    if !last.is_empty() {
        return last.into_iter().collect();
    }
    let best = markable().max_by_key(|candidate| {
        (candidate.ways, candidate.synchronizes, Reverse(candidate.function), candidate.spot)
    });
    match best {
        Some(best) => vec![(best.function, best.spot)],
        None => {
            let limit = candidates.iter().find_map(|candidate| unmarkable(candidate.function));
            decision.limit = decision.limit.or(limit);
            Vec::new()
        }
    }
}

fn needs_marker(placing: &Placing<'_, '_>, effects: Effects) -> bool {
    !effects.is_empty() && placing.is_trivial(effects).is_none()
}

/// The component of each node, if it is a cycle, and how many components there are.
fn cycles_of(next: &[Vec<usize>]) -> (Vec<Option<usize>>, usize) {
    let found = components(next.len(), |node| next[node].clone());
    let mut cycle_of = vec![None; next.len()];
    for (number, component) in found.iter().enumerate().filter(|(_, component)| component.is_cycle) {
        component.nodes.iter().for_each(|&node| cycle_of[node] = Some(number));
    }
    (cycle_of, found.len())
}

/// Where markers would break the cycles on the way down: at the entries of their functions. One list a part.
fn down_cycles(placing: &Placing<'_, '_>, knot: &Knot) -> Vec<Vec<Candidate>> {
    let (ends, count) = (placing.ends(), knot.functions.len());
    let reached: Vec<Vec<bool>> = (0..count).map(|f| knot.from_entry(f, ends)).collect();
    // Functions first, then groups.
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); count];
    next.extend(knot.groups.iter().map(|group| group.inside.clone()));
    let is_free = |f: usize, point: usize| reached[f][point] && !knot.is_marked(f, point);
    let free = || knot.calls.iter().filter(|call| is_free(call.caller, call.point));
    free().for_each(|call| next[call.caller].push(count + call.group));
    let (cycle_of, cycles) = cycles_of(&next);

    let is_inside = |f: usize, group: usize| cycle_of[f].is_some() && cycle_of[f] == cycle_of[count + group];
    let mut targets: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut own_targets: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut callers = vec![0; knot.groups.len()];
    let mut goes_on = vec![0; count];
    let sizes: Vec<usize> = (0..knot.groups.len())
        .map(|group| knot.groups[group].inside.iter().filter(|&&f| is_inside(f, group)).count())
        .collect();
    for call in free().filter(|call| is_inside(call.caller, call.group)) {
        let f = call.caller;
        targets[f].push(call.point);
        if knot.groups[call.group].inside.binary_search(&f).is_ok() {
            own_targets[f].push(call.point);
        }
        callers[call.group] += 1;
        goes_on[f] += sizes[call.group];
    }
    let mut effects = vec![Effects::NONE; cycles];
    let mut candidates: Vec<Vec<Candidate>> = (0..cycles).map(|_| Vec::new()).collect();
    for f in 0..count {
        let Some(cycle) = cycle_of[f] else { continue };
        let on_way = |targets: &[usize]| knot.on_the_way_to(f, &reached[f], targets, ends);
        effects[cycle] |= on_way(&targets[f]);
        let groups = knot.member_of[f].iter().filter(|&&group| is_inside(f, group));
        candidates[cycle].push(Candidate {
            function: f,
            spot: (BlockId(0), 0),
            is_own_cycle: needs_marker(placing, on_way(&own_targets[f])),
            ways: groups.map(|&group| callers[group]).sum::<usize>() * goes_on[f],
            synchronizes: false,
        });
    }
    let lists = candidates.into_iter().zip(effects);
    lists.filter(|(_, effects)| needs_marker(placing, *effects)).map(|(list, _)| list).collect()
}

/// Where markers would break the cycles on the way back: after their calls, and where these land. One list a part.
fn back_cycles(placing: &Placing<'_, '_>, knot: &Knot) -> Vec<Vec<Candidate>> {
    /// From the end of a group's functions to one's own end.
    struct Edge {
        from: usize,
        to: usize,
        effects: Effects,
        spot: Option<Spot>,
        caller: usize,
        group: usize,
    }
    let (ends, count) = (placing.ends(), knot.functions.len());
    // Functions first, then groups; even numbers return, odd ones unwind.
    let node = |f: usize, unwinds: bool| 2 * f + usize::from(unwinds);
    let group_node = |group: usize, unwinds: bool| 2 * (count + group) + usize::from(unwinds);
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); 2 * (count + knot.groups.len())];
    for (number, group) in knot.groups.iter().enumerate() {
        for unwinds in [false, true] {
            group.inside.iter().for_each(|&f| next[node(f, unwinds)].push(group_node(number, unwinds)));
        }
    }
    let ahead: Vec<Ahead> = (0..count).map(|f| knot.ahead(f, ends)).collect();
    let mut edges: Vec<Edge> = Vec::new();
    for call in &knot.calls {
        let (caller, group) = (call.caller, call.group);
        let mut add = |from: usize, start: usize, spot: Spot| {
            // Anything may throw, at any point.
            let (effects, spot) = (ahead[caller].all[start], Some(spot));
            edges.push(Edge { from, to: node(caller, true), effects, spot, caller, group });
            if let Some(effects) = ahead[caller].to_return[start] {
                edges.push(Edge { from, to: node(caller, false), effects, spot, caller, group });
            }
        };
        add(group_node(group, false), call.point + 1, call.after);
        let unwound = group_node(group, true);
        match call.landing {
            Some((point, spot)) => add(unwound, point, spot),
            None => {
                let (to, effects) = (node(caller, true), Effects::NONE);
                edges.push(Edge { from: unwound, to, effects, spot: None, caller, group });
            }
        }
    }
    edges.iter().for_each(|edge| next[edge.from].push(edge.to));
    let (cycle_of, cycles) = cycles_of(&next);

    let mut effects = vec![Effects::NONE; cycles];
    let mut leaving = vec![0; next.len()];
    let inner: Vec<(usize, &Edge)> = edges
        .iter()
        .filter_map(|edge| {
            Some((cycle_of[edge.from].filter(|_| cycle_of[edge.from] == cycle_of[edge.to])?, edge))
        })
        .collect();
    for (cycle, edge) in &inner {
        effects[*cycle] |= edge.effects;
        leaving[edge.from] += 1;
    }
    // By group and way: how many of its functions are in its part.
    let sizes: Vec<usize> = (0..2 * knot.groups.len())
        .map(|at| {
            let own = cycle_of[2 * count + at];
            let members = &knot.groups[at / 2].inside;
            members.iter().filter(|&&f| own.is_some() && cycle_of[2 * f + at % 2] == own).count()
        })
        .collect();
    let mut candidates: Vec<Vec<Candidate>> = (0..cycles).map(|_| Vec::new()).collect();
    for (cycle, edge) in inner.into_iter().filter(|(cycle, _)| needs_marker(placing, effects[*cycle])) {
        let Some(spot) = edge.spot else { continue };
        let synchronizes = !edge.effects.is_empty();
        // A marker that stands there lets nothing through but an exception at once.
        let returns = edge.to % 2 == 0;
        if !synchronizes && !returns || knot.is_marked(edge.caller, knot.point(edge.caller, spot)) {
            continue;
        }
        let is_same_way = edge.from % 2 == edge.to % 2;
        let calls_itself = knot.groups[edge.group].inside.binary_search(&edge.caller).is_ok();
        let groups = knot.member_of[edge.caller].iter().map(|&group| group_node(group, !returns));
        let goes_on: usize =
            groups.filter(|&node| cycle_of[node] == Some(cycle)).map(|node| leaving[node]).sum();
        candidates[cycle].push(Candidate {
            function: edge.caller,
            spot,
            is_own_cycle: calls_itself && is_same_way && needs_marker(placing, edge.effects),
            ways: sizes[edge.from - 2 * count] * goes_on,
            synchronizes,
        });
    }
    let lists = candidates.into_iter().zip(effects);
    lists.filter(|(_, effects)| needs_marker(placing, *effects)).map(|(list, _)| list).collect()
}
