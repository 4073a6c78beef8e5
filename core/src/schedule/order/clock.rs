//! Vector clocks that share what they have in common.
//!
//! A clock says of each chain (a thread, or a barrier's gathers) how many of its nodes are known. It is a tree of fixed
//! height with the counts in its leaves; trees are never changed while shared, so that a snapshot costs one
//! reference and what two clocks have in common is neither copied nor looked at. Missing parts are zeros. With few
//! threads a clock is one leaf; with 20,000 short threads, of which each knows few others at first hand, a join
//! walks only where the two differ. (Tree clocks, Mathur et al., ASPLOS 2022, join as fast, but have no cheap
//! snapshots, and a snapshot is kept for each node that can still be the source of an edge.)

use std::rc::Rc;

/// Counts of a leaf: four cache lines, joined by vector instructions.
const LEAF: usize = 64;
/// Children of an inner node.
const FAN: usize = 16;

#[derive(Clone)]
enum Tree {
    Leaf(Rc<[u32; LEAF]>),
    Fork(Rc<[Option<Tree>; FAN]>),
}

/// How many nodes of each chain are known.
#[derive(Clone)]
pub(super) struct Clock {
    root: Option<Tree>,
    /// Chains below one child of the root; 0 if the root is a leaf.
    span: usize,
}

impl Clock {
    /// Knows nothing, of up to `chains` chains.
    pub(super) fn new(chains: usize) -> Clock {
        let (mut span, mut covered) = (0, LEAF);
        while covered < chains {
            (span, covered) = (covered, covered * FAN);
        }
        Clock { root: None, span }
    }

    /// How many nodes of a chain are known.
    pub(super) fn get(&self, chain: usize) -> u32 {
        let (mut tree, mut span, mut rest) = (self.root.as_ref(), self.span, chain);
        loop {
            match tree {
                None => return 0,
                Some(Tree::Leaf(counts)) => return counts[rest],
                Some(Tree::Fork(children)) => {
                    tree = children[rest / span].as_ref();
                    (rest, span) = (rest % span, inner_span(span));
                }
            }
        }
    }

    /// Sets what is known of a chain.
    pub(super) fn set(&mut self, chain: usize, count: u32) {
        let (mut tree, mut span, mut rest) = (&mut self.root, self.span, chain);
        loop {
            let fresh = || match span {
                0 => Tree::Leaf(Rc::new([0; LEAF])),
                _ => Tree::Fork(Rc::new([const { None }; FAN])),
            };
            match tree.get_or_insert_with(fresh) {
                Tree::Leaf(counts) => {
                    Rc::make_mut(counts)[rest] = count;
                    return;
                }
                Tree::Fork(children) => {
                    tree = &mut Rc::make_mut(children)[rest / span];
                    (rest, span) = (rest % span, inner_span(span));
                }
            }
        }
    }

    /// Learns what another clock knows.
    pub(super) fn join(&mut self, other: &Clock) {
        self.root = join_parts(&self.root, &other.root);
    }

    /// Whether the two are one and the same. What a join adds nothing to stays the same.
    pub(super) fn is_same(&self, other: &Clock) -> bool {
        same(&self.root, &other.root)
    }
}

/// The span one level below.
fn inner_span(span: usize) -> usize {
    if span <= LEAF {
        0
    } else {
        span / FAN
    }
}

fn join_parts(a: &Option<Tree>, b: &Option<Tree>) -> Option<Tree> {
    match (a, b) {
        (Some(a), Some(b)) => Some(join(a, b)),
        (known, None) | (None, known) => known.clone(),
    }
}

/// The maxima; one of the two themselves where it has them all, so that clocks go on sharing.
fn join(a: &Tree, b: &Tree) -> Tree {
    match (a, b) {
        (Tree::Leaf(x), Tree::Leaf(y)) => {
            if Rc::ptr_eq(x, y) {
                return a.clone();
            }
            let mut most = **x;
            for (most, y) in most.iter_mut().zip(y.iter()) {
                *most = (*most).max(*y);
            }
            if most == **x {
                a.clone()
            } else if most == **y {
                b.clone()
            } else {
                Tree::Leaf(Rc::new(most))
            }
        }
        (Tree::Fork(x), Tree::Fork(y)) => {
            if Rc::ptr_eq(x, y) {
                return a.clone();
            }
            let joined: [Option<Tree>; FAN] = std::array::from_fn(|i| join_parts(&x[i], &y[i]));
            let is = |all: &[Option<Tree>; FAN]| all.iter().zip(&joined).all(|(one, other)| same(one, other));
            if is(x) {
                a.clone()
            } else if is(y) {
                b.clone()
            } else {
                Tree::Fork(Rc::new(joined))
            }
        }
        // Clocks of one walk have one height.
        (Tree::Leaf(_), fork) | (fork, Tree::Leaf(_)) => fork.clone(),
    }
}

fn same(a: &Option<Tree>, b: &Option<Tree>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Tree::Leaf(a)), Some(Tree::Leaf(b))) => Rc::ptr_eq(a, b),
        (Some(Tree::Fork(a)), Some(Tree::Fork(b))) => Rc::ptr_eq(a, b),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What happens to a set of clocks: a count is set, a clock is joined into another, or copied over it.
    #[derive(Clone, Debug)]
    enum Change {
        Set(usize, usize, u32),
        Join(usize, usize),
        Copy(usize, usize),
    }

    fn changes(chains: usize) -> impl Strategy<Value = Vec<Change>> {
        let change = prop_oneof![
            (0..4usize, 0..chains, 1..9u32)
                .prop_map(|(clock, chain, count)| Change::Set(clock, chain, count)),
            (0..4usize, 0..4usize).prop_map(|(into, from)| Change::Join(into, from)),
            (0..4usize, 0..4usize).prop_map(|(into, from)| Change::Copy(into, from)),
        ];
        prop::collection::vec(change, 0..80)
    }

    proptest! {
        #[test]
        fn clocks_are_vectors_of_counts(
            (chains, changes) in prop_oneof![Just(1usize), Just(64), Just(65), Just(1024), Just(1025), Just(20000)]
                .prop_flat_map(|chains| (Just(chains), changes(chains)))
        ) {
            let mut clocks: [Clock; 4] = std::array::from_fn(|_| Clock::new(chains));
            let mut vectors: [Vec<u32>; 4] = std::array::from_fn(|_| vec![0; chains]);
            for change in changes {
                match change {
                    Change::Set(clock, chain, count) => {
                        clocks[clock].set(chain, count);
                        vectors[clock][chain] = count;
                    }
                    Change::Join(into, from) => {
                        let other = clocks[from].clone();
                        clocks[into].join(&other);
                        let other = vectors[from].clone();
                        vectors[into].iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(b));
                    }
                    Change::Copy(into, from) => {
                        clocks[into] = clocks[from].clone();
                        vectors[into] = vectors[from].clone();
                    }
                }
            }
            for (clock, vector) in clocks.iter().zip(&vectors) {
                let counts: Vec<u32> = (0..chains).map(|chain| clock.get(chain)).collect();
                prop_assert_eq!(&counts, vector);
            }
        }
    }
}
