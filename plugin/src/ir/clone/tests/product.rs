//! A small product graph for tests: synchronizations are those that `sync_site` knows.

use super::super::*;
use super::sync_site;
use std::collections::{HashMap, HashSet};

type State = (PieceId, usize);

/// Where control goes from a state; `None` if it leaves the schedule.
fn successors(template: &Template<'_>, items: &[u64], (piece, done): State) -> Option<Vec<State>> {
    let facts = &template.pieces[piece.0 as usize];
    let done = match facts.call.as_ref().and_then(sync_site) {
        Some(site) if items.get(done) == Some(&site) => done + 1,
        Some(_) => return None,
        None => done,
    };
    Some(facts.next.iter().map(|&next| (next, done)).collect())
}

/// A body that does exactly these synchronizations.
pub(super) fn straighten<'m>(
    template: &Template<'m>,
    module: Module<'m>,
    items: &[u64],
    guards: Guards,
) -> Body<'m> {
    let start = (PieceId(0), 0);
    let mut edges: HashMap<State, Vec<State>> = HashMap::new();
    let mut work = vec![start];
    while let Some(state) = work.pop() {
        if edges.contains_key(&state) {
            continue;
        }
        if let Some(next) = successors(template, items, state) {
            work.extend(&next);
            edges.insert(state, next);
        }
    }
    let accepts = |&(piece, done): &State| {
        let facts = &template.pieces[piece.0 as usize];
        done == items.len() && (facts.leaves.is_some() || facts.next.is_empty())
    };
    let mut before: HashMap<State, Vec<State>> = HashMap::new();
    for (&state, next) in &edges {
        next.iter().for_each(|&to| before.entry(to).or_default().push(state));
    }
    let mut live: HashSet<State> = HashSet::new();
    let mut work: Vec<State> = edges.keys().copied().filter(accepts).collect();
    while let Some(state) = work.pop() {
        if live.insert(state) {
            work.extend(before.get(&state).into_iter().flatten());
        }
    }
    assert!(live.contains(&start), "the synchronizations fit");
    let mut states: Vec<State> = live.iter().copied().collect();
    states.sort_by_key(|&(piece, done)| (done, piece));
    let numbers: HashMap<State, NodeId> =
        states.iter().enumerate().map(|(number, &state)| (state, NodeId(number as u32))).collect();
    let nodes = states
        .iter()
        .map(|state| Node {
            piece: state.0,
            next: edges[state]
                .iter()
                .map(|to| match numbers.get(to) {
                    Some(&node) => Target::Node(node),
                    None => Target::Trap(TrapId(state.1 as u32)),
                })
                .collect(),
            callee: Callee::Same,
            only_if: None,
            not_done: None,
            own_flag: false,
            escape: None,
            lands: Lands::Same,
            item: None,
            start: None,
        })
        .collect();
    let traps = (0..=items.len())
        .map(|done| {
            let expected = items.get(done).copied().unwrap_or(0);
            Trap { expected: SiteId(expected), text: format!("sync {expected} at p.c:{done} (f)") }
        })
        .collect();
    Body {
        nodes,
        traps,
        entry: numbers[&start],
        guards,
        not_covered: Some(module.not_covered().expect("the name is free")),
        sets_flag_at: Vec::new(),
    }
}
