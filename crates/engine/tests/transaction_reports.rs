//! Tests of the tables and statements that show transactions and locks of rows: INNODB_TRX, data_locks,
//! data_lock_waits, the process list, counters, SHOW ENGINE INNODB STATUS.

mod fixture;

use muster_engine::{Database, Session, types::SqlError};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::task::JoinHandle;

struct Server {
    database: Arc<Database>,
    _directory: tempfile::TempDir,
}

impl Server {
    /// A table `t` with the rows 1, 3 and 5.
    async fn new() -> Server {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open(directory.path(), fixture::options()).unwrap();
        let server = Server { database, _directory: directory };
        let mut session = server.session().await;
        rows(&mut session, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10), KEY (b))").await;
        rows(&mut session, "INSERT INTO t VALUES (1, 'one'), (3, 'three'), (5, 'five')").await;
        server
    }

    async fn session(&self) -> Session {
        let mut session = fixture::session(&self.database, "root");
        for sql in ["CREATE DATABASE IF NOT EXISTS d", "USE d"] {
            rows(&mut session, sql).await;
        }
        session
    }
}

async fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    fixture::rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

/// The lines of a statement's answer.
async fn lines(session: &mut Session, sql: &str) -> Vec<String> {
    rows(session, sql).await.into_iter().map(|row| row.join(" ")).collect()
}

async fn value(session: &mut Session, sql: &str) -> String {
    lines(session, sql).await.concat()
}

/// Runs a statement that waits for a lock; returns once it does.
async fn waiting(
    server: &Server,
    mut session: Session,
    sql: &'static str,
) -> JoinHandle<(Session, Result<Vec<Vec<String>>, SqlError>)> {
    let before = waits(server).await;
    let running = tokio::spawn(async move {
        let found = fixture::rows(&mut session, sql).await;
        (session, found)
    });
    for _ in 0..1000 {
        if waits(server).await > before {
            return running;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{sql} does not wait");
}

/// Counts the waits for locks of rows so far.
async fn waits(server: &Server) -> u64 {
    let mut session = server.session().await;
    let sql =
        "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Innodb_row_lock_waits'";
    value(&mut session, sql).await.parse().unwrap()
}

const LOCKS: &str = "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, LOCK_TYPE, LOCK_MODE, LOCK_STATUS, LOCK_DATA \
                     FROM performance_schema.data_locks ORDER BY INDEX_NAME, LOCK_MODE, LOCK_DATA";

/// Where an index leads to the rows, a statement does not lock the whole table, though reading that would cost less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_locks_a_range_rather_than_the_table() {
    let server = Server::new().await;
    let mut session = server.session().await;
    rows(&mut session, "CREATE TABLE l (id INT PRIMARY KEY, n INT, m INT, KEY n (n))").await;
    let values: Vec<String> = (0..2000).map(|id| format!("({id}, {}, 0)", id % 40)).collect();
    rows(&mut session, &format!("INSERT INTO l VALUES {}", values.join(", "))).await;
    rows(&mut session, "ANALYZE TABLE l").await;
    for switch in ["on", "off"] {
        rows(&mut session, &format!("SET optimizer_switch = 'short_path={switch}'")).await;
        for (sql, most) in [
            ("UPDATE l SET m = 1 WHERE n BETWEEN 3 AND 5", 310),
            ("UPDATE l SET m = m + 1 WHERE n BETWEEN 3 AND 5 LIMIT 2", 310),
            ("DELETE FROM l WHERE n = 7", 110),
            ("SELECT * FROM l WHERE n BETWEEN 3 AND 5 FOR UPDATE", 310),
            ("SELECT m FROM l WHERE n = 7 FOR SHARE", 110),
        ] {
            rows(&mut session, "BEGIN").await;
            rows(&mut session, sql).await;
            let locks = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_TYPE = 'RECORD'";
            let locks: usize = value(&mut session, locks).await.parse().unwrap();
            assert!((2..=most).contains(&locks), "{sql}: {locks} locks");
            rows(&mut session, "ROLLBACK").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_have_their_modes_and_the_values_of_their_keys() {
    let server = Server::new().await;
    let (mut one, mut other) = (server.session().await, server.session().await);
    let mut expect = async |sql: &str, locks: &[&str]| {
        rows(&mut one, "BEGIN").await;
        rows(&mut one, sql).await;
        assert_eq!(lines(&mut other, LOCKS).await, locks, "{sql}");
        rows(&mut one, "ROLLBACK").await;
        assert_eq!(lines(&mut other, LOCKS).await, [""; 0]);
    };
    expect(
        "SELECT * FROM t WHERE a = 3 FOR UPDATE",
        &["d t NULL TABLE IX GRANTED NULL", "d t PRIMARY RECORD X,REC_NOT_GAP GRANTED 3"],
    )
    .await;
    expect(
        "SELECT * FROM t WHERE a = 3 FOR SHARE",
        &["d t NULL TABLE IS GRANTED NULL", "d t PRIMARY RECORD S,REC_NOT_GAP GRANTED 3"],
    )
    .await;
    // A row that is not there: the gap before the next one.
    expect(
        "SELECT * FROM t WHERE a = 2 FOR UPDATE",
        &["d t NULL TABLE IX GRANTED NULL", "d t PRIMARY RECORD X,GAP GRANTED 3"],
    )
    .await;
    expect(
        "SELECT * FROM t WHERE a > 3 FOR UPDATE",
        &[
            "d t NULL TABLE IX GRANTED NULL",
            "d t PRIMARY RECORD X GRANTED 5",
            "d t PRIMARY RECORD X GRANTED supremum pseudo-record",
        ],
    )
    .await;
    // A read through a secondary index locks the entry with the gap before it, the gap behind it, and the row.
    expect(
        "SELECT * FROM t FORCE INDEX (b) WHERE b = 'one' FOR UPDATE",
        &[
            "d t NULL TABLE IX GRANTED NULL",
            "d t b RECORD X GRANTED 'one', 1",
            "d t b RECORD X,GAP GRANTED 'three', 3",
            "d t PRIMARY RECORD X,REC_NOT_GAP GRANTED 1",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_whom_is_shown() {
    let server = Server::new().await;
    let (mut holder, waiter, mut other) = (server.session().await, server.session().await, server.session().await);
    let (holder_id, waiter_id) = (holder.id(), waiter.id());
    rows(&mut holder, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await;
    rows(&mut holder, "BEGIN").await;
    rows(&mut holder, "UPDATE t SET b = 'x' WHERE a = 3").await;
    let running = waiting(&server, waiter, "UPDATE t SET b = 'y' WHERE a = 3").await;
    let trx = "SELECT trx_mysql_thread_id, trx_state, trx_isolation_level, trx_rows_modified, trx_tables_locked, trx_query, \
               trx_operation_state, trx_is_read_only, trx_started <= NOW() FROM information_schema.INNODB_TRX ORDER BY trx_id";
    let expected = [
        format!("{holder_id} RUNNING READ COMMITTED 1 1 NULL NULL 0 1"),
        format!("{waiter_id} LOCK WAIT REPEATABLE READ 0 1 UPDATE t SET b = 'y' WHERE a = 3 starting index read 0 1"),
    ];
    assert_eq!(lines(&mut other, trx).await, expected);
    // The tables agree on names of locks and of transactions.
    let blocked = "SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id, l.LOCK_MODE, l.LOCK_STATUS, l.LOCK_DATA, \
                   h.LOCK_MODE, h.LOCK_STATUS, r.trx_requested_lock_id = w.REQUESTING_ENGINE_LOCK_ID \
                   FROM performance_schema.data_lock_waits w \
                   JOIN information_schema.INNODB_TRX r ON r.trx_id = w.REQUESTING_ENGINE_TRANSACTION_ID \
                   JOIN information_schema.INNODB_TRX b ON b.trx_id = w.BLOCKING_ENGINE_TRANSACTION_ID \
                   JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID \
                   JOIN performance_schema.data_locks h ON h.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID";
    let expected = format!("{waiter_id} {holder_id} X,REC_NOT_GAP WAITING 3 X,REC_NOT_GAP GRANTED 1");
    assert_eq!(lines(&mut other, blocked).await, [expected]);
    let process = format!("SELECT COMMAND, STATE FROM information_schema.PROCESSLIST WHERE ID = {waiter_id}");
    assert_eq!(lines(&mut other, &process).await, ["Query updating"]);
    let status = value(&mut other, "SHOW ENGINE INNODB STATUS").await;
    for part in [
        "\n------------\nTRANSACTIONS\n------------\nTrx id counter ",
        "\nHistory list length ",
        &format!("\nMySQL thread id {holder_id}, localhost root\n"),
        &format!("\nMySQL thread id {waiter_id}, localhost root updating\nUPDATE t SET b = 'y' WHERE a = 3\n"),
        "\n------- TRX HAS BEEN WAITING 0 SEC FOR THIS LOCK TO BE GRANTED:\nRECORD LOCKS ",
        " index PRIMARY of table `d`.`t` trx id ",
        " lock_mode X locks rec but not gap waiting: 3\n",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    let counters = counters(&mut other).await;
    assert_eq!((counters["Innodb_row_lock_current_waits"], counters["Innodb_row_lock_waits"]), (1, 1));
    tokio::time::sleep(Duration::from_millis(20)).await;
    rows(&mut holder, "COMMIT").await;
    running.await.unwrap().1.unwrap();
    let counters = self::counters(&mut other).await;
    assert_eq!((counters["Innodb_row_lock_current_waits"], counters["Innodb_row_lock_waits"]), (0, 1));
    let times = ["time", "time_avg", "time_max"].map(|name| counters[&format!("Innodb_row_lock_{name}")]);
    assert!(times[0] >= 20 && times == [times[0]; 3], "one wait: {times:?}");
    assert_eq!(lines(&mut other, trx).await, [""; 0]);
    assert_eq!(lines(&mut other, "SELECT * FROM performance_schema.data_lock_waits").await, [""; 0]);
}

/// The global counters of row locks.
async fn counters(session: &mut Session) -> BTreeMap<String, u64> {
    let pairs = rows(session, "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock%'").await.into_iter();
    pairs.map(|mut pair| (pair.remove(0), pair.remove(0).parse().unwrap())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_waits_with_its_intention() {
    let server = Server::new().await;
    let (mut holder, inserter, mut other) = (server.session().await, server.session().await, server.session().await);
    rows(&mut holder, "BEGIN").await;
    rows(&mut holder, "SELECT * FROM t WHERE a = 2 FOR UPDATE").await;
    let running = waiting(&server, inserter, "INSERT INTO t VALUES (2, 'two')").await;
    let waiting = "SELECT LOCK_MODE, LOCK_DATA FROM performance_schema.data_locks WHERE LOCK_STATUS = 'WAITING'";
    assert_eq!(lines(&mut other, waiting).await, ["X,GAP,INSERT_INTENTION 3"]);
    let states = "SELECT trx_operation_state, STATE FROM information_schema.INNODB_TRX \
                  JOIN information_schema.PROCESSLIST ON ID = trx_mysql_thread_id WHERE trx_state = 'LOCK WAIT'";
    assert_eq!(lines(&mut other, states).await, ["inserting update"]);
    rows(&mut holder, "ROLLBACK").await;
    running.await.unwrap().1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_deadlock_is_told() {
    let server = Server::new().await;
    let (mut one, mut two, mut other) = (server.session().await, server.session().await, server.session().await);
    let (one_id, two_id) = (one.id(), two.id());
    assert!(!value(&mut other, "SHOW ENGINE INNODB STATUS").await.contains("LATEST DETECTED DEADLOCK"));
    for (session, row) in [(&mut one, 1), (&mut two, 3)] {
        rows(session, "BEGIN").await;
        rows(session, &format!("DELETE FROM t WHERE a = {row}")).await;
    }
    rows(&mut one, "INSERT INTO t VALUES (8, 'more')").await;
    let running = waiting(&server, one, "UPDATE t SET b = 'x' WHERE a = 3").await;
    let failed = fixture::rows(&mut two, "UPDATE t SET b = 'y' WHERE a = 1").await;
    assert_eq!(failed.unwrap_err().code.number(), 1213);
    let (mut one, updated) = running.await.unwrap();
    updated.unwrap();
    rows(&mut one, "ROLLBACK").await;
    let status = value(&mut other, "SHOW ENGINE INNODB STATUS").await;
    let begin = status.find("LATEST DETECTED DEADLOCK").expect("a deadlock");
    let report = &status[begin..status.find("TRANSACTIONS\n").unwrap()];
    let said = |text: &str| assert!(report.contains(text), "{text}: {report}");
    // The transaction that began to wait last is the first one.
    said(&format!("MySQL thread id {two_id}\nUPDATE t SET b = 'y' WHERE a = 1\n"));
    said("*** (1) HOLDS THE LOCK(S):\n");
    said(&format!("MySQL thread id {one_id}\nUPDATE t SET b = 'x' WHERE a = 3\n"));
    said("*** (2) WAITING FOR THIS LOCK TO BE GRANTED:\n");
    // The row is deleted, so the gap before it is asked for, too.
    said("lock_mode X waiting: 3\n");
    said("*** WE ROLL BACK TRANSACTION (1)\n");
    let metric = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'";
    assert_eq!(value(&mut other, metric).await, "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_is_a_transaction_once_it_has_read() {
    let server = Server::new().await;
    let (mut reader, mut other) = (server.session().await, server.session().await);
    let trx =
        "SELECT trx_state, trx_rows_locked, trx_is_read_only, trx_isolation_level FROM information_schema.INNODB_TRX";
    rows(&mut reader, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY").await;
    rows(&mut reader, "BEGIN").await;
    assert_eq!(lines(&mut other, trx).await, [""; 0]);
    rows(&mut reader, "COMMIT").await;
    rows(&mut reader, "START TRANSACTION READ ONLY").await;
    rows(&mut reader, "SELECT b FROM t WHERE a = 1").await;
    assert_eq!(lines(&mut other, trx).await, ["RUNNING 0 1 REPEATABLE READ"]);
    let writer_sees = "SELECT trx_id > (1 << 48) FROM information_schema.INNODB_TRX";
    assert_eq!(value(&mut other, writer_sees).await, "1");
    rows(&mut reader, "COMMIT").await;
    assert_eq!(lines(&mut other, trx).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_view_keeps_history() {
    let server = Server::new().await;
    let (mut reader, mut writer) = (server.session().await, server.session().await);
    rows(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    for _ in 0..5 {
        rows(&mut writer, "UPDATE t SET b = CONCAT(b, 'x') WHERE a = 1").await;
    }
    let metric = "SELECT COUNT >= 5 FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";
    assert_eq!(value(&mut writer, metric).await, "1");
    let length = rows(&mut writer, "SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'").await.remove(0).remove(1);
    assert!(length.parse::<u64>().unwrap() >= 5, "{length}");
    rows(&mut reader, "COMMIT").await;
    for _ in 0..500 {
        if value(&mut writer, metric).await == "0" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing is purged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_for_a_table_is_told_as_such() {
    let server = Server::new().await;
    let (mut user, mut changer, mut other) = (server.session().await, server.session().await, server.session().await);
    let id = changer.id();
    rows(&mut user, "BEGIN").await;
    rows(&mut user, "SELECT * FROM t WHERE a = 1").await;
    let running = tokio::spawn(async move { fixture::rows(&mut changer, "DROP TABLE t").await });
    let state = format!("SELECT STATE FROM information_schema.PROCESSLIST WHERE ID = {id}");
    for _ in 0..1000 {
        if value(&mut other, &state).await == "Waiting for table metadata lock" {
            let shown = "SELECT OBJECT_NAME, LOCK_TYPE, LOCK_DURATION, LOCK_STATUS FROM performance_schema.metadata_locks \
                         WHERE OBJECT_SCHEMA = 'd' ORDER BY LOCK_STATUS";
            let locks = lines(&mut other, shown).await;
            assert_eq!(locks, ["t SHARED_READ TRANSACTION GRANTED", "t EXCLUSIVE TRANSACTION PENDING"]);
            rows(&mut user, "COMMIT").await;
            running.await.unwrap().unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the wait is not shown");
}

const LOCK_TABLES: [&str; 3] =
    ["performance_schema.data_locks", "performance_schema.data_lock_waits", "performance_schema.metadata_locks"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_who_may_see_others_sees_their_locks() {
    let server = Server::new().await;
    rows(&mut server.session().await, "CREATE USER eve").await;
    let mut eve = fixture::session(&server.database, "eve");
    let tables = ["information_schema.INNODB_TRX", "information_schema.INNODB_METRICS"];
    for table in tables.into_iter().chain(LOCK_TABLES) {
        let denied = fixture::rows(&mut eve, &format!("SELECT * FROM {table}")).await;
        assert_eq!(denied.unwrap_err().code.number(), 1227, "{table}");
    }
}
