//! The groups of a hash aggregation in memory, and what has been accumulated for each.

use super::keys::{Keys, decoded};
use crate::{
    agg::{
        GroupAccumulator,
        lanes::{self, FEW},
    },
    expr::{Physical, subexpressions::SharedSubexpressions},
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_common::{Result, internal_datafusion_err};
use datafusion_expr::EmitTo;
use datafusion_physical_expr::{aggregate::AggregateFunctionExpr, expressions::Column};
use datafusion_physical_plan::{
    ExecutionPlan,
    aggregates::{AggregateExec, AggregateInputMode, AggregateMode, AggregateOutputMode, aggregate_expressions},
};
use std::sync::Arc;

/// The contents of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Values to be accumulated.
    Values,
    /// Groups with what was accumulated for them elsewhere.
    States,
}

/// Keys and arguments of an aggregation, over its input.
pub struct Layout {
    functions: Vec<Arc<AggregateFunctionExpr>>,
    /// The contents of the input's rows.
    pub input: Contents,
    /// The subexpressions that keys and arguments share: both are over the rows with these columns appended.
    shared: SharedSubexpressions,
    keys: Vec<Physical>,
    arguments: Vec<Vec<Physical>>,
    state_keys: Vec<Physical>,
    state_arguments: Vec<Vec<Physical>>,
    groups: SchemaRef,
    /// Keys, then what is accumulated.
    pub states: SchemaRef,
    /// The contents and the schema of the output's rows.
    pub output: Contents,
    pub results: SchemaRef,
}

impl Layout {
    pub fn new(plan: &AggregateExec) -> Result<Layout> {
        let functions = plan.aggr_expr().to_vec();
        let groups = plan.group_expr().group_schema(&plan.input().schema())?;
        let mut fields: Vec<Arc<Field>> = groups.fields().to_vec();
        for function in &functions {
            fields.extend(function.state_fields()?);
        }
        let fields: Vec<Field> = fields.iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
        let state_key = |(i, field): (usize, &Arc<Field>)| Arc::new(Column::new(field.name(), i)) as Physical;
        let width = groups.fields().len();
        let mut keys = plan.group_expr().input_exprs();
        let mut arguments = aggregate_expressions(&functions, plan.mode(), width)?;
        let exprs = keys.iter_mut().chain(arguments.iter_mut().flatten());
        let shared = SharedSubexpressions::take_out(exprs, plan.input().schema().fields().len())?;
        Ok(Layout {
            input: match plan.mode().input_mode() {
                AggregateInputMode::Raw => Contents::Values,
                AggregateInputMode::Partial => Contents::States,
            },
            shared,
            keys,
            arguments,
            state_keys: groups.fields().iter().enumerate().map(state_key).collect(),
            state_arguments: aggregate_expressions(&functions, &AggregateMode::Final, width)?,
            groups,
            states: Arc::new(Schema::new(fields)),
            output: match plan.mode().output_mode() {
                AggregateOutputMode::Final => Contents::Values,
                AggregateOutputMode::Partial => Contents::States,
            },
            results: plan.schema(),
            functions,
        })
    }

    /// Rows of the input as keys and arguments see them.
    pub fn with_subexpressions(&self, batch: &RecordBatch, contents: Contents) -> Result<RecordBatch> {
        match contents {
            Contents::Values if !self.shared.is_empty() => self.shared.extend(batch),
            _ => Ok(batch.clone()),
        }
    }

    /// The keys of rows of the input, which have the shared subexpressions.
    pub fn keys(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        decoded(&evaluate(&self.keys, batch)?)
    }

    /// Returns accumulators that have seen no row.
    pub fn accumulators(&self) -> Result<Accumulators> {
        let accumulators = self.functions.iter().map(|function| GroupAccumulator::new(function));
        Ok(Accumulators(accumulators.collect::<Result<_>>()?))
    }
}

fn evaluate(exprs: &[Physical], batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    exprs.iter().map(|e| e.evaluate(batch)?.into_array(batch.num_rows())).collect()
}

/// One accumulator for each function.
pub struct Accumulators(Vec<GroupAccumulator>);

impl Accumulators {
    /// Takes rows in; `places` are their groups, of which there are `total` now.
    pub fn update(
        &mut self,
        layout: &Layout,
        batch: &RecordBatch,
        contents: Contents,
        places: &[usize],
        total: usize,
    ) -> Result<()> {
        let arguments = match contents {
            Contents::Values => &layout.arguments,
            Contents::States => &layout.state_arguments,
        };
        // Rows of each group, once they are counted.
        let mut rows = None;
        for (accumulator, exprs) in self.0.iter_mut().zip(arguments) {
            let values = evaluate(exprs, batch)?;
            match (contents, accumulator) {
                (Contents::Values, GroupAccumulator::Count(count)) if total <= FEW && count.takes_all(&values[0]) => {
                    count.add(rows.get_or_insert_with(|| lanes::count(places)), total);
                }
                (Contents::Values, other) => other.state_mut().update_batch(&values, places, None, total)?,
                (Contents::States, other) => other.state_mut().merge_batch(&values, places, total)?,
            }
        }
        Ok(())
    }

    pub fn bytes(&self) -> usize {
        self.0.iter().map(|a| a.state().size()).sum()
    }

    /// Rows as groups of their own.
    pub fn pass(&self, layout: &Layout, rows: &RecordBatch) -> Result<RecordBatch> {
        let rows = &layout.with_subexpressions(rows, Contents::Values)?;
        let mut columns = layout.keys(rows)?;
        for (accumulator, exprs) in self.0.iter().zip(&layout.arguments) {
            columns.extend(accumulator.state().convert_to_state(&evaluate(exprs, rows)?, None)?);
        }
        batch(&layout.results, columns)
    }

    /// Takes the accumulated states of all groups, which are forgotten.
    pub fn states(&mut self) -> Result<Vec<ArrayRef>> {
        let mut columns = Vec::new();
        for accumulator in &mut self.0 {
            columns.extend(accumulator.state_mut().state(EmitTo::All)?);
        }
        Ok(columns)
    }

    /// The results of these groups, which are forgotten.
    pub fn results(&mut self, of: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.iter_mut().map(|a| a.state_mut().evaluate(of)).collect()
    }
}

/// See the module.
pub struct Table {
    layout: Arc<Layout>,
    groups: Keys,
    accumulators: Accumulators,
    /// Groups of the rows of the last batch.
    places: Vec<usize>,
}

impl Table {
    pub fn new(layout: Arc<Layout>) -> Result<Table> {
        Ok(Table {
            groups: Keys::new(&layout.groups)?,
            accumulators: layout.accumulators()?,
            places: Vec::new(),
            layout,
        })
    }

    pub fn update(&mut self, batch: &RecordBatch, contents: Contents) -> Result<()> {
        let batch = &self.layout.with_subexpressions(batch, contents)?;
        let keys = match contents {
            Contents::Values => &self.layout.keys,
            Contents::States => &self.layout.state_keys,
        };
        let keys = evaluate(keys, batch)?;
        self.groups.intern(&keys, &mut self.places)?;
        self.accumulators.update(&self.layout, batch, contents, &self.places, self.groups.len())
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    pub fn bytes(&self) -> usize {
        self.accumulators.bytes() + self.groups.bytes() + self.places.capacity() * size_of::<usize>()
    }

    /// Takes all groups out of the table: what is accumulated, for another table to go on with, and their keys.
    pub fn take_states(&mut self) -> Result<(RecordBatch, Vec<ArrayRef>)> {
        let keys = self.groups.take()?;
        self.places = Vec::new();
        let mut columns = keys.clone();
        columns.extend(self.accumulators.states()?);
        Ok((batch(&self.layout.states, columns)?, keys))
    }

    /// Returns the result rows of all groups; `None` if there are no groups.
    pub fn into_output(mut self) -> Result<Option<RecordBatch>> {
        if self.len() == 0 {
            return Ok(None);
        }
        let columns = match self.layout.output {
            Contents::States => self.take_states()?.0.columns().to_vec(),
            Contents::Values => {
                let mut columns = self.groups.take()?;
                columns.extend(self.accumulators.results(EmitTo::All)?);
                columns
            }
        };
        batch(&self.layout.results, columns).map(Some)
    }
}

fn batch(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    let rows = columns.first().map(|c| c.len()).ok_or_else(|| internal_datafusion_err!("groups without keys"))?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}
