//! Loops that run a constant number of times.

use super::*;

#[track_caller]
fn unrolls(ir: &str, loops: usize, look: impl FnOnce(&str)) {
    on(ir, |module| {
        let f = function(module, "f");
        assert_eq!(f.unroll_constant_loops(UnrollLimits::default()).len(), loops, "{}", text_of(module));
        f.fold();
        look(&definition(module, "f"));
    });
}

/// A loop with a test at its end.
fn counted(times: u32, body: &str) -> String {
    format!(
        "@g = global i32 0
        @h = global [256 x i32] zeroinitializer
        @table = constant [4 x i32] [i32 5, i32 6, i32 7, i32 0]
        define i32 @f() {{
        entry:
          %n = load i32, ptr @g
          br label %loop
        loop:
          %i = phi i32 [ 0, %entry ], [ %next, %loop ]
          {body}
          %next = add i32 %i, 1
          %more = icmp ult i32 %next, {times}
          br i1 %more, label %loop, label %end
        end:
          ret i32 0
        }}
        declare i64 @length(ptr) memory(read) nounwind willreturn
        declare i32 @covsched_sync(i64)
        declare void @covsched_not_covered(i64, ptr, i32) noreturn
        !0 = !{{i32 0}}"
    )
}

#[test]
fn every_access_is_there_as_often_as_it_ran() {
    let body = "%dead = load i32, ptr @g
          %unordered = load atomic i32, ptr @g unordered, align 4
          %volatile = load volatile i32, ptr @g
          %place = getelementptr [256 x i32], ptr @h, i32 0, i32 %i
          %elements = load i32, ptr %place
          %constant = load i32, ptr @table
          %length = call i64 @length(ptr @h) willreturn
          store i32 %n, ptr @g
          store i32 1, ptr %place";
    unrolls(&counted(7, body), 1, |text| {
        for (word, times) in [
            ("= load i32, ptr @g", 7 + 1),
            ("= load atomic i32, ptr @g unordered", 7),
            ("= load volatile i32", 7),
            ("= load i32, ptr @table", 7),
            ("call i64 @length", 7),
            ("store i32 %n, ptr @g", 7),
            ("store i32 1, ptr ", 7),
            ("= load i32, ptr getelementptr inbounds ([256 x i32], ptr @h", 6),
            ("= load i32, ptr @h", 1),
            ("br ", 0),
            ("covsched", 0),
        ] {
            assert_eq!(count(text, word), times, "{word}: {text}");
        }
    });
    on(&counted(7, body), |module| {
        function(module, "f").unroll_constant_loops(UnrollLimits::default());
        let text = text_of(module);
        assert!(!text.contains("covsched.plain") && !text.contains("covsched-willreturn"), "{text}");
        assert!(
            text.contains("declare i64 @length(ptr) #0")
                && text.contains("attributes #0 = { nounwind willreturn")
        );
        assert_eq!(count(&text, "willreturn"), 3, "of the function, and of the calls: {text}");
    });
}

#[test]
fn a_read_before_the_loop_stays_if_the_loop_needs_it_no_more() {
    // Once the counter is known, nobody asks for %n.
    unrolls(&counted(3, "%zero = mul i32 %i, %n\n%both = add i32 %zero, 1"), 1, |text| {
        assert!(text.contains("%n = load i32, ptr @g"), "{text}");
        assert!(!text.contains("br "), "{text}");
    });
}

#[test]
fn a_loop_that_tests_first_runs_its_body_once_less() {
    let ir = "@g = global i32 0
        define void @f() {
          br label %head
        head:
          %i = phi i32 [ 0, %0 ], [ %next, %body ]
          %seen = load i32, ptr @g
          %more = icmp slt i32 %i, 4
          br i1 %more, label %body, label %end
        body:
          store i32 %i, ptr @g
          %next = add nsw i32 %i, 1
          br label %head
        end:
          ret void
        }";
    unrolls(ir, 1, |text| {
        assert_eq!(
            (count(text, "load i32"), count(text, "store i32"), count(text, "br ")),
            (5, 4, 0),
            "{text}"
        );
    });
}

#[test]
fn a_loop_that_runs_once_is_none() {
    unrolls(&counted(1, "store i32 1, ptr @g"), 1, |text| {
        assert_eq!((count(text, "store i32"), count(text, "br ")), (1, 0), "{text}");
    });
}

#[test]
fn limits_are_kept() {
    let limits = UnrollLimits::default();
    assert_eq!((limits.instructions, limits.trips), (4_000, 256));
    for (times, limits, loops) in [
        (256, limits, 1),
        (257, limits, 0),
        (100, UnrollLimits { instructions: 500, ..limits }, 1),
        (101, UnrollLimits { instructions: 500, ..limits }, 0),
        (101, UnrollLimits { growth: 500, ..limits }, 0),
    ] {
        on(&counted(times, "store i32 1, ptr @g"), |module| {
            let before = definition(module, "f");
            let f = function(module, "f");
            assert_eq!(f.unroll_constant_loops(limits).len(), loops, "{times} times");
            if loops == 0 {
                assert_eq!(definition(module, "f"), before);
            }
        });
    }
}

#[test]
fn loops_with_items_are_left() {
    let item = counted(3, "%s = call i32 @covsched_sync(i64 1), !covsched.item !0");
    unrolls(&item, 0, |text| assert_eq!(count(text, "covsched_sync"), 1));
    let other = counted(3, "%s = call i32 @covsched_sync(i64 1)");
    unrolls(&other, 1, |text| assert_eq!(count(text, "covsched_sync"), 3));
}

#[test]
fn loops_without_a_constant_count_are_left_as_they_are() {
    for more in ["%n", "%i"] {
        let ir = counted(3, "store i32 1, ptr @g")
            .replace("icmp ult i32 %next, 3", &format!("icmp ult i32 %next, {more}"));
        let ir = ir.replace(
            "label %loop, label %end\n        end",
            "label %loop, label %end, !llvm.loop !1\n        end",
        );
        let ir = format!("{ir}\n!1 = distinct !{{!1, !2}}\n!2 = !{{!\"llvm.loop.unroll.disable\"}}");
        on(&ir, |module| {
            let before = text_of(module);
            assert_eq!(function(module, "f").unroll_constant_loops(UnrollLimits::default()).len(), 0);
            assert_eq!(text_of(module), before);
        });
    }
    // An exit that depends on what is read: the loop may run three times, or less.
    let exit = counted(
        3,
        "%seen = load i32, ptr @g\n%stop = icmp eq i32 %seen, 1\nbr i1 %stop, label %end, label %on\non:",
    )
    .replace("[ %next, %loop ]", "[ %next, %on ]");
    unrolls(&exit, 0, |text| assert_eq!(count(text, "load i32"), 2));
}

#[test]
fn a_loop_in_which_a_run_can_only_end_is_unrolled() {
    let ir = counted(
        3,
        "%seen = load i32, ptr @g\n%good = icmp eq i32 %seen, 1\nbr i1 %good, label %on, label %not_covered\non:",
    )
    .replace("[ %next, %loop ]", "[ %next, %on ]")
    .replace(
        "ret i32 0",
        "ret i32 0\nnot_covered:\ncall void @covsched_not_covered(i64 0, ptr null, i32 0)\nunreachable",
    );
    unrolls(&ir, 1, |text| {
        assert_eq!((count(text, "load i32"), count(text, "br i1")), (4, 3), "{text}");
    });
}

#[test]
fn loops_in_loops_go_inner_ones_first() {
    let nested = |inner: &str| {
        format!(
            "@g = global i32 0
            define void @f() {{
            entry:
              br label %outer
            outer:
              %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
              br label %inner
            inner:
              %j = phi i32 [ 0, %outer ], [ %j.next, %inner ]
              %dead = load i32, ptr @g
              store i32 %j, ptr @g
              %j.next = add i32 %j, 1
              %j.more = icmp ult i32 %j.next, {inner}
              br i1 %j.more, label %inner, label %latch
            latch:
              %i.next = add i32 %i, 1
              %i.more = icmp ult i32 %i.next, 4
              br i1 %i.more, label %outer, label %end
            end:
              ret void
            }}"
        )
    };
    // Two loops: the inner one is gone when the outer is copied.
    unrolls(&nested("3"), 2, |text| {
        assert_eq!(
            (count(text, "load i32"), count(text, "store i32"), count(text, "br ")),
            (12, 12, 0),
            "{text}"
        );
    });
    // A triangle: the inner loop has a count when the outer one is gone. Its first copy runs once in any case.
    unrolls(&nested("%i"), 5, |text| {
        assert_eq!((count(text, "load i32"), count(text, "br ")), (1 + 1 + 2 + 3, 0), "{text}");
    });
}

#[test]
fn a_table_that_never_changes_may_say_when_to_stop() {
    let ir = "@g = global i32 0
        @table = constant [4 x i32] [i32 5, i32 6, i32 7, i32 0]
        define void @f() {
          br label %loop
        loop:
          %i = phi i64 [ 0, %0 ], [ %next, %loop ]
          %place = getelementptr [4 x i32], ptr @table, i64 0, i64 %i
          %v = load i32, ptr %place
          store i32 %v, ptr @g
          %next = add i64 %i, 1
          %more = icmp ne i32 %v, 0
          br i1 %more, label %loop, label %end
        end:
          ret void
        }";
    unrolls(ir, 1, |text| {
        assert_eq!(
            (count(text, "load i32"), count(text, "store i32"), count(text, "br ")),
            (4, 4, 0),
            "{text}"
        );
        assert!(text.contains("store i32 7, ptr @g"), "{text}");
    });
}

#[test]
fn loops_that_go_on_in_several_places() {
    let ir = "@g = global i32 0
        define void @f() {
          br label %head
        head:
          %i = phi i32 [ 0, %0 ], [ %next, %even ], [ %next, %odd ]
          %next = add i32 %i, 1
          %more = icmp slt i32 %i, 4
          br i1 %more, label %body, label %end
        body:
          %v = load i32, ptr @g
          %c = icmp eq i32 %v, 0
          br i1 %c, label %even, label %odd
        even:
          store i32 1, ptr @g
          br label %head
        odd:
          store i32 2, ptr @g
          br label %head
        end:
          ret void
        }";
    unrolls(ir, 1, |text| assert_eq!((count(text, "load i32"), count(text, "store i32")), (4, 8), "{text}"));
}

#[test]
fn an_exception_may_leave_a_loop() {
    let ir = "@g = global i32 0
        define void @f() personality ptr @__gxx_personality_v0 {
          br label %loop
        loop:
          %i = phi i32 [ 0, %0 ], [ %next, %on ]
          invoke void @may_throw(i32 %i) to label %on unwind label %lands
        on:
          %next = add i32 %i, 1
          %more = icmp ult i32 %next, 3
          br i1 %more, label %loop, label %end
        end:
          ret void
        lands:
          %pad = landingpad { ptr, i32 } cleanup
          store i32 %i, ptr @g
          resume { ptr, i32 } %pad
        }
        declare void @may_throw(i32)
        declare i32 @__gxx_personality_v0(...)";
    unrolls(ir, 1, |text| assert_eq!(count(text, "invoke void @may_throw"), 3, "{text}"));
    // Its latch is an invoke.
    let latch = ir
        .replace("to label %on unwind", "to label %loop unwind")
        .replace("[ %next, %on ]", "[ %next, %go ]");
    let latch = latch.replace(
        "invoke void",
        "%next = add i32 %i, 1\n%more = icmp ult i32 %i, 3\nbr i1 %more, label %go, label %end\ngo:\ninvoke void",
    );
    let latch = latch.replace(
        "on:
          %next = add i32 %i, 1
          %more = icmp ult i32 %next, 3
          br i1 %more, label %loop, label %end
        ",
        "",
    );
    unrolls(&latch, 1, |text| assert_eq!(count(text, "invoke void @may_throw"), 3, "{text}"));
}

#[test]
fn what_cannot_be_copied_is_left() {
    for (attributes, call) in [
        ("optnone noinline", ""),
        ("", "call void @once() noduplicate"),
        ("", "%j = call i32 @setjmp(ptr @g) returns_twice"),
    ] {
        let ir = counted(3, call).replace("@f()", &format!("@f() {attributes}"));
        let ir = format!("{ir}\ndeclare void @once()\ndeclare i32 @setjmp(ptr) returns_twice");
        on(&ir, |module| {
            let before = text_of(module);
            assert_eq!(function(module, "f").unroll_constant_loops(UnrollLimits::default()).len(), 0);
            assert_eq!(text_of(module), before);
        });
    }
}
