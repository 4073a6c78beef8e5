//! The safe wrapper of Z3's C interface: one [`Engine`] is one Z3 context with its solvers. Nothing of Z3 leaves
//! it: formulas go in as [`Term`]s, models come out as values of variables.
//!
//! Ground rules:
//! - opt and clang may use the same libz3 in the same process: no global parameter is set, and the solvers are told
//!   to leave the process' Ctrl-C handler alone (by default each check would replace it).
//! - Objects are counted (`mk_context_rc`): every formula is kept until the engine is dropped, everything else is
//!   released where it was used.
//! - Z3 reports errors through a handler that would by default end the process. Ours does nothing; what failed
//!   returns null or leaves an error code, and becomes a [`Failure`].
//! - An engine may move between threads, but is never used by two at once (`&mut` everywhere).

use super::terms::{Term, Terms};
use std::collections::HashMap;
use std::ffi::{c_uint, CStr};
use std::time::Duration;
use z3_sys::*;

/// Z3 refused something. The question behind it has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure(pub String);

/// Why Z3 has no answer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Why {
    /// A limit was reached.
    Time,
    /// Z3 gave up or failed, in its words.
    Incomplete(String),
}

impl From<Failure> for Why {
    fn from(failure: Failure) -> Why {
        Why::Incomplete(failure.0)
    }
}

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// There is a model.
    Sat,
    /// There is none.
    Unsat,
    /// It is not known.
    Unknown(Why),
}

/// How multiplications and divisions are given to Z3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// As they are.
    Exact,
    /// As unknowns, about which only the asserted lemmas say something: unsat is unsat, sat may be wrong.
    Abstract,
}

/// Which of Z3's procedures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Procedure {
    /// The incremental bit-blasting SAT solver: assertions stay translated from check to check.
    Incremental,
    /// A tactic that sees all assertions anew at each check, with global rewriting before bit-blasting.
    Once,
}

/// What [`Procedure::Once`] does, in this order.
const ONCE: [&CStr; 9] = [
    c"simplify",
    c"propagate-values",
    c"solve-eqs",
    c"elim-uncnstr",
    c"reduce-bv-size",
    c"simplify",
    c"max-bv-sharing",
    c"bit-blast",
    c"sat",
];

/// A solver of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SolverId(usize);

/// A boolean of an engine's own, to switch assertions on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Literal(usize);

/// Values of variables; what is missing may have any.
pub(super) type Assignment = HashMap<Term, u64>;

/// A claim that a value differs from a constant, at a place that is reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct Differs<'a> {
    /// What holds there.
    pub context: &'a [Term],
    /// The value and the constant; none: it is only claimed that the place is reached.
    pub value: Option<(Term, u64)>,
}

struct Solver {
    raw: Z3_solver,
    mode: Mode,
    limit: Option<u32>,
}

/// A Z3 context, its solvers, and the formulas translated into it.
pub(super) struct Engine {
    pub(super) context: Z3_context,
    solvers: Vec<Option<Solver>>,
    literals: Vec<Z3_ast>,
    /// By term: its formula, exact and abstract.
    pub(super) exact: Vec<Option<Z3_ast>>,
    pub(super) abstracted: Vec<Option<Z3_ast>>,
    /// References held until the end.
    pub(super) kept: Vec<Z3_ast>,
    pub(super) sorts: [Option<Z3_sort>; 65],
}

// SAFETY: a Z3 context is bound to no thread; all access goes through `&mut Engine`, and nothing of a context is
// shared with another one.
unsafe impl Send for Engine {}

unsafe extern "C" fn note_error(_: Z3_context, _: Z3_error_code) {}

impl Engine {
    /// A new context.
    pub fn new() -> Result<Engine, Failure> {
        // SAFETY: a configuration is made, used for one context and deleted.
        unsafe {
            let config = Z3_mk_config().ok_or_else(|| Failure("no configuration".into()))?;
            let context = Z3_mk_context_rc(config);
            Z3_del_config(config);
            let context = context.ok_or_else(|| Failure("no context".into()))?;
            Z3_set_error_handler(context, Some(note_error));
            Ok(Engine {
                context,
                solvers: Vec::new(),
                literals: Vec::new(),
                exact: Vec::new(),
                abstracted: Vec::new(),
                kept: Vec::new(),
                sorts: [None; 65],
            })
        }
    }

    /// The last call failed.
    pub(super) fn failure(&self) -> Failure {
        // SAFETY: the message is Z3's and lives until its next call.
        unsafe {
            let code = Z3_get_error_code(self.context);
            let message = Z3_get_error_msg(self.context, code);
            if message.is_null() {
                return Failure(format!("{code:?}"));
            }
            Failure(CStr::from_ptr(message).to_string_lossy().into_owned())
        }
    }

    /// An error if the last call left one.
    fn checked(&self) -> Result<(), Failure> {
        // SAFETY: only reads the context's state.
        match unsafe { Z3_get_error_code(self.context) } {
            ErrorCode::Ok => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// Holds a new formula until the end.
    pub(super) fn keep(&mut self, formula: Option<Z3_ast>) -> Result<Z3_ast, Failure> {
        let Some(formula) = formula else { return Err(self.failure()) };
        // SAFETY: a formula of this context.
        unsafe { Z3_inc_ref(self.context, formula) };
        self.kept.push(formula);
        Ok(formula)
    }

    pub(super) fn symbol(&self, name: &CStr) -> Result<Z3_symbol, Failure> {
        // SAFETY: Z3 copies the name.
        unsafe { Z3_mk_string_symbol(self.context, name.as_ptr()) }.ok_or_else(|| self.failure())
    }

    /// A new solver without assertions.
    pub fn solver(&mut self, procedure: Procedure, mode: Mode) -> Result<SolverId, Failure> {
        let raw = match procedure {
            Procedure::Incremental => {
                let logic = self.symbol(c"QF_BV")?;
                // SAFETY: the symbol is this context's.
                unsafe { Z3_mk_solver_for_logic(self.context, logic) }
            }
            Procedure::Once => {
                let tactic = self.tactic()?;
                // SAFETY: the tactic is counted; the solver keeps its own reference.
                unsafe {
                    let solver = Z3_mk_solver_from_tactic(self.context, tactic);
                    Z3_tactic_dec_ref(self.context, tactic);
                    solver
                }
            }
        };
        let Some(raw) = raw else { return Err(self.failure()) };
        // SAFETY: a solver of this context.
        unsafe { Z3_solver_inc_ref(self.context, raw) };
        let free = self.solvers.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.solvers.push(None);
            self.solvers.len() - 1
        });
        self.solvers[at] = Some(Solver { raw, mode, limit: None });
        Ok(SolverId(at))
    }

    /// [`ONCE`] as a tactic that is counted once.
    fn tactic(&self) -> Result<Z3_tactic, Failure> {
        let mut whole: Option<Z3_tactic> = None;
        for name in ONCE.iter().rev() {
            // SAFETY: each tactic is counted until it is part of the next one.
            unsafe {
                let first = Z3_mk_tactic(self.context, name.as_ptr()).ok_or_else(|| self.failure())?;
                Z3_tactic_inc_ref(self.context, first);
                whole = Some(match whole {
                    None => first,
                    Some(rest) => {
                        let both = Z3_tactic_and_then(self.context, first, rest);
                        let both = both.ok_or_else(|| self.failure())?;
                        Z3_tactic_inc_ref(self.context, both);
                        Z3_tactic_dec_ref(self.context, first);
                        Z3_tactic_dec_ref(self.context, rest);
                        both
                    }
                });
            }
        }
        whole.ok_or_else(|| Failure("no tactic".into()))
    }

    /// Ends a solver.
    pub fn release(&mut self, solver: SolverId) {
        if let Some(solver) = self.solvers.get_mut(solver.0).and_then(Option::take) {
            // SAFETY: the reference that `solver` took.
            unsafe { Z3_solver_dec_ref(self.context, solver.raw) };
        }
    }

    fn raw(&self, solver: SolverId) -> Result<(Z3_solver, Mode), Failure> {
        match self.solvers.get(solver.0) {
            Some(Some(solver)) => Ok((solver.raw, solver.mode)),
            _ => Err(Failure("this solver has ended".into())),
        }
    }

    /// A new literal.
    pub fn literal(&mut self) -> Result<Literal, Failure> {
        let sort = self.sort(1)?;
        // SAFETY: name and sort are this context's; Z3 makes a name that is new.
        let formula = unsafe { Z3_mk_fresh_const(self.context, c"literal".as_ptr(), sort) };
        let formula = self.keep(formula)?;
        self.literals.push(formula);
        Ok(Literal(self.literals.len() - 1))
    }

    /// Asserts a boolean, always or where the literal is assumed.
    pub fn assert(
        &mut self,
        solver: SolverId,
        terms: &Terms,
        boolean: Term,
        only_if: Option<Literal>,
    ) -> Result<(), Failure> {
        let (raw, mode) = self.raw(solver)?;
        let formula = self.formula(terms, boolean, mode)?;
        match only_if {
            None => self.assert_raw(raw, formula),
            Some(Literal(literal)) => {
                let literal = self.literals[literal];
                // SAFETY: both are this context's.
                let formula = unsafe { Z3_mk_implies(self.context, literal, formula) };
                let formula = self.keep(formula)?;
                self.assert_raw(raw, formula)
            }
        }
    }

    /// Asserts that one of the values differs.
    pub fn assert_one_differs(
        &mut self,
        solver: SolverId,
        terms: &Terms,
        differs: &[Differs<'_>],
    ) -> Result<(), Failure> {
        let (raw, mode) = self.raw(solver)?;
        let mut cases = Vec::with_capacity(differs.len());
        for case in differs {
            let mut parts = Vec::with_capacity(case.context.len() + 1);
            for &boolean in case.context {
                parts.push(self.formula(terms, boolean, mode)?);
            }
            if let Some((value, constant)) = case.value {
                let formula = self.formula(terms, value, mode)?;
                let constant = self.number(terms.width(value), constant)?;
                // SAFETY: operands of one sort, of this context.
                let equal = unsafe { Z3_mk_eq(self.context, formula, constant) };
                let equal = self.keep(equal)?;
                let other = unsafe { Z3_mk_not(self.context, equal) };
                parts.push(self.keep(other)?);
            }
            // SAFETY: as many formulas as said.
            let case = unsafe { Z3_mk_and(self.context, parts.len() as c_uint, parts.as_ptr()) };
            cases.push(self.keep(case)?);
        }
        // SAFETY: as many formulas as said.
        let one = unsafe { Z3_mk_or(self.context, cases.len() as c_uint, cases.as_ptr()) };
        let one = self.keep(one)?;
        self.assert_raw(raw, one)
    }

    fn assert_raw(&mut self, solver: Z3_solver, formula: Z3_ast) -> Result<(), Failure> {
        // SAFETY: both are this context's.
        unsafe { Z3_solver_assert(self.context, solver, formula) };
        self.checked()
    }

    /// Opens a scope.
    pub fn push(&mut self, solver: SolverId) -> Result<(), Failure> {
        let (raw, _) = self.raw(solver)?;
        // SAFETY: a solver of this context.
        unsafe { Z3_solver_push(self.context, raw) };
        self.checked()
    }

    /// Ends the innermost scope with its assertions.
    pub fn pop(&mut self, solver: SolverId) -> Result<(), Failure> {
        let (raw, _) = self.raw(solver)?;
        // SAFETY: a solver of this context; without a scope Z3 reports an error.
        unsafe { Z3_solver_pop(self.context, raw, 1) };
        self.checked()
    }

    fn limit(&mut self, solver: SolverId, limit: Duration) -> Result<(), Failure> {
        let Some(Some(known)) = self.solvers.get(solver.0) else { return self.raw(solver).map(drop) };
        // A limit of zero would be none at all.
        let limit = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX - 1).max(1);
        if known.limit == Some(limit) {
            return Ok(());
        }
        let raw = known.raw;
        let (timeout, ctrl_c) = (self.symbol(c"timeout")?, self.symbol(c"ctrl_c")?);
        // SAFETY: the parameters are counted while they are used.
        unsafe {
            let parameters = Z3_mk_params(self.context).ok_or_else(|| self.failure())?;
            Z3_params_inc_ref(self.context, parameters);
            Z3_params_set_uint(self.context, parameters, timeout, limit);
            Z3_params_set_bool(self.context, parameters, ctrl_c, false);
            Z3_solver_set_params(self.context, raw, parameters);
            let outcome = self.checked();
            Z3_params_dec_ref(self.context, parameters);
            outcome?;
        }
        if let Some(Some(known)) = self.solvers.get_mut(solver.0) {
            known.limit = Some(limit);
        }
        Ok(())
    }

    /// Looks for a model of the assertions in which the literals hold.
    pub fn check(&mut self, solver: SolverId, assume: &[Literal], limit: Duration) -> Outcome {
        self.try_check(solver, assume, limit).unwrap_or_else(|failure| Outcome::Unknown(failure.into()))
    }

    fn try_check(
        &mut self,
        solver: SolverId,
        assume: &[Literal],
        limit: Duration,
    ) -> Result<Outcome, Failure> {
        self.limit(solver, limit)?;
        let (raw, _) = self.raw(solver)?;
        let assume: Vec<Z3_ast> = assume.iter().map(|&Literal(at)| self.literals[at]).collect();
        // SAFETY: as many literals as said.
        let answer = unsafe {
            match assume.len() {
                0 => Z3_solver_check(self.context, raw),
                count => Z3_solver_check_assumptions(self.context, raw, count as c_uint, assume.as_ptr()),
            }
        };
        if answer == Z3_L_UNDEF {
            // SAFETY: Z3's text, until its next call.
            let reason = unsafe {
                let reason = Z3_solver_get_reason_unknown(self.context, raw);
                if reason.is_null() {
                    String::new()
                } else {
                    CStr::from_ptr(reason).to_string_lossy().into_owned()
                }
            };
            let late = ["timeout", "canceled", "interrupted"].iter().any(|word| reason.contains(word));
            return Ok(Outcome::Unknown(if late { Why::Time } else { Why::Incomplete(reason) }));
        }
        self.checked()?;
        match answer {
            Z3_L_TRUE => Ok(Outcome::Sat),
            Z3_L_FALSE => Ok(Outcome::Unsat),
            other => Err(Failure(format!("an answer that is none: {other}"))),
        }
    }

    /// Which of the literals an unsat answer needed.
    pub fn core(&mut self, solver: SolverId) -> Result<Vec<Literal>, Failure> {
        let (raw, _) = self.raw(solver)?;
        // SAFETY: the vector is counted while it is read.
        let members: Vec<Z3_ast> = unsafe {
            let core = Z3_solver_get_unsat_core(self.context, raw).ok_or_else(|| self.failure())?;
            Z3_ast_vector_inc_ref(self.context, core);
            let count = Z3_ast_vector_size(self.context, core);
            let members = (0..count).filter_map(|at| Z3_ast_vector_get(self.context, core, at)).collect();
            Z3_ast_vector_dec_ref(self.context, core);
            members
        };
        // Formulas are unique, and literals are held: their addresses tell them apart.
        let found = |formula| self.literals.iter().position(|&literal| literal == formula).map(Literal);
        Ok(members.into_iter().filter_map(found).collect())
    }

    /// The values of variables after a sat answer.
    pub fn model(&mut self, solver: SolverId, terms: &Terms) -> Result<Assignment, Failure> {
        let (raw, _) = self.raw(solver)?;
        let context = self.context;
        // SAFETY: the model is counted while it is read; what it returns belongs to it.
        unsafe {
            let model = Z3_solver_get_model(context, raw).ok_or_else(|| self.failure())?;
            Z3_model_inc_ref(context, model);
            let mut values = Assignment::new();
            for at in 0..Z3_model_get_num_consts(context, model) {
                let Some(declaration) = Z3_model_get_const_decl(context, model, at) else { continue };
                let Some(name) = Z3_get_decl_name(context, declaration) else { continue };
                if Z3_get_symbol_kind(context, name) != SymbolKind::Int {
                    continue;
                }
                let index = Z3_get_symbol_int(context, name) as u32;
                let Some(variable) = terms.variable_at(index) else { continue };
                let Some(value) = Z3_model_get_const_interp(context, model, declaration) else { continue };
                let mut number = 0;
                if terms.width(variable) == 1 {
                    number = u64::from(Z3_get_bool_value(context, value) == Z3_L_TRUE);
                } else if !Z3_get_numeral_uint64(context, value, &mut number) {
                    continue;
                }
                values.insert(variable, number);
            }
            Z3_model_dec_ref(context, model);
            Ok(values)
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: each reference that was taken is given back once, then the context ends.
        unsafe {
            for solver in self.solvers.drain(..).flatten() {
                Z3_solver_dec_ref(self.context, solver.raw);
            }
            for formula in self.kept.drain(..) {
                Z3_dec_ref(self.context, formula);
            }
            Z3_del_context(self.context);
        }
    }
}
