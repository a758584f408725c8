//! The engine: `Database` and `Session`. What the server, the shell, the lab and embedding programs use.
//!
//! ```text
//!   Database            an open data directory                      database.rs
//!   Session             one client; the way of a statement          session/
//!   Outcome, ResultSet  what a statement gives back                 outcome.rs, rows.rs
//!   catalog             databases, tables, views, on disk           catalog/, persist.rs
//!   ddl                 CREATE, DROP, ALTER                         ddl/
//!   load                readers of files                            load/
//!   loading             LOAD DATA, files and batches                loading/
//!   show                SHOW, DESCRIBE                              show/
//!   information_schema  virtual tables                              information_schema/
//!   privileges          accounts, GRANT, passwords                  privileges/
//!   status, charset     status variables, names of character sets   status.rs, charset.rs
//! ```

mod catalog;
mod charset;
pub mod database;
mod ddl;
pub mod infile;
mod information_schema;
pub mod load;
mod loading;
pub mod outcome;
mod persist;
pub mod privileges;
mod rows;
pub mod session;
mod show;
mod status;

pub use database::{Database, DatabaseOptions, Durability, ProcessInfo};
pub use infile::{InfileSource, LocalFiles, NoLocalFiles};
pub use muster_exec::{RowStream, Warning};
pub use muster_sql::split;
pub use muster_storage::{Counters, LoadProgress, arrow_type, io, value_at};
pub use muster_types as types;
pub use outcome::{ColumnInfo, Outcome, Prepared, ResultSet};
pub use session::{Session, SessionOptions};
