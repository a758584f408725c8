//! The forced plans that a query is tried with: join method x join prefix x index, and switches, as optimizer hints.
//!
//! Candidates come in an order in which each kind of hint has its turn, so that whoever stops after some has seen all
//! kinds: single hints, then products of two and three kinds, these in an order that looks random and is always the
//! same.

use super::blocks::{Block, TableRef};
use std::collections::BTreeMap;

/// A way to force a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forced {
    pub hints: Vec<String>,
    /// What the plan must show, else the hints were not followed.
    pub demands: Vec<Demand>,
}

/// Something that EXPLAIN shows if a hint was followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Demand {
    /// The table is the first one of the traditional EXPLAIN.
    First(String),
    /// The table is read through the index.
    Index { alias: String, index: String },
    /// FORMAT=TREE has this text.
    Shows(&'static str),
}

/// Optimizer switches that are turned off one by one.
const SWITCHES: &[&str] = &[
    "access_path",
    "aggregate_pushdown",
    "batched_key_access",
    "condition_fanout_filter",
    "derived_merge",
    "duplicateweedout",
    "firstmatch",
    "group_by_key",
    "hash_join",
    "index_condition_pushdown",
    "index_merge",
    "index_order",
    "lookup_join",
    "loosescan",
    "materialization",
    "merge_join",
    "mrr",
    "or_implication",
    "prefer_ordering_index",
    "range_optimization",
    "semijoin",
    "semijoin_reduction",
    "shared_rows",
    "skip_scan",
    "stream_aggregate",
    "subquery_to_derived",
];
const SEMIJOINS: &[&str] = &["FIRSTMATCH", "MATERIALIZATION", "LOOSESCAN", "DUPSWEEDOUT"];

/// The index names of tables, by table.
pub type Indexes = BTreeMap<String, Vec<String>>;

impl Forced {
    fn new(hint: String, demands: Vec<Demand>) -> Forced {
        Forced { hints: vec![hint], demands }
    }

    fn and(&self, other: &Forced) -> Forced {
        Forced {
            hints: self.hints.iter().chain(&other.hints).cloned().collect(),
            demands: self.demands.iter().chain(&other.demands).cloned().collect(),
        }
    }

    /// The statement with the hints behind its first SELECT.
    pub fn text(&self, sql: &str) -> String {
        let sql = sql.trim().trim_end_matches(';');
        let at = sql.to_ascii_lowercase().find("select").map_or(0, |at| at + "select".len());
        match self.hints.is_empty() {
            true => sql.to_owned(),
            false => format!("{} /*+ {} */{}", &sql[..at], self.hints.join(" "), &sql[at..]),
        }
    }

    /// Returns true if the order of the tables decides whether the hints were followed.
    pub fn asks_for_tables(&self) -> bool {
        self.demands.iter().any(|demand| matches!(demand, Demand::First(_)))
    }

    /// Returns true if a plan shows all that is demanded. `tables` are those of the traditional EXPLAIN, in its order.
    pub fn is_followed(&self, tree: &str, tables: &[String]) -> bool {
        self.demands.iter().all(|demand| match demand {
            Demand::First(alias) => tables.first().is_some_and(|t| t.eq_ignore_ascii_case(alias)),
            Demand::Shows(text) => tree.contains(text),
            Demand::Index { alias, index } => {
                let access = format!(" on {alias} using {index}");
                let is_name = |c: char| c.is_alphanumeric() || c == '_';
                tree.match_indices(&access).any(|(at, _)| !tree[at + access.len()..].starts_with(is_name))
            }
        })
    }
}

/// All candidates for a query of these blocks, at most `max`.
pub fn candidates(blocks: &[Block], indexes: &Indexes, max: usize) -> Vec<Forced> {
    let (methods, single_methods) = (methods(blocks), table_methods(blocks));
    let (prefixes, paths) = (prefixes(blocks), index_hints(blocks, indexes));
    let (first, pairs): (Vec<Forced>, Vec<Forced>) = prefixes.into_iter().partition(|f| !f.hints[0].contains(','));
    let method_first = shuffled(products(&methods, &first));
    let all = vec![
        methods.clone(),
        first.clone(),
        shuffled(paths.clone()),
        shuffled(single_methods.clone()),
        switches(blocks),
        shuffled(products(&methods, &paths)),
        shuffled(products(&first, &paths)),
        shuffled(pairs),
        shuffled(products(&single_methods, &first)),
        shuffled(products(&method_first, &paths)),
        method_first,
    ];
    let mut all = turns(all);
    all.truncate(max);
    all
}

/// `orders@select#1`.
fn name(block: usize, table: &TableRef) -> String {
    format!("{}@select#{}", table.alias, block + 1)
}

/// The tables of all blocks with their blocks' numbers from 0.
fn tables(blocks: &[Block]) -> impl Iterator<Item = (usize, &TableRef)> {
    blocks.iter().enumerate().flat_map(|(b, block)| block.tables.iter().map(move |t| (b, t)))
}

/// One way of joining for all tables.
fn methods(blocks: &[Block]) -> Vec<Forced> {
    if tables(blocks).count() < 2 {
        return Vec::new();
    }
    let of = |hint: &str, demands: &[&'static str]| {
        let all: Vec<String> = (1..=blocks.len()).map(|b| format!("{hint}(@select#{b})")).collect();
        Forced::new(all.join(" "), demands.iter().copied().map(Demand::Shows).collect())
    };
    vec![
        of("BKA", &["Batched key access"]),
        of("BNL", &["-> Hash"]),
        of("MERGE_JOIN", &["merge"]),
        of("NO_BKA", &[]),
        of("NO_BNL", &[]),
    ]
}

/// One way of joining for one table.
fn table_methods(blocks: &[Block]) -> Vec<Forced> {
    if tables(blocks).count() < 2 {
        return Vec::new();
    }
    let of =
        |(b, t)| ["BKA", "BNL", "MERGE_JOIN"].map(|hint| Forced::new(format!("{hint}({})", name(b, t)), Vec::new()));
    tables(blocks).flat_map(of).collect()
}

/// Each table of a block as the first one, and each pair as the first two.
fn prefixes(blocks: &[Block]) -> Vec<Forced> {
    let mut all = Vec::new();
    for (b, block) in blocks.iter().enumerate().filter(|(_, block)| block.tables.len() > 1) {
        let hint = |names: &str| format!("JOIN_PREFIX(@select#{} {names})", b + 1);
        for t in &block.tables {
            let first = || vec![Demand::First(t.alias.clone())];
            all.push(Forced::new(hint(&t.alias), first()));
            let others = block.tables.iter().filter(|u| u.alias != t.alias);
            all.extend(others.map(|u| Forced::new(hint(&format!("{}, {}", t.alias, u.alias)), first())));
        }
    }
    all
}

/// Each index of each table.
fn index_hints(blocks: &[Block], indexes: &Indexes) -> Vec<Forced> {
    let of = |(b, t): (usize, &TableRef)| -> Vec<Forced> {
        let names = t.table.as_ref().and_then(|table| indexes.get(table)).map_or(&[][..], Vec::as_slice);
        let hint = |index: &String| {
            let demand = Demand::Index { alias: t.alias.clone(), index: index.clone() };
            Forced::new(format!("INDEX({} {index})", name(b, t)), vec![demand])
        };
        let scan = Forced::new(format!("NO_INDEX({})", name(b, t)), Vec::new());
        names.iter().map(hint).chain([scan]).collect()
    };
    tables(blocks).flat_map(of).collect()
}

/// Each switch off, each semi-join strategy for each subquery.
fn switches(blocks: &[Block]) -> Vec<Forced> {
    let off = |switch: &&str| Forced::new(format!("SET_VAR(optimizer_switch='{switch}=off')"), Vec::new());
    let semijoins = (2..=blocks.len())
        .flat_map(|b| SEMIJOINS.iter().map(move |s| Forced::new(format!("SEMIJOIN(@select#{b} {s})"), Vec::new())));
    shuffled(SWITCHES.iter().map(off).chain(semijoins).collect())
}

fn products(a: &[Forced], b: &[Forced]) -> Vec<Forced> {
    a.iter().flat_map(|a| b.iter().map(|b| a.and(b))).collect()
}

/// The same order for the same length.
fn shuffled(mut all: Vec<Forced>) -> Vec<Forced> {
    let mut state = all.len() as u64;
    for i in (1..all.len()).rev() {
        state = crate::random::next(state);
        all.swap(i, (state % (i as u64 + 1)) as usize);
    }
    all
}

/// The first of each list, the second of each, and so on.
fn turns(lists: Vec<Vec<Forced>>) -> Vec<Forced> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regret::blocks::blocks;
    use std::collections::BTreeSet;

    const SQL: &str = "select a from t, u where t.b = u.b and t.c in (select d from v)";

    fn indexes() -> Indexes {
        BTreeMap::from([("t".to_owned(), vec!["PRIMARY".to_owned(), "i".to_owned()])])
    }

    fn hints(forced: &[Forced]) -> Vec<String> {
        forced.iter().map(|f| f.hints.join(" ")).collect()
    }

    #[test]
    fn every_kind_and_product_is_there_once() {
        let all = candidates(&blocks(SQL), &indexes(), usize::MAX);
        let texts = hints(&all);
        for hint in [
            "BKA(@select#1) BKA(@select#2)",
            "MERGE_JOIN(u@select#1)",
            "JOIN_PREFIX(@select#1 u)",
            "JOIN_PREFIX(@select#1 u, t)",
            "INDEX(t@select#1 i)",
            "NO_INDEX(v@select#2)",
            "SEMIJOIN(@select#2 LOOSESCAN)",
            "SET_VAR(optimizer_switch='mrr=off')",
            "BNL(@select#1) BNL(@select#2) JOIN_PREFIX(@select#1 t) INDEX(t@select#1 PRIMARY)",
        ] {
            assert!(texts.iter().any(|t| t == hint), "{hint} is not in {texts:#?}");
        }
        assert_eq!(texts.iter().collect::<BTreeSet<_>>().len(), texts.len());
        // Methods 5, tables 3 x 3, prefixes 2 and pairs 2, index hints 2 + 1 + 1 + 1, switches and 4 semi-join
        // strategies.
        let singles = 5 + 9 + 2 + 2 + 5 + SWITCHES.len() + 4;
        assert_eq!(all.len(), singles + 5 * 5 + 2 * 5 + 9 * 2 + 5 * 2 + 5 * 2 * 5);
    }

    #[test]
    fn each_kind_has_its_turn_in_an_order_that_stays() {
        let first = hints(&candidates(&blocks(SQL), &indexes(), 11));
        assert_eq!(first, hints(&candidates(&blocks(SQL), &indexes(), 11)));
        for kind in ["BKA(@", "JOIN_PREFIX(@select#1 t)", "INDEX(", "optimizer_switch", " JOIN_PREFIX"] {
            assert!(first.iter().any(|t| t.contains(kind)), "{kind} is not in {first:#?}");
        }
        // A query of one table has neither methods nor prefixes.
        let one = hints(&candidates(&blocks("select a from t"), &indexes(), usize::MAX));
        assert!(one.iter().all(|t| !t.contains("JOIN_PREFIX") && !t.contains("BKA(")), "{one:#?}");
        assert!(one.contains(&"INDEX(t@select#1 i)".to_owned()));
    }

    #[test]
    fn hints_stand_behind_the_first_select_and_are_checked() {
        let forced = Forced {
            hints: vec!["INDEX(t i)".into(), "JOIN_PREFIX(t)".into()],
            demands: vec![
                Demand::Index { alias: "t".into(), index: "i".into() },
                Demand::First("t".into()),
                Demand::Shows("hash"),
            ],
        };
        assert_eq!(forced.text("Select a from t;\n"), "Select /*+ INDEX(t i) JOIN_PREFIX(t) */ a from t");
        assert_eq!(Forced::default().text(" select 1; "), "select 1");
        let tables = ["t".to_owned(), "u".to_owned()];
        assert!(forced.is_followed("hash join\n  range scan on t using i (a)", &tables));
        assert!(!forced.is_followed("hash join\n  range scan on t using i_2", &tables));
        assert!(!forced.is_followed("range scan on t using i", &tables));
        assert!(!forced.is_followed("hash, scan on t using i", &tables[1..]));
    }
}
