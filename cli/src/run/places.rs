//! Where a site is that the schedule does not have: in the site tables of the program and of the shared objects
//! that it needs. What it opened itself (`dlopen`) is not known.

use crate::elf::{self, Binary};
use crate::needed::shared_objects;
use crate::program::Program;
use covsched_core::site::Site;
use covsched_core::SiteId;
use std::collections::HashSet;
use std::path::PathBuf;

/// The site, if it is in the program or in what it is linked with.
pub fn find(program: &Program, id: SiteId) -> Option<Site> {
    let mut open = Vec::new();
    let mut seen: HashSet<PathBuf> = HashSet::new();
    let mut look = |binary: &Binary, open: &mut Vec<PathBuf>| {
        let file = binary.parse().ok()?;
        let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let needed = shared_objects(binary.path(), &file, &search);
        open.extend(needed.into_iter().filter(|next| seen.insert(next.clone())));
        let tables = elf::site_tables(binary.path(), &file).ok()?;
        tables.units.into_iter().flat_map(|unit| unit.sites).find(|site| site.id == id)
    };
    let mut found = look(&program.binary, &mut open);
    while let (None, Some(path)) = (&found, open.pop()) {
        found = Binary::read(&path).ok().and_then(|binary| look(&binary, &mut open));
    }
    found
}
