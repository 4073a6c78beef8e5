//! A schedule by hand, in each format.

use super::*;
use covsched_core::schedule::parse;

const SCHEDULE: &str = r#"covsched-schedule 1
program "./app" 0123456789abcdef
command "./app" "a b"
incomplete "killed by signal 9 (SIGKILL)"
thread t0 main entry=0000000000000001
thread t1 t0/0 entry=0000000000000004
object m0 symbol="lock"
object c0 symbol="queue+40"
site 0000000000000001 entry "src/a.c":3:1 "main" ""
site 0000000000000002 true "src/a.c":4:5 "main" "pthread_create"
site 0000000000000003 derived "src/a.c":5:5 "main" "take<int>"
site 0000000000000004 entry "src/a.c":9:1 "worker" ""
events 9
t0 entry @0000000000000001
t0 pthread_create t1 =0 @0000000000000002
t1 entry @0000000000000004
t0 call @0000000000000003
t0 pthread_mutex_lock m0 =0
t0 pthread_cond_timedwait begin c0 m0
t1 pthread_mutex_trylock m0 =16
t1 pthread_cond_signal c0 =0
t0 pthread_cond_timedwait end c0 m0 waker=t1/0 =0
end
"#;

fn shown(format: &str, keep: &dyn Fn(&Event) -> bool) -> String {
    shown_of(SCHEDULE, format, keep, None)
}

fn shown_of(text: &str, format: &str, keep: &dyn Fn(&Event) -> bool, thread: Option<ThreadId>) -> String {
    let schedule = parse::parse(text).unwrap();
    let view = View::new(&schedule, keep, thread);
    let mut out = Vec::new();
    match format {
        "text" => text::write(&view, &mut out).unwrap(),
        "json" => json::write(&view, &mut out).unwrap(),
        _ => html::write(&view, &mut out).unwrap(),
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn text_has_aligned_columns_within_100() {
    let text = shown("text", &|_| true);
    assert!(text.starts_with("command   ./app 'a b'\n"));
    assert!(text.contains("incomplete: killed by signal 9 (SIGKILL); 9 events of 2 threads on 2 objects"));
    for row in [
        "  2  t0      pthread_create                t1                       a.c:4 main",
        "  4  t0      call take<>                                            a.c:5 main",
        "  6  t0      pthread_cond_timedwait begin  c0 queue+40, m0          (code without hooks)",
        "  7  t1      pthread_mutex_trylock         m0 lock: EBUSY           (code without hooks)",
        "  9  t0      pthread_cond_timedwait end    c0 queue+40: woken by 8  (code without hooks)",
    ] {
        assert!(text.lines().any(|line| line == row), "{row}\n{text}");
    }
    assert!(text.lines().all(|line| line.len() <= 100 && !line.ends_with(' ')));
}

#[test]
fn json_has_exactly_the_contract_keys() {
    let value: serde_json::Value = serde_json::from_str(&shown("json", &|_| true)).unwrap();
    let keys = |value: &serde_json::Value| {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys.join(" ")
    };
    assert_eq!(keys(&value), "command complete epochs events threads version");
    assert_eq!(keys(&value["threads"][1]), "entry id nth parent");
    let event = "child epoch file function kind line object op phase result seq site thread waker";
    assert!(value["events"].as_array().unwrap().iter().all(|row| keys(row) == event));
    assert_eq!(value["threads"][1]["entry"], "worker");
    assert_eq!(value["threads"][1]["parent"], "t0");
    assert_eq!(value["complete"], false);
    let create = &value["events"][1];
    assert_eq!((create["child"].as_str(), create["file"].as_str()), (Some("t1"), Some("src/a.c")));
    assert_eq!(create["site"], "0000000000000002");
    assert_eq!(value["events"][3]["kind"], "derived");
    assert_eq!(value["events"][5]["phase"], "begin");
    assert!(value["events"][5]["result"].is_null() && value["events"][5]["file"].is_null());
    assert_eq!(value["events"][6]["result"], 16);
}

#[test]
fn events_can_be_left_out_and_keep_their_numbers() {
    let text = shown("text", &|event| event.thread == ThreadId(1));
    assert!(!text.contains("pthread_create ") && text.contains("  8  t1 "));
    let json = shown("json", &|event| event.op != Op::derived);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["events"].as_array().unwrap().len(), 8);
}

#[test]
fn html_escapes_names() {
    let html = shown("html", &|_| true);
    assert!(html.contains("call take&lt;&gt;") && !html.contains("take<"));
}

/// [`SCHEDULE`] with epochs: t0 and t1 stop once each, and then all begin one; t0 stops again.
fn with_epochs(barrier: bool) -> String {
    let start = if barrier { "epoch all 1 id=00000000000000cc\n" } else { "" };
    let first = format!(
        "epoch t0 stack=00000000000000aa short=2 balance=1 instructions=300 @0000000000000008\n\
         epoch t1 stack=00000000000000bb instructions=100 @0000000000000009\n{start}t0 call"
    );
    SCHEDULE
        .replace("covsched-schedule 1", "covsched-schedule 2")
        .replace(
            "events 9",
            "site 0000000000000008 epoch \"src/a.c\":20:3 \"main\" \"\"\n\
             site 0000000000000009 epoch \"src/a.c\":30:3 \"worker\" \"\"\nevents 9",
        )
        .replace("t0 call", &first)
        .replace("\nend\n", "\nepoch t0 stack=00000000000000aa instructions=200\nend\n")
}

#[test]
fn text_separates_the_epochs_of_all_threads() {
    let text = shown_of(&with_epochs(true), "text", &|_| true, None);
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("---")).unwrap();
    assert_eq!(lines[at], "--- epoch 1, id 00000000000000cc: t0 at a.c:20 main; t1 at a.c:30 worker");
    assert!(lines[at - 1].starts_with("  3  t1") && lines[at + 1].starts_with("  4  t0"), "{text}");
    let summary = "\n\nepochs    2 of all threads\n\
                   markers   stopped at 3, passed by 2 for length, 1 for balance\n\
                   instructions a thread's epoch: min 100, median 200, max 300\n";
    assert!(text.ends_with(summary), "{text}");
    assert_eq!(text.matches("---").count(), 1);
}

#[test]
fn text_separates_each_threads_epochs_without_a_barrier() {
    let text = shown_of(&with_epochs(false), "text", &|_| true, None);
    for line in [
        "--- t0 epoch 1: at a.c:20 main; passed by 2 for length, 1 for balance; 300 instructions",
        "--- t1 epoch 1: at a.c:30 worker; 100 instructions",
        "--- t0 epoch 2: at an unknown marker; 200 instructions",
        "epochs    each thread has its own, at most 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let one = shown_of(&with_epochs(false), "text", &|event| event.thread == ThreadId(1), Some(ThreadId(1)));
    assert!(one.contains("--- t1 epoch 1") && !one.contains("--- t0"), "{one}");
}

#[test]
fn long_lines_about_epochs_are_broken_between_their_parts() {
    let parts: Vec<String> =
        (0..9).map(|number| format!("t{number} at a_file.c:1{number} a_function")).collect();
    let lines = epochs::wrapped(&parts, 100);
    assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 100), "{lines:?}");
    assert!(lines[1..].iter().all(|line| line.starts_with("    t")));
}

#[test]
fn json_gives_each_event_its_epoch_and_lists_the_boundaries() {
    let value = |barrier, thread| -> serde_json::Value {
        serde_json::from_str(&shown_of(&with_epochs(barrier), "json", &|_| true, thread)).unwrap()
    };
    let epochs_of = |value: &serde_json::Value| -> Vec<u64> {
        value["events"].as_array().unwrap().iter().map(|event| event["epoch"].as_u64().unwrap()).collect()
    };
    let barrier = value(true, None);
    assert_eq!(epochs_of(&barrier), [0, 0, 0, 1, 1, 1, 1, 1, 1]);
    let list = barrier["epochs"].as_array().unwrap();
    assert_eq!(list.len(), 4);
    assert_eq!((list[0]["kind"].as_str(), list[0]["thread"].as_str()), (Some("marker"), Some("t0")));
    assert_eq!((list[0]["after"].as_u64(), list[0]["line"].as_u64()), (Some(3), Some(20)));
    assert_eq!((list[0]["passed_short"].as_u64(), list[0]["passed_balance"].as_u64()), (Some(2), Some(1)));
    assert_eq!((list[2]["kind"].as_str(), list[2]["epoch"].as_u64()), (Some("start"), Some(1)));
    assert_eq!(list[2]["id"], "00000000000000cc");
    assert_eq!((list[3]["epoch"].as_u64(), list[3]["after"].as_u64()), (Some(1), Some(9)));
    let keys = |row: &serde_json::Value| row.as_object().unwrap().len();
    assert!(list.iter().all(|row| keys(row) == 13));
    let free = value(false, Some(ThreadId(0)));
    assert_eq!(epochs_of(&free), [0, 0, 0, 1, 1, 1, 1, 1, 1]);
    let ends: Vec<u64> =
        free["epochs"].as_array().unwrap().iter().map(|row| row["epoch"].as_u64().unwrap()).collect();
    assert_eq!(ends, [0, 1]);
    let plain: serde_json::Value = serde_json::from_str(&shown("json", &|_| true)).unwrap();
    assert!(plain["events"][0]["epoch"].is_null() && plain["epochs"].as_array().unwrap().is_empty());
}

#[test]
fn html_has_a_row_where_an_epoch_begins() {
    let html = shown_of(&with_epochs(true), "html", &|_| true, None);
    assert!(html.contains("<td colspan=\"2\">epoch 1, id 00000000000000cc; t0 at a.c:20 main"), "{html}");
    assert!(html.contains("<p>epochs    2 of all threads</p>"));
}
