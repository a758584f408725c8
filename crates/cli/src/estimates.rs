//! `muster lab estimates`: expected rows and costs of operators beside what is found.

use crate::{print::print, progress::LoadBars, size::Size};
use anyhow::bail;
use muster_lab::{
    Lab, Options,
    estimates::{self, OperatorKind},
    regret::Subject,
};
use std::{path::PathBuf, time::Duration};

#[derive(clap::Args)]
pub struct Arguments {
    /// Data and queries: dbt3, ssb, articles, dbt3-skewed; all of them unless named
    data: Vec<String>,
    /// The data directory; data that are not in it are loaded
    #[arg(long, default_value = "./muster-lab")]
    dir: PathBuf,
    /// Scale factor of the data
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Memory for queries, beside the pool
    #[arg(long, default_value = "2G", value_name = "SIZE")]
    memory_limit: Size,
    /// A line for each operator, which can be compared with those of another run: query, expected and found rows, their
    /// factor, text
    #[arg(long)]
    operators: bool,
    /// Threads of one query; the process keeps to as many processors
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
}

pub async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let subjects: Vec<Subject> = match arguments.data.is_empty() {
        true => Subject::ALL.to_vec(),
        false => arguments.data.iter().filter_map(|name| Subject::from_name(name)).collect(),
    };
    if !arguments.data.is_empty() && subjects.len() != arguments.data.len() {
        bail!("the data are {}", Subject::ALL.map(Subject::name).join(", "));
    }
    let lab = Lab::new(Options {
        directory: arguments.dir.clone(),
        scale: arguments.scale,
        pool_bytes: None,
        memory_limit_bytes: arguments.memory_limit.0,
        page_size: 16 << 10,
        threads: arguments.threads.clamp(1, 256),
        preload: false,
        cov_max: 0.0,
        runs_max: 1,
        time_max: Duration::ZERO,
    });
    for subject in subjects {
        lab.prepare_data(subject.data_set(arguments.scale), &LoadBars::new(subject.name())).await?;
        let found = lab.estimates(subject).await?;
        print(format_args!("{} at scale {}\n{}\n", subject.name(), arguments.scale, estimates::text(&found)))?;
        if arguments.operators {
            for kind in [OperatorKind::Table, OperatorKind::Join, OperatorKind::Other] {
                print(format_args!("{}\n{}\n", kind.name(), estimates::lines(&found, kind)))?;
            }
        }
    }
    Ok(())
}
