//! Runs terminals, each on a thread of its own as clients of sysbench are, for a warm-up and a measured time.

use super::{
    Scale, Tally,
    random::{NuRandConstants, TpccRandom},
    terminal::Terminal,
    transactions::InputSource,
};
use crate::target::{Result, TargetError, TargetSession, TestedDatabase};
use muster_engine::{io::simulated::SimulatedDisk, waiting};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc,
    },
    time::{Duration, Instant},
};

/// Bytes of a terminal's stack. Short statements of an embedded database run on it.
const STACK_BYTES: usize = 16 << 20;

#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The database that holds the tables.
    pub schema: String,
    /// Clients, each with a connection and a thread.
    pub threads: usize,
    /// Runs before the measured time.
    pub warm_up: Duration,
    pub measured: Duration,
    pub seed: u64,
    /// Keep the keys of all orders that were acknowledged.
    pub keeps_orders: bool,
    /// A client ends at its first error that is no conflict.
    pub ends_at_error: bool,
    /// The disk of the machine that the database runs on, if that is a simulated one: what is answered when its power
    /// is gone has not been answered.
    pub machine: Option<Arc<SimulatedDisk>>,
}

/// What a run has done.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub tally: Tally,
    /// The measured time; shorter than asked for if all connections ended.
    pub seconds: f64,
    /// How much status variables of the log have grown in the measured time; without those that the server lacks.
    pub log: BTreeMap<&'static str, u64>,
    /// Why terminals ended early.
    pub lost: Vec<String>,
}

/// Status variables of the log, by MySQL's names.
const LOG_VARIABLES: [&str; 4] =
    ["Innodb_os_log_written", "Innodb_os_log_fsyncs", "Innodb_log_writes", "Innodb_data_fsyncs"];

/// When a run begins to measure, and when it ends.
pub struct Clock {
    begin: Instant,
    end: Instant,
    stopped: Arc<AtomicBool>,
}

impl Clock {
    fn starting_now(options: &RunOptions) -> Clock {
        let begin = Instant::now() + options.warm_up;
        Clock { begin, end: begin + options.measured, stopped: Arc::default() }
    }

    /// A clock of a run that does not take place.
    fn stopped() -> Clock {
        let now = Instant::now();
        Clock { begin: now, end: now, stopped: Arc::new(true.into()) }
    }

    pub fn is_over(&self) -> bool {
        self.stopped.load(Relaxed) || Instant::now() >= self.end
    }

    /// The time since the measurement began; `None` before it has begun and after its end.
    pub fn measured(&self, now: Instant) -> Option<Duration> {
        (now < self.end).then(|| now.checked_duration_since(self.begin)).flatten()
    }
}

/// Runs the mix. Blocks until all terminals have ended. Errors: a terminal cannot connect, or prepare its statements.
pub fn run(database: &TestedDatabase, scale: Scale, options: &RunOptions) -> Result<RunResult> {
    let clock = OnceLock::new();
    std::thread::scope(|scope| {
        let (opened, all_opened) = mpsc::channel();
        let mut terminals = Vec::new();
        for number in 0..options.threads {
            let (database, clock, opened) = (database.clone(), &clock, opened.clone());
            let work = move || terminal_thread(database, scale, options, number, &opened, clock);
            let name = format!("terminal {number}");
            let thread = std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn_scoped(scope, work);
            match thread {
                Ok(thread) => terminals.push(thread),
                Err(e) => {
                    // Those that have been started wait for the clock.
                    clock.get_or_init(Clock::stopped);
                    return Err(TargetError::Connection(e.to_string()));
                }
            }
        }
        drop(opened);
        let are_open = all_opened.iter().take(options.threads).filter(|is_open| *is_open).count() == options.threads;
        let clock = clock.get_or_init(|| if are_open { Clock::starting_now(options) } else { Clock::stopped() });
        let have_ended = || terminals.iter().all(std::thread::ScopedJoinHandle::is_finished);
        let log = watch_log(database, clock, &have_ended);
        let mut result = RunResult { tally: Tally::default(), seconds: 0.0, log: BTreeMap::new(), lost: Vec::new() };
        let mut last_end = clock.begin;
        for terminal in terminals {
            let panicked = |_| TargetError::Connection("a terminal panicked".into());
            let (tally, end) = terminal.join().map_err(panicked)??;
            last_end = last_end.max(end.at.min(clock.end));
            result.lost.extend(end.error.map(|e| e.to_string()));
            result.tally.add(tally);
        }
        result.seconds = last_end.saturating_duration_since(clock.begin).as_secs_f64();
        result.log = log.unwrap_or_default();
        Ok(result)
    })
}

/// When a terminal ended, and the error that ended it before the clock did.
struct TerminalEnd {
    at: Instant,
    error: Option<TargetError>,
}

/// The life of one terminal's thread. The clock starts when all terminals have connected and prepared.
fn terminal_thread(
    database: TestedDatabase,
    scale: Scale,
    options: &RunOptions,
    number: usize,
    opened: &mpsc::Sender<bool>,
    clock: &OnceLock<Clock>,
) -> Result<(Tally, TerminalEnd)> {
    // The engine lets a session that is alone on its thread wait for the disk there.
    let counted = Arc::new(());
    waiting::serve_sessions(Arc::downgrade(&counted));
    let _session = counted.clone();
    let terminal = runtime().and_then(|runtime| {
        let random = TpccRandom::new(options.seed, number as u64);
        let source = InputSource { random, constants: NuRandConstants::of_run(options.seed), scale };
        let terminal: Result<_> = runtime.block_on(async {
            let target = database.connect(Some(&options.schema)).await?;
            let mut terminal = Terminal::open(target, source, options.keeps_orders).await?;
            terminal.ends_at_error = options.ends_at_error;
            terminal.machine = options.machine.clone();
            Ok(terminal)
        });
        Ok((runtime, terminal?))
    });
    // The receiver lives until all senders have gone.
    let _ = opened.send(terminal.is_ok());
    let (runtime, mut terminal) = terminal?;
    let error = runtime.block_on(terminal.work(clock.wait())).err();
    let at = Instant::now();
    Ok((std::mem::take(&mut terminal.tally), TerminalEnd { at, error }))
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| TargetError::Connection(e.to_string()))
}

/// The growth of the log's status variables over the measured time, watched through a connection of its own.
fn watch_log(
    database: &TestedDatabase,
    clock: &Clock,
    have_ended: &dyn Fn() -> bool,
) -> Result<BTreeMap<&'static str, u64>> {
    let sleep_until = |at: Instant| {
        while Instant::now() < at && !clock.stopped.load(Relaxed) && !have_ended() {
            std::thread::sleep(at.saturating_duration_since(Instant::now()).min(Duration::from_millis(50)));
        }
    };
    let runtime = runtime()?;
    let mut target = runtime.block_on(database.connect(None))?;
    sleep_until(clock.begin);
    let before = runtime.block_on(log_status(&mut target))?;
    sleep_until(clock.end);
    let after = runtime.block_on(log_status(&mut target))?;
    let growth = |(name, value): (&'static str, u64)| Some((name, value.saturating_sub(*before.get(name)?)));
    Ok(after.into_iter().filter_map(growth).collect())
}

pub(super) async fn log_status<T: TargetSession>(target: &mut T) -> Result<BTreeMap<&'static str, u64>> {
    let rows = target.query("SHOW GLOBAL STATUS LIKE 'Innodb%'").await?.texts();
    let mut status = BTreeMap::new();
    for row in rows {
        let [Some(name), Some(value)] = row.as_slice() else { continue };
        let known = LOG_VARIABLES.iter().find(|known| known.eq_ignore_ascii_case(name));
        if let (Some(name), Ok(value)) = (known, value.parse()) {
            status.insert(*name, value);
        }
    }
    Ok(status)
}
