//! Each rule of owned code, of spans and of what always executes, on programs by hand.

use crate::ir::code::InstId;
use crate::specialize::data::places::{Places, Span, Start};
use crate::specialize::data::testing::Scene;
use covsched_core::schedule::order::Order;
use covsched_core::ThreadId;

/// With a `main` that calls main's clone.
fn scene(program: &str, events: &str) -> Scene {
    Scene::new(&format!("fn main\n e: call main.t0.0; ret\n{program}"), events)
}

fn owned<'a>(scene: &'a Scene, places: &Places<'_, '_>) -> Vec<&'a str> {
    let functions = places.functions().map(|function| scene.code.function(function).name.as_str());
    let mut names: Vec<&str> = functions.collect();
    names.sort_unstable();
    names
}

fn span(scene: &Scene, places: &Places<'_, '_>, name: &str) -> Option<(u32, u32)> {
    places.span(scene.at(name)).map(|Span { after, until }| (after, until))
}

const ENTRY: &str = "t0 - entry\n";

#[test]
fn functions_with_one_call_in_owned_code_are_owned() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; call f; call g; call g; call ext; ret
         fn f
           e: a; call h; ret
         fn g
           e: b; call i; ret
         fn h
           e: c; ret
         fn i
           e: d; ret
         fn nobody
           e: z; call alone; ret
         fn alone
           e: y; ret",
        ENTRY,
    );
    let places = scene.places();
    assert_eq!(owned(&scene, &places), ["f", "h", "main.t0.0"]);
    assert_eq!(places.thread(scene.at("c")), Some(ThreadId(0)));
    assert_eq!(places.thread(scene.at("b")), None);
    assert_eq!(places.thread(scene.at("d")), None, "its only call is in shared code");
    assert_eq!(places.thread(scene.at("y")), None, "nobody calls it");
    assert_eq!(places.start(scene.function("main.t0.0")), Some(Start::Main));
    let call = places.call_site(scene.function("h")).unwrap();
    assert_eq!(scene.code.function_of(call), scene.function("f"));
    assert_eq!(places.call_site(scene.function("main.t0.0")), None);
}

#[test]
fn recursive_functions_and_those_that_others_may_call_are_not_owned() {
    let mut scene = scene(
        "fn main.t0.0 t0/0
           e: enter; call f; call g; call h; call i; ret
         fn f
           e: a; call f; ret
         fn g
           e: b; ret
         fn h
           e: call setjmp; call j; ret
         fn i
           e: c; ret
         fn j
           e: d; ret",
        ENTRY,
    );
    let g = scene.function("g");
    scene.code.functions[g.index()].is_address_taken = true;
    let i = scene.function("i");
    scene.code.functions[i.index()].is_internal = false;
    let places = scene.places();
    assert_eq!(owned(&scene, &places), ["main.t0.0"]);
}

#[test]
fn a_recursion_outside_of_the_tree_is_not_owned() {
    // Each has one call; nothing leads there.
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; ret
         fn f
           e: a; call g; ret
         fn g
           e: b; call f; ret",
        ENTRY,
    );
    assert_eq!(owned(&scene, &scene.places()), ["main.t0.0"]);
}

const WORKERS: &str = "t0 - entry
    t0 0.0 pthread_create t1
    t1 - entry
    t1 0.0 pthread_create t2
    t2 - entry
    t2 0.0 return
    t1 0.1 pthread_join t2
    t1 0.2 return
    t0 0.1 pthread_join t1
    t0 0.2 return";

const WORKERS_CODE: &str = "fn main.t0.0 t0/0
       e: m0; enter; m1; create1=item 0 create w.t1.0; m2; item 1 lock; m3; item 2 lock; m4; ret
     fn w.t1.0 t1/0
       e: w0; enter; w1; create2=item 0 create w.t2.0; w2; item 1 lock; w3; item 2 lock; w4; ret
     fn w.t2.0 t2/0
       e: x0; enter; x1; call f; item 0 lock; x2; ret
     fn f
       e: x3; ret";

#[test]
fn threads_are_owned_and_run_between_create_and_join() {
    let scene = scene(WORKERS_CODE, WORKERS);
    let places = scene.places();
    assert_eq!(owned(&scene, &places), ["f", "main.t0.0", "w.t1.0", "w.t2.0"]);
    assert_eq!(places.start(scene.function("w.t1.0")), Some(Start::Thread(Some(scene.at("create1")))));
    assert_eq!(places.start(scene.function("w.t2.0")), Some(Start::Thread(Some(scene.at("create2")))));
    assert_eq!(places.thread(scene.at("x3")), Some(ThreadId(2)));
    let before = |a: &str, b: &str| places.before(scene.at(a), scene.at(b));
    for x in ["x0", "x1", "x3"] {
        for early in ["m0", "m1", "w0", "w1"] {
            assert!(before(early, x) && !before(x, early), "{early} {x}");
        }
        for late in ["w3", "w4", "m3", "m4"] {
            assert!(before(x, late) && !before(late, x), "{x} {late}");
        }
        for other in ["m2", "w2", "create1", "create2"] {
            // The creation itself may still write the thread's name.
            assert!(places.concurrent(scene.at(x), scene.at(other)) || other == "create1", "{x} {other}");
        }
    }
    // Behind its last step a thread is over when it is joined.
    assert!(before("x2", "w3") && before("x2", "m3") && before("w4", "m3"));
    assert!(!before("x2", "w2") && !before("w4", "m2"));
    assert!(!before("m4", "x2"), "nobody joins main");
}

#[test]
fn a_thread_that_is_not_joined_is_never_over() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; item 0 create w.t1.0; item 1 lock; a; ret
         fn w.t1.0 t1/0
           e: enter; b; item 0 lock; c; ret",
        "t0 - entry
         t0 0.0 pthread_create t1
         t1 - entry
         t1 0.0 sem_post s0
         t0 0.1 sem_wait s0",
    );
    let places = scene.places();
    assert_eq!(span(&scene, &places, "c"), Some((2, 2)));
    assert!(places.before(scene.at("b"), scene.at("a")));
    assert!(places.concurrent(scene.at("c"), scene.at("a")));
}

#[test]
fn a_clone_that_is_given_twice_is_no_threads_own() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; item 0 create w.t1.0; call w.t1.0; ret
         fn w.t1.0 t1/0
           e: enter; b; ret",
        "t0 - entry\nt0 0.0 pthread_create t1\nt1 - entry",
    );
    assert_eq!(owned(&scene, &scene.places()), ["main.t0.0"]);
}

const LOCKS: &str = "t0 - entry
    t0 0.0 pthread_mutex_lock m0
    t0 0.1 pthread_mutex_unlock m0
    t0 0.2 return";

#[test]
fn items_divide_a_function_into_segments() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: a; enter; b; jmp l
           l: c; br l n
           n: lock=item 0 lock; d; call f; br o p
           o: g; jmp q
           p: h; jmp q
           q: i; unlock=item 1 lock; j; leave=item 2 lock; k; ret
         fn f
           e: m; br x y
           x: n; jmp x
           y: o; ret",
        LOCKS,
    );
    let places = scene.places();
    let span = |name| span(&scene, &places, name).unwrap();
    // The entry is over behind its hook; no item has it, so it may have begun before.
    assert_eq!(["a", "b", "c"].map(span), [(0, 1), (1, 1), (1, 1)]);
    assert_eq!(["lock", "unlock", "leave"].map(span), [(1, 2), (2, 3), (3, 4)]);
    assert_eq!(["d", "g", "h", "i", "m", "n", "o"].map(span), [(2, 2); 7]);
    assert_eq!(["j", "k"].map(span), [(3, 3), (4, 4)]);
}

#[test]
fn an_item_may_have_two_moments_and_stand_in_two_places() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; br x y
           x: a; wait=item 0 lock; b; jmp z
           y: c; other=item 0 lock; d; jmp z
           z: g; item 1 lock; ret",
        "t0 - entry
         t0 0.0 pthread_cond_wait begin c0 m1
         t0 0.0 pthread_cond_wait end c0 m1
         t0 0.1 return",
    );
    let places = scene.places();
    let span = |name| span(&scene, &places, name).unwrap();
    assert_eq!(["a", "c"].map(span), [(1, 1); 2]);
    assert_eq!(["wait", "other"].map(span), [(1, 3); 2]);
    assert_eq!(["b", "d", "g"].map(span), [(3, 3); 3]);
    // One of the two does it.
    assert_eq!(
        ["a", "c", "wait", "g"].map(|name| places.always(scene.at(name))),
        [false, false, false, true]
    );
}

#[test]
fn steps_that_no_item_has_lie_between_items() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; item 0 lock; a; call qsort; b; item 1 lock; c; ret",
        "t0 - pthread_mutex_lock m1
         t0 - entry
         t0 0.0 pthread_mutex_lock m0
         t0 - pthread_mutex_unlock m1
         t0 0.1 pthread_mutex_unlock m0
         t0 - pthread_mutex_lock m1",
    );
    let places = scene.places();
    let span = |name| span(&scene, &places, name).unwrap();
    // Where in the sort it was, nobody knows; constructors' are over before main begins.
    assert_eq!(["a", "b", "c"].map(span), [(3, 4), (3, 4), (5, 6)]);
}

const CALLS: &str = "t0 - entry
    t0 1.0 pthread_mutex_lock m0
    t0 1.1 pthread_mutex_unlock m0
    t0 0.1 return";

#[test]
fn a_frames_clone_runs_between_what_is_around_its_call() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; a; call=item 0 call f.t0.1; b; item 1 lock; ret
         fn f.t0.1 t0/1
           e: c; item 0 lock; d; item 1 lock; g; br x y
           x: ret
           y: h; ret",
        CALLS,
    );
    let places = scene.places();
    let span = |name| span(&scene, &places, name).unwrap();
    assert_eq!(["a", "c", "d", "g", "h", "b"].map(span), [(1, 1), (1, 1), (2, 2), (3, 3), (3, 3), (3, 3)]);
    assert_eq!(span("call"), (1, 3));
    let always = |name| places.always(scene.at(name));
    assert_eq!(
        ["a", "call", "b", "c", "d", "g", "h"].map(always),
        [true, true, true, true, true, true, false]
    );
}

#[test]
fn clones_that_may_come_back_without_their_items_are_not_owned() {
    // Called again in a loop, and from a second place.
    for again in ["x", "y"] {
        let scene = scene(
            &format!(
                "fn main.t0.0 t0/0
                   e: enter; jmp x
                   x: a; call=item 0 call f.t0.1; flag z n
                   n: b; jmp {again}
                   y: c; item 0 call f.t0.1; jmp z
                   z: d; g=item 1 lock; h; ret
                 fn f.t0.1 t0/1
                   e: br i r
                   i: item 0 lock; k; item 1 lock; ret
                   r: ret"
            ),
            CALLS,
        );
        let places = scene.places();
        assert_eq!(owned(&scene, &places), ["main.t0.0"]);
        let span = |name| span(&scene, &places, name).unwrap();
        // Only the next item shows that it was done.
        assert_eq!((span("d"), span("g"), span("h")), ((1, 3), (3, 4), (4, 4)));
        assert_eq!(span("b"), (1, 3));
        assert!(places.always(scene.at("call")), "one of the two, and this one first");
        assert_eq!(places.once(scene.at("call")), again == "y");
    }
}

#[test]
fn a_clone_with_a_flag_that_is_called_once_has_done_its_items() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; item 0 call f.t0.1; flag z n
           n: b; trap
           z: d; item 1 lock; ret
         fn f.t0.1 t0/1
           e: item 0 lock; k; item 1 lock; ret",
        CALLS,
    );
    let places = scene.places();
    assert_eq!(owned(&scene, &places), ["f.t0.1", "main.t0.0"]);
    assert_eq!(span(&scene, &places, "d"), Some((3, 3)));
}

#[test]
fn clones_whose_items_are_not_the_schedules_are_not_owned() {
    let bad = [
        // One is missing.
        "e: enter; item 1 lock; item 2 lock; ret",
        "e: enter; item 0 lock; item 1 lock; ret",
        // Out of order.
        "e: enter; item 1 lock; item 0 lock; item 2 lock; ret",
        // One of two places has lost its mark.
        "e: enter; br x y\n x: item 0 lock; jmp z\n y: call covsched_pthread_mutex_lock; jmp z\n z: item 1 lock; item 2 lock; ret",
        "e: enter; item 0 lock; item 1 lock; br x y\n x: item 2 lock; ret\n y: call covsched_pthread_mutex_lock; ret",
        // In a loop.
        "e: enter; jmp l\n l: item 0 lock; br l m\n m: item 1 lock; item 2 lock; ret",
    ];
    for blocks in bad {
        let scene = scene(&format!("fn main.t0.0 t0/0\n {blocks}"), LOCKS);
        // The schedule has all three, whatever the code has.
        let mut kept = scene.kept.clone();
        let items = super::super::testing::Scene::new(
            "fn main.t0.0 t0/0\n e: item 0 lock; item 1 lock; item 2 lock; ret",
            LOCKS,
        );
        kept.frames[0].items = items.kept.frames[0].items.clone();
        let places = Places::of(&scene.code, &scene.schedule, Order::Hb, &kept);
        assert_eq!(places.functions().count(), 0, "{blocks}");
    }
    let mut scene = scene("fn main.t0.0 t0/0\n e: enter; item 0 lock; item 1 lock; item 2 lock; ret", LOCKS);
    assert_eq!(scene.places().functions().count(), 1);
    scene.kept.frames[0].items[1].site.0 += 1;
    assert_eq!(scene.places().functions().count(), 0, "another site");
}

#[test]
fn what_dominates_an_item_always_executes() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: a; enter; call ext; b; br x y
           x: c; jmp z
           y: d; jmp z
           z: g; call f; h; item 0 lock; i; br t u
           t: trap
           u: j; item 1 lock; k; item 2 lock; l; call ext; m; ret
         fn f
           e: n; br o p
           o: q; br o r
           p: s; jmp r
           r: v; ret",
        LOCKS,
    );
    let places = scene.places();
    let always = |name: &&&str| places.always(scene.at(name));
    let all = ["a", "b", "c", "d", "g", "h", "i", "j", "k", "l", "m", "n", "q", "s", "v"];
    let found: Vec<&&str> = all.iter().filter(|name| always(name)).collect();
    // Behind the last item nothing says that control goes on.
    assert_eq!(found, [&"a", &"b", &"g", &"h", &"i", &"j", &"k", &"n", &"v"]);
    assert!(places.always_comes_to(scene.code.inst(scene.at("v")).block));
    assert!(!places.always_comes_to(scene.code.inst(scene.at("s")).block));
}

#[test]
fn a_function_that_is_called_executes_until_it_may_stop() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; item 0 lock; item 1 lock; item 2 lock; call f; a; ret
         fn f
           e: b; assume; c; jmp n
           n: d; call ext; g; ret",
        LOCKS,
    );
    let places = scene.places();
    let always = |name| places.always(scene.at(name));
    assert_eq!(["a", "b", "c", "d", "g"].map(always), [false; 5], "nobody knows whether it is called");
    let scene = super::super::testing::Scene::new(
        "fn main
           e: call main.t0.0; ret
         fn main.t0.0 t0/0
           e: enter; item 0 lock; item 1 lock; call=item 2 call f.t0.1; ret
         fn f.t0.1 t0/1
           e: call g; b; item 0 lock; ret
         fn g
           e: c; jmp n
           n: d; call ext; h; br n o
           o: i; ret",
        "t0 - entry
         t0 0.0 pthread_mutex_lock m0
         t0 0.1 pthread_mutex_unlock m0
         t0 1.0 exit",
    );
    let places = scene.places();
    let always = |name| places.always(scene.at(name));
    assert_eq!(["b", "c", "d", "h", "i"].map(always), [true; 5], "it comes back to an item");
}

#[test]
fn a_call_that_an_exception_leaves_does_not_come_back() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; invoke f ok bad
           ok: a; jmp on
           bad: b; jmp on
           on: c; item 0 lock; item 1 lock; item 2 lock; ret
         fn f
           e: d; call ext; g; ret",
        LOCKS,
    );
    let places = scene.places();
    let always = |name| places.always(scene.at(name));
    assert_eq!(["d", "g", "a", "b", "c"].map(always), [true, false, false, false, true]);
}

#[test]
fn what_is_in_no_cycle_up_to_the_threads_begin_executes_once() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; a; call f; jmp l
           l: b; call g; br l m
           m: c; br p q
           p: d; br q r
           q: h; br p r
           r: ret
         fn f
           e: i; br x y
           x: j; jmp x
           y: k; ret
         fn g
           e: o; ret",
        ENTRY,
    );
    let places = scene.places();
    let once = |name: &&&str| places.once(scene.at(name));
    let all = ["a", "b", "c", "d", "h", "i", "j", "k", "o"];
    assert_eq!(all.iter().filter(|name| once(name)).collect::<Vec<_>>(), [&"a", &"c", &"i", &"k"]);
}

#[test]
fn the_total_order_says_more() {
    let program = "fn main.t0.0 t0/0
           e: enter; item 0 create w.t1.0; a; item 1 lock; b; item 2 lock; c; ret
         fn w.t1.0 t1/0
           e: enter; d; item 0 lock; g; item 1 lock; h; ret";
    let events = "t0 - entry
         t0 0.0 pthread_create t1
         t0 0.1 pthread_mutex_lock m0
         t0 0.2 pthread_mutex_unlock m0
         t1 - entry
         t1 0.0 pthread_mutex_lock m1
         t1 0.1 pthread_mutex_unlock m1";
    let scene = scene(program, events);
    let pairs = |order| {
        let places = scene.places_in(order);
        let before = |(a, b): &(&str, &str)| places.before(scene.at(a), scene.at(b));
        let all = ["a", "b", "c"].into_iter().flat_map(|a| ["d", "g", "h"].map(|b| (a, b)));
        all.filter(before).collect::<Vec<_>>()
    };
    assert_eq!(pairs(Order::Hb), []);
    let total = [("a", "d"), ("a", "g"), ("a", "h"), ("b", "d"), ("b", "g"), ("b", "h")];
    assert_eq!(pairs(Order::Total), total);
}

#[test]
fn barriers_order_what_is_on_both_sides_of_them() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; item 0 lock; item 1 create w.t1.0; jmp l
           l: a; br l m
           m: wait0=item 2 lock; jmp k
           k: b; br k n
           n: item 3 lock; c; ret
         fn w.t1.0 t1/0
           e: enter; d; wait1=item 0 lock; g; item 1 lock; h; ret",
        "t0 - entry
         t0 0.0 pthread_barrier_init b0
         t0 0.1 pthread_create t1
         t1 - entry
         t0 0.2 pthread_barrier_wait begin b0
         t1 0.0 pthread_barrier_wait begin b0
         t1 0.0 pthread_barrier_wait end b0 =-1
         t0 0.2 pthread_barrier_wait end b0
         t1 0.1 pthread_barrier_wait begin b0
         t0 0.3 pthread_barrier_wait begin b0
         t0 0.3 pthread_barrier_wait end b0 =-1
         t1 0.1 pthread_barrier_wait end b0",
    );
    let places = scene.places();
    let before = |(a, b): (&str, &str)| places.before(scene.at(a), scene.at(b));
    for pair in [("a", "g"), ("d", "b"), ("a", "h"), ("b", "h"), ("g", "c"), ("a", "b"), ("d", "g")] {
        assert!(before(pair) && !before((pair.1, pair.0)), "{pair:?}");
    }
    for (a, b) in [("a", "d"), ("b", "g"), ("c", "h"), ("wait0", "wait1"), ("wait0", "d")] {
        assert!(places.concurrent(scene.at(a), scene.at(b)), "{a} {b}");
    }
}

#[test]
fn nothing_is_claimed_of_code_that_is_not_owned_or_not_reached() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; a; call f; call f; b; ret
           u: c; ret
         fn f
           e: d; ret",
        ENTRY,
    );
    let places = scene.places();
    let all: Vec<InstId> = ["a", "b", "c", "d"].map(|name| scene.at(name)).to_vec();
    for &other in &all[2..] {
        assert!(places.thread(other).is_none() && places.span(other).is_none());
        assert!(!places.once(other) && !places.always(other));
        assert!(places.concurrent(other, all[0]) && places.concurrent(all[0], other));
        for &a in &all {
            assert!(!places.before(a, other) && !places.before(other, a));
            assert!(!places.dominates(a, other) && !places.dominates(other, a));
            assert!(places.between(other, all[0], all[1]));
        }
    }
}
