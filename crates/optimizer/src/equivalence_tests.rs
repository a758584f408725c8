//! Random queries over small tables full of NULLs: the plan gives the rows that the relation means, with all rewrites,
//! and with any of them off.

use crate::testing::builder::*;
use crate::testing::interpreter::{Cell, Data};
use crate::testing::random::Random;
use crate::testing::statistics::Injected;
use crate::{Options, optimize};
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, CompareOp, Expr, JoinKind, LogicOp, Plan, PlanOp, Quantifier, Rel,
    ScalarFunction, SortKey, SubqueryKind, Switch, TableDef,
};
use muster_types::SqlType;
use std::sync::Arc;

/// Makes queries. `visible`: columns of the queries around the one being made.
struct Generator {
    random: Random,
    tables: Tables,
    defs: Vec<Arc<TableDef>>,
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut tables = Tables::new();
        let mut defs = Vec::new();
        for name in ["r", "s", "t"] {
            let table = tables.table_with(name, &["id", "a", "b"], |def| {
                def.indexes.push(index(1, "i_a", &[1], false));
                def.indexes.push(index(2, "i_ba", &[2, 1], false));
                // One table with a column that cannot be NULL, and a unique one.
                if name == "s" {
                    def.columns[1].nullable = false;
                }
            });
            let Rel::Get { table, .. } = table.rel else { unreachable!("a table") };
            defs.push(table);
        }
        Generator { random: Random::new(seed), tables, defs }
    }

    fn data(&mut self) -> Data {
        let mut data = Data::default();
        for def in self.defs.clone() {
            let n = self.random.below(7);
            let mut rows = Vec::new();
            for id in 0..n {
                let mut row: Vec<Cell> = vec![Some(id as i64)];
                for column in &def.columns[1..] {
                    let null = column.nullable && self.random.one_in(4);
                    row.push((!null).then(|| self.random.below(4) as i64));
                }
                rows.push(row);
            }
            data.tables.insert(def.name.clone(), rows);
        }
        data
    }

    fn table(&mut self) -> Rel {
        let def = self.random.pick(&self.defs);
        self.tables.get(def).rel
    }

    fn scalar(&mut self, columns: &[ColId]) -> Expr {
        if columns.is_empty() || self.random.one_in(4) {
            return (self.random.below(4) as i64).expr();
        }
        let column = self.random.pick(columns).expr();
        if self.random.one_in(8) {
            let right = Box::new(1.expr());
            let op = muster_algebra::ArithmeticOp::Add;
            return Expr::Arithmetic { op, left: Box::new(column), right, ty: SqlType::INT };
        }
        column
    }

    fn comparison(&mut self, columns: &[ColId], others: &[ColId]) -> Expr {
        use CompareOp::*;
        let op = self.random.pick(&[Eq, Eq, Eq, Eq, NotEq, Lt, LtEq, Gt, GtEq, NullSafeEq]);
        let left = self.scalar(columns);
        let right = self.scalar(others);
        Expr::compare(op, left, right)
    }

    /// A condition over `own` columns and, inside a subquery, sometimes `visible` ones.
    fn condition(&mut self, own: &[ColId], visible: &[ColId], depth: usize) -> Expr {
        match self.random.below(if depth > 0 { 14 } else { 9 }) {
            0 => is_null(self.random.pick(own)),
            1 => not_null(self.random.pick(own)),
            2 => in_list(self.random.pick(own), &[1, 3]),
            3 => {
                let op = self.random.pick(&[LogicOp::And, LogicOp::Or, LogicOp::Or]);
                let args = (0..2).map(|_| self.condition(own, visible, 0)).collect();
                Expr::Logic { op, args }
            }
            4 => Expr::Not(Box::new(self.condition(own, visible, depth.saturating_sub(1)))),
            5 | 6 if !visible.is_empty() => self.comparison(own, visible),
            5..=8 => self.comparison(own, own),
            9 if depth > 0 => {
                let args = vec![self.condition(own, visible, depth), self.condition(own, visible, 0)];
                Expr::Logic { op: self.random.pick(&[LogicOp::And, LogicOp::Or]), args }
            }
            _ => self.subquery(own, visible, depth - 1),
        }
    }

    fn subquery(&mut self, own: &[ColId], visible: &[ColId], depth: usize) -> Expr {
        let around: Vec<ColId> = own.iter().chain(visible).copied().collect();
        let negated = self.random.one_in(2);
        let left = self.scalar(own);
        match self.random.below(4) {
            0 => {
                let rel = self.select(&around, depth);
                let outputs = rel.output();
                subquery(SubqueryKind::Exists { negated }, rel, &outputs)
            }
            1 => {
                let rel = self.select(&around, depth);
                let output = self.random.pick(&rel.output());
                subquery(SubqueryKind::In { left: vec![left], negated }, rel, &[output])
            }
            2 => {
                let rel = self.select(&around, depth);
                let output = self.random.pick(&rel.output());
                let op = self.random.pick(&[CompareOp::Eq, CompareOp::NotEq, CompareOp::Lt]);
                let quantifier = self.random.pick(&[Quantifier::Any, Quantifier::All]);
                subquery(SubqueryKind::Compare { left: Box::new(left), op, quantifier }, rel, &[output])
            }
            _ => {
                let scalar = self.scalar_subquery(&around, depth);
                let op = self.random.pick(&[CompareOp::Eq, CompareOp::Lt, CompareOp::GtEq]);
                Expr::compare(op, left, scalar)
            }
        }
    }

    /// An aggregate without group: one row always.
    fn scalar_subquery(&mut self, around: &[ColId], depth: usize) -> Expr {
        let (rel, columns) = self.joined_tables(around, depth);
        let (aggregate, id) = self.aggregate(rel, &[], &columns);
        if self.random.one_in(2) {
            return subquery(SubqueryKind::Scalar, aggregate, &[id]);
        }
        let twice = self.tables.computed("twice");
        let (left, right) = (Box::new(id.expr()), Box::new(2.expr()));
        let op = muster_algebra::ArithmeticOp::Mul;
        let value = Expr::Arithmetic { op, left, right, ty: SqlType::BIGINT };
        subquery(SubqueryKind::Scalar, project(aggregate, vec![(twice, value)]), &[twice])
    }

    fn aggregate(&mut self, rel: Rel, group: &[ColId], columns: &[ColId]) -> (Rel, ColId) {
        use AggregateFunction::*;
        let function = self.random.pick(&[Count, Sum, Min, Max]);
        let arg = self.random.pick(columns);
        let (mut rel, id) = self.tables.aggregate(rel, group, function, Some(arg));
        if let Rel::Aggregate { aggregates, .. } = &mut rel {
            aggregates[0].1.distinct = self.random.one_in(3);
            if self.random.one_in(3) {
                let again: AggregateCall = aggregates[0].1.clone();
                aggregates.push((self.tables.columns.add_computed("again", again.ty, true), again));
            }
        }
        (rel, id)
    }

    /// Joined tables with conditions, and their columns.
    fn joined_tables(&mut self, visible: &[ColId], depth: usize) -> (Rel, Vec<ColId>) {
        let mut rel = self.relation(depth);
        for _ in 0..self.random.below(3) {
            let right = self.relation(depth);
            let (left_columns, right_columns) = (rel.output(), right.output());
            let kind = self.random.pick(&[
                JoinKind::Inner,
                JoinKind::Inner,
                JoinKind::Inner,
                JoinKind::Left,
                JoinKind::Semi,
                JoinKind::Anti,
            ]);
            let mut on = vec![self.comparison(&left_columns, &right_columns)];
            if self.random.one_in(2) {
                let both: Vec<ColId> = left_columns.iter().chain(&right_columns).copied().collect();
                on.push(self.condition(&both, visible, 0));
            }
            if kind == JoinKind::Inner && self.random.one_in(4) {
                on.clear();
            }
            rel = join_of(kind, rel, right, on);
        }
        let columns = rel.output();
        let predicates: Vec<Expr> =
            (0..self.random.below(4)).map(|_| self.condition(&columns, visible, depth)).collect();
        if !predicates.is_empty() {
            rel = filter(rel, predicates);
        }
        (rel, columns)
    }

    /// A table, or a derived one.
    fn relation(&mut self, depth: usize) -> Rel {
        if depth == 0 || !self.random.one_in(4) { self.table() } else { self.select(&[], depth - 1) }
    }

    fn select(&mut self, visible: &[ColId], depth: usize) -> Rel {
        let (rel, columns) = self.joined_tables(visible, depth);
        match self.random.below(7) {
            0 => {
                let group: Vec<ColId> = (0..1 + self.random.below(3)).map(|_| self.random.pick(&columns)).collect();
                let mut unique: Vec<ColId> = Vec::new();
                group.into_iter().for_each(|g| {
                    if !unique.contains(&g) {
                        unique.push(g)
                    }
                });
                let (rel, id) = self.aggregate(rel, &unique, &columns);
                if self.random.one_in(2) {
                    let mut own = unique.clone();
                    own.push(id);
                    let having = self.condition(&own, visible, 0);
                    return filter(rel, vec![having]);
                }
                rel
            }
            1 => {
                let group = vec![self.random.pick(&columns)];
                Rel::Aggregate { input: Box::new(rel), group, aggregates: vec![] }
            }
            2 => {
                let (other, others) = self.joined_tables(visible, depth);
                let out = self.tables.computed("u");
                let inputs = vec![(rel, vec![self.random.pick(&columns)]), (other, vec![self.random.pick(&others)])];
                Rel::Union { inputs, columns: vec![out] }
            }
            _ => {
                let mut exprs = Vec::new();
                for _ in 0..1 + self.random.below(3) {
                    let id = self.random.pick(&columns);
                    let expr = match self.random.below(5) {
                        0 if depth > 0 => {
                            let around: Vec<ColId> = columns.iter().chain(visible).copied().collect();
                            self.scalar_subquery(&around, depth - 1)
                        }
                        1 => self.scalar(&columns),
                        2 => {
                            let args = vec![self.scalar(&columns), 2.expr()];
                            Expr::Call { function: ScalarFunction::Coalesce, args, ty: SqlType::INT }
                        }
                        _ => id.expr(),
                    };
                    let out = if expr == id.expr() && !exprs.iter().any(|(o, _)| *o == id) {
                        id
                    } else {
                        self.tables.computed("x")
                    };
                    exprs.push((out, expr));
                }
                project(rel, exprs)
            }
        }
    }
}

/// Rows in an order of their own, as no query here promises one.
fn sorted(mut rows: Vec<Vec<Cell>>) -> Vec<Vec<Cell>> {
    rows.sort();
    rows
}

fn check(seed: u64, options: &Options) -> Plan {
    let mut options = options.clone();
    options.threads = 1 + seed as usize % 2;
    let options = &options;
    let mut generator = Generator::new(seed);
    let rel = generator.select(&[], 2);
    let data = generator.data();
    let statistics = Injected::default().rows("r", 6.0).rows("s", 1e5).rows("t", 1e3);
    let output = rel.output();
    let expected = sorted(data.rel_rows(&rel, &output));
    let mut columns = generator.tables.columns.clone();
    let plan = optimize(rel.clone(), &mut columns, &statistics, options)
        .unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{rel:#?}"));
    assert_eq!(plan.output, output, "seed {seed}");
    let found = sorted(data.plan_rows(&plan));
    if expected != found {
        let off: Vec<&Switch> = Switch::ALL.iter().filter(|switch| !options.is_on(**switch)).collect();
        panic!("seed {seed}, off {off:?}: expected {expected:?}, found {found:?}");
    }
    plan
}

const QUERIES: u64 = 600;

#[test]
fn plans_give_the_rows_of_the_relation() {
    (0..2 * QUERIES).for_each(|seed| {
        check(seed, &Options::default());
    });
}

#[test]
fn no_rewrite_is_needed_for_the_right_rows() {
    for seed in 0..QUERIES {
        let switch = Switch::ALL[seed as usize % Switch::ALL.len()];
        let mut options = Options::default();
        options.set(switch, !options.is_on(switch));
        check(seed, &options);
    }
}

#[test]
fn other_costs_give_the_same_rows() {
    let defaults = Options::default().cost.constants();
    for seed in 0..QUERIES {
        let mut options = Options::default();
        // Each constant is a hundredth of what it should be, or right, or a hundred times as large.
        for (i, constant) in defaults.iter().enumerate() {
            let factor = [0.01, 1.0, 100.0][(seed as usize * 7 + i * i * 13 + (seed as usize >> (i % 5))) % 3];
            options.cost.set(constant.name, constant.value * factor);
        }
        check(seed, &options);
    }
}

#[test]
fn greedy_orders_give_the_same_rows() {
    let mut options = Options::default();
    options.exhaustive_relations_max = 1;
    (0..QUERIES / 4).for_each(|seed| {
        check(seed, &options);
    });
}

#[test]
fn regions_in_parts_give_the_same_rows() {
    for units_max in [2, 3] {
        let mut options = Options::default();
        options.region_relations_max = units_max;
        (0..QUERIES / 2).for_each(|seed| {
            check(seed, &options);
        });
    }
}

/// The kinds of the merge joins of a plan.
fn merged(plan: &Plan, kinds: &mut Vec<JoinKind>) {
    if let PlanOp::MergeJoin { kind, .. } = &plan.op {
        kinds.push(*kind);
    }
    plan.inputs().into_iter().for_each(|input| merged(input, kinds));
}

#[test]
fn joins_that_are_forced_give_the_same_rows() {
    for switch in [Switch::HashJoin, Switch::BatchedKeyAccess] {
        let mut options = Options::default();
        options.force(switch);
        (0..QUERIES).for_each(|seed| {
            check(seed, &options);
        });
    }
}

#[test]
fn joins_in_key_order_give_the_same_rows() {
    let mut options = Options::default();
    options.force(Switch::MergeJoin);
    let mut kinds = Vec::new();
    (0..2 * QUERIES).for_each(|seed| merged(&check(seed, &options), &mut kinds));
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        let count = kinds.iter().filter(|k| **k == kind).count();
        assert!(count > 5, "{kind:?}: {count} merge joins");
    }
}

#[test]
fn ordered_and_limited_queries_give_the_first_rows() {
    for seed in 0..QUERIES / 2 {
        let mut generator = Generator::new(seed);
        let table = generator.table();
        let columns = table.output();
        let condition = generator.condition(&columns, &[], 0);
        // The key column at the end makes the order complete.
        let last = SortKey { expr: columns[0].expr(), descending: generator.random.one_in(2) };
        let keys: Vec<SortKey> = (0..1 + generator.random.below(2))
            .map(|_| SortKey { expr: generator.random.pick(&columns).expr(), descending: generator.random.one_in(2) })
            .chain([last])
            .collect();
        let input = if generator.random.one_in(2) { table } else { filter(table, vec![condition]) };
        let sort = Rel::Sort { input: Box::new(input), keys };
        let (offset, count) = (generator.random.below(3) as u64, Some(generator.random.below(4) as u64));
        let rel = Rel::Limit { input: Box::new(sort), offset, count };
        let data = generator.data();
        let statistics = Injected::default().rows("r", 6.0).rows("s", 1e6).rows("t", 1e3);
        let expected = data.rel_rows(&rel, &columns);
        let mut all = generator.tables.columns.clone();
        let plan = optimize(rel, &mut all, &statistics, &Options::default()).expect("a plan");
        assert_eq!(data.plan_rows(&plan), expected, "seed {seed}");
    }
}
