//! What came of a change, in words and as JSON.

use super::client::Answer;
use super::engine::Engine;
use super::images::Images;
use super::places::{self, Place, PlaceKind};
use super::{print, print_json, Format};
use crate::failure::{Failure, FOUND};
use crate::say::say;
use covsched_core::loom::compile::{Diagnostic, Program};
use covsched_core::loom::wire::{self, Outcome, ThreadAt};
use serde_json::{json, Value};
use std::process::ExitCode;

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Add,
    Remove,
    Replace,
}

impl Change {
    fn done(self) -> &'static str {
        match self {
            Change::Add => "installed",
            Change::Remove => "removed",
            Change::Replace => "installed in place of the old one",
        }
    }
}

/// Prints it; gives the exit code. `images` of the process are read only if there is something to translate.
pub fn report(
    change: Change,
    engine: &Engine,
    answer: &Answer,
    warnings: &[Diagnostic],
    images: impl FnOnce() -> Option<Images>,
    format: Format,
) -> Result<ExitCode, Failure> {
    let pid = engine.process.pid;
    let (outcome, threads) = match answer {
        Answer::Done(outcome) => (outcome, &[][..]),
        Answer::NotDone(outcome, threads) => (outcome, threads.as_slice()),
    };
    let is_done = matches!(answer, Answer::Done(_));
    let program = if threads.is_empty() {
        Program::default()
    } else {
        images().map(|found| found.program).unwrap_or_default()
    };
    if format == Format::Json {
        let mut value = json(pid, is_done, outcome, threads, &program);
        value["warnings"] = super::filter::diagnostics_json(warnings);
        print_json(&value)?;
    } else if is_done {
        print(&format!(
            "filter {} {} in process {pid} ({}, {})\n",
            outcome.filter,
            change.done(),
            milliseconds(outcome.nanoseconds),
            tries(outcome.tries)
        ))?;
    } else {
        say(format_args!("covsched: {}", in_words(change, pid, outcome, threads, &program).trim_end()));
    }
    Ok(if is_done { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

fn json(pid: u32, done: bool, outcome: &Outcome, threads: &[ThreadAt], program: &Program) -> Value {
    let threads: Vec<Value> = threads
        .iter()
        .map(|thread| {
            let place = places::find(program, thread.unit, thread.location);
            let mut value = places::thread_json(thread, &place);
            let (why, advice) = reason(thread, &place);
            value["why"] = why.into();
            value["advice"] = advice.into();
            value
        })
        .collect();
    json!({
        "pid": pid,
        "done": done,
        "filter": outcome.filter,
        "tries": outcome.tries,
        "nanoseconds": outcome.nanoseconds,
        "threads": threads,
    })
}

/// Why it could not be done: each thread that stood in the way, where, why, and what to do.
fn in_words(change: Change, pid: u32, outcome: &Outcome, threads: &[ThreadAt], program: &Program) -> String {
    let mut text = format!(
        "the filter was not {} in process {pid}, which is unchanged: after {} ({}) ",
        change.done(),
        tries(outcome.tries),
        milliseconds(outcome.nanoseconds)
    );
    let blocking: Vec<&ThreadAt> = threads.iter().filter(|thread| thread.in_the_way != 0).collect();
    // If none is marked, all that were told count.
    let blocking = if blocking.is_empty() { threads.iter().collect() } else { blocking };
    text += match blocking.len() {
        0 => "there was still no moment at which it would have been safe\n",
        1 => "this thread was still in the way:\n",
        _ => "these threads were still in the way:\n",
    };
    for thread in blocking {
        let place = places::find(program, thread.unit, thread.location);
        let (why, advice) = reason(thread, &place);
        let state = places::state_words(thread, &place);
        text += &format!("  thread {} {state}\n    why: {why}\n    what to do: {advice}\n", thread.thread);
    }
    text
}

/// What to do if a thread does not leave a region.
const LEAVE_IT: &str = "try again under less load, choose a smaller region, or, for an order in a pool of threads, name the request's \
                        function: `thread FUNCTION`";

/// What is known of a place, by [`ThreadAt::in_the_way`].
fn inside(in_the_way: u32) -> &'static str {
    match in_the_way {
        wire::IN_THE_WAY_BY_CALLER => {
            "in code that what the filter is about calls, and a function of that is on the thread's stack"
        }
        wire::IN_THE_WAY_OF_UNKNOWN => {
            "in code that what the filter is about calls; who called it here is not known, since the thread's stack cannot be \
             looked at, so it counts as inside"
        }
        _ => "in code of what the filter is about, or that can only be left through it",
    }
}

/// Why a thread stands in the way, and what can be done about it.
fn reason(thread: &ThreadAt, place: &Place) -> (String, String) {
    let (why, advice) = match thread.state {
        wire::AT_CALL if place.callee.is_empty() => (
            "it is in a call, inside of what the filter is about, and did not come back in time",
            "try again when it has come back, or end the region before the call",
        ),
        wire::AT_CALL => {
            let inside = inside(thread.in_the_way);
            let why = format!("it blocks in {}, {inside}. It did not come back in time", place.callee);
            let advice = "try again when it has come back, end the region before the call, choose a region that does not call \
                          that code, or, for an order in a pool of threads, name the request's function: `thread FUNCTION`";
            return (why, advice.to_owned());
        }
        wire::AT_CHECK => (
            "it goes round inside of what the filter is about and did not leave it in time",
            LEAVE_IT,
        ),
        wire::AT_SLOT => (
            "it waits for the lock or semaphore of a filter that is installed, inside of what the new one is about",
            "remove the filter that it waits for first (`covsched loom ls` shows which has waits), or try again",
        ),
        wire::AT_NOWHERE if place.kind != PlaceKind::Unknown => {
            let inside = inside(thread.in_the_way);
            let why = format!("when it was last seen, it went on {inside}. It did not come to a place where it may pause in time");
            return (why, LEAVE_IT.to_owned());
        }
        wire::AT_NOWHERE => (
            "it ran all the time without coming to a place where it can pause: a long computation without loops that \
             have checks, or code that was compiled without --loom and is not known to block",
            "try again, or compile that code with --loom",
        ),
        wire::AT_HANDLER => (
            "a signal handler interrupted it where it cannot pause, and has not returned",
            "try again when the handler has returned",
        ),
        wire::AT_OUTSIDE => (
            "it was called from code that was compiled without --loom, inside of what the filter is about",
            "try again, or compile that code with --loom",
        ),
        wire::AT_BIRTH => (
            "it was created before an event of the order, and may come to one that counts with that",
            "try again; a thread that never comes to code compiled with --loom should be created elsewhere",
        ),
        _ => ("its state is not known to this covsched", "use the covsched that the process was built with"),
    };
    (why.to_owned(), advice.to_owned())
}

fn tries(count: u32) -> String {
    if count == 1 {
        "1 try".to_owned()
    } else {
        format!("{count} tries")
    }
}

fn milliseconds(nanoseconds: u64) -> String {
    format!("{:.1} ms", nanoseconds as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTCOME: Outcome = Outcome { filter: 2, tries: 10, nanoseconds: 2_500_000 };

    fn thread(state: u32, location: u32, in_the_way: u32) -> ThreadAt {
        ThreadAt { unit: 7, location, thread: 42, state, in_the_way }
    }

    #[test]
    fn what_was_not_done_names_thread_place_reason_and_remedy() {
        let program = places::tests::program();
        let threads = [thread(wire::AT_CALL, 1, 1), thread(wire::AT_OUTSIDE, 0, 0)];
        let text = in_words(Change::Add, 9, &OUTCOME, &threads, &program);
        for part in [
            "the filter was not installed in process 9, which is unchanged: after 10 tries (2.5 ms) this thread",
            "  thread 42 is in read() at a.c:4 in main\n",
            "    why: it blocks in read, in code of what the filter is about, or that can only be left through it. It",
            "    what to do: try again when",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("without --loom"), "{text}");
    }

    #[test]
    fn a_thread_that_a_caller_makes_unsafe_is_told_apart() {
        let program = places::tests::program();
        let place = places::find(&program, 7, 1);
        let why = |in_the_way| reason(&thread(wire::AT_CALL, 1, in_the_way), &place).0;
        assert!(why(wire::IN_THE_WAY_BY_CALLER).contains("is on the thread's stack"));
        assert!(why(wire::IN_THE_WAY_OF_UNKNOWN).contains("who called it here is not known"));
    }

    #[test]
    fn a_thread_that_runs_is_told_by_where_it_went_on() {
        let program = places::tests::program();
        let thread = thread(wire::AT_NOWHERE, 1, wire::IN_THE_WAY_BY_CALLER);
        let text = in_words(Change::Add, 9, &OUTCOME, &[thread], &program);
        for part in [
            "runs; it was last seen at a.c:4 in main\n",
            "why: when it was last seen, it went on in code that",
            "choose a smaller region",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let nowhere = reason(&ThreadAt { unit: 0, ..thread }, &Place::default()).0;
        assert!(nowhere.contains("without coming to a place"), "{nowhere}");
    }

    #[test]
    fn every_state_has_a_reason() {
        for state in 0..8 {
            let (why, advice) = reason(&thread(state, 1, 1), &Place::default());
            assert!(!why.is_empty() && !advice.is_empty());
        }
        let text = in_words(Change::Remove, 9, &OUTCOME, &[], &Program::default());
        assert!(text.contains("not removed") && text.contains("no moment"), "{text}");
    }

    #[test]
    fn json_has_the_documented_keys() {
        let program = places::tests::program();
        let value = json(9, false, &OUTCOME, &[thread(wire::AT_CALL, 1, 1)], &program);
        assert_eq!(value["done"], false);
        assert_eq!(value["filter"], 2);
        let thread = &value["threads"][0];
        assert_eq!(thread["state"], "call");
        assert_eq!((&thread["file"], &thread["line"]), (&json!("a.c"), &json!(4)));
        assert_eq!((&thread["function"], &thread["callee"]), (&json!("main"), &json!("read")));
        assert!(thread["why"].is_string() && thread["advice"].is_string());
    }
}
