//! Blocks and where control goes.

use super::expect;

#[test]
fn branches_and_switches_keep_their_order() {
    expect(
        "define i8 @f(i1 %c, i8 %n) {
           br i1 %c, label %a, label %b
         b:
           switch i8 %n, label %a [i8 -1, label %b1
                                   i8 3, label %a
                                   i8 4, label %b1]
         b1:
           br label %a
         a:
           %r = phi i8 [ 1, %0 ], [ %n, %b ], [ %n, %b ], [ 2, %b1 ]
           ret i8 %r
         dead:
           %d = add i8 %n, 1
           br label %dead
         }",
        "func @f(%0: i1, %1: i8)
         b0 -> b3, b1
         branch %0
         b1 idom b0 -> b3, b2, b3, b2
         switch %1 [255, 3, 4]
         b2 idom b1 -> b3
         branch
         b3 idom b0 ->
         %2: i8 = phi b0: 1:i8, b1: %1, b1: %1, b2: 2:i8
         return %2
         b4 unreachable -> b4
         %3: i8 = add %1, 1:i8
         branch",
    );
}

#[test]
fn invokes_go_to_the_normal_block_first() {
    expect(
        "declare i32 @throws(i32)
         declare i32 @personality(...)
         define i32 @f(i32 %a) personality ptr @personality {
           %r = invoke i32 @throws(i32 %a) to label %ok unwind label %bad
         bad:
           %pad = landingpad { ptr, i32 } cleanup
           resume { ptr, i32 } %pad
         ok:
           ret i32 %r
         }",
        "func @f(%0: i32)
         b0 -> b2, b1
         %1: i32 = call @throws(%0)
         b1 idom b0 ->
         %2: other = other []
         other [%2]
         b2 idom b0 ->
         return %1",
    );
}

#[test]
fn indirect_branches_and_wide_switches_are_other() {
    expect(
        "define void @f(ptr %p, i128 %w) {
           indirectbr ptr %p, [label %a, label %b]
         a:
           switch i128 %w, label %b [i128 1, label %a1]
         a1:
           callbr void asm sideeffect \"\", \"r,!i\"(i32 1) to label %b [label %b]
         b:
           ret void
         }",
        "func @f(%0: ptr, %1: i128)
         b0 -> b1, b3
         other [%0]
         b1 idom b0 -> b3, b2
         other [%1, opaque()]
         b2 idom b1 -> b3, b3
         call asm(1:i32)
         b3 idom b0 ->
         return",
    );
}

#[test]
fn cycles_with_two_entries_are_irreducible() {
    expect(
        "define void @f(i1 %c) {
           br i1 %c, label %a, label %b
         a:
           br label %b
         b:
           br i1 %c, label %a, label %loop
         loop:
           br i1 %c, label %loop, label %end
         end:
           ret void
         }",
        "func @f(%0: i1)
         b0 -> b1, b2
         branch %0
         b1 idom b0 irreducible -> b2
         branch
         b2 idom b0 irreducible -> b1, b3
         branch %0
         b3 idom b2 l0 -> b3, b4
         branch %0
         b4 idom b3 ->
         return
         loop l0 b3 [b3]",
    );
}

#[test]
fn numbers_go_on_over_functions() {
    expect(
        "define i32 @f(i32 %a) {
           ret i32 %a
         }
         define i32 @g(i32 %a, i32 %b) {
           %1 = call i32 @f(i32 %b)
           br label %end
         end:
           ret i32 %1
         }",
        "func @f(%0: i32)
         b0 ->
         return %0
         func @g(%1: i32, %2: i32)
         b1 -> b2
         %3: i32 = call @f(%2)
         branch
         b2 idom b1 ->
         return %3",
    );
}
