//! A solver with the facts of one slice in it, kept for all questions that need this slice, with the models that
//! were found; and the worker that owns it. Each worker has its own: nothing of Z3 is shared between threads.

use super::check::InUse;
use super::eval::Evaluator;
use super::known::{Slice, Under};
use super::slices::SetId;
use super::terms::{Term, Terms};
use super::z3::{Assignment, Engine, Failure, Mode, Procedure, SolverId, Why};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Sessions that a worker keeps.
const SESSIONS: usize = 12;
/// Bits of operands beyond which facts are not given to Z3 all at once: to translate them would take seconds, without
/// a look at limits.
const BITS: u64 = 300_000;
/// Formulas after which a worker starts with a new context: Z3 keeps what was translated.
const FORMULAS: usize = 2_000_000;

/// Time for one check, and when all must have ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// For one check.
    pub each: Duration,
    /// For all.
    pub end: Instant,
}

impl Until {
    /// For questions that are asked again under fewer facts. Mostly these have no proof, so many of them get less time
    /// each: not to find one is no loss of the answer itself.
    pub fn shared_by(self, questions: usize) -> Until {
        let part = 4 * self.each / u32::try_from(questions).unwrap_or(u32::MAX).max(1);
        Until { each: part.clamp(self.each / 20, self.each), ..self }
    }

    /// What is left for a check; None: nothing.
    pub fn left(&self) -> Option<Duration> {
        let left = self.end.checked_duration_since(Instant::now())?;
        (left.min(self.each) >= Duration::from_millis(1)).then(|| left.min(self.each))
    }
}

/// Which facts a session has.
pub(super) type SliceId = (Under, SetId);

/// A solver for one slice.
pub(super) struct Session {
    id: SliceId,
    pub slice: Arc<Slice>,
    /// With operations as unknowns; the facts are asserted when it is needed first.
    pub solver: Option<SolverId>,
    /// With real operations.
    pub exact: Option<SolverId>,
    /// Models of the slice's facts, the newest first.
    pub models: VecDeque<Assignment>,
    /// Z3 failed in the middle of something: what is asserted is not known.
    pub is_broken: bool,
    /// Contexts that were asked whether they can hold: they cannot, or that is not known.
    pub absurd: HashMap<Box<[Term]>, bool>,
    /// Walks from nowhere have been tried.
    pub is_tried: bool,
    is_large: Option<bool>,
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
            for solver in [session.solver, session.exact].into_iter().flatten() {
                engine.release(solver);
            }
        }
    }

    /// The session of a slice.
    pub fn session<'a>(
        &'a mut self,
        terms: &'a Terms,
        id: SliceId,
        slice: &Arc<Slice>,
    ) -> Result<InUse<'a>, Why> {
        if let Some(broken) = self.sessions.iter().position(|session| session.is_broken) {
            self.end(broken);
        }
        let at = match self.sessions.iter().position(|session| session.id == id) {
            Some(at) => at,
            None => {
                if self.sessions.len() >= SESSIONS {
                    self.end(0);
                }
                if self.engine.is_none() {
                    self.engine = Some(Engine::new()?);
                }
                self.sessions.push(Session::new(id, slice.clone()));
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
    fn new(id: SliceId, slice: Arc<Slice>) -> Session {
        Session {
            id,
            slice,
            solver: None,
            exact: None,
            models: VecDeque::new(),
            is_broken: false,
            absurd: HashMap::new(),
            is_tried: false,
            is_large: None,
        }
    }

    /// Facts and lemmas are too many for Z3.
    pub fn is_large(&mut self, terms: &Terms) -> bool {
        let slice = &self.slice;
        *self.is_large.get_or_insert_with(|| {
            let all: Vec<Term> = slice.lemmas.claims.iter().chain(&slice.facts).copied().collect();
            let mut bits = 0;
            terms.walk(&all, |term| terms.operands(term, |operand| bits += u64::from(terms.width(operand))));
            bits > BITS
        })
    }

    /// The solver that sees operations as unknowns.
    pub fn incremental(&mut self, engine: &mut Engine, terms: &Terms) -> Result<SolverId, Failure> {
        if let Some(solver) = self.solver {
            return Ok(solver);
        }
        let solver = engine.solver(Procedure::Incremental, Mode::Abstract)?;
        self.solver = Some(solver);
        for &fact in self.slice.lemmas.claims.iter().chain(&self.slice.facts) {
            engine.assert(solver, terms, fact, None)?;
        }
        Ok(solver)
    }

    /// The solver that sees them as they are.
    pub fn exact(&mut self, engine: &mut Engine, terms: &Terms) -> Result<SolverId, Failure> {
        if let Some(solver) = self.exact {
            return Ok(solver);
        }
        let solver = engine.solver(Procedure::Once, Mode::Exact)?;
        self.exact = Some(solver);
        for &fact in self.slice.lemmas.claims.iter().chain(&self.slice.facts) {
            engine.assert(solver, terms, fact, None)?;
        }
        Ok(solver)
    }
}
