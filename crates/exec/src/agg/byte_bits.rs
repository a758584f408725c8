//! BIT_AND, BIT_OR and BIT_XOR of byte strings, byte by byte.

use super::{
    fold::{Fold, counts},
    number::BitOp,
};
use crate::error::external;
use arrow_array::{ArrayRef, BinaryViewArray, BooleanArray, cast::AsArray};
use datafusion_common::Result;
use datafusion_expr::EmitTo;
use muster_types::{ErrorCode, SqlError};
use std::sync::Arc;

/// The combined byte string of each group; NULL for a group without values.
pub struct ByteBits {
    op: BitOp,
    combined: Vec<Option<Box<[u8]>>>,
    /// Bytes of the values kept.
    bytes: usize,
}

impl ByteBits {
    pub fn new(op: BitOp) -> ByteBits {
        ByteBits { op, combined: Vec::new(), bytes: 0 }
    }

    /// Error 3513 for a byte string of another length.
    fn add(&mut self, group: usize, value: &[u8]) -> Result<()> {
        let Some(combined) = &mut self.combined[group] else {
            self.bytes += value.len();
            self.combined[group] = Some(value.into());
            return Ok(());
        };
        if combined.len() != value.len() {
            let message = "Binary operands of bitwise operators must be of equal length";
            return Err(external(SqlError::new(ErrorCode::InvalidBitwiseOperandsSize, message)));
        }
        for (byte, other) in combined.iter_mut().zip(value) {
            match self.op {
                BitOp::And => *byte &= other,
                BitOp::Or => *byte |= other,
                BitOp::Xor => *byte ^= other,
            }
        }
        Ok(())
    }
}

impl Fold for ByteBits {
    fn update(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.combined.resize_with(total, || None);
        let values = values.as_binary_view();
        for (row, group) in groups.iter().enumerate() {
            if counts(values, filter, row) {
                self.add(*group, values.value(row))?;
            }
        }
        Ok(())
    }

    fn emit(&mut self, emit_to: EmitTo) -> ArrayRef {
        let combined = emit_to.take_needed(&mut self.combined);
        self.bytes -= combined.iter().flatten().map(|value| value.len()).sum::<usize>();
        Arc::new(combined.into_iter().collect::<BinaryViewArray>())
    }

    fn size(&self) -> usize {
        self.combined.capacity() * size_of::<Option<Box<[u8]>>>() + self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn bytes_are_combined_and_lengths_are_equal() {
        let values: ArrayRef =
            Arc::new(BinaryViewArray::from(vec![Some(&b"\x0F\x0F"[..]), Some(b"\xFF\x00"), None, Some(b"\x01")]));
        for (op, want) in [(BitOp::And, b"\x0F\x00"), (BitOp::Or, b"\xFF\x0F"), (BitOp::Xor, b"\xF0\x0F")] {
            let mut bits = ByteBits::new(op);
            bits.update(&values, &[0, 0, 0, 2], None, 3).unwrap();
            let result = bits.emit(EmitTo::All);
            assert_eq!(result.as_binary_view().value(0), want);
            assert!(result.is_null(1));
            assert_eq!(bits.bytes, 0);
            assert!(bits.update(&values, &[0, 0, 0, 0], None, 1).is_err());
        }
    }
}
