use super::*;
use arrow_array::{Decimal64Array, Decimal128Array, Int32Array, UInt64Array};
use arrow_buffer::i256;

fn round_trip(columns: &[(ArrayRef, bool)]) {
    let types: Vec<_> = columns.iter().map(|(c, nullable)| (c.data_type().clone(), *nullable)).collect();
    let arrays: Vec<_> = columns.iter().map(|(c, _)| c.clone()).collect();
    let layout = RowLayout::new(&types);
    let mut buffer = RowBuffer::default();
    layout.encode(&arrays, &mut buffer);
    let rows: Vec<&[u8]> = (0..arrays[0].len()).map(|i| buffer.row(i)).collect();
    assert_eq!(layout.decode(&rows).unwrap(), arrays);
    // Any order of rows.
    let back: Vec<&[u8]> = rows.iter().rev().copied().collect();
    let got = layout.decode(&back).unwrap();
    for (got, want) in got.iter().zip(&arrays) {
        for i in 0..want.len() {
            assert_eq!(got.slice(want.len() - 1 - i, 1).as_ref(), want.slice(i, 1).as_ref());
        }
    }
}

fn sample() -> Vec<(ArrayRef, bool)> {
    let long = "x".repeat(300);
    let decimal = |p, v: Vec<Option<i128>>| {
        Arc::new(Decimal128Array::from(v).with_precision_and_scale(p, 2).unwrap()) as ArrayRef
    };
    let narrow = Decimal64Array::from(vec![Some(-999_999_999_999_999_999), None, Some(1)]);
    vec![
        (Arc::new(Int32Array::from(vec![i32::MIN, -1, i32::MAX])), false),
        (Arc::new(StringViewArray::from(vec![Some(""), None, Some(long.as_str())])), true),
        (Arc::new(UInt64Array::from(vec![None, Some(u64::MAX), Some(0)])), true),
        (Arc::new(narrow.with_precision_and_scale(18, 2).unwrap()), true),
        (decimal(38, vec![Some(10i128.pow(38) - 1), Some(-1), None]), true),
        (Arc::new(arrow_array::Decimal256Array::from(vec![Some(i256::MAX), Some(i256::MINUS_ONE), None])), true),
        (
            Arc::new(BinaryViewArray::from(vec![Some(&b"\0\xff"[..]), Some(b"twelve bytes"), Some(b"thirteen byte")])),
            true,
        ),
        (Arc::new(arrow_array::Float64Array::from(vec![0.5, -0.0, f64::MAX])), false),
        (Arc::new(arrow_array::Date32Array::from(vec![0, -1, 20_000])), false),
        (Arc::new(arrow_array::TimestampMicrosecondArray::from(vec![1, 2, 3])), false),
        (Arc::new(arrow_array::DurationMicrosecondArray::from(vec![-1, 2, 3])), false),
        (Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])), true),
        (Arc::new(arrow_array::Int8Array::from(vec![1, 2, -3])), false),
    ]
}

#[test]
fn every_type_goes_both_ways() {
    round_trip(&sample());
    // Without nullable columns there are no null bits.
    round_trip(&[(Arc::new(StringViewArray::from(vec!["a", "b"])), false)]);
    // A slice keeps its offset.
    let sliced: Vec<_> = sample().into_iter().map(|(c, n)| (c.slice(1, 2), n)).collect();
    round_trip(&sliced);
}

#[test]
fn cut_rows_are_an_error_and_no_panic() {
    let columns = sample();
    let types: Vec<_> = columns.iter().map(|(c, nullable)| (c.data_type().clone(), *nullable)).collect();
    let arrays: Vec<_> = columns.into_iter().map(|(c, _)| c).collect();
    let layout = RowLayout::new(&types);
    let mut buffer = RowBuffer::default();
    layout.encode(&arrays, &mut buffer);
    let row = buffer.row(2);
    for n in 0..row.len() {
        assert!(layout.decode(&[&row[..n]]).is_err(), "{n} of {} bytes", row.len());
    }
}

#[test]
fn lengths_at_the_borders_of_leb128() {
    for n in [0, 1, 127, 128, 16_383, 16_384, 70_000] {
        let mut bytes = [0; 9];
        assert_eq!(put_leb128(n, &mut bytes), leb128_len(n));
        assert_eq!(take_leb128(&bytes), Some((n, leb128_len(n))));
    }
    assert_eq!(take_leb128(&[0x80; 12]), None);
}
