//! `COVSCHED_OPTIONS` for a run: what the user set, and what covsched needs.

use crate::failure::Failure;
use covsched_core::options::{OptionError, Parse};
use covsched_core::ProgramId;
use std::ffi::OsString;
use std::path::Path;

/// The exit code of a run that covsched ended, unless `exitcode=` says another.
pub const DIVERGED: u8 = 66;

/// What the user has set.
pub fn of_user() -> Result<String, Failure> {
    std::env::var_os("COVSCHED_OPTIONS")
        .unwrap_or_default()
        .into_string()
        .map_err(|_| Failure::bad("COVSCHED_OPTIONS is not UTF-8"))
}

/// What to do when a run leaves its schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum OnDivergence {
    /// Go on without the schedule
    Continue,
    /// End the process with exit code 66
    Abort,
}

/// How to follow a schedule: what was said on the command line, and where that is silent in `COVSCHED_OPTIONS`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enforcing {
    pub on_divergence: OnDivergence,
    /// With [`OnDivergence::Abort`].
    pub exit_code: u8,
    pub stall: Option<u64>,
    pub fast_timeouts: bool,
    pub delay: Option<u64>,
    help: bool,
}

/// What may be said on the command line.
#[derive(Clone, Copy, Default)]
pub struct Wanted {
    pub on_divergence: Option<OnDivergence>,
    pub stall: Option<u64>,
    pub fast_timeouts: bool,
    pub delay: Option<u64>,
}

impl Enforcing {
    /// The command line's word counts, then the user's options'.
    pub fn new(wanted: Wanted, user: &str) -> Result<Enforcing, Failure> {
        let mut settings = Enforcing {
            on_divergence: OnDivergence::Continue,
            exit_code: DIVERGED,
            stall: None,
            fast_timeouts: false,
            delay: None,
            help: false,
        };
        for (key, value) in parse(user)? {
            match key {
                "on-divergence" => {
                    settings.on_divergence = clap::ValueEnum::from_str(value, false)
                        .map_err(|_| wrong(key, value, "continue or abort"))?;
                }
                "exitcode" => settings.exit_code = number(key, value)?,
                "stall" => settings.stall = Some(number(key, value)?),
                "fast-timeouts" => settings.fast_timeouts = flag(key, value)?,
                "delay" => settings.delay = Some(number(key, value)?),
                "help" => settings.help = flag(key, value)?,
                // These are covsched's to set.
                _ => {}
            }
        }
        settings.on_divergence = wanted.on_divergence.unwrap_or(settings.on_divergence);
        settings.stall = wanted.stall.or(settings.stall);
        settings.fast_timeouts |= wanted.fast_timeouts;
        settings.delay = wanted.delay.or(settings.delay);
        Ok(settings)
    }

    /// The variable's value for a run that follows the plan, and is recorded if there is a folder for that.
    pub fn options(&self, program: ProgramId, plan: &Path, log: Option<&Path>) -> Result<OsString, Failure> {
        let mut options = format!("mode=enforce:program={program}:plan={}", quoted_path(plan)?);
        let mut add = |option: String| {
            options.push(':');
            options.push_str(&option);
        };
        add(match self.on_divergence {
            OnDivergence::Continue => "on-divergence=continue".to_owned(),
            OnDivergence::Abort => "on-divergence=abort".to_owned(),
        });
        // A specialized program may end by itself.
        add(format!("exitcode={}", self.exit_code));
        if let Some(seconds) = self.stall {
            add(format!("stall={seconds}"));
        }
        if self.fast_timeouts {
            add("fast-timeouts=1".to_owned());
        }
        if let Some(seed) = self.delay {
            add(format!("delay={seed}"));
        }
        if self.help {
            add("help=1".to_owned());
        }
        if let Some(folder) = log {
            add(format!("log={}", quoted_path(folder)?));
        }
        Ok(options.into())
    }
}

/// The variable's value for a recording. The user's own mode, log and program give way; so does every key of `wanted`,
/// which is what was said on the command line.
pub fn for_recording(
    user: &str,
    folder: &Path,
    program: ProgramId,
    wanted: &[(&'static str, String)],
) -> Result<OsString, Failure> {
    let mut options = String::new();
    for (key, value) in parse(user)? {
        let ours = matches!(key, "mode" | "log" | "plan" | "program");
        if !ours && !wanted.iter().any(|(wanted, _)| *wanted == key) {
            options.push_str(&format!("{key}={}:", quoted(value)?));
        }
    }
    for (key, value) in wanted {
        options.push_str(&format!("{key}={value}:"));
    }
    options.push_str(&format!("mode=record:program={program}:log={}", quoted_path(folder)?));
    Ok(options.into())
}

/// What an option is going to be: as on the command line, or else as in the user's options.
pub fn value<'a>(
    user: &'a str,
    wanted: &'a [(&'static str, String)],
    key: &str,
) -> Result<Option<&'a str>, Failure> {
    let given = wanted.iter().find(|(wanted, _)| *wanted == key).map(|(_, value)| value.as_str());
    let by_user = parse(user)?.into_iter().rev().find(|(known, _)| *known == key).map(|(_, value)| value);
    Ok(given.or(by_user))
}

/// Keys and values; what is no option is refused.
fn parse(user: &str) -> Result<Vec<(&'static str, &str)>, Failure> {
    let options = Parse::new(user).map(|option| option.map(|(row, value)| (row.key, value)));
    options.collect::<Result<_, _>>().map_err(|error| {
        Failure::bad(match error {
            OptionError::NoValue(part) => format!("COVSCHED_OPTIONS: expected key=value, found `{part}`"),
            OptionError::UnknownKey(key) => format!("COVSCHED_OPTIONS: unknown key `{key}`"),
            OptionError::OpenQuote(key) => format!("COVSCHED_OPTIONS: the quote of `{key}` does not close"),
        })
    })
}

fn wrong(key: &str, value: &str, expected: &str) -> Failure {
    Failure::bad(format!("COVSCHED_OPTIONS: {key}={value}: expected {expected}"))
}

fn number<T: std::str::FromStr + TryFrom<u64>>(key: &str, value: &str) -> Result<T, Failure> {
    let range = if std::mem::size_of::<T>() == 1 { "a number from 0 to 255" } else { "a number" };
    value.parse().map_err(|_| wrong(key, value, range))
}

fn flag(key: &str, value: &str) -> Result<bool, Failure> {
    match value {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(wrong(key, value, "0 or 1")),
    }
}

fn quoted_path(path: &Path) -> Result<String, Failure> {
    quoted(path.to_str().ok_or_else(|| Failure::bad(format!("{}: not UTF-8", path.display())))?)
}

fn quoted(value: &str) -> Result<String, Failure> {
    ['\'', '"']
        .into_iter()
        .find(|&quote| !value.contains(quote))
        .map(|quote| format!("{quote}{value}{quote}"))
        .ok_or_else(|| Failure::bad(format!("`{value}` has both kinds of quotes and cannot be passed on")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(user: &str, delay: Option<u64>) -> Result<String, String> {
        let wanted: Vec<_> = delay.map(|seed| ("delay", seed.to_string())).into_iter().collect();
        for_recording(user, Path::new("/dev/shm/it's"), ProgramId(0x12), &wanted)
            .map(|options| options.into_string().unwrap())
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_users_options_are_kept_where_they_do_not_matter_to_the_recording() {
        let ours = "mode=record:program=0000000000000012:log=\"/dev/shm/it's\"";
        assert_eq!(options("", None).unwrap(), ours);
        assert_eq!(options("mode=off:delay=3:log=x", None).unwrap(), format!("delay='3':{ours}"));
        assert_eq!(options("delay=3:plan=x", Some(4)).unwrap(), format!("delay=4:{ours}"));
    }

    #[test]
    fn the_command_line_counts_more_for_epochs_too() {
        let wanted = [("epochs", "barrier".to_owned()), ("epoch-markers", "8".to_owned())];
        let user = "epochs=free:epoch-balance=2:epoch-markers=3";
        let options = for_recording(user, Path::new("/l"), ProgramId(0x12), &wanted).unwrap();
        assert_eq!(
            options.into_string().unwrap(),
            "epoch-balance='2':epochs=barrier:epoch-markers=8:mode=record:program=0000000000000012:log='/l'"
        );
        assert_eq!(value(user, &wanted, "epochs").unwrap(), Some("barrier"));
        assert_eq!(value("epochs=barrier:epochs=free", &[], "epochs").unwrap(), Some("free"));
        assert_eq!(value("", &[], "epochs").unwrap(), None);
    }

    #[test]
    fn wrong_options_are_named() {
        assert!(options("dealy=3", None).unwrap_err().contains("unknown key `dealy`"));
        assert!(options("help", None).unwrap_err().contains("found `help`"));
    }

    fn enforcing(wanted: Wanted, user: &str, log: Option<&Path>) -> Result<String, String> {
        Enforcing::new(wanted, user)
            .and_then(|settings| settings.options(ProgramId(0x12), Path::new("/dev/shm/p"), log))
            .map(|options| options.into_string().unwrap())
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_command_line_counts_more_than_the_users_options() {
        let ours = "mode=enforce:program=0000000000000012:plan='/dev/shm/p':on-divergence";
        let nothing = Wanted::default();
        assert_eq!(enforcing(nothing, "", None).unwrap(), format!("{ours}=continue:exitcode=66"));
        let user = "mode=record:log=x:plan=y:program=1:exitcode=9:stall=3:fast-timeouts=1:delay=5";
        assert_eq!(
            enforcing(nothing, user, Some(Path::new("/l"))).unwrap(),
            format!("{ours}=continue:exitcode=9:stall=3:fast-timeouts=1:delay=5:log='/l'")
        );
        assert_eq!(
            enforcing(nothing, "on-divergence=abort:exitcode=9", None).unwrap(),
            format!("{ours}=abort:exitcode=9")
        );
        let abort = Some(OnDivergence::Abort);
        let wanted = Wanted { on_divergence: abort, stall: Some(1), fast_timeouts: true, delay: Some(6) };
        assert_eq!(
            enforcing(wanted, "on-divergence=continue:stall=3:delay=5", None).unwrap(),
            format!("{ours}=abort:exitcode=66:stall=1:fast-timeouts=1:delay=6")
        );
    }

    #[test]
    fn values_that_make_no_sense_are_refused() {
        for (user, expected) in [
            ("exitcode=300", "exitcode=300: expected a number from 0 to 255"),
            ("stall=soon", "stall=soon: expected a number"),
            ("fast-timeouts=yes", "fast-timeouts=yes: expected 0 or 1"),
            ("on-divergence=stop", "on-divergence=stop: expected continue or abort"),
            ("stal=3", "unknown key `stal`"),
        ] {
            let failure = enforcing(Wanted::default(), user, None).unwrap_err();
            assert!(failure.contains(expected), "{failure}");
        }
    }
}
