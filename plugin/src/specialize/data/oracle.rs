//! The solver, with what is known of the run, and the question that comes after a proof: where may it be used?
//!
//! A proof that needed guards is good at a place if those suffice that have been passed wherever control is there. They are
//! given with the question, as far as they share variables with it, and the question is asked again.

use super::facts::Guard;
use super::places::Places;
use super::values::Values;
use crate::ir::code::{Code, InstId};
use crate::smt::{self, Answer, Goal, Prover, Question, Term, Terms};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// Guards that are given with a question of what is known at a place. More of them make it slow in programs with thousands
/// of synchronizations, and are seldom needed.
const MOST_PASSED: usize = 64;

/// Answers questions in one round.
pub struct Oracle<'p, 'a, 'm> {
    /// The program.
    pub code: &'a Code<'m>,
    /// Its order.
    pub places: &'a Places<'a, 'm>,
    /// The solver.
    pub prover: &'p mut Prover,
    /// Conditions of the run.
    pub guards: &'p [Guard],
}

impl<'a, 'm> Oracle<'_, 'a, 'm> {
    /// What the solver is given.
    pub fn facts(&self, values: &Values<'a, 'm>) -> smt::Facts {
        let guards = self.guards.iter().map(|guard| guard.term).collect();
        smt::Facts { always: values.bounds.clone(), guards }
    }

    /// Asks.
    pub fn ask(&mut self, values: &mut Values<'a, 'm>, questions: &[Question]) -> Vec<Answer> {
        if questions.is_empty() {
            return Vec::new();
        }
        let facts = self.facts(values);
        self.prover.ask(&mut values.terms, &facts, questions)
    }

    /// Asks questions in groups of which all must hold.
    pub fn ask_together(&mut self, values: &mut Values<'a, 'm>, groups: &[&[Question]]) -> Vec<Vec<Answer>> {
        let facts = self.facts(values);
        self.prover.ask_together(&mut values.terms, &facts, groups)
    }

    /// The same of runs that follow the schedule to the end: whether guards are needed does not matter.
    pub fn ask_of_whole_runs(
        &mut self,
        values: &mut Values<'a, 'm>,
        groups: &[&[Question]],
    ) -> Vec<Vec<Answer>> {
        let smt::Facts { mut always, guards } = self.facts(values);
        always.extend(guards);
        let facts = smt::Facts { always, guards: Vec::new() };
        self.prover.ask_together(&mut values.terms, &facts, groups)
    }

    /// Of questions whose proof needed guards: whether those suffice that are known at a place.
    pub fn are_known_at(&mut self, values: &mut Values<'a, 'm>, proven: &[(Question, InstId)]) -> Vec<bool> {
        let index = Index::of(&values.terms, self.guards);
        let questions: Vec<Question> = proven
            .iter()
            .map(|(question, place)| {
                let mut context = question.context.clone();
                context.extend(self.passed(&values.terms, &index, question, *place));
                Question { context, goal: question.goal }
            })
            .collect();
        let is_known = |answer: Answer| answer.is_proven() && !answer.needs_guards();
        self.ask(values, &questions).into_iter().map(is_known).collect()
    }

    /// Guards that have been passed at a place and have to do with a question. Of many, those that say something of
    /// few variables, and the nearest.
    fn passed(&self, terms: &Terms, index: &Index, question: &Question, place: InstId) -> Vec<Term> {
        let about = match question.goal {
            Goal::Equal(a, b) | Goal::Different(a, b) | Goal::Disjoint { a, b, .. } => [a, b],
            Goal::Holds(a) => [a, a],
        };
        let mut work: Vec<Term> =
            question.context.iter().chain(&about).flat_map(|&term| terms.variables(term)).collect();
        let mut seen: HashSet<Term> = work.iter().copied().collect();
        let mut is_taken = vec![false; self.guards.len()];
        let mut passed: Vec<usize> = Vec::new();
        while let Some(variable) = work.pop() {
            for &number in index.with.get(&variable).into_iter().flatten() {
                if std::mem::replace(&mut is_taken[number], true)
                    || !self.is_passed(self.guards[number], place)
                {
                    continue;
                }
                passed.push(number);
                work.extend(index.variables[number].iter().filter(|&&variable| seen.insert(variable)));
            }
        }
        if passed.len() > MOST_PASSED {
            let home = self.code.function_of(place);
            passed.sort_by_key(|&number| {
                let block = self.guards[number].home;
                let is_elsewhere = block.is_none_or(|block| self.code.block(block).function != home);
                (index.variables[number].len(), is_elsewhere, Reverse(block))
            });
            passed.truncate(MOST_PASSED);
        }
        passed.into_iter().map(|number| self.guards[number].term).collect()
    }

    /// Whether a guard has been passed wherever control is at a place: it holds from the beginning of its home on.
    fn is_passed(&self, guard: Guard, place: InstId) -> bool {
        let Some(home) = guard.home else { return false };
        let first = InstId(self.code.block(home).insts.start);
        first == place || self.places.dominates(first, place) || self.places.before(first, place)
    }
}

/// Guards by their variables.
struct Index {
    /// Of each guard.
    variables: Vec<Vec<Term>>,
    /// With each variable.
    with: HashMap<Term, Vec<usize>>,
}

impl Index {
    fn of(terms: &Terms, guards: &[Guard]) -> Index {
        let variables: Vec<Vec<Term>> =
            guards.iter().map(|guard| terms.variables(guard.term).into_iter().collect()).collect();
        let mut with: HashMap<Term, Vec<usize>> = HashMap::new();
        for (number, variables) in variables.iter().enumerate() {
            for &variable in variables {
                with.entry(variable).or_default().push(number);
            }
        }
        Index { variables, with }
    }
}
