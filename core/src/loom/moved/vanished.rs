//! Inlined copies that have no line any more.
//!
//! Where two branches do the same, optimization makes one of it, and debug info cannot say whose it is: it is of no line. If the
//! two were copies of an inlined function, nothing in the caller is known to be that function's code, so there is
//! no slot and no copy to compare. What is left is a caller that called it once, on a line that does so no more, and that now does
//! itself what only the function did. Without the latter the call was dead.

use super::{fits, Access, AccessKind, Line, OriginalFunction, Pair, Reason, Scope, Text, Unit};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What is accessed, or called.
type Effect = (AccessKind, Text);

const KINDS: [AccessKind; 4] = [AccessKind::Read, AccessKind::Write, AccessKind::Update, AccessKind::Call];

fn effect(access: &Access) -> Effect {
    (access.kind, if access.kind == AccessKind::Call { access.callee } else { access.object })
}

/// Reports calls whose inlined copies are of no line, though the scope is in them.
pub(super) fn find(unit: &Unit<'_>, scope: Scope<'_>, found: &mut BTreeSet<Reason>) {
    let goals = goals(unit, scope);
    if goals.is_empty() {
        return;
    }
    let effects = effects(unit, scope, &goals);
    let leading = leading(unit, goals);
    for late in unit.table.functions.iter().filter(|late| late.limit.is_empty()) {
        let depths = OnceCell::new();
        // By function and copy: what it does itself.
        let mut own: BTreeMap<(Text, u32), Vec<&Access>> = BTreeMap::new();
        for access in &late.accesses {
            let chain = &unit.table.chains[late.points[access.point as usize].chain as usize];
            let place = (access.function, access.copy);
            if leading.contains(&access.function)
                && chain.iter().any(|line| (line.function, line.copy) == place)
            {
                own.entry(place).or_default().push(access);
            }
        }
        for ((name, copy), accesses) in own {
            let Some(&original) = unit.by_name.get(&name) else { continue };
            let did: HashSet<Effect> = original.accesses.iter().map(effect).collect();
            let has_taken_over = accesses.iter().any(|access| {
                KINDS
                    .iter()
                    .map(|&kind| (kind, effect(access).1))
                    .any(|new| fits(new.0, access.kind) && effects.contains(&new) && !did.contains(&new))
            });
            if !has_taken_over {
                continue;
            }
            let pair = Pair::new(unit, scope, original, late, copy, &depths);
            for call in calls_into(original, &leading) {
                let Some(line) = pair.before.line(call) else { continue };
                if !pair.is_called(line) {
                    found.insert(Reason::Gone(pair.at(call, line)));
                }
            }
        }
    }
}

/// These functions, and who calls them: whoever is inlined with what he calls vanishes with it.
fn leading(unit: &Unit<'_>, goals: HashSet<Text>) -> HashSet<Text> {
    let mut callers: HashMap<Text, Vec<Text>> = HashMap::new();
    for original in unit.by_name.values() {
        for call in original.accesses.iter().filter(|access| access.kind == AccessKind::Call) {
            callers.entry(call.callee).or_default().push(original.name);
        }
    }
    let mut open: Vec<Text> = goals.iter().copied().collect();
    let mut leading = goals;
    while let Some(callee) = open.pop() {
        let more = callers.get(&callee).into_iter().flatten().copied();
        open.extend(more.filter(|&caller| leading.insert(caller)));
    }
    leading
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
fn goals(unit: &Unit<'_>, scope: Scope<'_>) -> HashSet<Text> {
    match (scope.function, scope.range) {
        (Some(name), _) => HashSet::from([name]),
        (None, Some((file, first, last))) => {
            let is_in = |line: &Line| line.file == file && (line.line == first || line.line == last);
            let has = |original: &&&OriginalFunction| {
                original.points.iter().any(|point| unit.table.chains[point.chain as usize].iter().any(is_in))
            };
            unit.by_name.values().filter(has).map(|original| original.name).collect()
        }
        (None, None) => HashSet::new(),
    }
}

/// What the scope does, and what it calls does.
fn effects(unit: &Unit<'_>, scope: Scope<'_>, goals: &HashSet<Text>) -> HashSet<Effect> {
    let mut effects = HashSet::new();
    let mut called = Vec::new();
    let mut seen = HashSet::new();
    for original in goals.iter().filter_map(|name| unit.by_name.get(name)) {
        for access in &original.accesses {
            let chain = &unit.table.chains[original.points[access.point as usize].chain as usize];
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
        let Some(original) = unit.by_name.get(&callee).filter(|_| seen.insert(callee)) else { continue };
        effects.extend(original.accesses.iter().map(effect));
        called.extend(original.accesses.iter().map(|access| access.callee));
    }
    effects
}

/// Tables by hand; programs that are compiled are in `plugin/src/tell/tests.rs` and `lit-tests`.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::loom::moved::reasons;
    use crate::loom::table::{Function, Point, PointKind, Precision, UnitTable, NONE};

    const STRINGS: [&str; 7] = ["add", "dir/a.c", "caller", "counter", "top", "inner", "other"];
    const ADD: Text = 0;
    const FILE: Text = 1;
    const CALLER: Text = 2;
    const COUNTER: Text = 3;
    const TOP: Text = 4;
    const INNER: Text = 5;
    const OTHER: Text = 6;

    /// A function's code: what each of its points does, on which lines. A line of 0 is none of the code's own.
    #[derive(Default)]
    struct Code {
        chains: Vec<Vec<Line>>,
        accesses: Vec<Access>,
    }

    impl Code {
        /// On a line of `function`.
        fn does(self, function: Text, line: u32, kind: AccessKind, what: Text) -> Self {
            self.does_in(&[(function, line, 0)], line, kind, what)
        }

        /// What has no line any more, among code of `function` on a line.
        fn does_somewhere(self, function: Text, near: u32, kind: AccessKind, what: Text) -> Self {
            self.does_in(&[(function, near, 0)], 0, kind, what)
        }

        /// In a chain of lines, innermost first: function, line, copy.
        fn does_in(mut self, chain: &[(Text, u32, u32)], line: u32, kind: AccessKind, what: Text) -> Self {
            let (function, _, copy) = chain[0];
            let is_call = kind == AccessKind::Call;
            self.accesses.push(Access {
                point: self.chains.len() as u32 + 1,
                function,
                copy,
                file: FILE,
                line,
                kind,
                depth: 0,
                bytes: if is_call { 0 } else { 4 },
                callee: if is_call { what } else { NONE },
                object: if is_call { NONE } else { what },
                place: if is_call { 0 } else { what },
                vector: false,
                local: false,
                ends: false,
            });
            let of = |&(function, line, copy): &(Text, u32, u32)| Line { function, file: FILE, line, copy };
            self.chains.push(chain.iter().map(of).collect());
            self
        }
    }

    #[derive(Default)]
    struct Tables {
        chains: Vec<Vec<Line>>,
        originals: Vec<OriginalFunction>,
        functions: Vec<Function>,
    }

    impl Tables {
        /// One point after the other, between entry and return.
        fn points(&mut self, name: Text, chains: Vec<Vec<Line>>) -> Vec<Point> {
            let last = chains.len() as u32 + 1;
            let edge = vec![Line { function: name, file: FILE, line: 1, copy: 0 }];
            let chains = std::iter::once(edge.clone()).chain(chains).chain([edge]);
            let kind = |number| match number {
                0 => PointKind::Entry { location: NONE },
                _ if number == last => PointKind::Return,
                _ => PointKind::Join,
            };
            let mut points = Vec::new();
            for (number, chain) in (0..).zip(chains) {
                let next = if number == last { vec![] } else { vec![number + 1] };
                points.push(Point { kind: kind(number), chain: self.chains.len() as u32, next });
                self.chains.push(chain);
            }
            points
        }

        fn before(mut self, name: Text, code: Code) -> Self {
            let points = self.points(name, code.chains);
            self.originals.push(OriginalFunction { name, points, accesses: code.accesses });
            self
        }

        fn after(mut self, name: Text, code: Code, limit: &str) -> Self {
            let points = self.points(name, code.chains);
            self.functions.push(Function {
                name,
                id: name.into(),
                file: FILE,
                line: 1,
                internal: false,
                address_taken: false,
                shape: 0,
                limit: limit.into(),
                points,
                variables: vec![],
                accesses: code.accesses,
            });
            self
        }

        /// What is said of a filter on the function, and on line 3.
        fn says(self, function: Text) -> Vec<String> {
            let table = UnitTable {
                unit: "a.c".into(),
                precision: Precision::Late,
                is_for_lto: false,
                strings: STRINGS.map(String::from).to_vec(),
                chains: self.chains,
                functions: self.functions,
                taken: vec![],
                original: Some(self.originals),
            };
            let text =
                |scope| -> Vec<String> { reasons(&table, scope).iter().map(Reason::to_string).collect() };
            let of_function = text(Scope { functions: &[], function: Some(function), range: None });
            let of_line = text(Scope { functions: &[], function: None, range: Some((FILE, 3, 3)) });
            assert_eq!(of_function, of_line);
            let elsewhere = text(Scope { functions: &[], function: None, range: Some((FILE, 99, 99)) });
            assert_eq!(elsewhere, [""; 0]);
            of_function
        }
    }

    fn gone(callee: &str, line: u32) -> String {
        format!(
            "optimization moved the call of {callee} at a.c:{line} away: \
             the value is read earlier, written later, or kept in a register"
        )
    }

    /// `add` writes the counter on line 3; `caller` calls it on lines 10 and 12, in two branches.
    fn two_branches() -> Tables {
        let calls =
            Code::default().does(CALLER, 10, AccessKind::Call, ADD).does(CALLER, 12, AccessKind::Call, ADD);
        Tables::default()
            .before(ADD, Code::default().does(ADD, 3, AccessKind::Write, COUNTER))
            .before(CALLER, calls)
    }

    #[test]
    fn two_copies_that_became_one_of_no_line_are_missed() {
        for kind in [AccessKind::Write, AccessKind::Update] {
            let merged = Code::default().does_somewhere(CALLER, 9, kind, COUNTER);
            let said = two_branches().after(CALLER, merged, "").says(ADD);
            assert_eq!(said, [gone("add", 10), gone("add", 12)]);
        }
    }

    #[test]
    fn a_line_that_still_calls_or_has_the_code_is_not_missed() {
        let called = Code::default().does_somewhere(CALLER, 9, AccessKind::Write, COUNTER).does(
            CALLER,
            10,
            AccessKind::Call,
            ADD,
        );
        assert_eq!(two_branches().after(CALLER, called, "").says(ADD), [gone("add", 12)]);
        let inlined = Code::default().does_somewhere(CALLER, 9, AccessKind::Write, COUNTER).does_in(
            &[(ADD, 3, 1), (CALLER, 12, 0)],
            3,
            AccessKind::Write,
            COUNTER,
        );
        assert_eq!(two_branches().after(CALLER, inlined, "").says(ADD), [gone("add", 10)]);
    }

    #[test]
    fn a_call_that_was_dead_is_not_missed() {
        for (kind, what) in [(AccessKind::Write, OTHER), (AccessKind::Read, COUNTER)] {
            let without = Code::default().does_somewhere(CALLER, 9, kind, what);
            assert_eq!(two_branches().after(CALLER, without, "").says(ADD), [""; 0]);
        }
    }

    #[test]
    fn what_the_caller_did_itself_tells_nothing() {
        let calls = Code::default().does(CALLER, 9, AccessKind::Write, COUNTER).does(
            CALLER,
            10,
            AccessKind::Call,
            ADD,
        );
        let unit = Tables::default()
            .before(ADD, Code::default().does(ADD, 3, AccessKind::Write, COUNTER))
            .before(CALLER, calls);
        let now = Code::default().does(CALLER, 9, AccessKind::Write, COUNTER);
        assert_eq!(unit.after(CALLER, now, "").says(ADD), [""; 0]);
    }

    #[test]
    fn what_it_calls_counts_as_its_own() {
        let unit = Tables::default()
            .before(INNER, Code::default().does(INNER, 30, AccessKind::Write, COUNTER))
            .before(ADD, Code::default().does(ADD, 3, AccessKind::Call, INNER))
            .before(CALLER, Code::default().does(CALLER, 10, AccessKind::Call, ADD));
        let merged = Code::default().does_somewhere(CALLER, 9, AccessKind::Write, COUNTER);
        assert_eq!(unit.after(CALLER, merged, "").says(ADD), [gone("add", 10)]);
    }

    #[test]
    fn who_was_inlined_with_what_it_called_is_missed_where_it_was_called() {
        let top = Code::default().does(TOP, 20, AccessKind::Call, CALLER);
        let merged = Code::default().does_somewhere(TOP, 19, AccessKind::Write, COUNTER);
        let said = two_branches().before(TOP, top).after(TOP, merged, "").says(ADD);
        assert_eq!(said, [gone("caller", 20)]);
    }

    #[test]
    fn an_inlined_caller_is_looked_at_where_it_is() {
        // `caller` is in `top`, and what was `add` in it is of none of its lines.
        let inside = [(CALLER, 9, 1), (TOP, 20, 0)];
        let merged = Code::default().does_in(&inside, 0, AccessKind::Write, COUNTER);
        let top = Code::default().does(TOP, 20, AccessKind::Call, CALLER);
        let said = two_branches().before(TOP, top).after(TOP, merged, "").says(ADD);
        let inlined = |line| gone("add", line).replace(" away", ", inlined into top, away");
        assert_eq!(said, [inlined(10), inlined(12)]);
    }

    #[test]
    fn functions_without_slots_are_left_alone() {
        let merged = Code::default().does_somewhere(CALLER, 9, AccessKind::Write, COUNTER);
        assert_eq!(two_branches().after(CALLER, merged, "it calls setjmp").says(ADD), [""; 0]);
    }
}
