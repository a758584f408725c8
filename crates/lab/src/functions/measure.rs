//! The measurement: each call on each database in turn, until there are enough runs or no more time.

use super::{CALLS, Call, CallReport, FunctionsReport, data_set};
use crate::{
    in_turn::InTurn,
    load::LoadObserver,
    statistics::Sample,
    target::{AnyTarget, MeasuredDatabase, Result, TargetError, TargetSession},
};
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct FunctionOptions {
    /// Rows of the table of arguments.
    pub rows: u64,
    /// Names of functions, in any case; all if there are none.
    pub only: Vec<String>,
    /// Drop the databases and load them anew.
    pub reload: bool,
    /// Counted runs of a call on each database, at most.
    pub rounds: usize,
    /// No round of a call begins after so long; a statement may take as long as this, too.
    pub time_max: Duration,
}

/// Loads the data unless they are there, and runs the calls. A call that fails has its error in the report, and the
/// others go on. `told` is given each call when it is done. Errors: those of the load; no function of these names.
pub async fn measure(
    databases: &[MeasuredDatabase],
    options: &FunctionOptions,
    observer: &dyn LoadObserver,
    told: &dyn Fn(&CallReport),
) -> Result<FunctionsReport> {
    let calls = chosen(options)?;
    let data = data_set(options.rows);
    let mut report = FunctionsReport::new(options);
    // Statements end after the time that there is.
    let first = format!("SET SESSION max_execution_time = {}", options.time_max.as_millis().max(1));
    let mut in_turn;
    (in_turn, report.databases) = InTurn::prepare(databases, &data, options.reload, observer, Some(first)).await?;
    for call in calls {
        let mut measured = CallReport::new(call, databases.len());
        if let Err(e) = measure_call(&mut in_turn.targets, call, options, &mut measured).await {
            measured.error = Some(e.to_string());
            in_turn.reconnect().await?;
        }
        told(&measured);
        report.calls.push(measured);
    }
    Ok(report)
}

fn chosen(options: &FunctionOptions) -> Result<Vec<&'static Call>> {
    let is_named = |call: &Call| options.only.iter().any(|name| name.eq_ignore_ascii_case(call.function));
    let calls: Vec<&Call> = CALLS.iter().filter(|call| options.only.is_empty() || is_named(call)).collect();
    if calls.is_empty() {
        return Err(TargetError::Answer(format!("no function is called {}", options.only.join(", "))));
    }
    Ok(calls)
}

async fn measure_call(
    targets: &mut [AnyTarget],
    call: &Call,
    options: &FunctionOptions,
    report: &mut CallReport,
) -> Result<()> {
    let since = Instant::now();
    let statement = call.statement();
    let mut results = Vec::new();
    for target in targets.iter_mut() {
        results.push(run(target, &statement).await?.1);
    }
    report.differs = !call.varies && results.iter().any(|rows| *rows != results[0]);
    let mut samples = vec![Sample::default(); targets.len()];
    for round in 0..options.rounds.max(1) {
        if round > 0 && since.elapsed() > options.time_max {
            break;
        }
        for turn in 0..targets.len() {
            // None is always the first.
            let number = (turn + round) % targets.len();
            samples[number].add(run(&mut targets[number], &statement).await?.0);
        }
    }
    report.times_ms = samples.iter().map(Sample::summary).collect();
    Ok(())
}

/// The milliseconds until all rows have come, and the rows in an order of their own.
async fn run(target: &mut AnyTarget, text: &str) -> Result<(f64, Vec<Vec<Option<String>>>)> {
    let since = Instant::now();
    let answer = target.query(text).await?;
    let ms = since.elapsed().as_secs_f64() * 1e3;
    let mut rows = answer.texts();
    rows.sort();
    Ok((ms, rows))
}
