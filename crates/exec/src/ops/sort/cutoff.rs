//! When only the first rows are wanted: the key behind which none of them can be, known to all partitions, and
//! published as a filter to whoever reads the rows.

use arrow_array::{BooleanArray, RecordBatch};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator;
use datafusion_physical_expr::{
    PhysicalSortExpr,
    expressions::{BinaryExpr, DynamicFilterPhysicalExpr, Literal, is_not_null, is_null, lit},
};
use datafusion_physical_expr_common::physical_expr::{PhysicalExpr, is_volatile};
use parking_lot::RwLock;
use std::sync::Arc;

/// See the module.
pub struct Cutoff {
    keys: Vec<PhysicalSortExpr>,
    /// Some partition has as many rows as are wanted whose keys are not greater.
    bound: RwLock<Option<Arc<[u8]>>>,
    filter: Option<Arc<DynamicFilterPhysicalExpr>>,
}

impl Cutoff {
    pub fn new(keys: &[PhysicalSortExpr]) -> Cutoff {
        // Evaluated again, a volatile key would be another one.
        let publish = !keys.iter().any(|k| is_volatile(&k.expr));
        let columns = keys.iter().map(|k| k.expr.clone()).collect();
        let filter = publish.then(|| Arc::new(DynamicFilterPhysicalExpr::new(columns, lit(true))));
        Cutoff { keys: keys.to_vec(), bound: RwLock::default(), filter }
    }

    /// TRUE for rows that may be among the first; changes while rows are read.
    pub fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.filter.clone().map(|f| f as _)
    }

    /// Rows with this key or a greater one are not wanted.
    pub fn bound(&self) -> Option<Arc<[u8]>> {
        self.bound.read().clone()
    }

    /// The rows for which the published filter is TRUE; `None`: all.
    pub fn passing(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        let (Some(filter), Some(_)) = (&self.filter, self.bound()) else { return Ok(None) };
        crate::expr::kernel::evaluate_predicate(filter.current()?.as_ref(), batch).map(Some)
    }

    /// Lowers the cutoff to a key: as many rows as are wanted have keys that are not greater. `row`: a batch of the
    /// key's row alone.
    pub fn lower(&self, key: &[u8], row: &RecordBatch) -> Result<()> {
        let mut bound = self.bound.write();
        if bound.as_ref().is_some_and(|b| **b <= *key) {
            return Ok(());
        }
        *bound = Some(key.into());
        let Some(filter) = &self.filter else { return Ok(()) };
        let values = self.keys.iter().map(|k| {
            let value = k.expr.evaluate(row)?.into_array(1)?;
            ScalarValue::try_from_array(&value, 0)
        });
        filter.update(before(&self.keys, &values.collect::<Result<Vec<_>>>()?)?)
    }
}

/// The condition that a row comes before these values: in the first key, or in the second where the first is the same,
/// ...
fn before(keys: &[PhysicalSortExpr], values: &[ScalarValue]) -> Result<Arc<dyn PhysicalExpr>> {
    let binary = |l: Arc<dyn PhysicalExpr>, op, r| -> Arc<dyn PhysicalExpr> { Arc::new(BinaryExpr::new(l, op, r)) };
    let mut result = lit(false);
    for (key, value) in keys.iter().zip(values).rev() {
        let literal: Arc<dyn PhysicalExpr> = Arc::new(Literal::new(value.clone()));
        let (less, same) = if value.is_null() {
            let less = if key.options.nulls_first { lit(false) } else { is_not_null(key.expr.clone())? };
            (less, is_null(key.expr.clone())?)
        } else {
            let op = if key.options.descending { Operator::Gt } else { Operator::Lt };
            let less = binary(key.expr.clone(), op, literal.clone());
            let less = match key.options.nulls_first {
                true => binary(is_null(key.expr.clone())?, Operator::Or, less),
                false => less,
            };
            (less, binary(key.expr.clone(), Operator::Eq, literal))
        };
        result = binary(less, Operator::Or, binary(same, Operator::And, result));
    }
    Ok(result)
}
