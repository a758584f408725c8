//! Values of all types beside columns of all types, near to what the column can hold and far from it: rows, errors and
//! warnings are those of the general path, whatever value made the plan.

use crate::{
    data::{answer, in_db, is_short, loaded, status},
    fixture::rows,
};
use muster_engine::{
    Outcome, Session, ShortAnswer, ShortStatement,
    short_path::CollectedRows,
    types::{Decimal, Value, temporal},
};

const COLUMNS: [&str; 13] = ["id", "u", "k", "d", "w", "s", "b", "c", "x", "e", "m", "h", "f"];

/// Literals of which some are found in the columns, and some that no column can hold.
const LITERALS: [&str; 49] = [
    "5",
    "300",
    "-3",
    "-0",
    "- 3",
    "+3",
    "'5'",
    "'300'",
    "' 300'",
    "'300 '",
    "'3e2'",
    "'x'",
    "'X'",
    "'x '",
    "'ab1'",
    "'AB1   '",
    "_utf8mb4'ab1' COLLATE utf8mb4_bin",
    "'ab1' COLLATE utf8mb4_0900_ai_ci",
    "'stra\u{df}e1'",
    "''",
    "' '",
    "5.5",
    "5.0",
    "300.00",
    "-0.0",
    "3e2",
    "1e400",
    "NULL",
    "TRUE",
    "x'6162'",
    "b'101'",
    "32767",
    "32768",
    "65836",
    "2147483648",
    "-2147483649",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999999",
    "'2003-05-11'",
    "'2001-01-05 10:25:00.5'",
    "'2003-05-11 00:00:00'",
    "'2003-05-11 10:00:00'",
    "'2003-5-11'",
    "'20030511'",
    "'2003-05-11 and more'",
    "'2003-02-31'",
    "'0000-00-00'",
    "'2001-01-05 10:25:00.1234'",
];

/// Runs a statement on both paths: after the plan is known, the rows are those of the general path.
async fn compare(short: &mut Session, general: &mut Session, sql: &str) {
    let wanted = answer(general.execute(sql).await, false).await;
    let warned = general.warnings().len();
    for _ in 0..2 {
        let found = answer(short.execute(sql).await, false).await;
        assert_eq!(found.as_ref().map_err(|e| e.code), wanted.as_ref().map_err(|e| e.code), "{sql}");
        assert_eq!(short.warnings().len(), warned, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn literals_of_all_types() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 23).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    for column in COLUMNS {
        for literal in LITERALS {
            for condition in [
                format!("{column} = {literal}"),
                format!("{column}={literal} AND id BETWEEN 0 AND 3000"),
                format!("{column} BETWEEN {literal} AND {literal}"),
                format!("{column} > {literal} AND id <= 900"),
                format!("{column} IN ({literal}, 7) AND id < 300"),
                format!("{column} <=> {literal}"),
                format!("{column} LIKE {literal}"),
            ] {
                compare(&mut short, &mut general, &format!("SELECT id, {column} FROM t WHERE {condition}")).await;
            }
        }
    }
}

/// Runs a prepared statement on both paths with each of the values.
async fn compare_prepared(short: &mut Session, general: &mut Session, sql: &str, values: &[Value]) {
    let (of_short, of_general) = (short.prepare(sql).await.unwrap(), general.prepare(sql).await.unwrap());
    for value in values.iter().chain(values.iter().rev()) {
        let value = std::slice::from_ref(value);
        let wanted = answer(general.execute_prepared(of_general.id, value).await, false).await;
        let warned = general.warnings().len();
        let found = answer(short.execute_prepared(of_short.id, value).await, false).await;
        assert_eq!(found.as_ref().map_err(|e| e.code), wanted.as_ref().map_err(|e| e.code), "{sql} {value:?}");
        assert_eq!(short.warnings().len(), warned, "{sql} {value:?}");
    }
}

/// A text for a `?` next to an integer or a decimal is such a number, as in MySQL 8; in the text of a statement it is a
/// DOUBLE.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_next_to_exact_numbers() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 31).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let texts = ["5", "300", "0.1", "-7", "2.50", "x", "1e2", "9007199254740993"].map(|s| Value::Text(s.to_owned()));
    for sql in [
        "SELECT id + ? FROM t WHERE id < 20",
        "SELECT d * ? FROM t WHERE id < 20",
        "SELECT id FROM t WHERE d > ? AND id < 900",
        "SELECT id FROM t WHERE id + 1 > ? AND id < 900",
        "SELECT id FROM t WHERE id BETWEEN 3 AND ?",
        "SELECT COUNT(*), SUM(d) FROM t WHERE id < ?",
    ] {
        compare_prepared(&mut short, &mut general, sql, &texts).await;
    }
    for (session, name) in [(&mut short, "changed_short"), (&mut general, "changed_generally")] {
        session.execute(&format!("CREATE TABLE {name} (i BIGINT PRIMARY KEY, d DECIMAL(20,10))")).await.unwrap();
        session.execute(&format!("INSERT INTO {name} VALUES (9007199254740993, 1.5)")).await.unwrap();
        for (assignment, texts, wanted) in [
            ("d = d + ?", ["0.1", "0.2"], "1.8000000000"),
            ("i = i - ?", ["1", "2"], "9007199254740990"),
            ("d = ? * d", ["2.5", "2"], "9.0000000000"),
        ] {
            let update = session.prepare(&format!("UPDATE {name} SET {assignment} WHERE i > ?")).await.unwrap();
            for text in texts {
                let values = [text, "17"].map(|s| Value::Text(s.to_owned()));
                session.execute_prepared(update.id, &values).await.unwrap();
            }
            let column = &assignment[..1];
            let rows = answer(session.execute(&format!("SELECT {column} FROM {name}")).await, false).await.unwrap().1;
            assert_eq!(rows, [[Some(wanted.to_owned())]], "{assignment}");
        }
    }
}

/// Values that a client sends with a prepared statement.
fn values() -> Vec<Value> {
    let text = |s: &str| Value::Text(s.to_owned());
    vec![
        Value::Int(5),
        Value::Int(300),
        Value::Int(65_836),
        Value::Int(0),
        Value::Int(-3),
        Value::Int(i64::MIN),
        Value::Int(i64::MAX),
        Value::UInt(300),
        Value::UInt(u64::MAX),
        Value::Null,
        text("5"),
        text("300"),
        text("300 "),
        text("-3"),
        text("5.5"),
        text("300.00"),
        text("007"),
        text("3e2"),
        text("x"),
        text("X "),
        text("ab1"),
        text("stra\u{df}e1"),
        text(""),
        text("it's \\ \0"),
        text("2003-05-11"),
        text("2003-05-11 10:00:00"),
        text("2003-05-11 and more"),
        text("2001-01-05 10:25:00.123"),
        text("0000-00-00"),
        text("ab%"),
        text("STRASS_%"),
        text("%"),
        Value::Bytes(b"x".to_vec()),
        Value::Double(5.0),
        Value::Double(5.5),
        Value::Double(-0.0),
        Value::Float(300.0),
        Value::Decimal(Decimal::new(30_000, 2)),
        Value::Decimal(Decimal::new(55, 1)),
        Value::Date(temporal::parse_date("2003-05-11").unwrap()),
        Value::DateTime(temporal::parse_datetime("2001-01-05 10:25:00").unwrap()),
        Value::Time(360_001_000_000),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_of_all_types() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 29).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let mut nonempty = 0;
    for column in COLUMNS {
        for condition in ["= ?", ">= ? AND id < 900", "<=> ?", "IN (?, 7) AND id BETWEEN 3 AND 3000", "LIKE ?"] {
            let sql = format!("SELECT id, {column} FROM t WHERE {column} {condition}");
            let (of_short, of_general) = (short.prepare(&sql).await.unwrap(), general.prepare(&sql).await.unwrap());
            // Each value comes after each other one, and may be the first of its type.
            for value in values().iter().chain(values().iter().rev()) {
                let value = std::slice::from_ref(value);
                let wanted = answer(general.execute_prepared(of_general.id, value).await, false).await;
                let warned = general.warnings().len();
                nonempty += usize::from(wanted.as_ref().is_ok_and(|(_, rows)| !rows.is_empty()));
                let found = answer(short.execute_prepared(of_short.id, value).await, false).await;
                assert_eq!(found.as_ref().map_err(|e| e.code), wanted.as_ref().map_err(|e| e.code), "{sql} {value:?}");
                assert_eq!(short.warnings().len(), warned, "{sql} {value:?}");
            }
        }
    }
    assert!(nonempty > 500, "{nonempty}");
}

/// A text next to a column of dates has a plan that serves for other dates; what is no date of the column is left to
/// the general path.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_beside_dates() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 31).await;
    let mut session = in_db(&database, "root").await;
    let sql = |date: &str| format!("SELECT COUNT(*), MIN(e) FROM t WHERE e >= '{date}' AND e < '2010-01-01'");
    assert!(is_short(&mut session, &sql("2009-05-01")).await);
    let misses = status(&mut session, "Plan_cache_misses").await;
    assert!(is_short(&mut session, &sql("2009-11-11")).await);
    assert_eq!(status(&mut session, "Plan_cache_misses").await, misses);
    assert!(!is_short(&mut session, &sql("2009-11-11 10:00:00")).await);
    assert!(is_short(&mut session, &sql("2009-11-11 00:00:00")).await);
    // A text that warns.
    assert!(!is_short(&mut session, &sql("2009-11-11 and more")).await);
    assert!(is_short(&mut session, "SELECT id FROM t WHERE id = 3 AND m BETWEEN '2001-01-01' AND '2001-01-05'").await);
    assert!(is_short(&mut session, "SELECT id FROM t WHERE id = 3 AND m IN ('2001-01-01', '2001-01-05')").await);
    // As a text and as a date.
    let both = session.prepare("SELECT id FROM t WHERE id = 3 AND e = ?").await.unwrap();
    let text = |s: &str| [Value::Text(s.to_owned())];
    for (date, found) in [("2003-05-11", true), ("2003-05-11 01:00:00", false), ("2004-05-11", true)] {
        session.execute_prepared(both.id, &text(date)).await.unwrap();
        let statement = ShortStatement::Prepared { id: both.id, values: &text(date) };
        let (_, answer) = session.execute_short(statement, CollectedRows::default()).await;
        assert_eq!(!matches!(answer, ShortAnswer::General), found, "{date}");
    }
    // Changes.
    for (change, changed) in [
        ("UPDATE t SET k = 1 WHERE e = '2003-05-11'", true),
        ("UPDATE t SET k = 2 WHERE e = '2003-05-11 00:00:00'", true),
        ("UPDATE t SET k = 3 WHERE e = '2003-05-11 10:00:00'", false),
        ("DELETE FROM t WHERE e = '2003-05-11' LIMIT 1", true),
    ] {
        let before = rows(&mut session, "SELECT COUNT(*) FROM t WHERE e = '2003-05-11'").await.unwrap();
        assert_ne!(before[0][0], "0");
        let found = session.execute(change).await;
        let Ok(Outcome::Ok { affected_rows, .. }) = found else { panic!("{change}") };
        assert_eq!(affected_rows > 0, changed, "{change}");
    }
}

/// LIMIT and OFFSET of a prepared statement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_prepared_statements() {
    let directory = tempfile::tempdir().unwrap();
    let database = loaded(directory.path(), 37).await;
    let (mut short, mut general) = (in_db(&database, "root").await, in_db(&database, "root").await);
    general.execute("SET optimizer_switch = 'short_path=off'").await.unwrap();
    let int = Value::Int;
    for (sql, values) in [
        ("SELECT id FROM t WHERE id > ? ORDER BY id LIMIT ?", vec![vec![int(30), int(5)], vec![int(60), int(2)]]),
        ("SELECT id, k FROM t WHERE k = 7 LIMIT ? OFFSET ?", vec![vec![int(3), int(1)], vec![int(0), int(0)]]),
        ("SELECT id FROM t ORDER BY id DESC LIMIT ?, 4", vec![vec![int(2)], vec![Value::UInt(7)]]),
        (
            "SELECT id FROM t WHERE id < 90 LIMIT ?",
            vec![
                vec![int(-1)],
                vec![Value::Null],
                vec![Value::Text("3".into())],
                vec![int(4)],
                vec![Value::Double(2.5)],
            ],
        ),
        ("SELECT id FROM t WHERE b = 'LIMIT ?' OR id = ?", vec![vec![int(9)]]),
    ] {
        let (of_short, of_general) = (short.prepare(sql).await.unwrap(), general.prepare(sql).await.unwrap());
        for values in &values {
            let wanted = answer(general.execute_prepared(of_general.id, values).await, true).await;
            for _ in 0..2 {
                let found = answer(short.execute_prepared(of_short.id, values).await, true).await;
                assert_eq!(found.as_ref().map_err(|e| e.code), wanted.as_ref().map_err(|e| e.code), "{sql} {values:?}");
            }
            let statement = ShortStatement::Prepared { id: of_short.id, values };
            let (_, answer) = short.execute_short(statement, CollectedRows::default()).await;
            let is_number = values.iter().all(|value| matches!(value, Value::Int(0..) | Value::UInt(_)));
            let is_short = is_number && !sql.contains("OR id");
            assert_eq!(!matches!(answer, ShortAnswer::General), is_short, "{sql} {values:?}");
        }
    }
}
