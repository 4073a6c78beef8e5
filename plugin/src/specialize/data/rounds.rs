//! Rounds of data-flow specialization: look, conclude, change, until nothing changes.

use super::constants::{self, Constant, Fixed};
use super::copies::give_own_copies;
use super::defs::{self, Found};
use super::facts::{self, Guard};
use super::memory::Memory;
use super::oracle::Oracle;
use super::pairs::pairs;
use super::places::Places;
use super::report::{BranchFact, ConstantFact, Facts, LoopFact, Place};
use super::values::{Side, Source, Values};
use crate::analysis::points_to::PointsTo;
use crate::ir::code::{Code, Def, FuncId, InstId, Op, Operand, Ty, ValueId};
use crate::ir::numbers::Numbers;
use crate::ir::rewrite::{self, Folded, Keep, UnrollLimits, UnrolledLoop};
use crate::ir::{Module, Value};
use crate::smt::{self, Consistency, Limits, Prover, Terms};
use crate::specialize::items::KeptFrames;
use crate::specialize::stats::{Round, Stats};
use crate::specialize::{Options, SpecializeError};
use covsched_core::schedule::Schedule;
use std::collections::HashSet;
use std::time::Instant;

/// Rounds at most; the kernels of examples/ need 3 to 6.
const MOST_ROUNDS: usize = 16;
/// Passes over the loads in one round: each sees through what the one before found.
const MOST_PASSES: usize = 8;

/// What lasts over rounds.
struct Work<'a, 'm> {
    module: Module<'m>,
    schedule: &'a Schedule,
    kept: &'a KeptFrames,
    options: &'a Options,
    prover: Prover,
    terms: Terms,
    numbers: Numbers<'m>,
    /// Registers that are replaced already; checks still use them.
    replaced: HashSet<Value<'m>>,
    facts: Facts,
}

/// Specializes the data flow of a program whose control flow is specialized. What was found is given if the options ask
/// for it.
pub fn specialize_data(
    module: Module<'_>,
    schedule: &Schedule,
    kept: &KeptFrames,
    options: &Options,
    stats: &mut Stats,
) -> Result<Facts, SpecializeError> {
    let begin = Instant::now();
    let limits = Limits { query: options.data.query_time, total: options.data.total_time };
    let mut work = Work {
        module,
        schedule,
        kept,
        options,
        prover: Prover::new(limits),
        terms: Terms::new(),
        numbers: Numbers::new(),
        replaced: HashSet::new(),
        facts: Facts::default(),
    };
    work.copy(stats);
    for _ in 0..MOST_ROUNDS {
        let start = Instant::now();
        let queries = work.prover.stats().queries;
        let mut round = Round::default();
        let changed = work.round(&mut round)?;
        round.solver_queries = work.prover.stats().queries - queries;
        round.seconds = start.elapsed().as_secs_f64();
        stats.add_round(round);
        if !changed {
            break;
        }
    }
    stats.checks = work.facts.constants.iter().filter(|fact| fact.tainted).count() as u64;
    let asked = work.prover.stats();
    (stats.solver_queries, stats.solver_unknown, stats.fast_answers) =
        (asked.queries, asked.unknown, asked.fast);
    if options.data.aggressive {
        module.optimize_aggressively();
    }
    stats.seconds.data = begin.elapsed().as_secs_f64();
    Ok(work.facts)
}

impl<'m> Work<'_, 'm> {
    fn copy(&mut self, stats: &mut Stats) {
        let code = Code::of(self.module, &self.options.data.summaries);
        let places = Places::of(&code, self.schedule, self.options.order, self.kept);
        stats.own_copies = give_own_copies(&code, &places, &self.options.data.summaries);
    }

    /// One round; whether the program changed.
    fn round(&mut self, round: &mut Round) -> Result<bool, SpecializeError> {
        let code = Code::of(self.module, &self.options.data.summaries);
        let points_to = PointsTo::of(&code);
        let places = Places::of(&code, self.schedule, self.options.order, self.kept);
        let memory = Memory::of(&code, &places, &points_to);
        let numbers = |value: ValueId| self.numbers.of(code.value(value).raw);
        let mut values = Values::new(&code, &places, std::mem::take(&mut self.terms), &numbers);
        let search = defs::Search { code: &code, places: &places, points_to: &points_to, memory: &memory };

        let mut known = Known::new(&code, &places, &mut values);
        for _ in 0..MOST_PASSES {
            let prover = &mut self.prover;
            let mut oracle = Oracle { code: &code, places: &places, prover, guards: &known.guards };
            let found = search.pass(&mut values, &|load| known.loads.contains(&load), &mut oracle);
            if found.is_empty() {
                break;
            }
            known.learn(&code, &places, &mut values, found);
        }
        round.loads_defined = known.loads.len();
        let is_replaced = |value: ValueId| self.replaced.contains(&code.value(value).raw);
        let candidates = constants::Search { code: &code, places: &places, points_to: &points_to };
        let open = candidates.look(&mut values, &is_replaced);
        let prover = &mut self.prover;
        let mut oracle = Oracle { code: &code, places: &places, prover, guards: &known.guards };
        // All terms are made: what holds of them is known.
        let facts = oracle.facts(&values);
        round.constraints = facts.always.len() + facts.guards.len() + values.sources.len();
        if let Consistency::No { core } = oracle.prover.consistent(&mut values.terms, &facts) {
            return Err(contradiction(&code, &known, &facts, &core));
        }
        let constants = candidates.decide(open, &mut values, &mut oracle);
        let owned: Vec<FuncId> = places.functions().collect();
        let describe = |inst: InstId| place(&code, &places, inst);
        let mut changed = false;
        for constant in constants {
            changed |= replace(
                self.module,
                &code,
                &places,
                self.options,
                constant,
                &describe,
                &mut self.replaced,
                &mut self.facts,
                round,
            );
        }
        for &function in &owned {
            let data = code.function(function);
            let folded = data.function.fold();
            round.branches_folded += folded.branches;
            let unrolled = data.function.unroll_constant_loops(UnrollLimits::default());
            round.loops_unrolled += unrolled.len() as u64;
            changed |= folded != Folded::default() || !unrolled.is_empty();
            let whole = |done: UnrolledLoop| LoopFact {
                place: Place::new(done.location, original(&code, function), places.thread_of(function)),
                trips: done.trips,
            };
            self.facts.loops.extend(unrolled.into_iter().map(whole));
        }
        if !changed && self.options.data.wants_facts {
            let prover = &mut self.prover;
            let mut oracle = Oracle { code: &code, places: &places, prover, guards: &known.guards };
            self.facts.accesses = pairs(&search, &mut values, &mut oracle, &describe);
        }
        self.terms = values.into_terms();
        Ok(changed)
    }
}

/// What is known in one round.
struct Known {
    guards: Vec<Guard>,
    /// Loads that have a source, or an equality of covered runs.
    loads: HashSet<ValueId>,
    /// Loads whose source is known of covered runs only.
    tainted: Vec<Found>,
}

impl Known {
    fn new<'a, 'm>(code: &'a Code<'m>, places: &'a Places<'a, 'm>, values: &mut Values<'a, 'm>) -> Known {
        Known { guards: facts::guards(code, places, values), loads: HashSet::new(), tainted: Vec::new() }
    }

    /// Takes what was found; terms change by that, and guards with them.
    fn learn<'a, 'm>(
        &mut self,
        code: &'a Code<'m>,
        places: &'a Places<'a, 'm>,
        values: &mut Values<'a, 'm>,
        found: Vec<Found>,
    ) {
        let (tainted, clean): (Vec<Found>, Vec<Found>) =
            found.into_iter().partition(|found| found.is_tainted);
        self.loads.extend(clean.iter().chain(&tainted).map(|found| found.load));
        values.learn(clean.into_iter().map(|found| (found.load, found.source)));
        self.tainted.extend(tainted);
        self.guards = facts::guards(code, places, values);
        for found in &self.tainted {
            // Elsewhere the load may not run, and says nothing then.
            if !places.once(found.at) || !places.always(found.at) {
                continue;
            }
            let Some(read) = values.register(found.load, Side::A) else { continue };
            let source = match found.source {
                Source::Constant(number) => Some(values.terms.constant(values.terms.width(read), number)),
                Source::Address(operand) => values.operand(operand, found.at, Side::A),
                Source::Operand { operand, at } => values.operand(operand, at, Side::A),
            };
            if let Some(source) = source.filter(|&term| values.terms.width(term) == values.terms.width(read))
            {
                let term = values.terms.eq(read, source);
                self.guards.push(Guard { term, home: None });
            }
        }
    }
}

/// The facts exclude each other.
fn contradiction(code: &Code<'_>, known: &Known, facts: &smt::Facts, core: &[usize]) -> SpecializeError {
    let mut places: Vec<String> = core
        .iter()
        .filter_map(|&number| {
            let guard = known.guards.get(number.checked_sub(facts.always.len())?)?;
            let block = code.block(guard.home?);
            let location = code.inst(InstId(block.insts.start)).inst.location();
            (location.line != 0).then(|| format!("{}:{}", location.file, location.line))
        })
        .collect();
    places.sort();
    places.dedup();
    SpecializeError::Contradiction { places }
}

/// The name of the function that a clone was made of.
fn original<'c>(code: &'c Code<'_>, function: FuncId) -> &'c str {
    let data = code.function(function);
    let name = data.clone.as_ref().map_or(data.name.as_str(), |clone| clone.original.as_str());
    // A copy of a clone without synchronization.
    name.strip_suffix(".free").unwrap_or(name)
}

fn place(code: &Code<'_>, places: &Places<'_, '_>, inst: InstId) -> Place {
    let function = code.function_of(inst);
    Place::new(code.inst(inst).inst.location(), original(code, function), places.thread_of(function))
}

/// Puts a constant in a register's place.
#[allow(clippy::too_many_arguments)]
fn replace<'m>(
    module: Module<'m>,
    code: &Code<'m>,
    places: &Places<'_, 'm>,
    options: &Options,
    constant: Constant,
    describe: &dyn Fn(InstId) -> Place,
    replaced: &mut HashSet<Value<'m>>,
    facts: &mut Facts,
    round: &mut Round,
) -> bool {
    let data = code.value(constant.value);
    let (at, kind) = match data.def {
        Def::Inst(inst) => (inst, kind_of(&code.inst(inst).op)),
        Def::Parameter(function, _) => {
            let entry = code.function(function).blocks.start;
            (InstId(code.blocks[entry as usize].insts.start), "argument")
        }
    };
    let with = match constant.fixed {
        Fixed::Int(number) => rewrite::Constant::Int(number),
        Fixed::Null => rewrite::Constant::Null,
        Fixed::Address(global, offset) => match module.variable(&code.globals[global.index()].name) {
            Some(variable) => rewrite::Constant::Address(variable, offset),
            None => return false,
        },
        Fixed::Function(function) => rewrite::Constant::Function(code.function(function).function),
    };
    let place = describe(at);
    let shown = show(code, data.ty, constant.fixed);
    let text = match options.data.check {
        true => {
            format!("the {kind} at {}:{} ({}) in {}", place.file, place.line, place.function, place.thread)
        }
        false => format!("the value {shown} at {}:{} ({})", place.file, place.line, place.function),
    };
    let keep = if options.data.check {
        Keep::Claim { text: &text }
    } else if constant.is_tainted && !options.analysis_only {
        Keep::Check { text: &text, thread: places.thread(at) }
    } else {
        Keep::Nothing
    };
    let is_changed = module.replace_uses(data.raw, with, keep);
    if is_changed {
        replaced.insert(data.raw);
        round.constants += 1;
        if let (Ty::Int(1), Fixed::Int(number)) = (data.ty, constant.fixed) {
            facts.branches.extend(
                branches(code, constant.value)
                    .map(|branch| BranchFact { place: describe(branch), taken: number != 0 }),
            );
        }
        facts.constants.push(ConstantFact { place, kind, value: shown, tainted: constant.is_tainted });
    }
    is_changed
}

/// Branches on a register.
fn branches<'c>(code: &'c Code<'_>, cond: ValueId) -> impl Iterator<Item = InstId> + 'c {
    let function = match code.value(cond).def {
        Def::Inst(inst) => code.function_of(inst),
        Def::Parameter(function, _) => function,
    };
    code.blocks_of(function).filter_map(move |block| {
        let last = InstId(code.block(block).insts.end.checked_sub(1)?);
        (code.inst(last).op == Op::Branch(Some(Operand::Value(cond)))).then_some(last)
    })
}

fn show(code: &Code<'_>, ty: Ty, fixed: Fixed) -> String {
    match (fixed, ty) {
        (Fixed::Int(number), Ty::Int(width @ 2..64)) => {
            let unused = 64 - width;
            ((number << unused) as i64 >> unused).to_string()
        }
        (Fixed::Int(number), Ty::Int(1)) => number.to_string(),
        (Fixed::Int(number), _) => (number as i64).to_string(),
        (Fixed::Null, _) => "null".to_owned(),
        (Fixed::Address(global, 0), _) => format!("&{}", code.globals[global.index()].name),
        (Fixed::Address(global, offset), _) => format!("&{}{offset:+}", code.globals[global.index()].name),
        (Fixed::Function(function), _) => format!("&{}", code.function(function).name),
    }
}

fn kind_of(op: &Op) -> &'static str {
    match op {
        Op::Load { .. } => "load",
        Op::Call(_) => "call",
        Op::Phi(_) => "phi",
        Op::Compare { .. } => "compare",
        Op::Binary { .. } => "binary",
        _ => "other",
    }
}
