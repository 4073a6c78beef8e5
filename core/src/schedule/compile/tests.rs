//! Plans, read back: against the order that they were made of, and followed by simulated threads.

use super::*;
use crate::hooks::Op;
use crate::schedule::compare::compare;
use crate::schedule::order::{Edge, EdgeKind, Graph};
use crate::schedule::shuffle::{reordered, Closure, Random};
use crate::schedule::simulate::schedules;
use crate::schedule::{legal, parse, Thread, ThreadId};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// A plan as the runtime sees it.
struct Plan {
    header: PlanHeader,
    threads: Vec<PlanThread>,
    objects: Vec<PlanObject>,
    steps: Vec<Step>,
    links: Vec<Link>,
}

fn array<T: Plain>(bytes: &[u8], at: u64, count: usize) -> Vec<T> {
    assert_eq!(at % 8, 0);
    let at = |number: usize| at as usize + number * size_of::<T>();
    (0..count).map(|number| T::read(&bytes[at(number)..]).unwrap()).collect()
}

impl Plan {
    fn of(schedule: &Schedule, order: Order) -> Plan {
        let bytes = compile(schedule, order, &NoPlaces);
        let header = PlanHeader::read(&bytes).unwrap();
        assert_eq!((header.magic, header.version), (PLAN_MAGIC, VERSION));
        assert_eq!(bytes.len(), header.links_at as usize + header.links as usize * size_of::<Link>());
        Plan {
            threads: array(&bytes, header.threads_at, header.threads as usize),
            objects: array(&bytes, header.objects_at, header.objects as usize),
            steps: array(&bytes, header.steps_at, header.steps as usize),
            links: array(&bytes, header.links_at, header.links as usize),
            header,
        }
    }

    fn steps_of(&self, thread: usize) -> &[Step] {
        let PlanThread { first_step, steps, .. } = self.threads[thread];
        &self.steps[first_step as usize..][..steps as usize]
    }

    /// A thread's `after` and `before` links at one of its steps.
    fn links(&self, thread: usize, index: usize) -> (&[Link], &[Link]) {
        self.steps_of(thread)[index].links(&self.links)
    }

    /// Every step: its thread and its index there.
    fn all(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.threads.len())
            .flat_map(|thread| (0..self.steps_of(thread).len()).map(move |index| (thread, index)))
    }
}

/// Some events of a program with everything; threads and objects need not be in order of use.
fn schedule(events: &str) -> Schedule {
    let lines: Vec<&str> = events.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = format!(
        "covsched-schedule 1\nprogram \"a\" 00000000000000aa\ncommand \"a\"\ncomplete\n\
         thread t0 main\nthread t1 t0/0\nthread t2 t0/1\nthread t3 foreign\n\
         object m0 symbol=\"lock\"\nobject m1\nobject c0\nobject sem0 shared\nobject b0\nevents {}\n{}\nend\n",
        lines.len(),
        lines.join("\n")
    );
    parse::parse(&text).unwrap()
}

#[test]
fn steps_say_what_is_expected() {
    let run = schedule(
        "t1 pthread_cond_wait begin c0 m0
         t2 pthread_cond_wait begin c0 m1
         t0 call
         t0 pthread_cond_signal c0 =0
         t0 pthread_cond_signal c0 =0
         t1 pthread_cond_wait end c0 m0 waker=t0/1 =110
         t2 pthread_cond_wait end c0 m1 unwound
         t1 pthread_cond_wait begin c0 m1
         t1 pthread_cond_wait end c0 m1 =1
         t0 pthread_cancel t2 =0
         t0 exit =3",
    );
    let plan = Plan::of(&run, Order::Hb);
    assert_eq!((plan.header.wakers, plan.header.program, plan.header.flags), (1, 0xaa, PLAN_COMPLETE));
    assert_eq!((plan.header.order, plan.header.steps), (ORDER_HB, 10));
    let main = plan.steps_of(0);
    assert_eq!(main.iter().map(|step| step.aux).collect::<Vec<_>>(), [NONE, 0, 2, NONE]);
    assert_eq!((main[3].op, main[3].result, main[3].object), (Op::exit as u8, 3, NONE));
    let first = plan.steps_of(1);
    assert_eq!(first.iter().map(|step| step.aux).collect::<Vec<_>>(), [0, 0, 1, NONE]);
    assert_eq!(first.iter().map(|step| step.flags).collect::<Vec<_>>(), [0, 0, STEP_REFUSED, STEP_REFUSED]);
    assert_eq!((first[0].phase, first[0].result, first[0].object), (1, RESULT_PENDING, 2));
    assert_eq!((first[1].phase, first[1].result), (2, 110));
    assert_eq!(plan.steps_of(2)[1].flags, STEP_UNWOUND);
    let ends: Vec<u32> = plan.threads.iter().map(|thread| thread.flags).collect();
    assert_eq!(ends, [THREAD_ENDS, 0, THREAD_CANCELLED, THREAD_FOREIGN]);
}

#[test]
fn objects_with_a_name_or_an_init_have_an_address_of_their_own() {
    let run = schedule("t0 pthread_cond_init c0 =0\nt0 sem_init sem0 =22\nt3 return\nt0 return");
    let flags: Vec<u32> = Plan::of(&run, Order::Hb).objects.iter().map(|object| object.flags).collect();
    assert_eq!(flags, [OBJECT_FIXED | OBJECT_STATIC, 0, OBJECT_FIXED, OBJECT_SHARED, 0]);
    struct Known;
    impl Places for Known {
        fn site_tables(&self) -> u64 {
            0x2000
        }
        fn address(&self, _: &str) -> Option<u64> {
            Some(0x3000)
        }
    }
    let header = PlanHeader::read(&compile(&run, Order::Hb, &Known)).unwrap();
    assert_eq!(header.site_tables, 0x2000);
    let objects: Vec<PlanObject> = array(&compile(&run, Order::Hb, &Known), header.objects_at, 5);
    assert_eq!(objects.iter().map(|object| object.address).collect::<Vec<_>>(), [0x3000, 0, 0, 0, 0]);
    let threads: Vec<u32> = Plan::of(&run, Order::Hb).threads.iter().map(|thread| thread.flags).collect();
    assert_eq!(threads, [THREAD_ENDS, 0, 0, THREAD_FOREIGN | THREAD_ENDS]);
}

#[test]
fn an_incomplete_schedule_is_marked() {
    let run = Schedule { completeness: Completeness::Incomplete("killed".into()), ..schedule("t0 entry") };
    let plan = Plan::of(&run, Order::Total);
    assert_eq!((plan.header.flags, plan.header.order), (0, ORDER_TOTAL));
}

#[test]
fn an_arrival_of_the_next_generation_waits_for_each_of_the_last() {
    let run = schedule(
        "t0 pthread_barrier_init b0 count=2 =0
         t1 pthread_barrier_wait begin b0
         t2 pthread_barrier_wait begin b0
         t2 pthread_barrier_wait end b0 =-1
         t1 pthread_barrier_wait end b0 =0
         t1 pthread_barrier_wait begin b0
         t3 pthread_barrier_wait begin b0",
    );
    let plan = Plan::of(&run, Order::Hb);
    let link = |thread, position| Link { thread, position };
    assert_eq!(plan.links(3, 0), (&[link(2, 1), link(1, 1)][..], &[][..]));
    // Its own departure is what the other arrival of this generation waits for.
    assert_eq!(plan.links(1, 2), (&[][..], &[][..]));
    assert_eq!(plan.links(2, 0), (&[link(0, 1)][..], &[link(3, 0)][..]));
}

#[test]
fn more_links_than_a_step_can_count_are_counted_among_the_links() {
    let mut run = schedule("t0 entry");
    let others = 70_000;
    run.threads.truncate(1);
    for number in 1..=others {
        run.threads.push(Thread { parent: None, nth: 0, entry: None });
        run.events.push(Event::new(ThreadId(number), Op::entry));
    }
    run.events.push(Event::new(ThreadId::MAIN, Op::exit));
    for number in 1..=others {
        run.events.push(Event::new(ThreadId(number), Op::leave));
    }
    let plan = Plan::of(&run, Order::Hb);
    let (after, before) = plan.links(0, 1);
    assert_eq!(plan.steps_of(0)[1].after, MANY);
    assert_eq!((after.len(), before.len()), (70_000, 70_000));
    assert_eq!(after[0], Link { thread: others, position: 1 });
    assert_eq!(before[0], Link { thread: 1, position: 1 });
    assert_eq!(plan.links(others as usize, 1), (&[Link { thread: 0, position: 2 }][..], &[][..]));
    // The last number that fits.
    run.threads.truncate(1 + 65_534);
    run.events.retain(|event| event.thread.0 <= 65_534);
    let plan = Plan::of(&run, Order::Hb);
    assert_eq!((plan.steps_of(0)[1].after, plan.links(0, 1).0.len()), (65_534, 65_534));
}

#[test]
fn a_status_file_starts_with_its_magic_word_and_zeros() {
    let bytes = empty_status(3);
    assert_eq!(bytes.len(), status_size(3));
    assert_eq!((&bytes[..8], &bytes[8..12]), (&STATUS_MAGIC[..], &VERSION.to_ne_bytes()[..]));
    assert!(bytes[12..].iter().all(|&byte| byte == 0));
}

/// The order of a plan's links together with what is implied.
fn order_of(plan: &Plan, schedule: &Schedule, order: Order) -> Graph {
    let mut graph = order::reduced(schedule, order);
    graph.edges.clear();
    // Implied edges as the rules give them, not as the reduction left them.
    order::for_each_edge(schedule, order, |edge| {
        if edge.kind.is_implied() {
            graph.edges.push(edge);
        }
    });
    let steps = order::steps(schedule);
    for (thread, index) in plan.all() {
        let to = Node::Step(steps[thread][index]);
        for link in plan.links(thread, index).0 {
            let from = Node::Step(steps[link.thread as usize][link.position as usize - 1]);
            graph.edges.push(Edge { from, to, kind: EdgeKind::Object });
        }
    }
    graph
}

/// Runs the plan's threads in random order, each gated by nothing but its links and by what cannot be otherwise:
/// gives the order of the steps, by index of their events, or where it got stuck.
fn follow(plan: &Plan, schedule: &Schedule, random: &mut Random) -> Result<Vec<usize>, String> {
    let steps = order::steps(schedule);
    let mut gathers: HashMap<usize, Vec<usize>> = HashMap::new();
    let graph = order::reduced(schedule, Order::Hb);
    for edge in graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Gather) {
        if let (Node::Gather(number), Node::Step(end)) = (edge.from, edge.to) {
            gathers.insert(end, graph.gathers[number].clone());
        }
    }
    let mut done = vec![0; plan.threads.len()];
    let mut over = vec![false; schedule.events.len()];
    let mut made = vec![false; plan.threads.len()];
    let mut order = Vec::new();
    while order.len() < plan.steps.len() {
        let may_go = |thread: usize| {
            let Some(step) = plan.steps_of(thread).get(done[thread]) else { return false };
            let effect = Op::from_index(step.op).unwrap().effect();
            let exists = schedule.threads[thread].parent.is_none() || made[thread];
            let is_join =
                matches!(effect, Effect::Join | Effect::TryJoin) && step.result == 0 && step.aux != NONE;
            let joined = !is_join || done[step.aux as usize] == plan.steps_of(step.aux as usize).len();
            let gathered =
                gathers.get(&steps[thread][done[thread]]).is_none_or(|all| all.iter().all(|&one| over[one]));
            let (after, _) = plan.links(thread, done[thread]);
            let linked = after.iter().all(|link| done[link.thread as usize] >= link.position as usize);
            exists && joined && gathered && linked
        };
        let ready: Vec<usize> = (0..plan.threads.len()).filter(|&thread| may_go(thread)).collect();
        if ready.is_empty() {
            return Err(format!("stuck after {order:?}"));
        }
        let thread = ready[random.below(ready.len())];
        let (step, event) = (plan.steps_of(thread)[done[thread]], steps[thread][done[thread]]);
        if Op::from_index(step.op).unwrap().effect() == Effect::Create && step.aux != NONE {
            made[step.aux as usize] = true;
        }
        over[event] = true;
        done[thread] += 1;
        order.push(event);
    }
    Ok(order)
}

fn fail(error: impl ToString) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_plan_orders_what_the_rules_order(schedule in schedules(), total in any::<bool>()) {
        let order = if total { Order::Total } else { Order::Hb };
        let plan = Plan::of(&schedule, order);
        let mut rules = order::reduced(&schedule, order);
        rules.edges.clear();
        order::for_each_edge(&schedule, order, |edge| rules.edges.push(edge));
        let found = order_of(&plan, &schedule, order);
        prop_assert!(Closure::new(&schedule, &rules).agrees_on_steps(&Closure::new(&schedule, &found)));
    }

    #[test]
    fn links_are_the_same_seen_from_both_ends(schedule in schedules(), total in any::<bool>()) {
        let plan = Plan::of(&schedule, if total { Order::Total } else { Order::Hb });
        let steps = order::steps(&schedule);
        let (mut after, mut before) = (Vec::new(), Vec::new());
        for (thread, index) in plan.all() {
            let links = plan.links(thread, index);
            let recorded = |link: &Link| steps[link.thread as usize][link.position as usize - 1];
            prop_assert!(links.0.windows(2).all(|pair| recorded(&pair[0]) > recorded(&pair[1])));
            after.extend(links.0.iter().map(|link| (link.thread, link.position - 1, thread as u32, index as u32)));
            before.extend(links.1.iter().map(|link| (thread as u32, index as u32, link.thread, link.position)));
        }
        prop_assert_eq!(plan.links.len(), after.len() + before.len());
        after.sort_unstable();
        before.sort_unstable();
        prop_assert_eq!(&after, &before);
        prop_assert!(after.iter().all(|link| link.0 != link.2), "a thread waits for itself");
    }

    #[test]
    fn threads_that_follow_a_plan_never_get_stuck_and_run_the_same_schedule(schedule in schedules(), seed in any::<u64>()) {
        let plan = Plan::of(&schedule, Order::Hb);
        let order = follow(&plan, &schedule, &mut Random(seed)).map_err(fail)?;
        let run = reordered(&schedule, &order);
        legal::check(&run).map_err(fail)?;
        compare(&schedule, &run, Order::Hb).map_err(fail)?;
    }

    #[test]
    fn threads_that_follow_the_total_order_run_it_again(schedule in schedules(), seed in any::<u64>()) {
        let order = follow(&Plan::of(&schedule, Order::Total), &schedule, &mut Random(seed)).map_err(fail)?;
        prop_assert!(order.is_sorted());
    }
}
