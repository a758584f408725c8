//! A server that is ended: SIGTERM and SHUTDOWN close it cleanly, and after SIGKILL the next start brings everything
//! back.

use muster_engine::{Database, DatabaseOptions, RecoveryProgress};
use mysql_async::{Conn, OptsBuilder, prelude::Queryable};
use nix::sys::signal::{Signal, kill};
use std::{
    io::{BufRead, BufReader, Read},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

const ROWS: u64 = 5_000;

struct RunningServer {
    process: Child,
    output: BufReader<ChildStdout>,
    port: u16,
}

impl RunningServer {
    fn start(directory: &Path) -> RunningServer {
        let mut process = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["serve", "--listen", "127.0.0.1:0", "--socket", "", "--buffer-pool-size", "16M", "--dir"])
            .arg(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let port = line.trim().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        RunningServer { process, output, port: port.unwrap_or_else(|| panic!("no port in {line:?}")) }
    }

    async fn connect(&self) -> Conn {
        let options = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(self.port).user(Some("root"));
        Conn::new(options.prefer_socket(false)).await.unwrap()
    }

    /// Sends a signal and waits for the end. Returns how the process ended and the rest of its output.
    fn end_by(self, signal: Signal) -> (ExitStatus, String) {
        let process = nix::unistd::Pid::from_raw(self.process.id() as i32);
        kill(process, signal).unwrap();
        self.end()
    }

    /// Waits for the end, as [`RunningServer::end_by`] does.
    fn end(mut self) -> (ExitStatus, String) {
        let status = self.process.wait().unwrap();
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        (status, rest)
    }
}

impl Drop for RunningServer {
    /// A test that fails leaves no server behind.
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes a table with an index, and fills it from a file.
async fn make_table(server: &RunningServer, directory: &Path) {
    let file = directory.join("import/rows.tsv");
    let lines: String = (0..ROWS).map(|n| format!("{n}\t{}\n", n % 17)).collect();
    std::fs::write(&file, lines).unwrap();
    let mut connection = server.connect().await;
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (a INT PRIMARY KEY, b INT, KEY kb (b))",
        &format!("LOAD DATA INFILE '{}' INTO TABLE d.t", file.display()),
    ] {
        connection.query_drop(sql).await.unwrap();
    }
}

/// Checks the rows by both indexes, and the trees.
async fn check_table(server: &RunningServer) {
    let mut connection = server.connect().await;
    let wanted = (ROWS, (0..ROWS).map(|n| n % 17).sum::<u64>());
    for index in ["PRIMARY", "kb"] {
        let sql = format!("SELECT COUNT(*), SUM(b) FROM d.t FORCE INDEX ({index}) WHERE a >= 0 AND b >= 0");
        assert_eq!(connection.query_first::<(u64, u64), _>(sql).await.unwrap(), Some(wanted), "by {index}");
    }
    let checked: Option<(String, String, String, String)> = connection.query_first("CHECK TABLE d.t").await.unwrap();
    assert_eq!(checked.unwrap().3, "OK");
}

/// Bytes of the log that a start would have to repeat if the server ended now.
async fn bytes_to_repeat(server: &RunningServer) -> u64 {
    let sql = "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_logical_size'";
    let row: Option<(String, u64)> = server.connect().await.query_first(sql).await.unwrap();
    row.unwrap().1
}

/// Opens the directory, and returns whether some of the log had to be repeated.
fn opening_repeats(directory: &Path) -> bool {
    let repeated = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&repeated);
    let progress = RecoveryProgress(Some(Arc::new(move |_, _| seen.store(true, Relaxed))));
    let options = DatabaseOptions { buffer_pool_bytes: 16 << 20, progress, ..DatabaseOptions::default() };
    drop(Database::open(directory, options).unwrap());
    repeated.load(Relaxed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_comes_back_whole() {
    let directory = tempfile::tempdir().unwrap();
    let server = RunningServer::start(directory.path());
    make_table(&server, directory.path()).await;
    assert!(bytes_to_repeat(&server).await > 0);
    let (status, _) = server.end_by(Signal::SIGKILL);
    assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
    let server = RunningServer::start(directory.path());
    check_table(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_terminated_leaves_nothing_to_repeat() {
    let directory = tempfile::tempdir().unwrap();
    let server = RunningServer::start(directory.path());
    make_table(&server, directory.path()).await;
    assert!(bytes_to_repeat(&server).await > 0);
    let (status, said) = server.end_by(Signal::SIGTERM);
    assert!(status.success(), "{status}: {said}");
    assert!(said.ends_with("muster: stopped\n"), "{said:?}");
    assert!(!opening_repeats(directory.path()));
    let server = RunningServer::start(directory.path());
    check_table(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_ends_for_who_may_end_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = RunningServer::start(directory.path());
    make_table(&server, directory.path()).await;
    let mut idle = server.connect().await;
    idle.query_drop("BEGIN").await.unwrap();
    idle.query_drop("DELETE FROM d.t").await.unwrap();
    let mut connection = server.connect().await;
    connection.query_drop("CREATE USER eve").await.unwrap();
    let options = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(server.port).user(Some("eve"));
    let mut eve = Conn::new(options.prefer_socket(false)).await.unwrap();
    let refused = eve.query_drop("SHUTDOWN").await.unwrap_err().to_string();
    assert!(refused.contains("1227"), "{refused}");
    // Who asks gets the answer.
    connection.query_drop("SHUTDOWN").await.unwrap();
    let (status, said) = server.end();
    assert!(status.success(), "{status}: {said}");
    assert!(said.ends_with("muster: stopped\n"), "{said:?}");
    // What had not been committed is not there.
    let server = RunningServer::start(directory.path());
    check_table(&server).await;
}
