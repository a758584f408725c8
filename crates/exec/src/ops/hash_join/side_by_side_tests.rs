//! The partitions of a join read the probe side at a time, as soon as the build side is there.

use super::*;
use crate::{
    Runtime,
    expr::kernel::{Kernel as Function, KernelExpr},
    ops::values::ValuesExec,
};
use arrow_array::{Int64Array, cast::AsArray, types::Int64Type};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::{NullEquality, internal_err};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::{joins::PartitionMode, projection::ProjectionExec, union::UnionExec};
use parking_lot::Condvar;
use std::time::Duration;

const PARTITIONS: usize = 2;

/// Gives back its argument once all partitions have called it.
struct Meet(Arc<(Mutex<usize>, Condvar)>);

impl Function for Meet {
    fn label(&self) -> String {
        "meet".into()
    }

    fn call(&self, args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
        let (calls, called) = &*self.0;
        let mut calls = calls.lock();
        *calls += 1;
        called.notify_all();
        while *calls < PARTITIONS {
            if called.wait_for(&mut calls, Duration::from_secs(20)).timed_out() {
                return internal_err!("a partition waits for another one to be read");
            }
        }
        args[0].to_array(rows)
    }

    fn is_pure(&self) -> bool {
        false
    }
}

fn numbers(range: std::ops::Range<i64>) -> Arc<dyn ExecutionPlan> {
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, false)]));
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(range));
    let batch = RecordBatch::try_new(schema.clone(), vec![column]).unwrap();
    Arc::new(ValuesExec::new(schema, vec![batch], 1))
}

#[test]
fn partitions_read_the_probe_side_at_a_time() {
    let temp = tempfile::tempdir().unwrap();
    let runtime = Runtime::new(64 << 20, temp.path().to_path_buf()).unwrap();
    let context = runtime.task_context(runtime.session_config(PARTITIONS, runtime.batch_rows(PARTITIONS, 1.0)));
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(PARTITIONS).build().unwrap();
    for _ in 0..20 {
        let column = |name| Arc::new(Column::new(name, 0)) as Physical;
        let meeting = Arc::new((Mutex::new(0), Condvar::new()));
        let sides = (0..PARTITIONS as i64).map(|p| numbers(1000 * p..1000 * p + 10)).collect();
        let met = KernelExpr::build(Meet(meeting), vec![column("n")], DataType::Int64, false);
        let probe = ProjectionExec::try_new([(met, "n".to_string())], UnionExec::try_new(sides).unwrap()).unwrap();
        let join = HashJoinExec::try_new(
            numbers(0..500_000),
            Arc::new(probe),
            vec![(column("n"), column("n"))],
            None,
            &JoinType::Inner,
            None,
            PartitionMode::CollectLeft,
            NullEquality::NullEqualsNothing,
            false,
        );
        let space = runtime.spill_space(PARTITIONS, &Arc::default());
        let join = Arc::new(GraceJoinExec::new(Arc::new(join.unwrap()), space));
        let readers: Vec<_> = (0..PARTITIONS)
            .map(|p| {
                let (join, context) = (join.clone(), context.clone());
                tokio.spawn(async move { join.execute(p, context)?.try_collect::<Vec<_>>().await })
            })
            .collect();
        for (p, reader) in readers.into_iter().enumerate() {
            let batches = tokio.block_on(reader).unwrap().unwrap();
            let numbers = batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec());
            let from = 1000 * p as i64;
            assert!(numbers.eq(from..from + 10));
        }
    }
}
