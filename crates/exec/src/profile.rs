//! What each node of a plan did in a run: for EXPLAIN ANALYZE.
//!
//! A node is known by what it is and by the columns that it and its inputs deliver, which have numbers of their own in the
//! whole statement: so a copy of it with other constants (a subquery that runs once a row) is still the same node.

use crate::ops::{measure::MeasureExec, scan::ROWS_DROPPED};
use datafusion_physical_plan::{ExecutionPlan, metrics::MetricValue};
use muster_algebra::{Actual, ColId, Plan, PlanOp};
use muster_storage::Counters;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Measurements of one run, filled in as it goes on.
pub struct Profile {
    /// Of the session.
    counters: Arc<Counters>,
    nodes: Mutex<HashMap<u64, Arc<NodeProfile>>>,
    /// Of the statement itself, without those of subqueries that run by themselves.
    operators: Mutex<Option<Arc<dyn ExecutionPlan>>>,
}

/// Of one node, over all its runs.
pub struct NodeProfile {
    pub(crate) key: u64,
    pub(crate) loops: AtomicU64,
    pub(crate) rows: AtomicU64,
    /// Nanoseconds until the first row, and until the end: sums over all runs.
    pub(crate) first_ns: AtomicU64,
    pub(crate) last_ns: AtomicU64,
    pub(crate) counters: Arc<Counters>,
}

impl Profile {
    /// `counters`: of the session, which count as well.
    pub fn new(counters: Arc<Counters>) -> Arc<Profile> {
        Arc::new(Profile { counters, nodes: Mutex::default(), operators: Mutex::default() })
    }

    pub(crate) fn node(&self, plan: &Plan) -> Arc<NodeProfile> {
        let key = key(plan);
        let new = || {
            Arc::new(NodeProfile {
                key,
                loops: AtomicU64::new(0),
                rows: AtomicU64::new(0),
                first_ns: AtomicU64::new(0),
                last_ns: AtomicU64::new(0),
                counters: Arc::new(Counters::with_parent(self.counters.clone())),
            })
        };
        self.nodes.lock().entry(key).or_insert_with(new).clone()
    }

    /// Keeps the operators of the first statement that runs: subqueries run later and by themselves.
    pub(crate) fn keep(&self, operators: &Arc<dyn ExecutionPlan>) {
        self.operators.lock().get_or_insert_with(|| operators.clone());
    }

    /// What a node of the plan has done; all zero if it never ran.
    pub fn of(&self, plan: &Plan) -> Actual {
        let Some(node) = self.nodes.lock().get(&key(plan)).cloned() else { return Actual::default() };
        let loops = node.loops.load(Relaxed);
        let per_loop_ms = |sum: &AtomicU64| sum.load(Relaxed) as f64 / 1e6 / loops.max(1) as f64;
        let counters = &node.counters;
        let mut actual = Actual {
            loops,
            rows: node.rows.load(Relaxed),
            first_ms: per_loop_ms(&node.first_ns),
            last_ms: per_loop_ms(&node.last_ns),
            pages_read: counters.pages_read(),
            keys: counters.handler_read_key(),
            icp_attempts: counters.handler_icp_attempts(),
            icp_match: counters.handler_icp_match(),
            rows_fetched: counters.handler_read_rnd(),
            key_refills: counters.handler_mrr_key_refills(),
            rowid_refills: counters.handler_mrr_rowid_refills(),
            ..Actual::default()
        };
        if let Some(operators) = &*self.operators.lock() {
            add_metrics(operators, node.key, false, &mut actual);
        }
        actual
    }
}

/// Adds what the operators between a node's measurement and those of its inputs say of memory and spills.
fn add_metrics(operators: &Arc<dyn ExecutionPlan>, key: u64, inside: bool, actual: &mut Actual) {
    let measured = MeasureExec::key_of(operators.as_ref());
    let inside = match measured {
        Some(own) => own == key,
        None => inside,
    };
    if inside && let Some(metrics) = operators.metrics() {
        actual.spills += metrics.spill_count().unwrap_or(0) as u64;
        actual.spilled_bytes += metrics.spilled_bytes().unwrap_or(0) as u64;
        for metric in metrics.iter() {
            match metric.value() {
                MetricValue::Gauge { name, gauge } if name.ends_with("mem_used") => {
                    actual.memory_bytes += gauge.value() as u64;
                }
                MetricValue::Count { name, count } if name == ROWS_DROPPED => {
                    actual.rows_dropped += count.value() as u64;
                }
                _ => {}
            }
        }
    }
    operators.children().into_iter().for_each(|child| add_metrics(child, key, inside, actual));
}

fn key(plan: &Plan) -> u64 {
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(&plan.op).hash(&mut hasher);
    plan.output.hash(&mut hasher);
    for input in plan.inputs() {
        input.output.hash(&mut hasher);
    }
    if let PlanOp::LookupJoin { lookup, .. } = &plan.op {
        let columns: Vec<ColId> = lookup.columns.iter().chain(&lookup.filter_columns).map(|(id, _)| *id).collect();
        (&lookup.alias, columns).hash(&mut hasher);
    }
    if let PlanOp::Scan(scan) = &plan.op {
        let checked: Vec<ColId> = scan.filter_columns.iter().map(|(id, _)| *id).collect();
        (&scan.alias, checked).hash(&mut hasher);
    }
    hasher.finish()
}
