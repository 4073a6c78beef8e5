//! Templates and clones: how a function that is specialized to a schedule is made (Wu, 4.2.1, "Clone"). Which block
//! is cloned how often, and where its edges go, is told as plain data ([`Body`]); nothing is decided here.
//!
//! A [`Template`] is a copy of a function, outside of the module, cut into [`Piece`]s: registers do not live from
//! one piece to the next, so that a piece can be cloned any number of times and its copies be wired in any way. A
//! clone's SSA form is then rebuilt by LLVM. Where Wu renames variables per segment, this does it once a function.
//!
//! Limits ([`Obstacle`]): what LLVM does not let us copy, or what has an identity that copies would share.

use super::{CallFacts, Function, Global, Location};
use covsched_core::SiteId;

/// A piece's place in [`Template::pieces`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PieceId(pub u32);

/// A node's place in [`Body::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A trap's place in [`Body::traps`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TrapId(pub u32);

/// How a piece leaves the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// It returns.
    Returns,
    /// An exception goes on to the caller (`resume`).
    Unwinds,
}

/// A block of a template.
#[derive(Clone, Debug)]
pub struct Piece<'m> {
    /// The one call that matters in it, which is then all that it does; else it is plain code.
    pub call: Option<CallFacts<'m>>,
    /// The call's site: a hook's last operand, or that of the `covsched_derived_enter` before it.
    pub site: Option<SiteId>,
    /// Successors in the terminator's order (invoke: normal, unwind; switch: default first).
    pub next: Vec<PieceId>,
    /// How it leaves the function; `None` if it goes on, or nowhere if it has no successors.
    pub leaves: Option<Leave>,
    /// It is a landing pad and nothing else.
    pub lands: bool,
}

/// A copy of a piece in a clone.
#[derive(Clone, Debug)]
pub struct Node<'m> {
    /// What is copied.
    pub piece: PieceId,
    /// One for each of the piece's successors.
    pub next: Vec<Target>,
    /// What its call calls.
    pub callee: Callee<'m>,
    /// An indirect call comes to this function or to the trap.
    pub only_if: Option<(Function<'m>, TrapId)>,
    /// In place of `next[0]`, if the items of the last call that was given the flag were not done. The piece has one
    /// successor, or ends in an invoke (whose normal side it is then).
    pub not_done: Option<Target>,
    /// The thread that its call starts.
    pub start: Option<Start<'m>>,
}

/// Where an edge goes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// To a node. From an invoke's unwind side to one whose piece [lands](Piece::lands).
    Node(NodeId),
    /// Out of the schedule.
    Trap(TrapId),
}

/// What a node's call calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Callee<'m> {
    /// What the original calls.
    Same,
    /// A clone.
    Function(Function<'m>),
    /// A clone that was declared with a flag.
    WithFlag(Function<'m>),
}

/// How a call that creates a thread is told the thread's function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start<'m> {
    /// It is this argument (`pthread_create`, `thrd_create`).
    Argument {
        /// Which.
        index: u32,
        /// The function.
        function: Function<'m>,
    },
    /// The argument points to a pointer to an object whose vtable has it (`std::thread`).
    Object {
        /// Which argument.
        index: u32,
        /// The object's vtable in the clone, from [`super::Module::clone_vtable`].
        vtable: Global<'m>,
        /// Where an object's pointer points to in it, in bytes.
        offset: u64,
    },
}

/// What is said where a run leaves the schedule.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Trap {
    /// The synchronization that was expected.
    pub expected: SiteId,
    /// In words: `OP at FILE:LINE (FUNCTION)`.
    pub text: String,
}

/// What becomes of branches that have one live side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guards {
    /// They stay, and the live side assumes what it now knows.
    Trap,
    /// The condition is assumed and not checked: for analyses only.
    Assume,
}

/// A clone's blocks.
#[derive(Clone, Debug)]
pub struct Body<'m> {
    /// Its nodes; those that the entry does not reach are left out.
    pub nodes: Vec<Node<'m>>,
    /// Its traps.
    pub traps: Vec<Trap>,
    /// Where it begins.
    pub entry: NodeId,
    /// What becomes of branches with one live side.
    pub guards: Guards,
    /// The hook that traps call, from [`super::Module::not_covered`].
    pub not_covered: Function<'m>,
    /// The nodes that begin with setting the flag, in a clone that takes one.
    pub sets_flag_at: Vec<NodeId>,
}

/// Which clone a function is, for its metadata `!covsched.clone`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Of a thread's frame.
    Frame {
        /// The thread's number.
        thread: u32,
        /// The frame's number in the thread.
        frame: u32,
    },
    /// Shared by all threads: nothing in it synchronizes.
    Free,
}

/// What making a clone did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Made {
    /// Nodes that were cloned.
    pub nodes: u64,
    /// Conditions that are assumed.
    pub assumes: u64,
    /// Branches, switches and calls with a side that goes to a trap.
    pub guards: u64,
}

/// Why a function has no template.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Obstacle {
    /// It is a declaration.
    Declared,
    /// `naked`.
    Naked,
    /// A coroutine that is not split yet.
    Coroutine,
    /// Exception funclets.
    Funclets,
    /// setjmp and its kin.
    ReturnsTwice,
    /// The address of a label is taken.
    AddressTaken,
    /// A computed goto.
    Indirectbr,
    /// `asm goto`.
    Callbr,
    /// A `musttail` call.
    Musttail,
    /// A call that must not be copied.
    Noduplicate,
    /// A call that must not depend on more conditions.
    Convergent,
    /// A token that is used in another block.
    Token,
    /// `swifterror` or `inalloca` memory.
    SpecialMemory,
    /// Its frame is known to others (`llvm.localescape`).
    FrameEscape,
}

/// A function that cannot be cloned, and where that is seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Why.
    pub obstacle: Obstacle,
    /// Where; unknown without debug info.
    pub location: Location,
}

impl Obstacle {
    /// In words, after "not specialized: ".
    pub fn describe(self) -> &'static str {
        match self {
            Obstacle::Declared => "its code is not in the program's bitcode",
            Obstacle::Naked => "the function is naked",
            Obstacle::Coroutine => "the function is a coroutine",
            Obstacle::Funclets => "the function has exception funclets",
            Obstacle::ReturnsTwice => "the function calls setjmp or another function that returns twice",
            Obstacle::AddressTaken => "the address of a label is taken",
            Obstacle::Indirectbr => "it has a computed goto (indirectbr)",
            Obstacle::Callbr => "it has an asm goto (callbr)",
            Obstacle::Musttail => "it has a musttail call",
            Obstacle::Noduplicate => "it has a call that must not be duplicated (noduplicate)",
            Obstacle::Convergent => "it has a convergent call",
            Obstacle::Token => "it has a token that is used in another block",
            Obstacle::SpecialMemory => "it has swifterror or inalloca memory",
            Obstacle::FrameEscape => "other functions reach into its frame (llvm.localescape)",
        }
    }
}

/// A function made ready to be cloned. The copy that it holds is not in the module, and is gone when it is dropped.
pub struct Template<'m> {
    /// The function.
    pub function: Function<'m>,
    /// Its pieces; the first is the entry.
    pub pieces: Vec<Piece<'m>>,
}

// The operations, in the making; their signatures stand:
//
// impl<'m> Template<'m> {
//     /// `matters` says which calls get a piece of their own: asked once for each call of the copy, in order, after
//     /// locals were promoted.
//     pub fn of(function: Function<'m>, matters: impl FnMut(&CallFacts<'m>) -> bool) -> Result<Template<'m>, Limit>;
//     /// An empty function, so that others can call it; give it a body with `make_clone`.
//     pub fn declare_clone(&self, name: &str, identity: Identity, takes_flag: bool) -> Function<'m>;
//     pub fn make_clone(&self, into: Function<'m>, body: &Body<'m>) -> Made;
// }
// impl<'m> Module<'m> {
//     /// Declares `covsched_not_covered`; `None` if the program uses the name for something else.
//     pub fn not_covered(self) -> Option<Function<'m>>;
//     /// A copy of a vtable in which `method` is `with`; `None` if it is not in it, or it is no vtable.
//     pub fn clone_vtable(self, vtable: Global<'m>, name: &str, method: Function<'m>, with: Function<'m>) -> Option<Global<'m>>;
// }
