//! Registers of loops.
//!
//! ScalarEvolution says which header PHIs grow evenly: `start + step * k`, where `k` counts how often control came back to
//! the header. How large `k` may be it says of loops whose end is known when they begin. Others read their bound anew in
//! each iteration, from memory of which it cannot know that nobody writes there; if the term of what is read is the
//! same in each iteration, the checks that an iteration has passed bound `k` as well.

use super::{compare, Unknown, Values, View, POINTER};
use crate::ir::code::{BlockId, Compare, ExitCheck, LoopId, Nary, Scev, ValueId};
use crate::smt::{Term, Terms};

impl Values<'_, '_> {
    pub(super) fn is_header(&self, block: BlockId) -> bool {
        let data = self.code.block(block);
        data.in_irreducible_cycle
            || data.in_loop.is_some_and(|id| self.code.loops[id.index()].header == block)
    }

    pub(super) fn recurrence(&mut self, value: ValueId, block: BlockId, view: View) -> Option<Term> {
        let id = self.code.block(block).in_loop?;
        let width = self.width(value)?;
        let code = self.code;
        let recurrence = code.loops[id.index()].recurrences.iter().find(|found| found.value == value)?;
        // What is outside is seen from the header: it is the same in each iteration.
        let start = self.scev(&recurrence.start, block, view)?;
        let step = self.scev(&recurrence.step, block, view)?;
        if self.terms.width(start) != width || self.terms.width(step) != width {
            return None;
        }
        let count = self.iteration(id, view);
        let count = match width {
            POINTER => count,
            _ => self.terms.trunc(count, width),
        };
        let grown = self.terms.mul(step, count);
        let value = self.terms.add(start, grown);
        // What does not go round stays on one side of where it began.
        if let Some(step) = self.terms.as_constant(step) {
            let is_negative = step >> (width - 1) & 1 != 0;
            let signed = if is_negative { Compare::Sge } else { Compare::Sle };
            let held = [(recurrence.nsw, signed), (recurrence.nuw, Compare::Ule)];
            for op in held.into_iter().filter_map(|(is_so, op)| is_so.then_some(op)) {
                let bound = compare(&mut self.terms, op, start, value);
                self.bounds.push(bound);
            }
        }
        Some(value)
    }

    /// How often control came back to a loop's header, with what bounds it.
    fn iteration(&mut self, id: LoopId, view: View) -> Term {
        let count = self.unknown(Unknown::Iteration(id, view), POINTER);
        if !self.bounded.insert((id, view)) {
            return count;
        }
        let code = self.code;
        let data = &code.loops[id.index()];
        let most = data.most_backedges.as_ref().and_then(|most| self.scev(most, data.header, view));
        if let Some(most) = most {
            let most = match self.terms.width(most) {
                ..POINTER => self.terms.zext(most, POINTER),
                _ => most,
            };
            let bound = self.terms.ule(count, most);
            self.bounds.push(bound);
        }
        for check in &data.checks {
            if let Some(held) = self.checked(check, id, count, view) {
                self.bounds.extend(held);
            }
        }
        count
    }

    /// What a check that was passed in each iteration so far says of how many there were, and of what grows.
    fn checked(&mut self, check: &ExitCheck, id: LoopId, count: Term, view: View) -> Option<Vec<Term>> {
        let start = self.scev(&check.start, self.code.loops[id.index()].header, view)?;
        let other = self.operand_in(check.other, check.block, view)?;
        let width = self.terms.width(start);
        if self.terms.width(other) != width || !self.is_fixed(other, id) {
            return None;
        }
        let passes = passes(&mut self.terms, check.op, start, check.step, other)?;
        let most = self.terms.zext(passes.most, POINTER);
        let none = self.terms.constant(POINTER, 0);
        let most = self.terms.ite(passes.first, most, none);
        let mut held = vec![self.terms.ule(count, most)];
        if let Some(op) = passes.stays_beyond {
            let count = self.terms.trunc(count, width);
            let step = self.terms.constant(width, check.step as u64);
            let grown = self.terms.mul(step, count);
            let now = self.terms.add(start, grown);
            held.push(compare(&mut self.terms, op, start, now));
        }
        let unless = self.terms.not(passes.is_bounded);
        Some(held.into_iter().map(|term| self.terms.or(unless, term)).collect())
    }

    /// Whether a term has the same value in all iterations of a loop, from when it is entered until it is left.
    fn is_fixed(&self, term: Term, id: LoopId) -> bool {
        self.terms.variables(term).into_iter().all(|variable| {
            let block = match self.meanings.get(&variable) {
                Some(Unknown::Global(..) | Unknown::Function(_)) => return true,
                Some(&(Unknown::Register(value, _) | Unknown::Astray(value, ..))) => self.block_of(value),
                Some(Unknown::Iteration(inner, _)) => self.code.loops[inner.index()].header,
                Some(&(Unknown::Way(block, ..) | Unknown::Turn(block, ..))) => block,
                None => return false,
            };
            self.places.once_block(block) || !self.is_inside(block, id)
        })
    }

    fn scev(&mut self, scev: &Scev, header: BlockId, view: View) -> Option<Term> {
        match scev {
            Scev::Operand(operand) => self.operand_in(*operand, header, view),
            Scev::UDiv(a, b) => {
                let (a, b) = (self.scev(a, header, view)?, self.scev(b, header, view)?);
                Some(self.terms.udiv(a, b))
            }
            Scev::Cast(op, a, width) => {
                let a = self.scev(a, header, view)?;
                self.cast(*op, a, *width)
            }
            Scev::Nary(op, parts) => {
                let mut parts = parts.iter();
                let mut all = self.scev(parts.next()?, header, view)?;
                for part in parts {
                    let part = self.scev(part, header, view)?;
                    if self.terms.width(part) != self.terms.width(all) {
                        return None;
                    }
                    all = match op {
                        Nary::Add => self.terms.add(all, part),
                        Nary::Mul => self.terms.mul(all, part),
                        Nary::UMax => self.larger(Compare::Ult, all, part),
                        Nary::SMax => self.larger(Compare::Slt, all, part),
                        Nary::UMin => self.larger(Compare::Ugt, all, part),
                        Nary::SMin => self.larger(Compare::Sgt, all, part),
                    };
                }
                Some(all)
            }
        }
    }
}

/// How often a check is passed in a row.
struct Passes {
    /// At least once.
    first: Term,
    /// If it is: how often at most.
    most: Term,
    /// When all this is so.
    is_bounded: Term,
    /// How what is compared lies to what it was at first, if that is known.
    stays_beyond: Option<Compare>,
}

/// How often in a row `start + step * k` compares so with what stays the same, from `k = 0` on.
fn passes(terms: &mut Terms, op: Compare, start: Term, step: i64, other: Term) -> Option<Passes> {
    let width = terms.width(start);
    let yes = terms.boolean(true);
    let distance = match step > 0 {
        true => terms.sub(other, start),
        false => terms.sub(start, other),
    };
    let by = step.unsigned_abs();
    let size = terms.constant(width, by);
    let first = compare(terms, op, start, other);
    if op == Compare::Ne {
        // Going round it comes there at last, if it does not step over it.
        let zero = terms.constant(width, 0);
        let rest = terms.urem(distance, size);
        let is_bounded = terms.eq(rest, zero);
        let most = terms.udiv(distance, size);
        return Some(Passes { first, most, is_bounded, stays_beyond: None });
    }
    let (is_strict, is_signed) = match (op, step > 0) {
        (Compare::Ult, true) | (Compare::Ugt, false) => (true, false),
        (Compare::Slt, true) | (Compare::Sgt, false) => (true, true),
        (Compare::Ule, true) | (Compare::Uge, false) => (false, false),
        (Compare::Sle, true) | (Compare::Sge, false) => (false, true),
        _ => return None,
    };
    let one = terms.constant(width, 1);
    let most = match is_strict {
        true => {
            let before = terms.sub(distance, one);
            let steps = terms.udiv(before, size);
            terms.add(steps, one)
        }
        false => {
            let steps = terms.udiv(distance, size);
            terms.add(steps, one)
        }
    };
    // The last one that passes and the step behind it: it must not go round and pass again.
    let room = by.checked_sub(is_strict as u64)?;
    let all = u64::MAX >> (u64::BITS - width);
    let (end, within) = match (step > 0, is_signed) {
        (true, false) => (all.checked_sub(room)?, Compare::Ule),
        (true, true) => ((all >> 1).checked_sub(room)?, Compare::Sle),
        (false, false) => (room, Compare::Uge),
        (false, true) => (((all >> 1) + 1).checked_add(room)?, Compare::Sge),
    };
    let end = terms.constant(width, end);
    let is_bounded = match room {
        0 => yes,
        _ => compare(terms, within, other, end),
    };
    let stays_beyond = Some(match (step > 0, is_signed) {
        (true, false) => Compare::Ule,
        (true, true) => Compare::Sle,
        (false, false) => Compare::Uge,
        (false, true) => Compare::Sge,
    });
    Some(Passes { first, most, is_bounded, stays_beyond })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: u32 = 4;
    const OPS: [Compare; 10] = [
        Compare::Eq,
        Compare::Ne,
        Compare::Ult,
        Compare::Ule,
        Compare::Ugt,
        Compare::Uge,
        Compare::Slt,
        Compare::Sle,
        Compare::Sgt,
        Compare::Sge,
    ];

    fn holds(terms: &mut Terms, op: Compare, a: u64, b: u64) -> bool {
        let (a, b) = (terms.constant(WIDTH, a), terms.constant(WIDTH, b));
        let term = compare(terms, op, a, b);
        terms.as_constant(term) == Some(1)
    }

    /// All numbers of four bits, all steps: a loop that runs until its check fails.
    #[test]
    fn a_check_is_passed_as_often_as_is_said() {
        let (mut terms, mut bounded) = (Terms::new(), 0);
        let cases = OPS.iter().flat_map(|&op| (0..16u64).map(move |start| (op, start)));
        let cases = cases.flat_map(|(op, start)| (0..16).map(move |other| (op, start, other)));
        for (op, start, other) in cases {
            for step in (-7i64..8).filter(|&step| step != 0) {
                let value = |k: u64| start.wrapping_add((step as u64).wrapping_mul(k)) & 15;
                let real = (0..64).find(|&k| !holds(&mut terms, op, value(k), other));
                let (from, to) = (terms.constant(WIDTH, start), terms.constant(WIDTH, other));
                let Some(said) = passes(&mut terms, op, from, step, to) else { continue };
                let is = |terms: &Terms, term| terms.as_constant(term) == Some(1);
                if !is(&terms, said.is_bounded) {
                    continue;
                }
                bounded += 1;
                let most = match is(&terms, said.first) {
                    true => terms.as_constant(said.most).expect("all is constant"),
                    false => 0,
                };
                let what = format!("{start} step {step} {op:?} {other}");
                let real = real.unwrap_or_else(|| panic!("{what}: never ends, said {most}"));
                assert!(real <= most, "{what}: {real} times, said {most}");
                // As close as it can be, but for `!=`, which may come there earlier by going round.
                assert!(op == Compare::Ne || real == most, "{what}: {real} times, said {most}");
                if let Some(beyond) = said.stays_beyond {
                    for k in 0..=real {
                        assert!(
                            holds(&mut terms, beyond, start, value(k)),
                            "{what}: the {k}th is not {beyond:?}"
                        );
                    }
                }
            }
        }
        assert!(bounded > 5_000, "{bounded} of 38400");
    }
}
