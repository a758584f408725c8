//! Where parameters may stand in a statement that is planned for all values of their types.

use super::values::FIRST_MOMENT;
use muster_algebra::{ColId, Columns, CompareOp, Expr, Rel};
use muster_types::{SqlType, Value};

/// Parameters may stand for values only where all values of their type mean the same: on one side of a comparison whose
/// other side is a column of the same kind, in the list of an IN, and as the pattern of a LIKE. `None` if one stands
/// elsewhere.
pub(super) fn parameters_are_compared(expr: &Expr, ty: &dyn Fn(ColId) -> SqlType) -> Option<()> {
    match expr {
        Expr::Compare { left, right, .. } => match (bare(left), bare(right)) {
            (Expr::Column(id), Expr::Parameter { ty: other, .. })
            | (Expr::Parameter { ty: other, .. }, Expr::Column(id)) => is_one_kind(ty(*id), *other).then_some(()),
            _ => (!has_parameter(expr)).then_some(()),
        },
        Expr::InList { arg, list, .. } => match bare(arg) {
            Expr::Column(id) => list.iter().try_for_each(|member| match bare(member) {
                Expr::Parameter { ty: other, .. } => is_one_kind(ty(*id), *other).then_some(()),
                member => (!has_parameter(member)).then_some(()),
            }),
            _ => (!has_parameter(expr)).then_some(()),
        },
        // A pattern means the same for all texts.
        Expr::Like { arg, pattern, .. } => match bare(pattern) {
            Expr::Parameter { ty, .. } => (ty.is_text() && !has_parameter(arg)).then_some(()),
            _ => (!has_parameter(expr)).then_some(()),
        },
        Expr::Logic { args, .. } => args.iter().try_for_each(|arg| parameters_are_compared(arg, ty)),
        Expr::Not(arg) => parameters_are_compared(arg, ty),
        other => (!has_parameter(other)).then_some(()),
    }
}

/// Returns true if parameters stand in comparisons only, as [`parameters_are_compared`] says, in a relation and in its
/// subqueries.
pub fn has_comparisons_only(rel: &Rel, columns: &Columns) -> bool {
    let ty = |id: ColId| columns.ty(id);
    let mut all = true;
    rel.visit(&mut |rel| all &= rel.exprs().into_iter().all(|expr| parameters_are_compared(expr, &ty).is_some()));
    all
}

/// A relation with values in the places of its parameters.
pub fn with_values(rel: Rel, values: &[Value]) -> Rel {
    with_parameters(rel, &|expr| {
        if let Expr::Parameter { index, ty, .. } = expr {
            *expr = Expr::literal(values.get(*index).cloned().unwrap_or(Value::Null), *ty);
        }
    })
}

/// A relation whose parameters may have any values, and are planned for these.
pub fn planned_for(rel: Rel, values: &[Value]) -> Rel {
    with_parameters(rel, &|expr| {
        if let Expr::Parameter { index, planned_for, .. } = expr {
            *planned_for = values.get(*index).cloned().map(Box::new);
        }
    })
}

/// A relation with something else in the place of each of its parameters, also within subqueries.
fn with_parameters(rel: Rel, replace: &dyn Fn(&mut Expr)) -> Rel {
    fn visit(expr: &mut Expr, replace: &dyn Fn(&mut Expr)) {
        match expr {
            Expr::Parameter { .. } => return replace(expr),
            Expr::Subquery(subquery) => {
                let rel = std::mem::replace(&mut *subquery.rel, Rel::dual());
                *subquery.rel = with_parameters(rel, replace);
            }
            _ => {}
        }
        expr.children_mut().into_iter().for_each(|child| visit(child, replace));
    }
    with_exprs(rel, &|expr| visit(expr, replace))
}

/// A relation in which the parameter that stands for a list is one: an IN with a single member is bound as a
/// comparison.
pub fn with_list(rel: Rel, index: usize) -> Rel {
    fn replace(expr: &mut Expr, list: usize) {
        if let Expr::Compare { op: op @ (CompareOp::Eq | CompareOp::NotEq), left, right } = expr
            && matches!(bare(right), Expr::Parameter { index, .. } if *index == list)
        {
            let [arg, member] = [left, right].map(|side| std::mem::replace(&mut **side, Expr::Column(ColId(0))));
            *expr = Expr::InList { arg: Box::new(arg), list: vec![member], negated: *op == CompareOp::NotEq };
            return;
        }
        expr.children_mut().into_iter().for_each(|child| replace(child, list));
    }
    with_exprs(rel, &|expr| replace(expr, index))
}

/// A relation with something else in the place of each of its expressions.
fn with_exprs(mut rel: Rel, replace: &dyn Fn(&mut Expr)) -> Rel {
    rel.exprs_mut().into_iter().for_each(replace);
    rel.inputs_mut().into_iter().for_each(|input| {
        let taken = std::mem::replace(input, Rel::dual());
        *input = with_exprs(taken, replace);
    });
    rel
}

/// Returns true if there is a parameter in the expression. Those that are values of the moment have the type that the
/// value itself has when it is bound, so they may stand anywhere.
pub(super) fn has_parameter(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |e| found |= matches!(e, Expr::Parameter { index, .. } if *index < FIRST_MOMENT));
    found
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { arg, .. } => arg,
        other => other,
    }
}

fn is_one_kind(column: SqlType, parameter: SqlType) -> bool {
    match (column, parameter) {
        (SqlType::Decimal { .. }, SqlType::Decimal { .. }) => true,
        (SqlType::Date, SqlType::Date) => true,
        (SqlType::DateTime { .. } | SqlType::Timestamp { .. }, SqlType::DateTime { .. }) => true,
        (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => true,
        (SqlType::Decimal { .. }, parameter) => parameter.is_integer(),
        _ => column.is_integer() && parameter.is_integer() || column.is_text() && parameter.is_text(),
    }
}
