//! Modules for unit tests.

use crate::ir::Module;
use llvm_plugin::inkwell::llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_plugin::inkwell::llvm_sys::core::{
    LLVMContextCreate, LLVMContextDispose, LLVMContextSetDiagnosticHandler,
    LLVMCreateMemoryBufferWithMemoryRangeCopy, LLVMDisposeMessage, LLVMDisposeModule,
    LLVMGetDiagInfoDescription,
};
use llvm_plugin::inkwell::llvm_sys::ir_reader::LLVMParseIRInContext;
use llvm_plugin::inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use std::ffi::{c_void, CStr};
use std::ptr::null_mut;

/// The data layout of x86-64, to begin a module with.
pub(crate) const LAYOUT: &str = r#"target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
"#;

extern "C" fn collect(info: LLVMDiagnosticInfoRef, context: *mut c_void) {
    // SAFETY: LLVM gives the report, `complaints` the context.
    unsafe {
        let text = LLVMGetDiagInfoDescription(info);
        let complaints = &mut *context.cast::<Vec<String>>();
        complaints.push(CStr::from_ptr(text).to_string_lossy().into_owned());
        LLVMDisposeMessage(text);
    }
}

/// Runs something on a module made of this text, which must leave a valid module; gives what was reported meanwhile.
pub(crate) fn complaints(ir: &str, run: impl FnOnce(Module<'_>)) -> Vec<String> {
    let mut complaints: Vec<String> = Vec::new();
    // SAFETY: everything is made and freed here; the module outlives `run`.
    unsafe {
        let context = LLVMContextCreate();
        LLVMContextSetDiagnosticHandler(context, Some(collect), (&raw mut complaints).cast());
        let buffer =
            LLVMCreateMemoryBufferWithMemoryRangeCopy(ir.as_ptr().cast(), ir.len(), c"test".as_ptr());
        let (mut module, mut message) = (null_mut(), null_mut());
        let failed = LLVMParseIRInContext(context, buffer, &mut module, &mut message);
        assert_eq!(failed, 0, "{}", CStr::from_ptr(message).to_string_lossy());
        run(Module::from_raw(module));
        let failed =
            LLVMVerifyModule(module, LLVMVerifierFailureAction::LLVMReturnStatusAction, &mut message);
        assert_eq!(failed, 0, "{}", CStr::from_ptr(message).to_string_lossy());
        LLVMDisposeMessage(message);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
    }
    complaints
}
