//! The rows of the result: sorted, cut off, computed.

use super::{
    RowScope,
    groups::{codec, key},
    query::TableQuery,
};
use crate::short_path::{
    run_end::{Left, RunFigures},
    sink::RowSink,
};
use muster_types::{Value, ValueRef};

/// Hands on the rows that are asked for, of rows in order.
pub(super) fn deliver(
    scope: &RowScope<'_>,
    query: &TableQuery,
    rows: Vec<Vec<Value>>,
    sink: &mut dyn RowSink,
    figures: &mut RunFigures,
) -> Result<(), Left> {
    if let Some(negated) = query.exists {
        sink.begin_row();
        sink.value(ValueRef::Bool(rows.is_empty() == negated));
        sink.end_row();
        figures.rows = 1;
        return Ok(());
    }
    let skip = usize::try_from(query.offset).unwrap_or(usize::MAX);
    let limit = query.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    for row in rows.iter().skip(skip).take(limit) {
        sink.begin_row();
        for output in &query.outputs {
            sink.value(ValueRef::from(&scope.value(output, row)?));
        }
        sink.end_row();
        figures.rows += 1;
    }
    Ok(())
}

/// The rows in the order that is asked for.
pub(super) fn sorted(
    scope: &RowScope<'_>,
    query: &TableQuery,
    rows: Vec<Vec<Value>>,
    figures: &mut RunFigures,
) -> Result<Vec<Vec<Value>>, Left> {
    if query.order.is_empty() {
        return Ok(rows);
    }
    let codec = codec(query.order.iter().map(|k| (k.expr.ty(scope.columns), k.descending)));
    let mut keyed = Vec::with_capacity(rows.len());
    for row in rows {
        let values = query.order.iter().map(|k| scope.value(&k.expr, &row)).collect::<Result<Vec<_>, _>>()?;
        keyed.push((key(&codec, &values)?, row));
    }
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    figures.sorted = keyed.len() as u64;
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}
