//! A thread's events as a tree of calls (Wu 4.2.1): what specialization follows.
//!
//! A frame is one call of a function that synchronized inside. Its items, in order, are what the function itself did:
//! synchronizations, and calls whose callee is a frame again. The derived events and the depths make the tree unique.
//!
//! Some events belong to no call of the program's own: constructors before main, exit handlers, thread-local
//! destructors, signal handlers, and what a library calls back (`pthread_once`'s routine, `qsort`'s comparator). Such an
//! event stands in a function that is not its frame's; it is outside, with all that it calls. A library may call back
//! several times inside of one derived call: the frame of such a call has the function of its first event, and it is
//! for who knows the program to see that the call does not name it.

use super::fault::seq_of;
use super::{Event, Phase, Schedule, Seq, SiteId, ThreadId};
use crate::hooks::{Effect, Op};

/// A frame's place in [`Frames::frames`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId(pub u32);

/// All threads' frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frames {
    /// Each after the one that calls it; a thread's are in the order of its events.
    pub frames: Vec<Frame>,
    /// By thread.
    pub threads: Vec<ThreadFrames>,
}

/// One thread's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadFrames {
    /// The call of its own function; `None` if that was not compiled with covsched.
    pub root: Option<FrameId>,
    /// Events outside of all frames.
    pub outside: Vec<Seq>,
}

/// One call of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Whose.
    pub thread: ThreadId,
    /// The function's linkage name.
    pub function: String,
    /// The frame that called it, and which of that one's items the call is; `None` for a thread's own function.
    pub caller: Option<(FrameId, usize)>,
    /// What it did.
    pub items: Vec<Item>,
}

/// What a function did in one of its calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Where.
    pub site: SiteId,
    /// What.
    pub action: Action,
}

/// What an item is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// It synchronized, returned from the thread's function, or ended the thread or the process.
    Synchronized {
        /// The operation.
        op: Op,
        /// Its only event, or the first.
        first: Seq,
        /// The second of two, if it came to that.
        last: Option<Seq>,
    },
    /// It called a function that synchronized. `None` if that was in code without hooks.
    Called(Option<FrameId>),
}

impl Frames {
    /// Of a schedule that was verified.
    pub fn of(schedule: &Schedule) -> Frames {
        let mut builder = Builder {
            schedule,
            frames: Frames {
                frames: Vec::new(),
                threads: vec![ThreadFrames::default(); schedule.threads.len()],
            },
            open: vec![vec![Open::Unknown { call: None }]; schedule.threads.len()],
        };
        for (index, event) in schedule.events.iter().enumerate() {
            builder.add(seq_of(index), event);
        }
        builder.frames
    }

    /// A frame.
    pub fn get(&self, frame: FrameId) -> &Frame {
        &self.frames[frame.0 as usize]
    }
}

/// A call that a thread is in.
#[derive(Clone, Copy)]
enum Open {
    /// Nothing is known of it but the item that calls it; the thread's own function has none.
    Unknown {
        call: Option<(FrameId, usize)>,
    },
    Frame(FrameId),
    Outside,
}

struct Builder<'a> {
    schedule: &'a Schedule,
    frames: Frames,
    /// By thread: the thread's own function, then the calls that it is in.
    open: Vec<Vec<Open>>,
}

impl Builder<'_> {
    fn add(&mut self, seq: Seq, event: &Event) {
        let thread = event.thread.0 as usize;
        self.open[thread].truncate(event.depth as usize + 1);
        let item = self.item(seq, event);
        if item.is_none() {
            self.frames.threads[thread].outside.push(seq);
        }
        if event.op == Op::derived {
            self.open[thread].push(item.map_or(Open::Outside, |call| Open::Unknown { call: Some(call) }));
        }
    }

    /// Makes the event an item of its frame, if it has one.
    fn item(&mut self, seq: Seq, event: &Event) -> Option<(FrameId, usize)> {
        let function = &self.schedule.sites.get(&event.site)?.function;
        let frame = self.frame_of(event, function)?;
        let items = &mut self.frames.frames[frame.0 as usize].items;
        let number = items.len();
        match (event.op.effect(), event.phase) {
            // The frame begins with it.
            (Effect::Enter, _) => return Some((frame, number)),
            (_, Phase::End) => {
                let begun = items.iter_mut().rev().find_map(|item| match &mut item.action {
                    Action::Synchronized { op, last, .. }
                        if item.site == event.site && *op == event.op && last.is_none() =>
                    {
                        Some(last)
                    }
                    _ => None,
                });
                *begun? = Some(seq);
            }
            (Effect::Call, _) => {
                // Known when something inside of it shows whose it is.
                let action = Action::Called(None);
                items.push(Item { site: event.site, action });
            }
            _ => {
                let action = Action::Synchronized { op: event.op, first: seq, last: None };
                items.push(Item { site: event.site, action });
            }
        }
        Some((frame, number))
    }

    /// The frame that an event in a function belongs to: the innermost open one, unless that is another function's.
    fn frame_of(&mut self, event: &Event, function: &str) -> Option<FrameId> {
        let thread = event.thread.0 as usize;
        let open = self.open[thread].last_mut()?;
        match *open {
            Open::Outside => None,
            Open::Frame(frame) => {
                (self.frames.frames[frame.0 as usize].function == function).then_some(frame)
            }
            // Constructors come before main; they are not its calls.
            Open::Unknown { call: None } if event.op.effect() != Effect::Enter => None,
            Open::Unknown { call } => {
                let frame = FrameId(self.frames.frames.len() as u32);
                *open = Open::Frame(frame);
                self.frames.frames.push(Frame {
                    thread: event.thread,
                    function: function.to_owned(),
                    caller: call,
                    items: Vec::new(),
                });
                match call {
                    None => self.frames.threads[thread].root = Some(frame),
                    Some((caller, number)) => {
                        self.frames.frames[caller.0 as usize].items[number].action =
                            Action::Called(Some(frame));
                    }
                }
                Some(frame)
            }
        }
    }
}

#[cfg(test)]
mod tests;
