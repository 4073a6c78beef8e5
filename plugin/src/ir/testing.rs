//! What unit tests look at in a module.

use super::{Function, Inst, Module};
use llvm_plugin::inkwell::llvm_sys::core::{
    LLVMDisposeMessage, LLVMGetFirstBasicBlock, LLVMGetFirstInstruction, LLVMGetNextBasicBlock,
    LLVMGetNextInstruction, LLVMGetValueName2, LLVMPrintModuleToString,
};
use std::ffi::CStr;
use std::marker::PhantomData;

/// The text of a module.
pub(super) fn text_of(module: Module<'_>) -> String {
    // SAFETY: a live module, and LLVM's own text.
    unsafe {
        let text = LLVMPrintModuleToString(module.0);
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        copy
    }
}

/// A function's definition in that text, without attributes, and without what stands before its name.
pub(super) fn definition(module: Module<'_>, name: &str) -> String {
    let text = text_of(module);
    let head = format!("@{name}(");
    let mut lines = text.lines().skip_while(|line| !(line.starts_with("define ") && line.contains(&head)));
    let first = lines.next().unwrap_or_else(|| panic!("{name} is defined in {text}"));
    let mut found = first[first.find(&head).unwrap_or(0)..].to_owned();
    for line in lines.take_while(|&line| line != "}") {
        found += "\n";
        // A block's predecessors are a comment.
        found += line.split(" ;").next().unwrap_or_default().trim_end();
    }
    found
}

pub(super) fn function<'m>(module: Module<'m>, name: &str) -> Function<'m> {
    let found = module.functions().into_iter().find(|facts| facts.name == name);
    found.unwrap_or_else(|| panic!("{name} is in the module")).function
}

/// All instructions of a function.
pub(super) fn insts(function: Function<'_>) -> Vec<Inst<'_>> {
    let mut found = Vec::new();
    // SAFETY: a live function.
    unsafe {
        let mut block = LLVMGetFirstBasicBlock(function.0);
        while !block.is_null() {
            let mut inst = LLVMGetFirstInstruction(block);
            while !inst.is_null() {
                found.push(Inst(inst, PhantomData));
                inst = LLVMGetNextInstruction(inst);
            }
            block = LLVMGetNextBasicBlock(block);
        }
    }
    found
}

/// The instruction of this name.
pub(super) fn named<'m>(function: Function<'m>, name: &str) -> Inst<'m> {
    let is_it = |inst: &Inst<'_>| {
        let mut length = 0;
        // SAFETY: a live value, and LLVM's own text.
        let text = unsafe {
            std::slice::from_raw_parts(LLVMGetValueName2(inst.0, &mut length).cast::<u8>(), length)
        };
        text == name.as_bytes()
    };
    insts(function).into_iter().find(is_it).unwrap_or_else(|| panic!("%{name} is in the function"))
}
