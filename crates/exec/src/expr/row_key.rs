//! Several values as one byte string that compares as the row of them does.

use super::kernel::{Kernel, arrays};
use arrow_array::{Array, ArrayRef, builder::BinaryViewBuilder};
use arrow_buffer::NullBuffer;
use arrow_row::{RowConverter, SortField};
use arrow_schema::SortOptions;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use std::sync::Arc;

/// The key of each row; for DISTINCT over several columns and for sorting inside an aggregate.
pub struct RowKey {
    pub options: Vec<SortOptions>,
    /// True if a NULL among the values makes the key NULL.
    pub null_if_any_null: bool,
}

impl Kernel for RowKey {
    fn label(&self) -> String {
        format!("row_key_{:?}_{}", self.options, self.null_if_any_null)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let mut builder = BinaryViewBuilder::with_capacity(rows);
        if args.is_empty() {
            (0..rows).for_each(|_| builder.append_value([]));
            return Ok(Arc::new(builder.finish()));
        }
        let args = arrays(args, rows)?;
        let fields = args
            .iter()
            .zip(&self.options)
            .map(|(a, options)| SortField::new_with_options(a.data_type().clone(), *options))
            .collect();
        let keys = RowConverter::new(fields)?.convert_columns(&args)?;
        // Logical ones: a column of nothing but NULLs has no bitmap of them.
        let nulls = args.iter().fold(None, |all, a| NullBuffer::union(all.as_ref(), a.logical_nulls().as_ref()));
        for row in 0..rows {
            if self.null_if_any_null && nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                builder.append_null();
            } else {
                builder.append_value(keys.row(row).data());
            }
        }
        Ok(Arc::new(builder.finish()))
    }
}
