//! A program made by covsched, and one run of it: what `record` and `run` share.
//!
//! - [`launch`]: runs it as a shell would
//! - [`options`]: what the runtime in it is told
//! - [`private_folder`]: where that runtime writes
//! - [`recorded`]: schedules of what it wrote
//! - [`rights`]: programs that cannot be told anything
//! - [`stamp`]: programs that were specialized for a schedule

pub mod launch;
pub mod options;
pub mod private_folder;
pub mod recorded;
mod rights;
mod stamp;
mod symbols;

use crate::elf::{self, Binary};
use crate::failure::Failure;
use crate::needed;
use covsched_core::ProgramId;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A program that has hooks and the runtime.
pub struct Program {
    /// As it was called: its `argv[0]`.
    pub name: OsString,
    /// The file.
    pub binary: Binary,
    /// Which build of it.
    pub id: ProgramId,
}

impl Program {
    /// Finds a program as a shell would, and refuses one that covsched did not make or cannot tell anything.
    pub fn find(name: &OsStr) -> Result<Program, Failure> {
        let app = find_program(name)?;
        let binary = Binary::read(&app)?;
        let id = {
            let file = binary.parse()?;
            let tables = elf::site_tables(&app, &file)?;
            if !elf::has_runtime(&file) {
                return Err(Failure::bad(format!(
                    "{}: was compiled with covsched, but linked without its runtime. Link it with `covsched cc`, or \
                     add libcovsched_rt.a and -Wl,--export-dynamic-symbol='covsched_*'",
                    app.display()
                )));
            }
            tables.program
        };
        rights::check(&app)?;
        Ok(Program { name: name.to_owned(), binary, id })
    }

    /// Whether a unit of it, or of a shared object that it is linked with, was compiled with epoch markers. Objects that it
    /// opens itself are not known.
    pub fn has_epochs(&self) -> Result<bool, Failure> {
        let has_epochs = |path: &Path, file: &object::File<'_>| {
            let units = elf::site_tables(path, file).map(|tables| tables.units).unwrap_or_default();
            units.iter().any(|unit| unit.has_epochs)
        };
        let file = self.binary.parse()?;
        if has_epochs(self.path(), &file) {
            return Ok(true);
        }
        let search = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let mut open = needed::shared_objects(self.path(), &file, &search);
        let mut seen: HashSet<PathBuf> = open.iter().cloned().collect();
        while let Some(path) = open.pop() {
            let Ok(binary) = Binary::read(&path) else { continue };
            let Ok(file) = binary.parse() else { continue };
            if has_epochs(&path, &file) {
                return Ok(true);
            }
            let next = needed::shared_objects(&path, &file, &search);
            open.extend(next.into_iter().filter(|next| seen.insert(next.clone())));
        }
        Ok(false)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        self.binary.path()
    }
}

/// The program's file: through PATH if its name has no slash, as a shell would.
fn find_program(name: &OsStr) -> Result<PathBuf, Failure> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    search(&path, name).ok_or_else(|| {
        let name = name.to_string_lossy();
        let hint =
            if Path::new(&*name).exists() { format!("; did you mean ./{name}?") } else { String::new() };
        Failure::bad(format!("{name}: No such file in PATH{hint}"))
    })
}

/// The first file of this name in a list of folders that may be executed.
fn search(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join(name)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_executed_is_passed_over() {
        use std::os::unix::fs::PermissionsExt;
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        for (folder, mode) in folders.iter().zip([0o644, 0o755]) {
            let file = folder.path().join("app");
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = std::env::join_paths(folders.iter().map(|folder| folder.path())).unwrap();
        assert_eq!(search(&path, OsStr::new("app")), Some(folders[1].path().join("app")));
    }

    #[test]
    fn programs_are_found_as_a_shell_finds_them() {
        assert!(find_program(OsStr::new("sh")).unwrap().is_absolute());
        assert_eq!(find_program(OsStr::new("./app")).unwrap(), Path::new("./app"));
        assert!(find_program(OsStr::new("no-such-program"))
            .unwrap_err()
            .to_string()
            .contains("No such file"));
    }
}
