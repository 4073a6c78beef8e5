//! `show --format json`: the keys are a contract (docs/schedules.md). One event a line.

use super::View;
use covsched_core::hooks::Op;
use covsched_core::schedule::{text, Completeness, Phase};
use serde::Serialize;
use serde_json::{json, to_writer};
use std::io::{self, Write};

#[derive(Serialize)]
struct ThreadRow<'a> {
    id: String,
    /// The thread's function.
    entry: Option<&'a str>,
    parent: Option<String>,
    nth: u32,
}

#[derive(Serialize)]
struct EventRow<'a> {
    seq: usize,
    thread: &'a str,
    op: &'a str,
    phase: &'a str,
    kind: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    function: Option<&'a str>,
    site: Option<String>,
    object: Option<&'a str>,
    child: Option<&'a str>,
    result: Option<i32>,
    /// For a wait's end: the `seq` of the signal or broadcast that ended it.
    waker: Option<u64>,
    /// Of a later version.
    epoch: Option<u32>,
}

pub(super) fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let schedule = view.schedule;
    let threads: Vec<ThreadRow<'_>> = schedule
        .threads
        .iter()
        .enumerate()
        .map(|(number, thread)| ThreadRow {
            id: format!("t{number}"),
            entry: thread.entry.and_then(|site| view.place(site)).map(|place| place.function.as_str()),
            parent: thread.parent.map(|parent| parent.to_string()),
            nth: thread.nth,
        })
        .collect();
    let complete = schedule.completeness == Completeness::Complete;
    write!(out, "{{\"version\":{},\"command\":{},", text::VERSION, json!(schedule.command))?;
    write!(out, "\"complete\":{complete},\"threads\":[")?;
    for (number, thread) in threads.iter().enumerate() {
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        to_writer(&mut *out, thread)?;
    }
    out.write_all(b"],\n\"events\":[")?;
    for (number, (seq, event)) in view.events().enumerate() {
        let place = view.place(event.site);
        let known = |text: &&str| !text.is_empty();
        let row = EventRow {
            seq,
            thread: &threads[event.thread.0 as usize].id,
            op: match place {
                Some(place) if event.op == Op::derived => &place.callee,
                _ => event.op.name(),
            },
            phase: match event.phase {
                Phase::Both => "both",
                Phase::Begin => "begin",
                Phase::End => "end",
            },
            kind: event.kind().name(),
            file: place.map(|place| place.site.file.as_str()).filter(known),
            line: place.map(|place| place.site.line).filter(|&line| line != 0),
            function: place.map(|place| place.function.as_str()).filter(known),
            site: place.map(|place| place.site.id.to_string()),
            object: event.object.map(|object| view.objects[object.0 as usize].as_str()),
            child: event.child.map(|child| threads[child.0 as usize].id.as_str()),
            result: event.result,
            waker: event.waker.map(|waker| waker.0),
            epoch: None,
        };
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        to_writer(&mut *out, &row)?;
    }
    out.write_all(b"\n]}\n")
}
