//! Programs made by hand, one for each case.

use super::{check, Way};
use crate::epoch::program::{Action, Block, BlockId, Flow, FunctionId, Leave, Program, Step};
use covsched_core::hooks::Op;
use covsched_core::SiteId;

const LOCK: Op = Op::pthread_mutex_lock;
const UNLOCK: Op = Op::pthread_mutex_unlock;

fn step(action: Action) -> Step<'static> {
    Step { inst: None, action, is_invoke: false }
}

fn sync(op: Op) -> Step<'static> {
    step(Action::Synchronizes(op))
}

fn marker() -> Step<'static> {
    step(Action::Marker(SiteId(1)))
}

fn call_any(functions: &[u32], unknown: bool, certain: bool) -> Step<'static> {
    let functions = functions.iter().map(|&f| FunctionId(f)).collect();
    step(Action::Calls { functions, unknown, certain })
}

fn call(function: u32) -> Step<'static> {
    call_any(&[function], false, true)
}

fn unknown() -> Step<'static> {
    call_any(&[], true, true)
}

fn invoke(step: Step<'static>) -> Step<'static> {
    Step { is_invoke: true, ..step }
}

fn to(next: &[u32], steps: Vec<Step<'static>>) -> Block<'static> {
    Block { steps, next: next.iter().map(|&b| BlockId(b)).collect(), leaves: None }
}

fn ret(steps: Vec<Step<'static>>) -> Block<'static> {
    Block { steps, next: vec![], leaves: Some(Leave::Returns) }
}

fn resume(steps: Vec<Step<'static>>) -> Block<'static> {
    Block { steps, next: vec![], leaves: Some(Leave::Unwinds) }
}

fn program(functions: Vec<Vec<Block<'static>>>) -> Program<'static> {
    let flow = |(f, blocks)| Flow {
        function: None,
        name: format!("f{f}"),
        blocks,
        loops: vec![],
        irreducible: vec![],
    };
    Program { functions: functions.into_iter().enumerate().map(flow).collect() }
}

/// The kind of a cycle, its function, and its steps (block, step) in the order of the program.
type Found = (Way, String, Vec<(u32, usize)>);

#[track_caller]
fn found(functions: Vec<Vec<Block<'static>>>) -> Vec<Found> {
    check(&program(functions))
        .into_iter()
        .map(|unbounded| {
            let steps = unbounded.steps.iter().map(|place| (place.block.0, place.step)).collect();
            (unbounded.way, unbounded.function, steps)
        })
        .collect()
}

#[track_caller]
fn bounded(functions: Vec<Vec<Block<'static>>>) {
    assert_eq!(found(functions), []);
}

#[track_caller]
fn unbounded(way: Way, function: u32, steps: &[(u32, usize)], functions: Vec<Vec<Block<'static>>>) {
    assert_eq!(found(functions), [(way, format!("f{function}"), steps.to_vec())]);
}

/// Entry, a loop of one block with these steps, return.
fn looping(steps: Vec<Step<'static>>) -> Vec<Block<'static>> {
    vec![to(&[1], vec![]), to(&[1, 2], steps), ret(vec![])]
}

#[test]
fn nothing_is_bounded() {
    bounded(vec![]);
    bounded(vec![vec![]]);
    bounded(vec![looping(vec![])]);
}

#[test]
fn a_loop_that_synchronizes_needs_a_marker() {
    unbounded(Way::Cycle, 0, &[(1, 0), (1, 1)], vec![looping(vec![sync(LOCK), sync(UNLOCK)])]);
    for position in 0..3 {
        let mut steps = vec![sync(LOCK), sync(UNLOCK)];
        steps.insert(position, marker());
        bounded(vec![looping(steps)]);
    }
    bounded(vec![looping(vec![sync(LOCK), sync(Op::pthread_barrier_wait), sync(UNLOCK)])]);
    unbounded(Way::Cycle, 0, &[(1, 0)], vec![looping(vec![unknown()])]);
}

#[test]
fn the_reason_names_what_synchronizes() {
    let reason = |functions| check(&program(functions)).remove(0).why;
    assert_eq!(
        reason(vec![looping(vec![call(1), sync(LOCK), unknown()]), vec![ret(vec![sync(UNLOCK)])]]),
        "a cycle without an epoch marker synchronizes: call of f1, pthread_mutex_lock, call of code that is not known"
    );
    assert_eq!(
        reason(vec![vec![to(&[1, 2], vec![sync(LOCK)]), ret(vec![call(1)]), ret(vec![])], vec![ret(vec![call(0)])]]),
        "recursion without an epoch marker on the way down synchronizes there: pthread_mutex_lock (among f0, f1)"
    );
}

#[test]
fn an_endless_loop_is_a_loop() {
    unbounded(Way::Cycle, 0, &[(0, 0)], vec![vec![to(&[0], vec![sync(LOCK)])]]);
    bounded(vec![vec![to(&[0], vec![sync(LOCK), marker()])]]);
}

#[test]
fn both_arms_need_a_marker() {
    let arms = |left, right| {
        vec![vec![
            to(&[1], vec![]),
            to(&[2, 3], vec![sync(LOCK)]),
            to(&[4], left),
            to(&[4], right),
            to(&[1, 5], vec![]),
            ret(vec![]),
        ]]
    };
    bounded(arms(vec![marker()], vec![marker()]));
    unbounded(Way::Cycle, 0, &[(1, 0)], arms(vec![marker()], vec![]));
    // What stands on the arm with the marker is not repeated without one.
    unbounded(Way::Cycle, 0, &[(1, 0)], arms(vec![marker(), sync(UNLOCK)], vec![]));
}

#[test]
fn a_path_on_which_nothing_synchronizes_may_repeat() {
    bounded(vec![vec![
        to(&[1], vec![]),
        to(&[2, 3], vec![]),
        to(&[1], vec![sync(LOCK), marker()]),
        to(&[1, 4], vec![]),
        ret(vec![]),
    ]]);
}

#[test]
fn a_marker_inside_a_callee_counts_if_it_must_run() {
    let f = || looping(vec![sync(LOCK), call(1)]);
    bounded(vec![f(), vec![ret(vec![marker()])]]);
    bounded(vec![f(), vec![to(&[1, 2], vec![]), ret(vec![marker()]), ret(vec![marker()])]]);
    unbounded(
        Way::Cycle,
        0,
        &[(1, 0)],
        vec![f(), vec![to(&[1, 2], vec![]), ret(vec![marker()]), ret(vec![])]],
    );
    unbounded(Way::Cycle, 0, &[(1, 0)], vec![f(), vec![ret(vec![])]]);
}

#[test]
fn a_callee_synchronizes_only_as_its_free_paths_do() {
    let f = || looping(vec![call(1)]);
    unbounded(Way::Cycle, 0, &[(1, 0)], vec![f(), vec![ret(vec![sync(LOCK)])]]);
    bounded(vec![f(), vec![to(&[1, 2], vec![]), ret(vec![sync(LOCK), marker()]), ret(vec![])]]);
    bounded(vec![f(), vec![to(&[1, 2], vec![]), ret(vec![marker(), sync(LOCK)]), ret(vec![])]]);
}

#[test]
fn straight_code_may_call_what_synchronizes_often() {
    bounded(vec![
        vec![ret(vec![call(1), call(1), sync(LOCK), call(1)])],
        vec![ret(vec![call(2), call(2)])],
        vec![ret(vec![sync(LOCK), sync(UNLOCK)])],
    ]);
}

#[test]
fn a_loop_in_a_callee_is_the_callees() {
    unbounded(Way::Cycle, 1, &[(1, 0)], vec![vec![ret(vec![call(1), call(1)])], looping(vec![sync(LOCK)])]);
    assert_eq!(found(vec![looping(vec![call(1)]), looping(vec![sync(LOCK)])]).len(), 2);
}

/// Leaf, or: these steps, a call of itself, those steps.
fn recursive(
    before: Vec<Step<'static>>,
    leaf: Vec<Step<'static>>,
    after: Vec<Step<'static>>,
) -> Vec<Block<'static>> {
    let mut steps = before;
    steps.push(call(0));
    steps.extend(after);
    vec![to(&[1, 2], vec![]), ret(leaf), ret(steps)]
}

#[test]
fn recursion_may_synchronize_on_the_way_down() {
    unbounded(Way::Descent, 0, &[(2, 0)], vec![recursive(vec![sync(LOCK)], vec![], vec![])]);
    bounded(vec![recursive(vec![sync(LOCK), marker()], vec![], vec![])]);
    bounded(vec![recursive(vec![marker(), sync(LOCK)], vec![], vec![])]);
    // A marker on the way back does not help.
    unbounded(Way::Descent, 0, &[(2, 0)], vec![recursive(vec![sync(LOCK)], vec![], vec![marker()])]);
    // Nor does what is done beside the way count less.
    let side = vec![ret(vec![sync(LOCK)])];
    unbounded(Way::Descent, 0, &[(2, 0)], vec![recursive(vec![call(1)], vec![], vec![]), side]);
}

#[test]
fn recursion_may_synchronize_on_the_way_back() {
    unbounded(Way::Ascent, 0, &[(2, 1)], vec![recursive(vec![], vec![], vec![sync(UNLOCK)])]);
    unbounded(Way::Ascent, 0, &[(2, 2)], vec![recursive(vec![marker()], vec![], vec![sync(UNLOCK)])]);
    bounded(vec![recursive(vec![], vec![], vec![marker(), sync(UNLOCK)])]);
    bounded(vec![recursive(vec![sync(LOCK), marker()], vec![], vec![sync(UNLOCK), marker()])]);
    let both = found(vec![recursive(vec![sync(LOCK)], vec![], vec![sync(UNLOCK)])]);
    assert_eq!(both.iter().map(|found| found.0).collect::<Vec<_>>(), [Way::Descent, Way::Ascent]);
}

#[test]
fn a_recursion_that_never_ends_has_no_way_back() {
    bounded(vec![vec![ret(vec![call(0), sync(LOCK)])]]);
    unbounded(Way::Descent, 0, &[(0, 0)], vec![vec![ret(vec![sync(LOCK), call(0)])]]);
}

#[test]
fn a_tree_of_calls_synchronizes_at_each_leaf() {
    bounded(vec![recursive(vec![], vec![sync(LOCK)], vec![])]);
    let tree = |middle: Vec<Step<'static>>| {
        let after = middle.into_iter().chain([call(0)]).collect();
        vec![recursive(vec![], vec![sync(LOCK)], after)]
    };
    // The first call is beside the way down to the second, and the second on the way back from the first.
    unbounded(Way::Descent, 0, &[(2, 0)], {
        let mut functions = tree(vec![]);
        functions[0][2].steps.push(marker());
        functions
    });
    assert_eq!(found(tree(vec![])).len(), 2);
    bounded(tree(vec![marker()]));
    let mut inner = tree(vec![]);
    inner[0][0].steps.push(marker());
    // Each call passes a marker, so that no leaf follows another without one.
    bounded(inner);
}

#[test]
fn functions_may_call_each_other() {
    let pair = |first: Vec<Step<'static>>, second: Vec<Step<'static>>| {
        vec![vec![to(&[1, 2], vec![]), ret(vec![]), ret(first)], vec![ret(second)]]
    };
    unbounded(Way::Descent, 1, &[(0, 0)], pair(vec![call(1)], vec![sync(LOCK), call(0)]));
    bounded(pair(vec![marker(), call(1)], vec![sync(LOCK), call(0)]));
    unbounded(Way::Ascent, 1, &[(0, 1)], pair(vec![marker(), call(1)], vec![call(0), sync(LOCK)]));
    bounded(pair(vec![call(1), marker()], vec![call(0), sync(LOCK)]));
}

#[test]
fn a_call_through_a_pointer_may_take_any_target() {
    let through = |unknown, certain| looping(vec![sync(LOCK), call_any(&[1, 2], unknown, certain)]);
    let (with, without) = (|| vec![ret(vec![marker()])], || vec![ret(vec![])]);
    bounded(vec![through(false, true), with(), with()]);
    unbounded(Way::Cycle, 0, &[(1, 0)], vec![through(false, true), with(), without()]);
    unbounded(Way::Cycle, 0, &[(1, 0)], vec![through(false, false), with(), with()]);
    unbounded(Way::Cycle, 0, &[(1, 0), (1, 1)], vec![through(true, true), with(), with()]);
    // A pointer that is none of the known functions.
    bounded(vec![looping(vec![call_any(&[], false, true)])]);
    // Recursion through a pointer.
    unbounded(
        Way::Descent,
        0,
        &[(0, 0)],
        vec![
            vec![to(&[1, 2], vec![sync(LOCK)]), ret(vec![call_any(&[0, 1], false, true)]), ret(vec![])],
            without(),
        ],
    );
}

#[test]
fn a_throw_may_come_before_the_marker() {
    // Entry; try; normal; landing pad, which goes on with the loop; return.
    let caught = |callee: Vec<Step<'static>>, pad: Vec<Step<'static>>| {
        vec![
            vec![
                to(&[1], vec![]),
                to(&[2, 3], vec![invoke(call(1))]),
                to(&[1, 4], vec![marker()]),
                to(&[1], pad),
                ret(vec![]),
            ],
            vec![ret(callee)],
        ]
    };
    unbounded(Way::Cycle, 0, &[(1, 0)], caught(vec![sync(LOCK), marker()], vec![]));
    bounded(caught(vec![marker(), sync(LOCK)], vec![]));
    bounded(caught(vec![sync(LOCK), marker()], vec![marker()]));
    unbounded(Way::Cycle, 0, &[(3, 0)], caught(vec![marker()], vec![sync(LOCK)]));
    // A marker that throws was not passed; on the normal way it was.
    let thrown = |step: Step<'static>| {
        vec![vec![
            to(&[1], vec![]),
            to(&[2, 3], vec![sync(LOCK), invoke(step)]),
            to(&[1], vec![]),
            to(&[1], vec![]),
        ]]
    };
    unbounded(Way::Cycle, 0, &[(1, 0)], thrown(marker()));
    unbounded(Way::Cycle, 0, &[(1, 0)], thrown(sync(Op::pthread_barrier_wait)));
}

#[test]
fn a_throw_that_leaves_the_function_ends_the_loop() {
    bounded(vec![
        vec![
            to(&[1], vec![]),
            to(&[2, 3], vec![sync(LOCK), invoke(call(1))]),
            to(&[1], vec![]),
            resume(vec![sync(UNLOCK)]),
        ],
        vec![ret(vec![marker()])],
    ]);
}

#[test]
fn unwinding_may_synchronize_on_the_way_back() {
    let guarded = |normal: Vec<Step<'static>>, pad: Vec<Step<'static>>| {
        vec![vec![
            to(&[1, 2], vec![]),
            ret(vec![]),
            to(&[3, 4], vec![marker(), invoke(call(0))]),
            ret(normal),
            resume(pad),
        ]]
    };
    unbounded(Way::Ascent, 0, &[(4, 0)], guarded(vec![marker(), sync(UNLOCK)], vec![sync(UNLOCK)]));
    unbounded(Way::Ascent, 0, &[(3, 0)], guarded(vec![sync(UNLOCK)], vec![marker(), sync(UNLOCK)]));
    bounded(guarded(vec![marker(), sync(UNLOCK)], vec![marker(), sync(UNLOCK)]));
    // Through a frame without a landing pad.
    unbounded(
        Way::Ascent,
        0,
        &[(3, 0)],
        vec![
            vec![
                to(&[1, 2], vec![marker()]),
                ret(vec![]),
                to(&[1, 3], vec![invoke(call(1))]),
                resume(vec![sync(UNLOCK)]),
            ],
            vec![ret(vec![call(0), marker()])],
        ],
    );
}

#[test]
fn a_catching_frame_turns_unwinding_into_returning() {
    // f0 catches all; f1 unlocks and may throw before its marker.
    let functions = |after: Vec<Step<'static>>| {
        vec![
            vec![to(&[1, 2], vec![marker()]), ret(vec![]), to(&[1, 3], vec![invoke(call(1))]), ret(vec![])],
            vec![ret([call(0)].into_iter().chain(after).collect())],
        ]
    };
    unbounded(Way::Ascent, 1, &[(0, 1)], functions(vec![sync(UNLOCK), marker()]));
    bounded(functions(vec![marker(), sync(UNLOCK)]));
}

#[test]
fn trivial_loops_need_no_marker() {
    for op in [Op::pthread_cond_wait, Op::pthread_create, Op::pthread_join, Op::cnd_wait] {
        bounded(vec![looping(vec![sync(op)])]);
        bounded(vec![looping(vec![call(1)]), vec![ret(vec![sync(op)])]]);
        bounded(vec![recursive(vec![sync(op)], vec![], vec![])]);
        bounded(vec![recursive(vec![], vec![], vec![sync(op)])]);
    }
    // Created on the way down, joined on the way back.
    bounded(vec![recursive(vec![sync(Op::pthread_create)], vec![], vec![sync(Op::pthread_join)])]);
}

#[test]
fn timed_waits_and_tried_joins_may_go_on_for_ever() {
    for op in [Op::pthread_cond_timedwait, Op::pthread_tryjoin_np, Op::sem_wait, Op::pthread_mutex_trylock] {
        unbounded(Way::Cycle, 0, &[(1, 0)], vec![looping(vec![sync(op)])]);
    }
}

#[test]
fn creating_and_joining_in_one_cycle_is_not_trivial() {
    let (create, join) = (Op::pthread_create, Op::pthread_join);
    unbounded(Way::Cycle, 0, &[(1, 0), (1, 1)], vec![looping(vec![sync(create), sync(join)])]);
    bounded(vec![looping(vec![sync(create), marker(), sync(join)])]);
    // Two loops that share their header are one part.
    unbounded(
        Way::Cycle,
        0,
        &[(2, 0), (3, 0)],
        vec![vec![
            to(&[1], vec![]),
            to(&[2, 3, 4], vec![]),
            to(&[1], vec![sync(create)]),
            to(&[1], vec![sync(join)]),
            ret(vec![]),
        ]],
    );
    // One after the other is fine.
    bounded(vec![vec![
        to(&[1], vec![]),
        to(&[1, 2], vec![sync(create)]),
        to(&[2, 3], vec![sync(join)]),
        ret(vec![]),
    ]]);
    bounded(vec![vec![ret(vec![call(1), call(2)])], looping(vec![sync(create)]), looping(vec![sync(join)])]);
    unbounded(
        Way::Cycle,
        0,
        &[(1, 0), (1, 1)],
        vec![looping(vec![call(1), call(2)]), looping(vec![sync(create)]), looping(vec![sync(join)])],
    );
}

#[test]
fn wait_loops_are_bounded_if_notifications_are() {
    let wait = || looping(vec![sync(Op::pthread_cond_wait)]);
    let signal = Op::pthread_cond_signal;
    bounded(vec![wait(), vec![ret(vec![sync(signal), sync(signal)])]]);
    bounded(vec![wait(), looping(vec![sync(signal), marker()])]);
    for notify in [sync(signal), sync(Op::pthread_cond_broadcast), sync(Op::pthread_kill), unknown()] {
        assert_eq!(found(vec![wait(), looping(vec![notify])]).len(), 2);
    }
    unbounded(Way::Cycle, 1, &[(1, 0)], vec![wait(), looping(vec![sync(LOCK)])]);
    let recursive_notifier = found(vec![recursive(vec![sync(signal)], vec![], vec![]), wait()]);
    assert_eq!(recursive_notifier.len(), 2);
    // Create-only loops do not care.
    let create = looping(vec![sync(Op::pthread_create)]);
    assert_eq!(found(vec![create, looping(vec![sync(signal)])]).len(), 1);
}

#[test]
fn irreducible_cycles_are_cycles() {
    let two_entries = |left: Vec<Step<'static>>, right: Vec<Step<'static>>| {
        vec![vec![to(&[1, 2], vec![]), to(&[2], left), to(&[1, 3], right), ret(vec![])]]
    };
    unbounded(Way::Cycle, 0, &[(1, 0)], two_entries(vec![sync(LOCK)], vec![]));
    bounded(two_entries(vec![sync(LOCK)], vec![marker()]));
    bounded(two_entries(vec![], vec![]));
}

#[test]
fn what_cannot_be_reached_does_not_count() {
    bounded(vec![vec![ret(vec![]), to(&[1], vec![sync(LOCK)])]]);
    // After a call that never returns.
    bounded(vec![vec![to(&[1], vec![call(1)]), to(&[1], vec![sync(LOCK)])], vec![to(&[0], vec![])]]);
    bounded(vec![looping(vec![sync(Op::pthread_exit), sync(LOCK)])]);
    // A callee that never returns ends no loop, but it may throw.
    unbounded(
        Way::Cycle,
        0,
        &[(2, 0)],
        vec![
            vec![to(&[1, 2], vec![invoke(call(1))]), ret(vec![]), to(&[0], vec![sync(LOCK)])],
            vec![to(&[0], vec![])],
        ],
    );
}

#[test]
fn a_marker_on_the_way_is_one_for_inner_and_outer_loop_only_if_it_must_run() {
    let nested = |outer: Vec<Step<'static>>, inner: Vec<Step<'static>>| {
        vec![vec![to(&[1], vec![]), to(&[2], outer), to(&[2, 3], inner), to(&[1, 4], vec![]), ret(vec![])]]
    };
    bounded(nested(vec![sync(LOCK)], vec![marker()]));
    unbounded(Way::Cycle, 0, &[(2, 0)], nested(vec![marker()], vec![sync(LOCK)]));
    bounded(nested(vec![marker()], vec![sync(Op::pthread_cond_wait)]));
    unbounded(
        Way::Cycle,
        0,
        &[(1, 0), (2, 0)],
        nested(vec![sync(Op::pthread_create)], vec![sync(Op::pthread_cond_wait)]),
    );
}
