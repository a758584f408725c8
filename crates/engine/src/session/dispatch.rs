//! Which statement does what: a table from the kind of a statement to its handler.

use super::state::SessionState;
use crate::{
    Outcome, alter, ddl, dml,
    explain::{self, Explained},
    loading,
    processes::{INSERTING, UPDATING},
    statement::{Done, StatementContext, evaluate, query},
    virtual_tables::show,
};
use muster_sql::{Explain, ScalarExpr, Statement};
use muster_types::{ErrorCode, Result, SqlError, SqlType, Value};
use std::sync::Arc;

fn done(done: Result<Done>) -> Result<Outcome> {
    done?.outcome()
}

/// DO: expressions are computed for what they do besides.
fn evaluate_all(context: &Arc<StatementContext>, exprs: &[ScalarExpr], parameters: &[Value]) -> Result<Done> {
    exprs.iter().try_for_each(|expr| evaluate(context, expr, parameters).map(drop))?;
    Ok(Done { last_insert_id: context.process.said_insert_id().unwrap_or(0), ..Done::default() })
}

/// Runs a statement that maintains tables.
fn maintain(context: &Arc<StatementContext>, statement: &Statement) -> Result<Done> {
    match statement {
        Statement::AnalyzeTable(analyze) => ddl::analyze(context, analyze),
        Statement::CheckTable(names) => ddl::check_tables(context, names),
        Statement::OptimizeTable(names) => alter::optimize(context, names),
        Statement::RepairTable(names) => ddl::repair_tables(context, names),
        Statement::ChecksumTable { names, quick } => ddl::checksum_tables(context, names, *quick),
        _ => Err(SqlError::internal("a statement that maintains no table")),
    }
}

impl SessionState {
    /// Runs a parsed statement.
    pub fn run(
        &mut self,
        context: &Arc<StatementContext>,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Outcome> {
        use Statement::*;
        self.check_password_changed(Some(statement))?;
        match statement {
            Query(query) => query::select(context, query, parameters).map(Outcome::Rows),
            Insert(insert) => {
                self.forget_insert_id();
                self.process.set_state(INSERTING);
                done(dml::insert(context, insert, parameters))
            }
            Update(update) => {
                self.process.set_state(UPDATING);
                done(dml::update(context, update, parameters))
            }
            Delete(delete) => {
                self.process.set_state(UPDATING);
                done(dml::delete(context, delete, parameters))
            }
            Shutdown => done(self.shut_down(context)),
            SelectInto { .. } | SelectIntoFile { .. } => done(self.select_into_any(context, statement, parameters)),
            Explain(statement) => self.explain(context, statement, parameters),
            ExplainConnection { analyze, format, into, id } => {
                let shown = explain::explain_connection(context, *id, (*analyze, *format), into.as_deref())?;
                self.explained(shown, into.as_deref())
            }
            Describe { table, pattern } => show::describe(context, table, pattern.as_deref()),
            Show(show @ (muster_sql::Show::Warnings { .. } | muster_sql::Show::Errors { .. })) => self.conditions(show),
            Show(show) => show::show(context, show),

            CreateDatabase(statement) => done(ddl::create_database(context, statement)),
            AlterDatabase(statement) => done(ddl::alter_database(context, statement)),
            DropDatabase { name, if_exists } => done(self.drop_database(context, name, *if_exists)),
            CreateTable(statement) => done(ddl::create_table(context, statement)),
            CreateTableSelect(statement) => done(dml::create_table_select(context, statement, parameters)),
            CreateIndex(statement) => done(alter::create_index(context, statement)),
            DropIndex(statement) => done(alter::drop_index(context, statement)),
            AlterTable(statement) => done(alter::alter_table(context, statement)),
            DropTable { names, if_exists, temporary } => done(ddl::drop_tables(context, names, *if_exists, *temporary)),
            TruncateTable(name) => done(ddl::truncate_table(context, name)),
            RenameTable(pairs) => done(ddl::rename_tables(context, pairs)),
            CreateView(statement) => done(ddl::create_view(context, statement)),
            DropProgram { kind, name, if_exists } => done(ddl::drop_program(context, *kind, name, *if_exists)),
            DropView { names, if_exists } => done(ddl::drop_views(context, names, *if_exists)),
            AnalyzeTable(_) | CheckTable(_) | OptimizeTable(_) | RepairTable(_) | ChecksumTable { .. } => {
                done(maintain(context, statement))
            }
            ExportStatistics { tables, path } => done(loading::export_statistics(context, tables, path)),
            ImportStatistics { path } => done(loading::import_statistics(context, path)),
            LoadData(statement) => done(loading::load_data(context, statement, &*self.login.local_files)),

            Set(items) => done(self.set(context, items, parameters)),
            Use(name) => done(self.use_database(name).map(|()| Done::default())),
            Do(exprs) => done(evaluate_all(context, exprs, parameters)),
            Handler(statement) => self.handler(context, statement),
            Kill { query_only, id } => done(self.kill(context, id, *query_only, parameters)),
            Flush(options) => done(self.flush(context, options)),
            Begin(begin) => done(self.begin(context, *begin)),
            Commit(completion) => done(self.commit(context, *completion)),
            Rollback(completion) => done(self.roll_back_warned(context, *completion)),
            Savepoint(name) => done(self.savepoint(name)),
            RollbackToSavepoint(name) => done(self.rollback_to_savepoint(context, name)),
            ReleaseSavepoint(name) => done(self.release_savepoint(name)),
            LockTables(tables) => done(self.lock_tables(context, tables)),
            UnlockTables => done(self.unlock_tables(context)),
            Prepare { name, source } => done(self.prepare_named(name, source)),
            ExecutePrepared { name, variables } => self.execute_named(context, name, variables),
            Deallocate { name } => done(self.deallocate(name)),

            Account(statement) => done(self.change_accounts(context, statement)),
            SetRole(roles) => done(self.set_role(context, roles)),
        }
    }

    /// SHOW WARNINGS and SHOW ERRORS, which leave FOUND_ROWS() as it is.
    fn conditions(&self, show: &muster_sql::Show) -> Result<Outcome> {
        self.process.keep_found_rows();
        let all = &self.conditions.diagnostics;
        match show {
            muster_sql::Show::Warnings { count, offset, limit } => {
                show::conditions(all, false, *count, *offset, *limit)
            }
            muster_sql::Show::Errors { count, offset, limit } => show::conditions(all, true, *count, *offset, *limit),
            _ => Err(SqlError::internal("not SHOW WARNINGS")),
        }
    }

    /// SELECT .. INTO. Warning 3962 for a clause in front of a locking clause.
    fn select_into_any(
        &mut self,
        context: &Arc<StatementContext>,
        statement: &Statement,
        parameters: &[Value],
    ) -> Result<Done> {
        let (Statement::SelectInto { precedes_lock, .. } | Statement::SelectIntoFile { precedes_lock, .. }) = statement
        else {
            return Err(SqlError::internal("not SELECT .. INTO"));
        };
        if *precedes_lock {
            let message = "The INTO clause is deprecated inside query blocks of query expressions and will be removed in a \
                           future release. Please move the INTO clause to the end of statement instead.";
            context.warn(ErrorCode::DeprecatedInnerInto, message);
        }
        match statement {
            Statement::SelectInto { query, variables, .. } => self.select_into(context, query, variables, parameters),
            Statement::SelectIntoFile { query, file, .. } => {
                loading::select_into_file(context, query, file, parameters)
            }
            _ => Err(SqlError::internal("not SELECT .. INTO")),
        }
    }

    fn explain(&mut self, context: &Arc<StatementContext>, statement: &Explain, values: &[Value]) -> Result<Outcome> {
        let shown = explain::explain(context, statement, values)?;
        self.note_short_path(context, statement);
        self.explained(shown, statement.into.as_deref())
    }

    /// Gives the client what EXPLAIN says, or a user variable.
    fn explained(&mut self, shown: Explained, into: Option<&str>) -> Result<Outcome> {
        match into {
            Some(name) => {
                self.set_user_variable(name, shown.into_text()?, SqlType::Null)?;
                Done::default().outcome()
            }
            None => shown.outcome(),
        }
    }

    /// EXPLAIN says in a note that the statement takes the short path. EXPLAIN ANALYZE does not take it.
    fn note_short_path(&mut self, context: &StatementContext, explain: &Explain) {
        if let (false, Statement::Query(query)) = (explain.analyze, &*explain.statement)
            && self.is_short(&query.text)
        {
            context.note(ErrorCode::Yes, "The statement takes the short path: rows are read by key, in place");
        }
    }

    /// `insert_id` is for one statement, which has its value already.
    fn forget_insert_id(&mut self) {
        if self.variables.settings().insert_id.is_some() {
            self.variables.put("insert_id", Value::Int(0));
        }
    }

    /// A session whose database is dropped has none.
    fn drop_database(&mut self, context: &StatementContext, name: &str, if_exists: bool) -> Result<Done> {
        let dropped = ddl::drop_database(context, name, if_exists)?;
        if self.current_database.as_deref() == Some(name) {
            self.leave_database();
        }
        Ok(dropped)
    }
}
