//! Columns that come, go, move and get wider while rows stay: a table that is altered instantly beside a twin whose
//! rows are copied each time, with the same changes of rows in between. By every way of reading both have the same
//! rows, after crashes too.

mod fixture;
mod random_data;

use muster_engine::{
    Database, DatabaseOptions, Durability, Session,
    io::{Disk, simulated::SimulatedDisk},
};
use random_data::{Random, run};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Types of columns with some of their values. The first value is the default where a column has one.
const TYPES: [(&str, [&str; 4]); 12] = [
    ("INT", ["7", "-5", "0", "2000000000"]),
    ("BIGINT UNSIGNED", ["18446744073709551615", "0", "12", "13"]),
    ("DECIMAL(12,2)", ["1.50", "-3.25", "0", "1234567890.12"]),
    ("DECIMAL(40,5)", ["99999999999999999999999999999999999.00001", "-1", "0", "2.5"]),
    ("DOUBLE", ["2.5", "-1e100", "0", "1e-5"]),
    ("DATE", ["'2024-02-29'", "'1000-01-01'", "'9999-12-31'", "'2001-01-01'"]),
    ("DATETIME(3)", ["'2024-02-29 12:13:14.567'", "'1000-01-01'", "'2020-01-01 00:00:00'", "'2021-01-01'"]),
    ("VARCHAR(40)", ["'Ärger'", "''", "'a'", "'something that is much longer'"]),
    ("VARCHAR(40) COLLATE utf8mb4_bin", ["'so'", "'So'", "' '", "'zzz'"]),
    ("CHAR(5)", ["'ab'", "''", "'x'", "'ÄÖÜ'"]),
    ("ENUM('n','a','b')", ["'a'", "'n'", "'b'", "'a'"]),
    ("VARBINARY(30)", ["0x00ff", "''", "0x41", "'some bytes'"]),
];

/// Columns that a table has at most, the primary key left out.
const COLUMNS_MAX: usize = 9;

#[derive(Clone)]
struct Column {
    name: String,
    ty: usize,
    nullable: bool,
}

impl Column {
    fn definition(&self) -> String {
        format!("{} {}{}", self.name, self.type_name(), if self.nullable { "" } else { " NOT NULL" })
    }

    /// The column `b` is a text that may need pages of its own.
    fn type_name(&self) -> &'static str {
        if self.name == "b" { "TEXT" } else { TYPES[self.ty].0 }
    }
}

/// What statements have made of both tables.
struct Twins {
    random: Random,
    columns: Vec<Column>,
    /// Names of indexes with their columns.
    indexes: Vec<(String, String)>,
    names: usize,
    rows: usize,
    /// Statements that touched no row, and others.
    instant: usize,
    has_crashed: bool,
    /// True while a view keeps versions of rows.
    has_view: bool,
}

impl Twins {
    async fn new(seed: u64, session: &mut Session) -> Twins {
        run(session, "CREATE DATABASE d").await;
        session.use_database("d").unwrap();
        let key = if seed.is_multiple_of(3) { "KEY (id)" } else { "PRIMARY KEY (id)" };
        for table in ["t", "u"] {
            run(session, &format!("CREATE TABLE {table} (id INT NOT NULL, a INT, b TEXT, {key}, KEY ka (a))")).await;
        }
        let column = |name: &str, ty| Column { name: name.into(), ty, nullable: true };
        run(session, "CREATE TABLE o (id INT PRIMARY KEY)").await;
        let columns = vec![column("a", 0), column("b", 7)];
        let (random, indexes) = (Random::new(seed * 7919 + 1), vec![("ka".into(), "a".into())]);
        Twins { random, columns, indexes, names: 0, rows: 0, instant: 0, has_crashed: false, has_view: false }
    }

    fn value(&mut self, column: &Column) -> String {
        if column.nullable && self.random.one_in(5) {
            return "NULL".into();
        }
        if column.name == "b" && self.random.one_in(12) {
            return format!("REPEAT('long {} ', 900)", self.random.below(90));
        }
        let at = self.random.below(4);
        TYPES[column.ty].1[at].into()
    }

    /// A place for a column that comes or moves.
    fn place(&mut self, besides: &str) -> String {
        let others: Vec<String> =
            self.columns.iter().map(|c| c.name.clone()).filter(|name| name != besides).chain(["id".into()]).collect();
        match self.random.below(3) {
            0 => String::new(),
            1 => " FIRST".into(),
            _ => format!(" AFTER {}", others[self.random.below(others.len())]),
        }
    }

    /// `ADD COLUMN`, of a new name or of one that was dropped.
    fn add(&mut self) -> String {
        self.names += 1;
        if self.columns.iter().all(|column| column.name != "b") && self.random.one_in(2) {
            let column = Column { name: "b".into(), ty: 7, nullable: true };
            let clause = format!("ADD COLUMN {}{}", column.definition(), self.place(""));
            self.columns.push(column);
            return clause;
        }
        let mut name = format!("c{}", self.names % 6);
        if self.columns.iter().any(|column| column.name == name) {
            name = format!("n{}", self.names);
        }
        let column = Column { name, ty: self.random.below(TYPES.len()), nullable: self.random.one_in(2) };
        // The zero date is no value.
        let needs_default = !column.nullable && TYPES[column.ty].0.starts_with("DATE");
        let default = match self.random.below(3) {
            0 if !needs_default => String::new(),
            _ => format!(" DEFAULT {}", TYPES[column.ty].1[0]),
        };
        let clause = format!("ADD COLUMN {}{default}{}", column.definition(), self.place(""));
        self.columns.push(column);
        clause
    }

    /// `DROP COLUMN` of one that no index has.
    fn drop_column(&mut self) -> Option<String> {
        let is_free = |column: &Column| !self.indexes.iter().any(|(_, of)| *of == column.name);
        let free: Vec<usize> = (0..self.columns.len()).filter(|at| is_free(&self.columns[*at])).collect();
        if free.is_empty() || self.columns.len() < 3 {
            return None;
        }
        let gone = self.columns.remove(free[self.random.below(free.len())]);
        Some(format!("DROP COLUMN {}", gone.name))
    }

    /// Clauses of an ALTER TABLE, and whether rows stay as they are.
    fn alter(&mut self) -> (String, bool) {
        let at = self.random.below(self.columns.len());
        match self.random.below(10) {
            0..3 if self.columns.len() < COLUMNS_MAX => (self.add(), true),
            3 | 4 => match self.drop_column() {
                Some(clause) => (clause, true),
                None => ("COMMENT 'nothing'".into(), true),
            },
            5 if self.columns.len() < COLUMNS_MAX => match self.drop_column() {
                Some(clause) => (format!("{clause}, {}", self.add()), true),
                None => (format!("{}, {}", self.add(), self.add()), true),
            },
            6 if self.columns[at].name != "b" => {
                let column = self.columns[at].clone();
                (format!("MODIFY COLUMN {}{}", column.definition(), self.place(&column.name)), true)
            }
            7 if self.columns[at].name != "b" => {
                let column = &self.columns[at];
                let default = TYPES[column.ty].1[self.random.below(4)];
                (format!("ALTER COLUMN {} SET DEFAULT {default}", column.name), true)
            }
            8 if self.indexes.len() > 1 => {
                let (name, _) = self.indexes.remove(self.random.below(self.indexes.len()));
                (format!("DROP INDEX {name}"), true)
            }
            8 | 9 if self.columns[at].name != "b" => {
                self.names += 1;
                let (name, of) = (format!("k{}", self.names), self.columns[at].name.clone());
                self.indexes.push((name.clone(), of.clone()));
                (format!("ADD INDEX {name} ({of})"), false)
            }
            _ => ("FORCE".into(), false),
        }
    }

    /// A change of rows, for a table `{t}`.
    fn change(&mut self) -> String {
        let (low, columns) = (self.random.below(self.rows + 1), self.columns.clone());
        let high = low + self.random.below(30);
        match self.random.below(8) {
            0..3 => {
                let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                let (first, count) = (self.rows, 1 + self.random.below(40));
                let mut row = |id: usize| {
                    let values: Vec<String> = columns.iter().map(|column| self.value(column)).collect();
                    format!("({id}, {})", values.join(", "))
                };
                let rows: Vec<String> = (first..first + count).map(&mut row).collect();
                self.rows += count;
                format!("INSERT INTO {{t}} (id, {}) VALUES {}", names.join(", "), rows.join(", "))
            }
            3 => format!("DELETE FROM {{t}} WHERE id BETWEEN {low} AND {high}"),
            4 => {
                let id = self.rows;
                self.rows += 1;
                // The defaults of this moment.
                let given: Vec<&Column> = columns.iter().filter(|column| !column.nullable).collect();
                let values: Vec<String> = given.iter().map(|column| self.value(column)).collect();
                let names: Vec<&str> = given.iter().map(|column| column.name.as_str()).collect();
                let comma = if names.is_empty() { "" } else { ", " };
                format!("INSERT INTO {{t}} (id{comma}{}) VALUES ({id}{comma}{})", names.join(", "), values.join(", "))
            }
            _ => {
                let column = &columns[self.random.below(columns.len())];
                let value = self.value(column);
                format!("UPDATE {{t}} SET {} = {value} WHERE id BETWEEN {low} AND {high}", column.name)
            }
        }
    }

    async fn both(&self, session: &mut Session, sql: &str) {
        for table in ["t", "u"] {
            run(session, &sql.replace("{t}", table)).await;
        }
    }

    /// An ALTER TABLE of both tables.
    async fn alter_both(&mut self, session: &mut Session, (disk, directory): (&SimulatedDisk, &Path)) {
        let (clauses, is_instant) = self.alter();
        let files = last_file(disk, directory);
        run(session, &format!("ALTER TABLE t {clauses}")).await;
        if is_instant {
            assert_eq!(last_file(disk, directory), files, "rows were copied: {clauses}");
            self.instant += 1;
        }
        let order = if clauses.starts_with("FORCE") { "" } else { ", ALGORITHM=COPY" };
        run(session, &format!("ALTER TABLE u {clauses}{order}")).await;
    }

    /// One statement, or a transaction of several.
    async fn step(&mut self, session: &mut Session, disk: (&SimulatedDisk, &Path)) {
        if self.random.one_in(4) {
            return self.alter_both(session, disk).await;
        }
        if self.random.one_in(40) {
            return self.load(session, disk.1).await;
        }
        if !self.random.one_in(4) {
            let change = self.change();
            return self.both(session, &change).await;
        }
        let (before, changes) = (self.rows, 1 + self.random.below(4));
        let changes: Vec<String> = (0..changes).map(|_| self.change()).collect();
        let end = if self.random.one_in(2) { "ROLLBACK" } else { "COMMIT" };
        if end == "ROLLBACK" {
            self.rows = before;
        }
        for sql in ["BEGIN"].into_iter().chain(changes.iter().map(String::as_str)).chain([end]) {
            self.both(session, sql).await;
        }
    }

    /// Empties both tables, and may load rows into them, which get new files.
    async fn load(&mut self, session: &mut Session, directory: &Path) {
        self.both(session, "TRUNCATE {t}").await;
        if self.random.one_in(3) {
            return;
        }
        let ids = self.rows..self.rows + self.random.below(200);
        self.rows = ids.end;
        let lines: Vec<String> = ids.map(|id| format!("{id}\n")).collect();
        std::fs::write(directory.join("import/rows.csv"), lines.concat()).unwrap();
        let set: Vec<String> =
            self.columns.clone().iter().map(|column| format!("{} = {}", column.name, self.value(column))).collect();
        let load = format!("LOAD DATA INFILE 'rows.csv' INTO TABLE {{t}} (id) SET {}", set.join(", "));
        self.both(session, &load).await;
    }

    /// A transaction that a crash is going to cut off: its changes are in the log.
    async fn begin_in_vain(&mut self, session: &mut Session, database: &Arc<Database>) {
        let before = self.rows;
        run(session, "BEGIN").await;
        for _ in 0..1 + self.random.below(4) {
            let change = self.change();
            self.both(session, &change).await;
        }
        self.rows = before;
        // The log is synced up to here.
        run(&mut fixture::session(database, "root"), "REPLACE INTO d.o VALUES (1)").await;
    }

    /// Reads both tables in the same ways. `when`: told if they differ.
    async fn compare(&mut self, session: &mut Session, when: &str) {
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let list = names.join(", ");
        let mut queries = vec!["SELECT * FROM {t}".to_string(), format!("SELECT {list} FROM {{t}} WHERE id % 3 = 1")];
        for column in self.columns.clone() {
            let (name, value) = (&column.name, TYPES[column.ty].1[self.random.below(4)]);
            queries.extend([
                format!("SELECT {name}, COUNT(*), MIN(id), MAX(id) FROM {{t}} GROUP BY {name}"),
                format!("SELECT id, {name} FROM {{t}} WHERE {name} = {value}"),
                format!("SELECT COUNT(*), COUNT({name}), MAX({name}), MIN({name}) FROM {{t}} WHERE {name} >= {value}"),
                format!("SELECT id FROM {{t}} WHERE {name} IS NULL"),
                format!("SELECT x.id, y.id FROM {{t}} x JOIN {{t}} y ON x.{name} = y.{name} AND x.id = y.id + 1"),
            ]);
        }
        for (index, of) in &self.indexes {
            queries.push(format!("SELECT {list} FROM {{t}} FORCE INDEX ({index}) WHERE {of} IS NOT NULL"));
            queries.push(format!("SELECT {of} FROM {{t}} FORCE INDEX ({index}) ORDER BY {of} DESC LIMIT 7"));
        }
        for _ in 0..4 {
            let id = self.random.below(self.rows + 1);
            queries.push(format!("SELECT * FROM {{t}} WHERE id = {id}"));
        }
        for query in queries {
            let read = [query.replace("{t}", "t"), query.replace("{t}", "u")];
            assert_eq!(run(session, &read[0]).await, run(session, &read[1]).await, "{when}: {query}");
        }
        let shown = run(session, "SHOW CREATE TABLE t").await;
        let shown_twin = run(session, "SHOW CREATE TABLE u").await;
        let text = |rows: &[Vec<Option<String>>]| rows[0][1].clone().unwrap().replacen("`u`", "`t`", 1);
        assert_eq!(text(&shown), text(&shown_twin), "{when}");
        if !self.has_view {
            fixture::wait_for_purge(session).await;
        }
        let checked = run(session, "CHECK TABLE t").await;
        // A crash may cost pages of long values; nothing else does.
        assert!(self.has_crashed || checked.len() == 1, "{when}: {checked:?}");
        assert_eq!(checked.last().unwrap()[3].as_deref(), Some("OK"), "{when}: {checked:?}");
    }
}

/// The highest number of a file of rows.
fn last_file(disk: &SimulatedDisk, directory: &Path) -> Option<PathBuf> {
    let is_of_rows = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with('0') && name.ends_with(".mus")
    };
    disk.list(directory).unwrap().into_iter().filter(is_of_rows).max()
}

fn begin(directory: &Path, disk: &Arc<SimulatedDisk>) -> (Arc<Database>, Session) {
    let options = DatabaseOptions {
        page_size: 4096,
        buffer_pool_bytes: 2 << 20,
        durability: Durability::Full,
        ..fixture::options()
    };
    let database = Database::open_on(directory, options, disk.clone()).unwrap();
    let mut session = fixture::session(&database, "root");
    // At first there is none.
    let _ = session.use_database("d");
    (database, session)
}

async fn live(seed: u64, steps: usize) -> usize {
    let (directory, mut disk) = (tempfile::tempdir().unwrap(), Arc::new(SimulatedDisk::new()));
    let (mut database, mut session) = begin(directory.path(), &disk);
    let mut twins = Twins::new(seed, &mut session).await;
    // A view that keeps versions of rows from being purged, which then have layouts of their own.
    let mut snapshot: Option<Session> = None;
    for step in 0..steps {
        let when = format!("seed {seed}, step {step}");
        twins.has_view = snapshot.is_some();
        twins.step(&mut session, (&disk, directory.path())).await;
        if twins.random.one_in(8) {
            twins.compare(&mut session, &when).await;
        }
        if twins.random.one_in(12) && snapshot.take().is_none() {
            let mut other = fixture::session(&database, "root");
            run(&mut other, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
            snapshot = Some(other);
        }
        if twins.random.one_in(30) {
            let crashes = twins.random.one_in(2);
            if crashes && twins.random.one_in(2) {
                twins.begin_in_vain(&mut session, &database).await;
            }
            twins.has_crashed |= crashes;
            let crashed = crashes.then(|| Arc::new(disk.only_synced()));
            drop((snapshot.take(), session, database));
            twins.has_view = false;
            disk = crashed.unwrap_or(disk);
            (database, session) = begin(directory.path(), &disk);
            if twins.random.one_in(2) {
                twins.alter_both(&mut session, (&disk, directory.path())).await;
            }
            twins.compare(&mut session, &format!("{when}, crashed: {crashes}")).await;
        }
    }
    drop(snapshot);
    twins.has_view = false;
    twins.compare(&mut session, &format!("seed {seed}, at last")).await;
    twins.instant
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_altered_instantly_is_as_its_copied_twin() {
    let mut instant = 0;
    for seed in 1..5 {
        instant += live(seed, 150).await;
    }
    assert!(instant > 40, "{instant} statements let rows stay");
}

/// As many layouts as InnoDB has versions of rows; then a copy leaves one. Answers are MySQL's.
#[tokio::test]
async fn rows_have_as_many_layouts_as_may_be() {
    let (directory, disk) = (tempfile::tempdir().unwrap(), Arc::new(SimulatedDisk::new()));
    let (_database, mut session) = begin(directory.path(), &disk);
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (0)"] {
        run(&mut session, sql).await;
    }
    let add = |at: usize| format!("ALTER TABLE d.t ADD c{at} INT DEFAULT {at}, ALGORITHM=INSTANT");
    for at in 0..64 {
        run(&mut session, &add(at)).await;
        run(&mut session, &format!("INSERT INTO d.t (id) VALUES ({})", at + 1)).await;
    }
    let message = "Maximum row versions reached for table d/t. No more columns can be added or dropped instantly. Please use \
                   COPY/INPLACE.";
    for sql in [add(64), "ALTER TABLE d.t DROP c7, ALGORITHM=INSTANT".into()] {
        let e = session.execute(&sql).await.err().unwrap();
        assert_eq!((e.code.number(), e.message.as_str()), (4092, message));
    }
    let sums = "SELECT COUNT(*), SUM(c0), SUM(c63), MIN(c31), MAX(c31) FROM d.t";
    let before = run(&mut session, sums).await;
    assert_eq!(before, [row(["65", "0", "4095", "31", "31"])]);
    run(&mut session, "ALTER TABLE d.t RENAME COLUMN c1 TO d1, ALGORITHM=INSTANT").await;
    let files = last_file(&disk, directory.path());
    run(&mut session, "ALTER TABLE d.t ADD c64 INT DEFAULT 64").await;
    assert!(last_file(&disk, directory.path()) > files, "the rows were not copied");
    run(&mut session, &add(65)).await;
    assert_eq!(run(&mut session, sums).await, before);
}

/// As in MySQL, a snapshot that is older than the columns of a table does not see the table.
#[tokio::test]
async fn a_snapshot_is_too_old_for_columns_that_came_later() {
    let (directory, disk) = (tempfile::tempdir().unwrap(), Arc::new(SimulatedDisk::new()));
    let (database, mut session) = begin(directory.path(), &disk);
    for sql in ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)", "INSERT INTO d.t VALUES (1, 1)"] {
        run(&mut session, sql).await;
    }
    run(&mut session, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    let mut other = fixture::session(&database, "root");
    for sql in ["ALTER TABLE d.t ADD b INT DEFAULT 7, ALGORITHM=INSTANT", "UPDATE d.t SET a = 2"] {
        run(&mut other, sql).await;
    }
    let e = fixture::rows(&mut session, "SELECT * FROM d.t").await.err().unwrap();
    assert_eq!(e.code.number(), 1412, "{}", e.message);
    run(&mut session, "COMMIT").await;
    assert_eq!(fixture::rows(&mut session, "SELECT * FROM d.t").await.unwrap(), [["1", "2", "7"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a soak of some minutes"]
async fn many_tables_that_are_altered_instantly() {
    for seed in 100..160 {
        live(seed, 400).await;
    }
}

fn row<const N: usize>(texts: [&str; N]) -> Vec<Option<String>> {
    texts.map(|text| Some(text.to_string())).to_vec()
}

/// Reads that all have the same answer: the whole table, each index, single rows, conditions.
async fn read(session: &mut Session) -> Vec<Vec<Vec<Option<String>>>> {
    let mut answers = Vec::new();
    for sql in [
        "SELECT * FROM d.t ORDER BY id",
        "SELECT id, v FROM d.t FORCE INDEX (kv) WHERE v >= '' ORDER BY v, id",
        "SELECT u FROM d.t FORCE INDEX (ku) ORDER BY u",
        "SELECT * FROM d.t WHERE id = 77",
        "SELECT COUNT(*), COUNT(v), MIN(v), MAX(v), MAX(CHAR_LENGTH(v)) FROM d.t",
        "SELECT id FROM d.t WHERE u = 'u150'",
        "SELECT x.id FROM d.t x JOIN d.t y ON x.v = y.v AND x.id < y.id ORDER BY x.id LIMIT 9",
    ] {
        answers.push(run(session, sql).await);
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_longer_varchar_leaves_rows_as_they_are() {
    let (directory, disk) = (tempfile::tempdir().unwrap(), Arc::new(SimulatedDisk::new()));
    let (database, mut session) = begin(directory.path(), &disk);
    let values: Vec<String> = (0..300).map(|i| format!("({i}, 'v{}', 'u{i}', 'w{i}')", i % 40)).collect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(70), u VARCHAR(4) NOT NULL, w VARCHAR(70), KEY kv (v), UNIQUE ku (u), \
         KEY kp (v(2)))",
        &format!("INSERT INTO d.t VALUES {}", values.join(", ")),
        "ANALYZE TABLE d.t",
        "DELETE FROM d.t WHERE id % 7 = 3",
        "UPDATE d.t SET v = NULL WHERE id % 11 = 5",
    ] {
        run(&mut session, sql).await;
    }
    let (files, before) = (last_file(&disk, directory.path()), read(&mut session).await);
    let mut snapshot = fixture::session(&database, "root");
    run(&mut snapshot, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;

    let wider = "MODIFY v VARCHAR(700), CHANGE u u VARCHAR(50) NOT NULL DEFAULT 'none', MODIFY w VARCHAR(9000)";
    run(&mut session, &format!("ALTER TABLE d.t {wider}")).await;
    assert_eq!(last_file(&disk, directory.path()), files, "rows were copied");
    assert_eq!(read(&mut session).await, before);

    // Values that were too long, one of them for a leaf.
    for sql in [
        "UPDATE d.t SET v = REPEAT('long', 175), w = REPEAT('w', 9000) WHERE id = 77",
        "UPDATE d.t SET v = 'longer than four', u = CONCAT(u, '-and-more') WHERE id > 280",
        "INSERT INTO d.t (id, v) VALUES (1000, REPEAT('x', 700))",
        "BEGIN",
        "UPDATE d.t SET v = REPEAT('gone', 150), w = REPEAT('gone', 2000) WHERE id < 50",
        "ROLLBACK",
    ] {
        run(&mut session, sql).await;
    }
    assert_eq!(run(&mut snapshot, "SELECT * FROM d.t ORDER BY id").await, before[0], "a snapshot sees what it saw");
    run(&mut snapshot, "COMMIT").await;
    let after = read(&mut session).await;
    assert_eq!(after[4], [row(["258", "236", "longer than four", &"x".repeat(700), "700"])]);
    let checked = run(&mut session, "CHECK TABLE d.t").await;
    assert_eq!(checked, [row(["d.t", "check", "status", "OK"])]);

    let crashed = Arc::new(disk.only_synced());
    drop((snapshot, session, database));
    let (_database, mut session) = begin(directory.path(), &crashed);
    assert_eq!(read(&mut session).await, after, "after a crash");
    // A crash may cost pages of long values that were free already.
    assert_eq!(run(&mut session, "CHECK TABLE d.t").await.last(), checked.last());
}
