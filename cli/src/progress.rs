//! Signs of life on a terminal, nothing in a pipe. They vanish when dropped.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use std::time::Duration;

/// For work of unknown length: `writing app.sched`.
pub fn spinner(message: String) -> ProgressBar {
    let progress = ProgressBar::new_spinner().with_message(message).with_finish(ProgressFinish::AndClear);
    progress.enable_steady_tick(Duration::from_millis(150));
    progress
}

/// For so many runs.
pub fn runs(count: u32) -> ProgressBar {
    let progress = ProgressBar::new(u64::from(count)).with_finish(ProgressFinish::AndClear);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {eta} left") {
        progress.set_style(style);
    }
    progress.enable_steady_tick(Duration::from_millis(150));
    progress
}
