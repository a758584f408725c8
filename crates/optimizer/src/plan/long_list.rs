//! A list of values that is too long for ranges (`range_optimizer_max_mem_size`): the table is joined with the values,
//! so that it can be looked up by them, as MariaDB does beyond `in_predicate_conversion_threshold`.

use super::Planner;
use crate::literal::{exact_value, literal};
use crate::ranges::ranges_max;
use crate::relation::filtered;
use muster_algebra::{ColId, Expr, JoinKind, Rel, SqlType, TableDef, Value};
use muster_types::order;
use std::cmp::Ordering;

impl Planner<'_> {
    /// The join of a table with the values of a long list, if there is one of a column that an index begins with.
    pub(super) fn list_joined(&mut self, get: &Rel, conjuncts: &[Expr]) -> Option<Rel> {
        let Rel::Get { table, columns, .. } = get else { return None };
        let longest = ranges_max(self.options);
        let (at, id, values) = conjuncts.iter().enumerate().find_map(|(at, conjunct)| {
            let Expr::InList { arg, list, negated: false } = conjunct else { return None };
            let Expr::Column(id) = &**arg else { return None };
            let (_, position) = columns.iter().find(|(column, _)| column == id)?;
            let is_long = list.len() > longest && leads_an_index(table, *position);
            let values = is_long.then(|| distinct_values(list, table.columns[*position].ty))?;
            Some((at, *id, values?))
        })?;
        let ty = self.columns.ty(id);
        let key: ColId = self.columns_mut().add_computed("", ty, false);
        let rows = values.into_iter().map(|value| vec![Expr::literal(value, ty)]).collect();
        let rest = conjuncts.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, c)| c.clone()).collect();
        Some(Rel::Join {
            kind: JoinKind::Inner,
            left: Box::new(Rel::Values { columns: vec![key], rows }),
            right: Box::new(filtered(get.clone(), rest)),
            on: vec![Expr::eq(Expr::Column(id), Expr::Column(key))],
            straight: false,
        })
    }
}

fn leads_an_index(table: &TableDef, column: usize) -> bool {
    table.indexes.iter().any(|i| i.parts.first().is_some_and(|part| part.column == column && part.prefix.is_none()))
}

/// The values of a list that a column can have, each once. `None` if that is not known of all of them.
fn distinct_values(list: &[Expr], ty: SqlType) -> Option<Vec<Value>> {
    // Two doubles may be equal with different bytes.
    if matches!(ty.stored_type(), SqlType::Float | SqlType::Double) {
        return None;
    }
    let mut values = Vec::with_capacity(list.len());
    for item in list {
        let (value, from) = literal(item)?;
        // No row equals NULL, nor what the type cannot hold.
        match exact_value(value, from, ty) {
            Some(Value::Null) => {}
            Some(value) => values.push(value),
            None if order::number(value).is_some() => {}
            None => return None,
        }
    }
    let compare = |a: &Value, b: &Value| order::compare(a, b, ty).unwrap_or(Ordering::Equal);
    values.sort_by(compare);
    values.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
    Some(values)
}
