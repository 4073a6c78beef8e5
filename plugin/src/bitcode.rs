//! The whole program's bitcode, got back from an executable: the section is split into its units, the units are
//! linked into one module.

use crate::ir::bridge::{self, collect_bytes, RawLinked, Text};
use covsched_core::rawlog::Plain;
use covsched_core::site::{BitcodeHeader, BITCODE_MAGIC, BITCODE_SECTION, VERSION};
use std::mem::size_of;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A translation unit's bitcode, in the section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part<'a> {
    /// The unit's source file, as the compiler was given it.
    pub unit: String,
    /// Hash of the unit's site table: which table this bitcode belongs to.
    pub table_hash: u64,
    /// The bitcode.
    pub bitcode: &'a [u8],
}

/// What is wrong with bitcode.
#[derive(Debug, thiserror::Error)]
pub enum BitcodeError {
    /// A header that promises more than is there.
    #[error("byte {offset} of section {BITCODE_SECTION}: a unit's bitcode is cut off or damaged")]
    Damaged {
        /// Where its header stands.
        offset: usize,
    },
    /// Written by another version of covsched.
    #[error("byte {offset} of section {BITCODE_SECTION}: version {version}, this covsched reads {VERSION}")]
    Version {
        /// Where its header stands.
        offset: usize,
        /// Its version.
        version: u32,
    },
    /// Units that LLVM cannot read or link.
    #[error("{unit}: {reason}")]
    Link {
        /// The unit that could not be added.
        unit: String,
        /// LLVM's words.
        reason: String,
    },
    /// The linked module is broken.
    #[error("the linked module does not verify: {0}")]
    Invalid(String),
    /// The file system.
    #[error("{}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What happened.
        error: std::io::Error,
    },
}

/// Splits the section's bytes into covsched's units. What others put there (clang's `-fembed-bitcode`) is left out;
/// [`foreign`] tells where it is.
pub fn split(section: &[u8]) -> Result<Vec<Part<'_>>, BitcodeError> {
    walk(section).map(|(parts, _)| parts)
}

/// The byte ranges of the section that are not covsched's.
pub fn foreign(section: &[u8]) -> Result<Vec<Range<usize>>, BitcodeError> {
    walk(section).map(|(_, foreign)| foreign)
}

fn walk(section: &[u8]) -> Result<(Vec<Part<'_>>, Vec<Range<usize>>), BitcodeError> {
    let mut parts = Vec::new();
    let mut foreign: Vec<Range<usize>> = Vec::new();
    let mut offset = 0;
    while offset < section.len() {
        let rest = &section[offset..];
        if !rest.starts_with(&BITCODE_MAGIC) {
            // Linkers pad with zeros up to a part's alignment; anything else is somebody else's.
            let end = (offset + 8).min(section.len());
            if rest[..end - offset].iter().any(|&byte| byte != 0) {
                match foreign.last_mut().filter(|last| last.end == offset) {
                    Some(last) => last.end = end,
                    None => foreign.push(offset..end),
                }
            }
            offset = end;
            continue;
        }
        let damaged = || BitcodeError::Damaged { offset };
        let header = BitcodeHeader::read(rest).ok_or_else(damaged)?;
        if header.version != VERSION {
            return Err(BitcodeError::Version { offset, version: header.version });
        }
        let size = usize::try_from(header.size).map_err(|_| damaged())?;
        let name_start = size_of::<BitcodeHeader>();
        let name_end = name_start.checked_add(header.name_len as usize).ok_or_else(damaged)?;
        let end = usize::try_from(header.bitcode_len)
            .ok()
            .and_then(|len| name_end.checked_add(len))
            .filter(|&end| end <= size && size <= rest.len() && size % 8 == 0)
            .ok_or_else(damaged)?;
        parts.push(Part {
            unit: String::from_utf8_lossy(&rest[name_start..name_end]).into_owned(),
            table_hash: header.table_hash,
            bitcode: &rest[name_end..end],
        });
        offset += size;
    }
    Ok((parts, foreign))
}

/// Units linked into one module, in a context of its own.
#[derive(Debug)]
pub struct Linked(*mut RawLinked);

// SAFETY (all calls below): the pointer is made by `link` and freed by `drop` alone.
impl Drop for Linked {
    fn drop(&mut self) {
        // SAFETY: see above.
        unsafe { bridge::cov_linked_drop(self.0) }
    }
}

fn lossy(texts: Vec<Vec<u8>>) -> String {
    String::from_utf8_lossy(&texts.concat()).into_owned()
}

impl Linked {
    /// Linkage names that are used and defined nowhere, sorted: libraries, and units that are missing.
    pub fn undefined(&self) -> Vec<String> {
        // SAFETY: see above.
        let (names, ()) = collect_bytes(|take, context| unsafe {
            bridge::cov_linked_undefined(self.0, take, context);
        });
        let mut names: Vec<String> =
            names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        names.sort();
        names
    }

    /// Runs LLVM's verifier.
    pub fn verify(&self) -> Result<(), BitcodeError> {
        // SAFETY: see above.
        let (texts, fine) =
            collect_bytes(|take, context| unsafe { bridge::cov_linked_verify(self.0, take, context) });
        if fine {
            Ok(())
        } else {
            Err(BitcodeError::Invalid(lossy(texts)))
        }
    }

    /// Writes the module as a bitcode file.
    pub fn write(&self, path: &Path) -> Result<(), BitcodeError> {
        // SAFETY: see above.
        let (bytes, ()) =
            collect_bytes(|take, context| unsafe { bridge::cov_linked_write(self.0, take, context) });
        std::fs::write(path, bytes.concat())
            .map_err(|error| BitcodeError::Write { path: path.to_owned(), error })
    }
}

/// Links units into one module, in their order.
pub fn link(parts: &[Part<'_>]) -> Result<Linked, BitcodeError> {
    // SAFETY: the new module is owned by the value made of it.
    let linked = Linked(unsafe { bridge::cov_linked_new() });
    for part in parts {
        // SAFETY: see above; LLVM copies the bytes.
        let (texts, fine) = collect_bytes(|take, context| unsafe {
            bridge::cov_linked_add(linked.0, Text::new(&part.unit), Text::new(part.bitcode), take, context)
        });
        if !fine {
            return Err(BitcodeError::Link { unit: part.unit.clone(), reason: lossy(texts) });
        }
    }
    Ok(linked)
}
