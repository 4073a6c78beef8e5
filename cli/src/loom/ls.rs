//! `covsched loom ls`: the filters of a process, or of all processes of this user. Sockets that dead processes left behind
//! go on the way.

use super::client::{Client, ClientError, Filter};
use super::engine::Engine;
use super::process::{usual_folders, Process};
use super::{print, print_json, report, Format, Talk};
use crate::failure::Failure;
use covsched_core::loom::wire;
use serde_json::{json, Value};
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// What `ls` takes.
#[derive(clap::Args)]
pub struct Arguments {
    /// A process; all of yours if none is given
    #[arg(value_name = "PID")]
    pid: Option<u32>,
    #[command(flatten)]
    talk: Talk,
}

/// How long each process has for its answer when all are asked.
pub const SHORT: Duration = Duration::from_secs(3);

/// A process and what it answered, or why it did not.
struct Listed {
    pid: u32,
    name: String,
    filters: Result<(wire::Process, Vec<Filter>), String>,
}

/// Lists them.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let timeout = arguments.talk.timeout;
    let listed = match arguments.pid {
        Some(pid) => {
            let mut engine = Engine::of(pid, timeout)?;
            let filters = filters_of(&mut engine).map_err(|error| engine.failure(&error))?;
            vec![Listed { pid, name: engine.process.name(), filters: Ok((engine.greeting.process, filters)) }]
        }
        None => {
            // One that hangs must not hide the others for long.
            let timeout = timeout.min(SHORT);
            usual_folders().iter().for_each(|folder| remove_stale(folder));
            Process::all().into_iter().filter_map(|process| list(process, timeout)).collect()
        }
    };
    match arguments.talk.common.format {
        Format::Text => print(&text(&listed))?,
        Format::Json => print_json(&json(&listed))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// `None` if it has no engine. One that does not answer is listed with the reason: the others matter too.
fn list(process: Process, timeout: Duration) -> Option<Listed> {
    let (pid, name) = (process.pid, process.name());
    let filters = match Engine::find(process, timeout) {
        Ok(Ok(mut engine)) => match filters_of(&mut engine) {
            Ok(filters) => Ok((engine.greeting.process, filters)),
            Err(error) => Err(engine.failure(&error).to_string()),
        },
        Ok(Err(_)) => return None,
        Err(failure) => Err(failure.to_string()),
    };
    Some(Listed { pid, name, filters })
}

/// With reports in words.
fn filters_of(engine: &mut Engine) -> Result<Vec<Filter>, ClientError> {
    let mut filters = engine.client.list()?;
    report::name_places(filters.iter_mut().map(|filter| &mut filter.report), engine);
    Ok(filters)
}

/// Removes sockets at which nobody listens any more and whose process is gone. (A container may share the folder and have
/// numbers of its own, so the number alone does not tell.)
fn remove_stale(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        // A socket is made under the second name and gets the first when somebody listens.
        let stem = name.to_str().and_then(|name| name.strip_suffix(".sock").or(name.strip_suffix(".new")));
        let pid = stem.and_then(|stem| stem.parse::<u32>().ok());
        let Some(pid) = pid else { continue };
        if Path::new(&format!("/proc/{pid}")).exists() {
            continue;
        }
        let refused = matches!(
            Client::connect(&path, Duration::from_millis(200)),
            Err(ClientError::Connect { error, .. }) if error.kind() == io::ErrorKind::ConnectionRefused
        );
        if refused {
            let _ = fs::remove_file(&path);
        }
    }
}

fn state(filter: &Filter) -> &'static str {
    match filter.info.state {
        wire::FILTER_INSTALLED => "installed",
        wire::FILTER_EXPELLED => "expelled",
        _ => "unknown",
    }
}

fn text(listed: &[Listed]) -> String {
    let mut text = String::new();
    for Listed { pid, name, filters } in listed {
        match filters {
            Err(reason) => text += &format!("process {pid} ({name}): {reason}\n"),
            Ok((_, filters)) if filters.is_empty() => {
                text += &format!("process {pid} ({name}): no filters\n")
            }
            Ok((_, filters)) => {
                text += &format!("process {pid} ({name}):\n");
                for filter in filters {
                    let info = &filter.info;
                    let seconds = info.age as f64 / 1e3;
                    // The age is that of the filter, whatever became of it.
                    let since = match info.state {
                        wire::FILTER_INSTALLED => format!("for {seconds:.1} s"),
                        _ => format!("(installed {seconds:.1} s ago)"),
                    };
                    text += &format!(
                        "  {} {} {} {since}, {} operations, {} waits, {} objects\n",
                        info.id,
                        filter.name,
                        state(filter),
                        info.operations,
                        info.waits,
                        info.objects
                    );
                    for line in filter.report.lines() {
                        text += &format!("      {line}\n");
                    }
                }
            }
        }
    }
    if listed.is_empty() {
        text += "no process of yours has an engine\n";
    }
    text
}

fn json(listed: &[Listed]) -> Value {
    let one = |listed: &Listed| {
        let mut value = json!({ "pid": listed.pid, "executable": listed.name });
        match &listed.filters {
            Err(reason) => value["error"] = reason.as_str().into(),
            Ok((process, filters)) => {
                value["threads"] = process.threads.into();
                value["units"] = process.units.into();
                value["membarrier"] = (process.membarrier != 0).into();
                value["filters"] = filters.iter().map(filter_json).collect();
            }
        }
        value
    };
    json!({ "processes": listed.iter().map(one).collect::<Vec<_>>() })
}

fn filter_json(filter: &Filter) -> Value {
    json!({
        "id": filter.info.id,
        "state": state(filter),
        "name": filter.name,
        "source": filter.source,
        "age_ms": filter.info.age,
        "operations": filter.info.operations,
        "waits": filter.info.waits,
        "objects": filter.info.objects,
        "report": filter.report,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    fn listed() -> Vec<Listed> {
        let info = wire::FilterInfo {
            id: 3,
            state: wire::FILTER_EXPELLED,
            age: 1500,
            operations: 10,
            waits: 2,
            objects: 1,
            name: 1,
            source: 1,
            report: 1,
        };
        let filter = Filter {
            info,
            name: "f".into(),
            source: "a.c:1 > a.c:2".into(),
            report: "timed out\nat a.c:2".into(),
        };
        let process = wire::Process { program: 1, pid: 5, threads: 2, units: 1, membarrier: 1 };
        vec![
            Listed { pid: 5, name: "/app".into(), filters: Ok((process, vec![filter])) },
            Listed { pid: 6, name: "/other".into(), filters: Err("did not answer".into()) },
        ]
    }

    #[test]
    fn filters_are_listed_with_their_reports() {
        let text = text(&listed());
        assert!(
            text.contains(
                "  3 f expelled (installed 1.5 s ago), 10 operations, 2 waits, 1 objects\n      timed out\n"
            ),
            "{text}"
        );
        assert!(text.contains("process 6 (/other): did not answer"), "{text}");
        assert_eq!(super::text(&[]), "no process of yours has an engine\n");
    }

    #[test]
    fn json_has_the_documented_keys() {
        let value = json(&listed());
        let filter = &value["processes"][0]["filters"][0];
        assert_eq!(
            (&filter["id"], &filter["state"], &filter["age_ms"]),
            (&json!(3), &json!("expelled"), &json!(1500))
        );
        assert_eq!(value["processes"][0]["membarrier"], true);
        assert_eq!(value["processes"][1]["error"], "did not answer");
    }

    #[test]
    fn only_sockets_of_the_dead_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // No process has this number.
        drop(UnixListener::bind(at("5000000.sock")).unwrap());
        let _listening = UnixListener::bind(at("5000001.sock")).unwrap();
        drop(UnixListener::bind(at("5000002.new")).unwrap());
        drop(UnixListener::bind(at("1.sock")).unwrap());
        fs::write(at("notes.txt"), "").unwrap();
        remove_stale(folder.path());
        let names = ["5000000.sock", "5000001.sock", "5000002.new", "1.sock", "notes.txt"];
        assert_eq!(names.map(|name| at(name).exists()), [false, true, false, true, true]);
    }
}
