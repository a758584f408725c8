//! The counts of SHOW STATUS and the figures of the buffer pool in `information_schema`, against numbers worked out by
//! hand.

mod fixture;

use fixture::rows as try_rows;
use futures::StreamExt;
use muster_engine::{
    Database, DatabaseOptions, InfileSource, LocalFiles, Outcome, Session,
    types::{ErrorCode, SqlError},
};
use std::{collections::BTreeMap, fmt::Write, io::Cursor, sync::Arc};

/// Rows that LOAD DATA LOCAL asks for by the name of their table.
struct Files(BTreeMap<&'static str, String>);

impl LocalFiles for Files {
    fn open(&self, name: &str) -> Result<InfileSource, SqlError> {
        let found = self.0.get(name).ok_or_else(|| SqlError::new(ErrorCode::FileNotFound, name))?;
        Ok(Box::new(Cursor::new(found.clone().into_bytes())))
    }
}

struct Server {
    database: Arc<Database>,
    directory: tempfile::TempDir,
}

impl Server {
    fn new(pages: usize) -> Server {
        Server::with_memory(pages, 64 << 20)
    }

    /// `bytes`: for queries.
    fn with_memory(pages: usize, bytes: usize) -> Server {
        let directory = tempfile::tempdir().unwrap();
        let options = DatabaseOptions {
            buffer_pool_bytes: pages * 4096,
            memory_limit_bytes: bytes,
            page_size: 4096,
            ..fixture::options()
        };
        Server { database: Database::open(directory.path(), options).unwrap(), directory }
    }

    fn session(&self, user: &str, files: Files) -> Session {
        let mut session = fixture::session_with(&self.database, user, files);
        let _ = session.use_database("d");
        session
    }
}

/// The rows of a statement as text.
async fn rows(session: &mut Session, sql: &str) -> Vec<Vec<String>> {
    try_rows(session, sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"))
}

async fn number(session: &mut Session, sql: &str) -> u64 {
    let found = rows(session, sql).await;
    found[0][0].parse().unwrap_or_else(|e| panic!("{sql}: {found:?}: {e}"))
}

/// The statement's counters of this family that are not zero.
async fn counted(session: &mut Session, family: &str, sql: &str) -> BTreeMap<String, u64> {
    rows(session, "FLUSH STATUS").await;
    rows(session, sql).await;
    let status = rows(session, &format!("SHOW STATUS LIKE '{family}%'")).await;
    let pairs = status.into_iter().map(|mut row| (row.remove(0), row.remove(0).parse().unwrap_or(0)));
    pairs.filter(|(_, n)| *n > 0).collect()
}

/// `t`: 10,000 rows, `a` = id mod 10, `b` = id mod 100. `u`: 1,000 rows.
async fn small_tables(server: &Server) -> Session {
    let mut files: BTreeMap<&'static str, String> = BTreeMap::new();
    for (name, count) in [("t", 10_000), ("u", 1000)] {
        let text = files.entry(name).or_default();
        (0..count).for_each(|i| writeln!(text, "{i}\t{}\t{}\t{i}", i % 10, i % 100).unwrap());
    }
    let mut session = server.session("root", Files(files));
    rows(&mut session, "CREATE DATABASE d").await;
    rows(&mut session, "USE d").await;
    for name in ["t", "u"] {
        let columns = "id INT PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, c INT NOT NULL, KEY i_ab (a, b)";
        rows(&mut session, &format!("CREATE TABLE {name} ({columns})")).await;
        rows(&mut session, &format!("LOAD DATA LOCAL INFILE '{name}' INTO TABLE {name}")).await;
    }
    session
}

fn expected(counters: &[(&str, u64)]) -> BTreeMap<String, u64> {
    counters.iter().map(|(name, n)| (name.to_string(), *n)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_is_counted_as_it_is_done() {
    let server = Server::new(4000);
    let mut session = small_tables(&server).await;
    for (sql, counters) in [
        ("SELECT SUM(c) FROM t", vec![("Handler_read_rnd_next", 10_000)]),
        ("SELECT c FROM t WHERE id = 77", vec![("Handler_read_key", 1)]),
        ("SELECT c FROM t WHERE id IN (5, 700, 7000)", vec![("Handler_read_key", 3)]),
        ("SELECT c FROM t WHERE id BETWEEN 100 AND 299", vec![("Handler_read_key", 1), ("Handler_read_next", 200)]),
        ("SELECT c FROM t ORDER BY id", vec![("Handler_read_first", 1), ("Handler_read_next", 10_000)]),
        ("SELECT c FROM t ORDER BY id DESC", vec![("Handler_read_last", 1), ("Handler_read_prev", 10_000)]),
        ("SELECT b FROM t WHERE a = 3", vec![("Handler_read_key", 1), ("Handler_read_next", 1000)]),
        // Rows fetched for the entries of an index, by Multi-Range Read.
        (
            "SELECT c FROM t FORCE INDEX (i_ab) WHERE a = 3",
            vec![
                ("Handler_mrr_init", 1),
                ("Handler_read_key", 1),
                ("Handler_read_next", 1000),
                ("Handler_read_rnd", 1000),
            ],
        ),
        // Of the entries with a = 3, b is 3, 13, .. 93: every other one passes.
        (
            "SELECT c FROM t FORCE INDEX (i_ab) WHERE a = 3 AND b % 20 = 3",
            vec![
                ("Handler_icp_attempts", 1000),
                ("Handler_icp_match", 500),
                ("Handler_mrr_init", 1),
                ("Handler_read_key", 1),
                ("Handler_read_next", 1000),
                ("Handler_read_rnd", 500),
            ],
        ),
        ("SELECT c FROM t WHERE id < 0", vec![("Handler_read_first", 1)]),
    ] {
        // Each of them is a transaction of its own, which ends well.
        let counters = [counters, vec![("Handler_commit", 1)]].concat();
        assert_eq!(counted(&mut session, "Handler_", sql).await, expected(&counters), "{sql}");
    }
}

/// Entries of `t` with a = k have b = k, k + 10, .. k + 90, 100 of each. The two rows of `u` that look for them have b
/// = k and b = k + 10: only entries with b = k are less than either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_are_checked_with_the_row_that_found_them() {
    let server = Server::new(4000);
    let mut session = small_tables(&server).await;
    rows(&mut session, "SET optimizer_switch = 'hash_join=off,merge_join=off'").await;
    let joined = |join: &str| {
        format!(
            "SELECT SUM(u.c), SUM(t.c) FROM u {join} t FORCE INDEX (i_ab) ON t.a = u.a AND t.b < u.b WHERE u.id < 20"
        )
    };
    for setting in ["batched_key_access=on", "batched_key_access=off", "index_condition_pushdown=off"] {
        rows(&mut session, &format!("SET optimizer_switch = '{setting}'")).await;
        let (pushed, batched) = (setting != "index_condition_pushdown=off", setting == "batched_key_access=on");
        for join in ["STRAIGHT_JOIN", "LEFT JOIN"] {
            let found = counted(&mut session, "Handler_", &joined(join)).await;
            let get = |name: &str| found.get(name).copied().unwrap_or(0);
            // Without a buffer of keys, the keys of both rows are looked up.
            let entries = if batched { 10_000 } else { 20_000 };
            let (attempts, matches) = if pushed { (entries, 1000) } else { (0, 0) };
            assert_eq!((get("Handler_icp_attempts"), get("Handler_icp_match")), (attempts, matches), "{found:?}");
            assert_eq!(get("Handler_read_rnd"), if pushed { 1000 } else { entries }, "{found:?}");
            // 1,000 entries for each of the ten rows with b >= 10: sums of 10 .. 19, and of ids that end in two digits.
            let sums = rows(&mut session, &joined(join)).await;
            let lonely = if join == "LEFT JOIN" { 45 } else { 0 };
            assert_eq!(sums, [[(14_500 + lonely).to_string(), "4954500".to_string()]], "{setting} {join}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buffers_are_filled_as_often_as_they_must() {
    let server = Server::new(4000);
    let mut session = small_tables(&server).await;
    // 10,000 primary keys of 4 bytes: ceil(40,000 / 8,192) = 5 passes.
    rows(&mut session, "SET mrr_buffer_size = 8192").await;
    let fetched = counted(&mut session, "Handler_mrr", "SELECT SUM(c) FROM t FORCE INDEX (i_ab) WHERE a >= 0").await;
    assert_eq!(fetched, expected(&[("Handler_mrr_init", 1), ("Handler_mrr_rowid_refills", 4)]));
    rows(&mut session, "SET mrr_buffer_size = 40000").await;
    let fetched = counted(&mut session, "Handler_mrr", "SELECT SUM(c) FROM t FORCE INDEX (i_ab) WHERE a >= 0").await;
    assert_eq!(fetched, expected(&[("Handler_mrr_init", 1)]));
    // 1,000 outer rows of two INTs: ceil(8,000 / 1,024) = 8 buffers. Sizes are multiples of 128.
    rows(&mut session, "SET optimizer_switch = 'hash_join=off,merge_join=off'").await;
    let join = "SELECT SUM(t.c + u.b) FROM u JOIN t ON t.id = u.c";
    for (bytes, refills) in [(1024, 7), (8064, 0)] {
        rows(&mut session, &format!("SET join_buffer_size = {bytes}")).await;
        let joined = counted(&mut session, "Handler_", join).await;
        let get = |name: &str| joined.get(name).copied().unwrap_or(0);
        assert_eq!(get("Handler_mrr_key_refills"), refills, "{joined:?}");
        assert_eq!((get("Handler_read_key"), get("Handler_read_rnd_next")), (1000, 1000), "{joined:?}");
    }
}

/// 10 rows with texts of 100 bytes find 1,000 each. With the texts, rows of the second buffer have 16 + 100 bytes of
/// text and 4 of a number: 1,066 of them fit in 128,000 bytes. With links to the first buffer they have 4 + 4 bytes,
/// and all 10,000 fit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_several_joins_stay_in_the_first_buffer() {
    let server = Server::new(4000);
    let mut session = small_tables(&server).await;
    let text: String = (0..10).map(|i| format!("{i}\t{i:0>100}\n")).collect();
    let mut loader = server.session("root", Files(BTreeMap::from([("w", text)])));
    rows(&mut loader, "CREATE TABLE w (id INT PRIMARY KEY, s VARCHAR(100) NOT NULL)").await;
    rows(&mut loader, "LOAD DATA LOCAL INFILE 'w' INTO TABLE w").await;
    rows(&mut session, "SET optimizer_switch = 'hash_join=off,merge_join=off', join_buffer_size = 128000").await;
    let sql = "SELECT SUM(b.c), COUNT(DISTINCT w.s), MAX(w.s) \
               FROM w STRAIGHT_JOIN t a FORCE INDEX (i_ab) ON a.a = w.id STRAIGHT_JOIN t b ON b.id = a.c";
    for (incremental, refills) in [("off", 9), ("on", 0)] {
        rows(&mut session, &format!("SET optimizer_switch = 'join_cache_incremental={incremental}'")).await;
        let found = counted(&mut session, "Handler_mrr_key", sql).await;
        assert_eq!(found.get("Handler_mrr_key_refills").copied().unwrap_or(0), refills, "{incremental}");
        let found = rows(&mut session, sql).await;
        assert_eq!(found, [["49995000".to_string(), "10".to_string(), format!("{:0>100}", 9)]]);
        let plan = format!("{:?}", rows(&mut session, &format!("EXPLAIN {sql}")).await);
        assert_eq!(plan.contains("(incremental, Batched Key Access)"), incremental == "on", "{plan}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_are_counted_when_they_start() {
    let server = Server::new(4000);
    let mut session = small_tables(&server).await;
    rows(&mut session, "SET optimizer_switch = 'batched_key_access=off,merge_join=off'").await;
    for (sql, counters) in [
        ("SELECT c FROM t", vec![("Select_scan", 1)]),
        ("SELECT a FROM t ORDER BY a", vec![("Select_scan", 1)]),
        ("SELECT c FROM t WHERE id = 3", vec![]),
        ("SELECT b FROM t WHERE a = 3", vec![]),
        ("SELECT c FROM t WHERE id < 100", vec![("Select_range", 1)]),
        ("SELECT COUNT(*) FROM t STRAIGHT_JOIN u ON t.c = u.c", vec![("Select_full_join", 1), ("Select_scan", 1)]),
        (
            "SELECT COUNT(*) FROM t STRAIGHT_JOIN u ON t.c = u.c WHERE t.id < 50 AND u.id < 70",
            vec![("Select_full_range_join", 1), ("Select_range", 1)],
        ),
        ("SELECT c FROM t UNION ALL SELECT c FROM u", vec![("Select_scan", 2)]),
    ] {
        assert_eq!(counted(&mut session, "Select_", sql).await, expected(&counters), "{sql}");
    }
    for (sql, counters) in [
        ("SELECT c FROM t ORDER BY b, c", vec![("Sort_rows", 10_000), ("Sort_scan", 1)]),
        ("SELECT c FROM t ORDER BY b, c LIMIT 7", vec![("Sort_rows", 7), ("Sort_scan", 1)]),
        ("SELECT c FROM t WHERE id < 100 ORDER BY b, c", vec![("Sort_range", 1), ("Sort_rows", 100)]),
        ("SELECT c FROM t ORDER BY id", vec![]),
    ] {
        assert_eq!(counted(&mut session, "Sort_", sql).await, expected(&counters), "{sql}");
    }
    let grouped = "SELECT c, COUNT(*) FROM t GROUP BY c";
    assert_eq!(counted(&mut session, "Created_", grouped).await, expected(&[("Created_tmp_tables", 1)]));
    let cost =
        "SELECT VARIABLE_VALUE > 0 FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Last_query_cost'";
    rows(&mut session, grouped).await;
    assert_eq!(rows(&mut session, cost).await, [["1"]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_counts_for_itself_and_for_all() {
    let server = Server::new(4000);
    let mut session = small_tables(&server).await;
    let mut other = server.session("root", Files(BTreeMap::new()));
    let scanned = |global: &str| format!("SHOW {global} STATUS LIKE 'Handler_read_rnd_next'");
    async fn value(session: &mut Session, sql: &str) -> u64 {
        rows(session, sql).await[0][1].parse().unwrap()
    }
    let before = value(&mut other, &scanned("GLOBAL")).await;
    rows(&mut session, "FLUSH STATUS").await;
    rows(&mut session, "SELECT SUM(c) FROM u").await;
    rows(&mut session, "SELECT SUM(c) FROM u").await;
    assert_eq!(value(&mut session, &scanned("SESSION")).await, 2000);
    assert_eq!(value(&mut other, &scanned("SESSION")).await, 0);
    assert_eq!(value(&mut other, &scanned("GLOBAL")).await, before + 2000);
    rows(&mut session, "FLUSH STATUS").await;
    assert_eq!(value(&mut session, &scanned("SESSION")).await, 0);
    assert_eq!(value(&mut other, &scanned("GLOBAL")).await, before + 2000);
    // All statements from here on are slow ones; the one that asks has not ended.
    rows(&mut other, "SET long_query_time = 0").await;
    rows(&mut other, "FLUSH STATUS").await;
    for _ in 0..3 {
        rows(&mut other, "SELECT 1").await;
    }
    // FLUSH STATUS itself ends after it has put the counters back.
    assert_eq!(value(&mut other, "SHOW STATUS LIKE 'Slow_queries'").await, 4);
    assert_eq!(value(&mut session, "SHOW STATUS LIKE 'Slow_queries'").await, 0);
}

/// `facts`: several times the pool. `dimension`: a few pages.
async fn star(server: &Server) -> Session {
    let mut files: BTreeMap<&'static str, String> = BTreeMap::new();
    let mut x = 88_172_645_463_325_252u64;
    for (name, count) in [("facts", 60_000), ("dimension", 2000)] {
        let text = files.entry(name).or_default();
        for i in 0..count {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            writeln!(text, "{i}\t{}\t{}", i % 2000, x >> 16).unwrap();
        }
    }
    let mut session = server.session("root", Files(files));
    rows(&mut session, "CREATE DATABASE d").await;
    rows(&mut session, "USE d").await;
    for name in ["facts", "dimension"] {
        rows(&mut session, &format!("CREATE TABLE {name} (id INT PRIMARY KEY, k INT NOT NULL, x BIGINT NOT NULL)"))
            .await;
        rows(&mut session, &format!("LOAD DATA LOCAL INFILE '{name}' INTO TABLE {name}")).await;
    }
    session
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pool_shows_what_it_holds() {
    let server = Server::new(64);
    let mut session = star(&server).await;
    assert_eq!(number(&mut session, "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE_LRU").await, 0);
    assert_eq!(number(&mut session, "SELECT SUM(k) FROM dimension").await, 1999 * 1000);
    // All pages of the table are there: its leaves hold its rows, the inner pages lead to them.
    let leaves = "SELECT SUM(NUMBER_RECORDS) FROM information_schema.INNODB_BUFFER_PAGE_LRU \
                  WHERE TABLE_NAME = '`d`.`dimension`' AND INDEX_NAME = 'PRIMARY' AND PAGE_TYPE = 'INDEX'";
    let pages = "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE_LRU WHERE TABLE_NAME = '`d`.`dimension`'";
    let inner = number(&mut session, pages).await - 1;
    assert_eq!(number(&mut session, leaves).await, 2000 + inner, "one root above the leaves");
    // A scan of a table larger than the pool fills it.
    number(&mut session, "SELECT SUM(k) FROM facts").await;
    let stats = "SELECT POOL_SIZE, FREE_BUFFERS, DATABASE_PAGES - OLD_DATABASE_PAGES, OLD_DATABASE_PAGES, \
                 MODIFIED_DATABASE_PAGES, NUMBER_PAGES_GET > 0, HIT_RATE BETWEEN 1 AND 999 \
                 FROM information_schema.INNODB_BUFFER_POOL_STATS";
    let found = rows(&mut session, stats).await.remove(0);
    let figures: Vec<u64> = found.iter().map(|n| n.parse().unwrap()).collect();
    let [size, free, young, old, dirty, asked, hit] = figures[..] else { panic!("{found:?}") };
    assert_eq!((size, free + young + old, dirty, asked, hit), (64, 64, 0, 1, 1));
    let order = "SELECT COUNT(DISTINCT LRU_POSITION), MAX(LRU_POSITION), SUM(IS_OLD = 'YES'), SUM(FIX_COUNT) \
                 FROM information_schema.INNODB_BUFFER_PAGE_LRU";
    let held = young + old;
    let listed = [held, held - 1, old, 0].map(|n| n.to_string());
    assert_eq!(rows(&mut session, order).await, [listed]);
    let frames =
        "SELECT COUNT(DISTINCT BLOCK_ID), SUM(PAGE_STATE = 'FILE_PAGE') FROM information_schema.INNODB_BUFFER_PAGE";
    assert_eq!(rows(&mut session, frames).await, [[held.to_string(), held.to_string()]]);
    for (name, n) in [("total", 64), ("data", held), ("free", free), ("dirty", 0)] {
        let status = rows(&mut session, &format!("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_{name}'")).await;
        assert_eq!(status[0][1], n.to_string(), "{name}");
    }
    let report = rows(&mut session, "SHOW ENGINE INNODB STATUS").await;
    assert!(report[0][2].contains("\nBuffer pool size   64\n"), "{report:?}");
    assert!(report[0][2].contains(&format!("\nDatabase pages     {held}\n")), "{report:?}");
    // Only for who may see what others do.
    rows(&mut session, "CREATE USER eve").await;
    let mut eve = server.session("eve", Files(BTreeMap::new()));
    for table in ["INNODB_BUFFER_PAGE", "INNODB_BUFFER_PAGE_LRU", "INNODB_BUFFER_POOL_STATS"] {
        let denied = try_rows(&mut eve, &format!("SELECT * FROM information_schema.{table}")).await;
        assert_eq!(denied.unwrap_err().code.number(), 1227);
    }
    assert_eq!(try_rows(&mut eve, "SHOW ENGINE INNODB STATUS").await.unwrap_err().code.number(), 1227);
}

/// Reports one after the other on more data than the pool holds, as often as a user runs them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeated_reports_find_a_part_in_the_pool() {
    let server = Server::new(64);
    let mut session = star(&server).await;
    let queries = [
        "SELECT SUM(f.x) FROM facts f JOIN dimension d ON d.id = f.k",
        "SELECT MAX(f.x) FROM facts f JOIN dimension d ON d.id = f.k WHERE d.k < 1000",
        "SELECT COUNT(*) FROM facts WHERE x > 1000",
    ];
    let dimension =
        "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE_LRU WHERE TABLE_NAME = '`d`.`dimension`'";
    rows(&mut session, "SELECT SUM(x) FROM dimension").await;
    let all_of_it = number(&mut session, dimension).await;
    let mut read = Vec::new();
    for _ in 0..4 {
        let before = session.counters().storage().pages_read();
        for sql in queries {
            rows(&mut session, sql).await;
        }
        read.push(session.counters().storage().pages_read() - before);
        // Two of three queries use it: no scan takes it away. A few of its pages may go: while the disk is slow, pages
        // that are read ahead have up to a quarter of the frames, also those of the pages that were used least of late.
        rows(&mut session, "SELECT SUM(x) FROM dimension").await;
        rows(&mut session, "SELECT SUM(x) FROM dimension").await;
        rows(&mut session, "SELECT COUNT(*) FROM facts WHERE x > 2000").await;
        let held = number(&mut session, dimension).await;
        assert!(held * 2 > all_of_it, "{held} of {all_of_it} pages, and the dimension is hot");
    }
    let pages = "SELECT DATA_LENGTH / 4096 FROM information_schema.TABLES WHERE TABLE_NAME = 'facts'";
    let pages: f64 = rows(&mut session, pages).await[0][0].parse().unwrap();
    // Three scans of the facts. With the least recently used page going first, they would all be read each time.
    let most = 3.0 * (pages - 0.6 * (64.0 - all_of_it as f64));
    for later in &read[1..] {
        assert!((*later as f64) < most, "{read:?} of three times {pages} pages");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_goes_to_disk_is_counted() {
    let server = Server::with_memory(64, 2 << 20);
    let mut session = star(&server).await;
    let sorted = counted(&mut session, "", "SELECT id, x FROM facts ORDER BY x").await;
    assert_eq!((sorted["Sort_rows"], sorted["Sort_scan"]), (60_000, 1));
    assert!(sorted["Created_tmp_files"] > 1 && sorted["Sort_merge_passes"] >= 1, "{sorted:?}");
    let grouped = counted(&mut session, "Created_", "SELECT x, COUNT(*), MIN(id) FROM facts GROUP BY x").await;
    assert_eq!((grouped["Created_tmp_tables"], grouped["Created_tmp_disk_tables"]), (1, 1), "{grouped:?}");
    let small = counted(&mut session, "Created_", "SELECT k, COUNT(*) FROM dimension GROUP BY k").await;
    assert_eq!(small, expected(&[("Created_tmp_tables", 1)]));
}

/// Nothing is latched and nothing is being read, or will be a moment later.
async fn nothing_is_held(server: &Server) {
    let mut session = server.session("root", Files(BTreeMap::new()));
    let held =
        "SELECT COALESCE(SUM(FIX_COUNT), 0) + SUM(IO_FIX <> 'IO_NONE') FROM information_schema.INNODB_BUFFER_PAGE";
    for _ in 0..500 {
        if number(&mut session, held).await == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{:?}", rows(&mut session, "SELECT * FROM information_schema.INNODB_BUFFER_PAGE WHERE FIX_COUNT > 0").await);
}

/// Looks rows up in batches so small that there are thousands of them.
const SLOW_LOOKUPS: [&str; 3] = [
    "SET optimizer_switch = 'hash_join=off,merge_join=off'",
    "SET join_buffer_size = 128",
    "SELECT SUM(g.x) FROM facts f JOIN facts g ON g.id = f.x % 60000",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_query_holds_nothing() {
    let server = Server::new(64);
    let mut session = star(&server).await;
    for sql in [SLOW_LOOKUPS[2], "SELECT COUNT(*) FROM facts a, facts b WHERE a.x < b.k"] {
        for setting in &SLOW_LOOKUPS[..2] {
            rows(&mut session, setting).await;
        }
        let Outcome::Rows(mut result) = session.execute(sql).await.unwrap() else { panic!("no rows") };
        let waited = tokio::time::timeout(std::time::Duration::from_millis(30), result.rows.next()).await;
        assert!(waited.is_err(), "{sql} takes longer");
        server.database.kill(session.id(), true).unwrap();
        let stopped = result.rows.next().await.unwrap().unwrap_err();
        assert_eq!(stopped.code.number(), 1317, "{stopped}");
        drop(result);
        nothing_is_held(&server).await;
        assert_eq!(number(&mut session, "SELECT COUNT(*) FROM facts").await, 60_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_page_ends_lookups_with_an_error() {
    let server = Server::new(64);
    let mut session = star(&server).await;
    let files = std::fs::read_dir(server.directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let tables =
        files.filter(|path| path.extension().is_some_and(|e| e == "mus") && path.metadata().unwrap().len() > 1 << 19);
    let facts: Vec<_> = tables.collect();
    let [facts] = facts.as_slice() else { panic!("{facts:?}") };
    let mut bytes = std::fs::read(facts).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle + 100..middle + 200].fill(0xEE);
    std::fs::write(facts, bytes).unwrap();
    rows(&mut session, SLOW_LOOKUPS[0]).await;
    for sql in [SLOW_LOOKUPS[2], "SELECT SUM(x) FROM facts"] {
        let e = try_rows(&mut session, sql).await.unwrap_err();
        assert!(e.message.contains("checksum") && e.message.contains(".mus"), "{e}");
        nothing_is_held(&server).await;
    }
    assert_eq!(number(&mut session, "SELECT COUNT(*) FROM dimension").await, 2000);
    assert_eq!(number(&mut session, "SELECT k FROM facts WHERE id = 17").await, 17);
}
