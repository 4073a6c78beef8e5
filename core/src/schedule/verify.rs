//! The invariants of a well-formed schedule. Checked after recording, by `verify` and `show`, and before
//! anything is built on a schedule. Whether the order is a legal execution is [`super::legal`]'s question.
//!
//! Threads
//! 1. t0 is main, without parent. Threads are numbered in the order in which events first name them.
//! 2. A thread with a parent is the child of exactly one successful create, by that parent; it is the
//!    parent's `nth` one, from 0; the create comes before the thread's first event. A thread without one is
//!    the child of none.
//! 3. A thread's first event is its entry; in t0, constructors may synchronize before it, and a forked process
//!    need not have one. A thread has at most one entry, at the site that the thread names, and one return.
//! 4. After `_exit` or `_Exit` a thread has no event. After a join that succeeded, nor has the joined thread.
//!
//! Objects
//! 5. Objects are numbered by class in order of their first use, and each is used.
//! 6. An event has an object of its operation's class if the class has objects (a failed `sem_open` has none),
//!    and none otherwise. Only condition waits have a second one, a mutex.
//! 7. Only mutexes are recursive or error-checking.
//!
//! Events
//! 8. Only operations with two moments have begin and end events: condition waits and barriers always, a
//!    once in the thread that ran the routine. An end follows a begin of the same thread, operation, object
//!    and mutex. A thread that waits begins no other wait.
//! 9. Only a wait's end has a waker: an earlier signal or broadcast of the same condition variable. A signal
//!    wakes at most one wait.
//! 10. Only the init of a barrier or semaphore has a count. Only thread operations have a child.
//! 11. A derived event stands right before an event of its thread. An event is inside of no more calls than its thread's
//!     derived events have begun.
//!
//! Sites
//! 12. Every site that is named is described, and none else. Its kind and its callee fit the operation.
//!
//! Epochs
//! 13. Boundaries stand in the order of their places, none after the end, and none between a derived event and the next.
//! 14. A marker's thread has been named by an event before, and has not ended. Its site is one of kind epoch, or the wait
//!     at a barrier, which ends an epoch too.
//! 15. Epochs that all threads begin have growing numbers, from 1 on.
//! 16. Boundaries are no events.

use super::fault::{seq_of, Fault};
use super::{Boundary, EpochBoundary, Event, Marker, ObjectId, Phase, Schedule, Seq, ThreadId};
use crate::hooks::{Effect, Hook, ObjectClass, Op};
use crate::ids::SiteId;
use crate::site::{Site, SiteKind};
use std::collections::{HashMap, HashSet};

/// Checks every invariant; gives the first that is broken.
pub fn verify(schedule: &Schedule) -> Result<(), Fault> {
    check_header(schedule)?;
    let mut verifier = Verifier::new(schedule);
    let mut boundaries = schedule.epochs.iter().enumerate().peekable();
    for (index, event) in schedule.events.iter().enumerate() {
        while let Some((number, reached)) = boundaries.next_if(|(_, each)| each.place <= index) {
            verifier.boundary(number, reached)?;
        }
        verifier.event(index, event).map_err(|what| Fault::at(index, what))?;
    }
    for (number, rest) in boundaries {
        verifier.boundary(number, rest)?;
    }
    verifier.finish()
}

fn check_header(schedule: &Schedule) -> Result<(), Fault> {
    let Some(main) = schedule.threads.first() else {
        return Err(Fault::in_header("there is no thread t0"));
    };
    if main.parent.is_some() {
        return Err(Fault::in_header("t0 is main, but has a parent"));
    }
    let mut numbers: HashMap<ObjectClass, u32> = HashMap::new();
    for object in &schedule.objects {
        let next = numbers.entry(object.class).or_default();
        if object.class.prefix().is_none() || object.number != *next {
            return Err(Fault::in_header(format!("object {object} is out of order")));
        }
        *next += 1;
        if object.class != ObjectClass::Mutex && object.mutex_kind != Default::default() {
            return Err(Fault::in_header(format!("{object} is recursive or error-checking, but no mutex")));
        }
    }
    for (&id, site) in &schedule.sites {
        if id != site.id || id.is_none() {
            return Err(Fault::in_header(format!("site {id} is described as {}", site.id)));
        }
    }
    Ok(())
}

/// What is known of a thread so far.
#[derive(Clone, Default)]
struct Progress {
    /// Named by an event.
    known: bool,
    /// Made by a create.
    made: bool,
    /// Had an event.
    started: bool,
    entered: bool,
    left: bool,
    /// Ended for good, and by what.
    over: Option<&'static str>,
    /// Successful creates.
    children: u32,
    /// Begins whose end has not come.
    open: Vec<usize>,
    /// Calls that derived events have begun and no event has shown to be over.
    calls: u32,
}

struct Verifier<'a> {
    schedule: &'a Schedule,
    threads: Vec<Progress>,
    known_threads: usize,
    known_objects: usize,
    /// With the operation that each was last checked for: most sites have only one.
    used_sites: HashMap<SiteId, Option<Op>>,
    used_signals: HashSet<Seq>,
    /// The place of the last boundary.
    last_boundary: usize,
    /// The number of the last epoch that all threads began.
    last_epoch: u64,
}

impl<'a> Verifier<'a> {
    fn new(schedule: &'a Schedule) -> Self {
        let mut threads = vec![Progress::default(); schedule.threads.len()];
        threads[0].known = true;
        let used_sites = schedule.threads.iter().filter_map(|thread| Some((thread.entry?, None))).collect();
        let used_signals = HashSet::new();
        Verifier {
            schedule,
            threads,
            known_threads: 1,
            known_objects: 0,
            used_sites,
            used_signals,
            last_boundary: 0,
            last_epoch: 0,
        }
    }

    fn event(&mut self, index: usize, event: &'a Event) -> Result<(), String> {
        if event.op.effect() == Effect::Mark {
            return Err(format!("{} is no event, but an epoch line", event.op.name()));
        }
        let thread = event.thread;
        self.name_thread(thread)?;
        self.check_phase(index, event)?;
        for object in [event.object, event.mutex].into_iter().flatten() {
            self.name_object(object)?;
        }
        self.check_objects(event)?;
        self.check_thread_order(event)?;
        self.check_child(event)?;
        self.check_waker(index, event)?;
        self.check_site(event)?;
        if event.count.is_some() && !takes_count(event.op) {
            return Err(format!("{} has a count", event.op.name()));
        }
        let calls = &mut self.threads[thread.0 as usize].calls;
        if event.depth > *calls {
            return Err(format!("depth={}, but {thread} is in {calls} calls at most", event.depth));
        }
        *calls = event.depth + u32::from(event.op == Op::derived);
        if event.op == Op::derived {
            let next = self.schedule.events.get(index + 1).map(|next| next.thread);
            if next != Some(thread) {
                return Err(format!("a derived call stands before no other event of {thread}"));
            }
        }
        Ok(())
    }

    /// Rules 13 to 15. Boundaries are counted from 1, as `epoch` lines of a file are.
    fn boundary(&mut self, number: usize, each: &EpochBoundary) -> Result<(), Fault> {
        let EpochBoundary { place, boundary } = each;
        let checked = self.check_place(*place).and_then(|()| match boundary {
            Boundary::Marker(marker) => self.check_marker(marker),
            Boundary::Start { number, .. } if *number <= self.last_epoch => {
                Err(format!("all begin epoch {number}, but have begun epoch {} before", self.last_epoch))
            }
            Boundary::Start { number, .. } => {
                self.last_epoch = *number;
                Ok(())
            }
        });
        checked.map_err(|what| {
            Fault::in_header(format!("epoch line {} (after event {place}): {what}", number + 1))
        })
    }

    fn check_place(&mut self, place: usize) -> Result<(), String> {
        let events = &self.schedule.events;
        if place < self.last_boundary || place > events.len() {
            return Err("is out of order".to_owned());
        }
        self.last_boundary = place;
        if place.checked_sub(1).is_some_and(|before| events[before].op == Op::derived) {
            return Err("stands between a derived call and the event that it belongs to".to_owned());
        }
        Ok(())
    }

    /// Rules 12 and 14.
    fn check_marker(&mut self, marker: &Marker) -> Result<(), String> {
        let thread = marker.thread;
        let progress = self.threads.get(thread.0 as usize).ok_or_else(|| format!("no thread {thread}"))?;
        if !progress.known {
            return Err(format!("{thread} is at a marker before an event names it"));
        }
        if let Some(by) = progress.over {
            return Err(format!("{thread} is at a marker, but has ended by {by} before"));
        }
        if marker.site.is_none() {
            return Ok(());
        }
        let site = self.schedule.sites.get(&marker.site);
        let site = site.ok_or_else(|| format!("site {} is not described", marker.site))?;
        let is_barrier =
            || Hook::replacing(&site.callee).is_some_and(|hook| hook.op.effect() == Effect::Arrive);
        if site.kind != SiteKind::Epoch && !(site.kind == SiteKind::True && is_barrier()) {
            let (id, kind, callee) = (site.id, site.kind.name(), &site.callee);
            return Err(format!("site {id} (kind {kind}, callee `{callee}`) cannot be one of a marker"));
        }
        self.used_sites.entry(marker.site).or_default();
        Ok(())
    }

    /// Rule 1.
    fn name_thread(&mut self, thread: ThreadId) -> Result<(), String> {
        let known = self.known_threads;
        let progress =
            self.threads.get_mut(thread.0 as usize).ok_or_else(|| format!("no thread {thread}"))?;
        if !progress.known {
            if thread.0 as usize != known {
                return Err(format!("expected t{known} as the next new thread, found {thread}"));
            }
            progress.known = true;
            self.known_threads += 1;
        }
        Ok(())
    }

    /// Rule 5.
    fn name_object(&mut self, object: ObjectId) -> Result<(), String> {
        let index = object.0 as usize;
        let Some(found) = self.schedule.objects.get(index) else {
            return Err(format!("no object with index {index}"));
        };
        if index > self.known_objects {
            let expected = &self.schedule.objects[self.known_objects];
            return Err(format!("expected {expected} as the next new object, found {found}"));
        }
        self.known_objects = self.known_objects.max(index + 1);
        Ok(())
    }

    /// Rule 6.
    fn check_objects(&self, event: &Event) -> Result<(), String> {
        let op = event.op;
        let object = event.object.map(|id| &self.schedule.objects[id.0 as usize]);
        match (op.class().prefix(), object) {
            (None, None) => {}
            (None, Some(object)) => return Err(format!("{} works on no object, found {object}", op.name())),
            (Some(_), Some(object)) if object.class == op.class() => {}
            (Some(_), Some(object)) => return Err(format!("{} cannot work on {object}", op.name())),
            (Some(_), None) if op == Op::sem_open && event.result != Some(0) => {}
            (Some(_), None) => return Err(format!("{} has no object", op.name())),
        }
        let mutex = event.mutex.map(|id| &self.schedule.objects[id.0 as usize]);
        match (matches!(op.effect(), Effect::Wait | Effect::TimedWait), mutex) {
            (false, None) => Ok(()),
            (true, Some(mutex)) if mutex.class == ObjectClass::Mutex => Ok(()),
            (true, None) => Err(format!("{} has no mutex", op.name())),
            (_, Some(mutex)) => Err(format!("{} cannot have {mutex} as its mutex", op.name())),
        }
    }

    /// Rules 3 and 4.
    fn check_thread_order(&mut self, event: &Event) -> Result<(), String> {
        let thread = event.thread;
        let described = &self.schedule.threads[thread.0 as usize];
        let progress = &mut self.threads[thread.0 as usize];
        if let Some(by) = progress.over {
            return Err(format!("{thread} has ended by {by} before"));
        }
        if described.parent.is_some() && !progress.made {
            return Err(format!("{thread} has an event before it is made"));
        }
        match event.op.effect() {
            Effect::Enter => {
                if progress.entered {
                    return Err(format!("a second entry of {thread}"));
                }
                if described.entry != (!event.site.is_none()).then_some(event.site) {
                    return Err(format!("{thread} enters at another site than its thread line says"));
                }
                progress.entered = true;
            }
            _ if !progress.started && thread != ThreadId::MAIN => {
                return Err(format!(
                    "the first event of {thread} must be its entry, not {}",
                    event.op.name()
                ));
            }
            Effect::Leave if progress.left => return Err(format!("a second return of {thread}")),
            Effect::Leave => progress.left = true,
            Effect::EndProcess if matches!(event.op, Op::_exit | Op::_Exit) => {
                progress.over = Some(event.op.name());
            }
            _ => {}
        }
        progress.started = true;
        Ok(())
    }

    /// Rules 2, 4 and 10.
    fn check_child(&mut self, event: &Event) -> Result<(), String> {
        let succeeded = matches!(event.result, None | Some(0));
        let Some(child) = event.child else {
            if event.op.effect() == Effect::Create && event.result == Some(0) {
                return Err(format!("{} succeeded, but names no thread", event.op.name()));
            }
            return Ok(());
        };
        if event.op.class() != ObjectClass::Thread {
            return Err(format!("{} cannot have a thread as its target", event.op.name()));
        }
        self.name_thread(child)?;
        match event.op.effect() {
            Effect::Create => {
                let nth = self.threads[event.thread.0 as usize].children;
                let described = &self.schedule.threads[child.0 as usize];
                let progress = &mut self.threads[child.0 as usize];
                if !succeeded {
                    return Err(format!("a create that failed cannot have made {child}"));
                }
                if progress.made || progress.started || child == ThreadId::MAIN {
                    return Err(format!("{child} is there already"));
                }
                if described.parent != Some(event.thread) || described.nth != nth {
                    return Err(format!(
                        "{child} is made as {}/{nth}, but its thread line says otherwise",
                        event.thread
                    ));
                }
                progress.made = true;
                self.threads[event.thread.0 as usize].children += 1;
            }
            Effect::Join | Effect::TryJoin if event.result == Some(0) => {
                self.threads[child.0 as usize].over = Some("a join");
            }
            _ => {}
        }
        Ok(())
    }

    /// Rule 8.
    fn check_phase(&mut self, index: usize, event: &Event) -> Result<(), String> {
        let op = event.op;
        let may_be_one = !op.has_two_moments();
        let may_be_two = !may_be_one || op.effect() == Effect::RunOnce;
        let events = &self.schedule.events;
        let open = &mut self.threads[event.thread.0 as usize].open;
        match event.phase {
            Phase::Both if may_be_one => Ok(()),
            Phase::Both => Err(format!("{} needs `begin` or `end`", op.name())),
            _ if !may_be_two => Err(format!("{} has only one moment, found `begin` or `end`", op.name())),
            Phase::Begin => {
                if let Some(&before) = open.last().filter(|&&i| events[i].op.has_two_moments()) {
                    let inside = events[before].op.name();
                    return Err(format!(
                        "{} is still inside {inside} (event {})",
                        event.thread,
                        seq_of(before)
                    ));
                }
                open.push(index);
                Ok(())
            }
            Phase::End => {
                let fits = |&i: &usize| {
                    let begin = &events[i];
                    begin.op == op && begin.object == event.object && begin.mutex == event.mutex
                };
                // Begins above it were left by an exception or a longjmp.
                let Some(place) = open.iter().rposition(fits) else {
                    return Err(format!("an end of {} without its begin", op.name()));
                };
                open.truncate(place);
                Ok(())
            }
        }
    }

    /// Rule 9.
    fn check_waker(&mut self, index: usize, event: &Event) -> Result<(), String> {
        let Some(waker) = event.waker else { return Ok(()) };
        if event.phase != Phase::End || !matches!(event.op.effect(), Effect::Wait | Effect::TimedWait) {
            return Err(format!("{} has a waker", event.op.name()));
        }
        let by = self.schedule.index_of(waker).filter(|&by| by < index).map(|by| &self.schedule.events[by]);
        let by = by.ok_or_else(|| format!("its waker, event {waker}, is no earlier event"))?;
        if !matches!(by.op.effect(), Effect::Signal | Effect::Broadcast) || by.object != event.object {
            return Err(format!("its waker, event {waker}, does not signal the same condition variable"));
        }
        if by.op.effect() == Effect::Signal && !self.used_signals.insert(waker) {
            return Err(format!("the signal of event {waker} has woken another wait before"));
        }
        Ok(())
    }

    /// Rule 12, for events.
    fn check_site(&mut self, event: &Event) -> Result<(), String> {
        if event.site.is_none() {
            return Ok(());
        }
        let checked = self.used_sites.entry(event.site).or_default();
        if *checked == Some(event.op) {
            return Ok(());
        }
        let site = self.schedule.sites.get(&event.site);
        let site = site.ok_or_else(|| format!("site {} is not described", event.site))?;
        *checked = Some(event.op);
        if site_fits(site, event.op) {
            return Ok(());
        }
        let (id, kind, callee) = (site.id, site.kind.name(), &site.callee);
        Err(format!("site {id} (kind {kind}, callee `{callee}`) cannot be one of {}", event.op.name()))
    }

    fn finish(self) -> Result<(), Fault> {
        for (number, (described, progress)) in self.schedule.threads.iter().zip(&self.threads).enumerate() {
            let fault = |what: &str| Err(Fault::in_header(format!("thread t{number} {what}")));
            if !progress.known {
                return fault("is named by no event");
            }
            if described.parent.is_some() != progress.made {
                return fault("has a parent but no create, or a create but no parent");
            }
            if described.entry.is_some() && !progress.entered {
                return fault("has an entry site but no entry event");
            }
        }
        if let Some(unused) = self.schedule.objects.get(self.known_objects) {
            return Err(Fault::in_header(format!("object {unused} is used by no event")));
        }
        for id in self.schedule.sites.keys() {
            if !self.used_sites.contains_key(id) {
                return Err(Fault::in_header(format!("site {id} is used by no event")));
            }
        }
        for id in self.used_sites.keys() {
            if !self.schedule.sites.contains_key(id) {
                return Err(Fault::in_header(format!("site {id} is not described")));
            }
        }
        Ok(())
    }
}

fn takes_count(op: Op) -> bool {
    matches!(op, Op::pthread_barrier_init | Op::sem_init | Op::sem_open)
}

fn site_fits(site: &Site, op: Op) -> bool {
    let calls =
        |wanted: &dyn Fn(Op) -> bool| Hook::replacing(&site.callee).is_some_and(|hook| wanted(hook.op));
    match op.effect() {
        Effect::Enter => site.kind == SiteKind::Entry,
        Effect::Call => site.kind == SiteKind::Derived,
        // A thread that calls pthread_exit leaves at that call.
        Effect::Leave => site.kind == SiteKind::Exit || calls(&|callee| callee.effect() == Effect::EndThread),
        Effect::EndProcess => {
            matches!(site.kind, SiteKind::True | SiteKind::Exit) && calls(&|callee| callee == op)
        }
        _ => site.kind == SiteKind::True && calls(&|callee| callee == op),
    }
}

#[cfg(test)]
mod tests;
