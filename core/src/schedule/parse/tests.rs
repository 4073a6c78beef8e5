//! Reader and writer together: what one writes the other reads; what is wrong is named with its line.

use super::*;
use crate::schedule::simulate::schedules;
use crate::schedule::text;
use proptest::prelude::*;

const SMALL: &str = r#"covsched-schedule 1
# written by hand
program "./app" 0123456789abcdef
command "./app" "a b" "\x01\\"
incomplete "killed by signal 9"
thread t0 main entry=0000000000000001
thread t1 t0/0
thread t2 foreign
object m0 symbol="lock" recursive shared
object c0

site 0000000000000001 entry "a.c":3:1 "main" ""
site 0000000000000002 true "a.c":4:5 "main" "pthread_create"
events 7
t0 entry @0000000000000001
t0 pthread_create t1 =0 @0000000000000002   # a comment
t1 entry
t1 pthread_cond_wait begin c0 m0
t0 pthread_cond_signal c0 =0
t1 pthread_cond_wait end c0 m0 waker=t0/0 =0
t2 entry
end
"#;

#[test]
fn a_file_written_by_hand_is_read_and_written_in_its_canonical_form() {
    let (schedule, lines) = parse_with_lines(SMALL).unwrap();
    assert_eq!(schedule.command[2], "\u{1}\\");
    assert_eq!(schedule.completeness, Completeness::Incomplete("killed by signal 9".to_owned()));
    assert_eq!(schedule.threads[1], Thread { parent: Some(ThreadId(0)), nth: 0, entry: None });
    assert!(schedule.objects[0].shared && schedule.objects[0].mutex_kind == MutexKind::Recursive);
    assert_eq!(schedule.events[5].waker, Some(Seq(5)));
    assert_eq!(lines.line(Seq(1)), Some(15));
    assert_eq!(lines.line(Seq(8)), None);
    let text = text::to_text(&schedule).unwrap();
    assert_eq!(parse(&text).unwrap(), schedule);
    assert_eq!(text::to_text(&parse(&text).unwrap()).unwrap(), text);
}

#[test]
fn one_more_event_changes_two_lines() {
    let longer = SMALL
        .replace("events 7", "events 8")
        .replace("t1 entry\n", "t1 entry\nt0 pthread_cond_broadcast c0 =0\n");
    let longer = longer.replace("waker=t0/0", "waker=t0/1");
    assert_eq!(parse(&longer).unwrap().events[6].waker, Some(Seq(6)));
}

/// Replaces a part of the file and expects an error on this line that says this.
fn refuse(from: &str, to: &str, line: usize, part: &str) {
    assert!(SMALL.contains(from), "{from}");
    let error = parse(&SMALL.replacen(from, to, 1)).unwrap_err();
    assert!(error.line == line && error.what.contains(part), "{from} -> {to}: {error}");
}

#[test]
fn errors_name_the_line_and_what_was_expected() {
    refuse("covsched-schedule 1", "covsched-schedule 3", 1, "needs a newer covsched");
    refuse("covsched-schedule 1", "covsched-schedule one", 1, "expected format version 1 to 2");
    refuse("covsched-schedule 1", "#!/bin/sh", 1, "not a schedule");
    refuse("program \"./app\"", "program ./app", 3, "double quotes");
    refuse("0123456789abcdef", "0123", 3, "16 hex digits");
    refuse("incomplete \"killed by signal 9\"", "complete\ncomplete", 6, "a second `complete` line");
    refuse("command \"./app\" \"a b\" \"\\x01\\\\\"\n", "", 13, "expected a `command` line");
    refuse("thread t1", "thread t2", 7, "expected t1, found `t2`");
    refuse("t0/0\nthread", "t1/0\nthread", 7, "comes after it");
    refuse("thread t0 main", "thread t0 foreign", 6, "t0 is main");
    refuse("object c0", "object c1", 10, "expected c0");
    refuse("object c0", "object c0 recursive", 10, "does not fit");
    refuse("object c0", "object q0", 10, "expected an object");
    refuse("entry \"a.c\":3:1", "entrance \"a.c\":3:1", 12, "expected true, derived, entry, exit or epoch");
    refuse("\"a.c\":3:1", "\"a.c\" 3", 12, "line and column");
    refuse("site 0000000000000002", "site 0000000000000001", 13, "a second line for site");
    refuse("events 7", "race t0 t1\nevents 7", 14, "need a newer covsched");
    refuse("events 7", "lock m0\nevents 7", 14, "unknown line `lock`");
    refuse("events 7", "events 6", 21, "expected `end`");
    refuse("events 7", "events 8", 22, "`end` after 7 events");
    refuse("events 7", "events +7", 14, "expected a number");
    refuse("t2 entry", "t3 entry", 21, "no `thread t3` line");
    refuse("t2 entry", "t02 entry", 21, "expected an event");
    refuse("t2 entry", "t2 entrance", 21, "unknown operation");
    refuse("t2 entry", "epoch t0 stack=0000000000000001", 21, "need `covsched-schedule 2`");
    refuse("t2 entry", "t2 entry race=3", 21, "needs a newer covsched");
    refuse("t2 entry", "t2 entry m1", 21, "no `object m1` line");
    refuse("t2 entry", "t2 entry =0 =0", 21, "given twice");
    refuse("waker=t0/0", "waker=t0/1", 20, "t0 has signalled c0 1 times");
    refuse("waker=t0/0", "waker=5", 20, "expected waker=THREAD/NTH");
    refuse("end\n", "end\nt0 entry\n", 23, "nothing after `end`");
}

#[test]
fn a_depth_is_a_number_given_once_from_version_2_on() {
    let signal = "t0 pthread_cond_signal c0 =0";
    refuse(signal, "t0 pthread_cond_signal c0 =0 depth=0", 19, "need `covsched-schedule 2`");
    let newer = |to: &str| SMALL.replacen("schedule 1", "schedule 2", 1).replacen(signal, to, 1);
    assert!(parse(&newer("t0 pthread_cond_signal c0 =0 depth=0")).is_ok());
    assert!(parse(&newer("t0 pthread_cond_signal c0 depth=0 depth=0")).is_err());
    assert!(parse(&newer("t0 pthread_cond_signal c0 depth=x")).is_err());
}

#[test]
fn every_cut_is_noticed() {
    for cut in 0..SMALL.len() - "\n".len() {
        assert!(parse(&SMALL[..cut]).is_err(), "{cut}");
    }
    assert!(parse(&SMALL[..SMALL.rfind("end").unwrap()]).unwrap_err().what.contains("cut off after 7 of 7"));
    assert!(parse("").unwrap_err().what.contains("empty file"));
}

#[test]
fn other_files_are_told_apart() {
    let (error, _) = (parse_bytes(b"\x7fELF\xff\xfe\n").unwrap_err(), ());
    assert!(error.line == 1 && error.what.contains("binary data"), "{error}");
    let error = parse_bytes(b"covsched-schedule 1\n\n\xff").unwrap_err();
    assert!(error.line == 3 && error.what.contains("UTF-8"), "{error}");
}

#[test]
fn a_schedule_that_breaks_the_rules_may_have_no_text() {
    let mut schedule = parse(SMALL).unwrap();
    schedule.events[5].waker = Some(Seq(2));
    assert_eq!(text::to_text(&schedule).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}

#[test]
fn long_files_are_read_and_written_in_time() {
    // Not a benchmark: quadratic work would take minutes here.
    let round = "t0 pthread_mutex_lock m0 =0\nt0 pthread_cond_wait begin c0 m0\nt1 pthread_cond_signal c0 =0\n\
                 t0 pthread_cond_wait end c0 m0 waker=t1/NTH =0\nt0 pthread_mutex_unlock m0 =0 @0000000000000002\n";
    let rounds: String = (0..100_000).map(|nth| round.replace("NTH", &nth.to_string())).collect();
    let text =
        SMALL.replace("events 7", "events 500000").replace("\"pthread_create\"", "\"pthread_mutex_unlock\"");
    let head = &text[..text.find("t0 entry").unwrap()];
    let text = format!("{head}{rounds}end\n");
    let started = std::time::Instant::now();
    let schedule = parse(&text).unwrap();
    let read = started.elapsed();
    let written = text::to_text(&schedule).unwrap();
    println!("500000 events: read in {read:?}, written in {:?}", started.elapsed() - read);
    assert_eq!(parse(&written).unwrap(), schedule);
    assert!(started.elapsed().as_secs() < 20);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(schedule in schedules()) {
        let text = text::to_text(&schedule).unwrap();
        prop_assert_eq!(parse(&text).unwrap(), schedule);
    }

    #[test]
    fn any_bytes_are_a_schedule_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse_bytes(&bytes);
        let mut with_head = b"covsched-schedule 1\n".to_vec();
        with_head.extend(bytes);
        let _ = parse_bytes(&with_head);
    }

    #[test]
    fn any_change_of_a_file_is_a_schedule_or_an_error(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        moved in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let mut lines: Vec<&str> = SMALL.lines().collect();
        let line = lines.remove(moved.0.index(lines.len()));
        lines.insert(moved.1.index(lines.len()), line);
        let mut bytes = lines.join("\n").into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let _ = parse_bytes(&bytes[cut.index(bytes.len())..]);
        if let Ok((schedule, _)) = parse_bytes(&bytes) {
            // What is read can be checked and, if it is well-formed, written.
            if verify_and_check(&schedule) {
                prop_assert_eq!(parse(&text::to_text(&schedule).unwrap()).unwrap(), schedule);
            }
        }
    }
}

fn verify_and_check(schedule: &Schedule) -> bool {
    use crate::schedule::{legal, verify};
    let well_formed = verify::verify(schedule).is_ok();
    if well_formed {
        let _ = legal::check(schedule);
    }
    well_formed
}
