//! A plan that is made once for all values: one table, read by key, and what is done with its rows.

use super::{
    key_access::KeyAccess,
    run::RunFigures,
    sink::{KEPT_MAX, Kept},
};
use crate::ColumnInfo;
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Expr, Rel, SortKey, TableDef, TableId};
use muster_exec::{QueryCounters, counters::OperatorCounter};
use muster_explain::counters::PlanCounts;
use muster_sql::Bound;
use muster_storage::{
    Table,
    counters::Counter,
    key::{KeyCodec, KeyKind, KeyPartCodec},
};
use muster_types::SqlType;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

/// Expressions are evaluated on the stack of a connection, so they must not be nested deeply.
pub(super) const DEPTH_MAX: usize = 16;

/// An aggregate over the rows that are left.
#[derive(Debug, Clone)]
pub struct Aggregate {
    pub function: AggregateFunction,
    /// Position among the table's columns; `None`: COUNT(*).
    pub column: Option<usize>,
    pub ty: SqlType,
}

/// What becomes of the rows that conditions leave.
#[derive(Debug, Clone)]
pub enum Body {
    /// These columns of each row.
    Rows(Vec<usize>),
    /// Each combination of these columns once.
    Distinct(Vec<usize>),
    /// One row; positions among the aggregates.
    Aggregate { aggregates: Vec<Aggregate>, outputs: Vec<usize> },
}

/// What a statement asks of one table. Columns are positions in the table; those of expressions are `ColId`s of the
/// same numbers.
#[derive(Debug, Clone)]
pub struct Shape {
    pub table: Arc<TableDef>,
    pub filter: Vec<Expr>,
    pub body: Body,
    /// Columns and whether they descend.
    pub order: Vec<(usize, bool)>,
    pub offset: u64,
    pub limit: Option<u64>,
}

/// A plan of the short path.
pub struct ShortPlan {
    pub(super) table: Weak<Table>,
    /// The table, and the views that it is read through.
    used: Vec<TableId>,
    pub(super) shape: Shape,
    pub(super) access: KeyAccess,
    /// Conditions that the range of keys does not imply.
    pub(super) filter: Vec<Expr>,
    /// For each column of the table: where the tree that is read stores it.
    pub(super) stored: Vec<Option<usize>>,
    /// Makes the keys that rows are ordered by.
    pub(super) order: Option<KeyCodec>,
    /// The status variables that the general path counts up for the statement, and its cost in milliseconds.
    pub(super) counts: PlanCounts,
    pub(super) cost_ms: f64,
    pub(super) in_key_order: bool,
    pub(super) columns: Vec<ColumnInfo>,
    pub kept: Kept,
}

/// What the general path does for the same statement.
pub struct General {
    pub columns: Vec<ColumnInfo>,
    /// The table, and the views that it is read through.
    pub used: Vec<TableId>,
    pub counts: PlanCounts,
    pub cost_ms: f64,
    /// True if it fetches rows in the order of their keys.
    pub in_key_order: bool,
}

impl ShortPlan {
    /// `None` if the tree lacks something.
    pub fn new(shape: Shape, access: KeyAccess, table: &Arc<Table>, general: General) -> Option<ShortPlan> {
        let read = if access.whole_rows { 0 } else { access.index };
        let layout = table.trees().get(read)?.layout();
        let stored: Vec<Option<usize>> = (0..shape.table.columns.len()).map(|c| layout.column_of(c)).collect();
        let mut filter = shape.filter.clone();
        let mut implied = access.implied.iter();
        filter.retain(|_| implied.next() != Some(&true));
        let order = match &shape.body {
            Body::Distinct(columns) => {
                let rest = columns.iter().filter(|c| !shape.order.iter().any(|(o, _)| o == *c)).map(|c| (*c, false));
                Some(shape.order.iter().copied().chain(rest).collect())
            }
            _ if shape.order.is_empty() => None,
            _ => Some(shape.order.clone()),
        };
        let part = |(column, descending): (usize, bool)| {
            let definition = &shape.table.columns[column];
            let kind = KeyKind::of(&definition.ty);
            Some(KeyPartCodec {
                column: stored[column]?,
                kind,
                nullable: definition.nullable,
                descending,
                prefix: None,
            })
        };
        let order = match order {
            None => None,
            Some(order) => {
                let order: Vec<(usize, bool)> = order;
                Some(KeyCodec { parts: order.into_iter().map(part).collect::<Option<_>>()? })
            }
        };
        let mut needed = shape.columns();
        filter.iter().flat_map(Expr::columns).for_each(|id| needed.push(id.0 as usize));
        if needed.iter().any(|c| stored[*c].is_none()) {
            return None;
        }
        let General { columns, used, counts, cost_ms, in_key_order } = general;
        Some(ShortPlan {
            table: Arc::downgrade(table),
            used,
            shape,
            access,
            filter,
            stored,
            order,
            counts,
            cost_ms,
            in_key_order,
            columns,
            kept: Kept::default(),
        })
    }

    /// The table that the plan reads, and the views that it is read through.
    pub fn used(&self) -> &[TableId] {
        &self.used
    }

    /// The table, as long as it is there.
    pub fn table(&self) -> Option<Arc<Table>> {
        self.table.upgrade()
    }

    /// About how many bytes the plan has, with all that sinks keep with it. Its expressions are as small as its text.
    pub fn footprint(&self) -> usize {
        let text = |c: &ColumnInfo| {
            [&c.name, &c.database, &c.table, &c.org_table, &c.org_name].map(String::len).iter().sum::<usize>()
        };
        let columns: usize = self.columns.iter().map(|c| size_of::<ColumnInfo>() + text(c)).sum();
        size_of::<ShortPlan>() + columns * (1 + KEPT_MAX) + size_of_val(&*self.stored) + size_of_val(&*self.used)
    }

    pub fn counts(&self) -> &PlanCounts {
        &self.counts
    }

    pub fn cost_ms(&self) -> f64 {
        self.cost_ms
    }

    /// Counts what a run has read and sorted.
    pub fn count(&self, figures: &RunFigures, counters: &QueryCounters) {
        figures.read.add_to(counters.storage(), self.access.single, figures.passed);
        if self.in_key_order {
            counters.storage().add(Counter::key_order_fetches, 1);
        }
        if figures.sorted > 0 {
            counters.add(OperatorCounter::sorted_rows, figures.sorted);
        }
    }

    /// The columns of the result.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }
}

impl Shape {
    /// The shape of a bound statement; `None` if it is not one that the short path knows.
    pub fn of(bound: &Bound) -> Option<Shape> {
        let mut reader = Reader { names: HashMap::new(), aggregates: Vec::new() };
        let mut shape = reader.read(&bound.rel)?;
        let is_aggregate = matches!(shape.body, Body::Aggregate { .. });
        let mut outputs = Vec::new();
        for (id, _) in &bound.outputs {
            let (position, ty) = match *reader.names.get(id)? {
                ValueSource::Column(c) if !is_aggregate => (c, shape.table.columns[c].ty),
                ValueSource::Aggregate(i) => (i, reader.aggregates[i].ty),
                ValueSource::Column(_) => return None,
            };
            if bound.columns.ty(*id) != ty {
                return None;
            }
            outputs.push(position);
        }
        match &mut shape.body {
            Body::Rows(columns) => *columns = outputs,
            Body::Distinct(columns) => {
                if outputs.iter().any(|c| !columns.contains(c)) || columns.iter().any(|c| !outputs.contains(c)) {
                    return None;
                }
                *columns = outputs;
            }
            Body::Aggregate { aggregates, outputs: all } => (*aggregates, *all) = (reader.aggregates, outputs),
        }
        (shape.filter.iter().all(|e| is_plain(e, DEPTH_MAX)) && shape.has_known_order()).then_some(shape)
    }

    /// The shape of the search of a statement that changes rows of one table; it has no columns.
    pub fn of_search(rel: &Rel) -> Option<Shape> {
        let shape = Reader { names: HashMap::new(), aggregates: Vec::new() }.read(rel)?;
        shape.filter.iter().all(|e| is_plain(e, DEPTH_MAX)).then_some(shape)
    }

    /// The columns that rows, aggregates and their order need.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = match &self.body {
            Body::Rows(columns) | Body::Distinct(columns) => columns.clone(),
            Body::Aggregate { aggregates, .. } => aggregates.iter().filter_map(|a| a.column).collect(),
        };
        columns.extend(self.order.iter().map(|(c, _)| *c));
        columns
    }

    /// Rows that are distinct are ordered by what they have.
    fn has_known_order(&self) -> bool {
        match &self.body {
            Body::Rows(_) => true,
            Body::Distinct(columns) => self.order.iter().all(|(c, _)| columns.contains(c)),
            Body::Aggregate { .. } => self.order.is_empty() && self.limit.is_none(),
        }
    }
}

/// What a column of the statement is.
#[derive(Debug, Clone, Copy)]
enum ValueSource {
    Column(usize),
    Aggregate(usize),
}

/// Reads a relation from the table upward.
struct Reader {
    names: HashMap<ColId, ValueSource>,
    aggregates: Vec<Aggregate>,
}

impl Reader {
    fn read(&mut self, rel: &Rel) -> Option<Shape> {
        match rel {
            Rel::Get { table, columns, hints, .. } if hints.is_empty() && !table.id.is_virtual() => {
                self.names.extend(columns.iter().map(|(id, c)| (*id, ValueSource::Column(*c))));
                Some(Shape {
                    table: table.clone(),
                    filter: Vec::new(),
                    body: Body::Rows(Vec::new()),
                    order: Vec::new(),
                    offset: 0,
                    limit: None,
                })
            }
            Rel::Filter { input, predicates } => {
                let mut shape = self.read(input)?;
                let is_before_all = matches!(shape.body, Body::Rows(_)) && shape.order.is_empty();
                if !is_before_all || shape.limit.is_some() || shape.offset > 0 {
                    return None;
                }
                for predicate in predicates.iter().cloned().flat_map(Expr::into_conjuncts) {
                    let predicate = self.of_table(&shape.table, predicate)?;
                    shape.filter.push(predicate);
                }
                Some(shape)
            }
            Rel::Project { input, exprs } => {
                let shape = self.read(input)?;
                for (id, expr) in exprs {
                    let Expr::Column(from) = expr else { return None };
                    let source = *self.names.get(from)?;
                    self.names.insert(*id, source);
                }
                Some(shape)
            }
            Rel::Aggregate { input, group, aggregates } => self.aggregate(input, group, aggregates),
            Rel::Sort { input, keys } => {
                let mut shape = self.read(input)?;
                if shape.limit.is_some() || shape.offset > 0 || !shape.order.is_empty() {
                    return None;
                }
                shape.order = keys.iter().map(|key| self.order(key)).collect::<Option<_>>()?;
                Some(shape)
            }
            Rel::Limit { input, offset, count } => {
                let mut shape = self.read(input)?;
                if shape.limit.is_some() || shape.offset > 0 {
                    return None;
                }
                (shape.offset, shape.limit) = (*offset, *count);
                Some(shape)
            }
            _ => None,
        }
    }

    fn order(&self, key: &SortKey) -> Option<(usize, bool)> {
        let Expr::Column(id) = key.expr else { return None };
        match self.names.get(&id)? {
            ValueSource::Column(c) => Some((*c, key.descending)),
            ValueSource::Aggregate(_) => None,
        }
    }

    fn aggregate(&mut self, input: &Rel, group: &[ColId], calls: &[(ColId, AggregateCall)]) -> Option<Shape> {
        let mut shape = self.read(input)?;
        let is_before_all = matches!(shape.body, Body::Rows(_)) && shape.order.is_empty();
        if !is_before_all || shape.limit.is_some() || shape.offset > 0 {
            return None;
        }
        if calls.is_empty() {
            let columns = group.iter().map(|id| match self.names.get(id)? {
                ValueSource::Column(c) => Some(*c),
                ValueSource::Aggregate(_) => None,
            });
            shape.body = Body::Distinct(columns.collect::<Option<Vec<_>>>()?);
            return (!group.is_empty()).then_some(shape);
        }
        if !group.is_empty() {
            return None;
        }
        for (id, call) in calls {
            let aggregate = self.aggregate_of(&shape.table, call)?;
            self.names.insert(*id, ValueSource::Aggregate(self.aggregates.len()));
            self.aggregates.push(aggregate);
        }
        shape.body = Body::Aggregate { aggregates: Vec::new(), outputs: Vec::new() };
        Some(shape)
    }

    /// Aggregates whose value does not depend on the order of rows.
    fn aggregate_of(&self, table: &TableDef, call: &AggregateCall) -> Option<Aggregate> {
        let column = match call.args.as_slice() {
            [] => None,
            [Expr::Column(id)] => match self.names.get(id)? {
                ValueSource::Column(c) => Some(*c),
                ValueSource::Aggregate(_) => return None,
            },
            _ => return None,
        };
        let from = column.map(|c| table.columns[c].ty);
        let is_known = match (&call.function, from) {
            (AggregateFunction::Count, _) => !call.distinct && matches!(call.ty, SqlType::Int { unsigned: false, .. }),
            (AggregateFunction::Sum, Some(SqlType::Int { .. })) => {
                !call.distinct && matches!(call.ty, SqlType::Decimal { scale: 0, .. })
            }
            (AggregateFunction::Sum, Some(SqlType::Decimal { scale, .. })) => {
                !call.distinct && matches!(call.ty, SqlType::Decimal { scale: of_sum, .. } if of_sum == scale)
            }
            (AggregateFunction::Min | AggregateFunction::Max, Some(from)) => {
                call.ty == from
                    && (from.is_numeric() || from.is_temporal())
                    && !matches!(from, SqlType::Float | SqlType::Double)
            }
            _ => false,
        };
        is_known.then(|| Aggregate { function: call.function.clone(), column, ty: call.ty })
    }

    /// The expression over positions in the table.
    fn of_table(&self, table: &TableDef, mut expr: Expr) -> Option<Expr> {
        fn rename(expr: &mut Expr, names: &HashMap<ColId, ValueSource>) -> Option<()> {
            if let Expr::Column(id) = expr {
                let ValueSource::Column(c) = names.get(id)? else { return None };
                *id = ColId(*c as u32);
            }
            expr.children_mut().into_iter().try_for_each(|child| rename(child, names))
        }
        rename(&mut expr, &self.names)?;
        Self::parameters_are_compared(table, &expr)?;
        Some(expr)
    }

    /// Parameters may stand for values only where all values of their type mean the same: on one side of a comparison
    /// whose other side is a column of the same kind. `None` if one stands elsewhere.
    fn parameters_are_compared(table: &TableDef, expr: &Expr) -> Option<()> {
        fn has_parameter(expr: &Expr) -> bool {
            let mut found = false;
            expr.visit(&mut |e| found |= matches!(e, Expr::Parameter { .. }));
            found
        }
        fn bare(expr: &Expr) -> &Expr {
            match expr {
                Expr::Cast { arg, .. } => arg,
                other => other,
            }
        }
        match expr {
            Expr::Compare { left, right, .. } => match (bare(left), bare(right)) {
                (Expr::Column(id), Expr::Parameter { ty, .. }) | (Expr::Parameter { ty, .. }, Expr::Column(id)) => {
                    let column = table.columns[id.0 as usize].ty;
                    (column.is_integer() && ty.is_integer() || column.is_text() && ty.is_text()).then_some(())
                }
                _ => (!has_parameter(expr)).then_some(()),
            },
            Expr::Logic { args, .. } => args.iter().try_for_each(|arg| Self::parameters_are_compared(table, arg)),
            Expr::Not(arg) => Self::parameters_are_compared(table, arg),
            other => (!has_parameter(other)).then_some(()),
        }
    }
}

/// Returns true if the expression may be evaluated row by row: no subqueries, no functions that differ from call to
/// call.
pub(super) fn is_plain(expr: &Expr, depth: usize) -> bool {
    let is_known = match expr {
        Expr::Subquery(_) | Expr::Subplan(_) => false,
        Expr::Call { function, .. } => function.is_deterministic(),
        _ => true,
    };
    is_known && depth > 0 && expr.children().into_iter().all(|child| is_plain(child, depth - 1))
}
