//! Loading generated data: schema, then table after table.

use crate::{DataSet, DataTable};
use muster_engine::{LoadProgress, Session, types::Result};
use std::sync::Arc;

/// Follows a load. Called from the thread that loads.
pub trait LoadObserver {
    /// A table's load begins; `progress` counts its rows while it runs.
    fn table_started(&self, table: &DataTable, progress: Arc<LoadProgress>);
    /// It ended, with this many rows.
    fn table_finished(&self, table: &DataTable, rows: u64);
}

/// Makes the database anew and loads its tables. A database of that name is dropped.
pub async fn load(session: &mut Session, data: &DataSet, observer: &dyn LoadObserver) -> Result<()> {
    let name = data.name;
    session.query(&format!("DROP DATABASE IF EXISTS {name}")).await?;
    session.query(&format!("CREATE DATABASE {name}")).await?;
    session.use_database(name)?;
    for statement in session.split(&data.schema)? {
        session.query(&statement).await?;
    }
    for table in &data.tables {
        let progress = Arc::new(LoadProgress::default());
        observer.table_started(table, progress.clone());
        let rows = session.load_batches(&table.name, table.batches().map(Ok), progress).await?;
        observer.table_finished(table, rows);
    }
    Ok(())
}

/// Returns true if the database is there with all rows of these tables.
pub async fn is_loaded(session: &mut Session, data: &DataSet) -> Result<bool> {
    let DataSet { name, tables, .. } = data;
    let sql = format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{name}'");
    if count(session, &sql).await? != tables.len() as u64 {
        return Ok(false);
    }
    for table in tables.iter().filter(|t| t.rows_are_exact()) {
        if count(session, &format!("SELECT COUNT(*) FROM {name}.{}", table.name)).await? != table.rows {
            return Ok(false);
        }
    }
    // The last table loaded, whose rows are not known beforehand.
    let last = tables.last().map_or("", |t| &t.name);
    Ok(count(session, &format!("SELECT COUNT(*) FROM {name}.{last}")).await? > 0)
}

async fn count(session: &mut Session, sql: &str) -> Result<u64> {
    use arrow_array::cast::AsArray;
    let batches = session.query(sql).await?;
    let column = batches.first().map(|b| b.column(0).as_primitive::<arrow_array::types::Int64Type>());
    Ok(column.map_or(0, |c| c.value(0) as u64))
}
