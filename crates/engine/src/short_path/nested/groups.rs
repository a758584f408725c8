//! Groups of few rows.

use super::{RowScope, query::Grouping};
use crate::short_path::{run_end::Left, totals::Total};
use muster_algebra::{AggregateCall, AggregateFunction, Expr};
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

/// Groups that rows are added to one by one, in the order in which the first row of each is met.
pub(super) struct Groups<'a> {
    scope: RowScope<'a>,
    grouping: &'a Grouping,
    codec: KeyCodec,
    /// The places in a row of what the groups are made by; `None` if some of that is computed.
    slots: Option<Vec<usize>>,
    places: HashMap<Vec<u8>, usize>,
    /// What each group is made by, and its totals.
    all: Vec<(Vec<Value>, Vec<GroupTotal>)>,
    /// The group of the last row: rows of an index often come group by group.
    last: usize,
}

impl<'a> Groups<'a> {
    pub fn new(scope: RowScope<'a>, grouping: &'a Grouping) -> Groups<'a> {
        let slots = grouping.by.iter().map(|(_, expr)| match expr {
            Expr::Column(id) => scope.slot(*id),
            _ => None,
        });
        let mut groups = Groups {
            scope,
            grouping,
            codec: codec_of(grouping.by.iter().map(|(_, expr)| expr.ty(scope.columns))),
            slots: slots.collect(),
            places: HashMap::new(),
            all: Vec::new(),
            last: 0,
        };
        if grouping.by.is_empty() {
            groups.all.push((Vec::new(), groups.new_totals()));
        }
        groups
    }

    fn new_totals(&self) -> Vec<GroupTotal> {
        self.grouping.aggregates.iter().map(|(_, call)| GroupTotal::new(call, &self.scope)).collect()
    }

    pub fn add(&mut self, row: &[Value]) -> Result<(), Left> {
        if !self.is_of_last(row) {
            self.last = self.place(row)?;
        }
        let totals = &mut self.all[self.last].1;
        for (total, (_, call)) in totals.iter_mut().zip(&self.grouping.aggregates) {
            total.add(call, &self.scope, row)?;
        }
        Ok(())
    }

    /// Returns true if the row has the very values of the last group.
    fn is_of_last(&self, row: &[Value]) -> bool {
        let Some((by, _)) = self.all.get(self.last) else { return false };
        self.slots.as_ref().is_some_and(|slots| slots.iter().zip(by).all(|(slot, value)| row.get(*slot) == Some(value)))
    }

    fn place(&mut self, row: &[Value]) -> Result<usize, Left> {
        let by = self.grouping.by.iter().map(|(_, expr)| self.scope.value(expr, row)).collect::<Result<Vec<_>, _>>()?;
        let key = key(&self.codec, &by)?;
        if let Some(place) = self.places.get(&key) {
            return Ok(*place);
        }
        let place = self.all.len();
        self.all.push((by, self.new_totals()));
        self.places.insert(key, place);
        Ok(place)
    }

    /// What each group is made by, and its aggregates.
    pub fn finish(self) -> Result<Vec<Vec<Value>>, Left> {
        let finished = self.all.into_iter().map(|(mut values, totals)| {
            for (total, (_, call)) in totals.iter().zip(&self.grouping.aggregates) {
                values.push(total.total.value(call.ty).ok_or(Left::General)?);
            }
            Ok(values)
        });
        finished.collect()
    }
}
