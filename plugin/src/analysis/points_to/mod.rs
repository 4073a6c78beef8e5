//! Where pointers may point, in the whole program.
//!
//! Inclusion-based (Andersen 1994), field-sensitive by byte offset (Pearce, Kelly and Hankin 2007), without regard to the
//! order of statements or to calling contexts; function pointers are resolved while pointers are. `start` and `generate`
//! turn code into nodes and rules, `solver` applies the rules to the sets of `graph`'s nodes, with what is in memory as
//! further nodes (`cells`); `library` and its table say what functions without a body do, `model` does it; `solved` is
//! the answer, `effects` what follows for reads and writes.
//!
//! A worklist solver and not Datalog: the core rules written plainly in `ascent` 0.8, on constraints of whole programs
//! with the call graph given, take milliseconds for a few hundred constraints, as the solver does, but had not finished xz
//! (34,000 constraints) after 236 s of CPU time and 1.6 GB, nor SQLite (1,480,000) after 200 s on a busy machine. The
//! solver takes 0.2 s and 28 s of CPU time for them, with what such rules do without: sets as bits in which *anywhere in
//! an object* covers its offsets, cycles as one node, copies through buffers.
//!
//! Assumed: pointers stay inside of the objects that they come from; text holds no pointers; comparisons and branches carry
//! none. Integers of all widths, bytes and floats do. See `library` for what is assumed of library functions.
//!
//! Limits: a heap object is a call of an allocating function, so that all memory of a program that allocates through one
//! function of its own is one object, and large programs of that kind (SQLite) have large sets.

pub mod bits;
mod calls;
mod cells;
mod effects;
mod generate;
mod graph;
mod library;
mod limits;
mod locations;
mod memory;
mod model;
mod print;
mod solved;
mod solver;
mod start;
#[cfg(test)]
mod tests;

pub use effects::ObjectSet;
pub use memory::{Location, Map, Object, ObjectId, ObjectKind, Offset};
pub use print::print_points_to;

use crate::ir::code::{Code, FuncId, InstId, Operand, ValueId};
use calls::Runs;
use effects::Effects;
use limits::Limits;
use solved::Solved;
use solver::Solver;
use std::time::Instant;

/// Where everything may point.
#[derive(Debug)]
pub struct PointsTo {
    solved: Solved,
    effects: Effects,
    runs: Map<InstId, Runs>,
    /// Of each function: it may run.
    live: Vec<bool>,
    floating: Vec<FuncId>,
    constructors: Vec<FuncId>,
    stats: PointsToStats,
}

/// What a call may come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Callees<'p> {
    /// Functions with a body that run during the call, also those that a library function calls.
    pub functions: &'p [FuncId],
    /// Unknown code runs, and with it perhaps each function that escaped.
    pub is_unknown: bool,
}

/// What the analysis was like.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PointsToStats {
    /// Functions whose code counts.
    pub functions: usize,
    /// Instructions in all functions.
    pub instructions: usize,
    /// Objects.
    pub objects: usize,
    /// Locations in them that were told apart.
    pub locations: usize,
    /// Nodes.
    pub nodes: usize,
    /// Edges and rules, in the end.
    pub constraints: usize,
    /// How often a node was taken.
    pub iterations: usize,
    /// How often cycles were searched.
    pub orderings: usize,
    /// Loads, stores and the like in code that counts.
    pub accesses: usize,
    /// Those among them that may touch unknown code's memory.
    pub external_accesses: usize,
    /// Mean number of locations that an access's address may point to.
    pub mean: f64,
    /// The largest such number.
    pub largest: usize,
    /// Time for all.
    pub seconds: f64,
}

impl PointsTo {
    /// Analyses a program.
    pub fn of(code: &Code<'_>) -> PointsTo {
        PointsTo::knowing(code, &Map::default())
    }

    /// Analyses a program of which is known what some loads read, each time that they run: another register's value, or
    /// an address. They do not get what else is stored in that place.
    pub fn knowing(code: &Code<'_>, reads: &Map<ValueId, Operand>) -> PointsTo {
        PointsTo::within(code, reads, Limits::default())
    }

    fn within(code: &Code<'_>, reads: &Map<ValueId, Operand>, limits: Limits) -> PointsTo {
        let begin = Instant::now();
        let mut solver = Solver::new(code, reads, limits);
        solver.begin();
        solver.solve();
        let solved = Solved::of(&mut solver);
        let effects = Effects::of(code, &solved, &solver.runs);
        let live: Vec<bool> = solver.functions.iter().map(|function| function.is_active).collect();
        let mut floating = std::mem::take(&mut solver.floating);
        floating.extend(solved.escaped_functions().filter(|function| live[function.index()]));
        floating.sort_unstable();
        floating.dedup();
        let mut stats = PointsToStats {
            functions: live.iter().filter(|&&is_live| is_live).count(),
            instructions: code.insts.len(),
            objects: solver.memory.objects().len(),
            locations: solver.memory.location_count(),
            nodes: solver.graph.len(),
            constraints: solver.graph.constraint_count(),
            iterations: solver.graph.taken,
            orderings: solver.graph.orderings,
            ..PointsToStats::default()
        };
        stats.count(code, &solved, &live);
        stats.seconds = begin.elapsed().as_secs_f64();
        let constructors = solver.listed(start::CONSTRUCTORS);
        PointsTo {
            solved,
            effects,
            runs: std::mem::take(&mut solver.runs),
            live,
            floating,
            constructors,
            stats,
        }
    }

    /// All objects.
    pub fn objects(&self) -> &[Object] {
        self.solved.objects()
    }

    /// One of them.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.solved.objects()[id.index()]
    }

    /// Unknown code may reach it, and so may every pointer to [`ObjectId::EXTERNAL`].
    pub fn has_escaped(&self, id: ObjectId) -> bool {
        self.solved.escaped().contains(id.0)
    }

    /// Where an operand may point. A place in [`ObjectId::EXTERNAL`] stands for all objects that escaped, too.
    pub fn pointees(&self, operand: Operand) -> impl Iterator<Item = Location> {
        self.solved.places(operand).into_owned().list.into_vec().into_iter()
    }

    /// The objects that an operand may point into.
    pub fn objects_behind(&self, operand: Operand) -> ObjectSet {
        self.solved.objects_of(&self.solved.places(operand))
    }

    /// Whether accesses through two pointers, of so many bytes if that is known, may touch the same byte.
    pub fn may_alias(&self, a: (Operand, Option<u64>), b: (Operand, Option<u64>)) -> bool {
        let places = [self.solved.places(a.0), self.solved.places(b.0)];
        self.solved.may_alias((&places[0], a.1), (&places[1], b.1))
    }

    /// What a call may come to.
    pub fn callees(&self, call: InstId) -> Callees<'_> {
        match self.runs.get(&call) {
            Some(runs) => Callees { functions: &runs.now, is_unknown: runs.is_unknown },
            None => Callees { functions: &[], is_unknown: false },
        }
    }

    /// The functions in which a call may start threads.
    pub fn starts(&self, call: InstId) -> &[FuncId] {
        self.runs.get(&call).map_or(&[], |runs| &runs.starts)
    }

    /// What an instruction may write; a call's with all that runs during the call, but not in threads that it starts.
    pub fn writes(&self, inst: InstId) -> ObjectSet {
        let mut all = ObjectSet::default();
        self.each_write(inst, |set| {
            all.unite(set);
            false
        });
        all
    }

    /// The same for what it may read.
    pub fn reads(&self, inst: InstId) -> ObjectSet {
        let mut all = match self.solved.access(inst) {
            Some(access) if access.reads => self.solved.objects_of_set(access.set),
            _ => ObjectSet::default(),
        };
        if let Some(touched) = self.effects.of_library(inst) {
            all.unite(&touched.reads);
        }
        if let Some(runs) = self.runs.get(&inst) {
            runs.now.iter().for_each(|&function| all.unite(self.reads_of_function(function)));
            if runs.is_unknown {
                all.unite(&self.effects.of_unknown().reads);
            }
        }
        all
    }

    /// Whether an instruction may write one of these objects.
    pub fn may_write(&self, inst: InstId, objects: &ObjectSet) -> bool {
        self.each_write(inst, |set| set.intersects(objects))
    }

    /// Whether an instruction may write what an access through a pointer touches, of so many bytes if that is known.
    pub fn may_write_to(&self, inst: InstId, address: (Operand, Option<u64>)) -> bool {
        let places = self.solved.places(address.0);
        match self.solved.access(inst) {
            Some(access) if access.writes => {
                let written = (self.solved.set(access.set), Some(access.bytes));
                self.solved.may_alias(written, (&places, address.1))
            }
            _ => self.may_write(inst, &self.solved.objects_of(&places)),
        }
    }

    /// What a function and all that it calls may write.
    pub fn writes_of_function(&self, function: FuncId) -> &ObjectSet {
        &self.effects.of_function(function).writes
    }

    /// What a function and all that it calls may read.
    pub fn reads_of_function(&self, function: FuncId) -> &ObjectSet {
        &self.effects.of_function(function).reads
    }

    /// Each part of what an instruction may write, until one is what is searched for.
    fn each_write(&self, inst: InstId, mut found: impl FnMut(&ObjectSet) -> bool) -> bool {
        if let Some(access) = self.solved.access(inst) {
            return access.writes && found(&self.solved.objects_of_set(access.set));
        }
        if self.effects.of_library(inst).is_some_and(|touched| found(&touched.writes)) {
            return true;
        }
        let Some(runs) = self.runs.get(&inst) else { return false };
        runs.now.iter().any(|&function| found(self.writes_of_function(function)))
            || (runs.is_unknown && found(&self.effects.of_unknown().writes))
    }

    /// Whether a function may run at all. Nothing in other functions points anywhere.
    pub fn is_live(&self, function: FuncId) -> bool {
        self.live[function.index()]
    }

    /// Functions that may run at times that no call in the code says: handlers, destructors, what unknown code got.
    pub fn floating(&self) -> &[FuncId] {
        &self.floating
    }

    /// Functions that run before main.
    pub fn constructors(&self) -> &[FuncId] {
        &self.constructors
    }

    /// What the analysis was like.
    pub fn stats(&self) -> PointsToStats {
        self.stats
    }
}

impl PointsToStats {
    fn count(&mut self, code: &Code<'_>, solved: &Solved, live: &[bool]) {
        let mut sum = 0;
        for inst in (0..code.insts.len() as u32).map(InstId) {
            let Some(access) = solved.access(inst).filter(|_| live[code.function_of(inst).index()]) else {
                continue;
            };
            let places = solved.set(access.set);
            self.accesses += 1;
            self.external_accesses += usize::from(places.has_external);
            sum += places.list.len();
            self.largest = self.largest.max(places.list.len());
        }
        self.mean = sum as f64 / self.accesses.max(1) as f64;
    }
}
