//! Strongly connected components (Tarjan), without recursion: a function may have more points than a stack has room.

/// Each node's component, for nodes `0..nodes`. Linear.
pub(super) fn components(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Vec<u32> {
    let (first, targets) = adjacency(nodes, edges);
    let unseen = u32::MAX;
    let mut order = vec![unseen; nodes];
    let mut low = vec![0; nodes];
    let mut component = vec![unseen; nodes];
    let (mut seen, mut found) = (0, 0);
    let mut open: Vec<u32> = Vec::new();
    // A node, and which of its edges is next.
    let mut path: Vec<(u32, u32)> = Vec::new();
    for root in 0..nodes as u32 {
        if order[root as usize] != unseen {
            continue;
        }
        path.push((root, first[root as usize]));
        while let Some(&mut (node, ref mut next)) = path.last_mut() {
            let at = node as usize;
            if order[at] == unseen {
                (order[at], low[at]) = (seen, seen);
                seen += 1;
                open.push(node);
            }
            if *next < first[at + 1] {
                let to = targets[*next as usize];
                *next += 1;
                if order[to as usize] == unseen {
                    path.push((to, first[to as usize]));
                } else if component[to as usize] == unseen {
                    low[at] = low[at].min(order[to as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent as usize] = low[parent as usize].min(low[at]);
            }
            if low[at] == order[at] {
                while let Some(member) = open.pop() {
                    component[member as usize] = found;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            }
        }
    }
    component
}

/// Where each node's targets begin, and the targets.
fn adjacency(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0u32; nodes + 1];
    for (from, _) in edges.clone() {
        first[from as usize + 1] += 1;
    }
    for node in 0..nodes {
        first[node + 1] += first[node];
    }
    let mut free = first.clone();
    let mut targets = vec![0; first[nodes] as usize];
    for (from, to) in edges {
        targets[free[from as usize] as usize] = to;
        free[from as usize] += 1;
    }
    (first, targets)
}

#[cfg(test)]
mod tests {
    use super::components;

    fn of(nodes: usize, edges: &[(u32, u32)]) -> Vec<u32> {
        components(nodes, edges.iter().copied())
    }

    #[test]
    fn nodes_on_a_cycle_share_a_component() {
        let found = of(6, &[(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 5), (5, 3)]);
        assert_eq!(found[1], found[2]);
        assert!(found[3] == found[4] && found[4] == found[5]);
        assert!(found[0] != found[1] && found[1] != found[3]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let edges: Vec<(u32, u32)> = (0..1_000_000).map(|node| (node, (node + 1) % 1_000_000)).collect();
        assert!(of(1_000_000, &edges).iter().all(|&component| component == 0));
        let found = of(1_000_000, &edges[..999_999]);
        assert_ne!(found[0], found[999_999]);
    }

    #[test]
    fn a_cycle_found_late_joins_what_was_open() {
        // 3 closes the outer cycle through 1 after the inner one (2, 4) is known.
        let found = of(5, &[(0, 1), (1, 2), (2, 4), (4, 2), (2, 3), (3, 1)]);
        assert!([1, 2, 3, 4].iter().all(|&node| found[node] == found[1]));
        assert_ne!(found[0], found[1]);
    }
}
