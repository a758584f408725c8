//! The engine: `Database` and `Session`. What the server, the shell, the lab and embedding programs use.
//!
//! ```text
//!   Session             one client, and its statements' dispatch    session/
//!   virtual_tables      SHOW, information_schema                    virtual_tables/
//!   dml                 INSERT, UPDATE, DELETE                      dml/
//!   loading             LOAD DATA, batches and files                loading/
//!   ddl                 CREATE, DROP, ALTER, GRANT                  ddl/
//!   statement           context, binding, planning, running         statement/
//!   Database            an open data directory                      database.rs
//!   cost_tables         mysql.server_cost, mysql.engine_cost        cost_tables/
//!   tables              open tables: files, locks                   tables/
//!   transaction         the transaction of a session                transaction.rs
//!   metadata_locks      locks of whole tables                       metadata_locks.rs
//!   estimate_errors     where estimates of rows were far off               estimate_errors.rs
//!   user_locks          locks by name (GET_LOCK)                    user_locks.rs
//!   user_variables      @name                                      user_variables.rs
//!   accounts            users and rights                            accounts/
//!   catalog             definitions of databases, tables, views     catalog/
//!   short_path          statements by key: plans for all values, run in place    short_path/
//!   processes           what others see of a session                processes.rs, command_counters.rs
//!   variables           system variables                            variables/
//!   admission           heavy statements wait for each other        admission.rs
//!   threads             the threads that statements run on          threads.rs
//!   waiting             may a session wait where it is polled?      waiting.rs
//!   system_schema       the name information_schema                 system_schema.rs
//!   persist             one checksummed file                        persist.rs
//!   charset             names of character sets                     charset.rs
//!   Outcome, ResultSet  what a statement gives back                 outcome.rs, rows.rs, infile.rs
//! ```
//!
//! Each knows only what stands below it.

pub mod accounts;
mod admission;
mod alter;
mod catalog;
mod charset;
mod command_counters;
mod cost_tables;
pub mod database;
mod ddl;
mod dml;
mod estimate_errors;
mod explain;
pub mod infile;
mod loading;
mod metadata_locks;
pub mod outcome;
mod persist;
mod processes;
mod rows;
pub mod session;
pub mod short_path;
mod statement;
mod system_schema;
mod tables;
mod threads;
mod transaction;
mod user_locks;
mod user_variables;
mod variables;
mod virtual_tables;
pub mod waiting;

pub use database::{Database, DatabaseOptions, Durability};
pub use infile::{InfileSource, LocalFiles, NoLocalFiles};
pub use muster_exec::{RowStream, Warning};
pub use muster_explain::picture::svg as plan_picture;
pub use muster_sql::split;
pub use muster_storage::{
    FlushAtCommit, LoadProgress, LogSettings, RecoveryProgress, array_of, arrow_type, io, value_at,
};
pub use muster_types as types;
pub use outcome::{ColumnInfo, Outcome, Prepared, ResultSet, ToldColumn};
pub use processes::ProcessInfo;
pub use session::{Session, SessionOptions, ShortAnswer, ShortStatement};
pub use threads::STACK_BYTES;
pub use transaction::TransactionStatus;
