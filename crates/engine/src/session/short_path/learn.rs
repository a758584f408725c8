//! The plan of a statement that the cache does not know: bound with types in place of values, and made after the
//! general path's.

use super::{super::state::SessionState, FoundPlan};
use crate::{
    command_counters::Command,
    dml,
    short_path::{
        DirectPlan, Epoch, FIRST_MOMENT, General, KeptQuery, KeyAccess, Known, NestedPlan, Shape, ShortChange,
        ShortPlan, ShortWrite, TableQuery, TextNumbers, TextsOf, ValueRules, Way, entries_max, plain_number, scan_of,
        type_of, with_list, with_values,
    },
    statement::{
        BindEnvironment, StatementContext, StatementTables,
        query::{self, Planned},
    },
    variables,
};
use muster_algebra::{Hints, Plan, PlanOp, RowFetch, Scan};
use muster_explain::counters;
use muster_sql::{
    Blocked, Bound, InsertSource, Locking, Parameters, Statement,
    bind::{ChangeTarget, RowSource, Search, Surroundings, bind_delete, bind_insert, bind_update},
};
use muster_types::{Collation, KeyRange, Result, SqlType, Value};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A statement whose general plan costs more milliseconds is not run where it arrives.
const COST_MS_MAX: f64 = 20.0;

impl SessionState {
    /// Makes a plan for the statement that was looked for last, or finds that it has none, with the states that this is
    /// good for. The stack is that of a thread for statements.
    pub(super) fn learn(&mut self, cancel: CancellationToken) -> (Known, Epoch) {
        let accounts = self.database.accounts().list();
        // What is warned of while the plan is made is not the statement's.
        let diagnostics = std::mem::take(&mut self.conditions.diagnostics);
        let context = self.context(cancel, self.variables.clone());
        self.limit_time(&context);
        self.conditions.diagnostics = diagnostics;
        let tables = StatementTables::new(&context);
        let known = self.make_short_plan(&context, &tables).unwrap_or(Known::General(None));
        (known, Epoch::of(tables.set(), &accounts))
    }

    /// Learns a plan and keeps it for later statements.
    pub(super) fn learn_and_keep(&mut self, cancel: CancellationToken) -> (Known, Option<FoundPlan>) {
        let (known, epoch) = self.learn(cancel);
        let shares = self.shares_transaction();
        let found = known.found(self.reads_lock(shares));
        self.short_path.epoch = (shares && found.is_some()).then(|| epoch.clone());
        self.database.plans().put(&self.short_path.key, known.clone(), epoch);
        (known, found)
    }

    /// The types that the statement is bound with.
    fn parameter_types(&self, numbers: TextNumbers) -> Vec<SqlType> {
        let collation = self.short_path.settings.as_ref().map_or(Collation::DEFAULT, |s| s.collation);
        let mut values = self.short_path.values.clone();
        numbers.read(&mut values);
        values.iter().map(|value| type_of(value, collation)).collect()
    }

    /// The texts among the statement's values that mean numbers by where they stand.
    fn text_numbers(
        &self,
        context: &Arc<StatementContext>,
        tables: &StatementTables,
        statement: &Statement,
    ) -> Result<TextNumbers> {
        let values = &self.short_path.values;
        if !values.iter().any(|value| plain_number(value, true).is_some()) {
            return Ok(TextNumbers::default());
        }
        let types = self.parameter_types(TextNumbers::default());
        let environment = BindEnvironment::for_all_moments(context, FIRST_MOMENT, &self.short_path.variables);
        let env = environment.with(tables, Parameters::Types(&types));
        let is_query = match statement {
            Statement::Query(_) => true,
            Statement::Insert(insert) => matches!(insert.source, InsertSource::Query(_)),
            _ => false,
        };
        match statement {
            Statement::Query(query) => muster_sql::bind_result(query, &env).map(drop)?,
            Statement::Update(update) => bind_update(update, &env).map(drop)?,
            Statement::Delete(delete) => bind_delete(delete, &env).map(drop)?,
            Statement::Insert(insert) if is_query => bind_insert(insert, &env).map(drop)?,
            _ => {}
        }
        let texts = TextsOf { is_prepared: self.short_path.is_prepared, is_query };
        Ok(TextNumbers::of(values, &environment.beside_numbers(), texts))
    }

    fn make_short_plan(&self, context: &Arc<StatementContext>, tables: &Arc<StatementTables>) -> Result<Known> {
        let text = &self.short_path.text;
        let statement = muster_sql::parse_under(text, self.modes())?;
        let Statement::Query(query) = &statement else { return self.make_short_write(context, tables, &statement) };
        let mut locking = query.locking();
        let Some(lock) = locking.pop().map_or(Some(None), |lock| locking.is_empty().then_some(Some(lock))) else {
            return Ok(Known::General(None));
        };
        query::check_locking(context, query, lock.as_slice())?;
        let numbers = self.text_numbers(context, tables, &statement)?;
        let types = self.parameter_types(numbers);
        let environment = BindEnvironment::for_all_moments(context, FIRST_MOMENT, &self.short_path.variables);
        let bound = muster_sql::bind_result(query, &environment.with(tables, Parameters::Types(&types)))?;
        if environment.is_of_the_moment()
            || !bound.warnings.is_empty()
            || !bound.notes.is_empty()
            || bound.hints != Hints::default()
        {
            return Ok(Known::General(None));
        }
        let list = self.short_path.list.as_ref().map(|list| list.index);
        let bound = match list {
            Some(index) => Bound { rel: with_list(bound.rel, index), ..bound },
            None => bound,
        };
        let rules = ValueRules::of(&types, list, Some(&bound.rel), numbers, environment.moments());
        let Some(rules) = rules else { return Ok(Known::General(None)) };
        // A query that skips what is locked may have to be planned twice.
        let skips = lock.as_ref().is_some_and(|lock| lock.blocked == Blocked::Skips);
        let kept = match list.is_none() && !skips {
            true => KeptQuery::of(&statement, text, &bound, &rules, (tables.set(), tables.used())),
            false => None,
        };
        let kept = kept.map(Arc::new);
        let shape = Shape::of(&bound).filter(|_| lock.is_none());
        let options = variables::optimizer_options(&context.session.variables);
        let joined = TableQuery::of(&bound).filter(|query| list.is_none() && query.keeps_to(&options));
        if shape.is_none() && joined.is_none() {
            return Ok(Known::General(kept));
        }
        if lock.is_some() {
            tables.will_lock_rows();
        }
        // The plan for the values that the statement has now.
        let Some(values) = self.values_at(&rules, &context.clock) else { return Ok(Known::GeneralForNow(kept)) };
        let rel = with_values(bound.rel.clone(), &values);
        let general = query::optimize(context, Bound { rel, ..bound }, tables.clone())?;
        let direct = shape.and_then(|shape| direct_way(shape, list, &general.plan, tables));
        let way = direct.or_else(|| nested_way(joined?, &general.plan, lock, tables));
        let Some((way, in_key_order)) = way else {
            if let Some(kept) = kept.as_ref().filter(|kept| kept.may_share_plans(context)) {
                // The general path, which the statement takes now, need not plan it again.
                kept.keep(general.last_plan(context, values.to_vec(), None));
            }
            return Ok(Known::GeneralForNow(kept));
        };
        let general = general_part(tables, &general, in_key_order, rules);
        Ok(Known::Plan(Arc::new(ShortPlan::new(way, general))))
    }

    /// How the rows of an INSERT .. SELECT are read. They are locked, where the isolation level says so, within a
    /// transaction only: a query whose rows cannot be locked has a plan for the others.
    fn source_plan(
        &self,
        context: &Arc<StatementContext>,
        bound: &Bound,
        rules: ValueRules,
        tables: &Arc<StatementTables>,
    ) -> Option<ShortPlan> {
        let options = variables::optimizer_options(&context.session.variables);
        let query =
            TableQuery::of(bound).filter(|query| query.keeps_to(&options) && bound.hints == Hints::default())?;
        let values = self.values_at(&rules, &context.clock)?;
        let general = Bound { rel: with_values(bound.rel.clone(), &values), ..bound.clone() };
        let general = query::optimize(context, general, tables.clone()).ok()?;
        let shared = Locking { exclusive: false, table: None, blocked: Blocked::Waits, inner: false };
        let way = match context.locks_gaps() {
            true => nested_way(query.clone(), &general.plan, Some(shared), tables),
            false => None,
        };
        let (way, in_key_order) = way.or_else(|| nested_way(query, &general.plan, None, tables))?;
        Some(ShortPlan::new(way, general_part(tables, &general, in_key_order, rules)))
    }

    /// Binds a statement that changes rows for all values.
    fn make_short_write(
        &self,
        context: &Arc<StatementContext>,
        tables: &Arc<StatementTables>,
        statement: &Statement,
    ) -> Result<Known> {
        let to_change = StatementTables::to_change(context);
        if !Arc::ptr_eq(to_change.set(), tables.set()) {
            return Ok(Known::GeneralForNow(None));
        }
        let numbers = self.text_numbers(context, &to_change, statement)?;
        let types = self.parameter_types(numbers);
        let environment = BindEnvironment::for_all_moments(context, FIRST_MOMENT, &self.short_path.variables);
        let env = environment.with(&to_change, Parameters::Types(&types));
        let rules = |target: &ChangeTarget, search: &Search| match search {
            Search::Table(search) => {
                ValueRules::of(&types, None, Some(&search.rel(target)), numbers, environment.moments())
            }
            _ => None,
        };
        let general = |target: &ChangeTarget, search: &Search, surroundings: &Surroundings| {
            let rules = rules(target, search)?;
            let values = self.values_at(&rules, &context.clock)?;
            search_plan(context, target, search, surroundings, &to_change, &values)
        };
        let (rules, change) = match statement {
            Statement::Insert(insert) => {
                let bound = bind_insert(insert, &env)?;
                let query = match &bound.source {
                    RowSource::Query(query) => Some(&query.rel),
                    RowSource::Rows(_) => None,
                };
                let rules = ValueRules::of(&types, None, query, numbers, environment.moments());
                let plan = |query: &Bound| self.source_plan(context, query, rules.clone()?, &to_change);
                let change = ShortChange::of_insert(bound, plan);
                (rules, change)
            }
            Statement::Update(update) => {
                let bound = bind_update(update, &env)?;
                let rules = bound.targets.first().and_then(|target| rules(target, &bound.search));
                (rules, ShortChange::of_update(bound, general))
            }
            Statement::Delete(delete) => {
                let bound = bind_delete(delete, &env)?;
                let rules = bound.targets.first().and_then(|target| rules(target, &bound.search));
                (rules, ShortChange::of_delete(bound, general))
            }
            _ => (None, None),
        };
        // Foreign keys are checked on the general path.
        let is_short = |change: &ShortChange| tables.set().family(change.target().table.id).is_none();
        let change = rules.zip(change.filter(is_short)).filter(|_| !environment.is_of_the_moment());
        let write = change.map(|(rules, change)| ShortWrite::new(change, tables.set(), Command::of(statement), rules));
        Ok(write.map_or(Known::General(None), |write| Known::Write(Arc::new(write))))
    }
}

/// The part of a general plan that the short path keeps.
fn general_part(tables: &StatementTables, planned: &Planned, in_key_order: bool, rules: ValueRules) -> General {
    General {
        used: tables.used(),
        columns: query::column_infos(&planned.outputs, &planned.columns, &planned.tables),
        counts: counters::count(&planned.plan),
        cost_ms: planned.plan.estimate.cost.total_ms(),
        in_key_order,
        rules,
    }
}

/// How the general path searches for the rows that a statement changes.
fn search_plan(
    context: &StatementContext,
    target: &ChangeTarget,
    search: &Search,
    surroundings: &Surroundings,
    tables: &Arc<StatementTables>,
    values: &[Value],
) -> Option<Plan> {
    let Search::Table(search) = search else { return None };
    let rel = with_values(search.rel(target), values);
    let planned = dml::plan_search(context, rel, &target.key(), surroundings, tables);
    planned
        .ok()
        .map(|planned| Arc::unwrap_or_clone(planned.plan))
        .filter(|plan| plan.estimate.cost.worst_ms <= COST_MS_MAX)
}

/// One table by its key, and whether rows are fetched in the order of keys.
fn direct_way(shape: Shape, list: Option<usize>, general: &Plan, tables: &StatementTables) -> Option<(Way, bool)> {
    let stops_early = shape.limit.is_some() && shape.order.is_empty();
    let (access, fetch) = access(&shape, general).filter(|_| stops_early || !reads_too_many(general))?;
    let storage = muster_exec::TableSource::storage(tables, shape.table.id).ok()?;
    let in_key_order = access.whole_rows && fetch == RowFetch::KeyOrder;
    let plan = DirectPlan::new(shape, access, &storage)?;
    list.is_none_or(|list| plan.reads_by_list(list)).then_some((Way::Direct(plan), in_key_order))
}

fn nested_way(
    query: TableQuery,
    general: &Plan,
    lock: Option<Locking>,
    tables: &StatementTables,
) -> Option<(Way, bool)> {
    let storage = |id| muster_exec::TableSource::storage(tables, id).ok();
    let plan = NestedPlan::new(query, general, lock, storage)?;
    // The plan that stops early is cheap, whatever the general one costs.
    let is_cheap = general.estimate.cost.worst_ms <= COST_MS_MAX && (!plan.is_one_range() || !reads_too_many(general));
    (plan.stops_early() || is_cheap).then_some((Way::Nested(plan), false))
}

/// Returns true if the scan of one table is expected to give more rows than the short path reads.
fn reads_too_many(general: &Plan) -> bool {
    match (&general.op, general.inputs().as_slice()) {
        (PlanOp::Scan(scan), _) => general.estimate.rows > entries_max(scan.is_covering()) as f64,
        (_, [input]) => reads_too_many(input),
        _ => false,
    }
}

/// The way to the rows: by the index that the general path reads, or by a key of a unique one, which nothing beats.
fn access(shape: &Shape, general: &Plan) -> Option<(KeyAccess, RowFetch)> {
    let scan = scan_of(general);
    let is_by_key = |scan: &&Scan| {
        scan.ranges != [KeyRange::all()]
            && scan.steering.is_empty()
            && scan.index_condition.is_empty()
            && scan.distinct_prefix.is_none()
            && !stops_early(scan)
    };
    let chosen = scan.filter(is_by_key).and_then(|scan| Some((shape.access(scan.index)?, scan.fetch)));
    chosen.or_else(|| {
        let mut all = (0..shape.table.indexes.len()).filter_map(|index| shape.access(index));
        all.find(|access| access.single).map(|access| (access, RowFetch::EntryOrder))
    })
}

/// Returns true if the scan fetches the rows of the first entries only, in the order that is wanted. The short path
/// would read all entries of the range first.
fn stops_early(scan: &Scan) -> bool {
    scan.ordered && scan.limit.is_some() && !scan.is_covering() && scan.fetch == RowFetch::EntryOrder
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, DatabaseOptions, NoLocalFiles, SessionOptions, ShortStatement};

    #[test]
    fn the_general_path_takes_the_plan_that_learning_made() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::open(directory.path(), DatabaseOptions::default()).unwrap();
        let (user, host, local_files) = ("root".into(), "localhost".into(), Arc::new(NoLocalFiles));
        let mut session = database.session(SessionOptions { user, host, database: None, local_files });
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for sql in ["CREATE DATABASE db", "USE db", "CREATE TABLE a (id INT PRIMARY KEY, n INT)"] {
            runtime.block_on(session.execute(sql)).unwrap();
        }
        // No index leads to the rows.
        let text = "SELECT id FROM a WHERE n = 5";
        let statement = ShortStatement::Text(text);
        let mut state = session.state.lock();
        assert!(state.find_short(statement).is_none() && state.short_path.is_unknown);
        let (known, found) = state.learn_and_keep(CancellationToken::new());
        assert!(found.is_none());
        state.note_kept(&known, statement);
        let run = state.take_kept(text, None).unwrap();
        let last = run.query.last(&state.variables).unwrap();
        assert!(last.values == run.values && last.template.is_none());
    }
}
