//! Calls: what they pass to functions with a body, and to unknown code. Functions become active when something may call
//! them; the code of others is not looked at.

use super::graph::Node;
use super::library::When;
use super::locations::LocationId;
use super::memory::{Object, ObjectId, ObjectKind};
use super::solver::{Rule, Solver};
use crate::ir::code::{FuncId, InstId, Operand, Ty};

/// A call in the code, or one that a library function makes.
#[derive(Clone, Debug)]
pub struct CallSite {
    /// The call in the code.
    pub inst: InstId,
    /// What is passed.
    pub arguments: Vec<Argument>,
    /// Bit i: argument i is passed by value.
    pub by_value: u64,
    /// What comes back.
    pub result: Option<Node>,
    /// When what is called runs.
    pub when: When,
    /// LLVM knows that what is called does not write memory.
    pub only_reads: bool,
    /// LLVM knows that what is called touches no memory.
    pub touches_nothing: bool,
}

/// What a call passes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Argument {
    /// Where it may point.
    pub node: Option<Node>,
    /// As it stands in the code, if it does.
    pub operand: Option<Operand>,
}

/// What a call leads to.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// Functions with bodies that run during the call.
    pub now: Vec<FuncId>,
    /// Functions with bodies in which it starts a thread.
    pub starts: Vec<FuncId>,
    /// Unknown code runs.
    pub is_unknown: bool,
    /// What library functions read.
    pub reads: Vec<Touch>,
    /// What library functions write.
    pub writes: Vec<Touch>,
}

/// Memory that a library function touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Touch {
    /// What a node points to.
    Behind(Node),
    /// An object.
    Object(ObjectId),
    /// All that unknown code may reach.
    Escaped,
}

/// In [`Solver::linked`]: unknown code.
const UNKNOWN: u32 = u32::MAX;

impl Solver<'_, '_> {
    /// Notes a call; what it calls is for the caller to say.
    pub fn add_call(&mut self, site: CallSite) -> u32 {
        self.calls.push(site);
        self.calls.len() as u32 - 1
    }

    /// A call may come to an object.
    pub fn link(&mut self, call: u32, object: ObjectId) {
        match self.memory.object(object).kind {
            ObjectKind::Function(function) => self.link_function(call, function),
            ObjectKind::External => self.link_unknown(call),
            _ => {}
        }
    }

    /// A call may come to a function.
    pub fn link_function(&mut self, call: u32, function: FuncId) {
        if !self.linked.insert((call, function.0)) {
            return;
        }
        let facts = self.code.function(function);
        if facts.blocks.is_empty() {
            self.model(call, function);
            return;
        }
        if facts.is_interposable {
            self.link_unknown(call);
        }
        self.activate(function);
        let site = self.calls[call as usize].clone();
        for (index, argument) in site.arguments.iter().enumerate() {
            let Some(node) = argument.node else { continue };
            let is_by_value = index < 64 && site.by_value >> index & 1 != 0;
            match facts.parameters.get(index) {
                Some(&parameter) => {
                    let Some(to) = self.values[parameter.index()] else { continue };
                    if is_by_value {
                        self.pass_by_value(function, index as u32, node, to);
                    } else {
                        self.graph.connect(node, to);
                    }
                }
                None => {
                    if let Some(object) = self.functions[function.index()].variadic {
                        let into = self.inside_of(object);
                        self.graph.connect(node, into);
                        if is_by_value {
                            self.rule(node, Rule::LoadAll(into));
                        }
                    }
                }
            }
        }
        if let (Some(result), Some(returned)) = (site.result, self.functions[function.index()].result) {
            self.graph.connect(returned, result);
        }
        let runs = self.runs.entry(site.inst).or_default();
        let list = match site.when {
            When::Now => &mut runs.now,
            When::Thread => &mut runs.starts,
            When::Later => &mut self.floating,
        };
        if !list.contains(&function) {
            list.push(function);
        }
    }

    fn pass_by_value(&mut self, function: FuncId, index: u32, from: Node, to: Node) {
        let known = self.by_value.get(&(function, index)).copied();
        let object = known.unwrap_or_else(|| {
            let object = self.memory.add(Object::new(ObjectKind::ByValue(function, index), None));
            self.by_value.insert((function, index), object);
            object
        });
        let location = self.memory.at(object, 0);
        self.graph.insert(to, location);
        let target = self.constant(location);
        self.copy(from, target, None);
    }

    /// A call may come to unknown code, unless LLVM knows better.
    pub fn link_unknown(&mut self, call: u32) {
        if !self.linked.insert((call, UNKNOWN)) {
            return;
        }
        let site = self.calls[call as usize].clone();
        if site.touches_nothing || site.only_reads {
            self.link_reader(&site);
            return;
        }
        for argument in site.arguments.iter().filter_map(|argument| argument.node) {
            self.graph.connect(argument, self.escape);
        }
        self.give_external(&site);
        if site.when == When::Now {
            self.runs.entry(site.inst).or_default().is_unknown = true;
        }
    }

    /// Unknown code that keeps nothing and writes nothing: it may give what it finds.
    fn link_reader(&mut self, site: &CallSite) {
        let found = self.graph.add();
        for argument in site.arguments.iter().filter_map(|argument| argument.node) {
            self.rule(argument, Rule::Blur(found));
        }
        if !site.touches_nothing {
            self.close(found);
            let runs = self.runs.entry(site.inst).or_default();
            runs.reads.extend([Touch::Behind(found), Touch::Escaped]);
        }
        if let Some(result) = site.result {
            self.graph.connect(found, result);
        }
        self.give_external(site);
    }

    /// Makes a node point to all that can be reached from what it points to.
    pub fn close(&mut self, node: Node) {
        let stored = self.graph.add();
        self.rule(node, Rule::LoadAll(stored));
        self.rule(stored, Rule::Blur(node));
    }

    fn give_external(&mut self, site: &CallSite) {
        if let Some(result) = site.result {
            self.graph.insert(result, LocationId::EXTERNAL);
        }
    }

    /// From now on a function's code counts.
    pub fn activate(&mut self, function: FuncId) {
        let facts = self.code.function(function);
        if self.functions[function.index()].is_active || facts.blocks.is_empty() {
            return;
        }
        let result = self.graph.add();
        let variadic =
            facts.is_variadic.then(|| self.memory.add(Object::new(ObjectKind::Variadic(function), None)));
        let state = &mut self.functions[function.index()];
        state.is_active = true;
        state.result = Some(result);
        state.variadic = variadic;
        for &parameter in &facts.parameters {
            self.values[parameter.index()] = Some(self.graph.add());
        }
        self.bodies.push(function);
    }

    /// Unknown code may call a function, with what it has.
    pub fn let_unknown_call(&mut self, function: FuncId) {
        self.activate(function);
        for &parameter in &self.code.function(function).parameters {
            let is_wide = match self.code.value(parameter).ty {
                Ty::Int(width) => width >= 64,
                Ty::Ptr | Ty::Other => true,
            };
            if let Some(node) = self.values[parameter.index()].filter(|_| is_wide) {
                self.graph.insert(node, LocationId::EXTERNAL);
            }
        }
        let state = &self.functions[function.index()];
        let (result, variadic) = (state.result, state.variadic);
        if let Some(result) = result {
            self.graph.connect(result, self.escape);
        }
        if let Some(object) = variadic {
            let into = self.inside_of(object);
            self.graph.insert(into, LocationId::EXTERNAL);
        }
    }
}
