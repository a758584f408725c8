//! Prepared statements: parsed once, bound with each execution's values.

use super::state::SessionState;
use crate::{
    ColumnInfo, Outcome, Prepared,
    command_counters::Command,
    dml,
    statement::{BindEnvironment, Done, StatementContext, StatementTables, query},
    threads,
    variables::Variables,
    virtual_tables::show,
};
use muster_sql::{
    Parameters, PrepareSource, Show, Statement,
    bind::{bind_delete, bind_insert, bind_update},
};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

/// Most prepared statements of a session (MySQL limits those of all: `max_prepared_stmt_count`).
const PREPARED_MAX: usize = 16_382;

#[derive(Clone)]
pub struct PreparedStatement {
    pub text: String,
    pub statement: Arc<Statement>,
    pub parameters: usize,
    pub under: PreparedUnder,
}

/// What a prepared statement keeps of the session that it was prepared in.
#[derive(Clone)]
pub struct PreparedUnder {
    /// The current database, which is the current one again while the statement runs (manual 15.5).
    pub database: Option<String>,
    /// The session's variables. Some of them decide what the statement means while it runs
    /// ([`crate::variables::OF_BINDING`]).
    pub variables: Variables,
}

impl PreparedStatement {
    fn parse(text: &str, under: PreparedUnder) -> Result<PreparedStatement> {
        let statement = muster_sql::parse_under(text, under.variables.settings().modes)?;
        if matches!(
            statement,
            Statement::Prepare { .. }
                | Statement::ExecutePrepared { .. }
                | Statement::Deallocate { .. }
                | Statement::Show(Show::Warnings { .. } | Show::Errors { .. })
        ) {
            return Err(not_preparable());
        }
        let parameters = muster_sql::count_parameters(&statement);
        Ok(PreparedStatement { text: text.into(), statement: Arc::new(statement), parameters, under })
    }
}

/// The columns of a result whose rows nobody wants.
fn columns_of(outcome: Outcome) -> Vec<ColumnInfo> {
    match outcome {
        Outcome::Rows(result) => result.columns,
        _ => Vec::new(),
    }
}

fn not_preparable() -> SqlError {
    let message = "This command is not supported in the prepared statement protocol yet";
    SqlError::new(ErrorCode::Unsupported, message)
}

/// The prepared statements of one session.
#[derive(Default)]
pub struct PreparedStatements {
    /// The statements that the protocol prepared, by their number.
    by_id: HashMap<u32, PreparedStatement>,
    last_id: u32,
    /// The statements of `PREPARE name`, by name in lower case.
    by_name: HashMap<String, PreparedStatement>,
}

impl PreparedStatements {
    /// Drops all statements on a thread of statements: they may be nested deeply, and the thread that closes a session
    /// may have a small stack.
    pub fn clear(&mut self) {
        let dropped = (std::mem::take(&mut self.by_id), std::mem::take(&mut self.by_name));
        if !(dropped.0.is_empty() && dropped.1.is_empty()) {
            threads::drop_elsewhere(dropped);
        }
    }

    /// Error 1461 when there are too many.
    fn check_room(&self) -> Result<()> {
        if self.by_id.len() + self.by_name.len() < PREPARED_MAX {
            return Ok(());
        }
        let message =
            format!("Can't create more than max_prepared_stmt_count statements (current value: {PREPARED_MAX})");
        Err(SqlError::new(ErrorCode::MaxPreparedStatements, message))
    }

    pub fn by_id(&self, id: u32) -> Option<&PreparedStatement> {
        self.by_id.get(&id)
    }

    pub fn named(&self, name: &str) -> Option<&PreparedStatement> {
        self.by_name.get(&name.to_lowercase())
    }

    /// Error 1243.
    fn named_for(&self, name: &str, command: &str) -> Result<PreparedStatement> {
        self.named(name).cloned().ok_or_else(|| {
            let message = format!("Unknown prepared statement handler ({name}) given to {command}");
            SqlError::new(ErrorCode::UnknownStmtHandler, message)
        })
    }
}

impl Drop for PreparedStatements {
    fn drop(&mut self) {
        self.clear();
    }
}

impl SessionState {
    /// The protocol's PREPARE.
    pub fn prepare(&mut self, sql: &str) -> Result<Prepared> {
        self.conditions.begin();
        self.count_question();
        self.count_command(Command::STMT_PREPARE);
        let prepared = catch_unwind(AssertUnwindSafe(|| self.prepare_statement(sql)));
        let prepared = prepared.unwrap_or_else(|panic| Err(threads::panic_error(&*panic)));
        // Nothing is read: the tables that it was bound to are in use no longer.
        self.transaction.end_rows();
        prepared.inspect_err(|e| self.conditions.diagnostics.set_error(e.clone()))
    }

    /// What a statement that is prepared now keeps of the session.
    pub fn prepared_now(&self) -> PreparedUnder {
        PreparedUnder { database: self.current_database.clone(), variables: self.variables.clone() }
    }

    fn prepare_statement(&mut self, sql: &str) -> Result<Prepared> {
        let prepared = PreparedStatement::parse(sql, self.prepared_now())?;
        self.check_password_changed(Some(&prepared.statement))?;
        self.prepared.check_room()?;
        let columns = match &*prepared.statement {
            Statement::Query(query) => {
                let context = self.context(self.process.killed.child_token(), self.variables.clone());
                // Types of parameters are not known yet; what the columns are may still change with their values.
                let (bound, tables) = query::bind_result(&context, query, Parameters::Unknown)?;
                query::column_infos(&bound.outputs, &bound.columns, &tables)
            }
            Statement::Show(listed) => columns_of(show::show(&self.listing_context(), listed)?),
            Statement::Describe { table, pattern } => {
                columns_of(show::describe(&self.listing_context(), table, pattern.as_deref())?)
            }
            _ => {
                self.check_names(&prepared.statement)?;
                Vec::new()
            }
        };
        self.prepared.last_id = self.prepared.last_id.wrapping_add(1).max(1);
        let id = self.prepared.last_id;
        let parameters = prepared.parameters;
        self.prepared.by_id.insert(id, prepared);
        Ok(Prepared { id, parameters, columns })
    }

    /// What a listing is made with for the names of its columns.
    fn listing_context(&self) -> Arc<StatementContext> {
        self.context(self.process.killed.child_token(), self.variables.clone())
    }

    /// Looks up the names of a statement that is prepared, of whose parameters nothing is known. Errors: those of
    /// binding, such as 1054, 1146 and 1305.
    fn check_names(&self, statement: &Statement) -> Result<()> {
        let context = self.context(self.process.killed.child_token(), self.variables.clone());
        let tables = match statement {
            Statement::Query(_) => StatementTables::new,
            // Whoever may only insert into a table need not be able to read it.
            _ => StatementTables::to_change,
        };
        let bound = StatementTables::resolve(&context, tables, |tables| {
            let environment = BindEnvironment::new(&context);
            let env = environment.with(tables, Parameters::Unknown);
            match statement {
                Statement::Query(query) => muster_sql::bind_query(query, &env).map(drop),
                Statement::Insert(insert) => dml::check_insert(&context, &bind_insert(insert, &env)?),
                Statement::Update(update) => dml::check_update(&context, &bind_update(update, &env)?),
                Statement::Delete(delete) => dml::check_delete(&context, &bind_delete(delete, &env)?),
                _ => Ok(()),
            }
        });
        bound.map(drop)
    }

    /// The protocol's statement of this number, for so many values. Errors 1243, 1210.
    pub fn prepared_for(&self, id: u32, parameters: usize) -> Result<PreparedStatement> {
        let prepared = self.prepared.by_id.get(&id).ok_or_else(|| {
            let message = format!("Unknown prepared statement handler ({id}) given to mysqld_stmt_execute");
            SqlError::new(ErrorCode::UnknownStmtHandler, message)
        })?;
        if parameters != prepared.parameters {
            return Err(SqlError::wrong_arguments("mysqld_stmt_execute"));
        }
        Ok(prepared.clone())
    }

    pub fn close_prepared(&mut self, id: u32) {
        self.count_command(Command::STMT_CLOSE);
        threads::drop_elsewhere(self.prepared.by_id.remove(&id));
    }

    /// PREPARE name FROM ..
    pub fn prepare_named(&mut self, name: &str, source: &PrepareSource) -> Result<Done> {
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::Variable(name) => {
                let value = self.user_variables.get(name).and_then(|v| v.to_text(6));
                value.unwrap_or_else(|| "NULL".into())
            }
        };
        // Whatever becomes of this one, the statement of that name is gone.
        self.prepared.by_name.remove(&name.to_lowercase());
        let _memory = self.memory_for(&text)?;
        let prepared = PreparedStatement::parse(&text, self.prepared_now())?;
        self.check_names(&prepared.statement)?;
        self.prepared.check_room()?;
        self.prepared.by_name.insert(name.to_lowercase(), prepared);
        Ok(Done { info: "Statement prepared".into(), ..Done::default() })
    }

    /// EXECUTE name USING ..
    pub fn execute_named(
        &mut self,
        context: &Arc<StatementContext>,
        name: &str,
        variables: &[String],
    ) -> Result<Outcome> {
        let prepared = self.prepared.named_for(name, "EXECUTE")?;
        let value = |v: &String| self.user_variables.get(v).unwrap_or(Value::Null);
        let values: Vec<Value> = variables.iter().map(value).collect();
        if values.len() != prepared.parameters {
            return Err(SqlError::wrong_arguments("EXECUTE"));
        }
        self.count_kind(&prepared.statement);
        self.run(context, &prepared.statement, &values)
    }

    /// DEALLOCATE PREPARE name
    pub fn deallocate(&mut self, name: &str) -> Result<Done> {
        self.prepared.named_for(name, "DEALLOCATE PREPARE")?;
        self.prepared.by_name.remove(&name.to_lowercase());
        Ok(Done::default())
    }
}
