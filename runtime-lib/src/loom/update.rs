//! Updates: which filters are installed, and evacuation (Wu 5.3.3, Fig. 5.11) to change that.
//!
//! An update first makes everything that it needs. Then come rounds: threads are asked to pause where it is safe, and when all have,
//! cells and switches change; if that takes too long, all go on for a while, and the next round has more time. A thread in a
//! call that may block counts as paused there; one that runs on unsafe ground goes on until that ends. Where who called decides what is
//! unsafe, the stack of a thread that blocks is looked at ([`stack`](super::stack)), once for each time that it blocks, and only if it
//! would be in the way; one that runs looks at its own ([`look`]) where it might pause.
//!
//! # Locks
//! A thread that paused with a lock of the program, or of a filter, keeps those out who want it, and they may have to get on first.
//! So when nothing gets better, those who may hold something go on ([`protocol::GO_ON`]), and pause where they do not, while all others
//! stay.
//!
//! # Removal
//! What is unsafe is unsafe for a filter that comes: a thread must not release what it has not taken, or count as an event
//! whose partner has happened before. A filter that goes takes its locks and semaphores with it, and what threads hold of
//! them ([`holdings::purge`]); who waits for it goes on. So it can go wherever threads are: they only must not be in the
//! middle of one of its operations. Replaced, the new one's places count.

use super::block::{self, Block, Retired};
use super::filter::{Filter, BROKEN, GONE};
use super::members::{self, Member};
use super::protocol::{self, Shared};
use super::slot::{Entry, List};
use super::{alone, holdings, look, units, with_control, words, GATE, SETTINGS};
use crate::lock::Lock;
use crate::sys;
use core::mem::size_of;
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU8, AtomicUsize, Ordering};
use covsched_core::loom::abi::{Unit, LOCATION_LASTING, LOCATION_SAFE, SWITCH_SLOW};
use covsched_core::loom::wire::ThreadAt;

/// Held in a round, but while that gives way to a fork.
pub static ROUND: Lock = Lock::new();

/// How many threads wait for [`ROUND`].
static WAITING: AtomicU32 = AtomicU32::new(0);

/// Takes [`ROUND`]. An update that may be waiting for this thread gives way.
pub fn acquire_round() {
    WAITING.fetch_add(1, Ordering::Relaxed);
    ROUND.acquire();
    WAITING.fetch_sub(1, Ordering::Relaxed);
}

/// In a forked child, where nobody waits, and no update is under way.
pub fn after_fork_in_child() {
    ROUND.reset();
    WAITING.store(0, Ordering::Relaxed);
    look::end();
}

/// Runs `body` while no update is in a round, and no unit goes.
pub fn in_round<R>(body: impl FnOnce() -> R) -> R {
    let mask = sys::block_signals();
    acquire_round();
    let result = body();
    ROUND.release();
    sys::restore_signals(mask);
    result
}

/// A cell and the list that it gets.
struct CellList {
    /// Null: its unit was unloaded.
    cell: AtomicPtr<AtomicUsize>,
    list: *const List,
}

impl CellList {
    fn set(&self, list: *const List) {
        // SAFETY: a cell of a unit that is there, since this is a round.
        if let Some(cell) = unsafe { self.cell.load(Ordering::Relaxed).as_ref() } {
            cell.store(list as usize, Ordering::Release);
        }
    }
}

/// Everything that is installed. The engine's; what is atomic changes in rounds, and a thread that unloads units looks there.
pub struct Installed {
    /// Filters, newest first, those that were expelled too.
    filters: AtomicPtr<Filter>,
    /// A filter that is to come.
    adding: AtomicPtr<Filter>,
    /// What is in the cells: a block that begins with its number of [`CellList`]s.
    cells: AtomicPtr<Block>,
    /// What is to be there.
    coming: AtomicPtr<Block>,
    retired: Retired,
    last_id: u32,
}

/// What came of an update.
pub struct Outcome {
    /// How many rounds.
    pub tries: u32,
    /// Whether it was done.
    pub is_done: bool,
}

/// Most threads that a report names.
pub const MOST_IN_REPORT: usize = 64;

/// Threads that stood in the way.
pub struct InTheWay {
    /// The first `count` are.
    pub threads: [ThreadAt; MOST_IN_REPORT],
    /// How many.
    pub count: usize,
}

impl InTheWay {
    /// Nobody.
    pub const fn new() -> Self {
        const NOBODY: ThreadAt = ThreadAt { unit: 0, location: 0, thread: 0, state: 0, in_the_way: 0 };
        InTheWay { threads: [NOBODY; MOST_IN_REPORT], count: 0 }
    }

    fn add(&mut self, thread: ThreadAt) {
        if let Some(place) = self.threads.get_mut(self.count) {
            *place = thread;
            self.count += 1;
        }
    }
}

impl Installed {
    /// Nothing.
    pub const fn new() -> Self {
        Installed {
            filters: AtomicPtr::new(null_mut()),
            adding: AtomicPtr::new(null_mut()),
            cells: AtomicPtr::new(null_mut()),
            coming: AtomicPtr::new(null_mut()),
            retired: Retired::new(),
            last_id: 0,
        }
    }

    /// All filters, newest first.
    pub fn all(&self) -> impl Iterator<Item = &'static Filter> + Clone {
        let mut next = self.filters.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: filters of the list stay until the engine takes them off.
            let filter = unsafe { next.as_ref()? };
            // SAFETY: only the engine touches links.
            next = unsafe { *filter.next.get() };
            Some(filter)
        })
    }

    /// The filter with this id.
    pub fn find(&self, id: u32) -> Option<&'static Filter> {
        self.all().find(|filter| filter.id.load(Ordering::Relaxed) == id)
    }

    /// Replaces `removed` by `added`, either of which may be missing, in one step. `added` gets its id. On failure all is as it was.
    pub fn change(
        &mut self,
        added: Option<&'static Filter>,
        removed: Option<&'static Filter>,
        in_the_way: &mut InTheWay,
    ) -> Result<Outcome, &'static str> {
        if let Some(added) = added {
            added.id.store(self.last_id + 1, Ordering::Relaxed);
        }
        let is_in = |filter: &&'static Filter| {
            filter.is_active() && !removed.is_some_and(|removed| core::ptr::eq(removed, *filter))
        };
        let cells = in_round(|| {
            // SAFETY: lists are made of installed filters, whose units are there in a round.
            let made = unsafe { make_lists(self.all().filter(is_in).chain(added)) };
            made.inspect(|&made| self.coming.store(made, Ordering::Relaxed))
        })?;
        let mut evacuation = Evacuation { added, in_the_way };
        // All of it while the round lasts: a forked child finds the whole change, or nothing of it.
        let outcome = evacuation.run(|| {
            if let Some(removed) = removed {
                removed.end();
                alone::filter_ended(removed);
                holdings::purge(removed);
            }
            let old = self.cells.load(Ordering::Relaxed);
            // SAFETY: all threads are paused, or wait in a slot and look at their cell again.
            unsafe {
                for_each_cell(old, |cell| cell.set(null()));
                for_each_cell(cells, |cell| cell.set(cell.list));
            }
            removed.into_iter().for_each(|filter| set_slow(filter, SETTINGS.is_slow()));
            self.all().filter(is_in).chain(added).for_each(|filter| set_slow(filter, true));
            self.cells.store(cells, Ordering::Relaxed);
            self.coming.store(null_mut(), Ordering::Relaxed);
            if !old.is_null() {
                self.retired.add(old);
            }
            if let Some(added) = added {
                self.last_id += 1;
                added.since.store(sys::monotonic_nanoseconds(), Ordering::Relaxed);
                // SAFETY: only the engine touches links.
                unsafe { *added.next.get() = self.filters.load(Ordering::Relaxed) };
                self.filters.store((added as *const Filter).cast_mut(), Ordering::Release);
            }
            // One that broke stays in the list, for its report.
            removed
                .filter(|removed| removed.state() == GONE)
                .into_iter()
                .for_each(|removed| self.forget(removed));
        });
        if outcome.is_done {
            return Ok(outcome);
        }
        in_round(|| self.coming.store(null_mut(), Ordering::Relaxed));
        if !cells.is_null() {
            block::unmap(cells);
        }
        match added {
            Some(added) if !added.is_active() => Err(UNLOADED),
            _ => Ok(outcome),
        }
    }

    /// A filter is made, for a change; afterwards there is none.
    pub fn prepare(
        &self,
        make: impl FnOnce() -> Result<&'static Filter, &'static str>,
    ) -> Result<&'static Filter, &'static str> {
        in_round(|| {
            make()
                .inspect(|filter| self.adding.store((*filter as *const Filter).cast_mut(), Ordering::Relaxed))
        })
    }

    /// The end of what [`Installed::prepare`] began.
    pub fn prepared(&self) {
        in_round(|| self.adding.store(null_mut(), Ordering::Relaxed));
    }

    /// A unit goes. In a round, by the thread that unloads it.
    pub fn unload(&self, unit: &'static Unit) {
        // SAFETY: registered until now.
        let slots = unsafe { units::slots(unit) }.as_ptr_range();
        for cells in [&self.cells, &self.coming] {
            // SAFETY: blocks of make_lists.
            unsafe {
                for_each_cell(cells.load(Ordering::Relaxed), |cell| {
                    if slots.contains(&cell.cell.load(Ordering::Relaxed).cast_const()) {
                        cell.cell.store(null_mut(), Ordering::Relaxed);
                    }
                });
            }
        }
        self.all().for_each(|filter| filter.unload(unit, true));
        // SAFETY: the engine waits for the round before it gives it back.
        if let Some(filter) = unsafe { self.adding.load(Ordering::Relaxed).as_ref() } {
            filter.unload(unit, false);
        }
    }

    /// Whether a filter that broke still has operations in cells, or slow functions.
    pub fn first_to_expel(&self) -> Option<&'static Filter> {
        self.all().find(|filter| filter.state() == BROKEN && !filter.is_expelled.load(Ordering::Relaxed))
    }

    /// A filter was not installed. Threads may be looking at their stacks for it.
    pub fn drop_refused(&mut self, filter: &'static Filter) {
        ROUND.acquire();
        filter.blocks(|block| self.retired.add(block));
        ROUND.release();
    }

    /// Forgets a filter that broke and was taken out.
    pub fn drop_report(&mut self, filter: &'static Filter) {
        ROUND.acquire();
        self.forget(filter);
        ROUND.release();
    }

    /// Forgets a filter that is not in any cell; in a round, since a forked child has the list too.
    fn forget(&mut self, filter: &'static Filter) {
        let mut at: *mut *mut Filter = self.filters.get_mut();
        // SAFETY: the engine's list.
        unsafe {
            while !(*at).is_null() {
                if core::ptr::eq(*at, filter) {
                    *at = *filter.next.get();
                    break;
                }
                at = (**at).next.get();
            }
        }
        filter.blocks(|block| self.retired.add(block));
    }

    /// How many blocks of memory are left behind.
    pub fn retired_blocks(&self) -> usize {
        self.retired.count()
    }

    /// Gives back memory that nobody reads any more.
    pub fn collect(&mut self) {
        ROUND.acquire();
        self.retired.collect();
        self.all().for_each(|filter| filter.objects.collect());
        ROUND.release();
    }
}

fn set_slow(filter: &Filter, is_slow: bool) {
    for switch in filter.switches() {
        let Some(unit) = filter.unit(switch.unit) else { continue };
        // SAFETY: a registered unit; checked numbers. All threads are paused, and the engine alone writes these bits.
        let word = unsafe { &units::functions(unit)[switch.function as usize] };
        let old = word.load();
        let new = if is_slow { old | SWITCH_SLOW } else { old & !SWITCH_SLOW };
        word.store(new, Ordering::Relaxed);
    }
}

/// An operation and where it goes.
#[derive(Clone, Copy)]
struct Placed {
    cell: &'static AtomicUsize,
    location: usize,
    entry: Entry,
}

/// One block with the lists of all filters' operations: first the table of cells, then lists.
///
/// # Safety
/// Units are there.
unsafe fn make_lists(
    filters: impl Iterator<Item = &'static Filter> + Clone,
) -> Result<*mut Block, &'static str> {
    let count: usize = filters.clone().map(|filter| filter.ops().len()).sum();
    if count == 0 {
        return Ok(null_mut());
    }
    let scratch = block::map(count * size_of::<Placed>()).ok_or("no memory")?;
    let placed = block::body(scratch).cast::<Placed>();
    let mut filled = 0;
    for filter in filters {
        let id = filter.id.load(Ordering::Relaxed);
        for (number, op) in filter.ops().iter().enumerate() {
            let Some(unit) = filter.unit(op.unit) else { continue };
            // SAFETY: a registered unit; a checked number.
            let cell = unsafe { &units::slots(unit)[op.slot as usize] };
            let location = unit.locations as usize + unit.slot_base as usize + op.slot as usize;
            let entry = Entry { filter, op: *op, order: u64::from(id) << 32 | (number as u64 + 1) };
            // SAFETY: there is room for all.
            unsafe { placed.add(filled).write(Placed { cell, location, entry }) };
            filled += 1;
        }
    }
    // SAFETY: so many have been written.
    let placed = unsafe { core::slice::from_raw_parts_mut(placed, filled) };
    let address = |placed: &Placed| placed.cell as *const AtomicUsize as usize;
    placed.sort_unstable_by_key(|placed| (address(placed), placed.entry.order));
    let cells = placed.chunk_by(|a, b| address(a) == address(b)).count();
    let table = size_of::<usize>() * 2 + cells * size_of::<CellList>();
    let Some(block) = block::map(table + cells * size_of::<List>() + filled * size_of::<Entry>()) else {
        block::unmap(scratch);
        return Err("no memory");
    };
    let body = block::body(block);
    // SAFETY: room for the table, and then for each list with its entries. All are of words.
    unsafe {
        body.cast::<usize>().write(cells);
        let mut cell = body.add(size_of::<usize>() * 2).cast::<CellList>();
        let mut list = body.add(table).cast::<List>();
        for chunk in placed.chunk_by(|a, b| address(a) == address(b)) {
            list.write(List { location: chunk[0].location, count: chunk.len() });
            let mut entry = list.add(1).cast::<Entry>();
            for placed in chunk {
                entry.write(placed.entry);
                entry = entry.add(1);
            }
            let place = (chunk[0].cell as *const AtomicUsize).cast_mut();
            cell.write(CellList { cell: AtomicPtr::new(place), list });
            cell = cell.add(1);
            list = entry.cast();
        }
    }
    block::unmap(scratch);
    Ok(block)
}

/// # Safety
/// A block of [`make_lists`], or null.
unsafe fn for_each_cell(block: *mut Block, body: impl FnMut(&CellList)) {
    if block.is_null() {
        return;
    }
    let at = block::body(block);
    // SAFETY: by the contract.
    unsafe {
        let count = at.cast::<usize>().read();
        let table = at.add(size_of::<usize>() * 2).cast::<CellList>();
        core::slice::from_raw_parts(table, count).iter().for_each(body);
    }
}

/// Why a filter could not be installed.
const UNLOADED: &str = "code that the filter is about was unloaded meanwhile";

struct Evacuation<'a> {
    added: Option<&'static Filter>,
    in_the_way: &'a mut InTheWay,
}

/// Nanoseconds.
const MILLISECOND: u64 = 1_000_000;
/// How long the first round takes in which nothing gets better, and the longest.
const ROUND_TIME: (u64, u64) = (50 * MILLISECOND, 200 * MILLISECOND);
/// How long nothing may get better before those who may hold a lock go on, and then before they stay again; twice as long each time.
const STALL_TIME: (u64, u64) = (MILLISECOND, 8 * MILLISECOND);
/// The former, where nobody in the way blocks.
const RUNNING_TIME: u64 = 20 * MILLISECOND;
/// How long threads run between rounds, at most: threads in step must not be so each time.
const BETWEEN: (u64, u64) = (MILLISECOND, 20 * MILLISECOND);

impl Evacuation<'_> {
    /// Rounds until all are paused, then `update`.
    fn run(&mut self, update: impl FnOnce()) -> Outcome {
        let begun = sys::monotonic_nanoseconds();
        let (mut limit, mut between) = (ROUND_TIME.0, BETWEEN.0);
        members::forget_vanished();
        let mut tries = 0;
        let is_done = loop {
            tries += 1;
            ROUND.acquire();
            if self.has_ended() {
                self.finish();
                ROUND.release();
                break false;
            }
            self.mark(true);
            members::forget_findings();
            look::begin(self.added);
            with_control(|| {
                units::set_waiting(true);
                GATE.request(protocol::UPDATE, 0);
            });
            let is_empty = self.wait_until_empty(limit);
            let waited = sys::monotonic_nanoseconds() - begun;
            let is_last = tries >= SETTINGS.tries() || waited > SETTINGS.patience();
            if is_empty && !self.has_ended() {
                update();
                self.finish();
                resume();
                break true;
            }
            if is_last {
                self.in_the_way.count = 0;
                members::for_each(|member| {
                    let described = members::describe(member);
                    if described.in_the_way != 0 {
                        self.in_the_way.add(described);
                    }
                });
                self.finish();
            }
            resume();
            if is_last {
                break false;
            }
            members::forget_vanished();
            let part = covsched_core::hash::mix(sys::monotonic_nanoseconds()) % between;
            sys::sleep_nanoseconds((between / 4 + part * 3 / 4) as u32);
            limit = (limit * 2).min(ROUND_TIME.1);
            between = (between * 2).min(BETWEEN.1);
        };
        Outcome { tries, is_done }
    }

    /// Sets, or clears, what the bytes of all locations that matter say of this update.
    fn mark(&self, is_set: bool) {
        let Some(filter) = self.added else { return };
        for row in filter.unsafe_at() {
            let Some(unit) = filter.unit(row.unit) else { continue };
            // SAFETY: a registered unit.
            let bytes = unsafe { units::locations(unit) };
            let marks = if is_set { row.marks as u8 } else { LOCATION_SAFE };
            // Checked when the plan came.
            let row = &bytes[row.first as usize..][..row.count as usize];
            let keep = |byte: &AtomicU8| byte.load(Ordering::Relaxed) & LOCATION_LASTING;
            row.iter().for_each(|byte| byte.store(marks | keep(byte), Ordering::Release));
        }
    }

    /// After the last round.
    fn finish(&self) {
        look::end();
        self.mark(false);
    }

    /// Code that the filter is about was unloaded.
    fn has_ended(&self) -> bool {
        self.added.is_some_and(|added| !added.is_active())
    }

    /// Whether all threads came to be at safe places in time.
    fn wait_until_empty(&self, limit: u64) -> bool {
        let end = sys::monotonic_nanoseconds() + limit;
        let (mut stall, mut goes_on) = (STALL_TIME, false);
        loop {
            let is_empty = self.watch(goes_on, if goes_on { stall.1 } else { stall.0 }, limit);
            if is_empty && !goes_on {
                return true;
            }
            if !is_empty && (sys::monotonic_nanoseconds() > end || self.has_ended()) {
                return false;
            }
            if goes_on {
                with_control(|| GATE.request(protocol::UPDATE, protocol::GO_ON));
                stall = (stall.0 * 2, stall.1 * 2);
            } else {
                with_control(|| GATE.change(protocol::GO_ON, 0));
            }
            goes_on = !goes_on;
        }
    }

    /// Waits until nobody is in the way, or nothing has changed for the better for so long: threads that only need a
    /// processor would not get it any sooner if all went on. Without a thread that blocks in the way, nobody waits for a lock, unless
    /// by going round, so that takes longer. With `goes_on`, those who were let go are not waited for, and it is enough if nobody
    /// blocks any more: all who are let go may come back to where they were in the way.
    fn watch(&self, goes_on: bool, stall: u64, limit: u64) -> bool {
        const MOST_LIMITS: u64 = 5;
        let begun = sys::monotonic_nanoseconds();
        let (mut end, mut fewest, mut looks, mut was_blocked) = (begun + stall, usize::MAX, 0, false);
        loop {
            let (mut in_the_way, mut blocked) = (0, 0);
            members::for_each(|member| {
                if !(goes_on && member.is_let_go() || self.is_out_of_the_way(member)) {
                    in_the_way += 1;
                    blocked += usize::from(protocol::released_at(member).is_some());
                }
            });
            if in_the_way == 0 || (goes_on && was_blocked && blocked == 0) {
                return true;
            }
            was_blocked |= blocked > 0;
            looks += 1;
            super::wait_a_little(looks);
            if WAITING.load(Ordering::Relaxed) > 0 {
                give_way();
            }
            if in_the_way < fewest || looks % 8 == 0 {
                let now = sys::monotonic_nanoseconds();
                if in_the_way < fewest {
                    fewest = in_the_way;
                    end = (now + stall).min(begun + MOST_LIMITS * limit);
                }
                if now > end && (goes_on || blocked > 0 || now > begun + RUNNING_TIME) {
                    return false;
                }
            }
        }
    }

    /// First the birth, then the word: a thread that has begun gives up the former while the latter says so.
    fn is_out_of_the_way(&self, member: &'static Member) -> bool {
        if member.unsafe_birth().is_some() {
            return false;
        }
        let Some(at) = protocol::released_at(member) else { return false };
        if member.is_safe(at) || member.is_found_outside() {
            return true;
        }
        let frames = self.added.map(|filter| filter.frames()).filter(|frames| !frames.0.is_empty());
        frames.is_some_and(|frames| member.find_out(frames))
    }
}

/// A thread forks, or unloads code; it may be one that is in the way. It does so in the middle of a round as between two.
fn give_way() {
    // Others may come again and again.
    const MOST_LOOKS: u32 = 200;
    ROUND.release();
    let mut looks = 0;
    while WAITING.load(Ordering::Relaxed) > 0 && looks < MOST_LOOKS {
        looks += 1;
        super::wait_a_little(looks);
    }
    ROUND.acquire();
}

/// All go on.
fn resume() {
    with_control(|| {
        units::set_waiting(words::PENDING.load(Ordering::Relaxed) & protocol::ALONE != 0);
        GATE.change(0, protocol::UPDATE | protocol::GO_ON);
    });
    ROUND.release();
}
