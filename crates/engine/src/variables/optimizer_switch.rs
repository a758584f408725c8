//! `optimizer_switch`: the flags of MySQL and MariaDB, which are kept and shown, and Muster's own, which the optimizer
//! obeys ([`Options::switches`]).

use muster_optimizer::Options;
use std::sync::LazyLock;

/// MySQL 8.0's, with its defaults (manual 10.9.2 "Switchable Optimizations").
const MYSQL: &str = "index_merge=on,index_merge_union=on,index_merge_sort_union=on,index_merge_intersection=on,\
    engine_condition_pushdown=on,index_condition_pushdown=on,mrr=on,mrr_cost_based=on,block_nested_loop=on,\
    batched_key_access=off,materialization=on,semijoin=on,loosescan=on,firstmatch=on,duplicateweedout=on,\
    subquery_materialization_cost_based=on,use_index_extensions=on,condition_fanout_filter=on,derived_merge=on,\
    use_invisible_indexes=off,skip_scan=on,hash_join=on,subquery_to_derived=off,prefer_ordering_index=on,\
    hypergraph_optimizer=off,derived_condition_pushdown=on";

/// Those that only MariaDB 10.11 has.
const MARIADB: &str = "index_merge_sort_intersection=off,derived_with_keys=on,in_to_exists=on,\
    partial_match_rowid_merge=on,partial_match_table_scan=on,subquery_cache=on,mrr_sort_keys=off,\
    outer_join_with_cache=on,semijoin_with_cache=on,join_cache_incremental=on,join_cache_hashed=on,join_cache_bka=on,\
    optimize_join_buffer_size=on,table_elimination=on,extended_keys=on,exists_to_in=on,orderby_uses_equalities=on,\
    condition_pushdown_for_derived=on,split_materialized=on,condition_pushdown_for_subquery=on,rowid_filter=on,\
    condition_pushdown_from_having=on,not_null_range_scan=off,hash_join_cardinality=off,cset_narrowing=off";

type Flags = Vec<(String, bool)>;

/// All flags with their defaults. Where the optimizer has a flag of MySQL's name, its default counts.
static DEFAULTS: LazyLock<Flags> = LazyLock::new(|| {
    let own = Options::default();
    let mut flags: Flags = pairs(MYSQL).chain(pairs(MARIADB)).map(|(name, on)| (name.to_owned(), on)).collect();
    for (name, on) in own.switches() {
        match flags.iter_mut().find(|(n, _)| n == name) {
            Some(flag) => flag.1 = on,
            None => flags.push((name.to_owned(), on)),
        }
    }
    flags
});

/// The flags of a value that has been checked.
fn pairs(list: &str) -> impl Iterator<Item = (&str, bool)> {
    list.split(',').filter_map(|item| item.split_once('=')).map(|(name, value)| (name, value == "on"))
}

/// `current` with the flags changed that `change` names: `flag=on|off|default`, or `default` for all of them. Error: the
/// part of `change` that is wrong, also when it names a flag a second time.
pub fn changed(current: &str, change: &str) -> Result<String, String> {
    let mut flags = DEFAULTS.clone();
    for (name, on) in pairs(current) {
        flags.iter_mut().filter(|(n, _)| n == name).for_each(|flag| flag.1 = on);
    }
    let mut named = vec![false; flags.len()];
    for item in change.split(',').map(str::trim).filter(|i| !i.is_empty()) {
        if item.eq_ignore_ascii_case("default") {
            let defaults = flags.iter_mut().zip(DEFAULTS.iter()).zip(&named);
            defaults.filter(|(_, named)| !**named).for_each(|((flag, default), _)| flag.1 = default.1);
            continue;
        }
        let wrong = || item.to_owned();
        let (name, value) = item.split_once('=').ok_or_else(wrong)?;
        let at = flags.iter().position(|(n, _)| n.eq_ignore_ascii_case(name.trim())).ok_or_else(wrong)?;
        if std::mem::replace(&mut named[at], true) {
            return Err(wrong());
        }
        flags[at].1 = match value.trim().to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            "default" => DEFAULTS[at].1,
            _ => return Err(wrong()),
        };
    }
    let shown = flags.iter().map(|(name, on)| format!("{name}={}", if *on { "on" } else { "off" }));
    Ok(shown.collect::<Vec<_>>().join(","))
}

/// What the optimizer may do under a value of the variable.
pub fn options(value: &str) -> Options {
    let mut options = Options::default();
    for (name, on) in pairs(value) {
        // False for the flags that are only kept.
        options.set(name, on);
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
        assert!(off.contains("mrr=off") && off.contains("semijoin=on") && !options(&off).is_on("predicate_pushdown"));
        let more = changed(&off, "semijoin=off,mrr=default").unwrap();
        assert!(more.contains("mrr=on") && more.contains("semijoin=off") && more.contains("predicate_pushdown=off"));
        assert_eq!(changed(&more, "default").unwrap(), all);
        assert!(changed(&more, "default,mrr=off").unwrap().contains("mrr=off"));
        assert!(changed(&all, "rowid_filter=off").unwrap().contains("rowid_filter=off"));
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
