//! Response files (`@file`): read here only to know what they say; clang gets them as they are.

use std::path::Path;

/// The words of a response file, by the GNU rules that clang follows; `None` if there is no such file, in which
/// case clang takes the argument as a file name.
pub fn read(path: &Path) -> Option<Vec<String>> {
    let bytes = std::fs::read(path).ok()?;
    Some(split(&String::from_utf8_lossy(&bytes)))
}

/// Words between blanks; quotes of both kinds; a backslash keeps the next character.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => {
                if let Some(next) = chars.next() {
                    word.get_or_insert_with(String::new).push(next);
                }
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_with(String::new).push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_with(String::new);
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_with(String::new).push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quotes_and_backslashes_keep_blanks() {
        assert_eq!(
            split("-c  a.c\n'b c.c' \"d \\\"e\\\"\" f\\ g ''"),
            ["-c", "a.c", "b c.c", "d \"e\"", "f g", ""]
        );
        assert_eq!(split("'open"), ["open"]);
    }
}
