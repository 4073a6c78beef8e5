//! How threads wait for filters: nobody is passed over for ever, and what is only slow is not taken for a deadlock.

use crate::support::loom::{let_run, Controller, PlanBuilder, Server, SLOTS_AT};
use covsched_core::loom::plan::{
    code, CONSTRAINT_ALONE, CONSTRAINT_MUTUAL, CONSTRAINT_ORDER, NONE, OP_ALONE, OP_DOWN, OP_LOCK,
    OP_TOGETHER, OP_UP,
};
use covsched_core::loom::wire;
use std::time::{Duration, Instant};

/// Word 0 of the frame.
const KEY: &[u8] = &[code::VARIABLE, 0, 0, 0, 0, 8, 1, code::END];
/// Milliseconds: of filters whose threads wait for longer.
const SHORT: u32 = 200;

fn alone() -> PlanBuilder {
    PlanBuilder::new(CONSTRAINT_ALONE, 0)
        .slow(&[4])
        .not_at(&[SLOTS_AT + 6])
        .op(5, OP_ALONE, 0, NONE, NONE)
        .op(6, OP_TOGETHER, 0, NONE, NONE)
}

/// Its filter is still installed, and threads had to wait.
fn holds_on(controller: &mut Controller) {
    let filters = controller.list();
    let [(info, [_, _, report])] = &filters[..] else { panic!("{filters:?}") };
    assert_eq!((info.state, &report[..]), (wire::FILTER_INSTALLED, ""));
    assert!(info.waits > 0);
}

/// It is taken out at last; how long after it was `begun`.
fn is_taken_out(controller: &mut Controller, begun: Instant) -> Duration {
    loop {
        let filters = controller.list();
        let [(info, [_, _, report])] = &filters[..] else { panic!("{filters:?}") };
        if info.state == wire::FILTER_EXPELLED {
            assert!(report.contains("waited too long"), "{report}");
            return begun.elapsed();
        }
        assert!(begun.elapsed().as_secs() < 20, "{filters:?}");
        let_run(10);
    }
}

#[test]
fn a_queue_that_moves_is_no_deadlock() {
    // 24 threads that stay for 20 ms: each waits for about half a second.
    for (command, mut plan) in [("m", PlanBuilder::region(&[])), ("a", alone())] {
        let mut server = Server::start(24, "");
        let mut controller = server.controller();
        plan.timeout_ms = SHORT;
        server.command("h20000");
        server.command(command);
        controller.add(&plan.bytes()).done();
        server.command("r");
        let_run(2000);
        let counts = server.command("m");
        assert!(counts.disturbed == 0 && (command == "a" || counts.overlaps == 0), "{counts:?}");
        holds_on(&mut controller);
        controller.remove(1).done();
        server.command("h0");
        assert_eq!(server.stop(), "");
    }
}

#[test]
fn a_process_that_is_stopped_for_a_while_has_no_deadlock() {
    let mut server = Server::start(8, "");
    let mut controller = server.controller();
    let mut plan = PlanBuilder::region(&[]);
    plan.timeout_ms = SHORT;
    server.command("h1000");
    controller.add(&plan.bytes()).done();
    for _ in 0..5 {
        for signal in [libc::SIGSTOP, libc::SIGCONT] {
            // SAFETY: the server's id.
            assert_eq!(unsafe { libc::kill(server.pid as i32, signal) }, 0);
            let_run(u64::from(2 * SHORT));
        }
    }
    holds_on(&mut controller);
    assert_eq!(server.stop(), "");
}

#[test]
fn nobody_is_passed_over_for_ever() {
    const THREADS: u32 = 12;
    let mut server = Server::start(THREADS, "");
    let mut controller = server.controller();
    controller.add(&PlanBuilder::region(&[]).bytes()).done();
    server.command("h200");
    let before = server.command("r").rounds;
    let_run(3000);
    let counts = server.command("m");
    let passes = counts.rounds - before;
    println!("{THREADS} threads, {passes} passes, at most {} while one waited", counts.overtaken);
    assert!(passes > 100 && counts.overtaken < passes / 4, "{counts:?}");
    assert_eq!(server.stop(), "");
}

#[test]
fn events_that_come_slowly_are_no_deadlock() {
    // 50 events of 20 ms each before one that waits for them.
    let mut server = Server::start(2, "");
    let mut controller = server.controller();
    let mut plan = PlanBuilder::new(CONSTRAINT_ORDER, 1)
        .slow(&[2, 3])
        .op(3, OP_UP, 0, NONE, 0)
        .op(4, OP_DOWN, 0, NONE, NONE);
    plan.code = vec![code::CONSTANT, 50, 0, 0, 0, 0, 0, 0, 0, code::END];
    plan.timeout_ms = SHORT;
    server.command("h20000");
    controller.add(&plan.bytes()).done();
    server.command("o");
    let_run(2500);
    assert_eq!(server.command("m").early, 0);
    holds_on(&mut controller);
    controller.remove(1).done();
    assert_eq!(server.stop(), "");
}

#[test]
fn what_never_comes_is_found() {
    // Locks of several keys that are never given back: threads wait for each other.
    let mut deadlock = PlanBuilder::new(CONSTRAINT_MUTUAL, 0).slow(&[1]).op(0, OP_LOCK, 0, 0, NONE);
    deadlock.code = KEY.to_vec();
    // An event that nothing follows.
    let order = PlanBuilder::new(CONSTRAINT_ORDER, 1).slow(&[3]).op(4, OP_DOWN, 0, NONE, NONE);
    for mut plan in [deadlock, order] {
        plan.timeout_ms = SHORT;
        let mut server = Server::start(8, "");
        let mut controller = server.controller();
        let begun = Instant::now();
        controller.add(&plan.bytes()).done();
        server.command("o");
        let waited = is_taken_out(&mut controller, begun);
        assert!(waited >= Duration::from_millis(SHORT.into()), "{waited:?}");
        let before = server.command("m").rounds;
        let_run(100);
        assert!(server.command("m").rounds > before, "the program goes on");
        let said = server.stop();
        assert!(said.starts_with("covsched: loom: filter 1 is taken out: thread "), "{said}");
    }
}
