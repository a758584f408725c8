//! Rows of latched leaves as batches: what scans ([`crate::scan`]) and lookups ([`crate::lookup`]) share.
//!
//! ```text
//!   RowAccess    which columns of which rows, by which index       mod.rs
//!   Tester       a condition over rows of latched leaves           collect.rs
//!   RangeTests   the part of it that needs no decoding             ranges.rs
//!   Collector    rows of latched leaves -> output columns          collect.rs
//!   Wanted       rows of a leaf that are decoded                   wanted.rs
//!   Matcher      keys -> rows of a latched leaf                    matching.rs
//!   Fetcher      entries of a secondary tree -> rows of the table  fetch.rs
//! ```

mod collect;
mod fetch;
#[cfg(test)]
pub(crate) mod fixtures;
mod matching;
mod ranges;
mod recheck;
mod wanted;

pub use fetch::Fetch;
pub use ranges::ColumnRange;
pub(crate) use {
    collect::{Collector, LeafRows, Tester},
    fetch::Fetcher,
    matching::{Matcher, Reading},
};

use crate::{Counters, ReadView, Result, StorageError, Table, arrow_type, tree::Tree};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use muster_types::SqlType;
use std::sync::Arc;

/// A scan's or a lookup's latches take at most this share of the pool's frames.
const PINNED_SHARE: usize = 16;
/// And no more leaves than this, so that a writer who waits for them does not wait long.
const LATCHED_LEAVES: usize = 128;

/// Rows of a scan's first batch when it is ordered. Whoever wants the first rows in order often wants no more; later
/// batches double up to the size asked for.
pub(crate) const FIRST_BATCH_ROWS: usize = 128;

/// A condition evaluated inside storage, on the columns it names, before others are decoded.
///
/// A call covers a bounded number of rows, and no batch is delivered while it keeps none: a filter that returns an
/// error (say, [`StorageError::Interrupted`]) ends a long scan.
pub trait BatchFilter: Send + Sync {
    /// Table column positions, in the order [`BatchFilter::evaluate`] gets them.
    fn columns(&self) -> &[usize];
    /// Conditions that must hold as well, each for one column. They are tested first, on values as they are stored;
    /// [`BatchFilter::evaluate`] gets only rows for which they hold.
    fn ranges(&self) -> &[ColumnRange];
    /// TRUE keeps the row; FALSE and NULL drop it.
    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray>;
    /// The same for entries that were looked up, as an index condition; `keys`: for each, the position of the key that
    /// found it among those of [`crate::Lookup::begin`].
    fn evaluate_found(&self, batch: &RecordBatch, keys: &[u32]) -> Result<BooleanArray> {
        let _ = keys;
        self.evaluate(batch)
    }
}

/// Some table columns as batches have them.
#[derive(Clone)]
pub(crate) struct Projection {
    /// Table column positions.
    pub columns: Vec<usize>,
    /// Columns have no names of their own here.
    pub schema: SchemaRef,
}

impl Projection {
    /// `coded`: positions among `columns` of those that come as dictionaries.
    fn new(table: &Table, columns: Vec<usize>, coded: &[usize]) -> Projection {
        let field = |(i, c): (usize, &usize)| {
            let column = table.schema().readable_column(*c)?;
            let ty = arrow_type(&column.ty);
            let ty = if coded.contains(&i) { dictionary_type(ty) } else { ty };
            Some(Field::new(format!("c{c}"), ty, column.nullable))
        };
        let schema = Arc::new(Schema::new(columns.iter().enumerate().filter_map(field).collect::<Vec<_>>()));
        Projection { columns, schema }
    }
}

/// The Arrow type of a dictionary of values of a type.
pub fn dictionary_type(values: DataType) -> DataType {
    DataType::Dictionary(Box::new(DataType::UInt32), Box::new(values))
}

/// A filter and what it wants to see.
#[derive(Clone)]
pub(crate) struct Condition {
    pub filter: Arc<dyn BatchFilter>,
    pub input: Projection,
}

/// The table, the index and the columns that are read.
pub(crate) struct RowAccess {
    pub table: Arc<Table>,
    pub view: Arc<ReadView>,
    /// The tree of the index.
    pub tree: Arc<Tree>,
    /// True if the index holds all that is asked for, so that no row has to be fetched.
    pub covering: bool,
    pub output: Projection,
    /// Checked on entries of the index.
    pub index_condition: Option<Condition>,
    /// Checked on rows (on entries, if they are all that is needed).
    pub condition: Option<Condition>,
}

impl RowAccess {
    /// `coded`: positions among `columns` of those that come as dictionaries. Errors: `WrongType` for columns or an
    /// index that the table does not have, for an index condition on columns that the index does not hold, and for
    /// dictionaries of other values than texts and byte strings.
    pub fn new(
        table: Arc<Table>,
        view: Arc<ReadView>,
        index: usize,
        columns: Vec<usize>,
        coded: &[usize],
        index_filter: Option<Arc<dyn BatchFilter>>,
        filter: Option<Arc<dyn BatchFilter>>,
    ) -> Result<RowAccess> {
        let filter_columns = |filter: &Option<Arc<dyn BatchFilter>>| -> Vec<usize> {
            let filters = filter.iter();
            filters.flat_map(|f| f.columns().iter().copied().chain(f.ranges().iter().map(|r| r.column))).collect()
        };
        let wrong = |value: String| Err(StorageError::WrongType { value });
        let (on_entries, on_rows) = (filter_columns(&index_filter), filter_columns(&filter));
        let (schema, count) = (table.schema(), table.schema().columns.len());
        let mut conditions = on_entries.iter().chain(&on_rows);
        let unknown = columns.iter().find(|c| schema.readable_column(**c).is_none());
        if let Some(column) = unknown.or_else(|| conditions.find(|c| **c >= count)) {
            return wrong(format!("column {column} of {count}"));
        }
        let is_string = |ty: &SqlType| ty.is_text() || ty.is_bytes();
        if !coded.iter().all(|i| columns.get(*i).and_then(|c| schema.columns.get(*c)).is_some_and(|c| is_string(&c.ty)))
        {
            return wrong(format!("dictionaries of columns {coded:?}"));
        }
        for filter in index_filter.iter().chain(&filter) {
            ranges::check(table.schema(), filter.ranges())?;
        }
        let Some(tree) = table.trees().get(index).map(Arc::clone) else {
            return wrong(format!("index {index}"));
        };
        let layout = tree.layout();
        if let Some(column) = on_entries.iter().find(|c| layout.column_of(**c).is_none()) {
            return wrong(format!("a condition on column {column} of index {index}, which does not hold it,"));
        }
        let covering = layout.covers(&columns) && layout.covers(&on_rows);
        let condition = |filter: Option<Arc<dyn BatchFilter>>| {
            filter.map(|filter| Condition { input: Projection::new(&table, filter.columns().to_vec(), &[]), filter })
        };
        Ok(RowAccess {
            view,
            covering,
            output: Projection::new(&table, columns, coded),
            index_condition: condition(index_filter),
            condition: condition(filter),
            tree,
            table,
        })
    }

    /// The index condition over entries, if there is one.
    pub fn index_tester(&self) -> Option<Tester> {
        let condition = self.index_condition.clone()?;
        Some(Tester::new(self.table.schema(), &self.tree, condition, &self.view, !self.covering))
    }

    /// The condition over entries, if there is one and they hold its columns.
    pub fn entry_tester(&self) -> Option<Tester> {
        let condition = self.condition.clone().filter(|_| self.covering)?;
        Some(Tester::new(self.table.schema(), &self.tree, condition, &self.view, false))
    }

    /// Collects entries without testing them, which hold all that is asked for.
    pub fn plain_collector(&self) -> Collector {
        Collector::new(self.table.schema(), &self.tree, self.output.clone(), &self.view, None)
    }

    /// Collects rows from leaves of `tree`, which holds all columns of the output and of the condition.
    pub fn collector(&self, tree: &Arc<Tree>) -> Collector {
        let tester = self.condition.clone().map(|c| Tester::new(self.table.schema(), tree, c, &self.view, false));
        Collector::new(self.table.schema(), tree, self.output.clone(), &self.view, tester)
    }
}

/// The two ways in which rows of an index become batches.
pub(crate) enum Output {
    /// From entries, which hold all that is wanted.
    Entries(Box<Collector>),
    /// From rows that are fetched for the entries.
    Rows(Box<Fetcher>),
}

/// Leaves of a tree that may be latched at once.
pub(crate) fn max_latched(tree: &Tree) -> usize {
    (tree.pool().frame_count() / PINNED_SHARE).clamp(1, LATCHED_LEAVES)
}

/// Returns true if a tree is in memory wholly, so that reading ahead has nothing to do.
pub(crate) fn all_resident(tree: &Tree) -> bool {
    tree.file().resident_pages() + 1 >= u64::from(tree.file().page_count())
}

/// Counts rows handed to the query.
pub(crate) fn count_delivered(batch: &RecordBatch, counters: &Counters) {
    counters.add(crate::counters::Counter::rows_delivered, batch.num_rows() as u64);
}
