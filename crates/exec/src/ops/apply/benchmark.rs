//! BENCHMARK(): an expression that is computed again and again.

use crate::ops::reschedule::reschedule;
use crate::{arrow_value, error::external, expr::Physical};
use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, types::Int64Type};
use datafusion_common::Result;
use muster_types::{ErrorCode, SqlType, Value};
use std::sync::Arc;

/// Repetitions after which other work of the thread, and the end of the statement, get their turn.
const TURN: i64 = 256;

/// The arguments of BENCHMARK.
#[derive(Clone)]
pub struct Benchmark {
    /// How often, a BIGINT.
    pub count: Physical,
    pub repeated: Physical,
    pub warnings: Arc<crate::Warnings>,
}

impl Benchmark {
    /// Computes the expression for each row as often as the row's count says. The value is 0, and NULL for a count that
    /// is NULL or, with warning 1411, negative. An error of the expression is that of the statement.
    pub async fn column(&self, batch: &RecordBatch, ty: SqlType) -> Result<ArrayRef> {
        let rows = batch.num_rows();
        let counts = self.count.evaluate(batch)?.into_array(rows)?;
        let counts = counts.as_primitive::<Int64Type>();
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            if counts.is_null(row) {
                results.push(Value::Null);
                continue;
            }
            let count = counts.value(row);
            if count < 0 {
                let message = format!("Incorrect count value: '{count}' for function benchmark");
                self.warnings.push(ErrorCode::WrongValueForType, message);
                results.push(Value::Null);
                continue;
            }
            // A batch of one row, for literals are computed once for a batch.
            let one = batch.slice(row, 1);
            for i in 0..count {
                self.repeated.evaluate(&one)?;
                if i % TURN == TURN - 1 {
                    reschedule().await;
                }
            }
            results.push(Value::Int(0));
        }
        arrow_value::array_of(&results, ty).map_err(external)
    }
}
