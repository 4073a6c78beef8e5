//! What random programs have in them: a test that never saw a barrier says nothing about barriers.

use super::draft::{Deed, Draft, End};
use crate::epoch::graph::components;
use crate::epoch::program::{Action, BlockId, Flow, Loop, Program};
use covsched_core::hooks::Effect;
use std::collections::BTreeMap;

/// Features by name, with how often they were met.
#[derive(Default)]
pub(super) struct Features(BTreeMap<&'static str, usize>);

impl Features {
    fn add(&mut self, feature: &'static str, count: usize) {
        *self.0.entry(feature).or_default() += count;
    }

    /// Counts a module's.
    pub fn count(&mut self, draft: &Draft, program: &Program<'_>) {
        for function in &draft.functions {
            for block in &function.blocks {
                block.steps.iter().for_each(|deed| self.count_deed(deed));
                match &block.end {
                    End::Switch(_) => self.add("switches", 1),
                    End::Invoke(deed, ..) => {
                        self.add("invokes", 1);
                        self.count_deed(deed);
                    }
                    End::Resume => self.add("resumes", 1),
                    End::Stop => self.add("calls that never return", 1),
                    End::Spin(..) => self.add("volatile conditions", 1),
                    End::Jump(_) | End::Branch(..) | End::Return => {}
                }
            }
        }
        for flow in &program.functions {
            self.add("functions", 1);
            self.add("irreducible cycles", flow.irreducible.len());
            flow.loops.iter().for_each(|natural| self.count_loop(flow, natural));
        }
        self.count_recursion(program);
    }

    fn count_deed(&mut self, deed: &Deed) {
        let feature = match deed {
            Deed::Marker => "markers by hand",
            Deed::Call(_) => "direct calls",
            Deed::Pointer => "indirect calls",
            Deed::Unknown => "calls of code outside",
            Deed::Callback(_) => "callbacks",
            Deed::Sync(op) => match op.effect() {
                Effect::Wait => "waits",
                Effect::TimedWait => "timed waits",
                Effect::Create => "creates",
                Effect::Join => "joins",
                Effect::Signal | Effect::Broadcast => "notifications",
                Effect::Arrive => "barriers",
                Effect::EndThread => "thread ends",
                _ => "locks, unlocks, posts, tries",
            },
        };
        self.add(feature, 1);
    }

    fn count_loop(&mut self, flow: &Flow<'_>, natural: &Loop) {
        let inside = |id: &BlockId| natural.blocks.contains(id);
        let next = |id: &BlockId| &flow.blocks[id.0 as usize].next;
        let exits = natural.blocks.iter().filter(|id| !next(id).iter().all(inside)).count();
        let leaves = |id: &BlockId| !next(id).iter().all(inside);
        self.add("loops", 1);
        self.add("nested loops", usize::from(natural.parent.is_some()));
        self.add("loops with several exits", usize::from(exits > 1));
        self.add("loops without exit", usize::from(exits == 0));
        self.add("loops with several latches", usize::from(natural.latches.len() > 1));
        if leaves(&natural.header) {
            self.add("while loops", 1);
        } else if natural.latches.iter().any(leaves) {
            self.add("do-while loops", 1);
        }
    }

    fn count_recursion(&mut self, program: &Program<'_>) {
        let calls = |f: usize| {
            let steps = program.functions[f].blocks.iter().flat_map(|block| &block.steps);
            steps
                .filter_map(|step| match &step.action {
                    Action::Calls { functions, .. } => Some(functions.iter().map(|f| f.0 as usize)),
                    _ => None,
                })
                .flatten()
                .collect()
        };
        for component in components(program.functions.len(), calls).iter().filter(|found| found.is_cycle) {
            let is_mutual = component.nodes.len() > 1;
            self.add(if is_mutual { "mutual recursions" } else { "recursive functions" }, 1);
        }
    }

    /// Everything that must be there, is there.
    pub fn assert_each_at_least(&self, count: usize) {
        const ALL: &[&str] = &[
            "barriers",
            "callbacks",
            "calls of code outside",
            "calls that never return",
            "creates",
            "direct calls",
            "do-while loops",
            "indirect calls",
            "invokes",
            "irreducible cycles",
            "joins",
            "loops with several exits",
            "loops with several latches",
            "loops without exit",
            "mutual recursions",
            "nested loops",
            "notifications",
            "recursive functions",
            "resumes",
            "switches",
            "thread ends",
            "timed waits",
            "volatile conditions",
            "waits",
            "while loops",
        ];
        for feature in ALL {
            let seen = self.0.get(feature).copied().unwrap_or_default();
            assert!(seen >= count, "{seen} {feature}: at least {count} are expected");
        }
    }

    pub fn show(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(|(name, count)| format!("  {count:6} {name}")).collect();
        lines.join("\n")
    }
}
