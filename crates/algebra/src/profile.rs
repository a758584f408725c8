//! Counts of what the nodes of a plan did when it ran.

/// The counts of a node that has run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Actual {
    /// Number of times that the node ran.
    pub loops: u64,
    /// Rows of all runs.
    pub rows: u64,
    /// Milliseconds until the first row and until the last one, of one run on average, with its inputs.
    pub first_ms: f64,
    pub last_ms: f64,
    pub pages_read: u64,
    /// Keys that were looked up.
    pub keys: u64,
    /// Index entries on which a condition was checked, and those that passed.
    pub icp_attempts: u64,
    pub icp_match: u64,
    /// Rows fetched by primary key.
    pub rows_fetched: u64,
    /// Refills of buffers of keys and of primary keys.
    pub key_refills: u64,
    pub rowid_refills: u64,
    /// Rows that filters of joins and top-N operators dropped before they were delivered, or spilled.
    pub rows_dropped: u64,
    /// Number of runs in which a scan that stops early exceeded its budget, so that its fallback took over.
    pub fallbacks: u64,
    pub spills: u64,
    pub spilled_bytes: u64,
    /// Most memory that the operator reports.
    pub memory_bytes: u64,
}
