//! A linked file's debug info: its units, and references between entries.

use super::index::UnitIndex;
use gimli::{AttributeValue, DwAt, EndianSlice, LittleEndian, SectionId, UnitOffset, UnitSectionOffset};
use object::{Object, ObjectSection};
use std::cell::OnceCell;
use std::collections::HashMap;

/// Bytes of a file.
pub type Slice<'a> = EndianSlice<'a, LittleEndian>;
/// An entry, parsed.
pub type Entry<'u, 'a> = gimli::DebuggingInformationEntry<'u, 'u, Slice<'a>>;

/// An entry's place: unit and offset in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Die {
    pub unit: usize,
    pub offset: UnitOffset,
}

/// How many links (specification, origin, qualifier) are followed, as a guard against circles in damaged files.
pub const LONGEST_CHAIN: usize = 32;

/// A unit of debug info.
pub struct DebugUnit<'a> {
    pub unit: gimli::Unit<Slice<'a>>,
    /// Its source file, as the compiler was given it.
    pub name: &'a [u8],
    /// The folder in which the compiler ran.
    pub folder: &'a [u8],
    /// It only says where the rest is (`-gsplit-dwarf`).
    pub is_split: bool,
    /// Made when it is first needed.
    pub index: OnceCell<UnitIndex<'a>>,
}

/// A file's debug info.
pub struct DebugFile<'a> {
    pub dwarf: gimli::Dwarf<Slice<'a>>,
    pub units: Vec<DebugUnit<'a>>,
    /// Units of types by their signature.
    signatures: HashMap<u64, Die>,
    /// Why it says less than it should; empty if nothing is missing.
    pub limit: Option<&'static str>,
}

impl<'a> DebugFile<'a> {
    /// Reads the heads of all units. A file without debug info has none.
    pub fn read(bytes: &'a [u8]) -> DebugFile<'a> {
        let empty = |limit| DebugFile {
            dwarf: gimli::Dwarf::default(),
            units: Vec::new(),
            signatures: HashMap::new(),
            limit: Some(limit),
        };
        let Ok(file) = object::File::parse(bytes) else { return empty("cannot be read as an ELF file") };
        if !file.is_little_endian() {
            return empty("is not for a little-endian machine");
        }
        let section = |id: SectionId| file.section_by_name(id.name());
        match section(SectionId::DebugInfo).map(|section| section.compressed_file_range()) {
            None => return empty("has no debug info (stripped?); compile with -g, and keep it"),
            Some(Ok(range)) if range.format != object::CompressionFormat::None => {
                return empty("has compressed debug info, which covsched does not read; link without -gz")
            }
            Some(_) => {}
        }
        let load = |id: SectionId| -> Result<Slice<'a>, gimli::Error> {
            let data = section(id).and_then(|section| section.data().ok()).unwrap_or_default();
            Ok(Slice::new(data, LittleEndian))
        };
        let Ok(mut dwarf) = gimli::Dwarf::load(load) else {
            return empty("has debug info that cannot be read");
        };
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let mut found = DebugFile { dwarf, units: Vec::new(), signatures: HashMap::new(), limit: None };
        if found.read_heads().is_err() {
            found.limit = Some("has debug info that is damaged, or of a version that covsched does not know");
        }
        found
    }

    fn read_heads(&mut self) -> gimli::Result<()> {
        let mut heads = self.dwarf.units();
        while let Some(head) = heads.next()? {
            self.add(head)?;
        }
        let mut heads = self.dwarf.type_units();
        while let Some(head) = heads.next()? {
            self.add(head)?;
        }
        Ok(())
    }

    fn add(&mut self, head: gimli::UnitHeader<Slice<'a>>) -> gimli::Result<()> {
        use gimli::UnitType;
        let unit = self.dwarf.unit(head)?;
        if let UnitType::Type { type_signature, type_offset }
        | UnitType::SplitType { type_signature, type_offset } = head.type_()
        {
            let die = Die { unit: self.units.len(), offset: type_offset };
            self.signatures.insert(type_signature.0, die);
        }
        let text = |text: Option<Slice<'a>>| text.map_or(&b""[..], |text| text.slice());
        let is_split = unit.dwo_id.is_some();
        let (name, folder) = (text(unit.name), text(unit.comp_dir));
        self.units.push(DebugUnit { unit, name, folder, is_split, index: OnceCell::new() });
        Ok(())
    }

    /// A unit's index, made now if this is the first time.
    pub fn index(&self, unit: usize) -> &UnitIndex<'a> {
        let found = &self.units[unit];
        found.index.get_or_init(|| UnitIndex::of(self, unit))
    }

    /// An entry.
    pub fn entry(&self, die: Die) -> Option<Entry<'_, 'a>> {
        self.units[die.unit].unit.entry(die.offset).ok()
    }

    /// What an attribute of a unit's entry refers to.
    pub fn target(&self, unit: usize, value: AttributeValue<Slice<'a>>) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit, offset }),
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            AttributeValue::DebugInfoRef(offset) => {
                let after = self.units.partition_point(|unit| match unit.unit.header.offset() {
                    UnitSectionOffset::DebugInfoOffset(start) => start.0 <= offset.0,
                    UnitSectionOffset::DebugTypesOffset(_) => false,
                });
                let unit = after.checked_sub(1)?;
                let offset = offset.to_unit_offset(&self.units[unit].unit.header)?;
                Some(Die { unit, offset })
            }
            _ => None,
        }
    }

    /// The entry that an attribute of an entry refers to.
    pub fn reference(&self, die: Die, entry: &Entry<'_, 'a>, name: DwAt) -> Option<Die> {
        self.target(die.unit, entry.attr_value(name).ok()??)
    }

    /// An attribute of an entry, or of the one that it completes or is a copy of, and where it was found.
    pub fn attribute(&self, die: Die, name: DwAt) -> Option<(Die, AttributeValue<Slice<'a>>)> {
        let mut at = die;
        for _ in 0..LONGEST_CHAIN {
            let entry = self.entry(at)?;
            if let Some(value) = entry.attr_value(name).ok()? {
                return Some((at, value));
            }
            at = self
                .reference(at, &entry, gimli::DW_AT_abstract_origin)
                .or_else(|| self.reference(at, &entry, gimli::DW_AT_specification))?;
        }
        None
    }

    /// A text, as [`DebugFile::attribute`].
    pub fn text(&self, die: Die, name: DwAt) -> Option<&'a [u8]> {
        let (at, value) = self.attribute(die, name)?;
        self.string(at.unit, value)
    }

    /// A text of a unit.
    pub fn string(&self, unit: usize, value: AttributeValue<Slice<'a>>) -> Option<&'a [u8]> {
        self.dwarf.attr_string(&self.units[unit].unit, value).ok().map(|text| text.slice())
    }

    /// A number, as [`DebugFile::attribute`].
    pub fn number(&self, die: Die, name: DwAt) -> Option<u64> {
        self.attribute(die, name)?.1.udata_value()
    }

    /// Whether a flag is set, as [`DebugFile::attribute`].
    pub fn flag(&self, die: Die, name: DwAt) -> bool {
        matches!(self.attribute(die, name), Some((_, AttributeValue::Flag(true))))
    }

    /// What `DW_AT_type` refers to, as [`DebugFile::attribute`].
    pub fn type_of(&self, die: Die) -> Option<Die> {
        let (at, value) = self.attribute(die, gimli::DW_AT_type)?;
        self.target(at.unit, value)
    }
}
