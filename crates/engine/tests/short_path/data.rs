//! The table of these tests, random statements over it, and their answers.

use crate::{
    fixture::{rows, session, session_with},
    random_data::{self, Files, Random},
};
use futures::StreamExt;
use muster_engine::{
    ColumnInfo, Database, Outcome, Session, ShortAnswer, ShortStatement, short_path::CollectedRows, types::SqlError,
    value_at,
};
use std::{collections::HashMap, fmt::Write, path::Path, sync::Arc};

pub const ROWS: usize = 3000;

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

pub fn condition(random: &mut Random) -> String {
    let column = random.pick(&["id", "id", "id", "u", "k", "d", "s", "b", "c", "e", "m", "w", "x", "h", "f"]);
    let value = literal(random, column);
    match random.below(11) {
        9 => long_list(random),
        0..3 => format!("{column} = {value}"),
        3 => format!("{column} BETWEEN {value} AND {}", literal(random, column)),
        4 => format!("{value} <= {column}"),
        5 => format!("{column} {} {value}", random.pick(&["<", "<=", ">", ">=", "<>", "<=>"])),
        6 => format!("({column} = {value} OR {column} IS NULL)"),
        7 => format!("{column} IN ({value}, {})", literal(random, column)),
        8 => {
            let patterns = [
                "ab%",
                "AB_",
                "\u{e4}%",
                "stra%",
                "stra\u{df}%",
                "%b1",
                "",
                "s%",
                "x1",
                "a b%",
                "ab %",
                "_b%",
                "z\\\\%",
            ];
            let not = random.pick(&["", "", "NOT "]);
            format!("{} {not}LIKE '{}'", random.pick(&["s", "b", "c", "c"]), random.pick(&patterns))
        }
        _ => format!("{column} LIKE 'a%' AND id > {} AND id < {}", random.below(4000), random.below(9000)),
    }
}

/// A list behind IN that is one parameter, with members that no column can hold now and then.
fn long_list(random: &mut Random) -> String {
    let column = random.pick(&["id", "id", "u", "k", "d", "f"]);
    let odd = random.pick(&["-5", "-5", "-5", "99999999999", "'7'"]);
    let members = (0..17 + random.below(60)).map(|_| match column {
        "id" => (random.below(ROWS * 3 + 30)).to_string(),
        "u" => (random.below(20) as u64 * 6_000_000_000_000_007).to_string(),
        _ => random.below(250).to_string(),
    });
    let members: Vec<String> = members.collect();
    format!("{column} IN ({odd}, {})", members.join(random.pick(&[",", ", ", " , "])))
}

/// A statement, and whether its rows come in an order that it names wholly.
pub fn statement(random: &mut Random) -> (String, bool) {
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
            // Texts that are equal may differ in bytes: any one of them is an answer.
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

pub type Answer = (Vec<ColumnInfo>, Vec<Vec<Option<String>>>);

/// Columns and rows, with all digits and spaces; rows sorted unless they are `ordered`.
pub async fn answer(outcome: Result<Outcome, SqlError>, ordered: bool) -> Result<Answer, SqlError> {
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

pub async fn loaded(directory: &Path, seed: u64) -> Arc<Database> {
    let database = random_data::open(directory, 16 << 20);
    load(&database, seed).await;
    database
}

/// Statistics change when a test says so.
const NO_RENEWAL: &str = "SET GLOBAL innodb_stats_auto_recalc = OFF";

/// Makes the table `db.t` with random rows. Its statistics are made here and not beside the tests: plans that were made
/// before would count as those of another state.
pub async fn load(database: &Arc<Database>, seed: u64) {
    let mut random = Random::new(seed);
    let text: String = (0..ROWS).map(|id| line(&mut random, id)).collect();
    let files = Files(HashMap::from([("t".to_owned(), text.into_bytes())]));
    let mut root = session_with(database, "root", files);
    let analyze = "ANALYZE TABLE t";
    for sql in [NO_RENEWAL, "CREATE DATABASE db", "USE db", TABLE, "LOAD DATA LOCAL INFILE 't' INTO TABLE t", analyze] {
        root.execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// Runs a statement, so that its plan is known if it has one, and returns true if it takes the short path then.
pub async fn is_short(session: &mut Session, sql: &str) -> bool {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    let (_, answer) = session.execute_short(ShortStatement::Text(sql), CollectedRows::default()).await;
    !matches!(answer, ShortAnswer::General)
}

pub async fn in_db(database: &Arc<Database>, user: &str) -> Session {
    let mut session = session(database, user);
    session.use_database("db").unwrap();
    session
}

pub async fn status(session: &mut Session, name: &str) -> u64 {
    let found = rows(session, &format!("SHOW STATUS LIKE '{name}'")).await.unwrap();
    found[0][1].parse().unwrap()
}
