//! Limits: what the instrumentation could not do, why, where and how often. A limit never stops a pass; one that
//! loses a true synchronization is also a warning at its place.

use crate::ir::{Inst, Location, Module, Severity};
use std::collections::BTreeMap;

/// Why something was left alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Limit {
    /// A synchronizing call is `musttail`: a hook has other parameters than its caller.
    MusttailSynchronization,
    /// A synchronizing call is a `callbr`.
    CallbrSynchronization,
    /// A synchronizing function is called with arguments that do not fit its declaration.
    Prototype,
    /// A synchronizing function is called with nothing: what configure scripts do to see whether it is there.
    Probe,
    /// The address of a variadic synchronizing function is taken.
    VariadicReference,
    /// A `naked` function has no place for markers.
    Naked,
    /// A function that handles exceptions in funclets.
    Funclets,
    /// Calls in a coroutine have no derived hooks: the call stack at its start is not that at its end.
    Coroutine,
    /// A coroutine that may be a thread's function has no entry: it may end in another thread.
    CoroutineThread,
    /// A call that may synchronize is `musttail`: nothing can stand between it and its return.
    MusttailDerived,
    /// A call that may synchronize is a `callbr`.
    CallbrDerived,
    /// A function calls itself at its end: with a marker behind it the call would need stack.
    TailRecursion,
    /// A thread function returns what a `musttail` call gave it.
    MusttailExit,
    /// Functions that were instrumented at link time, among others that have their bitcode already.
    LateBitcode,
    /// A cycle that can be entered at several blocks is no loop.
    EpochIrreducible,
    /// A `naked` function has no place for an epoch marker.
    EpochNaked,
    /// Calls in a function that handles exceptions in funclets need bundles.
    EpochFunclets,
    /// A coroutine that is not split yet.
    EpochCoroutine,
    /// A function that calls `setjmp` and synchronizes.
    EpochLongjmp,
    /// A library call that may block is `musttail` or a `callbr`.
    EpochBlocking,
    /// `loom` can put nothing into this function.
    LoomLeftAlone,
    /// A function has no slow path.
    LoomNotCloned,
    /// A library call that may block, or one through a pointer that may be a signal handler's, is `musttail` or a `callbr`.
    LoomBoundCall,
}

impl Limit {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Limit::MusttailSynchronization => "synchronization by a musttail call is not seen",
            Limit::CallbrSynchronization => "synchronization by a callbr is not seen",
            Limit::Prototype => "a call whose arguments do not fit the function's prototype is not seen",
            Limit::Probe => "a call without arguments is not seen",
            Limit::VariadicReference => "calls of a variadic function through a pointer are not seen",
            Limit::Naked => "a naked function was left alone",
            Limit::Funclets => "a function with exception funclets was left alone",
            Limit::Coroutine => "calls in a coroutine are not shown as callers of synchronizations",
            Limit::CoroutineThread => "a coroutine that may be a thread's function has no entry",
            Limit::MusttailDerived => "a musttail call is not shown as a caller of synchronizations",
            Limit::CallbrDerived => "a callbr is not shown as a caller of synchronizations",
            Limit::TailRecursion => {
                "a function's call of itself at its end is not shown as a caller of synchronizations"
            }
            Limit::MusttailExit => "a thread function's return after a musttail call has no site",
            Limit::LateBitcode => "the bitcode of functions that were instrumented at link time is not kept",
            Limit::EpochIrreducible => {
                "a cycle with several entries is no loop: an epoch marker stands at each of them, whatever the rules say"
            }
            Limit::EpochNaked => "a naked function has no place for epoch markers",
            Limit::EpochFunclets => "a function with exception funclets gets no epoch markers",
            Limit::EpochCoroutine => "a coroutine gets no epoch markers",
            Limit::EpochLongjmp => "a loop that longjmp makes gets no epoch marker",
            Limit::EpochBlocking => {
                "a library call that may block does not leave its epoch: it is a musttail call or a callbr"
            }
            Limit::LoomLeftAlone => "filters cannot reach a function that is naked, an interrupt's handler, a resolver or a coroutine",
            Limit::LoomNotCloned => "a function has no slow path, thus no slots",
            Limit::LoomBoundCall => {
                "a library call that may block, or one of a function that may be a signal handler, holds up updates: it is a musttail call or a callbr"
            }
        }
    }

    /// Whether a schedule will lack a true synchronization.
    pub fn loses_synchronization(self) -> bool {
        matches!(
            self,
            Limit::MusttailSynchronization
                | Limit::CallbrSynchronization
                | Limit::Prototype
                | Limit::VariadicReference
        )
    }
}

/// Where a limit was met.
#[derive(Clone, Debug)]
struct Met<'m> {
    limit: Limit,
    inst: Option<Inst<'m>>,
    location: Location,
    /// The function called or left alone.
    subject: String,
}

/// The limits of one run over one module.
#[derive(Clone, Debug, Default)]
pub struct Limits<'m> {
    met: Vec<Met<'m>>,
}

impl<'m> Limits<'m> {
    /// Notes a limit at an instruction.
    pub fn at(&mut self, limit: Limit, inst: Inst<'m>, subject: &str) {
        self.met.push(Met {
            limit,
            inst: Some(inst),
            location: inst.location(),
            subject: subject.to_owned(),
        });
    }

    /// Notes a limit of something larger.
    pub fn note(&mut self, limit: Limit, location: Location, subject: &str) {
        self.met.push(Met { limit, inst: None, location, subject: subject.to_owned() });
    }

    /// Each limit with its place and what it is about, in the order in which they were met.
    pub fn iter(&self) -> impl Iterator<Item = (Limit, &Location, &str)> {
        self.met.iter().map(|met| (met.limit, &met.location, met.subject.as_str()))
    }

    /// Warns of those that lose a synchronization. Only before the module changes.
    pub fn warn(&self, module: Module<'m>) {
        for met in self.met.iter().filter(|met| met.limit.loses_synchronization()) {
            let message = format!("covsched: {}: {}", crate::demangle(&met.subject), met.limit.describe());
            match met.inst {
                Some(inst) => module.report_at(inst, Severity::Warning, &message),
                None => module.report(Severity::Warning, &message),
            }
        }
    }

    /// Reasons with their counts and first places, or "none".
    pub fn summary(&self) -> String {
        let mut reasons: BTreeMap<Limit, (usize, &Met<'m>)> = BTreeMap::new();
        for met in &self.met {
            reasons.entry(met.limit).or_insert((0, met)).0 += 1;
        }
        if reasons.is_empty() {
            return "none".to_owned();
        }
        let parts: Vec<String> = reasons
            .values()
            .map(|(count, first)| {
                let Location { file, line, column } = &first.location;
                let place =
                    if file.is_empty() { String::new() } else { format!(" at {file}:{line}:{column}") };
                let subject = crate::demangle(&first.subject);
                format!("{} ({count}, first: {subject}{place})", first.limit.describe())
            })
            .collect();
        parts.join("; ")
    }
}
