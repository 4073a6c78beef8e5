//! A draft as LLVM IR. Values never cross blocks, so that any edges make a valid function: the entry is a block of its
//! own, and so is every landing pad.

use super::draft::{Deed, Draft, DraftBlock, DraftFunction, End};
use covsched_core::hooks::Op;
use std::fmt::Write;

impl Draft {
    /// The module's text.
    pub fn text(&self) -> String {
        let mut text = String::from(HEAD);
        let taken: Vec<String> = (0..self.functions.len())
            .filter(|&f| self.functions[f].address_taken)
            .map(|f| format!("ptr @f{f}"))
            .collect();
        let _ = writeln!(text, "@table = global [{} x ptr] [{}]", taken.len(), taken.join(", "));
        for (f, function) in self.functions.iter().enumerate() {
            let _ = writeln!(text, "\ndefine void @f{f}(i32 %x) personality ptr @__gxx_personality_v0 {{");
            let _ = writeln!(text, "entry:\n  br label %b0");
            write_blocks(&mut text, function);
            text.push_str("}\n");
        }
        text
    }
}

const HEAD: &str = "\
@object = global [64 x i8] zeroinitializer
@input = global i32 0
@slot = global ptr null
declare i32 @__gxx_personality_v0(...)
declare void @covsched_epoch_marker(i64)
declare void @outside()
declare void @outside_with(ptr)
declare void @abort() noreturn
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_mutex_trylock(ptr)
declare i32 @sem_post(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_barrier_wait(ptr)
declare void @pthread_exit(ptr) noreturn
define internal ptr @start(ptr %p) {
  ret ptr null
}
";

fn write_blocks(text: &mut String, function: &DraftFunction) {
    for (b, block) in function.blocks.iter().enumerate() {
        let _ = writeln!(text, "b{b}:");
        for (s, &deed) in block.steps.iter().enumerate() {
            let pointer = load_pointer(text, deed, &format!("{b}.{s}"));
            let _ = writeln!(text, "  call {}", called(deed, &pointer));
        }
        write_end(text, b, block);
    }
}

fn write_end(text: &mut String, b: usize, block: &DraftBlock) {
    let branch = |text: &mut String, volatile: &str, one: usize, other: usize| {
        let _ = writeln!(text, "  %v{b} = load {volatile}i32, ptr @input\n  %c{b} = icmp eq i32 %v{b}, {b}");
        let _ = writeln!(text, "  br i1 %c{b}, label %b{one}, label %b{other}");
    };
    match &block.end {
        End::Jump(to) => {
            let _ = writeln!(text, "  br label %b{to}");
        }
        End::Branch(one, other) => branch(text, "", *one, *other),
        End::Spin(one, other) => branch(text, "volatile ", *one, *other),
        End::Switch(targets) => {
            let cases: Vec<String> = targets[1..]
                .iter()
                .enumerate()
                .map(|(value, target)| format!("i32 {value}, label %b{target}"))
                .collect();
            let _ = writeln!(text, "  switch i32 %x, label %b{} [{}]", targets[0], cases.join(" "));
        }
        End::Invoke(deed, normal, landing) => {
            let pointer = load_pointer(text, *deed, &format!("{b}.i"));
            let called = called(*deed, &pointer);
            let _ = writeln!(text, "  invoke {called} to label %b{normal} unwind label %l{b}");
            let _ = writeln!(text, "l{b}:\n  %p{b} = landingpad {{ ptr, i32 }} catch ptr null");
            let _ = writeln!(text, "  br label %b{landing}");
        }
        End::Return => text.push_str("  ret void\n"),
        End::Resume => text.push_str("  resume { ptr, i32 } poison\n"),
        End::Stop => text.push_str("  call void @abort()\n  unreachable\n"),
    }
}

fn load_pointer(text: &mut String, deed: Deed, name: &str) -> String {
    let pointer = format!("%f{name}");
    if deed == Deed::Pointer {
        let _ = writeln!(text, "  {pointer} = load ptr, ptr @slot");
    }
    pointer
}

/// What stands after `call` or `invoke`.
fn called(deed: Deed, pointer: &str) -> String {
    match deed {
        Deed::Marker => "void @covsched_epoch_marker(i64 1)".to_owned(),
        Deed::Call(f) => format!("void @f{f}(i32 1)"),
        Deed::Pointer => format!("void {pointer}(i32 1)"),
        Deed::Unknown => "void @outside()".to_owned(),
        Deed::Callback(f) => format!("void @outside_with(ptr @f{f})"),
        Deed::Sync(op) => {
            let result = if op == Op::pthread_exit { "void" } else { "i32" };
            let arguments = match op {
                Op::pthread_cond_wait => "ptr @object, ptr @object",
                Op::pthread_cond_timedwait => "ptr @object, ptr @object, ptr @object",
                Op::pthread_create => "ptr @object, ptr null, ptr @start, ptr null",
                Op::pthread_join => "i64 1, ptr null",
                _ => "ptr @object",
            };
            format!("{result} @{}({arguments})", op.name())
        }
    }
}
