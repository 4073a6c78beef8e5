//! What covsched looks for in an ELF file: site tables, bitcode, symbols.

use crate::failure::Failure;
use covsched_core::site::{self, UnitTable};
use covsched_core::ProgramId;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::path::{Path, PathBuf};

/// A file, read.
pub struct Binary {
    path: PathBuf,
    bytes: Vec<u8>,
}

/// A variable or function.
pub struct Symbol {
    pub name: String,
    pub address: u64,
    pub size: u64,
}

impl Binary {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Binary, Failure> {
        let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
        Ok(Binary { path: path.to_owned(), bytes })
    }

    /// Made of bytes that stand in another file, such as an archive.
    pub fn part(path: PathBuf, bytes: Vec<u8>) -> Binary {
        Binary { path, bytes }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it is a library of object files.
    pub fn is_archive(&self) -> bool {
        self.bytes.starts_with(&object::archive::MAGIC)
    }

    /// Its parts.
    pub fn parse(&self) -> Result<object::File<'_>, Failure> {
        let what = |what: &str| {
            let name = self.path.display();
            Failure::bad(format!(
                "{name}: {what}, so it was not compiled with covsched (build it with `covsched cc`)"
            ))
        };
        let other = |what: &str| Err(Failure::bad(format!("{}: {what}", self.path.display())));
        if self.bytes.starts_with(b"#!") {
            return Err(what("is a script"));
        }
        // Plain, and in the wrapper that other platforms use.
        if self.bytes.starts_with(b"BC\xc0\xde") || self.bytes.starts_with(b"\xde\xc0\x17\x0b") {
            return other(
                "is LLVM bitcode, as -flto makes it, and no ELF file yet: give what it is linked into",
            );
        }
        if self.is_archive() || self.bytes.starts_with(&object::archive::THIN_MAGIC) {
            return other("is an archive: give what it is linked into, or its members");
        }
        if !self.bytes.starts_with(b"\x7fELF") {
            return Err(what("is no ELF file"));
        }
        object::File::parse(&*self.bytes)
            .map_err(|error| what(&format!("cannot be read as an ELF file ({error})")))
    }
}

/// A section's bytes: those of all sections of the name, since a relocatable file may have several.
pub fn section(file: &object::File<'_>, name: &str) -> Option<Vec<u8>> {
    let mut found = None;
    for section in file.sections().filter(|section| section.name() == Ok(name)) {
        let bytes = found.get_or_insert_with(Vec::new);
        if let Ok(data) = section.data() {
            // Parts begin at multiples of 8.
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend_from_slice(data);
        }
    }
    found
}

/// The site tables of a file.
pub struct SiteTables {
    pub program: ProgramId,
    pub units: Vec<UnitTable>,
}

/// Reads a file's site tables; it is an error if it has none.
pub fn site_tables(path: &Path, file: &object::File<'_>) -> Result<SiteTables, Failure> {
    let name = path.display();
    let Some(bytes) = section(file, site::SECTION) else {
        return Err(Failure::bad(format!(
            "{name}: was not compiled with covsched: it has no site tables (section {}). \
             Build it with `covsched cc`, or with clang and -fpass-plugin=libcovsched.so. `covsched cc` adds nothing \
             with -ffreestanding or -mcmodel=kernel, nor with -nostdlib, -nodefaultlibs or -nolibc without -lc",
            site::SECTION
        )));
    };
    let units = UnitTable::read_section(&bytes).map_err(|error| {
        Failure::bad(format!(
            "{name}: {error}. It was compiled with another version of covsched; build it again"
        ))
    })?;
    Ok(SiteTables { program: site::program_id(&bytes), units })
}

/// Whether the runtime is linked in. A static executable without symbols does not tell; it passes.
pub fn has_runtime(file: &object::File<'_>) -> bool {
    let mut any = false;
    let found = file.symbols().chain(file.dynamic_symbols()).any(|symbol| {
        any = true;
        symbol.name() == Ok("covsched_register") && symbol.is_definition()
    });
    found || !any
}

/// Defined symbols of a kind, sorted by address.
pub fn symbols(file: &object::File<'_>, kind: SymbolKind) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = file
        .symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.kind() == kind && symbol.is_definition())
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some(Symbol { name: name.to_owned(), address: symbol.address(), size: symbol.size() })
        })
        .collect();
    symbols.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    symbols.dedup_by(|a, b| a.address == b.address && a.name == b.name);
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_elf_files_are_called_what_they_are() {
        for (bytes, expected) in [
            (&b"BC\xc0\xde\x35\x14"[..], "a.o: is LLVM bitcode"),
            (b"!<arch>\n", "a.o: is an archive"),
            (b"!<thin>\n", "a.o: is an archive"),
            (b"#!/bin/sh\n", "a.o: is a script, so it was not compiled with covsched"),
            (b"text", "a.o: is no ELF file, so it was not compiled with covsched"),
            (b"\x7fELF", "a.o: cannot be read as an ELF file"),
        ] {
            let binary = Binary::part("a.o".into(), bytes.to_vec());
            let failure = binary.parse().unwrap_err().to_string();
            assert!(failure.starts_with(expected), "{failure}");
        }
    }
}
