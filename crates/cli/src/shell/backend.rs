//! The place where the shell's statements run: this process, or a server.

use super::output::{Answer, Header};
use anyhow::Context;
use futures::StreamExt;
use muster_engine::{Database, Outcome, Session};
use mysql_async::{
    Conn, Opts, OptsBuilder, Row, SslOpts, Value,
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
        _database: Option<Arc<Database>>,
    },
    Remote {
        connection: Box<Conn>,
        /// Options of a second connection, which stops the statement that runs on the first.
        options: Opts,
    },
}

impl Backend {
    pub fn embedded(session: Session, database: Option<Arc<Database>>) -> Backend {
        Backend::Embedded { session: Box::new(session), _database: database }
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

    /// Splits a text into statements.
    pub fn split(&self, text: &str) -> anyhow::Result<Vec<String>> {
        Ok(muster_engine::split(text).into_iter().map(str::to_string).collect())
    }

    /// Runs one statement. Ctrl-C stops it.
    pub async fn run(&mut self, sql: &str) -> anyhow::Result<Vec<Answer>> {
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

async fn run_embedded(session: &mut Session, sql: &str) -> anyhow::Result<Answer> {
    match session.execute(sql).await? {
        Outcome::Ok { affected_rows, info, .. } => {
            Ok(Answer::Done { affected_rows, info, warnings: session.warnings().len() })
        }
        Outcome::Rows(mut result) => {
            let headers =
                (result.columns.iter()).map(|c| Header { name: c.name.clone(), numeric: c.ty.is_numeric() }).collect();
            let mut rows = Vec::new();
            while let Some(batch) = result.rows.next().await {
                let batch = batch?;
                for row in 0..batch.num_rows() {
                    let cells = result
                        .columns
                        .iter()
                        .zip(batch.columns())
                        .map(|(column, array)| Ok(column.shown(&muster_engine::value_at(array, row)?)));
                    rows.push(cells.collect::<anyhow::Result<Vec<_>>>()?);
                }
            }
            Ok(Answer::Rows { headers, rows })
        }
    }
}

async fn run_remote(connection: &mut Conn, sql: &str) -> anyhow::Result<Vec<Answer>> {
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
