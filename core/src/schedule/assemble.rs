//! Makes a schedule of a recording.
//!
//! - Order: by clock, then thread, then place in the thread; so derived records, which carry the clock of
//!   their true synchronization, stand right before it. Derived ones whose true one was not written (the
//!   process was killed between) are dropped.
//! - Threads are renumbered as the order first names them; a thread's parent and number are those of its
//!   create event.
//! - Objects are named by their address within a lifetime: an init, the first use after a destroy and a use as
//!   another class begin a new one. An end event belongs to the object of its begin, since a barrier or
//!   condition variable may be destroyed while others are still leaving it.
//! - Epoch records are no events: they become boundaries between events. One that comes between a derived event and its
//!   true one goes before the derived ones, which have no moment of their own.
//! - A depth is counted modulo 128 in the recording: since calls are left one by one or by an exception, the deepest that fits
//!   is taken.
//! - A waker is a clock in the recording and a place in the schedule.

use super::fault::seq_of;
use super::recording::{Recording, ThreadLog};
use super::{
    legal, verify, Boundary, Completeness, EpochBoundary, EpochId, Event, Fault, Marker, MutexKind, Object,
    ObjectId, Phase, Schedule, Seq, SiteId, StackHash, Thread, ThreadId,
};
use crate::hooks::{Effect, ObjectClass, Op};
use crate::rawlog::{
    Record, DEPTHS, FLAG_ERRORCHECK, FLAG_RECURSIVE, FLAG_SHARED, FLAG_UNWOUND, LOST_RECORDS, NO_THREAD,
    RESULT_PENDING, STATE_COMPLETE,
};
use crate::site::Site;
use std::collections::{BTreeMap, HashMap};

/// Names addresses of the recorded process.
pub trait Symbols {
    /// The variable at this address, with an offset where the address is inside of it (`queue+8`).
    fn name(&self, address: u64) -> Option<String>;
}

/// Knows no names.
pub struct NoSymbols;

impl Symbols for NoSymbols {
    fn name(&self, _: u64) -> Option<String> {
        None
    }
}

/// Makes the schedule and verifies it. `program` is the executable as the user named it; `ended` says, in
/// words, how the process ended if the recording itself does not say that it was complete.
///
/// A fault is a bug of covsched: the order that a program's run had may be illegal only where the program
/// itself is at fault, so [`legal`] is asked only where records are known to be missing. What depends on
/// them looks wrong then, and the part before it is kept.
pub fn assemble(
    mut recording: Recording,
    program: &str,
    symbols: &dyn Symbols,
    ended: &str,
) -> Result<Schedule, Fault> {
    let records = ordered_records(std::mem::take(&mut recording.threads));
    let lost = recording.meta.lost & LOST_RECORDS != 0;
    let completeness = if lost {
        Completeness::Incomplete("records were lost: no space, memory or file descriptors left".to_owned())
    } else if let Some(damage) = recording.damage.first() {
        Completeness::Incomplete(format!("damaged recording: {damage}"))
    } else if recording.meta.state != STATE_COMPLETE {
        Completeness::Incomplete(ended.to_owned())
    } else {
        Completeness::Complete
    };
    let build = |records: &[(u32, Record)], completeness: Completeness| {
        let mut assembly = Assembly::new(&recording, symbols);
        for (thread, record) in records {
            assembly.add(*thread, record);
        }
        assembly.finish(&recording, program, completeness)
    };
    let schedule = build(&records, completeness);
    if !lost && recording.damage.is_empty() {
        return verify::verify(&schedule).map(|()| schedule);
    }
    let Err(fault) = verify::verify(&schedule).and_then(|()| legal::check(&schedule)) else {
        return Ok(schedule);
    };
    let Some(index) = fault.seq.and_then(|seq| schedule.index_of(seq)) else { return Err(fault) };
    // The records of the events before it, and what else came before.
    let mut events_before = 0;
    let cut = records.iter().position(|(_, record)| {
        events_before += usize::from(!is_mark(record));
        events_before > index
    });
    let kept = drop_open_derived(records[..cut.unwrap_or(records.len())].to_vec());
    let Completeness::Incomplete(reason) = &schedule.completeness else { return Err(fault) };
    let schedule = build(&kept, Completeness::Incomplete(format!("{reason}; cut before {fault}")));
    verify::verify(&schedule).map(|()| schedule)
}

/// All records with their threads, in total order.
fn ordered_records(logs: Vec<ThreadLog>) -> Vec<(u32, Record)> {
    let total = logs.iter().map(|log| log.records.len()).sum();
    let mut records: Vec<(u32, Record)> = Vec::with_capacity(total);
    for mut log in logs {
        put_entry_first(&mut log);
        records.extend(log.records.into_iter().map(|record| (log.thread, record)));
    }
    // Stable, and a thread's records were added in its order.
    records.sort_by_key(|(thread, record)| (record.clock, *thread));
    records.retain(|(_, record)| Op::from_index(record.op).is_some() && phase(record).is_some());
    drop_open_derived(records)
}

/// A signal handler may come between a thread's start and the record of its entry: the entry is first all the same.
/// Not in t0, where constructors come before main.
fn put_entry_first(log: &mut ThreadLog) {
    let entry = log.records.iter().position(|record| record.op == Op::entry as u8);
    let (Some(entry), true) = (entry, log.thread != 0) else { return };
    let earliest = log.records[..=entry].iter().map(|record| record.clock).min().unwrap_or_default();
    log.records[entry].clock = earliest;
    log.records[..=entry].rotate_right(1);
}

/// Whether a record is about epochs.
fn is_mark(record: &Record) -> bool {
    Op::from_index(record.op).is_some_and(|op| op.effect() == Effect::Mark)
}

/// Leaves out derived records that no other event of the same moment follows.
fn drop_open_derived(mut records: Vec<(u32, Record)>) -> Vec<(u32, Record)> {
    let is_derived = |record: &Record| record.op == Op::derived as u8;
    let mut follower: Option<(u32, u64)> = None;
    let keep: Vec<bool> = records
        .iter()
        .rev()
        .map(|(thread, record)| {
            let moment = (*thread, record.clock);
            if is_derived(record) {
                return follower == Some(moment);
            }
            if !is_mark(record) {
                follower = Some(moment);
            }
            true
        })
        .collect();
    let mut keep = keep.into_iter().rev();
    records.retain(|_| keep.next().unwrap_or(true));
    records
}

fn phase(record: &Record) -> Option<Phase> {
    [Phase::Both, Phase::Begin, Phase::End].into_iter().find(|&phase| phase as u8 == record.phase)
}

/// What lives at an address.
struct Living {
    id: ObjectId,
    class: ObjectClass,
    /// How often a named semaphore was opened.
    opens: u32,
    destroyed: bool,
}

/// The begin of an operation with two moments.
struct Begun {
    op: Op,
    address: u64,
    object: Option<ObjectId>,
    mutex: Option<ObjectId>,
}

struct Assembly<'a> {
    symbols: &'a dyn Symbols,
    known_sites: HashMap<SiteId, &'a Site>,
    threads: Vec<Thread>,
    numbers: HashMap<u32, ThreadId>,
    children: HashMap<ThreadId, u32>,
    objects: Vec<Object>,
    class_counts: HashMap<ObjectClass, u32>,
    living: HashMap<u64, Living>,
    sites: BTreeMap<SiteId, Site>,
    /// Signals and broadcasts by clock and address of the condition variable.
    signals: HashMap<(u64, u64), Seq>,
    /// Begins without an end, by thread.
    open: HashMap<ThreadId, Vec<Begun>>,
    /// How many calls are open, by thread.
    calls: HashMap<ThreadId, u32>,
    events: Vec<Event>,
    epochs: Vec<EpochBoundary>,
}

impl<'a> Assembly<'a> {
    fn new(recording: &'a Recording, symbols: &'a dyn Symbols) -> Self {
        let sites = recording.objects.iter().flat_map(|object| &object.units).flat_map(|unit| &unit.sites);
        let mut assembly = Assembly {
            symbols,
            known_sites: sites.map(|site| (site.id, site)).collect(),
            threads: Vec::new(),
            numbers: HashMap::new(),
            children: HashMap::new(),
            objects: Vec::new(),
            class_counts: HashMap::new(),
            living: HashMap::new(),
            sites: BTreeMap::new(),
            signals: HashMap::new(),
            open: HashMap::new(),
            calls: HashMap::new(),
            events: Vec::new(),
            epochs: Vec::new(),
        };
        assembly.thread(0);
        assembly
    }

    /// The schedule's number for a thread of the recording.
    fn thread(&mut self, recorded: u32) -> ThreadId {
        let next = ThreadId(self.threads.len() as u32);
        let number = *self.numbers.entry(recorded).or_insert(next);
        if number == next {
            self.threads.push(Thread { parent: None, nth: 0, entry: None });
        }
        number
    }

    fn add(&mut self, recorded: u32, record: &Record) {
        let (Some(op), Some(phase)) = (Op::from_index(record.op), phase(record)) else { return };
        if op.effect() == Effect::Mark {
            return self.mark(op, recorded, record);
        }
        let thread = self.thread(recorded);
        let mut event = Event::new(thread, op);
        event.phase = phase;
        event.site = self.site(SiteId(record.site));
        event.result = result(op, phase, record.result);
        event.unwound = record.flags & FLAG_UNWOUND != 0;
        match op.effect() {
            Effect::Enter => {
                self.threads[thread.0 as usize].entry = Some(event.site).filter(|site| !site.is_none())
            }
            Effect::Create => event.child = self.create(thread, record, event.result),
            _ if op.class() == ObjectClass::Thread => event.child = self.target(record.extra),
            Effect::Init if matches!(op, Op::pthread_barrier_init | Op::sem_init | Op::sem_open) => {
                event.count = u32::try_from(record.extra).ok();
            }
            Effect::Signal | Effect::Broadcast => {
                self.signals.insert((record.clock, record.object), seq_of(self.events.len()));
            }
            Effect::Wait | Effect::TimedWait if phase == Phase::End => {
                event.waker = self.signals.get(&(record.extra, record.object)).copied();
            }
            _ => {}
        }
        event.depth = self.depth(&event, record);
        self.name_objects(&mut event, record);
        self.events.push(event);
    }

    /// The number of open calls is recorded without its high bits. Where calls were not recorded (no memory), it is what
    /// can be.
    fn depth(&mut self, event: &Event, record: &Record) -> u32 {
        let open = self.calls.entry(event.thread).or_default();
        let returned = open.wrapping_sub(u32::from(record.depth)) % DEPTHS;
        let depth = open.saturating_sub(returned);
        *open = depth + u32::from(event.op == Op::derived);
        depth
    }

    /// A record about epochs. One of a thread that no event has named belongs to code without hooks, or to a recording
    /// with holes: nothing can be said of it.
    fn mark(&mut self, op: Op, recorded: u32, record: &Record) {
        let Some(&thread) = self.numbers.get(&recorded) else { return };
        let derived = self.events.iter().rev().take_while(|event| event.op == Op::derived).count();
        let place = self.events.len() - derived;
        let boundary = if op == Op::epoch_start {
            Boundary::Start { number: record.extra, id: EpochId(record.object) }
        } else {
            Boundary::Marker(Marker {
                thread,
                site: self.site(SiteId(record.site)),
                stack: StackHash(record.object),
                passed_short: record.extra as u32,
                passed_balance: (record.extra >> 32) as u32,
                instructions: u32::try_from(record.result).ok().filter(|&count| count > 0),
            })
        };
        self.epochs.push(EpochBoundary { place, boundary });
    }

    fn site(&mut self, id: SiteId) -> SiteId {
        if self.sites.contains_key(&id) {
            return id;
        }
        // A site that no table knows (an object whose tables were not written) cannot be shown.
        let Some(&site) = self.known_sites.get(&id) else { return SiteId::NONE };
        self.sites.insert(id, site.clone());
        id
    }

    /// The thread that a create made, if it made one.
    fn create(&mut self, parent: ThreadId, record: &Record, result: Option<i32>) -> Option<ThreadId> {
        let recorded = u32::try_from(record.extra).ok().filter(|&number| number != NO_THREAD)?;
        if !matches!(result, None | Some(0)) || self.numbers.contains_key(&recorded) {
            return None;
        }
        let child = self.thread(recorded);
        let nth = self.children.entry(parent).or_default();
        self.threads[child.0 as usize] = Thread { parent: Some(parent), nth: *nth, entry: None };
        *nth += 1;
        Some(child)
    }

    /// The thread that a join, detach, kill or cancel names; only one that the order has named before.
    fn target(&self, recorded: u64) -> Option<ThreadId> {
        self.numbers.get(&u32::try_from(recorded).ok()?).copied()
    }

    fn name_objects(&mut self, event: &mut Event, record: &Record) {
        let op = event.op;
        if op.class().prefix().is_none() || record.object == 0 {
            return;
        }
        if event.phase == Phase::End {
            let open = self.open.entry(event.thread).or_default();
            let fits = |begun: &Begun| begun.op == op && begun.address == record.object;
            if let Some(place) = open.iter().rposition(fits) {
                (event.object, event.mutex) = (open[place].object, open[place].mutex);
                // Begins above it were left by an exception or a longjmp.
                open.truncate(place);
                return;
            }
        }
        let begins_life = op.effect() == Effect::Init && matches!(event.result, None | Some(0));
        let object = self.object(record.object, op.class(), begins_life.then_some(op));
        self.describe(object, record.flags);
        event.object = Some(object);
        if matches!(op.effect(), Effect::Wait | Effect::TimedWait) && event.phase == Phase::Begin {
            event.mutex = Some(self.object(record.extra, ObjectClass::Mutex, None));
        }
        if event.phase == Phase::Begin {
            let begun = Begun { op, address: record.object, object: event.object, mutex: event.mutex };
            self.open.entry(event.thread).or_default().push(begun);
        }
        if op.effect() == Effect::Destroy && matches!(event.result, None | Some(0)) {
            if let Some(living) = self.living.get_mut(&record.object) {
                living.opens = living.opens.saturating_sub(1);
                living.destroyed = op != Op::sem_close || living.opens == 0;
            }
        }
    }

    /// The object of a class at an address; `init` is the operation that begins a life there.
    fn object(&mut self, address: u64, class: ObjectClass, init: Option<Op>) -> ObjectId {
        let opened = u32::from(init == Some(Op::sem_open));
        if let Some(living) = self.living.get_mut(&address) {
            // Opening a named semaphore again gives the same object.
            let same = living.class == class && !living.destroyed && (init.is_none() || opened == 1);
            if same {
                living.opens += opened;
                return living.id;
            }
        }
        let id = ObjectId(self.objects.len() as u32);
        let count = self.class_counts.entry(class).or_default();
        self.objects.push(Object {
            class,
            number: *count,
            symbol: self.symbols.name(address),
            shared: false,
            mutex_kind: MutexKind::Normal,
        });
        *count += 1;
        self.living.insert(address, Living { id, class, opens: opened, destroyed: false });
        id
    }

    fn describe(&mut self, object: ObjectId, flags: u8) {
        let object = &mut self.objects[object.0 as usize];
        object.shared |= flags & FLAG_SHARED != 0;
        if object.class == ObjectClass::Mutex && flags & FLAG_RECURSIVE != 0 {
            object.mutex_kind = MutexKind::Recursive;
        } else if object.class == ObjectClass::Mutex && flags & FLAG_ERRORCHECK != 0 {
            object.mutex_kind = MutexKind::ErrorChecking;
        }
    }

    fn finish(self, recording: &Recording, program: &str, completeness: Completeness) -> Schedule {
        Schedule {
            program: program.to_owned(),
            program_id: recording.program_id(),
            command: recording.command.clone(),
            completeness,
            forked: recording.meta.forked_from != 0,
            threads: self.threads,
            objects: self.objects,
            sites: self.sites,
            events: self.events,
            epochs: self.epochs,
        }
    }
}

/// A record's result as a schedule has it: none where the call has none or did not return.
fn result(op: Op, phase: Phase, recorded: i32) -> Option<i32> {
    let has_one = phase != Phase::Begin
        && !matches!(op.effect(), Effect::Enter | Effect::Leave | Effect::Call | Effect::EndThread);
    Some(recorded).filter(|&result| has_one && result != RESULT_PENDING)
}
