//! What instructions and functions may read and write: sets of objects, bottom-up over the call graph.

use super::bits::BitSet;
use super::calls::{Runs, Touch};
use super::memory::{Map, ObjectId, ObjectKind};
use super::solved::Solved;
use crate::epoch::graph::components;
use crate::ir::code::{Code, FuncId, InstId};
use std::sync::Arc;

/// A set of objects.
#[derive(Clone, Debug, Default)]
pub struct ObjectSet {
    bits: BitSet,
    /// All that escaped are in it, too: what a pointer to unknown code's memory may point to.
    escaped: Option<Arc<BitSet>>,
}

impl ObjectSet {
    /// A set with one member.
    pub fn of(object: ObjectId) -> ObjectSet {
        ObjectSet { bits: BitSet::of(object.0), escaped: None }
    }

    pub(super) fn new(bits: BitSet, escaped: Option<Arc<BitSet>>) -> ObjectSet {
        ObjectSet { bits, escaped }
    }

    /// Has no members.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty() && self.escaped.is_none()
    }

    /// Whether it is a member.
    pub fn contains(&self, object: ObjectId) -> bool {
        self.bits.contains(object.0)
            || self.escaped.as_ref().is_some_and(|escaped| escaped.contains(object.0))
    }

    /// Whether there is a common member.
    pub fn intersects(&self, other: &ObjectSet) -> bool {
        let meets = |a: &ObjectSet, b: &ObjectSet| {
            a.escaped.as_ref().is_some_and(|escaped| escaped.intersects(&b.bits))
        };
        self.bits.intersects(&other.bits)
            || meets(self, other)
            || meets(other, self)
            || (self.escaped.is_some() && other.escaped.is_some())
    }

    /// Adds all members of another.
    pub fn unite(&mut self, other: &ObjectSet) {
        self.bits.unite(&other.bits);
        if self.escaped.is_none() {
            self.escaped.clone_from(&other.escaped);
        }
    }

    /// Adds a member.
    pub fn insert(&mut self, object: ObjectId) {
        self.bits.insert(object.0);
    }

    /// All members, ascending.
    pub fn iter(&self) -> impl Iterator<Item = ObjectId> {
        let mut all = self.bits.clone();
        if let Some(escaped) = &self.escaped {
            all.unite(escaped);
        }
        all.iter().map(ObjectId).collect::<Vec<_>>().into_iter()
    }
}

/// What is read and what is written.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub(super) reads: ObjectSet,
    pub(super) writes: ObjectSet,
}

impl Touched {
    fn unite(&mut self, other: &Touched) {
        self.reads.unite(&other.reads);
        self.writes.unite(&other.writes);
    }
}

/// Of all calls and functions.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// What library functions do that a call comes to, and instructions that are not described.
    by_inst: Map<InstId, Touched>,
    /// Each function's place in the list; after them unknown code's.
    places: Vec<u32>,
    /// Functions that call each other share one.
    touched: Vec<Touched>,
}

impl Effects {
    pub(super) fn of(code: &Code<'_>, solved: &Solved, runs: &Map<InstId, Runs>) -> Effects {
        let unknown = code.functions.len();
        let mut by_inst = Map::default();
        let mut own = vec![Touched::default(); unknown + 1];
        let mut next = vec![Vec::new(); unknown + 1];
        for (&inst, runs) in runs {
            let caller = code.function_of(inst).index();
            let mut touched = Touched::default();
            runs.reads.iter().for_each(|&touch| touched.reads.unite(&objects_of(solved, touch)));
            runs.writes.iter().for_each(|&touch| touched.writes.unite(&objects_of(solved, touch)));
            own[caller].unite(&touched);
            if !touched.reads.is_empty() || !touched.writes.is_empty() {
                by_inst.insert(inst, touched);
            }
            next[caller].extend(runs.now.iter().map(|callee| callee.index()));
            if runs.is_unknown {
                next[caller].push(unknown);
            }
        }
        let mut done = std::collections::HashSet::new();
        for inst in (0..code.insts.len() as u32).map(InstId) {
            let Some(access) = solved.access(inst) else { continue };
            let caller = code.function_of(inst).index();
            if !done.insert((caller, access.set, access.reads, access.writes)) {
                continue;
            }
            let objects = solved.objects_of_set(access.set);
            if access.reads {
                own[caller].reads.unite(&objects);
            }
            if access.writes {
                own[caller].writes.unite(&objects);
            }
        }
        let everything = objects_of(solved, Touch::Escaped);
        own[unknown] = Touched { reads: everything.clone(), writes: everything };
        next[unknown] = solved.escaped_functions().map(FuncId::index).collect();
        for edges in &mut next {
            edges.sort_unstable();
            edges.dedup();
        }
        let mut places = vec![0; unknown + 1];
        let mut touched: Vec<Touched> = Vec::new();
        for component in components(unknown + 1, |at| next[at].clone()) {
            let mut all = Touched::default();
            for &at in &component.nodes {
                places[at] = touched.len() as u32;
                all.unite(&own[at]);
            }
            for &at in &component.nodes {
                for &callee in &next[at] {
                    if places[callee] as usize != touched.len() {
                        all.unite(&touched[places[callee] as usize]);
                    }
                }
            }
            touched.push(all);
        }
        for touched in &mut touched {
            remove_constants(solved, &mut touched.writes);
        }
        by_inst.values_mut().for_each(|touched| remove_constants(solved, &mut touched.writes));
        Effects { by_inst, places, touched }
    }

    pub(super) fn of_function(&self, function: FuncId) -> &Touched {
        &self.touched[self.places[function.index()] as usize]
    }

    /// Unknown code, with all functions of the program that it may call.
    pub(super) fn of_unknown(&self) -> &Touched {
        &self.touched[self.places[self.places.len() - 1] as usize]
    }

    pub(super) fn of_library(&self, inst: InstId) -> Option<&Touched> {
        self.by_inst.get(&inst)
    }
}

fn objects_of(solved: &Solved, touch: Touch) -> ObjectSet {
    match touch {
        Touch::Behind(node) => solved.objects_of_node(node),
        Touch::Object(object) => ObjectSet::of(object),
        Touch::Escaped => {
            let mut everything = ObjectSet::of(ObjectId::EXTERNAL);
            everything.escaped = Some(solved.escaped().clone());
            everything
        }
    }
}

/// What is constant is not written, even if a pointer to it is.
fn remove_constants(solved: &Solved, set: &mut ObjectSet) {
    let is_constant = |object: u32| {
        let object = &solved.objects()[object as usize];
        object.is_constant || matches!(object.kind, ObjectKind::Function(_))
    };
    set.bits = set.bits.iter().filter(|&object| !is_constant(object)).collect();
}
