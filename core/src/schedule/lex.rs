//! The words of one line of a `.sched` file: see [`super::text`] for the grammar.

/// Reads a line from left to right. A `#` where a word could start ends it.
pub(super) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Words { rest: line }
    }

    /// Skips blanks; gives what is left before a comment.
    fn ahead(&mut self) -> &'a str {
        let bytes = self.rest.as_bytes();
        let blanks = bytes.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
        self.rest = match bytes.get(blanks) {
            Some(b'#') => "",
            _ => &self.rest[blanks..],
        };
        self.rest
    }

    /// Whether nothing but blanks and a comment is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.ahead().is_empty()
    }

    /// The next word, up to a blank; `None` at the end.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let ahead = self.ahead();
        let len = ahead.bytes().take_while(|b| !matches!(b, b' ' | b'\t' | b'\r')).count();
        let (word, rest) = ahead.split_at(len);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The next word, or what was expected in its place.
    pub(super) fn need(&mut self, what: &str) -> Result<&'a str, String> {
        self.word().ok_or_else(|| format!("expected {what}, found the end of the line"))
    }

    /// A quoted string.
    pub(super) fn string(&mut self, what: &str) -> Result<String, String> {
        let ahead = self.ahead();
        let Some(body) = ahead.strip_prefix('"') else {
            let found =
                self.word().map_or_else(|| "the end of the line".to_owned(), |word| format!("`{word}`"));
            return Err(format!("expected {what} in double quotes, found {found}"));
        };
        let mut text = String::new();
        let mut chars = body.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &body[at + 1..];
                    return Ok(text);
                }
                '\\' => text.push(escape(&mut chars)?),
                c => text.push(c),
            }
        }
        Err(format!("{what}: the closing quote is missing"))
    }

    /// A string glued to a key, as in `symbol="lock"`: call it when the rest starts with the key.
    pub(super) fn skip_prefix(&mut self, prefix: &str) -> bool {
        match self.ahead().strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Refuses what is left over.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        match self.word() {
            None => Ok(()),
            Some(word) => Err(format!("expected the end of the line, found `{word}`")),
        }
    }
}

fn escape(chars: &mut std::str::CharIndices<'_>) -> Result<char, String> {
    let Some((_, c)) = chars.next() else {
        return Err("a string ends in a backslash".to_owned());
    };
    Ok(match c {
        '\\' | '"' => c,
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'x' => {
            let digits: String = chars.by_ref().take(2).map(|(_, c)| c).collect();
            match u8::from_str_radix(&digits, 16) {
                Ok(code) if code < 0x80 && digits.bytes().filter(u8::is_ascii_hexdigit).count() == 2 => {
                    char::from(code)
                }
                _ => return Err(format!("expected two hex digits below 80 after \\x, found `{digits}`")),
            }
        }
        c => return Err(format!("unknown escape `\\{c}`; known are \\\\ \\\" \\n \\t \\r \\xNN")),
    })
}

/// Appends a quoted string.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_end_at_blanks_and_comments() {
        let mut words = Words::new("  t0 entry\t@1 # a comment");
        assert_eq!(
            [words.word(), words.word(), words.word(), words.word()],
            [Some("t0"), Some("entry"), Some("@1"), None]
        );
    }

    #[test]
    fn bad_strings_say_what_is_wrong() {
        for (text, part) in [
            ("\"ab", "closing quote"),
            ("\"a\\", "backslash"),
            ("\"\\q\"", "unknown escape"),
            ("\"\\x8\"", "hex digits"),
            ("\"\\xff\"", "hex digits"),
            ("\"\\x+1\"", "hex digits"),
            ("ab", "found `ab`"),
            ("# \"a\"", "the end of the line"),
        ] {
            let error = Words::new(text).string("a name").unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn quoted_strings_read_back(text in any::<String>()) {
            let mut quoted = String::new();
            quote(&text, &mut quoted);
            prop_assert!(!quoted.contains('\n'));
            let mut words = Words::new(&quoted);
            prop_assert_eq!(words.string("it").unwrap(), text);
            prop_assert!(words.at_end());
        }
    }
}
