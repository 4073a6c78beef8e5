//! The product of a function's pieces with what one of its calls did: Algorithm 1 (Wu 4.2.1) for one frame.
//!
//! A node is a piece in a layer; the layer is how many of the frame's items are done. Control begins at the entry in
//! layer 0. The piece that does item k leads from layer k to k + 1; any other synchronization leaves the schedule. A
//! call that may synchronize and is not the item stays in its layer: its callee must come back without synchronizing.
//! A call that is the item may also come back without having done it, if the item's piece can be reached again
//! ([`Node::not_done`]): what the derived events alone do not decide, the callee says at run time.
//!
//! The frame is accepted where control leaves the function with all items done, or where the thread ended. Forward
//! search, layer by layer; then what does not lead to acceptance is pruned, backwards over the edges found. So a layer
//! holds the edges of one segment (Wu, Fig. 4.7), not all edges between its pieces, and no piece is in a layer twice.
//!
//! Deviation from the paper: the forward search takes only pieces from which the next item can be reached
//! ([`Graph::reach`], once a site and not once a segment). So the work is linear in the nodes that come out, however
//! large the rest of the function is; pruning is left with sites that stand in several pieces.

use super::graph::{Act, Callee, Goal, Graph, Leave, PieceId, Pieces, Ways};
use covsched_core::SiteId;
use std::rc::Rc;

/// A node's place in [`Product::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One thing that a call of the function did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Where.
    pub site: SiteId,
    /// How control comes back when it is done.
    pub done: Ways,
    /// The thread may have ended in it.
    pub ends: bool,
    /// How control comes back from its callee if that does not synchronize; not at all from a synchronization.
    pub skipped: Ways,
}

/// One call of the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameSteps<'a> {
    /// What it did, in order.
    pub steps: &'a [Step],
    /// It is a thread's own call: its return is a synchronization.
    pub is_root: bool,
    /// The process ended while the thread was in it, and nothing says where: after the last step all is as it was.
    pub is_open: bool,
    /// It may also do nothing and come back ([`Node::not_done`] of its caller).
    pub is_optional: bool,
}

impl FrameSteps<'_> {
    /// Whether control may leave the function when so many of its items are done.
    fn may_leave(&self, done: u32) -> bool {
        done == self.steps.len() as u32 || (done == 0 && self.is_optional)
    }
}

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Nothing that matters.
    Plain,
    /// The item of its layer.
    Item,
    /// It calls a function that may synchronize, and does not.
    Free,
    /// It is behind the end of the schedule, and runs as it is.
    AsIs,
}

/// Which exceptions that would leave the function out of a node's calls leave the schedule with that: it expects more of
/// the function. (Those of an invoke land in it.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncaught {
    /// None, or there are none.
    No,
    /// All.
    All,
    /// Those of a call that did its item.
    IfDone,
    /// Those of a call that did not.
    IfNotDone,
}

/// Where control goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// To a node.
    Node(NodeId),
    /// Out of the schedule; the layer says which item was expected, or, after the last, the function's end.
    Trap(u32),
}

/// A piece in a layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// The piece.
    pub piece: PieceId,
    /// How many items are done before it.
    pub layer: u32,
    /// What it does.
    pub role: Role,
    /// One a successor of the piece. Of an item: when it is done.
    pub next: Vec<Target>,
    /// The same for an item that its callee may not have done; empty if it must have.
    pub not_done: Vec<Target>,
    /// Of an item that is called through a pointer: where control goes if that is another function.
    pub otherwise: Option<Target>,
    /// In an optional frame: from here on its items are being done.
    pub begins: bool,
    /// In an optional frame: they are if this call does its own, which its callee says to the frame's caller, too. (An
    /// exception may come out of it and leave the frame at once.)
    pub passes_on: bool,
    /// Exceptions that must not leave the function here.
    pub uncaught: Uncaught,
    /// The function must not be left in its layer: more is expected of it.
    pub must_stay: bool,
}

/// What a frame's clone is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Product {
    /// The first is the entry.
    pub nodes: Vec<Node>,
    /// How the frame comes back.
    pub ways: Ways,
    /// Its thread may end in it.
    pub ends: bool,
    /// Items that their callee may not have done, by number.
    pub uncertain: Vec<u32>,
    /// Exceptions that landed in it may go on to its caller.
    pub resumes: bool,
}

/// Why a frame does not fit its function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// The item that cannot come next; the number of items if the function cannot end.
    pub item: usize,
    /// What can come instead.
    pub instead: Vec<SiteId>,
}

impl Product {
    /// How many conditional branches have one side left.
    pub fn one_sided(&self) -> usize {
        let sides = |node: &&Node| {
            let live = node.next.iter().filter(|target| matches!(target, Target::Node(_))).count();
            node.next.len() > 1 && live == 1
        };
        self.nodes.iter().filter(sides).count()
    }
}

/// Memory that searches share, so that a small frame of a large function costs what the frame is worth.
#[derive(Debug, Default)]
pub struct Scratch {
    generation: u32,
    now: Marks,
    after: Marks,
    free: Marks,
}

#[derive(Debug, Default)]
struct Marks(Vec<(u32, NodeId)>);

impl Marks {
    fn fit(&mut self, count: usize) {
        if self.0.len() < count {
            self.0.resize(count, (0, NodeId(0)));
        }
    }

    fn get(&self, generation: u32, piece: PieceId) -> Option<NodeId> {
        let (marked, node) = self.0[piece.index()];
        (marked == generation).then_some(node)
    }

    fn set(&mut self, generation: u32, piece: PieceId, node: NodeId) {
        self.0[piece.index()] = (generation, node);
    }
}

/// Which pieces a layer may have.
enum Allowed {
    All,
    These(Rc<Pieces>, Option<Rc<Pieces>>),
}

impl Allowed {
    fn contains(&self, piece: PieceId) -> bool {
        match self {
            Allowed::All => true,
            Allowed::These(first, second) => {
                first.contains(piece) || second.as_ref().is_some_and(|second| second.contains(piece))
            }
        }
    }
}

/// A node while it is not known whether it leads anywhere.
struct Draft {
    piece: PieceId,
    layer: u32,
    role: Role,
    next: Vec<Option<NodeId>>,
    skipped: Vec<Option<NodeId>>,
    otherwise: Option<NodeId>,
    /// Leaves the function, by doing its item if it has one; the thread ends in it.
    leaves: Ways,
    ends: bool,
    /// Leaves the function without its item.
    leaves_skipped: Ways,
}

impl Draft {
    fn accepts(&self) -> bool {
        self.leaves != Ways::NONE || self.ends || self.leaves_skipped != Ways::NONE
    }

    fn edges(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.next.iter().chain(&self.skipped).copied().flatten().chain(self.otherwise)
    }
}

/// The product, or the first item that does not fit.
pub fn product(graph: &Graph, frame: FrameSteps<'_>, scratch: &mut Scratch) -> Result<Product, Misfit> {
    for marks in [&mut scratch.now, &mut scratch.after, &mut scratch.free] {
        marks.fit(graph.pieces().len());
    }
    // Two generations a layer are more than enough; a wrap would need four thousand million.
    if scratch.generation > u32::MAX - 2 * (frame.steps.len() as u32 + 4) {
        *scratch = Scratch::default();
        return product(graph, frame, scratch);
    }
    let mut search = Search { graph, frame, scratch, drafts: Vec::new(), is_over: false };
    search.forward()?;
    let drafts = search.drafts;
    Ok(prune(graph, frame, drafts))
}

struct Search<'a> {
    graph: &'a Graph,
    frame: FrameSteps<'a>,
    scratch: &'a mut Scratch,
    drafts: Vec<Draft>,
    /// The last item may end the frame, or its thread.
    is_over: bool,
}

impl Search<'_> {
    fn allowed(&self, layer: usize) -> Allowed {
        let FrameSteps { steps, is_root, is_open, is_optional } = self.frame;
        let end = || self.graph.reach(is_root, Goal::End);
        match steps.get(layer) {
            Some(step) => {
                let goal = self.graph.reach(is_root, Goal::Site(step.site));
                Allowed::These(goal, (is_optional && layer == 0).then(end))
            }
            None if is_open => Allowed::All,
            None => Allowed::These(end(), None),
        }
    }

    /// Layer by layer: control never goes back to an earlier one.
    fn forward(&mut self) -> Result<(), Misfit> {
        let last = self.frame.steps.len();
        let mut allowed = self.allowed(0);
        let mut arrivals = vec![PieceId(0)];
        let mut work = Vec::new();
        self.scratch.generation += 1;
        self.enter(PieceId(0), 0, &allowed, &mut work);
        for layer in 0..=last {
            if work.is_empty() && !(layer == last && self.is_over) {
                let instead = self.graph.first_after(self.frame.is_root, &arrivals);
                return Err(Misfit { item: layer, instead });
            }
            let allowed_after = self.allowed(layer + 1);
            let mut after = Vec::new();
            arrivals.clear();
            while let Some(node) = work.pop() {
                self.expand(node, &allowed, &mut work, &allowed_after, &mut after, &mut arrivals);
            }
            std::mem::swap(&mut self.scratch.now, &mut self.scratch.after);
            self.scratch.generation += 1;
            (allowed, work) = (allowed_after, after);
        }
        Ok(())
    }

    fn role(&self, piece: PieceId, layer: u32) -> Role {
        let expected = self.frame.steps.get(layer as usize).map(|step| step.site);
        match self.graph.piece(piece).act(self.frame.is_root) {
            _ if expected.is_none() && self.frame.is_open => Role::AsIs,
            Act::Plain | Act::Exits(_) => Role::Plain,
            Act::Synchronizes(site) | Act::Calls { site, .. } if Some(site) == expected => Role::Item,
            _ => Role::Free,
        }
    }

    /// The node of a piece in the layer, made if it is new; `None` if it leads nowhere.
    fn enter(
        &mut self,
        piece: PieceId,
        layer: u32,
        allowed: &Allowed,
        work: &mut Vec<NodeId>,
    ) -> Option<NodeId> {
        let generation = self.scratch.generation;
        if !allowed.contains(piece) {
            return None;
        }
        self.scratch.now.get(generation, piece).or_else(|| {
            let node = self.draft(piece, layer, self.role(piece, layer));
            self.scratch.now.set(generation, piece, node);
            work.push(node);
            Some(node)
        })
    }

    /// The same in the next layer, whose generation is the next.
    fn enter_after(
        &mut self,
        piece: PieceId,
        layer: u32,
        allowed: &Allowed,
        work: &mut Vec<NodeId>,
    ) -> Option<NodeId> {
        std::mem::swap(&mut self.scratch.now, &mut self.scratch.after);
        self.scratch.generation += 1;
        let node = self.enter(piece, layer, allowed, work);
        self.scratch.generation -= 1;
        std::mem::swap(&mut self.scratch.now, &mut self.scratch.after);
        node
    }

    fn draft(&mut self, piece: PieceId, layer: u32, role: Role) -> NodeId {
        let node = NodeId(self.drafts.len() as u32);
        self.drafts.push(Draft {
            piece,
            layer,
            role,
            next: Vec::new(),
            skipped: Vec::new(),
            otherwise: None,
            leaves: Ways::NONE,
            ends: false,
            leaves_skipped: Ways::NONE,
        });
        node
    }

    /// Finds where a node leads.
    fn expand(
        &mut self,
        node: NodeId,
        allowed: &Allowed,
        work: &mut Vec<NodeId>,
        allowed_after: &Allowed,
        after: &mut Vec<NodeId>,
        arrivals: &mut Vec<PieceId>,
    ) {
        let graph = self.graph;
        let Draft { piece: number, layer, role, .. } = self.drafts[node.index()];
        let (piece, last) = (graph.piece(number), self.frame.steps.len() as u32);
        let frame = self.frame;
        let may_leave = |layer: u32| frame.may_leave(layer);
        let slots = vec![None; piece.next.len()];
        if role == Role::Item {
            let step = self.frame.steps[layer as usize];
            let leaves = if layer + 1 == last { piece.leaves(step.done) } else { Ways::NONE };
            let leaves_skipped = if may_leave(layer) { piece.leaves(step.skipped) } else { Ways::NONE };
            let (mut next, mut skipped) = (slots.clone(), slots);
            for (slot, target) in piece.successors(step.done) {
                arrivals.push(target);
                next[slot] = self.enter_after(target, layer + 1, allowed_after, after);
            }
            for (slot, target) in piece.successors(step.skipped) {
                skipped[slot] = self.enter(target, layer, allowed, work);
            }
            let is_pointer = matches!(piece.act, Act::Calls { callee: Callee::Pointer, .. });
            let otherwise = is_pointer.then(|| self.enter_free(number, layer, work));
            let draft = &mut self.drafts[node.index()];
            draft.ends = step.ends && layer + 1 == last;
            (draft.leaves, draft.leaves_skipped) = (leaves, leaves_skipped);
            self.is_over |= draft.ends || leaves != Ways::NONE;
            (draft.next, draft.skipped, draft.otherwise) = (next, skipped, otherwise);
            return;
        }
        let ways = match piece.act {
            Act::Calls { free, .. } if role == Role::Free => free,
            _ => Ways::ANY,
        };
        let leaves = if may_leave(layer) { piece.leaves(ways) } else { Ways::NONE };
        let mut next = slots;
        for (slot, target) in piece.successors(ways) {
            next[slot] = self.enter(target, layer, allowed, work);
        }
        let draft = &mut self.drafts[node.index()];
        draft.ends = role == Role::AsIs;
        (draft.leaves, draft.next) = (leaves, next);
    }

    /// The node of a call through a pointer that is the item for one function only: another is called as it is.
    fn enter_free(&mut self, piece: PieceId, layer: u32, work: &mut Vec<NodeId>) -> NodeId {
        let generation = self.scratch.generation;
        self.scratch.free.get(generation, piece).unwrap_or_else(|| {
            let node = self.draft(piece, layer, Role::Free);
            self.scratch.free.set(generation, piece, node);
            work.push(node);
            node
        })
    }
}

/// The nodes from which acceptance can be reached.
fn live(drafts: &[Draft]) -> Vec<bool> {
    // Predecessors, those of one node after those of the one before.
    let mut starts = vec![0u32; drafts.len() + 1];
    for target in drafts.iter().flat_map(Draft::edges) {
        starts[target.index() + 1] += 1;
    }
    for node in 0..drafts.len() {
        starts[node + 1] += starts[node];
    }
    let mut before = vec![NodeId(0); starts[drafts.len()] as usize];
    let mut filled = starts.clone();
    for (number, draft) in (0..).zip(drafts) {
        for target in draft.edges() {
            before[filled[target.index()] as usize] = NodeId(number);
            filled[target.index()] += 1;
        }
    }
    let mut live: Vec<bool> = drafts.iter().map(Draft::accepts).collect();
    let mut work: Vec<usize> = (0..drafts.len()).filter(|&node| live[node]).collect();
    while let Some(node) = work.pop() {
        for &NodeId(before) in &before[starts[node] as usize..starts[node + 1] as usize] {
            if !std::mem::replace(&mut live[before as usize], true) {
                work.push(before as usize);
            }
        }
    }
    live
}

/// Takes what does not lead to acceptance out.
fn prune(graph: &Graph, frame: FrameSteps<'_>, mut drafts: Vec<Draft>) -> Product {
    let mut live = live(&drafts);
    let mut uncertain: Vec<u32> = Vec::new();
    for node in 0..drafts.len() {
        if drafts[node].role != Role::Item || !live[node] {
            continue;
        }
        let draft = &drafts[node];
        let is_live = |target: &Option<NodeId>| target.is_some_and(|node| live[node.index()]);
        let is_done = draft.leaves != Ways::NONE || draft.ends || draft.next.iter().any(is_live);
        let is_skipped = draft.leaves_skipped != Ways::NONE || draft.skipped.iter().any(is_live);
        if !is_done {
            // To do the item here leads nowhere. Through a pointer any function is called as it is then: the node
            // takes the place of the other one.
            let (next, leaves) = match draft.otherwise {
                Some(free) => {
                    live[free.index()] = false;
                    (drafts[free.index()].next.clone(), drafts[free.index()].leaves)
                }
                None => (draft.skipped.clone(), draft.leaves_skipped),
            };
            let draft = &mut drafts[node];
            (draft.role, draft.next, draft.leaves, draft.otherwise) = (Role::Free, next, leaves, None);
            draft.skipped.clear();
        } else if is_skipped {
            uncertain.push(draft.layer);
        }
    }
    uncertain.sort_unstable();
    uncertain.dedup();

    let is_live = |node: NodeId| live[node.index()];
    let mut numbers = vec![NodeId(0); drafts.len()];
    let kept = (0..drafts.len()).filter(|&node| live[node]);
    kept.zip(0..).for_each(|(node, number)| numbers[node] = NodeId(number));
    let target = |to: Option<NodeId>, layer: u32| match to.filter(|&node| is_live(node)) {
        Some(node) => Target::Node(numbers[node.index()]),
        None => Target::Trap(layer),
    };
    let mut product = Product { nodes: Vec::new(), ways: Ways::NONE, ends: false, uncertain, resumes: false };
    for draft in drafts.iter().zip(&live).filter(|(_, &live)| live).map(|(draft, _)| draft) {
        let is_item = draft.role == Role::Item;
        let is_uncertain = is_item && product.uncertain.binary_search(&draft.layer).is_ok();
        let after = draft.layer + u32::from(is_item);
        let targets = |slots: &[Option<NodeId>], layer| slots.iter().map(|&to| target(to, layer)).collect();
        let node = Node {
            piece: draft.piece,
            layer: draft.layer,
            role: draft.role,
            next: targets(&draft.next, after),
            not_done: if is_uncertain { targets(&draft.skipped, draft.layer) } else { Vec::new() },
            otherwise: draft.otherwise.filter(|_| is_item).map(|free| target(Some(free), draft.layer)),
            begins: frame.is_optional && is_item && draft.layer == 0 && !is_uncertain,
            passes_on: frame.is_optional && is_uncertain && draft.layer == 0,
            uncaught: uncaught(graph, frame, draft, is_uncertain),
            must_stay: draft.role != Role::AsIs && !frame.may_leave(draft.layer),
        };
        // An optional frame that did nothing comes back in other ways, which its caller knows.
        if after == frame.steps.len() as u32 {
            product.ways.returns |= draft.leaves.returns;
            product.ways.unwinds |= draft.leaves.unwinds;
        }
        product.ends |= draft.ends;
        let may_resume = draft.leaves.unwinds || draft.role == Role::AsIs;
        product.resumes |= may_resume && graph.piece(draft.piece).leaves == Some(Leave::Unwinds);
        product.nodes.push(node);
    }
    product
}

/// Which exceptions leave the schedule with the function. A callee that is cloned lets none out that is not expected.
fn uncaught(graph: &Graph, frame: FrameSteps<'_>, draft: &Draft, is_uncertain: bool) -> Uncaught {
    let piece = graph.piece(draft.piece);
    if !piece.may_unwind || piece.is_invoke || draft.role == Role::AsIs {
        return Uncaught::No;
    }
    let is_clone = |is_pointer| match piece.act {
        Act::Calls { callee: Callee::Function(_), .. } => true,
        Act::Calls { callee: Callee::Pointer, .. } => is_pointer,
        _ => false,
    };
    let Some(step) = frame.steps.get(draft.layer as usize).filter(|_| draft.role == Role::Item) else {
        let comes = match piece.act {
            Act::Calls { free, .. } if draft.role == Role::Free => free.unwinds || !is_clone(false),
            _ => true,
        };
        return if comes && !draft.leaves.unwinds { Uncaught::All } else { Uncaught::No };
    };
    let leaves_done = (step.done.unwinds || !is_clone(true)) && !draft.leaves.unwinds && !draft.ends;
    let leaves_skipped = is_uncertain && step.skipped.unwinds && !draft.leaves_skipped.unwinds;
    match (leaves_done, leaves_skipped) {
        (false, false) => Uncaught::No,
        (false, true) => Uncaught::IfNotDone,
        (true, false) if is_uncertain => Uncaught::IfDone,
        (true, _) => Uncaught::All,
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
