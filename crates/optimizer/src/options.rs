//! What the optimizer may do for a statement: switches, limits and hints. Hints change the switches for single tables,
//! derived tables, query blocks and indexes.

use crate::cost::CostModel;
use crate::interrupt::Interrupt;
use crate::trace::Trace;
use muster_algebra::{ColId, HintTarget, Hints, Rel, Switch, SwitchHint, Switches};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Number of relations that a join region has at most, MySQL's limit for the tables of a join. What exceeds it (merged
/// derived tables, semi joins) is a relation of its own, which is planned as a region by itself.
pub const UNITS_MAX: usize = 61;

/// What the optimizer may do.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    switches: Switches,
    /// Join regions of at most this many relations are ordered exhaustively, larger ones greedily.
    pub exhaustive_relations_max: usize,
    /// Number of relations that a join region has at most, [`UNITS_MAX`] or less. Further ones are joined among
    /// themselves first.
    pub region_relations_max: usize,
    /// Bytes that the ranges of one index may take (MySQL's variable of this name); 0: any number. Conditions that need
    /// more are not made ranges.
    pub range_optimizer_max_mem_size: u64,
    /// Number of threads that a query runs on.
    pub threads: usize,
    /// A plan that costs fewer milliseconds runs on one.
    pub serial_ms_max: f64,
    /// The constants that plans are costed with.
    pub cost: CostModel,
    /// The hints of the statement.
    pub hints: Hints,
    /// Stops planning.
    pub interrupt: Interrupt,
    /// Where what is considered is noted.
    pub trace: Trace,
    /// Switches that a hint set for one index, by the index's position.
    by_index: BTreeMap<(Switch, usize), bool>,
    /// Switches that hints turned on. What they allow is done whatever it costs.
    forced: Switches,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            switches: Switches::DEFAULT,
            exhaustive_relations_max: 10,
            region_relations_max: UNITS_MAX,
            range_optimizer_max_mem_size: 8 << 20,
            threads: 1,
            serial_ms_max: 0.0,
            cost: CostModel::default(),
            hints: Hints::default(),
            interrupt: Interrupt::default(),
            trace: Trace::default(),
            by_index: BTreeMap::new(),
            forced: Switches::NONE,
        }
    }
}

impl Options {
    pub fn is_on(&self, switch: Switch) -> bool {
        self.switches.is_on(switch)
    }

    /// Returns true if the switch is on for one index of the table that these options were made for with
    /// [`for_rel`](Self::for_rel).
    pub fn is_on_for(&self, switch: Switch, index: usize) -> bool {
        self.by_index.get(&(switch, index)).copied().unwrap_or_else(|| self.is_on(switch))
    }

    /// Returns true if a hint turned the switch on for the relation that these options were made for.
    pub fn is_forced(&self, switch: Switch) -> bool {
        self.forced.is_on(switch)
    }

    /// Returns true if a hint turned the switch on for one index of the table.
    pub fn is_forced_for(&self, switch: Switch, index: usize) -> bool {
        self.by_index.get(&(switch, index)).copied().unwrap_or_else(|| self.is_forced(switch))
    }

    /// Uses what a switch allows, whatever it costs.
    #[cfg(test)]
    pub fn force(&mut self, switch: Switch) {
        self.forced.set(switch, true);
    }

    /// The options as hints change them for a relation: a table with conditions, a derived one, or the right side of a
    /// join that was a subquery.
    pub fn for_rel(&self, rel: &Rel) -> Cow<'_, Options> {
        if self.hints.switches.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut bare = rel;
        while let Rel::Filter { input, .. } = bare {
            bare = input;
        }
        let leading = first_column(bare);
        let delivered = match bare {
            Rel::Get { .. } => Vec::new(),
            other => other.output(),
        };
        let is_table = matches!(bare, Rel::Get { .. });
        self.with_hints(|hint| match hint.target {
            HintTarget::Block => leading.is_some_and(|id| hint.columns.contains(&id)),
            HintTarget::Derived => delivered.iter().any(|id| hint.columns.contains(id)),
            HintTarget::Table => is_table && leading.is_some_and(|id| hint.columns.contains(&id)),
        })
    }

    /// The options as hints change them for the query block that a relation begins with.
    pub fn for_block(&self, rel: &Rel) -> Cow<'_, Options> {
        let leading = first_column(rel);
        self.with_hints(|h| h.target == HintTarget::Block && leading.is_some_and(|id| h.columns.contains(&id)))
    }

    /// The options as hints change them for a derived table that delivers these columns.
    pub fn for_derived(&self, columns: &[ColId]) -> Cow<'_, Options> {
        self.with_hints(|h| h.target == HintTarget::Derived && columns.iter().any(|id| h.columns.contains(id)))
    }

    fn with_hints(&self, applies: impl Fn(&SwitchHint) -> bool) -> Cow<'_, Options> {
        let mut changed = Cow::Borrowed(self);
        for hint in self.hints.switches.iter().filter(|h| applies(h)) {
            let options = changed.to_mut();
            match &hint.indexes {
                Some(indexes) => {
                    options.by_index.extend(indexes.iter().map(|index| ((hint.switch, *index), hint.on)));
                }
                None => {
                    options.switches.set(hint.switch, hint.on);
                    options.forced.set(hint.switch, hint.on);
                }
            }
        }
        changed
    }

    /// Returns true if a rewrite may run: its own switch is on, and MySQL's switch for what it does, which a hint may
    /// turn on for one derived table only.
    pub fn allows(&self, rewrite: Switch) -> bool {
        let hinted = |switch| self.hints.switches.iter().any(|hint| hint.on && hint.switch == switch);
        let merges = || self.is_on(Switch::DerivedMerge) || hinted(Switch::DerivedMerge);
        self.is_on(rewrite) && (rewrite != Switch::ProjectionMerging || merges())
    }

    /// Returns true if joins may be made by hash.
    pub fn hash_joins(&self) -> bool {
        self.is_on(Switch::HashJoin) && self.is_on(Switch::BlockNestedLoop) && self.is_on(Switch::JoinCacheHashed)
    }

    /// Returns true if the keys of a lookup join are collected and looked up together.
    pub fn batches_keys(&self) -> bool {
        self.is_on(Switch::BatchedKeyAccess) && self.is_on(Switch::JoinCacheBka)
    }

    pub fn set(&mut self, switch: Switch, on: bool) {
        self.switches.set(switch, on);
    }

    /// These options with one switch off.
    pub fn without(mut self, switch: Switch) -> Options {
        self.set(switch, false);
        self
    }
}

/// A column of the base table that a relation's text begins with.
fn first_column(rel: &Rel) -> Option<ColId> {
    match rel {
        Rel::Get { columns, .. } => columns.first().map(|(id, _)| *id),
        other => other.inputs().into_iter().find_map(first_column),
    }
}
