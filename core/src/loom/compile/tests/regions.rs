//! Regions and events: the slots of statements, ways out, and names that are not there.

use super::*;

#[test]
fn a_region_left_without_its_exit_ends_there() {
    let early = program(
        "unit x.c
         fn work taken
           @4 nop
           @5 nop
           @5 if E
           @6 nop
           @7 return
           E: @9 call! write
           @10 return",
    );
    let compiled = compiled(&early, "{x.c:4; x.c:6} <> {x.c:4; x.c:6}");
    assert_eq!(sites(&compiled), ["lock before work:4", "leave after work:5", "unlock after work:6"]);
    assert_eq!(warnings(&compiled), ["the region can be left without its exit at x.c:5: it ends there"]);
}

#[test]
fn exceptions_and_longjmp_leave_regions() {
    let thrown = program(
        "unit x.cc
         fn main
           @1 call middle unwind=P
           @2 return
           P: @3 landing
           @4 return
         fn middle
           @10 call thrower
           @11 return
         fn thrower
           @20 if T
           @21 return
           T: @20 call! __cxa_throw
           @20 stop",
    );
    let compiled = compiled(&thrown, "middle <> middle");
    // The exception passes middle without a slot; it lands in main.
    assert_eq!(sites(&compiled), ["leave after main:1", "lock before middle:10", "unlock after middle:11"]);
    // Before a call that may throw, the region goes on.
    let passed = program(
        "unit x.cc
         fn main
           @1 call region unwind=P
           @2 return
           P: @3 landing
           @4 return
         fn region
           @10 nop
           @11 call! usleep unwind=O
           @12 return
           O: @11 out",
    );
    let compiled = super::compiled(&passed, "region <> region");
    assert_eq!(sites(&compiled), ["leave after main:1", "lock before region:10", "unlock after region:12"]);
    // What an exception passes inside of the region has no slot to give back at: what a call took ends with it.
    let climbing = program(
        "unit x.cc
         fn main
           @1 call climb
           @2 return
         fn climb
           @10 if D
           @11 call! may_throw unwind=O
           @16 return
           D: @12 call climb unwind=P
           @13 return
           P: @14 landing
           @15 return
           O: @11 out",
    );
    let compiled = super::compiled(&climbing, "climb <> climb");
    assert_eq!(warnings(&compiled), [""; 0]);
    assert_eq!(
        sites(&compiled),
        [
            "lock before climb:10",
            "unlock after climb:13",
            "leave after climb:14",
            "unlock after climb:15",
            "unlock after climb:16"
        ]
    );
    assert!(ops(&compiled).iter().all(|op| op.flags == plan::BY_CALL));
    let jumping = program(
        "unit x.c
         fn main
           @1 call _setjmp
           @2 if E
           @3 call deep
           @4 return
           E: @6 nop
           @7 return
         fn deep
           @10 if R
           @10 call longjmp
           @10 stop
           R: @13 return",
    );
    let compiled = super::compiled(&jumping, "{x.c:3; x.c:3} <> {x.c:3; x.c:3}");
    assert_eq!(sites(&compiled), ["leave after main:1", "lock before main:3", "unlock after main:3"]);
}

#[test]
fn a_call_that_takes_its_callers_place_ends_no_region() {
    // The slot before such a call is the function's last.
    let tail = program(
        "unit x.c
         fn main
           @1 call wrapper
           @2 return
         fn wrapper
           @10 nop
           @- call inner
           @- return
         fn inner
           @20 return",
    );
    for filter in ["wrapper <> wrapper", "x.c:10 <> x.c:10"] {
        let said = refused(&tail, filter);
        assert!(said.contains("(musttail)"), "{said}");
    }
}

#[test]
fn a_statement_of_several_lines_is_one_event() {
    let call = program(
        "unit x.c
         fn work taken
           @5 nop
           @6 nop
           @7 nop
           @6 call! write
           @8 return
         fn main
           @20 call work
           @21 return",
    );
    // 6, 7, 6 is one statement.
    let compiled = compiled(&call, "{x.c:5; x.c:6} <> x.c:6");
    let sites_found = sites(&compiled);
    assert_eq!(sites_found, ["lock before work:5", "lock before work:6", "unlock after work:6"]);
    let order = super::compiled(&call, "x.c:6 > x.c:21");
    assert_eq!(sites(&order), ["up after work:6", "down before main:21"]);
    let before = super::compiled(&call, "x.c:20 > x.c:6");
    assert_eq!(sites(&before), ["down before work:6", "up after main:20"]);
}

#[test]
fn a_region_that_comes_back_to_its_entry_begins_anew() {
    let looped = program(
        "unit x.c
         fn work taken
           @4 nop
           L: @5 if E
           @6 nop
           @7 loop L
           E: @8 nop
           @9 return",
    );
    let compiled = compiled(&looped, "{x.c:5; x.c:8} <> {x.c:5; x.c:8}");
    assert_eq!(sites(&compiled), ["lock before work:5 x2", "leave after work:5", "unlock after work:8"]);
    assert!(compiled.summary.constraints[0].sites[0].in_loop);
}

#[test]
fn an_exit_without_its_entry_is_warned_of() {
    let odd = program(
        "unit x.c
         fn work taken
           @4 if E
           @5 nop
           @6 nop
           E: @7 nop
           @8 return",
    );
    let compiled = compiled(&odd, "{x.c:5; x.c:7} <> {x.c:5; x.c:7}");
    assert_eq!(
        warnings(&compiled),
        ["an exit of the region can be come to without its entry, from the start of `work`"]
    );
    assert_eq!(sites(&compiled), ["lock before work:5", "leave after work:7"]);
}

#[test]
fn recursive_functions_count() {
    let recursive = program(
        "unit x.c
         fn work taken
           @4 if E
           @5 call work
           E: @6 return",
    );
    let compiled = compiled(&recursive, "work <> work");
    assert_eq!(sites(&compiled), ["lock before work:4", "unlock after work:6"]);
    assert_eq!(warnings(&compiled), [""; 0]);
}

#[test]
fn inlined_and_repeated_functions_are_found_everywhere() {
    let copies = program(
        "unit a.cc
         fn main
           @20(_ZN9MYSQL_LOG7is_openEv#1)<5 nop
           @6 nop
           @20(_ZN9MYSQL_LOG7is_openEv#2)<7 nop
           @7 nop
           @8 call _ZN9MYSQL_LOG7is_openEv
           @9 return
         fn _ZN9MYSQL_LOG7is_openEv
           @20 return
         unit b.cc
         fn other taken
           @30 call _ZN9MYSQL_LOG7is_openEv
           @31 return
         fn _ZN9MYSQL_LOG7is_openEv
           @20 return",
    );
    let compiled = compiled(&copies, "MYSQL_LOG::is_open <> *");
    let name = "_ZN9MYSQL_LOG7is_openEv:20";
    assert_eq!(
        sites(&compiled),
        [
            format!("alone before {name}"),
            format!("together after {name}"),
            format!("alone before {name} in main x2"),
            format!("together after {name} in main x2"),
            format!("alone before {name}"),
            format!("together after {name}"),
        ]
    );
    assert_eq!(header(&compiled).units.count, 2);
}

#[test]
fn names_that_are_not_there_are_shown_with_similar_ones() {
    for (source, expected) in [
        (
            "{log.cc:4, log.cc:6} <> *",
            "f:1:2: error: line 4 of `log.cc` has no code\n 1 | {log.cc:4, log.cc:6} <> *\n   |  ^~~~~~~~\n  help: the nearest \
             lines with code are 3 and 5\n",
        ),
        (
            "lug.cc:4 <> *",
            "f:1:1: error: no file `lug.cc` in the program\n 1 | lug.cc:4 <> *\n   | ^~~~~~~~\n  help: did you mean \
             `log.cc`?\n",
        ),
        (
            "mysys/log.cc:4 <> *",
            "f:1:1: error: no file `mysys/log.cc` in the program\n 1 | mysys/log.cc:4 <> *\n   | ^~~~~~~~~~~~~~\n  help: did \
             you mean `sql/log.cc`?\n",
        ),
        (
            "log.cc:99 <> *",
            "f:1:1: error: line 99 of `log.cc` has no code\n 1 | log.cc:99 <> *\n   | ^~~~~~~~~\n  help: the nearest line \
             with code is 32\n",
        ),
        (
            "log.cc:5 <> is_open",
            "f:1:13: error: no function `is_open` in the program\n 1 | log.cc:5 <> is_open\n   |             ^~~~~~~\n  help: did \
             you mean `MYSQL_LOG::is_open`?\n",
        ),
        (
            "log.cc:5 <> nanosleep",
            "f:1:13: error: no function `nanosleep` in the program\n 1 | log.cc:5 <> nanosleep\n   |             ^~~~~~~~~\n  help: \
             only functions that were compiled with --loom can be named; of another one, name the line that calls it\n",
        ),
        (
            "thread inserd\nlog.cc:5 <> *",
            "f:1:8: error: no function `inserd` in the program\n 1 | thread inserd\n   |        ^~~~~~\n  help: did you mean \
             `insert`?\n",
        ),
    ] {
        assert_eq!(refused(&mysql(), source), expected, "{source}");
    }
}

#[test]
fn ambiguous_names_are_listed() {
    let two = program(
        "unit a/log.cc
         fn _Z1gi
           @1 return
         unit b/log.cc
         fn _Z1gc
           @1 return",
    );
    let text = refused(&two, "log.cc:1 <> *");
    assert!(text.contains("`log.cc` may be `a/log.cc` or `b/log.cc`"), "{text}");
    let text = refused(&two, "g <> *");
    assert!(text.contains("`g` may be one of 2 functions"), "{text}");
    assert!(text.contains("`\"g(char)\"`, `\"g(int)\"`"), "{text}");
    let compiled = compiled(&two, "\"g(int)\" <> *; b/log.cc:1 <> *");
    assert_eq!(sites(&compiled)[0], "alone before _Z1gi:1");
    // Nobody calls them.
    assert_eq!(warnings(&compiled)[0], "nothing in the program calls the code of `g(int)`");
}

#[test]
fn an_unrolled_loop_has_a_statement_in_each_copy() {
    let unrolled = program(
        "unit x.c
         fn work taken
           L: @8 if E
           @9 nop
           @10 nop
           @11 nop
           @8 if E
           @9 nop
           @10 nop
           @11 nop
           @8 loop L
           E: @12 return
         fn main
           @20 call work
           @21 return",
    );
    let found = |text: &str| {
        let compiled = compiled(&unrolled, text);
        assert_eq!(warnings(&compiled), [""; 0], "{text}");
        sites(&compiled)
    };
    assert_eq!(found("x.c:9 <> *"), ["alone before work:9 x2", "together after work:9 x2"]);
    let region = "{x.c:9; x.c:10}";
    assert_eq!(found(&format!("{region} <> {region}")), ["lock before work:9 x2", "unlock after work:10 x2"]);
    assert_eq!(found("x.c:9 > x.c:21"), ["up after work:9 x2", "down before main:21"]);
    assert_eq!(found("x.c:20 > x.c:9"), ["down before work:9 x2", "up after main:20"]);
}

#[test]
fn what_threads_run_is_not_dead() {
    let threads = program(
        "unit x.c
         fn main
           @1 call! pthread_create start=accept
           @2 return
         fn accept internal
           @10 call! pthread_create start=serve
           @11 return
         fn serve internal
           @20 return
         fn forgotten internal
           @30 call! pthread_create start=lost
           @31 return
         fn lost internal
           @40 return",
    );
    assert_eq!(warnings(&compiled(&threads, "x.c:20 <> *")), [""; 0]);
    let never = compiled(&threads, "x.c:40 <> *");
    assert_eq!(warnings(&never), ["nothing in the program calls the code of `x.c:40`"]);
}

#[test]
fn functions_without_slots_are_refused_with_their_limit() {
    let limited = program(
        "unit x.c
         fn main
           @1 call jumper
           @2 return
         fn jumper limit=calls_setjmp
           @5 call _setjmp
           @6 return",
    );
    let text = refused(&limited, "jumper <> *");
    assert!(text.contains("filters cannot change `jumper`: calls_setjmp"), "{text}");
    let text = refused(&limited, "x.c:5 <> *");
    assert!(text.contains("line 5 is in `jumper`, which filters cannot change: calls_setjmp"), "{text}");
}

#[test]
fn orders_that_contradict_each_other_are_refused() {
    let program = pbzip2();
    for (source, cycle) in [
        ("pbzip2.cpp:10 > pbzip2.cpp:10", "pbzip2.cpp:10 > pbzip2.cpp:10"),
        (
            "pbzip2.cpp:5 > pbzip2.cpp:10\npbzip2.cpp:10 > pbzip2.cpp:5",
            "pbzip2.cpp:10 > pbzip2.cpp:5 > pbzip2.cpp:10",
        ),
        (
            "pbzip2.cpp:5 > pbzip2.cpp:10 > pbzip2.cpp:20 > pbzip2.cpp:5",
            "pbzip2.cpp:10 > pbzip2.cpp:20 > pbzip2.cpp:5 > pbzip2.cpp:10",
        ),
    ] {
        let text = refused(&program, source);
        assert!(
            text.contains(&format!("a deadlock: `{cycle}` would have to happen before itself")),
            "{text}"
        );
    }
}

#[test]
fn moved_code_is_refused_with_the_reason() {
    let program = mysql();
    let moved = |_: &Program, covered: &Covered| {
        if covered.function.is_some() {
            return vec![Moved::Doubtful("inlined".to_owned())];
        }
        assert_eq!(covered.range.map(|(_, first, last)| (first, last)), Some((5, 6)));
        assert_eq!(covered.lines.iter().map(|(_, line)| *line).collect::<Vec<_>>(), [5, 6]);
        vec![Moved::Refused("the store was moved out of the loop".to_owned())]
    };
    let options = Options { demangle: &demangle, moved: &moved, ..Options::default() };
    let source = "{log.cc:5; log.cc:6} <> MYSQL_LOG::is_open";
    let errors = compile("f", source, &program, &TestTypes, &options).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].message, "the store was moved out of the loop");
}

#[test]
fn other_errors() {
    let program = mysql();
    for (source, part) in [
        ("", "the filter has no constraint"),
        ("timeout 1s; timeout 2s; insert <> *", "a second `timeout`"),
        ("log.cc:5{0} > log.cc:6", "an event happens at least once"),
        ("{log.cc:6; log.cc:3} <> *", "no exit of the region can be reached from its entries"),
    ] {
        let text = refused(&program, source);
        assert!(text.contains(part), "{source}: {text}");
    }
    let mut damaged = mysql();
    damaged.units[0].table.functions[0].points[0].next = vec![1000];
    let text = refused(&damaged, "insert <> *");
    assert!(text.contains("the loom table of sql/log.cc is damaged: a point 1000 of"), "{text}");
}

#[test]
fn regions_that_never_end_are_refused() {
    let endless = program(
        "unit x.c
         fn main
           @1 call! write
           @2 call serve
           @2 stop
         fn serve internal
           L: @5 call! read
           @6 loop L
         unit y.c
         fn serve internal taken
           @3 return
         fn other taken
           @5 return",
    );
    let text = refused(&endless, "x.c:2 <> *");
    assert!(text.contains("control never comes behind `x.c:2`"), "{text}");
    let compiled = compiled(&endless, "serve <> serve");
    assert!(warnings(&compiled).contains(&"all functions `serve` are meant: those of x.c, y.c"));
}

#[test]
fn a_coroutine_is_named_by_what_runs_its_body() {
    let program = program(
        "unit a.cc
         fn _Z1ci
           @1 return
         fn _Z1ci.resume taken
           @2 return
         fn _Z1ci.destroy taken
           @2 return",
    );
    for name in ["c", "\"c(int)\""] {
        let text = refused(&program, &format!("{name} <> *"));
        assert!(text.contains("is a coroutine: a call of it only makes it"), "{text}");
        assert!(text.contains("`\"c(int) (.resume)\"`, which runs from one suspension"), "{text}");
    }
    assert_eq!(sites(&compiled(&program, "\"c(int) (.resume)\" <> *")).len(), 2);
    assert_eq!(sites(&compiled(&program, "_Z1ci <> *")).len(), 2);
}

#[test]
fn unnamed_namespaces_need_not_be_named() {
    let program = program(
        "unit a.cc
         fn _ZN1n12_GLOBAL__N_11hEi internal
           @1 return
         fn main
           @2 call _ZN1n12_GLOBAL__N_11hEi
           @3 return",
    );
    for name in ["n::h", "\"n::h(int)\"", "\"n::(anonymous namespace)::h\""] {
        assert_eq!(sites(&compiled(&program, &format!("{name} <> *"))).len(), 2);
    }
}

#[test]
fn a_handler_that_jumps_away_ends_the_region_that_it_interrupted() {
    let shape = crate::hash::Hasher::default().field("void(i32,)").finish();
    let with = |in_handler: &str, in_region: &str| {
        program(&format!(
            "unit a.c
             fn on_signal taken shape={shape}
               @1 call {in_handler}
               @2 call siglongjmp
               stop
             fn region
               @5 call {in_region}
               @6 nop
               @7 return
             fn main
               @10 call sigsetjmp
               @11 call region
               @12 return"
        ))
    };
    let leaves = |program: &Program| {
        let all = sites(&compiled(program, "region <> region"));
        all.into_iter().filter(|site| site.starts_with("leave")).collect::<Vec<_>>()
    };
    assert_eq!(leaves(&with("write", "write")), ["leave after on_signal:1"]);
    // It may land inside of the region, or in the handler itself, which then returns.
    assert_eq!(leaves(&with("write", "sigsetjmp")), [""; 0]);
    assert_eq!(leaves(&with("sigsetjmp", "write")), [""; 0]);
}
