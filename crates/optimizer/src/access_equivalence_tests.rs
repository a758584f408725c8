//! Random ways to read one table: whatever indexes there are, whatever statistics and switches say, the plan gives the
//! rows of a full scan with a filter.

use crate::testing::builder::*;
use crate::testing::interpreter::{Cell, Data};
use crate::testing::random::Random;
use crate::testing::statistics::Injected;
use crate::{Options, optimize};
use muster_algebra::{
    AggregateCall, AggregateFunction, ColId, CompareOp, Expr, IndexDef, IndexHint, IndexHintKind, IndexHintScope,
    KeyPart, KeyRange, LogicOp, Plan, PlanOp, Rel, SortKey, SqlType, Switch, TableDef,
};
use std::collections::BTreeMap;

const COLUMNS: [&str; 5] = ["id", "a", "b", "c", "d"];

struct Case {
    random: Random,
    tables: Tables,
    get: Rel,
    ids: Vec<ColId>,
}

impl Case {
    fn new(seed: u64) -> Case {
        let mut random = Random::new(seed);
        let mut tables = Tables::new();
        let made = tables.table_with("t", &COLUMNS, |def| {
            def.columns[2].nullable = false;
            def.columns[4].nullable = false;
            let primary = random.pick(&[vec![0], vec![0], vec![2, 0], vec![4, 0], vec![]]);
            let turned = random.one_in(5);
            def.indexes[0].parts = parts(&primary, |_| turned);
            for i in 0..2 + random.below(3) {
                let mut left = vec![1, 2, 3, 4];
                let count = 1 + random.below(3);
                let columns: Vec<usize> = (0..count).map(|_| left.remove(random.below(left.len()))).collect();
                let descending = random.below(8);
                let parts = parts(&columns, |p| descending & (1 << p) != 0 && descending < 4);
                let name = format!("i{}", i + 1);
                def.indexes.push(IndexDef { id: i as u32 + 1, name, parts, unique: false, invisible: false });
            }
        });
        Case { random, tables, get: made.rel, ids: made.ids }
    }

    fn definition(&self) -> &TableDef {
        let Rel::Get { table, .. } = &self.get else { unreachable!("a table") };
        table
    }

    fn data(&mut self) -> Data {
        let nullable: Vec<bool> = self.definition().columns.iter().map(|c| c.nullable).collect();
        let count = self.random.below(30);
        let rows = (0..count).map(|id| {
            let cell = |c: usize, random: &mut Random| -> Cell {
                let null = nullable[c] && random.one_in(4);
                (!null).then(|| random.below(5) as i64)
            };
            let mut row = vec![Some(id as i64)];
            row.extend((1..COLUMNS.len()).map(|c| cell(c, &mut self.random)));
            row
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        Data { tables: [("t".to_string(), rows)].into() }
    }

    fn statistics(&mut self) -> Injected {
        let mut statistics = Injected::default().rows("t", self.random.pick(&[1e2, 1e4, 1e6]));
        for column in 0..COLUMNS.len() {
            statistics = statistics.distinct("t", column, self.random.pick(&[2.0, 10.0, 1e3, 1e5]));
        }
        for index in 1..self.definition().indexes.len() {
            if self.random.one_in(3) {
                statistics = statistics.dive("t", index, self.random.pick(&[1.0, 50.0, 1e4]));
            }
        }
        statistics
    }

    fn options(&mut self) -> Options {
        let mut options = Options::default();
        for _ in 0..self.random.below(4) {
            let switch = self.random.pick(Switch::ALL);
            options.set(switch, !options.is_on(switch));
        }
        if self.random.one_in(8) {
            options.range_optimizer_max_mem_size = 230 * self.random.below(4) as u64;
        }
        options
    }

    fn hints(&mut self) -> Vec<IndexHint> {
        use IndexHintScope::*;
        let count = if self.random.one_in(3) { 1 + self.random.below(2) } else { 0 };
        let indexes = self.definition().indexes.len();
        let hint = |random: &mut Random| IndexHint {
            kind: random.pick(&[IndexHintKind::Use, IndexHintKind::Force, IndexHintKind::Ignore]),
            scope: random.pick(&[All, Join, OrderBy, GroupBy]),
            indexes: (0..1 + random.below(2)).map(|_| random.below(indexes)).collect(),
        };
        (0..count).map(|_| hint(&mut self.random)).collect()
    }

    fn condition(&mut self, depth: usize) -> Expr {
        use CompareOp::*;
        if depth > 0 && !self.random.one_in(3) {
            let op = self.random.pick(&[LogicOp::And, LogicOp::Or]);
            return Expr::Logic {
                op,
                args: (0..2 + self.random.below(2)).map(|_| self.condition(depth - 1)).collect(),
            };
        }
        let column = self.random.pick(&self.ids);
        let value = self.random.below(5) as i64;
        match self.random.below(8) {
            0 => is_null(column),
            1 => not_null(column),
            2 => in_list(column, &[value, 3, 1]),
            3 => {
                let list = vec![value.expr(), 2.expr()];
                Expr::InList { arg: Box::new(column.expr()), list, negated: true }
            }
            4 => eq(column, value),
            5 => compare(self.random.pick(&[Eq, NotEq, Lt]), column, self.random.pick(&self.ids.clone())),
            _ => compare(self.random.pick(&[Eq, Eq, NotEq, Lt, LtEq, Gt, GtEq, NullSafeEq]), column, value),
        }
    }

    /// The table with hints and conditions.
    fn filtered(&mut self) -> Rel {
        let mut get = self.get.clone();
        if let Rel::Get { hints, .. } = &mut get {
            *hints = self.hints();
        }
        let predicates: Vec<Expr> = if self.random.one_in(6) {
            // What several indexes are good for.
            let value = |random: &mut Random| random.below(5) as i64;
            (1..COLUMNS.len() - 1).map(|c| eq(self.ids[c], value(&mut self.random))).collect()
        } else {
            (0..self.random.below(4)).map(|_| self.condition(2)).collect()
        };
        if predicates.is_empty() { get } else { filter(get, predicates) }
    }

    fn some_columns(&mut self, count: usize) -> Vec<ColId> {
        let mut chosen: Vec<ColId> = (0..count).map(|_| self.random.pick(&self.ids)).collect();
        chosen.sort();
        chosen.dedup();
        chosen
    }

    fn query(&mut self) -> (Rel, bool) {
        let input = self.filtered();
        match self.random.below(5) {
            0 => {
                let count = 1 + self.random.below(3);
                let exprs = self.some_columns(count).into_iter().map(|id| (id, id.expr())).collect();
                (project(input, exprs), false)
            }
            1 => {
                // The key column makes the order complete.
                let mut keys: Vec<SortKey> = Vec::new();
                let count = 1 + self.random.below(2);
                for id in self.some_columns(count).into_iter().chain([self.ids[0]]) {
                    keys.push(SortKey { expr: id.expr(), descending: self.random.one_in(2) });
                }
                if self.random.one_in(2) {
                    keys.iter_mut().for_each(|k| k.descending = false);
                }
                let sort = Rel::Sort { input: Box::new(input), keys };
                let count = if self.random.one_in(3) { None } else { Some(self.random.below(5) as u64) };
                (Rel::Limit { input: Box::new(sort), offset: self.random.below(2) as u64, count }, true)
            }
            kind => {
                let count = 1 + self.random.below(2);
                let group = if kind == 2 { Vec::new() } else { self.some_columns(count) };
                let mut aggregates = Vec::new();
                for _ in 0..usize::from(kind == 2) + self.random.below(3) {
                    let function = match self.random.below(9) {
                        0 => AggregateFunction::Count,
                        n if n % 2 == 0 => AggregateFunction::Min,
                        _ => AggregateFunction::Max,
                    };
                    let args = vec![self.random.pick(&self.ids).expr()];
                    let call = AggregateCall { function, args, distinct: false, ty: SqlType::INT };
                    aggregates.push((self.tables.columns.add_computed("x", SqlType::INT, true), call));
                }
                (Rel::Aggregate { input: Box::new(input), group, aggregates }, false)
            }
        }
    }
}

fn parts(columns: &[usize], descending: impl Fn(usize) -> bool) -> Vec<KeyPart> {
    let part = |(i, c): (usize, &usize)| KeyPart { column: *c, prefix: None, descending: descending(i) };
    columns.iter().enumerate().map(part).collect()
}

/// How often each way to read was chosen.
type Seen = BTreeMap<&'static str, usize>;

fn note(plan: &Plan, seen: &mut Seen) {
    let mut count = |name: &'static str| *seen.entry(name).or_default() += 1;
    match &plan.op {
        PlanOp::Scan(scan) => {
            let whole = scan.ranges == [KeyRange::all()];
            match (whole, scan.steering.is_empty()) {
                (true, false) => count("skip scan"),
                (false, false) => count("steered range"),
                (false, true) if scan.ranges.len() > 1 => count("several ranges"),
                (false, true) => count("range"),
                (true, true) => count("whole index"),
            }
            if scan.distinct_prefix.is_some() {
                count(if scan.reverse { "last of each group" } else { "first of each group" });
            }
            if scan.ordered && scan.limit == Some(1) && scan.distinct_prefix.is_none() {
                count("one row");
            }
            if scan.ordered && scan.index > 0 {
                count("ordered");
            }
        }
        PlanOp::LookupJoin { left, .. } => match &left.op {
            PlanOp::HashAggregate { .. } | PlanOp::FinalAggregate { .. } => count("union"),
            PlanOp::Sort { .. } => count("late fetch"),
            _ => count("intersection"),
        },
        PlanOp::EarlyStop { .. } => count("order with a fallback"),
        PlanOp::UnionAll { .. } => count("several ends"),
        _ => {}
    }
    plan.inputs().into_iter().for_each(|input| note(input, seen));
}

fn check(seed: u64, seen: &mut Seen) {
    let mut case = Case::new(seed);
    let (rel, ordered) = case.query();
    let (data, statistics, options) = (case.data(), case.statistics(), case.options());
    let output = rel.output();
    let in_order = |mut rows: Vec<Vec<Cell>>| {
        if !ordered {
            rows.sort();
        }
        rows
    };
    let expected = in_order(data.rel_rows(&rel, &output));
    let mut columns = case.tables.columns.clone();
    let plan = optimize(rel.clone(), &mut columns, &statistics, &options)
        .unwrap_or_else(|e| panic!("seed {seed}: {e:?}\n{rel:#?}"));
    assert_eq!(plan.output, output, "seed {seed}");
    crate::plan::validate::validate(&plan, &Default::default(), &columns)
        .unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
    let found = in_order(data.plan_rows(&plan));
    if expected != found {
        let text = muster_explain::tree(&plan, &columns);
        panic!(
            "seed {seed}: expected {expected:?}, found {found:?}\n{text}\n{data:?}\n{:?}",
            case.definition().indexes
        );
    }
    note(&plan, seen);
}

#[test]
fn every_way_to_read_gives_the_rows_of_a_full_scan() {
    let mut seen = Seen::new();
    (0..28_000).for_each(|seed| check(seed, &mut seen));
    let ways = [
        "range",
        "several ranges",
        "steered range",
        "skip scan",
        "ordered",
        "first of each group",
        "last of each group",
        "one row",
        "several ends",
        "union",
        "intersection",
        "late fetch",
        "order with a fallback",
    ];
    for way in ways {
        assert!(seen.get(way).copied().unwrap_or(0) >= 20, "{way} is hardly tested: {seen:?}");
    }
}
