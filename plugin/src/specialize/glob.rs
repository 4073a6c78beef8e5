//! Globs of `ignore-sites`: `*` is any text, `?` any character, the rest is itself.

use covsched_core::site::Site;

/// Whether the whole text fits.
pub fn fits(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Where the last star was, and how far its text reached.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match glob.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(&wanted) if wanted == '?' || wanted == text[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((star_at, reached)) = star else { return false };
                star = Some((star_at, reached + 1));
                (at, from) = (star_at + 1, reached + 1);
            }
        }
    }
    glob[at..].iter().all(|&rest| rest == '*')
}

/// Whether a site's file (whole or without folders), function or callee (as linked, or in C++'s words) fits.
pub fn fits_site(glob: &str, site: &Site) -> bool {
    let name = |linkage: &str| {
        !linkage.is_empty() && (fits(glob, linkage) || fits(glob, &crate::demangle(linkage)))
    };
    let base = site.file.rsplit('/').next().unwrap_or_default();
    (!site.file.is_empty() && (fits(glob, &site.file) || fits(glob, base)))
        || name(&site.function)
        || name(&site.callee)
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::site::SiteKind;
    use covsched_core::SiteId;

    #[test]
    fn stars_are_any_text() {
        for (glob, text) in [
            ("", ""),
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("a?c", "abc"),
            ("*lock*", "pthread_mutex_lock"),
            ("*ab*ab", "xababyab"),
            ("malloc.c", "malloc.c"),
        ] {
            assert!(fits(glob, text), "{glob} {text}");
        }
        for (glob, text) in [("", "a"), ("a", ""), ("a*c", "ab"), ("?", ""), ("ab", "abc"), ("*b", "bc")] {
            assert!(!fits(glob, text), "{glob} {text}");
        }
    }

    #[test]
    fn a_site_is_known_by_file_function_or_call() {
        let site = Site {
            id: SiteId(1),
            kind: SiteKind::True,
            file: "src/log/log.c".to_owned(),
            line: 3,
            column: 1,
            function: "_ZN3log5writeEv".to_owned(),
            callee: "pthread_mutex_lock".to_owned(),
        };
        for glob in ["src/log/*", "log.c", "log::*", "_ZN3log*", "*mutex_lock"] {
            assert!(fits_site(glob, &site), "{glob}");
        }
        for glob in ["log", "src", "main", "*unlock", ""] {
            assert!(!fits_site(glob, &site), "{glob}");
        }
    }
}
