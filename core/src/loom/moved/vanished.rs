//! Inlined copies that have no line any more.
//!
//! Where two branches do the same, optimization makes one of it, and debug info cannot say whose it is: it is of no line. If the
//! two were copies of an inlined function, nothing in the caller is known to be that function's code, so there is
//! no slot and no copy to compare. What is left is a caller that called it once, on a line that does so no more, and that now does
//! itself what only the function did. Without the latter the call was dead.

use super::{fits, Access, AccessKind, Line, OriginalFunction, Pair, Reason, Scope, Side, Text, UnitTable};
use std::collections::{BTreeSet, HashMap, HashSet};

/// What is accessed, or called.
type Effect = (AccessKind, Text);

fn effect(access: &Access) -> Effect {
    (access.kind, if access.kind == AccessKind::Call { access.callee } else { access.object })
}

/// Reports calls whose inlined copies are of no line, though the scope is in them.
pub(super) fn find(
    table: &UnitTable,
    by_name: &HashMap<Text, &OriginalFunction>,
    scope: Scope<'_>,
    found: &mut BTreeSet<Reason>,
) {
    let goals = goals(table, by_name, scope);
    if goals.is_empty() {
        return;
    }
    let effects = effects(table, by_name, scope, &goals);
    // Who is inlined with what he calls vanishes with it.
    let mut leading = goals;
    while let Some(more) = by_name
        .values()
        .find(|original| !leading.contains(&original.name) && calls_into(original, &leading).next().is_some())
    {
        leading.insert(more.name);
    }
    for late in table.functions.iter().filter(|late| late.limit.is_empty()) {
        let lines = late.points.iter().flat_map(|point| &table.chains[point.chain as usize]);
        let mut places: BTreeSet<(Text, u32)> = lines.map(|line| (line.function, line.copy)).collect();
        places.insert((late.name, 0));
        for (name, copy) in places {
            let Some(&original) = by_name.get(&name).filter(|_| leading.contains(&name)) else { continue };
            let pair = Pair {
                table,
                by_name,
                scope,
                before: Side::new(table, &original.points, &original.accesses, name, 0),
                after: Side::new(table, &late.points, &late.accesses, name, copy),
                late,
                copy,
            };
            let own: HashSet<Effect> = original.accesses.iter().map(effect).collect();
            let has_taken_over = pair.after.accesses.iter().any(|access| {
                let is_new = |&(kind, what): &Effect| {
                    fits(kind, access.kind) && what == effect(access).1 && !own.contains(&(kind, what))
                };
                pair.after.is_own(access) && effects.iter().any(is_new)
            });
            if !has_taken_over {
                continue;
            }
            for call in calls_into(original, &leading) {
                let Some(line) = pair.before.line(call) else { continue };
                if !pair.is_called(line) {
                    found.insert(Reason::Gone(pair.at(call, line)));
                }
            }
        }
    }
}

fn calls_into<'a>(
    original: &'a OriginalFunction,
    functions: &'a HashSet<Text>,
) -> impl Iterator<Item = &'a Access> {
    original
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Call && functions.contains(&access.callee))
}

/// The functions that the scope is in.
fn goals(table: &UnitTable, by_name: &HashMap<Text, &OriginalFunction>, scope: Scope<'_>) -> HashSet<Text> {
    match (scope.function, scope.range) {
        (Some(name), _) => HashSet::from([name]),
        (None, Some((file, first, last))) => {
            let is_in = |line: &Line| line.file == file && (line.line == first || line.line == last);
            let has = |original: &&&OriginalFunction| {
                original.points.iter().any(|point| table.chains[point.chain as usize].iter().any(is_in))
            };
            by_name.values().filter(has).map(|original| original.name).collect()
        }
        (None, None) => HashSet::new(),
    }
}

/// What the scope does, and what it calls does.
fn effects(
    table: &UnitTable,
    by_name: &HashMap<Text, &OriginalFunction>,
    scope: Scope<'_>,
    goals: &HashSet<Text>,
) -> HashSet<Effect> {
    let mut effects = HashSet::new();
    let mut called = Vec::new();
    let mut seen = HashSet::new();
    for original in goals.iter().filter_map(|name| by_name.get(name)) {
        for access in &original.accesses {
            let chain = &table.chains[original.points[access.point as usize].chain as usize];
            let is_in = scope.function.is_some()
                || scope.range.is_some_and(|(file, first, last)| {
                    chain.iter().any(|line| line.file == file && (first..=last).contains(&line.line))
                });
            if is_in {
                effects.insert(effect(access));
                called.push(access.callee);
            }
        }
    }
    while let Some(callee) = called.pop() {
        let Some(original) = by_name.get(&callee).filter(|_| seen.insert(callee)) else { continue };
        effects.extend(original.accesses.iter().map(effect));
        called.extend(original.accesses.iter().map(|access| access.callee));
    }
    effects
}
