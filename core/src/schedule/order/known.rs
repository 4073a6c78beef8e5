//! What is known to be over: by step, how many steps of each other thread come before it in every run that follows the
//! order.
//!
//! Under the total order that is a comparison of places. Under hb it is a vector clock a step; one is kept only where
//! a thread learns something (an unlock learns nothing), and what clocks have in common they share ([`Clock`]). So the
//! memory is that of the steps that learn, 272 bytes each with up to 64 threads, and a question costs a binary search.
//!
//! A thread's own steps do not cover its whole life: it begins after its create and has ended before its join returns.
//! [`Known::separates`] knows both, which edges between steps cannot say.

use super::clock::Clock;
use super::waits::Arrival;
use super::walk::{walk, Sink, Source};
use super::{happened, steps, Order};
use crate::hooks::Effect;
use crate::ids::ThreadId;
use crate::schedule::Schedule;

/// What comes before what. Step `i` of a thread is its `i`-th event that is a step: [`steps`].
pub struct Known {
    order: Kind,
    /// By thread: how many steps it has.
    counts: Vec<u32>,
    /// By thread: the step that made it.
    created: Vec<Option<Step>>,
    /// By thread: the step that joined it.
    joined: Vec<Option<Step>>,
}

/// A thread, and which of its steps.
type Step = (ThreadId, u32);

enum Kind {
    /// By thread and step: its place.
    Total(Vec<Vec<usize>>),
    /// By thread.
    Hb(Vec<Vec<Learnt>>),
}

/// From this step on, a thread knows this of the others.
struct Learnt {
    step: u32,
    clock: Clock,
}

impl Known {
    /// Of a schedule that has passed verify.
    pub fn of(schedule: &Schedule, order: Order) -> Known {
        let steps = steps(schedule);
        let mut known = Known {
            order: Kind::Total(Vec::new()),
            counts: steps.iter().map(|steps| steps.len() as u32).collect(),
            created: vec![None; steps.len()],
            joined: vec![None; steps.len()],
        };
        for (thread, steps) in (0..).map(ThreadId).zip(&steps) {
            for (number, &index) in (0..).zip(steps) {
                let event = &schedule.events[index];
                let Some(other) = event.child.filter(|&child| child != thread) else { continue };
                let life = match event.op.effect() {
                    Effect::Create if happened(event) => &mut known.created,
                    Effect::Join | Effect::TryJoin if event.result == Some(0) => &mut known.joined,
                    _ => continue,
                };
                life[other.0 as usize] = Some((thread, number));
            }
        }
        known.order = match order {
            Order::Total => Kind::Total(steps),
            Order::Hb => {
                let mut learner = Learner::new(steps.len());
                walk(schedule, order, &mut learner);
                Kind::Hb(learner.threads.into_iter().map(|thread| thread.learnt).collect())
            }
        };
        known
    }

    /// How many steps a thread has.
    pub fn steps(&self, thread: ThreadId) -> usize {
        self.counts[thread.0 as usize] as usize
    }

    /// Whether a step of `a` comes before a step of `b` in every run. No step that does not exist does.
    pub fn before(&self, a: ThreadId, step_a: usize, b: ThreadId, step_b: usize) -> bool {
        if step_a >= self.steps(a) || step_b >= self.steps(b) {
            return false;
        }
        if a == b {
            return step_a < step_b;
        }
        match &self.order {
            Kind::Total(places) => places[a.0 as usize][step_a] < places[b.0 as usize][step_b],
            Kind::Hb(threads) => {
                let learnt = &threads[b.0 as usize];
                let until = learnt.partition_point(|learnt| learnt.step as usize <= step_b);
                until > 0 && learnt[until - 1].clock.get(a.0 as usize) as usize > step_a
            }
        }
    }

    /// The step that made a thread; `None` for main, and if code without hooks did.
    pub fn created(&self, thread: ThreadId) -> Option<(ThreadId, usize)> {
        self.created[thread.0 as usize].map(|(thread, step)| (thread, step as usize))
    }

    /// The step that joined a thread, if one did.
    pub fn joined(&self, thread: ThreadId) -> Option<(ThreadId, usize)> {
        self.joined[thread.0 as usize].map(|(thread, step)| (thread, step as usize))
    }

    /// Whether what `a` does before its step `until` (at any time, if it has no such step) is over, in every run, before
    /// `b` begins what it does after its first `after` steps.
    pub fn separates(&self, a: ThreadId, until: usize, b: ThreadId, after: usize) -> bool {
        let end = if until < self.steps(a) { Some((a, until)) } else { self.joined(a) };
        let begin = match after.checked_sub(1) {
            Some(last) => Some((b, last)),
            None => self.created(b),
        };
        let (Some((a, end)), Some((b, begin))) = (end, begin) else { return false };
        (a, end) == (b, begin) || self.before(a, end, b, begin)
    }
}

/// A node while the walk can still name it.
#[derive(Clone)]
struct Mark {
    /// Its thread and its place there, from 1; a gather has none.
    step: Option<(u32, u32)>,
    /// What comes before it in other threads.
    clock: Clock,
}

struct Thread {
    steps: u32,
    clock: Clock,
    learnt: Vec<Learnt>,
}

struct Learner {
    threads: Vec<Thread>,
    /// Knows nothing.
    empty: Clock,
}

impl Learner {
    fn new(threads: usize) -> Learner {
        let empty = Clock::new(threads);
        let thread = |_| Thread { steps: 0, clock: empty.clone(), learnt: Vec::new() };
        Learner { threads: (0..threads).map(thread).collect(), empty }
    }
}

/// Adds what a node knows, and the node itself.
fn learn(clock: &mut Clock, mark: &Mark) {
    match mark.step {
        // Who knows a step knows what that knew.
        Some((thread, count)) if clock.get(thread as usize) >= count => {}
        Some((thread, count)) => {
            clock.join(&mark.clock);
            clock.set(thread as usize, count);
        }
        None => clock.join(&mark.clock),
    }
}

impl Sink for Learner {
    type Mark = Mark;

    fn step(&mut self, _: usize, thread: ThreadId, sources: &mut Vec<Source<Mark>>) -> Mark {
        let own = &mut self.threads[thread.0 as usize];
        let mut clock = own.clock.clone();
        let is_own = |mark: &Mark| mark.step.is_some_and(|(other, _)| other == thread.0);
        for source in sources.iter().filter(|source| !is_own(&source.mark)) {
            learn(&mut clock, &source.mark);
        }
        if !clock.is_same(&own.clock) {
            own.learnt.push(Learnt { step: own.steps, clock: clock.clone() });
            own.clock = clock.clone();
        }
        own.steps += 1;
        Mark { step: Some((thread.0, own.steps)), clock }
    }

    fn gather(&mut self, _: usize, before: Option<&Mark>, arrivals: &[Arrival<Mark>]) -> Mark {
        let mut clock = self.empty.clone();
        for mark in arrivals.iter().map(|arrival| &arrival.mark).chain(before) {
            learn(&mut clock, mark);
        }
        Mark { step: None, clock }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Op;
    use crate::schedule::order::{for_each_edge, reduced, Graph, Node};
    use crate::schedule::shuffle::Closure;
    use crate::schedule::simulate::schedules;
    use crate::schedule::{parse, Completeness, Event, Object, ObjectId, Thread};
    use proptest::prelude::*;

    const MAIN: ThreadId = ThreadId(0);
    const CHILD: ThreadId = ThreadId(1);

    fn closure(schedule: &Schedule, order: Order) -> Closure {
        let mut edges = Vec::new();
        for_each_edge(schedule, order, |edge| edges.push(edge));
        Closure::new(schedule, &Graph { edges, gathers: reduced(schedule, order).gathers })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn a_step_is_known_where_edges_lead_from_it(schedule in schedules(), total in any::<bool>()) {
            let order = if total { Order::Total } else { Order::Hb };
            let (known, closure) = (Known::of(&schedule, order), closure(&schedule, order));
            let steps = steps(&schedule);
            let all = || (0..).map(ThreadId).zip(&steps).flat_map(|(thread, steps)| {
                steps.iter().enumerate().map(move |(number, &index)| (thread, number, index))
            });
            for (a, i, from) in all() {
                for (b, j, to) in all() {
                    let expected = closure.is_before(Node::Step(from), Node::Step(to));
                    prop_assert_eq!(known.before(a, i, b, j), expected, "{} before {}", from, to);
                    // What is before step i of a and what is after step j of b.
                    let reaches = expected || (a, i) == (b, j);
                    prop_assert_eq!(known.separates(a, i, b, j + 1), reaches);
                }
            }
        }
    }

    fn schedule(events: &[&str]) -> Schedule {
        let text = format!(
            "covsched-schedule 1\nprogram \"a\" 0000000000000000\ncommand \"a\"\ncomplete\nthread t0 main\n\
             thread t1 t0/0\nobject m0\nevents {}\n{}\nend\n",
            events.len(),
            events.join("\n")
        );
        parse::parse(&text).unwrap()
    }

    #[test]
    fn a_thread_lives_between_its_create_and_its_join() {
        let schedule = schedule(&[
            "t0 pthread_mutex_lock m0 =0",
            "t0 pthread_create t1 =0",
            "t1 pthread_mutex_trylock m0 =16",
            "t0 pthread_mutex_unlock m0 =0",
            "t0 pthread_join t1 =0",
        ]);
        let known = Known::of(&schedule, Order::Hb);
        assert_eq!((known.created(CHILD), known.joined(CHILD)), (Some((MAIN, 1)), Some((MAIN, 3))));
        assert_eq!((known.created(MAIN), known.joined(MAIN)), (None, None));
        // Before the create, and before its first step; after that, it may be anywhere.
        assert!(known.separates(MAIN, 1, CHILD, 0) && known.separates(MAIN, 0, CHILD, 1));
        assert!(!known.separates(MAIN, 2, CHILD, 0) && !known.separates(MAIN, 2, CHILD, 1));
        // Behind its last step it ends; the join waits for that.
        assert!(known.separates(CHILD, 1, MAIN, 4) && known.separates(CHILD, 0, MAIN, 4));
        assert!(!known.separates(CHILD, 0, MAIN, 3) && !known.separates(CHILD, 1, MAIN, 3));
        assert!(!known.separates(MAIN, 4, CHILD, 1), "nobody joins main");
        assert!(!known.before(CHILD, 1, MAIN, 3), "there is no such step");
    }

    #[test]
    fn what_failed_made_and_joined_nothing() {
        let events = ["t0 pthread_create t1 =11", "t0 pthread_tryjoin_np t1 =16"];
        let known = Known::of(&schedule(&events), Order::Hb);
        assert_eq!((known.created(CHILD), known.joined(CHILD)), (None, None));
    }

    /// Threads that lock a few mutexes in turn, picked at random.
    fn large(threads: u32, mutexes: u32, events: usize) -> Schedule {
        let mut schedule = Schedule {
            program: "a".to_owned(),
            program_id: crate::ProgramId(0),
            command: Vec::new(),
            completeness: Completeness::Complete,
            forked: false,
            threads: (0..threads).map(|number| Thread { parent: None, nth: number, entry: None }).collect(),
            objects: (0..mutexes)
                .map(|number| Object {
                    class: crate::hooks::ObjectClass::Mutex,
                    number,
                    symbol: None,
                    shared: false,
                    mutex_kind: Default::default(),
                })
                .collect(),
            sites: Default::default(),
            events: Vec::new(),
            epochs: Vec::new(),
        };
        for turn in 0..events as u64 / 2 {
            let random = crate::hash::mix(turn);
            let thread = ThreadId(random as u32 % threads);
            let object = Some(ObjectId((random >> 32) as u32 % mutexes));
            for op in [Op::pthread_mutex_lock, Op::pthread_mutex_unlock] {
                schedule.events.push(Event { object, result: Some(0), ..Event::new(thread, op) });
            }
        }
        schedule
    }

    /// The resident memory of this process, in bytes.
    fn resident() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    }

    #[test]
    fn long_schedules_fit_in_memory() {
        let schedule = large(34, 64, 870_000);
        let (before, begin) = (resident(), std::time::Instant::now());
        let known = Known::of(&schedule, Order::Hb);
        let (bytes, seconds) = (resident().saturating_sub(before), begin.elapsed().as_secs_f64());
        let begin = std::time::Instant::now();
        let asked = 1_000_000u64;
        let yes = (0..asked).filter(|&i| {
            let pick = |salt: u64| {
                let random = crate::hash::mix(i * 2 + salt);
                let thread = ThreadId(random as u32 % 34);
                (thread, (random >> 32) as usize % known.steps(thread))
            };
            let ((a, i), (b, j)) = (pick(0), pick(1));
            known.before(a, i, b, j)
        });
        let (yes, asking) = (yes.count(), begin.elapsed().as_secs_f64());
        println!("{seconds:.2} s, {} MB; {yes} of {asked} ordered, {asking:.2} s", bytes >> 20);
        assert!(bytes < 400 << 20, "{bytes} bytes");
    }
}
