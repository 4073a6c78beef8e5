//! What `loom` reads of functions and does to them. The same rules as in [`crate::ir`] hold.

use super::bridge::loom::{self as raw, call_facts, facts, how, options};
use super::bridge::{lent, Text};
use super::{optional, Function, Inst, Module};
use covsched_core::loom::abi;
use llvm_plugin::inkwell::llvm_sys::prelude::{LLVMBasicBlockRef, LLVMValueRef};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ptr::null_mut;

/// A block. Compared by identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block<'m>(LLVMValueRef, PhantomData<&'m ()>);

/// Why a function has no slow path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Obstacle {
    /// It has no lines that slots could stand for.
    NoDebugInfo,
    /// It calls setjmp or the like.
    ReturnsTwice,
    /// It jumps to a label by address.
    IndirectBranch,
    /// It has assembly that jumps.
    AsmGoto,
    /// The address of one of its labels is taken.
    BlockAddress,
    /// It makes a call that must stay the only one.
    NoDuplicate,
    /// It has a value that no phi can carry.
    Token,
    /// It has memory that no phi can carry, or that a garbage collector knows.
    SpecialMemory,
}

impl Obstacle {
    fn from_raw(raw: u8) -> Option<Obstacle> {
        Some(match raw {
            0 => return None,
            1 => Obstacle::NoDebugInfo,
            2 => Obstacle::ReturnsTwice,
            3 => Obstacle::IndirectBranch,
            4 => Obstacle::AsmGoto,
            5 => Obstacle::BlockAddress,
            6 => Obstacle::NoDuplicate,
            7 => Obstacle::Token,
            8 => Obstacle::SpecialMemory,
            _ => unreachable!("the bridge knows eight obstacles"),
        })
    }

    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Obstacle::NoDebugInfo => "it has no debug info",
            Obstacle::ReturnsTwice => "it calls setjmp or the like",
            Obstacle::IndirectBranch => "it jumps to a label by address",
            Obstacle::AsmGoto => "it has assembly that jumps",
            Obstacle::BlockAddress => "the address of one of its labels is taken",
            Obstacle::NoDuplicate => "it makes a call that must not be duplicated",
            Obstacle::Token => "it has a value that cannot come from two places",
            Obstacle::SpecialMemory => "it has memory of a special kind",
        }
    }
}

/// How a function can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reached {
    /// Code outside may call it: it is seen from other units, or used other than to be called.
    pub from_outside: bool,
    /// A pointer to it may be called.
    pub address_taken: bool,
    /// It has a signal handler's type.
    pub is_handler_like: bool,
    /// It can be called again with its own parameters.
    pub forwards: bool,
}

/// An edge that closes a cycle.
#[derive(Clone, Debug)]
pub struct BackEdge<'m> {
    /// The terminator that it begins at.
    pub end: Inst<'m>,
    /// Where it goes.
    pub to: Block<'m>,
    /// The calls in the cycle.
    pub calls: Vec<Inst<'m>>,
    /// The cycle runs at most so often.
    pub trips: Option<u32>,
    /// It is an exception that goes back: the landing pad has the check.
    pub to_pad: bool,
    /// Its block's end goes back or leaves the loop: a check before it costs no jump.
    pub leaves: bool,
    /// It closes a natural loop that is in no other one.
    pub is_outermost: bool,
    /// Another loop is in it.
    pub nests: bool,
}

/// What becomes of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Treatment {
    /// The switch is tested after it.
    Test,
    /// The thread is released meanwhile.
    Release,
    /// It is released unless the callee turns out to be instrumented; the cell's number.
    ReleaseByCell(u32),
    /// It comes back a second time, from anywhere.
    Lands,
}

/// A call with what becomes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlannedCall<'m> {
    /// The call.
    pub call: Inst<'m>,
    /// What becomes of it.
    pub treatment: Treatment,
    /// Where a thread is while it runs; unused by [`Treatment::Test`].
    pub location: u32,
    /// Nothing follows on the fast path but the return.
    pub returns_next: bool,
}

/// A check on a back edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlannedCheck<'m> {
    /// [`BackEdge::end`].
    pub end: Inst<'m>,
    /// [`BackEdge::to`].
    pub to: Block<'m>,
    /// Where a thread pauses.
    pub location: u32,
    /// The slow path may go back to the fast one here.
    pub to_fast: bool,
    /// It stands before [`PlannedCheck::end`], not on the edge.
    pub before_end: bool,
}

/// A landing pad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlannedPad<'m> {
    /// The instruction.
    pub pad: Inst<'m>,
    /// Where a thread is when it lands.
    pub location: u32,
    /// A cycle goes through it, so that it has a check.
    pub pauses: bool,
}

/// How a function is entered from outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entrance {
    /// Not at all.
    Inside,
    /// Through `F.outside`.
    Outside,
    /// It enters and leaves by itself, since it cannot be called again with its own arguments.
    Inline,
    /// As a signal handler, through a wrapper that has its name.
    Handler,
}

/// What is to be done to a function.
#[derive(Clone, Debug)]
pub struct FunctionPlan<'m> {
    /// The function.
    pub function: Function<'m>,
    /// The number of its byte.
    pub number: u32,
    /// It gets a slow path.
    pub is_cloned: bool,
    /// How it is entered from outside.
    pub entrance: Entrance,
    /// Where a thread pauses at its entry.
    pub entry: Option<u32>,
    /// Its back edges with checks, but those to landing pads.
    pub checks: Vec<PlannedCheck<'m>>,
    /// Its landing pads.
    pub pads: Vec<PlannedPad<'m>>,
    /// Its calls that are not left alone.
    pub calls: Vec<PlannedCall<'m>>,
    /// Its markers that only a recording needs: the slow path alone has them.
    pub markers: Vec<Inst<'m>>,
    /// Its calls of `longjmp`: with a slot before each, at which filters can end what it leaves.
    pub jumps: Vec<Inst<'m>>,
}

/// Which optimizations are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Without {
    /// Slots stand in the only copy.
    pub cloning: bool,
    /// Checks always call the runtime.
    pub filter_byte: bool,
    /// Tests and stores are functions of their own.
    pub inlining: bool,
    /// Functions of other units are called by name.
    pub direct: bool,
}

/// What a unit's descriptor says besides its arrays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UnitFacts {
    /// The hash of its table.
    pub hash: u64,
    /// How many functions there are.
    pub functions: u32,
    /// How many locations, without slots.
    pub locations: u32,
    /// Call cells: the hash of the callee's name, and the call's location.
    pub cells: Vec<(u64, u32)>,
    /// The hashes of the names of functions that are defined here and seen elsewhere.
    pub defined: Vec<u64>,
}

impl<'m> Function<'m> {
    /// Whether an earlier run did it.
    pub fn is_loomed(self) -> bool {
        // SAFETY: as in `ir`.
        unsafe { raw::cov_loom_is_done(self.0) }
    }

    /// Gives it the form that the rest expects: no dead blocks, allocas first, landing pads of one line each, loops that only
    /// count in strips if they have more than `few` iterations (0: as they are).
    pub fn prepare_for_loom(self, few: u32) {
        // SAFETY: as in `ir`.
        unsafe { raw::cov_loom_prepare(self.0, few) }
    }

    /// Why it can have no slow path, and where, if that is one instruction.
    pub fn loom_obstacle(self) -> Option<(Obstacle, Option<Inst<'m>>)> {
        let mut at = null_mut();
        // SAFETY: as in `ir`.
        let found = unsafe { raw::cov_loom_obstacle(self.0, &mut at) };
        Obstacle::from_raw(found).map(|obstacle| (obstacle, optional(at, |raw| Inst(raw, PhantomData))))
    }

    /// How it can be reached.
    pub fn reached(self) -> Reached {
        // SAFETY: as in `ir`.
        let found = unsafe { raw::cov_loom_facts(self.0) };
        Reached {
            from_outside: found & facts::FROM_OUTSIDE != 0,
            address_taken: found & facts::ADDRESS_TAKEN != 0,
            is_handler_like: found & facts::HANDLER_TYPE != 0,
            forwards: found & facts::FORWARDS != 0,
        }
    }

    /// The edges that close its cycles: without them it has none.
    pub fn back_edges(self) -> Vec<BackEdge<'m>> {
        extern "C" fn visit(context: *mut c_void, found: *const raw::RawBackEdge) {
            // SAFETY: both are given by the call below.
            let (edges, found) = unsafe { (&mut *context.cast::<Vec<BackEdge<'_>>>(), &*found) };
            // SAFETY: the bridge lends the calls.
            let calls = unsafe { lent(found.calls, found.call_count) };
            edges.push(BackEdge {
                end: Inst(found.end, PhantomData),
                to: Block(found.to, PhantomData),
                calls: calls.iter().map(|&call| Inst(call, PhantomData)).collect(),
                trips: (found.trips != 0).then_some(found.trips),
                to_pad: found.to_pad,
                leaves: found.leaves,
                is_outermost: found.outermost,
                nests: found.nests,
            });
        }
        let mut edges: Vec<BackEdge<'m>> = Vec::new();
        // SAFETY: as in `ir`.
        unsafe { raw::cov_loom_back_edges(self.0, visit, (&raw mut edges).cast()) };
        edges
    }

    /// Its landing pads, with the blocks that they begin.
    pub fn landing_pads(self) -> Vec<Inst<'m>> {
        extern "C" fn visit(context: *mut c_void, found: LLVMValueRef) {
            // SAFETY: given by the call below.
            unsafe { (*context.cast::<Vec<Inst<'_>>>()).push(Inst(found, PhantomData)) };
        }
        let mut pads: Vec<Inst<'m>> = Vec::new();
        // SAFETY: as in `ir`.
        unsafe { raw::cov_loom_pads(self.0, visit, (&raw mut pads).cast()) };
        pads
    }
}

impl<'m> Inst<'m> {
    /// Whether this inline assembly has an instruction that calls the system.
    pub fn calls_system(self) -> bool {
        // SAFETY: as in `ir`.
        unsafe { raw::cov_loom_call_facts(self.0) & call_facts::SYSTEM_CALL != 0 }
    }

    /// Whether what this calls has a signal handler's type.
    pub fn calls_handler_like(self) -> bool {
        // SAFETY: as in `ir`.
        unsafe { raw::cov_loom_call_facts(self.0) & call_facts::OF_HANDLERS_TYPE != 0 }
    }

    /// Says of this call that nothing follows it on the fast path but the return: [`super::tell`] reads that, also from its copies.
    pub fn mark_last(self) {
        // SAFETY: as in `ir`.
        unsafe { raw::cov_loom_mark_last(self.0) }
    }

    /// Whether nothing follows this call, but instructions that do not count, and the return of its result: in its own block, or in one
    /// that returns what comes from several.
    pub fn returns_next(self, counts: impl Fn(Inst<'m>) -> bool) -> bool {
        use llvm_plugin::inkwell::llvm_sys::core::{
            LLVMGetFirstInstruction, LLVMGetInstructionParent, LLVMGetNextInstruction, LLVMGetNumOperands,
            LLVMGetNumSuccessors, LLVMGetOperand, LLVMGetSuccessor, LLVMIsABranchInst,
            LLVMIsADbgInfoIntrinsic, LLVMIsAPHINode, LLVMIsAReturnInst,
        };
        // SAFETY: as in `ir`; all are instructions of this function.
        unsafe {
            // The next that counts: here, and behind the jump that ends the block.
            let next = |mut at: LLVMValueRef| {
                while !at.is_null()
                    && (!LLVMIsADbgInfoIntrinsic(at).is_null() || !counts(Inst(at, PhantomData)))
                {
                    at = LLVMGetNextInstruction(at);
                }
                at
            };
            let (mut at, mut result) = (next(LLVMGetNextInstruction(self.0)), self.0);
            if !at.is_null() && !LLVMIsABranchInst(at).is_null() && LLVMGetNumSuccessors(at) == 1 {
                let from = LLVMGetInstructionParent(at);
                at = LLVMGetFirstInstruction(LLVMGetSuccessor(at, 0));
                if !LLVMIsAPHINode(at).is_null() {
                    if incoming(at, from) != Some(self.0) {
                        return false;
                    }
                    result = at;
                    at = LLVMGetNextInstruction(at);
                }
                at = next(at);
            }
            !at.is_null()
                && !LLVMIsAReturnInst(at).is_null()
                && (LLVMGetNumOperands(at) == 0 || LLVMGetOperand(at, 0) == result)
        }
    }

    /// The block that it stands in.
    pub fn block(self) -> Block<'m> {
        use llvm_plugin::inkwell::llvm_sys::core::{LLVMBasicBlockAsValue, LLVMGetInstructionParent};
        // SAFETY: as in `ir`.
        Block(unsafe { LLVMBasicBlockAsValue(LLVMGetInstructionParent(self.0)) }, PhantomData)
    }
}

/// What a phi is if control comes from a block.
///
/// # Safety
/// A phi and a block of the same function.
unsafe fn incoming(phi: LLVMValueRef, from: LLVMBasicBlockRef) -> Option<LLVMValueRef> {
    use llvm_plugin::inkwell::llvm_sys::core::{
        LLVMCountIncoming, LLVMGetIncomingBlock, LLVMGetIncomingValue,
    };
    // SAFETY: by the contract, and as in `ir`.
    unsafe {
        (0..LLVMCountIncoming(phi))
            .find(|&number| LLVMGetIncomingBlock(phi, number) == from)
            .map(|number| LLVMGetIncomingValue(phi, number))
    }
}

/// A unit in the making.
pub struct Unit<'m> {
    raw: *mut raw::RawUnit,
    module: PhantomData<&'m ()>,
}

impl<'m> Unit<'m> {
    /// Begins a unit; `None` if the program uses a name of the runtime's for something else.
    pub fn new(module: Module<'m>, without: Without) -> Option<Self> {
        let mut asked = 0;
        if without.cloning {
            asked |= options::NO_CLONING;
        }
        if without.filter_byte {
            asked |= options::NO_FILTER_BYTE;
        }
        if without.inlining {
            asked |= options::NO_INLINE;
        }
        if without.direct {
            asked |= options::NO_DIRECT;
        }
        let shared = raw::RawAbi {
            at: Text::new(abi::AT),
            pending: Text::new(abi::PENDING),
            check: Text::new(abi::CHECK),
            reacquire: Text::new(abi::REACQUIRE),
            slot: Text::new(abi::SLOT),
            enter: Text::new(abi::ENTER),
            handler_enter: Text::new(abi::HANDLER_ENTER),
            leave: Text::new(abi::LEAVE),
            running: abi::AT_RUNNING as u64,
            slow: abi::SWITCH_SLOW,
            wait: abi::SWITCH_WAIT,
            outer_size: size_of::<abi::Outer>() as u32,
            options: asked,
        };
        // SAFETY: as in `ir`; the texts are static.
        let raw = unsafe { raw::cov_loom_new(module.0, &shared) };
        (!raw.is_null()).then_some(Unit { raw, module: PhantomData })
    }

    /// Instruments a function, whose instructions named in the plan are still the same; gives the numbers of its slots.
    pub fn change(&mut self, plan: &FunctionPlan<'m>) -> std::ops::Range<u32> {
        let calls: Vec<raw::RawCall> = plan
            .calls
            .iter()
            .map(|call| {
                let (kind, cell) = match call.treatment {
                    Treatment::Test => (0, NONE),
                    Treatment::Release => (1, NONE),
                    Treatment::ReleaseByCell(cell) => (2, cell),
                    Treatment::Lands => (3, NONE),
                };
                let returns_next = call.returns_next;
                raw::RawCall { call: call.call.0, location: call.location, cell, kind, returns_next }
            })
            .collect();
        let checks: Vec<raw::RawCheck> = plan
            .checks
            .iter()
            .map(|check| raw::RawCheck {
                end: check.end.0,
                to: check.to.0,
                location: check.location,
                to_fast: check.to_fast,
                before_end: check.before_end,
            })
            .collect();
        let pads: Vec<raw::RawPad> = plan
            .pads
            .iter()
            .map(|&PlannedPad { pad, location, pauses }| raw::RawPad { pad: pad.0, location, pauses })
            .collect();
        let markers: Vec<LLVMValueRef> = plan.markers.iter().map(|marker| marker.0).collect();
        let jumps: Vec<LLVMValueRef> = plan.jumps.iter().map(|jump| jump.0).collect();
        let entrance = match plan.entrance {
            Entrance::Inside => 0,
            Entrance::Outside => how::OUTSIDE,
            Entrance::Inline => how::INLINE_OUTSIDE,
            Entrance::Handler => how::HANDLER,
        };
        let given = raw::RawFunctionPlan {
            function: plan.function.0,
            calls: calls.as_ptr(),
            call_count: calls.len(),
            checks: checks.as_ptr(),
            check_count: checks.len(),
            pads: pads.as_ptr(),
            pad_count: pads.len(),
            markers: markers.as_ptr(),
            marker_count: markers.len(),
            jumps: jumps.as_ptr(),
            jump_count: jumps.len(),
            number: plan.number,
            entry_location: plan.entry.unwrap_or(NONE),
            how: entrance | if plan.is_cloned { how::CLONE } else { 0 },
        };
        let (mut first, mut count) = (0, 0);
        // SAFETY: as in `ir`; the unit is alive, and all that the plan lends outlives the call.
        unsafe { raw::cov_loom_change(self.raw, &given, &mut first, &mut count) };
        first..first + count
    }

    /// Makes the arrays, the descriptor and the constructor.
    pub fn finish(self, facts: &UnitFacts) {
        let (callees, locations): (Vec<u64>, Vec<u32>) = facts.cells.iter().copied().unzip();
        let given = raw::RawUnitFacts {
            section: Text::new(abi::UNITS_SECTION),
            register_hook: Text::new(abi::REGISTER),
            unregister_hook: Text::new(abi::UNREGISTER),
            hash: facts.hash,
            callees: callees.as_ptr(),
            cell_locations: locations.as_ptr(),
            cell_count: callees.len(),
            defined: facts.defined.as_ptr(),
            defined_count: facts.defined.len(),
            version: abi::VERSION,
            functions: facts.functions,
            locations: facts.locations,
        };
        // SAFETY: as above.
        unsafe { raw::cov_loom_finish(self.raw, &given) }
    }
}

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `cov_loom_new`, dropped once.
        unsafe { raw::cov_loom_drop(self.raw) }
    }
}

/// "None" on the other side.
const NONE: u32 = u32::MAX;
