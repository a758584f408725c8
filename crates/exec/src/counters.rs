//! Counters of what queries do, beside those of storage.

use muster_storage::{Counter, Counters};
use std::sync::Arc;

muster_storage::counters! {
    /// Events counted by operators, plans and transactions.
    OperatorCounters,
    /// Adding to a counter: `counters.add(OperatorCounter::sorted_rows, 100)`.
    OperatorCounter:
    /// Refills of a buffer of lookup keys, after the first fill.
    key_buffer_refills;
    /// First tables of joins (or only ones) that were read as a whole.
    first_table_scans;
    /// First tables of joins that were read in ranges of an index.
    first_table_ranges;
    /// Further tables of joins that were read as a whole.
    inner_table_scans;
    /// Further tables of joins that were read in ranges of an index, the same for all rows of those before.
    inner_table_ranges;
    /// Sorts of a table that is read in ranges or by key.
    sorts_of_ranges;
    /// Number of all other sorts.
    sorts_of_scans;
    /// Rows that came out of sorts.
    sorted_rows;
    /// Merges of sorted runs on disk.
    merge_passes;
    /// Tables of groups.
    group_tables;
    /// Parts of groupings, one for each thread, that went to disk.
    spilled_groups;
    /// Files for what did not fit into memory.
    spill_files;
    /// Statements that took longer than they should.
    slow_statements;
    /// Rows that statements asked storage to insert.
    row_writes;
    /// Rows that statements asked storage to change.
    row_updates;
    /// Rows that statements asked storage to delete.
    row_deletes;
    /// Ends of statements and of transactions that used tables and went well.
    commits;
    /// Statements and transactions that used tables and were rolled back.
    rollbacks;
    savepoints;
    savepoint_rollbacks;
}

/// Counts of inserted, updated and deleted rows: those that statements asked for, and those that storage has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedRows {
    asked: [u64; 3],
    done: [u64; 3],
}

/// Counters of a session, of the server, or of one node of a plan.
#[derive(Debug, Default)]
pub struct QueryCounters {
    storage: Arc<Counters>,
    operators: Arc<OperatorCounters>,
}

impl QueryCounters {
    /// Counters that begin a tree of parents and children.
    pub fn new(storage: Arc<Counters>) -> QueryCounters {
        QueryCounters { storage, operators: Arc::default() }
    }

    /// Counters that add to another's too.
    pub fn with_parent(parent: &QueryCounters) -> QueryCounters {
        QueryCounters {
            storage: Arc::new(Counters::with_parent(parent.storage.clone())),
            operators: Arc::new(OperatorCounters::with_parent(parent.operators.clone())),
        }
    }

    /// Events counted by storage.
    pub fn storage(&self) -> &Arc<Counters> {
        &self.storage
    }

    /// Events counted by operators and plans.
    pub fn operators(&self) -> &OperatorCounters {
        &self.operators
    }

    /// Sets all to zero; the parent's stay.
    pub fn reset(&self) {
        self.storage.reset();
        self.operators.reset();
    }

    /// The counts of rows that statements have changed.
    pub fn changed_rows(&self) -> ChangedRows {
        let (operators, storage) = (&self.operators, &self.storage);
        ChangedRows {
            asked: [operators.row_writes(), operators.row_updates(), operators.row_deletes()],
            done: [storage.rows_inserted(), storage.rows_updated(), storage.rows_deleted()],
        }
    }

    /// Takes back, here and at the parents, what has been counted of changed rows since `before` was read: the changes
    /// were undone, and are to be made again. Only one statement counts here meanwhile.
    pub fn take_back_changed_rows(&self, before: ChangedRows) {
        use {Counter::*, OperatorCounter::*};
        let now = self.changed_rows();
        // Sums wrap around, so that this subtracts.
        for ((counter, before), now) in
            [row_writes, row_updates, row_deletes].into_iter().zip(before.asked).zip(now.asked)
        {
            self.operators.add(counter, before.wrapping_sub(now));
        }
        for ((counter, before), now) in
            [rows_inserted, rows_updated, rows_deleted].into_iter().zip(before.done).zip(now.done)
        {
            self.storage.add(counter, before.wrapping_sub(now));
        }
    }

    /// Adds to a counter of operators.
    pub fn add(&self, counter: OperatorCounter, n: u64) {
        self.operators.add(counter, n);
    }
}
