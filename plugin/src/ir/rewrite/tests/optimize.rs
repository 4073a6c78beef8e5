//! LLVM's optimizer, for programs without races.

use super::*;

#[test]
fn hooks_and_traps_stay_and_the_rest_is_optimized() {
    let ir = "@g = internal global i32 0
        @shared = global i32 0
        define i32 @main(i32 %n) {
          %dead = load i32, ptr @shared
          store i32 1, ptr @shared
          store i32 2, ptr @shared
          %c = icmp eq i32 %n, 2
          br i1 %c, label %on, label %not_covered
        on:
          call void @clone()
          %even = and i32 %n, 1
          %odd = icmp eq i32 %even, 1
          br i1 %odd, label %a, label %b
        a:
          %x = call i32 @covsched_pthread_mutex_lock(ptr @g, i64 1)
          br label %end
        b:
          %y = call i32 @covsched_pthread_mutex_lock(ptr @g, i64 1)
          br label %end
        end:
          %r = phi i32 [ %x, %a ], [ %y, %b ]
          ret i32 %r
        not_covered:
          call void @covsched_not_covered(i64 0, ptr null, i32 0) noreturn
          unreachable
        }
        define internal void @clone() {
          br label %loop
        loop:
          %i = phi i32 [ 0, %0 ], [ %next, %loop ]
          %l = call i32 @covsched_pthread_mutex_lock(ptr @g, i64 2)
          %next = add i32 %i, 1
          %more = icmp ult i32 %next, 3
          br i1 %more, label %loop, label %end
        end:
          ret void
        }
        declare i32 @covsched_pthread_mutex_lock(ptr, i64)
        declare void @covsched_not_covered(i64, ptr, i32) noreturn";
    on(ir, |module| {
        module.optimize_aggressively();
        let text = text_of(module);
        let locks = |site: u32| {
            count(&text, &format!("@covsched_pthread_mutex_lock(ptr nonnull @g, i64 {site})"))
                + count(&text, &format!("@covsched_pthread_mutex_lock(ptr @g, i64 {site})"))
        };
        // %n is 2 behind the guard, so one of the two is not reached; the other is neither merged nor copied.
        assert_eq!((locks(1), locks(2)), (1, 1), "{text}");
        assert!(text.contains("call void @covsched_not_covered(i64 0"), "{text}");
        assert!(
            text.contains("nomerge") && !text.contains("noduplicate") && !text.contains("covsched-once"),
            "{text}"
        );
        assert!(!text.contains("define internal void @clone"), "it has one call, and is inlined: {text}");
        assert_eq!(count(&text, "store i32"), 1, "no store that is written over: {text}");
        assert!(!text.contains("load i32, ptr @shared"), "{text}");
    });
}
