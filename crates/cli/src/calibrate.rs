//! `muster calibrate`: measures this machine and stores the constants of the cost model.

use crate::{open::OpenArguments, print::print};
use anyhow::bail;
use indicatif::ProgressBar;
use muster_lab::calibrate::{self, Bounds};
use std::{path::PathBuf, time::Duration};

#[derive(clap::Args)]
pub struct Arguments {
    /// The data directory; no server has it open
    #[arg(long)]
    dir: PathBuf,
    /// Print what was measured, and store nothing
    #[arg(long)]
    dry_run: bool,
    /// Seconds of measurements, about
    #[arg(long, default_value_t = 52.0)]
    seconds: f64,
    #[command(flatten)]
    open: OpenArguments,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { dir, dry_run, seconds, open } = arguments;
    if !dir.is_dir() {
        bail!("{} is no data directory", dir.display());
    }
    if !(1.0..=3600.0).contains(&seconds) {
        bail!("--seconds is a number from 1 to 3600");
    }
    let database = open.open(&dir)?;
    let bounds = Bounds { seconds: seconds * 0.77, device_seconds: seconds * 0.23, ..Bounds::default() };
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(200));
    let progress = |what: &str| bar.set_message(what.to_owned());
    let measured = calibrate::calibrate(&database, &dir.join("tmp"), &bounds, &progress).await;
    bar.finish_and_clear();
    let measured = measured?;
    print(calibrate::report(&measured))?;
    if dry_run {
        return print("\nNothing is stored.\n");
    }
    let stored = calibrate::store(&database, &measured).await?;
    database.checkpoint()?;
    print(format!("\n{stored} constants are stored. Sessions that begin from now on plan with them.\n"))
}
