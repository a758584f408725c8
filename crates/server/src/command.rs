//! Commands of a logged-in connection.

use crate::{
    ConnectionError,
    connection::Connection,
    infile,
    reply::{
        self, Status, column,
        result_set::{self, Encoding},
        short_rows::{self, ResultShape, ShortRows},
    },
};
use futures::StreamExt;
use muster_engine::{Outcome, ResultSet, Session, ShortAnswer, ShortStatement};
use muster_protocol::{Fields, Statement, statement_id};
use muster_types::{ErrorCode, SqlError, Value};
use mysql_common::constants::Command;
use std::{future::Future, time::Duration};
use tokio::time::Instant;

/// Prepared statements that one connection may hold (`max_prepared_stmt_count` is per server in MySQL).
const STATEMENTS_MAX: usize = 16_382;

/// The statement that does what COM_REFRESH asks for, whose bits are those of `REFRESH_GRANT` and so on. MySQL answers
/// bits that it does not know with OK, too, if the user has the right to flush.
fn flush_statement(wanted: u8) -> String {
    let options = [(1, "PRIVILEGES"), (2, "LOGS"), (4, "TABLES"), (8, "HOSTS"), (16, "STATUS")];
    let options: Vec<&str> =
        options.into_iter().filter(|(bit, _)| wanted & bit != 0).map(|(_, option)| option).collect();
    match options.is_empty() {
        true => "FLUSH LOGS".to_string(),
        false => format!("FLUSH {}", options.join(", ")),
    }
}

/// The commands that are answered; all others are errors.
fn known_command(code: u8) -> Option<Command> {
    use Command::*;
    [
        COM_QUIT,
        COM_INIT_DB,
        COM_QUERY,
        COM_FIELD_LIST,
        COM_REFRESH,
        COM_DEPRECATED_1,
        COM_STATISTICS,
        COM_PROCESS_INFO,
        COM_PROCESS_KILL,
        COM_PING,
        COM_CHANGE_USER,
        COM_STMT_PREPARE,
        COM_STMT_EXECUTE,
        COM_STMT_SEND_LONG_DATA,
        COM_STMT_CLOSE,
        COM_STMT_RESET,
        COM_SET_OPTION,
        COM_RESET_CONNECTION,
    ]
    .into_iter()
    .find(|c| *c as u8 == code)
}

/// Serves commands until the client leaves, or has been silent for `wait_timeout`: error 4031.
pub(crate) async fn serve(connection: &mut Connection) -> Result<(), ConnectionError> {
    // One timer for all commands: it is set anew when it has expired, or when it would expire too late.
    let timer = tokio::time::sleep(Duration::ZERO);
    tokio::pin!(timer);
    loop {
        connection.packets.start_command();
        let deadline = Instant::now() + connection.session().wait_timeout();
        let payload = {
            let read = connection.packets.read();
            tokio::pin!(read);
            loop {
                if timer.is_elapsed() || deadline < timer.deadline() {
                    timer.as_mut().reset(deadline);
                }
                tokio::select! {
                    biased;
                    payload = &mut read => break payload?,
                    () = &mut timer => {}
                }
                if Instant::now() >= deadline {
                    return Err(ConnectionError::Refused(idle()));
                }
            }
        };
        let Some((code, body)) = payload.split_first() else { return Err(ConnectionError::Closed) };
        let command = known_command(*code);
        if command == Some(Command::COM_QUIT) {
            return Ok(());
        }
        connection.dispatch(command, body).await?;
        connection.packets.flush().await?;
        if connection.session().asks_to_stop() {
            connection.shared.stop.notify_one();
            return Ok(());
        }
        if connection.session().is_released() {
            return Ok(());
        }
    }
}

fn idle() -> SqlError {
    let message = "The client was disconnected by the server because of inactivity. See wait_timeout and \
                   interactive_timeout for configuring this behavior.";
    SqlError::new(ErrorCode::ClientInteractionTimeout, message)
}

impl Connection {
    async fn dispatch(&mut self, command: Option<Command>, body: &[u8]) -> Result<(), ConnectionError> {
        use Command::*;
        match command {
            Some(COM_PING) => self.ok(0, 0, "", false).await,
            Some(COM_QUERY) => self.query(body).await,
            Some(COM_INIT_DB) => {
                let name = self.text(body);
                let done = self.session_mut().use_database(&name);
                self.done(done).await
            }
            Some(COM_FIELD_LIST) => self.field_list(Fields::new(body)).await,
            Some(COM_REFRESH) => {
                let wanted = Fields::new(body).u8().unwrap_or_default();
                self.query(flush_statement(wanted).as_bytes()).await
            }
            Some(COM_STATISTICS) => {
                let text = self.shared.database.statistics_line();
                self.packets.write(text.as_bytes()).await
            }
            Some(COM_PROCESS_KILL) => {
                let id = Fields::new(body).u32().unwrap_or_default();
                self.query(format!("KILL {id}").as_bytes()).await
            }
            // COM_SHUTDOWN, which mariadb-admin sends; MySQL 8 has given the number up.
            Some(COM_DEPRECATED_1) => self.query(b"SHUTDOWN").await,
            Some(COM_PROCESS_INFO) => self.query(b"SHOW PROCESSLIST").await,
            Some(COM_SET_OPTION) => self.set_option(Fields::new(body)).await,
            Some(COM_RESET_CONNECTION) => {
                self.statements.clear();
                self.session_mut().reset();
                self.ok(0, 0, "", false).await
            }
            Some(COM_CHANGE_USER) => self.change_user(Fields::new(body)).await,
            Some(COM_STMT_PREPARE) => self.prepare(body).await,
            Some(COM_STMT_EXECUTE) => self.execute(Fields::new(body)).await,
            Some(COM_STMT_SEND_LONG_DATA) => {
                self.send_long_data(Fields::new(body));
                Ok(())
            }
            Some(COM_STMT_RESET) => self.reset_statement(Fields::new(body)).await,
            Some(COM_STMT_CLOSE) => {
                if let Ok(id) = statement_id(&mut Fields::new(body)) {
                    self.statements.remove(&id);
                    self.session_mut().close_prepared(id);
                }
                Ok(())
            }
            _ => self.error(&SqlError::new(ErrorCode::UnknownCommand, "Unknown command")).await,
        }
    }

    async fn done(&mut self, done: muster_types::Result<()>) -> Result<(), ConnectionError> {
        match done {
            Ok(()) => self.ok(0, 0, "", false).await,
            Err(e) => self.error(&e).await,
        }
    }

    /// COM_QUERY: one statement, or several when the client may send them so.
    async fn query(&mut self, body: &[u8]) -> Result<(), ConnectionError> {
        if let Ok(text) = self.session().statement_text(body)
            && self.answer_short(ShortStatement::Text(&text), Encoding::Text).await?
        {
            return Ok(());
        }
        let statements = self.session().statement_text(body).and_then(|text| match self.session().split(&text)? {
            list if list.is_empty() => Err(SqlError::empty_query()),
            list if list.len() > 1 && !self.multi_statements => Err(SqlError::syntax(&list[1], 1)),
            list => Ok(list),
        });
        let statements = match statements {
            Ok(statements) => statements,
            Err(e) => return self.error(&e).await,
        };
        let last = statements.len() - 1;
        for (i, sql) in statements.into_iter().enumerate() {
            let run = move |mut session: Session| async move {
                let outcome = session.execute_generally(&sql).await;
                (session, outcome)
            };
            let outcome = self.attend(run).await?;
            if !self.reply(outcome, Encoding::Text, i < last).await? {
                break;
            }
        }
        Ok(())
    }

    /// Answers a statement that takes the short path; false for all others, which are yet to run.
    async fn answer_short(
        &mut self,
        statement: ShortStatement<'_>,
        encoding: Encoding,
    ) -> Result<bool, ConnectionError> {
        if self.packets.sequence() != short_rows::FIRST_SEQUENCE {
            return Ok(false);
        }
        let mut rows = std::mem::take(&mut self.short_rows);
        let Status { flags, .. } = self.status_without_warnings();
        rows.reset(ResultShape { charset: self.charset(), capabilities: self.capabilities, encoding, flags });
        let (rows, answer) = self.run_short(statement, rows).await?;
        let answered = !matches!(answer, ShortAnswer::General);
        if let ShortAnswer::Done(outcome) = answer {
            self.reply(outcome, encoding, false).await?;
        } else if answered {
            self.packets.write_packets(&rows.packets, rows.sequence);
            let status = self.status_without_warnings();
            result_set::write_end(&mut self.packets, self.capabilities, status).await?;
        }
        self.short_rows = rows;
        Ok(answered)
    }

    /// Runs a statement that may take the short path, and stops it if the client goes while it waits.
    async fn run_short(
        &mut self,
        statement: ShortStatement<'_>,
        rows: ShortRows,
    ) -> Result<(ShortRows, ShortAnswer), ConnectionError> {
        let Connection { session, packets, .. } = self;
        let session = session.as_mut().ok_or(ConnectionError::Closed)?;
        let interrupt = session.interrupter();
        let run = session.execute_short(statement, rows);
        tokio::pin!(run);
        tokio::select! {
            biased;
            done = &mut run => return Ok(done),
            () = packets.closed() => interrupt(),
        }
        // It ends before its session does.
        run.await;
        Err(ConnectionError::Closed)
    }

    /// Runs a statement in a task of its own, while this one passes on files of the client, and stops the statement
    /// when the client is gone.
    async fn attend<F>(
        &mut self,
        run: impl FnOnce(Session) -> F,
    ) -> Result<muster_types::Result<Outcome>, ConnectionError>
    where
        F: Future<Output = (Session, muster_types::Result<Outcome>)> + Send + 'static,
    {
        let session = self.session.take().ok_or(ConnectionError::Closed)?;
        let interrupt = session.interrupter();
        let mut task = tokio::spawn(run(session));
        loop {
            tokio::select! {
                finished = &mut task => {
                    // A panic is caught by the session; a task that is gone all the same took the session with it.
                    let (session, outcome) = finished.map_err(|_| ConnectionError::Closed)?;
                    self.session = Some(session);
                    return Ok(outcome);
                }
                Some(request) = self.infile.recv() => {
                    if let Err(e) = infile::serve(&mut self.packets, request).await {
                        interrupt();
                        return Err(e);
                    }
                }
                () = self.packets.closed() => {
                    interrupt();
                    return Err(ConnectionError::Closed);
                }
            }
        }
    }

    /// Answers with an outcome; false when it was an error, which ends a row of statements.
    async fn reply(
        &mut self,
        outcome: muster_types::Result<Outcome>,
        encoding: Encoding,
        more: bool,
    ) -> Result<bool, ConnectionError> {
        let failed = match outcome {
            Ok(Outcome::Ok { affected_rows, last_insert_id, info }) => {
                self.ok(affected_rows, last_insert_id, &info, more).await?;
                None
            }
            Ok(Outcome::Rows(rows)) => self.send_rows(rows, encoding, more).await?,
            Err(e) => Some(e),
        };
        if let Some(e) = &failed {
            self.error(e).await?;
        }
        Ok(failed.is_none())
    }

    /// Sends a result set. An error of the query, before or between its rows, is returned to be told to the client.
    async fn send_rows(
        &mut self,
        result: ResultSet,
        encoding: Encoding,
        more: bool,
    ) -> Result<Option<SqlError>, ConnectionError> {
        let ResultSet { columns, mut rows } = result;
        let charset = self.charset();
        let mut head_sent = false;
        loop {
            let batch = tokio::select! {
                batch = rows.next() => batch,
                () = self.packets.closed() => return Err(ConnectionError::Closed),
            };
            if let Some(Err(e)) = batch {
                return Ok(Some(e));
            }
            // The head waits for the first rows, so that a query that fails at once is just an error.
            if !head_sent {
                let status = self.status(false);
                result_set::write_head(&mut self.packets, &columns, charset, self.capabilities, status).await?;
                head_sent = true;
            }
            match batch {
                Some(Ok(batch)) => {
                    result_set::write_rows(&mut self.packets, &columns, &batch, charset, encoding).await?;
                    // Other connections of this thread need not wait for all rows.
                    tokio::task::yield_now().await;
                }
                _ => break,
            }
        }
        drop(rows);
        let status = self.status(more);
        result_set::write_end(&mut self.packets, self.capabilities, status).await?;
        Ok(None)
    }

    /// COM_FIELD_LIST: the columns of a table (the `mariadb` shell completes names with it).
    async fn field_list(&mut self, mut fields: Fields<'_>) -> Result<(), ConnectionError> {
        let table = self.text(fields.null_bytes()).replace('`', "``");
        let sql = format!("SELECT * FROM `{table}` LIMIT 0");
        match self.session_mut().execute(&sql).await {
            Ok(Outcome::Rows(result)) => {
                for info in &result.columns {
                    let mut definition = column::definition(info, self.charset());
                    // The default value, which is not known here: NULL.
                    definition.push(0xFB);
                    self.packets.write(&definition).await?;
                }
                let status = self.status(false);
                self.packets.write(&reply::end_of_rows(self.capabilities, status)).await
            }
            Ok(Outcome::Ok { .. }) => self.error(&SqlError::internal("a SELECT gave no rows")).await,
            Err(e) => self.error(&e).await,
        }
    }

    /// COM_SET_OPTION: multi-statements on (0) or off (1).
    async fn set_option(&mut self, mut fields: Fields<'_>) -> Result<(), ConnectionError> {
        match fields.u16() {
            Some(option @ (0 | 1)) => {
                self.multi_statements = option == 0;
                let status = self.status(false);
                self.packets.write(&reply::end_of_rows(self.capabilities, status)).await
            }
            _ => self.error(&SqlError::new(ErrorCode::UnknownCommand, "Unknown command")).await,
        }
    }

    async fn prepare(&mut self, body: &[u8]) -> Result<(), ConnectionError> {
        if self.statements.len() >= STATEMENTS_MAX {
            let message = "Can't create more than max_prepared_stmt_count statements";
            return self.error(&SqlError::new(ErrorCode::OutOfMemory, message)).await;
        }
        let prepared = match self.session().statement_text(body) {
            Ok(sql) => self.session_mut().prepare(&sql).await,
            Err(e) => Err(e),
        };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(e) => return self.error(&e).await,
        };
        let (Ok(columns), Ok(parameters)) = (u16::try_from(prepared.columns.len()), u16::try_from(prepared.parameters))
        else {
            self.session_mut().close_prepared(prepared.id);
            let message = "Prepared statement contains too many placeholders";
            return self.error(&SqlError::new(ErrorCode::TooManyPlaceholders, message)).await;
        };
        self.statements.insert(prepared.id, Statement::new(prepared.parameters));
        let (status, charset) = (self.status(false), self.charset());
        let mut head = vec![0];
        head.extend_from_slice(&prepared.id.to_le_bytes());
        head.extend_from_slice(&columns.to_le_bytes());
        head.extend_from_slice(&parameters.to_le_bytes());
        head.push(0);
        head.extend_from_slice(&status.warnings.to_le_bytes());
        self.packets.write(&head).await?;
        if parameters > 0 {
            for _ in 0..parameters {
                self.packets.write(&column::parameter()).await?;
            }
            // The end of parameters looks like that of columns: an EOF for those who expect it.
            result_set::write_columns(&mut self.packets, &[], charset, self.capabilities, status).await?;
        }
        if columns > 0 {
            result_set::write_columns(&mut self.packets, &prepared.columns, charset, self.capabilities, status).await?;
        }
        Ok(())
    }

    async fn execute(&mut self, mut fields: Fields<'_>) -> Result<(), ConnectionError> {
        let charset = self.session().client_charset();
        let bound = statement_id(&mut fields).and_then(|id| {
            let statement = self.statements.get_mut(&id).ok_or_else(|| unknown_statement(id, "EXECUTE"))?;
            Ok((id, statement.bind(fields, charset)?))
        });
        let (id, parameters): (u32, Vec<Value>) = match bound {
            Ok(bound) => bound,
            Err(e) => return self.error(&e).await,
        };
        let statement = ShortStatement::Prepared { id, values: &parameters };
        if self.answer_short(statement, Encoding::Binary).await? {
            return Ok(());
        }
        let run = move |mut session: Session| async move {
            let outcome = session.execute_prepared_generally(id, &parameters).await;
            (session, outcome)
        };
        let outcome = self.attend(run).await?;
        self.reply(outcome, Encoding::Binary, false).await?;
        Ok(())
    }

    /// No reply, not even to an error: it shows when the statement is executed.
    fn send_long_data(&mut self, mut fields: Fields<'_>) {
        let added = statement_id(&mut fields).and_then(|id| match self.statements.get_mut(&id) {
            Some(statement) => statement.add_long_data(fields, self.packets.max_payload),
            None => Err(unknown_statement(id, "SEND_LONG_DATA")),
        });
        if let Err(e) = added {
            tracing::debug!("long data: {e}");
        }
    }

    async fn reset_statement(&mut self, mut fields: Fields<'_>) -> Result<(), ConnectionError> {
        let done = statement_id(&mut fields).and_then(|id| match self.statements.get_mut(&id) {
            Some(statement) => {
                statement.reset();
                Ok(())
            }
            None => Err(unknown_statement(id, "RESET")),
        });
        self.done(done).await
    }
}

fn unknown_statement(id: u32, command: &str) -> SqlError {
    SqlError::new(
        ErrorCode::UnknownStmtHandler,
        format!("Unknown prepared statement handler ({id}) given to mysqld_stmt_{}", command.to_lowercase()),
    )
}
