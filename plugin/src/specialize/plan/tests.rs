//! Plans of small programs and schedules written by hand.

use super::super::graph::{Graph, Leave, Piece};
use super::super::items::keep;
use super::super::layers::Target;
use super::super::program::FunctionGraph;
use super::*;
use covsched_core::schedule::frames::Frames;
use covsched_core::schedule::{parse, verify};

const HEAD: &str = r#"covsched-schedule 2
program "./app" 0123456789abcdef
command "./app"
complete
thread t0 main entry=0000000000000001
thread t1 t0/0 entry=0000000000000011
object m0
site 0000000000000001 entry "a.c":3:1 "main" ""
site 0000000000000002 derived "a.c":4:5 "main" "f"
site 0000000000000003 true "a.c":6:5 "f" "pthread_mutex_lock"
site 0000000000000004 true "a.c":7:5 "f" "pthread_mutex_unlock"
site 0000000000000005 true "a.c":8:5 "main" "pthread_create"
site 0000000000000006 exit "a.c":9:5 "main" ""
site 0000000000000007 derived "a.c":10:5 "main" "qsort"
site 0000000000000011 entry "a.c":20:1 "worker" ""
site 0000000000000012 derived "a.c":21:5 "worker" "f"
site 0000000000000013 exit "a.c":22:5 "worker" ""
"#;

const MAIN: FunctionId = FunctionId(0);
const F: FunctionId = FunctionId(1);
const WORKER: FunctionId = FunctionId(2);

fn schedule(events: &[&str]) -> Schedule {
    let has_thread = events.iter().any(|event| event.starts_with("t1"));
    let is_used = |line: &&str| {
        let id = line.split(' ').nth(1).unwrap_or_default();
        let is_named = id.ends_with("0001")
            || (has_thread && id.ends_with("0011"))
            || events.iter().any(|e| e.ends_with(id));
        match line.split(' ').next() {
            Some("site") => is_named,
            Some("thread") => has_thread || id == "t0",
            Some("object") => events.iter().any(|event| event.contains(" m0 ")),
            _ => true,
        }
    };
    let mut text: String = HEAD.lines().filter(is_used).flat_map(|line| [line, "\n"]).collect();
    text += &format!("events {}\n{}\nend\n", events.len(), events.join("\n"));
    let schedule = parse::parse(&text).unwrap();
    verify::verify(&schedule).unwrap();
    schedule
}

fn piece(act: Act, next: &[u32]) -> Piece {
    Piece { act, ..Piece::plain(next) }
}

fn call(site: u64, callee: Callee, next: &[u32]) -> Piece {
    let free = if matches!(callee, Callee::Function(_)) { Ways::NONE } else { Ways::ANY };
    piece(Act::Calls { site: SiteId(site), callee, free }, next)
}

fn ret() -> Piece {
    Piece { leaves: Some(Leave::Returns), ..Piece::plain(&[]) }
}

/// `main` calls f, sorts and creates in a loop; `f` locks and unlocks if it likes; `worker` calls f.
fn program() -> Program {
    let main = vec![
        Piece::plain(&[1, 2, 3, 4]),
        call(2, Callee::Function(F), &[0]),
        call(7, Callee::Elsewhere, &[0]),
        piece(Act::Synchronizes(SiteId(5)), &[0]),
        piece(Act::Exits(SiteId(6)), &[5]),
        ret(),
    ];
    let f = vec![
        Piece::plain(&[1, 3]),
        piece(Act::Synchronizes(SiteId(3)), &[2]),
        piece(Act::Synchronizes(SiteId(4)), &[3]),
        ret(),
    ];
    let worker = vec![call(0x12, Callee::Function(F), &[1]), piece(Act::Exits(SiteId(0x13)), &[2]), ret()];
    let named = |(name, pieces): (&str, Vec<Piece>)| FunctionGraph::new(name.to_owned(), Graph::new(pieces));
    Program::new([("main", main), ("f", f), ("worker", worker)].map(named).into_iter().collect())
}

fn function_of(site: SiteId) -> Option<FunctionId> {
    match site.0 {
        1 | 2 | 5 | 6 | 7 => Some(MAIN),
        3 | 4 => Some(F),
        _ => Some(WORKER),
    }
}

fn planned(events: &[&str], ignored: &[u64]) -> (KeptFrames, Result<Plan, DoesNotFit>) {
    let (schedule, program) = (schedule(events), program());
    let frames = Frames::of(&schedule);
    let kept = keep(&schedule, &frames, &program, &function_of, &|site| ignored.contains(&site.0));
    let plan = plan(&schedule, &program, &kept);
    (kept, plan)
}

/// Functions of the kept frames with the number of their items, and which of them take a flag.
fn shape(kept: &KeptFrames, plan: &Plan) -> Vec<(FunctionId, usize, bool)> {
    let frames = kept.frames.iter().zip(&plan.frames);
    frames.map(|(frame, clone)| (frame.function, frame.items.len(), clone.takes_flag)).collect()
}

const LOCKS: [&str; 3] = [
    "t0 call @0000000000000002",
    "t0 pthread_mutex_lock m0 =0 @0000000000000003",
    "t0 pthread_mutex_unlock m0 =0 @0000000000000004",
];

#[test]
fn a_call_in_a_loop_that_need_not_synchronize_gets_a_flag() {
    let mut events = vec!["t0 entry @0000000000000001"];
    events.extend(LOCKS);
    events.push("t0 return @0000000000000006");
    let (kept, plan) = planned(&events, &[]);
    let plan = plan.unwrap();
    assert_eq!(shape(&kept, &plan), [(MAIN, 2, false), (F, 2, true)]);
    // After it main calls f without synchronization, as often as it likes.
    assert_eq!(plan.free.keys().copied().collect::<Vec<_>>(), [F]);
    assert!(plan.free[&F].nodes.iter().all(|node| node.role == Role::Plain));
}

#[test]
fn a_created_thread_is_planned_and_a_call_that_is_made_once_needs_no_flag() {
    let (kept, plan) = planned(
        &[
            "t0 entry @0000000000000001",
            "t0 pthread_create t1 =0 @0000000000000005",
            "t1 entry @0000000000000011",
            "t1 call @0000000000000012",
            "t1 pthread_mutex_lock m0 =0 @0000000000000003",
            "t1 pthread_mutex_unlock m0 =0 @0000000000000004",
            "t1 return @0000000000000013",
            "t0 return @0000000000000006",
        ],
        &[],
    );
    assert_eq!(shape(&kept, &plan.unwrap()), [(MAIN, 2, false), (WORKER, 2, false), (F, 2, false)]);
    assert_eq!(kept.frames[0].items[0].does, Does::Creates(ThreadId(1)));
    assert_eq!((kept.frames[1].number, kept.frames[2].number), (0, 1));
    assert_eq!(kept.expected(2, 2), Some((1, 1)), "after f, the worker returns");
}

#[test]
fn what_a_library_calls_back_is_left_out() {
    let (kept, plan) = planned(
        &[
            "t0 entry @0000000000000001",
            "t0 call @0000000000000007",
            "t0 pthread_mutex_lock m0 =0 @0000000000000003",
            "t0 pthread_mutex_unlock m0 =0 @0000000000000004",
            "t0 return @0000000000000006",
        ],
        &[],
    );
    assert_eq!(shape(&kept, &plan.unwrap()), [(MAIN, 1, false)]);
    assert!(kept.misnamed.is_empty());
    assert_eq!(kept.events, 1);
}

#[test]
fn ignored_sites_are_no_items_nor_are_calls_with_nothing_else() {
    let mut events = vec!["t0 entry @0000000000000001"];
    events.extend(LOCKS);
    events.push("t0 return @0000000000000006");
    let (kept, plan) = planned(&events, &[3, 4]);
    assert_eq!(shape(&kept, &plan.unwrap()), [(MAIN, 1, false)]);
    let (kept, plan) = planned(&events, &[2]);
    assert_eq!(shape(&kept, &plan.unwrap()), [(MAIN, 1, false)]);
}

#[test]
fn a_thread_that_the_process_left_behind_is_open() {
    let (kept, plan) = planned(
        &[
            "t0 entry @0000000000000001",
            "t0 pthread_create t1 =0 @0000000000000005",
            "t1 entry @0000000000000011",
            "t1 call @0000000000000012",
            "t1 pthread_mutex_lock m0 =0 @0000000000000003",
            "t0 return @0000000000000006",
        ],
        &[],
    );
    assert_eq!(kept.frames.iter().map(|frame| frame.is_open).collect::<Vec<_>>(), [false, true, true]);
    let plan = plan.unwrap();
    let beyond = &plan.frames[2].product.nodes;
    assert!(beyond.iter().any(|node| node.role == Role::AsIs && node.next != [Target::Trap(1)]));
}

#[test]
fn the_first_event_that_does_not_fit_is_named() {
    let (_, plan) = planned(
        &[
            "t0 entry @0000000000000001",
            "t0 call @0000000000000002",
            "t0 pthread_mutex_lock m0 =0 @0000000000000003",
            "t0 pthread_mutex_unlock m0 =0 @0000000000000004",
            "t0 pthread_mutex_lock m0 =0 depth=1 @0000000000000003",
            "t0 return @0000000000000006",
        ],
        &[],
    );
    let misfit = plan.unwrap_err();
    assert_eq!((misfit.seq, misfit.function), (Some(Seq(5)), F));
}
