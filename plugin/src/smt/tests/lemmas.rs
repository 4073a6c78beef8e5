//! Lemmas are true of every assignment that fulfils the facts.

use super::super::lemmas::Lemmatizer;
use super::super::ranges::Ranges;
use super::super::terms::Term;
use super::small::World;
use super::terms::steps;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lemmas_hold_where_the_facts_hold(program in steps(16), facts in prop::collection::vec(any::<u8>(), 0..3)) {
        // Operations that lemmas are about.
        let program: Vec<_> = program.into_iter().map(|(op, a, b, c)| ([2, 3, 4, 5, 6, op][usize::from(op) % 6], a, b, c)).collect();
        let mut world = World::new(&program);
        let booleans: Vec<Term> =
            world.samples.iter().map(|sample| sample.term).filter(|&term| world.terms.width(term) == 1).collect();
        let facts: Vec<Term> =
            facts.iter().filter_map(|&at| booleans.get(usize::from(at) % booleans.len().max(1)).copied()).collect();
        let mut ranges = Ranges::of(&world.terms, &facts);
        let roots: Vec<Term> = world.samples.iter().map(|sample| sample.term).collect();
        let (first, second) = roots.split_at(roots.len() / 2);
        let mut lemmatizer = Lemmatizer::default();
        let given = lemmatizer.lemmas(&mut world.terms, &mut ranges, first, None);
        let more = lemmatizer.lemmas(&mut world.terms, &mut ranges, second, Some(&given));
        for &lemma in given.claims.iter().chain(&more.claims) {
            for all in (0..4096u64).step_by(7) {
                let value = |term: Term| {
                    let at = world.samples.iter().position(|sample| sample.term == term).unwrap();
                    all >> (4 * at) & 15
                };
                if facts.iter().any(|&fact| world.terms.eval(fact, &value) == 0) {
                    continue;
                }
                prop_assert_eq!(world.terms.eval(lemma, &value), 1, "{}", world.terms.show(lemma));
            }
        }
    }
}
