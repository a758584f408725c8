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

/// Hands on the rows that are asked for.
pub(super) fn deliver(
    scope: &RowScope<'_>,
    query: &TableQuery,
    rows: Vec<Vec<Value>>,
    is_in_order: bool,
    sink: &mut dyn RowSink,
    figures: &mut RunFigures,
) -> Result<(), Left> {
    let rows = if is_in_order || query.order.is_empty() { rows } else { sorted(scope, query, rows, figures)? };
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

fn sorted(
    scope: &RowScope<'_>,
    query: &TableQuery,
    rows: Vec<Vec<Value>>,
    figures: &mut RunFigures,
) -> Result<Vec<Vec<Value>>, Left> {
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
