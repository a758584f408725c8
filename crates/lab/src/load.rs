//! Loading generated data: schema, then table after table.

use crate::{
    DataSet, DataTable,
    target::{self, AnyTarget, ServerTarget, TargetError, TargetSession, TestedDatabase, TextChunks},
};
use muster_engine::{LoadProgress, Session, split, types::Result};
use std::{
    io::{self, BufWriter, Write},
    sync::{Arc, atomic::Ordering::Relaxed},
};
use tokio::sync::mpsc;

/// Bytes of text that go to a server in one piece, and pieces made ahead of it.
const CHUNK_BYTES: usize = 256 << 10;
const CHUNKS_AHEAD: usize = 8;

/// Follows a load. Called from the thread that loads.
pub trait LoadObserver {
    /// A table's load begins; `progress` counts its rows while it runs.
    fn table_started(&self, table: &DataTable, progress: Arc<LoadProgress>);
    /// It ended, with this many rows.
    fn table_finished(&self, table: &DataTable, rows: u64);
}

/// Work that nobody follows.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl LoadObserver for Quiet {
    fn table_started(&self, _: &DataTable, _: Arc<LoadProgress>) {}
    fn table_finished(&self, _: &DataTable, _: u64) {}
}

/// Makes the database anew and loads its tables. A database of that name is dropped.
pub async fn load(session: &mut Session, data: &DataSet, observer: &dyn LoadObserver) -> Result<()> {
    load_as(session, data.name, data, observer).await
}

async fn load_as(session: &mut Session, name: &str, data: &DataSet, observer: &dyn LoadObserver) -> Result<()> {
    session.query(&format!("DROP DATABASE IF EXISTS {name}")).await?;
    session.query(&format!("CREATE DATABASE {name}")).await?;
    session.use_database(name)?;
    for statement in session.split(&data.schema)? {
        session.query(&statement).await?;
    }
    for table in &data.tables {
        let progress = Arc::new(LoadProgress::default());
        observer.table_started(table, progress.clone());
        let rows = session.load_batches(&table.name, table.batches().map(Ok), progress).await?;
        observer.table_finished(table, rows);
    }
    Ok(())
}

/// Error number of a database that does not exist.
const BAD_DATABASE: u16 = 1049;

/// Error: no database of this name can be made without quotes.
pub(crate) fn check_schema_name(schema: &str) -> target::Result<()> {
    if schema.is_empty() || !schema.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(TargetError::Answer(format!("'{schema}' is no name of a database that can be made")));
    }
    Ok(())
}

/// A connection to a database that has tables; `None` if it has none, or does not exist.
pub(crate) async fn connect_to_loaded(database: &TestedDatabase, schema: &str) -> target::Result<Option<AnyTarget>> {
    let mut target = match database.connect(Some(schema)).await {
        Ok(target) => target,
        Err(TargetError::Statement { number: BAD_DATABASE, .. }) => return Ok(None),
        Err(e) => return Err(e),
    };
    let is_empty = target.query("SHOW TABLES").await?.rows.is_empty();
    Ok((!is_empty).then_some(target))
}

/// Makes the database `name` anew and loads its tables: as batches into an embedded database, over LOAD DATA LOCAL into
/// a server. A database of that name is dropped. Errors: those of the statements; a server without `local_infile`.
pub async fn load_into(
    database: &TestedDatabase,
    name: &str,
    data: &DataSet,
    observer: &dyn LoadObserver,
) -> target::Result<()> {
    match database.connect(None).await? {
        AnyTarget::Embedded(mut target) => Ok(load_as(target.session(), name, data, observer).await?),
        AnyTarget::Server(mut server) => load_into_server(&mut server, name, data, observer).await,
    }
}

async fn load_into_server(
    server: &mut ServerTarget,
    name: &str,
    data: &DataSet,
    observer: &dyn LoadObserver,
) -> target::Result<()> {
    server.query(&format!("DROP DATABASE IF EXISTS `{name}`")).await?;
    server.query(&format!("CREATE DATABASE `{name}`")).await?;
    server.query(&format!("USE `{name}`")).await?;
    for statement in split(&data.schema) {
        server.query(statement).await?;
    }
    for table in &data.tables {
        let progress = Arc::new(LoadProgress::default());
        observer.table_started(table, progress.clone());
        let sql = format!(
            "LOAD DATA LOCAL INFILE '{0}.tbl' INTO TABLE {0} FIELDS TERMINATED BY '|' LINES TERMINATED BY '|\\n'",
            table.name
        );
        let rows = server.load(&sql, text_of(table.clone(), progress)).await.map_err(|e| without_infile(e, name))?;
        if table.rows_are_exact() && rows != table.rows {
            let message = format!("{} of {} rows of {} were loaded", rows, table.rows, table.name);
            return Err(TargetError::Answer(message));
        }
        observer.table_finished(table, rows);
    }
    Ok(())
}

/// Says how a server is made to take files of its clients.
fn without_infile(error: TargetError, name: &str) -> TargetError {
    match error {
        TargetError::Statement { number: number @ (1148 | 3948), message } => {
            let message = format!("{message} (to load {name}: SET GLOBAL local_infile = 1 on the server)");
            TargetError::Statement { number, message }
        }
        other => other,
    }
}

/// The rows of a table as text, made on a thread of its own.
fn text_of(table: DataTable, progress: Arc<LoadProgress>) -> TextChunks {
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    std::thread::spawn(move || {
        let mut out = BufWriter::with_capacity(CHUNK_BYTES, ChunkWriter { sender: sender.clone(), progress });
        if let Err(e) = table.write_tbl(&mut out).and_then(|()| out.flush()) {
            // The connection has gone if nobody receives, and reports that itself.
            let _ = sender.blocking_send(Err(e));
        }
    });
    receiver
}

struct ChunkWriter {
    sender: mpsc::Sender<io::Result<Vec<u8>>>,
    progress: Arc<LoadProgress>,
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let rows = bytes.iter().filter(|byte| **byte == b'\n').count();
        self.progress.rows_read.fetch_add(rows as u64, Relaxed);
        self.sender.blocking_send(Ok(bytes.to_vec())).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns true if the database is there with all rows of these tables.
pub async fn is_loaded(session: &mut Session, data: &DataSet) -> Result<bool> {
    let DataSet { name, tables, .. } = data;
    let sql = format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{name}'");
    if count(session, &sql).await? != tables.len() as u64 {
        return Ok(false);
    }
    for table in tables.iter().filter(|t| t.rows_are_exact()) {
        if count(session, &format!("SELECT COUNT(*) FROM {name}.{}", table.name)).await? != table.rows {
            return Ok(false);
        }
    }
    // The last table loaded, whose rows are not known beforehand.
    let last = tables.last().map_or("", |t| &t.name);
    Ok(count(session, &format!("SELECT COUNT(*) FROM {name}.{last}")).await? > 0)
}

async fn count(session: &mut Session, sql: &str) -> Result<u64> {
    use arrow_array::cast::AsArray;
    let batches = session.query(sql).await?;
    let column = batches.first().map(|b| b.column(0).as_primitive::<arrow_array::types::Int64Type>());
    Ok(column.map_or(0, |c| c.value(0) as u64))
}
