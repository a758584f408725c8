//! An embedding program may call from threads with small stacks: what a client nests is met on the engine's own
//! threads.

mod fixture;

use fixture::rows;
use muster_engine::{Session, types::SqlError};

/// Too little for parsing, binding, planning or dropping what is nested below.
const STACK_BYTES: usize = 256 << 10;

/// Nested as deeply as the parser lets anything be.
fn statements() -> Vec<(String, Result<&'static str, u16>)> {
    let nested = |open: &str, inner: &str, close: &str, n: usize| open.repeat(n) + inner + &close.repeat(n);
    let parentheses = nested("(1 + ", "1", ")", 70);
    let chain = vec!["1"; 500].join(" + ");
    let subqueries = nested("(SELECT ", "1", ")", 40);
    vec![
        (format!("SELECT {parentheses}"), Ok("71")),
        (format!("SELECT {chain}"), Ok("500")),
        (format!("SELECT {subqueries}"), Ok("1")),
        (format!("SELECT 1 WHERE 1 IN {subqueries} OR {chain} < 0"), Ok("1")),
        (format!("CREATE VIEW d.v AS SELECT {chain} AS a, {parentheses} AS b"), Ok("")),
        ("SELECT a + b FROM d.v".into(), Ok("571")),
        (format!("SET @a = {chain}, @b = {subqueries}"), Ok("")),
        ("SELECT @a + @b".into(), Ok("501")),
        (format!("DO {parentheses}"), Ok("")),
        (format!("PREPARE p FROM 'SELECT {chain} + ?'"), Ok("")),
        ("EXECUTE p USING @a".into(), Ok("1000")),
        (format!("SHOW VARIABLES WHERE variable_name = 'license' AND {chain} > 0"), Ok("license")),
        (format!("SELECT {}", nested("(", "1", ")", 5_000)), Err(1473)),
        (format!("SELECT {chain} FROM nowhere"), Err(1046)),
    ]
}

async fn run(session: &mut Session) -> Result<(), SqlError> {
    for (sql, wanted) in statements() {
        let found = rows(session, &sql).await;
        let shown: String = sql.chars().take(60).collect();
        match (found, wanted) {
            (Ok(rows), Ok(first)) => {
                assert_eq!(rows.first().map_or("", |row| row[0].as_str()), first, "{shown}");
            }
            (Err(e), Err(code)) => assert_eq!(e.code.number(), code, "{shown}: {e}"),
            (found, _) => panic!("{shown}: {found:?}"),
        }
    }
    let chain = vec!["?"; 500].join(" + ");
    let prepared = session.prepare(&format!("SELECT {chain}")).await?;
    assert_eq!(prepared.parameters, 500);
    session.close_prepared(prepared.id);
    session.prepare(&format!("SELECT {chain}")).await.map(|_| ())
}

#[test]
fn a_caller_with_a_small_stack() {
    let directory = tempfile::tempdir().unwrap();
    let database = muster_engine::Database::open(directory.path(), fixture::options()).unwrap();
    let mut session = fixture::session(&database, "root");
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            rows(&mut session, "CREATE DATABASE d").await.unwrap();
            run(&mut session).await.unwrap();
        });
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}
