//! What specialization did, for `specialize --stats` (DESIGN.md, section 5) and for people.

use covsched_core::schedule::order::Order;
use serde::Serialize;

/// Counts. The keys up to `seconds` are a contract; those of data flow are 0 with `--control-only`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stats {
    /// The order that is assumed.
    #[serde(serialize_with = "order_name")]
    pub order: Order,
    /// Threads whose function was cloned.
    pub threads: usize,
    /// Parts between two synchronizations of a thread, or a function's begin or end.
    pub segments: usize,
    /// Clones.
    pub functions_cloned: usize,
    /// Blocks of cloned functions that are in no clone of a frame.
    pub blocks_removed: usize,
    /// Conditions that are assumed.
    pub assumes: u64,
    /// Values that became constants.
    pub constants: u64,
    /// Branches that became unconditional.
    pub branches_folded: u64,
    /// Loops that became straight.
    pub loops_unrolled: u64,
    /// Rounds of data-flow specialization.
    pub iterations: u64,
    /// Questions to the solver.
    pub solver_queries: u64,
    /// Those that it did not answer.
    pub solver_unknown: u64,
    /// Time.
    pub seconds: Seconds,
    /// Blocks in clones.
    pub blocks: u64,
    /// Branches, switches and calls with a side that leaves the schedule.
    pub guards: u64,
    /// Clones of functions that are called and do not synchronize, among the clones.
    pub free_clones: usize,
    /// Clones that say whether they synchronized, since their caller cannot know.
    pub uncertain_calls: usize,
    /// Synchronizations that each are one instruction now.
    pub synchronizations: usize,
    /// Synchronizations that run as they are: callbacks, constructors, exit handlers, functions with limits.
    pub outside: usize,
    /// Synchronizations that the user left out.
    pub ignored: usize,
    /// Calls of the schedule that run as they are, since what synchronized in them is not what they call by name: a
    /// library called back, or a pointer's function cannot be cloned. The synchronizations are counted as outside.
    pub calls_left: usize,
    /// Calls that have a copy of their function to themselves, so that data flow knows who runs it.
    pub own_copies: usize,
    /// Conditions and equalities that the solver had, of the round that had most.
    pub constraints: usize,
    /// Loads of which it is known what they read, of the round that had most.
    pub loads_defined: usize,
    /// Constants that hold only if the run is covered: the program checks them.
    pub checks: u64,
    /// Questions that were answered without the solver.
    pub fast_answers: u64,
    /// What each round did.
    pub rounds: Vec<Round>,
    /// What could not be cloned, in words.
    pub limits: Vec<String>,
}

/// One round of data flow.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Round {
    /// Loads whose definition was found.
    pub loads_defined: usize,
    /// Conditions and equalities that the solver had.
    pub constraints: usize,
    /// Values that became constants.
    pub constants: u64,
    /// Branches that became unconditional.
    pub branches_folded: u64,
    /// Loops that became straight.
    pub loops_unrolled: u64,
    /// Questions to the solver.
    pub solver_queries: u64,
    /// Time.
    pub seconds: f64,
}

/// Time by kind.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Seconds {
    /// Control flow.
    pub control: f64,
    /// Data flow.
    pub data: f64,
}

fn order_name<S: serde::Serializer>(order: &Order, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(order)
}

impl Stats {
    /// None yet.
    pub fn new(order: Order) -> Stats {
        Stats {
            order,
            threads: 0,
            segments: 0,
            functions_cloned: 0,
            blocks_removed: 0,
            assumes: 0,
            constants: 0,
            branches_folded: 0,
            loops_unrolled: 0,
            iterations: 0,
            solver_queries: 0,
            solver_unknown: 0,
            seconds: Seconds::default(),
            blocks: 0,
            guards: 0,
            free_clones: 0,
            uncertain_calls: 0,
            synchronizations: 0,
            outside: 0,
            ignored: 0,
            calls_left: 0,
            own_copies: 0,
            constraints: 0,
            loads_defined: 0,
            checks: 0,
            fast_answers: 0,
            rounds: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// Takes what a round did.
    pub fn add_round(&mut self, round: Round) {
        self.iterations += 1;
        self.constants += round.constants;
        self.branches_folded += round.branches_folded;
        self.loops_unrolled += round.loops_unrolled;
        self.constraints = self.constraints.max(round.constraints);
        self.loads_defined = self.loads_defined.max(round.loads_defined);
        self.rounds.push(round);
    }

    /// As `--stats` writes it.
    pub fn json(&self) -> String {
        // Numbers and text only: this cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// A few lines for people.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{} synchronizations of {} threads in {} segments; {} clones ({} without synchronization) of {} blocks; \
             {} guards, {} assumes; {} blocks removed; {} uncertain calls",
            self.synchronizations,
            self.threads,
            self.segments,
            self.functions_cloned,
            self.free_clones,
            self.blocks,
            self.guards,
            self.assumes,
            self.blocks_removed,
            self.uncertain_calls,
        );
        if self.outside + self.ignored > 0 {
            text += &format!("; as they are: {} outside of calls, {} ignored", self.outside, self.ignored);
        }
        text += &format!("; {:.3} s", self.seconds.control);
        if self.iterations > 0 {
            text += &format!(
                "\ndata flow: {} constants ({} checked), {} branches folded, {} loops unrolled in {} rounds; {} loads \
                 defined, {} constraints; {} questions to the solver, {} unknown; {:.3} s",
                self.constants,
                self.checks,
                self.branches_folded,
                self.loops_unrolled,
                self.iterations,
                self.loads_defined,
                self.constraints,
                self.solver_queries,
                self.solver_unknown,
                self.seconds.data,
            );
        }
        for limit in &self.limits {
            text += &format!("\nlimit: {limit}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contracts_keys_are_there() {
        let json: serde_json::Value = serde_json::from_str(&Stats::new(Order::Hb).json()).unwrap();
        assert_eq!(json["order"], "hb");
        for key in [
            "threads",
            "segments",
            "functions_cloned",
            "blocks_removed",
            "assumes",
            "constants",
            "branches_folded",
            "loops_unrolled",
            "iterations",
            "solver_queries",
            "solver_unknown",
        ] {
            assert_eq!(json[key], 0, "{key}");
        }
        assert!(json["seconds"]["control"].is_number() && json["seconds"]["data"].is_number());
    }
}
