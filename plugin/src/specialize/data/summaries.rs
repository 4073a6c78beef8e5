//! Function summaries (Wu 4.3.3): functions of the program that stand for others while it is analysed.
//!
//! A line of the file is `function = stand-in`, both by their linkage names; `#` begins a comment. The program still runs
//! the function: that the stand-in reads and writes as much is for the user to see to.

use crate::ir::code::Summaries;

/// Reads a file; what is wrong, with the line.
pub fn read(path: &str) -> Result<Summaries, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    parse(&text).map_err(|(line, what)| format!("{path}:{line}: {what}"))
}

/// Reads the text; what is wrong, and in which line.
fn parse(text: &str) -> Result<Summaries, (usize, String)> {
    let mut summaries = Summaries::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (name, stand_in) =
            match line.split_once('=').map(|(name, stand_in)| (name.trim(), stand_in.trim())) {
                Some((name, stand_in)) if is_name(name) && is_name(stand_in) => (name, stand_in),
                _ => return Err((number, format!("expected `function = stand-in`, found `{line}`"))),
            };
        if summaries.get(name).is_some() {
            return Err((number, format!("{name} has a stand-in already")));
        }
        summaries.insert(name, stand_in);
    }
    Ok(summaries)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_name_a_function_and_its_stand_in() {
        let summaries = parse("# slow\nsort_all = sort_summary # writes all\n\nhash=hash_summary\n").unwrap();
        assert_eq!(summaries.get("sort_all"), Some("sort_summary"));
        assert_eq!(summaries.get("hash"), Some("hash_summary"));
        assert_eq!(summaries.get("sort_summary"), None);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(parse("a = b\na b\n").unwrap_err().0, 2);
        assert_eq!(parse("a = \n").unwrap_err().0, 1);
        let (line, what) = parse("a = b\na = c\n").unwrap_err();
        assert_eq!((line, what.as_str()), (2, "a has a stand-in already"));
    }
}
