//! Regions that are a whole function: what optimization did inside of a function stays inside.
//!
//! The region begins when the function is called and ends when it returns, so it covers whatever the call does, in whichever
//! order, as often as it may be, on lines or on none. Only what leaves the function leaves the region:
//! - inlining; an inlined copy is compared as before, for its first and last line may be gone;
//! - promotion of arguments: where the function only read through one of its pointers, callers read and give it the value. That is
//!   done to functions all of whose calls are known, and to all reads of a place, or none;
//! - a coroutine's parts, which run when the function has returned: functions named `F.resume` and so on.
//!
//! LLVM has no pass that moves a write, or an access of a variable that has a name, from a function to its callers.

use super::{reads, Access, AccessKind, Pair, PointKind, NONE};
use crate::loom::table::Point;

/// Whether the region is this function, from its first slot to its last ones, and nothing is done before or after.
pub(super) fn is_covered(pair: &Pair<'_>) -> bool {
    pair.scope.function == Some(pair.late.name) && !has_parts(pair) && !is_left_early(pair)
}

/// Whether an access that is not on its line any more is still done by the function, if at all. The function is covered.
pub(super) fn is_inside(pair: &Pair<'_>, access: &Access) -> bool {
    let may_be_promoted = pair.late.internal
        && !pair.late.address_taken
        && !access.local
        && access.kind == AccessKind::Read
        && access.object == NONE;
    let is_read = |other: &Access| reads(other.kind) && other.place == access.place;
    !may_be_promoted || access.place != 0 && pair.after.accesses.iter().any(is_read)
}

/// Whether there are functions that were made of this one.
fn has_parts(pair: &Pair<'_>) -> bool {
    let table = pair.unit.table;
    let text = |name: u32| table.strings.get(name as usize).map_or("", String::as_str);
    let own = text(pair.late.name);
    let is_part = |name: &str| name.strip_prefix(own).is_some_and(|rest| rest.starts_with('.'));
    table.functions.iter().any(|function| is_part(text(function.name)))
}

/// Whether something is accessed before the first slots, or after the last ones.
fn is_left_early(pair: &Pair<'_>) -> bool {
    let points = pair.after.points;
    let mut previous = vec![Vec::new(); points.len()];
    for (number, point) in points.iter().enumerate() {
        point.next.iter().for_each(|&next| previous[next as usize].push(number));
    }
    let is_slot = |point: &Point| matches!(point.kind, PointKind::Slot { .. });
    let mut outside = vec![false; points.len()];
    let mut open = vec![0];
    while let Some(number) = open.pop() {
        let is_known = outside.get(number).is_none_or(|&known| known);
        if !is_known && !is_slot(&points[number]) {
            outside[number] = true;
            open.extend(points[number].next.iter().map(|&next| next as usize));
        }
    }
    // What follows a slot belongs to it.
    let mut seen = vec![false; points.len()];
    let is_end = |number: &usize| matches!(points[*number].kind, PointKind::Return | PointKind::Unwind);
    let mut open: Vec<usize> = (0..points.len()).filter(is_end).collect();
    while let Some(number) = open.pop() {
        if std::mem::replace(&mut seen[number], true) {
            continue;
        }
        outside[number] = true;
        // Where an exception passes a call, the call is inside.
        let is_unwind = points[number].kind == PointKind::Unwind;
        let passes = |before: &&usize| !is_unwind || !matches!(points[**before].kind, PointKind::Call { .. });
        if !is_slot(&points[number]) {
            open.extend(previous[number].iter().filter(passes));
        }
    }
    pair.after.accesses.iter().any(|access| outside[access.point as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loom::moved::{reasons, Reason, Scope};
    use crate::loom::table::{Function, Line, OriginalFunction, Precision, Text, UnitTable};

    const STRINGS: [&str; 5] = ["f", "dir/a.c", "caller", "counter", "f.resume"];
    const F: Text = 0;
    const FILE: Text = 1;
    const CALLER: Text = 2;
    const COUNTER: Text = 3;
    const RESUME: Text = 4;

    fn access(point: u32, line: u32, kind: AccessKind, object: Text, place: u32) -> Access {
        Access {
            point,
            function: F,
            copy: 0,
            file: FILE,
            line,
            kind,
            depth: 0,
            bytes: 4,
            callee: NONE,
            object,
            place,
            vector: false,
            local: false,
            ends: false,
        }
    }

    /// Chain 1 is line 3 of `f`, chain 2 its line 4, chain 3 line 3 of a copy of `f` in line 9 of `caller`.
    fn table(before: Vec<Access>, after: Vec<Access>) -> UnitTable {
        let line = |function, line, copy| Line { function, file: FILE, line, copy };
        let slot = |from| PointKind::Slot { slot: from, from, available: vec![] };
        let point = |kind, chain, next: &[u32]| Point { kind, chain, next: next.to_vec() };
        let points = vec![
            point(PointKind::Entry { location: NONE }, 0, &[1]),
            point(slot(0), 1, &[2]),
            point(slot(1), 2, &[3]),
            point(slot(2), 0, &[4]),
            point(PointKind::Return, 0, &[]),
        ];
        let f = Function {
            name: F,
            id: 1,
            file: FILE,
            line: 1,
            internal: false,
            address_taken: false,
            shape: 0,
            limit: String::new(),
            points: points.clone(),
            variables: vec![],
            accesses: after,
        };
        UnitTable {
            unit: "a.c".into(),
            precision: Precision::Late,
            is_for_lto: false,
            strings: STRINGS.map(String::from).to_vec(),
            chains: vec![
                vec![],
                vec![line(F, 3, 0)],
                vec![line(F, 4, 0)],
                vec![line(F, 3, 1), line(CALLER, 9, 0)],
            ],
            functions: vec![f],
            taken: vec![],
            original: Some(vec![OriginalFunction { name: F, points, accesses: before }]),
        }
    }

    fn of_function(table: &UnitTable) -> Vec<Reason> {
        reasons(table, Scope { functions: &[0], function: Some(F), range: None })
    }

    fn of_line(table: &UnitTable) -> Vec<Reason> {
        reasons(table, Scope { functions: &[0], function: None, range: Some((FILE, 3, 3)) })
    }

    /// Line 3 has read through a pointer what line 4 reads now, by another expression.
    fn merged() -> UnitTable {
        let read = |point, line, place| access(point, line, AccessKind::Read, NONE, place);
        table(vec![read(1, 3, 7)], vec![read(2, 4, 8)])
    }

    #[test]
    fn what_was_merged_in_the_function_is_inside_and_not_on_its_line() {
        assert_eq!(of_function(&merged()), []);
        assert!(matches!(of_line(&merged())[..], [Reason::Gone(_)]));
    }

    #[test]
    fn what_became_several_or_left_its_loop_is_inside() {
        let was = Access { depth: 1, ..access(1, 3, AccessKind::Write, NONE, 7) };
        let vector = Access { vector: true, bytes: 16, depth: 1, ..was };
        let hoisted = Access { depth: 0, ..was };
        for is in [vector, hoisted] {
            let table = table(vec![was], vec![is]);
            assert_eq!(of_function(&table), []);
            assert!(matches!(of_line(&table)[..], [Reason::Several(_) | Reason::OutOfLoop(_)]), "{is:?}");
        }
    }

    #[test]
    fn callers_that_are_all_known_may_read_instead() {
        let mut internal = merged();
        internal.functions[0].internal = true;
        assert!(matches!(of_function(&internal)[..], [Reason::Gone(_)]));
        // Not if others call it too.
        internal.functions[0].address_taken = true;
        assert_eq!(of_function(&internal), []);
        internal.functions[0].address_taken = false;
        // Nor if it still reads that place itself.
        internal.functions[0].accesses[0].place = 7;
        assert_eq!(of_function(&internal), []);
    }

    #[test]
    fn another_read_on_the_line_does_not_stand_for_the_one_that_callers_do() {
        let read = |place| access(1, 3, AccessKind::Read, NONE, place);
        let mut table = table(vec![read(6), read(7)], vec![read(6)]);
        table.functions[0].internal = true;
        assert!(matches!(of_function(&table)[..], [Reason::Gone(_)]));
        // Nor does the read of a variable whose expression is another now.
        table.original.as_mut().unwrap()[0].accesses[0].object = COUNTER;
        table.functions[0].accesses[0] = access(1, 3, AccessKind::Read, COUNTER, 8);
        assert!(matches!(of_function(&table)[..], [Reason::Gone(_)]));
    }

    #[test]
    fn callers_do_not_write_nor_read_variables_instead() {
        for (kind, object) in [(AccessKind::Write, NONE), (AccessKind::Read, COUNTER)] {
            let mut table = table(vec![access(1, 3, kind, object, 7)], vec![access(2, 4, kind, object, 8)]);
            table.functions[0].internal = true;
            assert_eq!(of_function(&table), []);
        }
    }

    #[test]
    fn accesses_before_the_first_slot_or_after_the_last_are_outside() {
        for (point, expected) in [(0, 1), (2, 0), (3, 1)] {
            let mut table = merged();
            table.functions[0].accesses[0].point = point;
            assert_eq!(of_function(&table).len(), expected, "{point}");
        }
    }

    #[test]
    fn coroutines_are_not_trusted() {
        let mut table = merged();
        let part = Function { name: RESUME, id: 2, ..table.functions[0].clone() };
        table.functions.push(part);
        assert!(matches!(of_function(&table)[..], [Reason::Gone(_)]));
    }

    #[test]
    fn inlined_copies_are_compared_line_by_line() {
        let mut table = merged();
        let mut caller = Function { name: CALLER, id: 2, ..table.functions[0].clone() };
        caller.points[1].chain = 3;
        caller.points[2].chain = 0;
        caller.accesses.clear();
        table.functions.push(caller);
        let found = reasons(&table, Scope { functions: &[0, 1], function: Some(F), range: None });
        assert!(matches!(&found[..], [Reason::Gone(at)] if at.inlined_into == "caller"), "{found:?}");
    }
}
