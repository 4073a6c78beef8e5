//! The client against engines that are made up here: a thread with a socket each.

use super::*;
use std::os::unix::net::UnixListener;
use std::thread::{self, JoinHandle};

/// An engine that takes one connection and does with it what the test says. The folder lives as long as this.
struct FakeEngine {
    folder: tempfile::TempDir,
    thread: Option<JoinHandle<()>>,
}

impl FakeEngine {
    fn new(serve: impl FnOnce(UnixStream) + Send + 'static) -> FakeEngine {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("1.sock")).unwrap();
        let thread = thread::spawn(move || serve(listener.accept().unwrap().0));
        FakeEngine { folder, thread: Some(thread) }
    }

    /// One that reads a request and answers with these bytes, whatever was asked.
    fn answering(bytes: Vec<u8>) -> FakeEngine {
        FakeEngine::new(move |mut stream| {
            read_request(&mut stream);
            stream.write_all(&bytes).unwrap();
        })
    }

    fn client(&self) -> Client {
        Client::connect(&self.folder.path().join("1.sock"), Duration::from_millis(500)).unwrap()
    }
}

impl Drop for FakeEngine {
    fn drop(&mut self) {
        let outcome = self.thread.take().unwrap().join();
        if !thread::panicking() {
            outcome.unwrap();
        }
    }
}

fn read_request(stream: &mut UnixStream) -> (u16, Vec<u8>) {
    let mut head = [0; size_of::<Head>()];
    stream.read_exact(&mut head).unwrap();
    let head = Head::read(&head).unwrap();
    assert_eq!((head.magic, head.version), (wire::MAGIC, wire::VERSION));
    let mut body = vec![0; head.length as usize];
    stream.read_exact(&mut body).unwrap();
    (head.kind, body)
}

fn message(kind: u16, body: &[u8]) -> Vec<u8> {
    let head = Head { magic: wire::MAGIC, version: wire::VERSION, kind, length: body.len() as u32 };
    let mut bytes = head.as_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

const OUTCOME: Outcome = Outcome { filter: 3, tries: 2, nanoseconds: 1_000 };
const THREAD: ThreadAt = ThreadAt { unit: 7, location: 1, thread: 42, state: wire::AT_CALL, in_the_way: 1 };

#[test]
fn a_greeting_has_the_units() {
    let process = Process { program: 1, pid: 2, threads: 3, units: 2, membarrier: 1 };
    let mut body = process.as_bytes().to_vec();
    body.extend_from_slice(&[5u64.to_ne_bytes(), 6u64.to_ne_bytes()].concat());
    let engine = FakeEngine::answering(message(wire::PROCESS, &body));
    let mut client = engine.client();
    assert_eq!(client.peer().unwrap().pid, std::process::id());
    assert_eq!(client.hello().unwrap(), Greeting { process, units: vec![5, 6] });
}

#[test]
fn requests_arrive_as_the_protocol_says() {
    let engine = FakeEngine::new(|mut stream| {
        for (kind, body) in [
            (wire::ADD, b"plan".to_vec()),
            (wire::REMOVE, 3u32.to_ne_bytes().to_vec()),
            (wire::REPLACE, [&3u32.to_ne_bytes()[..], &[0; 4], b"plan"].concat()),
        ] {
            assert_eq!(read_request(&mut stream), (kind, body));
            stream.write_all(&message(wire::DONE, OUTCOME.as_bytes())).unwrap();
        }
    });
    let mut client = engine.client();
    assert_eq!(client.add(b"plan").unwrap(), Answer::Done(OUTCOME));
    assert_eq!(client.remove(3).unwrap(), Answer::Done(OUTCOME));
    assert_eq!(client.replace(3, b"plan").unwrap(), Answer::Done(OUTCOME));
}

#[test]
fn threads_in_the_way_are_told() {
    let body = [OUTCOME.as_bytes(), THREAD.as_bytes(), THREAD.as_bytes()].concat();
    let engine = FakeEngine::answering(message(wire::NOT_DONE, &body));
    assert_eq!(engine.client().add(b"").unwrap(), Answer::NotDone(OUTCOME, vec![THREAD, THREAD]));
}

#[test]
fn filters_have_texts_of_any_length() {
    let of = |name: &str, source: &str, report: &str| {
        let [n, s, r] = [name, source, report].map(|text| text.len() as u32);
        let info = FilterInfo {
            id: 1,
            state: 0,
            age: 2,
            operations: 3,
            waits: 4,
            objects: 5,
            name: n,
            source: s,
            report: r,
        };
        let mut bytes = info.as_bytes().to_vec();
        bytes.extend_from_slice([name, source, report].concat().as_bytes());
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        (bytes, Filter { info, name: name.into(), source: source.into(), report: report.into() })
    };
    let (one, first) = of("a.filter", "x", "");
    let (two, second) = of("", "", "timeout");
    let engine = FakeEngine::answering(message(wire::FILTERS, &[one, two].concat()));
    assert_eq!(engine.client().list().unwrap(), [first, second]);
}

#[test]
fn an_answer_may_come_in_pieces() {
    let engine = FakeEngine::new(|mut stream| {
        read_request(&mut stream);
        for byte in message(wire::THREADS, THREAD.as_bytes()) {
            stream.write_all(&[byte]).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    });
    assert_eq!(engine.client().threads().unwrap(), [THREAD]);
}

#[test]
fn answers_that_make_no_sense_are_errors() {
    let mut huge = message(wire::THREADS, b"");
    huge[8..12].copy_from_slice(&u32::MAX.to_ne_bytes());
    let mut magic = message(wire::THREADS, b"");
    magic[0] = b'X';
    let mut version = message(wire::THREADS, b"");
    version[4] = 9;
    for (bytes, expected) in [
        (huge, "longer than a message may be"),
        (magic, "magic word"),
        (version, "speaks version 9 of the protocol"),
        (message(wire::THREADS, &[0; 25]), "a list of threads, cut off"),
        (message(wire::DONE, &[]), "answers another question"),
        (message(wire::REFUSED, b"too many filters"), "too many filters"),
        (message(wire::THREADS, THREAD.as_bytes())[..20].to_vec(), "closed the connection"),
        (vec![], "closed the connection"),
        (b"HTTP/1.1 400 Bad Request".to_vec(), "magic word"),
    ] {
        let engine = FakeEngine::answering(bytes);
        let error = engine.client().threads().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn cut_off_outcomes_filters_and_greetings_are_errors() {
    let info = FilterInfo {
        id: 1,
        state: 0,
        age: 0,
        operations: 0,
        waits: 0,
        objects: 0,
        name: u32::MAX,
        source: u32::MAX,
        report: u32::MAX,
    };
    let engine = FakeEngine::answering(message(wire::FILTERS, info.as_bytes()));
    assert!(matches!(engine.client().list(), Err(ClientError::Malformed(_))));
    let engine = FakeEngine::answering(message(wire::FILTERS, &info.as_bytes()[..20]));
    assert!(matches!(engine.client().list(), Err(ClientError::Malformed(_))));
    let engine = FakeEngine::answering(message(wire::DONE, &OUTCOME.as_bytes()[..8]));
    assert!(matches!(engine.client().remove(1), Err(ClientError::Malformed(_))));
    let engine = FakeEngine::answering(message(wire::NOT_DONE, &[OUTCOME.as_bytes(), &[0; 3]].concat()));
    assert!(matches!(engine.client().remove(1), Err(ClientError::Malformed(_))));
    let process = Process { program: 1, pid: 2, threads: 3, units: u32::MAX, membarrier: 1 };
    let engine = FakeEngine::answering(message(wire::PROCESS, process.as_bytes()));
    assert!(matches!(engine.client().hello(), Err(ClientError::Malformed(_))));
}

#[test]
fn who_does_not_answer_is_not_waited_for() {
    let engine = FakeEngine::new(|mut stream| {
        read_request(&mut stream);
        // Until the client gives up.
        let _ = stream.read(&mut [0]);
    });
    assert!(matches!(engine.client().hello(), Err(ClientError::Timeout(_))));
}

#[test]
fn an_answer_that_drips_is_not_waited_for_either() {
    let engine = FakeEngine::new(|mut stream| {
        read_request(&mut stream);
        for byte in message(wire::THREADS, &[0; 240]) {
            if stream.write_all(&[byte]).is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    let start = Instant::now();
    assert!(matches!(engine.client().threads(), Err(ClientError::Timeout(_))));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_refusal_of_a_long_request_is_read_although_the_rest_was_not_sent() {
    let engine = FakeEngine::new(|mut stream| {
        stream.read_exact(&mut [0; size_of::<Head>()]).unwrap();
        stream.write_all(&message(wire::REFUSED, b"too long")).unwrap();
        stream.shutdown(std::net::Shutdown::Read).unwrap();
        thread::sleep(Duration::from_millis(100));
    });
    let error = engine.client().add(&vec![0; wire::MAX_LENGTH]).unwrap_err();
    assert!(matches!(&error, ClientError::Refused(text) if text == "too long"), "{error}");
}

#[test]
fn a_socket_that_nobody_listens_at_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.sock");
    drop(UnixListener::bind(&path).unwrap());
    for path in [path, folder.path().join("2.sock"), folder.path().join("none/3.sock")] {
        let error = Client::connect(&path, Duration::from_secs(1)).err().unwrap().to_string();
        assert!(error.starts_with(&format!("cannot connect to {}", path.display())), "{error}");
    }
}

#[test]
fn long_paths_can_be_connected_to() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("x".repeat(200));
    std::fs::create_dir(&deep).unwrap();
    // Bound by a short way, since a listener has the same limit.
    std::os::unix::fs::symlink(&deep, folder.path().join("s")).unwrap();
    let _listener = UnixListener::bind(folder.path().join("s/1.sock")).unwrap();
    assert!(Client::connect(&deep.join("1.sock"), Duration::from_secs(1)).is_ok());
}
