//! How a log's records are written: as words of 64 bits, most of them one word a record.
//!
//! Fresh memory is what recording costs most (a page is a fault and 4096 zeros), so a log is kept short. A
//! program synchronizes at the same few places over and over: the first record of a place is long and enters a
//! [`Dictionary`] of 256 places; later ones name the entry.
//!
//! ```text
//! short  bits 0-1: 1   2: an object follows   8-15: result   16-23: entry   24-63: the clock's low 40 bits
//!        [object: the entry's new object]
//! long   bits 0-1: 2   2-7: 0   8-15: 6   16-31: entry, or NO_ENTRY   32: op   40: phase   48: flags
//!        56-62: depth
//!        clock   site   object   extra   result
//! thread bits 0-1: 2   2-7: 1   8-15: 3
//!        number (low half), parent (high half)   nth
//! open   bits 0-1: 3   8-15: how many words: was being written when the process ended
//! ```
//! A word of zeros is skipped. A short record's clock has the high bits of the last long one with an entry. The
//! result byte holds 0 to 253 as it is, [`SHORT_SERIAL`] for -1 and [`SHORT_PENDING`].
//!
//! Records of several words are written open word first, then the rest, then the open word is replaced: a
//! process killed in between leaves words that a reader can skip. A result is filled in later, in place.

use super::{Record, RESULT_PENDING};

/// Words of the longest record.
pub const LONGEST: usize = 6;
/// In a long record: it is no entry of the dictionary.
pub const NO_ENTRY: u16 = u16::MAX;
/// In a result byte: -1.
pub const SHORT_SERIAL: u8 = 254;
/// In a result byte: [`RESULT_PENDING`].
pub const SHORT_PENDING: u8 = 255;
/// Where the result byte is in a short record, in bytes.
pub const SHORT_RESULT_AT: usize = 1;
/// Which word of a long record is the result.
pub const LONG_RESULT_WORD: usize = 5;

const TAG: u64 = 3;
const SHORT: u64 = 1;
const LONG: u64 = 2;
const OPEN: u64 = 3;
const HAS_OBJECT: u64 = 1 << 2;
const KIND: u64 = 0x3f << 2;
const KIND_THREAD: u64 = 1 << 2;
const THREAD_WORDS: u64 = 3;
const CLOCK_BITS: u32 = 40;
const ENTRIES: usize = 256;
/// In [`Entry::what`]: the entry is in use.
const IN_USE: u32 = 1 << 31;

/// A record, ready to be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoded {
    /// One word.
    Short(u64),
    /// A word and the object.
    WithObject(u64, u64),
    /// All there is to say.
    Long([u64; LONGEST]),
}

/// The word that stands first while a record of `words` words is being written.
pub const fn open_word(words: usize) -> u64 {
    OPEN | (words as u64) << 8
}

/// The words that say whose events follow.
pub const fn thread_words(number: u32, parent: u32, nth: u32) -> [u64; THREAD_WORDS as usize] {
    [LONG | KIND_THREAD | THREAD_WORDS << 8, number as u64 | (parent as u64) << 32, nth as u64]
}

/// A result as a byte, if it fits.
#[inline(always)]
pub const fn short_result(result: i32) -> Option<u8> {
    match result {
        0..=253 => Some(result as u8),
        -1 => Some(SHORT_SERIAL),
        RESULT_PENDING => Some(SHORT_PENDING),
        _ => None,
    }
}

const fn long_result(result: u8) -> i32 {
    match result {
        SHORT_SERIAL => -1,
        SHORT_PENDING => RESULT_PENDING,
        other => other as i32,
    }
}

#[derive(Clone, Copy)]
struct Entry {
    site: u64,
    object: u64,
    /// op, phase, flags and depth, as in a long record's first word; [`IN_USE`].
    what: u32,
}

/// What the records of one log have named. All zeros is an empty one.
pub struct Dictionary {
    entries: [Entry; ENTRIES],
    /// The clock of the last record that became an entry.
    base: u64,
}

impl Default for Dictionary {
    fn default() -> Self {
        Dictionary::new()
    }
}

impl Dictionary {
    /// An empty one.
    pub const fn new() -> Dictionary {
        Dictionary { entries: [Entry { site: 0, object: 0, what: 0 }; ENTRIES], base: 0 }
    }

    /// How to write the record. Records must be written in the order in which they are encoded.
    #[inline(always)]
    pub fn encode(&mut self, record: &Record) -> Encoded {
        let what = what_of(record);
        if record.extra == 0 {
            if let Some(result) = short_result(record.result) {
                let index = (record.site as u8) ^ record.op ^ record.phase << 6;
                let entry = &mut self.entries[usize::from(index)];
                if entry.site == record.site
                    && entry.what == what | IN_USE
                    && (record.clock ^ self.base) >> CLOCK_BITS == 0
                {
                    let clock = record.clock << (64 - CLOCK_BITS);
                    let word = SHORT | u64::from(result) << 8 | u64::from(index) << 16 | clock;
                    if entry.object == record.object {
                        return Encoded::Short(word);
                    }
                    entry.object = record.object;
                    return Encoded::WithObject(word | HAS_OBJECT, record.object);
                }
                *entry = Entry { site: record.site, object: record.object, what: what | IN_USE };
                self.base = record.clock;
                return Encoded::Long(long_words(record, what, u16::from(index)));
            }
        }
        without_dictionary(record)
    }
}

/// How to write a record that neither uses nor changes a dictionary: it may stand anywhere among others.
#[inline(always)]
pub fn without_dictionary(record: &Record) -> Encoded {
    Encoded::Long(long_words(record, what_of(record), NO_ENTRY))
}

#[inline(always)]
fn what_of(record: &Record) -> u32 {
    u32::from(record.op)
        | u32::from(record.phase) << 8
        | u32::from(record.flags) << 16
        | u32::from(record.depth) << 24
}

#[inline(always)]
fn long_words(record: &Record, what: u32, entry: u16) -> [u64; LONGEST] {
    let head = LONG | (LONGEST as u64) << 8 | u64::from(entry) << 16 | u64::from(what) << 32;
    let result = u64::from(record.result as u32);
    [head, record.clock, record.site, record.object, record.extra, result]
}

/// What a log says next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// The events that follow are this thread's.
    Thread {
        /// Its number in the recording.
        number: u32,
        /// The thread that made it, or [`super::NO_THREAD`] for main and for threads made by code without hooks.
        parent: u32,
        /// Which of the parent's creations it is, from 0; failed ones do not count.
        nth: u32,
    },
    /// An event.
    Event(Record),
}

/// Reads the words of one log.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    entries: [Option<Record>; ENTRIES],
    base: u64,
}

impl<'a> Decoder<'a> {
    /// Of what follows the log's head.
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { bytes, entries: [None; ENTRIES], base: 0 }
    }

    fn word(&self, index: usize) -> Option<u64> {
        let bytes = self.bytes.get(index * 8..index * 8 + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    fn skip(&mut self, words: usize) {
        self.bytes = self.bytes.get(words * 8..).unwrap_or_default();
    }

    fn short(&mut self, word: u64) -> Result<Item, &'static str> {
        let index = (word >> 16) as u8;
        let object = (word & HAS_OBJECT != 0).then(|| self.word(1));
        let entry =
            self.entries[usize::from(index)].as_mut().ok_or("a record names an entry that is not there")?;
        if let Some(object) = object {
            entry.object = object.ok_or("cut off in a record")?;
        }
        let clock = (self.base >> CLOCK_BITS << CLOCK_BITS) | word >> (64 - CLOCK_BITS);
        let record = Record { clock, result: long_result((word >> 8) as u8), ..*entry };
        self.skip(if object.is_some() { 2 } else { 1 });
        Ok(Item::Event(record))
    }

    fn long(&mut self, head: u64) -> Result<Item, &'static str> {
        let word = |index| self.word(index).ok_or("cut off in a record");
        if head & KIND == KIND_THREAD {
            let (names, nth) = (word(1)?, word(2)? as u32);
            self.skip(THREAD_WORDS as usize);
            return Ok(Item::Thread { number: names as u32, parent: (names >> 32) as u32, nth });
        }
        if head & KIND != 0 || (head >> 8) as u8 as usize != LONGEST {
            return Err("a word that starts no record");
        }
        let record = Record {
            clock: word(1)?,
            site: word(2)?,
            object: word(3)?,
            extra: word(4)?,
            result: word(LONG_RESULT_WORD)? as u32 as i32,
            op: (head >> 32) as u8,
            phase: (head >> 40) as u8,
            flags: (head >> 48) as u8,
            depth: (head >> 56) as u8 & 127,
        };
        let entry = (head >> 16) as u16;
        if let Some(slot) = self.entries.get_mut(usize::from(entry)) {
            *slot = Some(record);
            self.base = record.clock;
        }
        self.skip(LONGEST);
        Ok(Item::Event(record))
    }
}

impl Iterator for Decoder<'_> {
    /// An error is the last item: what follows it cannot be told from data.
    type Item = Result<Item, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let word = self.word(0)?;
            let item = match word & TAG {
                SHORT => self.short(word),
                LONG => self.long(word),
                OPEN => {
                    self.skip(((word >> 8) as u8).max(1).into());
                    continue;
                }
                _ if word == 0 => {
                    self.skip(1);
                    continue;
                }
                _ => Err("a word that starts no record"),
            };
            if item.is_err() {
                self.bytes = &[];
            }
            return Some(item);
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(encoded: Encoded) -> Vec<u8> {
        let words = match encoded {
            Encoded::Short(word) => vec![word],
            Encoded::WithObject(word, object) => vec![word, object],
            Encoded::Long(words) => words.to_vec(),
        };
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn record() -> impl Strategy<Value = Record> {
        let few = prop_oneof![Just(0u64), 1u64..6, any::<u64>()];
        let clock = prop_oneof![1u64..1 << 20, (1u64 << 40) - 9..(1u64 << 40) + 9, any::<u64>()];
        let result = prop_oneof![Just(0), -2i32..260, Just(RESULT_PENDING), any::<i32>()];
        let extra = prop_oneof![Just(0u64), Just(0u64), any::<u64>()];
        (clock, few.clone(), few, extra, result, (0u8..5, 0u8..3, 0u8..16, 0u8..128)).prop_map(
            |(clock, site, object, extra, result, (op, phase, flags, depth))| Record {
                clock,
                site,
                object,
                extra,
                result,
                op,
                phase,
                flags,
                depth,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            records in prop::collection::vec((record(), any::<bool>(), any::<bool>()), 0..200)
        ) {
            let mut dictionary = Dictionary::new();
            let mut bytes = Vec::new();
            for (record, in_turn, hole) in &records {
                if *hole {
                    bytes.extend([0; 16]);
                    bytes.extend(open_word(3).to_le_bytes());
                    bytes.extend([0xff; 16]);
                }
                let encoded = if *in_turn { dictionary.encode(record) } else { without_dictionary(record) };
                bytes.extend(bytes_of(encoded));
            }
            let read: Result<Vec<_>, _> = Decoder::new(&bytes).collect();
            let expected: Vec<_> = records.iter().map(|(record, _, _)| Item::Event(*record)).collect();
            prop_assert_eq!(read, Ok(expected));
        }

        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(Decoder::new(&bytes).count() <= bytes.len() / 8 + 1);
        }
    }

    #[test]
    fn a_place_that_comes_again_takes_one_word() {
        let mut dictionary = Dictionary::new();
        let first = Record { clock: 7, site: 0xabcd, object: 0x1000, op: 9, ..Record::default() };
        assert!(matches!(dictionary.encode(&first), Encoded::Long(_)));
        let again = Record { clock: 900, result: RESULT_PENDING, ..first };
        assert!(matches!(dictionary.encode(&again), Encoded::Short(_)));
        let elsewhere = Record { object: 0x2000, ..again };
        assert!(matches!(dictionary.encode(&elsewhere), Encoded::WithObject(_, 0x2000)));
        assert!(matches!(dictionary.encode(&elsewhere), Encoded::Short(_)));
        assert!(matches!(without_dictionary(&elsewhere), Encoded::Long(_)));
    }

    #[test]
    fn a_thread_is_named() {
        let bytes: Vec<u8> =
            thread_words(3, super::super::NO_THREAD, 2).iter().flat_map(|w| w.to_le_bytes()).collect();
        let expected = Item::Thread { number: 3, parent: super::super::NO_THREAD, nth: 2 };
        assert_eq!(Decoder::new(&bytes).collect::<Vec<_>>(), [Ok(expected)]);
    }
}
