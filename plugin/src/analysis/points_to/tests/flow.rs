//! Where pointers flow in code.

use super::{analysed, expect, expect_main};
use crate::analysis::points_to::{Map, PointsTo};
use crate::ir::code::{Def, Operand};

#[test]
fn fields_are_told_apart() {
    expect_main(
        "",
        "%f = getelementptr i8, ptr @a, i64 8
         store ptr @b, ptr @a\nstore ptr @c, ptr %f
         %x = load ptr, ptr @a\n%y = load ptr, ptr %f\n%z = load ptr, ptr getelementptr (i8, ptr @a, i64 16)",
        "main %f: @a+8
         main %x: @b
         main %y: @c
         main %z: nothing",
    );
}

#[test]
fn an_unknown_index_is_anywhere_in_the_array() {
    expect_main(
        "",
        "%i = sext i32 %n to i64
         %f = getelementptr ptr, ptr @a, i64 %i
         store ptr @b, ptr %f\nstore ptr @c, ptr getelementptr (i8, ptr @a, i64 8)
         %x = load ptr, ptr @a\n%y = load ptr, ptr getelementptr (i8, ptr @a, i64 8)\n%z = load ptr, ptr %f",
        "main %f: @a+?
         main %x: @b
         main %y: @b, @c
         main %z: @b, @c",
    );
}

#[test]
fn a_pointer_that_walks_is_anywhere() {
    expect_main(
        "",
        "br label %l\nl:
         %p = phi ptr [ @a, %0 ], [ %q, %l ]\n%q = getelementptr i8, ptr %p, i64 8
         %c = icmp eq i32 %n, 0\nbr i1 %c, label %l, label %e\ne:",
        "main %p: @a+?
         main %q: @a+?",
    );
}

#[test]
fn a_union_gives_back_what_was_put_in_as_something_else() {
    expect_main(
        "",
        "%i = ptrtoint ptr @b to i64\nstore i64 %i, ptr @a
         %x = load ptr, ptr @a
         %d = load double, ptr @a\nstore double %d, ptr @c\n%y = load ptr, ptr @c",
        "main %x: @b
         main %y: @b",
    );
}

#[test]
fn a_pointer_that_is_copied_byte_by_byte_arrives() {
    let mut body = "store ptr @c, ptr @a\n".to_owned();
    for at in 0..8 {
        body += &format!(
            "%f{at} = getelementptr i8, ptr @a, i64 {at}\n%t{at} = getelementptr i8, ptr @b, i64 {at}\n\
             %v{at} = load i8, ptr %f{at}\nstore i8 %v{at}, ptr %t{at}\n"
        );
    }
    body += "%x = load ptr, ptr @b\n%y = load ptr, ptr getelementptr (i8, ptr @b, i64 8)";
    expect_main("", &body, "main %x: @c\nmain %y: nothing");
}

#[test]
fn an_access_that_is_not_aligned_touches_both_words() {
    expect_main(
        "",
        "%f = getelementptr i8, ptr @a, i64 4\nstore ptr @b, ptr %f
         %x = load ptr, ptr @a\n%y = load ptr, ptr getelementptr (i8, ptr @a, i64 8)
         %z = load ptr, ptr getelementptr (i8, ptr @a, i64 16)",
        "main %x: @b
         main %y: @b
         main %z: nothing",
    );
}

#[test]
fn integers_carry_the_pointers_that_they_come_from() {
    expect_main(
        "",
        "%i = ptrtoint ptr @a to i64\n%j = add i64 %i, 8\n%k = xor i64 %j, 12345
         %p = inttoptr i64 %i to ptr\n%q = inttoptr i64 %k to ptr
         %s = inttoptr i32 %n to ptr",
        "main %p: @a
         main %q: @a+?
         main %s: external",
    );
}

#[test]
fn an_integer_from_memory_may_be_a_pointer_to_what_escaped() {
    expect_main(
        "declare void @unknown(ptr)\n@i = internal global i64 0",
        "call void @unknown(ptr @b)\n%i = load i64, ptr @i\n%p = inttoptr i64 %i to ptr",
        "main %p: external
         escaped: external, library, environment, @b",
    );
}

#[test]
fn calls_through_pointers_are_found_while_pointers_are() {
    expect_main(
        "define internal ptr @f(ptr %p) { ret ptr %p }
         define internal ptr @g(ptr %q) { store ptr @f, ptr @b ret ptr %q }
         @table = internal constant [2 x ptr] [ptr @g, ptr null]",
        "%f = load ptr, ptr @table\n%x = call ptr %f(ptr @c)\n%g = load ptr, ptr @b\n%y = call ptr %g(ptr @a)",
        "main %f: @g
         main %g: @f
         main %x: @c
         main %y: @a
         f %p: @a
         g %q: @c
         main calls: @f, @g",
    );
}

#[test]
fn functions_that_nobody_calls_say_nothing() {
    expect_main(
        "define internal void @f(ptr %p) { store ptr @c, ptr @a ret void }",
        "%x = load ptr, ptr @a",
        "main %x: nothing
         f %p: nothing",
    );
}

#[test]
fn a_variable_number_of_arguments_arrives() {
    expect_main(
        "declare void @llvm.va_start(ptr)
         define internal ptr @f(i32 %count, ...) {
           %list = alloca { i32, i32, ptr, ptr }
           call void @llvm.va_start(ptr %list)
           %at = getelementptr i8, ptr %list, i64 16
           %area = load ptr, ptr %at
           %next = getelementptr i8, ptr %area, i64 8
           %x = load ptr, ptr %next
           ret ptr %x
         }",
        "%r = call ptr (i32, ...) @f(i32 2, ptr @a, ptr @b)",
        "main %r: @a, @b",
    );
}

#[test]
fn va_arg_gives_what_was_passed() {
    expect_main(
        "declare void @llvm.va_start(ptr)
         define internal ptr @f(i32 %count, ...) {
           %list = alloca { i32, i32, ptr, ptr }
           call void @llvm.va_start(ptr %list)
           %x = va_arg ptr %list, ptr
           ret ptr %x
         }",
        "%r = call ptr (i32, ...) @f(i32 2, ptr @a, ptr @b)",
        "main %r: @a+?, @b+?, ...",
    );
}

#[test]
fn what_is_passed_by_value_is_a_copy() {
    expect_main(
        "define internal ptr @f(ptr byval({ ptr, ptr }) %s) {
           %at = getelementptr i8, ptr %s, i64 8
           %x = load ptr, ptr %at
           store ptr null, ptr %s
           ret ptr %x
         }",
        "store ptr @b, ptr @a\nstore ptr @c, ptr getelementptr (i8, ptr @a, i64 8)
         %r = call ptr @f(ptr byval({ ptr, ptr }) @a)",
        "f %s: copy(f 0)
         main %r: @c
         main f writes: copy(f 0)",
    );
}

#[test]
fn thread_local_variables_are_objects_of_their_own() {
    expect_main(
        "@l = internal thread_local global ptr null\ndeclare ptr @llvm.threadlocal.address.p0(ptr)",
        "%l = call ptr @llvm.threadlocal.address.p0(ptr @l)\nstore ptr @a, ptr %l\n%x = load ptr, ptr %l",
        "main %l: @l
         main %x: @a",
    );
    analysed("@l = thread_local global i32 0\ndefine i32 @main() { ret i32 0 }", |_, points_to| {
        let object = points_to.objects().iter().find(|object| object.is_thread_local).expect("@l");
        assert!(!object.is_single);
    });
}

#[test]
fn returned_pointers_are_those_of_all_ways_out() {
    expect_main(
        "define internal ptr @f(i1 %c) {
           br i1 %c, label %x, label %y
           x: %m = alloca i32 ret ptr %m
           y: ret ptr getelementptr (i8, ptr @a, i64 8)
         }",
        "%c = icmp eq i32 %n, 0\n%r = call ptr @f(i1 %c)",
        "main %r: stack(f %m), @a+8",
    );
}

#[test]
fn aggregates_carry_pointers() {
    expect_main(
        "define internal { ptr, i64 } @f(ptr %p) {
           %s = insertvalue { ptr, i64 } undef, ptr %p, 0
           ret { ptr, i64 } %s
         }",
        "%s = call { ptr, i64 } @f(ptr @a)\n%p = extractvalue { ptr, i64 } %s, 0\nstore ptr @b, ptr %p\n%x = load ptr, ptr @a",
        "main %p: @a+?
         main %x: @b",
    );
}

#[test]
fn exchanges_give_the_old_and_put_the_new() {
    expect_main(
        "",
        "store ptr @b, ptr @a\n%old = atomicrmw xchg ptr @a, ptr @c seq_cst\n%x = load ptr, ptr @a
         store ptr @b, ptr @c\n%pair = cmpxchg ptr @c, ptr @b, ptr @a seq_cst seq_cst\n%y = load ptr, ptr @c
         %was = extractvalue { ptr, i1 } %pair, 0",
        "main %old: @b, @c
         main %x: @b, @c
         main %y: @a, @b
         main %was: @a+?, @b+?",
    );
}

#[test]
fn initializers_point() {
    expect(
        "@x = internal global i32 0
         @s = internal global { i32, [2 x ptr] } { i32 1, [2 x ptr] [ptr @x, ptr getelementptr (i8, ptr @s, i64 16)] }
         define i32 @main() {
           %p = load ptr, ptr getelementptr (i8, ptr @s, i64 8)
           %q = load ptr, ptr getelementptr (i8, ptr @s, i64 16)
           ret i32 0
         }",
        "main %p: @x
         main %q: @s+16",
    );
}

#[test]
fn a_module_without_main_is_called_by_others() {
    expect(
        "@shared = global ptr null\n@own = internal global ptr null
         define ptr @f(ptr %p) { store ptr %p, ptr @own %x = load ptr, ptr @shared ret ptr %x }
         define internal void @g(ptr %p) { ret void }",
        "f %p: external
         f %x: external
         g %p: nothing
         escaped: external, library, environment, @shared, @f",
    );
}

#[test]
fn constructors_run_before_main_and_destructors_some_time() {
    expect(
        "@x = internal global ptr null
         @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @c, ptr null }]
         @llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @d, ptr null }]
         define internal void @c() { store ptr @c, ptr @x ret void }
         define internal void @d() { ret void }
         define i32 @main() { %p = load ptr, ptr @x ret i32 0 }",
        "constructors: c
         floating: d
         main %p: @c",
    );
}

#[test]
fn a_caught_exception_may_be_anything_that_escaped() {
    expect_main(
        "declare i32 @__gxx_personality_v0(...)\ndeclare void @unknown(ptr)
         define internal ptr @f() personality ptr @__gxx_personality_v0 {
           invoke void @unknown(ptr @b) to label %ok unwind label %bad
           ok: ret ptr null
           bad: %pad = landingpad { ptr, i32 } cleanup
           %e = extractvalue { ptr, i32 } %pad, 0
           ret ptr %e
         }",
        "%r = call ptr @f()",
        "main %r: external",
    );
}

#[test]
fn pointers_to_different_fields_do_not_alias() {
    let ir = "@s = internal global [4 x ptr] zeroinitializer
         define i32 @main() {
           %p = getelementptr i8, ptr @s, i64 8\n%q = getelementptr i8, ptr @s, i64 12
           %m = alloca i32
           ret i32 0
         }";
    analysed(ir, |code, points_to| {
        let named = |name: &str| {
            let values = (0..).map(crate::ir::code::ValueId).zip(&code.values);
            let mut found =
                values.filter(|(_, value)| value.raw.name() == name && matches!(value.def, Def::Inst(_)));
            Operand::Value(found.next().expect("a register").0)
        };
        let (p, q, m) = (named("p"), named("q"), named("m"));
        let meet = |a, a_bytes, b, b_bytes| points_to.may_alias((a, a_bytes), (b, b_bytes));
        assert!(
            !meet(p, Some(4), q, Some(4)) && meet(p, Some(5), q, Some(4)) && meet(q, Some(1), p, Some(8))
        );
        assert!(meet(p, None, q, Some(1)) && !meet(p, Some(0), p, Some(8)));
        assert!(!meet(m, None, p, None) && meet(m, Some(4), m, Some(1)));
        assert!(meet(
            Operand::Int { value: 4096, width: 64 },
            None,
            Operand::Int { value: 8192, width: 64 },
            None
        ));
    });
}

#[test]
fn what_loads_are_known_to_read_takes_the_place_of_what_is_stored() {
    let ir = "@a = internal global ptr null\n@b = internal global i32 0\n@c = internal global i32 0
        define void @late(ptr %p) {\nstore ptr %p, ptr @a\nret void\n}
        define i32 @main() {
          %known = load ptr, ptr @a
          %address = load ptr, ptr @a
          %other = load ptr, ptr @a
          call void @late(ptr @b)\ncall void @late(ptr @c)
          %copy = load ptr, ptr @a
          ret i32 0\n}";
    analysed(ir, |code, before| {
        let named = |name: &str| {
            let is_it = |value: &usize| code.values[*value].raw.name() == name;
            crate::ir::code::ValueId((0..code.values.len()).find(is_it).expect("a register") as u32)
        };
        let count = |points_to: &PointsTo, operand| points_to.objects_behind(operand).iter().count();
        let global = |name: &str| {
            let at = code.globals.iter().position(|global| global.name == name).expect("a variable");
            Operand::Global(crate::ir::code::GlobalId(at as u32), 0)
        };
        let [known, address, other, copy] = ["known", "address", "other", "copy"].map(named);
        // A register of another function, which the analysis meets later; and an address.
        let reads = Map::from_iter([
            (known, Operand::Value(named("p"))),
            (address, global("b")),
            (copy, Operand::Value(address)),
        ]);
        let after = PointsTo::knowing(code, &reads);
        let counts = |points_to: &PointsTo| {
            [known, address, other, copy].map(|value| count(points_to, Operand::Value(value)))
        };
        assert_eq!((counts(before), counts(&after)), ([2, 2, 2, 2], [2, 1, 2, 1]));
        assert_eq!(
            after.objects_behind(Operand::Value(copy)).iter().collect::<Vec<_>>(),
            after.objects_behind(global("b")).iter().collect::<Vec<_>>()
        );
    });
}
