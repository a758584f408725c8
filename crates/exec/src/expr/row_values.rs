//! Values of single rows, in and out of columns, without memory of their own for each row.

use crate::arrow_value::{array_of, arrow_type, value_at};
use arrow_array::{
    Array, ArrayRef,
    builder::{BinaryViewBuilder, LargeBinaryBuilder, StringViewBuilder},
    cast::AsArray,
    types::*,
};
use arrow_buffer::{NullBufferBuilder, ScalarBuffer};
use arrow_schema::DataType;
use muster_types::{Result, SqlType, Value};
use std::sync::Arc;

/// Puts the value of a row into a place, into the memory of the text that is there.
pub fn fill(place: &mut Value, array: &dyn Array, row: usize) -> Result<()> {
    match (&mut *place, array.data_type()) {
        _ if array.is_null(row) => *place = Value::Null,
        (Value::Text(text), DataType::Utf8View) => {
            text.clear();
            text.push_str(array.as_string_view().value(row));
        }
        (Value::Bytes(bytes), DataType::BinaryView) => {
            bytes.clear();
            bytes.extend_from_slice(array.as_binary_view().value(row));
        }
        (Value::Json(document), DataType::LargeBinary) => {
            document.clear();
            document.extend_from_slice(array.as_binary::<i64>().value(row));
        }
        _ => *place = value_at(array, row)?,
    }
    Ok(())
}

/// A column of results that is made value by value.
pub enum Results {
    Integers { values: Vec<i64>, nulls: NullBufferBuilder },
    Texts(StringViewBuilder),
    Bytes(BinaryViewBuilder),
    Documents(LargeBinaryBuilder),
    Others(Vec<Value>),
}

impl Results {
    /// No results yet of this type, with room for about so many.
    pub fn new(ty: SqlType, capacity: usize) -> Results {
        match arrow_type(&ty) {
            DataType::Int64 => {
                Results::Integers { values: Vec::with_capacity(capacity), nulls: NullBufferBuilder::new(capacity) }
            }
            DataType::Utf8View => Results::Texts(StringViewBuilder::with_capacity(capacity)),
            DataType::BinaryView => Results::Bytes(BinaryViewBuilder::with_capacity(capacity)),
            DataType::LargeBinary => Results::Documents(LargeBinaryBuilder::new()),
            _ => Results::Others(Vec::with_capacity(capacity)),
        }
    }

    /// Adds a value. Values that are not as the type is are converted at the end, all of them.
    pub fn push(&mut self, value: Value) -> Result<()> {
        match (&mut *self, value) {
            (Results::Integers { values, nulls }, Value::Int(n)) => {
                values.push(n);
                nulls.append_non_null();
            }
            (Results::Integers { values, nulls }, Value::Null) => {
                values.push(0);
                nulls.append_null();
            }
            (Results::Texts(texts), Value::Text(text)) => texts.append_value(text),
            (Results::Texts(texts), Value::Null) => texts.append_null(),
            (Results::Bytes(all), Value::Bytes(bytes)) => all.append_value(bytes),
            (Results::Bytes(all), Value::Null) => all.append_null(),
            (Results::Documents(all), Value::Json(document)) => all.append_value(document),
            (Results::Documents(all), Value::Null) => all.append_null(),
            (Results::Others(values), value) => values.push(value),
            (_, value) => {
                self.become_values()?;
                return self.push(value);
            }
        }
        Ok(())
    }

    /// Goes over to single values, which [`array_of`] converts.
    fn become_values(&mut self) -> Result<()> {
        let taken = std::mem::replace(self, Results::Others(Vec::new()));
        let array = taken.finish_native();
        let values = (0..array.len()).map(|row| value_at(array.as_ref(), row)).collect::<Result<_>>()?;
        *self = Results::Others(values);
        Ok(())
    }

    /// The column. Error: an internal one, for a value that is not of the type.
    pub fn finish(self, ty: SqlType) -> Result<ArrayRef> {
        match self {
            Results::Others(values) => array_of(&values, ty),
            native => Ok(native.finish_native()),
        }
    }

    fn finish_native(self) -> ArrayRef {
        match self {
            Results::Integers { values, mut nulls } => {
                let values: ScalarBuffer<i64> = values.into();
                Arc::new(arrow_array::PrimitiveArray::<Int64Type>::new(values, nulls.finish()))
            }
            Results::Texts(mut texts) => Arc::new(texts.finish()),
            Results::Bytes(mut bytes) => Arc::new(bytes.finish()),
            Results::Documents(mut documents) => Arc::new(documents.finish()),
            Results::Others(_) => arrow_array::new_empty_array(&DataType::Null),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Collation;

    #[test]
    fn results_become_the_column_that_their_values_are() {
        let text = |text: &str| Value::Text(text.to_owned());
        let cases = [
            (SqlType::BIGINT, vec![Value::Int(5), Value::Null, Value::Int(-1)]),
            (SqlType::BIGINT, vec![Value::Int(5), Value::Null, Value::Bool(true), Value::Int(7)]),
            (SqlType::varchar(9, Collation::DEFAULT), vec![text("a"), Value::Null, text("more than twelve bytes")]),
            (SqlType::varchar(9, Collation::DEFAULT), vec![text("a"), Value::Bytes(b"b".to_vec()), Value::Null]),
            (SqlType::Double, vec![Value::Double(0.5), Value::Int(1), Value::Null]),
        ];
        for (ty, values) in cases {
            let mut results = Results::new(ty, 2);
            values.iter().cloned().for_each(|value| results.push(value).expect("the value is taken"));
            let column = results.finish(ty).expect("the values are of the type");
            assert_eq!(&column, &array_of(&values, ty).expect("the values are of the type"), "{values:?}");
        }
    }

    #[test]
    fn places_are_filled_again() {
        let ty = SqlType::varchar(9, Collation::DEFAULT);
        let values = [Value::Text("one".into()), Value::Null, Value::Text("two".into()), Value::Text(String::new())];
        let column = array_of(&values, ty).expect("texts");
        let mut place = Value::Int(1);
        for (row, value) in values.iter().enumerate() {
            fill(&mut place, column.as_ref(), row).expect("a value");
            assert_eq!(&place, value);
        }
    }
}
