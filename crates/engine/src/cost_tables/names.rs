//! The names of costs. Muster's own are those of the constants of its cost model. MySQL's have MySQL's unit, in which
//! reading a block from the disk costs 1 by default: such a cost stands for a multiple of its default, and so for the
//! same multiple of the constants behind the name.

use muster_optimizer::CostModel;

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

/// A name of MySQL's.
struct MysqlName {
    name: &'static str,
    /// MySQL's default.
    default: f64,
    /// The constants behind the name.
    scaled: &'static [&'static str],
}

const SERVER_NAMES: [MysqlName; 3] = [
    MysqlName { name: "key_compare_cost", default: 0.05, scaled: &["compare_ns"] },
    MysqlName { name: "memory_temptable_row_cost", default: 0.1, scaled: &["build_cached_ns", "build_ns"] },
    MysqlName { name: "row_evaluate_cost", default: 0.1, scaled: &["predicate_ns"] },
];

const ENGINE_NAMES: [MysqlName; 2] = [
    MysqlName {
        name: "io_block_read_cost",
        default: 1.0,
        scaled: &["sequential_read_ms", "queued_read_ms", "single_read_ms"],
    },
    MysqlName { name: "memory_block_read_cost", default: 0.25, scaled: &["leaf_visit_ns"] },
];

/// A cost as a row of its table describes it.
pub struct NamedCost {
    pub name: &'static str,
    pub default: f64,
    /// The comment of a row whose default is in force.
    pub comment: String,
}

/// All costs of the server, or of the engine: under MySQL's names, then under Muster's.
pub fn named_costs(of_engine: bool) -> Vec<NamedCost> {
    let of_mysql = mysql_names(of_engine).iter().map(|of| NamedCost {
        name: of.name,
        default: of.default,
        comment: format!("default: factor of {}", of.scaled.join(", ")),
    });
    let constants = CostModel::default().constants().into_iter();
    let own = constants.filter(|of| ENGINE_CONSTANTS.contains(&of.name) == of_engine).map(|of| NamedCost {
        name: of.name,
        default: of.value,
        comment: format!("default: {}", of.origin),
    });
    of_mysql.chain(own).collect()
}

fn mysql_names(of_engine: bool) -> &'static [MysqlName] {
    if of_engine { &ENGINE_NAMES } else { &SERVER_NAMES }
}

/// Returns true if the name is one of Muster's own constants. Such a cost counts before one under a name of MySQL's.
pub fn is_constant(name: &str) -> bool {
    CostModel::default().constants().iter().any(|constant| constant.name.eq_ignore_ascii_case(name))
}

/// Sets the constants behind a name, in any case. Returns false if the table has no such name.
pub fn set(model: &mut CostModel, of_engine: bool, name: &str, value: f64) -> bool {
    if let Some(of_mysql) = mysql_names(of_engine).iter().find(|of| of.name.eq_ignore_ascii_case(name)) {
        let defaults = CostModel::default().constants();
        let factor = value / of_mysql.default;
        for constant in defaults.iter().filter(|constant| of_mysql.scaled.contains(&constant.name)) {
            model.set(constant.name, constant.value * factor);
        }
        return true;
    }
    let own = named_costs(of_engine).into_iter().find(|of| of.name.eq_ignore_ascii_case(name));
    own.is_some_and(|own| model.set(own.name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that is misspelt in a list, or a constant that was renamed, would lose its row.
    #[test]
    fn every_constant_has_one_row_and_every_name_its_constants() {
        let (server, engine) = (named_costs(false), named_costs(true));
        let constants = CostModel::default().constants();
        assert_eq!(server.len() + engine.len(), constants.len() + SERVER_NAMES.len() + ENGINE_NAMES.len());
        assert_eq!(engine.len(), ENGINE_CONSTANTS.len() + ENGINE_NAMES.len());
        for scaled in SERVER_NAMES.iter().chain(&ENGINE_NAMES).flat_map(|of| of.scaled) {
            assert!(constants.iter().any(|constant| constant.name == *scaled), "{scaled}");
        }
    }

    #[test]
    fn a_cost_of_mysql_is_a_factor_and_an_own_one_a_value() {
        let (mut model, default) = (CostModel::default(), CostModel::default());
        assert!(set(&mut model, true, "IO_Block_Read_Cost", 2.0));
        assert_eq!(model.single_read_ms, default.single_read_ms * 2.0);
        assert_eq!(model.sequential_read_ms, default.sequential_read_ms * 2.0);
        assert!(set(&mut model, false, "Predicate_NS", 7.0));
        assert_eq!(model.predicate_ns, 7.0);
        // Each table has its own names.
        assert!(!set(&mut model, false, "io_block_read_cost", 2.0) && !set(&mut model, true, "predicate_ns", 2.0));
        assert!(!set(&mut model, false, "no_such_cost", 2.0));
    }
}
