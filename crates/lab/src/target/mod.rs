//! A database that is measured: a data directory opened by this process, or any server with MySQL's protocol.
//!
//! ```text
//!   TargetSession       what a workload asks of a database    mod.rs
//!     EmbeddedTarget    a session of this process             embedded.rs
//!     ServerTarget      a connection                          server.rs
//!   ServerAddress       mysql://user:password@host/database   address.rs
//!   TestedDatabase      opens targets of either kind          tested_database.rs
//!   TargetError         numbers and messages as MySQL's       error.rs
//!   Answer              rows as values                        answer.rs
//! ```
//!
//! Workload code is generic over [`TargetSession`], so the same statements run in this process and over a connection.

mod address;
mod answer;
mod embedded;
mod error;
mod server;
mod tested_database;

pub use address::{InvalidAddress, ServerAddress};
pub use answer::{Answer, cents, integer, text};
pub use embedded::EmbeddedTarget;
pub use error::{Conflict, TargetError};
pub use server::{ServerTarget, TextChunks};
pub use tested_database::{AnyTarget, MeasuredDatabase, TestedDatabase};

use muster_engine::types::Value;

pub type Result<T> = std::result::Result<T, TargetError>;

/// A prepared statement of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementHandle(usize);

/// One client's session with a database.
pub trait TargetSession {
    /// Prepares a statement. It lives as long as the target.
    fn prepare(&mut self, sql: &str) -> impl Future<Output = Result<StatementHandle>>;

    /// Runs a prepared statement with values in the order of its `?`.
    fn execute(&mut self, statement: StatementHandle, values: &[Value]) -> impl Future<Output = Result<Answer>>;

    /// Runs a statement given as text.
    fn query(&mut self, sql: &str) -> impl Future<Output = Result<Answer>>;

    fn begin(&mut self) -> impl Future<Output = Result<()>> {
        async { self.query("BEGIN").await.map(drop) }
    }

    fn commit(&mut self) -> impl Future<Output = Result<()>> {
        async { self.query("COMMIT").await.map(drop) }
    }

    fn rollback(&mut self) -> impl Future<Output = Result<()>> {
        async { self.query("ROLLBACK").await.map(drop) }
    }
}
