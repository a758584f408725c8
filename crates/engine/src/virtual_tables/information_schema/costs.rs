//! `mysql.server_cost` and `mysql.engine_cost`: the constants of the cost model, with MySQL's columns (MySQL manual,
//! section 8.9.5, "The Optimizer Cost Model"). They can be read and not changed, so `cost_value` and `last_update` are
//! NULL in every row: the default is in force.

use super::text;
use muster_optimizer::CostModel;
use muster_types::Value;

/// The constants for work inside the storage engine. The others belong to the server.
const ENGINE_CONSTANTS: [&str; 11] = [
    "scan_value_ns",
    "scan_row_ns",
    "secondary_value_factor",
    "lookup_key_ns",
    "leaf_visit_ns",
    "entry_ns",
    "fetch_row_ns",
    "single_lookup_ns",
    "sequential_read_ms",
    "queued_read_ms",
    "single_read_ms",
];

/// MySQL's names for constants of the server, each with the nearest constant of the cost model.
const SERVER_NAMES: [(&str, &str); 3] = [
    ("key_compare_cost", "compare_ns"),
    ("memory_temptable_row_cost", "build_ns"),
    ("row_evaluate_cost", "predicate_ns"),
];

/// MySQL's names for constants of the engine, each with the nearest constant of the cost model.
const ENGINE_NAMES: [(&str, &str); 2] =
    [("io_block_read_cost", "single_read_ms"), ("memory_block_read_cost", "leaf_visit_ns")];

/// A row of either table.
struct CostRow {
    name: &'static str,
    comment: String,
    /// The default. Under MySQL's names in milliseconds, otherwise in the unit that the name ends with.
    default: f64,
}

impl CostRow {
    /// `cost_name` and all columns that follow it.
    fn values(self) -> [Value; 5] {
        [text(self.name), Value::Null, Value::Null, text(self.comment), Value::Double(self.default)]
    }
}

pub(super) fn server_cost() -> Vec<Vec<Value>> {
    cost_rows(&SERVER_NAMES, |name| !ENGINE_CONSTANTS.contains(&name)).map(|row| row.values().into()).collect()
}

pub(super) fn engine_cost() -> Vec<Vec<Value>> {
    cost_rows(&ENGINE_NAMES, |name| ENGINE_CONSTANTS.contains(&name))
        .map(|row| [text("default"), Value::Int(0)].into_iter().chain(row.values()).collect())
        .collect()
}

/// The rows under MySQL's names, then those of the constants that `belongs` accepts.
fn cost_rows(
    names: &'static [(&'static str, &'static str)],
    belongs: impl Fn(&str) -> bool,
) -> impl Iterator<Item = CostRow> {
    let constants: Vec<_> = CostModel::default().constants().into_iter().filter(|c| belongs(c.name)).collect();
    let mut rows = Vec::with_capacity(names.len() + constants.len());
    for (name, nearest) in names {
        let of_model = constants.iter().find(|constant| constant.name == *nearest);
        rows.extend(of_model.map(|constant| CostRow {
            name,
            comment: format!("default: {nearest} in milliseconds"),
            default: if nearest.ends_with("_ns") { constant.value / 1e6 } else { constant.value },
        }));
    }
    rows.extend(constants.into_iter().map(|constant| CostRow {
        name: constant.name,
        comment: format!("default: {}", constant.origin),
        default: constant.value,
    }));
    rows.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is misspelt in a list, or a constant that was renamed, would lose its row.
    #[test]
    fn every_constant_has_one_row_and_every_name_its_constant() {
        let shown = server_cost().len() + engine_cost().len();
        let constants = CostModel::default().constants().len();
        assert_eq!(shown, constants + SERVER_NAMES.len() + ENGINE_NAMES.len());
        assert_eq!(engine_cost().len(), ENGINE_CONSTANTS.len() + ENGINE_NAMES.len());
    }
}
