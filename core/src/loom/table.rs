//! What the pass tells the controller of a translation unit, in a section of the linked file: functions as graphs of
//! *points*, with the lines that each belongs to, slots, locations and variables.
//!
//! The graph is that of the slow path (the fast path is the same without slots; entries, back edges and calls have the
//! same locations in both). Straight code belongs to the point before it.
//!
//! # Lines
//! At each point a *chain* of lines is active: that of the instruction, then that of the call it was inlined from, and
//! so on outward. A [`PointKind::Slot`] stands wherever the chain changes, after a function's entry and before its
//! returns: a line is *entered* at a slot if it is in the new chain and not in the old, and *left* if it is the
//! other way round; functions likewise, inlined ones too. So a statement that several blocks make up is entered once.
//!
//! # Layout
//! A part in the section [`crate::site::BITCODE_SECTION`], beside bitcode: a [`TableHeader`], then the
//! [`UnitTable`] in postcard's encoding, then zeros up to `size`. Parts begin at multiples of 8.

use crate::hash::Hasher;
use crate::rawlog::Plain;
use crate::site::{BitcodeHeader, BITCODE_MAGIC};
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// Magic word of [`TableHeader`].
pub const MAGIC: [u8; 8] = *b"CVLOOMT\0";
/// Version of the table.
pub const VERSION: u32 = 3;
/// "None" where an index is expected.
pub const NONE: u32 = u32::MAX;

/// Head of a table.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TableHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u32,
    /// Bytes of the encoded table.
    pub length: u32,
    /// Bytes in all, a multiple of 8.
    pub size: u64,
    /// Hash of the encoded table: [`super::abi::Unit::hash`].
    pub hash: u64,
}
const _: () = assert!(size_of::<TableHeader>() == 32);
// SAFETY: repr(C), no padding (size pinned), integers only.
unsafe impl Plain for TableHeader {}

/// Where the pass stood in the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Precision {
    /// After optimization.
    Late,
    /// Before: accesses are where their lines say.
    Precise,
}

/// An index into [`UnitTable::strings`].
pub type Text = u32;

/// A translation unit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnitTable {
    /// Its source file.
    pub unit: String,
    /// Where the pass stood.
    pub precision: Precision,
    /// The linker was to optimize the code further, and may have inlined its functions.
    pub is_for_lto: bool,
    /// File names (as in debug info, with their folder where that is relative) and linkage names.
    pub strings: Vec<String>,
    /// Chains of lines; [`Point::chain`] is an index.
    pub chains: Vec<Chain>,
    /// Its functions; a function's index is that of its byte.
    pub functions: Vec<Function>,
    /// Linkage names of functions that are not defined here, or may be another unit's, and that a pointer to may be
    /// called since this unit takes their address: what [`Function::address_taken`] is in the unit that defines them.
    pub taken: Vec<Text>,
    /// What the code was before optimization; `None` if that is not known, and not needed where the pass is precise.
    pub original: Option<Vec<OriginalFunction>>,
}

/// Lines that are active together, innermost first. Empty where the line is not known.
pub type Chain = Vec<Line>;

/// A line of a chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Linkage name of the function that the line is in.
    pub function: Text,
    /// Its file.
    pub file: Text,
    /// Its number.
    pub line: u32,
    /// Which inlined copy of that function, 0 for the function itself: copies are numbered in each function.
    pub copy: u32,
}

/// A function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Function {
    /// Its linkage name.
    pub name: Text,
    /// Stable id: as a site's, of the linkage name and, if internal, the file.
    pub id: u64,
    /// The file of its definition.
    pub file: Text,
    /// The line of its definition.
    pub line: u32,
    /// Other units cannot call it by name.
    pub internal: bool,
    /// A pointer to it may be called.
    pub address_taken: bool,
    /// Its type, for calls through pointers: such a call may reach functions of equal shape.
    pub shape: u64,
    /// Why it has no slow path, thus no slots; empty if it has one.
    pub limit: String,
    /// Its graph. The first point is its entry; empty if it was not instrumented at all.
    pub points: Vec<Point>,
    /// Its variables, inlined functions' too.
    pub variables: Vec<Variable>,
    /// Accesses to memory that other threads may see, and calls.
    pub accesses: Vec<Access>,
}

/// A point of a function's graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Point {
    /// What is there.
    pub kind: PointKind,
    /// The chain after it.
    pub chain: u32,
    /// The points that may come next, in the function.
    pub next: Vec<u32>,
}

/// What is at a point.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PointKind {
    /// The function is entered.
    Entry {
        /// Where a thread may pause; [`NONE`] if not here.
        location: u32,
    },
    /// A back edge, with its check.
    Check {
        /// Where a thread may pause; [`NONE`] if the check was left out.
        location: u32,
    },
    /// A slot.
    Slot {
        /// Its number.
        slot: u32,
        /// The chain before it.
        from: u32,
        /// The variables that have their value here: indices into [`Function::variables`], sorted.
        available: Vec<u32>,
    },
    /// A call. Its normal continuation is the point's first `next`; an unwinding one is the second.
    Call {
        /// What is called.
        target: Target,
        /// Where the thread is while the call runs; [`NONE`] if it does not count as released.
        location: u32,
        /// Where threads begin that it may start. Empty for all calls but `pthread_create`, `thrd_create` and what
        /// starts a `std::thread`; calls of hooks have the name of what the hook replaces.
        starts: Vec<Start>,
        /// Nothing follows it on the fast path but the return: the code generator may make a jump of it.
        is_last: bool,
    },
    /// Blocks begin here that several come to.
    Join,
    /// An exception, or a longjmp, lands here.
    Landing {
        /// Where a thread may pause, if it was released when it left where it comes from; [`NONE`] if not here.
        location: u32,
    },
    /// The function returns.
    Return,
    /// An exception leaves it.
    Unwind,
    /// Control ends here.
    Stop,
}

/// What a call calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Target {
    /// A function by its linkage name, defined in this unit or elsewhere.
    Named(Text),
    /// A function of this shape.
    Shape(u64),
    /// A function of one of these shapes: the pointer has no prototype, or is one to a variadic function.
    Shapes(Vec<u64>),
    /// Inline assembly.
    Asm,
}

/// A function in which a thread begins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Start {
    /// This one, by its linkage name.
    Named(Text),
    /// One of this shape whose address is taken: the call gets a pointer.
    Shape(u64),
    /// `std::thread::_State_impl<...>::_M_run` of some unit: [`is_std_thread_run`] tells by its name.
    StdThread,
}

/// Whether a function of this linkage name is what libstdc++'s own thread function calls.
pub fn is_std_thread_run(linkage_name: &str) -> bool {
    linkage_name.starts_with("_ZNSt6thread11_State_impl") && linkage_name.ends_with("6_M_runEv")
}

/// A variable whose value slots may have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Linkage name of the function that declares it.
    pub function: Text,
    /// Which inlined copy of that function: as [`Line::copy`].
    pub copy: u32,
    /// The file of its declaration.
    pub file: Text,
    /// The line of its declaration; several variables of one name differ in it.
    pub line: u32,
    /// Its word in the frame that slots are given.
    pub index: u32,
    /// The word is the variable's address; else its value, zero-extended.
    pub in_memory: bool,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic read-modify-write.
    Update,
    /// A call of a function that is no intrinsic.
    Call,
}

/// An access, or a call, of the optimized function, or of one before optimization. What only this function can see, as a
/// local whose address nobody gets, is left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// The point of the function's graph that it belongs to: the last one before it, which for a call is its own.
    pub point: u32,
    /// Linkage name of the function whose line it is: the one it was inlined from.
    pub function: Text,
    /// Which inlined copy of that function: as [`Line::copy`].
    pub copy: u32,
    /// The file.
    pub file: Text,
    /// The line, 0 if it has none.
    pub line: u32,
    /// What it does.
    pub kind: AccessKind,
    /// How many loops of that function, and inlined ones outside of it, are around it.
    pub depth: u32,
    /// Bytes; 0 for calls and where it is not constant.
    pub bytes: u32,
    /// Linkage name of the callee; [`NONE`] if this is no call or the call goes through a pointer.
    pub callee: Text,
    /// Name of the variable that it is in; [`NONE`] if a pointer leads there.
    pub object: Text,
    /// Hash of the expression that is the address: the same for `p->f` and `p->f`, also before and after optimization as
    /// long as the expression stays the same. 0 if it is not known. For calls: of the callee.
    pub place: u32,
    /// In a local variable whose address was given away.
    pub local: bool,
    /// Several elements at once: a vector, or a block of memory.
    pub vector: bool,
    /// A call from which control does not come back.
    pub ends: bool,
}

/// A function before optimization.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OriginalFunction {
    /// Its linkage name.
    pub name: Text,
    /// Its graph: as [`Function::points`], with slots where the optimized one would have them. Numbers of slots and
    /// locations are [`NONE`].
    pub points: Vec<Point>,
    /// Its accesses; locals that registers can hold are left out.
    pub accesses: Vec<Access>,
}

/// What is wrong with a table.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TableError {
    /// Cut off, or another version's.
    #[error("byte {0} does not start a loom table of version {VERSION}")]
    NotATable(usize),
    /// The bytes do not match their hash, or do not decode.
    #[error("the loom table at byte {0} is damaged")]
    Damaged(usize),
}

/// Bytes of the part at the front of `bytes`, which has [`MAGIC`]; `None` if it is cut off.
pub fn size_of_part(bytes: &[u8]) -> Option<usize> {
    let size = usize::try_from(TableHeader::read(bytes)?.size).ok()?;
    (size % 8 == 0 && size >= size_of::<TableHeader>() && size <= bytes.len()).then_some(size)
}

impl UnitTable {
    /// Reads every table of a section, each with its hash. Bitcode, and what others put there, is passed over.
    pub fn read_section(section: &[u8]) -> Result<Vec<(UnitTable, u64)>, TableError> {
        let mut tables = Vec::new();
        let mut at = 0;
        while at < section.len() {
            let rest = &section[at..];
            if rest.starts_with(&MAGIC) {
                let (table, hash, size) = UnitTable::decode(rest, at)?;
                tables.push((table, hash));
                at += size;
                continue;
            }
            let bitcode = BitcodeHeader::read(rest).filter(|header| header.magic == BITCODE_MAGIC);
            at += bitcode.map_or(8, |header| (header.size as usize).clamp(8, rest.len()).next_multiple_of(8));
        }
        Ok(tables)
    }

    /// The part for the section, and the table's hash.
    pub fn encode(&self) -> (Vec<u8>, u64) {
        let body = postcard::to_allocvec(self).expect("a table has nothing that postcard cannot encode");
        let hash = Hasher::default().bytes(&body).finish();
        let size = (size_of::<TableHeader>() + body.len()).next_multiple_of(8);
        let header = TableHeader {
            magic: MAGIC,
            version: VERSION,
            length: body.len() as u32,
            size: size as u64,
            hash,
        };
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(&body);
        bytes.resize(size, 0);
        (bytes, hash)
    }

    /// Reads the table at the front of `bytes`, which `at` bytes of the section precede; also its hash and its size.
    pub fn decode(bytes: &[u8], at: usize) -> Result<(UnitTable, u64, usize), TableError> {
        let header = TableHeader::read(bytes)
            .filter(|header| header.magic == MAGIC && header.version == VERSION)
            .ok_or(TableError::NotATable(at))?;
        let start = size_of::<TableHeader>();
        let body = bytes.get(start..start + header.length as usize).ok_or(TableError::NotATable(at))?;
        let size = size_of_part(bytes).filter(|&size| size >= start + body.len());
        let size = size.ok_or(TableError::NotATable(at))?;
        if Hasher::default().bytes(body).finish() != header.hash {
            return Err(TableError::Damaged(at));
        }
        let table = postcard::from_bytes(body).map_err(|_| TableError::Damaged(at))?;
        Ok((table, header.hash, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> UnitTable {
        UnitTable {
            unit: "a.c".into(),
            precision: Precision::Precise,
            is_for_lto: false,
            strings: vec!["f".into(), "a.c".into()],
            chains: vec![vec![], vec![Line { function: 0, file: 1, line: 3, copy: 0 }]],
            functions: vec![],
            taken: vec![0],
            original: Some(vec![]),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let (mut section, hash) = table().encode();
        assert_eq!(section.len() % 8, 0);
        assert_eq!(UnitTable::decode(&section, 0), Ok((table(), hash, section.len())));
        section.splice(0..0, [0; 16]);
        section.extend_from_slice(b"somebody else's.");
        section.extend(table().encode().0);
        assert_eq!(UnitTable::read_section(&section), Ok(vec![(table(), hash), (table(), hash)]));
        assert_eq!(UnitTable::read_section(&[]), Ok(vec![]));
    }

    #[test]
    fn damage_is_reported_with_its_place() {
        let (whole, _) = table().encode();
        for length in 8..whole.len() {
            assert_eq!(UnitTable::read_section(&whole[..length]), Err(TableError::NotATable(0)), "{length}");
        }
        let mut other_version = whole.clone();
        other_version[8] = 9;
        assert_eq!(UnitTable::read_section(&other_version), Err(TableError::NotATable(0)));
        let mut damaged = whole.clone();
        damaged[40] ^= 1;
        assert_eq!(UnitTable::read_section(&damaged), Err(TableError::Damaged(0)));
        let mut huge = whole;
        huge[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(UnitTable::read_section(&huge), Err(TableError::NotATable(0)));
    }
}
