//! Storage: files, pages, buffer pool, I/O and B+trees. Knows neither SQL nor operators; hands out Arrow arrays.
//!
//! ```text
//!   Table      one clustered tree + its secondary trees    table.rs, scan/, lookup/, rows/, row_visit.rs, load/
//!     Tree     one B+tree in one file                      tree/
//!       leaf / inner / key                               pages as bytes: PAX minipages, separators, memcomparable keys
//!   BufferPool frames, page table, which page goes         buffer_pool/
//!   PageFile   page allocation, header page, free list     file/
//!   Store      the data directory, its recovery            store/, directory.rs (lock, identity), reserve.rs,
//!                                                          small_file.rs, checked_file.rs, definitions.rs
//!   OpenFiles  the directory's files of pages                open_files.rs
//!   TransactionSystem  transactions, undo, purge             transaction/
//!   Log        the redo log                                log/
//!   LockTable  locks of keys and gaps, waits, deadlocks    locks/
//!   Disk       io_uring, pread, a simulated one with faults  io/
//!   arrow_type values and Arrow arrays, both ways          arrow_value.rs
//!   Mutex      locks that wait without yielding              mutex.rs
//!   spawn      threads whose panic ends the process           essential_thread.rs
//!   load_ahead memory ahead of its use, wide registers     processor.rs
//! ```
//!
//! `docs/format.md` draws every byte.

mod arrow_value;

pub mod buffer_pool;
pub mod checked_file;
pub mod counters;
pub mod definitions;
mod directory;
pub mod error;
mod essential_thread;
pub mod file;
#[doc(hidden)]
pub mod fuzz;
pub mod io;
pub mod key;
mod latch_order;
pub mod load;
pub mod locks;
mod log;
pub mod lookup;
pub mod mutex;
mod open_files;
pub mod page;
mod planted;
mod primitives;
pub mod processor;
pub mod read_view;
pub mod reserve;
pub mod row_visit;
pub mod rows;
pub mod scan;
pub mod schema;
pub mod small_file;
pub mod statistics;
pub mod store;
mod stripes;
pub mod table;
mod table_check;
mod transaction;
pub mod tree;

pub use arrow_value::{array_of, arrow_type, value_at};
pub use counters::{Counter, Counters};
pub use error::{Result, StorageError};
pub use io::IoBackend;
pub use key::Keys;
pub use load::{DuplicatePolicy, LoadOptions, LoadProgress, LoadedFiles, TableLoader};
pub use locks::{LockError, LockMode, LockTable, LockWait, Waits};
pub use log::{FlushAtCommit, LogSettings, LogStatus, RoomUse};
pub use lookup::{Lookup, LookupRequest};
pub use read_view::ReadView;
pub use reserve::Reserve;
pub use row_visit::{RowVisit, VisitCounts};
pub use rows::{BatchFilter, ColumnRange, Fetch, dictionary_type};
pub use scan::{Scan, ScanCursor, ScanRequest, Steering};
pub use schema::{ColumnOrigin, ColumnSchema, FORMER_LAYOUTS_MAX, FileId, IndexSchema, RowLayouts, TableSchema};
pub use statistics::{ColumnStats, IndexStats, TableStatistics};
pub use store::{EndsTransaction, RecoveryProgress, Store, StoreOptions, TableSource};
pub use table::Table;
pub use table::locking_scan::{LockedRow, LockingScan, LockingScanRequest};
pub use transaction::{Committed, CutOff, CutOffListener, CutOffRollback, Savepoint, Transaction};
pub use tree::{Pages, RowOnPage, TreeReport, VisitEnd};
#[cfg(test)]
mod testing;
