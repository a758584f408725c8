//! Chains of versions of one row.

use super::{Before, FakeUndo};
use crate::{
    Counters, Pages, ReadView, RowVisit, StorageError, Table, TableStatistics, VisitCounts, VisitEnd,
    key::ByteRange,
    rows::fixtures::{Home, home, number_schema},
};
use muster_types::Value;
use std::{cell::Cell, ops::ControlFlow, sync::Arc};

/// A table with an index and one row, whose transactions have the numbers 1 and up.
fn table_of_one_row() -> (Home, Arc<Table>, Arc<FakeUndo>) {
    let (home, undo) = (home(4096, 1 << 20), Arc::new(FakeUndo::default()));
    let files = home.store.create_table(&number_schema()).unwrap();
    let (statistics, source) = (TableStatistics::default(), Some(Arc::clone(&undo) as _));
    let table = home.store.open_table_with(number_schema(), files, statistics, source).unwrap();
    table.trees().iter().for_each(|tree| tree.set_horizon(1));
    let counters = Counters::default();
    table.tree(0).insert(&row(0), 1, &counters).unwrap();
    table.tree(1).insert(&[1, 7].map(Value::Int), 1, &counters).unwrap();
    (home, table, undo)
}

/// The row's version, by the transaction that made it.
fn row(version: i64) -> [Value; 3] {
    [7, 1, version].map(Value::Int)
}

/// Makes another version of the row.
fn replace(table: &Table, undo: &FakeUndo, trx_id: u64) {
    let key = table.tree(0).key_of_values(&row(0)).unwrap();
    let before = table.tree(0).newest(&key);
    table.tree(0).replace(&row(trx_id as i64), trx_id, &Counters::default()).unwrap();
    table.tree(0).set_roll_pointer(&key, undo.push(before));
}

fn get(table: &Table, view: &Arc<ReadView>) -> crate::Result<Option<Vec<Value>>> {
    table.get(&[Value::Int(7)], view, &Counters::default())
}

/// Visits the row by an index, without waiting.
fn visit(table: &Table, index: usize, view: &Arc<ReadView>) -> (VisitEnd, Vec<Option<Value>>) {
    let request = RowVisit {
        index,
        range: &ByteRange::default(),
        whole_rows: true,
        view: Arc::clone(view),
        pages: &Pages::Resident { requests: Cell::new(0) },
        reverse: false,
        entries_max: 10,
    };
    let mut values = Vec::new();
    let end = table.visit_rows(&request, &mut VisitCounts::default(), &mut |row| {
        values.push(row.value(2).unwrap().map(|value| value.to_value()));
        ControlFlow::Continue(())
    });
    (end.unwrap(), values)
}

#[test]
fn each_view_sees_its_version_of_a_row() {
    let (_home, table, undo) = table_of_one_row();
    (2..100).for_each(|trx_id| replace(&table, &undo, trx_id));
    for next in 1..=100 {
        let want = (next > 1).then(|| row(if next == 2 { 0 } else { next as i64 - 1 }).to_vec());
        assert_eq!(get(&table, &ReadView::new([].into(), next)).unwrap(), want, "before {next}");
    }
    let view = ReadView::new([98].into(), 100).with_own(50);
    assert_eq!(get(&table, &view).unwrap(), Some(row(99).to_vec()));
    assert_eq!(get(&table, &ReadView::new([98, 99].into(), 100)).unwrap(), Some(row(97).to_vec()));
}

/// Who may not wait reads a few versions in memory, and no long chain.
#[test]
fn a_long_chain_is_left_to_who_may_wait() {
    let (_home, table, undo) = table_of_one_row();
    (2..6).for_each(|trx_id| replace(&table, &undo, trx_id));
    let view = ReadView::new([].into(), 4);
    for index in [0, 1] {
        assert_eq!(visit(&table, index, &view), (VisitEnd::Done, vec![Some(Value::Int(3))]));
    }
    (6..100).for_each(|trx_id| replace(&table, &undo, trx_id));
    for index in [0, 1] {
        assert_eq!(visit(&table, index, &view), (VisitEnd::MustWait, Vec::new()));
    }
    assert_eq!(get(&table, &view).unwrap(), Some(row(3).to_vec()));
}

#[test]
fn a_version_that_is_not_kept_is_an_error() {
    let (_home, table, undo) = table_of_one_row();
    (2..6).for_each(|trx_id| replace(&table, &undo, trx_id));
    let key = table.tree(0).key_of_values(&row(0)).unwrap();
    let before = table.tree(0).newest(&key);
    // A record that leads to one that nobody has.
    let lost = Before { version: crate::tree::page::leaf::slot::Version { trx_id: 5, roll_pointer: 3 }, ..before };
    let roll_pointer = undo.push(lost);
    undo.forget(3);
    table.tree(0).set_roll_pointer(&key, roll_pointer);
    assert!(matches!(get(&table, &ReadView::new([].into(), 2)), Err(StorageError::SnapshotTooOld)));
    assert_eq!(get(&table, &ReadView::new([].into(), 6)).unwrap(), Some(row(5).to_vec()));
}

/// A reader is on its way along a chain when its view ends, and the log behind it goes.
#[test]
fn a_view_that_expires_within_a_chain_is_too_old_and_nothing_is_damaged() {
    let (_home, table, undo) = table_of_one_row();
    (2..6).for_each(|trx_id| replace(&table, &undo, trx_id));
    undo.forget(2);
    let counters = Counters::default();
    for index in [0, 1] {
        let view = ReadView::new([].into(), 2);
        *undo.expires.lock() = Some(Arc::clone(&view));
        let request = RowVisit {
            index,
            range: &ByteRange::default(),
            whole_rows: true,
            view,
            pages: &Pages::All(&counters),
            reverse: index == 1,
            entries_max: 10,
        };
        let visited = table.visit_rows(&request, &mut VisitCounts::default(), &mut |_| ControlFlow::Continue(()));
        assert!(matches!(visited, Err(StorageError::SnapshotTooOld)), "index {index}: {visited:?}");
        assert!(matches!(get(&table, &request.view), Err(StorageError::SnapshotTooOld)));
    }
    // Where another view expires, the log is damaged.
    *undo.expires.lock() = Some(ReadView::new([].into(), 3));
    assert!(matches!(get(&table, &ReadView::new([].into(), 2)), Err(StorageError::DamagedLog { .. })));
}

/// Chains lead to older records only, so that no reader walks in a circle.
#[test]
fn a_chain_that_does_not_lead_back_is_damage() {
    let (_home, table, undo) = table_of_one_row();
    replace(&table, &undo, 2);
    let key = table.tree(0).key_of_values(&row(0)).unwrap();
    let mut before = table.tree(0).newest(&key);
    before.version.roll_pointer = 2;
    table.tree(0).set_roll_pointer(&key, undo.push(before));
    assert!(matches!(get(&table, &ReadView::new([].into(), 2)), Err(StorageError::Corrupt { .. })));
}
