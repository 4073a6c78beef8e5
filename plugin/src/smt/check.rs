//! Whether facts and an assertion have a model. Up to four stages, each of which may answer:
//!
//! 1. models of earlier checks: one of them may be a counterexample already (Wu 4.3.2, first optimization);
//! 2. a walk from these models (`walk.rs`);
//! 3. the incremental solver, in which multiplications and divisions are unknowns with lemmas (`lemmas.rs`): its
//!    unsat is final, its model is tried out with real arithmetic, and what it has wrong is told to the solver;
//! 4. where that does not end soon: all assertions anew, with real multipliers and dividers.
//!
//! Whatever finds a model, it counts only if facts and assertion hold in it by our own arithmetic.

use super::eval::Evaluator;
use super::known::{Known, Slice};
use super::lemmas::Lemmas;
use super::session::{Session, Until};
use super::terms::{Term, Terms};
use super::walk::{Walk, Wanted};
use super::z3::{Assignment, Differs, Engine, Failure, Mode, Outcome, Procedure, SolverId, Why};
use std::time::{Duration, Instant};

/// Models that are kept for the next questions.
const MODELS: usize = 12;
/// Models that walks start from.
const STARTS: usize = 3;
/// How often a model that is wrong about operations is corrected, and how many operations at once.
const REFINEMENTS: usize = 8;
const INSTANCES: usize = 40;
/// Multipliers and dividers beyond which real ones are not tried: to translate them would take longer than any limit,
/// which Z3 does not look at meanwhile.
const CELLS: u64 = 600_000;

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
    /// No model.
    Unsat,
    /// A model, now the newest one.
    Sat,
    /// It is not known.
    Unknown(Why),
}

/// A session with what it needs to run.
pub(super) struct InUse<'a> {
    pub terms: &'a Terms,
    pub engine: &'a mut Engine,
    pub session: &'a mut Session,
    pub evaluator: &'a mut Evaluator,
    pub checks: &'a mut u64,
}

impl InUse<'_> {
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

    /// Walks to a model in which this is so; it becomes the newest one.
    pub fn finds(&mut self, known: &Known, wanted: &[Wanted]) -> bool {
        let walk =
            Walk { terms: self.terms, facts: &known.facts, neighbourhood: &known.neighbourhood, wanted };
        let mut found = None;
        for model in self.session.models.iter().take(STARTS) {
            found = walk.starting_at(model, self.evaluator);
            if found.is_some() {
                break;
            }
        }
        if self.session.models.is_empty() && !self.session.is_tried {
            found = self.start(&walk);
        }
        found.map(|model| self.remember(model)).is_some()
    }

    /// First models, from simple assignments, and one of them in which all is so.
    fn start(&mut self, walk: &Walk<'_>) -> Option<Assignment> {
        let slice = self.session.slice.clone();
        let mut variables = Vec::new();
        self.terms.walk(&slice.facts, |term| {
            if self.terms.is_variable(term) {
                variables.push(term);
            }
        });
        variables.sort_unstable();
        let starts: [&dyn Fn(usize) -> u64; 4] =
            [&|_| 0, &|at| 2 + at as u64 % 5, &|at| (1000 / (at as u64 + 1)) | 1, &|_| 1];
        for start in starts {
            let assignment =
                variables.iter().enumerate().map(|(at, &variable)| (variable, start(at))).collect();
            let first =
                Walk { wanted: &[], ..*walk }.starting_anywhere(&assignment, &slice.facts, self.evaluator);
            if let Some(model) = first {
                self.remember(model);
            }
        }
        self.session.is_tried = true;
        let models = self.session.models.iter();
        models.into_iter().find_map(|model| walk.starting_at(model, self.evaluator))
    }

    /// How many models are known.
    pub fn models(&self) -> usize {
        self.session.models.len()
    }

    /// Values of terms in a model, of which 0 is the newest.
    pub fn values(&mut self, model: usize) -> impl FnMut(Term) -> u64 + '_ {
        let (terms, evaluator) = (self.terms, &mut *self.evaluator);
        evaluator.restart(terms);
        let model = self.session.models.get(model);
        move |term| {
            let assign = |variable: Term| model.and_then(|model| model.get(&variable)).copied().unwrap_or(0);
            evaluator.value(terms, term, &assign)
        }
    }

    /// Looks for a model of facts and assertion.
    pub fn check(&mut self, assertion: &Assertion<'_>, until: &Until) -> Verdict {
        if self.session.is_broken {
            return Verdict::Unknown(Why::Incomplete("Z3 failed before".into()));
        }
        self.try_check(assertion, until).unwrap_or_else(|failure| {
            self.session.is_broken = true;
            Verdict::Unknown(failure.into())
        })
    }

    /// These few facts leave no model of the assertions.
    pub fn is_proven_near(&mut self, near: &Slice, assertions: &[Term], until: &Until) -> bool {
        let Some(limit) = until.left() else { return false };
        let Ok(solver) = self.engine.solver(Procedure::Incremental, Mode::Abstract) else { return false };
        let mut all = near.lemmas.claims.iter().chain(&near.facts).chain(assertions);
        let asserted = all.all(|&fact| self.engine.assert(solver, self.terms, fact, None).is_ok());
        *self.checks += 1;
        let outcome = self.engine.check(solver, &[], limit / 4);
        self.engine.release(solver);
        asserted && outcome == Outcome::Unsat
    }

    /// Facts and assertion have no model, as is seen without multipliers and dividers.
    pub fn is_absurd(&mut self, assertion: &Assertion<'_>, until: &Until) -> bool {
        let Some(limit) = until.left() else { return false };
        if self.session.is_broken || self.session.is_large(self.terms) {
            return false;
        }
        match self.check_abstract(assertion, limit, true) {
            Ok(verdict) => verdict == Some(Verdict::Unsat),
            Err(_) => {
                self.session.is_broken = true;
                false
            }
        }
    }

    fn try_check(&mut self, assertion: &Assertion<'_>, until: &Until) -> Result<Verdict, Failure> {
        let is_partial =
            self.session.slice.lemmas.is_partial() || assertion.lemmas.iter().any(|more| more.is_partial());
        let Some(limit) = until.left().filter(|_| !self.session.is_large(self.terms)) else {
            return Ok(Verdict::Unknown(Why::Time));
        };
        let started = Instant::now();
        // Of a partial answer's time, the exact one gets the larger part.
        let first = if is_partial { limit / 3 } else { limit };
        match self.check_abstract(assertion, first, is_partial)? {
            Some(verdict) => Ok(verdict),
            None if self.cells(assertion) > CELLS => Ok(Verdict::Unknown(Why::Time)),
            None => self.check_exact(assertion, limit.saturating_sub(started.elapsed())),
        }
    }

    /// How large multipliers and dividers are in all.
    fn cells(&self, assertion: &Assertion<'_>) -> u64 {
        let more = assertion.lemmas.iter().flat_map(|more| &more.about);
        let all = self.session.slice.lemmas.about.iter().chain(more);
        all.map(|&term| u64::from(self.terms.width(term)).pow(2)).sum()
    }

    /// Third stage. None: the operations matter, or time is over for it.
    fn check_abstract(
        &mut self,
        assertion: &Assertion<'_>,
        limit: Duration,
        is_partial: bool,
    ) -> Result<Option<Verdict>, Failure> {
        let solver = self.session.incremental(self.engine, self.terms)?;
        self.engine.push(solver)?;
        let verdict = self.refined(solver, assertion, limit, is_partial);
        self.engine.pop(solver)?;
        verdict
    }

    fn refined(
        &mut self,
        solver: SolverId,
        assertion: &Assertion<'_>,
        limit: Duration,
        is_partial: bool,
    ) -> Result<Option<Verdict>, Failure> {
        self.assert(solver, assertion)?;
        let started = Instant::now();
        for _ in 0..=REFINEMENTS {
            let limit = limit.saturating_sub(started.elapsed());
            *self.checks += 1;
            match self.engine.check(solver, &[], limit) {
                Outcome::Unsat => return Ok(Some(Verdict::Unsat)),
                Outcome::Sat => {
                    let model = self.engine.model(solver, self.terms)?;
                    if self.is_model(&model, assertion) {
                        self.remember(model);
                        return Ok(Some(Verdict::Sat));
                    }
                    if !self.refine(solver, &model, assertion)? {
                        return Ok(None);
                    }
                }
                Outcome::Unknown(_) if is_partial => return Ok(None),
                Outcome::Unknown(why) => return Ok(Some(Verdict::Unknown(why))),
            }
        }
        Ok(None)
    }

    /// Tells the solver what the operations compute that its model has wrong; false: there are none.
    fn refine(
        &mut self,
        solver: SolverId,
        model: &Assignment,
        assertion: &Assertion<'_>,
    ) -> Result<bool, Failure> {
        let (terms, evaluator) = (self.terms, &mut *self.evaluator);
        evaluator.restart(terms);
        let assign = |variable: Term| model.get(&variable).copied().unwrap_or(0);
        let mut wrong = Vec::new();
        let more = assertion.lemmas.iter().flat_map(|more| &more.about);
        for &term in self.session.slice.lemmas.about.iter().chain(more) {
            let Some(&claimed) = model.get(&term) else { continue };
            if evaluator.value(terms, term, &assign) != claimed {
                wrong.push(term);
            }
        }
        wrong.truncate(INSTANCES);
        for &term in &wrong {
            let mut value = |operand| evaluator.value(terms, operand, &assign);
            self.engine.assert_instance(solver, terms, term, &mut value)?;
        }
        Ok(!wrong.is_empty())
    }

    /// Fourth stage.
    fn check_exact(&mut self, assertion: &Assertion<'_>, limit: Duration) -> Result<Verdict, Failure> {
        let solver = self.session.exact(self.engine, self.terms)?;
        self.engine.push(solver)?;
        let outcome = self.assert(solver, assertion).map(|()| {
            *self.checks += 1;
            self.engine.check(solver, &[], limit)
        });
        let model = match outcome {
            Ok(Outcome::Sat) => self.engine.model(solver, self.terms).map(Some),
            _ => Ok(None),
        };
        self.engine.pop(solver)?;
        Ok(match (outcome?, model?) {
            (Outcome::Unsat, _) => Verdict::Unsat,
            (Outcome::Unknown(why), _) => Verdict::Unknown(why),
            (Outcome::Sat, Some(model)) if self.is_model(&model, assertion) => {
                self.remember(model);
                Verdict::Sat
            }
            (Outcome::Sat, _) => Verdict::Unknown(Why::Incomplete("Z3's model is none".into())),
        })
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
    fn is_model(&mut self, model: &Assignment, assertion: &Assertion<'_>) -> bool {
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
        claim && self.session.slice.facts.iter().all(|&fact| value(fact) == 1)
    }

    fn remember(&mut self, model: Assignment) {
        self.session.models.truncate(MODELS - 1);
        self.session.models.push_front(model);
    }
}
