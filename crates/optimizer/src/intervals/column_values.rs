//! The values of a column for which a condition on it alone is TRUE.

use super::{Cut, Interval, complement, is_ordered, normalised};
use crate::literal::{exact_value, floor_value, is_lossless_cast, planned_value};
use muster_algebra::{ColId, CompareOp, Expr, SqlType, Value};
use muster_types::collation::LikePattern;

/// Longer lists of values that a column must not have are left to the filter, as in MySQL (`NOT_IN_IGNORE_THRESHOLD`):
/// what remains between them is most of the index.
const NOT_IN_MAX: usize = 1000;

/// What a condition says of one column.
pub struct ColumnValues {
    pub column: ColId,
    pub values: Values,
}

pub enum Values {
    /// Normalised. `exact`: the condition is TRUE for all of them.
    Intervals { intervals: Vec<Interval>, exact: bool },
    /// Texts that a pattern may match: by what they begin with.
    Like(LikePattern),
}

impl ColumnValues {
    /// `None` if the condition is of another kind. `ty_of`: types of the columns in question, `None` for all others.
    pub fn of(condition: &Expr, ty_of: &dyn Fn(ColId) -> Option<SqlType>) -> Option<ColumnValues> {
        match condition {
            Expr::Compare { op, left, right } => {
                let (column, op, constant) = match bare_column(left, ty_of) {
                    Some(column) => (column, *op, right),
                    None => (bare_column(right, ty_of)?, op.mirrored(), left),
                };
                column.intervals(compared(op, constant, column.ty)?)
            }
            Expr::InList { arg, list, negated } => {
                let column = bare_column(arg, ty_of)?;
                column.intervals(listed(list, *negated, column.ty)?)
            }
            Expr::IsNull { arg, negated } => {
                let column = bare_column(arg, ty_of)?;
                let interval = if *negated { Interval::NOT_NULL } else { Interval::point(Value::Null) };
                column.intervals(vec![interval])
            }
            // NULL-safe equality is never NULL itself, so NOT of it holds for all other values.
            Expr::Not(arg) => match &**arg {
                Expr::Compare { op: CompareOp::NullSafeEq, .. } => {
                    let ColumnValues { column, values } = ColumnValues::of(arg, ty_of)?;
                    let Values::Intervals { intervals, exact } = values else { return None };
                    let values = Values::Intervals { intervals: complement(&intervals), exact };
                    Some(ColumnValues { column, values })
                }
                _ => None,
            },
            Expr::Like { arg, pattern, escape, negated: false } => {
                let Expr::Column(id) = &**arg else { return None };
                let SqlType::Text { collation, .. } = ty_of(*id)? else { return None };
                let (pattern, from) = planned_value(pattern)?;
                let values = match pattern {
                    Value::Null => Values::Intervals { intervals: Vec::new(), exact: true },
                    Value::Text(text) if from.collation() == Some(collation) => {
                        Values::Like(LikePattern::new(text, *escape, collation))
                    }
                    _ => return None,
                };
                Some(ColumnValues { column: *id, values })
            }
            _ => None,
        }
    }
}

struct BareColumn {
    id: ColId,
    ty: SqlType,
}

impl BareColumn {
    fn intervals(&self, intervals: Vec<Interval>) -> Option<ColumnValues> {
        // Doubles have two zeros, which the key makes one.
        let exact = !matches!(self.ty.stored_type(), SqlType::Float | SqlType::Double);
        let intervals = normalised(intervals, self.ty);
        Some(ColumnValues { column: self.id, values: Values::Intervals { intervals, exact } })
    }
}

/// A column, or one behind a cast that keeps its values and their order.
fn bare_column(expr: &Expr, ty_of: &dyn Fn(ColId) -> Option<SqlType>) -> Option<BareColumn> {
    match expr {
        Expr::Column(id) => Some(BareColumn { id: *id, ty: ty_of(*id)? }),
        Expr::Cast { arg, ty } => {
            let column = bare_column(arg, ty_of)?;
            (matches!(**arg, Expr::Column(_)) && is_lossless_cast(column.ty, *ty)).then_some(column)
        }
        _ => None,
    }
}

/// The values of a column for which `column op constant` is TRUE.
fn compared(op: CompareOp, constant: &Expr, ty: SqlType) -> Option<Vec<Interval>> {
    let (value, from) = planned_value(constant)?;
    if value.is_null() {
        let null = Interval::point(Value::Null);
        return Some(if op == CompareOp::NullSafeEq { vec![null] } else { Vec::new() });
    }
    let Place { before, after } = place(value, from, ty)?;
    let not_null = Cut::After(Value::Null);
    let below = |high| Interval { low: not_null.clone(), high };
    let above = |low| Interval { low, high: Cut::End };
    Some(match op {
        CompareOp::Eq | CompareOp::NullSafeEq => vec![Interval { low: before, high: after }],
        CompareOp::NotEq => vec![below(before), above(after)],
        CompareOp::Lt => vec![below(before)],
        CompareOp::LtEq => vec![below(after)],
        CompareOp::Gt => vec![above(after)],
        CompareOp::GtEq => vec![above(before)],
    })
}

fn listed(list: &[Expr], negated: bool, ty: SqlType) -> Option<Vec<Interval>> {
    if negated && list.len() > NOT_IN_MAX {
        return None;
    }
    let mut points = Vec::with_capacity(list.len());
    for item in list {
        let (value, from) = planned_value(item)?;
        if value.is_null() {
            if negated {
                return Some(Vec::new());
            }
            continue;
        }
        let Place { before, after } = place(value, from, ty)?;
        points.push(Interval { low: before, high: after });
    }
    if !negated {
        return Some(points);
    }
    points.push(Interval::point(Value::Null));
    Some(complement(&normalised(points, ty)))
}

/// Position of a constant among the values of a column: between two cuts, which are one if no value equals it.
struct Place {
    before: Cut,
    after: Cut,
}

fn place(value: &Value, from: SqlType, ty: SqlType) -> Option<Place> {
    if let Some(exact) = exact_value(value, from, ty).filter(|v| is_ordered(v, ty)) {
        return Some(Place { before: Cut::Before(exact.clone()), after: Cut::After(exact) });
    }
    let cut = match floor_value(value, ty)? {
        Some(floor) => Cut::After(floor),
        // Below all values there are; NULL is none.
        None => Cut::After(Value::Null),
    };
    Some(Place { before: cut.clone(), after: cut })
}
