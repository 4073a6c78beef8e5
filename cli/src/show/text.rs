//! `show --format text`: a head, the threads, and a table of the events, with a line where an epoch begins.

use super::epochs::{separators, summary, wrapped};
use super::{Place, View};
use crate::names::{brief, demangle, errno};
use covsched_core::hooks::{Effect, Op};
use covsched_core::schedule::{Completeness, Event, MutexKind, ObjectId, Phase};
use covsched_core::SiteId;
use std::io::{self, Write};

/// Columns grow with their content up to this, so that a table of usual names fits 100 columns.
const WIDEST_OPERATION: usize = 32;
const WIDEST_TARGET: usize = 28;
/// Lines about epochs are broken at this column.
const WIDTH: usize = 100;

/// Cuts off the end of a long name.
fn clip(text: String, width: usize) -> String {
    if text.chars().count() <= width {
        return text;
    }
    let kept: String = text.chars().take(width - 2).collect();
    format!("{kept}..")
}

pub(super) fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_head(view, out)?;
    let (mut operation, mut target) = ("operation".len(), "on".len());
    for (_, event) in view.events() {
        operation = operation.max(operation_of(view, event).chars().count());
        target = target.max(target_of(view, event).chars().count());
    }
    let (operation, target) = (operation.min(WIDEST_OPERATION), target.min(WIDEST_TARGET));
    let seq_width = view.schedule.events.len().to_string().len().max(3);
    let thread_width = format!("t{}", view.schedule.threads.len() - 1).len().max(6);
    let row = |out: &mut dyn Write, seq: &str, thread: &str, what: String, on: String, place: &str| {
        let (what, on) = (clip(what, operation), clip(on, target));
        let line =
            format!("{seq:>seq_width$}  {thread:thread_width$}  {what:operation$}  {on:target$}  {place}");
        writeln!(out, "{}", line.trim_end())
    };
    row(out, "seq", "thread", "operation".into(), "on".into(), "where")?;
    let mut separators = separators(view).into_iter().peekable();
    for (seq, event, site) in view.events_in_user_code() {
        while let Some(reached) = separators.next_if(|separator| separator.place < seq) {
            write_lines(&wrapped(&reached.parts, WIDTH), out)?;
        }
        let (seq, thread) = (seq.to_string(), event.thread.to_string());
        let place = where_of(view, event, site);
        row(out, &seq, &thread, operation_of(view, event), target_of(view, event), &place)?;
    }
    for rest in separators {
        write_lines(&wrapped(&rest.parts, WIDTH), out)?;
    }
    let summary = summary(view);
    if !summary.is_empty() {
        writeln!(out)?;
    }
    write_lines(&summary, out)
}

fn write_lines(lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn write_head(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let schedule = view.schedule;
    writeln!(out, "command   {}", shell_words(&schedule.command))?;
    writeln!(out, "program   {} {}", schedule.program, schedule.program_id)?;
    match &schedule.completeness {
        Completeness::Complete => write!(out, "complete  ")?,
        Completeness::Incomplete(reason) => write!(out, "incomplete: {reason}; ")?,
    }
    let (events, threads, objects) = (schedule.events.len(), schedule.threads.len(), schedule.objects.len());
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let forked = if schedule.forked { ", in a forked process" } else { "" };
    writeln!(
        out,
        "{} of {} on {}{forked}",
        plural(events, "event"),
        plural(threads, "thread"),
        plural(objects, "object")
    )?;
    writeln!(out)?;
    for (number, thread) in schedule.threads.iter().enumerate() {
        let origin = match thread.parent {
            Some(parent) => format!("{parent}'s creation {}", thread.nth),
            None if number == 0 => "main".to_owned(),
            None => "made by code without hooks".to_owned(),
        };
        let place = thread.entry.and_then(|site| view.place(site)).map(place_words).unwrap_or_default();
        writeln!(out, "{}", format!("t{number:<4} {origin:<18} {place}").trim_end())?;
    }
    writeln!(out)
}

pub(super) fn operation_of(view: &View<'_>, event: &Event) -> String {
    if event.op == Op::derived {
        let callee = view.place(event.site).map(|place| place.callee.as_str());
        return match callee {
            Some("*") => "call through a pointer".to_owned(),
            Some(callee) => format!("call {}", brief(callee)),
            None => "call".to_owned(),
        };
    }
    match event.phase {
        Phase::Both => event.op.name().to_owned(),
        Phase::Begin => format!("{} begin", event.op.name()),
        Phase::End => format!("{} end", event.op.name()),
    }
}

/// What it works on, and what came of it.
pub(super) fn target_of(view: &View<'_>, event: &Event) -> String {
    let (target, outcome) = (object_of(view, event), outcome(event));
    let colon = if target.is_empty() || outcome.is_empty() { "" } else { ": " };
    format!("{target}{colon}{outcome}")
}

fn object_of(view: &View<'_>, event: &Event) -> String {
    let name = |id: ObjectId| {
        let object = &view.schedule.objects[id.0 as usize];
        let mut text = view.objects[id.0 as usize].clone();
        if let Some(symbol) = &object.symbol {
            let (variable, offset) =
                symbol.split_once('+').map_or((symbol.as_str(), ""), |(v, _)| (v, &symbol[v.len()..]));
            text.push_str(&format!(" {}{offset}", demangle(variable)));
        } else if object.mutex_kind == MutexKind::Recursive {
            text.push_str(" recursive");
        } else if object.shared {
            text.push_str(" shared");
        }
        text
    };
    match (event.object, event.child) {
        (Some(object), _) if event.mutex.is_some() && event.phase == Phase::Begin => {
            let mutex = event.mutex.map(|mutex| view.objects[mutex.0 as usize].as_str()).unwrap_or_default();
            format!("{}, {mutex}", name(object))
        }
        (Some(object), _) => name(object),
        (None, Some(child)) => child.to_string(),
        (None, None) => String::new(),
    }
}

/// What came of it, if it is not the usual.
fn outcome(event: &Event) -> String {
    let mut parts = Vec::new();
    match (event.op.effect(), event.result) {
        (Effect::EndProcess, Some(status)) => parts.push(format!("status {status}")),
        (Effect::Arrive, Some(-1)) => parts.push("serial thread".to_owned()),
        (_, None | Some(0)) => {}
        (_, Some(code)) => parts.push(errno(code)),
    }
    if let Some(waker) = event.waker {
        parts.push(format!("woken by {waker}"));
    }
    if let Some(count) = event.count {
        parts.push(format!("count {count}"));
    }
    if event.unwound {
        parts.push("cancelled".to_owned());
    }
    parts.join(", ")
}

pub(super) fn place_words(place: &Place<'_>) -> String {
    format!("{} {}", place.short, brief(&place.function)).trim_start().to_owned()
}

/// Where it happened.
pub(super) fn where_of(view: &View<'_>, event: &Event, site: SiteId) -> String {
    let entered_here = view.schedule.threads[event.thread.0 as usize].entry.is_some();
    match view.place(site) {
        Some(place) => place_words(place),
        None if event.op == Op::leave && entered_here => "(cancelled)".to_owned(),
        None => "(code without hooks)".to_owned(),
    }
}

/// The command line as a shell would take it.
pub(super) fn shell_words(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,+@%".contains(c))
    };
    let quoted = words.iter().map(|word| {
        if plain(word) {
            word.clone()
        } else if word.chars().any(char::is_control) {
            format!("$'{}'", word.escape_default())
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}
