//! `P.meta`: what a recording says about its process, and the names of its files.

use crate::lock::Lock;
use crate::{clock, sys};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void, CStr};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use covsched_core::rawlog::{
    EntryHeader, MetaHeader, Plain, ENTRY_COMMAND, ENTRY_OBJECT, ENTRY_SITES, LOST_RECORDS, META_MAGIC,
    RECORD_SIZE, STATE_COMPLETE, STATE_RUNNING, VERSION,
};
use covsched_core::ProgramId;

/// Longest folder of a recording. File names are built on stacks, those of signal handlers too.
pub const LONGEST_FOLDER: usize = 960;

/// A file name under construction.
pub struct Path {
    bytes: [u8; LONGEST_FOLDER + 64],
    length: usize,
}

impl Path {
    /// Nothing yet.
    pub const EMPTY: Path = Path { bytes: [0; LONGEST_FOLDER + 64], length: 0 };

    /// Adds bytes; what does not fit is cut off, and the file then not found.
    pub fn push(&mut self, bytes: &[u8]) {
        // One byte stays zero.
        for &byte in bytes.iter().take(self.bytes.len() - 1 - self.length) {
            self.bytes[self.length] = byte;
            self.length += 1;
        }
    }

    fn push_number(&mut self, number: u32) {
        let mut digits = [0u8; 10];
        let (mut at, mut rest) = (digits.len(), number);
        loop {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.push(&digits[at..]);
    }

    /// With its final zero byte.
    pub fn zero_ended(&self) -> &[u8] {
        &self.bytes[..=self.length]
    }
}

/// What does not change while one process image records.
struct Process {
    folder: [u8; LONGEST_FOLDER],
    folder_length: usize,
    program: ProgramId,
    /// The command line as it stands in memory.
    command: (*const u8, usize),
    pid: u32,
    image: u32,
}

struct ProcessCell(UnsafeCell<Process>);

// SAFETY: written at start and in a forked child, both with one thread.
unsafe impl Sync for ProcessCell {}

static PROCESS: ProcessCell = ProcessCell(UnsafeCell::new(Process {
    folder: [0; LONGEST_FOLDER],
    folder_length: 0,
    program: ProgramId(0),
    command: (core::ptr::null(), 0),
    pid: 0,
    image: 0,
}));

static HEADER: AtomicPtr<MetaHeader> = AtomicPtr::new(null_mut());

fn process() -> &'static Process {
    // SAFETY: written only while there is one thread.
    unsafe { &*PROCESS.0.get() }
}

/// The process that this recording is of.
pub fn recorded_process() -> u32 {
    process().pid
}

fn file(ending: &[u8]) -> Path {
    let process = process();
    let mut path = Path::EMPTY;
    path.push(&process.folder[..process.folder_length]);
    path.push(b"/");
    path.push_number(process.pid);
    path.push(b"-");
    path.push_number(process.image);
    path.push(ending);
    path
}

/// The name of a thread's log.
pub fn thread_file(number: u32) -> Path {
    let mut path = file(b".t");
    path.push_number(number);
    path
}

/// Says where to record; `folder` is made absolute, since the program may change its directory.
pub fn set_process(folder: &[u8], program: ProgramId, command: (*const u8, usize)) -> Result<(), i32> {
    // SAFETY: at start, with one thread.
    let process = unsafe { &mut *PROCESS.0.get() };
    let mut length = 0;
    if folder.first() != Some(&b'/') {
        length = sys::working_directory(&mut process.folder)?;
        if length + 1 < LONGEST_FOLDER {
            process.folder[length] = b'/';
            length += 1;
        }
    }
    let Some(rest) = process.folder.get_mut(length..length + folder.len()) else {
        return Err(libc::ENAMETOOLONG);
    };
    rest.copy_from_slice(folder);
    process.folder_length = length + folder.len();
    process.program = program;
    process.command = command;
    Ok(())
}

/// Begins a recording of this process: at start, and in a forked child.
pub fn begin(forked_from: u32, forking_thread: u32) -> Result<(), i32> {
    const MOST_IMAGES: u32 = 100_000;
    let pid = sys::process_id();
    // SAFETY: with one thread.
    let process = unsafe { &mut *PROCESS.0.get() };
    process.pid = pid;
    process.image = 0;
    let fd = loop {
        match sys::open(file(b".meta").zero_ended(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL) {
            Err(libc::EEXIST) if process.image < MOST_IMAGES => process.image += 1,
            other => break other?,
        }
    };
    let header = MetaHeader {
        magic: META_MAGIC,
        version: VERSION,
        record_size: RECORD_SIZE,
        pid,
        forked_from,
        forking_thread,
        state: STATE_RUNNING,
        lost: 0,
        status: 0,
        program: process.program.0,
        started: clock::now(),
    };
    let mapped = sys::write_at(fd, header.as_bytes(), 0)
        .and_then(|()| sys::map_shared(fd, 0, size_of::<MetaHeader>()));
    sys::close(fd);
    HEADER.store(mapped?.cast(), Ordering::Release);
    let (command, length) = process.command;
    // SAFETY: the command line stays where the kernel put it.
    let command = if length == 0 { &[][..] } else { unsafe { core::slice::from_raw_parts(command, length) } };
    append(ENTRY_COMMAND, &[command])
}

/// In a forked child: the header is the parent's.
pub fn abandon() {
    let header = HEADER.swap(null_mut(), Ordering::Relaxed);
    if !header.is_null() {
        sys::unmap(header.cast(), size_of::<MetaHeader>());
    }
}

/// Appends an entry, with one write.
fn append(kind: u32, parts: &[&[u8]]) -> Result<(), i32> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let header = EntryHeader { kind, len: length as u32 };
    let mut all: [&[u8]; 4] = [header.as_bytes(), &[], &[], &[0; 8][..length.next_multiple_of(8) - length]];
    for (slot, part) in all[1..3].iter_mut().zip(parts) {
        *slot = part;
    }
    let fd = sys::open(file(b".meta").zero_ended(), libc::O_WRONLY | libc::O_APPEND)?;
    let result = sys::write_parts(fd, &all);
    sys::close(fd);
    result
}

fn header_word(field: impl FnOnce(*mut MetaHeader) -> *mut u32) -> Option<&'static AtomicU32> {
    let header = HEADER.load(Ordering::Acquire);
    // SAFETY: mapped for as long as it is set; a u32 of it is used atomically everywhere after the beginning.
    (!header.is_null()).then(|| unsafe { &*field(header).cast::<AtomicU32>() })
}

/// Notes that a record could not be written.
#[cold]
pub fn note_lost_records() {
    // SAFETY: the address of a field.
    if let Some(lost) = header_word(|header| unsafe { &raw mut (*header).lost }) {
        lost.fetch_or(LOST_RECORDS, Ordering::Relaxed);
    }
}

/// Notes the status that exit was given.
pub fn note_status(status: c_int) {
    // SAFETY: the address of a field.
    if let Some(word) = header_word(|header| unsafe { (&raw mut (*header).status).cast() }) {
        word.store(status as u32, Ordering::Relaxed);
    }
}

/// Notes that the process ends in an orderly way.
pub fn note_complete() {
    // SAFETY: the address of a field.
    if let Some(state) = header_word(|header| unsafe { &raw mut (*header).state }) {
        state.store(STATE_COMPLETE, Ordering::Release);
    }
}

/// A linked object that registered, in a page of its own. Kept for forked children: `dl_iterate_phdr` may wait for
/// ever there, for a lock that another thread of the parent held.
struct Object {
    next: *const Object,
    bias: usize,
    sites: (*const u8, usize),
    name_length: usize,
    name: [u8; LONGEST_FOLDER],
}

/// The newest object; each is there for good.
static OBJECTS: AtomicPtr<Object> = AtomicPtr::new(null_mut());
static OBJECTS_LOCK: Lock = Lock::new();

/// Records a linked object's site tables, and remembers them.
pub fn add_object(sites: &'static [u8]) {
    let Ok(memory) = sys::map_private(size_of::<Object>()) else { return note_lost_records() };
    let object: *mut Object = memory.cast();
    let errno = crate::real::errno();
    // SAFETY: fresh memory of the right size, zeros are an object; the callback fits and gets the object.
    unsafe {
        (*object).sites = (sites.as_ptr(), sites.len());
        libc::dl_iterate_phdr(Some(describe_if_it_holds_the_tables), object.cast());
    }
    crate::real::set_errno(errno);
    OBJECTS_LOCK.acquire();
    // SAFETY: not yet visible to others.
    unsafe {
        (*object).next = OBJECTS.load(Ordering::Relaxed);
        append_object(&*object);
    }
    OBJECTS.store(object, Ordering::Release);
    OBJECTS_LOCK.release();
}

/// In a forked child: records every object that is still loaded.
pub fn add_objects_again() {
    OBJECTS_LOCK.reset();
    let mut at = OBJECTS.load(Ordering::Relaxed).cast_const();
    // SAFETY: objects are there for good.
    while let Some(object) = unsafe { at.as_ref() } {
        if sys::is_mapped(object.sites.0, object.sites.1) {
            append_object(object);
        }
        at = object.next;
    }
}

fn append_object(object: &Object) {
    // SAFETY: the tables lie in a loaded object.
    let sites = unsafe { core::slice::from_raw_parts(object.sites.0, object.sites.1) };
    let bias = (object.bias as u64).to_ne_bytes();
    let appended = append(ENTRY_OBJECT, &[&bias, &object.name[..object.name_length]])
        .and_then(|()| append(ENTRY_SITES, &[sites]));
    if appended.is_err() {
        note_lost_records();
    }
}

/// Fills in bias and name from the loaded object that has the tables in one of its segments.
unsafe extern "C" fn describe_if_it_holds_the_tables(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    object: *mut c_void,
) -> c_int {
    // SAFETY: glibc's and ours, live during the call.
    let (info, object) = unsafe { (&*info, &mut *object.cast::<Object>()) };
    let start = object.sites.0 as usize;
    // SAFETY: the object's program headers.
    let segments = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let holds_tables = segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD).any(|segment| {
        let from = (info.dlpi_addr as usize).wrapping_add(segment.p_vaddr as usize);
        (from..from + segment.p_memsz as usize).contains(&start)
    });
    if !holds_tables {
        return 0;
    }
    object.bias = info.dlpi_addr as usize;
    let name: &[u8] = if info.dlpi_name.is_null() {
        &[]
    } else {
        // SAFETY: zero-ended, by glibc.
        unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes()
    };
    if name.is_empty() {
        // The executable itself.
        object.name_length = sys::read_link(b"/proc/self/exe\0", &mut object.name).unwrap_or(0);
    } else {
        object.name_length = name.len().min(object.name.len());
        object.name[..object.name_length].copy_from_slice(&name[..object.name_length]);
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_cut_not_overrun() {
        let mut path = Path::EMPTY;
        path.push(&[b'x'; 5000]);
        path.push_number(u32::MAX);
        assert_eq!(path.zero_ended().len(), LONGEST_FOLDER + 64);
        assert_eq!(path.zero_ended().last(), Some(&0));
    }

    #[test]
    fn numbers_are_decimal() {
        let mut path = Path::EMPTY;
        path.push_number(0);
        path.push(b".");
        path.push_number(u32::MAX);
        assert_eq!(path.zero_ended(), b"0.4294967295\0");
    }
}
