//! What can be proved of a relation: keys, columns that are never NULL, columns determined by others.

use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Columns, CompareOp, Expr, JoinKind, LogicOp, Rel, SqlType, WindowFunction};

/// Sets of output columns no two rows have the same values of (NULLs aside: a row with a NULL in a nullable unique
/// index may occur more than once, so such indexes do not count).
pub fn unique_keys(rel: &Rel) -> Vec<ColSet> {
    match rel {
        Rel::Get { table, columns, .. } => {
            let mut keys = Vec::new();
            for index in table.indexes.iter().filter(|i| i.unique && !i.parts.is_empty()) {
                let ids: Option<ColSet> = index
                    .parts
                    .iter()
                    .map(|part| {
                        let is_primary = index.id == table.indexes[0].id;
                        if part.prefix.is_some() || (table.columns[part.column].nullable && !is_primary) {
                            return None;
                        }
                        columns.iter().find(|(_, c)| *c == part.column).map(|(id, _)| *id)
                    })
                    .collect();
                keys.extend(ids);
            }
            keys
        }
        Rel::Aggregate { group, .. } => vec![group.iter().copied().collect()],
        Rel::Filter { input, .. } | Rel::Window { input, .. } | Rel::Sort { input, .. } | Rel::Limit { input, .. } => {
            unique_keys(input)
        }
        Rel::Project { input, exprs } => unique_keys(input)
            .into_iter()
            .filter_map(|key| {
                key.into_iter()
                    .map(|id| exprs.iter().find(|(_, e)| *e == Expr::Column(id)).map(|(new, _)| *new))
                    .collect::<Option<ColSet>>()
            })
            .collect(),
        Rel::Join { kind: JoinKind::Semi | JoinKind::Anti | JoinKind::NullAwareAnti, left, .. } => unique_keys(left),
        Rel::Join { left, right, on, .. } => {
            let (left_keys, right_keys) = (unique_keys(left), unique_keys(right));
            let mut keys = Vec::new();
            // A side whose partner is at most one row keeps its own keys.
            if right_keys.iter().any(|k| is_bound(k, on, right)) {
                keys.extend(left_keys.iter().cloned());
            }
            let inner = matches!(rel, Rel::Join { kind: JoinKind::Inner, .. });
            if inner && left_keys.iter().any(|k| is_bound(k, on, left)) {
                keys.extend(right_keys.iter().cloned());
            }
            if keys.is_empty() {
                for a in left_keys.iter().take(4) {
                    keys.extend(right_keys.iter().take(4).map(|b| a.union(b).copied().collect()));
                }
            }
            keys
        }
        Rel::Values { rows, .. } if rows.len() <= 1 => vec![ColSet::new()],
        Rel::Values { .. } | Rel::Union { .. } | Rel::Lateral { .. } | Rel::JsonTable { .. } => Vec::new(),
        Rel::Recursive { .. } | Rel::Working { .. } | Rel::Rollup { .. } => Vec::new(),
    }
}

/// Returns true if every column of a key of `side` is equated with something of the other side.
pub fn is_bound(key: &ColSet, on: &[Expr], side: &Rel) -> bool {
    let own = scope::output_set(side);
    key.iter()
        .all(|id| on.iter().any(|e| equated(e, *id).is_some_and(|other| scope::expr_columns(other).is_disjoint(&own))))
}

/// The other side of `column = other`.
pub fn equated(expr: &Expr, id: ColId) -> Option<&Expr> {
    match expr {
        Expr::Compare { op: CompareOp::Eq, left, right } => match (&**left, &**right) {
            (Expr::Column(c), other) if *c == id => Some(other),
            (other, Expr::Column(c)) if *c == id => Some(other),
            _ => None,
        },
        _ => None,
    }
}

/// Output columns of a relation that are never NULL.
pub fn not_null_columns(rel: &Rel) -> ColSet {
    match rel {
        Rel::Get { table, columns, .. } => {
            let primary: Vec<usize> = table.indexes[0].parts.iter().map(|p| p.column).collect();
            // The hidden row number is no column of the table.
            let is_set = |c: usize| table.columns.get(c).is_none_or(|column| !column.nullable) || primary.contains(&c);
            columns.iter().filter(|(_, c)| is_set(*c)).map(|(id, _)| *id).collect()
        }
        Rel::Values { columns, rows } => columns
            .iter()
            .enumerate()
            .filter(|(i, _)| rows.iter().all(|r| matches!(&r[*i], Expr::Literal { value, .. } if !value.is_null())))
            .map(|(_, id)| *id)
            .collect(),
        Rel::Filter { input, predicates } => {
            let mut known = not_null_columns(input);
            for id in scope::output_set(input) {
                if predicates.iter().any(|p| rejects_null(p, &ColSet::from([id]))) {
                    known.insert(id);
                }
            }
            known
        }
        Rel::Project { input, exprs } => {
            let known = not_null_columns(input);
            exprs.iter().filter(|(_, e)| is_not_null(e, &known)).map(|(id, _)| *id).collect()
        }
        Rel::Join { kind, left, right, on, .. } => {
            let mut known = not_null_columns(left);
            if *kind == JoinKind::Inner {
                known.extend(not_null_columns(right));
            }
            if matches!(kind, JoinKind::Inner | JoinKind::Semi) {
                for id in scope::output_set(rel) {
                    if on.iter().any(|p| rejects_null(p, &ColSet::from([id]))) {
                        known.insert(id);
                    }
                }
            }
            known
        }
        Rel::Aggregate { input, group, aggregates } => {
            let mut known: ColSet = not_null_columns(input).into_iter().filter(|id| group.contains(id)).collect();
            let counts = aggregates.iter().filter(|(_, a)| a.function == muster_algebra::AggregateFunction::Count);
            known.extend(counts.map(|(id, _)| *id));
            known
        }
        Rel::Recursive { .. } | Rel::Working { .. } => ColSet::new(),
        Rel::Rollup { input, rollup } => {
            let mut known = not_null_columns(input);
            known.insert(rollup.level);
            known
        }
        Rel::Window { input, window } => {
            let mut known = not_null_columns(input);
            known.extend(window.calls.iter().filter(|(_, call)| is_never_null(&call.function)).map(|(id, _)| *id));
            known
        }
        Rel::Sort { input, .. }
        | Rel::Limit { input, .. }
        | Rel::Lateral { input, .. }
        | Rel::JsonTable { input, .. } => not_null_columns(input),
        Rel::Union { inputs, columns } => {
            let known: Vec<ColSet> = inputs.iter().map(|(r, _)| not_null_columns(r)).collect();
            let all = |i: usize| inputs.iter().zip(&known).all(|((_, ids), k)| k.contains(&ids[i]));
            columns.iter().enumerate().filter(|(i, _)| all(*i)).map(|(_, id)| *id).collect()
        }
    }
}

/// Returns true if a window function is never NULL.
fn is_never_null(function: &WindowFunction) -> bool {
    use WindowFunction::*;
    match function {
        RowNumber | Rank | DenseRank | PercentRank | CumeDist | Ntile { .. } => true,
        Aggregate(call) => call.function == muster_algebra::AggregateFunction::Count,
        _ => false,
    }
}

/// Returns true if an expression is never NULL when these columns are not.
pub fn is_not_null(expr: &Expr, known: &ColSet) -> bool {
    match expr {
        Expr::Column(id) => known.contains(id),
        Expr::Literal { value, .. } => !value.is_null(),
        Expr::IsNull { .. } | Expr::IsTruth { .. } => true,
        Expr::Compare { op: CompareOp::NullSafeEq, .. } => true,
        Expr::Compare { left, right, .. } => is_not_null(left, known) && is_not_null(right, known),
        Expr::Logic { args, .. } => args.iter().all(|a| is_not_null(a, known)),
        Expr::Not(arg) => is_not_null(arg, known),
        Expr::Negate { arg, .. } => is_not_null(arg, known),
        Expr::Arithmetic { op, left, right, .. } => {
            use muster_algebra::ArithmeticOp::{Add, Mul, Sub};
            matches!(op, Add | Sub | Mul) && is_not_null(left, known) && is_not_null(right, known)
        }
        _ => false,
    }
}

/// Returns true if a condition is FALSE or NULL whenever all these columns are NULL.
pub fn rejects_null(predicate: &Expr, columns: &ColSet) -> bool {
    match predicate {
        Expr::Logic { op: LogicOp::And, args } => args.iter().any(|a| rejects_null(a, columns)),
        Expr::Logic { op: LogicOp::Or, args } => args.iter().all(|a| rejects_null(a, columns)),
        Expr::IsNull { arg, negated: true } => is_null_with(arg, columns),
        Expr::IsTruth { arg, truth: true, negated: false } => rejects_null(arg, columns),
        Expr::IsTruth { arg, truth: false, negated: false } => is_null_with(arg, columns),
        Expr::Literal { .. } => crate::literal::never_true(predicate),
        other => is_null_with(other, columns),
    }
}

/// Returns true if an expression is NULL whenever all these columns are.
pub fn is_null_with(expr: &Expr, columns: &ColSet) -> bool {
    let any = |list: &[&Expr]| list.iter().any(|e| is_null_with(e, columns));
    match expr {
        Expr::Column(id) => columns.contains(id),
        Expr::Literal { value, .. } => value.is_null(),
        Expr::Compare { op: CompareOp::NullSafeEq, .. } => false,
        Expr::Compare { left, right, .. } | Expr::Arithmetic { left, right, .. } => any(&[left, right]),
        Expr::Cast { arg, .. } | Expr::Negate { arg, .. } | Expr::Not(arg) => any(&[arg]),
        Expr::InList { arg, .. } => any(&[arg]),
        Expr::Like { arg, pattern, .. } => any(&[arg, pattern]),
        Expr::Logic { op: LogicOp::Xor, args } => args.iter().any(|a| is_null_with(a, columns)),
        Expr::Logic { args, .. } => args.iter().all(|a| is_null_with(a, columns)),
        Expr::Call { function, args, .. } => {
            use muster_algebra::ScalarFunction as F;
            let strict = matches!(
                function,
                F::DateAdd(_)
                    | F::DateSub(_)
                    | F::Extract(_)
                    | F::Substring
                    | F::Upper
                    | F::Lower
                    | F::Abs
                    | F::Round
                    | F::Floor
                    | F::Ceil
                    | F::Left
                    | F::Right
                    | F::CharLength
                    | F::Length
                    | F::DateDiff
                    | F::ConvertTz
                    | F::Concat
            );
            strict && args.iter().any(|a| is_null_with(a, columns))
        }
        _ => false,
    }
}

/// Columns of a relation that have one value only wherever the columns of `known` have: through keys, equalities, and
/// constants.
pub fn determined(rel: &Rel, known: &ColSet, columns: &Columns) -> ColSet {
    let mut closure = known.clone();
    loop {
        let before = closure.len();
        grow(rel, &mut closure, columns);
        if closure.len() == before {
            return closure;
        }
    }
}

fn grow(rel: &Rel, known: &mut ColSet, columns: &Columns) {
    rel.inputs().into_iter().for_each(|input| match rel {
        // Rows of a NULL-extended side: equalities inside it do not hold, keys of it do.
        Rel::Join { kind: JoinKind::Inner, .. } | Rel::Filter { .. } | Rel::Project { .. } => {
            grow(input, known, columns)
        }
        Rel::Join { left, .. } if std::ptr::eq(&**left, input) => grow(input, known, columns),
        _ => {}
    });
    let mut equate = |predicates: &[Expr]| {
        for p in predicates {
            if let Expr::Compare { op: CompareOp::Eq, left, right } = p {
                for (a, b) in [(left, right), (right, left)] {
                    if let Expr::Column(id) = &**a
                        && !b.has_subquery()
                        && respects_equality(b, columns)
                        && scope::expr_columns(b).is_subset(known)
                    {
                        known.insert(*id);
                    }
                }
            }
        }
    };
    match rel {
        Rel::Get { .. } | Rel::Aggregate { .. } => {
            let output = scope::output_set(rel);
            if unique_keys(rel).iter().any(|k| k.is_subset(known)) {
                known.extend(output);
            }
        }
        Rel::Filter { predicates, .. } => equate(predicates),
        Rel::Join { kind: JoinKind::Inner, on, .. } => equate(on),
        Rel::Project { exprs, .. } => {
            for (id, e) in exprs {
                let is_function = !e.has_subquery() && e.is_movable() && respects_equality(e, columns);
                if is_function && scope::expr_columns(e).is_subset(known) {
                    known.insert(*id);
                }
            }
        }
        _ => {}
    }
}

/// Returns true if an expression over a relation can be NULL, as far as can be proved. Columns of the queries around it
/// can: an outer join may have made them so.
pub fn may_be_null(expr: &Expr, rel: &Rel) -> bool {
    !is_not_null(expr, &not_null_columns(rel))
}

/// Returns true if equal columns give equal values of an expression. Texts that are equal under their collation may
/// differ in their bytes, so only comparing them is safe, not computing with them.
pub fn respects_equality(expr: &Expr, columns: &Columns) -> bool {
    let computes = matches!(expr, Expr::Call { .. } | Expr::Cast { .. } | Expr::Arithmetic { .. } | Expr::Case { .. });
    if computes && scope::expr_columns(expr).into_iter().any(|id| !has_one_form(columns.ty(id))) {
        return false;
    }
    expr.children().into_iter().all(|c| respects_equality(c, columns))
}

/// Returns true if equal values of a type are the same value.
pub fn has_one_form(ty: SqlType) -> bool {
    !matches!(ty, SqlType::Text { .. } | SqlType::Float | SqlType::Double)
}
