//! The engine: `Database` and `Session`. What the server, the shell, the lab and embedding programs use.

pub mod database;
pub mod infile;
pub mod load;
pub mod outcome;
pub mod session;

pub use database::{Database, DatabaseOptions, Durability, ProcessInfo};
pub use infile::{InfileSource, LocalFiles, NoLocalFiles};
pub use muster_exec::{RowStream, Warning};
pub use muster_storage::{Counters, LoadProgress};
pub use muster_types as types;
pub use outcome::{ColumnInfo, Outcome, Prepared, ResultSet};
pub use session::{Session, SessionOptions};
