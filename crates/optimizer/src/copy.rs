//! A copy of a relation whose columns have numbers of their own.

use crate::substitution::{Substitution, substitute};
use muster_algebra::{ColId, Columns, Expr, Rel};
use std::collections::BTreeMap;

pub struct Copy {
    pub rel: Rel,
    /// The new number of each column that the original produces.
    pub columns: BTreeMap<ColId, ColId>,
}

/// Copies a relation without subqueries in its expressions.
pub fn copy(rel: &Rel, columns: &mut Columns) -> Copy {
    let mut renamed = BTreeMap::new();
    let mut rel = rel.clone();
    renumber(&mut rel, columns, &mut renamed);
    Copy { rel, columns: renamed }
}

fn renumber(rel: &mut Rel, columns: &mut Columns, renamed: &mut BTreeMap<ColId, ColId>) {
    for input in rel.inputs_mut() {
        renumber(input, columns, renamed);
    }
    let map: Substitution = renamed.iter().map(|(old, new)| (*old, Expr::Column(*new))).collect();
    for expr in rel.exprs_mut() {
        crate::substitution::replace_with(expr, |e| substitute(e, &map));
    }
    let mut fresh = |id: &mut ColId| {
        let meta = columns.get(*id).clone();
        let new = columns.add(meta);
        renamed.insert(*id, new);
        *id = new;
    };
    match rel {
        Rel::Get { columns, .. } => columns.iter_mut().for_each(|(id, _)| fresh(id)),
        Rel::Values { columns, .. } => columns.iter_mut().for_each(fresh),
        Rel::Project { exprs, .. } => exprs.iter_mut().for_each(|(id, _)| fresh(id)),
        Rel::Union { inputs, columns } => {
            for (_, ids) in inputs {
                for id in ids {
                    if let Some(Expr::Column(new)) = map.get(id) {
                        *id = *new;
                    }
                }
            }
            columns.iter_mut().for_each(fresh);
        }
        Rel::Aggregate { group, aggregates, .. } => {
            for id in group {
                if let Some(Expr::Column(new)) = map.get(id) {
                    *id = *new;
                }
            }
            aggregates.iter_mut().for_each(|(id, _)| fresh(id));
        }
        Rel::Filter { .. } | Rel::Join { .. } | Rel::Sort { .. } | Rel::Limit { .. } => {}
    }
}
