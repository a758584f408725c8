//! The state of definitions, statistics and counters after writes that failed, and when their files are lost or
//! damaged.

mod fixture;

use fixture::rows;
use muster_engine::{
    Database, DatabaseOptions, Durability, LogSettings, Session,
    io::{
        Disk,
        simulated::{DiskFault, FaultKind, Operation, SimulatedDisk},
    },
    types::ErrorCode,
};
use muster_storage::{
    checked_file::{self, FileKind},
    definitions::Definitions,
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// A data directory on a simulated disk. Files that LOAD DATA reads are in the file system, at the same path.
struct Home {
    directory: Arc<tempfile::TempDir>,
    disk: Arc<SimulatedDisk>,
}

impl Home {
    fn new() -> Home {
        Home { directory: Arc::new(tempfile::tempdir().unwrap()), disk: Arc::new(SimulatedDisk::new()) }
    }

    fn open(&self) -> Arc<Database> {
        // Checkpoints come when a test asks for one, or the database is closed.
        let log = LogSettings { checkpoint_interval: Duration::from_secs(3600), ..fixture::options().log };
        let options = DatabaseOptions { durability: Durability::Full, log, ..fixture::options() };
        Database::open_on(self.directory.path(), options, self.disk.clone()).unwrap()
    }

    /// The same place, with another disk.
    fn on(&self, disk: SimulatedDisk) -> Home {
        Home { directory: self.directory.clone(), disk: Arc::new(disk) }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn fault(&self, on: Operation, after: u64) {
        self.disk.inject(DiskFault { on, after, kind: FaultKind::Error(EIO), forever: false });
    }

    /// Files with this extension.
    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let all = self.disk.list(self.path()).unwrap().into_iter();
        all.filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
    }

    fn read(&self, file: &Path) -> Vec<u8> {
        self.disk.read_small(file, 1 << 20).unwrap()
    }

    fn write(&self, file: &Path, bytes: &[u8]) {
        self.disk.write_small(file, bytes, true).unwrap();
    }

    /// A database `d` with a table `t` of three rows, and a table `v` without any.
    async fn with_table(&self) -> (Arc<Database>, Session) {
        let database = self.open();
        let mut session = fixture::session(&database, "root");
        run(&mut session, "CREATE DATABASE d").await;
        run(&mut session, "USE d").await;
        let columns = "a INT AUTO_INCREMENT PRIMARY KEY, b INT, s VARCHAR(20), KEY kb (b)";
        for table in ["t", "v"] {
            run(&mut session, &format!("CREATE TABLE {table} ({columns})")).await;
        }
        fs::write(self.path().join("import/3.csv"), "1,30,abc\n2,20,ABC\n7,10,x\n").unwrap();
        fs::write(self.path().join("import/1.csv"), "9,40,y\n").unwrap();
        run(&mut session, &load(3)).await;
        (database, session)
    }
}

/// The number of "input/output error".
const EIO: i32 = 5;

fn load(file: u32) -> String {
    format!("LOAD DATA INFILE '{file}.csv' INTO TABLE t FIELDS TERMINATED BY ','")
}

/// A load into a table without rows, which gets new files.
const LOAD_FILES: &str = "LOAD DATA INFILE '1.csv' INTO TABLE v FIELDS TERMINATED BY ','";

/// A change of a table that copies its rows.
const ALTER: &str = "ALTER TABLE t MODIFY b BIGINT, ADD UNIQUE us (s, a)";

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

/// All that can be seen of the table: its definition, its statistics, its rows by each index.
async fn observe(session: &mut Session) -> String {
    let mut seen = String::new();
    for table in ["t", "u", "v"] {
        let Ok(created) = rows(session, &format!("SHOW CREATE TABLE d.{table}")).await else { continue };
        seen += &format!("{created:?}\n");
        let names = "SELECT DISTINCT index_name FROM information_schema.statistics";
        let known = "SELECT table_rows FROM information_schema.tables";
        let here = format!("WHERE table_schema = 'd' AND table_name = '{table}'");
        for index in run(session, &format!("{names} {here}")).await {
            let by = format!("SELECT * FROM d.{table} FORCE INDEX ({}) ORDER BY a", index[0]);
            seen += &format!("{index:?} {:?}\n", run(session, &by).await);
        }
        seen += &format!("{:?}\n", run(session, &format!("{known} {here}")).await);
    }
    seen
}

/// A new session's view of the table.
async fn observe_anew(home: &Home) -> String {
    observe(&mut fixture::session(&home.open(), "root")).await
}

/// What is seen before a statement and after it.
async fn before_and_after(sql: &str) -> (String, String) {
    let home = Home::new();
    let (_database, mut session) = home.with_table().await;
    let before = observe(&mut session).await;
    run(&mut session, sql).await;
    (before, observe(&mut session).await)
}

/// One statement with one fault after the other, until it meets none. Returns how many it met.
async fn survive(sql: &str, on: Operation) -> u64 {
    let (before, after) = before_and_after(sql).await;
    for position in 0.. {
        let home = Home::new();
        let (database, mut session) = home.with_table().await;
        home.fault(on, position);
        let result = rows(&mut session, sql).await;
        home.disk.clear_faults();
        let context = format!("{sql}, fault at {on:?} {position}: {result:?}");
        let wanted = if result.is_ok() { &after } else { &before };
        let after_power_cut = home.disk.only_synced();
        assert_eq!(&observe(&mut session).await, wanted, "{context}");
        drop((session, database));
        assert_eq!(&observe_anew(&home).await, wanted, "{context}, opened again");
        assert_eq!(&observe_anew(&home.on(after_power_cut)).await, wanted, "{context}, after a power cut");
        if result.is_ok() {
            return position;
        }
    }
    unreachable!()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_write_of_a_small_file_leaves_what_the_error_says() {
    use Operation::{Rename, SyncDirectory, WriteSmall};
    for (sql, meets) in [
        (LOAD_FILES, &[SyncDirectory, Rename, WriteSmall][..]),
        ("CREATE INDEX ks ON t (s)", &[SyncDirectory, Rename, WriteSmall]),
        (ALTER, &[SyncDirectory, Rename, WriteSmall]),
        ("CREATE TABLE u (a INT PRIMARY KEY)", &[SyncDirectory]),
        ("TRUNCATE TABLE t", &[SyncDirectory]),
        // All of these is one record of the log.
        ("DROP INDEX kb ON t", &[]),
        ("DROP TABLE t", &[]),
        ("RENAME TABLE t TO u", &[]),
    ] {
        for on in [SyncDirectory, Rename, WriteSmall] {
            let met = survive(sql, on).await;
            assert_eq!(met > 0, meets.contains(&on), "{sql} meets {met} {on:?}");
        }
    }
}

/// When the log cannot be made durable the process ends. What it wrote is there afterwards or not, and nothing between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_cannot_be_made_durable_ends_the_process() {
    let definitions = ["CREATE INDEX ks ON t (s)", "DROP TABLE t", "RENAME TABLE t TO u", "TRUNCATE TABLE t"];
    for sql in definitions.into_iter().chain([LOAD_FILES, ALTER]) {
        let (before, after) = before_and_after(sql).await;
        for on in [Operation::Write, Operation::Sync] {
            let home = Home::new();
            let (database, mut session) = home.with_table().await;
            let fault = DiskFault { on, after: 0, kind: FaultKind::Error(EIO), forever: false };
            home.disk.inject_for(".log", fault);
            let e = rows(&mut session, sql).await.unwrap_err();
            assert!(home.disk.is_off(), "{sql}, {on:?}: the process goes on after {}", e.message);
            drop((session, database));
            for seed in 0..8 {
                let left = match seed {
                    0 => home.disk.only_synced(),
                    _ => home.disk.after_power_cut(seed),
                };
                let found = observe_anew(&home.on(left)).await;
                assert!(
                    found == before || found == after && on == Operation::Sync && seed > 0,
                    "{sql}, {on:?}, {seed}"
                );
            }
        }
    }
}

/// The files of definitions and accounts follow the log when they can: until then the log has what is in them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_that_cannot_be_written_to_their_files_stay_in_the_log() {
    let home = Home::new();
    let (database, mut session) = home.with_table().await;
    drop((session, database));
    let wanted = {
        let database = home.open();
        session = fixture::session(&database, "root");
        for on in [Operation::WriteSmall, Operation::Rename, Operation::SyncDirectory] {
            home.disk.inject(DiskFault { on, after: 0, kind: FaultKind::Error(EIO), forever: true });
        }
        for sql in ["USE d", "RENAME TABLE t TO u", "DROP INDEX kb ON u", "CREATE USER u"] {
            run(&mut session, sql).await;
        }
        let wanted = observe(&mut session).await;
        // Closing the database writes no checkpoint that passes them.
        drop((session, database));
        wanted
    };
    let catalog = || home.read(&home.path().join("catalog.mus"));
    assert!(!String::from_utf8_lossy(&catalog()).contains(r#""name":"u""#));
    for can_write in [false, true] {
        // A start goes on without writing them.
        home.disk.clear_faults();
        if !can_write {
            home.disk.inject(DiskFault {
                on: Operation::WriteSmall,
                after: 0,
                kind: FaultKind::Error(EIO),
                forever: true,
            });
        }
        let database = home.open();
        session = fixture::session(&database, "root");
        assert_eq!(observe(&mut session).await, wanted);
        assert!(database.authentication("u", "h").is_some());
        drop((session, database));
    }
    assert!(String::from_utf8_lossy(&catalog()).contains(r#""name":"u""#));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_without_statistics_have_the_same_rows() {
    let home = Home::new();
    let (database, mut session) = home.with_table().await;
    // Whether bytes may be compared where letters of both cases are equal, statistics decide.
    let query = "SELECT a FROM d.t WHERE s = 'abc' ORDER BY a";
    let wanted = (run(&mut session, query).await, observe(&mut session).await);
    assert_eq!(wanted.0, [["1"], ["2"]]);
    drop((session, database));
    let [file] = &home.files("stats")[..] else { panic!("{:?}", home.files("stats")) };
    let good = home.read(file);
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in [None, Some(&flipped[..]), Some(&good[..good.len() / 2]), Some(b"")] {
        match damaged {
            None => home.disk.remove(file).unwrap(),
            Some(bytes) => home.write(file, bytes),
        }
        let database = home.open();
        let mut session = fixture::session(&database, "root");
        assert_eq!((run(&mut session, query).await, observe(&mut session).await), wanted);
        let plan = run(&mut session, "EXPLAIN SELECT * FROM d.t FORCE INDEX (kb) WHERE b = 20").await;
        assert_eq!(plan[0][6], "kb", "{plan:?}");
    }
    // The next load of all rows takes them anew.
    let database = home.open();
    let mut session = fixture::session(&database, "root");
    run(&mut session, "USE d").await;
    run(&mut session, "TRUNCATE TABLE t").await;
    run(&mut session, &load(3)).await;
    assert_eq!(home.files("stats").len(), 1, "the old one went with the rows");
    drop((session, database));
    let cardinality = "SELECT cardinality FROM information_schema.statistics WHERE table_name = 't'";
    assert_eq!(run(&mut fixture::session(&home.open(), "root"), cardinality).await, [["3"], ["3"]]);
}

/// What takes room fails with MySQL's error and changes nothing; what frees room has some kept for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_takes_nothing_but_drops() {
    let home = Home::new();
    let (_database, mut session) = home.with_table().await;
    let before = observe(&mut session).await;
    let files = || home.disk.list(home.path()).unwrap();
    let used: u64 = files().iter().filter_map(|file| home.disk.len_of(file).unwrap()).sum();
    home.disk.set_capacity(Some(used));
    for (sql, code, message) in [
        (LOAD_FILES, ErrorCode::RecordFileFull, "The table 'v' is full"),
        ("CREATE INDEX ks ON t (s)", ErrorCode::RecordFileFull, "The table 't' is full"),
        (ALTER, ErrorCode::RecordFileFull, "The table 't' is full"),
        ("CREATE TABLE u (a INT)", ErrorCode::DiskFull, "no space left"),
    ] {
        let e = rows(&mut session, sql).await.unwrap_err();
        assert_eq!(e.code, code, "{sql}: {}", e.message);
        assert!(e.message.ends_with(message), "{sql}: {}", e.message);
        assert_eq!(observe(&mut session).await, before, "{sql}");
    }
    // What takes no room but that of the log is done as long as the log has some, and survives.
    run(&mut session, "CREATE DATABASE e").await;
    let databases =
        run(&mut fixture::session(&home.on(home.disk.only_synced()).open(), "root"), "SHOW DATABASES").await;
    assert!(databases.contains(&vec!["e".to_string()]), "{databases:?}");
    run(&mut session, "TRUNCATE TABLE t").await;
    run(&mut session, "DROP TABLE t").await;
    run(&mut session, "CREATE TABLE u (a INT)").await;
}

async fn next_value(home: &Home) -> u64 {
    let of_t = "SELECT auto_increment FROM information_schema.tables WHERE table_name = 't'";
    run(&mut fixture::session(&home.open(), "root"), of_t).await[0][0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_go_back_only_when_they_are_told_to() {
    let home = Home::new();
    drop(home.with_table().await);
    assert_eq!(next_value(&home).await, 8);
    let alter = |next: u64| format!("ALTER TABLE d.t AUTO_INCREMENT = {next}");
    let mut least = 8;
    for (on, next) in [(Operation::WriteSmall, 20), (Operation::Rename, 30), (Operation::SyncDirectory, 40)] {
        for after in 0..4 {
            let database = home.open();
            let mut session = fixture::session(&database, "root");
            home.fault(on, after);
            let result = rows(&mut session, &alter(next + after)).await;
            home.disk.clear_faults();
            if result.is_ok() {
                least = next + after;
            }
            drop((session, database));
            let found = next_value(&home).await;
            assert!(found >= least, "{found} after {least}, fault at {on:?} {after}: {result:?}");
            least = found;
        }
    }
    assert!(least >= 40);
    let database = home.open();
    let mut session = fixture::session(&database, "root");
    // Through what makes new files of the rows, and what does not.
    for sql in ["USE d", "CREATE INDEX ks ON t (s)", "DROP INDEX ks ON t", "ALTER TABLE t FORCE", &load(1)] {
        run(&mut session, sql).await;
    }
    drop((session, database));
    assert_eq!(next_value(&home).await, least);
    // Told to go back, a counter stays above all rows.
    let database = home.open();
    run(&mut fixture::session(&database, "root"), &alter(5)).await;
    drop(database);
    assert_eq!(next_value(&home).await, 10);
    // A counter that is lost is one more than the largest value, with statistics and without.
    for lost in ["counter", "stats"] {
        home.files(lost).iter().for_each(|file| home.write(file, b"damaged"));
        assert_eq!(next_value(&home).await, 10, "without {lost}");
    }
    let database = home.open();
    let mut session = fixture::session(&database, "root");
    run(&mut session, "TRUNCATE TABLE d.t").await;
    drop((session, database));
    assert_eq!(next_value(&home).await, 1);
}

/// The catalog as formats 1 and 2 held it: one value with all definitions.
fn former_catalog(bytes: &[u8]) -> serde_json::Value {
    let kind = FileKind { magic: *b"MUSTCATA", version: 6 };
    let definitions = Definitions::from_bytes(bytes, kind).unwrap().values;
    let value = |bytes: &[u8]| -> serde_json::Value { serde_json::from_slice(bytes).unwrap() };
    let of = |kind: &str, database: &str| -> Vec<serde_json::Value> {
        let prefix = format!("{kind}{database}\0").into_bytes();
        definitions.iter().filter(|(key, _)| key.starts_with(&prefix)).map(|(_, bytes)| value(bytes)).collect()
    };
    let databases = definitions.iter().filter(|(key, _)| key[0] == b'd').map(|(key, bytes)| {
        let name = str::from_utf8(&key[1..]).unwrap();
        let collation = &value(bytes)["collation"];
        serde_json::json!({ "name": name, "collation": collation, "tables": of("t", name), "views": of("v", name) })
    });
    let databases: Vec<_> = databases.collect();
    serde_json::json!({ "next_table_id": value(&definitions[&b"n"[..]]), "databases": databases })
}

/// The bytes of a catalog of a former format.
fn sealed(version: u32, catalog: &serde_json::Value) -> Vec<u8> {
    checked_file::seal(FileKind { magic: *b"MUSTCATA", version }, &serde_json::to_vec(catalog).unwrap())
}

/// Catalogs of format 1 held statistics and counters; they move to files of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_catalog_of_the_former_format_is_taken_over() {
    let home = Home::new();
    let (database, mut session) = home.with_table().await;
    run(&mut session, "ALTER TABLE t AUTO_INCREMENT = 50").await;
    let wanted = observe(&mut session).await;
    drop((session, database));
    let statistics: serde_json::Value = serde_json::from_slice(&home.read(&home.files("stats")[0])[24..]).unwrap();
    let path = home.path().join("catalog.mus");
    let mut catalog = former_catalog(&home.read(&path));
    let indexes: Vec<_> = statistics["indexes"].as_array().unwrap().iter().map(|i| i[1].clone()).collect();
    let table = &mut catalog["databases"][0]["tables"][0];
    table["auto_increment"] = 50.into();
    table["updated"] = statistics["loaded"].clone();
    table["statistics"] = serde_json::json!({
        "rows": statistics["rows"], "columns": statistics["columns"], "indexes": indexes,
    });
    for file in home.files("stats").iter().chain(&home.files("counter")) {
        home.disk.remove(file).unwrap();
    }
    home.write(&path, &sealed(1, &catalog));
    for _ in 0..2 {
        assert_eq!(observe_anew(&home).await, wanted);
    }
    assert_eq!((home.files("stats").len(), home.files("counter").len()), (1, 1));
    assert!(!String::from_utf8_lossy(&home.read(&path)).contains("statistics"));
}

/// Formats 3 and 4 have definitions by key as format 5 has them. The first change makes each a file that a build
/// without CHECK constraints or foreign keys does not open, also when no checkpoint passes that record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn catalogs_without_constraints_are_taken_over() {
    for version in [3, 4, 5] {
        a_catalog_without_constraints_is_taken_over(version).await;
    }
}

async fn a_catalog_without_constraints_is_taken_over(version: u32) {
    let home = Home::new();
    let (database, mut session) = home.with_table().await;
    let wanted = observe(&mut session).await;
    drop((session, database));
    let path = home.path().join("catalog.mus");
    let kind = |version| FileKind { magic: *b"MUSTCATA", version };
    let definitions = Definitions::from_bytes(&home.read(&path), kind(6)).unwrap();
    let former = Definitions { kind: kind(version), ..definitions }.to_bytes();
    home.write(&path, &former);
    assert_eq!(observe_anew(&home).await, wanted);
    assert_eq!(home.read(&path), former, "nothing has changed");
    let database = home.open();
    let mut session = fixture::session(&database, "root");
    run(&mut session, "CREATE TABLE d.one (a INT, CHECK (a > 0))").await;
    run(&mut session, "CREATE TABLE d.two (a INT)").await;
    drop((session, database));
    assert_eq!(observe_anew(&home).await, wanted);
    let database = home.open();
    let mut session = fixture::session(&database, "root");
    let text = run(&mut session, "SHOW CREATE TABLE d.one").await;
    assert!(text[0][1].contains("CHECK ((`a` > 0))"), "{text:?}");
    drop((session, database));
    assert!(Definitions::from_bytes(&home.read(&path), kind(6)).is_ok());
}

/// Format 2 held all definitions in one value. The first change makes it a file of definitions by key, also when no
/// checkpoint passes that record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_catalog_with_all_definitions_in_one_value_is_taken_over() {
    let home = Home::new();
    let (database, mut session) = home.with_table().await;
    run(&mut session, "CREATE VIEW w AS SELECT a FROM t").await;
    let wanted = observe(&mut session).await;
    drop((session, database));
    let path = home.path().join("catalog.mus");
    let former = sealed(2, &former_catalog(&home.read(&path)));
    home.write(&path, &former);
    assert_eq!(observe_anew(&home).await, wanted);
    assert_eq!(home.read(&path), former, "nothing has changed");
    let database = home.open();
    let mut session = fixture::session(&database, "root");
    run(&mut session, "CREATE TABLE d.one (a INT)").await;
    run(&mut session, "CREATE TABLE d.two (a INT)").await;
    run(&mut session, "DROP TABLE d.one").await;
    drop((session, database));
    let database = home.open();
    let mut session = fixture::session(&database, "root");
    let tables = run(&mut session, "SHOW TABLES FROM d").await;
    assert_eq!(tables, [["t"], ["two"], ["v"], ["w"]].map(|row| row.map(String::from).to_vec()));
    run(&mut session, "USE d").await;
    assert_eq!(observe(&mut session).await, wanted);
}

/// What a statement writes to the log.
async fn log_bytes_of(session: &mut Session, sql: &str) -> u64 {
    let status = "SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'";
    let before: u64 = run(session, status).await[0][1].parse().unwrap();
    run(session, sql).await;
    run(session, status).await[0][1].parse::<u64>().unwrap() - before
}

/// DDL writes what it changes to the log, however many definitions there are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ddl_writes_what_it_changes() {
    let home = Home::new();
    let (_database, mut session) = home.with_table().await;
    let few = log_bytes_of(&mut session, "CREATE TABLE first (a INT PRIMARY KEY, b VARCHAR(20), KEY (b))").await;
    for n in 0..60 {
        run(&mut session, &format!("CREATE TABLE n{n} (a INT PRIMARY KEY, b VARCHAR(20), KEY (b))")).await;
    }
    for statement in [
        "CREATE TABLE last (a INT PRIMARY KEY, b VARCHAR(20), KEY (b))",
        "ALTER TABLE last COMMENT = 'new'",
        "RENAME TABLE last TO very_last",
        "CREATE VIEW of_first AS SELECT a FROM first",
        "TRUNCATE TABLE very_last",
        "DROP TABLE very_last",
        "CREATE DATABASE other",
        "DROP DATABASE other",
    ] {
        let many = log_bytes_of(&mut session, statement).await;
        // The log counts whole blocks.
        assert!(many <= few + 8192, "{statement}: {many} bytes with 60 tables more, {few} bytes before");
    }
}

/// A change of a definition that comes while an index is built waits for it, and neither undoes the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_during_create_index_are_kept() {
    let home = Home::new();
    let (database, mut session) = home.with_table().await;
    let numbers: String = (10..20_000).map(|n| format!("{n},{},s{n}\n", n % 100)).collect();
    fs::write(home.path().join("import/2.csv"), numbers).unwrap();
    run(&mut session, &load(2)).await;
    for (i, change) in ["ALTER TABLE t RENAME INDEX kb TO kc", "ALTER TABLE t COMMENT = 'new'", "RENAME TABLE t TO u"]
        .into_iter()
        .enumerate()
    {
        database.clear_buffer_pool().unwrap();
        home.disk.set_read_delay(Duration::from_millis(10));
        let mut builder = fixture::session(&database, "root");
        let building =
            tokio::spawn(async move { rows(&mut builder, &format!("CREATE INDEX k{i} ON d.t (s, b)")).await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!building.is_finished(), "the index was built before anything could come between");
        run(&mut session, change).await;
        building.await.unwrap().unwrap_or_else(|e| panic!("{change}: {}", e.message));
        home.disk.set_read_delay(Duration::ZERO);
    }
    let created = run(&mut session, "SHOW CREATE TABLE u").await;
    for wanted in ["KEY `kc`", "COMMENT='new'", "KEY `k0`", "KEY `k1`", "KEY `k2`"] {
        assert!(created[0][1].contains(wanted), "{wanted}: {created:?}");
    }
}
