//! Products of small functions, by behaviour.

use super::super::graph::{FunctionId, Leave, Piece};
use super::*;

const ENTRY: u64 = 100;

fn site(number: u64) -> SiteId {
    SiteId(number)
}

/// Goes on.
fn plain(next: &[u32]) -> Piece {
    Piece::plain(next)
}

fn sync(number: u64, next: &[u32]) -> Piece {
    Piece { act: Act::Synchronizes(site(number)), ..plain(next) }
}

fn exits(number: u64, next: &[u32]) -> Piece {
    Piece { act: Act::Exits(site(number)), ..plain(next) }
}

fn call(number: u64, free: Ways, next: &[u32]) -> Piece {
    Piece {
        act: Act::Calls { site: site(number), callee: Callee::Function(FunctionId(9)), free },
        ..plain(next)
    }
}

fn ret() -> Piece {
    Piece { leaves: Some(Leave::Returns), ..plain(&[]) }
}

fn resume() -> Piece {
    Piece { leaves: Some(Leave::Unwinds), ..plain(&[]) }
}

fn invoke(piece: Piece) -> Piece {
    Piece { is_invoke: true, ..piece }
}

/// A synchronization.
fn did(number: u64) -> Step {
    Step { site: site(number), done: Ways::RETURNS, ends: false, skipped: Ways::NONE }
}

/// A call that synchronized.
fn called(number: u64, skipped: Ways) -> Step {
    Step { skipped, ..did(number) }
}

fn frame(steps: &[Step]) -> FrameSteps<'_> {
    FrameSteps { steps, is_root: false, is_open: false, is_optional: false }
}

fn run(pieces: Vec<Piece>, frame: FrameSteps<'_>) -> Result<Product, Misfit> {
    product(&Graph::new(pieces), frame, &mut Scratch::default())
}

/// Each node as `piece.layer>targets`; traps are `!layer`; where an item was not done stands after `|`.
fn shape(product: &Product) -> String {
    let node = |node: &Node| format!("{}.{}", node.piece.0, node.layer);
    let list = |targets: &[Target]| {
        let targets: Vec<String> = targets
            .iter()
            .map(|target| match target {
                Target::Node(to) => node(&product.nodes[to.index()]),
                Target::Trap(layer) => format!("!{layer}"),
            })
            .collect();
        targets.join(",")
    };
    let mut lines: Vec<String> = product
        .nodes
        .iter()
        .map(|from| {
            let mut text = format!("{}>{}", node(from), list(&from.next));
            if !from.not_done.is_empty() {
                text += &format!("|{}", list(&from.not_done));
            }
            if let Some(otherwise) = from.otherwise {
                text += &format!("/{}", list(&[otherwise]));
            }
            text
        })
        .collect();
    lines[1..].sort();
    lines.join(" ")
}

#[test]
fn two_ways_to_a_synchronization_stay_two_ways() {
    // if (x) a(); else b(); lock();
    let pieces = vec![plain(&[1, 2]), plain(&[3]), plain(&[3]), sync(1, &[4]), ret()];
    let product = run(pieces, frame(&[did(1)])).unwrap();
    assert_eq!(shape(&product), "0.0>1.0,2.0 1.0>3.0 2.0>3.0 3.0>4.1 4.1>");
    assert_eq!(product.ways, Ways::RETURNS);
}

/// Wu, Fig. 4.5a: a loop with a synchronization on one of two paths, between two others.
fn figure_4_5a() -> Vec<Piece> {
    vec![
        sync(1, &[1]),
        plain(&[2, 5]), // the loop's head
        plain(&[3, 4]), // which path
        sync(2, &[1]),
        plain(&[1]),
        sync(3, &[6]),
        ret(),
    ]
}

#[test]
fn a_loop_with_a_synchronization_on_one_path_is_cut_where_it_synchronizes() {
    let product = run(figure_4_5a(), frame(&[did(1), did(2), did(3)])).unwrap();
    // As Fig. 4.6: before s2 the loop cannot be left, after it the path with s2 cannot be taken; the other path stays
    // a loop in both.
    assert_eq!(
        shape(&product),
        "0.0>1.1 1.1>2.1,!1 1.2>2.2,5.2 2.1>3.1,4.1 2.2>!2,4.2 3.1>1.2 4.1>1.1 4.2>1.2 5.2>6.3 6.3>"
    );
    assert_eq!(product.one_sided(), 2);
}

#[test]
fn a_loop_that_synchronized_twice_is_straightened() {
    let product = run(figure_4_5a(), frame(&[did(1), did(2), did(2), did(3)])).unwrap();
    let items: Vec<(u32, u32)> =
        product.nodes.iter().filter(|n| n.role == Role::Item).map(|n| (n.piece.0, n.layer)).collect();
    assert_eq!(items.len(), 4);
    assert!(items.contains(&(3, 1)) && items.contains(&(3, 2)));
}

#[test]
fn the_derived_site_says_through_which_call_control_went() {
    // Wu, Fig. 4.5b: if (x) f(); else f(); both may synchronize or not.
    let pieces = || vec![plain(&[1, 2]), call(1, Ways::RETURNS, &[3]), call(2, Ways::RETURNS, &[3]), ret()];
    let first = run(pieces(), frame(&[called(1, Ways::RETURNS)])).unwrap();
    assert_eq!(shape(&first), "0.0>1.0,!0 1.0>3.1 3.1>");
    let second = run(pieces(), frame(&[called(2, Ways::RETURNS)])).unwrap();
    assert_eq!(shape(&second), "0.0>!0,2.0 2.0>3.1 3.1>");
    assert!(first.uncertain.is_empty());
}

#[test]
fn a_segment_is_a_set_of_edges() {
    // Wu, Fig. 4.7: s1 -> l -> s2 -> (l | s3). In the segment from s1 to s2, s2 -> l is not an edge.
    let pieces = vec![sync(1, &[1]), plain(&[2]), sync(2, &[3]), plain(&[1, 4]), sync(3, &[5]), ret()];
    let product = run(pieces, frame(&[did(1), did(2), did(3)])).unwrap();
    assert_eq!(shape(&product), "0.0>1.1 1.1>2.1 2.1>3.2 3.2>!2,4.2 4.2>5.3 5.3>");
}

#[test]
fn one_call_site_that_synchronized_twice_is_two_items() {
    // while (x) f();
    let pieces = vec![plain(&[1, 2]), call(1, Ways::NONE, &[0]), ret()];
    let product = run(pieces, frame(&[called(1, Ways::NONE), called(1, Ways::NONE)])).unwrap();
    assert_eq!(shape(&product), "0.0>1.0,!0 0.1>1.1,!1 0.2>!2,2.2 1.0>0.1 1.1>0.2 2.2>");
}

#[test]
fn a_call_that_need_not_synchronize_says_whether_it_did() {
    let pieces = vec![plain(&[1, 2]), call(1, Ways::RETURNS, &[0]), ret()];
    let product = run(pieces, frame(&[called(1, Ways::RETURNS)])).unwrap();
    assert_eq!(product.uncertain, [0]);
    // After it, the loop goes on with calls that do not synchronize.
    assert_eq!(shape(&product), "0.0>1.0,!0 0.1>1.1,2.1 1.0>0.1|0.0 1.1>0.1 2.1>");
    let free = product.nodes.iter().find(|node| node.layer == 1 && node.piece == PieceId(1)).unwrap();
    assert_eq!(free.role, Role::Free);
}

#[test]
fn a_call_that_cannot_do_without_synchronizing_is_taken_only_as_an_item() {
    let pieces = vec![plain(&[1, 2]), call(1, Ways::NONE, &[3]), plain(&[3]), sync(2, &[4]), ret()];
    let product = run(pieces, frame(&[did(2)])).unwrap();
    assert_eq!(shape(&product), "0.0>!0,2.0 2.0>3.0 3.0>4.1 4.1>");
}

#[test]
fn an_optional_frame_does_all_or_nothing_and_says_which() {
    let pieces = vec![plain(&[1, 3]), sync(1, &[2]), sync(2, &[3]), ret()];
    let steps = [did(1), did(2)];
    let product = run(pieces, FrameSteps { is_optional: true, ..frame(&steps) }).unwrap();
    assert_eq!(shape(&product), "0.0>1.0,3.0 1.0>2.1 2.1>3.2 3.0> 3.2>");
    let begins: Vec<u32> = product.nodes.iter().filter(|n| n.begins).map(|n| n.piece.0).collect();
    assert_eq!(begins, [1]);
}

#[test]
fn an_optional_frame_whose_first_call_need_not_do_its_items_lets_that_say_so() {
    let pieces = vec![plain(&[1, 2]), call(1, Ways::RETURNS, &[0]), ret()];
    let steps = [called(1, Ways::RETURNS)];
    let product = run(pieces, FrameSteps { is_optional: true, ..frame(&steps) }).unwrap();
    let passes_on: Vec<(u32, u32)> =
        product.nodes.iter().filter(|n| n.passes_on).map(|n| (n.piece.0, n.layer)).collect();
    assert_eq!(passes_on, [(1, 0)]);
    assert!(product.nodes.iter().all(|node| !node.begins));
}

#[test]
fn recursion_is_a_call_like_any_other() {
    // f: lock; if (x) f(); unlock
    let pieces = vec![sync(1, &[1]), plain(&[2, 3]), call(2, Ways::NONE, &[3]), sync(3, &[4]), ret()];
    let outer = run(pieces.clone(), frame(&[did(1), called(2, Ways::NONE), did(3)])).unwrap();
    assert_eq!(shape(&outer), "0.0>1.1 1.1>2.1,!1 2.1>3.2 3.2>4.3 4.3>");
    let inner = run(pieces, frame(&[did(1), did(3)])).unwrap();
    assert_eq!(shape(&inner), "0.0>1.1 1.1>!1,3.1 3.1>4.2 4.2>");
}

#[test]
fn a_switch_keeps_its_slots() {
    let pieces = vec![plain(&[1, 2, 3, 1]), plain(&[4]), sync(1, &[4]), plain(&[5]), ret(), sync(2, &[4])];
    let product = run(pieces, frame(&[did(2)])).unwrap();
    assert_eq!(shape(&product), "0.0>!0,!0,3.0,!0 3.0>5.0 4.1> 5.0>4.1");
}

#[test]
fn an_early_return_leaves_the_schedule_unless_all_is_done() {
    let pieces = vec![sync(1, &[1]), plain(&[2, 3]), ret(), sync(2, &[4]), ret()];
    let both = run(pieces.clone(), frame(&[did(1), did(2)])).unwrap();
    assert_eq!(shape(&both), "0.0>1.1 1.1>!1,3.1 3.1>4.2 4.2>");
    let early = run(pieces, frame(&[did(1)])).unwrap();
    assert_eq!(shape(&early), "0.0>1.1 1.1>2.1,!1 2.1>");
}

#[test]
fn exceptions_land_in_the_layer_that_they_come_from() {
    // invoke f() to 1 unwind 2; landing: unlock, resume
    let pieces = || vec![invoke(call(1, Ways::ANY, &[1, 2])), ret(), plain(&[3]), sync(2, &[4]), resume()];
    // It synchronized and threw.
    let steps = [Step { done: Ways::ANY, ..called(1, Ways::ANY) }, did(2)];
    let thrown = run(pieces(), frame(&steps)).unwrap();
    assert_eq!(shape(&thrown), "0.0>!1,2.1 2.1>3.1 3.1>4.2 4.2>");
    assert_eq!(thrown.ways, Ways::UNWINDS);
    // It threw without.
    let free = run(pieces(), frame(&[did(2)])).unwrap();
    assert_eq!(shape(&free), "0.0>!0,2.0 2.0>3.0 3.0>4.1 4.1>");
    // Nothing was thrown.
    let steps = [called(1, Ways::ANY)];
    assert_eq!(shape(&run(pieces(), frame(&steps)).unwrap()), "0.0>1.1,!1 1.1>");
}

#[test]
fn a_call_that_throws_ends_the_frame_that_has_no_landing_pad() {
    let throws = Piece { may_unwind: true, ..plain(&[]) };
    let pieces = vec![sync(1, &[1]), plain(&[2, 3]), throws, sync(2, &[4]), ret()];
    let product = run(pieces, frame(&[did(1)])).unwrap();
    assert_eq!(shape(&product), "0.0>1.1 1.1>2.1,!1 2.1>");
    assert_eq!(product.ways, Ways::UNWINDS);
}

fn uncaught_in(product: &Product) -> Vec<(u32, u32, Uncaught)> {
    let found = product.nodes.iter().filter(|node| node.uncaught != Uncaught::No);
    found.map(|node| (node.piece.0, node.layer, node.uncaught)).collect()
}

#[test]
fn exceptions_do_not_leave_a_frame_of_which_more_is_expected() {
    let throws = |next: &[u32]| Piece { may_unwind: true, ..plain(next) };
    let pieces = || vec![throws(&[1]), sync(1, &[2]), throws(&[3]), sync(2, &[4]), throws(&[5]), ret()];
    let steps = [did(1), did(2)];
    let product = run(pieces(), frame(&steps)).unwrap();
    assert_eq!(uncaught_in(&product), [(0, 0, Uncaught::All), (2, 1, Uncaught::All)]);
    let stay: Vec<bool> = product.nodes.iter().map(|node| node.must_stay).collect();
    assert_eq!(stay, [true, true, true, true, false, false]);
    // One that may do nothing may leave before its first item, and a thread that ended there may leave behind its last.
    let optional = FrameSteps { is_optional: true, ..frame(&steps) };
    assert_eq!(uncaught_in(&run(pieces(), optional).unwrap()), [(2, 1, Uncaught::All)]);
    let exit = Step { done: Ways::UNWINDS, ends: true, ..did(2) };
    let ends = vec![sync(1, &[1]), Piece { may_unwind: true, ..sync(2, &[]) }];
    assert_eq!(uncaught_in(&run(ends, frame(&[did(1), exit])).unwrap()), []);
}

#[test]
fn a_callee_says_whether_its_exception_is_expected() {
    // for (;;) { f(); if (..) break; } g();
    let f = |free| Piece { may_unwind: true, ..call(1, free, &[1]) };
    let pieces = |free| vec![f(free), plain(&[0, 2]), sync(2, &[3]), ret()];
    let step = |done, free| Step { done, ..called(1, free) };
    let found = |done, free| uncaught_in(&run(pieces(free), frame(&[step(done, free), did(2)])).unwrap());
    // A clone that lets none out needs nothing.
    assert_eq!(found(Ways::RETURNS, Ways::RETURNS), []);
    assert_eq!(found(Ways::ANY, Ways::RETURNS), [(0, 0, Uncaught::IfDone)]);
    assert_eq!(found(Ways::RETURNS, Ways::ANY), [(0, 0, Uncaught::IfNotDone), (0, 1, Uncaught::All)]);
    assert_eq!(found(Ways::ANY, Ways::ANY), [(0, 0, Uncaught::All), (0, 1, Uncaught::All)]);
}

#[test]
fn a_thread_that_ends_inside_is_accepted_there() {
    // pthread_exit in a callee: neither it nor the call comes back.
    let exit = Step { done: Ways::UNWINDS, ends: true, ..did(2) };
    let pieces = vec![sync(1, &[1]), plain(&[2, 3]), sync(2, &[]), ret()];
    let product = run(pieces, frame(&[did(1), exit])).unwrap();
    assert_eq!(shape(&product), "0.0>1.1 1.1>2.1,!1 2.1>");
    assert!(product.ends && product.ways == Ways::NONE);

    let caller = vec![call(1, Ways::NONE, &[1]), sync(3, &[2]), ret()];
    let step = Step { done: Ways::NONE, ends: true, ..called(1, Ways::NONE) };
    assert_eq!(shape(&run(caller.clone(), frame(&[step])).unwrap()), "0.0>!1");
    // Something after it cannot be.
    let misfit = run(caller, frame(&[step, did(3)])).unwrap_err();
    assert_eq!(misfit, Misfit { item: 1, instead: vec![] });
}

#[test]
fn cleanups_run_when_a_thread_exits() {
    // invoke pthread_exit; landing pad: unlock, resume
    let pieces = vec![invoke(sync(1, &[1, 2])), plain(&[]), plain(&[3]), sync(2, &[4]), resume()];
    let exit = Step { done: Ways::UNWINDS, ends: true, ..did(1) };
    let product = run(pieces, frame(&[exit, did(2)])).unwrap();
    assert_eq!(shape(&product), "0.0>!1,2.1 2.1>3.1 3.1>4.2 4.2>");
}

#[test]
fn a_thread_that_was_still_running_runs_on_as_it_is() {
    // for (;;) { lock; unlock; } in a thread that the process left behind after one round
    let pieces = vec![plain(&[1]), sync(1, &[2]), sync(2, &[0])];
    let steps = [did(1), did(2)];
    let product = run(pieces.clone(), FrameSteps { is_open: true, ..frame(&steps) }).unwrap();
    assert_eq!(shape(&product), "0.0>1.0 0.2>1.2 1.0>2.1 1.2>2.2 2.1>0.2 2.2>0.2");
    let beyond = product.nodes.iter().filter(|node| node.role == Role::AsIs).count();
    assert_eq!((beyond, product.ends), (3, true));
    // A thread that returned cannot have done only that.
    let misfit = run(pieces, frame(&steps)).unwrap_err();
    assert_eq!(misfit, Misfit { item: 2, instead: vec![site(1)] });
}

#[test]
fn a_condition_wait_loop_waits_as_often_as_it_did() {
    // lock; while (!ready) wait; unlock. A wait is one item, its begin and its end.
    let pieces = vec![sync(1, &[1]), plain(&[2, 3]), sync(2, &[1]), sync(3, &[4]), ret()];
    let never = run(pieces.clone(), frame(&[did(1), did(3)])).unwrap();
    assert_eq!(shape(&never), "0.0>1.1 1.1>!1,3.1 3.1>4.2 4.2>");
    let twice = run(pieces, frame(&[did(1), did(2), did(2), did(3)])).unwrap();
    assert_eq!(shape(&twice), "0.0>1.1 1.1>2.1,!1 1.2>2.2,!2 1.3>!3,3.3 2.1>1.2 2.2>1.3 3.3>4.4 4.4>");
}

#[test]
fn the_return_of_a_threads_own_call_is_an_item() {
    let pieces = || vec![plain(&[1, 2]), exits(ENTRY, &[3]), exits(ENTRY + 1, &[3]), ret()];
    let steps = [did(ENTRY + 1)];
    let root = run(pieces(), FrameSteps { is_root: true, ..frame(&steps) }).unwrap();
    assert_eq!(shape(&root), "0.0>!0,2.0 2.0>3.1 3.1>");
    let direct = run(pieces(), frame(&[])).unwrap();
    assert_eq!(shape(&direct), "0.0>1.0,2.0 1.0>3.0 2.0>3.0 3.0>");
}

#[test]
fn a_call_through_a_pointer_is_the_item_for_one_function_only() {
    let through = |number, next: &[u32]| Piece {
        act: Act::Calls { site: site(number), callee: Callee::Pointer, free: Ways::RETURNS },
        ..plain(next)
    };
    // for each task: task->run()
    let pieces = vec![plain(&[1, 2]), through(1, &[0]), ret()];
    let product = run(pieces, frame(&[called(1, Ways::NONE)])).unwrap();
    assert_eq!(shape(&product), "0.0>1.0,!0 0.1>1.1,2.1 1.0>0.0 1.0>0.1/1.0 1.1>0.1 2.1>");
    // Called once: another function leaves the schedule.
    let pieces = vec![through(1, &[1]), ret()];
    let product = run(pieces, frame(&[called(1, Ways::NONE)])).unwrap();
    assert_eq!(shape(&product), "0.0>1.1/!0 1.1>");
}

#[test]
fn a_copied_call_is_taken_where_the_rest_fits() {
    // An optimizer copied lock: one copy goes on to s2, the other to s3.
    let pieces = vec![plain(&[1, 2]), sync(1, &[3]), sync(1, &[4]), sync(2, &[5]), sync(3, &[5]), ret()];
    let product = run(pieces, frame(&[did(1), did(3)])).unwrap();
    assert_eq!(shape(&product), "0.0>!0,2.0 2.0>4.1 4.1>5.2 5.2>");
}

#[test]
fn the_first_item_that_does_not_fit_is_named_with_what_can_come() {
    let misfit = run(figure_4_5a(), frame(&[did(1), did(2), did(1)])).unwrap_err();
    assert_eq!(misfit.item, 2);
    assert!(misfit.instead.contains(&site(2)) && misfit.instead.contains(&site(3)));
    let misfit = run(figure_4_5a(), frame(&[did(1), did(2)])).unwrap_err();
    assert_eq!(misfit.item, 2);
    let misfit = run(figure_4_5a(), frame(&[did(7)])).unwrap_err();
    assert_eq!(misfit, Misfit { item: 0, instead: vec![site(1)] });
}

#[test]
fn a_function_without_items_is_all_that_does_not_synchronize() {
    let product = run(figure_4_5a(), frame(&[])).unwrap_err();
    assert_eq!(product.item, 0);
    let pieces = vec![plain(&[1, 2]), sync(1, &[2]), ret()];
    assert_eq!(shape(&run(pieces, frame(&[])).unwrap()), "0.0>!0,2.0 2.0>");
}

#[test]
fn a_search_does_not_walk_what_lies_beyond_the_segment() {
    // A lock loop before a long tail without synchronization: 50,000 rounds and 10,000 pieces.
    let mut pieces = vec![plain(&[1, 2]), sync(1, &[0])];
    pieces.extend((0..10_000).map(|number| plain(&[number + 3])));
    pieces.push(ret());
    let steps = vec![did(1); 50_000];
    let product = run(pieces, frame(&steps)).unwrap();
    assert_eq!(product.nodes.len(), 2 * 50_000 + 10_002);
}
