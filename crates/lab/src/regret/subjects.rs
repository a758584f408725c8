//! The databases whose queries are tried.

use crate::{DataSet, NoSuchScale, Query, Workload, dbt3::Skew, forum};

macro_rules! articles {
    ($($name:literal)*) => {
        &[$(Query { name: $name, sql: include_str!(concat!("../../queries/dbt3-variants/", $name, ".sql")) }),*]
    };
}

/// The queries of articles about MySQL's and MariaDB's optimizers.
const ARTICLES: &[Query] = articles!(
    "seed-avg-price" "seed-q10" "seed-q16" "seed-q18-derived" "seed-q18-in" "seed-q19" "seed-q3" "seed-subselect-limit"
);

/// A database and its queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Dbt3,
    Ssb,
    /// The articles' queries over DBT-3.
    Articles,
    /// DBT-3's queries over part keys by Zipf's law and dates that depend on each other.
    Dbt3Skewed,
    /// Queries over uneven data.
    Forum,
}

impl Subject {
    pub const ALL: [Subject; 5] = [Subject::Dbt3, Subject::Ssb, Subject::Articles, Subject::Dbt3Skewed, Subject::Forum];

    pub fn name(self) -> &'static str {
        match self {
            Subject::Dbt3 => "dbt3",
            Subject::Ssb => "ssb",
            Subject::Articles => "articles",
            Subject::Dbt3Skewed => "dbt3-skewed",
            Subject::Forum => "forum",
        }
    }

    pub fn from_name(name: &str) -> Option<Subject> {
        Subject::ALL.into_iter().find(|s| s.name() == name)
    }

    pub fn queries(self) -> &'static [Query] {
        match self {
            Subject::Dbt3 | Subject::Dbt3Skewed => Workload::Dbt3.queries(),
            Subject::Ssb => Workload::Ssb.queries(),
            Subject::Articles => ARTICLES,
            Subject::Forum => forum::QUERIES,
        }
    }

    pub fn data_set(self, scale: f64) -> Result<DataSet, NoSuchScale> {
        match self {
            Subject::Dbt3 | Subject::Articles => Workload::Dbt3.data_set(scale),
            Subject::Ssb => Workload::Ssb.data_set(scale),
            Subject::Dbt3Skewed => DataSet::dbt3_skewed(scale, Skew::ZIPF),
            Subject::Forum => forum::data_set(scale),
        }
    }
}
