//! What `loom` must know of each function before it chooses.

use crate::instrument::apply::{DERIVED, EPOCH};
use crate::ir::loom::{BackEdge, Obstacle, Reached};
use crate::ir::{CallFacts, Form, Function, FunctionFacts, Inst, Module, Target};
use covsched_core::library;
use std::collections::{HashMap, HashSet};

/// What a call means to its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// It neither blocks nor runs the program's own code.
    Nothing,
    /// It runs the program's own code, which may pause.
    CallsBack,
    /// A function of this module, by its place in [`Program::functions`].
    Own(usize),
    /// It may block.
    Blocks,
    /// A function of this name that is defined elsewhere: another unit of the program's, or of a library.
    Unknown,
    /// Through a pointer.
    Indirect,
    /// Of a function of a signal handler's type, through a pointer mostly, which takes who comes to it running for interrupted.
    HandlerLike,
    /// It comes back a second time.
    ReturnsTwice,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call<'m> {
    /// The instruction.
    pub inst: Inst<'m>,
    /// What it means.
    pub meaning: Meaning,
    /// The callee's linkage name, empty if it is not called by name.
    pub callee: String,
    /// It must be followed by its return, or cannot be followed by anything else.
    pub is_bound: bool,
    /// Nothing follows on the fast path but the return.
    pub returns_next: bool,
    /// It is a marker that only a recording needs.
    pub is_for_recording: bool,
}

/// A function with a body.
pub struct Body<'m> {
    /// What it is.
    pub facts: FunctionFacts<'m>,
    /// How it can be reached.
    pub reached: Reached,
    /// Why it can have no slow path.
    pub obstacle: Option<(Obstacle, Option<Inst<'m>>)>,
    /// Its calls, without intrinsics, in order.
    pub calls: Vec<Call<'m>>,
    /// What closes its cycles.
    pub back_edges: Vec<BackEdge<'m>>,
    /// Its landing pads.
    pub pads: Vec<Inst<'m>>,
}

/// A module's functions that are to be instrumented.
pub struct Program<'m> {
    /// In the module's order.
    pub functions: Vec<Body<'m>>,
    /// Functions that cannot be instrumented at all.
    pub left_alone: Vec<(FunctionFacts<'m>, &'static str)>,
}

impl<'m> Program<'m> {
    /// Looks at the whole module, and gives its functions the form that changes expect. `few`: see
    /// [`Function::prepare_for_loom`].
    pub fn of(module: Module<'m>, few: u32) -> Self {
        let all = module.functions();
        let mut left_alone = Vec::new();
        let mut chosen = Vec::new();
        for facts in &all {
            let is_ours = facts.name == "covsched.register";
            if !facts.has_body() || facts.is_declared() || facts.function.is_loomed() || is_ours {
                continue;
            }
            match untouchable(facts) {
                Some(reason) => left_alone.push((facts.clone(), reason)),
                None => chosen.push(facts.clone()),
            }
        }
        for facts in &chosen {
            facts.function.prepare_for_loom(few);
        }
        let places: HashMap<Function<'m>, usize> =
            chosen.iter().enumerate().map(|(place, facts)| (facts.function, place)).collect();
        let by_function: HashMap<Function<'m>, &FunctionFacts<'m>> =
            all.iter().map(|facts| (facts.function, facts)).collect();
        let functions = chosen
            .iter()
            .map(|facts| Body {
                facts: facts.clone(),
                reached: facts.function.reached(),
                obstacle: facts.function.loom_obstacle(),
                calls: read_calls(facts.function, &places, &by_function),
                back_edges: facts.function.back_edges(),
                pads: facts.function.landing_pads(),
            })
            .collect();
        Program { functions, left_alone }
    }
}

/// Why nothing can be put into a function.
fn untouchable(facts: &FunctionFacts<'_>) -> Option<&'static str> {
    if facts.is_naked() {
        Some("a naked function")
    } else if facts.is_interrupt() {
        Some("an interrupt's handler")
    } else if facts.has_funclets() {
        Some("a function with exception funclets")
    } else if facts.is_coroutine() {
        Some("a coroutine that is not split yet")
    } else if facts.is_resolver() {
        Some("an ifunc's resolver")
    } else {
        None
    }
}

fn read_calls<'m>(
    function: Function<'m>,
    places: &HashMap<Function<'m>, usize>,
    all: &HashMap<Function<'m>, &FunctionFacts<'m>>,
) -> Vec<Call<'m>> {
    let calls = function.calls();
    let calls = || calls.iter().filter(|call| call.form != Form::Return);
    let markers: HashSet<Inst<'m>> =
        calls().filter(|call| is_for_recording(call)).map(|call| call.inst).collect();
    calls().map(|call| read_call(call, places, all, &markers)).collect()
}

fn is_for_recording(call: &CallFacts<'_>) -> bool {
    let name = call.named.map(|named| named.name()).unwrap_or_default();
    call.form == Form::Call && DERIVED.iter().chain(&EPOCH).any(|&marker| marker == name)
}

fn read_call<'m>(
    call: &CallFacts<'m>,
    places: &HashMap<Function<'m>, usize>,
    all: &HashMap<Function<'m>, &FunctionFacts<'m>>,
    markers: &HashSet<Inst<'m>>,
) -> Call<'m> {
    let facts = call.callee.and_then(|function| all.get(&function).copied());
    let callee = call.named.map(|named| named.name()).unwrap_or_default();
    let meaning = if call.returns_twice {
        Meaning::ReturnsTwice
    } else {
        match call.target {
            Target::Asm if call.inst.calls_system() => Meaning::Blocks,
            Target::Asm => Meaning::Nothing,
            Target::Indirect if call.inst.calls_handler_like() => Meaning::HandlerLike,
            Target::Indirect => Meaning::Indirect,
            Target::Direct => match facts {
                Some(facts) if facts.has_body() && !facts.is_declared() && !facts.is_interposable() => {
                    match places.get(&facts.function) {
                        Some(&place) => Meaning::Own(place),
                        // Done before, maybe as what takes those who come running for interrupted.
                        None if call.inst.calls_handler_like() => Meaning::HandlerLike,
                        // Done before, or left alone: it may do anything that instrumented code does.
                        None => Meaning::Indirect,
                    }
                }
                _ => meaning_by_name(&callee),
            },
        }
    };
    Call {
        inst: call.inst,
        meaning,
        callee,
        is_bound: call.is_bound_to_return || call.form == Form::Callbr,
        returns_next: call.form == Form::Call && call.inst.returns_next(|inst| !markers.contains(&inst)),
        is_for_recording: markers.contains(&call.inst),
    }
}

fn meaning_by_name(callee: &str) -> Meaning {
    if library::runs_callback(callee) {
        Meaning::CallsBack
    } else if library::never_blocks(callee) {
        Meaning::Nothing
    } else if library::is_known(callee) {
        Meaning::Blocks
    } else {
        Meaning::Unknown
    }
}
