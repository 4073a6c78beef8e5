//! `covsched bitcode`: the whole program's bitcode, got back from an executable and put into one module.
//!
//! The bitcode stands in a section of each linked file, one part a translation unit. What is not there is a
//! limit of the result, named on standard error: units whose part is absent, units compiled without bitcode,
//! members of archives that are no ELF files, and functions that the files define in code that covsched did not
//! compile. Of an archive only those members count that were linked, as far as a linked file is there to tell.

use crate::elf::{self, Binary};
use crate::failure::Failure;
use covsched::bitcode::{link, split, BitcodeError, Part};
use covsched_core::site::{UnitTable, BITCODE_SECTION};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectKind, SymbolKind};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `bitcode` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// The executable; shared objects, object files and archives that belong to the program may follow
    #[arg(value_name = "APP", required = true)]
    files: Vec<PathBuf>,
    /// Where to write the module
    #[arg(short, value_name = "OUT.bc")]
    output: PathBuf,
}

/// Splits, links and writes.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut program = Program::default();
    let binaries = arguments.files.iter().map(|file| Binary::read(file)).collect::<Result<Vec<_>, _>>()?;
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
        let files: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
        return Err(Failure::bad(format!(
            "{}: no bitcode of covsched (section {BITCODE_SECTION}): it was stripped, or compiled with no-bitcode",
            files.join(", ")
        )));
    }
    for limit in missing_units(&program.units, &parts) {
        eprintln!("covsched: {limit}");
    }
    let linked = link(&parts).map_err(|error| describe(&error))?;
    for name in linked.undefined() {
        if program.functions.contains(&name) && !name.starts_with("covsched_") {
            let name = crate::names::demangle(&name);
            eprintln!("covsched: {name}: the program defines it in code that was not compiled with covsched");
        }
    }
    linked.verify().map_err(|error| describe(&error))?;
    linked.write(&arguments.output).map_err(|error| describe(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// Units that do not fit together and files that cannot be written are the user's; the rest is covsched's fault.
fn describe(error: &BitcodeError) -> Failure {
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
                    eprintln!("covsched: left out: {failure}");
                    continue;
                }
            };
            // A member that covsched did not compile is one of many; its functions are named where they matter.
            let units = elf::site_tables(member.path(), &file).map_or_else(|_| Vec::new(), |tables| tables.units);
            if units.is_empty() || self.is_linked(&units) {
                self.add_contents(member.path(), &file, units);
            }
        }
        Ok(())
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
        let unit =
            |name: &str, hash, has_bitcode| UnitTable { unit: name.into(), hash, has_bitcode, sites: vec![] };
        let units = [unit("a.c", 1, true), unit("b.c", 2, true), unit("c.c", 3, false)];
        let parts = [Part { unit: "a.c".into(), table_hash: 1, bitcode: b"" }];
        let missing: Vec<String> = missing_units(&units, &parts).into_iter().collect();
        assert_eq!(missing, ["b.c: its bitcode is missing (stripped?)", "c.c: was compiled without bitcode"]);
    }
}
