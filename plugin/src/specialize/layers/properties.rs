//! Random functions and random walks through them: what a walk did is accepted, the walk is a path of the product, all
//! nodes lie on accepted paths, and there are no more of them than the segments have pieces.

use super::super::graph::{FunctionId, Leave, Piece};
use super::*;
use crate::epoch::testing::Random;
use std::collections::{HashMap, HashSet};

const PIECES: usize = 14;

fn function(random: &mut Random) -> Vec<Piece> {
    let count = 3 + random.below(PIECES) as u32;
    // A few sites stand in several pieces, as optimizers leave them.
    let site = |number: u32, random: &mut Random| SiteId(if random.below(8) == 0 { 1 } else { u64::from(number) + 2 });
    (0..count)
        .map(|number| {
            let to = |random: &mut Random| random.below(count as usize) as u32;
            match random.below(12) {
                0 | 1 => Piece { leaves: Some(Leave::Returns), ..Piece::plain(&[]) },
                2 => Piece { leaves: Some(Leave::Unwinds), ..Piece::plain(&[]) },
                3..=5 => Piece { act: Act::Synchronizes(site(number, random)), ..Piece::plain(&[to(random)]) },
                6 | 7 => {
                    let is_invoke = random.below(2) == 0;
                    let next = if is_invoke { vec![to(random), to(random)] } else { vec![to(random)] };
                    let free = Ways { returns: random.below(2) == 0, unwinds: random.below(2) == 0 };
                    let callee = if random.below(4) == 0 { Callee::Pointer } else { Callee::Function(FunctionId(0)) };
                    let free = if callee == Callee::Pointer { Ways::ANY } else { free };
                    let act = Act::Calls { site: site(number, random), callee, free };
                    Piece { act, is_invoke, may_unwind: random.below(3) == 0, ..Piece::plain(&next) }
                }
                8 => Piece { may_unwind: true, ..Piece::plain(&[to(random)]) },
                9 => Piece::plain(&[to(random), to(random), to(random)]),
                _ => Piece::plain(&[to(random), to(random)]),
            }
        })
        .collect()
}

/// One run through a function: the pieces with the number of items done before each, and the items.
struct Walk {
    path: Vec<(PieceId, u32)>,
    items: Vec<Step>,
}

/// Walks until the function is left; `None` if that takes too long or control stops.
fn walk(pieces: &[Piece], random: &mut Random) -> Option<Walk> {
    let mut walk = Walk { path: Vec::new(), items: Vec::new() };
    let mut at = PieceId(0);
    for _ in 0..60 {
        walk.path.push((at, walk.items.len() as u32));
        let piece = &pieces[at.index()];
        let ways = match piece.act {
            Act::Synchronizes(site) => {
                walk.items.push(Step { site, done: Ways::RETURNS, ends: false, skipped: Ways::NONE });
                Ways::RETURNS
            }
            Act::Calls { site, free, callee } => {
                if random.below(2) == 0 {
                    let done = if random.below(3) == 0 { Ways::UNWINDS } else { Ways::RETURNS };
                    let skipped = if callee == Callee::Pointer { Ways::NONE } else { free };
                    walk.items.push(Step { site, done, ends: false, skipped });
                    done
                } else {
                    free
                }
            }
            Act::Plain | Act::Exits(_) => Ways::ANY,
        };
        let next: Vec<PieceId> = piece.successors(ways).map(|(_, next)| next).collect();
        let leaves = piece.leaves(ways) != Ways::NONE;
        if leaves && (next.is_empty() || random.below(2) == 0) {
            return Some(walk);
        }
        if next.is_empty() {
            return None;
        }
        at = next[random.below(next.len())];
    }
    None
}

fn edges(node: &Node) -> impl Iterator<Item = NodeId> + '_ {
    node.next.iter().chain(&node.not_done).chain(&node.otherwise).filter_map(|target| match target {
        Target::Node(node) => Some(*node),
        Target::Trap(_) => None,
    })
}

/// The walk is a path: some node of each of its places leads to one of the next.
fn has_path(product: &Product, path: &[(PieceId, u32)]) -> bool {
    let place = |node: NodeId| {
        let node = &product.nodes[node.index()];
        (node.piece, node.layer)
    };
    // A call through a pointer has two nodes in a place; the second is entered from the first.
    let with_second = |nodes: HashSet<NodeId>| {
        let seconds = nodes.iter().filter_map(|node| match product.nodes[node.index()].otherwise {
            Some(Target::Node(second)) => Some(second),
            _ => None,
        });
        seconds.chain(nodes.iter().copied()).collect::<HashSet<NodeId>>()
    };
    let mut here = with_second(HashSet::from([NodeId(0)]));
    if place(NodeId(0)) != path[0] {
        return false;
    }
    for next in &path[1..] {
        let reached = here.iter().flat_map(|node| edges(&product.nodes[node.index()]));
        here = with_second(reached.filter(|&node| place(node) == *next).collect());
        if here.is_empty() {
            return false;
        }
    }
    true
}

/// Pieces from which a goal can be reached, and that can be reached from where the layer begins: by the definition, over
/// all edges of the function.
fn segment_bound(graph: &Graph, steps: &[Step]) -> usize {
    let goals = steps.iter().map(|step| Goal::Site(step.site)).chain([Goal::End]);
    let in_layer = |goal| {
        let reach = graph.reach(false, goal);
        (0..graph.pieces().len() as u32).filter(|&piece| reach.contains(PieceId(piece))).count()
    };
    // Calls through pointers have a second node.
    goals.map(|goal| 2 * in_layer(goal)).sum()
}

#[test]
fn walks_are_accepted_and_nothing_else_is_kept() {
    let mut random = Random::new(7);
    let mut scratch = Scratch::default();
    let (mut walks, mut uncertain, mut longest) = (0, 0, 0);
    for _ in 0..4000 {
        let pieces = function(&mut random);
        let graph = Graph::new(pieces.clone());
        let Some(walk) = walk(&pieces, &mut random) else { continue };
        let frame =
            FrameSteps { steps: &walk.items, is_root: false, is_open: false, is_optional: false };
        let product = product(&graph, frame, &mut scratch).expect("what was walked fits");
        assert!(has_path(&product, &walk.path), "{pieces:?} {:?} {:?}", walk.path, product);
        check_all_nodes(&product, &pieces, &walk.items);
        assert!(product.nodes.len() <= segment_bound(&graph, &walk.items));
        walks += 1;
        uncertain += usize::from(!product.uncertain.is_empty());
        longest = longest.max(walk.items.len());
    }
    // The walks are worth something.
    assert!(walks > 1000 && uncertain > 50 && longest > 15, "{walks} {uncertain} {longest}");
}

/// Every node is entered, and from every node the function is left with all items done.
fn check_all_nodes(product: &Product, pieces: &[Piece], steps: &[Step]) {
    let count = product.nodes.len();
    let mut before: HashMap<NodeId, Vec<usize>> = HashMap::new();
    for (number, node) in product.nodes.iter().enumerate() {
        edges(node).for_each(|to| before.entry(to).or_default().push(number));
    }
    let closure = |starts: Vec<usize>, next: &dyn Fn(usize) -> Vec<usize>| {
        let mut seen: HashSet<usize> = starts.iter().copied().collect();
        let mut work = starts;
        while let Some(node) = work.pop() {
            work.extend(next(node).into_iter().filter(|&node| seen.insert(node)));
        }
        seen
    };
    let entered = closure(vec![0], &|node| edges(&product.nodes[node]).map(NodeId::index).collect());
    assert_eq!(entered.len(), count);
    let accepts = |node: &Node| {
        let piece = &pieces[node.piece.index()];
        match node.role {
            Role::Item => {
                node.layer as usize + 1 == steps.len()
                    && piece.leaves(steps[node.layer as usize].done) != Ways::NONE
            }
            _ if node.layer as usize != steps.len() => false,
            Role::Free => matches!(piece.act, Act::Calls { free, .. } if piece.leaves(free) != Ways::NONE),
            _ => piece.leaves(Ways::ANY) != Ways::NONE,
        }
    };
    let ends = (0..count).filter(|&node| accepts(&product.nodes[node])).collect();
    let leads = closure(ends, &|node| before.get(&NodeId(node as u32)).cloned().unwrap_or_default());
    assert_eq!(leads.len(), count);
    let places: HashSet<_> =
        product.nodes.iter().map(|node| (node.piece, node.layer, node.role == Role::Item)).collect();
    assert_eq!(places.len(), count, "a piece is in a layer once");
}
