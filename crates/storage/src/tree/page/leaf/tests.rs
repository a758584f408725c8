use super::*;
use crate::{
    TableSchema,
    fuzz::{self, arrays},
    tree::{
        arbitrary::{any_rows, any_schema},
        build::fit,
        page::{block::RowBlock, layout::TreeLayout},
    },
};
use arrow_array::{Array, ArrayRef, cast::AsArray};
use muster_types::Value;
use proptest::prelude::*;
use rows::RowSelection;

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
        block.push_values(&layout, &row).unwrap();
        stored.push(row);
    }
    (layout, block, stored)
}

fn values(layout: &TreeLayout, block: &RowBlock) -> Vec<Vec<Value>> {
    (0..block.rows())
        .map(|row| layout.columns.iter().zip(&block.columns).map(|(c, b)| b.value(row, &c.ty, None)).collect())
        .collect()
}

fn rows_of(layout: &TreeLayout, arrays: &[ArrayRef]) -> Vec<Vec<Value>> {
    let mut block = RowBlock::new(layout);
    block.append_arrays(layout, arrays, 0..arrays[0].len()).unwrap();
    values(layout, &block)
}

/// The runs of rows that are picked.
fn picked_runs(pick: &[bool]) -> Vec<std::ops::Range<usize>> {
    let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
    for row in (0..pick.len()).filter(|row| pick[*row]) {
        match runs.last_mut() {
            Some(run) if run.end == row => run.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

/// The columns of some rows of a leaf, appended `times` times over, texts and byte strings by way of dictionaries.
fn coded_arrays(
    layout: &TreeLayout,
    times: usize,
    append: impl Fn(&mut decode::ColumnSink, usize, crate::tree::Physical),
) -> Vec<ArrayRef> {
    let column = |(i, c): (usize, &crate::tree::StoredColumn)| {
        let coded = c.ty.is_text() || c.ty.is_bytes();
        let mut sink = if coded { decode::ColumnSink::coded(c.ty, 0) } else { decode::ColumnSink::new(c.ty, 0) };
        (0..times).for_each(|_| append(&mut sink, i, c.physical));
        let array = sink.finish();
        array.to_data().validate_full().unwrap();
        match array.as_any_dictionary_opt() {
            None => array,
            Some(dictionary) => {
                let values = rows_of_one(dictionary.values());
                assert!((1..values.len()).all(|i| !values[..i].contains(&values[i])), "each value once");
                arrow_select::take::take(dictionary.values(), dictionary.keys(), None).unwrap()
            }
        }
    };
    layout.columns.iter().enumerate().map(column).collect()
}

fn rows_of_one(array: &ArrayRef) -> Vec<Value> {
    (0..array.len()).map(|row| crate::value_at(array, row).unwrap()).collect()
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
            let extents = fit.take(&block, start, 7, 0);
            let taken = extents.rows();
            prop_assert!(!taken.is_empty());
            let mut page = vec![0xEE; page_size];
            write_leaf(&block, &extents, &fit, Fences::NONE, &mut page);
            let leaf = Leaf::of(&page, &layout).unwrap();
            let again = leaf.to_block(&layout).unwrap();
            prop_assert_eq!(values(&layout, &again), &stored[taken.clone()]);

            let all = RowSelection::Range(0..leaf.rows());
            prop_assert_eq!(rows_of(&layout, &arrays(&layout, &leaf, &all).unwrap()), &stored[taken.clone()]);
            let part = RowSelection::Range(leaf.rows() / 3..leaf.rows());
            let want = &stored[taken.start + leaf.rows() / 3..taken.end];
            prop_assert_eq!(rows_of(&layout, &arrays(&layout, &leaf, &part).unwrap()), want);
            let some = all.pick((0..leaf.rows()).filter(|i| pick[*i]));
            let want: Vec<_> = some.iter().map(|i| stored[taken.start + i].clone()).collect();
            prop_assert_eq!(rows_of(&layout, &arrays(&layout, &leaf, &some).unwrap()), want.clone());
            let runs: Vec<_> = picked_runs(&pick[..leaf.rows().min(pick.len())]);
            if !runs.is_empty() {
                let append = |sink: &mut decode::ColumnSink, i, physical| {
                    sink.append_runs(&leaf.column(i, physical).unwrap(), &runs, &fuzz::NoOverflow).unwrap();
                };
                let twice = [want.clone(), want.clone()].concat();
                prop_assert_eq!(rows_of(&layout, &coded_arrays(&layout, 2, append)), twice);
            }
            for rows in [&all, &some] {
                let append = |sink: &mut decode::ColumnSink, i, physical| {
                    sink.append(&leaf.column_of(i, physical, rows).unwrap(), rows, &fuzz::NoOverflow).unwrap();
                };
                let coded = coded_arrays(&layout, 1, append);
                prop_assert_eq!(rows_of(&layout, &coded), rows_of(&layout, &arrays(&layout, &leaf, rows).unwrap()));
            }
            start = taken.end;
        }
    }

    /// Stored values are in a range exactly if the values are that are decoded from them.
    #[test]
    fn ranges_of_stored_values_are_those_of_decoded_ones(
        (schema, rows) in any_schema().prop_flat_map(|s| { let r = any_rows(&s, 1..60); (Just(s), r) }),
        bounds in any::<(prop::sample::Index, prop::sample::Index)>(),
        (below, above) in (-2i64..3, -2i64..3),
        pick in proptest::collection::vec(any::<bool>(), 60),
    ) {
        let (layout, block, _) = block_of(&schema, &rows);
        let extents = RowExtents::of(&block, 0..block.rows());
        let fit = fit(&layout, 65536);
        let mut page = vec![0xEE; 65536];
        write_leaf(&block, &extents, &fit, Fences::NONE, &mut page);
        let leaf = Leaf::of(&page, &layout).unwrap();
        let all = RowSelection::Range(0..leaf.rows());
        let some = all.pick((0..leaf.rows()).filter(|i| pick[*i]));
        for (i, stored) in layout.columns.iter().enumerate() {
            let column = leaf.column(i, stored.physical).unwrap();
            if !matches!(stored.physical, crate::tree::Physical::Int { .. }) {
                continue;
            }
            // Bounds at values, and beside them.
            let least = column.int(bounds.0.index(leaf.rows())).saturating_add(below);
            let most = column.int(bounds.1.index(leaf.rows())).saturating_add(above);
            for (least, most) in [(least, most), (i64::MIN, most), (least, i64::MAX), (1, 0)] {
                for rows in [&all, &some] {
                    let mut marks = vec![1u8; rows.len()];
                    within::keep_within(&column, rows, least, most, &mut marks);
                    let within = |row| !column.nulls.is_null(row) && (least..=most).contains(&column.int(row));
                    let want: Vec<u8> = rows.iter().map(|row| u8::from(within(row))).collect();
                    prop_assert_eq!(marks, want);
                }
            }
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
        let extents = fit.take(&block, 0, 50, 0);
        let mut page = vec![0; 4096];
        write_leaf(&block, &extents, &fit, Fences::NONE, &mut page);
        for (at, byte) in damage {
            // The directory is small: aim at it half of the time.
            page[if head { at % 200 } else { at }] = byte;
        }
        fuzz::decode(&layout, &page);
    }

    #[test]
    fn pages_of_garbage_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        fuzz::page_decode(&bytes);
    }
}

/// Pages with every encoding, for `fuzz/seeds`: what `page_decode` takes for a schema, and a leaf of it behind that.
#[test]
#[ignore = "writes fuzz/seeds/page_decode"]
fn fuzz_seeds() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/page_decode");
    std::fs::create_dir_all(&directory).unwrap();
    let mut runner = TestRunner::deterministic();
    for (i, types) in
        [&[4u8, 0x8D][..], &[5, 6, 7, 10, 0x8B], &[1, 0xA2, 3, 0x88, 9], &[0x0E, 0x8F, 0x0C, 0x80]].iter().enumerate()
    {
        let head: Vec<u8> = std::iter::once(types.len() as u8 - 1).chain(types.iter().copied()).collect();
        let (schema, _) = fuzz::schema_of(&head).unwrap();
        let rows = any_rows(&schema, 20..40).new_tree(&mut runner).unwrap().current();
        let layout = TreeLayout::new(&schema, 0);
        let mut block = RowBlock::new(&layout);
        rows.iter().for_each(|row| block.push_values(&layout, row).unwrap());
        let fit = fit(&layout, 4096);
        let extents = fit.take(&block, 0, 50, 0);
        let mut page = vec![0; 4096];
        write_leaf(&block, &extents, &fit, Fences::NONE, &mut page);
        let used = page.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        std::fs::write(directory.join(format!("leaf{i}")), [&head[..], &page[..used]].concat()).unwrap();
    }
}

#[test]
fn few_values_take_few_bytes() {
    let text = |n| muster_types::SqlType::varchar(n, muster_types::Collation::Utf8mb4Bin);
    let schema = TableSchema {
        layouts: Default::default(),
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
    // Per row: 1 for the number, 1 for the code, 0, 1 for the letter, 1 for the row number.
    let dictionary = 2 * 4 + "AIRRAILSHIP".len();
    assert_eq!(bytes, 5 * ENTRY + 200 * 4 + dictionary + "the same for all".len());
}
