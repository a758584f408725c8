//! The end of a SELECT: projection, DISTINCT, ORDER BY and LIMIT over what has been grouped.
//!
//! A sort key that is no output is computed below DISTINCT when there is none, and above it from the outputs when there
//! is one: rows that are equal in their outputs have become one row, which has no other columns.

use super::{
    aggregate::{full_name, rename},
    binder::{Binder, BoundQuery, Output},
    order::Limits,
    select::{Selected, column_name},
    stored_shape::unnamed,
};
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Expr, Rel, ResultShape, ScalarFunction, SortKey};
use muster_types::{ErrorCode, Result, SqlError};
use sqlparser::ast;
use std::collections::HashMap;

/// A sort key.
pub(super) struct Key {
    pub expr: Expr,
    pub descending: bool,
    /// Position in ORDER BY, counted from 1, for errors.
    pub number: usize,
}

/// Returns true for what gives one of several values, or that of a subquery.
pub(super) fn chooses(expr: &Expr) -> bool {
    use ScalarFunction::{Coalesce, Greatest, Least};
    match expr {
        Expr::Case { .. } => true,
        // A subquery without a table is its item (MySQL: `Item_singlerow_subselect::select_transformer`).
        Expr::Subquery(query) => match &*query.rel {
            Rel::Project { input, .. } => !matches!(&**input, Rel::Values { columns, .. } if columns.is_empty()),
            _ => true,
        },
        Expr::Call { function, .. } => matches!(function, Coalesce | Greatest | Least),
        _ => false,
    }
}

fn is_any_value(written: &ast::Expr) -> bool {
    match written {
        ast::Expr::Nested(inner) => is_any_value(inner),
        ast::Expr::Function(function) => function.name.to_string().eq_ignore_ascii_case("ANY_VALUE"),
        _ => false,
    }
}

/// SELECT DISTINCT, and what its errors have to know.
pub(super) struct Distinctness {
    pub distinct: bool,
    /// Columns that are the results of aggregate functions.
    pub calls: Vec<ColId>,
    /// Of the groups of a rollup: the column of their places, and the first place of those that make a row. The rows
    /// come in this order, behind the keys of ORDER BY.
    pub first: Option<(ColId, AggregateCall)>,
}

/// Columns beside the outputs that sort keys need.
#[derive(Default)]
struct KeyColumns {
    /// Computed together with the outputs.
    below: Vec<(ColId, Expr)>,
    /// Any value of a column of `below` for each distinct row.
    any_values: Vec<(ColId, AggregateCall)>,
    /// Computed from the distinct rows.
    above: Vec<(ColId, Expr)>,
}

impl Binder<'_> {
    pub(super) fn finish(
        &mut self,
        rel: Rel,
        selected: Vec<Selected>,
        keys: Vec<Key>,
        distinctness: Distinctness,
        limits: Limits,
    ) -> Result<BoundQuery> {
        let available = rel.output();
        if !distinctness.distinct && selected.iter().any(|s| s.item.expr.uses_variables()) {
            return self.finish_row_by_row(rel, selected, keys, limits);
        }
        let selected = selected.into_iter().map(|s| shown_beside(s, &keys)).collect();
        let (mut exprs, outputs) = self.outputs(selected, &available);
        let shown: Vec<ColId> = outputs.iter().map(|o| o.id).collect();
        // A key that is an output is that column; a column of the input stays what it is.
        let mut extra = KeyColumns::default();
        let mut sort = Vec::with_capacity(keys.len());
        let mut computed = distinctness.distinct;
        for key in keys {
            let known = exprs.iter().chain(&extra.below).find(|(_, e)| *e == key.expr).map(|(id, _)| *id);
            let descending = key.descending;
            let id = match known {
                Some(id) if !distinctness.distinct || shown.contains(&id) => id,
                _ if distinctness.distinct => {
                    self.key_of_distinct(key, &exprs, &available, &distinctness.calls, &mut extra)?
                }
                _ => self.key_below(key.expr, &available, &mut extra),
            };
            computed |= !available.contains(&id);
            sort.extend(self.sort_keys_of(id, descending));
        }
        if let Some((place, call)) = distinctness.first {
            extra.below.push((place, Expr::Column(place)));
            let id = self.columns.add_computed("first place", call.ty, false);
            sort.push(SortKey { expr: Expr::Column(id), descending: false });
            extra.any_values.push((id, call));
        }
        let sorted = |input: Rel| match sort.is_empty() {
            true => limits.apply(input),
            false => limits.apply(Rel::Sort { input: Box::new(input), keys: sort.clone() }),
        };
        if !computed {
            // Everything to sort by is there already: sort first, so that less has to be carried.
            return Ok(BoundQuery { rel: project(sorted(rel), exprs), outputs });
        }
        let same = |ids: &[ColId]| ids.iter().map(|id| (*id, Expr::Column(*id))).collect::<Vec<_>>();
        let only_outputs = same(&shown);
        let has_extra = !extra.below.is_empty() || !extra.above.is_empty();
        exprs.extend(extra.below);
        let mut rel = project(rel, exprs);
        if distinctness.distinct {
            rel = Rel::Aggregate { input: Box::new(rel), group: shown, aggregates: extra.any_values };
            if !extra.above.is_empty() {
                let exprs = same(&rel.output()).into_iter().chain(extra.above).collect();
                rel = Rel::Project { input: Box::new(rel), exprs };
            }
        }
        rel = sorted(rel);
        if has_extra {
            rel = project(rel, only_outputs);
        }
        Ok(BoundQuery { rel, outputs })
    }

    /// The end of a SELECT whose list uses user variables: it is computed for the rows that are delivered, in their
    /// order. Only a key that uses variables, too, is computed with the list before the rows are sorted.
    fn finish_row_by_row(
        &mut self,
        rel: Rel,
        selected: Vec<Selected>,
        keys: Vec<Key>,
        limits: Limits,
    ) -> Result<BoundQuery> {
        let available = rel.output();
        let (exprs, outputs) = self.outputs(selected, &available);
        let is_late = !keys.iter().any(|key| key.expr.uses_variables());
        let mut below: Vec<(ColId, Expr)> = match is_late {
            true => available.iter().map(|id| (*id, Expr::Column(*id))).collect(),
            false => exprs.clone(),
        };
        let mut sort = Vec::with_capacity(keys.len());
        for Key { expr, descending, .. } in keys {
            let known = below.iter().find(|(_, e)| *e == expr).map(|(id, _)| *id);
            let id = known.unwrap_or_else(|| {
                let ty = self.type_of(&expr);
                let id = self.new_column("", &expr, ty);
                below.push((id, expr));
                id
            });
            sort.extend(self.sort_keys_of(id, descending));
        }
        let mut rel = project(rel, below);
        if !sort.is_empty() {
            rel = Rel::Sort { input: Box::new(rel), keys: sort };
        }
        let rel = limits.apply(rel);
        let exprs = match is_late {
            true => exprs,
            false => exprs.into_iter().map(|(id, _)| (id, Expr::Column(id))).collect(),
        };
        Ok(BoundQuery { rel: project(rel, exprs), outputs })
    }

    /// The columns of the result, with what each is computed from.
    fn outputs(&mut self, selected: Vec<Selected>, available: &[ColId]) -> (Vec<(ColId, Expr)>, Vec<Output>) {
        let mut exprs: Vec<(ColId, Expr)> = Vec::with_capacity(selected.len());
        let mut outputs = Vec::with_capacity(selected.len());
        for mut s in selected {
            if let Some(text) = s.item.shown.take() {
                let id = self.shown_output(&s, &text);
                outputs.push(Output::new(id, s.name, &s.item));
                exprs.push((id, *text));
                continue;
            }
            let id = match s.item.expr {
                // A column keeps its number, unless it is another query's, is shown twice, or is what a function gives.
                Expr::Column(id)
                    if available.contains(&id) && !exprs.iter().any(|(e, _)| *e == id) && !self.is_given(&s, id) =>
                {
                    id
                }
                _ => {
                    let id = self.new_column(&s.name, &s.item.expr, s.item.ty);
                    self.columns.set_decimals(id, s.item.decimals);
                    if let Some(written) = s.ast {
                        let mut shape = self.result_shape(written, &s.item);
                        if s.item.expr.columns().iter().any(|id| self.rolled_up.contains(id)) {
                            // MySQL takes all that is computed of the keys for nullable.
                            shape.nullable = Some(true);
                        }
                        if s.item.ty.is_integer() {
                            self.columns.set_length(id, shape.length);
                        }
                        self.columns.set_shape(id, shape);
                    }
                    if s.item.ty.is_temporal() && (chooses(&s.item.expr) || s.ast.is_some_and(is_any_value)) {
                        self.columns.set_chosen(id);
                    }
                    if s.item.hexadecimal {
                        self.hexadecimal_columns.insert(id);
                    }
                    if let Expr::Column(source) = s.item.expr
                        && !self.is_given(&s, source)
                    {
                        self.columns_origin(id, source);
                        self.columns.set_length(id, self.columns.length(source));
                    }
                    id
                }
            };
            if let Some(ty) = self.made_type(s.ast, id) {
                self.made.insert(id, ty);
            }
            if self.columns.shape(id).stored && self.columns.shown_origin(id).is_none() {
                self.columns.set_shown_origin(id, unnamed(&s.name));
            }
            outputs.push(Output::new(id, s.name, &s.item));
            exprs.push((id, s.item.expr));
        }
        (exprs, outputs)
    }

    /// The column of a decimal that is shown as a text, which clients are told is the decimal.
    fn shown_output(&mut self, selected: &Selected, text: &Expr) -> ColId {
        let item = &selected.item;
        let id = self.new_column(&selected.name, text, self.type_of(text));
        let shape = selected.ast.map(|written| self.result_shape(written, item)).unwrap_or_default();
        let nullable = shape.nullable.or(Some(self.nullable(&item.expr)));
        self.columns.set_shape(id, ResultShape { ty: Some(item.ty), nullable, ..shape });
        id
    }

    /// Returns true for a column of a table that the statement does not name but as the argument of a function which
    /// gives it unchanged, such as CONVERT: for clients it is computed.
    fn is_given(&self, selected: &Selected, id: ColId) -> bool {
        self.columns.get(id).origin.is_some() && selected.ast.is_some_and(|ast| column_name(ast).is_none())
    }

    /// The column of a key that is computed together with the outputs.
    fn key_below(&mut self, expr: Expr, available: &[ColId], extra: &mut KeyColumns) -> ColId {
        let id = match &expr {
            Expr::Column(id) if available.contains(id) => *id,
            expr => {
                let ty = self.type_of(expr);
                self.new_column("", expr, ty)
            }
        };
        extra.below.push((id, expr));
        id
    }

    /// The column of a key that is none of the distinct outputs. It may be an expression over them (manual 14.19.3);
    /// what else it mentions has several values for one distinct row. Without ONLY_FULL_GROUP_BY any of them will do,
    /// with it the errors are 3065 and 3066.
    fn key_of_distinct(
        &mut self,
        key: Key,
        outputs: &[(ColId, Expr)],
        available: &[ColId],
        calls: &[ColId],
        extra: &mut KeyColumns,
    ) -> Result<ColId> {
        let mentioned: Vec<ColId> = key.expr.columns().into_iter().filter(|c| available.contains(c)).collect();
        let mut names = HashMap::new();
        for column in &mentioned {
            match outputs.iter().find(|(_, e)| *e == Expr::Column(*column)) {
                Some((output, _)) => names.insert(*column, *output),
                None if self.env.session.only_full_group_by() => {
                    return Err(match calls.contains(column) {
                        true => aggregate_not_in_select(key.number),
                        false => column_not_in_select(key.number, &full_name(self, *column)),
                    });
                }
                None => {
                    let ty = self.type_of(&key.expr);
                    let below = self.key_below(key.expr, available, extra);
                    let id = self.columns.add_computed("", ty, true);
                    let args = vec![Expr::Column(below)];
                    let call = AggregateCall { function: AggregateFunction::AnyValue, args, distinct: false, ty };
                    extra.any_values.push((id, call));
                    return Ok(id);
                }
            };
        }
        let mut expr = key.expr;
        rename(&mut expr, &names);
        let ty = self.type_of(&expr);
        let id = self.new_column("", &expr, ty);
        extra.above.push((id, expr));
        Ok(id)
    }

    pub fn columns_origin(&mut self, id: ColId, source: ColId) {
        let origin = self.columns.get(source).origin.clone();
        self.columns.set_origin(id, origin);
        self.columns.set_declared(id, self.columns.declared(source));
        if let Some(shown) = self.columns.shown_origin(source).cloned() {
            self.columns.set_shown_origin(id, shown);
        }
    }
}

/// The item without its text if that, beside the value that rows are sorted by, would compute twice what can be
/// computed once only.
fn shown_beside<'q>(mut selected: Selected<'q>, keys: &[Key]) -> Selected<'q> {
    if keys.iter().any(|key| key.expr == selected.item.expr) && !selected.item.expr.is_movable() {
        selected.item.shown = None;
    }
    selected
}

/// The projection, unless it changes nothing.
fn project(input: Rel, exprs: Vec<(ColId, Expr)>) -> Rel {
    let same =
        exprs.iter().all(|(id, e)| *e == Expr::Column(*id)) && input.output().iter().eq(exprs.iter().map(|(id, _)| id));
    if same { input } else { Rel::Project { input: Box::new(input), exprs } }
}

fn column_not_in_select(number: usize, column: &str) -> SqlError {
    SqlError::new(
        ErrorCode::FieldInOrderNotSelect,
        format!(
            "Expression #{number} of ORDER BY clause is not in SELECT list, references column '{column}' which is not in \
             SELECT list; this is incompatible with DISTINCT"
        ),
    )
}

fn aggregate_not_in_select(number: usize) -> SqlError {
    SqlError::new(
        ErrorCode::AggregateInOrderNotSelect,
        format!(
            "Expression #{number} of ORDER BY clause is not in SELECT list, contains aggregate function; this is \
             incompatible with DISTINCT"
        ),
    )
}
