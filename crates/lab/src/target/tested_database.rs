//! The database under test, to which any number of targets can be opened.

use super::{Answer, EmbeddedTarget, Result, ServerAddress, ServerTarget, StatementHandle, TargetSession};
use muster_engine::{Database, types::Value};
use std::sync::Arc;

#[derive(Clone)]
pub enum TestedDatabase {
    /// A data directory that this process has opened.
    Embedded(Arc<Database>),
    Server(ServerAddress),
}

/// A database that is measured: what the report calls it, and the schema of its tables.
pub struct MeasuredDatabase {
    pub name: String,
    pub schema: String,
    pub database: TestedDatabase,
}

/// A target of either kind.
pub enum AnyTarget {
    Embedded(Box<EmbeddedTarget>),
    Server(Box<ServerTarget>),
}

impl TestedDatabase {
    /// A new session or connection, in this database (schema) or in none.
    pub async fn connect(&self, schema: Option<&str>) -> Result<AnyTarget> {
        Ok(match self {
            TestedDatabase::Embedded(database) => {
                AnyTarget::Embedded(Box::new(EmbeddedTarget::open(database, schema)?))
            }
            TestedDatabase::Server(address) => {
                AnyTarget::Server(Box::new(ServerTarget::connect(address, schema).await?))
            }
        })
    }
}

impl TargetSession for AnyTarget {
    async fn prepare(&mut self, sql: &str) -> Result<StatementHandle> {
        match self {
            AnyTarget::Embedded(target) => target.prepare(sql).await,
            AnyTarget::Server(target) => target.prepare(sql).await,
        }
    }

    async fn execute(&mut self, statement: StatementHandle, values: &[Value]) -> Result<Answer> {
        match self {
            AnyTarget::Embedded(target) => target.execute(statement, values).await,
            AnyTarget::Server(target) => target.execute(statement, values).await,
        }
    }

    async fn query(&mut self, sql: &str) -> Result<Answer> {
        match self {
            AnyTarget::Embedded(target) => target.query(sql).await,
            AnyTarget::Server(target) => target.query(sql).await,
        }
    }
}
