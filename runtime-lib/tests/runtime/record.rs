//! Programs that call the hooks directly are recorded, and what they recorded is read back: order, results, ends.

use crate::support::{build, legal, record, Recording};
use covsched_core::hooks::{Effect, Op};
use covsched_core::rawlog::{
    Phase, ENTRY_COMMAND, FLAG_ERRORCHECK, FLAG_RECURSIVE, FLAG_UNWOUND, LOST_RECORDS, NO_THREAD,
    RESULT_PENDING, STATE_COMPLETE, STATE_RUNNING,
};
use std::os::unix::process::ExitStatusExt;

const EDEADLK: i32 = 35;
const EPERM: i32 = 1;
const EBUSY: i32 = 16;
const ETIMEDOUT: i32 = 110;
const EAGAIN: i32 = 11;
const EINVAL: i32 = 22;

#[test]
fn mutexes_of_each_kind_with_their_results() {
    let recording = record(&build("mutexes.c"), &[], "").good();
    let main: Vec<_> = recording.events.iter().filter(|event| event.thread == 0).collect();
    assert_eq!((main[0].op, main[0].record.site), (Op::entry, 2000));
    let last = main.last().unwrap();
    assert_eq!((last.op, last.record.site), (Op::leave, 2001));
    let results = |op| {
        let of_main = main.iter().filter(|event| event.op == op);
        of_main.map(|event| event.record.result).filter(|&result| result != 0).collect::<Vec<_>>()
    };
    assert_eq!(results(Op::pthread_mutex_lock), [EDEADLK]);
    assert_eq!(results(Op::pthread_mutex_unlock), [EPERM]);
    assert_eq!(results(Op::pthread_mutex_trylock), [EBUSY]);
    assert_eq!(results(Op::pthread_mutex_timedlock), [ETIMEDOUT]);
    assert_eq!(results(Op::pthread_mutex_clocklock), [ETIMEDOUT]);
    let flags: Vec<u8> =
        recording.of(Op::pthread_mutex_init).iter().map(|event| event.record.flags).collect();
    assert_eq!(flags, [FLAG_RECURSIVE, FLAG_ERRORCHECK]);

    // The creation tree, and each worker's own order.
    assert_eq!(recording.threads.len(), 5);
    for number in 1..5 {
        assert_eq!(recording.threads[&number], (0, number - 1));
        let sites: Vec<u64> = recording
            .events
            .iter()
            .filter(|event| event.thread == number && matches!(event.op, Op::entry | Op::leave))
            .map(|event| event.record.site)
            .collect();
        assert_eq!(sites, [1000, 1002]);
        assert_eq!(recording.ops(number).len(), 4002);
    }
    let children = |op| recording.of(op).iter().map(|event| event.record.extra).collect::<Vec<_>>();
    assert_eq!(children(Op::pthread_create), [1, 2, 3, 4]);
    assert_eq!(children(Op::pthread_join), [1, 2, 3, 4]);
    assert!(!recording.events.iter().any(|event| event.record.result == RESULT_PENDING));
    assert_eq!(recording.entries[0].0, ENTRY_COMMAND);
    assert!(recording.entries[0].1.ends_with(b"mutexes_c\0"));
}

#[test]
fn each_wake_up_names_the_signal_that_caused_it() {
    let program = build("queue.c");
    for seed in 0..12 {
        let recording = record(&program, &[], &format!("delay={seed}")).good();
        let wakers = legal::wakers(&recording);
        let ends = recording.of(Op::pthread_cond_wait).iter().filter(|e| e.phase == Phase::End).count();
        assert_eq!(wakers.len(), ends, "a wait without a waker");
        let broadcast: Vec<_> =
            wakers.iter().filter(|(_, waker)| waker.op.effect() == Effect::Broadcast).collect();
        assert!(broadcast.len() <= 3);
    }
}

#[test]
fn timed_waits_time_out_and_are_never_early() {
    let run = record(&build("timed.c"), &[], "");
    assert_eq!(run.output.status.code(), Some(3), "{:?}", run.output);
    let recording = run.recordings().pop_first().unwrap().1;
    legal::check(&recording);
    assert_eq!((recording.meta.state, recording.meta.status), (STATE_COMPLETE, 3));
    let timeouts = recording.of(Op::pthread_cond_timedwait);
    assert_eq!(timeouts.iter().filter(|event| event.record.result == ETIMEDOUT).count(), 41);
    // Refused waits say so at both moments.
    assert_eq!(timeouts.iter().filter(|event| event.record.result == EINVAL).count(), 2);
    assert_eq!(recording.results(Op::sem_trywait), [0, EAGAIN]);
    assert_eq!(recording.results(Op::sem_timedwait), [ETIMEDOUT]);
    assert_eq!(recording.results(Op::exit), [3]);
    assert_eq!(recording.results(Op::pthread_cond_wait), [EPERM, EPERM]);
    assert_eq!(legal::wakers(&recording).len(), 1);
}

#[test]
fn a_cancelled_wait_ends_unwound_and_passes_its_signal_on() {
    let program = build("cancel.c");
    for options in ["", "delay=1", "delay=2", "delay=3"] {
        let recording = record(&program, &[], options).good();
        let unwound = |event: &&crate::support::Event| event.record.flags & FLAG_UNWOUND != 0;
        let waits = recording.of(Op::pthread_cond_wait);
        assert_eq!(waits.iter().filter(unwound).count(), 50);
        legal::wakers(&recording);
        // Cancelled threads leave too, at their real end, with no site.
        let ends = recording.of(Op::leave).iter().filter(|event| event.record.site == 0).count();
        assert_eq!(ends, 102);
    }
}

#[test]
fn barrier_generations_are_exact() {
    let program = build("barriers.c");
    for seed in 0..8 {
        record(&program, &[], &format!("delay={seed}")).good();
    }
    record(&program, &[], "").good();
}

#[test]
fn rwlocks_spin_locks_and_semaphores_are_legal_under_contention() {
    let program = build("locks.c");
    for options in ["", "delay=1", "delay=2"] {
        let recording = record(&program, &[], options).good();
        assert_eq!(recording.results(Op::pthread_rwlock_timedwrlock), [ETIMEDOUT]);
    }
}

#[test]
fn posts_from_signal_handlers_are_recorded_whole() {
    let recording = record(&build("handler.c"), &[], "").good();
    let posts = recording.of(Op::sem_post).len();
    assert!(posts >= 20_000, "{posts}");
    let sites: Vec<u64> = recording.of(Op::derived).iter().map(|event| event.record.site).collect();
    assert!(sites.iter().all(|site| [5000, 6000].contains(site)));
    assert!(sites.contains(&5000) && sites.contains(&6000));
}

#[test]
fn once_runs_once_and_may_nest() {
    let recording = record(&build("onces.c"), &[], "").good();
    let once = recording.of(Op::pthread_once);
    assert_eq!(once.iter().filter(|event| event.phase == Phase::Begin).count(), 2);
    assert_eq!(once.iter().filter(|event| event.phase == Phase::End).count(), 2);
    assert_eq!(once.iter().filter(|event| event.phase == Phase::Both).count(), 3 + 1);
}

/// The recording of `ends.c` when it ends in one way.
fn ends(how: &str) -> (std::process::ExitStatus, Recording) {
    let run = record(&build_once("ends.c"), &[how], "");
    let mut all = run.recordings();
    let recording = all.pop_first().unwrap().1;
    legal::check(&recording);
    (run.output.status, recording)
}

fn build_once(name: &'static str) -> std::path::PathBuf {
    use std::sync::OnceLock;
    static BUILT: OnceLock<std::path::PathBuf> = OnceLock::new();
    assert_eq!(name, "ends.c");
    BUILT.get_or_init(|| build(name)).clone()
}

#[test]
fn what_was_written_survives_kill_and_abort() {
    for (how, signal) in [("kill", 9), ("abort", 6)] {
        let (status, recording) = ends(how);
        assert_eq!(status.signal(), Some(signal));
        assert_eq!((recording.meta.state, recording.meta.lost), (STATE_RUNNING, 0));
        assert_eq!(recording.of(Op::sem_post).len(), 1);
        assert_eq!(recording.of(Op::sem_wait).len(), 1);
    }
}

#[test]
fn exits_of_each_kind_are_complete() {
    for (how, op, code) in
        [("_exit", Op::_exit, 9), ("quick_exit", Op::quick_exit, 10), ("worker-exit", Op::exit, 7)]
    {
        let (status, recording) = ends(how);
        assert_eq!(status.code(), Some(code), "{how}");
        assert_eq!((recording.meta.state, recording.meta.status), (STATE_COMPLETE, code));
        assert_eq!(recording.results(op), [code]);
        if how == "worker-exit" {
            // Its exit handler ran in that thread, after its end.
            let ops = recording.ops(1);
            assert_eq!(ops[ops.len() - 3].0, Op::exit);
            assert_eq!(ops[ops.len() - 1].0, Op::pthread_mutex_unlock);
        }
    }
}

#[test]
fn main_may_end_before_its_threads() {
    let (status, recording) = ends("main-pthread-exit");
    assert!(status.success());
    assert_eq!(recording.meta.state, STATE_COMPLETE);
    let main = recording.ops(0);
    assert_eq!(
        main[main.len() - 2..].iter().map(|pair| pair.0).collect::<Vec<_>>(),
        [Op::pthread_exit, Op::leave]
    );
    let leave = recording.of(Op::leave);
    assert_eq!(leave[0].thread, 0);
    assert_eq!(leave[0].record.site, recording.of(Op::pthread_exit)[0].record.site);
}

#[test]
fn thread_specific_destructors_are_recorded_before_the_end() {
    let (_, recording) = ends("destructor");
    let ops: Vec<Op> = recording.ops(1).iter().map(|pair| pair.0).collect();
    use Op::*;
    assert_eq!(
        ops,
        [
            entry,
            pthread_mutex_lock,
            pthread_mutex_unlock,
            pthread_exit,
            pthread_mutex_lock,
            pthread_mutex_unlock,
            leave
        ]
    );
}

#[test]
fn detached_threads_and_vfork_children_do_no_harm() {
    for how in ["detached", "born-detached", "vfork"] {
        let (status, recording) = ends(how);
        assert!(status.success(), "{how}");
        assert_eq!((recording.meta.state, recording.meta.status), (STATE_COMPLETE, 0), "{how}");
        assert_eq!(recording.of(Op::leave).len(), 2, "{how}");
        assert_eq!(recording.of(Op::_exit).len(), 0, "{how}");
    }
}

#[test]
fn exec_begins_a_second_recording_and_keeps_the_first() {
    let run = record(&build_once("ends.c"), &["exec"], "");
    assert!(run.output.status.success());
    let all = run.recordings();
    let names: Vec<&str> = all.keys().map(|name| name.rsplit('-').next().unwrap()).collect();
    assert_eq!(names, ["0", "1"]);
    let states: Vec<u32> = all.values().map(|recording| recording.meta.state).collect();
    assert_eq!(states, [STATE_RUNNING, STATE_COMPLETE]);
    assert!(all.values().next().unwrap().events.len() > 5);
}

#[test]
fn a_forked_child_records_its_own_one_thread() {
    for options in ["", "delay=5"] {
        let run = record(&build("forks.c"), &[], options);
        assert!(run.output.status.success(), "{:?}", run.output);
        let all = run.recordings();
        assert_eq!(all.len(), 21);
        let parent = all.values().find(|recording| recording.meta.forked_from == 0).unwrap();
        legal::check(parent);
        for child in all.values().filter(|recording| recording.meta.forked_from != 0) {
            legal::check(child);
            assert_eq!(child.meta.forked_from, parent.meta.pid);
            assert_eq!(child.meta.forking_thread, 2);
            assert_eq!((child.meta.state, child.meta.status), (STATE_COMPLETE, 4));
            assert_eq!(child.threads.len(), 2);
            assert_eq!((child.threads[&0].0, child.threads[&1].0), (NO_THREAD, 0));
            // It is in the middle of the function that forked.
            assert_eq!((child.events[0].op, child.events[0].record.site), (Op::entry, 20));
            assert_eq!(child.entries[0].0, ENTRY_COMMAND);
        }
    }
}

#[test]
fn a_full_disk_loses_records_and_nothing_else() {
    let program = build("full.c");
    for limit in ["100000", "20000", "1"] {
        let run = record(&program, &[limit], "");
        assert!(run.output.status.success(), "{:?}", run.output);
        let recording = run.recordings().pop_first().unwrap().1;
        assert_eq!((recording.meta.state, recording.meta.lost), (STATE_COMPLETE, LOST_RECORDS));
        let most = limit.parse::<usize>().unwrap() / 8;
        assert!(recording.events.len() <= most, "{} of {most}", recording.events.len());
    }
    let recording = record(&program, &[], "").good();
    assert_eq!(recording.events.len(), 200_000);
}

#[test]
fn a_thread_that_goes_on_in_the_log_of_one_that_lost_records_loses_none() {
    let run = record(&build("lost.c"), &[], "");
    assert!(run.output.status.success(), "{:?}", run.output);
    let recording = run.recordings().pop_first().unwrap().1;
    assert_eq!((recording.meta.state, recording.meta.lost), (STATE_COMPLETE, LOST_RECORDS));
    let locks = |thread| recording.ops(thread).iter().filter(|(op, _)| *op == Op::pthread_mutex_lock).count();
    assert!(locks(1) < 5001);
    assert_eq!((locks(2), locks(3)), (2, 2));
}

#[test]
fn threads_and_children_go_on_when_the_folder_is_gone() {
    let folder = crate::support::fresh_folder();
    let (here, there) = (folder.join("here"), folder.join("there"));
    std::fs::create_dir(&here).unwrap();
    let options = format!("mode=record:log='{}'", here.display());
    let mut command = std::process::Command::new(build("gone.c"));
    crate::support::succeed(command.args([&here, &there]).env("COVSCHED_OPTIONS", options));
    let all = crate::support::read_folder(&here);
    assert_eq!(all.len(), 1);
    let recording = all.values().next().unwrap();
    assert_eq!((recording.meta.state, recording.meta.lost), (STATE_COMPLETE, LOST_RECORDS));
    // The third thread's log is lost, and the child's whole recording; what main did is there.
    assert_eq!(recording.threads.keys().collect::<Vec<_>>(), [&0, &1, &2]);
    assert_eq!(recording.of(Op::pthread_join).len(), 3);
}

#[test]
fn many_short_threads_do_not_make_the_process_grow() {
    let program = build("many.c");
    let grown = |text: &str| {
        let figures: Vec<i64> = text.split_whitespace().map(|figure| figure.parse().unwrap()).collect();
        (figures[2] - figures[0], figures[3] - figures[1])
    };
    let run = record(&program, &["3000"], "");
    let recording = run.good();
    assert_eq!(recording.threads.len(), 3001);
    let (pages, mappings) = grown(&run.text());
    // The creator's own log, some 100 bytes a thread, is in memory as far as its window goes. A page a thread would be 2700.
    assert!(pages < 300 && mappings < 20, "{pages} pages, {mappings} mappings");
    let off = crate::support::succeed(std::process::Command::new(&program).arg("20000"));
    let (pages, mappings) = grown(&String::from_utf8(off.stdout).unwrap());
    assert!(pages < 100 && mappings < 20, "{pages} pages, {mappings} mappings");
}

#[test]
fn c11_threads_map_to_the_results_of_pthread() {
    let recording = record(&build("c11.c"), &[], "").good();
    assert!(recording.results(Op::cnd_timedwait).contains(&ETIMEDOUT));
    assert_eq!(recording.of(Op::thrd_exit).len(), 1);
    assert_eq!(recording.of(Op::mtx_init)[0].record.flags, FLAG_RECURSIVE);
    legal::wakers(&recording);
}

#[test]
fn cxx_threads_exceptions_and_cancellation_pass_through_hooks() {
    let program = build("objects.cpp");
    for options in ["", "delay=1", "delay=2"] {
        let recording = record(&program, &[], options).good();
        let creates = recording.results(Op::pthread_create);
        assert!(creates.contains(&EAGAIN), "{creates:?}");
        assert!(recording.results(Op::pthread_join).contains(&EINVAL));
        let once = recording.of(Op::pthread_once);
        let unwound: Vec<bool> = once
            .iter()
            .filter(|event| event.phase == Phase::End)
            .map(|event| event.record.flags & FLAG_UNWOUND != 0)
            .collect();
        assert_eq!(unwound, [true, false]);
        let waits = recording.of(Op::pthread_cond_wait);
        assert!(waits.iter().any(|event| event.record.flags & FLAG_UNWOUND != 0));
        legal::wakers(&recording);
    }
}

#[test]
fn code_without_hooks_may_signal_wait_and_make_threads() {
    let run = record(&build("foreign.c"), &[], "");
    assert!(run.output.status.success(), "{:?}", run.output);
    let recording = run.recordings().pop_first().unwrap().1;
    let wakers = legal::wakers(&recording);
    assert_eq!(wakers.len(), 1);
    assert_eq!(wakers[0].1.record.site, 0);
    // The thread that pthread_create itself made was adopted, and has its entry.
    assert_eq!(recording.threads[&1].0, NO_THREAD);
    let entry = recording.of(Op::entry)[0];
    assert_eq!((entry.thread, entry.record.site), (1, 50));
    assert_eq!(recording.of(Op::pthread_barrier_wait).len(), 4);
}
