//! Join conditions that entries of an index can answer: with the row whose key found an entry at hand, they are checked
//! before the entry's row is fetched (`JOIN_CACHE_BKA::skip_index_tuple` in MySQL and MariaDB).

use crate::options::Options;
use crate::rewrite::or_implication;
use crate::scope::{self, ColSet};
use muster_algebra::{ColId, Expr, Switch, TableDef};

/// What conditions of a join say about entries of one index, and about the rows they are joined with. `columns`: all of
/// the table's, with their positions. Weaker than the conditions, which have to be checked again on the rows.
pub fn entry_condition<'a>(
    table: &TableDef,
    index: usize,
    columns: &[(ColId, usize)],
    conditions: impl IntoIterator<Item = &'a Expr>,
    options: &Options,
) -> Vec<Expr> {
    let mut conditions = conditions.into_iter().peekable();
    if index == 0 || conditions.peek().is_none() || !options.is_on_for(Switch::IndexConditionPushdown, index) {
        return Vec::new();
    }
    let (held, lacking): (Vec<_>, Vec<_>) = columns.iter().partition(|(_, c)| table.index_has_column(index, *c));
    let set = |list: Vec<&(ColId, usize)>| list.into_iter().map(|(id, _)| *id).collect::<ColSet>();
    let (held, lacking) = (set(held), set(lacking));
    let on_entries = |condition: &Expr| {
        let mentioned = scope::expr_columns(condition);
        if condition.has_subquery() || !condition.is_movable() || mentioned.is_disjoint(&held) {
            None
        } else if mentioned.is_disjoint(&lacking) {
            Some(condition.clone())
        } else {
            let known = mentioned.difference(&lacking).copied().collect();
            or_implication::implied(condition, &known).filter(|e| !scope::expr_columns(e).is_disjoint(&held))
        }
    };
    conditions.filter_map(on_entries).collect()
}
