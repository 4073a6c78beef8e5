//! Copies of functions for the calls of owned code: what runs in such a copy belongs to one place of one thread.
//!
//! Control-flow specialization clones what synchronizes. A thread's work is often in a function that does not, and that all
//! threads call; in one body, nobody could tell whose accesses are whose. So calls in owned code get copies, callers
//! before what they call, as long as the sizes allow.

use super::places::Places;
use crate::ir::code::{Callee, Code, Op, Summaries};
use crate::ir::Function;
use std::collections::{HashMap, HashSet, VecDeque};

/// Instructions of a function that is copied.
const MOST_OF_ONE: usize = 600;
/// Instructions of all copies.
const MOST_OF_ALL: usize = 40_000;

/// Gives calls in owned code copies of what they call; how many.
pub fn give_own_copies<'m>(code: &Code<'m>, places: &Places<'_, 'm>, summaries: &Summaries) -> usize {
    // Those that are called where the schedule has something are owned already.
    let mut items = HashSet::new();
    for data in &code.insts {
        if let Op::Call(call) = &data.op {
            if call.item.is_some()
                || matches!(call.callee, Callee::Function(callee) if places.is_owned(callee))
            {
                items.insert(data.inst);
            }
        }
    }
    let names: HashMap<Function<'m>, &str> =
        code.functions.iter().map(|data| (data.function, data.name.as_str())).collect();
    let has_body: HashSet<Function<'m>> =
        code.functions.iter().filter(|data| !data.blocks.is_empty()).map(|data| data.function).collect();
    let mut work: VecDeque<(Function<'m>, Vec<Function<'m>>)> =
        places.functions().map(|id| (code.function(id).function, Vec::new())).collect();
    let (mut copies, mut total) = (0, 0);
    while let Some((function, above)) = work.pop_front() {
        for call in function.calls() {
            let Some(callee) = call.callee.filter(|callee| has_body.contains(callee)) else { continue };
            let Some(&name) = names.get(&callee) else { continue };
            // A recursion would have copies without end.
            if items.contains(&call.inst) || summaries.get(name).is_some() || above.contains(&callee) {
                continue;
            }
            let size = callee.size();
            if size > MOST_OF_ONE || total + size > MOST_OF_ALL {
                continue;
            }
            let Some(copy) = call.inst.give_own_copy(&format!("{name}.own.{copies}")) else { continue };
            copies += 1;
            total += size;
            let mut above = above.clone();
            above.push(callee);
            work.push_back((copy, above));
        }
    }
    copies
}
