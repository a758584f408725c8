//! Status variables: what SHOW STATUS shows beside storage's counters.

use crate::{Database, processes::SessionShared, virtual_tables::information_schema::PoolFigures};
use muster_sql::Statement;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Statements counted by kind, as `Com_..`.
const COMMANDS: [&str; 38] = [
    "alter_db",
    "alter_table",
    "alter_user",
    "analyze",
    "begin",
    "change_db",
    "commit",
    "create_db",
    "create_index",
    "create_table",
    "create_user",
    "create_view",
    "dealloc_sql",
    "do",
    "drop_db",
    "drop_index",
    "drop_table",
    "drop_user",
    "drop_view",
    "execute_sql",
    "explain_other",
    "flush",
    "grant",
    "kill",
    "load",
    "lock_tables",
    "prepare_sql",
    "release_savepoint",
    "rename_table",
    "revoke",
    "rollback",
    "rollback_to_savepoint",
    "savepoint",
    "select",
    "set_option",
    "show_status",
    "truncate",
    "unlock_tables",
];

/// Counts of statements, of a session or of all.
#[derive(Debug)]
pub struct CommandCounters {
    questions: AtomicU64,
    commands: [AtomicU64; COMMANDS.len()],
}

impl Default for CommandCounters {
    fn default() -> Self {
        CommandCounters { questions: AtomicU64::new(0), commands: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

fn command(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) | Statement::SelectInto { .. } => "select",
        Statement::Explain(_) | Statement::Describe { .. } => "explain_other",
        Statement::CreateDatabase(_) => "create_db",
        Statement::AlterDatabase(_) => "alter_db",
        Statement::DropDatabase { .. } => "drop_db",
        Statement::CreateTable(_) => "create_table",
        Statement::CreateIndex(_) => "create_index",
        Statement::DropIndex { .. } => "drop_index",
        Statement::AlterTable(_) => "alter_table",
        Statement::DropTable { .. } => "drop_table",
        Statement::TruncateTable(_) => "truncate",
        Statement::RenameTable(_) => "rename_table",
        Statement::CreateView(_) => "create_view",
        Statement::DropView { .. } => "drop_view",
        Statement::AnalyzeTable(_) => "analyze",
        Statement::LoadData(_) => "load",
        Statement::Set(_) | Statement::SetPassword { .. } => "set_option",
        Statement::Show(_) => "show_status",
        Statement::Use(_) => "change_db",
        Statement::Do(_) => "do",
        Statement::Kill { .. } => "kill",
        Statement::Flush(_) => "flush",
        Statement::Begin { .. } => "begin",
        Statement::Commit => "commit",
        Statement::Rollback => "rollback",
        Statement::Savepoint(_) => "savepoint",
        Statement::RollbackToSavepoint(_) => "rollback_to_savepoint",
        Statement::ReleaseSavepoint(_) => "release_savepoint",
        Statement::LockTables(_) => "lock_tables",
        Statement::UnlockTables => "unlock_tables",
        Statement::Prepare { .. } => "prepare_sql",
        Statement::ExecutePrepared { .. } => "execute_sql",
        Statement::Deallocate { .. } => "dealloc_sql",
        Statement::CreateUser { .. } => "create_user",
        Statement::AlterUser { .. } => "alter_user",
        Statement::DropUser { .. } => "drop_user",
        Statement::Grant(_) => "grant",
        Statement::Revoke(_) => "revoke",
    }
}

impl CommandCounters {
    /// A statement that a client sent, whatever becomes of it.
    pub fn question(&self) {
        self.questions.fetch_add(1, Relaxed);
    }

    pub fn count(&self, statement: &Statement) {
        let name = command(statement);
        if let Ok(at) = COMMANDS.binary_search(&name) {
            self.commands[at].fetch_add(1, Relaxed);
        }
    }

    pub fn reset(&self) {
        self.questions.store(0, Relaxed);
        self.commands.iter().for_each(|c| c.store(0, Relaxed));
    }

    fn status(&self, out: &mut Vec<(String, String)>) {
        let value = |n: &AtomicU64| n.load(Relaxed).to_string();
        out.extend(COMMANDS.iter().zip(&self.commands).map(|(name, n)| (format!("Com_{name}"), value(n))));
        out.push(("Questions".into(), value(&self.questions)));
        out.push(("Queries".into(), value(&self.questions)));
    }
}

/// What the buffer pool has now, and what only it counts: the same for every session.
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
pub fn status(database: &Database, session: &SessionShared, global: bool) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    let (counters, commands) = match global {
        true => (database.counters(), database.commands()),
        false => (&session.counters, &session.commands),
    };
    out.extend(counters.status().into_iter().map(|(name, n)| (name.into(), n.to_string())));
    commands.status(&mut out);
    let sessions = database.sessions().all();
    let uptime = database.uptime().as_secs().to_string();
    let pool = database.pool_figures();
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
        format!("Uptime: {uptime}  Threads: {threads}  Questions: {}", self.commands().questions.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_counter() {
        assert!(COMMANDS.is_sorted());
        let counters = CommandCounters::default();
        for statement in [Statement::Commit, Statement::UnlockTables, Statement::Use(String::new())] {
            counters.count(&statement);
        }
        let mut out = Vec::new();
        counters.status(&mut out);
        let counted: Vec<&str> = out.iter().filter(|(_, n)| n == "1").map(|(name, _)| name.as_str()).collect();
        assert_eq!(counted, ["Com_change_db", "Com_commit", "Com_unlock_tables"]);
    }
}
