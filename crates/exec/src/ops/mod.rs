//! Operators of ours.

pub mod apply;
pub mod compact;
pub mod exchange;
pub mod group;
pub mod hash_join;
pub mod lookup_join;
pub mod measure;
pub mod merge_join;
pub mod paced;
pub mod scan;
pub mod scan_filter;
pub mod shared;
pub mod sort;
pub mod spill;
pub mod values;

use arrow_schema::SchemaRef;
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_physical_expr::EquivalenceProperties;
use datafusion_physical_plan::{
    ExecutionPlan, Partitioning, PlanProperties,
    execution_plan::{Boundedness, EmissionType, SchedulingType},
};
use std::sync::Arc;

/// Of rows in no known order that come as they are made.
fn unordered(schema: SchemaRef, partitions: usize) -> Arc<PlanProperties> {
    let properties = PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}

/// The new input of an operator that has one.
fn only(mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    inputs.pop().ok_or_else(|| internal_datafusion_err!("an operator without its input"))
}
