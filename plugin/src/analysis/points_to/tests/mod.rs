//! Tests of the whole analysis: IR in, what its printer says out; and runs in which every pointer must be in its set.

mod effects;
mod flow;
mod library;
mod machine;
mod random;

use super::limits::Limits;
use super::print::Printer;
use super::{Map, ObjectSet, PointsTo};
use crate::ir::code::{Call, Callee, Code, Op, Summaries};
use crate::testing::{complaints, LAYOUT};
use std::collections::BTreeMap;

/// Does something with a program and its analysis.
fn analysed<R>(ir: &str, look: impl FnOnce(&Code<'_>, &PointsTo) -> R) -> R {
    analysed_within(ir, Limits::default(), look)
}

/// The same with limits other than usual.
fn analysed_within<R>(ir: &str, limits: Limits, look: impl FnOnce(&Code<'_>, &PointsTo) -> R) -> R {
    let mut found = None;
    let reported = complaints(&format!("{LAYOUT}{ir}"), |module| {
        let code = Code::of(module, &Summaries::default());
        found = Some(look(&code, &PointsTo::within(&code, &Map::default(), limits)));
    });
    assert_eq!(reported, [""; 0]);
    found.expect("the module was looked at")
}

/// What is said of a program, by what it is said of: `main %p` points to, `main calls` f, `main memcpy reads` a.
fn said(ir: &str) -> BTreeMap<String, Vec<String>> {
    analysed(ir, |code, points_to| {
        let printer = Printer { code, points_to };
        let mut said = BTreeMap::new();
        let mut say = |subject: String, objects: Vec<String>| {
            let all: &mut Vec<String> = said.entry(subject).or_default();
            all.extend(objects);
            all.sort();
            all.dedup();
        };
        for line in printer.sets().lines() {
            let line = line.strip_prefix("- ").expect("no line numbers in tests");
            let (subject, objects) = match line.split_once(" -> ") {
                Some((register, objects)) => (register.to_owned(), objects),
                None => {
                    let (function, objects) = line.split_once(" calls ").expect("a call");
                    (format!("{function} calls"), objects)
                }
            };
            say(subject, objects.split(", ").map(str::to_owned).collect());
        }
        let named = |set: ObjectSet| set.iter().map(|object| printer.object(object)).collect::<Vec<_>>();
        for (inst, data) in code.insts.iter().enumerate() {
            let Op::Call(Call { callee: Callee::Function(callee), .. }) = data.op else { continue };
            let inst = crate::ir::code::InstId(inst as u32);
            let (caller, callee) = (&code.function(code.function_of(inst)).name, &code.function(callee).name);
            say(format!("{caller} {callee} reads"), named(points_to.reads(inst)));
            say(format!("{caller} {callee} writes"), named(points_to.writes(inst)));
            let names =
                |functions: &[_]| functions.iter().map(|&id| code.function(id).name.clone()).collect();
            say(format!("{caller} {callee} starts"), names(points_to.starts(inst)));
        }
        for (what, functions) in
            [("floating", points_to.floating()), ("constructors", points_to.constructors())]
        {
            say(what.to_owned(), functions.iter().map(|&id| code.function(id).name.clone()).collect());
        }
        let escaped = (0..points_to.objects().len() as u32).map(super::ObjectId);
        say(
            "escaped".to_owned(),
            escaped.filter(|&id| points_to.has_escaped(id)).map(|id| printer.object(id)).collect(),
        );
        said
    })
}

/// Each line `SUBJECT: OBJECTS` is said of a program; `nothing` is an empty list, `...` at the end allows for more.
fn expect(ir: &str, lines: &str) {
    let said = said(ir);
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (subject, expected) = line.split_once(": ").expect("SUBJECT: OBJECTS");
        let found = said.get(subject).cloned().unwrap_or_default();
        let (expected, is_part) = match expected.strip_suffix(", ...") {
            Some(part) => (part, true),
            None => (expected, false),
        };
        let mut expected: Vec<&str> = expected.split(", ").filter(|&name| name != "nothing").collect();
        expected.sort_unstable();
        let fits = if is_part {
            expected.iter().all(|name| found.iter().any(|found| found == name))
        } else {
            found == expected
        };
        assert!(fits, "{subject}: {expected:?} is expected, found {found:?} in {ir}");
    }
}

/// The same for a main with this body, which may use `%n`, an integer, and `@a`, `@b`, `@c`, arrays of 4 pointers.
fn expect_main(outside: &str, body: &str, lines: &str) {
    let ir = format!(
        "@a = internal global [4 x ptr] zeroinitializer\n@b = internal global [4 x ptr] zeroinitializer\n\
         @c = internal global [4 x ptr] zeroinitializer\n{outside}\n\
         define i32 @main(i32 %n) {{\n{body}\n  ret i32 0\n}}"
    );
    expect(&ir, lines);
}
