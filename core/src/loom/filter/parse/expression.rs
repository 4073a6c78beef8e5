//! The reader of expressions: a part of C's, and for the rest why it is refused.

use super::{Parsed, Reader};
use crate::loom::filter::tree::{Expression, Node};
use crate::loom::filter::{Diagnostic, Span};

/// How deep expressions may be nested, so that no text can use up the stack.
const DEPTH: usize = 64;

impl<'a> Reader<'a> {
    pub(super) fn expression(&mut self, depth: usize) -> Parsed<Expression> {
        let mut left = self.prefixed(depth)?;
        loop {
            let back = self.at;
            self.skip(true)?;
            let rest = self.rest();
            let plus = rest.starts_with('+') && !rest.starts_with("++") && !rest.starts_with("+=");
            let minus = rest.starts_with('-') && !rest.starts_with("--") && !rest.starts_with("-=");
            if !plus && !minus {
                if let Some(refused) = self.refused_operator() {
                    return Err(refused);
                }
                self.at = back;
                return Ok(left);
            }
            self.at += 1;
            self.skip(true)?;
            let right = self.prefixed(depth)?;
            let span = left.span.to(right.span);
            let (left_box, right_box) = (Box::new(left), Box::new(right));
            let node =
                if plus { Node::Sum(left_box, right_box) } else { Node::Difference(left_box, right_box) };
            left = Expression { node, span };
        }
    }

    /// An operator of C that filters do not have, with why.
    fn refused_operator(&self) -> Option<Box<Diagnostic>> {
        let rest = self.rest();
        let changes = ["++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];
        let changing = changes
            .iter()
            .find(|operator| rest.starts_with(**operator))
            .copied()
            .or_else(|| (rest.starts_with('=') && !rest.starts_with("==")).then_some("="));
        if let Some(operator) = changing {
            let span = Span { from: self.at, to: self.at + operator.len() };
            let message = format!("`{operator}` would change the program's data: a filter only reads");
            return Some(Box::new(Diagnostic::error(self.source, span, message)));
        }
        let others =
            ["<<", ">>", "==", "!=", "<=", ">=", "&&", "||", "<", ">", "*", "/", "%", "&", "|", "^", "?"];
        let operator = others.iter().find(|operator| rest.starts_with(**operator))?;
        let span = Span { from: self.at, to: self.at + operator.len() };
        let message =
            format!("filters have no operator `{operator}` between expressions; they add and subtract");
        Some(Box::new(Diagnostic::error(self.source, span, message)))
    }

    fn prefixed(&mut self, depth: usize) -> Parsed<Expression> {
        let from = self.at;
        if depth >= DEPTH {
            return self.error(self.here(), format!("an expression with more than {DEPTH} levels"));
        }
        if self.rest().starts_with("&&") {
            return self.error(Span { from, to: from + 2 }, "an address has no address");
        }
        if self.take("&") {
            self.skip(true)?;
            let of = self.prefixed(depth + 1)?;
            let span = self.since(from);
            return match of.node {
                Node::Variable(_) | Node::Field { .. } | Node::Element { .. } => {
                    Ok(Expression { node: Node::Address(Box::new(of)), span })
                }
                _ => self.error(span, "only variables, fields and elements have an address"),
            };
        }
        if self.rest().starts_with("--") || self.rest().starts_with("++") {
            return match self.refused_operator() {
                Some(refused) => Err(refused),
                None => self.unexpected_in_expression("an expression"),
            };
        }
        if self.take("-") {
            self.skip(true)?;
            let constant = self.peek().is_some_and(|c| c.is_ascii_digit());
            let of = self.prefixed(depth + 1)?;
            let span = self.since(from);
            return Ok(match of.node {
                Node::Constant(value) if constant => {
                    Expression { node: Node::Constant(value.wrapping_neg()), span }
                }
                _ => Expression { node: Node::Negative(Box::new(of)), span },
            });
        }
        if self.take("+") {
            self.skip(true)?;
            return self.prefixed(depth + 1);
        }
        if self.rest().starts_with('*') {
            return self.error_with(
                Span { from, to: from + 1 },
                "a dereference: a filter never reads memory through a pointer, which may be freed by then",
                "use the pointer itself, or an address such as `&p->f`",
            );
        }
        if self.rest().starts_with('!') || self.rest().starts_with('~') {
            return self
                .error(Span { from, to: from + 1 }, "filters have no such operator; they add and subtract");
        }
        self.postfixed(depth)
    }

    fn postfixed(&mut self, depth: usize) -> Parsed<Expression> {
        let from = self.at;
        let mut value = self.primary(depth)?;
        let mut levels = depth;
        loop {
            let back = self.at;
            self.skip(true)?;
            levels += 1;
            if levels > DEPTH {
                return self.error(self.here(), format!("an expression with more than {DEPTH} levels"));
            }
            let arrow = self.rest().starts_with("->");
            if arrow || self.rest().starts_with('.') {
                self.at += if arrow { 2 } else { 1 };
                self.skip(true)?;
                let field = self.identifier(false)?;
                let node = Node::Field { of: Box::new(value), field, arrow };
                value = Expression { node, span: self.since(from) };
            } else if self.take("[") {
                self.skip(true)?;
                let index = self.expression(depth + 1)?;
                self.skip(true)?;
                if !self.take("]") {
                    return self.unexpected_in_expression("`]`");
                }
                let node = Node::Element { of: Box::new(value), index: Box::new(index) };
                value = Expression { node, span: self.since(from) };
            } else if self.rest().starts_with('(') {
                let span = self.since(from);
                return self.error_with(
                    Span { from, to: span.to.max(from) },
                    "a call: a filter calls no functions of the program",
                    "use a variable that has the value",
                );
            } else {
                self.at = back;
                return Ok(value);
            }
        }
    }

    fn primary(&mut self, depth: usize) -> Parsed<Expression> {
        let from = self.at;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                self.skip(true)?;
                let inner = self.expression(depth + 1)?;
                self.skip(true)?;
                if !self.take(")") {
                    return self.unexpected_in_expression("`)`");
                }
                let back = self.at;
                self.skip(true)?;
                let cast = self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_');
                if cast {
                    return self.error(Span { from, to: back }, "filters have no casts");
                }
                self.at = back;
                Ok(Expression { node: inner.node, span: self.since(from) })
            }
            Some('\'') => self.character(),
            Some(c) if c.is_ascii_digit() => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' || self.rest().starts_with("::") => {
                let name = self.identifier(true)?;
                if name == "sizeof" {
                    return self.error(self.since(from), "filters have no `sizeof`");
                }
                Ok(Expression { node: Node::Variable(name), span: self.since(from) })
            }
            _ => self.unexpected_in_expression("an expression"),
        }
    }

    pub(super) fn unexpected_in_expression<T>(&self, expected: &str) -> Parsed<T> {
        self.error(self.here(), format!("expected {expected}, found {}", self.found()))
    }

    fn identifier(&mut self, qualified: bool) -> Parsed<String> {
        let rest = self.rest();
        let mut length = 0;
        let part = |text: &str| {
            text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(text.len())
        };
        if qualified && rest.starts_with("::") {
            length = 2;
        }
        loop {
            let more = part(&rest[length..]);
            if more == 0 || rest[length..].starts_with(|c: char| c.is_ascii_digit()) {
                self.at += length;
                return self.unexpected_in_expression("a name");
            }
            length += more;
            if !(qualified && rest[length..].starts_with("::")) {
                break;
            }
            length += 2;
        }
        self.at += length;
        Ok(rest[..length].strip_prefix("::").unwrap_or(&rest[..length]).to_owned())
    }

    fn number(&mut self) -> Parsed<Expression> {
        let from = self.at;
        let rest = self.rest();
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += length;
        let span = self.since(from);
        let text = rest[..length].trim_end_matches(['u', 'U', 'l', 'L']);
        let (digits, radix) = if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            (hex, 16)
        } else if text.len() > 1 && text.starts_with('0') {
            (&text[1..], 8)
        } else {
            (text, 10)
        };
        let value = digits
            .bytes()
            .all(|b| b.is_ascii_hexdigit())
            .then(|| u64::from_str_radix(digits, radix).ok())
            .flatten();
        match value {
            Some(value) => Ok(Expression { node: Node::Constant(value as i64), span }),
            None => self.error(span, format!("`{}` is no integer of 64 bits", &rest[..length])),
        }
    }

    fn character(&mut self) -> Parsed<Expression> {
        let from = self.at;
        let mut chars = self.rest().chars().skip(1);
        let first = chars.next();
        let (value, length) = match first {
            Some('\\') => {
                let value = match chars.next() {
                    Some('n') => Some(10),
                    Some('t') => Some(9),
                    Some('r') => Some(13),
                    Some('0') => Some(0),
                    Some(c @ ('\\' | '\'' | '"')) => Some(i64::from(u32::from(c))),
                    _ => None,
                };
                (value, 4)
            }
            Some(c) if c.is_ascii() && !matches!(c, '\'' | '\n') => (Some(i64::from(u32::from(c))), 3),
            _ => (None, 1),
        };
        match value {
            Some(value) if self.rest().as_bytes().get(length - 1) == Some(&b'\'') => {
                self.at += length;
                Ok(Expression { node: Node::Constant(value), span: self.since(from) })
            }
            _ => self.error(Span { from, to: from + 1 }, "expected a character such as 'a' or '\\n'"),
        }
    }
}
