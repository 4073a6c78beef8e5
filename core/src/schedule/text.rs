//! The `.sched` text format, versions 1 and 2, and its writer. [`super::parse`] is the reader.
//!
//! ```text
//! covsched-schedule 1
//! program "./app" 0123456789abcdef
//! command "./app" "4"
//! complete
//! thread t0 main entry=51f0c1de00000001
//! thread t1 t0/0 entry=51f0c1de00000002
//! object m0 symbol="lock" recursive
//! site 51f0c1de00000003 true "partition.c":21:3 "worker" "pthread_mutex_lock"
//! events 3
//! t0 entry                        @51f0c1de00000001  # partition.c:30 main
//! t0 pthread_create t1 =0         @51f0c1de00000004  # partition.c:33 main
//! t1 pthread_mutex_lock m0 =0     @51f0c1de00000003  # partition.c:21 worker
//! end
//! ```
//! Version 2 has epochs and depths as well; a schedule that needs neither is written as version 1, as it always was:
//! ```text
//! covsched-schedule 2
//! ...
//! t1 pthread_mutex_unlock m0 =0           @51f0c1de00000005  # partition.c:23 worker
//! epoch t1 stack=00c0ffee00000001 short=3 @51f0c1de00000006  # partition.c:20 worker
//! epoch all 1 id=00c0ffee00000002
//! ```
//!
//! # Grammar
//! A line is words with blanks between; `#` where a word could start begins a comment; empty lines and
//! comments may stand anywhere after the first line. Strings stand in double quotes with the escapes
//! `\\ \" \n \t \r \xNN` (NN below 80). `{}` repeats, `[]` is optional.
//! ```text
//! file      = "covsched-schedule" VERSION  {header}  "events" COUNT  {event | epoch}  "end"
//! VERSION   = "1" | "2"                                  1: no epoch lines, no sites of kind epoch, no depths
//! header    = "program" STRING ID16                      the executable and its identity; once
//!           | "command" STRING {STRING}                  the command line; once
//!           | "complete" | "incomplete" STRING           whether the run is whole, else why not; once
//!           | "forked"                                   the process began as a fork; at most once
//!           | "thread" THREAD ("main" | "foreign" | THREAD "/" NTH) ["entry=" ID16]    in order, from t0
//!           | "object" OBJECT ["symbol=" STRING] ["recursive" | "error-checking"] ["shared"]
//!           | "site" ID16 KIND STRING ":" LINE ":" COLUMN STRING STRING   file, function, callee
//! event     = THREAD OP {attribute}                      one a line; COUNT is how many there are
//! epoch     = "epoch" THREAD {stop}                      the thread stopped at a marker, here in the order
//!           | "epoch" "all" NUMBER "id=" ID16            all threads begin the epoch with this number and id
//! stop      = "stack=" ID16                              the hash of its call stack; always there
//!           | "short=" NUMBER                            markers passed by since its last stop, for length
//!           | "balance=" NUMBER                          likewise, for balance
//!           | "instructions=" NUMBER                     since its last stop, if the program counts them
//!           | "@" ID16                                   the marker; missing if no table knows it
//! attribute = "begin" | "end"                            one of two moments; neither: the only one
//!           | OBJECT                                     what it works on; for waits a second one, the mutex
//!           | THREAD                                     the thread made, joined, detached or notified
//!           | "waker=" THREAD "/" NTH                    what ended a wait: that thread's NTH (from 0) signal or
//!                                                        broadcast of the same condition variable
//!           | "count=" NUMBER                            of a barrier's or semaphore's init
//!           | "=" NUMBER                                 the result; missing if the call has none
//!           | "depth=" NUMBER                            how many open calls it is inside of; missing if that can
//!                                                        be inferred (see `stack`); version 2
//!           | "unwound"                                  cancelled, or left by an exception
//!           | "@" ID16                                   the site; missing in code without hooks
//! THREAD    = "t" NUMBER         OBJECT = PREFIX NUMBER, numbered by class in order of their lines
//! KIND      = "true" | "derived" | "entry" | "exit" | "epoch"
//! ```
//! A place in the order is a line's place among the event lines and is not written, and a waker is named by
//! its thread, so that one more event changes one line of a diff. The last line makes a file that was cut
//! off recognizable. The words of [`RESERVED`] belong to later versions.

use super::fault::seq_of;
use super::lex::quote;
use super::stack::Inference;
use super::{
    Boundary, Completeness, Event, Marker, MutexKind, ObjectId, Phase, Schedule, Seq, SiteId, ThreadId,
};
use crate::hooks::Effect;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

/// First word of a file.
pub const MAGIC: &str = "covsched-schedule";
/// Newest version of the format.
pub const VERSION: u32 = 2;
/// The version of a schedule without epochs, all of whose depths can be inferred.
pub const OLDEST: u32 = 1;
/// Words that begin lines of later versions: conditions on inputs, race order constraints.
pub const RESERVED: &[&str] = &["precondition", "race", "branches"];

/// Where the site column begins.
const SITE_COLUMN: usize = 40;
/// How much text is gathered before it is written.
const CHUNK: usize = 1 << 16;

/// Writes a schedule. One that breaks the rules of [`super::verify`] may have no text (a wait whose waker is
/// no signal of its condition variable); that is an error of kind `InvalidInput`.
pub fn write(schedule: &Schedule, out: &mut dyn io::Write) -> io::Result<()> {
    let mut text = String::with_capacity(2 * CHUNK);
    write_header(schedule, &mut text);
    let names = Names::new(schedule);
    let mut inference = Inference::new(&schedule.threads, &schedule.sites);
    let mut signals = SignalCounts::default();
    let mut epochs = schedule.epochs.iter().peekable();
    let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidInput, what);
    for (index, event) in schedule.events.iter().enumerate() {
        while let Some(reached) = epochs.next_if(|each| each.place <= index) {
            write_boundary(&reached.boundary, &names, &mut text).map_err(invalid)?;
        }
        signals.note(index, event);
        let depth = Some(event.depth).filter(|&depth| depth != inference.depth(event));
        inference.advance(event);
        write_event(event, depth, &names, &signals, &mut text)
            .map_err(|what| invalid(format!("event {}: {what}", index + 1)))?;
        if text.len() >= CHUNK {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    for rest in epochs {
        write_boundary(&rest.boundary, &names, &mut text).map_err(invalid)?;
    }
    text.push_str("end\n");
    out.write_all(text.as_bytes())
}

/// The text of a schedule; see [`write`].
pub fn to_text(schedule: &Schedule) -> io::Result<String> {
    let mut bytes = Vec::new();
    write(schedule, &mut bytes)?;
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

fn write_header(schedule: &Schedule, text: &mut String) {
    let line = |text: &mut String, arguments: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = text.write_fmt(arguments);
    };
    let version = if schedule.epochs.is_empty() && depths_are_inferred(schedule) { OLDEST } else { VERSION };
    line(text, format_args!("{MAGIC} {version}\nprogram "));
    quote(&schedule.program, text);
    line(text, format_args!(" {}\ncommand", schedule.program_id));
    for argument in &schedule.command {
        text.push(' ');
        quote(argument, text);
    }
    text.push('\n');
    match &schedule.completeness {
        Completeness::Complete => text.push_str("complete\n"),
        Completeness::Incomplete(reason) => {
            text.push_str("incomplete ");
            quote(reason, text);
            text.push('\n');
        }
    }
    if schedule.forked {
        text.push_str("forked\n");
    }
    for (number, thread) in schedule.threads.iter().enumerate() {
        match thread.parent {
            Some(parent) => line(text, format_args!("thread t{number} {parent}/{}", thread.nth)),
            None if number == 0 => text.push_str("thread t0 main"),
            None => line(text, format_args!("thread t{number} foreign")),
        }
        if let Some(entry) = thread.entry {
            line(text, format_args!(" entry={entry}"));
        }
        text.push('\n');
    }
    for object in &schedule.objects {
        line(text, format_args!("object {object}"));
        if let Some(symbol) = &object.symbol {
            text.push_str(" symbol=");
            quote(symbol, text);
        }
        text.push_str(match object.mutex_kind {
            MutexKind::Normal => "",
            MutexKind::Recursive => " recursive",
            MutexKind::ErrorChecking => " error-checking",
        });
        text.push_str(if object.shared { " shared\n" } else { "\n" });
    }
    for site in schedule.sites.values() {
        line(text, format_args!("site {} {} ", site.id, site.kind.name()));
        quote(&site.file, text);
        line(text, format_args!(":{}:{} ", site.line, site.column));
        quote(&site.function, text);
        text.push(' ');
        quote(&site.callee, text);
        text.push('\n');
    }
    line(text, format_args!("events {}\n", schedule.events.len()));
}

fn depths_are_inferred(schedule: &Schedule) -> bool {
    let mut inference = Inference::new(&schedule.threads, &schedule.sites);
    schedule.events.iter().all(|event| {
        let depth = inference.depth(event);
        inference.advance(event);
        depth == event.depth
    })
}

/// The words that many events share, made once.
struct Names {
    threads: Vec<String>,
    objects: Vec<String>,
    sites: HashMap<SiteId, String>,
}

impl Names {
    fn new(schedule: &Schedule) -> Names {
        let site_words = |(&id, site): (&SiteId, &crate::site::Site)| {
            let mut words = format!("@{id}");
            let file = site.file.rsplit('/').next().unwrap_or_default();
            if site.line != 0 {
                let _ = write!(words, "  # {file}:{} {}", site.line, site.function);
            } else if !site.function.is_empty() {
                let _ = write!(words, "  # {}", site.function);
            }
            // A comment must stay on its line, whatever a file is called.
            (id, words.replace(|c: char| c.is_control(), " "))
        };
        Names {
            threads: (0..schedule.threads.len()).map(|number| format!("t{number}")).collect(),
            objects: schedule.objects.iter().map(ToString::to_string).collect(),
            sites: schedule.sites.iter().map(site_words).collect(),
        }
    }

    fn thread(&self, thread: ThreadId) -> Result<&str, String> {
        self.threads.get(thread.0 as usize).map(String::as_str).ok_or_else(|| format!("no thread {thread}"))
    }

    fn object(&self, object: ObjectId) -> Result<&str, String> {
        self.objects
            .get(object.0 as usize)
            .map(String::as_str)
            .ok_or_else(|| format!("no object {}", object.0))
    }
}

/// Which signal of its thread and condition variable each signal is.
#[derive(Default)]
struct SignalCounts {
    counts: HashMap<(ThreadId, ObjectId), u64>,
    nth: HashMap<Seq, (ThreadId, ObjectId, u64)>,
}

impl SignalCounts {
    fn note(&mut self, index: usize, event: &Event) {
        let Some(object) = event.object else { return };
        if matches!(event.op.effect(), Effect::Signal | Effect::Broadcast) {
            let count = self.counts.entry((event.thread, object)).or_default();
            self.nth.insert(seq_of(index), (event.thread, object, *count));
            *count += 1;
        }
    }
}

fn write_event(
    event: &Event,
    depth: Option<u32>,
    names: &Names,
    signals: &SignalCounts,
    text: &mut String,
) -> Result<(), String> {
    let start = text.len();
    text.push_str(names.thread(event.thread)?);
    text.push(' ');
    text.push_str(event.op.name());
    match event.phase {
        Phase::Both => {}
        Phase::Begin => text.push_str(" begin"),
        Phase::End => text.push_str(" end"),
    }
    if event.mutex.is_some() && event.object.is_none() {
        return Err("a mutex without a condition variable".to_owned());
    }
    for object in [event.object, event.mutex].into_iter().flatten() {
        text.push(' ');
        text.push_str(names.object(object)?);
    }
    if let Some(child) = event.child {
        text.push(' ');
        text.push_str(names.thread(child)?);
    }
    if let Some(waker) = event.waker {
        match signals.nth.get(&waker) {
            Some(&(thread, object, nth)) if Some(object) == event.object => {
                let _ = write!(text, " waker={thread}/{nth}");
            }
            _ => return Err(format!("its waker, event {waker}, is no earlier signal of the same object")),
        }
    }
    if let Some(count) = event.count {
        let _ = write!(text, " count={count}");
    }
    match event.result {
        None => {}
        Some(0) => text.push_str(" =0"),
        Some(result) => {
            let _ = write!(text, " ={result}");
        }
    }
    if event.unwound {
        text.push_str(" unwound");
    }
    if let Some(depth) = depth {
        let _ = write!(text, " depth={depth}");
    }
    write_site(event.site, start, names, text);
    text.push('\n');
    Ok(())
}

/// The site's words, in their column of the line that begins at `start`.
fn write_site(site: SiteId, start: usize, names: &Names, text: &mut String) {
    if site.is_none() {
        return;
    }
    text.push(' ');
    const BLANKS: &str = "                                        ";
    text.push_str(&BLANKS[..SITE_COLUMN.saturating_sub(text.len() - start)]);
    match names.sites.get(&site) {
        Some(words) => text.push_str(words),
        None => {
            let _ = write!(text, "@{site}");
        }
    }
}

fn write_boundary(boundary: &Boundary, names: &Names, text: &mut String) -> Result<(), String> {
    let start = text.len();
    match boundary {
        Boundary::Start { number, id } => {
            let _ = write!(text, "epoch all {number} id={id}");
        }
        Boundary::Marker(marker) => {
            let Marker { thread, site, stack, passed_short, passed_balance, instructions } = marker;
            let thread = names.thread(*thread).map_err(|what| format!("an epoch marker: {what}"))?;
            let _ = write!(text, "epoch {thread} stack={stack}");
            let counts = [
                ("short", Some(*passed_short).filter(|&count| count > 0)),
                ("balance", Some(*passed_balance).filter(|&count| count > 0)),
                ("instructions", *instructions),
            ];
            for (key, count) in counts {
                if let Some(count) = count {
                    let _ = write!(text, " {key}={count}");
                }
            }
            write_site(*site, start, names, text);
        }
    }
    text.push('\n');
    Ok(())
}
