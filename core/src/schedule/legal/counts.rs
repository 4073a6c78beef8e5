//! Semaphores and once.
//!
//! - A unit is taken from a semaphore when it has one: its initial count and a unit for each post.
//! - A routine is begun when nobody runs it or has run it; its end, unless unwound, makes it done; others
//!   return when it is done.

use super::happened;
use crate::hooks::Effect;
use crate::ids::ThreadId;
use crate::schedule::{Event, Phase};

/// A semaphore.
#[derive(Default)]
pub(super) struct Semaphore {
    /// `None` if its init was not seen: nothing can be checked then.
    units: Option<u64>,
}

impl Semaphore {
    pub(super) fn event(&mut self, event: &Event) -> Result<(), String> {
        if !happened(event) {
            return Ok(());
        }
        match (event.op.effect(), &mut self.units) {
            (Effect::Init, units) => *units = event.count.map(u64::from),
            (Effect::Release, Some(units)) => *units += 1,
            (Effect::Acquire | Effect::TryAcquire | Effect::TimedAcquire, Some(units)) => {
                *units = units
                    .checked_sub(1)
                    .ok_or_else(|| "expected a unit to take, but there is none".to_owned())?;
            }
            _ => {}
        }
        Ok(())
    }
}

/// A once control.
pub(super) enum Once {
    /// In a forked process: maybe done.
    Unknown,
    NotRun,
    Running(ThreadId),
    Done,
}

impl Once {
    pub(super) fn new(known: bool) -> Once {
        if known {
            Once::NotRun
        } else {
            Once::Unknown
        }
    }

    pub(super) fn event(&mut self, thread: ThreadId, event: &Event) -> Result<(), String> {
        match (event.phase, &*self) {
            (Phase::Begin, Once::Unknown | Once::NotRun) => *self = Once::Running(thread),
            (Phase::Begin, Once::Running(other)) => {
                return Err(format!("{thread} begins the routine while {other} runs it"));
            }
            (Phase::Begin, Once::Done) => return Err(format!("{thread} runs a routine that has been run")),
            (Phase::End, _) => *self = if event.unwound { Once::NotRun } else { Once::Done },
            (Phase::Both, Once::Unknown | Once::Done) => {}
            (Phase::Both, _) if event.unwound || !happened(event) || event.result.is_none() => {}
            (Phase::Both, Once::Running(other)) => {
                return Err(format!("{thread} returns while {other} still runs the routine"));
            }
            (Phase::Both, Once::NotRun) => {
                return Err(format!("{thread} returns, but nobody has run the routine"))
            }
        }
        Ok(())
    }
}
