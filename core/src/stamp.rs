//! What a specialized program says of itself: for which schedule of which build, under which order, and whether its
//! guards are in it. It stands in a section of the executable; `covsched run` reads it and refuses what does not fit.

use crate::hash::Hasher;
use crate::ids::{ProgramId, SiteId};
use crate::rawlog::Plain;
use crate::schedule::order::Order;
use crate::schedule::{text, Schedule};
use std::collections::BTreeSet;
use std::io;

/// The linker section.
pub const SECTION: &str = "covsched_stamp";
/// Magic word of [`StampRecord`].
pub const MAGIC: [u8; 8] = *b"CVSTAMP\0";
/// Version of [`StampRecord`].
pub const VERSION: u32 = 1;

/// What a program was specialized for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// The build that it was made from.
    pub program: ProgramId,
    /// [`schedule_hash`].
    pub schedule: u64,
    /// What its analyses assumed.
    pub order: Order,
    /// Only control flow was specialized.
    pub control_only: bool,
    /// Without guards (`--analysis-only`): on another input it would go wrong without a word, so it must not run.
    pub unguarded: bool,
    /// How many sites are left out, see [`IGNORED_SECTION`].
    pub ignored: u32,
}

/// A stamp in the section: little-endian.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct StampRecord {
    magic: [u8; 8],
    version: u32,
    /// 0 hb, 1 total.
    order: u32,
    program: u64,
    schedule: u64,
    /// [`CONTROL_ONLY`], [`UNGUARDED`].
    flags: u32,
    ignored: u32,
}

const CONTROL_ONLY: u32 = 1;
const UNGUARDED: u32 = 2;

const _: () = assert!(size_of::<StampRecord>() == 40);

// SAFETY: repr(C), no padding (size pinned), integers only.
unsafe impl Plain for StampRecord {}

/// What is wrong with a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StampError {
    /// Cut off, or no stamp.
    Damaged,
    /// Of another version of covsched.
    Version(u32),
    /// Two programs in one.
    Several,
}

impl std::fmt::Display for StampError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StampError::Damaged => write!(f, "section {SECTION} is damaged"),
            StampError::Version(version) => {
                write!(f, "section {SECTION} has version {version}, this covsched reads {VERSION}")
            }
            StampError::Several => {
                write!(f, "it was linked from programs that were specialized for different schedules")
            }
        }
    }
}

impl Stamp {
    /// The section's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        StampRecord {
            magic: MAGIC,
            version: VERSION,
            order: u32::from(self.order == Order::Total),
            program: self.program.0,
            schedule: self.schedule,
            flags: flag(self.control_only, CONTROL_ONLY) | flag(self.unguarded, UNGUARDED),
            ignored: self.ignored,
        }
        .as_bytes()
        .to_vec()
    }

    /// The stamp in a section; a linker may have put several there, which must be the same.
    pub fn read(section: &[u8]) -> Result<Stamp, StampError> {
        let mut found = None;
        for bytes in section.chunks(size_of::<StampRecord>()) {
            let stamp = Stamp::read_one(bytes)?;
            if found.is_some_and(|found| found != stamp) {
                return Err(StampError::Several);
            }
            found = Some(stamp);
        }
        found.ok_or(StampError::Damaged)
    }

    fn read_one(bytes: &[u8]) -> Result<Stamp, StampError> {
        let record =
            StampRecord::read(bytes).filter(|record| record.magic == MAGIC).ok_or(StampError::Damaged)?;
        if record.version != VERSION {
            return Err(StampError::Version(record.version));
        }
        let order = match record.order {
            0 => Order::Hb,
            1 => Order::Total,
            _ => return Err(StampError::Damaged),
        };
        Ok(Stamp {
            program: ProgramId(record.program),
            schedule: record.schedule,
            order,
            control_only: record.flags & CONTROL_ONLY != 0,
            unguarded: record.flags & UNGUARDED != 0,
            ignored: record.ignored,
        })
    }
}

/// The section with the sites that are left out (`--ignore-sites`): 64 bits each, little-endian.
pub const IGNORED_SECTION: &str = "covsched_ignored";

/// The bytes of [`IGNORED_SECTION`].
pub fn ignored_bytes(sites: &BTreeSet<SiteId>) -> Vec<u8> {
    sites.iter().flat_map(|site| site.0.to_le_bytes()).collect()
}

/// The sites in such a section, which a linker may have filled up with zeros; as many as the stamp says.
pub fn read_ignored(section: &[u8], stamp: &Stamp) -> Result<BTreeSet<SiteId>, StampError> {
    let words = section.chunks(8).map(|word| word.try_into().map(u64::from_le_bytes));
    let sites: Result<BTreeSet<SiteId>, _> = words.map(|word| word.map(SiteId)).collect();
    let mut sites = sites.map_err(|_| StampError::Damaged)?;
    sites.remove(&SiteId::NONE);
    if sites.len() != stamp.ignored as usize {
        return Err(StampError::Several);
    }
    Ok(sites)
}

/// A schedule as one number: all of its text but the names by which the program was called, and its epochs, which no
/// run follows.
pub fn schedule_hash(schedule: &Schedule) -> u64 {
    struct Hashing(Hasher);
    impl io::Write for Hashing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.bytes(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let plain =
        Schedule { program: String::new(), command: Vec::new(), epochs: Vec::new(), ..schedule.clone() };
    let mut hashing = Hashing(Hasher::default());
    // What cannot be written cannot have been read from a file either; its beginning is hashed.
    let _ = text::write(&plain, &mut hashing);
    hashing.0.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::parse;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        for (order, control_only, unguarded) in
            [(Order::Hb, true, false), (Order::Total, false, true), (Order::Total, true, true)]
        {
            let stamp =
                Stamp { program: ProgramId(7), schedule: 9, order, control_only, unguarded, ignored: 3 };
            let bytes = stamp.to_bytes();
            assert_eq!(Stamp::read(&bytes), Ok(stamp));
            assert_eq!(Stamp::read(&[bytes.clone(), bytes.clone()].concat()), Ok(stamp));
            let other = Stamp { schedule: 10, ..stamp };
            assert_eq!(Stamp::read(&[bytes.clone(), other.to_bytes()].concat()), Err(StampError::Several));
        }
    }

    #[test]
    fn what_is_no_stamp_is_refused() {
        let stamp = Stamp {
            program: ProgramId(7),
            schedule: 9,
            order: Order::Hb,
            control_only: true,
            unguarded: false,
            ignored: 0,
        };
        let bytes = stamp.to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Stamp::read(&bytes[..length]), Err(StampError::Damaged), "{length}");
        }
        let mut other = bytes.clone();
        other[8] = 2;
        assert_eq!(Stamp::read(&other), Err(StampError::Version(2)));
        let mut other = bytes;
        other[12] = 5;
        assert_eq!(Stamp::read(&other), Err(StampError::Damaged));
    }

    #[test]
    fn the_sites_that_are_left_out_are_as_many_as_the_stamp_says() {
        let stamp = Stamp {
            program: ProgramId(7),
            schedule: 9,
            order: Order::Hb,
            control_only: true,
            unguarded: false,
            ignored: 2,
        };
        let sites: BTreeSet<SiteId> = [SiteId(5), SiteId(u64::MAX - 1)].into();
        let mut bytes = ignored_bytes(&sites);
        assert_eq!(read_ignored(&bytes, &stamp), Ok(sites.clone()));
        assert_eq!(read_ignored(&[bytes.clone(), vec![0; 8], bytes.clone()].concat(), &stamp), Ok(sites));
        assert_eq!(read_ignored(&bytes[..8], &stamp), Err(StampError::Several));
        assert_eq!(read_ignored(&[], &stamp), Err(StampError::Several));
        bytes.pop();
        assert_eq!(read_ignored(&bytes, &stamp), Err(StampError::Damaged));
        assert_eq!(read_ignored(&[], &Stamp { ignored: 0, ..stamp }), Ok(BTreeSet::new()));
    }

    #[test]
    fn only_what_a_run_follows_counts() {
        let text = "covsched-schedule 1\nprogram \"a\" 00000000000000aa\ncommand \"a\" \"1\"\ncomplete\n\
                    thread t0 main\nevents 2\nt0 entry\nt0 return\nend\n";
        let hash = |text: &str| schedule_hash(&parse::parse(text).unwrap());
        assert_eq!(
            hash(text),
            hash(&text.replace("\"1\"", "\"2\"").replace("program \"a\"", "program \"b\""))
        );
        assert_ne!(hash(text), hash(&text.replace("events 2\nt0 entry\nt0 return", "events 1\nt0 entry")));
        assert_ne!(hash(text), hash(&text.replace("00aa", "00ab")));
    }
}
