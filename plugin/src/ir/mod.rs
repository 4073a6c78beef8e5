//! The safe view of LLVM that the rest of the plugin uses.
//!
//! Values are small copies of LLVM's pointers, with the lifetime of the module that a pass was given. What
//! cannot be said with LLVM's C API goes through `bridge`. The view is safe as long as an instruction is not
//! used after it was replaced; the methods that replace take it by value and say so.

pub(crate) mod bridge;
pub mod clone;
pub mod code;
pub mod flow;
pub mod loom;
pub mod numbers;
pub mod replace;
pub mod rewrite;
pub mod tell;
#[cfg(test)]
mod testing;
pub mod unroll;
pub mod versions;

use bridge::{collect_bytes, function_flags, inst_flags, Text};
pub use bridge::{Form, Severity, Target};
use covsched_core::hooks::{Word, MARKERS};
use covsched_core::SiteId;
use llvm_plugin::inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::num::NonZeroU8;
use std::ptr::{null, null_mut};
pub use versions::Version;

/// A module that a pass was given.
#[derive(Clone, Copy)]
pub struct Module<'m>(LLVMModuleRef, PhantomData<&'m ()>);

/// A function. Compared by identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Function<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// An instruction. Compared by identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inst<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// Stand for what a hand-made view does not have.
#[cfg(test)]
impl Function<'static> {
    pub(crate) const NONE: Self = Function(null_mut(), PhantomData);
}

#[cfg(test)]
impl Inst<'static> {
    pub(crate) const NONE: Self = Inst(null_mut(), PhantomData);
}

/// A register: an instruction's result or a parameter. Compared by identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// A global that is called by name: a function, an alias, an ifunc. Compared by identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Global<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// What stands in the source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Location {
    /// File, empty if unknown.
    pub file: String,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown.
    pub column: u32,
}

/// What a function is, before anything is changed.
#[derive(Clone, Debug)]
pub struct FunctionFacts<'m> {
    /// The function.
    pub function: Function<'m>,
    /// Linkage name.
    pub name: String,
    /// The file of its definition, empty if unknown.
    pub file: String,
    /// Seen by its translation unit only.
    pub internal: bool,
    flags: u32,
}

impl FunctionFacts<'_> {
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The linker finds its definition elsewhere.
    pub fn is_declared(&self) -> bool {
        self.has(function_flags::DECLARED)
    }

    /// There are instructions to look at.
    pub fn has_body(&self) -> bool {
        self.has(function_flags::HAS_BODY)
    }

    /// LLVM's own.
    pub fn is_intrinsic(&self) -> bool {
        self.has(function_flags::INTRINSIC)
    }

    /// The linker may put a function in its place that does something else.
    pub fn is_interposable(&self) -> bool {
        self.has(function_flags::INTERPOSABLE)
    }

    /// The linker takes this body and no other copy.
    pub fn is_exact(&self) -> bool {
        self.has(function_flags::EXACT)
    }

    /// Chooses what an ifunc is; it runs while the program is still being relocated.
    pub fn is_resolver(&self) -> bool {
        self.has(function_flags::RESOLVER)
    }

    /// Has no frame and nothing but assembly.
    pub fn is_naked(&self) -> bool {
        self.has(function_flags::NAKED)
    }

    /// Handles a processor's interrupts: nothing can call it.
    pub fn is_interrupt(&self) -> bool {
        self.has(function_flags::INTERRUPT)
    }

    /// A coroutine that is not split yet.
    pub fn is_coroutine(&self) -> bool {
        self.has(function_flags::COROUTINE)
    }

    /// Handles exceptions in funclets.
    pub fn has_funclets(&self) -> bool {
        self.has(function_flags::FUNCLET_EH)
    }

    /// An earlier run of the pass did it.
    pub fn is_instrumented(&self) -> bool {
        self.has(function_flags::INSTRUMENTED)
    }

    /// Its attributes say that it cannot.
    pub fn cannot_synchronize(&self) -> bool {
        self.has(function_flags::CANNOT_SYNC)
    }

    /// Of type ptr (ptr), i32 (ptr) or void (ptr).
    pub fn is_thread_like(&self) -> bool {
        self.has(function_flags::PTR_OF_PTR | function_flags::INT_OF_PTR | function_flags::VOID_OF_PTR)
    }

    /// Of type ptr (ptr): what pthread_create takes.
    pub fn is_ptr_of_ptr(&self) -> bool {
        self.has(function_flags::PTR_OF_PTR)
    }

    /// Declared with `...`.
    pub fn is_variadic(&self) -> bool {
        self.has(function_flags::VARIADIC)
    }

    /// Which version of itself it is, once `covsched-lower` made several.
    pub fn version(&self) -> Option<Version> {
        match () {
            () if self.has(function_flags::TESTED) => Some(Version::Tested),
            () if self.has(function_flags::PLAIN) => Some(Version::Plain),
            () if self.has(function_flags::RECORDED) => Some(Version::Recorded),
            () => None,
        }
    }
}

/// A call or a return, before anything is changed.
#[derive(Clone, Copy, Debug)]
pub struct CallFacts<'m> {
    /// The instruction.
    pub inst: Inst<'m>,
    /// How it calls.
    pub form: Form,
    /// What it calls.
    pub target: Target,
    /// The global it names, if it names one.
    pub named: Option<Global<'m>>,
    /// The function behind that, if there is one.
    pub callee: Option<Function<'m>>,
    /// A call that must be followed by its return, or that return.
    pub is_bound_to_return: bool,
    /// setjmp and its kin.
    pub returns_twice: bool,
    /// Attributes say that it cannot synchronize.
    pub cannot_synchronize: bool,
    /// A marker that is guarded already.
    pub is_guarded: bool,
    /// It returns what it may get from the same function: optimizers make it a jump, so that it needs no stack.
    pub is_tail_recursive: bool,
    /// It passes nothing.
    pub has_no_arguments: bool,
    /// Control does not come back from it.
    pub never_returns: bool,
}

fn optional<T>(raw: LLVMValueRef, make: impl FnOnce(LLVMValueRef) -> T) -> Option<T> {
    (!raw.is_null()).then(|| make(raw))
}

fn raw_words(words: &[Word]) -> Vec<u8> {
    words.iter().map(|&word| bridge::raw_word(word)).collect()
}

// SAFETY of all calls below: a `Module` is made only by `Module::from_raw`, whose caller promises a live module;
// functions, instructions and globals come from it and live as long, but for the ones that methods consume.
impl<'m> Module<'m> {
    /// # Safety
    /// The module lives for `'m` and nobody else changes it meanwhile.
    pub unsafe fn from_raw(raw: LLVMModuleRef) -> Self {
        Module(raw, PhantomData)
    }

    /// Every function, declarations included.
    pub fn functions(self) -> Vec<FunctionFacts<'m>> {
        extern "C" fn visit(context: *mut c_void, raw: *const bridge::RawFunction) {
            // SAFETY: both are given by the call below.
            let (found, raw) = unsafe { (&mut *context.cast::<Vec<FunctionFacts<'_>>>(), &*raw) };
            found.push(FunctionFacts {
                function: Function(raw.function, PhantomData),
                // SAFETY: LLVM's text, copied at once.
                name: unsafe { raw.name.to_text() },
                // SAFETY: as above.
                file: unsafe { raw.file.to_text() },
                internal: raw.linkage == bridge::INTERNAL,
                flags: raw.flags,
            });
        }
        let mut found: Vec<FunctionFacts<'m>> = Vec::new();
        // SAFETY: see above.
        unsafe { bridge::cov_functions(self.0, visit, (&raw mut found).cast()) };
        found
    }

    /// Whether the target has ELF's sections, groups and constructors, which instrumented modules need.
    pub fn is_supported_target(self) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_is_supported_target(self.0) }
    }

    /// The source file, as the compiler was given it.
    pub fn source_name(self) -> String {
        // SAFETY: see above.
        unsafe { bridge::cov_source_name(self.0).to_text() }
    }

    /// The bytes of every constant in a section.
    pub fn section_data(self, section: &str) -> Vec<Vec<u8>> {
        // SAFETY: see above.
        collect_bytes(|take, context| unsafe {
            bridge::cov_section_data(self.0, Text::new(section), take, context)
        })
        .0
    }

    /// Whether the module has this flag.
    pub fn has_flag(self, flag: &str) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_has_flag(self.0, Text::new(flag)) }
    }

    /// Gives the module this flag.
    pub fn set_flag(self, flag: &str) {
        // SAFETY: see above.
        unsafe { bridge::cov_set_flag(self.0, Text::new(flag)) }
    }

    /// Declares a hook; `None` if the program uses its name for something else. `like`: whose noreturn, nounwind
    /// and cold it shares.
    pub fn declare_hook(
        self,
        symbol: &str,
        params: &[Word],
        result: Word,
        is_marker: bool,
        like: Option<Function<'m>>,
    ) -> Option<Function<'m>> {
        let params = raw_words(params);
        let like = like.map_or(null_mut(), |f| f.0);
        // SAFETY: see above.
        let raw = unsafe {
            bridge::cov_declare_hook(
                self.0,
                Text::new(symbol),
                params.as_ptr(),
                params.len(),
                bridge::raw_word(result),
                is_marker,
                like,
            )
        };
        optional(raw, |raw| Function(raw, PhantomData))
    }

    /// Declares a hook that the pass adds, by its row in core's table; `None` if the program uses its name for something
    /// else.
    pub(crate) fn declare_marker(self, symbol: &str) -> Option<Function<'m>> {
        let marker = MARKERS.iter().find(|marker| marker.symbol == symbol)?;
        self.declare_hook(marker.symbol, marker.params, marker.result, false, None)
    }

    /// A function that calls a hook with its own arguments; one a linked object.
    pub fn make_wrapper(
        self,
        name: &str,
        hook: Function<'m>,
        original: Option<Function<'m>>,
        site: SiteId,
    ) -> Function<'m> {
        let original = original.map_or(null_mut(), |f| f.0);
        // SAFETY: see above.
        let raw = unsafe { bridge::cov_make_wrapper(self.0, Text::new(name), hook.0, original, site.0) };
        Function(raw, PhantomData)
    }

    /// Adds a private constant in a section, 8-aligned. `retain`: linkers keep it too, not only the compiler.
    pub fn add_section_data(self, name: &str, section: &str, bytes: &[u8], retain: bool) {
        // SAFETY: see above.
        unsafe {
            bridge::cov_add_section_data(
                self.0,
                Text::new(name),
                Text::new(section),
                Text::new(bytes),
                retain,
            )
        }
    }

    /// The byte that says whether the runtime does anything.
    pub fn active_byte(self) -> Global<'m> {
        // SAFETY: see above.
        Global(unsafe { bridge::cov_active_byte(self.0, Text::new("covsched_active")) }, PhantomData)
    }

    /// The constructor that makes the linked object's site tables known through `hook`.
    pub fn add_registration(self, section: &str, hook: Function<'m>, version: u32, size: u32) {
        let active = self.active_byte();
        // SAFETY: see above.
        unsafe {
            bridge::cov_add_registration(self.0, Text::new(section), hook.0, active.0, version, size);
        }
    }

    /// The thread's own 64-bit counter of this name; `None` if the program uses the name for something else.
    pub fn thread_counter(self, name: &str) -> Option<Global<'m>> {
        // SAFETY: see above.
        optional(unsafe { bridge::cov_thread_counter(self.0, Text::new(name)) }, |raw| {
            Global(raw, PhantomData)
        })
    }

    /// The module as bitcode.
    pub fn bitcode(self) -> Vec<u8> {
        // SAFETY: see above.
        collect_bytes(|take, context| unsafe { bridge::cov_write_bitcode(self.0, take, context) }).0.concat()
    }

    /// Reports something about the module as a whole. An error may end the process (opt does).
    pub fn report(self, severity: Severity, message: &str) {
        // SAFETY: see above.
        unsafe { bridge::cov_diagnose(self.0, null_mut(), severity.raw(), Text::new(message)) }
    }

    /// Reports something at an instruction.
    pub fn report_at(self, inst: Inst<'m>, severity: Severity, message: &str) {
        // SAFETY: see above.
        unsafe { bridge::cov_diagnose(self.0, inst.0, severity.raw(), Text::new(message)) }
    }
}

impl<'m> Function<'m> {
    /// Its calls (no intrinsics) and returns, in order.
    pub fn calls(self) -> Vec<CallFacts<'m>> {
        extern "C" fn visit(context: *mut c_void, raw: *const bridge::RawInst) {
            // SAFETY: both are given by the call below.
            let (found, raw) = unsafe { (&mut *context.cast::<Vec<CallFacts<'_>>>(), &*raw) };
            found.push(CallFacts {
                inst: Inst(raw.inst, PhantomData),
                form: Form::from_raw(raw.form),
                target: Target::from_raw(raw.target),
                named: optional(raw.named, |raw| Global(raw, PhantomData)),
                callee: optional(raw.function, |raw| Function(raw, PhantomData)),
                is_bound_to_return: raw.flags & inst_flags::MUSTTAIL != 0,
                returns_twice: raw.flags & inst_flags::RETURNS_TWICE != 0,
                cannot_synchronize: raw.flags & inst_flags::CANNOT_SYNC != 0,
                is_guarded: raw.flags & inst_flags::GUARDED != 0,
                is_tail_recursive: raw.flags & inst_flags::TAIL_RECURSIVE != 0,
                has_no_arguments: raw.flags & inst_flags::NO_ARGUMENTS != 0,
                never_returns: raw.flags & inst_flags::NORETURN != 0,
            });
        }
        let mut found: Vec<CallFacts<'m>> = Vec::new();
        // SAFETY: see above.
        unsafe { bridge::cov_scan(self.0, visit, (&raw mut found).cast()) };
        found
    }

    /// Where it is defined.
    pub fn location(self) -> Location {
        // SAFETY: see above.
        Location::from_raw(unsafe { bridge::cov_location(self.0) })
    }

    /// Whether its address is data somewhere: not in a vtable, and not only given to functions that make no thread of
    /// it.
    pub fn address_escapes(self) -> bool {
        extern "C" fn harmless(name: Text) -> bool {
            // SAFETY: LLVM's text, only looked at.
            std::str::from_utf8(unsafe { name.bytes() })
                .is_ok_and(covsched_core::library::keeps_callback_in_thread)
        }
        // SAFETY: see above.
        unsafe { bridge::cov_address_escapes(self.0, harmless) }
    }

    /// Whether code or data that is not instrumented yet uses its address other than to call it or to compare
    /// it with null; with an instruction that does, if one does.
    pub fn address_use(self) -> Option<Option<Inst<'m>>> {
        let mut first = null_mut();
        // SAFETY: see above.
        let used = unsafe { bridge::cov_address_used(self.0, &mut first) };
        used.then(|| optional(first, |raw| Inst(raw, PhantomData)))
    }

    /// Replaces those uses.
    pub fn replace_address(self, wrapper: Function<'m>) {
        // SAFETY: see above.
        unsafe { bridge::cov_replace_address(self.0, wrapper.0) }
    }

    /// Marks it as done.
    pub fn mark_instrumented(self) {
        // SAFETY: see above.
        unsafe { bridge::cov_mark_instrumented(self.0) }
    }

    /// Where markers at its start go.
    pub fn entry_point(self) -> Inst<'m> {
        // SAFETY: see above.
        Inst(unsafe { bridge::cov_entry_point(self.0) }, PhantomData)
    }

    /// The same, also behind what unoptimized code does with its parameters.
    pub fn body_point(self) -> Inst<'m> {
        // SAFETY: see above.
        Inst(unsafe { bridge::cov_body_point(self.0) }, PhantomData)
    }

    /// Moves allocas of constant size to its head, so that the entry block can be split.
    pub fn gather_allocas(self) {
        // SAFETY: see above.
        unsafe { bridge::cov_gather_allocas(self.0) }
    }

    /// Lets every block add the number of its instructions to a counter. False if nothing was changed.
    pub fn count_instructions(self, counter: Global<'m>) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_count_instructions(self.0, counter.0) }
    }

    /// This function as a place whose line a marker gets.
    pub fn as_place(self) -> Inst<'m> {
        Inst(self.0, PhantomData)
    }
}

impl<'m> Inst<'m> {
    /// Where it stands in the source.
    pub fn location(self) -> Location {
        // SAFETY: see above.
        Location::from_raw(unsafe { bridge::cov_location(self.0) })
    }

    /// Whether this call's arguments and result fit; arguments after `required` may be missing.
    pub fn call_fits(self, params: &[Word], required: usize, result: Word) -> bool {
        let params = raw_words(params);
        // SAFETY: see above.
        unsafe {
            bridge::cov_call_fits(self.0, params.as_ptr(), params.len(), required, bridge::raw_word(result))
        }
    }

    /// The defined functions that an argument of this call may be.
    pub fn functions_behind(self, argument: usize) -> Vec<Function<'m>> {
        extern "C" fn visit(context: *mut c_void, raw: LLVMValueRef) {
            // SAFETY: given by the call below.
            unsafe { (*context.cast::<Vec<Function<'_>>>()).push(Function(raw, PhantomData)) };
        }
        let mut found: Vec<Function<'m>> = Vec::new();
        // SAFETY: see above.
        unsafe { bridge::cov_functions_behind(self.0, argument, visit, (&raw mut found).cast()) };
        found
    }

    /// Puts a call of a hook in this call's place; this instruction is gone afterwards.
    pub fn replace_by_hook(
        self,
        hook: Function<'m>,
        original: Option<Function<'m>>,
        site: SiteId,
    ) -> Inst<'m> {
        let original = original.map_or(null_mut(), |f| f.0);
        // SAFETY: see above.
        Inst(unsafe { bridge::cov_replace_call(self.0, hook.0, original, site.0) }, PhantomData)
    }

    /// Calls a marker before this instruction, with the source location of `place`.
    pub fn insert_marker(
        self,
        hook: Function<'m>,
        value: Option<Inst<'m>>,
        site: Option<SiteId>,
        place: Inst<'m>,
    ) -> Inst<'m> {
        let value = value.map_or(null_mut(), |inst| inst.0);
        let site = site.map(|site| site.0);
        let site = site.as_ref().map_or(null(), |site| &raw const *site);
        // SAFETY: see above.
        Inst(unsafe { bridge::cov_insert_marker(self.0, hook.0, value, site, place.0) }, PhantomData)
    }

    /// Where control goes when this call comes back normally; `None` if it does not.
    pub fn point_after(self) -> Option<Inst<'m>> {
        // SAFETY: see above.
        optional(unsafe { bridge::cov_point_after(self.0) }, |raw| Inst(raw, PhantomData))
    }

    /// The instruction after this invoke's landing pad.
    pub fn landing_point(self) -> Option<Inst<'m>> {
        // SAFETY: see above.
        optional(unsafe { bridge::cov_landing_point(self.0) }, |raw| Inst(raw, PhantomData))
    }

    /// Makes this call depend on the byte, which must be `only`, or anything but 0; its result is 0 otherwise.
    pub fn guard(self, active: Global<'m>, only: Option<NonZeroU8>) {
        // SAFETY: see above.
        unsafe { bridge::cov_guard_call(self.0, active.0, only.map_or(0, NonZeroU8::get)) }
    }
}

impl Global<'_> {
    /// Linkage name.
    pub fn name(self) -> String {
        // SAFETY: see above.
        unsafe { bridge::cov_name(self.0).to_text() }
    }
}

impl Value<'_> {
    /// Its name in LLVM's text, empty if it has only a number there.
    pub fn name(self) -> String {
        // SAFETY: see above.
        unsafe { bridge::cov_name(self.0).to_text() }
    }
}

impl Location {
    fn from_raw(raw: bridge::RawLocation) -> Location {
        // SAFETY: LLVM's text, copied at once.
        Location { file: unsafe { raw.file.to_text() }, line: raw.line, column: raw.column }
    }
}

/// The C++ name behind a linkage name, or the name itself.
pub fn demangle(name: &str) -> String {
    // SAFETY: the text lives through the call.
    let texts =
        collect_bytes(|take, context| unsafe { bridge::cov_demangle(Text::new(name), take, context) }).0;
    String::from_utf8_lossy(&texts.concat()).into_owned()
}
