//! Status variables: what SHOW STATUS shows, and the names that MySQL has for counters.

use super::information_schema::PoolFigures;
use crate::{Database, statement::StatementContext};
use muster_exec::QueryCounters;
use muster_storage::{LogStatus, Store};
use std::sync::atomic::Ordering::Relaxed;

/// The status variables of the buffer pool, which are the same for every session.
fn pool_status(figures: &PoolFigures) -> [(&'static str, u64); 9] {
    let pool = &figures.pool;
    [
        ("bytes_data", figures.data_pages() * figures.page_size),
        ("bytes_dirty", pool.dirty as u64 * figures.page_size),
        ("pages_data", figures.data_pages()),
        ("pages_dirty", pool.dirty as u64),
        ("pages_flushed", pool.flushed),
        ("pages_free", pool.free as u64),
        ("pages_misc", 0),
        ("pages_total", pool.frames as u64),
        ("read_ahead_evicted", pool.read_ahead_evicted),
    ]
}

/// The status variables of the redo log, which are the same for every session.
fn log_status(log: &LogStatus) -> [(&'static str, u64); 13] {
    [
        ("Innodb_log_waits", log.log_waits),
        ("Innodb_log_write_requests", log.log_write_requests),
        ("Innodb_log_writes", log.log_writes),
        ("Innodb_os_log_fsyncs", log.os_log_fsyncs),
        ("Innodb_os_log_written", log.os_log_written),
        ("Innodb_redo_log_capacity_resized", log.capacity),
        ("Innodb_redo_log_checkpoint_lsn", log.checkpoint),
        ("Innodb_redo_log_current_lsn", log.current),
        ("Innodb_redo_log_flushed_to_disk_lsn", log.flushed),
        ("Innodb_redo_log_logical_size", log.checkpoint_age()),
        ("Innodb_redo_log_physical_size", log.physical_size),
        ("Innodb_redo_log_segments_made", log.segments_made),
        ("Innodb_redo_log_segments_recycled", log.segments_recycled),
    ]
}

/// The status variables of locks of rows and of old versions, which are the same for every session. Times are in
/// milliseconds.
fn transaction_status(store: &Store) -> [(&'static str, u64); 6] {
    let waits = store.locks().wait_statistics();
    let ended = waits.waits - waits.current.min(waits.waits);
    let total = waits.total_time.as_millis() as u64;
    [
        ("Innodb_history_list_length", store.history_length() as u64),
        ("Innodb_row_lock_current_waits", waits.current),
        ("Innodb_row_lock_time", total),
        ("Innodb_row_lock_time_avg", total.checked_div(ended).unwrap_or(0)),
        ("Innodb_row_lock_time_max", waits.max_time.as_millis() as u64),
        ("Innodb_row_lock_waits", waits.waits),
    ]
}

/// Counters as MySQL names them (manual 7.1.10).
pub fn counter_values(counters: &QueryCounters) -> Vec<(&'static str, u64)> {
    let (storage, operators) = (counters.storage(), counters.operators());
    vec![
        ("Innodb_buffer_pool_read_requests", storage.page_requests()),
        ("Innodb_buffer_pool_reads", storage.page_misses()),
        ("Innodb_buffer_pool_read_ahead", storage.pages_read_ahead()),
        ("Innodb_buffer_pool_write_requests", storage.page_write_requests()),
        ("Innodb_buffer_pool_wait_free", storage.frame_waits()),
        ("Innodb_data_read", storage.bytes_read()),
        ("Innodb_data_reads", storage.reads()),
        ("Innodb_pages_read", storage.pages_read()),
        ("Innodb_pages_written", storage.pages_written()),
        ("Innodb_pages_created", storage.pages_created()),
        ("Innodb_rows_read", storage.rows_delivered()),
        ("Innodb_rows_inserted", storage.rows_inserted()),
        ("Innodb_rows_updated", storage.rows_updated()),
        ("Innodb_rows_deleted", storage.rows_deleted()),
        ("Handler_write", operators.row_writes()),
        ("Handler_update", operators.row_updates()),
        ("Handler_delete", operators.row_deletes()),
        ("Handler_commit", operators.commits()),
        ("Handler_rollback", operators.rollbacks()),
        ("Handler_savepoint", operators.savepoints()),
        ("Handler_savepoint_rollback", operators.savepoint_rollbacks()),
        // A commit has one phase: there is one engine, and no binary log.
        ("Handler_prepare", 0),
        ("Handler_read_key", storage.key_lookups()),
        ("Handler_read_first", storage.first_lookups()),
        ("Handler_read_last", storage.last_lookups()),
        ("Handler_read_next", storage.entries_forward()),
        ("Handler_read_prev", storage.entries_backward()),
        ("Handler_read_rnd", storage.rows_fetched()),
        ("Handler_read_rnd_next", storage.rows_scanned()),
        ("Handler_icp_attempts", storage.entries_tested()),
        ("Handler_icp_match", storage.entries_passed()),
        ("Handler_mrr_init", storage.key_order_fetches()),
        ("Handler_mrr_key_refills", operators.key_buffer_refills()),
        ("Handler_mrr_rowid_refills", storage.fetch_buffer_refills()),
        ("Select_scan", operators.first_table_scans()),
        ("Select_range", operators.first_table_ranges()),
        ("Select_full_join", operators.inner_table_scans()),
        ("Select_full_range_join", operators.inner_table_ranges()),
        // Tables whose ranges were chosen anew for each row of those before: there are none.
        ("Select_range_check", 0),
        ("Sort_range", operators.sorts_of_ranges()),
        ("Sort_scan", operators.sorts_of_scans()),
        ("Sort_rows", operators.sorted_rows()),
        ("Sort_merge_passes", operators.merge_passes()),
        ("Created_tmp_tables", operators.group_tables()),
        ("Created_tmp_disk_tables", operators.spilled_groups()),
        ("Created_tmp_files", operators.spill_files()),
        ("Slow_queries", operators.slow_statements()),
    ]
}

/// Names and values, sorted by name.
pub fn status(context: &StatementContext, global: bool) -> Vec<(String, String)> {
    let (database, session) = (&*context.database, &*context.process);
    let mut out: Vec<(String, String)> = Vec::new();
    let (counters, commands) = match global {
        true => (database.counters(), database.commands()),
        false => (&session.counters, &session.commands),
    };
    out.extend(counter_values(counters).into_iter().map(|(name, n)| (name.into(), n.to_string())));
    commands.status(&mut out);
    let plans = database.plans().figures();
    out.extend(
        [
            ("Plan_cache_entries", plans.entries),
            ("Plan_cache_evictions", plans.evictions),
            ("Plan_cache_hits", plans.hits),
            ("Plan_cache_misses", plans.misses),
            ("Plan_cache_template_hits", plans.template_hits),
        ]
        .map(|(name, n)| (name.to_owned(), n.to_string())),
    );
    let sessions = database.sessions().all();
    let uptime = database.uptime().as_secs().to_string();
    let pool = PoolFigures::of(database);
    out.extend(pool_status(&pool).map(|(name, n)| (format!("Innodb_buffer_pool_{name}"), n.to_string())));
    out.extend(log_status(&database.store().log_status()).map(|(name, n)| (name.to_owned(), n.to_string())));
    out.extend(transaction_status(database.store()).map(|(name, n)| (name.to_owned(), n.to_string())));
    let admission = database.admission().figures();
    let last_query_cost = if global { 0.0 } else { f64::from_bits(session.last_query_cost.load(Relaxed)) };
    out.extend(
        [
            ("Admission_admitted", admission.admitted.to_string()),
            ("Admission_alone", admission.alone.to_string()),
            ("Admission_refused", admission.refused.to_string()),
            ("Admission_running", admission.running.to_string()),
            ("Admission_wait_time_ms", admission.wait_time.as_millis().to_string()),
            ("Admission_waiting", admission.waiting.to_string()),
            ("Admission_waits", admission.waits.to_string()),
            ("Connections", database.sessions().opened().to_string()),
            ("Innodb_dblwr_pages_written", pool.pool.doublewrite_pages.to_string()),
            ("Innodb_dblwr_writes", pool.pool.doublewrite_batches.to_string()),
            ("Innodb_page_size", pool.page_size.to_string()),
            ("Innodb_redo_log_enabled", "ON".into()),
            ("Last_query_cost", format!("{last_query_cost:.6}")),
            ("Threads_connected", sessions.len().to_string()),
            ("Threads_running", sessions.iter().filter(|s| s.is_running()).count().to_string()),
            ("Uptime", uptime.clone()),
            ("Uptime_since_flush_status", uptime),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    let connection = session.connection_status.lock();
    for name in ["Ssl_cipher", "Ssl_version"] {
        out.push((name.into(), connection.get(name).cloned().unwrap_or_default()));
    }
    out.sort_unstable();
    out
}

impl Database {
    /// The line that COM_STATISTICS answers with.
    pub fn statistics_line(&self) -> String {
        let (uptime, threads) = (self.uptime().as_secs(), self.sessions().all().len());
        format!("Uptime: {uptime}  Threads: {threads}  Questions: {}", self.commands().questions())
    }
}
