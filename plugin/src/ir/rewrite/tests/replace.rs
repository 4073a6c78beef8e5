//! Constants in the place of registers.

use super::*;

const CHECK: Keep<'static> = Keep::Check { text: "the value 2 at p.c:3 (f)", thread: Some(ThreadId(7)) };
const CLAIM: Keep<'static> = Keep::Claim { text: "%v at p.c:3 (f)" };

#[test]
fn all_uses_of_a_result_become_the_constant() {
    let ir = "define i32 @f(ptr %p, i1 %c) {
        entry:
          %v = load i32, ptr %p
          br i1 %c, label %a, label %b
        a:
          %twice = add i32 %v, %v
          br label %b
        b:
          %r = phi i32 [ %v, %entry ], [ %twice, %a ]
          ret i32 %r
        }";
    on(ir, |module| {
        let v = named(function(module, "f"), "v").result();
        assert!(module.replace_uses(v, Constant::Int(2), Keep::Nothing));
        assert_body(
            module,
            "entry:
              %v = load i32, ptr %p, align 4
              br i1 %c, label %a, label %b
            a:
              %twice = add i32 2, 2
              br label %b
            b:
              %r = phi i32 [ 2, %entry ], [ %twice, %a ]
              ret i32 %r",
        );
        assert!(!module.replace_uses(v, Constant::Int(2), Keep::Nothing), "it has no use");
        assert!(!module.replace_uses(v, Constant::Int(2), CHECK), "it has no use");
    });
}

#[test]
fn a_check_follows_the_definition_and_keeps_the_register() {
    let ir = "define i32 @f(ptr %p) {
          %v = load i32, ptr %p
          %r = add i32 %v, 1
          ret i32 %r
        }";
    on(ir, |module| {
        let v = named(function(module, "f"), "v").result();
        assert!(module.replace_uses(v, Constant::Int(2), CHECK));
        let text = definition(module, "f");
        let expected = "@f(ptr %p) {
              %v = load i32, ptr %p, align 4
              %1 = freeze i32 %v, !covsched.check !0
              %2 = icmp ne i32 %1, 2, !covsched.check !0
              br i1 %2, label %not_covered, label %3, !prof !1
            3:
              %r = add i32 2, 1
              ret i32 %r
            not_covered:
              call void @covsched_not_covered(i64 0, ptr @covsched.value.HASH, i32 7) #1
              unreachable";
        let hash = text.split("@covsched.value.").nth(1).and_then(|rest| rest.split(',').next());
        assert_eq!(tidy(&text), tidy(expected).replace("HASH", hash.unwrap_or_default()));
        assert!(text_of(module).contains("constant [25 x i8] c\"the value 2 at p.c:3 (f)\\00\""));
        assert!(!module.replace_uses(v, Constant::Int(2), CHECK), "only its check uses it");
        assert!(!module.replace_uses(v, Constant::Int(2), Keep::Nothing), "only its check uses it");
    });
}

#[test]
fn a_second_check_of_the_same_is_not_made() {
    // A use that comes later: here one that the first replacement did not see.
    let ir = "define i32 @f(ptr %p) {
          %v = load i32, ptr %p
          %r = add i32 %v, 1
          %s = add i32 %r, %r
          ret i32 %s
        }";
    on(ir, |module| {
        let f = function(module, "f");
        let (v, s) = (named(f, "v"), named(f, "s"));
        assert!(module.replace_uses(v.result(), Constant::Int(2), CHECK));
        // SAFETY: both are in the function, and `v` comes first.
        unsafe { llvm_plugin::inkwell::llvm_sys::core::LLVMSetOperand(s.0, 0, v.0) };
        assert!(module.replace_uses(v.result(), Constant::Int(2), CHECK));
        let text = definition(module, "f");
        assert_eq!(count(&text, "call void @covsched_not_covered"), 1, "{text}");
        assert!(text.contains("%s = add i32 2, %r"), "{text}");
    });
}

#[test]
fn a_claim_shows_what_was_seen() {
    for (kind, constant, seen, claimed) in [
        ("i8", Constant::Int(250), "zext i8 %", "250"),
        ("i1", Constant::Int(1), "zext i1 %", "1"),
        ("ptr", Constant::Null, "ptrtoint ptr %", "0"),
        ("i64", Constant::Int(u64::MAX), "", "-1"),
    ] {
        let ir = format!("define {kind} @f(ptr %p) {{\n  %v = load {kind}, ptr %p\n  ret {kind} %v\n}}");
        on(&ir, |module| {
            let v = named(function(module, "f"), "v").result();
            assert!(module.replace_uses(v, constant, CLAIM));
            assert!(!module.replace_uses(v, constant, CLAIM), "only its claim uses it");
            let text = definition(module, "f");
            assert!(text.contains(seen), "{text}");
            assert!(text.contains("call void @covsched_claim_failed(i64 %"), "{text}");
            assert!(text.contains(&format!(", i64 {claimed}, ptr @covsched.value.")), "{text}");
            assert!(text.contains("claim_failed:"), "{text}");
        });
    }
}

#[test]
fn what_cannot_be_undefined_is_not_frozen() {
    on("define i32 @f(i32 noundef %v) {\n  ret i32 %v\n}", |module| {
        let v = function(module, "f").parameter(0).expect("there is one");
        assert!(module.replace_uses(v, Constant::Int(2), CLAIM));
        let text = definition(module, "f");
        assert!(!text.contains("freeze"), "{text}");
        assert!(!module.replace_uses(v, Constant::Int(2), CLAIM), "only its claim uses it");
    });
    // As it is: nothing between the register and the hook.
    on("define i64 @f(i64 noundef %v) {\n  ret i64 %v\n}", |module| {
        let v = function(module, "f").parameter(0).expect("there is one");
        assert!(module.replace_uses(v, Constant::Int(2), CLAIM));
        let text = definition(module, "f");
        assert!(text.contains("@covsched_claim_failed(i64 %v, i64 2"), "{text}");
        assert!(!module.replace_uses(v, Constant::Int(2), CLAIM), "only its claim uses it");
    });
}

#[test]
fn a_phi_is_checked_behind_the_phis() {
    let ir = "define i32 @f(i1 %c, i32 %n) {
        entry:
          br label %loop
        loop:
          %v = phi i32 [ 0, %entry ], [ %v, %loop ]
          %i = phi i32 [ %n, %entry ], [ %next, %loop ]
          %next = add i32 %i, %v
          br i1 %c, label %loop, label %end, !llvm.loop !0
        end:
          ret i32 %next
        }
        !0 = distinct !{!0}";
    for keep in [CHECK, CLAIM] {
        on(ir, |module| {
            let v = named(function(module, "f"), "v").result();
            assert!(module.replace_uses(v, Constant::Int(0), keep));
            let text = tidy(&definition(module, "f"));
            assert!(text.contains("%v = phi i32 [ 0, %entry ], [ 0, %"), "{text}");
            assert!(
                text.contains("%next = add i32 %i, 0\nbr i1 %c, label %loop, label %end, !llvm.loop"),
                "{text}"
            );
            assert!(text.contains("= freeze i32 %v"), "{text}");
        });
    }
}

#[test]
fn an_invokes_result_is_checked_on_its_normal_edge() {
    let ir = "define i32 @f(i1 %c) personality ptr @__gxx_personality_v0 {
        entry:
          br i1 %c, label %try, label %join
        try:
          %v = invoke i32 @g() to label %join unwind label %lands
        join:
          %r = phi i32 [ 1, %entry ], [ %v, %try ]
          ret i32 %r
        lands:
          %pad = landingpad { ptr, i32 } cleanup
          resume { ptr, i32 } %pad
        }
        declare i32 @g()
        declare i32 @__gxx_personality_v0(...)";
    for keep in [CHECK, CLAIM] {
        on(ir, |module| {
            let v = named(function(module, "f"), "v").result();
            assert!(module.replace_uses(v, Constant::Int(2), keep));
            let text = tidy(&definition(module, "f"));
            assert!(text.contains("%r = phi i32 [ 1, %entry ], [ 2, %"), "{text}");
            assert!(text.contains("to label %try.join_crit_edge unwind label %lands"), "{text}");
            assert!(text.contains("try.join_crit_edge:\n%0 = freeze i32 %v"), "{text}");
        });
    }
    // Where nothing else leads, nothing is split.
    let alone = "define i32 @f() personality ptr @__gxx_personality_v0 {
          %v = invoke i32 @g() to label %on unwind label %lands
        on:
          ret i32 %v
        lands:
          %pad = landingpad { ptr, i32 } cleanup
          resume { ptr, i32 } %pad
        }
        declare i32 @g()
        declare i32 @__gxx_personality_v0(...)";
    on(alone, |module| {
        let v = named(function(module, "f"), "v").result();
        assert!(module.replace_uses(v, Constant::Int(2), CHECK));
        let text = tidy(&definition(module, "f"));
        assert!(text.contains("on:\n%1 = freeze i32 %v"), "{text}");
    });
}

#[test]
fn a_parameter_is_checked_behind_the_allocas() {
    let ir = "define i32 @f(i32 %v) {
          %a = alloca i32
          store i32 %v, ptr %a
          %b = alloca [2 x i32]
          call void @g(ptr %a, ptr %b)
          %r = load i32, ptr %a
          ret i32 %r
        }
        declare void @g(ptr, ptr)";
    for keep in [CHECK, CLAIM] {
        on(ir, |module| {
            let v = function(module, "f").parameter(0).expect("there is one");
            assert!(module.replace_uses(v, Constant::Int(2), keep));
            let text = tidy(&definition(module, "f"));
            let head = "%a = alloca i32, align 4\n%b = alloca [2 x i32], align 4\n%1 = freeze i32 %v";
            assert!(text.contains(head), "{text}");
            assert!(text.contains("store i32 2, ptr %a"), "{text}");
        });
    }
    // A register in the entry block: the alloca behind it stays in it.
    let late = "define i32 @f(ptr %p) {
          %v = load i32, ptr %p
          %b = alloca i32
          store i32 %v, ptr %b
          call void @g(ptr %b, ptr %b)
          ret i32 0
        }
        declare void @g(ptr, ptr)";
    on(late, |module| {
        let v = named(function(module, "f"), "v").result();
        assert!(module.replace_uses(v, Constant::Int(2), CHECK));
        let text = tidy(&definition(module, "f"));
        assert!(text.contains("%b = alloca i32, align 4\n%v = load"), "{text}");
    });
}

#[test]
fn a_register_can_be_an_address() {
    let ir = "@v = global [4 x i32] zeroinitializer
        @t = thread_local global i32 0
        define ptr @f(ptr %p) {
          %v = load ptr, ptr %p
          ret ptr %v
        }
        declare void @g()
        declare void @llvm.donothing()";
    let address = |offset| {
        move |module: Module<'_>| {
            let v = named(function(module, "f"), "v").result();
            let variable = module.variable("v").expect("it is there");
            assert!(module.replace_uses(v, Constant::Address(variable, offset), CHECK));
            definition(module, "f")
        }
    };
    for (offset, expected) in [
        (0, "ret ptr @v"),
        (8, "ret ptr getelementptr inbounds (i8, ptr @v, i64 8)"),
        (16, "ret ptr getelementptr inbounds (i8, ptr @v, i64 16)"),
        (17, "ret ptr getelementptr (i8, ptr @v, i64 17)"),
        (-4, "ret ptr getelementptr (i8, ptr @v, i64 -4)"),
    ] {
        on(ir, |module| {
            let text = address(offset)(module);
            assert!(text.contains(expected), "{text}");
        });
    }
    on(ir, |module| {
        let v = named(function(module, "f"), "v").result();
        let own = module.variable("t").expect("it is there");
        assert!(!module.replace_uses(v, Constant::Address(own, 0), CHECK), "each thread has its own");
        let intrinsic = function(module, "llvm.donothing");
        assert!(!module.replace_uses(v, Constant::Function(intrinsic), CHECK), "it has no address");
        assert!(module.replace_uses(v, Constant::Function(function(module, "g")), CLAIM));
        let text = definition(module, "f");
        assert!(text.contains("ret ptr @g"), "{text}");
        assert!(text.contains("i64 ptrtoint (ptr @g to i64)"), "{text}");
    });
}

#[test]
fn what_does_not_fit_is_left_alone() {
    let ir = "define i8 @f(ptr %p, i128 %wide, float %real) {
          %v = load i8, ptr %p
          %a = alloca i8
          store i8 %v, ptr %a
          store i128 %wide, ptr %p
          store float %real, ptr %p
          %b = musttail call i8 @f(ptr %a, i128 %wide, float %real)
          ret i8 %b
        }
        declare i8 @declared(i8 %v)";
    on(ir, |module| {
        let before = text_of(module);
        let f = function(module, "f");
        let parameter = |number| f.parameter(number).expect("there is one");
        for keep in [Keep::Nothing, CHECK, CLAIM] {
            let no = |value, with| !module.replace_uses(value, with, keep);
            assert!(no(named(f, "v").result(), Constant::Int(256)), "too wide");
            assert!(no(named(f, "v").result(), Constant::Null), "no pointer");
            assert!(no(named(f, "v").result(), Constant::Function(f)), "no pointer");
            assert!(no(parameter(0), Constant::Int(0)), "no integer");
            assert!(no(parameter(1), Constant::Int(0)), "too wide to be known");
            assert!(no(parameter(2), Constant::Int(0)), "no integer");
            assert!(no(named(f, "a").result(), Constant::Null), "memory of the frame is not constant");
            assert!(no(named(f, "b").result(), Constant::Int(1)), "it must be what is returned");
        }
        assert_eq!(f.parameter(3), None);
        let declared = function(module, "declared").parameter(0).expect("there is one");
        assert!(!module.replace_uses(declared, Constant::Int(1), CHECK));
        let after = text_of(module);
        let hooks = |line: &&str| {
            !line.contains("@covsched_") && !line.starts_with("attributes") && !line.starts_with("; Function")
        };
        assert_eq!(
            after.lines().filter(hooks).collect::<Vec<_>>().join("\n").trim(),
            before.lines().filter(hooks).collect::<Vec<_>>().join("\n").trim()
        );
    });
}

#[test]
fn odd_functions_are_left_alone() {
    let pad = "personality ptr @__C_specific_handler";
    for (attributes, more) in [("naked", ""), ("presplitcoroutine", ""), ("", pad)] {
        let ir = format!(
            "define i32 @f(i32 %v) {attributes} {more} {{
              ret i32 %v
            }}
            declare i32 @__C_specific_handler(...)"
        );
        on(&ir, |module| {
            let v = function(module, "f").parameter(0).expect("there is one");
            assert!(!module.replace_uses(v, Constant::Int(2), CHECK));
            assert_body(module, "ret i32 %v");
        });
    }
    // No place for a check: behind an asm goto, in a block that begins with a catchswitch, before llvm.localescape.
    let jump = "define i32 @f() {
          %v = callbr i32 asm \"\", \"=r,!i\"() to label %a [label %b]
        a:
          ret i32 %v
        b:
          ret i32 0
        }";
    on(jump, |module| {
        let v = named(function(module, "f"), "v").result();
        assert!(!module.replace_uses(v, Constant::Int(2), CHECK));
        assert!(module.replace_uses(v, Constant::Int(2), Keep::Nothing));
    });
    let escape = "define i32 @f(i32 %v) {
          %a = alloca i32
          call void (...) @llvm.localescape(ptr %a)
          ret i32 %v
        }
        declare void @llvm.localescape(...)";
    on(escape, |module| {
        let v = function(module, "f").parameter(0).expect("there is one");
        assert!(!module.replace_uses(v, Constant::Int(2), CHECK));
    });
}

#[test]
fn a_hook_whose_name_is_taken_is_not_called() {
    let ir = "@covsched_not_covered = global i32 0
        define i32 @f(i32 %v) {
          ret i32 %v
        }";
    on(ir, |module| {
        let v = function(module, "f").parameter(0).expect("there is one");
        assert!(!module.replace_uses(v, Constant::Int(2), CHECK));
        assert!(module.replace_uses(v, Constant::Int(2), Keep::Nothing));
    });
}

#[test]
fn who_can_come_to_a_trap_does_not_promise_to_come_back() {
    let ir = "define i32 @f(i32 %v) memory(none) willreturn nosync nofree {
          ret i32 %v
        }
        define i32 @caller(i32 %v) memory(none) willreturn nounwind {
          %r = call i32 @f(i32 %v) memory(none) willreturn
          ret i32 %r
        }
        define i32 @outer(i32 %v) speculatable memory(none) willreturn {
          %r = call i32 @caller(i32 %v)
          ret i32 %r
        }
        define i32 @other(i32 %v) memory(none) willreturn {
          ret i32 %v
        }";
    let promises = |text: &str| {
        text.lines().filter(|line| line.starts_with("; ") && line.contains("willreturn")).count()
    };
    on(ir, |module| {
        let v = function(module, "f").parameter(0).expect("there is one");
        assert!(module.replace_uses(v, Constant::Int(2), Keep::Nothing));
        assert_eq!(promises(&text_of(module)), 4, "nothing can happen yet");
    });
    on(ir, |module| {
        let v = function(module, "f").parameter(0).expect("there is one");
        assert!(module.replace_uses(v, Constant::Int(2), CHECK));
        let text = text_of(module);
        assert_eq!(promises(&text), 1, "{text}");
        assert!(text.contains("nounwind"), "{text}");
        for gone in ["nosync", "nofree", "speculatable"] {
            assert!(!text.contains(gone), "{text}");
        }
    });
}

/// A function with a parameter and a local that debug info describes.
const DESCRIBED: &str = "
define i32 @f(i32 %v, ptr %p) !dbg !4 {
  call void @llvm.dbg.value(metadata i32 %v, metadata !8, metadata !DIExpression()), !dbg !9
  call void @llvm.dbg.declare(metadata ptr %p, metadata !8, metadata !DIExpression()), !dbg !9
  %w = load i32, ptr %p, !dbg !9
  call void @llvm.dbg.value(metadata i32 %w, metadata !8, metadata !DIExpression()), !dbg !9
  call void @llvm.dbg.value(metadata !DIArgList(i32 %w, i32 %v), metadata !8, metadata !DIExpression(DW_OP_LLVM_arg, 0, DW_OP_LLVM_arg, 1, DW_OP_plus)), !dbg !9
  %sum = add i32 %v, %w, !dbg !9
  %byte = load i8, ptr %p, !dbg !9
  store i8 %byte, ptr %p, !dbg !9
  ret i32 %sum, !dbg !9
}
declare void @llvm.dbg.value(metadata, metadata, metadata)
declare void @llvm.dbg.declare(metadata, metadata, metadata)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: \"p.c\", directory: \"/\")
!2 = !{i32 2, !\"Debug Info Version\", i32 3}
!3 = !{i32 7, !\"Dwarf Version\", i32 5}
!4 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{!7, !7}
!7 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)
!8 = !DILocalVariable(name: \"v\", scope: !4, file: !1, line: 1, type: !7)
!9 = !DILocation(line: 3, column: 5, scope: !4)
";

#[test]
fn debug_info_says_the_constant() {
    for keep in [Keep::Nothing, CHECK, CLAIM] {
        on(DESCRIBED, |module| {
            let f = function(module, "f");
            assert!(module.replace_uses(named(f, "w").result(), Constant::Int(5), keep));
            assert!(module.replace_uses(f.parameter(0).expect("there is one"), Constant::Int(2), keep));
            let text = text_of(module);
            assert!(text.contains("dbg.value(metadata i32 2, "), "{text}");
            assert!(text.contains("dbg.value(metadata i32 5, "), "{text}");
            assert!(text.contains("metadata !DIArgList(i32 5, i32 2)"), "{text}");
            assert!(text.contains("%sum = add i32 2, 5"), "{text}");
            // What is in memory is still where it was.
            assert!(text.contains("dbg.declare(metadata ptr %p"), "{text}");
        });
    }
    on(DESCRIBED, |module| {
        let p = function(module, "f").parameter(1).expect("there is one");
        assert!(module.replace_uses(p, Constant::Null, CHECK));
        assert!(text_of(module).contains("dbg.declare(metadata ptr %p"));
    });
}

#[test]
fn a_check_has_the_line_of_what_it_checks() {
    on(DESCRIBED, |module| {
        let f = function(module, "f");
        assert!(module.replace_uses(named(f, "w").result(), Constant::Int(5), CHECK));
        assert!(module.replace_uses(f.parameter(0).expect("there is one"), Constant::Int(2), CHECK));
        let text = text_of(module);
        for line in
            text.lines().filter(|line| line.contains("covsched.check") || line.contains("@covsched_not_"))
        {
            assert!(line.contains("!dbg") || line.starts_with("declare"), "{line}");
        }
        assert!(text.contains("icmp ne i32 %"), "{text}");
    });
}

#[test]
fn the_thread_is_that_of_the_clone_unless_another_is_given() {
    let ir = "define i32 @f(i32 %v, i32 %w) !covsched.clone !0 {
          %r = add i32 %v, %w
          ret i32 %r
        }
        define i32 @plain(i32 %v) {
          ret i32 %v
        }
        !0 = !{!\"g\", i32 3, i32 1}";
    on(ir, |module| {
        let (f, plain) = (function(module, "f"), function(module, "plain"));
        let parameter = |of: Function<'static>, number| of.parameter(number).expect("there is one");
        let check = |thread| Keep::Check { text: "the value 2 at p.c:3 (f)", thread };
        let f = Function(f.0, PhantomData);
        let plain = Function(plain.0, PhantomData);
        assert!(module.replace_uses(parameter(f, 0), Constant::Int(2), check(None)));
        assert!(module.replace_uses(parameter(f, 1), Constant::Int(2), check(Some(ThreadId(9)))));
        assert!(module.replace_uses(parameter(plain, 0), Constant::Int(2), check(None)));
        let text = definition(module, "f");
        assert!(text.contains(", i32 3)") && text.contains(", i32 9)"), "{text}");
        assert!(definition(module, "plain").contains(", i32 -1)"));
        assert_eq!(count(&text_of(module), "@covsched.value."), 4, "one text, three traps");
    });
}

#[test]
fn odd_bits_of_a_program_stay_valid() {
    // Callees, switches, conditions, bundles, operands of intrinsics, comparisons with itself.
    let ir = "define i32 @f(ptr %function, i32 %n, ptr %p) {
        entry:
          call void @llvm.assume(i1 true) [\"align\"(ptr %p, i64 8)]
          %self = icmp eq ptr %function, %function
          call void %function(i32 %n)
          call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8, i1 false)
          switch i32 %n, label %end [ i32 1, label %one
                                      i32 2, label %end ]
        one:
          %gep = getelementptr [4 x i32], ptr %p, i32 0, i32 %n
          %r = load i32, ptr %gep
          ret i32 %r
        end:
          %x = phi i32 [ %n, %entry ], [ %n, %entry ]
          ret i32 %x
        }
        declare void @g(i32)
        declare void @llvm.assume(i1)
        declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)";
    for keep in [Keep::Nothing, CHECK, CLAIM] {
        on(ir, |module| {
            let f = function(module, "f");
            let parameter = |number| f.parameter(number).expect("there is one");
            assert!(module.replace_uses(parameter(0), Constant::Function(function(module, "g")), keep));
            assert!(module.replace_uses(parameter(1), Constant::Int(2), keep));
            assert!(module.replace_uses(parameter(2), Constant::Null, keep));
            let folded = f.fold();
            assert_eq!((folded.branches, folded.blocks_removed), (1, 1));
            assert!(definition(module, "f").contains("call void @g(i32 2)"));
        });
    }
}
