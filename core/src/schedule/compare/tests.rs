//! What counts as the same run, and how differences read. That every linearization is the same run, and none against
//! an edge, is tested with the orders.

use super::*;
use crate::schedule::parse;

/// t1 and t2 are made by t0; m0 and m1 have names, m2, m3 and c0 have none.
const RUN: &str = "t0 entry @0000000000000001
    t0 pthread_create t1 =0
    t0 pthread_create t2 =0
    t1 entry
    t2 entry
    t1 pthread_mutex_lock m0 =0 @0000000000000002
    t1 pthread_mutex_unlock m0 =0 @0000000000000003
    t2 pthread_mutex_lock m0 =0 @0000000000000002
    t2 pthread_mutex_unlock m0 =0 @0000000000000003
    t1 return
    t2 return
    t0 pthread_join t1 =0
    t0 pthread_join t2 =0
    t0 return";

fn schedule(events: &str) -> Schedule {
    let lines: Vec<&str> = events.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = format!(
        "covsched-schedule 1\nprogram \"a\" 0000000000000000\ncommand \"a\"\ncomplete\n\
         thread t0 main\nthread t1 t0/0\nthread t2 t0/1\nthread t3 foreign\nthread t4 foreign\n\
         object m0 symbol=\"lock\"\nobject m1 symbol=\"other\"\nobject c0\nobject m2\nobject m3\nobject sem0\nobject sem1\n\
         site 0000000000000001 entry \"dir/a.c\":3:1 \"main\" \"\"\n\
         site 0000000000000002 true \"dir/a.c\":9:1 \"f\" \"pthread_mutex_lock\"\n\
         site 0000000000000003 true \"dir/a.c\":11:1 \"f\" \"pthread_mutex_unlock\"\nevents {}\n{}\nend\n",
        lines.len(),
        lines.join("\n")
    );
    parse::parse(&text).unwrap()
}

#[track_caller]
fn same(expected: &str, actual: &str, order: Order) {
    compare(&schedule(expected), &schedule(actual), order).unwrap();
}

#[track_caller]
fn differs(expected: &str, actual: &str, order: Order) -> String {
    compare(&schedule(expected), &schedule(actual), order).unwrap_err().to_string()
}

/// [`RUN`] with a part of it replaced.
#[track_caller]
fn with(from: &str, to: &str) -> String {
    assert!(RUN.contains(from), "{from}");
    RUN.replacen(from, to, 1)
}

#[test]
fn another_lock_order_is_a_difference_with_both_places() {
    let locks = |first: &str, second: &str| {
        RUN.replace("t1 pthread_mutex", "X")
            .replace("t2 pthread_mutex", "Y")
            .replace('X', &format!("{first} pthread_mutex"))
            .replace('Y', &format!("{second} pthread_mutex"))
    };
    let message =
        "t2 after 1 steps: expected pthread_mutex_lock m0 (lock) at a.c:9 (f) after pthread_mutex_unlock \
                   m0 (lock) at a.c:11 (f) of t1, found it before";
    assert_eq!(differs(RUN, &locks("t2", "t1"), Order::Hb), message);
    same(RUN, &locks("t1", "t2"), Order::Total);
}

#[test]
fn what_is_not_ordered_may_be_in_another_order_under_hb_and_not_under_the_total_order() {
    let swapped = with("t1 return\n    t2 return", "t2 return\n    t1 return");
    same(RUN, &swapped, Order::Hb);
    let message = differs(RUN, &swapped, Order::Total);
    assert_eq!(message, "t2 after 3 steps: expected return after return of t1, found it before");
}

#[test]
fn a_thread_that_does_something_else_is_a_difference() {
    let found = |from: &str, to: &str| differs(RUN, &with(from, to), Order::Hb);
    let lock = "t1 after 1 steps: expected pthread_mutex_lock m0 (lock) at a.c:9 (f)";
    let first_lock = "t1 pthread_mutex_lock m0 =0 @0000000000000002";
    assert_eq!(
        found(first_lock, "t1 pthread_mutex_lock m0 =0"),
        format!("{lock}, found pthread_mutex_lock m0 (lock)")
    );
    assert_eq!(
        found(first_lock, "t1 pthread_mutex_trylock m0 =0 @0000000000000002"),
        format!("{lock}, found pthread_mutex_trylock m0 (lock) at a.c:9 (f)"),
    );
    assert_eq!(
        found(first_lock, "t1 pthread_mutex_lock m0 =35 @0000000000000002"),
        format!("{lock} with result 0, found pthread_mutex_lock m0 (lock) at a.c:9 (f) with result 35"),
    );
    assert!(found("t0 pthread_join t1 =0", "t0 pthread_join t2 =0")
        .contains("expected pthread_join t1 with thread t0/0, found pthread_join t2 with thread t0/1"));
    // One derived event more.
    assert_eq!(found(first_lock, &format!("t1 call\n{first_lock}")), format!("{lock}, found call"));
    assert!(found("t1 return\n", "").contains("t1 after 3 steps: expected return, found its end"));
    assert!(found("t0 return", "t0 pthread_mutex_lock m1 =0\nt0 return")
        .contains("expected return, found pthread_mutex_lock m1"));
    assert!(found("t0 return", "t0 return\nt0 pthread_mutex_lock m1 =0")
        .contains("t0 after 6 steps: expected its end, found pthread_mutex_lock m1 (other)"));
}

#[test]
fn counts_unwinding_and_wakers_are_compared() {
    let differ = |a: &str, b: &str, part: &str| {
        let message = differs(a, b, Order::Hb);
        assert!(message.contains(part), "{message}");
    };
    differ(
        "t0 sem_init sem0 count=1 =0",
        "t0 sem_init sem0 count=2 =0",
        "with count 1, found sem_init sem0 with count 2",
    );
    let wait = |rest: &str| {
        format!("t1 pthread_cond_wait begin c0 m0\nt0 pthread_cond_signal c0 =0\nt0 pthread_cond_signal c0 =0\nt1 pthread_cond_wait end c0 m0 {rest}\nt1 return")
    };
    differ(&wait("=0"), &wait("=0 unwound"), "with unwound false");
    differ(&wait("waker=t0/0 =0"), &wait("waker=t0/1 =0"), "with waker pthread_cond_signal c0 of t0");
    differ(&wait("waker=t0/0 =0"), &wait("=0"), "with waker none");
}

#[test]
fn threads_are_known_by_their_place_in_the_creation_tree() {
    let made = |first: &str, second: &str| {
        let events = format!("t0 pthread_create {first} =0\nt0 pthread_create {second} =0\n{first} entry\n{second} entry\n{second} return\nt3 entry\nt0 return");
        let mut run = schedule(&events);
        run.threads[1].nth = u32::from(first != "t1");
        run.threads[2].nth = u32::from(first == "t1");
        run
    };
    // Numbered in another order.
    compare(&made("t1", "t2"), &made("t2", "t1"), Order::Total).unwrap();
    let mut none = made("t1", "t2");
    none.threads[2].nth = 5;
    let message = compare(&made("t1", "t2"), &none, Order::Hb).unwrap_err().to_string();
    assert_eq!(message, "t0 after 1 steps: expected pthread_create t2 with thread t0/1, found pthread_create t2 with thread t0/5");
    let mut one_more = made("t1", "t2");
    one_more.threads.push(one_more.threads[3].clone());
    one_more.events.insert(4, Event::new(ThreadId(5), Op::entry));
    let message = compare(&made("t1", "t2"), &one_more, Order::Hb).unwrap_err().to_string();
    assert_eq!(message, "t5 after 0 steps: expected no such thread, found entry");
    let message = compare(&one_more, &made("t1", "t2"), Order::Hb).unwrap_err().to_string();
    assert_eq!(message, "t5 after 0 steps: expected entry, found no such thread");
}

#[test]
fn threads_of_code_without_hooks_are_known_by_their_first_step() {
    let locks = |first: &str, second: &str| {
        let one = |thread: &str, lock: &str| {
            format!("{thread} entry\n{thread} call\n{thread} pthread_mutex_{lock}\n")
        };
        format!("{}{}t0 return", one("t3", first), one("t4", second))
    };
    let at = |site: u32| format!("trylock m2 =16 @000000000000000{site}");
    // Another name, another place, another operation: they came in another order.
    for [a, b] in [
        ["lock m0 =0".to_owned(), "lock m1 =0".to_owned()],
        [at(2), at(3)],
        ["lock m0 =0".to_owned(), "trylock m0 =16".to_owned()],
    ] {
        same(&locks(&a, &b), &locks(&b, &a), Order::Hb);
        assert!(differs(&locks(&a, &b), &locks(&b, &b), Order::Hb).contains("t3 after 1 steps"), "{a} {b}");
    }
    // Of the same name, or of none, they are matched in turn, and so are those that are like no other.
    let results =
        |first: &str, second: &str| locks(&format!("lock m2 ={first}"), &format!("lock m2 ={second}"));
    same(&results("0", "35"), &results("0", "35"), Order::Hb);
    assert!(differs(&results("0", "35"), &results("35", "0"), Order::Hb)
        .contains("t3 after 1 steps: expected pthread_mutex_lock m2 with result 0"));
    assert!(differs(&locks("lock m0 =0", "lock m1 =0"), &locks("unlock m1 =0", "lock m1 =0"), Order::Hb)
        .contains(
            "t3 after 1 steps: expected pthread_mutex_lock m0 (lock), found pthread_mutex_unlock m1 (other)"
        ));
    // Whom a join is for may not be known yet.
    let [known, unknown] =
        ["t3", ""].map(|thread| format!("t3 entry\nt3 return\nt0 pthread_join {thread} =0"));
    same(&known, &unknown, Order::Hb);
    same(&unknown, &known, Order::Hb);
    assert!(differs(&known, &known.replace("join t3", "join t4"), Order::Hb).contains("with thread foreign"));
    assert!(differs(&unknown, &unknown.replace("join", "join t1"), Order::Hb)
        .contains("expected pthread_join with thread none"));
    // An entry that has a place is a first step too.
    let entry = |first: u32, second: u32| {
        format!("t3 entry @000000000000000{first}\nt4 entry @000000000000000{second}")
    };
    same(&entry(1, 2), &entry(2, 1), Order::Hb);
}

#[test]
fn objects_with_a_name_or_an_init_correspond_one_to_one() {
    let two = "t0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_lock m1 =0";
    let message = differs(two, "t0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_lock m0 =0", Order::Hb);
    assert!(
        message.ends_with("found pthread_mutex_lock m0 (lock), on the object that was m0 (lock) before"),
        "{message}"
    );
    assert!(differs(two, "t0 pthread_mutex_lock m1 =0\nt0 pthread_mutex_lock m0 =0", Order::Hb)
        .contains("found pthread_mutex_lock m1 (other)"));
    let one = "t0 sem_init sem0 count=1 =0\nt0 sem_wait sem0 =0";
    same(one, &one.replace("sem0", "sem1"), Order::Hb);
    assert!(differs(one, &one.replace("wait sem0", "wait sem1"), Order::Hb)
        .contains("on another object than before"));
    // The mutex of a wait counts too.
    let wait = "t1 pthread_cond_wait begin c0 m0\nt1 pthread_mutex_lock m0 =0";
    assert!(differs(wait, &wait.replace("c0 m0", "c0 m1"), Order::Hb).contains("c0 m1 (other)"));
}

#[test]
fn objects_without_either_may_share_memory_in_turn() {
    let two = "t0 pthread_mutex_lock m2 =0\nt0 pthread_mutex_unlock m2 =0\nt0 pthread_mutex_lock m3 =0";
    same(two, &two.replace("m3", "m2"), Order::Hb);
    same(&two.replace("m3", "m2"), two, Order::Hb);
    assert!(differs(two, &two.replace("lock m3", "lock m1"), Order::Hb).contains("m1 (other)"));
}

#[test]
fn what_others_do_after_the_end_of_the_process_may_be_missing() {
    let end = "t1 entry\nt0 exit =0\n";
    let longer = format!("{end}t1 pthread_mutex_lock m0 =0\nt1 pthread_mutex_unlock m0 =0\nt2 entry");
    for order in [Order::Hb, Order::Total] {
        same(&longer, end, order);
        same(end, &longer, order);
    }
    // But not what its thread does, nor what came before.
    assert!(differs(&format!("{end}t0 pthread_mutex_lock m0 =0"), end, Order::Hb).contains("found its end"));
    assert!(differs(end, "t0 exit =0\n", Order::Hb).contains("expected entry, found its end"));
    assert!(differs("t0 exit =0\n", end, Order::Hb).contains("expected its end, found entry"));
    // What is there on both sides is on the same side of the end.
    assert!(differs("t0 exit =0\nt1 entry", "t1 entry\nt0 exit =0", Order::Hb)
        .contains("expected entry after exit of t0"));
}

#[test]
fn a_return_that_nobody_waits_for_may_be_missing() {
    let run = "t1 entry\nt1 return\nt0 return";
    let without = "t1 entry\nt0 return";
    same(run, without, Order::Hb);
    same(without, run, Order::Hb);
    let joined = |run: &str| run.replace("t0 return", "t0 pthread_join t1 =0\nt0 return");
    assert!(differs(&joined(run), &joined(without), Order::Hb).contains("expected return, found its end"));
}

#[test]
fn a_call_that_the_end_of_the_process_cut_off_has_any_result() {
    let run = "t1 pthread_mutex_lock m0 =0\nt1 pthread_mutex_unlock m0 =0\nt0 exit =0";
    let cut_off = run.replace("t1 pthread_mutex_unlock m0 =0", "t1 pthread_mutex_unlock m0");
    same(run, &cut_off, Order::Total);
    same(&cut_off, run, Order::Total);
    let inside = run.replace("t1 pthread_mutex_lock m0 =0", "t1 pthread_mutex_lock m0");
    assert!(differs(run, &inside, Order::Hb).contains("with result none"));
}
