//! `print<covsched-loom>`: the tables of a module that loom's pass has done, as text on standard error.

use crate::ir::{Module, Severity};
use covsched_core::loom::table::{
    Access, AccessKind, Chain, Function, Point, PointKind, Start, Target, Text, UnitTable, NONE,
};
use covsched_core::site::BITCODE_SECTION;
use std::fmt::Write;

/// Prints; changes nothing.
pub fn print_tables(module: Module<'_>) {
    match UnitTable::read_section(&module.section_data(BITCODE_SECTION).concat()) {
        Ok(tables) => tables.iter().for_each(|(table, hash)| eprint!("{}", to_text(table, *hash))),
        Err(error) => module.report(Severity::Error, &format!("covsched: {error}")),
    }
}

/// A table as text: one line a point, a variable, an access.
/// ```text
/// unit a.c, late, 0123456789abcdef
/// function 0 update a.c:3 taken
///   0 entry at 0 -> 1
///   1 slot 0 {- => a.c:4} n -> 2
///   2 call puts {a.c:4} -> 3
///   read 4 bytes of counter at a.c:4, depth 1
/// ```
pub fn to_text(table: &UnitTable, hash: u64) -> String {
    let printer = Printer { table };
    let mut text = String::new();
    let precision = format!("{:?}", table.precision).to_lowercase();
    // Writing to a string cannot fail, here and below.
    let for_lto = if table.is_for_lto { ", for the linker to optimize" } else { "" };
    let _ = writeln!(text, "unit {}, {precision}{for_lto}, {hash:016x}", table.unit);
    for (number, function) in table.functions.iter().enumerate() {
        printer.function(number, function, &mut text);
    }
    for &name in &table.taken {
        let _ = writeln!(text, "taken {}", printer.text(name));
    }
    for function in table.original.iter().flatten() {
        let _ = writeln!(text, "original {}", printer.text(function.name));
        printer.points(&function.points, None, &mut text);
        function.accesses.iter().for_each(|access| printer.access(access, &mut text));
    }
    text
}

struct Printer<'a> {
    table: &'a UnitTable,
}

fn number(number: u32) -> String {
    if number == NONE {
        "-".into()
    } else {
        number.to_string()
    }
}

impl Printer<'_> {
    fn text(&self, text: Text) -> &str {
        self.table.strings.get(text as usize).map_or("-", String::as_str)
    }

    /// The file without its folders: tests and users have them elsewhere.
    fn file(&self, text: Text) -> &str {
        let file = self.text(text);
        file.rsplit('/').next().unwrap_or(file)
    }

    fn function(&self, number: usize, function: &Function, text: &mut String) {
        let _ = write!(
            text,
            "function {number} {} {}:{}",
            self.text(function.name),
            self.file(function.file),
            function.line
        );
        for (is, word) in [(function.internal, " internal"), (function.address_taken, " taken")] {
            text.push_str(if is { word } else { "" });
        }
        if !function.limit.is_empty() {
            let _ = write!(text, " limit: {}", function.limit);
        }
        text.push('\n');
        for variable in &function.variables {
            let kind = if variable.in_memory { "address" } else { "value" };
            let copy = if variable.copy == 0 { String::new() } else { format!("#{}", variable.copy) };
            let _ = writeln!(
                text,
                "  variable {} of {}{copy}: {kind} in word {}, line {}",
                variable.name,
                self.text(variable.function),
                variable.index,
                variable.line
            );
        }
        self.points(&function.points, Some(function), text);
        function.accesses.iter().for_each(|access| self.access(access, text));
    }

    fn points(&self, points: &[Point], function: Option<&Function>, text: &mut String) {
        for (number, point) in points.iter().enumerate() {
            let next: Vec<String> = point.next.iter().map(u32::to_string).collect();
            let arrow = if next.is_empty() { "" } else { " -> " };
            let _ = writeln!(text, "  {number} {}{arrow}{}", self.point(point, function), next.join(" "));
        }
    }

    fn point(&self, point: &Point, function: Option<&Function>) -> String {
        let chain = self.chain(point.chain);
        match &point.kind {
            PointKind::Entry { location } => format!("entry at {}", number(*location)),
            PointKind::Check { location } => format!("check at {} {{{chain}}}", number(*location)),
            PointKind::Slot { slot, from, available } => {
                let names: Vec<String> = available
                    .iter()
                    .filter_map(|&index| function?.variables.get(index as usize))
                    .map(|variable| format!(" {}", variable.name))
                    .collect();
                format!("slot {} {{{} => {chain}}}{}", number(*slot), self.chain(*from), names.concat())
            }
            PointKind::Call { target, location, starts, is_last } => {
                let at = if *location == NONE { String::new() } else { format!(" at {location}") };
                let starts: Vec<String> = starts
                    .iter()
                    .map(|start| match start {
                        Start::Named(name) => format!(" starts {}", self.text(*name)),
                        Start::Shape(shape) => format!(" starts shape {shape:016x}"),
                        Start::StdThread => " starts std::thread".to_owned(),
                    })
                    .collect();
                let last = if *is_last { " last" } else { "" };
                format!("call {}{at}{}{last} {{{chain}}}", self.target(target), starts.concat())
            }
            PointKind::Join => format!("join {{{chain}}}"),
            PointKind::Landing { location: NONE } => format!("landing {{{chain}}}"),
            PointKind::Landing { location } => format!("landing at {location} {{{chain}}}"),
            PointKind::Return => "return".into(),
            PointKind::Unwind => "unwind".into(),
            PointKind::Stop => "stop".into(),
        }
    }

    fn target(&self, target: &Target) -> String {
        match target {
            Target::Named(name) => self.text(*name).to_owned(),
            Target::Shape(shape) => format!("shape {shape:016x}"),
            Target::Shapes(shapes) => format!("one of {} shapes", shapes.len()),
            Target::Asm => "asm".into(),
        }
    }

    fn chain(&self, number: u32) -> String {
        let empty = Chain::new();
        let lines = self.table.chains.get(number as usize).unwrap_or(&empty);
        let mut lines = lines.iter().map(|line| {
            let copy = if line.copy == 0 { String::new() } else { format!("#{}", line.copy) };
            format!("{}:{}{copy}", self.file(line.file), line.line)
        });
        let first = lines.next().unwrap_or_else(|| "-".into());
        lines.fold(first, |text, line| format!("{text} < {line}"))
    }

    fn access(&self, access: &Access, text: &mut String) {
        let what = match access.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Update => "update",
            AccessKind::Call => "call",
        };
        let _ = write!(text, "  {what}");
        if access.callee != NONE {
            let _ = write!(text, " {}", self.text(access.callee));
        }
        if access.kind != AccessKind::Call {
            let _ = write!(text, " {} bytes", access.bytes);
        }
        if access.object != NONE {
            let _ = write!(text, " of {}", self.text(access.object));
        }
        for (is, word) in [(access.local, " local"), (access.vector, " vector"), (access.ends, " ends")] {
            text.push_str(if is { word } else { "" });
        }
        let copy = if access.copy == 0 { String::new() } else { format!("#{}", access.copy) };
        let _ = writeln!(
            text,
            " at {}:{} of {}{copy}, point {}, depth {}",
            self.file(access.file),
            access.line,
            self.text(access.function),
            access.point,
            access.depth
        );
    }
}
