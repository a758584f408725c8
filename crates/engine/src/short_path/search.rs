//! The rows that an UPDATE or DELETE of one table changes: those of some ranges of an index that meet conditions.

use super::{
    constant::{constant_value, value_of_row},
    direct::Shape,
    key_access::{KeyAccess, KeyValue},
    run_end::{ENTRIES_MAX, Left, is_resident},
};
use muster_algebra::{ColId, Expr, Plan, PlanOp, Scan};
use muster_sql::bind::{ChangeTarget, Search, TableSearch};
use muster_storage::{Table, key::ByteRange};
use muster_types::{KeyRange, Value};

/// A search for rows, for all values of parameters.
pub struct RowSearch {
    shape: Shape,
    access: KeyAccess,
    /// Conditions that the ranges of keys do not imply.
    filter: Vec<Expr>,
    /// The order is that of the index, backwards.
    reverse: bool,
}

impl RowSearch {
    /// `None` if the search does not take the short path. `general`: how the general path searches; it is asked for
    /// unless a key of one row is given.
    pub fn of(target: &ChangeTarget, search: &Search, general: impl FnOnce() -> Option<Plan>) -> Option<RowSearch> {
        let Search::Table(search @ TableSearch { hints, .. }) = search else { return None };
        if !hints.is_empty() || target.row_number.is_some() {
            return None;
        }
        let shape = Shape::of_search(&search.rel(target))?;
        let by_key = shape.access(0).filter(|access| access.single);
        let access = match by_key {
            Some(access) => access,
            None => {
                let plan = general()?;
                let scan = scan_of(&plan).filter(|scan| scan.distinct_prefix.is_none())?;
                shape.access(scan.index)?
            }
        };
        let reverse = access.order(&shape.table, &shape.order)?;
        let mut implied = access.implied.iter();
        let mut filter = shape.filter.clone();
        filter.retain(|_| implied.next() != Some(&true));
        Some(RowSearch { shape, access, filter, reverse })
    }

    pub fn index(&self) -> usize {
        self.access.index
    }

    /// Returns true if it is a whole key of a unique index.
    pub fn is_single(&self) -> bool {
        self.access.single
    }

    pub fn reverse(&self) -> bool {
        self.reverse
    }

    /// Most rows that are changed.
    pub fn limit(&self) -> usize {
        self.shape.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// The ranges of the index for values of the parameters, in its order, each once. `None` if the general path has
    /// to find the rows.
    pub fn ranges(&self, table: &Table, parameters: &[Value]) -> Option<Vec<(ByteRange, KeyRange)>> {
        let ranges = self.access.ranges(|constant| match constant_value(&constant.expr, parameters) {
            Some(value) => constant.key_value(&value),
            None => KeyValue::Unknown,
        });
        let ranges = match ranges {
            Ok(ranges) => ranges,
            Err(KeyValue::Null) => Vec::new(),
            Err(_) => return None,
        };
        table.tree(self.access.index).layout().key.sorted_ranges(ranges).ok()
    }

    /// Returns true if the rows that a search meets are in memory, and nobody is at work on their pages.
    pub fn is_resident(&self, table: &Table, parameters: &[Value]) -> bool {
        let entries = if self.shape.limit.is_some() { self.limit().saturating_add(1) } else { ENTRIES_MAX };
        self.ranges(table, parameters).is_none_or(|ranges| {
            let is_there = |(range, _): &(ByteRange, KeyRange)| {
                !matches!(is_resident(table, self.index(), range, self.reverse, entries), Err(Left::MustWait))
            };
            ranges.iter().all(is_there)
        })
    }

    /// Returns true if a row, all columns of the table, meets the conditions. `None` if the general path has to tell.
    pub fn is_met(&self, row: &[Value], parameters: &[Value]) -> Option<bool> {
        let columns = &self.shape.table.columns;
        for condition in &self.filter {
            let value = value_of_row(
                condition,
                &|id: ColId| row.get(id.0 as usize).cloned(),
                &|id: ColId| columns.get(id.0 as usize).map(|c| c.ty),
                parameters,
            )?;
            if muster_eval::compare::truth(&value) != Some(true) {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// The one scan of a plan.
pub fn scan_of(plan: &Plan) -> Option<&Scan> {
    match (&plan.op, plan.inputs().as_slice()) {
        (PlanOp::Scan(scan), _) => Some(scan),
        (_, [input]) => scan_of(input),
        _ => None,
    }
}
