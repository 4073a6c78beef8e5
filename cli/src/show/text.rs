//! `show --format text`: a head, the threads, and a table of the events.

use super::View;
use crate::names::{demangle, errno};
use covsched_core::hooks::{Effect, Op};
use covsched_core::schedule::stack::CallStacks;
use covsched_core::schedule::{Completeness, Event, MutexKind, ObjectId, Phase};
use std::io::{self, Write};

/// Columns grow with their content up to this, so that a table of usual names fits 100 columns.
const WIDEST_OPERATION: usize = 34;
const WIDEST_TARGET: usize = 24;
const WIDEST_OUTCOME: usize = 16;

/// Cuts a long name in the middle of its end.
fn clip(text: String, width: usize) -> String {
    if text.chars().count() <= width {
        return text;
    }
    let kept: String = text.chars().take(width - 2).collect();
    format!("{kept}..")
}

pub(super) fn write(view: &View<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_head(view, out)?;
    let (mut operation, mut target, mut outcome_width) = ("operation".len(), "on".len(), 0);
    for (_, event) in view.events() {
        operation = operation.max(operation_of(view, event).chars().count());
        target = target.max(target_of(view, event).chars().count());
        outcome_width = outcome_width.max(outcome(event).chars().count());
    }
    let (operation, target) = (operation.min(WIDEST_OPERATION), target.min(WIDEST_TARGET));
    let outcome_width = outcome_width.min(WIDEST_OUTCOME);
    let seq_width = view.schedule.events.len().to_string().len().max(3);
    let thread_width = format!("t{}", view.schedule.threads.len() - 1).len().max(6);
    let mut row = |seq: &str, thread: &str, what: String, on: String, end: String, place: &str| {
        let (what, on, end) = (clip(what, operation), clip(on, target), clip(end, outcome_width));
        let mut line =
            format!("{seq:>seq_width$}  {thread:thread_width$}  {what:operation$}  {on:target$}  ");
        if outcome_width > 0 {
            line.push_str(&format!("{end:outcome_width$}  "));
        }
        line.push_str(place);
        writeln!(out, "{}", line.trim_end())
    };
    row("seq", "thread", "operation".into(), "on".into(), String::new(), "where")?;
    // A lock that std::mutex took is shown where the user's own code asked for it.
    let mut stacks = CallStacks::new(view.schedule);
    for (index, event) in view.schedule.events.iter().enumerate() {
        let frame = stacks.advance(event).in_user_code();
        if !(view.shown)(event) {
            continue;
        }
        let place = frame.and_then(|site| view.place(site.id));
        let place = place.map(|place| format!("{} {}", place.short, place.function));
        row(
            &(index + 1).to_string(),
            &event.thread.to_string(),
            operation_of(view, event),
            target_of(view, event),
            outcome(event),
            place.as_deref().unwrap_or("(code without hooks)"),
        )?;
    }
    Ok(())
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
        let place = thread.entry.and_then(|site| view.place(site));
        let place = place.map(|place| format!("{} {}", place.short, place.function)).unwrap_or_default();
        writeln!(out, "{}", format!("t{number:<4} {origin:<18} {place}").trim_end())?;
    }
    writeln!(out)
}

pub(super) fn operation_of(view: &View<'_>, event: &Event) -> String {
    if event.op == Op::derived {
        let callee = view.place(event.site).map(|place| place.callee.as_str());
        return match callee {
            Some("*") => "call through a pointer".to_owned(),
            Some(callee) => format!("call {callee}"),
            None => "call".to_owned(),
        };
    }
    match event.phase {
        Phase::Both => event.op.name().to_owned(),
        Phase::Begin => format!("{} begin", event.op.name()),
        Phase::End => format!("{} end", event.op.name()),
    }
}

pub(super) fn target_of(view: &View<'_>, event: &Event) -> String {
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
pub(super) fn outcome(event: &Event) -> String {
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
