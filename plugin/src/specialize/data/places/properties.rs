//! Random programs and schedules, and random runs of them: no claim is contradicted by a run. How often a claim is not made
//! although no run contradicts it is printed.

use crate::epoch::testing::{count_from_environment, tell, Random};
use crate::ir::code::InstId;
use crate::specialize::data::places::Places;
use crate::specialize::data::testing::oracle::{walk, Execution, Orders, Trace};
use crate::specialize::data::testing::{random, Scene};
use covsched_core::schedule::order::Order;
use covsched_core::ThreadId;
use std::collections::{BTreeMap, HashMap};

/// Runs of each thread that are tried.
const WALKS: usize = 40;

/// How often something was claimed, of the times that it held in all runs.
#[derive(Default)]
struct Precision(BTreeMap<&'static str, (usize, usize)>);

impl Precision {
    fn note(&mut self, what: &'static str, is_claimed: bool) {
        let (claimed, all) = self.0.entry(what).or_default();
        *all += 1;
        *claimed += usize::from(is_claimed);
    }
}

/// A program's runs, and where each instruction executes in them.
struct Runs<'a> {
    scene: &'a Scene,
    places: &'a Places<'a, 'static>,
    orders: Orders,
    /// By thread.
    traces: Vec<Vec<Trace>>,
    /// By instruction: its thread, and by trace of that its executions.
    executed: BTreeMap<InstId, (usize, Vec<Vec<Execution>>)>,
}

impl<'a> Runs<'a> {
    fn new(scene: &'a Scene, places: &'a Places<'a, 'static>, order: Order, random: &mut Random) -> Runs<'a> {
        let threads = scene.schedule.threads.len();
        let traces: Vec<Vec<Trace>> = (0..threads as u32)
            .map(|thread| (0..WALKS).filter_map(|_| walk(scene, ThreadId(thread), random)).collect())
            .collect();
        let mut executed: BTreeMap<InstId, (usize, Vec<Vec<Execution>>)> = BTreeMap::new();
        for (thread, traces) in traces.iter().enumerate() {
            for (number, trace) in traces.iter().enumerate() {
                for &execution in &trace.executions {
                    let (_, all) = executed
                        .entry(execution.inst)
                        .or_insert_with(|| (thread, vec![Vec::new(); traces.len()]));
                    all[number].push(execution);
                }
            }
        }
        // Shared code has no thread.
        executed.retain(|&inst, _| places.thread(inst).is_some());
        Runs { scene, places, orders: Orders::of(scene, order), traces, executed }
    }

    fn name(&self, inst: InstId) -> String {
        let name = self.scene.names.iter().find(|(_, &other)| other == inst);
        name.map_or_else(|| format!("{inst:?}"), |(name, _)| name.clone())
    }

    /// Spans, once, always.
    fn check_each(&self, precision: &mut Precision) {
        for (&inst, (thread, all)) in &self.executed {
            let name = || self.name(inst);
            assert_eq!(self.places.thread(inst), Some(ThreadId(*thread as u32)), "{}", name());
            let span = self.places.span(inst).unwrap();
            for execution in all.iter().flatten() {
                assert!(span.after as usize <= execution.done, "{}: {span:?} {execution:?}", name());
                assert!(execution.begun <= span.until as usize, "{}: {span:?} {execution:?}", name());
            }
            let is_once = all.iter().all(|executions| executions.len() <= 1);
            assert!(is_once || !self.places.once(inst), "once: {}", name());
            let wholes = || self.traces[*thread].iter().zip(all).filter(|(trace, _)| trace.is_whole);
            let is_always = wholes().all(|(_, executions)| !executions.is_empty());
            assert!(is_always || !self.places.always(inst), "always: {}", name());
            if is_once {
                precision.note("once", self.places.once(inst));
            }
            if is_always && wholes().count() > WALKS / 4 {
                precision.note("always", self.places.always(inst));
            }
        }
    }

    fn check_pair(&self, a: InstId, b: InstId, precision: &mut Precision) {
        let ((one, first), (other, then)) = (&self.executed[&a], &self.executed[&b]);
        let name = || format!("{} {}", self.name(a), self.name(b));
        let (is_before, dominates) = (self.places.before(a, b), self.places.dominates(a, b));
        if one != other {
            assert!(!dominates, "{}", name());
            let mut pairs = first.iter().flatten().flat_map(|x| then.iter().flatten().map(move |y| (x, y)));
            let held = pairs.all(|(x, y)| self.orders.is_over((*one, x), (*other, y)));
            assert!(held || !is_before, "before: {}", name());
            if held {
                precision.note("before, between threads", is_before);
            }
            return;
        }
        let both = || first.iter().zip(then).filter(|(_, y)| !y.is_empty());
        let over = |x: &Execution, y: &Execution| x.end.is_some_and(|end| end <= y.begin);
        let held = both().all(|(x, y)| x.iter().all(|x| y.iter().all(|y| over(x, y)))) && a != b;
        assert!(held || !is_before, "before: {}", name());
        if held {
            precision.note("before, in a thread", is_before);
        }
        let comes = |x: &Execution, y: &Execution| x.is_normal && over(x, y);
        let held = both().all(|(x, y)| y.iter().all(|y| x.iter().any(|x| comes(x, y))));
        assert!(held || !dominates, "dominates: {}", name());
        if held {
            precision.note("dominates", dominates);
        }
    }

    /// Whether `w` comes between in no pair of runs.
    fn is_never_between(&self, w: InstId, d: InstId, u: InstId) -> bool {
        let (of_d, of_u, of_w) = (&self.executed[&d], &self.executed[&u], &self.executed[&w]);
        for (number_u, all_u) in of_u.1.iter().enumerate() {
            for (number_d, all_d) in of_d.1.iter().enumerate() {
                if of_d.0 == of_u.0 && number_d != number_u {
                    continue;
                }
                for use_ in all_u {
                    // One of another thread is over, or there is no such run.
                    let is_recent =
                        |d: &&Execution| d.end.is_some_and(|end| of_d.0 != of_u.0 || end <= use_.begin);
                    let Some(def) = all_d.iter().rfind(is_recent) else { continue };
                    for (number_w, all_w) in of_w.1.iter().enumerate() {
                        let is_other_run =
                            |(thread, number): (usize, usize)| of_w.0 == thread && number_w != number;
                        if is_other_run((of_d.0, number_d)) || is_other_run((of_u.0, number_u)) {
                            continue;
                        }
                        let is_between = |w: &Execution| {
                            let is_over = match of_w.0 == of_d.0 {
                                true => w.end.is_some_and(|end| Some(end) <= def.end),
                                false => self.orders.is_over((of_w.0, w), (of_d.0, def)),
                            };
                            let is_later = match of_w.0 == of_u.0 {
                                true => use_.begin <= w.begin,
                                false => self.orders.is_over((of_u.0, use_), (of_w.0, w)),
                            };
                            !is_over && !is_later
                        };
                        if all_w.iter().any(is_between) {
                            return false;
                        }
                    }
                }
            }
        }
        true
    }

    fn check_between(&self, d: InstId, u: InstId, precision: &mut Precision) {
        let places = self.places;
        let is_asked = places.dominates(d, u) || (places.before(d, u) && places.once(d) && places.always(d));
        for &w in self.executed.keys() {
            let may = places.between(w, d, u);
            if !is_asked {
                assert!(may || w == d);
                continue;
            }
            let never = self.is_never_between(w, d, u);
            let name = || format!("{} between {} and {}", self.name(w), self.name(d), self.name(u));
            assert!(may || never, "{}", name());
            if never && w != d && w != u {
                let what = match (self.executed[&d].0 == self.executed[&u].0, places.dominates(d, u)) {
                    (true, true) if places.thread(w) == places.thread(d) => "not between, in a thread",
                    (true, true) => "not between, another thread",
                    _ => "not between, from thread to thread",
                };
                precision.note(what, !may);
            }
        }
    }
}

#[test]
fn no_run_contradicts_a_claim() {
    let cases = count_from_environment("COVSCHED_PLACES_CASES", 300);
    let seed = count_from_environment("COVSCHED_PLACES_SEED", 1) as u64;
    let mut precision = Precision::default();
    let mut kinds: HashMap<&str, usize> = HashMap::new();
    for case in 0..cases as u64 {
        let mut random = Random::new(seed << 32 | case);
        let scene = random::draft(&mut random).build();
        let order = if random.chance(25) { Order::Total } else { Order::Hb };
        let places = scene.places_in(order);
        let owned = places.functions().count();
        let runs = Runs::new(&scene, &places, order, &mut random);
        *kinds.entry("functions").or_default() += scene.code.functions.len();
        *kinds.entry("owned").or_default() += owned;
        *kinds.entry("runs").or_default() += runs.traces.iter().map(Vec::len).sum::<usize>();
        *kinds.entry("whole runs").or_default() +=
            runs.traces.iter().flatten().filter(|trace| trace.is_whole).count();
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runs.check_each(&mut precision);
            let all: Vec<InstId> = runs.executed.keys().copied().collect();
            for &a in &all {
                for &b in &all {
                    runs.check_pair(a, b, &mut precision);
                }
            }
            // As many as there is time for.
            for _ in 0..60.min(all.len() * all.len()) {
                let (d, u) = (*random.pick(&all), *random.pick(&all));
                runs.check_between(d, u, &mut precision);
            }
        }));
        if result.is_err() {
            tell(&format!("case {case}\n{}", scene.show()));
            panic!("case {case}, see above");
        }
    }
    let figures: Vec<String> = precision
        .0
        .iter()
        .map(|(what, (claimed, all))| {
            format!("{what} {claimed}/{all} ({:.1} %)", 100.0 * *claimed as f64 / *all as f64)
        })
        .collect();
    tell(&format!("places: {cases} programs, {kinds:?}; {}", figures.join("; ")));
    assert!(kinds["owned"] * 2 > kinds["functions"] && kinds["whole runs"] > cases * 5);
}
