//! Counts of what each node of a plan did in a run, for EXPLAIN ANALYZE.
//!
//! Nodes are named by their numbers, so a copy of a node with other constants (a subquery that runs once a row) is
//! still the same node.

use crate::QueryCounters;
use crate::ops::{early_stop::FALLBACKS, measure::MeasureExec, scan::ROWS_DROPPED};
use datafusion_physical_plan::{ExecutionPlan, metrics::MetricValue};
use muster_algebra::{Actual, NodeId};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// The measurements of a run, and the operators of the statement itself, which have metrics of their own. Operators
/// hold the measurements, and never the profile: it holds them.
pub struct Profile {
    nodes: Arc<NodeProfiles>,
    operators: Mutex<Option<Arc<dyn ExecutionPlan>>>,
}

/// Measurements of the nodes in one run of a statement and its subqueries, filled in as it goes on.
pub struct NodeProfiles {
    /// The session's counters.
    counters: Arc<QueryCounters>,
    nodes: Mutex<HashMap<NodeId, Arc<NodeProfile>>>,
}

/// The counts of one node over all its runs.
pub struct NodeProfile {
    pub(crate) id: NodeId,
    pub(crate) loops: AtomicU64,
    pub(crate) rows: AtomicU64,
    /// Nanoseconds until the first row, and until the end: sums over all runs.
    pub(crate) first_ns: AtomicU64,
    pub(crate) last_ns: AtomicU64,
    pub(crate) counters: Arc<QueryCounters>,
}

impl NodeProfiles {
    pub(crate) fn node(&self, id: NodeId) -> Arc<NodeProfile> {
        let new = || {
            Arc::new(NodeProfile {
                id,
                loops: AtomicU64::new(0),
                rows: AtomicU64::new(0),
                first_ns: AtomicU64::new(0),
                last_ns: AtomicU64::new(0),
                counters: Arc::new(QueryCounters::with_parent(&self.counters)),
            })
        };
        self.nodes.lock().entry(id).or_insert_with(new).clone()
    }

    fn get(&self, id: NodeId) -> Option<Arc<NodeProfile>> {
        self.nodes.lock().get(&id).cloned()
    }
}

impl Profile {
    /// `counters`: of the session, which count as well.
    pub fn new(counters: Arc<QueryCounters>) -> Arc<Profile> {
        let nodes = Arc::new(NodeProfiles { counters, nodes: Mutex::default() });
        Arc::new(Profile { nodes, operators: Mutex::default() })
    }

    pub(crate) fn nodes(&self) -> &Arc<NodeProfiles> {
        &self.nodes
    }

    /// Keeps the operators of the statement, whose metrics are asked for later.
    pub(crate) fn keep(&self, operators: &Arc<dyn ExecutionPlan>) {
        *self.operators.lock() = Some(operators.clone());
    }

    /// The counts of a node of the plan; all zero if it never ran.
    pub fn of(&self, id: NodeId) -> Actual {
        let Some(node) = self.nodes.get(id) else { return Actual::default() };
        let loops = node.loops.load(Relaxed);
        let per_loop_ms = |sum: &AtomicU64| sum.load(Relaxed) as f64 / 1e6 / loops.max(1) as f64;
        let counters = node.counters.storage();
        let mut actual = Actual {
            loops,
            rows: node.rows.load(Relaxed),
            first_ms: per_loop_ms(&node.first_ns),
            last_ms: per_loop_ms(&node.last_ns),
            pages_read: counters.pages_read(),
            keys: counters.key_lookups(),
            icp_attempts: counters.entries_tested(),
            icp_match: counters.entries_passed(),
            rows_fetched: counters.rows_fetched(),
            key_refills: node.counters.operators().key_buffer_refills(),
            rowid_refills: counters.fetch_buffer_refills(),
            ..Actual::default()
        };
        if let Some(operators) = &*self.operators.lock() {
            add_metrics(operators, node.id, false, &mut actual);
        }
        actual
    }
}

/// Adds what the operators between a node's measurement and those of its inputs say of memory and spills.
fn add_metrics(operators: &Arc<dyn ExecutionPlan>, id: NodeId, inside: bool, actual: &mut Actual) {
    let measured = MeasureExec::node_of(operators.as_ref());
    let inside = match measured {
        Some(own) => own == id,
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
                MetricValue::Count { name, count } if name == FALLBACKS => {
                    actual.fallbacks += count.value() as u64;
                }
                _ => {}
            }
        }
    }
    operators.children().into_iter().for_each(|child| add_metrics(child, id, inside, actual));
}
