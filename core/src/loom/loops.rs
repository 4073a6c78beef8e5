//! How many loops are around each block of a graph that LLVM's LoopInfo does not see as one: in a function with two
//! copies of its blocks, loops are entered at several places.
//!
//! A loop is a strongly connected component; the loops inside it are those of what is left without its header. On
//! natural loops that is what LoopInfo says.

/// Loops around each block. Blocks are numbered so that a loop's header comes first of its blocks.
pub fn depths(next: &[Vec<usize>]) -> Vec<u32> {
    let mut depths = vec![0; next.len()];
    // Sets of blocks whose loops are to be found.
    let mut open: Vec<Vec<usize>> = vec![(0..next.len()).collect()];
    let mut set_of = vec![0; next.len()];
    let mut sets = 0;
    while let Some(blocks) = open.pop() {
        sets += 1;
        blocks.iter().for_each(|&block| set_of[block] = sets);
        for mut component in components(next, &blocks, |block| set_of[block] == sets) {
            let is_loop = component.len() > 1 || next[component[0]].contains(&component[0]);
            if !is_loop {
                continue;
            }
            component.iter().for_each(|&block| depths[block] += 1);
            component.sort_unstable();
            component.remove(0);
            open.push(component);
        }
    }
    depths
}

/// The strongly connected components of a set of blocks: Tarjan's algorithm with a stack of its own.
fn components(next: &[Vec<usize>], blocks: &[usize], is_in: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let mut index = std::collections::HashMap::<usize, (usize, usize, bool)>::new();
    let mut found = Vec::new();
    let mut stack = Vec::new();
    let mut calls: Vec<(usize, usize)> = Vec::new();
    for &root in blocks {
        if index.contains_key(&root) {
            continue;
        }
        calls.push((root, NEW));
        while let Some((block, edge)) = calls.pop() {
            let edge = if edge == NEW {
                let number = index.len();
                index.insert(block, (number, number, true));
                stack.push(block);
                0
            } else {
                // Back from the edge before this one.
                let low = index[&next[block][edge - 1]].1;
                let entry = index.get_mut(&block).expect("it was entered");
                entry.1 = entry.1.min(low);
                edge
            };
            let mut descends = false;
            for (number, &to) in next[block].iter().enumerate().skip(edge) {
                if !is_in(to) {
                    continue;
                }
                match index.get(&to) {
                    None => {
                        calls.push((block, number + 1));
                        calls.push((to, NEW));
                        descends = true;
                        break;
                    }
                    Some(&(at, _, true)) => {
                        let entry = index.get_mut(&block).expect("it was entered");
                        entry.1 = entry.1.min(at);
                    }
                    Some(_) => {}
                }
            }
            if descends || index[&block].0 != index[&block].1 {
                continue;
            }
            let start = stack.iter().rposition(|&other| other == block).expect("it is on the stack");
            let component = stack.split_off(start);
            for member in &component {
                index.get_mut(member).expect("it was entered").2 = false;
            }
            found.push(component);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::depths;

    #[test]
    fn nested_loops_and_what_is_between_them() {
        // 0 -> 1 -> 2 -> 3 -> 2, 3 -> 4 -> 1, 4 -> 5
        let next = [vec![1], vec![2], vec![3], vec![2, 4], vec![1, 5], vec![]];
        assert_eq!(depths(&next), [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn a_block_that_repeats_itself_and_a_cycle_with_two_entries() {
        assert_eq!(depths(&[vec![1], vec![1, 2], vec![]]), [0, 1, 0]);
        assert_eq!(depths(&[vec![1, 2], vec![2], vec![1, 3], vec![]]), [0, 1, 1, 0]);
        assert!(depths(&[]).is_empty());
    }

    #[test]
    fn two_loops_in_one() {
        let next = [vec![1], vec![2, 3], vec![2, 1], vec![3, 4], vec![1, 5], vec![]];
        assert_eq!(depths(&next), [0, 1, 2, 2, 1, 0]);
    }
}
