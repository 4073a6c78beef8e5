//! The linked files of a program, executable first, and what the pass left in them: one table a unit in
//! [`BITCODE_SECTION`], one descriptor a unit in [`abi::UNITS_SECTION`]. A unit is what has both, with one hash.

use super::process::Mapped;
use crate::elf::{self, Binary};
use crate::failure::Failure;
use crate::needed;
use covsched_core::loom::abi;
use covsched_core::loom::compile::{LinkedUnit, Program};
use covsched_core::loom::table::UnitTable;
use covsched_core::site::BITCODE_SECTION;
use object::{Object, ObjectSection};
use std::collections::HashMap;
use std::mem::{offset_of, size_of};
use std::path::Path;

/// A linked file that has units.
pub struct Image {
    binary: Binary,
    /// For people: the path as the process, or the user, sees it.
    pub name: String,
}

impl Image {
    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        self.binary.bytes()
    }
}

/// The files of a program.
pub struct Images {
    /// [`LinkedUnit::file`] is an index.
    pub files: Vec<Image>,
    pub program: Program,
    /// What is not there, in words: files that could not be read, units without a table.
    pub limits: Vec<String>,
    /// The executable's name.
    pub name: String,
}

impl Images {
    /// An executable and the shared objects that it needs.
    pub fn of_app(app: &Path) -> Result<Images, Failure> {
        let mut images = Images::new(app.display().to_string());
        let binary = Binary::read(app)?;
        let file = binary.parse()?;
        let mut needed = vec![];
        let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let mut open = needed::shared_objects(app, &file, &search);
        images.add(app.display().to_string(), binary)?;
        while let Some(path) = open.pop() {
            if needed.contains(&path) {
                continue;
            }
            needed.push(path.clone());
            let Ok(binary) = Binary::read(&path) else { continue };
            if let Ok(file) = binary.parse() {
                open.extend(needed::shared_objects(&path, &file, &search));
            }
            images.add(path.display().to_string(), binary)?;
        }
        images.check()?;
        Ok(images)
    }

    /// What is mapped into a process.
    pub fn of_process(files: &[Mapped]) -> Result<Images, Failure> {
        let name = files.first().map_or_else(String::new, |file| file.name.display().to_string());
        let mut images = Images::new(name);
        for file in files {
            let name = file.name.display().to_string();
            if file.gone {
                images.limits.push(format!(
                    "{name}: was replaced or removed after the process loaded it: filters cannot name its code"
                ));
                continue;
            }
            match Binary::read(&file.path) {
                Ok(binary) => images.add(name, binary)?,
                Err(failure) => images.limits.push(failure.to_string()),
            }
        }
        images.check()?;
        Ok(images)
    }

    fn new(name: String) -> Images {
        Images { files: Vec::new(), program: Program::default(), limits: Vec::new(), name }
    }

    /// Adds a file's units; one without any is left out.
    fn add(&mut self, name: String, binary: Binary) -> Result<(), Failure> {
        // What is mapped may be anything; what the user names was parsed before.
        let Ok(file) = binary.parse() else { return Ok(()) };
        let descriptors = descriptors(&name, &file)?;
        if descriptors.is_empty() {
            return Ok(());
        }
        let section = elf::section(&file, BITCODE_SECTION).unwrap_or_default();
        let tables = tables(&name, &section)?;
        let number = self.files.len();
        let mut missing = 0;
        for Descriptor { hash, address, functions, locations, slots } in descriptors {
            let Some(table) = tables.get(&hash) else {
                missing += 1;
                continue;
            };
            self.program.units.push(LinkedUnit {
                table: table.clone(),
                hash,
                address,
                file: number,
                function_count: functions,
                location_count: locations,
                slot_count: slots,
            });
        }
        if missing > 0 {
            self.limits.push(format!(
                "{name}: {missing} of its units have no loom table (section {BITCODE_SECTION}): was it stripped? \
                 `strip --keep-section={BITCODE_SECTION}` keeps them"
            ));
        }
        self.files.push(Image { binary, name });
        Ok(())
    }

    fn check(&self) -> Result<(), Failure> {
        if !self.program.units.is_empty() {
            return Ok(());
        }
        let name = &self.name;
        Err(Failure::bad(match self.files.is_empty() {
            true => format!(
                "{name}: was not compiled with --loom: neither it nor a library of it has anything that a filter \
                 could name (section {}). Build it with `covsched cc --loom`",
                abi::UNITS_SECTION
            ),
            false => self.limits.join("; "),
        }))
    }
}

/// What is plain data in an [`abi::Unit`]; its pointers are the dynamic linker's.
struct Descriptor {
    hash: u64,
    address: u64,
    functions: u32,
    locations: u32,
    slots: u32,
}

fn descriptors(name: &str, file: &object::File<'_>) -> Result<Vec<Descriptor>, Failure> {
    let Some(section) = file.section_by_name(abi::UNITS_SECTION) else { return Ok(Vec::new()) };
    let bytes = section.data().unwrap_or_default();
    let word =
        |at: usize| bytes.get(at..at + 4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")));
    let mut found = Vec::new();
    let mut at = 0;
    while at + size_of::<abi::Unit>() <= bytes.len() {
        let field = |offset: usize| word(at + offset).expect("inside the descriptor");
        let version = field(offset_of!(abi::Unit, version));
        let size = field(offset_of!(abi::Unit, size));
        if version == 0 && size == 0 {
            // Between two of them: padding.
            at += 8;
            continue;
        }
        if version != abi::VERSION || size as usize != size_of::<abi::Unit>() {
            return Err(Failure::bad(format!(
                "{name}: was compiled with --loom by another version of covsched (its version is {version}, this one's \
                 {}); build it again",
                abi::VERSION
            )));
        }
        let hash = at + offset_of!(abi::Unit, hash);
        found.push(Descriptor {
            hash: u64::from_le_bytes(bytes[hash..hash + 8].try_into().expect("8 bytes")),
            address: section.address() + at as u64,
            functions: field(offset_of!(abi::Unit, function_count)),
            locations: field(offset_of!(abi::Unit, location_count)),
            slots: field(offset_of!(abi::Unit, slot_count)),
        });
        at += size_of::<abi::Unit>();
    }
    Ok(found)
}

/// The loom tables of a section by their hash.
fn tables(name: &str, section: &[u8]) -> Result<HashMap<u64, UnitTable>, Failure> {
    let tables = UnitTable::read_section(section).map_err(|error| {
        Failure::bad(format!("{name}: section {BITCODE_SECTION}: {error}. Build it again"))
    })?;
    Ok(tables.into_iter().map(|(table, hash)| (hash, table)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::loom::table::Precision;

    fn table(unit: &str) -> UnitTable {
        UnitTable {
            unit: unit.into(),
            precision: Precision::Late,
            is_for_lto: false,
            strings: vec![],
            chains: vec![],
            functions: vec![],
            taken: vec![],
            original: None,
        }
    }

    #[test]
    fn tables_stand_between_other_parts() {
        let ((one, first), (two, second)) = (table("a.c").encode(), table("b.c").encode());
        let section = [b"BITCODE\0".to_vec(), one, vec![0; 16], two, b"x".to_vec()].concat();
        let found = tables("app", &section).unwrap();
        assert_eq!((&*found[&first].unit, &*found[&second].unit, found.len()), ("a.c", "b.c", 2));
    }

    #[test]
    fn a_damaged_table_is_an_error() {
        let (mut bytes, _) = table("a.c").encode();
        bytes[34] ^= 1;
        let error = tables("app", &bytes).err().unwrap().to_string();
        assert!(error.contains("app: section .llvmcmd: the loom table at byte 0 is damaged"), "{error}");
        let (bytes, _) = table("a.c").encode();
        assert!(tables("app", &bytes[..33]).is_err());
    }

    #[test]
    fn a_program_without_loom_is_told_how_to_get_it() {
        let me = std::env::current_exe().unwrap();
        let error = Images::of_app(&me).err().unwrap().to_string();
        assert!(error.contains("was not compiled with --loom"), "{error}");
    }
}
