//! Sessions move money between accounts in transactions while the power goes, again and again: whatever was
//! acknowledged is there, no transfer is there by half, none that was rolled back is there, and every index agrees.

mod fixture;

use fixture::rows;
use muster_engine::{Database, DatabaseOptions, Durability, Session, io::simulated::SimulatedDisk, types::SqlError};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

const ACCOUNTS: u64 = 12;
const START_BALANCE: i64 = 1000;
const CLIENTS: u64 = 8;
const LIVES: u64 = 6;

/// Numbers that look random, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// What a client knows of its transfers after its last one.
#[derive(Default)]
struct Ledger {
    acknowledged: Vec<u64>,
    rolled_back: Vec<u64>,
    /// Transfers that were open when the power went, with their COMMIT sent or not.
    open: u64,
}

#[derive(Default)]
struct Met {
    committed: AtomicU64,
    rolled_back: AtomicU64,
    deadlocks: AtomicU64,
    /// Transactions that had changed rows when the power went.
    losers: AtomicU64,
    /// Power cuts before a start had ended, or soon after it, while losers are rolled back.
    cuts_after_starts: AtomicU64,
    reads: AtomicU64,
}

struct Bank {
    directory: tempfile::TempDir,
    disk: Arc<SimulatedDisk>,
    ledger: Ledger,
    next_client: u64,
    met: Arc<Met>,
}

/// Lock waits that last too long, deadlocks, and transactions that were taken back for room in the log.
fn is_taken_back(e: &SqlError) -> bool {
    [1205, 1213].contains(&e.code.number())
}

impl Bank {
    async fn new(met: Arc<Met>) -> Bank {
        let directory = tempfile::tempdir().unwrap();
        let disk = Arc::new(SimulatedDisk::new());
        let bank = Bank { directory, disk, ledger: Ledger::default(), next_client: 1, met };
        let database = bank.open().unwrap();
        let mut session = fixture::session(&database, "root");
        let accounts: Vec<String> =
            (0..ACCOUNTS).map(|n| format!("({n}, {START_BALANCE}, 'owner {}')", n % 5)).collect();
        for sql in [
            "CREATE DATABASE d",
            "CREATE TABLE d.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, owner VARCHAR(200) NOT NULL,
               KEY by_balance (balance), KEY by_owner (owner, balance))",
            "CREATE TABLE d.transfers (id BIGINT PRIMARY KEY, source INT NOT NULL, target INT NOT NULL, amount BIGINT NOT NULL,
               note VARCHAR(400), KEY by_source (source, amount))",
            &format!("INSERT INTO d.accounts VALUES {}", accounts.join(", ")),
        ] {
            rows(&mut session, sql).await.unwrap_or_else(|e| panic!("{sql}: {}", e.message));
        }
        drop((session, database));
        bank
    }

    fn open(&self) -> Result<Arc<Database>, SqlError> {
        let small = DatabaseOptions { buffer_pool_bytes: 1 << 20, page_size: 4096, ..fixture::options() };
        let options = DatabaseOptions { durability: Durability::Full, ..small };
        Database::open_on(self.directory.path(), options, self.disk.clone())
    }

    /// Opens the directory, checks it, and lets clients work until the power goes.
    async fn live(&mut self, draw: &mut Random) {
        // Now and then the power goes while the log is repeated, or while losers are rolled back.
        let early = draw.below(3) == 0;
        self.disk.cut_power_after(if early { draw.below(60) } else { 200 + draw.below(1500) });
        let mut found = None;
        if let Ok(database) = self.open() {
            let checked = self.check(&database).await;
            if !self.disk.is_off() {
                checked.unwrap_or_else(|e| panic!("{e}"));
                found = Some(database);
            }
        }
        self.met.cuts_after_starts.fetch_add(u64::from(early), Relaxed);
        if let Some(database) = found {
            self.work(&database, draw).await;
        }
        self.disk = Arc::new(self.disk.after_power_cut(draw.below(u64::MAX >> 33)));
    }

    async fn work(&mut self, database: &Arc<Database>, draw: &mut Random) {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                let client = Client {
                    session: fixture::session(database, "root"),
                    disk: self.disk.clone(),
                    met: self.met.clone(),
                    draw: Random(draw.below(1 << 30)),
                    first: (self.next_client + n) * 1_000_000,
                    ledger: Ledger::default(),
                };
                tokio::spawn(client.work())
            })
            .collect();
        self.next_client += CLIENTS;
        let reader = tokio::spawn(read_sums(fixture::session(database, "root"), self.disk.clone(), self.met.clone()));
        for client in clients {
            let ledger = client.await.unwrap();
            self.ledger.acknowledged.extend(ledger.acknowledged);
            self.ledger.rolled_back.extend(ledger.rolled_back);
            self.met.losers.fetch_add(ledger.open, Relaxed);
        }
        reader.await.unwrap();
    }

    /// Compares the accounts with the transfers, these with what clients know, and all indexes with their tables.
    async fn check(&self, database: &Arc<Database>) -> Result<(), String> {
        let mut session = fixture::session(database, "root");
        let mut ask = async |sql: &str| rows(&mut session, sql).await.map_err(|e| format!("{sql}: {}", e.message));
        ask("START TRANSACTION WITH CONSISTENT SNAPSHOT").await?;
        let mut transfers: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
        for row in ask("SELECT id, source, target, amount FROM d.transfers").await? {
            transfers.insert(row[0].parse().unwrap(), row[1..].iter().map(|n| n.parse().unwrap()).collect());
        }
        let mut balances = vec![START_BALANCE; ACCOUNTS as usize];
        for transfer in transfers.values() {
            balances[transfer[0] as usize] -= transfer[2];
            balances[transfer[1] as usize] += transfer[2];
        }
        let found = ask("SELECT balance FROM d.accounts ORDER BY id").await?;
        let found: Vec<i64> = found.iter().map(|row| row[0].parse().unwrap()).collect();
        if found != balances {
            return Err(format!("balances {found:?}, by the transfers {balances:?}"));
        }
        if let Some(id) = self.ledger.acknowledged.iter().find(|id| !transfers.contains_key(id)) {
            return Err(format!("transfer {id} was acknowledged and is lost"));
        }
        if let Some(id) = self.ledger.rolled_back.iter().find(|id| transfers.contains_key(id)) {
            return Err(format!("transfer {id} was rolled back and is there"));
        }
        for (index, condition, table) in [
            ("by_balance", "balance > -1000000000", "accounts"),
            ("by_owner", "owner >= ''", "accounts"),
            ("by_source", "source >= 0", "transfers"),
        ] {
            let columns = if table == "accounts" { "COUNT(*), SUM(balance)" } else { "COUNT(*), SUM(amount)" };
            let by_index =
                ask(&format!("SELECT {columns} FROM d.{table} FORCE INDEX ({index}) WHERE {condition}")).await?;
            let by_key = ask(&format!("SELECT {columns} FROM d.{table} FORCE INDEX (PRIMARY)")).await?;
            if by_index != by_key {
                return Err(format!("{by_index:?} by {index}, {by_key:?} by the primary key"));
            }
        }
        ask("COMMIT").await?;
        for row in ask("CHECK TABLE d.accounts, d.transfers").await? {
            if row[3] != "OK" {
                return Err(format!("{row:?}"));
            }
        }
        Ok(())
    }
}

/// Reads the sum of all balances by several indexes: money is neither made nor lost.
async fn read_sums(mut session: Session, disk: Arc<SimulatedDisk>, met: Arc<Met>) {
    let wanted = (START_BALANCE * ACCOUNTS as i64).to_string();
    for index in ["PRIMARY", "by_balance", "by_owner"].iter().cycle() {
        let sql = format!("SELECT SUM(balance) FROM d.accounts FORCE INDEX ({index})");
        match rows(&mut session, &sql).await {
            Ok(found) => assert_eq!(found[0][0], wanted, "by {index}"),
            Err(_) if disk.is_off() => return,
            Err(e) => panic!("{sql}: {}", e.message),
        }
        met.reads.fetch_add(1, Relaxed);
        if disk.is_off() {
            return;
        }
    }
}

struct Client {
    session: Session,
    disk: Arc<SimulatedDisk>,
    met: Arc<Met>,
    draw: Random,
    first: u64,
    ledger: Ledger,
}

impl Client {
    /// Moves money until the power goes.
    async fn work(mut self) -> Ledger {
        for id in self.first.. {
            let wanted = self.draw.below(8) != 0;
            match self.transfer(id, wanted).await {
                Ok(()) if wanted => {
                    self.ledger.acknowledged.push(id);
                    self.met.committed.fetch_add(1, Relaxed);
                }
                Ok(()) => {
                    self.ledger.rolled_back.push(id);
                    self.met.rolled_back.fetch_add(1, Relaxed);
                }
                Err(_) if self.disk.is_off() => {
                    self.ledger.open += 1;
                    break;
                }
                Err(e) if is_taken_back(&e) => {
                    self.met.deadlocks.fetch_add(1, Relaxed);
                    if self.run("ROLLBACK").await.is_err() {
                        break;
                    }
                    self.ledger.rolled_back.push(id);
                }
                Err(e) => panic!("transfer {id}: {}", e.message),
            }
        }
        self.ledger
    }

    async fn run(&mut self, sql: &str) -> Result<(), SqlError> {
        rows(&mut self.session, sql).await.map(drop)
    }

    /// Moves money from one account to another, and commits or rolls back.
    async fn transfer(&mut self, id: u64, commit: bool) -> Result<(), SqlError> {
        let (source, target, amount) =
            (self.draw.below(ACCOUNTS), self.draw.below(ACCOUNTS), self.draw.below(100) as i64 - 20);
        self.run("BEGIN").await?;
        self.run(&format!(
            "INSERT INTO d.transfers VALUES ({id}, {source}, {target}, {amount}, REPEAT('x', {}))",
            id % 400
        ))
        .await?;
        for (account, change) in [(source, -amount), (target, amount)] {
            self.run(&format!("UPDATE d.accounts SET balance = balance + {change} WHERE id = {account}")).await?;
        }
        self.run(if commit { "COMMIT" } else { "ROLLBACK" }).await
    }
}

async fn banks(seeds: std::ops::Range<u64>) {
    let met = Arc::new(Met::default());
    for seed in seeds {
        println!("seed {seed}");
        let mut draw = Random(seed);
        let mut bank = Bank::new(met.clone()).await;
        for _ in 0..LIVES {
            bank.live(&mut draw).await;
        }
        let database = bank.open().unwrap();
        bank.check(&database).await.unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    let Met { committed, rolled_back, deadlocks, losers, cuts_after_starts, reads } = &*met;
    let counts = [committed, rolled_back, deadlocks, losers, cuts_after_starts, reads].map(|count| count.load(Relaxed));
    println!("committed, rolled back, deadlocks, losers, cuts after starts, reads: {counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn money_survives_power_cuts() {
    banks(0..4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "a soak of some minutes"]
async fn money_survives_many_power_cuts() {
    banks(1_000..1_200).await;
}
