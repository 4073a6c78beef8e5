//! Facts, prepared for questions: equations used up, intervals and inequalities read off, split into components.

use super::equalities::Substitution;
use super::lemmas::{Lemmas, Lemmatizer};
use super::near::Neighbourhood;
use super::questions::Facts;
use super::ranges::Ranges;
use super::slices::{SetId, Slices};
use super::terms::{Term, Terms};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Which facts are taken: what follows from those that hold always needs no guard.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Under {
    Always,
    All,
}

/// The facts of a set of components.
#[derive(Debug)]
pub(super) struct Slice {
    /// With definitions in place.
    pub facts: Vec<Term>,
    /// About the operations in them.
    pub lemmas: Lemmas,
}

/// Some facts. Everything here follows from them alone.
pub(super) struct Known {
    pub substitution: Substitution,
    /// What is left of the facts, with definitions in place.
    pub facts: Vec<Term>,
    pub ranges: Ranges,
    pub slices: Slices,
    pub neighbourhood: Neighbourhood,
    made: HashMap<SetId, Arc<Slice>>,
    lemmatizer: Lemmatizer,
}

impl Known {
    fn new(terms: &mut Terms, facts: &[Term]) -> Known {
        let (substitution, facts) = Substitution::of(terms, facts);
        let ranges = Ranges::of(terms, &facts);
        let slices = Slices::of(terms, &facts);
        let neighbourhood = Neighbourhood::of(terms, &facts);
        Known {
            substitution,
            facts,
            ranges,
            slices,
            neighbourhood,
            made: HashMap::new(),
            lemmatizer: Lemmatizer::default(),
        }
    }

    /// The equations among the facts contradict each other.
    pub fn is_absurd(&self, terms: &Terms) -> bool {
        self.facts.iter().any(|&fact| terms.as_constant(fact) == Some(0))
    }

    /// The facts of a set of components, with lemmas.
    pub fn slice(&mut self, terms: &mut Terms, set: SetId) -> Arc<Slice> {
        if let Some(known) = self.made.get(&set) {
            return known.clone();
        }
        let slice = self.slice_of(terms, &self.slices.facts(set), &[]);
        self.ranges.add(terms, &slice.lemmas.comparisons(terms));
        let slice = Arc::new(slice);
        self.made.insert(set, slice.clone());
        slice
    }

    /// Some of the facts, with lemmas about them and further terms.
    fn slice_of(&mut self, terms: &mut Terms, places: &[usize], more: &[Term]) -> Slice {
        let facts: Vec<Term> = places.iter().map(|&place| self.facts[place]).collect();
        let all: Vec<Term> = facts.iter().chain(more).copied().collect();
        let lemmas = self.lemmatizer.lemmas(terms, &mut self.ranges, &all, None);
        Slice { facts, lemmas }
    }

    /// The facts next to an assertion, if they are much fewer than those of its slice.
    pub fn near(&mut self, terms: &mut Terms, assertions: &[Term], slice: &Slice) -> Option<Slice> {
        let places = self.neighbourhood.near(terms, assertions)?;
        (2 * places.len() < slice.facts.len()).then(|| self.slice_of(terms, &places, assertions))
    }

    /// Lemmas about terms that a slice does not have.
    pub fn lemmas(&mut self, terms: &mut Terms, roots: &[Term], slice: &Slice) -> Lemmas {
        self.lemmatizer.lemmas(terms, &mut self.ranges, roots, Some(&slice.lemmas))
    }

    /// A context with definitions in place; None: it is never fulfilled.
    pub fn context(&mut self, terms: &mut Terms, context: &[Term]) -> Option<Vec<Term>> {
        let rewritten: Vec<Term> = context.iter().map(|&fact| self.substitution.apply(terms, fact)).collect();
        let mut facts = super::equalities::conjuncts(terms, &rewritten);
        facts.sort_unstable();
        facts.iter().all(|&fact| terms.as_constant(fact) != Some(0)).then_some(facts)
    }
}

/// What is known without and with what guards say. The guards are facts like others in the latter, so that `p == 4`
/// makes `n / p` a division by a constant also where only a guard says so.
pub(super) struct Basis {
    pub always: Known,
    /// None: there are no guards.
    pub all: Option<Known>,
    /// The facts as they were given, guards last.
    given: Slices,
    /// Components with guards in them; the empty set: a guard without variables is false.
    guarded: HashSet<SetId>,
    /// By set of components: one of them is such.
    touched: HashMap<SetId, bool>,
}

impl Basis {
    pub fn new(terms: &mut Terms, facts: &Facts) -> Basis {
        let everything: Vec<Term> = facts.always.iter().chain(&facts.guards).copied().collect();
        let mut given = Slices::of(terms, &everything);
        let guards = facts.guards.iter().filter(|&&guard| terms.as_constant(guard) != Some(1));
        let guarded = guards.map(|&guard| given.touched(terms, [guard])).collect();
        let always = Known::new(terms, &facts.always);
        let all = (!facts.guards.is_empty()).then(|| Known::new(terms, &everything));
        Basis { always, all, given, guarded, touched: HashMap::new() }
    }

    /// The facts to find counterexamples in.
    pub fn whole(&mut self) -> (Under, &mut Known) {
        match &mut self.all {
            Some(all) => (Under::All, all),
            None => (Under::Always, &mut self.always),
        }
    }

    /// What is known under some facts.
    pub fn known(&self, under: Under) -> &Known {
        match (under, &self.all) {
            (Under::All, Some(all)) => all,
            _ => &self.always,
        }
    }

    /// The same, to be added to.
    pub fn under(&mut self, under: Under) -> &mut Known {
        match (under, &mut self.all) {
            (Under::All, Some(all)) => all,
            _ => &mut self.always,
        }
    }

    /// Guards may matter to these terms: they share variables, directly or through facts.
    pub fn touches_guards(&mut self, terms: &Terms, roots: impl IntoIterator<Item = Term>) -> bool {
        let set = self.given.touched(terms, roots);
        if let Some(&known) = self.touched.get(&set) {
            return known;
        }
        let components = self.given.components(set).to_vec();
        let is_touched = self.guarded.contains(&SetId::NONE)
            || components.into_iter().any(|one| self.guarded.contains(&self.given.single(one as usize)));
        self.touched.insert(set, is_touched);
        is_touched
    }
}
