//! A workload that has queries: its schema, its data at a scale, its queries.

use crate::{
    data_set::{DataSet, DataTable, RowSource},
    dbt3, ssb,
};

/// A named query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    pub name: &'static str,
    pub sql: &'static str,
}

/// No workload has data at this scale.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("the scale must be above 0 and at most 1000, not {0}")]
pub struct NoSuchScale(pub f64);

/// The workloads Muster knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    Dbt3,
    Ssb,
}

impl Workload {
    pub const ALL: [Workload; 2] = [Workload::Dbt3, Workload::Ssb];

    /// Also the name of its database.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Dbt3 => "dbt3",
            Workload::Ssb => "ssb",
        }
    }

    pub fn from_name(name: &str) -> Option<Workload> {
        Workload::ALL.into_iter().find(|w| w.name() == name)
    }

    /// CREATE TABLE statements, with the indexes.
    pub fn schema(self) -> &'static str {
        match self {
            Workload::Dbt3 => include_str!("dbt3/schema.sql"),
            Workload::Ssb => include_str!("ssb/schema.sql"),
        }
    }

    pub fn queries(self) -> &'static [Query] {
        match self {
            Workload::Dbt3 => crate::queries::DBT3,
            Workload::Ssb => crate::queries::SSB,
        }
    }

    /// The data at a scale factor (0 < scale <= 1000). The SSB date table is complete at every scale.
    pub fn data_set(self, scale: f64) -> Result<DataSet, NoSuchScale> {
        let tables = self.tables(scale).ok_or(NoSuchScale(scale))?;
        Ok(DataSet { name: self.name(), schema: self.schema().into(), tables })
    }

    fn tables(self, scale: f64) -> Option<Vec<DataTable>> {
        if !(scale > 0.0 && scale <= 1000.0) {
            return None;
        }
        match self {
            Workload::Dbt3 => Some(
                (dbt3::Table::ALL.into_iter())
                    .map(|t| DataTable {
                        name: t.name().into(),
                        rows: t.rows(scale),
                        source: RowSource::Dbt3(t, scale),
                    })
                    .collect(),
            ),
            Workload::Ssb => {
                let scale = ssb::Scale::new(scale, false)?;
                let rows = |t: ssb::Table| t.units(scale) * if t == ssb::Table::Lineorder { 4 } else { 1 };
                let table = |t: ssb::Table| DataTable {
                    name: t.name().into(),
                    rows: rows(t),
                    source: RowSource::Ssb(t, scale),
                };
                Some(ssb::Table::ALL.into_iter().map(table).collect())
            }
        }
    }
}
