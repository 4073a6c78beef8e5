//! Registers that have one value in every run of the schedule.
//!
//! Terms that are constants are found by looking; all others the solver is asked for at once. A constant is good as it is
//! if its proof uses only what is known where the register gets its value. If it needs a guard that comes later, it
//! holds of covered runs alone, and the program must check it where the value is made; of such constants those are
//! taken that others follow from, the rest comes by itself in the next round.

use super::facts;
use super::memory::variable;
use super::oracle::Oracle;
use super::places::Places;
use super::values::{Side, Values};
use crate::analysis::points_to::PointsTo;
use crate::ir::code::{BlockId, Callee, Code, Def, FuncId, GlobalId, InstId, Op, Operand, Ty, ValueId};
use crate::smt::{self, Candidate, Goal, Question, Term};
use std::collections::{HashMap, HashSet};

/// What a register always is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fixed {
    /// A number of the register's width.
    Int(u64),
    /// The null pointer.
    Null,
    /// So many bytes into a variable.
    Address(GlobalId, i64),
    /// A function.
    Function(FuncId),
}

/// A register that is constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constant {
    /// It.
    pub value: ValueId,
    /// What it is.
    pub fixed: Fixed,
    /// Only covered runs have it: needs a check.
    pub is_tainted: bool,
}

/// What a search looks at.
pub struct Search<'a, 'm> {
    /// The program.
    pub code: &'a Code<'m>,
    /// Its order.
    pub places: &'a Places<'a, 'm>,
    /// Its pointers.
    pub points_to: &'a PointsTo,
}

/// Registers that may be constant.
pub struct Open {
    /// Those that are, without a question.
    found: Vec<Constant>,
    asked: Vec<(ValueId, Candidate)>,
}

impl<'a, 'm> Search<'a, 'm> {
    /// Looks at the registers of owned code that are used and that `skip` does not know.
    pub fn look(&self, values: &mut Values<'a, 'm>, skip: &dyn Fn(ValueId) -> bool) -> Open {
        let mut open = Open { found: Vec::new(), asked: Vec::new() };
        let mut contexts = HashMap::new();
        let (used, claims) = (self.used(), self.conditions_to("covsched_claim_failed"));
        for function in self.places.functions() {
            let parameters = self.code.function(function).parameters.iter().copied();
            let results = self
                .code
                .blocks_of(function)
                .filter(|&block| self.code.block(block).is_reachable)
                .flat_map(|block| self.code.insts_of(block))
                .filter_map(|inst| self.code.inst(inst).result);
            for value in parameters.chain(results) {
                if !used.contains(&value) || claims.contains(&value) || skip(value) {
                    continue;
                }
                let Some(term) = values.register(value, Side::A) else { continue };
                let is_pointer = self.code.values[value.index()].ty == Ty::Ptr;
                let fixed = match values.terms.as_constant(term) {
                    Some(number) if !is_pointer => Some(Fixed::Int(number)),
                    Some(0) => Some(Fixed::Null),
                    Some(_) => None,
                    None if is_pointer => self.address(values, value, term),
                    None => {
                        let block = self.code.inst(self.place_of(value)).block;
                        let context = contexts.entry(block).or_insert_with(|| {
                            facts::context(self.code, self.places, values, block, Side::A)
                        });
                        open.asked.push((value, Candidate { context: context.clone(), value: term }));
                        None
                    }
                };
                open.found.extend(fixed.map(|fixed| Constant { value, fixed, is_tainted: false }));
            }
        }
        open
    }

    /// Asks the solver. If it is not to be asked, only what is plain to see counts, and nothing that is computed gets a check.
    pub fn decide(
        &self,
        open: Open,
        is_plain: bool,
        values: &mut Values<'a, 'm>,
        oracle: &mut Oracle<'_, 'a, 'm>,
    ) -> Vec<Constant> {
        let Open { mut found, asked } = open;
        oracle.prover.set_plain(is_plain);
        let (registers, candidates): (Vec<ValueId>, Vec<Candidate>) = asked.into_iter().unzip();
        let facts = oracle.facts(values);
        let constants = oracle.prover.find_constants(&mut values.terms, &facts, &candidates);
        let proven: Vec<(ValueId, Candidate, smt::Constant)> = registers
            .into_iter()
            .zip(candidates)
            .zip(constants)
            .filter_map(|((value, candidate), constant)| Some((value, candidate, constant?)))
            .collect();
        let (doubtful, clean): (Vec<_>, Vec<_>) =
            proven.into_iter().partition(|(_, _, constant)| constant.with_guards);
        found.extend(clean.into_iter().map(|(value, _, constant)| Constant {
            value,
            fixed: Fixed::Int(constant.value),
            is_tainted: false,
        }));
        let questions: Vec<(Question, InstId)> = doubtful
            .iter()
            .map(|(value, candidate, constant)| {
                let number = values.terms.constant(values.terms.width(candidate.value), constant.value);
                let goal = Goal::Equal(candidate.value, number);
                (Question { context: candidate.context.clone(), goal }, self.place_of(*value))
            })
            .collect();
        let known = oracle.are_known_at(values, &questions);
        oracle.prover.set_plain(false);
        let guard_conditions = self.conditions_to("covsched_not_covered");
        // What must be checked: first what others may follow from, the rest if there is nothing of that kind.
        let mut unsure: Vec<(u32, Constant)> = Vec::new();
        for ((value, candidate, constant), is_known) in doubtful.into_iter().zip(known) {
            let constant = Constant { value, fixed: Fixed::Int(constant.value), is_tainted: !is_known };
            if is_known {
                found.push(constant);
            } else if !(guard_conditions.contains(&value) || is_plain && self.is_computed(value)) {
                let distance = match values.register_behind(candidate.value) {
                    Some(source) if source == value => 0,
                    _ if !values.sources.contains_key(&value) => 1,
                    _ => 2,
                };
                unsure.push((distance, constant));
            }
        }
        let nearest = unsure.iter().map(|&(distance, _)| distance).min();
        found.extend(unsure.into_iter().filter(|&(at, _)| Some(at) == nearest).map(|(_, constant)| constant));
        found
    }

    /// Its value is neither from outside nor one of several such.
    fn is_computed(&self, value: ValueId) -> bool {
        match self.code.values[value.index()].def {
            Def::Inst(inst) => !matches!(
                self.code.inst(inst).op,
                Op::Call(_) | Op::Phi(_) | Op::Select { .. } | Op::Load { .. }
            ),
            Def::Parameter(..) => false,
        }
    }

    /// Where a register gets its value.
    fn place_of(&self, value: ValueId) -> InstId {
        match self.code.values[value.index()].def {
            Def::Inst(inst) => inst,
            Def::Parameter(function, _) => {
                let entry = self.code.function(function).blocks.start;
                InstId(self.code.blocks[entry as usize].insts.start)
            }
        }
    }

    /// A constant address, as far as the term is one.
    fn address(&self, values: &mut Values<'a, 'm>, value: ValueId, term: Term) -> Option<Fixed> {
        let operand = Operand::Value(value);
        if let Some(global) = variable(self.points_to, operand) {
            if self.code.globals[global.index()].is_thread_local {
                return None;
            }
            let block = self.code.inst(self.place_of(value)).block;
            let base = values.global(global, block);
            if let Some(offset) = values.terms.difference(term, base) {
                return Some(Fixed::Address(global, offset as i64));
            }
        }
        values.function_behind(term).map(Fixed::Function)
    }

    /// Registers that something uses.
    fn used(&self) -> HashSet<ValueId> {
        let mut used = HashSet::new();
        for data in &self.code.insts {
            data.op.for_each_operand(|operand| {
                if let Operand::Value(value) = operand {
                    used.insert(value);
                }
            });
        }
        used
    }

    /// Conditions of branches to blocks that call a function.
    fn conditions_to(&self, name: &str) -> HashSet<ValueId> {
        let Some(function) = self.code.functions.iter().position(|data| data.name == name) else {
            return HashSet::new();
        };
        let function = FuncId(function as u32);
        let calls_it = |&block: &BlockId| {
            self.code.insts_of(block).any(|inst| match &self.code.inst(inst).op {
                Op::Call(call) => call.callee == Callee::Function(function),
                _ => false,
            })
        };
        let conditions = self.code.insts.iter().filter_map(|data| match data.op {
            Op::Branch(Some(Operand::Value(cond))) => {
                self.code.block(data.block).next.iter().any(calls_it).then_some(cond)
            }
            _ => None,
        });
        conditions.collect()
    }
}
