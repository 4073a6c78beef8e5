//! Each rule once, with hand-made schedules.

use super::*;
use crate::schedule::parse;

/// A schedule of these events, without derived ones, entries and creates unless given.
fn schedule(events: &str) -> Schedule {
    let lines: Vec<&str> = events.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = format!(
        "covsched-schedule 1\nprogram \"a\" 0000000000000000\ncommand \"a\"\ncomplete\n\
         thread t0 main\nthread t1 t0/0\nthread t2 t0/1\nthread t3 foreign\n\
         object m0\nobject m1 recursive\nobject c0\nobject b0\nobject b1 shared\nobject rw0\nobject sp0\n\
         object sem0\nobject sem1 shared\nobject o0\nevents {}\n{}\nend\n",
        lines.len(),
        lines.join("\n")
    );
    parse::parse(&text).unwrap()
}

/// The edges of the reduction between threads, as `from-to` by number of the event from 1; gathers are `g1`, `g2`, ...
fn edges_of(events: &str, order: Order) -> String {
    let schedule = schedule(events);
    let thread = |node: Node| match node {
        Node::Step(index) => Some(schedule.events[index].thread),
        Node::Gather(_) => None,
    };
    let name = |node: Node| match node {
        Node::Step(index) => (index + 1).to_string(),
        Node::Gather(number) => format!("g{}", number + 1),
    };
    let graph = reduced(&schedule, order);
    let mut edges: Vec<(Node, Node)> = Vec::new();
    for edge in graph.edges.iter().filter(|edge| edge.kind != EdgeKind::Program) {
        assert!(
            edge.kind != EdgeKind::Object
                || thread(edge.from) != thread(edge.to)
                || thread(edge.from).is_none()
        );
        edges.push((edge.from, edge.to));
    }
    edges.sort_unstable_by_key(|&(from, to)| (to, from));
    edges.iter().map(|&(from, to)| format!("{}-{}", name(from), name(to))).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn hb(events: &str, expected: &str) {
    assert_eq!(edges_of(events, Order::Hb), expected);
}

#[test]
fn a_mutex_is_a_chain() {
    hb(
        "t0 pthread_mutex_init m0 =0
         t1 pthread_mutex_lock m0 =0
         t1 pthread_mutex_unlock m0 =0
         t2 pthread_mutex_trylock m0 =0
         t2 pthread_mutex_unlock m0 =0
         t0 pthread_mutex_destroy m0 =0",
        "1-2 3-4 5-6",
    );
}

#[test]
fn spin_locks_of_two_threads_are_a_chain_and_other_objects_are_apart() {
    hb(
        "t0 pthread_spin_lock sp0 =0
         t1 pthread_mutex_lock m0 =0
         t0 pthread_spin_unlock sp0 =0
         t1 pthread_mutex_unlock m0 =0
         t2 pthread_spin_lock sp0 =0",
        "3-5",
    );
}

#[test]
fn what_failed_has_no_edges() {
    hb(
        "t0 pthread_mutex_lock m0 =0
         t1 pthread_mutex_trylock m0 =16
         t2 pthread_mutex_timedlock m0 =110
         t0 pthread_mutex_unlock m0 =0
         t1 pthread_mutex_unlock m0 =1
         t2 pthread_mutex_lock m0 =0
         t1 pthread_rwlock_trywrlock rw0 =16
         t0 pthread_rwlock_wrlock rw0 =0
         t1 sem_trywait sem0 =11
         t0 sem_post sem0 =0
         t1 pthread_barrier_init b0 =22
         t0 pthread_tryjoin_np t1 =16
         t0 pthread_kill t2 =3",
        "4-6",
    );
}

#[test]
fn what_failed_lies_within_its_objects_life() {
    hb(
        "t0 pthread_mutex_init m0 =0
         t1 pthread_mutex_trylock m0 =16
         t2 pthread_mutex_lock m0 =0
         t1 pthread_mutex_trylock m0 =16
         t2 pthread_mutex_unlock m0 =0
         t3 pthread_mutex_destroy m0 =0",
        "1-2 1-3 4-6 5-6",
    );
    hb(
        "t0 pthread_cond_init c0 =0
         t1 pthread_cond_wait begin c0 m0
         t1 pthread_cond_wait end c0 m0 =1
         t2 pthread_cond_destroy c0 =0",
        "1-2 3-4",
    );
}

#[test]
fn a_mutex_whose_owner_died_is_taken_after_it() {
    hb("t1 pthread_mutex_lock m0 =0\nt0 pthread_mutex_lock m0 =130\nt2 pthread_mutex_trylock m0 =16", "1-2");
}

#[test]
fn a_mutex_is_found_unrecoverable_after_it_has_become_so() {
    hb(
        "t1 pthread_mutex_lock m0 =0
         t0 pthread_mutex_lock m0 =130
         t0 pthread_mutex_unlock m0 =0
         t2 pthread_mutex_lock m0 =131
         t3 pthread_mutex_trylock m0 =131
         t0 pthread_mutex_destroy m0 =0",
        "1-2 3-4 4-5 5-6",
    );
}

#[test]
fn what_was_busy_when_it_was_to_be_destroyed_is_so_again() {
    hb(
        "t1 pthread_mutex_lock m0 =0
         t0 pthread_mutex_destroy m0 =16
         t1 pthread_mutex_unlock m0 =0
         t0 pthread_mutex_destroy m0 =22
         t2 pthread_mutex_lock m0 =0",
        "1-2 2-3 3-5",
    );
    hb(
        "t1 pthread_rwlock_rdlock rw0 =0
         t2 pthread_rwlock_rdlock rw0 =0
         t0 pthread_rwlock_destroy rw0 =16
         t1 pthread_rwlock_unlock rw0 =0
         t2 pthread_rwlock_unlock rw0 =0",
        "1-3 2-3 3-4 3-5",
    );
}

#[test]
fn an_unlock_in_which_the_process_ended_has_happened() {
    hb("t1 pthread_mutex_lock m0 =0\nt1 pthread_mutex_unlock m0\nt0 pthread_mutex_lock m0 =0", "2-3");
}

#[test]
fn readers_are_not_ordered_among_each_other() {
    hb(
        "t0 pthread_rwlock_init rw0 =0
         t1 pthread_rwlock_rdlock rw0 =0
         t2 pthread_rwlock_rdlock rw0 =0
         t2 pthread_rwlock_rdlock rw0 =0
         t2 pthread_rwlock_unlock rw0 =0
         t1 pthread_rwlock_unlock rw0 =0
         t2 pthread_rwlock_unlock rw0 =0
         t3 pthread_rwlock_wrlock rw0 =0
         t3 pthread_rwlock_unlock rw0 =0
         t1 pthread_rwlock_tryrdlock rw0 =0
         t2 pthread_rwlock_timedrdlock rw0 =0
         t2 pthread_rwlock_unlock rw0 =0
         t1 pthread_rwlock_unlock rw0 =0
         t0 pthread_rwlock_destroy rw0 =0",
        "1-2 1-3 6-8 7-8 9-10 9-11 12-14 13-14",
    );
}

#[test]
fn a_unit_of_a_semaphore_comes_from_the_posts_in_turn() {
    hb(
        "t0 sem_init sem0 count=1 =0
         t1 sem_wait sem0 =0
         t2 sem_post sem0 =0
         t3 sem_post sem0 =0
         t1 sem_trywait sem0 =0
         t0 sem_wait sem0 =0",
        "1-2 1-3 1-4 3-5 4-6",
    );
}

#[test]
fn who_reads_a_semaphore_sees_all_before_and_none_after() {
    hb(
        "t0 sem_init sem0 count=0 =0
         t1 sem_post sem0 =0
         t2 sem_post sem0 =0
         t3 sem_getvalue sem0 =0
         t1 sem_post sem0 =0
         t0 sem_wait sem0 =0
         t2 sem_destroy sem0 =0",
        "1-2 1-3 2-4 3-4 4-5 4-6 5-7 6-7",
    );
}

#[test]
fn a_semaphore_that_others_may_use_is_a_chain() {
    let chain = "1-2 2-3 3-4";
    hb("t0 sem_post sem0 =0\nt1 sem_post sem0 =0\nt2 sem_wait sem0 =0\nt3 sem_post sem0 =0", chain);
    let shared = "t0 sem_init sem1 count=1 =0\nt1 sem_post sem1 =0\nt2 sem_post sem1 =0\nt3 sem_wait sem1 =0";
    hb(shared, chain);
    hb(&shared.replace("sem1", "sem0").replace("sem_init", "sem_open"), chain);
    // A unit from nowhere: from then on.
    hb("t0 sem_init sem0 count=0 =0\nt1 sem_wait sem0 =0\nt2 sem_post sem0 =0\nt3 sem_post sem0 =0", chain);
}

#[test]
fn a_signal_comes_between_the_two_moments_of_the_wait_that_it_ends() {
    hb(
        "t0 pthread_cond_init c0 =0
         t1 pthread_mutex_lock m0 =0
         t1 pthread_cond_wait begin c0 m0
         t3 pthread_cond_signal c0 =0
         t2 pthread_cond_signal c0 =0
         t1 pthread_cond_wait end c0 m0 waker=t2/0 =0
         t0 pthread_cond_destroy c0 =0",
        "1-3 1-4 3-5 5-6 4-7 6-7",
    );
}

#[test]
fn a_broadcast_orders_neither_the_begins_nor_the_ends_that_it_wakes() {
    hb(
        "t1 pthread_cond_wait begin c0 m0
         t2 pthread_cond_wait begin c0 m1
         t0 pthread_cond_broadcast c0 =0
         t2 pthread_cond_wait end c0 m1 waker=t0/0 =0
         t1 pthread_cond_wait end c0 m0 waker=t0/0 =0",
        "1-3 2-3 3-4 3-5",
    );
}

#[test]
fn a_wait_gives_up_its_mutex_and_takes_it_again_unless_it_is_refused() {
    let run = |result: &str| {
        format!(
            "t1 pthread_mutex_lock m0 =0
             t1 pthread_cond_timedwait begin c0 m0
             t2 pthread_mutex_lock m0 =0
             t2 pthread_mutex_unlock m0 =0
             t1 pthread_cond_timedwait end c0 m0 {result}
             t1 pthread_mutex_unlock m0 =0
             t0 pthread_mutex_lock m0 =0"
        )
    };
    for result in ["=0", "=110", "unwound", "=130"] {
        hb(&run(result), "2-3 4-5 6-7");
    }
    // Refused: the lock is still held, so the run is not legal, but its edges are those of locks and unlocks.
    hb(&run("=22"), "1-3 4-6 6-7");
    // That it cannot be recovered is found where it was found.
    hb(&run("=131"), "2-3 4-5 6-7");
}

#[test]
fn departures_from_a_barrier_follow_all_arrivals_and_not_each_other() {
    hb(
        "t0 pthread_barrier_init b0 count=2 =0
         t1 pthread_barrier_wait begin b0
         t2 pthread_barrier_wait begin b0
         t2 pthread_barrier_wait end b0 =-1
         t1 pthread_barrier_wait end b0 =0
         t1 pthread_barrier_wait begin b0
         t3 pthread_barrier_wait begin b0
         t0 pthread_barrier_destroy b0 =0
         t3 pthread_barrier_wait end b0 =0",
        "1-2 1-3 g1-4 g1-5 g1-7 g2-8 g2-9 2-g1 3-g1 6-g2 7-g2",
    );
}

#[test]
fn without_its_count_a_barrier_is_full_when_the_first_thread_leaves() {
    hb(
        "t1 pthread_barrier_wait begin b0
         t2 pthread_barrier_wait begin b0
         t1 pthread_barrier_wait end b0 =0
         t2 pthread_barrier_wait end b0 =-1",
        "g1-3 g1-4 1-g1 2-g1",
    );
    // Who else arrives at a shared one is not known.
    hb(
        "t0 pthread_barrier_init b1 count=2 =0
         t1 pthread_barrier_wait begin b1
         t2 pthread_barrier_wait begin b1
         t1 pthread_barrier_wait end b1 =0
         t0 pthread_barrier_destroy b1 =0",
        "1-2 1-3 3-5 4-5",
    );
}

#[test]
fn a_once_routine_ends_before_others_go_on() {
    hb(
        "t1 pthread_once begin o0
         t1 pthread_once end o0 unwound
         t2 pthread_once begin o0
         t2 pthread_once end o0 =0
         t0 pthread_once o0 =0
         t3 pthread_once o0 =0",
        "2-3 4-5 4-6",
    );
}

#[test]
fn a_thread_runs_between_its_create_and_its_join() {
    hb(
        "t0 pthread_create t1 =0
         t0 pthread_create t2 =0
         t1 entry
         t1 return
         t0 pthread_join t1 =0
         t0 pthread_join t2 =0
         t0 pthread_detach t2 =0",
        "1-3 4-5",
    );
}

#[test]
fn a_signal_to_a_thread_comes_between_the_same_steps() {
    hb(
        "t1 entry
         t0 pthread_kill t1 =0
         t2 pthread_cancel t1 =0
         t2 pthread_cancel t1 =0
         t1 return
         t1 pthread_kill t1 =0",
        "1-2 1-3 2-5 4-5",
    );
    // Its target has done nothing yet.
    hb("t0 pthread_create t1 =0\nt2 pthread_kill t1 =0\nt1 entry", "1-2 2-3");
}

#[test]
fn the_end_of_the_process_comes_between_the_same_steps_of_all_threads() {
    let run = "t1 entry\nt2 entry\nt2 exit =0\nt0 entry\nt1 return\nt2 pthread_mutex_lock m0 =0\nt1 exit =1\nt2 return";
    hb(run, "1-3 3-4 3-5 4-7 6-7 7-8");
    hb("t1 entry\nt0 return\nt1 return", "1-2 2-3");
    // After pthread_exit, main's return is not the end.
    hb("t1 entry\nt0 pthread_exit\nt0 return\nt1 return", "");
    // Nor is it if main is cancelled.
    hb("t1 entry\nt1 pthread_cancel t0 =0\nt0 return\nt1 return", "2-3");
    assert_eq!(process_end(&schedule(run)), Some(2));
    assert_eq!(process_end(&schedule("t0 pthread_exit\nt0 return\nt1 quick_exit =1")), Some(2));
    assert_eq!(process_end(&schedule("t0 thrd_exit\nt0 return\nt1 return")), None);
}

#[test]
fn the_total_order_is_one_chain_in_which_nothing_implied_is_enforced() {
    let events = "t0 pthread_create t1 =0
         t1 entry
         t0 pthread_barrier_wait begin b0
         t1 pthread_barrier_wait begin b0
         t0 pthread_barrier_wait end b0 =0
         t1 pthread_barrier_wait end b0 =0
         t1 return
         t0 pthread_join t1 =0";
    assert_eq!(edges_of(events, Order::Total), "1-2 2-3 3-4 g1-5 5-6 7-8 4-g1");
    let enforced = reduced(&schedule(events), Order::Total).edges;
    let enforced: Vec<Node> =
        enforced.iter().filter(|edge| !edge.kind.is_implied()).map(|edge| edge.to).collect();
    assert_eq!(enforced, [Node::Step(2), Node::Step(3), Node::Step(5)]);
}

#[test]
fn generations_of_a_barrier_follow_each_other_under_the_total_order_too() {
    let events = "t0 pthread_barrier_init b0 count=2 =0
         t0 pthread_barrier_wait begin b0
         t1 pthread_barrier_wait begin b0
         t2 pthread_barrier_wait begin b0
         t3 pthread_barrier_wait begin b0
         t2 pthread_barrier_wait end b0 =-1
         t1 pthread_barrier_wait end b0 =-1";
    assert_eq!(edges_of(events, Order::Total), "2-3 3-4 4-5 g2-6 6-7 3-g1 5-g2 g1-g2");
}

#[test]
fn derived_events_are_no_steps() {
    let schedule = schedule("t0 entry\nt0 call\nt0 pthread_mutex_lock m0 =0\nt1 call\nt1 entry");
    assert_eq!(steps(&schedule), [vec![0, 2], vec![4], vec![], vec![]]);
    let graph = reduced(&schedule, Order::Total);
    assert!(graph.edges.iter().all(|edge| edge.from != Node::Step(1) && edge.from != Node::Step(3)));
}

#[test]
fn orders_have_names() {
    for order in [Order::Hb, Order::Total] {
        assert_eq!(order.to_string().parse(), Ok(order));
    }
    assert!("HB".parse::<Order>().unwrap_err().contains("`HB`"));
}
