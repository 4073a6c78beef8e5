//! A unit's table, from its functions as loom's pass left them, and from its bitcode from before optimization.

use super::graph::{self, Lines, Places, Texts};
use crate::bitcode;
use crate::instrument::plan::file_of_sites;
use crate::ir::{Function, FunctionFacts, Module};
use covsched_core::hash::Hasher;
use covsched_core::loom::table::{self, AccessKind, OriginalFunction, Precision, UnitTable};
use covsched_core::site::BITCODE_SECTION;
use std::collections::{HashMap, HashSet};

/// A function that the pass has done. Its place in the list is the number of its byte.
#[derive(Clone, Debug)]
pub struct Done<'m> {
    /// The function, or the body of one whose symbol a wrapper has.
    pub function: Function<'m>,
    /// Its linkage name: that of the wrapper if there is one.
    pub name: String,
    /// Why it has no slow path; empty if it has one.
    pub limit: String,
    /// Whether it has slots.
    pub has_slots: bool,
}

/// Keeps variables' values for slots, if wanted, and describes the unit. `cells`: the location of each call cell.
pub fn describe<'m>(
    module: Module<'m>,
    functions: &[Done<'m>],
    cells: &[u32],
    precision: Precision,
    with_variables: bool,
) -> UnitTable {
    let unit = module.source_name();
    let all = module.functions();
    let by_name: HashMap<&str, &FunctionFacts<'m>> =
        all.iter().map(|facts| (facts.name.as_str(), facts)).collect();
    let mut texts = Texts::default();
    let described = functions
        .iter()
        .map(|done| {
            let facts = by_name.get(done.name.as_str()).expect("the pass names functions of the module");
            one(&mut texts, &unit, done, facts, cells, with_variables)
        })
        .collect();
    let mut taken: Vec<String> = all
        .iter()
        .filter(|facts| !facts.is_intrinsic() && !facts.internal && !facts.is_exact())
        .filter(|facts| facts.function.address_is_taken())
        .map(|facts| graph::original_name(&facts.name).to_owned())
        .collect();
    taken.sort();
    let taken = taken.iter().map(|name| texts.text(name)).collect();
    let original = match precision {
        Precision::Late => originals(module, &mut texts),
        Precision::Precise => None,
    };
    let Texts { strings, chains, .. } = texts;
    // Clang's own, on modules that the linker is to optimize.
    let is_for_lto = ["ThinLTO", "EnableSplitLTOUnit"].into_iter().any(|flag| module.has_flag(flag));
    UnitTable { unit, precision, is_for_lto, strings, chains, functions: described, taken, original }
}

fn one<'m>(
    texts: &mut Texts,
    unit: &str,
    done: &Done<'m>,
    facts: &FunctionFacts<'m>,
    cells: &[u32],
    with_variables: bool,
) -> table::Function {
    let name = texts.text(&done.name);
    let mut places = Places::new(name);
    let variables = if done.has_slots && with_variables { done.function.keep_variables() } else { vec![] };
    let lines = if done.has_slots { Lines::Slots } else { Lines::WithoutSlots };
    let blocks = done.function.slow_path(!done.has_slots);
    let graph = graph::build(texts, &mut places, &blocks, lines, cells);
    let variables = variables
        .iter()
        .enumerate()
        .map(|(index, facts)| {
            let declaration = &facts.declaration;
            let (function, copy) = places.copy(texts, &declaration.function, declaration.inlined_at);
            table::Variable {
                name: facts.name.clone(),
                function,
                copy,
                file: texts.text(&declaration.file),
                line: declaration.line,
                index: index as u32,
                in_memory: facts.in_memory,
            }
        })
        .collect();
    let (file, line) = done.function.definition();
    let id_file = file_of_sites(facts, unit);
    table::Function {
        name,
        id: Hasher::default().field(&done.name).field(id_file).finish(),
        file: texts.text(&file),
        line,
        internal: facts.internal,
        address_taken: facts.function.address_is_taken(),
        shape: graph::shape_hash(&facts.function.shape()),
        limit: done.limit.clone(),
        points: graph.points,
        variables,
        accesses: graph.accesses,
    }
}

/// What the unit's functions were, as far as something is left of them; `None` if no bitcode was kept. A module of
/// link-time optimization has several units'.
fn originals(module: Module<'_>, texts: &mut Texts) -> Option<Vec<OriginalFunction>> {
    let section = module.section_data(BITCODE_SECTION).concat();
    let parts = bitcode::split(&section).ok().filter(|parts| !parts.is_empty())?;
    let mut found = Vec::new();
    for part in parts {
        let before = bitcode::read(&part.unit, part.bitcode).ok()?;
        found.extend(originals_of(before.module(), texts));
    }
    Some(found)
}

/// What functions were in a module from before optimization, as far as a chain of lines names them, or they were called by
/// such. Their locals are put into registers.
pub(super) fn originals_of(before: Module<'_>, texts: &mut Texts) -> Vec<OriginalFunction> {
    let mut wanted: HashSet<table::Text> = texts.chains.iter().flatten().map(|line| line.function).collect();
    let mut found: HashMap<table::Text, OriginalFunction> = HashMap::new();
    for facts in before.functions().iter().filter(|facts| facts.has_body() && !facts.is_naked()) {
        facts.function.promote_locals();
        let name = texts.text(&facts.name);
        let graph =
            graph::build(texts, &mut Places::new(name), &facts.function.slow_path(true), Lines::AsSlots, &[]);
        found.insert(name, OriginalFunction { name, points: graph.points, accesses: graph.accesses });
    }
    // What functions of which something is left call may have been theirs, and is gone.
    let mut open: Vec<table::Text> = wanted.iter().copied().collect();
    while let Some(name) = open.pop() {
        let accesses = found.get(&name).map_or(&[][..], |function| &function.accesses);
        let callees = accesses.iter().filter(|access| access.kind == AccessKind::Call);
        open.extend(callees.map(|call| call.callee).filter(|&callee| wanted.insert(callee)));
    }
    let mut kept: Vec<OriginalFunction> = found
        .into_values()
        .filter(|function| wanted.contains(&function.name) && !function.accesses.is_empty())
        .collect();
    kept.sort_by_key(|function| function.name);
    kept
}
