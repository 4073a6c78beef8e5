//! Each rule once, with hand-made schedules, and all of them on simulated runs.

use super::check;
use crate::hooks::{Effect, Op};
use crate::schedule::simulate::schedules;
use crate::schedule::{parse, verify, Fault, Phase, Schedule};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// Checks these events; the fault's line counts from the first event.
fn replay(header: &str, events: &str) -> Result<(), Fault> {
    let lines: Vec<&str> = events.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = format!(
        "covsched-schedule 1\nprogram \"a\" 0000000000000000\ncommand \"a\"\ncomplete\n{header}\n\
         thread t0 main\nthread t1 t0/0 entry=0000000000000001\nthread t2 t0/1\nthread t3 foreign\n\
         object m0\nobject m1 recursive\nobject m2 error-checking\nobject m3 shared\nobject c0\nobject b0\n\
         object rw0\nobject sp0\nobject sem0\nobject o0\nevents {}\n{}\nend\n",
        lines.len(),
        lines.join("\n")
    );
    check(&parse::parse(&text).unwrap())
}

fn accept(events: &str) {
    replay("", events).unwrap();
}

/// The last event is the illegal one.
fn refuse(events: &str, part: &str) {
    let fault = replay("", events).unwrap_err();
    let last = events.lines().filter(|line| !line.trim().is_empty()).count() as u64;
    assert_eq!(fault.seq.map(|seq| seq.0), Some(last), "{fault}");
    assert!(fault.what.contains(part), "{fault}");
}

#[test]
fn a_mutex_has_one_holder() {
    accept("t0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_unlock m0 =0\nt1 pthread_mutex_lock m0 =0");
    refuse("t0 pthread_mutex_lock m0 =0\nt1 pthread_mutex_lock m0 =0", "but t0 holds it");
    refuse("t0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_lock m0 =0", "but t0 holds it");
    refuse("t0 pthread_mutex_lock m0 =0\nt1 pthread_mutex_trylock m0 =0", "but t0 holds it");
    refuse("t0 pthread_mutex_lock m0 =0\nt1 pthread_mutex_unlock m0 =0", "but t0 does");
    refuse("t0 pthread_mutex_unlock m0 =0", "but nobody does");
}

#[test]
fn failed_tries_and_timeouts_may_be_anywhere() {
    accept("t0 pthread_mutex_trylock m0 =16\nt1 pthread_mutex_timedlock m0 =110\nt1 sem_trywait sem0 =11");
    accept("t0 pthread_rwlock_trywrlock rw0 =16\nt0 pthread_rwlock_unlock rw0 =1\nt0 pthread_spin_trylock sp0 =16");
}

#[test]
fn recursive_mutexes_count_and_error_checking_ones_refuse() {
    accept("t0 pthread_mutex_lock m1 =0\nt0 pthread_mutex_lock m1 =0\nt0 pthread_mutex_unlock m1 =0\nt0 pthread_mutex_unlock m1 =0\nt1 pthread_mutex_lock m1 =0");
    refuse("t0 pthread_mutex_lock m1 =0\nt0 pthread_mutex_lock m1 =0\nt0 pthread_mutex_unlock m1 =0\nt1 pthread_mutex_lock m1 =0", "holds it");
    accept("t0 pthread_mutex_lock m2 =0\nt0 pthread_mutex_lock m2 =35\nt1 pthread_mutex_unlock m2 =1");
    refuse("t0 pthread_mutex_lock m2 =35", "EDEADLK");
    refuse("t0 pthread_mutex_lock m2 =0\nt0 pthread_mutex_unlock m2 =1", "EPERM");
    accept("t1 pthread_mutex_lock m0 =0\nt1 return\nt0 pthread_mutex_lock m0 =130");
}

#[test]
fn pending_results_count_as_done() {
    accept("t0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_unlock m0\nt1 pthread_mutex_lock m0 =0");
}

#[test]
fn shared_objects_are_not_checked() {
    accept("t0 pthread_mutex_unlock m3 =0\nt1 pthread_mutex_lock m3 =0\nt0 pthread_mutex_lock m3 =0");
}

#[test]
fn an_object_is_initialized_first_and_not_used_after_its_end() {
    accept("t0 pthread_mutex_init m0 =0\nt0 pthread_mutex_destroy m0 =0");
    refuse("t0 pthread_mutex_destroy m0 =0\nt1 pthread_mutex_lock m0 =0", "destroyed");
    refuse("t0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_init m0 =0", "used before");
    refuse("t0 pthread_mutex_lock m0 =0\nt0 pthread_mutex_destroy m0 =0", "while t0 holds it");
    refuse("t0 pthread_cond_destroy c0 =0\nt0 pthread_cond_signal c0 =0", "destroyed");
}

const WAIT: &str = "t1 pthread_mutex_lock m0 =0\nt1 pthread_cond_wait begin c0 m0\n";

#[test]
fn a_wait_releases_its_mutex_and_takes_it_again() {
    accept(&format!("{WAIT}t0 pthread_mutex_lock m0 =0"));
    refuse(
        &format!("{WAIT}t0 pthread_mutex_lock m0 =0\nt1 pthread_cond_wait end c0 m0 =0"),
        "m0 expected to be free",
    );
    refuse("t1 pthread_cond_wait begin c0 m0", "nobody does");
    accept(
        "t1 pthread_cond_wait begin c0 m2\nt1 pthread_cond_wait end c0 m2 =1\nt1 pthread_mutex_lock m2 =0",
    );
    accept(&format!("{WAIT}t1 pthread_cond_wait end c0 m0 unwound\nt1 pthread_mutex_unlock m0 =0"));
}

#[test]
fn a_signal_ends_only_a_wait_that_began_before_it() {
    accept(&format!("{WAIT}t0 pthread_cond_signal c0 =0\nt1 pthread_cond_wait end c0 m0 waker=t0/0 =0"));
    refuse(
        &format!("t0 pthread_cond_signal c0 =0\n{WAIT}t1 pthread_cond_wait end c0 m0 waker=t0/0 =0"),
        "began after it",
    );
    // Spurious, timed out, and after the destruction that a broadcast allows.
    accept(&format!("{WAIT}t1 pthread_cond_wait end c0 m0 =110"));
    accept(&format!("{WAIT}t0 pthread_cond_broadcast c0 =0\nt0 pthread_cond_destroy c0 =0\nt1 pthread_cond_wait end c0 m0 waker=t0/0 =0"));
}

const TWO: &str = "t0 pthread_barrier_init b0 count=2 =0\nt0 pthread_barrier_wait begin b0\n";

#[test]
fn a_barrier_opens_when_all_have_arrived() {
    let full = format!("{TWO}t1 pthread_barrier_wait begin b0\n");
    accept(&format!("{full}t1 pthread_barrier_wait end b0 =-1\nt1 pthread_barrier_wait begin b0\nt0 pthread_barrier_wait end b0 =0\nt0 pthread_barrier_wait begin b0\nt0 pthread_barrier_wait end b0 =-1"));
    accept(&format!("{full}t0 pthread_barrier_destroy b0 =0\nt1 pthread_barrier_wait end b0 =-1"));
    refuse(&format!("{TWO}t0 pthread_barrier_wait end b0 =-1"), "1 of 2 threads");
    refuse(
        &format!("{full}t0 pthread_barrier_wait end b0 =-1\nt1 pthread_barrier_wait end b0 =-1"),
        "t0 was it",
    );
    refuse(
        &format!("{full}t0 pthread_barrier_wait end b0 =0\nt1 pthread_barrier_wait end b0 =0"),
        "none was the serial",
    );
    refuse(&format!("{TWO}t1 pthread_barrier_destroy b0 =0"), "while 1 threads wait");
    // Without its init nothing is known.
    accept("t0 pthread_barrier_wait begin b0\nt0 pthread_barrier_wait end b0 =0");
}

#[test]
fn readers_exclude_writers() {
    accept(
        "t0 pthread_rwlock_rdlock rw0 =0\nt1 pthread_rwlock_rdlock rw0 =0\nt0 pthread_rwlock_rdlock rw0 =0",
    );
    refuse("t0 pthread_rwlock_rdlock rw0 =0\nt1 pthread_rwlock_wrlock rw0 =0", "but t0 read");
    refuse("t0 pthread_rwlock_wrlock rw0 =0\nt1 pthread_rwlock_rdlock rw0 =0", "expected no writer");
    refuse("t0 pthread_rwlock_wrlock rw0 =0\nt1 pthread_rwlock_wrlock rw0 =0", "but t0 holds it");
    refuse("t0 pthread_rwlock_rdlock rw0 =0\nt1 pthread_rwlock_unlock rw0 =0", "it does not");
    refuse("t0 pthread_rwlock_rdlock rw0 =0\nt0 pthread_rwlock_rdlock rw0 =0\nt0 pthread_rwlock_unlock rw0 =0\nt1 pthread_rwlock_wrlock rw0 =0", "but t0 read");
}

#[test]
fn a_spin_lock_has_one_holder() {
    refuse("t0 pthread_spin_lock sp0 =0\nt1 pthread_spin_lock sp0 =0", "but t0 holds it");
}

#[test]
fn a_semaphore_gives_what_it_has() {
    accept("t0 sem_init sem0 count=1 =0\nt1 sem_wait sem0 =0\nt0 sem_post sem0 =0\nt1 sem_trywait sem0 =0");
    refuse("t0 sem_init sem0 count=1 =0\nt1 sem_wait sem0 =0\nt1 sem_wait sem0 =0", "there is none");
    accept("t0 sem_wait sem0 =0");
}

#[test]
fn a_routine_runs_once() {
    let run = "t0 pthread_once begin o0\nt0 pthread_once end o0 =0\n";
    accept(&format!("{run}t1 pthread_once o0 =0"));
    refuse("t0 pthread_once begin o0\nt1 pthread_once o0 =0", "still runs");
    refuse("t1 pthread_once o0 =0", "nobody has run");
    refuse(&format!("{run}t1 pthread_once begin o0"), "has been run");
    refuse("t0 pthread_once begin o0\nt1 pthread_once begin o0", "while t0 runs it");
    accept("t0 pthread_once begin o0\nt0 pthread_once end o0 unwound\nt1 pthread_once begin o0\nt1 pthread_once end o0 =0");
}

#[test]
fn a_thread_is_joined_once_after_its_return() {
    accept("t1 entry\nt1 return\nt0 pthread_join t1 =0");
    accept("t0 pthread_join t1 =0");
    refuse("t1 entry\nt0 pthread_join t1 =0", "before it returns");
    refuse("t1 entry\nt1 return\nt0 pthread_join t1 =0\nt2 pthread_join t1 =0", "joined before");
    refuse("t0 pthread_detach t1 =0\nt0 pthread_join t1 =0", "detached");
    refuse("t0 pthread_join t0 =0", "itself");
    accept("t0 pthread_join t0 =35\nt0 pthread_tryjoin_np t1 =16");
    // Its function has no hooks, so its return is not seen.
    accept("t2 entry\nt0 pthread_join t2 =0");
}

#[test]
fn what_a_forked_process_inherited_is_not_known() {
    replay("forked", "t0 pthread_mutex_unlock m0 =0\nt0 pthread_mutex_lock m0 =0").unwrap();
    replay("forked", "t0 pthread_once o0 =0\nt0 pthread_rwlock_unlock rw0 =0\nt0 pthread_mutex_unlock m1 =0")
        .unwrap();
    let twice = "t0 pthread_mutex_unlock m0 =0\nt0 pthread_mutex_unlock m0 =0";
    assert!(replay("forked", twice).unwrap_err().what.contains("nobody does"));
}

/// Moves the event at `from` to before the one at `to`, as an illegal order would have it.
fn moved(schedule: &Schedule, from: usize, to: usize) -> Schedule {
    let mut schedule = schedule.clone();
    let event = schedule.events.remove(from);
    schedule.events.insert(to, event);
    schedule
}

/// Pairs (cause, effect) such that the effect cannot come before the cause.
fn dependent_pairs(schedule: &Schedule) -> Vec<(usize, usize)> {
    let events = &schedule.events;
    let mut pairs = Vec::new();
    for (i, cause) in events.iter().enumerate() {
        let later = |wanted: &dyn Fn(&crate::schedule::Event) -> bool| {
            (i + 1..events.len()).find(|&j| wanted(&events[j]))
        };
        let on_same =
            |event: &crate::schedule::Event| event.object == cause.object && event.thread != cause.thread;
        let effect = match (cause.op, cause.phase) {
            (Op::pthread_mutex_unlock | Op::pthread_spin_unlock, _) => {
                let next = later(&|event| event.object == cause.object || event.mutex == cause.object);
                next.filter(|&j| {
                    let effect = events[j].op.effect();
                    on_same(&events[j])
                        && events[j].result == Some(0)
                        && matches!(effect, Effect::Acquire | Effect::TryAcquire)
                })
            }
            (Op::pthread_once, Phase::End) => later(&|event| on_same(event) && event.phase == Phase::Both),
            (Op::leave, _) => {
                later(&|event| event.op == Op::pthread_join && event.child == Some(cause.thread))
            }
            (Op::pthread_create, _) if cause.child.is_some() => {
                later(&|event| Some(event.thread) == cause.child)
            }
            (Op::pthread_cond_signal | Op::pthread_cond_broadcast, _) => {
                later(&|event| schedule.index_of(event.waker.unwrap_or_default()) == Some(i))
            }
            _ => None,
        };
        pairs.extend(effect.map(|effect| (i, effect)));
    }
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn simulated_runs_are_well_formed_and_legal(schedule in schedules()) {
        verify::verify(&schedule).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        check(&schedule).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
    }

    #[test]
    fn a_prefix_of_a_run_is_legal(schedule in schedules(), cut in any::<prop::sample::Index>()) {
        let mut schedule = schedule;
        let len = cut.index(schedule.events.len() + 1);
        schedule.events.truncate(len);
        check(&schedule).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
    }

    #[test]
    fn an_effect_before_its_cause_is_refused(schedule in schedules()) {
        for (cause, effect) in dependent_pairs(&schedule) {
            let wrong = moved(&schedule, effect, cause);
            let refused = verify::verify(&wrong).is_err() || check(&wrong).is_err();
            prop_assert!(refused, "event {} before event {}: {:?}", effect + 1, cause + 1, schedule.events);
        }
    }
}
