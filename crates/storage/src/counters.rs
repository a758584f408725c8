//! Counters of work done, global and per session. A session's counters add to their parent's too.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident => $status:literal;)*) => {
        /// Counters of storage and of the query that it works for, in MySQL's words. All are counts except `data_read`
        /// (bytes).
        #[derive(Debug, Default)]
        pub struct Counters {
            parent: Option<Arc<Counters>>,
            $($(#[$doc])* $name: AtomicU64,)*
        }

        impl Counters {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> u64 { self.$name.load(Relaxed) }
            )*

            /// Name in SHOW STATUS and value, for all counters.
            pub fn status(&self) -> Vec<(&'static str, u64)> {
                vec![$(($status, self.$name.load(Relaxed)),)*]
            }

            /// Sets all to zero (`FLUSH STATUS`); the parent's stay.
            pub fn reset(&self) { $(self.$name.store(0, Relaxed);)* }
        }

        /// Adding to a counter: `counters.add(Counter::rows_read, 100)`.
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Counter { $($name,)* }

        impl Counters {
            pub fn add(&self, counter: Counter, n: u64) {
                match counter { $(Counter::$name => self.$name.fetch_add(n, Relaxed),)* };
                if let Some(parent) = &self.parent { parent.add(counter, n); }
            }
        }
    };
}

counters! {
    /// Pages asked of the buffer pool.
    buffer_pool_read_requests => "Innodb_buffer_pool_read_requests";
    /// Requests that had to wait for a read from the file.
    buffer_pool_reads => "Innodb_buffer_pool_reads";
    /// Pages read before they were asked for.
    buffer_pool_read_ahead => "Innodb_buffer_pool_read_ahead";
    /// Pages asked for to be changed.
    buffer_pool_write_requests => "Innodb_buffer_pool_write_requests";
    /// Requests that had to wait because all frames were in use.
    buffer_pool_wait_free => "Innodb_buffer_pool_wait_free";
    /// Bytes read from files.
    data_read => "Innodb_data_read";
    /// Read operations on files.
    data_reads => "Innodb_data_reads";
    /// Pages read from files.
    pages_read => "Innodb_pages_read";
    pages_written => "Innodb_pages_written";
    /// Pages that were added to files.
    pages_created => "Innodb_pages_created";
    /// Rows that storage handed to the query (after its own filters).
    rows_read => "Innodb_rows_read";
    /// Descents of a tree to a key; keys looked up.
    handler_read_key => "Handler_read_key";
    /// Descents to the first entry of an index.
    handler_read_first => "Handler_read_first";
    handler_read_last => "Handler_read_last";
    /// Entries read onward in index order.
    handler_read_next => "Handler_read_next";
    handler_read_prev => "Handler_read_prev";
    /// Rows fetched by primary key for a secondary entry.
    handler_read_rnd => "Handler_read_rnd";
    /// Rows read by a full scan.
    handler_read_rnd_next => "Handler_read_rnd_next";
    /// Entries on which an index condition was checked before their rows were fetched.
    handler_icp_attempts => "Handler_icp_attempts";
    /// Those of them that passed.
    handler_icp_match => "Handler_icp_match";
    /// Scans and batches of lookups begun that fetch rows in key order.
    handler_mrr_init => "Handler_mrr_init";
    /// Refills of a buffer of lookup keys, after the first fill.
    handler_mrr_key_refills => "Handler_mrr_key_refills";
    /// Refills of a buffer of primary keys, after the first fill.
    handler_mrr_rowid_refills => "Handler_mrr_rowid_refills";
    /// First tables of joins (or only ones) that were read as a whole.
    select_scan => "Select_scan";
    /// First tables of joins that were read in ranges of an index.
    select_range => "Select_range";
    /// Further tables of joins that were read as a whole.
    select_full_join => "Select_full_join";
    /// Further tables of joins that were read in ranges of an index, the same for all rows of those before.
    select_full_range_join => "Select_full_range_join";
    /// Tables whose ranges were chosen anew for each row of those before: there are none.
    select_range_check => "Select_range_check";
    /// Sorts of a table read in ranges or by key, and all others.
    sort_range => "Sort_range";
    sort_scan => "Sort_scan";
    /// Rows that came out of sorts.
    sort_rows => "Sort_rows";
    /// Merges of sorted runs on disk.
    sort_merge_passes => "Sort_merge_passes";
    /// Tables of groups.
    created_tmp_tables => "Created_tmp_tables";
    /// Parts of groupings, one for each thread, that went to disk.
    created_tmp_disk_tables => "Created_tmp_disk_tables";
    /// Files for what did not fit into memory.
    created_tmp_files => "Created_tmp_files";
    /// Statements that took longer than `long_query_time`.
    slow_queries => "Slow_queries";
}

impl Counters {
    pub fn with_parent(parent: Arc<Counters>) -> Counters {
        Counters { parent: Some(parent), ..Counters::default() }
    }
}
