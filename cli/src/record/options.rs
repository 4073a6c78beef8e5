//! `COVSCHED_OPTIONS` for a recording: what the user set, and what recording needs.

use crate::failure::Failure;
use covsched_core::options::{OptionError, Parse};
use covsched_core::ProgramId;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The variable's value. The user's own mode, log and program give way; so does delay if `--delay` is given.
pub fn for_recording(
    user: &OsStr,
    folder: &Path,
    program: ProgramId,
    delay: Option<u64>,
) -> Result<OsString, Failure> {
    let user = user.to_str().ok_or_else(|| Failure::bad("COVSCHED_OPTIONS is not UTF-8"))?;
    let mut options = String::new();
    for option in Parse::new(user) {
        let (row, value) = option.map_err(|error| {
            Failure::bad(match error {
                OptionError::NoValue(part) => format!("COVSCHED_OPTIONS: expected key=value, found `{part}`"),
                OptionError::UnknownKey(key) => format!("COVSCHED_OPTIONS: unknown key `{key}`"),
                OptionError::OpenQuote(key) => {
                    format!("COVSCHED_OPTIONS: the quote of `{key}` does not close")
                }
            })
        })?;
        let ours = matches!(row.key, "mode" | "log" | "program") || (row.key == "delay" && delay.is_some());
        if !ours {
            options.push_str(&format!("{}={}:", row.key, quoted(value)?));
        }
    }
    if let Some(seed) = delay {
        options.push_str(&format!("delay={seed}:"));
    }
    let folder = folder.to_str().ok_or_else(|| Failure::bad(format!("{}: not UTF-8", folder.display())))?;
    options.push_str(&format!("mode=record:program={program}:log={}", quoted(folder)?));
    Ok(options.into())
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
        for_recording(OsStr::new(user), Path::new("/dev/shm/it's"), ProgramId(0x12), delay)
            .map(|options| options.into_string().unwrap())
            .map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_users_options_are_kept_where_they_do_not_matter_to_the_recording() {
        let ours = "mode=record:program=0000000000000012:log=\"/dev/shm/it's\"";
        assert_eq!(options("", None).unwrap(), ours);
        assert_eq!(options("mode=off:delay=3:log=x", None).unwrap(), format!("delay='3':{ours}"));
        assert_eq!(options("delay=3", Some(4)).unwrap(), format!("delay=4:{ours}"));
    }

    #[test]
    fn wrong_options_are_named() {
        assert!(options("dealy=3", None).unwrap_err().contains("unknown key `dealy`"));
        assert!(options("help", None).unwrap_err().contains("found `help`"));
    }
}
