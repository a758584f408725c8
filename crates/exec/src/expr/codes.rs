//! Texts and byte strings that come as codes.

use super::{
    Physical,
    kernel::{Kernel, KernelExpr},
};
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;

/// A column of texts or byte strings whose arrays are dictionaries: a key of groups, which are found by code.
struct Coded;

/// The key for a column, if its values come as a dictionary. `ty`: the type of the column.
pub fn coded_key(column: &Physical, ty: &DataType, nullable: bool) -> Option<Physical> {
    let DataType::Dictionary(_, values) = ty else { return None };
    Some(KernelExpr::build(Coded, vec![column.clone()], values.as_ref().clone(), nullable))
}

impl Kernel for Coded {
    fn label(&self) -> String {
        "coded".to_string()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        args[0].to_array(rows)
    }

    fn is_adaptive(&self) -> bool {
        true
    }
}
