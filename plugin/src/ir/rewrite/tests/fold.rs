//! What follows from constants.

use super::*;

#[track_caller]
fn folds_to(ir: &str, done: Folded, expected: &str) {
    on(ir, |module| {
        let f = function(module, "f");
        assert_eq!(f.fold(), done, "{}", text_of(module));
        assert_body(module, expected);
        assert_eq!(f.fold(), Folded::default(), "nothing is left to do");
    });
}

#[test]
fn a_decided_branch_leaves_one_side() {
    folds_to(
        "define i32 @f(i32 %x) {
          %c = icmp slt i32 3, 4
          br i1 %c, label %yes, label %no
        yes:
          %a = add i32 %x, 0
          br label %end
        no:
          br label %more
        more:
          br label %end
        end:
          %r = phi i32 [ %a, %yes ], [ 7, %more ]
          ret i32 %r
        }",
        Folded { values: 2, branches: 1, blocks_removed: 2, merged: 2 },
        "yes:
        ret i32 %x",
    );
}

#[test]
fn what_is_decided_decides_more() {
    // The switch is decided by a PHI that has one value when the branch is gone.
    folds_to(
        "define i32 @f(i1 %unknown) {
        entry:
          br i1 true, label %a, label %b
        a:
          br label %join
        b:
          br label %join
        join:
          %v = phi i32 [ 4, %a ], [ 5, %b ]
          switch i32 %v, label %other [ i32 4, label %four
                                        i32 5, label %five ]
        four:
          br i1 %unknown, label %left, label %right
        left:
          ret i32 1
        right:
          ret i32 2
        five:
          ret i32 5
        other:
          ret i32 0
        }",
        Folded { values: 0, branches: 2, blocks_removed: 3, merged: 3 },
        "entry:
          br i1 %unknown, label %left, label %right
        left:
          ret i32 1
        right:
          ret i32 2",
    );
}

#[test]
fn accesses_to_memory_stay() {
    let kept = "%dead = load i32, ptr @g, align 4
          %known = load i32, ptr @constant, align 4
          %unordered = load atomic i32, ptr @g unordered, align 4
          %volatile = load volatile i32, ptr @g, align 4
          store i32 1, ptr @g, align 4
          store i32 1, ptr @g, align 4
          %length = call i64 @length(ptr @g)
          %old = atomicrmw add ptr @g, i32 0 seq_cst, align 4
          fence seq_cst";
    folds_to(
        &format!(
            "@g = global i32 0
            @constant = constant i32 3
            define i32 @f() {{
              {kept}
              %pure = call i64 @pure(i64 1)
              %unused = add i64 %length, 1
              %sum = add i32 %known, 4
              ret i32 %sum
            }}
            declare i64 @length(ptr) memory(read) nounwind willreturn
            declare i64 @pure(i64) memory(none) nounwind willreturn"
        ),
        Folded { values: 2, ..Folded::default() },
        &format!("{kept}\nret i32 7"),
    );
}

#[test]
fn a_guard_folds_only_on_a_real_constant() {
    for condition in ["undef", "poison"] {
        let ir = format!(
            "define void @f(i32 %x) {{
              %c = and i1 {condition}, {condition}
              br i1 %c, label %on, label %not_covered
            on:
              %quotient = sdiv i32 %x, 0
              %d = icmp eq i32 %quotient, 3
              br i1 %d, label %end, label %not_covered
            end:
              ret void
            not_covered:
              call void @covsched_not_covered(i64 0, ptr null, i32 0)
              unreachable
            }}
            declare void @covsched_not_covered(i64, ptr, i32) noreturn"
        );
        on(&ir, |module| {
            let before = definition(module, "f");
            assert_eq!(function(module, "f").fold(), Folded::default());
            assert_eq!(definition(module, "f"), before);
        });
    }
    // An undefined value does not choose.
    let choice = "define void @f(i1 %x) {
          %c = and i1 undef, %x
          %d = select i1 undef, i1 %x, i1 true
          %e = or i1 %c, %d
          br i1 %e, label %on, label %not_covered
        on:
          ret void
        not_covered:
          call void @covsched_not_covered(i64 0, ptr null, i32 0)
          unreachable
        }
        declare void @covsched_not_covered(i64, ptr, i32) noreturn";
    on(choice, |module| assert_eq!(function(module, "f").fold().branches, 0));
    // A real constant decides, also for the trap.
    for (constant, expected) in [
        ("true", "on:\nstore i32 1, ptr @g, align 4\nret void"),
        ("false", "not_covered:\ncall void @covsched_not_covered(i64 0, ptr null, i32 0)\nunreachable"),
    ] {
        folds_to(
            &format!(
                "@g = global i32 0
                define void @f() {{
                  br i1 {constant}, label %on, label %not_covered
                on:
                  store i32 1, ptr @g
                  ret void
                not_covered:
                  call void @covsched_not_covered(i64 0, ptr null, i32 0)
                  unreachable
                }}
                declare void @covsched_not_covered(i64, ptr, i32) noreturn"
            ),
            Folded { branches: 1, blocks_removed: 1, merged: 1, values: 0 },
            expected,
        );
    }
}

#[test]
fn what_was_assumed_goes_if_it_is_true() {
    folds_to(
        "@g = global i32 0
        define void @f() {
          %c = icmp eq i32 2, 2
          call void @llvm.assume(i1 %c)
          call void @llvm.assume(i1 true) [\"align\"(ptr @g, i64 8)]
          call void @llvm.assume(i1 false)
          store i32 1, ptr @g
          ret void
        }
        declare void @llvm.assume(i1)",
        Folded { values: 1, ..Folded::default() },
        "call void @llvm.assume(i1 true) [ \"align\"(ptr @g, i64 8) ]
        call void @llvm.assume(i1 false)
        store i32 1, ptr @g, align 4
        ret void",
    );
}

#[test]
fn nothing_is_lost_behind_what_is_undefined() {
    // LLVM's SimplifyCFG would make these `unreachable`.
    let body = "store i32 1, ptr null, align 4
          %v = load i32, ptr undef, align 4
          call void undef()
          store i32 2, ptr @g, align 4
          call void @never()
          store i32 3, ptr @g, align 4
          ret void";
    folds_to(
        &format!("@g = global i32 0\ndefine void @f() {{\n{body}\n}}\ndeclare void @never() noreturn"),
        Folded::default(),
        body,
    );
}

#[test]
fn items_go_only_with_what_control_does_not_reach() {
    folds_to(
        "define i32 @f() {
          %a = call i32 @covsched_sync(i64 1), !covsched.item !0
          %c = icmp ugt i32 1, 2
          br i1 %c, label %yes, label %no
        yes:
          %b = call i32 @covsched_sync(i64 2), !covsched.item !1
          br label %no
        no:
          %unused = call i32 @covsched_sync(i64 3), !covsched.item !1
          ret i32 %a
        }
        declare i32 @covsched_sync(i64)
        !0 = !{i32 0}
        !1 = !{i32 1}",
        Folded { values: 1, branches: 1, blocks_removed: 1, merged: 1 },
        "no:
        %a = call i32 @covsched_sync(i64 1), !covsched.item !0
        %unused = call i32 @covsched_sync(i64 3), !covsched.item !1
        ret i32 %a",
    );
}

#[test]
fn phis_with_one_value_go() {
    folds_to(
        "define i32 @f(i1 %c, i32 %x) {
        entry:
          br i1 %c, label %loop, label %end
        loop:
          %v = phi i32 [ %x, %entry ], [ %v, %loop ]
          br i1 %c, label %loop, label %end
        end:
          %r = phi i32 [ %x, %entry ], [ %v, %loop ]
          ret i32 %r
        }",
        Folded { values: 2, ..Folded::default() },
        "entry:
          br i1 %c, label %loop, label %end
        loop:
          br i1 %c, label %loop, label %end
        end:
          ret i32 %x",
    );
}

#[test]
fn a_check_that_holds_by_itself_goes() {
    let ir = "define i32 @f(i1 %c) {
          br i1 %c, label %a, label %b
        a:
          br label %b
        b:
          %v = phi i32 [ 2, %0 ], [ 2, %a ]
          ret i32 %v
        }";
    on(ir, |module| {
        let f = function(module, "f");
        let keep = Keep::Check { text: "the value 2 at p.c:3 (f)", thread: None };
        assert!(module.replace_uses(named(f, "v").result(), Constant::Int(2), keep));
        f.fold();
        let text = definition(module, "f");
        assert!(!text.contains("not_covered") && text.contains("ret i32 2"), "{text}");
    });
}

#[test]
fn the_programs_own_unreachable_blocks_go() {
    folds_to(
        "define void @f() {
          ret void
        island:
          br label %other
        other:
          %v = phi i32 [ %w, %other ], [ 1, %island ]
          %w = add i32 %w, %v
          br label %other
        }",
        Folded { blocks_removed: 2, ..Folded::default() },
        "ret void",
    );
}

#[test]
fn declarations_and_odd_functions_are_left_alone() {
    let ir = "declare void @declared()
        define void @f() naked {
          br i1 true, label %a, label %b
        a:
          unreachable
        b:
          unreachable
        }";
    on(ir, |module| {
        assert_eq!(function(module, "declared").fold(), Folded::default());
        assert_eq!(function(module, "f").fold(), Folded::default());
    });
}
