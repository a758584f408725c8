//! Groups of few rows.

use super::{RowScope, query::Grouping};
use crate::short_path::{run_end::Left, totals::Total};
use muster_algebra::{AggregateCall, AggregateFunction};
use muster_storage::key::{KeyCodec, KeyKind, KeyPartCodec};
use muster_types::{SqlType, Value, ValueRef};
use std::collections::{HashMap, HashSet};

/// An aggregate of a group.
pub(super) struct GroupTotal {
    total: Total,
    /// The keys of the values that it has taken.
    distinct: Option<(KeyCodec, HashSet<Vec<u8>>)>,
}

impl GroupTotal {
    /// Returns true if an aggregate over arguments of these types is one that groups have.
    pub(super) fn is_known(call: &AggregateCall, types: &[SqlType]) -> bool {
        match types {
            [] => matches!(call.function, AggregateFunction::Count),
            [ty] => Total::is_known(&call.function, *ty, call.ty),
            _ => matches!(call.function, AggregateFunction::Count),
        }
    }

    fn new(call: &AggregateCall, scope: &RowScope<'_>) -> GroupTotal {
        let types = call.args.iter().map(|arg| arg.ty(scope.columns));
        let distinct = call.distinct.then(|| (codec_of(types), HashSet::new()));
        GroupTotal { total: Total::of(&call.function), distinct }
    }

    fn add(&mut self, call: &AggregateCall, scope: &RowScope<'_>, row: &[Value]) -> Result<(), Left> {
        let args = call.args.iter().map(|arg| scope.value(arg, row)).collect::<Result<Vec<_>, _>>()?;
        if args.iter().any(Value::is_null) {
            return Ok(());
        }
        if let Some((codec, seen)) = &mut self.distinct
            && !seen.insert(key(codec, &args)?)
        {
            return Ok(());
        }
        self.total.add(args.first().map(ValueRef::from)).ok_or(Left::General)
    }
}

/// The codec of keys by which values of these types are equal and ordered.
pub(super) fn codec_of(types: impl Iterator<Item = SqlType>) -> KeyCodec {
    codec(types.map(|ty| (ty, false)))
}

/// The same, with parts that descend.
pub(super) fn codec(parts: impl Iterator<Item = (SqlType, bool)>) -> KeyCodec {
    let part = |(column, (ty, descending)): (usize, (SqlType, bool))| KeyPartCodec {
        column,
        kind: KeyKind::of(&ty),
        nullable: true,
        descending,
        prefix: None,
    };
    KeyCodec { parts: parts.enumerate().map(part).collect() }
}

/// The key of some values. Values that their types do not have are left to the general path.
pub(super) fn key(codec: &KeyCodec, values: &[Value]) -> Result<Vec<u8>, Left> {
    let mut key = Vec::new();
    codec.append_values(values, &mut key).map_err(|_| Left::General)?;
    Ok(key)
}

/// The groups of rows, in the order in which they are met: what they are made by, and their aggregates.
pub(super) fn groups(scope: &RowScope<'_>, grouping: &Grouping, rows: &[Vec<Value>]) -> Result<Vec<Vec<Value>>, Left> {
    let codec = codec_of(grouping.by.iter().map(|(_, expr)| expr.ty(scope.columns)));
    let new_totals = || grouping.aggregates.iter().map(|(_, call)| GroupTotal::new(call, scope)).collect::<Vec<_>>();
    let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut groups: Vec<(Vec<Value>, Vec<GroupTotal>)> = Vec::new();
    if grouping.by.is_empty() {
        groups.push((Vec::new(), new_totals()));
    }
    for row in rows {
        let by = grouping.by.iter().map(|(_, expr)| scope.value(expr, row)).collect::<Result<Vec<_>, _>>()?;
        let place = match grouping.by.is_empty() {
            true => 0,
            false => *places.entry(key(&codec, &by)?).or_insert_with(|| {
                groups.push((by, new_totals()));
                groups.len() - 1
            }),
        };
        for (total, (_, call)) in groups[place].1.iter_mut().zip(&grouping.aggregates) {
            total.add(call, scope, row)?;
        }
    }
    let finished = groups.into_iter().map(|(mut values, totals)| {
        for (total, (_, call)) in totals.iter().zip(&grouping.aggregates) {
            values.push(total.total.value(call.ty).ok_or(Left::General)?);
        }
        Ok(values)
    });
    finished.collect()
}
