//! Functions without a column-wise kernel are computed row by row, by the general evaluator.

use super::{
    kernel::{Kernel, arrays},
    text_memory::{STEP_BYTES, TextMemory},
};
use crate::{
    SaidInsertId, Warnings,
    arrow_value::{array_of, value_at},
    error::external,
};
use arrow_array::ArrayRef;
use datafusion_common::Result;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_expr::ColumnarValue;
use muster_algebra::Expr;
use muster_eval::Evaluator;
use muster_functions::CallStates;
use muster_types::{CastWarning, SqlError, SqlType, Value, cast_from};
use std::{ops::Range, sync::Arc};

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
        let mut results = Vec::with_capacity(rows.len().min(bytes_max));
        let mut values: Vec<Value> = Vec::with_capacity(args.len());
        let (mut bytes, mut reserved) = (0, 0);
        // This memory holds a row while it is computed.
        let inside = memory.new_empty();
        for row in rows {
            values.clear();
            for arg in args {
                values.push(value_at(arg.as_ref(), row).map_err(external)?);
            }
            let result = self.evaluate(&values, &inside).map_err(external)?;
            inside.free();
            bytes += match &result {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                _ => 0,
            };
            results.push(result);
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
        array_of(&results, self.result).map_err(external)
    }

    fn evaluate(&self, args: &[Value], memory: &MemoryReservation) -> muster_types::Result<Value> {
        let mut warn = |w: CastWarning| self.warnings.push(w.code, w.message);
        if let Expr::Cast { ty, arg } = &self.expr
            && let Expr::Column(id) = **arg
        {
            let (value, warning) = cast_from(&args[id.0 as usize], self.types.first().copied(), *ty);
            warning.into_iter().for_each(&mut warn);
            return Ok(value);
        }
        let mut evaluator = Evaluator {
            value: &|id| args.get(id.0 as usize).cloned(),
            ty: &|id| self.types.get(id.0 as usize).copied(),
            parameters: &[],
            warn: &mut warn,
            text_bytes_max: self.texts.text_bytes_max,
            reserve: &mut |bytes| self.texts.reserve(memory, bytes),
            last_insert_id: Some(&mut |id| (self.said_insert_id)(id)),
            states: Some(&self.states),
        };
        match evaluator.eval(&self.expr) {
            Some(value) => value,
            None => Err(SqlError::unsupported(format!("{:?}", self.expr))),
        }
    }
}
