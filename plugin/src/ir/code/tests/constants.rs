//! Constants, variables and functions.

use super::{dump_with, expect, expect_body, lines, LAYOUT};
use crate::ir::code::{Code, Summaries};
use crate::testing::complaints;

#[test]
fn addresses_are_objects_and_offsets() {
    expect(
        "@s = internal global { i8, [4 x i32] } zeroinitializer
         @far = external global i32
         @alias = internal alias i32, getelementptr ({ i8, [4 x i32] }, ptr @s, i64 0, i32 1, i64 2)
         @weak = weak alias i32, ptr @s
         @name = internal alias void (), ptr @f
         define internal void @f() {
           store ptr getelementptr ({ i8, [4 x i32] }, ptr @s, i64 0, i32 1, i64 1), ptr @far
           store ptr getelementptr (i8, ptr @s, i32 -4), ptr @far
           store ptr getelementptr (i32, ptr @alias, i64 1), ptr @alias
           store ptr @weak, ptr @far
           store ptr @name, ptr @far
           store ptr getelementptr (i8, ptr @f, i64 4), ptr @far
           store i64 ptrtoint (ptr @s to i64), ptr @far
           store i64 add (i64 ptrtoint (ptr @s to i64), i64 -8), ptr @far
           store i32 ptrtoint (ptr @s to i32), ptr @far
           store ptr inttoptr (i64 42 to ptr), ptr @far
           store ptr inttoptr (i64 add (i64 ptrtoint (ptr @s to i64), i64 3) to ptr), ptr @far
           store i64 ptrtoint (ptr getelementptr ({ i8, i64 }, ptr null, i64 1) to i64), ptr @far
           store i64 sub (i64 ptrtoint (ptr @far to i64), i64 ptrtoint (ptr @s to i64)), ptr @far
           store ptr null, ptr @far
           call void @name()
           ret void
         }",
        "global @s 20 internal zero
         global @far 4 unknown
         func @f() internal taken
         b0 ->
         store 8 @far, @s+8
         store 8 @far, @s-4
         store 8 @s+12, @s+16
         store 8 @far, opaque(@s)
         store 8 @far, @f
         store 8 @far, opaque(@f)
         store 8 @far, @s
         store 8 @far, @s-8
         store 4 @far, opaque(@s)
         store 8 @far, 42:i64
         store 8 @far, @s+3
         store 8 @far, 16:i64
         store 8 @far, opaque(@far, @s)
         store 8 @far, null
         call @f()
         return",
    );
}

#[test]
fn aggregates_mention_each_address_once_and_undef_is_undef() {
    expect_body(
        "ptr %p, i1 %c",
        "store { ptr, i32, { ptr, ptr } } { ptr @g, i32 1, { ptr, ptr } { ptr @g, ptr @f } }, ptr %p
         store float 1.5, ptr %p
         store i128 5, ptr %p
         store i32 undef, ptr %p
         store i32 poison, ptr %p
         %1 = select i1 %c, float 1.0, float 2.0
         store ptr blockaddress(@f, %next), ptr %p
         br label %next
         next:",
        "store 32 %0, opaque(@g, @f)
         store 4 %0, opaque()
         other writes [opaque(), %0]
         store 4 %0, undef
         store 4 %0, undef
         %2: other = other [%1, opaque(), opaque()]
         store 8 %0, opaque()
         ",
    );
}

#[test]
fn opaque_constants_are_equal_only_if_they_are_the_same() {
    let ir = "define float @f(i1 %c) {
           %1 = select i1 %c, float 1.0, float 2.0
           %2 = select i1 %c, float 1.0, float %1
           ret float %2
         }";
    complaints(ir, |module| assert_eq!(Code::of(module, &Summaries::default()).opaques.len(), 2));
}

#[test]
fn initializers_are_bytes_and_pointers() {
    expect(
        "@zero = global [100 x { i32, ptr }] zeroinitializer
         @padded = internal constant { i8, i32, i8, ptr, i16 } { i8 1, i32 -2, i8 3, ptr @zero, i16 258 }
         @nested = global [2 x [2 x { i16, i8 }]] [[2 x { i16, i8 }] [{ i16, i8 } { i16 1, i8 2 },
           { i16, i8 } { i16 3, i8 4 }], [2 x { i16, i8 }] zeroinitializer]
         @text = private unnamed_addr constant [4 x i8] c\"abc\\00\"
         @numbers = global [3 x i32] [i32 1, i32 2, i32 -1]
         @floats = global { float, double } { float 1.0, double -0.0 }
         @wide = global i128 18446744073709551617
         @odd = global [2 x i24] [i24 1, i24 2]
         @bit = global i1 true
         @table = internal constant [3 x ptr] [ptr @f, ptr null, ptr getelementptr (i8, ptr @text, i64 2)]
         @number = global i64 ptrtoint (ptr getelementptr ({ i8, i64 }, ptr null, i64 1) to i64)
         @fixed = global ptr inttoptr (i64 4096 to ptr)
         @integer = global { i32, i64 } { i32 9, i64 ptrtoint (ptr @text to i64) }
         @union = global { i32, [4 x i8] } { i32 5, [4 x i8] undef }
         @relative = constant i32 trunc (i64 sub (i64 ptrtoint (ptr @text to i64),
           i64 ptrtoint (ptr @relative to i64)) to i32)
         @weak = weak global i32 1
         @vtable = linkonce_odr constant [1 x ptr] [ptr @f]
         @far = external global [8 x i8]
         @given = externally_initialized global i32 1
         @vector = global <4 x i16> <i16 1, i16 2, i16 3, i16 4>
         @pointers = global <2 x ptr> <ptr @f, ptr null>
         define void @f() {
           ret void
         }",
        "global @zero 1600 zero
         global @padded 32 constant internal 01000000feffffff03000000000000000000000000000000\
         0201000000000000, 16: @zero
         global @nested 16 01000200030004000000000000000000
         global @text 4 constant internal 61626300
         global @numbers 12 0100000002000000ffffffff
         global @floats 16 0000803f000000000000000000000080
         global @wide 16 01000000000000000100000000000000
         global @odd 8 0100000002000000
         global @bit 1 01
         global @table 24 constant internal zero, 0: @f, 16: @text+2
         global @number 8 1000000000000000
         global @fixed 8 0010000000000000
         global @integer 16 09000000000000000000000000000000, 8: @text
         global @union 8 0500000000000000, 4..8 undef
         global @relative 4 constant unknown, 0: opaque(@text, @relative)
         global @weak 4 unknown
         global @vtable 8 constant unknown, 0: @f
         global @far 8 unknown
         global @given 4 unknown
         global @vector 8 0100020003000400
         global @pointers 16 zero, 0: @f
         func @f() taken
         b0 ->
         return",
    );
}

#[test]
fn large_initializers_are_unknown_unless_they_are_zero() {
    expect(
        "@zero = global [2000000 x i8] zeroinitializer
         @most = global { i8, [1048575 x i8] } { i8 0, [1048575 x i8] zeroinitializer }
         @large = global { ptr, i8, [1048576 x i8] } { ptr @zero, i8 1, [1048576 x i8] zeroinitializer }",
        "global @zero 2000000 zero
         global @most 1048576 zero
         global @large 1048592 unknown, 0: @zero",
    );
}

#[test]
fn functions_say_who_may_call_them() {
    let dump = dump_with(
        "@llvm.used = appending global [1 x ptr] [ptr @kept], section \"llvm.metadata\"
         @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr }
           { i32 1, ptr @constructor, ptr null }]
         @table = internal constant { i32, [1 x ptr] } { i32 1, [1 x ptr] [ptr @listed] }
         @inside = internal alias void (), ptr @called
         @outside = alias void (), ptr @exported
         declare i32 @pthread_create(ptr, ptr, ptr, ptr)
         declare void @llvm.trap()
         define internal void @kept() { ret void }
         define internal void @constructor() { ret void }
         define internal void @listed() { ret void }
         define internal void @called() { ret void }
         define internal void @exported() { ret void }
         define internal ptr @thread(ptr %p) { ret ptr %p }
         define internal void @jumps() {
           br label %next
         next:
           ret void
         }
         define weak void @replaced() { ret void }
         define i32 @main(i32 %n, ...) {
           call void @called()
           call void @inside()
           %1 = call i32 @pthread_create(ptr null, ptr null, ptr @thread, ptr null)
           %2 = icmp eq ptr blockaddress(@jumps, %next), null
           ret i32 0
         }",
        &Summaries::default(),
    );
    let functions: Vec<&str> = dump.lines().filter(|line| line.starts_with("func")).collect();
    assert_eq!(
        functions,
        [
            "func @pthread_create()",
            "func @llvm.trap() intrinsic",
            "func @kept() internal",
            "func @constructor() internal taken",
            "func @listed() internal taken",
            "func @called() internal",
            "func @exported() internal taken",
            "func @thread(%0: ptr) internal taken",
            "func @jumps() internal",
            "func @replaced() interposable",
            "func @main(%1: i32 ...)",
        ]
    );
}

#[test]
fn clones_are_known_by_their_mark() {
    expect(
        "define void @worker.t1.0() !covsched.clone !0 { ret void }
         define void @plain() !covsched.clone !1 { ret void }
         define void @none() { ret void }
         !0 = !{!\"worker\", i32 1, i32 0}
         !1 = !{!\"plain.original\", i32 -1, i32 -1}",
        "func @worker.t1.0() clone of worker thread 1 frame 0
         b0 ->
         return
         func @plain() clone of plain.original
         b1 ->
         return
         func @none()
         b2 ->
         return",
    );
}

#[test]
fn summaries_take_the_place_of_what_is_called_by_name() {
    let mut summaries = Summaries::default();
    summaries.insert("strcpy", "summary.strcpy");
    summaries.insert("strcat", "summary.strcat");
    let dump = dump_with(
        "declare ptr @strcpy(ptr, ptr)
         declare ptr @strcat(ptr, ptr)
         define internal ptr @summary.strcpy(ptr %a, ptr %b) { ret ptr %a }
         define void @f(ptr %p) {
           %1 = call ptr @strcpy(ptr %p, ptr %p)
           %2 = call ptr @strcat(ptr %p, ptr @strcpy)
           ret void
         }",
        &summaries,
    );
    let calls: Vec<String> = lines(&dump).into_iter().filter(|line| line.contains("call")).collect();
    assert_eq!(calls, ["%3: ptr = call @summary.strcpy(%2, %2)", "%4: ptr = call @strcat(%2, @strcpy)"]);
}

#[test]
fn registers_name_their_values() {
    let ir = format!("{LAYOUT}define i32 @f(i32 %a) {{\n  %b = add i32 %a, 1\n  ret i32 %b\n}}");
    complaints(&ir, |module| {
        let code = Code::of(module, &Summaries::default());
        assert_eq!(code.values.len(), 2);
        assert_eq!(code.insts[0].inst.0, code.values[1].raw.0);
        assert_ne!(code.values[0].raw, code.values[1].raw);
        assert_eq!(code.functions[0].function.location().line, 0);
    });
}
