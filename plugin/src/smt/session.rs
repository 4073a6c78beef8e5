//! A solver with the facts of one slice in it, kept for all questions that need this slice; and the worker that
//! owns it. A check has up to three stages, each of which may answer:
//!
//! 1. models of earlier checks: one of them may be a counterexample already (Wu 4.3.2, first optimization);
//! 2. the incremental solver, in which multiplications and divisions are unknowns with lemmas (`lemmas.rs`): its
//!    unsat is final, its model is tried out with real arithmetic;
//! 3. only where the model fails: all assertions anew, with real multipliers and dividers.

use super::eval::Evaluator;
use super::lemmas::Lemmas;
use super::slices::SetId;
use super::terms::{Term, Terms};
use super::z3::{Assignment, Differs, Engine, Failure, Literal, Mode, Outcome, Procedure, SolverId, Why};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Models that are kept for the next questions.
const MODELS: usize = 12;
/// Sessions that a worker keeps.
const SESSIONS: usize = 12;
/// Formulas after which a worker starts with a new context: Z3 keeps what was translated.
const FORMULAS: usize = 2_000_000;

/// The facts of a set of components.
#[derive(Debug)]
pub(super) struct Slice {
    /// Facts that hold always.
    pub always: Vec<Term>,
    /// Facts that guards give.
    pub guards: Vec<Term>,
    /// About the operations in both.
    pub lemmas: Lemmas,
}

/// What is asserted besides the facts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim<'a> {
    /// All of these hold.
    All(&'a [Term]),
    /// One of these differs.
    OneDiffers(&'a [Differs<'a>]),
}

/// What is asserted besides the facts, with lemmas about its operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assertion<'a> {
    /// The claim itself.
    pub claim: Claim<'a>,
    /// Lemmas that the slice has not.
    pub lemmas: &'a [Lemmas],
}

/// What a check found.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Verdict {
    /// No model; whether the guards were needed for this, as far as Z3 says.
    Unsat { used_guards: bool },
    /// A model: [`InUse::values`].
    Sat,
    /// It is not known.
    Unknown(Why),
}

/// Time for one check, and when all must have ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// For one check.
    pub each: Duration,
    /// For all.
    pub end: Instant,
}

impl Until {
    /// What is left for a check; None: nothing.
    pub fn left(&self) -> Option<Duration> {
        let left = self.end.checked_duration_since(Instant::now())?;
        (left >= Duration::from_millis(1)).then(|| left.min(self.each))
    }
}

/// A solver for one slice.
pub(super) struct Session {
    set: SetId,
    slice: Arc<Slice>,
    solver: SolverId,
    /// Switches the guards on.
    guard: Literal,
    /// Made when it is needed first.
    exact: Option<SolverId>,
    /// Models of facts and guards, the newest first.
    models: VecDeque<Assignment>,
    /// The newest model, which may leave out the guards.
    last: Assignment,
    /// Z3 failed in the middle of something: what is asserted is not known.
    is_broken: bool,
    /// Contexts that were asked whether they can hold.
    pub reached: HashMap<Box<[Term]>, Reach>,
}

/// Whether a context can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// It can, or it is not known.
    Possible,
    /// It contradicts the facts, with or without what guards say.
    Never { with_guards: bool },
}

/// One of the threads' Z3 context and its sessions.
pub(super) struct Worker {
    engine: Option<Engine>,
    sessions: Vec<Session>,
    evaluator: Evaluator,
    /// Checks that Z3 made.
    pub checks: u64,
}

impl Worker {
    pub fn new() -> Worker {
        Worker { engine: None, sessions: Vec::new(), evaluator: Evaluator::default(), checks: 0 }
    }

    /// Ends all sessions: the facts have changed.
    pub fn forget(&mut self) {
        while !self.sessions.is_empty() {
            self.end(self.sessions.len() - 1);
        }
        if self.engine.as_ref().is_some_and(|engine| engine.kept.len() > FORMULAS) {
            self.engine = None;
        }
    }

    fn end(&mut self, session: usize) {
        let session = self.sessions.remove(session);
        if let Some(engine) = &mut self.engine {
            engine.release(session.solver);
            if let Some(exact) = session.exact {
                engine.release(exact);
            }
        }
    }

    /// The session of a slice.
    pub fn session<'a>(
        &'a mut self,
        terms: &'a Terms,
        set: SetId,
        slice: &Arc<Slice>,
    ) -> Result<InUse<'a>, Why> {
        if let Some(broken) = self.sessions.iter().position(|session| session.is_broken) {
            self.end(broken);
        }
        let at = match self.sessions.iter().position(|session| session.set == set) {
            Some(at) => at,
            None => {
                if self.sessions.len() >= SESSIONS {
                    self.end(0);
                }
                if self.engine.is_none() {
                    self.engine = Some(Engine::new()?);
                }
                if let Some(engine) = &mut self.engine {
                    self.sessions.push(Session::new(engine, terms, set, slice.clone())?);
                }
                self.sessions.len() - 1
            }
        };
        match (&mut self.engine, self.sessions.get_mut(at)) {
            (Some(engine), Some(session)) => {
                let (evaluator, checks) = (&mut self.evaluator, &mut self.checks);
                Ok(InUse { terms, engine, session, evaluator, checks })
            }
            _ => Err(Why::Incomplete("no session".into())),
        }
    }
}

impl Session {
    fn new(engine: &mut Engine, terms: &Terms, set: SetId, slice: Arc<Slice>) -> Result<Session, Failure> {
        let solver = engine.solver(Procedure::Incremental, Mode::Abstract)?;
        let guard = engine.literal()?;
        for &fact in slice.lemmas.claims.iter().chain(&slice.always) {
            engine.assert(solver, terms, fact, None)?;
        }
        for &fact in &slice.guards {
            engine.assert(solver, terms, fact, Some(guard))?;
        }
        Ok(Session {
            set,
            slice,
            solver,
            guard,
            exact: None,
            models: VecDeque::new(),
            last: Assignment::new(),
            is_broken: false,
            reached: HashMap::new(),
        })
    }
}

/// A session with what it needs to run.
pub(super) struct InUse<'a> {
    pub terms: &'a Terms,
    engine: &'a mut Engine,
    pub session: &'a mut Session,
    evaluator: &'a mut Evaluator,
    checks: &'a mut u64,
}

impl InUse<'_> {
    /// There are guards in this slice.
    pub fn has_guards(&self) -> bool {
        !self.session.slice.guards.is_empty()
    }

    /// A model of an earlier check in which the booleans have these values.
    pub fn has_model(&mut self, hold: &[Term], fails: Option<Term>) -> bool {
        let (terms, evaluator) = (self.terms, &mut *self.evaluator);
        self.session.models.iter().any(|model| {
            evaluator.restart(terms);
            let assign = |variable: Term| model.get(&variable).copied().unwrap_or(0);
            fails.is_none_or(|fails| evaluator.value(terms, fails, &assign) == 0)
                && hold.iter().all(|&holds| evaluator.value(terms, holds, &assign) == 1)
        })
    }

    /// Values of terms in the newest model.
    pub fn values(&mut self) -> impl FnMut(Term) -> u64 + '_ {
        let (terms, evaluator) = (self.terms, &mut *self.evaluator);
        evaluator.restart(terms);
        let model = &self.session.last;
        move |term| {
            let assign = |variable: Term| model.get(&variable).copied().unwrap_or(0);
            evaluator.value(terms, term, &assign)
        }
    }

    /// Looks for a model of facts and assertion, with or without what guards say.
    pub fn check(&mut self, assertion: &Assertion<'_>, with_guards: bool, until: &Until) -> Verdict {
        let with_guards = with_guards && self.has_guards();
        if self.session.is_broken {
            return Verdict::Unknown(Why::Incomplete("Z3 failed before".into()));
        }
        self.try_check(assertion, with_guards, until).unwrap_or_else(|failure| {
            self.session.is_broken = true;
            Verdict::Unknown(failure.into())
        })
    }

    /// Without multipliers and dividers: Some if there is no model, with whether guards were needed as far as Z3
    /// says; None if there may be one.
    pub fn is_absurd(&mut self, assertion: &Assertion<'_>, with_guards: bool, until: &Until) -> Option<bool> {
        let with_guards = with_guards && self.has_guards();
        let limit = until.left()?;
        if self.session.is_broken {
            return None;
        }
        let slice = self.session.slice.clone();
        let solver = self.session.solver;
        let verdict = self.engine.push(solver).and_then(|()| {
            let verdict = self.check_abstract(solver, assertion, with_guards, limit, true, &slice);
            self.engine.pop(solver)?;
            verdict
        });
        match verdict {
            Ok(Some(Verdict::Unsat { used_guards })) => Some(used_guards),
            Ok(_) => None,
            Err(_) => {
                self.session.is_broken = true;
                None
            }
        }
    }

    fn try_check(
        &mut self,
        assertion: &Assertion<'_>,
        with_guards: bool,
        until: &Until,
    ) -> Result<Verdict, Failure> {
        let slice = self.session.slice.clone();
        let is_partial = slice.lemmas.is_partial() || assertion.lemmas.iter().any(|more| more.is_partial());
        let Some(limit) = until.left() else { return Ok(Verdict::Unknown(Why::Time)) };
        let started = Instant::now();
        // Of a partial answer's time, the exact one gets the larger part.
        let first = if is_partial { limit / 3 } else { limit };
        let solver = self.session.solver;
        self.engine.push(solver)?;
        let verdict = self.check_abstract(solver, assertion, with_guards, first, is_partial, &slice);
        self.engine.pop(solver)?;
        match verdict? {
            Some(verdict) => Ok(verdict),
            None => {
                let left = limit.saturating_sub(started.elapsed());
                self.check_exact(assertion, with_guards, left, &slice)
            }
        }
    }

    fn check_abstract(
        &mut self,
        solver: SolverId,
        assertion: &Assertion<'_>,
        with_guards: bool,
        limit: Duration,
        is_partial: bool,
        slice: &Slice,
    ) -> Result<Option<Verdict>, Failure> {
        self.assert(solver, assertion)?;
        let assume = [self.session.guard];
        *self.checks += 1;
        match self.engine.check(solver, if with_guards { &assume } else { &[] }, limit) {
            Outcome::Unsat => {
                let used_guards = with_guards && !self.engine.core(solver)?.is_empty();
                Ok(Some(Verdict::Unsat { used_guards }))
            }
            Outcome::Sat => {
                let model = self.engine.model(solver, self.terms)?;
                if is_partial && !self.is_model(&model, assertion, with_guards, slice) {
                    return Ok(None);
                }
                debug_assert!(self.is_model(&model, assertion, with_guards, slice), "a model that is none");
                self.remember(model, with_guards);
                Ok(Some(Verdict::Sat))
            }
            Outcome::Unknown(_) if is_partial => Ok(None),
            Outcome::Unknown(why) => Ok(Some(Verdict::Unknown(why))),
        }
    }

    fn check_exact(
        &mut self,
        assertion: &Assertion<'_>,
        with_guards: bool,
        limit: Duration,
        slice: &Slice,
    ) -> Result<Verdict, Failure> {
        let solver = match self.session.exact {
            Some(solver) => solver,
            None => {
                let solver = self.engine.solver(Procedure::Once, Mode::Exact)?;
                self.session.exact = Some(solver);
                for &fact in slice.lemmas.claims.iter().chain(&slice.always) {
                    self.engine.assert(solver, self.terms, fact, None)?;
                }
                solver
            }
        };
        self.engine.push(solver)?;
        let outcome = self.exact_outcome(solver, assertion, with_guards, limit, slice);
        let model = match outcome {
            Ok(Outcome::Sat) => self.engine.model(solver, self.terms).map(Some),
            _ => Ok(None),
        };
        self.engine.pop(solver)?;
        if let Some(model) = model? {
            debug_assert!(self.is_model(&model, assertion, with_guards, slice), "a model that is none");
            self.remember(model, with_guards);
        }
        Ok(match outcome? {
            Outcome::Sat => Verdict::Sat,
            Outcome::Unsat => Verdict::Unsat { used_guards: with_guards },
            Outcome::Unknown(why) => Verdict::Unknown(why),
        })
    }

    fn exact_outcome(
        &mut self,
        solver: SolverId,
        assertion: &Assertion<'_>,
        with_guards: bool,
        limit: Duration,
        slice: &Slice,
    ) -> Result<Outcome, Failure> {
        if with_guards {
            for &fact in &slice.guards {
                self.engine.assert(solver, self.terms, fact, None)?;
            }
        }
        self.assert(solver, assertion)?;
        *self.checks += 1;
        Ok(self.engine.check(solver, &[], limit))
    }

    fn assert(&mut self, solver: SolverId, assertion: &Assertion<'_>) -> Result<(), Failure> {
        for &lemma in assertion.lemmas.iter().flat_map(|lemmas| &lemmas.claims) {
            self.engine.assert(solver, self.terms, lemma, None)?;
        }
        match assertion.claim {
            Claim::All(booleans) => {
                for &boolean in booleans {
                    self.engine.assert(solver, self.terms, boolean, None)?;
                }
                Ok(())
            }
            Claim::OneDiffers(cases) => self.engine.assert_one_differs(solver, self.terms, cases),
        }
    }

    /// The values fulfil facts and assertion, computed with real arithmetic.
    fn is_model(
        &mut self,
        model: &Assignment,
        assertion: &Assertion<'_>,
        with_guards: bool,
        slice: &Slice,
    ) -> bool {
        let (terms, evaluator) = (self.terms, &mut *self.evaluator);
        evaluator.restart(terms);
        let assign = |variable: Term| model.get(&variable).copied().unwrap_or(0);
        let mut value = |term| evaluator.value(terms, term, &assign);
        let claim = match assertion.claim {
            Claim::All(booleans) => booleans.iter().all(|&boolean| value(boolean) == 1),
            Claim::OneDiffers(cases) => cases.iter().any(|case| {
                case.context.iter().all(|&boolean| value(boolean) == 1)
                    && case.value.is_none_or(|(term, constant)| value(term) != constant)
            }),
        };
        claim
            && slice.always.iter().all(|&fact| value(fact) == 1)
            && (!with_guards || slice.guards.iter().all(|&fact| value(fact) == 1))
    }

    /// Only models of all facts are counterexamples to later questions.
    fn remember(&mut self, model: Assignment, with_guards: bool) {
        if with_guards || !self.has_guards() {
            self.session.models.truncate(MODELS - 1);
            self.session.models.push_front(model.clone());
        }
        self.session.last = model;
    }
}
