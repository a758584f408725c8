//! Arguments of arithmetic: columns and constants, and loops over two of them.

use crate::error::external;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray, cast::AsArray, types::Int64Type};
use arrow_buffer::{ArrowNativeType, NullBuffer, ScalarBuffer};
use datafusion_common::Result;
use datafusion_expr::ColumnarValue;
use muster_types::SqlError;

/// One argument: a column or a constant.
pub(super) struct Operand<T: ArrowPrimitiveType> {
    pub array: PrimitiveArray<T>,
    /// True if the array's only value stands for all rows.
    pub constant: bool,
}

impl<T: ArrowPrimitiveType> Operand<T> {
    pub fn new(value: &ColumnarValue) -> Result<Operand<T>> {
        let (array, constant) = match value {
            ColumnarValue::Array(a) => (a.clone(), false),
            ColumnarValue::Scalar(s) => (s.to_array()?, true),
        };
        match array.as_primitive_opt::<T>() {
            Some(array) => Ok(Operand { array: array.clone(), constant }),
            None => Err(external(SqlError::internal(format!("arithmetic over {}", array.data_type())))),
        }
    }

    #[inline(always)]
    pub fn get(&self, row: usize) -> T::Native {
        self.array.value(if self.constant { 0 } else { row })
    }

    pub fn nulls(&self, rows: usize) -> Option<NullBuffer> {
        match self.constant {
            false => self.array.nulls().cloned(),
            true if self.array.is_null(0) => Some(NullBuffer::new_null(rows)),
            true => None,
        }
    }
}

impl Operand<Int64Type> {
    /// Multiplies all values by a factor; `None` if one overflows.
    pub fn scaled(&self, factor: i64) -> Option<Operand<Int64Type>> {
        if factor == 1 {
            return Some(Operand { array: self.array.clone(), constant: self.constant });
        }
        let mut overflow = false;
        let scaled = self.array.values().iter().map(|x| {
            let (value, over) = x.overflowing_mul(factor);
            overflow |= over;
            value
        });
        let array = PrimitiveArray::new(scaled.collect(), self.array.nulls().cloned());
        (!overflow).then_some(Operand { array, constant: self.constant })
    }
}

/// Applies `f` to the arguments of all rows, NULLs included.
#[inline(always)]
pub(super) fn each<T: ArrowPrimitiveType, O: ArrowNativeType>(
    a: &Operand<T>,
    b: &Operand<T>,
    rows: usize,
    mut f: impl FnMut(T::Native, T::Native) -> O,
) -> ScalarBuffer<O> {
    let mut out = Vec::with_capacity(rows);
    // A loop over slots, not `collect`, so that what `f` keeps stays in registers.
    let slots = &mut out.spare_capacity_mut()[..rows];
    match (a.constant, b.constant) {
        (false, false) => {
            let (a, b) = (&a.array.values()[..rows], &b.array.values()[..rows]);
            slots.iter_mut().zip(a.iter().zip(b)).for_each(|(slot, (x, y))| _ = slot.write(f(*x, *y)));
        }
        (true, false) => {
            let x = a.array.value(0);
            slots.iter_mut().zip(&b.array.values()[..rows]).for_each(|(slot, y)| _ = slot.write(f(x, *y)));
        }
        (false, true) => {
            let y = b.array.value(0);
            slots.iter_mut().zip(&a.array.values()[..rows]).for_each(|(slot, x)| _ = slot.write(f(*x, y)));
        }
        (true, true) => {
            let value = f(a.array.value(0), b.array.value(0));
            slots.iter_mut().for_each(|slot| _ = slot.write(value));
        }
    }
    // SAFETY: each of the loops has written to all of the slots, since each operand has as many values.
    unsafe { out.set_len(rows) };
    out.into()
}
