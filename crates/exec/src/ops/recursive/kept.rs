//! Values into the columns of a recursive table, as into those of a table (MySQL makes a temporary one).

use crate::{
    Warnings,
    arrow_value::{array_of, value_at},
};
use arrow_array::{Array, ArrayRef, cast::AsArray, new_null_array};
use arrow_schema::DataType;
use muster_types::{
    Result, SqlError, SqlType, Value,
    store::{StoreFault, StoredType, store, text::printable},
};

/// A column of a recursive table.
pub struct Kept {
    pub name: String,
    pub ty: StoredType,
    pub data_type: DataType,
}

impl Kept {
    /// The values as the column has them. Errors: in strict mode that of a value that does not fit.
    pub fn stored(&self, values: ArrayRef, strict: bool, warnings: &Warnings) -> Result<ArrayRef> {
        if values.data_type() == &DataType::Null {
            return Ok(new_null_array(&self.data_type, values.len()));
        }
        if values.data_type() == &self.data_type && self.fits(&values) {
            return Ok(values);
        }
        let mut stored = Vec::with_capacity(values.len());
        for row in 0..values.len() {
            stored.push(self.value(value_at(&values, row)?, strict, warnings)?);
        }
        array_of(&stored, self.ty.ty)
    }

    /// Returns true if no text or byte string is too long; values of other types of the same form always fit.
    fn fits(&self, values: &ArrayRef) -> bool {
        match self.ty.ty {
            SqlType::Text { length, .. } => {
                let most = length as usize;
                let is_long = |text: &str| text.len() > most && text.chars().count() > most;
                !values.as_string_view().iter().flatten().any(is_long)
            }
            SqlType::Bytes { length, .. } => {
                !values.as_binary_view().iter().flatten().any(|bytes| bytes.len() > length as usize)
            }
            _ => true,
        }
    }

    fn value(&self, value: Value, strict: bool, warnings: &Warnings) -> Result<Value> {
        let unfit = match store(&value, self.ty) {
            Ok(stored) => return Ok(stored),
            Err(unfit) => unfit,
        };
        let shown = match &value {
            Value::Text(text) => printable(text.as_bytes()),
            Value::Bytes(bytes) => printable(bytes),
            other => other.to_text(0).unwrap_or_default(),
        };
        let error = SqlError::new(unfit.fault.code(), unfit.fault.message(&self.name, &shown, 1));
        if strict {
            return Err(error);
        }
        // MySQL warns of dates and times only.
        let is_moment = matches!(
            unfit.fault,
            StoreFault::Incorrect("date" | "datetime" | "time") | StoreFault::NoSuchDate(_) | StoreFault::BeyondTimes
        );
        if is_moment {
            warnings.push(error.code, error.message);
        }
        Ok(unfit.instead.unwrap_or(Value::Null))
    }
}
