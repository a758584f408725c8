//! Locking statements meet every row that every committed state has, while other sessions delete rows and insert them
//! again, and move their entries. The same is asked of a server, and of MySQL, by `tests/faults/locking_reads.py`,
//! whose README says why each statement must find what it must find.
//!
//! All tables have the ids 1 to 20 in every committed state. In `a` rows only move to larger `g` and `b`, in `d` to
//! smaller ones, so that a scan in that direction meets each row though no gap is locked. In `c` the value of `g` is
//! `id % 4`.

mod fixture;

use fixture::rows;
use muster_engine::{Database, Session, types::SqlError};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

const SESSIONS: u64 = 8;
const IDS: u64 = 20;
const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(20);
const ALL_LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
const LOCK_NOT_AVAILABLE: u16 = 3572;

/// What a statement must give.
#[derive(Clone, Debug)]
enum Wanted {
    /// Rows whose first values are these ids, each once.
    Ids(Vec<u64>),
    /// Rows with so many different first values.
    Rows(usize),
    /// A change of so many rows.
    Changed(usize),
}

/// One kind of statement. In its text `{x}` and `{y}` are two ids, the first one below the second, and `{l}` is a
/// limit.
#[derive(Clone, Copy)]
struct Kind {
    sql: &'static str,
    wanted: fn(u64, u64, u64) -> Wanted,
}

const fn kind(sql: &'static str, wanted: fn(u64, u64, u64) -> Wanted) -> Kind {
    Kind { sql, wanted }
}

fn two(x: u64, y: u64, _: u64) -> Wanted {
    Wanted::Ids(vec![x, y])
}

fn span(x: u64, y: u64, _: u64) -> Wanted {
    Wanted::Ids((x..=y).collect())
}

fn all(_: u64, _: u64, _: u64) -> Wanted {
    Wanted::Ids((1..=IDS).collect())
}

fn none(_: u64, _: u64, _: u64) -> Wanted {
    Wanted::Ids(Vec::new())
}

fn last(_: u64, _: u64, limit: u64) -> Wanted {
    Wanted::Ids((IDS - limit + 1..=IDS).collect())
}

fn limit(_: u64, _: u64, limit: u64) -> Wanted {
    Wanted::Rows(limit as usize)
}

/// The ids whose `g` in `c` is that of x.
fn group(x: u64, _: u64, _: u64) -> Wanted {
    Wanted::Ids((1..=IDS).filter(|id| id % 4 == x % 4).collect())
}

fn two_changed(_: u64, _: u64, _: u64) -> Wanted {
    Wanted::Changed(2)
}

fn span_changed(x: u64, y: u64, _: u64) -> Wanted {
    Wanted::Changed((y - x + 1) as usize)
}

fn all_changed(_: u64, _: u64, _: u64) -> Wanted {
    Wanted::Changed(IDS as usize)
}

fn limit_changed(_: u64, _: u64, limit: u64) -> Wanted {
    Wanted::Changed(limit as usize)
}

const POINTS: [Kind; 4] = [
    kind("SELECT id, b FROM a WHERE id IN ({x}, {y}) {lock}", two),
    kind("SELECT id, b FROM a WHERE id = {x} OR id = {y} {lock}", two),
    kind("SELECT id, b FROM a WHERE id IN ({x}, {y}) ORDER BY id DESC {lock}", two),
    kind("SELECT MIN(id) FROM a WHERE id IN ({x}, {y}) GROUP BY id {lock}", two),
];

const RANGES: [Kind; 10] = [
    kind("SELECT id, b FROM a FORCE INDEX (PRIMARY) WHERE id BETWEEN {x} AND {y} {lock}", span),
    kind("SELECT id, b FROM a FORCE INDEX (g) WHERE g >= 0 {lock}", all),
    kind("SELECT id, g FROM a FORCE INDEX (g) WHERE g >= 0 {lock}", all),
    kind("SELECT id, b FROM a FORCE INDEX (gb) WHERE g >= 0 {lock}", all),
    kind("SELECT id, b FROM a FORCE INDEX (g) WHERE g >= 0 ORDER BY g LIMIT {l} {lock}", limit),
    kind("SELECT id, b FROM a FORCE INDEX (gb) WHERE g >= 0 ORDER BY g LIMIT {l} {lock}", limit),
    kind("SELECT id, b FROM a ORDER BY id DESC LIMIT {l} {lock}", last),
    kind("SELECT id, b FROM a IGNORE INDEX (PRIMARY, g, gb) WHERE b >= 0 {lock}", all),
    kind("SELECT id, b FROM d FORCE INDEX (g) WHERE g <= 2000000 ORDER BY g DESC LIMIT {l} {lock}", limit),
    kind("SELECT id, b FROM d FORCE INDEX (gb) WHERE g <= 2000000 ORDER BY g DESC {lock}", all),
];

const GROUPS: [Kind; 4] = [
    kind("SELECT id, b FROM c FORCE INDEX (g) WHERE g = {x} % 4 {lock}", group),
    kind("SELECT id, b FROM c FORCE INDEX (gb) WHERE g = {x} % 4 AND b >= 0 {lock}", group),
    kind("SELECT id FROM c FORCE INDEX (gb) WHERE g = {x} % 4 {lock}", group),
    kind("SELECT id, b FROM c IGNORE INDEX (PRIMARY, g, gb) WHERE g = {x} % 4 {lock}", group),
];

const JOINS: [Kind; 4] = [
    kind(
        "SELECT a.id, a.b FROM o STRAIGHT_JOIN a FORCE INDEX (PRIMARY) ON a.id = o.aid WHERE o.id IN ({x}, {y}) {lock}",
        two,
    ),
    kind("SELECT a.id, a.b FROM o STRAIGHT_JOIN a IGNORE INDEX (PRIMARY, g, gb) ON a.id = o.aid {lock}", all),
    kind("SELECT a.id, a.b FROM o LEFT JOIN a ON a.id = o.aid WHERE o.id IN ({x}, {y}) {lock}", two),
    kind("SELECT p.id, p.b FROM a p JOIN a q ON q.id = p.id WHERE p.id IN ({x}, {y}) {lock}", two),
];

/// Their subqueries lock nothing: at READ UNCOMMITTED they may see what is not committed.
const SUBQUERIES: [Kind; 3] = [
    kind("SELECT o.id FROM o WHERE o.id IN ({x}, {y}) AND EXISTS (SELECT 1 FROM a WHERE a.id = o.aid) {lock}", two),
    kind("SELECT o.id FROM o WHERE o.id IN ({x}, {y}) AND o.aid IN (SELECT a.id FROM a WHERE a.b >= 0) {lock}", two),
    kind("SELECT o.id FROM o WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.id = o.aid) {lock}", none),
];

const CHANGES: [Kind; 9] = [
    kind("UPDATE a SET b = b + 1 WHERE id IN ({x}, {y})", two_changed),
    kind("UPDATE a SET b = b + 1 WHERE id BETWEEN {x} AND {y}", span_changed),
    kind("UPDATE a FORCE INDEX (g) SET b = b + 1 WHERE g >= 0", all_changed),
    kind("UPDATE a SET b = b + 1 ORDER BY id DESC LIMIT {l}", limit_changed),
    kind("UPDATE o JOIN a ON a.id = o.aid SET a.b = a.b + 1 WHERE o.id IN ({x}, {y})", two_changed),
    kind("UPDATE o JOIN a ON a.id = o.aid SET o.n = o.n + 1 WHERE o.id IN ({x}, {y})", two_changed),
    kind("DELETE FROM a WHERE id IN ({x}, {y})", two_changed),
    kind("DELETE a FROM o JOIN a ON a.id = o.aid WHERE o.id IN ({x}, {y})", two_changed),
    kind("DELETE FROM a WHERE id BETWEEN {x} AND {y}", span_changed),
];

/// They read `a` without locks at READ COMMITTED and below.
const CHANGES_BY_SUBQUERIES: [Kind; 3] = [
    kind("UPDATE o SET n = n + 1 WHERE aid IN (SELECT id FROM a WHERE id IN ({x}, {y}))", two_changed),
    kind("DELETE FROM o WHERE aid IN (SELECT id FROM a WHERE id IN ({x}, {y}))", two_changed),
    kind("INSERT INTO v (n) SELECT b FROM a WHERE id IN ({x}, {y})", two_changed),
];

/// How many statements there were, and how many of them went wrong, by text and level; and an example.
#[derive(Default)]
struct Tally(Mutex<BTreeMap<(&'static str, &'static str), (u64, u64, String)>>);

impl Tally {
    fn add(&self, sql: &'static str, level: &'static str, problem: Option<String>) {
        let mut counts = self.0.lock().unwrap();
        let count = counts.entry((sql, level)).or_default();
        count.0 += 1;
        if let Some(problem) = problem {
            count.1 += 1;
            count.2 = problem;
        }
    }

    #[track_caller]
    fn assert_nothing_was_missed(&self) {
        let counts = self.0.lock().unwrap();
        let (mut total, mut wrong) = (0, 0);
        for ((sql, level), (runs, bad, example)) in &*counts {
            println!("{bad}/{runs} {level}: {sql} {example}");
            (total, wrong) = (total + runs, wrong + bad);
        }
        assert_eq!(wrong, 0, "{wrong} of {total} statements went wrong; their examples are printed above");
        assert!(total > 20, "{total} statements");
    }
}

/// One of the sessions, with numbers that look random.
struct Client {
    session: Session,
    level: &'static str,
    seed: u64,
    until: Instant,
    tally: Arc<Tally>,
}

impl Client {
    fn below(&mut self, bound: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % bound
    }

    async fn ask(&mut self, sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
        rows(&mut self.session, sql).await
    }

    /// Repeats a step until the time is over. A deadlock, or a wait that is too long, takes the transaction back.
    async fn repeat(mut self, step: Step) {
        while Instant::now() < self.until {
            let done = match step {
                Step::Change(tables) => self.change_rows(tables).await,
                Step::Read(kinds) => self.read(kinds).await,
            };
            if let Err(e) = done {
                assert!([1205, 1213, LOCK_NOT_AVAILABLE].contains(&e.code.number()), "{}", e.message);
                self.ask("ROLLBACK").await.unwrap();
            }
        }
    }

    /// A transaction behind which all ids are there again.
    async fn change_rows(&mut self, tables: &'static [&'static str]) -> Result<(), SqlError> {
        let table = tables[self.below(tables.len() as u64) as usize];
        let sign: i64 = if table == "d" { -1 } else { 1 };
        let (x, way) = (1 + self.below(IDS), self.below(8));
        let step = if table == "c" { 0 } else { sign * self.below(3) as i64 };
        if way == 0 {
            return self.ask(&format!("UPDATE {table} SET b = b + {sign} WHERE id = {x}")).await.map(drop);
        }
        if way < 3 && step != 0 {
            let g = self.ask(&format!("SELECT g FROM {table} WHERE id = {x}")).await?;
            let Some(g) = g.first().map(|row| &row[0]) else { return Ok(()) };
            let moving = format!("UPDATE {table} SET g = g + {step} WHERE g = {g} ORDER BY id LIMIT 3");
            return self.ask(&moving).await.map(drop);
        }
        self.ask("BEGIN").await?;
        if way == 3 {
            self.ask(&format!("UPDATE {table} SET id = id + 1000 WHERE id = {x}")).await?;
            self.ask(&format!("UPDATE {table} SET id = id - 1000 WHERE id = {x} + 1000")).await?;
        } else {
            let found = self.ask(&format!("SELECT g, b FROM {table} WHERE id = {x} FOR UPDATE")).await?;
            let problem = (found.len() != 1).then(|| format!("{table}: {x}: {found:?}"));
            self.tally.add("the writer's own read", self.level, problem);
            if let Some(row) = found.first() {
                let [g, b] = [&row[0], &row[1]].map(|n| n.parse::<i64>().unwrap());
                self.ask(&format!("DELETE FROM {table} WHERE id = {x}")).await?;
                self.ask(&format!("INSERT INTO {table} VALUES ({x}, {}, {})", g + step, b + sign)).await?;
            }
        }
        let end = if self.below(7) == 0 { "ROLLBACK" } else { "COMMIT" };
        self.ask(end).await.map(drop)
    }

    async fn read(&mut self, kinds: &'static [Kind]) -> Result<(), SqlError> {
        let kind = kinds[self.below(kinds.len() as u64) as usize];
        let x = 1 + self.below(IDS - 6);
        let (y, l) = (x + 1 + self.below(5), 1 + self.below(6));
        let locks = ["FOR UPDATE", "FOR UPDATE", "FOR SHARE", "FOR UPDATE NOWAIT"];
        let lock = locks[self.below(4) as usize];
        let sql = kind.sql.replace("{x}", &x.to_string()).replace("{y}", &y.to_string());
        let sql = sql.replace("{l}", &l.to_string()).replace("{lock}", lock);
        let wanted = (kind.wanted)(x, y, l);
        self.ask("BEGIN").await?;
        let found = self.ask(&sql).await?;
        let problem = match &wanted {
            Wanted::Changed(count) => {
                let changed = self.ask("SELECT ROW_COUNT()").await?;
                (changed[0][0] != count.to_string()).then(|| format!("{sql}: {} changed, not {count}", changed[0][0]))
            }
            Wanted::Ids(_) | Wanted::Rows(_) => wrong_rows(&found, &wanted).map(|problem| format!("{sql}: {problem}")),
        };
        self.tally.add(kind.sql, self.level, problem);
        let end = if sql.starts_with("UPDATE") && self.below(3) == 0 { "COMMIT" } else { "ROLLBACK" };
        self.ask(end).await.map(drop)
    }
}

/// What a session does again and again.
#[derive(Clone, Copy)]
enum Step {
    /// Changes rows of these tables.
    Change(&'static [&'static str]),
    /// Runs these statements.
    Read(&'static [Kind]),
}

/// What is wrong with the rows; `None` if nothing is.
fn wrong_rows(found: &[Vec<String>], wanted: &Wanted) -> Option<String> {
    // A NULL, where a left join has missed the row, counts as a row that is not there.
    let mut ids: Vec<u64> = found.iter().filter_map(|row| row[0].parse().ok()).collect();
    ids.sort_unstable();
    let right = match wanted {
        Wanted::Ids(wanted) => ids == *wanted,
        Wanted::Rows(count) => ids.len() == *count && ids.windows(2).all(|pair| pair[0] < pair[1]),
        Wanted::Changed(_) => false,
    };
    (!right || ids.len() != found.len()).then(|| format!("gave {ids:?}, wanted {wanted:?}"))
}

async fn database() -> (tempfile::TempDir, Arc<Database>) {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    let mut session = fixture::session(&database, "root");
    let mut setup = vec!["CREATE DATABASE t".to_string(), "USE t".into()];
    for (table, first, groups) in [("a", 0, 5), ("d", 1_000_000, 5), ("c", 0, 4)] {
        let values: Vec<String> = (1..=IDS).map(|id| format!("({id}, {}, 0)", first + id % groups)).collect();
        setup.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, g INT NOT NULL, b INT NOT NULL, KEY g (g), KEY gb (g, b))"
        ));
        setup.push(format!("INSERT INTO {table} VALUES {}", values.join(", ")));
    }
    let values: Vec<String> = (1..=IDS).map(|id| format!("({id}, {id}, 0)")).collect();
    setup.push("CREATE TABLE o (id INT PRIMARY KEY, aid INT NOT NULL, n INT NOT NULL, KEY aid (aid))".into());
    setup.push(format!("INSERT INTO o VALUES {}", values.join(", ")));
    setup.push("CREATE TABLE v (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL)".into());
    setup.push("CREATE TABLE k (id INT PRIMARY KEY, g INT NOT NULL, n INT NOT NULL, KEY g (g))".into());
    setup.push("INSERT INTO k VALUES (1, 1, 0), (2, 0, 0), (3, 1, 0), (4, 0, 0), (5, 1, 0)".into());
    for sql in &setup {
        rows(&mut session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message));
    }
    (directory, database)
}

async fn client(
    database: &Arc<Database>,
    level: &'static str,
    seed: u64,
    time: Duration,
    tally: &Arc<Tally>,
) -> Client {
    let mut session = fixture::session(database, "root");
    for sql in ["USE t", &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")] {
        rows(&mut session, sql).await.unwrap();
    }
    Client { session, level, seed, until: Instant::now() + time, tally: tally.clone() }
}

/// Half of the sessions change rows, half read them; at the end every index has all rows.
async fn read_beside_changes(
    levels: &[&'static str],
    tables: &'static [&'static str],
    kinds: &'static [Kind],
    time: Duration,
) {
    let tally = Arc::new(Tally::default());
    for level in levels {
        let (_directory, database) = database().await;
        let mut running = Vec::new();
        for number in 0..SESSIONS {
            let step = if number % 2 == 0 { Step::Change(tables) } else { Step::Read(kinds) };
            running.push(tokio::spawn(client(&database, level, number + 1, time, &tally).await.repeat(step)));
        }
        for session in running {
            session.await.unwrap();
        }
        let mut session = fixture::session(&database, "root");
        for table in tables {
            for index in ["PRIMARY", "g", "gb"] {
                let sql = format!("SELECT id FROM t.{table} FORCE INDEX ({index}) WHERE g >= 0 AND id > 0");
                let found = rows(&mut session, &sql).await.unwrap();
                assert_eq!(wrong_rows(&found, &all(0, 0, 0)), None, "{level}: {table} by {index} at the end");
            }
        }
    }
    tally.assert_nothing_was_missed();
}

/// Counters are read with locks and written back one higher, by UPDATE or by DELETE and INSERT: no increment is lost.
async fn increments(time: Duration) {
    let tally = Arc::new(Tally::default());
    for level in ALL_LEVELS {
        let (_directory, database) = database().await;
        let mut running = Vec::new();
        for number in 0..SESSIONS {
            let mut client = client(&database, level, number + 1, time, &tally).await;
            running.push(tokio::spawn(async move {
                let mut added = 0;
                while Instant::now() < client.until {
                    match increment(&mut client).await {
                        Ok(count) => added += count,
                        Err(e) => {
                            assert!([1205, 1213].contains(&e.code.number()), "{}", e.message);
                            client.ask("ROLLBACK").await.unwrap();
                        }
                    }
                }
                added
            }));
        }
        let mut added = 0;
        for session in running {
            added += session.await.unwrap();
        }
        let sum = rows(&mut fixture::session(&database, "root"), "SELECT SUM(n) FROM t.k").await.unwrap();
        assert_eq!(sum[0][0], added.to_string(), "{level}: the sum, and the increments that were committed");
    }
    tally.assert_nothing_was_missed();
}

/// Reads two or more counters and adds one to each; returns how many.
async fn increment(client: &mut Client) -> Result<u64, SqlError> {
    let (by_group, again) = (client.below(2) == 0, client.below(2) == 0);
    let x = 1 + client.below(4);
    let sql = if by_group {
        format!("SELECT id, n FROM k FORCE INDEX (g) WHERE g = {} FOR UPDATE", x % 2)
    } else {
        format!("SELECT id, n FROM k WHERE id IN ({x}, 5) FOR UPDATE")
    };
    let wanted = if by_group { (1..=5).filter(|id| id % 2 == x % 2).collect() } else { vec![x, 5] };
    client.ask("BEGIN").await?;
    let found = client.ask(&sql).await?;
    let problem = wrong_rows(&found, &Wanted::Ids(wanted)).map(|problem| format!("{sql}: {problem}"));
    client.tally.add(if by_group { "counters by group" } else { "counters by key" }, client.level, problem);
    for row in &found {
        let [id, n] = [&row[0], &row[1]].map(|n| n.parse::<u64>().unwrap());
        if again {
            client.ask(&format!("DELETE FROM k WHERE id = {id}")).await?;
            client.ask(&format!("INSERT INTO k VALUES ({id}, {}, {})", id % 2, n + 1)).await?;
        } else {
            client.ask(&format!("UPDATE k SET n = {} WHERE id = {id}", n + 1)).await?;
        }
    }
    client.ask("COMMIT").await?;
    Ok(found.len() as u64)
}

async fn points(time: Duration) {
    read_beside_changes(&ALL_LEVELS, &["a"], &POINTS, time).await;
}

async fn ranges(time: Duration) {
    read_beside_changes(&ALL_LEVELS, &["a", "d"], &RANGES, time).await;
}

async fn groups(time: Duration) {
    read_beside_changes(&ALL_LEVELS, &["c"], &GROUPS, time).await;
}

async fn joins(time: Duration) {
    read_beside_changes(&ALL_LEVELS, &["a"], &JOINS, time).await;
}

async fn subqueries(time: Duration) {
    read_beside_changes(&ALL_LEVELS[1..], &["a"], &SUBQUERIES, time).await;
}

async fn changes(time: Duration) {
    read_beside_changes(&ALL_LEVELS, &["a"], &CHANGES, time).await;
    read_beside_changes(&ALL_LEVELS[1..], &["a"], &CHANGES_BY_SUBQUERIES, time).await;
}

macro_rules! reads {
    ($($name:ident, $soak:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
            async fn $name() {
                super::$name(super::SHORT).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 8)]
            #[ignore = "a soak of some minutes"]
            async fn $soak() {
                super::$name(super::LONG).await;
            }
        )*
    };
}

/// Which rows a subquery looks up is known only when it runs, so their table is locked as a whole. Who has rows of it
/// is waited for as for a row.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_locked_as_a_whole_is_waited_for_as_a_row_is() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    let [mut writer, mut reader] = [(); 2].map(|()| fixture::session(&database, "root"));
    let numbers = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i FROM n";
    for sql in ["CREATE DATABASE x", "USE x", "CREATE TABLE few (id INT PRIMARY KEY, v INT)"] {
        rows(&mut writer, sql).await.unwrap();
    }
    for sql in [
        "CREATE TABLE many (id INT PRIMARY KEY, v INT)",
        "INSERT INTO few VALUES (1, 2), (2, 6), (4, 4)",
        &format!("INSERT INTO many {numbers}"),
        "BEGIN",
        "UPDATE many SET v = 7 WHERE id = 2",
    ] {
        rows(&mut writer, sql).await.unwrap();
    }
    for sql in
        ["USE x", "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET innodb_lock_wait_timeout = 1", "BEGIN"]
    {
        rows(&mut reader, sql).await.unwrap();
    }
    let sql = "SELECT id, (SELECT COUNT(*) FROM many JOIN few f ON f.id = many.id WHERE many.id = few.v OR f.v = few.id) \
               FROM few";
    let plan = rows(&mut reader, &format!("EXPLAIN FORMAT=TREE {sql}")).await.unwrap();
    assert!(plan[0][0].contains("lookup on many"), "{plan:?}");
    let answer = tokio::time::timeout(LONG, rows(&mut reader, sql)).await.expect("it waits a second");
    assert_eq!(answer.unwrap_err().code.number(), 1205);
    rows(&mut writer, "COMMIT").await.unwrap();
    assert_eq!(rows(&mut reader, sql).await.unwrap().len(), 3);
}

mod tests {
    reads! {
        points, points_for_long;
        ranges, ranges_for_long;
        groups, groups_for_long;
        joins, joins_for_long;
        subqueries, subqueries_for_long;
        changes, changes_for_long;
        increments, increments_for_long;
    }
}
