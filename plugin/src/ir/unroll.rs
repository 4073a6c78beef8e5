//! Unrolling, as LLVM's own unroller does it, and remarks about it.

use super::bridge::{self, RawLoopResult, RawLoopToUnroll, Text};
use super::flow::Place;
use super::{Function, Module};
use std::ffi::c_void;
use std::ptr::null_mut;

/// What became of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unrolled {
    /// No loop is left.
    Fully {
        /// How many iterations there are.
        iterations: u32,
        /// It may leave after fewer.
        at_most: bool,
    },
    /// A loop is left; each of its iterations does this many of before.
    Partly {
        /// How many.
        times: u32,
        /// Where it ends.
        ends: Ends,
    },
    /// It is as it was.
    Left(Obstacle),
}

/// How a loop that was partly unrolled ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// The number of iterations is a constant.
    Constant,
    /// What does not divide is done apart.
    Remainder,
    /// Every copy of the body can leave.
    Anywhere,
}

/// Why a loop is as it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Obstacle {
    /// Its function is `optnone`.
    Optnone,
    /// Its function is a coroutine.
    Coroutine,
    /// Its function handles exceptions in funclets.
    Funclets,
    /// Its function calls setjmp or the like.
    ReturnsTwice,
    /// It was unrolled before.
    Done,
    /// The programmer does not want it.
    Disabled,
    /// It begins where exceptions land.
    LandingHeader,
    /// The address of one of its labels is taken.
    AddressTaken,
    /// It jumps to a label by address.
    Indirectbr,
    /// It has an `asm goto`.
    Callbr,
    /// It makes a call that must not be copied.
    Noduplicate,
    /// It makes a call that must not depend on more conditions.
    Convergent,
    /// The copies would be too many instructions.
    TooLarge,
    /// LLVM's unroller refuses it.
    Refused,
}

impl Obstacle {
    /// In words, after "not unrolled: ".
    pub fn describe(self) -> &'static str {
        match self {
            Obstacle::Optnone => {
                "the function is optnone (-O0): compile with -O1 or -Xclang -disable-O0-optnone"
            }
            Obstacle::Coroutine => "the function is a coroutine",
            Obstacle::Funclets => "the function has exception funclets",
            Obstacle::ReturnsTwice => "the function calls setjmp or another function that returns twice",
            Obstacle::Done => "it is unrolled already",
            Obstacle::Disabled => "#pragma nounroll (or -O1, -fno-unroll-loops) forbids it",
            Obstacle::LandingHeader => "it begins where exceptions land",
            Obstacle::AddressTaken => "the address of a label in it is taken",
            Obstacle::Indirectbr => "it has a computed goto (indirectbr)",
            Obstacle::Callbr => "it has an asm goto (callbr)",
            Obstacle::Noduplicate => "it has a call that must not be duplicated (noduplicate)",
            Obstacle::Convergent => "it has a convergent call",
            Obstacle::TooLarge => "it would have more than 16384 instructions: try a smaller factor",
            Obstacle::Refused => "LLVM's unroller refuses it: it is not in simplified form",
        }
    }
}

impl Unrolled {
    fn from_raw(raw: u8, times: u32) -> Unrolled {
        let partly = |ends| Unrolled::Partly { times, ends };
        match raw {
            1 => Unrolled::Fully { iterations: times, at_most: false },
            2 => Unrolled::Fully { iterations: times, at_most: true },
            3 => partly(Ends::Constant),
            4 => partly(Ends::Remainder),
            5 => partly(Ends::Anywhere),
            6 => Unrolled::Left(Obstacle::Optnone),
            7 => Unrolled::Left(Obstacle::Coroutine),
            8 => Unrolled::Left(Obstacle::Funclets),
            9 => Unrolled::Left(Obstacle::ReturnsTwice),
            10 => Unrolled::Left(Obstacle::Done),
            11 => Unrolled::Left(Obstacle::Disabled),
            12 => Unrolled::Left(Obstacle::LandingHeader),
            13 => Unrolled::Left(Obstacle::AddressTaken),
            14 => Unrolled::Left(Obstacle::Indirectbr),
            15 => Unrolled::Left(Obstacle::Callbr),
            16 => Unrolled::Left(Obstacle::Noduplicate),
            17 => Unrolled::Left(Obstacle::Convergent),
            18 => Unrolled::Left(Obstacle::TooLarge),
            19 => Unrolled::Left(Obstacle::Refused),
            _ => unreachable!("the bridge knows nineteen results"),
        }
    }

    /// In words.
    pub fn describe(self) -> String {
        match self {
            Unrolled::Fully { iterations: 1, at_most: false } => "unrolled fully, 1 iteration".to_owned(),
            Unrolled::Fully { iterations, at_most: false } => {
                format!("unrolled fully, {iterations} iterations")
            }
            Unrolled::Fully { iterations, at_most: true } => {
                format!("unrolled fully, at most {iterations} iterations")
            }
            Unrolled::Partly { times, ends: Ends::Constant } => {
                format!("unrolled {times} times, the number of iterations is a constant")
            }
            Unrolled::Partly { times, ends: Ends::Remainder } => {
                format!("unrolled {times} times with remainder")
            }
            Unrolled::Partly { times, ends: Ends::Anywhere } => {
                format!("unrolled {times} times with all exits")
            }
            Unrolled::Left(obstacle) => format!("not unrolled: {}", obstacle.describe()),
        }
    }
}

/// Which option of a compiler shows a remark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remark {
    /// `-Rpass=sync-unroll`.
    Done,
    /// `-Rpass-missed=sync-unroll`.
    Missed,
    /// `-Rpass-analysis=sync-unroll`.
    Analysis,
}

/// A loop to unroll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopToUnroll {
    /// The place of its header among the function's blocks.
    pub header: u32,
    /// Whoever comes to the loop must still come to its header: a remainder could be all that runs.
    pub keeps_header: bool,
}

/// How to unroll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner<'a> {
    /// How many iterations one of the loop that is left has.
    pub factor: u32,
    /// Whether `llvm.loop.unroll.disable` is an obstacle.
    pub heed_disabled: bool,
    /// The function whose call in a header is there once afterwards.
    pub marker: &'a str,
}

// SAFETY of the calls below: as in the parent module.
impl Module<'_> {
    /// Whether all of its loops, and at least two, are not to be unrolled by LLVM. Those that covsched did are not
    /// asked.
    pub fn disables_all_unrolling(self) -> bool {
        // SAFETY: see above.
        unsafe { bridge::cov_disables_all_unrolling(self.0) }
    }
}

impl<'m> Function<'m> {
    /// Unrolls loops, and gives what became of each, by header. Instructions of the function may be gone.
    pub fn unroll_loops(self, loops: &[LoopToUnroll], manner: Manner<'_>) -> Vec<(u32, Unrolled)> {
        extern "C" fn visit(context: *mut c_void, raw: *const RawLoopResult) {
            // SAFETY: both are given by the call below.
            let (found, raw) = unsafe { (&mut *context.cast::<Vec<(u32, Unrolled)>>(), &*raw) };
            found.push((raw.header, Unrolled::from_raw(raw.result, raw.times)));
        }
        let loops: Vec<RawLoopToUnroll> = loops
            .iter()
            .map(|asked| RawLoopToUnroll { header: asked.header, keeps_header: asked.keeps_header })
            .collect();
        let mut found: Vec<(u32, Unrolled)> = Vec::new();
        // SAFETY: see above.
        unsafe {
            bridge::cov_unroll(
                self.0,
                loops.as_ptr(),
                loops.len(),
                manner.factor,
                manner.heed_disabled,
                Text::new(manner.marker),
                visit,
                (&raw mut found).cast(),
            );
        }
        found
    }

    /// An optimization remark of `sync-unroll`, at a place or about the function.
    pub fn remark(self, place: Option<Place<'m>>, kind: Remark, message: &str) {
        let place = place.map_or(null_mut(), |place| place.0);
        let kind = match kind {
            Remark::Done => 0,
            Remark::Missed => 1,
            Remark::Analysis => 2,
        };
        // SAFETY: see above.
        unsafe { bridge::cov_remark(self.0, place, kind, Text::new(message)) }
    }
}
