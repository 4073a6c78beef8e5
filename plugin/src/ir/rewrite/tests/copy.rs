//! Copies for one call each, and locals in registers.

use super::*;
use crate::ir::testing::insts;
use crate::ir::Form;

/// The call of a function in another.
fn call_of<'m>(module: Module<'m>, caller: &str, callee: &str) -> Inst<'m> {
    let callee = function(module, callee);
    let mut calls = function(module, caller).calls().into_iter();
    calls.find(|call| call.form != Form::Return && call.callee == Some(callee)).expect("it is called").inst
}

#[test]
fn a_call_gets_a_copy_with_locals_in_registers() {
    let ir = "@g = global i32 0
        define i32 @f(i32 %x) {
          %a = call i32 @callee(i32 %x, i32 1) memory(none)
          %b = call i32 @callee(i32 %x, i32 2)
          %r = add i32 %a, %b
          ret i32 %r
        }
        define linkonce_odr hidden i32 @weak(i32 %x) {
          ret i32 %x
        }
        define hidden i32 @callee(i32 %x, i32 %y) noinline optnone memory(none) {
          %local = alloca i32
          %kept = alloca i32
          %given = alloca i32
          %unused = alloca i32
          store i32 %x, ptr %local
          store volatile i32 %y, ptr %kept
          call void @sees(ptr %given)
          %read = load i32, ptr @g
          store i32 %read, ptr %unused
          %a = load i32, ptr %local
          %b = load volatile i32, ptr %kept
          %r = add i32 %a, %b
          ret i32 %r
        }
        declare void @sees(ptr)";
    on(ir, |module| {
        let original = definition(module, "callee");
        let f = function(module, "f");
        let copy = named(f, "a").give_own_copy("callee.copy").expect("there is one");
        assert_eq!(definition(module, "callee"), original);
        let text = definition(module, "callee.copy");
        assert_eq!(count(&text, "alloca i32"), 2, "{text}");
        assert!(text.contains("store volatile i32 %1, ptr %kept"), "{text}");
        assert!(text.contains("call void @sees(ptr %given)"), "{text}");
        assert!(text.contains("= load i32, ptr @g"), "what is read may race: {text}");
        assert!(text.contains("!covsched.clone"), "{text}");
        assert_eq!(copy.size(), 8, "{text}");
        assert_eq!(function(module, "callee").size(), 13);
        assert_eq!(
            module.functions().iter().filter(|facts| facts.function == copy && facts.internal).count(),
            1
        );
        let whole = text_of(module);
        assert!(whole.contains("%a = call i32 @callee.copy(i32 %x, i32 1)\n"), "{whole}");
        assert!(whole.contains("%b = call i32 @callee(i32 %x, i32 2)"), "{whole}");
        assert!(whole.contains("!{!\"callee\", i32 -1, i32 -1}"), "{whole}");
        let head = whole.lines().find(|line| line.contains("@callee.copy(i32 %0")).unwrap_or_default();
        assert!(head.starts_with("define internal i32 @callee.copy") && !head.contains('#'), "{head}");
        assert_eq!(named(f, "a").give_own_copy("again"), None, "it has one");
    });
}

#[test]
fn what_has_no_copy() {
    let ir = "define void @f(ptr %p) {
          call void @declared()
          call void @weak()
          call void %p()
          call void (...) @variadic()
          call void @jumps()
          call void @labels()
          call void @clone()
          call void @f(ptr %p)
          call void @bound()
          call void asm \"\", \"\"()
          call void @llvm.donothing()
          %r = call i32 @other_type(i32 1)
          ret void
        }
        declare void @declared()
        define linkonce_odr void @weak() { ret void }
        define void @variadic(...) {
          %list = alloca [24 x i8]
          call void @llvm.va_start(ptr %list)
          ret void
        }
        define void @jumps() {
          %v = call i32 @setjmp(ptr null) returns_twice
          ret void
        }
        define void @labels() {
          store ptr blockaddress(@labels, %on), ptr null
          br label %on
        on:
          ret void
        }
        define void @bound() {
          musttail call void @declared()
          ret void
        }
        define void @clone() !covsched.clone !0 { ret void }
        define i32 @other_type() { ret i32 0 }
        declare void @llvm.va_start(ptr)
        declare void @llvm.donothing()
        declare i32 @setjmp(ptr) returns_twice
        !0 = !{!\"g\", i32 -1, i32 -1}";
    on(ir, |module| {
        let before = text_of(module);
        for inst in insts(function(module, "f")) {
            assert_eq!(inst.give_own_copy("copy"), None);
        }
        assert_eq!(text_of(module), before);
    });
}

#[test]
fn recursion_is_not_copied_again_and_again() {
    let ir = "define void @main() {
          call void @a()
          call void @own()
          ret void
        }
        define void @own() {
          call void @own()
          call void @simple()
          ret void
        }
        define void @a() {
          call void @b()
          ret void
        }
        define void @b() {
          call void @a()
          call void @simple()
          ret void
        }
        define void @simple() { ret void }";
    on(ir, |module| {
        let a = call_of(module, "main", "a").give_own_copy("a.copy").expect("it is not on the way");
        assert_eq!(a.calls().len(), 2);
        call_of(module, "a.copy", "b").give_own_copy("b.copy").expect("it is not on the way");
        assert_eq!(call_of(module, "b.copy", "a").give_own_copy("a.copy.2"), None);
        assert!(call_of(module, "b.copy", "simple").give_own_copy("simple.copy").is_some());
        assert_eq!(call_of(module, "own", "own").give_own_copy("own.copy"), None);
        call_of(module, "main", "own").give_own_copy("own.copy").expect("it is not on the way");
        assert_eq!(call_of(module, "own.copy", "own").give_own_copy("own.copy.2"), None);
    });
}

#[test]
fn an_alias_is_what_it_stands_for() {
    let ir = "@other = alias void (), ptr @callee
        @weak = weak alias void (), ptr @callee
        define void @f() {
          call void @other()
          call void @weak()
          ret void
        }
        define void @callee() { ret void }";
    on(ir, |module| {
        let calls = insts(function(module, "f"));
        assert!(calls[0].give_own_copy("copy").is_some());
        assert_eq!(calls[1].give_own_copy("copy"), None);
    });
}

#[test]
fn locals_of_any_function_can_be_put_into_registers() {
    let ir = "%pair = type { i32, i32 }
        @g = global i32 0
        define i32 @f(i1 %c, i32 %x) {
          %pair = alloca %pair
          %second = getelementptr %pair, ptr %pair, i32 0, i32 1
          store i32 %x, ptr %pair
          %read = load i32, ptr @g
          store i32 %read, ptr %second
          %local = alloca i32
          store i32 5, ptr %local
          %either = select i1 %c, ptr %local, ptr @g
          %maybe = load i32, ptr %either
          %r = load i32, ptr %pair
          %sum = add i32 %r, %maybe
          ret i32 %sum
        }
        define i32 @jumps() {
          %local = alloca i32
          store i32 1, ptr %local
          %j = call i32 @setjmp(ptr null) returns_twice
          %r = load i32, ptr %local
          ret i32 %r
        }
        declare i32 @setjmp(ptr) returns_twice";
    on(ir, |module| {
        assert!(function(module, "f").promote_locals());
        // What is only read if the condition says so is not read in any case.
        assert_body(
            module,
            "%read = load i32, ptr @g, align 4
            %local = alloca i32, align 4
            store i32 5, ptr %local, align 4
            %either = select i1 %c, ptr %local, ptr @g
            %maybe = load i32, ptr %either, align 4
            %sum = add i32 %x, %maybe
            ret i32 %sum",
        );
        assert!(!function(module, "f").promote_locals());
        assert!(!function(module, "jumps").promote_locals());
        assert!(!function(module, "setjmp").promote_locals());
    });
}
