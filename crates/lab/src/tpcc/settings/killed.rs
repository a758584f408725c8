//! A server that is killed in the middle of a run, and started again.

use super::{CrashKind, CrashReport, Host, SettingsOptions, Variant, host::end};
use crate::{
    load::LoadObserver,
    target::{Result, TargetSession, TestedDatabase},
    tpcc::{Acknowledged, RunOptions, Scale, conditions, missing_orders, prepare::prepare_with, run},
};
use std::time::{Duration, Instant};

/// The kill comes so long after the run has begun, and up to a second later.
const BEFORE_KILL: Duration = Duration::from_secs(2);
/// A run that nobody kills ends after this.
const RUN_MAX: Duration = Duration::from_secs(60);

/// Kills the server as often as asked. `None` if this process does not start the server.
pub async fn killed(
    host: &Host,
    variant: &Variant,
    options: &SettingsOptions,
    observer: &dyn LoadObserver,
) -> Result<Option<CrashReport>> {
    let Host::Command { .. } = host else { return Ok(None) };
    let mut report = CrashReport::new(CrashKind::Killed);
    for crash in 0..options.kills {
        let mut running = host.start(variant).await?;
        let schema = &options.run.schema;
        prepare_with(&running.database, schema, options.scale, variant.table_options, false, observer).await?;
        let Some(process) = running.take_process() else { return Ok(None) };
        let delay = BEFORE_KILL + Duration::from_millis(u64::from(crash) * 370 % 1000);
        let run_options = crash_run(&options.run, RUN_MAX, u64::from(crash));
        let database = running.database.clone();
        let result = tokio::task::block_in_place(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(delay);
                    end(process);
                });
                run(&database, options.scale, &run_options)
            })
        })?;
        let since = Instant::now();
        let again = host.start(variant).await;
        let recovery_seconds = since.elapsed().as_secs_f64();
        report.recovery_seconds_max = report.recovery_seconds_max.max(recovery_seconds);
        match again {
            Ok(again) => {
                inspect(&again.database, schema, options.scale, &result.tally.acknowledged, &mut report).await;
                again.stop().await?;
            }
            Err(e) => report.add_unusable(result.tally.acknowledged.len() as u64, &e.to_string()),
        }
    }
    Ok((report.crashes > 0).then_some(report))
}

/// Options of a run that a crash ends.
pub fn crash_run(options: &RunOptions, longest: Duration, seed: u64) -> RunOptions {
    RunOptions {
        warm_up: Duration::ZERO,
        measured: longest,
        seed: options.seed + seed,
        keeps_orders: true,
        ends_at_error: true,
        ..options.clone()
    }
}

/// Looks for what a crash has taken or damaged.
pub async fn inspect(
    database: &TestedDatabase,
    schema: &str,
    scale: Scale,
    acknowledged: &[Acknowledged],
    report: &mut CrashReport,
) {
    let count = acknowledged.len() as u64;
    let found = async {
        let mut target = database.connect(Some(schema)).await?;
        let lost = missing_orders(&mut target, acknowledged).await?;
        let results = conditions::check_all(&mut target, scale).await?;
        // All of the tables, not only what the conditions read.
        target.query("SELECT COUNT(CONCAT(s_data, s_dist_10)) FROM stock").await?;
        target.query("SELECT COUNT(c_data) FROM customer").await?;
        Ok::<_, crate::target::TargetError>((lost, results))
    };
    match found.await {
        Ok((lost, results)) => {
            let violated: Vec<u32> = results.iter().filter(|r| !r.holds()).map(|r| r.number).collect();
            report.add(count, lost, &violated);
        }
        Err(e) => report.add_unusable(count, &e.to_string()),
    }
}
