//! Decodes any bytes as a page; the worst outcome is an error. Called by the suite with damaged pages, and by `fuzz/`.

use crate::{
    ColumnSchema, IndexSchema, ReadView, Result, StorageError, TableSchema, page,
    tree::{
        TreeLayout,
        page::{
            block::OverflowPointer,
            inner::Inner,
            leaf::{
                Leaf, LeafPosition,
                changes::{apply, has_room},
                decode::{ColumnSink, DecodeError, OverflowReader},
                encode::encode,
                rows::RowSelection,
                slot::Version,
                split::{Cut, join, split},
                visible::visible,
                within::keep_within,
            },
            overflow::read_piece,
        },
    },
};
use arrow_array::{Array, ArrayRef};
use muster_types::{BytesKind, Collation, IntWidth, KeyPart, SqlType};
use std::path::Path;

/// Refuses to read overflow pages.
pub(crate) struct NoOverflow;

impl OverflowReader for NoOverflow {
    fn read(&self, _: OverflowPointer) -> Result<Vec<u8>> {
        Err(StorageError::WrongType { value: "no overflow pages here".into() })
    }
}

/// The first bytes say what the table's columns are, the rest is a page.
pub fn page_decode(bytes: &[u8]) {
    let Some((schema, rest)) = schema_of(bytes) else { return };
    let mut page = vec![0; page::MIN_PAGE_SIZE];
    let length = rest.len().min(page.len());
    page[..length].copy_from_slice(&rest[..length]);
    for index in 0..schema.indexes.len() {
        decode(&TreeLayout::new(&schema, index), &page);
    }
}

/// A table with a clustered and a secondary tree: the number of its columns, and a byte for each of them.
pub(crate) fn schema_of(bytes: &[u8]) -> Option<(TableSchema, &[u8])> {
    let (&columns, rest) = bytes.split_first()?;
    let columns = usize::from(columns % 8) + 1;
    let (types, rest) = rest.split_at_checked(columns)?;
    let columns: Vec<_> =
        types.iter().map(|b| ColumnSchema { ty: any_type(b & 0x7F), nullable: b & 0x80 != 0 }).collect();
    let part = |column| KeyPart { column, prefix: None, descending: types[column] & 0x40 != 0 };
    let parts = if types[0] & 0x80 != 0 { Vec::new() } else { vec![part(0)] };
    let indexes = vec![
        IndexSchema { id: 1, parts, unique: true },
        IndexSchema { id: 2, parts: vec![part(columns.len() - 1)], unique: false },
    ];
    Some((TableSchema { layouts: Default::default(), columns, indexes }, rest))
}

fn any_type(byte: u8) -> SqlType {
    let int = |width| SqlType::Int { width, unsigned: byte & 0x20 != 0 };
    match byte % 16 {
        0 => SqlType::Bool,
        1 => int(IntWidth::Tiny),
        2 => int(IntWidth::Small),
        3 => int(IntWidth::Medium),
        4 => int(IntWidth::Int),
        5 => int(IntWidth::Big),
        6 => SqlType::Decimal { precision: 12, scale: 2 },
        7 => SqlType::Decimal { precision: 30, scale: 4 },
        8 => SqlType::Float,
        9 => SqlType::Double,
        10 => SqlType::Date,
        11 => SqlType::DateTime { fsp: 6 },
        12 => SqlType::Time { fsp: 0 },
        13 => SqlType::varchar(200, Collation::Utf8mb4_0900AiCi),
        14 => SqlType::varchar(200, Collation::Utf8mb4Bin),
        _ => SqlType::Bytes { kind: BytesKind::VarBinary, length: 200 },
    }
}

/// Reads a page as every kind that it may be, in every way that pages are read.
pub(crate) fn decode(layout: &TreeLayout, bytes: &[u8]) {
    let header = page::PageHeader(bytes);
    let _ = page::verify(bytes, Path::new("fuzz"), header.page_no(), header.index_id());
    if let Ok(inner) = Inner::new(bytes) {
        let node = inner.to_node();
        assert_eq!(node.children.len(), inner.children());
        for key in [&b""[..], &[1, 2, 3], &[0xFF; 9]] {
            assert!(inner.find(key) < inner.children() && inner.find_last(Some(key)) < inner.children());
        }
        let rows: Vec<u64> = (0..inner.children()).map(|i| inner.rows(i)).collect();
        assert!(node.children.iter().map(|c| c.rows).eq(rows));
    }
    for rest in [0, 100, 1 << 20] {
        let _ = read_piece(bytes, rest);
    }
    let Ok(leaf) = Leaf::of(bytes, layout) else { return };
    let _ = leaf.to_block(layout);
    for key in [&b""[..], &[1, 2, 3], &[0xFF; 9]] {
        if let Ok(row) = leaf.lower_bound(layout, key) {
            assert!(row <= leaf.rows());
        }
    }
    let _ = leaf.rows().checked_sub(1).map(|last| leaf.key(layout, last));
    if let Ok(seen) = visible(&leaf, 0..leaf.rows())
        && let Ok(arrays) = arrays(layout, &leaf, &seen)
    {
        for array in arrays {
            assert_eq!(array.len(), seen.len());
            array.to_data().validate_full().expect("what is decoded is a valid array");
        }
    }
    ranges(layout, &leaf);
    single_rows(layout, &leaf);
    changes(layout, &leaf);
}

/// Reads a leaf row by row.
fn single_rows(layout: &TreeLayout, leaf: &Leaf<'_>) {
    let _ = leaf.unseen_at(&(0..leaf.rows()), &ReadView::new([].into(), 1));
    for position in 0..leaf.rows().min(100) {
        let _ = leaf.unmarked_row(position);
        let Ok(place) = leaf.row_at(position) else { continue };
        for column in 0..layout.columns.len() {
            let _ = leaf.value(layout, column, place.row);
        }
        let _ = leaf.single_keys(layout, &layout.key).map(|keys| keys.append(&layout.key, place.row, &mut Vec::new()));
        let _ = leaf.record_of(layout, position);
    }
}

/// Changes a leaf in every way; what comes of it is read as well.
fn changes(layout: &TreeLayout, leaf: &Leaf<'_>) {
    let Ok(record) = leaf.record_of(layout, leaf.rows() / 2) else { return };
    let version = Version { trx_id: 3, roll_pointer: 4 };
    let mut made = Vec::new();
    for position in [0, leaf.rows() / 2, leaf.rows().saturating_sub(1)] {
        for exact in [true, false] {
            made.push(leaf.put(LeafPosition { position, exact }, &record, version));
        }
        made.extend([leaf.mark(position, version), leaf.unmark(position, Version::default()), leaf.remove(position)]);
    }
    let bytes = leaf.page();
    for change in made.into_iter().flatten() {
        let mut page = bytes.to_vec();
        if has_room(&page, &change) == Ok(true) && apply(&mut page, &change).is_ok() {
            let _ = Leaf::of(&page, layout).and_then(|leaf| leaf.to_block(layout));
        }
    }
    let mut anew = vec![0; bytes.len()];
    if encode(bytes, layout, 3, &mut anew) == Ok(true) {
        let leaf = Leaf::of(&anew, layout).expect("what is encoded is a leaf");
        leaf.to_block(layout).expect("what is encoded has rows");
    }
    for cut in [Cut::Middle, Cut::For { position: leaf.rows(), key: &[0xFF; 9] }] {
        let _ = split(bytes, layout, 3, cut, 9);
    }
    let _ = join(bytes, bytes, layout, 3, 0);
}

/// Reads a leaf in the ways of scans that leave rows out.
fn ranges(layout: &TreeLayout, leaf: &Leaf<'_>) {
    let Ok(rows) = leaf.all_rows() else { return };
    for (i, stored) in layout.columns.iter().enumerate() {
        leaf.load_ahead(i, leaf.rows());
        let Ok(column) = leaf.column(i, stored.physical) else { continue };
        let mut marks = vec![1; rows.len()];
        keep_within(&column, &rows, -5, 1 << 20, &mut marks);
        assert!(marks.iter().all(|mark| *mark <= 1));
        if leaf.base_rows() > 2 {
            let runs = [0..1, 2..leaf.base_rows()];
            let coded = stored.ty.is_text() || stored.ty.is_bytes();
            let mut sink = if coded { ColumnSink::coded(stored.ty, 0) } else { ColumnSink::new(stored.ty, 0) };
            if sink.append_runs(&column, &runs, &NoOverflow).is_ok() {
                let array = sink.finish();
                assert_eq!(array.len(), leaf.base_rows() - 1);
                array.to_data().validate_full().expect("what is decoded is a valid array");
            }
        }
    }
}

/// The columns of some rows of a leaf.
pub(crate) fn arrays(layout: &TreeLayout, leaf: &Leaf<'_>, rows: &RowSelection) -> Result<Vec<ArrayRef>, DecodeError> {
    let column = |(i, c): (usize, &crate::tree::page::layout::StoredColumn)| {
        let mut sink = ColumnSink::new(c.ty, rows.len());
        sink.append(&leaf.column(i, c.physical)?, rows, &NoOverflow)?;
        Ok(sink.finish())
    };
    layout.columns.iter().enumerate().map(column).collect()
}
