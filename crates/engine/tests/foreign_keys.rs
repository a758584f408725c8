//! Sessions change parents and children at once, at every isolation level, in transactions and without: whoever wins,
//! no child is left without its parent.

mod fixture;
mod random_data;

use fixture::rows;
use muster_engine::{Database, types::SqlError};
use random_data::Random;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

const SESSIONS: u64 = 16;
const STATEMENTS: u64 = 250;
const KEYS: usize = 12;
/// Errors that such statements may have: no parent, a child, a duplicate, a deadlock, a timeout.
const EXPECTED: [u16; 5] = [1452, 1451, 1062, 1213, 1205];

/// A statement that changes rows, or begins or ends a transaction.
fn statement(random: &mut Random) -> String {
    let (key, other) = (random.below(KEYS), random.below(KEYS));
    match random.below(14) {
        0..3 => format!("INSERT IGNORE INTO p VALUES ({key}, {})", 100 + key),
        3 => format!("DELETE FROM p WHERE id = {key}"),
        4 => format!("UPDATE p SET id = {other} WHERE id = {key}"),
        5 => format!("UPDATE p SET k = {} WHERE id = {key}", 100 + other),
        6..8 => format!("INSERT INTO c (p, k) VALUES ({key}, {})", 100 + other),
        8 => format!("UPDATE c SET p = {key} WHERE p = {other} LIMIT 1"),
        9 => format!("DELETE FROM c WHERE p = {key}"),
        10 => format!("INSERT INTO g (c) SELECT id FROM c WHERE p = {key} LIMIT 1"),
        11 => format!("REPLACE INTO p VALUES ({key}, {})", 100 + key),
        12 => random.pick(&["COMMIT", "ROLLBACK", "COMMIT"]).to_owned(),
        _ => random.pick(&["START TRANSACTION", "SET foreign_key_checks = 1"]).to_owned(),
    }
}

async fn run(database: &Arc<Database>, sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
    rows(&mut fixture::session(database, "root"), sql).await
}

async fn work(database: Arc<Database>, seed: u64, changed: Arc<AtomicU64>, refused: Arc<AtomicU64>) {
    let (mut random, mut session) = (Random::new(seed), fixture::session(&database, "root"));
    let level = random.pick(&["READ COMMITTED", "REPEATABLE READ", "READ UNCOMMITTED", "SERIALIZABLE"]);
    for sql in
        ["USE d", "SET innodb_lock_wait_timeout = 2", &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")]
    {
        rows(&mut session, sql).await.unwrap();
    }
    for _ in 0..STATEMENTS {
        let sql = statement(&mut random);
        match rows(&mut session, &sql).await {
            Ok(_) => changed.fetch_add(1, Relaxed),
            Err(e) if EXPECTED.contains(&e.code.number()) => refused.fetch_add(1, Relaxed),
            Err(e) => panic!("{sql}: {} {}", e.code.number(), e.message),
        };
    }
    rows(&mut session, "COMMIT").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_child_is_left_without_its_parent() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.p (id INT PRIMARY KEY, k INT, UNIQUE KEY (k))",
        "CREATE TABLE d.c (id INT PRIMARY KEY AUTO_INCREMENT, p INT, k INT,
           FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE,
           FOREIGN KEY (k) REFERENCES p (k) ON DELETE SET NULL)",
        "CREATE TABLE d.g (id INT PRIMARY KEY AUTO_INCREMENT, c INT, FOREIGN KEY (c) REFERENCES c (id))",
    ] {
        run(&database, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message));
    }
    let (changed, refused) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let seeds = 1..=SESSIONS;
    let sessions: Vec<_> =
        seeds.map(|seed| tokio::spawn(work(database.clone(), seed, changed.clone(), refused.clone()))).collect();
    for session in sessions {
        session.await.unwrap();
    }
    for (what, sql) in [
        ("c.p", "SELECT c.* FROM d.c LEFT JOIN d.p ON c.p = p.id WHERE c.p IS NOT NULL AND p.id IS NULL"),
        ("c.k", "SELECT c.* FROM d.c LEFT JOIN d.p ON c.k = p.k WHERE c.k IS NOT NULL AND p.k IS NULL"),
        ("g.c", "SELECT g.* FROM d.g LEFT JOIN d.c ON g.c = c.id WHERE g.c IS NOT NULL AND c.id IS NULL"),
    ] {
        assert_eq!(run(&database, sql).await.unwrap(), Vec::<Vec<String>>::new(), "orphans by {what}");
    }
    let checked = run(&database, "CHECK TABLE d.p, d.c, d.g").await.unwrap();
    assert!(checked.iter().all(|line| line[3] == "OK"), "{checked:?}");
    let counts = (changed.load(Relaxed), refused.load(Relaxed));
    assert!(counts.0 > 500 && counts.1 > 100, "{counts:?}");
}
