//! Tests of storage as a whole: against models, under many threads, and across crashes and power cuts.
//!
//! ```text
//!   table_model        random changes of tables beside a model in memory
//!   linearizable       histories of many threads that some serial order must explain
//!   lock_tests         the lock table
//!   row_lock_tests     locks of rows and gaps by reads and changes
//!   crash              lives of a store that end in crashes
//!   power_cut_tests    a store on a disk that loses its power
//!   changed_directory  directories in which a file was changed
//!   kill               statements that are killed while they wait for a lock
//!   random             random numbers that a seed repeats
//! ```

#[cfg(test)]
pub(super) mod changed_directory;
#[cfg(test)]
pub(super) mod crash;
#[cfg(test)]
pub(super) mod kill;
#[cfg(test)]
pub(super) mod linearizable;
#[cfg(test)]
pub(super) mod lock_tests;
#[cfg(test)]
pub(super) mod power_cut_tests;
#[cfg(test)]
pub(super) mod random;
#[cfg(test)]
pub(super) mod row_lock_tests;
#[cfg(test)]
pub(super) mod table_model;
