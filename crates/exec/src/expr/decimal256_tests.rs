use super::*;
use crate::{
    Warnings,
    expr::{arithmetic::Family, kernel::Kernel},
};
use datafusion_expr::ColumnarValue;
use muster_algebra::ArithmeticOp::*;
use proptest::prelude::*;

/// Two columns of 256 bits, or of 128 if that is what they fit.
fn run(op: ArithmeticOp, a: &[Decimal], b: &[Decimal], result: DataType, adaptive: bool) -> Result<ArrayRef> {
    let column = |values: &[Decimal]| -> ColumnarValue {
        let scale = values[0].scale as i8;
        ColumnarValue::Array(match values.iter().map(|d| d.narrow()).collect::<Option<Vec<_>>>() {
            Some(narrow) => Arc::new(Decimal128Array::from(narrow).with_data_type(DataType::Decimal128(38, scale))),
            None => {
                let widest = Decimal256Array::from_iter_values(values.iter().map(|d| d.unscaled()));
                Arc::new(widest.with_data_type(DataType::Decimal256(65, scale)))
            }
        })
    };
    let scale = match result {
        DataType::Decimal256(_, scale) => scale as u8,
        _ => 0,
    };
    let scales = (a[0].scale, b[0].scale, scale);
    let warnings: Arc<Warnings> = Arc::default();
    let kernel = Arithmetic { op, family: Family::Decimal, scales, result, adaptive, warnings };
    kernel.call(&[column(a), column(b)], a.len())
}

fn decimals(digits: std::ops::Range<usize>, scale: u8) -> impl Strategy<Value = Vec<Decimal>> {
    let number = (digits, any::<[u8; 32]>()).prop_map(move |(digits, bytes)| {
        let limit = muster_types::decimal::pow10_256(digits as u32).unwrap();
        Decimal::wide(i256::from_le_bytes(bytes).wrapping_rem(limit), scale)
    });
    // A divisor must not be zero.
    let one = Decimal::new(1, scale);
    prop::collection::vec(number.prop_map(move |d| if d.is_zero() { one } else { d }), 3)
}

proptest! {
    /// Columns give what single values give, whichever widths arguments and results have.
    #[test]
    fn columns_agree_with_single_values(
        (a, b) in (0u8..31, 0u8..31, 0usize..2, 0usize..2).prop_flat_map(|(sa, sb, wa, wb)| {
            let digits = |wide: usize| if wide == 1 { 30..62 } else { 1..38 };
            (decimals(digits(wa), sa), decimals(digits(wb), sb))
        }),
        adaptive in any::<bool>(),
    ) {
        let (sa, sb) = (a[0].scale, b[0].scale);
        for (op, scale) in [(Add, sa.max(sb)), (Sub, sa.max(sb)), (Mul, (sa + sb).min(30)), (Div, (sa + 4).min(30)), (Mod, sa.max(sb))] {
            let want: Option<Vec<Decimal>> = a.iter().zip(&b).map(|(a, b)| match op {
                Add => a.checked_add(*b),
                Sub => a.checked_sub(*b),
                Mul => a.product(*b, scale),
                Div => a.quotient(*b, scale)?.rescale(scale),
                _ => a.remainder(*b),
            }).collect();
            let got = run(op, &a, &b, DataType::Decimal256(65, scale as i8), adaptive);
            match want {
                None => prop_assert!(got.is_err(), "{op:?} {a:?} {b:?}"),
                Some(want) => {
                    let got = got.unwrap();
                    prop_assert!(adaptive || matches!(got.data_type(), DataType::Decimal256(..)));
                    let got: Vec<Decimal> = widest_of(&got).unwrap().values().iter().map(|x| Decimal::wide(*x, scale)).collect();
                    prop_assert_eq!(got, want, "{:?} {:?} {:?}", op, a, b);
                }
            }
        }
    }
}

#[test]
fn whole_quotients_are_integers_or_out_of_range() {
    let number = |text: &str| [Decimal::parse(text).unwrap()];
    let long = number("12345678901234567890123456789012345678901234567890.5");
    let quotient = run(IntDiv, &long, &number("1000000000000000000000000000000000"), DataType::Int64, false).unwrap();
    assert_eq!(quotient.as_primitive::<Int64Type>().value(0), 12_345_678_901_234_567);
    let error = run(IntDiv, &long, &number("7"), DataType::Int64, false).unwrap_err().to_string();
    assert!(error.contains("BIGINT value is out of range"), "{error}");
}
