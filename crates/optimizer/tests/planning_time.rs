//! Statements that are large or deeply nested are planned, and soon; a statement that is stopped is not planned to its
//! end.

#[allow(dead_code, reason = "shared with the golden plans")]
mod golden;

use muster_optimizer::{Interrupt, Options};
use muster_types::{ErrorCode, SqlError};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Longest time that planning may take here, with debug assertions, beside another test, on a busy machine. What blew
/// up before took half a minute and more. The times of an optimized build stand in `docs/benchmarks.md`.
const PLANNING_MAX: Duration = Duration::from_secs(2);
/// Longest time between two looks at the interrupt, with the same allowance.
const GAP_MAX: Duration = Duration::from_millis(500);

/// `count` tables that are joined by equal columns, one after the other.
fn chain(count: usize, prefix: &str) -> String {
    let first = format!("nation {prefix}0");
    (1..count).fold(first, |from, i| {
        format!("{from} join nation {prefix}{i} on {prefix}{i}.n_nationkey = {prefix}{}.n_nationkey", i - 1)
    })
}

fn nested_in(depth: usize) -> String {
    let innermost = "select c_nationkey from customer where c_acctbal > 0".to_string();
    let nested = (0..depth).fold(innermost, |inner, i| {
        format!("select s{i}.s_nationkey from supplier s{i} where s{i}.s_nationkey in ({inner})")
    });
    format!("select n_name from nation where n_nationkey in ({nested})")
}

/// Grouped joins, each over the groups of the one inside.
fn nested_groups(depth: usize) -> String {
    let innermost = "select l_partkey k, sum(l_quantity) q from lineitem group by l_partkey".to_string();
    (0..depth).fold(innermost, |inner, i| {
        format!(
            "select d{i}.k, sum(d{i}.q) q from ({inner}) d{i} join part p{i} on p{i}.p_partkey = d{i}.k
             where p{i}.p_size = {} group by d{i}.k",
            i + 1
        )
    })
}

fn list(count: usize, condition: impl Fn(usize) -> String, with: &str) -> String {
    (0..count).map(condition).collect::<Vec<_>>().join(with)
}

/// The statements, each with a name.
fn statements() -> Vec<(&'static str, String)> {
    let orders = "select o_orderkey from orders where";
    let exists = |i| format!("exists (select 1 from customer where c_nationkey = t{i}.n_nationkey)");
    let derived = |prefix: &str| format!("(select {prefix}0.n_nationkey k from {})", chain(35, prefix));
    vec![
        (
            "61 tables and 4 EXISTS",
            format!("select t0.n_name from {} where {}", chain(61, "t"), list(4, exists, " and ")),
        ),
        (
            "two derived tables of 35",
            format!("select a.k from {} a join {} b on a.k = b.k", derived("a"), derived("b")),
        ),
        ("IN nested 7 deep", nested_in(7)),
        ("grouped joins nested 11 deep", nested_groups(11)),
        ("equalities by OR", format!("{orders} {}", list(20_000, |i| format!("o_orderkey = {i}"), " or "))),
        (
            "pairs by OR",
            format!("{orders} {}", list(20_000, |i| format!("(o_orderkey = {i} and o_custkey < {i})"), " or ")),
        ),
        (
            "pairs by OR over a join",
            format!(
                "select o_orderkey from orders join customer on c_custkey = o_custkey where {}",
                list(20_000, |i| format!("(o_orderkey = {i} and c_nationkey < {i})"), " or ")
            ),
        ),
        ("values by IN", format!("{orders} o_orderkey in ({})", list(100_000, |i| format!("{}", 2 * i), ","))),
        (
            "pairs of a two-part key by OR",
            format!(
                "select l_quantity from lineitem where {}",
                list(20_000, |i| format!("(l_orderkey = {i} and l_linenumber = {})", i % 7), " or ")
            ),
        ),
        (
            "bounds of a two-part key by OR",
            format!(
                "select l_quantity from lineitem where {}",
                list(20_000, |i| format!("(l_orderkey = {i} and l_linenumber < {})", i % 7), " or ")
            ),
        ),
        ("inequalities by AND", format!("{orders} {}", list(20_000, |i| format!("o_orderkey <> {i}"), " and "))),
        (
            "bounds by AND over a join",
            format!(
                "select o_orderkey from orders join customer on c_custkey = o_custkey where {}",
                list(20_000, |i| format!("o_custkey > {i}"), " and ")
            ),
        ),
    ]
}

#[test]
fn large_statements_are_planned_soon() {
    let workload = golden::dbt3();
    let mut late = Vec::new();
    for (name, sql) in statements() {
        let planned = workload.plan_timed(&sql, &Options::default());
        let ((_, _), time) = planned.unwrap_or_else(|e| panic!("{name}: {e}"));
        println!("{name}: {time:?}");
        if time > PLANNING_MAX {
            late.push(format!("{name}: {time:?}"));
        }
    }
    assert!(late.is_empty(), "{late:#?}");
}

/// The optimizer looks at the interrupt often enough, and ends with its error.
#[test]
fn planning_is_interrupted_soon() {
    let workload = golden::dbt3();
    for (name, sql) in statements() {
        let (last, longest) = (Arc::new(Mutex::new(None::<Instant>)), Arc::new(AtomicU64::new(0)));
        let count = Arc::new(AtomicUsize::new(0));
        let counting = {
            let (last, longest, count) = (last.clone(), longest.clone(), count.clone());
            Interrupt::new(move || {
                let now = Instant::now();
                let mut last = last.lock().expect("no other test holds it");
                if let Some(before) = last.replace(now) {
                    longest.fetch_max(now.duration_since(before).as_micros() as u64, Relaxed);
                }
                count.fetch_add(1, Relaxed);
                Ok(())
            })
        };
        let mut options = Options::default();
        options.interrupt = counting;
        workload.plan_with(&sql, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let longest = Duration::from_micros(longest.load(Relaxed));
        println!("{name}: {count:?} looks, {longest:?} between two of them");
        assert!(longest < GAP_MAX, "{name}: {longest:?} without a look at the interrupt");
        let stop_at = count.load(Relaxed) / 2;
        let seen = AtomicUsize::new(0);
        let stopping = Interrupt::new(move || match seen.fetch_add(1, Relaxed) < stop_at {
            true => Ok(()),
            false => Err(SqlError::interrupted()),
        });
        let mut options = Options::default();
        options.interrupt = stopping;
        let stopped = workload.plan_with(&sql, &options).expect_err("the statement is stopped");
        assert_eq!(stopped.code, ErrorCode::QueryInterrupted, "{name}: {stopped}");
    }
}

/// Prints how long large statements take from text to plan, and how much of that the parser takes.
#[test]
#[ignore = "a measurement, for a build with all optimizations"]
fn planning_times_of_large_statements() {
    const RUNS: usize = 7;
    let workload = golden::dbt3();
    let only = std::env::var("STATEMENT").unwrap_or_default();
    for (name, sql) in statements().into_iter().filter(|(name, _)| name.contains(&only)) {
        let run = || {
            let start = Instant::now();
            muster_sql::parse(&sql).expect("a statement");
            let parsed = start.elapsed();
            (workload.plan_timed(&sql, &Options::default()).expect("a plan").1 + parsed, parsed)
        };
        let mut times: Vec<_> = (0..RUNS).map(|_| run()).collect();
        times.sort();
        let [(all, parsed), (longest, _)] = [times[RUNS / 2], times[RUNS - 1]];
        println!("{name:>32}  {all:>9.3?}  parser {parsed:>9.3?}  longest {longest:>9.3?}");
    }
}

/// Prints how long the benchmarks' queries take to plan, from names to a plan.
#[test]
#[ignore = "a measurement, for a build with all optimizations"]
fn planning_times_of_the_benchmarks() {
    const RUNS: usize = 200;
    let mut all = Vec::new();
    for (workload, folder) in [(golden::dbt3(), "dbt3"), (golden::ssb(), "ssb")] {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/queries").join(folder);
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .expect("the queries are in the repository")
            .map(|entry| entry.expect("a readable folder").path())
            .collect();
        files.sort();
        for file in files {
            let sql = std::fs::read_to_string(&file).expect("a readable query");
            let time = || workload.plan_timed(&sql, &Options::default()).expect("a plan").1;
            let mut times: Vec<Duration> = (0..RUNS).map(|_| time()).collect();
            times.sort();
            println!("{:>8}  {:>9.3?}", file.file_stem().unwrap_or_default().display(), times[RUNS / 2]);
            all.extend(times);
        }
    }
    all.sort();
    println!("  median  {:.3?}\n     p99  {:.3?}", all[all.len() / 2], all[all.len() * 99 / 100]);
}
