//! The verifier against the oracle, on many small programs. A failure prints the seed and the program;
//! `COVSCHED_TEST_PROGRAMS` makes it more of them (`scripts/test --long`).

use super::draft::{Draft, Shape};
use super::oracle::{Machine, Point, Pump};
use super::{count_from_environment, show, tell, Random};
use crate::epoch::program::{Action, Program};
use crate::epoch::verify::{check, Unbounded, Way};
use crate::parameters::EpochOptions;
use std::collections::HashSet;

fn small(random: &mut Random) -> Shape {
    let functions = 1 + random.below(3);
    Shape {
        functions,
        size: if functions == 1 { 5 } else { 3 },
        structured: random.chance(30),
        markers: *random.pick(&[5, 15, 30]),
        calls: 1 + random.below(if functions == 3 { 4 } else { 5 }),
        exceptions: random.chance(40),
        outside: random.chance(30),
    }
}

/// A program that all paths of can be looked at.
fn draw(random: &mut Random, shape: Shape) -> Program<'static> {
    loop {
        let program = Draft::random(random, shape).program(random.chance(70));
        let blocks = || program.functions.iter().flat_map(|flow| &flow.blocks);
        let points: usize = blocks().map(|block| block.steps.len() + 1).sum();
        if points <= 20 {
            return program;
        }
    }
}

/// Frames enough for everything to show: a cycle passes each function at most twice (once for each of two trivial
/// kinds), and the calls beside it once.
fn depth(program: &Program<'_>) -> usize {
    2 * program.functions.len() + 2
}

/// Whether a path repeats the cycle that was reported.
fn confirm(machine: &Machine<'_>, live: &HashSet<Point>, unbounded: &Unbounded) -> Pump {
    let mut result = Pump::None;
    for point in live.iter().copied() {
        let block = unbounded.blocks.iter().any(|&(f, b)| (f.0, b.0) == (point.0, point.1));
        if !block {
            continue;
        }
        let pump = match unbounded.way {
            Way::Cycle | Way::Descent => machine.pump_down(point, false),
            Way::Ascent => machine.pump_up(point, live, false),
        };
        match pump {
            Pump::Found => return Pump::Found,
            Pump::TooMany => result = Pump::TooMany,
            Pump::None => {}
        }
    }
    result
}

/// More than any path between two markers can have if the program is bounded: a frame runs a step that synchronizes at
/// most once; a call is a tree of as many levels as there are functions; as many frames are left, then entered.
fn most_synchronizations(program: &Program<'_>) -> usize {
    let steps = program.functions.iter().flat_map(|flow| &flow.blocks).flat_map(|block| &block.steps);
    let calls = steps.clone().filter(|step| matches!(step.action, Action::Calls { .. })).count();
    let functions = program.functions.len();
    2 * functions * steps.count() * (calls + 1).pow(functions as u32)
}

#[test]
fn the_verifier_agrees_with_every_path() {
    let programs = count_from_environment("COVSCHED_TEST_PROGRAMS", 4000);
    let (mut bounded, mut ways, mut given_up) = (0, [0; 3], 0);
    for seed in 0..programs as u64 {
        let mut random = Random::new(seed);
        let shape = small(&mut random);
        let program = draw(&mut random, shape);
        let found = check(&program);
        let mut machine = Machine::new(&program, depth(&program));
        let Some(live) = machine.live() else {
            given_up += 1;
            continue;
        };
        match (machine.unbounded(&live), found.is_empty()) {
            (Pump::Found, false) => {
                for unbounded in &found {
                    ways[unbounded.way as usize] += 1;
                    let confirmed = confirm(&machine, &live, unbounded);
                    assert_ne!(
                        confirmed,
                        Pump::None,
                        "seed {seed}: not repeated: {unbounded:?}\n{}",
                        show(&program)
                    );
                }
            }
            (Pump::None, true) => bounded += 1,
            (Pump::TooMany, _) => given_up += 1,
            (pump, _) => {
                panic!("seed {seed}: paths say {pump:?}, the verifier {found:?}\n{}", show(&program))
            }
        }
    }
    tell(&format!(
        "{programs} programs: {bounded} bounded; cycles not bounded: {} inside, {} down, {} up; {given_up} given up",
        ways[Way::Cycle as usize],
        ways[Way::Descent as usize],
        ways[Way::Ascent as usize]
    ));
    assert!(bounded * 5 > programs && ways.iter().all(|&count| count * 100 > programs));
    assert!(given_up * 20 < programs, "{given_up} of {programs} programs were too large for the oracle");
}

#[test]
fn long_walks_stay_below_a_bound_where_the_verifier_says_so() {
    let programs = count_from_environment("COVSCHED_TEST_PROGRAMS", 4000) / 10;
    let (mut bounded, mut beyond, mut unbounded) = (0, 0, 0);
    for seed in 0..programs as u64 {
        let mut random = Random::new(1 << 32 | seed);
        let shape = Shape { outside: true, markers: 20, ..small(&mut random) };
        let program = draw(&mut random, shape);
        let bound = most_synchronizations(&program);
        let machine = Machine::new(&program, 64);
        let walks = |random: &mut Random, length| machine.walk(random, length);
        if check(&program).is_empty() {
            bounded += 1;
            for length in [1_000, 10_000, 30_000] {
                let count = walks(&mut random, length);
                assert!(
                    count <= bound,
                    "seed {seed}: {count} synchronizations, at most {bound}\n{}",
                    show(&program)
                );
            }
        } else {
            unbounded += 1;
            beyond += usize::from(walks(&mut random, 30_000) > bound);
        }
    }
    tell(&format!(
        "{programs} programs: {bounded} bounded; of {unbounded} others a walk went beyond in {beyond}"
    ));
    assert!(bounded * 5 > programs);
}

/// The program of the module's text and the draft's own are checked alike.
#[test]
fn a_module_and_its_draft_are_bounded_alike() {
    let programs = count_from_environment("COVSCHED_TEST_PROGRAMS", 4000) / 5;
    let mut bounded = 0;
    for seed in 0..programs as u64 {
        let mut random = Random::new(2 << 32 | seed);
        let structured = random.chance(50);
        let shape = Shape {
            functions: 1 + random.below(4),
            size: if structured { 2 } else { 5 },
            structured,
            ..small(&mut random)
        };
        let draft = Draft::random(&mut random, shape);
        let whole_program = random.chance(50);
        let expected = check(&draft.program(whole_program));
        let text = draft.text();
        let complaints = crate::testing::complaints(&text, |module| {
            let options = EpochOptions { whole_program, ..EpochOptions::default() };
            let mut program = Program::of(module, options);
            // A draft does not say what exits depend on.
            for flow in &mut program.functions {
                flow.loops.iter_mut().for_each(|natural| natural.may_go_on = false);
                flow.irreducible.iter_mut().for_each(|part| part.may_go_on = false);
            }
            let found = check(&program);
            assert_eq!(
                found.iter().map(|found| (found.way, &found.function, &found.why)).collect::<Vec<_>>(),
                expected.iter().map(|found| (found.way, &found.function, &found.why)).collect::<Vec<_>>(),
                "seed {seed}\n{text}\n{}\n{}",
                show(&draft.program(whole_program)),
                show(&program)
            );
            bounded += usize::from(found.is_empty());
        });
        assert_eq!(complaints, [""; 0], "seed {seed}");
    }
    tell(&format!("{programs} modules: {bounded} bounded"));
}
