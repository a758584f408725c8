//! `muster dump`: databases as a file of statements, which `muster sql` loads, and MySQL's and MariaDB's clients.
//!
//! ```text
//!   definitions of databases, tables and views   definitions.rs
//!   rows as INSERT statements                    inserts.rs
//! ```
//!
//! The file shows one moment: changes wait while the sessions of the dump begin their transactions and the definitions
//! are read; then they go on. Several sessions read tables at a time. What they make are whole statements, which stand
//! in the file as they come, behind the definitions of all tables of the database. Views come last: until then tables
//! of other databases, which they may read, need not be there.

mod definitions;
mod inserts;

use crate::shell::{Place, backend::Backend};
use anyhow::Context;
use definitions::{DumpedDatabase, DumpedTable, quoted};
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{runtime::Runtime, sync::mpsc, task::JoinSet};

/// Statements that wait to be written, for each session that reads.
const WAITING_STATEMENTS: usize = 2;
/// Most sessions that read unless more are asked for.
const READERS_MAX: usize = 8;

/// Settings that a dump changes while it is loaded, as mysqldump does.
const HEAD: &str = "\
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET @OLD_CHARACTER_SET_RESULTS=@@CHARACTER_SET_RESULTS */;
/*!40101 SET @OLD_COLLATION_CONNECTION=@@COLLATION_CONNECTION */;
/*!50503 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40111 SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0 */;
";

const FOOT: &str = "
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40014 SET UNIQUE_CHECKS=@OLD_UNIQUE_CHECKS */;
/*!40101 SET CHARACTER_SET_CLIENT=@OLD_CHARACTER_SET_CLIENT */;
/*!40101 SET CHARACTER_SET_RESULTS=@OLD_CHARACTER_SET_RESULTS */;
/*!40101 SET COLLATION_CONNECTION=@OLD_COLLATION_CONNECTION */;
/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;

-- Dump completed
";

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The file to write, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    contents: Contents,
}

/// The choice of what the file has.
#[derive(clap::Args, Default)]
struct Contents {
    /// The databases; all if none is named
    #[arg(value_name = "DATABASE")]
    databases: Vec<String>,
    /// Tables that are read at a time; as many as there are processors, but at most 8
    #[arg(long, value_name = "N")]
    readers: Option<usize>,
    /// Definitions without rows
    #[arg(long)]
    no_data: bool,
    /// No CREATE DATABASE and USE: the statements are for the database that is current when they are loaded
    #[arg(long)]
    no_create_db: bool,
}

pub fn run(runtime: &Runtime, arguments: &Arguments) -> anyhow::Result<()> {
    let backend = arguments.place.backend(runtime)?;
    if arguments.contents.no_create_db && arguments.contents.databases.len() != 1 {
        anyhow::bail!("--no-create-db is for one database");
    }
    let mut out: Box<dyn Write> = match &arguments.output {
        Some(path) => Box::new(File::create(path).with_context(|| path.display().to_string())?),
        None => Box::new(io::stdout()),
    };
    let mut out = BufWriter::new(&mut *out);
    runtime.block_on(dump(backend, &arguments.contents, &mut out))?;
    out.flush().context("the dump cannot be written")
}

async fn dump(mut backend: Backend, contents: &Contents, out: &mut impl Write) -> anyhow::Result<()> {
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    let readers = contents.readers.unwrap_or(processors.min(READERS_MAX)).clamp(1, 256);
    let mut sessions = Vec::with_capacity(readers);
    for _ in 0..readers {
        let mut session = backend.another().await?;
        begin_session(&mut session).await?;
        session.run("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        sessions.push(session);
    }
    begin_session(&mut backend).await?;
    backend.run("FLUSH TABLES WITH READ LOCK").await?;
    for session in &mut sessions {
        session.run("START TRANSACTION WITH CONSISTENT SNAPSHOT").await?;
    }
    let databases = definitions::read(&mut backend, &contents.databases).await?;
    backend.run("UNLOCK TABLES").await?;
    writeln!(out, "-- Muster dump {}\n", env!("CARGO_PKG_VERSION"))?;
    out.write_all(HEAD.as_bytes())?;
    for database in &databases {
        if !contents.no_create_db {
            writeln!(out, "\n{};\n\nUSE {};", database.create, quoted(&database.name))?;
        }
        database.write_definitions(out)?;
        if !contents.no_data {
            sessions = write_rows(sessions, database, out).await?;
        }
    }
    let mut current = "";
    for (database, view) in definitions::views_in_order(&databases) {
        if !contents.no_create_db && database.name != current {
            writeln!(out, "\nUSE {};", quoted(&database.name))?;
            current = &database.name;
        }
        view.write(out)?;
    }
    out.write_all(FOOT.as_bytes())?;
    Ok(())
}

/// Settings by which what the session reads looks the same wherever it is read.
async fn begin_session(session: &mut Backend) -> anyhow::Result<()> {
    for setting in ["sql_mode = ''", "time_zone = '+00:00'", "sql_quote_show_create = 1", "max_execution_time = 0"] {
        session.run(format!("SET SESSION {setting}")).await?;
    }
    Ok(())
}

/// Writes the rows of all tables of a database. Returns the sessions.
async fn write_rows(
    sessions: Vec<Backend>,
    database: &DumpedDatabase,
    out: &mut impl Write,
) -> anyhow::Result<Vec<Backend>> {
    let tables: VecDeque<Arc<DumpedTable>> = database.tables.iter().cloned().collect();
    let tables = Arc::new(Mutex::new(tables));
    let (sender, mut statements) = mpsc::channel(sessions.len() * WAITING_STATEMENTS);
    let mut tasks = JoinSet::new();
    for session in sessions {
        tasks.spawn(read_tables(session, database.name.clone(), Arc::clone(&tables), sender.clone()));
    }
    drop(sender);
    while let Some(statement) = statements.recv().await {
        out.write_all(&statement)?;
    }
    let mut sessions = Vec::new();
    while let Some(session) = tasks.join_next().await {
        sessions.push(session??);
    }
    Ok(sessions)
}

/// Reads tables as long as there are any left, and sends their rows as statements. Returns the session.
async fn read_tables(
    mut session: Backend,
    database: String,
    tables: Arc<Mutex<VecDeque<Arc<DumpedTable>>>>,
    statements: mpsc::Sender<Vec<u8>>,
) -> anyhow::Result<Backend> {
    loop {
        let next = tables.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(table) = next else { return Ok(session) };
        let read = inserts::read(&mut session, &database, &table, &statements).await;
        read.with_context(|| format!("table {database}.{}", table.name))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        open,
        shell::{self, output::Format},
    };
    use muster_engine::{Database, DatabaseOptions};
    use std::path::Path;

    /// Definitions of all kinds, and values that need care.
    const SCHEMA: &str = include_str!("every_definition.sql");

    fn opened(directory: &Path) -> Arc<Database> {
        let sizes = DatabaseOptions { buffer_pool_bytes: 16 << 20, memory_limit_bytes: 64 << 20, ..Default::default() };
        Database::open(directory, sizes).unwrap()
    }

    fn backend(runtime: &Runtime, database: &Arc<Database>) -> Backend {
        let _inside = runtime.enter();
        Backend::embedded(open::session(database, None).unwrap(), Some(Arc::clone(database)))
    }

    fn load(runtime: &Runtime, database: &Arc<Database>, text: &[u8]) {
        shell::run_script(runtime, backend(runtime, database), text, Format::Csv, false).unwrap();
    }

    fn dumped(runtime: &Runtime, database: &Arc<Database>, contents: &Contents) -> String {
        let mut out = Vec::new();
        runtime.block_on(dump(backend(runtime, database), contents, &mut out)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_dump_makes_the_same_databases() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (first, second) = (opened(first.path()), opened(second.path()));
        load(&runtime, &first, SCHEMA.as_bytes());
        let several = Contents { readers: Some(3), ..Contents::default() };
        load(&runtime, &second, dumped(&runtime, &first, &several).as_bytes());
        let one = Contents { readers: Some(1), ..Contents::default() };
        let (before, after) = (dumped(&runtime, &first, &one), dumped(&runtime, &second, &one));
        assert_eq!(before, after);
        for part in
            ["CREATE DATABASE", "FOREIGN KEY", "GENERATED ALWAYS", "CHECK (", "0x00FF", "VIEW `last`", "INVISIBLE"]
        {
            assert!(before.contains(part), "{part} in {before}");
        }
        // Loaded over what is there, nothing changes.
        load(&runtime, &second, before.as_bytes());
        assert_eq!(dumped(&runtime, &second, &one), before);
        let definitions = Contents { no_data: true, databases: vec!["one".into()], ..Contents::default() };
        let definitions = dumped(&runtime, &first, &definitions);
        assert!(!definitions.contains("INSERT") && !definitions.contains("`two`"), "{definitions}");
    }
}
