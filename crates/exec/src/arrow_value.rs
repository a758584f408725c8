//! Single values as scalars of DataFusion. How values become Arrow's is said in one place,
//! [`muster_storage::array_of`].

use datafusion_common::ScalarValue;
pub use muster_storage::{array_of, arrow_type, value_at};
use muster_types::{Result, SqlError, SqlType, Value};

/// A value as a scalar of the type, converted as [`array_of`] does.
pub fn scalar(value: &Value, ty: SqlType) -> Result<ScalarValue> {
    ScalarValue::try_from_array(&array_of([value], ty)?, 0).map_err(SqlError::internal)
}

/// The value of a scalar that came from [`scalar`] or from an operator.
pub fn value_of(scalar: &ScalarValue) -> Result<Value> {
    let array = scalar.to_array().map_err(SqlError::internal)?;
    value_at(array.as_ref(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_of_their_type() {
        let date = scalar(&Value::Date(1), SqlType::DateTime { fsp: 0 }).unwrap();
        assert_eq!(value_of(&date).unwrap(), Value::DateTime(muster_types::temporal::MICROS_PER_DAY));
        assert!(scalar(&Value::Int(300), SqlType::TINYINT).is_err());
        assert!(scalar(&Value::Text("x".into()), SqlType::BIGINT).is_err());
    }
}
