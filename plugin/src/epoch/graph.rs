//! Strongly connected components of small graphs of numbers (Tarjan), without recursion: a program's call graph can
//! be deep. LLVM's own iterator works on LLVM's graphs only.

/// A largest set of nodes that all reach each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// Its nodes, ascending.
    pub nodes: Vec<usize>,
    /// There are several, or one with an edge to itself.
    pub is_cycle: bool,
}

/// The components of a graph with nodes `0..count`: each after those that it reaches.
pub fn components(count: usize, next: impl Fn(usize) -> Vec<usize>) -> Vec<Component> {
    const UNSEEN: usize = usize::MAX;
    let mut number = vec![UNSEEN; count];
    let mut lowest = vec![UNSEEN; count];
    let mut is_open = vec![false; count];
    let (mut open, mut found, mut counter) = (Vec::new(), Vec::new(), 0);
    for root in 0..count {
        if number[root] != UNSEEN {
            continue;
        }
        // Nodes on the way, each with its edges and how many of them are done.
        let mut way: Vec<(usize, Vec<usize>, usize)> = Vec::new();
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                number[node] = counter;
                lowest[node] = counter;
                counter += 1;
                open.push(node);
                is_open[node] = true;
                way.push((node, next(node), 0));
            }
            let Some((node, edges, done)) = way.last_mut() else { break };
            let node = *node;
            if let Some(&to) = edges.get(*done) {
                *done += 1;
                if number[to] == UNSEEN {
                    enter = Some(to);
                } else if is_open[to] {
                    lowest[node] = lowest[node].min(number[to]);
                }
                continue;
            }
            let to_itself = edges.contains(&node);
            way.pop();
            if let Some((before, _, _)) = way.last() {
                lowest[*before] = lowest[*before].min(lowest[node]);
            }
            if lowest[node] == number[node] {
                let at = open.iter().rposition(|&other| other == node).unwrap_or(0);
                let mut nodes = open.split_off(at);
                nodes.iter().for_each(|&node| is_open[node] = false);
                nodes.sort_unstable();
                let is_cycle = nodes.len() > 1 || to_itself;
                found.push(Component { nodes, is_cycle });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(edges: &[&[usize]]) -> Vec<(Vec<usize>, bool)> {
        let found = components(edges.len(), |node| edges[node].to_vec());
        found.into_iter().map(|component| (component.nodes, component.is_cycle)).collect()
    }

    #[test]
    fn what_is_reached_comes_first() {
        assert_eq!(of(&[&[1], &[2], &[]]), [(vec![2], false), (vec![1], false), (vec![0], false)]);
    }

    #[test]
    fn cycles_are_one_component() {
        let edges: &[&[usize]] = &[&[1], &[2], &[0, 3], &[4], &[4], &[5, 0]];
        assert_eq!(of(edges), [(vec![4], true), (vec![3], false), (vec![0, 1, 2], true), (vec![5], true)]);
    }

    #[test]
    fn two_cycles_with_a_common_node_are_one() {
        assert_eq!(of(&[&[1, 2], &[0], &[0]]), [(vec![0, 1, 2], true)]);
        assert_eq!(of(&[]), []);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let count = 200_000;
        let found = components(count, |node| if node + 1 < count { vec![node + 1] } else { vec![0] });
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].nodes.len(), count);
    }
}
