use super::*;
use crate::tree::{
    TreeLayout,
    arbitrary::{any_rows, any_schema, any_value},
    page::{block::RowBlock, layout::ColumnSource},
};
use muster_types::{KeyRange, SqlType};
use proptest::prelude::*;
use std::{cmp::Ordering, ops::Bound};

fn compare(a: &Value, b: &Value, ty: &SqlType, prefix: Option<u32>) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::UInt(a), Value::UInt(b)) => a.cmp(b),
        (Value::Decimal(a), Value::Decimal(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap(),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).unwrap(),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) | (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => cut_bytes(a, prefix).cmp(cut_bytes(b, prefix)),
        (Value::Text(a), Value::Text(b)) => {
            let key = |s: &str| {
                let mut key = Vec::new();
                ty.collation().unwrap().append_sort_key(cut_text(s, prefix), &mut key);
                key
            };
            key(a).cmp(&key(b))
        }
        other => panic!("{other:?}"),
    }
}

/// The order of rows by key parts, from the values.
fn compare_rows(layout: &TreeLayout, parts: usize, a: &[Value], b: &[Value]) -> Ordering {
    for part in &layout.key.parts[..parts] {
        let c = part.column;
        let order = compare(&a[c], &b[c], &layout.columns[c].ty, part.prefix);
        let order = if part.descending { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}

/// A table row as the tree stores it, row number `n`.
pub fn stored_row(layout: &TreeLayout, row: &[Value], n: i64) -> Vec<Value> {
    layout
        .columns
        .iter()
        .map(|c| match c.source {
            ColumnSource::Table { column, prefix } => crate::tree::page::block::cut_value(&row[column], prefix),
            ColumnSource::RowNumber => Value::Int(n),
        })
        .collect()
}

fn schema_and_rows() -> impl Strategy<Value = (crate::TableSchema, Vec<Vec<Value>>)> {
    any_schema().prop_flat_map(|s| {
        let rows = any_rows(&s, 2..20);
        (Just(s), rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn keys_compare_as_values_do((schema, rows) in schema_and_rows()) {
        for index in 0..schema.indexes.len() {
            let layout = TreeLayout::new(&schema, index);
            let rows: Vec<_> = rows.iter().enumerate().map(|(n, r)| stored_row(&layout, r, n as i64)).collect();
            let mut block = RowBlock::new(&layout);
            for row in &rows {
                block.push_values(&layout, row).unwrap();
            }
            let keys: Vec<Vec<u8>> = (0..rows.len()).map(|i| {
                let mut key = Vec::new();
                layout.key.append_row(&block.row(i), &mut key);
                key
            }).collect();
            for (i, a) in rows.iter().enumerate() {
                // From values, the same bytes.
                let values: Vec<Value> = layout.key.parts.iter().map(|p| a[p.column].clone()).collect();
                let mut key = Vec::new();
                layout.key.append_values(&values, &mut key).unwrap();
                prop_assert_eq!(&key, &keys[i]);
                for (j, b) in rows.iter().enumerate() {
                    let want = compare_rows(&layout, layout.key.parts.len(), a, b);
                    prop_assert_eq!(keys[i].cmp(&keys[j]), want, "{:?} {:?}", a, b);
                    prop_assert!(i == j || want == Ordering::Equal || !keys[j].starts_with(&keys[i]));
                }
            }
        }
    }

    /// Parts end where they were put, and words of leading parts compare as their bytes do.
    #[test]
    fn parts_and_words_of_keys((schema, rows) in schema_and_rows()) {
        for index in 0..schema.indexes.len() {
            let layout = TreeLayout::new(&schema, index);
            let mut block = RowBlock::new(&layout);
            for (n, row) in rows.iter().enumerate() {
                block.push_values(&layout, &stored_row(&layout, row, n as i64)).unwrap();
            }
            for parts in 1..=layout.key.parts.len() {
                let keys: Vec<Vec<u8>> = (0..rows.len()).map(|i| {
                    let mut key = Vec::new();
                    layout.key.append_row_parts(&block.row(i), parts, &mut key);
                    key
                }).collect();
                let words = KeyWords::new(&layout.key, parts);
                let fits = layout.key.parts[..parts].iter().map(|p| Some(p.kind.fixed_width()? + p.nullable as usize));
                prop_assert_eq!(words.is_some(), fits.sum::<Option<usize>>().is_some_and(|bytes| bytes <= 16));
                for (i, key) in keys.iter().enumerate() {
                    prop_assert_eq!(layout.key.whole_parts(key), Some(parts));
                    prop_assert_ne!(layout.key.whole_parts(&key[..key.len() - 1]), Some(parts));
                    let Some(words) = &words else { continue };
                    let word = words.of_key(key);
                    prop_assert_eq!(word, words.of_row(&block.row(i)));
                    if let Some(numbers) = NumberWords::new(&layout.key, parts) {
                        let number = numbers.of_number(block.row(i).int(numbers.column));
                        prop_assert_eq!(number, numbers.of_key(key));
                        prop_assert_eq!(u128::from(number) << (128 - 8 * key.len()), word);
                    }
                    for other in &keys {
                        prop_assert_eq!(word.cmp(&words.of_key(other)), key.cmp(other));
                    }
                    // Also bounds that are shorter or longer than a key.
                    let Some(whole) = KeyWords::of_whole_keys(&layout.key).filter(|_| parts == layout.key.parts.len()) else {
                        continue;
                    };
                    for other in &keys {
                        for len in 0..=other.len() {
                            prop_assert_eq!(whole.bound(&other[..len]).is_above(word), key.as_slice() < &other[..len]);
                        }
                        for more in [&[0][..], &[0, 0], &[255]] {
                            let longer = [other.as_slice(), more].concat();
                            prop_assert_eq!(whole.bound(&longer).is_above(word), *key < longer);
                        }
                    }
                }
            }
        }
    }

    /// A byte range holds exactly the keys that the range's values say, or more where a part is a prefix.
    #[test]
    fn ranges_hold_what_they_say(
        (schema, rows, lower, upper) in schema_and_rows().prop_flat_map(|(s, rows)| {
            let bound: Vec<_> = s.columns.iter().map(|c| any_value(c.ty, true)).collect();
            (Just(s), Just(rows), bound.clone(), bound)
        }),
        kinds in (0..3, 0..3), lens in (0usize..4, 0usize..4), index in any::<prop::sample::Index>(),
        same in any::<bool>(),
    ) {
        let index = index.index(schema.indexes.len());
        let layout = TreeLayout::new(&schema, index);
        let values_of = |row: &[Value], len: usize| -> Vec<Value> {
            schema.indexes[index].parts.iter().take(len).map(|p| row[p.column].clone()).collect()
        };
        let (low, high) = (values_of(&lower, lens.0), values_of(if same { &lower } else { &upper }, lens.1));
        let bound = |kind: i32, values: &Vec<Value>| match kind {
            _ if values.is_empty() => Bound::Unbounded,
            0 => Bound::Unbounded,
            1 => Bound::Included(values.clone()),
            _ => Bound::Excluded(values.clone()),
        };
        let range = KeyRange { lower: bound(kinds.0, &low), upper: bound(kinds.1, &high) };
        let bytes = layout.key.byte_range(&range).unwrap();
        for (n, row) in rows.iter().enumerate() {
            let stored = stored_row(&layout, row, n as i64);
            let mut block = RowBlock::new(&layout);
            block.push_values(&layout, &stored).unwrap();
            let mut key = Vec::new();
            layout.key.append_row(&block.row(0), &mut key);
            let inside = bytes.as_ref().is_some_and(|b| b.contains(&key));
            // By the whole values, as the caller means it.
            let against = |bound: &[Value]| {
                schema.indexes[index].parts.iter().zip(bound).map(|(p, b)| {
                    let order = compare(&row[p.column], b, &schema.columns[p.column].ty, None);
                    if p.descending { order.reverse() } else { order }
                }).find(|o| *o != Ordering::Equal).unwrap_or(Ordering::Equal)
            };
            let wanted = (match &range.lower {
                Bound::Unbounded => true,
                Bound::Included(b) => against(b) != Ordering::Less,
                Bound::Excluded(b) => against(b) == Ordering::Greater,
            }) && (match &range.upper {
                Bound::Unbounded => true,
                Bound::Included(b) => against(b) != Ordering::Greater,
                Bound::Excluded(b) => against(b) == Ordering::Less,
            });
            let prefixes = schema.indexes[index].parts.iter().any(|p| p.prefix.is_some());
            if prefixes {
                prop_assert!(inside || !wanted, "{:?} misses {:?}", range, row);
            } else {
                prop_assert_eq!(inside, wanted, "{:?} {:?}", range, row);
            }
        }
    }
}

/// Cut to one character, '\0q' has no weight, and 'o' is above it; as a whole it is 'q'.
#[test]
fn a_bound_that_is_cut_to_nothing_leaves_no_smaller_text_out() {
    for (descending, same) in [(false, false), (true, false), (false, true)] {
        let kind = KeyKind::Text(Collation::Utf8mb4_0900AiCi);
        let codec =
            KeyCodec { parts: vec![KeyPartCodec { column: 0, kind, nullable: false, descending, prefix: Some(1) }] };
        let bound = || vec![Value::Text("\0q".into())];
        let (lower, upper) = match (descending, same) {
            (_, true) => (Bound::Included(bound()), Bound::Included(bound())),
            (true, _) => (Bound::Included(bound()), Bound::Unbounded),
            (false, _) => (Bound::Unbounded, Bound::Included(bound())),
        };
        let bytes = codec.byte_range(&KeyRange { lower, upper }).unwrap().unwrap();
        let mut key = Vec::new();
        codec.append_values(&[Value::Text(if same { "q" } else { "o" }.into())], &mut key).unwrap();
        assert!(bytes.contains(&key), "{descending} {same}");
    }
}

#[test]
fn a_bound_of_a_text_may_be_part_of_a_sort_key() {
    let part = |prefix| KeyPartCodec {
        column: 0,
        kind: KeyKind::Text(Collation::Utf8mb4GeneralCi),
        nullable: true,
        descending: false,
        prefix,
    };
    // LIKE 'ab%'
    let mut start = Vec::new();
    Collation::Utf8mb4GeneralCi.append_common_sort_key("ab", &mut start);
    let end = prefix_end(&start).unwrap();
    let range =
        KeyRange { lower: Bound::Included(vec![Value::Bytes(start)]), upper: Bound::Excluded(vec![Value::Bytes(end)]) };
    for prefix in [None, Some(3)] {
        let codec = KeyCodec { parts: vec![part(prefix)] };
        let bytes = codec.byte_range(&range).unwrap().unwrap();
        for (text, inside) in
            [("ab", true), ("AB\t", true), ("ab ", true), ("abzzz", true), ("a", false), ("ac", false)]
        {
            let mut key = Vec::new();
            codec.append_values(&[Value::Text(text.into())], &mut key).unwrap();
            assert_eq!(bytes.contains(&key), inside, "{text:?}");
        }
        assert!(!bytes.contains(&[0]), "NULL");
    }
}

#[test]
fn values_of_other_types_are_refused() {
    let part = |kind| KeyPartCodec { column: 0, kind, nullable: false, descending: false, prefix: None };
    let refused = |kind, value| KeyCodec { parts: vec![part(kind)] }.append_values(&[value], &mut Vec::new()).is_err();
    assert!(refused(KeyKind::Int { width: 1, signed: true }, Value::Int(128)));
    assert!(!refused(KeyKind::Int { width: 1, signed: true }, Value::Int(-128)));
    assert!(refused(KeyKind::Int { width: 8, signed: false }, Value::Int(-1)));
    assert!(refused(KeyKind::Decimal64 { scale: 2 }, Value::Decimal(muster_types::Decimal::new(1005, 3))));
    assert!(!refused(KeyKind::Decimal64 { scale: 2 }, Value::Decimal(muster_types::Decimal::new(1000, 3))));
    assert!(refused(KeyKind::Bytes, Value::Int(1)));
}
