//! Products and quotients that do not fit the integers they are made of.

use arrow_buffer::i256;
use num_bigint::BigInt;

/// `a * b / c`, rounded half away from zero, exact in between. `None` when `c` is 0 or the result does not fit.
pub fn mul_div_round(a: i128, b: i128, c: i128) -> Option<i128> {
    let product = i256::from_i128(a).wrapping_mul(i256::from_i128(b));
    if c == 0 { None } else { divide_round_256(product, i256::from_i128(c)).to_i128() }
}

/// `a * b / c` without what is behind the point. `None` if `c` is zero or the result has more than 127 bits.
pub fn mul_div_cut(a: i128, b: i128, c: i128) -> Option<i128> {
    let product = i256::from_i128(a).wrapping_mul(i256::from_i128(b));
    product.checked_div(i256::from_i128(c))?.to_i128()
}

/// The quotient without what is behind the point, and the rest, which has the sign of `a`. `b` is not zero.
pub fn quotient_and_rest(a: i256, b: i256) -> (i256, i256) {
    if let (Some(a), Some(b)) = (a.to_i128(), b.to_i128())
        && let (Some(q), Some(r)) = (a.checked_div(b), a.checked_rem(b))
    {
        return (i256::from_i128(q), i256::from_i128(r));
    }
    let quotient = a.wrapping_div(b);
    (quotient, a.wrapping_sub(quotient.wrapping_mul(b)))
}

/// `a / b` rounded half away from zero. `b` is not zero.
pub fn divide_round_256(a: i256, b: i256) -> i256 {
    let (quotient, rest) = quotient_and_rest(a, b);
    let (rest, divisor) = (rest.wrapping_abs(), b.wrapping_abs());
    if rest < divisor.wrapping_sub(rest) {
        return quotient;
    }
    quotient.wrapping_add(if a.is_negative() == b.is_negative() { i256::ONE } else { i256::MINUS_ONE })
}

/// `a * b / c`, rounded half away from zero, exact in between. `None` when `c` is 0 or the result does not fit.
pub fn mul_div_round_256(a: i256, b: i256, c: i256) -> Option<i256> {
    if c == i256::ZERO {
        return None;
    }
    if let Some(product) = a.checked_mul(b) {
        return Some(divide_round_256(product, c));
    }
    // Half of the divisor more, away from zero, and cut: what is halved must be even.
    let twice = big(a) * big(b) * BigInt::from(2);
    let divisor = big(c);
    let is_negative = (a.is_negative() ^ b.is_negative()) != c.is_negative();
    let half = if is_negative { -&divisor } else { divisor.clone() };
    fitting((twice + half) / (divisor * BigInt::from(2)))
}

/// `a * b / c` without what is behind the point. `None` if `c` is zero or the result does not fit.
pub fn mul_div_cut_256(a: i256, b: i256, c: i256) -> Option<i256> {
    if c == i256::ZERO {
        return None;
    }
    match a.checked_mul(b) {
        Some(product) => Some(quotient_and_rest(product, c).0),
        None => fitting(big(a) * big(b) / big(c)),
    }
}

/// The rest of dividing one product by another, which is not zero.
pub fn rest_of_products(a: (i256, i256), b: (i256, i256)) -> Option<i256> {
    fitting((big(a.0) * big(a.1)) % (big(b.0) * big(b.1)))
}

fn big(x: i256) -> BigInt {
    BigInt::from_signed_bytes_le(&x.to_le_bytes())
}

fn fitting(x: BigInt) -> Option<i256> {
    let bytes = x.to_signed_bytes_le();
    let sign = if x.sign() == num_bigint::Sign::Minus { 0xFF } else { 0 };
    let mut all = [sign; 32];
    all.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(i256::from_le_bytes(all))
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
            prop_assert_eq!(mul_div_cut(a, b, c), (a * b).checked_div(c));
        }

        #[test]
        fn multiplying_and_dividing_by_the_same_changes_nothing(a in any::<i128>(), b in any::<i128>()) {
            prop_assume!(b != 0 && a != i128::MIN);
            prop_assert_eq!(mul_div_round(a, b, b), Some(a));
            prop_assert_eq!(mul_div_round(b, a, b), Some(a));
        }

        /// The sum of the halves is the whole: rounding and cutting against arithmetic without limits.
        #[test]
        fn agrees_with_big_integers(a in any::<[u8; 32]>(), b in any::<[u8; 32]>(), c in any::<[u8; 32]>(), cut in 0u8..220) {
            // Divisors of all lengths, so that quotients fit and do not.
            let shifted = |bytes: [u8; 32], by: u8| i256::from_le_bytes(bytes) >> by;
            let (a, b, c) = (shifted(a, cut / 2), shifted(b, cut), shifted(c, 20));
            prop_assume!(c != i256::ZERO);
            let (x, y, z) = (big(a), big(b), big(c));
            let (quotient, rest) = ((&x * &y) / &z, (&x * &y) % &z);
            prop_assert_eq!(mul_div_cut_256(a, b, c), fitting(quotient.clone()));
            let up = BigInt::from(rest.magnitude().clone()) * 2 >= BigInt::from(z.magnitude().clone());
            let step = if (&x * &y).sign() == z.sign() { 1 } else { -1 };
            let rounded = if up { quotient + step } else { quotient };
            prop_assert_eq!(mul_div_round_256(a, b, c), fitting(rounded));
        }
    }

    #[test]
    fn edges() {
        assert_eq!(mul_div_round(i128::MAX, 2, 1), None);
        assert_eq!(mul_div_round(1, 1, 0), None);
        assert_eq!(mul_div_round(-5, 1, 2), Some(-3));
        assert_eq!(mul_div_round(5, -1, 3), Some(-2));
        assert_eq!(mul_div_cut(5, 1, 0), None);
        assert_eq!(mul_div_cut(-5, 1, 3), Some(-1));
    }
}
