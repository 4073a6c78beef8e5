//! Both searches against one that enumerates paths with their stacks.

use super::callers::{may_be_jump, Callers};
use super::inside::{forward, Step};
use super::reach::{backward, Question};
use super::*;
use crate::loom::compile::LinkedUnit;
use crate::loom::table::{Precision, UnitTable};
use proptest::prelude::*;
use std::collections::VecDeque;

const TEXTS: [&str; 6] = ["f0", "f1", "f2", "write", "longjmp", "setjmp"];

/// What it is, and where it goes.
type RandomPoint = (u8, u8, u8);

#[derive(Clone, Debug)]
struct Random {
    /// By function: whether its address is taken, and its points.
    functions: Vec<(bool, Vec<RandomPoint>)>,
}

fn random() -> impl Strategy<Value = Random> {
    let points = proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..6);
    proptest::collection::vec((proptest::bool::weighted(0.3), points), 3..=3)
        .prop_map(|functions| Random { functions })
}

fn program(random: &Random) -> Program {
    let functions = random
        .functions
        .iter()
        .enumerate()
        .map(|(index, (taken, raw))| {
            let count = raw.len() as u32 + 1;
            let mut points =
                vec![Point { kind: PointKind::Entry { location: NONE }, chain: 0, next: vec![1] }];
            for &(what, first, second) in raw {
                let (first, second) = (u32::from(first) % count, u32::from(second) % count);
                let is_last = what / 3 % 5 == 0;
                let call = |target| PointKind::Call { target, location: NONE, starts: vec![], is_last };
                let (kind, next) = match what % 12 {
                    0 => (PointKind::Return, vec![]),
                    1 => (PointKind::Unwind, vec![]),
                    2 => (PointKind::Stop, vec![]),
                    3 => (PointKind::Landing { location: NONE }, vec![first]),
                    4 => (PointKind::Join, vec![first, second]),
                    5 => (PointKind::Check { location: NONE }, vec![first]),
                    6 if what < 50 => (call(Target::Shapes(vec![1, 2])), vec![first]),
                    6 => (call(Target::Shape(1)), vec![first]),
                    7 if what > 200 => (call(Target::Named(4)), vec![]),
                    8 if what > 200 => (call(Target::Named(5)), vec![first]),
                    9 => (call(Target::Named(u32::from(what) % 4)), vec![first]),
                    _ => (call(Target::Named(u32::from(what / 12) % 4)), vec![first, second]),
                };
                points.push(Point { kind, chain: 0, next });
            }
            Function {
                name: index as u32,
                id: 0,
                file: 0,
                line: 0,
                internal: false,
                address_taken: *taken,
                shape: 1,
                limit: String::new(),
                points,
                variables: vec![],
                accesses: vec![],
            }
        })
        .collect::<Vec<_>>();
    let function_count = functions.len() as u32;
    let table = UnitTable {
        unit: "u".to_owned(),
        precision: Precision::Late,
        is_for_lto: false,
        strings: TEXTS.iter().map(|&text| text.to_owned()).collect(),
        chains: vec![vec![]],
        functions,
        taken: vec![],
        original: None,
    };
    let unit =
        LinkedUnit { table, hash: 1, address: 0, file: 0, function_count, location_count: 0, slot_count: 0 };
    Program { units: vec![unit] }
}

/// All points that a thread may come to from behind `start` (or from it, if `with`), whatever called its function.
fn paths(graph: &Graph<'_>, start: PointId, with: bool, barriers: &[PointId]) -> HashSet<PointId> {
    type State = (PointId, Vec<PointId>);
    const DEEP: usize = 5;
    let mut seen: HashSet<State> = HashSet::new();
    let mut work: VecDeque<State> = VecDeque::new();
    let mut found = HashSet::new();
    let mut push = |work: &mut VecDeque<State>, state: State| {
        if state.1.len() <= DEEP && seen.insert(state.clone()) {
            work.push_back(state);
        }
    };
    if with {
        push(&mut work, (start, vec![]));
    } else {
        graph.next(start).for_each(|next| push(&mut work, (next, vec![])));
    }
    // Leaves the function by return (0) or exception (1) to the calls that it may have come from.
    fn leave(graph: &Graph<'_>, function: FunctionId, way: usize, stack: &[PointId]) -> Vec<State> {
        let mut out = Vec::new();
        let mut seen = HashSet::new();
        let mut work = vec![(function, stack.to_vec())];
        while let Some((function, mut stack)) = work.pop() {
            if !seen.insert((function, stack.clone())) {
                continue;
            }
            let calls = match stack.pop() {
                Some(call) => vec![call],
                None => graph.groups_of[function as usize]
                    .iter()
                    .flat_map(|&group| graph.groups[group as usize].callers.clone())
                    .collect(),
            };
            for call in calls {
                match graph.next(call).nth(way) {
                    Some(next) => out.push((next, stack.clone())),
                    None if way == 1 => work.push((graph.function_of(call), stack.clone())),
                    None => {}
                }
            }
        }
        out
    }
    while let Some((id, stack)) = work.pop_front() {
        found.insert(id);
        if barriers.contains(&id) {
            continue;
        }
        let function = graph.function_of(id);
        match &graph.point(id).kind {
            PointKind::Return => {
                leave(graph, function, 0, &stack).into_iter().for_each(|s| push(&mut work, s))
            }
            PointKind::Unwind => {
                leave(graph, function, 1, &stack).into_iter().for_each(|s| push(&mut work, s))
            }
            PointKind::Call { .. } => {
                let group = &graph.groups[graph.group_of[id as usize] as usize];
                for &callee in &group.functions {
                    let mut stack = stack.clone();
                    stack.push(id);
                    push(&mut work, (graph.place(callee).first, stack));
                }
                if group.open {
                    match (graph.next(id).next(), graph.next(id).nth(1)) {
                        (first, Some(second)) => {
                            push(&mut work, (second, stack.clone()));
                            first.into_iter().for_each(|next| push(&mut work, (next, stack.clone())));
                        }
                        (first, None) => {
                            leave(graph, function, 1, &stack).into_iter().for_each(|s| push(&mut work, s));
                            first.into_iter().for_each(|next| push(&mut work, (next, stack.clone())));
                        }
                    }
                }
                if graph.jumps.contains(&id) {
                    graph.landings.iter().for_each(|&landing| push(&mut work, (landing, vec![])));
                }
            }
            _ => graph.next(id).for_each(|next| push(&mut work, (next, stack.clone()))),
        }
    }
    found
}

/// Slots are neither entries, calls nor ends of functions; regions begin and end at slots.
fn plain_points(graph: &Graph<'_>) -> Vec<PointId> {
    let plain = |id: &PointId| {
        !matches!(graph.point(*id).kind, PointKind::Call { .. } | PointKind::Return | PointKind::Unwind)
    };
    (0..graph.point_count() as PointId).filter(plain).collect()
}

/// What a function that was called since has done to the region.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Did {
    Nothing,
    Entered,
    Left,
}

/// Whether a thread at `start` may come to leave the region by `exit` without having entered it by `entry`, unless in calls
/// that are over.
fn comes_out(graph: &Graph<'_>, start: PointId, exit: PointId, entry: PointId) -> bool {
    comes_out_with(graph, start, vec![], exit, entry)
}

/// The same for a thread with these active calls, and no others.
fn comes_out_of(graph: &Graph<'_>, start: PointId, calls: &[PointId], exit: PointId, entry: PointId) -> bool {
    let bottom = [NONE].into_iter().chain(calls.iter().copied());
    comes_out_with(graph, start, bottom.map(|call| (call, Did::Nothing)).collect(), exit, entry)
}

/// [`NONE`] is where a thread begins: there is nothing to return to.
fn comes_out_with(
    graph: &Graph<'_>,
    start: PointId,
    calls: Vec<(PointId, Did)>,
    exit: PointId,
    entry: PointId,
) -> bool {
    type State = (PointId, Did, Vec<(PointId, Did)>);
    let deepest = 5 + calls.len();
    let mut seen: HashSet<State> = HashSet::new();
    let mut work: Vec<State> = vec![(start, Did::Nothing, calls)];
    while let Some(state) = work.pop() {
        if state.2.len() > deepest || !seen.insert(state.clone()) {
            continue;
        }
        let (id, mut did, stack) = state;
        let fresh = |did: Did| did == Did::Nothing && stack.iter().all(|(_, did)| *did == Did::Nothing);
        if id == exit {
            match did {
                _ if fresh(did) => return true,
                Did::Nothing => continue,
                Did::Entered | Did::Left => did = Did::Left,
            }
        }
        if id == entry {
            if did == Did::Entered {
                continue;
            }
            did = Did::Entered;
        }
        // Out of functions, as long as exceptions are not caught.
        let mut leave = |way: usize| {
            let mut left = vec![(graph.function_of(id), did, stack.clone())];
            let mut seen = HashSet::new();
            while let Some((function, did, mut stack)) = left.pop() {
                if did == Did::Entered || !seen.insert((function, did, stack.clone())) {
                    continue;
                }
                let calls = match stack.pop() {
                    Some((NONE, _)) => continue,
                    Some(call) => vec![call],
                    None => {
                        let groups = graph.groups_of[function as usize].iter();
                        let calls = groups.flat_map(|&group| graph.groups[group as usize].callers.clone());
                        calls.map(|call| (call, Did::Nothing)).collect()
                    }
                };
                for (call, did) in calls {
                    match graph.next(call).nth(way) {
                        Some(next) => work.push((next, did, stack.clone())),
                        None if way == 1 => left.push((graph.function_of(call), did, stack.clone())),
                        None => {}
                    }
                }
            }
        };
        match &graph.point(id).kind {
            PointKind::Return => leave(0),
            PointKind::Unwind => leave(1),
            PointKind::Call { .. } => {
                let group = &graph.groups[graph.group_of[id as usize] as usize];
                let nexts: Vec<PointId> = graph.next(id).collect();
                if group.open && nexts.len() < 2 {
                    leave(1);
                }
                for &callee in &group.functions {
                    let mut stack = stack.clone();
                    stack.push((id, did));
                    work.push((graph.place(callee).first, Did::Nothing, stack));
                }
                if group.open {
                    work.extend(nexts.into_iter().map(|next| (next, did, stack.clone())));
                }
                if graph.jumps.contains(&id) && fresh(did) {
                    work.extend(graph.landings.iter().map(|&landing| (landing, Did::Nothing, vec![])));
                }
            }
            _ => work.extend(graph.next(id).map(|next| (next, did, stack.clone()))),
        }
    }
    false
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn backward_reachability_is_what_paths_say(random in random(), target in any::<u16>(), barrier in any::<u16>()) {
        let program = program(&random);
        let graph = Graph::new(&program).unwrap();
        let count = graph.point_count() as u32;
        let plain = plain_points(&graph);
        let target = plain[usize::from(target) % plain.len()];
        let barrier = plain[usize::from(barrier) % plain.len()];
        let reached =
            backward(&graph, Question { targets: &[target], barriers: &[barrier], ..Question::default() });
        for id in 0..count {
            let expected = comes_out(&graph, id, target, barrier);
            prop_assert_eq!(reached.contains(id), expected, "point {} to {} of {:?}", id, target, program);
        }
    }

    #[test]
    fn forward_reachability_is_what_paths_say(random in random(), entry in any::<u16>(), exit in any::<u16>()) {
        let program = program(&random);
        let graph = Graph::new(&program).unwrap();
        let count = graph.point_count() as u32;
        let plain = plain_points(&graph);
        let entry = plain[usize::from(entry) % plain.len()];
        let exit = plain[usize::from(exit) % plain.len()];
        let states = forward(&graph, &[entry], &|id| if id == exit { Step::Stop } else { Step::Pass });
        let expected = paths(&graph, entry, false, &[exit]);
        for id in 0..count {
            prop_assert_eq!(states[id as usize] != 0, expected.contains(&id), "point {} of {:?}", id, program);
        }
    }

    #[test]
    fn a_damaged_table_is_refused_or_used_without_a_panic(
        random in random(), at in any::<u16>(), what in 0..6u8, value in any::<u32>()
    ) {
        let mut program = program(&random);
        let unit = &mut program.units[0];
        let index = usize::from(at) % unit.table.functions.len();
        let function = &mut unit.table.functions[index];
        let point = usize::from(at) % function.points.len();
        match what {
            0 => function.points[point].next.push(value),
            1 => function.points[point].chain = value,
            2 => function.points[point].kind = PointKind::Check { location: value },
            3 => function.points[point].kind = PointKind::Slot { slot: value, from: value, available: vec![value] },
            4 => function.name = value,
            _ => unit.function_count = value,
        }
        if let Ok(graph) = Graph::new(&program) {
            let targets = [0];
            let reached = backward(&graph, Question { targets: &targets, creators: true, ..Question::default() });
            prop_assert!(reached.contains(0));
            let _ = (graph.live_functions(), forward(&graph, &targets, &|_| Step::Pass));
        }
    }
}

#[test]
fn long_programs_take_little_time() {
    // 2,000 functions of 100 points, each calls the next two.
    let functions: Vec<Function> = (0..2000u32)
        .map(|index| {
            let mut points =
                vec![Point { kind: PointKind::Entry { location: NONE }, chain: 0, next: vec![1] }];
            for at in 1..99 {
                let target = Target::Named((index + 1 + at % 2) % 2000);
                let kind = if at % 10 == 0 {
                    PointKind::Call { target, location: NONE, starts: vec![], is_last: false }
                } else {
                    PointKind::Join
                };
                points.push(Point { kind, chain: 0, next: vec![at + 1, (at + 2).min(99)] });
            }
            points.push(Point { kind: PointKind::Return, chain: 0, next: vec![] });
            Function {
                name: index,
                points,
                ..program(&Random { functions: vec![(false, vec![])] }).units[0].table.functions[0].clone()
            }
        })
        .collect();
    let mut program = program(&Random { functions: vec![(false, vec![])] });
    program.units[0].table.strings = (0..2000).map(|index| format!("f{index}")).collect();
    program.units[0].function_count = 2000;
    program.units[0].table.functions = functions;
    let start = std::time::Instant::now();
    let graph = Graph::new(&program).unwrap();
    let reached = backward(&graph, Question { targets: &[150], ..Question::default() });
    let states = forward(&graph, &[150], &|_| Step::Pass);
    let time = start.elapsed();
    assert!(reached.points().count() > 100_000 && states.iter().filter(|&&s| s != 0).count() > 100_000);
    // Some 20 ms in a release build; the machine may be busy.
    let limit = if cfg!(debug_assertions) { 60_000 } else { 2000 };
    assert!(time.as_millis() < limit, "{time:?}");
    println!("{} points: {time:?}", graph.point_count());
}

/// Threads with all their frames: every point that a thread may come to from the entry of a function, with the calls that are active there.
fn threads(graph: &Graph<'_>, root: FunctionId, most: usize) -> Vec<(PointId, Vec<PointId>)> {
    type State = (PointId, Vec<PointId>);
    let mut seen: HashSet<State> = HashSet::new();
    let mut order = Vec::new();
    let mut work: VecDeque<State> = VecDeque::from([(graph.place(root).first, vec![])]);
    while let Some(state) = work.pop_front() {
        if state.1.len() > 3 || order.len() >= most || !seen.insert(state.clone()) {
            continue;
        }
        order.push(state.clone());
        let (id, stack) = state;
        let mut leave = |way: usize| {
            let mut stack = stack.clone();
            while let Some(call) = stack.pop() {
                if let Some(next) = graph.next(call).nth(way) {
                    work.push_back((next, stack));
                    return;
                } else if way == 0 {
                    return;
                }
            }
        };
        match &graph.point(id).kind {
            PointKind::Return => leave(0),
            PointKind::Unwind => leave(1),
            PointKind::Call { .. } => {
                let group = &graph.groups[graph.group_of[id as usize] as usize];
                if group.open {
                    if graph.next(id).count() < 2 {
                        leave(1);
                    }
                    work.extend(graph.next(id).map(|next| (next, stack.clone())));
                }
                for &callee in &group.functions {
                    let mut stack = stack.clone();
                    stack.push(id);
                    work.push_back((graph.place(callee).first, stack));
                }
            }
            _ => work.extend(graph.next(id).map(|next| (next, stack.clone()))),
        }
    }
    order
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn whom_callers_make_unsafe_is_found_by_its_frames(
        random in random(), exit in any::<u16>(), entry in any::<u16>(), later in any::<bool>()
    ) {
        let mut program = program(&random);
        program.units[0].table.is_for_lto = later;
        let graph = Graph::new(&program).unwrap();
        let plain = plain_points(&graph);
        let exit = plain[usize::from(exit) % plain.len()];
        let entry = plain[usize::from(entry) % plain.len()];
        let question = Question { targets: &[exit], barriers: &[entry], ..Question::default() };
        let reached = backward(&graph, question);
        let callers = Callers::of(&graph, &reached);
        let functions: HashSet<FunctionId> = callers.functions().collect();
        for root in 0..graph.function_count() as FunctionId {
            for (id, stack) in threads(&graph, root, 60) {
                if !comes_out_of(&graph, id, &stack, exit, entry) {
                    continue;
                }
                prop_assert!(reached.contains(id));
                // Calls that may be jumps leave no frame.
                let frames = stack.iter().filter(|&&call| !may_be_jump(&graph, call));
                let is_found = callers.is_unsafe_itself(&graph, &reached, id)
                    || frames.clone().any(|&call| functions.contains(&graph.function_of(call)));
                prop_assert!(is_found, "point {} with {:?} to {} of {:?}", id, stack, exit, program);
                // The frames of functions that were inlined are their callers'.
                let frames: Vec<FunctionId> = frames.map(|&call| graph.function_of(call)).collect();
                for outermost in (0..frames.len()).filter(|_| later) {
                    let inner = frames[outermost..].iter().any(|function| functions.contains(function));
                    prop_assert!(!inner || functions.contains(&frames[outermost]), "{:?} of {:?}", stack, program);
                }
            }
        }
    }
}

/// A function of these points; `f0` to `f2` are their names.
fn function(name: u32, kinds: Vec<(PointKind, Vec<u32>)>) -> Function {
    let points = kinds.into_iter().map(|(kind, next)| Point { kind, chain: 0, next }).collect();
    Function {
        name,
        points,
        ..program(&Random { functions: vec![(false, vec![])] }).units[0].table.functions[0].clone()
    }
}

/// f0 is a region, from its point 1 to the one before the last, and calls f2, as f1 does, which is none; f2 blocks at its point 1.
fn region_and_background(is_last: bool) -> Program {
    let call = |name, is_last| PointKind::Call {
        target: Target::Named(name),
        location: NONE,
        starts: vec![],
        is_last,
    };
    let entry = PointKind::Entry { location: NONE };
    let region = vec![
        (entry.clone(), vec![1]),
        (PointKind::Join, vec![2]),
        (call(2, is_last), vec![3]),
        (PointKind::Join, vec![4]),
        (PointKind::Return, vec![]),
    ];
    let background = vec![(entry.clone(), vec![1]), (call(2, false), vec![2]), (PointKind::Return, vec![])];
    let helper = vec![(entry, vec![1]), (call(3, false), vec![2]), (PointKind::Return, vec![])];
    let mut program = program(&Random { functions: vec![(false, vec![]); 3] });
    program.units[0].table.functions =
        vec![function(0, region), function(1, background), function(2, helper)];
    program
}

#[test]
fn a_thread_in_a_shared_helper_is_inside_if_the_region_called_it() {
    for is_jumped_to in [false, true] {
        for is_for_lto in [false, true] {
            let mut program = region_and_background(is_jumped_to);
            program.units[0].table.is_for_lto = is_for_lto;
            let graph = Graph::new(&program).unwrap();
            let exit = graph.place(0).count - 2;
            let reached =
                backward(&graph, Question { targets: &[exit], barriers: &[1], ..Question::default() });
            let callers = Callers::of(&graph, &reached);
            let blocks = graph.place(2).first + 1;
            assert!(reached.contains(blocks) && !reached.directly(blocks));
            assert_eq!(callers.is_unsafe_itself(&graph, &reached, blocks), is_jumped_to);
            let expected: &[FunctionId] = match (is_jumped_to, is_for_lto) {
                (false, _) => &[0],
                (true, false) => &[0, 2],
                (true, true) => &[0, 1, 2],
            };
            assert_eq!(callers.functions().collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn a_program_that_switches_stacks_tells_nothing_by_callers() {
    let mut program = region_and_background(false);
    program.units[0].table.strings[3] = "swapcontext".to_owned();
    let graph = Graph::new(&program).unwrap();
    let exit = graph.place(0).count - 2;
    let reached = backward(&graph, Question { targets: &[exit], barriers: &[1], ..Question::default() });
    let callers = Callers::of(&graph, &reached);
    assert!(reached.points().all(|id| callers.is_unsafe_itself(&graph, &reached, id)));
}
