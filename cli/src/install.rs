//! Where covsched's parts are, and which clang it uses.

use crate::failure::Failure;
use std::ffi::OsString;
use std::path::PathBuf;

/// The files of `lib/covsched`.
#[derive(Clone, Debug)]
pub struct Libraries {
    /// `libcovsched.so`.
    pub plugin: PathBuf,
    /// `libcovsched_rt.a`.
    pub runtime: PathBuf,
    /// `covsched_interpose.o`, for dynamic executables.
    pub interposers: PathBuf,
}

impl Libraries {
    /// In `COVSCHED_LIBDIR`, or beside the folder of this executable.
    pub fn find() -> Result<Libraries, Failure> {
        let folder = match std::env::var_os("COVSCHED_LIBDIR") {
            Some(folder) => PathBuf::from(folder),
            None => {
                let own = std::env::current_exe().and_then(|path| path.canonicalize());
                let own =
                    own.map_err(|error| Failure::bad(format!("cannot find covsched's own folder: {error}")))?;
                own.parent()
                    .and_then(|bin| bin.parent())
                    .map_or_else(PathBuf::new, |root| root.join("lib/covsched"))
            }
        };
        let libraries = Libraries {
            plugin: folder.join("libcovsched.so"),
            runtime: folder.join("libcovsched_rt.a"),
            interposers: folder.join("covsched_interpose.o"),
        };
        for file in [&libraries.plugin, &libraries.runtime, &libraries.interposers] {
            if !file.is_file() {
                return Err(Failure::bad(format!(
                    "{} is missing: run covsched from its install tree (scripts/build makes target/install), \
                     or set COVSCHED_LIBDIR to its folder lib/covsched",
                    file.display()
                )));
            }
        }
        Ok(libraries)
    }
}

/// The clang to run: `COVSCHED_CLANG` or `COVSCHED_CLANGXX`, else clang 16 from PATH.
pub fn clang(cxx: bool) -> OsString {
    let (variable, default) =
        if cxx { ("COVSCHED_CLANGXX", "clang++-16") } else { ("COVSCHED_CLANG", "clang-16") };
    std::env::var_os(variable).filter(|value| !value.is_empty()).unwrap_or_else(|| default.into())
}

#[cfg(test)]
mod tests {
    #[test]
    fn cmake_has_the_same_version() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../cmake/CovschedConfigVersion.cmake");
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(&format!("set(PACKAGE_VERSION \"{}\")", env!("CARGO_PKG_VERSION"))));
    }
}
