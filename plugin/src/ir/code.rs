//! A module's code as plain data: what whole-program analyses read.
//!
//! Functions, blocks, instructions and registers are numbered over the whole module, so that tables by number serve as
//! maps. Offsets and sizes are bytes by the module's data layout, integers have their real widths, loops come with what
//! LLVM's ScalarEvolution knows of them. The view is a snapshot: it says nothing of a module that was changed since.
//!
//! What has no meaning here (floats, vectors, aggregates) is [`Op::Other`], with all its operands, through which
//! pointers may flow.
//!
//! Limits: only pointers of address space 0 with 64 bits are pointers here. Operand bundles and what floats mean are not
//! in the view.

mod dump;
mod extract;
mod operands;
#[cfg(test)]
mod tests;
mod words;

use super::{Function, Inst, Value};
use covsched_core::ThreadId;
use std::collections::HashMap;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A function's place in [`Code::functions`].
    FuncId;
    /// A variable's place in [`Code::globals`].
    GlobalId;
    /// A block's place in [`Code::blocks`].
    BlockId;
    /// An instruction's place in [`Code::insts`].
    InstId;
    /// A register's place in [`Code::values`].
    ValueId;
    /// A loop's place in [`Code::loops`].
    LoopId;
    /// A constant's place in [`Code::opaques`].
    OpaqueId;
}

/// All code of a module.
#[derive(Debug, Default)]
pub struct Code<'m> {
    /// Defined and declared ones, intrinsics included.
    pub functions: Vec<FuncData<'m>>,
    /// Variables.
    pub globals: Vec<GlobalData>,
    /// Of all defined functions; a function's are together, in its order.
    pub blocks: Vec<BlockData>,
    /// A block's are together, in order. Debug intrinsics are left out.
    pub insts: Vec<InstData<'m>>,
    /// Arguments and instructions' results.
    pub values: Vec<ValueData<'m>>,
    /// An outer loop before those inside.
    pub loops: Vec<LoopData>,
    /// What [`Operand::Opaque`] mentions.
    pub opaques: Vec<Vec<Operand>>,
}

/// A function.
#[derive(Clone, Debug)]
pub struct FuncData<'m> {
    /// It.
    pub function: Function<'m>,
    /// Linkage name.
    pub name: String,
    /// Its blocks, the entry first; empty if it is declared.
    pub blocks: std::ops::Range<u32>,
    /// Its parameters' registers; empty if it is declared.
    pub parameters: Vec<ValueId>,
    /// Takes more arguments than parameters.
    pub is_variadic: bool,
    /// Of a function of LLVM's.
    pub is_intrinsic: bool,
    /// Seen in this module only.
    pub is_internal: bool,
    /// Its address is used other than to call it by name; being a constructor is such a use.
    pub is_address_taken: bool,
    /// The linker may put a function in its place that does something else.
    pub is_interposable: bool,
    /// What control-flow specialization says it is, from `!covsched.clone`.
    pub clone: Option<CloneOf>,
}

/// What a clone is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloneOf {
    /// The original's linkage name.
    pub original: String,
    /// Thread and frame number; `None` if it is one without synchronization, or a copy for a call.
    pub frame: Option<(ThreadId, u32)>,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct GlobalData {
    /// Linkage name.
    pub name: String,
    /// Size.
    pub bytes: u64,
    /// Never written.
    pub is_constant: bool,
    /// Seen in this module only.
    pub is_internal: bool,
    /// One a thread.
    pub is_thread_local: bool,
    /// What is in it at first.
    pub initial: Initial,
    /// Pointers in the initializer, by offset, even if it is over the size limit or another module may replace it. Their
    /// bytes in [`Initial::Bytes`] are 0. An [`Operand::Opaque`] is one of which only that is known what it mentions.
    pub pointers: Vec<(u64, Operand)>,
    /// Parts of the initializer that may be anything, as front ends leave padding and the rest of unions. In
    /// [`Initial::Bytes`] they are 0, as in the object file.
    pub undefined: Vec<std::ops::Range<u64>>,
}

/// Functions that stand for others in analyses: calls of the one by name become calls of the other.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Summaries(HashMap<String, String>);

impl Summaries {
    /// Lets `stand_in` stand for `name`, if a module has both. Linkage names.
    pub fn insert(&mut self, name: impl Into<String>, stand_in: impl Into<String>) {
        self.0.insert(name.into(), stand_in.into());
    }

    /// What stands for a function.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The functions that have a stand-in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// These, and the stand-ins.
    pub fn all_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|(name, stand_in)| [name.as_str(), stand_in.as_str()])
    }
}

/// A variable's initializer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Initial {
    /// Another module's, or one that another module may replace.
    Unknown,
    /// Zeros, but for pointers.
    Zero,
    /// Its bytes (little endian), padding 0. One over a size limit is `Unknown`.
    Bytes(Vec<u8>),
}

/// A block.
#[derive(Clone, Debug)]
pub struct BlockData {
    /// Whose.
    pub function: FuncId,
    /// Its instructions.
    pub insts: std::ops::Range<u32>,
    /// Where control goes, by the terminator's operand order; one may be there twice. Of an invoke: normal, unwind.
    pub next: Vec<BlockId>,
    /// Where it comes from, each once.
    pub previous: Vec<BlockId>,
    /// Immediate dominator; `None` for the entry and for blocks that the entry does not reach.
    pub idom: Option<BlockId>,
    /// Control comes here from the entry.
    pub is_reachable: bool,
    /// The innermost loop.
    pub in_loop: Option<LoopId>,
    /// In a cycle that is no natural loop: nothing is known of how often it runs.
    pub in_irreducible_cycle: bool,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct InstData<'m> {
    /// It.
    pub inst: Inst<'m>,
    /// Where.
    pub block: BlockId,
    /// Its result, unless it has none.
    pub result: Option<ValueId>,
    /// What it does.
    pub op: Op,
}

/// A register.
#[derive(Clone, Copy, Debug)]
pub struct ValueData<'m> {
    /// It.
    pub raw: Value<'m>,
    /// Its type.
    pub ty: Ty,
    /// What gives it its value.
    pub def: Def,
}

/// What gives a register its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Def {
    /// A function's parameter.
    Parameter(FuncId, u32),
    /// An instruction.
    Inst(InstId),
}

/// A register's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    /// An integer of so many bits.
    Int(u32),
    /// A pointer.
    Ptr,
    /// Anything else.
    Other,
}

/// What an instruction takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A register.
    Value(ValueId),
    /// An integer of at most 64 bits, not sign-extended. With 64 bits it may stand for a pointer.
    Int {
        /// Bits above the width are 0.
        value: u64,
        /// In bits.
        width: u32,
    },
    /// The null pointer.
    Null,
    /// The address so many bytes into a variable; it may stand for a 64-bit integer.
    Global(GlobalId, i64),
    /// A function's address.
    Function(FuncId),
    /// undef or poison.
    Undef,
    /// Another constant: floats, aggregates, expressions that are no address and offset, what another module may
    /// replace. Stands for the addresses that it mentions; two are the same constant only if their ids are equal.
    Opaque(OpaqueId),
}

/// What an instruction does.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    /// Of integers.
    Binary {
        /// Which.
        op: Binary,
        /// Left.
        a: Operand,
        /// Right.
        b: Operand,
        /// Signed overflow is undefined.
        nsw: bool,
        /// Unsigned overflow is undefined.
        nuw: bool,
    },
    /// Of integers or pointers.
    Compare {
        /// Which.
        op: Compare,
        /// Left.
        a: Operand,
        /// Right.
        b: Operand,
    },
    /// Between integers and pointers; the result's type says to what.
    Cast {
        /// Which.
        op: Cast,
        /// What.
        a: Operand,
    },
    /// `base + offset + sum of index * scale`, 64 bits; indices are sign-extended or cut to 64 bits.
    Gep {
        /// From where.
        base: Operand,
        /// Constant part.
        offset: i64,
        /// The rest.
        terms: Vec<(Operand, i64)>,
        /// Stays inside of one object.
        inbounds: bool,
    },
    /// Of integers or pointers.
    Select {
        /// On what.
        cond: Operand,
        /// If it is true.
        a: Operand,
        /// If not.
        b: Operand,
    },
    /// Of integers or pointers; others are `Other`.
    Phi(Vec<(BlockId, Operand)>),
    /// Of integers or pointers.
    Freeze(Operand),
    /// Memory on the stack.
    Alloca {
        /// How much, if that is constant.
        bytes: Option<u64>,
    },
    /// Reads memory, a value of any type but integers of more than 64 bits.
    Load {
        /// Where.
        address: Operand,
        /// How much.
        bytes: u64,
        /// Volatile or atomic: the value is not to be concluded.
        is_special: bool,
    },
    /// Writes memory, the same types.
    Store {
        /// Where.
        address: Operand,
        /// What.
        value: Operand,
        /// How much.
        bytes: u64,
        /// Volatile or atomic.
        is_special: bool,
    },
    /// Reads and writes memory at once: atomicrmw, cmpxchg.
    Exchange {
        /// Where.
        address: Operand,
        /// What may be stored, and what it is compared with.
        values: Vec<Operand>,
        /// How much.
        bytes: u64,
    },
    /// A call or invoke.
    Call(Call),
    /// Leaves the function.
    Return(Option<Operand>),
    /// A branch; of a conditional one the block's `next` is: if true, if not.
    Branch(Option<Operand>),
    /// `next` is the default, then one a case.
    Switch {
        /// On what.
        value: Operand,
        /// Cases, not sign-extended.
        cases: Vec<u64>,
    },
    /// Control does not come here.
    Unreachable,
    /// Anything else, PHIs of other types too: only theirs is an operand that may not be there yet. `reads`, `writes`:
    /// touches memory in a way that is not described.
    Other {
        /// All of them.
        operands: Vec<Operand>,
        /// May read memory.
        reads: bool,
        /// May write memory.
        writes: bool,
    },
}

/// A call or invoke.
#[derive(Clone, PartialEq, Debug)]
pub struct Call {
    /// What is called.
    pub callee: Callee,
    /// With what. `byval` arguments are marked in `by_value`.
    pub arguments: Vec<Operand>,
    /// Bit i: the callee gets a copy of what argument i (below 64) points to.
    pub by_value: u64,
    /// It does not come back normally.
    pub never_returns: bool,
    /// LLVM's attributes say that it does not write memory that others see.
    pub only_reads: bool,
    /// LLVM's attributes say that it touches no memory that others see.
    pub touches_nothing: bool,
    /// Which item of its clone's frame it is, from `!covsched.item`.
    pub item: Option<u32>,
}

/// What a call calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function by name, aliases resolved.
    Function(FuncId),
    /// What a pointer points to.
    Pointer(Operand),
    /// Assembly.
    Asm,
}

/// Binary operations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    Shl,
    LShr,
    AShr,
    And,
    Or,
    Xor,
}

/// Comparisons.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Compare {
    Eq,
    Ne,
    Ult,
    Ule,
    Ugt,
    Uge,
    Slt,
    Sle,
    Sgt,
    Sge,
}

/// Casts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cast {
    /// Keeps the low bits.
    Trunc,
    /// Zero-extends; also between pointers and integers.
    ZExt,
    /// Sign-extends.
    SExt,
    /// The same bits: pointer and 64-bit integer, bitcast, and intrinsics that give what they get (`llvm.expect`,
    /// `llvm.threadlocal.address` and the like).
    Same,
}

/// A natural loop.
#[derive(Clone, Debug)]
pub struct LoopData {
    /// Its header.
    pub header: BlockId,
    /// All its blocks, those of inner loops included, sorted.
    pub blocks: Vec<BlockId>,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// Upper bound of how often a latch leads back to the header, each time that the loop is entered, in terms of
    /// what is outside of the loop. Of runs in which nothing undefined happens, in the loop or later.
    pub most_backedges: Option<Scev>,
    /// Header PHIs that grow evenly.
    pub recurrences: Vec<Recurrence>,
    /// Comparisons of something that grows evenly, by which each iteration goes on or leaves the loop.
    pub checks: Vec<ExitCheck>,
}

/// An iteration comes through `block` and leaves the loop there unless `start + step * k`, where `k` counts how often
/// control came back to the header, compares so with `other`.
#[derive(Clone, Debug)]
pub struct ExitCheck {
    /// It ends with the check.
    pub block: BlockId,
    /// What must be true to stay.
    pub op: Compare,
    /// Does not depend on the loop.
    pub start: Scev,
    /// Not 0.
    pub step: i64,
    /// May be another one in each iteration.
    pub other: Operand,
}

/// `start + step * k`, where `k` counts how often control came back to the header.
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// The PHI's register.
    pub value: ValueId,
    /// It does not go round, as a signed number.
    pub nsw: bool,
    /// As an unsigned one.
    pub nuw: bool,
    /// Does not depend on the loop.
    pub start: Scev,
    /// Does not depend on the loop.
    pub step: Scev,
}

/// An expression of ScalarEvolution's. Operands of n-ary ones have one width.
#[derive(Clone, PartialEq, Debug)]
pub enum Scev {
    /// A constant or a register, as it is outside of the loop that is described. Pointers are 64 bits.
    Operand(Operand),
    /// Of two or more.
    Nary(Nary, Vec<Scev>),
    /// Unsigned division.
    UDiv(Box<Scev>, Box<Scev>),
    /// To so many bits.
    Cast(Cast, Box<Scev>, u32),
}

/// Operations of [`Scev::Nary`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Nary {
    Add,
    Mul,
    UMax,
    SMax,
    UMin,
    SMin,
}

impl<'m> Code<'m> {
    /// A register.
    pub fn value(&self, id: ValueId) -> &ValueData<'m> {
        &self.values[id.index()]
    }

    /// A function.
    pub fn function(&self, id: FuncId) -> &FuncData<'m> {
        &self.functions[id.index()]
    }

    /// A block.
    pub fn block(&self, id: BlockId) -> &BlockData {
        &self.blocks[id.index()]
    }

    /// An instruction.
    pub fn inst(&self, id: InstId) -> &InstData<'m> {
        &self.insts[id.index()]
    }

    /// The function of an instruction.
    pub fn function_of(&self, id: InstId) -> FuncId {
        self.block(self.inst(id).block).function
    }

    /// A function's blocks.
    pub fn blocks_of(&self, id: FuncId) -> impl Iterator<Item = BlockId> {
        self.function(id).blocks.clone().map(BlockId)
    }

    /// A block's instructions.
    pub fn insts_of(&self, id: BlockId) -> impl Iterator<Item = InstId> {
        self.block(id).insts.clone().map(InstId)
    }
}
