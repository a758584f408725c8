//! `COUNT(DISTINCT x) GROUP BY g` counts the rows of `GROUP BY g, x`: two plain aggregates, which run in parallel and
//! spill, instead of one set per group.

use super::{RewriteContext, bottom_up};
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Columns, Expr, Rel};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Aggregate { input, group, aggregates } if is_single_distinct(&aggregates) => {
                two_levels(*input, group, aggregates, context.columns)
            }
            other => other,
        })
    })
}

/// Returns true if all aggregates are over distinct values of the same arguments.
fn is_single_distinct(aggregates: &[(ColId, AggregateCall)]) -> bool {
    let Some((_, first)) = aggregates.first() else { return false };
    aggregates.iter().all(|(_, call)| {
        let known = matches!(call.function, AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg);
        call.distinct && known && call.args == first.args && !call.args.is_empty()
    }) && first.args.iter().all(|a| !a.has_subquery() && a.is_movable())
}

fn two_levels(
    mut input: Rel,
    group: Vec<ColId>,
    mut aggregates: Vec<(ColId, AggregateCall)>,
    columns: &mut Columns,
) -> Rel {
    let (mut inner, mut args, mut computed) = (group.clone(), Vec::new(), Vec::new());
    let own = crate::scope::output_set(&input);
    for arg in &aggregates[0].1.args {
        let id = match arg {
            Expr::Column(id) if own.contains(id) => *id,
            // A column of a query around is computed like any other expression.
            other => {
                let id = columns.add_computed("distinct", other.ty(columns), true);
                computed.push((id, other.clone()));
                id
            }
        };
        args.push(Expr::Column(id));
        if !inner.contains(&id) {
            inner.push(id);
        }
    }
    if !computed.is_empty() {
        let mut exprs: Vec<(ColId, Expr)> = input.output().into_iter().map(|id| (id, Expr::Column(id))).collect();
        exprs.extend(computed);
        input = Rel::Project { input: Box::new(input), exprs };
    }
    for (_, call) in &mut aggregates {
        call.distinct = false;
        call.args = args.clone();
    }
    let distinct = Rel::Aggregate { input: Box::new(input), group: inner, aggregates: Vec::new() };
    Rel::Aggregate { input: Box::new(distinct), group, aggregates }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn counts_the_rows_of_a_finer_group() {
        let mut t = Tables::new();
        let table = t.table("t", &["id", "g", "x"]);
        let (g, x) = (table.ids[1], table.ids[2]);
        let (mut rel, id) = t.aggregate(table.rel.clone(), &[g], AggregateFunction::Count, Some(x));
        let Rel::Aggregate { aggregates, .. } = &mut rel else { panic!("an aggregate") };
        aggregates[0].1.distinct = true;
        let Rel::Aggregate { input, group, aggregates } = t.run(run, rel) else { panic!("an aggregate") };
        assert_eq!((group, aggregates[0].0, aggregates[0].1.distinct), (vec![g], id, false));
        assert_eq!(*input, Rel::Aggregate { input: Box::new(table.rel), group: vec![g, x], aggregates: vec![] });
    }

    #[test]
    fn a_column_of_a_query_around_is_computed() {
        let mut t = Tables::new();
        let (table, outer) = (t.table("t", &["id", "g", "x"]), t.computed("outer"));
        let (mut rel, _) = t.aggregate(table.rel.clone(), &[], AggregateFunction::Count, Some(outer));
        let Rel::Aggregate { aggregates, .. } = &mut rel else { panic!("an aggregate") };
        aggregates[0].1.distinct = true;
        let Rel::Aggregate { input, .. } = t.run(run, rel) else { panic!("an aggregate") };
        let Rel::Aggregate { input, group, .. } = *input else { panic!("an aggregate") };
        assert!(!group.contains(&outer) && group.iter().all(|id| input.output().contains(id)), "{group:?}");
    }
}
