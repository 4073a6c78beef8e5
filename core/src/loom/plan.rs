//! A filter, compiled: what the engine in the process installs. The controller makes it for one build; the engine
//! checks every index and offset, since it trusts nobody.
//!
//! # Layout
//! A [`PlanHeader`], then at the offsets that it names (multiples of 8): [`UnitRef`]s, [`Switch`]es, [`UnsafeAt`]s
//! (sorted by unit and location; none shares a location with another), [`Frame`]s,
//! [`OpRecord`]s (sorted by unit, slot and the order in which they are to be done), [`ConstraintRecord`]s; then bytes:
//! expressions ([`code`]) and texts (UTF-8).

use crate::rawlog::Plain;
use core::mem::size_of;

/// Magic word of [`PlanHeader`].
pub const MAGIC: [u8; 8] = *b"CVFILTR\0";
/// Version of everything in this module.
pub const VERSION: u32 = 5;
/// The longest plan.
pub const MAX_SIZE: usize = 1 << 20;
/// "No expression".
pub const NONE: u32 = u32::MAX;

/// An array or a text in the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Part {
    /// Offset from the plan's start.
    pub at: u32,
    /// How many records, or bytes.
    pub count: u32,
}

/// Head of a plan.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PlanHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of the whole plan.
    pub size: u32,
    /// Milliseconds that a thread may wait for one of the filter's own locks or semaphores; 0: the runtime's default.
    pub timeout_ms: u32,
    /// Unused, 0.
    pub reserved: u32,
    /// [`UnitRef`]s.
    pub units: Part,
    /// [`Switch`]es.
    pub switches: Part,
    /// [`UnsafeAt`]s.
    pub unsafe_at: Part,
    /// [`Frame`]s; at most [`MOST_FRAMES`].
    pub frames: Part,
    /// [`OpRecord`]s.
    pub ops: Part,
    /// [`ConstraintRecord`]s.
    pub constraints: Part,
    /// Bytes of [`code`].
    pub code: Part,
    /// The filter's file name.
    pub name: Part,
    /// The filter's source.
    pub source: Part,
}

/// A unit that the plan is about: one that the process does not have makes it another build's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct UnitRef {
    /// [`super::abi::Unit::hash`].
    pub hash: u64,
    /// Where its [`super::abi::Unit`] is in the linked file's own address space: the rest is where it was loaded.
    pub address: u64,
}

/// A function that takes its slow path while the filter is installed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(C)]
pub struct Switch {
    /// Index of its unit in the plan.
    pub unit: u32,
    /// Its number in the unit.
    pub function: u32,
}

/// Locations in a row that matter when the filter is installed: most are such at which no thread may be then. A function that is
/// called from everywhere makes most of a program such, in long rows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(C)]
pub struct UnsafeAt {
    /// Index of their unit in the plan.
    pub unit: u32,
    /// Number of the first in the unit; slots are at `slot_base + slot`.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// `LOCATION_` bits of [`super::abi`].
    pub marks: u32,
}

/// Code of functions that make a thread unsafe which they called, at locations with `LOCATION_BY_CALLER`: a word on its stack that
/// points there may be the address that a call returns to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(C)]
pub struct Frame {
    /// Index of a unit in the plan that is in the same linked file.
    pub unit: u32,
    /// Unused, 0.
    pub reserved: u32,
    /// Address in the linked file's own address space.
    pub first: u64,
    /// The last such address; behind the code, since a call that never returns may be its end.
    pub last: u64,
}

/// Most [`Frame`]s of a plan.
pub const MOST_FRAMES: usize = 4096;

/// [`OpRecord::kind`]: takes the constraint's lock for the key. Blocks.
pub const OP_LOCK: u8 = 1;
/// [`OpRecord::kind`]: releases it. Without a key: the one that this thread took last.
pub const OP_UNLOCK: u8 = 2;
/// [`OpRecord::kind`]: outside of all regions of the constraint: releases whatever this thread still holds of it.
pub const OP_LEAVE: u8 = 3;
/// [`OpRecord::kind`]: an event of an order has happened: the semaphore `step` rises by 1/n.
pub const OP_UP: u8 = 4;
/// [`OpRecord::kind`]: an event of an order is to happen: waits until the semaphore `step` can fall by 1/n.
pub const OP_DOWN: u8 = 5;
/// [`OpRecord::kind`]: from here on the thread runs alone.
pub const OP_ALONE: u8 = 6;
/// [`OpRecord::kind`]: the others may run again.
pub const OP_TOGETHER: u8 = 7;

/// Something to do at a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct OpRecord {
    /// Index of its unit in the plan.
    pub unit: u32,
    /// The slot's number in the unit.
    pub slot: u32,
    /// One of the `OP_` numbers.
    pub kind: u8,
    /// For order: which semaphore of the constraint, from 0.
    pub step: u8,
    /// Index of the constraint.
    pub constraint: u16,
    /// Offset in the code of the key; [`NONE`]: the constraint has one lock, one semaphore.
    pub key: u32,
    /// Offset in the code of n; [`NONE`]: 1.
    pub times: u32,
    /// [`BY_CALL`] and [`TAKES_LOCKS`], or 0.
    pub flags: u32,
}

/// [`OpRecord::flags`]: of a function region whose calls may be left by exceptions that others of its calls catch. What a call took
/// ends with that call at the latest; the runtime notices at the next of these operations. With [`OP_LEAVE`]: only that.
pub const BY_CALL: u32 = 1;
/// [`OpRecord::flags`] of [`OP_ALONE`]: the region takes locks of the program, which others may have when they are asked to pause.
pub const TAKES_LOCKS: u32 = 2;

/// [`ConstraintRecord::kind`]: regions exclude each other.
pub const CONSTRAINT_MUTUAL: u32 = 1;
/// [`ConstraintRecord::kind`]: a region excludes everything.
pub const CONSTRAINT_ALONE: u32 = 2;
/// [`ConstraintRecord::kind`]: events happen in order.
pub const CONSTRAINT_ORDER: u32 = 3;

/// A constraint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ConstraintRecord {
    /// One of the `CONSTRAINT_` numbers.
    pub kind: u32,
    /// For order: how many semaphores.
    pub steps: u32,
    /// Its text in the source, as offset and length in [`PlanHeader::source`].
    pub text: Part,
}

const _: () = assert!(size_of::<PlanHeader>() == 96);
const _: () = assert!(size_of::<UnsafeAt>() == 16);
const _: () = assert!(size_of::<Frame>() == 24);
const _: () = assert!(size_of::<OpRecord>() == 24);
const _: () = assert!(size_of::<ConstraintRecord>() == 16);
// SAFETY: repr(C), no padding (sizes pinned or plain to see), integers only.
unsafe impl Plain for PlanHeader {}
// SAFETY: as above.
unsafe impl Plain for UnitRef {}
// SAFETY: as above.
unsafe impl Plain for Switch {}
// SAFETY: as above.
unsafe impl Plain for UnsafeAt {}
// SAFETY: as above.
unsafe impl Plain for Frame {}
// SAFETY: as above.
unsafe impl Plain for OpRecord {}
// SAFETY: as above.
unsafe impl Plain for ConstraintRecord {}

/// Expressions: a program for a small stack machine of 64-bit words. Each instruction is a byte and its operands, little
/// endian, unaligned. All words left on the stack at the end, together, are the key; for n, the last one.
pub mod code {
    /// The end.
    pub const END: u8 = 0;
    /// Pushes an `i64`.
    pub const CONSTANT: u8 = 1;
    /// Pushes word `u32` of the slot's frame, cut to `u8` bytes, sign-extended if the `u8` after it is 1.
    pub const VARIABLE: u8 = 2;
    /// Pushes what is in memory at the address in word `u32` of the frame: `u8` bytes, sign-extended if the `u8` after it is 1.
    pub const IN_MEMORY: u8 = 3;
    /// Pushes the address of a variable of the program: index of a unit `u32`, address `u64` in that unit's linked file.
    pub const GLOBAL: u8 = 4;
    /// Replaces the top, the address of a variable of the program, by what is there: `u8` bytes, sign-extended if the `u8` after
    /// it is 1. Follows [`GLOBAL`] only.
    pub const LOAD: u8 = 5;
    /// Adds the two top words.
    pub const ADD: u8 = 6;
    /// Multiplies the top by an `i64`.
    pub const SCALE: u8 = 7;
    /// How deep the stack may get.
    pub const DEPTH: usize = 16;
}
