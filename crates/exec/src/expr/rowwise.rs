//! What has no column-wise kernel: one node of an expression, row by row, through the general evaluator.

use super::kernel::{Kernel, arrays};
use crate::{
    Warnings,
    arrow_value::{array_of, value_at},
    error::external,
};
use arrow_array::ArrayRef;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_algebra::{ColId, Expr, ScalarFunction, eval::Evaluator};
use muster_types::{CastWarning, SqlError, SqlType, Value, cast_from};
use std::sync::Arc;

/// One node; its direct parts are `Expr::Column(0..)`, which stand for the arguments.
pub struct RowWise {
    node: Expr,
    /// Types of the parts.
    types: Vec<SqlType>,
    result: SqlType,
    warnings: Arc<Warnings>,
}

impl RowWise {
    /// `node` with its parts replaced by argument numbers. `result`: its type.
    pub fn new(mut node: Expr, types: Vec<SqlType>, result: SqlType, warnings: Arc<Warnings>) -> RowWise {
        for (i, child) in node.children_mut().into_iter().enumerate() {
            // Literals stay: the evaluator may look at them (the format of DATE_FORMAT).
            if !matches!(child, Expr::Literal { .. }) {
                *child = Expr::Column(ColId(i as u32));
            }
        }
        RowWise { node, types, result, warnings }
    }
}

impl Kernel for RowWise {
    fn label(&self) -> String {
        format!("{:?}", self.node)
    }

    fn is_pure(&self) -> bool {
        !matches!(&self.node, Expr::Call { function: ScalarFunction::Sleep, .. })
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let args = arrays(args, rows)?;
        let mut results = Vec::with_capacity(rows);
        let mut values: Vec<Value> = Vec::with_capacity(args.len());
        for row in 0..rows {
            values.clear();
            for arg in &args {
                values.push(value_at(arg.as_ref(), row).map_err(external)?);
            }
            results.push(self.evaluate(&values).map_err(external)?);
        }
        array_of(&results, self.result).map_err(external)
    }
}

impl RowWise {
    fn evaluate(&self, args: &[Value]) -> muster_types::Result<Value> {
        let mut warn = |w: CastWarning| self.warnings.push(w.code, w.message);
        if let Expr::Cast { ty, .. } = &self.node {
            let (value, warning) = cast_from(&args[0], self.types.first().copied(), *ty);
            warning.into_iter().for_each(&mut warn);
            return Ok(value);
        }
        let mut evaluator = Evaluator {
            value: &|id| args.get(id.0 as usize).cloned(),
            ty: &|id| self.types.get(id.0 as usize).copied(),
            warn: &mut warn,
        };
        match evaluator.eval(&self.node) {
            Some(value) => value,
            None => Err(SqlError::unsupported(format!("{:?}", self.node))),
        }
    }
}
