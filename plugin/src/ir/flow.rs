//! A function's control flow: its blocks, loops, and cycles that are no loops; and what calls through pointers may
//! come to. The same rules as in [`crate::ir`] hold.

use super::bridge::{self, lent, Text};
use super::{optional, Form, Function, Inst, Location};
use crate::analysis::threads::{creates_or_joins, starts_thread};
use llvm_plugin::inkwell::llvm_sys::prelude::LLVMMetadataRef;
use std::collections::HashSet;
use std::ffi::c_void;
use std::marker::PhantomData;

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Control goes to one of its successors, or nowhere if it has none.
    GoesOn,
    /// The function returns.
    Returns,
    /// An exception goes on to the caller.
    Unwinds,
}

/// A block.
#[derive(Clone, Debug)]
pub struct BlockFacts<'m> {
    /// The first place where a call can be put.
    pub start: Option<Inst<'m>>,
    /// Its successors, each named by its place in the function; of an invoke the normal one comes first.
    pub next: Vec<u32>,
    /// Its calls, in order, those that resume coroutines too.
    pub calls: Vec<Inst<'m>>,
    /// How it ends.
    pub end: End,
    /// It ends in the test that `covsched-lower` puts around markers; its successor is the way with the marker.
    pub is_guard: bool,
}

/// A place in the source that an instruction can be given. Lives as long as the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place<'m>(pub(crate) LLVMMetadataRef, PhantomData<&'m ()>);

/// A natural loop.
#[derive(Clone, Debug)]
pub struct LoopFacts<'m> {
    /// Where each iteration begins.
    pub header: u32,
    /// All its blocks.
    pub blocks: Vec<u32>,
    /// The blocks from which control goes back to the header.
    pub latches: Vec<u32>,
    /// The loops directly inside, by their place in [`FlowFacts::loops`].
    pub inner: Vec<u32>,
    /// Where it starts in the source.
    pub place: Option<Place<'m>>,
    /// An exit depends on what it reads from an atomic or volatile variable.
    pub waits_for_memory: bool,
    /// It has no exit, or one that depends on what creating or joining a thread gave.
    pub may_go_on: bool,
}

/// A cycle that can be entered at several blocks.
#[derive(Clone, Debug)]
pub struct IrreducibleFacts {
    /// Its blocks.
    pub blocks: Vec<u32>,
    /// As that of a loop.
    pub waits_for_memory: bool,
    /// As that of a loop.
    pub may_go_on: bool,
}

/// A function's control flow.
#[derive(Clone, Debug, Default)]
pub struct FlowFacts<'m> {
    /// Its blocks; the first is the entry.
    pub blocks: Vec<BlockFacts<'m>>,
    /// Its loops, inner ones first.
    pub loops: Vec<LoopFacts<'m>>,
    /// The outermost cycles that can be entered at several blocks.
    pub irreducible: Vec<IrreducibleFacts>,
}

impl<'m> FlowFacts<'m> {
    /// The calls in blocks that can be reached, with all markers wanted.
    pub fn reached_calls(&self) -> HashSet<Inst<'m>> {
        let mut reached = vec![false; self.blocks.len()];
        let mut work = vec![0];
        while let Some(number) = work.pop() {
            if !std::mem::replace(&mut reached[number as usize], true) {
                work.extend(&self.blocks[number as usize].next);
            }
        }
        let blocks = self.blocks.iter().zip(reached).filter(|(_, is_reached)| *is_reached);
        blocks.flat_map(|(block, _)| block.calls.iter().copied()).collect()
    }
}

extern "C" fn take_block(context: *mut c_void, raw: *const bridge::RawBlock) {
    // SAFETY: `Function::flow` gives the context, the bridge the block and what it lends.
    unsafe {
        let (flow, raw) = (&mut *context.cast::<FlowFacts<'_>>(), &*raw);
        flow.blocks.push(BlockFacts {
            start: optional(raw.start, |raw| Inst(raw, PhantomData)),
            next: lent(raw.next, raw.next_count).to_vec(),
            calls: lent(raw.calls, raw.call_count).iter().map(|&raw| Inst(raw, PhantomData)).collect(),
            end: match raw.end {
                0 => End::GoesOn,
                1 => End::Returns,
                2 => End::Unwinds,
                _ => unreachable!("the bridge knows three ends"),
            },
            is_guard: raw.is_guard,
        });
    }
}

extern "C" fn take_loop(context: *mut c_void, raw: *const bridge::RawLoop) {
    // SAFETY: as above.
    unsafe {
        let (flow, raw) = (&mut *context.cast::<FlowFacts<'_>>(), &*raw);
        flow.loops.push(LoopFacts {
            header: raw.header,
            blocks: lent(raw.blocks, raw.block_count).to_vec(),
            latches: lent(raw.latches, raw.latch_count).to_vec(),
            inner: lent(raw.inner, raw.inner_count).to_vec(),
            place: (!raw.location.is_null()).then_some(Place(raw.location, PhantomData)),
            waits_for_memory: raw.waits_for_memory,
            may_go_on: raw.may_go_on,
        });
    }
}

extern "C" fn take_irreducible(context: *mut c_void, raw: *const bridge::RawIrreducible) {
    // SAFETY: as above.
    unsafe {
        let (flow, raw) = (&mut *context.cast::<FlowFacts<'_>>(), &*raw);
        flow.irreducible.push(IrreducibleFacts {
            blocks: lent(raw.blocks, raw.block_count).to_vec(),
            waits_for_memory: raw.waits_for_memory,
            may_go_on: raw.may_go_on,
        });
    }
}

extern "C" fn is_thread_call(name: Text) -> bool {
    // SAFETY: LLVM's text, only looked at.
    std::str::from_utf8(unsafe { name.bytes() }).is_ok_and(creates_or_joins)
}

// SAFETY of all calls below: as in `ir`.
impl<'m> Function<'m> {
    /// Its control flow; it must have a body.
    pub fn flow(self) -> FlowFacts<'m> {
        let visitor = bridge::FlowVisitor {
            block: take_block,
            natural_loop: take_loop,
            irreducible: take_irreducible,
            is_thread_call,
        };
        let mut flow: FlowFacts<'m> = FlowFacts::default();
        // SAFETY: see above.
        unsafe { bridge::cov_flow(self.0, &visitor, (&raw mut flow).cast()) };
        flow
    }

    /// Takes back what its attributes say about memory and synchronization, as far as markers do not keep it.
    pub fn allow_markers(self) {
        // SAFETY: see above.
        unsafe { bridge::cov_allow_markers(self.0) }
    }

    /// Whether a pointer to it may be called: its address is used other than to call it or to start a thread.
    pub fn address_is_taken(self) -> bool {
        extern "C" fn starts(name: Text, argument: usize) -> bool {
            // SAFETY: LLVM's text, only looked at.
            std::str::from_utf8(unsafe { name.bytes() }).is_ok_and(|name| starts_thread(name, argument))
        }
        // SAFETY: see above.
        unsafe { bridge::cov_address_taken(self.0, starts) }
    }
}

impl<'m> Inst<'m> {
    /// Calls through pointers with one shape may, by their type, come to the same functions.
    pub fn call_shape(self) -> usize {
        // SAFETY: see above.
        unsafe { bridge::cov_call_shape(self.0) }
    }

    /// Whether this call through a pointer may, by its type, come to the function.
    pub fn may_reach(self, function: Function<'m>) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_call_may_reach(self.0, function.0) }
    }

    /// An argument of this call, if it is an integer constant.
    pub fn constant_argument(self, argument: usize) -> Option<u64> {
        let mut value = 0;
        // SAFETY: see above.
        unsafe { bridge::cov_constant_argument(self.0, argument, &mut value) }.then_some(value)
    }

    /// Makes an argument of this call, which is an integer constant, another.
    pub fn set_constant_argument(self, argument: usize, value: u64) {
        // SAFETY: see above; a call's first operands are its arguments.
        unsafe { bridge::cov_set_constant_argument(self.0, argument, value) }
    }

    /// Gives it a place in the source.
    pub fn set_place(self, place: Place<'m>) {
        // SAFETY: see above.
        unsafe { bridge::cov_set_place(self.0, place.0) }
    }

    /// Whether this runs a coroutine, by one of LLVM's own functions for that, and if so, whether it is an invoke.
    pub fn resumes_coroutine(self) -> Option<Form> {
        // SAFETY: see above.
        match unsafe { bridge::cov_resumes(self.0) } {
            0 => None,
            1 => Some(Form::Call),
            2 => Some(Form::Invoke),
            _ => unreachable!("the bridge knows three kinds"),
        }
    }

    /// How many arguments this call has.
    pub fn argument_count(self) -> usize {
        // SAFETY: see above.
        unsafe { bridge::cov_argument_count(self.0) }
    }
}

impl Place<'_> {
    /// In words.
    pub fn location(self) -> Location {
        // SAFETY: see above.
        Location::from_raw(unsafe { bridge::cov_place_location(self.0) })
    }
}
