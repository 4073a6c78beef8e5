//! Placing on programs without LLVM: each rule, each switch, recursion.

use super::*;
use crate::epoch::program::{Block, Irreducible, Leave, Loop, Step};
use covsched_core::hooks::Op;

const LOCK: Action = Action::Synchronizes(Op::pthread_mutex_lock);
const WAIT: Action = Action::Synchronizes(Op::pthread_cond_wait);
const SIGNAL: Action = Action::Synchronizes(Op::pthread_cond_signal);
const CREATE: Action = Action::Synchronizes(Op::pthread_create);
const JOIN: Action = Action::Synchronizes(Op::pthread_join);
const BARRIER: Action = Action::Synchronizes(Op::pthread_barrier_wait);
const MARKER: Action = Action::Marker(SiteId(9));

fn call(function: u32) -> Action {
    Action::Calls { functions: [FunctionId(function)].into(), unknown: false, certain: true }
}

fn block(steps: &[Action], next: &[u32]) -> Block<'static> {
    let steps = steps.iter().map(|action| Step { inst: None, action: action.clone(), is_invoke: false });
    let leaves = if next.is_empty() { Some(Leave::Returns) } else { None };
    Block { steps: steps.collect(), next: next.iter().copied().map(BlockId).collect(), leaves }
}

fn invoke(action: Action, normal: u32, landing: u32) -> Block<'static> {
    let mut block = block(&[action], &[normal, landing]);
    block.steps[0].is_invoke = true;
    block
}

/// Loops are given as header and blocks; latches are those with an edge back, inner ones come first.
fn function(blocks: Vec<Block<'static>>, loops: &[(u32, &[u32])]) -> Flow<'static> {
    let natural = |&(header, inside): &(u32, &[u32])| {
        let goes_back = |&&number: &&u32| blocks[number as usize].next.contains(&BlockId(header));
        Loop {
            header: BlockId(header),
            blocks: inside.iter().copied().map(BlockId).collect(),
            latches: inside.iter().filter(goes_back).copied().map(BlockId).collect(),
            parent: None,
            may_go_on: false,
        }
    };
    let loops = loops.iter().map(natural).collect();
    Flow { function: None, name: "f".into(), blocks, loops, irreducible: vec![] }
}

/// `entry -> header -> body -> header`, and `header -> exit`.
fn while_loop(body: &[Action]) -> Flow<'static> {
    let blocks = vec![block(&[], &[1]), block(&[], &[2, 3]), block(body, &[1]), block(&[], &[])];
    function(blocks, &[(1, &[1, 2])])
}

/// A loop that runs at least once.
fn do_loop(body: &[Action]) -> Flow<'static> {
    function(vec![block(&[], &[1]), block(body, &[1, 2]), block(&[], &[])], &[(1, &[1])])
}

fn straight(steps: &[Action]) -> Flow<'static> {
    function(vec![block(steps, &[])], &[])
}

fn decide(functions: Vec<Flow<'static>>, options: EpochOptions) -> Decisions {
    let hints: Vec<Hints> = functions
        .iter()
        .map(|flow| Hints { waits_for_memory: vec![false; flow.loops.len()], ..Hints::default() })
        .collect();
    place(&Program { functions }, &hints, options, true)
}

fn plain(functions: Vec<Flow<'static>>) -> Decisions {
    decide(functions, EpochOptions::default())
}

/// The decision about the last loop, and how many markers there are in all.
fn last(decisions: &Decisions) -> (&'static str, usize) {
    let decision = match decisions.loops.last().map(|line| &line.decision) {
        None => "none",
        Some(Decision::Marker(_)) => "marker",
        Some(Decision::Spin(_)) => "spin",
        Some(Decision::Trivial(_)) => "trivial",
        Some(Decision::Covered(_)) => "covered",
        Some(Decision::Barrier(_)) => "barrier",
        Some(Decision::Limit(..)) => "limit",
    };
    (decision, decisions.markers.len())
}

#[test]
fn a_loop_that_synchronizes_gets_a_marker_in_its_header() {
    let decisions = plain(vec![while_loop(&[LOCK])]);
    assert_eq!(last(&decisions), ("marker", 1));
    assert!(decisions.markers.contains_key(&(FunctionId(0), (BlockId(1), 0))));
    assert_eq!(last(&plain(vec![while_loop(&[])])), ("none", 0));
}

#[test]
fn a_loop_that_is_its_own_latch_is_a_loop() {
    let blocks = || vec![block(&[], &[1]), block(&[LOCK], &[1, 2]), block(&[], &[])];
    assert_eq!(last(&plain(vec![function(blocks(), &[(1, &[1])])])), ("marker", 1));
}

#[test]
fn one_kind_alone_is_trivial() {
    for body in [&[WAIT][..], &[WAIT, WAIT], &[CREATE], &[JOIN]] {
        assert_eq!(last(&plain(vec![while_loop(body)])), ("trivial", 0), "{body:?}");
        let options = EpochOptions { no_trivial: true, ..EpochOptions::default() };
        assert_eq!(last(&decide(vec![while_loop(body)], options)), ("marker", 1), "{body:?}");
    }
    let timed = Action::Synchronizes(Op::pthread_cond_timedwait);
    for body in [&[CREATE, JOIN][..], &[WAIT, LOCK], &[timed], &[SIGNAL]] {
        assert_eq!(last(&plain(vec![while_loop(body)])), ("marker", 1), "{body:?}");
    }
}

#[test]
fn waiting_is_trivial_only_if_notifications_are_bounded() {
    let program = Program { functions: vec![while_loop(&[SIGNAL]), while_loop(&[WAIT])] };
    let hints = |unmarkable| {
        let of = |unmarkable| Hints { unmarkable, waits_for_memory: vec![false], ..Hints::default() };
        [of(unmarkable), of(None)]
    };
    assert_eq!(last(&place(&program, &hints(None), EpochOptions::default(), true)), ("trivial", 1));
    let decisions = place(&program, &hints(Some(Limit::EpochNaked)), EpochOptions::default(), true);
    assert_eq!(last(&decisions), ("marker", 1));
    assert_eq!(decisions.loops[0].decision, Decision::Limit(Limit::EpochNaked, vec![]));
}

#[test]
fn a_barrier_on_every_way_round_is_a_marker() {
    assert_eq!(last(&plain(vec![while_loop(&[LOCK, BARRIER])])), ("barrier", 0));
    let options = EpochOptions { no_barrier: true, ..EpochOptions::default() };
    assert_eq!(last(&decide(vec![while_loop(&[LOCK, BARRIER])], options)), ("marker", 1));
    let options = EpochOptions { no_covered: true, ..EpochOptions::default() };
    assert_eq!(last(&decide(vec![while_loop(&[LOCK, BARRIER])], options)), ("barrier", 0));
    // Through a call, too.
    assert_eq!(last(&plain(vec![straight(&[BARRIER]), while_loop(&[LOCK, call(0)])])), ("barrier", 0));
}

#[test]
fn a_loop_inside_or_in_a_callee_covers() {
    // A callee's loop always comes to its header.
    let decisions = plain(vec![while_loop(&[LOCK]), while_loop(&[LOCK, call(0)])]);
    assert_eq!(last(&decisions), ("covered", 1));
    let Decision::Covered(cover) = &decisions.loops[1].decision else { panic!() };
    assert_eq!(cover.markers, [Mark::New(FunctionId(0), (BlockId(1), 0))].into());
    assert_eq!(cover.through, [FunctionId(0)].into());
    let options = EpochOptions { no_covered: true, ..EpochOptions::default() };
    let both = vec![while_loop(&[LOCK]), while_loop(&[LOCK, call(0)])];
    assert_eq!(last(&decide(both, options)), ("marker", 2));
    // It may be another function, or none.
    for (unknown, certain) in [(true, true), (false, false)] {
        let may = Action::Calls { functions: [FunctionId(0)].into(), unknown, certain };
        assert_eq!(last(&plain(vec![while_loop(&[LOCK]), while_loop(&[may])])), ("marker", 2));
    }
}

#[test]
fn all_targets_of_a_pointer_must_cover() {
    let pointer =
        Action::Calls { functions: [FunctionId(0), FunctionId(1)].into(), unknown: false, certain: true };
    let with = |other| plain(vec![while_loop(&[LOCK]), other, while_loop(&[LOCK, pointer.clone()])]);
    assert_eq!(last(&with(while_loop(&[LOCK]))), ("covered", 2));
    assert_eq!(last(&with(straight(&[LOCK]))), ("marker", 2));
    // What never returns does not come round.
    assert_eq!(last(&with(straight(&[Action::Synchronizes(Op::exit)]))), ("covered", 1));
}

#[test]
fn both_arms_of_a_branch_cover_and_one_alone_does_not() {
    let arms = |other: &[Action]| {
        let blocks = vec![
            block(&[], &[1]),
            block(&[LOCK], &[2, 3]),
            block(&[MARKER], &[4]),
            block(other, &[4]),
            block(&[], &[1, 5]),
            block(&[], &[]),
        ];
        function(blocks, &[(1, &[1, 2, 3, 4])])
    };
    assert_eq!(last(&plain(vec![arms(&[MARKER])])), ("covered", 0));
    assert_eq!(last(&plain(vec![arms(&[BARRIER])])), ("covered", 0));
    assert_eq!(last(&plain(vec![arms(&[])])), ("marker", 1));
}

#[test]
fn an_invoke_that_throws_may_not_have_come_to_its_marker() {
    let catching = |landing: u32| {
        let blocks = vec![
            block(&[], &[1]),
            invoke(call(0), 2, 3),
            block(&[LOCK], &[1, 4]),
            block(&[], &[landing]),
            block(&[], &[]),
        ];
        function(blocks, &[(1, &[1, 2, 3])])
    };
    let callee = || straight(&[LOCK, MARKER]);
    assert_eq!(last(&plain(vec![callee(), catching(1)])), ("marker", 1));
    assert_eq!(last(&plain(vec![callee(), catching(4)])), ("covered", 0));
}

#[test]
fn a_marker_that_stands_in_the_header_is_the_loops() {
    let blocks = vec![block(&[], &[1]), block(&[MARKER], &[2, 3]), block(&[LOCK], &[1]), block(&[], &[])];
    let options = EpochOptions { no_covered: true, ..EpochOptions::default() };
    let decisions = decide(vec![function(blocks, &[(1, &[1, 2])])], options);
    assert_eq!(last(&decisions), ("marker", 0));
    assert_eq!(decisions.loops[0].decision, Decision::Marker(Some(Mark::Standing(SiteId(9)))));
}

#[test]
fn a_loop_that_waits_for_memory_spins() {
    let spins = |body: &[Action]| {
        let program = Program { functions: vec![while_loop(body)] };
        let hints = [Hints { waits_for_memory: vec![true], ..Hints::default() }];
        last(&place(&program, &hints, EpochOptions::default(), true))
    };
    assert_eq!(spins(&[]), ("spin", 1));
    assert_eq!(spins(&[CREATE]), ("spin", 1));
    // Each time round it waits for somebody.
    assert_eq!(spins(&[WAIT]), ("trivial", 0));
    assert_eq!(spins(&[MARKER]), ("none", 0));
    assert_eq!(spins(&[LOCK]), ("marker", 1));
}

#[test]
fn recursion_gets_a_marker_where_it_synchronizes() {
    let spots = |blocks: Vec<Block<'static>>| -> Vec<Spot> {
        plain(vec![function(blocks, &[])]).markers.keys().map(|&(_, spot)| spot).collect()
    };
    let recursive = |before: &[Action], after: &[Action]| {
        let steps: Vec<Action> = before.iter().chain(&[call(0)]).chain(after).cloned().collect();
        vec![block(&[], &[1, 2]), block(&steps, &[2]), block(&[], &[])]
    };
    let entry = (BlockId(0), 0);
    assert_eq!(spots(recursive(&[LOCK], &[])), [entry]);
    assert_eq!(spots(recursive(&[], &[LOCK])), [(BlockId(1), 1)]);
    assert_eq!(spots(recursive(&[LOCK], &[LOCK])), [entry, (BlockId(1), 2)]);
    assert_eq!(spots(recursive(&[], &[])), []);
    assert_eq!(spots(recursive(&[CREATE], &[])), []);
    assert_eq!(spots(recursive(&[BARRIER, LOCK], &[])), []);
}

#[test]
fn a_cycle_of_functions_gets_one_marker_a_way() {
    let decisions = plain(vec![straight(&[LOCK, call(1)]), straight(&[LOCK, call(2)]), straight(&[call(0)])]);
    let at: Vec<FunctionId> = decisions.markers.keys().map(|&(function, _)| function).collect();
    assert_eq!(at, [FunctionId(0)]);
    assert_eq!(decisions.recursions.len(), 1);
    assert_eq!(decisions.recursions[0].functions.len(), 3);
}

#[test]
fn recursion_that_unwinds_gets_a_marker_where_it_lands() {
    let blocks = vec![
        invoke(call(0), 1, 2),
        block(&[], &[]),
        Block { leaves: Some(Leave::Unwinds), ..block(&[LOCK], &[]) },
    ];
    let decisions = plain(vec![function(blocks, &[])]);
    let spots: Vec<Spot> = decisions.markers.keys().map(|&(_, spot)| spot).collect();
    assert_eq!(spots, [(BlockId(2), 0)]);
}

#[test]
fn recursion_inside_of_a_marked_loop_needs_no_other() {
    let decisions = plain(vec![while_loop(&[LOCK, call(0)])]);
    assert_eq!(last(&decisions), ("marker", 1));
    assert_eq!(decisions.recursions[0].markers, []);
}

#[test]
fn each_entry_of_a_cycle_with_several_gets_a_marker_and_is_a_limit() {
    let make = |body: &[Action]| {
        let blocks = vec![block(&[], &[1, 2]), block(body, &[2]), block(&[], &[1, 3]), block(&[], &[])];
        let mut flow = function(blocks, &[]);
        flow.irreducible = vec![Irreducible { blocks: vec![BlockId(1), BlockId(2)], may_go_on: false }];
        flow
    };
    let decisions = plain(vec![make(&[LOCK])]);
    assert_eq!(last(&decisions), ("limit", 2));
    assert_eq!(last(&plain(vec![make(&[])])), ("none", 0));
    assert_eq!(last(&plain(vec![make(&[WAIT])])), ("none", 0));
}

/// LLVM saw another entry of block 3, behind a call that never returns.
#[test]
fn a_smaller_loop_with_the_same_header_is_not_the_cycle() {
    let blocks = vec![
        block(&[], &[1]),
        block(&[CREATE], &[2, 3]),
        block(&[], &[1, 4]),
        block(&[LOCK], &[1]),
        block(&[], &[]),
    ];
    let mut flow = function(blocks, &[(1, &[1, 2])]);
    let blocks = vec![BlockId(1), BlockId(2), BlockId(3)];
    flow.irreducible = vec![Irreducible { blocks, may_go_on: false }];
    let decisions = plain(vec![flow]);
    let spots: Vec<Spot> = decisions.markers.keys().map(|&(_, spot)| spot).collect();
    assert_eq!(spots, [(BlockId(1), 0)]);
}

#[test]
fn a_program_that_has_markers_can_be_looked_at() {
    let program = Program { functions: vec![while_loop(&[LOCK])] };
    let decisions = place(&program, &[Hints::default()], EpochOptions::default(), false);
    assert_eq!(decisions.loops[0].decision, Decision::Marker(None));
    assert!(decisions.markers.is_empty());
}

/// `count` functions, each with these steps, one of them a call through a pointer that may come to any of them.
fn any_calls_any(count: u32, before: &[Action], after: &[Action]) -> Vec<Flow<'static>> {
    let all: std::rc::Rc<[FunctionId]> = (0..count).map(FunctionId).collect();
    let call = Action::Calls { functions: all, unknown: false, certain: true };
    let one = |_| {
        let steps = [before, std::slice::from_ref(&call), after].concat();
        function(vec![block(&[], &[1, 2]), block(&steps, &[2]), block(&[], &[])], &[])
    };
    (0..count).map(one).collect()
}

#[test]
fn many_functions_that_call_each_other_through_a_pointer_are_done_in_time() {
    let start = std::time::Instant::now();
    for (before, after) in [(&[LOCK][..], &[][..]), (&[], &[LOCK])] {
        let decisions = plain(any_calls_any(2000, before, after));
        // Each may call itself, so none can do without.
        assert_eq!(decisions.markers.len(), 2000);
    }
    // Far more than it takes (less than a second) and far less than what grows with the cube would.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn a_dispatcher_gets_the_marker_and_not_all_that_it_calls() {
    for steps in [[LOCK, call(9)], [call(9), LOCK]] {
        let mut functions: Vec<Flow<'static>> = (0..9).map(|_| straight(&steps)).collect();
        let targets = (0..9).map(FunctionId).collect();
        let through_pointer = Action::Calls { functions: targets, unknown: false, certain: true };
        let blocks = vec![block(&[], &[1, 2]), block(&[through_pointer], &[2]), block(&[], &[])];
        functions.push(function(blocks, &[]));
        let markers: Vec<FunctionId> = plain(functions).markers.keys().map(|key| key.0).collect();
        assert_eq!(markers, [FunctionId(9)], "{steps:?}");
    }
}

#[test]
fn a_loop_that_creates_or_joins_is_trivial_only_if_it_ends_by_itself() {
    for (step, may_go_on, expected) in [
        (CREATE, false, ("trivial", 0)),
        (CREATE, true, ("marker", 1)),
        (JOIN, false, ("trivial", 0)),
        (JOIN, true, ("marker", 1)),
        // Notifications bound it, whatever its exit depends on.
        (WAIT, true, ("trivial", 0)),
    ] {
        let mut flow = while_loop(std::slice::from_ref(&step));
        flow.loops[0].may_go_on = may_go_on;
        assert_eq!(last(&plain(vec![flow.clone()])), expected, "{step:?} {may_go_on}");
        let unmarked = crate::epoch::verify::check(&Program { functions: vec![flow] });
        assert_eq!(unmarked.len(), expected.1, "{step:?} {may_go_on}");
    }
}

#[test]
fn a_cycle_with_several_entries_that_spins_gets_a_marker_at_each() {
    let blocks = vec![block(&[], &[1, 2]), block(&[], &[2]), block(&[], &[1, 3]), block(&[], &[])];
    let mut flow = function(blocks, &[]);
    flow.irreducible = vec![Irreducible { blocks: vec![BlockId(1), BlockId(2)], may_go_on: false }];
    for (waits, expected) in [(true, vec![Why::Spin; 2]), (false, vec![])] {
        let hints = [Hints { irreducible_waits: vec![waits], ..Hints::default() }];
        let program = Program { functions: vec![flow.clone()] };
        let decisions = place(&program, &hints, EpochOptions::default(), true);
        assert_eq!(decisions.markers.values().copied().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn long_chains_of_covered_loops_are_done_in_time() {
    let start = std::time::Instant::now();
    let count = 8000;
    let functions: Vec<Flow<'static>> =
        (0..count).map(|at| if at == 0 { while_loop(&[LOCK]) } else { do_loop(&[call(at - 1)]) }).collect();
    let decisions = plain(functions);
    assert_eq!(last(&decisions), ("covered", 1));
    let Decision::Covered(cover) = &decisions.loops[count as usize - 1].decision else { panic!() };
    assert_eq!(cover.markers, [Mark::New(FunctionId(0), (BlockId(1), 0))].into());
    assert_eq!(cover.through, [FunctionId(count - 2)].into());
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}
