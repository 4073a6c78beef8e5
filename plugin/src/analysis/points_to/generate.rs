//! From code to nodes and rules.
//!
//! Registers that must have the same set get the same node from the start: casts of one pointer, the same offset from one
//! pointer, loads through one pointer (the analysis does not see the order of statements, so that all of them give the
//! same). Code from a compiler's front end repeats these a lot.
//!
//! Integers carry the pointers that they are computed from, with any offset. An integer that comes from nowhere (an
//! argument, memory) and becomes a pointer may point to what escaped.

use super::calls::{Argument, CallSite, Touch};
use super::graph::Node;
use super::library::When;
use super::memory::{Object, ObjectKind, Set};
use super::solver::{Rule, Solver};
use crate::epoch::graph::components;
use crate::ir::code::{
    Binary, BlockId, Call, Callee, Cast, Def, FuncId, InstData, InstId, Op, OpaqueId, Operand, Ty,
};

/// What makes two expressions equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    /// So many bytes further.
    Shift(Node, i64),
    /// Anywhere in the same objects.
    Blur(Node),
    /// What is stored there, so many bytes long.
    Load(Node, u64),
    /// One of both.
    Either(Node, Node),
    /// A constant.
    Opaque(OpaqueId),
}

/// How far the operands of an integer are followed to see whether it comes from a pointer.
const MOST_OPERANDS: u32 = 16;

impl Solver<'_, '_> {
    /// A function's code.
    pub fn generate(&mut self, function: FuncId) {
        let code = self.code;
        let growing = self.growing(function);
        let landings = self.landings(function);
        let mut phis = Vec::new();
        for block in self.in_order(function) {
            for id in code.insts_of(block) {
                let inst = code.inst(id);
                if let (Op::Phi(_), Some(result)) = (&inst.op, inst.result) {
                    let node = self.graph.add();
                    self.values[result.index()] = Some(node);
                    phis.push((id, node));
                    continue;
                }
                let is_landing = landings.contains(&block) && is_landing(&inst.op);
                let node =
                    if is_landing { Some(self.external) } else { self.instruction(id, inst, &growing) };
                if let Some(result) = inst.result {
                    self.values[result.index()] = node;
                }
            }
        }
        for (id, node) in phis {
            let Op::Phi(ways) = &code.inst(id).op else { continue };
            for &(_, operand) in ways {
                if let Some(from) = self.operand(operand) {
                    self.graph.connect(from, node);
                }
            }
        }
        // What is not in the list any more has its edge; what holds no pointer never gets one.
        for (value, node) in std::mem::take(&mut self.awaited) {
            match self.values[value.index()] {
                Some(from) => self.graph.connect(from, node),
                None => self.awaited.push((value, node)),
            }
        }
    }

    /// What an instruction means; gives its result's node.
    fn instruction(&mut self, id: InstId, inst: &InstData<'_>, growing: &Set<InstId>) -> Option<Node> {
        match &inst.op {
            Op::Binary { op, a, b, .. } => {
                let a = self.operand(*a).map(|a| self.blurred(a));
                // By how much to shift, and what to divide by, is no part of the result.
                let takes_both = matches!(
                    op,
                    Binary::Add | Binary::Sub | Binary::Mul | Binary::And | Binary::Or | Binary::Xor
                );
                let b = if takes_both { self.operand(*b).map(|b| self.blurred(b)) } else { None };
                self.either(a, b)
            }
            Op::Cast { op, a } => {
                let from = self.operand(*a);
                let is_pointer = inst.result.is_some_and(|result| self.code.value(result).ty == Ty::Ptr);
                let from = if *op == Cast::Same { from } else { from.map(|from| self.blurred(from)) };
                if is_pointer && !self.comes_from_pointer(*a, MOST_OPERANDS) {
                    return self.either(from, Some(self.external));
                }
                from
            }
            Op::Gep { base, offset, terms, .. } => {
                let Some(from) = self.operand(*base) else {
                    // An offset from null is an integer that becomes a pointer.
                    let mut sum = (!terms.is_empty()).then_some(self.external);
                    for &(term, _) in terms {
                        let term = self.operand(term).map(|term| self.blurred(term));
                        sum = self.either(sum, term);
                    }
                    return sum;
                };
                let constant = terms.iter().try_fold(*offset, |sum, &(term, scale)| match term {
                    Operand::Int { value, width } => {
                        let shift = 64 - width.clamp(1, 64);
                        let signed = (value << shift) as i64 >> shift;
                        sum.checked_add(signed.checked_mul(scale)?)
                    }
                    _ => None,
                });
                match constant {
                    Some(0) => Some(from),
                    Some(offset) if !growing.contains(&id) => Some(self.shifted(from, offset)),
                    _ => Some(self.blurred(from)),
                }
            }
            Op::Select { a, b, .. } => {
                let (a, b) = (self.operand(*a), self.operand(*b));
                self.either(a, b)
            }
            Op::Freeze(a) => self.operand(*a),
            Op::Alloca { bytes } => {
                let object = self.memory.add(Object::new(ObjectKind::Stack(id), *bytes));
                let location = self.memory.at(object, 0);
                Some(self.constant(location))
            }
            Op::Load { address, bytes, .. } => {
                let address = self.address(*address);
                match inst.result.and_then(|result| self.known.get(&result)) {
                    Some(&Operand::Value(value)) => {
                        let node = self.graph.add();
                        self.awaited.push((value, node));
                        Some(node)
                    }
                    Some(&operand) => self.operand(operand),
                    None => address.map(|address| self.loaded(address, *bytes)),
                }
            }
            Op::Store { address, value, bytes, .. } => {
                if let (Some(address), Some(value)) = (self.address(*address), self.operand(*value)) {
                    self.rule(address, Rule::Store(value, *bytes));
                }
                None
            }
            Op::Exchange { address, values, bytes } => {
                let address = self.address(*address)?;
                let old = self.loaded(address, *bytes);
                for &value in values {
                    if let Some(value) = self.operand(value) {
                        self.rule(address, Rule::Store(value, *bytes));
                    }
                }
                // Adds to what is there, perhaps, if it is an integer.
                if values.iter().any(|&value| !self.is_pointer(value)) {
                    let changed = self.blurred(old);
                    self.rule(address, Rule::Store(changed, *bytes));
                }
                Some(old)
            }
            Op::Call(call) => self.call(id, inst, call),
            Op::Return(Some(value)) => {
                let function = self.code.function_of(id);
                if let (Some(value), Some(result)) =
                    (self.operand(*value), self.functions[function.index()].result)
                {
                    self.graph.connect(value, result);
                }
                None
            }
            Op::Other { operands, reads, writes } => self.other(id, inst, operands, *reads || *writes),
            Op::Compare { .. } | Op::Phi(_) | Op::Return(None) => None,
            Op::Branch(_) | Op::Switch { .. } | Op::Unreachable => None,
        }
    }

    fn call(&mut self, id: InstId, inst: &InstData<'_>, call: &Call) -> Option<Node> {
        let can_point = |result: crate::ir::code::ValueId| !matches!(self.code.value(result).ty, Ty::Int(width) if width < 8);
        let result = inst.result.filter(|&result| can_point(result)).map(|_| self.graph.add());
        let arguments = call
            .arguments
            .iter()
            .map(|&operand| Argument { node: self.operand(operand), operand: Some(operand) })
            .collect();
        let site = self.add_call(CallSite {
            inst: id,
            arguments,
            by_value: call.by_value,
            result,
            when: When::Now,
            only_reads: call.only_reads,
            touches_nothing: call.touches_nothing,
        });
        self.runs.entry(id).or_default();
        match call.callee {
            Callee::Function(function) => self.link_function(site, function),
            Callee::Pointer(pointer) => match self.operand(pointer) {
                Some(node) => self.rule(node, Rule::Call(site)),
                // An ifunc, an address in hardware.
                None if matches!(pointer, Operand::Opaque(_) | Operand::Int { .. }) => {
                    self.link_unknown(site)
                }
                None => {}
            },
            Callee::Asm if call.touches_nothing || call.only_reads => self.link_unknown(site),
            Callee::Asm => self.model_foreign(site),
        }
        result
    }

    /// What has no meaning here: pointers flow from all operands to the result.
    fn other(
        &mut self,
        id: InstId,
        inst: &InstData<'_>,
        operands: &[Operand],
        touches: bool,
    ) -> Option<Node> {
        let mut all = None;
        for &operand in operands {
            let node = self.operand(operand).map(|node| self.blurred(node));
            all = self.either(all, node);
        }
        if !touches {
            return all.filter(|_| inst.result.is_some());
        }
        let reached = self.graph.add();
        if let Some(all) = all {
            self.graph.connect(all, reached);
        }
        self.close(reached);
        self.rule(reached, Rule::StoreAll(reached));
        let runs = self.runs.entry(id).or_default();
        runs.reads.push(Touch::Behind(reached));
        runs.writes.push(Touch::Behind(reached));
        Some(reached)
    }

    /// An operand's node; none if it holds no pointer.
    pub fn operand(&mut self, operand: Operand) -> Option<Node> {
        match operand {
            Operand::Value(value) => self.values[value.index()],
            Operand::Int { .. } | Operand::Null | Operand::Undef => None,
            Operand::Global(global, offset) => {
                let location = self.memory.at(self.object_of_global(global), offset);
                Some(self.constant(location))
            }
            Operand::Function(function) => {
                let location = self.memory.at(self.object_of_function(function), 0);
                Some(self.constant(location))
            }
            Operand::Opaque(id) => {
                let mentioned = &self.code.opaques[id.index()];
                if mentioned.is_empty() {
                    return None;
                }
                if let Some(&known) = self.keys.get(&Key::Opaque(id)) {
                    return Some(known);
                }
                let node = self.graph.add();
                self.keys.insert(Key::Opaque(id), node);
                for &operand in mentioned {
                    if let Some(mentioned) = self.operand(operand) {
                        let mentioned = self.blurred(mentioned);
                        self.graph.connect(mentioned, node);
                    }
                }
                Some(node)
            }
        }
    }

    /// The node of an operand that is used as an address.
    fn address(&mut self, operand: Operand) -> Option<Node> {
        match operand {
            Operand::Int { .. } => Some(self.external),
            other => self.operand(other),
        }
    }

    fn shifted(&mut self, from: Node, by: i64) -> Node {
        self.keyed(Key::Shift(from, by), |solver, node| solver.rule(from, Rule::Shift(node, by)))
    }

    /// Anywhere in what a node points to.
    pub fn blurred(&mut self, from: Node) -> Node {
        if from == self.external {
            return from;
        }
        let blurred = self.keyed(Key::Blur(from), |solver, node| solver.rule(from, Rule::Blur(node)));
        // Once is enough.
        self.keys.insert(Key::Blur(blurred), blurred);
        blurred
    }

    fn loaded(&mut self, address: Node, bytes: u64) -> Node {
        self.keyed(Key::Load(address, bytes), |solver, node| solver.rule(address, Rule::Load(node, bytes)))
    }

    fn either(&mut self, a: Option<Node>, b: Option<Node>) -> Option<Node> {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        if a == b {
            return Some(a);
        }
        let (a, b) = (a.min(b), a.max(b));
        Some(self.keyed(Key::Either(a, b), |solver, node| {
            solver.graph.connect(a, node);
            solver.graph.connect(b, node);
        }))
    }

    fn keyed(&mut self, key: Key, make: impl FnOnce(&mut Self, Node)) -> Node {
        if let Some(&known) = self.keys.get(&key) {
            return known;
        }
        let node = self.graph.add();
        self.keys.insert(key, node);
        make(self, node);
        node
    }

    fn is_pointer(&self, operand: Operand) -> bool {
        match operand {
            Operand::Value(value) => self.code.value(value).ty == Ty::Ptr,
            Operand::Null | Operand::Global(..) | Operand::Function(_) => true,
            _ => false,
        }
    }

    /// Whether an operand is a pointer, or an integer that was computed from one.
    fn comes_from_pointer(&self, operand: Operand, most: u32) -> bool {
        let Operand::Value(value) = operand else { return true };
        let data = self.code.value(value);
        if data.ty == Ty::Ptr {
            return true;
        }
        let (Def::Inst(inst), Some(most)) = (data.def, most.checked_sub(1)) else { return false };
        let comes = |operand| self.comes_from_pointer(operand, most);
        let is_variable = |operand| matches!(operand, Operand::Value(_) | Operand::Global(..));
        match &self.code.inst(inst).op {
            Op::Cast { op: Cast::Same, a } | Op::Freeze(a) => comes(*a),
            Op::Binary {
                op: Binary::Add | Binary::Sub | Binary::And | Binary::Or | Binary::Xor,
                a,
                b,
                ..
            } => (is_variable(*a) && comes(*a)) || (is_variable(*b) && comes(*b)),
            Op::Select { a, b, .. } => comes(*a) && comes(*b),
            _ => false,
        }
    }

    /// A function's blocks such that values come before their uses, but for those of PHIs.
    fn in_order(&self, function: FuncId) -> Vec<BlockId> {
        let code = self.code;
        let Some(entry) = code.blocks_of(function).next() else { return Vec::new() };
        let mut seen = Set::default();
        seen.insert(entry);
        let mut order = Vec::new();
        let mut way = vec![(entry, 0)];
        while let Some((block, done)) = way.last_mut() {
            match code.block(*block).next.get(*done) {
                Some(&next) => {
                    *done += 1;
                    if seen.insert(next) {
                        way.push((next, 0));
                    }
                }
                None => {
                    order.push(*block);
                    way.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// Offsets that are added around and around in a loop: as good as unknown ones.
    fn growing(&self, function: FuncId) -> Set<InstId> {
        let code = self.code;
        let blocks = &code.function(function).blocks;
        let insts = blocks.clone().flat_map(|block| code.insts_of(BlockId(block)));
        let with_results: Vec<InstId> = insts.filter(|&id| code.inst(id).result.is_some()).collect();
        let mut places = std::collections::HashMap::new();
        for (place, &id) in with_results.iter().enumerate() {
            places.insert(code.inst(id).result, place);
        }
        let next = |place: usize| {
            let mut found = Vec::new();
            let mut add = |operand: &Operand| {
                if let Operand::Value(value) = *operand {
                    found.extend(places.get(&Some(value)));
                }
            };
            match &code.inst(with_results[place]).op {
                Op::Phi(ways) => ways.iter().for_each(|(_, operand)| add(operand)),
                Op::Select { a, b, .. } => [a, b].into_iter().for_each(add),
                Op::Cast { a, .. } | Op::Freeze(a) | Op::Gep { base: a, .. } => add(a),
                _ => {}
            }
            found
        };
        let cycles = components(with_results.len(), next).into_iter().filter(|component| component.is_cycle);
        let insts = cycles.flat_map(|component| component.nodes).map(|place| with_results[place]);
        insts.filter(|&id| matches!(code.inst(id).op, Op::Gep { .. })).collect()
    }

    /// The blocks where exceptions land.
    fn landings(&self, function: FuncId) -> Set<BlockId> {
        let code = self.code;
        let invokes = code.blocks_of(function).filter_map(|block| {
            let last = code.insts_of(block).last()?;
            matches!(code.inst(last).op, Op::Call(_)).then(|| code.block(block).next.get(1).copied())?
        });
        invokes.collect()
    }
}

/// In a block where exceptions land, what has only constants for operands is the landing pad.
fn is_landing(op: &Op) -> bool {
    matches!(op, Op::Other { operands, .. }
        if !operands.iter().any(|operand| matches!(operand, Operand::Value(_))))
}
