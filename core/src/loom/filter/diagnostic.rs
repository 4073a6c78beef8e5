//! What is wrong with a filter, and where: rendered with the source's line and a caret below it.

use std::fmt::Write;

/// A piece of a filter's source: bytes `from..to`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub from: usize,
    /// The byte after the last.
    pub to: usize,
}

impl Span {
    /// From the start of this one to the end of the other.
    pub fn to(self, other: Span) -> Span {
        Span { from: self.from, to: other.to.max(self.from) }
    }

    /// The text, empty if the span is not one of this source.
    pub fn text(self, source: &str) -> &str {
        source.get(self.from..self.to).unwrap_or("")
    }
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// No plan is made.
    Error,
    /// The plan may not do what was meant.
    Warning,
}

/// Something to say about a place in a filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// How many characters it is about, at least 1, all on the line.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// What can be done about it.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(source: &str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(Severity::Error, source, span, message.into())
    }

    /// A warning at a place.
    pub fn warning(source: &str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(Severity::Warning, source, span, message.into())
    }

    fn at(severity: Severity, source: &str, span: Span, message: String) -> Diagnostic {
        let from = floor(source, span.from);
        let before = &source[..from];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = 1 + before.bytes().filter(|&b| b == b'\n').count();
        let column = 1 + source[start..from].chars().count();
        let piece = &source[from..floor(source, span.to.max(from))];
        let length = piece.lines().next().unwrap_or("").trim_end().chars().count().max(1);
        Diagnostic { severity, line, column, length, message, help: Vec::new() }
    }

    /// The same with one more thing that can be done.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help.push(help.into());
        self
    }

    /// As compilers print it: file, line and column, the source's line, a caret, the help.
    pub fn render(&self, name: &str, source: &str) -> String {
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut out = format!("{name}:{}:{}: {kind}: {}\n", self.line, self.column, self.message);
        if let Some(line) = source.lines().nth(self.line - 1) {
            let number = self.line.to_string();
            let margin = " ".repeat(number.len());
            // A tab stays a tab below it, so that the caret stands under its place however wide tabs are shown.
            let blank: String =
                line.chars().take(self.column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let rest = line.chars().count().saturating_sub(self.column - 1).max(1);
            let under = "~".repeat(self.length.min(rest) - 1);
            let _ = writeln!(out, " {number} | {line}\n {margin} | {blank}^{under}");
        }
        for help in &self.help {
            let _ = writeln!(out, "  help: {help}");
        }
        out
    }
}

/// The nearest character boundary that is not after `at`.
fn floor(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_place() {
        let source = "a\n\tlog.cc:5 <> öx\n";
        let at = source.find("öx").unwrap();
        let found = Diagnostic::error(source, Span { from: at, to: at + 3 }, "no function `öx`")
            .with_help("did you mean `ox`?");
        assert_eq!(
            found.render("f", source),
            "f:2:14: error: no function `öx`\n 2 | \tlog.cc:5 <> öx\n   | \t            ^~\n  help: did you mean `ox`?\n"
        );
    }

    #[test]
    fn spans_beyond_the_source_and_inside_characters_are_cut() {
        let found = Diagnostic::warning("ö", Span { from: 1, to: 99 }, "x");
        assert_eq!((found.line, found.column, found.length), (1, 1, 1));
        let found = Diagnostic::error("ab\n", Span { from: 3, to: 3 }, "x");
        assert_eq!((found.line, found.column, found.length), (2, 1, 1));
        assert_eq!(found.render("f", "ab\n"), "f:2:1: error: x\n");
    }
}
