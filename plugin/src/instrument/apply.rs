//! Carries a plan out. The order matters: addresses first, while calls still show what they call; then, in each
//! function, calls; then entry and exits, which stand outermost.

use crate::analysis::calls::{EPOCH_MARKER, EPOCH_SPIN};
use crate::analysis::threads::Role;
use crate::instrument::plan::{FunctionPlan, Plan};
use crate::ir::{Function, Inst, Module};
use covsched_core::hooks::{Hook, Marker, Word, MARKERS};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// Why a plan cannot be carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApplyError {
    /// The program defines a symbol that belongs to the runtime.
    SymbolTaken(&'static str),
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApplyError::SymbolTaken(symbol) => {
                write!(
                    f,
                    "the program declares {symbol}, a function of covsched's runtime, with another type"
                )
            }
        }
    }
}

/// The hooks of a module, declared when first needed.
pub struct Declarations<'m> {
    module: Module<'m>,
    known: HashMap<&'static str, Function<'m>>,
}

impl<'m> Declarations<'m> {
    /// None yet.
    pub fn new(module: Module<'m>) -> Self {
        Declarations { module, known: HashMap::new() }
    }

    /// The hook of a function, with that function's own promises.
    fn hook(&mut self, hook: &'static Hook, original: Function<'m>) -> Result<Function<'m>, ApplyError> {
        if let Some(&known) = self.known.get(hook.symbol) {
            return Ok(known);
        }
        let mut params = hook.params.to_vec();
        if hook.takes_original() {
            params.push(Word::Ptr);
        }
        params.push(Word::Site);
        self.declare(hook.symbol, &params, hook.result, false, Some(original))
    }

    /// A hook that the pass adds.
    pub fn marker(&mut self, symbol: &str) -> Result<Function<'m>, ApplyError> {
        if let Some(&known) = self.known.get(symbol) {
            return Ok(known);
        }
        let marker = row(symbol);
        // Registering reads the program's data; the others touch nothing that the program sees.
        let is_quiet = symbol != REGISTER;
        self.declare(marker.symbol, marker.params, marker.result, is_quiet, None)
    }

    fn declare(
        &mut self,
        symbol: &'static str,
        params: &[Word],
        result: Word,
        is_marker: bool,
        like: Option<Function<'m>>,
    ) -> Result<Function<'m>, ApplyError> {
        let function = self
            .module
            .declare_hook(symbol, params, result, is_marker, like)
            .ok_or(ApplyError::SymbolTaken(symbol))?;
        self.known.insert(symbol, function);
        Ok(function)
    }
}

/// The marker that constructors call.
pub const REGISTER: &str = "covsched_register";
const MAIN_ENTER: &str = "covsched_main_enter";
const THREAD_ENTER: &str = "covsched_thread_enter";
const THREAD_EXIT: &str = "covsched_thread_exit";
const DERIVED_ENTER: &str = "covsched_derived_enter";
const DERIVED_LEAVE: &str = "covsched_derived_leave";
const DERIVED_DEPTH: &str = "covsched_derived_depth";

/// Before a library call that may block.
pub const EPOCH_LEAVE: &str = "covsched_epoch_leave";
/// After it.
pub const EPOCH_ENTER: &str = "covsched_epoch_enter";

/// The markers that stand in the program's code and are called whatever the runtime does.
pub const IN_CODE: [&str; 3] = [MAIN_ENTER, THREAD_ENTER, THREAD_EXIT];

/// Those of derived calls, which only a recording needs.
pub const DERIVED: [&str; 3] = [DERIVED_ENTER, DERIVED_LEAVE, DERIVED_DEPTH];

/// Those of epochs; likewise.
pub const EPOCH: [&str; 4] = [EPOCH_MARKER, EPOCH_SPIN, EPOCH_LEAVE, EPOCH_ENTER];

fn row(symbol: &str) -> &'static Marker {
    MARKERS
        .iter()
        .find(|marker| marker.symbol == symbol)
        .expect("the names above are rows of the marker table")
}

/// Carries the plan out, except for what belongs to the unit as a whole.
pub fn apply<'m>(module: Module<'m>, plan: &Plan<'m>) -> Result<(), ApplyError> {
    let mut declarations = Declarations::new(module);
    for reference in &plan.references {
        let hook = declarations.hook(reference.hook, reference.original)?;
        let original = reference.hook.takes_original().then_some(reference.original);
        let name = format!("covsched.ref.{}", reference.hook.replaces);
        let wrapper = module.make_wrapper(&name, hook, original, reference.site);
        reference.original.replace_address(wrapper);
    }
    for function in &plan.functions {
        apply_to_function(&mut declarations, function)?;
        function.function.mark_instrumented();
    }
    Ok(())
}

fn apply_to_function<'m>(
    declarations: &mut Declarations<'m>,
    plan: &FunctionPlan<'m>,
) -> Result<(), ApplyError> {
    for call in &plan.true_calls {
        let hook = declarations.hook(call.hook, call.original)?;
        let original = call.hook.takes_original().then_some(call.original);
        call.inst.replace_by_hook(hook, original, call.site);
    }
    mark_derived_calls(declarations, plan)?;
    let Some((role, site)) = plan.entry else { return Ok(()) };
    let enter = declarations.marker(if role == Role::Main { MAIN_ENTER } else { THREAD_ENTER })?;
    let exit = declarations.marker(THREAD_EXIT)?;
    let place = plan.function.as_place();
    let outermost = plan.function.body_point().insert_marker(enter, None, Some(site), place);
    for &(ret, site) in &plan.exits {
        ret.insert_marker(exit, Some(outermost), Some(site), ret);
    }
    Ok(())
}

fn mark_derived_calls<'m>(
    declarations: &mut Declarations<'m>,
    plan: &FunctionPlan<'m>,
) -> Result<(), ApplyError> {
    let lands = plan.derived_calls.iter().any(|call| call.is_invoke);
    if plan.derived_calls.is_empty() && plan.returns_twice.is_empty() {
        return Ok(());
    }
    let enter = declarations.marker(DERIVED_ENTER)?;
    let leave = declarations.marker(DERIVED_LEAVE)?;
    // Where an exception or a longjmp lands, calls that never came back are on the runtime's stack. These come
    // first: the next instruction there may be a call that gets its own markers.
    if lands || !plan.returns_twice.is_empty() {
        let depth = declarations.marker(DERIVED_DEPTH)?;
        let place = plan.function.as_place();
        let base = plan.function.body_point().insert_marker(depth, None, None, place);
        let mut landings: HashSet<Inst<'m>> = HashSet::new();
        for call in plan.derived_calls.iter().filter(|call| call.is_invoke) {
            if let Some(point) = call.inst.landing_point().filter(|&point| landings.insert(point)) {
                let reset = point.insert_marker(leave, Some(base), None, point);
                // What stands after the landing pad now; another invoke may land here, too.
                landings.insert(reset);
            }
        }
        for &call in &plan.returns_twice {
            if let Some(point) = call.point_after() {
                point.insert_marker(leave, Some(base), None, call);
            }
        }
    }
    for call in &plan.derived_calls {
        let depth = call.inst.insert_marker(enter, None, Some(call.site), call.inst);
        if let Some(point) = call.inst.point_after() {
            point.insert_marker(leave, Some(depth), None, call.inst);
        }
    }
    Ok(())
}
