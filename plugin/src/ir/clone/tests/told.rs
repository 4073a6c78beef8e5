//! What a node can be told: other callees, flags, pointers that are checked, threads that are started.

use super::super::*;
use super::{function, sync_site, text_of, Program};
use crate::testing::complaints;

const IDENTITY: Identity = Identity::Frame { thread: 2, frame: 5 };

/// A body with every piece once, wired as the original is.
fn identical<'m>(template: &Template<'m>, module: Module<'m>) -> Body<'m> {
    let nodes = template.pieces.iter().enumerate().map(|(number, piece)| Node {
        piece: PieceId(number as u32),
        next: piece.next.iter().map(|next| Target::Node(NodeId(next.0))).collect(),
        callee: Callee::Same,
        only_if: None,
        not_done: None,
        own_flag: false,
        escape: None,
        lands: Lands::Same,
        item: None,
        start: None,
    });
    Body {
        nodes: nodes.collect(),
        traps: vec![Trap { expected: SiteId(9), text: "call at p.c:9 (f)".to_owned() }],
        entry: NodeId(0),
        guards: Guards::Trap,
        not_covered: Some(module.not_covered().expect("the name is free")),
        sets_flag_at: Vec::new(),
    }
}

fn call_node(template: &Template<'_>, nth: usize) -> usize {
    let mut calls = template.pieces.iter().enumerate().filter(|(_, piece)| piece.call.is_some());
    calls.nth(nth).expect("a call").0
}

fn build_and_run(program: &Program, ir: &str, input: &[&str]) -> String {
    let output = super::run(&program.build(ir, "told", "-O2"), input);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const MAYBE: &str = "
__attribute__((noinline)) int maybe(int a) { if (a > 2) { covsched_sync(1); if (a > 4) throw a; } else if (a < 0) throw a; return a; }
extern \"C\" int f(int a, int b) {
  int r = b;
  try { r += maybe(a); printf(\"normal %d\\n\", r); }
  catch (int e) { r -= e; printf(\"caught %d\\n\", r); }
  return r;
}
int (*choice)(int, int) = f;
int main(int, char **argv) { printf(\"%d\\n\", choice(atoi(argv[1]), 7)); }
";

/// `f` calls a clone of `maybe` that says whether it synchronized, and takes another way then: the ways end in prints
/// that are told apart by a trap in each that is not the way to go.
fn with_flag(program: &Program, done_is_live: bool) -> String {
    let mut ir = String::new();
    complaints(&program.ir, |module| {
        let callee = function(module, "_Z5maybei");
        let inner = Template::of(callee, |call| sync_site(call).is_some()).expect("no limit");
        let maybe = inner.declare_clone("maybe.t2.6", IDENTITY, true);
        let mut body = identical(&inner, module);
        let sync = call_node(&inner, 0);
        body.sets_flag_at.push(NodeId(sync as u32));
        inner.make_clone(maybe, &body);

        let template =
            Template::of(function(module, "f"), |call| call.callee == Some(callee)).expect("no limit");
        let clone = template.declare_clone("f.t2.5", IDENTITY, false);
        let mut body = identical(&template, module);
        let call = call_node(&template, 0);
        let landing = template.pieces[call].next[1].0 as usize;
        let trap = Target::Trap(TrapId(0));
        body.nodes[call].callee = Callee::WithFlag(maybe);
        body.nodes[call].item = Some(6);
        for number in [call, landing] {
            let node = &mut body.nodes[number];
            if done_is_live {
                node.not_done = Some(trap);
            } else {
                node.not_done = Some(node.next[0]);
                node.next[0] = trap;
            }
        }
        template.make_clone(clone, &body);
        ir = text_of(module);
    });
    // What takes a call's place is the item, too.
    let call = ir.lines().skip_while(|line| !line.contains("@maybe.t2.6(i32 noundef %0, ptr %flag)")).nth(1);
    let mark = call.and_then(|line| line.split("!covsched.item ").nth(1)).unwrap_or("none");
    assert!(ir.contains(&format!("\n{mark} = !{{i32 6}}\n")), "{ir}");
    ir.replace("global ptr @f,", "global ptr @f.t2.5,")
}

#[test]
fn a_flag_says_whether_a_callee_synchronized() {
    let trap = "not covered: 9 call at p.c:9 (f) in thread 2\n";
    for level in ["-O0", "-O1"] {
        let program = Program::new(MAYBE, true, level);
        let (done, not_done) = (with_flag(&program, true), with_flag(&program, false));
        for (input, syncs, rest) in [
            ("3", true, "normal 10\n10\n"),
            ("5", true, "caught 2\n2\n"),
            ("1", false, "normal 8\n8\n"),
            ("-4", false, "caught 11\n11\n"),
        ] {
            let said = if syncs { "sync 1\n" } else { "" };
            let ends = |live: bool| format!("{said}{}", if live { rest } else { trap });
            assert_eq!(build_and_run(&program, &done, &[input]), ends(syncs), "{input} {level}");
            assert_eq!(build_and_run(&program, &not_done, &[input]), ends(!syncs), "{input} {level}");
        }
    }
}

#[test]
fn a_pointer_that_is_not_the_expected_function_leaves_the_schedule() {
    let source = "
        __attribute__((noinline)) int one(int a) { printf(\"one\\n\"); return a + 1; }
        __attribute__((noinline)) int two(int a) { printf(\"two\\n\"); return a + 2; }
        int (*table[2])(int) = {one, two};
        int f(int a, int b) { int r = table[a & 1](b); return r * 2; }
        int (*choice)(int, int) = f;
        int main(int argc, char **argv) { printf(\"%d\\n\", choice(atoi(argv[1]), 7)); }";
    let program = Program::new(source, false, "-O0");
    for guards in [Guards::Trap, Guards::Assume] {
        let mut ir = String::new();
        complaints(&program.ir, |module| {
            let one = function(module, "one");
            let inner = Template::of(one, |_| false).expect("no limit");
            let clone = inner.declare_clone("one.t2.6", IDENTITY, false);
            inner.make_clone(clone, &identical(&inner, module));
            let template = Template::of(function(module, "f"), |_| true).expect("no limit");
            let outer = template.declare_clone("f.t2.5", IDENTITY, false);
            let mut body = identical(&template, module);
            body.guards = guards;
            let call = call_node(&template, 0);
            body.nodes[call].only_if = Some((one, Target::Trap(TrapId(0))));
            body.nodes[call].callee = Callee::Function(clone);
            let made = template.make_clone(outer, &body);
            assert_eq!((made.guards, made.assumes), (1, 1));
            ir = text_of(module).replace("global ptr @f,", "global ptr @f.t2.5,");
        });
        assert!(ir.contains("call i32 @one.t2.6("));
        assert_eq!(build_and_run(&program, &ir, &["0"]), "one\n16\n");
        if guards == Guards::Trap {
            let trap = "not covered: 9 call at p.c:9 (f) in thread 2\n";
            assert_eq!(build_and_run(&program, &ir, &["1"]), trap);
        }
    }
}

#[test]
fn a_thread_is_started_with_its_clone() {
    let source = "
        struct State { virtual ~State() {} virtual void run() { printf(\"original\\n\"); } };
        void other(State *) { printf(\"clone\\n\"); }
        __attribute__((noinline)) int start(void (*first)(State *), State **state) { first(0); (*state)->run(); return 1; }
        void first(State *) { printf(\"first\\n\"); }
        extern \"C\" int f(int a, int b) { State own; State *state = &own; return start(first, &state); }
        int (*choice)(int, int) = f;
        int main(int, char **argv) { printf(\"%d\\n\", choice(1, 7)); }";
    let program = Program::new(source, true, "-O0");
    let mut ir = String::new();
    complaints(&program.ir, |module| {
        let other = function(module, "_Z5otherP5State");
        let run = function(module, "_ZN5State3runEv");
        let first = function(module, "_Z5firstP5State");
        let original = module.vtable_with(run).expect("a vtable");
        assert_eq!(original.name(), "_ZTV5State");
        assert!(module.clone_vtable(original, "no", other, other).is_none());
        let vtable = module.clone_vtable(original, "_ZTV5State.t2", run, other).expect("the method is in it");
        let template = Template::of(function(module, "f"), |call| {
            call.callee == Some(function(module, "_Z5startPFvP5StateEPS0_"))
        })
        .expect("no limit");
        let clone = template.declare_clone("f.t2.5", IDENTITY, false);
        let mut body = identical(&template, module);
        let call = call_node(&template, 0);
        body.nodes[call].start =
            Some(Start::Object { index: 1, original, vtable, offset: 16, otherwise: TrapId(0) });
        template.make_clone(clone, &body);
        let second = template.declare_clone("f.t2.6", IDENTITY, false);
        body.nodes[call].start =
            Some(Start::Argument { index: 0, original: first, function: other, otherwise: TrapId(0) });
        template.make_clone(second, &body);
        ir = text_of(module);
    });
    let with = |clone: &str| ir.replace("global ptr @f,", &format!("global ptr @{clone},"));
    assert_eq!(build_and_run(&program, &with("f"), &[]), "first\noriginal\n1\n");
    assert_eq!(build_and_run(&program, &with("f.t2.5"), &[]), "first\nclone\n1\n");
    assert_eq!(build_and_run(&program, &with("f.t2.6"), &[]), "clone\noriginal\n1\n");
}

#[test]
fn a_clone_says_what_it_is() {
    let program = Program::new(MAYBE, true, "-O0");
    let ir = with_flag(&program, true);
    let line = ir
        .lines()
        .find(|line| line.starts_with("define internal") && line.contains("@f.t2.5("))
        .expect("a clone");
    assert!(line.contains("!covsched.clone") && line.contains("!dbg"), "{line}");
    assert!(ir.contains("= !{!\"f\", i32 2, i32 5}"));
    let program_of = |name: &str| {
        ir.lines().any(|line| line.contains("distinct !DISubprogram(name: \"f\"") && line.contains(name))
    };
    assert!(program_of("linkageName: \"f.t2.5\""));
    // -O0's attributes are not the clone's.
    let attributes = line.split('#').nth(1).and_then(|rest| rest.split(' ').next()).expect("attributes");
    let group =
        ir.lines().find(|line| line.starts_with(&format!("attributes #{attributes} ="))).expect("a group");
    assert!(!group.contains("optnone") && !group.contains("noinline"), "{group}");
}

#[test]
fn conditions_with_one_live_side_are_assumed_behind_the_guard() {
    let ir = "define i32 @f(i1 %c, i32 %v) {
  br i1 %c, label %a, label %b
a:
  switch i32 %v, label %b [i32 3, label %d
                           i32 5, label %b]
b:
  ret i32 1
d:
  ret i32 2
}\n";
    for (guards, guarded) in [(Guards::Trap, true), (Guards::Assume, false)] {
        let mut text = String::new();
        complaints(ir, |module| {
            let template = Template::of(function(module, "f"), |_| true).expect("no limit");
            let clone = template.declare_clone("f.t0.0", Identity::Free, false);
            let mut body = identical(&template, module);
            let trap = Target::Trap(TrapId(0));
            body.guards = guards;
            body.nodes[0].next[1] = trap;
            body.nodes[1].next[0] = trap;
            body.nodes[1].next[2] = trap;
            let made = template.make_clone(clone, &body);
            assert_eq!(made, Made { nodes: 3, assumes: 2, guards: 2 });
            text = text_of(module);
        });
        let clone = text.split("define internal").nth(1).expect("the clone");
        assert!(clone.contains("call void @llvm.assume(i1 %0)"), "{clone}");
        assert!(clone.contains("icmp eq i32 %1, 3"), "{clone}");
        assert_eq!(clone.contains("switch i32"), guarded, "{clone}");
        assert_eq!(clone.contains("call void @covsched_not_covered(i64 9"), guarded, "{clone}");
    }
}
