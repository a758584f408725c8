//! Checks that rows come in the order that the plan promises: in debug builds only, over each node that promises one.

use super::{
    only,
    plan_methods::{filters_pass, no_expressions, rows_of_input},
};
use crate::expr::Physical;
use arrow_array::RecordBatch;
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::{SchemaRef, SortOptions};
use datafusion_common::{Result, internal_err};
use datafusion_execution::{RecordBatchStream, TaskContext};
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, SendableRecordBatchStream};
use futures::{Stream, StreamExt};
use muster_algebra::NodeId;
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// Delivers the rows of its input, and an error in place of the first batch that is out of order.
pub struct OrderCheckExec {
    input: Arc<dyn ExecutionPlan>,
    node: NodeId,
    /// The keys that rows are ordered by, in a form that compares, and whether each is descending.
    keys: Vec<(Physical, bool)>,
}

impl OrderCheckExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, node: NodeId, keys: Vec<(Physical, bool)>) -> OrderCheckExec {
        OrderCheckExec { input, node, keys }
    }
}

impl DisplayAs for OrderCheckExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "OrderCheckExec")
    }
}

impl ExecutionPlan for OrderCheckExec {
    fn name(&self) -> &str {
        "OrderCheckExec"
    }

    rows_of_input!();
    no_expressions!();
    filters_pass!();

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(OrderCheckExec::new(only(children)?, self.node, self.keys.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.input.schema();
        let field = |(key, descending): &(Physical, bool)| {
            let options = SortOptions { descending: *descending, nulls_first: !descending };
            Ok(SortField::new_with_options(key.data_type(&schema)?, options))
        };
        let fields = self.keys.iter().map(field).collect::<Result<Vec<_>>>()?;
        Ok(Box::pin(Checked {
            inner: self.input.execute(partition, context)?,
            node: self.node,
            keys: self.keys.iter().map(|(key, _)| key.clone()).collect(),
            converter: RowConverter::new(fields)?,
            last: None,
        }))
    }
}

struct Checked {
    inner: SendableRecordBatchStream,
    node: NodeId,
    keys: Vec<Physical>,
    converter: RowConverter,
    /// Keys of the last row so far.
    last: Option<OwnedRow>,
}

impl Checked {
    fn check(&mut self, batch: &RecordBatch) -> Result<()> {
        let values = self.keys.iter().map(|key| key.evaluate(batch)?.into_array(batch.num_rows()));
        let rows = self.converter.convert_columns(&values.collect::<Result<Vec<_>>>()?)?;
        let before = self.last.iter().map(OwnedRow::row).chain(rows.iter());
        if before.zip(rows.iter().skip(usize::from(self.last.is_none()))).any(|(a, b)| a > b) {
            return internal_err!("node {} promises an order that its rows do not have", self.node.0);
        }
        if let Some(last) = batch.num_rows().checked_sub(1) {
            self.last = Some(rows.row(last).owned());
        }
        Ok(())
    }
}

impl Stream for Checked {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Poll::Ready(next) = self.inner.poll_next_unpin(cx) else { return Poll::Pending };
        Poll::Ready(match next {
            Some(Ok(batch)) => Some(self.check(&batch).map(|()| batch)),
            other => other,
        })
    }
}

impl RecordBatchStream for Checked {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }
}
