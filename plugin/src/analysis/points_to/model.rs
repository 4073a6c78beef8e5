//! Calls of library functions: what the table's effects mean for nodes, and which memory they touch.

use super::calls::{Argument, CallSite, Touch};
use super::graph::Node;
use super::library::{Effect, Given, Known, Slot, When};
use super::locations::LocationId;
use super::memory::{Object, ObjectId, ObjectKind};
use super::solver::{Rule, Solver};
use crate::ir::code::{FuncId, Initial, InstId, Operand};

/// Bytes of a pointer.
const POINTER: u64 = 8;
/// `MAP_ANONYMOUS`: no file is behind the memory.
const MAP_ANONYMOUS: u64 = 0x20;
/// Virtual functions of `std::thread::_State`: two destructors, then what the thread runs.
const STATE_DESTRUCTORS: [i64; 2] = [0, 8];
const STATE_RUN: i64 = 16;

impl Solver<'_, '_> {
    /// A call comes to a function without a body.
    pub fn model(&mut self, call: u32, function: FuncId) {
        let facts = self.code.function(function);
        let known = if facts.is_intrinsic {
            self.library.intrinsic(&facts.name)
        } else {
            self.library.function(&facts.name)
        };
        let site = self.calls[call as usize].clone();
        match known {
            Known::Effects(effects) => {
                for &effect in effects {
                    self.model_effect(&site, effect);
                }
            }
            // What computes something may compute with addresses.
            Known::Nothing if facts.is_intrinsic && site.touches_nothing => {
                for argument in site.arguments.iter().filter_map(|argument| argument.node) {
                    self.give_blurred(&site, argument);
                }
            }
            Known::CallsNothing if !site.touches_nothing && !site.only_reads => self.model_foreign(call),
            Known::CallsNothing | Known::Nothing => self.link_unknown(call),
        }
    }

    /// Code that does what it wants with its arguments, but calls nothing of the program.
    pub fn model_foreign(&mut self, call: u32) {
        let site = self.calls[call as usize].clone();
        for argument in site.arguments.iter().filter_map(|argument| argument.node) {
            self.graph.connect(argument, self.escape);
        }
        self.give_location(&site, LocationId::EXTERNAL);
        self.reads(&site, Touch::Escaped);
        self.writes(&site, Touch::Escaped);
    }

    fn model_effect(&mut self, site: &CallSite, effect: Effect) {
        let node = |index: u8| site.arguments.get(usize::from(index)).and_then(|argument| argument.node);
        match effect {
            Effect::New(bytes) => {
                let bytes = self.product(site, bytes);
                let new = self.heap_object(site.inst, bytes);
                let location = self.memory.at(new, 0);
                self.give_location(site, location);
                self.writes(site, Touch::Object(new));
            }
            Effect::NewAt(at, bytes) => {
                let bytes = bytes.and_then(|index| self.integer(site, index));
                let new = self.heap_object(site.inst, bytes);
                let location = self.memory.at(new, 0);
                let pointer = self.constant(location);
                self.put(node(at), pointer);
                self.writes(site, Touch::Object(new));
            }
            Effect::NewFrom(from) => {
                let Some(from) = node(from) else { return };
                let new = self.heap_object(site.inst, None);
                let location = self.memory.at(new, 0);
                let to = self.constant(location);
                self.copy(from, to, None);
            }
            Effect::Maps => {
                if self.integer(site, 3).is_some_and(|flags| flags & MAP_ANONYMOUS != 0) {
                    self.model_effect(site, Effect::New(&[1]));
                } else {
                    self.give_location(site, LocationId::EXTERNAL);
                }
            }
            Effect::Is(index) => {
                if let (Some(argument), Some(result)) = (node(index), site.result) {
                    self.graph.connect(argument, result);
                }
            }
            Effect::Into(index) => {
                if let Some(argument) = node(index) {
                    self.give_blurred(site, argument);
                }
            }
            Effect::IntoStored(index) => {
                let Some(stored) = self.stored(node(index)) else { return };
                let moved = self.blurred(stored);
                self.put(node(index), moved);
                self.give_blurred(site, stored);
            }
            Effect::GivesLibrary => self.give_location(site, LocationId::LIBRARY),
            Effect::GivesEnvironment => self.give_location(site, LocationId::ENVIRONMENT),
            Effect::GivesExternal => self.give_location(site, LocationId::EXTERNAL),
            Effect::Reads(index) => self.reads_behind(site, node(index)),
            Effect::ReadsFrom(first) => {
                for argument in site.arguments.iter().skip(usize::from(first)) {
                    self.reads_behind(site, argument.node);
                }
            }
            Effect::ReadsStored(index) => {
                let stored = self.stored(node(index));
                self.reads_behind(site, stored);
            }
            Effect::ReadsDeep(index) => {
                let Some(argument) = node(index) else { return };
                let all = self.graph.add();
                self.graph.connect(argument, all);
                self.close(all);
                self.reads_behind(site, Some(all));
            }
            Effect::Writes(index) => self.writes_behind(site, node(index)),
            Effect::WritesStored(index) => {
                let stored = self.stored(node(index));
                self.writes_behind(site, stored);
            }
            Effect::Copies { to, from, bytes } => {
                let bytes = bytes.and_then(|index| self.integer(site, index));
                if let (Some(to), Some(from)) = (node(to), node(from)) {
                    self.copy(from, to, bytes);
                }
            }
            Effect::PutsInto(at, into) => {
                let Some(into) = node(into) else { return };
                let pointer = self.blurred(into);
                self.put(node(at), pointer);
            }
            Effect::PutsLibrary(at) => {
                let pointer = self.constant(LocationId::LIBRARY);
                if let Some(at) = node(at) {
                    self.rule(at, Rule::StoreAll(pointer));
                }
            }
            Effect::Sorts(index) => {
                let Some(argument) = node(index) else { return };
                let all = self.graph.add();
                self.rule(argument, Rule::LoadAll(all));
                self.rule(argument, Rule::StoreAll(all));
            }
            Effect::Keeps(slot, index) => {
                if let Some(argument) = node(index) {
                    self.graph.connect(argument, self.slot(slot));
                }
            }
            Effect::Gives(slot) => self.give(site, self.slot(slot)),
            Effect::GivesInto(slot) => self.give_blurred(site, self.slot(slot)),
            Effect::GivesAt(slot, at) => self.put(node(at), self.slot(slot)),
            Effect::Uses(slot) => {
                self.reads(site, Touch::Behind(self.slot(slot)));
                self.writes(site, Touch::Behind(self.slot(slot)));
            }
            Effect::Sends(index, bytes) => {
                let Some(argument) = node(index) else { return };
                let to = self.slot(Slot::Files);
                match self.product(site, bytes) {
                    Some(bytes) => self.rule(argument, Rule::Load(to, bytes)),
                    None if bytes.is_empty() => self.rule(argument, Rule::LoadAll(to)),
                    None => {}
                }
            }
            Effect::Receives(index) => {
                if let Some(argument) = node(index) {
                    self.rule(argument, Rule::StoreAll(self.slot(Slot::Files)));
                }
            }
            Effect::ReceivesStored(index) => {
                if let Some(stored) = self.stored(node(index)) {
                    self.rule(stored, Rule::StoreAll(self.slot(Slot::Files)));
                }
            }
            Effect::Prints(format) => self.model_print(site, format),
            Effect::Scans(format) => self.model_scan(site, format),
            Effect::Calls(function, given, when) => {
                if let Some(function) = node(function) {
                    self.call_back(site, function, given, when);
                }
            }
            Effect::CallsStored(at, given, when) => {
                let Some(at) = node(at) else { return };
                let function = self.graph.add();
                self.rule(at, Rule::Load(function, POINTER));
                self.graph.connect(function, self.slot(Slot::Handlers));
                self.call_back(site, function, given, when);
            }
            Effect::StartsState(index) => self.model_start(site, node(index)),
            Effect::ListsArguments(index) => {
                let function = self.code.function_of(site.inst);
                let variadic = self.functions[function.index()].variadic;
                let (Some(list), Some(object)) = (node(index), variadic) else { return };
                let location = LocationId::any(object);
                let pointer = self.constant(location);
                self.rule(list, Rule::StoreAll(pointer));
            }
            Effect::Escapes(index) => {
                if let Some(argument) = node(index) {
                    self.graph.connect(argument, self.escape);
                }
            }
            Effect::Confined => self.model_confined(site),
            Effect::UsesLibrary => {
                self.reads(site, Touch::Object(ObjectId::LIBRARY));
                self.writes(site, Touch::Object(ObjectId::LIBRARY));
                // Any stream may be flushed, and use the memory that it was given for that.
                let buffers = self.slot(Slot::Buffers);
                self.reads(site, Touch::Behind(buffers));
                self.writes(site, Touch::Behind(buffers));
            }
            Effect::ReadsEnvironment => {
                self.reads(site, Touch::Object(ObjectId::ENVIRONMENT));
                self.reads(site, Touch::Behind(self.slot(Slot::Environment)));
            }
            Effect::WritesEnvironment => {
                self.reads(site, Touch::Object(ObjectId::ENVIRONMENT));
                self.writes(site, Touch::Object(ObjectId::ENVIRONMENT));
            }
        }
    }

    /// See [`Effect::Confined`].
    fn model_confined(&mut self, site: &CallSite) {
        let reached = self.graph.add();
        for argument in site.arguments.iter().filter_map(|argument| argument.node) {
            self.rule(argument, Rule::Blur(reached));
        }
        let new = self.heap_object(site.inst, None);
        let location = LocationId::any(new);
        self.graph.insert(reached, location);
        self.move_about(site, reached);
    }

    /// Everything in what a node points to may come to everywhere in it.
    pub fn move_about(&mut self, site: &CallSite, reached: Node) {
        self.close(reached);
        self.rule(reached, Rule::StoreAll(reached));
        self.give(site, reached);
        self.reads(site, Touch::Behind(reached));
        self.writes(site, Touch::Behind(reached));
    }

    /// Values are only read, but for what `%n` writes.
    fn model_print(&mut self, site: &CallSite, format: u8) {
        let may_write = self.format(site, format).is_none_or(|text| has_conversion(&text, b"n"));
        for argument in site.arguments.iter().skip(usize::from(format)) {
            self.reads_behind(site, argument.node);
        }
        if may_write {
            for argument in site.arguments.iter().skip(usize::from(format) + 1) {
                self.writes_behind(site, argument.node);
            }
        }
    }

    /// Targets get no pointers, but for `%p`, and for the memory that `%ms` and its kin make.
    fn model_scan(&mut self, site: &CallSite, format: u8) {
        let may_point = self.format(site, format).is_none_or(|text| has_conversion(&text, b"mp"));
        let format = usize::from(format);
        self.reads_behind(site, site.arguments.get(format).and_then(|argument| argument.node));
        let new = may_point.then(|| {
            let new = self.heap_object(site.inst, None);
            self.memory.at(new, 0)
        });
        for argument in site.arguments.iter().skip(format + 1) {
            self.writes_behind(site, argument.node);
            if let (Some(new), Some(target)) = (new, argument.node) {
                let pointer = self.constant(new);
                self.rule(target, Rule::Store(pointer, POINTER));
                self.rule(target, Rule::Store(self.external, POINTER));
            }
        }
    }

    /// `std::thread`: the new thread runs a virtual function of the state and then one of its destructors.
    fn model_start(&mut self, site: &CallSite, at: Option<Node>) {
        let Some(at) = at else { return };
        let [state, table] = [self.graph.add(), self.graph.add()];
        self.rule(at, Rule::Load(state, POINTER));
        self.rule(state, Rule::Load(table, POINTER));
        let whens =
            [(STATE_RUN, When::Thread)].into_iter().chain(STATE_DESTRUCTORS.map(|at| (at, When::Later)));
        for (offset, when) in whens {
            let [entry, function] = [self.graph.add(), self.graph.add()];
            self.rule(table, Rule::Shift(entry, offset));
            self.rule(entry, Rule::Load(function, POINTER));
            self.call_with(site, function, vec![Argument { node: Some(state), operand: None }], when);
        }
    }

    fn call_back(&mut self, site: &CallSite, function: Node, given: &[Given], when: When) {
        let mut arguments = Vec::new();
        for &given in given {
            let argument =
                |index: u8| site.arguments.get(usize::from(index)).and_then(|argument| argument.node);
            let node = match given {
                Given::Nothing => None,
                Given::Argument(index) => argument(index),
                Given::Into(index) => argument(index).map(|node| self.blurred(node)),
                Given::Kept(slot) => Some(self.slot(slot)),
                Given::External => Some(self.external),
            };
            arguments.push(Argument { node, operand: None });
        }
        self.call_with(site, function, arguments, when);
    }

    fn call_with(&mut self, site: &CallSite, function: Node, arguments: Vec<Argument>, when: When) {
        let call = self.add_call(CallSite {
            inst: site.inst,
            arguments,
            by_value: 0,
            result: (when == When::Thread).then(|| self.slot(Slot::Exits)),
            when,
            only_reads: false,
            touches_nothing: false,
        });
        self.rule(function, Rule::Call(call));
    }

    /// The object that a call makes.
    fn heap_object(&mut self, inst: InstId, bytes: Option<u64>) -> ObjectId {
        if let Some(&known) = self.heap.get(&inst) {
            if bytes.is_some() && self.memory.object(known).bytes != bytes {
                self.memory.forget_size(known);
            }
            return known;
        }
        let new = self.memory.add(Object::new(ObjectKind::Heap(inst), bytes));
        self.heap.insert(inst, new);
        new
    }

    fn slot(&self, slot: Slot) -> Node {
        self.slots[slot as usize]
    }

    /// What is stored in what a node points to.
    fn stored(&mut self, node: Option<Node>) -> Option<Node> {
        let node = node?;
        let stored = self.graph.add();
        self.rule(node, Rule::LoadAll(stored));
        Some(stored)
    }

    /// Stores a pointer where an argument points.
    fn put(&mut self, at: Option<Node>, pointer: Node) {
        if let Some(at) = at {
            self.rule(at, Rule::Store(pointer, POINTER));
        }
    }

    fn give(&mut self, site: &CallSite, node: Node) {
        if let Some(result) = site.result {
            self.graph.connect(node, result);
        }
    }

    fn give_blurred(&mut self, site: &CallSite, node: Node) {
        if let Some(result) = site.result {
            self.rule(node, Rule::Blur(result));
        }
    }

    fn give_location(&mut self, site: &CallSite, location: LocationId) {
        if let Some(result) = site.result {
            self.graph.insert(result, location);
        }
    }

    fn reads(&mut self, site: &CallSite, touch: Touch) {
        self.runs.entry(site.inst).or_default().reads.push(touch);
    }

    fn writes(&mut self, site: &CallSite, touch: Touch) {
        self.runs.entry(site.inst).or_default().writes.push(touch);
    }

    fn reads_behind(&mut self, site: &CallSite, node: Option<Node>) {
        if let Some(node) = node {
            self.reads(site, Touch::Behind(node));
        }
    }

    fn writes_behind(&mut self, site: &CallSite, node: Option<Node>) {
        if let Some(node) = node {
            self.writes(site, Touch::Behind(node));
        }
    }

    fn integer(&self, site: &CallSite, index: u8) -> Option<u64> {
        match site.arguments.get(usize::from(index))?.operand? {
            Operand::Int { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The product of arguments; `None` if one is not constant or there are none.
    fn product(&self, site: &CallSite, indices: &[u8]) -> Option<u64> {
        let (&first, others) = indices.split_first()?;
        let first = self.integer(site, first)?;
        others.iter().try_fold(first, |product, &index| product.checked_mul(self.integer(site, index)?))
    }

    /// The text of a format that is constant.
    fn format(&self, site: &CallSite, index: u8) -> Option<Vec<u8>> {
        let Some(Operand::Global(global, offset)) = site.arguments.get(usize::from(index))?.operand else {
            return None;
        };
        let global = &self.code.globals[global.index()];
        match &global.initial {
            Initial::Bytes(bytes) if global.is_constant => {
                bytes.get(usize::try_from(offset).ok()?..).map(<[u8]>::to_vec)
            }
            Initial::Zero => Some(Vec::new()),
            _ => None,
        }
    }
}

/// Whether a format has a conversion, or a modifier, with one of these letters.
fn has_conversion(format: &[u8], letters: &[u8]) -> bool {
    let text = format.split(|&byte| byte == 0).next().unwrap_or_default();
    let mut at = 0;
    while let Some(percent) = text[at..].iter().position(|&byte| byte == b'%') {
        at += percent + 1;
        while let Some(&byte) = text.get(at) {
            if letters.contains(&byte) {
                return true;
            }
            at += 1;
            // Flags, width, precision, lengths: the conversion is the first letter that is none of those.
            if !b"#0- +'*.123456789$hlLqjzt".contains(&byte) {
                break;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::has_conversion;

    #[test]
    fn conversions_are_told_from_other_letters() {
        assert!(has_conversion(b"%d%n\0", b"n"));
        assert!(has_conversion(b"%hhn", b"n"));
        assert!(has_conversion(b"x %12ms", b"m"));
        assert!(!has_conversion(b"n %d number\0%n", b"n"));
        assert!(!has_conversion(b"%%n %-08.3lf", b"n"));
        assert!(!has_conversion(b"", b"n"));
        assert!(!has_conversion(b"100%", b"n"));
    }
}
