//! What is read and written, what aliases, and when what runs.

use super::expect_main;

#[test]
fn a_call_writes_what_its_callees_write() {
    expect_main(
        "define internal void @outer(ptr %p) { call void @inner(ptr %p) ret void }
         define internal void @inner(ptr %p) { store i32 1, ptr %p %x = load i32, ptr @c ret void }",
        "call void @outer(ptr @a)",
        "main outer writes: @a
         main outer reads: @c
         outer inner writes: @a",
    );
}

#[test]
fn functions_that_call_each_other_write_the_same() {
    expect_main(
        "define internal void @even(i32 %n) { store i32 1, ptr @a call void @odd(i32 %n) ret void }
         define internal void @odd(i32 %n) { store i32 1, ptr @b call void @even(i32 %n) ret void }",
        "call void @odd(i32 %n)",
        "main odd writes: @a, @b
         odd even writes: @a, @b",
    );
}

#[test]
fn a_thread_s_writes_are_not_its_creator_s() {
    expect_main(
        "declare i32 @pthread_create(ptr, ptr, ptr, ptr)
         define internal ptr @run(ptr %p) { store i32 1, ptr %p ret ptr null }",
        "%t = alloca i64
         call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr @a)",
        "main pthread_create writes: stack(main %t)
         main pthread_create starts: run
         run %p: @a",
    );
}

#[test]
fn constants_are_not_written() {
    expect_main(
        "@k = internal constant i32 5\n@w = internal global ptr @k
         define internal void @f(ptr %p) { store i32 1, ptr %p ret void }",
        "call void @f(ptr @k)\ncall void @f(ptr @a)",
        "f %p: @k, @a
         main f writes: @a",
    );
}

#[test]
fn unknown_code_writes_what_escaped_and_only_that() {
    expect_main(
        "declare void @unknown(ptr)",
        "store ptr @b, ptr @a\ncall void @unknown(ptr @a)",
        "escaped: external, library, environment, @a, @b
         main unknown writes: external, library, environment, @a, @b
         main calls: unknown code",
    );
}
