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
    renumbered(rel, &mut |id| columns.add_copy(id))
}

/// The relation with its columns numbered as they come: the same for relations that differ in nothing else. It must
/// not have subqueries in its expressions.
pub fn normal_form(rel: &Rel) -> Copy {
    let mut next = 0;
    renumbered(rel, &mut |_| {
        next += 1;
        ColId(next - 1)
    })
}

fn renumbered(rel: &Rel, number: &mut dyn FnMut(ColId) -> ColId) -> Copy {
    let mut columns = BTreeMap::new();
    let mut rel = rel.clone();
    renumber(&mut rel, number, &mut columns);
    Copy { rel, columns }
}

fn renumber(rel: &mut Rel, number: &mut dyn FnMut(ColId) -> ColId, renamed: &mut BTreeMap<ColId, ColId>) {
    for input in rel.inputs_mut() {
        renumber(input, number, renamed);
    }
    let map: Substitution = renamed.iter().map(|(old, new)| (*old, Expr::Column(*new))).collect();
    for expr in rel.exprs_mut() {
        crate::substitution::replace_with(expr, |e| substitute(e, &map));
    }
    let mut fresh = |id: &mut ColId| {
        let new = number(*id);
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
        Rel::Working { columns, .. } => columns.iter_mut().for_each(fresh),
        Rel::Recursive { recursion, .. } => {
            for id in &mut recursion.seed {
                if let Some(Expr::Column(new)) = map.get(id) {
                    *id = *new;
                }
            }
            recursion.columns.iter_mut().for_each(fresh);
        }
        Rel::Rollup { rollup, .. } => {
            for key in &mut rollup.keys {
                if let Some(Expr::Column(new)) = map.get(&key.source) {
                    key.source = *new;
                }
                fresh(&mut key.id);
            }
            fresh(&mut rollup.level);
        }
        Rel::JsonTable { table, .. } => table.outputs.iter_mut().for_each(fresh),
        Rel::Window { window, .. } => window.calls.iter_mut().for_each(|(id, _)| fresh(id)),
        Rel::Filter { .. } | Rel::Join { .. } | Rel::Sort { .. } | Rel::Limit { .. } | Rel::Lateral { .. } => {}
    }
}
