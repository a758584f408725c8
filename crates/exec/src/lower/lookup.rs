//! Joins by lookup.

use super::{Lowerer, Node, field_name, scan::table_traits};
use crate::{
    expr::{Scope, scope::TraitMap},
    ops::lookup_join::{EntryCondition, LookupJoinExec, LookupJoinSpec, Origin, links},
    runtime::BATCH_ROWS,
};
use arrow_schema::{Field, Schema};
use muster_algebra::{ColId, Expr, JoinKind, Plan, PlanOp, Scan};
use muster_storage::Table;
use muster_types::{Result, SqlError};
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn lookup_join(&mut self, plan: &Plan) -> Result<Node> {
        let PlanOp::LookupJoin {
            kind,
            left,
            lookup,
            keys,
            residual,
            entry_condition,
            batched,
            key_ordered,
            incremental,
        } = &plan.op
        else {
            return Err(SqlError::internal("not a lookup join"));
        };
        if residual.iter().any(Expr::has_subquery) || *kind == JoinKind::NullAwareAnti {
            return Err(SqlError::internal("a lookup join with a subquery or with NOT IN"));
        }
        let linked = std::mem::replace(&mut self.linked, *incremental);
        let outer = self.node(left)?;
        let outer = Node { scope: Scope { schema: links::followed(&outer.scope.schema), ..outer.scope }, ..outer };
        let table = self.context.tables.storage(lookup.table.id)?;
        let inner = Scope {
            schema: self.table_schema(&table, &lookup.columns)?,
            columns: lookup.columns.iter().map(|(id, _)| *id).collect(),
            traits: table_traits(&table, lookup.columns.iter().chain(&lookup.filter_columns)),
        };
        let compiler = self.compiler(&outer.scope);
        let keys = keys.iter().zip(lookup.table.key_parts(lookup.index));
        let keys = keys.map(|(key, part)| compiler.compile_as(key, lookup.table.columns[part.column].ty));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let residual = self.join_filter(&outer.scope, &inner, residual)?;
        let (mut output, mut fields) = (Vec::new(), Vec::new());
        for id in &plan.output {
            let (origin, field) = match (outer.scope.position(*id), inner.position(*id)) {
                (Some(at), _) => (Origin::Outer(at), outer.scope.schema.field(at).clone()),
                (None, Some(at)) => {
                    let field = inner.schema.field(at).clone();
                    let nullable = field.is_nullable() || *kind == JoinKind::Left;
                    (Origin::Inner(at), field.with_nullable(nullable))
                }
                (None, None) => return Err(SqlError::internal(format!("column {} is not in the join", id.0))),
            };
            let ty = match origin {
                Origin::Outer(_) if linked => links::link_type(field.data_type()),
                _ => field.data_type().clone(),
            };
            output.push(origin);
            fields.push(Field::new(field_name(*id), ty, field.is_nullable()));
        }
        let spec = LookupJoinSpec {
            kind: *kind,
            name: lookup.alias.clone(),
            view: self.context.view.clone(),
            counters: self.counters(plan),
            index: lookup.index,
            keys,
            columns: lookup.columns.iter().map(|(_, c)| *c).collect(),
            entry_condition: self.entry_condition(&outer.scope, &table, lookup, entry_condition)?,
            filter: self.scan_filter(&table, lookup, &lookup.filter)?,
            residual,
            output,
            fetch: self.fetch(lookup.fetch),
            batched: *batched,
            key_ordered: *key_ordered,
            linked,
            join_buffer_bytes: self.context.buffers.join_bytes,
            batch_rows: BATCH_ROWS,
            table,
        };
        let traits: TraitMap = outer.scope.traits.iter().chain(&inner.traits).map(|(id, t)| (*id, *t)).collect();
        let columns: Vec<ColId> = plan.output.clone();
        let exec = LookupJoinExec::new(outer.exec, Arc::new(spec), Arc::new(Schema::new(fields)));
        Ok(Node::new(Arc::new(exec), columns, traits))
    }
    /// The index condition of a lookup: on entries by themselves, and with the outer rows.
    fn entry_condition(&self, outer: &Scope, table: &Table, lookup: &Scan, joined: &[Expr]) -> Result<EntryCondition> {
        let mentioned: Vec<ColId> = joined.iter().flat_map(Expr::columns).collect();
        let columns: Vec<(ColId, usize)> =
            lookup.columns.iter().filter(|(id, _)| mentioned.contains(id)).copied().collect();
        let entry = Scope {
            schema: self.table_schema(table, &columns)?,
            columns: columns.iter().map(|(id, _)| *id).collect(),
            traits: table_traits(table, columns.iter()),
        };
        Ok(EntryCondition {
            own: self.scan_filter(table, lookup, &lookup.index_condition)?,
            joined: self.join_filter(outer, &entry, joined)?,
            columns: columns.into_iter().map(|(_, column)| column).collect(),
        })
    }
}
