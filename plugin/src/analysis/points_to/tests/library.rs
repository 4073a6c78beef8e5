//! One test a kind of row in the table of library functions.

use super::expect_main;

#[test]
fn allocation_makes_an_object_a_call() {
    expect_main(
        "declare ptr @malloc(i64)\ndeclare ptr @calloc(i64, i64)\ndeclare i32 @posix_memalign(ptr, i64, i64)",
        "%p = call ptr @malloc(i64 8)\n%q = call ptr @calloc(i64 8, i64 2)
         %made = call i32 @posix_memalign(ptr @a, i64 64, i64 64)\n%r = load ptr, ptr @a",
        "main %p: heap(main %p)
         main %q: heap(main %q)
         main %r: heap(main %made)
         main posix_memalign writes: @a, heap(main %made)",
    );
}

#[test]
fn realloc_takes_the_contents_along() {
    expect_main(
        "declare ptr @malloc(i64)\ndeclare ptr @realloc(ptr, i64)",
        "%p = call ptr @malloc(i64 8)\nstore ptr @a, ptr %p
         %q = call ptr @realloc(ptr %p, i64 64)\n%x = load ptr, ptr %q
         %f = getelementptr i8, ptr %q, i64 8\n%y = load ptr, ptr %f",
        "main %q: heap(main %q)
         main %x: @a
         main realloc reads: library, heap(main %p)",
    );
}

#[test]
fn memory_is_copied_word_by_word() {
    for call in [
        "call void @llvm.memcpy.p0.p0.i64(ptr @b, ptr @a, i64 16, i1 false)",
        "call ptr @memmove(ptr @b, ptr @a, i64 16)",
    ] {
        expect_main(
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\ndeclare ptr @memmove(ptr, ptr, i64)
             @x = internal global i32 0",
            &format!(
                "store ptr @c, ptr getelementptr (i8, ptr @a, i64 8)\nstore ptr @x, ptr getelementptr (i8, ptr @a, i64 16)
                 {call}
                 %p = load ptr, ptr @b\n%q = load ptr, ptr getelementptr (i8, ptr @b, i64 8)
                 %r = load ptr, ptr getelementptr (i8, ptr @b, i64 16)"
            ),
            "main %p: nothing
             main %q: @c
             main %r: nothing",
        );
    }
}

#[test]
fn a_copy_that_is_not_aligned_reaches_both_words() {
    expect_main(
        "declare ptr @memcpy(ptr, ptr, i64)",
        "store ptr @c, ptr @a
         %to = call ptr @memcpy(ptr getelementptr (i8, ptr @b, i64 4), ptr @a, i64 8)
         %p = load ptr, ptr @b\n%q = load ptr, ptr getelementptr (i8, ptr @b, i64 8)
         %r = load ptr, ptr getelementptr (i8, ptr @b, i64 16)",
        "main %p: @c
         main %q: @c
         main %r: nothing",
    );
}

#[test]
fn a_copy_of_unknown_length_copies_everything_behind() {
    expect_main(
        "declare ptr @memcpy(ptr, ptr, i64)\n@x = internal global i32 0",
        "store ptr @x, ptr getelementptr (i8, ptr @a, i64 24)\n%l = sext i32 %n to i64
         %to = call ptr @memcpy(ptr getelementptr (i8, ptr @b, i64 8), ptr @a, i64 %l)
         %r = load ptr, ptr getelementptr (i8, ptr @b, i64 24)",
        "main %to: @b+8
         main %r: @x
         main memcpy reads: @a
         main memcpy writes: @b",
    );
}

#[test]
fn copies_see_what_is_stored_later_and_elsewhere() {
    expect_main(
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n@x = internal global i32 0",
        "call void @llvm.memcpy.p0.p0.i64(ptr @b, ptr @a, i64 32, i1 false)
         call void @llvm.memcpy.p0.p0.i64(ptr @c, ptr @b, i64 32, i1 false)
         %i = sext i32 %n to i64\n%f = getelementptr ptr, ptr @a, i64 %i\nstore ptr @x, ptr %f
         store ptr @a, ptr getelementptr (i8, ptr @b, i64 8)
         %r = load ptr, ptr @c\n%s = load ptr, ptr getelementptr (i8, ptr @c, i64 8)",
        "main %r: @x
         main %s: @x, @a",
    );
}

#[test]
fn strings_move_no_pointers() {
    expect_main(
        "declare ptr @strcpy(ptr, ptr)\ndeclare ptr @strchr(ptr, i32)\ndeclare i64 @strtol(ptr, ptr, i32)
         declare ptr @strtok(ptr, ptr)\ndeclare ptr @strdup(ptr)\ndeclare i64 @strlen(ptr)",
        "store ptr @c, ptr @a\n%p = call ptr @strcpy(ptr @b, ptr @a)\n%x = load ptr, ptr @b
         %q = call ptr @strchr(ptr @b, i32 65)\n%e = alloca ptr\n%l = call i64 @strtol(ptr @a, ptr %e, i32 10)
         %end = load ptr, ptr %e\n%t = call ptr @strtok(ptr @c, ptr @b)\n%d = call ptr @strdup(ptr @a)
         %len = call i64 @strlen(ptr @a)",
        "main %p: @b
         main %x: nothing
         main %q: @b+?
         main %end: @a+?
         main %t: @c+?
         main %d: heap(main %d)
         main %len: nothing
         main strlen writes: nothing
         main strlen reads: @a
         main strcpy writes: @b
         main strtok writes: @c
         main strtol writes: library, stack(main %e)",
    );
}

#[test]
fn standard_input_and_output() {
    expect_main(
        "declare i32 @printf(ptr, ...)\ndeclare i32 @scanf(ptr, ...)\ndeclare ptr @fgets(ptr, i32, ptr)
         declare ptr @fopen(ptr, ptr)\ndeclare i64 @fread(ptr, i64, i64, ptr)\ndeclare i64 @fwrite(ptr, i64, i64, ptr)
         @plain = internal constant [3 x i8] c\"%d\\00\"\n@counts = internal constant [3 x i8] c\"%n\\00\"
         define internal void @count() { %r = call i32 (ptr, ...) @printf(ptr @counts, ptr @c) ret void }",
        "%f = call ptr @fopen(ptr @plain, ptr @plain)
         %r = call i32 (ptr, ...) @printf(ptr @plain, ptr @a)
         %s = call i32 (ptr, ...) @scanf(ptr @plain, ptr @b)
         call void @count()
         %g = call ptr @fgets(ptr @c, i32 8, ptr %f)
         store ptr @c, ptr @a
         %w = call i64 @fwrite(ptr @a, i64 8, i64 1, ptr %f)\n%v = call i64 @fread(ptr @b, i64 8, i64 1, ptr %f)
         %x = load ptr, ptr @b",
        "main %f: library
         main printf writes: library
         main printf reads: library, @plain, @a
         count printf writes: library, @c
         main scanf writes: library, @b
         main %g: @c
         main fgets writes: library, @c
         main fread writes: library, @b
         main %x: @c",
    );
}

#[test]
fn comparators_get_pointers_into_the_array() {
    expect_main(
        "declare void @qsort(ptr, i64, i64, ptr)\ndeclare ptr @bsearch(ptr, ptr, i64, i64, ptr)
         define internal i32 @less(ptr %x, ptr %y) { store i32 1, ptr @c ret i32 0 }
         define internal i32 @same(ptr %k, ptr %e) { ret i32 0 }",
        "store ptr @b, ptr @a
         call void @qsort(ptr @a, i64 4, i64 8, ptr @less)
         %f = call ptr @bsearch(ptr @c, ptr @a, i64 4, i64 8, ptr @same)
         %x = load ptr, ptr getelementptr (i8, ptr @a, i64 8)",
        "less %x: @a+?
         less %y: @a+?
         same %k: @c, ...
         same %e: @a+?
         main %f: @a+?
         main %x: @b
         main qsort writes: @a, @c, ...",
    );
}

#[test]
fn a_thread_gets_its_argument_and_gives_its_result() {
    expect_main(
        "declare i32 @pthread_create(ptr, ptr, ptr, ptr)\ndeclare i32 @pthread_join(i64, ptr)\ndeclare void @pthread_exit(ptr)
         define internal ptr @run(ptr %arg) { call void @pthread_exit(ptr @c) ret ptr %arg }",
        "%t = alloca i64\n%r = alloca ptr
         call i32 @pthread_create(ptr %t, ptr null, ptr @run, ptr @b)
         %id = load i64, ptr %t\ncall i32 @pthread_join(i64 %id, ptr %r)\n%x = load ptr, ptr %r",
        "run %arg: @b
         main %x: @b, @c
         main pthread_create starts: run
         main pthread_join writes: stack(main %r)",
    );
}

#[test]
fn keys_once_routines_and_destructors() {
    expect_main(
        "declare i32 @pthread_key_create(ptr, ptr)\ndeclare i32 @pthread_setspecific(i32, ptr)
         declare ptr @pthread_getspecific(i32)\ndeclare i32 @pthread_once(ptr, ptr)\ndeclare i32 @atexit(ptr)
         @k = internal global i32 0\n@o = internal global i32 0
         define internal void @drop(ptr %p) { ret void }
         define internal void @once() { store i32 1, ptr @c ret void }
         define internal void @last() { ret void }",
        "%1 = call i32 @pthread_key_create(ptr @k, ptr @drop)\n%2 = call i32 @pthread_setspecific(i32 0, ptr @a)
         %x = call ptr @pthread_getspecific(i32 0)\n%3 = call i32 @pthread_once(ptr @o, ptr @once)
         %4 = call i32 @atexit(ptr @last)",
        "drop %p: @a
         main %x: @a
         floating: drop, last
         main calls: @once
         main pthread_once writes: @o, @c",
    );
}

#[test]
fn signal_handlers_run_at_any_time() {
    expect_main(
        "declare ptr @signal(i32, ptr)\ndeclare i32 @sigaction(i32, ptr, ptr)
         define internal void @h(i32 %s) { store ptr @c, ptr @a ret void }
         define internal void @i(i32 %s, ptr %info, ptr %context) { ret void }",
        "%old = call ptr @signal(i32 2, ptr @h)\n%act = alloca [19 x i64]\nstore ptr @i, ptr %act
         call i32 @sigaction(i32 3, ptr %act, ptr null)\n%x = load ptr, ptr @a",
        "floating: h, i
         main %x: @c
         main %old: @h, @i, ...
         i %info: external",
    );
}

#[test]
fn jumps_keep_what_was_there() {
    expect_main(
        "declare i32 @_setjmp(ptr) returns_twice\ndeclare void @longjmp(ptr, i32)\n@env = internal global [25 x i64] zeroinitializer
         define internal void @f() { store ptr @c, ptr @a call void @longjmp(ptr @env, i32 1) unreachable }",
        "%j = call i32 @_setjmp(ptr @env)\n%first = icmp eq i32 %j, 0\nbr i1 %first, label %go, label %back
         go:\nstore ptr @b, ptr @a\ncall void @f()\nret i32 0
         back:\n%x = load ptr, ptr @a",
        "main %x: @b, @c
         main _setjmp writes: @env
         main f writes: @a",
    );
}

#[test]
fn the_environment_is_an_object() {
    expect_main(
        "declare ptr @getenv(ptr)\ndeclare i32 @putenv(ptr)\ndeclare ptr @__errno_location()",
        "%1 = call i32 @putenv(ptr @c)\n%e = call ptr @getenv(ptr @a)\n%errno = call ptr @__errno_location()",
        "main %e: environment, @c
         main %errno: library
         main getenv writes: nothing",
    );
}

#[test]
fn unknown_functions_may_do_anything_with_what_they_reach() {
    expect_main(
        "declare ptr @mystery(ptr)\n@x = internal global ptr null
         define internal ptr @called(ptr %p) { store ptr %p, ptr @x ret ptr @c }",
        "store ptr @b, ptr @a\nstore ptr @called, ptr getelementptr (i8, ptr @a, i64 8)
         %r = call ptr @mystery(ptr @a)\n%y = load ptr, ptr @b\n%z = load ptr, ptr @x",
        "main %r: external
         main %y: external
         main %z: external
         called %p: external
         floating: called
         escaped: external, library, environment, @a, @b, @c, @called
         main mystery writes: external, library, environment, @a, @b, @c, @x, ...
         main calls: unknown code",
    );
}

#[test]
fn what_only_reads_keeps_nothing() {
    expect_main(
        "declare i32 @looks(ptr) memory(read) nounwind willreturn\ndeclare ptr @computes(ptr) memory(none) nounwind willreturn",
        "%1 = call i32 @looks(ptr @a)\n%p = call ptr @computes(ptr @b)",
        "main looks writes: nothing
         main looks reads: @a, ...
         main %p: @b+?, ...
         main computes writes: nothing
         escaped: external, library, environment",
    );
}

#[test]
fn hooks_do_what_they_replace() {
    expect_main(
        "declare i32 @covsched_pthread_create(ptr, ptr, ptr, ptr, i32)\ndefine internal ptr @run(ptr %arg) { ret ptr %arg }",
        "%t = alloca i64\ncall i32 @covsched_pthread_create(ptr %t, ptr null, ptr @run, ptr @b, i32 7)",
        "run %arg: @b
         main covsched_pthread_create starts: run",
    );
}
