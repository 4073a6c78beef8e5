//! A filter as a tree, and its text again.

use super::Span;
use std::fmt;

/// A filter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Its statements, in their order.
    pub statements: Vec<Statement>,
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Statement {
    /// `thread NAME`: a function that handles requests is where a conceptual thread starts (5.3.1).
    Thread(Name),
    /// `timeout TIME`: how long a thread may wait for the filter's own locks and semaphores.
    Timeout {
        /// Milliseconds.
        milliseconds: u32,
        /// Where it stands.
        span: Span,
    },
    /// A constraint.
    Constraint(Constraint),
}

/// The name of a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// A linkage name, or what the source says.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// What it says.
    pub rule: Rule,
    /// Where it stands.
    pub span: Span,
}

/// What a constraint says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// `e1 > e2 > ...`
    Order(Vec<Event>),
    /// `r1 <> r2 <> ...`
    Mutual(Vec<Region>),
    /// `r <> *`
    Alone(Region),
}

/// An event: a statement is executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The file, as written.
    pub file: String,
    /// The line.
    pub line: u32,
    /// What tells instances apart: `(expr)`.
    pub key: Vec<Expression>,
    /// How often it happens: `{n}`.
    pub times: Option<Expression>,
    /// Where `file:line` stands.
    pub span: Span,
}

/// A region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Region {
    /// From before one of the entries until after one of the exits.
    Between {
        /// Events that enter it.
        entries: Vec<Event>,
        /// Events that leave it.
        exits: Vec<Event>,
        /// Where it stands.
        span: Span,
    },
    /// One statement.
    Statement(Event),
    /// A function, from its entry until it is left.
    Function {
        /// Its name.
        name: Name,
        /// What tells calls apart.
        arguments: Vec<Expression>,
    },
}

impl Region {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Region::Between { span, .. } => *span,
            Region::Statement(event) => event.span,
            Region::Function { name, .. } => name.span,
        }
    }
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expression {
    /// What it is.
    pub node: Node,
    /// Where it stands.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Node {
    /// A constant.
    Constant(i64),
    /// A variable, maybe qualified; `this` too.
    Variable(String),
    /// `-a`
    Negative(Box<Expression>),
    /// `a + b`
    Sum(Box<Expression>, Box<Expression>),
    /// `a - b`
    Difference(Box<Expression>, Box<Expression>),
    /// `&a`
    Address(Box<Expression>),
    /// `a.f`, `a->f`
    Field {
        /// The record, or the pointer to it.
        of: Box<Expression>,
        /// The field.
        field: String,
        /// `->`
        arrow: bool,
    },
    /// `a[i]`
    Element {
        /// The array, or the pointer to its first element.
        of: Box<Expression>,
        /// Which.
        index: Box<Expression>,
    },
}

impl fmt::Display for Filter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statements.iter().try_for_each(|statement| writeln!(out, "{statement}"))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Thread(name) => write!(out, "thread {name}"),
            Statement::Timeout { milliseconds, .. } => write!(out, "timeout {milliseconds}ms"),
            Statement::Constraint(constraint) => match &constraint.rule {
                Rule::Order(events) => list(out, events, " > "),
                Rule::Mutual(regions) => list(out, regions, " <> "),
                Rule::Alone(region) => write!(out, "{region} <> *"),
            },
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        word(out, &self.text, false)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Region::Between { entries, exits, .. } => {
                write!(out, "{{")?;
                list(out, entries, ", ")?;
                write!(out, "; ")?;
                list(out, exits, ", ")?;
                write!(out, "}}")
            }
            Region::Statement(event) => event.fmt(out),
            Region::Function { name, arguments } => {
                name.fmt(out)?;
                parenthesized(out, arguments)
            }
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        word(out, &self.file, true)?;
        write!(out, ":{}", self.line)?;
        parenthesized(out, &self.key)?;
        match &self.times {
            Some(times) => write!(out, "{{{times}}}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Node::Constant(value) => write!(out, "{value}"),
            Node::Variable(name) => write!(out, "{name}"),
            Node::Negative(of) => {
                write!(out, "-")?;
                operand(out, of, matches!(of.node, Node::Constant(_) | Node::Negative(_)))
            }
            Node::Sum(left, right) => {
                write!(out, "{left} + ")?;
                operand(out, right, false)
            }
            Node::Difference(left, right) => {
                write!(out, "{left} - ")?;
                operand(out, right, false)
            }
            Node::Address(of) => {
                write!(out, "&")?;
                operand(out, of, false)
            }
            Node::Field { of, field, arrow } => {
                operand(out, of, is_prefixed(of))?;
                write!(out, "{}{field}", if *arrow { "->" } else { "." })
            }
            Node::Element { of, index } => {
                operand(out, of, is_prefixed(of))?;
                write!(out, "[{index}]")
            }
        }
    }
}

/// An operand that binds tighter than `+`, or else stands in parentheses.
fn operand(out: &mut fmt::Formatter<'_>, of: &Expression, parentheses: bool) -> fmt::Result {
    if parentheses || matches!(of.node, Node::Sum(..) | Node::Difference(..)) {
        write!(out, "({of})")
    } else {
        write!(out, "{of}")
    }
}

/// Whether it begins with an operator or is no name, so that what is put behind it would bind to its inside.
fn is_prefixed(of: &Expression) -> bool {
    matches!(of.node, Node::Negative(_) | Node::Address(_) | Node::Constant(_))
}

fn parenthesized(out: &mut fmt::Formatter<'_>, items: &[Expression]) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    write!(out, "(")?;
    list(out, items, ", ")?;
    write!(out, ")")
}

fn list<T: fmt::Display>(out: &mut fmt::Formatter<'_>, items: &[T], between: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.write_str(between)?;
        }
        write!(out, "{item}")?;
    }
    Ok(())
}

/// A word, in quotes if it would not be read back as one.
fn word(out: &mut fmt::Formatter<'_>, text: &str, file: bool) -> fmt::Result {
    let plain = !text.is_empty()
        && text.chars().all(super::parse::is_word)
        && !text.contains("//")
        && !text.ends_with('/')
        && !text.starts_with(':')
        && !text.ends_with(':')
        && (file || super::parse::split_line(text).is_none())
        && (file || !matches!(text, "thread" | "timeout"))
        && (!file || !text.contains(':'));
    if plain {
        return out.write_str(text);
    }
    out.write_str("\"")?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.write_str("\\")?;
        }
        write!(out, "{c}")?;
    }
    out.write_str("\"")
}
