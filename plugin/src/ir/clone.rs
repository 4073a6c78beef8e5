//! Templates and clones: how a function that is specialized to a schedule is made (Wu, 4.2.1, "Clone"). Which block
//! is cloned how often, and where its edges go, is told as plain data ([`Body`]); nothing is decided here.
//!
//! A [`Template`] is a copy of a function, outside of the module, cut into [`Piece`]s: registers do not live from
//! one piece to the next, so that a piece can be cloned any number of times and its copies be wired in any way. A
//! clone's SSA form is then rebuilt by LLVM. Where Wu renames variables per segment, this does it once a function.
//!
//! Limits ([`Obstacle`]): what LLVM does not let us copy, or what has an identity that copies would share.

use super::bridge::{
    self, lent, node_flags, RawBody, RawMade, RawNode, RawPiece, RawTemplate, RawTrap, Text, NO_EDGE, NO_ITEM,
};
use super::{optional, CallFacts, Form, Function, Global, Inst, Location, Module};
use covsched_core::hooks::{Word, CXX_HOOKS, HOOKS, MARKERS};
use covsched_core::SiteId;
use llvm_plugin::inkwell::llvm_sys::prelude::LLVMValueRef;
use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

const DERIVED_ENTER: &str = "covsched_derived_enter";
const DERIVED_LEAVE: &str = "covsched_derived_leave";
pub(super) const NOT_COVERED: &str = "covsched_not_covered";

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
    /// A call in it, its own or another, may leave the function by an exception.
    pub may_unwind: bool,
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
    /// An indirect call comes to this function; if it would come to another, control goes there instead.
    pub only_if: Option<(Function<'m>, Target)>,
    /// In place of `next[0]`, if the items of the last call that was given the flag were not done. The piece has one
    /// successor, or ends in an invoke (whose normal side it is then).
    pub not_done: Option<Target>,
    /// The flag that it gives or asks is the clone's own, which its caller gave it, and not one for this call.
    pub own_flag: bool,
    /// The thread that its call starts.
    pub start: Option<Start<'m>>,
    /// Exceptions out of its calls that must not leave the function, and where they lead. Its calls are no invokes.
    pub escape: Option<Escape>,
    /// What lands in it, if its piece [lands](Piece::lands).
    pub lands: Lands,
    /// Which of its frame's items its call is, for the call's metadata `!covsched.item`.
    pub item: Option<u32>,
}

/// Which exceptions a copy of a landing pad lands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lands {
    /// As the original.
    Same,
    /// Also those that the original lets pass to a handler: they go the way of those that no clause fits.
    Passing,
    /// All, also those for which there is no handler. None may go on to the caller from there.
    All,
}

/// Exceptions that lead to a trap and do not leave their function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Escape {
    /// Where to.
    pub trap: TrapId,
    /// Which: all, or those that come with the call's flag set, or not set.
    pub only_if_done: Option<bool>,
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
        /// What it was when the schedule was recorded.
        original: Function<'m>,
        /// The function that takes its place.
        function: Function<'m>,
        /// Where control goes if it is another.
        otherwise: TrapId,
    },
    /// The argument points to a pointer to an object whose vtable has it (`std::thread`).
    Object {
        /// Which argument.
        index: u32,
        /// The object's vtable when the schedule was recorded.
        original: Global<'m>,
        /// Its vtable in the clone, from [`super::Module::clone_vtable`].
        vtable: Global<'m>,
        /// Where an object's pointer points to in either, in bytes.
        offset: u64,
        /// Where control goes if the vtable is another.
        otherwise: TrapId,
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
    /// The hook that traps call, from [`super::Module::not_covered`]; needed if there are traps.
    pub not_covered: Option<Function<'m>>,
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
    /// Shared by all threads: nothing in it synchronizes. Or a copy for one call.
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

impl Obstacle {
    fn from_raw(raw: u8) -> Obstacle {
        match raw {
            1 => Obstacle::Declared,
            2 => Obstacle::Naked,
            3 => Obstacle::Coroutine,
            4 => Obstacle::Funclets,
            5 => Obstacle::ReturnsTwice,
            6 => Obstacle::AddressTaken,
            7 => Obstacle::Indirectbr,
            8 => Obstacle::Callbr,
            9 => Obstacle::Musttail,
            10 => Obstacle::Noduplicate,
            11 => Obstacle::Convergent,
            12 => Obstacle::Token,
            13 => Obstacle::SpecialMemory,
            14 => Obstacle::FrameEscape,
            _ => unreachable!("the bridge knows fourteen obstacles"),
        }
    }
}

/// A function made ready to be cloned. The copy that it holds is not in the module, and is gone when it is dropped,
/// which must be before the module is.
pub struct Template<'m> {
    /// The function.
    pub function: Function<'m>,
    /// Its pieces; the first is the entry.
    pub pieces: Vec<Piece<'m>>,
    raw: *mut RawTemplate,
}

impl Drop for Template<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `of`, dropped once; the module lives for `'m`.
        unsafe { bridge::cov_template_drop(self.raw) }
    }
}

extern "C" fn take_piece(context: *mut c_void, raw: *const RawPiece) {
    // SAFETY: `Template::of` gives the context, the bridge the piece and what it lends.
    unsafe {
        let (found, raw) = (&mut *context.cast::<Vec<RawFacts>>(), &*raw);
        found.push(RawFacts {
            call: raw.call,
            next: lent(raw.next, raw.next_count).iter().map(|&piece| PieceId(piece)).collect(),
            end: raw.end,
            lands: raw.lands,
            may_unwind: raw.may_unwind,
        });
    }
}

/// A [`RawPiece`] that is ours.
struct RawFacts {
    call: LLVMValueRef,
    next: Vec<PieceId>,
    end: u8,
    lands: bool,
    may_unwind: bool,
}

/// Sites of a function's calls, found while going through them in order: a hook has its own, another call that of the
/// marker before it.
#[derive(Default)]
struct Sites {
    entered: Option<SiteId>,
}

impl Sites {
    fn of(&mut self, call: &CallFacts<'_>) -> Option<SiteId> {
        let name = call.named.filter(|_| call.form != Form::Return).map(Global::name);
        let name = name.as_deref().unwrap_or_default();
        if name == DERIVED_LEAVE {
            self.entered = None;
            return None;
        }
        if !takes_site(name) {
            return self.entered.take();
        }
        let last = call.inst.argument_count().checked_sub(1)?;
        let site = call.inst.constant_argument(last).map(SiteId);
        self.entered = site.filter(|_| name == DERIVED_ENTER);
        site
    }
}

/// Whether a function is a hook or marker whose last parameter is a site.
fn takes_site(name: &str) -> bool {
    name.starts_with("covsched_")
        && (HOOKS.iter().chain(CXX_HOOKS).any(|hook| hook.symbol == name)
            || MARKERS
                .iter()
                .any(|marker| marker.symbol == name && marker.params.last() == Some(&Word::Site)))
}

impl Target {
    fn raw(self) -> u32 {
        match self {
            Target::Node(node) => node.0 << 1,
            Target::Trap(trap) => trap.0 << 1 | 1,
        }
    }
}

impl<'m> Template<'m> {
    /// Makes a function ready. `matters` says which calls get a piece of their own; it is asked once for each call of
    /// the copy, in order, after locals were promoted.
    pub fn of(
        function: Function<'m>,
        mut matters: impl FnMut(&CallFacts<'m>) -> bool,
    ) -> Result<Template<'m>, Limit> {
        let (mut obstacle, mut at) = (0, null_mut());
        // SAFETY: the function is of a live module.
        let raw = unsafe { bridge::cov_template_new(function.0, &mut obstacle, &mut at) };
        if raw.is_null() {
            let location = optional(at, |raw| Inst(raw, PhantomData))
                .map_or_else(|| function.location(), Inst::location);
            return Err(Limit { obstacle: Obstacle::from_raw(obstacle), location });
        }
        let mut template = Template { function, pieces: Vec::new(), raw };
        // SAFETY: just made.
        let copy = Function(unsafe { bridge::cov_template_copy(raw) }, PhantomData);
        let mut sites = Sites::default();
        let mut chosen: HashMap<LLVMValueRef, (CallFacts<'m>, Option<SiteId>)> = HashMap::new();
        let mut cuts = Vec::new();
        for call in copy.calls() {
            let site = sites.of(&call);
            if call.form != Form::Return && matters(&call) {
                cuts.push(call.inst.0);
                chosen.insert(call.inst.0, (call, site));
            }
        }
        let mut found: Vec<RawFacts> = Vec::new();
        // SAFETY: the calls are the copy's; `take_piece` knows its context.
        unsafe {
            bridge::cov_template_cut(raw, cuts.as_ptr(), cuts.len());
            bridge::cov_template_pieces(raw, take_piece, (&raw mut found).cast());
        }
        template.pieces = found
            .into_iter()
            .map(|facts| {
                let (call, site) =
                    chosen.get(&facts.call).map_or((None, None), |&(call, site)| (Some(call), site));
                Piece {
                    call,
                    site,
                    next: facts.next,
                    leaves: match facts.end {
                        0 => None,
                        1 => Some(Leave::Returns),
                        2 => Some(Leave::Unwinds),
                        _ => unreachable!("the bridge knows three ends"),
                    },
                    lands: facts.lands,
                    may_unwind: facts.may_unwind,
                }
            })
            .collect();
        Ok(template)
    }

    /// An internal function like the original, without a body yet, so that others can call it.
    pub fn declare_clone(&self, name: &str, identity: Identity, takes_flag: bool) -> Function<'m> {
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let (thread, frame) = match identity {
            Identity::Frame { thread, frame } => (number(thread), number(frame)),
            Identity::Free => (-1, -1),
        };
        // SAFETY: the template lives.
        let raw = unsafe { bridge::cov_clone_declare(self.raw, Text::new(name), thread, frame, takes_flag) };
        Function(raw, PhantomData)
    }

    /// Gives a declared clone its body.
    ///
    /// # Panics
    /// If the body does not fit the template: that is a bug of whoever made it.
    pub fn make_clone(&self, clone: Function<'m>, body: &Body<'m>) -> Made {
        self.check(body);
        let mut edges = Vec::new();
        let mut nodes: Vec<RawNode> = body
            .nodes
            .iter()
            .map(|node| {
                let first_edge = index(edges.len());
                edges.extend(node.next.iter().map(|target| target.raw()));
                self.raw_node(node, first_edge)
            })
            .collect();
        for node in &body.sets_flag_at {
            nodes[node.0 as usize].flags |= node_flags::SETS_FLAG;
        }
        let traps: Vec<RawTrap> = body
            .traps
            .iter()
            .map(|trap| RawTrap { expected: trap.expected.0, text: Text::new(&trap.text) })
            .collect();
        let raw = RawBody {
            nodes: nodes.as_ptr(),
            node_count: nodes.len(),
            edges: edges.as_ptr(),
            traps: traps.as_ptr(),
            trap_count: traps.len(),
            not_covered: body.not_covered.map_or(null_mut(), |hook| hook.0),
            entry: body.entry.0,
            only_assume: body.guards == Guards::Assume,
        };
        let mut made = RawMade::default();
        // SAFETY: the body was checked, and all that it lends lives through the call.
        unsafe { bridge::cov_clone_make(self.raw, clone.0, &raw, &mut made) };
        Made { nodes: made.nodes, assumes: made.assumes, guards: made.guards }
    }

    fn raw_node(&self, node: &Node<'m>, first_edge: u32) -> RawNode {
        let mut flags = if node.own_flag { node_flags::OWN_FLAG } else { 0 };
        match node.lands {
            Lands::Same => {}
            Lands::Passing => flags |= node_flags::LANDS_PASSING,
            Lands::All => flags |= node_flags::LANDS_ALL,
        }
        match node.escape.and_then(|escape| escape.only_if_done) {
            None => {}
            Some(true) => flags |= node_flags::ESCAPE_IF_DONE,
            Some(false) => flags |= node_flags::ESCAPE_IF_NOT_DONE,
        }
        let callee = match node.callee {
            Callee::Same => null_mut(),
            Callee::Function(function) => function.0,
            Callee::WithFlag(function) => {
                flags |= node_flags::GIVES_FLAG;
                function.0
            }
        };
        let (start, start_original, start_index, start_offset, start_otherwise) = match node.start {
            None => (null_mut(), null_mut(), 0, 0, NO_EDGE),
            Some(Start::Argument { index, original, function, otherwise }) => {
                (function.0, original.0, index, 0, Target::Trap(otherwise).raw())
            }
            Some(Start::Object { index, original, vtable, offset, otherwise }) => {
                flags |= node_flags::STARTS_OBJECT;
                (vtable.0, original.0, index, offset, Target::Trap(otherwise).raw())
            }
        };
        RawNode {
            callee,
            only_if: node.only_if.map_or(null_mut(), |(function, _)| function.0),
            start,
            start_original,
            start_offset,
            start_index,
            start_otherwise,
            piece: node.piece.0,
            first_edge,
            otherwise: node.only_if.map_or(NO_EDGE, |(_, target)| target.raw()),
            not_done: node.not_done.map_or(NO_EDGE, Target::raw),
            escape: node.escape.map_or(NO_EDGE, |escape| Target::Trap(escape.trap).raw()),
            item: node.item.unwrap_or(NO_ITEM),
            flags,
        }
    }

    /// A copy of the original with locals in registers, for one call of it.
    pub fn copy(&self, name: &str) -> Function<'m> {
        let nodes = self.pieces.iter().enumerate().map(|(number, piece)| Node {
            piece: PieceId(index(number)),
            next: piece.next.iter().map(|next| Target::Node(NodeId(next.0))).collect(),
            callee: Callee::Same,
            only_if: None,
            not_done: None,
            own_flag: false,
            start: None,
            escape: None,
            lands: Lands::Same,
            item: None,
        });
        let body = Body {
            nodes: nodes.collect(),
            traps: Vec::new(),
            entry: NodeId(0),
            guards: Guards::Trap,
            not_covered: None,
            sets_flag_at: Vec::new(),
        };
        let copy = self.declare_clone(name, Identity::Free, false);
        self.make_clone(copy, &body);
        copy
    }

    /// What the bridge relies on.
    fn check(&self, body: &Body<'m>) {
        let piece = |node: &Node<'m>| &self.pieces[node.piece.0 as usize];
        let exists = |target: Target| match target {
            Target::Node(node) => (node.0 as usize) < body.nodes.len(),
            Target::Trap(trap) => (trap.0 as usize) < body.traps.len(),
        };
        assert!((body.entry.0 as usize) < body.nodes.len(), "the entry is no node");
        assert!(body.traps.is_empty() || body.not_covered.is_some(), "traps need their hook");
        for (number, node) in body.nodes.iter().enumerate() {
            let piece_of = piece(node);
            assert_eq!(node.next.len(), piece_of.next.len(), "node {number}: edges");
            let start = node.start.map(|start| match start {
                Start::Argument { otherwise, .. } | Start::Object { otherwise, .. } => {
                    Target::Trap(otherwise)
                }
            });
            let escape = node.escape.map(|escape| Target::Trap(escape.trap));
            let others = node.only_if.map(|(_, target)| target).into_iter().chain(node.not_done);
            let others = others.chain(start).chain(escape);
            assert!(node.next.iter().copied().chain(others).all(exists), "node {number}: targets");
            let directed = node.callee != Callee::Same || node.start.is_some() || node.only_if.is_some();
            assert!(piece_of.call.is_some() || !directed, "node {number}: no call");
            assert!(piece_of.lands || node.lands == Lands::Same, "node {number}: no landing pad");
            let asks = node.escape.is_some_and(|escape| escape.only_if_done.is_some());
            assert!(matches!(node.callee, Callee::WithFlag(_)) || !asks, "node {number}: no flag");
            let is_invoke = piece_of.next.len() == 2 && self.pieces[piece_of.next[1].0 as usize].lands;
            assert!(
                node.not_done.is_none() || is_invoke || node.next.len() == 1,
                "node {number}: nothing to choose"
            );
            for (slot, target) in node.next.iter().enumerate() {
                if let Target::Node(to) = target {
                    let lands = piece(&body.nodes[to.0 as usize]).lands;
                    assert_eq!(lands, is_invoke && slot == 1, "node {number}: landing");
                }
            }
        }
        assert!(body.sets_flag_at.iter().all(|&node| exists(Target::Node(node))), "nodes that set the flag");
    }
}

/// Nodes are counted in 31 bits, as LLVM counts operands.
fn index(len: usize) -> u32 {
    u32::try_from(len).expect("a clone has less than 2^32 edges")
}

impl<'m> Module<'m> {
    /// Declares the hook that traps call; `None` if the program uses its name for something else.
    pub fn not_covered(self) -> Option<Function<'m>> {
        self.declare_marker(NOT_COVERED)
    }

    /// A copy of a vtable in which `method` is `with`; `None` if it is not in it.
    pub fn clone_vtable(
        self,
        vtable: Global<'m>,
        name: &str,
        method: Function<'m>,
        with: Function<'m>,
    ) -> Option<Global<'m>> {
        // SAFETY: all are of this module.
        let raw = unsafe { bridge::cov_clone_vtable(vtable.0, Text::new(name), method.0, with.0) };
        optional(raw, |raw| Global(raw, PhantomData))
    }
}

#[cfg(test)]
mod tests;
