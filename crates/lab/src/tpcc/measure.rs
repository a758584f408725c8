//! One measurement: a run on prepared data, and whether the data are consistent afterwards.

use super::{RunOptions, Scale, TpccReport, conditions, log_cost::log_costs, run};
use crate::{
    environment::Environment,
    target::{Result, TestedDatabase},
};

/// What a measurement measures.
pub struct Measured<'a> {
    pub database: &'a TestedDatabase,
    /// The data directory or the server, for the report.
    pub name: String,
    pub scale: Scale,
}

/// Runs the mix. Blocks until it has ended; not to be called on a runtime's thread.
pub fn measure(measured: &Measured, options: &RunOptions) -> Result<TpccReport> {
    let result = run(measured.database, measured.scale, options)?;
    Ok(TpccReport::new(measured.name.clone(), measured.scale, options, result))
}

/// Adds to a report what the database says of itself, what each kind of transaction costs in the log, and the
/// conditions if they are asked for.
pub async fn check(
    measured: &Measured<'_>,
    options: &RunOptions,
    conditions: bool,
    report: &mut TpccReport,
) -> Result<()> {
    report.log_by_kind = log_costs(measured.database, measured.scale, options).await?;
    let mut target = measured.database.connect(Some(&options.schema)).await?;
    report.environment = Environment::of(&mut target).await?;
    if conditions {
        report.conditions = conditions::check_all(&mut target, measured.scale).await?;
    }
    Ok(())
}
