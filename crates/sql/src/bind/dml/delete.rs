//! DELETE.

use super::{BoundDelete, ChangeTarget, RelationSource, target::not_updatable};
use crate::{
    Delete,
    bind::{BindEnv, binder::Binder, from::Joined, query::add_ctes, scope::Names},
};
use muster_types::{ErrorCode, Result, SqlError};

/// Looks up all names of a DELETE. Errors: 1054, 1066 for a table given twice, 1093, 1109 for one that is not there,
/// 1288 and 1395 for what rows cannot be deleted from.
pub fn bind_delete(delete: &Delete, env: &BindEnv) -> Result<BoundDelete> {
    let mut binder = Binder::new(env);
    binder.changes_strictly = !delete.ignore && env.session.sql_modes().is_strict();
    let database = env.session.database();
    let mut names = Names::of_statement(database.as_deref(), &delete.written.items).assigning(delete.written.assigns);
    if let Some(with) = &delete.with {
        add_ctes(with, &mut names)?;
    }
    binder.begin_statement_block(delete.written.hints.as_deref());
    let joined = binder.tables_of(&delete.tables, &names, false)?;
    let own_reads = binder.reads.len();
    let mut targets = Vec::new();
    for relation in target_relations(delete, &joined)? {
        binder.delete_target(&joined, relation, &mut targets)?;
    }
    let (condition, limit) = (delete.condition.as_ref(), delete.limit.as_ref());
    let clauses = binder.clauses(&joined, condition, &delete.order_by, limit, &names)?;
    binder.refuse_reading_targets(own_reads, &targets)?;
    let mut search = binder.search(joined, clauses, &targets, Vec::new(), false);
    let surroundings = binder.surroundings(&mut search);
    let of_several = delete.targets.is_some();
    Ok(BoundDelete { ignore: delete.ignore, of_several, targets, search, surroundings })
}

/// The positions of the targets among the relations of FROM.
fn target_relations(delete: &Delete, joined: &Joined) -> Result<Vec<usize>> {
    let Some(names) = &delete.targets else { return Ok(vec![0]) };
    let mut found: Vec<usize> = Vec::with_capacity(names.len());
    for name in names {
        let is_named = |r: &&crate::bind::scope::Relation| {
            r.alias == name.name && (name.database.is_none() || r.database == name.database)
        };
        let mut matching = joined.from.relations.iter().enumerate().filter(|(_, r)| is_named(r));
        let Some((at, _)) = matching.next() else {
            let message = format!("Unknown table '{}' in MULTI DELETE", name.name);
            return Err(SqlError::new(ErrorCode::UnknownTable, message));
        };
        if found.contains(&at) {
            return Err(SqlError::table_not_unique(&name.name));
        }
        found.push(at);
    }
    Ok(found)
}

impl Binder<'_> {
    fn delete_target(&mut self, joined: &Joined, at: usize, targets: &mut Vec<ChangeTarget>) -> Result<()> {
        let relation = &joined.from.relations[at];
        let column = match &relation.source {
            RelationSource::Table => joined.from.columns.iter().find(|c| c.relation == at).map(|c| c.id),
            RelationSource::View(view) if view.table_count() == 1 => Some(view.column_of(0)),
            RelationSource::View(view) if view.table_count() > 1 => {
                let message = format!("Can not delete from join view '{}.{}'", view.database, view.name);
                return Err(SqlError::new(ErrorCode::ViewDeleteMergeView, message));
            }
            _ => None,
        };
        let Some(column) = column else { return Err(not_updatable(&relation.alias, "DELETE")) };
        self.base_target(joined, relation, column, targets, "DELETE")?;
        Ok(())
    }
}
