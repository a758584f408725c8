//! TPC-C at a reduced size, on a data directory and on a server.

use muster_engine::{Database, DatabaseOptions, Durability};
use muster_lab::{
    load::Quiet,
    target::{AnyTarget, ServerAddress, TargetSession, TestedDatabase},
    tpcc::{self, Kind, Measured, RunOptions, Scale, Table, TpccReport, conditions},
};
use muster_server::{Server, ServerOptions};
use std::{path::Path, sync::Arc, time::Duration};

const SCALE: Scale = Scale { warehouses: 2, items: 500, customers: 60, seed: 7 };

fn open(directory: &Path) -> Arc<Database> {
    let options = DatabaseOptions {
        buffer_pool_bytes: 32 << 20,
        memory_limit_bytes: 64 << 20,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 1,
        ..DatabaseOptions::default()
    };
    Database::open(directory, options).expect("a new data directory opens")
}

fn options(seconds: f64, keeps_orders: bool) -> RunOptions {
    RunOptions {
        schema: "orders_of_a_test".into(),
        threads: 4,
        warm_up: Duration::ZERO,
        measured: Duration::from_secs_f64(seconds),
        seed: 3,
        keeps_orders,
        ends_at_error: false,
        machine: None,
    }
}

async fn prepared(database: &TestedDatabase) -> AnyTarget {
    let schema = options(0.0, false).schema;
    tpcc::prepare(database, &schema, SCALE, false, &Quiet).await.expect("the tables load");
    database.connect(Some(&schema)).await.expect("the database is there")
}

async fn report(database: &TestedDatabase) -> TpccReport {
    let (measured, options) = (Measured { database, name: "test".into(), scale: SCALE }, options(1.5, false));
    let mut report = tokio::task::block_in_place(|| tpcc::measure(&measured, &options)).expect("the mix runs");
    tpcc::check(&measured, &options, true, &mut report).await.expect("the conditions can be checked");
    report
}

/// Everything that a clean run shows.
fn assert_clean(report: &TpccReport) {
    assert!(report.is_clean(), "{}", tpcc::text(report));
    assert_eq!(report.conditions.len(), 12);
    assert_eq!(report.per_second.len(), 1);
    assert!(report.transactions > 20 && report.new_orders_per_minute > 0.0, "{}", tpcc::text(report));
    for kind in &report.kinds {
        let latencies: u64 = kind.histogram.iter().map(|(_, count)| count).sum();
        assert_eq!(latencies, kind.committed + kind.rolled_back, "{:?}", kind.kind);
    }
    let cost = |kind| report.log_by_kind.iter().find(|cost| cost.kind == kind).expect("every kind has its cost").bytes;
    assert!(cost(Kind::Delivery) > cost(Kind::Payment), "{:?}", report.log_by_kind);
    assert!(cost(Kind::Payment) > cost(Kind::StockLevel), "{:?}", report.log_by_kind);
}

async fn number(target: &mut AnyTarget, sql: &str) -> i64 {
    target.query(sql).await.and_then(|answer| answer.number()).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_stays_consistent() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = TestedDatabase::Embedded(open(directory.path()));
    let mut target = prepared(&database).await;
    for table in Table::ALL.into_iter().filter(|table| *table != Table::OrderLine) {
        let rows = number(&mut target, &format!("SELECT COUNT(*) FROM {}", table.name())).await;
        assert_eq!(rows as u64, table.rows(SCALE), "{}", table.name());
    }
    assert_clean(&report(&database).await);
}

/// Changes that break a condition, and the conditions that they break.
const BREAKS: [(&str, &[u32]); 12] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", &[1, 8]),
    ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3", &[2]),
    ("DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 4 AND no_o_id = 50", &[3, 5, 11]),
    ("UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_w_id = 1 AND o_d_id = 1 AND o_id = 1", &[4, 6]),
    ("UPDATE orders SET o_carrier_id = NULL WHERE o_w_id = 2 AND o_d_id = 1 AND o_id = 1", &[5, 7]),
    ("DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 2 AND ol_o_id = 1 AND ol_number = 1", &[4, 6]),
    (
        "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 2 AND ol_d_id = 2 AND ol_o_id = 1 AND ol_number = 1",
        &[7],
    ),
    ("UPDATE history SET h_amount = h_amount + 1 WHERE h_w_id = 1 AND h_d_id = 1 AND h_c_id = 1", &[8, 9, 10]),
    ("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 3", &[1, 9]),
    ("UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 1 AND c_d_id = 3 AND c_id = 5", &[10, 12]),
    ("UPDATE customer SET c_delivery_cnt = 1 WHERE c_w_id = 1 AND c_d_id = 3 AND c_id = 5", &[11]),
    ("UPDATE customer SET c_ytd_payment = 0 WHERE c_w_id = 1 AND c_d_id = 3 AND c_id = 5", &[12]),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_condition_sees_what_breaks_it() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = TestedDatabase::Embedded(open(directory.path()));
    let mut target = prepared(&database).await;
    let mut seen = std::collections::BTreeSet::new();
    for (change, broken) in BREAKS {
        target.begin().await.expect("a transaction begins");
        let changed = target.query(change).await.unwrap_or_else(|e| panic!("{change}: {e}"));
        assert_eq!(changed.affected_rows, 1, "{change}");
        let results = conditions::check_all(&mut target, SCALE).await.expect("the conditions can be checked");
        target.rollback().await.expect("a transaction ends");
        let violated: Vec<u32> = results.iter().filter(|r| !r.holds()).map(|r| r.number).collect();
        assert_eq!(violated, broken, "{change}");
        seen.extend(violated);
    }
    assert_eq!(seen.len(), 12, "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_has_the_same_rows_and_stays_consistent() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let socket = directory.path().join("s.sock");
    let served = open(&directory.path().join("data"));
    let server_options = ServerOptions {
        listen: "127.0.0.1:0".parse().expect("an address"),
        socket: Some(socket.clone()),
        connections_max: 20,
        tls_directory: directory.path().join("data"),
    };
    let server = Server::bind(served.clone(), server_options).await.expect("the socket is free");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(server.run(async { drop(stopped.await) }));
    let url = format!("mysql://root@localhost/?socket={}", socket.display());
    let address: ServerAddress = url.parse().expect("an address");
    let database = TestedDatabase::Server(address);
    let mut target = prepared(&database).await;
    let embedded = TestedDatabase::Embedded(open(&directory.path().join("embedded")));
    let mut other = prepared(&embedded).await;
    for table in Table::ALL {
        let sql = format!("SELECT * FROM {}", table.name());
        let (served, embedded) = (target.query(&sql).await, other.query(&sql).await);
        let (mut served, mut embedded) = (served.expect("rows").texts(), embedded.expect("rows").texts());
        served.sort();
        embedded.sort();
        assert!(!served.is_empty() && served == embedded, "{}", table.name());
    }
    assert_clean(&report(&database).await);
    drop(target);
    let _ = stop.send(());
    running.await.expect("the server ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_that_were_acknowledged_are_there() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = TestedDatabase::Embedded(open(directory.path()));
    let mut target = prepared(&database).await;
    let before = number(&mut target, "SELECT COUNT(*) FROM orders").await;
    let options = options(1.0, true);
    let result = tokio::task::block_in_place(|| tpcc::run(&database, SCALE, &options)).expect("the mix runs");
    let orders = &result.tally.acknowledged;
    assert_eq!(number(&mut target, "SELECT COUNT(*) FROM orders").await - before, orders.len() as i64);
    assert!(!orders.is_empty());
    assert_eq!(tpcc::missing_orders(&mut target, orders).await, Ok(0));
    let first = orders[0];
    let sql = format!(
        "DELETE FROM orders WHERE o_w_id = {} AND o_d_id = {} AND o_id = {}",
        first.warehouse, first.district, first.order
    );
    target.query(&sql).await.expect("an order can be deleted");
    assert_eq!(tpcc::missing_orders(&mut target, orders).await, Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_data_are_not_taken_for_these() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = TestedDatabase::Embedded(open(directory.path()));
    prepared(&database).await;
    let (schema, larger) = (options(0.0, false).schema, Scale { warehouses: 3, ..SCALE });
    let error = tpcc::prepare(&database, &schema, larger, false, &Quiet).await.expect_err("there are two warehouses");
    assert!(error.to_string().contains("has 2 rows of warehouse"), "{error}");
    assert!(tpcc::prepare(&database, "a`b", SCALE, false, &Quiet).await.is_err());
    tpcc::prepare(&database, &schema, larger, true, &Quiet).await.expect("the tables load anew");
}
