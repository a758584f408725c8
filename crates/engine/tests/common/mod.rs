//! What tests of sessions share: a data directory, a session, the rows of a statement.
#![allow(dead_code, reason = "each test uses its part")]

use futures::StreamExt;
use muster_engine::{
    Database, DatabaseOptions, Durability, LocalFiles, NoLocalFiles, Outcome, Session, SessionOptions, types::SqlError,
    value_at,
};
use std::sync::Arc;

/// One thread and little memory.
pub fn options() -> DatabaseOptions {
    DatabaseOptions {
        buffer_pool_bytes: 16 << 20,
        memory_limit_bytes: 64 << 20,
        page_size: 16 << 10,
        durability: Durability::Relaxed,
        threads: 1,
    }
}

pub fn session(database: &Arc<Database>, user: &str) -> Session {
    session_with(database, user, NoLocalFiles)
}

/// A session whose client has files.
pub fn session_with(database: &Arc<Database>, user: &str, files: impl LocalFiles + 'static) -> Session {
    let (user, host, local_files) = (user.into(), "localhost".into(), Arc::new(files));
    database.session(SessionOptions { user, host, database: None, local_files })
}

/// The rows of a statement as text.
pub async fn rows(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>, SqlError> {
    let mut found = Vec::new();
    if let Outcome::Rows(mut result) = session.execute(sql).await? {
        while let Some(batch) = result.rows.next().await {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let cell = |c| value_at(c, row).map(|v| v.to_text(0).unwrap_or_else(|| "NULL".into()));
                found.push(batch.columns().iter().map(|c| cell(c)).collect::<Result<_, _>>()?);
            }
        }
    }
    Ok(found)
}
