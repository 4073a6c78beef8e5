//! Where the executable has the variables that a schedule names, so that the runtime can tell one lock from another from
//! its first use on.
//!
//! A name says which variable is meant only if the executable has one of that name, and no shared object that it needs
//! has synchronizations of its own: their variables have names too.

use crate::elf::{self, Binary};
use crate::needed::shared_objects;
use crate::program::Program;
use covsched_core::schedule::compile::Places;
use covsched_core::site;
use object::{Object, ObjectSection, SymbolKind};
use std::collections::HashMap;

/// The executable's variables.
pub struct Statics {
    site_tables: u64,
    /// By name; `None` for a name that several have.
    variables: HashMap<String, Option<u64>>,
}

impl Statics {
    /// Of a program; none where they cannot be told.
    pub fn of(program: &Program) -> Statics {
        Statics::read(&program.binary).unwrap_or(Statics { site_tables: 0, variables: HashMap::new() })
    }

    fn read(binary: &Binary) -> Option<Statics> {
        let file = binary.parse().ok()?;
        let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let synchronizes = |path: &std::path::PathBuf| {
            let library = Binary::read(path).ok()?;
            Some(elf::section(&library.parse().ok()?, site::SECTION).is_some())
        };
        if shared_objects(binary.path(), &file, &search).iter().any(|path| synchronizes(path) != Some(false))
        {
            return None;
        }
        let mut sections = file.sections().filter(|section| section.name() == Ok(site::SECTION));
        let site_tables = sections.next()?.address();
        let mut variables: HashMap<String, Option<u64>> = HashMap::new();
        for symbol in elf::symbols(&file, SymbolKind::Data) {
            let known = variables.entry(symbol.name).or_insert(Some(symbol.address));
            if *known != Some(symbol.address) {
                *known = None;
            }
        }
        Some(Statics { site_tables, variables })
    }
}

impl Places for Statics {
    fn site_tables(&self) -> u64 {
        self.site_tables
    }

    fn address(&self, symbol: &str) -> Option<u64> {
        let (name, offset) = match symbol.rsplit_once('+') {
            Some((name, offset)) => (name, offset.parse().ok()?),
            None => (symbol, 0u64),
        };
        Some((*self.variables.get(name)?)? + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_variables_have_says_nothing() {
        let variables = [("lock".to_owned(), Some(0x40)), ("twice".to_owned(), None)].into();
        let statics = Statics { site_tables: 8, variables };
        assert_eq!(statics.address("lock"), Some(0x40));
        assert_eq!(statics.address("lock+8"), Some(0x48));
        assert_eq!(statics.address("twice"), None);
        assert_eq!(statics.address("other"), None);
        assert_eq!(statics.address("lock+x"), None);
    }
}
