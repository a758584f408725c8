//! Tells DataFusion of an order that the plan promises, so that it can aggregate groups as they end.

use super::only;
use datafusion_common::{Result, tree_node::TreeNodeRecursion};
use datafusion_execution::TaskContext;
use datafusion_physical_expr::{EquivalenceProperties, LexOrdering};
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use std::{fmt, sync::Arc};

/// Its input, with a declared order.
#[derive(Debug)]
pub struct AssumeOrderExec {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    properties: Arc<PlanProperties>,
}

impl AssumeOrderExec {
    /// The rows of each partition of `input` come in `order` already.
    pub fn new(input: Arc<dyn ExecutionPlan>, order: LexOrdering) -> AssumeOrderExec {
        let below = input.properties();
        let equivalence = EquivalenceProperties::new_with_orderings(input.schema(), [order.clone()]);
        let mut properties = PlanProperties::clone(below);
        properties.eq_properties = equivalence;
        AssumeOrderExec { input, order, properties: Arc::new(properties) }
    }
}

impl DisplayAs for AssumeOrderExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "AssumeOrderExec: [{}]", self.order)
    }
}

impl ExecutionPlan for AssumeOrderExec {
    fn name(&self) -> &str {
        "AssumeOrderExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(AssumeOrderExec::new(only(children)?, self.order.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
