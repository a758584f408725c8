use super::*;
use crate::Value;
use num_bigint::BigInt;
use proptest::prelude::*;

const LONG: &str = "-12345678901234567890123456789012345.123456789012345678901234567890";

#[test]
fn text_both_ways() {
    for text in [
        "0",
        "-1.50",
        "0.05",
        "99999999999999999999999999999999999999",
        "100000000000000000000000000000000000000",
        "-170141183460469231731687303715884105729",
        "-0.00000001",
        LONG,
        &"9".repeat(76),
        &format!("0.{}", "0".repeat(75) + "7"),
    ] {
        assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
    }
    for text in ["", "-", "1e3", "1.2.3", &"1".repeat(77)] {
        assert_eq!(Decimal::parse(text), None, "{text}");
    }
}

#[test]
fn a_value_stays_as_small_as_with_128_bits() {
    assert_eq!((size_of::<Decimal>(), size_of::<Value>(), size_of::<crate::ValueRef>()), (40, 48, 48));
}

#[test]
fn files_have_one_number_up_to_38_digits_and_two_beyond() {
    let json = |text: &str| serde_json::to_string(&Decimal::parse(text).unwrap()).unwrap();
    assert_eq!(json("-1.50"), r#"{"unscaled":-150,"scale":2}"#);
    let long = json(LONG);
    assert!(long.contains(r#""high":-"#), "{long}");
    for text in [LONG, "-1.50", &"9".repeat(39), "-170141183460469231731687303715884105728"] {
        assert_eq!(serde_json::from_str::<Decimal>(&json(text)).unwrap().to_string(), *text);
    }
}

/// Columns of more than 38 digits that were made with 128 bits stay such.
#[test]
fn precisions_in_files_tell_128_bits_from_256() {
    use crate::SqlType;
    let of = |json: &str| serde_json::from_str::<SqlType>(json).unwrap();
    for (precision, json) in
        [(38, r#"{"Decimal":{"precision":38,"scale":2}}"#), (39, r#"{"Decimal":{"precision":1039,"scale":2}}"#)]
    {
        let ty = SqlType::Decimal { precision, scale: 2 };
        assert_eq!((serde_json::to_string(&ty).unwrap().as_str(), of(json)), (json, ty));
    }
    assert_eq!(of(r#"{"Decimal":{"precision":65,"scale":30}}"#), SqlType::Decimal { precision: 38, scale: 30 });
}

#[test]
fn rounding_is_half_away_from_zero() {
    for (a, b, want) in [(5, 2, 3), (-5, 2, -3), (4, 3, 1), (-4, 3, -1), (5, -2, -3), (1, 2, 1), (1, 3, 0)] {
        assert_eq!(div_round(a, b), want, "{a}/{b}");
    }
    let at = |text: &str, scale| Decimal::parse(text).unwrap().rescale(scale).map(|d| d.to_string());
    assert_eq!(at(LONG, 0).unwrap(), "-12345678901234567890123456789012345");
    assert_eq!(at(LONG, 5).unwrap(), "-12345678901234567890123456789012345.12346");
    assert_eq!(at(LONG, 42), None);
    assert_eq!(at("0", 90).unwrap().len(), 92);
    assert_eq!(Decimal::parse(LONG).unwrap().cut(5).to_string(), "-12345678901234567890123456789012345.12345");
}

/// The number as a fraction: an integer over 10^76.
fn exact(d: Decimal) -> BigInt {
    let digits = BigInt::parse_bytes(d.unscaled().to_string().as_bytes(), 10).unwrap();
    digits * BigInt::from(10).pow(DIGITS_MAX - d.scale as u32)
}

fn any_decimal() -> impl Strategy<Value = Decimal> {
    let digits = prop_oneof![3 => 1usize..20, 2 => 18usize..40, 3 => 36usize..66];
    (digits, any::<[u8; 32]>(), 0u8..31, any::<bool>()).prop_map(|(digits, bytes, scale, negative)| {
        let limit = pow10_256(digits as u32).unwrap();
        let unscaled = i256::from_le_bytes(bytes).wrapping_rem(limit).wrapping_abs();
        Decimal::wide(if negative { unscaled.wrapping_neg() } else { unscaled }, scale)
    })
}

proptest! {
    #[test]
    fn order_is_that_of_the_numbers(a in any_decimal(), b in any_decimal()) {
        prop_assert_eq!(a.cmp(&b), exact(a).cmp(&exact(b)), "{} {}", a, b);
        prop_assert_eq!(a.cmp(&a.rescale(a.scale + 5).unwrap_or(a)), Ordering::Equal);
    }

    #[test]
    fn sums_products_and_rests_are_exact(a in any_decimal(), b in any_decimal()) {
        let unit = BigInt::from(10).pow(DIGITS_MAX);
        if let Some(sum) = a.checked_add(b) {
            prop_assert_eq!(exact(sum), exact(a) + exact(b));
        }
        if let Some(difference) = a.checked_sub(b) {
            prop_assert_eq!(exact(difference), exact(a) - exact(b));
        }
        if let Some(product) = a.product(b, a.scale + b.scale) {
            prop_assert_eq!(exact(product) * &unit, exact(a) * exact(b));
        }
        if !b.is_zero() {
            prop_assert_eq!(a.remainder(b).map(exact), Some(exact(a) % exact(b)));
            let whole = exact(a) / exact(b);
            let quotient = a.whole_quotient(b).map(|q| q.to_string());
            prop_assert_eq!(quotient.unwrap_or(whole.to_string()), whole.to_string());
        }
    }

    #[test]
    fn quotients_are_cut_where_mysql_cuts_them(a in any_decimal(), b in any_decimal(), scale in 0u8..31) {
        prop_assume!(!b.is_zero());
        // A quotient shows no fewer digits behind the point than what is divided.
        let scale = scale.max(a.scale);
        let computed = quotient_scale_for(a.scale as u32, b.scale as u32, scale as u32);
        let cut = exact(a) * BigInt::from(10).pow(computed) / exact(b);
        let want = match computed <= scale as u32 {
            true => cut,
            false => {
                // Rounding the exact quotient.
                let twice = exact(a) * BigInt::from(10).pow(scale as u32) * 2;
                let half = if a.is_negative() == b.is_negative() { exact(b) } else { -exact(b) };
                (twice + half) / (exact(b) * 2)
            }
        };
        if let Some(quotient) = a.quotient(b, scale) {
            prop_assert_eq!(quotient.unscaled().to_string(), want.to_string());
        } else {
            prop_assert!(want.to_string().trim_start_matches('-').len() > 70);
        }
    }

    #[test]
    fn files_and_text_keep_the_number(d in any_decimal()) {
        prop_assert_eq!(Decimal::parse(&d.to_string()).unwrap().unscaled(), d.unscaled());
        let json = serde_json::to_string(&d).unwrap();
        prop_assert_eq!(serde_json::from_str::<Decimal>(&json).unwrap().unscaled(), d.unscaled());
        let digits = d.unscaled().wrapping_abs().to_string();
        prop_assert_eq!(d.precision() as usize, digits.len().max(d.scale as usize));
    }
}
