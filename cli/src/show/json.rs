//! `show --format json`: the keys are a contract (docs/schedules.md). One event a line.

use super::View;
use covsched_core::hooks::Op;
use covsched_core::schedule::{Boundary, Completeness, EpochBoundary, Phase};
use covsched_core::ThreadId;
use serde::Serialize;
use serde_json::{json, to_writer};
use std::io::{self, Write};

/// Version of this format. Keys may be added within one.
const VERSION: u32 = 1;

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
    /// Null in a schedule without epochs.
    epoch: Option<u64>,
}

#[derive(Serialize)]
struct EpochRow<'a> {
    kind: &'static str,
    /// The `seq` of the last event before it, 0 if there is none.
    after: usize,
    /// Of a marker the epoch that ends there, of a start the one that begins.
    epoch: u64,
    thread: Option<String>,
    site: Option<String>,
    file: Option<&'a str>,
    line: Option<u32>,
    function: Option<&'a str>,
    stack: Option<String>,
    passed_short: Option<u32>,
    passed_balance: Option<u32>,
    instructions: Option<u32>,
    id: Option<String>,
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
    write!(out, "{{\"version\":{},\"command\":{},", VERSION, json!(schedule.command))?;
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
            epoch: view.epochs.as_ref().map(|epochs| epochs[seq - 1]),
        };
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        to_writer(&mut *out, &row)?;
    }
    out.write_all(b"\n],\n\"epochs\":[")?;
    write_epochs(view, out)?;
    out.write_all(b"]}\n")
}

fn write_epochs(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let is_global = view.schedule.has_global_epochs();
    let mut current = 0;
    let mut stops = vec![0; view.schedule.threads.len()];
    let mut first = true;
    for each in &view.schedule.epochs {
        let (row, thread) = match &each.boundary {
            Boundary::Start { number, .. } => {
                current = *number;
                (epoch_row(view, each, current), None)
            }
            Boundary::Marker(marker) => {
                let own = &mut stops[marker.thread.0 as usize];
                let row = epoch_row(view, each, if is_global { current } else { *own });
                *own += 1;
                (row, Some(marker.thread))
            }
        };
        if thread.is_none_or(|thread: ThreadId| view.shows_thread(thread)) {
            out.write_all(if first { b"\n" } else { b",\n" })?;
            first = false;
            to_writer(&mut *out, &row)?;
        }
    }
    Ok(())
}

fn epoch_row<'a>(view: &'a View<'_>, each: &EpochBoundary, epoch: u64) -> EpochRow<'a> {
    let known = |text: &&str| !text.is_empty();
    let (marker, id) = match &each.boundary {
        Boundary::Start { id, .. } => (None, Some(id.to_string())),
        Boundary::Marker(marker) => (Some(marker), None),
    };
    let place = marker.and_then(|marker| view.place(marker.site));
    EpochRow {
        kind: if marker.is_some() { "marker" } else { "start" },
        after: each.place,
        epoch,
        thread: marker.map(|marker| marker.thread.to_string()),
        site: place.map(|place| place.site.id.to_string()),
        file: place.map(|place| place.site.file.as_str()).filter(known),
        line: place.map(|place| place.site.line).filter(|&line| line != 0),
        function: place.map(|place| place.function.as_str()).filter(known),
        stack: marker.map(|marker| marker.stack.to_string()),
        passed_short: marker.map(|marker| marker.passed_short),
        passed_balance: marker.map(|marker| marker.passed_balance),
        instructions: marker.and_then(|marker| marker.instructions),
        id,
    }
}
