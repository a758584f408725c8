//! In how many partitions each node works, and where rows change partitions.
//!
//! Scans give each thread a partition, and what treats rows one by one keeps them. Joins keep those of the side that is
//! not built into a hash table; a big hash table is built in parallel, with both sides spread by their keys. Aggregates
//! are computed partially in every partition, unless that would hardly make rows fewer. An order is delivered in one
//! partition.

use super::{each_subplan_of, take};
use muster_algebra::{AggregateCall, ColId, Estimate, ExchangeKind, Expr, JoinKind, Plan, PlanOp, Side};
use std::collections::HashMap;

/// Hash tables of more rows than this (by estimate) are built in parallel. Measured on two cores: below, spreading both
/// inputs costs more than it saves.
const PARTITIONED_BUILD_ROWS: f64 = 400_000.0;
/// Partial aggregation is left out when it is expected to leave at least this part of so many rows.
const NO_PARTIAL_SHARE: f64 = 0.5;
const NO_PARTIAL_ROWS: f64 = 200_000.0;
/// A UNION of at most so many rows (by estimate) delivers them in the order of its queries, as MySQL does in practice.
/// Above, its queries run at the same time.
const ORDERED_UNION_ROWS: f64 = 20_000.0;

/// Places exchanges, so that the whole plan delivers one partition.
pub fn plan(plan: Plan, threads: usize) -> Plan {
    let takes_first = is_small_union(&plan);
    gathered(Parallelism { statement: threads, threads, takes_first, shared: HashMap::new() }.node(plan))
}

struct Parallelism {
    /// Threads of the statement.
    statement: usize,
    /// Threads of the part that is being planned: one for subqueries that run once for each row.
    threads: usize,
    /// True for the input of a LIMIT, and for a statement that is a small UNION, as far down as a UNION decides which
    /// rows are the first: those of its first query, as in MySQL.
    takes_first: bool,
    /// Inputs of shared rows that are planned already.
    shared: HashMap<usize, Plan>,
}

impl Parallelism {
    fn node(&mut self, mut plan: Plan) -> Plan {
        if let PlanOp::Shared { id, input, per_run, .. } = &mut plan.op {
            self.takes_first = false;
            **input = self.shared_input(*id, take(input), *per_run);
            plan.partitions = self.threads;
            return plan;
        }
        let takes_first = std::mem::take(&mut self.takes_first);
        let takes_first_of_input = match &plan.op {
            PlanOp::Limit { .. } => true,
            PlanOp::HashAggregate { aggregates, .. } => takes_first && aggregates.is_empty(),
            PlanOp::Project { .. } | PlanOp::UnionAll { .. } => takes_first,
            _ => false,
        };
        let is_union = matches!(plan.op, PlanOp::UnionAll { .. });
        for input in plan.inputs_mut() {
            self.takes_first = takes_first_of_input;
            let threads = if is_union && takes_first && is_scan(input) { 1 } else { self.threads };
            let outer = std::mem::replace(&mut self.threads, threads);
            *input = self.node(take(input));
            self.threads = outer;
        }
        self.takes_first = false;
        each_subplan_of(&mut plan, &mut |subplan| {
            let threads = if subplan.params.is_empty() { self.threads } else { 1 };
            let outer = std::mem::replace(&mut self.threads, threads);
            *subplan.plan = gathered(self.node(take(&mut subplan.plan)));
            self.threads = outer;
        });
        plan.partitions = self.partitions(&mut plan);
        match plan.op {
            PlanOp::HashAggregate { .. } => self.aggregate(plan),
            PlanOp::Limit { .. } => limit(plan),
            PlanOp::UnionAll { .. } if takes_first => concatenated(plan),
            _ => plan,
        }
    }

    /// Rows of the statement are computed by all threads, whoever asks first.
    fn shared_input(&mut self, id: usize, input: Plan, per_run: bool) -> Plan {
        if let Some(done) = self.shared.get(&id) {
            return done.clone();
        }
        let threads = if per_run { self.threads } else { self.statement };
        let outer = std::mem::replace(&mut self.threads, threads);
        let done = gathered(self.node(input));
        self.threads = outer;
        self.shared.insert(id, done.clone());
        done
    }

    /// The partitions that a node delivers. Puts exchanges below it where it needs its input otherwise.
    fn partitions(&self, plan: &mut Plan) -> usize {
        match &mut plan.op {
            PlanOp::Scan(scan) => {
                let single = scan.ordered || scan.limit.is_some() || scan.distinct_prefix.is_some();
                if single { 1 } else { self.threads }
            }
            PlanOp::Filter { input, .. }
            | PlanOp::Project { input, .. }
            | PlanOp::Rollup { input, .. }
            | PlanOp::Lateral { input, .. }
            | PlanOp::JsonTable { input, .. } => input.partitions,
            PlanOp::HashJoin { kind, left, right, keys, build, .. } => self.hash_join(*kind, left, right, keys, *build),
            PlanOp::LookupJoin { left, .. } => left.partitions,
            PlanOp::NestedLoopJoin { kind, left, right, .. } => {
                gather(right);
                // A row is found unmatched when all of the rows that are kept have been seen.
                if *kind != JoinKind::Inner {
                    gather(left);
                }
                left.partitions
            }
            PlanOp::UnionAll { inputs, .. } => inputs.iter().map(|input| input.partitions).sum::<usize>().max(1),
            PlanOp::HashAggregate { input, .. } | PlanOp::Limit { input, .. } => input.partitions,
            PlanOp::Shared { .. } => self.threads,
            PlanOp::Working { .. } => 1,
            PlanOp::Recursive { input, .. } => {
                gather(input);
                1
            }
            // One without partitions and order takes rows as they come.
            PlanOp::Window { input, .. } => {
                gather(input);
                1
            }
            PlanOp::Values { .. }
            | PlanOp::EarlyStop { .. }
            | PlanOp::MergeJoin { .. }
            | PlanOp::StreamAggregate { .. }
            | PlanOp::PartialAggregate { .. }
            | PlanOp::FinalAggregate { .. }
            | PlanOp::Exchange { .. }
            | PlanOp::Sort { .. } => 1,
        }
    }

    fn hash_join(
        &self,
        kind: JoinKind,
        left: &mut Plan,
        right: &mut Plan,
        keys: &[(Expr, Expr)],
        build: Side,
    ) -> usize {
        let (build_rows, probe_partitions) = match build {
            Side::Left => (left.estimate.rows, right.partitions),
            Side::Right => (right.estimate.rows, left.partitions),
        };
        // One NULL among all rows decides for all of a NOT IN.
        let spread = build_rows > PARTITIONED_BUILD_ROWS && probe_partitions > 1 && kind != JoinKind::NullAwareAnti;
        if spread {
            let (left_keys, right_keys) = keys.iter().cloned().unzip();
            spread_by(left, left_keys, self.threads);
            spread_by(right, right_keys, self.threads);
            return self.threads;
        }
        match build {
            Side::Left => gather(left),
            Side::Right => gather(right),
        }
        probe_partitions
    }

    fn aggregate(&self, mut plan: Plan) -> Plan {
        let PlanOp::HashAggregate { input, group, aggregates } = &mut plan.op else { return plan };
        if input.partitions == 1 {
            return plan;
        }
        let keys: Vec<Expr> = group.iter().map(|id| Expr::Column(*id)).collect();
        let (rows, groups) = (input.estimate.rows, plan.estimate.rows);
        if rows > NO_PARTIAL_ROWS && groups > rows * NO_PARTIAL_SHARE && !keys.is_empty() {
            spread_by(input, keys, self.threads);
            plan.partitions = self.threads;
            return plan;
        }
        let (group, aggregates): (Vec<ColId>, Vec<(ColId, AggregateCall)>) =
            (std::mem::take(group), std::mem::take(aggregates));
        let (partitions, cost) = (input.partitions, plan.estimate.cost);
        let input = Box::new(take(input));
        let op = PlanOp::PartialAggregate { input, group: group.clone(), aggregates: aggregates.clone() };
        let estimate = Estimate { rows: rows.min(groups * partitions as f64), cost };
        let mut partial = Plan::new(op, plan.output.clone(), estimate, Vec::new());
        partial.partitions = partitions;
        match keys.is_empty() {
            true => gather(&mut partial),
            false => spread_by(&mut partial, keys, self.threads),
        }
        plan.partitions = partial.partitions;
        plan.op = PlanOp::FinalAggregate { input: Box::new(partial), group, aggregates };
        plan
    }
}

/// Returns true for a UNION of few rows, whose order the nodes above it keep.
fn is_small_union(plan: &Plan) -> bool {
    match &plan.op {
        PlanOp::UnionAll { inputs, .. } => {
            inputs.iter().map(|input| input.estimate.rows).sum::<f64>() <= ORDERED_UNION_ROWS
        }
        PlanOp::HashAggregate { input, aggregates, .. } => aggregates.is_empty() && is_small_union(input),
        PlanOp::Project { input, .. } => is_small_union(input),
        _ => false,
    }
}

/// The first rows of each partition, and of those together.
fn limit(mut plan: Plan) -> Plan {
    let PlanOp::Limit { input, offset, count } = &mut plan.op else { return plan };
    if input.partitions > 1
        && let Some(count) = count.map(|n| n.saturating_add(*offset))
    {
        let (output, partitions) = (input.output.clone(), input.partitions);
        let rows = input.estimate.rows.min(count as f64 * partitions as f64);
        let estimate = Estimate { rows, cost: input.estimate.cost };
        let op = PlanOp::Limit { input: Box::new(take(input)), offset: 0, count: Some(count) };
        **input = Plan { partitions, ..Plan::new(op, output, estimate, Vec::new()) };
    }
    gather(input);
    plan.partitions = 1;
    plan
}

/// Returns true for the rows of one table, which one thread delivers in the order of the key that it reads.
fn is_scan(plan: &Plan) -> bool {
    match &plan.op {
        PlanOp::Scan(_) => true,
        PlanOp::Project { input, .. } | PlanOp::Filter { input, .. } | PlanOp::Limit { input, .. } => is_scan(input),
        _ => false,
    }
}

/// The rows of a UNION ALL in the order of its queries, each of which comes into one partition.
fn concatenated(mut plan: Plan) -> Plan {
    if let PlanOp::UnionAll { inputs, .. } = &mut plan.op
        && inputs.len() > 1
    {
        inputs.iter_mut().for_each(gather);
        plan.partitions = inputs.len();
        exchange(&mut plan, ExchangeKind::Concatenate, 1);
    }
    plan
}

fn gathered(mut plan: Plan) -> Plan {
    gather(&mut plan);
    plan
}

/// Brings all rows into one partition.
fn gather(plan: &mut Plan) {
    if plan.partitions > 1 {
        exchange(plan, ExchangeKind::Gather, 1);
    }
}

fn spread_by(plan: &mut Plan, keys: Vec<Expr>, partitions: usize) {
    exchange(plan, ExchangeKind::Hash { keys }, partitions);
}

fn exchange(plan: &mut Plan, kind: ExchangeKind, partitions: usize) {
    let input = Box::new(take(plan));
    let (output, estimate) = (input.output.clone(), input.estimate);
    *plan = Plan { partitions, ..Plan::new(PlanOp::Exchange { input, kind }, output, estimate, Vec::new()) };
}
