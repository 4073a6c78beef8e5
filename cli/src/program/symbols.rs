//! Names of the variables that synchronization objects live in, from the symbol tables of the linked objects.

use crate::elf::{self, Binary, Symbol};
use covsched_core::schedule::assemble::Symbols;
use covsched_core::schedule::recording::Recording;
use object::SymbolKind;
use std::os::unix::fs::MetadataExt;

/// The variables of one linked object.
struct Module {
    bias: u64,
    variables: Vec<Symbol>,
}

/// The variables of a recorded process.
pub struct Variables {
    modules: Vec<Module>,
}

impl Variables {
    /// Of the objects that registered with the runtime. What cannot be read has no names.
    pub fn of(recording: &Recording, app: &Binary) -> Variables {
        let same_file = |a: &std::path::Path, b: &std::path::Path| {
            let ids =
                |path| std::fs::metadata(path).ok().map(|file: std::fs::Metadata| (file.dev(), file.ino()));
            ids(a).is_some_and(|id| ids(b) == Some(id))
        };
        let module = |object: &covsched_core::schedule::recording::LinkedObject| {
            let is_app = object.path.as_os_str().is_empty() || same_file(&object.path, app.path());
            let read = if is_app { None } else { Binary::read(&object.path).ok() };
            let binary = if is_app { app } else { read.as_ref()? };
            let variables = elf::symbols(&binary.parse().ok()?, SymbolKind::Data);
            Some(Module { bias: object.bias, variables })
        };
        Variables { modules: recording.objects.iter().filter_map(module).collect() }
    }
}

impl Symbols for Variables {
    fn name(&self, address: u64) -> Option<String> {
        self.modules.iter().find_map(|module| {
            let inside = address.checked_sub(module.bias)?;
            let after = module.variables.partition_point(|symbol| symbol.address <= inside);
            let nearest = module.variables[..after].last()?.address;
            // Aliases have one address; the first that is large enough names it.
            let first = module.variables[..after].partition_point(|symbol| symbol.address < nearest);
            let found =
                module.variables[first..after].iter().find(|symbol| inside - nearest < symbol.size.max(1))?;
            Some(match inside - nearest {
                0 => found.name.clone(),
                offset => format!("{}+{offset}", found.name),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_variable_that_covers_it() {
        let symbol = |name: &str, address, size| Symbol { name: name.to_owned(), address, size };
        let variables = vec![symbol("lock", 0x10, 40), symbol("queue", 0x40, 100), symbol("tag", 0x40, 0)];
        let variables = Variables { modules: vec![Module { bias: 0x1000, variables }] };
        let name = |address| variables.name(address);
        assert_eq!(name(0x1010).as_deref(), Some("lock"));
        assert_eq!(name(0x1010 + 39).as_deref(), Some("lock+39"));
        assert_eq!(name(0x1010 + 40), None);
        assert_eq!(name(0x1048).as_deref(), Some("queue+8"));
        assert_eq!(name(0x0), None);
        assert_eq!(name(0x2000), None);
    }
}
