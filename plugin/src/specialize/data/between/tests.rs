//! Before, dominance and between, rule by rule, on programs by hand.

use crate::specialize::data::places::Places;
use crate::specialize::data::testing::Scene;

/// With a `main` that calls main's clone.
fn scene(program: &str, events: &str) -> Scene {
    Scene::new(&format!("fn main\n e: call main.t0.0; ret\n{program}"), events)
}

const ENTRY: &str = "t0 - entry\n";

/// Asks by name.
struct Ask<'a> {
    scene: &'a Scene,
    places: Places<'a, 'static>,
}

impl<'a> Ask<'a> {
    fn of(scene: &'a Scene) -> Ask<'a> {
        Ask { scene, places: scene.places() }
    }

    fn before(&self, a: &str, b: &str) -> bool {
        self.places.before(self.scene.at(a), self.scene.at(b))
    }

    fn dominates(&self, a: &str, b: &str) -> bool {
        self.places.dominates(self.scene.at(a), self.scene.at(b))
    }

    /// Which of these may execute between.
    fn between<'n>(&self, d: &str, u: &str, all: &[&'n str]) -> Vec<&'n str> {
        let may = |w: &&&str| self.places.between(self.scene.at(w), self.scene.at(d), self.scene.at(u));
        all.iter().filter(may).copied().collect()
    }
}

#[test]
fn in_one_function_control_flow_says_what_is_before() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; a; b; br l r
           l: c; br l m
           r: d; jmp m
           m: g; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    assert!(ask.before("a", "b") && !ask.before("b", "a") && !ask.before("a", "a"));
    assert!(ask.before("a", "c") && ask.before("c", "g") && !ask.before("g", "c"));
    assert!(!ask.before("c", "c"));
    // Only one of the two ways is taken: there is nothing to be out of order.
    assert!(ask.before("c", "d") && ask.before("d", "c"));
}

#[test]
fn a_function_that_is_called_again_begins_again() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; call f; jmp l
           l: a; call g; b; br l m
           m: c; ret
         fn f
           e: d; h; ret
         fn g
           e: i; j; call k; ret
         fn k
           e: n; o; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    assert!(ask.before("d", "h") && !ask.before("h", "d"));
    assert!(!ask.before("i", "j") && !ask.before("n", "o") && !ask.before("i", "n"));
    assert!(ask.before("h", "i") && ask.before("h", "n") && ask.before("n", "c"));
    assert!(!ask.before("a", "n") && !ask.before("n", "b"));
}

#[test]
fn segments_order_what_is_called_again() {
    // The loop around the synchronization is two copies of it.
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; jmp l0
           l0: call f; br l0 m0
           m0: item 0 lock; jmp l1
           l1: call g; br l1 m1
           m1: item 1 lock; a; ret
         fn f
           e: b; c; ret
         fn g
           e: d; h; ret",
        "t0 - entry\nt0 0.0 pthread_mutex_lock m0\nt0 0.1 pthread_mutex_unlock m0",
    );
    let ask = Ask::of(&scene);
    assert!(ask.before("c", "d") && ask.before("b", "h") && ask.before("h", "a"));
    assert!(!ask.before("b", "c") && !ask.before("d", "h") && !ask.before("d", "b"));
}

#[test]
fn a_call_and_what_is_below_it_are_not_apart() {
    let scene = scene("fn main.t0.0 t0/0\n e: enter; x=call f; b; ret\n fn f\n e: a; ret", ENTRY);
    let ask = Ask::of(&scene);
    assert!(!ask.before("x", "a") && !ask.before("a", "x") && !ask.dominates("x", "a"));
    assert!(ask.dominates("x", "b") && ask.dominates("a", "b") && !ask.dominates("a", "x"));
}

#[test]
fn dominance_goes_down_into_calls_and_up_from_their_returns() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; a; call f; b; br x y
           x: c; jmp y
           y: call g; d; ret
         fn f
           e: h; br p q
           p: i; ret
           q: j; call k; ret
         fn g
           e: l; m; ret
         fn k
           e: n; br r s
           r: o; br r s
           s: t; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    for (a, b) in
        [("a", "h"), ("a", "n"), ("a", "m"), ("h", "b"), ("h", "m"), ("h", "t"), ("l", "d"), ("j", "o")]
    {
        assert!(ask.dominates(a, b), "{a} {b}");
    }
    for (a, b) in
        [("h", "a"), ("i", "b"), ("j", "b"), ("n", "b"), ("c", "m"), ("o", "t"), ("m", "l"), ("a", "a")]
    {
        assert!(!ask.dominates(a, b), "{a} {b}");
    }
}

#[test]
fn dominance_needs_the_normal_way_back_from_an_invoke() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; x=invoke f ok bad
           ok: a; br ok2 ok
           ok2: b; jmp on
           bad: c; jmp on
           on: d; ret
         fn f
           e: h; y=invoke ext in out
           in: i; ret
           out: j; resume",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    for (a, b) in [("h", "a"), ("h", "b"), ("i", "a"), ("x", "b"), ("y", "i"), ("y", "b")] {
        assert!(ask.dominates(a, b), "{a} {b}");
    }
    // What the exception left behind: nobody knows.
    for (a, b) in [("h", "c"), ("h", "d"), ("i", "d"), ("x", "c"), ("x", "d"), ("j", "b"), ("y", "j")] {
        assert!(!ask.dominates(a, b), "{a} {b}");
    }
}

#[test]
fn what_is_between_in_one_block_and_around_a_loop() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; a; d; b; u; c; jmp l
           l: g; d2; h; u2; i; br l m
           m: j; u3; k; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    let all = ["a", "d", "b", "u", "c", "g", "d2", "h", "u2", "i", "j", "u3", "k"];
    assert_eq!(ask.between("d", "u", &all), ["b"]);
    // Around the loop d2 comes before u2 again.
    assert_eq!(ask.between("d2", "u2", &all), ["h"]);
    assert_eq!(ask.between("d2", "u3", &all), ["h", "u2", "i", "j"]);
    // From before the loop everything in it may execute, u2 itself in another round.
    assert_eq!(ask.between("d", "u2", &all), ["b", "u", "c", "g", "d2", "h", "u2", "i"]);
    // And what comes behind d in the round before.
    assert_eq!(ask.between("g", "d2", &all), Vec::<&str>::new());
    assert_eq!(ask.between("d", "u3", &all), ["b", "u", "c", "g", "d2", "h", "u2", "i", "j"]);
}

#[test]
fn a_store_before_the_definition_counts_if_the_loop_can_leave_without_it() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; d; jmp l
           l: w; br x y
           x: d2; jmp z
           y: v; jmp z
           z: u; br l m
           m: n; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    assert_eq!(ask.between("d", "u", &["w", "d2", "v", "u", "n"]), ["w", "d2", "v", "u"]);
    // d2 does not dominate u: nothing is known.
    assert_eq!(ask.between("d2", "u", &["w", "n"]), ["w", "n"]);
}

#[test]
fn other_branches_are_not_between() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; d; br x y
           x: a; u; b; jmp z
           y: c; jmp z
           z: g; u2; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    let all = ["a", "b", "c", "g"];
    assert_eq!(ask.between("d", "u", &all), ["a"]);
    assert_eq!(ask.between("d", "u2", &all), ["a", "b", "c", "g"]);
}

#[test]
fn between_looks_into_the_call_that_leads_to_the_use() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; d; a; call f; b; jmp l
           l: d2; call g; br l m
           m: d3; jmp k
           k: call h; br k n
           n: ret
         fn f
           e: c; br p q
           p: i; jmp q
           q: u; j; ret
         fn g
           e: o; u2; r; ret
         fn h
           e: s; u3; t; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    assert_eq!(ask.between("d", "u", &["a", "b", "c", "i", "j", "o"]), ["a", "c", "i"]);
    // Each call of g comes behind a new d2; those of h do not come behind a new d3.
    assert_eq!(ask.between("d2", "u2", &["o", "r", "u2"]), ["o"]);
    assert_eq!(ask.between("d3", "u3", &["s", "t", "u3", "o"]), ["s", "t", "u3"]);
}

#[test]
fn between_looks_into_the_call_that_had_the_definition() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; jmp l
           l: call f; a; u; b; br l m
           m: ret
         fn f
           e: c; br x y
           x: w; d; v; br x z
           y: ret2; stop
           z: g; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    let all = ["c", "w", "d", "v", "g", "a", "u", "b"];
    assert_eq!(ask.between("d", "u", &all), ["v", "g", "a"]);
    // c is behind no d that u sees: f is called anew.
    assert!(ask.dominates("c", "u"));
    assert_eq!(ask.between("c", "u", &all), ["w", "d", "v", "g", "a"]);
}

#[test]
fn an_exception_may_leave_the_definitions_call_before_its_return() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; jmp l
           l: invoke f ok bad
           ok: a; br l m
           bad: b; jmp m
           m: c; br ok2 n
           ok2: u; ret
           n: ret
         fn f
           e: v; d; w; call ext; g; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    // Without a normal way back it does not dominate.
    assert!(!ask.dominates("d", "u") && ask.dominates("d", "a"));
    assert_eq!(ask.between("d", "a", &["v", "w", "g", "b", "a"]), ["w", "g"]);
    let scene = self::scene(
        "fn main.t0.0 t0/0
           e: enter; invoke f ok bad
           ok: a; br again u
           again: c; invoke f2 ok bad
           bad: b; jmp ok
           u: u1; ret
         fn f
           e: v; d; w; call ext; g; ret
         fn f2
           e: v2; d2; w2; call ext; g2; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    assert!(!ask.dominates("d", "u1"), "an exception leads around it");
}

#[test]
fn an_exception_may_leave_a_second_call_with_the_definition() {
    // The first call comes back; a later one may be left before d, and u still sees the first d, but also what the later
    // call did.
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; jmp l
           l: invoke f ok bad
           ok: a; jmp m
           m: u; br l2 n
           l2: c; jmp l3
           l3: b; jmp m
           n: ret
           bad: stop
         fn f
           e: v; d; w; call ext; g; ret",
        ENTRY,
    );
    let ask = Ask::of(&scene);
    assert_eq!(ask.between("d", "u", &["v", "w", "g", "a", "b", "c", "u"]), ["w", "g", "a", "b", "c", "u"]);
    let scene = self::scene(
        "fn main.t0.0 t0/0
           e: enter; jmp l
           l: x=invoke f ok bad
           ok: a; jmp m
           m: u; br l n
           bad: b; br m n
           n: ret
         fn f
           e: v; d; w; call ext; g; ret",
        ENTRY,
    );
    assert!(!Ask::of(&scene).dominates("d", "u"), "the first call may be left, too");
}

const HAND_OVER: &str = "t0 - entry
    t0 0.0 pthread_create t1
    t0 0.1 pthread_mutex_lock m0
    t0 0.2 pthread_mutex_unlock m0
    t1 - entry
    t1 0.0 pthread_mutex_lock m0
    t1 0.1 pthread_mutex_unlock m0
    t1 0.2 return
    t0 0.3 pthread_join t1
    t0 0.4 return";

#[test]
fn other_threads_count_unless_they_are_before_or_after() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; a; item 0 create w.t1.0; b; item 1 lock; c; item 2 lock; d; item 3 lock; g; u; item 4 lock; ret
         fn w.t1.0 t1/0
           e: enter; h; item 0 lock; i; item 1 lock; j; item 2 lock; ret",
        HAND_OVER,
    );
    let ask = Ask::of(&scene);
    let all = ["a", "b", "c", "d", "g", "h", "i", "j"];
    // In one thread.
    assert_eq!(ask.between("a", "b", &all), ["h"], "i is behind the lock");
    assert_eq!(ask.between("c", "u", &all), ["d", "g", "h", "i", "j"]);
    assert_eq!(ask.between("g", "u", &all), Vec::<&str>::new());
    // From one to the other: c is stored once and always before i.
    assert!(ask.before("c", "i") && !ask.dominates("c", "i"));
    assert_eq!(ask.between("c", "i", &all), ["d", "h"]);
    assert_eq!(ask.between("i", "u", &all), ["d", "g", "j"]);
    // b is not before h.
    assert_eq!(ask.between("b", "h", &["a"]), ["a"]);
}

#[test]
fn a_definition_of_another_thread_must_execute_and_only_once() {
    let scene = scene(
        "fn main.t0.0 t0/0
           e: enter; item 0 create w.t1.0; item 1 lock; br x y
           x: c; jmp z
           y: d; br y z
           z: g; item 2 lock; item 3 lock; u; item 4 lock; ret
         fn w.t1.0 t1/0
           e: enter; item 0 lock; i; jmp l
           l: j; br l m
           m: k; item 1 lock; item 2 lock; ret",
        HAND_OVER,
    );
    let ask = Ask::of(&scene);
    assert_eq!(ask.between("c", "i", &["g", "i"]), ["g", "i"], "c need not execute");
    assert_eq!(ask.between("g", "i", &["c", "d", "i", "j"]), Vec::<&str>::new());
    assert_eq!(ask.between("g", "k", &["c", "d", "i", "j"]), ["i", "j"]);
    assert_eq!(ask.between("j", "u", &["i"]), ["i"], "j may execute several times");
    assert_eq!(ask.between("k", "u", &["i", "j", "g"]), Vec::<&str>::new());
}

#[test]
fn a_long_chain_of_segments_is_answered_by_segments() {
    let count = 40;
    let mut code = "fn main.t0.0 t0/0\n e: enter; d; jmp b0\n".to_owned();
    let mut events = ENTRY.to_owned();
    for n in 0..count {
        let next = n + 1;
        code += &format!("b{n}: br x{n} y{n}\n x{n}: w{n}; jmp z{n}\n y{n}: v{n}; br y{n} z{n}\n");
        code += &format!("z{n}: s{n}; item {n} lock; jmp b{next}\n");
        events += &format!("t0 0.{n} sem_post s0\n");
    }
    code += &format!("b{count}: u; ret\n");
    let scene = scene(&code, &events);
    let ask = Ask::of(&scene);
    for n in 0..count {
        let (w, v, s) = (format!("w{n}"), format!("v{n}"), format!("s{n}"));
        let all = [w.as_str(), v.as_str(), s.as_str()];
        assert_eq!(ask.between("d", "u", &all), all);
        assert!(ask.before("d", &v) && ask.before(&v, "u") && ask.dominates(&s, "u"));
        assert_eq!(ask.between(&s, "u", &all), Vec::<&str>::new());
        assert_eq!(ask.between("d", &s, &all), [&w, &v]);
        if n > 0 {
            assert_eq!(ask.between(&s, "u", &["w0", "s0"]), Vec::<&str>::new());
            assert_eq!(ask.between("s0", &s, &all), [&w, &v]);
        }
    }
}
