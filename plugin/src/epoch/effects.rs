//! How functions and loops may synchronize: the kinds that the rules tell apart (Bergan 3.3.1), through calls.

use super::program::{Action, Program, Step};
use covsched_core::hooks::{Effect, Op};
use std::ops::{BitOr, BitOrAssign};

/// A set of kinds of synchronization.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Effects(u8);

/// Why a loop's synchronizations are bounded without a marker. Those that create or join must also end for their own
/// reasons: see [`Loop::may_go_on`](super::program::Loop::may_go_on).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trivial {
    /// It only waits on condition variables, each time for a notification, and those are bounded.
    Waits,
    /// It only creates threads.
    Creates,
    /// It only joins threads.
    Joins,
}

impl Effects {
    /// None at all.
    pub const NONE: Effects = Effects(0);
    /// A condition wait without a deadline. One with a deadline can come back any number of times.
    pub const WAIT: Effects = Effects(1);
    /// Making a thread.
    pub const CREATE: Effects = Effects(2);
    /// Waiting for a thread's end. A try or a deadline can come back any number of times.
    pub const JOIN: Effects = Effects(4);
    /// Waking who waits on a condition variable; a signal to a thread may, too.
    pub const NOTIFY: Effects = Effects(8);
    /// Arriving at a barrier.
    pub const BARRIER: Effects = Effects(16);
    /// Anything else.
    pub const OTHER: Effects = Effects(32);
    /// Code outside of the program.
    pub const UNKNOWN: Effects = Effects(64);

    /// What an operation does.
    pub fn of_op(op: Op) -> Effects {
        match op.effect() {
            Effect::Wait => Effects::WAIT,
            Effect::Create => Effects::CREATE,
            Effect::Join => Effects::JOIN,
            Effect::Signal | Effect::Broadcast | Effect::Notify => Effects::NOTIFY,
            Effect::Arrive => Effects::BARRIER,
            // A thread ends once; the others are no calls.
            Effect::EndThread
            | Effect::EndProcess
            | Effect::Enter
            | Effect::Leave
            | Effect::Call
            | Effect::Mark => Effects::NONE,
            Effect::Init
            | Effect::Destroy
            | Effect::Acquire
            | Effect::TryAcquire
            | Effect::TimedAcquire
            | Effect::AcquireShared
            | Effect::TryAcquireShared
            | Effect::TimedAcquireShared
            | Effect::Release
            | Effect::TimedWait
            | Effect::RunOnce
            | Effect::TryJoin
            | Effect::Detach
            | Effect::Read => Effects::OTHER,
        }
    }

    /// What a step does, given what functions do.
    pub fn of_step(step: &Step<'_>, of_functions: &[Effects]) -> Effects {
        match &step.action {
            Action::Marker(_) => Effects::NONE,
            Action::Synchronizes(op) => Effects::of_op(*op),
            Action::Calls { functions, unknown, .. } => {
                let outside = if *unknown { Effects::UNKNOWN } else { Effects::NONE };
                functions.iter().fold(outside, |all, id| all | of_functions[id.0 as usize])
            }
        }
    }

    /// What each function of a program may do.
    pub fn of_functions(program: &Program<'_>) -> Vec<Effects> {
        let mut effects = vec![Effects::NONE; program.functions.len()];
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); program.functions.len()];
        for (caller, flow) in program.functions.iter().enumerate() {
            for step in flow.blocks.iter().flat_map(|block| &block.steps) {
                match &step.action {
                    Action::Calls { functions, unknown, .. } => {
                        functions.iter().for_each(|id| callers[id.0 as usize].push(caller));
                        if *unknown {
                            effects[caller] |= Effects::UNKNOWN;
                        }
                    }
                    Action::Synchronizes(op) => effects[caller] |= Effects::of_op(*op),
                    Action::Marker(_) => {}
                }
            }
        }
        callers.iter_mut().for_each(|callers| {
            callers.sort_unstable();
            callers.dedup();
        });
        let mut work: Vec<usize> = (0..effects.len()).filter(|&f| !effects[f].is_empty()).collect();
        while let Some(callee) = work.pop() {
            for &caller in &callers[callee] {
                let grown = effects[caller] | effects[callee];
                if grown != effects[caller] {
                    effects[caller] = grown;
                    work.push(caller);
                }
            }
        }
        effects
    }

    /// Nothing synchronizes.
    pub fn is_empty(self) -> bool {
        self == Effects::NONE
    }

    /// One of these kinds is among them.
    pub fn has(self, kinds: Effects) -> bool {
        self.0 & kinds.0 != 0
    }

    /// Whether a cycle with these effects is bounded as it is.
    pub fn trivial(self, notifications_are_bounded: bool) -> Option<Trivial> {
        match self {
            Effects::WAIT if notifications_are_bounded => Some(Trivial::Waits),
            Effects::CREATE => Some(Trivial::Creates),
            Effects::JOIN => Some(Trivial::Joins),
            _ => None,
        }
    }
}

impl BitOr for Effects {
    type Output = Effects;
    fn bitor(self, other: Effects) -> Effects {
        Effects(self.0 | other.0)
    }
}

impl BitOrAssign for Effects {
    fn bitor_assign(&mut self, other: Effects) {
        *self = *self | other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_kind_alone_is_trivial() {
        let of = |op| Effects::of_op(op);
        assert_eq!(of(Op::pthread_cond_wait).trivial(true), Some(Trivial::Waits));
        assert_eq!(of(Op::cnd_wait).trivial(false), None);
        assert_eq!(of(Op::pthread_cond_timedwait).trivial(true), None);
        assert_eq!(of(Op::pthread_create).trivial(false), Some(Trivial::Creates));
        assert_eq!(of(Op::pthread_join).trivial(false), Some(Trivial::Joins));
        assert_eq!(of(Op::pthread_tryjoin_np).trivial(true), None);
        assert_eq!((of(Op::pthread_create) | of(Op::pthread_join)).trivial(true), None);
        assert_eq!(Effects::NONE.trivial(true), None);
        assert!(of(Op::exit).is_empty());
    }
}
