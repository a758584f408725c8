//! The source of the bytes of LOAD DATA LOCAL: the client's side of the connection.

use muster_types::{ErrorCode, Result, SqlError};
use std::io::Read;

/// An open file of the client.
pub type InfileSource = Box<dyn Read + Send>;

/// Opens files on the client's side. Called from a blocking thread.
pub trait LocalFiles: Send + Sync {
    fn open(&self, name: &str) -> Result<InfileSource>;
}

/// A client that gives no files.
pub struct NoLocalFiles;

impl LocalFiles for NoLocalFiles {
    fn open(&self, _name: &str) -> Result<InfileSource> {
        Err(SqlError::new(
            ErrorCode::NotAllowedCommand,
            "Loading local data is disabled; this must be enabled on both the client and server sides",
        ))
    }
}
