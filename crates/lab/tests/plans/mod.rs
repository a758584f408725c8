//! The plans that a database makes of the workloads' queries, against the optimizer's golden plans, which are made
//! without data: from statistics that were written by such a database.
//!
//! ```text
//!   UPDATE_STATISTICS=1 cargo test -p muster-lab --test answers at_scale_0_1               writes those of scale 0.1
//!   cargo test -p muster-lab --test answers -- --ignored statistics_of_scale_1             writes those of scale 1
//!   UPDATE_PLANS=1 cargo test -p muster-optimizer                                       makes the golden plans of them
//! ```

use muster_algebra::{ColumnStatistics, Statistics, TableDef};
use muster_engine::Session;
use muster_engine::types::{KeyRange, Value};
use muster_lab::Workload;
use muster_types::temporal::Days;
use std::fmt::Write;
use std::ops::Bound;
use std::path::PathBuf;

/// Number of places at which the entries of an index on numbers or dates are counted.
const PLACES: i32 = 64;
/// Texts are counted one by one if an index has no more values than this.
const TEXTS_MAX: f64 = 1100.0;
/// Share of an index's entries that a count may be off by when it is taken from its neighbours, and so left out.
const UNEVEN: f64 = 0.002;

fn optimizer_tests() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../optimizer/tests")
}

fn name(workload: Workload, scale: f64) -> String {
    format!("{}-{scale}", workload.name())
}

/// A plan without its figures.
fn shape(plan: &str) -> String {
    let without = |line: &str| line.split("  (cost=").next().unwrap_or_default().to_string();
    plan.lines().map(without).collect::<Vec<_>>().join("\n")
}

/// Compares the plans of all queries with the golden ones.
pub async fn check(session: &mut Session, workload: Workload, scale: f64) {
    if std::env::var_os("UPDATE_STATISTICS").is_some() {
        write_statistics(session, workload, scale).await;
        return;
    }
    let mut different = Vec::new();
    for query in workload.queries() {
        let path = optimizer_tests().join("plans").join(name(workload, scale)).join(format!("{}.plan", query.name));
        let golden = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut plan = None;
        for statement in session.split(query.sql).expect("the text splits") {
            let first = statement.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
            if ["create", "drop"].contains(&first.as_str()) {
                session.query(&statement).await.expect("a view is made or dropped");
            } else {
                let explain = format!("explain format=tree {statement}");
                plan = crate::rows(session, &explain).await.remove(0).remove(0);
            }
        }
        let plan = plan.expect("one of the statements is a query");
        if shape(&plan) != shape(&golden) {
            different.push(format!("{}: the database has\n{plan}\nthe golden plan is\n{golden}", query.name));
        }
    }
    assert!(different.is_empty(), "{} of the plans differ\n{}", different.len(), different.join("\n"));
}

/// Writes what the optimizer is told of the workload's tables. The golden tests of the optimizer explain the fields.
pub async fn write_statistics(session: &mut Session, workload: Workload, scale: f64) {
    let mut text = String::from("# Written by the tests of the lab; the fields are explained in statistics.rs.\n");
    let (tables, known) = session.statistics(workload.name()).expect("the database is there");
    for table in &tables {
        let rows = known.row_count(table).expect("rows are counted");
        writeln!(text, "table\t{}\t{rows}", table.name).expect("texts grow");
        for position in 0..table.columns.len() {
            let statistics = known.column(table, position).expect("columns have statistics");
            text += &column_line(table, position, &statistics);
        }
        let sample = known.sample(table).expect("a load keeps a sample");
        writeln!(text, "sample\t{}", serde_json::to_string(&*sample).expect("plain data")).expect("texts grow");
        for (position, index) in table.indexes.iter().enumerate() {
            let statistics = known.index(table, position).expect("indexes have statistics");
            write!(text, "index\t{}\t{}\t{}", index.name, statistics.leaf_pages, statistics.height)
                .expect("texts grow");
            statistics.distinct.iter().for_each(|d| write!(text, "\t{d:.3}").expect("texts grow"));
            text.push('\n');
            for (value, rows) in counts(session, table, position, &*known).await {
                writeln!(text, "until\t{rows}\t{}", shown(&value)).expect("texts grow");
            }
        }
    }
    let path = optimizer_tests().join("golden").join(format!("statistics-{}.txt", name(workload, scale)));
    std::fs::write(path, text).expect("the file can be written");
}

fn column_line(table: &TableDef, position: usize, statistics: &ColumnStatistics) -> String {
    let line = format!("column\t{}\t{:.3}", table.columns[position].name, statistics.distinct);
    match (&statistics.min, &statistics.max) {
        (Some(min @ (Value::Int(_) | Value::Decimal(_) | Value::Date(_) | Value::Text(_))), Some(max)) => {
            format!("{line}\t{}\t{}\n", shown(min), shown(max))
        }
        _ => line + "\n",
    }
}

fn shown(value: &Value) -> String {
    value.to_text(0).unwrap_or_default()
}

/// Values of an index's first part, each with the number of entries up to it.
async fn counts(session: &mut Session, table: &TableDef, index: usize, known: &dyn Statistics) -> Vec<(Value, f64)> {
    let Some(first) = table.indexes[index].parts.first() else { return Vec::new() };
    let Some(column) = known.column(table, first.column) else { return Vec::new() };
    let rows_until = |value: &Value| {
        let until = KeyRange { lower: Bound::Unbounded, upper: Bound::Included(vec![value.clone()]) };
        known.range_rows(table, index, &[until]).expect("indexes are dived into")
    };
    let spread = |min: i64, max: i64| {
        let mut values: Vec<i64> = (0..=PLACES).map(|i| min + (max - min) * i64::from(i) / i64::from(PLACES)).collect();
        values.dedup();
        values
    };
    let counted = |values: Vec<Value>| values.into_iter().map(|v| (rows_until(&v), v)).map(|(rows, v)| (v, rows));
    match (&column.min, &column.max) {
        (Some(Value::Int(min)), Some(Value::Int(max))) => {
            uneven(counted(spread(*min, *max).into_iter().map(Value::Int).collect()).collect())
        }
        (Some(Value::Date(min)), Some(Value::Date(max))) => {
            let days = spread(Days::of_code(*min).0.into(), Days::of_code(*max).0.into());
            let dates = days.into_iter().map(|day| Value::Date(Days(day as i32).code()));
            uneven(counted(dates.collect()).collect())
        }
        (Some(Value::Text(_)), _) if column.distinct <= TEXTS_MAX => {
            let name = &table.columns[first.column].name;
            let all =
                crate::rows(session, &format!("select distinct {name} from {} order by {name}", table.name)).await;
            counted(all.into_iter().filter_map(|mut row| row.remove(0)).map(Value::Text).collect()).collect()
        }
        _ => Vec::new(),
    }
}

/// The counts without those that lie evenly between their neighbours.
fn uneven(counts: Vec<(Value, f64)>) -> Vec<(Value, f64)> {
    let off = |first: usize, at: usize, last: usize| {
        let share = (at - first) as f64 / (last - first) as f64;
        (counts[first].1 + (counts[last].1 - counts[first].1) * share - counts[at].1).abs()
    };
    let allowed = counts.last().map_or(0.0, |(_, all)| all * UNEVEN);
    let (mut kept, mut parts) = (vec![true; counts.len()], vec![(0, counts.len().saturating_sub(1))]);
    while let Some((first, last)) = parts.pop() {
        let farthest = (first + 1..last).max_by(|a, b| off(first, *a, last).total_cmp(&off(first, *b, last)));
        match farthest {
            Some(at) if off(first, at, last) > allowed => parts.extend([(first, at), (at, last)]),
            _ => kept.iter_mut().take(last).skip(first + 1).for_each(|k| *k = false),
        }
    }
    counts.into_iter().zip(kept).filter_map(|(count, kept)| kept.then_some(count)).collect()
}
