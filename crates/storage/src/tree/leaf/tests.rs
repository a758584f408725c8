use super::{decode::*, *};
use crate::{
    ReadView, Result, StorageError, TableSchema,
    tree::{
        arbitrary::{any_rows, any_schema},
        block::{OverflowPointer, RowBlock},
        builder::fit,
        layout::TreeLayout,
    },
};
use arrow_array::{Array, ArrayRef};
use muster_types::Value;
use proptest::prelude::*;
use visible::{Rows, visible};

pub struct NoOverflow;

impl OverflowReader for NoOverflow {
    fn read(&self, _: OverflowPointer) -> Result<Vec<u8>> {
        Err(StorageError::WrongType { value: "no overflow pages here".into() })
    }
}

/// A clustered layout of rows without a primary key, and the rows with numbers behind them.
fn block_of(schema: &TableSchema, rows: &[Vec<Value>]) -> (TreeLayout, RowBlock, Vec<Vec<Value>>) {
    let mut schema = schema.clone();
    schema.indexes.truncate(1);
    schema.indexes[0].parts.clear();
    let layout = TreeLayout::new(&schema, 0);
    let mut block = RowBlock::new(&layout);
    let mut stored = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let mut row = row.clone();
        row.push(Value::Int(i as i64));
        block.push_values(&layout, &row, i as u64 % 3).unwrap();
        stored.push(row);
    }
    (layout, block, stored)
}

fn values(layout: &TreeLayout, block: &RowBlock) -> Vec<Vec<Value>> {
    (0..block.rows())
        .map(|row| layout.columns.iter().zip(&block.columns).map(|(c, b)| b.value(row, &c.ty, None)).collect())
        .collect()
}

/// Sinks' arrays, back as rows.
fn arrays(layout: &TreeLayout, leaf: &Leaf, rows: &Rows) -> Result<Vec<ArrayRef>, DecodeError> {
    layout
        .columns
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let mut sink = ColumnSink::new(c.ty, rows.len());
            sink.append(&leaf.column(i, c.physical)?, rows, &NoOverflow)?;
            Ok(sink.finish())
        })
        .collect()
}

fn rows_of(layout: &TreeLayout, arrays: &[ArrayRef]) -> Vec<Vec<Value>> {
    let mut block = RowBlock::new(layout);
    block.append_arrays(layout, arrays, 0..arrays[0].len()).unwrap();
    values(layout, &block)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn leaves_round_trip(
        (schema, rows) in any_schema().prop_flat_map(|s| { let r = any_rows(&s, 1..60); (Just(s), r) }),
        page_size in prop_oneof![Just(4096usize), Just(16384), Just(65536)],
        pick in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let (layout, block, stored) = block_of(&schema, &rows);
        let fit = fit(&layout, page_size);
        let mut start = 0;
        while start < block.rows() {
            let extents = fit.take(&block, start, 7);
            let taken = extents.rows();
            prop_assert!(!taken.is_empty());
            let mut page = vec![0xEE; page_size];
            write_leaf(&block, &extents, &fit.widths, &mut page);
            let leaf = Leaf::of(&page, &layout).unwrap();
            let again = leaf.to_block(&layout).unwrap();
            prop_assert_eq!(values(&layout, &again), &stored[taken.clone()]);
            let ids = leaf.trx_ids().unwrap();
            prop_assert!((0..leaf.rows()).all(|i| ids.int(i) == ((taken.start + i) % 3) as i64));

            let all = Rows::Range(0..leaf.rows());
            prop_assert_eq!(rows_of(&layout, &arrays(&layout, &leaf, &all).unwrap()), &stored[taken.clone()]);
            let part = Rows::Range(leaf.rows() / 3..leaf.rows());
            let want = &stored[taken.start + leaf.rows() / 3..taken.end];
            prop_assert_eq!(rows_of(&layout, &arrays(&layout, &leaf, &part).unwrap()), want);
            let some = all.pick((0..leaf.rows()).filter(|i| pick[*i]));
            let want: Vec<_> = some.iter().map(|i| stored[taken.start + i].clone()).collect();
            prop_assert_eq!(rows_of(&layout, &arrays(&layout, &leaf, &some).unwrap()), want);
            start = taken.end;
        }
    }

    /// Whatever a page holds, reading it ends without a panic.
    #[test]
    fn damaged_leaves_are_harmless(
        (schema, rows) in any_schema().prop_flat_map(|s| { let r = any_rows(&s, 1..30); (Just(s), r) }),
        damage in proptest::collection::vec((0usize..4096, any::<u8>()), 1..40),
        head in any::<bool>(),
    ) {
        let (layout, block, _) = block_of(&schema, &rows);
        let fit = fit(&layout, 4096);
        let extents = fit.take(&block, 0, 50);
        let mut page = vec![0; 4096];
        write_leaf(&block, &extents, &fit.widths, &mut page);
        for (at, byte) in damage {
            // The directory is small: aim at it half of the time.
            page[if head { at % 200 } else { at }] = byte;
        }
        if let Ok(leaf) = Leaf::of(&page, &layout) {
            let _ = leaf.to_block(&layout);
            let _ = leaf.lower_bound(&layout, &[1, 2, 3]);
            if let Ok(seen) = visible(&leaf, 0..leaf.rows(), &ReadView { low_limit: 1 })
                && let Ok(arrays) = arrays(&layout, &leaf, &seen)
            {
                for array in arrays {
                    array.to_data().validate_full().unwrap();
                }
            }
        }
    }
}

#[test]
fn rows_of_later_transactions_are_not_seen() {
    let schema = TableSchema {
        columns: vec![crate::ColumnSchema { ty: muster_types::SqlType::INT, nullable: false }],
        indexes: vec![crate::IndexSchema { id: 1, parts: vec![], unique: true }],
    };
    let rows: Vec<_> = (0..9).map(|i| vec![Value::Int(i)]).collect();
    let (layout, block, _) = block_of(&schema, &rows);
    let fit = fit(&layout, 4096);
    let mut page = vec![0; 4096];
    write_leaf(&block, &fit.take(&block, 0, 9), &fit.widths, &mut page);
    let leaf = Leaf::of(&page, &layout).unwrap();
    let see = |low_limit, range| visible(&leaf, range, &ReadView { low_limit }).unwrap();
    assert_eq!(see(3, 0..9), Rows::Range(0..9));
    assert_eq!(see(2, 1..9), Rows::List(vec![1, 3, 4, 6, 7]));
    assert_eq!(see(1, 0..9), Rows::List(vec![0, 3, 6]));
}

#[test]
fn few_values_take_few_bytes() {
    let text = |n| muster_types::SqlType::varchar(n, muster_types::Collation::Utf8mb4Bin);
    let schema = TableSchema {
        columns: [muster_types::SqlType::BIGINT, text(10), text(30), text(1)]
            .map(|ty| crate::ColumnSchema { ty, nullable: true })
            .to_vec(),
        indexes: vec![crate::IndexSchema { id: 1, parts: vec![], unique: true }],
    };
    let rows: Vec<_> = (0..200)
        .map(|i| {
            vec![
                Value::Int(1_000_000_000_000 + i),
                Value::Text(["AIR", "RAIL", "SHIP"][i as usize % 3].into()),
                Value::Text("the same for all".into()),
                Value::Text(char::from(b'a' + (i % 26) as u8).to_string()),
            ]
        })
        .collect();
    let (layout, block, _) = block_of(&schema, &rows);
    let bytes = RowExtents::of(&block, 0..200).bytes(&block, &fit(&layout, 16384).widths);
    // Per row: 1 for the number, 1 for the code, 0, 1 for the letter, 1 for the row number, 1 for the transaction.
    let dictionary = 2 * 4 + "AIRRAILSHIP".len();
    assert_eq!(bytes, 7 * ENTRY + 200 * 5 + dictionary + "the same for all".len());
}
