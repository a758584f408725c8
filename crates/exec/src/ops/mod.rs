//! Operators of ours.

pub mod apply;
mod column_ranges;
pub mod compact;
pub mod concatenate;
pub mod early_stop;
pub mod exchange;
pub mod group;
pub mod hash_join;
pub mod json_table;
pub mod lateral;
pub mod long_text;
pub mod lookup_join;
pub mod measure;
pub mod merge_join;
pub mod order_check;
pub mod paced;
mod plan_methods;
pub mod project;
pub mod recursive;
mod reschedule;
pub mod rollup;
pub mod scan;
pub mod scan_filter;
mod scan_range;
pub mod shared;
pub mod single_rows;
pub mod sort;
pub mod spill;
pub mod values;
pub mod window;

use arrow_schema::SchemaRef;
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_physical_expr::EquivalenceProperties;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    execution_plan::{Boundedness, EmissionType, SchedulingType},
};
use std::{fmt, sync::Arc};

/// `Debug`, which every operator has to have, as EXPLAIN shows them.
macro_rules! debug_as_displayed {
    ($($operator:path),* $(,)?) => {$(
        impl fmt::Debug for $operator {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.fmt_as(DisplayFormatType::Default, f)
            }
        }
    )*};
}

debug_as_displayed!(
    apply::ApplyExec,
    concatenate::ConcatenateExec,
    early_stop::EarlyStopExec,
    exchange::ExchangeExec,
    group::GroupExec,
    hash_join::GraceJoinExec,
    hash_join::InputExec,
    json_table::JsonTableExec,
    lateral::LateralExec,
    lookup_join::LookupJoinExec,
    measure::MeasureExec,
    merge_join::MergeJoinExec,
    order_check::OrderCheckExec,
    paced::PacedExec,
    project::ProjectExec,
    recursive::RecursiveExec,
    recursive::WorkingExec,
    rollup::RollupExec,
    scan::ScanExec,
    shared::SharedExec,
    single_rows::SingleRowsExec,
    sort::SortExec,
    values::ValuesExec,
    window::WindowExec,
);

/// The properties of an operator that delivers rows in the partitions of its input, with other columns.
fn unordered_like(input: &dyn ExecutionPlan, schema: SchemaRef) -> Arc<PlanProperties> {
    let mut properties = PlanProperties::clone(input.properties());
    properties.partitioning = Partitioning::UnknownPartitioning(input.output_partitioning().partition_count());
    properties.eq_properties = EquivalenceProperties::new(schema);
    Arc::new(properties)
}

/// The properties of an operator whose rows have no known order and come as they are made.
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
