//! The short path gives what the general path gives: random statements over random rows, run both ways; and no plan is used
//! when what it was made for has changed.

mod fixture;
mod random_data;

use fixture::{rows, session, session_with};
use futures::StreamExt;
use muster_engine::{ColumnInfo, Database, Outcome, Session, types::SqlError, value_at};
use random_data::{Files, Random};
use std::{collections::HashMap, fmt::Write, sync::Arc};

const ROWS: usize = 3000;

/// Columns of all kinds, with keys of all kinds.
const TABLE: &str = "CREATE TABLE t (id INT NOT NULL, u BIGINT UNSIGNED NOT NULL, k SMALLINT, d DECIMAL(12,2), w DECIMAL(30,4), \
    s VARCHAR(30) COLLATE utf8mb4_general_ci, b VARCHAR(30) COLLATE utf8mb4_bin NOT NULL, c CHAR(8) COLLATE utf8mb4_0900_ai_ci, \
    x VARBINARY(20), e DATE, m DATETIME(3), h TIME, f DOUBLE, g FLOAT, \
    PRIMARY KEY (id), UNIQUE KEY (u), KEY (k, d), KEY (s), KEY (b(3)), KEY kd (k DESC, id), KEY (d), KEY (c, k), KEY (e), \
    UNIQUE KEY (k, b, id))";

/// A line of LOAD DATA.
fn line(random: &mut Random, id: usize) -> String {
    let mut line = format!("{}\t{}", id * 3, id as u64 * 6_000_000_000_000_007);
    let words = ["ab", "AB", "abc", "äb", "Straße", "strasse", "x", "", "zzz", "a b", "ab "];
    let mut field = |text: String, null: bool| {
        let _ = write!(line, "\t{}", if null { "\\N" } else { &text });
    };
    let null = |random: &mut Random| random.one_in(9);
    let mut r = Random::new(random.below(1 << 30) as u64 + 1);
    field((r.below(400) as i64 - 200).to_string(), null(&mut r));
    field(format!("{}.{:02}", r.below(500) as i64 - 250, r.below(100)), null(&mut r));
    field(format!("{}.5", r.below(1000)), null(&mut r));
    field(format!("{}{}", r.pick(&words), r.below(40)), null(&mut r));
    field(format!("{}{}", r.pick(&words), r.below(90)), false);
    field(r.pick(&words).to_owned(), null(&mut r));
    field(r.pick(&words).to_owned(), null(&mut r));
    field(format!("20{:02}-0{}-1{}", r.below(30), r.below(9) + 1, r.below(9)), null(&mut r));
    field(format!("2001-01-0{} 10:2{}:00.{:03}", r.below(9) + 1, r.below(9), r.below(999)), null(&mut r));
    field(format!("{}:00:0{}", r.below(200), r.below(9)), null(&mut r));
    field(format!("{}.25", r.below(50) as i64 - 25), null(&mut r));
    field(format!("{}.5", r.below(50)), null(&mut r));
    line + "\n"
}

/// A literal that a column may be compared with, of its own type mostly.
fn literal(random: &mut Random, column: &str) -> String {
    if random.one_in(12) {
        return random
            .pick(&["NULL", "'5'", "5.5", "-3", "'ab1'", "1e1", "x'6162'", "18446744073709551615", "''"])
            .to_owned();
    }
    match column {
        "id" => (random.below(ROWS * 3 + 30)).to_string(),
        "u" => (random.below(ROWS) as u64 * 6_000_000_000_000_007).to_string(),
        "k" => random.below(250).to_string(),
        "d" | "w" | "f" | "g" => random.pick(&["0", "3.25", "17", "100.5", "12.50"]).to_owned(),
        "e" => random.pick(&["'2003-05-11'", "'2010-01-10'", "DATE'2004-04-14'"]).to_owned(),
        "m" => "'2001-01-05 10:25:00'".to_owned(),
        "h" => "'100:00:01'".to_owned(),
        _ => format!("'{}{}'", random.pick(&["ab", "AB", "abc", "äb", "strasse", "x", "", "ab "]), random.below(40)),
    }
}

fn condition(random: &mut Random) -> String {
    let column = random.pick(&["id", "id", "id", "u", "k", "d", "s", "b", "c", "e", "m", "w", "x", "h", "f"]);
    let value = literal(random, column);
    match random.below(9) {
        0..3 => format!("{column} = {value}"),
        3 => format!("{column} BETWEEN {value} AND {}", literal(random, column)),
        4 => format!("{value} <= {column}"),
        5 => format!("{column} {} {value}", random.pick(&["<", "<=", ">", ">=", "<>", "<=>"])),
        6 => format!("({column} = {value} OR {column} IS NULL)"),
        7 => format!("{column} IN ({value}, {})", literal(random, column)),
        _ => format!("{column} LIKE 'a%' AND id > {} AND id < {}", random.below(4000), random.below(9000)),
    }
}

/// A statement, and whether its rows come in an order that it names wholly.
fn statement(random: &mut Random) -> (String, bool) {
    let mut conditions = vec![condition(random)];
    if random.one_in(2) {
        let low = random.below(ROWS * 3);
        conditions.push(format!("id BETWEEN {low} AND {}", low + random.below(300)));
    }
    if random.one_in(3) {
        conditions.push(condition(random));
    }
    let conditions = conditions.join(" AND ");
    let column = random.pick(&["k", "s", "d", "e", "id", "c"]);
    match random.below(8) {
        0 => (
            format!("SELECT SUM(k), COUNT(*), MIN(e), MAX(u), SUM(d), COUNT(s), MAX(h) FROM t WHERE {conditions}"),
            true,
        ),
        1 => (format!("SELECT SUM(w), MIN(d), MAX(w), AVG(k) FROM t WHERE {conditions}"), true),
        2 => {
            // Of texts that are equal and differ in bytes, any one is an answer.
            let column = random.pick(&["k", "d", "e", "id", "b"]);
            (format!("SELECT DISTINCT {column} FROM t WHERE {conditions} ORDER BY {column}"), false)
        }
        3 => (format!("SELECT DISTINCT k, e FROM t WHERE {conditions}"), false),
        4 => {
            (format!("SELECT id, {column} FROM t WHERE {conditions} ORDER BY {column} DESC, id LIMIT 7 OFFSET 2"), true)
        }
        5 => (format!("SELECT x.* FROM t AS x WHERE {conditions} ORDER BY {column}, id"), true),
        6 => (format!("SELECT {column} AS a, id, f, g, m FROM t WHERE {conditions}"), false),
        _ => (format!("SELECT * FROM t WHERE {conditions}"), false),
    }
}

type Answer = (Vec<ColumnInfo>, Vec<Vec<Option<String>>>);

/// Columns and rows, with all digits and spaces; rows sorted unless they are `ordered`.
async fn answer(outcome: Result<Outcome, SqlError>, ordered: bool) -> Result<Answer, SqlError> {
    let Outcome::Rows(mut result) = outcome? else { panic!("no rows") };
    let mut rows = Vec::new();
    while let Some(batch) = result.rows.next().await {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let cell = |(info, array): (&ColumnInfo, &arrow_array::ArrayRef)| Ok(info.shown(&value_at(array, row)?));
            let cells = result.columns.iter().zip(batch.columns()).map(cell);
            rows.push(cells.collect::<Result<Vec<_>, SqlError>>()?);
        }
    }
    if !ordered {
        rows.sort();
    }
    Ok((result.columns, rows))
}

async fn loaded(directory: &std::path::Path, seed: u64) -> Arc<Database> {
    let database = random_data::open(directory, 16 << 20);
    let mut random = Random::new(seed);
    let text: String = (0..ROWS).map(|id| line(&mut random, id)).collect();
    let files = Files(HashMap::from([("t".to_owned(), text.into_bytes())]));
    let mut root = session_with(&database, "root", files);
    for sql in ["CREATE DATABASE db", "USE db", TABLE, "LOAD DATA LOCAL INFILE 't' INTO TABLE t"] {
        root.execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    database
}

async fn in_db(database: &Arc<Database>, user: &str) -> Session {
    let mut session = session(database, user);
    session.use_database("db").unwrap();
    session
}

async fn status(session: &mut Session, name: &str) -> u64 {
    let found = rows(session, &format!("SHOW STATUS LIKE '{name}'")).await.unwrap();
    found[0][1].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_statements_are_answered_as_on_the_general_path() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 77).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let mut random = Random::new(4711);
    for _ in 0..1500 {
        let (sql, ordered) = statement(&mut random);
        let wanted = answer(general.execute(&sql).await, ordered).await;
        let warned = general.warnings().is_empty();
        // The first one makes the plan.
        for _ in 0..2 {
            let found = answer(short.execute(&sql).await, ordered).await;
            assert_eq!(found.as_ref().map_err(|e| e.code), wanted.as_ref().map_err(|e| e.code), "{sql}");
            assert_eq!(short.warnings().is_empty(), warned, "{sql}");
        }
    }
    let hits = status(&mut short, "Plan_cache_hits").await;
    assert!(hits > 1500, "only {hits} statements met a plan or knew that they have none");
    assert!(status(&mut short, "Plan_cache_entries").await <= 4096);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_counted_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 5).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let statements = [
        "SELECT s FROM t WHERE id = 300",
        "SELECT s FROM t WHERE id = 301",
        "SELECT s, id FROM t WHERE id BETWEEN 300 AND 600",
        "SELECT SUM(k) FROM t WHERE id BETWEEN 300 AND 600",
        "SELECT s FROM t WHERE id BETWEEN 300 AND 600 ORDER BY s",
        "SELECT b FROM t WHERE u = 60000000000000070",
        "SELECT b FROM t WHERE id < 90",
        "SELECT id, k FROM t WHERE k < -195",
        "SELECT b FROM t WHERE id BETWEEN 300 AND 600 AND d > 5",
    ];
    let names = [
        "Questions",
        "Com_select",
        "Handler_read_first",
        "Handler_read_key",
        "Handler_read_next",
        "Handler_read_rnd",
        "Handler_mrr_init",
        "Innodb_rows_read",
        "Select_range",
        "Select_scan",
        "Sort_rows",
        "Sort_range",
        "Created_tmp_tables",
    ];
    for sql in statements {
        // Makes the plan.
        answer(short.execute(sql).await, true).await.unwrap();
        let mut deltas = Vec::new();
        for session in [&mut short, &mut general] {
            let mut before = Vec::new();
            for name in names {
                before.push(status(session, name).await);
            }
            // Asking counts too, equally in both.
            answer(session.execute(sql).await, true).await.unwrap();
            let mut delta = Vec::new();
            for (name, before) in names.into_iter().zip(before) {
                delta.push((name, status(session, name).await - before));
            }
            deltas.push((delta, rows(session, "SELECT FOUND_ROWS(), ROW_COUNT()").await.unwrap()));
        }
        assert_eq!(deltas[0], deltas[1], "{sql}");
    }
    let noted = |session: &Session| session.warnings().iter().any(|w| w.message.contains("short path"));
    short.execute("EXPLAIN SELECT s FROM t WHERE id = 7").await.unwrap();
    assert!(noted(&short));
    for sql in ["EXPLAIN SELECT s FROM t WHERE id + 1 = 7", "EXPLAIN SELECT s FROM t WHERE id = 5.5"] {
        short.execute(sql).await.unwrap();
        assert!(!noted(&short), "{sql}");
    }
    general.execute("EXPLAIN SELECT s FROM t WHERE id = 7").await.unwrap();
    assert!(!noted(&general));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_is_used_only_for_what_it_was_made_for() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 9).await;
    let (mut root, mut other) = (in_db(&database, "root").await, session(&database, "root"));
    let sql = "SELECT k FROM t WHERE id = 3";
    let first = rows(&mut root, sql).await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap(), first);

    // Rights: the plan of one account is none of another's, and a right that is taken away is gone at once.
    root.execute("CREATE USER u@localhost").await.unwrap();
    let mut user = session(&database, "u");
    let qualified = "SELECT k FROM db.t WHERE id = 3";
    rows(&mut root, qualified).await.unwrap();
    assert_eq!(rows(&mut user, qualified).await.unwrap_err().code.number(), 1142);
    root.execute("GRANT SELECT ON db.* TO u@localhost").await.unwrap();
    for _ in 0..3 {
        assert_eq!(rows(&mut user, qualified).await.unwrap(), first);
    }
    root.execute("REVOKE SELECT ON db.* FROM u@localhost").await.unwrap();
    assert_eq!(rows(&mut user, qualified).await.unwrap_err().code.number(), 1142);

    // The current database decides what a name means.
    assert_eq!(rows(&mut other, sql).await.unwrap_err().code.number(), 1046);
    root.execute("CREATE DATABASE db2").await.unwrap();
    root.execute("CREATE TABLE db2.t (id INT PRIMARY KEY, k INT)").await.unwrap();
    other.use_database("db2").unwrap();
    for _ in 0..3 {
        assert!(rows(&mut other, sql).await.unwrap().is_empty());
    }

    // Definitions.
    let prepared = root.prepare("SELECT k FROM t WHERE id = ?").await.unwrap();
    let value = [muster_engine::types::Value::Int(3)];
    for _ in 0..3 {
        answer(root.execute_prepared(prepared.id, &value).await, true).await.unwrap();
    }
    root.execute("RENAME TABLE t TO t2").await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap_err().code.number(), 1146);
    assert_eq!(root.execute_prepared(prepared.id, &value).await.err().unwrap().code.number(), 1146);
    root.execute("RENAME TABLE t2 TO t").await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap(), first);
    root.execute("TRUNCATE TABLE t").await.unwrap();
    for _ in 0..3 {
        assert!(rows(&mut root, sql).await.unwrap().is_empty());
    }
    root.execute("DROP TABLE t").await.unwrap();
    assert_eq!(rows(&mut root, sql).await.unwrap_err().code.number(), 1146);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_sessions_share_plans_while_definitions_change() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 11).await;
    let mut root = in_db(&database, "root").await;
    let wanted = rows(&mut root, "SELECT b FROM t WHERE id = 600").await.unwrap();
    root.execute("SET GLOBAL plan_cache_size = 32").await.unwrap();
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let (database, wanted) = (database.clone(), wanted.clone());
            tokio::spawn(async move {
                let mut session = in_db(&database, "root").await;
                for i in 0..150usize {
                    let found = rows(&mut session, "SELECT b FROM t WHERE id = 600").await.unwrap();
                    assert_eq!(found, wanted);
                    // Statements of many texts.
                    let sql = format!("SELECT b AS b{} FROM t WHERE id = 600", (n * 7 + i) % 100);
                    assert_eq!(rows(&mut session, &sql).await.unwrap(), wanted);
                }
            })
        })
        .collect();
    for _ in 0..10 {
        root.execute("CREATE INDEX extra ON t (f)").await.unwrap();
        root.execute("DROP INDEX extra ON t").await.unwrap();
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert!(status(&mut root, "Plan_cache_entries").await <= 32);
    assert!(status(&mut root, "Plan_cache_evictions").await > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_is_not_in_memory_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 13).await;
    let mut root = in_db(&database, "root").await;
    let wanted = rows(&mut root, "SELECT b FROM t WHERE id = 600").await.unwrap();
    database.clear_buffer_pool().unwrap();
    let hits = status(&mut root, "Plan_cache_hits").await;
    assert_eq!(rows(&mut root, "SELECT b FROM t WHERE id = 600").await.unwrap(), wanted);
    assert!(status(&mut root, "Plan_cache_hits").await > hits);
    assert!(status(&mut root, "Innodb_buffer_pool_reads").await > 0);
}
