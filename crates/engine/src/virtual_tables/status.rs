//! Status variables: what SHOW STATUS shows beside storage's counters.

use super::information_schema::PoolFigures;
use crate::{Database, statement::Context};
use std::sync::atomic::Ordering::Relaxed;

/// The status variables of the buffer pool, which are the same for every session.
fn pool_status(figures: &PoolFigures) -> [(&'static str, u64); 9] {
    let pool = &figures.pool;
    [
        ("bytes_data", figures.data_pages() * figures.page_size),
        ("bytes_dirty", pool.dirty as u64 * figures.page_size),
        ("pages_data", figures.data_pages()),
        ("pages_dirty", pool.dirty as u64),
        ("pages_flushed", figures.pages_written),
        ("pages_free", pool.free as u64),
        ("pages_misc", 0),
        ("pages_total", pool.frames as u64),
        ("read_ahead_evicted", pool.read_ahead_evicted),
    ]
}

/// Names and values, sorted by name.
pub fn status(context: &Context, global: bool) -> Vec<(String, String)> {
    let (database, session) = (&*context.database, &*context.process);
    let mut out: Vec<(String, String)> = Vec::new();
    let (counters, commands) = match global {
        true => (database.counters(), database.commands()),
        false => (&session.counters, &session.commands),
    };
    out.extend(counters.status().into_iter().map(|(name, n)| (name.into(), n.to_string())));
    commands.status(&mut out);
    let sessions = database.sessions().all();
    let uptime = database.uptime().as_secs().to_string();
    let pool = PoolFigures::of(database);
    out.extend(pool_status(&pool).map(|(name, n)| (format!("Innodb_buffer_pool_{name}"), n.to_string())));
    let last_query_cost = if global { 0.0 } else { f64::from_bits(session.last_query_cost.load(Relaxed)) };
    out.extend(
        [
            ("Connections", database.sessions().opened().to_string()),
            ("Innodb_page_size", pool.page_size.to_string()),
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
