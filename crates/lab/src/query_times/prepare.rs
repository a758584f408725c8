//! Getting the data ready, and waiting until their pages are on the disk.

use crate::{
    DataSet,
    load::{LoadObserver, check_schema_name, connect_to_loaded, load_into},
    target::{Result, TargetError, TargetSession, TestedDatabase},
};
use std::time::{Duration, Instant};

/// Page cleaners get this long after a load.
const SETTLING_MAX: Duration = Duration::from_secs(120);
/// They have stopped if they have written nothing for so long: some leave a share of the pages dirty.
const STANDSTILL: Duration = Duration::from_secs(3);

/// Loads the tables into the database `schema` unless they are there, and collects their statistics. `anew`: a database
/// of that name is dropped first. Error: the database has other tables, or another number of rows.
pub async fn prepare(
    database: &TestedDatabase,
    schema: &str,
    data: &DataSet,
    anew: bool,
    observer: &dyn LoadObserver,
) -> Result<()> {
    check_schema_name(schema)?;
    if !anew && is_prepared(database, schema, data).await? {
        return Ok(());
    }
    load_into(database, schema, data, observer).await?;
    let mut target = database.connect(Some(schema)).await?;
    for table in &data.tables {
        target.query(&format!("ANALYZE TABLE {}", table.name)).await?;
    }
    settle(&mut target).await
}

/// Returns true if the data are there, and false if the database has no tables or does not exist.
async fn is_prepared(database: &TestedDatabase, schema: &str, data: &DataSet) -> Result<bool> {
    let Some(mut target) = connect_to_loaded(database, schema).await? else { return Ok(false) };
    for table in &data.tables {
        let rows = match target.query(&format!("SELECT COUNT(*) FROM {}", table.name)).await {
            Ok(answer) => answer.number()?.unsigned_abs(),
            Err(TargetError::Statement { .. }) => 0,
            Err(e) => return Err(e),
        };
        if rows == 0 || table.rows_are_exact() && rows != table.rows {
            return Err(TargetError::Answer(format!(
                "database {schema} has {rows} rows of {}, and {} are to be there: load it anew, or name another",
                table.name, table.rows
            )));
        }
    }
    Ok(true)
}

/// Waits until page cleaners have written what the load left, or write no more. Servers without such a counter are not
/// waited for.
async fn settle<T: TargetSession>(target: &mut T) -> Result<()> {
    let (since, mut last, mut changed) = (Instant::now(), None, Instant::now());
    while since.elapsed() < SETTLING_MAX {
        let rows = target.query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'").await?.texts();
        let dirty = rows.into_iter().flatten().flatten().nth(1).and_then(|n| n.parse::<u64>().ok());
        if dirty.is_none_or(|pages| pages == 0) {
            break;
        }
        if dirty != last {
            (last, changed) = (dirty, Instant::now());
        } else if changed.elapsed() > STANDSTILL {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}
