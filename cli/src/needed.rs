//! The shared objects that a linked file needs, found about as the dynamic linker would.
//!
//! Limits: `/etc/ld.so.cache` is not read, only the usual folders are looked at; what the program opens itself
//! (`dlopen`) is not known.

use object::read::elf::{Dyn, FileHeader};
use object::{elf, File, SectionIndex};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Folders of the system, the last resort.
const SYSTEM_FOLDERS: &[&str] = &[
    "/usr/local/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];

/// The files that a linked file needs. `search` is the value of `LD_LIBRARY_PATH`. One that cannot be found is left
/// out: the program may run elsewhere.
pub fn shared_objects(path: &Path, file: &File<'_>, search: &OsStr) -> Vec<PathBuf> {
    let dynamic = match file {
        File::Elf64(file) => Dynamic::read(file.elf_header(), file.data()),
        File::Elf32(file) => Dynamic::read(file.elf_header(), file.data()),
        _ => None,
    };
    let Some(dynamic) = dynamic else { return Vec::new() };
    let own = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folders = dynamic.folders(own, search);
    let find = |name: &Vec<u8>| {
        let name = Path::new(OsStr::from_bytes(name));
        // A name with a slash is a path, and not searched for.
        if name.as_os_str().as_bytes().contains(&b'/') {
            return Some(name.to_owned()).filter(|name| name.is_file());
        }
        folders.iter().map(|folder| folder.join(name)).find(|place| place.is_file())
    };
    dynamic.needed.iter().filter_map(find).collect()
}

/// What the dynamic section says.
#[derive(Default)]
struct Dynamic {
    needed: Vec<Vec<u8>>,
    /// DT_RPATH and DT_RUNPATH: lists with colons.
    run_paths: Vec<Vec<u8>>,
}

impl Dynamic {
    fn read<Elf: FileHeader<Endian = object::Endianness>>(header: &Elf, data: &[u8]) -> Option<Dynamic> {
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        let (entries, strings): (&[Elf::Dyn], SectionIndex) = sections.dynamic(endian, data).ok()??;
        let strings = sections.strings(endian, data, strings).ok()?;
        let mut dynamic = Dynamic::default();
        for entry in entries {
            let list = match entry.tag32(endian) {
                Some(elf::DT_NULL) => break,
                Some(elf::DT_NEEDED) => &mut dynamic.needed,
                Some(elf::DT_RPATH | elf::DT_RUNPATH) => &mut dynamic.run_paths,
                _ => continue,
            };
            list.extend(entry.string(endian, strings).ok().map(<[u8]>::to_vec));
        }
        Some(dynamic)
    }

    /// Where to look, in order. The file's own folder is no place of the dynamic linker's, but where a program that
    /// is not installed yet has its libraries.
    fn folders(&self, own: &Path, search: &OsStr) -> Vec<PathBuf> {
        let origin = own.canonicalize().unwrap_or_else(|_| own.to_owned());
        let place =
            |folder: PathBuf| match folder.strip_prefix("$ORIGIN").or(folder.strip_prefix("${ORIGIN}")) {
                Ok(inside) => origin.join(inside),
                Err(_) => folder,
            };
        let run_paths = self.run_paths.iter().flat_map(|list| std::env::split_paths(OsStr::from_bytes(list)));
        let search = std::env::split_paths(search).filter(|folder| !folder.as_os_str().is_empty());
        run_paths
            .map(place)
            .chain(search)
            .chain([own.to_owned()])
            .chain(SYSTEM_FOLDERS.iter().map(PathBuf::from))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_have_the_dynamic_linkers_order() {
        let dynamic = Dynamic { needed: vec![], run_paths: vec![b"/opt/lib:$ORIGIN/../lib".to_vec()] };
        let folders = dynamic.folders(Path::new("/nonexistent/bin"), OsStr::new("/home/lib:"));
        let expected = ["/opt/lib", "/nonexistent/bin/../lib", "/home/lib", "/nonexistent/bin"];
        assert_eq!(folders[..4], expected.map(PathBuf::from));
    }

    #[test]
    fn this_test_needs_the_c_library() {
        let path = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let found = shared_objects(&path, &File::parse(&*bytes).unwrap(), OsStr::new(""));
        assert!(found.iter().any(|file| file.ends_with("libc.so.6")), "{found:?}");
    }
}
