//! Random queries over random tables under every way to read and to join them: the rows are those of full scans and
//! hash joins.

mod random_data;

use muster_engine::{Database, Session, SessionOptions};
use random_data::{Files, Random, open, run};
use std::{fmt::Write, sync::Arc};

const TABLES: [&str; 3] = ["r", "s", "t"];

fn text(random: &mut Random) -> String {
    random.pick(&["a", "A", "ab", "b", "ba", "", "ä"]).to_owned()
}

/// Rows of one table: a clustered key of two columns, indexes on one column and on several, NULLs and many duplicates.
fn rows(random: &mut Random, count: usize) -> Vec<u8> {
    let mut out = String::new();
    let mut keys: Vec<(usize, usize)> = (0..count).map(|_| (random.below(40), random.below(60))).collect();
    keys.sort_unstable();
    keys.dedup();
    for (k, l) in keys {
        let mut nullable = |n: usize| match random.one_in(6) {
            true => "\\N".to_owned(),
            false => random.below(n).to_string(),
        };
        let (a, b, c) = (nullable(12), nullable(30), nullable(5));
        let d = if random.one_in(6) { "\\N".to_owned() } else { text(random) };
        let _ = writeln!(out, "{k}\t{l}\t{a}\t{b}\t{c}\t{d}");
    }
    out.into_bytes()
}

async fn tables(database: &Arc<Database>, seed: u64) -> Session {
    let mut random = Random::new(seed);
    let files = TABLES.iter().map(|t| {
        let count = 1 + random.below(1200);
        (t.to_string(), rows(&mut random, count))
    });
    let local_files = Arc::new(Files(files.collect()));
    let options = SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files };
    let mut session = database.session(options);
    for sql in ["create database d", "use d"] {
        session.query(sql).await.expect("a database");
    }
    for name in TABLES {
        let create = format!(
            "create table {name} (k int not null, l int not null, a int, b bigint, c smallint, d varchar(10), \
             primary key (k, l), key i_a (a), key i_bc (b, c), key i_ca (c, a), key i_d (d), key i_dab (d, a, b))"
        );
        session.query(&create).await.expect("a table");
        session.query(&format!("load data local infile '{name}' into table {name}")).await.expect("rows");
    }
    session
}

/// A condition over one table's columns.
fn own_condition(random: &mut Random, t: &str) -> String {
    let n = random.below(12);
    match random.below(9) {
        0 => format!("{t}.a = {n}"),
        1 => format!("{t}.b between {n} and {}", n + 5),
        2 => format!("{t}.a in ({n}, {}, {})", n + 1, n + 4),
        3 => format!("{t}.d = '{}'", text(random)),
        4 => format!("{t}.c is null"),
        5 => format!("({t}.a = {n} or {t}.b < {n})"),
        6 => format!("{t}.k < {} and {t}.l > {n}", n * 3),
        7 => format!("{t}.c = {} and {t}.b >= {n}", n % 5),
        _ => format!("{t}.d like '{}%'", text(random)),
    }
}

/// A condition that joins two tables.
fn join_condition(random: &mut Random, left: &str, right: &str) -> String {
    let mut all = vec![match random.below(7) {
        0 => format!("{left}.a = {right}.a"),
        1 => format!("{left}.k = {right}.k"),
        2 => format!("{left}.k = {right}.k and {left}.l = {right}.l"),
        3 => format!("{left}.b = {right}.b and {left}.c = {right}.c"),
        4 => format!("{left}.a = {right}.b"),
        5 => format!("{left}.d = {right}.d and {left}.a = {right}.a"),
        _ => format!("{left}.c = {right}.c and {right}.a = {}", random.below(12)),
    }];
    let n = random.below(30);
    all.extend(match random.below(8) {
        0 => Some(format!("{left}.b <> {right}.l")),
        1 => Some(format!("{right}.l > {left}.b")),
        2 => Some(format!("({left}.l < {n} and {right}.b > {n} or {left}.c = {right}.a)")),
        3 => Some(format!("({left}.a < 6 and {right}.a > 3 and {right}.l < {n} or {left}.b > {n} and {right}.c = 2)")),
        _ => None,
    });
    all.join(" and ")
}

fn query(random: &mut Random) -> String {
    let (x, y) = (random.pick(&TABLES), random.pick(&TABLES));
    let on = join_condition(random, "x", "y");
    let own = own_condition(random, "x");
    let further = if random.one_in(2) { format!(" and {}", own_condition(random, "y")) } else { String::new() };
    let all = "x.k, x.l, x.a, x.d, y.k, y.l, y.b, y.d";
    match random.below(13) {
        0 => format!("select * from {x} x where {own}"),
        1 => format!("select x.k, x.a from {x} x where {own} and {}", own_condition(random, "x")),
        2 => format!("select {all} from {x} x join {y} y on {on} where {own}{further}"),
        3 => format!("select {all} from {x} x left join {y} y on {on}{further} where {own}"),
        4 => {
            format!("select x.k, x.l, x.d from {x} x where {own} and exists (select 1 from {y} y where {on}{further})")
        }
        5 => format!("select x.k, x.l from {x} x where {own} and not exists (select 1 from {y} y where {on}{further})"),
        6 => {
            let z = random.pick(&TABLES);
            let more = join_condition(random, "y", "z");
            format!(
                "select x.k, x.d, y.l, y.b, z.a, z.b from {x} x join {y} y on {on} join {z} z on {more} where {own}"
            )
        }
        7 => {
            let not = random.pick(&["", "not "]);
            format!(
                "select x.k, x.l from {x} x where {own} and (x.a, x.b) {not}in (select y.a, y.b from {y} y where y.l > 20)"
            )
        }
        8 => {
            let not = random.pick(&["", "not "]);
            format!(
                "select x.k, x.b from {x} x where x.a {not}in (select y.a from {y} y where {})",
                own_condition(random, "y")
            )
        }
        9 => {
            let set = random.pick(&["intersect", "except"]);
            format!("select x.a, x.c from {x} x where {own} {set} select y.a, y.c from {y} y")
        }
        10 => format!("select x.k, count(*), max(y.b) from {x} x join {y} y on x.k = y.k{further} group by x.k"),
        11 => format!("select x.k, x.l, count(*), min(x.d) from {x} x where {own} group by x.l, x.k"),
        _ => format!("select x.k, x.l, (select count(*) from {y} y where {on}) from {x} x where {own}"),
    }
}

/// A query with hints, some of which name tables or indexes that are not there.
fn hinted(random: &mut Random, sql: &str) -> String {
    const TABLE: [&str; 10] = [
        "BKA",
        "NO_BKA",
        "BNL",
        "NO_BNL",
        "HASH_JOIN",
        "NO_HASH_JOIN",
        "MERGE_JOIN",
        "NO_MERGE_JOIN",
        "MERGE",
        "NO_MERGE",
    ];
    const INDEX: [&str; 14] = [
        "MRR",
        "NO_MRR",
        "ICP",
        "NO_ICP",
        "INDEX",
        "NO_INDEX",
        "JOIN_INDEX",
        "NO_JOIN_INDEX",
        "NO_RANGE_OPTIMIZATION",
        "SKIP_SCAN",
        "NO_SKIP_SCAN",
        "INDEX_MERGE",
        "NO_INDEX_MERGE",
        "ORDER_INDEX",
    ];
    const ORDER: [&str; 4] = ["JOIN_ORDER", "JOIN_PREFIX", "JOIN_SUFFIX", "JOIN_FIXED_ORDER"];
    const OTHER: [&str; 8] = [
        "SEMIJOIN(@`select#2` FIRSTMATCH)",
        "SEMIJOIN(@`select#2` MATERIALIZATION)",
        "SEMIJOIN(@`select#2` LOOSESCAN)",
        "NO_SEMIJOIN(@`select#2`)",
        "SUBQUERY(@`select#2` INTOEXISTS)",
        "SUBQUERY(@`select#2` MATERIALIZATION)",
        "STREAM_AGGREGATE()",
        "NO_STREAM_AGGREGATE()",
    ];
    let names = ["x", "y", "z", "y@`select#2`", "x, y", "y, x", "z, y, x", "x, y@`select#2`"];
    let hints: Vec<String> = (0..1 + random.below(3))
        .map(|_| match random.below(5) {
            0 | 1 => format!("{}({})", random.pick(&TABLE), random.pick(&names)),
            2 => {
                let table = random.pick(&["x", "y", "z", "y@`select#2`"]);
                format!(
                    "{}({table} {})",
                    random.pick(&INDEX),
                    random.pick(&["", "i_a", "i_bc", "PRIMARY", "i_d, i_ca"])
                )
            }
            3 => format!("{}({})", random.pick(&ORDER), random.pick(&names)),
            _ => random.pick(&OTHER).to_owned(),
        })
        .collect();
    sql.replacen("select", &format!("select /*+ {} */", hints.join(" ")), 1)
}

/// Settings under which the same rows must come, beside the default ones.
const WAYS: &[&[&str]] = &[
    &["optimizer_switch = 'hash_join=off'"],
    &["optimizer_switch = 'hash_join=off,batched_key_access=off'"],
    &["optimizer_switch = 'hash_join=off,mrr=off'"],
    &["optimizer_switch = 'hash_join=off,mrr_sort_keys=off'", "join_buffer_size = 4096"],
    &["optimizer_switch = 'hash_join=off,index_condition_pushdown=off'"],
    &["optimizer_switch = 'hash_join=off,batched_key_access=off,mrr=off,index_condition_pushdown=off'"],
    &["optimizer_switch = 'hash_join=off'", "join_buffer_size = 128", "mrr_buffer_size = 8192"],
    &["optimizer_switch = 'semijoin=off,subquery_to_derived=off'"],
    &["optimizer_switch = 'materialization=off'"],
    &["optimizer_switch = 'semijoin=off,materialization=off'"],
    &["optimizer_switch = 'firstmatch=off,materialization=off'"],
    &["optimizer_switch = 'firstmatch=off,loosescan=off,materialization=off'"],
    &["optimizer_switch = 'duplicateweedout=off'"],
    &["optimizer_switch = 'hash_join=off,join_cache_incremental=off'"],
    &["optimizer_switch = 'hash_join=off,lookup_join=off'"],
    &["optimizer_switch = 'merge_join=off,stream_aggregate=off,loose_index_scan=off'"],
    &["optimizer_switch = 'join_order=off'"],
    &["optimizer_switch = 'hash_join=off,mrr_sort_keys=off,mrr_cost_based=off,condition_fanout_filter=off'"],
    &["join_cache_level = 1"],
    &["optimizer_switch = 'short_path=off'"],
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_way_gives_the_rows_of_full_scans() {
    let (mut nonempty, mut looked_up, mut merged) = (0, 0, 0);
    for seed in 1..=6 {
        let directory = tempfile::tempdir().expect("a temporary folder");
        let database = open(directory.path(), 64 << 20);
        let mut session = tables(&database, seed * 7919).await;
        let mut random = Random::new(seed * 104_729);
        for _ in 0..40 {
            let sql = query(&mut random);
            run(&mut session, "set optimizer_switch = 'access_path=off,lookup_join=off'").await;
            let expected = run(&mut session, &sql).await;
            nonempty += !expected.is_empty() as usize;
            run(&mut session, "set optimizer_switch = default").await;
            // The first time makes the plan of the short path, if there is one. Under the ways below, EXPLAIN makes it.
            for _ in 0..2 {
                assert_eq!(run(&mut session, &sql).await, expected, "{sql}");
            }
            for _ in 0..4 {
                let hinted = hinted(&mut random, &sql);
                let plan = run(&mut session, &format!("explain format=tree {hinted}")).await;
                merged += format!("{plan:?}").contains("merge join") as usize;
                assert_eq!(run(&mut session, &hinted).await, expected, "{hinted}\n{plan:?}");
            }
            for way in WAYS {
                for setting in *way {
                    run(&mut session, &format!("set {setting}")).await;
                }
                let plan = format!("{:?}", run(&mut session, &format!("explain format=tree {sql}")).await);
                looked_up += plan.contains("Multi-range") as usize;
                merged += plan.contains("merge join") as usize;
                assert_eq!(run(&mut session, &sql).await, expected, "{way:?}\n{sql}\n{plan}");
                for reset in ["optimizer_switch", "join_buffer_size", "mrr_buffer_size", "join_cache_level"] {
                    run(&mut session, &format!("set {reset} = default")).await;
                }
            }
        }
    }
    let counts = format!("{nonempty}, {looked_up}, {merged}");
    assert!(nonempty > 120 && looked_up > 300 && merged > 20, "too few queries say anything: {counts}");
}
