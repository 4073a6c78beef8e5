//! Epochs in recordings of simulated programs, in files written by hand, and for those who must not look at them.

use super::*;
use crate::hooks::Op;
use crate::rawlog::Record;
use crate::schedule::assemble::{assemble, NoSymbols};
use crate::schedule::compare::compare;
use crate::schedule::compile::{compile, NoPlaces};
use crate::schedule::order::{for_each_edge, Order};
use crate::schedule::recording::Recording;
use crate::schedule::simulate::{recording_of, recordings};
use crate::schedule::{legal, parse, text, verify, Fault};
use crate::site::{Site, SiteKind};
use proptest::prelude::*;

const SITE: SiteId = SiteId(0xe90c);

/// A recording with markers at some of its moments (`picks` says which), as the runtime writes them. With
/// `starts`, epochs that all threads begin as well.
pub(in crate::schedule) fn with_epochs(mut recording: Recording, picks: &[u32], starts: bool) -> Recording {
    let site = Site {
        id: SITE,
        kind: SiteKind::Epoch,
        file: "loop.c".to_owned(),
        line: 7,
        column: 3,
        function: "worker".to_owned(),
        callee: String::new(),
    };
    recording.objects[0].units[0].sites.push(site);
    let mut moments: Vec<(u64, usize, usize)> = Vec::new();
    for (log, thread) in recording.threads.iter().enumerate() {
        let records = thread.records.iter().enumerate();
        // After the entry: a thread is not there before.
        moments.extend(records.skip(1).map(|(place, record)| (record.clock, log, place)));
    }
    moments.sort_unstable();
    let mut added: Vec<(usize, usize, Record)> = Vec::new();
    let mut number = 0;
    for (nth, &(clock, log, place)) in moments.iter().enumerate() {
        let Some(pick) = picks.get(nth % picks.len().max(1)).filter(|pick| *pick % 3 == 0) else { continue };
        let extra = u64::from(pick % 5) | u64::from(pick % 7) << 32;
        let site = if pick % 4 == 0 { 0 } else { SITE.0 };
        let result = (pick % 11) as i32;
        // Clocks of the simulation are three apart.
        let marker = Record {
            clock: clock - 2,
            site,
            object: u64::from(*pick),
            extra,
            result,
            ..mark(Op::epoch_marker)
        };
        added.push((log, place, marker));
        if starts && pick % 2 == 0 {
            number += 1 + u64::from(pick % 3 == 0);
            let start = Record {
                clock: clock - 1,
                object: u64::from(pick / 2),
                extra: number,
                ..mark(Op::epoch_start)
            };
            added.push((log, place, start));
        }
    }
    for (log, place, record) in added.into_iter().rev() {
        recording.threads[log].records.insert(place, record);
    }
    recording
}

fn mark(op: Op) -> Record {
    Record { op: op as u8, ..Record::default() }
}

/// Recordings of random programs with epochs.
pub(in crate::schedule) fn recordings_with_epochs() -> impl Strategy<Value = Recording> {
    (recordings(), proptest::collection::vec(any::<u32>(), 1..40), any::<bool>())
        .prop_map(|(recording, picks, starts)| with_epochs(recording, &picks, starts))
}

fn assembled(recording: Recording) -> Schedule {
    assemble(recording, "./app", &NoSymbols, "killed").unwrap()
}

fn schedules_with_epochs() -> impl Strategy<Value = Schedule> {
    recordings_with_epochs().prop_map(assembled)
}

const BY_HAND: &str = r#"covsched-schedule 2
program "./app" 0123456789abcdef
command "./app"
complete
thread t0 main entry=0000000000000001
thread t1 t0/0
object m0
site 0000000000000001 entry "a.c":3:1 "main" ""
site 0000000000000002 epoch "a.c":7:3 "main" ""
site 0000000000000003 epoch "a.c":9:3 "worker" ""
site 0000000000000004 derived "a.c":5:3 "main" "f"
events 8
t0 entry @0000000000000001
t0 pthread_create t1 =0
t1 entry
epoch t0 stack=00000000000000aa short=2 instructions=300 @0000000000000002
t1 pthread_mutex_lock m0 =0
epoch t1 stack=00000000000000bb balance=1 instructions=100 @0000000000000003
epoch all 1 id=00000000000000cc
t1 pthread_mutex_unlock m0 =0
epoch t1 stack=00000000000000bb instructions=200 @0000000000000003
t0 call @0000000000000004
t0 pthread_mutex_lock m0 =0
epoch all 3 id=00000000000000dd
t0 pthread_mutex_unlock m0 =0
epoch t0 stack=00000000000000ab
end
"#;

#[test]
fn a_file_with_epochs_is_read_and_written_in_its_canonical_form() {
    let schedule = parse::parse(BY_HAND).unwrap();
    verify::verify(&schedule).unwrap();
    let places: Vec<usize> = schedule.epochs.iter().map(|each| each.place).collect();
    assert_eq!(places, [3, 4, 4, 5, 7, 8]);
    let written = text::to_text(&schedule).unwrap();
    assert_eq!(parse::parse(&written).unwrap(), schedule);
    assert!(written.starts_with("covsched-schedule 2\n"));
    assert!(written.contains(
        "epoch t0 stack=00000000000000aa short=2 instructions=300 @0000000000000002  # a.c:7 main\n"
    ));
}

#[test]
fn an_event_is_in_the_epoch_that_all_threads_are_in() {
    let schedule = parse::parse(BY_HAND).unwrap();
    assert_eq!(schedule.event_epochs().unwrap(), [0, 0, 0, 0, 1, 1, 1, 3]);
    let waiting: Vec<Vec<ThreadId>> = schedule
        .markers_at_starts()
        .iter()
        .map(|markers| markers.iter().map(|marker| marker.thread).collect())
        .collect();
    assert_eq!(waiting, [vec![ThreadId(0), ThreadId(1)], vec![ThreadId(1)]]);
}

#[test]
fn without_a_barrier_an_event_is_in_the_epoch_of_its_thread() {
    let mut schedule = parse::parse(BY_HAND).unwrap();
    schedule.epochs.retain(|each| matches!(each.boundary, Boundary::Marker(_)));
    assert_eq!(schedule.event_epochs().unwrap(), [0, 0, 0, 0, 1, 1, 1, 1]);
    schedule.epochs.clear();
    assert_eq!(schedule.event_epochs(), None);
}

#[test]
fn counts_say_what_was_passed_by() {
    let expected = EpochCounts {
        stopped: 4,
        passed_short: 2,
        passed_balance: 1,
        starts: 2,
        most_stops: 2,
        instructions: Some([100, 200, 300]),
    };
    assert_eq!(parse::parse(BY_HAND).unwrap().epoch_counts(), expected);
}

/// Replaces a part of the file and expects that the reader refuses it on this line.
fn refuse(from: &str, to: &str, line: usize, part: &str) {
    assert!(BY_HAND.contains(from), "{from}");
    let error = parse::parse(&BY_HAND.replacen(from, to, 1)).unwrap_err();
    assert!(error.line == line && error.what.contains(part), "{from} -> {to}: {error}");
}

#[test]
fn bad_epoch_lines_are_refused_with_what_was_expected() {
    refuse("covsched-schedule 2", "covsched-schedule 1", 9, "need `covsched-schedule 2`");
    refuse("epoch t0 stack", "epoch t7 stack", 16, "no `thread t7` line");
    refuse("epoch t0 stack", "epoch some stack", 16, "expected a thread (t0) or `all`");
    refuse("stack=00000000000000aa ", "", 16, "expected the hash of the call stack");
    refuse("stack=00000000000000aa", "stack=aa", 16, "16 hex digits");
    refuse("short=2", "short=-2", 16, "expected a number");
    refuse("short=2", "short=2 short=2", 16, "given twice");
    refuse("short=2", "m0", 16, "expected stack=, short=");
    refuse("epoch all 1", "epoch all", 19, "expected a number");
    refuse("id=00000000000000cc", "00000000000000cc", 19, "expected id=");
    refuse("id=00000000000000cc", "id=00000000000000cc t0", 19, "expected the end of the line");
    refuse("events 8", "epoch all 1 id=00000000000000cc\nevents 8", 12, "unknown line `epoch`");
    refuse("t0 call", "t0 epoch_marker", 22, "unknown operation");
}

/// Replaces a part of the file and expects a fault.
fn fault(from: &str, to: &str, part: &str) {
    assert!(BY_HAND.contains(from), "{from}");
    let found = verify::verify(&parse::parse(&BY_HAND.replacen(from, to, 1)).unwrap()).unwrap_err();
    assert!(found.what.contains(part), "{from} -> {to}: {found}");
}

#[test]
fn each_invariant_of_epochs_is_checked() {
    fault("epoch all 3", "epoch all 1", "begin epoch 1, but have begun epoch 1");
    fault("epoch all 1", "epoch all 0", "epoch line 3 (after event 4): all begin epoch 0");
    fault(
        "instructions=300 @0000000000000002",
        "@0000000000000001",
        "kind entry, callee ``) cannot be one of a marker",
    );
    fault(
        "instructions=300 @0000000000000002",
        "@0000000000000009",
        "site 0000000000000009 is not described",
    );
    fault("instructions=300 @0000000000000002", "", "site 0000000000000002 is used by no event");
    fault(
        "t0 call @0000000000000004\n",
        "t0 call @0000000000000004\nepoch all 2 id=0000000000000000\n",
        "between a derived call",
    );
    let early = "epoch t1 stack=0000000000000000\nt0 pthread_create t1";
    fault("t0 pthread_create t1", early, "t1 is at a marker before an event names it");
    let joined = ("t1 pthread_mutex_unlock m0 =0\n", "t0 pthread_join t1 =0\n");
    fault(joined.0, joined.1, "t1 is at a marker, but has ended by a join");

    let check = |change: &dyn Fn(&mut Schedule)| -> Fault {
        let mut schedule = parse::parse(BY_HAND).unwrap();
        change(&mut schedule);
        verify::verify(&schedule).unwrap_err()
    };
    assert!(check(&|schedule| schedule.epochs[1].place = 2).what.contains("out of order"));
    assert!(check(&|schedule| schedule.epochs[5].place = 9).what.contains("out of order"));
    assert!(check(&|schedule| schedule.events[7].op = Op::epoch_start).what.contains("is no event"));
    let Fault { seq, what } = check(&|schedule| {
        schedule.epochs[5].boundary = Boundary::Marker(Marker {
            thread: ThreadId(8),
            site: SiteId::NONE,
            stack: StackHash(0),
            passed_short: 0,
            passed_balance: 0,
            instructions: None,
        });
    });
    assert!(seq.is_none() && what.contains("no thread t8"), "{what}");
}

#[test]
fn the_wait_at_a_barrier_is_a_marker_too_and_other_calls_are_not() {
    let with = |callee: &str| {
        let kind = format!("true \"a.c\":7:3 \"main\" \"{callee}\"");
        let text = BY_HAND.replace("epoch \"a.c\":7:3 \"main\" \"\"", &kind);
        verify::verify(&parse::parse(&text).unwrap())
    };
    with("pthread_barrier_wait").unwrap();
    let fault = with("pthread_mutex_lock").unwrap_err();
    assert!(fault.what.contains("callee `pthread_mutex_lock`) cannot be one of a marker"), "{fault}");
}

#[test]
fn schedules_without_epochs_are_written_as_before() {
    let steps: Vec<u32> = (0..300).map(|i| crate::hash::mix(i + 7) as u32).collect();
    let plain = assembled(recording_of(&steps));
    let mut stripped = assembled(with_epochs(recording_of(&steps), &[0, 3, 6, 9, 1], true));
    assert!(!stripped.epochs.is_empty());
    stripped.epochs.clear();
    stripped.sites.remove(&SITE);
    assert_eq!(stripped, plain);
    let text = text::to_text(&plain).unwrap();
    assert!(text.starts_with("covsched-schedule 2\n") && text.contains(" depth="));
    let mut inferred = plain;
    inferred.infer_depths();
    let text = text::to_text(&inferred).unwrap();
    assert!(text.starts_with("covsched-schedule 1\n") && !text.contains(" depth="));
}

#[test]
fn a_marker_before_its_true_event_goes_before_the_derived_ones() {
    let mut recording = recording_of(&[]);
    let derived = Record { clock: 200, ..mark(Op::derived) };
    let lock = Record { clock: 200, object: 0x10, ..mark(Op::pthread_mutex_lock) };
    let marker = |clock| Record { clock, object: 5, ..mark(Op::epoch_marker) };
    // The second derived call has no true event: only a marker follows it.
    let open = Record { clock: 210, ..mark(Op::derived) };
    recording.threads[0].records.extend([derived, marker(200), lock, open, marker(210)]);
    let schedule = assembled(recording);
    let ops: Vec<Op> = schedule.events.iter().map(|event| event.op).collect();
    assert_eq!(ops, [Op::entry, Op::derived, Op::pthread_mutex_lock]);
    assert_eq!(schedule.epochs.iter().map(|each| each.place).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(schedule.event_epochs().unwrap(), [0, 1, 1]);
}

#[test]
fn lost_records_cut_the_epochs_too() {
    let steps: Vec<u32> = (0..600).map(|i| crate::hash::mix(i + 7) as u32).collect();
    let mut recording = with_epochs(recording_of(&steps), &[0, 3, 6], true);
    let whole = assembled(recording.clone());
    recording.meta.lost = crate::rawlog::LOST_RECORDS;
    recording.threads[0].records.truncate(10);
    let schedule = assembled(recording);
    assert!(schedule.epochs.len() < whole.epochs.len());
    assert!(schedule.events.len() < whole.events.len());
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(schedule in schedules_with_epochs()) {
        let text = text::to_text(&schedule).unwrap();
        let is_new = !schedule.epochs.is_empty() || text.contains(" depth=");
        prop_assert_eq!(text.starts_with("covsched-schedule 2\n"), is_new);
        prop_assert_eq!(parse::parse(&text).unwrap(), schedule);
    }

    #[test]
    fn epochs_of_a_thread_grow(schedule in schedules_with_epochs()) {
        let Some(epochs) = schedule.event_epochs() else { return Ok(()) };
        prop_assert_eq!(epochs.len(), schedule.events.len());
        let mut last = vec![0; schedule.threads.len()];
        for (event, &epoch) in schedule.events.iter().zip(&epochs) {
            let before = std::mem::replace(&mut last[event.thread.0 as usize], epoch);
            prop_assert!(before <= epoch);
        }
        if schedule.has_global_epochs() {
            prop_assert!(epochs.is_sorted());
        }
    }

    #[test]
    fn those_who_order_and_compare_do_not_see_epochs(schedule in schedules_with_epochs()) {
        let plain = Schedule { epochs: Vec::new(), ..schedule.clone() };
        prop_assert_eq!(legal::check(&schedule), legal::check(&plain));
        for order in [Order::Hb, Order::Total] {
            let edges = |schedule: &Schedule| {
                let mut edges = Vec::new();
                for_each_edge(schedule, order, |edge| edges.push(format!("{edge:?}")));
                edges
            };
            prop_assert_eq!(edges(&schedule), edges(&plain));
            prop_assert_eq!(compile(&schedule, order, &NoPlaces), compile(&plain, order, &NoPlaces));
            prop_assert_eq!(compare(&schedule, &plain, order), Ok(()));
            prop_assert_eq!(compare(&plain, &schedule, order), Ok(()));
        }
    }

    #[test]
    fn any_change_of_a_file_is_a_schedule_or_an_error(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        moved in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let mut lines: Vec<&str> = BY_HAND.lines().collect();
        let line = lines.remove(moved.0.index(lines.len()));
        lines.insert(moved.1.index(lines.len()), line);
        let mut bytes = lines.join("\n").into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let Ok((schedule, _)) = parse::parse_bytes(&bytes) else { return Ok(()) };
        let _ = (schedule.event_epochs(), schedule.epoch_counts(), schedule.markers_at_starts().len());
        if verify::verify(&schedule).is_ok() {
            prop_assert_eq!(parse::parse(&text::to_text(&schedule).unwrap()).unwrap(), schedule);
        }
    }

    #[test]
    fn any_prefix_of_the_order_is_a_schedule(recording in recordings_with_epochs(), cut in 100u64..1000) {
        let mut recording = recording;
        recording.meta.state = crate::rawlog::STATE_RUNNING;
        for log in &mut recording.threads {
            log.records.retain(|record| record.clock < cut);
        }
        verify::verify(&assembled(recording)).unwrap();
    }
}
