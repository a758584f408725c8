//! Which statements open, keep and end a transaction, as data: the cases of `tests/transactions`, whose answers are
//! those of a MySQL 8.0.33. Each file runs twice: on the short path wherever a statement takes it, and without it.

mod fixture;

use muster_engine::{Database, Session};
use std::{collections::BTreeMap, path::Path, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transactions");
/// A statement that has not ended after this time waits for a lock.
const WAIT: Duration = Duration::from_millis(150);
/// A statement that need not wait ends within this time.
const END: Duration = Duration::from_secs(20);

/// What one session does in one line of a case.
struct Step {
    line: usize,
    session: String,
    /// `None`: the statement that waited ends.
    statement: Option<String>,
    expected: Vec<String>,
}

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
                let (session, statement) = match line.split_once(": ") {
                    Some((session, statement)) => (session, Some(statement.into())),
                    None => (line.strip_suffix(" goes on").expect("a session goes on"), None),
                };
                steps.push(Step { line: at + 1, session: session.into(), statement, expected: Vec::new() });
            }
        }
    }
    file
}

/// A session and what it is told of its transaction; `None`: its connection is closed.
type Client = (Option<Session>, String);

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
async fn run((session, before): Client, sql: String) -> (Client, Vec<String>) {
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

enum Connection {
    Idle(Client),
    Busy(JoinHandle<(Client, Vec<String>)>),
}

impl Connection {
    /// Begins a statement, or goes on with the one that waits. Returns the connection, and the answer or that it waits.
    async fn step(self, statement: Option<&str>, time: Duration) -> (Connection, Vec<String>) {
        let mut running = match (self, statement) {
            (Connection::Idle(client), Some(sql)) => tokio::spawn(run(client, sql.to_string())),
            (Connection::Busy(running), None) => running,
            (Connection::Idle(_), None) => panic!("no statement waits"),
            (Connection::Busy(_), Some(sql)) => panic!("{sql}: another statement still waits"),
        };
        match timeout(time, &mut running).await {
            Ok(ended) => {
                let (client, lines) = ended.expect("a statement without a panic");
                (Connection::Idle(client), lines)
            }
            Err(_) => (Connection::Busy(running), vec!["waits".into()]),
        }
    }
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
    let mut connections: BTreeMap<&str, Connection> = BTreeMap::new();
    let mut wrong = Vec::new();
    for Step { line, session, statement, expected } in steps {
        let connection = match connections.remove(session.as_str()) {
            Some(connection) => connection,
            None => {
                let mut session = fixture::session(&database, "root");
                session.use_database("d").expect("the database is there");
                Connection::Idle((Some(session), "autocommit".into()))
            }
        };
        let waits = statement.is_some() && *expected == ["waits"];
        let (connection, got) = connection.step(statement.as_deref(), if waits { WAIT } else { END }).await;
        connections.insert(session, connection);
        if got != *expected {
            let statement = statement.as_deref().unwrap_or("goes on");
            wrong.push(format!("line {line}: {session}: {statement}: {got:?}, expected {expected:?}"));
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
