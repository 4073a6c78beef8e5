//! Properties of the orders, on simulated runs.

use super::*;
use crate::hooks::ObjectClass;
use crate::schedule::compare::compare;
use crate::schedule::shuffle::{linearization, reordered, Closure, Random};
use crate::schedule::simulate::schedules;
use crate::schedule::{legal, verify};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

fn graph(schedule: &Schedule, order: Order) -> Graph {
    let mut edges = Vec::new();
    for_each_edge(schedule, order, |edge| edges.push(edge));
    Graph { edges, gathers: reduced(schedule, order).gathers }
}

fn fail(error: impl ToString) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// The edges of a graph, but with this one the other way round: the other order that a run could have had if the edge
/// were not enforced. A gather cannot be moved: one of its arrivals is, that does not come before `to` otherwise.
fn reversed(schedule: &Schedule, graph: &Graph, edge: Edge) -> Option<Vec<Edge>> {
    let edges: Vec<Edge> = graph.edges.iter().copied().filter(|&other| other != edge).collect();
    let rest = Closure::new(schedule, &Graph { edges: edges.clone(), gathers: graph.gathers.clone() });
    let first = match edge.from {
        Node::Step(_) => edge.from,
        Node::Gather(number) => {
            let mut arrivals = graph.gathers[number].iter().map(|&index| Node::Step(index));
            arrivals.find(|&arrival| !rest.is_before(arrival, edge.to))?
        }
    };
    let back = Edge { from: edge.to, to: first, kind: edge.kind };
    Some(edges.into_iter().chain([back]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_reduction_orders_what_the_rules_order(schedule in schedules(), total in any::<bool>()) {
        let order = if total { Order::Total } else { Order::Hb };
        let (all, few) = (graph(&schedule, order), reduced(&schedule, order));
        prop_assert!(Closure::new(&schedule, &all).agrees(&Closure::new(&schedule, &few)));
    }

    #[test]
    fn no_edge_of_the_reduction_follows_from_others(schedule in schedules(), total in any::<bool>()) {
        let order = if total { Order::Total } else { Order::Hb };
        let few = reduced(&schedule, order);
        let closure = Closure::new(&schedule, &few);
        for edge in &few.edges {
            let mut others = few.edges.iter().filter(|other| other.to == edge.to);
            prop_assert!(others.clone().filter(|other| other.from == edge.from).count() == 1, "{edge:?} twice");
            prop_assert!(!others.any(|other| closure.is_before(edge.from, other.from)), "{edge:?}");
        }
    }

    #[test]
    fn every_linearization_is_a_legal_run_of_the_same_schedule(schedule in schedules(), seed in any::<u64>()) {
        let graph = reduced(&schedule, Order::Hb);
        let mut random = Random(seed);
        for _ in 0..4 {
            let order = linearization(&schedule, graph.edges.iter().copied(), &mut random);
            let other = reordered(&schedule, &order.ok_or_else(|| fail("a cycle"))?);
            verify::verify(&other).map_err(fail)?;
            legal::check(&other).map_err(fail)?;
            compare(&schedule, &other, Order::Hb).map_err(fail)?;
        }
    }

    /// Not with semaphores: a wait follows the post that is as many posts away, and posts are not ordered.
    #[test]
    fn every_linearization_has_the_same_order(schedule in schedules(), seed in any::<u64>()) {
        let is_semaphore = |&index: &usize| schedule.events[index].op.class() == ObjectClass::Semaphore;
        let mut others: Vec<usize> = steps(&schedule).into_iter().flatten().filter(|step| !is_semaphore(step)).collect();
        others.sort_unstable();
        let schedule = reordered(&schedule, &others);
        let graph = reduced(&schedule, Order::Hb);
        let order = linearization(&schedule, graph.edges.iter().copied(), &mut Random(seed));
        let other = reordered(&schedule, &order.ok_or_else(|| fail("a cycle"))?);
        compare(&other, &schedule, Order::Hb).map_err(fail)?;
        prop_assert_eq!(reduced(&other, Order::Hb).edges.len(), graph.edges.len());
    }

    #[test]
    fn a_run_against_an_edge_is_another_schedule(schedule in schedules(), pick in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let graph = reduced(&schedule, Order::Hb);
        let is_between_threads = |edge: &&Edge| {
            edge.kind != EdgeKind::Program && matches!(edge.to, Node::Step(_))
        };
        let edges: Vec<Edge> = graph.edges.iter().filter(is_between_threads).copied().collect();
        if edges.is_empty() {
            return Ok(());
        }
        let edge = edges[pick.index(edges.len())];
        let Some(edges) = reversed(&schedule, &graph, edge) else { return Ok(()) };
        let order = linearization(&schedule, edges.into_iter(), &mut Random(seed)).ok_or_else(|| fail("a cycle"))?;
        let other = reordered(&schedule, &order);
        prop_assert!(compare(&schedule, &other, Order::Hb).is_err(), "{edge:?}");
    }

    #[test]
    fn under_the_total_order_only_the_recorded_order_is_the_same(schedule in schedules(), seed in any::<u64>()) {
        compare(&schedule, &schedule, Order::Total).map_err(fail)?;
        let graph = reduced(&schedule, Order::Hb);
        let order = linearization(&schedule, graph.edges.iter().copied(), &mut Random(seed));
        let order = order.ok_or_else(|| fail("a cycle"))?;
        let same = order.windows(2).all(|pair| pair[0] < pair[1]);
        let other = reordered(&schedule, &order);
        prop_assert_eq!(compare(&schedule, &other, Order::Total).is_ok(), same);
        let graph = reduced(&schedule, Order::Total);
        let order = linearization(&schedule, graph.edges.iter().copied(), &mut Random(seed));
        prop_assert!(order.ok_or_else(|| fail("a cycle"))?.is_sorted());
    }
}
