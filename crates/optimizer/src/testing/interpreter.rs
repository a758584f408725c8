//! Runs relations and plans over small tables of integers, row by row, as their definitions say: what a rewrite or the
//! planner may not change.

use super::scan::scanned;
use muster_algebra::{
    AggregateCall, AggregateFunction, ArithmeticOp, ColId, CompareOp, Expr, JoinKind, LogicOp, Plan, PlanOp,
    Quantifier, Rel, ScalarFunction, SortKey, SubqueryKind, TableDef, Value, lateral_outputs,
};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// A value: an integer (truth values are 0 and 1) or NULL.
pub type Cell = Option<i64>;
pub type Row = BTreeMap<ColId, Cell>;

/// The tables' rows by table name.
#[derive(Debug, Clone, Default)]
pub struct Data {
    pub tables: HashMap<String, Vec<Vec<Cell>>>,
}

impl Data {
    /// The rows of a query, as cells in the order of `output`.
    pub fn rel_rows(&self, rel: &Rel, output: &[ColId]) -> Vec<Vec<Cell>> {
        self.rel(rel, &Row::new()).iter().map(|r| output.iter().map(|id| r[id]).collect()).collect()
    }

    pub fn plan_rows(&self, plan: &Plan) -> Vec<Vec<Cell>> {
        self.plan(plan, &Row::new()).iter().map(|r| plan.output.iter().map(|id| r[id]).collect()).collect()
    }

    fn table(&self, table: &TableDef, columns: &[(ColId, usize)]) -> Vec<Row> {
        self.tables[&table.name].iter().map(|cells| columns.iter().map(|(id, c)| (*id, cells[*c])).collect()).collect()
    }

    fn rel(&self, rel: &Rel, outer: &Row) -> Vec<Row> {
        match rel {
            Rel::Get { table, columns, .. } => self.table(table, columns),
            Rel::Values { columns, rows } => self.values(columns, rows, outer),
            Rel::Filter { input, predicates } => self.filter(self.rel(input, outer), predicates, outer),
            Rel::Project { input, exprs } => self.project(self.rel(input, outer), exprs, outer),
            Rel::Join { kind, left, right, on, .. } => {
                let right_columns = right.output();
                self.join(*kind, self.rel(left, outer), self.rel(right, outer), on, &right_columns, outer)
            }
            Rel::Aggregate { input, group, aggregates } => {
                self.aggregate(self.rel(input, outer), group, aggregates, outer)
            }
            Rel::Window { .. }
            | Rel::Rollup { .. }
            | Rel::Recursive { .. }
            | Rel::Working { .. }
            | Rel::JsonTable { .. } => {
                panic!("window functions are compared with MySQL's")
            }
            Rel::Sort { input, keys } => self.sort(self.rel(input, outer), keys, outer),
            Rel::Limit { input, offset, count } => limit(self.rel(input, outer), *offset, *count),
            Rel::Lateral { input, rows, keeps } => self.lateral(self.rel(input, outer), rows, *keeps, outer),
            Rel::Union { inputs, columns } => {
                let all = inputs.iter().map(|(r, ids)| (self.rel(r, outer), ids));
                all.flat_map(|(rows, ids)| renamed(rows, ids, columns)).collect()
            }
        }
    }

    fn plan(&self, plan: &Plan, outer: &Row) -> Vec<Row> {
        let rows = match &plan.op {
            PlanOp::Scan(scan) => {
                let columns: Vec<(ColId, usize)> = scan.columns.iter().chain(&scan.filter_columns).copied().collect();
                let found = scanned(scan, &self.tables[&scan.table.name]);
                let rows = found.iter().map(|cells| columns.iter().map(|(id, c)| (*id, cells[*c])).collect());
                let rows = self.filter(rows.collect(), &scan.index_condition, outer);
                let rows = self.filter(rows, &scan.filter, outer);
                limit(rows, 0, scan.limit)
            }
            PlanOp::LookupJoin { kind, left, lookup, keys, residual, entry_condition, .. } => {
                // The columns that keys are for may not be among those delivered.
                let parts: Vec<usize> = lookup.table.key_parts(lookup.index).iter().map(|p| p.column).collect();
                let extra = |i: usize| ColId(u32::MAX - i as u32);
                let mut columns: Vec<(ColId, usize)> =
                    lookup.columns.iter().chain(&lookup.filter_columns).copied().collect();
                columns.extend(parts.iter().take(keys.len()).enumerate().map(|(i, c)| (extra(i), *c)));
                let rows = self.table(&lookup.table, &columns);
                let rows = self.filter(rows, &lookup.index_condition, outer);
                let rows = self.filter(rows, &lookup.filter, outer);
                let equal = keys.iter().enumerate().map(|(i, key)| Expr::eq(key.clone(), Expr::Column(extra(i))));
                let on: Vec<Expr> = equal.chain(residual.iter().chain(entry_condition).cloned()).collect();
                let right: Vec<ColId> = columns.iter().map(|(id, _)| *id).collect();
                self.join(*kind, self.plan(left, outer), rows, &on, &right, outer)
            }
            PlanOp::Values { rows } => self.values(&plan.output, rows, outer),
            PlanOp::Filter { input, predicates } => self.filter(self.plan(input, outer), predicates, outer),
            PlanOp::Project { input, exprs } => self.project(self.plan(input, outer), exprs, outer),
            PlanOp::HashJoin { kind, left, right, keys, residual, .. }
            | PlanOp::MergeJoin { kind, left, right, keys, residual } => {
                let on: Vec<Expr> =
                    keys.iter().map(|(l, r)| Expr::eq(l.clone(), r.clone())).chain(residual.iter().cloned()).collect();
                let (left_rows, right_rows) = (self.plan(left, outer), self.plan(right, outer));
                if matches!(plan.op, PlanOp::MergeJoin { .. }) {
                    let keys_of = |row: &Row, key: fn(&(Expr, Expr)) -> &Expr| {
                        keys.iter().map(|pair| self.eval(key(pair), &merged(row, outer))).collect::<Vec<Cell>>()
                    };
                    assert!(
                        left_rows.is_sorted_by_key(|row| keys_of(row, |pair| &pair.0)),
                        "a merge join's left input"
                    );
                    assert!(
                        right_rows.is_sorted_by_key(|row| keys_of(row, |pair| &pair.1)),
                        "a merge join's right input"
                    );
                }
                let rows = self.join(*kind, left_rows, right_rows, &on, &right.output, outer);
                if let (PlanOp::MergeJoin { .. }, [key]) = (&plan.op, plan.order.as_slice()) {
                    assert!(rows.is_sorted_by_key(|row| self.eval(&key.expr, row)), "the order of a merge join");
                }
                rows
            }
            PlanOp::NestedLoopJoin { kind, left, right, on } => {
                self.join(*kind, self.plan(left, outer), self.plan(right, outer), on, &right.output, outer)
            }
            PlanOp::HashAggregate { input, group, aggregates } => {
                self.aggregate(self.plan(input, outer), group, aggregates, outer)
            }
            PlanOp::FinalAggregate { input, group, aggregates } => {
                let partial = match &input.op {
                    PlanOp::Exchange { input, .. } => input,
                    _ => input,
                };
                let PlanOp::PartialAggregate { input, .. } = &partial.op else { panic!("nothing was accumulated") };
                self.aggregate(self.plan(input, outer), group, aggregates, outer)
            }
            PlanOp::Exchange { input, .. } => self.plan(input, outer),
            PlanOp::StreamAggregate { input, group, aggregates } => {
                let rows = self.plan(input, outer);
                assert_grouped(&rows, group);
                self.aggregate(rows, group, aggregates, outer)
            }
            PlanOp::Sort { input, keys, fetch } => limit(self.sort(self.plan(input, outer), keys, outer), 0, *fetch),
            PlanOp::EarlyStop { input, fallback, .. } => self.early_stop(input, fallback, outer),
            PlanOp::Limit { input, offset, count } => limit(self.plan(input, outer), *offset, *count),
            PlanOp::Lateral { input, rows, keeps } => self.lateral(self.plan(input, outer), rows, *keeps, outer),
            PlanOp::UnionAll { inputs, columns } => {
                let all = inputs.iter().zip(columns);
                all.flat_map(|(p, ids)| renamed(self.plan(p, outer), ids, &plan.output)).collect()
            }
            PlanOp::Shared { input, columns, per_run, .. } => {
                let row = if *per_run { outer } else { &Row::new() };
                renamed(self.plan(input, row), columns, &plan.output)
            }
            other => panic!("{other:?} by itself, or not in these tests"),
        };
        // Exactly what is promised, so that nothing above can use more.
        let rows: Vec<Row> = rows.into_iter().map(|r| plan.output.iter().map(|id| (*id, r[id])).collect()).collect();
        let sorted = self.sort(rows.clone(), &plan.order, outer);
        assert_eq!(rows, sorted, "the promised order is not kept");
        rows
    }

    fn values(&self, columns: &[ColId], rows: &[Vec<Expr>], outer: &Row) -> Vec<Row> {
        let row = |cells: &Vec<Expr>| columns.iter().copied().zip(cells.iter().map(|e| self.eval(e, outer))).collect();
        rows.iter().map(row).collect()
    }

    fn filter(&self, rows: Vec<Row>, predicates: &[Expr], outer: &Row) -> Vec<Row> {
        let passes = |r: &Row| predicates.iter().all(|p| truth(self.eval(p, &merged(r, outer))) == Some(true));
        rows.into_iter().filter(passes).collect()
    }

    fn project(&self, rows: Vec<Row>, exprs: &[(ColId, Expr)], outer: &Row) -> Vec<Row> {
        let row = |r: &Row| exprs.iter().map(|(id, e)| (*id, self.eval(e, &merged(r, outer)))).collect();
        rows.iter().map(row).collect()
    }

    fn join(
        &self,
        kind: JoinKind,
        left: Vec<Row>,
        right: Vec<Row>,
        on: &[Expr],
        right_columns: &[ColId],
        outer: &Row,
    ) -> Vec<Row> {
        let mut result = Vec::new();
        for l in left {
            let mut matches = Vec::new();
            let mut unknown = false;
            for r in &right {
                let both = merged(r, &l);
                let all = on.iter().map(|c| truth(self.eval(c, &merged(&both, outer))));
                match all.fold(Some(true), and) {
                    Some(true) => matches.push(both),
                    None => unknown = true,
                    Some(false) => {}
                }
            }
            match kind {
                JoinKind::Inner => result.extend(matches),
                JoinKind::Left if matches.is_empty() => {
                    let mut row = l;
                    row.extend(right_columns.iter().map(|id| (*id, None)));
                    result.push(row);
                }
                JoinKind::Left => result.extend(matches),
                JoinKind::Semi if !matches.is_empty() => result.push(l),
                JoinKind::Anti if matches.is_empty() => result.push(l),
                JoinKind::NullAwareAnti if matches.is_empty() && !unknown => result.push(l),
                _ => {}
            }
        }
        result
    }

    fn aggregate(
        &self,
        rows: Vec<Row>,
        group: &[ColId],
        aggregates: &[(ColId, AggregateCall)],
        outer: &Row,
    ) -> Vec<Row> {
        // In the order in which they come.
        let mut groups: Vec<(Vec<Cell>, Vec<Row>)> = Vec::new();
        if group.is_empty() {
            groups.push((Vec::new(), Vec::new()));
        }
        for row in rows {
            let key: Vec<Cell> = group.iter().map(|id| row[id]).collect();
            match groups.iter_mut().find(|(k, _)| *k == key) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((key, vec![row])),
            }
        }
        let one = |(key, rows): (Vec<Cell>, Vec<Row>)| {
            let mut out: Row = group.iter().copied().zip(key).collect();
            for (id, call) in aggregates {
                out.insert(*id, self.call(call, &rows, outer));
            }
            out
        };
        groups.into_iter().map(one).collect()
    }

    fn early_stop(&self, input: &Plan, fallback: &Plan, outer: &Row) -> Vec<Row> {
        let rows = self.plan(input, outer);
        assert_eq!(rows, self.plan(fallback, outer), "an early stop and its fallback");
        rows
    }

    /// The rows, each with those that a subquery has for it.
    fn lateral(&self, rows: Vec<Row>, subquery: &Expr, keeps: bool, outer: &Row) -> Vec<Row> {
        let added = lateral_outputs(subquery);
        let of_row = |row: Row| {
            let around = merged(&row, outer);
            let found = match subquery {
                Expr::Subquery(q) => self.rel(&q.rel, &around),
                Expr::Subplan(p) => self.plan(&p.plan, &p.params.iter().map(|id| (*id, around[id])).collect()),
                other => panic!("{other:?} has no rows"),
            };
            let mut found: Vec<Row> = found.iter().map(|r| added.iter().map(|id| (*id, r[id])).collect()).collect();
            if found.is_empty() && keeps {
                found.push(added.iter().map(|id| (*id, None)).collect());
            }
            found.into_iter().map(|found| merged(&found, &row)).collect::<Vec<_>>()
        };
        rows.into_iter().flat_map(of_row).collect()
    }

    fn call(&self, call: &AggregateCall, rows: &[Row], outer: &Row) -> Cell {
        let args = |r: &Row| -> Option<Vec<i64>> {
            call.args.iter().map(|e| self.eval(e, &merged(r, outer))).collect::<Option<Vec<i64>>>()
        };
        let mut values: Vec<Vec<i64>> = rows.iter().filter_map(args).collect();
        if call.distinct {
            values.sort();
            values.dedup();
        }
        let mut single = values.iter().map(|v| v.first().copied().unwrap_or(0));
        match call.function {
            AggregateFunction::Count => Some(values.len() as i64),
            AggregateFunction::Sum if values.is_empty() => None,
            AggregateFunction::Sum => Some(single.sum()),
            AggregateFunction::Min => single.min(),
            AggregateFunction::Max => single.max(),
            AggregateFunction::AnyValue => {
                let all: Vec<Cell> = rows.iter().map(|r| self.eval(&call.args[0], &merged(r, outer))).collect();
                assert!(all.windows(2).all(|w| w[0] == w[1]), "ANY_VALUE over different values");
                single.next()
            }
            ref other => panic!("the interpreter has no {other:?}"),
        }
    }

    fn sort(&self, mut rows: Vec<Row>, keys: &[SortKey], outer: &Row) -> Vec<Row> {
        rows.sort_by(|a, b| {
            keys.iter().fold(Ordering::Equal, |order, key| {
                let one = |r: &Row| self.eval(&key.expr, &merged(r, outer));
                let next = one(a).cmp(&one(b));
                order.then(if key.descending { next.reverse() } else { next })
            })
        });
        rows
    }

    pub fn eval(&self, expr: &Expr, row: &Row) -> Cell {
        let sub = |e: &Expr| self.eval(e, row);
        match expr {
            Expr::Column(id) => *row.get(id).unwrap_or_else(|| panic!("no column {id:?}")),
            Expr::Literal { value, .. } => cell(value),
            Expr::Cast { arg, .. } => sub(arg),
            Expr::Compare { op, left, right } => compare(*op, sub(left), sub(right)),
            Expr::Logic { op: LogicOp::And, args } => of(args.iter().map(|a| truth(sub(a))).fold(Some(true), and)),
            Expr::Logic { op: LogicOp::Or, args } => {
                of(args.iter().map(|a| truth(sub(a)).map(|b| !b)).fold(Some(true), and).map(|b| !b))
            }
            Expr::Not(arg) => of(truth(sub(arg)).map(|b| !b)),
            Expr::IsNull { arg, negated } => of(Some(sub(arg).is_none() != *negated)),
            Expr::IsTruth { arg, truth: wanted, negated } => of(Some((truth(sub(arg)) == Some(*wanted)) != *negated)),
            Expr::Arithmetic { op, left, right, .. } => {
                let (a, b) = (sub(left)?, sub(right)?);
                match op {
                    ArithmeticOp::Add => Some(a + b),
                    ArithmeticOp::Sub => Some(a - b),
                    ArithmeticOp::Mul => Some(a * b),
                    other => panic!("the interpreter has no {other:?}"),
                }
            }
            Expr::InList { arg, list, negated } => {
                let value = sub(arg);
                membership(list.iter().map(|e| compare(CompareOp::Eq, value, sub(e))), *negated)
            }
            Expr::Case { branches, otherwise, .. } => {
                let hit = branches.iter().find(|(c, _)| truth(sub(c)) == Some(true));
                hit.map(|(_, r)| r).or(otherwise.as_deref()).and_then(sub)
            }
            Expr::Call { function: ScalarFunction::Coalesce, args, .. } => args.iter().find_map(sub),
            Expr::Subquery(q) => {
                let rows: Vec<Vec<Cell>> =
                    self.rel(&q.rel, row).iter().map(|r| q.outputs.iter().map(|id| r[id]).collect()).collect();
                self.quantified(&q.kind, &rows, row)
            }
            Expr::Subplan(p) => {
                let params: Row = p.params.iter().map(|id| (*id, row[id])).collect();
                let rows: Vec<Vec<Cell>> =
                    self.plan(&p.plan, &params).iter().map(|r| p.outputs.iter().map(|id| r[id]).collect()).collect();
                self.quantified(&p.kind, &rows, row)
            }
            other => panic!("the interpreter has no {other:?}"),
        }
    }

    fn quantified(&self, kind: &SubqueryKind, rows: &[Vec<Cell>], row: &Row) -> Cell {
        match kind {
            SubqueryKind::Scalar => {
                assert!(rows.len() <= 1, "more than one row");
                rows.first().and_then(|r| r[0])
            }
            SubqueryKind::Rows => panic!("rows have no value"),
            SubqueryKind::Exists { negated } => of(Some(rows.is_empty() == *negated)),
            SubqueryKind::In { left, negated } => {
                let left: Vec<Cell> = left.iter().map(|e| self.eval(e, row)).collect();
                let equal = |r: &Vec<Cell>| {
                    let pairs = left.iter().zip(r).map(|(a, b)| truth(compare(CompareOp::Eq, *a, *b)));
                    of(pairs.fold(Some(true), and))
                };
                membership(rows.iter().map(equal), *negated)
            }
            SubqueryKind::Compare { left, op, quantifier } => {
                let value = self.eval(left, row);
                let each = rows.iter().map(|r| compare(*op, value, r[0]));
                match quantifier {
                    Quantifier::Any => membership(each, false),
                    Quantifier::All => of(each.map(truth).fold(Some(true), and)),
                }
            }
        }
    }
}

fn merged(row: &Row, outer: &Row) -> Row {
    let mut all = outer.clone();
    all.extend(row);
    all
}

fn renamed(rows: Vec<Row>, from: &[ColId], to: &[ColId]) -> Vec<Row> {
    rows.iter().map(|r| to.iter().copied().zip(from.iter().map(|id| r[id])).collect()).collect()
}

fn limit(rows: Vec<Row>, offset: u64, count: Option<u64>) -> Vec<Row> {
    rows.into_iter().skip(offset as usize).take(count.map_or(usize::MAX, |n| n as usize)).collect()
}

pub fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => None,
        Value::Bool(b) => Some(*b as i64),
        Value::Int(i) => Some(*i),
        other => panic!("the interpreter has no {other:?}"),
    }
}

fn truth(cell: Cell) -> Option<bool> {
    cell.map(|x| x != 0)
}

fn of(truth: Option<bool>) -> Cell {
    truth.map(i64::from)
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// `x IN (..)` from the comparisons with each element.
fn membership(equal: impl Iterator<Item = Cell>, negated: bool) -> Cell {
    let none = equal.map(|c| truth(c).map(|b| !b)).fold(Some(true), and);
    of(if negated { none } else { none.map(|b| !b) })
}

fn compare(op: CompareOp, a: Cell, b: Cell) -> Cell {
    if op == CompareOp::NullSafeEq {
        return of(Some(a == b));
    }
    let (a, b) = (a?, b?);
    of(Some(match op {
        CompareOp::Eq => a == b,
        CompareOp::NotEq => a != b,
        CompareOp::Lt => a < b,
        CompareOp::LtEq => a <= b,
        CompareOp::Gt => a > b,
        CompareOp::GtEq => a >= b,
        CompareOp::NullSafeEq => unreachable!("answered above"),
    }))
}

fn assert_grouped(rows: &[Row], group: &[ColId]) {
    let keys: Vec<Vec<Cell>> = rows.iter().map(|r| group.iter().map(|id| r[id]).collect()).collect();
    let mut seen: Vec<&Vec<Cell>> = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        if i > 0 && keys[i - 1] == *key {
            continue;
        }
        assert!(!seen.contains(&key), "the input of a stream aggregate is not grouped");
        seen.push(key);
    }
}
