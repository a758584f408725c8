//! Changes of rows by key do on the short path what they do on the general one: random statements on equal tables of
//! two databases.

use crate::{
    data::{is_short, status},
    fixture::{options, rows, session},
    random_data::Random,
};
use muster_engine::{Database, Outcome, Session};
use std::sync::Arc;

const TABLES: [&str; 4] = [
    "CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 7, c VARCHAR(8), y TINYINT UNSIGNED, \
     t TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, KEY (k), UNIQUE KEY (c))",
    "CREATE TABLE b (x BIGINT UNSIGNED, z SMALLINT, d DECIMAL(6,2), f DOUBLE, e DATE, n DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), \
     s TEXT, g FLOAT, PRIMARY KEY (z, x), KEY (d))",
    "CREATE TABLE h (a INT, b VARCHAR(5) NOT NULL)",
    "CREATE TABLE w (s VARCHAR(10) PRIMARY KEY, v INT)",
];

async fn open(directory: &std::path::Path) -> Arc<Database> {
    let database = Database::open(directory, options()).unwrap();
    let mut root = session(&database, "root");
    for name in ["short", "general"] {
        root.execute(&format!("CREATE DATABASE `{name}`")).await.unwrap();
        root.execute(&format!("USE `{name}`")).await.unwrap();
        for table in TABLES {
            root.execute(table).await.unwrap();
        }
    }
    database
}

fn integer(random: &mut Random) -> String {
    match random.below(12) {
        0 => "300".into(),
        1 => "-1".into(),
        2 => "99999999999".into(),
        _ => random.below(40).to_string(),
    }
}

fn text(random: &mut Random) -> String {
    random
        .pick(&["'a'", "'B'", "'ä'", "''", "'12'", "'x1y'", "'toolongtext'", "'2024-02-30'", "'2024-02-29'", "'a '"])
        .to_owned()
}

fn value(random: &mut Random) -> String {
    match random.below(8) {
        0 => "NULL".into(),
        1 => "DEFAULT".into(),
        2 => "1.555".into(),
        3..=5 => integer(random),
        _ => text(random),
    }
}

fn statement(random: &mut Random) -> String {
    let (i, j, v, w) = (integer(random), random.below(6), value(random), value(random));
    let ignore = if random.one_in(8) { "IGNORE " } else { "" };
    let (low, number) = (random.below(40), random.pick(&["1.5", "-2.25", "0.005", "1000.5", "-7", "3"]));
    let range = match random.below(6) {
        0 => format!("id BETWEEN {low} AND {}", low + random.below(9)),
        1 => format!("id IN ({i}, {j}, {})", random.below(40)),
        2 => format!("id > {low} AND k <> {j}"),
        3 => format!("k = {j}"),
        4 => format!("k < {j} AND y IS NULL"),
        _ => format!("c IN ({}, {})", text(random), text(random)),
    };
    let end = match random.below(4) {
        0 => format!(" ORDER BY id DESC LIMIT {j}"),
        1 => format!(" ORDER BY k, id LIMIT {j}"),
        _ => String::new(),
    };
    match random.below(42) {
        34..42 => inserted_rows(random, ignore),
        30..34 => chosen_values(random, ignore, &range, &end),
        18 => format!("UPDATE {ignore}a SET k = k + {number}, y = {j} WHERE {range}{end}"),
        19 => format!("UPDATE {ignore}a SET k = {number} - k * {j} WHERE {range}{end}"),
        20 => format!("DELETE FROM a WHERE {range}{end}"),
        21 => format!("DELETE FROM b WHERE z = {j} AND d < {number}"),
        22 => format!("UPDATE b SET d = d + {number}, f = {number} * d WHERE z = {j} AND x BETWEEN {low} AND {i}"),
        23 => format!("UPDATE {ignore}b SET e = NOW(), n = NOW(3), s = {v} WHERE z = {j}"),
        24 => format!("INSERT {ignore}INTO b (x, z, n, d, e) VALUES ({i}, {j}, NOW(), {number}, CURDATE())"),
        25 => format!("UPDATE a SET t = NOW(), k = LAST_INSERT_ID() WHERE {range}"),
        26 => format!("DELETE FROM b WHERE z IN ({j}, 3) AND n < NOW() - INTERVAL {j} SECOND"),
        27 => format!("UPDATE b SET s = 'it''s \\n {j}', g = {number} WHERE d = {number} OR z = {j} AND x = {i}"),
        28 => format!("UPDATE a SET c = CONCAT(c, {j}), k = ABS(k - {number}) WHERE {range}"),
        29 => format!("SET timestamp = {}.25", 1_700_000_000 + random.below(100)),
        0 => format!("INSERT {ignore}INTO a VALUES ({i}, {v}, {w}, {j}, NULL)"),
        1 => format!("INSERT {ignore}INTO a (c, k) VALUES ({v}, {w})"),
        2 => format!("INSERT {ignore}INTO a SET k = {v}, id = {i}"),
        3 => format!("INSERT {ignore}INTO b (x, z, d, f) VALUES ({i}, {j}, {v}, {w})"),
        4 => format!("INSERT {ignore}INTO b (x, z, e, s) VALUES ({i}, {j}, {v}, {w})"),
        5 => format!("INSERT {ignore}INTO h VALUES ({v}, {w})"),
        6 => format!("INSERT INTO w VALUES ({}, {v})", text(random)),
        7 => format!("UPDATE {ignore}a SET k = k + 1 WHERE id = {i}"),
        8 => format!("UPDATE {ignore}a SET c = {v}, y = {w} WHERE id = {i}"),
        9 => format!("UPDATE {ignore}a SET id = {v} WHERE id = {i}"),
        10 => format!("UPDATE a SET k = {i}, y = k + 1, k = k * 2 WHERE id = {j}"),
        11 => format!("UPDATE {ignore}b SET d = {v}, f = {w}, g = {v} WHERE x = {i} AND z = {j}"),
        12 => format!("UPDATE b SET s = {}, e = {v} WHERE z = {j} AND x = {i}", text(random)),
        13 => format!("DELETE FROM a WHERE id = {i}"),
        14 => format!("DELETE FROM b WHERE x = {i} AND z = {j}"),
        15 => format!("DELETE FROM w WHERE s = {}", text(random)),
        16 => format!("UPDATE a SET k = LAST_INSERT_ID(k + 1), y = LAST_INSERT_ID({w}) WHERE id = {i}"),
        _ => random
            .pick(&[
                "BEGIN",
                "COMMIT",
                "ROLLBACK",
                "SAVEPOINT s",
                "SET sql_mode = ''",
                "SET sql_mode = DEFAULT",
                "SET autocommit = 0",
                "SET autocommit = 1",
                "SET insert_id = 77",
                "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                "SET SESSION TRANSACTION READ ONLY",
                "SET SESSION TRANSACTION READ WRITE",
                "START TRANSACTION",
                "ROLLBACK TO s",
                "commit",
            ])
            .to_owned(),
    }
}

/// An UPDATE whose values choose between numbers.
fn chosen_values(random: &mut Random, ignore: &str, range: &str, end: &str) -> String {
    let (i, j, low) = (random.below(40), random.below(6), random.below(40));
    let number = random.pick(&["1.5", "-2.25", "0.005", "1000.5", "-7", "3"]);
    match random.below(4) {
        0 => format!("UPDATE {ignore}a SET k = IF(k > {j}, k - {number}, k + {j}), y = {j} WHERE {range}{end}"),
        1 => format!(
            "UPDATE a SET k = CASE id WHEN {i} THEN {j} WHEN {low} THEN {number} ELSE k END WHERE id IN ({i}, {low})"
        ),
        2 => format!("UPDATE {ignore}b SET d = GREATEST(d, {number}), f = COALESCE(f, {j}) WHERE z = {j}"),
        _ => format!(
            "UPDATE {ignore}a SET k = LEAST(COALESCE(k, {j}), {number}), c = IF(k IN ({j}, {low}), 'in', c) WHERE {range}"
        ),
    }
}

/// An INSERT or REPLACE of several rows, of rows that meet others, or of the rows of a query.
fn inserted_rows(random: &mut Random, ignore: &str) -> String {
    let (i, j, v, w) = (integer(random), random.below(6), value(random), value(random));
    let (low, t) = (random.below(40), text(random));
    let verb = if random.one_in(3) { "REPLACE ".to_owned() } else { format!("INSERT {ignore}") };
    let updated = match random.below(6) {
        0 if !verb.starts_with('R') => format!(" ON DUPLICATE KEY UPDATE k = {low}, y = VALUES(y)"),
        1 if !verb.starts_with('R') => " ON DUPLICATE KEY UPDATE k = k + VALUES(k), t = NOW()".to_owned(),
        2 if !verb.starts_with('R') => format!(" ON DUPLICATE KEY UPDATE id = {i}, k = GREATEST(k, {j})"),
        _ => String::new(),
    };
    match random.below(9) {
        0 => format!("{verb}INTO a (id, k, y) VALUES ({i}, {v}, {j}), ({low}, {w}, {j}){updated}"),
        1 => format!("{verb}INTO a (c, k) VALUES ({v}, {low}), ({t}, 7), (NULL, {j}){updated}"),
        2 => format!("{verb}INTO b (x, z, d, f) VALUES ({i}, {j}, {v}, 1.5), ({low}, {j}, 1, {w})"),
        3 => format!("{verb}INTO h VALUES ({v}, {w}), ({i}, {t})"),
        4 => format!("{verb}INTO a (id, k) SELECT x, z FROM b WHERE z = {j}{updated}"),
        5 => format!("{verb}INTO a (k, c) SELECT k, CONCAT(c, 'x') FROM a WHERE id BETWEEN {low} AND {i}{updated}"),
        6 => format!(
            "{verb}INTO b (x, z, s) SELECT a.id, {j}, a.c FROM a JOIN w ON w.s = a.c WHERE a.id IN ({low}, {i}, '{j}')"
        ),
        7 => format!("{verb}INTO h SELECT {low}, 'new' FROM DUAL WHERE NOT EXISTS (SELECT * FROM a WHERE id = {i})"),
        _ => format!("{verb}INTO h SELECT COUNT(*), {t} FROM a WHERE k = {j}"),
    }
}

/// The answer that a client gets to a statement.
async fn told(session: &mut Session, sql: &str) -> String {
    let outcome = match session.execute(sql).await {
        Ok(Outcome::Ok { affected_rows, last_insert_id, info }) => format!("{affected_rows} {last_insert_id} {info}"),
        Ok(Outcome::Rows(_)) => "rows".into(),
        Err(e) => format!("{} {}", e.code.number(), e.message),
    };
    let warnings: Vec<String> =
        session.diagnostics().iter().map(|(level, w)| format!("{level:?} {} {}", w.code.number(), w.message)).collect();
    format!("{outcome} {warnings:?} {:?}", session.transaction_status())
}

/// The rows of all tables as a session sees them, and what it knows of its last statement.
async fn state(session: &mut Session) -> Vec<Vec<String>> {
    let mut all = rows(session, "SELECT LAST_INSERT_ID(), ROW_COUNT(), @@warning_count").await.unwrap();
    for query in
        ["SELECT id, k, c, y, t FROM a", "SELECT x, z, d, f, e, s, g, n FROM b", "SELECT * FROM h", "SELECT * FROM w"]
    {
        let mut found = rows(session, query).await.unwrap();
        found.sort_unstable();
        all.extend(found);
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_changes_do_what_they_do_on_the_general_path() {
    for seed in 0..4 {
        let directory = tempfile::tempdir().unwrap();
        let database = open(directory.path()).await;
        let (mut short, mut general) = (session(&database, "root"), session(&database, "root"));
        short.execute("USE `short`").await.unwrap();
        general.execute("USE general").await.unwrap();
        short.execute("SET optimizer_switch = 'short_path=on'").await.unwrap();
        general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
        for session in [&mut short, &mut general] {
            session.set_counts_found_rows(seed % 2 == 1);
            session.execute("SET timestamp = 1700000000.5").await.unwrap();
        }
        let mut random = Random::new(1000 + seed);
        let mut before = Vec::new();
        for n in 0..1500usize {
            let sql = statement(&mut random);
            before.push(sql.clone());
            let (found, wanted) = (told(&mut short, &sql).await, told(&mut general, &sql).await);
            assert_eq!(found, wanted, "{sql}, statement {n} of seed {seed}");
            if n % 10 == 0 {
                assert_eq!(state(&mut short).await, state(&mut general).await, "{:?}", &before[n.saturating_sub(10)..]);
            }
        }
        let commands =
            ["Com_insert", "Com_update", "Com_delete", "Com_begin", "Com_commit", "Com_rollback", "Questions"];
        for command in commands {
            assert_eq!(status(&mut short, command).await, status(&mut general, command).await, "{command}");
        }
        for table in ["a", "b", "h", "w"] {
            let check = rows(&mut short, &format!("CHECK TABLE {table}")).await.unwrap();
            assert!(check.iter().any(|row| row.iter().any(|cell| cell == "OK")), "{check:?}");
        }
        let hits = status(&mut short, "Plan_cache_hits").await;
        assert!(hits > 400, "only {hits} statements met a plan or knew that they have none");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_few_rows_take_the_short_path() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path()).await;
    let mut session = session(&database, "root");
    session.execute("USE `short`").await.unwrap();
    for sql in [
        "INSERT INTO a (c, k) VALUES (NULL, 5)",
        "INSERT INTO h VALUES (1, 'x')",
        "INSERT INTO h SET a = 2, b = 'x'",
        "UPDATE a SET k = k + 1 WHERE id = 1",
        "UPDATE a SET k = 3, y = 4 WHERE id = 1",
        "UPDATE b SET d = 1.5 WHERE x = 1 AND z = 2",
        "DELETE FROM a WHERE id = 99",
        "DELETE FROM w WHERE s = 'x'",
        "DELETE FROM a WHERE c = 'x'",
        "UPDATE a SET t = NOW() WHERE id = 1",
        "UPDATE a SET k = 1 WHERE id > 1",
        "UPDATE a SET k = 1 WHERE id = 1 AND k = 2",
        "UPDATE a SET k = 1 WHERE id = 1 LIMIT 1",
        "UPDATE a SET k = IF(k > 5, k - 1, k + 1) WHERE id = 1",
        "UPDATE a SET k = CASE WHEN id = 1 THEN 5 WHEN id = 2 THEN 6 ELSE k END WHERE id = 5",
        "UPDATE a SET k = CASE id WHEN 1 THEN 5 WHEN 2 THEN 6 ELSE k END WHERE id = 5",
        "INSERT INTO h VALUES (1, 'x'), (2, 'y')",
        "INSERT INTO h SELECT 1, 'x'",
        "INSERT INTO h SELECT k, c FROM a WHERE id IN (77, 78)",
        "INSERT INTO b (x, z) SELECT a.id, 7 FROM a JOIN w ON w.s = a.c WHERE a.id = 5",
        "REPLACE INTO a (id, k) VALUES (1, 5)",
        "REPLACE INTO w SELECT c, id FROM a WHERE id = 5",
        "INSERT INTO a (id, k) VALUES (1, 5) ON DUPLICATE KEY UPDATE k = 6",
        "INSERT INTO a (id, k) VALUES (1, 5), (2, 6) ON DUPLICATE KEY UPDATE k = VALUES(k) + 1, y = 5",
    ] {
        assert!(is_short(&mut session, sql).await, "{sql}");
    }
    for sql in [
        "INSERT INTO h SELECT a.k, 'x' FROM a",
        "INSERT INTO h VALUES ((SELECT MAX(a.k) FROM a), 'x')",
        "UPDATE a SET k = 1 WHERE id = ' 1'",
        "UPDATE a SET k = (SELECT MAX(a) FROM h) WHERE id = 1",
        "DELETE FROM a WHERE c = 'x' AND RAND() > 2",
    ] {
        assert!(!is_short(&mut session, sql).await, "{sql}");
    }
}

/// The short path meets a lock of another session when it has counted the change, and leaves the statement to the
/// general path.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_has_to_wait_is_counted_once() {
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path()).await;
    let (mut other, mut one) = (session(&database, "root"), session(&database, "root"));
    for sql in ["USE `short`", "SET innodb_lock_wait_timeout = 1"] {
        other.execute(sql).await.unwrap();
        one.execute(sql).await.unwrap();
    }
    for id in [1, 2] {
        one.execute(&format!("INSERT INTO a (id, c) VALUES ({id}, 'text{id}')")).await.unwrap();
        one.execute(&format!("UPDATE a SET c = 'set{id}' WHERE id = {id}")).await.unwrap();
    }
    for sql in ["BEGIN", "INSERT INTO a (id, c) VALUES (3, 'locked')"] {
        other.execute(sql).await.unwrap();
    }
    for (sql, counter) in [
        ("INSERT INTO a (id, c) VALUES (3, 'text3')", "Handler_write"),
        ("UPDATE a SET c = 'locked' WHERE id = 1", "Handler_update"),
    ] {
        let before = status(&mut one, counter).await;
        assert_eq!(one.execute(sql).await.err().map(|e| e.code.number()), Some(1205), "{sql}");
        assert_eq!(status(&mut one, counter).await, before + 1, "{sql}");
    }
}
