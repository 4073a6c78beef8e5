//! Recordings written as the runtime writes them, whole, cut off, and damaged in every way.

use super::*;
use crate::hooks::Op;
use crate::rawlog::words::{open_word, thread_words, Dictionary, Encoded};
use crate::rawlog::{LOST_RECORDS, NO_THREAD, STATE_COMPLETE, STATE_RUNNING};
use crate::schedule::assemble::{assemble, NoSymbols};
use crate::schedule::epochs::tests::recordings_with_epochs;
use crate::schedule::simulate::{recording_of, recordings};
use crate::schedule::{legal, verify, Completeness, MutexKind};
use crate::site::{TableBuilder, UNIT_HAS_BITCODE};
use proptest::prelude::*;

/// The files of a recording: the head, and each thread's log.
fn files_of(recording: &Recording) -> (Vec<u8>, Vec<(u32, Vec<u8>)>) {
    let mut meta = recording.meta.as_bytes().to_vec();
    let mut entry = |kind: u32, content: &[u8]| {
        meta.extend(EntryHeader { kind, len: content.len() as u32 }.as_bytes());
        meta.extend(content);
        meta.resize(meta.len().next_multiple_of(8), 0);
    };
    let command: Vec<u8> = recording.command.iter().flat_map(|a| a.bytes().chain([0])).collect();
    entry(ENTRY_COMMAND, &command);
    for object in &recording.objects {
        let path = object.path.to_str().unwrap();
        entry(ENTRY_OBJECT, &[&object.bias.to_ne_bytes(), path.as_bytes()].concat());
        for unit in &object.units {
            let mut table = TableBuilder::default();
            unit.sites.iter().for_each(|site| table.push(site));
            entry(ENTRY_SITES, &table.finish(&unit.unit, u32::from(unit.has_bitcode) * UNIT_HAS_BITCODE).0);
        }
    }
    let logs = recording.threads.iter().map(|log| {
        let header = LogHeader { magic: LOG_MAGIC, version: VERSION, log: log.thread };
        let mut bytes = header.as_bytes().to_vec();
        let mut put = |words: &[u64]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        put(&thread_words(log.thread, NO_THREAD, 0));
        let mut dictionary = Dictionary::new();
        for record in &log.records {
            match dictionary.encode(record) {
                Encoded::Short(word) => put(&[word]),
                Encoded::WithObject(word, object) => put(&[word, object]),
                Encoded::Long(words) => put(&words),
            }
        }
        // The preallocated tail.
        bytes.resize(bytes.len() + 4096, 0);
        (log.thread, bytes)
    });
    (meta, logs.collect())
}

fn read_files(meta: &[u8], logs: &[(u32, Vec<u8>)]) -> Result<Recording, String> {
    let mut recording = Recording::from_meta(meta)?;
    for (thread, bytes) in logs {
        recording.read_log(*thread, bytes);
    }
    Ok(recording)
}

fn steps(count: u64) -> Vec<u32> {
    (0..count).map(|i| crate::hash::mix(i + 7) as u32).collect()
}

#[test]
fn a_folder_is_read_back() {
    let folder = std::env::temp_dir().join(format!("covsched-recording-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let original = recording_of(&steps(400));
    let (meta, logs) = files_of(&original);
    std::fs::write(folder.join("12-0.meta"), &meta).unwrap();
    for (thread, bytes) in &logs {
        std::fs::write(folder.join(format!("12-0.t{thread}")), bytes).unwrap();
    }
    std::fs::write(folder.join("13-1.t0"), b"no head").unwrap();
    std::fs::write(folder.join("notes"), b"").unwrap();
    let found = images(&folder).unwrap();
    std::fs::remove_file(folder.join("13-1.t0")).unwrap();
    let image = Image { pid: 12, number: 0 };
    assert_eq!(found.iter().map(|(image, _)| *image).collect::<Vec<_>>(), [image]);
    let read = Recording::read(&folder, image, &found[0].1).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((&read.command, &read.damage), (&original.command, &vec![]));
    let schedule = |recording| assemble(recording, "./app", &NoSymbols, "").unwrap();
    let (read, original) = (schedule(read), schedule(original));
    assert_eq!(read, original);
    assert_eq!(read.completeness, Completeness::Complete);
}

#[test]
fn another_version_is_refused_with_what_to_do() {
    let mut recording = recording_of(&[]);
    recording.meta.version = 9;
    assert!(Recording::from_meta(&files_of(&recording).0).unwrap_err().contains("build it again"));
    assert!(Recording::from_meta(b"CVMETA").unwrap_err().contains("cut off"));
    assert!(Recording::from_meta(&[1; 80]).unwrap_err().contains("magic"));
}

#[test]
fn a_killed_process_leaves_an_incomplete_schedule() {
    let mut recording = recording_of(&steps(300));
    recording.meta.state = STATE_RUNNING;
    let schedule = assemble(recording, "./app", &NoSymbols, "killed by signal 9").unwrap();
    assert_eq!(schedule.completeness, Completeness::Incomplete("killed by signal 9".to_owned()));
}

#[test]
fn a_log_that_was_only_just_made_is_no_damage() {
    let mut recording = recording_of(&steps(50));
    recording.meta.state = STATE_RUNNING;
    let expected = assemble(recording.clone(), "./app", &NoSymbols, "killed by signal 6").unwrap();
    let (meta, logs) = files_of(&recording);
    for begun in [vec![], vec![0; 7], vec![0; 4096]] {
        let read = read_files(&meta, &[&logs[..], &[(9, begun)]].concat()).unwrap();
        assert_eq!(assemble(read, "./app", &NoSymbols, "killed by signal 6").unwrap(), expected);
    }
    let read = read_files(&meta, &[&logs[..], &[(9, vec![1; 7])]].concat()).unwrap();
    assert_eq!(read.damage, ["log 9: cut off, no whole head"]);
}

#[test]
fn holes_and_open_derived_records_are_left_out() {
    let mut recording = recording_of(&steps(50));
    let expected = assemble(recording.clone(), "./app", &NoSymbols, "").unwrap();
    let log = &mut recording.threads[0];
    log.records.push(Record { clock: u64::MAX, op: Op::derived as u8, ..Record::default() });
    let (meta, mut logs) = files_of(&recording);
    // Reserved and not written, then begun and not finished.
    let hole = [0, 0, open_word(3), 77, 78].map(u64::to_le_bytes).concat();
    let after_thread = size_of::<LogHeader>() + 3 * 8;
    logs[0].1.splice(after_thread..after_thread, hole);
    let read = read_files(&meta, &logs).unwrap();
    assert_eq!(assemble(read, "./app", &NoSymbols, "").unwrap(), expected);
}

#[test]
fn lost_records_cut_the_schedule_where_it_stops_making_sense() {
    let mut recording = recording_of(&steps(600));
    let whole = assemble(recording.clone(), "./app", &NoSymbols, "").unwrap();
    recording.meta.lost = LOST_RECORDS;
    recording.meta.state = STATE_COMPLETE;
    // Most of what main did is missing.
    recording.threads[0].records.truncate(10);
    let schedule = assemble(recording, "./app", &NoSymbols, "").unwrap();
    assert!(
        matches!(&schedule.completeness, Completeness::Incomplete(why) if why.contains("records were lost"))
    );
    assert!(schedule.events.len() < whole.events.len());
    legal::check(&schedule).unwrap();
}

fn mutex(op: Op, clock: u64, flags: u8) -> Record {
    Record { clock, object: 0x10, op: op as u8, flags, ..Record::default() }
}

#[test]
fn an_address_may_hold_several_objects_in_turn() {
    let mut recording = recording_of(&[]);
    recording.threads[0].records.truncate(1);
    let records = &mut recording.threads[0].records;
    records.push(mutex(Op::pthread_mutex_lock, 200, 0));
    records.push(mutex(Op::pthread_mutex_unlock, 201, 0));
    // Initialized again, without a destroy.
    records.push(mutex(Op::pthread_mutex_init, 202, crate::rawlog::FLAG_RECURSIVE));
    records.push(mutex(Op::pthread_mutex_destroy, 203, crate::rawlog::FLAG_RECURSIVE));
    // Statically initialized after the destroy.
    records.push(mutex(Op::pthread_mutex_lock, 204, 0));
    // Memory used for something else.
    records.push(mutex(Op::pthread_spin_lock, 205, 0));
    records.push(Record { result: 22, ..mutex(Op::pthread_spin_init, 206, 0) });
    let schedule = assemble(recording, "./app", &NoSymbols, "").unwrap();
    let names: Vec<String> = schedule.events[1..]
        .iter()
        .map(|e| schedule.objects[e.object.unwrap().0 as usize].to_string())
        .collect();
    assert_eq!(names, ["m0", "m0", "m1", "m1", "m2", "sp0", "sp0"]);
    assert_eq!(schedule.objects[1].mutex_kind, MutexKind::Recursive);
}

#[test]
fn a_named_semaphore_opened_twice_is_one_object() {
    let mut recording = recording_of(&[]);
    let records = &mut recording.threads[0].records;
    for (clock, op) in [Op::sem_open, Op::sem_open, Op::sem_close, Op::sem_post, Op::sem_close, Op::sem_open]
        .into_iter()
        .enumerate()
    {
        records.push(mutex(op, 300 + clock as u64, crate::rawlog::FLAG_SHARED));
    }
    let schedule = assemble(recording, "./app", &NoSymbols, "").unwrap();
    let ids: Vec<u32> = schedule.events[1..].iter().map(|event| event.object.unwrap().0).collect();
    assert_eq!(ids, [0, 0, 0, 0, 0, 1]);
}

proptest! {
    #[test]
    fn simulated_recordings_are_read_back(recording in recordings()) {
        let (meta, logs) = files_of(&recording);
        let read = read_files(&meta, &logs).unwrap();
        let schedule = assemble(read, "./app", &NoSymbols, "").unwrap();
        prop_assert_eq!(schedule, assemble(recording, "./app", &NoSymbols, "").unwrap());
    }

    #[test]
    fn epochs_are_read_back(recording in recordings_with_epochs()) {
        let (meta, logs) = files_of(&recording);
        let read = read_files(&meta, &logs).unwrap();
        let schedule = assemble(read, "./app", &NoSymbols, "").unwrap();
        prop_assert_eq!(schedule, assemble(recording, "./app", &NoSymbols, "").unwrap());
    }

    #[test]
    fn any_prefix_of_the_order_is_a_schedule(recording in recordings(), cut in 100u64..1000) {
        // A kill: nobody writes after it, so every thread's records end before some clock.
        let mut recording = recording;
        recording.meta.state = STATE_RUNNING;
        for log in &mut recording.threads {
            log.records.retain(|record| record.clock < cut);
        }
        let schedule = assemble(recording, "./app", &NoSymbols, "killed").unwrap();
        verify::verify(&schedule).unwrap();
        legal::check(&schedule).unwrap();
    }

    #[test]
    fn damaged_files_give_a_schedule_or_an_error(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
        lost in 0u32..2,
    ) {
        let mut recording = recording_of(&steps(120));
        recording.meta.lost = lost;
        let (mut meta, mut logs) = files_of(&recording);
        for (file, place, byte) in changes {
            let file = file.index(logs.len() + 1);
            let bytes = logs.get_mut(file).map_or(&mut meta, |(_, bytes)| bytes);
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        for cut in cuts {
            let file = cut.index(logs.len() + 1);
            let bytes = logs.get_mut(file).map_or(&mut meta, |(_, bytes)| bytes);
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        if let Ok(recording) = read_files(&meta, &logs) {
            let _ = assemble(recording, "./app", &NoSymbols, "killed");
        }
    }

    #[test]
    fn any_bytes_are_a_recording_or_an_error(meta in proptest::collection::vec(any::<u8>(), 0..300), log in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut headed = files_of(&recording_of(&[])).0[..size_of::<MetaHeader>()].to_vec();
        headed.extend(&meta);
        let _ = Recording::from_meta(&meta);
        let mut thread = files_of(&recording_of(&[])).1[0].1[..size_of::<LogHeader>()].to_vec();
        thread.extend(&log);
        let recording = read_files(&headed, &[(0, thread)]).unwrap();
        let _ = assemble(recording, "./app", &NoSymbols, "killed");
    }
}
