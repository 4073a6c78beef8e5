//! A divergence in words: who left the schedule, where, what was expected and what was found.

use crate::names::{demangle_all, errno};
use crate::program::options::{Enforcing, OnDivergence};
use covsched_core::hooks::{Effect, ObjectClass, Op};
use covsched_core::plan::{Divergence, DivergenceKind, NONE};
use covsched_core::rawlog::RESULT_PENDING;
use covsched_core::schedule::describe::{describe, describe_object};
use covsched_core::schedule::{Completeness, Event, ObjectId, Schedule};
use covsched_core::site::Site;
use covsched_core::{SiteId, ThreadId};
use std::collections::btree_map::Entry;

/// What a report needs to know.
pub struct Reporter<'a> {
    /// The schedule's file.
    pub file: &'a str,
    pub schedule: &'a Schedule,
    /// By thread: indices of its events that are steps.
    pub steps: &'a [Vec<usize>],
    pub settings: &'a Enforcing,
    /// Finds a site that the schedule does not have.
    pub find_site: &'a dyn Fn(SiteId) -> Option<Site>,
}

impl Reporter<'_> {
    /// The report, without an end of line. `followed` is how many steps each thread has done.
    pub fn words(&self, divergence: &Divergence, followed: &[u32]) -> String {
        let lines = match DivergenceKind::from_number(divergence.kind) {
            Some(DivergenceKind::OtherOperation) => self.other_operation(divergence),
            Some(DivergenceKind::OtherObject) => self.other_object(divergence, followed),
            Some(DivergenceKind::OtherResult) => self.other_result(divergence),
            Some(DivergenceKind::MoreEvents) => self.more_events(divergence),
            Some(DivergenceKind::UnknownThread) => self.unknown_thread(divergence),
            Some(DivergenceKind::EndedEarly) => self.ended_early(divergence),
            Some(DivergenceKind::Stuck) => self.stuck(divergence, followed),
            Some(DivergenceKind::Stalled) => self.stalled(divergence, followed),
            None => vec![format!("{} left {}", thread_words(divergence.thread), self.file)],
        };
        let last = match self.settings.on_divergence {
            OnDivergence::Continue => "the run goes on without the schedule".to_owned(),
            OnDivergence::Abort => format!("the run is ended with exit code {}", self.settings.exit_code),
        };
        demangle_all(&format!("covsched: {}\n  {last}", lines.join("\n  ")))
    }

    fn other_operation(&self, divergence: &Divergence) -> Vec<String> {
        let mut found = self.found(divergence);
        let expected = self.expected(divergence);
        if expected.is_some_and(|event| {
            event.op as u32 == divergence.actual_op && event.site.0 == divergence.actual_site
        }) {
            found.push_str(": the same call, at another moment of it");
        }
        vec![self.left_at(divergence), self.expected_line(divergence), found_line(&found)]
    }

    fn other_object(&self, divergence: &Divergence, followed: &[u32]) -> Vec<String> {
        let found = match self.other_object_remark(divergence, followed) {
            Some(remark) => format!("{}: {remark}", self.found(divergence)),
            None => self.found(divergence),
        };
        vec![self.left_at(divergence), self.expected_line(divergence), found_line(&found)]
    }

    /// How the object is another one.
    fn other_object_remark(&self, divergence: &Divergence, followed: &[u32]) -> Option<String> {
        let expected = self.expected(divergence)?;
        let Some(wanted) = expected.object else {
            return (expected.op.class() == ObjectClass::Thread).then(|| "another thread".to_owned());
        };
        let class = class_words(expected.op.class());
        let Some(found) = self.object(divergence.actual_object) else {
            let or_mutex = if expected.mutex.is_some() { " or mutex" } else { "" };
            return Some(format!("a {class}{or_mutex} that is not in the schedule, or not there yet"));
        };
        if found == wanted {
            return expected.mutex.map(|_| "the same, but with another mutex".to_owned());
        }
        let found_class = self.schedule.objects[found.0 as usize].class;
        if found_class != expected.op.class() {
            return Some(format!(
                "with {} as its {}",
                describe_object(self.schedule, found),
                class_words(found_class)
            ));
        }
        if self.has_been_used(wanted, followed) || !self.has_been_used(found, followed) {
            return Some(format!("another {class}"));
        }
        Some(format!("two {} of the schedule are one here", plural(class)))
    }

    fn other_result(&self, divergence: &Divergence) -> Vec<String> {
        let mut expected = self.expected_line(divergence);
        if let Some(event) = self.expected(divergence) {
            if let Some(result) = event.result {
                expected.push_str(&format!(": {}", result_words(event.op, result)));
            }
        }
        let mut found = self.found(divergence);
        if let (Some(op), true) = (operation(divergence), divergence.actual_result != RESULT_PENDING) {
            found.push_str(&format!(": {}", result_words(op, divergence.actual_result)));
        }
        vec![self.left_at(divergence), expected, found_line(&found)]
    }

    fn more_events(&self, divergence: &Divergence) -> Vec<String> {
        let who = thread_words(divergence.thread);
        let last = self.own_steps(divergence.thread).last();
        let head = match last {
            Some(index) => {
                format!("{who} goes on after its last event in {} (event {})", self.file, index + 1)
            }
            None => format!("{who} synchronizes, and has no event in {}", self.file),
        };
        let expected = match &self.schedule.completeness {
            Completeness::Complete => format!("nothing more of {who}"),
            Completeness::Incomplete(reason) => {
                format!("nothing: the schedule is incomplete there ({reason})")
            }
        };
        vec![head, format!("expected  {expected}"), found_line(&self.found(divergence))]
    }

    fn unknown_thread(&self, divergence: &Divergence) -> Vec<String> {
        let head = match divergence.thread {
            NONE => format!("a thread that {} does not have", self.file),
            thread => format!("{} made a thread that {} does not have", thread_words(thread), self.file),
        };
        let threads = self.schedule.threads.len();
        let expected = match self.expected(divergence) {
            Some(_) => self.expected_line(divergence),
            None if threads == 1 => "expected  no thread but t0".to_owned(),
            None => format!("expected  no thread but t0 to t{}", threads - 1),
        };
        vec![head, expected, found_line(&self.found(divergence))]
    }

    fn ended_early(&self, divergence: &Divergence) -> Vec<String> {
        let head = format!("{} ended before its {}", thread_words(divergence.thread), self.place(divergence));
        let found = match operation(divergence) {
            None => "the end of the thread".to_owned(),
            Some(_) => self.found(divergence),
        };
        vec![head, self.expected_line(divergence), found_line(&found)]
    }

    fn stuck(&self, divergence: &Divergence, followed: &[u32]) -> Vec<String> {
        let head = format!("every thread waits for another: {} cannot be followed any further", self.file);
        [vec![head], self.waits(divergence, followed)].concat()
    }

    fn stalled(&self, divergence: &Divergence, followed: &[u32]) -> Vec<String> {
        let time = match self.settings.stall {
            Some(1) => " for 1 second".to_owned(),
            Some(seconds) => format!(" for {seconds} seconds"),
            None => String::new(),
        };
        let head = format!("no thread has got any further in {}{time}", self.file);
        [vec![head], self.waits(divergence, followed)].concat()
    }

    /// Who waits for whom, and where that one is.
    fn waits(&self, divergence: &Divergence, followed: &[u32]) -> Vec<String> {
        let who = thread_words(divergence.thread);
        if self.expected(divergence).is_none() {
            return vec![
                format!("{who} is past its last event, at {}", self.found(divergence)),
                format!("{who} waits for the end of the process, as it got no further in the schedule"),
            ];
        }
        let at = |thread: u32, index: u32| {
            let event =
                self.own_steps(thread).get(index as usize).map(|event| format!(" (event {})", event + 1));
            let nth = ordinal(u64::from(index) + 1);
            let words = self.step_words(thread, index);
            format!("{nth} synchronization{}: {words}", event.unwrap_or_default())
        };
        let mut lines = vec![format!("{who} is at its {}", at(divergence.thread, divergence.position))];
        let [thread, position] = divergence.waits_for;
        if thread == NONE {
            lines.push(format!("{who} waits in that call for another thread"));
            return lines;
        }
        let other = thread_words(thread);
        let wanted = position.saturating_sub(1);
        lines.push(format!("{who} waits for {other}'s {}", at(thread, wanted)));
        match followed.get(thread as usize).copied() {
            Some(done) if done < wanted => {
                lines.push(format!("{other} has not done its {}", at(thread, done)))
            }
            _ => {}
        }
        lines
    }

    fn left_at(&self, divergence: &Divergence) -> String {
        format!("{} left the schedule at its {}", thread_words(divergence.thread), self.place(divergence))
    }

    /// `5th synchronization (event 17 of bank.sched)`.
    fn place(&self, divergence: &Divergence) -> String {
        let nth = ordinal(u64::from(divergence.position) + 1);
        match self.own_steps(divergence.thread).get(divergence.position as usize) {
            Some(event) => format!("{nth} synchronization (event {} of {})", event + 1, self.file),
            None => format!("{nth} synchronization"),
        }
    }

    fn own_steps(&self, thread: u32) -> &[usize] {
        self.steps.get(thread as usize).map_or(&[], Vec::as_slice)
    }

    fn expected(&self, divergence: &Divergence) -> Option<&Event> {
        let index = *self.own_steps(divergence.thread).get(divergence.position as usize)?;
        self.schedule.events.get(index)
    }

    fn expected_line(&self, divergence: &Divergence) -> String {
        format!("expected  {}", self.expected_words(divergence))
    }

    fn expected_words(&self, divergence: &Divergence) -> String {
        self.step_words(divergence.thread, divergence.position)
    }

    /// A step in words.
    fn step_words(&self, thread: u32, index: u32) -> String {
        match self.own_steps(thread).get(index as usize) {
            Some(&index) => describe(self.schedule, &self.schedule.events[index]),
            None => "nothing more".to_owned(),
        }
    }

    /// What the thread did.
    fn found(&self, divergence: &Divergence) -> String {
        let Some(op) = operation(divergence) else { return "nothing".to_owned() };
        let site = SiteId(divergence.actual_site);
        // What it is described by: the schedule's names, and the place if the schedule does not have it.
        let mut names = self.without_events();
        let mut place = "";
        if site.is_none() {
            place = " in code without hooks";
        } else if let Entry::Vacant(unknown) = names.sites.entry(site) {
            match (self.find_site)(site) {
                Some(found) => drop(unknown.insert(found)),
                None => place = " at an unknown place",
            }
        }
        let number = divergence.actual_object;
        // What the runtime names there is a thread if the operation is on one, and else may be a wait's mutex.
        let is_on_thread = op.class() == ObjectClass::Thread;
        let child =
            ((number as usize) < self.schedule.threads.len() && is_on_thread).then_some(ThreadId(number));
        let object = self.object(number);
        let object = object.filter(|object| self.schedule.objects[object.0 as usize].class == op.class());
        let who = ThreadId(if divergence.thread == NONE { 0 } else { divergence.thread });
        let words = describe(&names, &Event { site, object, child, ..Event::new(who, op) });
        if place.is_empty() || words.ends_with(place) {
            words
        } else {
            words + place
        }
    }

    /// Everything but the events and epochs, which may be many.
    fn without_events(&self) -> Schedule {
        Schedule {
            program: self.schedule.program.clone(),
            program_id: self.schedule.program_id,
            command: self.schedule.command.clone(),
            completeness: self.schedule.completeness.clone(),
            forked: self.schedule.forked,
            threads: self.schedule.threads.clone(),
            objects: self.schedule.objects.clone(),
            sites: self.schedule.sites.clone(),
            events: Vec::new(),
            epochs: Vec::new(),
        }
    }

    fn object(&self, number: u32) -> Option<ObjectId> {
        ((number as usize) < self.schedule.objects.len()).then_some(ObjectId(number))
    }

    /// Whether a step that has been done used the object: then it has an address of its own in this run.
    fn has_been_used(&self, object: ObjectId, followed: &[u32]) -> bool {
        self.steps.iter().zip(followed).any(|(steps, &done)| {
            steps.iter().take(done as usize).any(|&index| {
                let event = &self.schedule.events[index];
                event.object == Some(object) || event.mutex == Some(object)
            })
        })
    }
}

fn found_line(found: &str) -> String {
    format!("found     {found}")
}

fn operation(divergence: &Divergence) -> Option<Op> {
    Op::from_index(u8::try_from(divergence.actual_op).ok()?)
}

fn thread_words(thread: u32) -> String {
    if thread == NONE {
        "a thread".to_owned()
    } else {
        ThreadId(thread).to_string()
    }
}

fn result_words(op: Op, result: i32) -> String {
    match (op.effect(), result) {
        (_, RESULT_PENDING) => "no result".to_owned(),
        (Effect::EndProcess, status) => format!("status {status}"),
        (Effect::Arrive, -1) => "the serial thread".to_owned(),
        (Effect::Arrive, 0) => "not the serial thread".to_owned(),
        (_, 0) => "success".to_owned(),
        (_, code) => errno(code),
    }
}

fn class_words(class: ObjectClass) -> &'static str {
    match class {
        ObjectClass::Mutex => "mutex",
        ObjectClass::Cond => "condition variable",
        ObjectClass::Barrier => "barrier",
        ObjectClass::Rwlock => "rwlock",
        ObjectClass::Spin => "spin lock",
        ObjectClass::Semaphore => "semaphore",
        ObjectClass::Once => "once flag",
        ObjectClass::Thread => "thread",
        ObjectClass::Flow => "process",
    }
}

fn plural(noun: &str) -> String {
    format!("{noun}{}", if noun.ends_with('x') { "es" } else { "s" })
}

/// `1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`.
fn ordinal(number: u64) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests;
