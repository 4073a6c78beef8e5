//! The reader of `.sched` files; the grammar stands in [`super::text`].
//!
//! Errors name the line, what was found and what was expected. The reader checks what it needs to make a
//! [`Schedule`] whose ids all point at something; [`super::verify`] checks the rest.

use super::lex::Words;
use super::stack::Inference;
use super::text::{MAGIC, OLDEST, RESERVED, VERSION};
use super::{
    Boundary, Completeness, EpochBoundary, EpochId, Event, Marker, MutexKind, Object, ObjectId, Phase,
    Schedule, Seq, StackHash, Thread,
};
use crate::hooks::{Effect, ObjectClass, Op};
use crate::ids::{ProgramId, SiteId, ThreadId};
use crate::site::{Site, SiteKind};
use std::collections::{BTreeMap, HashMap};

/// What is wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct SchedError {
    /// The line, from 1.
    pub line: usize,
    /// What was found, and what was expected.
    pub what: String,
}

/// The line of each event, for messages about them.
#[derive(Clone, Debug, Default)]
pub struct EventLines(Vec<u32>);

impl EventLines {
    /// The line of the event at this place.
    pub fn line(&self, seq: Seq) -> Option<usize> {
        let index = usize::try_from(seq.0.checked_sub(1)?).ok()?;
        self.0.get(index).map(|&line| line as usize)
    }
}

/// Reads a file's text.
pub fn parse(text: &str) -> Result<Schedule, SchedError> {
    parse_with_lines(text).map(|(schedule, _)| schedule)
}

/// Reads a file's bytes, which may be anything.
pub fn parse_bytes(bytes: &[u8]) -> Result<(Schedule, EventLines), SchedError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = 1 + good.iter().filter(|&&b| b == b'\n').count();
        let what = if good.starts_with(MAGIC.as_bytes()) {
            "bytes that are not UTF-8".to_owned()
        } else {
            format!("not a schedule: expected `{MAGIC} {OLDEST}`, found binary data")
        };
        SchedError { line, what }
    })?;
    parse_with_lines(text)
}

/// Reads a file's text, and says where each event stands.
pub fn parse_with_lines(text: &str) -> Result<(Schedule, EventLines), SchedError> {
    let mut reader = Reader::default();
    let mut number = 0;
    for line in text.lines() {
        number += 1;
        reader.line(number, line).map_err(|what| SchedError { line: number, what })?;
    }
    reader.finish().map_err(|what| SchedError { line: number + 1, what })
}

/// Which lines may come next.
#[derive(Default, PartialEq, Eq)]
enum Stage {
    /// The first line.
    #[default]
    Magic,
    /// Header lines, then `events`.
    Header,
    /// Events, then `end`.
    Events,
    /// Nothing.
    Done,
}

#[derive(Default)]
struct Reader {
    stage: Stage,
    version: u32,
    program: Option<(String, ProgramId)>,
    command: Option<Vec<String>>,
    completeness: Option<Completeness>,
    forked: bool,
    threads: Vec<Thread>,
    objects: Vec<Object>,
    by_class: HashMap<ObjectClass, Vec<ObjectId>>,
    sites: BTreeMap<SiteId, Site>,
    expected_events: usize,
    events: Vec<Event>,
    epochs: Vec<EpochBoundary>,
    lines: Vec<u32>,
    ops: HashMap<&'static str, Op>,
    signals: HashMap<(ThreadId, ObjectId), Vec<Seq>>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        let mut words = Words::new(line);
        if self.stage == Stage::Magic {
            return self.magic(&mut words, line);
        }
        let Some(word) = words.word() else { return Ok(()) };
        match self.stage {
            Stage::Header => self.header(word, &mut words)?,
            Stage::Events if word == "end" => {
                let (found, expected) = (self.events.len(), self.expected_events);
                if found != expected {
                    return Err(format!(
                        "`end` after {found} events, but the header says `events {expected}`"
                    ));
                }
                self.stage = Stage::Done;
            }
            Stage::Events if word == "epoch" => self.epoch_line(&mut words)?,
            Stage::Events => {
                let event = self.event(word, &mut words)?;
                if self.events.len() == self.expected_events {
                    let expected = self.expected_events;
                    return Err(format!(
                        "expected `end`, for the header says `events {expected}`; found `{word}`"
                    ));
                }
                self.lines.push(u32::try_from(number).map_err(|_| "too many lines".to_owned())?);
                self.events.push(event);
            }
            Stage::Magic | Stage::Done => {
                return Err(format!("expected nothing after `end`, found `{word}`"))
            }
        }
        words.finish()
    }

    fn magic(&mut self, words: &mut Words<'_>, line: &str) -> Result<(), String> {
        if words.word() != Some(MAGIC) {
            let found: String = line.chars().take(40).collect();
            return Err(format!("not a schedule: expected `{MAGIC} {OLDEST}`, found `{found}`"));
        }
        let version = words.need("the format's version")?;
        match version.parse::<u32>() {
            Ok(known @ OLDEST..=VERSION) => self.version = known,
            Ok(newer) if newer > VERSION => {
                return Err(format!(
                "format version {newer}; this covsched reads up to version {VERSION}: needs a newer covsched"
            ))
            }
            _ => return Err(format!("expected format version {OLDEST} to {VERSION}, found `{version}`")),
        }
        let events = Op::ALL.iter().filter(|op| op.effect() != Effect::Mark);
        self.ops = events.map(|&op| (op.name(), op)).collect();
        self.stage = Stage::Header;
        words.finish()
    }

    fn header(&mut self, word: &str, words: &mut Words<'_>) -> Result<(), String> {
        match word {
            "program" => {
                let name = words.string("the program's name")?;
                let id = ProgramId(hex(words.need("the program's identity")?)?);
                once(&mut self.program, (name, id), word)
            }
            "command" => {
                let mut command = Vec::new();
                while !words.at_end() {
                    command.push(words.string("an argument")?);
                }
                once(&mut self.command, command, word)
            }
            "complete" => once(&mut self.completeness, Completeness::Complete, word),
            "incomplete" => {
                let reason = words.string("the reason")?;
                once(&mut self.completeness, Completeness::Incomplete(reason), word)
            }
            "forked" if self.forked => Err("a second `forked` line".to_owned()),
            "forked" => {
                self.forked = true;
                Ok(())
            }
            "thread" => self.thread_line(words),
            "object" => self.object_line(words),
            "site" => self.site_line(words),
            "events" => {
                let count = words.need("the number of events")?;
                self.expected_events = number(count)?;
                for (missing, line) in [
                    (self.program.is_none(), "program"),
                    (self.command.is_none(), "command"),
                    (self.completeness.is_none(), "complete` or `incomplete"),
                    (self.threads.is_empty(), "thread"),
                ] {
                    if missing {
                        return Err(format!("expected a `{line}` line before `events`"));
                    }
                }
                self.stage = Stage::Events;
                Ok(())
            }
            word if RESERVED.contains(&word) => Err(format!("`{word}` lines need a newer covsched")),
            word => Err(format!("unknown line `{word}`; expected program, command, complete, incomplete, forked, thread, object, site or events")),
        }
    }

    fn thread_line(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let name = words.need("a thread")?;
        let next = ThreadId(u32::try_from(self.threads.len()).map_err(|_| "too many threads".to_owned())?);
        if thread_number(name) != Some(next) {
            return Err(format!("threads are numbered in order: expected {next}, found `{name}`"));
        }
        let origin = words.need("`main`, `foreign` or the creation (t0/0)")?;
        let (parent, nth) = match (origin, next) {
            ("main", ThreadId::MAIN) => (None, 0),
            (_, ThreadId::MAIN) => return Err(format!("t0 is main: expected `main`, found `{origin}`")),
            ("foreign", _) => (None, 0),
            _ => {
                let (parent, nth) = nth_of_thread(origin)
                    .ok_or_else(|| format!("expected `foreign` or the creation (t0/0), found `{origin}`"))?;
                if parent >= next {
                    return Err(format!("{next} cannot be made by {parent}, which comes after it"));
                }
                (Some(parent), u32::try_from(nth).map_err(|_| format!("`{origin}` is too large"))?)
            }
        };
        let entry = match words.word() {
            None => None,
            Some(word) => match word.strip_prefix("entry=") {
                Some(id) => Some(SiteId(hex(id)?)),
                None => return Err(format!("expected `entry=` and a site, found `{word}`")),
            },
        };
        self.threads.push(Thread { parent, nth, entry });
        Ok(())
    }

    fn object_line(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let name = words.need("an object")?;
        let (class, number) =
            object_name(name).ok_or_else(|| format!("expected an object (m0, c0, ...), found `{name}`"))?;
        let of_class = self.by_class.entry(class).or_default();
        if number as usize != of_class.len() {
            let prefix = class.prefix().unwrap_or_default();
            return Err(format!(
                "objects are numbered in order: expected {prefix}{}, found `{name}`",
                of_class.len()
            ));
        }
        of_class
            .push(ObjectId(u32::try_from(self.objects.len()).map_err(|_| "too many objects".to_owned())?));
        let mut object = Object { class, number, symbol: None, shared: false, mutex_kind: MutexKind::Normal };
        if words.skip_prefix("symbol=") {
            object.symbol = Some(words.string("the variable's name")?);
        }
        while let Some(word) = words.word() {
            match word {
                "recursive" | "error-checking"
                    if class != ObjectClass::Mutex || object.mutex_kind != MutexKind::Normal =>
                {
                    return Err(format!("`{word}` does not fit here"));
                }
                "recursive" => object.mutex_kind = MutexKind::Recursive,
                "error-checking" => object.mutex_kind = MutexKind::ErrorChecking,
                "shared" => object.shared = true,
                _ => {
                    return Err(format!(
                        "expected symbol=, recursive, error-checking or shared, found `{word}`"
                    ))
                }
            }
        }
        self.objects.push(object);
        Ok(())
    }

    fn site_line(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        let id = SiteId(hex(words.need("a site id")?)?);
        let kind = words.need("the site's kind")?;
        let kind = (0..=u8::MAX)
            .map_while(SiteKind::from_index)
            .find(|known| known.name() == kind)
            .ok_or_else(|| format!("expected true, derived, entry, exit or epoch, found `{kind}`"))?;
        if kind == SiteKind::Epoch {
            self.need_version_2("sites of kind epoch")?;
        }
        let file = words.string("the source file")?;
        let place = words.need("line and column (:21:3)")?;
        let (line, column) = place
            .strip_prefix(':')
            .and_then(|rest| rest.split_once(':'))
            .and_then(|(line, column)| Some((number(line).ok()?, number(column).ok()?)))
            .ok_or_else(|| format!("expected line and column (:21:3), found `{place}`"))?;
        let function = words.string("the function's name")?;
        let callee = words.string("the callee's name")?;
        if id.is_none() {
            return Err("0 is not a site id: it means no site".to_owned());
        }
        if self.sites.insert(id, Site { id, kind, file, line, column, function, callee }).is_some() {
            return Err(format!("a second line for site {id}"));
        }
        Ok(())
    }

    /// Refuses what only files of version 2 have.
    fn need_version_2(&self, what: &str) -> Result<(), String> {
        if self.version > OLDEST {
            return Ok(());
        }
        Err(format!(
            "{what} need `{MAGIC} {VERSION}` as the first line; this file has version {}",
            self.version
        ))
    }

    fn epoch_line(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        self.need_version_2("`epoch` lines")?;
        let who = words.need("a thread or `all`")?;
        let boundary = if who == "all" {
            let epoch = number(words.need("the epoch's number")?)?;
            let id = words.need("the epoch's id (id=)")?;
            let id = id.strip_prefix("id=").ok_or_else(|| format!("expected id=, found `{id}`"))?;
            Boundary::Start { number: epoch, id: EpochId(hex(id)?) }
        } else {
            let thread = thread_number(who)
                .ok_or_else(|| format!("expected a thread (t0) or `all`, found `{who}`"))?;
            self.check_thread(thread)?;
            Boundary::Marker(marker(thread, words)?)
        };
        self.epochs.push(EpochBoundary { place: self.events.len(), boundary });
        Ok(())
    }

    fn event(&mut self, word: &str, words: &mut Words<'_>) -> Result<Event, String> {
        let Some(thread) = thread_number(word) else {
            return Err(if RESERVED.contains(&word) {
                format!("`{word}` lines need a newer covsched")
            } else {
                format!("expected an event (a thread, t0, and an operation) or `end`, found `{word}`")
            });
        };
        self.check_thread(thread)?;
        let op = words.need("an operation")?;
        let op = *self.ops.get(op).ok_or_else(|| format!("unknown operation `{op}`"))?;
        let mut event = Event::new(thread, op);
        event.depth = TO_INFER;
        while let Some(word) = words.word() {
            self.attribute(&mut event, word)?;
        }
        if let (Effect::Signal | Effect::Broadcast, Some(object)) = (op.effect(), event.object) {
            self.signals.entry((thread, object)).or_default().push(Seq(self.events.len() as u64 + 1));
        }
        Ok(event)
    }

    fn attribute(&self, event: &mut Event, word: &str) -> Result<(), String> {
        let twice = || Err(format!("`{word}`: given twice"));
        if let Some(id) = word.strip_prefix('@') {
            let site = SiteId(hex(id)?);
            if !std::mem::replace(&mut event.site, site).is_none() {
                return twice();
            }
        } else if let Some(result) = word.strip_prefix('=') {
            if event.result.replace(number(result)?).is_some() {
                return twice();
            }
        } else if let Some(thread) = thread_number(word) {
            self.check_thread(thread)?;
            if event.child.replace(thread).is_some() {
                return twice();
            }
        } else if let Some((class, number)) = object_name(word) {
            let id = self.by_class.get(&class).and_then(|of_class| of_class.get(number as usize));
            let id = *id.ok_or_else(|| format!("no `object {word}` line"))?;
            if event.object.is_none() {
                event.object = Some(id);
            } else if event.mutex.replace(id).is_some() {
                return Err(format!("`{word}`: a third object"));
            }
        } else if word == "begin" || word == "end" {
            if event.phase != Phase::Both {
                return twice();
            }
            event.phase = if word == "begin" { Phase::Begin } else { Phase::End };
        } else if word == "unwound" {
            event.unwound = true;
        } else if let Some(count) = word.strip_prefix("count=") {
            if event.count.replace(number(count)?).is_some() {
                return twice();
            }
        } else if let Some(depth) = word.strip_prefix("depth=") {
            self.need_version_2("`depth=`")?;
            if std::mem::replace(&mut event.depth, number(depth)?) != TO_INFER {
                return twice();
            }
        } else if let Some(waker) = word.strip_prefix("waker=") {
            if event.waker.replace(self.waker(event, waker)?).is_some() {
                return twice();
            }
        } else if let Some(key) = word.split('=').next().filter(|key| RESERVED.contains(key)) {
            return Err(format!("`{key}=` needs a newer covsched"));
        } else {
            return Err(format!("unknown word `{word}` in an event"));
        }
        Ok(())
    }

    fn waker(&self, event: &Event, text: &str) -> Result<Seq, String> {
        let (thread, nth) =
            nth_of_thread(text).ok_or_else(|| format!("expected waker=THREAD/NTH, found `waker={text}`"))?;
        let object =
            event.object.ok_or_else(|| "waker= must come after the condition variable".to_owned())?;
        let known = self.signals.get(&(thread, object)).map_or(&[][..], Vec::as_slice);
        let found = usize::try_from(nth).ok().and_then(|nth| known.get(nth));
        found.copied().ok_or_else(|| {
            let count = known.len();
            let name = &self.objects[object.0 as usize];
            format!("waker={text}: until here {thread} has signalled {name} {count} times")
        })
    }

    fn check_thread(&self, thread: ThreadId) -> Result<(), String> {
        if (thread.0 as usize) < self.threads.len() {
            return Ok(());
        }
        Err(format!("no `thread {thread}` line"))
    }

    fn finish(self) -> Result<(Schedule, EventLines), String> {
        match self.stage {
            Stage::Done => {}
            Stage::Magic => {
                return Err(format!("not a schedule: expected `{MAGIC} {OLDEST}`, found an empty file"))
            }
            Stage::Header => {
                return Err("the file is cut off: expected more header lines, then `events`".to_owned())
            }
            Stage::Events => {
                let (found, expected) = (self.events.len(), self.expected_events);
                return Err(format!(
                    "the file is cut off after {found} of {expected} events: expected `end`"
                ));
            }
        }
        let (Some((program, program_id)), Some(command), Some(completeness)) =
            (self.program, self.command, self.completeness)
        else {
            return Err("the header is not complete".to_owned());
        };
        let mut events = self.events;
        let mut inference = Inference::new(&self.threads, &self.sites);
        for event in &mut events {
            if event.depth == TO_INFER {
                event.depth = inference.depth(event);
            }
            inference.advance(event);
        }
        let schedule = Schedule {
            program,
            program_id,
            command,
            completeness,
            forked: self.forked,
            threads: self.threads,
            objects: self.objects,
            sites: self.sites,
            events,
            epochs: self.epochs,
        };
        Ok((schedule, EventLines(self.lines)))
    }
}

/// An event whose depth the file does not say.
const TO_INFER: u32 = u32::MAX;

/// A stop at a marker, after the thread's name.
fn marker(thread: ThreadId, words: &mut Words<'_>) -> Result<Marker, String> {
    let (mut stack, mut short, mut balance, mut instructions) = (None, None, None, None);
    let mut site = None;
    while let Some(word) = words.word() {
        let given_before = if let Some(id) = word.strip_prefix('@') {
            site.replace(SiteId(hex(id)?)).is_some()
        } else if let Some(hash) = word.strip_prefix("stack=") {
            stack.replace(StackHash(hex(hash)?)).is_some()
        } else if let Some(count) = word.strip_prefix("short=") {
            short.replace(number(count)?).is_some()
        } else if let Some(count) = word.strip_prefix("balance=") {
            balance.replace(number(count)?).is_some()
        } else if let Some(count) = word.strip_prefix("instructions=") {
            instructions.replace(number(count)?).is_some()
        } else {
            return Err(format!(
                "expected stack=, short=, balance=, instructions= or a site (@), found `{word}`"
            ));
        };
        if given_before {
            return Err(format!("`{word}`: given twice"));
        }
    }
    Ok(Marker {
        thread,
        site: site.unwrap_or(SiteId::NONE),
        stack: stack.ok_or("expected the hash of the call stack (stack=)")?,
        passed_short: short.unwrap_or_default(),
        passed_balance: balance.unwrap_or_default(),
        instructions,
    })
}

fn once<T>(slot: &mut Option<T>, value: T, word: &str) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("a second `{word}` line")),
    }
}

/// Exactly 16 hex digits.
fn hex(word: &str) -> Result<u64, String> {
    let good = word.len() == 16 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let value = good.then(|| u64::from_str_radix(word, 16).ok()).flatten();
    value.ok_or_else(|| format!("expected 16 hex digits, found `{word}`"))
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    // FromStr would also take a plus sign.
    let plain = !word.starts_with('+');
    plain
        .then(|| word.parse().ok())
        .flatten()
        .ok_or_else(|| format!("expected a number in range, found `{word}`"))
}

/// `t12`, without leading zeros, so that a thread has one name.
fn thread_number(word: &str) -> Option<ThreadId> {
    canonical_number(word.strip_prefix('t')?).map(ThreadId)
}

/// `t2/5`.
fn nth_of_thread(word: &str) -> Option<(ThreadId, u64)> {
    let (thread, nth) = word.split_once('/')?;
    Some((thread_number(thread)?, nth.bytes().all(|b| b.is_ascii_digit()).then(|| nth.parse().ok())??))
}

fn object_name(word: &str) -> Option<(ObjectClass, u32)> {
    const CLASSES: [ObjectClass; 7] = [
        ObjectClass::Mutex,
        ObjectClass::Cond,
        ObjectClass::Barrier,
        ObjectClass::Rwlock,
        ObjectClass::Spin,
        ObjectClass::Semaphore,
        ObjectClass::Once,
    ];
    let digits = word.find(|c: char| c.is_ascii_digit())?;
    let class = CLASSES.into_iter().find(|class| class.prefix() == Some(&word[..digits]))?;
    Some((class, canonical_number(&word[digits..])?))
}

fn canonical_number(digits: &str) -> Option<u32> {
    let canonical = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    canonical.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
