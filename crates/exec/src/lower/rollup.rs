//! GROUP BY .. WITH ROLLUP: copies of rows for each level.

use super::{Lowerer, Node, field_name};
use crate::ops::rollup::RollupExec;
use arrow_schema::{DataType, Field, Schema};
use muster_algebra::{Plan, Rollup};
use muster_types::Result;
use std::sync::Arc;

impl Lowerer<'_> {
    pub(super) fn rollup(&mut self, input: &Plan, rollup: &Rollup) -> Result<Node> {
        let node = self.node(input)?;
        let mut fields: Vec<_> = node.scope.schema.fields().iter().cloned().collect();
        let mut traits = node.scope.traits.clone();
        let mut keys = Vec::with_capacity(rollup.keys.len());
        for key in &rollup.keys {
            let position = node.index(key.source)?;
            let ty = node.scope.schema.field(position).data_type().clone();
            fields.push(Arc::new(Field::new(field_name(key.id), ty, true)));
            if let Some(known) = traits.get(&key.source).cloned() {
                traits.insert(key.id, known);
            }
            keys.push(position);
        }
        fields.push(Arc::new(Field::new(field_name(rollup.level), DataType::Int64, false)));
        let columns = node.scope.columns.iter().copied().chain(rollup.columns()).collect();
        let exec = RollupExec::new(node.exec, keys, Arc::new(Schema::new(fields)));
        Ok(Node::new(Arc::new(exec), columns, traits))
    }
}
