//! Runs experiments: each strategy cold and warm, until its times agree.
//!
//! ```text
//!   Lab::prepare   the workload is loaded, if it is not there
//!   Lab::run       opens the directory with the experiment's pool, over a back end that records
//!     strategy     a session of its own, its settings, its plan
//!       cold       pool emptied before each run; direct I/O, so nothing else remembers pages
//!       warm       (preload), a run that is not counted, then runs on what is in the pool
//! ```

use crate::{
    DataSet, NoSuchScale, Workload,
    device::DEVICES,
    experiment::{Experiment, Strategy},
    load::{self, LoadObserver, Quiet},
    report::{Measurement, Report, StrategyReport},
    statistics::Sample,
};
use arrow_array::{ArrayRef, RecordBatch};
use muster_engine::{
    Database, DatabaseOptions, Durability, NoLocalFiles, Session, SessionOptions,
    io::{
        self,
        trace::{AccessKind, Record, TraceIo},
    },
    types::{ErrorCode, Result, SqlError},
    value_at,
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// Share of the workload's pages (one in so many) that a pool holds whose size is not given.
const POOL_SHARE: u64 = 8;
/// Bytes of such a pool at least.
const POOL_MIN: usize = 4 << 20;
/// Bytes of the pool while data are loaded.
const LOAD_POOL: usize = 256 << 20;

/// The directory and the settings that experiments run with.
#[derive(Debug, Clone)]
pub struct Options {
    pub directory: PathBuf,
    pub scale: f64,
    /// Bytes; `None`: an eighth of the workload's pages.
    pub pool_bytes: Option<usize>,
    pub memory_limit_bytes: usize,
    /// The page size of a directory that has yet to be made, in bytes.
    pub page_size: usize,
    /// Threads of one query.
    pub threads: usize,
    /// Read all indexes before warm runs.
    pub preload: bool,
    /// Runs stop when their coefficient of variation is not above this (three runs at least) ...
    pub cov_max: f64,
    /// ... or after so many runs ...
    pub runs_max: usize,
    /// ... or after this time, per strategy, cold and warm each.
    pub time_max: Duration,
}

/// Runs stop early only after so many.
const RUNS_MIN: usize = 3;

/// Follows experiments.
pub trait LabObserver: LoadObserver {
    fn experiment_started(&self, experiment: &Experiment);
    fn strategy_finished(&self, experiment: &Experiment, report: &StrategyReport);
}

impl LabObserver for Quiet {
    fn experiment_started(&self, _: &Experiment) {}
    fn strategy_finished(&self, _: &Experiment, _: &StrategyReport) {}
}

pub struct Lab {
    options: Options,
}

/// The rows of all queries of a run, each query's sorted.
pub(crate) type ResultRows = Vec<Vec<Vec<Option<String>>>>;

/// How long a directory may still be in use by a database that was closed, and how often that is looked at.
const RELEASE_MAX: Duration = Duration::from_secs(5);
const RELEASE_POLL: Duration = Duration::from_millis(20);

/// A run's time and rows.
pub(crate) struct BenchmarkRun {
    pub ms: f64,
    pub rows: ResultRows,
}

impl Lab {
    pub fn new(options: Options) -> Lab {
        Lab { options }
    }

    pub(crate) fn scale(&self) -> f64 {
        self.options.scale
    }

    pub(crate) fn open(&self, pool_bytes: usize) -> Result<(Arc<Database>, Arc<TraceIo>)> {
        let unusable = |e: std::io::Error| SqlError::internal(format!("no way to read files: {e}"));
        let trace = Arc::new(TraceIo::new(io::open_backend(Default::default()).map_err(unusable)?));
        let options = DatabaseOptions {
            buffer_pool_bytes: pool_bytes,
            memory_limit_bytes: self.options.memory_limit_bytes,
            page_size: self.options.page_size,
            durability: Durability::Relaxed,
            threads: self.options.threads,
            ..DatabaseOptions::default()
        };
        let begun = Instant::now();
        loop {
            match Database::open_on(&self.options.directory, options.clone(), trace.clone()) {
                // The threads of a database that was closed just now may have the directory a moment longer.
                Err(e) if e.code == ErrorCode::CantLock && begun.elapsed() < RELEASE_MAX => {
                    std::thread::sleep(RELEASE_POLL);
                }
                opened => return Ok((opened?, trace)),
            }
        }
    }

    /// Loads the workload unless it is there. Error when it is there at another scale.
    pub async fn prepare(&self, workload: Workload, observer: &dyn LabObserver) -> Result<()> {
        self.prepare_data(workload.data_set(self.options.scale), observer).await
    }

    /// Loads the data set of the lab's scale unless it is there. Error when it is there at another scale.
    pub async fn prepare_data(&self, data: Result<DataSet, NoSuchScale>, observer: &dyn LoadObserver) -> Result<()> {
        let (database, _) = self.open(LOAD_POOL)?;
        let mut session = session(&database);
        let scale = self.options.scale;
        let data = data.map_err(|e| SqlError::new(ErrorCode::WrongArguments, e.to_string()))?;
        if load::is_loaded(&mut session, &data).await? {
            return Ok(());
        }
        if session.use_database(data.name).is_ok() {
            let message = format!(
                "{} in {} is not complete at scale {scale}: give its scale, another directory, or DROP DATABASE {0}",
                data.name,
                self.options.directory.display()
            );
            return Err(SqlError::new(ErrorCode::DbCreateExists, message));
        }
        load::load(&mut session, &data, observer).await
    }

    /// Runs one experiment on prepared data. Errors: those of its queries; strategies whose rows differ.
    pub async fn run(&self, experiment: &Experiment, observer: &dyn LabObserver) -> Result<Report> {
        observer.experiment_started(experiment);
        let pool_bytes = match self.options.pool_bytes {
            Some(bytes) => bytes,
            None => {
                let (database, _) = self.open(POOL_MIN)?;
                let bytes = data_bytes(&mut session(&database), experiment.workload.name()).await?;
                usize::try_from(bytes / POOL_SHARE).unwrap_or(usize::MAX).max(POOL_MIN)
            }
        };
        let (database, trace) = self.open(pool_bytes)?;
        let mut report = Report {
            name: experiment.name,
            title: experiment.title,
            expectation: experiment.expectation,
            workload: experiment.workload.name(),
            scale: self.options.scale,
            pool_bytes,
            threads: self.options.threads,
            preload: self.options.preload,
            strategies: Vec::new(),
        };
        let mut expected: Option<ResultRows> = None;
        for strategy in experiment.strategies {
            let bench = Bench { lab: self, database: &database, trace: &trace, experiment, strategy };
            let (measured, rows) = bench.run().await?;
            match &expected {
                None => expected = Some(rows),
                Some(expected) if *expected == rows => {}
                Some(_) => {
                    let names = (experiment.strategies[0].name, strategy.name);
                    let message = format!("{}: '{}' and '{}' give other rows", experiment.name, names.0, names.1);
                    return Err(SqlError::internal(message));
                }
            }
            observer.strategy_finished(experiment, &measured);
            report.strategies.push(measured);
        }
        Ok(report)
    }
}

/// One strategy on an open database.
struct Bench<'a> {
    lab: &'a Lab,
    database: &'a Arc<Database>,
    trace: &'a TraceIo,
    experiment: &'a Experiment,
    strategy: &'a Strategy,
}

impl Bench<'_> {
    async fn run(&self) -> Result<(StrategyReport, ResultRows)> {
        let mut session = session(self.database);
        session.use_database(self.experiment.workload.name())?;
        for setting in self.strategy.settings {
            session.query(&format!("SET {setting}")).await?;
        }
        let texts = self.experiment.texts(self.strategy);
        let plan = text_of(&rows_of(&mut session, &format!("EXPLAIN FORMAT=TREE {}", texts[0])).await?);
        let missing = self.strategy.shows.iter().filter(|part| !plan.contains(**part));
        let surplus = self.strategy.lacks.iter().filter(|part| plan.contains(**part));
        let notes = missing.map(|part| format!("the plan does not show '{part}'"));
        let notes = notes.chain(surplus.map(|part| format!("the plan shows '{part}'"))).collect();
        let (cold, rows) = self.measure(&mut session, &texts, true).await?;
        if self.lab.options.preload {
            preload(&mut session, self.experiment.workload.name()).await?;
        }
        once(&mut session, &texts).await?;
        let (warm, again) = self.measure(&mut session, &texts, false).await?;
        for setting in self.strategy.settings.iter().filter_map(|s| s.strip_prefix("global ")) {
            let name = setting.split('=').next().unwrap_or(setting).trim();
            session.query(&format!("SET GLOBAL {name} = DEFAULT")).await?;
        }
        if rows != again {
            let message = format!("{}: '{}' gives other rows when run again", self.experiment.name, self.strategy.name);
            return Err(SqlError::internal(message));
        }
        let settings = self.strategy.settings.to_vec();
        Ok((StrategyReport { name: self.strategy.name, settings, plan, notes, cold, warm }, rows))
    }

    /// Runs until times agree. Counters and accesses are those of the first run.
    async fn measure(&self, session: &mut Session, texts: &[String], cold: bool) -> Result<(Measurement, ResultRows)> {
        let options = &self.lab.options;
        let (mut sample, began) = (Sample::default(), Instant::now());
        let mut first: Option<(Record, BTreeMap<String, u64>, ResultRows)> = None;
        loop {
            if cold {
                empty_pool(self.database).await?;
            }
            let before = session.status_counters();
            if first.is_none() {
                self.trace.start();
            }
            let run = once(session, texts).await;
            if first.is_none() {
                settle(session).await;
            }
            let record = self.trace.stop();
            let run = run?;
            sample.add(run.ms);
            if first.is_none() {
                let after = session.status_counters().into_iter().zip(before);
                let counters = after.map(|((name, after), (_, before))| (name.to_owned(), after - before));
                first = Some((record, counters.filter(|(_, n)| *n > 0).collect(), run.rows));
            }
            let summary = sample.summary();
            let agree = summary.runs >= RUNS_MIN && summary.cov <= options.cov_max;
            if agree || summary.runs >= options.runs_max || began.elapsed() >= options.time_max {
                break;
            }
        }
        let (record, counters, rows) = first.unwrap_or_default();
        Ok((self.measurement(&sample, &record, counters), rows))
    }

    fn measurement(&self, sample: &Sample, record: &Record, counters: BTreeMap<String, u64>) -> Measurement {
        let reads = || record.accesses.iter().filter(|a| a.kind == AccessKind::Read);
        let count = reads().count() as u64;
        let page_size: u64 = self.database.variable("innodb_page_size").parse().unwrap_or(1);
        let mut by_index: BTreeMap<String, u64> = BTreeMap::new();
        for access in reads() {
            let path = record.files.get(access.file as usize).map(|(path, _)| path.as_path());
            let index = path.and_then(|path| self.database.index_of_file(path));
            let name = index.map_or_else(|| "other".to_owned(), |(_, table, index)| format!("{table}.{index}"));
            *by_index.entry(name).or_default() += access.bytes / page_size;
        }
        Measurement {
            ms: sample.summary(),
            pages: by_index.values().sum(),
            bytes: reads().map(|a| a.bytes).sum(),
            reads: count,
            in_flight_mean: reads().map(|a| f64::from(a.in_flight)).sum::<f64>() / count.max(1) as f64,
            in_flight_max: reads().map(|a| a.in_flight).max().unwrap_or(0),
            device_ms: DEVICES.iter().map(|d| (d.name, d.replay_ms(record))).collect(),
            pages_by_index: by_index,
            counters,
            unrecorded: record.dropped,
        }
    }
}

pub(crate) fn session(database: &Arc<Database>) -> Session {
    let local_files = Arc::new(NoLocalFiles);
    database.session(SessionOptions { user: "root".into(), host: "localhost".into(), database: None, local_files })
}

/// Empties the buffer pool once the readers of the run before have ended.
pub(crate) async fn empty_pool(database: &Database) -> Result<()> {
    for _ in 0..1000 {
        if database.clear_buffer_pool()? == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Err(SqlError::internal("pages of the pool are still in use"))
}

/// All queries once.
pub(crate) async fn once(session: &mut Session, texts: &[String]) -> Result<BenchmarkRun> {
    let since = Instant::now();
    let mut results = Vec::new();
    for text in texts {
        results.push(session.query(text).await?);
    }
    let ms = since.elapsed().as_secs_f64() * 1e3;
    let rows = results.iter().map(|batches| {
        let mut rows = cells(batches)?;
        rows.sort();
        Ok(rows)
    });
    Ok(BenchmarkRun { ms, rows: rows.collect::<Result<_>>()? })
}

pub(crate) async fn rows_of(session: &mut Session, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
    cells(&session.query(sql).await?)
}

fn cells(batches: &[RecordBatch]) -> Result<Vec<Vec<Option<String>>>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cell = |column: &ArrayRef| value_at(column, row).map(|v| v.to_text(0));
            rows.push(batch.columns().iter().map(cell).collect::<Result<_>>()?);
        }
    }
    Ok(rows)
}

/// The only column of a result, as lines.
pub(crate) fn text_of(rows: &[Vec<Option<String>>]) -> String {
    rows.iter().filter_map(|r| r.first().cloned().flatten()).collect::<Vec<_>>().join("\n")
}

/// Bytes of all leaf pages of a database's tables and indexes.
pub(crate) async fn data_bytes(session: &mut Session, name: &str) -> Result<u64> {
    let sql = format!(
        "SELECT CAST(SUM(data_length + index_length) AS UNSIGNED) FROM information_schema.tables \
         WHERE table_schema = '{name}'"
    );
    Ok(text_of(&rows_of(session, &sql).await?).parse().unwrap_or(0))
}

/// Reads every index of a database once, from end to end.
pub(crate) async fn preload(session: &mut Session, name: &str) -> Result<()> {
    let sql = format!(
        "SELECT DISTINCT table_name, index_name, column_name FROM information_schema.statistics \
         WHERE table_schema = '{name}' AND seq_in_index = 1"
    );
    for row in rows_of(session, &sql).await? {
        let [Some(table), Some(index), Some(column)] = row.as_slice() else { continue };
        let hint = if index == "PRIMARY" { String::new() } else { index.clone() };
        session.query(&format!("SELECT COUNT(CONCAT({column})) FROM {table} USE INDEX ({hint})")).await?;
    }
    Ok(())
}

/// Waits until the session's counters stand still. A query that stops early lets its readers end in the background, and
/// a read of theirs that is counted must also be in the trace.
async fn settle(session: &Session) {
    let mut before = session.status_counters();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = session.status_counters();
        if now == before {
            return;
        }
        before = now;
    }
}
