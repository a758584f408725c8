//! An open data directory with its catalog, sessions and shared memory.

use crate::{
    accounts::{self, Account, AccountKey, Accounts, Admitted, LoginAttempt},
    admission::{Admission, Limits},
    catalog::{Catalog, now_utc_micros},
    command_counters::CommandCounters,
    cost_tables,
    estimate_errors::EstimateErrors,
    metadata_locks::{MetadataLocks, Owner, Until},
    processes::{ProcessInfo, Registry},
    short_path::PlanCache,
    tables::{Renewal, Tables},
    user_locks::UserLocks,
    variables::{SessionCosts, Variables},
};
use muster_algebra::TableId;
use muster_exec::{QueryCounters, Runtime};
use muster_storage::{
    CutOff, CutOffRollback, DuplicatePolicy, FileId, FlushAtCommit, IoBackend, LoadOptions, LoadProgress, LogSettings,
    ReadView, RecoveryProgress, StorageError, Store, StoreOptions,
    buffer_pool::BufferPool,
    io::{self, Disk},
    mutex::Mutex,
};
use muster_types::{ErrorCode, Result, SqlError, Value};
use parking_lot::RwLock;
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The server's version as clients read it: they decide by the number in front what to send.
const SERVER_VERSION: &str = concat!("8.0.36-Muster-", env!("CARGO_PKG_VERSION"));
const VERSION_COMMENT: &str = concat!("Muster ", env!("CARGO_PKG_VERSION"), ", MySQL-compatible decision support");

/// Directories inside the data directory.
const TEMP_DIR: &str = "tmp";
const IMPORT_DIR: &str = "import";

/// Bounds of the memory that a load sorts in.
const LOAD_BYTES_MIN: usize = 32 << 20;
const LOAD_BYTES_MAX: usize = 1 << 30;

/// When a write counts as done (MySQL's `innodb_flush_log_at_trx_commit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// On the disk before the client hears of it.
    #[default]
    Full,
    /// Left to the operating system; a power failure may lose the last writes.
    Relaxed,
}

#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    pub buffer_pool_bytes: usize,
    /// Bytes of memory for all queries together, beside the buffer pool.
    pub memory_limit_bytes: usize,
    pub page_size: usize,
    pub durability: Durability,
    pub threads: usize,
    /// A query that costs fewer milliseconds by estimate runs on one thread; 0: none does, for tests of small tables.
    pub serial_ms_max: f64,
    /// Settings of the redo log.
    pub log: LogSettings,
    /// `innodb_doublewrite`: pages go by way of the doublewrite file to their places.
    pub doublewrite: bool,
    /// Opens a damaged directory to read what can be read; all changes are error 1881, and nothing on the disk changes.
    pub force_recovery: bool,
    /// Told how far the recovery of the directory is.
    pub progress: RecoveryProgress,
}

impl DatabaseOptions {
    /// What a server has for [`DatabaseOptions::serial_ms_max`]: to wake other threads and to wait for them takes about
    /// as long.
    pub const SERVER_SERIAL_MS_MAX: f64 = 0.1;
}

impl Default for DatabaseOptions {
    fn default() -> DatabaseOptions {
        DatabaseOptions {
            buffer_pool_bytes: 1 << 30,
            memory_limit_bytes: 2 << 30,
            page_size: 16 << 10,
            durability: Durability::default(),
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            serial_ms_max: 0.0,
            log: LogSettings::default(),
            doublewrite: true,
            force_recovery: false,
            progress: RecoveryProgress::default(),
        }
    }
}

pub struct Database {
    options: DatabaseOptions,
    store: Arc<Store>,
    counters: Arc<QueryCounters>,
    tables: Arc<Tables>,
    accounts: Accounts,
    runtime: Arc<Runtime>,
    admission: Arc<Admission>,
    temp_dir: PathBuf,
    import_dir: PathBuf,
    globals: RwLock<Variables>,
    commands: CommandCounters,
    plans: PlanCache,
    sessions: Arc<Registry>,
    metadata_locks: Arc<MetadataLocks>,
    user_locks: Arc<UserLocks>,
    estimate_errors: EstimateErrors,
    /// `innodb_stats_auto_recalc`.
    renews_statistics: Arc<AtomicBool>,
    renewal: Mutex<Option<Renewal>>,
    started: Instant,
}

impl Database {
    /// Opens or creates a data directory. One process at a time: error 1015 when it is open elsewhere. A directory of a
    /// newer format, a foreign or a damaged one is error 1712.
    pub fn open(directory: impl AsRef<Path>, options: DatabaseOptions) -> Result<Arc<Database>> {
        let disk = io::open_backend(IoBackend::Auto).map_err(|e| io_error(directory.as_ref(), e))?;
        Database::open_on(directory, options, disk)
    }

    /// Opens a database as [`Database::open`] does, on a disk of the caller's, such as one that records accesses or a
    /// simulated one. The folders `tmp` and `import` are the operating system's even then: what is in them is
    /// temporary, or somebody else's.
    pub fn open_on(
        directory: impl AsRef<Path>,
        mut options: DatabaseOptions,
        disk: Arc<dyn Disk>,
    ) -> Result<Arc<Database>> {
        let directory = directory.as_ref();
        let sync = options.durability == Durability::Full;
        if !sync && options.log.flush_at_commit == FlushAtCommit::Durable {
            options.log.flush_at_commit = FlushAtCommit::Written;
        }
        let store_options = StoreOptions {
            page_size: options.page_size,
            buffer_pool_bytes: options.buffer_pool_bytes,
            io: IoBackend::Auto,
            sync,
            log: options.log.clone(),
            doublewrite: options.doublewrite,
            force_recovery: options.force_recovery,
            progress: options.progress.clone(),
            ..StoreOptions::default()
        };
        // Takes the directory's lock, so everything behind it has it alone.
        let store = Store::open_on(directory, store_options, disk)?;
        // Fixed when the directory was made.
        options.page_size = store.page_size();
        let directory = store.directory().to_path_buf();
        let temp_dir = fresh_directory(&directory.join(TEMP_DIR))?;
        let import_dir = directory.join(IMPORT_DIR);
        fs::create_dir_all(&import_dir).map_err(|e| io_error(&import_dir, e))?;
        // A new directory gets its accounts first: where there is a catalog, there are accounts.
        let accounts = Accounts::open(Arc::clone(&store), !Catalog::exists(&store)?)?;
        let tables = Arc::new(Tables::open(store.clone())?);
        let runtime = Runtime::new(options.memory_limit_bytes, temp_dir.clone())?;
        let globals = first_globals(&options, &tables, (&directory, &temp_dir, &import_dir));
        let admission = Admission::new(admission_limits(&globals, &options));
        let metadata_locks: Arc<MetadataLocks> = Arc::default();
        metadata_locks.join(store.locks());
        if !options.force_recovery {
            lock_cut_off(&store, &tables, &metadata_locks);
        }
        let renews_statistics = Arc::new(AtomicBool::new(globals.is_on("innodb_stats_auto_recalc")));
        // Where nothing changes, statistics stay.
        let renewal = (!options.force_recovery)
            .then(|| Renewal::start(tables.clone(), metadata_locks.clone(), renews_statistics.clone()));
        let plans = PlanCache::of_capacity(globals.unsigned("plan_cache_size"));
        let database = Arc::new(Database {
            options,
            counters: Arc::new(QueryCounters::new(store.counters().clone())),
            store,
            tables,
            accounts,
            runtime,
            admission,
            temp_dir,
            import_dir,
            globals: RwLock::new(globals),
            commands: CommandCounters::default(),
            plans,
            sessions: Arc::default(),
            metadata_locks,
            user_locks: Arc::default(),
            estimate_errors: EstimateErrors::default(),
            renews_statistics,
            renewal: Mutex::new(renewal),
            started: Instant::now(),
        });
        let weak = Arc::downgrade(&database);
        database.store.set_table_source(Arc::new(move |file| {
            let database = weak.upgrade().ok_or(StorageError::Interrupted)?;
            database.tables.by_file(file).map_err(StorageError::Filter)
        }));
        // The sessions are held, and not the database: whoever lets that go must not be one of its own threads.
        let sessions = Arc::clone(&database.sessions);
        database
            .store
            .set_transaction_limit(Arc::new(move |trx_id, session| sessions.end_transaction(trx_id, session)));
        Ok(database)
    }

    /// Global counters.
    pub fn counters(&self) -> &Arc<QueryCounters> {
        &self.counters
    }

    /// Writes all changed pages to their places, and a checkpoint: the next start has nothing to repeat. Dropping the
    /// last reference does so, too; who cannot know when that is calls this.
    pub fn checkpoint(&self) -> Result<()> {
        self.tables.settle();
        Ok(self.store.checkpoint()?)
    }

    /// Drops all pages from the buffer pool that no statement uses just now. Returns how many stayed.
    pub fn clear_buffer_pool(&self) -> Result<usize> {
        Ok(self.store.buffer_pool().clear(self.store.counters())?)
    }

    /// The index that a file of the data directory holds: database, table and index name.
    pub fn index_of_file(&self, path: &Path) -> Option<(String, String, String)> {
        let file = muster_storage::file::file_id(path)?;
        let definitions = self.tables.definitions();
        definitions.tables().find_map(|t| {
            let at = t.files.iter().position(|f| *f == file)?;
            Some((t.def.database.clone(), t.def.name.clone(), t.def.indexes.get(at)?.name.clone()))
        })
    }

    /// The account of a user at a host, with the stored hash to check a login against. `None` if there is no such
    /// account.
    pub fn authentication(&self, user: &str, host: &str) -> Option<Account> {
        self.accounts.find(user, host)
    }

    /// The roles of `mandatory_roles`, which all accounts have.
    pub fn mandatory_roles(&self) -> Vec<AccountKey> {
        let names = self.globals.read().text("mandatory_roles");
        accounts::role_names(&names).unwrap_or_default()
    }

    /// The roles that are active when the account logs in.
    pub fn roles_at_login(&self, account: &AccountKey) -> Vec<AccountKey> {
        let list = self.accounts.list();
        let Some(entry) = list.iter().find(|entry| entry.is_key(account)) else { return Vec::new() };
        if !self.globals.read().is_on("activate_all_roles_on_login") {
            return entry.default_roles.clone();
        }
        let granted = entry.roles.iter().map(|granted| granted.role.clone());
        let mut roles: Vec<AccountKey> = granted.chain(self.mandatory_roles()).collect();
        roles.sort();
        roles.dedup();
        roles
    }

    /// Decides about a client whose proof has been checked. Errors as of [`Accounts::admit`], and 1226 if its account
    /// has as many connections as it may have.
    pub fn admit(&self, attempt: &LoginAttempt<'_>) -> Result<Admitted> {
        let lifetime = self.globals.read().unsigned("default_password_lifetime");
        let admitted = self.accounts.admit(attempt, lifetime, now_utc_micros())?;
        let most = admitted.connections_max;
        if most == 0 {
            return Ok(admitted);
        }
        let own = self.accounts.find(attempt.user, attempt.host);
        let is_own = |process: &&ProcessInfo| {
            process.user == attempt.user && self.accounts.find(&process.user, &process.host) == own
        };
        match self.processes().iter().filter(is_own).count() < most as usize {
            true => Ok(admitted),
            false => {
                let message = format!(
                    "User '{}' has exceeded the 'max_user_connections' resource (current value: {most})",
                    attempt.user
                );
                Err(SqlError::new(ErrorCode::UserLimitReached, message))
            }
        }
    }

    /// Returns true if `root` has a password (the server listens beyond loopback only then).
    pub fn root_has_password(&self) -> bool {
        self.accounts.root_has_password()
    }

    /// Sets a user's password (`--root-password-file`).
    pub fn set_password(&self, user: &str, host: &str, password: &str) -> Result<()> {
        self.accounts.set_password(user, host, password)
    }

    pub fn processes(&self) -> Vec<ProcessInfo> {
        self.sessions.all().iter().map(|s| s.process_info()).collect()
    }

    /// KILL: `query_only` leaves the connection alive. Error 1094 when there is no such session.
    pub fn kill(&self, id: u32, query_only: bool) -> Result<()> {
        let session = self
            .sessions
            .get(id)
            .ok_or_else(|| SqlError::new(ErrorCode::NoSuchThread, format!("Unknown thread id: {id}")))?;
        if query_only {
            session.interrupt()
        } else {
            session.killed.cancel()
        }
        Ok(())
    }

    /// A global variable as text; empty for one that is not there.
    pub fn variable(&self, name: &str) -> String {
        self.globals.read().text(name)
    }

    /// Sets a global variable that the server knows better (`port`, `bind_address`).
    pub fn set_server_variable(&self, name: &'static str, value: Value) {
        self.set_global(name, value);
    }

    /// The folder that server-side LOAD DATA INFILE may read (`secure_file_priv`): `import` in the data directory.
    pub fn import_dir(&self) -> &Path {
        &self.import_dir
    }

    pub(crate) fn set_global(&self, name: &'static str, value: Value) {
        let mut globals = self.globals.write();
        globals.put(name, value);
        let pool = self.buffer_pool();
        match name {
            "innodb_old_blocks_pct" => pool.set_old_blocks_pct(globals.unsigned(name) as u32),
            "plan_cache_size" => {
                self.plans.set_capacity(usize::try_from(globals.unsigned(name)).unwrap_or(usize::MAX));
            }
            "innodb_flush_log_at_trx_commit" => {
                let number = globals.unsigned(name) as u8;
                self.store.set_flush_at_commit(FlushAtCommit::from_number(number).unwrap_or_default());
            }
            "max_tmp_total_space_usage" => self.tables.set_temporary_bytes_max(globals.unsigned(name)),
            "innodb_stats_auto_recalc" => self.renews_statistics.store(globals.is_on(name), Relaxed),
            "innodb_redo_log_capacity" => self.store.set_log_capacity(globals.unsigned(name)),
            "innodb_old_blocks_time" => pool.set_old_blocks_time_ms(globals.unsigned(name) as u32),
            "admission_queue_size" | "admission_running_max" => {
                self.admission.set_limits(admission_limits(&globals, &self.options));
            }
            _ => {}
        }
    }

    /// `innodb_rollback_on_timeout`: a wait for a lock that takes too long ends the transaction, not the statement
    /// only.
    pub(crate) fn rolls_back_on_timeout(&self) -> bool {
        self.globals.read().is_on("innodb_rollback_on_timeout")
    }

    /// The view of what has been committed by now.
    pub(crate) fn newest_view(&self) -> Arc<ReadView> {
        self.store.read_view()
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn buffer_pool(&self) -> &Arc<BufferPool> {
        self.store.buffer_pool()
    }

    pub(crate) fn globals(&self) -> Variables {
        self.globals.read().clone()
    }

    pub(crate) fn options(&self) -> &DatabaseOptions {
        &self.options
    }

    pub(crate) fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Where heavy statements wait for each other.
    pub(crate) fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    pub(crate) fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// Sorting memory, spill directory and threads of a load.
    pub(crate) fn load_options(&self, duplicates: DuplicatePolicy, progress: Arc<LoadProgress>) -> LoadOptions {
        LoadOptions { duplicates, progress, ..load_options(&self.options, &self.temp_dir) }
    }

    /// Stores the tables of costs, if they are not, so that a statement can change them.
    pub(crate) fn store_cost_tables(&self) -> Result<()> {
        cost_tables::store(&self.tables, &load_options(&self.options, &self.temp_dir))
    }

    /// FLUSH OPTIMIZER_COSTS: sessions that begin from now on plan with what the tables of costs have now.
    pub(crate) fn flush_costs(&self) -> Result<()> {
        // Held while the tables are read, so that the last of several statements counts.
        let mut globals = self.globals.write();
        let model = cost_tables::read(&self.tables, &self.newest_view())?;
        let number = globals.costs().number + 1;
        if globals.costs().model != model {
            globals.set_costs(SessionCosts { model, number });
        }
        Ok(())
    }

    pub(crate) fn commands(&self) -> &CommandCounters {
        &self.commands
    }

    /// The plans of the short path.
    pub(crate) fn plans(&self) -> &PlanCache {
        &self.plans
    }

    pub(crate) fn sessions(&self) -> &Registry {
        &self.sessions
    }

    /// Locks that sessions have taken by name.
    /// Where statements' estimates of rows were far off.
    pub(crate) fn estimate_errors(&self) -> &EstimateErrors {
        &self.estimate_errors
    }

    pub(crate) fn user_locks(&self) -> &Arc<UserLocks> {
        &self.user_locks
    }

    /// Locks of whole tables.
    pub(crate) fn metadata_locks(&self) -> &Arc<MetadataLocks> {
        &self.metadata_locks
    }

    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The global variables at the start, with the cost model of the directory's tables. Tables of costs that cannot be
/// read leave the defaults in force, so that they keep nobody from opening the directory.
fn first_globals(
    options: &DatabaseOptions,
    tables: &Tables,
    (directory, temp, import): (&Path, &Path, &Path),
) -> Variables {
    let mut globals = Variables::global(&given(options, directory, temp, import));
    let refreshed = match options.force_recovery {
        true => Ok(()),
        false => cost_tables::refresh(tables, &load_options(options, temp)),
    };
    if let Err(e) = refreshed {
        tracing::warn!("the tables of costs stay those of another version: {e}");
    }
    match cost_tables::read(tables, &tables.store().read_view()) {
        Ok(model) => globals.set_costs(SessionCosts { model, number: 0 }),
        Err(e) => tracing::warn!("the default costs are in force: {e}"),
    }
    globals
}

/// What a load of the directory may use.
fn load_options(options: &DatabaseOptions, temp_dir: &Path) -> LoadOptions {
    LoadOptions {
        memory_bytes: (options.memory_limit_bytes / 2).clamp(LOAD_BYTES_MIN, LOAD_BYTES_MAX),
        temp_dir: temp_dir.to_path_buf(),
        threads: options.threads,
        duplicates: DuplicatePolicy::Error,
        progress: Arc::default(),
    }
}

/// With `admission_running_max` 0 as many heavy statements compute as one of them has threads.
fn admission_limits(globals: &Variables, options: &DatabaseOptions) -> Limits {
    let number = |name| usize::try_from(globals.unsigned(name)).unwrap_or(usize::MAX);
    let running = match number("admission_running_max") {
        0 => options.threads.max(1),
        most => most,
    };
    Limits { running, waiting: number("admission_queue_size") }
}

/// Gives each table to the transactions that a crash has cut off and that have changed it, until they are rolled back:
/// statements that change or replace it as a whole wait for that.
fn lock_cut_off(store: &Store, tables: &Tables, locks: &Arc<MetadataLocks>) {
    let told = Arc::clone(locks);
    store.set_cut_off_listener(Arc::new(move |trx_id, rollback| match rollback {
        CutOffRollback::Done => told.release(Owner::CutOff(trx_id), Until::Transaction),
        CutOffRollback::Failed => told.cannot_undo(trx_id),
    }));
    let definitions = tables.definitions();
    let by_tree: HashMap<FileId, TableId> = definitions.tables().map(|t| (t.clustered_file(), t.def.id)).collect();
    for CutOff { trx_id, trees } in store.cut_off() {
        trees.iter().filter_map(|tree| by_tree.get(tree)).for_each(|table| locks.cut_off(trx_id, *table));
        if !store.is_cut_off(trx_id) {
            locks.release(Owner::CutOff(trx_id), Until::Transaction);
        }
    }
}

fn io_error(path: &Path, e: std::io::Error) -> SqlError {
    muster_storage::StorageError::io(path, e).into()
}

/// An empty directory: what a crash left in it is gone.
fn fresh_directory(path: &Path) -> Result<PathBuf> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(io_error(path, e)),
        _ => {}
    }
    fs::create_dir_all(path).map_err(|e| io_error(path, e))?;
    Ok(path.to_path_buf())
}

/// The machine's name, as Linux shows it.
fn hostname() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".into(),
        name => name.into(),
    }
}

/// Variables whose values this server knows better than the table of defaults.
fn given(options: &DatabaseOptions, directory: &Path, temp: &Path, import: &Path) -> Vec<(&'static str, Value)> {
    let text = |s: &str| Value::Text(s.to_owned());
    let path = |p: &Path| Value::Text(format!("{}/", p.display()));
    let bytes = |n: u64| Value::Int(i64::try_from(n).unwrap_or(i64::MAX));
    let number = |n: usize| bytes(n as u64);
    vec![
        ("datadir", path(directory)),
        ("hostname", Value::Text(hostname())),
        ("innodb_buffer_pool_size", number(options.buffer_pool_bytes)),
        ("innodb_doublewrite", text(if options.doublewrite { "ON" } else { "OFF" })),
        ("innodb_flush_log_at_trx_commit", Value::Int(options.log.flush_at_commit as i64)),
        ("innodb_force_recovery", Value::Int(options.force_recovery.into())),
        ("innodb_read_only", Value::Int(options.force_recovery.into())),
        ("innodb_log_buffer_size", bytes(options.log.buffer_bytes)),
        ("innodb_page_size", number(options.page_size)),
        ("innodb_redo_log_capacity", bytes(options.log.capacity)),
        ("innodb_version", text(env!("CARGO_PKG_VERSION"))),
        ("secure_file_priv", path(import)),
        ("system_time_zone", Value::Text(chrono::Local::now().format("%Z").to_string())),
        ("tmpdir", path(temp)),
        ("version", text(SERVER_VERSION)),
        ("version_comment", text(VERSION_COMMENT)),
        ("version_compile_machine", text(std::env::consts::ARCH)),
        ("version_compile_os", text(std::env::consts::OS)),
    ]
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(self.renewal.get_mut().take());
        // Nobody opens tables for it any more.
        self.store.stop_background();
    }
}
