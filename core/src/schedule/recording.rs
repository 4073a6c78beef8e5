//! Reads what the runtime left in a recording folder ([`crate::rawlog`]); [`super::assemble`] goes on from there.
//!
//! The bytes may be anything: the process may have been killed while it wrote, or the disk may have been
//! full. What cannot be read is left out and said in [`Recording::damage`]; only a `P.meta` file without a
//! good head is an error.

use crate::ids::ProgramId;
use crate::rawlog::words::{Decoder, Item};
use crate::rawlog::{
    EntryHeader, LogHeader, MetaHeader, Plain, Record, ENTRY_COMMAND, ENTRY_OBJECT, ENTRY_SITES, LOG_MAGIC,
    META_MAGIC, RECORD_SIZE, VERSION,
};
use crate::site::UnitTable;
use std::io;
use std::mem::size_of;
use std::path::{Path, PathBuf};

/// What is wrong with a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file or the folder could not be read.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Not the head of a recording of this version.
    #[error("{path}: {what}")]
    NotARecording {
        /// The file.
        path: String,
        /// What was found and what was expected.
        what: String,
    },
}

/// One image of a process in a recording folder: `P` in the file names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Image {
    /// The process.
    pub pid: u32,
    /// Which program of it, from 0; exec makes the next.
    pub number: u32,
}

impl Image {
    fn parse(text: &str) -> Option<Image> {
        let (pid, number) = text.split_once('-')?;
        Some(Image { pid: pid.parse().ok()?, number: number.parse().ok()? })
    }

    fn file(self, folder: &Path, suffix: &str) -> PathBuf {
        folder.join(format!("{}-{}.{suffix}", self.pid, self.number))
    }
}

/// A linked object (executable or shared object) of the process.
#[derive(Clone, Debug)]
pub struct LinkedObject {
    /// Its path.
    pub path: PathBuf,
    /// What was added to its addresses when it was loaded.
    pub bias: u64,
    /// Its site tables.
    pub units: Vec<UnitTable>,
}

/// One thread's records, in its order.
#[derive(Clone, Debug)]
pub struct ThreadLog {
    /// The thread's number in this recording.
    pub thread: u32,
    /// What it did.
    pub records: Vec<Record>,
}

/// What one image of a process recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// How the recording stands.
    pub meta: MetaHeader,
    /// The command line.
    pub command: Vec<String>,
    /// In the order in which they registered.
    pub objects: Vec<LinkedObject>,
    /// By thread number.
    pub threads: Vec<ThreadLog>,
    /// What could not be read, in words.
    pub damage: Vec<String>,
}

/// The images that recorded into a folder, in order, with the numbers of their logs.
pub fn images(folder: &Path) -> Result<Vec<(Image, Vec<u32>)>, RecordingError> {
    let io_error = |error| RecordingError::Io { path: folder.display().to_string(), error };
    let mut found: std::collections::BTreeMap<Image, (bool, Vec<u32>)> = Default::default();
    for entry in folder.read_dir().map_err(io_error)? {
        let name = entry.map_err(io_error)?.file_name();
        let Some((image, suffix)) = name.to_str().and_then(|name| name.split_once('.')) else { continue };
        let Some(image) = Image::parse(image) else { continue };
        let (has_meta, threads) = found.entry(image).or_default();
        match suffix.strip_prefix('t').and_then(|number| number.parse().ok()) {
            Some(thread) => threads.push(thread),
            None => *has_meta |= suffix == "meta",
        }
    }
    let with_meta = found.into_iter().filter(|(_, (has_meta, _))| *has_meta);
    Ok(with_meta
        .map(|(image, (_, mut threads))| {
            threads.sort_unstable();
            (image, threads)
        })
        .collect())
}

impl Recording {
    /// Reads what an image recorded.
    pub fn read(folder: &Path, image: Image, logs: &[u32]) -> Result<Recording, RecordingError> {
        let path = image.file(folder, "meta");
        let io_error = |error| RecordingError::Io { path: path.display().to_string(), error };
        let bytes = std::fs::read(&path).map_err(io_error)?;
        let mut recording = Recording::from_meta(&bytes)
            .map_err(|what| RecordingError::NotARecording { path: path.display().to_string(), what })?;
        for &log in logs {
            let path = image.file(folder, &format!("t{log}"));
            let io_error = |error| RecordingError::Io { path: path.display().to_string(), error };
            recording.read_log(log, &std::fs::read(&path).map_err(io_error)?);
        }
        recording.threads.sort_by_key(|log| log.thread);
        Ok(recording)
    }

    /// Reads a `P.meta` file.
    pub fn from_meta(bytes: &[u8]) -> Result<Recording, String> {
        let meta = MetaHeader::read(bytes).ok_or("cut off: no whole head")?;
        if meta.magic != META_MAGIC {
            return Err("not a recording: wrong magic word".to_owned());
        }
        if meta.version != VERSION || meta.record_size != RECORD_SIZE {
            return Err(format!(
                "recording version {} with records of {} bytes, expected version {VERSION} with \
                 {RECORD_SIZE}: the program was linked with another covsched; build it again",
                meta.version, meta.record_size,
            ));
        }
        let mut recording = Recording {
            meta,
            command: Vec::new(),
            objects: Vec::new(),
            threads: Vec::new(),
            damage: Vec::new(),
        };
        recording.read_entries(&bytes[size_of::<MetaHeader>()..]);
        Ok(recording)
    }

    fn read_entries(&mut self, mut bytes: &[u8]) {
        while let Some(head) = EntryHeader::read(bytes) {
            let body = &bytes[size_of::<EntryHeader>()..];
            let Some(content) = body.get(..head.len as usize) else {
                self.damage.push("the last entry of the head is cut off".to_owned());
                return;
            };
            self.entry(head.kind, content);
            bytes = body.get((head.len as usize).next_multiple_of(8)..).unwrap_or_default();
        }
    }

    fn entry(&mut self, kind: u32, content: &[u8]) {
        match kind {
            ENTRY_COMMAND => {
                let arguments = content.strip_suffix(&[0]).unwrap_or(content).split(|&b| b == 0);
                self.command = arguments.map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
            }
            ENTRY_OBJECT => match content.split_first_chunk() {
                Some((bias, path)) => {
                    let path = path.strip_suffix(&[0]).unwrap_or(path);
                    self.objects.push(LinkedObject {
                        path: path_from_bytes(path),
                        bias: u64::from_ne_bytes(*bias),
                        units: Vec::new(),
                    });
                }
                None => self.damage.push("an entry about a linked object is too short".to_owned()),
            },
            ENTRY_SITES => {
                // A table of its own, without an object, is still good for its sites.
                if self.objects.is_empty() {
                    self.objects.push(LinkedObject { path: PathBuf::new(), bias: 0, units: Vec::new() });
                }
                if let Some(object) = self.objects.last_mut() {
                    match UnitTable::read_section(content) {
                        Ok(units) => object.units.extend(units),
                        Err(error) => self.damage.push(format!("{}: {error}", object.path.display())),
                    }
                }
            }
            // The head is padded with zeros where its mapping is longer than what is written.
            0 => {}
            kind => self.damage.push(format!("an entry of unknown kind {kind}")),
        }
    }

    /// Reads a `P.tN` file, whole or cut off; holes and what follows the last record are left out.
    pub fn read_log(&mut self, log: u32, bytes: &[u8]) {
        // Made, and the process was killed before it had its size, or its head: nothing was recorded yet.
        if bytes.iter().take(size_of::<LogHeader>()).all(|&b| b == 0) {
            return;
        }
        let Some(header) = LogHeader::read(bytes) else {
            self.damage.push(format!("log {log}: cut off, no whole head"));
            return;
        };
        if header.magic != LOG_MAGIC || header.version != VERSION || header.log != log {
            self.damage.push(format!("log {log}: not a log of version {VERSION}"));
            return;
        }
        let mut current: Option<ThreadLog> = None;
        for item in Decoder::new(&bytes[size_of::<LogHeader>()..]) {
            match (item, &mut current) {
                (Ok(Item::Thread { number, .. }), current) => {
                    self.threads.extend(current.replace(ThreadLog { thread: number, records: Vec::new() }));
                }
                (Ok(Item::Event(record)), Some(current)) => current.records.push(record),
                (Ok(Item::Event(_)), None) => {
                    self.damage.push(format!("log {log}: an event of no thread"));
                    break;
                }
                (Err(what), _) => self.damage.push(format!("log {log}: {what}")),
            }
        }
        self.threads.extend(current);
    }

    /// Which build recorded.
    pub fn program_id(&self) -> ProgramId {
        ProgramId(self.meta.program)
    }
}

fn path_from_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests;
