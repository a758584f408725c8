//! Conditions that storage tests on values as they are stored: a column compared with a constant.

use crate::expr::{Physical, kernel::literal_of};
use arrow_schema::Schema;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Column};
use muster_storage::ColumnRange;

/// The range that a condition over a batch says a column is in. `columns`: the table columns of the batch, whose fields
/// `schema` has.
pub fn column_range(condition: &Physical, columns: &[usize], schema: &Schema) -> Option<ColumnRange> {
    let comparison = condition.downcast_ref::<BinaryExpr>()?;
    let (left, right) = (comparison.left(), comparison.right());
    let (column, op, constant) = match left.downcast_ref::<Column>() {
        Some(column) => (column, *comparison.op(), literal_of(right)?),
        None => (right.downcast_ref::<Column>()?, comparison.op().swap()?, literal_of(left)?),
    };
    if constant.data_type() != *schema.field(column.index()).data_type() {
        return None;
    }
    let value = stored_integer(constant)?;
    let (least, most) = match op {
        Operator::Eq => (value, value),
        Operator::LtEq => (i64::MIN, value),
        Operator::GtEq => (value, i64::MAX),
        Operator::Lt => value.checked_sub(1).map_or(NOTHING, |most| (i64::MIN, most)),
        Operator::Gt => value.checked_add(1).map_or(NOTHING, |least| (least, i64::MAX)),
        _ => return None,
    };
    Some(ColumnRange { column: *columns.get(column.index())?, least, most })
}

/// A range without values.
const NOTHING: (i64, i64) = (1, 0);

/// Adds a range to those that must hold. One column has one range.
pub fn intersect(ranges: &mut Vec<ColumnRange>, range: ColumnRange) {
    match ranges.iter_mut().find(|known| known.column == range.column) {
        Some(known) => {
            known.least = known.least.max(range.least);
            known.most = known.most.min(range.most);
        }
        None => ranges.push(range),
    }
}

/// The integer that storage keeps for a value, for types that [`ColumnRange::holds`].
fn stored_integer(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int8(value) => value.map(i64::from),
        ScalarValue::Int16(value) => value.map(i64::from),
        ScalarValue::Int32(value) | ScalarValue::Date32(value) => value.map(i64::from),
        ScalarValue::UInt8(value) => value.map(i64::from),
        ScalarValue::UInt16(value) => value.map(i64::from),
        ScalarValue::UInt32(value) => value.map(i64::from),
        ScalarValue::Int64(value)
        | ScalarValue::Decimal64(value, _, _)
        | ScalarValue::TimestampMicrosecond(value, _)
        | ScalarValue::DurationMicrosecond(value) => *value,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};
    use datafusion_physical_expr::expressions::Literal;
    use std::sync::Arc;

    fn range(left: Physical, op: Operator, right: Physical) -> Option<(usize, i64, i64)> {
        let fields = [DataType::Int32, DataType::Decimal64(15, 2), DataType::Float64, DataType::Int64];
        let schema = Schema::new(fields.map(|ty| Field::new("c", ty, true)).to_vec());
        let condition: Physical = Arc::new(BinaryExpr::new(left, op, right));
        column_range(&condition, &[7, 8, 9, 10], &schema).map(|range| (range.column, range.least, range.most))
    }

    fn column(i: usize) -> Physical {
        Arc::new(Column::new("c", i))
    }

    fn constant(value: ScalarValue) -> Physical {
        Arc::new(Literal::new(value))
    }

    #[test]
    fn comparisons_with_constants_are_ranges() {
        let five = || constant(ScalarValue::Int32(Some(5)));
        assert_eq!(range(column(0), Operator::Eq, five()), Some((7, 5, 5)));
        assert_eq!(range(column(0), Operator::Lt, five()), Some((7, i64::MIN, 4)));
        assert_eq!(range(column(0), Operator::GtEq, five()), Some((7, 5, i64::MAX)));
        assert_eq!(range(five(), Operator::Lt, column(0)), Some((7, 6, i64::MAX)), "5 < column");
        let decimal = constant(ScalarValue::Decimal64(Some(-150), 15, 2));
        assert_eq!(range(column(1), Operator::LtEq, decimal), Some((8, i64::MIN, -150)));
        let nothing = Some((10, 1, 0));
        assert_eq!(range(column(3), Operator::Lt, constant(ScalarValue::Int64(Some(i64::MIN)))), nothing);
        assert_eq!(range(column(3), Operator::Gt, constant(ScalarValue::Int64(Some(i64::MAX)))), nothing);
    }

    #[test]
    fn other_conditions_are_none() {
        let five = || constant(ScalarValue::Int32(Some(5)));
        assert_eq!(range(column(0), Operator::NotEq, five()), None);
        assert_eq!(range(column(0), Operator::IsNotDistinctFrom, five()), None);
        assert_eq!(range(column(0), Operator::Lt, column(0)), None);
        assert_eq!(range(column(0), Operator::Lt, constant(ScalarValue::Int32(None))), None);
        let scale = constant(ScalarValue::Decimal64(Some(5), 15, 3));
        assert_eq!(range(column(1), Operator::Eq, scale), None, "of another scale");
        assert_eq!(range(column(2), Operator::Lt, constant(ScalarValue::Float64(Some(1.0)))), None);
    }

    #[test]
    fn one_column_has_one_range() {
        let mut ranges = Vec::new();
        for (column, least, most) in [(1, 3, 9), (2, 0, 5), (1, 5, 20), (1, 4, 30)] {
            intersect(&mut ranges, ColumnRange { column, least, most });
        }
        let wanted = [(1, 5, 9), (2, 0, 5)].map(|(column, least, most)| ColumnRange { column, least, most });
        assert_eq!(ranges, wanted);
    }
}
