//! Products of 256 bits: what multiplying and dividing 38-digit decimals exactly needs.

/// An unsigned number of 256 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct U256 {
    high: u128,
    low: u128,
}

fn multiply(a: u128, b: u128) -> U256 {
    const MASK: u128 = u64::MAX as u128;
    let (a1, a0) = (a >> 64, a & MASK);
    let (b1, b0) = (b >> 64, b & MASK);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let middle_low = a0 * b1 + (middle & MASK);
    U256 { high: a1 * b1 + (middle >> 64) + (middle_low >> 64), low: (middle_low << 64) | (low & MASK) }
}

/// Quotient and remainder, by schoolbook division bit by bit; `None` when the quotient has more than 128 bits.
fn divide(n: U256, d: u128) -> Option<(u128, u128)> {
    if n.high >= d {
        return None;
    }
    if n.high == 0 {
        return Some((n.low / d, n.low % d));
    }
    let (mut rest, mut quotient) = (n.high, 0u128);
    for bit in (0..128).rev() {
        let carry = rest >> 127 == 1;
        rest = (rest << 1) | ((n.low >> bit) & 1);
        quotient <<= 1;
        if carry || rest >= d {
            rest = rest.wrapping_sub(d);
            quotient |= 1;
        }
    }
    Some((quotient, rest))
}

/// `a * b / c`, rounded half away from zero, exact in between. `None` when `c` is 0 or the result does not fit.
pub fn mul_div_round(a: i128, b: i128, c: i128) -> Option<i128> {
    let (quotient, rest) = magnitudes(a, b, c)?;
    let d = c.unsigned_abs();
    signed(if rest >= d - rest { quotient.checked_add(1)? } else { quotient }, (a < 0) ^ (b < 0) ^ (c < 0))
}

/// `a * b / c` without what is behind the point. `None` if `c` is zero or the result has more than 127 bits.
pub fn mul_div_cut(a: i128, b: i128, c: i128) -> Option<i128> {
    signed(magnitudes(a, b, c)?.0, (a < 0) ^ (b < 0) ^ (c < 0))
}

/// The quotient and the rest of `|a| * |b| / |c|`.
fn magnitudes(a: i128, b: i128, c: i128) -> Option<(u128, u128)> {
    if c == 0 { None } else { divide(multiply(a.unsigned_abs(), b.unsigned_abs()), c.unsigned_abs()) }
}

fn signed(magnitude: u128, negative: bool) -> Option<i128> {
    let magnitude = i128::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::div_round;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_where_128_bits_are_enough(a in any::<i64>(), b in any::<i64>(), c in any::<i64>()) {
            let (a, b, c) = (a as i128, b as i128, c as i128);
            let want = if c == 0 { None } else { Some(div_round(a * b, c)) };
            prop_assert_eq!(mul_div_round(a, b, c), want);
        }

        #[test]
        fn multiplying_and_dividing_by_the_same_changes_nothing(a in any::<i128>(), b in any::<i128>()) {
            prop_assume!(b != 0 && a != i128::MIN);
            prop_assert_eq!(mul_div_round(a, b, b), Some(a));
            prop_assert_eq!(mul_div_round(b, a, b), Some(a));
        }
    }

    #[test]
    fn edges() {
        assert_eq!(mul_div_round(i128::MAX, 2, 1), None);
        assert_eq!(mul_div_round(1, 1, 0), None);
        assert_eq!(mul_div_round(-5, 1, 2), Some(-3));
        assert_eq!(mul_div_round(5, -1, 3), Some(-2));
    }
}
