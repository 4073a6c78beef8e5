//! An event in words, for messages: `pthread_mutex_lock m0 (queue_lock) at queue.c:31 (push)`.

use super::stack::{is_system_file, CallStacks};
use super::{Event, ObjectId, Phase, Schedule};
use crate::site::Site;
use std::fmt::Write;

/// What an event does, on what, and where. Functions have their linkage names. The place is in the user's own files
/// if the call came from a header of the system (`std::mutex`) and the event is one of the schedule's own.
pub fn describe(schedule: &Schedule, event: &Event) -> String {
    let mut words = what(schedule, event);
    if let Some(site) = place(schedule, event) {
        words.push_str(" at ");
        words.push_str(&describe_site(site));
    }
    words
}

/// `queue.c:31 (push)`, as far as it is known.
pub fn describe_site(site: &Site) -> String {
    let file = site.file.rsplit('/').next().unwrap_or_default();
    match (file, site.line, site.function.as_str()) {
        ("", _, "") => "an unknown place".to_owned(),
        ("", _, function) => function.to_owned(),
        (file, 0, "") => file.to_owned(),
        (file, 0, function) => format!("{file} ({function})"),
        (file, line, "") => format!("{file}:{line}"),
        (file, line, function) => format!("{file}:{line} ({function})"),
    }
}

/// The object's name, with its variable: `m0 (queue_lock)`.
pub fn describe_object(schedule: &Schedule, id: ObjectId) -> String {
    match schedule.objects.get(id.0 as usize) {
        Some(object) => match &object.symbol {
            Some(symbol) => format!("{object} ({symbol})"),
            None => object.to_string(),
        },
        None => format!("object {}", id.0),
    }
}

fn what(schedule: &Schedule, event: &Event) -> String {
    let mut words = event.op.name().to_owned();
    match event.phase {
        Phase::Both => {}
        Phase::Begin => words.push_str(" begin"),
        Phase::End => words.push_str(" end"),
    }
    for object in [event.object, event.mutex].into_iter().flatten() {
        words.push(' ');
        words.push_str(&describe_object(schedule, object));
    }
    if let Some(child) = event.child {
        // Writing to a string cannot fail.
        let _ = write!(words, " {child}");
    }
    words
}

fn place<'a>(schedule: &'a Schedule, event: &Event) -> Option<&'a Site> {
    let site = schedule.sites.get(&event.site)?;
    if !is_system_file(&site.file) {
        return Some(site);
    }
    let Some(index) = schedule.events.iter().position(|each| std::ptr::eq(each, event)) else {
        return Some(site);
    };
    let mut stacks = CallStacks::new(schedule);
    for earlier in schedule.events[..index].iter().filter(|earlier| earlier.thread == event.thread) {
        stacks.advance(earlier);
    }
    stacks.advance(event).in_user_code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::parse;

    fn schedule() -> Schedule {
        let text = r#"covsched-schedule 1
program "./app" 0123456789abcdef
command "./app"
complete
thread t0 main entry=0000000000000001
thread t1 t0/0
object m0 symbol="queue_lock"
object c0
object m1
site 0000000000000001 entry "src/queue.c":3:1 "main" ""
site 0000000000000002 derived "src/queue.c":31:1 "main" "lock"
site 0000000000000003 true "/usr/include/c++/12/mutex":7:1 "lock" "pthread_mutex_lock"
site 0000000000000004 true "src/queue.c":40:1 "main" "pthread_create"
site 0000000000000005 true "":0:0 "f" "pthread_cond_wait"
events 6
t0 entry @0000000000000001
t0 pthread_create t1 =0 @0000000000000004
t0 call @0000000000000002
t0 pthread_mutex_lock m0 =0 @0000000000000003
t0 pthread_cond_wait begin c0 m1 @0000000000000005
t1 entry
end
"#;
        parse::parse(text).unwrap()
    }

    #[test]
    fn an_event_is_described_by_what_it_does_and_where() {
        let schedule = schedule();
        let words = |index: usize| describe(&schedule, &schedule.events[index]);
        assert_eq!(words(0), "entry at queue.c:3 (main)");
        assert_eq!(words(1), "pthread_create t1 at queue.c:40 (main)");
        assert_eq!(words(4), "pthread_cond_wait begin c0 m1 at f");
        assert_eq!(words(5), "entry");
    }

    #[test]
    fn a_place_in_a_system_header_is_given_as_the_users_call() {
        let schedule = schedule();
        let event = &schedule.events[3];
        assert_eq!(describe(&schedule, event), "pthread_mutex_lock m0 (queue_lock) at queue.c:31 (main)");
        let copy = event.clone();
        assert_eq!(describe(&schedule, &copy), "pthread_mutex_lock m0 (queue_lock) at mutex:7 (lock)");
    }
}
