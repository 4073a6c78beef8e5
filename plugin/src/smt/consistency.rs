//! Whether the facts can hold together. Facts that cannot prove everything (DETAILS 14b), so each round asks this
//! first, component by component; a contradiction is told with the facts that Z3 needed for it.

use super::lemmas::Lemmatizer;
use super::parallel::each;
use super::prover::{Facts, Known, Prover};
use super::ranges::Ranges;
use super::session::{Assertion, Claim, Until, Verdict};
use super::slices::{SetId, Slices};
use super::terms::{Term, Terms};
use super::z3::{Engine, Failure, Literal, Mode, Outcome, Procedure};
use std::time::Instant;

/// Whether facts can hold together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Consistency {
    /// There is a model of each component.
    Yes,
    /// There is none.
    No {
        /// Facts that contradict each other: places in `always`, then (counted on) in `guards`. As few as Z3 needed,
        /// or all of a component where it could not say.
        core: Vec<usize>,
    },
    /// A limit was reached before a model or a contradiction.
    Unknown,
}

impl Prover {
    /// Looks for a model of the facts, guards included.
    pub fn consistent(&mut self, terms: &mut Terms, facts: &Facts) -> Consistency {
        let started = Instant::now();
        let until = self.until(started);
        let mut known = self.enter(terms, facts);
        let result = self.components_hold(terms, &mut known, &until);
        let result = match result {
            Ok(true) => Consistency::Yes,
            Ok(false) => Consistency::Unknown,
            Err(suspects) => Consistency::No { core: core(terms, facts, &suspects, &until) },
        };
        self.leave(known, started);
        result
    }

    /// All components have models; false: not known; an error: terms of one that has none.
    fn components_hold(
        &mut self,
        terms: &mut Terms,
        known: &mut Known,
        until: &Until,
    ) -> Result<bool, Vec<Term>> {
        if known.facts.iter().any(|&fact| terms.as_constant(fact) == Some(0)) {
            return Err(Vec::new());
        }
        let sets: Vec<SetId> =
            (0..known.slices.count()).map(|component| known.slices.single(component)).collect();
        let jobs: Vec<_> = sets.into_iter().map(|set| (set, known.slice(terms, set))).collect();
        let terms: &Terms = terms;
        let verdicts = each(&mut self.workers, &jobs, |worker, (set, slice)| {
            let mut session = worker.session(terms, *set, slice).ok()?;
            if session.has_model(&[], None) {
                return Some(Verdict::Sat);
            }
            Some(session.check(&Assertion { claim: Claim::All(&[]), lemmas: &[] }, true, until))
        });
        for ((_, slice), verdict) in jobs.iter().zip(&verdicts) {
            if matches!(verdict, Some(Verdict::Unsat { .. })) {
                return Err(slice.always.iter().chain(&slice.guards).copied().collect());
            }
        }
        Ok(verdicts.iter().all(|verdict| matches!(verdict, Some(Verdict::Sat))))
    }
}

/// Facts as they were given that contradict each other. `suspects` share variables with them; none: any may be it.
fn core(terms: &mut Terms, facts: &Facts, suspects: &[Term], until: &Until) -> Vec<usize> {
    let all: Vec<Term> = facts.always.iter().chain(&facts.guards).copied().collect();
    if let Some(at) = all.iter().position(|&fact| terms.as_constant(fact) == Some(0)) {
        return vec![at];
    }
    let mut slices = Slices::of(terms, &all);
    let sets: Vec<SetId> = match suspects {
        [] => (0..slices.count()).map(|component| slices.single(component)).collect(),
        _ => vec![slices.touched(terms, suspects.iter().copied())],
    };
    for set in sets {
        let places = slices.facts(set);
        let chosen: Vec<Term> = places.iter().map(|&place| all[place]).collect();
        match smaller(terms, &chosen, until) {
            Ok(Some(core)) => return core.into_iter().map(|at| places[at]).collect(),
            _ if !suspects.is_empty() => return places,
            _ => {}
        }
    }
    (0..all.len()).collect()
}

/// Those of the facts that Z3 needs for a contradiction; none: it finds no contradiction.
fn smaller(terms: &mut Terms, facts: &[Term], until: &Until) -> Result<Option<Vec<usize>>, Failure> {
    let mut ranges = Ranges::default();
    let lemmas = Lemmatizer::default().lemmas(terms, &mut ranges, facts, None);
    let mut engine = Engine::new()?;
    for mode in [Mode::Abstract, Mode::Exact] {
        let solver = engine.solver(Procedure::Incremental, mode)?;
        for &lemma in &lemmas.claims {
            engine.assert(solver, terms, lemma, None)?;
        }
        let mut literals: Vec<Literal> = Vec::with_capacity(facts.len());
        for &fact in facts {
            let literal = engine.literal()?;
            engine.assert(solver, terms, fact, Some(literal))?;
            literals.push(literal);
        }
        let mut core: Option<Vec<usize>> = None;
        // A core may have a smaller core.
        for _ in 0..4 {
            let assumed: Vec<Literal> = match &core {
                Some(core) => core.iter().map(|&at| literals[at]).collect(),
                None => literals.clone(),
            };
            let Some(limit) = until.left() else { break };
            if engine.check(solver, &assumed, limit) != Outcome::Unsat {
                break;
            }
            let found = engine.core(solver)?;
            let mut places: Vec<usize> =
                (0..facts.len()).filter(|&at| found.contains(&literals[at])).collect();
            places.sort_unstable();
            let is_smaller = core.as_ref().is_none_or(|core| places.len() < core.len());
            core = Some(places);
            if !is_smaller {
                break;
            }
        }
        if core.is_some() {
            return Ok(core);
        }
    }
    Ok(None)
}
