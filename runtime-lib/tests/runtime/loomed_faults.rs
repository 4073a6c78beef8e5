//! Whatever comes over the engine's socket, and whatever the program does during an update, the program runs on, unchanged.

use crate::support::loom::{let_run, Answer, Controller, PlanBuilder, Server, SLOTS_AT, UNIT};
use crate::support::{build, build_with, fresh_folder, run};
use covsched_core::loom::abi::LOCATION_BY_CALLER;
use covsched_core::loom::plan::{
    code, CONSTRAINT_MUTUAL, CONSTRAINT_ORDER, MOST_FRAMES, NONE, OP_DOWN, OP_LEAVE, OP_LOCK, OP_UNLOCK,
    OP_UP,
};
use covsched_core::loom::wire::{self, Head};
use covsched_core::rawlog::Plain;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Instant;

const KEY: &[u8] = &[code::VARIABLE, 0, 0, 0, 0, 8, 1, code::END];

/// The program still takes filters, and they work.
fn still_works(server: &mut Server) {
    let mut controller = server.controller();
    let mut plan = PlanBuilder::region(&[]);
    // Whatever the test's default is.
    plan.timeout_ms = 20_000;
    let id = controller.add(&plan.bytes()).done().filter;
    server.command("r");
    let_run(50);
    let counts = server.command("m");
    assert_eq!(counts.overlaps, 0);
    controller.remove(id).done();
    assert!(server.command("m").rounds >= counts.rounds);
}

fn remove_all(controller: &mut Controller, ids: &[u32]) {
    for &id in ids {
        controller.remove(id).done();
    }
}

#[test]
fn garbage_and_clients_that_die_at_every_step() {
    let mut server = Server::start(4, "");
    let path = server.socket();
    let plan = PlanBuilder::region(KEY).bytes();
    let head =
        Head { magic: wire::MAGIC, version: wire::VERSION, kind: wire::ADD, length: plan.len() as u32 };
    drop(server.controller());
    // Every beginning of a request, and then the end; the whole of it without reading the answer.
    let request = [head.as_bytes(), &plan].concat();
    for length in (0..=12).chain((13..request.len()).step_by(23)) {
        UnixStream::connect(&path).unwrap().write_all(&request[..length]).unwrap();
    }
    let mut controller = server.controller();
    for _ in 0..5 {
        UnixStream::connect(&path).unwrap().write_all(&request).unwrap();
        let_run(20);
        let ids: Vec<u32> = controller.list().iter().map(|(info, _)| info.id).collect();
        remove_all(&mut controller, &ids);
    }
    // What is not a message ends its connection, and no other.
    let bad = [
        vec![0; 100],
        b"GET / HTTP/1.0\r\n\r\n".to_vec(),
        Head { version: 99, ..head }.as_bytes().to_vec(),
        Head { length: wire::MAX_LENGTH as u32 + 1, ..head }.as_bytes().to_vec(),
        Head { length: u32::MAX, ..head }.as_bytes().to_vec(),
    ];
    for bytes in bad {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(&bytes).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty());
    }
    // What is a message but makes no sense is refused.
    assert_eq!(controller.ask(77, &[]).0, wire::REFUSED);
    assert_eq!(controller.ask(wire::REMOVE, &[1]).0, wire::REFUSED);
    assert_eq!(controller.ask(wire::REMOVE, &[9; 8]).0, wire::REFUSED);
    assert_eq!(controller.ask(wire::REPLACE, &[1, 0, 0, 0, 0]).0, wire::REFUSED);
    assert_eq!(controller.remove(12345).refused(), "there is no filter with this id");
    assert_eq!(controller.ask(wire::ADD, &vec![0; wire::MAX_LENGTH]).0, wire::REFUSED);
    assert_eq!(controller.ask(wire::ADD, &vec![b'C'; 1 << 20]).0, wire::REFUSED);
    // Some that begin and do not go on do not keep others waiting.
    let slow: Vec<UnixStream> = (0..8).map(|_| UnixStream::connect(&path).unwrap()).collect();
    slow.iter().for_each(|mut stream| stream.write_all(&request[..20]).unwrap());
    let begun = Instant::now();
    assert_eq!(server.controller().hello().0.pid, server.pid);
    assert!(begun.elapsed().as_secs() < 5);
    drop(slow);
    still_works(&mut server);
    assert_eq!(server.stop(), "");
}

#[test]
fn every_damaged_plan_is_refused_or_harmless() {
    let mut server = Server::start(3, "loom-timeout=30:loom-patience=200");
    let mut controller = server.controller();
    let mut plan = PlanBuilder::region(KEY).called_from(0, 0x10, 0x1000).called_from(0, 0x20, 0x2000);
    plan.unsafe_at.iter_mut().for_each(|row| row.marks |= u32::from(LOCATION_BY_CALLER));
    plan.code.extend([code::CONSTANT, 2, 0, 0, 0, 0, 0, 0, 0, code::END]);
    let good = plan.bytes();
    for length in 0..good.len() {
        assert!(!controller.add(&good[..length]).refused().is_empty());
    }
    let mut other = plan.clone();
    other.units[0].hash = UNIT + 1;
    assert_eq!(controller.add(&other.bytes()).refused(), "the filter was compiled for another build");
    let mut no_constraint = plan.clone();
    no_constraint.constraints.clear();
    let wrong = [
        plan.clone().slow(&[5]),
        plan.clone().not_at(&[17]),
        plan.clone().not_in_row(16, 2),
        plan.clone().not_in_row(16, u32::MAX),
        // What the region has already, and what comes before.
        plan.clone().not_at(&[SLOTS_AT + 1]),
        plan.clone().not_at(&[0]),
        plan.clone().op(8, OP_LOCK, 0, NONE, NONE),
        plan.clone().op(0, OP_UP, 0, NONE, NONE),
        plan.clone().op(0, 99, 0, NONE, NONE),
        plan.clone().op(0, OP_LOCK, 0, 1000, NONE),
        PlanBuilder::new(CONSTRAINT_ORDER, 1).op(3, OP_DOWN, 1, NONE, NONE),
        no_constraint,
        plan.clone().called_from(1, 0, 1),
        plan.clone().called_from(0, 1, 0),
        (0..=MOST_FRAMES as u64).fold(plan.clone(), |plan, at| plan.called_from(0, 2 * at, 2 * at)),
    ];
    for (index, plan) in wrong.iter().enumerate() {
        assert!(matches!(controller.add(&plan.bytes()), Answer::Refused(_)), "{index}");
    }
    let mut random = 12345u64;
    for _ in 0..1500 {
        let mut bytes = good.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (random >> 33) as usize % bytes.len();
            bytes[at] ^= (random >> 20) as u8;
        }
        match controller.add(&bytes) {
            Answer::Done(outcome) => drop(controller.remove(outcome.filter)),
            Answer::NotDone(..) | Answer::Refused(_) => (),
        }
    }
    let ids: Vec<u32> = controller.list().iter().map(|(info, _)| info.id).collect();
    remove_all(&mut controller, &ids);
    still_works(&mut server);
    server.stop();
}

#[test]
fn threads_forks_and_signals_during_updates() {
    for options in ["", "loom-membarrier=0"] {
        let mut server = Server::start(6, options);
        let path = server.socket();
        let is_enough = Arc::new(AtomicBool::new(false));
        let controller = std::thread::spawn({
            let is_enough = is_enough.clone();
            move || {
                let mut controller = Controller::connect(&path);
                let (keyed, whole) = (PlanBuilder::region(KEY).bytes(), PlanBuilder::region(&[]).bytes());
                let mut cycles = 0;
                while cycles < 30 || !is_enough.load(Ordering::Relaxed) {
                    let id = controller.add(&keyed).done().filter;
                    let id = controller.replace(id, &whole).done().filter;
                    controller.remove(id).done();
                    cycles += 1;
                }
            }
        });
        for _ in 0..4 {
            server.command("f");
            server.command("c");
            server.command("s");
        }
        is_enough.store(true, Ordering::Relaxed);
        controller.join().unwrap();
        assert!(server.command("m").handled > 0);
        still_works(&mut server);
        assert_eq!(server.stop(), "");
    }
}

#[test]
fn a_thousand_updates_under_load_neither_leak_nor_slow_down() {
    let mut server = Server::start(16, "");
    let mut controller = server.controller();
    let (keyed, whole) = (PlanBuilder::region(KEY).bytes(), PlanBuilder::region(&[]).bytes());
    let mut times = Vec::new();
    let mut memory = Vec::new();
    for round in 0..340 {
        let added = controller.add(&keyed).done();
        let replaced = controller.replace(added.filter, &whole).done();
        let removed = controller.remove(replaced.filter).done();
        times.extend([added.nanoseconds, replaced.nanoseconds, removed.nanoseconds]);
        if round % 100 == 20 {
            let_run(1200);
            memory.push(memory_of(server.pid));
        }
    }
    let (first, last) = times.split_at(times.len() / 2);
    let median = |times: &[u64]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        (times[times.len() / 2], times[times.len() * 95 / 100], *times.last().unwrap())
    };
    println!(
        "nanoseconds an update, 16 threads: median, 95 %, most: {:?} then {:?}; memory {memory:?}",
        median(first),
        median(last)
    );
    assert!(median(&times).0 < 20_000_000, "{:?}", median(&times));
    assert!(memory.last().unwrap() <= &(memory[0] + (512 << 10)), "{memory:?}");
    assert!(controller.list().is_empty());
    still_works(&mut server);
    assert_eq!(server.stop(), "");
}

/// Bytes of mapped private memory.
fn memory_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmData:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn idle_locks_are_collected() {
    let mut server = Server::start(4, "");
    let mut controller = server.controller();
    controller.add(&PlanBuilder::region(KEY).bytes()).done();
    let_run(200);
    assert_eq!(controller.list()[0].0.objects, 4);
    // From now on one key is used.
    server.command("1");
    let_run(2500);
    assert_eq!(controller.list()[0].0.objects, 1);
    server.command("r");
    let_run(100);
    assert_eq!(server.command("m").same_key, 0);
    assert_eq!(server.stop(), "");
}

#[test]
fn a_filter_at_the_start_of_the_process() {
    let folder = fresh_folder();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        format!("filter='{}'", path.display())
    };
    let mut server = Server::start(4, &write("good", &PlanBuilder::region(&[]).bytes()));
    let_run(200);
    assert_eq!(server.command("m").overlaps, 0);
    let mut controller = server.controller();
    controller.remove(1).done();
    let_run(100);
    assert!(server.command("m").overlaps > 0);
    assert_eq!(server.stop(), "");
    let mut other = PlanBuilder::region(&[]);
    other.units[0].hash = 5;
    let bad = [
        (
            write("text", b"log.c:5 <> *\n"),
            "is no compiled filter: `covsched loom check FILTER APP -o FILE` makes one",
        ),
        (write("other", &other.bytes()), "the filter was compiled for another build; running without it"),
        (write("cut", &PlanBuilder::region(&[]).bytes()[..60]), "the plan is cut off; running without it"),
        ("filter=/nonexistent".to_owned(), "cannot read filter '/nonexistent'"),
    ];
    for (option, message) in bad {
        let errors = Server::start(2, &option).stop();
        assert!(errors.contains(message), "{errors}");
    }
}

#[test]
fn the_socket_is_in_a_private_folder() {
    let mut server = Server::start(2, "");
    let _ = server.controller().hello();
    let mode = std::fs::metadata(&server.folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let open = fresh_folder();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    let option = format!("loom-socket='{}'", open.display());
    let output = run(&build("loomed_ends.c"), &[], &option);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("is open to other users (its mode should be 0700)"), "{errors}");
    assert!(output.status.success());
    // What others left behind is removed, and nothing else.
    drop(std::os::unix::net::UnixListener::bind(server.folder.join("99999999.sock")).unwrap());
    std::fs::write(server.folder.join("file.sock"), "").unwrap();
    let option = format!("loom-socket='{}'", server.folder.display());
    let output = run(&build("loomed_ends.c"), &[], &option);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let left = |name: &str| server.folder.join(name).exists();
    assert!(left("file.sock") && left(&format!("{}.sock", server.pid)) && !left("99999999.sock"));
    server.command("m");
    std::fs::remove_file(server.folder.join("file.sock")).unwrap();
    assert_eq!(server.stop(), "");
}

#[test]
fn processes_end_as_if_there_were_no_engine() {
    let program = build_with("clang-16", "loomed_ends.c", "loomed_all_ends", &[]);
    for options in ["", "loom=on", "loom=off", "loom-switch=random", "loom-switch=slow:loom=on"] {
        for how in ["return", "exit", "cancel", "vanish", "close", "exec"] {
            let folder = fresh_folder().join("s");
            let options = format!("loom-socket='{}':{options}", folder.display());
            let begun = Instant::now();
            let output = run(&program, &[how], &options);
            assert!(output.status.success(), "{how} {options}: {output:?}");
            let text = String::from_utf8(output.stdout).unwrap();
            let expected = if how == "exit" { "exit handler\n" } else { "end of main\nexit handler\n" };
            assert_eq!(text, expected, "{how} {options}");
            assert_eq!(output.stderr, b"", "{how} {options}");
            assert!(begun.elapsed().as_secs() < 5, "{how} {options}: {:?}", begun.elapsed());
            assert!(!has_sockets(&folder), "{how} {options}");
        }
    }
}

fn has_sockets(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut names| names.next().is_some())
}

#[test]
fn registers_and_errno_are_kept() {
    if !std::arch::is_x86_feature_detected!("avx") {
        return;
    }
    let program = build_with("clang-16", "loomed_registers.c", "loomed_registers", &[]);
    for options in ["", "loom-membarrier=0"] {
        let server = Server::start_program(&program, 0, options);
        let mut controller = server.controller();
        let mut plan = PlanBuilder::new(CONSTRAINT_MUTUAL, 0).slow(&[0]).op(0, OP_LOCK, 0, NONE, NONE);
        plan = plan.op(0, OP_UNLOCK, 0, NONE, NONE).op(0, OP_LEAVE, 0, NONE, NONE);
        for _ in 0..100 {
            let id = controller.add(&plan.bytes()).done().filter;
            let_run(2);
            controller.remove(id).done();
        }
        assert_eq!(server.stop(), "");
    }
}

#[test]
fn a_program_with_address_sanitizer() {
    let arguments = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = build_with("clang-16", "loomed.c", "loomed_asan", &arguments);
    let mut server = Server::start_program(&program, 4, "");
    still_works(&mut server);
    server.command("c");
    server.command("a");
    still_works(&mut server);
    assert_eq!(server.stop(), "");
}

#[test]
fn switches_are_flipped_while_threads_run() {
    for options in ["loom-switch=slow", "loom-switch=fast", "loom-switch=random,3"] {
        let mut server = Server::start(4, options);
        let_run(300);
        assert!(server.command("m").rounds > 0);
        still_works(&mut server);
        assert_eq!(server.stop(), "");
    }
}

#[test]
fn a_number_that_the_program_takes_from_the_engine_stays_the_programs() {
    let program = build("loomed_closes.c");
    let server = Server::start_program(&program, 0, "");
    // The first controller's number is taken, too.
    let mut lost = server.controller();
    let is_lost = lost.send(wire::HELLO, &[]).is_err() || lost.receive().is_err();
    assert!(is_lost);
    assert_eq!(server.controller().hello().0.pid, server.pid);
    assert_eq!(server.stop(), "");
}
