//! The engine: `Database` and `Session`. What the server, the shell, the lab and embedding programs use.
//!
//! ```text
//!   Database            an open data directory                      database.rs
//!   Session             one client                                  session/
//!   virtual_tables      SHOW, information_schema                    virtual_tables/
//!   loading             LOAD DATA, files and batches                loading/
//!   ddl                 CREATE, DROP, ALTER                         ddl/
//!   statement           context, binding, planning, running         statement/
//!   accounts            users, GRANT, passwords                     accounts/
//!   catalog             databases, tables, views, on disk           catalog/, persist.rs
//!   variables           system variables                            variables/
//!   processes, status   what others see of a session                processes.rs, status.rs
//!   threads             the threads that statements run on          threads.rs
//!   Outcome, ResultSet  what a statement gives back                 outcome.rs, rows.rs
//!   charset             names of character sets                     charset.rs
//! ```

pub mod accounts;
mod catalog;
mod charset;
pub mod database;
mod ddl;
pub mod infile;
mod loading;
pub mod outcome;
mod persist;
mod processes;
mod rows;
pub mod session;
mod statement;
mod status;
mod threads;
mod variables;
mod virtual_tables;

pub use database::{Database, DatabaseOptions, Durability, ProcessInfo};
pub use infile::{InfileSource, LocalFiles, NoLocalFiles};
pub use muster_exec::{RowStream, Warning};
pub use muster_sql::split;
pub use muster_storage::{Counters, LoadProgress, arrow_type, io, value_at};
pub use muster_types as types;
pub use outcome::{ColumnInfo, Outcome, Prepared, ResultSet};
pub use session::{Session, SessionOptions};
pub use threads::STACK_BYTES;
