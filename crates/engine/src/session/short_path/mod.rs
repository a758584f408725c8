//! Statements on the short path.
//!
//! ```text
//!   mod.rs        which statement takes it: the search for its plan
//!   learn.rs      a plan that the cache does not have yet
//!   read.rs       SELECT, also with locks
//!   change.rs     changes of rows
//!   lock_wait.rs  a statement that waits for a lock in its task
//!   transact.rs   BEGIN, COMMIT, ROLLBACK
//! ```

mod change;
mod learn;
mod lock_wait;
mod read;
mod transact;

use super::{Session, state::SessionState};
use crate::{
    Outcome,
    accounts::AccountKey,
    processes::Begun,
    short_path::{
        Epoch, KeptQuery, Known, Moment, RowSink, ShortPlan, ShortWrite, TextVariable, ValueList, ValueRules,
        add_class, is_small, parameterize, variables_of, with_limits,
    },
    statement::{Clock, KeptRun},
    variables::{self, Variables},
};
use muster_algebra::Switch;
use muster_types::{Collation, Result, Value};
use std::{
    borrow::Cow,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

/// The plan that the cache has for a statement.
enum FoundPlan {
    Plan(Arc<ShortPlan>),
    Write(Arc<ShortWrite>),
}

/// A statement that may take the short path.
#[derive(Debug, Clone, Copy)]
pub enum ShortStatement<'a> {
    Text(&'a str),
    /// A prepared statement of the protocol with its values.
    Prepared {
        id: u32,
        values: &'a [Value],
    },
}

/// The answer of the short path to a statement.
pub enum ShortAnswer {
    /// It is yet to run on the general path.
    General,
    /// The sink has its rows.
    Rows,
    /// It has ended without rows.
    Done(Result<Outcome>),
}

/// What the short path keeps of a session from statement to statement.
#[derive(Default)]
pub struct ShortPath {
    settings: Option<Settings>,
    /// The statement that was looked for last: its key in the cache, its text with `?` for its values, and these.
    key: Vec<u8>,
    text: String,
    values: Vec<Value>,
    list: Option<ValueList>,
    /// The system variables in its text.
    variables: Vec<TextVariable>,
    /// True if it is a prepared statement of the protocol.
    is_prepared: bool,
    /// True if the cache did not know it.
    is_unknown: bool,
    /// The states of tables and accounts that the cache was asked for.
    epoch: Option<Epoch>,
    /// The query that the general path keeps for it.
    kept: Option<KeptStatement>,
}

/// A kept query whose statement is yet to run on the general path.
struct KeptStatement {
    query: Arc<KeptQuery>,
    /// As it was asked: the text, and the values of a prepared statement.
    text: String,
    given: Option<Vec<Value>>,
    /// The values in the places of the kept statement's `?`.
    values: Vec<Value>,
}

/// What a statement means besides its text, as long as the session's variables and names stay the same.
struct Settings {
    variables: Variables,
    database: Option<String>,
    user: String,
    account_host: String,
    has_temporary: bool,
    roles: Vec<AccountKey>,
    /// By which the cache tells settings apart.
    number: u32,
    is_allowed: bool,
    collation: Collation,
    slow_after: Duration,
    /// `max_execution_time`; zero: as long as it takes.
    longest: Duration,
}

impl ShortPath {
    /// Notes a statement without values that the cache is not asked for.
    pub fn note(&mut self, text: &str, is_prepared: bool) {
        self.values.clear();
        (self.list, self.kept) = (None, None);
        text.clone_into(&mut self.text);
        (self.is_prepared, self.is_unknown) = (is_prepared, false);
    }

    /// Returns true if that is a prepared statement of the protocol.
    pub fn is_prepared(&self) -> bool {
        self.is_prepared
    }
}

impl Session {
    /// Runs a statement on the short path, on the caller's thread unless a page has to be read. Returns the sink, and
    /// what became of the statement.
    pub async fn execute_short<S>(&mut self, statement: ShortStatement<'_>, sink: S) -> (S, ShortAnswer)
    where
        S: RowSink + Default + Send + 'static,
    {
        self.begun_short = None;
        if let Some(outcome) = self.transact_short(statement).await {
            return (sink, ShortAnswer::Done(outcome));
        }
        let found = {
            let mut state = self.state.lock();
            match state.find_short(statement) {
                Some(found) => Some((Some(found), state.begin_short(statement))),
                None if state.short_path.is_unknown => Some((None, state.begin_short(statement))),
                None => None,
            }
        };
        let (found, begun) = match found {
            Some((None, begun)) => {
                let (known, found) = self.learn_short(&begun).await;
                if let Some(known) = known {
                    self.state.lock().note_kept(&known, statement);
                }
                (found, begun)
            }
            Some((found, begun)) => (found, begun),
            None => return (sink, ShortAnswer::General),
        };
        match found {
            Some(FoundPlan::Plan(plan)) => self.read_short(plan, begun, sink).await,
            Some(FoundPlan::Write(write)) => (sink, self.write_short(write, begun).await),
            None => {
                self.begun_short = Some(begun);
                (sink, ShortAnswer::General)
            }
        }
    }

    /// The plan of a statement that the cache does not know.
    async fn learn_short(&mut self, begun: &Begun) -> (Option<Known>, Option<FoundPlan>) {
        let cancel = begun.cancel.clone();
        let learnt = self.on_statement_thread(|state| Ok(state.learn_and_keep(cancel))).await;
        // What is wrong with the statement, the general path tells.
        learnt.map_or((None, None), |(known, found)| (Some(known), found))
    }

    /// Begins a statement on the general path. One that the short path left goes on, so that what stopped it there
    /// stops it here, and its time counts from its first beginning.
    pub(super) fn begin_generally(&mut self, text: &str) -> Begun {
        self.begun_short.take().unwrap_or_else(|| self.process.begin(text))
    }
}

impl SessionState {
    /// The settings as they are now.
    fn settings(&mut self) -> &Settings {
        let known = self.short_path.settings.take().filter(|s| {
            s.variables.is_same(&self.variables)
                && s.database == self.current_database
                && s.user == self.login.user
                && s.account_host == self.login.account_host
                && s.has_temporary == self.tables.has_temporary()
                && s.roles == self.login.roles()
        });
        let settings = known.unwrap_or_else(|| self.new_settings());
        self.short_path.settings.insert(settings)
    }

    fn new_settings(&self) -> Settings {
        let variables = &self.variables;
        let text = |name| variables.text(name);
        let names = [
            "collation_connection",
            "time_zone",
            "optimizer_switch",
            // Which ranges are locked decides how rows are found.
            "transaction_isolation",
        ];
        let names = names.into_iter().chain([variables::OF_BINDING, variables::OF_PLANS].concat());
        let database = self.current_database.as_deref();
        let has_temporary = self.tables.has_temporary();
        let all: Vec<String> = [self.login.user.clone(), self.login.host.clone(), self.login.account_host.clone()]
            .into_iter()
            .chain([format!("{database:?}"), variables.costs().number.to_string(), format!("{:?}", self.login.roles())])
            // Names mean something else where there are temporary tables.
            .chain(has_temporary.then(|| format!("session {}", self.process.id)))
            .chain(names.map(text))
            .collect();
        let milliseconds = variables.unsigned("max_execution_time");
        Settings {
            number: self.database.plans().settings(all.join("\0")),
            is_allowed: !variables.settings().traces_optimizer
                && variables::optimizer_options(variables).is_on(Switch::ShortPath)
                && variables.unsigned("sql_select_limit") == u64::MAX
                && !variables.is_on("sql_safe_updates"),
            collation: Collation::from_name(&text("collation_connection")).unwrap_or(Collation::DEFAULT),
            slow_after: self.slow_after(),
            longest: Duration::from_millis(milliseconds),
            variables: variables.clone(),
            database: self.current_database.clone(),
            user: self.login.user.clone(),
            account_host: self.login.account_host.clone(),
            has_temporary,
            roles: self.login.roles().to_vec(),
        }
    }

    /// Looks in the cache for the plan of a statement and notes its values. If the cache does not know the statement,
    /// that is noted too.
    fn find_short(&mut self, statement: ShortStatement<'_>) -> Option<FoundPlan> {
        (self.short_path.is_unknown, self.short_path.kept) = (false, None);
        let is_allowed = self.is_short_path_on();
        // Reads of such a transaction lock what they read.
        let shares = self.shares_transaction();
        let reads_lock = self.reads_lock(shares);
        if !is_allowed || self.process.killed.is_cancelled() {
            return None;
        }
        let (number, modes) = (self.short_path.settings.as_ref()?.number, self.modes());
        let ShortPath { key, text, values, list, variables, is_prepared, is_unknown, epoch, .. } = &mut self.short_path;
        *is_prepared = matches!(statement, ShortStatement::Prepared { .. });
        match statement {
            ShortStatement::Text(sql) if parameterize(sql, modes, text, values, list) => {}
            ShortStatement::Text(_) => return None,
            ShortStatement::Prepared { id, values: given } => {
                let prepared = self.prepared.by_id(id).filter(|p| p.parameters == given.len())?;
                let is_here = prepared.under.database == self.current_database;
                if !is_here
                    || prepared.under.variables.differ_for_binding(&self.variables)
                    || !is_small(&prepared.text, given.len())
                    || prepared.text.contains("/*")
                {
                    return None;
                }
                match with_limits(&prepared.text, given, text) {
                    Some(others) => *values = others.to_vec(),
                    None => {
                        text.clone_from(&prepared.text);
                        *values = given.to_vec();
                    }
                }
                *list = None;
            }
        }
        key.clear();
        key.extend_from_slice(&number.to_le_bytes());
        values.iter().try_for_each(|value| add_class(value, *is_prepared, key))?;
        if let Some(list) = list {
            key.extend([b'L', list.index as u8]);
        }
        variables.clear();
        if text.as_bytes().contains(&b'@') {
            let globals = self.database.globals();
            *variables = variables_of(text, |scope, name| variables::value_of(scope, name, &self.variables, &globals))?;
            for variable in &*variables {
                key.extend_from_slice(format!("@{:?}", variable.value).as_bytes());
            }
        }
        key.push(0);
        key.extend_from_slice(text.as_bytes());
        let (tables, accounts) = (self.tables.current(), self.database.accounts().list());
        *epoch = shares.then(|| Epoch::of(&tables, &accounts));
        let Some(known) = self.database.plans().get(key, &tables, &accounts) else {
            *is_unknown = true;
            return None;
        };
        self.note_kept(&known, statement);
        known.found(reads_lock)
    }

    /// Notes what the general path keeps of a statement that was looked for.
    fn note_kept(&mut self, known: &Known, statement: ShortStatement<'_>) {
        let Some(query) = known.kept() else { return };
        let (text, given) = match statement {
            ShortStatement::Text(sql) => (sql.to_owned(), None),
            ShortStatement::Prepared { id, values } => match self.prepared.by_id(id) {
                Some(prepared) => (prepared.text.to_string(), Some(values.to_vec())),
                None => return,
            },
        };
        let values = self.short_path.values.clone();
        self.short_path.kept = Some(KeptStatement { query, text, given, values });
    }

    /// Returns true if the statement that was looked for last is a query that is over soon by estimate, and does not
    /// wait for locks of tables.
    pub(super) fn has_light_query(&self) -> bool {
        let is_light = self.short_path.kept.as_ref().is_some_and(|kept| kept.query.is_light(&kept.values));
        is_light && !self.reads_lock(true) && self.transaction.locks().is_free_for_readers()
    }

    /// The query that the general path keeps for a statement, with its values, if that was looked for last.
    /// `given`: the values of a prepared one.
    pub(super) fn take_kept(&mut self, text: &str, given: Option<&[Value]>) -> Option<KeptRun> {
        let kept = self.short_path.kept.take()?;
        if kept.text != text || kept.given.as_deref() != given {
            return None;
        }
        let modes = self.variables.settings().date_modes;
        let values = kept.query.rules().apply(&kept.values, None, modes, || self.moment())?.into_owned();
        Some(KeptRun { query: kept.query, values, text: given.is_none().then_some(kept.text) })
    }

    /// Returns true unless the session has turned the short path off, its transaction can only be rolled back, or its
    /// password has to be changed.
    pub fn is_short_path_on(&mut self) -> bool {
        self.settings().is_allowed && !self.transaction.is_half_undone() && !self.login.must_change_password
    }

    /// What values of the moment are taken from.
    fn moment(&self) -> Moment {
        self.moment_at(&self.clock(self.variables.settings()))
    }

    /// The values that the statement which was looked for last runs with. `None` if the general path has to tell what
    /// one of them means.
    fn values_for(&self, rules: &ValueRules, moment: impl FnOnce() -> Moment) -> Option<Cow<'_, [Value]>> {
        let modes = self.variables.settings().date_modes;
        rules.apply(&self.short_path.values, self.short_path.list.as_ref(), modes, moment)
    }

    fn values_at(&self, rules: &ValueRules, clock: &Clock) -> Option<Cow<'_, [Value]>> {
        self.values_for(rules, || self.moment_at(clock))
    }

    fn moment_at(&self, clock: &Clock) -> Moment {
        Moment { now: clock.now_datetime(), last_insert_id: self.process.last_insert_id.load(Relaxed) }
    }

    /// Begins a statement.
    pub fn begin_short(&self, statement: ShortStatement<'_>) -> Begun {
        let text = match statement {
            ShortStatement::Text(sql) => sql,
            ShortStatement::Prepared { .. } => &self.short_path.text,
        };
        let slow_after = self.short_path.settings.as_ref().map_or(Duration::MAX, |s| s.slow_after);
        self.process.begin_timed(text, slow_after)
    }

    /// Returns true if a statement that uses tables takes the short path, as far as is known before it runs. What is
    /// learnt of it is not kept.
    pub fn is_short(&mut self, sql: &str) -> bool {
        let found = match self.find_short(ShortStatement::Text(sql)) {
            None if self.short_path.is_unknown => self.learn(self.process.killed.child_token()).0.found(false),
            found => found,
        };
        found.is_some_and(|found| match found {
            FoundPlan::Plan(plan) => !plan.used().is_empty(),
            FoundPlan::Write(_) => true,
        })
    }
}

impl Known {
    /// The plan that a statement takes. `reads_lock`: reads lock what they read.
    fn found(&self, reads_lock: bool) -> Option<FoundPlan> {
        match self {
            Known::Plan(plan) if reads_lock && !plan.locks_rows() => None,
            Known::Plan(plan) => Some(FoundPlan::Plan(plan.clone())),
            Known::Write(write) => Some(FoundPlan::Write(write.clone())),
            Known::General(_) | Known::GeneralForNow(_) => None,
        }
    }

    /// The query that the general path keeps for the statement.
    fn kept(&self) -> Option<Arc<KeptQuery>> {
        match self {
            Known::General(kept) | Known::GeneralForNow(kept) => kept.clone(),
            Known::Plan(_) | Known::Write(_) => None,
        }
    }
}
