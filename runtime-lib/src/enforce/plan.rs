//! The plan's files, mapped, and what the runtime keeps beside them.

use super::{objects, FREE};
use crate::log::Own;
use crate::sys;
use core::mem::size_of;
use core::slice;
use core::sync::atomic::{AtomicU64, Ordering};
use covsched_core::plan::{
    status_size, Link, PlanHeader, PlanObject, PlanThread, Progress, Status, Step, NONE, NOT_MADE,
    PLAN_MAGIC, RUNNING, STATUS_HEAD, STATUS_MAGIC, VERSION,
};
use covsched_core::ProgramId;

/// Set once at start, before there is a second thread.
static PLAN: Own<Option<Plan>> = Own::new(None);

#[derive(Clone, Copy)]
struct Plan {
    header: &'static PlanHeader,
    threads: &'static [PlanThread],
    objects: &'static [PlanObject],
    steps: &'static [Step],
    links: &'static [Link],
    status: &'static Status,
    progress: &'static [Progress],
    /// Clocks of the signals that woke somebody, if the run is recorded.
    wakers: &'static [AtomicU64],
    /// Where the executable was loaded.
    bias: usize,
}

// SAFETY: read only after start, or atomic.
unsafe impl Sync for Plan {}

/// Why a plan cannot be followed.
pub enum Refusal {
    /// A file cannot be read, or memory not be had.
    Unreadable,
    /// Not a plan of this version.
    NotAPlan,
    /// For another program.
    OtherProgram,
    /// Another process follows it: this is a child, or what the process became by exec.
    Taken,
}

/// Reads the plan in `path`, which ends with a zero byte, as does `status`, and begins to follow it.
/// `tables` is where the executable's site tables are.
pub fn start(path: &[u8], status: &[u8], program: ProgramId, tables: usize) -> Result<(), Refusal> {
    let (file, length) = sys::map_file(path, false).map_err(|_| Refusal::Unreadable)?;
    let plan = (length >= size_of::<PlanHeader>()).then_some(file.cast::<PlanHeader>());
    // SAFETY: mapped for good, and long enough.
    let header = unsafe { &*plan.ok_or(Refusal::NotAPlan)? };
    if header.magic != PLAN_MAGIC || header.version != VERSION {
        return Err(Refusal::NotAPlan);
    }
    if header.program != program.0 {
        return Err(Refusal::OtherProgram);
    }
    let status_file = sys::map_file(status, true).map_err(|_| Refusal::Unreadable)?;
    // SAFETY: mapped for good; each array is inside, or this gives None.
    let mut plan = unsafe { arrays(file, length, header, status_file) }.ok_or(Refusal::NotAPlan)?;
    plan.bias = tables.wrapping_sub(header.site_tables as usize);
    let process = &plan.status.process;
    if process.compare_exchange(0, sys::process_id(), Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return Err(Refusal::Taken);
    }
    if !objects::start(plan.objects.len()) {
        return Err(Refusal::Unreadable);
    }
    PLAN.set(Some(plan));
    FREE.store(false, Ordering::Relaxed);
    Ok(())
}

/// # Safety
/// Both files are mapped for good, with the given lengths.
unsafe fn arrays(
    file: *mut u8,
    length: usize,
    header: &'static PlanHeader,
    (status, status_length): (*mut u8, usize),
) -> Option<Plan> {
    unsafe fn array<T>(file: *mut u8, length: usize, at: u64, count: u64) -> Option<&'static [T]> {
        let (at, count) = (usize::try_from(at).ok()?, usize::try_from(count).ok()?);
        let end = count.checked_mul(size_of::<T>())?.checked_add(at)?;
        // SAFETY: inside of the file, by the caller's contract; aligned, as everything in it is to 8 bytes.
        (end <= length && at % 8 == 0).then(|| unsafe { slice::from_raw_parts(file.add(at).cast(), count) })
    }
    // SAFETY: by the contract; so below.
    unsafe {
        let threads: &[PlanThread] = array(file, length, header.threads_at, header.threads.into())?;
        let steps: &[Step] = array(file, length, header.steps_at, header.steps)?;
        let has_all_steps = |thread: &PlanThread| {
            thread.first_step.checked_add(thread.steps.into()).is_some_and(|end| end <= header.steps)
        };
        if threads.is_empty()
            || !threads.iter().all(has_all_steps)
            || status_length < status_size(threads.len())
        {
            return None;
        }
        let status_head = &*status.cast::<Status>();
        if status_head.magic != STATUS_MAGIC || status_head.version != VERSION {
            return None;
        }
        let wakers = header.wakers as usize;
        let words = sys::map_private((wakers * 8).max(8)).ok()?;
        Some(Plan {
            header,
            threads,
            objects: array(file, length, header.objects_at, header.objects.into())?,
            steps,
            links: array(file, length, header.links_at, header.links)?,
            status: status_head,
            progress: slice::from_raw_parts(status.add(STATUS_HEAD).cast(), threads.len()),
            wakers: slice::from_raw_parts(words.cast(), wakers),
            bias: 0,
        })
    }
}

#[inline(always)]
fn plan() -> Option<Plan> {
    PLAN.get()
}

/// A thread's steps, and what it shows to the others.
pub fn thread(number: u32) -> Option<(&'static [Step], &'static Progress)> {
    let plan = plan()?;
    let thread = plan.threads.get(number as usize)?;
    let first = thread.first_step as usize;
    Some((&plan.steps[first..first + thread.steps as usize], &plan.progress[number as usize]))
}

/// How many steps there are.
pub fn steps() -> u64 {
    plan().map_or(0, |plan| plan.header.steps)
}

/// A thread's flags; 0 if there is no such thread.
pub fn flags_of(number: u32) -> u32 {
    plan().and_then(|plan| plan.threads.get(number as usize)).map_or(0, |thread| thread.flags)
}

/// The plan's own flags.
pub fn flags() -> u32 {
    plan().map_or(0, |plan| plan.header.flags)
}

/// What a thread shows to the others.
pub fn progress(number: u32) -> Option<&'static Progress> {
    plan()?.progress.get(number as usize)
}

/// What all threads show.
pub fn all_progress() -> &'static [Progress] {
    plan().map_or(&[], |plan| plan.progress)
}

/// All links.
pub fn links() -> &'static [Link] {
    plan().map_or(&[], |plan| plan.links)
}

/// An object's flags.
pub fn object_flags(object: u32) -> u32 {
    plan().and_then(|plan| plan.objects.get(object as usize)).map_or(0, |object| object.flags)
}

/// Where an object is, if the plan knows.
pub fn object_address(object: u32) -> Option<usize> {
    let plan = plan()?;
    let address = plan.objects.get(object as usize)?.address as usize;
    (address != 0).then(|| plan.bias.wrapping_add(address))
}

/// Which object the plan knows to be at an address, or [`NONE`].
pub fn object_known_at(address: usize) -> u32 {
    let objects = 0..plan().map_or(0, |plan| plan.objects.len() as u32);
    objects.into_iter().find(|&object| object_address(object) == Some(address)).unwrap_or(NONE)
}

/// The status file's head.
pub fn status() -> Option<&'static Status> {
    plan().map(|plan| plan.status)
}

/// Takes the first thread that code without hooks makes, that nobody has taken, and whose steps suit.
pub fn claim_foreign(suits: impl Fn(&'static [Step]) -> bool) -> Option<u32> {
    let plan = plan()?;
    let numbers = 0..plan.threads.len() as u32;
    numbers.filter(|&number| super::is_foreign(flags_of(number))).find(|&number| {
        let Some((steps, progress)) = thread(number) else { return false };
        progress.state.load(Ordering::Relaxed) == NOT_MADE
            && suits(steps)
            && progress
                .state
                .compare_exchange(NOT_MADE, RUNNING, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    })
}

/// A signal that wakes somebody has this clock in the recording.
pub fn note_waker(step: &Step, clock: u64) {
    // Memory that nobody writes is not there.
    if let Some(word) = waker(step).filter(|_| clock != 0) {
        word.store(clock, Ordering::Relaxed);
    }
}

/// The clock of what ended this wait; 0 if nothing did.
pub fn waker_clock(step: &Step) -> u64 {
    waker(step).map_or(0, |word| word.load(Ordering::Relaxed))
}

fn waker(step: &Step) -> Option<&'static AtomicU64> {
    if step.aux == NONE {
        return None;
    }
    plan()?.wakers.get(step.aux as usize)
}
