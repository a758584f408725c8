//! Which statements open, keep and end a transaction, as data: the cases of `tests/transactions`, whose answers are
//! those of a MySQL 8.0.33. Each file runs twice: on the short path wherever a statement takes it, and without it.

mod fixture;

use fixture::client::{Client, Step};
use muster_engine::{Database, Session};
use std::{collections::BTreeMap, path::Path};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transactions");

#[derive(Default)]
struct CaseFile {
    setup: Vec<String>,
    cases: Vec<(String, Vec<Step>)>,
}

fn parse(text: &str) -> CaseFile {
    let mut file = CaseFile::default();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') || line == "setup" {
            continue;
        }
        match (line.strip_prefix("case "), file.cases.last_mut()) {
            (Some(name), _) => file.cases.push((name.into(), Vec::new())),
            (None, None) => file.setup.push(line.into()),
            (None, Some((_, steps))) => {
                if let Some(expected) = line.strip_prefix("    ") {
                    steps.last_mut().expect("an answer follows a statement").expected.push(expected.trim().into());
                    continue;
                }
                steps.push(Step::of_line(at + 1, line));
            }
        }
    }
    file
}

/// A session and what it is told of its transaction; `None`: its connection is closed.
type Connection = (Option<Session>, String);

fn status(session: &Session) -> String {
    let status = session.transaction_status();
    let all = [
        (status.autocommit, "autocommit"),
        (status.in_transaction, "in transaction"),
        (status.in_transaction && status.read_only, "read only"),
    ];
    let said: Vec<&str> = all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word).collect();
    if said.is_empty() { "nothing".into() } else { said.join(", ") }
}

/// Runs a statement, or a command of the protocol. Returns the lines of its answer as cases write them: rows or an
/// error, and the session's status if it is another one than before.
async fn run((session, before): Connection, sql: String) -> (Connection, Vec<String>) {
    let mut session = session.expect("a connection that is not closed");
    let answer = match sql.as_str() {
        "COM_QUIT" => return ((None, "gone".into()), vec!["is: gone".into()]),
        "COM_RESET_CONNECTION" => {
            session.reset();
            Ok(Vec::new())
        }
        "COM_CHANGE_USER" => session.change_user("root", "localhost", Some("d")).map(|()| Vec::new()),
        sql => fixture::rows(&mut session, sql).await,
    };
    let mut lines: Vec<String> = match answer {
        // What these answer is not what the cases are about.
        Ok(_) if ["EXPLAIN", "ANALYZE", "CHECK"].iter().any(|word| sql.starts_with(word)) => Vec::new(),
        Ok(rows) => rows.into_iter().map(|row| row.join(" ")).collect(),
        Err(e) => vec![format!("error {}", e.code.number())],
    };
    let session = Some(session).filter(|session| !session.is_released());
    let now = session.as_ref().map_or_else(|| "gone".into(), status);
    if now != before {
        lines.push(format!("is: {now}"));
    }
    ((session, now), lines)
}

/// Runs a case. Returns the answers that are not the expected ones.
async fn run_case(setup: &[String], steps: &[Step], short_path: bool) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let database = Database::open(directory.path(), fixture::options()).expect("a new data directory opens");
    let mut session = fixture::session(&database, "root");
    let switch = format!("SET GLOBAL optimizer_switch = 'short_path={}'", if short_path { "on" } else { "off" });
    for sql in [&switch, "CREATE DATABASE d", "USE d"].into_iter().chain(setup.iter().map(String::as_str)) {
        fixture::rows(&mut session, sql).await.expect("the tables are made");
    }
    let mut clients: BTreeMap<&str, Client<Connection>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for step in steps {
        let client = clients.remove(step.session.as_str()).unwrap_or_else(|| {
            let mut session = fixture::session(&database, "root");
            session.use_database("d").expect("the database is there");
            Client::Idle((Some(session), "autocommit".into()))
        });
        let (client, got) = client.step(step, run).await;
        clients.insert(&step.session, client);
        if got != step.expected {
            wrong.push(step.unexpected(&got));
        }
    }
    wrong
}

/// Runs all cases of a file.
async fn run_file(name: &str, short_path: bool) {
    let text = std::fs::read_to_string(Path::new(DIRECTORY).join(format!("{name}.txt"))).expect("a file of cases");
    let file = parse(&text);
    assert!(!file.cases.is_empty());
    let mut wrong = Vec::new();
    for (case, steps) in &file.cases {
        assert!(!steps.is_empty(), "{case}");
        wrong.extend(run_case(&file.setup, steps, short_path).await.into_iter().map(|e| format!("{case}: {e}")));
    }
    assert!(wrong.is_empty(), "{name}: {} answers: {wrong:#?}", wrong.len());
}

macro_rules! case_files {
    ($($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                run_file(stringify!($name), true).await;
            }
        )*

        mod on_the_general_path {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::run_file(stringify!($name), false).await;
                }
            )*
        }

        #[test]
        fn each_file_is_run() {
            let found = std::fs::read_dir(DIRECTORY).expect("the folder of cases");
            let names = found.map(|entry| entry.expect("a file").file_name().into_string().expect("a name in ASCII"));
            let mut cases: Vec<String> = names.filter_map(|n| n.strip_suffix(".txt").map(str::to_owned)).collect();
            cases.sort();
            assert_eq!(cases, [$(stringify!($name)),*]);
        }
    };
}

case_files! {
    autocommit
    ends
}
