//! Where functions have their machine code, by the symbols of linked files: in whose frames a thread is inside of a region.
//!
//! Loom makes several functions of one, `F.slow` and others, and so do the compiler and the linker: F's code is that of `F` and of all
//! symbols `F.*`. Whose code has no symbol, nobody knows, so that counts as well, if it has something that may be a call.

use super::images::Images;
use covsched_core::loom::compile::CodeRange;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use std::collections::BTreeSet;
use std::ops::Range;

/// The code of these functions, given by file and linkage name, in all files, and all code without a symbol.
pub fn of_functions(images: &Images, functions: &BTreeSet<(usize, String)>) -> Option<Vec<CodeRange>> {
    // An inline function may be called in another file than its own.
    let names: BTreeSet<&str> = functions.iter().map(|(_, name)| plain(name)).collect();
    let mut ranges = Vec::new();
    for (number, image) in images.files.iter().enumerate() {
        let file = object::File::parse(image.bytes()).ok()?;
        let own = functions.iter().filter(|(file, _)| *file == number).map(|(_, name)| plain(name));
        let found = Code::of(&file)?.of_names(&names, &own.collect());
        ranges.extend(found.into_iter().map(|range| CodeRange {
            file: number,
            first: range.start,
            end: range.end,
        }));
    }
    Some(ranges)
}

/// LLVM's names may begin with a byte that says "as it is".
fn plain(name: &str) -> &str {
    name.strip_prefix('\u{1}').unwrap_or(name)
}

/// Names of functions that LLVM makes of what several others have in common.
const SHARED: [&str; 2] = ["outlined_ir_func_", "OUTLINED_FUNCTION_"];

/// The code of a linked file.
struct Code<'f> {
    /// Addresses and bytes of its sections.
    sections: Vec<(u64, &'f [u8])>,
    /// Names and places of its functions.
    functions: Vec<(&'f str, Range<u64>)>,
    /// It has names of functions that are not seen from outside: whose name is missing is not there.
    has_all_names: bool,
}

impl<'f> Code<'f> {
    /// `None` if it cannot be read.
    fn of(file: &object::File<'f>) -> Option<Code<'f>> {
        let mut sections = Vec::new();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else { return None };
            if sh_flags & u64::from(object::elf::SHF_EXECINSTR) != 0 {
                sections.push((section.address(), section.data().ok()?));
            }
        }
        let symbols = file.symbols().chain(file.dynamic_symbols());
        let mut code = Code { sections, functions: Vec::new(), has_all_names: false };
        for symbol in symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition()) {
            code.has_all_names |= symbol.is_local();
            let (name, end) = (symbol.name().ok()?, symbol.address().checked_add(symbol.size())?);
            if symbol.size() > 0 && !SHARED.iter().any(|shared| name.starts_with(shared)) {
                code.functions.push((name, symbol.address()..end));
            }
        }
        Some(code)
    }

    /// What may be code of functions with these names; `own` are those of which this file must have some.
    fn of_names(&self, names: &BTreeSet<&str>, own: &BTreeSet<&str>) -> Vec<Range<u64>> {
        let mut missing = own.clone();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for (symbol, range) in &self.functions {
            match base(symbol, names) {
                Some(name) => {
                    missing.remove(name);
                    found.push(range.clone());
                }
                None => others.push(range.clone()),
            }
        }
        if !missing.is_empty() && !self.has_all_names {
            // Without its symbol it may be anywhere, also where another name of it is.
            others.clear();
        }
        let known = joined(found.iter().cloned().chain(others).collect());
        for &(address, bytes) in &self.sections {
            for gap in gaps(address..address + bytes.len() as u64, &known) {
                let code = &bytes[(gap.start - address) as usize..(gap.end - address) as usize];
                if may_call(code) {
                    found.push(gap);
                }
            }
        }
        joined(found)
    }
}

/// Which of the names a symbol's code belongs to: `F` for `F` and `F.slow`.
fn base<'n>(symbol: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let ends = symbol.match_indices('.').map(|(at, _)| at).chain([symbol.len()]);
    ends.filter_map(|end| names.get(&symbol[..end]).copied()).next()
}

/// Whether there may be a call in these bytes: what a linker puts between functions is none.
fn may_call(code: &[u8]) -> bool {
    code.iter().any(|byte| matches!(byte, 0xe8 | 0xff))
}

/// Sorted, and those that touch are one.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// What of `whole` is in none of the ranges, which are sorted and apart.
fn gaps(whole: Range<u64>, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut gaps = Vec::new();
    let mut at = whole.start;
    let first = ranges.partition_point(|range| range.end <= whole.start);
    for range in ranges[first..].iter().take_while(|range| range.start < whole.end) {
        if at < range.start {
            gaps.push(at..range.start);
        }
        at = at.max(range.end);
    }
    if at < whole.end {
        gaps.push(at..whole.end);
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(range: Range<u64>) -> Vec<Range<u64>> {
        vec![range; 1]
    }

    const CALLS: [u8; 0x100] = [0xe8; 0x100];

    fn code<'f>(functions: &[(&'f str, Range<u64>)]) -> Code<'f> {
        Code { sections: vec![(0x1000, &CALLS)], functions: functions.to_vec(), has_all_names: false }
    }

    fn names<'n>(names: &[&'n str]) -> BTreeSet<&'n str> {
        names.iter().copied().collect()
    }

    #[test]
    fn all_parts_of_a_function_are_its_own() {
        let code = code(&[
            ("f", 0x1000..0x1010),
            ("f.in.c70e39af", 0x1010..0x1020),
            ("g", 0x1020..0x1040),
            ("f.slow.cold.1", 0x1040..0x1050),
            ("ff", 0x1050..0x1080),
            ("g.f", 0x1080..0x1100),
        ]);
        let found = code.of_names(&names(&["f"]), &names(&["f"]));
        assert_eq!(found, [0x1000..0x1020, 0x1040..0x1050]);
    }

    #[test]
    fn code_without_a_symbol_may_be_anybodys() {
        let functions = [("f", 0x1000..0x1010), ("g", 0x1020..0x1100)];
        assert_eq!(code(&functions).of_names(&names(&["f"]), &names(&["f"])), one(0x1000..0x1020));
        let mut bytes = [0x90; 0x100];
        let filled =
            Code { sections: vec![(0x1000, &bytes)], functions: functions.to_vec(), has_all_names: false };
        assert_eq!(filled.of_names(&names(&["f"]), &names(&["f"])), one(0x1000..0x1010));
        bytes[0x18] = 0xff;
        let calls =
            Code { sections: vec![(0x1000, &bytes)], functions: functions.to_vec(), has_all_names: false };
        assert_eq!(calls.of_names(&names(&["f"]), &names(&["f"])), one(0x1000..0x1020));
    }

    #[test]
    fn a_function_without_a_symbol_may_be_anywhere() {
        let functions = [("g", 0x1000..0x1080), ("h", 0x1080..0x1100)];
        assert_eq!(code(&functions).of_names(&names(&["f"]), &names(&["f"])), one(0x1000..0x1100));
        let whole = Code { has_all_names: true, ..code(&functions) };
        assert_eq!(whole.of_names(&names(&["f"]), &names(&["f"])), []);
        // Another file's.
        assert_eq!(code(&functions).of_names(&names(&["f", "h"]), &names(&["h"])), one(0x1080..0x1100));
        assert_eq!(code(&[]).of_names(&names(&[]), &names(&[])), one(0x1000..0x1100));
    }

    #[test]
    fn this_programs_own_code_is_found() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let code = Code::of(&file).unwrap();
        let main = code.functions.iter().find(|(name, _)| *name == "main").unwrap().1.clone();
        let found = code.of_names(&names(&["main"]), &names(&["main"]));
        assert!(found.iter().any(|range| range.start <= main.start && main.end <= range.end));
        let all: u64 = found.iter().map(|range| range.end - range.start).sum();
        let text: usize = code.sections.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(all * 10 < text as u64, "{all} of {text}");
    }
}
