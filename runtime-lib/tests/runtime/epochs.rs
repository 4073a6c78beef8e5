//! Epochs at run time: programs with markers by hand (`epochs.c`, `epoch_ends.c`) under `epochs=barrier` and while they
//! are recorded, with many delays. A program that hangs is a failure of its own (see [`run`]).

use crate::support::{build, record, run, Event, Recording};
use covsched_core::hooks::Op;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const SEEDS: u64 = 12;

fn meetings() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("epochs.c"))
}

fn ends() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("epoch_ends.c"))
}

/// Without delays and with many, not recorded; then recorded: the records of both kinds make sense.
fn holds_with(program: &Path, scenario: &str, wanted: &str) {
    let off = run(program, &[scenario, "free"], "");
    assert!(off.status.success(), "{scenario}: {off:?}");
    for seed in 0..SEEDS {
        let delay = if seed == 0 { String::new() } else { format!(":delay={seed}") };
        let output = run(program, &[scenario], &format!("epochs=barrier{delay}"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text == wanted, "{scenario}, {delay}: {output:?}");
    }
    for seed in 0..4 {
        let recorded = record(program, &[scenario], &format!("epochs=barrier:delay={seed}"));
        assert_eq!(recorded.text(), wanted, "{:?}", recorded.output);
        for recording in recorded.recordings().values() {
            check_epochs(recording);
        }
    }
}

fn holds(scenario: &str) {
    holds_with(meetings(), scenario, "ok\n");
}

/// Starts are numbered in the total order; between two of them no thread has two markers.
fn check_epochs(recording: &Recording) {
    let (mut number, mut stopped) = (0, BTreeSet::new());
    let mut ended = BTreeSet::new();
    for event in &recording.events {
        match event.op {
            Op::epoch_start => {
                number += 1;
                assert_eq!(event.record.extra, number, "{event:?}");
                assert_ne!(event.record.object, 0);
                assert!(!stopped.is_empty(), "epoch {number} starts, and nobody was at a marker");
                stopped.clear();
            }
            Op::epoch_marker => {
                assert!(stopped.insert(event.thread), "two markers in epoch {number}: {event:?}");
                assert!(!ended.contains(&event.thread), "{event:?}");
            }
            Op::leave => {
                ended.insert(event.thread);
            }
            // A thread that stops does nothing until the next start; but a signal handler may.
            Op::sem_post => (),
            _ => assert!(!stopped.contains(&event.thread), "goes on in epoch {number}: {event:?}"),
        }
    }
}

macro_rules! scenarios {
    ($check:ident: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            $check(stringify!($name));
        })*
    };
}

scenarios! { holds: lockstep held locks other_locks conditions creation barriers semaphores spinning timed refused
contexts shapes pipes callbacks unwinding onces }

fn ends_well(scenario: &str) {
    holds_with(ends(), scenario, "ok\n");
}

scenarios! { ends_well: cancel restarted forks detached main_ends destructors foreign }

#[test]
fn exit_handlers_join_and_lock_while_others_stop() {
    holds_with(ends(), "exits", "ok\nhandled\n");
}

#[test]
fn handlers_post_and_meet_markers_anywhere() {
    for scenario in ["handlers", "ending"] {
        for seed in 0..SEEDS {
            let output = run(ends(), &[scenario], &format!("epochs=barrier:delay={seed}"));
            assert!(output.status.success(), "{scenario}: {output:?}");
        }
        let recorded = record(ends(), &[scenario], "epochs=barrier");
        assert!(recorded.output.status.success(), "{scenario}: {:?}", recorded.output);
    }
}

#[test]
fn thousands_of_epochs_with_many_seeds() {
    for seed in 0..40 {
        for scenario in ["lockstep", "conditions", "locks", "semaphores"] {
            let output = run(meetings(), &[scenario], &format!("epochs=barrier:delay={seed}"));
            assert!(output.status.success(), "{scenario} {seed}: {output:?}");
        }
    }
}

fn markers(recording: &Recording) -> Vec<Event> {
    recording.of(Op::epoch_marker)
}

#[test]
fn recorded_without_a_barrier_a_marker_is_a_boundary_of_its_thread() {
    let recording = record(meetings(), &["lockstep", "free"], "").good();
    assert_eq!(markers(&recording).len(), 4 * 200);
    assert!(recording.of(Op::epoch_start).is_empty());
    assert!(recording.of(Op::derived).is_empty());
}

#[test]
fn a_barrier_of_the_program_ends_epochs_too_where_they_are_barriers() {
    let recording = record(meetings(), &["barriers"], "epochs=barrier").good();
    assert!(recording.of(Op::epoch_start).len() >= 200);
    let recording = record(meetings(), &["barriers"], "").good();
    assert!(markers(&recording).len() < 200 * 4);
}

#[test]
fn contexts_have_hashes_and_epochs_have_ids() {
    let recording = record(meetings(), &["contexts"], "epochs=barrier:delay=3").good();
    let stacks: BTreeSet<u64> = markers(&recording).iter().map(|event| event.record.object).collect();
    assert_eq!(stacks, BTreeSet::from([501, 502]), "one call deep");
    // Both threads are in one context, then both in the other; at the end one of them may be gone already.
    let ids: Vec<u64> = recording.of(Op::epoch_start).iter().map(|event| event.record.object).collect();
    assert!(ids.len() >= 10);
    assert_ne!(ids[0], ids[1]);
    assert_eq!((ids[0], ids[1]), (ids[2], ids[3]));
    // Calls in which there are only markers are not recorded.
    assert!(recording.of(Op::derived).is_empty());
    // The same ids in another run.
    let again = record(meetings(), &["contexts"], "epochs=barrier:delay=9").good();
    assert_eq!(again.of(Op::epoch_start)[0].record.object, ids[0]);
}

/// Markers of each thread by site: how many were no bypass, and how many were passed by, too short and for balance.
fn shape(options: &str) -> BTreeMap<u64, (usize, u64, u64)> {
    let mut by_site = BTreeMap::new();
    for event in markers(&record(meetings(), &["shapes"], options).good()) {
        let (stops, short, balanced) = by_site.entry(event.record.site).or_insert((0, 0, 0));
        *stops += 1;
        *short += event.record.extra & u64::from(u32::MAX);
        *balanced += event.record.extra >> 32;
    }
    by_site
}

#[test]
fn markers_are_passed_by_as_the_options_say() {
    assert_eq!(shape(""), BTreeMap::from([(900, (60, 0, 0)), (901, (60, 0, 0))]));
    assert_eq!(shape("epoch-markers=4"), BTreeMap::from([(900, (15, 45, 0)), (901, (15, 45, 0))]));
    assert_eq!(shape("epoch-instructions=300"), BTreeMap::from([(900, (2, 58, 0)), (901, (20, 40, 0))]));
    let barrier = shape("epochs=barrier:epoch-markers=4");
    assert_eq!(barrier, BTreeMap::from([(900, (15, 45, 0)), (901, (15, 45, 0))]));
    // The one with few instructions a marker goes on while the other waits.
    let balanced = shape("epochs=barrier:epoch-balance=50");
    let (stops, short, passed_by) = balanced[&900];
    assert!(passed_by > 0 && short == 0 && stops < 60, "{balanced:?}");
    assert_eq!(balanced[&901], (60, 0, 0));
}

#[test]
fn a_plan_has_no_epochs() {
    let output = run(meetings(), &["lockstep"], "mode=enforce:plan=none:epochs=barrier");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("epochs=barrier cannot be combined with mode=enforce"), "{said}");
    // Bad numbers are named, and what is not understood is not obeyed.
    let output = run(meetings(), &["lockstep", "free"], "epochs=on:epoch-markers=0");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success());
    assert!(said.contains("epochs=on is ignored") && said.contains("epoch-markers=0 is ignored"), "{said}");
}
