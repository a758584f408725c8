//! The comment of a row tells where its cost comes from. A statement that sets a cost and says nothing of the comment
//! gets one that names the account; `last_update` has the moment.

use super::{definitions::ENGINE, is_cost_table, names::named_costs};
use crate::accounts::AccountKey;
use muster_algebra::TableDef;
use muster_types::Value;

/// Notes in a new or changed row of one of the two tables where its cost comes from. `assigned`: the columns that a
/// statement has given values, which the comment joins; `None` for an inserted row, whose comment is kept if it has
/// one. Rows of other tables stay as they are.
pub fn note_origin(def: &TableDef, row: &mut [Value], assigned: Option<&mut Vec<usize>>, account: &AccountKey) {
    if !is_cost_table(def) {
        return;
    }
    let position = |name: &str| def.columns.iter().position(|column| column.name == name);
    let (Some(name), Some(cost), Some(comment)) = (position("cost_name"), position("cost_value"), position("comment"))
    else {
        return;
    };
    let is_told = match &assigned {
        Some(assigned) => assigned.contains(&comment) || !assigned.contains(&cost),
        None => !row[comment].is_null(),
    };
    if is_told {
        return;
    }
    row[comment] = match row[cost].is_null() {
        true => default_comment(&def.name, &row[name]),
        false => Value::Text(format!("set by '{}'@'{}'", account.user, account.host)),
    };
    if let Some(assigned) = assigned {
        assigned.push(comment);
    }
}

/// The comment of a row whose default is in force; NULL for a name that is not known.
fn default_comment(table: &str, name: &Value) -> Value {
    let name = name.to_text(0).unwrap_or_default();
    let known = named_costs(table == ENGINE).into_iter().find(|cost| cost.name.eq_ignore_ascii_case(&name));
    known.map_or(Value::Null, |cost| Value::Text(cost.comment))
}
