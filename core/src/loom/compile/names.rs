//! Names that filters use: files by the end of their path, functions by linkage name or by what the source calls them; and
//! which names are similar to one that is not there.

use std::collections::BTreeMap;

/// The components of a path, without `.` and with `..` resolved where possible.
fn components(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// Whether `name`'s components are the last ones of `path`. A name that starts at the root is a whole path.
pub(super) fn is_end_of_path(name: &str, path: &str) -> bool {
    let (name_parts, parts) = (components(name), components(path));
    if name.starts_with('/') {
        return path.starts_with('/') && name_parts == parts;
    }
    !name_parts.is_empty() && parts.ends_with(&name_parts)
}

/// Of the files that a name means those that are different: paths of which none is the end of another, the longest of
/// each. More than one: the name is ambiguous.
pub(super) fn different_files<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<Vec<&str>> = Vec::new();
    let mut texts: BTreeMap<Vec<&str>, &str> = BTreeMap::new();
    let mut all: Vec<(Vec<&str>, &str)> = paths.into_iter().map(|path| (components(path), path)).collect();
    all.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    for (parts, path) in all {
        if !found.iter().any(|longer| longer.ends_with(&parts)) {
            texts.insert(parts.clone(), path);
            found.push(parts);
        }
    }
    texts.values().map(|&path| path.to_owned()).collect()
}

/// The name of a file without its folders.
pub(super) fn last_component(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What the source calls a function, without its parameters, and without the result type that templates have. Of a function inside of
/// another one (of a local class, a lambda) the parameters of the outer one stay, which tell it apart from that.
pub(super) fn without_parameters(demangled: &str) -> &str {
    let mut depth = 0usize;
    // Where the name begins, where an operator's name does, and where the parameters do.
    let (mut start, mut operator, mut end) = (0, None, demangled.len());
    let mut at = 0;
    while let Some(c) = demangled[at..].chars().next() {
        let rest = &demangled[at..];
        if depth == 0 {
            if let Some(length) = operator_name(&demangled[..at], rest) {
                operator = Some(at);
                at += length;
                continue;
            }
        }
        match c {
            '(' if depth == 0 && at > 0 && !rest.starts_with("(anonymous") && !rest.starts_with("(.") => {
                end = at;
                depth += 1;
            }
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            // The end of the result type, if no parameters have been; else what follows them (`const`).
            ' ' if depth == 0 && operator.is_none() && end == demangled.len() => start = at + 1,
            // The parameters were those of a function around this one.
            ':' if depth == 0 => (operator, end) = (None, demangled.len()),
            _ => {}
        }
        at += c.len_utf8();
    }
    &demangled[start..end]
}

/// The length of an operator's name at the start of `rest`: its brackets are no others' then.
fn operator_name(before: &str, rest: &str) -> Option<usize> {
    const WORD: &str = "operator";
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let symbol = rest.strip_prefix(WORD)?;
    if before.ends_with(is_of_name) || symbol.starts_with(is_of_name) {
        return None;
    }
    let length = if symbol.starts_with("()") || symbol.starts_with("[]") {
        2
    } else {
        symbol.find(|c: char| !"+-*/%^&|~!=<>,".contains(c)).unwrap_or(symbol.len())
    };
    Some(WORD.len() + length)
}

/// Whether a name in a filter means a function: its linkage name, or what the source calls it, with or without its
/// parameters. Blanks do not count.
pub(super) fn means_function(name: &str, linkage: &str, demangled: Option<&str>) -> bool {
    if name == linkage {
        return true;
    }
    let Some(demangled) = demangled else { return false };
    let squeeze = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let wanted = squeeze(name.trim_start_matches("::"));
    wanted == squeeze(demangled) || wanted == squeeze(without_parameters(demangled))
}

/// Whether it means a function of an unnamed namespace, as the source writes it: without that.
pub(super) fn means_unnamed(name: &str, demangled: &str) -> bool {
    const UNNAMED: &str = "(anonymous namespace)::";
    demangled.contains(UNNAMED) && means_function(name, "", Some(&demangled.replace(UNNAMED, "")))
}

/// Up to three of the candidates that are most similar to a name, the best first.
pub(super) fn similar<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = name.chars().count() / 3;
    let lower = name.to_lowercase();
    let lower_last = lower.rsplit("::").next().unwrap_or(&lower);
    let mut found: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            let last = other.rsplit("::").next().unwrap_or(&other);
            // `Log::put` may be `app::Log::put<int>`.
            let without_arguments = last.split('<').next().filter(|name| !name.is_empty()).unwrap_or(last);
            let distance = if last == lower {
                0
            } else if without_arguments == lower_last {
                return Some((1, candidate));
            } else if lower.len() >= 3 && other.contains(&lower) {
                1
            } else {
                distance(&lower, &other, limit)?.min(distance(&lower, last, limit).unwrap_or(usize::MAX))
            };
            (distance <= limit).then_some((distance, candidate))
        })
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// How many characters must be inserted, removed or changed (Levenshtein); `None` if it is surely more than `limit`.
fn distance(a: &str, b: &str, limit: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit && !b.contains(&':') {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    Some(row[b.len()])
}

/// "`a`, `b` or `c`".
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_the_end_of_their_path() {
        for (name, path, is) in [
            ("log.cc", "src/log.cc", true),
            ("log.cc", "./log.cc", true),
            ("og.cc", "src/log.cc", false),
            ("src/log.cc", "/home/x/src/./log.cc", true),
            ("src/log.cc", "/home/src/../log.cc", false),
            ("/src/log.cc", "/a/src/log.cc", false),
            ("/a/log.cc", "/a/b/../log.cc", true),
            ("./log.cc", "src/log.cc", true),
        ] {
            assert_eq!(is_end_of_path(name, path), is, "{name} {path}");
        }
        assert_eq!(different_files(["src/log.cc", "/a/src/log.cc", "./src/log.cc"]), ["/a/src/log.cc"]);
        assert_eq!(different_files(["a/log.cc", "b/log.cc"]), ["a/log.cc", "b/log.cc"]);
    }

    #[test]
    fn functions_are_known_by_what_the_source_calls_them() {
        for (name, demangled, is) in [
            ("MYSQL_LOG::is_open", "MYSQL_LOG::is_open()", true),
            ("is_open", "MYSQL_LOG::is_open()", false),
            ("MYSQL_LOG::is_open()", "MYSQL_LOG::is_open()", true),
            ("ns::f(int,char)", "ns::f(int, char)", true),
            ("ns::f", "ns::f(int, void (*)(int))", true),
            ("f<int>", "void f<int>(int)", true),
            ("(anonymous namespace)::f", "(anonymous namespace)::f(int)", true),
            ("x::operator()", "x::operator()(int) const", true),
            ("x::operator==", "x::operator==(x const&)", true),
            ("x::f", "x::f() const", true),
            ("x::operator<<", "x::operator<<(int)", true),
            ("x::operator<", "x::operator<(x const&) const", true),
            ("operator<< <int>", "out& operator<< <int>(out&, box<int> const&)", true),
            ("x::operator->", "x::operator->() const", true),
            ("x::operator bool", "x::operator bool() const", true),
            ("x<int>::operator()", "int x<int>::operator()<char>(char)", false),
            ("x<int>::operator()<char>", "int x<int>::operator()<char>(char)", true),
            ("cooperator<int>", "void cooperator<int>(int)", true),
            ("one", "one(int)::local::run(int)", false),
            ("one(int)::local::run", "one(int)::local::run(int)", true),
            ("one(int)::$_0::operator()", "one(int)::$_0::operator()(int) const", true),
            ("one", "one(int)::$_0::__invoke(int)", false),
            (
                "one(int)::{lambda(int)#1}::operator()",
                "one(int)::{lambda(int)#1}::operator()(int) const",
                true,
            ),
            ("f", "f(std::map<int, char>, void (*)(int))", true),
        ] {
            assert_eq!(means_function(name, "_Zsomething", Some(demangled)), is, "{name} {demangled}");
        }
        assert!(means_function("main", "main", None));
        for (name, is) in [("a::f", true), ("a::f(int)", true), ("f", false), ("a::g", false)] {
            assert_eq!(means_unnamed(name, "a::(anonymous namespace)::f(int)"), is, "{name}");
        }
        assert!(!means_unnamed("a::f", "a::f(int)"));
    }

    #[test]
    fn similar_names_come_best_first() {
        let names = ["open_table", "close_table", "handle_client", "MYSQL_LOG::is_open", "main"];
        assert_eq!(similar("open_tabel", names), ["open_table"]);
        assert_eq!(similar("is_open", names), ["MYSQL_LOG::is_open"]);
        assert_eq!(similar("table", names), ["close_table", "open_table"]);
        assert_eq!(similar("zzz", names), [""; 0]);
        assert_eq!(similar("app::Log::put", ["x::app::v2::Log::put<int>"]), ["x::app::v2::Log::put<int>"]);
        assert_eq!(listed(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
