//! How the values of a table's columns are spread: a sample of its rows, and histograms.
//!
//! ```text
//!   RowSample   some rows, at random, column by column      sample.rs
//!   Histogram   buckets of a column's values                histogram.rs
//! ```
//!
//! The sample is what is kept. A histogram is made of it when somebody asks, unless ANALYZE TABLE .. UPDATE HISTOGRAM
//! has made one of all rows.

mod histogram;
mod sample;

pub use histogram::{Bucket, Histogram};
pub use sample::{Bits, RowSample, SampleColumn, SampledColumn};

use crate::SqlType;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

/// Buckets of a histogram that is made of a sample.
pub const SAMPLE_BUCKETS: usize = 256;

/// What is known of how the values of a table's columns are spread.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Distribution {
    pub sample: Arc<RowSample>,
    /// The types of the columns when this was found out. A column of another type has no histogram.
    pub types: Vec<SqlType>,
    /// Histograms that a statement has made of all rows, by the column's position.
    pub histograms: BTreeMap<usize, Arc<Histogram>>,
    /// The ids of the columns, where they are not their positions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub column_ids: Vec<u32>,
    /// What the sample says of each column, found out when it is asked for.
    #[serde(skip)]
    of_sample: Vec<OfSample>,
}

#[derive(Debug, Clone, Default)]
struct OfSample {
    histogram: OnceLock<Option<Arc<Histogram>>>,
    correlation: OnceLock<Option<f64>>,
}

impl PartialEq for Distribution {
    fn eq(&self, other: &Distribution) -> bool {
        self.sample == other.sample && self.types == other.types && self.histograms == other.histograms
    }
}

impl Distribution {
    pub fn new(sample: RowSample, types: Vec<SqlType>, histograms: BTreeMap<usize, Arc<Histogram>>) -> Distribution {
        let (sample, column_ids, of_sample) = (Arc::new(sample), Vec::new(), Vec::new());
        Distribution { sample, types, histograms, column_ids, of_sample }.prepared()
    }

    /// Takes over histograms that a statement has made of columns before. `sources`: for each column the position of
    /// the one whose values it has. A column that has another type by now gets none.
    pub fn with_histograms_of(mut self, before: &Distribution, sources: &[Option<usize>]) -> Distribution {
        for (column, source) in sources.iter().enumerate() {
            if let Some(source) = source
                && let Some(made) = before.histograms.get(source)
                && self.types.get(column) == before.types.get(*source)
            {
                self.histograms.insert(column, Arc::clone(made));
            }
        }
        self
    }

    /// Makes room for histograms of the sample: to be called on what was read from a file.
    pub fn prepared(mut self) -> Distribution {
        self.of_sample = vec![OfSample::default(); self.types.len()];
        self
    }

    /// The histogram of a column: the one that a statement has made, or else one of the sample. `distinct`: the number
    /// of distinct values that the whole column has, NULL not counted.
    pub fn histogram(&self, column: usize, distinct: f64) -> Option<Arc<Histogram>> {
        if let Some(made) = self.histograms.get(&column) {
            return Some(Arc::clone(made));
        }
        let of_sample = self.of_sample.get(column)?;
        of_sample
            .histogram
            .get_or_init(|| {
                let histogram = self.sample.histogram(column, *self.types.get(column)?, distinct)?;
                Some(Arc::new(histogram))
            })
            .clone()
    }

    /// Rank correlation of a column with the order of the primary key, -1 to 1; `None`: not known.
    pub fn correlation(&self, column: usize) -> Option<f64> {
        *self.of_sample.get(column)?.correlation.get_or_init(|| self.sample.correlation(column))
    }

    /// The same for a table whose columns are others since: each was one of these, or all rows have one value in it.
    /// `types`: their types by now.
    pub fn with_columns(&self, columns: &[SampledColumn<'_>], types: Vec<SqlType>) -> Distribution {
        let histogram = |(at, column): (usize, &SampledColumn<'_>)| {
            let SampledColumn::Known(known) = column else { return None };
            let is_same = self.types.get(*known) == types.get(at);
            self.histograms.get(known).filter(|_| is_same).map(|histogram| (at, Arc::clone(histogram)))
        };
        let histograms = columns.iter().enumerate().filter_map(histogram).collect();
        Distribution::new(self.sample.with_columns(columns), types, histograms)
    }

    /// Returns true if all parts fit each other and a table of so many columns.
    pub fn is_sound(&self, columns: usize) -> bool {
        self.types.len() == columns
            && self.sample.is_sound(columns)
            && self.histograms.iter().all(|(column, histogram)| *column < columns && histogram.is_sound())
    }
}
