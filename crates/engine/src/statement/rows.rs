//! The rows of a query on their way out.

use super::StatementContext;
use crate::{
    ResultSet, RowStream,
    threads::{self, panic_error},
};
use arrow_array::{RecordBatch, RecordBatchOptions};
use futures::{FutureExt, Stream, StreamExt};
use muster_types::{Result, SqlError, Value};
use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
    time::Instant,
};
use tokio_util::sync::WaitForCancellationFutureOwned;

/// The columns at these positions, which may repeat.
pub fn project(batch: &RecordBatch, positions: &[usize]) -> Result<RecordBatch> {
    // Result columns may repeat a column, so the schema is made here rather than by RecordBatch::project.
    let schema = batch.schema();
    let fields: Vec<_> = positions.iter().map(|i| schema.field(*i).clone()).collect();
    let arrays = positions.iter().map(|i| batch.column(*i).clone()).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(arrow_schema::Schema::new(fields)), arrays, &options)
        .map_err(SqlError::internal)
}

/// Wraps rows so that KILL and `deadline` stop them, and a panic becomes an error.
pub fn guard(context: &StatementContext, stream: RowStream, deadline: Option<Instant>) -> RowStream {
    Guarded {
        inner: Some(stream),
        cancelled: Box::pin(context.cancel.clone().cancelled_owned()),
        deadline: deadline.map(|at| Box::pin(tokio::time::sleep_until(at.into()))),
    }
    .boxed()
}

struct Guarded {
    /// `None` after the end or an error.
    inner: Option<RowStream>,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    deadline: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Guarded {
    fn stopped(&mut self, cx: &mut task::Context<'_>) -> Option<SqlError> {
        if self.cancelled.poll_unpin(cx).is_ready() {
            return Some(SqlError::interrupted());
        }
        let late = self.deadline.as_mut().is_some_and(|d| d.poll_unpin(cx).is_ready());
        late.then(SqlError::timed_out)
    }
}

impl Stream for Guarded {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.inner.is_none() {
            return Poll::Ready(None);
        }
        let stopped = this.stopped(cx).map(Err);
        let polled = match (stopped, &mut this.inner) {
            (Some(stopped), _) => Poll::Ready(Some(stopped)),
            (None, Some(inner)) => std::panic::catch_unwind(AssertUnwindSafe(|| inner.poll_next_unpin(cx)))
                .unwrap_or_else(|panic| Poll::Ready(Some(Err(panic_error(&*panic))))),
            (None, None) => Poll::Ready(None),
        };
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            this.inner = None;
        }
        polled
    }
}

/// The first rows of a result, as values. Waits for them.
pub fn first_values(mut result: ResultSet, rows_max: usize) -> Result<Vec<Vec<Value>>> {
    let mut out = Vec::new();
    while out.len() < rows_max
        && let Some(batch) = threads::wait(result.rows.next())?
    {
        let batch = batch?;
        for row in 0..batch.num_rows().min(rows_max - out.len()) {
            out.push(batch.columns().iter().map(|c| muster_storage::value_at(c, row)).collect::<Result<Vec<_>>>()?);
        }
    }
    Ok(out)
}
