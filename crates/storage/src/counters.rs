//! Counters of events, global and per session. A session's counters add to their parent's too.

/// Defines a set of counters, a struct and an enum of the same names. All are counts unless they say otherwise.
#[macro_export]
macro_rules! counters {
    (
        $(#[$set_doc:meta])* $set:ident,
        $(#[$counter_doc:meta])* $counter:ident:
        $($(#[$doc:meta])* $name:ident;)*
    ) => {
        $(#[$set_doc])*
        #[derive(Debug, Default)]
        pub struct $set {
            parent: Option<std::sync::Arc<$set>>,
            $($(#[$doc])* $name: std::sync::atomic::AtomicU64,)*
        }

        impl $set {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> u64 { self.$name.load(std::sync::atomic::Ordering::Relaxed) }
            )*

            /// Counters that add to another's too.
            pub fn with_parent(parent: std::sync::Arc<$set>) -> $set {
                $set { parent: Some(parent), ..$set::default() }
            }

            /// Sets all to zero; the parent's stay.
            pub fn reset(&self) {
                $(self.$name.store(0, std::sync::atomic::Ordering::Relaxed);)*
            }

            /// Adds to a counter and to the parent's.
            pub fn add(&self, counter: $counter, n: u64) {
                match counter {
                    $($counter::$name => self.$name.fetch_add(n, std::sync::atomic::Ordering::Relaxed),)*
                };
                if let Some(parent) = &self.parent { parent.add(counter, n); }
            }
        }

        $(#[$counter_doc])*
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $counter { $($name,)* }
    };
}

counters! {
    /// Events counted by storage.
    Counters,
    /// Adding to a counter: `counters.add(Counter::rows_delivered, 100)`.
    Counter:
    /// Pages asked of the buffer pool.
    page_requests;
    /// Requests that had to wait for a read from the file.
    page_misses;
    /// Pages read before they were asked for.
    pages_read_ahead;
    /// Pages asked for to be changed.
    page_write_requests;
    /// Requests that had to wait because all frames were in use.
    frame_waits;
    /// Bytes read from files.
    bytes_read;
    /// Read operations on files.
    reads;
    /// Pages read from files.
    pages_read;
    pages_written;
    /// Batches of changed pages that could not all be written.
    page_write_failures;
    /// Pages that were added to files.
    pages_created;
    /// Rows that storage handed to the query (after its own filters).
    rows_delivered;
    /// Rows that transactions inserted, whatever became of the transactions.
    rows_inserted;
    /// Rows that transactions changed.
    rows_updated;
    /// Rows that transactions deleted.
    rows_deleted;
    /// Descents of a tree to a key; keys looked up.
    key_lookups;
    /// Descents to the first entry of an index.
    first_lookups;
    /// Descents to the last entry of an index.
    last_lookups;
    /// Entries read onward in index order.
    entries_forward;
    /// Entries read backward in index order.
    entries_backward;
    /// Rows fetched by primary key for a secondary entry.
    rows_fetched;
    /// Rows read by a full scan.
    rows_scanned;
    /// Entries on which an index condition was checked before their rows were fetched.
    entries_tested;
    /// Number of checked entries that passed.
    entries_passed;
    /// Scans and batches of lookups begun that fetch rows in key order.
    key_order_fetches;
    /// Refills of a buffer of primary keys, after the first fill.
    fetch_buffer_refills;
}
