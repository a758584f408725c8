//! Opening a data directory, with the options that all commands share.

use crate::{log_arguments::LogArguments, recovery, size::Size};
use anyhow::Context;
use clap::{Args, ValueEnum};
use muster_engine::{Database, DatabaseOptions, Durability, LocalFiles, Session, SessionOptions};
use std::{fs::File, path::Path, sync::Arc};

#[derive(Args, Clone, Debug)]
pub struct OpenArguments {
    /// Memory for pages
    #[arg(long, default_value = "1G", value_name = "SIZE")]
    pub buffer_pool_size: Size,
    /// Memory for all queries together, beside the buffer pool; beyond it they spill or fail
    #[arg(long, default_value = "2G", value_name = "SIZE")]
    pub memory_limit: Size,
    /// When a write counts as done
    #[arg(long, value_enum, default_value = "full")]
    pub durability: DurabilityArgument,
    /// Size of a page when the directory is made, 4K to 64K
    #[arg(long, default_value = "16K", value_name = "SIZE")]
    pub page_size: Size,
    /// Threads of one query
    #[arg(long)]
    pub threads: Option<usize>,
    /// Open a damaged directory to read what can be read; nothing in it changes
    #[arg(long)]
    pub force_recovery: bool,
    #[command(flatten)]
    pub log: LogArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DurabilityArgument {
    /// On the disk before the client hears of it
    Full,
    /// Left to the operating system
    Relaxed,
}

impl OpenArguments {
    /// Arguments with these sizes and log settings, and the defaults for all else.
    pub fn for_experiments(buffer_pool_size: Size, memory_limit: Size, log: LogArguments) -> OpenArguments {
        OpenArguments {
            buffer_pool_size,
            memory_limit,
            durability: DurabilityArgument::Full,
            page_size: Size(16 << 10),
            threads: None,
            force_recovery: false,
            log,
        }
    }

    pub fn open(&self, directory: &Path) -> anyhow::Result<Arc<Database>> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let options = DatabaseOptions {
            buffer_pool_bytes: self.buffer_pool_size.0,
            memory_limit_bytes: self.memory_limit.0,
            page_size: self.page_size.0,
            durability: match self.durability {
                DurabilityArgument::Full => Durability::Full,
                DurabilityArgument::Relaxed => Durability::Relaxed,
            },
            threads: self.threads.unwrap_or(threads).clamp(1, 256),
            serial_ms_max: DatabaseOptions::SERVER_SERIAL_MS_MAX,
            log: self.log.settings(),
            doublewrite: self.log.doublewrite(),
            force_recovery: self.force_recovery,
            progress: recovery::reported(),
        };
        Database::open(directory, options).with_context(|| format!("cannot open {}", directory.display()))
    }
}

/// A session of the embedding user: `root`, with the files of this machine.
pub fn session(database: &Arc<Database>, schema: Option<String>) -> anyhow::Result<Session> {
    let mut session = database.session(SessionOptions {
        user: "root".into(),
        host: "localhost".into(),
        database: None,
        local_files: Arc::new(OwnFiles),
    });
    if let Some(schema) = schema {
        session.use_database(&schema)?;
    }
    Ok(session)
}

/// LOAD DATA LOCAL of an embedded session reads the files of the process.
struct OwnFiles;

impl LocalFiles for OwnFiles {
    fn open(&self, name: &str) -> muster_engine::types::Result<muster_engine::InfileSource> {
        use muster_engine::types::{ErrorCode, SqlError};
        let file = File::open(name)
            .map_err(|e| SqlError::new(ErrorCode::FileNotFound, format!("File '{name}' not found ({e})")))?;
        Ok(Box::new(file))
    }
}
