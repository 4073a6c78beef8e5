//! What executes before what, and what may execute between: the questions of Algorithm 2 (Wu 4.2.2; `MayBeKilled` asks
//! [`Places::between`]), answered for executions, so that loops and calls need no exception.
//!
//! A place is lifted to a function further up by taking the calls that lead down to it. Two places of one thread meet in
//! the deepest function that has both below it; there they are two different instructions, or one is below the other.
//!
//! # Why `between` speaks of the most recent execution
//!
//! Let `d` dominate `u` ([`Places::dominates`]): they meet in a function F, at `d'` and `u'`, and `d'` dominates `u'`. Take
//! an execution of `u`. It lies in one call of F, in which `d'` has executed and come back before; and whenever `d'` has
//! come back, `d` has executed in it, since `d` dominates all returns on the way up. So the most recent execution of `d`
//! lies in this call of F, and from it to `u` control goes
//! 1. from `d` up to the return of the callee that `d'` calls, without passing `d` again (unless `d'` is `d`),
//! 2. in F from `d'` to `u'`, without coming back from `d'` again (for then `d` would have executed again),
//! 3. from the entry of the callee that `u'` calls down to `u` (unless `u'` is `u`).
//!
//! Nothing else of the thread executes meanwhile: control is in this call of F, and threads have no other control. So `w`
//! executes between only if it is on one of these three ways, at its own place or at a call that leads down to it:
//! - On the second: `w'` has a way to `u'` without `d'`. That suffices to look for: all such places are dominated by `d'`
//!   (else there would be a way around `d'` to `u'`), hence they are behind it. So one search backward from `u'`, which
//!   `d'` stops, finds what is between, and looks at nothing else.
//! - On the first, the same with the returns in the place of `u'`.
//! - On the third, what has a way to `u` in the callees. If `w'` is `u'` itself, an earlier execution of `u'` counts as
//!   well: it is one on the second way if `u'` has a way to itself without `d'`.
//!
//! An invoke has come back only on its normal edge; over the other one `d` need not have executed. So it is that edge which
//! must dominate. Where an exception lands, no way leads to `u'` but over the normal edge (else the edge would not dominate
//! it: control may come to the landing pad the first time), so that calls which are left by an exception are never on the
//! way from the most recent `d`, and a search need not tell the two edges apart.
//!
//! If `d` does not dominate `u`, but surely executes (always), once, and before `u`, there is only one execution of it to be
//! recent; what is neither before `d` nor after `u` may be between. The same holds of `w` of another thread in any case:
//! if all of its executions are over before any of `d` begins, or begin when those of `u` are over, it is not between.
//!
//! # Cost
//!
//! What may have begun (`Span::until`) never falls along control flow, so a function falls into layers, and a search stays
//! in one. Between layers the answer is that what is between may execute. Searches are kept while they are few.

mod reach;

pub(super) use reach::Reach;

use super::places::shape::normal_edge;
use super::places::Places;
use crate::ir::code::{FuncId, InstId, Op};
use reach::{Goal, Keep};

/// Where two places of one thread meet.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    function: FuncId,
    a: InstId,
    b: InstId,
}

impl Places<'_, '_> {
    /// Whether all executions of `a` are over before any of `b` begins, in every run.
    pub fn before(&self, a: InstId, b: InstId) -> bool {
        self.is_before(a, b, Keep::Source)
    }

    fn is_before(&self, a: InstId, b: InstId, keep: Keep) -> bool {
        let (Some(one), Some(other)) = (self.owner(a), self.owner(b)) else { return false };
        let spans = (self.spans.of_inst(a), self.spans.of_inst(b));
        if self.are_apart((one.thread, spans.0), (other.thread, spans.1)) {
            return true;
        }
        // In one call of the function where they meet, if there is only one.
        self.meet(a, b).is_some_and(|meeting| {
            meeting.a != meeting.b
                && self.function(meeting.function).is_some_and(|owned| owned.is_once)
                && !self.leads(meeting.b, meeting.a, keep)
        })
    }

    /// Whether `a` has executed, and come back, whenever `b` executes: in the same thread, and as part of the calls that
    /// `b` is in, so that there is a most recent execution of `a`.
    pub fn dominates(&self, a: InstId, b: InstId) -> bool {
        self.dominated(a, b).is_some()
    }

    /// Where `a` and `b` meet, if `a` dominates `b`.
    fn dominated(&self, a: InstId, b: InstId) -> Option<Meeting> {
        let meeting = self.meet(a, b)?;
        if meeting.a == meeting.b || !self.shape.inst_dominates(self.code, meeting.a, meeting.b) {
            return None;
        }
        let mut place = a;
        while place != meeting.a {
            if !self.dominates_returns(place) {
                return None;
            }
            place = self.caller(place)?;
        }
        Some(meeting)
    }

    /// Whether `w` may execute after the most recent execution of `d` and before an execution of `u`. `d` dominates `u`; or
    /// it is before `u`, and executes always and once. Of anything else nothing is known, and it may. A call stands for
    /// all that is done in it: it is between if a part of that may be.
    pub fn between(&self, w: InstId, d: InstId, u: InstId) -> bool {
        let Some(thread) = self.thread(w) else { return true };
        // The most recent execution is not after itself.
        if w == d && self.thread(u).is_some() {
            return false;
        }
        let dominated = self.dominated(d, u);
        if dominated.is_none() && !(self.before(d, u) && self.once(d) && self.always(d)) {
            return true;
        }
        let is_apart = self.is_before(w, d, Keep::Source)
            || self.is_before(u, w, Keep::Target)
            || (w == u && self.once(u));
        if is_apart {
            return false;
        }
        match dominated {
            Some(meeting) if self.thread(d) == Some(thread) => self.is_between(w, (d, u), meeting),
            _ => true,
        }
    }

    /// In one thread, where `d` dominates `u`.
    fn is_between(&self, w: InstId, (d, u): (InstId, InstId), meeting: Meeting) -> bool {
        let Meeting { function, a: from, b: to } = meeting;
        if self.is_around(w, d) || self.is_around(w, u) {
            return true;
        }
        let Some(place) = self.lift(w, function) else { return false };
        if self.is_on_way(place, from, to) {
            return true;
        }
        match place {
            _ if place == from => w != d && self.is_behind(w, d, from),
            _ if place == to => self.is_ahead(w, u, to),
            _ => false,
        }
    }

    /// Whether a place is on a way from behind `from` to `to`, in one call of their function, without coming back from
    /// `from` again. `from` dominates `to`.
    fn is_on_way(&self, place: InstId, from: InstId, to: InstId) -> bool {
        let (first, here) = (self.spans.layer_behind(self.code, from), self.spans.layer(place));
        let last = self.spans.layer(to);
        if here < first || last < here {
            return false;
        }
        // Control does not come back to an earlier layer.
        let without = (self.spans.layer(from) == here).then_some(from);
        match (here == first, here == last) {
            (_, true) => self.has_way(place, Goal::Place(to), without),
            (true, false) => self.has_way(place, Goal::NextLayer(self.code.function_of(to), here), without),
            (false, false) => true,
        }
    }

    /// Whether `w` may execute behind `d` in the call `top` that both are below of, until that call has come back.
    fn is_behind(&self, w: InstId, d: InstId, top: InstId) -> bool {
        // The deepest function that has both below it says.
        for place in self.chain(d, top).take_while(|&place| place != top) {
            if let Some(other) = self.lift(w, self.code.function_of(place)) {
                return other == place || self.is_on_way_out(other, place);
            }
        }
        // It is below `d` itself: part of what that does.
        true
    }

    /// Whether a place is on a way from behind `from` to a return, without coming back from `from` again. `from` dominates
    /// the returns.
    fn is_on_way_out(&self, place: InstId, from: InstId) -> bool {
        let (first, here) = (self.spans.layer_behind(self.code, from), self.spans.layer(place));
        let without = (self.spans.layer(from) == here).then_some(from);
        let goal = Goal::Return(self.code.function_of(from), here);
        here > first || (here == first && self.has_way(place, goal, without))
    }

    /// Whether `w` may execute before `u` in the call `top` that both are below of.
    fn is_ahead(&self, w: InstId, u: InstId, top: InstId) -> bool {
        let chain: Vec<InstId> = self.chain(u, top).collect();
        for &place in chain.iter().rev().skip(1) {
            let Some(other) = self.lift(w, self.code.function_of(place)) else { return false };
            if self.leads(other, place, Keep::Target) {
                return true;
            }
            if other != place {
                return false;
            }
        }
        // If it is below `u` itself, it is part of what that does.
        w != u
    }

    /// Whether control can go from `a` to `b`, which may be the same, in one call of their function. Where layers lie
    /// between, it is taken to.
    fn leads(&self, a: InstId, b: InstId, keep: Keep) -> bool {
        let (in_a, in_b) = (self.code.inst(a).block, self.code.inst(b).block);
        if in_a == in_b {
            return a < b || self.shape.is_in_cycle(in_a);
        }
        let (behind, before) = (self.spans.layer_behind(self.code, a), self.spans.layer(b));
        let (rank_a, rank_b) = (self.shape.rank(in_a), self.shape.rank(in_b));
        if rank_a < rank_b || behind > before {
            return false;
        }
        if rank_a == rank_b || behind < before || self.shape.dominates(in_a, in_b) {
            return true;
        }
        match keep {
            Keep::Source => self.leads_from(in_a, in_b),
            Keep::Target => self.has_way(a, Goal::Place(b), None),
        }
    }

    /// Whether an instruction has executed, and come back, whenever its function returns.
    fn dominates_returns(&self, inst: InstId) -> bool {
        let Some(common) = self.common_return(self.code.function_of(inst)) else { return false };
        match normal_edge(self.code, inst) {
            Some(edge) => self.shape.edge_dominates(self.code, edge, common),
            None => self.shape.dominates(self.code.inst(inst).block, common),
        }
    }

    /// The call that leads to an instruction.
    fn caller(&self, inst: InstId) -> Option<InstId> {
        self.call_site(self.code.function_of(inst))
    }

    /// Whether an instruction is a call that leads to another.
    fn is_around(&self, call: InstId, inst: InstId) -> bool {
        matches!(self.code.inst(call).op, Op::Call(_))
            && call != inst
            && self.lift(inst, self.code.function_of(call)) == Some(call)
    }

    /// An instruction and the calls that lead to it, up to this one.
    fn chain(&self, inst: InstId, top: InstId) -> impl Iterator<Item = InstId> + '_ {
        std::iter::successors(Some(inst), move |&place| match place == top {
            true => None,
            false => self.caller(place),
        })
    }

    /// An instruction's place in a function that leads to it.
    fn lift(&self, inst: InstId, function: FuncId) -> Option<InstId> {
        let depth = self.function(function)?.depth;
        let mut place = inst;
        while self.owner(place)?.depth > depth {
            place = self.caller(place)?;
        }
        (self.code.function_of(place) == function).then_some(place)
    }

    /// Where two instructions of one thread meet.
    fn meet(&self, a: InstId, b: InstId) -> Option<Meeting> {
        let (one, other) = (self.owner(a)?, self.owner(b)?);
        if one.thread != other.thread {
            return None;
        }
        let (mut a, mut b, mut depths) = (a, b, (one.depth, other.depth));
        loop {
            let functions = (self.code.function_of(a), self.code.function_of(b));
            if functions.0 == functions.1 {
                return Some(Meeting { function: functions.0, a, b });
            }
            if depths.0 >= depths.1 {
                (a, depths.0) = (self.caller(a)?, depths.0 - 1);
            } else {
                (b, depths.1) = (self.caller(b)?, depths.1 - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;
