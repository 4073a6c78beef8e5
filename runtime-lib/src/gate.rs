//! The gate: every event of every hook becomes a record here, if the run is recorded.
//!
//! A hook that blocks writes when it has completed ([`completed`]); any other before it happens
//! ([`ordered`]), and fills in the result afterwards ([`returned`]). What the thread has
//! outstanding (its entry, the derived calls that it is in) is written first, with the same clock.

use crate::clock;
use crate::exports::is_recording;
use crate::log::Slot;
use crate::threads::Thread;
use core::sync::atomic::{compiler_fence, Ordering};
use covsched_core::hooks::{Effect, Op};
use covsched_core::rawlog::{depth_byte, Phase, Record, RESULT_PENDING};
use covsched_core::{Clock, SiteId};

/// What happened.
#[derive(Clone, Copy)]
pub struct Event {
    /// The operation.
    pub op: Op,
    /// Which moment of it.
    pub phase: Phase,
    /// Where.
    pub site: SiteId,
    /// On which object, 0 if none.
    pub object: usize,
    /// See [`Record::extra`].
    pub extra: u64,
    /// See [`Record::result`].
    pub result: i32,
    /// See [`Record::flags`].
    pub flags: u8,
}

impl Event {
    /// An event with one moment, no extra, no flags and a result that is not known yet.
    #[inline(always)]
    pub fn new(op: Op, site: SiteId, object: usize) -> Event {
        Event { op, phase: Phase::Both, site, object, extra: 0, result: RESULT_PENDING, flags: 0 }
    }

    /// With a phase.
    #[inline(always)]
    pub fn phase(self, phase: Phase) -> Event {
        Event { phase, ..self }
    }

    /// With an extra.
    #[inline(always)]
    pub fn extra(self, extra: u64) -> Event {
        Event { extra, ..self }
    }

    /// With a result.
    #[inline(always)]
    pub fn result(self, result: i32) -> Event {
        Event { result, ..self }
    }

    /// With flags.
    #[inline(always)]
    pub fn flags(self, flags: u8) -> Event {
        Event { flags, ..self }
    }
}

/// Writes an event that has happened, after everything up to `floor`.
#[inline(always)]
pub fn completed(thread: &Thread, floor: Clock, event: Event) -> Clock {
    completed_since(thread, now(), floor, event)
}

/// As [`completed`], at a time that was read before the call.
#[inline(always)]
pub fn completed_since(thread: &Thread, time: u64, floor: Clock, event: Event) -> Clock {
    ordered_since(thread, time, floor, event, |_| ()).0
}

/// Writes an event that is about to happen, has no object, and orders nothing but its own thread.
#[inline(always)]
pub fn announced_alone(thread: &Thread, event: Event) -> (Clock, Slot) {
    ordered_since(thread, now(), Clock(0), event, |_| ())
}

/// Writes an event that is about to happen: after everything up to `floor`, and before what follows it where
/// `publish` says so, which runs before the record is there.
#[inline(always)]
pub fn ordered(thread: &Thread, floor: Clock, event: Event, publish: impl FnOnce(u64)) -> (Clock, Slot) {
    ordered_since(thread, now(), floor, event, publish)
}

/// The time, if anybody wants it.
#[inline(always)]
pub fn now() -> u64 {
    if is_recording() {
        clock::now()
    } else {
        0
    }
}

/// Fills in the result of an announced event.
#[inline(always)]
pub fn returned(thread: &Thread, slot: Slot, result: i32) {
    thread.log.set_result(slot, result);
}

/// As [`ordered`], at a time that was read before: what all of the above come to.
#[inline(always)]
pub fn ordered_since(
    thread: &Thread,
    time: u64,
    floor: Clock,
    event: Event,
    publish: impl FnOnce(u64),
) -> (Clock, Slot) {
    if !is_recording() {
        return (Clock(0), Slot::NONE);
    }
    let log = &thread.log;
    let nesting = log.nesting.get();
    log.nesting.set(nesting + 1);
    compiler_fence(Ordering::SeqCst);
    let clock = tick(thread, time, floor.0, nesting);
    publish(clock);
    // Marks are not synchronizations: a call in which there are only marks is not recorded.
    if thread.has_outstanding() && event.op.effect() != Effect::Mark {
        write_outstanding(thread, clock, event.op, nesting + 1);
    }
    let slot = put(thread, clock, event, thread.derived.depth(), nesting + 1);
    compiler_fence(Ordering::SeqCst);
    log.nesting.set(nesting);
    (Clock(clock), slot)
}

/// The thread's next clock. A signal handler has a word of its own, so that the code that it interrupted
/// cannot set the thread's clock back.
#[inline(always)]
fn tick(thread: &Thread, time: u64, floor: u64, nesting: u32) -> u64 {
    let clock = clock::next(time, floor.max(thread.clock.get()).max(thread.handler_clock.get()));
    if nesting == 0 {
        thread.clock.set(clock);
    } else {
        thread.handler_clock.set(clock);
    }
    clock
}

#[inline(always)]
fn put(thread: &Thread, clock: u64, event: Event, depth: u32, nesting: u32) -> Slot {
    let record = Record {
        clock,
        site: event.site.0,
        object: event.object as u64,
        extra: event.extra,
        result: event.result,
        op: event.op as u8,
        phase: event.phase as u8,
        flags: event.flags,
        depth: depth_byte(depth),
    };
    thread.log.write(&record, nesting)
}

#[cold]
#[inline(never)]
fn write_outstanding(thread: &Thread, clock: u64, op: Op, nesting: u32) {
    if thread.take_pending_entry() && op != Op::entry {
        put(thread, clock, Event::new(Op::entry, SiteId::NONE, 0).result(0), 0, nesting);
    }
    if op == Op::entry {
        return;
    }
    thread.derived.take_unwritten(|depth, site| {
        put(thread, clock, Event::new(Op::derived, site, 0).result(0), depth, nesting);
    });
}
