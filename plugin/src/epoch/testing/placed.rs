//! Placing, checked by the verifier: random modules get markers, after which LLVM accepts them and every cycle is
//! bounded; and when a marker is taken away, the verifier fails, or it says that the marker was one more than needed.
//! The oracle looks at all paths of the latter, where they are few enough; that is about half of them, and the others
//! rest on the verifier alone. About one marker in five is not missed. What was seen in small ones (not counted):
//! - loops that spin get theirs for another reason than a bound;
//! - a loop's own synchronizations may all be behind a marker of an inner loop or a callee that an iteration can do
//!   without; the rule (Bergan's too) asks for a marker that every iteration passes;
//! - what a recursion does after a call that never comes back is decided before that is known.

use super::draft::{Draft, Shape};
use super::features::Features;
use super::oracle::{Machine, Pump};
use super::{count_from_environment, show, tell, Random};
use crate::epoch::extract::Extracted;
use crate::epoch::place::{place, Decisions, Hints, Why};
use crate::epoch::program::{Action, Block, Flow, FunctionId, Program, Step};
use crate::epoch::verify::check;
use crate::epoch::ways::Spot;
use crate::epoch::{decide, place_markers};
use crate::parameters::EpochOptions;
use covsched_core::SiteId;
use std::collections::BTreeMap;

/// Programs with more points have too many paths to look at all.
const MOST_POINTS: usize = 50;

fn shape(random: &mut Random) -> Shape {
    let structured = random.chance(60);
    Shape {
        functions: 1 + random.below(4),
        size: if structured { 4 } else { 8 },
        structured,
        markers: *random.pick(&[0, 0, 5]),
        calls: 1 + random.below(8),
        exceptions: random.chance(50),
        outside: random.chance(50),
    }
}

/// A copy that needs no LLVM.
fn copy(program: &Program<'_>) -> Program<'static> {
    let step = |step: &Step<'_>| Step { inst: None, action: step.action.clone(), is_invoke: step.is_invoke };
    let block = |block: &Block<'_>| Block {
        steps: block.steps.iter().map(step).collect(),
        next: block.next.clone(),
        leaves: block.leaves,
    };
    let flow = |flow: &Flow<'_>| Flow {
        function: None,
        name: flow.name.clone(),
        blocks: flow.blocks.iter().map(block).collect(),
        loops: flow.loops.clone(),
        irreducible: flow.irreducible.clone(),
    };
    Program { functions: program.functions.iter().map(flow).collect() }
}

/// Whether the program without a marker is bounded by all its paths, if those can be looked at.
fn paths_say(program: &Program<'static>) -> Pump {
    let blocks = program.functions.iter().flat_map(|flow| &flow.blocks);
    if blocks.map(|block| block.steps.len() + 1).sum::<usize>() > MOST_POINTS {
        return Pump::TooMany;
    }
    let mut machine = Machine::new(program, 2 * program.functions.len() + 2);
    match machine.live() {
        Some(live) => machine.unbounded(&live),
        None => Pump::TooMany,
    }
}

/// The program with the markers that were decided on, but one.
fn with_markers(
    program: &Program<'_>,
    decisions: &Decisions,
    but: Option<(FunctionId, Spot)>,
) -> Program<'static> {
    let mut program = copy(program);
    // From behind, so that a marker does not move the others' places.
    for &(function, (block, step)) in decisions.markers.keys().rev().filter(|&&place| Some(place) != but) {
        let steps = &mut program.functions[function.0 as usize].blocks[block.0 as usize].steps;
        steps.insert(step, Step { inst: None, action: Action::Marker(SiteId(2)), is_invoke: false });
    }
    program
}

/// How many markers stand in each function.
fn markers(program: &Program<'_>) -> Vec<usize> {
    let is_marker = |step: &&Step<'_>| matches!(step.action, Action::Marker(_));
    let count = |flow: &Flow<'_>| flow.blocks.iter().flat_map(|block| &block.steps).filter(is_marker).count();
    program.functions.iter().map(count).collect()
}

/// The decisions alone, with every combination of the switches.
#[test]
fn decisions_make_random_programs_bounded_with_every_switch() {
    let modules = count_from_environment("COVSCHED_TEST_MODULES", 500);
    let mut markers = [0; 8];
    for seed in 0..modules as u64 {
        let mut random = Random::new(4 << 32 | seed);
        let shape = shape(&mut random);
        let text = Draft::random(&mut random, shape).text();
        let whole_program = random.chance(50);
        crate::testing::complaints(&text, |module| {
            for (switches, markers) in markers.iter_mut().enumerate() {
                let options = EpochOptions {
                    no_trivial: switches & 1 != 0,
                    no_covered: switches & 2 != 0,
                    no_barrier: switches & 4 != 0,
                    whole_program,
                    ..EpochOptions::default()
                };
                let program = Program::of(module, options);
                let hints = vec![Hints::default(); program.functions.len()];
                let decisions = place(&program, &hints, options, true);
                let marked = with_markers(&program, &decisions, None);
                let found = check(&marked);
                assert!(found.is_empty(), "seed {seed} ({options:?}): {found:?}\n{}\n{text}", show(&marked));
                *markers += decisions.markers.len();
            }
        });
    }
    tell(&format!(
        "{modules} programs; markers by switches (1 no-trivial, 2 no-covered, 4 no-barrier): {markers:?}"
    ));
    assert!(markers[1..].iter().all(|&count| count > markers[0]));
}

/// What became of the markers that were taken away.
#[derive(Default)]
struct Taken {
    /// The verifier missed them.
    missed: usize,
    /// It did not, and no path did.
    proven: usize,
    /// It did not, and there were too many paths to look at.
    unproven: usize,
}

/// Takes a few of the markers away, one at a time.
fn take_away(
    random: &mut Random,
    program: &Program<'_>,
    decisions: &Decisions,
    taken: &mut BTreeMap<&'static str, Taken>,
) {
    let places: Vec<(FunctionId, Spot)> = decisions.markers.keys().copied().collect();
    for _ in 0..places.len().min(2) {
        let place = *random.pick(&places);
        let smaller = with_markers(program, decisions, Some(place));
        let taken = taken
            .entry(match decisions.markers[&place] {
                Why::Loop => "loop",
                Why::Spin => "spin",
                Why::Recursion => "recursion",
            })
            .or_default();
        if !check(&smaller).is_empty() {
            taken.missed += 1;
            continue;
        }
        match paths_say(&smaller) {
            Pump::Found => {
                panic!("not bounded without {place:?}, and the verifier is content\n{}", show(&smaller))
            }
            Pump::None => taken.proven += 1,
            Pump::TooMany => taken.unproven += 1,
        }
    }
}

#[test]
fn random_modules_with_markers_are_bounded_and_markers_are_missed() {
    let modules = count_from_environment("COVSCHED_TEST_MODULES", 500);
    let mut features = Features::default();
    let (mut placed, mut were_unbounded) = (0, 0);
    let mut taken = BTreeMap::new();
    for seed in 0..modules as u64 {
        let mut random = Random::new(3 << 32 | seed);
        let shape = shape(&mut random);
        let draft = Draft::random(&mut random, shape);
        let options = EpochOptions { whole_program: random.chance(50), ..EpochOptions::default() };
        let text = draft.text();
        let about = || format!("seed {seed}, {options:?}\n{text}");
        let complaints = crate::testing::complaints(&text, |module| {
            let extracted = Extracted::of(module, options);
            let decisions = decide(&extracted, options, true);
            let before = copy(&extracted.program);
            features.count(&draft, &before);
            were_unbounded += usize::from(!check(&before).is_empty());

            let changed = place_markers(module, options);
            let program = Program::of(module, options);
            let found = check(&program);
            assert!(found.is_empty(), "{found:?}\n{}\n{}", show(&program), about());
            assert_eq!(markers(&program), markers(&with_markers(&before, &decisions, None)), "{}", about());
            assert!(changed || decisions.markers.is_empty(), "{}", about());
            assert!(!place_markers(module, options), "placing again changes something: {}", about());
            placed += decisions.markers.len();

            take_away(&mut random, &before, &decisions, &mut taken);
        });
        let errors: Vec<&String> =
            complaints.iter().filter(|text| text.contains("bug in covsched")).collect();
        assert!(errors.is_empty(), "{errors:?}\n{}", about());
    }
    tell(&format!(
        "{modules} modules, of which {were_unbounded} were not bounded; with {placed} markers all are"
    ));
    for (why, Taken { missed, proven, unproven }) in &taken {
        tell(&format!(
            "{why} markers taken away: {missed} missed; not missed: {proven} by any path, {unproven} have too many paths"
        ));
    }
    tell(&features.show());
    features.assert_each_at_least(modules / 100);
    let sum = |of: fn(&Taken) -> usize| taken.values().map(of).sum::<usize>();
    assert!(
        sum(|taken| taken.missed) > sum(|taken| taken.proven + taken.unproven),
        "most markers should be needed"
    );
}
