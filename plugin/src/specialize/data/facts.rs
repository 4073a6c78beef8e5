//! What holds in a run that follows the schedule: conditions of branches, assumptions, and where each is known.
//!
//! A branch's condition holds behind its edge. If the block behind it runs in every run of the schedule, and once, it
//! holds of the run: it is a [`Guard`], and even what comes before it can be concluded from it, as `p == 2` from the
//! loop that creates two threads. Such a conclusion must not take the guard's place (DETAILS 14a), so each guard has
//! its home: a proof that used it is good at places that its home dominates, and needs a check elsewhere.
//!
//! That signed numbers do not overflow is a condition like others.
//!
//! Other conditions hold only at the places that their edge dominates: the context of a question.

use super::owned::shares_loops;
use super::places::Places;
use super::values::{Side, Values};
use crate::ir::code::{Binary, BlockId, Callee, Code, InstId, Op};
use crate::smt::Term;

/// A condition of the whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// It is true.
    pub term: Term,
    /// Where it is known to be; `None` if no place is known.
    pub home: Option<BlockId>,
}

/// Collects the conditions of the run.
pub fn guards(code: &Code<'_>, places: &Places<'_, '_>, values: &mut Values<'_, '_>) -> Vec<Guard> {
    let mut guards = Vec::new();
    for function in places.functions() {
        for block in code.blocks_of(function).filter(|&block| places.is_sure(block)) {
            let own = own_conditions(code, values, block, Side::A, &|inst| places.always(inst));
            guards.extend(own.into_iter().map(|term| Guard { term, home: Some(block) }));
        }
    }
    guards
}

/// What else holds at a block: conditions of blocks that dominate it, as far as they are no guards.
pub fn context(
    code: &Code<'_>,
    places: &Places<'_, '_>,
    values: &mut Values<'_, '_>,
    block: BlockId,
    side: Side,
) -> Vec<Term> {
    let mut terms = Vec::new();
    let (mut place, mut current) = (block, block);
    loop {
        // All before a sure block is sure, too, or in a loop that is over.
        if places.is_sure(current) {
            break;
        }
        if shares_loops(code, place, current) {
            // In the block itself, what is assumed behind the place is not known there.
            terms.extend(own_conditions(code, values, current, side, &|_| current != block));
        }
        match code.block(current).idom {
            Some(above) => current = above,
            None => match places.call_site(code.block(current).function) {
                Some(call) => {
                    current = code.inst(call).block;
                    place = current;
                }
                None => break,
            },
        }
    }
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// The condition of the one edge that leads to a block, and what is assumed in it.
fn own_conditions(
    code: &Code<'_>,
    values: &mut Values<'_, '_>,
    block: BlockId,
    side: Side,
    executes: &dyn Fn(InstId) -> bool,
) -> Vec<Term> {
    let mut found = Vec::new();
    if let [from] = code.block(block).previous[..] {
        if let Some(term) = values.edge_condition(from, block, side) {
            found.push(term);
        }
    }
    for inst in code.insts_of(block).filter(|&inst| executes(inst)) {
        found.extend(assumed(code, values, inst, side));
        found.extend(not_overflowing(code, values, inst, side));
    }
    found.retain(|&term| values.terms.as_constant(term) != Some(1));
    found
}

/// C leaves overflow of signed numbers undefined: it does not happen. Only where that is cheap to reason about.
fn not_overflowing(code: &Code<'_>, values: &mut Values<'_, '_>, inst: InstId, side: Side) -> Option<Term> {
    let Op::Binary { op, a, b, nsw: true, .. } = code.inst(inst).op else { return None };
    let (a, b) = (values.operand(a, inst, side)?, values.operand(b, inst, side)?);
    let width = values.terms.width(a);
    let is_constant = |term| values.terms.as_constant(term).is_some();
    let is_cheap = match op {
        Binary::Add | Binary::Sub => true,
        Binary::Mul => is_constant(a) || is_constant(b),
        _ => false,
    };
    if !is_cheap || width > 32 {
        return None;
    }
    let wide = 2 * width;
    let (wide_a, wide_b) = (values.terms.sext(a, wide), values.terms.sext(b, wide));
    let (exact, cut) = (values.binary(op, wide_a, wide_b), values.binary(op, a, b));
    let cut = values.terms.sext(cut, wide);
    Some(values.terms.eq(exact, cut))
}

/// What llvm.assume assumes.
fn assumed(code: &Code<'_>, values: &mut Values<'_, '_>, inst: InstId, side: Side) -> Option<Term> {
    let Op::Call(call) = &code.inst(inst).op else { return None };
    let Callee::Function(callee) = call.callee else { return None };
    if code.function(callee).name != "llvm.assume" {
        return None;
    }
    values.operand(*call.arguments.first()?, inst, side)
}
