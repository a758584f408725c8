//! Bit operations on byte strings (manual 14.12): the result has as many bytes as the arguments.

use super::{Evaluator, Outcome, value};
use muster_algebra::{Expr, ScalarFunction};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value, cast};

impl Evaluator<'_> {
    /// An operation whose result is a byte string. Error 3513 for arguments of different lengths.
    pub(super) fn bit_string(&mut self, function: ScalarFunction, args: &[Expr]) -> Outcome {
        let first = value!(self.eval(args.first()?));
        let second = match args.get(1) {
            Some(arg) => value!(self.eval(arg)),
            None => Value::Int(0),
        };
        let Value::Bytes(bytes) = first else { return Some(Ok(Value::Null)) };
        if second.is_null() {
            return Some(Ok(Value::Null));
        }
        let pairs = |f: fn(u8, u8) -> u8| pairwise(&bytes, &second, f);
        let places = match cast(&second, SqlType::BIGINT_UNSIGNED).0 {
            Value::UInt(n) => usize::try_from(n).unwrap_or(usize::MAX),
            _ => 0,
        };
        Some(match function {
            ScalarFunction::BitAnd => pairs(|a, b| a & b),
            ScalarFunction::BitOr => pairs(|a, b| a | b),
            ScalarFunction::BitXor => pairs(|a, b| a ^ b),
            ScalarFunction::BitNot => Ok(Value::Bytes(bytes.iter().map(|b| !b).collect())),
            ScalarFunction::ShiftLeft => Ok(Value::Bytes(shifted(&bytes, places, true))),
            _ => Ok(Value::Bytes(shifted(&bytes, places, false))),
        })
    }
}

fn pairwise(bytes: &[u8], other: &Value, f: fn(u8, u8) -> u8) -> Result<Value> {
    match other {
        Value::Bytes(other) if other.len() == bytes.len() => {
            Ok(Value::Bytes(bytes.iter().zip(other).map(|(a, b)| f(*a, *b)).collect()))
        }
        _ => {
            let message = "Binary operands of bitwise operators must be of equal length";
            Err(SqlError::new(ErrorCode::InvalidBitwiseOperandsSize, message))
        }
    }
}

/// The bits moved by so many places; those that leave are lost, and zeros come.
fn shifted(bytes: &[u8], places: usize, left: bool) -> Vec<u8> {
    let (whole, rest) = (places / 8, places % 8);
    let at = |i: Option<usize>| u16::from(i.and_then(|i| bytes.get(i)).copied().unwrap_or(0));
    (0..bytes.len())
        .map(|i| {
            // A byte of the result has bits of two neighbours.
            let pair = match left {
                true => {
                    (at(i.checked_add(whole)) << 8 | at(i.checked_add(whole).and_then(|i| i.checked_add(1)))) << rest
                }
                false => {
                    let near = i.checked_sub(whole);
                    (at(near.and_then(|i| i.checked_sub(1))) << 8 | at(near)) >> rest
                }
            };
            if left { (pair >> 8) as u8 } else { pair as u8 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::shifted;

    #[test]
    fn bits_are_moved_across_bytes() {
        let bytes = [0x0F, 0x0F];
        assert_eq!([shifted(&bytes, 4, true), shifted(&bytes, 4, false)], [vec![0xF0, 0xF0], vec![0x00, 0xF0]]);
        assert_eq!([shifted(&bytes, 1, true), shifted(&bytes, 9, false)], [vec![0x1E, 0x1E], vec![0x00, 0x07]]);
        assert_eq!([shifted(&bytes, 16, true), shifted(&bytes, usize::MAX, false)], [vec![0, 0], vec![0, 0]]);
    }
}
