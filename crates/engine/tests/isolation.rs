//! Isolation as data: the cases of `tests/isolation`, each at its levels, with a thread of statements for each session.

mod fixture;

use fixture::client::{Client, Step};
use muster_engine::{Database, Session};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isolation")
}

#[derive(Default)]
struct Case {
    name: String,
    levels: Vec<String>,
    steps: Vec<Step>,
}

struct CaseFile {
    setup: Vec<String>,
    cases: Vec<Case>,
}

fn parse(text: &str) -> CaseFile {
    let mut file = CaseFile { setup: Vec::new(), cases: Vec::new() };
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#')) {
        let Some(case) = file.cases.last_mut() else {
            match line.strip_prefix("case ") {
                Some(name) => file.cases.push(Case { name: name.into(), ..Case::default() }),
                None if line == "setup" => {}
                None => file.setup.push(line.trim().into()),
            }
            continue;
        };
        if let Some(name) = line.strip_prefix("case ") {
            file.cases.push(Case { name: name.into(), ..Case::default() });
        } else if let Some(levels) = line.strip_prefix("at ") {
            case.levels = levels.split(',').map(|level| level.trim().into()).collect();
        } else if let Some(expected) = line.strip_prefix("    ") {
            case.steps.last_mut().expect("an answer follows a statement").expected.push(expected.into());
        } else {
            case.steps.push(Step::of_line(at + 1, line));
        }
    }
    file
}

/// The lines of a statement's answer, as cases write them.
async fn answer(session: &mut Session, sql: &str) -> Vec<String> {
    match fixture::rows(session, sql).await {
        Ok(rows) => rows.into_iter().map(|row| row.join(" ")).collect(),
        Err(e) => vec![format!("error {}", e.code.number())],
    }
}

/// A session that has begun a transaction.
async fn client(database: &Arc<Database>, level: &str) -> Client<Session> {
    let mut session = fixture::session(database, "root");
    for sql in ["USE d", &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"), "BEGIN"] {
        assert_eq!(answer(&mut session, sql).await, [""; 0], "{sql}");
    }
    Client::Idle(session)
}

async fn run(mut session: Session, sql: String) -> (Session, Vec<String>) {
    let lines = answer(&mut session, &sql).await;
    (session, lines)
}

/// Runs a case. Error: the first answer that is not the expected one.
async fn run_case(setup: &[String], case: &Case, level: &str) -> Result<(), String> {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = Database::open(directory.path(), fixture::options()).expect("a new data directory opens");
    let mut session = fixture::session(&database, "root");
    for sql in ["CREATE DATABASE d", "USE d"].into_iter().chain(setup.iter().map(String::as_str)) {
        let failed = answer(&mut session, sql).await;
        if !failed.is_empty() {
            return Err(format!("{sql}: {failed:?}"));
        }
    }
    let mut clients: BTreeMap<&str, Client<Session>> = BTreeMap::new();
    for step in &case.steps {
        let found = match clients.remove(step.session.as_str()) {
            Some(client) => client,
            None => client(&database, level).await,
        };
        let (client, got) = found.step(step, run).await;
        clients.insert(&step.session, client);
        if got != step.expected {
            return Err(step.unexpected(&got));
        }
    }
    Ok(())
}

/// Runs all cases of a file at all their levels.
async fn run_file(name: &str) {
    let text = std::fs::read_to_string(directory().join(name)).expect("a file of cases");
    let file = parse(&text);
    assert!(!file.cases.is_empty());
    let mut failed = Vec::new();
    for case in &file.cases {
        assert!(!case.levels.is_empty() && !case.steps.is_empty(), "{}", case.name);
        for level in &case.levels {
            if let Err(e) = run_case(&file.setup, case, level).await {
                failed.push(format!("{} at {level}: {e}", case.name));
            }
        }
    }
    assert!(failed.is_empty(), "{}: {} failed: {failed:#?}", name, failed.len());
}

macro_rules! case_files {
    ($($name:ident)*) => {
        const FILES: &[&str] = &[$(concat!(stringify!($name), ".txt")),*];
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                run_file(concat!(stringify!($name), ".txt")).await;
            }
        )*
    };
}

case_files! {
    anti_dependency_cycles
    definition_changes
    dirty_reads
    dirty_writes
    flush_tables
    joins
    locks
    lost_update
    metadata_locks
    moved_rows
    observed_transaction_vanishes
    predicate_many_preceders
    read_skew
    reads_for_writing
    skip_locked
    view_locks
    write_skew
}

#[test]
fn each_file_is_run() {
    let found = std::fs::read_dir(directory()).expect("the folder of cases");
    let names = found.map(|entry| entry.expect("a file").file_name().into_string().expect("a name in ASCII"));
    let mut cases: Vec<String> = names.filter(|name| name.ends_with(".txt")).collect();
    cases.sort();
    assert_eq!(cases, FILES);
}
