//! `muster load`: files into a table, or a generated workload into a database of its name.

use crate::{
    open::{self, OpenArguments},
    progress::LoadBars,
};
use anyhow::{Context, bail};
use muster_engine::LoadProgress;
use muster_lab::Workload;
use std::{path::PathBuf, sync::Arc};

#[derive(clap::Args)]
pub struct Arguments {
    /// Files (.csv, .tbl, .arrow), or the name of a workload: dbt3, ssb
    #[arg(required = true, value_name = "FILE|WORKLOAD")]
    what: Vec<PathBuf>,
    /// The data directory
    #[arg(long)]
    dir: PathBuf,
    /// Table that the files are loaded into: name or database.name
    #[arg(long, short)]
    table: Option<String>,
    /// Scale factor of a workload
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    #[command(flatten)]
    open: OpenArguments,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let workload = match arguments.what.as_slice() {
        [only] if arguments.table.is_none() => only.to_str().and_then(Workload::from_name),
        _ => None,
    };
    let database = arguments.open.open(&arguments.dir)?;
    let mut session = open::session(&database, None)?;
    if let Some(workload) = workload {
        let bars = LoadBars::new(workload.name());
        muster_lab::load::load(&mut session, workload, arguments.scale, &bars).await?;
        return Ok(());
    }
    let Some(table) = arguments.table else { bail!("--table names the table to load into") };
    for file in &arguments.what {
        let bars = LoadBars::new(&file.display().to_string());
        let progress = Arc::new(LoadProgress::default());
        bars.start(&table, None, progress.clone());
        let rows = session.load_file(&table, file, progress).await.with_context(|| file.display().to_string())?;
        bars.finish(&table, rows);
    }
    Ok(())
}
