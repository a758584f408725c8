//! `muster generate`: generated data as .tbl files, for other engines.

use crate::{generated, print::print_line};
use anyhow::Context;
use std::{
    fs::File,
    io::{BufWriter, Write},
    path::PathBuf,
};

#[derive(clap::Args)]
pub struct Arguments {
    /// dbt3, ssb or sysbench
    workload: String,
    #[command(flatten)]
    size: generated::Size,
    /// Folder for the files, one per table
    #[arg(long)]
    dir: PathBuf,
}

pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let data = arguments.size.known_data_set(&arguments.workload)?;
    std::fs::create_dir_all(&arguments.dir)?;
    for table in data.tables {
        let path = arguments.dir.join(format!("{}.tbl", table.name));
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        table.write_tbl(&mut out)?;
        out.flush()?;
        print_line(path.display())?;
    }
    Ok(())
}
