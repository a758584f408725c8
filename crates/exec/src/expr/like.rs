//! LIKE, with the pattern prepared once when it is a constant.

use super::kernel::{Kernel, arrays};
use arrow_array::{Array, ArrayRef, BooleanArray, cast::AsArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_types::{Collation, collation::LikePattern};
use std::sync::Arc;

/// `value [NOT] LIKE constant`.
pub struct LikeConstant {
    pub pattern: LikePattern,
    /// The pattern's text with its escape, for the label.
    pub text: String,
    pub collation: Collation,
    pub negated: bool,
}

impl Kernel for LikeConstant {
    fn label(&self) -> String {
        format!("{}like_{:?}[{}]", if self.negated { "not_" } else { "" }, self.collation, self.text)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let array = args[0].to_array(rows)?;
        let bits = match array.data_type() {
            DataType::Utf8View => {
                let texts = array.as_string_view();
                BooleanBuffer::collect_bool(rows, |i| self.pattern.matches(texts.value(i)) != self.negated)
            }
            DataType::BinaryView => {
                let values = array.as_binary_view();
                BooleanBuffer::collect_bool(rows, |i| self.pattern.matches_bytes(values.value(i)) != self.negated)
            }
            _ => return Ok(Arc::new(BooleanArray::new_null(rows))),
        };
        Ok(Arc::new(BooleanArray::new(bits, array.nulls().cloned())))
    }
}

/// `value [NOT] LIKE pattern` with a pattern per row.
pub struct LikeColumn {
    pub escape: Option<char>,
    pub collation: Collation,
    pub negated: bool,
}

impl Kernel for LikeColumn {
    fn label(&self) -> String {
        format!("{}like_{:?}_{:?}", if self.negated { "not_" } else { "" }, self.collation, self.escape)
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let args = arrays(args, rows)?;
        let (DataType::Utf8View, DataType::Utf8View) = (args[0].data_type(), args[1].data_type()) else {
            return self.bytes(&args, rows);
        };
        let (texts, patterns) = (args[0].as_string_view(), args[1].as_string_view());
        // Neighbouring rows often share a pattern.
        let mut last: Option<(&str, LikePattern)> = None;
        let bits = BooleanBuffer::collect_bool(rows, |i| {
            let text = patterns.value(i);
            if last.as_ref().is_none_or(|(t, _)| *t != text) {
                last = Some((text, LikePattern::new(text, self.escape, self.collation)));
            }
            last.as_ref().is_some_and(|(_, p)| p.matches(texts.value(i))) != self.negated
        });
        let nulls = NullBuffer::union(texts.nulls(), patterns.nulls());
        Ok(Arc::new(BooleanArray::new(bits, nulls)))
    }
}

impl LikeColumn {
    fn bytes(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        if args.iter().any(|a| a.data_type() == &DataType::Null) {
            return Ok(Arc::new(BooleanArray::new_null(rows)));
        }
        let values = arrow_cast::cast(&args[0], &DataType::BinaryView)?;
        let patterns = arrow_cast::cast(&args[1], &DataType::BinaryView)?;
        let (values, patterns) = (values.as_binary_view(), patterns.as_binary_view());
        let bits = BooleanBuffer::collect_bool(rows, |i| {
            LikePattern::of_bytes(patterns.value(i), self.escape).matches_bytes(values.value(i)) != self.negated
        });
        Ok(Arc::new(BooleanArray::new(bits, NullBuffer::union(values.nulls(), patterns.nulls()))))
    }
}
