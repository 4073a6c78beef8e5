//! What becomes of each function.
//!
//! - Every function that can be cloned gets a slow path.
//! - A thread may pause on every back edge, but for loops that run at most [`FEW`] times without anything in them that
//!   pauses; and at the entry of a function that may be called again before it returns: one in a cycle of the
//!   module's call graph, or one that code outside may call and that calls what is not known.
//! - A call in which the thread may pause is followed by a test of the switch. A thread may also pause in a slot, so
//!   that this is true of every function with a slow path.
//! - A thread goes from the slow path back to the fast one where an outermost loop begins anew, so that all loops of the fast path
//!   are entered by their headers only: LLVM optimizes no others. It stays in loops that take no time.
//! - Nothing is tested after a call that only the return follows: no event can come in between, and calls that
//!   the code generator turns into jumps stay such.

use super::collect::{Body, Call, Meaning, Program};
use crate::ir::loom::{Entrance, FunctionPlan, PlannedCall, PlannedCheck, PlannedPad, Treatment};
use crate::ir::Inst;
use crate::parameters::LoomOptions;
use crate::report::limits::{Limit, Limits};
use covsched_core::library;
use covsched_core::loom::abi::name_hash;
use std::collections::{HashMap, HashSet};

/// A loop that runs at most so often is short.
pub const FEW: u32 = 64;

/// A function with what is to be done to it.
pub struct Planned<'m> {
    /// Linkage name.
    pub name: String,
    /// What is to be done.
    pub plan: FunctionPlan<'m>,
    /// Why it has no slow path; empty if it has one.
    pub limit: &'static str,
}

/// What is to be done to a module.
pub struct Plan<'m> {
    /// In the order of their numbers.
    pub functions: Vec<Planned<'m>>,
    /// How many locations there are, without slots.
    pub locations: u32,
    /// Call cells: the hash of the callee's name, and the call's location.
    pub cells: Vec<(u64, u32)>,
    /// The functions that are defined here and seen from other units.
    pub defined: Vec<String>,
    /// Back edges without a check.
    pub unchecked: usize,
    /// What could not be done.
    pub limits: Limits<'m>,
}

impl<'m> Plan<'m> {
    /// Chooses.
    pub fn of(program: &Program<'m>, options: LoomOptions) -> Self {
        let recursive = in_cycles(&program.functions);
        let pausing = may_pause(&program.functions, &recursive, options);
        let mut plan = Plan {
            functions: Vec::new(),
            locations: 0,
            cells: Vec::new(),
            defined: Vec::new(),
            unchecked: 0,
            limits: Limits::default(),
        };
        for (facts, reason) in &program.left_alone {
            plan.limits.note(Limit::LoomLeftAlone, facts.function.location(), &facts.name);
            debug_assert!(!reason.is_empty());
        }
        for (number, body) in program.functions.iter().enumerate() {
            // Who calls a handler is released, or counts as interrupted.
            if !body.facts.internal && entrance(body) != Entrance::Handler {
                plan.defined.push(body.facts.name.clone());
            }
            let planned = plan.choose(number as u32, body, recursive[number], &pausing, options);
            plan.functions.push(planned);
        }
        plan
    }

    fn new_location(&mut self) -> u32 {
        self.locations += 1;
        self.locations - 1
    }

    fn choose(
        &mut self,
        number: u32,
        body: &Body<'m>,
        is_recursive: bool,
        pausing: &Pausing,
        options: LoomOptions,
    ) -> Planned<'m> {
        let name = &body.facts.name;
        if let Some((_, at)) = body.obstacle {
            match at {
                Some(at) => self.limits.at(Limit::LoomNotCloned, at, name),
                None => self.limits.note(Limit::LoomNotCloned, body.facts.function.location(), name),
            }
        }
        let entry = pauses_at_entry(body, is_recursive).then(|| self.new_location());
        let by_inst: HashMap<Inst<'m>, &Call<'m>> = body.calls.iter().map(|call| (call.inst, call)).collect();
        let mut checks = Vec::new();
        let mut pausing_pads = HashSet::new();
        for edge in &body.back_edges {
            let calls = || edge.calls.iter().filter_map(|call| by_inst.get(call).copied());
            let is_short = edge.trips.is_some_and(|trips| trips <= FEW)
                && !calls().any(|call| pausing.in_call(call.meaning));
            if is_short && !options.all_loops {
                self.unchecked += 1;
            } else if edge.to_pad {
                pausing_pads.insert(edge.to);
            } else {
                let location = self.new_location();
                checks.push(PlannedCheck {
                    end: edge.end,
                    to: edge.to,
                    location,
                    to_fast: edge.is_outermost && (edge.nests || calls().next().is_some()),
                    before_end: edge.leaves,
                });
            }
        }
        let pads = body
            .pads
            .iter()
            .map(|&pad| PlannedPad {
                pad,
                location: self.new_location(),
                pauses: pausing_pads.contains(&pad.block()),
            })
            .collect();
        let calls = body.calls.iter().filter_map(|call| self.choose_call(call, pausing)).collect();
        let markers = body.calls.iter().filter(|call| call.is_for_recording).map(|call| call.inst).collect();
        let jumps = body.calls.iter().filter(|call| !call.is_bound && library::jumps_away(&call.callee));
        let jumps = jumps.map(|call| call.inst).collect();
        let plan = FunctionPlan {
            function: body.facts.function,
            number,
            is_cloned: body.obstacle.is_none(),
            entrance: entrance(body),
            entry,
            checks,
            pads,
            calls,
            markers,
            jumps,
        };
        let limit = body.obstacle.map_or("", |(obstacle, _)| obstacle.describe());
        Planned { name: name.clone(), plan, limit }
    }

    fn choose_call(&mut self, call: &Call<'m>, pausing: &Pausing) -> Option<PlannedCall<'m>> {
        let tests = !call.returns_next && pausing.in_call(call.meaning);
        let mut location = 0;
        let treatment = match call.meaning {
            Meaning::Blocks | Meaning::HandlerLike | Meaning::Unknown | Meaning::ReturnsTwice
                if call.is_bound =>
            {
                let may_handle = call.meaning == Meaning::Unknown && call.inst.calls_handler_like();
                if may_handle || matches!(call.meaning, Meaning::Blocks | Meaning::HandlerLike) {
                    self.limits.at(Limit::LoomBoundCall, call.inst, &call.callee);
                }
                return None;
            }
            Meaning::Blocks | Meaning::HandlerLike => {
                location = self.new_location();
                Treatment::Release
            }
            Meaning::Unknown => {
                location = self.new_location();
                self.cells.push((name_hash(&call.callee), location));
                Treatment::ReleaseByCell(self.cells.len() as u32 - 1)
            }
            Meaning::ReturnsTwice => {
                location = self.new_location();
                Treatment::Lands
            }
            Meaning::Own(_) | Meaning::Indirect | Meaning::CallsBack if tests && !call.is_bound => {
                Treatment::Test
            }
            Meaning::Own(_) | Meaning::Indirect | Meaning::CallsBack | Meaning::Nothing => return None,
        };
        Some(PlannedCall { call: call.inst, treatment, location, returns_next: call.returns_next })
    }

    /// Counts, in words.
    pub fn summary(&self) -> String {
        let plans = || self.functions.iter().map(|planned| &planned.plan);
        let cloned = plans().filter(|plan| plan.is_cloned).count();
        let checks: usize = plans().map(|plan| plan.checks.len() + usize::from(plan.entry.is_some())).sum();
        let released = plans().flat_map(|plan| &plan.calls).filter(|call| call.treatment != Treatment::Test);
        format!(
            "loom: {} functions, {cloned} with a slow path, {checks} checks, {} short loops without, {} calls released, \
             {} by name; limits: {}",
            self.functions.len(),
            self.unchecked,
            released.count(),
            self.cells.len(),
            self.limits.summary()
        )
    }
}

fn entrance(body: &Body<'_>) -> Entrance {
    let reached = body.reached;
    if !reached.from_outside {
        Entrance::Inside
    } else if !reached.forwards {
        Entrance::Inline
    } else if reached.is_handler_like && (reached.address_taken || !body.facts.internal) {
        Entrance::Handler
    } else {
        Entrance::Outside
    }
}

fn pauses_at_entry(body: &Body<'_>, is_recursive: bool) -> bool {
    let calls_unknown = body
        .calls
        .iter()
        .any(|call| matches!(call.meaning, Meaning::Unknown | Meaning::Indirect | Meaning::HandlerLike));
    is_recursive || (body.reached.from_outside && calls_unknown)
}

/// In which functions a thread may pause.
struct Pausing(Vec<bool>);

impl Pausing {
    fn in_call(&self, meaning: Meaning) -> bool {
        match meaning {
            Meaning::Own(place) => self.0[place],
            Meaning::Nothing => false,
            _ => true,
        }
    }
}

/// A function pauses by itself, or in what it calls. What another unit's copy may take the place of is not known.
fn may_pause(functions: &[Body<'_>], recursive: &[bool], options: LoomOptions) -> Pausing {
    let mut pausing = Pausing(
        functions
            .iter()
            .zip(recursive)
            .map(|(body, &is_recursive)| {
                body.obstacle.is_none()
                    || !body.facts.is_exact()
                    || pauses_at_entry(body, is_recursive)
                    || !body.pads.is_empty()
                    || body
                        .back_edges
                        .iter()
                        .any(|edge| options.all_loops || edge.trips.is_none_or(|trips| trips > FEW))
            })
            .collect(),
    );
    // Few rounds: a chain of calls that the module's order turns around is short.
    loop {
        let mut changed = false;
        for (place, body) in functions.iter().enumerate() {
            if !pausing.0[place] && body.calls.iter().any(|call| pausing.in_call(call.meaning)) {
                pausing.0[place] = true;
                changed = true;
            }
        }
        if !changed {
            return pausing;
        }
    }
}

/// Which functions can come back to themselves through calls by name in this module (Tarjan's components).
fn in_cycles(functions: &[Body<'_>]) -> Vec<bool> {
    let calls: Vec<Vec<usize>> = functions
        .iter()
        .map(|body| {
            body.calls
                .iter()
                .filter_map(|call| match call.meaning {
                    Meaning::Own(place) => Some(place),
                    _ => None,
                })
                .collect()
        })
        .collect();
    cycles_of(&calls)
}

fn cycles_of(calls: &[Vec<usize>]) -> Vec<bool> {
    const UNSEEN: usize = usize::MAX;
    let (mut order, mut low) = (vec![UNSEEN; calls.len()], vec![0; calls.len()]);
    let (mut open, mut is_open, mut result) =
        (Vec::new(), vec![false; calls.len()], vec![false; calls.len()]);
    let mut next = 0;
    for root in 0..calls.len() {
        if order[root] != UNSEEN {
            continue;
        }
        // The way from the root: a function, and which of its calls comes next.
        let mut way = vec![(root, 0)];
        while let Some(&mut (at, ref mut call)) = way.last_mut() {
            if *call == 0 && order[at] == UNSEEN {
                order[at] = next;
                low[at] = next;
                next += 1;
                open.push(at);
                is_open[at] = true;
            }
            if let Some(&to) = calls[at].get(*call) {
                *call += 1;
                if order[to] == UNSEEN {
                    way.push((to, 0));
                } else if is_open[to] {
                    low[at] = low[at].min(order[to]);
                    result[at] |= to == at;
                }
                continue;
            }
            way.pop();
            if let Some(&(before, _)) = way.last() {
                low[before] = low[before].min(low[at]);
            }
            if low[at] == order[at] {
                let start = open.iter().rposition(|&function| function == at).expect("it was opened");
                let component = open.split_off(start);
                for &function in &component {
                    is_open[function] = false;
                    result[function] |= component.len() > 1;
                }
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_whatever_the_order() {
        // 0 -> 1 -> 2 -> 1, 3 -> 3, 4 -> 0
        let calls = vec![vec![1], vec![2], vec![1], vec![3], vec![0, 3]];
        assert_eq!(cycles_of(&calls), [false, true, true, true, false]);
        assert_eq!(cycles_of(&[vec![2], vec![0], vec![1]]), [true, true, true]);
        assert_eq!(cycles_of(&[vec![], vec![0, 0]]), [false, false]);
    }
}
