//! Equations that are used up lose nothing and add nothing.

use super::super::equalities::Substitution;
use super::super::near::Neighbourhood;
use super::super::terms::Term;
use super::super::walk::{Walk, Wanted};
use super::small::World;
use super::terms::steps;
use proptest::prelude::*;

/// Facts that hold together: equations of terms, and booleans.
fn facts(world: &mut World, picks: &[(u8, u8, u64)]) -> (Vec<Term>, Vec<bool>) {
    let (mut facts, mut holds) = (Vec::new(), vec![true; 4096]);
    for &(a, b, with) in picks {
        let (one, other) = (world.sample(a), world.sample(b));
        let same_width = world.terms.width(one.term) == world.terms.width(other.term);
        let (fact, values): (Term, Vec<bool>) = if same_width && with % 4 != 0 {
            let equal = one.values.iter().zip(&other.values).map(|(a, b)| a == b).collect();
            (world.terms.eq(one.term, other.term), equal)
        } else {
            world.boolean(a, with)
        };
        if values.iter().zip(&holds).any(|(&value, &holds)| value && holds) {
            holds.iter_mut().zip(&values).for_each(|(holds, &value)| *holds &= value);
            facts.push(fact);
        }
    }
    (facts, holds)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_left_says_the_same(
        program in steps(14),
        picks in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u64>()), 0..6),
    ) {
        let mut world = World::new(&program);
        let (facts, holds) = facts(&mut world, &picks);
        let (mut known, left) = Substitution::of(&mut world.terms, &facts);
        let samples = world.samples.clone();
        let replaced: Vec<Term> =
            samples.iter().map(|sample| known.apply(&mut world.terms, sample.term)).collect();
        for all in 0..4096u64 {
            let value = |term: Term| all >> (4 * term.0) & 15;
            if holds[all as usize] {
                // A model of the facts is one of what is left, and all terms keep their values.
                prop_assert!(left.iter().all(|&fact| world.terms.eval(fact, &value) == 1));
                for (sample, &term) in samples.iter().zip(&replaced) {
                    prop_assert_eq!(world.terms.eval(term, &value), sample.values[all as usize]);
                }
            }
            if left.iter().all(|&fact| world.terms.eval(fact, &value) == 1) {
                // A model of what is left, with the variables as they are defined, is one of the facts.
                let inputs: Vec<u64> =
                    replaced[..3].iter().map(|&term| world.terms.eval(term, &value)).collect();
                let at = inputs[0] | inputs[1] << 4 | inputs[2] << 8;
                prop_assert!(holds[at as usize]);
            }
        }
    }

    #[test]
    fn walks_end_at_models(
        program in steps(14),
        picks in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u64>()), 0..4),
        wanted in prop::collection::vec((any::<u8>(), any::<u64>()), 1..4),
    ) {
        let mut world = World::new(&program);
        let (facts, holds) = facts(&mut world, &picks);
        let wanted: Vec<Wanted> = wanted.iter().map(|&(at, with)| match with % 3 {
            0 => Wanted::Holds(world.boolean(at, with).0),
            1 => Wanted::Fails(world.boolean(at, with).0),
            _ => Wanted::Differs(world.sample(at).term, world.sample(at).values[with as usize % 4096]),
        }).collect();
        let terms = &world.terms;
        let neighbourhood = Neighbourhood::of(terms, &facts);
        let walk = Walk { terms, facts: &facts, neighbourhood: &neighbourhood, wanted: &wanted };
        let mut evaluator = Default::default();
        for all in (0..4096u64).step_by(97) {
            let start = (0..3).map(|at| (world.samples[at].term, all >> (4 * at) & 15)).collect();
            let mut found = vec![walk.starting_anywhere(&start, &facts, &mut evaluator)];
            if holds[all as usize] {
                found.push(walk.starting_at(&start, &mut evaluator));
            }
            for model in found.into_iter().flatten() {
                let value = |term: Term| model.get(&term).copied().unwrap_or(0);
                prop_assert!(facts.iter().all(|&fact| terms.eval(fact, &value) == 1));
                for wanted in &wanted {
                    let is_so = match *wanted {
                        Wanted::Holds(boolean) => terms.eval(boolean, &value) == 1,
                        Wanted::Fails(boolean) => terms.eval(boolean, &value) == 0,
                        Wanted::Differs(term, number) => terms.eval(term, &value) != number,
                    };
                    prop_assert!(is_so, "{:?}", wanted);
                }
            }
        }
    }
}
