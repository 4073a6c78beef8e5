//! What a clang command line is going to do, as far as covsched must know.
//!
//! Not a parser of clang's options: it knows which options take their value as the next word, which end
//! the run before the optimizer or the linker, and which decide what is linked. An option that it does not
//! know is one word and changes nothing.

use std::ffi::OsString;
use std::path::Path;

/// How far clang goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Nothing that covsched takes part in.
    Other,
    /// To assembly, object, bitcode or a precompiled header.
    Compile,
    /// To a linked file.
    Link,
}

/// What is linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkKind {
    Executable,
    Shared,
    /// `-r`.
    Relocatable,
}

/// What covsched must know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Analysis {
    pub stage: Stage,
    pub link_kind: LinkKind,
    /// No dynamic linker at run time, or one in the executable.
    pub is_static: bool,
    pub lto: bool,
    /// Linked with ThreadSanitizer.
    pub thread_sanitizer: bool,
    /// What `-fuse-ld=` or `--ld-path=` says.
    pub linker: Option<String>,
    /// A shared object must not refer to symbols that it does not define.
    pub refuses_undefined: bool,
}

/// Options whose value is the next word, unless joined. Those of other platforms are left out.
const WITH_VALUE: &[&str] = &[
    "-A",
    "-B",
    "-D",
    "-F",
    "-G",
    "-I",
    "-L",
    "-MF",
    "-MJ",
    "-MQ",
    "-MT",
    "-T",
    "-U",
    "-V",
    "-Xanalyzer",
    "-Xassembler",
    "-Xclang",
    "-Xcuda-fatbinary",
    "-Xcuda-ptxas",
    "-Xopenmp-target",
    "-Xpreprocessor",
    "-arch",
    "-b",
    "-cxx-isystem",
    "-dependency-dot",
    "-dependency-file",
    "-e",
    "-fplugin",
    "-gen-cdb-fragment-path",
    "-idirafter",
    "-iframework",
    "-imacros",
    "-imultilib",
    "-include",
    "-include-pch",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-isystem-after",
    "-ivfsoverlay",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-iwithsysroot",
    "-l",
    "-main-file-name",
    "-meabi",
    "-mllvm",
    "-mmlir",
    "-o",
    "-resource-dir",
    "-rpath",
    "-serialize-diagnostics",
    "-target",
    "-u",
    "-working-directory",
    "-x",
    "--assert",
    "--config",
    "--define-macro",
    "--include-directory",
    "--language",
    "--library-directory",
    "--machine",
    "--output",
    "--param",
    "--prefix",
    "--serialize-diagnostics",
    "--sysroot",
    "--undefine-macro",
];

/// Whether an option's value is the next word.
pub fn takes_value(word: &str) -> bool {
    WITH_VALUE.contains(&word) || matches!(word, "-Xlinker" | "-z")
}

/// Options that end the run before the optimizer, or make it do something else.
const NO_CODE: &[&str] = &[
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "--preprocess",
    "--dependencies",
    "--user-dependencies",
    "--analyze",
    "-emit-ast",
    "--precompile",
    "-module-file-info",
    "-verify-pch",
    "-rewrite-objc",
    "--migrate",
    "-extract-api",
];

/// Endings of files that clang takes for headers, which it precompiles.
const HEADER_ENDINGS: &[&str] = &["h", "H", "hh", "hpp", "hxx"];

/// How deep response files may name others, as a guard against circles.
const DEEPEST_RESPONSE: u32 = 16;

impl Analysis {
    /// Whether the linker was named, and its name has this in it.
    pub fn links_with(&self, name: &str) -> bool {
        self.linker.as_deref().is_some_and(|linker| linker.contains(name))
    }

    /// Looks at the arguments; `read_response` gives the words of a response file.
    pub fn of(user: &[OsString], read_response: &dyn Fn(&Path) -> Option<Vec<String>>) -> Analysis {
        let mut words = Vec::new();
        for word in user {
            expand(word.to_string_lossy().into_owned(), read_response, DEEPEST_RESPONSE, &mut words);
        }
        let mut scan = Scan::default();
        let mut rest = words.iter().map(String::as_str);
        if matches!(words.first().map(String::as_str), Some("-cc1" | "-cc1as" | "-cc1gen-reproducer")) {
            scan.no_code = true;
        }
        while let Some(word) = rest.next() {
            if word == "--" {
                rest.by_ref().for_each(|word| scan.input(word));
            } else {
                scan.word(word, &mut rest);
            }
        }
        scan.finish()
    }
}

fn expand(word: String, read: &dyn Fn(&Path) -> Option<Vec<String>>, depth: u32, words: &mut Vec<String>) {
    let inner = word.strip_prefix('@').filter(|_| depth > 0).and_then(|path| read(Path::new(path)));
    match inner {
        Some(inner) => inner.into_iter().for_each(|word| expand(word, read, depth - 1, words)),
        None => words.push(word),
    }
}

#[derive(Default)]
struct Scan {
    inputs: usize,
    /// How many of the inputs are headers.
    headers: usize,
    /// What `-x` says of the inputs after it; `None` if their endings do.
    language: Option<String>,
    no_code: bool,
    compile_only: bool,
    freestanding: bool,
    shared: bool,
    relocatable: bool,
    is_static: bool,
    without_libraries: bool,
    names_libc: bool,
    lto: bool,
    thread_sanitizer: bool,
    linker: Option<String>,
    refuses_undefined: bool,
}

impl Scan {
    fn word<'a>(&mut self, word: &'a str, rest: &mut impl Iterator<Item = &'a str>) {
        match word {
            "-" => self.input(word),
            "-c" | "-S" | "--compile" | "--assemble" => self.compile_only = true,
            "-shared" | "--shared" => self.shared = true,
            "-r" => self.relocatable = true,
            "-static" | "--static" | "-static-pie" => self.is_static = true,
            "-nostdlib" | "--no-standard-libraries" | "-nodefaultlibs" | "-nolibc" => {
                self.without_libraries = true;
            }
            "-ffreestanding" | "-mcmodel=kernel" | "-mkernel" | "-fapple-kext" => self.freestanding = true,
            "-fhosted" | "-fno-freestanding" => self.freestanding = false,
            "-flto" => self.lto = true,
            "-fno-lto" => self.lto = false,
            "-Xlinker" => self.linker_words(rest.next().unwrap_or_default().split(',')),
            "-z" => self.linker_words(["-z", rest.next().unwrap_or_default()].into_iter()),
            _ if NO_CODE.contains(&word) => self.no_code = true,
            _ if WITH_VALUE.contains(&word) => {
                let value = rest.next().unwrap_or_default();
                match word {
                    "-l" => self.library(value),
                    "-x" | "--language" => self.language(value),
                    _ => {}
                }
            }
            _ => self.joined(word),
        }
    }

    fn joined(&mut self, word: &str) {
        if let Some(words) = word.strip_prefix("-Wl,") {
            self.linker_words(words.split(','));
        } else if word.starts_with("-flto=") {
            self.lto = true;
        } else if let Some(names) = word.strip_prefix("-fsanitize=") {
            self.thread_sanitizer |= names.split(',').any(|name| name == "thread");
        } else if let Some(names) = word.strip_prefix("-fno-sanitize=") {
            self.thread_sanitizer &= !names.split(',').any(|name| matches!(name, "thread" | "all"));
        } else if let Some(name) = word.strip_prefix("-fuse-ld=").or_else(|| word.strip_prefix("--ld-path="))
        {
            self.linker = Some(name.to_owned());
        } else if let Some(keyword) = word.strip_prefix("-z").filter(|keyword| !keyword.is_empty()) {
            self.linker_words(["-z", keyword].into_iter());
        } else if let Some(name) = word.strip_prefix("-l") {
            self.library(name);
        } else if let Some(name) = word.strip_prefix("-x").or_else(|| word.strip_prefix("--language=")) {
            self.language(name);
        } else if !word.starts_with('-') {
            self.input(word);
        }
    }

    fn language(&mut self, name: &str) {
        self.language = Some(name.to_owned()).filter(|name| name != "none");
    }

    fn input(&mut self, name: &str) {
        self.inputs += 1;
        let ending = || Path::new(name).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_header = match &self.language {
            Some(language) => language.contains("-header"),
            None => HEADER_ENDINGS.contains(&ending()),
        };
        self.headers += usize::from(is_header);
    }

    /// A library is something to link, as a file is.
    fn library(&mut self, name: &str) {
        self.inputs += 1;
        self.names_libc |= name == "c";
    }

    /// Words that go to the linker. A `-z` at the end of one -Xlinker has its keyword in the next, which then
    /// stands alone.
    fn linker_words<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        for word in words {
            match word {
                "-shared" | "--shared" | "-Bshareable" => self.shared = true,
                "-r" | "--relocatable" | "-i" => self.relocatable = true,
                "defs" | "-zdefs" | "--no-undefined" | "-no-undefined" => self.refuses_undefined = true,
                "undefs" | "-zundefs" => self.refuses_undefined = false,
                _ => {}
            }
        }
    }

    fn finish(self) -> Analysis {
        let without_libc = self.without_libraries && !self.names_libc;
        let stage = if self.inputs == 0 || self.no_code || self.freestanding || without_libc {
            Stage::Other
        } else if self.compile_only || self.headers == self.inputs {
            Stage::Compile
        } else {
            Stage::Link
        };
        Analysis {
            stage,
            link_kind: match (self.relocatable, self.shared) {
                (true, _) => LinkKind::Relocatable,
                (false, true) => LinkKind::Shared,
                (false, false) => LinkKind::Executable,
            },
            is_static: self.is_static,
            lto: self.lto,
            thread_sanitizer: self.thread_sanitizer,
            linker: self.linker,
            refuses_undefined: self.refuses_undefined,
        }
    }
}
