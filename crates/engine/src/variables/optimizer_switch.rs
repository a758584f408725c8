//! `optimizer_switch`: a flag for each switch that the optimizer obeys, and the flags of MySQL and MariaDB for what
//! Muster has no choice about. The latter are kept and shown, so that scripts which set them run.

use muster_algebra::Switch;
use muster_optimizer::Options;
use std::sync::LazyLock;

/// A flag of the variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    Obeyed(Switch),
    /// The name and the default of a flag that is only kept.
    Kept(&'static str, bool),
}

impl Flag {
    fn name(self) -> &'static str {
        match self {
            Flag::Obeyed(switch) => switch.name(),
            Flag::Kept(name, _) => name,
        }
    }

    fn default(self) -> bool {
        match self {
            Flag::Obeyed(switch) => Options::default().is_on(switch),
            Flag::Kept(_, on) => on,
        }
    }
}

/// The flags of MySQL 8.0 (manual 10.9.2 "Switchable Optimizations"), then those that only MariaDB 10.11 has, each in
/// the order in which the server shows them. Kept flags have the server's defaults.
const OF_SERVERS: &[Flag] = {
    use Flag::{Kept, Obeyed};
    &[
        Obeyed(Switch::IndexMerge),
        Obeyed(Switch::IndexMergeUnion),
        Obeyed(Switch::IndexMergeSortUnion),
        Obeyed(Switch::IndexMergeIntersection),
        Kept("engine_condition_pushdown", true),
        Obeyed(Switch::IndexConditionPushdown),
        Obeyed(Switch::Mrr),
        Obeyed(Switch::MrrCostBased),
        Obeyed(Switch::BlockNestedLoop),
        Obeyed(Switch::BatchedKeyAccess),
        Obeyed(Switch::Materialization),
        Obeyed(Switch::Semijoin),
        Obeyed(Switch::Loosescan),
        Obeyed(Switch::Firstmatch),
        Obeyed(Switch::Duplicateweedout),
        Obeyed(Switch::SubqueryMaterializationCostBased),
        Obeyed(Switch::UseIndexExtensions),
        Obeyed(Switch::ConditionFanoutFilter),
        Obeyed(Switch::DerivedMerge),
        Kept("use_invisible_indexes", false),
        Obeyed(Switch::SkipScan),
        Obeyed(Switch::HashJoin),
        Obeyed(Switch::SubqueryToDerived),
        Obeyed(Switch::PreferOrderingIndex),
        Kept("hypergraph_optimizer", false),
        Obeyed(Switch::DerivedConditionPushdown),
        Kept("index_merge_sort_intersection", false),
        Kept("derived_with_keys", true),
        Obeyed(Switch::InToExists),
        Kept("partial_match_rowid_merge", true),
        Kept("partial_match_table_scan", true),
        Kept("subquery_cache", true),
        Obeyed(Switch::MrrSortKeys),
        Kept("outer_join_with_cache", true),
        Kept("semijoin_with_cache", true),
        Obeyed(Switch::JoinCacheIncremental),
        Obeyed(Switch::JoinCacheHashed),
        Obeyed(Switch::JoinCacheBka),
        Kept("optimize_join_buffer_size", true),
        Kept("table_elimination", true),
        Kept("extended_keys", true),
        Kept("exists_to_in", true),
        Kept("orderby_uses_equalities", true),
        Kept("condition_pushdown_for_derived", true),
        Kept("split_materialized", true),
        Kept("condition_pushdown_for_subquery", true),
        Kept("rowid_filter", true),
        Kept("condition_pushdown_from_having", true),
        Kept("not_null_range_scan", false),
        Kept("hash_join_cardinality", false),
        Kept("cset_narrowing", false),
    ]
};

/// All flags in the order in which they are shown: those of the servers, then those of Muster alone by name.
static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let mut own: Vec<Flag> = Switch::ALL.iter().map(|switch| Flag::Obeyed(*switch)).collect();
    own.retain(|flag| !OF_SERVERS.contains(flag));
    own.sort_by_key(|flag| flag.name());
    [OF_SERVERS, &own].concat()
});

/// The flags of a value that has been checked, by name.
fn pairs(list: &str) -> impl Iterator<Item = (&str, bool)> {
    list.split(',').filter_map(|item| item.split_once('=')).map(|(name, value)| (name, value == "on"))
}

/// The value `current` with the flags changed that `change` names: `flag=on|off|default`, or `default` for all of them.
/// The error is the part of `change` that is wrong, also when it names a flag a second time.
pub fn changed(current: &str, change: &str) -> Result<String, String> {
    let mut states: Vec<bool> = FLAGS.iter().map(|flag| flag.default()).collect();
    for (name, on) in pairs(current) {
        FLAGS.iter().zip(&mut states).filter(|(flag, _)| flag.name() == name).for_each(|(_, state)| *state = on);
    }
    let mut named = vec![false; FLAGS.len()];
    for item in change.split(',').map(str::trim).filter(|i| !i.is_empty()) {
        if item.eq_ignore_ascii_case("default") {
            let unnamed = FLAGS.iter().zip(&mut states).zip(&named).filter(|(_, named)| !**named);
            unnamed.for_each(|((flag, state), _)| *state = flag.default());
            continue;
        }
        let wrong = || item.to_owned();
        let (name, value) = item.split_once('=').ok_or_else(wrong)?;
        let at = FLAGS.iter().position(|flag| flag.name().eq_ignore_ascii_case(name.trim())).ok_or_else(wrong)?;
        if std::mem::replace(&mut named[at], true) {
            return Err(wrong());
        }
        states[at] = match value.trim().to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            "default" => FLAGS[at].default(),
            _ => return Err(wrong()),
        };
    }
    let shown = FLAGS.iter().zip(states).map(|(flag, on)| format!("{}={}", flag.name(), if on { "on" } else { "off" }));
    Ok(shown.collect::<Vec<_>>().join(","))
}

/// The options of the optimizer under a value of the variable.
pub fn options(value: &str) -> Options {
    let mut options = Options::default();
    for (name, on) in pairs(value) {
        if let Some(switch) = Switch::from_name(name) {
            options.set(switch, on);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_change_one_by_one() {
        let all = changed("", "").unwrap();
        assert_eq!(options(&all), Options::default());
        let off = changed(&all, "mrr=off, Predicate_Pushdown = OFF").unwrap();
        assert!(
            off.contains("mrr=off") && off.contains("semijoin=on") && !options(&off).is_on(Switch::PredicatePushdown)
        );
        let more = changed(&off, "semijoin=off,mrr=default").unwrap();
        assert!(more.contains("mrr=on") && more.contains("semijoin=off") && more.contains("predicate_pushdown=off"));
        assert_eq!(changed(&more, "default").unwrap(), all);
        assert!(changed(&more, "default,mrr=off").unwrap().contains("mrr=off"));
        assert!(changed(&all, "rowid_filter=off").unwrap().contains("rowid_filter=off"));
    }

    #[test]
    fn a_name_is_that_of_one_flag() {
        let mut names: Vec<&str> = FLAGS.iter().map(|flag| flag.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FLAGS.len());
        assert!(Switch::ALL.iter().all(|switch| FLAGS.contains(&Flag::Obeyed(*switch))));
    }

    #[test]
    fn wrong_parts_are_named() {
        for (change, wrong) in [
            ("mrr=off,x=on", "x=on"),
            ("mrr=maybe", "mrr=maybe"),
            ("mrr", "mrr"),
            ("mrr=on,semijoin=on,MRR=off", "MRR=off"),
        ] {
            assert_eq!(changed("", change).unwrap_err(), wrong);
        }
    }
}
