//! Functions without a column-wise kernel are computed row by row, by the general evaluator.

use super::{
    kernel::{Kernel, arrays},
    row_values::{Results, fill},
    text_memory::{STEP_BYTES, TextMemory},
};
use crate::{SaidInsertId, Warnings, arrow_value::value_at, error::external};
use arrow_array::ArrayRef;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_expr::ColumnarValue;
use muster_algebra::{ColId, Expr};
use muster_eval::{Evaluator, prepared::Prepared};
use muster_functions::CallStates;
use muster_types::{CastWarning, SqlError, SqlType, Value};
use std::{
    cell::{Cell, RefCell},
    ops::Range,
    sync::Arc,
};

/// An expression over arguments, which `Expr::Column(0..)` stands for in it.
pub struct RowWise {
    pub expr: Expr,
    /// Types of the arguments.
    pub types: Vec<SqlType>,
    /// Type of the result.
    pub result: SqlType,
    pub warnings: Arc<Warnings>,
    pub texts: Arc<TextMemory>,
    pub said_insert_id: SaidInsertId,
    pub states: CallStates,
}

impl Kernel for RowWise {
    fn label(&self) -> String {
        format!("{:?}", self.expr)
    }

    fn is_pure(&self) -> bool {
        let mut acts = false;
        self.expr.visit(&mut |expr| {
            acts |= matches!(expr, Expr::Call { function, .. } if !function.is_deterministic());
        });
        !acts
    }

    /// The evaluator warns for each value it computes.
    fn is_shareable(&self) -> bool {
        false
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        self.some(&arrays(args, rows)?, 0..rows, usize::MAX, &self.texts.reservation())
    }
}

impl RowWise {
    /// The results of the first of these rows: of at least one, and of no more when their texts have `bytes_max`
    /// bytes. `memory` holds the texts. Error: no memory for one.
    pub fn some(
        &self,
        args: &[ArrayRef],
        rows: Range<usize>,
        bytes_max: usize,
        memory: &MemoryReservation,
    ) -> Result<ArrayRef> {
        let mut results = Results::new(self.result, rows.len().min(bytes_max));
        let (mut bytes, mut reserved) = (0, 0);
        // This memory holds a row while it is computed.
        let (inside, is_used) = (RefCell::new(memory.new_empty()), Cell::new(false));
        let current = Cell::new(rows.start);
        let value_of = |id: ColId| args.get(id.0 as usize).and_then(|arg| value_at(arg.as_ref(), current.get()).ok());
        let fill_from = |id: ColId, place: &mut Value| match args.get(id.0 as usize) {
            Some(arg) => fill(place, arg.as_ref(), current.get()),
            None => Err(SqlError::internal(format!("argument {} is missing", id.0))),
        };
        let type_of = |id: ColId| self.types.get(id.0 as usize).copied();
        let mut evaluator = Evaluator {
            value: &value_of,
            ty: &type_of,
            parameters: &[],
            warn: &mut |w: CastWarning| self.warnings.push(w.code, w.message),
            text_bytes_max: self.texts.text_bytes_max,
            reserve: &mut |bytes| {
                is_used.set(true);
                self.texts.reserve(&inside.borrow(), bytes)
            },
            last_insert_id: Some(&mut |id| (self.said_insert_id)(id)),
            states: Some(&self.states),
        };
        let mut prepared = Prepared::new(&self.expr, &type_of);
        for row in rows {
            current.set(row);
            let result = prepared.value(&mut evaluator, &fill_from);
            let result = result.unwrap_or_else(|| Err(SqlError::unsupported(format!("{:?}", self.expr))));
            let result = result.map_err(external)?;
            if is_used.replace(false) {
                inside.borrow_mut().free();
            }
            bytes += match &result {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) | Value::Json(bytes) => bytes.len(),
                _ => 0,
            };
            results.push(result).map_err(external)?;
            if bytes - reserved >= STEP_BYTES {
                memory.try_grow(bytes - reserved)?;
                reserved = bytes;
            }
            if bytes >= bytes_max {
                break;
            }
        }
        let copies = memory.new_empty();
        copies.try_grow(reserved)?;
        results.finish(self.result).map_err(external)
    }
}
