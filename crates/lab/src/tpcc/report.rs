//! The results of a run, for all presentations.

use super::{
    ConflictCounts, Kind, RunOptions, Scale, Tally,
    conditions::ConditionResult,
    histogram::{Histogram, LatencySummary},
    log_cost::LogCost,
    run::RunResult,
};
use crate::environment::Environment;
use serde::Serialize;
use std::collections::BTreeMap;

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct TpccReport {
    /// The data directory, or the server's address.
    pub database: String,
    /// Of the run; empty until the database was asked.
    pub environment: Environment,
    pub warehouses: u32,
    pub threads: usize,
    pub warm_up_seconds: f64,
    /// The measured time.
    pub seconds: f64,
    pub seed: u64,
    /// Committed, or rolled back as the standard wants it.
    pub transactions: u64,
    pub transactions_per_second: f64,
    /// Committed New-Orders a minute.
    pub new_orders_per_minute: f64,
    pub retries: u64,
    pub failures: u64,
    /// Transactions of all kinds in each second of the measured time.
    pub per_second: Vec<u64>,
    pub kinds: Vec<KindReport>,
    pub all_latencies: LatencySummary,
    /// Messages of errors that were no conflicts, and how often each came.
    pub errors: BTreeMap<String, u64>,
    /// Why terminals ended before the time was over.
    pub lost: Vec<String>,
    /// Growth of the status variables of the log.
    pub log: BTreeMap<&'static str, u64>,
    pub log_bytes_per_transaction: Option<f64>,
    pub log_syncs_per_transaction: Option<f64>,
    /// By the kinds of transactions; empty if the database does not tell.
    pub log_by_kind: Vec<LogCost>,
    /// Empty if they were not checked.
    pub conditions: Vec<ConditionResult>,
}

/// The transactions of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct KindReport {
    pub kind: Kind,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub retries: ConflictCounts,
    pub latency_ms: LatencySummary,
    pub per_second: Vec<u64>,
    /// The highest latency of a bucket in milliseconds, and how many transactions fell into it; no empty buckets.
    pub histogram: Vec<(f64, u64)>,
}

impl TpccReport {
    pub fn new(database: String, scale: Scale, options: &RunOptions, result: RunResult) -> TpccReport {
        let RunResult { tally, seconds, log, lost } = result;
        let transactions = tally.transactions();
        let mut all = Histogram::default();
        Kind::ALL.iter().for_each(|kind| all.add(&tally.kind(*kind).latency));
        let whole_seconds = seconds.floor() as usize;
        let mut per_second = vec![0; whole_seconds];
        for kind in Kind::ALL {
            per_second.iter_mut().zip(&tally.kind(kind).per_second).for_each(|(sum, more)| *sum += more);
        }
        let per_transaction = |name: &str| log.get(name).map(|grown| *grown as f64 / transactions.max(1) as f64);
        TpccReport {
            database,
            environment: Environment::default(),
            warehouses: scale.warehouses,
            threads: options.threads,
            warm_up_seconds: options.warm_up.as_secs_f64(),
            seconds,
            seed: options.seed,
            transactions,
            transactions_per_second: transactions as f64 / seconds.max(1e-9),
            new_orders_per_minute: tally.kind(Kind::NewOrder).committed as f64 * 60.0 / seconds.max(1e-9),
            retries: tally.retries(),
            failures: tally.failures(),
            per_second,
            kinds: Kind::ALL.into_iter().map(|kind| KindReport::new(kind, &tally, whole_seconds)).collect(),
            all_latencies: all.summary(),
            log_bytes_per_transaction: per_transaction("Innodb_os_log_written"),
            log_syncs_per_transaction: per_transaction("Innodb_os_log_fsyncs"),
            log,
            log_by_kind: Vec::new(),
            errors: tally.errors,
            lost,
            conditions: Vec::new(),
        }
    }

    /// Returns true if nothing failed and all conditions that were checked hold.
    pub fn is_clean(&self) -> bool {
        self.failures == 0 && self.lost.is_empty() && self.conditions.iter().all(ConditionResult::holds)
    }
}

impl KindReport {
    fn new(kind: Kind, tally: &Tally, seconds: usize) -> KindReport {
        let counts = tally.kind(kind);
        let mut per_second = counts.per_second.clone();
        per_second.resize(seconds, 0);
        KindReport {
            kind,
            committed: counts.committed,
            rolled_back: counts.rolled_back,
            failed: counts.failed,
            retries: counts.retries,
            latency_ms: counts.latency.summary(),
            per_second,
            histogram: counts.latency.buckets().collect(),
        }
    }
}
