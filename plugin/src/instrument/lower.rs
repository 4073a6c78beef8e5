//! `covsched-lower`: markers cost a program that is not recorded next to nothing.
//!
//! Those of derived calls and of epochs matter only to a recording. A function with such markers gets two versions:
//! ```text
//! F:           %b = load i8, ptr @covsched_active
//!              br i1 (%b == ALL_MARKERS), %recorded, %body        ; unlikely
//!    recorded: return F.recorded(arguments)                       ; musttail
//!    body:     F's code without these markers
//! F.recorded:  F's code with them
//! ```
//! F.recorded calls the recorded versions of others, where the linker cannot put something else in their place. A
//! function that the module calls by name only, and only from functions with two versions, needs no test: each version
//! calls its like. Behind branches that come to no marker there is no test, either (`cpp/versions.cpp`).
//!
//! Where that cannot be done or does not pay ([`Obstacle`]), and around the markers of main and of threads, which also
//! a run that follows a plan needs, there is a test around each:
//! ```text
//! %d = call i32 @covsched_derived_enter(i64 SITE)  ->      %b = load i8, ptr @covsched_active
//!                                                          br i1 (%b == 1), %then, %cont   ; unlikely
//!                                                      then: %c = call i32 @covsched_derived_enter(i64 SITE)
//!                                                      cont: %d = phi i32 [ 0, ... ], [ %c, %then ]
//! ```
//! The markers of main and of threads test for `!= 0` (core's `Registration` says why). The byte changes only while
//! the linked object's constructor registers it, when no frame of the object's code is active, so that an enter
//! and its leave see the same, and so do all versions on a stack. Where this pass does not run, the calls work as they
//! are. Calls of hooks that replace a call are not touched: something must be called there anyway.
//!
//! At link time this runs again. Versions have an attribute and are not made twice; markers that inlining brought into
//! one without markers get a test.

use crate::instrument::apply::{DERIVED, EPOCH, IN_CODE};
use crate::ir::versions::Obstacle;
use crate::ir::{CallFacts, Form, Function, Inst, Module, Version};
use covsched_core::site::ALL_MARKERS;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroU8;

/// Who needs a marker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    /// A recording.
    Recording,
    /// Whatever the runtime does.
    Always,
}

impl Need {
    fn of(name: &str) -> Option<Need> {
        match name {
            _ if IN_CODE.contains(&name) => Some(Need::Always),
            _ if DERIVED.contains(&name) || EPOCH.contains(&name) => Some(Need::Recording),
            _ => None,
        }
    }

    /// The only value of the byte with which the marker is called; `None` if it is any but 0.
    fn only(self) -> Option<NonZeroU8> {
        match self {
            Need::Recording => NonZeroU8::new(ALL_MARKERS),
            Need::Always => None,
        }
    }
}

/// A function's markers that nothing is around yet.
struct Marked<'m> {
    function: Function<'m>,
    markers: Vec<(Inst<'m>, Need)>,
    version: Option<Version>,
}

impl<'m> Marked<'m> {
    fn for_recording(&self) -> Vec<Inst<'m>> {
        self.markers.iter().filter(|(_, need)| *need == Need::Recording).map(|&(inst, _)| inst).collect()
    }
}

/// What becomes of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// A test around each marker, and why it has no versions; `None` if no marker is for a recording only, or
    /// there are versions already.
    Guards(Option<Obstacle>),
    /// Two versions.
    Versions { tested: bool },
}

/// What was done, for `verbose`.
#[derive(Default)]
struct Counts {
    versions: usize,
    untested: usize,
    guarded: BTreeMap<Obstacle, usize>,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} functions with two versions, {} without a test", self.versions, self.untested)?;
        for (index, (obstacle, count)) in self.guarded.iter().enumerate() {
            let before = if index == 0 { "; tests around markers: " } else { ", " };
            write!(f, "{before}{count} {}", obstacle.describe())?;
        }
        Ok(())
    }
}

/// Takes care of every marker. Returns whether the module changed.
pub fn lower(module: Module<'_>, is_verbose: bool) -> bool {
    let (marked, callers) = collect(module);
    let choices = choose(&marked, &callers);
    if is_verbose {
        eprintln!("covsched: {}: lower: {}", module.source_name(), count(&choices));
    }
    change(module, &marked, &choices);
    !marked.is_empty()
}

/// The functions with markers to take care of, and who calls which function.
fn collect(module: Module<'_>) -> (Vec<Marked<'_>>, HashMap<Function<'_>, Vec<Function<'_>>>) {
    let functions = module.functions();
    let needs: HashMap<Function<'_>, Need> = functions
        .iter()
        .filter(|facts| facts.is_declared())
        .filter_map(|facts| Some((facts.function, Need::of(&facts.name)?)))
        .collect();
    let (mut marked, mut callers) = (Vec::new(), HashMap::<_, Vec<_>>::new());
    if needs.is_empty() {
        return (marked, callers);
    }
    for facts in functions.iter().filter(|facts| facts.has_body()) {
        let calls = facts.function.calls();
        let is_open = |call: &&CallFacts<'_>| call.form == Form::Call && !call.is_guarded;
        let markers: Vec<_> = calls
            .iter()
            .filter(is_open)
            .filter_map(|call| Some((call.inst, *needs.get(&call.callee?)?)))
            .collect();
        for callee in calls.iter().filter_map(|call| call.callee) {
            callers.entry(callee).or_default().push(facts.function);
        }
        // What stands in a recorded version is called.
        if !markers.is_empty() && facts.version() != Some(Version::Recorded) {
            marked.push(Marked { function: facts.function, markers, version: facts.version() });
        }
    }
    (marked, callers)
}

fn choose<'m>(marked: &[Marked<'m>], callers: &HashMap<Function<'m>, Vec<Function<'m>>>) -> Vec<Choice> {
    let mut choices: Vec<Choice> = marked.iter().map(choose_alone).collect();
    let has_versions: HashMap<Function<'m>, bool> = marked
        .iter()
        .zip(&choices)
        .map(|(marked, choice)| (marked.function, matches!(choice, Choice::Versions { .. })))
        .collect();
    for (marked, choice) in marked.iter().zip(&mut choices) {
        if let Choice::Versions { tested } = choice {
            let callers = callers.get(&marked.function).map_or(&[][..], Vec::as_slice);
            let are_known = callers.iter().all(|caller| has_versions.get(caller) == Some(&true));
            *tested = !are_known || !marked.function.is_only_called();
        }
    }
    choices
}

/// What can be said of a function without looking at others.
fn choose_alone(marked: &Marked<'_>) -> Choice {
    let markers = marked.for_recording();
    if markers.is_empty() || marked.version.is_some() {
        return Choice::Guards(None);
    }
    match marked.function.version_obstacle(&markers) {
        Some(obstacle) => Choice::Guards(Some(obstacle)),
        None => Choice::Versions { tested: true },
    }
}

fn count(choices: &[Choice]) -> Counts {
    let mut counts = Counts::default();
    for choice in choices {
        match choice {
            Choice::Guards(None) => {}
            Choice::Guards(Some(obstacle)) => *counts.guarded.entry(*obstacle).or_default() += 1,
            Choice::Versions { tested } => {
                counts.versions += 1;
                counts.untested += usize::from(!tested);
            }
        }
    }
    counts
}

fn change<'m>(module: Module<'m>, marked: &[Marked<'m>], choices: &[Choice]) {
    if marked.is_empty() {
        return;
    }
    let active = module.active_byte();
    let mut recorded: HashMap<Function<'m>, Function<'m>> = HashMap::new();
    for (marked, choice) in marked.iter().zip(choices) {
        let mut to_guard = marked.markers.clone();
        if let Choice::Versions { tested } = choice {
            let test = Need::Recording.only().filter(|_| *tested).map(|only| (active, only));
            let copy = marked.function.make_versions(&marked.for_recording(), test);
            recorded.insert(marked.function, copy);
            to_guard.retain(|(_, need)| *need != Need::Recording);
        }
        if to_guard.is_empty() {
            continue;
        }
        marked.function.gather_allocas();
        // From the last to the first, each split moves only what stands between two calls: linear.
        for (call, need) in to_guard.into_iter().rev() {
            call.guard(active, need.only());
        }
    }
    let direct: HashMap<Function<'m>, Function<'m>> =
        recorded.iter().filter(|(from, _)| from.binds_here()).map(|(&from, &to)| (from, to)).collect();
    for call in recorded.values().flat_map(|copy| copy.calls()) {
        if let Some((from, &to)) = call.callee.and_then(|from| Some((from, direct.get(&from)?))) {
            call.inst.redirect(from, to);
        }
    }
}
