//! What a transaction of each kind costs in the log: some of each kind, run by one client when the others have ended.

use super::{
    Kind, RunOptions, Scale,
    random::{NuRandConstants, TpccRandom},
    run::log_status,
    terminal::Terminal,
    transactions::InputSource,
};
use crate::target::{Result, TestedDatabase};
use serde::Serialize;

/// Transactions of each kind.
const TRANSACTIONS: u32 = 20;
/// The stream of random values of the one client; terminals have those from 0 on.
const STREAM: u64 = 1 << 32;

/// Means over transactions of one kind, with what background threads wrote meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LogCost {
    pub kind: Kind,
    pub transactions: u32,
    pub bytes: f64,
    /// `None` where the database does not count them, as MariaDB from 10.8 on.
    pub syncs: Option<f64>,
}

/// Measures all kinds; empty if the database does not tell how much log it has written. Errors: those of transactions.
pub async fn log_costs(database: &TestedDatabase, scale: Scale, options: &RunOptions) -> Result<Vec<LogCost>> {
    let random = TpccRandom::new(options.seed, STREAM);
    let source = InputSource { random, constants: NuRandConstants::of_run(options.seed), scale };
    let target = database.connect(Some(&options.schema)).await?;
    let mut terminal = Terminal::open(target, source, false).await?;
    let mut costs = Vec::new();
    for kind in Kind::ALL {
        let before = log_status(&mut terminal.target).await?;
        for _ in 0..TRANSACTIONS {
            let input = terminal.source.draw(kind);
            input.run(&mut terminal.target, &terminal.statements).await?;
        }
        let after = log_status(&mut terminal.target).await?;
        let grown = |name: &str| Some(after.get(name)?.saturating_sub(*before.get(name)?));
        let mean = |sum: u64| sum as f64 / f64::from(TRANSACTIONS);
        let (bytes, syncs) = (grown("Innodb_os_log_written").map(mean), grown("Innodb_os_log_fsyncs").map(mean));
        costs.extend(bytes.map(|bytes| LogCost { kind, transactions: TRANSACTIONS, bytes, syncs }));
    }
    Ok(costs)
}
