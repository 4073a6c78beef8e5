//! `covsched loom ps`: the threads of a process, or of all processes of this user that have an engine, and where they are.

use super::engine::Engine;
use super::ls::SHORT;
use super::places;
use super::process::Process;
use super::{print, print_json, Format, Talk};
use crate::failure::Failure;
use covsched_core::loom::compile::Program;
use covsched_core::loom::wire::ThreadAt;
use serde_json::{json, Value};
use std::process::ExitCode;

/// What `ps` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// A process; all of yours if none is given
    #[arg(value_name = "PID")]
    pid: Option<u32>,
    #[command(flatten)]
    talk: Talk,
}

struct Looked {
    pid: u32,
    name: String,
    threads: Result<(Program, Vec<ThreadAt>), String>,
}

/// Shows them.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let timeout = arguments.talk.timeout;
    let looked: Vec<Looked> = match arguments.pid {
        Some(pid) => {
            let mut engine = Engine::of(pid, timeout)?;
            let name = engine.process.name();
            vec![Looked { pid, name, threads: Ok(look(&mut engine)?) }]
        }
        None => {
            // One that hangs must not hide the others for long.
            let timeout = timeout.min(SHORT);
            let one = |process: Process| {
                let (pid, name) = (process.pid, process.name());
                let threads = match Engine::find(process, timeout) {
                    Ok(Ok(mut engine)) => look(&mut engine),
                    Ok(Err(_)) => return None,
                    Err(failure) => Err(failure),
                };
                Some(Looked { pid, name, threads: threads.map_err(|failure| failure.to_string()) })
            };
            Process::all().into_iter().filter_map(one).collect()
        }
    };
    match arguments.talk.common.format {
        Format::Text => print(&text(&looked))?,
        Format::Json => print_json(&json(&looked))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Without the program's files the threads are still there, at places that are not known.
fn look(engine: &mut Engine) -> Result<(Program, Vec<ThreadAt>), Failure> {
    let mut threads = engine.client.threads().map_err(|error| engine.failure(&error))?;
    threads.sort_by_key(|thread| thread.thread);
    let program = engine.images().map(|images| images.program).unwrap_or_default();
    Ok((program, threads))
}

fn text(looked: &[Looked]) -> String {
    let mut text = String::new();
    for Looked { pid, name, threads } in looked {
        match threads {
            Err(reason) => text += &format!("process {pid} ({name}): {reason}\n"),
            Ok((program, threads)) => {
                text += &format!("process {pid} ({name}): {} threads\n", threads.len());
                for thread in threads {
                    let place = places::find(program, thread.unit, thread.location);
                    text += &format!("  {} {}\n", thread.thread, places::state_words(thread, &place));
                }
            }
        }
    }
    if looked.is_empty() {
        text += "no process of yours has an engine\n";
    }
    text
}

fn json(looked: &[Looked]) -> Value {
    let one = |looked: &Looked| {
        let mut value = json!({ "pid": looked.pid, "executable": looked.name });
        match &looked.threads {
            Err(reason) => value["error"] = reason.as_str().into(),
            Ok((program, threads)) => {
                let thread = |thread: &ThreadAt| {
                    places::thread_json(thread, &places::find(program, thread.unit, thread.location))
                };
                value["threads"] = threads.iter().map(thread).collect();
            }
        }
        value
    };
    json!({ "processes": looked.iter().map(one).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use covsched_core::loom::wire;

    #[test]
    fn threads_are_shown_with_their_places() {
        let thread = ThreadAt { unit: 7, location: 1, thread: 42, state: wire::AT_CALL, in_the_way: 0 };
        let threads = Ok((places::tests::program(), vec![thread]));
        let looked = [Looked { pid: 5, name: "/app".into(), threads }];
        assert_eq!(text(&looked), "process 5 (/app): 1 threads\n  42 is in read() at a.c:4 in main\n");
        assert_eq!(json(&looked)["processes"][0]["threads"][0]["callee"], "read");
    }
}
