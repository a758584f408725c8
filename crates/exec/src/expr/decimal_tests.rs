use super::*;
use crate::expr::{arithmetic::Family, kernel::Kernel};
use datafusion_common::ScalarValue;
use proptest::prelude::*;

fn decimal(op: ArithmeticOp, a: (&[i128], u8), b: (&[i128], u8), scale: u8) -> Result<Vec<Option<i128>>> {
    let kernel = Arithmetic {
        op,
        family: Family::Decimal,
        scales: (a.1, b.1, scale),
        result: DataType::Decimal128(38, scale as i8),
        adaptive: false,
        warnings: Arc::default(),
    };
    let column = |(v, s): (&[i128], u8)| {
        let array = Decimal128Array::from(v.to_vec()).with_precision_and_scale(38, s as i8).unwrap();
        ColumnarValue::Array(Arc::new(array))
    };
    let result = kernel.call(&[column(a), column(b)], a.0.len())?;
    Ok(result.as_primitive::<Decimal128Type>().iter().collect())
}

#[test]
fn decimals_are_exact_and_round_half_away_from_zero() {
    // 1 - 0.07, 1 - (-0.05)
    assert_eq!(decimal(ArithmeticOp::Sub, (&[1, 1], 0), (&[7, -5], 2), 2).unwrap(), [Some(93), Some(105)]);
    // 1.5 * 0.25 at scale 3 and cut to 2
    assert_eq!(decimal(ArithmeticOp::Mul, (&[15], 1), (&[25], 2), 3).unwrap(), [Some(375)]);
    assert_eq!(decimal(ArithmeticOp::Mul, (&[15], 1), (&[25], 2), 2).unwrap(), [Some(38)]);
    // 1 / 3, -2 / 3, 1 / 0
    assert_eq!(
        decimal(ArithmeticOp::Div, (&[1, -2, 1], 0), (&[3, 3, 0], 0), 4).unwrap(),
        [Some(3333), Some(-6667), None]
    );
    assert_eq!(decimal(ArithmeticOp::Mod, (&[-75], 1), (&[2], 0), 1).unwrap(), [Some(-15)]);
}

#[test]
fn large_decimals_divide_through_256_bits_or_fail() {
    let big = 10i128.pow(37);
    assert_eq!(decimal(ArithmeticOp::Div, (&[big], 10), (&[3 * big], 10), 6).unwrap(), [Some(333_333)]);
    assert_eq!(decimal(ArithmeticOp::Mul, (&[big], 30), (&[10 * big], 30), 2).unwrap(), [Some(10i128.pow(17))]);
    let e = decimal(ArithmeticOp::Mul, (&[big], 0), (&[big], 0), 0).unwrap_err();
    assert_eq!(crate::error::to_sql(&e, 0).code, ErrorCode::DataOutOfRange);
}

/// Columns of 64-bit decimals, or constants.
fn narrow_column(values: &[Option<i64>], scale: u8, constant: bool) -> ColumnarValue {
    let ty = DataType::Decimal64(18, scale as i8);
    match constant {
        true => ColumnarValue::Scalar(ScalarValue::Decimal64(values[0], 18, scale as i8)),
        false => ColumnarValue::Array(Arc::new(Decimal64Array::from(values.to_vec()).with_data_type(ty))),
    }
}

fn widened(value: &ColumnarValue, rows: usize) -> ColumnarValue {
    let array = value.to_array(rows).unwrap();
    let ty = DataType::Decimal128(38, scale_of(array.data_type()).unwrap() as i8);
    ColumnarValue::Array(map_decimals(&array, &ty, Some, Some, |_| out_of_range("")).unwrap())
}

fn values_of(array: &ArrayRef) -> Vec<Option<i128>> {
    match array.as_primitive_opt::<Decimal64Type>() {
        Some(narrow) => narrow.iter().map(|v| v.map(i128::from)).collect(),
        None => array.as_primitive::<Decimal128Type>().iter().collect(),
    }
}

/// Small numbers, large ones and NULL.
fn number() -> impl Strategy<Value = Option<i64>> {
    prop_oneof![
        1 => Just(None),
        4 => (-1000i64..1000).prop_map(Some),
        2 => (-999_999_999_999_999_999i64..=999_999_999_999_999_999).prop_map(Some),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0)].prop_map(Some),
    ]
}

proptest! {
    /// Whatever the widths, results are those of 128 bits; where 64 do not hold them, they come in 128 or are error
    /// 1690.
    #[test]
    fn sixty_four_bits_give_what_128_give(
        pairs in proptest::collection::vec((number(), number()), 1..20),
        scales in (0u8..=4, 0u8..=4),
        constants in (any::<bool>(), any::<bool>()),
        op in prop_oneof![
            Just(ArithmeticOp::Add), Just(ArithmeticOp::Sub), Just(ArithmeticOp::Mul), Just(ArithmeticOp::Div),
            Just(ArithmeticOp::IntDiv), Just(ArithmeticOp::Mod)
        ],
        less in 0u8..2,
        adaptive in any::<bool>(),
    ) {
        let rows = pairs.len();
        let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let a = narrow_column(&a, scales.0, constants.0);
        let b = narrow_column(&b, scales.1, constants.1);
        let natural = match op {
            ArithmeticOp::Mul => scales.0 + scales.1,
            ArithmeticOp::Div => scales.0 + 4,
            ArithmeticOp::IntDiv => 0,
            _ => scales.0.max(scales.1),
        };
        let scale = natural.saturating_sub(less);
        let run = |result: DataType, adaptive: bool, a: &ColumnarValue, b: &ColumnarValue| {
            let scales = (scales.0, scales.1, scale);
            let kernel = Arithmetic { op, family: Family::Decimal, scales, result, adaptive, warnings: Arc::default() };
            kernel.call(&[a.clone(), b.clone()], rows)
        };
        let wide = DataType::Decimal128(38, scale as i8);
        let want = run(wide.clone(), false, &widened(&a, rows), &widened(&b, rows));
        let got = run(wide, adaptive, &a, &b);
        match (&want, &got) {
            (Ok(want), Ok(got)) => {
                prop_assert_eq!(values_of(want), values_of(got));
                prop_assert!(adaptive || matches!(got.data_type(), DataType::Decimal128(..)));
            }
            (Err(_), Err(_)) => {}
            _ => prop_assert!(false, "{want:?} {got:?}"),
        }
        // DIV gives integers.
        if let (Ok(want), true) = (&want, op != ArithmeticOp::IntDiv) {
            let narrow = run(DataType::Decimal64(18, scale as i8), false, &a, &b);
            let want = values_of(want);
            match want.iter().flatten().all(|v| i64::try_from(*v).is_ok()) {
                true => prop_assert_eq!(want, values_of(&narrow.unwrap())),
                false => prop_assert_eq!(crate::error::to_sql(&narrow.unwrap_err(), 0).code, ErrorCode::DataOutOfRange),
            }
        }
    }
}

#[test]
fn products_that_fit_stay_in_64_bits() {
    let kernel = Arithmetic {
        op: ArithmeticOp::Mul,
        family: Family::Decimal,
        scales: (2, 2, 4),
        result: DataType::Decimal128(30, 4),
        adaptive: true,
        warnings: Arc::default(),
    };
    let product = |x: i64| {
        let column = narrow_column(&[Some(x), Some(1)], 2, false);
        kernel.call(&[column.clone(), column], 2).unwrap().data_type().clone()
    };
    assert_eq!(product(1 << 31), DataType::Decimal64(18, 4));
    assert_eq!(product(1 << 32), DataType::Decimal128(30, 4));
}
