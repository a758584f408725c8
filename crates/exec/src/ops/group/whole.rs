//! Aggregation of all rows as one group, which exists even if there are none.

use super::table::{Accumulators, Contents, Layout};
use arrow_array::RecordBatch;
use datafusion_common::Result;
use datafusion_execution::{SendableRecordBatchStream, memory_pool::MemoryReservation};
use datafusion_physical_plan::metrics::{BaselineMetrics, RecordOutput};
use futures::StreamExt;
use std::sync::Arc;

/// See the module.
pub struct Whole {
    layout: Arc<Layout>,
    /// Until the result has been delivered.
    input: Option<SendableRecordBatchStream>,
    accumulators: Accumulators,
    /// The group of each row.
    places: Vec<usize>,
    memory: MemoryReservation,
}

impl Whole {
    /// `memory`: an empty reservation.
    pub fn new(layout: Arc<Layout>, input: SendableRecordBatchStream, memory: MemoryReservation) -> Result<Whole> {
        let accumulators = layout.accumulators()?;
        let mut whole = Whole { layout, input: None, accumulators, places: Vec::new(), memory };
        whole.add(&RecordBatch::new_empty(input.schema()))?;
        whole.input = Some(input);
        Ok(whole)
    }

    /// The result, once. Errors: those of the input; the state does not fit in memory.
    pub async fn next(&mut self, metrics: &BaselineMetrics) -> Result<Option<RecordBatch>> {
        let Some(mut input) = self.input.take() else {
            metrics.done();
            return Ok(None);
        };
        while let Some(batch) = input.next().await.transpose()? {
            let _timer = metrics.elapsed_compute().timer();
            self.add(&batch)?;
            self.memory.try_resize(self.accumulators.bytes())?;
        }
        let columns = match self.layout.output {
            Contents::Values => self.accumulators.results(datafusion_expr::EmitTo::All)?,
            Contents::States => self.accumulators.states()?,
        };
        Ok(Some(RecordBatch::try_new(self.layout.results.clone(), columns)?.record_output(metrics)))
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = &self.layout.with_subexpressions(batch, self.layout.input)?;
        self.places.resize(batch.num_rows(), 0);
        self.accumulators.update(&self.layout, batch, self.layout.input, &self.places, 1)
    }
}
