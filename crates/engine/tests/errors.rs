//! Every error, warning and note that a statement can raise here, word by word: number, SQLSTATE and text are what
//! clients and their programs know a server by.
//!
//! A file of `tests/errors` is a list of cases with an empty line between them. A case is a statement, a line `----`,
//! and what became of it. A line `as NAME` in front of a statement makes another user's session send it; each user has
//! one. With `UPDATE_ERRORS=1` the files are written anew, to be read before they are committed.

mod fixture;

use muster_engine::{Database, InfileSource, LocalFiles, Session, types::SqlError};
use std::{collections::HashMap, fmt::Write, fs, io::Cursor, path::Path};

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/errors");

/// A client whose files hold their own names.
struct NamesAsFiles;

impl LocalFiles for NamesAsFiles {
    fn open(&self, name: &str) -> Result<InfileSource, SqlError> {
        Ok(Box::new(Cursor::new(name.to_owned().into_bytes())))
    }
}

/// The statement's text and the user who sends it.
fn statement(case: &str) -> (&str, &str) {
    let text = case.split("\n----").next().unwrap_or_default();
    match text.strip_prefix("as ").and_then(|rest| rest.split_once('\n')) {
        Some((user, sql)) => (user, sql),
        None => ("root", text),
    }
}

/// The answer to a statement as text: the error or the number of rows, and the warnings and notes.
async fn outcome(session: &mut Session, sql: &str) -> String {
    let mut out = match fixture::rows(session, sql).await {
        Ok(rows) if rows.is_empty() => "ok\n".to_owned(),
        Ok(rows) => format!("{} rows\n", rows.len()),
        Err(e) => format!("{e}\n"),
    };
    for (level, warning) in session.diagnostics() {
        let (code, message) = (warning.code.number(), &warning.message);
        if !out.contains(message) {
            writeln!(out, "{level:?} {code}: {message}").unwrap();
        }
    }
    out
}

async fn run(file: &Path) -> String {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), fixture::options()).unwrap();
    let mut sessions: HashMap<String, Session> = HashMap::new();
    let mut answered = Vec::new();
    for case in fs::read_to_string(file).unwrap().split("\n\n").map(str::trim) {
        if case.starts_with('#') {
            answered.push(case.to_owned());
            continue;
        }
        let (user, sql) = statement(case);
        let connect = || fixture::session_with(&database, user, NamesAsFiles);
        let session = sessions.entry(user.to_owned()).or_insert_with(connect);
        let sender = if user == "root" { String::new() } else { format!("as {user}\n") };
        answered.push(format!("{sender}{sql}\n----\n{}", outcome(session, sql).await.trim_end()));
    }
    answered.join("\n\n") + "\n"
}

fn check(name: &str) {
    let file = Path::new(DIRECTORY).join(format!("{name}.txt"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let found = runtime.block_on(run(&file));
    if std::env::var_os("UPDATE_ERRORS").is_some() {
        fs::write(&file, &found).unwrap();
    }
    let wanted = fs::read_to_string(&file).unwrap();
    for (found, wanted) in found.split("\n\n").zip(wanted.split("\n\n")) {
        assert_eq!(found.trim_end(), wanted.trim_end());
    }
    assert_eq!(found, wanted);
}

macro_rules! files {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)) })*

        #[test]
        fn every_file_is_run() {
            let mut found: Vec<String> = fs::read_dir(DIRECTORY)
                .unwrap()
                .filter_map(|e| e.unwrap().file_name().to_str()?.strip_suffix(".txt").map(str::to_owned))
                .collect();
            found.sort_unstable();
            assert_eq!(found, [$(stringify!($name)),*]);
        }
    };
}

files! {
    accounts
    definitions
    loading
    names
    show
    statements
    syntax
    unsupported
    values
    variables
}
