//! A report for tests of presentations.

use super::{
    ConflictCounts, Kind,
    conditions::ConditionResult,
    histogram::LatencySummary,
    log_cost::LogCost,
    report::{KindReport, TpccReport},
};
use crate::environment::Environment;
use std::collections::BTreeMap;

const NOTHING: LatencySummary = LatencySummary { mean: 0.0, p50: 0.0, p95: 0.0, p99: 0.0, max: 0.0 };

/// Two seconds of New-Orders, whose latencies it has, and of as many Payments.
pub fn report() -> TpccReport {
    let kinds = Kind::ALL.map(|kind| KindReport {
        kind,
        committed: if kind == Kind::NewOrder { 60 } else { 0 },
        rolled_back: 0,
        failed: 0,
        retries: ConflictCounts::default(),
        latency_ms: LatencySummary { p95: 4.0, ..NOTHING },
        per_second: if matches!(kind, Kind::NewOrder | Kind::Payment) { vec![10, 20] } else { vec![0, 0] },
        histogram: if kind == Kind::NewOrder { vec![(1.0, 10), (2.0, 20), (4.0, 30)] } else { Vec::new() },
    });
    TpccReport {
        database: "/srv/<data>".into(),
        environment: Environment { version: "8.0".into(), ..Environment::default() },
        warehouses: 1,
        threads: 2,
        warm_up_seconds: 0.0,
        seconds: 2.0,
        seed: 1,
        transactions: 60,
        transactions_per_second: 30.0,
        new_orders_per_minute: 900.0,
        retries: 0,
        failures: 1,
        per_second: vec![20, 40],
        kinds: kinds.into(),
        all_latencies: NOTHING,
        errors: BTreeMap::from([("a <bad> error".to_owned(), 1)]),
        lost: Vec::new(),
        log: BTreeMap::new(),
        log_bytes_per_transaction: Some(5000.0),
        log_syncs_per_transaction: Some(1.0),
        log_by_kind: vec![LogCost { kind: Kind::NewOrder, transactions: 10, bytes: 5000.0, syncs: Some(1.0) }],
        conditions: vec![ConditionResult { number: 1, name: "all is well", violations: 0, seconds: 0.0 }],
    }
}
