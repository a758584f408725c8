//! Random conditions on one table with indexes of every kind, each index and each way to read it forced and forbidden:
//! the rows are those of a full scan.

mod random_data;

use muster_engine::{Database, Session, SessionOptions};
use random_data::{Files, Random, open, run};
use std::{collections::HashMap, fmt::Write, sync::Arc};

const COLLATIONS: [&str; 4] = ["utf8mb4_0900_ai_ci", "utf8mb4_bin", "utf8mb4_general_ci", "latin1_swedish_ci"];
const TEXTS: [&str; 12] = ["a", "A", "ab", "abc", "b ", "b", "ssb", "ßb", "sc", "", "äb", "zz"];
const PRIMARY_KEYS: [&str; 4] = ["primary key (k)", "primary key (b, k)", "primary key (b desc, k)", "key i_k (k)"];
const INDEXES: [&str; 7] = ["i_a", "i_bc", "i_cab", "i_d", "i_ed", "i_db", "i_adown"];

/// Settings under which the same rows must come.
const WAYS: [&str; 15] = [
    "optimizer_switch = 'index_condition_pushdown=off'",
    "optimizer_switch = 'skip_scan=off'",
    "optimizer_switch = 'use_index_extensions=off'",
    "optimizer_switch = 'index_merge=off'",
    "optimizer_switch = 'index_merge_union=off,index_merge_sort_union=off'",
    "optimizer_switch = 'index_merge_intersection=off'",
    "optimizer_switch = 'loose_index_scan=off'",
    "optimizer_switch = 'min_max_by_index=off'",
    "optimizer_switch = 'index_order=off'",
    "optimizer_switch = 'prefer_ordering_index=off'",
    "optimizer_switch = 'order_fallback=off,late_fetch=off'",
    "optimizer_switch = 'mrr=off,batched_key_access=off'",
    "optimizer_switch = 'mrr=off,skip_scan=off,use_index_extensions=off,index_condition_pushdown=off'",
    "range_optimizer_max_mem_size = 1000",
    "mrr_buffer_size = 8192",
];

fn rows(random: &mut Random, count: usize) -> Vec<u8> {
    let mut out = String::new();
    for k in 0..count {
        let mut nullable = |n: usize| match random.one_in(6) {
            true => "\\N".to_owned(),
            false => random.below(n).to_string(),
        };
        let (a, c) = (nullable(9), nullable(6));
        let b = random.below(8);
        let (d, e) = (random.pick(&TEXTS), if random.one_in(6) { "\\N" } else { random.pick(&TEXTS) });
        let _ = writeln!(out, "{k}\t{a}\t{b}\t{c}\t{d}\t{e}");
    }
    out.into_bytes()
}

async fn table(database: &Arc<Database>, random: &mut Random) -> Session {
    let count = 1 + random.below(1500);
    let files = HashMap::from([("t".to_owned(), rows(random, count))]);
    let local_files = Arc::new(Files(files));
    let options = SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files };
    let mut session = database.session(options);
    let (d, e, primary) = (random.pick(&COLLATIONS), random.pick(&COLLATIONS), random.pick(&PRIMARY_KEYS));
    let create = format!(
        "create table t (k int not null, a int, b smallint not null, c bigint, d varchar(9) collate {d} not null, \
         e varchar(9) collate {e}, {primary}, key i_a (a), key i_bc (b, c desc), key i_cab (c, a, b), key i_d (d(2)), \
         key i_ed (e, d(1)), key i_db (d, b), key i_adown (a desc, c))"
    );
    for sql in ["create database x", "use x", &create, "load data local infile 't' into table t"] {
        session.query(sql).await.unwrap_or_else(|error| panic!("{error}\n{sql}"));
    }
    session
}

fn condition(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.one_in(2) {
        let parts: Vec<String> = (0..2 + random.below(2)).map(|_| condition(random, depth - 1)).collect();
        return format!("({})", parts.join(if random.one_in(2) { " and " } else { " or " }));
    }
    let column = random.pick(&["a", "b", "c", "k", "a", "b", "c"]);
    let text = random.pick(&["d", "e"]);
    let (n, m) = (random.below(9), random.below(9));
    let (x, y) = (random.pick(&TEXTS), random.pick(&TEXTS));
    match random.below(15) {
        0 => format!("{column} = {n}"),
        1 => format!("{column} between {n} and {}", n + 2),
        2 => format!("{column} in ({n}, {m}, 3)"),
        3 => format!("{column} not in ({n}, {m})"),
        4 => format!("{column} is null"),
        5 => format!("({column} = {n} or {column} is null)"),
        6 => format!("(b, c) < ({n}, {m})"),
        7 => format!("(c, a) in (({n}, {m}), ({m}, 3))"),
        8 => format!("{column} <> {n}"),
        9 => format!("{text} = '{x}'"),
        10 => format!("{text} like '{x}%'"),
        11 => format!("{text} > '{x}' and {text} <= '{y}'"),
        12 => format!("{text} in ('{x}', '{y}')"),
        // More values than indexes are dived into for, among them some of each kind.
        13 => {
            let values: Vec<String> = (0..3000).map(|i| (i * 7 + n).to_string()).collect();
            format!("{column} {} ({})", random.pick(&["in", "not in"]), values.join(", "))
        }
        _ => format!("{column} > {n}.5"),
    }
}

fn query(random: &mut Random, hint: &str) -> String {
    let condition = condition(random, 2);
    match random.below(6) {
        0 => format!("select * from t {hint} where {condition}"),
        1 => format!("select k, a from t {hint} where {condition}"),
        2 => {
            let (first, second) = (random.pick(&["a", "b", "c", "d"]), random.pick(&["k", "k desc", "a desc, k"]));
            let n = random.below(20);
            format!("select k, b from t {hint} where {condition} order by {first}, {second} limit {n}")
        }
        3 => {
            let group = random.pick(&["a", "b", "c", "a, c", "b, c", "c, a"]);
            let of = random.pick(&["a", "b", "c", "k"]);
            format!("select {group}, min({of}), max({of}) from t {hint} where {condition} group by {group}")
        }
        4 => {
            let group = random.pick(&["a", "b", "c", "a, c", "b, c", "c, a, b"]);
            let condition = if random.one_in(2) { format!("where {condition}") } else { String::new() };
            format!("select distinct {group} from t {hint} {condition}")
        }
        _ => {
            let (x, y) = (random.pick(&["a", "b", "c", "k"]), random.pick(&["a", "b", "c", "k"]));
            let condition = if random.one_in(2) { format!("where {condition}") } else { String::new() };
            format!("select min({x}), max({y}) from t {hint} {condition}")
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_index_gives_the_rows_of_a_full_scan() {
    let (mut nonempty, mut skipped, mut merged) = (0, 0, 0);
    for seed in 1..=8 {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let database = open(directory.path(), 64 << 20);
        let mut random = Random::new(seed * 104_729);
        let mut session = table(&database, &mut random).await;
        for round in 0..120 {
            let hint = match round % 5 {
                0 => String::new(),
                1 => format!("use index ({})", random.pick(&INDEXES)),
                2 => format!("ignore index ({}, {})", random.pick(&INDEXES), random.pick(&INDEXES)),
                _ => format!("force index ({})", random.pick(&INDEXES)),
            };
            let sql = query(&mut random, &hint);
            let off = "access_path=off,index_order=off,loose_index_scan=off,min_max_by_index=off";
            run(&mut session, &format!("set optimizer_switch = '{off}'")).await;
            let expected = run(&mut session, &sql).await;
            nonempty += usize::from(!expected.is_empty());
            run(&mut session, "set optimizer_switch = default").await;
            let plan = format!("{:?}", run(&mut session, &format!("explain format=tree {sql}")).await);
            skipped += usize::from(plan.contains("skip scan") || plan.contains("skipping to"));
            merged += usize::from(plan.contains("Append") || plan.contains("semijoin"));
            assert_eq!(run(&mut session, &sql).await, expected, "{sql}\n{plan}");
            for _ in 0..3 {
                let way = random.pick(&WAYS);
                run(&mut session, &format!("set {way}")).await;
                assert_eq!(run(&mut session, &sql).await, expected, "{way}: {sql}");
                let variable = way.split(' ').next().expect("a variable");
                run(&mut session, &format!("set {variable} = default")).await;
            }
        }
    }
    assert!(nonempty > 400 && skipped > 50 && merged > 10, "hardly tested: {nonempty}, {skipped}, {merged}");
}

/// Conditions with as many alternatives as a client may think of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_alternatives_are_checked() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let database = open(directory.path(), 16 << 20);
    let mut session = table(&database, &mut Random::new(7)).await;
    let pairs: Vec<String> = (0..6000).map(|n| format!("(b = {} and k = {n})", n % 8)).collect();
    let sql = format!("select k from t where {}", pairs.join(" or "));
    let expected = run(&mut session, "select k from t where b = k % 8").await;
    assert!(!expected.is_empty());
    for switch in ["access_path=off", "access_path=on"] {
        run(&mut session, &format!("set optimizer_switch = '{switch}'")).await;
        assert_eq!(run(&mut session, &sql).await, expected, "{switch}");
    }
}
