//! Times of queries, on a data directory and on a server.

use muster_engine::{Database, DatabaseOptions, Durability};
use muster_lab::{
    Experiment, Workload,
    experiment::{Queries, Strategy},
    load::Quiet,
    query_times::{QueriesReport, QueryOptions, QueryReport, chart, measure, measure_experiment, text},
    target::{ServerAddress, ServerTarget, TargetError, TargetSession},
    tpcc::settings::Host,
};
use muster_server::{Server, ServerOptions};
use std::{path::Path, time::Duration};

fn database_options() -> DatabaseOptions {
    DatabaseOptions {
        buffer_pool_bytes: 32 << 20,
        memory_limit_bytes: 64 << 20,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 1,
        ..DatabaseOptions::default()
    }
}

fn directory(path: &Path) -> Host {
    Host::Directory { path: path.to_owned(), options: Box::new(database_options()) }
}

fn options(only: &[&str]) -> QueryOptions {
    QueryOptions {
        workload: Workload::Dbt3,
        schema: "queries_of_a_test".into(),
        scale: 0.01,
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        reload: false,
        warm_only: false,
        before_cold: None,
        warm_ups: 1,
        cov_max: 0.0,
        runs_max: 4,
        time_max: Duration::from_secs(60),
        timeout: Duration::from_secs(60),
    }
}

async fn measured(host: &Host, options: &QueryOptions) -> Result<QueriesReport, TargetError> {
    measure(host, options, &Quiet, &|_| {}).await
}

/// A server in this process, for as long as `work` takes.
async fn with_server<R>(path: &Path, work: impl AsyncFnOnce(Host) -> R) -> R {
    let socket = path.join("s.sock");
    let database = Database::open(path.join("data"), database_options()).expect("a new data directory opens");
    let server_options = ServerOptions {
        listen: "127.0.0.1:0".parse().expect("an address"),
        socket: Some(socket.clone()),
        connections_max: 20,
        tls_directory: path.join("data"),
    };
    let server = Server::bind(database, server_options).await.expect("the socket is free");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(server.run(async { drop(stopped.await) }));
    let address: ServerAddress =
        format!("mysql://root@localhost/?socket={}", socket.display()).parse().expect("an address");
    let result = work(Host::Server(address)).await;
    let _ = stop.send(());
    running.await.expect("the server ends");
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_and_a_server_give_the_same_rows() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = options(&["q01", "q04", "q13", "q14"]);
    let embedded = measured(&directory(&folder.path().join("embedded")), &options).await.expect("the queries run");
    let served = with_server(folder.path(), async |host| measured(&host, &options).await.expect("the queries run"));
    let served = served.await;
    assert!(embedded.is_clean() && served.is_clean(), "{}{}", text(&embedded), text(&served));
    assert_eq!(embedded.queries.len(), 4);
    for (embedded, served) in embedded.queries.iter().zip(&served.queries) {
        assert_eq!((embedded.name, &embedded.rows), (served.name, &served.rows));
        assert!(embedded.rows.as_ref().is_some_and(|rows| rows.count > 0), "{embedded:?}");
        // No times agree entirely, so the runs end at their limit.
        assert_eq!((embedded.warm_ms.runs, served.warm_ms.runs), (4, 4), "{embedded:?} {served:?}");
        assert_eq!(embedded.cold_ms.map(|cold| cold.runs), Some(4), "{embedded:?}");
        assert_eq!(served.cold_ms, None, "{served:?}");
    }
    assert_eq!(served.notes.len(), 1, "{:?}", served.notes);
    assert!(text(&served).contains("note: no cold runs"), "{}", text(&served));
    assert_eq!(embedded.environment.settings.get("innodb_buffer_pool_size"), Some(&(32 << 20).to_string()));
    let svg = chart::svg(&[embedded, served]);
    // Two reports, four queries, two panels; and the page and two keys.
    assert_eq!(svg.matches("<rect").count(), 2 * 4 * 2 + 3, "{svg}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_may_fail_alone() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let mut options = options(&["q01", "q06"]);
    let host = directory(folder.path());
    let report = measured(&host, &QueryOptions { warm_only: true, ..options.clone() }).await.expect("the queries run");
    assert!(report.queries.iter().all(|query| query.cold_ms.is_none()), "{}", text(&report));
    // The longest time of a statement is nothing to Q1.
    options.timeout = Duration::from_millis(1);
    let report = measured(&host, &options).await.expect("the others go on");
    let failed = report.queries.iter().find(|query| query.name == "q01").expect("it was asked for");
    assert!(failed.error.as_ref().is_some_and(|e| e.contains("3024")), "{failed:?}");
    assert!(!report.is_clean() && text(&report).contains("q01 failed"), "{}", text(&report));
    assert_eq!(report.queries.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_data_and_unknown_queries_are_refused() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let host = directory(folder.path());
    let mut options = options(&["q06"]);
    options.warm_only = true;
    measured(&host, &options).await.expect("the query runs");
    let larger = QueryOptions { scale: 0.02, ..options.clone() };
    let error = measured(&host, &larger).await.expect_err("the data are of another scale");
    assert!(error.to_string().contains("are to be there"), "{error}");
    measured(&host, &QueryOptions { reload: true, ..larger }).await.expect("the data load anew");
    let unknown = QueryOptions { only: vec!["q99".into()], ..options.clone() };
    let error = measured(&host, &unknown).await.expect_err("there is no such query");
    assert!(error.to_string().contains("no query 'q99'"), "{error}");
    let unnamed = QueryOptions { schema: "a`b".into(), ..options };
    assert!(measured(&host, &unnamed).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn strategies_run_on_a_server() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let experiment = Experiment::find("order-limit").expect("there is such an experiment");
    let options = QueryOptions { runs_max: 1, ..options(&[]) };
    let report = with_server(folder.path(), async |host| {
        measure_experiment(&host, experiment, &options, &Quiet, &|_| {}).await.expect("the strategies run")
    });
    let report = report.await;
    assert!(report.is_clean(), "{}", text(&report));
    assert_eq!(report.notes.len(), 1, "the plans are those of their strategies: {:?}", report.notes);
    let [sorted, ordered] = report.queries.as_slice() else { panic!("{}", text(&report)) };
    assert!(sorted.plan.contains("Sort") && !ordered.plan.contains("Sort"), "{} {}", sorted.plan, ordered.plan);
    assert_eq!(sorted.rows.as_ref().map(|rows| rows.count), Some(20));
    assert_eq!(sorted.rows, ordered.rows);
    assert!(text(&report).starts_with("order-limit: "), "{}", text(&report));
}

const fn strategy(name: &'static str, settings: &'static [&'static str], sql: &'static str) -> Strategy {
    Strategy { name, settings, queries: Queries::One(sql), shows: &["Table scan on region"], lacks: &[] }
}

const DOUBTFUL: Experiment = Experiment {
    name: "doubtful",
    title: "Strategies that are not",
    expectation: "each is found out",
    workload: Workload::Dbt3,
    strategies: &[
        strategy("first", &["optimizer_switch = 'no_such_switch=off,mrr=off'"], "SELECT r_name FROM region"),
        strategy("no such switch", &["optimizer_switch = 'mrr=off,no_such_switch=on'"], "SELECT r_name FROM region"),
        strategy("other rows", &[], "SELECT r_regionkey FROM region"),
        strategy("other plan", &["global innodb_old_blocks_time = 7"], "SELECT 'ASIA' FROM nation LIMIT 0"),
    ],
};

#[tokio::test(flavor = "multi_thread")]
async fn strategies_that_are_none_are_found_out() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = QueryOptions { runs_max: 1, ..options(&[]) };
    let served = with_server(folder.path(), async |host| {
        let Host::Server(address) = &host else { panic!("the server runs already") };
        let mut target = ServerTarget::connect(address, None).await.expect("the server listens");
        let mut old_blocks_time =
            async || target.query("SELECT @@GLOBAL.innodb_old_blocks_time").await.and_then(|answer| answer.number());
        let before = old_blocks_time().await;
        assert!(before.is_ok() && before != Ok(7), "{before:?}");
        let during = std::sync::Mutex::new(Vec::new());
        let told = |query: &QueryReport| during.lock().expect("nobody panics with it").push(query.name);
        let report = measure_experiment(&host, &DOUBTFUL, &options, &Quiet, &told).await.expect("the others run");
        assert_eq!(old_blocks_time().await, before);
        assert_eq!(during.into_inner().expect("nobody panics with it").len(), 4);
        report
    });
    let report = served.await;
    let [first, skipped, other_rows, other_plan] = report.queries.as_slice() else { panic!("{}", text(&report)) };
    assert!(first.error.is_none() && first.skipped.is_none() && first.warm_ms.runs == 1, "{first:?}");
    assert!(skipped.skipped.as_ref().is_some_and(|reason| reason.contains("1231")), "{skipped:?}");
    assert_eq!(skipped.warm_ms.runs, 0);
    assert!(other_rows.error.as_ref().is_some_and(|e| e.contains("other rows than 'first'")), "{other_rows:?}");
    assert!(other_plan.error.is_some() && !report.is_clean(), "{other_plan:?}");
    let noted = |text: &str| report.notes.iter().any(|note| note == text);
    assert!(noted("'other plan': the plan does not show 'Table scan on region'"), "{:?}", report.notes);
    assert!(noted("'first': no switch for no_such_switch=off"), "{:?}", report.notes);
    assert_eq!(report.notes.len(), 3, "{:?}", report.notes);
}
