//! A connection to a server with MySQL's protocol.

use super::{Answer, Result, ServerAddress, StatementHandle, TargetError, TargetSession};
use futures::{StreamExt, stream};
use muster_engine::types::Value;
use mysql_async::{Conn, Row, Statement, prelude::Queryable};
use tokio::sync::mpsc;

/// Pieces of a file's text, in order; an error ends the file.
pub type TextChunks = mpsc::Receiver<std::io::Result<Vec<u8>>>;

pub struct ServerTarget {
    connection: Conn,
    /// Prepared statements, by their handles.
    prepared: Vec<Statement>,
}

impl ServerTarget {
    /// Connects. Errors: nobody listens, the login is refused, there is no such database.
    pub async fn connect(address: &ServerAddress, database: Option<&str>) -> Result<ServerTarget> {
        let connection = Conn::new(address.options(database)).await?;
        Ok(ServerTarget { connection, prepared: Vec::new() })
    }

    /// Runs a LOAD DATA LOCAL statement whose file is `text`. Returns the number of rows.
    pub async fn load(&mut self, sql: &str, text: TextChunks) -> Result<u64> {
        let chunks = stream::unfold(text, |mut text| async move { text.recv().await.map(|chunk| (chunk, text)) });
        let chunks = chunks.map(|chunk| chunk.map(Into::into)).boxed();
        // The library wants a future that is Sync; this one is ready and hands the stream over.
        let chunks = std::sync::Mutex::new(Some(chunks));
        self.connection.set_infile_handler(async move {
            let taken = chunks.lock().unwrap_or_else(|e| e.into_inner()).take();
            Ok(taken.unwrap_or_else(|| stream::empty().boxed()))
        });
        self.connection.query_drop(sql).await?;
        Ok(self.connection.affected_rows())
    }

    fn answer(&self, rows: Vec<Row>) -> Answer {
        let rows = rows.into_iter().map(|row| row.unwrap().into_iter().map(from_protocol).collect()).collect();
        Answer { rows, affected_rows: self.connection.affected_rows() }
    }
}

impl TargetSession for ServerTarget {
    async fn prepare(&mut self, sql: &str) -> Result<StatementHandle> {
        self.prepared.push(self.connection.prep(sql).await?);
        Ok(StatementHandle(self.prepared.len() - 1))
    }

    async fn execute(&mut self, statement: StatementHandle, values: &[Value]) -> Result<Answer> {
        let values = values.iter().map(to_protocol).collect::<Result<Vec<_>>>()?;
        let rows: Vec<Row> = self.connection.exec(&self.prepared[statement.0], values).await?;
        Ok(self.answer(rows))
    }

    async fn query(&mut self, sql: &str) -> Result<Answer> {
        let rows: Vec<Row> = self.connection.query(sql).await?;
        Ok(self.answer(rows))
    }
}

/// Decimals, dates and times go as texts: the library has no decimals, and servers read the texts of all.
fn to_protocol(value: &Value) -> Result<mysql_async::Value> {
    Ok(match value {
        Value::Null => mysql_async::Value::NULL,
        Value::Bool(b) => mysql_async::Value::Int(i64::from(*b)),
        Value::Int(i) => mysql_async::Value::Int(*i),
        Value::UInt(u) => mysql_async::Value::UInt(*u),
        Value::Float(x) => mysql_async::Value::Float(*x),
        Value::Double(x) => mysql_async::Value::Double(*x),
        Value::Bytes(bytes) => mysql_async::Value::Bytes(bytes.clone()),
        Value::Text(text) => mysql_async::Value::Bytes(text.clone().into_bytes()),
        Value::Decimal(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_) | Value::Json(_) => {
            let text = value.to_text(6).ok_or_else(|| TargetError::Answer("a value without a text".into()))?;
            mysql_async::Value::Bytes(text.into_bytes())
        }
    })
}

fn from_protocol(value: mysql_async::Value) -> Value {
    match value {
        mysql_async::Value::NULL => Value::Null,
        mysql_async::Value::Int(i) => Value::Int(i),
        mysql_async::Value::UInt(u) => Value::UInt(u),
        mysql_async::Value::Float(x) => Value::Float(x),
        mysql_async::Value::Double(x) => Value::Double(x),
        mysql_async::Value::Bytes(bytes) => Value::Text(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
        }),
        // Without quotes.
        other => Value::Text(other.as_sql(true).trim_matches('\'').to_owned()),
    }
}
