//! The merge join beside DataFusion's, and groups in order beside DataFusion's. Ignored: run with
//! `--release -- --ignored --nocapture`.

use super::{MergeJoinExec, MergeJoinSpec};
use crate::{
    Runtime,
    expr::Physical,
    ops::{
        group::{GroupExec, Method},
        values::ValuesExec,
    },
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, SortOptions};
use datafusion_common::{JoinSide, JoinType, NullEquality};
use datafusion_physical_expr::{aggregate::AggregateExprBuilder, expressions::Column};
use datafusion_physical_plan::{
    ExecutionPlan,
    aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy},
    joins::{HashJoinExec, PartitionMode, SortMergeJoinExec, utils::ColumnIndex},
};
use futures::TryStreamExt;
use muster_algebra::JoinKind;
use std::{sync::Arc, time::Instant};

/// Left rows; each has four partners.
const ROWS: i64 = 1_000_000;
const ROUNDS: usize = 5;

fn schema() -> SchemaRef {
    Arc::new(Schema::new(["k", "a", "b"].map(|name| Field::new(name, DataType::Int64, true)).to_vec()))
}

/// `per_key` rows of each key, in their order.
fn input(per_key: i64) -> Arc<dyn ExecutionPlan> {
    let rows: Vec<i64> = (0..ROWS * per_key).collect();
    let batches = rows.chunks(8192).map(|rows| {
        let column =
            |f: &dyn Fn(i64) -> i64| -> ArrayRef { Arc::new(rows.iter().map(|i| Some(f(*i))).collect::<Int64Array>()) };
        RecordBatch::try_new(schema(), vec![column(&|i| i / per_key), column(&|i| i), column(&|i| i % 97)]).unwrap()
    });
    Arc::new(ValuesExec::new(schema(), batches.collect(), 1))
}

fn key() -> Physical {
    Arc::new(Column::new("k", 0))
}

/// The best of some rounds, in seconds, and the rows that come.
fn measure(plan: impl Fn(&Runtime) -> Arc<dyn ExecutionPlan>) -> (f64, usize) {
    let temp = tempfile::tempdir().unwrap();
    let runtime = Runtime::new(2 << 30, temp.path().to_path_buf()).unwrap();
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let round = || {
        let (plan, context) =
            (plan(&runtime), runtime.task_context(runtime.session_config(1, runtime.batch_rows(1, 24.0))));
        let begin = Instant::now();
        let rows = tokio.block_on(async {
            let rows = plan.execute(0, context).unwrap();
            rows.try_fold(0, |n, batch| async move { Ok(n + batch.num_rows()) }).await.unwrap()
        });
        (begin.elapsed().as_secs_f64(), rows)
    };
    (0..ROUNDS).map(|_| round()).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

#[test]
#[ignore = "a measurement"]
fn joins_beside_datafusion() {
    let (left, right) = (input(1), input(4));
    for (kind, theirs) in [
        (JoinKind::Inner, JoinType::Inner),
        (JoinKind::Left, JoinType::Left),
        (JoinKind::Semi, JoinType::LeftSemi),
        (JoinKind::Anti, JoinType::LeftAnti),
    ] {
        let (ours, rows) = measure(|runtime| {
            let of = |side| (0..3).map(move |index| ColumnIndex { index, side });
            let mut output: Vec<ColumnIndex> = of(JoinSide::Left).collect();
            if matches!(kind, JoinKind::Inner | JoinKind::Left) {
                output.extend(of(JoinSide::Right));
            }
            let fields = (0..output.len()).map(|i| Field::new(format!("c{i}"), DataType::Int64, true));
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let space = runtime.spill_space(1, &Arc::default());
            let spec = MergeJoinSpec { kind, keys: vec![(key(), key())], residual: None, output, space };
            Arc::new(MergeJoinExec::new(left.clone(), right.clone(), Arc::new(spec), schema))
        });
        let on = || vec![(key(), key())];
        let (merge, merge_rows) = measure(|_| {
            let (l, r, options) = (left.clone(), right.clone(), vec![SortOptions::default()]);
            let equal = NullEquality::NullEqualsNothing;
            Arc::new(SortMergeJoinExec::try_new(l, r, on(), None, theirs, options, equal).unwrap())
        });
        let (hash, hash_rows) = measure(|_| {
            let (l, r, mode) = (left.clone(), right.clone(), PartitionMode::CollectLeft);
            let equal = NullEquality::NullEqualsNothing;
            Arc::new(HashJoinExec::try_new(l, r, on(), None, &theirs, None, mode, equal, false).unwrap())
        });
        assert!(rows == merge_rows && rows == hash_rows);
        println!(
            "{kind:?}: ours {ours:.3} s; their merge join {:.2} x, their hash join {:.2} x",
            merge / ours,
            hash / ours
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn groups_in_order_beside_hashing() {
    let input = input(4);
    let plan = || {
        let function = crate::agg::function(crate::agg::Kind::ExactSum(DataType::Decimal128(38, 0)));
        let sum = AggregateExprBuilder::new(function, vec![Arc::new(Column::new("a", 1)) as _]);
        let sum = Arc::new(sum.schema(schema()).alias("s").build().unwrap());
        let by = PhysicalGroupBy::new_single(vec![(key(), "k".to_string())]);
        AggregateExec::try_new(AggregateMode::Single, by, vec![sum], vec![None], input.clone(), schema()).unwrap()
    };
    let (ordered, groups) = measure(|_| Arc::new(GroupExec::new(Arc::new(plan()), Method::Order).unwrap()));
    let (hashed, hashed_groups) = measure(|runtime| {
        let space = runtime.spill_space(1, &Arc::default());
        Arc::new(GroupExec::new(Arc::new(plan()), Method::Hash(space)).unwrap())
    });
    let (theirs, their_groups) = measure(|_| Arc::new(plan()));
    assert!(groups == hashed_groups && groups == their_groups);
    println!("in order {ordered:.3} s; by hash {:.2} x, theirs {:.2} x", hashed / ordered, theirs / ordered);
}
