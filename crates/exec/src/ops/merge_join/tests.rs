//! Joins of random rows, in batches of any size, against pairing all rows with all.

use super::{MergeJoinExec, MergeJoinSpec};
use crate::{Runtime, expr::Physical, ops::values::ValuesExec};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion_common::{JoinSide, Result};
use datafusion_expr::Operator;
use datafusion_physical_expr::expressions::{BinaryExpr, Column};
use datafusion_physical_plan::{
    ExecutionPlan,
    joins::utils::{ColumnIndex, JoinFilter},
};
use futures::TryStreamExt;
use muster_algebra::JoinKind;
use proptest::prelude::*;
use std::sync::Arc;

/// Key, and a number for the residual condition.
type Row = (Option<i64>, i64);

const KINDS: [JoinKind; 4] = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];

struct Case {
    kind: JoinKind,
    /// Batches in the order of the keys.
    sides: [Vec<Vec<Row>>; 2],
    /// Left number < right number.
    residual: bool,
    /// The key in two parts, which compare as bytes.
    two_parts: bool,
    batch_rows: usize,
    memory_bytes: usize,
}

impl Case {
    fn run(&self) -> Result<Vec<(Row, Option<Row>)>> {
        let temp = tempfile::tempdir()?;
        let runtime = Runtime::new(self.memory_bytes, temp.path().to_path_buf()).unwrap();
        let config = runtime.session_config(1, self.batch_rows);
        let context = runtime.task_context(config);
        let plan = self.plan(&runtime);
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
        let batches = tokio.block_on(async { plan.execute(0, context)?.try_collect::<Vec<_>>().await })?;
        assert_eq!(runtime.memory_used_bytes(), 0);
        assert!(batches.iter().all(|b| b.num_rows() > 0));
        Ok(batches.iter().flat_map(rows_of).collect())
    }

    fn plan(&self, runtime: &Runtime) -> Arc<dyn ExecutionPlan> {
        let inputs = self.sides.each_ref().map(|batches| {
            let batches = batches.iter().map(|rows| batch(rows));
            Arc::new(ValuesExec::new(schema(), batches.collect(), 1)) as Arc<dyn ExecutionPlan>
        });
        let [left, right] = inputs;
        let column = |i: usize| -> Physical { Arc::new(Column::new(schema().field(i).name(), i)) };
        // The row's NULL is in the first part.
        let keys = if self.two_parts { vec![0, 2] } else { vec![0] };
        let residual = self.residual.then(|| {
            let fields: Vec<Field> = ["l", "r"].map(|n| Field::new(n, DataType::Int64, true)).into();
            let less = BinaryExpr::new(Arc::new(Column::new("l", 0)), Operator::Lt, Arc::new(Column::new("r", 1)));
            let indices =
                vec![ColumnIndex { index: 1, side: JoinSide::Left }, ColumnIndex { index: 1, side: JoinSide::Right }];
            JoinFilter::new(Arc::new(less), indices, Arc::new(Schema::new(fields)))
        });
        let both = matches!(self.kind, JoinKind::Inner | JoinKind::Left);
        let of = |side| (0..2).map(move |index| ColumnIndex { index, side });
        let output: Vec<ColumnIndex> =
            if both { of(JoinSide::Left).chain(of(JoinSide::Right)).collect() } else { of(JoinSide::Left).collect() };
        let fields: Vec<Field> =
            (0..output.len()).map(|i| Field::new(format!("c{i}"), DataType::Int64, true)).collect();
        let spec = MergeJoinSpec {
            kind: self.kind,
            keys: keys.into_iter().map(|i| (column(i), column(i))).collect(),
            residual,
            output,
            space: runtime.spill_space(1, &Arc::default()),
        };
        Arc::new(MergeJoinExec::new(left, right, Arc::new(spec), Arc::new(Schema::new(fields))))
    }

    fn want(&self) -> Vec<(Row, Option<Row>)> {
        let [left, right] = self.sides.each_ref().map(|side| side.concat());
        let mut rows = Vec::new();
        for l in &left {
            let equal = |r: &&Row| l.0.is_some() && l.0 == r.0 && (!self.residual || l.1 < r.1);
            let found: Vec<&Row> = right.iter().filter(equal).collect();
            match self.kind {
                JoinKind::Inner => rows.extend(found.iter().map(|r| (*l, Some(**r)))),
                JoinKind::Left if found.is_empty() => rows.push((*l, None)),
                JoinKind::Left => rows.extend(found.iter().map(|r| (*l, Some(**r)))),
                JoinKind::Semi if !found.is_empty() => rows.push((*l, None)),
                JoinKind::Anti if found.is_empty() => rows.push((*l, None)),
                _ => {}
            }
        }
        rows
    }

    fn check(&self) {
        let (mut got, mut want) = (self.run().unwrap(), self.want());
        assert!(got.is_sorted_by_key(|(l, _)| l.0), "{:?}: the order of the left keys", self.kind);
        got.sort();
        want.sort();
        assert!(got == want, "{:?}, residual {}: {} rows for {}", self.kind, self.residual, got.len(), want.len());
    }
}

fn schema() -> SchemaRef {
    let fields = ["k", "n", "k2"].map(|name| Field::new(name, DataType::Int64, true));
    Arc::new(Schema::new(fields.to_vec()))
}

fn batch(rows: &[Row]) -> RecordBatch {
    let keys: ArrayRef = Arc::new(rows.iter().map(|r| r.0).collect::<Int64Array>());
    let numbers: ArrayRef = Arc::new(rows.iter().map(|r| Some(r.1)).collect::<Int64Array>());
    let second: ArrayRef = Arc::new(rows.iter().map(|r| Some(r.0.unwrap_or(0) / 3)).collect::<Int64Array>());
    RecordBatch::try_new(schema(), vec![keys, numbers, second]).unwrap()
}

fn rows_of(batch: &RecordBatch) -> Vec<(Row, Option<Row>)> {
    let value = |column: usize, row: usize| {
        let values = batch.column(column).as_primitive::<Int64Type>();
        values.is_valid(row).then(|| values.value(row))
    };
    let row = |i| {
        let right = if batch.num_columns() > 2 { value(3, i).map(|n| (value(2, i), n)) } else { None };
        ((value(0, i), value(1, i).unwrap()), right)
    };
    (0..batch.num_rows()).map(row).collect()
}

/// Sorted rows in batches of these sizes, over and over.
fn side() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let key = prop::option::weighted(0.9, prop_oneof![3 => 0i64..8, 1 => 0i64..60]);
    (prop::collection::vec((key, 0i64..10), 0..80), prop::collection::vec(1usize..12, 1..5)).prop_map(
        |(mut rows, sizes)| {
            rows.sort_by_key(|r| r.0);
            let mut sizes = sizes.into_iter().cycle();
            let mut batches = Vec::new();
            let mut rest = &rows[..];
            while let (false, Some(size)) = (rest.is_empty(), sizes.next()) {
                let (first, others) = rest.split_at(size.min(rest.len()));
                batches.push(first.to_vec());
                rest = others;
            }
            batches
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn joins_are_right_whatever_the_batches(
        left in side(),
        right in side(),
        kind in prop::sample::select(&KINDS[..]),
        residual in any::<bool>(),
        two_parts in any::<bool>(),
        batch_rows in 1usize..40,
    ) {
        let sides = [left, right];
        Case { kind, sides, residual, two_parts, batch_rows, memory_bytes: 1 << 20 }.check();
    }
}

/// One key for nearly all rows of both sides, more than the memory takes.
#[test]
fn a_large_group_on_both_sides_goes_to_disk() {
    let rows = |n: i64, rest: i64| {
        let group = (0..n).map(|i| (Some(5), i % 1000)).collect::<Vec<Row>>();
        let rows = [vec![(Some(4), rest)], group, vec![(Some(6), rest)]].concat();
        rows.chunks(500).map(<[_]>::to_vec).collect::<Vec<_>>()
    };
    for kind in KINDS {
        let sides = [rows(1_200, 1), rows(9_000, 2)];
        let case = Case { kind, sides, residual: true, two_parts: false, batch_rows: 8192, memory_bytes: 64 << 10 };
        // Too many pairs to be sorted: their number, and those beside the group.
        let (got, want) = (case.run().unwrap(), case.want());
        assert_eq!(got.len(), want.len(), "{kind:?}");
        let beside =
            |rows: &[(Row, Option<Row>)]| rows.iter().filter(|r| r.0.0 != Some(5)).copied().collect::<Vec<_>>();
        assert_eq!(beside(&got), beside(&want), "{kind:?}");
        let sum = |rows: &[(Row, Option<Row>)]| rows.iter().map(|(l, r)| l.1 * 7 + r.map_or(0, |r| r.1)).sum::<i64>();
        assert_eq!(sum(&got), sum(&want), "{kind:?}");
    }
}

#[test]
fn rows_out_of_order_are_an_error() {
    let sides = [vec![vec![(Some(2), 0), (Some(1), 0)]], vec![vec![(Some(1), 0)]]];
    let case =
        Case { kind: JoinKind::Inner, sides, residual: false, two_parts: false, batch_rows: 10, memory_bytes: 1 << 20 };
    assert!(case.run().is_err());
}
