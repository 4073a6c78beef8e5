//! Signal handlers that jump away: they may interrupt a region anywhere, and what they interrupted does not go on.

use super::{FunctionId, Graph, PointId};
use crate::hash::Hasher;
use crate::loom::table::PointKind;
use std::collections::HashSet;

/// The types of handlers, as tables have them (plugin/cpp/tell_read.cpp).
const HANDLER_SHAPES: [&str; 2] = ["void(i32,)", "void(i32,ptr,ptr,)"];

impl Graph<'_> {
    /// The slots before calls of longjmp to which a signal handler may come. One that may come to a `setjmp`, too, is left out: it may
    /// jump to that, and return to what it interrupted.
    pub fn jumps_of_handlers(&self) -> Vec<PointId> {
        if self.jumps.is_empty() {
            return Vec::new();
        }
        let shapes = HANDLER_SHAPES.map(|shape| Hasher::default().field(shape).finish());
        let landing: HashSet<FunctionId> = self.landings.iter().map(|&id| self.function_of(id)).collect();
        let mut jumping: HashSet<FunctionId> = HashSet::new();
        for id in 0..self.function_count() as FunctionId {
            if self.address_taken[id as usize] && shapes.contains(&self.function(id).shape) {
                let called = self.called_from(id);
                if called.is_disjoint(&landing) {
                    jumping.extend(called);
                }
            }
        }
        let is_slot = |id: &PointId| matches!(self.point(*id).kind, PointKind::Slot { .. });
        let of_handlers = self.jumps.iter().filter(|&&jump| jumping.contains(&self.function_of(jump)));
        let mut slots: Vec<PointId> =
            of_handlers.flat_map(|&jump| self.before(jump)).copied().filter(is_slot).collect();
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// The function, and all that may run before it returns.
    fn called_from(&self, function: FunctionId) -> HashSet<FunctionId> {
        let mut called = HashSet::from([function]);
        let mut open = vec![function];
        while let Some(function) = open.pop() {
            let place = self.place(function);
            for group in (place.first..place.first + place.count).filter_map(|call| self.group(call)) {
                for &callee in &self.groups[group as usize].functions {
                    if called.insert(callee) {
                        open.push(callee);
                    }
                }
            }
        }
        called
    }
}
