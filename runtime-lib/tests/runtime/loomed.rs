//! Filters in a live process: a program that was instrumented by hand, and a controller that speaks the engine's protocol.

use crate::support::loom::{let_run, Answer, PlanBuilder, Server, SLOTS_AT, UNIT};
use covsched_core::loom::plan::{
    code, CONSTRAINT_ALONE, CONSTRAINT_ORDER, NONE, OP_ALONE, OP_DOWN, OP_LEAVE, OP_TOGETHER, OP_UP,
};
use covsched_core::loom::wire;

/// Word 0 of the frame.
const KEY: &[u8] = &[code::VARIABLE, 0, 0, 0, 0, 8, 1, code::END];

#[test]
fn a_region_is_exclusive_while_its_filter_is_installed() {
    for options in ["", "loom-membarrier=0"] {
        let mut server = Server::start(8, options);
        let mut controller = server.controller();
        let (process, units) = controller.hello();
        assert_eq!((process.pid, process.membarrier), (server.pid, u32::from(options.is_empty())));
        assert_eq!(units, [UNIT]);
        assert!(server.command("m").overlaps > 0, "without a filter threads overlap");
        let id = controller.add(&PlanBuilder::region(&[]).bytes()).done().filter;
        server.command("r");
        let_run(300);
        let before = server.command("m");
        assert_eq!((before.overlaps, before.same_key), (0, 0));
        let [(info, [name, source, report])] = &controller.list()[..] else { panic!() };
        assert_eq!(
            (info.id, info.state, &name[..], &source[..]),
            (id, wire::FILTER_INSTALLED, "test.filter", "# a <> b\n")
        );
        assert_eq!((&report[..], info.objects), ("", 1));
        assert!(info.operations > 100 && info.waits > 0, "{info:?}");
        controller.remove(id).done();
        assert!(controller.list().is_empty());
        let_run(200);
        let after = server.command("m");
        assert!(after.overlaps > 0 && after.rounds > before.rounds);
        assert_eq!(server.stop(), "");
    }
}

#[test]
fn locks_with_keys_exclude_each_key_for_itself() {
    let mut server = Server::start(8, "");
    let mut controller = server.controller();
    let id = controller.add(&PlanBuilder::region(KEY).bytes()).done().filter;
    server.command("r");
    let_run(300);
    let counts = server.command("m");
    assert_eq!(counts.same_key, 0);
    assert!(counts.overlaps > 0, "different keys do not exclude each other");
    // Replaced by one without keys, in one step.
    let id = controller.replace(id, &PlanBuilder::region(&[]).bytes()).done().filter;
    server.command("r");
    let_run(200);
    assert_eq!(server.command("m").overlaps, 0);
    controller.remove(id).done();
    assert_eq!(server.stop(), "");
}

#[test]
fn several_filters_at_once() {
    let mut server = Server::start(6, "");
    let mut controller = server.controller();
    let ids: Vec<u32> =
        (0..4).map(|_| controller.add(&PlanBuilder::region(KEY).bytes()).done().filter).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    for id in [2, 4, 1] {
        server.command("r");
        let_run(100);
        assert_eq!(server.command("m").same_key, 0);
        controller.remove(id).done();
    }
    let_run(100);
    assert_eq!(server.command("m").same_key, 0);
    assert_eq!(controller.list().len(), 1);
    controller.remove(3).done();
    assert_eq!(server.stop(), "");
}

#[test]
fn an_order_lets_nobody_be_early() {
    let times = [code::CONSTANT, 3, 0, 0, 0, 0, 0, 0, 0, code::END];
    for n in [NONE, 0] {
        let mut server = Server::start(6, "");
        let mut controller = server.controller();
        let mut plan = PlanBuilder::new(CONSTRAINT_ORDER, 1)
            .slow(&[2, 3])
            .op(3, OP_UP, 0, NONE, n)
            .op(4, OP_DOWN, 0, NONE, n);
        plan.code = times.to_vec();
        controller.add(&plan.bytes()).done();
        server.command("o");
        let_run(400);
        let counts = server.command("m");
        assert_eq!(counts.early, 0);
        let info = controller.list()[0].0;
        assert!(info.operations > 100, "{info:?}");
        controller.remove(1).done();
        assert_eq!(server.stop(), "");
    }
}

#[test]
fn who_runs_alone_is_not_disturbed() {
    let mut server = Server::start(6, "");
    let mut controller = server.controller();
    server.command("a");
    let_run(200);
    assert!(server.command("m").disturbed > 0);
    let plan = PlanBuilder::new(CONSTRAINT_ALONE, 0)
        .slow(&[4])
        .not_at(&[SLOTS_AT + 6])
        .op(5, OP_ALONE, 0, NONE, NONE)
        .op(6, OP_TOGETHER, 0, NONE, NONE);
    let id = controller.add(&plan.bytes()).done().filter;
    server.command("r");
    let before = server.command("m");
    let_run(500);
    let counts = server.command("m");
    assert_eq!(counts.disturbed, 0);
    assert!(counts.rounds > before.rounds);
    // Another filter comes and goes meanwhile.
    let other = controller.add(&PlanBuilder::region(KEY).bytes()).done().filter;
    let_run(100);
    controller.remove(other).done();
    controller.remove(id).done();
    let_run(100);
    assert!(server.command("m").disturbed > 0);
    assert_eq!(server.stop(), "");
}

#[test]
fn a_filter_that_makes_a_thread_wait_too_long_is_taken_out() {
    let mut server = Server::start(4, "loom-timeout=300");
    let mut controller = server.controller();
    // Never unlocked: a deadlock of the filter's own making.
    let mut plan = PlanBuilder::region(&[]);
    plan.ops.truncate(1);
    plan.unsafe_at.clear();
    controller.add(&plan.bytes()).done();
    let_run(1000);
    let before = server.command("m").rounds;
    let_run(200);
    assert!(server.command("m").rounds > before, "the program goes on");
    let filters = controller.list();
    let [(info, [_, _, report])] = &filters[..] else { panic!("{filters:?}") };
    assert_eq!(info.state, wire::FILTER_EXPELLED);
    assert!(
        report.contains("waited too long") && report.contains(&format!("location {SLOTS_AT}")),
        "{report}"
    );
    assert!(report.ends_with("constraint 1: a <> b"), "{report}");
    controller.remove(info.id).done();
    assert!(controller.list().is_empty());
    // Another can be installed.
    let id = controller.add(&PlanBuilder::region(&[]).bytes()).done().filter;
    server.command("r");
    let_run(100);
    assert_eq!(server.command("m").overlaps, 0);
    controller.remove(id).done();
    let errors = server.stop();
    assert!(errors.starts_with("covsched: loom: filter 1 is taken out: thread "), "{errors}");
    assert_eq!(errors.lines().count(), 1);
}

#[test]
fn a_thread_that_stays_in_the_way_is_named_and_nothing_changes() {
    let mut server = Server::start(3, "loom-patience=300");
    let mut controller = server.controller();
    server.command("b");
    let_run(100);
    let plan = PlanBuilder::region(&[]).bytes();
    let Answer::NotDone(outcome, threads) = controller.add(&plan) else { panic!() };
    assert!(outcome.tries > 1 && outcome.nanoseconds >= 300_000_000, "{outcome:?}");
    assert_eq!(threads.len(), 3);
    for thread in &threads {
        assert_eq!(
            (thread.unit, thread.location, thread.state, thread.in_the_way),
            (UNIT, 7, wire::AT_CALL, 1)
        );
    }
    assert!(controller.list().is_empty());
    let here = controller.threads();
    assert!(here.iter().filter(|thread| thread.location == 7).all(|thread| thread.in_the_way == 0));
    assert_eq!(here.iter().find(|thread| thread.thread == server.pid).unwrap().location, 4);
    let before = server.command("w").rounds;
    let_run(100);
    assert!(server.command("m").rounds > before);
    controller.add(&plan).done();
    server.command("r");
    let_run(100);
    assert_eq!(server.command("m").overlaps, 0);
    assert_eq!(server.stop(), "");
}

#[test]
fn a_region_is_released_by_a_thread_that_ends_in_it() {
    let mut server = Server::start(2, "");
    let mut controller = server.controller();
    let id = controller.add(&PlanBuilder::region(&[]).bytes()).done().filter;
    server.command("c");
    server.command("r");
    let_run(100);
    assert_eq!(server.command("m").overlaps, 0);
    controller.remove(id).done();
    assert_eq!(server.stop(), "");
}

#[test]
fn what_is_released_without_being_held_is_counted_and_ignored() {
    let mut server = Server::start(2, "");
    let mut controller = server.controller();
    let mut plan = PlanBuilder::region(&[]);
    plan.ops.remove(0);
    controller.add(&plan.bytes()).done();
    let_run(100);
    let (_, [_, _, report]) = &controller.list()[0];
    assert!(report.starts_with("a thread was to release what it did not hold, "), "{report}");
    let before = server.command("m").rounds;
    let_run(50);
    assert!(server.command("m").rounds > before);
    assert_eq!(server.stop(), "");
}

#[test]
fn an_order_that_never_comes_is_released_when_its_filter_is_removed() {
    let mut server = Server::start(4, "");
    let mut controller = server.controller();
    // Where they will wait is no place to be when the filter comes; when it goes, it is.
    let plan = PlanBuilder::new(CONSTRAINT_ORDER, 1)
        .slow(&[3])
        .not_at(&[SLOTS_AT + 4])
        .op(4, OP_DOWN, 0, NONE, NONE);
    let id = controller.add(&plan.bytes()).done().filter;
    server.command("o");
    let_run(200);
    let waiting = controller.threads().iter().filter(|thread| thread.state == wire::AT_SLOT).count();
    assert_eq!(waiting, 2, "the consumers wait");
    let plan = PlanBuilder::new(CONSTRAINT_ALONE, 0).op(2, OP_LEAVE, 0, NONE, NONE).bytes();
    controller.add(&plan).done();
    controller.remove(id).done();
    let_run(50);
    assert!(controller.threads().iter().all(|thread| thread.state != wire::AT_SLOT));
    assert_eq!(server.stop(), "");
}
