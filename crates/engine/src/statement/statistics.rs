//! What the optimizer asks about the tables of a statement.

use super::StatementTables;
use crate::catalog::TableEntry;
use muster_algebra::{ColumnStatistics, IndexStatistics, Statistics, TableDef};
use muster_storage::TableStatistics;
use muster_types::{
    KeyRange,
    distribution::{Distribution, RowSample},
};
use std::sync::Arc;

/// A sample of which more than this share of the rows has changed says nothing any more.
const CHANGED_SHARE_MAX: f64 = 0.3;

impl StatementTables {
    /// Share of all tables' rows that the buffer pool has room for.
    fn pool_share(&self) -> f64 {
        *self.pool_share.get_or_init(|| {
            let pages = |entry: &Arc<TableEntry>| {
                let statistics = self.set.statistics(entry.def.id).ok();
                statistics.and_then(|s| Some(s.indexes.first()?.leaf_pages)).unwrap_or(0)
            };
            let all: u64 = self.definitions().tables().map(pages).sum();
            let frames = self.context.database.buffer_pool().frame_count();
            (frames as f64 / all.max(1) as f64).min(1.0)
        })
    }

    /// Statistics of a stored table.
    fn statistics(&self, table: &TableDef) -> Option<Arc<TableStatistics>> {
        self.set.known_statistics(table.id).ok()
    }

    /// Share of a table's rows that are not in its statistics.
    fn changed_share(&self, table: &TableDef) -> f64 {
        match self.set.imported_statistics(table.id) {
            Some(_) => 0.0,
            None => self.set.changed_share(table.id),
        }
    }

    /// How the values of a stored table are spread, unless too many of them have changed since that was found out.
    fn distribution(&self, table: &TableDef) -> Option<Arc<Distribution>> {
        let known = self.statistics(table)?.distribution.clone()?;
        let is_same = table.columns.iter().map(|column| column.ty).eq(known.types.iter().copied());
        (is_same && self.changed_share(table) <= CHANGED_SHARE_MAX).then_some(known)
    }

    /// Rank correlation of an index with the order of the primary key.
    fn clustering(&self, table: &TableDef, index: usize) -> Option<f64> {
        let first = table.indexes[index].parts.first()?;
        let correlation = self.distribution(table)?.correlation(first.column)?;
        Some(if first.descending { -correlation } else { correlation })
    }
}

impl Statistics for StatementTables {
    fn row_count(&self, table: &TableDef) -> Option<f64> {
        if let Some(imported) = self.set.imported_statistics(table.id) {
            return Some(imported.rows as f64);
        }
        self.set.row_count(table.id).ok().map(|rows| rows as f64)
    }

    fn column(&self, table: &TableDef, column: usize) -> Option<ColumnStatistics> {
        let statistics = self.statistics(table)?;
        let c = statistics.columns.get(column)?;
        Some(ColumnStatistics {
            distinct: c.distinct,
            null_share: if statistics.rows == 0 { 0.0 } else { c.null_count as f64 / statistics.rows as f64 },
            min: c.min.clone(),
            max: c.max.clone(),
            changed_share: self.changed_share(table),
            histogram: self.distribution(table).and_then(|known| known.histogram(column, c.distinct)),
        })
    }

    fn index(&self, table: &TableDef, index: usize) -> Option<IndexStatistics> {
        let statistics = self.statistics(table)?;
        let i = statistics.indexes.get(index)?;
        Some(IndexStatistics {
            distinct: i.distinct.clone(),
            leaf_pages: i.leaf_pages as f64,
            height: i.height,
            resident_share: self.pool_share().max(self.set.resident_share(table.id, index)),
            clustering: self.clustering(table, index),
        })
    }

    fn range_rows(&self, table: &TableDef, index: usize, ranges: &[KeyRange]) -> Option<f64> {
        // The rows may be others than those that the statistics are of.
        if self.set.imported_statistics(table.id).is_some() {
            return None;
        }
        let storage = self.set.storage(table.id, self.context.tables.store()).ok()?;
        storage.estimate_rows(index, ranges).ok().map(|rows| rows as f64)
    }

    fn sample(&self, table: &TableDef) -> Option<Arc<RowSample>> {
        Some(Arc::clone(&self.distribution(table)?.sample))
    }

    fn is_readable(&self, table: &TableDef, index: usize) -> bool {
        if table.indexes[index].invisible && !self.context.uses_invisible_indexes() {
            return false;
        }
        if self.reads_newest() {
            return true;
        }
        // Without a view the statement will see what there is now.
        let view = self.context.known_view();
        view.is_none_or(|view| view.sees(self.set.since(table.id, index)))
    }
}
