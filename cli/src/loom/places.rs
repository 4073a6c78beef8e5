//! Locations of threads in words: the unit's table says what is there.

use crate::names::demangle;
use covsched_core::loom::compile::{LinkedUnit, Program};
use covsched_core::loom::table::{Function, Line, Point, PointKind, Target, NONE};
use covsched_core::loom::wire::{self, ThreadAt};
use serde_json::{json, Value};

/// What is at a location.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Empty if not known.
    pub file: String,
    /// 0 if not known.
    pub line: u32,
    /// Demangled; that of the line, which may be inlined.
    pub function: String,
    /// For a call, what is called; empty if not known.
    pub callee: String,
    /// Of a line in a header of the system that is inlined: the program's own line, and its function.
    pub own: Option<(String, u32, String)>,
    pub kind: PlaceKind,
}

/// What kind of place it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlaceKind {
    Entry,
    Loop,
    Call,
    Slot,
    #[default]
    Unknown,
}

/// A location's place; an unknown one if no unit has it.
pub fn find(program: &Program, unit: u64, location: u32) -> Place {
    let of = |found: &&LinkedUnit| found.hash == unit;
    program.units.iter().find(of).and_then(|unit| in_unit(unit, location)).unwrap_or_default()
}

fn in_unit(unit: &LinkedUnit, location: u32) -> Option<Place> {
    let base = unit.slot_base();
    let at = |point: &&Point| match &point.kind {
        PointKind::Entry { location: at } | PointKind::Check { location: at } => {
            *at != NONE && *at == location
        }
        PointKind::Call { location: at, .. } => *at != NONE && *at == location,
        PointKind::Slot { slot, .. } => base.checked_add(*slot) == Some(location),
        _ => false,
    };
    unit.table
        .functions
        .iter()
        .find_map(|function| function.points.iter().find(at).map(|point| place(unit, function, point)))
}

fn place(unit: &LinkedUnit, function: &Function, point: &Point) -> Place {
    let table = &unit.table;
    let text = |at: u32| table.strings.get(at as usize).map_or("", String::as_str);
    let chain = |at: u32| table.chains.get(at as usize).filter(|chain| !chain.is_empty());
    let (kind, line, callee) = match &point.kind {
        PointKind::Entry { .. } => (PlaceKind::Entry, None, String::new()),
        PointKind::Check { .. } => (PlaceKind::Loop, chain(point.chain), String::new()),
        // Before a return there is no line to come.
        PointKind::Slot { from, .. } => {
            (PlaceKind::Slot, chain(point.chain).or_else(|| chain(*from)), String::new())
        }
        PointKind::Call { target, .. } => {
            let callee = match target {
                Target::Named(name) => demangle(text(*name)),
                Target::Shape(_) | Target::Shapes(_) => String::new(),
                Target::Asm => "asm".to_owned(),
            };
            (PlaceKind::Call, chain(point.chain), callee)
        }
        _ => (PlaceKind::Unknown, None, String::new()),
    };
    let at = |line: &Line| (text(line.file).to_owned(), line.line, demangle(text(line.function)));
    match line {
        Some(lines) => {
            let own = lines.iter().find(|line| !is_of_system(text(line.file)));
            let (file, line, function) = at(&lines[0]);
            let own = own.filter(|_| is_of_system(&file)).map(at);
            Place { file, line, function, callee, own, kind }
        }
        None => Place {
            file: text(function.file).to_owned(),
            line: function.line,
            function: demangle(text(function.name)),
            callee,
            own: None,
            kind,
        },
    }
}

/// Whether a file came with the compiler or a library: `/usr/include`, also as `/usr/bin/../lib/gcc/.../include/c++`.
fn is_of_system(file: &str) -> bool {
    file.starts_with("/usr/") && file.contains("/include/")
}

impl Place {
    /// `server.c:51 in handle`.
    pub fn words(&self) -> String {
        match (self.file.is_empty(), self.function.is_empty()) {
            (true, true) => "a place that is not known".to_owned(),
            (true, false) => self.function.clone(),
            (false, true) => format!("{}:{}", self.file, self.line),
            (false, false) => {
                let own = self.own.as_ref();
                let own =
                    own.map(|(file, line, function)| format!(", inlined at {file}:{line} in {function}"));
                format!("{}:{} in {}{}", self.file, self.line, self.function, own.unwrap_or_default())
            }
        }
    }
}

/// One word for [`ThreadAt::state`], as JSON has it.
pub fn state_name(state: u32) -> &'static str {
    match state {
        wire::AT_CALL => "call",
        wire::AT_CHECK => "check",
        wire::AT_SLOT => "slot",
        wire::AT_NOWHERE => "running",
        wire::AT_HANDLER => "handler",
        wire::AT_OUTSIDE => "outside",
        wire::AT_BIRTH => "new",
        _ => "unknown",
    }
}

/// What a thread does there.
pub fn state_words(thread: &ThreadAt, place: &Place) -> String {
    match thread.state {
        wire::AT_CALL if place.callee.is_empty() => format!("is in a call at {}", place.words()),
        wire::AT_CALL => format!("is in {} at {}", call(&place.callee), place.words()),
        wire::AT_CHECK if place.kind == PlaceKind::Loop => {
            format!("is paused in the loop at {}", place.words())
        }
        wire::AT_CHECK => format!("is paused at {}", place.words()),
        wire::AT_SLOT => format!("waits for a filter at {}", place.words()),
        wire::AT_NOWHERE if place.kind == PlaceKind::Unknown => "runs".to_owned(),
        wire::AT_NOWHERE => format!("runs; it was last seen at {}", place.words()),
        wire::AT_HANDLER => "is in a signal handler".to_owned(),
        wire::AT_OUTSIDE => "is in code that was compiled without --loom".to_owned(),
        wire::AT_BIRTH => format!("was created at {}, and has not begun", place.words()),
        state => format!("is in a state that this covsched does not know ({state})"),
    }
}

fn call(callee: &str) -> String {
    // Demangled names have their parameters.
    if callee.ends_with(')') || callee == "asm" {
        callee.to_owned()
    } else {
        format!("{callee}()")
    }
}

/// For `--format json`.
pub fn thread_json(thread: &ThreadAt, place: &Place) -> Value {
    let known = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
    json!({
        "thread": thread.thread,
        "state": state_name(thread.state),
        "file": known(&place.file),
        "line": if place.line == 0 { Value::Null } else { place.line.into() },
        "function": known(&place.function),
        "callee": known(&place.callee),
        "inlined_at": place.own.as_ref().map(|(file, line, function)| {
            json!({ "file": file, "line": line, "function": function })
        }),
        "in_the_way": thread.in_the_way != 0,
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use covsched_core::loom::table::{Precision, UnitTable};

    /// A unit with the hash 7: main, line 1 on, has its entry at location 0, read at 1 (line 4) and slot 0 at 2 (line 5).
    pub fn program() -> Program {
        let line = |line| vec![Line { function: 1, file: 0, line, copy: 0 }];
        let point = |kind, chain| Point { kind, chain, next: vec![] };
        let points = vec![
            point(PointKind::Entry { location: 0 }, 0),
            point(
                PointKind::Call { target: Target::Named(2), location: 1, starts: vec![], is_last: false },
                1,
            ),
            point(PointKind::Slot { slot: 0, from: 1, available: vec![] }, 2),
            point(PointKind::Check { location: NONE }, 2),
        ];
        let function = Function {
            name: 1,
            id: 1,
            file: 0,
            line: 1,
            internal: false,
            address_taken: false,
            shape: 0,
            limit: String::new(),
            points,
            variables: vec![],
            accesses: vec![],
        };
        let table = UnitTable {
            unit: "a.c".into(),
            precision: Precision::Late,
            is_for_lto: false,
            strings: ["a.c", "main", "read"].map(String::from).to_vec(),
            chains: vec![vec![], line(4), line(5)],
            functions: vec![function],
            taken: vec![],
            original: None,
        };
        let unit = LinkedUnit {
            table,
            hash: 7,
            address: 0,
            file: 0,
            function_count: 1,
            location_count: 3,
            slot_count: 1,
        };
        Program { units: vec![unit] }
    }

    #[test]
    fn locations_have_lines_and_callees() {
        let program = program();
        let words = |location| find(&program, 7, location).words();
        assert_eq!([0, 1, 2].map(words), ["a.c:1 in main", "a.c:4 in main", "a.c:5 in main"]);
        assert_eq!(find(&program, 7, 1).callee, "read");
        for (unit, location) in [(7, 3), (7, NONE), (8, 0), (0, 0)] {
            assert_eq!(find(&program, unit, location), Place::default());
        }
    }

    #[test]
    fn a_line_of_the_system_has_one_of_the_program_too() {
        let mut program = program();
        let table = &mut program.units[0].table;
        table.strings.extend(["/usr/include/stdio.h", "getchar"].map(String::from));
        table.chains[1].insert(0, Line { function: 4, file: 3, line: 49, copy: 1 });
        let place = find(&program, 7, 1);
        assert_eq!(place.words(), "/usr/include/stdio.h:49 in getchar, inlined at a.c:4 in main");
        let thread = ThreadAt { unit: 7, location: 1, thread: 1, state: wire::AT_CALL, in_the_way: 0 };
        let value = thread_json(&thread, &place);
        assert_eq!((&value["line"], &value["inlined_at"]["line"]), (&json!(49), &json!(4)));
        assert_eq!(thread_json(&thread, &find(&program, 7, 2))["inlined_at"], Value::Null);
    }

    #[test]
    fn states_have_words() {
        let program = program();
        let words = |state, location| {
            let thread = ThreadAt { unit: 7, location, thread: 1, state, in_the_way: 0 };
            state_words(&thread, &find(&program, 7, location))
        };
        assert_eq!(words(wire::AT_CALL, 1), "is in read() at a.c:4 in main");
        assert_eq!(words(wire::AT_CHECK, 0), "is paused at a.c:1 in main");
        assert_eq!(words(wire::AT_SLOT, 2), "waits for a filter at a.c:5 in main");
        assert_eq!(words(wire::AT_NOWHERE, 9), "runs");
    }
}
