//! Rows of a generator as Arrow columns.

use arrow_array::{
    ArrayRef, Date32Array, Decimal64Array, Int8Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
};
use arrow_schema::{Field, Schema};
use muster_engine::{
    array_of, arrow_type,
    types::{SqlType, Value},
};
use muster_types::temporal::Days;
use std::{
    io::{self, Write},
    sync::Arc,
};

/// Rows of values of these types as a batch.
pub fn batch_of_values(columns: &[SqlType], rows: &[Vec<Value>]) -> RecordBatch {
    let array = |(i, ty): (usize, &SqlType)| array_of(rows.iter().map(|row| &row[i]), *ty);
    let arrays = columns.iter().enumerate().map(array).collect::<Result<Vec<_>, _>>();
    let arrays = arrays.expect("generated values are of the types of their columns");
    let field = |(i, ty): (usize, &SqlType)| Field::new(format!("column{i}"), arrow_type(ty), true);
    let fields: Vec<Field> = columns.iter().enumerate().map(field).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns have one length")
}

/// Writes rows as text: values each followed by `|`, one row a line, NULL as `\N`.
pub fn write_values(rows: &[Vec<Value>], out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    for row in rows {
        line.clear();
        for value in row {
            line.push_str(value.to_text(0).as_deref().unwrap_or("\\N"));
            line.push('|');
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Collects columns over one slice of rows, in table order.
pub struct BatchBuilder<'a, R> {
    rows: &'a [R],
    columns: Vec<ArrayRef>,
}

impl<'a, R> BatchBuilder<'a, R> {
    pub fn new(rows: &'a [R]) -> Self {
        BatchBuilder { rows, columns: Vec::new() }
    }

    fn add(mut self, column: ArrayRef) -> Self {
        self.columns.push(column);
        self
    }

    pub fn tinyint(self, value: impl Fn(&R) -> i8) -> Self {
        let column = Int8Array::from_iter_values(self.rows.iter().map(value));
        self.add(Arc::new(column))
    }

    pub fn smallint(self, value: impl Fn(&R) -> i16) -> Self {
        let column = Int16Array::from_iter_values(self.rows.iter().map(value));
        self.add(Arc::new(column))
    }

    pub fn int(self, value: impl Fn(&R) -> i32) -> Self {
        let column = Int32Array::from_iter_values(self.rows.iter().map(value));
        self.add(Arc::new(column))
    }

    pub fn bigint(self, value: impl Fn(&R) -> i64) -> Self {
        let column = Int64Array::from_iter_values(self.rows.iter().map(value));
        self.add(Arc::new(column))
    }

    /// Days since 1970-01-01, which become date codes.
    pub fn date(self, value: impl Fn(&R) -> i32) -> Self {
        let column = Date32Array::from_iter_values(self.rows.iter().map(|row| Days(value(row)).code()));
        self.add(Arc::new(column))
    }

    /// Unscaled values.
    pub fn decimal(self, precision: u8, scale: i8, value: impl Fn(&R) -> i64) -> Self {
        let column = Decimal64Array::from_iter_values(self.rows.iter().map(value))
            .with_precision_and_scale(precision, scale)
            .expect("the schema's precision and scale are valid");
        self.add(Arc::new(column))
    }

    pub fn text<S: AsRef<str>>(self, value: impl Fn(&'a R) -> S) -> Self {
        let column = StringViewArray::from_iter_values(self.rows.iter().map(value));
        self.add(Arc::new(column))
    }

    /// The batch; columns are named by position, since tables are loaded by position.
    pub fn finish(self) -> RecordBatch {
        let fields: Vec<Field> = (self.columns.iter().enumerate())
            .map(|(i, c)| Field::new(format!("column{i}"), c.data_type().clone(), false))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), self.columns).expect("columns have one length")
    }
}
