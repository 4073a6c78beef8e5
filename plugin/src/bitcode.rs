//! The whole program's bitcode, got back from an executable: the section is split into its units, the units are
//! linked into one module.

use crate::ir::bridge::{self, collect_bytes, RawLinked, Text};
use crate::ir::Module;
use covsched_core::loom;
use covsched_core::rawlog::Plain;
use covsched_core::site::{BitcodeHeader, BITCODE_MAGIC, BITCODE_SECTION, SECTION, VERSION};
use std::mem::size_of;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A translation unit's bitcode, in the section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    /// The unit's source file, as the compiler was given it.
    pub unit: String,
    /// Hash of the unit's site table: which table this bitcode belongs to.
    pub table_hash: u64,
    /// The bitcode.
    pub bitcode: &'a [u8],
}

/// What is wrong with bitcode.
#[derive(Debug, thiserror::Error)]
pub enum BitcodeError {
    /// A header that promises more than is there.
    #[error("byte {offset} of section {BITCODE_SECTION}: a unit's bitcode is cut off or damaged")]
    Damaged {
        /// Where its header stands.
        offset: usize,
    },
    /// Written by another version of covsched.
    #[error("byte {offset} of section {BITCODE_SECTION}: version {version}, this covsched reads {VERSION}")]
    Version {
        /// Where its header stands.
        offset: usize,
        /// Its version.
        version: u32,
    },
    /// Units that LLVM cannot read or link.
    #[error("{unit}: {reason}")]
    Link {
        /// The unit that could not be added.
        unit: String,
        /// LLVM's words.
        reason: String,
    },
    /// The linked module is broken.
    #[error("the linked module does not verify: {0}")]
    Invalid(String),
    /// The file system.
    #[error("{}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What happened.
        error: std::io::Error,
    },
}

/// Splits the section's bytes into covsched's units. Tables of loom are passed over. What others put there (clang's
/// `-fembed-bitcode`) is left out; [`foreign`] tells where it is.
pub fn split(section: &[u8]) -> Result<Vec<Part<'_>>, BitcodeError> {
    walk(section).map(|(parts, _)| parts)
}

/// The byte ranges of the section that are not covsched's.
pub fn foreign(section: &[u8]) -> Result<Vec<Range<usize>>, BitcodeError> {
    walk(section).map(|(_, foreign)| foreign)
}

fn walk(section: &[u8]) -> Result<(Vec<Part<'_>>, Vec<Range<usize>>), BitcodeError> {
    let mut parts = Vec::new();
    let mut foreign: Vec<Range<usize>> = Vec::new();
    let mut offset = 0;
    while offset < section.len() {
        let rest = &section[offset..];
        if rest.starts_with(&loom::table::MAGIC) {
            offset += loom::table::size_of_part(rest).ok_or(BitcodeError::Damaged { offset })?;
            continue;
        }
        if !rest.starts_with(&BITCODE_MAGIC) {
            // Linkers pad with zeros up to a part's alignment; anything else is somebody else's.
            let end = (offset + 8).min(section.len());
            if rest[..end - offset].iter().any(|&byte| byte != 0) {
                match foreign.last_mut().filter(|last| last.end == offset) {
                    Some(last) => last.end = end,
                    None => foreign.push(offset..end),
                }
            }
            offset = end;
            continue;
        }
        let damaged = || BitcodeError::Damaged { offset };
        let header = BitcodeHeader::read(rest).ok_or_else(damaged)?;
        if header.version != VERSION {
            return Err(BitcodeError::Version { offset, version: header.version });
        }
        let size = usize::try_from(header.size).map_err(|_| damaged())?;
        let name_start = size_of::<BitcodeHeader>();
        let name_end = name_start.checked_add(header.name_len as usize).ok_or_else(damaged)?;
        let end = usize::try_from(header.bitcode_len)
            .ok()
            .and_then(|len| name_end.checked_add(len))
            .filter(|&end| end <= size && size <= rest.len() && size % 8 == 0)
            .ok_or_else(damaged)?;
        parts.push(Part {
            unit: String::from_utf8_lossy(&rest[name_start..name_end]).into_owned(),
            table_hash: header.table_hash,
            bitcode: &rest[name_end..end],
        });
        offset += size;
    }
    Ok((parts, foreign))
}

/// Units linked into one module, in a context of its own.
#[derive(Debug)]
pub struct Linked(*mut RawLinked);

// SAFETY (all calls below): the pointer is made by `link` and freed by `drop` alone.
impl Drop for Linked {
    fn drop(&mut self) {
        // SAFETY: see above.
        unsafe { bridge::cov_linked_drop(self.0) }
    }
}

fn lossy(texts: Vec<Vec<u8>>) -> String {
    String::from_utf8_lossy(&texts.concat()).into_owned()
}

impl Linked {
    /// Linkage names that are used and defined nowhere, sorted: libraries, and units that are missing.
    pub fn undefined(&self) -> Vec<String> {
        // SAFETY: see above.
        let (names, ()) = collect_bytes(|take, context| unsafe {
            bridge::cov_linked_undefined(self.0, take, context);
        });
        // The linker defines the bounds of a section.
        let mut names: Vec<String> = names
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .filter(|name| ![format!("__start_{SECTION}"), format!("__stop_{SECTION}")].contains(name))
            .collect();
        names.sort();
        names
    }

    /// The module.
    pub fn module(&self) -> Module<'_> {
        // SAFETY: see above; the module lives as long as what it is borrowed from.
        unsafe { Module::from_raw(bridge::cov_linked_module(self.0)) }
    }

    /// Runs LLVM's verifier.
    pub fn verify(&self) -> Result<(), BitcodeError> {
        // SAFETY: see above.
        let (texts, fine) =
            collect_bytes(|take, context| unsafe { bridge::cov_linked_verify(self.0, take, context) });
        if fine {
            Ok(())
        } else {
            Err(BitcodeError::Invalid(lossy(texts)))
        }
    }

    /// The module as bitcode.
    pub fn bitcode(&self) -> Vec<u8> {
        // SAFETY: see above.
        let (bytes, ()) =
            collect_bytes(|take, context| unsafe { bridge::cov_linked_write(self.0, take, context) });
        bytes.concat()
    }

    /// Writes the module as a bitcode file.
    pub fn write(&self, path: &Path) -> Result<(), BitcodeError> {
        std::fs::write(path, self.bitcode())
            .map_err(|error| BitcodeError::Write { path: path.to_owned(), error })
    }
}

/// Links units into one module, in their order.
pub fn link(parts: &[Part<'_>]) -> Result<Linked, BitcodeError> {
    // SAFETY: the new module is owned by the value made of it.
    let linked = Linked(unsafe { bridge::cov_linked_new() });
    for part in parts {
        // SAFETY: see above; LLVM copies the bytes.
        let (texts, fine) = collect_bytes(|take, context| unsafe {
            bridge::cov_linked_add(linked.0, Text::new(&part.unit), Text::new(part.bitcode), take, context)
        });
        if !fine {
            return Err(BitcodeError::Link { unit: part.unit.clone(), reason: lossy(texts) });
        }
    }
    Ok(linked)
}

/// Reads a file's bitcode or text as the whole program; `name` is for messages.
pub fn read(name: &str, ir: &[u8]) -> Result<Linked, BitcodeError> {
    // SAFETY: as in `link`.
    let linked = Linked(unsafe { bridge::cov_linked_new() });
    // SAFETY: see above; LLVM copies the bytes.
    let (texts, fine) = collect_bytes(|take, context| unsafe {
        bridge::cov_linked_read(linked.0, Text::new(name), Text::new(ir), take, context)
    });
    if fine {
        Ok(linked)
    } else {
        Err(BitcodeError::Link { unit: name.to_owned(), reason: lossy(texts) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::unit::bitcode_part;
    use crate::parameters::InstrumentOptions;
    use crate::testing::complaints;
    use covsched_core::site::UnitTable;

    /// What an object of this IR has in its two sections.
    fn compile(ir: &str) -> (Vec<u8>, Vec<u8>) {
        let mut sections = (Vec::new(), Vec::new());
        let complaints = complaints(ir, |module| {
            crate::instrument::instrument(module, InstrumentOptions::default());
            sections = (module.section_data(BITCODE_SECTION).concat(), module.section_data(SECTION).concat());
        });
        assert!(complaints.is_empty(), "{complaints:?}");
        sections
    }

    fn loom_table(unit: &str) -> loom::table::UnitTable {
        loom::table::UnitTable {
            unit: unit.into(),
            precision: loom::table::Precision::Late,
            is_for_lto: false,
            strings: vec![],
            chains: vec![vec![]],
            functions: vec![],
            taken: vec![],
            original: None,
        }
    }

    const MAIN: &str = "source_filename = \"main.c\"
        define i32 @main() {
          call void @helper()
          %r = call i32 @pthread_mutex_lock(ptr null)
          ret i32 %r
        }
        declare void @helper()
        declare i32 @pthread_mutex_lock(ptr)";
    const HELPER: &str = "source_filename = \"helper.c\"
        define void @helper() {
          call void @missing()
          ret void
        }
        declare void @missing()";

    #[test]
    fn units_are_split_linked_and_what_is_missing_is_named() {
        let (mut section, table) = compile(MAIN);
        let (other, _) = compile(HELPER);
        section.extend_from_slice(&[0; 16]);
        section.extend_from_slice(&other);
        let parts = split(&section).unwrap();
        assert_eq!(parts.iter().map(|part| part.unit.as_str()).collect::<Vec<_>>(), ["main.c", "helper.c"]);
        let tables = UnitTable::read_section(&table).unwrap();
        assert_eq!((tables[0].hash, tables[0].has_bitcode), (parts[0].table_hash, true));

        let linked = link(&parts).unwrap();
        linked.verify().unwrap();
        let undefined = linked.undefined();
        assert!(undefined.contains(&"missing".to_owned()), "{undefined:?}");
        assert!(undefined.contains(&"covsched_pthread_mutex_lock".to_owned()), "{undefined:?}");
        let unexpected = ["helper", "main", "__start_covsched_sites"];
        assert!(!unexpected.iter().any(|name| undefined.contains(&name.to_string())), "{undefined:?}");

        let path = std::env::temp_dir().join(format!("covsched-linked-{}.bc", std::process::id()));
        linked.write(&path).unwrap();
        let written = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(written.starts_with(b"BC\xc0\xde"));
        assert!(matches!(linked.write(Path::new("/nowhere/x.bc")), Err(BitcodeError::Write { .. })));
    }

    #[test]
    fn text_and_bitcode_are_read_and_what_is_wrong_has_its_line() {
        let read_text = read("main.ll", MAIN.as_bytes()).unwrap();
        read_text.verify().unwrap();
        assert!(read_text.undefined().contains(&"pthread_mutex_lock".to_owned()));
        let (section, _) = compile(MAIN);
        let bitcode = read("main.bc", split(&section).unwrap()[0].bitcode).unwrap();
        assert_eq!(bitcode.undefined(), link(&split(&section).unwrap()).unwrap().undefined());
        let error = read("bad.ll", b"define void @f() {\n  nonsense\n}\n").unwrap_err().to_string();
        assert!(error.starts_with("bad.ll: line 2: "), "{error}");
        let error = read("bad.bc", b"BC\xc0\xde\x35\x14").unwrap_err().to_string();
        assert!(error.starts_with("bad.bc: "), "{error}");
    }

    #[test]
    fn what_others_put_into_the_section_is_told_apart() {
        let mut section = b"BC\xc0\xde of clang's own.....".to_vec();
        section.resize(section.len().next_multiple_of(8), 0);
        let foreign_len = section.len();
        section.extend(bitcode_part("a.c", 7, b"abc"));
        assert_eq!(
            split(&section).unwrap(),
            [Part { unit: "a.c".into(), table_hash: 7, bitcode: b"abc".as_slice() }]
        );
        assert_eq!(foreign(&section).unwrap(), vec![Range { start: 0, end: foreign_len }]);
        assert_eq!(split(&[]).unwrap(), []);
    }

    #[test]
    fn tables_of_loom_are_passed_over() {
        let table = loom_table("a.c");
        let (part, hash) = table.encode();
        let mut section = bitcode_part("a.c", 7, b"abc");
        section.extend(&part);
        section.extend(&[0; 24]);
        section.extend(bitcode_part("b.c", 8, b"CVLOOMT\0, in bitcode"));
        section.extend(&part);
        let units: Vec<String> = split(&section).unwrap().into_iter().map(|part| part.unit).collect();
        assert_eq!(units, ["a.c", "b.c"]);
        assert!(foreign(&section).unwrap().is_empty());
        let tables = loom::table::UnitTable::read_section(&section).unwrap();
        assert_eq!(tables, [(table.clone(), hash), (table, hash)]);
        let cut = section.len() - part.len() + 40;
        assert!(matches!(split(&section[..cut]), Err(BitcodeError::Damaged { .. })));
    }

    #[test]
    fn damage_is_reported_with_its_place() {
        let whole = bitcode_part("a.c", 7, b"some bitcode");
        for len in 8..whole.len() {
            assert!(matches!(split(&whole[..len]), Err(BitcodeError::Damaged { offset: 0 })), "{len}");
        }
        let mut other_version = whole.clone();
        other_version[8] = 9;
        assert!(matches!(split(&other_version), Err(BitcodeError::Version { offset: 0, version: 9 })));
        let mut huge = whole;
        huge[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(matches!(split(&huge), Err(BitcodeError::Damaged { .. })));
    }

    #[test]
    fn units_that_do_not_fit_are_named() {
        let garbage = Part { unit: "bad.c".into(), table_hash: 0, bitcode: b"not bitcode" };
        let error = link(&[garbage]).unwrap_err().to_string();
        assert!(error.starts_with("bad.c: "), "{error}");
        let (section, _) = compile(MAIN);
        let part = split(&section).unwrap().remove(0);
        let error = link(&[part.clone(), part]).unwrap_err().to_string();
        assert!(error.starts_with("main.c: ") && error.contains("main"), "{error}");
    }
}
