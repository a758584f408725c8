//! The constants of the cost model, as this machine has them.
//!
//! ```text
//!   tables       rows that statements run over, in a database of their own        tables.rs
//!   STATEMENTS   each with one kind of work most of all                           statements.rs
//!   measure      how long each takes, and how often the model charges what        measure.rs
//!   fit          constants under which the model is nearest to the times          fit.rs
//!   device       reads of a file: one behind the other, alone, many at once       device.rs
//!   verdict      what of it is good enough to be stored                           verdict.rs
//!   report       all of it as text                                                report.rs
//! ```
//!
//! The model knows which work a statement is, so nobody else has to: a constant that is made dearer by a fiftieth makes
//! a statement dearer by its work in that constant. Times and work are a system of equations, with more of them than
//! constants, and the defaults decide what it leaves open.

mod device;
mod fit;
mod measure;
mod report;
mod statements;
mod tables;
mod verdict;

pub use device::DeviceTimes;
pub use measure::StatementTimes;
pub use report::report;
pub use verdict::{CalibratedCost, Verdict};

use crate::{runner::session as session_of, target};
use muster_engine::{Database, DatabaseOptions, Durability};
use std::{fs, io, path::Path, sync::Arc};

/// How much a calibration may take.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Rows of the large tables.
    pub rows: usize,
    /// Seconds of all runs of statements, about.
    pub seconds: f64,
    /// Bytes of the file that is read.
    pub device_bytes: u64,
    /// Seconds of reads, about.
    pub device_seconds: f64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { rows: 400_000, seconds: 40.0, device_bytes: 256 << 20, device_seconds: 12.0 }
    }
}

/// What a calibration has found.
#[derive(Debug)]
pub struct Calibration {
    pub costs: Vec<CalibratedCost>,
    /// How near the model is to each statement, before and after.
    pub statements: Vec<StatementTimes>,
    pub device: DeviceTimes,
}

/// Told what is being done.
pub type Progress<'a> = &'a dyn Fn(&str);

/// Measures the machine under a data directory, which is open. What is written for that is in `directory`, and gone at
/// the end. Errors: those of files and of statements.
pub async fn calibrate(
    database: &Arc<Database>,
    directory: &Path,
    bounds: &Bounds,
    progress: Progress<'_>,
) -> target::Result<Calibration> {
    let mut session = session_of(database);
    let stored = verdict::stored_costs(&mut session).await?;
    let page_bytes = database.variable("innodb_page_size").parse().unwrap_or(16 << 10);
    progress("reading from the device");
    let device = device::measure(&directory.join("calibration.device"), page_bytes, bounds).map_err(io_error)?;
    let place = directory.join("calibration");
    let measured = measure_statements(&place, bounds, progress).await;
    let removed = fs::remove_dir_all(&place);
    let (constants, statements) = measured?;
    removed.map_err(io_error)?;
    let costs = verdict::verdicts(&stored, &constants, &device);
    Ok(Calibration { costs, statements, device })
}

/// Stores what is good enough, in one transaction. Sessions that begin afterwards plan with it. Returns the number of
/// costs.
pub async fn store(database: &Arc<Database>, calibration: &Calibration) -> target::Result<usize> {
    verdict::store(&mut session_of(database), &calibration.costs).await
}

async fn measure_statements(
    place: &Path,
    bounds: &Bounds,
    progress: Progress<'_>,
) -> target::Result<(Vec<fit::Constant>, Vec<StatementTimes>)> {
    // A run that was cut off may have left one.
    match fs::remove_dir_all(place) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(io_error(e)),
        _ => {}
    }
    // The constants are those of one thread. With more, plans have work of their own to share rows out.
    let options = DatabaseOptions {
        buffer_pool_bytes: 512 << 20,
        memory_limit_bytes: 1 << 30,
        threads: 1,
        durability: Durability::Relaxed,
        ..DatabaseOptions::default()
    };
    let database = Database::open(place, options)?;
    progress("making tables");
    tables::make(&mut session_of(&database), bounds.rows).await?;
    let mut statements = measure::work(&database, progress).await?;
    measure::run(&database, &mut statements, bounds.seconds, progress).await?;
    let constants = fit::fit(&mut statements);
    Ok((constants, statements))
}

fn io_error(e: io::Error) -> target::TargetError {
    target::TargetError::Answer(e.to_string())
}
