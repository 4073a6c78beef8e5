//! The protocol of pauses, and the locks and semaphores of filters, under the `loom` crate: every interleaving (with a
//! bound on preemptions) and every value that the memory model allows a load to see. The sources are the runtime's own.
//!
//! # What is modelled
//! The mode with fences exactly: each re-acquire has its own. The kernel's membarrier, as a full fence on both sides: the updater's is in
//! `request`, that of the thread stands here, where the hot path has nothing but an order of instructions that the
//! kernel turns into one. A futex is a mutex, a condition variable (one for each kind of sleepers) and a look at the word. Sleeps have no timeouts: a lost
//! wake-up is a deadlock, which the checker reports.

mod alone;
mod findings;
#[path = "../../src/loom/fraction.rs"]
mod fraction;
#[path = "../../src/loom/heir.rs"]
mod heir;
#[path = "../../src/loom/latch.rs"]
mod latch;
#[path = "../../src/loom/protocol.rs"]
mod protocol;

/// What they are made of.
mod sync {
    pub use loom::sync::atomic::{fence, AtomicU32, AtomicU64, AtomicU8, AtomicUsize, Ordering};
}

use covsched_core::loom::abi::{SWITCH_FENCES, SWITCH_WAIT};
use fraction::{Fraction, Moved, Semaphore};
use heir::{Claim, Claimant, Heir};
use latch::{Latch, Sleeper, Taken, Wake};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;
use protocol::{Finding, Member, Shared, ALONE, ALONE_GO_ON, FENCES, GO_ON, PAUSE, RUNNING, UPDATE};
use sync::{fence, AtomicU32, AtomicU64, AtomicU8, AtomicUsize, Ordering};

/// All sleepers of a model.
struct Futex {
    lock: Mutex<()>,
    condition: Condvar,
}

impl Futex {
    fn new() -> Self {
        Futex { lock: Mutex::new(()), condition: Condvar::new() }
    }

    fn wait(&self, word: &AtomicU32, value: u32) {
        let guard = self.lock.lock().unwrap();
        if word.load(Ordering::Relaxed) == value {
            drop(self.condition.wait(guard).unwrap());
        }
    }

    fn wake(&self) {
        let _guard = self.lock.lock().unwrap();
        self.condition.notify_all();
    }
}

const SAFE: usize = 100;
const UNSAFE: usize = 101;
/// Safe, but others may be waiting for what a thread has there.
const HOLDING: usize = 102;
/// Safe or not, as the thread's stack says.
const BY_CALLER: usize = 103;

struct World {
    pending: AtomicU8,
    /// A function's, but for "slow".
    byte: AtomicU8,
    generation: AtomicU32,
    rounds: Arc<AtomicU64>,
    futex: Futex,
    /// What an update changes and running threads read.
    code: UnsafeCell<u32>,
}

impl World {
    fn new(mode: u8) -> Self {
        World {
            pending: AtomicU8::new(mode),
            byte: AtomicU8::new(if mode & FENCES != 0 { SWITCH_FENCES } else { 0 }),
            generation: AtomicU32::new(0),
            rounds: Arc::new(AtomicU64::new(0)),
            futex: Futex::new(),
            code: UnsafeCell::new(0),
        }
    }

    fn read(&self) -> u32 {
        // SAFETY: the checker sees to it that nobody writes meanwhile.
        self.code.with(|code| unsafe { *code })
    }

    fn write(&self) {
        // SAFETY: the checker sees to it that nobody reads meanwhile.
        self.code.with_mut(|code| unsafe { *code += 1 });
    }
}

impl Shared for World {
    fn pending(&self) -> &AtomicU8 {
        &self.pending
    }
    fn generation(&self) -> &AtomicU32 {
        &self.generation
    }
    fn sleep(&self, generation: u32) {
        self.futex.wait(&self.generation, generation);
    }
    fn wake(&self) {
        self.futex.wake();
    }
    fn barrier(&self) {
        fence(Ordering::SeqCst);
    }
}

struct Worker {
    at: AtomicUsize,
    /// Where it was created, until it has begun.
    born: AtomicUsize,
    is_owner: bool,
    /// Its stack: whether a region called.
    is_called_from_region: AtomicUsize,
    goings: AtomicU64,
    found: AtomicU64,
    looked: AtomicU64,
    /// The world's, if it looks who called by itself.
    rounds: Option<Arc<AtomicU64>>,
}

impl Worker {
    fn new() -> Self {
        Worker::at(SAFE)
    }

    fn at(location: usize) -> Self {
        Worker {
            at: AtomicUsize::new(location),
            born: AtomicUsize::new(0),
            is_owner: false,
            is_called_from_region: AtomicUsize::new(0),
            goings: AtomicU64::new(0),
            found: AtomicU64::new(protocol::NOTHING_FOUND),
            looked: AtomicU64::new(protocol::NOTHING_FOUND),
            rounds: None,
        }
    }

    fn looking(world: &World, location: usize) -> Self {
        Worker { rounds: Some(world.rounds.clone()), ..Worker::at(location) }
    }

    /// What its stack says.
    fn see(&self) -> Finding {
        match self.is_called_from_region.load(Ordering::Relaxed) {
            0 => Finding::Outside,
            _ => Finding::Inside,
        }
    }

    fn sees_outside(&self, location: usize) -> bool {
        let Some(rounds) = &self.rounds else { return false };
        location == BY_CALLER && protocol::look(rounds, self, || Some(self.see())) == Some(Finding::Outside)
    }

    fn is_safe(&self, location: usize) -> bool {
        location != UNSAFE && location != BY_CALLER && self.born.load(Ordering::Acquire) != UNSAFE
    }

    fn is_found_outside(&self) -> bool {
        let seen = |rounds: &Arc<AtomicU64>| protocol::has_seen_outside(self, rounds.load(Ordering::Acquire));
        self.finding() == Some(Finding::Outside) || self.rounds.as_ref().is_some_and(seen)
    }

    /// As the engine does it: the word, then what was found out, then a look.
    fn is_away_or_found(&self) -> bool {
        match protocol::released_at(self) {
            None => false,
            Some(at) if self.is_safe(at) || self.is_found_outside() => true,
            Some(_) if self.finding() == Some(Finding::Inside) => false,
            Some(_) => protocol::find_out(self, || {
                // The word says where the look is at; what it sees may be of another time.
                (protocol::released_at(self) == Some(BY_CALLER)).then(|| self.see())
            }),
        }
    }

    /// First the birth, then the word: a thread that has begun gives up the former while the latter says so.
    fn is_away(&self) -> bool {
        self.born.load(Ordering::Acquire) != UNSAFE
            && protocol::released_at(self).is_some_and(|at| self.is_safe(at))
    }
}

impl Member for Worker {
    fn at(&self) -> &AtomicUsize {
        &self.at
    }
    fn goings(&self) -> &AtomicU64 {
        &self.goings
    }
    fn found(&self) -> &AtomicU64 {
        &self.found
    }
    fn looked(&self) -> &AtomicU64 {
        &self.looked
    }
    fn must_stay(&self, location: usize, pending: u8) -> bool {
        let goes_on = pending & GO_ON != 0 && location == HOLDING;
        let is_safe = self.is_safe(location) || self.is_found_outside() || self.sees_outside(location);
        let for_update = pending & UPDATE != 0 && is_safe && !goes_on;
        let goes_on = pending & ALONE_GO_ON != 0 && location == HOLDING;
        for_update || (pending & ALONE != 0 && !self.is_owner && !goes_on)
    }
}

/// What instrumented code does after a call: its fence is the kernel's, or that of the cold path.
fn come_back(world: &World, worker: &Worker, location: usize) {
    if world.pending.load(Ordering::Relaxed) & FENCES != 0 {
        assert_ne!(world.byte.load(Ordering::Relaxed), 0);
        protocol::reacquire(world, worker, location);
        return;
    }
    worker.at.store(RUNNING, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    if world.byte.load(Ordering::Acquire) != 0 {
        protocol::pause(world, worker, location);
    }
}

/// Which bit is set in the functions' bytes, and then asked for.
fn request(world: &World, bit: u8) {
    world.rounds.fetch_add(1, Ordering::Release);
    world.byte.store(world.byte.load(Ordering::Relaxed) | SWITCH_WAIT, Ordering::Release);
    world.request(bit, 0);
}

/// The same backwards.
fn resume(world: &World, bit: u8) {
    if world.pending.load(Ordering::Relaxed) & PAUSE & !bit == 0 {
        world.byte.store(world.byte.load(Ordering::Relaxed) & !SWITCH_WAIT, Ordering::Release);
    }
    world.change(0, bit);
}

fn update(world: &World, workers: &[Arc<Worker>], bit: u8) {
    request(world, bit);
    let is_away = |worker: &Arc<Worker>| match bit {
        ALONE => protocol::released_at(&**worker).is_some(),
        _ => worker.is_away(),
    };
    while !workers.iter().all(is_away) {
        thread::yield_now();
    }
    world.write();
    resume(world, bit);
}

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(body);
}

#[test]
fn an_update_never_meets_a_running_thread() {
    for mode in [0, FENCES] {
        model(3, move || {
            let (world, worker) = (Arc::new(World::new(mode)), Arc::new(Worker::new()));
            let thread = thread::spawn({
                let (world, worker) = (world.clone(), worker.clone());
                move || {
                    for _ in 0..2 {
                        come_back(&world, &worker, SAFE);
                        world.read();
                        protocol::release(&*worker, SAFE);
                    }
                }
            });
            update(&world, &[worker], UPDATE);
            thread.join().unwrap();
            assert_eq!(world.read(), 1);
        });
    }
}

#[test]
fn a_thread_at_a_check_pauses_and_goes_on() {
    model(3, || {
        let (world, worker) = (Arc::new(World::new(0)), Arc::new(Worker::new()));
        let thread = thread::spawn({
            let (world, worker) = (world.clone(), worker.clone());
            move || {
                come_back(&world, &worker, SAFE);
                world.read();
                // The check: the function's byte is not modelled, so it is always looked at.
                protocol::pause(&*world, &*worker, SAFE);
                world.read();
                protocol::release(&*worker, SAFE);
            }
        });
        update(&world, &[worker], UPDATE);
        thread.join().unwrap();
    });
}

#[test]
fn two_updates_or_two_threads() {
    model(1, || updates(1, 2));
    model(2, || updates(2, 1));
}

fn updates(count: u32, threads: usize) {
    let world = Arc::new(World::new(0));
    let workers: Vec<_> = (0..threads).map(|_| Arc::new(Worker::new())).collect();
    let threads = workers.iter().cloned().map(|worker| {
        let world = world.clone();
        thread::spawn(move || {
            come_back(&world, &worker, SAFE);
            world.read();
            protocol::release(&*worker, SAFE);
        })
    });
    let threads: Vec<_> = threads.collect();
    (0..count).for_each(|_| update(&world, &workers, UPDATE));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(world.read(), count);
}

#[test]
fn unsafe_ground_is_left_before_the_update() {
    for mode in [0, FENCES] {
        model(3, move || {
            let (world, worker) = (Arc::new(World::new(mode)), Arc::new(Worker::new()));
            let thread = thread::spawn({
                let (world, worker) = (world.clone(), worker.clone());
                move || {
                    come_back(&world, &worker, SAFE);
                    let before = world.read();
                    // A blocking call inside of a region.
                    protocol::release(&*worker, UNSAFE);
                    come_back(&world, &worker, UNSAFE);
                    assert_eq!(world.read(), before, "the update came in the middle of the region");
                    protocol::release(&*worker, SAFE);
                }
            });
            update(&world, &[worker], UPDATE);
            thread.join().unwrap();
        });
    }
}

/// As [`update`]; who holds something may go on for as long as somebody is in the way.
fn update_with_locks(world: &World, workers: &[Arc<Worker>]) {
    let is_away = |worker: &Arc<Worker>| worker.is_away();
    request(world, UPDATE);
    while !workers.iter().all(is_away) {
        world.change(GO_ON, 0);
        while !workers.iter().all(is_away) {
            thread::yield_now();
        }
        world.request(UPDATE, GO_ON);
    }
    world.write();
    resume(world, UPDATE | GO_ON);
}

#[test]
fn who_was_let_go_is_seen_to_run() {
    for mode in [0, FENCES] {
        model(3, move || {
            let (world, worker) = (Arc::new(World::new(mode)), Arc::new(Worker::at(HOLDING)));
            let thread = thread::spawn({
                let (world, worker) = (world.clone(), worker.clone());
                move || {
                    come_back(&world, &worker, HOLDING);
                    world.read();
                    protocol::release(&*worker, SAFE);
                }
            });
            request(&world, UPDATE);
            world.change(GO_ON, 0);
            world.request(UPDATE, GO_ON);
            while !worker.is_away() {
                thread::yield_now();
            }
            world.write();
            resume(&world, UPDATE);
            thread.join().unwrap();
            assert_eq!(world.read(), 1);
        });
    }
}

#[test]
fn a_lock_that_is_held_at_a_pause_is_given_back() {
    model(1, || {
        let world = Arc::new(World::new(0));
        let lock = Arc::new((AtomicU32::new(1), Futex::new()));
        let workers = [Arc::new(Worker::at(HOLDING)), Arc::new(Worker::at(UNSAFE))];
        let holder = thread::spawn({
            let (world, worker, lock) = (world.clone(), workers[0].clone(), lock.clone());
            move || {
                come_back(&world, &worker, HOLDING);
                world.read();
                lock.0.store(0, Ordering::Release);
                lock.1.wake();
                protocol::release(&*worker, SAFE);
            }
        });
        let waiter = thread::spawn({
            let (world, worker, lock) = (world.clone(), workers[1].clone(), lock.clone());
            move || {
                // In the call that takes the lock.
                while lock.0.load(Ordering::Acquire) != 0 {
                    lock.1.wait(&lock.0, 1);
                }
                come_back(&world, &worker, UNSAFE);
                world.read();
                protocol::release(&*worker, SAFE);
            }
        });
        update_with_locks(&world, &workers);
        holder.join().unwrap();
        waiter.join().unwrap();
    });
}

#[test]
fn a_thread_that_was_created_counts_before_it_has_begun() {
    for mode in [0, FENCES] {
        model(2, move || {
            let world = Arc::new(World::new(mode));
            let workers = [Arc::new(Worker::new()), Arc::new(Worker::new())];
            let creator = thread::spawn({
                let (world, [worker, child]) = (world.clone(), workers.clone());
                move || {
                    come_back(&world, &worker, SAFE);
                    let before = world.read();
                    protocol::release(&*worker, UNSAFE);
                    child.born.store(UNSAFE, Ordering::Relaxed);
                    let begun = thread::spawn({
                        let world = world.clone();
                        move || {
                            come_back(&world, &child, SAFE);
                            child.born.store(0, Ordering::Release);
                            assert_eq!(world.read(), before, "the update came before the thread began");
                            protocol::release(&*child, SAFE);
                        }
                    });
                    come_back(&world, &worker, UNSAFE);
                    assert_eq!(world.read(), before, "the update came in the middle");
                    protocol::release(&*worker, SAFE);
                    begun.join().unwrap();
                }
            });
            update(&world, &workers, UPDATE);
            creator.join().unwrap();
        });
    }
}

#[test]
fn a_thread_alone_is_alone() {
    model(2, || {
        let world = Arc::new(World::new(0));
        let others = [Arc::new(Worker::new())];
        let thread = thread::spawn({
            let (world, worker) = (world.clone(), others[0].clone());
            move || {
                come_back(&world, &worker, UNSAFE);
                world.read();
                protocol::release(&*worker, UNSAFE);
                come_back(&world, &worker, UNSAFE);
                world.read();
                protocol::release(&*worker, UNSAFE);
            }
        });
        update(&world, &others, ALONE);
        thread.join().unwrap();
    });
}

/// Those who sleep on a lock's or a semaphore's word: the heir apart from others.
struct Sleepers {
    lock: Mutex<[u32; 2]>,
    conditions: [Condvar; 2],
}

impl Sleepers {
    fn new() -> Self {
        Sleepers { lock: Mutex::new([0; 2]), conditions: [Condvar::new(), Condvar::new()] }
    }

    fn sleep(&self, word: &AtomicU32, value: u32, is_heir: bool) {
        let mut counts = self.lock.lock().unwrap();
        if word.load(Ordering::Relaxed) == value {
            counts[usize::from(is_heir)] += 1;
            let mut counts = self.conditions[usize::from(is_heir)].wait(counts).unwrap();
            counts[usize::from(is_heir)] -= 1;
        }
    }

    fn wake(&self, who: Wake) {
        let counts = self.lock.lock().unwrap();
        match who {
            Wake::Nobody => (),
            // The kernel takes the first, of whatever kind.
            Wake::One if counts[0] > 0 => self.conditions[0].notify_one(),
            Wake::One => self.conditions[1].notify_one(),
            Wake::Heirs => self.conditions[1].notify_all(),
            Wake::All => self.conditions.iter().for_each(Condvar::notify_all),
        }
    }
}

/// Sleeps without a limit; gives up when told to.
struct Patient<'a> {
    sleepers: &'a Sleepers,
    looks_left: u32,
    /// What it claims once it has looked.
    claim: Option<Claim>,
    has_looked: bool,
    suspects: bool,
}

impl Claimant for Patient<'_> {
    fn claim(&mut self) -> Option<Claim> {
        self.claim.filter(|_| self.has_looked)
    }
    fn suspects(&mut self, _: Claim) -> bool {
        self.suspects
    }
}

impl Sleeper for Patient<'_> {
    fn gives_up(&mut self, _: u32) -> bool {
        self.has_looked = true;
        self.looks_left = self.looks_left.saturating_sub(1);
        self.looks_left == 0
    }
    fn sleep(&mut self, word: &AtomicU32, value: u32, is_heir: bool) {
        self.sleepers.sleep(word, value, is_heir);
    }
    fn wake(&mut self, _: &AtomicU32, who: Wake) {
        self.sleepers.wake(who);
    }
}

struct Locked {
    latch: Latch,
    sleepers: Sleepers,
    data: UnsafeCell<u32>,
    /// Members with smaller numbers wait for ever without a claim.
    starving_from: u32,
}

impl Locked {
    fn pass(&self, me: u32, looks: u32) -> Taken {
        let claim = (me >= self.starving_from).then(|| Claim::new(10 - u64::from(me), me));
        let (sleepers, has_looked, suspects) = (&self.sleepers, false, false);
        let mut sleeper = Patient { sleepers, looks_left: looks, claim, has_looked, suspects };
        let mut taken = self.latch.try_take(me);
        if taken == Taken::No {
            taken = self.latch.take(me, &mut sleeper);
        }
        if taken == Taken::Yes {
            // SAFETY: the checker sees to it.
            self.data.with_mut(|data| unsafe { *data += 1 });
            // Both ways to give it back.
            self.sleepers.wake(match me {
                1 => self.latch.give_back(),
                _ => self.latch.give_back_of(me).unwrap(),
            });
        }
        taken
    }
}

fn heir(claim: u64) -> Heir {
    Heir(AtomicU64::new(claim))
}

fn locked(starving_from: u32) -> Arc<Locked> {
    let latch = Latch { word: AtomicU32::new(0), releases: AtomicU32::new(0), heir: heir(0) };
    Arc::new(Locked { latch, sleepers: Sleepers::new(), data: UnsafeCell::new(0), starving_from })
}

#[test]
fn a_filters_lock_excludes_and_loses_no_wakeup() {
    for starving_from in [1, 2, 9] {
        model(2, move || three_pass(starving_from));
    }
}

fn three_pass(starving_from: u32) {
    let locked = locked(starving_from);
    let threads = [1, 2].map(|me| {
        let locked = locked.clone();
        thread::spawn(move || assert_eq!(locked.pass(me, u32::MAX), Taken::Yes))
    });
    assert_eq!(locked.pass(3, u32::MAX), Taken::Yes);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    // SAFETY: all are done.
    assert_eq!(locked.data.with(|data| unsafe { *data }), 3);
    assert!(locked.latch.heir.is_nobody());
}

#[test]
fn who_gives_up_does_not_have_it() {
    for looks in [1, 2] {
        model(2, move || {
            let locked = locked(1);
            let quitter = thread::spawn({
                let locked = locked.clone();
                move || locked.pass(1, looks)
            });
            let other = thread::spawn({
                let locked = locked.clone();
                move || locked.pass(2, u32::MAX)
            });
            assert_eq!(locked.pass(3, u32::MAX), Taken::Yes);
            assert_eq!(other.join().unwrap(), Taken::Yes);
            let passed = 2 + u32::from(quitter.join().unwrap() == Taken::Yes);
            // SAFETY: all are done.
            assert_eq!(locked.data.with(|data| unsafe { *data }), passed);
            assert_eq!(latch::owner(locked.latch.word.load(Ordering::Relaxed)), 0);
            assert!(locked.latch.heir.is_nobody());
        });
    }
}

#[test]
fn a_lock_that_is_collected_is_nobodys() {
    model(3, || {
        let locked = locked(9);
        let thread = thread::spawn({
            let locked = locked.clone();
            move || locked.pass(1, u32::MAX)
        });
        let is_killed = locked.latch.kill();
        if is_killed {
            // SAFETY: the checker sees to it that nobody uses it.
            locked.data.with_mut(|data| unsafe { *data += 10 });
        }
        let taken = thread.join().unwrap();
        assert!(is_killed || taken == Taken::Yes);
    });
}

/// An owner, an heir, and one that would like to come in between: when the owner gives the lock back, the heir gets it.
#[test]
fn what_is_given_back_is_the_heirs() {
    model(3, || {
        let locked = locked(2);
        assert_eq!(locked.latch.try_take(1), Taken::Yes);
        let heir = thread::spawn({
            let locked = locked.clone();
            move || locked.pass(2, u32::MAX)
        });
        let is_kept = locked.latch.word.load(Ordering::Relaxed) & latch::KEPT != 0;
        locked.sleepers.wake(locked.latch.give_back());
        // The owner comes again at once.
        if locked.latch.try_take(1) == Taken::Yes {
            // SAFETY: the checker sees to it.
            let passed = locked.data.with(|data| unsafe { *data });
            assert!(!is_kept || passed == 1, "taken from under the heir's nose");
            locked.sleepers.wake(locked.latch.give_back());
        }
        assert_eq!(heir.join().unwrap(), Taken::Yes);
        assert_eq!(locked.latch.try_take(1), Taken::Yes);
    });
}

/// The heir is gone, and has left a lock that is free but for it: who suspects that gets on, and things are as before.
#[test]
fn who_suspects_that_the_heir_is_gone_comes_next() {
    model(3, || {
        let locked = locked(1);
        locked.latch.word.store(latch::KEPT | latch::WAITERS, Ordering::Relaxed);
        locked.latch.heir.0.store(1, Ordering::Relaxed);
        let threads = [1, 2].map(|me| {
            let locked = locked.clone();
            thread::spawn(move || {
                let claim = Some(Claim::new(me.into(), me));
                let sleepers = &locked.sleepers;
                let mut sleeper =
                    Patient { sleepers, looks_left: u32::MAX, claim, has_looked: true, suspects: me == 1 };
                assert_eq!(locked.latch.take(me, &mut sleeper), Taken::Yes);
                assert!(locked.latch.is_of(me));
                // SAFETY: the checker sees to it.
                locked.data.with_mut(|data| unsafe { *data += 1 });
                locked.sleepers.wake(locked.latch.give_back());
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // SAFETY: all are done.
        assert_eq!(locked.data.with(|data| unsafe { *data }), 2);
        assert!(locked.latch.heir.is_nobody());
    });
}

struct Event {
    fraction: Fraction,
    word: AtomicU32,
    waiters: AtomicU32,
    heir: Heir,
    sleepers: Sleepers,
}

impl Event {
    fn new() -> Arc<Event> {
        Arc::new(Event {
            fraction: Fraction::new(),
            word: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
            heir: heir(0),
            sleepers: Sleepers::new(),
        })
    }

    fn semaphore(&self) -> Semaphore<'_> {
        let Event { fraction, word, waiters, heir, .. } = self;
        Semaphore { fraction, word, waiters, heir }
    }

    fn down(&self, me: u32, is_starving: bool) {
        let claim = is_starving.then(|| Claim::new(10 - u64::from(me), me));
        let (sleepers, has_looked, suspects) = (&self.sleepers, false, false);
        let mut sleeper = Patient { sleepers, looks_left: u32::MAX, claim, has_looked, suspects };
        let mut moved = self.semaphore().try_down(1);
        if moved == Moved::No {
            moved = self.semaphore().down(1, &mut sleeper);
        }
        assert_eq!(moved, Moved::Yes);
    }

    fn up(&self, times: u32) {
        if self.semaphore().up(times).1 {
            self.sleepers.wake(Wake::All);
        }
    }
}

#[test]
fn who_waits_for_an_event_is_woken_by_it() {
    model(3, || {
        let event = Event::new();
        let thread = thread::spawn({
            let event = event.clone();
            move || event.down(1, false)
        });
        (0..2).for_each(|_| event.up(2));
        thread.join().unwrap();
        assert!(event.fraction.is_idle() && event.fraction.kill());
    });
}

#[test]
fn an_heir_keeps_nobody_from_the_events_after_its_own() {
    for are_starving in [[true, false], [true, true]] {
        model(2, move || {
            let event = Event::new();
            let threads = [1, 2].map(|me: u32| {
                let event = event.clone();
                thread::spawn(move || event.down(me, are_starving[me as usize - 1]))
            });
            (0..2).for_each(|_| event.up(1));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(event.heir.is_nobody() && event.fraction.is_idle() && event.fraction.kill());
        });
    }
}
