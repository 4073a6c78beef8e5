//! What a load must read: Wu's Algorithm 2.
//!
//! A definition of a load is a store or another load of the same place that has always run before it: it dominates the
//! load in its thread, or it runs once in every run and the schedule's order puts it before. It counts if nothing that may
//! write the place can run in between, in any thread. So these are must-results; of ways that meet nothing is concluded.
//! A variable's initializer is a definition before all others.
//!
//! Which places are the same or apart is first asked of the points-to analysis, then of the terms (equal, or apart by a
//! constant), and what is left of the solver, all questions of a pass at once.
//!
//! Deviations from the paper: the order is happens-before by default, not the total one. A definition in a loop counts
//! for loads in the same loop, since "between" is asked of its most recent run. The latest candidates are tried, up to
//! [`MOST_CANDIDATES`], not the one latest of each thread.

use super::facts;
use super::memory::{variable, Access, AccessId, Kind, Memory};
use super::oracle::Oracle;
use super::owned::shares_loops;
use super::places::Places;
use super::values::{Side, Source, Values};
use crate::analysis::points_to::{ObjectSet, PointsTo};
use crate::ir::code::{BlockId, Code, GlobalId, Initial, InstId, Operand, ValueId};
use crate::smt::{Answer, Goal, Question, Term};
use std::collections::HashMap;

/// Stores that are tried as the definition of a load.
const MOST_CANDIDATES: usize = 4;
/// Questions to the solver about one candidate.
const MOST_QUESTIONS: usize = 48;
/// Earlier loads of the same place that are tried.
const MOST_LOADS: usize = 2;

/// A load and what it reads.
#[derive(Clone, Debug)]
pub struct Found {
    /// The load's register.
    pub load: ValueId,
    /// The instruction.
    pub at: InstId,
    /// What it reads.
    pub source: Source,
    /// The proof needs guards that are not passed yet where it runs: it holds of covered runs only.
    pub is_tainted: bool,
}

/// What a search looks at.
pub struct Search<'s, 'a, 'm> {
    /// The program.
    pub code: &'a Code<'m>,
    /// Its order.
    pub places: &'a Places<'a, 'm>,
    /// Its pointers.
    pub points_to: &'s PointsTo,
    /// Its accesses.
    pub memory: &'s Memory,
}

/// How two places lie to each other, as far as terms say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Apart {
    Yes,
    No,
    Perhaps,
}

/// A definition that counts if all questions are answered with yes.
struct Candidate {
    load: ValueId,
    at: InstId,
    source: Source,
    questions: Vec<Question>,
}

impl<'a, 'm> Search<'_, 'a, 'm> {
    /// One pass over all loads of owned code that `skip` does not know. Without an oracle: what needs no question.
    pub fn pass(
        &self,
        values: &mut Values<'a, 'm>,
        skip: &dyn Fn(ValueId) -> bool,
        oracle: Option<&mut Oracle<'_, 'a, 'm>>,
    ) -> Vec<Found> {
        let mut contexts = HashMap::new();
        let mut candidates: Vec<Candidate> = Vec::new();
        for load in
            self.memory.accesses.iter().filter(|access| access.kind == Kind::Load && !access.is_special)
        {
            let Some(result) = self.code.inst(load.inst).result else { continue };
            if !skip(result) && values.width(result).is_some_and(|width| u64::from(width) == load.bytes * 8) {
                self.candidates(values, &mut contexts, load, result, &mut candidates);
            }
        }
        let Some(oracle) = oracle else { return plain(candidates) };
        let asked: Vec<&[Question]> = candidates.iter().map(|candidate| &candidate.questions[..]).collect();
        let answers = oracle.ask_together(values, &asked);
        let mut found: Vec<Found> = Vec::new();
        // Questions that were answered with the help of guards, and by whom they were asked.
        let mut doubtful: Vec<(Question, InstId)> = Vec::new();
        let mut owners: Vec<usize> = Vec::new();
        for (Candidate { load, at, source, questions }, answers) in candidates.into_iter().zip(answers) {
            if found.last().is_some_and(|last| last.load == load) || !answers.iter().all(Answer::is_proven) {
                continue;
            }
            for (question, answer) in questions.into_iter().zip(answers) {
                if answer.needs_guards() {
                    doubtful.push((question, at));
                    owners.push(found.len());
                }
            }
            found.push(Found { load, at, source, is_tainted: false });
        }
        for (owner, is_known) in owners.into_iter().zip(oracle.are_known_at(values, &doubtful)) {
            found[owner].is_tainted |= !is_known;
        }
        found
    }

    fn candidates(
        &self,
        values: &mut Values<'a, 'm>,
        contexts: &mut HashMap<(BlockId, Side), Vec<Term>>,
        load: &Access,
        result: ValueId,
        candidates: &mut Vec<Candidate>,
    ) {
        let Some(address) = load.address else { return };
        let Some(place) = values.operand(address, load.inst, Side::A) else { return };
        let objects = self.points_to.objects_behind(address);
        if objects.is_empty() || self.memory.is_floating(&objects) {
            return;
        }
        let mut writers: Vec<AccessId> = self.memory.writers(&objects);
        writers.retain(|&writer| {
            let access = self.memory.access(writer);
            self.may_touch(access, load, address) && !self.places.before(load.inst, access.inst)
        });
        let mut add = |values: &mut Values<'a, 'm>, source, definition: Option<&Access>| -> bool {
            let equal = definition.and_then(|definition| self.same_place(values, definition, load, place));
            let mut questions = Vec::new();
            if let Some(goal) = definition.map(|_| equal) {
                match goal {
                    // Not the same, or not to be asked.
                    None => return false,
                    Some(None) => {}
                    Some(Some(goal)) => {
                        let context = self.context_of(values, contexts, load.inst, Side::A);
                        questions.push(Question { context, goal });
                    }
                }
            }
            let killers = self.killers(values, contexts, &writers, definition, load, place);
            let Some(killers) = killers else { return false };
            questions.extend(killers);
            let is_sure = questions.is_empty();
            candidates.push(Candidate { load: result, at: load.inst, source, questions });
            is_sure
        };
        for definition in self.latest(values, &writers, load, place) {
            let definition = self.memory.access(definition);
            let Kind::Store { value } = definition.kind else { continue };
            if add(values, Source::Operand { operand: value, at: definition.inst }, Some(definition)) {
                return;
            }
        }
        if let Some(source) = self.initial(values, load, place, &objects) {
            if add(values, source, None) {
                return;
            }
        }
        for earlier in self.earlier_loads(values, &objects, load, place) {
            let earlier = self.memory.access(earlier);
            let Some(read) = self.code.inst(earlier.inst).result else { continue };
            if add(values, Source::Operand { operand: Operand::Value(read), at: earlier.inst }, Some(earlier))
            {
                return;
            }
        }
    }

    /// Whether an access may touch what a load reads, as far as points-to knows.
    fn may_touch(&self, access: &Access, load: &Access, address: Operand) -> bool {
        match access.address {
            Some(other) => self.points_to.may_alias((other, Some(access.bytes)), (address, Some(load.bytes))),
            None => true,
        }
    }

    /// How to show that a definition is of the same place: `Some(None)` if there is nothing to show, `None` if it is not.
    fn same_place(
        &self,
        values: &mut Values<'a, 'm>,
        definition: &Access,
        load: &Access,
        place: Term,
    ) -> Option<Option<Goal>> {
        let side = Side::A;
        let other = values.operand(definition.address?, definition.inst, side)?;
        if definition.bytes != load.bytes {
            return None;
        }
        match values.terms.difference(other, place) {
            Some(0) => Some(None),
            Some(_) => None,
            None => Some(Some(Goal::Equal(other, place))),
        }
    }

    /// The stores that may be the definition, the latest ones.
    fn latest(
        &self,
        values: &mut Values<'a, 'm>,
        writers: &[AccessId],
        load: &Access,
        place: Term,
    ) -> Vec<AccessId> {
        let mut sure: Vec<AccessId> = Vec::new();
        let mut perhaps: Vec<AccessId> = Vec::new();
        for &writer in writers {
            let access = self.memory.access(writer);
            if !matches!(access.kind, Kind::Store { .. }) || access.is_special {
                continue;
            }
            let best = match self.same_place(values, access, load, place) {
                Some(None) => &mut sure,
                Some(Some(_)) => &mut perhaps,
                None => continue,
            };
            if best.iter().any(|&other| self.places.before(access.inst, self.memory.access(other).inst)) {
                continue;
            }
            if !self.defines(access, load) {
                continue;
            }
            best.retain(|&other| !self.places.before(self.memory.access(other).inst, access.inst));
            best.push(writer);
        }
        for best in [&mut sure, &mut perhaps] {
            best.sort_unstable_by(|a, b| b.cmp(a));
            best.truncate(MOST_CANDIDATES);
        }
        sure.extend(perhaps);
        sure.truncate(MOST_CANDIDATES);
        sure
    }

    /// Whether a definition has run whenever the load runs, so that its most recent run is the one to look at.
    fn defines(&self, definition: &Access, load: &Access) -> bool {
        let is_once = self.places.once(definition.inst);
        if is_once && self.places.always(definition.inst) && self.places.before(definition.inst, load.inst) {
            return true;
        }
        if !self.places.dominates(definition.inst, load.inst) {
            return false;
        }
        // In a loop that is over the registers that it used are gone.
        is_once || self.is_in_loops_of(load.inst, definition.inst)
    }

    fn is_in_loops_of(&self, inst: InstId, other: InstId) -> bool {
        let (block, other) = (self.code.inst(inst).block, self.code.inst(other).block);
        self.code.block(block).function == self.code.block(other).function
            && shares_loops(self.code, block, other)
    }

    /// Questions that show that nothing writes the place between a definition and the load; `None` if something does, or
    /// if that cannot be asked. Without a definition: from the program's start on.
    fn killers(
        &self,
        values: &mut Values<'a, 'm>,
        contexts: &mut HashMap<(BlockId, Side), Vec<Term>>,
        writers: &[AccessId],
        definition: Option<&Access>,
        load: &Access,
        place: Term,
    ) -> Option<Vec<Question>> {
        let mut questions = Vec::new();
        for &writer in writers {
            let access = self.memory.access(writer);
            if definition.is_some_and(|definition| definition.inst == access.inst) {
                continue;
            }
            if definition.is_some_and(|d| !self.places.between(access.inst, d.inst, load.inst)) {
                continue;
            }
            let other = values.operand(access.address?, access.inst, Side::B)?;
            match apart(values, other, access.bytes, place, load.bytes) {
                Apart::Yes => continue,
                Apart::No => return None,
                Apart::Perhaps if questions.len() == MOST_QUESTIONS => return None,
                Apart::Perhaps => {}
            }
            let mut context = self.context_of(values, contexts, load.inst, Side::A);
            context.extend(self.context_of(values, contexts, access.inst, Side::B));
            let goal = Goal::Disjoint { a: other, a_bytes: access.bytes, b: place, b_bytes: load.bytes };
            questions.push(Question { context, goal });
        }
        Some(questions)
    }

    fn context_of(
        &self,
        values: &mut Values<'a, 'm>,
        contexts: &mut HashMap<(BlockId, Side), Vec<Term>>,
        inst: InstId,
        side: Side,
    ) -> Vec<Term> {
        let block = self.code.inst(inst).block;
        contexts
            .entry((block, side))
            .or_insert_with(|| facts::context(self.code, self.places, values, block, side))
            .clone()
    }

    /// Loads of the same place that always ran before: the nearest ones of the load's own thread, or some of others.
    fn earlier_loads(
        &self,
        values: &mut Values<'a, 'm>,
        objects: &ObjectSet,
        load: &Access,
        place: Term,
    ) -> Vec<AccessId> {
        let (own, others): (Vec<AccessId>, Vec<AccessId>) = self
            .memory
            .readers(objects)
            .into_iter()
            .rev()
            .filter(|&reader| {
                let access = self.memory.access(reader);
                access.kind == Kind::Load && !access.is_special && access.inst != load.inst
            })
            .partition(|&reader| {
                self.places.thread(self.memory.access(reader).inst) == self.places.thread(load.inst)
            });
        let mut is_it = |&reader: &AccessId| {
            let access = self.memory.access(reader);
            self.defines(access, load) && matches!(self.same_place(values, access, load, place), Some(None))
        };
        let found: Vec<AccessId> = own.into_iter().filter(&mut is_it).take(MOST_LOADS).collect();
        match found.is_empty() {
            true => others.into_iter().filter(is_it).take(MOST_LOADS).collect(),
            false => found,
        }
    }

    /// What a variable's initializer has there.
    fn initial(
        &self,
        values: &mut Values<'a, 'm>,
        load: &Access,
        place: Term,
        objects: &ObjectSet,
    ) -> Option<Source> {
        let block = self.code.inst(load.inst).block;
        let (global, offset) = self.variable(values, load, place, block)?;
        let data = &self.code.globals[global.index()];
        if data.is_thread_local || (!data.is_constant && self.memory.is_early(objects)) {
            return None;
        }
        if offset.checked_add(load.bytes)? > data.bytes {
            return None;
        }
        let end = offset + load.bytes;
        if data.undefined.iter().any(|part| part.start < end && offset < part.end) {
            return None;
        }
        let overlaps = |at: u64| at < offset + load.bytes && offset < at + 8;
        match data.pointers.iter().find(|&&(at, _)| overlaps(at)) {
            Some(&(at, operand)) if at == offset && load.bytes == 8 => return Some(Source::Address(operand)),
            Some(_) => return None,
            None => {}
        }
        match &data.initial {
            Initial::Unknown => None,
            Initial::Zero => Some(Source::Constant(0)),
            Initial::Bytes(bytes) => {
                let part = bytes.get(offset as usize..(offset + load.bytes) as usize)?;
                let mut word = [0; 8];
                word.get_mut(..part.len())?.copy_from_slice(part);
                Some(Source::Constant(u64::from_le_bytes(word)))
            }
        }
    }

    /// The variable and offset that a load reads, if they are constant.
    fn variable(
        &self,
        values: &mut Values<'a, 'm>,
        load: &Access,
        place: Term,
        block: BlockId,
    ) -> Option<(GlobalId, u64)> {
        let global = variable(self.points_to, load.address?)?;
        let base = values.global(global, block);
        Some((global, values.terms.difference(place, base)?))
    }
}

/// Candidates that are no matter of questions; of a load at most one is.
fn plain(candidates: Vec<Candidate>) -> Vec<Found> {
    let found = |Candidate { load, at, source, .. }| Found { load, at, source, is_tainted: false };
    candidates.into_iter().filter(|candidate| candidate.questions.is_empty()).map(found).collect()
}

/// How two accesses lie to each other.
fn apart(values: &Values<'_, '_>, a: Term, a_bytes: u64, b: Term, b_bytes: u64) -> Apart {
    match values.terms.difference(a, b) {
        None => Apart::Perhaps,
        Some(difference) => {
            let difference = difference as i64;
            let is_apart = if difference >= 0 {
                difference as u64 >= b_bytes
            } else {
                difference.unsigned_abs() >= a_bytes
            };
            if is_apart {
                Apart::Yes
            } else {
                Apart::No
            }
        }
    }
}

/// Pairs of accesses that points-to cannot tell apart are asked of the solver in the same way.
pub fn pair_question(
    search: &Search<'_, '_, '_>,
    values: &mut Values<'_, '_>,
    a: &Access,
    b: &Access,
) -> Option<Question> {
    let (first, second) =
        (values.operand(a.address?, a.inst, Side::A)?, values.operand(b.address?, b.inst, Side::B)?);
    let block = |inst: InstId| search.code.inst(inst).block;
    let mut context = facts::context(search.code, search.places, values, block(a.inst), Side::A);
    context.extend(facts::context(search.code, search.places, values, block(b.inst), Side::B));
    let goal = Goal::Disjoint { a: first, a_bytes: a.bytes, b: second, b_bytes: b.bytes };
    Some(Question { context, goal })
}
