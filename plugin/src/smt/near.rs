//! The facts next to a question. A slice can be the whole program, tied together by a few variables that occur
//! everywhere (the number of threads, the size of the array), while a proof needs the loop bounds of two threads.
//! So a proof is tried first with the facts that share a variable with the question or with such a fact, not
//! counting the variables that are everywhere, and with those that have no other variables than these. What few
//! facts prove, all facts prove.
//!
//! Also here: the disjunctions next to a question (a PHI is one of its incoming values), to be taken case by case.

use super::bits::Binary;
use super::terms::{Term, Terms, View};
use std::collections::{HashMap, HashSet};

/// Steps away from the question.
const STEPS: usize = 2;
/// Facts in which a variable is everywhere.
const EVERYWHERE: usize = 12;
/// Facts with more variables than this are nowhere near.
const VARIABLES: usize = 40;
/// Facts that are tried at most.
const FACTS: usize = 80;
/// Disjunctions that are taken apart.
const ALTERNATIVES: usize = 3;
/// Cases of one.
const CASES: usize = 4;

/// Terms that are looked at in all to find the variables of facts with many.
const SEARCHED: usize = 2_000_000;

/// Which facts speak of which variables.
pub(super) struct Neighbourhood {
    /// By fact, its variables; None: too many.
    variables: Vec<Option<Vec<Term>>>,
    /// By variable, the facts with it, as places in the list that was given.
    facts: HashMap<Term, Vec<usize>>,
    /// Facts whose variables are not listed.
    unlisted: Vec<usize>,
}

impl Neighbourhood {
    /// Of these facts.
    pub fn of(terms: &Terms, facts: &[Term]) -> Neighbourhood {
        let variables: Vec<_> = facts.iter().map(|&fact| few_variables(terms, &[fact])).collect();
        let mut places: HashMap<Term, Vec<usize>> = HashMap::new();
        let mut unlisted = Vec::new();
        let mut searched = 0;
        for (place, of) in variables.iter().enumerate() {
            let mut list = |variable| places.entry(variable).or_default().push(place);
            match of {
                Some(few) => few.iter().copied().for_each(list),
                None if searched > SEARCHED => unlisted.push(place),
                None => terms.walk(&[facts[place]], |term| {
                    searched += 1;
                    if terms.is_variable(term) {
                        list(term);
                    }
                }),
            }
        }
        Neighbourhood { variables, facts: places, unlisted }
    }

    /// All facts with this variable, and such as may have it.
    pub fn touched(&self, variable: Term) -> impl ExactSizeIterator<Item = usize> + '_ {
        let places = self.facts.get(&variable).map_or(&[][..], Vec::as_slice);
        let count = places.len() + self.unlisted.len();
        (0..count).map(move |at| match places.get(at) {
            Some(&place) => place,
            None => self.unlisted[at - places.len()],
        })
    }

    /// The facts next to these terms, as places in the list that was given; None: they are too many.
    pub fn near(&self, terms: &Terms, roots: &[Term]) -> Option<Vec<usize>> {
        let mut known: HashSet<Term> = few_variables(terms, roots)?.into_iter().collect();
        let mut chosen: HashSet<usize> = HashSet::new();
        let mut border: Vec<Term> = known.iter().copied().collect();
        for _ in 0..STEPS {
            let mut next = Vec::new();
            for variable in border {
                let Some(places) = self.facts.get(&variable) else { continue };
                if places.len() > EVERYWHERE {
                    continue;
                }
                for &place in places {
                    let Some(of) = &self.variables[place] else { continue };
                    if chosen.insert(place) {
                        next.extend(of.iter().copied().filter(|&variable| known.insert(variable)));
                    }
                }
            }
            if chosen.len() > FACTS {
                return None;
            }
            border = next;
        }
        // What is said of these variables alone.
        for variable in &known {
            for &place in self.facts.get(variable).into_iter().flatten() {
                let of = self.variables[place].as_ref();
                if of.is_some_and(|of| of.iter().all(|variable| known.contains(variable))) {
                    chosen.insert(place);
                }
            }
        }
        let mut chosen: Vec<usize> = chosen.into_iter().collect();
        chosen.sort_unstable();
        (chosen.len() <= FACTS).then_some(chosen)
    }

    /// Alternatives that speak of the claim's variables: disjunctions in the context and among the facts, as lists of
    /// cases.
    pub fn alternatives(
        &self,
        terms: &Terms,
        facts: &[Term],
        context: &[Term],
        claim: Term,
    ) -> Vec<Vec<Vec<Term>>> {
        let mut found: Vec<Term> =
            context.iter().copied().filter(|&fact| is_disjunction(terms, fact)).collect();
        for variable in few_variables(terms, &[claim]).unwrap_or_default() {
            let places = self.facts.get(&variable).map_or(&[][..], Vec::as_slice);
            if places.len() <= EVERYWHERE {
                let near = places.iter().map(|&place| facts[place]);
                found.extend(near.filter(|&fact| is_disjunction(terms, fact)));
            }
        }
        let mut seen = HashSet::new();
        found.retain(|&fact| seen.insert(fact));
        found.truncate(ALTERNATIVES);
        found.into_iter().filter_map(|fact| cases(terms, fact)).collect()
    }
}

fn is_disjunction(terms: &Terms, fact: Term) -> bool {
    match terms.view(fact) {
        View::Binary(Binary::Or, _, _) => true,
        View::Not(of) => matches!(terms.view(of), View::Binary(Binary::And, _, _)),
        _ => false,
    }
}

/// The cases of a disjunction, each a conjunction, if they are few.
fn cases(terms: &Terms, fact: Term) -> Option<Vec<Vec<Term>>> {
    let mut open = vec![fact];
    let mut cases = Vec::new();
    while let Some(next) = open.pop() {
        match terms.view(next) {
            View::Binary(Binary::Or, a, b) => open.extend([a, b]),
            View::Not(of) => match terms.view(of) {
                // Not both is one of two negations, where these are terms.
                View::Binary(Binary::And, a, b) => {
                    open.extend([terms.negation_of(a)?, terms.negation_of(b)?]);
                }
                _ => cases.push(vec![next]),
            },
            View::Binary(Binary::And, ..) => {
                let mut parts = Vec::new();
                let mut inner = vec![next];
                while let Some(part) = inner.pop() {
                    match terms.view(part) {
                        View::Binary(Binary::And, a, b) => inner.extend([a, b]),
                        _ => parts.push(part),
                    }
                }
                cases.push(parts);
            }
            _ => cases.push(vec![next]),
        }
        if cases.len() > CASES {
            return None;
        }
    }
    Some(cases)
}

/// The variables of some terms, if they are few and the terms not large.
fn few_variables(terms: &Terms, roots: &[Term]) -> Option<Vec<Term>> {
    let mut found = Vec::new();
    let mut seen: HashSet<Term> = roots.iter().copied().collect();
    let mut open: Vec<Term> = seen.iter().copied().collect();
    while let Some(term) = open.pop() {
        if terms.is_variable(term) {
            found.push(term);
        }
        if found.len() > VARIABLES || seen.len() > 50 * VARIABLES {
            return None;
        }
        terms.operands(term, |operand| {
            if seen.insert(operand) {
                open.push(operand);
            }
        });
    }
    found.sort_unstable();
    Some(found)
}
