//! Random concurrent histories of eight sessions: lost updates, reads of what is not committed, reads that change,
//! phantoms, write skew and duplicate unique values, each looked for at the levels that forbid it.

mod fixture;

use fixture::rows;
use muster_engine::{Database, Session, types::SqlError};
use std::{
    future::Future,
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

const SESSIONS: u64 = 8;
const SHORT: Duration = Duration::from_millis(1500);
const LONG: Duration = Duration::from_secs(60);
const ALL_LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// One of the sessions of a history, with numbers that look random.
struct Client {
    session: Session,
    number: u64,
    seed: u64,
    until: Instant,
    taken_back: Arc<AtomicU64>,
}

impl Client {
    fn below(&mut self, bound: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % bound
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    async fn ask(&mut self, sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
        rows(&mut self.session, sql).await
    }

    async fn number(&mut self, sql: &str) -> Result<i64, SqlError> {
        Ok(self.ask(sql).await?[0][0].parse().unwrap())
    }

    /// Runs statements; returns whether all were done. If one meets a deadlock or waits too long, the transaction is
    /// rolled back.
    async fn try_all(&mut self, statements: &[String]) -> bool {
        for sql in statements {
            if let Err(e) = self.ask(sql).await {
                self.take_back(e).await;
                return false;
            }
        }
        true
    }

    async fn take_back(&mut self, e: SqlError) {
        assert!([1205, 1213].contains(&e.code.number()), "{}", e.message);
        self.taken_back.fetch_add(1, Relaxed);
        self.ask("ROLLBACK").await.unwrap();
    }
}

/// A database with the tables of all histories.
struct History {
    database: Arc<Database>,
    time: Duration,
    /// The directory is dropped last: a database that closes writes its pages and its log.
    _directory: tempfile::TempDir,
}

impl History {
    async fn new(setup: &[&str], time: Duration) -> History {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open(directory.path(), fixture::options()).unwrap();
        let mut session = fixture::session(&database, "root");
        for sql in ["CREATE DATABASE d", "USE d"].iter().chain(setup) {
            rows(&mut session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message));
        }
        History { database, time, _directory: directory }
    }

    async fn number(&self, sql: &str) -> i64 {
        let found = rows(&mut fixture::session(&self.database, "root"), sql).await;
        found.unwrap_or_else(|e| panic!("{sql}: {}", e.message))[0][0].parse().unwrap()
    }

    /// Lets sessions work at a level, each with its number. Returns the sum of what they return.
    async fn run<F: Future<Output = i64> + Send + 'static>(&self, level: &str, work: impl Fn(Client) -> F) -> i64 {
        let (until, taken_back) = (Instant::now() + self.time, Arc::new(AtomicU64::new(0)));
        let mut running = Vec::new();
        for number in 0..SESSIONS {
            let mut session = fixture::session(&self.database, "root");
            for sql in ["USE d", &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")] {
                rows(&mut session, sql).await.unwrap();
            }
            let taken_back = taken_back.clone();
            running.push(tokio::spawn(work(Client { session, number, seed: number + 7, until, taken_back })));
        }
        let mut sum = 0;
        for client in running {
            sum += client.await.unwrap();
        }
        println!("{level}: {sum} done, {} taken back", taken_back.load(Relaxed));
        for row in rows(&mut fixture::session(&self.database, "root"), "CHECK TABLE d.t").await.unwrap() {
            assert_eq!(row[3], "OK");
        }
        sum
    }
}

/// Ids with values: `(from, value), ...`.
fn pairs(ids: RangeInclusive<u64>, value: u64) -> String {
    ids.map(|id| format!("({id}, {value})")).collect::<Vec<_>>().join(", ")
}

/// Increments by single statements are never lost, in transactions or without.
async fn increments(time: Duration) {
    let fill = format!("INSERT INTO t VALUES {}", pairs(1..=5, 0));
    for level in ALL_LEVELS {
        let history =
            History::new(&["CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, KEY kn (n))", &fill], time).await;
        let done = history.run(level, async |mut client: Client| {
            let mut done = 0;
            while client.goes_on() {
                let (a, b) = (1 + client.below(5), 1 + client.below(5));
                let add = |id: u64| format!("UPDATE t SET n = n + 1 WHERE id = {id}");
                done += match client.below(3) {
                    0 => i64::from(client.try_all(&[add(a)]).await),
                    1 => 2 * i64::from(client.try_all(&["BEGIN".into(), add(a), add(b), "COMMIT".into()]).await),
                    _ => {
                        client.try_all(&["BEGIN".into(), add(a), "ROLLBACK".into()]).await;
                        0
                    }
                };
            }
            done
        });
        let done = done.await;
        assert!(done > 100, "{level}: {done}");
        let by_row = history.number("SELECT SUM(n) FROM d.t IGNORE INDEX (kn)").await;
        let by_entry = history.number("SELECT SUM(n) FROM d.t FORCE INDEX (kn) WHERE n >= 0").await;
        assert_eq!((by_row, by_entry), (done, done), "{level}");
    }
}

/// A read and a write that depends on it lose nothing if the read locks.
async fn read_then_write(time: Duration) {
    let fill = format!("INSERT INTO t VALUES {}", pairs(1..=3, 0));
    for (level, lock) in [("READ COMMITTED", "FOR UPDATE"), ("REPEATABLE READ", "FOR UPDATE"), ("SERIALIZABLE", "")] {
        let history = History::new(&["CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)", &fill], time).await;
        let done = history.run(level, move |mut client: Client| async move {
            let mut done = 0;
            while client.goes_on() {
                let id = 1 + client.below(3);
                client.ask("BEGIN").await.unwrap();
                match client.number(&format!("SELECT n FROM t WHERE id = {id} {lock}")).await {
                    Ok(n) => {
                        let set = format!("UPDATE t SET n = {} WHERE id = {id}", n + 1);
                        done += i64::from(client.try_all(&[set, "COMMIT".into()]).await);
                    }
                    Err(e) => client.take_back(e).await,
                }
            }
            done
        });
        let done = done.await;
        assert!(done > 20, "{level}: {done}");
        assert_eq!(history.number("SELECT SUM(n) FROM d.t").await, done, "{level}");
    }
}

/// Within one view all access paths give the same rows, twice the same, and never what was not committed: all rows have
/// the same sum at each commit, and no committed value is negative.
async fn repeated_reads(time: Duration) {
    let rows: Vec<String> = (1..=40).map(|n| format!("({n}, {}, {}, 'text {n}')", n * 10, n % 7)).collect();
    let fill = format!("INSERT INTO t VALUES {}", rows.join(", "));
    let table =
        "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, k INT NOT NULL, s VARCHAR(60), KEY kn (n), KEY kk (k, n))";
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let history = History::new(&[table, &fill], time).await;
        let sum = history.number("SELECT SUM(n) FROM d.t").await;
        let done = history.run(level, move |mut client: Client| async move {
            let mut done = 0;
            while client.goes_on() {
                match client.number < 3 {
                    true => done += i64::from(move_values(&mut client).await),
                    false => match compare_reads(&mut client, level, sum).await {
                        Ok(()) => done += 1,
                        Err(e) => client.take_back(e).await,
                    },
                }
            }
            done
        });
        assert!(done.await > 30, "{level}");
        assert_eq!(history.number("SELECT SUM(n) FROM d.t").await, sum, "{level}");
    }
}

/// Moves some of a row's value to another one, moves rows to other keys, and now and then leaves nonsense and rolls
/// back.
async fn move_values(client: &mut Client) -> bool {
    let (a, b, by) = (1 + client.below(40), 1 + client.below(40), client.below(5));
    let mut statements = vec![
        "BEGIN".to_string(),
        format!("UPDATE t SET n = n - {by}, k = (k + 1) % 7 WHERE id = {a}"),
        format!("UPDATE t SET n = n + {by} WHERE id = {a} + 0"),
        format!("UPDATE t SET id = id + 1000, s = REPEAT('x', {}) WHERE id = {b}", b + 10),
        format!("UPDATE t SET id = id - 1000 WHERE id = {b} + 1000"),
    ];
    match client.below(3) {
        0 => statements.extend([format!("UPDATE t SET n = -1000000 WHERE id = {a}"), "ROLLBACK".into()]),
        1 => statements.extend([
            "SAVEPOINT s".into(),
            format!("DELETE FROM t WHERE id BETWEEN {a} AND {a} + 5"),
            "INSERT INTO t VALUES (5000, -77, 3, 'x')".into(),
            "ROLLBACK TO SAVEPOINT s".into(),
            "COMMIT".into(),
        ]),
        _ => statements.push("COMMIT".into()),
    }
    client.try_all(&statements).await
}

/// Reads all rows by all indexes, in one transaction.
async fn compare_reads(client: &mut Client, level: &str, sum: i64) -> Result<(), SqlError> {
    client.ask("BEGIN").await?;
    let mut before = None;
    for path in ["PRIMARY", "kn", "kk", "PRIMARY"] {
        let sql = format!(
            "SELECT id, n, k, s FROM t FORCE INDEX ({path}) WHERE id > 0 AND n > -2000000 AND k >= 0 ORDER BY id"
        );
        let found = client.ask(&sql).await?;
        let numbers = || found.iter().map(|row| row[1].parse::<i64>().unwrap());
        assert_eq!((found.len(), numbers().sum::<i64>()), (40, sum), "{level}: by {path}: {found:?}");
        assert!(numbers().all(|n| n > -1000), "{level}: by {path}: {found:?}");
        if level != "READ COMMITTED" {
            let first = before.get_or_insert_with(|| found.clone());
            assert_eq!(*first, found, "{level}: by {path}");
        }
    }
    let covering = client.number("SELECT SUM(n) FROM t FORCE INDEX (kk) WHERE k BETWEEN 0 AND 6").await?;
    assert_eq!(covering, sum, "{level}: by a covering index");
    client.ask("COMMIT").await.map(drop)
}

/// Rows that come and go are not seen within a transaction that has counted them, and stay out if they are locked.
async fn phantoms(time: Duration) {
    let table = "CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, KEY kk (k))";
    for (level, lock) in [("REPEATABLE READ", ""), ("REPEATABLE READ", "FOR UPDATE"), ("SERIALIZABLE", "")] {
        let history = History::new(&[table], time).await;
        let done = history.run(level, move |mut client: Client| async move {
            let mut done = 0;
            while client.goes_on() {
                let (id, k) = (client.below(200), client.below(10));
                if client.number < 5 {
                    let change = match client.below(2) {
                        0 => format!("REPLACE INTO t VALUES ({id}, {k})"),
                        _ => format!("DELETE FROM t WHERE id = {id}"),
                    };
                    client.try_all(&[change]).await;
                    continue;
                }
                let count =
                    format!("SELECT COUNT(*), SUM(id) FROM t FORCE INDEX (kk) WHERE k BETWEEN {k} AND {k} + 2 {lock}");
                match count_twice(&mut client, &count).await {
                    Ok(()) => done += 1,
                    Err(e) => client.take_back(e).await,
                }
            }
            done
        });
        assert!(done.await > 5, "{level} {lock}");
    }
}

async fn count_twice(client: &mut Client, count: &str) -> Result<(), SqlError> {
    client.ask("BEGIN").await?;
    let first = client.ask(count).await?;
    tokio::time::sleep(Duration::from_millis(3)).await;
    let second = client.ask(count).await?;
    assert_eq!(first, second, "{count}");
    client.ask("COMMIT").await.map(drop)
}

/// Of two that are on duty one may go, never both.
async fn write_skew(time: Duration) {
    let fill = format!("INSERT INTO t VALUES {}", pairs(1..=8, 1));
    let history = History::new(&["CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)", &fill], time).await;
    let done = history.run("SERIALIZABLE", async |mut client: Client| {
        let mut done = 0;
        while client.goes_on() {
            let me = 1 + client.below(8);
            let other = if me.is_multiple_of(2) { me - 1 } else { me + 1 };
            client.ask("BEGIN").await.unwrap();
            match client.number(&format!("SELECT SUM(n) FROM t WHERE id IN ({me}, {other})")).await {
                Ok(on_duty) => {
                    assert!(on_duty > 0, "both of {me} and {other} have gone");
                    let n = i64::from(on_duty < 2);
                    let set = format!("UPDATE t SET n = {n} WHERE id = {me}");
                    done += i64::from(client.try_all(&[set, "COMMIT".into()]).await);
                }
                Err(e) => client.take_back(e).await,
            }
        }
        done
    });
    assert!(done.await > 20);
}

/// No unique value is there twice, whoever is first, and each that was acknowledged is there.
async fn unique_values(time: Duration) {
    let table = "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, u INT NOT NULL, s VARCHAR(10) NOT NULL,
                 UNIQUE KEY ku (u), UNIQUE KEY ks (s)) DEFAULT COLLATE utf8mb4_0900_ai_ci";
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let history = History::new(&[table], time).await;
        let done = history.run(level, async |mut client: Client| {
            let mut done = 0;
            while client.goes_on() {
                let (u, s) = (client.below(2000), client.below(2000));
                let letter = if client.below(2) == 0 { "a" } else { "A" };
                let insert = format!("INSERT INTO t (u, s) VALUES ({u}, '{letter}{s}')");
                let commits = client.below(4) != 0;
                client.ask("BEGIN").await.unwrap();
                match client.ask(&insert).await {
                    Ok(_) => {
                        let end = if commits { "COMMIT" } else { "ROLLBACK" };
                        client.ask(end).await.unwrap();
                        done += i64::from(commits);
                    }
                    Err(e) if e.code.number() == 1062 => drop(client.ask("COMMIT").await.unwrap()),
                    Err(e) => client.take_back(e).await,
                }
            }
            done
        });
        let done = done.await;
        assert!(done > 100, "{level}: {done}");
        for count in ["COUNT(*)", "COUNT(DISTINCT u)", "COUNT(DISTINCT s)"] {
            assert_eq!(history.number(&format!("SELECT {count} FROM d.t")).await, done, "{level}: {count}");
        }
    }
}

macro_rules! histories {
    ($($name:ident, $soak:ident;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $name() {
                super::$name(super::SHORT).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            #[ignore = "a soak of some minutes"]
            async fn $soak() {
                super::$name(super::LONG).await;
            }
        )*
    };
}

mod tests {
    histories! {
        increments, increments_for_long;
        read_then_write, read_then_write_for_long;
        repeated_reads, repeated_reads_for_long;
        phantoms, phantoms_for_long;
        write_skew, write_skew_for_long;
        unique_values, unique_values_for_long;
    }
}
