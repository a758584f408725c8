//! Random statements beside transactions that are open or commit between them: both paths see the same rows through the
//! same views, wait for the same locks in vain, and leave the same locks behind.

use crate::{
    data::{Answer, answer},
    fixture::{rows, session},
    joins::{loaded, statement},
    random_data::Random,
};
use muster_engine::{Database, Session, types::ErrorCode};
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const WRITERS: usize = 3;
const STATEMENTS_OF_ROUND: usize = 6;
/// The long run begins no further database then.
const LONGEST: Duration = Duration::from_secs(15 * 60);
const READERS: [&str; 2] = ["off", "on"];
const LOCKS: &str = "SELECT OBJECT_NAME, INDEX_NAME, LOCK_MODE, LOCK_STATUS, LOCK_DATA FROM performance_schema.data_locks \
    WHERE LOCK_TYPE = 'RECORD' AND ENGINE_TRANSACTION_ID = \
    (SELECT trx_id FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = CONNECTION_ID())";

/// A step of a writer, which has rows of its own so that none waits for another.
fn step(random: &mut Random, writer: usize) -> String {
    let id = random.below(100) * WRITERS + writer;
    match random.below(10) {
        0 => "COMMIT".into(),
        1 => "ROLLBACK".into(),
        2 | 3 => format!("UPDATE p SET g = {}, d = d + 1.5 WHERE id = {id}", random.below(20)),
        4 => format!("UPDATE p SET n = 'name{}' WHERE id = {id}", 1000 + 10 * random.below(300) + writer),
        5 => format!("UPDATE c SET q = {} WHERE p = {id} AND no = 1", random.below(500)),
        6 => format!("DELETE FROM c WHERE p = {id} AND no = 0"),
        7 => {
            format!("INSERT IGNORE INTO c VALUES ({id}, {}, {}, NULL, 'new', 1.5)", random.below(5), random.below(500))
        }
        8 => format!("UPDATE o SET x = x + 1, p = {} WHERE id = {id}", random.below(330)),
        _ => format!("DELETE FROM o WHERE id = {id}"),
    }
}

/// The statement with a lock that does not wait; no other order or access can then lock other rows first.
fn without_waits(sql: String) -> String {
    if sql.ends_with("NOWAIT") {
        return sql;
    }
    match sql.split_once(" LOCK IN SHARE MODE") {
        Some((read, _)) => format!("{read} FOR SHARE NOWAIT"),
        None if sql.ends_with(" FOR UPDATE") || sql.ends_with(" FOR SHARE") => format!("{sql} NOWAIT"),
        None => sql,
    }
}

async fn execute(session: &mut Session, sql: &str) {
    session.execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// The general path's session and the short one's.
async fn readers(database: &Arc<Database>, level: &str) -> [Session; 2] {
    let mut made = READERS.map(|_| session(database, "root"));
    for (session, switch) in made.iter_mut().zip(READERS) {
        execute(session, "USE db").await;
        execute(session, &format!("SET optimizer_switch = 'short_path={switch}'")).await;
        execute(session, "SET timestamp = 1711000000.75, innodb_lock_wait_timeout = 1").await;
        execute(session, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).await;
    }
    made
}

/// What came of a statement in a session.
struct Seen {
    answer: Result<Answer, ErrorCode>,
    /// The locks that its transaction has then.
    locks: BTreeSet<Vec<String>>,
}

impl Seen {
    async fn of(session: &mut Session, sql: &str, ordered: bool) -> Seen {
        let answer = answer(session.execute(sql).await, ordered).await.map_err(|e| e.code);
        Seen { answer, locks: rows(session, LOCKS).await.unwrap().into_iter().collect() }
    }

    /// The indexes through which it has locked something, and how: single entries, ranges.
    fn accesses(&self) -> BTreeSet<&[String]> {
        self.locks.iter().map(|lock| &lock[..3]).collect()
    }

    /// Returns true if the short path has done as the general one. A plan that was made for other values may read in
    /// another way, or join in another order, and meet other locks; or one of them sees from the values that no row can
    /// be meant.
    fn is_as(&self, general: &Seen, joins: bool) -> bool {
        let is_refused = |seen: &Seen| matches!(seen.answer, Err(ErrorCode::LockNowait));
        let has_read_alike = !joins && self.accesses() == general.accesses();
        if self.answer != general.answer {
            // Without gap locks a refused statement keeps no lock that tells how it has read.
            let is_unknown = !has_read_alike || self.locks.is_empty();
            return is_unknown && (is_refused(self) || is_refused(general));
        }
        !has_read_alike || self.locks == general.locks
    }
}

/// `is_long`: of a run in which many follow each other.
async fn beside_writers(seed: u64, rounds: usize, level: &str, is_long: bool) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(seed);
    let database = loaded(directory.path(), &mut random).await;
    // In a gap that a writer locks others would wait in vain for a second.
    let of_writers = if is_long { "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED" } else { "DO 0" };
    let mut writers: Vec<Session> = Vec::new();
    for _ in 0..WRITERS {
        let mut writer = session(&database, "root");
        for sql in ["USE db", "SET autocommit = 0", "SET innodb_lock_wait_timeout = 1", of_writers] {
            execute(&mut writer, sql).await;
        }
        writers.push(writer);
    }
    let mut readers = readers(&database, level).await;
    // A view of the beginning keeps purge from taking entries away between the two paths, which would lock others then.
    let mut keeper = session(&database, "root");
    execute(&mut keeper, "START TRANSACTION WITH CONSISTENT SNAPSHOT").await;
    let (mut refused, mut locked) = (0, 0);
    for round in 0..rounds {
        // A view that gets old, or a new one for each statement.
        let begin = random.pick(&["START TRANSACTION WITH CONSISTENT SNAPSHOT", "BEGIN"]);
        for reader in &mut readers {
            execute(reader, begin).await;
        }
        for _ in 0..STATEMENTS_OF_ROUND {
            for _ in 0..3 {
                let writer = random.below(WRITERS);
                let step = step(&mut random, writer);
                // A gap may be locked by a reader of the round.
                let _ = writers[writer].execute(&step).await;
            }
            let (sql, ordered) = statement(&mut random, is_long);
            let sql = without_waits(sql);
            let joins = sql.contains(" JOIN ") || sql.contains("(SELECT");
            let takes_locks = sql.contains(" FOR ") || level == "SERIALIZABLE";
            let mut outcomes = Vec::new();
            // The first time on each makes the plan; locks of one reader are not in the other's way.
            for reader in [0, 0, 1, 1] {
                let reader = &mut readers[reader];
                if takes_locks {
                    execute(reader, "ROLLBACK").await;
                    execute(reader, "BEGIN").await;
                }
                outcomes.push(Seen::of(reader, &sql, ordered).await);
                if takes_locks {
                    execute(reader, "ROLLBACK").await;
                    execute(reader, "BEGIN").await;
                }
            }
            let general = &outcomes[0];
            refused += usize::from(general.answer.is_err());
            locked += usize::from(!joins && !general.locks.is_empty() && general.accesses() == outcomes[2].accesses());
            for (i, seen) in outcomes.iter().enumerate().skip(1) {
                assert!(
                    seen.is_as(general, joins),
                    "{sql}, round {round} of seed {seed}, {level}, outcome {i}\n{:?}\n{:?}\n{:?}\n{:?}",
                    seen.answer.as_ref().map(|(_, rows)| rows),
                    general.answer.as_ref().map(|(_, rows)| rows),
                    seen.locks.difference(&general.locks).collect::<Vec<_>>(),
                    general.locks.difference(&seen.locks).collect::<Vec<_>>()
                );
            }
        }
        for reader in &mut readers {
            execute(reader, "ROLLBACK").await;
        }
    }
    (refused, locked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_statements_beside_writers() {
    for (seed, level) in [(21, "REPEATABLE READ"), (22, "READ COMMITTED"), (23, "READ UNCOMMITTED")] {
        let (refused, locked) = beside_writers(seed, 40, level, false).await;
        assert!(refused > 5 && locked > 5, "{level}: {refused} refused, {locked} that locked something");
    }
}

/// Many more, at each level, in 50,000 statements or for [`LONGEST`]. Each database has a short life: one view sees its
/// beginning all the time, so all versions of all rows stay, and the longer it lives, the longer each read takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn very_many_random_statements_beside_writers() {
    const ROUNDS: usize = 20;
    // Writers wait for each other most of the time.
    const AT_ONCE: usize = 12;
    let (began, mut statements) = (Instant::now(), 0);
    let mut seeds = 200..620;
    let mut running = JoinSet::new();
    loop {
        while running.len() < AT_ONCE && began.elapsed() < LONGEST {
            let Some(seed) = seeds.next() else { break };
            let level = ["REPEATABLE READ", "READ COMMITTED", "READ UNCOMMITTED", "SERIALIZABLE"][seed as usize % 4];
            running.spawn(beside_writers(seed, ROUNDS, level, true));
        }
        let Some(ended) = running.join_next().await else { break };
        ended.unwrap();
        statements += ROUNDS * STATEMENTS_OF_ROUND;
    }
    println!("{statements} statements in {:?}", began.elapsed());
    assert!(statements >= 1000, "only {statements} statements");
}
