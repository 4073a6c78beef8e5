//! What debug info says about variables and types, for expressions in filters: [`Types`] over DWARF 4 and 5.
//!
//! - [`file`]: a linked file's units, and references between entries
//! - [`index`]: what a unit declares; made for a unit when it is first asked about
//! - [`shape`]: what types are, how long, and what is in them
//!
//! Limits: debug info in other files (`-gsplit-dwarf`, separate debug files) and compressed debug info are not read; members
//! of virtual base classes have no fixed offset and are not found. [`Debug::why_missing`] says which of these may be why
//! something was not found.

mod file;
mod index;
mod shape;

use super::images::Image;
use covsched_core::loom::compile::{Field, Form, Global, LinkedUnit, LocalVariable, TypeId, Types};
use file::{DebugFile, Die};
use gimli::UnitOffset;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, HashMap};

/// Debug info of a program.
pub struct Debug<'a> {
    units: &'a [LinkedUnit],
    /// As [`LinkedUnit::file`].
    files: Vec<LazyFile<'a>>,
    /// Whether something was asked for that is not there.
    missed: Cell<bool>,
}

struct LazyFile<'a> {
    bytes: &'a [u8],
    name: &'a str,
    file: OnceCell<DebugFile<'a>>,
    names: OnceCell<Names<'a>>,
}

/// A unit of debug info, and the number of something in its index.
type Numbered = (usize, usize);

/// All of a file's variables and records by name.
#[derive(Default)]
struct Names<'a> {
    variables: HashMap<&'a [u8], Vec<Numbered>>,
    records: HashMap<&'a [u8], Vec<Numbered>>,
}

/// An entry of one of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct At {
    file: usize,
    die: Die,
    /// Of an array: how many of its dimensions are behind us.
    dimension: usize,
}

impl At {
    // 8 bits file, 6 dimension, 18 unit, 32 offset.
    fn id(self) -> TypeId {
        let Die { unit, offset } = self.die;
        let id = (self.file as u64) << 56 | (self.dimension as u64) << 50 | (unit as u64) << 32;
        TypeId(id | offset.0 as u64)
    }

    fn of(id: TypeId) -> At {
        let unit = (id.0 >> 32 & 0x3_ffff) as usize;
        let die = Die { unit, offset: UnitOffset((id.0 & 0xffff_ffff) as usize) };
        At { file: (id.0 >> 56) as usize, die, dimension: (id.0 >> 50 & 0x3f) as usize }
    }
}

impl<'a> Debug<'a> {
    /// Of a program's files; nothing is read yet.
    pub fn new(files: &'a [Image], units: &'a [LinkedUnit]) -> Debug<'a> {
        Debug::of_bytes(files.iter().map(|file| (file.name.as_str(), file.bytes())), units)
    }

    fn of_bytes(files: impl Iterator<Item = (&'a str, &'a [u8])>, units: &'a [LinkedUnit]) -> Debug<'a> {
        let lazy = |(name, bytes)| LazyFile { bytes, name, file: OnceCell::new(), names: OnceCell::new() };
        Debug { units, files: files.map(lazy).collect(), missed: Cell::new(false) }
    }

    fn file(&self, file: usize) -> &DebugFile<'a> {
        let lazy = &self.files[file];
        lazy.file.get_or_init(|| DebugFile::read(lazy.bytes))
    }

    fn names(&self, file: usize) -> &Names<'a> {
        self.files[file].names.get_or_init(|| {
            let found = self.file(file);
            let mut names = Names::default();
            for unit in 0..found.units.len() {
                let index = found.index(unit);
                for (number, variable) in index.variables.iter().enumerate() {
                    names.variables.entry(variable.name).or_default().push((unit, number));
                }
                for (number, record) in index.records.iter().enumerate() {
                    names.records.entry(record.name).or_default().push((unit, number));
                }
            }
            names
        })
    }

    /// Why something that was asked for may not have been found, in words; nothing if nothing was missed, or if all
    /// debug info is there.
    pub fn why_missing(&self) -> Vec<String> {
        if !self.missed.get() {
            return Vec::new();
        }
        let mut reasons = BTreeSet::new();
        for (number, lazy) in self.files.iter().enumerate() {
            let file = self.file(number);
            if let Some(limit) = file.limit {
                reasons.insert(format!("{} {limit}", lazy.name));
                continue;
            }
            for unit in self.units.iter().filter(|unit| unit.file == number) {
                reasons.extend(self.limit_of_unit(file, unit));
            }
        }
        reasons.into_iter().collect()
    }

    fn limit_of_unit(&self, file: &DebugFile<'a>, unit: &LinkedUnit) -> Option<String> {
        let name = &unit.table.unit;
        // What only says where the rest is has no name.
        if file.units.iter().any(|unit| unit.is_split) {
            return Some(format!(
                "{name} has its debug info in another file; compile it without -gsplit-dwarf"
            ));
        }
        let ours = units_of(file, unit);
        if ours.is_empty() {
            return Some(format!("{name} has no debug info: no variables; compile it with -g"));
        }
        let lines_only = ours.iter().all(|&ours| !file.index(ours).has_types);
        lines_only.then(|| {
            format!("{name} was compiled with -gline-tables-only (or -g1): no variables; compile it with -g")
        })
    }

    /// A local variable's type, looked for in some units.
    fn local_in(&self, file: usize, units: &[usize], variable: &LocalVariable<'_>) -> Option<TypeId> {
        let debug = self.file(file);
        // Where several of its name are there, the line tells; `this` and the like have none.
        let mut nameless = None;
        for &unit in units {
            let functions = debug.index(unit).functions.get(variable.function.as_bytes());
            for &function in functions.into_iter().flatten() {
                for die in locals(debug, Die { unit, offset: function }, variable.name.as_bytes()) {
                    let Some(of) = debug.type_of(die) else { continue };
                    let line = debug.number(die, gimli::DW_AT_decl_line).unwrap_or(0);
                    let id = At { file, die: of, dimension: 0 }.id();
                    if line == u64::from(variable.line) {
                        return Some(id);
                    }
                    if line == 0 || variable.line == 0 {
                        nameless = nameless.or(Some(id));
                    }
                }
            }
        }
        nameless
    }

    /// The definition of a record that is only declared, in any file.
    fn definition(&self, at: At) -> At {
        let file = self.file(at.file);
        let declared = file.entry(at.die).is_some_and(|entry| {
            matches!(entry.attr_value(gimli::DW_AT_declaration), Ok(Some(gimli::AttributeValue::Flag(true))))
        });
        if !declared {
            return at;
        }
        if let Some((found, value)) = file.attribute(at.die, gimli::DW_AT_signature) {
            if let Some(die) = file.target(found.unit, value) {
                return At { file: at.file, die, dimension: 0 };
            }
        }
        let Some(name) = file.text(at.die, gimli::DW_AT_name) else { return at };
        // The declaration's own scope is not at hand; a name that only one scope has will do.
        let mut found: Vec<(At, Vec<&[u8]>)> = Vec::new();
        let own = std::iter::once(at.file);
        for other in own.chain((0..self.files.len()).filter(|&other| other != at.file)) {
            let debug = self.file(other);
            for &(unit, number) in self.names(other).records.get(name).into_iter().flatten() {
                let index = debug.index(unit);
                let record = &index.records[number];
                let die = Die { unit, offset: record.die };
                found.push((At { file: other, die, dimension: 0 }, index.scopes_of_record(record)));
            }
        }
        match found.split_first() {
            Some(((first, scopes), others)) if others.iter().all(|(_, other)| other == scopes) => *first,
            _ => at,
        }
    }

    /// The linked unit that a unit of debug info belongs to, or one of the same file.
    fn linked_unit(&self, file: usize, unit: usize) -> Option<usize> {
        let debug = self.file(file);
        let of_file = || (0..self.units.len()).filter(|&at| self.units[at].file == file);
        of_file().find(|&at| units_of(debug, &self.units[at]).contains(&unit)).or_else(|| of_file().next())
    }

    fn miss(&self) {
        self.missed.set(true);
    }
}

impl Types for Debug<'_> {
    fn local(&self, variable: &LocalVariable<'_>) -> Option<TypeId> {
        let unit = self.units.get(variable.unit)?;
        let debug = self.file(unit.file);
        let ours = units_of(debug, unit);
        let found = self.local_in(unit.file, &ours, variable).or_else(|| {
            // Link-time optimization brings functions of other units here.
            let others: Vec<usize> = (0..debug.units.len()).filter(|unit| !ours.contains(unit)).collect();
            self.local_in(unit.file, &others, variable)
        });
        if found.is_none() {
            self.miss();
        }
        found
    }

    fn globals(&self, name: &str) -> Vec<Global> {
        let mut path = name.rsplit("::").map(str::as_bytes).filter(|part| !part.is_empty());
        let Some(last) = path.next() else { return Vec::new() };
        let around: Vec<&[u8]> = path.collect();
        // Those whose scopes are all named are meant rather than those where some are left out.
        let mut exact = Vec::new();
        let mut others = Vec::new();
        for file in 0..self.files.len() {
            let debug = self.file(file);
            for &(unit, number) in self.names(file).variables.get(last).into_iter().flatten() {
                let index = debug.index(unit);
                let variable = &index.variables[number];
                let scopes = index.scopes_of_variable(variable);
                if !scopes.starts_with(&around) {
                    continue;
                }
                let die = Die { unit, offset: variable.die };
                let (Some(of), Some(linked)) = (debug.type_of(die), self.linked_unit(file, unit)) else {
                    continue;
                };
                let function = variable.function.map(|name| String::from_utf8_lossy(name).into_owned());
                let global = Global {
                    unit: linked,
                    address: variable.address,
                    of: At { file, die: of, dimension: 0 }.id(),
                    internal: function.is_some() || !debug.flag(die, gimli::DW_AT_external),
                    function,
                };
                let list = if scopes.len() == around.len() { &mut exact } else { &mut others };
                let known = |other: &Global| other.address == global.address && other.unit == global.unit;
                if !list.iter().any(|other| global.address.is_some() && known(other)) {
                    list.push(global);
                }
            }
        }
        let found = if exact.is_empty() { others } else { exact };
        if found.is_empty() {
            self.miss();
        }
        found
    }

    fn form(&self, of: TypeId) -> Form {
        shape::form(self, At::of(of))
    }

    fn size(&self, of: TypeId) -> Option<u64> {
        shape::size(self, At::of(of))
    }

    fn field(&self, record: TypeId, name: &str) -> Option<Field> {
        let found = shape::field(self, At::of(record), name.as_bytes());
        if found.is_none() {
            self.miss();
        }
        found
    }

    fn fields(&self, record: TypeId) -> Vec<String> {
        shape::fields(self, At::of(record))
    }

    fn name(&self, of: TypeId) -> String {
        shape::name(self, At::of(of))
    }
}

/// The units of debug info of a linked unit: of its source file. Two of one name differ in their folder.
fn units_of(file: &DebugFile<'_>, unit: &LinkedUnit) -> Vec<usize> {
    let named = |at: &usize| file.units[*at].name == unit.table.unit.as_bytes();
    let mut found: Vec<usize> = (0..file.units.len()).filter(named).collect();
    if found.len() > 1 {
        let whole = |at: &usize| {
            let unit = &file.units[*at];
            [unit.folder, b"/", unit.name].concat()
        };
        let files: Vec<&[u8]> = unit.table.strings.iter().map(|text| text.as_bytes()).collect();
        let ours: Vec<usize> = found.iter().copied().filter(|at| files.contains(&&*whole(at))).collect();
        if !ours.is_empty() {
            found = ours;
        }
    }
    found
}

/// The variables and parameters of a function that have a name; not those of functions in it, inlined ones too.
fn locals(file: &DebugFile<'_>, function: Die, name: &[u8]) -> Vec<Die> {
    let mut found = Vec::new();
    let unit = &file.units[function.unit].unit;
    let Ok(mut entries) = unit.entries_at_offset(function.offset) else { return found };
    let mut depth = 0;
    // Inside of something that is passed by: its depth.
    let mut beside: Option<isize> = None;
    let mut first = true;
    while let Ok(Some((change, entry))) = entries.next_dfs() {
        depth += change;
        if std::mem::take(&mut first) {
            depth = 0;
            continue;
        }
        if depth <= 0 {
            break;
        }
        if beside.is_some_and(|at| depth > at) {
            continue;
        }
        beside = None;
        match entry.tag() {
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                let die = Die { unit: function.unit, offset: entry.offset() };
                if file.text(die, gimli::DW_AT_name) == Some(name) {
                    found.push(die);
                }
            }
            gimli::DW_TAG_lexical_block => {}
            _ => beside = Some(depth),
        }
    }
    found
}

#[cfg(test)]
mod tests;
