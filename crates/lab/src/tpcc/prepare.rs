//! Getting the data ready: loaded if they are not there, and told from other data if they are.

use super::{Scale, Table, data_set};
use crate::{
    load::{LoadObserver, check_schema_name, connect_to_loaded, load_into},
    target::{Result, TargetError, TargetSession, TestedDatabase},
};

/// Loads the tables into the database `schema` unless they are there. `anew`: a database of that name is dropped first.
/// Error: the database has other tables, or another number of warehouses, items or customers.
pub async fn prepare(
    database: &TestedDatabase,
    schema: &str,
    scale: Scale,
    anew: bool,
    observer: &dyn LoadObserver,
) -> Result<()> {
    prepare_with(database, schema, scale, "", anew, observer).await
}

/// Does what [`prepare`] does, with options behind each CREATE TABLE.
pub(super) async fn prepare_with(
    database: &TestedDatabase,
    schema: &str,
    scale: Scale,
    table_options: &str,
    anew: bool,
    observer: &dyn LoadObserver,
) -> Result<()> {
    check_schema_name(schema)?;
    if !anew && is_prepared(database, schema, scale).await? {
        return Ok(());
    }
    let mut data = data_set(scale);
    if !table_options.is_empty() {
        data.schema = data.schema.replace("\n);", &format!("\n) {table_options};")).into();
    }
    load_into(database, schema, &data, observer).await
}

/// Returns true if the data are there, and false if the database has no tables or does not exist.
async fn is_prepared(database: &TestedDatabase, schema: &str, scale: Scale) -> Result<bool> {
    let Some(mut target) = connect_to_loaded(database, schema).await? else { return Ok(false) };
    // Tables that transactions neither add rows to nor take them from; order_line was loaded last.
    for table in [Table::Warehouse, Table::Item, Table::Customer] {
        let rows = match target.query(&format!("SELECT COUNT(*) FROM {}", table.name())).await {
            Ok(answer) => answer.number()?.unsigned_abs(),
            Err(TargetError::Statement { .. }) => 0,
            Err(e) => return Err(e),
        };
        if rows != table.rows(scale) {
            return Err(TargetError::Answer(format!(
                "database {schema} has {rows} rows of {}, and {} warehouses have {}: load it anew, or name another",
                table.name(),
                scale.warehouses,
                table.rows(scale)
            )));
        }
    }
    if target.query("SELECT ol_o_id FROM order_line LIMIT 1").await?.rows.is_empty() {
        return Err(TargetError::Answer(format!("database {schema} was not loaded to its end: load it anew")));
    }
    Ok(true)
}
