//! What `COVSCHED_OPTIONS` asks of this process.

use crate::loom::settings::{Start, SwitchMode};
use crate::sys;
use covsched_core::options::{OptionError, Parse, OPTIONS};
use covsched_core::ProgramId;

/// What the hooks shall do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Nothing.
    Off,
    /// Record.
    Record,
    /// Follow a plan.
    Enforce,
}

/// Those about loom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoomOptions<'a> {
    /// `filter`.
    pub filter: Option<&'a str>,
    /// `loom`.
    pub start: Start,
    /// `loom-socket`.
    pub socket: Option<&'a str>,
    /// `loom-timeout`, in milliseconds.
    pub timeout: u32,
    /// `loom-tries`.
    pub tries: u32,
    /// `loom-patience`, in milliseconds.
    pub patience: u64,
    /// `loom-membarrier`.
    pub has_membarrier: bool,
    /// `loom-switch`.
    pub switch: SwitchMode,
}

impl<'a> LoomOptions<'a> {
    const DEFAULT: Self = LoomOptions {
        filter: None,
        start: Start::Automatic,
        socket: None,
        timeout: 5000,
        tries: 100,
        patience: 10_000,
        has_membarrier: true,
        switch: SwitchMode::Fast,
    };

    /// Sets one of them, as in [`parse`].
    fn set(&mut self, key: &str, value: &'a str) -> bool {
        match key {
            "filter" => set(&mut self.filter, Some(value).filter(|value| !value.is_empty()).map(Some)),
            "loom" => {
                let start = match value {
                    "auto" => Some(Start::Automatic),
                    "on" => Some(Start::On),
                    "off" => Some(Start::Off),
                    _ => None,
                };
                set(&mut self.start, start)
            }
            "loom-socket" => set(&mut self.socket, Some(value).filter(|value| !value.is_empty()).map(Some)),
            "loom-timeout" => set(&mut self.timeout, value.parse().ok().filter(|&time| time > 0)),
            "loom-tries" => set(&mut self.tries, value.parse().ok().filter(|&tries| tries > 0)),
            "loom-patience" => set(&mut self.patience, value.parse().ok()),
            "loom-membarrier" => set(&mut self.has_membarrier, flag(value)),
            "loom-switch" => {
                let switch = match value {
                    "fast" => Some(SwitchMode::Fast),
                    "slow" => Some(SwitchMode::Slow),
                    "random" => Some(SwitchMode::Random(1)),
                    _ => {
                        let seed =
                            value.strip_prefix("random").and_then(|rest| rest.strip_prefix([',', ':']));
                        seed.and_then(|seed| seed.parse().ok()).map(SwitchMode::Random)
                    }
                };
                set(&mut self.switch, switch)
            }
            _ => false,
        }
    }
}

/// The options, read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options<'a> {
    /// `mode`.
    pub mode: Mode,
    /// `log`.
    pub log: Option<&'a str>,
    /// `program`.
    pub program: Option<ProgramId>,
    /// `plan`.
    pub plan: Option<&'a str>,
    /// `on-divergence` is `abort`.
    pub ends_on_divergence: bool,
    /// `exitcode`.
    pub exit_code: u8,
    /// `stall`.
    pub stall: Option<u64>,
    /// `fast-timeouts`.
    pub fast_timeouts: bool,
    /// `epochs` is `barrier`.
    pub are_epochs_barriers: bool,
    /// `epoch-markers`.
    pub epoch_markers: u64,
    /// `epoch-instructions`.
    pub epoch_instructions: u64,
    /// `epoch-balance`.
    pub epoch_balance: Option<u64>,
    /// `delay`.
    pub delay: Option<u64>,
    /// `help`.
    pub help: bool,
    /// Those about loom.
    pub loom: LoomOptions<'a>,
}

/// Reads the options. What is wrong goes to `complain`, as parts of a line, and is ignored.
pub fn parse<'a>(text: &'a str, mut complain: impl FnMut(&[&str])) -> Options<'a> {
    let mut options = Options {
        mode: Mode::Off,
        log: None,
        program: None,
        plan: None,
        ends_on_divergence: false,
        exit_code: 66,
        stall: None,
        fast_timeouts: false,
        are_epochs_barriers: false,
        epoch_markers: 1,
        epoch_instructions: 0,
        epoch_balance: None,
        delay: None,
        help: false,
        loom: LoomOptions::DEFAULT,
    };
    for item in Parse::new(text) {
        let (row, value) = match item {
            Ok(pair) => pair,
            Err(OptionError::NoValue(part)) => {
                complain(&["'", part, "' is not of the form key=value"]);
                continue;
            }
            Err(OptionError::UnknownKey(key)) => {
                complain(&["unknown option '", key, "' (help=1 lists them)"]);
                continue;
            }
            Err(OptionError::OpenQuote(key)) => {
                complain(&["the quote in the value of '", key, "' does not close"]);
                continue;
            }
        };
        let understood = match row.key {
            "mode" => match value {
                "off" => set(&mut options.mode, Some(Mode::Off)),
                "record" => set(&mut options.mode, Some(Mode::Record)),
                "enforce" => set(&mut options.mode, Some(Mode::Enforce)),
                _ => {
                    // Never obey half of what was asked.
                    options.mode = Mode::Off;
                    false
                }
            },
            "log" => {
                options.log = Some(value);
                !value.is_empty()
            }
            "program" if value.len() == 16 => {
                set(&mut options.program, u64::from_str_radix(value, 16).ok().map(|id| Some(ProgramId(id))))
            }
            "plan" => {
                options.plan = Some(value);
                !value.is_empty()
            }
            "on-divergence" => {
                let ends = match value {
                    "abort" => Some(true),
                    "continue" => Some(false),
                    _ => None,
                };
                set(&mut options.ends_on_divergence, ends)
            }
            "exitcode" => set(&mut options.exit_code, value.parse().ok()),
            "stall" => {
                set(&mut options.stall, value.parse().ok().filter(|&seconds: &u64| seconds > 0).map(Some))
            }
            "fast-timeouts" => set(&mut options.fast_timeouts, flag(value)),
            "epochs" => {
                let are_barriers = match value {
                    "barrier" => Some(true),
                    "free" => Some(false),
                    _ => None,
                };
                set(&mut options.are_epochs_barriers, are_barriers)
            }
            "epoch-markers" => {
                set(&mut options.epoch_markers, value.parse().ok().filter(|&markers| markers > 0))
            }
            "epoch-instructions" => set(&mut options.epoch_instructions, value.parse().ok()),
            "epoch-balance" => {
                set(&mut options.epoch_balance, value.parse().ok().filter(|&most| most < u64::MAX).map(Some))
            }
            "delay" => set(&mut options.delay, value.parse().ok().map(Some)),
            "help" => set(&mut options.help, flag(value)),
            key => options.loom.set(key, value),
        };
        if !understood {
            complain(&[row.key, "=", value, " is ignored: expected ", row.value]);
        }
    }
    options
}

fn flag(value: &str) -> Option<bool> {
    (value == "1" || value == "0").then_some(value == "1")
}

fn set<T>(place: &mut T, value: Option<T>) -> bool {
    match value {
        Some(value) => {
            *place = value;
            true
        }
        None => false,
    }
}

/// Lists the rows on standard error.
pub fn print_help() {
    sys::write_error(&["covsched: COVSCHED_OPTIONS=key=value:key=value, values may be quoted\n"]);
    for row in OPTIONS {
        sys::write_error(&["  ", row.key, "=", row.value, " (default: ", row.default, ")  ", row.help]);
        sys::write_error(&["\n"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> (Options<'_>, Vec<String>) {
        let mut lines = Vec::new();
        let options = parse(text, |parts| lines.push(parts.concat()));
        (options, lines)
    }

    #[test]
    fn every_row_of_the_table_is_understood() {
        let text =
            "mode=enforce:log='/a:b':program=00000000000000ff:plan=p:on-divergence=abort:exitcode=7:stall=3:\
                    fast-timeouts=1:epochs=barrier:epoch-markers=3:epoch-instructions=1000:epoch-balance=50:delay=7:\
             filter=f:loom=on:loom-socket=/s:loom-timeout=3:loom-tries=5:loom-patience=9:loom-membarrier=0:\
             loom-switch='random:7':help=0";
        let (options, lines) = complaints(text);
        assert_eq!(lines, [""; 0]);
        assert_eq!(
            options,
            Options {
                mode: Mode::Enforce,
                log: Some("/a:b"),
                program: Some(ProgramId(255)),
                plan: Some("p"),
                ends_on_divergence: true,
                exit_code: 7,
                stall: Some(3),
                fast_timeouts: true,
                are_epochs_barriers: true,
                epoch_markers: 3,
                epoch_instructions: 1000,
                epoch_balance: Some(50),
                delay: Some(7),
                help: false,
                loom: LoomOptions {
                    filter: Some("f"),
                    start: Start::On,
                    socket: Some("/s"),
                    timeout: 3,
                    tries: 5,
                    patience: 9,
                    has_membarrier: false,
                    switch: SwitchMode::Random(7),
                },
            }
        );
        for row in OPTIONS {
            assert!(text.contains(&format!("{}=", row.key)), "{}", row.key);
        }
    }

    #[test]
    fn numbers_of_epochs_are_looked_at() {
        let (options, lines) = complaints(
            "epochs=barriers:epoch-markers=0:epoch-markers=-1:epoch-instructions=many:epoch-balance=",
        );
        assert!(!options.are_epochs_barriers);
        let epochs = (options.epoch_markers, options.epoch_instructions, options.epoch_balance);
        assert_eq!(epochs, (1, 0, None));
        assert_eq!(
            lines,
            [
                "epochs=barriers is ignored: expected free|barrier",
                "epoch-markers=0 is ignored: expected N",
                "epoch-markers=-1 is ignored: expected N",
                "epoch-instructions=many is ignored: expected N",
                "epoch-balance= is ignored: expected K",
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_said_and_ignored() {
        let (options, lines) = complaints("mode=record:delay=x:bogus=1:mode=recrd:log");
        assert_eq!(options.mode, Mode::Off);
        assert_eq!(options.delay, None);
        assert_eq!(
            lines,
            [
                "delay=x is ignored: expected SEED",
                "unknown option 'bogus' (help=1 lists them)",
                "mode=recrd is ignored: expected off|record|enforce",
                "'log' is not of the form key=value",
            ]
        );
    }
}
