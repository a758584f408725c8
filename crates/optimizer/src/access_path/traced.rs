//! The ways to read a table as an event of the trace.

use super::{Path, Request, hints};
use crate::options::Options;
use crate::trace::{Event, NoPath, TracedPath, TracedTable, kept_ranges};
use muster_algebra::Switch;

/// The ways that were considered; `None` without a trace.
pub struct PathNotes(Option<Vec<TracedPath>>);

impl PathNotes {
    /// Keeps the ways before one of them is chosen.
    pub fn begin(paths: &[Path], options: &Options) -> PathNotes {
        if !options.trace.is_on() {
            return PathNotes(None);
        }
        PathNotes(Some(paths.iter().map(traced).collect()))
    }

    /// Notes them with the best one. `rows`: those of the table, and those that its conditions leave.
    pub fn end(self, request: &Request<'_>, best: &Path, rows: (f64, f64), options: &Options) {
        let Some(mut paths) = self.0 else { return };
        for path in &mut paths {
            path.chosen = path.index == best.index
                && path.skips == best.steered
                && path.ranges.is_some() == best.ranges.is_some();
        }
        options.trace.note(|| {
            let has_path = |index: &usize| paths.iter().any(|path| path.index == *index);
            let may_read = |index: usize| hints::may_read(index, request.hints) && options.is_on(Switch::AccessPath);
            let reason = |index| if may_read(index) { NoPath::NotApplicable } else { NoPath::Forbidden };
            let missing = (0..request.table.indexes.len()).filter(|index| !has_path(index));
            let without = missing.map(|index| (index, reason(index))).collect();
            let table = TracedTable {
                table: request.table.clone(),
                alias: request.alias.to_string(),
                column: request.columns.first().map(|(id, _)| *id),
            };
            let conjuncts = request.conjuncts.to_vec();
            Event::Paths { table, rows: rows.0, filtered_rows: rows.1, conjuncts, paths, without }
        });
    }
}

fn traced(path: &Path) -> TracedPath {
    TracedPath {
        index: path.index,
        ranges: path.ranges.as_ref().map(|ranges| kept_ranges(&ranges.ranges)),
        range_count: path.ranges.as_ref().map_or(0, |ranges| ranges.ranges.len()),
        skips: path.steered,
        covering: path.covering,
        ordered: path.ordered,
        rows: path.rows_read,
        cost: path.cost,
        chosen: false,
    }
}
