//! Rounds of data-flow specialization: look, conclude, change, until nothing changes.

use super::constants;
use super::copies::give_own_copies;
use super::defs::{self, Found};
use super::facts::{self, Guard};
use super::memory::Memory;
use super::oracle::Oracle;
use super::pairs::pairs;
use super::places::Places;
use super::replace::{Replaced, Replacer};
use super::report::{BranchFact, Facts, LoopFact, Place};
use super::values::{Side, Source, Values};
use crate::analysis::points_to::{Map, PointsTo};
use crate::ir::code::{Code, FuncId, InstId, Op, Operand, Ty, ValueId};
use crate::ir::numbers::Numbers;
use crate::ir::rewrite::{Decided, Decision, Folded, UnrollLimits, UnrolledLoop};
use crate::ir::{Module, Value};
use crate::smt::{self, Consistency, Limits, Prover, Terms};
use crate::specialize::items::KeptFrames;
use crate::specialize::stats::{Round, Stats};
use crate::specialize::{Options, SpecializeError};
use covsched_core::schedule::Schedule;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Instant;

/// Rounds at most; the kernels of examples/ need 3 to 6.
const MOST_ROUNDS: usize = 16;
/// Passes over the loads in one round: each sees through what the one before found.
const MOST_PASSES: usize = 8;

/// Points-to analyses in one round: each knows what the loads read that were found with the help of the one before.
const MOST_ANALYSES: usize = 4;

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
    /// In the first round only that counts which is plain to see. It is enough to find the number of threads and the like,
    /// with which all that follows is simpler.
    is_first: bool,
    /// Checks that were put in.
    checks: u64,
    facts: Facts,
    /// Where in the source branches and switches were decided, and how.
    decided: BTreeMap<(Place, u32), BTreeSet<Decision>>,
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
        is_first: true,
        checks: 0,
        facts: Facts::default(),
        decided: BTreeMap::new(),
    };
    work.prepare(stats);
    for _ in 0..MOST_ROUNDS {
        let start = Instant::now();
        let queries = work.prover.stats().queries;
        let mut round = Round::default();
        let changed = work.round(&mut round)? || work.is_first;
        work.is_first = false;
        round.solver_queries = work.prover.stats().queries - queries;
        round.seconds = start.elapsed().as_secs_f64();
        stats.add_round(round);
        if !changed {
            break;
        }
    }
    stats.checks = work.checks;
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
    /// Locals that nobody else can see become registers, and calls of owned code get copies to themselves.
    fn prepare(&mut self, stats: &mut Stats) {
        for facts in self.module.functions() {
            facts.function.promote_locals();
        }
        let code = Code::of(self.module, &self.options.data.summaries);
        let places = Places::of(&code, self.schedule, self.options.order, self.kept);
        stats.own_copies = give_own_copies(&code, &places, &self.options.data.summaries);
    }

    /// One round; whether the program changed.
    fn round(&mut self, round: &mut Round) -> Result<bool, SpecializeError> {
        let code = Code::of(self.module, &self.options.data.summaries);
        let places = Places::of(&code, self.schedule, self.options.order, self.kept);
        let numbers = |value: ValueId| self.numbers.of(code.value(value).raw);
        let mut values = Values::new(&code, &places, std::mem::take(&mut self.terms), &numbers);
        let mut points_to = PointsTo::of(&code);
        let mut memory = Memory::of(&code, &places, &points_to);
        let mut known = Known::new(&code, &places, &mut values);
        for left in (0..MOST_ANALYSES).rev() {
            let search =
                defs::Search { code: &code, places: &places, points_to: &points_to, memory: &memory };
            known.define_loads(&search, &mut values, (!self.is_first).then_some(&mut self.prover));
            let reads = pointers_read(&code, &values);
            if left == 0 || !is_narrower(&points_to, &reads) {
                break;
            }
            points_to = PointsTo::knowing(&code, &reads);
            memory = Memory::of(&code, &places, &points_to);
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
        let constants = candidates.decide(open, self.is_first, &mut values, &mut oracle);
        let owned: Vec<FuncId> = places.functions().collect();
        let describe = |inst: InstId| place(&code, &places, inst);
        let mut changed = false;
        let replacer = Replacer { module: self.module, code: &code, places: &places, options: self.options };
        for constant in constants {
            let replaced = replacer.replace(constant, &describe);
            // What cannot be replaced is left out from now on: what follows from it must go without it.
            changed |= self.replaced.insert(code.value(constant.value).raw) || replaced.is_some();
            if let Some(Replaced { is_checked, fact }) = replaced {
                round.constants += 1;
                self.checks += is_checked as u64;
                self.facts.constants.extend(fact);
            }
        }
        for &function in &owned {
            let data = code.function(function);
            let mut decided = Vec::new();
            let folded = data.function.fold_with(&mut decided);
            for Decided { location, by } in decided {
                let column = location.column;
                let place = Place::new(location, original(&code, function), places.thread_of(function));
                self.decided.entry((place, column)).or_default().insert(by);
            }
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
        if !changed && !self.is_first && self.options.data.wants_facts {
            let undecided = undecided(&code, &places);
            let mut decided = std::mem::take(&mut self.decided);
            decided.retain(|at, _| at.0.line != 0 && !undecided.contains(at));
            for ((place, _), ways) in decided {
                let fact = |taken| BranchFact { place: place.clone(), taken };
                self.facts.branches.extend(ways.into_iter().map(fact));
            }
            let prover = &mut self.prover;
            let mut oracle = Oracle { code: &code, places: &places, prover, guards: &known.guards };
            let search =
                defs::Search { code: &code, places: &places, points_to: &points_to, memory: &memory };
            self.facts.accesses = pairs(&search, &mut values, &mut oracle, &describe);
        }
        self.terms = values.into_terms();
        Ok(changed)
    }
}

/// What pointers are known to be that are read from memory.
fn pointers_read(code: &Code<'_>, values: &Values<'_, '_>) -> Map<ValueId, Operand> {
    let pointers = values.sources.iter().filter(|(&load, _)| code.value(load).ty == Ty::Ptr);
    let read = |source| match source {
        Source::Operand { operand, .. } | Source::Address(operand) => operand,
        Source::Constant(_) => Operand::Null,
    };
    pointers.map(|(&load, &source)| (load, read(source))).collect()
}

/// Whether one of them points to fewer objects than the analysis knows.
fn is_narrower(points_to: &PointsTo, reads: &Map<ValueId, Operand>) -> bool {
    let count = |operand| points_to.objects_behind(operand).iter().count();
    reads.iter().any(|(&load, &operand)| count(operand) < count(Operand::Value(load)))
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

    /// What loads read, pass by pass; without a prover, what is plain.
    fn define_loads<'a, 'm>(
        &mut self,
        search: &defs::Search<'_, 'a, 'm>,
        values: &mut Values<'a, 'm>,
        mut prover: Option<&mut Prover>,
    ) {
        let defs::Search { code, places, .. } = *search;
        for _ in 0..MOST_PASSES {
            let guards = &self.guards;
            let mut oracle = prover.as_mut().map(|prover| Oracle { code, places, prover, guards });
            let found = search.pass(values, &|load| self.loads.contains(&load), oracle.as_mut());
            if found.is_empty() {
                break;
            }
            self.learn(code, places, values, found);
        }
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

/// Branches and switches that stay.
fn undecided(code: &Code<'_>, places: &Places<'_, '_>) -> HashSet<(Place, u32)> {
    let blocks = places.functions().flat_map(|function| code.blocks_of(function));
    let lasts = blocks.filter_map(|block| Some(InstId(code.block(block).insts.end.checked_sub(1)?)));
    lasts
        .filter(|&last| matches!(code.inst(last).op, Op::Branch(Some(_)) | Op::Switch { .. }))
        .map(|last| (place(code, places, last), code.inst(last).inst.location().column))
        .collect()
}
