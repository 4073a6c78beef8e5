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
    let schedule = parse::parse(SCHEDULE).unwrap();
    let view = View::new(&schedule, keep);
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
    assert_eq!(keys(&value), "command complete events threads version");
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
