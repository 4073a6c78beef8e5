//! Types: what they are, how long, and what is in them.

use super::file::{Die, LONGEST_CHAIN};
use super::{At, Debug};
use covsched_core::loom::compile::{Field, Form};
use gimli::{AttributeValue, DwTag, Operation};

impl Debug<'_> {
    fn tag(&self, at: At) -> Option<DwTag> {
        Some(self.file(at.file).entry(at.die)?.tag())
    }

    /// What an entry's type is; `None` for `void`.
    fn inner(&self, at: At) -> Option<At> {
        let die = self.file(at.file).type_of(at.die)?;
        Some(At { file: at.file, die, dimension: 0 })
    }

    /// Without names and qualifiers; `None` if that is `void`.
    fn plain(&self, mut at: At) -> Option<At> {
        for _ in 0..LONGEST_CHAIN {
            match self.tag(at)? {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type
                | gimli::DW_TAG_immutable_type
                | gimli::DW_TAG_template_alias => at = self.inner(at)?,
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                    return Some(self.definition(at))
                }
                _ => return Some(at),
            }
        }
        None
    }

    fn text(&self, at: At) -> Option<String> {
        let text = self.file(at.file).text(at.die, gimli::DW_AT_name)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn children(&self, at: At) -> Vec<At> {
        let file = self.file(at.file);
        let unit = &file.units[at.die.unit].unit;
        let mut found = Vec::new();
        if let Ok(mut tree) = unit.entries_tree(Some(at.die.offset)) {
            if let Ok(root) = tree.root() {
                let mut children = root.children();
                while let Ok(Some(child)) = children.next() {
                    let offset = child.entry().offset();
                    found.push(At { file: at.file, die: Die { unit: at.die.unit, offset }, dimension: 0 });
                }
            }
        }
        found
    }

    /// The numbers of elements of an array's dimensions; `None` for `[]`.
    fn dimensions(&self, at: At) -> Vec<Option<u64>> {
        let file = self.file(at.file);
        let ranges = self.children(at).into_iter().filter(|&child| {
            matches!(self.tag(child), Some(gimli::DW_TAG_subrange_type | gimli::DW_TAG_enumeration_type))
        });
        ranges
            .map(|range| {
                file.number(range.die, gimli::DW_AT_count).or_else(|| {
                    let last = file.number(range.die, gimli::DW_AT_upper_bound)?;
                    let first = file.number(range.die, gimli::DW_AT_lower_bound).unwrap_or(0);
                    last.checked_add(1)?.checked_sub(first)
                })
            })
            .collect()
    }

    /// An array's element: of one with several dimensions, the array without the first.
    fn element(&self, at: At) -> Option<At> {
        if at.dimension + 1 < self.dimensions(at).len().min(64) {
            return Some(At { dimension: at.dimension + 1, ..at });
        }
        self.inner(At { dimension: 0, ..at })
    }
}

/// What a type is.
pub fn form(debug: &Debug<'_>, at: At) -> Form {
    let Some(at) = debug.plain(at) else { return Form::Other("void".to_owned()) };
    let other = |what: &str| Form::Other(what.to_owned());
    match debug.tag(at) {
        Some(gimli::DW_TAG_base_type) => integer(debug, at),
        Some(gimli::DW_TAG_enumeration_type) => {
            let bytes = size(debug, at).unwrap_or(0);
            let underlying = debug.inner(at).and_then(|inner| debug.plain(inner));
            let signed = match underlying.map(|underlying| form(debug, underlying)) {
                Some(Form::Integer { signed, .. }) => signed,
                _ => has_negative(debug, at),
            };
            match bytes {
                1 | 2 | 4 | 8 => Form::Integer { bytes: bytes as u8, signed },
                _ => other("an enumeration that is declared only"),
            }
        }
        Some(gimli::DW_TAG_pointer_type) => {
            // Of `void *`, and of `const void *`, nothing is known.
            let pointee = debug.inner(at).filter(|&inner| debug.plain(inner).is_some());
            Form::Pointer(pointee.map(At::id))
        }
        Some(gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type) => match debug.inner(at) {
            Some(inner) => Form::Reference(inner.id()),
            None => other("a reference to nothing"),
        },
        Some(gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type) => {
            Form::Record
        }
        Some(gimli::DW_TAG_array_type) => match debug.element(at) {
            Some(element) => Form::Array(element.id()),
            None => other("an array of nothing"),
        },
        Some(gimli::DW_TAG_subroutine_type) => other("a function"),
        Some(gimli::DW_TAG_ptr_to_member_type) => other("a pointer to a member"),
        Some(gimli::DW_TAG_unspecified_type) => {
            Form::Other(debug.text(at).unwrap_or_else(|| "a type without a name".to_owned()))
        }
        _ => other("a type that covsched does not know"),
    }
}

fn integer(debug: &Debug<'_>, at: At) -> Form {
    let encoding = debug.file(at.file).attribute(at.die, gimli::DW_AT_encoding);
    let signed = match encoding {
        Some((_, AttributeValue::Encoding(encoding))) => match encoding {
            gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => Some(true),
            gimli::DW_ATE_unsigned
            | gimli::DW_ATE_unsigned_char
            | gimli::DW_ATE_boolean
            | gimli::DW_ATE_UTF
            | gimli::DW_ATE_address => Some(false),
            _ => None,
        },
        _ => None,
    };
    match (signed, size(debug, at)) {
        (Some(signed), Some(bytes @ (1 | 2 | 4 | 8))) => Form::Integer { bytes: bytes as u8, signed },
        _ => Form::Other(debug.text(at).unwrap_or_else(|| "no integer".to_owned())),
    }
}

fn has_negative(debug: &Debug<'_>, at: At) -> bool {
    debug.children(at).iter().any(|child| {
        let value = debug.file(child.file).attribute(child.die, gimli::DW_AT_const_value);
        value.and_then(|(_, value)| value.sdata_value()).is_some_and(|value| value < 0)
    })
}

/// Bytes of a value.
pub fn size(debug: &Debug<'_>, at: At) -> Option<u64> {
    size_within(debug, at, LONGEST_CHAIN)
}

fn size_within(debug: &Debug<'_>, at: At, chain: usize) -> Option<u64> {
    let at = debug.plain(at)?;
    let file = debug.file(at.file);
    match debug.tag(at)? {
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
            Some(u64::from(file.units[at.die.unit].unit.encoding().address_size))
        }
        gimli::DW_TAG_array_type => {
            let inner = size_within(debug, debug.inner(at)?, chain.checked_sub(1)?)?;
            let counts = debug.dimensions(at);
            counts.iter().skip(at.dimension).try_fold(inner, |all, count| all.checked_mul((*count)?))
        }
        gimli::DW_TAG_subroutine_type => None,
        _ => file.number(at.die, gimli::DW_AT_byte_size),
    }
}

/// A member of a record: its own, then those of nameless members and base classes.
pub fn field(debug: &Debug<'_>, record: At, name: &[u8]) -> Option<Field> {
    field_within(debug, record, name, LONGEST_CHAIN)
}

fn field_within(debug: &Debug<'_>, record: At, name: &[u8], chain: usize) -> Option<Field> {
    let members = members(debug, record);
    if let Some(member) = members.iter().find(|member| member.name == Some(name)) {
        let of = debug.inner(member.at)?.id();
        return Some(Field { offset: member.offset?, of, bits: member.bits });
    }
    members.iter().filter(|member| member.name.is_none()).find_map(|member| {
        let inner = field_within(debug, debug.inner(member.at)?, name, chain.checked_sub(1)?)?;
        Some(Field { offset: member.offset?.checked_add(inner.offset)?, ..inner })
    })
}

/// The names of all members that [`field`] finds.
pub fn fields(debug: &Debug<'_>, record: At) -> Vec<String> {
    let mut names = Vec::new();
    collect_fields(debug, record, LONGEST_CHAIN, &mut names);
    names
}

fn collect_fields(debug: &Debug<'_>, record: At, chain: usize, names: &mut Vec<String>) {
    for member in members(debug, record) {
        match (member.name, debug.inner(member.at)) {
            (Some(name), _) => names.push(String::from_utf8_lossy(name).into_owned()),
            (None, Some(inner)) if chain > 0 => collect_fields(debug, inner, chain - 1, names),
            _ => {}
        }
    }
}

/// A member or a base class.
struct Member<'a> {
    at: At,
    /// `None`: what is in it counts as the record's own.
    name: Option<&'a [u8]>,
    /// `None`: not fixed.
    offset: Option<u64>,
    bits: bool,
}

fn members<'a>(debug: &Debug<'a>, record: At) -> Vec<Member<'a>> {
    let Some(record) = debug.plain(record) else { return Vec::new() };
    let file = debug.file(record.file);
    let mut found = Vec::new();
    for at in debug.children(record) {
        let tag = debug.tag(at);
        let is_base = tag == Some(gimli::DW_TAG_inheritance);
        // Before DWARF 5 a static member is a member that is declared.
        let is_static =
            file.flag(at.die, gimli::DW_AT_declaration) || file.flag(at.die, gimli::DW_AT_external);
        if !is_base && (tag != Some(gimli::DW_TAG_member) || is_static) {
            continue;
        }
        let number = |name| file.number(at.die, name);
        let bits = number(gimli::DW_AT_bit_size).is_some();
        let offset = match file.attribute(at.die, gimli::DW_AT_data_member_location) {
            Some((_, AttributeValue::Exprloc(expression))) => {
                let mut operations = expression.operations(file.units[at.die.unit].unit.encoding());
                match (operations.next(), operations.next()) {
                    (Ok(Some(Operation::PlusConstant { value })), Ok(None)) => Some(value),
                    _ => None,
                }
            }
            Some((_, value)) => value.udata_value(),
            // A union's members, and bits: those have no address, so it does not matter where.
            None => Some(number(gimli::DW_AT_data_bit_offset).unwrap_or(0) / 8),
        };
        let name = file.text(at.die, gimli::DW_AT_name).filter(|_| !is_base);
        found.push(Member { at, name, offset, bits });
    }
    found
}

/// What the source calls a type.
pub fn name(debug: &Debug<'_>, at: At) -> String {
    name_within(debug, at, LONGEST_CHAIN)
}

fn name_within(debug: &Debug<'_>, at: At, chain: usize) -> String {
    let Some(chain) = chain.checked_sub(1) else { return "?".to_owned() };
    let own = || debug.text(at);
    let inner = || match debug.inner(At { dimension: 0, ..at }) {
        Some(inner) => name_within(debug, inner, chain),
        None => "void".to_owned(),
    };
    let star = |mut name: String, sign: &str| {
        if !name.ends_with(['*', '&']) {
            name.push(' ');
        }
        name + sign
    };
    let record =
        |word: &str| own().map_or_else(|| format!("{word} without a name"), |name| format!("{word} {name}"));
    match debug.tag(at) {
        Some(gimli::DW_TAG_pointer_type) => star(inner(), "*"),
        Some(gimli::DW_TAG_reference_type) => star(inner(), "&"),
        Some(gimli::DW_TAG_rvalue_reference_type) => star(inner(), "&&"),
        Some(gimli::DW_TAG_const_type) => format!("const {}", inner()),
        Some(gimli::DW_TAG_volatile_type) => format!("volatile {}", inner()),
        Some(gimli::DW_TAG_atomic_type) => format!("_Atomic {}", inner()),
        Some(gimli::DW_TAG_restrict_type) => format!("{} restrict", inner()),
        Some(gimli::DW_TAG_structure_type) => record("struct"),
        Some(gimli::DW_TAG_class_type) => record("class"),
        Some(gimli::DW_TAG_union_type) => record("union"),
        Some(gimli::DW_TAG_enumeration_type) => record("enum"),
        Some(gimli::DW_TAG_subroutine_type) => "function".to_owned(),
        Some(gimli::DW_TAG_array_type) => {
            let mut name = inner();
            for count in debug.dimensions(at).iter().skip(at.dimension) {
                name += &count.map_or_else(|| "[]".to_owned(), |count| format!("[{count}]"));
            }
            name
        }
        _ => own().unwrap_or_else(|| "?".to_owned()),
    }
}
