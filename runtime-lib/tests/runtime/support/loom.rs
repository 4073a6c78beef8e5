//! A controller for tests: builds plans by hand, and speaks core's `loom::wire`.

use crate::support::{build, fresh_folder};
use covsched_core::loom::plan::{
    ConstraintRecord, Frame, OpRecord, Part, PlanHeader, Switch, UnitRef, UnsafeAt, CONSTRAINT_MUTUAL, MAGIC,
    NONE, VERSION,
};
use covsched_core::loom::wire::{self, FilterInfo, Head, Outcome, Process, ThreadAt};
use covsched_core::rawlog::Plain;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem::size_of;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The unit of `programs/loomed.c`.
pub const UNIT: u64 = 0x1001;
/// The first of its slots' locations.
pub const SLOTS_AT: u32 = 9;

/// A plan under construction.
#[derive(Clone, Default)]
pub struct PlanBuilder {
    pub units: Vec<UnitRef>,
    pub switches: Vec<Switch>,
    pub unsafe_at: Vec<UnsafeAt>,
    pub frames: Vec<Frame>,
    pub ops: Vec<OpRecord>,
    pub constraints: Vec<ConstraintRecord>,
    pub code: Vec<u8>,
    pub timeout_ms: u32,
}

impl PlanBuilder {
    /// For `loomed.c`, with one constraint.
    pub fn new(kind: u32, steps: u32) -> Self {
        PlanBuilder {
            units: vec![UnitRef { hash: UNIT, address: 0 }],
            constraints: vec![ConstraintRecord { kind, steps, text: Part { at: 2, count: 6 } }],
            ..Default::default()
        }
    }

    pub fn slow(mut self, functions: &[u32]) -> Self {
        self.switches.extend(functions.iter().map(|&function| Switch { unit: 0, function }));
        self
    }

    pub fn not_at(mut self, locations: &[u32]) -> Self {
        locations.iter().for_each(|&first| self = self.clone().not_in_row(first, 1));
        self
    }

    pub fn not_in_row(mut self, first: u32, count: u32) -> Self {
        self.unsafe_at.push(UnsafeAt { unit: 0, first, count, marks: 1 });
        self
    }

    pub fn op(mut self, slot: u32, kind: u8, step: u8, key: u32, times: u32) -> Self {
        self.ops.push(OpRecord { unit: 0, slot, kind, step, constraint: 0, key, times, flags: 0 });
        self
    }

    /// Code that makes threads unsafe which it called.
    pub fn called_from(mut self, unit: u32, first: u64, last: u64) -> Self {
        self.frames.push(Frame { unit, reserved: 0, first, last });
        self
    }

    /// The region of `loomed.c`: one thread at a time, or one a key if `code` is not empty.
    pub fn region(code: &[u8]) -> Self {
        use covsched_core::loom::plan::{OP_LEAVE, OP_LOCK, OP_UNLOCK};
        let key = if code.is_empty() { NONE } else { 0 };
        let mut plan = Self::new(CONSTRAINT_MUTUAL, 0)
            .slow(&[0, 1])
            .not_in_row(2, 2)
            .not_at(&[7, SLOTS_AT + 1])
            .op(0, OP_LOCK, 0, key, NONE)
            .op(1, OP_UNLOCK, 0, key, NONE)
            .op(2, OP_LEAVE, 0, NONE, NONE);
        plan.code = code.to_vec();
        plan
    }

    pub fn bytes(&self) -> Vec<u8> {
        fn add<T: Plain>(bytes: &mut Vec<u8>, records: &[T]) -> Part {
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            let part = Part { at: bytes.len() as u32, count: records.len() as u32 };
            records.iter().for_each(|record| bytes.extend_from_slice(record.as_bytes()));
            part
        }
        fn text(bytes: &mut Vec<u8>, text: &[u8]) -> Part {
            let part = Part { at: bytes.len() as u32, count: text.len() as u32 };
            bytes.extend_from_slice(text);
            part
        }
        let mut bytes = vec![0; size_of::<PlanHeader>()];
        let mut header = PlanHeader {
            magic: MAGIC,
            version: VERSION,
            size: 0,
            timeout_ms: self.timeout_ms,
            reserved: 0,
            units: add(&mut bytes, &self.units),
            switches: add(&mut bytes, &self.switches),
            unsafe_at: add(&mut bytes, &self.unsafe_at),
            frames: add(&mut bytes, &self.frames),
            ops: add(&mut bytes, &self.ops),
            constraints: add(&mut bytes, &self.constraints),
            code: text(&mut bytes, &self.code),
            name: text(&mut bytes, b"test.filter"),
            source: text(&mut bytes, b"# a <> b\n"),
        };
        header.size = bytes.len() as u32;
        bytes[..size_of::<PlanHeader>()].copy_from_slice(header.as_bytes());
        bytes
    }
}

/// What the engine said to a change.
#[derive(Debug)]
pub enum Answer {
    Done(Outcome),
    NotDone(Outcome, Vec<ThreadAt>),
    Refused(String),
}

impl Answer {
    /// It was done.
    pub fn done(self) -> Outcome {
        match self {
            Answer::Done(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    }

    /// It was refused.
    pub fn refused(self) -> String {
        match self {
            Answer::Refused(text) => text,
            other => panic!("{other:?}"),
        }
    }
}

/// A connection.
pub struct Controller(pub UnixStream);

impl Controller {
    /// Connects as soon as the socket is there.
    pub fn connect(path: &Path) -> Controller {
        let start = Instant::now();
        loop {
            match UnixStream::connect(path) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
                    return Controller(stream);
                }
                Err(error) => assert!(start.elapsed() < Duration::from_secs(10), "{path:?}: {error}"),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn send(&mut self, kind: u16, body: &[u8]) -> io::Result<()> {
        let head = Head { magic: wire::MAGIC, version: wire::VERSION, kind, length: body.len() as u32 };
        self.0.write_all(&[head.as_bytes(), body].concat())
    }

    pub fn receive(&mut self) -> io::Result<(u16, Vec<u8>)> {
        let mut head = [0; size_of::<Head>()];
        self.0.read_exact(&mut head)?;
        let head = Head::read(&head).unwrap();
        assert_eq!((head.magic, head.version), (wire::MAGIC, wire::VERSION));
        let mut body = vec![0; head.length as usize];
        self.0.read_exact(&mut body)?;
        Ok((head.kind, body))
    }

    pub fn ask(&mut self, kind: u16, body: &[u8]) -> (u16, Vec<u8>) {
        self.send(kind, body).unwrap();
        self.receive().unwrap()
    }

    fn change(&mut self, kind: u16, body: &[u8]) -> Answer {
        let (kind, body) = self.ask(kind, body);
        match kind {
            wire::DONE => Answer::Done(Outcome::read(&body).unwrap()),
            wire::NOT_DONE => {
                let (head, threads) = body.split_at(size_of::<Outcome>());
                let threads = threads.chunks(size_of::<ThreadAt>()).map(|one| ThreadAt::read(one).unwrap());
                Answer::NotDone(Outcome::read(head).unwrap(), threads.collect())
            }
            wire::REFUSED => Answer::Refused(String::from_utf8(body).unwrap()),
            other => panic!("answer {other}"),
        }
    }

    pub fn add(&mut self, plan: &[u8]) -> Answer {
        self.change(wire::ADD, plan)
    }

    pub fn remove(&mut self, id: u32) -> Answer {
        self.change(wire::REMOVE, &id.to_le_bytes())
    }

    pub fn replace(&mut self, id: u32, plan: &[u8]) -> Answer {
        self.change(wire::REPLACE, &[&id.to_le_bytes(), &[0; 4], plan].concat())
    }

    pub fn hello(&mut self) -> (Process, Vec<u64>) {
        let (kind, body) = self.ask(wire::HELLO, &[]);
        assert_eq!(kind, wire::PROCESS);
        let (head, units) = body.split_at(size_of::<Process>());
        let units = units.chunks(8).map(|unit| u64::from_le_bytes(unit.try_into().unwrap())).collect();
        (Process::read(head).unwrap(), units)
    }

    pub fn threads(&mut self) -> Vec<ThreadAt> {
        let (kind, body) = self.ask(wire::WHERE, &[]);
        assert_eq!(kind, wire::THREADS);
        body.chunks(size_of::<ThreadAt>()).map(|one| ThreadAt::read(one).unwrap()).collect()
    }

    /// Filters with name, source and report.
    pub fn list(&mut self) -> Vec<(FilterInfo, [String; 3])> {
        let (kind, body) = self.ask(wire::LIST, &[]);
        assert_eq!(kind, wire::FILTERS);
        let (mut rest, mut filters) = (&body[..], Vec::new());
        while !rest.is_empty() {
            let info = FilterInfo::read(rest).unwrap();
            rest = &rest[size_of::<FilterInfo>()..];
            let lengths = [info.name, info.source, info.report].map(|length| length as usize);
            let total: usize = lengths.iter().sum();
            let mut at = 0;
            let texts = lengths.map(|length| {
                at += length;
                String::from_utf8(rest[at - length..at].to_vec()).unwrap()
            });
            filters.push((info, texts));
            rest = &rest[total.next_multiple_of(8)..];
        }
        filters
    }
}

/// A running `loomed.c`.
pub struct Server {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub folder: PathBuf,
    pub pid: u32,
}

/// What it counted.
#[derive(Debug, Clone, Copy)]
pub struct Counts {
    pub overlaps: u64,
    pub same_key: u64,
    pub rounds: u64,
    pub early: u64,
    pub disturbed: u64,
    pub handled: u64,
    pub overtaken: u64,
}

impl Server {
    pub fn start(threads: u32, options: &str) -> Server {
        static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
        Self::start_program(PROGRAM.get_or_init(|| build("loomed.c")), threads, options)
    }

    pub fn start_program(program: &Path, threads: u32, options: &str) -> Server {
        let folder = fresh_folder().join("s");
        let options = format!("loom-socket='{}':{options}", folder.display());
        let mut child = Command::new(program)
            .arg(threads.to_string())
            .env("COVSCHED_OPTIONS", options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let pid = child.id();
        let mut server = Server { child, input, output, folder, pid };
        assert!(server.line().starts_with("ready "));
        server
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Gives a command: see `loomed.c`.
    pub fn command(&mut self, command: &str) -> Counts {
        writeln!(self.input, "{command}").unwrap();
        let line = self.line();
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [overlaps, same_key, rounds, early, disturbed, handled, overtaken] = numbers[..] else {
            panic!("{line:?}")
        };
        Counts { overlaps, same_key, rounds, early, disturbed, handled, overtaken }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.join(format!("{}.sock", self.pid))
    }

    pub fn controller(&self) -> Controller {
        Controller::connect(&self.socket())
    }

    /// Ends it: status 0, and the socket is gone. What it said on standard error.
    pub fn stop(mut self) -> String {
        writeln!(self.input, "q").unwrap();
        assert!(self.line().ends_with("rounds\n"));
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20), "does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
        let status = self.child.wait().unwrap();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert!(status.success(), "{status:?}: {errors}");
        assert!(!self.socket().exists());
        errors
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After stop there is nothing left to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lets the program run.
pub fn let_run(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
