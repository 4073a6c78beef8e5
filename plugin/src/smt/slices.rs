//! Which facts a question needs: those that share variables with it, directly or through other facts. The rest
//! can neither help nor contradict, and is not given to the solver.
//!
//! Facts are joined over the terms that they are made of (union-find): constants join nothing, and every other
//! term has a variable in it.

use super::terms::{Term, Terms};
use std::collections::HashMap;

/// A set of components, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SetId(pub u32);

/// The connected components of some facts.
pub(super) struct Slices {
    /// By term: the next one towards its component's root; what is in no fact has none.
    parent: Vec<u32>,
    /// By component: the facts in it, as places in the list that was given.
    members: Vec<Vec<usize>>,
    /// Facts without variables: they belong to every question.
    ground: Vec<usize>,
    component: HashMap<u32, u32>,
    /// Sets of components that questions have needed.
    sets: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, SetId>,
    /// By term outside the facts: the set of what it is made of.
    reached: HashMap<Term, SetId>,
    unions: HashMap<(SetId, SetId), SetId>,
}

const NONE: u32 = u32::MAX;

impl Slices {
    /// The components of these facts.
    pub fn of(terms: &Terms, facts: &[Term]) -> Slices {
        let mut slices = Slices {
            parent: vec![NONE; terms.len()],
            members: Vec::new(),
            ground: Vec::new(),
            component: HashMap::new(),
            sets: vec![Vec::new()],
            numbers: HashMap::from([(Vec::new(), SetId(0))]),
            reached: HashMap::new(),
            unions: HashMap::new(),
        };
        let mut open = Vec::new();
        for &fact in facts {
            if slices.enter(terms, fact) {
                open.push(fact);
            }
            while let Some(next) = open.pop() {
                terms.operands(next, |operand| {
                    if terms.as_constant(operand).is_some() {
                        return;
                    }
                    if slices.enter(terms, operand) {
                        open.push(operand);
                    }
                    slices.join(next, operand);
                });
            }
        }
        for (place, &fact) in facts.iter().enumerate() {
            match slices.root(fact) {
                None => slices.ground.push(place),
                Some(root) => {
                    let fresh = slices.members.len() as u32;
                    let component = *slices.component.entry(root).or_insert(fresh);
                    if component == fresh {
                        slices.members.push(Vec::new());
                    }
                    slices.members[component as usize].push(place);
                }
            }
        }
        slices
    }

    /// Makes a term known; false if it was, or is a constant.
    fn enter(&mut self, terms: &Terms, term: Term) -> bool {
        if terms.as_constant(term).is_some() || self.parent[term.index()] != NONE {
            return false;
        }
        self.parent[term.index()] = term.0;
        true
    }

    fn root(&mut self, term: Term) -> Option<u32> {
        let mut at = term.0;
        if *self.parent.get(term.index())? == NONE {
            return None;
        }
        while self.parent[at as usize] != at {
            let next = self.parent[at as usize];
            self.parent[at as usize] = self.parent[next as usize];
            at = next;
        }
        Some(at)
    }

    fn join(&mut self, a: Term, b: Term) {
        if let (Some(a), Some(b)) = (self.root(a), self.root(b)) {
            self.parent[a.max(b) as usize] = a.min(b);
        }
    }

    /// How many components there are.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The set of just one component.
    pub fn single(&mut self, component: usize) -> SetId {
        self.set(vec![component as u32])
    }

    /// The facts of a set of components, ascending, as places in the list that was given.
    pub fn facts(&self, set: SetId) -> Vec<usize> {
        let components = &self.sets[set.0 as usize];
        let mut places = self.ground.clone();
        places.extend(components.iter().flat_map(|&component| &self.members[component as usize]));
        places.sort_unstable();
        places
    }

    /// The components that these terms touch together.
    pub fn touched(&mut self, terms: &Terms, roots: impl IntoIterator<Item = Term>) -> SetId {
        let mut set = SetId(0);
        for root in roots {
            let more = self.touched_by(terms, root);
            set = self.union(set, more);
        }
        set
    }

    fn touched_by(&mut self, terms: &Terms, term: Term) -> SetId {
        let mut open = vec![term];
        while let Some(&next) = open.last() {
            if self.reached.contains_key(&next) {
                open.pop();
                continue;
            }
            if let Some(root) = self.root(next) {
                let component = self.component.get(&root).copied();
                let set = self.set(component.into_iter().collect());
                self.reached.insert(next, set);
                open.pop();
                continue;
            }
            let waiting = open.len();
            terms.operands(next, |operand| {
                if !self.reached.contains_key(&operand) {
                    open.push(operand);
                }
            });
            if open.len() > waiting {
                continue;
            }
            open.pop();
            let mut operands = Vec::new();
            terms.operands(next, |operand| operands.push(operand));
            let mut set = SetId(0);
            for operand in operands {
                set = self.union(set, self.reached[&operand]);
            }
            self.reached.insert(next, set);
        }
        self.reached[&term]
    }

    fn set(&mut self, components: Vec<u32>) -> SetId {
        let fresh = SetId(self.sets.len() as u32);
        match self.numbers.get(&components) {
            Some(&known) => known,
            None => {
                self.sets.push(components.clone());
                self.numbers.insert(components, fresh);
                fresh
            }
        }
    }

    fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == SetId(0) {
            return a;
        }
        if a == SetId(0) {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(&known) = self.unions.get(&key) {
            return known;
        }
        let mut components = self.sets[a.0 as usize].clone();
        components.extend_from_slice(&self.sets[b.0 as usize]);
        components.sort_unstable();
        components.dedup();
        let set = self.set(components);
        self.unions.insert(key, set);
        set
    }
}
