//! A table whose leaves have several row layouts: read by every access path beside a twin whose rows are copied, and
//! changed by sessions beside statements that let columns come and go.

mod fixture;
mod random_data;

use fixture::rows;
use muster_engine::{Database, DatabaseOptions, Durability, Session, io::simulated::SimulatedDisk};
use random_data::Random;
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

fn open(directory: &Path) -> Arc<Database> {
    open_on(directory, Arc::new(SimulatedDisk::new()))
}

fn open_on(directory: &Path, disk: Arc<SimulatedDisk>) -> Arc<Database> {
    let options = DatabaseOptions {
        page_size: 4096,
        buffer_pool_bytes: 4 << 20,
        durability: Durability::Relaxed,
        ..fixture::options()
    };
    Database::open_on(directory, options, disk).unwrap()
}

/// Runs a statement that succeeds. Returns its rows.
async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {} {}", e.code.number(), e.message))
}

/// Runs a statement for the table and for its twin; `{copied}` is the algorithm of the twin.
async fn both(session: &mut Session, sql: &str) {
    for (table, algorithm) in [("t", ", ALGORITHM=INSTANT"), ("u", ", ALGORITHM=COPY")] {
        run(session, &sql.replace("{t}", table).replace("{algorithm}", algorithm)).await;
    }
}

/// Queries that take all access paths.
const QUERIES: [&str; 30] = [
    "SELECT * FROM {t} ORDER BY id",
    "SELECT * FROM {t} ORDER BY id DESC",
    "SELECT * FROM {t} WHERE id BETWEEN 90 AND 410 ORDER BY id",
    "SELECT * FROM {t} WHERE id BETWEEN 190 AND 310 ORDER BY id DESC LIMIT 70",
    "SELECT * FROM {t} WHERE id IN (1, 150, 350, 599, 1003) ORDER BY id",
    "SELECT * FROM {t} WHERE id = 150",
    "SELECT * FROM {t} WHERE id = 350",
    "SELECT * FROM {t} WHERE id = 599",
    "SELECT * FROM {t} FORCE INDEX (ka) WHERE a BETWEEN 3 AND 9 ORDER BY a, id",
    "SELECT a, id FROM {t} FORCE INDEX (ka) ORDER BY a DESC, id DESC LIMIT 200",
    "SELECT * FROM {t} FORCE INDEX (kb) WHERE b LIKE 'b1%' ORDER BY id",
    "SELECT * FROM {t} WHERE a = 3 OR b = 'b7' ORDER BY id",
    "SELECT a, COUNT(*) FROM {t} FORCE INDEX (ka) GROUP BY a ORDER BY a",
    "SELECT c, n, COUNT(*), SUM(a), MIN(b), MAX(b), AVG(d) FROM {t} GROUP BY c, n ORDER BY c, n",
    "SELECT DISTINCT c, n, d FROM {t} ORDER BY c, n, d",
    "SELECT COUNT(*) FROM {t}",
    "SELECT COUNT(c), COUNT(n), COUNT(d), MIN(c), MAX(n) FROM {t}",
    "SELECT id FROM {t} WHERE c = 5 ORDER BY id",
    "SELECT id FROM {t} WHERE c IS NULL OR n <> 'new' ORDER BY id",
    "SELECT id, n FROM {t} WHERE n LIKE 'ch%' AND d > 1 ORDER BY id",
    "SELECT x.id, y.id, y.c, y.n FROM {t} x JOIN {t} y ON y.id = x.a + 100 ORDER BY x.id",
    "SELECT COUNT(*), SUM(x.id * y.id) FROM {t} x JOIN {t} y ON x.c = y.c AND x.n = y.n",
    "SELECT STRAIGHT_JOIN x.id, y.id, y.d FROM {t} x JOIN {t} y FORCE INDEX (ka) ON y.a = x.a AND y.id < 20 ORDER BY 1, 2",
    "SELECT id, c FROM {t} x WHERE EXISTS (SELECT 1 FROM {t} y WHERE y.a = x.a AND y.id < 5 AND y.c = 5) ORDER BY id",
    "SELECT id, d, SUM(d) OVER (PARTITION BY c ORDER BY id) FROM {t} ORDER BY id",
    "SELECT * FROM {t} WHERE id BETWEEN 180 AND 320 ORDER BY id FOR SHARE",
    "SELECT * FROM {t} WHERE a = 4 ORDER BY id FOR UPDATE",
    "SELECT * FROM {t} WHERE (id, a) IN ((7, 7), (150, 10), (351, 11)) ORDER BY id",
    "SELECT MAX(CHAR_LENGTH(w)), COUNT(w), MIN(LEFT(w, 9)) FROM {t}",
    "SELECT * FROM {t} ORDER BY n, c DESC, id LIMIT 40",
];

/// The answers for a table.
async fn answers(session: &mut Session, table: &str, queries: &[&str]) -> Vec<Vec<Vec<String>>> {
    let mut answers = Vec::new();
    for query in queries {
        answers.push(run(session, &query.replace("{t}", table)).await);
    }
    answers
}

async fn assert_same(session: &mut Session, queries: &[&str], when: &str) {
    let (table, twin) = (answers(session, "t", queries).await, answers(session, "u", queries).await);
    for ((query, table), twin) in queries.iter().zip(table).zip(twin) {
        assert_eq!(table, twin, "{when}: {query}");
    }
}

async fn versions(session: &mut Session) -> Vec<Vec<String>> {
    run(
        session,
        "SELECT NAME, INSTANT_COLS, TOTAL_ROW_VERSIONS FROM information_schema.INNODB_TABLES WHERE NAME LIKE 'd/%'
         ORDER BY NAME",
    )
    .await
}

/// Makes a table with leaves of three layouts, and its twin.
async fn make_leaves_of_three_layouts(session: &mut Session) {
    let value = |id: usize| {
        let long = if id.is_multiple_of(50) { "REPEAT('long', 2000)".into() } else { format!("'w{id}'") };
        format!("({id}, {}, 'b{}', {long}, 'gone{id}')", id % 20, id % 40)
    };
    let values: Vec<String> = (0..600).map(value).collect();
    let insert = format!("INSERT INTO {{t}} VALUES {}", values.join(", "));
    // Leaves are of the layout of the moment at which they were changed last.
    for sql in [
        "CREATE TABLE {t} (id INT PRIMARY KEY, a INT, b VARCHAR(30), w TEXT, gone VARCHAR(90) DEFAULT 'gone', KEY ka (a), \
         KEY kb (b))",
        &insert,
        "ALTER TABLE {t} ADD c INT DEFAULT 5 FIRST, ADD n VARCHAR(20) NOT NULL DEFAULT 'new' AFTER a{algorithm}",
        "UPDATE {t} SET n = 'changed', w = 'short' WHERE id BETWEEN 150 AND 200",
        "DELETE FROM {t} WHERE id BETWEEN 160 AND 165",
        "ALTER TABLE {t} ALTER c SET DEFAULT 6",
        "ALTER TABLE {t} DROP gone, ADD d DECIMAL(10, 2) DEFAULT 1.25 AFTER id{algorithm}",
        "UPDATE {t} SET c = NULL, d = id WHERE id BETWEEN 300 AND 350",
        "INSERT INTO {t} (id, a, b, n) VALUES (1000, 3, 'b7', 'later'), (1003, 7, 'b11', 'later')",
        "DELETE FROM {t} WHERE id BETWEEN 340 AND 345",
    ] {
        both(session, sql).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaves_of_three_layouts_give_the_same_rows_by_every_access_path() {
    let (directory, disk) = (tempfile::tempdir().unwrap(), Arc::new(SimulatedDisk::new()));
    let database = open_on(directory.path(), Arc::clone(&disk));
    let mut session = fixture::session(&database, "root");
    run(&mut session, "CREATE DATABASE d").await;
    session.use_database("d").unwrap();
    make_leaves_of_three_layouts(&mut session).await;
    let expected = [["d/t", "0", "2"], ["d/u", "0", "0"]];
    assert_eq!(versions(&mut session).await, expected);
    assert_same(&mut session, &QUERIES, "three layouts").await;

    // A view keeps its rows while others are changed, and leaves with them.
    let mut snapshot = fixture::session(&database, "root");
    snapshot.use_database("d").unwrap();
    run(&mut snapshot, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    let plain: Vec<&str> = QUERIES.into_iter().filter(|query| !query.contains("FOR ")).collect();
    let before = answers(&mut snapshot, "t", &plain).await;
    for sql in [
        "UPDATE {t} SET c = c + 1, w = REPEAT('again', 1500) WHERE id % 30 = 7",
        "UPDATE {t} SET a = a + 1 WHERE id BETWEEN 120 AND 320",
        "DELETE FROM {t} WHERE id % 9 = 1",
        "BEGIN",
        "UPDATE {t} SET d = 7, w = REPEAT('in vain', 1000), a = 77 WHERE id < 90",
        "DELETE FROM {t} WHERE id > 400",
        "ROLLBACK",
    ] {
        both(&mut session, sql).await;
    }
    assert_eq!(answers(&mut snapshot, "t", &plain).await, before, "a view");
    assert_same(&mut session, &QUERIES, "changed").await;
    run(&mut snapshot, "COMMIT").await;
    drop(snapshot);

    both(&mut session, "CREATE INDEX kc ON {t} (c, n)").await;
    both(&mut session, "CREATE INDEX kd ON {t} (d)").await;
    let by_new_index = [
        "SELECT * FROM {t} FORCE INDEX (kc) WHERE c = 5 ORDER BY id",
        "SELECT c, n, id FROM {t} FORCE INDEX (kc) ORDER BY c, n, id",
        "SELECT * FROM {t} FORCE INDEX (kd) WHERE d BETWEEN 1 AND 310 ORDER BY id",
    ];
    assert_same(&mut session, &by_new_index, "new indexes").await;
    both(&mut session, "ANALYZE TABLE {t}").await;
    assert_same(&mut session, &QUERIES, "analyzed").await;
    fixture::wait_for_purge(&mut session).await;
    assert_eq!(run(&mut session, "CHECK TABLE t, u").await.len(), 2, "no page is lost");

    drop((session, database));
    let database = open_on(directory.path(), disk);
    let mut session = fixture::session(&database, "root");
    session.use_database("d").unwrap();
    assert_eq!(versions(&mut session).await, expected);
    assert_same(&mut session, &QUERIES, "opened again").await;
    both(&mut session, "ALTER TABLE {t} ADD z INT DEFAULT 9 FIRST{algorithm}").await;
    assert_same(&mut session, &QUERIES, "opened again, with a fourth layout").await;
    both(&mut session, "ALTER TABLE {t} FORCE").await;
    assert_eq!(versions(&mut session).await, [["d/t", "0", "0"], ["d/u", "0", "0"]]);
    assert_same(&mut session, &QUERIES, "copied").await;
}

const ACCOUNTS: usize = 200;

/// Moves money between accounts until told to stop, with long values in columns that come and go. Returns how many
/// transactions it has committed.
async fn move_money(database: Arc<Database>, seed: u64, stop: Arc<AtomicBool>, columns: Arc<AtomicUsize>) -> usize {
    let mut session = fixture::session(&database, "root");
    session.use_database("d").unwrap();
    let (mut random, mut committed) = (Random::new(seed * 7919 + 1), 0);
    while !stop.load(Ordering::Relaxed) {
        let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
        let (newest, length) = (columns.load(Ordering::Relaxed), random.below(3) * 3000);
        let statements = [
            "BEGIN".to_string(),
            format!("UPDATE t SET v = v - 1, pad = REPEAT('p', {}) WHERE id = {from}", random.below(2) * 5000),
            format!("UPDATE t SET c{newest} = REPEAT('c', {length}) WHERE id = {}", random.below(ACCOUNTS)),
            format!("UPDATE t SET v = v + 1 WHERE id = {to}"),
            if random.one_in(3) { "ROLLBACK".into() } else { "COMMIT".into() },
        ];
        let mut is_done = true;
        for sql in &statements {
            if let Err(e) = rows(&mut session, sql).await {
                // The column is gone, the view older than the columns, or a deadlock; else something is wrong.
                assert!([1054, 1412, 1213, 1205].contains(&e.code.number()), "{sql}: {}", e.message);
                run(&mut session, "ROLLBACK").await;
                is_done = false;
                break;
            }
        }
        committed += usize::from(is_done && statements[4] == "COMMIT");
    }
    committed
}

/// Asks for sums that stay the same. Returns how often it was answered.
async fn ask_for_sums(database: Arc<Database>, stop: Arc<AtomicBool>) -> usize {
    let mut session = fixture::session(&database, "root");
    session.use_database("d").unwrap();
    let mut answered = 0;
    while !stop.load(Ordering::Relaxed) {
        for sql in [
            "SELECT SUM(v), COUNT(*) FROM t",
            "SELECT SUM(v), COUNT(*) FROM t FORCE INDEX (kv) WHERE v > -1000000",
            "SELECT SUM(v), COUNT(*), MAX(CHAR_LENGTH(pad)) >= 0 FROM t",
        ] {
            match rows(&mut session, sql).await {
                Ok(sums) => {
                    assert_eq!(sums[0][..2], ["20000".to_string(), "200".into()], "{sql}");
                    answered += 1;
                }
                Err(e) => assert!([1412, 1213, 1205].contains(&e.code.number()), "{sql}: {}", e.message),
            }
        }
    }
    answered
}

/// `time`: for each round, of which each ends with a check.
async fn bank_beside_layouts(rounds: u64, time: Duration) {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path());
    let mut session = fixture::session(&database, "root");
    let values: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, 100, 'p')")).collect();
    run(&mut session, "CREATE DATABASE d").await;
    session.use_database("d").unwrap();
    run(&mut session, "CREATE TABLE t (id INT PRIMARY KEY, v INT, pad TEXT, KEY kv (v))").await;
    run(&mut session, &format!("INSERT INTO t VALUES {}", values.join(", "))).await;
    let (mut changed, mut newest, mut random) = (0, 0, Random::new(77));
    run(&mut session, "ALTER TABLE t ADD c0 TEXT, ALGORITHM=INSTANT").await;
    let columns = Arc::new(AtomicUsize::new(0));
    for round in 0..rounds {
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..3)
            .map(|n| {
                let seed = 10 * round + n + 1;
                tokio::spawn(move_money(Arc::clone(&database), seed, Arc::clone(&stop), Arc::clone(&columns)))
            })
            .collect();
        let reader = tokio::spawn(ask_for_sums(Arc::clone(&database), Arc::clone(&stop)));
        let end = Instant::now() + time;
        while Instant::now() < end {
            let next = newest + 1;
            let place = ["FIRST", "AFTER v", "AFTER id"][random.below(3)];
            let alter = match random.below(4) {
                0 => "ALTER TABLE t MODIFY pad TEXT FIRST".to_string(),
                1 => format!("ALTER TABLE t ADD c{next} TEXT {place}, DROP c{newest}"),
                2 => format!("ALTER TABLE t DROP c{newest}, ADD c{next} TEXT, MODIFY v INT FIRST"),
                _ => format!("ALTER TABLE t ADD n{next} INT DEFAULT {next} {place}, DROP c{newest}, ADD c{next} TEXT"),
            };
            run(&mut session, &alter).await;
            if alter.contains("ADD c") {
                newest = next;
                columns.store(newest, Ordering::Relaxed);
            }
            if alter.contains("ADD n") {
                run(&mut session, &format!("ALTER TABLE t DROP n{next}")).await;
            }
            changed += 1;
            tokio::time::sleep(Duration::from_millis(random.below(12) as u64)).await;
        }
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            assert!(writer.await.unwrap() > 0, "a writer has committed nothing");
        }
        assert!(reader.await.unwrap() > 0, "no sum was asked for");
        assert_eq!(run(&mut session, "SELECT SUM(v), COUNT(*) FROM t").await, [["20000", "200"]]);
        fixture::wait_for_purge(&mut session).await;
        let checked = run(&mut session, "CHECK TABLE t").await;
        assert_eq!(checked, [["d.t", "check", "status", "OK"]], "{changed} changes of columns");
    }
    assert!(changed > 3, "{changed} changes of columns");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_change_rows_beside_columns_that_come_and_go() {
    bank_beside_layouts(3, Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "a soak: two minutes"]
async fn sessions_change_rows_beside_columns_that_come_and_go_for_long() {
    bank_beside_layouts(24, Duration::from_secs(5)).await;
}
