//! The order in which the tables of a query are read, and the index of each.
//!
//! A table that is reached by a whole unique key comes first, by constants before those that need other tables: nothing
//! beats that. Of the others the one comes next that the general plan reads first, by the index that it reads, as long
//! as a range of that index is known by then. A query that asks for the first rows of an order may begin with all of an
//! index that has this order.

use super::{
    Level, NO_SLOT, NestedPlan, distinct,
    ends::{self, Ends},
    query::TableQuery,
    scalar::{Given, Scalars},
};
use crate::short_path::key_access::{Conditions, KeyAccess, KeyValues};
use muster_algebra::{ColId, Expr, Plan, PlanOp, Scan, SortKey, TableId};
use muster_sql::{Blocked, Locking};
use muster_storage::Table;
use muster_types::{KeyRange, SqlType};
use std::sync::Arc;

/// Most rows that a statement may ask for of an index that is read without a range.
const FIRST_ROWS_MAX: u64 = 200;

/// How a table is reached when some others have been read.
struct Reached {
    table: usize,
    access: KeyAccess,
    /// The conditions that the implied ones of the access are about.
    conditions: Vec<Expr>,
    /// Set if its rows come in the order that is asked for: whether backwards.
    in_order: Option<bool>,
    /// Set if only these of its rows are wanted.
    ends: Option<Ends>,
    /// Set if one row of each combination of these columns is wanted.
    distinct: Option<Vec<ColId>>,
}

/// Chooses levels.
struct Choice<'q> {
    query: &'q TableQuery,
    /// Columns that are known before any table is read.
    given: &'q [ColId],
    /// The scans of the general plan, in the order in which they are read.
    scans: Vec<&'q Scan>,
    /// The tables that have levels, by their positions in the query.
    read: Vec<usize>,
}

impl NestedPlan {
    /// `None` if a table is not reached so. `storage`: the files of a table.
    pub fn new(
        query: TableQuery,
        general: &Plan,
        lock: Option<Locking>,
        storage: impl Fn(TableId) -> Option<Arc<Table>>,
    ) -> Option<NestedPlan> {
        // What subqueries read is not locked.
        let has_subqueries = query.exists.is_some()
            || query.tables.iter().any(|table| table.exists.is_some())
            || !query.scalars.is_empty();
        if lock.is_some() && has_subqueries {
            return None;
        }
        let nothing = Given::nothing(query.columns.len());
        NestedPlan::behind(query, general, lock, &storage, nothing)
    }

    /// A plan for a query for which something is `given`, whose rows begin with that.
    pub(super) fn behind(
        query: TableQuery,
        general: &Plan,
        lock: Option<Locking>,
        storage: &impl Fn(TableId) -> Option<Arc<Table>>,
        given: Given,
    ) -> Option<NestedPlan> {
        let led = query.led_by_exists();
        let has_range = |plan: &NestedPlan| plan.levels.first().is_none_or(|level| !level.access.is_all());
        let plan = NestedPlan::of(query, general, lock, storage, given.clone());
        if plan.as_ref().is_some_and(has_range) {
            return plan;
        }
        let mut led = led.into_iter().filter_map(|query| NestedPlan::of(query, general, None, storage, given.clone()));
        led.find(has_range).or(plan)
    }

    fn of(
        query: TableQuery,
        general: &Plan,
        lock: Option<Locking>,
        storage: &impl Fn(TableId) -> Option<Arc<Table>>,
        mut given: Given,
    ) -> Option<NestedPlan> {
        let skips = lock.as_ref().is_some_and(|lock| matches!(lock.blocked, Blocked::Skips));
        if skips && query.tables.len() > 1 || lock.as_ref().is_some_and(|lock| lock.table.is_some()) {
            return None;
        }
        let mut scalars = Scalars::first(&query, general, storage, &mut given)?;
        if query.tables.is_empty() {
            return NestedPlan::without_tables(query, lock, scalars, given);
        }
        let mut scans = Vec::new();
        add_scans(general, &mut scans);
        add_scans_of_subqueries(general, &mut scans);
        let group_slots = group_slots(&query, &given);
        let Given { ids, mut slots } = given;
        let mut choice = Choice { query: &query, given: &ids, scans, read: Vec::new() };
        let mut reached = Vec::new();
        while reached.len() < query.tables.len() {
            let next = choice.next()?;
            choice.read.push(next.table);
            reached.push(next);
        }
        let Reached { ends, in_order, .. } = *reached.first()?;
        let distinct = reached.first()?.distinct.clone();
        let is_in_order = in_order.is_some();
        let mut left = query.filter.iter().map(Some).collect();
        let mut levels = Vec::with_capacity(reached.len());
        for (number, next) in reached.into_iter().enumerate() {
            let files = storage(query.tables[next.table].def.id)?;
            let mut level = choice.level(next, &choice.read[..=number], &files, &mut left, &mut slots)?;
            level.reverse = number == 0 && in_order == Some(true);
            levels.push(level);
        }
        let first: &Level = levels.first()?;
        let stops_early = is_in_order && query.limit.is_some();
        // A locking read locks all rows; those of several tables table by table, not row by row.
        let has_parts = ends.is_some() || distinct.is_some();
        // The general path reads the keys of a list in order, and locks no rows behind the last one that is wanted.
        let has_lists = first.access.equal.iter().any(|values| matches!(values, KeyValues::AnyOf(_)));
        let reads_behind = !is_in_order && query.limit.is_some() && has_lists;
        let locks_more = lock.is_some() && (has_parts || reads_behind || levels.len() > 1 && stops_early);
        if locks_more || first.access.is_all() && !is_in_order && !has_parts {
            return None;
        }
        let left: Vec<Expr> = left.into_iter().flatten().cloned().collect();
        scalars.add_of_rows(&query, general, storage, &mut slots, left)?;
        let late = match lock {
            None if scalars.may_be_late() => choice.first_late(&levels, is_in_order),
            _ => levels.len(),
        };
        let slots = slots.slots;
        Some(NestedPlan { levels, query, slots, group_slots, is_in_order, ends, distinct, late, scalars, lock })
    }
}

impl NestedPlan {
    /// One row that no table has.
    fn without_tables(query: TableQuery, lock: Option<Locking>, scalars: Scalars, given: Given) -> Option<NestedPlan> {
        let group_slots = group_slots(&query, &given);
        let slots = given.slots.slots;
        let is_known = query.filter.is_empty() && lock.is_none() && scalars.are_all(&query);
        is_known.then_some(NestedPlan {
            levels: Vec::new(),
            query,
            slots,
            group_slots,
            is_in_order: false,
            ends: None,
            distinct: None,
            late: 0,
            scalars,
            lock,
        })
    }
}

/// The places of columns in a row.
#[derive(Clone)]
pub(super) struct Slots {
    pub slots: Vec<u16>,
    pub next: u16,
}

impl Slots {
    pub fn give(&mut self, column: ColId) -> Option<()> {
        self.slots[column.0 as usize] = self.next;
        self.next = self.next.checked_add(1)?;
        Some(())
    }
}

/// The places of the columns that a grouping delivers, and behind them of what is given.
fn group_slots(query: &TableQuery, given: &Given) -> Vec<u16> {
    let mut slots = vec![NO_SLOT; query.columns.len()];
    if let Some(grouping) = &query.grouping {
        let delivered = (grouping.by.len() + grouping.aggregates.len()) as u16;
        given.ids.iter().for_each(|id| slots[id.0 as usize] = delivered + given.slots.slots[id.0 as usize]);
        let ids = grouping.by.iter().map(|(id, _)| id).chain(grouping.aggregates.iter().map(|(id, _)| id));
        ids.enumerate().for_each(|(slot, id)| slots[id.0 as usize] = slot as u16);
    }
    slots
}

impl super::query::QueryTable {
    /// The position in the table of a column of the query.
    pub(super) fn position(&self, column: ColId) -> Option<usize> {
        self.columns.iter().find(|(id, _)| *id == column).map(|(_, position)| *position)
    }

    pub(super) fn has(&self, column: ColId) -> bool {
        self.position(column).is_some()
    }
}

impl Choice<'_> {
    /// The table that is read next.
    fn next(&self) -> Option<Reached> {
        let query = self.query;
        let leading = query.leading.as_ref().filter(|_| self.read.is_empty());
        let may_come = |table: &usize| {
            let wants = &query.tables[*table];
            if leading.is_some_and(|leading| leading.table != *table) {
                return false;
            }
            !self.read.contains(table) && (wants.on.is_none() || (0..wants.after).all(|t| self.read.contains(&t)))
        };
        let open: Vec<usize> = (0..query.tables.len()).filter(may_come).collect();
        let singles = open.iter().filter_map(|table| self.single(*table));
        // One that needs no other table comes before one that does.
        let needs_others = |reached: &Reached| reached.access.mentions_columns();
        if let Some(best) = singles.min_by_key(needs_others) {
            return Some(best);
        }
        let mut by_plan = open;
        let place = |table: &usize| {
            let of = &query.tables[*table];
            let is_it = |scan: &&Scan| scan.table.id == of.def.id && scan.alias == of.alias;
            self.scans.iter().position(is_it).unwrap_or(usize::MAX)
        };
        by_plan.sort_by_key(place);
        by_plan.into_iter().find_map(|table| self.range(table, self.scans.get(place(&table)).copied()))
    }

    /// The conditions that may decide which rows of a table are read.
    fn conditions(&self, table: usize) -> Vec<Expr> {
        match &self.query.tables[table].on {
            Some(on) => on.clone(),
            None => self.query.filter.clone(),
        }
    }

    /// The type of a column that is known by now.
    fn known(&self, id: ColId) -> Option<SqlType> {
        let is_known = self.given.contains(&id) || self.read.iter().any(|t| self.query.tables[*t].has(id));
        is_known.then(|| self.query.columns.ty(id))
    }

    fn access(&self, table: usize, conditions: &[Expr], index: usize) -> Option<KeyAccess> {
        let of = &self.query.tables[table];
        let position = |id: ColId| of.position(id);
        let known = |id: ColId| self.known(id);
        let conditions = Conditions { table: &of.def, all: conditions, position: &position, known: &known };
        let needed: Vec<usize> = self.needed(table).into_iter().map(|(_, c)| c).collect();
        KeyAccess::of(&conditions, index, &needed)
    }

    /// The table by a whole unique key.
    fn single(&self, table: usize) -> Option<Reached> {
        let conditions = self.conditions(table);
        let indexes = 0..self.query.tables[table].def.indexes.len();
        let mut all = indexes.filter_map(|index| self.access(table, &conditions, index));
        let access = all.find(|access| access.single)?;
        // One row is in any order of its columns.
        let of = &self.query.tables[table];
        let is_of_row = |key: &SortKey| key.expr.columns().into_iter().all(|id| of.has(id));
        let in_order = self.query.order.iter().all(is_of_row).then_some(false);
        Some(Reached { table, access, conditions, in_order, ends: None, distinct: None })
    }

    /// The table by a range of an index: that of the general plan if it has one, else the one of which most parts are
    /// known. The first table of a query for the first rows of an order: by an index with this order.
    fn range(&self, table: usize, scan: Option<&Scan>) -> Option<Reached> {
        let conditions = self.conditions(table);
        let query = self.query;
        let def = &query.tables[table].def;
        let is_first = self.read.is_empty();
        if let Some(reached) = ends::extremes(query).and_then(|extremes| self.ends(table, &conditions, extremes)) {
            return Some(reached);
        }
        if let Some(reached) = scan.and_then(|scan| self.distinct(table, &conditions, scan)) {
            return Some(reached);
        }
        if is_first && self.query.limit.is_some_and(|limit| limit.saturating_add(self.query.offset) <= FIRST_ROWS_MAX) {
            let is_asked_for = !query.order.is_empty() || query.exists.is_some();
            let all = (0..def.indexes.len()).filter_map(|index| {
                let access = self.access(table, &conditions, index);
                let access = access.or_else(|| is_asked_for.then(|| self.all_of(table, index, &conditions)))?;
                let in_order = self.order_of(table, &access)?;
                Some(Reached {
                    table,
                    access,
                    conditions: conditions.clone(),
                    in_order: Some(in_order),
                    ends: None,
                    distinct: None,
                })
            });
            // A scan that reads all rows in any order is no choice of an order.
            let is_by_plan = |reached: &Reached| {
                scan.is_some_and(|scan| {
                    scan.index == reached.access.index && (scan.ordered || !reached.access.is_all())
                })
            };
            let all = all.filter(|reached| is_by_plan(reached) || self.passes_all(reached));
            let known =
                |reached: &Reached| (reached.access.equal.len(), is_by_plan(reached), !reached.access.whole_rows);
            if let Some(best) = all.max_by_key(known) {
                return Some(best);
            }
        }
        let by_plan = scan.and_then(|scan| self.access(table, &conditions, scan.index));
        let access = by_plan.or_else(|| {
            let all = (0..def.indexes.len()).filter_map(|index| self.access(table, &conditions, index));
            all.max_by_key(|access| access.equal.len())
        })?;
        let in_order = if is_first { self.order_of(table, &access) } else { None };
        Some(Reached { table, access, conditions, in_order, ends: None, distinct: None })
    }

    /// The table by the index whose ends hold extremes of a column, of which as many parts as may be are known.
    fn ends(&self, table: usize, conditions: &[Expr], extremes: (ColId, bool, bool)) -> Option<Reached> {
        let of = &self.query.tables[table];
        let position = |id: ColId| of.position(id);
        let known = |id: ColId| self.known(id);
        let about = Conditions { table: &of.def, all: conditions, position: &position, known: &known };
        let needed: Vec<usize> = self.needed(table).into_iter().map(|(_, c)| c).collect();
        let all = (0..of.def.indexes.len()).filter_map(|index| {
            let mut access =
                KeyAccess::of(&about, index, &needed).unwrap_or_else(|| KeyAccess::all(index, conditions.len()));
            let ends = Ends::of(extremes, &about, &mut access)?;
            access.read_rows_for(&about, &needed);
            Some((access, ends))
        });
        let (access, ends) = all.max_by_key(|(access, _)| (access.equal.len(), !access.whole_rows))?;
        Some(Reached {
            table,
            access,
            conditions: conditions.to_vec(),
            in_order: None,
            ends: Some(ends),
            distinct: None,
        })
    }

    /// The table by an index of which one row for each combination of values is enough, where the general plan reads
    /// all of one, or one row each, too.
    fn distinct(&self, table: usize, conditions: &[Expr], scan: &Scan) -> Option<Reached> {
        let of = &self.query.tables[table];
        let is_loose = scan.distinct_prefix.is_some();
        if !is_loose && scan.ranges != [KeyRange::all()] {
            return None;
        }
        let all = (0..of.def.indexes.len()).filter_map(|index| {
            let access = self.access(table, conditions, index);
            let access = access.unwrap_or_else(|| self.all_of(table, index, conditions));
            let distinct = Some(distinct::columns(self.query, of, &access)?);
            Some(Reached { table, access, conditions: conditions.to_vec(), in_order: None, ends: None, distinct })
        });
        let is_by_plan = |reached: &Reached| is_loose && scan.index == reached.access.index;
        let all = all.filter(|reached| is_by_plan(reached) || self.passes_all(reached));
        all.max_by_key(|reached| (is_by_plan(reached), reached.access.equal.len(), !reached.access.whole_rows))
    }

    /// The number of the first level from which on all may wait until the rows are in order and cut off: a LEFT JOIN by
    /// a whole unique key adds columns to each, an EXISTS lets rows pass.
    fn first_late(&self, levels: &[Level], is_in_order: bool) -> usize {
        let query = self.query;
        if query.limit.is_none() || query.grouping.is_some() || query.exists.is_some() {
            return levels.len();
        }
        let is_late = |number: &usize| {
            let (level, table) = (&levels[*number], &query.tables[self.read[*number]]);
            let adds_columns = level.outer && level.access.single && level.afterwards.is_empty();
            // Rows that come in order are counted while they are read.
            let lets_pass = level.exists.is_some() && !is_in_order;
            let orders = query.order.iter().flat_map(|key| key.expr.columns()).any(|id| table.has(id));
            *number > 0 && (adds_columns || lets_pass) && !orders
        };
        (0..levels.len()).rev().take_while(is_late).last().unwrap_or(levels.len())
    }

    /// Returns true if no condition on its table alone leaves out rows of an access: the first rows of the order are
    /// the first ones of the index then.
    fn passes_all(&self, reached: &Reached) -> bool {
        let of = &self.query.tables[reached.table];
        let is_of_table = |e: &Expr| e.columns().into_iter().all(|id| of.has(id) || self.given.contains(&id));
        reached.conditions.iter().zip(&reached.access.implied).all(|(e, implied)| *implied || !is_of_table(e))
    }

    /// All of an index.
    fn all_of(&self, table: usize, index: usize, conditions: &[Expr]) -> KeyAccess {
        let of = &self.query.tables[table];
        let position = |id: ColId| of.position(id);
        let needed: Vec<usize> = self.needed(table).into_iter().map(|(_, c)| c).collect();
        let mut access = KeyAccess::all(index, conditions.len());
        let all = Conditions { table: &of.def, all: conditions, position: &position, known: &|_| None };
        access.read_rows_for(&all, &needed);
        access
    }

    /// Whether the rows of an access come in the order that is asked for, and so backwards; `None` if they do not.
    fn order_of(&self, table: usize, access: &KeyAccess) -> Option<bool> {
        let of = &self.query.tables[table];
        if self.query.grouping.is_some() {
            return None;
        }
        if self.query.order.is_empty() {
            return Some(false);
        }
        let column = |key: &SortKey| {
            let Expr::Column(id) = &key.expr else { return None };
            Some((of.position(*id)?, key.descending))
        };
        let order = self.query.order.iter().map(column).collect::<Option<Vec<_>>>()?;
        let has_lists = access.equal.iter().any(|values| matches!(values, KeyValues::AnyOf(_)));
        if has_lists || !of.def.has_primary_key() {
            return None;
        }
        access.order(&of.def, &order)
    }

    /// A level. `read`: the tables that have rows by then. `left`: the conditions of the result that none before has
    /// decided.
    fn level(
        &self,
        next: Reached,
        read: &[usize],
        files: &Arc<Table>,
        left: &mut Vec<Option<&Expr>>,
        slots: &mut Slots,
    ) -> Option<Level> {
        let query = self.query;
        let table = &query.tables[next.table];
        let is_read = |id: ColId| self.given.contains(&id) || read.iter().any(|t| query.tables[*t].has(id));
        let needed = self.needed(next.table);
        let tree = if next.access.whole_rows { 0 } else { next.access.index };
        let layout = files.trees().get(tree)?.layout();
        let stored = needed.iter().map(|(_, c)| layout.column_of(*c)).collect::<Option<Vec<_>>>()?;
        let first_slot = slots.next;
        needed.iter().try_for_each(|(id, _)| slots.give(*id))?;
        if table.exists.is_some() {
            // Nobody else looks at them.
            slots.next = first_slot;
        }
        let mut decided = Vec::new();
        for condition in left.iter_mut().filter(|c| c.is_some_and(|c| c.columns().into_iter().all(is_read))) {
            decided.extend(condition.take());
        }
        let keys = next.conditions.iter().zip(&next.access.implied);
        let (conditions, afterwards) = match &table.on {
            Some(_) => {
                let on = keys.filter(|(_, implied)| !**implied);
                (on.map(|(e, _)| e.clone()).collect(), decided.into_iter().cloned().collect())
            }
            None => {
                let implied: Vec<&Expr> = keys.filter(|(_, implied)| **implied).map(|(e, _)| e).collect();
                (decided.into_iter().filter(|e| !implied.contains(e)).cloned().collect(), Vec::new())
            }
        };
        Some(Level {
            table: Arc::downgrade(files),
            def: table.def.clone(),
            reverse: false,
            access: next.access,
            columns: needed.into_iter().map(|(_, c)| c).collect(),
            stored,
            conditions,
            outer: table.on.is_some() && table.exists.is_none(),
            exists: table.exists,
            afterwards,
        })
    }

    /// The columns of a table that the query has a use for.
    fn needed(&self, table: usize) -> Vec<(ColId, usize)> {
        let query = self.query;
        let mut used: Vec<ColId> = Vec::new();
        let mut add = |expr: &Expr| used.extend(expr.columns());
        query.filter.iter().for_each(&mut add);
        query.tables.iter().filter_map(|t| t.on.as_ref()).flatten().for_each(&mut add);
        query.scalars.iter().flat_map(|scalar| &scalar.outer).for_each(|id| add(&Expr::Column(*id)));
        match &query.grouping {
            Some(grouping) => {
                grouping.by.iter().for_each(|(_, e)| add(e));
                grouping.aggregates.iter().flat_map(|(_, call)| &call.args).for_each(&mut add);
            }
            None => {
                query.outputs.iter().for_each(&mut add);
                query.order.iter().for_each(|key| add(&key.expr));
            }
        }
        query.tables[table].columns.iter().filter(|(id, _)| used.contains(id)).copied().collect()
    }
}

fn add_scans_of_subqueries<'p>(plan: &'p Plan, scans: &mut Vec<&'p Scan>) {
    plan.inputs().into_iter().for_each(|input| add_scans_of_subqueries(input, scans));
    for expr in plan.exprs() {
        expr.visit(&mut |e| {
            if let Expr::Subplan(subplan) = e {
                add_scans(&subplan.plan, scans);
                add_scans_of_subqueries(&subplan.plan, scans);
            }
        });
    }
}

fn add_scans<'p>(plan: &'p Plan, scans: &mut Vec<&'p Scan>) {
    plan.inputs().into_iter().for_each(|input| add_scans(input, scans));
    match &plan.op {
        PlanOp::Scan(scan) => scans.push(scan),
        PlanOp::LookupJoin { lookup, .. } => scans.push(lookup),
        _ => {}
    }
}
