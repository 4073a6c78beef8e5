//! Which calls synchronize, and which may (Wu, Ch. 2: true and derived synchronizations).
//!
//! A call is true if it calls a function of the hook table that this module does not define. A call is derived if
//! it may come to a true one: the callee reaches one through the module's call graph, or is not known well enough
//! (external and not in core's `library`, replaceable at link time, called through a pointer).
//!
//! Of a module that was lowered, what a recording runs counts: see [`in_recordings`].
//!
//! One pass over the instructions and one over the call graph's edges: linear in the module.

use crate::ir::{CallFacts, Form, Function, FunctionFacts, Global, Module, Target, Version};
use covsched_core::hooks::{Hook, CXX_HOOKS, HOOKS, MARKERS};
use covsched_core::library;
use std::collections::HashMap;

/// The marker that ends epochs.
pub const EPOCH_MARKER: &str = "covsched_epoch_marker";
/// The one in a loop that may only wait for memory.
pub const EPOCH_SPIN: &str = "covsched_epoch_spin";
/// Both.
pub const EPOCH_MARKERS: [&str; 2] = [EPOCH_MARKER, EPOCH_SPIN];

/// What calling a function means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// It synchronizes: a hook takes its place.
    True(&'static Hook),
    /// It may synchronize inside.
    Derived,
    /// It is an epoch marker: a site, and its callers are shown, so that the call stack at the marker is known.
    Marker,
    /// It does neither.
    Nothing,
}

/// A function of the module with its calls and returns.
pub struct Body<'m> {
    /// What it is.
    pub facts: FunctionFacts<'m>,
    /// Its calls and returns; empty for a declaration.
    pub calls: Vec<CallFacts<'m>>,
    /// What a call of it means.
    pub meaning: Meaning,
}

/// Every function of a module.
pub struct Calls<'m> {
    bodies: Vec<Body<'m>>,
    by_function: HashMap<Function<'m>, usize>,
}

impl<'m> Calls<'m> {
    /// Looks at the whole module.
    pub fn of(module: Module<'m>) -> Self {
        let hooks: HashMap<&str, &'static Hook> =
            HOOKS.iter().chain(CXX_HOOKS).map(|hook| (hook.replaces, hook)).collect();
        let bodies: Vec<Body<'m>> = module
            .functions()
            .into_iter()
            .map(|facts| {
                let calls = if facts.has_body() { in_recordings(&facts) } else { Vec::new() };
                let meaning = meaning_alone(&facts, &hooks);
                Body { facts, calls, meaning }
            })
            .collect();
        let by_function =
            bodies.iter().enumerate().map(|(index, body)| (body.facts.function, index)).collect();
        let mut calls = Calls { bodies, by_function };
        calls.spread();
        calls
    }

    /// All functions, in the module's order.
    pub fn bodies(&self) -> &[Body<'m>] {
        &self.bodies
    }

    /// A function of the module.
    pub fn body(&self, function: Function<'m>) -> Option<&Body<'m>> {
        self.by_function.get(&function).map(|&index| &self.bodies[index])
    }

    /// What a call means.
    pub fn meaning(&self, call: &CallFacts<'m>) -> Meaning {
        if call.form == Form::Return || call.target == Target::Asm {
            return Meaning::Nothing;
        }
        let meaning = match call.callee.and_then(|function| self.by_function.get(&function)) {
            // An alias with a hooked name is the program's own function, and so is what it stands for.
            Some(&callee) => self.bodies[callee].meaning,
            // A pointer, an ifunc, an alias that may be replaced.
            None => Meaning::Derived,
        };
        if call.cannot_synchronize && meaning == Meaning::Derived {
            return Meaning::Nothing;
        }
        meaning
    }

    /// Spreads "may synchronize" from callees to callers.
    fn spread(&mut self) {
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); self.bodies.len()];
        let mut work: Vec<usize> = Vec::new();
        for (caller, body) in self.bodies.iter().enumerate() {
            let mut may = false;
            for call in &body.calls {
                match self.meaning(call) {
                    Meaning::True(_) | Meaning::Derived | Meaning::Marker => may = true,
                    // Not known yet, if it has a body here.
                    Meaning::Nothing => {
                        if let Some(&callee) = call.callee.and_then(|f| self.by_function.get(&f)) {
                            callers[callee].push(caller);
                        }
                    }
                }
            }
            if may {
                work.push(caller);
            }
        }
        while let Some(index) = work.pop() {
            if self.bodies[index].meaning == Meaning::Nothing && !knows_better(&self.bodies[index].facts) {
                self.bodies[index].meaning = Meaning::Derived;
                work.append(&mut callers[index]);
            }
        }
    }
}

/// A function's calls and returns, without those of code that `covsched-lower` made for other runs: its markers are
/// elsewhere.
fn in_recordings<'m>(facts: &FunctionFacts<'m>) -> Vec<CallFacts<'m>> {
    let mut calls = facts.function.calls();
    match facts.version() {
        Some(Version::Tested) => {
            let reached = facts.function.flow().reached_calls();
            calls.retain(|call| call.form == Form::Return || reached.contains(&call.inst));
        }
        Some(Version::Plain) => calls.clear(),
        Some(Version::Recorded) | None => {}
    }
    calls
}

/// Attributes or the table of library calls say "never", whatever a body (that is here to be inlined) calls.
fn knows_better(facts: &FunctionFacts<'_>) -> bool {
    facts.cannot_synchronize() || (facts.is_declared() && library::never_synchronizes(&facts.name))
}

/// What can be said of a function without looking at others.
fn meaning_alone(facts: &FunctionFacts<'_>, hooks: &HashMap<&str, &'static Hook>) -> Meaning {
    if facts.is_intrinsic() {
        return Meaning::Nothing;
    }
    if facts.is_declared() {
        if let Some(hook) = hooks.get(facts.name.as_str()) {
            return Meaning::True(hook);
        }
        if let Some(rest) = facts.name.strip_prefix("covsched_") {
            return meaning_of_hook(rest);
        }
    }
    if knows_better(facts) {
        Meaning::Nothing
    } else if !facts.has_body() || facts.is_interposable() {
        Meaning::Derived
    } else {
        Meaning::Nothing
    }
}

/// A call of a hook stands in code that is already instrumented: no site again, but its callers may synchronize.
fn meaning_of_hook(name: &str) -> Meaning {
    if EPOCH_MARKERS.iter().any(|marker| marker.strip_prefix("covsched_") == Some(name)) {
        return Meaning::Marker;
    }
    let is_marker = MARKERS.iter().any(|marker| marker.symbol.strip_prefix("covsched_") == Some(name));
    if is_marker {
        Meaning::Nothing
    } else {
        Meaning::Derived
    }
}

/// How a site names what is called.
pub fn callee_name(named: Option<Global<'_>>) -> String {
    named.map_or_else(|| "*".to_owned(), Global::name)
}
