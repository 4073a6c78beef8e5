//! All clones of a specialized program, as plain data: a product for each frame that is kept, and one a function for
//! calls that do not synchronize.
//!
//! Callees first, so that how a call comes back is known; then callers first: a call that may not have been done makes
//! its callee's clone one that says whether it was.

use super::graph::{Act, Callee, FunctionId, Ways};
use super::items::{Does, KeptFrames};
use super::layers::{product, FrameSteps, Misfit, Product, Role, Scratch, Step};
use super::program::Program;
use covsched_core::schedule::Schedule;
use covsched_core::{Seq, SiteId, ThreadId};
use std::collections::BTreeMap;

/// A clone of a frame's function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameClone {
    /// Its blocks.
    pub product: Product,
    /// It says whether its items were done.
    pub takes_flag: bool,
}

/// All clones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// By kept frame.
    pub frames: Vec<FrameClone>,
    /// Functions that are called without synchronizing, and would if they were called as they are.
    pub free: BTreeMap<FunctionId, Product>,
}

/// The first synchronization that does not fit the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DoesNotFit {
    /// What was expected; `None`: that the function ends.
    pub seq: Option<Seq>,
    /// Whose.
    pub thread: ThreadId,
    /// In which function.
    pub function: FunctionId,
    /// What the function can do there instead.
    pub instead: Vec<SiteId>,
}

/// Plans all clones, or says what does not fit.
pub fn plan(schedule: &Schedule, program: &Program, kept: &KeptFrames) -> Result<Plan, DoesNotFit> {
    let mut planner = Planner { schedule, program, kept, scratch: Scratch::default() };
    let mut found: Vec<Option<Product>> = vec![None; kept.frames.len()];
    let mut worst: Option<(Option<Seq>, usize, Misfit)> = None;
    for place in (0..kept.frames.len()).rev() {
        match planner.frame(place, &found, false) {
            Ok(product) => found[place] = Some(product),
            Err(misfit) => {
                let seq = kept.expected_seq(place, misfit.item);
                let order = |seq: Option<Seq>| seq.unwrap_or(Seq(u64::MAX));
                if worst.as_ref().is_none_or(|(worst, ..)| order(seq) <= order(*worst)) {
                    worst = Some((seq, place, misfit));
                }
            }
        }
    }
    if let Some((_, place, misfit)) = worst {
        let frame = &kept.frames[place];
        let seq = frame.items.get(misfit.item).map(|item| item.first);
        return Err(DoesNotFit { seq, thread: frame.thread, function: frame.function, instead: misfit.instead });
    }
    let mut takes_flag = vec![false; kept.frames.len()];
    for place in 0..kept.frames.len() {
        if takes_flag[place] {
            // It has more paths than before, and none less.
            found[place] = planner.frame(place, &found, true).ok();
        }
        let uncertain = found[place].as_ref().map_or(&[][..], |product| &product.uncertain);
        for &number in uncertain {
            if let Does::Calls(callee) = kept.frames[place].items[number as usize].does {
                kept.places[callee.0 as usize].into_iter().for_each(|callee| takes_flag[callee] = true);
            }
        }
    }
    let frames: Vec<FrameClone> = found
        .into_iter()
        .flatten()
        .zip(takes_flag)
        .map(|(product, takes_flag)| FrameClone { product, takes_flag })
        .collect();
    let free = planner.free(&frames);
    Ok(Plan { frames, free })
}

struct Planner<'a> {
    schedule: &'a Schedule,
    program: &'a Program,
    kept: &'a KeptFrames,
    scratch: Scratch,
}

impl Planner<'_> {
    fn frame(
        &mut self,
        place: usize,
        found: &[Option<Product>],
        is_optional: bool,
    ) -> Result<Product, Misfit> {
        let frame = &self.kept.frames[place];
        let steps: Vec<Step> = frame
            .items
            .iter()
            .map(|item| match item.does {
                Does::Calls(callee) => {
                    let callee = self.kept.places[callee.0 as usize];
                    let product = callee.and_then(|callee| found[callee].as_ref());
                    let function = callee.map(|callee| self.kept.frames[callee].function);
                    // One that does not fit is reported as such.
                    let (done, ends) = product.map_or((Ways::ANY, true), |it| (it.ways, it.ends));
                    Step {
                        site: item.site,
                        // A thread's end runs cleanups on its way out.
                        done: Ways { unwinds: done.unwinds || ends, ..done },
                        ends,
                        skipped: function.map_or(Ways::NONE, |id| self.program.function(id).free),
                    }
                }
                _ => self.kept.step(self.schedule, item),
            })
            .collect();
        let steps = FrameSteps {
            steps: &steps,
            is_root: frame.caller.is_none(),
            is_open: frame.is_open,
            is_optional,
        };
        product(&self.program.function(frame.function).graph, steps, &mut self.scratch)
    }

    /// The clones without synchronization that the clones call, and those that they call.
    fn free(&mut self, frames: &[FrameClone]) -> BTreeMap<FunctionId, Product> {
        let mut free = BTreeMap::new();
        let mut work: Vec<FunctionId> = Vec::new();
        for (clone, frame) in frames.iter().zip(&self.kept.frames) {
            self.add_free_callees(frame.function, &clone.product, &mut work);
        }
        while let Some(id) = work.pop() {
            if free.contains_key(&id) {
                continue;
            }
            let steps = FrameSteps { steps: &[], is_root: false, is_open: false, is_optional: false };
            // A call of a function that cannot do without was pruned.
            if let Ok(product) = product(&self.program.function(id).graph, steps, &mut self.scratch) {
                self.add_free_callees(id, &product, &mut work);
                free.insert(id, product);
            }
        }
        free
    }

    fn add_free_callees(&self, function: FunctionId, product: &Product, work: &mut Vec<FunctionId>) {
        let graph = &self.program.function(function).graph;
        for node in product.nodes.iter().filter(|node| node.role == Role::Free) {
            if let Act::Calls { callee: Callee::Function(callee), .. } = graph.piece(node.piece).act {
                if self.program.function(callee).may_synchronize && work.last() != Some(&callee) {
                    work.push(callee);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
