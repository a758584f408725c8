//! All queries of both workloads against reference answers that another engine computed, row by row and in order.
//! At scale 0.1 the plans that the queries get are compared, too, with the golden plans of the optimizer, and the
//! rows that the optimizer expects with those found.

mod plans;
mod q_errors;

use muster_engine::{Database, DatabaseOptions, Durability, NoLocalFiles, Session, SessionOptions};
use muster_lab::{
    Workload,
    load::{Quiet, load},
};
use serde_json::Value as Json;
use std::sync::Arc;

/// One part in a million: the references give averages as doubles.
const TOLERANCE: f64 = 1e-6;

fn open(directory: &std::path::Path) -> Arc<Database> {
    let options = DatabaseOptions {
        buffer_pool_bytes: 256 << 20,
        memory_limit_bytes: 1 << 30,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 2,
        ..DatabaseOptions::default()
    };
    Database::open(directory, options).expect("a new data directory opens")
}

fn session(database: &Arc<Database>) -> Session {
    let local_files = Arc::new(NoLocalFiles);
    database.session(SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files })
}

/// The rows of the last statement that yields any.
async fn rows(session: &mut Session, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    for statement in session.split(sql).expect("the text splits") {
        let batches = session.query(&statement).await.unwrap_or_else(|e| panic!("{e}\n{statement}"));
        if batches.is_empty() {
            continue;
        }
        rows.clear();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let cell = |a: &arrow_array::ArrayRef| {
                    muster_engine::value_at(a, row).expect("a value of a result").to_text(0)
                };
                rows.push(batch.columns().iter().map(cell).collect());
            }
        }
    }
    rows
}

fn cell_matches(got: &Option<String>, want: &Json) -> bool {
    match (got, want) {
        (None, Json::Null) => true,
        (Some(got), Json::String(want)) => got == want,
        (Some(got), Json::Number(want)) if want.is_f64() => {
            let (got, want) = (got.parse::<f64>().unwrap_or(f64::NAN), want.as_f64().unwrap_or(f64::NAN));
            (got - want).abs() <= (TOLERANCE * want.abs()).max(5.1e-7)
        }
        (Some(got), Json::Number(want)) => got == &want.to_string(),
        _ => false,
    }
}

fn check_rows(name: &str, got: &[Vec<Option<String>>], want: &Json) {
    let want = want.as_array().expect("rows are a list");
    assert_eq!(got.len(), want.len(), "{name}: rows");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let want = want.as_array().expect("a row is a list");
        let same = got.len() == want.len() && got.iter().zip(want).all(|(g, w)| cell_matches(g, w));
        assert!(same, "{name}, row {i}:\n got  {got:?}\n want {want:?}");
    }
}

/// Small answers are given whole; large ones as count, first and last rows, and sums of the numeric columns.
fn check(name: &str, got: &[Vec<Option<String>>], answer: &Json) {
    if let Some(count) = answer["row_count"].as_u64() {
        assert_eq!(got.len() as u64, count, "{name}: rows");
    }
    if !answer["rows"].is_null() {
        return check_rows(name, got, &answer["rows"]);
    }
    let (first, last) = (&answer["first_rows"], &answer["last_rows"]);
    let count = |rows: &Json| rows.as_array().map_or(0, Vec::len);
    check_rows(name, &got[..count(first)], first);
    check_rows(name, &got[got.len() - count(last)..], last);
    let columns = answer["columns"].as_array().expect("columns are a list");
    for (column, want) in answer["sums"].as_object().expect("sums by column") {
        let at = columns.iter().position(|c| c == column).expect("a summed column is one of the result's");
        let values = got.iter().filter_map(|r| r[at].as_deref());
        let sum = values
            .map(|v| muster_types::Decimal::parse(v).expect("a summed column is exact"))
            .reduce(|a, b| {
                let scale = a.scale.max(b.scale);
                let unscaled = |d: muster_types::Decimal| d.rescale(scale).expect("fits").unscaled();
                muster_types::Decimal::wide(unscaled(a) + unscaled(b), scale)
            })
            .expect("a large answer has rows");
        let want = muster_types::Decimal::parse(want.as_str().expect("a sum is a text")).expect("a sum is a number");
        assert_eq!(sum, want, "{name}: sum of {column}");
    }
}

async fn check_workload(workload: Workload, scale: f64, answers: &str, variants: &[(&str, &str)]) {
    let answers: Json = serde_json::from_str(answers).expect("the answers are JSON");
    let directory = tempfile::tempdir().expect("a temporary folder");
    let database = open(directory.path());
    let mut session = session(&database);
    let data = workload.data_set(scale).expect("a scale there is");
    load(&mut session, &data, &Quiet).await.expect("the workload loads");
    if scale == 0.1 {
        plans::check(&mut session, workload, scale).await;
        q_errors::check(&mut session, workload, scale).await;
    }
    let queries = workload.queries().iter().map(|q| (q.name, q.sql));
    for (name, sql) in queries.chain(variants.iter().copied()) {
        let key = [name.to_string(), name.to_uppercase(), name.replace('q', "Q")];
        let answer = key.iter().map(|k| &answers[k]).find(|a| !a.is_null()).expect("there is an answer");
        check(name, &rows(&mut session, sql).await, answer);
    }
}

macro_rules! variants {
    ($folder:literal: $($file:literal => $answer:literal),* $(,)?) => {
        &[$(($answer, include_str!(concat!("../queries/", $folder, "/", $file, ".sql")))),*]
    };
}

const DBT3_VARIANTS: &[(&str, &str)] = variants!("dbt3-variants":
    "q15-view" => "q15",
    "seed-q3" => "seed-q3",
    "seed-q10" => "seed-q10",
    "seed-q19" => "seed-q19",
    "seed-q16" => "seed-q16",
    "seed-q18-in" => "seed-q18-in",
    "seed-q18-derived" => "seed-q18-derived",
    "seed-avg-price" => "seed-avg-price",
    "seed-subselect-limit" => "seed-subselect-limit",
);

const SSB_VARIANTS: &[(&str, &str)] = variants!("ssb-variants": "q1.2-literal" => "Q1.2-literal");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dbt3_at_scale_0_01() {
    check_workload(Workload::Dbt3, 0.01, include_str!("data/dbt3-answers-sf0.01.json"), DBT3_VARIANTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dbt3_at_scale_0_1() {
    check_workload(Workload::Dbt3, 0.1, include_str!("data/dbt3-answers-sf0.1.json"), DBT3_VARIANTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ssb_at_scale_0_01() {
    check_workload(Workload::Ssb, 0.01, include_str!("data/ssb-answers-sf0.01.json"), SSB_VARIANTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ssb_at_scale_0_1() {
    check_workload(Workload::Ssb, 0.1, include_str!("data/ssb-answers-sf0.1.json"), SSB_VARIANTS).await;
}

/// Writes the statistics that the golden plans of scale 1 are made with:
/// `cargo test --release -p muster-lab --test answers -- --ignored statistics_of_scale_1`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "loads both workloads at scale 1, which takes minutes"]
async fn statistics_of_scale_1() {
    for workload in Workload::ALL {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let database = open(directory.path());
        let mut session = session(&database);
        let data = workload.data_set(1.0).expect("a scale there is");
        load(&mut session, &data, &Quiet).await.expect("the workload loads");
        plans::write_statistics(&mut session, workload, 1.0).await;
    }
}

/// Every query of the workload under every flag of `optimizer_switch` changed by itself: strategies change, rows do
/// not.
async fn check_switches(workload: Workload, scale: f64, answers: &str) {
    let answers: Json = serde_json::from_str(answers).expect("the answers are JSON");
    let directory = tempfile::tempdir().expect("a temporary folder");
    let database = open(directory.path());
    let mut session = session(&database);
    let data = workload.data_set(scale).expect("a scale there is");
    load(&mut session, &data, &Quiet).await.expect("the workload loads");
    let all = rows(&mut session, "select @@optimizer_switch").await.remove(0).remove(0).expect("a value");
    assert!(all.contains("mrr=on"), "{all}");
    for flag in all.split(',') {
        let (flag, state) = flag.split_once('=').expect("flag=state");
        let changed = format!("{flag}={}", if state == "on" { "off" } else { "on" });
        session.query(&format!("set optimizer_switch = '{changed}'")).await.expect("a flag can be changed");
        for query in workload.queries() {
            let key = [query.name.to_string(), query.name.replace('q', "Q")];
            let answer = key.iter().map(|k| &answers[k]).find(|a| !a.is_null()).expect("there is an answer");
            check(&format!("{changed}, {}", query.name), &rows(&mut session, query.sql).await, answer);
        }
        session.query("set optimizer_switch = default").await.expect("flags can be restored");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dbt3_under_every_switch() {
    check_switches(Workload::Dbt3, 0.01, include_str!("data/dbt3-answers-sf0.01.json")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ssb_under_every_switch() {
    check_switches(Workload::Ssb, 0.01, include_str!("data/ssb-answers-sf0.01.json")).await;
}
