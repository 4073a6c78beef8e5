//! The whole program as one module, for commands that look at all of it: read from a file, or got back from an executable
//! and put together.
//!
//! The bitcode stands in a section of each linked file, one part a translation unit. What is not there is a
//! limit of the result, named on standard error: shared objects that the program needs and that were compiled with
//! covsched, but not given, units whose part is absent, units compiled without bitcode,
//! members of archives that are no ELF files, and functions that the files define in code that covsched did not
//! compile. Of an archive only those members count that were linked, as far as a linked file is there to tell.

use crate::elf::{self, Binary};
use crate::failure::Failure;
use crate::needed;
use crate::say::say;
use covsched::bitcode::{link, read, split, BitcodeError, Linked, Part};
use covsched_core::site::{UnitTable, BITCODE_SECTION};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, SymbolKind};
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Splits and links what executables, shared objects, object files and archives have in them; limits go to standard
/// error.
pub fn link_binaries(files: &[PathBuf]) -> Result<Linked, Failure> {
    let mut program = Program::default();
    let binaries = files.iter().map(|file| Binary::read(file)).collect::<Result<Vec<_>, _>>()?;
    // Archives last: the linked files say which members count.
    let (archives, others): (Vec<_>, Vec<_>) = binaries.iter().partition(|binary| binary.is_archive());
    for binary in others {
        program.add_binary(binary)?;
    }
    for binary in archives {
        program.add_archive(binary)?;
    }
    let mut parts = Vec::new();
    for (path, section) in &program.sections {
        let found = split(section).map_err(|error| Failure::bad(format!("{}: {error}", path.display())))?;
        // A file may be given twice: as an object, and in what it was linked into.
        let new = found.into_iter().filter(|part| !parts.contains(part)).collect::<Vec<Part<'_>>>();
        parts.extend(new);
    }
    if parts.is_empty() {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Failure::bad(format!(
            "{}: no bitcode of covsched (section {BITCODE_SECTION}): it was stripped, or compiled with no-bitcode",
            files.join(", ")
        )));
    }
    for path in program.objects_not_given() {
        say(format_args!(
            "covsched: {}: the program needs it, but it was not given: its code is missing",
            path.display()
        ));
    }
    for limit in missing_units(&program.units, &parts) {
        say(format_args!("covsched: {limit}"));
    }
    let linked = link(&parts).map_err(|error| describe(&error))?;
    for name in linked.undefined() {
        if program.functions.contains(&name) && !name.starts_with("covsched_") {
            let name = crate::names::demangle(&name);
            say(format_args!(
                "covsched: {name}: the program defines it in code that was not compiled with covsched"
            ));
        }
    }
    linked.verify().map_err(|error| describe(&error))?;
    Ok(linked)
}

/// The whole program that an APP argument names: an executable made by covsched, a bitcode file or an .ll file.
pub fn read_app(app: &Path) -> Result<Linked, Failure> {
    let bytes = std::fs::read(app).map_err(|error| Failure::file(app, &error))?;
    // The wrapper is what Apple's tools write, and what LLVM reads too.
    let is_bitcode = bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(b"\xde\xc0\x17\x0b");
    if !is_bitcode && app.extension() != Some(OsStr::new("ll")) {
        return link_binaries(&[app.to_owned()]);
    }
    let linked = read(&app.display().to_string(), &bytes).map_err(|error| describe(&error))?;
    // Here it is the file that is broken.
    linked.verify().map_err(|error| Failure::bad(format!("{}: {error}", app.display())))?;
    Ok(linked)
}

/// Units that do not fit together and files that cannot be written are the user's; the rest is covsched's fault.
pub fn describe(error: &BitcodeError) -> Failure {
    match error {
        BitcodeError::Invalid(_) => Failure::Bug(error.to_string()),
        _ => Failure::bad(error.to_string()),
    }
}

/// What the files hold.
#[derive(Default)]
struct Program {
    sections: Vec<(PathBuf, Vec<u8>)>,
    units: Vec<UnitTable>,
    /// Hashes of the tables in linked files; `None` if no file is linked.
    linked: Option<HashSet<u64>>,
    /// Shared objects that the linked files need.
    needed: BTreeSet<PathBuf>,
    /// Linkage names of all functions that they define.
    functions: HashSet<String>,
}

impl Program {
    /// A file without site tables is an error.
    fn add_binary(&mut self, binary: &Binary) -> Result<(), Failure> {
        let file = binary.parse()?;
        let tables = elf::site_tables(binary.path(), &file)?;
        if matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
            let hashes = tables.units.iter().map(|unit| unit.hash);
            self.linked.get_or_insert_with(HashSet::new).extend(hashes);
            self.needed.extend(shared_objects(binary.path(), &file));
        }
        self.add_contents(binary.path(), &file, tables.units);
        Ok(())
    }

    /// Members that do not belong to the program, as two that define one function, would not fit together.
    fn add_archive(&mut self, binary: &Binary) -> Result<(), Failure> {
        let path = binary.path();
        let damaged = |error: object::Error| Failure::bad(format!("{}: {error}", path.display()));
        let archive = ArchiveFile::parse(binary.bytes()).map_err(damaged)?;
        for member in archive.members() {
            let member = member.map_err(damaged)?;
            let name = String::from_utf8_lossy(member.name());
            let place = PathBuf::from(format!("{}({name})", path.display()));
            let bytes = member.data(binary.bytes()).map_err(damaged)?.to_vec();
            let member = Binary::part(place, bytes);
            let file = match member.parse() {
                Ok(file) => file,
                Err(failure) => {
                    say(format_args!("covsched: left out: {failure}"));
                    continue;
                }
            };
            // A member that covsched did not compile is one of many; its functions are named where they matter.
            let units =
                elf::site_tables(member.path(), &file).map_or_else(|_| Vec::new(), |tables| tables.units);
            if units.is_empty() || self.is_linked(&units) {
                self.add_contents(member.path(), &file, units);
            }
        }
        Ok(())
    }

    /// Needed objects, and those that they need, whose units are not among those of the files: a copy under another
    /// name counts as given. Objects that covsched did not compile have no bitcode to give.
    fn objects_not_given(&self) -> BTreeSet<PathBuf> {
        let given: HashSet<u64> = self.units.iter().map(|unit| unit.hash).collect();
        let mut missing = BTreeSet::new();
        let mut seen = self.needed.clone();
        let mut open: Vec<PathBuf> = self.needed.iter().cloned().collect();
        while let Some(path) = open.pop() {
            let Ok(binary) = Binary::read(&path) else { continue };
            let Ok(file) = binary.parse() else { continue };
            let Ok(tables) = elf::site_tables(&path, &file) else { continue };
            open.extend(shared_objects(&path, &file).into_iter().filter(|next| seen.insert(next.clone())));
            if tables.units.iter().any(|unit| !given.contains(&unit.hash)) {
                missing.insert(path);
            }
        }
        missing
    }

    fn is_linked(&self, units: &[UnitTable]) -> bool {
        let Some(linked) = &self.linked else { return true };
        units.iter().any(|unit| linked.contains(&unit.hash))
    }

    fn add_contents(&mut self, path: &Path, file: &object::File<'_>, units: Vec<UnitTable>) {
        self.units.extend(units);
        if let Some(section) = elf::section(file, BITCODE_SECTION) {
            self.sections.push((path.to_owned(), section));
        }
        self.functions.extend(elf::symbols(file, SymbolKind::Text).into_iter().map(|symbol| symbol.name));
    }
}

fn shared_objects(path: &Path, file: &object::File<'_>) -> Vec<PathBuf> {
    needed::shared_objects(path, file, &std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default())
}

/// Units of the site tables that have no part, in words.
fn missing_units(units: &[UnitTable], parts: &[Part<'_>]) -> BTreeSet<String> {
    let there: HashSet<u64> = parts.iter().map(|part| part.table_hash).collect();
    let missing = units.iter().filter(|unit| !there.contains(&unit.hash));
    missing
        .map(|unit| match unit.has_bitcode {
            true => format!("{}: its bitcode is missing (stripped?)", unit.unit),
            false => format!("{}: was compiled without bitcode", unit.unit),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_without_their_part_are_named() {
        let unit = |name: &str, hash, has_bitcode| {
            let (unit, sites) = (name.into(), vec![]);
            UnitTable { unit, hash, has_bitcode, has_epochs: false, sites }
        };
        let units = [unit("a.c", 1, true), unit("b.c", 2, true), unit("c.c", 3, false)];
        let parts = [Part { unit: "a.c".into(), table_hash: 1, bitcode: b"" }];
        let missing: Vec<String> = missing_units(&units, &parts).into_iter().collect();
        assert_eq!(missing, ["b.c: its bitcode is missing (stripped?)", "c.c: was compiled without bitcode"]);
    }
}
