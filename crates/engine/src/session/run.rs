//! Which statement does what.

use super::{Session, explain, prepared::PreparedStatement, set};
use crate::{
    Outcome,
    accounts::Privilege,
    ddl, loading, rows,
    statement::{Context, Done, query},
    threads::blocking,
    virtual_tables::show,
};
use futures::{FutureExt, future::BoxFuture};
use muster_sql::{FlushOption, PrepareSource, Statement};
use muster_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;

fn done(done: Done) -> Result<Outcome> {
    match done.result {
        Some((columns, values)) => rows::outcome(columns, &values),
        None => Ok(Outcome::Ok { affected_rows: done.affected_rows, last_insert_id: 0, info: done.info }),
    }
}

fn nothing() -> Result<Outcome> {
    done(Done::default())
}

impl Session {
    /// Runs a parsed statement. Boxed here, so that crates that run statements do not compile all of this anew: the body
    /// of an async function is compiled where it is first awaited.
    #[inline(never)]
    pub(super) fn run<'a>(
        &'a mut self,
        context: &'a Arc<Context>,
        statement: Arc<Statement>,
        parameters: &'a [Value],
    ) -> BoxFuture<'a, Result<Outcome>> {
        self.dispatch(context, statement, parameters).boxed()
    }

    async fn dispatch(
        &mut self,
        context: &Arc<Context>,
        statement: Arc<Statement>,
        parameters: &[Value],
    ) -> Result<Outcome> {
        /// DDL: blocks, and looks at nothing but the context and its part of the statement.
        macro_rules! ddl {
            ($pattern:pat => $call:expr) => {{
                let (context, statement) = (context.clone(), statement.clone());
                let work = move || {
                    let call: fn(&Context, &Statement) -> Result<Done> = |context, statement| match statement {
                        $pattern => {
                            let call: &dyn Fn(&Context) -> Result<Done> = &$call;
                            call(context)
                        }
                        _ => Err(SqlError::internal("not the statement it was")),
                    };
                    call(&context, &statement)
                };
                done(blocking(work).await?)
            }};
        }
        use Statement::*;
        match &*statement {
            Query(query) => Ok(Outcome::Rows(query::select(context, query, parameters).await?.1)),
            SelectInto { query, variables } => self.select_into(context, query, variables, parameters).await,
            Explain(explain) => explain::explain(context, explain, parameters).await,
            Describe { table, pattern } => show::describe(context, table, pattern.as_deref()),
            Show(show) => self.show(context, show).await,

            CreateDatabase(_) => ddl!(CreateDatabase(s) => |c| ddl::create_database(c, s)),
            AlterDatabase(_) => ddl!(AlterDatabase(s) => |c| ddl::alter_database(c, s)),
            DropDatabase { name, .. } => {
                let outcome = ddl!(DropDatabase { name, if_exists } => |c| ddl::drop_database(c, name, *if_exists))?;
                if self.current_database.as_ref() == Some(name) {
                    self.leave_database();
                }
                Ok(outcome)
            }
            CreateTable(_) => ddl!(CreateTable(s) => |c| ddl::create_table(c, s)),
            CreateIndex(_) => ddl!(CreateIndex(s) => |c| ddl::create_index(c, s)),
            DropIndex { .. } => ddl!(DropIndex { name, table } => |c| ddl::drop_index(c, name, table)),
            AlterTable(_) => ddl!(AlterTable(s) => |c| ddl::alter_table(c, s)),
            DropTable { .. } => ddl!(DropTable { names, if_exists } => |c| ddl::drop_tables(c, names, *if_exists)),
            TruncateTable(_) => ddl!(TruncateTable(name) => |c| ddl::truncate_table(c, name)),
            RenameTable(_) => ddl!(RenameTable(pairs) => |c| ddl::rename_tables(c, pairs)),
            CreateView(_) => ddl!(CreateView(s) => |c| ddl::create_view(c, s)),
            DropView { .. } => ddl!(DropView { names, if_exists } => |c| ddl::drop_views(c, names, *if_exists)),
            AnalyzeTable(_) => ddl!(AnalyzeTable(names) => |c| ddl::analyze(c, names)),
            LoadData(_) => {
                let files = self.local_files.clone();
                let (context, statement) = (context.clone(), statement.clone());
                let work = move || match &*statement {
                    LoadData(s) => loading::load_data(&context, s, &*files),
                    _ => Err(SqlError::internal("not the statement it was")),
                };
                done(blocking(work).await?)
            }

            Set(items) => {
                self.set(context, items, parameters).await?;
                nothing()
            }
            Use(name) => {
                self.use_database(name)?;
                nothing()
            }
            Do(exprs) => {
                for expr in exprs {
                    set::evaluate(context, expr, parameters).await?;
                }
                nothing()
            }
            Kill { query_only, id } => {
                let id = match set::evaluate(context, id, parameters).await? {
                    Value::Int(i) => u32::try_from(i).ok(),
                    Value::UInt(u) => u32::try_from(u).ok(),
                    Value::Text(s) => s.trim().parse().ok(),
                    _ => None,
                };
                self.kill(context, id, *query_only)?;
                nothing()
            }
            Flush(options) => {
                for option in options {
                    context.access.check_global(Privilege::Reload)?;
                    if *option == FlushOption::Status {
                        self.flush_status();
                    }
                }
                nothing()
            }
            // Every statement reads what is committed and writes nothing that could be taken back.
            Begin { .. } | Commit | Rollback | UnlockTables => nothing(),
            Savepoint(name) => {
                self.savepoints.push(name.to_lowercase());
                nothing()
            }
            RollbackToSavepoint(name) | ReleaseSavepoint(name) => {
                let name = name.to_lowercase();
                let found = self.savepoints.iter().rposition(|s| *s == name);
                let at = found.ok_or_else(|| {
                    SqlError::new(ErrorCode::FunctionDoesNotExist, format!("SAVEPOINT {name} does not exist"))
                })?;
                let keep = if matches!(&*statement, ReleaseSavepoint(_)) { at } else { at + 1 };
                self.savepoints.truncate(keep);
                nothing()
            }
            LockTables(_) => Err(SqlError::unsupported("LOCK TABLES")),

            Prepare { name, source } => {
                let text = match source {
                    PrepareSource::Text(text) => text.clone(),
                    PrepareSource::Variable(name) => {
                        let value = self.user_variables.get(&name.to_lowercase()).and_then(|v| v.to_text(6));
                        value.unwrap_or_else(|| "NULL".into())
                    }
                };
                let _memory = self.memory_for(&text)?;
                let prepared = PreparedStatement::parse(&text)?;
                self.check_prepared_room()?;
                self.named_statements.insert(name.to_lowercase(), prepared);
                nothing()
            }
            ExecutePrepared { name, variables } => {
                let prepared = self.named_statement(name, "EXECUTE")?;
                let values: Vec<Value> = variables
                    .iter()
                    .map(|v| self.user_variables.get(&v.to_lowercase()).cloned().unwrap_or(Value::Null))
                    .collect();
                if values.len() != prepared.parameters {
                    return Err(SqlError::new(ErrorCode::WrongArguments, "Incorrect arguments to EXECUTE"));
                }
                Box::pin(self.run(context, prepared.statement.clone(), &values)).await
            }
            Deallocate { name } => {
                self.named_statement(name, "DEALLOCATE PREPARE")?;
                self.named_statements.remove(&name.to_lowercase());
                nothing()
            }

            CreateUser { if_not_exists, users } => {
                let existing =
                    self.database.accounts().create_users(&context.access, &context.account, users, *if_not_exists)?;
                for name in existing {
                    let message = format!("Authorization ID {name} already exists.");
                    context.note(ErrorCode::UserAlreadyExists, message);
                }
                nothing()
            }
            AlterUser { if_exists, users } => {
                let missing =
                    self.database.accounts().alter_users(&context.access, &context.account, users, *if_exists)?;
                note_missing_users(context, missing);
                nothing()
            }
            DropUser { if_exists, users } => {
                let missing =
                    self.database.accounts().drop_users(&context.access, &context.account, users, *if_exists)?;
                note_missing_users(context, missing);
                nothing()
            }
            SetPassword { user, password } => {
                let name = user.clone().unwrap_or(muster_sql::UserName {
                    user: String::new(),
                    host: String::new(),
                    current: true,
                });
                let authentication = muster_sql::Authentication::Password { plugin: None, password: password.clone() };
                let spec = muster_sql::UserSpec { name, authentication: Some(authentication) };
                self.database.accounts().alter_users(&context.access, &context.account, &[spec], false)?;
                nothing()
            }
            Grant(grant) => {
                let database = context.current_database.as_deref();
                self.database.accounts().grant(&context.access, &context.account, database, grant)?;
                nothing()
            }
            Revoke(grant) => {
                let database = context.current_database.as_deref();
                self.database.accounts().revoke(&context.access, &context.account, database, grant)?;
                nothing()
            }
        }
    }

    /// `SELECT .. INTO @a, @b`: at most one row. Errors 1172, 1222; warning 1329 without a row.
    async fn select_into(
        &mut self,
        context: &Arc<Context>,
        query: &muster_sql::Query,
        variables: &[String],
        parameters: &[Value],
    ) -> Result<Outcome> {
        let (count, result) = query::select(context, query, parameters).await?;
        if count != variables.len() {
            let message = "The used SELECT statements have a different number of columns";
            return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, message));
        }
        let mut rows = query::first_values(result, 2).await?.into_iter();
        let Some(row) = rows.next() else {
            let message = "No data - zero rows fetched, selected, or processed";
            context.warn(ErrorCode::SpFetchNoData, message);
            return nothing();
        };
        for (name, value) in variables.iter().zip(row) {
            self.set_user_variable(name, value)?;
        }
        match rows.next() {
            None => done(Done::rows(1)),
            Some(_) => Err(SqlError::new(ErrorCode::TooManyRows, "Result consisted of more than one row")),
        }
    }

    /// Own sessions without further rights, those of others with SUPER.
    fn kill(&self, context: &Context, id: Option<u32>, query_only: bool) -> Result<()> {
        let shown = id.map_or_else(|| "NULL".into(), |id| id.to_string());
        let target = id.and_then(|id| self.database.sessions().get(id));
        let target =
            target.ok_or_else(|| SqlError::new(ErrorCode::NoSuchThread, format!("Unknown thread id: {shown}")))?;
        if target.user() != context.access.user && !context.access.global().has(Privilege::Super) {
            return Err(SqlError::new(ErrorCode::KillDenied, format!("You are not owner of thread {shown}")));
        }
        self.database.kill(target.id, query_only)
    }
}

fn note_missing_users(context: &Context, missing: Vec<String>) {
    for name in missing {
        context.note(ErrorCode::UserDoesNotExist, format!("Authorization ID {name} does not exist."));
    }
}
