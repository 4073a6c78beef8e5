//! What cannot be cloned is named, and the module stays as it is.

use super::super::*;
use super::{function, text_of};
use crate::testing::complaints;

fn obstacle(ir: &str) -> Obstacle {
    let mut found = None;
    let ir = format!("{ir}\n");
    complaints(&ir, |module| {
        let before = text_of(module);
        found = Template::of(function(module, "f"), |_| true).err().map(|limit| limit.obstacle);
        assert_eq!(text_of(module), before);
    });
    found.expect("a limit")
}

#[test]
fn a_template_leaves_nothing_behind() {
    let ir = "declare void @g()\ndefine i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  call void @g()\n  ret i32 %b\n}\n";
    complaints(ir, |module| {
        let before = text_of(module);
        let template = Template::of(function(module, "f"), |_| true).expect("no limit");
        assert_eq!(text_of(module), before);
        assert_eq!(template.pieces.len(), 3);
        assert_eq!(template.pieces[2].leaves, Some(Leave::Returns));
        drop(template);
        assert_eq!(text_of(module), before);
    });
}

#[test]
fn what_cannot_be_copied_is_a_limit() {
    assert_eq!(obstacle("declare void @f()"), Obstacle::Declared);
    assert_eq!(obstacle("define void @f() naked {\n unreachable\n}"), Obstacle::Naked);
    assert_eq!(obstacle("define void @f() presplitcoroutine {\n ret void\n}"), Obstacle::Coroutine);
    assert_eq!(
        obstacle("declare i32 @__CxxFrameHandler3(...)\ndefine void @f() personality ptr @__CxxFrameHandler3 {\n ret void\n}"),
        Obstacle::Funclets
    );
    assert_eq!(
        obstacle("declare i32 @setjmp(ptr) returns_twice\ndefine i32 @f(ptr %b) {\n %r = call i32 @setjmp(ptr %b) returns_twice\n ret i32 %r\n}"),
        Obstacle::ReturnsTwice
    );
    assert_eq!(
        obstacle("@a = global ptr blockaddress(@f, %l)\ndefine void @f() {\n br label %l\nl:\n ret void\n}"),
        Obstacle::AddressTaken
    );
    assert_eq!(
        obstacle("define void @f(ptr %p) {\n indirectbr ptr %p, [label %l]\nl:\n ret void\n}"),
        Obstacle::Indirectbr
    );
    assert_eq!(
        obstacle("define void @f() {\n callbr void asm \"\", \"!i\"() to label %a [label %b]\na:\n ret void\nb:\n ret void\n}"),
        Obstacle::Callbr
    );
    assert_eq!(
        obstacle("declare void @g()\ndefine void @f() {\n musttail call void @g()\n ret void\n}"),
        Obstacle::Musttail
    );
    assert_eq!(
        obstacle(
            "declare void @g() noduplicate\ndefine void @f() {\n call void @g() noduplicate\n ret void\n}"
        ),
        Obstacle::Noduplicate
    );
    assert_eq!(
        obstacle(
            "declare void @g() convergent\ndefine void @f() {\n call void @g() convergent\n ret void\n}"
        ),
        Obstacle::Convergent
    );
    assert_eq!(obstacle("define void @f(ptr swifterror %e) {\n ret void\n}"), Obstacle::SpecialMemory);
    assert_eq!(
        obstacle("declare void @llvm.localescape(...)\ndefine void @f() {\n %a = alloca i32\n call void (...) @llvm.localescape(ptr %a)\n ret void\n}"),
        Obstacle::FrameEscape
    );
}
