//! Sorts of random rows, in much memory and in little, against sorting them in a vector.

use super::SortExec;
use crate::QueryCounters;
use crate::{
    Runtime,
    ops::{spill::SpillSpace, values::ValuesExec},
};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringViewArray, cast::AsArray, types::Int64Type};
use arrow_schema::{DataType, Field, Schema, SortOptions};
use datafusion_common::{DataFusionError, Result};
use datafusion_physical_expr::{LexOrdering, PhysicalSortExpr, expressions::Column};
use datafusion_physical_plan::{ExecutionPlan, union::UnionExec};
use futures::TryStreamExt;
use proptest::prelude::*;
use std::{cmp::Ordering, sync::Arc};

type Row = (Option<i64>, Option<String>);

/// Sorts by the number, then by the text.
struct Case {
    /// Rows of each partition, in batches.
    partitions: Vec<Vec<Vec<Row>>>,
    descending: [bool; 2],
    limit: Option<usize>,
    memory_bytes: usize,
    buffer_bytes: usize,
}

impl Case {
    fn run(&self) -> Result<Vec<Row>> {
        self.counted().map(|(rows, _)| rows)
    }

    /// The rows, and the files that they went through.
    fn counted(&self) -> Result<(Vec<Row>, u64)> {
        let temp = tempfile::tempdir()?;
        let runtime = Runtime::new(self.memory_bytes, temp.path().to_path_buf())
            .map_err(|e| DataFusionError::External(Box::new(e)))?;
        let counters = Arc::<QueryCounters>::default();
        let space = runtime.spill_space(self.partitions.len(), &counters);
        let context = runtime.task_context(
            runtime.session_config(self.partitions.len(), runtime.batch_rows(self.partitions.len(), 1.0)),
        );
        let plan = self.plan(space);
        assert_eq!(plan.properties().output_partitioning().partition_count(), 1);
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
        let batches = tokio.block_on(async { plan.execute(0, context)?.try_collect::<Vec<_>>().await });
        assert_eq!(runtime.memory_used_bytes(), 0);
        let left = std::fs::read_dir(temp.path())?.filter(|f| f.as_ref().is_ok_and(|f| f.path().is_file())).count();
        assert_eq!(left, 0, "runs have no names");
        let rows: Vec<Row> = batches?.iter().flat_map(rows_of).collect();
        assert_eq!(counters.operators().sorted_rows(), rows.len() as u64);
        // Runs that went to disk are merged when they come back.
        assert_eq!(counters.operators().merge_passes() > 0, counters.operators().spill_files() > 0);
        Ok((rows, counters.operators().spill_files()))
    }

    fn plan(&self, space: SpillSpace) -> Arc<dyn ExecutionPlan> {
        let fields = vec![Field::new("n", DataType::Int64, true), Field::new("t", DataType::Utf8View, true)];
        let schema = Arc::new(Schema::new(fields));
        let inputs = self.partitions.iter().map(|batches| {
            let batches = batches.iter().map(|rows| {
                let numbers: ArrayRef = Arc::new(rows.iter().map(|r| r.0).collect::<Int64Array>());
                let texts: ArrayRef = Arc::new(rows.iter().map(|r| r.1.as_deref()).collect::<StringViewArray>());
                RecordBatch::try_new(schema.clone(), vec![numbers, texts]).unwrap()
            });
            Arc::new(ValuesExec::new(schema.clone(), batches.collect(), 1)) as Arc<dyn ExecutionPlan>
        });
        let inputs: Vec<_> = inputs.collect();
        let input = if inputs.len() == 1 { inputs[0].clone() } else { UnionExec::try_new(inputs).unwrap() };
        let key = |i: usize, name| {
            let options = SortOptions { descending: self.descending[i], nulls_first: !self.descending[i] };
            PhysicalSortExpr::new(Arc::new(Column::new(name, i)), options)
        };
        let order = LexOrdering::new([key(0, "n"), key(1, "t")]).unwrap();
        Arc::new(SortExec::new(input, order, self.limit, self.buffer_bytes, space))
    }

    fn want(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.partitions.iter().flatten().flatten().cloned().collect();
        let directed = |o: Ordering, i: usize| if self.descending[i] { o.reverse() } else { o };
        rows.sort_by(|a, b| directed(a.0.cmp(&b.0), 0).then(directed(a.1.cmp(&b.1), 1)));
        rows.truncate(self.limit.unwrap_or(usize::MAX));
        rows
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let (numbers, texts) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(1).as_string_view());
    (0..batch.num_rows())
        .map(|i| (numbers.is_valid(i).then(|| numbers.value(i)), texts.is_valid(i).then(|| texts.value(i).to_string())))
        .collect()
}

/// Rows with texts of `bytes` in an order that is not theirs, in batches of 1000.
fn wide_rows(n: i64, bytes: usize) -> Vec<Vec<Row>> {
    let row = |i: i64| (Some(i * 7919 % n), Some(format!("{i:0>bytes$}")));
    (0..n).map(row).collect::<Vec<_>>().chunks(1000).map(<[_]>::to_vec).collect()
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let text = prop_oneof![
        1 => Just(None),
        3 => "[a-c]{0,3}".prop_map(Some),
        2 => ("[a-c]{1,3}", 20usize..400).prop_map(|(s, n)| Some(s.repeat(n))),
    ];
    prop::collection::vec((prop::option::weighted(0.9, -3i64..20), text), 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn rows_are_sorted_in_any_memory(
        partitions in prop::collection::vec(prop::collection::vec(rows(), 0..6), 1..4),
        descending in any::<[bool; 2]>(),
        limit in prop::option::of(0usize..600),
        kib in prop_oneof![Just(256usize), Just(384), Just(1024), Just(1 << 20)],
        buffer_bytes in prop_oneof![3 => Just(usize::MAX), 1 => 0usize..100_000],
    ) {
        let case = Case { partitions, descending, limit, memory_bytes: kib << 10, buffer_bytes };
        prop_assert_eq!(case.run().unwrap(), case.want());
    }
}

#[test]
fn runs_are_merged_in_several_passes() {
    for limit in [None, Some(50_000), Some(10)] {
        let partitions = vec![wide_rows(30_000, 100), wide_rows(30_000, 100)];
        let case =
            Case { partitions, descending: [true, false], limit, memory_bytes: 256 << 10, buffer_bytes: usize::MAX };
        assert!(case.run().unwrap() == case.want(), "limit {limit:?}");
    }
}

#[test]
fn rows_wider_than_a_block_are_sorted() {
    let case = Case {
        partitions: vec![wide_rows(2_000, 20_000)],
        descending: [false; 2],
        limit: None,
        memory_bytes: 1 << 20,
        buffer_bytes: usize::MAX,
    };
    assert!(case.run().unwrap() == case.want());
}

#[test]
fn a_full_sort_buffer_goes_to_disk() {
    let sorted = |buffer_bytes| {
        let (partitions, descending) = (vec![wide_rows(10_000, 100)], [false; 2]);
        let case = Case { partitions, descending, limit: None, memory_bytes: 1 << 30, buffer_bytes };
        let (rows, files) = case.counted().unwrap();
        assert!(rows == case.want());
        files
    };
    assert_eq!(sorted(8 << 20), 0);
    // 1.2 MB of rows, about twice that with their keys; runs are merged through further files.
    let runs = sorted(256 << 10);
    assert!((6..40).contains(&runs), "{runs}");
    assert!(sorted(64 << 10) > 3 * runs);
}

#[test]
fn a_row_that_does_not_fit_is_an_error() {
    let case = Case {
        partitions: vec![vec![vec![(Some(1), Some("x".repeat(2 << 20)))]]],
        descending: [false; 2],
        limit: None,
        memory_bytes: 1 << 20,
        buffer_bytes: usize::MAX,
    };
    assert!(matches!(case.run(), Err(DataFusionError::ResourcesExhausted(_))));
}
