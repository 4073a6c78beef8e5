//! What covsched tells the user, on standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes a line, in one piece: the program may be writing too. That nobody can read it (a full disk, a closed pipe)
/// must cost neither the schedule nor the exit code, so errors are ignored; `eprintln!` would panic.
pub fn say(line: impl Display) {
    let _ = io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}
