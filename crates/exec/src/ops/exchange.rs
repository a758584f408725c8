//! Rows spread over partitions by a hash of their keys, so that equal keys meet.
//!
//! Each input is read by a task of its own, which puts its rows into queues, one for each output. A queue holds few
//! batches; a task whose queue is full waits, so memory stays bounded however slow a reader is. That needs readers
//! that do not wait for each other, and all of ours are tasks of their own.
//!
//! DataFusion's `RepartitionExec` has queues without bounds that go to disk when memory is refused. In version 55.2 its
//! readers may then wait for ever (<https://github.com/apache/datafusion/issues/24883>).

use super::{
    compact::{compact, held_bytes},
    only,
    plan_methods::filters_pass,
};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::coalesce::BatchCoalescer;
use datafusion_common::{
    DataFusionError, Result, config::ConfigOptions, internal_datafusion_err, tree_node::TreeNodeRecursion,
};
use datafusion_execution::{
    TaskContext,
    memory_pool::{MemoryConsumer, MemoryReservation},
};
use datafusion_physical_expr::EquivalenceProperties;
use datafusion_physical_expr_common::physical_expr::PhysicalExpr;
use datafusion_physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    SendableRecordBatchStream, apply_expression_roots,
    execution_plan::{Boundedness, EmissionType, SchedulingType},
    filter_pushdown::{ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation},
    metrics::Time,
    repartition::BatchPartitioner,
    stream::RecordBatchStreamAdapter,
};
use futures::StreamExt;
use parking_lot::Mutex;
use std::{fmt, sync::Arc};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    task::JoinSet,
};

/// Batches that wait for the reader of an output.
const QUEUE_BATCHES: usize = 4;

/// The operator. It can be executed once.
pub struct ExchangeExec {
    input: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
    outputs: Mutex<Vec<Option<Output>>>,
}

impl ExchangeExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, keys: Vec<Arc<dyn PhysicalExpr>>, partitions: usize) -> ExchangeExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::Hash(keys.clone(), partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        ExchangeExec { input, keys, properties: Arc::new(properties), outputs: Mutex::default() }
    }

    fn partitions(&self) -> usize {
        self.properties.output_partitioning().partition_count()
    }

    /// The readers' ends of the queues, whose tasks wait for the first reader.
    fn connect(&self, context: &Arc<TaskContext>) -> Result<Vec<Option<Output>>> {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..self.partitions()).map(|_| channel(QUEUE_BATCHES)).unzip();
        let memory = Arc::new(MemoryConsumer::new("exchange").register(context.memory_pool()));
        let feeders = (0..self.input.output_partitioning().partition_count()).map(|i| {
            let coalescer = || {
                let rows = context.session_config().batch_size();
                BatchCoalescer::new(self.schema(), rows).with_biggest_coalesce_batch_size(Some(rows / 2))
            };
            Ok(Feeder {
                input: self.input.execute(i, context.clone())?,
                partitioner: BatchPartitioner::new_hash_partitioner(self.keys.clone(), self.partitions(), Time::new())?,
                coalescers: (0..self.partitions()).map(|_| coalescer()).collect(),
                senders: senders.iter().cloned().map(Some).collect(),
                memory: memory.clone(),
            })
        });
        let feeders: Vec<Feeder> = feeders.collect::<Result<_>>()?;
        let unfinished = feeders.len();
        let feed = Arc::new(Feed { waiting: Mutex::new(feeders), tasks: Mutex::default() });
        let output = |receiver| Output { receiver, unfinished, feed: feed.clone(), memory: memory.clone() };
        Ok(receivers.into_iter().map(|receiver| Some(output(receiver))).collect())
    }
}

impl DisplayAs for ExchangeExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ExchangeExec: {}", self.properties.output_partitioning())
    }
}

impl ExecutionPlan for ExchangeExec {
    fn name(&self) -> &str {
        "ExchangeExec"
    }

    filters_pass!();

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(&self.keys, f)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ExchangeExec::new(only(children)?, self.keys.clone(), self.partitions())))
    }

    fn handle_child_pushdown_result(
        &self,
        _phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut outputs = self.outputs.lock();
        if outputs.is_empty() {
            *outputs = self.connect(&context)?;
        }
        let output = outputs.get_mut(partition).and_then(Option::take);
        let output =
            output.ok_or_else(|| internal_datafusion_err!("output {partition} of an exchange is read twice"))?;
        Ok(output.into_stream(self.schema()))
    }
}

/// The tasks that read the inputs. They begin with the first reader and end with the last.
struct Feed {
    waiting: Mutex<Vec<Feeder>>,
    tasks: Mutex<JoinSet<()>>,
}

impl Feed {
    fn start(&self) {
        for feeder in std::mem::take(&mut *self.waiting.lock()) {
            self.tasks.lock().spawn(feeder.run());
        }
    }
}

enum Message {
    /// And the bytes accounted for while it waits.
    Batch(RecordBatch, usize),
    /// One of the inputs is at its end. A task that is gone without saying so has failed.
    End,
}

/// Reads one input.
struct Feeder {
    input: SendableRecordBatchStream,
    partitioner: BatchPartitioner,
    /// The rows that wait for each output.
    coalescers: Vec<BatchCoalescer>,
    /// `None` when nobody reads it any more.
    senders: Vec<Option<Sender<Result<Message>>>>,
    memory: Arc<MemoryReservation>,
}

impl Feeder {
    async fn run(mut self) {
        let result = self.feed().await.map_err(Arc::new);
        for sender in self.senders.iter().flatten() {
            let last = match &result {
                Ok(()) => Ok(Message::End),
                Err(e) => Err(DataFusionError::Shared(e.clone())),
            };
            // Whoever does not read any more does not need to know.
            let _ = sender.send(last).await;
        }
    }

    async fn feed(&mut self) -> Result<()> {
        while let Some(batch) = self.input.next().await.transpose()? {
            for part in self.partitioner.partition_iter(batch)? {
                let (output, rows) = part?;
                let coalescer = &mut self.coalescers[output];
                coalescer.push_batch(rows)?;
                send(coalescer, &mut self.senders[output], &self.memory).await?;
            }
            if self.senders.iter().all(Option::is_none) {
                return Ok(());
            }
        }
        for (coalescer, sender) in self.coalescers.iter_mut().zip(&mut self.senders) {
            coalescer.finish_buffered_batch()?;
            send(coalescer, sender, &self.memory).await?;
        }
        Ok(())
    }
}

/// Sends the batches that are complete, or drops them if nobody reads them any more.
async fn send(
    coalescer: &mut BatchCoalescer,
    sender: &mut Option<Sender<Result<Message>>>,
    memory: &MemoryReservation,
) -> Result<()> {
    while let Some(batch) = coalescer.next_completed_batch() {
        let Some(open) = sender else { continue };
        let batch = compact(&batch)?;
        let bytes = held_bytes(&batch);
        // It is there already; asking would be too late.
        memory.grow(bytes);
        if open.send(Ok(Message::Batch(batch, bytes))).await.is_err() {
            memory.shrink(bytes);
            *sender = None;
        }
    }
    Ok(())
}

/// The reader's end of a queue.
struct Output {
    receiver: Receiver<Result<Message>>,
    /// Inputs that are not at their ends.
    unfinished: usize,
    feed: Arc<Feed>,
    memory: Arc<MemoryReservation>,
}

impl Output {
    fn into_stream(self, schema: SchemaRef) -> SendableRecordBatchStream {
        let batches = futures::stream::try_unfold(self, |mut output| async move {
            let next = output.next().await?;
            Ok(next.map(|batch| (batch, output)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.feed.start();
        while self.unfinished > 0 {
            match self.receiver.recv().await {
                Some(Ok(Message::Batch(batch, bytes))) => {
                    self.memory.shrink(bytes);
                    return Ok(Some(batch));
                }
                Some(Ok(Message::End)) => self.unfinished -= 1,
                Some(Err(e)) => return Err(e),
                None => return Err(internal_datafusion_err!("a task that reads for an exchange has failed")),
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Runtime,
        expr::{kernel::Kernel, kernel::KernelExpr},
        ops::values::ValuesExec,
    };
    use arrow_array::{ArrayRef, Int64Array, cast::AsArray, types::Int64Type};
    use arrow_schema::{DataType, Field, Schema};
    use datafusion_expr::ColumnarValue;
    use datafusion_physical_expr::expressions::Column;
    use datafusion_physical_plan::{projection::ProjectionExec, union::UnionExec};
    use futures::TryStreamExt;
    use std::{collections::HashMap, time::Duration};

    const PARTITIONS: usize = 3;

    /// The numbers below `n`, spread over partitions by themselves, read from two inputs.
    fn exchange(n: i64, change: Option<fn(i64) -> Result<i64>>) -> ExchangeExec {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
        let inputs = (0..2).map(|part| {
            let numbers: Vec<i64> = (0..n).filter(|i| i % 2 == part).collect();
            let batches = numbers.chunks(1000).map(|chunk| {
                let column: ArrayRef = Arc::new(Int64Array::from_iter_values(chunk.iter().copied()));
                RecordBatch::try_new(schema.clone(), vec![column]).unwrap()
            });
            let values: Arc<dyn ExecutionPlan> = Arc::new(ValuesExec::new(schema.clone(), batches.collect(), 1));
            let Some(change) = change else { return values };
            let column =
                KernelExpr::build(ChangedBy(change), vec![Arc::new(Column::new("n", 0))], DataType::Int64, false);
            Arc::new(ProjectionExec::try_new([(column, "n".to_string())], values).unwrap())
        });
        let union = UnionExec::try_new(inputs.collect()).unwrap();
        ExchangeExec::new(union, vec![Arc::new(Column::new("n", 0))], PARTITIONS)
    }

    struct ChangedBy(fn(i64) -> Result<i64>);

    impl Kernel for ChangedBy {
        fn label(&self) -> String {
            "change".into()
        }

        fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
            let values = args[0].to_array(rows)?;
            let changed = values.as_primitive::<Int64Type>().values().iter().map(|i| self.0(*i));
            Ok(Arc::new(Int64Array::from(changed.collect::<Result<Vec<_>>>()?)))
        }
    }

    /// Runs the exchange with all outputs read side by side; `read` gets the numbers of a batch and says whether to
    /// go on.
    fn run(exchange: ExchangeExec, read: fn(usize, &[i64]) -> bool) -> Vec<Result<Vec<i64>>> {
        let temp = tempfile::tempdir().unwrap();
        let runtime = Runtime::new(64 << 20, temp.path().to_path_buf()).unwrap();
        let context = runtime.task_context(runtime.session_config(2, runtime.batch_rows(2, 1.0)));
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
        let results = tokio.block_on(async {
            let readers: Vec<_> = (0..PARTITIONS)
                .map(|p| {
                    let mut stream = exchange.execute(p, context.clone()).unwrap();
                    tokio::spawn(async move {
                        let mut all = Vec::new();
                        while let Some(batch) = stream.try_next().await? {
                            let numbers = batch.column(0).as_primitive::<Int64Type>().values();
                            all.extend_from_slice(numbers);
                            if !read(p, numbers) {
                                break;
                            }
                        }
                        Ok(all)
                    })
                })
                .collect();
            let mut results = Vec::new();
            for reader in readers {
                results.push(reader.await.unwrap());
            }
            assert!(exchange.execute(0, context.clone()).is_err(), "read twice");
            results
        });
        drop((exchange, tokio));
        assert_eq!(runtime.memory_used_bytes(), 0);
        results
    }

    #[test]
    fn equal_keys_meet_and_every_row_comes_once() {
        let results = run(exchange(200_000, Some(|i| Ok(i / 4))), |_, _| true);
        let mut counts: HashMap<i64, (usize, usize)> = HashMap::new();
        for (p, numbers) in results.into_iter().enumerate() {
            for n in numbers.unwrap() {
                let (home, count) = counts.entry(n).or_insert((p, 0));
                assert_eq!(*home, p);
                *count += 1;
            }
        }
        assert_eq!(counts.len(), 50_000);
        assert!(counts.values().all(|(_, count)| *count == 4));
    }

    #[test]
    fn a_reader_that_leaves_or_sleeps_does_not_stop_the_others() {
        let results = run(exchange(300_000, None), |p, _| {
            if p == 1 {
                std::thread::sleep(Duration::from_millis(1));
            }
            p > 0
        });
        let counts: Vec<usize> = results.into_iter().map(|r| r.unwrap().len()).collect();
        assert!(counts[0] < 20_000, "{counts:?}");
        assert!(counts[1] > 90_000 && counts[2] > 90_000, "{counts:?}");
    }

    #[test]
    fn errors_and_panics_of_inputs_reach_all_readers() {
        let failing: fn(i64) -> Result<i64> = |i| match i {
            150_000 => Err(DataFusionError::Execution("no".into())),
            _ => Ok(i),
        };
        let panicking: fn(i64) -> Result<i64> = |i| {
            assert!(i < 150_000, "for the test");
            Ok(i)
        };
        for change in [failing, panicking] {
            assert!(run(exchange(200_000, Some(change)), |_, _| true).iter().all(Result::is_err));
        }
    }
}
