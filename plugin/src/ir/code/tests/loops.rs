//! Loops: nesting, bounds, what grows evenly.

use super::{dump_with, lines};
use crate::ir::code::Summaries;

/// The loops of this IR are these.
fn expect_loops(ir: &str, expected: &str) {
    let mut found = lines(&dump_with(ir, &Summaries::default()));
    found.retain(|line| line.starts_with("loop"));
    assert_eq!(found, lines(expected));
}

/// `for (i = start; ...; i += step)`: the PHI is the first register after the parameters.
fn counting(parameters: &str, ty: &str, start: &str, next: &str, test: &str) -> String {
    format!(
        "define void @f({parameters}) {{
         entry:
           br label %head
         head:
           %i = phi {ty} [ {start}, %entry ], [ %next, %body ]
           {test}
           br i1 %c, label %body, label %end
         body:
           %next = {next}
           br label %head
         end:
           ret void
         }}"
    )
}

#[test]
fn counters_go_up_and_down_by_steps() {
    expect_loops(
        &counting("i32 %n", "i32", "0", "add nuw i32 %i, 1", "%c = icmp ult i32 %i, %n"),
        "loop l0 b1 [b1, b2], at most %0, %1 = 0:i32 step 1:i32",
    );
    expect_loops(
        &counting("i32 %n", "i32", "0", "add nsw i32 %i, 2", "%c = icmp slt i32 %i, 10"),
        "loop l0 b1 [b1, b2], at most 5:i32, %1 = 0:i32 step 2:i32",
    );
    expect_loops(
        &counting("i32 %n", "i32", "%n", "add nsw i32 %i, -1", "%c = icmp ne i32 %i, 0"),
        "loop l0 b1 [b1, b2], at most %0, %1 = %0 step 4294967295:i32",
    );
    expect_loops(
        &counting("i64 %a, i64 %b", "i64", "%a", "add nsw i64 %i, 1", "%c = icmp slt i64 %i, %b"),
        "loop l0 b1 [b1, b2], at most ((18446744073709551615:i64 * %0) + (%0 smax %1)), %2 = %0 step 1:i64",
    );
}

#[test]
fn pointers_and_unknown_steps_grow_evenly() {
    expect_loops(
        &counting(
            "ptr %p, ptr %q",
            "ptr",
            "%p",
            "getelementptr inbounds i32, ptr %i, i64 1",
            "%c = icmp ne ptr %i, %q",
        ),
        "loop l0 b1 [b1, b2], at most (((18446744073709551615:i64 * same(%0, i64)) + same(%1, i64)) / 4:i64), \
         %2 = %0 step 4:i64",
    );
    expect_loops(
        &counting("i32 %s", "i32", "7", "add i32 %i, %s", "%c = call i1 @any()\n")
            .replace("define", "declare i1 @any()\ndefine"),
        "loop l0 b1 [b1, b2], %1 = 7:i32 step %0",
    );
}

#[test]
fn what_does_not_grow_evenly_is_left_out() {
    expect_loops(
        &counting("i32 %n", "i32", "1", "mul i32 %i, 3", "%c = icmp ne i32 %i, %n"),
        "loop l0 b1 [b1, b2]",
    );
    expect_loops(
        &counting("i128 %n", "i128", "1", "add nuw i128 %i, 1", "%c = icmp ult i128 %i, %n"),
        "loop l0 b1 [b1, b2]",
    );
    expect_loops(
        &counting("double %d", "i8", "undef", "add i8 %i, 1", "%c = fcmp olt double %d, 1.0"),
        "loop l0 b1 [b1, b2]",
    );
}

#[test]
fn shared_exits_bound_a_loop_by_the_least() {
    expect_loops(
        "define void @f(i32 %n, i32 %m) {
         entry:
           br label %head
         head:
           %i = phi i32 [ 0, %entry ], [ %next, %body ]
           %c = icmp ult i32 %i, %n
           br i1 %c, label %body, label %end
         body:
           %next = add nuw i32 %i, 1
           %d = icmp ult i32 %i, %m
           br i1 %d, label %head, label %end
         end:
           ret void
         }",
        "loop l0 b1 [b1, b2], at most (%0 umin %1), %2 = 0:i32 step 1:i32",
    );
}

#[test]
fn a_constant_bounds_what_no_expression_does() {
    // The start is loaded in the loop's own block, hence not there before the loop.
    expect_loops(
        "define void @f(ptr %p) {
         entry:
           br label %head
         head:
           %i = phi i32 [ 0, %entry ], [ %next, %head ]
           %next = add nuw nsw i32 %i, 1
           %n = load i8, ptr %p
           %w = zext i8 %n to i32
           %c = icmp ult i32 %next, %w
           %d = icmp ult i32 %next, 100
           %e = and i1 %c, %d
           br i1 %e, label %head, label %end
         end:
           ret void
         }",
        "loop l0 b1 [b1], at most 99:i32, %1 = 0:i32 step 1:i32",
    );
}

/// `for (i = 0; i != n; i++) for (j = start; ...; j++)`.
fn nested(between: &str, start: &str, test: &str) -> String {
    format!(
        "define void @f(i32 %n) {{
         entry:
           br label %outer
         outer:
           %i = phi i32 [ 0, %entry ], [ %i1, %outer.next ]
           {between}
           %c = icmp ult i32 %i, %n
           br i1 %c, label %inner.entry, label %end
         inner.entry:
           br label %inner
         inner:
           %j = phi i32 [ {start}, %inner.entry ], [ %j1, %body ]
           {test}
           br i1 %d, label %body, label %outer.next
         body:
           %j1 = add nuw nsw i32 %j, 1
           br label %inner
         outer.next:
           %i1 = add nuw nsw i32 %i, 1
           br label %outer
         end:
           ret void
         }}"
    )
}

#[test]
fn inner_loops_name_the_outer_counter() {
    // From 0 to i.
    expect_loops(
        &nested("", "0", "%d = icmp ult i32 %j, %i"),
        "loop l0 b1 [b1, b2, b3, b4, b5], at most %0, %1 = 0:i32 step 1:i32
         loop l1 b3 [b3, b4] in l0, at most %1, %3 = 0:i32 step 1:i32",
    );
    // From i on.
    expect_loops(
        &nested("", "%i", "%d = icmp ne i32 %j, %n"),
        "loop l0 b1 [b1, b2, b3, b4, b5], at most %0, %1 = 0:i32 step 1:i32
         loop l1 b3 [b3, b4] in l0, at most (%0 + (4294967295:i32 * %1)), %3 = %1 step 1:i32",
    );
    // From i + 1 on: no register that is there holds that.
    expect_loops(
        &nested("%k = add nuw nsw i32 %i, 1", "%k", "%d = icmp ne i32 %j, %n"),
        "loop l0 b1 [b1, b2, b3, b4, b5], at most %0, %1 = 0:i32 step 1:i32
         loop l1 b3 [b3, b4] in l0, at most ((4294967295:i32 + %0) + (4294967295:i32 * %1)), \
         %4 = (1:i32 + %1) step 1:i32",
    );
}

#[test]
fn narrower_outer_counters_are_extended() {
    let wide = nested("%k = zext i32 %i to i64", "0", "%d = icmp ult i64 %j, %k")
        .replace("%j = phi i32", "%j = phi i64")
        .replace("nsw i32 %j", "nsw i64 %j");
    expect_loops(
        &wide,
        "loop l0 b1 [b1, b2, b3, b4, b5], at most %0, %1 = 0:i32 step 1:i32
         loop l1 b3 [b3, b4] in l0, at most zext(%1, i64), %4 = 0:i64 step 1:i64",
    );
}

#[test]
fn outer_loops_come_first_and_hold_the_inner_blocks() {
    expect_loops(
        "define void @f(i1 %c) {
           br label %a
         a:
           br label %b
         b:
           br i1 %c, label %b, label %c1
         c1:
           br i1 %c, label %c1, label %d
         d:
           br i1 %c, label %a, label %e
         e:
           br i1 %c, label %e, label %end
         end:
           ret void
         }",
        "loop l0 b1 [b1, b2, b3, b4]
         loop l1 b2 [b2] in l0
         loop l2 b3 [b3] in l0
         loop l3 b5 [b5]",
    );
}
