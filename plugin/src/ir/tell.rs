//! What loom's pass made of a function, as `cpp/tell_read.cpp` reads it: the blocks of the slow path with what matters in
//! them, in plain data. The bridge's functions for this are declared here.

use super::bridge::{collect_bytes, lent, TakeText, Text};
use super::{Function, Inst};
use covsched_core::hooks::{Effect, HOOKS};
use covsched_core::library::never_synchronizes;
use covsched_core::loom::table::AccessKind;
use llvm_plugin::inkwell::llvm_sys::prelude::{LLVMMetadataRef, LLVMValueRef};
use std::ffi::c_void;
use std::marker::PhantomData;

/// A place in the source, with where it was inlined: a DILocation. Compared by identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Place<'m>(LLVMMetadataRef, PhantomData<&'m ()>);

/// Tells copies of an inlined function apart. Compared by identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InlinedAt<'m>(LLVMMetadataRef, PhantomData<&'m ()>);

/// A line of a chain of inlined calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChainLine<'m> {
    /// `None` if it is a line of the function itself.
    pub inlined_at: Option<InlinedAt<'m>>,
    /// Linkage name of the function, or its plain one.
    pub function: String,
    /// The file, with its folder if that is relative.
    pub file: String,
    /// The number.
    pub line: u32,
}

/// What an access does to which memory, or what is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessFacts {
    /// What it does.
    pub kind: AccessKind,
    /// Bytes, 0 if that is not constant.
    pub bytes: u32,
    /// The variable's name, empty if a pointer leads there.
    pub object: String,
    /// Linkage name of the callee, empty if there is none.
    pub callee: String,
    /// Hash of the address expression, 0 if unknown.
    pub address: u64,
    /// A local whose address was given away.
    pub local: bool,
    /// Several elements at once.
    pub vector: bool,
    /// A call that does not come back.
    pub ends: bool,
}

/// Where a thread is released while a call runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// It is not.
    Not,
    /// At this location.
    At(u32),
    /// At the location of this call cell.
    Cell(u32),
}

/// Something in a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ItemKind<'m> {
    /// From here on it is another line's.
    Line,
    /// A slot: what comes after it is at the item's place.
    Slot {
        /// Its number.
        slot: u32,
        /// What came before.
        from: Option<Place<'m>>,
        /// Variables that have their value.
        available: Vec<u32>,
    },
    /// A check at an entry or back edge.
    Check {
        /// Its location.
        location: u32,
    },
    /// A call; by its facts an access too.
    Call {
        /// Whether the thread is released meanwhile.
        release: Release,
        /// An exception may leave the function.
        may_unwind: bool,
        /// Inline assembly.
        is_asm: bool,
        /// Comes back twice.
        returns_twice: bool,
        /// Nothing follows on the fast path but the return.
        is_last: bool,
    },
    /// An access.
    Access,
    /// An exception lands.
    Landing {
        /// Where a thread may pause that comes here; `NO_NUMBER` if not here.
        location: u32,
    },
}

/// Something in a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item<'m> {
    /// The instruction.
    pub inst: Inst<'m>,
    /// What it is.
    pub kind: ItemKind<'m>,
    /// Its place in the source.
    pub place: Option<Place<'m>>,
    /// What it accesses or calls.
    pub access: Option<AccessFacts>,
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// In other blocks.
    GoesOn,
    /// The function returns.
    Returns,
    /// An exception leaves it.
    Unwinds,
    /// Nowhere.
    Stops,
    /// In the call that is its last item; the normal successor comes first.
    Invokes,
}

/// A block, by its number: its place in what [`Function::slow_path`] gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block<'m> {
    /// What is in it, in order.
    pub items: Vec<Item<'m>>,
    /// The blocks that may come next.
    pub next: Vec<usize>,
    /// How it ends.
    pub end: End,
}

/// As `CovTellItem`.
#[repr(C)]
struct RawItem {
    inst: LLVMValueRef,
    place: LLVMMetadataRef,
    from: LLVMMetadataRef,
    available: *const u32,
    available_count: usize,
    callee: Text,
    object: Text,
    address: u64,
    number: u32,
    bytes: u32,
    kind: u8,
    access: u8,
    flags: u8,
}

/// As `CovTellFlags`.
mod flags {
    pub(super) const LOCAL: u8 = 1 << 0;
    pub(super) const VECTOR: u8 = 1 << 1;
    pub(super) const ENDS: u8 = 1 << 2;
    pub(super) const MAY_UNWIND: u8 = 1 << 3;
    pub(super) const ASM: u8 = 1 << 4;
    pub(super) const TWICE: u8 = 1 << 5;
    pub(super) const CELL: u8 = 1 << 6;
    pub(super) const LAST: u8 = 1 << 7;
}

/// `COV_TELL_NONE`.
const NO_NUMBER: u32 = u32::MAX;

/// As `CovTellBlock`.
#[repr(C)]
struct RawBlock {
    items: *const RawItem,
    item_count: usize,
    next: *const u32,
    next_count: usize,
    end: u8,
}

/// As `CovTellLine`.
#[repr(C)]
struct RawLine {
    inlined_at: LLVMMetadataRef,
    function: Text,
    directory: Text,
    file: Text,
    line: u32,
}

/// As `CovTellVariable`.
#[repr(C)]
struct RawVariable {
    declaration: RawLine,
    name: Text,
    in_memory: bool,
}

/// A variable whose value slots may have; its number is its place in what [`Function::keep_variables`] gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariableFacts<'m> {
    /// Where it is declared, and by which copy of which function.
    pub declaration: ChainLine<'m>,
    /// Its name.
    pub name: String,
    /// The word is its address.
    pub in_memory: bool,
}

extern "C" {
    fn cov_tell_variables(
        function: LLVMValueRef,
        visit: extern "C" fn(*mut c_void, *const RawVariable),
        context: *mut c_void,
    );
    fn cov_tell_read(
        function: LLVMValueRef,
        lines: bool,
        forgets: extern "C" fn(Text) -> bool,
        visit: extern "C" fn(*mut c_void, *const RawBlock),
        context: *mut c_void,
    );
    fn cov_tell_chain(
        place: LLVMMetadataRef,
        visit: extern "C" fn(*mut c_void, *const RawLine),
        context: *mut c_void,
    );
    fn cov_tell_definition(
        function: LLVMValueRef,
        visit: extern "C" fn(*mut c_void, *const RawLine),
        context: *mut c_void,
    );
    fn cov_tell_shapes(call_or_function: LLVMValueRef, take: TakeText, context: *mut c_void);
    fn cov_tell_functions_behind(
        call: LLVMValueRef,
        argument: usize,
        take: TakeText,
        context: *mut c_void,
    ) -> bool;
    fn cov_tell_number(function: LLVMValueRef) -> u32;
}

/// # Safety
/// LLVM lent what is in it.
unsafe fn item<'m>(raw: &RawItem) -> Item<'m> {
    let place = |raw: LLVMMetadataRef| (!raw.is_null()).then_some(Place(raw, PhantomData));
    let has = |flag| raw.flags & flag != 0;
    let kind = match raw.kind {
        0 => ItemKind::Line,
        1 => ItemKind::Slot {
            slot: raw.number,
            from: place(raw.from),
            // SAFETY: the caller's promise.
            available: unsafe { lent(raw.available, raw.available_count) }.to_vec(),
        },
        2 => ItemKind::Check { location: raw.number },
        3 => ItemKind::Call {
            release: match raw.number {
                NO_NUMBER => Release::Not,
                cell if has(flags::CELL) => Release::Cell(cell),
                location => Release::At(location),
            },
            may_unwind: has(flags::MAY_UNWIND),
            is_asm: has(flags::ASM),
            returns_twice: has(flags::TWICE),
            is_last: has(flags::LAST),
        },
        4 => ItemKind::Access,
        5 => ItemKind::Landing { location: raw.number },
        _ => unreachable!("the bridge knows six kinds"),
    };
    let access_kind = match raw.access {
        0 => AccessKind::Read,
        1 => AccessKind::Write,
        2 => AccessKind::Update,
        3 => AccessKind::Call,
        _ => unreachable!("the bridge knows four kinds of accesses"),
    };
    let access = matches!(kind, ItemKind::Call { .. } | ItemKind::Access).then(|| AccessFacts {
        kind: access_kind,
        bytes: raw.bytes,
        // SAFETY: the caller's promise, for both.
        object: unsafe { raw.object.to_text() },
        callee: unsafe { raw.callee.to_text() },
        address: raw.address,
        local: has(flags::LOCAL),
        vector: has(flags::VECTOR),
        ends: has(flags::ENDS),
    });
    Item { inst: Inst(raw.inst, PhantomData), kind, place: place(raw.place), access }
}

/// # Safety
/// LLVM lent what is in it.
unsafe fn chain_line<'m>(raw: &RawLine) -> ChainLine<'m> {
    // SAFETY: LLVM's texts, copied at once.
    let (folder, file) = unsafe { (raw.directory.to_text(), raw.file.to_text()) };
    ChainLine {
        inlined_at: (!raw.inlined_at.is_null()).then_some(InlinedAt(raw.inlined_at, PhantomData)),
        // SAFETY: as above.
        function: unsafe { raw.function.to_text() },
        file: if folder.is_empty() { file } else { format!("{folder}/{file}") },
        line: raw.line,
    }
}

extern "C" fn push_line(context: *mut c_void, raw: *const RawLine) {
    // SAFETY: both are given by those who pass this on.
    unsafe { (*context.cast::<Vec<ChainLine<'_>>>()).push(chain_line(&*raw)) };
}

/// Whether a function does not keep what its arguments point to: a library's that only computes, or one that synchronizes and
/// starts no thread.
extern "C" fn forgets(name: Text) -> bool {
    // SAFETY: LLVM's text, only looked at.
    std::str::from_utf8(unsafe { name.bytes() }).is_ok_and(|name| {
        let mut hooks = HOOKS.iter().filter(|hook| hook.op.effect() != Effect::Create);
        never_synchronizes(name) || hooks.any(|hook| hook.symbol == name || hook.replaces == name)
    })
}

fn texts(collected: Vec<Vec<u8>>) -> Vec<String> {
    collected.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

// SAFETY of all calls below: as in `ir`.
impl<'m> Function<'m> {
    /// What a thread on the slow path may come to, the entry first. `lines`: with [`ItemKind::Line`].
    pub fn slow_path(self, lines: bool) -> Vec<Block<'m>> {
        extern "C" fn visit(context: *mut c_void, raw: *const RawBlock) {
            // SAFETY: both are given by the call below, and what is in the block is lent.
            unsafe {
                let (found, raw) = (&mut *context.cast::<Vec<Block<'_>>>(), &*raw);
                found.push(Block {
                    items: lent(raw.items, raw.item_count).iter().map(|raw| item(raw)).collect(),
                    next: lent(raw.next, raw.next_count).iter().map(|&next| next as usize).collect(),
                    end: match raw.end {
                        0 => End::GoesOn,
                        1 => End::Returns,
                        2 => End::Unwinds,
                        3 => End::Stops,
                        4 => End::Invokes,
                        _ => unreachable!("the bridge knows five ends"),
                    },
                });
            }
        }
        let mut found: Vec<Block<'m>> = Vec::new();
        // SAFETY: see above.
        unsafe { cov_tell_read(self.0, lines, forgets, visit, (&raw mut found).cast()) };
        found
    }

    /// Keeps variables' values for its slots, on the slow path only.
    pub fn keep_variables(self) -> Vec<VariableFacts<'m>> {
        extern "C" fn visit(context: *mut c_void, raw: *const RawVariable) {
            // SAFETY: both are given by the call below; LLVM's texts are copied at once.
            unsafe {
                let (found, raw) = (&mut *context.cast::<Vec<VariableFacts<'_>>>(), &*raw);
                found.push(VariableFacts {
                    declaration: chain_line(&raw.declaration),
                    name: raw.name.to_text(),
                    in_memory: raw.in_memory,
                });
            }
        }
        let mut found: Vec<VariableFacts<'m>> = Vec::new();
        // SAFETY: see above.
        unsafe { cov_tell_variables(self.0, visit, (&raw mut found).cast()) };
        found
    }

    /// The file and the line of its definition, empty and 0 if unknown.
    pub fn definition(self) -> (String, u32) {
        let mut found: Vec<ChainLine<'m>> = Vec::new();
        // SAFETY: see above.
        unsafe { cov_tell_definition(self.0, push_line, (&raw mut found).cast()) };
        found.pop().map_or_else(Default::default, |line| (line.file, line.line))
    }

    /// The number of its byte, as its code uses it.
    pub fn loom_number(self) -> Option<u32> {
        // SAFETY: see above.
        Some(unsafe { cov_tell_number(self.0) }).filter(|&number| number != NO_NUMBER)
    }

    /// Its type as a text that is the same in every unit.
    pub fn shape(self) -> String {
        // SAFETY: see above.
        let (found, ()) = collect_bytes(|take, context| unsafe { cov_tell_shapes(self.0, take, context) });
        texts(found).concat()
    }
}

impl<'m> Inst<'m> {
    /// The types that functions have which this call through a pointer may reach.
    pub fn shapes(self) -> Vec<String> {
        // SAFETY: see above.
        let (found, ()) = collect_bytes(|take, context| unsafe { cov_tell_shapes(self.0, take, context) });
        texts(found)
    }

    /// Linkage names of the functions that an argument of this call may be, and whether there are no others.
    pub fn all_functions_behind(self, argument: usize) -> (Vec<String>, bool) {
        // SAFETY: see above.
        let (found, all) = collect_bytes(|take, context| unsafe {
            cov_tell_functions_behind(self.0, argument, take, context)
        });
        (texts(found), all)
    }
}

impl<'m> Place<'m> {
    /// Its lines, innermost first.
    pub fn chain(self) -> Vec<ChainLine<'m>> {
        let mut found: Vec<ChainLine<'m>> = Vec::new();
        // SAFETY: see above.
        unsafe { cov_tell_chain(self.0, push_line, (&raw mut found).cast()) };
        found
    }
}
