//! Test aid: recordings of random small programs, simulated. Each is a legal execution by construction; the
//! simulation keeps its own simple model of the objects and shares no code with the checkers.

use super::recording::{LinkedObject, Recording, ThreadLog};
use super::{assemble, Phase, Schedule};
use crate::hooks::{Effect, Op};
use crate::rawlog::*;
use crate::site::{site_id, Site, SiteKind, UnitTable};
use proptest::prelude::*;

const EAGAIN: i32 = 11;
const EBUSY: i32 = 16;
const EDEADLK: i32 = 35;
const ETIMEDOUT: i32 = 110;
const EOWNERDEAD: i32 = 130;
const BARRIER_COUNT: u32 = 2;
const MAX_THREADS: usize = 5;

#[derive(Default, Clone)]
struct SimThread {
    entered: bool,
    left: bool,
    joined: bool,
    detached: bool,
    parent: usize,
    /// Its wait: which mutex, and the clock of what woke it.
    waiting: Option<(usize, u64)>,
    /// The barrier generation it waits for.
    barrier: Option<u64>,
    runs_once: bool,
    /// It has called exit or the like, or returned from main: the process ends, while others may go on for a moment.
    ended_process: bool,
    /// Calls that it is in.
    calls: u32,
}

struct Simulation {
    clock: u64,
    threads: Vec<SimThread>,
    logs: Vec<ThreadLog>,
    /// Normal, recursive, error-checking: holder and depth.
    mutexes: [Option<(usize, u32)>; 3],
    writer: Option<usize>,
    readers: Vec<usize>,
    spin: Option<usize>,
    units: Option<u32>,
    barrier: Option<(u32, u64)>,
    /// Generations that already have their serial thread.
    serial: Vec<u64>,
    once: u8,
}

fn site_of(op: Op) -> Site {
    let kind = match op {
        Op::entry => SiteKind::Entry,
        Op::leave => SiteKind::Exit,
        Op::derived => SiteKind::Derived,
        _ => SiteKind::True,
    };
    let callee = if kind == SiteKind::True { op.name() } else { "" };
    Site {
        id: site_id("worker", "", kind, callee, 0),
        kind,
        file: "dir/simulated \"program\".c".to_owned(),
        line: op as u32 + 1,
        column: 3,
        function: "worker".to_owned(),
        callee: callee.to_owned(),
    }
}

const MUTEX: u64 = 0x1000;
const COND: u64 = 0x2000;
const BARRIER: u64 = 0x3000;
const RWLOCK: u64 = 0x4000;
const SPIN: u64 = 0x5000;
const SEM: u64 = 0x6000;
const ONCE: u64 = 0x7000;

/// What a record says beside its operation.
fn fields(object: u64, extra: u64, result: i32, flags: u8) -> Record {
    Record { object, extra, result, flags, ..Record::default() }
}

impl Simulation {
    fn new() -> Self {
        Simulation {
            clock: 100,
            threads: vec![SimThread::default()],
            logs: vec![ThreadLog { thread: 0, records: Vec::new() }],
            mutexes: [None; 3],
            writer: None,
            readers: Vec::new(),
            spin: None,
            units: None,
            barrier: None,
            serial: Vec::new(),
            once: 0,
        }
    }

    fn emit(&mut self, thread: usize, op: Op, phase: Phase, fields: Record) -> u64 {
        self.clock += 3;
        let (clock, site) = (self.clock, site_of(op).id.0);
        // Some calls have returned since the last event.
        let calls = &mut self.threads[thread].calls;
        *calls = calls.saturating_sub((clock / 8 % 3) as u32);
        if self.clock % 4 == 0 && op.effect() != Effect::Enter {
            let (op, site) = (Op::derived as u8, site_of(Op::derived).id.0);
            let derived = Record { clock, site, op, depth: depth_byte(*calls), ..Record::default() };
            self.logs[thread].records.push(derived);
            *calls += 1;
        }
        let depth = depth_byte(*calls);
        let record = Record { clock, site, op: op as u8, phase: phase as u8, depth, ..fields };
        self.logs[thread].records.push(record);
        self.clock
    }

    fn both(&mut self, thread: usize, op: Op, object: u64, result: i32) -> u64 {
        self.emit(thread, op, Phase::Both, fields(object, 0, result, 0))
    }

    fn mutex(&mut self, thread: usize, op: Op, m: usize, result: i32) {
        let flags = [0, FLAG_RECURSIVE, FLAG_ERRORCHECK][m];
        self.emit(thread, op, Phase::Both, fields(MUTEX + m as u64 * 64, 0, result, flags));
    }

    /// Lets thread `t` take one step, `what` says which; nothing happens if it cannot.
    fn step(&mut self, t: usize, what: usize) {
        let state = self.threads[t].clone();
        if state.left || state.ended_process {
            return;
        }
        if !state.entered {
            self.threads[t].entered = true;
            self.both(t, Op::entry, 0, 0);
            return;
        }
        if let Some((m, waker)) = state.waiting {
            if self.mutexes[m].is_none() && (waker != 0 || what % 3 == 0) {
                self.mutexes[m] = Some((t, 1));
                self.threads[t].waiting = None;
                let result = if waker == 0 && what % 2 == 0 { ETIMEDOUT } else { 0 };
                self.emit(t, Op::pthread_cond_timedwait, Phase::End, fields(COND, waker, result, 0));
            }
            return;
        }
        if let Some(generation) = state.barrier {
            if self.barrier.is_some_and(|(_, current)| current > generation) {
                self.threads[t].barrier = None;
                let serial = !self.serial.contains(&generation);
                self.serial.push(generation);
                self.emit(t, Op::pthread_barrier_wait, Phase::End, fields(BARRIER, 0, -i32::from(serial), 0));
            }
            return;
        }
        match what % 18 {
            0..=3 => self.lock_step(t, what / 18 % 3, what % 18),
            4 => self.wait_step(t, what / 18 % 3),
            5 => self.signal_step(t, what / 18),
            6 => self.barrier_step(t),
            7 | 8 => self.rwlock_step(t, what % 2 == 0),
            9 => self.spin_step(t),
            10 | 11 => self.sem_step(t, what / 18),
            12 => self.once_step(t),
            13 => self.create_step(t),
            14 => self.join_step(t, what / 18),
            15 => self.notify_step(t, what / 18),
            16 => self.end_step(t, what / 18),
            _ => self.leave_step(t, what / 18),
        }
    }

    fn lock_step(&mut self, t: usize, m: usize, what: usize) {
        match self.mutexes[m] {
            None if what == 3 => {
                // A new life at the same address.
                let busy = self.threads.iter().any(|other| other.waiting.is_some_and(|(of, _)| of == m));
                if !busy {
                    self.mutex(t, Op::pthread_mutex_destroy, m, 0);
                    self.mutex(t, Op::pthread_mutex_init, m, 0);
                }
            }
            None => {
                self.mutexes[m] = Some((t, 1));
                let op = if what == 0 { Op::pthread_mutex_trylock } else { Op::pthread_mutex_lock };
                self.mutex(t, op, m, 0);
            }
            // A robust mutex whose owner has returned with it.
            Some((holder, _)) if holder != t && self.threads[holder].left => {
                self.mutexes[m] = Some((t, 1));
                self.mutex(t, Op::pthread_mutex_lock, m, EOWNERDEAD);
            }
            Some((holder, _)) if holder != t => self.mutex(t, Op::pthread_mutex_trylock, m, EBUSY),
            Some((_, depth)) if m == 1 && what < 2 => {
                self.mutexes[m] = Some((t, depth + 1));
                self.mutex(t, Op::pthread_mutex_lock, m, 0);
            }
            Some(_) if m == 2 && what == 0 => self.mutex(t, Op::pthread_mutex_lock, m, EDEADLK),
            Some((_, depth)) => {
                self.mutexes[m] = (depth > 1).then_some((t, depth - 1));
                self.mutex(t, Op::pthread_mutex_unlock, m, 0);
            }
        }
    }

    fn wait_step(&mut self, t: usize, m: usize) {
        if self.mutexes[m] == Some((t, 1)) {
            self.mutexes[m] = None;
            self.threads[t].waiting = Some((m, 0));
            let mutex = MUTEX + m as u64 * 64;
            self.emit(t, Op::pthread_cond_timedwait, Phase::Begin, fields(COND, mutex, 0, 0));
        }
    }

    fn signal_step(&mut self, t: usize, what: usize) {
        let sleeping = |thread: &SimThread| matches!(thread.waiting, Some((_, 0)));
        let broadcast = what % 2 == 0;
        let op = if broadcast { Op::pthread_cond_broadcast } else { Op::pthread_cond_signal };
        let clock = self.both(t, op, COND, 0);
        let limit = if broadcast { usize::MAX } else { 1 };
        for thread in self.threads.iter_mut().filter(|thread| sleeping(thread)).take(limit) {
            if let Some((_, waker)) = &mut thread.waiting {
                *waker = clock;
            }
        }
    }

    fn barrier_step(&mut self, t: usize) {
        let Some((arrived, generation)) = self.barrier else {
            self.barrier = Some((0, 0));
            self.emit(
                t,
                Op::pthread_barrier_init,
                Phase::Both,
                fields(BARRIER, u64::from(BARRIER_COUNT), 0, 0),
            );
            return;
        };
        self.emit(t, Op::pthread_barrier_wait, Phase::Begin, fields(BARRIER, 0, 0, 0));
        self.threads[t].barrier = Some(generation);
        let full = arrived + 1 == BARRIER_COUNT;
        self.barrier = Some(if full { (0, generation + 1) } else { (arrived + 1, generation) });
    }

    fn rwlock_step(&mut self, t: usize, write: bool) {
        if self.writer == Some(t) {
            self.writer = None;
            self.both(t, Op::pthread_rwlock_unlock, RWLOCK, 0);
        } else if let Some(place) = self.readers.iter().position(|&reader| reader == t).filter(|_| write) {
            self.readers.remove(place);
            self.both(t, Op::pthread_rwlock_unlock, RWLOCK, 0);
        } else if write && self.writer.is_none() && self.readers.is_empty() {
            self.writer = Some(t);
            self.both(t, Op::pthread_rwlock_wrlock, RWLOCK, 0);
        } else if !write && self.writer.is_none() {
            self.readers.push(t);
            self.both(t, Op::pthread_rwlock_rdlock, RWLOCK, 0);
        } else {
            self.both(t, Op::pthread_rwlock_trywrlock, RWLOCK, EBUSY);
        }
    }

    fn spin_step(&mut self, t: usize) {
        match self.spin {
            None => {
                self.spin = Some(t);
                self.both(t, Op::pthread_spin_lock, SPIN, 0);
            }
            Some(holder) if holder == t => {
                self.spin = None;
                self.both(t, Op::pthread_spin_unlock, SPIN, 0);
            }
            Some(_) => {
                self.both(t, Op::pthread_spin_trylock, SPIN, EBUSY);
            }
        }
    }

    fn sem_step(&mut self, t: usize, what: usize) {
        match self.units {
            None => {
                self.units = Some(1);
                self.emit(t, Op::sem_init, Phase::Both, fields(SEM, 1, 0, 0));
            }
            Some(_) if what % 8 == 1 => {
                self.both(t, Op::sem_getvalue, SEM, 0);
            }
            Some(0) if what % 8 == 3 => {
                self.both(t, Op::sem_trywait, SEM, EAGAIN);
            }
            Some(units) if units == 0 || what % 2 == 0 => {
                self.units = Some(units + 1);
                self.both(t, Op::sem_post, SEM, 0);
            }
            Some(units) => {
                self.units = Some(units - 1);
                self.both(t, Op::sem_wait, SEM, 0);
            }
        }
    }

    fn once_step(&mut self, t: usize) {
        if self.threads[t].runs_once {
            self.threads[t].runs_once = false;
            self.once = 2;
            self.emit(t, Op::pthread_once, Phase::End, fields(ONCE, 0, 0, 0));
        } else if self.once == 0 {
            self.threads[t].runs_once = true;
            self.once = 1;
            self.emit(t, Op::pthread_once, Phase::Begin, fields(ONCE, 0, 0, 0));
        } else if self.once == 2 {
            self.both(t, Op::pthread_once, ONCE, 0);
        }
    }

    fn create_step(&mut self, t: usize) {
        if self.threads.len() < MAX_THREADS {
            // Numbers of the recording need not be dense.
            let number = 2 * self.threads.len() as u32;
            self.emit(t, Op::pthread_create, Phase::Both, fields(0, u64::from(number), 0, 0));
            self.threads.push(SimThread { parent: t, ..SimThread::default() });
            self.logs.push(ThreadLog { thread: number, records: Vec::new() });
        } else {
            self.emit(t, Op::pthread_create, Phase::Both, fields(0, u64::from(NO_THREAD), 11, 0));
        }
    }

    fn join_step(&mut self, t: usize, what: usize) {
        let child = 1 + what % MAX_THREADS;
        let Some(state) = self.threads.get_mut(child).filter(|state| state.parent == t) else { return };
        if state.joined || state.detached {
            return;
        }
        let op = if state.left && what % 3 != 0 {
            state.joined = true;
            Op::pthread_join
        } else {
            state.detached = true;
            Op::pthread_detach
        };
        self.emit(t, op, Phase::Both, fields(0, 2 * child as u64, 0, 0));
    }

    fn notify_step(&mut self, t: usize, what: usize) {
        let target = what % self.threads.len();
        let gone =
            self.threads[target].joined || (self.threads[target].detached && self.threads[target].left);
        if !gone {
            let op = if what / 8 % 2 == 0 { Op::pthread_kill } else { Op::pthread_cancel };
            self.emit(t, op, Phase::Both, fields(0, 2 * target as u64, 0, 0));
        }
    }

    fn end_step(&mut self, t: usize, what: usize) {
        if what % 16 == 0 {
            self.threads[t].ended_process = true;
            self.both(t, if what / 16 % 2 == 0 { Op::exit } else { Op::_exit }, 0, 3);
        }
    }

    fn leave_step(&mut self, t: usize, what: usize) {
        // A normal mutex may be robust.
        let holds = self.mutexes[1..].iter().flatten().any(|&(holder, _)| holder == t)
            || (self.mutexes[0].is_some_and(|(holder, _)| holder == t) && what % 4 != 0)
            || self.threads[t].runs_once
            || self.readers.contains(&t)
            || self.writer == Some(t)
            || self.spin == Some(t);
        if holds || (t == 0 && what % 8 > 1) {
            return;
        }
        if t == 0 && what % 8 == 1 {
            self.both(t, Op::pthread_exit, 0, 0);
        }
        self.threads[t].left = true;
        self.both(t, Op::leave, 0, 0);
    }
}

/// The recording of a program that takes these steps.
pub(super) fn recording_of(steps: &[u32]) -> Recording {
    let mut simulation = Simulation::new();
    simulation.step(0, 0);
    for &step in steps {
        let thread = step as usize % simulation.threads.len();
        simulation.step(thread, step as usize / 8);
    }
    let sites: Vec<Site> = Op::ALL.iter().map(|&op| site_of(op)).collect();
    Recording {
        meta: MetaHeader {
            magic: META_MAGIC,
            version: VERSION,
            record_size: crate::rawlog::RECORD_SIZE,
            pid: 7,
            forked_from: 0,
            forking_thread: 0,
            state: STATE_COMPLETE,
            lost: 0,
            status: 0,
            program: 0x1234,
            started: 1,
        },
        command: vec!["./app".to_owned(), "an \"argument\"\n".to_owned()],
        objects: vec![LinkedObject {
            path: "/app".into(),
            bias: 0,
            units: vec![UnitTable {
                unit: "app.c".to_owned(),
                hash: 1,
                has_bitcode: false,
                has_epochs: false,
                sites,
            }],
        }],
        threads: simulation.logs,
        damage: Vec::new(),
    }
}

/// Recordings of random programs.
pub(super) fn recordings() -> impl Strategy<Value = Recording> {
    proptest::collection::vec(any::<u32>(), 0..300).prop_map(|steps| recording_of(&steps))
}

/// Their schedules.
pub(super) fn schedules() -> impl Strategy<Value = Schedule> {
    struct Variables;
    impl assemble::Symbols for Variables {
        fn name(&self, address: u64) -> Option<String> {
            (address < SPIN).then(|| format!("variable+{address}"))
        }
    }
    recordings().prop_map(|recording| assemble::assemble(recording, "./app", &Variables, "killed").unwrap())
}

#[test]
fn the_simulation_reaches_every_kind_of_event() {
    let steps: Vec<u32> = (0..40_000u64).map(|i| crate::hash::mix(i) as u32).collect();
    let mut seen = std::collections::BTreeSet::new();
    for steps in steps.chunks(200) {
        let recording = recording_of(steps);
        let records = recording.threads.iter().flat_map(|log| &log.records);
        seen.extend(
            records.map(|record| (Op::from_index(record.op).unwrap().name(), record.phase, record.result)),
        );
    }
    for wanted in [
        ("pthread_cond_timedwait", 2, 0),
        ("pthread_cond_timedwait", 2, ETIMEDOUT),
        ("pthread_barrier_wait", 2, -1),
        ("pthread_barrier_wait", 2, 0),
        ("pthread_once", 2, 0),
        ("pthread_once", 0, 0),
        ("pthread_mutex_lock", 0, EDEADLK),
        ("pthread_mutex_init", 0, 0),
        ("pthread_join", 0, 0),
        ("pthread_detach", 0, 0),
        ("pthread_rwlock_wrlock", 0, 0),
        ("sem_wait", 0, 0),
        ("sem_getvalue", 0, 0),
        ("sem_trywait", 0, EAGAIN),
        ("pthread_mutex_lock", 0, EOWNERDEAD),
        ("pthread_kill", 0, 0),
        ("pthread_cancel", 0, 0),
        ("exit", 0, 3),
        ("pthread_exit", 0, 0),
        ("return", 0, 0),
    ] {
        assert!(seen.contains(&wanted), "{wanted:?}");
    }
}
