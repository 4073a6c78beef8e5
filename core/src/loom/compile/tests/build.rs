//! Programs for tests, from text. A line is a statement of a function's body:
//!
//! ```text
//! unit log.cc                  a unit, with its source file
//! fn new_file internal taken   a function; also `limit=WHY`, `line=5`, `shape=3`
//!   var this                   a variable, `mem` if it is in memory, `line=6`, `gone=7` if it has no value at line 7
//!   L: @5 call close           a label, a line, what is there
//!   @20(f#1)<5 nop             line 20 of f, inlined at line 5
//!   @6 call! open unwind=P     `call!` is released; P is where exceptions land
//!   @7 call! pthread_create start=f
//!   @7 if E                    goes on, or to E
//!   @8 loop L                  a back edge
//!   @- call inner              of no line
//!   goto L | return | unwind | stop | landing
//!   O: @6 out                  where an exception leaves the function that passes a call of this line: no slot
//! ```
//! A slot is put on every edge between different lines, behind the entry and before returns.

use crate::loom::compile::{LinkedUnit, Program};
use crate::loom::table::{
    Function, Line, Point, PointKind, Precision, Start, Target, UnitTable, Variable, NONE,
};
use std::collections::HashMap;

#[derive(Default)]
struct Texts(Vec<String>);

impl Texts {
    fn get(&mut self, text: &str) -> u32 {
        let found = self.0.iter().position(|known| known == text);
        found.unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        }) as u32
    }
}

struct Node {
    kind: PointKind,
    chain: Vec<Line>,
    /// Labels, or `None` for what comes next.
    next: Vec<Option<String>>,
}

struct Unit {
    file: String,
    texts: Texts,
    chains: Vec<Vec<Line>>,
    chain_numbers: HashMap<Vec<Line>, u32>,
    functions: Vec<Function>,
    locations: u32,
    slots: u32,
}

impl Unit {
    fn chain(&mut self, chain: &[Line]) -> u32 {
        let next = self.chains.len() as u32;
        let number = *self.chain_numbers.entry(chain.to_vec()).or_insert(next);
        if number == next {
            self.chains.push(chain.to_vec());
        }
        number
    }

    fn location(&mut self) -> u32 {
        self.locations += 1;
        self.locations - 1
    }

    fn parse_chain(&mut self, text: &str, own: &str) -> Vec<Line> {
        let file = self.texts.get(&self.file.clone());
        text.split('<')
            .map(|part| {
                let (line, function) = part.split_once('(').unwrap_or((part, own));
                let function = function.trim_end_matches(')');
                let (name, copy) = function.split_once('#').unwrap_or((function, "0"));
                Line {
                    function: self.texts.get(name),
                    file,
                    line: line.parse().expect("a line"),
                    copy: copy.parse().expect("a copy"),
                }
            })
            .collect()
    }

    fn function(&mut self, head: &str, body: &[&str]) {
        let mut words = head.split_whitespace();
        let name = words.next().expect("a name");
        let options: Vec<&str> = words.collect();
        let option = |key: &str| options.iter().find_map(|word| word.strip_prefix(key));
        let limit = option("limit=").unwrap_or("").to_owned();
        let file = self.file.clone();
        let mut function = Function {
            name: self.texts.get(name),
            id: 0,
            file: self.texts.get(&file),
            line: option("line=").map_or(1, |line| line.parse().expect("a line")),
            internal: options.contains(&"internal"),
            address_taken: options.contains(&"taken"),
            shape: option("shape=").map_or(0, |shape| shape.parse().expect("a shape")),
            limit,
            points: vec![],
            variables: vec![],
            accesses: vec![],
        };
        let mut gone: Vec<u32> = Vec::new();
        let mut labels: HashMap<String, usize> = HashMap::new();
        let location = self.location();
        let mut nodes = vec![Node { kind: PointKind::Entry { location }, chain: vec![], next: vec![None] }];
        for text in body {
            let mut text = text.trim();
            if let Some(variable) = text.strip_prefix("var ") {
                let mut words = variable.split_whitespace();
                let name = words.next().expect("a name");
                let rest: Vec<&str> = words.collect();
                let option = |key: &str| rest.iter().find_map(|word| word.strip_prefix(key));
                function.variables.push(Variable {
                    name: name.to_owned(),
                    function: function.name,
                    copy: 0,
                    file: function.file,
                    line: option("line=").map_or(1, |line| line.parse().expect("a line")),
                    index: function.variables.len() as u32,
                    in_memory: rest.contains(&"mem"),
                });
                gone.push(option("gone=").map_or(0, |line| line.parse().expect("a line")));
                continue;
            }
            if let Some((label, rest)) = text.split_once(": ") {
                labels.insert(label.to_owned(), nodes.len());
                text = rest.trim();
            }
            let mut chain = nodes.last().expect("the entry").chain.clone();
            if let Some(rest) = text.strip_prefix('@') {
                let (lines, rest) = rest.split_once(' ').unwrap_or((rest, "nop"));
                chain = if lines == "-" { vec![] } else { self.parse_chain(lines, name) };
                text = rest;
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let mut plain = |kind, next| nodes.push(Node { kind, chain: chain.clone(), next });
            match words.as_slice() {
                ["nop"] => plain(PointKind::Join, vec![None]),
                ["landing"] => plain(PointKind::Landing { location: NONE }, vec![None]),
                ["if", label] => plain(PointKind::Join, vec![None, Some((*label).to_owned())]),
                ["goto", label] => plain(PointKind::Join, vec![Some((*label).to_owned())]),
                ["loop", label] => {
                    let location = self.location();
                    plain(PointKind::Check { location }, vec![Some((*label).to_owned())]);
                }
                ["return"] => {
                    plain(PointKind::Join, vec![None]);
                    nodes.push(Node { kind: PointKind::Return, chain: vec![], next: vec![] });
                }
                ["unwind"] => {
                    plain(PointKind::Join, vec![None]);
                    nodes.push(Node { kind: PointKind::Unwind, chain: vec![], next: vec![] });
                }
                ["stop"] => plain(PointKind::Stop, vec![]),
                ["out"] => plain(PointKind::Unwind, vec![]),
                [call @ ("call" | "call!"), callee, rest @ ..] => {
                    let target = match callee.strip_prefix('*') {
                        Some(shape) => Target::Shape(shape.parse().expect("a shape")),
                        None => Target::Named(self.texts.get(callee)),
                    };
                    let location = if *call == "call!" { self.location() } else { NONE };
                    let unwind = rest.iter().find_map(|word| word.strip_prefix("unwind="));
                    let next = std::iter::once(None).chain(unwind.map(|label| Some(label.to_owned())));
                    let starts = rest.iter().filter_map(|word| word.strip_prefix("start="));
                    let starts = starts.map(|name| Start::Named(self.texts.get(name))).collect();
                    plain(PointKind::Call { target, location, starts, is_last: false }, next.collect());
                }
                other => panic!("what is {other:?}?"),
            }
        }
        self.link(&mut function, nodes, &labels, &gone);
        self.functions.push(function);
    }

    fn link(
        &mut self,
        function: &mut Function,
        nodes: Vec<Node>,
        labels: &HashMap<String, usize>,
        gone: &[u32],
    ) {
        let with_slots = function.limit.is_empty();
        for node in &nodes {
            let chain = self.chain(&node.chain);
            function.points.push(Point { kind: node.kind.clone(), chain, next: vec![] });
        }
        for (index, node) in nodes.iter().enumerate() {
            for next in &node.next {
                let target = next.as_ref().map_or(index + 1, |label| labels[label]);
                let mut to = target as u32;
                let differ = node.chain != nodes[target].chain || index == 0;
                if with_slots && differ {
                    let from = self.chain(&node.chain);
                    let chain = self.chain(&nodes[target].chain);
                    let here = |line: u32| {
                        node.chain.iter().chain(&nodes[target].chain).any(|other| other.line == line)
                    };
                    let available =
                        (0..gone.len() as u32).filter(|&index| !here(gone[index as usize])).collect();
                    let slot = PointKind::Slot { slot: self.slots, from, available };
                    self.slots += 1;
                    to = function.points.len() as u32;
                    function.points.push(Point { kind: slot, chain, next: vec![target as u32] });
                }
                function.points[index].next.push(to);
            }
        }
    }

    fn finish(self) -> LinkedUnit {
        let table = UnitTable {
            unit: self.file,
            precision: Precision::Late,
            is_for_lto: false,
            strings: self.texts.0,
            chains: self.chains,
            functions: self.functions,
            taken: vec![],
            original: None,
        };
        let hash = table.encode().1;
        LinkedUnit {
            hash,
            address: 0x1000,
            file: 0,
            function_count: table.functions.len() as u32,
            location_count: self.locations + self.slots,
            slot_count: self.slots,
            table,
        }
    }
}

/// A program from text.
pub(super) fn program(text: &str) -> Program {
    let mut units: Vec<Unit> = Vec::new();
    let mut head = None;
    let mut body: Vec<&str> = Vec::new();
    let lines =
        text.lines().map(|line| line.split('#').next().filter(|_| !line.contains('(')).unwrap_or(line));
    for line in lines.chain(["unit end"]) {
        let line = line.trim();
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        if matches!(first, "unit" | "fn") {
            if let (Some(head), Some(unit)) = (head.take(), units.last_mut()) {
                unit.function(head, &std::mem::take(&mut body));
            }
        }
        match first {
            "" => {}
            "unit" => units.push(Unit {
                file: rest.to_owned(),
                texts: Texts::default(),
                chains: vec![vec![]],
                chain_numbers: HashMap::from([(vec![], 0)]),
                functions: vec![],
                locations: 0,
                slots: 0,
            }),
            "fn" => head = Some(rest),
            _ => body.push(line),
        }
    }
    units.pop();
    Program { units: units.into_iter().map(Unit::finish).collect() }
}
