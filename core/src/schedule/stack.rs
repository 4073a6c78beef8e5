//! Call stacks, from derived events.
//!
//! A schedule has an event for a call that synchronizes inside, none for its return. Returns are inferred:
//! an event in function F comes from inside the innermost open call of F; if no open call names F, from
//! inside the innermost one that may have led to F unnamed (through a pointer, or through a function without
//! sites of its own, such as a library's); if there is none either, from the thread's own function. Under
//! recursion through pointers this may keep a call open that has returned, so it serves people, not analyses,
//! which have the control-flow graph.

use super::{Event, Schedule};
use crate::hooks::Op;
use crate::ids::SiteId;
use crate::site::Site;
use std::collections::HashSet;

/// The open calls of every thread, as of the events given so far.
pub struct CallStacks<'a> {
    schedule: &'a Schedule,
    /// Functions that have sites: a call of any other may lead anywhere.
    functions: HashSet<&'a str>,
    /// By thread: the function it was made for.
    roots: Vec<Option<&'a str>>,
    /// By thread: sites of calls, outermost first.
    open: Vec<Vec<&'a Site>>,
}

impl<'a> CallStacks<'a> {
    /// Before the first event.
    pub fn new(schedule: &'a Schedule) -> Self {
        let functions = schedule.sites.values().map(|site| site.function.as_str()).collect();
        let root = |entry: Option<SiteId>| Some(schedule.sites.get(&entry?)?.function.as_str());
        let roots = schedule.threads.iter().map(|thread| root(thread.entry)).collect();
        CallStacks { schedule, functions, roots, open: vec![Vec::new(); schedule.threads.len()] }
    }

    /// Takes the next event of the schedule and gives the calls it was made inside of, outermost first, and
    /// last the event's own site. Empty in code without hooks.
    pub fn advance(&mut self, event: &Event) -> Frames<'a, '_> {
        let thread = event.thread.0 as usize;
        let stack = &mut self.open[thread];
        let Some(site) = self.schedule.sites.get(&event.site) else {
            return Frames { outer: &[], own: None };
        };
        let named = stack.iter().rposition(|call| call.callee == site.function);
        let leads_anywhere =
            |call: &&Site| call.callee == "*" || !self.functions.contains(call.callee.as_str());
        let keep = match named {
            Some(index) => index + 1,
            None if self.roots[thread] == Some(&site.function) => 0,
            None => stack.iter().rposition(leads_anywhere).map_or(0, |index| index + 1),
        };
        stack.truncate(keep);
        if event.op == Op::derived {
            stack.push(site);
        }
        Frames { outer: &stack[..keep], own: Some(site) }
    }
}

/// A call stack: sites of calls, and the site of an event.
#[derive(Clone, Copy)]
pub struct Frames<'a, 's> {
    /// Outermost first.
    pub outer: &'s [&'a Site],
    /// The event's.
    pub own: Option<&'a Site>,
}

impl<'a> Frames<'a, '_> {
    /// The innermost frame in the user's own files: where a user looks for a lock that `std::mutex` took.
    /// The event's own site if all frames are in system headers.
    pub fn in_user_code(&self) -> Option<&'a Site> {
        let own = self.own?;
        let inner_first = std::iter::once(own).chain(self.outer.iter().rev().copied());
        Some(inner_first.into_iter().find(|site| !is_system_file(&site.file)).unwrap_or(own))
    }
}

/// Whether a file came with the system: headers of the C and C++ libraries.
pub fn is_system_file(file: &str) -> bool {
    file.starts_with("/usr/") && !file.starts_with("/usr/local/src/") && !file.starts_with("/usr/src/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Completeness, Thread};
    use crate::site::{site_id, SiteKind};
    use crate::{ProgramId, ThreadId};

    /// A schedule of t0 alone with these events: (function, kind, callee, file).
    fn schedule(events: &[(&str, SiteKind, &str, &str)]) -> Schedule {
        let mut result = Schedule {
            program: "app".into(),
            program_id: ProgramId(1),
            command: vec!["app".into()],
            completeness: Completeness::Complete,
            forked: false,
            threads: vec![Thread { parent: None, nth: 0, entry: None }],
            objects: Vec::new(),
            sites: Default::default(),
            events: Vec::new(),
            epochs: Vec::new(),
        };
        for (line, &(function, kind, callee, file)) in events.iter().enumerate() {
            let id = site_id(function, "", kind, callee, line as u32);
            let (function, callee) = (function.to_owned(), callee.to_owned());
            let line = line as u32 + 1;
            result.sites.insert(id, Site { id, kind, file: file.into(), line, column: 1, function, callee });
            let op = match kind {
                SiteKind::Entry => Op::entry,
                SiteKind::Derived => Op::derived,
                _ => Op::pthread_mutex_lock,
            };
            if kind == SiteKind::Entry {
                result.threads[0].entry = Some(id);
            }
            result.events.push(Event { site: id, ..Event::new(ThreadId::MAIN, op) });
        }
        result
    }

    /// Each event's stack as the functions of its frames.
    fn stacks(schedule: &Schedule) -> Vec<String> {
        let mut stacks = CallStacks::new(schedule);
        let text = |frames: Frames<'_, '_>| {
            let all = frames.outer.iter().chain(&frames.own).map(|site| site.function.as_str());
            all.collect::<Vec<_>>().join(" ")
        };
        schedule.events.iter().map(|event| text(stacks.advance(event))).collect()
    }

    #[test]
    fn a_return_is_inferred_where_the_caller_goes_on() {
        use SiteKind::{Derived, Entry, True};
        let run = schedule(&[
            ("main", Entry, "", "a.c"),
            ("main", Derived, "f", "a.c"),
            ("f", Derived, "g", "a.c"),
            ("g", True, "pthread_mutex_lock", "a.c"),
            ("f", True, "pthread_mutex_lock", "a.c"),
            ("main", True, "pthread_mutex_lock", "a.c"),
        ]);
        assert_eq!(stacks(&run), ["main", "main", "main f", "main f g", "main f", "main"]);
    }

    #[test]
    fn a_call_through_a_pointer_or_a_library_leads_anywhere() {
        use SiteKind::{Derived, Entry, True};
        let run = schedule(&[
            ("main", Entry, "", "a.c"),
            ("main", Derived, "qsort", "a.c"),
            ("compare", Derived, "*", "a.c"),
            ("g", True, "pthread_mutex_lock", "a.c"),
            ("main", Derived, "f", "a.c"),
            ("f", True, "pthread_mutex_lock", "a.c"),
        ]);
        assert_eq!(stacks(&run), ["main", "main", "main compare", "main compare g", "main", "main f"]);
    }

    #[test]
    fn the_users_frame_is_the_innermost_outside_of_system_headers() {
        use SiteKind::{Derived, Entry, True};
        let header = "/usr/include/c++/12/bits/std_mutex.h";
        let run = schedule(&[
            ("main", Entry, "", "a.cpp"),
            ("main", Derived, "lock", "a.cpp"),
            ("lock", True, "pthread_mutex_lock", header),
        ]);
        let mut stacks = CallStacks::new(&run);
        let lines: Vec<_> =
            run.events.iter().map(|e| stacks.advance(e).in_user_code().unwrap().line).collect();
        assert_eq!(lines, [1, 2, 2]);
    }
}
