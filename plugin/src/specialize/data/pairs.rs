//! Pairs of accesses of different threads that the schedule does not order, one of them a write: are they apart?
//!
//! What points-to tells apart is not looked at. The pairs are merged by lines for people.

use super::defs::{self, pair_question};
use super::memory::{Access, Kind};
use super::oracle::Oracle;
use super::report::{AccessFact, PairFact, Place};
use super::values::Values;
use crate::ir::code::InstId;
use crate::smt::{Answer, Question};
use std::collections::{BTreeMap, HashMap};

/// Pairs that are looked at; of more, those that were not are reported as not disjoint.
const MOST_PAIRS: usize = 200_000;

/// Finds and decides them.
pub fn pairs<'a, 'm>(
    search: &defs::Search<'_, 'a, 'm>,
    values: &mut Values<'a, 'm>,
    oracle: &mut Oracle<'_, 'a, 'm>,
    place: &dyn Fn(InstId) -> Place,
) -> Vec<PairFact> {
    let memory = search.memory;
    let mut places: HashMap<InstId, Place> = HashMap::new();
    let mut decided: BTreeMap<(AccessFact, AccessFact), bool> = BTreeMap::new();
    let mut open: BTreeMap<(AccessFact, AccessFact), Vec<Question>> = BTreeMap::new();
    let mut count = 0;
    for (number, a) in memory.accesses.iter().enumerate() {
        let Some(address) = a.address.filter(|_| is_write(a)) else { continue };
        let objects = search.points_to.objects_behind(address);
        let others = memory.readers(&objects).into_iter().chain(memory.writers(&objects));
        for other in others {
            let b = memory.access(other);
            let Some(second) = b.address.filter(|_| b.kind != Kind::Synchronizes) else { continue };
            // Two writes are looked at once.
            if (is_write(b) && (other.0 as usize) <= number) || !search.places.concurrent(a.inst, b.inst) {
                continue;
            }
            if !search.points_to.may_alias((address, Some(a.bytes)), (second, Some(b.bytes))) {
                continue;
            }
            let mut fact = |access: &Access| AccessFact {
                place: places.entry(access.inst).or_insert_with(|| place(access.inst)).clone(),
                access: if is_write(access) { "write" } else { "read" },
            };
            let key = (fact(a), fact(b));
            let key = if key.1 < key.0 { (key.1, key.0) } else { key };
            count += 1;
            match pair_question(search, values, a, b).filter(|_| count <= MOST_PAIRS) {
                Some(question) => open.entry(key).or_default().push(question),
                None => {
                    decided.insert(key, false);
                }
            }
        }
    }
    open.retain(|key, _| !decided.contains_key(key));
    let questions: Vec<&[Question]> = open.values().map(Vec::as_slice).collect();
    let answers = oracle.ask_of_whole_runs(values, &questions);
    let are_apart = answers.iter().map(|answers| answers.iter().all(Answer::is_proven));
    decided.extend(open.into_keys().zip(are_apart));
    let fact = |((first, second), disjoint)| PairFact { first, second, disjoint };
    decided.into_iter().map(fact).collect()
}

fn is_write(access: &Access) -> bool {
    matches!(access.kind, Kind::Store { .. } | Kind::Fill)
}
