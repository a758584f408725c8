//! What a start finds after a crash, and what it says; what a damaged log is refused with; what status shows of the
//! log.

mod fixture;

use fixture::{rows, watched_disk::WatchedDisk};
use muster_engine::{
    Database, DatabaseOptions, Durability, LogSettings, RecoveryProgress, Session,
    io::{Disk, simulated::SimulatedDisk, threads::ThreadsIo},
    types::{ErrorCode, SqlError},
};
use std::{
    io,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        Home { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Options under which no checkpoint comes by itself.
    fn options() -> DatabaseOptions {
        let log = LogSettings { checkpoint_interval: Duration::from_secs(3600), ..fixture::options().log };
        DatabaseOptions { durability: Durability::Full, log, ..fixture::options() }
    }

    fn open(&self, disk: &Arc<SimulatedDisk>) -> Result<Arc<Database>, SqlError> {
        Database::open_on(self.directory.path(), Home::options(), disk.clone())
    }

    /// The disk that a crash leaves after some databases were made.
    async fn crashed(&self) -> SimulatedDisk {
        let disk = Arc::new(SimulatedDisk::new());
        let database = self.open(&disk).unwrap();
        let mut session = fixture::session(&database, "root");
        for name in ["a", "b", "c"] {
            run(&mut session, &format!("CREATE DATABASE {name}")).await;
        }
        disk.only_synced()
    }
}

async fn run(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message))
}

async fn databases(database: &Arc<Database>) -> Vec<String> {
    let found = run(&mut fixture::session(database, "root"), "SHOW DATABASES").await;
    found.into_iter().map(|row| row[0].clone()).filter(|name| name.len() == 1).collect()
}

/// A start after a crash repeats the log, and says how far it is. After a database was closed there is nothing to
/// repeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovery_shows_progress_and_a_clean_stop_needs_none() {
    let home = Home::new();
    let disk = Arc::new(home.crashed().await);
    for (after_crash, name) in [(true, "d"), (false, "e")] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let into = seen.clone();
        let progress = RecoveryProgress(Some(Arc::new(move |done, all| into.lock().unwrap().push((done, all)))));
        let options = DatabaseOptions { progress, ..Home::options() };
        let database = Database::open_on(home.directory.path(), options, disk.clone()).unwrap();
        let seen = seen.lock().unwrap().clone();
        assert_eq!(seen.is_empty(), !after_crash, "{seen:?}");
        assert!(seen.last().is_none_or(|(done, all)| done == all && *all > 0), "{seen:?}");
        run(&mut fixture::session(&database, "root"), &format!("CREATE DATABASE {name}")).await;
    }
    assert_eq!(databases(&home.open(&disk).unwrap()).await, ["a", "b", "c", "d", "e"]);
}

/// Bytes that were durable and are not what they were: the start is refused, and the error says where. The last group
/// may have been torn when the power went, which is no damage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_log_is_refused_with_file_and_position() {
    let home = Home::new();
    let crashed = home.crashed().await;
    let log = home.path("redo-0000000000.log");
    let bytes = crashed.read_small(&log, 64 << 20).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let tampered = |at: usize| {
        let disk = crashed.only_synced();
        disk.tamper(&log, |bytes| bytes[at] ^= 1);
        Arc::new(disk)
    };
    let e = home.open(&tampered(700)).err().unwrap();
    assert_eq!(e.code, ErrorCode::StorageCorrupt);
    let place = format!("{}: byte ", log.display());
    assert!(e.message.starts_with(&place) && e.message.contains("was durable"), "{}", e.message);
    assert_eq!(databases(&home.open(&tampered(end)).unwrap()).await, ["a", "b"]);
    let checkpoint = Arc::new(crashed.only_synced());
    checkpoint.tamper(&home.path("CHECKPOINT"), |bytes| bytes.fill(1));
    let e = home.open(&checkpoint).err().unwrap();
    assert!(e.message.contains("CHECKPOINT: byte 0: neither checkpoint is valid"), "{}", e.message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_of_an_older_format_is_refused_with_a_sentence() {
    let home = Home::new();
    let disk = Arc::new(home.crashed().await);
    let identity = String::from_utf8(disk.read_small(&home.path("MUSTER"), 1000).unwrap()).unwrap();
    disk.write_small(&home.path("MUSTER"), identity.replace("format 3", "format 2").as_bytes(), true).unwrap();
    let e = home.open(&disk).err().unwrap();
    assert_eq!(e.code, ErrorCode::StorageCorrupt);
    let sentence = "written by an older version (format 2), which this build (format 3) does not read: load the data again \
                    into a new directory";
    assert!(e.message.ends_with(sentence), "{}", e.message);
}

/// A damaged directory is opened to read what can be read. Nothing on the disk changes, and nothing can be changed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_recovery_reads_what_can_be_read() {
    let home = Home::new();
    let disk = Arc::new(SimulatedDisk::new());
    let database = home.open(&disk).unwrap();
    std::fs::write(home.path("import/3.csv"), "1,30\n2,20\n7,10\n").unwrap();
    let load = "LOAD DATA INFILE '3.csv' INTO TABLE a.t FIELDS TERMINATED BY ','";
    let mut session = fixture::session(&database, "root");
    for sql in ["CREATE DATABASE a", "CREATE TABLE a.t (a INT AUTO_INCREMENT PRIMARY KEY, b INT, KEY kb (b))", load] {
        run(&mut session, sql).await;
    }
    drop((session, database));
    let database = home.open(&disk).unwrap();
    let mut session = fixture::session(&database, "root");
    run(&mut session, "CREATE DATABASE b").await;
    let end = status(&mut session, "Innodb_redo_log_current_lsn").await as usize;
    run(&mut session, "CREATE DATABASE c").await;
    run(&mut session, "CREATE DATABASE d").await;
    let crashed = disk.only_synced();
    drop((session, database));

    let damage = |name: &str, at: usize| {
        let disk = crashed.only_synced();
        disk.tamper(&home.path(name), |bytes| bytes[at..at + 4].iter_mut().for_each(|byte| *byte ^= 1));
        Arc::new(disk)
    };
    // The log is damaged in the middle; there is no checkpoint, so what was written before is there only.
    let both = damage("CHECKPOINT", 20);
    both.tamper(&home.path("CHECKPOINT"), |bytes| bytes[4096 + 20] ^= 1);
    for (disk, there) in [(damage("redo-0000000000.log", end + 40), &["a", "b"][..]), (both, &["a"])] {
        let contents = || {
            let mut names = disk.list(home.directory.path()).unwrap();
            names.sort();
            names.into_iter().map(|name| disk.read_small(&name, 64 << 20).unwrap()).collect::<Vec<_>>()
        };
        let before = contents();
        let refused = home.open(&Arc::new(disk.only_synced())).err().unwrap();
        assert_eq!(refused.code, ErrorCode::StorageCorrupt, "{}", refused.message);
        let options = DatabaseOptions { force_recovery: true, ..Home::options() };
        let database = Database::open_on(home.directory.path(), options, disk.clone()).unwrap();
        assert_eq!(databases(&database).await, there);
        let mut session = fixture::session(&database, "root");
        assert_eq!(run(&mut session, "SELECT b FROM a.t FORCE INDEX (kb) ORDER BY b").await, [["10"], ["20"], ["30"]]);
        let columns = "SELECT @@innodb_force_recovery, @@innodb_read_only";
        assert_eq!(run(&mut session, columns).await, [["1", "1"]]);
        for sql in [
            load,
            "CREATE DATABASE e",
            "CREATE TABLE a.u (a INT)",
            "CREATE INDEX kab ON a.t (a, b)",
            "ALTER TABLE a.t AUTO_INCREMENT = 100",
            "TRUNCATE TABLE a.t",
            "DROP TABLE a.t",
            "CREATE USER u",
        ] {
            let e = rows(&mut session, sql).await.unwrap_err();
            assert_eq!(e.code.number(), 1881, "{sql}: {}", e.message);
        }
        drop((session, database));
        assert!(contents() == before, "a file has changed");
    }
}

/// Where the child process of the test below finds its data directory.
const CHILD_DIRECTORY: &str = "MUSTER_TEST_FAILING_SYNCS";

/// The process ends when the log cannot be synced, before anybody is told that a change was made. This test runs itself
/// in a child process. The next start finds the change or not, and all that was there before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_ends_the_process() {
    if let Some(directory) = std::env::var_os(CHILD_DIRECTORY) {
        let fails = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&fails);
        let disk = WatchedDisk::new(ThreadsIo::new()).before_syncs(move || match asked.load(Relaxed) {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        });
        let database = Database::open_on(Path::new(&directory), Home::options(), Arc::new(disk)).unwrap();
        let mut session = fixture::session(&database, "root");
        run(&mut session, "CREATE DATABASE a").await;
        fails.store(true, Relaxed);
        let _ = rows(&mut session, "CREATE DATABASE b").await;
        std::process::exit(0);
    }
    let home = Home::new();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_failed_sync_ends_the_process"]).env(CHILD_DIRECTORY, home.directory.path());
    let ended = child.output().unwrap();
    assert_eq!(ended.status.signal(), Some(SIGABRT), "{ended:?}");
    let database = Database::open(home.directory.path(), Home::options()).unwrap();
    let found = databases(&database).await;
    assert!(found == ["a"] || found == ["a", "b"], "{found:?}");
}

/// The number of the signal by which a process ends itself.
const SIGABRT: i32 = 6;

/// The value of a status variable.
async fn status(session: &mut Session, name: &str) -> u64 {
    run(session, &format!("SHOW STATUS LIKE '{name}'")).await[0][1].parse().unwrap()
}

/// The number on a line of SHOW ENGINE INNODB STATUS.
fn on_line(report: &str, name: &str) -> u64 {
    let line = report.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {report}"));
    line[name.len()..].trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn status_shows_the_log() {
    let home = Home::new();
    let disk = Arc::new(SimulatedDisk::new());
    let database = home.open(&disk).unwrap();
    let mut session = fixture::session(&database, "root");
    let names = [
        "Innodb_log_write_requests",
        "Innodb_log_writes",
        "Innodb_os_log_written",
        "Innodb_os_log_fsyncs",
        "Innodb_redo_log_current_lsn",
        "Innodb_redo_log_flushed_to_disk_lsn",
        "Innodb_redo_log_logical_size",
    ];
    for name in names {
        let before = status(&mut session, name).await;
        run(&mut session, &format!("CREATE DATABASE {name}")).await;
        assert!(status(&mut session, name).await > before, "{name}");
    }
    let current = status(&mut session, "Innodb_redo_log_current_lsn").await;
    let checkpoint = status(&mut session, "Innodb_redo_log_checkpoint_lsn").await;
    assert_eq!(status(&mut session, "Innodb_redo_log_logical_size").await, current - checkpoint);
    assert_eq!(status(&mut session, "Innodb_log_waits").await, 0);
    let report = run(&mut session, "SHOW ENGINE INNODB STATUS").await[0][2].clone();
    assert!(report.contains("\n---\nLOG\n---\nLog sequence number"), "{report}");
    for (name, wanted) in [
        ("Log sequence number", current),
        ("Log written up to", current),
        ("Log flushed up to", current),
        ("Pages flushed up to", current),
        ("Last checkpoint at", checkpoint),
        ("Checkpoint age ", current - checkpoint),
        ("Log minimum file id is", 0),
    ] {
        assert_eq!(on_line(&report, name), wanted, "{name}");
    }
    run(&mut session, "SET GLOBAL innodb_redo_log_capacity = 16777216").await;
    assert_eq!(status(&mut session, "Innodb_redo_log_capacity_resized").await, 16 << 20);
    for (name, value) in [
        ("innodb_doublewrite", "ON"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_log_buffer_size", "16777216"),
        ("innodb_redo_log_capacity", "16777216"),
    ] {
        assert_eq!(run(&mut session, &format!("SHOW VARIABLES LIKE '{name}'")).await, [[name, value]]);
    }
}

/// Without the doublewrite file pages go to their places at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doublewrite_is_off_if_it_is_told_to_be() {
    let home = Home::new();
    let there = |disk: &SimulatedDisk| disk.len_of(Path::new(&home.path("DOUBLEWRITE"))).unwrap().is_some();
    for doublewrite in [false, true] {
        let disk = Arc::new(SimulatedDisk::new());
        let options = DatabaseOptions { doublewrite, ..Home::options() };
        let database = Database::open_on(home.directory.path(), options, disk.clone()).unwrap();
        let shown = run(&mut fixture::session(&database, "root"), "SELECT @@innodb_doublewrite").await;
        assert_eq!((there(&disk), &shown[0][0][..]), (doublewrite, if doublewrite { "ON" } else { "OFF" }));
    }
}
