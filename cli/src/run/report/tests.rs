use super::*;
use covsched_core::plan::NO_OP;
use covsched_core::schedule::{parse, verify};
use covsched_core::site::SiteKind;

/// Two threads: t1 locks `accounts`, then `accounts+40`.
const BANK: &str = r#"covsched-schedule 1
program "./bank" 0123456789abcdef
command "./bank"
complete
thread t0 main entry=0000000000000001
thread t1 t0/0 entry=0000000000000002
object m0 symbol="accounts"
object m1 symbol="accounts+40"
object c0
site 0000000000000001 entry "src/bank.c":50:1 "main" ""
site 0000000000000002 entry "src/bank.c":20:1 "teller" ""
site 0000000000000003 true "src/bank.c":52:3 "main" "pthread_create"
site 0000000000000004 true "src/bank.c":31:3 "transfer" "pthread_mutex_lock"
site 0000000000000005 true "src/bank.c":33:3 "transfer" "pthread_mutex_unlock"
site 0000000000000006 derived "src/bank.c":22:3 "teller" "transfer"
site 0000000000000007 true "src/bank.c":54:3 "main" "pthread_join"
site 0000000000000008 true "src/bank.c":23:3 "teller" "pthread_mutex_trylock"
site 000000000000000a exit "src/bank.c":26:1 "teller" ""
site 000000000000000c true "src/bank.c":25:1 "teller" "pthread_cond_signal"
site 000000000000000b exit "src/bank.c":56:1 "main" ""
events 14
t0 entry @0000000000000001
t0 pthread_create t1 =0 @0000000000000003
t1 entry @0000000000000002
t1 call @0000000000000006
t1 pthread_mutex_lock m0 =0 @0000000000000004
t1 pthread_mutex_unlock m0 =0 @0000000000000005
t1 call @0000000000000006
t1 pthread_mutex_lock m1 =0 @0000000000000004
t1 pthread_mutex_unlock m1 =0 @0000000000000005
t1 pthread_mutex_trylock m1 =16 @0000000000000008
t1 pthread_cond_signal c0 =0 @000000000000000c
t1 return @000000000000000a
t0 pthread_join t1 =0 @0000000000000007
t0 return =0 @000000000000000b
end
"#;

/// A report about the bank with these settings.
fn report_with(user: &str, text: &str, divergence: Divergence, followed: &[u32]) -> String {
    let schedule = parse::parse(text).unwrap();
    verify::verify(&schedule).unwrap();
    let find_site = |id: SiteId| {
        (id.0 == 99).then(|| Site {
            id,
            kind: SiteKind::True,
            file: "src/audit.c".into(),
            line: 7,
            column: 1,
            function: "audit".into(),
            callee: "pthread_mutex_lock".into(),
        })
    };
    let reporter = Reporter {
        file: "bank.sched",
        schedule: &schedule,
        steps: &covsched_core::schedule::order::steps(&schedule),
        settings: &Enforcing::new(Default::default(), user).unwrap(),
        find_site: &find_site,
    };
    reporter.words(&divergence, followed)
}

fn report(divergence: Divergence) -> String {
    report_with("", BANK, divergence, &[2, divergence.position])
}

/// t1 at its step, having found nothing yet.
fn at(kind: DivergenceKind, position: u32) -> Divergence {
    Divergence {
        kind: kind as u32,
        thread: 1,
        position,
        actual_op: NO_OP,
        actual_object: NONE,
        actual_result: RESULT_PENDING,
        waits_for: [NONE, 0],
        ..Divergence::default()
    }
}

fn did(divergence: Divergence, op: Op, site: u64) -> Divergence {
    Divergence { actual_op: op as u32, actual_site: site, ..divergence }
}

#[test]
fn two_objects_that_have_become_one() {
    let found =
        Divergence { actual_object: 0, ..did(at(DivergenceKind::OtherObject, 3), Op::pthread_mutex_lock, 4) };
    assert_eq!(
        report(found),
        "covsched: t1 left the schedule at its 4th synchronization (event 8 of bank.sched)\n  \
         expected  pthread_mutex_lock m1 (accounts+40) at bank.c:31 (transfer)\n  \
         found     pthread_mutex_lock m0 (accounts) at bank.c:31 (transfer): two mutexes of the schedule are one here\n  \
         the run goes on without the schedule"
    );
}

#[test]
fn another_object_than_the_scheduled_one() {
    let wrong = did(at(DivergenceKind::OtherObject, 4), Op::pthread_mutex_unlock, 5);
    let known = report(Divergence { actual_object: 0, ..wrong });
    assert!(
        known.contains(
            "found     pthread_mutex_unlock m0 (accounts) at bank.c:33 (transfer): another mutex\n"
        ),
        "{known}"
    );
    let unknown = report(Divergence { actual_address: 4096, ..wrong });
    assert!(
        unknown.contains("at bank.c:33 (transfer): a mutex that is not in the schedule, or not there yet\n"),
        "{unknown}"
    );
    let other_class = report(Divergence { actual_object: 2, ..wrong });
    assert!(
        other_class
            .contains("pthread_mutex_unlock at bank.c:33 (transfer): with c0 as its condition variable"),
        "{other_class}"
    );
    let join =
        Divergence { thread: 0, position: 2, ..did(at(DivergenceKind::OtherObject, 2), Op::pthread_join, 7) };
    let known = report(Divergence { actual_object: 0, ..join });
    assert!(known.contains("found     pthread_join t0 at bank.c:54 (main): another thread\n"), "{known}");
    let join = report(join);
    assert!(join.contains("expected  pthread_join t1 at bank.c:54 (main)\n"), "{join}");
    assert!(join.contains("found     pthread_join at bank.c:54 (main): another thread\n"), "{join}");
}

#[test]
fn another_operation_is_looked_up_in_the_program() {
    let other = at(DivergenceKind::OtherOperation, 1);
    assert_eq!(
        report(did(other, Op::pthread_mutex_lock, 99)),
        "covsched: t1 left the schedule at its 2nd synchronization (event 5 of bank.sched)\n  \
         expected  pthread_mutex_lock m0 (accounts) at bank.c:31 (transfer)\n  \
         found     pthread_mutex_lock at audit.c:7 (audit)\n  \
         the run goes on without the schedule"
    );
    let unknown = report(did(other, Op::pthread_mutex_lock, 98));
    assert!(unknown.contains("found     pthread_mutex_lock at an unknown place\n"), "{unknown}");
    let foreign = report(did(other, Op::pthread_mutex_lock, 0));
    assert!(foreign.contains("found     pthread_mutex_lock in code without hooks\n"), "{foreign}");
    let moment = report(did(other, Op::pthread_mutex_lock, 4));
    assert!(moment.contains("(transfer): the same call, at another moment of it\n"), "{moment}");
}

#[test]
fn another_result_has_both() {
    let other = Divergence {
        actual_result: 0,
        actual_object: 1,
        ..did(at(DivergenceKind::OtherResult, 5), Op::pthread_mutex_trylock, 8)
    };
    let text = report(other);
    assert!(
        text.contains("expected  pthread_mutex_trylock m1 (accounts+40) at bank.c:23 (teller): EBUSY\n"),
        "{text}"
    );
    assert!(
        text.contains("found     pthread_mutex_trylock m1 (accounts+40) at bank.c:23 (teller): success\n"),
        "{text}"
    );
    assert_eq!(result_words(Op::pthread_barrier_wait, -1), "the serial thread");
    assert_eq!(result_words(Op::exit, 3), "status 3");
}

#[test]
fn more_events_than_the_schedule_has() {
    let more = did(at(DivergenceKind::MoreEvents, 8), Op::pthread_mutex_lock, 99);
    assert_eq!(
        report(more),
        "covsched: t1 goes on after its last event in bank.sched (event 12)\n  \
         expected  nothing more of t1\n  \
         found     pthread_mutex_lock at audit.c:7 (audit)\n  \
         the run goes on without the schedule"
    );
    let cut = BANK.replace("complete\n", "incomplete \"killed by signal 9 (SIGKILL)\"\n");
    let text = report_with("", &cut, more, &[0, 0]);
    assert!(
        text.contains("expected  nothing: the schedule is incomplete there (killed by signal 9 (SIGKILL))"),
        "{text}"
    );
}

#[test]
fn a_thread_that_the_schedule_does_not_have() {
    let unknown = Divergence { thread: NONE, ..did(at(DivergenceKind::UnknownThread, 0), Op::entry, 2) };
    assert_eq!(
        report(unknown),
        "covsched: a thread that bank.sched does not have\n  \
         expected  no thread but t0 to t1\n  \
         found     entry at bank.c:20 (teller)\n  \
         the run goes on without the schedule"
    );
    let made = Divergence { thread: 0, position: 2, ..did(unknown, Op::pthread_create, 3) };
    let made = report(made);
    assert!(made.starts_with("covsched: t0 made a thread that bank.sched does not have\n"), "{made}");
    assert!(
        made.contains(
            "expected  pthread_join t1 at bank.c:54 (main)\n  found     pthread_create at bank.c:52"
        ),
        "{made}"
    );
}

#[test]
fn a_thread_that_ends_early() {
    let early = at(DivergenceKind::EndedEarly, 5);
    assert_eq!(
        report_with("on-divergence=abort", BANK, early, &[2, 5]),
        "covsched: t1 ended before its 6th synchronization (event 10 of bank.sched)\n  \
         expected  pthread_mutex_trylock m1 (accounts+40) at bank.c:23 (teller)\n  \
         found     the end of the thread\n  \
         the run is ended with exit code 66"
    );
    let text = report_with("on-divergence=abort:exitcode=9", BANK, did(early, Op::exit, 99), &[2, 5]);
    assert!(
        text.contains("found     exit at audit.c:7 (audit)\n  the run is ended with exit code 9"),
        "{text}"
    );
}

#[test]
fn threads_that_wait_for_each_other() {
    let stuck = Divergence { thread: 0, position: 2, waits_for: [1, 8], ..at(DivergenceKind::Stuck, 2) };
    assert_eq!(
        report_with("", BANK, stuck, &[2, 3]),
        "covsched: every thread waits for another: bank.sched cannot be followed any further\n  \
         t0 is at its 3rd synchronization (event 13): pthread_join t1 at bank.c:54 (main)\n  \
         t0 waits for t1's 8th synchronization (event 12): return at bank.c:26 (teller)\n  \
         t1 has not done its 4th synchronization (event 8): pthread_mutex_lock m1 (accounts+40) at bank.c:31 \
         (transfer)\n  \
         the run goes on without the schedule"
    );
    let inside = report(Divergence { waits_for: [NONE, 0], ..at(DivergenceKind::Stuck, 3) });
    assert!(inside.contains("t1 waits in that call for another thread\n"), "{inside}");
    let past = did(at(DivergenceKind::Stuck, 8), Op::pthread_mutex_lock, 99);
    let past = report(past);
    assert!(
        past.contains("t1 is past its last event, at pthread_mutex_lock at audit.c:7 (audit)\n"),
        "{past}"
    );
    let stalled = Divergence { waits_for: [0, 2], ..at(DivergenceKind::Stalled, 1) };
    let stalled = report_with("stall=5", BANK, stalled, &[2, 1]);
    assert!(
        stalled.starts_with("covsched: no thread has got any further in bank.sched for 5 seconds\n"),
        "{stalled}"
    );
}

#[test]
fn a_lock_in_a_system_header_is_named_by_the_line_that_led_there_and_names_are_demangled() {
    let header =
        BANK.replace("\"src/bank.c\":31:3 \"transfer\"", "\"/usr/include/std_mutex.h\":100:3 \"transfer\"");
    let cxx = header.replace("\"teller\"", "\"_ZN4Bank6tellerEi\"");
    let found = did(at(DivergenceKind::OtherOperation, 1), Op::pthread_mutex_lock, 99);
    let text = report_with("", &cxx, found, &[2, 1]);
    assert!(
        text.contains("expected  pthread_mutex_lock m0 (accounts) at bank.c:22 (Bank::teller())\n"),
        "{text}"
    );
}

#[test]
fn numbers_have_their_endings() {
    for (number, expected) in
        [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (12, "12th"), (21, "21st"), (113, "113th")]
    {
        assert_eq!(ordinal(number), expected);
    }
}
