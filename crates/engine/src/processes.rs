//! The view that other sessions have of a session: its line in the process list, its counters, and the way to stop it.

use crate::command_counters::CommandCounters;
use muster_algebra::{Columns, Plan, Statistics};
use muster_exec::{Profile, QueryCounters, counters::OperatorCounter};
use muster_sql::Isolation;
use muster_storage::mutex::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime},
};
use tokio_util::sync::CancellationToken;

/// Longest statement text that the process list keeps, in bytes.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// The state of a statement that computes, as SHOW PROCESSLIST shows it.
pub const EXECUTING: &str = "executing";
/// The states of statements that change rows, also while they wait for locks of rows.
pub const INSERTING: &str = "update";
pub const UPDATING: &str = "updating";
/// The state of a heavy statement in the queue.
pub const WAITING_FOR_ADMISSION: &str = "Waiting for admission";
/// The state of a statement that waits for a lock of a whole table.
pub const WAITING_FOR_TABLE: &str = "Waiting for table metadata lock";
/// The state of FLUSH TABLES while it waits for statements that use a table.
pub const WAITING_FOR_FLUSH: &str = "Waiting for table flush";
/// Bytes of a statement's text that reports of locks show at most, as in InnoDB.
const STATEMENT_SHOWN_BYTES: usize = 1024;
/// Longer texts do not leave their memory to the next statement, in bytes.
const SPARE_BYTES_MAX: usize = 4096;

/// One line of SHOW PROCESSLIST.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub id: u32,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: String,
    pub seconds: u64,
    pub state: String,
    pub statement: Option<String>,
}

struct Activity {
    user: String,
    host: String,
    database: Option<String>,
    statement: Option<String>,
    /// The beginning of that text, once a transaction has asked for it.
    shown: Option<Arc<str>>,
    /// Memory for the text of the next statement.
    spare: String,
    since: Instant,
    /// The step that the statement is at, in the words of the process list.
    state: &'static str,
    /// A statement that takes longer is slow.
    slow_after: Duration,
    /// The plan of the statement that runs.
    running: Option<Arc<RunningPlan>>,
    /// Number of the statement that runs or ran last.
    number: u64,
    cancel: CancellationToken,
}

/// What the optimizer considered for one statement, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptimizerTrace {
    pub query: String,
    pub trace: String,
    /// Bytes of the trace that `optimizer_trace_max_mem_size` has cut.
    pub missing_bytes: u64,
}

/// The optimizer traces that a session keeps.
#[derive(Debug, Default)]
pub struct TraceLog {
    /// `optimizer_trace_offset` and `optimizer_trace_limit` that they were kept under.
    pub window: (i64, u64),
    /// Number of statements traced under these.
    pub count: u64,
    pub kept: VecDeque<OptimizerTrace>,
}

impl TraceLog {
    /// Keeps a trace, if the window says so: the first ones from an offset on or, with a negative one, the last ones.
    pub fn push(&mut self, trace: OptimizerTrace, window: (i64, u64)) {
        if self.window != window {
            *self = TraceLog { window, ..TraceLog::default() };
        }
        let number = self.count;
        self.count += 1;
        match u64::try_from(window.0) {
            Ok(offset) if number < offset || number - offset >= window.1 => {}
            Ok(_) => self.kept.push_back(trace),
            Err(_) => {
                self.kept.push_back(trace);
                let most = usize::try_from(window.0.unsigned_abs()).unwrap_or(usize::MAX);
                while self.kept.len() > most {
                    self.kept.pop_front();
                }
            }
        }
    }

    /// The traces that are shown.
    pub fn shown(&self) -> impl Iterator<Item = &OptimizerTrace> {
        self.kept.iter().take(usize::try_from(self.window.1).unwrap_or(usize::MAX))
    }
}

/// The plan of a statement that runs, for EXPLAIN FOR CONNECTION.
pub struct RunningPlan {
    pub plan: Arc<Plan>,
    pub columns: Arc<Columns>,
    pub statistics: Arc<dyn Statistics>,
    /// What its operators have done so far; `None` if it is expected to end soon.
    pub profile: Option<Arc<Profile>>,
}

/// The beginning of a text, of so many bytes at most.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// An open transaction, as other sessions see it.
#[derive(Debug, Clone, Copy)]
pub struct OpenTransaction {
    pub began: SystemTime,
    /// One of its statements has used tables.
    pub uses_tables: bool,
    pub isolation: Isolation,
    pub read_only: bool,
}

/// The transaction of a session, as other sessions see it.
pub trait SeenTransaction: Send + Sync {
    /// The transaction that is open; `None` between transactions, and while a statement is one of its own.
    fn seen(&self) -> Option<OpenTransaction>;
}

/// The shared part of a session. Results that are still read keep it alive.
pub struct SessionShared {
    pub id: u32,
    pub counters: Arc<QueryCounters>,
    /// The session's transaction, once the session has been made.
    pub transaction: OnceLock<Weak<dyn SeenTransaction>>,
    pub commands: CommandCounters,
    pub killed: CancellationToken,
    activity: Mutex<Activity>,
    /// The optimizer traces of its last statements (`information_schema.OPTIMIZER_TRACE`).
    pub optimizer_traces: Mutex<TraceLog>,
    /// FOUND_ROWS() and ROW_COUNT().
    pub found_rows: AtomicI64,
    /// FOUND_ROWS() as it is once the statement that runs has ended, [`NOT_COUNTED`] if that is the number of its rows.
    pub counted_rows: AtomicI64,
    /// True once COMMIT RELEASE or ROLLBACK RELEASE has ended the session.
    released: AtomicBool,
    /// True once the session has asked the server to end.
    asks_to_stop: AtomicBool,
    pub row_count: AtomicI64,
    pub last_insert_id: AtomicU64,
    /// True once the statement that runs has said what LAST_INSERT_ID() is (`LAST_INSERT_ID(id)`).
    pub has_said_insert_id: AtomicBool,
    /// True while `sql_mode` has NO_BACKSLASH_ESCAPES.
    pub no_backslash_escapes: AtomicBool,
    /// The optimizer's estimate for the last query: the bits of a number of milliseconds.
    pub last_query_cost: AtomicU64,
    /// The status variables of the connection that only the server knows (`Ssl_cipher`).
    pub connection_status: Mutex<BTreeMap<&'static str, String>>,
}

/// A statement that has begun.
#[derive(Debug, Clone)]
pub struct Begun {
    /// Its number in its session.
    pub number: u64,
    /// What stops it.
    pub cancel: CancellationToken,
}

/// The value of [`SessionShared::counted_rows`] for a statement that counts what it delivers.
pub const NOT_COUNTED: i64 = -1;

impl SessionShared {
    /// FOUND_ROWS() stays what it is when the statement that runs has ended.
    pub fn keep_found_rows(&self) {
        self.counted_rows.store(self.found_rows.load(Relaxed), Relaxed);
    }

    /// `LAST_INSERT_ID(id)` counts at once, whatever becomes of the statement.
    pub fn say_insert_id(&self, id: u64) {
        self.last_insert_id.store(id, Relaxed);
        self.has_said_insert_id.store(true, Relaxed);
    }

    /// What the statement that runs has said last, which the client is told.
    pub fn said_insert_id(&self) -> Option<u64> {
        self.has_said_insert_id.load(Relaxed).then(|| self.last_insert_id.load(Relaxed))
    }

    /// Begins a statement and gives it a number. Its token is cancelled by KILL, by KILL QUERY and by an interrupter.
    pub fn begin(&self, text: &str) -> Begun {
        self.begin_timed(text, Duration::MAX)
    }

    /// As [`SessionShared::begin`]; the statement is a slow one if it takes longer than this.
    pub fn begin_timed(&self, text: &str, slow_after: Duration) -> Begun {
        let mut activity = self.activity.lock();
        activity.number += 1;
        activity.since = Instant::now();
        activity.state = EXECUTING;
        activity.slow_after = slow_after;
        // Statements share a token until somebody has used it.
        if activity.cancel.is_cancelled() {
            activity.cancel = self.killed.child_token();
        }
        let mut statement = std::mem::take(&mut activity.spare);
        statement.push_str(cut(text, STATEMENT_BYTES_MAX));
        activity.statement = Some(statement);
        activity.shown = None;
        activity.running = None;
        Begun { number: activity.number, cancel: activity.cancel.clone() }
    }

    /// When the statement that runs began.
    pub fn began(&self) -> Instant {
        self.activity.lock().since
    }

    /// The statement that runs is a slow one if it takes longer than this.
    pub fn set_slow_after(&self, slow_after: Duration) {
        self.activity.lock().slow_after = slow_after;
    }

    /// Says what the statement does from now on; `EXECUTING` unless it waits.
    pub fn set_state(&self, state: &'static str) {
        self.activity.lock().state = state;
    }

    /// What the statement does just now.
    pub fn state(&self) -> &'static str {
        self.activity.lock().state
    }

    /// Ends the statement of this number, unless another one has begun since.
    pub fn end(&self, number: u64) {
        let mut activity = self.activity.lock();
        if activity.number == number
            && let Some(mut statement) = activity.statement.take()
        {
            activity.running = None;
            if statement.capacity() <= SPARE_BYTES_MAX {
                statement.clear();
                activity.spare = statement;
            }
            if activity.since.elapsed() > activity.slow_after {
                self.counters.add(OperatorCounter::slow_statements, 1);
            }
            activity.since = Instant::now();
        }
    }

    /// Ends the session once the client has the answer to its statement.
    pub fn release(&self) {
        self.released.store(true, Relaxed);
    }

    /// Notes that the session has asked the server to end (SHUTDOWN).
    pub fn ask_to_stop(&self) {
        self.asks_to_stop.store(true, Relaxed);
    }

    pub fn asks_to_stop(&self) -> bool {
        self.asks_to_stop.load(Relaxed)
    }

    pub fn is_released(&self) -> bool {
        self.released.load(Relaxed)
    }

    pub fn interrupt(&self) {
        self.activity.lock().cancel.cancel();
    }

    pub fn set_identity(&self, user: &str, host: &str) {
        let mut activity = self.activity.lock();
        activity.user = user.into();
        activity.host = host.into();
    }

    pub fn set_database(&self, database: Option<&str>) {
        self.activity.lock().database = database.map(str::to_owned);
    }

    pub fn user(&self) -> String {
        self.activity.lock().user.clone()
    }

    /// The session's open transaction.
    pub fn open_transaction(&self) -> Option<OpenTransaction> {
        self.transaction.get()?.upgrade()?.seen()
    }

    /// The text of the statement that runs, cut after so many bytes.
    pub fn statement(&self, bytes_max: usize) -> Option<String> {
        let activity = self.activity.lock();
        activity.statement.as_deref().map(|text| cut(text, bytes_max).to_owned())
    }

    /// The beginning of the text of the statement that runs, as reports of locks show it.
    pub fn shown_statement(&self) -> Option<Arc<str>> {
        let Activity { statement, shown, .. } = &mut *self.activity.lock();
        let text = statement.as_deref()?;
        Some(Arc::clone(shown.get_or_insert_with(|| cut(text, STATEMENT_SHOWN_BYTES).into())))
    }

    /// Shows the plan of the statement that runs to other sessions, until the statement ends.
    pub fn set_running(&self, plan: RunningPlan) {
        self.activity.lock().running = Some(Arc::new(plan));
    }

    /// The plan of the statement that runs.
    pub fn running_plan(&self) -> Option<Arc<RunningPlan>> {
        self.activity.lock().running.clone()
    }

    pub fn is_running(&self) -> bool {
        self.activity.lock().statement.is_some()
    }

    pub fn process_info(&self) -> ProcessInfo {
        let activity = self.activity.lock();
        let running = activity.statement.is_some();
        ProcessInfo {
            id: self.id,
            user: activity.user.clone(),
            host: activity.host.clone(),
            database: activity.database.clone(),
            command: if running { "Query" } else { "Sleep" }.into(),
            seconds: activity.since.elapsed().as_secs(),
            state: if running { activity.state } else { "" }.into(),
            statement: activity.statement.clone(),
        }
    }
}

/// The sessions of a database.
#[derive(Default)]
pub struct Registry {
    last_id: AtomicU32,
    sessions: Mutex<BTreeMap<u32, Arc<SessionShared>>>,
}

impl Registry {
    pub fn add(&self, user: &str, host: &str, counters: QueryCounters) -> Arc<SessionShared> {
        let killed = CancellationToken::new();
        let shared = Arc::new(SessionShared {
            id: self.last_id.fetch_add(1, Relaxed).wrapping_add(1),
            counters: Arc::new(counters),
            transaction: OnceLock::new(),
            commands: CommandCounters::default(),
            activity: Mutex::new(Activity {
                user: user.into(),
                host: host.into(),
                database: None,
                statement: None,
                shown: None,
                spare: String::new(),
                since: Instant::now(),
                state: EXECUTING,
                slow_after: Duration::MAX,
                running: None,
                number: 0,
                cancel: killed.child_token(),
            }),
            killed,
            optimizer_traces: Mutex::default(),
            released: AtomicBool::new(false),
            asks_to_stop: AtomicBool::new(false),
            found_rows: AtomicI64::new(0),
            counted_rows: AtomicI64::new(NOT_COUNTED),
            row_count: AtomicI64::new(-1),
            last_insert_id: AtomicU64::new(0),
            has_said_insert_id: AtomicBool::new(false),
            no_backslash_escapes: AtomicBool::new(false),
            last_query_cost: AtomicU64::new(0),
            connection_status: Mutex::default(),
        });
        self.sessions.lock().insert(shared.id, shared.clone());
        shared
    }

    pub fn remove(&self, id: u32) {
        self.sessions.lock().remove(&id);
    }

    pub fn get(&self, id: u32) -> Option<Arc<SessionShared>> {
        self.sessions.lock().get(&id).cloned()
    }

    pub fn all(&self) -> Vec<Arc<SessionShared>> {
        self.sessions.lock().values().cloned().collect()
    }

    /// Ends the session of a transaction for which the log is kept beyond its limit; the transaction is rolled back
    /// with it.
    pub fn end_transaction(&self, trx_id: u64, session: u64) {
        let session = u32::try_from(session).ok().and_then(|id| self.get(id));
        if let Some(session) = session.filter(|session| !session.killed.is_cancelled()) {
            tracing::warn!(
                "transaction {trx_id} is rolled back and connection {} closed: the log is kept for it beyond its limit",
                session.id
            );
            session.killed.cancel();
        }
    }

    /// Sessions ever opened.
    pub fn opened(&self) -> u64 {
        self.last_id.load(Relaxed).into()
    }
}
