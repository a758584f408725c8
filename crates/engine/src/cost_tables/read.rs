//! The cost model that the rows of the two tables make. A row that cannot count is left out and told of in the log of
//! the server, in MySQL's words.

use super::{
    definitions::{DEFAULT_ENGINE, ENGINE, SERVER},
    names,
};
use crate::{system_schema, tables::Tables};
use muster_optimizer::CostModel;
use muster_storage::{ReadView, Scan, ScanRequest, value_at};
use muster_types::{Result, Value};
use std::sync::Arc;

/// Engines whose tables are Muster's.
const OWN_ENGINES: [&str; 2] = ["innodb", "muster"];
/// MySQL's other engines. No table has one, so their costs do not count.
const OTHER_ENGINES: [&str; 8] =
    ["myisam", "memory", "csv", "archive", "blackhole", "mrg_myisam", "performance_schema", "ndbcluster"];

/// A cost that counts.
struct Cost {
    name: String,
    value: f64,
    of_engine: bool,
    /// True if it is a row of the engine by its name, which counts before the row of all engines.
    is_named: bool,
}

/// Reads what a view sees of the tables. Errors: those of storage.
pub fn read(tables: &Tables, view: &Arc<ReadView>) -> Result<CostModel> {
    let mut costs = Vec::new();
    for row in stored_rows(tables, view, SERVER)? {
        costs.extend(server_cost(&row));
    }
    for row in stored_rows(tables, view, ENGINE)? {
        costs.extend(engine_cost(&row));
    }
    Ok(model_of(costs))
}

/// The model with the costs: MySQL's names first, so that a constant that is set by itself counts.
fn model_of(mut costs: Vec<Cost>) -> CostModel {
    costs.sort_by_key(|cost| (names::is_constant(&cost.name), cost.is_named));
    let mut model = CostModel::default();
    for cost in &costs {
        names::set(&mut model, cost.of_engine, &cost.name, cost.value);
    }
    model
}

/// All rows of a table; none if it is not stored.
pub fn stored_rows(tables: &Tables, view: &Arc<ReadView>, name: &str) -> Result<Vec<Vec<Value>>> {
    let current = tables.current();
    let schema = current.definitions.schemas.get(system_schema::MYSQL);
    let Some(entry) = schema.and_then(|schema| schema.tables.get(name)) else { return Ok(Vec::new()) };
    let table = current.storage(entry.def.id, tables.store())?;
    let columns: Vec<usize> = (0..entry.def.columns.len()).collect();
    let mut cursor = Scan::new(table, ScanRequest::all(view.clone(), 0, columns, Arc::default()))?.cursor();
    let mut rows = Vec::new();
    while let Some(batch) = cursor.next_batch()? {
        for row in 0..batch.num_rows() {
            rows.push(batch.columns().iter().map(|column| value_at(column, row)).collect::<Result<_, _>>()?);
        }
    }
    Ok(rows)
}

fn server_cost(row: &[Value]) -> Option<Cost> {
    let [name, value, ..] = row else { return None };
    let (name, value) = (text(name), number(value)?);
    if !is_known(false, &name) {
        tracing::warn!("Unknown cost constant \"{name}\" in mysql.server_cost table");
        return None;
    }
    if !is_cost(value) {
        tracing::warn!("Invalid value for cost constant \"{name}\" in mysql.server_cost table: {value:.1}");
        return None;
    }
    Some(Cost { name, value, of_engine: false, is_named: false })
}

fn engine_cost(row: &[Value]) -> Option<Cost> {
    let [engine, device, name, value, ..] = row else { return None };
    let (engine, name, value) = (text(engine), text(name), number(value)?);
    let is_engine = |known: &&str| known.eq_ignore_ascii_case(&engine);
    let is_own = OWN_ENGINES.iter().any(is_engine);
    let is_default = is_engine(&DEFAULT_ENGINE);
    if !is_own && !is_default && !OTHER_ENGINES.iter().any(is_engine) {
        tracing::warn!("Unknown storage engine \"{engine}\" in mysql.engine_cost table");
        return None;
    }
    if *device != Value::Int(0) {
        let device = device.to_text(0).unwrap_or_default();
        tracing::warn!(
            "Invalid device type {device} for \"{engine}\" storage engine for cost constant \"{name}\" in \
             mysql.engine_cost table"
        );
        return None;
    }
    if !is_known(true, &name) {
        tracing::warn!("Unknown cost constant \"{name}\" in mysql.engine_cost table");
        return None;
    }
    if !is_cost(value) {
        tracing::warn!(
            "Invalid value for cost constant \"{name}\" for \"{engine}\" storage engine and device type 0 in \
             mysql.engine_cost table: {value:.1}"
        );
        return None;
    }
    (is_own || is_default).then_some(Cost { name, value, of_engine: true, is_named: is_own })
}

fn is_known(of_engine: bool, name: &str) -> bool {
    names::set(&mut CostModel::default(), of_engine, name, 1.0)
}

fn is_cost(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn text(value: &Value) -> String {
    value.to_text(0).unwrap_or_default()
}

/// A cost that is set; `None` for NULL, which leaves the default in force.
fn number(value: &Value) -> Option<f64> {
    match value {
        // By the digits that are shown: 0.3 is not 0.30000001192.
        Value::Float(value) => Some(value.to_string().parse().unwrap_or(f64::from(*value))),
        Value::Double(value) => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, value: f32) -> Option<Cost> {
        server_cost(&[Value::Text(name.into()), Value::Float(value)])
    }

    fn engine(engine: &str, device: i64, name: &str, value: f32) -> Option<Cost> {
        engine_cost(&[Value::Text(engine.into()), Value::Int(device), Value::Text(name.into()), Value::Float(value)])
    }

    #[test]
    fn what_is_no_cost_is_left_out() {
        for value in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(server("compare_ns", value).is_none(), "{value}");
            assert!(engine("default", 0, "io_block_read_cost", value).is_none(), "{value}");
        }
        assert!(server_cost(&[Value::Text("compare_ns".into()), Value::Null]).is_none());
        assert!(server("no_such_cost", 1.0).is_none());
        assert!(engine("default", 1, "io_block_read_cost", 1.0).is_none());
        assert!(engine("nowhere", 0, "io_block_read_cost", 1.0).is_none());
        assert!(engine("MyISAM", 0, "io_block_read_cost", 1.0).is_none());
        assert!(engine("default", 0, "compare_ns", 1.0).is_none());
    }

    #[test]
    fn the_engine_by_its_name_and_a_constant_by_its_own_count_first() {
        let rows = [
            server("compare_ns", 24.5),
            server("key_compare_cost", 0.5),
            engine("InnoDB", 0, "io_block_read_cost", 3.0),
            engine("default", 0, "io_block_read_cost", 2.0),
            engine("default", 0, "queued_read_ms", 0.3),
        ];
        let (model, default) = (model_of(rows.into_iter().flatten().collect()), CostModel::default());
        assert_eq!((model.compare_ns, model.queued_read_ms), (24.5, 0.3));
        assert_eq!(model.single_read_ms, default.single_read_ms * 3.0);
        assert_eq!(model.predicate_ns, default.predicate_ns);
    }
}
