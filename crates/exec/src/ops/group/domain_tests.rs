use super::super::keys::{Keys, decoded};
use arrow_array::UInt32Array;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal64Array, DictionaryArray, Int8Array, Int64Array,
    StringViewArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::{concat::concat, take::take};
use proptest::prelude::*;
use std::sync::Arc;

fn schema(keys: &[ArrayRef]) -> Arc<Schema> {
    Arc::new(Schema::new(keys.iter().map(|k| Field::new("k", k.data_type().clone(), true)).collect::<Vec<_>>()))
}

/// Groups the batches and checks that each row's group has the row's keys, and that no two groups are equal.
fn check(batches: &[Vec<ArrayRef>]) {
    let values: Vec<Vec<ArrayRef>> = batches.iter().map(|batch| decoded(batch).unwrap()).collect();
    let mut keys = Keys::new(&schema(&values[0])).unwrap();
    let (mut places, mut all) = (Vec::new(), Vec::new());
    for batch in batches {
        keys.intern(batch, &mut places).unwrap();
        assert_eq!(places.len(), batch[0].len());
        all.extend(places.iter().map(|p| *p as u32));
    }
    let groups = keys.len();
    let found = keys.take().unwrap();
    assert_eq!(keys.len(), 0);
    let all = UInt32Array::from(all);
    let mut distinct: Vec<Vec<String>> = vec![Vec::new(); groups];
    for (key, found) in found.iter().enumerate() {
        let parts: Vec<&dyn Array> = values.iter().map(|b| b[key].as_ref()).collect();
        let want = concat(&parts).unwrap();
        assert_eq!(found.data_type(), want.data_type());
        assert_eq!(&take(found, &all, None).unwrap(), &want);
        for (group, row) in distinct.iter_mut().enumerate() {
            row.push(format!("{:?}", found.slice(group, 1)));
        }
    }
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), groups);
}

fn texts(values: &[Option<u16>]) -> ArrayRef {
    // The same length and beginning: only the whole text tells them apart.
    let text = |n: u16| if n.is_multiple_of(2) { format!("{n}") } else { format!("a text longer than a view {n:05}") };
    Arc::new(StringViewArray::from_iter(values.iter().map(|v| v.map(text))))
}

fn batch(kind: u8, values: &[Option<u16>], spread: i64) -> ArrayRef {
    let of = |v: &Option<u16>| v.map(|v| (i64::from(v) - 20) * spread);
    match kind {
        0 => texts(values),
        1 => Arc::new(Int64Array::from_iter(values.iter().map(of))),
        2 => Arc::new(Int8Array::from_iter(values.iter().map(|v| v.map(|v| v as i8)))),
        3 => Arc::new(Date32Array::from_iter(values.iter().map(|v| of(v).map(|v| v as i32)))),
        4 => Arc::new(BooleanArray::from_iter(values.iter().map(|v| v.map(|v| v > 10)))),
        5 => {
            let decimals = Decimal64Array::from_iter(values.iter().map(of));
            Arc::new(decimals.with_data_type(DataType::Decimal64(18, 2)))
        }
        6 => Arc::new(UInt64Array::from_iter(values.iter().map(|v| v.map(u64::from)))),
        _ => dictionary(values),
    }
}

/// The same texts as [`texts`], with values in the dictionary that no row has.
fn dictionary(values: &[Option<u16>]) -> ArrayRef {
    let mut distinct: Vec<Option<u16>> = vec![Some(u16::MAX)];
    let mut code = |v: u16| {
        let known = distinct.iter().position(|d| *d == Some(v));
        known.unwrap_or_else(|| {
            distinct.push(Some(v));
            distinct.len() - 1
        }) as u32
    };
    let keys = UInt32Array::from_iter(values.iter().map(|v| v.map(&mut code)));
    Arc::new(DictionaryArray::new(keys, texts(&distinct)))
}

fn values(most: u16) -> impl Strategy<Value = Vec<Option<u16>>> {
    proptest::collection::vec(proptest::option::weighted(0.9, 0..most), 40)
}

proptest! {
    #[test]
    fn rows_of_equal_keys_are_in_one_group(
        kinds in proptest::collection::vec(0u8..8, 1..4),
        rows in proptest::collection::vec(proptest::collection::vec(values(60), 3), 1..6),
        spread in prop_oneof![Just(1i64), Just(1000), Just(i64::MAX / 64)],
    ) {
        let batches: Vec<Vec<ArrayRef>> = rows
            .iter()
            .map(|columns| kinds.iter().zip(columns).map(|(kind, v)| batch(*kind, v, spread)).collect())
            .collect();
        check(&batches);
    }
}

#[test]
fn keys_of_many_values_go_on_by_hash() {
    let range = |from: u16, to: u16| (from..to).map(Some).collect::<Vec<_>>();
    for kind in [0, 1, 3, 7] {
        let batches: Vec<Vec<ArrayRef>> = (0..12)
            .map(|i| vec![batch(kind, &range(0, 2000 * (i + 1)), 7), batch(kind, &range(0, 2000 * (i + 1)), 1)])
            .collect();
        check(&batches);
    }
}

#[test]
fn long_texts_are_not_kept_twice() {
    let long: Vec<Option<String>> = (0..100).map(|i| Some(format!("{i:060000}"))).collect();
    let texts: ArrayRef = Arc::new(StringViewArray::from(long));
    let mut keys = Keys::new(&schema(std::slice::from_ref(&texts))).unwrap();
    let mut places = Vec::new();
    keys.intern(std::slice::from_ref(&texts), &mut places).unwrap();
    assert_eq!(keys.len(), 100);
    assert!(keys.bytes() < 7_000_000, "{}", keys.bytes());
    check(&[vec![texts.slice(0, 60)], vec![texts.slice(40, 60)]]);
}

#[test]
fn the_extreme_integers_are_keys() {
    let column = |values: Vec<Option<i64>>| vec![Arc::new(Int64Array::from(values)) as ArrayRef];
    check(&[column(vec![Some(i64::MAX), None, Some(i64::MAX - 1)]), column(vec![Some(i64::MAX - 3), Some(i64::MAX)])]);
    check(&[column(vec![Some(i64::MAX)]), column(vec![Some(i64::MIN), None])]);
    check(&[column(vec![None, None]), column(vec![Some(i64::MIN)]), column(vec![None])]);
}
