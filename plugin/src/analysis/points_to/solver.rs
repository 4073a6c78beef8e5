//! The rules that apply to what nodes point to, until nothing changes.
//!
//! An inclusion-based analysis (Andersen 1994) with offsets (Pearce, Kelly and Hankin 2007): `p = &a` puts a location
//! into p's set; `p = q` is an edge; `p = *q`, `*p = q`, `p = q + n` and calls are rules on q or p that make edges to the
//! [`super::cells`] of what it turns out to point to.

use super::bits::BitSet;
use super::calls::{CallSite, Runs};
use super::cells::Cells;
use super::generate::Key;
use super::graph::{Graph, Node};
use super::library::{Library, Slot};
use super::limits::Limits;
use super::locations::{LocationId, LocationSet};
use super::memory::{Map, Memory, Object, ObjectId, ObjectKind, Set};
use super::start::is_elsewhere;
use crate::ir::code::{Code, FuncId, GlobalId, InstId, Operand, ValueId};

/// What is to be done for each location that a node points to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// What is there, so many bytes long, flows into the node.
    Load(Node, u64),
    /// What is anywhere in the object flows into the node.
    LoadAll(Node),
    /// The node flows there.
    Store(Node, u64),
    /// The node flows to anywhere in the object.
    StoreAll(Node),
    /// The node points so many bytes further.
    Shift(Node, i64),
    /// The node points anywhere in the object.
    Blur(Node),
    /// Memory is copied from there.
    CopyFrom(u32),
    /// Memory is copied to there.
    CopyTo(u32),
    /// It is called.
    Call(u32),
    /// Unknown code gets it.
    Escape,
}

/// Memory that is copied. It goes through an object of its own, so that n sources and m targets are n + m copies.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// The beginning of that object.
    buffer: LocationId,
    /// How much, if that is known.
    bytes: Option<u64>,
}

/// What is known of a function.
#[derive(Clone, Debug, Default)]
pub struct FunctionState {
    /// It may run.
    pub is_active: bool,
    /// What it returns.
    pub result: Option<Node>,
    /// Arguments that have no parameter.
    pub variadic: Option<ObjectId>,
}

/// Objects of some kinds.
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    /// In which no pointers are: functions, texts.
    pub quiet: BitSet,
    /// Which are not written.
    pub constant: BitSet,
    /// Which can be called: functions, unknown code.
    pub called: BitSet,
}

/// The analysis at work.
pub struct Solver<'c, 'm> {
    /// What is analysed.
    pub code: &'c Code<'m>,
    /// Where it stops telling things apart.
    pub(super) limits: Limits,
    /// Objects and locations.
    pub memory: Memory,
    /// Nodes.
    pub graph: Graph<Rule>,
    /// Nodes of places in memory.
    pub cells: Cells,
    /// What library functions do.
    pub library: Library,
    /// Each register's node; none if it never holds a pointer.
    pub values: Vec<Option<Node>>,
    /// Of each function.
    pub functions: Vec<FunctionState>,
    /// Calls, and calls that library functions make.
    pub calls: Vec<CallSite>,
    /// What turned out of each call instruction.
    pub runs: Map<InstId, Runs>,
    /// Functions that run at some time that no call says.
    pub floating: Vec<FuncId>,
    /// Objects that unknown code may reach.
    pub escaped: BitSet,
    /// Objects of some kinds.
    pub kinds: Kinds,
    /// Whether each link of a call and a function was made.
    pub linked: Set<(u32, u32)>,
    /// Heap objects.
    pub heap: Map<InstId, ObjectId>,
    /// Objects of arguments that are passed by value.
    pub by_value: Map<(FuncId, u32), ObjectId>,
    /// What unknown code gets.
    pub escape: Node,
    /// Points to unknown code's memory.
    pub external: Node,
    /// What is in objects that are not told apart any more.
    pub mixed: Node,
    /// What library functions keep.
    pub slots: [Node; Slot::COUNT],
    /// Nodes that point to one location.
    pub constants: Map<LocationId, Node>,
    /// Nodes of equal expressions.
    pub keys: Map<Key, Node>,
    /// Copies.
    pub copies: Vec<Copy>,
    /// Functions whose code is to be looked at.
    pub bodies: Vec<FuncId>,
    /// What loads are known to read.
    pub known: &'c Map<ValueId, Operand>,
    /// Nodes of such loads, which get what a register has as soon as its function's code is looked at.
    pub awaited: Vec<(ValueId, Node)>,
    /// Rules that were added to nodes that already point somewhere.
    late: Vec<(Node, Rule)>,
    first_function: u32,
    first_global: u32,
}

impl<'c, 'm> Solver<'c, 'm> {
    /// Objects of all functions and variables, and nothing that runs.
    pub(super) fn new(code: &'c Code<'m>, known: &'c Map<ValueId, Operand>, limits: Limits) -> Self {
        let mut memory = Memory::new(limits.steps);
        let first_function = memory.objects().len() as u32;
        for index in 0..code.functions.len() as u32 {
            memory.add(Object {
                kind: ObjectKind::Function(FuncId(index)),
                bytes: None,
                is_single: true,
                is_thread_local: false,
                is_constant: true,
            });
        }
        let first_global = memory.objects().len() as u32;
        for (index, global) in code.globals.iter().enumerate() {
            memory.add(Object {
                kind: ObjectKind::Global(GlobalId(index as u32)),
                // An array that is declared without its length has 0.
                bytes: (global.bytes > 0).then_some(global.bytes),
                is_single: !global.is_thread_local,
                is_thread_local: global.is_thread_local,
                is_constant: global.is_constant,
            });
        }
        let mut kinds = Kinds::default();
        kinds.called.insert(ObjectId::EXTERNAL.0);
        for (object, data) in (0..).zip(memory.objects()) {
            let is_quiet = match data.kind {
                ObjectKind::Function(_) => kinds.called.insert(object),
                ObjectKind::Global(global) => {
                    let global = &code.globals[global.index()];
                    data.is_constant && global.pointers.is_empty() && !is_elsewhere(global)
                }
                _ => false,
            };
            if is_quiet {
                kinds.quiet.insert(object);
            }
            if data.is_constant {
                kinds.constant.insert(object);
            }
        }
        let mut graph = Graph::new(limits.new_edges);
        let [escape, external, mixed] = [graph.add(), graph.add(), graph.add()];
        graph.insert(external, LocationId::EXTERNAL);
        graph.add_rule(escape, Rule::Escape);
        let slots = std::array::from_fn(|_| graph.add());
        Solver {
            code,
            limits,
            memory,
            cells: Cells::default(),
            library: Library::new(),
            values: vec![None; code.values.len()],
            functions: vec![FunctionState::default(); code.functions.len()],
            calls: Vec::new(),
            runs: Map::default(),
            floating: Vec::new(),
            escaped: BitSet::default(),
            kinds,
            linked: Set::default(),
            heap: Map::default(),
            by_value: Map::default(),
            escape,
            external,
            mixed,
            slots,
            constants: Map::default(),
            keys: Map::default(),
            copies: Vec::new(),
            bodies: Vec::new(),
            known,
            awaited: Vec::new(),
            late: Vec::new(),
            first_function,
            first_global,
            graph,
        }
    }

    /// A function's object.
    pub fn object_of_function(&self, function: FuncId) -> ObjectId {
        ObjectId(self.first_function + function.0)
    }

    /// A variable's object.
    pub fn object_of_global(&self, global: GlobalId) -> ObjectId {
        ObjectId(self.first_global + global.0)
    }

    /// Applies rules until nothing changes.
    pub fn solve(&mut self) {
        loop {
            while let Some(function) = self.bodies.pop() {
                self.generate(function);
            }
            while let Some((node, rule)) = self.late.pop() {
                let set = self.graph.set(node).clone();
                self.apply(rule, &set);
            }
            self.do_copies();
            if !self.bodies.is_empty() || !self.late.is_empty() {
                continue;
            }
            let Some((node, new, rules)) = self.graph.take() else { break };
            if rules.iter().any(|rule| matches!(rule, Rule::Store(..) | Rule::StoreAll(_))) {
                self.mix(node);
            }
            for &rule in &rules {
                self.apply(rule, &new);
            }
            self.graph.put_back(node, rules);
        }
    }

    /// Adds a rule to a node.
    pub fn rule(&mut self, node: Node, rule: Rule) {
        self.graph.add_rule(node, rule);
        if !self.graph.set(node).is_empty() {
            self.late.push((node, rule));
        }
    }

    /// A node that points to one location.
    pub fn constant(&mut self, location: LocationId) -> Node {
        if let Some(&known) = self.constants.get(&location) {
            return known;
        }
        let node = self.graph.add();
        self.graph.insert(node, location);
        self.constants.insert(location, node);
        node
    }

    /// Copies memory from what one node points to, to what another points to, so much if that is known.
    pub fn copy(&mut self, from: Node, to: Node, bytes: Option<u64>) {
        let buffer = self.memory.add(Object::new(ObjectKind::Buffer, bytes));
        let index = self.copies.len() as u32;
        self.copies.push(Copy { buffer: self.memory.at(buffer, 0), bytes });
        self.rule(from, Rule::CopyFrom(index));
        self.rule(to, Rule::CopyTo(index));
    }

    /// Applies a rule to new members of its node's set. Large sets have mostly members that are anywhere in an object:
    /// as far as possible these are taken together.
    fn apply(&mut self, rule: Rule, new: &LocationSet) {
        match rule {
            Rule::Load(to, bytes) => self.load(new, Some(bytes), to),
            Rule::LoadAll(to) => self.load(new, None, to),
            Rule::Store(from, bytes) => self.store(new, Some(bytes), from),
            Rule::StoreAll(from) => self.store(new, None, from),
            Rule::Shift(to, by) => {
                self.graph.unite(to, &LocationSet::anywhere_in(new.any().clone()));
                for location in new.at_offsets() {
                    let shifted = self.memory.shifted(location, by);
                    self.graph.insert(to, shifted);
                }
            }
            Rule::Blur(to) => self.graph.unite(to, &LocationSet::anywhere_in(new.objects())),
            Rule::CopyFrom(index) => {
                let Copy { buffer, bytes } = self.copies[index as usize];
                for location in new.outside_of(&self.kinds.quiet).iter() {
                    self.copy_between(location, buffer, bytes);
                }
            }
            Rule::CopyTo(index) => {
                let Copy { buffer, bytes } = self.copies[index as usize];
                for location in new.outside_of(&self.kinds.constant).iter() {
                    self.copy_between(buffer, location, bytes);
                }
            }
            Rule::Call(call) => {
                for object in new.any().common(&self.kinds.called).iter() {
                    self.link(call, ObjectId(object));
                }
            }
            Rule::Escape => {
                for object in new.objects().without(&self.escaped).iter() {
                    self.let_escape(ObjectId(object));
                }
            }
        }
    }

    /// Unknown code has a pointer to an object: it may store there what it has, read what is there, and call it.
    pub fn let_escape(&mut self, object: ObjectId) {
        if !self.escaped.insert(object.0) {
            return;
        }
        match self.memory.object(object).kind {
            ObjectKind::External => {}
            ObjectKind::Function(function) => self.let_unknown_call(function),
            _ => {
                self.graph.hide(object);
                let all = self.all_of(object);
                self.graph.connect(all, self.escape);
                if !self.memory.object(object).is_constant {
                    let into = self.inside_of(object);
                    self.graph.insert(into, LocationId::EXTERNAL);
                }
            }
        }
    }
}
