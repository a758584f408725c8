//! Options that choose generated data: which, and how much of it.

use anyhow::bail;
use muster_lab::{DataSet, Workload, dbt3::Skew, sysbench};

/// The names that `muster load` and `muster generate` know.
pub const NAMES: &str = "dbt3, ssb and sysbench";

#[derive(clap::Args)]
pub struct Size {
    /// Scale factor of dbt3 or ssb
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Part keys of dbt3 by Zipf's law with this exponent, and dates that depend on each other: database dbt3_skewed
    #[arg(long, value_name = "EXPONENT")]
    skew: Option<f64>,
    /// Number of tables of sysbench
    #[arg(long, default_value_t = 1, value_name = "N")]
    tables: u32,
    /// Rows of each table of sysbench
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    rows: u64,
}

impl Size {
    /// The data of a name; `None` if nothing has that name. Errors: a size that cannot be made.
    pub fn data_set(&self, name: &str) -> anyhow::Result<Option<DataSet>> {
        if name == "sysbench" {
            return Ok(Some(sysbench::data_set(self.tables, self.rows)?));
        }
        match self.skew {
            Some(exponent) if name == Workload::Dbt3.name() => {
                return Ok(Some(DataSet::dbt3_skewed(self.scale, Skew::new(exponent)?)?));
            }
            Some(_) => bail!("--skew is of dbt3, not of {name}"),
            None => {}
        }
        Ok(Workload::from_name(name).map(|w| w.data_set(self.scale)).transpose()?)
    }

    /// The data of a name. Errors: an unknown name, a size that cannot be made.
    pub fn known_data_set(&self, name: &str) -> anyhow::Result<DataSet> {
        let Some(data) = self.data_set(name)? else { bail!("{name} is not known: there are {NAMES}") };
        Ok(data)
    }
}
