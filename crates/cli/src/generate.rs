//! `muster generate`: a workload as .tbl files, for other engines.

use crate::print::print_line;
use anyhow::Context;
use muster_lab::Workload;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
};

#[derive(clap::Args)]
pub struct Arguments {
    /// dbt3 or ssb
    workload: String,
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Folder for the files, one per table
    #[arg(long)]
    dir: PathBuf,
}

pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let workload = Workload::from_name(&arguments.workload).context("the workloads are dbt3 and ssb")?;
    let tables = workload.tables(arguments.scale).context("the scale must be above 0 and at most 1000")?;
    std::fs::create_dir_all(&arguments.dir)?;
    for table in tables {
        let path = arguments.dir.join(format!("{}.tbl", table.name));
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        table.write_tbl(&mut out)?;
        out.flush()?;
        print_line(path.display())?;
    }
    Ok(())
}
