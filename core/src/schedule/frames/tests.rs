//! Trees of calls, from schedules written by hand and from simulated ones.

use super::*;
use crate::schedule::simulate::schedules;
use crate::schedule::{parse, verify};
use proptest::prelude::*;

const HEAD: &str = r#"covsched-schedule 2
program "./app" 0123456789abcdef
command "./app"
complete
thread t0 main entry=0000000000000001
object m0
object o0
site 0000000000000001 entry "a.c":3:1 "main" ""
site 0000000000000002 derived "a.c":4:5 "main" "f"
site 0000000000000003 derived "a.c":5:5 "f" "f"
site 0000000000000004 true "a.c":6:5 "f" "pthread_mutex_lock"
site 0000000000000005 true "a.c":7:5 "f" "pthread_mutex_unlock"
site 0000000000000006 true "a.c":8:5 "main" "pthread_once"
site 0000000000000007 true "a.c":9:5 "routine" "pthread_mutex_lock"
site 0000000000000008 exit "a.c":10:5 "main" ""
site 0000000000000009 true "a.c":11:5 "early" "pthread_mutex_lock"
"#;

fn frames(events: &[&str]) -> Frames {
    let used = |site: &&str| {
        let id = site.split(' ').nth(1).unwrap_or_default();
        !site.starts_with("site") || id.ends_with('1') || events.iter().any(|event| event.ends_with(id))
    };
    let mut text: String = HEAD.lines().filter(used).flat_map(|line| [line, "\n"]).collect();
    if !events.iter().any(|event| event.contains(" o0")) {
        text = text.replace("object o0\n", "");
    }
    text += &format!("events {}\n", events.len());
    events.iter().for_each(|event| text += &format!("{event}\n"));
    text += "end\n";
    let schedule = parse::parse(&text).unwrap();
    verify::verify(&schedule).unwrap();
    Frames::of(&schedule)
}

/// The frames of main as `main(f(lock) return)`; what is outside is left out.
fn shape(frames: &Frames, frame: FrameId) -> String {
    let Frame { function, items, .. } = frames.get(frame);
    let items: Vec<String> = items
        .iter()
        .map(|item| match item.action {
            Action::Called(callee) => shape(frames, callee.unwrap()),
            Action::Synchronized { op, last, .. } => {
                let name = op.name().trim_start_matches("pthread_").trim_start_matches("mutex_");
                format!("{name}{}", if last.is_some() { "2" } else { "" })
            }
        })
        .collect();
    format!("{function}({})", items.join(" "))
}

fn shape_of_main(frames: &Frames) -> String {
    shape(frames, frames.threads[0].root.unwrap())
}

#[test]
fn calls_are_frames_of_their_callers() {
    let found = frames(&[
        "t0 entry @0000000000000001",
        "t0 call @0000000000000002",
        "t0 pthread_mutex_lock m0 =0 @0000000000000004",
        "t0 pthread_mutex_unlock m0 =0 @0000000000000005",
        "t0 call @0000000000000002",
        "t0 pthread_mutex_lock m0 =0 @0000000000000004",
        "t0 return @0000000000000008",
    ]);
    assert_eq!(shape_of_main(&found), "main(f(lock unlock) f(lock) return)");
    assert_eq!(found.get(FrameId(2)).caller, Some((FrameId(0), 1)));
    assert!(found.threads[0].outside.is_empty());
}

#[test]
fn a_depth_tells_calls_of_a_recursion_apart() {
    let events = |depth| {
        frames(&[
            "t0 entry @0000000000000001",
            "t0 call @0000000000000002",
            "t0 call @0000000000000003",
            "t0 pthread_mutex_lock m0 =0 @0000000000000004",
            &format!("t0 pthread_mutex_unlock m0 =0 {depth} @0000000000000005"),
        ])
    };
    assert_eq!(shape_of_main(&events("")), "main(f(f(lock unlock)))");
    assert_eq!(shape_of_main(&events("depth=1")), "main(f(f(lock) unlock))");
}

#[test]
fn what_is_called_back_and_what_comes_before_main_is_outside() {
    let found = frames(&[
        "t0 pthread_mutex_lock m0 =0 @0000000000000009",
        "t0 entry @0000000000000001",
        "t0 pthread_once begin o0 @0000000000000006",
        "t0 pthread_mutex_lock m0 =0 @0000000000000007",
        "t0 pthread_once end o0 =0 @0000000000000006",
        "t0 return @0000000000000008",
        "t0 pthread_mutex_lock m0 =0 @0000000000000009",
    ]);
    assert_eq!(shape_of_main(&found), "main(once2 return)");
    assert_eq!(found.threads[0].outside, [Seq(1), Seq(4), Seq(7)]);
}

proptest! {
    #[test]
    fn every_event_is_in_one_place(schedule in schedules()) {
        let frames = Frames::of(&schedule);
        let mut seen = vec![0; schedule.events.len()];
        let mut see = |seq: Seq| seen[seq.0 as usize - 1] += 1;
        frames.threads.iter().flat_map(|thread| &thread.outside).for_each(|&seq| see(seq));
        for frame in &frames.frames {
            for item in &frame.items {
                if let Action::Synchronized { first, last, .. } = item.action {
                    prop_assert_eq!(schedule.events[first.0 as usize - 1].site, item.site);
                    see(first);
                    last.into_iter().for_each(&mut see);
                }
            }
        }
        for (event, seen) in schedule.events.iter().zip(seen) {
            // Entries begin frames, and derived events are calls.
            let is_item = !matches!(event.op.effect(), Effect::Enter | Effect::Call);
            prop_assert!(seen == usize::from(is_item) || (seen == 1 && !is_item), "{:?}", event);
        }
    }
}
