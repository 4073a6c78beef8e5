//! Names for people: demangled functions, errno and signals.

pub use covsched::demangle;

/// A demangled name without template arguments, parameters, result and anonymous namespaces: for tables.
pub fn brief(name: &str) -> String {
    // Longer ones before their prefixes.
    const OPERATORS: [&str; 9] = ["()", "<=>", "<<", ">>", "<=", ">=", "->", "<", ">"];
    let short = name.replace("(anonymous namespace)::", "").replace(" const", "");
    let mut brief = String::new();
    let mut depth = 0usize;
    let mut rest = short.as_str();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '<' | '(' if depth == 0 && brief.ends_with("operator") => {
                // The brackets are the operator's name.
                let word = &short[short.len() - rest.len() - 1..];
                let symbol = OPERATORS.into_iter().find(|symbol| word.starts_with(symbol)).unwrap_or("");
                brief.push_str(symbol);
                rest = word.strip_prefix(symbol).unwrap_or(rest);
            }
            '<' | '(' => {
                if depth == 0 {
                    brief.push(c);
                }
                depth += 1;
            }
            '>' | ')' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    brief.push(c);
                }
            }
            _ if depth > 0 => {}
            // What stands before a blank is the result's type.
            ' ' if !brief.ends_with("operator") => brief.clear(),
            c => brief.push(c),
        }
    }
    // Brackets that do not match are operators that this reading did not see.
    if depth == 0 {
        brief
    } else {
        name.to_owned()
    }
}

/// A text with linkage names of C++ in it, as [`brief`] has them.
pub fn demangle_all(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("_Z") {
        let (before, name) = rest.split_at(start);
        let (name, after) = name.split_at(name.find(|c| !is_part(c)).unwrap_or(name.len()));
        result.push_str(before);
        // In the middle of another name it means nothing.
        if before.ends_with(is_part) {
            result.push_str(name);
        } else {
            result.push_str(&brief(&demangle(name)));
        }
        rest = after;
    }
    result + rest
}

/// The errno's name, for those that a synchronization may return on Linux; else the number.
pub fn errno(code: i32) -> String {
    let name = match code {
        libc::EPERM => "EPERM",
        libc::ESRCH => "ESRCH",
        libc::EINTR => "EINTR",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::EACCES => "EACCES",
        libc::EBUSY => "EBUSY",
        libc::EEXIST => "EEXIST",
        libc::EINVAL => "EINVAL",
        libc::ENOSYS => "ENOSYS",
        libc::ENOENT => "ENOENT",
        libc::EDEADLK => "EDEADLK",
        libc::EOVERFLOW => "EOVERFLOW",
        libc::ETIMEDOUT => "ETIMEDOUT",
        libc::EOWNERDEAD => "EOWNERDEAD",
        libc::ENOTRECOVERABLE => "ENOTRECOVERABLE",
        _ => return code.to_string(),
    };
    name.to_owned()
}

/// `signal 9 (SIGKILL)`.
pub fn signal(number: i32) -> String {
    let name = match number {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return format!("signal {number}"),
    };
    format!("signal {number} ({name})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_names_keep_what_tells_functions_apart() {
        for (name, expected) in [
            ("worker", "worker"),
            ("std::vector<(anonymous namespace)::F, std::less<int>>::vector(int)", "std::vector<>::vector()"),
            ("void std::_Construct<int>(int*)", "std::_Construct<>()"),
            ("(anonymous namespace)::Pool::run() const", "Pool::run()"),
            ("A::A(int)::'lambda'()::operator()(int) const", "A::A()::'lambda'()::operator()()"),
            ("f()::'lambda'()::operator()() const::'lambda'()", "f()::'lambda'()::operator()()::'lambda'()"),
            ("std::ostream& std::operator<<<int>(std::ostream&)", "std::operator<<<>()"),
            ("bool operator<(A const&, A const&)", "operator<()"),
            ("f<&(A::operator<(A))>()", "f<&(A::operator<(A))>()"),
            ("unsigned int f(int)", "f()"),
            ("main::$_2", "main::$_2"),
            (">)(<", ">)(<"),
        ] {
            assert_eq!(brief(name), expected, "{name}");
        }
    }

    #[test]
    fn names_in_a_text_are_demangled() {
        assert_eq!(
            demangle_all("lock m0 (_ZN4Pool4lockE+8) at a.cpp:3 (_ZN4Pool3runEi), not my_Zone"),
            "lock m0 (Pool::lock+8) at a.cpp:3 (Pool::run()), not my_Zone"
        );
        assert_eq!(demangle_all(""), "");
    }

    #[test]
    fn c_plus_plus_names_are_demangled() {
        assert_eq!(demangle("_ZNSt6thread4joinEv"), "std::thread::join()");
        assert_eq!(demangle("main"), "main");
    }
}
