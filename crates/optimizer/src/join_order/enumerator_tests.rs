use super::*;
use crate::testing::builder::*;
use muster_algebra::{JoinKind, Rel};

/// Rows of a set are given; a join costs the rows it makes.
struct Given(fn(Units) -> f64);

impl JoinModel for Given {
    fn rows(&self, units: Units) -> f64 {
        (self.0)(units)
    }

    fn unit_cost(&self, _unit: usize) -> f64 {
        0.0
    }

    fn join_cost(&self, left: Units, right: Units, _dependent: Option<usize>) -> f64 {
        self.rows(left | right)
    }

    fn lookup_cost(&self, _left: Units, _unit: usize) -> Option<f64> {
        None
    }
}

/// a - b - c - d.
fn chain(n: usize) -> Rel {
    let mut t = Tables::new();
    let first = t.table("t", &["k", "f"]);
    let (mut rel, mut last) = (first.rel, first.ids[1]);
    for _ in 1..n {
        let next = t.table("t", &["k", "f"]);
        rel = join(rel, next.rel, vec![eq(last, next.ids[0])]);
        last = next.ids[1];
    }
    rel
}

fn best(graph: &Graph, model: &Given) -> Tree {
    enumerate(graph, model, 10, &Interrupt::default()).expect("nothing interrupts it")
}

fn unit(i: usize) -> Box<Tree> {
    Box::new(Tree::Unit(i))
}

#[test]
fn finds_bushy_trees() {
    let graph = Graph::of(&chain(4));
    // The middle join is the bad one: it comes last.
    let model = Given(|units| match units {
        0b0011 | 0b1100 => 1.0,
        0b1111 => 10.0,
        u if u.count_ones() == 1 => 100.0,
        _ => 1e6,
    });
    let best_tree = best(&graph, &model);
    let bushy = Tree::Inner(Box::new(Tree::Inner(unit(0), unit(1))), Box::new(Tree::Inner(unit(2), unit(3))));
    assert_eq!(best_tree, bushy);
    assert_eq!(best_tree.units(), 0b1111);
}

#[test]
fn no_cross_product_unless_needed() {
    let graph = Graph::of(&chain(3));
    // The cross product of the ends would be cheapest.
    let model = Given(|units| if units == 0b101 { 0.001 } else { 1.0 });
    assert!(!matches!(best(&graph, &model), Tree::Inner(a, _) if a.units() == 0b101));
    let mut t = Tables::new();
    let (r, _, _) = t.table("r", &["a", "x"]).pair();
    let (s, _, _) = t.table("s", &["b", "y"]).pair();
    assert_eq!(best(&Graph::of(&join(r, s, vec![])), &model).units(), 0b11);
}

#[test]
fn a_semi_join_moves_to_where_it_pays() {
    let mut t = Tables::new();
    let (r, a, x) = t.table("r", &["a", "x"]).pair();
    let (s, b, _) = t.table("s", &["b", "y"]).pair();
    let (u, c, _) = t.table("u", &["c", "z"]).pair();
    let rel = join_of(JoinKind::Semi, join(r, s, vec![eq(a, b)]), u, vec![eq(x, c)]);
    let graph = Graph::of(&rel);
    let early = Given(|units| if units & 0b100 != 0 { 1.0 } else { 1000.0 });
    let first = Tree::Dependent(unit(0), 2);
    assert_eq!(best(&graph, &early), Tree::Inner(Box::new(first), unit(1)));
    let late = Given(|units| if units & 0b010 != 0 { 1.0 } else { 1000.0 });
    let joined = Tree::Inner(unit(0), unit(1));
    assert_eq!(best(&graph, &late), Tree::Dependent(Box::new(joined), 2));
}

#[test]
fn large_regions_are_ordered_greedily() {
    let graph = Graph::of(&chain(30));
    let model = Given(|units| units.count_ones() as f64);
    assert_eq!(best(&graph, &model).units(), (1 << 30) - 1);
}
