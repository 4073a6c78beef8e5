//! The connection to the engine in a process: found, checked, and where it is not there, why.

use super::client::{Client, ClientError, Greeting};
use super::images::Images;
use super::process::{Process, ProcessError};
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process whose engine answers.
pub struct Engine {
    pub process: Process,
    pub client: Client,
    pub greeting: Greeting,
}

impl From<ProcessError> for Failure {
    fn from(error: ProcessError) -> Failure {
        Failure::bad(error.to_string())
    }
}

impl Engine {
    /// Of a process that the user named.
    pub fn of(pid: u32, timeout: Duration) -> Result<Engine, Failure> {
        let process = Process::find(pid)?;
        process.check_owner()?;
        match Engine::find(process, timeout)? {
            Ok(engine) => Ok(engine),
            Err(process) => Err(why_none(&process)),
        }
    }

    /// Of a process that may have none, which is given back then.
    pub fn find(process: Process, timeout: Duration) -> Result<Result<Engine, Process>, Failure> {
        let Some(path) = process.sockets().into_iter().find(|path| is_socket(path)) else {
            return Ok(Err(process));
        };
        let pid = process.pid;
        let mut client = match Client::connect(&path, timeout) {
            Ok(client) => client,
            // Left behind by one that had the same number, or that ended meanwhile.
            Err(ClientError::Connect { error, .. })
                if error.kind() == std::io::ErrorKind::ConnectionRefused =>
            {
                return Ok(Err(process))
            }
            Err(error) => return Err(in_words(pid, &error)),
        };
        let peer = client.peer().map_err(|error| Failure::bad(format!("{}: {error}", path.display())))?;
        // 0: it is in a container that we do not see into.
        if peer.user != process.user && peer.user != 0 || peer.pid != pid && peer.pid != 0 {
            return Err(Failure::bad(format!(
                "{}: process {} of user {} listens there, and not process {pid}: covsched does not talk to it",
                path.display(),
                peer.pid,
                peer.user
            )));
        }
        let greeting = client.hello().map_err(|error| in_words(pid, &error))?;
        Ok(Ok(Engine { process, client, greeting }))
    }

    /// The files of the process, as far as it runs them.
    pub fn images(&self) -> Result<Images, Failure> {
        let mut images = Images::of_process(&self.process.mapped()?)?;
        let known = |hash: &u64| self.greeting.units.contains(hash);
        let (all, name) = (images.program.units.len(), images.name.clone());
        images.program.units.retain(|unit| known(&unit.hash));
        if images.program.units.is_empty() {
            return Err(Failure::bad(format!(
                "{name}: is another build than the one that process {} runs",
                self.process.pid
            )));
        }
        let missing = all - images.program.units.len();
        if missing > 0 {
            images.limits.push(format!(
                "process {} does not know {missing} of the {all} units in its files: filters cannot name them",
                self.process.pid
            ));
        }
        Ok(images)
    }

    /// An error of the conversation, with the process's number.
    pub fn failure(&self, error: &ClientError) -> Failure {
        in_words(self.process.pid, error)
    }
}

fn in_words(pid: u32, error: &ClientError) -> Failure {
    let advice = match error {
        ClientError::Timeout(_) => {
            ": it may be stopped, or very busy. What was asked for may still happen: look with `covsched loom ls`, \
             or give it more time with --timeout"
        }
        ClientError::Connect { error, .. } if error.kind() == std::io::ErrorKind::PermissionDenied => {
            ": it belongs to another user"
        }
        _ => "",
    };
    match error {
        ClientError::Refused(reason) => Failure::bad(format!("process {pid} refuses: {reason}")),
        _ => Failure::bad(format!("process {pid} {error}{advice}")),
    }
}

/// A process without an engine: not compiled for it, or not started yet.
fn why_none(process: &Process) -> Failure {
    let (pid, name) = (process.pid, process.name());
    let images = match process.mapped() {
        Ok(mapped) => Images::of_process(&mapped),
        Err(error) => return error.into(),
    };
    if let Err(failure) = images {
        return Failure::bad(format!("process {pid}: {failure}"));
    }
    Failure::bad(match process.threads {
        0 | 1 => format!(
            "process {pid} ({name}) has only one thread, so its engine has not started: it starts with the second \
             thread, or at once with COVSCHED_OPTIONS=loom=on"
        ),
        threads => format!(
            "process {pid} ({name}) was compiled with --loom and has {threads} threads, but no engine listens at {}. It may \
             just be starting (try again), be switched off by its COVSCHED_OPTIONS, run with other rights than its \
             starter's (setuid), or have changed its environment or root folder",
            list(&process.sockets())
        ),
    })
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(" or ")
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    path.metadata().is_ok_and(|facts| facts.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_without_loom_is_called_that() {
        let failure = Engine::of(std::process::id(), Duration::from_secs(1)).err().unwrap();
        let text = failure.to_string();
        assert!(text.contains("was not compiled with --loom"), "{text}");
    }
}
