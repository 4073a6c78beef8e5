//! The reader of filters. `docs/filters.md` has the grammar.
//!
//! It reads characters, not tokens: what is a file's name, an operator or a comment depends on what stands around it.
//! After an error it goes on with the next line, so that several are found at once.

mod expression;

use super::tree::{Constraint, Event, Expression, Filter, Name, Region, Rule, Statement};
use super::{Diagnostic, Span};

/// How long a filter may be: it travels in its plan.
pub const MAX_SOURCE: usize = 64 << 10;

/// Reads a filter's text.
pub fn parse(source: &str) -> Result<Filter, Vec<Diagnostic>> {
    if source.len() > MAX_SOURCE {
        let message = format!("the filter has {} bytes; {MAX_SOURCE} is the most that is read", source.len());
        return Err(vec![Diagnostic::error(source, Span::default(), message)]);
    }
    let mut reader = Reader { source, at: 0 };
    let mut filter = Filter::default();
    let mut errors = Vec::new();
    loop {
        match reader.next_statement() {
            Ok(Some(statement)) => filter.statements.push(statement),
            Ok(None) => break,
            Err(error) => {
                errors.push(*error);
                reader.skip_line();
            }
        }
    }
    if errors.is_empty() {
        Ok(filter)
    } else {
        Err(errors)
    }
}

/// Whether a character can stand in the name of a file or a function that is not in quotes.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || !c.is_ascii() && !c.is_whitespace() || "_./-+~:$@%=".contains(c)
}

/// The file and the line's digits of `file:line`; `None` if there is no single colon.
pub(super) fn split_line(word: &str) -> Option<(&str, &str)> {
    let at = word.rfind(':')?;
    let (file, digits) = (&word[..at], &word[at + 1..]);
    (!file.ends_with(':')).then_some((file, digits))
}

type Parsed<T> = Result<T, Box<Diagnostic>>;

struct Reader<'a> {
    source: &'a str,
    at: usize,
}

/// What stands at a place where a region can stand.
enum Atom {
    Region(Region),
    /// `*`
    Everything(Span),
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn error<T>(&self, span: Span, message: impl Into<String>) -> Parsed<T> {
        Err(Box::new(Diagnostic::error(self.source, span, message)))
    }

    fn error_with<T>(&self, span: Span, message: impl Into<String>, help: impl Into<String>) -> Parsed<T> {
        Err(Box::new(Diagnostic::error(self.source, span, message).with_help(help)))
    }

    /// The place of the next character.
    fn here(&self) -> Span {
        let length = self.peek().filter(|&c| c != '\n').map_or(0, char::len_utf8);
        Span { from: self.at, to: self.at + length }
    }

    fn since(&self, from: usize) -> Span {
        Span { from, to: self.at }
    }

    /// What stands here, for "found ...".
    fn found(&self) -> String {
        match self.peek() {
            None => "the end of the filter".to_owned(),
            Some('\n') => "the end of the line".to_owned(),
            Some(c) if is_word(c) => {
                let word: String = self.rest().chars().take_while(|&c| is_word(c)).take(40).collect();
                format!("`{word}`")
            }
            Some(c) => format!("`{}`", c.escape_debug()),
        }
    }

    /// Skips blanks and comments, and ends of lines if `lines`.
    fn skip(&mut self, lines: bool) -> Parsed<()> {
        loop {
            let rest = self.rest();
            if rest.starts_with('#') || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => self.at += end + 4,
                    None => {
                        let span = Span { from: self.at, to: self.at + 2 };
                        // There is nothing behind it to read.
                        let error = self.error(span, "a comment without its end `*/`");
                        self.at = self.source.len();
                        return error;
                    }
                }
            } else {
                match self.peek() {
                    Some(c) if c.is_whitespace() && (lines || c != '\n') => self.at += c.len_utf8(),
                    _ => return Ok(()),
                }
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = self.rest();
        self.at += rest.find('\n').map_or(rest.len(), |at| at + 1);
    }

    fn take(&mut self, text: &str) -> bool {
        let is = self.rest().starts_with(text);
        if is {
            self.at += text.len();
        }
        is
    }

    fn next_statement(&mut self) -> Parsed<Option<Statement>> {
        loop {
            self.skip(true)?;
            if !self.take(";") {
                break;
            }
        }
        if self.rest().is_empty() {
            return Ok(None);
        }
        let statement = match self.keyword() {
            Some("thread") => self.thread()?,
            Some("timeout") => self.timeout()?,
            _ => Statement::Constraint(self.constraint()?),
        };
        self.skip(false)?;
        match self.peek() {
            None | Some('\n' | ';') => Ok(Some(statement)),
            Some(_) => {
                let message = format!("expected the end of the line or `;`, found {}", self.found());
                self.error(self.here(), message)
            }
        }
    }

    /// `thread` or `timeout` if something stands behind it that is no operator: both can be functions' names.
    fn keyword(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(length);
        let behind = behind.trim_start_matches([' ', '\t']);
        let operand = behind.starts_with(|c: char| is_word(c) || c == '"')
            && !behind.starts_with("//")
            && !behind.starts_with("/*");
        let bare =
            behind.is_empty() || behind.starts_with(['\n', '\r', ';', '#']) || behind.starts_with("//");
        if matches!(word, "thread" | "timeout") && (operand || bare) {
            self.at += length;
            return Some(word);
        }
        None
    }

    fn thread(&mut self) -> Parsed<Statement> {
        self.skip(false)?;
        let from = self.at;
        let (text, quoted) = self.word("the name of a function after `thread`")?;
        let span = self.since(from);
        if !quoted && split_line(&text).is_some() {
            return self.error(span, format!("expected the name of a function, found the line `{text}`"));
        }
        Ok(Statement::Thread(Name { text, span }))
    }

    fn timeout(&mut self) -> Parsed<Statement> {
        self.skip(false)?;
        let from = self.at;
        let (text, _) = self.word("a time such as `5s` or `500ms`")?;
        let span = self.since(from);
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = text.split_at(digits);
        let scale = match unit {
            "ms" => 1,
            "s" => 1000,
            "min" => 60_000,
            _ => return self.error(span, format!("expected a time such as `5s` or `500ms`, found `{text}`")),
        };
        let milliseconds = number.parse::<u32>().ok().and_then(|number| number.checked_mul(scale));
        match milliseconds {
            Some(milliseconds @ 1..=86_400_000) => Ok(Statement::Timeout { milliseconds, span }),
            _ => self.error(span, "a timeout is from 1ms to 24 hours"),
        }
    }

    /// A name: plain, or in double quotes.
    fn word(&mut self, what: &str) -> Parsed<(String, bool)> {
        let from = self.at;
        if self.take("\"") {
            let mut text = String::new();
            while let Some(c) = self.peek() {
                self.at += c.len_utf8();
                match c {
                    '"' if text.is_empty() => return self.error(self.since(from), "an empty name"),
                    '"' => return Ok((text, true)),
                    '\n' => break,
                    '\\' => match self.peek() {
                        Some(c @ ('"' | '\\')) => {
                            self.at += 1;
                            text.push(c);
                        }
                        _ => {
                            return self.error(self.here(), "in quotes `\\` stands before `\"` or `\\` only")
                        }
                    },
                    c => text.push(c),
                }
            }
            self.at = from + 1;
            return self.error(self.since(from), "the closing quote is missing");
        }
        let rest = self.rest();
        let mut length = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        length = rest[..length].find("//").unwrap_or(length);
        // `/*`: only the first character can be a word's.
        if rest[length..].starts_with('*') && rest[..length].ends_with('/') {
            length -= 1;
        }
        if length == 0 {
            return self.error(self.here(), format!("expected {what}, found {}", self.found()));
        }
        self.at += length;
        Ok((rest[..length].to_owned(), false))
    }

    fn constraint(&mut self) -> Parsed<Constraint> {
        let from = self.at;
        let mut atoms = vec![self.atom()?];
        let mut order = None;
        let mut end = self.at;
        loop {
            // An operator may stand at the start of the next line.
            let back = self.at;
            self.skip(true)?;
            let operator = self.at;
            let is_order = if self.take("<>") {
                false
            } else if self.rest().starts_with(">=") || self.rest().starts_with(">>") {
                return self.error(self.here(), "expected `>` or `<>`");
            } else if self.take(">") {
                true
            } else {
                self.at = back;
                break;
            };
            if order.is_some_and(|order| order != is_order) {
                return self.error_with(
                    self.since(operator),
                    "`>` and `<>` in one constraint",
                    "write two constraints, each on its own line",
                );
            }
            order = Some(is_order);
            self.skip(true)?;
            atoms.push(self.atom()?);
            end = self.at;
        }
        let span = Span { from, to: end };
        let rule = match order {
            Some(true) => self.order(atoms)?,
            Some(false) => self.exclusion(atoms)?,
            None => {
                self.skip(false)?;
                let message = format!("expected `>` or `<>`, found {}", self.found());
                return self.error_with(
                    self.here(),
                    message,
                    "`e1 > e2` orders events, `r1 <> r2` excludes regions, `r <> r` a region from itself, \
                     `r <> *` everything else",
                );
            }
        };
        Ok(Constraint { rule, span })
    }

    fn order(&self, atoms: Vec<Atom>) -> Parsed<Rule> {
        let mut events = Vec::new();
        for atom in atoms {
            match atom {
                Atom::Region(Region::Statement(event)) => events.push(event),
                Atom::Region(Region::Function { name, .. }) => {
                    let message = format!("`{}` is a function; an order is one of events", name.text);
                    return self.error_with(name.span, message, "name a line of it: `file:line`");
                }
                Atom::Region(region @ Region::Between { .. }) => {
                    return self.error_with(
                        region.span(),
                        "a region; an order is one of events",
                        "`file:line > file:line`",
                    )
                }
                Atom::Everything(span) => return self.error(span, "`*` stands in `r <> *` only"),
            }
        }
        Ok(Rule::Order(events))
    }

    fn exclusion(&self, atoms: Vec<Atom>) -> Parsed<Rule> {
        let count = atoms.len();
        let mut regions = Vec::new();
        for (index, atom) in atoms.into_iter().enumerate() {
            match atom {
                Atom::Everything(_) if index == 1 && count == 2 => {
                    return match regions.pop() {
                        Some(region) => Ok(Rule::Alone(region)),
                        None => Ok(Rule::Mutual(regions)),
                    }
                }
                Atom::Everything(span) => {
                    return self.error_with(
                        span,
                        "`*` stands behind one region only",
                        "`r <> *`; for several regions write several constraints",
                    )
                }
                Atom::Region(region) => {
                    if let Region::Statement(Event { times: Some(times), .. }) = &region {
                        return self
                            .error(times.span, "`{n}` counts events of an order; a region has no count");
                    }
                    regions.push(region);
                }
            }
        }
        Ok(Rule::Mutual(regions))
    }

    fn atom(&mut self) -> Parsed<Atom> {
        let from = self.at;
        if self.take("*") {
            return Ok(Atom::Everything(self.since(from)));
        }
        if self.rest().starts_with('{') {
            return Ok(Atom::Region(self.braces()?));
        }
        let (text, quoted) = self.word("an event `file:line`, a region `{...}` or a function")?;
        let span = self.since(from);
        if let Some(event) = self.event_line(&text, quoted, from)? {
            return Ok(Atom::Region(Region::Statement(self.event_rest(event)?)));
        }
        let name = Name { text, span };
        self.check_name(&name, quoted)?;
        let arguments = self.arguments()?.unwrap_or_default();
        self.skip(false)?;
        if self.rest().starts_with('{') {
            return self.error_with(
                self.here(),
                format!("`{{n}}` counts events; `{}` is a function", name.text),
                "an event is `file:line`",
            );
        }
        Ok(Atom::Region(Region::Function { name, arguments }))
    }

    /// The event of a word that has a line; `None` if it is a function's name.
    fn event_line(&mut self, text: &str, quoted: bool, from: usize) -> Parsed<Option<Event>> {
        let (file, digits, digits_at) = if quoted {
            if !self.rest().starts_with(':') || self.rest().starts_with("::") {
                return Ok(None);
            }
            let start = self.at + 1;
            let length = self.source[start..].bytes().take_while(u8::is_ascii_digit).count();
            self.at = start + length;
            (text, &self.source[start..start + length], start)
        } else {
            match split_line(text) {
                Some((file, digits)) => (file, digits, from + file.len() + 1),
                None => return Ok(None),
            }
        };
        let digits_span = Span { from: digits_at, to: digits_at + digits.len() };
        let line = match digits.parse::<u32>() {
            Ok(line) if line > 0 && digits.bytes().all(|b| b.is_ascii_digit()) => line,
            _ => {
                let found = if digits.is_empty() { self.found() } else { format!("`{digits}`") };
                return self.error_with(
                    if digits.is_empty() { self.here() } else { digits_span },
                    format!("expected a line number after `{file}:`, found {found}"),
                    "an event is `file:line`, without blanks; qualified names have `::`",
                );
            }
        };
        if file.is_empty() {
            return self.error(self.since(from), "expected a file's name before `:`");
        }
        Ok(Some(Event { file: file.to_owned(), line, key: Vec::new(), times: None, span: self.since(from) }))
    }

    fn check_name(&self, name: &Name, quoted: bool) -> Parsed<()> {
        if !quoted && name.text.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("expected `file:line` or a function, found the number `{}`", name.text);
            return self.error(name.span, message);
        }
        let file_like = !quoted && (name.text.contains('/') || name.text.contains('.'));
        let suffix = name.text.rsplit('.').next().unwrap_or("");
        if file_like
            && (name.text.contains('/') || matches!(suffix, "c" | "cc" | "cpp" | "cxx" | "h" | "hpp"))
        {
            return self.error_with(
                name.span,
                format!("`{}` has no line", name.text),
                format!("an event is `{}:LINE`", name.text),
            );
        }
        Ok(())
    }

    /// What may stand behind `file:line`.
    fn event_rest(&mut self, mut event: Event) -> Parsed<Event> {
        if let Some(key) = self.arguments()? {
            event.key = key;
        }
        let back = self.at;
        self.skip(false)?;
        if !self.take("{") {
            self.at = back;
            return Ok(event);
        }
        let open = self.at - 1;
        self.skip(true)?;
        if self.rest().starts_with('}') {
            self.at += 1;
            return self.error(self.since(open), "expected how often the event happens: `{n}`");
        }
        event.times = Some(self.expression(0)?);
        self.skip(true)?;
        if !self.take("}") {
            return self.error(self.here(), format!("expected `}}` after the count, found {}", self.found()));
        }
        Ok(event)
    }

    /// `(expr, ...)`; `None` if no parenthesis stands here.
    fn arguments(&mut self) -> Parsed<Option<Vec<Expression>>> {
        let back = self.at;
        self.skip(false)?;
        if !self.take("(") {
            self.at = back;
            return Ok(None);
        }
        let mut found = Vec::new();
        self.skip(true)?;
        if self.take(")") {
            return Ok(Some(found));
        }
        loop {
            self.skip(true)?;
            found.push(self.expression(0)?);
            self.skip(true)?;
            if self.take(")") {
                return Ok(Some(found));
            }
            if !self.take(",") {
                return self.unexpected_in_expression("`,` or `)`");
            }
        }
    }

    fn braces(&mut self) -> Parsed<Region> {
        let from = self.at;
        self.at += 1;
        let mut lists: Vec<Vec<Event>> = vec![Vec::new()];
        loop {
            self.skip(true)?;
            let start = self.at;
            let (text, quoted) = self.word("an event `file:line`")?;
            let Some(event) = self.event_line(&text, quoted, start)? else {
                return self.error_with(
                    self.since(start),
                    format!("expected an event `file:line`, found the name `{text}`"),
                    "a function is a region of its own, without braces",
                );
            };
            let event = self.event_rest(event)?;
            if let Some(times) = &event.times {
                return self.error(times.span, "`{n}` counts events of an order; a region has no count");
            }
            if let Some(list) = lists.last_mut() {
                list.push(event);
            }
            self.skip(true)?;
            match self.peek() {
                Some(',') => self.at += 1,
                Some(';') if lists.len() == 1 => {
                    self.at += 1;
                    lists.push(Vec::new());
                }
                Some(';') => return self.error(self.here(), "a second `;`: a region is `{entries; exits}`"),
                Some('}') => {
                    self.at += 1;
                    break;
                }
                _ => {
                    let message = format!("expected `,`, `;` or `}}` in a region, found {}", self.found());
                    return self.error(self.here(), message);
                }
            }
        }
        let span = self.since(from);
        let exits = if lists.len() == 2 { lists.pop() } else { None };
        let mut entries = lists.pop().unwrap_or_default();
        match (exits, entries.len()) {
            (Some(exits), _) => Ok(Region::Between { entries, exits, span }),
            (None, 2) => {
                let exits = entries.split_off(1);
                Ok(Region::Between { entries, exits, span })
            }
            (None, 1) => Ok(Region::Statement(entries.remove(0))),
            (None, _) => self.error_with(
                span,
                "which of these events are exits?",
                "put a `;` before the exits: `{entry, entry; exit}`",
            ),
        }
    }
}
