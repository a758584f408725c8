//! Counters of statements by kind, of a session and of the server.

use muster_sql::{AccountStatement, Handler, InsertSource, ProgramKind, Statement};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Statements counted by kind, as `Com_..`.
const COMMANDS: [&str; 70] = [
    "alter_db",
    "alter_table",
    "alter_user",
    "alter_user_default_role",
    "analyze",
    "begin",
    "change_db",
    "check",
    "checksum",
    "commit",
    "create_db",
    "create_index",
    "create_role",
    "create_table",
    "create_user",
    "create_view",
    "dealloc_sql",
    "delete",
    "delete_multi",
    "do",
    "drop_db",
    "drop_event",
    "drop_function",
    "drop_index",
    "drop_procedure",
    "drop_role",
    "drop_table",
    "drop_trigger",
    "drop_user",
    "drop_view",
    "execute_sql",
    "explain_other",
    "flush",
    "grant",
    "grant_roles",
    "ha_close",
    "ha_open",
    "ha_read",
    "insert",
    "insert_select",
    "kill",
    "load",
    "lock_tables",
    "optimize",
    "prepare_sql",
    "release_savepoint",
    "rename_table",
    "rename_user",
    "repair",
    "replace",
    "replace_select",
    "revoke",
    "revoke_all",
    "revoke_roles",
    "rollback",
    "rollback_to_savepoint",
    "savepoint",
    "select",
    "set_option",
    "set_password",
    "set_role",
    "show_status",
    "shutdown",
    "stmt_close",
    "stmt_execute",
    "stmt_prepare",
    "truncate",
    "unlock_tables",
    "update",
    "update_multi",
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

/// A kind of statement that is counted, as `Com_name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Command(usize);

impl Command {
    pub const SELECT: Command = Command::named("select");
    pub const BEGIN: Command = Command::named("begin");
    pub const COMMIT: Command = Command::named("commit");
    pub const ROLLBACK: Command = Command::named("rollback");
    /// The protocol's prepared statements. What they execute is counted by its kind, too.
    pub const STMT_PREPARE: Command = Command::named("stmt_prepare");
    pub const STMT_EXECUTE: Command = Command::named("stmt_execute");
    pub const STMT_CLOSE: Command = Command::named("stmt_close");

    /// Panics if there is no kind of this name.
    const fn named(name: &str) -> Command {
        let mut at = 0;
        while !is_same(COMMANDS[at].as_bytes(), name.as_bytes()) {
            at += 1;
        }
        Command(at)
    }

    pub fn of(statement: &Statement) -> Command {
        Command::named(name_of(statement))
    }
}

/// What `==` does, which constants do not have.
const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

fn name_of(statement: &Statement) -> &'static str {
    match statement {
        Statement::Query(_) | Statement::SelectInto { .. } | Statement::SelectIntoFile { .. } => "select",
        Statement::Insert(insert) => match (&insert.source, insert.replace) {
            (InsertSource::Rows(_), false) => "insert",
            (InsertSource::Query(_), false) => "insert_select",
            (InsertSource::Rows(_), true) => "replace",
            (InsertSource::Query(_), true) => "replace_select",
        },
        Statement::Update(update) if update.has_one_table() => "update",
        Statement::Update(_) => "update_multi",
        Statement::Delete(delete) if delete.has_one_table() => "delete",
        Statement::Delete(_) => "delete_multi",
        Statement::Explain(_) | Statement::ExplainConnection { .. } | Statement::Describe { .. } => "explain_other",
        Statement::CreateDatabase(_) => "create_db",
        Statement::AlterDatabase(_) => "alter_db",
        Statement::DropDatabase { .. } => "drop_db",
        Statement::CreateTable(_) | Statement::CreateTableSelect(_) => "create_table",
        Statement::CreateIndex(_) => "create_index",
        Statement::DropIndex(_) => "drop_index",
        Statement::AlterTable(_) => "alter_table",
        Statement::DropTable { .. } => "drop_table",
        Statement::TruncateTable(_) => "truncate",
        Statement::RenameTable(_) => "rename_table",
        // MySQL counts an ALTER VIEW as a view that is made.
        Statement::CreateView(_) => "create_view",
        Statement::DropProgram { kind, .. } => match kind {
            ProgramKind::Procedure => "drop_procedure",
            ProgramKind::Function => "drop_function",
            ProgramKind::Trigger => "drop_trigger",
            ProgramKind::Event => "drop_event",
        },
        Statement::DropView { .. } => "drop_view",
        Statement::AnalyzeTable(_) | Statement::ExportStatistics { .. } | Statement::ImportStatistics { .. } => {
            "analyze"
        }
        Statement::CheckTable(_) => "check",
        Statement::OptimizeTable(_) => "optimize",
        Statement::RepairTable(_) => "repair",
        Statement::ChecksumTable { .. } => "checksum",
        Statement::LoadData(_) => "load",
        Statement::Set(_) => "set_option",
        Statement::Show(_) => "show_status",
        Statement::Use(_) => "change_db",
        Statement::Do(_) => "do",
        Statement::Handler(Handler::Open { .. }) => "ha_open",
        Statement::Handler(Handler::Read(_)) => "ha_read",
        Statement::Handler(Handler::Close { .. }) => "ha_close",
        Statement::Kill { .. } => "kill",
        Statement::Flush(_) => "flush",
        Statement::Begin(_) => "begin",
        Statement::Commit(_) => "commit",
        Statement::Rollback(_) => "rollback",
        Statement::Savepoint(_) => "savepoint",
        Statement::RollbackToSavepoint(_) => "rollback_to_savepoint",
        Statement::ReleaseSavepoint(_) => "release_savepoint",
        Statement::LockTables(_) => "lock_tables",
        Statement::UnlockTables => "unlock_tables",
        Statement::Shutdown => "shutdown",
        Statement::Prepare { .. } => "prepare_sql",
        Statement::ExecutePrepared { .. } => "execute_sql",
        Statement::Deallocate { .. } => "dealloc_sql",
        Statement::Account(statement) => name_of_change(statement),
        Statement::SetRole(_) => "set_role",
    }
}

fn name_of_change(statement: &AccountStatement) -> &'static str {
    match statement {
        AccountStatement::CreateUser { .. } => "create_user",
        AccountStatement::AlterUser { .. } => "alter_user",
        AccountStatement::DropUser { .. } => "drop_user",
        AccountStatement::RenameUser(_) => "rename_user",
        AccountStatement::SetPassword { .. } => "set_password",
        AccountStatement::CreateRole { .. } => "create_role",
        AccountStatement::DropRole { .. } => "drop_role",
        AccountStatement::Grant(_) => "grant",
        AccountStatement::GrantRoles(_) => "grant_roles",
        AccountStatement::Revoke(_) => "revoke",
        AccountStatement::RevokeAll { .. } => "revoke_all",
        AccountStatement::RevokeRoles(_) => "revoke_roles",
        AccountStatement::SetDefaultRole { .. } => "alter_user_default_role",
    }
}

impl CommandCounters {
    /// A statement that a client sent, whatever becomes of it.
    pub fn question(&self) {
        self.questions.fetch_add(1, Relaxed);
    }

    /// Statements that clients sent.
    pub fn questions(&self) -> u64 {
        self.questions.load(Relaxed)
    }

    pub fn count(&self, command: Command) {
        self.commands[command.0].fetch_add(1, Relaxed);
    }

    pub fn reset(&self) {
        self.questions.store(0, Relaxed);
        self.commands.iter().for_each(|c| c.store(0, Relaxed));
    }

    /// Names and values as SHOW STATUS gives them.
    pub fn status(&self, out: &mut Vec<(String, String)>) {
        let value = |n: &AtomicU64| n.load(Relaxed).to_string();
        out.extend(COMMANDS.iter().zip(&self.commands).map(|(name, n)| (format!("Com_{name}"), value(n))));
        out.push(("Questions".into(), value(&self.questions)));
        out.push(("Queries".into(), value(&self.questions)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_counter() {
        assert!(COMMANDS.is_sorted());
        let counters = CommandCounters::default();
        for statement in [Statement::Commit(Default::default()), Statement::UnlockTables, Statement::Use(String::new())]
        {
            counters.count(Command::of(&statement));
        }
        let mut out = Vec::new();
        counters.status(&mut out);
        let counted: Vec<&str> = out.iter().filter(|(_, n)| n == "1").map(|(name, _)| name.as_str()).collect();
        assert_eq!(counted, ["Com_change_db", "Com_commit", "Com_unlock_tables"]);
    }
}
