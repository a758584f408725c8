//! The place where the shell's statements run: this process, or a server.

use super::output::{Answer, Header};
use crate::open;
use anyhow::Context;
use arrow_array::RecordBatch;
use futures::StreamExt;
use muster_engine::{ColumnInfo, Database, Outcome, ResultSet, Session};
use mysql_async::{
    Conn, Opts, OptsBuilder, QueryResult, Row, SslOpts, TextProtocol, Value,
    consts::{ColumnFlags, ColumnType},
    prelude::Queryable,
};
use std::{path::Path, sync::Arc};

/// The address of a server.
pub enum Address<'a> {
    Tcp { host: &'a str, port: u16 },
    Socket(&'a Path),
}

pub enum Backend {
    Embedded {
        session: Box<Session>,
        /// Kept open for as long as the shell runs, when the shell opened it.
        database: Option<Arc<Database>>,
    },
    Remote {
        connection: Box<Conn>,
        /// Options of a second connection, which stops the statement that runs on the first.
        options: Opts,
    },
}

impl Backend {
    pub fn embedded(session: Session, database: Option<Arc<Database>>) -> Backend {
        Backend::Embedded { session: Box::new(session), database }
    }

    /// Connects, over TCP under TLS; the certificate is the server's own, so only the channel is protected, not the
    /// server's name.
    pub async fn connect(
        address: Address<'_>,
        user: &str,
        password: Option<String>,
        database: Option<String>,
    ) -> anyhow::Result<Backend> {
        let tls = SslOpts::default().with_danger_accept_invalid_certs(true).with_danger_skip_domain_validation(true);
        let options = OptsBuilder::default().user(Some(user)).pass(password).db_name(database);
        let (options, name) = match address {
            Address::Tcp { host, port } => (
                options.ip_or_hostname(host).tcp_port(port).prefer_socket(false).ssl_opts(tls),
                format!("{host}:{port}"),
            ),
            Address::Socket(path) => {
                let path = path.display().to_string();
                (options.socket(Some(path.clone())), path)
            }
        };
        let options: Opts = options.into();
        let connection = Conn::new(options.clone()).await.with_context(|| format!("cannot connect to {name}"))?;
        Ok(Backend::Remote { connection: Box::new(connection), options })
    }

    /// Another session of the same server or data directory. Errors: those of connecting.
    pub async fn another(&self) -> anyhow::Result<Backend> {
        match self {
            Backend::Embedded { database, .. } => {
                let database = database.as_ref().context("the database was opened elsewhere")?;
                Ok(Backend::embedded(open::session(database, None)?, Some(Arc::clone(database))))
            }
            Backend::Remote { options, .. } => {
                let connection = Conn::new(options.clone()).await?;
                Ok(Backend::Remote { connection: Box::new(connection), options: options.clone() })
            }
        }
    }

    /// Runs a query whose rows are passed on as they come.
    pub async fn rows(&mut self, sql: &str) -> anyhow::Result<RowBatches<'_>> {
        match self {
            Backend::Embedded { session, .. } => match session.execute(sql).await? {
                Outcome::Rows(result) => Ok(RowBatches::Embedded(result)),
                Outcome::Ok { .. } => anyhow::bail!("{sql} is no query"),
            },
            Backend::Remote { connection, .. } => Ok(RowBatches::Remote(connection.query_iter(sql.to_owned()).await?)),
        }
    }

    /// Splits a text into statements.
    pub fn split(&self, text: &str) -> anyhow::Result<Vec<String>> {
        Ok(muster_engine::split(text).into_iter().map(str::to_string).collect())
    }

    /// Runs one statement, as bytes of the session's character set. Ctrl-C stops it.
    pub async fn run(&mut self, sql: impl AsRef<[u8]>) -> anyhow::Result<Vec<Answer>> {
        let sql = sql.as_ref();
        match self {
            Backend::Embedded { session, .. } => {
                let interrupt = session.interrupter();
                let running = run_embedded(session, sql);
                tokio::pin!(running);
                loop {
                    tokio::select! {
                        answer = &mut running => return Ok(vec![answer?]),
                        _ = tokio::signal::ctrl_c() => interrupt(),
                    }
                }
            }
            Backend::Remote { connection, options } => {
                let (id, options) = (connection.id(), options.clone());
                let running = run_remote(connection, sql);
                tokio::pin!(running);
                loop {
                    tokio::select! {
                        answers = &mut running => return answers,
                        _ = tokio::signal::ctrl_c() => {
                            let mut second = Conn::new(options.clone()).await?;
                            second.query_drop(format!("KILL QUERY {id}")).await?;
                        }
                    }
                }
            }
        }
    }
}

/// Rows of a query that the server or the session has not delivered yet.
pub enum RowBatches<'a> {
    Embedded(ResultSet),
    Remote(QueryResult<'a, 'static, TextProtocol>),
}

/// Rows that are taken from a server at once.
const BATCH_ROWS: usize = 1024;

impl RowBatches<'_> {
    /// Some more rows, as texts; `None` at the end. Errors: those of the query.
    pub async fn next_batch(&mut self) -> anyhow::Result<Option<Vec<Vec<Option<String>>>>> {
        match self {
            RowBatches::Embedded(ResultSet { columns, rows }) => match rows.next().await {
                Some(batch) => Ok(Some(texts(columns, &batch?)?)),
                None => Ok(None),
            },
            RowBatches::Remote(result) => {
                let mut batch = Vec::new();
                while batch.len() < BATCH_ROWS
                    && let Some(row) = result.next().await?
                {
                    batch.push(row.unwrap().into_iter().map(text).collect());
                }
                Ok(Some(batch).filter(|batch| !batch.is_empty()))
            }
        }
    }
}

/// The rows of a batch as texts.
fn texts(columns: &[ColumnInfo], batch: &RecordBatch) -> anyhow::Result<Vec<Vec<Option<String>>>> {
    let mut rows = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let cells = columns.iter().zip(batch.columns());
        let cells = cells.map(|(column, array)| Ok(column.shown(&muster_engine::value_at(array, row)?)));
        rows.push(cells.collect::<anyhow::Result<Vec<_>>>()?);
    }
    Ok(rows)
}

async fn run_embedded(session: &mut Session, sql: &[u8]) -> anyhow::Result<Answer> {
    let text = session.statement_text(sql)?;
    match session.execute(&text).await? {
        Outcome::Ok { affected_rows, info, .. } => {
            Ok(Answer::Done { affected_rows, info, warnings: session.warnings().len() })
        }
        Outcome::Rows(mut result) => {
            let headers =
                (result.columns.iter()).map(|c| Header { name: c.name.clone(), numeric: c.ty.is_numeric() }).collect();
            let mut rows = Vec::new();
            while let Some(batch) = result.rows.next().await {
                rows.extend(texts(&result.columns, &batch?)?);
            }
            Ok(Answer::Rows { headers, rows })
        }
    }
}

async fn run_remote(connection: &mut Conn, sql: &[u8]) -> anyhow::Result<Vec<Answer>> {
    let mut result = connection.query_iter(sql).await?;
    let mut answers = Vec::new();
    loop {
        let columns = result.columns();
        match columns {
            Some(columns) if !columns.is_empty() => {
                let headers = (columns.iter())
                    .map(|c| Header {
                        name: c.name_str().into_owned(),
                        numeric: is_numeric(c.column_type(), c.flags()),
                    })
                    .collect();
                let rows: Vec<Row> = result.collect().await?;
                let rows = rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect();
                answers.push(Answer::Rows { headers, rows });
            }
            _ => {
                let (affected_rows, warnings) = (result.affected_rows(), result.warnings() as usize);
                answers.push(Answer::Done { affected_rows, info: result.info().into_owned(), warnings });
                if result.is_empty() {
                    return Ok(answers);
                }
                let _: Vec<Row> = result.collect().await?;
            }
        }
        if result.is_empty() {
            return Ok(answers);
        }
    }
}

fn is_numeric(column_type: ColumnType, flags: ColumnFlags) -> bool {
    flags.contains(ColumnFlags::NUM_FLAG) || column_type.is_numeric_type()
}

/// The text protocol sends texts; the other kinds do not occur.
fn text(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}
