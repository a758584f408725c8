//! Runs the mix under each variant, round by round, and the crashes after that.

use super::{Comparison, Host, LoadedDisk, SettingsReport, SimulatedCrashes, Variant, VariantReport, killed::killed};
use crate::{
    load::LoadObserver,
    statistics::Sample,
    target::{Result, TargetError},
    tpcc::{Measured, RunOptions, Scale, TpccReport, check, measure, prepare::prepare_with},
};

pub struct SettingsOptions {
    pub scale: Scale,
    pub run: RunOptions,
    /// Names of the variants that run; all of them if there are none.
    pub only: Vec<String>,
    /// Every variant runs so often; in a round each runs once.
    pub rounds: u32,
    /// How often a server that is started for each variant is killed.
    pub kills: u32,
    /// Crashes of simulated machines that run Muster; `None` if there are to be none.
    pub simulated: Option<SimulatedCrashes>,
    /// Load the tables anew, once.
    pub reload: bool,
}

/// Compares the variants. Variants with settings that the database lacks or cannot change are skipped, and the report
/// says why. `told` is given a line for each run. Errors: those of loads and runs; a server that does not start.
pub async fn compare(
    comparison: &Comparison,
    host: &Host,
    options: &SettingsOptions,
    observer: &dyn LoadObserver,
    told: &dyn Fn(&str),
) -> Result<SettingsReport> {
    let mut reload = options.reload;
    let is_wanted = |variant: &&Variant| options.only.is_empty() || options.only.iter().any(|n| n == variant.name);
    let variants: Vec<&Variant> = comparison.variants.iter().filter(is_wanted).collect();
    let mut report = SettingsReport::new(comparison, &variants, host.shown());
    for _ in 0..options.rounds.max(1) {
        for (variant, result) in variants.iter().zip(&mut report.variants) {
            if result.skipped.is_some() {
                continue;
            }
            let anew = comparison.loads_each() || std::mem::take(&mut reload);
            match one_run(host, variant, options, anew, observer).await? {
                Ok(run) => {
                    let new_orders = run.new_orders_per_minute;
                    told(&format!("{}: {new_orders:.0} new orders a minute", variant.name));
                    result.runs.push(run);
                }
                Err(reason) => {
                    told(&format!("{}: skipped, {reason}", variant.name));
                    result.skipped = Some(reason);
                }
            }
        }
    }
    let loaded = match &options.simulated {
        Some(crashes) => Some((LoadedDisk::load(crashes).await?, crashes)),
        None => None,
    };
    for (variant, result) in variants.iter().zip(&mut report.variants) {
        summarize(result);
        if result.skipped.is_none() {
            result.crashes.extend(killed(host, variant, options, observer).await?);
        }
        if let Some((disk, crashes)) = loaded.as_ref().filter(|_| result.skipped.is_none()) {
            told(&format!("{}: crashes of simulated machines", variant.name));
            result.crashes.extend(disk.crashes(variant, crashes).await?);
        }
    }
    Ok(report)
}

fn summarize(result: &mut VariantReport) {
    let (mut new_orders, mut p95) = (Sample::default(), Sample::default());
    for run in &result.runs {
        new_orders.add(run.new_orders_per_minute);
        p95.add(run.all_latencies.p95);
    }
    result.new_orders_per_minute = new_orders.summary();
    result.p95_ms = p95.summary();
}

/// One run of one variant, or why it cannot run.
async fn one_run(
    host: &Host,
    variant: &Variant,
    options: &SettingsOptions,
    anew: bool,
    observer: &dyn LoadObserver,
) -> Result<std::result::Result<TpccReport, String>> {
    let running = match host.start(variant).await {
        Ok(running) => running,
        Err(e @ TargetError::Statement { .. }) => return Ok(Err(e.to_string())),
        Err(e) => return Err(e),
    };
    let schema = &options.run.schema;
    prepare_with(&running.database, schema, options.scale, variant.table_options, anew, observer).await?;
    let measured = Measured { database: &running.database, name: host.shown(), scale: options.scale };
    let mut report = tokio::task::block_in_place(|| measure(&measured, &options.run))?;
    check(&measured, &options.run, true, &mut report).await?;
    running.stop().await?;
    Ok(Ok(report))
}
