//! `muster load`: files into a table, or generated data into a database of its own.

use crate::{
    generated,
    open::{self, OpenArguments},
    progress::LoadBars,
};
use anyhow::{Context, bail};
use muster_engine::LoadProgress;
use std::{path::PathBuf, sync::Arc};

#[derive(clap::Args)]
pub struct Arguments {
    /// Files (.csv, .tbl, .arrow), or the name of generated data: dbt3, ssb, sysbench
    #[arg(required = true, value_name = "FILE|WORKLOAD")]
    what: Vec<PathBuf>,
    /// The data directory
    #[arg(long)]
    dir: PathBuf,
    /// Table that the files are loaded into: name or database.name
    #[arg(long, short)]
    table: Option<String>,
    #[command(flatten)]
    size: generated::Size,
    #[command(flatten)]
    open: OpenArguments,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let data = match arguments.what.as_slice() {
        [only] if arguments.table.is_none() => only.to_str().map(|name| arguments.size.data_set(name)).transpose()?,
        _ => None,
    };
    let database = arguments.open.open(&arguments.dir)?;
    let mut session = open::session(&database, None)?;
    if let Some(data) = data.flatten() {
        muster_lab::load::load(&mut session, &data, &LoadBars::new(data.name)).await?;
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
