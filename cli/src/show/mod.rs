//! `covsched show`: a schedule for people (text), for programs (JSON) or for a browser (HTML).

mod epochs;
mod html;
mod json;
mod text;

use crate::failure::Failure;
use crate::names::demangle;
use crate::schedule_file::ScheduleFile;
use covsched_core::hooks::Op;
use covsched_core::schedule::stack::CallStacks;
use covsched_core::schedule::{Event, Schedule};
use covsched_core::site::Site;
use covsched_core::{SiteId, ThreadId};
use std::collections::{HashMap, HashSet};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `show` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// The schedule; - is standard input
    #[arg(value_name = "FILE.sched")]
    file: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Only the events of this thread
    #[arg(long, value_name = "tN", value_parser = thread_name)]
    thread: Option<ThreadId>,
    /// Leave out calls that only contain synchronizations
    #[arg(long)]
    no_derived: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Html,
}

fn thread_name(text: &str) -> Result<ThreadId, String> {
    let number = text.strip_prefix('t').and_then(|number| number.parse().ok());
    number.map(ThreadId).ok_or_else(|| "expected a thread such as t1".to_owned())
}

/// Prints the schedule.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let file = ScheduleFile::read_verified(&arguments.file)?;
    let schedule = &file.schedule;
    if let Some(thread) = arguments.thread.filter(|thread| thread.0 as usize >= schedule.threads.len()) {
        let last = schedule.threads.len() - 1;
        return Err(Failure::bad(format!("{}: there is no thread {thread}; the last is t{last}", file.name)));
    }
    let shown = |event: &Event| {
        arguments.thread.is_none_or(|thread| event.thread == thread)
            && !(arguments.no_derived && event.op == Op::derived)
    };
    let view = View::new(schedule, &shown, arguments.thread);
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let written = match arguments.format {
        Format::Text => text::write(&view, &mut out),
        Format::Json => json::write(&view, &mut out),
        Format::Html => html::write(&view, &mut out),
    };
    written.and_then(|()| out.flush()).map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

/// What the formats share: which events are shown, and names made once.
struct View<'a> {
    schedule: &'a Schedule,
    shown: &'a dyn Fn(&Event) -> bool,
    /// The only thread that is shown.
    thread: Option<ThreadId>,
    /// Each event's epoch.
    epochs: Option<Vec<u64>>,
    /// `m0`, ...
    objects: Vec<String>,
    places: HashMap<SiteId, Place<'a>>,
}

/// A site for people.
struct Place<'a> {
    site: &'a Site,
    /// Demangled.
    function: String,
    /// Demangled.
    callee: String,
    /// `file:line`, the file without its folders where that is enough; empty if unknown.
    short: String,
}

impl<'a> View<'a> {
    fn new(schedule: &'a Schedule, shown: &'a dyn Fn(&Event) -> bool, thread: Option<ThreadId>) -> View<'a> {
        let base = |file: &'a str| file.rsplit('/').next().unwrap_or(file);
        let files: HashSet<&str> = schedule.sites.values().map(|site| site.file.as_str()).collect();
        let mut bases: HashMap<&str, usize> = HashMap::new();
        files.iter().for_each(|file| *bases.entry(base(file)).or_default() += 1);
        let place = |(&id, site): (&SiteId, &'a Site)| {
            let file = if bases.get(base(&site.file)) == Some(&1) { base(&site.file) } else { &site.file };
            let short = match (file, site.line) {
                ("", _) => String::new(),
                (file, 0) => file.to_owned(),
                (file, line) => format!("{file}:{line}"),
            };
            let (function, callee) = (demangle(&site.function), demangle(&site.callee));
            (id, Place { site, function, callee, short })
        };
        View {
            schedule,
            shown,
            thread,
            epochs: schedule.event_epochs(),
            objects: schedule.objects.iter().map(ToString::to_string).collect(),
            places: schedule.sites.iter().map(place).collect(),
        }
    }

    /// The shown events with their places in the order.
    fn events(&self) -> impl Iterator<Item = (usize, &'a Event)> + '_ {
        let numbered = self.schedule.events.iter().enumerate().map(|(index, event)| (index + 1, event));
        numbered.filter(|(_, event)| (self.shown)(event))
    }

    /// The shown events with their places in the order, and the site in the user's own code that they come
    /// from: a lock that `std::mutex` took belongs where the user asked for it, not in a system header.
    fn events_in_user_code(&self) -> impl Iterator<Item = (usize, &'a Event, SiteId)> + '_ {
        let mut stacks = CallStacks::new(self.schedule);
        let numbered = self.schedule.events.iter().enumerate().map(move |(index, event)| {
            let site = stacks.advance(event).in_user_code().map_or(SiteId::NONE, |site| site.id);
            (index + 1, event, site)
        });
        numbered.filter(|(_, event, _)| (self.shown)(event))
    }

    fn shows_thread(&self, thread: ThreadId) -> bool {
        self.thread.is_none_or(|only| only == thread)
    }

    fn place(&self, site: SiteId) -> Option<&Place<'a>> {
        self.places.get(&site)
    }
}

#[cfg(test)]
mod tests;
