//! From filters that are published while a query runs to the range of keys outside of which no row passes them.
//!
//! A hash join publishes the least and the greatest of its build side's keys, beside a test of membership. Where these
//! are keys of the scanned index too, they say where to begin and where to end.

use crate::{
    arrow_value::value_of,
    error::external,
    expr::{
        Physical,
        kernel::{KernelExpr, literal_of},
    },
};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Column};
use datafusion_physical_expr_common::physical_expr::snapshot_physical_expr;
use muster_types::KeyRange;
use std::{cmp::Ordering, ops::Bound};

/// A leading part of an index's key.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The column of the filters that has its values.
    pub column: usize,
    pub descending: bool,
}

/// The range of keys that begin with these parts; `None` if no row passes all of the filters.
pub fn key_range(filters: &[Physical], parts: &[Part]) -> Result<Option<KeyRange>> {
    let filters = filters.iter().map(|f| snapshot_physical_expr(f.clone())).collect::<Result<Vec<_>>>()?;
    // In the order of the key; a bound ends at the first part without one.
    let (mut bounds, mut open) = ([Vec::new(), Vec::new()], [true, true]);
    for part in parts {
        let values = filters.iter().map(|f| Values::of(part.column, f)).fold(Values::ANY, Values::and);
        let Values::Between(least, greatest) = values else { return Ok(None) };
        let ends = if part.descending { [greatest, least] } else { [least, greatest] };
        for ((end, bound), open) in ends.into_iter().zip(&mut bounds).zip(&mut open) {
            match end {
                Some(value) if *open => bound.push(value_of(&value).map_err(external)?),
                _ => *open = false,
            }
        }
    }
    let [lower, upper] =
        bounds.map(|values| if values.is_empty() { Bound::Unbounded } else { Bound::Included(values) });
    Ok(Some(KeyRange { lower, upper }))
}

/// The values that a column can have in rows for which a filter is TRUE.
#[derive(Debug, Clone, PartialEq)]
enum Values {
    /// The range holds no rows.
    None,
    /// Both ends included.
    Between(Option<ScalarValue>, Option<ScalarValue>),
}

impl Values {
    const ANY: Values = Values::Between(None, None);

    fn of(column: usize, filter: &Physical) -> Values {
        if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left(), binary.right());
            return match binary.op() {
                Operator::And => Values::of(column, left).and(Values::of(column, right)),
                Operator::Or => Values::of(column, left).or(Values::of(column, right)),
                op => Values::compared(column, left, op, right),
            };
        }
        if let Some(kernel) = filter.downcast_ref::<KernelExpr>() {
            let ends = kernel.ends().filter(|(arg, _)| is_column(arg, column)).map(|(_, ends)| ends);
            return ends.fold(Values::ANY, |values, ends| {
                let [least, greatest] = ends.map(Some);
                values.and(Values::Between(least, greatest))
            });
        }
        match literal_of(filter) {
            Some(ScalarValue::Boolean(Some(true))) | None => Values::ANY,
            Some(_) => Values::None,
        }
    }

    fn compared(column: usize, left: &Physical, op: &Operator, right: &Physical) -> Values {
        let Some(literal) = literal_of(right) else { return Values::ANY };
        if !is_column(left, column) {
            return Values::ANY;
        }
        let value = || Some(literal.clone());
        let values = match op {
            Operator::Eq => Values::Between(value(), value()),
            Operator::Gt | Operator::GtEq => Values::Between(value(), None),
            Operator::Lt | Operator::LtEq => Values::Between(None, value()),
            _ => return Values::ANY,
        };
        // A part of a build side without keys has NULL for bounds, and then nothing is TRUE.
        if literal.is_null() { Values::None } else { values }
    }

    fn and(self, other: Values) -> Values {
        let (Values::Between(a_least, a_greatest), Values::Between(b_least, b_greatest)) = (self, other) else {
            return Values::None;
        };
        // Two bounds that do not compare are both kept.
        let one = |a: Option<ScalarValue>, b: Option<ScalarValue>, wanted: Ordering| match (a, b) {
            (Some(a), Some(b)) => Some(if b.partial_cmp(&a) == Some(wanted) { b } else { a }),
            (a, b) => a.or(b),
        };
        let least = one(a_least, b_least, Ordering::Greater);
        let greatest = one(a_greatest, b_greatest, Ordering::Less);
        match least.as_ref().zip(greatest.as_ref()) {
            Some((least, greatest)) if least > greatest => Values::None,
            _ => Values::Between(least, greatest),
        }
    }

    fn or(self, other: Values) -> Values {
        let (Values::Between(a_least, a_greatest), Values::Between(b_least, b_greatest)) = (&self, &other) else {
            return if self == Values::None { other } else { self };
        };
        let both = |a: &Option<ScalarValue>, b: &Option<ScalarValue>, wanted: Ordering| {
            let (a, b) = a.as_ref().zip(b.as_ref())?;
            Some(if a.partial_cmp(b)? == wanted { a } else { b }.clone())
        };
        let least = both(a_least, b_least, Ordering::Less);
        Values::Between(least, both(a_greatest, b_greatest, Ordering::Greater))
    }
}

fn is_column(expr: &Physical, column: usize) -> bool {
    expr.downcast_ref::<Column>().is_some_and(|c| c.index() == column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::kernel::Kernel;
    use arrow_array::{ArrayRef, BooleanArray};
    use arrow_schema::DataType;
    use datafusion_expr::ColumnarValue;
    use datafusion_physical_expr::expressions::{DynamicFilterPhysicalExpr, lit};
    use muster_types::Value;
    use std::sync::Arc;

    fn column(index: usize) -> Physical {
        Arc::new(Column::new("c", index))
    }

    fn binary(left: Physical, op: Operator, right: Physical) -> Physical {
        Arc::new(BinaryExpr::new(left, op, right))
    }

    /// `least <= column AND column <= greatest`, as joins publish it.
    fn between(index: usize, least: i64, greatest: i64) -> Physical {
        let bounds =
            [binary(column(index), Operator::GtEq, lit(least)), binary(column(index), Operator::LtEq, lit(greatest))];
        let [least, greatest] = bounds;
        binary(least, Operator::And, greatest)
    }

    fn range(filter: &Physical, parts: &[Part]) -> Option<(Vec<i64>, Vec<i64>)> {
        let values = |bound: Bound<Vec<Value>>| match bound {
            Bound::Included(values) => {
                values.into_iter().map(|v| if let Value::Int(i) = v { i } else { panic!("{v}") }).collect()
            }
            _ => Vec::new(),
        };
        let range = key_range(std::slice::from_ref(filter), parts).unwrap()?;
        Some((values(range.lower), values(range.upper)))
    }

    #[test]
    fn bounds_of_filters_are_ranges_of_keys() {
        let asc = |column| Part { column, descending: false };
        let desc = |column| Part { column, descending: true };
        let opaque = binary(column(3), Operator::Eq, column(4));
        let both = binary(between(0, 3, 9), Operator::And, binary(opaque.clone(), Operator::And, between(1, 5, 6)));
        assert_eq!(range(&both, &[asc(0), asc(1)]), Some((vec![3, 5], vec![9, 6])));
        assert_eq!(range(&both, &[desc(0), asc(1)]), Some((vec![9, 5], vec![3, 6])));
        assert_eq!(range(&both, &[asc(0), asc(2), asc(1)]), Some((vec![3], vec![9])));
        assert_eq!(range(&both, &[asc(2), asc(0)]), Some((vec![], vec![])));
        assert_eq!(range(&opaque, &[asc(0)]), Some((vec![], vec![])));
        let either = binary(between(0, 3, 9), Operator::Or, between(0, 20, 30));
        assert_eq!(range(&either, &[asc(0)]), Some((vec![3], vec![30])));
        assert_eq!(range(&binary(either, Operator::Or, opaque.clone()), &[asc(0)]), Some((vec![], vec![])));
        let neither = binary(between(0, 3, 9), Operator::And, between(0, 20, 30));
        assert_eq!(range(&neither, &[asc(0)]), None);
        assert_eq!(range(&lit(false), &[asc(0)]), None);
        let unknown = binary(column(0), Operator::GtEq, lit(ScalarValue::Int64(None)));
        assert_eq!(range(&unknown, &[asc(0)]), None);
        assert_eq!(range(&binary(unknown, Operator::Or, between(0, 3, 9)), &[asc(0)]), Some((vec![3], vec![9])));
    }

    #[test]
    fn a_filter_has_bounds_once_it_is_published() {
        let parts = [Part { column: 0, descending: false }];
        let published = Arc::new(DynamicFilterPhysicalExpr::new(vec![column(0)], lit(true)));
        let dynamic: Physical = published.clone();
        assert_eq!(range(&dynamic, &parts), Some((vec![], vec![])));
        published.update(binary(between(0, 3, 9), Operator::Or, between(0, 7, 40))).unwrap();
        assert_eq!(range(&dynamic, &parts), Some((vec![3], vec![40])));
        published
            .update(KernelExpr::build(Between(3, 9), vec![column(1), column(0)], DataType::Boolean, false))
            .unwrap();
        assert_eq!(range(&dynamic, &parts), Some((vec![3], vec![9])), "a kernel that knows its arguments' ends");
    }

    /// TRUE only where the second argument is in a range.
    struct Between(i64, i64);

    impl Kernel for Between {
        fn label(&self) -> String {
            format!("between {} {}", self.0, self.1)
        }

        fn call(&self, _: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
            Ok(Arc::new(BooleanArray::from(vec![true; rows])))
        }

        fn ends(&self, arg: usize) -> Option<[ScalarValue; 2]> {
            (arg == 1).then(|| [self.0, self.1].map(|n| ScalarValue::Int64(Some(n))))
        }
    }
}
