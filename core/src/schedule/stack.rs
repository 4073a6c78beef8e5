//! Call stacks, from derived events.
//!
//! A schedule has an event for a call that synchronizes inside, none for its return: an event's depth says how many of
//! the open calls of its thread it is inside of. Files do not write a depth that can be inferred ([`Inference`]): an
//! event in function F comes from inside the innermost open call of F; if no open call names F, from inside the
//! innermost one that may have led to F unnamed (through a pointer, or through a function without sites of its own,
//! such as a library's); if there is none either, from the thread's own function. Only recursion makes that wrong.

use super::{Event, Schedule, Thread};
use crate::hooks::Op;
use crate::ids::SiteId;
use crate::site::Site;
use std::collections::{BTreeMap, HashSet};

/// The open calls of every thread, as of the events given so far.
pub struct CallStacks<'a> {
    schedule: &'a Schedule,
    /// By thread: sites of calls, outermost first.
    open: Vec<Vec<&'a Site>>,
}

impl<'a> CallStacks<'a> {
    /// Before the first event.
    pub fn new(schedule: &'a Schedule) -> Self {
        CallStacks { schedule, open: vec![Vec::new(); schedule.threads.len()] }
    }

    /// Takes the next event of the schedule and gives the calls it was made inside of, outermost first, and
    /// last the event's own site. Empty in code without hooks.
    pub fn advance(&mut self, event: &Event) -> Frames<'a, '_> {
        let stack = &mut self.open[event.thread.0 as usize];
        stack.truncate(event.depth as usize);
        let depth = stack.len();
        let Some(site) = self.schedule.sites.get(&event.site) else {
            return Frames { outer: &[], own: None };
        };
        if event.op == Op::derived {
            stack.push(site);
        }
        Frames { outer: &stack[..depth], own: Some(site) }
    }
}

impl Schedule {
    /// Makes every event's depth the one that is inferred.
    #[cfg(test)]
    pub(super) fn infer_depths(&mut self) {
        let mut inference = Inference::new(&self.threads, &self.sites);
        for event in &mut self.events {
            event.depth = inference.depth(event);
            inference.advance(event);
        }
    }
}

/// Infers depths.
pub(super) struct Inference<'a> {
    sites: &'a BTreeMap<SiteId, Site>,
    /// Functions that have sites: a call of any other may lead anywhere.
    functions: HashSet<&'a str>,
    /// By thread: the function it was made for.
    roots: Vec<Option<&'a str>>,
    /// By thread: sites of calls, outermost first.
    open: Vec<Vec<Option<&'a Site>>>,
}

impl<'a> Inference<'a> {
    /// Before the first event.
    pub fn new(threads: &[Thread], sites: &'a BTreeMap<SiteId, Site>) -> Self {
        let functions = sites.values().map(|site| site.function.as_str()).collect();
        let root = |entry: Option<SiteId>| Some(sites.get(&entry?)?.function.as_str());
        let roots = threads.iter().map(|thread| root(thread.entry)).collect();
        Inference { sites, functions, roots, open: vec![Vec::new(); threads.len()] }
    }

    /// The depth of the next event, as far as the events before it tell.
    pub fn depth(&self, event: &Event) -> u32 {
        let thread = event.thread.0 as usize;
        let Some(stack) = self.open.get(thread) else { return 0 };
        let Some(site) = self.sites.get(&event.site) else {
            return stack.len() as u32;
        };
        let calls_it = |call: &Option<&Site>| call.is_some_and(|call| call.callee == site.function);
        let leads_anywhere = |call: &Option<&Site>| {
            call.is_none_or(|call| call.callee == "*" || !self.functions.contains(call.callee.as_str()))
        };
        let inside = match stack.iter().rposition(calls_it) {
            None if self.roots[thread] == Some(&site.function) => None,
            None => stack.iter().rposition(leads_anywhere),
            named => named,
        };
        inside.map_or(0, |index| index as u32 + 1)
    }

    /// Takes the next event, whose depth is known.
    pub fn advance(&mut self, event: &Event) {
        let Some(stack) = self.open.get_mut(event.thread.0 as usize) else { return };
        stack.truncate(event.depth as usize);
        if event.op == Op::derived {
            stack.push(self.sites.get(&event.site));
        }
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
        result.infer_depths();
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
    fn a_depth_says_which_call_of_a_recursion_goes_on() {
        use SiteKind::{Derived, Entry, True};
        let mut run = schedule(&[
            ("main", Entry, "", "a.c"),
            ("main", Derived, "f", "a.c"),
            ("f", Derived, "f", "a.c"),
            ("f", True, "pthread_mutex_lock", "a.c"),
            ("f", True, "pthread_mutex_unlock", "a.c"),
        ]);
        assert_eq!(stacks(&run), ["main", "main", "main f", "main f f", "main f f"]);
        run.events[4].depth = 1;
        assert_eq!(stacks(&run), ["main", "main", "main f", "main f f", "main f"]);
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
