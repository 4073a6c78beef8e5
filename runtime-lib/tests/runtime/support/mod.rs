//! Builds the archive and the C programs that call hooks directly, runs them, reads what they recorded.

pub mod legal;
pub mod loom;

use covsched_core::hooks::{Hook, Op, Word, CXX_HOOKS, HOOKS, MARKERS};
use covsched_core::rawlog::words::{Decoder, Item};
use covsched_core::rawlog::{
    EntryHeader, LogHeader, MetaHeader, Phase, Plain, Record, LOG_MAGIC, META_MAGIC,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Where things are.
pub struct Kit {
    /// `libcovsched_rt.a` and `covsched_interpose.o`.
    pub library: PathBuf,
    /// Programs are built here.
    pub work: PathBuf,
    /// `programs/`.
    pub sources: PathBuf,
}

/// Builds the archive, once.
pub fn kit() -> &'static Kit {
    static KIT: OnceLock<Kit> = OnceLock::new();
    KIT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        succeed(Command::new(root.join("scripts/build")).arg("runtime"));
        let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rt-{}", std::process::id()));
        remove_leftovers(Path::new(env!("CARGO_TARGET_TMPDIR")));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::write(work.join("hooks.h"), header()).unwrap();
        let library = root.join("target/install/lib/covsched");
        Kit { library, work, sources: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs") }
    })
}

/// Removes what earlier test processes built.
fn remove_leftovers(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.strip_prefix("rt-").is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Runs a command that must succeed, in a time that also does for a build.
pub fn succeed(command: &mut Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let output = wait_at_most(Duration::from_secs(300), child);
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

/// `hooks.h`: puts each hook in its function's place, the line being the site.
fn header() -> String {
    let c_word = |word: Word| match word {
        Word::Ptr => "void *",
        Word::Int => "int",
        Word::Uint => "unsigned",
        Word::Ulong => "unsigned long",
        Word::Site => "unsigned long long",
        Word::Void | Word::Never => "void",
    };
    let mut text = String::from("#pragma once\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    let mut declare = |symbol: &str, params: &[Word], more: &[&str], result: Word| {
        let params: Vec<&str> = params.iter().map(|&word| c_word(word)).chain(more.iter().copied()).collect();
        let noreturn = if result == Word::Never { "__attribute__((noreturn)) " } else { "" };
        writeln!(text, "{noreturn}{} {symbol}({});", c_word(result), params.join(", ")).unwrap();
    };
    for Hook { symbol, params, result, .. } in HOOKS {
        declare(symbol, params, &["unsigned long long"], *result);
    }
    for Hook { symbol, params, result, .. } in CXX_HOOKS {
        declare(symbol, params, &["void *", "unsigned long long"], *result);
    }
    for marker in MARKERS {
        let params = if marker.params.is_empty() { &[Word::Void] } else { marker.params };
        declare(marker.symbol, params, &[], marker.result);
    }
    text.push_str("#ifdef __cplusplus\n}\n#endif\n#ifndef NO_REPLACEMENT\n");
    for Hook { replaces, symbol, params, .. } in HOOKS {
        let names: Vec<String> = (0..params.len()).map(|index| format!("a{index}")).collect();
        let casts: Vec<String> =
            names.iter().zip(*params).map(|(name, &word)| format!("({})({name})", c_word(word))).collect();
        writeln!(text, "#define {replaces}({}) {symbol}({}, __LINE__)", names.join(", "), casts.join(", "))
            .unwrap();
    }
    text.push_str("#endif\n");
    text
}

/// Compiles `programs/NAME` into an executable, with the interposers unless `arguments` say -static.
pub fn build_with(compiler: &str, name: &str, output: &str, arguments: &[&str]) -> PathBuf {
    let kit = kit();
    let executable = kit.work.join(output);
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-Wall", "-Werror", "-D_GNU_SOURCE", "-I"]).arg(&kit.work);
    command.arg(kit.sources.join(name)).arg("-o").arg(&executable).args(arguments);
    if !arguments.iter().any(|argument| argument.starts_with("-static")) {
        command.arg(kit.library.join("covsched_interpose.o"));
    }
    command.arg(kit.library.join("libcovsched_rt.a")).arg("-pthread");
    succeed(&mut command);
    executable
}

/// Compiles `programs/NAME` in the usual way.
pub fn build(name: &str) -> PathBuf {
    let compiler = if name.ends_with(".cpp") { "clang++-16" } else { "clang-16" };
    build_with(compiler, name, &name.replace('.', "_"), &[])
}

/// An event and its thread.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub thread: u32,
    pub op: Op,
    pub phase: Phase,
    pub record: Record,
}

/// What one process recorded.
#[derive(Debug)]
pub struct Recording {
    pub meta: MetaHeader,
    pub entries: Vec<(u32, Vec<u8>)>,
    /// By number: the parent's number, and which of its creations.
    pub threads: BTreeMap<u32, (u32, u32)>,
    /// In the total order.
    pub events: Vec<Event>,
}

impl Recording {
    /// The events of one operation.
    pub fn of(&self, op: Op) -> Vec<Event> {
        self.events.iter().filter(|event| event.op == op).copied().collect()
    }

    /// The results of one operation, in order.
    pub fn results(&self, op: Op) -> Vec<i32> {
        self.of(op).iter().map(|event| event.record.result).collect()
    }

    /// A thread's operations and phases, in its order.
    pub fn ops(&self, thread: u32) -> Vec<(Op, Phase)> {
        self.events
            .iter()
            .filter(|event| event.thread == thread)
            .map(|event| (event.op, event.phase))
            .collect()
    }
}

/// A finished run.
pub struct Run {
    pub output: Output,
    pub folder: PathBuf,
}

impl Run {
    /// What it printed.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Every process's recording, by name.
    pub fn recordings(&self) -> BTreeMap<String, Recording> {
        read_folder(&self.folder)
    }

    /// The recording of the only process: legal, complete, exit status 0.
    pub fn good(&self) -> Recording {
        assert!(self.output.status.success(), "{:?}", self.output);
        let mut all = self.recordings();
        assert_eq!(all.len(), 1, "{:?}", all.keys());
        let recording = all.pop_first().unwrap().1;
        assert_eq!((recording.meta.state, recording.meta.lost), (1, 0));
        legal::check(&recording);
        recording
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Kept where a test has failed, to look at.
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Runs a program in record mode, in a folder of its own.
pub fn record(executable: &Path, arguments: &[&str], options: &str) -> Run {
    let folder = fresh_folder();
    let options = format!("mode=record:log='{}':{options}", folder.display());
    let mut command = Command::new(executable);
    let child = command
        .args(arguments)
        .env("COVSCHED_OPTIONS", options)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Run { output: wait_at_most(Duration::from_secs(40), child), folder }
}

/// Runs a program with these options, which do not record.
pub fn run(executable: &Path, arguments: &[&str], options: &str) -> Output {
    let mut command = Command::new(executable);
    command.args(arguments).env("COVSCHED_OPTIONS", options).stdout(Stdio::piped()).stderr(Stdio::piped());
    wait_at_most(Duration::from_secs(40), command.spawn().unwrap())
}

/// A program that hangs is killed and is a failure of its own: some programs are to be killed, and a status alone
/// would not tell.
fn wait_at_most(limit: Duration, mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > limit {
            let threads = where_threads_are(child.id());
            child.kill().unwrap();
            panic!("hangs: {:?}\n{threads}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

/// What each thread of a process is doing: its system call, as the kernel says.
fn where_threads_are(pid: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .map(|task| {
            let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
            format!("{:?}: {} {}", task.file_name(), read("wchan"), read("syscall"))
        })
        .collect()
}

/// An empty folder.
pub fn fresh_folder() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = kit().work.join(format!("log{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    std::fs::create_dir(&folder).unwrap();
    folder
}

/// Every recording in a folder.
pub fn read_folder(folder: &Path) -> BTreeMap<String, Recording> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(|path| (path.extension().unwrap() != "meta", path.clone()));
    let mut all = BTreeMap::new();
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().unwrap() == "meta" {
            all.insert(name, read_meta(&bytes));
        } else {
            read_log(&bytes, all.get_mut(&name).expect("a thread's log without a .meta"));
        }
    }
    for recording in all.values_mut() {
        // Stable: records of one thread keep their places.
        recording.events.sort_by_key(|event| (event.record.clock, event.thread));
    }
    all
}

fn read_meta(bytes: &[u8]) -> Recording {
    let meta = MetaHeader::read(bytes).unwrap();
    assert_eq!(meta.magic, META_MAGIC);
    let mut rest = &bytes[size_of::<MetaHeader>()..];
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let header = EntryHeader::read(rest).unwrap();
        let body = &rest[size_of::<EntryHeader>()..];
        entries.push((header.kind, body[..header.len as usize].to_vec()));
        rest = &body[(header.len as usize).next_multiple_of(8)..];
    }
    Recording { meta, entries, threads: BTreeMap::new(), events: Vec::new() }
}

fn read_log(bytes: &[u8], recording: &mut Recording) {
    let header = LogHeader::read(bytes).unwrap();
    assert_eq!(header.magic, LOG_MAGIC);
    let mut thread = None;
    for item in Decoder::new(&bytes[size_of::<LogHeader>()..]) {
        match item.unwrap() {
            Item::Thread { number, parent, nth } => {
                thread = Some(number);
                assert!(recording.threads.insert(number, (parent, nth)).is_none());
            }
            Item::Event(record) => {
                let op = Op::from_index(record.op).unwrap();
                let phase = [Phase::Both, Phase::Begin, Phase::End][usize::from(record.phase)];
                recording.events.push(Event {
                    thread: thread.expect("an event of no thread"),
                    op,
                    phase,
                    record,
                });
            }
        }
    }
}
