//! What the engine answers: core's `loom::wire`.

use super::block::{self, Block};
use super::filter::Filter;
use super::report::Line;
use super::update::{InTheWay, Installed, MOST_IN_REPORT};
use super::{members, protocol, units, update, words, SETTINGS};
use crate::{start, sys};
use core::mem::size_of;
use core::sync::atomic::Ordering;
use covsched_core::loom::wire::{
    FilterInfo, Head, Outcome, Process, ThreadAt, ADD, DONE, FILTERS, FILTER_EXPELLED, FILTER_INSTALLED,
    HELLO, LIST, MAGIC, MAX_LENGTH, NOT_DONE, PROCESS, REFUSED, REMOVE, REPLACE, THREADS, VERSION, WHERE,
};
use covsched_core::rawlog::Plain;

/// A message under construction: what does not fit is not there.
struct Message {
    block: *mut Block,
    length: usize,
    room: usize,
}

impl Message {
    fn new(room: usize) -> Option<Message> {
        let block = block::map(size_of::<Head>() + room)?;
        Some(Message { block, length: size_of::<Head>(), room: size_of::<Head>() + room })
    }

    fn push(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.room - self.length);
        // SAFETY: inside the block.
        unsafe { block::body(self.block).add(self.length).copy_from_nonoverlapping(bytes.as_ptr(), count) };
        self.length += count;
    }

    fn finish(self, kind: u16) -> (*mut Block, usize) {
        let length = (self.length - size_of::<Head>()) as u32;
        let head = Head { magic: MAGIC, version: VERSION, kind, length };
        let bytes = head.as_bytes();
        // SAFETY: room was left for it.
        unsafe { block::body(self.block).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        (self.block, self.length)
    }
}

/// The answer to a request that arrived at `arrival`; `None` ends the connection.
pub fn answer(
    installed: &mut Installed,
    kind: u16,
    body: &[u8],
    arrival: u64,
) -> Option<(*mut Block, usize)> {
    let result = match kind {
        HELLO => return hello(),
        LIST => return list(installed),
        WHERE => return threads(),
        ADD => add(installed, body, None),
        REMOVE => id_in(body).and_then(|(id, rest)| {
            if !rest.is_empty() {
                return Err("the request is too long");
            }
            remove(installed, id)
        }),
        REPLACE => id_in(body).and_then(|(id, rest)| {
            let plan = rest.get(size_of::<u32>()..).ok_or("the request is cut off")?;
            add(installed, plan, Some(id))
        }),
        _ => Err("the request is not known"),
    };
    match result {
        Ok(change) => changed(change, arrival),
        Err(text) => {
            let mut message = Message::new(text.len())?;
            message.push(text.as_bytes());
            Some(message.finish(REFUSED))
        }
    }
}

fn id_in(body: &[u8]) -> Result<(u32, &[u8]), &'static str> {
    let (id, rest) = body.split_first_chunk().ok_or("the request is cut off")?;
    Ok((u32::from_le_bytes(*id), rest))
}

/// What came of a change.
struct Change {
    filter: u32,
    tries: u32,
    is_done: bool,
    in_the_way: InTheWay,
}

const NO_SUCH: &str = "there is no filter with this id";

fn add(installed: &mut Installed, plan: &[u8], instead_of: Option<u32>) -> Result<Change, &'static str> {
    let old = match instead_of {
        Some(id) => Some(installed.find(id).ok_or(NO_SUCH)?),
        None => None,
    };
    let filter = installed.prepare(|| Filter::new(plan, SETTINGS.timeout()))?;
    // One that was expelled has nothing to evacuate: it is forgotten when its successor is there.
    let expelled = old.filter(|old| old.is_expelled.load(Ordering::Relaxed));
    let mut in_the_way = InTheWay::new();
    let changed = installed.change(Some(filter), old.filter(|_| expelled.is_none()), &mut in_the_way);
    installed.prepared();
    match changed {
        Ok(outcome) if outcome.is_done => {
            let broken = old.filter(|old| instead_of.is_some() && installed.find(old_id(old)).is_some());
            broken.into_iter().for_each(|old| installed.drop_report(old));
            let id = filter.id.load(Ordering::Relaxed);
            Ok(Change { filter: id, tries: outcome.tries, is_done: true, in_the_way })
        }
        Ok(outcome) => {
            installed.drop_refused(filter);
            Ok(Change { filter: instead_of.unwrap_or(0), tries: outcome.tries, is_done: false, in_the_way })
        }
        Err(text) => {
            installed.drop_refused(filter);
            Err(text)
        }
    }
}

fn old_id(filter: &Filter) -> u32 {
    filter.id.load(Ordering::Relaxed)
}

fn remove(installed: &mut Installed, id: u32) -> Result<Change, &'static str> {
    let filter = installed.find(id).ok_or(NO_SUCH)?;
    let mut in_the_way = InTheWay::new();
    let (mut tries, mut is_done) = (0, true);
    if !filter.is_expelled.load(Ordering::Relaxed) {
        let outcome = installed.change(None, Some(filter), &mut in_the_way)?;
        (tries, is_done) = (outcome.tries, outcome.is_done);
    }
    // Still listed if it broke, for its report.
    if is_done && installed.find(id).is_some() {
        installed.drop_report(filter);
    }
    Ok(Change { filter: id, tries, is_done, in_the_way })
}

fn changed(change: Change, arrival: u64) -> Option<(*mut Block, usize)> {
    let Change { filter, tries, is_done, in_the_way } = change;
    let nanoseconds = sys::monotonic_nanoseconds() - arrival;
    let mut message = Message::new(size_of::<Outcome>() + MOST_IN_REPORT * size_of::<ThreadAt>())?;
    message.push(Outcome { filter, tries, nanoseconds }.as_bytes());
    if !is_done {
        in_the_way.threads[..in_the_way.count].iter().for_each(|thread| message.push(thread.as_bytes()));
    }
    Some(message.finish(if is_done { DONE } else { NOT_DONE }))
}

fn hello() -> Option<(*mut Block, usize)> {
    let units = units::count();
    let mut message = Message::new(size_of::<Process>() + units as usize * size_of::<u64>())?;
    let process = Process {
        program: start::program().0,
        pid: sys::process_id(),
        threads: members::count(),
        units,
        membarrier: u32::from(words::PENDING.load(Ordering::Relaxed) & protocol::FENCES == 0),
    };
    message.push(process.as_bytes());
    units::for_each(|unit| message.push(&unit.hash.to_le_bytes()));
    Some(message.finish(PROCESS))
}

fn threads() -> Option<(*mut Block, usize)> {
    members::forget_vanished();
    // Those that begin meanwhile have no room, and are in the next answer.
    let mut message = Message::new(members::count() as usize * size_of::<ThreadAt>())?;
    update::in_round(|| members::for_each(|member| message.push(members::describe(member).as_bytes())));
    Some(message.finish(THREADS))
}

fn list(installed: &Installed) -> Option<(*mut Block, usize)> {
    let mut message = Message::new(MAX_LENGTH)?;
    let now = sys::monotonic_nanoseconds();
    for filter in installed.all() {
        let mut faults = Line::<80>::new();
        let is_active = filter.is_active();
        let count = filter.faults.load(Ordering::Relaxed);
        if is_active && count > 0 {
            faults.push("a thread was to release what it did not hold, ").number(count).push(" times");
        }
        let report = if is_active { faults.bytes() } else { filter.report() };
        let (name, mut source) = (filter.name(), filter.source());
        let size = |source: &[u8]| {
            let texts = name.len() + source.len() + report.len();
            size_of::<FilterInfo>() + texts.next_multiple_of(8)
        };
        if message.length + size(source) > message.room {
            source = &[];
        }
        if message.length + size(source) > message.room {
            break;
        }
        let info = FilterInfo {
            id: old_id(filter),
            state: if is_active { FILTER_INSTALLED } else { FILTER_EXPELLED },
            age: now.saturating_sub(filter.since.load(Ordering::Relaxed)) / 1_000_000,
            operations: filter.operations.load(Ordering::Relaxed),
            waits: filter.waits.load(Ordering::Relaxed),
            objects: filter.objects.count(),
            name: name.len() as u32,
            source: source.len() as u32,
            report: report.len() as u32,
        };
        message.push(info.as_bytes());
        [name, source, report].into_iter().for_each(|text| message.push(text));
        let texts = name.len() + source.len() + report.len();
        message.push(&[0; 8][..texts.next_multiple_of(8) - texts]);
    }
    Some(message.finish(FILTERS))
}
