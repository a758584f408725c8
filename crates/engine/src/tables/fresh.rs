//! Statistics that follow the rows. What a load has counted is kept with its shares: as many rows more as there are
//! now, each like those that were loaded.

use muster_storage::{ColumnStats, IndexStats, Table, TableStatistics};

/// Rows for each distinct value of a column of which nothing is known.
const ROWS_PER_VALUE: f64 = 10.0;

/// Returns true if statistics for so many rows are good for so many others: a fifth more or less changes no plan.
pub fn is_about(known: u64, now: u64) -> bool {
    known.abs_diff(now) <= known / 5
}

/// The statistics for the rows that a table has now.
pub fn statistics(loaded: &TableStatistics, table: &Table) -> TableStatistics {
    let rows = table.row_count();
    if is_about(loaded.rows, rows) {
        return TableStatistics { rows, ..loaded.clone() };
    }
    let (before, now) = (loaded.rows as f64, rows as f64);
    let mut columns: Vec<ColumnStats> = loaded.columns.iter().map(|column| grown_column(column, before, now)).collect();
    let schemas = &table.schema().indexes;
    for schema in schemas.iter().filter(|schema| schema.unique) {
        if let [part] = schema.parts.as_slice()
            && let Some(column) = columns.get_mut(part.column).filter(|_| part.prefix.is_none())
        {
            column.distinct = now - column.null_count as f64;
        }
    }
    let indexes = loaded.indexes.iter().zip(schemas).zip(table.trees()).map(|((index, schema), tree)| {
        let mut distinct: Vec<f64> = index.distinct.iter().map(|known| grown(*known, before, now)).collect();
        if let (true, Some(last)) = (schema.unique, distinct.last_mut()) {
            *last = now;
        }
        let counters = table.counters();
        IndexStats {
            distinct,
            leaf_pages: u64::from(tree.file().page_count()).saturating_sub(1).max(1),
            height: tree.height(counters).unwrap_or(index.height),
        }
    });
    TableStatistics { rows, columns, indexes: indexes.collect(), distribution: loaded.distribution.clone() }
}

/// Bytes of leaf pages of the clustered index, and of all others (an estimate, as in MySQL).
pub fn data_and_index_bytes(statistics: &TableStatistics, page_size: u64) -> (u64, u64) {
    let mut sizes = statistics.indexes.iter().map(|index| index.leaf_pages.max(1) * page_size);
    (sizes.next().unwrap_or(page_size), sizes.sum())
}

fn grown_column(column: &ColumnStats, before: f64, now: f64) -> ColumnStats {
    let nulls = if before > 0.0 { column.null_count as f64 / before * now } else { 0.0 };
    // Rows that came may lie outside of the bounds: the optimizer knows how many came.
    ColumnStats { distinct: grown(column.distinct, before, now), null_count: nulls as u64, ..column.clone() }
}

/// Distinct values of `now` rows, when `before` rows had so many. Where nearly each row had a value of its own, it
/// still has; a few values for all rows stay few.
fn grown(distinct: f64, before: f64, now: f64) -> f64 {
    if before == 0.0 {
        return (now / ROWS_PER_VALUE).max(1.0);
    }
    let share = (distinct / before).clamp(0.0, 1.0);
    let grown = if now > before { distinct + share * share * (now - before) } else { distinct };
    grown.min(now).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_types::Value;

    #[test]
    fn bounds_stay_when_rows_come() {
        let known = ColumnStats {
            distinct: 10.0,
            min: Some(Value::Int(1)),
            max: Some(Value::Int(10)),
            ..ColumnStats::default()
        };
        let more = grown_column(&known, 10.0, 13.0);
        assert_eq!((&more.min, &more.max), (&known.min, &known.max));
    }

    #[test]
    fn values_grow_with_rows() {
        assert_eq!(grown(100.0, 100.0, 1000.0), 1000.0);
        assert!((grown(2.0, 1000.0, 100_000.0) - 2.0).abs() < 1.0);
        assert_eq!(grown(0.0, 0.0, 1000.0), 100.0);
        assert_eq!(grown(1000.0, 1000.0, 10.0), 10.0);
        assert!(is_about(100, 120) && !is_about(100, 121) && !is_about(0, 1));
    }
}
