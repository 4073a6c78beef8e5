//! A function's control flow as control-flow specialization sees it (Wu 4.2.1): plain data, without LLVM.
//!
//! The function is cut into pieces, so that each call that matters stands alone in its piece. [`Graph::reach`] says from
//! which pieces a goal can be reached without synchronizing on the way: the backward search of Algorithm 1, done once a
//! goal and not once a segment, so that the forward search never leaves the segment.

use covsched_core::SiteId;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A piece's place in [`Graph::pieces`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PieceId(pub u32);

impl PieceId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function's place in a [`super::plan::Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FunctionId(pub u32);

impl FunctionId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// How control comes back from a call. Neither: it does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ways {
    /// It returns.
    pub returns: bool,
    /// An exception comes out of it.
    pub unwinds: bool,
}

impl Ways {
    /// Nothing is known.
    pub const ANY: Ways = Ways { returns: true, unwinds: true };
    /// As nearly all calls do.
    pub const RETURNS: Ways = Ways { returns: true, unwinds: false };
    /// Only by an exception, or by the end of its thread.
    pub const UNWINDS: Ways = Ways { returns: false, unwinds: true };
    /// Not at all.
    pub const NONE: Ways = Ways { returns: false, unwinds: false };
}

/// What a call that may synchronize calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee {
    /// A function of the program.
    Function(FunctionId),
    /// What a pointer says.
    Pointer,
    /// Something that is not cloned: a library's, or a function with a construct that is a limit.
    Elsewhere,
}

/// What a piece does that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Nothing.
    Plain,
    /// It synchronizes.
    Synchronizes(SiteId),
    /// The function is about to return, if it is a thread's own: a synchronization in the thread's own call only.
    Exits(SiteId),
    /// It calls a function that may synchronize.
    Calls {
        /// The derived site.
        site: SiteId,
        /// What it calls.
        callee: Callee,
        /// How that comes back if it does not synchronize.
        free: Ways,
    },
}

/// How a piece leaves its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// `ret`.
    Returns,
    /// `resume`.
    Unwinds,
}

/// A part of a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// What it does.
    pub act: Act,
    /// Where control goes, in the terminator's order.
    pub next: Vec<PieceId>,
    /// It ends with an invoke: `next` is where control goes on and where exceptions land.
    pub is_invoke: bool,
    /// How it leaves the function, if it does.
    pub leaves: Option<Leave>,
    /// A call in it may leave the function by an exception.
    pub may_unwind: bool,
}

impl Piece {
    /// A piece that does nothing but go on.
    pub fn plain(next: &[u32]) -> Piece {
        Piece {
            act: Act::Plain,
            next: next.iter().copied().map(PieceId).collect(),
            is_invoke: false,
            leaves: None,
            may_unwind: false,
        }
    }

    /// What it does in a thread's own call, or in another.
    pub fn act(&self, is_root: bool) -> Act {
        match self.act {
            Act::Exits(site) if is_root => Act::Synchronizes(site),
            Act::Exits(_) => Act::Plain,
            act => act,
        }
    }

    /// How control passes it without synchronizing.
    fn free(&self, is_root: bool) -> Ways {
        match self.act(is_root) {
            Act::Synchronizes(_) => Ways::NONE,
            Act::Calls { free, .. } => free,
            Act::Plain | Act::Exits(_) => Ways::ANY,
        }
    }

    /// The successors to which control goes if the piece's call comes back in these ways.
    pub fn successors(&self, ways: Ways) -> impl Iterator<Item = (usize, PieceId)> + '_ {
        let is_open = move |slot: usize| match (self.is_invoke, slot) {
            (true, 1) => ways.unwinds,
            _ => ways.returns,
        };
        self.next.iter().copied().enumerate().filter(move |&(slot, _)| is_open(slot))
    }

    /// How it leaves the function, if its call comes back in these ways.
    pub fn leaves(&self, ways: Ways) -> Ways {
        let leaves = |how| ways.returns && self.leaves == Some(how);
        Ways {
            returns: leaves(Leave::Returns),
            unwinds: leaves(Leave::Unwinds) || (ways.unwinds && self.may_unwind && !self.is_invoke),
        }
    }
}

/// A set of pieces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pieces(Vec<u64>);

impl Pieces {
    fn none(count: usize) -> Pieces {
        Pieces(vec![0; count.div_ceil(64)])
    }

    /// Whether the piece is one of them.
    pub fn contains(&self, piece: PieceId) -> bool {
        self.0[piece.index() / 64] >> (piece.0 % 64) & 1 != 0
    }

    /// Adds it; false if it was there.
    fn insert(&mut self, piece: PieceId) -> bool {
        let (word, bit) = (&mut self.0[piece.index() / 64], 1 << (piece.0 % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// What a segment leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Goal {
    /// A synchronization, or a call that synchronizes inside.
    Site(SiteId),
    /// The function's end.
    End,
}

/// A function's pieces.
#[derive(Debug)]
pub struct Graph {
    /// The first is the entry.
    pieces: Vec<Piece>,
    /// By piece: whose successor it is.
    before: Vec<Vec<PieceId>>,
    reaches: RefCell<HashMap<(bool, Goal), Rc<Pieces>>>,
}

impl Graph {
    /// Of these pieces, the entry first.
    pub fn new(pieces: Vec<Piece>) -> Graph {
        let mut before: Vec<Vec<PieceId>> = vec![Vec::new(); pieces.len()];
        for (number, piece) in (0..).zip(&pieces) {
            for next in &piece.next {
                // A switch may name a piece several times.
                if before[next.index()].last() != Some(&PieceId(number)) {
                    before[next.index()].push(PieceId(number));
                }
            }
        }
        Graph { pieces, before, reaches: RefCell::default() }
    }

    /// All pieces.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// A piece.
    pub fn piece(&self, piece: PieceId) -> &Piece {
        &self.pieces[piece.index()]
    }

    /// How the function comes back if nothing synchronizes; what its calls do must be known.
    pub fn free_ways(&self) -> Ways {
        let mut found = Ways::default();
        let mut seen = Pieces::none(self.pieces.len());
        let mut work = vec![PieceId(0)];
        seen.insert(PieceId(0));
        while let Some(piece) = work.pop() {
            let piece = self.piece(piece);
            let free = piece.free(false);
            let leaves = piece.leaves(free);
            found.returns |= leaves.returns;
            found.unwinds |= leaves.unwinds;
            work.extend(piece.successors(free).map(|(_, next)| next).filter(|&next| seen.insert(next)));
        }
        found
    }

    /// Says that the calls at a site come to code that is not cloned.
    pub fn leave_call(&mut self, left: SiteId) {
        for piece in &mut self.pieces {
            if let Act::Calls { site, callee, free } = &mut piece.act {
                if *site == left {
                    (*callee, *free) = (Callee::Elsewhere, Ways::ANY);
                }
            }
        }
        self.reaches.borrow_mut().clear();
    }

    /// Says how the calls of a function come back if they do not synchronize.
    pub fn set_free(&mut self, function: FunctionId, ways: Ways) {
        for piece in &mut self.pieces {
            if let Act::Calls { callee: Callee::Function(callee), free, .. } = &mut piece.act {
                if *callee == function {
                    *free = ways;
                }
            }
        }
        self.reaches.borrow_mut().clear();
    }

    /// The pieces from which the goal can be reached without a synchronization before it, the goal's own among them.
    pub fn reach(&self, is_root: bool, goal: Goal) -> Rc<Pieces> {
        let mut reaches = self.reaches.borrow_mut();
        reaches.entry((is_root, goal)).or_insert_with(|| Rc::new(self.search_back(is_root, goal))).clone()
    }

    fn search_back(&self, is_root: bool, goal: Goal) -> Pieces {
        let mut reached = Pieces::none(self.pieces.len());
        let is_goal = |piece: &Piece| match (goal, piece.act(is_root)) {
            (Goal::Site(wanted), Act::Synchronizes(site) | Act::Calls { site, .. }) => site == wanted,
            (Goal::Site(_), _) => false,
            (Goal::End, _) => piece.leaves(piece.free(is_root)) != Ways::NONE,
        };
        let mut work: Vec<PieceId> =
            (0..).map(PieceId).zip(&self.pieces).filter(|(_, p)| is_goal(p)).map(|(id, _)| id).collect();
        work.iter().for_each(|&piece| {
            reached.insert(piece);
        });
        while let Some(piece) = work.pop() {
            for &before in &self.before[piece.index()] {
                let candidate = self.piece(before);
                let leads = candidate.successors(candidate.free(is_root)).any(|(_, next)| next == piece);
                if leads && reached.insert(before) {
                    work.push(before);
                }
            }
        }
        reached
    }

    /// The synchronizations and calls that can come first after these pieces, in the order in which they are found.
    pub fn first_after(&self, is_root: bool, starts: &[PieceId]) -> Vec<SiteId> {
        let mut seen = Pieces::none(self.pieces.len());
        let mut found = Vec::new();
        let mut work: Vec<PieceId> = starts.iter().copied().filter(|&start| seen.insert(start)).collect();
        while let Some(piece) = work.pop() {
            let piece = self.piece(piece);
            if let Act::Synchronizes(site) | Act::Calls { site, .. } = piece.act(is_root) {
                found.push(site);
            }
            let free = piece.free(is_root);
            work.extend(piece.successors(free).map(|(_, next)| next).filter(|&next| seen.insert(next)));
        }
        found
    }
}
