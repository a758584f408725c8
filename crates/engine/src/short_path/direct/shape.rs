//! What a statement asks of one table.

use crate::short_path::{
    key_access::{Conditions, KeyAccess},
    parameter_places::parameters_are_compared,
    plan::{DEPTH_MAX, is_plain},
};
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Expr, Rel, SortKey, TableDef};
use muster_sql::Bound;
use muster_types::SqlType;
use std::{collections::HashMap, sync::Arc};

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

    /// The range of an index that the conditions leave; `None` if they leave all of it.
    pub fn access(&self, index: usize) -> Option<KeyAccess> {
        let conditions =
            Conditions { table: &self.table, all: &self.filter, position: &|id| Some(id.0 as usize), known: &|_| None };
        KeyAccess::of(&conditions, index, &self.columns())
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
        let ty = |id: ColId| table.columns[id.0 as usize].ty;
        parameters_are_compared(&expr, &ty)?;
        Some(expr)
    }
}
