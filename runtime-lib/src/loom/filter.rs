//! A filter in the process: a plan that was looked at in every detail, what it is about here, and how it fares.

use super::block::{self, Block};
use super::expression::{self, Places};
use super::members::Member;
use super::objects::Objects;
use super::report::Line;
use super::stack::{self, Frames};
use super::units;
use crate::sys;
use core::cell::UnsafeCell;
use core::mem::size_of;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use covsched_core::loom::abi::{Unit, LOCATION_MARKS};
use covsched_core::loom::plan::{
    ConstraintRecord, Frame, OpRecord, Part, PlanHeader, Switch, UnitRef, UnsafeAt, CONSTRAINT_ALONE,
    CONSTRAINT_MUTUAL, CONSTRAINT_ORDER, MAGIC, MAX_SIZE, MOST_FRAMES, NONE, OP_ALONE, OP_DOWN, OP_LEAVE,
    OP_LOCK, OP_TOGETHER, OP_UNLOCK, OP_UP, VERSION,
};
use covsched_core::loom::wire::{REPORT_LOCATION, REPORT_UNIT};
use covsched_core::rawlog::Plain;

/// [`Filter::state`]: its operations are done.
pub const INSTALLED: u32 = 0;
/// [`Filter::state`]: they do nothing; the engine is to take it out.
pub const BROKEN: u32 = 1;
/// [`Filter::state`]: taken out.
pub const GONE: u32 = 2;

/// How the process says by itself that a filter broke.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Not,
    Plainly,
    /// With a location, which the controller can translate.
    WithLocation,
}

/// Longest report.
const REPORT: usize = 240;

/// A filter.
#[repr(C)]
pub struct Filter {
    block: *mut Block,
    /// Its id; 0 before it is installed.
    pub id: AtomicU32,
    /// [`INSTALLED`], [`BROKEN`] or [`GONE`].
    state: AtomicU32,
    /// Milliseconds that a thread may wait.
    timeout: u32,
    /// When it was installed, in nanoseconds.
    pub since: AtomicU64,
    /// How often its operations ran, and threads had to wait.
    pub operations: AtomicU64,
    /// How often a thread had to wait.
    pub waits: AtomicU64,
    /// How often a thread was to release what it did not hold.
    pub faults: AtomicU64,
    is_breaking: AtomicBool,
    /// It broke, and the engine has taken it out.
    pub is_expelled: AtomicBool,
    report: UnsafeCell<Line<REPORT>>,
    /// Its locks and semaphores.
    pub objects: Objects,
    /// Next of the engine's list.
    pub next: UnsafeCell<*mut Filter>,
    plan: *const u8,
    length: usize,
    header: PlanHeader,
    /// The plan's units in this process; null: unloaded.
    places: *const AtomicPtr<Unit>,
    /// The plan's frames in this process.
    frames: *mut (usize, usize),
    frame_count: usize,
}

// SAFETY: atomic, unchanging, or the engine's.
unsafe impl Sync for Filter {}

impl Places for Filter {
    fn bias(&self, unit: u32) -> Option<u64> {
        let reference: UnitRef = *self.records(self.header.units).get(unit as usize)?;
        Some((self.unit(unit)? as *const Unit as u64).wrapping_sub(reference.address))
    }
}

/// Which records a plan's part may be read as.
fn is_inside<T>(part: Part, length: usize) -> bool {
    let bytes = (part.count as usize).checked_mul(size_of::<T>());
    let end = bytes.and_then(|bytes| bytes.checked_add(part.at as usize));
    // Texts and code may be anywhere; records are aligned.
    let alignment = core::mem::align_of::<T>().max(if size_of::<T>() == 1 { 1 } else { 8 });
    end.is_some_and(|end| end <= length) && (part.count == 0 || part.at as usize % alignment == 0)
}

impl Filter {
    /// Makes one of a plan; it knows nothing of the program's threads yet.
    pub fn new(plan: &[u8], default_timeout: u32) -> Result<&'static Filter, &'static str> {
        const SHAPE: &str = "the plan is damaged: a part of it is not inside";
        let header = PlanHeader::read(plan).ok_or("the plan is cut off")?;
        if header.magic != MAGIC {
            return Err("this is no compiled filter");
        }
        if header.version != VERSION {
            return Err("the plan is another version's");
        }
        let length = plan.len();
        if header.size as usize != length || length > MAX_SIZE {
            return Err("the plan's size is wrong");
        }
        let are_inside = is_inside::<UnitRef>(header.units, length)
            && is_inside::<Switch>(header.switches, length)
            && is_inside::<UnsafeAt>(header.unsafe_at, length)
            && is_inside::<Frame>(header.frames, length)
            && is_inside::<OpRecord>(header.ops, length)
            && is_inside::<ConstraintRecord>(header.constraints, length)
            && [header.code, header.name, header.source].iter().all(|&part| is_inside::<u8>(part, length));
        if !are_inside {
            return Err(SHAPE);
        }
        let frame_count = header.frames.count as usize;
        if frame_count > MOST_FRAMES {
            return Err("the plan has too many frames");
        }
        let plan_at = size_of::<Filter>().next_multiple_of(64);
        let places_at = plan_at + length.next_multiple_of(64);
        let frames_at = places_at + header.units.count as usize * size_of::<AtomicPtr<Unit>>();
        let bytes = frames_at + frame_count * size_of::<(usize, usize)>();
        let block = block::map(bytes).ok_or("no memory")?;
        let body = block::body(block);
        let filter = body.cast::<Filter>();
        // SAFETY: new memory of that size; zeros are right for what is not written.
        unsafe {
            core::ptr::copy_nonoverlapping(plan.as_ptr(), body.add(plan_at), length);
            (*filter).block = block;
            (*filter).timeout = if header.timeout_ms == 0 { default_timeout } else { header.timeout_ms };
            (*filter).plan = body.add(plan_at);
            (*filter).length = length;
            (*filter).header = header;
            (*filter).next = UnsafeCell::new(null_mut());
            (*filter).places = body.add(places_at).cast();
            (*filter).frames = body.add(frames_at).cast();
        }
        // SAFETY: complete but for its units, and what they say.
        let checked = unsafe {
            Self::find_units(filter)
                .and_then(|()| (*filter).check())
                .and_then(|()| (*filter).place_frames())
                .map(|count| (*filter).frame_count = count)
        };
        // SAFETY: as above.
        checked.map(|()| unsafe { &*filter }).inspect_err(|_| block::unmap(block))
    }

    /// # Safety
    /// Nobody else knows the filter.
    unsafe fn find_units(filter: *mut Filter) -> Result<(), &'static str> {
        // SAFETY: by the contract; room for all of them.
        unsafe {
            let references: &[UnitRef] = (*filter).records((*filter).header.units);
            for (index, reference) in references.iter().enumerate() {
                let earlier = references[..index].iter().filter(|other| other.hash == reference.hash).count();
                let unit = units::find(reference.hash, earlier).ok_or(OTHER_BUILD)?;
                (*filter)
                    .places
                    .cast_mut()
                    .add(index)
                    .write(AtomicPtr::new((unit as *const Unit).cast_mut()));
            }
        }
        Ok(())
    }

    /// Where the frames are in this process; how many are left when those that touch are one.
    fn place_frames(&self) -> Result<usize, &'static str> {
        const WRONG: &str = "the plan has a frame that is no code";
        let records: &[Frame] = self.records(self.header.frames);
        for (index, frame) in records.iter().enumerate() {
            let bias = self.bias(frame.unit).ok_or(WRONG)?;
            let (first, last) = (bias.wrapping_add(frame.first), bias.wrapping_add(frame.last));
            if first > last {
                return Err(WRONG);
            }
            // SAFETY: room for all of them, in words.
            unsafe { self.frames.add(index).write((first as usize, last as usize)) };
        }
        if records.is_empty() {
            return Ok(0);
        }
        // SAFETY: so many have been written, and nobody else knows the filter.
        Ok(stack::join(unsafe { core::slice::from_raw_parts_mut(self.frames, records.len()) }))
    }

    /// Every index, and every expression.
    fn check(&self) -> Result<(), &'static str> {
        let units = self.header.units.count;
        let unit = |index: u32| {
            let place = (index < units).then(|| self.unit(index)).flatten();
            place.ok_or("the plan names a unit that it does not have")
        };
        for switch in self.switches() {
            if switch.function >= unit(switch.unit)?.function_count {
                return Err("the plan names a function that is not there");
            }
        }
        let mut before = (0, 0);
        for row in self.unsafe_at() {
            let end = row.first.checked_add(row.count);
            let count = unit(row.unit)?.location_count;
            let end = end.filter(|&end| end <= count).ok_or("the plan names a location that is not there")?;
            if row.marks > LOCATION_MARKS.into() {
                return Err("the plan says something of a location that is not known");
            }
            // Each location once: a small plan makes no long work.
            if (row.unit, row.first) < before {
                return Err("the plan's locations are not in order");
            }
            before = (row.unit, end);
        }
        let constraints = self.constraints();
        if constraints.len() > usize::from(u16::MAX) {
            return Err("the plan has too many constraints");
        }
        for op in self.ops() {
            if op.slot >= unit(op.unit)?.slot_count {
                return Err("the plan names a slot that is not there");
            }
            let constraint = constraints
                .get(usize::from(op.constraint))
                .ok_or("the plan names a constraint that it does not have")?;
            let fits = match op.kind {
                OP_LOCK | OP_UNLOCK => constraint.kind == CONSTRAINT_MUTUAL,
                OP_LEAVE => constraint.kind == CONSTRAINT_MUTUAL || constraint.kind == CONSTRAINT_ALONE,
                OP_UP | OP_DOWN => {
                    constraint.kind == CONSTRAINT_ORDER && u32::from(op.step) < constraint.steps
                }
                OP_ALONE | OP_TOGETHER => constraint.kind == CONSTRAINT_ALONE,
                _ => false,
            };
            if !fits {
                return Err("the plan has an operation that does not belong to its constraint");
            }
            for at in [op.key, op.times] {
                if at != NONE {
                    expression::check(self.code(), at, self)?;
                }
            }
        }
        Ok(())
    }

    /// # The plan's parts
    /// All were found to be inside.
    fn records<T: Plain>(&self, part: Part) -> &[T] {
        if part.count == 0 {
            return &[];
        }
        // SAFETY: inside, aligned, and any bytes are valid.
        unsafe { core::slice::from_raw_parts(self.plan.add(part.at as usize).cast(), part.count as usize) }
    }

    fn bytes(&self, part: Part) -> &[u8] {
        // SAFETY: inside.
        unsafe { core::slice::from_raw_parts(self.plan.add(part.at as usize), part.count as usize) }
    }

    fn places(&self) -> &[AtomicPtr<Unit>] {
        // SAFETY: so many have been written.
        unsafe { core::slice::from_raw_parts(self.places, self.header.units.count as usize) }
    }

    /// The unit with this index in the plan; `None` if it was unloaded. In a round, or for its address.
    pub fn unit(&self, index: u32) -> Option<&'static Unit> {
        // SAFETY: registered, until it is taken out here.
        unsafe { self.places()[index as usize].load(Ordering::Acquire).as_ref() }
    }

    /// A unit goes, in a round. A filter that is about it does nothing from then on: it would not see the unit come back.
    pub fn unload(&self, unit: &Unit, is_installed: bool) {
        let places =
            || self.places().iter().filter(|place| core::ptr::eq(place.load(Ordering::Relaxed), unit));
        if places().next().is_none() {
            return;
        }
        places().for_each(|place| place.store(null_mut(), Ordering::Release));
        let told = if is_installed { Told::Plainly } else { Told::Not };
        self.break_with(told, |report| {
            report.push("code").push(REPORT_UNIT).hex(unit.hash).push(", which it is about, was unloaded");
        });
    }

    /// Functions to be slow.
    pub fn switches(&self) -> &[Switch] {
        self.records(self.header.switches)
    }

    /// Locations to be evacuated, in rows.
    pub fn unsafe_at(&self) -> &[UnsafeAt] {
        self.records(self.header.unsafe_at)
    }

    /// Whose frames make threads unsafe that are at locations with "by caller".
    pub fn frames(&self) -> Frames<'_> {
        if self.frame_count == 0 {
            return Frames(&[]);
        }
        // SAFETY: so many have been written.
        Frames(unsafe { core::slice::from_raw_parts(self.frames, self.frame_count) })
    }

    /// Operations at slots.
    pub fn ops(&self) -> &[OpRecord] {
        self.records(self.header.ops)
    }

    /// Constraints.
    pub fn constraints(&self) -> &[ConstraintRecord] {
        self.records(self.header.constraints)
    }

    /// Expressions.
    pub fn code(&self) -> &[u8] {
        self.bytes(self.header.code)
    }

    /// Its file's name.
    pub fn name(&self) -> &[u8] {
        self.bytes(self.header.name)
    }

    /// Its text.
    pub fn source(&self) -> &[u8] {
        self.bytes(self.header.source)
    }

    /// Why it was taken out.
    pub fn report(&self) -> &[u8] {
        if self.state() == INSTALLED {
            return &[];
        }
        // SAFETY: written before the state changed, once.
        unsafe { (*self.report.get()).bytes() }
    }

    /// [`INSTALLED`], [`BROKEN`] or [`GONE`].
    #[inline]
    pub fn state(&self) -> u32 {
        self.state.load(Ordering::Acquire)
    }

    /// Whether it still does something.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.state() == INSTALLED
    }

    /// Nanoseconds that a thread may wait.
    pub fn patience(&self) -> u64 {
        u64::from(self.timeout) * 1_000_000
    }

    /// It does nothing from now on; waiting threads go on.
    pub fn end(&self) {
        let _ = self.state.compare_exchange(INSTALLED, GONE, Ordering::AcqRel, Ordering::Relaxed);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.objects.for_each(|object| object.wake());
    }

    /// A thread waited too long, or something else is wrong: the filter does nothing from now on, with a report.
    pub fn break_down(&self, member: &Member, location: usize, constraint: u16, why: &str) {
        self.break_with(Told::WithLocation, |report| {
            let (unit, number) = units::locate(location).unwrap_or((0, 0));
            report.push("thread ").number(member.tid().into()).push(" at ");
            report.push(REPORT_LOCATION).number(number.into()).push(REPORT_UNIT).hex(unit);
            report.push(" ").push(why).push(", constraint ");
            report.number(u64::from(constraint) + 1);
            if let Some(text) = self.text_of(constraint) {
                report.push(": ").push_bytes(text);
            }
        });
    }

    fn break_with(&self, told: Told, say: impl FnOnce(&mut Line<REPORT>)) {
        if self.is_breaking.swap(true, Ordering::AcqRel) {
            return;
        }
        // SAFETY: the only one who gets here.
        say(unsafe { &mut *self.report.get() });
        let _ = self.state.compare_exchange(INSTALLED, BROKEN, Ordering::AcqRel, Ordering::Relaxed);
        super::alone::filter_ended(self);
        self.wake_all();
        if told == Told::Not {
            return;
        }
        let mut line = Line::<{ REPORT + 128 }>::new();
        line.push("covsched: loom: filter ").number(self.id.load(Ordering::Relaxed).into());
        line.push(" is taken out: ").push_bytes(self.report());
        if told == Told::WithLocation {
            // Which line that is says the program's file, which only the controller reads.
            line.push(" (`covsched loom ls ").number(sys::process_id().into()).push("` names file and line)");
        }
        line.push("\n");
        sys::write_error_bytes(line.bytes());
    }

    fn text_of(&self, constraint: u16) -> Option<&[u8]> {
        let part = self.constraints().get(usize::from(constraint))?.text;
        self.source().get(part.at as usize..(part.at as usize).checked_add(part.count as usize)?)
    }

    /// Its memory and that of its objects.
    pub fn blocks(&self, mut body: impl FnMut(*mut Block)) {
        self.objects.slabs(&mut body);
        body(self.block);
    }

    /// It was never installed.
    pub fn discard(&self) {
        self.blocks(block::unmap);
    }
}

/// What the controller recognizes too.
pub const OTHER_BUILD: &str = "the filter was compiled for another build";
