//! Key ranges of an index from conditions: which part of an index holds all rows that the conditions can accept.
//!
//! ```text
//!   condition on one column  ->  intervals of its values          crate::intervals
//!                            ->  intervals of a part of the key   part_values
//!   conditions by AND and OR ->  a set of keys                    key_set, sweep
//!                            ->  ranges of the index, steering    flatten
//!
//!   a = 1, b in (2, 3), c < 5 on key(a, b, c)  ->  (1,2,NULL)..(1,2,5), (1,3,NULL)..(1,3,5)
//! ```
//!
//! A set may hold more keys than the conditions accept, never fewer; what it holds exactly need not be checked again.

mod flatten;
mod key_set;
mod sweep;

use crate::index_shape::usable_parts;
use crate::intervals::{Interval, column_values::ColumnValues, part_values::Part};
use crate::options::Options;
use flatten::FlatPart;
use key_set::{KeySet, KeySets};
use muster_algebra::{ColId, Expr, KeyInterval, KeyPart, KeyRange, LogicOp, SqlType, Switch, TableDef, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Bound;
use std::rc::Rc;

/// Memory that a range takes, by MySQL's reckoning for predicates joined by OR (manual 10.2.1.2, "Limiting Memory Use
/// for Range Optimization").
const BYTES_PER_RANGE: u64 = 230;
/// More ranges than this are not made, whatever memory is allowed.
const RANGES_MAX: usize = 1 << 20;
/// Steps that combining conditions may take, for each range that may be made. A step is one interval that goes into one
/// operation or comes out of it.
const WORK_PER_RANGE: usize = 8;

/// The ranges of one index that some conditions leave.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexRanges {
    /// Disjoint and ascending; empty when no row can qualify.
    pub ranges: Vec<KeyRange>,
    /// Leading parts that are bound to single values in each range.
    pub equal_parts: usize,
    /// Number of leading parts that have one value in all ranges together.
    pub fixed_parts: usize,
    /// Number of leading parts that some range restricts; 0 if there is only steering.
    pub parts: usize,
    /// The values that conditions leave of parts that no range restricts, as in [`muster_algebra::Scan::steering`].
    pub steering: Vec<Option<Vec<KeyInterval>>>,
    /// For each conjunct, true if it holds for every row of the ranges, so that they need not be checked again.
    pub implied: Vec<bool>,
    /// True if the ranges hold all rows for which the implied conjuncts hold: no other conjunct has narrowed them.
    pub says_all: bool,
    /// For each conjunct, true if the steering was made from it.
    pub steered: Vec<bool>,
}

impl IndexRanges {
    /// Returns true if the switches allow a skip scan: `index_condition_pushdown` behind a range, `skip_scan` without
    /// one.
    pub fn may_be_steered(&self, index: usize, options: &Options) -> bool {
        let switch = if self.parts > 0 { Switch::IndexConditionPushdown } else { Switch::SkipScan };
        !self.steering.is_empty() && !self.ranges.is_empty() && options.is_on_for(switch, index)
    }

    /// Returns true if each range holds one key of a unique index at most.
    pub fn are_single_rows(&self, table: &TableDef, index: usize) -> bool {
        let definition = &table.indexes[index];
        let declared = definition.parts.len();
        // NULLs are never duplicates of each other.
        let has_null = |r: &KeyRange| match &r.lower {
            Bound::Included(values) => values.iter().take(declared).any(Value::is_null),
            _ => true,
        };
        definition.unique && declared > 0 && self.equal_parts >= declared && !self.ranges.iter().any(has_null)
    }
}

/// Number of ranges that one index may have.
pub fn ranges_max(options: &Options) -> usize {
    match options.range_optimizer_max_mem_size / BYTES_PER_RANGE {
        _ if options.range_optimizer_max_mem_size == 0 => RANGES_MAX,
        n => usize::try_from(n).unwrap_or(RANGES_MAX).min(RANGES_MAX),
    }
}

/// The ranges of a table's indexes that some conjuncts leave, by index, as far as they have been asked for.
#[derive(Default)]
pub struct KnownRanges {
    by_index: RefCell<HashMap<usize, Option<Rc<IndexRanges>>>>,
}

/// What conjuncts say of the keys of one table.
pub struct Domains<'a> {
    table: &'a TableDef,
    conjuncts: &'a [Expr],
    position: HashMap<ColId, usize>,
    ranges_max: usize,
    options: &'a Options,
    known: &'a KnownRanges,
}

impl<'a> Domains<'a> {
    /// `known`: what was found out before of these conjuncts, whatever numbers their columns had.
    pub fn new(
        table: &'a TableDef,
        columns: &[(ColId, usize)],
        conjuncts: &'a [Expr],
        options: &'a Options,
        known: &'a KnownRanges,
    ) -> Domains<'a> {
        let position = columns.iter().copied().collect();
        Domains { table, conjuncts, position, ranges_max: ranges_max(options), options, known }
    }

    /// The ranges of an index, `None` when its conditions neither restrict nor steer, and for a statement that has been
    /// stopped.
    pub fn ranges(&self, index: usize) -> Option<Rc<IndexRanges>> {
        if let Some(found) = self.known.by_index.borrow().get(&index) {
            return found.clone();
        }
        let found = self.ranges_of(index).map(Rc::new);
        self.known.by_index.borrow_mut().insert(index, found.clone());
        found
    }

    fn ranges_of(&self, index: usize) -> Option<IndexRanges> {
        let parts = usable_parts(self.table, index, self.options);
        let parts: Vec<IndexPart> = parts.into_iter().map(|p| IndexPart::new(self.table, p)).collect();
        let interrupt = &self.options.interrupt;
        let types: Vec<SqlType> = parts.iter().map(|p| p.part.ty).collect();
        let sets = KeySets { types: &types, work_max: self.ranges_max.saturating_mul(WORK_PER_RANGE), interrupt };
        let conditions = Conditions { table: self.table, position: &self.position, parts: &parts, sets };
        // For each conjunct: the levels that it restricts, if it is in the set, and whether it is wholly.
        let mut used: Vec<(Vec<usize>, bool)> = Vec::with_capacity(self.conjuncts.len());
        let mut sets = Vec::with_capacity(self.conjuncts.len());
        for conjunct in self.conjuncts {
            interrupt.check().ok()?;
            let found = conditions.keys(conjunct);
            used.push((restricted_levels(&found.keys), found.exact));
            sets.push(found.keys);
        }
        let (all, left_out) = conditions.sets.intersection_of(sets);
        left_out.into_iter().for_each(|conjunct| used[conjunct] = (Vec::new(), false));
        if all == KeySet::All {
            return None;
        }
        let flat_parts: Vec<FlatPart> = parts.iter().map(IndexPart::flat).collect();
        let flat = flatten::flatten(&all, &flat_parts, self.ranges_max)?;
        let steering = match all.is_none() {
            true => Vec::new(),
            false => flatten::steering(&all, &flat_parts, flat.complete_parts),
        };
        // Storage widens the bounds of ranges that have cut values in them.
        let whole_parts = parts.iter().take_while(|p| p.part.prefix.is_none()).count();
        let exact_parts = flat.complete_parts.min(whole_parts);
        let implied = |(levels, exact): &(Vec<usize>, bool)| *exact && levels.iter().all(|l| *l < exact_parts);
        let is_steered = |level: &usize| steering.get(*level).is_some_and(Option::is_some);
        let constrained = flat.ranges.iter().map(constrained_parts).max().unwrap_or(1);
        let narrows = |(levels, _): &(Vec<usize>, bool)| levels.iter().any(|level| *level < constrained);
        let found = IndexRanges {
            says_all: used.iter().all(|conjunct| implied(conjunct) || !narrows(conjunct)),
            equal_parts: flat.ranges.iter().map(equal_values).min().unwrap_or(0),
            fixed_parts: fixed_parts(&flat.ranges),
            parts: constrained,
            implied: used.iter().map(implied).collect(),
            steered: used.iter().map(|(levels, _)| levels.iter().any(is_steered)).collect(),
            ranges: flat.ranges,
            steering,
        };
        (found.parts > 0 || !found.steering.is_empty()).then_some(found)
    }
}

/// A part of a key, for the conditions on it and for the ranges made of them.
struct IndexPart {
    column: usize,
    descending: bool,
    part: Part,
}

impl IndexPart {
    fn new(table: &TableDef, part: KeyPart) -> IndexPart {
        let column = &table.columns[part.column];
        let KeyPart { column: position, prefix, descending } = part;
        IndexPart { column: position, descending, part: Part { ty: column.ty, nullable: column.nullable, prefix } }
    }

    fn flat(&self) -> FlatPart {
        FlatPart { ty: self.part.ty, descending: self.descending, whole: self.part.prefix.is_none() }
    }
}

/// The keys of rows for which a condition is TRUE.
struct FoundRanges {
    keys: KeySet,
    /// True if the condition is TRUE for all rows with these keys.
    exact: bool,
}

impl FoundRanges {
    /// The result for a condition that does not restrict the index.
    fn unknown() -> FoundRanges {
        FoundRanges { keys: KeySet::All, exact: false }
    }
}

/// Conditions as sets of keys of one index.
struct Conditions<'a> {
    table: &'a TableDef,
    position: &'a HashMap<ColId, usize>,
    parts: &'a [IndexPart],
    sets: KeySets<'a>,
}

impl Conditions<'_> {
    fn keys(&self, condition: &Expr) -> FoundRanges {
        match condition {
            Expr::Literal { value: Value::Bool(true), .. } => FoundRanges { keys: KeySet::All, exact: true },
            e if crate::literal::never_true(e) => FoundRanges { keys: KeySet::none(), exact: true },
            Expr::IsTruth { arg, truth: true, negated: false } => self.keys(arg),
            Expr::Logic { op: LogicOp::And, args } => {
                let found: Vec<FoundRanges> = args.iter().map(|arg| self.keys(arg)).collect();
                let exact = found.iter().all(|f| f.exact);
                let (keys, left_out) = self.sets.intersection_of(found.into_iter().map(|f| f.keys).collect());
                FoundRanges { keys, exact: exact && left_out.is_empty() }
            }
            Expr::Logic { op: LogicOp::Or, args } => {
                let (mut sets, mut exact) = (Vec::with_capacity(args.len()), true);
                for arg in args {
                    if self.sets.interrupt.check().is_err() {
                        return FoundRanges::unknown();
                    }
                    let found = self.keys(arg);
                    if found.keys == KeySet::All && !found.exact {
                        return FoundRanges::unknown();
                    }
                    exact &= found.exact;
                    sets.push(found.keys);
                }
                self.sets.union_of(&sets).map_or_else(FoundRanges::unknown, |keys| FoundRanges { keys, exact })
            }
            _ => self.of_column(condition).unwrap_or_else(FoundRanges::unknown),
        }
    }

    /// A condition on a single column, in every part that the column is in.
    fn of_column(&self, condition: &Expr) -> Option<FoundRanges> {
        let ty_of = |id: ColId| {
            let column = *self.position.get(&id)?;
            let is_part = self.parts.iter().any(|p| p.column == column);
            is_part.then(|| self.table.columns[column].ty)
        };
        let ColumnValues { column, values } = ColumnValues::of(condition, &ty_of)?;
        let column = *self.position.get(&column)?;
        let mut all = FoundRanges::unknown();
        for (level, part) in self.parts.iter().enumerate().filter(|(_, p)| p.column == column) {
            let (intervals, exact) = part.part.intervals(&values);
            let keys = KeySet::of_part(level, intervals);
            if let Some(keys) = self.sets.intersection(&all.keys, &keys) {
                all = FoundRanges { keys, exact: all.exact || exact };
            }
        }
        Some(all)
    }
}

fn restricted_levels(keys: &KeySet) -> Vec<usize> {
    let mut levels = Vec::new();
    if keys.is_none() {
        levels.push(0);
    }
    keys.visit(0, &mut |level, interval| {
        if *interval != Interval::ALL && !levels.contains(&level) {
            levels.push(level);
        }
    });
    levels
}

fn values(bound: &Bound<Vec<Value>>) -> &[Value] {
    match bound {
        Bound::Included(values) | Bound::Excluded(values) => values,
        Bound::Unbounded => &[],
    }
}

/// Leading parts that a range says something of.
fn constrained_parts(range: &KeyRange) -> usize {
    values(&range.lower).len().max(values(&range.upper).len())
}

/// The leading values that all keys of a range have.
fn common_values(range: &KeyRange) -> &[Value] {
    // The last value of an excluded bound is just what keys do not have.
    let held = |bound: &Bound<Vec<Value>>| match bound {
        Bound::Excluded(values) => values.len().saturating_sub(1),
        bound => self::values(bound).len(),
    };
    let (lower, upper) = (values(&range.lower), values(&range.upper));
    let same = lower.iter().zip(upper).take_while(|(a, b)| a == b).count();
    &lower[..same.min(held(&range.lower)).min(held(&range.upper))]
}

fn equal_values(range: &KeyRange) -> usize {
    common_values(range).len()
}

/// Leading parts that have one value in all ranges.
pub(crate) fn fixed_parts(ranges: &[KeyRange]) -> usize {
    let Some((first, rest)) = ranges.split_first() else { return 0 };
    let first = common_values(first);
    rest.iter().fold(first.len(), |fixed, range| {
        first.iter().zip(common_values(range)).take(fixed).take_while(|(a, b)| a == b).count()
    })
}

#[cfg(test)]
mod tests;
