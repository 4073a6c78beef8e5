//! How many locks of the program a thread may have, function by function: what a function does to the number is found once, and
//! holds for all its calls. So who takes one lock, and calls something that takes another and gives that back, still has the first;
//! and who only calls the latter has none.
//!
//! An estimate: which lock a call is about is not known, nor whether a `trylock` succeeded. A function that may come back with different
//! numbers gives back what it took if it does both, else it is one that takes, or gives back, for its callers.

use super::holds::{does, Does};
use super::{FunctionId, Graph, GroupId, PointId};
use crate::loom::table::PointKind;
use std::collections::VecDeque;

/// A set of numbers: bit i stands for i - 3, the first and the last for all beyond, too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Counts(u8);

const ZERO: Counts = Counts(1 << 3);

impl Counts {
    fn with(self, other: Counts) -> Counts {
        Counts(self.0 | other.0)
    }

    fn one_more(self) -> Counts {
        Counts(self.0 << 1 | self.0 & 0x80)
    }

    fn one_less(self) -> Counts {
        Counts(self.0 >> 1 | self.0 & 1)
    }

    /// All sums.
    fn plus(self, change: Counts) -> Counts {
        let mut sums = Counts::default();
        let (mut less, mut more) = (self, self);
        for distance in 0..5 {
            if change.0 >> 3 >> distance & 1 != 0 {
                sums = sums.with(more);
            }
            if distance <= 3 && change.0 >> (3 - distance) & 1 != 0 {
                sums = sums.with(less);
            }
            (less, more) = (less.one_less(), more.one_more());
        }
        sums
    }

    /// Nobody has less than none.
    fn not_negative(self) -> Counts {
        Counts(self.0 & 0xf8 | if self.0 & 7 != 0 { ZERO.0 } else { 0 })
    }

    fn has_positive(self) -> bool {
        self.0 & 0xf0 != 0
    }

    fn has_negative(self) -> bool {
        self.0 & 7 != 0
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What of several is meant, by one that takes or gives back.
    fn settled(self, takes: bool, gives_back: bool) -> Counts {
        match (takes, gives_back) {
            _ if self.0.count_ones() < 2 => self,
            (true, false) => Counts(1 << self.0.ilog2()),
            (false, true) => Counts(1 << self.0.trailing_zeros()),
            _ if self.0 & ZERO.0 != 0 => ZERO,
            _ => self,
        }
    }
}

/// By return, and by exception.
type Ways = [Counts; 2];

/// So often is a function looked at again, since what it calls has changed: recursion need not come to an end by itself.
const MOST_LOOKS: u8 = 12;

struct Count<'g, 'a> {
    graph: &'g Graph<'a>,
    does: Vec<Option<Does>>,
    /// At each point, relative to the function's entry.
    at: Vec<Counts>,
    /// What functions, and groups, do to the number.
    functions: Vec<Ways>,
    groups: Vec<Ways>,
}

/// Which points a thread may come to with a lock.
pub fn points(graph: &Graph<'_>) -> Vec<bool> {
    let does = (0..graph.point_count() as PointId).map(|id| does(graph, id)).collect();
    let open = |group: &super::Group| if group.open { [ZERO; 2] } else { Ways::default() };
    let mut count = Count {
        graph,
        does,
        at: vec![Counts::default(); graph.point_count()],
        functions: vec![Ways::default(); graph.function_count()],
        groups: graph.groups.iter().map(open).collect(),
    };
    count.settle();
    let entries = count.entries();
    let holds = |id: usize| {
        let entry = entries[graph.function_of(id as PointId) as usize];
        entry.plus(count.at[id]).has_positive()
    };
    (0..graph.point_count()).map(holds).collect()
}

impl Count<'_, '_> {
    /// What all functions do.
    fn settle(&mut self) {
        let graph = self.graph;
        let mut open: VecDeque<FunctionId> = (0..graph.function_count() as FunctionId).collect();
        let mut is_open = vec![true; graph.function_count()];
        let mut looks = vec![0; graph.function_count()];
        while let Some(function) = open.pop_front() {
            is_open[function as usize] = false;
            looks[function as usize] += 1;
            let ways = self.look_at(function);
            if std::mem::replace(&mut self.functions[function as usize], ways) == ways {
                continue;
            }
            for &group in &graph.groups_of[function as usize] {
                if !self.gather(group) {
                    continue;
                }
                for &call in &graph.groups[group as usize].callers {
                    let caller = graph.function_of(call) as usize;
                    if !is_open[caller] && looks[caller] < MOST_LOOKS {
                        is_open[caller] = true;
                        open.push_back(caller as FunctionId);
                    }
                }
            }
        }
    }

    /// What a group does, of what its functions do. Whether it has changed.
    fn gather(&mut self, group: GroupId) -> bool {
        let found = &self.graph.groups[group as usize];
        let mut ways = if found.open { [ZERO; 2] } else { Ways::default() };
        for &function in &found.functions {
            for (all, one) in ways.iter_mut().zip(self.functions[function as usize]) {
                *all = all.with(one);
            }
        }
        std::mem::replace(&mut self.groups[group as usize], ways) != ways
    }

    /// What a function does, as far as is known of those that it calls.
    fn look_at(&mut self, function: FunctionId) -> Ways {
        let graph = self.graph;
        let place = graph.place(function);
        let all = place.first as usize..(place.first + place.count) as usize;
        self.at[all.clone()].fill(Counts::default());
        if all.is_empty() {
            return Ways::default();
        }
        let mut left = Ways::default();
        let (mut takes, mut gives_back) = (false, false);
        let mut work = vec![place.first];
        self.at[place.first as usize] = ZERO;
        while let Some(id) = work.pop() {
            let now = self.at[id as usize];
            let mut go = |at: &mut Vec<Counts>, to: PointId, counts: Counts| {
                let both = at[to as usize].with(counts);
                if at[to as usize] != both {
                    at[to as usize] = both;
                    work.push(to);
                }
            };
            match &graph.point(id).kind {
                PointKind::Return => left[0] = left[0].with(now),
                PointKind::Unwind => left[1] = left[1].with(now),
                PointKind::Call { .. } => {
                    let changes = match self.does[id as usize] {
                        Some(Does::Take) => [ZERO.one_more(), ZERO],
                        Some(Does::GiveBack) => [ZERO.one_less(), ZERO],
                        None => graph.group(id).map_or([ZERO; 2], |group| self.groups[group as usize]),
                    };
                    for (way, change) in changes.into_iter().enumerate() {
                        if change.is_empty() {
                            continue;
                        }
                        takes |= change.has_positive();
                        gives_back |= change.has_negative();
                        let then = now.plus(change);
                        match graph.next(id).nth(way) {
                            Some(next) => go(&mut self.at, next, then),
                            None if way == 1 => left[1] = left[1].with(then),
                            None => {}
                        }
                    }
                }
                _ => graph.next(id).for_each(|next| go(&mut self.at, next, now)),
            }
        }
        left.map(|counts| counts.settled(takes, gives_back))
    }

    /// How many locks a thread may have when it enters each function.
    fn entries(&self) -> Vec<Counts> {
        let graph = self.graph;
        let mut entries = vec![ZERO; graph.function_count()];
        let mut into = vec![Counts::default(); graph.groups.len()];
        let mut open: Vec<FunctionId> = (0..graph.function_count() as FunctionId).collect();
        while let Some(function) = open.pop() {
            let place = graph.place(function);
            for id in place.first..place.first + place.count {
                let Some(group) = graph.group(id).filter(|_| self.does[id as usize].is_none()) else {
                    continue;
                };
                let with = entries[function as usize].plus(self.at[id as usize]).not_negative();
                let known = &mut into[group as usize];
                if known.with(with) == *known {
                    continue;
                }
                *known = known.with(with);
                for &callee in &graph.groups[group as usize].functions {
                    let entry = &mut entries[callee as usize];
                    if entry.with(with) != *entry {
                        *entry = entry.with(with);
                        open.push(callee);
                    }
                }
            }
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loom::compile::{LinkedUnit, Program};
    use crate::loom::table::{Function, Point, Precision, Target, UnitTable, NONE};

    /// Each function is a row of calls, then it returns. `?` before a name: it may also be passed over.
    fn program(functions: &[(&str, &[&str])]) -> Program {
        let mut strings: Vec<String> = Vec::new();
        let mut text = |wanted: &str| {
            let at = strings.iter().position(|known| known == wanted);
            at.unwrap_or_else(|| {
                strings.push(wanted.to_owned());
                strings.len() - 1
            }) as u32
        };
        let functions: Vec<Function> = functions
            .iter()
            .map(|(name, calls)| {
                let entry = PointKind::Entry { location: NONE };
                let mut points = vec![Point { kind: entry, chain: 0, next: vec![1] }];
                for call in *calls {
                    let at = points.len() as u32;
                    let (next, name) = match call.strip_prefix('?') {
                        Some(name) => (vec![at + 1, at + 2], name),
                        None => (vec![at + 1], *call),
                    };
                    points.push(Point { kind: PointKind::Join, chain: 0, next });
                    let target = Target::Named(text(name));
                    let kind = PointKind::Call { target, location: NONE, starts: vec![], is_last: false };
                    points.push(Point { kind, chain: 0, next: vec![at + 2] });
                }
                points.push(Point { kind: PointKind::Return, chain: 0, next: vec![] });
                Function {
                    name: text(name),
                    id: 0,
                    file: 0,
                    line: 0,
                    internal: true,
                    address_taken: false,
                    shape: 0,
                    limit: String::new(),
                    points,
                    variables: vec![],
                    accesses: vec![],
                }
            })
            .collect();
        let function_count = functions.len() as u32;
        let table = UnitTable {
            unit: "u".to_owned(),
            precision: Precision::Late,
            is_for_lto: false,
            strings,
            chains: vec![vec![]],
            functions,
            taken: vec![],
            original: None,
        };
        let unit = LinkedUnit {
            table,
            hash: 1,
            address: 0,
            file: 0,
            function_count,
            location_count: 0,
            slot_count: 0,
        };
        Program { units: vec![unit] }
    }

    /// Which of the calls of functions that do not exist are made with a lock.
    fn held(functions: &[(&str, &[&str])]) -> Vec<String> {
        let program = program(functions);
        let graph = Graph::new(&program).unwrap();
        let holds = points(&graph);
        let mut found = Vec::new();
        for id in 0..graph.point_count() as PointId {
            let PointKind::Call { target: Target::Named(name), .. } = &graph.point(id).kind else { continue };
            let name = graph.text(0, *name);
            if holds[id as usize] && name.starts_with("at_") {
                found.push(name.to_owned());
            }
        }
        found
    }

    const LOCK: &str = "pthread_mutex_lock";
    const UNLOCK: &str = "pthread_mutex_unlock";

    #[test]
    fn an_inner_lock_that_was_given_back_leaves_the_outer_one() {
        let inner: &[&str] = &[LOCK, "at_inner", UNLOCK];
        let outer: &[&str] = &[
            "at_before",
            LOCK,
            "at_first",
            "inner",
            "at_second",
            LOCK,
            UNLOCK,
            "at_third",
            UNLOCK,
            "at_end",
        ];
        let alone: &[&str] = &["at_alone", "inner", "at_after"];
        let found = held(&[("inner", inner), ("outer", outer), ("alone", alone)]);
        assert_eq!(found, ["at_inner", "at_first", "at_second", "at_third"]);
    }

    #[test]
    fn functions_may_take_and_give_back_for_their_callers() {
        let enter: &[&str] = &["?pthread_mutex_lock"];
        let leave: &[&str] = &["?pthread_mutex_unlock"];
        let user: &[&str] = &["enter", "at_one", "enter", "at_two", "leave", "at_three", "leave", "at_none"];
        let found = held(&[("enter", enter), ("leave", leave), ("user", user)]);
        assert_eq!(found, ["at_one", "at_two", "at_three"]);
    }

    #[test]
    fn who_takes_and_gives_back_on_some_ways_only_leaves_nothing() {
        let maybe: &[&str] = &["?pthread_mutex_lock", "at_maybe", "?pthread_mutex_unlock"];
        let tries: &[&str] = &["pthread_mutex_trylock", "?pthread_mutex_unlock"];
        let user: &[&str] = &["maybe", "at_none", "tries", "at_none", "maybe", "at_none"];
        let found = held(&[("maybe", maybe), ("tries", tries), ("user", user)]);
        assert_eq!(found, ["at_maybe"]);
    }

    #[test]
    fn recursion_comes_to_an_end() {
        let one: &[&str] = &[LOCK, "?other", "at_one", UNLOCK];
        let other: &[&str] = &["?one", "?other", LOCK, "?one"];
        assert_eq!(held(&[("one", one), ("other", other)]), ["at_one"]);
    }

    #[test]
    fn sums_of_sets() {
        let set = |numbers: &[i32]| Counts(numbers.iter().fold(0, |bits, number| bits | 1 << (number + 3)));
        assert_eq!(set(&[0, 1]).plus(set(&[-1, 2])), set(&[-1, 0, 2, 3]));
        assert_eq!(set(&[3]).plus(set(&[4])), set(&[4]));
        assert_eq!(set(&[-2]).plus(set(&[-3])), set(&[-3]));
        assert_eq!(set(&[-2, 1]).not_negative(), set(&[0, 1]));
    }
}
