//! Sites: static instructions that matter, and the tables in which they travel.
//!
//! A site's id is a hash of where it stands, not of its line: the function's linkage name (and the source
//! file, if other files may have a function of that name), the kind, the callee's name, and an ordinal among
//! the function's sites with that kind and callee. Edits elsewhere leave it alone, and every copy of a COMDAT
//! function has the same ids even where one copy's translation unit knows more about a callee than another's.
//!
//! # The table
//! Each translation unit has one table in the section [`SECTION`], which the linker concatenates. Tables
//! are 8-aligned, little-endian, without relocations:
//! [`TableHeader`], then `count` [`SiteRecord`]s, then `strings` bytes of zero-ended strings, then zeros up to
//! `size`. String fields are offsets into the strings; offset 0 is the empty string.

use crate::hash::{mix, Hasher};
use crate::ids::{ProgramId, SiteId};
use crate::rawlog::Plain;

/// The linker section of site tables. A C identifier, so that linkers define `__start_` and `__stop_`.
pub const SECTION: &str = "covsched_sites";
/// The section in which the bitcode is kept; not loaded. See [`BitcodeHeader`]. LLVM emits only a few names as
/// sections that are not loaded; `.llvmbc` is one too, but nm, ar and ranlib take an object with it for a bitcode
/// file, find no symbols in it and leave it out of an archive's index.
pub const BITCODE_SECTION: &str = ".llvmcmd";
/// Magic word of [`TableHeader`].
pub const MAGIC: [u8; 8] = *b"CVSITES\0";
/// Magic word of [`BitcodeHeader`].
pub const BITCODE_MAGIC: [u8; 8] = *b"CVBITC\0\0";
/// Version of the table, of [`BitcodeHeader`] and of [`Registration`].
pub const VERSION: u32 = 1;

/// What kind of synchronization a site is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum SiteKind {
    /// A call that synchronizes.
    True = 0,
    /// A call to a function that may synchronize.
    Derived = 1,
    /// The entry of main or of a thread function.
    Entry = 2,
    /// A return of main or of a thread function.
    Exit = 3,
    /// An epoch marker.
    Epoch = 4,
}

impl SiteKind {
    /// As in `show --format json`.
    pub const fn name(self) -> &'static str {
        match self {
            SiteKind::True => "true",
            SiteKind::Derived => "derived",
            SiteKind::Entry => "entry",
            SiteKind::Exit => "exit",
            SiteKind::Epoch => "epoch",
        }
    }

    /// The kind with this number in a table.
    pub fn from_index(index: u8) -> Option<SiteKind> {
        [SiteKind::True, SiteKind::Derived, SiteKind::Entry, SiteKind::Exit, SiteKind::Epoch]
            .get(usize::from(index))
            .copied()
    }
}

/// Makes a site's id. `file` is, for a function that is internal to its translation unit, the file that defines it
/// (so that a static function of a header, like libstdc++'s `__gthread_mutex_lock`, has the same sites in every unit;
/// the unit's source file where debug info does not say), else empty; `callee` is the linkage name of what is called, `*` for an indirect call, empty for entry, exit and epoch markers;
/// `ordinal` counts, from 0, the function's sites of that kind and callee in the order of its instructions.
pub fn site_id(function: &str, file: &str, kind: SiteKind, callee: &str, ordinal: u32) -> SiteId {
    let hash = Hasher::default().field(function).field(file).field(kind.name()).field(callee);
    SiteId(hash.bytes(&ordinal.to_le_bytes()).finish())
}

/// Head of a translation unit's table.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TableHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of the whole table, a multiple of 8.
    pub size: u32,
    /// Hash of everything after the header.
    pub hash: u64,
    /// How many sites.
    pub count: u32,
    /// How many bytes of strings.
    pub strings: u32,
    /// String: the source file of the translation unit, as the compiler was given it.
    pub unit: u32,
    /// [`UNIT_HAS_BITCODE`], [`UNIT_HAS_EPOCHS`].
    pub flags: u32,
}

/// Set in [`TableHeader::flags`] where the unit's bitcode was kept in the object.
pub const UNIT_HAS_BITCODE: u32 = 1;
/// Set in [`TableHeader::flags`] where the unit was compiled with epoch markers, whether or not it needed any.
pub const UNIT_HAS_EPOCHS: u32 = 2;

/// One site in a table.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SiteRecord {
    /// [`SiteId`].
    pub id: u64,
    /// Source line, 0 if unknown.
    pub line: u32,
    /// Source column, 0 if unknown.
    pub column: u32,
    /// String: source file (of the instruction, which may be a header), empty if unknown.
    pub file: u32,
    /// String: linkage name of the function.
    pub function: u32,
    /// String: linkage name of the callee; `*` if indirect; empty for entry and exit.
    pub callee: u32,
    /// [`SiteKind`].
    pub kind: u8,
    /// Unused, 0.
    pub reserved: [u8; 3],
}

/// What each linked object's constructor gives to `covsched_register`. Lives in the object's data.
#[derive(Debug)]
#[repr(C)]
pub struct Registration {
    /// [`VERSION`].
    pub version: u32,
    /// `size_of::<Registration>()`.
    pub size: u32,
    /// Start of the object's site tables.
    pub sites: *const u8,
    /// Their end.
    pub sites_end: *const u8,
    /// The object's own copy of "is the runtime doing anything": the checks that the pass puts around
    /// markers read this byte. The runtime sets it to [`ALL_MARKERS`] or [`NO_DERIVED_MARKERS`].
    pub active: *mut u8,
}

/// [`Registration::active`]: every marker is to be called.
pub const ALL_MARKERS: u8 = 1;
/// [`Registration::active`]: those of derived calls and of epochs need not be: the run follows a plan and is not
/// recorded.
pub const NO_DERIVED_MARKERS: u8 = 2;

/// Head of a translation unit's bitcode in [`BITCODE_SECTION`]; the unit's name and the bitcode follow, then
/// zeros up to `size`. Starts at a multiple of 8 in the section.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BitcodeHeader {
    /// [`BITCODE_MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of the unit's name.
    pub name_len: u32,
    /// Bytes of bitcode after the name.
    pub bitcode_len: u64,
    /// Bytes in all, a multiple of 8.
    pub size: u64,
    /// [`TableHeader::hash`] of the unit's site table: which table this bitcode belongs to.
    pub table_hash: u64,
}

const _: () = assert!(core::mem::size_of::<TableHeader>() == 40);
const _: () = assert!(core::mem::size_of::<SiteRecord>() == 32);
const _: () = assert!(core::mem::size_of::<BitcodeHeader>() == 40);
const _: () = assert!(core::mem::size_of::<Registration>() == 32);

// SAFETY: repr(C), no padding (sizes pinned), integers only.
unsafe impl Plain for TableHeader {}
// SAFETY: as above.
unsafe impl Plain for SiteRecord {}
// SAFETY: as above.
unsafe impl Plain for BitcodeHeader {}

/// Walks the concatenated tables of one object by their headers: all that the runtime needs. Stops at the
/// first bytes that are not a table; linkers may pad between tables with zeros.
pub struct Tables<'a>(&'a [u8]);

impl<'a> Tables<'a> {
    /// The tables in a section's bytes.
    pub fn new(section: &'a [u8]) -> Self {
        Tables(section)
    }

    /// What was not understood, after the iteration: empty if the section was well-formed.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Iterator for Tables<'a> {
    /// The header and the whole table, header included.
    type Item = (TableHeader, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while self.0.len() >= 8 && self.0[..8] == [0; 8] {
            self.0 = &self.0[8..];
        }
        let header = TableHeader::read(self.0)?;
        let size = header.size as usize;
        let records = (header.count as usize).checked_mul(core::mem::size_of::<SiteRecord>())?;
        let needed =
            core::mem::size_of::<TableHeader>().checked_add(records)?.checked_add(header.strings as usize)?;
        if header.magic != MAGIC
            || header.version != VERSION
            || size % 8 != 0
            || size < needed
            || size > self.0.len()
        {
            return None;
        }
        let (table, rest) = self.0.split_at(size);
        self.0 = rest;
        Some((header, table))
    }
}

/// The unit that a table is of: its source file, as the compiler was given it. Empty if that is no text.
pub fn unit_name<'a>(header: &TableHeader, table: &'a [u8]) -> &'a str {
    let strings =
        core::mem::size_of::<TableHeader>() + header.count as usize * core::mem::size_of::<SiteRecord>();
    let name = table.get(strings + header.unit as usize..).unwrap_or_default();
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    core::str::from_utf8(&name[..end]).unwrap_or_default()
}

/// The identity of a program: the sum over its executable's tables, so that link order does not matter.
pub fn program_id(section: &[u8]) -> ProgramId {
    ProgramId(Tables::new(section).fold(0u64, |sum, (header, _)| sum.wrapping_add(mix(header.hash))))
}

#[cfg(feature = "std")]
pub use table::{Site, TableBuilder, TableError, UnitTable};

#[cfg(feature = "std")]
mod table {
    use super::*;
    use std::collections::HashMap;
    use std::mem::size_of;

    /// A site, as a table describes it.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct Site {
        /// Its id.
        pub id: SiteId,
        /// What kind of synchronization it is.
        pub kind: SiteKind,
        /// Source file, empty if unknown.
        pub file: String,
        /// Source line, 0 if unknown.
        pub line: u32,
        /// Source column, 0 if unknown.
        pub column: u32,
        /// Linkage name of the function.
        pub function: String,
        /// Linkage name of the callee, `*` if indirect, empty for entry and exit.
        pub callee: String,
    }

    /// A translation unit's table, read.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct UnitTable {
        /// The source file.
        pub unit: String,
        /// Hash of the table.
        pub hash: u64,
        /// Whether the unit's bitcode was kept.
        pub has_bitcode: bool,
        /// Whether it was compiled with epoch markers.
        pub has_epochs: bool,
        /// Its sites, in the order of the unit's instructions.
        pub sites: Vec<Site>,
    }

    /// What is wrong with a section of site tables.
    #[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
    pub enum TableError {
        /// Bytes that are no table: another version's, or damaged.
        #[error("byte {0} of section {SECTION} does not start a site table of version {VERSION}")]
        NotATable(usize),
        /// A field of a site that cannot be.
        #[error("site {index} of {unit}: {what}")]
        BadSite {
            /// Source file of the unit.
            unit: String,
            /// Which of its sites, from 0.
            index: usize,
            /// What is wrong.
            what: &'static str,
        },
        /// The bytes do not match their hash.
        #[error("the site table of {0} is damaged: its hash does not match")]
        BadHash(String),
    }

    /// Collects a translation unit's sites and lays the table out.
    #[derive(Default)]
    pub struct TableBuilder {
        records: Vec<SiteRecord>,
        strings: Vec<u8>,
        known: HashMap<String, u32>,
    }

    impl TableBuilder {
        fn string(&mut self, text: &str) -> u32 {
            if self.strings.is_empty() {
                self.strings.push(0);
            }
            // A zero byte cannot stand inside a zero-ended string; no file or linkage name has one.
            let text = text.split('\0').next().unwrap_or_default();
            if text.is_empty() {
                return 0;
            }
            if let Some(&offset) = self.known.get(text) {
                return offset;
            }
            let offset = self.strings.len() as u32;
            self.strings.extend_from_slice(text.as_bytes());
            self.strings.push(0);
            self.known.insert(text.to_owned(), offset);
            offset
        }

        /// Adds a site.
        pub fn push(&mut self, site: &Site) {
            let record = SiteRecord {
                id: site.id.0,
                line: site.line,
                column: site.column,
                file: self.string(&site.file),
                function: self.string(&site.function),
                callee: self.string(&site.callee),
                kind: site.kind as u8,
                reserved: [0; 3],
            };
            self.records.push(record);
        }

        /// The table's bytes and hash. `flags`: [`TableHeader::flags`].
        pub fn finish(mut self, unit: &str, flags: u32) -> (Vec<u8>, u64) {
            let unit = self.string(unit);
            let mut body =
                Vec::with_capacity(self.records.len() * size_of::<SiteRecord>() + self.strings.len());
            for record in &self.records {
                body.extend_from_slice(record.as_bytes());
            }
            body.extend_from_slice(&self.strings);
            body.resize(body.len().next_multiple_of(8), 0);
            let header = TableHeader {
                magic: MAGIC,
                version: VERSION,
                size: (size_of::<TableHeader>() + body.len()) as u32,
                hash: Hasher::default().bytes(&body).finish(),
                count: self.records.len() as u32,
                strings: self.strings.len() as u32,
                unit,
                flags,
            };
            let mut bytes = header.as_bytes().to_vec();
            bytes.extend_from_slice(&body);
            (bytes, header.hash)
        }
    }

    impl UnitTable {
        /// Reads every table of a section.
        pub fn read_section(section: &[u8]) -> Result<Vec<UnitTable>, TableError> {
            let mut tables = Tables::new(section);
            let units = tables.by_ref().map(|(header, bytes)| UnitTable::read(header, bytes)).collect();
            let rest = tables.rest();
            if rest.iter().any(|&b| b != 0) {
                return Err(TableError::NotATable(section.len() - rest.len()));
            }
            units
        }

        fn read(header: TableHeader, bytes: &[u8]) -> Result<UnitTable, TableError> {
            let body = &bytes[size_of::<TableHeader>()..];
            let (records, strings) = body.split_at(header.count as usize * size_of::<SiteRecord>());
            let strings = &strings[..header.strings as usize];
            let string = |offset: u32| -> Option<String> {
                let tail = strings.get(offset as usize..)?;
                let end = tail.iter().position(|&b| b == 0)?;
                Some(String::from_utf8_lossy(&tail[..end]).into_owned())
            };
            let unit = string(header.unit).unwrap_or_default();
            if Hasher::default().bytes(body).finish() != header.hash {
                return Err(TableError::BadHash(unit));
            }
            let mut sites = Vec::with_capacity(header.count as usize);
            for (index, bytes) in records.chunks_exact(size_of::<SiteRecord>()).enumerate() {
                let bad = |what| TableError::BadSite { unit: unit.clone(), index, what };
                let record = SiteRecord::read(bytes).ok_or_else(|| bad("cut off"))?;
                sites.push(Site {
                    id: SiteId(record.id),
                    kind: SiteKind::from_index(record.kind).ok_or_else(|| bad("unknown kind"))?,
                    file: string(record.file).ok_or_else(|| bad("file name outside of the strings"))?,
                    line: record.line,
                    column: record.column,
                    function: string(record.function)
                        .ok_or_else(|| bad("function name outside of the strings"))?,
                    callee: string(record.callee).ok_or_else(|| bad("callee name outside of the strings"))?,
                });
            }
            Ok(UnitTable {
                unit,
                hash: header.hash,
                has_bitcode: header.flags & UNIT_HAS_BITCODE != 0,
                has_epochs: header.flags & UNIT_HAS_EPOCHS != 0,
                sites,
            })
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;
