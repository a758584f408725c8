use super::*;
use crate::testing::builder::*;

#[test]
fn equalities_become_classes_and_the_rest_predicates() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let (u, c, _) = t.table("u", &["c", "z"]).pair();
    let rel = filter(join(join(r, s, vec![eq(a, b)]), u, vec![eq(b, c)]), vec![lt(x, y), lt(x, 5)]);
    let graph = Graph::of(&rel);
    assert_eq!(graph.classes, vec![vec![(0, a), (1, b), (2, c)]]);
    assert_eq!(graph.predicates, vec![Predicate { expr: lt(x, y), units: 0b011 }]);
    assert!(matches!(&graph.units[0].rel, Rel::Filter { predicates, .. } if *predicates == vec![lt(x, 5)]));
    assert!(graph.connects(0b001, 0b100), "by transitivity");
}

#[test]
fn two_equal_columns_of_one_relation_are_compared_there() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, _) = t.table("s", &["b", "y"]).pair();
    let graph = Graph::of(&join(r, s, vec![eq(a, b), eq(x, b)]));
    assert_eq!(graph.classes, vec![vec![(0, a), (1, b)]]);
    assert!(matches!(&graph.units[0].rel, Rel::Filter { predicates, .. } if *predicates == vec![eq(a, x)]));
}

#[test]
fn a_semi_join_needs_only_what_its_condition_mentions() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, _) = t.table("s", &["b", "y"]).pair();
    let (u, c, _) = t.table("u", &["c", "z"]).pair();
    let rel = join_of(JoinKind::Semi, join(r, s, vec![eq(a, b)]), u, vec![eq(x, c)]);
    let graph = Graph::of(&rel);
    let Role::Dependent { needs, .. } = &graph.units[2].role else { panic!("dependent") };
    assert_eq!(*needs, 0b001);
}

#[test]
fn conditions_on_the_null_extended_side_wait_for_it() {
    let mut t = Tables::new();
    let (r, a, _) = t.table("r", &["a", "x"]).pair();
    let (s, b, y) = t.table("s", &["b", "y"]).pair();
    let rel = filter(join_of(JoinKind::Left, r, s, vec![eq(a, b)]), vec![is_null(y)]);
    let graph = Graph::of(&rel);
    assert_eq!(graph.predicates, vec![Predicate { expr: is_null(y), units: 0b11 }]);
}

/// Tables that are joined to each other by equal columns, one after the other.
fn chain(t: &mut Tables, count: usize) -> (Rel, Vec<muster_algebra::ColId>) {
    let (mut rel, first, _) = t.table("t0", &["k", "x"]).pair();
    let mut keys = vec![first];
    for i in 1..count {
        let (next, key, _) = t.table(&format!("t{i}"), &["k", "x"]).pair();
        rel = join(rel, next, vec![eq(keys[i - 1], key)]);
        keys.push(key);
    }
    (rel, keys)
}

#[test]
fn what_exceeds_the_limit_is_a_unit_of_its_own() {
    let mut t = Tables::new();
    let (left, of_left) = chain(&mut t, 35);
    let (right, of_right) = chain(&mut t, 30);
    let graph = Graph::of(&join(left.clone(), right.clone(), vec![eq(of_left[0], of_right[0])]));
    assert_eq!(graph.units.len(), 36, "the smaller input is whole");
    assert_eq!(graph.units[35].rel, right);
    // One after the other: the first ones are joined by themselves.
    let (mut rel, keys) = chain(&mut t, 61);
    for (i, key) in keys.iter().enumerate().take(4) {
        let (inner, _, x) = t.table(&format!("s{i}"), &["k", "x"]).pair();
        rel = join_of(JoinKind::Semi, rel, inner, vec![eq(*key, x)]);
    }
    let graph = Graph::of(&rel);
    assert_eq!(graph.units.len(), UNITS_MAX);
    assert!(matches!(&graph.units[0].rel, Rel::Join { .. }));
    let dependent = graph.units.iter().filter(|u| u.role != Role::Inner).count();
    assert_eq!(dependent, 4);
    assert_eq!(Graph::of_order(&left, false, 2).units.len(), 2);
}
