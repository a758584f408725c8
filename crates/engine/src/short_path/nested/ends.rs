//! The least and the greatest value of a column, from the ends of a range of an index.

use super::query::TableQuery;
use crate::short_path::key_access::{Conditions, KeyAccess, KeyValues};
use muster_algebra::{AggregateFunction, ColId, Expr};

/// Which entries of a range an aggregation of all its rows needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    pub first: bool,
    pub last: bool,
}

/// The column that all aggregates of a query over one table are MIN and MAX of, with true if there is a MIN, and a MAX.
pub fn extremes(query: &TableQuery) -> Option<(ColId, bool, bool)> {
    let grouping = query.grouping.as_ref().filter(|grouping| grouping.by.is_empty() && query.tables.len() == 1)?;
    let (mut of, mut min, mut max) = (None, false, false);
    for (_, call) in &grouping.aggregates {
        match call.function {
            AggregateFunction::Min => min = true,
            AggregateFunction::Max => max = true,
            _ => return None,
        }
        let [Expr::Column(id)] = call.args.as_slice() else { return None };
        if *of.get_or_insert(*id) != *id {
            return None;
        }
    }
    Some((of?, min, max))
}

impl Ends {
    /// The ends of a range that hold these extremes. NULLs are left out of the range. `None` if its rows are not in the
    /// order of the column, or conditions leave out rows between its ends that keys do not tell of.
    pub fn of(
        (column, min, max): (ColId, bool, bool),
        conditions: &Conditions<'_>,
        access: &mut KeyAccess,
    ) -> Option<Ends> {
        let (table, column) = (conditions.table, (conditions.position)(column)?);
        if access.single || access.equal.iter().any(|values| matches!(values, KeyValues::AnyOf(_))) {
            return None;
        }
        let parts = table.key_parts(access.index);
        let known = parts.get(..=access.equal.len())?;
        let part = known.last().filter(|part| part.column == column && part.prefix.is_none())?;
        let is_of_key = |id: ColId| match (conditions.position)(id) {
            Some(c) => known.iter().any(|part| part.column == c && part.prefix.is_none()),
            None => (conditions.known)(id).is_some(),
        };
        if !conditions.all.iter().all(|e| e.columns().into_iter().all(is_of_key)) {
            return None;
        }
        if table.columns[column].nullable && access.lower.is_none() && access.upper.is_none() {
            (access.above_nulls, access.below_nulls) = (!part.descending, part.descending);
        }
        let (first, last) = if part.descending { (max, min) } else { (min, max) };
        Some(Ends { first, last })
    }
}
