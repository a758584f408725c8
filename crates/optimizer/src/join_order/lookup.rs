//! Joining a base table by looking its rows up: which index the join's equalities can be keys of, and what that costs.

use super::entry_condition::entry_condition;
use super::graph::{Graph, Predicate, Role, Units};
use super::model::spanning_share;
use crate::access_path::{self, Reading};
use crate::cost::{JoinInput, Tree, predicates_weight};
use crate::estimate::Estimator;
use crate::index_shape::{entries_per_key, tree_of, usable_parts};
use crate::literal::{exact_constant, is_constant, planned_value};
use crate::options::Options;
use crate::scope::{self, ColSet};
use crate::trace::{Event, TracedTable};
use muster_algebra::{
    ColId, Columns, CompareOp, Cost, Expr, IndexHint, JoinKind, KeyRange, Plan, PlanOp, Rel, Scan, SqlType, Statistics,
    Switch, TableDef,
};
use muster_types::IntWidth;
use std::borrow::Cow;
use std::sync::Arc;

/// A base table with conditions that storage can check.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    table: &'a Arc<TableDef>,
    alias: &'a str,
    columns: &'a [(ColId, usize)],
    hints: &'a [IndexHint],
    predicates: &'a [Expr],
}

/// The base table that a relation is, with its conditions.
pub fn base_of(rel: &Rel) -> Option<Base<'_>> {
    let (get, predicates) = match rel {
        Rel::Filter { input, predicates } => (&**input, predicates.as_slice()),
        _ => (rel, &[][..]),
    };
    let Rel::Get { table, alias, columns, hints } = get else { return None };
    let checkable = predicates.iter().all(|p| !p.has_subquery() && p.is_movable());
    checkable.then_some(Base { table, alias, columns, hints, predicates })
}

/// A way to look a unit's rows up.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    pub index: usize,
    /// Values of the index's leading parts.
    pub keys: Vec<Expr>,
    /// The unit's columns that the keys are equal to.
    pub parts: Vec<ColId>,
    pub batched: bool,
    pub key_ordered: bool,
    /// Cost of the lookups, without that of the left input.
    pub cost: Cost,
}

/// A base table among the units, with what is the same for all rows that look it up.
struct LookedUp<'a> {
    base: Base<'a>,
    clustered: Tree,
    /// Weight of the conditions on the table alone.
    weight: f64,
    indexes: Vec<LookupIndex>,
    /// True if keys are collected and looked up together.
    batched: bool,
    /// True if collected keys are sorted before they are looked up.
    key_ordered: bool,
}

/// An index that rows of a unit may be looked up through.
struct LookupIndex {
    index: usize,
    tree: Tree,
    /// The leading parts that may be compared with keys.
    parts: Vec<LookupPart>,
    /// Number of entries that share the first part, the first two parts, and so on.
    entries_per_key: Vec<f64>,
    /// True if the entries have all columns that are wanted or checked.
    covering: bool,
    /// True if the rows of entries are fetched in the order of the primary key.
    fetches_in_order: bool,
    /// Share of the entries for which the unit's own conditions hold, as far as entries tell.
    entry_share: f64,
}

struct LookupPart {
    id: ColId,
    ty: SqlType,
    /// The literal that a condition of the table says the column is equal to.
    constant: Option<Expr>,
}

/// What lookups are found and costed with.
pub struct Lookups<'a> {
    pub graph: &'a Graph,
    pub columns: &'a Columns,
    pub statistics: &'a dyn Statistics,
    pub estimator: &'a Estimator,
    pub options: &'a Options,
    /// Per unit, the options with the hints for it.
    pub unit_options: Vec<Cow<'a, Options>>,
    /// The table of each unit; `None` for a unit that is no base table or whose rows may not be looked up.
    units: Vec<Option<LookedUp<'a>>>,
}

impl<'a> Lookups<'a> {
    pub fn new(
        graph: &'a Graph,
        plans: &[Plan],
        columns: &'a Columns,
        statistics: &'a dyn Statistics,
        estimator: &'a Estimator,
        options: &'a Options,
    ) -> Lookups<'a> {
        let unit_options = graph.units.iter().map(|unit| options.for_rel(&unit.rel)).collect();
        let mut lookups = Lookups { graph, columns, statistics, estimator, options, unit_options, units: Vec::new() };
        lookups.units = plans.iter().enumerate().map(|(unit, plan)| lookups.looked_up(unit, plan)).collect();
        if options.trace.is_on() {
            (0..lookups.units.len()).for_each(|unit| lookups.note_keys(unit));
        }
        lookups
    }

    /// Notes the indexes of a unit that the join's conditions are keys of.
    fn note_keys(&self, unit: usize) {
        let Some(looked_up) = &self.units[unit] else { return };
        let others: Units = !(1 << unit);
        for through in &looked_up.indexes {
            let joined =
                |part: &LookupPart| self.joined_to(unit, part.id, others, part.ty).or_else(|| part.constant.clone());
            let equal: Vec<Expr> = through.parts.iter().map_while(joined).collect();
            if equal.is_empty() {
                continue;
            }
            let base = looked_up.base;
            self.options.trace.note(|| {
                let column = base.columns.first().map(|(id, _)| *id);
                let table = TracedTable { table: base.table.clone(), alias: base.alias.to_string(), column };
                let parts = base.table.key_parts(through.index);
                let parts = parts.iter().map(|part| part.column).zip(equal).collect();
                Event::Keys { table, index: through.index, parts }
            });
        }
    }

    /// What there is to know of a unit before the rows that look it up are known. `plan`: reads the unit by itself.
    fn looked_up(&self, unit: usize, plan: &Plan) -> Option<LookedUp<'a>> {
        let options = &*self.unit_options[unit];
        if !options.is_on(Switch::LookupJoin) {
            return None;
        }
        if let Role::Dependent { kind, on, .. } = &self.graph.units[unit].role {
            let forbidden = match kind {
                JoinKind::NullAwareAnti => true,
                JoinKind::Semi => !options.is_on(Switch::Firstmatch),
                _ => false,
            };
            if forbidden || on.iter().any(Expr::has_subquery) {
                return None;
            }
        }
        let base = base_of(&self.graph.units[unit].rel)?;
        let mut needed: ColSet = plan.output.iter().copied().collect();
        needed.extend(scope::exprs_columns(base.predicates));
        let may_read = |index: &usize| access_path::hints::may_read(*index, base.hints);
        let indexes = (0..base.table.indexes.len()).filter(may_read);
        let indexes = indexes.filter_map(|index| self.lookup_index(base, index, &needed, options)).collect();
        let clustered = tree_of(self.statistics, base.table, 0);
        let batched = options.batches_keys();
        let key_ordered = batched && options.is_on(Switch::MrrSortKeys);
        let weight = predicates_weight(base.predicates);
        Some(LookedUp { base, clustered, weight, indexes, batched, key_ordered })
    }

    fn lookup_index(&self, base: Base<'_>, index: usize, needed: &ColSet, options: &Options) -> Option<LookupIndex> {
        let mut parts = Vec::new();
        for part in usable_parts(base.table, index, self.options) {
            // A prefix is not the whole value, and two doubles can be equal with different bytes.
            let ty = base.table.columns[part.column].ty.stored_type();
            if part.prefix.is_some() || matches!(ty, SqlType::Float | SqlType::Double) {
                break;
            }
            let Some((id, _)) = base.columns.iter().find(|(_, position)| *position == part.column) else { break };
            parts.push(LookupPart { id: *id, ty, constant: constant(base, *id, ty) });
        }
        if parts.is_empty() {
            return None;
        }
        let per_key = |count| entries_per_key(self.statistics, base.table, index, count);
        let columns = base.columns.iter().filter(|(id, _)| needed.contains(id));
        let covering = columns.into_iter().all(|(_, column)| base.table.index_has_column(index, *column));
        let entry_share = match covering {
            true => 1.0,
            false => {
                let conditions: Vec<&Expr> = base.predicates.iter().collect();
                let (on_entries, _) =
                    access_path::split_conditions(base.table, index, base.columns, conditions, options);
                self.estimator.selectivity(on_entries)
            }
        };
        let tree = tree_of(self.statistics, base.table, index);
        let entries_per_key = (1..=parts.len()).map(per_key).collect();
        let fetches_in_order = options.is_on_for(Switch::Mrr, index);
        Some(LookupIndex { index, tree, parts, entries_per_key, covering, fetches_in_order, entry_share })
    }

    /// The cheapest way to look up a unit's rows for rows of these other units.
    pub fn best(&self, left: Units, outer: JoinInput, unit: usize, output_rows: f64) -> Option<Lookup> {
        let looked_up = self.units[unit].as_ref()?;
        let through = |index| self.through(looked_up, index, left, outer, unit, output_rows);
        looked_up
            .indexes
            .iter()
            .filter_map(through)
            .min_by(|a, b| a.cost.compared_ms().total_cmp(&b.cost.compared_ms()))
    }

    /// Returns true if a plan of the unit is what FORCE INDEX forbids as long as there are lookups: a scan of the table
    /// itself.
    pub fn is_forced(&self, unit: usize, plan: &Plan) -> bool {
        fn scans_table(plan: &Plan) -> bool {
            match &plan.op {
                PlanOp::Scan(scan) => scan.index == 0 && scan.ranges == [KeyRange::all()] && !scan.ordered,
                PlanOp::Filter { input, .. } => scans_table(input),
                _ => false,
            }
        }
        let forces = |base: Base<'_>| access_path::hints::forces_reading(base.hints);
        base_of(&self.graph.units[unit].rel).is_some_and(forces) && scans_table(plan)
    }

    fn through(
        &self,
        looked_up: &LookedUp<'_>,
        through: &LookupIndex,
        left: Units,
        outer: JoinInput,
        unit: usize,
        output_rows: f64,
    ) -> Option<Lookup> {
        let left_rows = outer.rows;
        let (mut keys, mut parts) = (Vec::new(), Vec::new());
        for part in &through.parts {
            let joined = self.joined_to(unit, part.id, left, part.ty);
            let Some(key) = joined.or_else(|| part.constant.clone()) else { break };
            keys.push(key);
            parts.push(part.id);
        }
        let of_left = |e: &Expr| !is_constant(e);
        if !keys.iter().any(of_left) {
            return None;
        }
        let LookedUp { base, clustered, weight, batched, key_ordered, .. } = looked_up;
        let LookupIndex { index, tree, covering, .. } = through;
        let distinct: f64 = keys.iter().map(|k| self.estimator.distinct(k).unwrap_or(left_rows).max(1.0)).product();
        let passes = self.options.cost.join_buffer_passes(outer);
        let lookups = left_rows.min(distinct * passes);
        let entries = lookups * through.entries_per_key[keys.len() - 1];
        let mut cost = match key_ordered {
            true => self.options.cost.lookups(tree, lookups, entries, passes),
            false => self.options.cost.single_lookups(tree, left_rows, entries),
        };
        cost += self.options.cost.filter(entries, *weight);
        if !covering {
            let further = self.conditions(left, unit).filter(|c| !implied(&parts, &keys, c));
            let joined = entry_condition(base.table, *index, base.columns, further, &self.unit_options[unit]);
            let fetched = entries * through.entry_share * self.share(&joined);
            cost += match through.fetches_in_order {
                true => self.options.cost.fetches(clustered, fetched, passes),
                false => self.options.cost.single_lookups(clustered, fetched, fetched),
            };
        }
        cost += self.options.cost.join_buffer(outer, output_rows);
        let (batched, key_ordered) = (*batched, *key_ordered);
        Some(Lookup { index: *index, keys, parts, batched, key_ordered, cost })
    }

    /// The conditions of a join of a unit with these others.
    fn conditions(&self, left: Units, unit: usize) -> impl Iterator<Item = &Expr> {
        let bit = 1 << unit;
        let known = move |p: &&Predicate| p.units & bit != 0 && p.units & !(left | bit) == 0;
        let (on, predicates) = match &self.graph.units[unit].role {
            Role::Dependent { on, .. } => (on.as_slice(), &[][..]),
            Role::Inner => (&[][..], self.graph.predicates.as_slice()),
        };
        on.iter().chain(predicates.iter().filter(known).map(|p| &p.expr))
    }

    /// Share of joined rows that conditions over several units leave.
    fn share(&self, conditions: &[Expr]) -> f64 {
        conditions.iter().map(|c| spanning_share(self.graph, self.estimator, c)).product()
    }

    /// What the join says a column of the unit is equal to, over columns of `left`, if it can be a key.
    fn joined_to(&self, unit: usize, id: ColId, left: Units, ty: SqlType) -> Option<Expr> {
        let fits = |e: &Expr| fits(e.ty(self.columns), ty);
        if let Role::Dependent { on, .. } = &self.graph.units[unit].role {
            return on.iter().find_map(|condition| {
                let Expr::Compare { op: CompareOp::Eq, left: a, right: b } = condition else { return None };
                let other = match (&**a, &**b) {
                    (Expr::Column(c), other) | (other, Expr::Column(c)) if *c == id => other,
                    _ => return None,
                };
                let mentioned = scope::expr_columns(other);
                let units = self.graph.units_of(&mentioned);
                let over_left = !mentioned.is_empty() && units != 0 && units & !left == 0;
                (over_left && fits(other)).then(|| other.clone())
            });
        }
        for class in self.graph.classes.iter().filter(|c| c.contains(&(unit, id))) {
            // As the equality for this class is made: see `Builder::equalities`.
            if let Some((_, member)) = class.iter().find(|(u, _)| left & (1 << u) != 0) {
                return Some(Expr::Column(*member)).filter(fits);
            }
        }
        self.graph.edges.iter().find_map(|edge| {
            let (own, other) = match 1 << unit {
                bit if edge.left_units == bit && edge.right_units & !left == 0 => (&edge.left, &edge.right),
                bit if edge.right_units == bit && edge.left_units & !left == 0 => (&edge.right, &edge.left),
                _ => return None,
            };
            (*own == Expr::Column(id) && fits(other)).then(|| other.clone())
        })
    }

    /// The right side of the join: what is read and checked, of the columns required above. The unit's own conditions
    /// that keys imply are left out.
    pub fn scan(&self, unit: usize, lookup: &Lookup, required: &ColSet) -> Option<Scan> {
        let base = base_of(&self.graph.units[unit].rel)?;
        // A condition that says anything else of the column may be false for the key, also another equality.
        let implied = |p: &Expr| {
            let mut pairs = lookup.parts.iter().zip(&lookup.keys).filter(|(_, key)| is_constant(key));
            pairs.any(|(id, key)| equal_constant(p, *id, key.ty(self.columns)).as_ref() == Some(key))
        };
        let conditions: Vec<Expr> = base.predicates.iter().filter(|p| !implied(p)).cloned().collect();
        let checked = scope::exprs_columns(&conditions);
        let used = |id: &ColId| required.contains(id) || checked.contains(id);
        let columns = base.columns.iter().filter(|(id, _)| used(id)).copied().collect();
        let Base { table, alias, .. } = base;
        let reading = Reading { table, alias, index: lookup.index, columns, conditions };
        Some(reading.scan(required, self.estimator, &self.unit_options[unit]))
    }
}

impl Lookup {
    /// Returns true if the condition follows from the keys.
    pub fn implies(&self, condition: &Expr) -> bool {
        implied(&self.parts, &self.keys, condition)
    }

    /// `options`: with the hints for the unit.
    pub fn op(&self, kind: JoinKind, left: Plan, scan: Scan, residual: Vec<Expr>, options: &Options) -> PlanOp {
        let entry_condition = match scan.is_covering() {
            true => Vec::new(),
            false => entry_condition(&scan.table, self.index, &scan.columns, &residual, options),
        };
        let (left, lookup) = (Box::new(left), Box::new(scan));
        let Lookup { batched, key_ordered, .. } = *self;
        let keys = self.keys.clone();
        let buffered = matches!(left.op, PlanOp::LookupJoin { batched: true, .. });
        let incremental = batched && buffered && options.is_on(Switch::JoinCacheIncremental);
        PlanOp::LookupJoin { kind, left, lookup, keys, residual, entry_condition, batched, key_ordered, incremental }
    }
}

/// Returns true if a condition is that one of the columns is equal to its key.
fn implied(parts: &[ColId], keys: &[Expr], condition: &Expr) -> bool {
    let Expr::Compare { op: CompareOp::Eq, left, right } = condition else { return false };
    parts.iter().zip(keys).any(|(id, key)| {
        let column = Expr::Column(*id);
        **left == column && **right == *key || **right == column && **left == *key
    })
}

/// The constant that a condition says the column is equal to, as a value of this type; `None` if it says anything
/// else.
fn equal_constant(condition: &Expr, id: ColId, ty: SqlType) -> Option<Expr> {
    let Expr::Compare { op: CompareOp::Eq, left, right } = condition else { return None };
    let other = match (&**left, &**right) {
        (Expr::Column(c), other) | (other, Expr::Column(c)) if *c == id => other,
        _ => return None,
    };
    exact_constant(other, ty)
}

/// The constant that a condition of the table says a column is equal to.
fn constant(base: Base<'_>, id: ColId, ty: SqlType) -> Option<Expr> {
    let is_value = |constant: &Expr| planned_value(constant).is_some_and(|(value, _)| !value.is_null());
    base.predicates.iter().find_map(|p| equal_constant(p, id, ty).filter(is_value))
}

/// Returns true if every value of one type is a value of the other, and equal ones are equal keys.
fn fits(from: SqlType, to: SqlType) -> bool {
    match (from.stored_type(), to.stored_type()) {
        (SqlType::Int { width: a, unsigned: false }, SqlType::Int { width: b, unsigned: false })
        | (SqlType::Int { width: a, unsigned: true }, SqlType::Int { width: b, unsigned: true }) => a <= b,
        (SqlType::Int { width: a, unsigned: true }, SqlType::Int { width: b, unsigned: false }) => {
            a < b && a != IntWidth::Big
        }
        (SqlType::Decimal { precision: a, scale: s }, SqlType::Decimal { precision: b, scale: t }) => s == t && a <= b,
        (SqlType::Text { collation: a, .. }, SqlType::Text { collation: b, .. }) => a == b,
        (SqlType::Bytes { .. }, SqlType::Bytes { .. }) => true,
        (SqlType::DateTime { fsp: a }, SqlType::DateTime { fsp: b })
        | (SqlType::Timestamp { fsp: a }, SqlType::Timestamp { fsp: b })
        | (SqlType::Time { fsp: a }, SqlType::Time { fsp: b }) => a <= b,
        (SqlType::Date, SqlType::Date) | (SqlType::Year, SqlType::Year) => true,
        (SqlType::Enum(a), SqlType::Enum(b)) | (SqlType::Set(a), SqlType::Set(b)) => a == b,
        (SqlType::Bit { width: a }, SqlType::Bit { width: b }) => a == b,
        _ => false,
    }
}

#[cfg(test)]
#[path = "lookup_tests.rs"]
mod tests;
