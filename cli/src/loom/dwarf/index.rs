//! What a unit of debug info declares, found in one pass over its entries: functions by linkage name, variables with
//! a place of their own, definitions of records. Entries of other kinds are passed by unread.

use super::file::{DebugFile, Die, Slice};
use gimli::{AttributeValue, DwAt, Operation, UnitOffset};
use std::collections::HashMap;

/// What is around a declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ScopeKind {
    /// A namespace or record.
    Named,
    /// A function.
    Function,
    /// A copy of a function in another: what is in it is found in the original.
    Inlined,
}

/// A namespace, record or function.
struct Scope<'a> {
    kind: ScopeKind,
    /// Empty if it has none, as nameless namespaces. Of a function its linkage name.
    name: &'a [u8],
    parent: Option<usize>,
}

/// A variable that is not on a stack.
pub struct VariableAt<'a> {
    pub name: &'a [u8],
    pub die: UnitOffset,
    /// `None`: it has no fixed address.
    pub address: Option<u64>,
    /// Linkage name of the function that it is a static variable of.
    pub function: Option<&'a [u8]>,
    scope: Option<usize>,
    /// The declaration that it defines, which may come later: it has the name and the scope.
    declaration: Option<UnitOffset>,
}

/// A record that is defined here.
pub struct RecordAt<'a> {
    pub name: &'a [u8],
    pub die: UnitOffset,
    scope: Option<usize>,
}

/// What a unit declares.
#[derive(Default)]
pub struct UnitIndex<'a> {
    /// By linkage name: definitions, abstract ones and those to be completed.
    pub functions: HashMap<&'a [u8], Vec<UnitOffset>>,
    pub variables: Vec<VariableAt<'a>>,
    pub records: Vec<RecordAt<'a>>,
    /// Whether there are types or variables at all: not with -gline-tables-only.
    pub has_types: bool,
    scopes: Vec<Scope<'a>>,
    /// Records' scopes by their entries, also where they are only declared: for members that are defined elsewhere.
    declared: HashMap<UnitOffset, (&'a [u8], Option<usize>)>,
}

/// The attributes that this pass looks at.
#[derive(Default)]
struct Attributes<'a> {
    name: Option<&'a [u8]>,
    linkage_name: Option<&'a [u8]>,
    origin: Option<Die>,
    location: Option<AttributeValue<Slice<'a>>>,
    declaration: bool,
}

impl<'a> UnitIndex<'a> {
    /// Of a unit. What is damaged ends the pass; what was found counts.
    pub fn of(file: &DebugFile<'a>, unit: usize) -> UnitIndex<'a> {
        let mut index = UnitIndex::default();
        let _ = index.scan(file, unit);
        for variable in &mut index.variables {
            let declared = variable.declaration.and_then(|at| index.declared.get(&at));
            if let Some(&(name, scope)) = declared {
                (variable.name, variable.scope) = (name, scope);
            }
        }
        index
    }

    fn scan(&mut self, file: &DebugFile<'a>, unit: usize) -> gimli::Result<()> {
        let mut entries = file.units[unit].unit.entries_raw(None)?;
        // Scopes that are open, with the depth of their entries.
        let mut open: Vec<(isize, usize)> = Vec::new();
        while !entries.is_empty() {
            let (depth, offset) = (entries.next_depth(), entries.next_offset());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            while open.last().is_some_and(|&(at, _)| at >= depth) {
                open.pop();
            }
            let scope = open.last().map(|&(_, scope)| scope);
            let tag = abbreviation.tag();
            let wanted = matches!(
                tag,
                gimli::DW_TAG_namespace
                    | gimli::DW_TAG_structure_type
                    | gimli::DW_TAG_class_type
                    | gimli::DW_TAG_union_type
                    | gimli::DW_TAG_subprogram
                    | gimli::DW_TAG_inlined_subroutine
                    | gimli::DW_TAG_variable
                    | gimli::DW_TAG_member
            );
            self.has_types |= matches!(tag, gimli::DW_TAG_base_type | gimli::DW_TAG_formal_parameter);
            if !wanted {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut found = Attributes::default();
            for &specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(specification)?;
                found.take(file, unit, attribute.name(), attribute.value());
            }
            let kind = match tag {
                gimli::DW_TAG_namespace => ScopeKind::Named,
                gimli::DW_TAG_subprogram => {
                    self.add_function(file, offset, &mut found);
                    ScopeKind::Function
                }
                gimli::DW_TAG_inlined_subroutine => ScopeKind::Inlined,
                gimli::DW_TAG_variable | gimli::DW_TAG_member => {
                    self.add_variable(file, unit, offset, scope, &found, tag == gimli::DW_TAG_member);
                    continue;
                }
                _ => {
                    if let Some(name) = found.name.filter(|_| !found.declaration) {
                        self.records.push(RecordAt { name, die: offset, scope });
                    }
                    ScopeKind::Named
                }
            };
            if abbreviation.has_children() {
                let name = match kind {
                    ScopeKind::Function => found.linkage_name.or(found.name),
                    _ => found.name,
                };
                open.push((depth, self.scopes.len()));
                self.scopes.push(Scope { kind, name: name.unwrap_or_default(), parent: scope });
            }
        }
        Ok(())
    }

    /// Also sets the linkage name to what the entry that this one completes has.
    fn add_function(&mut self, file: &DebugFile<'a>, offset: UnitOffset, found: &mut Attributes<'a>) {
        let inherited = |name: DwAt| found.origin.and_then(|origin| file.text(origin, name));
        let name = found
            .linkage_name
            .or_else(|| inherited(gimli::DW_AT_linkage_name))
            .or(found.name)
            .or_else(|| inherited(gimli::DW_AT_name));
        found.linkage_name = name;
        // A declaration has no variables, and a type unit no code.
        if let Some(name) = name.filter(|_| !found.declaration) {
            self.functions.entry(name).or_default().push(offset);
        }
    }

    fn add_variable(
        &mut self,
        file: &DebugFile<'a>,
        unit: usize,
        offset: UnitOffset,
        scope: Option<usize>,
        found: &Attributes<'a>,
        is_member: bool,
    ) {
        self.has_types = true;
        if found.declaration || is_member {
            // A static member's name and scope stand here; its place stands elsewhere.
            if let Some(name) = found.name {
                self.declared.insert(offset, (name, scope));
            }
            return;
        }
        let place = found.location.and_then(|location| place(file, unit, location));
        let inside = self.function_around(scope);
        match inside {
            Some((ScopeKind::Inlined, _)) => return,
            // On the stack, or nowhere.
            Some(_) if place.is_none() => return,
            _ => {}
        }
        let declaration = found.origin.filter(|origin| origin.unit == unit).map(|origin| origin.offset);
        let name = found.name.or_else(|| file.text(Die { unit, offset }, gimli::DW_AT_name));
        let Some(name) = name else { return };
        let address = place.and_then(|place| match place {
            Place::At(address) => Some(address),
            Place::OfThread => None,
        });
        self.variables.push(VariableAt {
            name,
            die: offset,
            address,
            function: inside.map(|(_, name)| name),
            scope,
            declaration,
        });
    }

    /// The innermost function around a scope.
    fn function_around(&self, mut scope: Option<usize>) -> Option<(ScopeKind, &'a [u8])> {
        while let Some(at) = scope {
            let found = &self.scopes[at];
            if found.kind != ScopeKind::Named {
                return Some((found.kind, found.name));
            }
            scope = found.parent;
        }
        None
    }

    /// The names of the namespaces and records around a variable, innermost first.
    pub fn scopes_of_variable(&self, variable: &VariableAt<'a>) -> Vec<&'a [u8]> {
        self.names(variable.scope)
    }

    /// As above, of a record.
    pub fn scopes_of_record(&self, record: &RecordAt<'a>) -> Vec<&'a [u8]> {
        self.names(record.scope)
    }

    fn names(&self, mut scope: Option<usize>) -> Vec<&'a [u8]> {
        let mut names = Vec::new();
        while let Some(at) = scope {
            let found = &self.scopes[at];
            if found.kind == ScopeKind::Named && !found.name.is_empty() {
                names.push(found.name);
            }
            scope = found.parent;
        }
        names
    }
}

impl<'a> Attributes<'a> {
    fn take(&mut self, file: &DebugFile<'a>, unit: usize, name: DwAt, value: AttributeValue<Slice<'a>>) {
        match name {
            gimli::DW_AT_name => self.name = file.string(unit, value),
            gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name => {
                self.linkage_name = file.string(unit, value);
            }
            // Of a record whose definition is in a unit of its own: the name stands there.
            gimli::DW_AT_signature => {
                let definition = file.target(unit, value);
                self.name = self.name.or_else(|| file.text(definition?, gimli::DW_AT_name));
            }
            gimli::DW_AT_specification | gimli::DW_AT_abstract_origin => {
                self.origin = file.target(unit, value);
            }
            gimli::DW_AT_location => self.location = Some(value),
            gimli::DW_AT_declaration => self.declaration = value == AttributeValue::Flag(true),
            _ => {}
        }
    }
}

/// Where a variable is that is not on a stack.
enum Place {
    At(u64),
    OfThread,
}

/// A location that is always the same; `None` for those on the stack and those that change.
fn place<'a>(file: &DebugFile<'a>, unit: usize, location: AttributeValue<Slice<'a>>) -> Option<Place> {
    let AttributeValue::Exprloc(expression) = location else { return None };
    let unit = &file.units[unit].unit;
    let mut address = None;
    let mut operations = expression.operations(unit.encoding());
    while let Some(operation) = operations.next().ok()? {
        match operation {
            Operation::Address { address: found } => address = Some(found),
            Operation::AddressIndex { index } => address = Some(file.dwarf.address(unit, index).ok()?),
            // Parts of a structure that is in one piece.
            Operation::PlusConstant { value } => address = Some(address?.wrapping_add(value)),
            Operation::TLS => return Some(Place::OfThread),
            // The offset of a thread-local one.
            Operation::UnsignedConstant { .. } => {}
            _ => return None,
        }
    }
    address.map(Place::At)
}
