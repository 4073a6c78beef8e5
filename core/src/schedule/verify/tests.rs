//! Each invariant, broken by hand.

use super::verify;
use crate::schedule::{parse, Fault};

const GOOD: &str = r#"covsched-schedule 1
program "./app" 0123456789abcdef
command "./app"
complete
thread t0 main entry=0000000000000001
thread t1 t0/0 entry=0000000000000005
object m0
object c0
object b0
site 0000000000000001 entry "a.c":3:1 "main" ""
site 0000000000000002 true "a.c":4:5 "main" "pthread_create"
site 0000000000000003 derived "a.c":5:5 "main" "f"
site 0000000000000004 true "a.c":6:5 "main" "pthread_mutex_lock"
site 0000000000000005 entry "a.c":8:5 "worker" ""
site 0000000000000006 exit "a.c":9:5 "worker" ""
events 14
t0 pthread_mutex_lock m0 =0 @0000000000000004
t0 entry @0000000000000001
t0 pthread_create t1 =0 @0000000000000002
t1 entry @0000000000000005
t0 call @0000000000000003
t0 pthread_cond_wait begin c0 m0
t1 pthread_cond_signal c0 =0
t0 pthread_cond_wait end c0 m0 waker=t1/0 =0
t0 pthread_mutex_unlock m0 =0
t1 pthread_barrier_init b0 count=1 =0
t1 pthread_barrier_wait begin b0
t1 pthread_barrier_wait end b0 =-1
t1 return @0000000000000006
t0 pthread_join t1 =0
end
"#;

fn verify_text(text: &str) -> Result<(), Fault> {
    verify(&parse::parse(text).unwrap())
}

/// Replaces parts of the good file and expects a fault that says this, at this event.
fn refuse(changes: &[(&str, &str)], seq: Option<u64>, part: &str) {
    let mut text = GOOD.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    // Without the `events` and the `end` line.
    let lines = text.lines().skip_while(|line| !line.starts_with("events")).count() - 2;
    let fault = verify_text(&text.replace("events 14", &format!("events {lines}"))).unwrap_err();
    assert!(fault.seq.map(|seq| seq.0) == seq && fault.what.contains(part), "{changes:?}: {fault}");
}

#[test]
fn a_good_schedule_passes() {
    verify_text(GOOD).unwrap();
}

#[test]
fn threads_are_made_before_they_act_and_enter_once() {
    refuse(&[("t0 pthread_create t1 =0 @0000000000000002\n", "")], Some(3), "before it is made");
    refuse(&[("t0 pthread_create t1 =0", "t0 pthread_create =0")], Some(3), "names no thread");
    refuse(&[("t0 pthread_create t1 =0", "t0 pthread_create t1 =11")], Some(3), "failed");
    refuse(&[("t0/0", "t0/1")], Some(3), "thread line says otherwise");
    refuse(&[("t0/0", "foreign")], Some(3), "thread line says otherwise");
    refuse(&[("t1 entry @0000000000000005\n", "")], Some(6), "must be its entry");
    refuse(&[("t1 entry @0000000000000005", "t1 entry")], Some(4), "another site");
    refuse(&[("t1 return", "t1 entry @0000000000000005\nt1 return")], Some(13), "a second entry");
    refuse(&[("t1 return", "t1 return @0000000000000006\nt1 return")], Some(14), "a second return");
    refuse(&[("t0 entry @0000000000000001\n", "")], None, "t0 has an entry site but no entry event");
}

#[test]
fn nothing_follows_the_end() {
    refuse(
        &[("t0 pthread_join t1 =0\n", "t0 pthread_join t1 =0\nt1 pthread_mutex_lock m0 =0\n")],
        Some(15),
        "ended by a join",
    );
    refuse(&[("t0 pthread_join", "t0 _exit =3\nt0 pthread_join")], Some(15), "ended by _exit");
}

#[test]
fn objects_are_numbered_by_first_use_and_fit() {
    refuse(&[("object m0\nobject c0", "object c0\nobject m0")], Some(1), "expected c0");
    refuse(&[("object b0\n", "object b0\nobject rw0\n")], None, "rw0 is used by no event");
    refuse(&[("t0 pthread_mutex_unlock m0", "t0 pthread_mutex_unlock c0")], Some(9), "cannot work on c0");
    refuse(&[("t0 pthread_mutex_unlock m0", "t0 pthread_mutex_unlock")], Some(9), "has no object");
    refuse(&[("t0 pthread_join t1", "t0 pthread_join m0 t1")], Some(14), "works on no object");
    refuse(&[("begin c0 m0", "begin c0")], Some(6), "has no mutex");
    refuse(&[("begin b0", "begin b0 m0")], Some(11), "cannot have m0");
}

#[test]
fn begin_and_end_pair_up() {
    refuse(&[("t0 pthread_cond_wait begin", "t0 pthread_cond_wait")], Some(6), "needs `begin` or `end`");
    refuse(&[("t0 pthread_mutex_unlock m0", "t0 pthread_mutex_unlock end m0")], Some(9), "only one moment");
    refuse(&[("t1 pthread_barrier_wait begin b0\n", "")], Some(11), "without its begin");
    refuse(
        &[(
            "t1 pthread_barrier_wait begin b0\n",
            "t1 pthread_barrier_wait begin b0\nt1 pthread_barrier_wait begin b0\n",
        )],
        Some(12),
        "still inside",
    );
}

#[test]
fn a_waker_is_an_earlier_signal_for_one_wait() {
    let mut schedule = parse::parse(GOOD).unwrap();
    schedule.events[7].waker = Some(crate::Seq(1));
    assert!(verify(&schedule).unwrap_err().what.contains("does not signal"));
    schedule.events[7].waker = Some(crate::Seq(9));
    assert!(verify(&schedule).unwrap_err().what.contains("no earlier event"));
    let again = "t0 pthread_cond_wait begin c0 m0\nt0 pthread_cond_wait end c0 m0 waker=t1/0 =0\n";
    refuse(&[("t0 pthread_mutex_unlock m0 =0\n", again)], Some(10), "has woken another wait");
}

#[test]
fn attributes_fit_their_operation() {
    refuse(
        &[("t0 pthread_mutex_unlock m0 =0", "t0 pthread_mutex_unlock m0 =0 count=3")],
        Some(9),
        "has a count",
    );
    refuse(
        &[("t0 pthread_mutex_unlock m0 =0", "t0 pthread_mutex_unlock m0 t1 =0")],
        Some(9),
        "as its target",
    );
}

#[test]
fn a_derived_call_stands_before_an_event_of_its_thread() {
    refuse(
        &[("t0 call @0000000000000003\n", ""), ("t1 return", "t0 call @0000000000000003\nt1 return")],
        Some(12),
        "derived",
    );
    refuse(&[("t0 pthread_join t1 =0\n", "t0 pthread_join t1 =0\nt0 call\n")], Some(15), "derived");
}

#[test]
fn an_event_is_inside_of_no_more_calls_than_are_open() {
    let version = ("covsched-schedule 1", "covsched-schedule 2");
    let unlock = "t0 pthread_mutex_unlock m0 =0";
    let good = |to: &str| GOOD.replacen(version.0, version.1, 1).replacen(unlock, to, 1);
    assert_eq!(verify_text(&good("t0 pthread_mutex_unlock m0 =0 depth=1")), Ok(()));
    assert_eq!(verify_text(&good("t0 pthread_mutex_unlock m0 =0 depth=0")), Ok(()));
    refuse(&[version, (unlock, "t0 pthread_mutex_unlock m0 =0 depth=2")], Some(9), "depth=2");
}

#[test]
fn sites_are_described_and_fit() {
    refuse(&[("t1 return @0000000000000006", "t1 return @0000000000000009")], Some(13), "not described");
    refuse(
        &[("t1 return @0000000000000006", "t1 return @0000000000000005")],
        Some(13),
        "cannot be one of return",
    );
    refuse(
        &[("t0 pthread_mutex_unlock m0 =0", "t0 pthread_mutex_unlock m0 =0 @0000000000000004")],
        Some(9),
        "cannot be one of pthread_mutex_unlock",
    );
    refuse(&[("t1 return @0000000000000006", "t1 return")], None, "used by no event");
}
