//! GROUP BY columns that other group columns determine need no comparing: they become `ANY_VALUE` aggregates. Grouping
//! by a primary key and ten columns of its row is grouping by the primary key.

use super::{RewriteContext, bottom_up};
use crate::properties::determined;
use crate::scope::ColSet;
use muster_algebra::{AggregateCall, AggregateFunction, ColId, Columns, Expr, Rel};
use muster_types::Result;

pub fn run(rel: Rel, context: &mut RewriteContext<'_>) -> Result<Rel> {
    bottom_up(rel, &mut |node| {
        Ok(match node {
            Rel::Aggregate { input, group, aggregates } if group.len() > 1 => {
                shrink(input, group, aggregates, context.columns)
            }
            other => other,
        })
    })
}

/// An aggregate that groups by fewer columns, with the others again above it.
pub fn shrink(
    input: Box<Rel>,
    group: Vec<ColId>,
    mut aggregates: Vec<(ColId, AggregateCall)>,
    columns: &mut Columns,
) -> Rel {
    let mut kept: ColSet = group.iter().copied().collect();
    // Text is dearest to compare, so it goes first; of the rest, later columns before earlier ones.
    let mut order: Vec<ColId> = group.iter().rev().copied().collect();
    order.sort_by_key(|id| !columns.ty(*id).is_text());
    for id in order {
        let mut rest = kept.clone();
        rest.remove(&id);
        if !rest.is_empty() && determined(&input, &rest, columns).contains(&id) {
            kept = rest;
        }
    }
    if kept.len() == group.len() {
        return Rel::Aggregate { input, group, aggregates };
    }
    let mut exprs: Vec<(ColId, Expr)> = Vec::new();
    let own: Vec<ColId> = aggregates.iter().map(|(id, _)| *id).collect();
    for id in &group {
        if kept.contains(id) {
            exprs.push((*id, Expr::Column(*id)));
            continue;
        }
        let (ty, fresh) = (columns.ty(*id), columns.add_copy(*id));
        let call =
            AggregateCall { function: AggregateFunction::AnyValue, args: vec![Expr::Column(*id)], distinct: false, ty };
        aggregates.push((fresh, call));
        exprs.push((*id, Expr::Column(fresh)));
    }
    exprs.extend(own.into_iter().map(|id| (id, Expr::Column(id))));
    let group = group.into_iter().filter(|id| kept.contains(id)).collect();
    Rel::Project { input: Box::new(Rel::Aggregate { input, group, aggregates }), exprs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::builder::*;

    #[test]
    fn a_key_determines_its_row_and_what_is_joined_by_keys() {
        let mut t = Tables::new();
        let (l, lkey, fk) = t.table("l", &["id", "fk"]).pair();
        let (r, rkey, name) = t.table("r", &["id", "name"]).pair();
        let rel = join(l, r, vec![eq(fk, rkey)]);
        let (aggregate, _) = t.aggregate(rel, &[name, lkey, fk], AggregateFunction::Count, None);
        let before = aggregate.output();
        let after = t.run(run, aggregate);
        assert_eq!(after.output(), before);
        let Rel::Project { input, .. } = after else { panic!("a projection") };
        let Rel::Aggregate { group, aggregates, .. } = *input else { panic!("an aggregate") };
        assert_eq!(group, vec![lkey]);
        assert_eq!(aggregates.len(), 3);
    }

    #[test]
    fn other_columns_stay() {
        let mut t = Tables::new();
        let table = t.table("l", &["id", "x", "y"]);
        let (x, y) = (table.ids[1], table.ids[2]);
        let (aggregate, _) = t.aggregate(table.rel, &[x, y], AggregateFunction::Count, None);
        assert_eq!(t.run(run, aggregate.clone()), aggregate);
    }

    #[test]
    fn equal_texts_need_not_have_equal_bytes() {
        let mut t = Tables::new();
        let ty = muster_types::SqlType::varchar(5, muster_types::Collation::DEFAULT);
        let table = t.table_with("l", &["id", "x"], |def| def.columns[1].ty = ty);
        let (x, reversed) = (table.ids[1], t.columns.add_computed("reversed", ty, true));
        let call = Expr::Call { function: muster_algebra::ScalarFunction::Reverse, args: vec![x.expr()], ty };
        let rel = project(table.rel, vec![(x, x.expr()), (reversed, call)]);
        let (aggregate, _) = t.aggregate(rel, &[x, reversed], AggregateFunction::Count, None);
        assert_eq!(t.run(run, aggregate.clone()), aggregate);
    }
}
