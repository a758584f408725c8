//! Pages of applications on a data directory and on a server, in turn.

use muster_engine::{Database, DatabaseOptions, Durability};
use muster_lab::{
    load::Quiet,
    pages::{PAGES, PageOptions, PagesReport, measure, text},
    target::{MeasuredDatabase, ServerAddress, TargetError, TargetSession, TestedDatabase},
};
use muster_server::{Server, ServerOptions};
use std::{path::Path, sync::Arc};

fn open(path: &Path) -> Arc<Database> {
    let options = DatabaseOptions {
        buffer_pool_bytes: 32 << 20,
        memory_limit_bytes: 64 << 20,
        durability: Durability::Relaxed,
        threads: 2,
        ..DatabaseOptions::default()
    };
    Database::open(path, options).expect("a new data directory opens")
}

fn options(only: &[&str]) -> PageOptions {
    PageOptions {
        scale: 0.02,
        only: only.iter().map(|name| (*name).to_owned()).collect(),
        reload: false,
        rounds: 2,
        runs: 3,
        warm_ups: 2,
        seed: 1,
    }
}

/// A data directory, and a server of another one, for as long as `work` takes.
async fn with_two<R>(work: impl AsyncFnOnce(&[MeasuredDatabase]) -> R) -> R {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("s.sock");
    let server_options = ServerOptions {
        listen: "127.0.0.1:0".parse().expect("an address"),
        socket: Some(socket.clone()),
        connections_max: 20,
        tls_directory: directory.path().to_owned(),
    };
    let server = Server::bind(open(&directory.path().join("served")), server_options).await.expect("a free socket");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(server.run(async { drop(stopped.await) }));
    let address: ServerAddress =
        format!("mysql://root@localhost/?socket={}", socket.display()).parse().expect("an address");
    let measured =
        |name: &str, database| MeasuredDatabase { name: name.to_owned(), schema: "pages_of_a_test".into(), database };
    let embedded = TestedDatabase::Embedded(open(&directory.path().join("embedded")));
    let both = [measured("embedded", embedded), measured("served", TestedDatabase::Server(address))];
    let result = work(&both).await;
    let _ = stop.send(());
    running.await.expect("the server ends");
    result
}

async fn measured(databases: &[MeasuredDatabase], only: &[&str]) -> Result<PagesReport, TargetError> {
    measure(databases, &options(only), &Quiet, &|_| {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_have_times_and_the_same_rows() {
    with_two(async |both| {
        let report = measured(both, &[]).await.expect("the data can be loaded");
        assert!(report.is_clean(), "{}", text(&report));
        assert_eq!(report.pages.len(), PAGES.len());
        assert_eq!(report.compared().2, PAGES.len());
        assert!(report.pages.iter().flat_map(|page| &page.times).all(|t| t.us.runs == 6 && t.first_us > 0.0));
        // The data are there.
        let again = measured(both, &["forum: newest", "tickets: board"]).await.expect("the data are there");
        assert_eq!(
            again.pages.iter().map(|page| page.name).collect::<Vec<_>>(),
            ["forum: newest comments", "tickets: board of a project"]
        );
        assert!(text(&again).contains("served"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_rows_are_an_error_of_their_page() {
    with_two(async |both| {
        measured(both, &["shop: open orders"]).await.expect("the data can be loaded");
        let mut target = both[1].database.connect(Some(&both[1].schema)).await.expect("a connection");
        target.query("UPDATE orders SET status = 'opened' WHERE status = 'open' LIMIT 1").await.expect("a change");
        let report = measured(both, &["shop: open orders", "shop: first and last"]).await.expect("the data are there");
        let errors: Vec<bool> = report.pages.iter().map(|page| page.error.is_some()).collect();
        assert_eq!(errors, [true, false], "{}", text(&report));
        assert!(!report.is_clean() && text(&report).contains("other rows: SELECT COUNT(*)"), "{}", text(&report));
        assert!(measured(both, &["no such page"]).await.is_err());
    })
    .await;
}
