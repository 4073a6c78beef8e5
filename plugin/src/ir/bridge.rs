//! The C++ bridge, declared: the same functions as in `cpp/bridge.h`, and the enums that its small integers
//! become. Only `ir` names anything in here.

pub(crate) mod loom;

use llvm_plugin::inkwell::llvm_sys::prelude::{LLVMMetadataRef, LLVMModuleRef, LLVMValueRef};
use std::ffi::{c_char, c_void};

use covsched_core::hooks::Word;

/// Text that LLVM owns; valid until the module changes.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Text {
    data: *const c_char,
    len: usize,
}

impl Text {
    /// Lends text or bytes to LLVM for the length of a call.
    pub(crate) fn new(bytes: &(impl AsRef<[u8]> + ?Sized)) -> Text {
        let bytes = bytes.as_ref();
        Text { data: bytes.as_ptr().cast(), len: bytes.len() }
    }

    /// The bytes.
    ///
    /// # Safety
    /// What lent them still stands.
    pub(crate) unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.data.cast(), self.len) }
    }

    /// A copy. Linkage names and file names may hold any bytes; tables and reports need text.
    ///
    /// # Safety
    /// As for [`Text::bytes`].
    pub(crate) unsafe fn to_text(self) -> String {
        // SAFETY: the caller's promise.
        String::from_utf8_lossy(unsafe { self.bytes() }).into_owned()
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RawLocation {
    pub(crate) file: Text,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

#[repr(C)]
pub(crate) struct RawFunction {
    pub(crate) function: LLVMValueRef,
    pub(crate) name: Text,
    pub(crate) file: Text,
    pub(crate) flags: u32,
    pub(crate) linkage: u8,
}

/// Bits of [`RawFunction::flags`].
pub(crate) mod function_flags {
    pub(crate) const DECLARED: u32 = 1 << 0;
    pub(crate) const HAS_BODY: u32 = 1 << 1;
    pub(crate) const INTRINSIC: u32 = 1 << 2;
    pub(crate) const INTERPOSABLE: u32 = 1 << 3;
    pub(crate) const NAKED: u32 = 1 << 4;
    pub(crate) const COROUTINE: u32 = 1 << 5;
    pub(crate) const FUNCLET_EH: u32 = 1 << 6;
    pub(crate) const INSTRUMENTED: u32 = 1 << 7;
    pub(crate) const CANNOT_SYNC: u32 = 1 << 8;
    pub(crate) const PTR_OF_PTR: u32 = 1 << 9;
    pub(crate) const INT_OF_PTR: u32 = 1 << 10;
    pub(crate) const VOID_OF_PTR: u32 = 1 << 11;
    pub(crate) const VARIADIC: u32 = 1 << 12;
    pub(crate) const EXACT: u32 = 1 << 13;
    pub(crate) const RESOLVER: u32 = 1 << 14;
    pub(crate) const TESTED: u32 = 1 << 15;
    pub(crate) const PLAIN: u32 = 1 << 16;
    pub(crate) const RECORDED: u32 = 1 << 17;
    pub(crate) const INTERRUPT: u32 = 1 << 18;
}

/// [`RawFunction::linkage`] of a function that only its translation unit sees.
pub(crate) const INTERNAL: u8 = 1;

#[repr(C)]
pub(crate) struct RawInst {
    pub(crate) inst: LLVMValueRef,
    pub(crate) named: LLVMValueRef,
    pub(crate) function: LLVMValueRef,
    pub(crate) form: u8,
    pub(crate) target: u8,
    pub(crate) flags: u8,
}

/// Bits of [`RawInst::flags`].
pub(crate) mod inst_flags {
    pub(crate) const MUSTTAIL: u8 = 1 << 0;
    pub(crate) const RETURNS_TWICE: u8 = 1 << 1;
    pub(crate) const CANNOT_SYNC: u8 = 1 << 2;
    pub(crate) const GUARDED: u8 = 1 << 3;
    pub(crate) const TAIL_RECURSIVE: u8 = 1 << 4;
    pub(crate) const NO_ARGUMENTS: u8 = 1 << 5;
    pub(crate) const NORETURN: u8 = 1 << 6;
}

/// As `CovBlock`.
#[repr(C)]
pub(crate) struct RawBlock {
    pub(crate) start: LLVMValueRef,
    pub(crate) next: *const u32,
    pub(crate) next_count: usize,
    pub(crate) calls: *const LLVMValueRef,
    pub(crate) call_count: usize,
    pub(crate) end: u8,
    pub(crate) is_guard: bool,
}

/// As `CovLoop`.
#[repr(C)]
pub(crate) struct RawLoop {
    pub(crate) header: u32,
    pub(crate) blocks: *const u32,
    pub(crate) block_count: usize,
    pub(crate) latches: *const u32,
    pub(crate) latch_count: usize,
    pub(crate) inner: *const u32,
    pub(crate) inner_count: usize,
    pub(crate) location: LLVMMetadataRef,
    pub(crate) waits_for_memory: bool,
    pub(crate) may_go_on: bool,
}

/// As `CovIrreducible`.
#[repr(C)]
pub(crate) struct RawIrreducible {
    pub(crate) blocks: *const u32,
    pub(crate) block_count: usize,
    pub(crate) waits_for_memory: bool,
    pub(crate) may_go_on: bool,
}

/// As `CovFlowVisitor`.
#[repr(C)]
pub(crate) struct FlowVisitor {
    pub(crate) block: extern "C" fn(*mut c_void, *const RawBlock),
    pub(crate) natural_loop: extern "C" fn(*mut c_void, *const RawLoop),
    pub(crate) irreducible: extern "C" fn(*mut c_void, *const RawIrreducible),
    pub(crate) is_thread_call: extern "C" fn(Text) -> bool,
}

/// What the bridge lends for the length of a call.
///
/// # Safety
/// `count` values stand at `data`.
pub(crate) unsafe fn lent<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, count) }
}

/// How an instruction calls, or that it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `call`.
    Call,
    /// `invoke`.
    Invoke,
    /// `callbr`.
    Callbr,
    /// `ret`.
    Return,
}

impl Form {
    pub(crate) fn from_raw(raw: u8) -> Form {
        match raw {
            0 => Form::Call,
            1 => Form::Invoke,
            2 => Form::Callbr,
            3 => Form::Return,
            _ => unreachable!("the bridge knows four forms"),
        }
    }
}

/// What a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// A global, by name.
    Direct,
    /// Through a value.
    Indirect,
    /// Inline assembly.
    Asm,
}

impl Target {
    pub(crate) fn from_raw(raw: u8) -> Target {
        match raw {
            0 => Target::Direct,
            1 => Target::Indirect,
            2 => Target::Asm,
            _ => unreachable!("the bridge knows three targets"),
        }
    }
}

/// A word of the hook table, as `CovWord`.
pub(crate) fn raw_word(word: Word) -> u8 {
    match word {
        Word::Ptr => 0,
        Word::Int => 1,
        Word::Uint => 2,
        Word::Ulong => 3,
        Word::Site => 4,
        Word::Void => 5,
        Word::Never => 6,
    }
}

/// How bad a report is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The tool exits 1.
    Error,
    /// The tool goes on.
    Warning,
}

impl Severity {
    pub(crate) fn raw(self) -> u8 {
        match self {
            Severity::Error => 0,
            Severity::Warning => 1,
        }
    }
}

/// A `CovNumbers`.
#[repr(C)]
pub(crate) struct RawNumbers {
    _private: [u8; 0],
}

/// A `CovTemplate`.
#[repr(C)]
pub(crate) struct RawTemplate {
    _private: [u8; 0],
}

/// As `CovPiece`.
#[repr(C)]
pub(crate) struct RawPiece {
    pub(crate) call: LLVMValueRef,
    pub(crate) next: *const u32,
    pub(crate) next_count: usize,
    pub(crate) end: u8,
    pub(crate) lands: bool,
    pub(crate) may_unwind: bool,
}

/// As `CovNode`.
#[repr(C)]
pub(crate) struct RawNode {
    pub(crate) callee: LLVMValueRef,
    pub(crate) only_if: LLVMValueRef,
    pub(crate) start: LLVMValueRef,
    pub(crate) start_original: LLVMValueRef,
    pub(crate) start_offset: u64,
    pub(crate) start_index: u32,
    pub(crate) start_otherwise: u32,
    pub(crate) piece: u32,
    pub(crate) first_edge: u32,
    pub(crate) otherwise: u32,
    pub(crate) not_done: u32,
    pub(crate) escape: u32,
    pub(crate) item: u32,
    pub(crate) flags: u8,
}

/// Bits of [`RawNode::flags`].
pub(crate) mod node_flags {
    pub(crate) const GIVES_FLAG: u8 = 1 << 0;
    pub(crate) const SETS_FLAG: u8 = 1 << 1;
    pub(crate) const STARTS_OBJECT: u8 = 1 << 2;
    pub(crate) const OWN_FLAG: u8 = 1 << 3;
    pub(crate) const LANDS_PASSING: u8 = 1 << 4;
    pub(crate) const LANDS_ALL: u8 = 1 << 7;
    pub(crate) const ESCAPE_IF_DONE: u8 = 1 << 5;
    pub(crate) const ESCAPE_IF_NOT_DONE: u8 = 1 << 6;
}

/// `COV_NO_EDGE`.
pub(crate) const NO_EDGE: u32 = u32::MAX;

/// `COV_NO_ITEM`.
pub(crate) const NO_ITEM: u32 = u32::MAX;

/// As `CovTrap`.
#[repr(C)]
pub(crate) struct RawTrap {
    pub(crate) expected: u64,
    pub(crate) text: Text,
}

/// As `CovBody`.
#[repr(C)]
pub(crate) struct RawBody {
    pub(crate) nodes: *const RawNode,
    pub(crate) node_count: usize,
    pub(crate) edges: *const u32,
    pub(crate) traps: *const RawTrap,
    pub(crate) trap_count: usize,
    pub(crate) not_covered: LLVMValueRef,
    pub(crate) entry: u32,
    pub(crate) only_assume: bool,
}

/// As `CovMade`.
#[derive(Default)]
#[repr(C)]
pub(crate) struct RawMade {
    pub(crate) nodes: u64,
    pub(crate) assumes: u64,
    pub(crate) guards: u64,
}

/// As `CovConstant`.
#[repr(C)]
pub(crate) struct RawConstant {
    pub(crate) global: LLVMValueRef,
    pub(crate) number: u64,
    pub(crate) kind: u8,
}

/// As `CovConstantKind`.
pub(crate) mod constant_kinds {
    pub(crate) const INT: u8 = 0;
    pub(crate) const NULL: u8 = 1;
    pub(crate) const ADDRESS: u8 = 2;
    pub(crate) const FUNCTION: u8 = 3;
}

/// As `CovKept`.
#[repr(C)]
pub(crate) struct RawKept {
    pub(crate) hook: LLVMValueRef,
    pub(crate) text: Text,
    pub(crate) thread: i32,
    pub(crate) keep: u8,
}

/// As `CovKeep`.
pub(crate) mod keeps {
    pub(crate) const NOTHING: u8 = 0;
    pub(crate) const CHECK: u8 = 1;
    pub(crate) const CLAIM: u8 = 2;
}

/// `COV_OWN_THREAD`.
pub(crate) const OWN_THREAD: i32 = i32::MIN;

/// As `CovFolded`.
#[derive(Default)]
#[repr(C)]
pub(crate) struct RawFolded {
    pub(crate) values: u64,
    pub(crate) branches: u64,
    pub(crate) blocks_removed: u64,
    pub(crate) merged: u64,
}

/// `CovDecided`.
#[repr(C)]
pub(crate) struct RawDecided {
    pub(crate) place: RawLocation,
    pub(crate) value: i64,
    pub(crate) is_switch: bool,
}

/// `CovUnrolledLoop`.
#[repr(C)]
pub(crate) struct RawUnrolledLoop {
    pub(crate) place: RawLocation,
    pub(crate) trips: u32,
}

/// As `CovUnrollLimits`.
#[repr(C)]
pub(crate) struct RawUnrollLimits {
    pub(crate) instructions: u64,
    pub(crate) growth: u64,
    pub(crate) trips: u32,
}

/// As `CovLoopToUnroll`.
#[repr(C)]
pub(crate) struct RawLoopToUnroll {
    pub(crate) header: u32,
    pub(crate) keeps_header: bool,
}

/// As `CovLoopResult`.
#[repr(C)]
pub(crate) struct RawLoopResult {
    pub(crate) header: u32,
    pub(crate) times: u32,
    pub(crate) result: u8,
}

pub(crate) type TakeText = extern "C" fn(*mut c_void, Text);

/// `COV_LOOM_EARLY`: at the start of the pipeline.
pub(crate) const LOOM_EARLY: u8 = 0;

/// As `CovPassCallbacks`.
#[repr(C)]
pub(crate) struct PassCallbacks {
    pub(crate) parse: extern "C" fn(Text, *mut *mut c_void) -> u8,
    pub(crate) from_environment: extern "C" fn(u8) -> *mut c_void,
    pub(crate) before: extern "C" fn(usize, *mut *mut c_void) -> u8,
    pub(crate) loom: extern "C" fn(u8) -> *mut c_void,
    pub(crate) run: extern "C" fn(u8, *const c_void, LLVMModuleRef) -> bool,
    pub(crate) drop: extern "C" fn(*mut c_void),
}

/// A module's code that is being read, on the other side.
#[repr(C)]
pub(crate) struct RawCode {
    _private: [u8; 0],
}

/// A module under construction, on the other side.
#[repr(C)]
pub(crate) struct RawLinked {
    _private: [u8; 0],
}

extern "C" {
    pub(crate) fn cov_functions(
        module: LLVMModuleRef,
        visit: extern "C" fn(*mut c_void, *const RawFunction),
        context: *mut c_void,
    );
    pub(crate) fn cov_scan(
        function: LLVMValueRef,
        visit: extern "C" fn(*mut c_void, *const RawInst),
        context: *mut c_void,
    );
    pub(crate) fn cov_source_name(module: LLVMModuleRef) -> Text;
    pub(crate) fn cov_is_supported_target(module: LLVMModuleRef) -> bool;
    pub(crate) fn cov_name(value: LLVMValueRef) -> Text;
    pub(crate) fn cov_location(value: LLVMValueRef) -> RawLocation;
    pub(crate) fn cov_call_fits(
        call: LLVMValueRef,
        params: *const u8,
        count: usize,
        required: usize,
        result: u8,
    ) -> bool;
    pub(crate) fn cov_functions_behind(
        call: LLVMValueRef,
        argument: usize,
        visit: extern "C" fn(*mut c_void, LLVMValueRef),
        context: *mut c_void,
    );
    pub(crate) fn cov_address_escapes(function: LLVMValueRef, harmless: extern "C" fn(Text) -> bool) -> bool;
    pub(crate) fn cov_address_used(function: LLVMValueRef, first: *mut LLVMValueRef) -> bool;
    pub(crate) fn cov_section_data(
        module: LLVMModuleRef,
        section: Text,
        visit: TakeText,
        context: *mut c_void,
    );
    pub(crate) fn cov_has_flag(module: LLVMModuleRef, flag: Text) -> bool;

    pub(crate) fn cov_flow(function: LLVMValueRef, visitor: *const FlowVisitor, context: *mut c_void);
    pub(crate) fn cov_set_constant_argument(call: LLVMValueRef, argument: usize, value: u64);
    pub(crate) fn cov_constant_argument(call: LLVMValueRef, argument: usize, value: *mut u64) -> bool;
    pub(crate) fn cov_resumes(call: LLVMValueRef) -> u8;
    pub(crate) fn cov_argument_count(call: LLVMValueRef) -> usize;
    pub(crate) fn cov_call_may_reach(call: LLVMValueRef, function: LLVMValueRef) -> bool;
    pub(crate) fn cov_place_location(place: LLVMMetadataRef) -> RawLocation;
    pub(crate) fn cov_call_shape(call: LLVMValueRef) -> usize;
    pub(crate) fn cov_address_taken(
        function: LLVMValueRef,
        starts: extern "C" fn(Text, usize) -> bool,
    ) -> bool;

    pub(crate) fn cov_declare_hook(
        module: LLVMModuleRef,
        symbol: Text,
        params: *const u8,
        count: usize,
        result: u8,
        marker: bool,
        like: LLVMValueRef,
    ) -> LLVMValueRef;
    pub(crate) fn cov_replace_call(
        call: LLVMValueRef,
        hook: LLVMValueRef,
        original: LLVMValueRef,
        site: u64,
    ) -> LLVMValueRef;
    pub(crate) fn cov_insert_marker(
        before: LLVMValueRef,
        hook: LLVMValueRef,
        value: LLVMValueRef,
        site: *const u64,
        location: LLVMValueRef,
    ) -> LLVMValueRef;
    pub(crate) fn cov_entry_point(function: LLVMValueRef) -> LLVMValueRef;
    pub(crate) fn cov_body_point(function: LLVMValueRef) -> LLVMValueRef;
    pub(crate) fn cov_point_after(call: LLVMValueRef) -> LLVMValueRef;
    pub(crate) fn cov_landing_point(invoke: LLVMValueRef) -> LLVMValueRef;
    pub(crate) fn cov_make_wrapper(
        module: LLVMModuleRef,
        name: Text,
        hook: LLVMValueRef,
        original: LLVMValueRef,
        site: u64,
    ) -> LLVMValueRef;
    pub(crate) fn cov_replace_address(function: LLVMValueRef, wrapper: LLVMValueRef);
    pub(crate) fn cov_mark_instrumented(function: LLVMValueRef);
    pub(crate) fn cov_set_place(inst: LLVMValueRef, place: LLVMMetadataRef);
    pub(crate) fn cov_allow_markers(function: LLVMValueRef);
    pub(crate) fn cov_set_flag(module: LLVMModuleRef, flag: Text);
    pub(crate) fn cov_add_section_data(
        module: LLVMModuleRef,
        name: Text,
        section: Text,
        bytes: Text,
        retain: bool,
    );
    pub(crate) fn cov_active_byte(module: LLVMModuleRef, name: Text) -> LLVMValueRef;
    pub(crate) fn cov_add_registration(
        module: LLVMModuleRef,
        section: Text,
        hook: LLVMValueRef,
        active: LLVMValueRef,
        version: u32,
        size: u32,
    );
    pub(crate) fn cov_gather_allocas(function: LLVMValueRef);
    pub(crate) fn cov_guard_call(call: LLVMValueRef, active: LLVMValueRef, only: u8);

    pub(crate) fn cov_version_obstacle(
        function: LLVMValueRef,
        markers: *const LLVMValueRef,
        count: usize,
    ) -> u8;
    pub(crate) fn cov_is_only_called(function: LLVMValueRef) -> bool;
    pub(crate) fn cov_binds_here(function: LLVMValueRef) -> bool;
    pub(crate) fn cov_make_versions(
        function: LLVMValueRef,
        markers: *const LLVMValueRef,
        count: usize,
        active: LLVMValueRef,
        only: u8,
    ) -> LLVMValueRef;
    pub(crate) fn cov_join_versions(module: LLVMModuleRef) -> bool;
    pub(crate) fn cov_redirect(call: LLVMValueRef, from: LLVMValueRef, to: LLVMValueRef) -> bool;

    pub(crate) fn cov_forward(function: LLVMValueRef, to: LLVMValueRef);
    pub(crate) fn cov_drop_if_unused(function: LLVMValueRef) -> bool;
    pub(crate) fn cov_vtable_with(function: LLVMValueRef) -> LLVMValueRef;
    pub(crate) fn cov_keep_stored(module: LLVMModuleRef, stores: usize) -> usize;

    pub(crate) fn cov_diagnose(module: LLVMModuleRef, at: LLVMValueRef, severity: u8, message: Text);
    pub(crate) fn cov_demangle(name: Text, take: TakeText, context: *mut c_void);

    pub(crate) fn cov_remark(function: LLVMValueRef, place: LLVMMetadataRef, kind: u8, message: Text);

    pub(crate) fn cov_unroll(
        function: LLVMValueRef,
        loops: *const RawLoopToUnroll,
        count: usize,
        factor: u32,
        heed_disabled: bool,
        marker: Text,
        visit: extern "C" fn(*mut c_void, *const RawLoopResult),
        context: *mut c_void,
    ) -> bool;
    pub(crate) fn cov_disables_all_unrolling(module: LLVMModuleRef) -> bool;

    pub(crate) fn cov_template_new(
        function: LLVMValueRef,
        obstacle: *mut u8,
        at: *mut LLVMValueRef,
    ) -> *mut RawTemplate;
    pub(crate) fn cov_template_copy(copy: *mut RawTemplate) -> LLVMValueRef;
    pub(crate) fn cov_template_cut(copy: *mut RawTemplate, calls: *const LLVMValueRef, count: usize);
    pub(crate) fn cov_template_drop(copy: *mut RawTemplate);
    pub(crate) fn cov_template_pieces(
        copy: *mut RawTemplate,
        visit: extern "C" fn(*mut c_void, *const RawPiece),
        context: *mut c_void,
    );
    pub(crate) fn cov_clone_declare(
        copy: *mut RawTemplate,
        name: Text,
        thread: i32,
        frame: i32,
        flag: bool,
    ) -> LLVMValueRef;
    pub(crate) fn cov_clone_make(
        copy: *mut RawTemplate,
        clone: LLVMValueRef,
        body: *const RawBody,
        made: *mut RawMade,
    );
    pub(crate) fn cov_clone_vtable(
        vtable: LLVMValueRef,
        name: Text,
        method: LLVMValueRef,
        with: LLVMValueRef,
    ) -> LLVMValueRef;

    pub(crate) fn cov_code_new(module: LLVMModuleRef) -> *mut RawCode;
    pub(crate) fn cov_code_drop(code: *mut RawCode);
    pub(crate) fn cov_code_next(code: *mut RawCode, count: *mut usize) -> *const u64;

    pub(crate) fn cov_callee_to_copy(call: LLVMValueRef) -> LLVMValueRef;
    pub(crate) fn cov_call_clone(call: LLVMValueRef, clone: LLVMValueRef);
    pub(crate) fn cov_size(function: LLVMValueRef) -> usize;
    pub(crate) fn cov_promote_locals(function: LLVMValueRef) -> bool;
    pub(crate) fn cov_replace_uses(
        value: LLVMValueRef,
        with: *const RawConstant,
        keep: *const RawKept,
    ) -> bool;
    pub(crate) fn cov_fold(
        function: LLVMValueRef,
        done: *mut RawFolded,
        visit: extern "C" fn(*mut c_void, *const RawDecided),
        context: *mut c_void,
    );
    pub(crate) fn cov_unroll_constant(
        function: LLVMValueRef,
        limits: *const RawUnrollLimits,
        visit: extern "C" fn(*mut c_void, *const RawUnrolledLoop),
        context: *mut c_void,
    );
    pub(crate) fn cov_optimize(module: LLVMModuleRef);
    pub(crate) fn cov_variable(module: LLVMModuleRef, name: Text) -> LLVMValueRef;

    pub(crate) fn cov_numbers_new() -> *mut RawNumbers;
    pub(crate) fn cov_numbers_drop(numbers: *mut RawNumbers);
    pub(crate) fn cov_number_of(numbers: *mut RawNumbers, value: LLVMValueRef) -> u64;

    pub(crate) fn cov_thread_counter(module: LLVMModuleRef, name: Text) -> LLVMValueRef;
    pub(crate) fn cov_count_instructions(function: LLVMValueRef, counter: LLVMValueRef) -> bool;

    pub(crate) fn cov_register_passes(pass_builder: *mut c_void, callbacks: *const PassCallbacks);

    pub(crate) fn cov_write_bitcode(module: LLVMModuleRef, take: TakeText, context: *mut c_void);
    pub(crate) fn cov_linked_new() -> *mut RawLinked;
    pub(crate) fn cov_linked_drop(linked: *mut RawLinked);
    pub(crate) fn cov_linked_add(
        linked: *mut RawLinked,
        name: Text,
        bitcode: Text,
        take: TakeText,
        context: *mut c_void,
    ) -> bool;
    pub(crate) fn cov_linked_read(
        linked: *mut RawLinked,
        name: Text,
        ir: Text,
        take: TakeText,
        context: *mut c_void,
    ) -> bool;
    pub(crate) fn cov_linked_module(linked: *mut RawLinked) -> LLVMModuleRef;
    pub(crate) fn cov_linked_undefined(linked: *mut RawLinked, take: TakeText, context: *mut c_void);
    pub(crate) fn cov_linked_verify(linked: *mut RawLinked, take: TakeText, context: *mut c_void) -> bool;
    pub(crate) fn cov_linked_write(linked: *mut RawLinked, take: TakeText, context: *mut c_void);
}

/// Pushes a text that the bridge gives into the `Vec<Vec<u8>>` behind `context`.
pub(crate) extern "C" fn push_bytes(context: *mut c_void, text: Text) {
    // SAFETY: `collect_bytes` gave the context, and LLVM the text.
    unsafe { (*context.cast::<Vec<Vec<u8>>>()).push(text.bytes().to_vec()) };
}

/// Everything that the bridge gives to a [`TakeText`] while `call` runs.
pub(crate) fn collect_bytes<R>(call: impl FnOnce(TakeText, *mut c_void) -> R) -> (Vec<Vec<u8>>, R) {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let result = call(push_bytes, (&raw mut texts).cast());
    (texts, result)
}
