//! What `COVSCHED_OPTIONS` says: `key=value:key=value`, values may be quoted with ' or ". One option is one
//! row of [`OPTIONS`]; `help=1` prints the rows. Parsed without allocating, since the runtime does it.

/// An option that the runtime knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionRow {
    /// The key.
    pub key: &'static str,
    /// What is expected, in words.
    pub value: &'static str,
    /// The default, in words.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// Every option.
pub const OPTIONS: &[OptionRow] = &[
    OptionRow { key: "mode", value: "off|record|enforce", default: "off", help: "what the hooks do" },
    OptionRow {
        key: "log",
        value: "DIR",
        default: "none",
        help: "folder for the recording; must exist. With mode=enforce: record as well",
    },
    OptionRow {
        key: "plan",
        value: "FILE",
        default: "none",
        help: "mode=enforce: the plan to follow; `covsched run` makes it, and FILE.status",
    },
    OptionRow {
        key: "on-divergence",
        value: "continue|abort",
        default: "continue",
        help: "what to do when the run leaves the schedule: go on without it, or end the process",
    },
    OptionRow {
        key: "exitcode",
        value: "0 to 255",
        default: "66",
        help: "the exit code with on-divergence=abort, and of a specialized program on an input that is not covered",
    },
    OptionRow {
        key: "stall",
        value: "SECONDS",
        default: "never",
        help: "a thread that waits so long for its turn, while no other gets any further, has diverged",
    },
    OptionRow {
        key: "fast-timeouts",
        value: "1",
        default: "0",
        help: "a scheduled timeout does not wait for its deadline",
    },
    OptionRow {
        key: "epochs",
        value: "free|barrier",
        default: "free",
        help:
            "barrier: a thread at an epoch marker waits until every other is at one, is blocked or has ended",
    },
    OptionRow {
        key: "epoch-markers",
        value: "N",
        default: "1",
        help: "an epoch of a thread has at least N markers: it passes by those before",
    },
    OptionRow {
        key: "epoch-instructions",
        value: "N",
        default: "0",
        help: "an epoch of a thread has at least N instructions, where the program counts them",
    },
    OptionRow {
        key: "epoch-balance",
        value: "K",
        default: "none",
        help: "epochs=barrier: a thread passes by its marker if one that waits is ahead of it by more than K",
    },
    OptionRow {
        key: "program",
        value: "16 hex digits",
        default: "any",
        help: "only a program with this identity obeys these options; others (children) ignore them",
    },
    OptionRow {
        key: "delay",
        value: "SEED",
        default: "none",
        help: "test aid: sleep or yield at random around synchronizations",
    },
    OptionRow {
        key: "filter",
        value: "FILE",
        default: "none",
        help: "loom: a compiled filter to begin with (`covsched loom check FILTER APP -o FILE` makes it)",
    },
    OptionRow {
        key: "loom",
        value: "auto|on|off",
        default: "auto",
        help: "loom: when the process takes filters: from its second thread on, from the start, never",
    },
    OptionRow {
        key: "loom-socket",
        value: "DIR",
        default: "$XDG_RUNTIME_DIR/covsched or /tmp/covsched-UID",
        help: "loom: folder of the control socket, mode 0700; made if it is not there",
    },
    OptionRow {
        key: "loom-timeout",
        value: "MILLISECONDS",
        default: "5000",
        help: "loom: a filter that makes a thread wait so long is taken out",
    },
    OptionRow {
        key: "loom-tries",
        value: "N",
        default: "100",
        help: "loom: how often threads are asked to pause for one update",
    },
    OptionRow {
        key: "loom-patience",
        value: "MILLISECONDS",
        default: "10000",
        help: "loom: how long an update may take; then it is given up",
    },
    OptionRow {
        key: "loom-membarrier",
        value: "0 or 1",
        default: "1",
        help: "test aid: 0 does without the kernel's membarrier, as on kernels that do not have it",
    },
    OptionRow {
        key: "loom-switch",
        value: "fast|slow|random[,SEED]",
        default: "fast",
        help: "test aid: which copy of functions runs while no filter is installed",
    },
    OptionRow { key: "help", value: "1", default: "0", help: "list the options on standard error" },
];

/// What is wrong with the options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptionError<'a> {
    /// No `=` in this part.
    NoValue(&'a str),
    /// A key without a row.
    UnknownKey(&'a str),
    /// A quote that does not close.
    OpenQuote(&'a str),
}

/// Splits the text into known keys and values.
pub struct Parse<'a>(&'a str);

impl<'a> Parse<'a> {
    /// Of the environment variable's text.
    pub fn new(text: &'a str) -> Self {
        Parse(text)
    }
}

impl<'a> Iterator for Parse<'a> {
    type Item = Result<(&'static OptionRow, &'a str), OptionError<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0 = self.0.trim_start_matches(':');
        if self.0.is_empty() {
            return None;
        }
        let part_end = self.0.find(':').unwrap_or(self.0.len());
        let Some(equals) = self.0[..part_end].find('=') else {
            let part = &self.0[..part_end];
            self.0 = &self.0[part_end..];
            return Some(Err(OptionError::NoValue(part)));
        };
        let (key, rest) = (&self.0[..equals], &self.0[equals + 1..]);
        let value = match rest.as_bytes().first() {
            Some(&quote @ (b'"' | b'\'')) => {
                let Some(len) = rest[1..].find(quote as char) else {
                    self.0 = "";
                    return Some(Err(OptionError::OpenQuote(key)));
                };
                self.0 = &rest[len + 2..];
                &rest[1..len + 1]
            }
            _ => {
                let end = rest.find(':').unwrap_or(rest.len());
                self.0 = &rest[end..];
                &rest[..end]
            }
        };
        Some(match OPTIONS.iter().find(|row| row.key == key) {
            Some(row) => Ok((row, value)),
            None => Err(OptionError::UnknownKey(key)),
        })
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<Result<(&'static str, &str), OptionError<'_>>> {
        Parse::new(text).map(|item| item.map(|(row, value)| (row.key, value))).collect()
    }

    #[test]
    fn values_may_be_quoted_and_then_hold_colons() {
        assert_eq!(
            parse("mode=record:log='/tmp/a:b':delay=\"3\""),
            [Ok(("mode", "record")), Ok(("log", "/tmp/a:b")), Ok(("delay", "3"))]
        );
        assert_eq!(parse(""), []);
        assert_eq!(parse("::mode=:"), [Ok(("mode", ""))]);
    }

    #[test]
    fn what_is_wrong_is_named_and_the_rest_is_still_read() {
        assert_eq!(
            parse("mode:bogus=1:delay=2"),
            [Err(OptionError::NoValue("mode")), Err(OptionError::UnknownKey("bogus")), Ok(("delay", "2"))]
        );
        assert_eq!(parse("log='x"), [Err(OptionError::OpenQuote("log"))]);
    }
}
