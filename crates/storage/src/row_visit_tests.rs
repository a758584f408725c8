use super::*;
use crate::{
    Counters,
    rows::fixtures::{empty_table, home, sort_rows, table_and_rows},
    tree::TreeLayout,
};
use muster_types::{Value, ValueRef};
use proptest::prelude::*;
use std::cell::Cell;

/// The rows of a visit; values that lie outside of their page are left out.
fn visited(table: &Table, request: &RowVisit<'_>) -> (VisitEnd, Vec<Vec<Option<Value>>>, VisitCounts) {
    let (mut rows, mut counts) = (Vec::new(), VisitCounts::default());
    let layout = table.tree(if request.whole_rows { 0 } else { request.index }).layout();
    let columns: Vec<Option<usize>> = (0..table.schema().columns.len()).map(|c| layout.column_of(c)).collect();
    let end = table.visit_rows(request, &mut counts, &mut |row| {
        let value = |c: &Option<usize>| c.and_then(|c| row.value(c).unwrap()).map(ValueRef::to_value);
        rows.push(columns.iter().map(value).collect());
        ControlFlow::Continue(())
    });
    (end.unwrap(), rows, counts)
}

fn resident() -> Pages<'static> {
    Pages::Resident { requests: Cell::new(0) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn visited_rows_are_those_of_the_range(
        (schema, rows) in table_and_rows(),
        ends in any::<[prop::sample::Index; 2]>(),
        whole_rows: bool,
        reverse: bool,
    ) {
        let home = home(4096, 1 << 22);
        let (table, counters) = (empty_table(&home, &schema), Counters::default());
        let mut kept = Vec::new();
        for row in rows {
            if table.insert_now(&row, &counters).is_ok() {
                kept.push((kept.len() as i64, row));
            }
        }
        for index in 0..schema.indexes.len() {
            let layout = TreeLayout::new(&schema, index);
            let model = sort_rows(&schema, index, &kept);
            let mut range = ByteRange::default();
            let mut expected = 0..model.len();
            // The hidden number of a row in a table without a primary key is not known here.
            if layout.row_number().is_none() && !model.is_empty() {
                let mut places = ends.map(|end| end.index(model.len()));
                places.sort_unstable();
                range = ByteRange { lower: model[places[0]].0.clone(), upper: Some(model[places[1]].0.clone()) };
                expected = places[0]..places[1];
            }
            let held = |column| index == 0 || whole_rows || layout.column_of(column).is_some();
            let is_same = |row: &[Option<Value>], wanted: &[Value]| {
                row.iter().zip(wanted).enumerate().all(|(column, (value, wanted))| match value {
                    Some(value) => value == wanted,
                    None => !held(column) || matches!(wanted, Value::Bytes(b) if b.len() > 100)
                        || matches!(wanted, Value::Text(t) if t.len() > 100),
                })
            };
            let (all, in_memory) = (Pages::All(&counters), resident());
            let request = |pages, entries_max| {
                RowVisit { index, range: &range, whole_rows, view: ReadView::latest(), pages, reverse, entries_max }
            };
            let (end, mut found, counts) = visited(&table, &request(&all, usize::MAX));
            if reverse {
                found.reverse();
            }
            prop_assert_eq!(end, VisitEnd::Done);
            prop_assert_eq!(found.len(), expected.len());
            prop_assert_eq!(counts.entries as usize, expected.len());
            for (row, (_, wanted)) in found.iter().zip(&model[expected.clone()]) {
                prop_assert!(is_same(row, wanted), "{row:?} is not {wanted:?}");
            }
            // All pages are in memory now.
            let (end, mut again, counts) = visited(&table, &request(&in_memory, usize::MAX));
            prop_assert_eq!(end, VisitEnd::Done);
            if reverse {
                again.reverse();
            }
            prop_assert_eq!(&again, &found);
            prop_assert!(counts.page_requests > 0);
            if !found.is_empty() {
                let (_, few, counts) = visited(&table, &request(&in_memory, found.len() - 1));
                prop_assert!(counts.too_many && few.len() < found.len());
            }
        }
    }
}

#[test]
fn pages_that_are_not_in_memory_are_not_waited_for() {
    let home = home(4096, 1 << 22);
    let table = crate::rows::fixtures::number_table(&home, 2000);
    let range = ByteRange::default();
    for index in [0, 1] {
        let counters = Counters::default();
        let request = |pages, index| RowVisit {
            index,
            range: &range,
            whole_rows: true,
            view: ReadView::latest(),
            pages,
            reverse: false,
            entries_max: usize::MAX,
        };
        table.flush().unwrap();
        home.store.buffer_pool().clear(home.store.counters()).unwrap();
        let (resident, all) = (resident(), Pages::All(&counters));
        assert_eq!(visited(&table, &request(&resident, index)).0, VisitEnd::MustWait);
        let (end, rows, counts) = visited(&table, &request(&all, index));
        assert_eq!((end, rows.len()), (VisitEnd::Done, 2000));
        assert!(counters.page_misses() > 0 && counts.page_requests == 0);
        assert_eq!(counts.rows_fetched, if index == 0 { 0 } else { 2000 });
        assert_eq!(visited(&table, &request(&resident, index)).0, VisitEnd::Done);
    }
}
