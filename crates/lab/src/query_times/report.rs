//! The times of a workload's queries, for all presentations.

use super::QueryOptions;
use crate::{environment::Environment, statistics::Summary};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct QueriesReport {
    /// The experiment whose strategies these are; `None` for the queries of a workload.
    pub experiment: Option<&'static str>,
    pub workload: &'static str,
    pub scale: f64,
    /// The data directory, or the server's address.
    pub database: String,
    pub environment: Environment,
    /// Runs before the warm ones, which are not counted.
    pub warm_ups: usize,
    /// The coefficient of variation at which runs stop.
    pub cov_max: f64,
    pub queries: Vec<QueryReport>,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct QueryReport {
    pub name: &'static str,
    /// Milliseconds from empty memory; `None` without cold runs.
    pub cold_ms: Option<Summary>,
    /// Milliseconds after the warm-up.
    pub warm_ms: Summary,
    /// The rows, which are the same in all runs; `None` if no run has ended.
    pub rows: Option<Digest>,
    /// EXPLAIN FORMAT=TREE of the first text, or the traditional EXPLAIN where there is no such format.
    pub plan: String,
    /// Why the query did not run: the database lacks a setting.
    pub skipped: Option<String>,
    /// Why the query has no (more) times.
    pub error: Option<String>,
}

/// Rows in short, so that those of two reports can be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Digest {
    pub count: usize,
    /// FNV-1a of the sorted rows as texts, in hexadecimal.
    pub hash: String,
}

impl Digest {
    /// Of the rows of several results.
    pub fn of(results: Vec<Vec<Vec<Option<String>>>>) -> Digest {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let mut hash = OFFSET;
        let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        let mut count = 0;
        for mut rows in results {
            rows.sort();
            count += rows.len();
            for row in &rows {
                for cell in row {
                    // Bytes that UTF-8 does not have tell NULL from a text, and end cells, rows and results.
                    cell.as_deref().map_or(&[0xff][..], str::as_bytes).iter().for_each(|byte| add(*byte));
                    add(0xfe);
                }
                add(0xfd);
            }
            add(0xfc);
        }
        Digest { count, hash: format!("{hash:016x}") }
    }
}

impl QueryReport {
    pub fn new(name: &'static str) -> QueryReport {
        QueryReport {
            name,
            cold_ms: None,
            warm_ms: Summary::NOTHING,
            rows: None,
            plan: String::new(),
            skipped: None,
            error: None,
        }
    }
}

impl QueriesReport {
    pub fn new(options: &QueryOptions, database: String, environment: Environment) -> QueriesReport {
        QueriesReport {
            experiment: None,
            workload: options.workload.name(),
            scale: options.scale,
            database,
            environment,
            warm_ups: options.warm_ups,
            cov_max: options.cov_max,
            queries: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns true if every query has its times.
    pub fn is_clean(&self) -> bool {
        self.queries.iter().all(|query| query.error.is_none())
    }

    /// Sum and geometric mean of the medians, of the queries that have them; `None` if there are none.
    pub fn total(&self, of: impl Fn(&QueryReport) -> Option<Summary>) -> Option<(f64, f64)> {
        let medians: Vec<f64> = self.queries.iter().filter_map(of).filter(|s| s.runs > 0).map(|s| s.median).collect();
        if medians.is_empty() {
            return None;
        }
        let logarithms: f64 = medians.iter().map(|ms| ms.max(1e-3).ln()).sum();
        Some((medians.iter().sum(), (logarithms / medians.len() as f64).exp()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(texts: &[&[Option<&str>]]) -> Vec<Vec<Option<String>>> {
        texts.iter().map(|row| row.iter().map(|cell| cell.map(str::to_owned)).collect()).collect()
    }

    #[test]
    fn digests_tell_rows_apart_in_any_order() {
        let digest = |texts: &[&[Option<&str>]]| Digest::of(vec![cells(texts)]);
        assert_eq!(digest(&[&[Some("a")], &[Some("b")]]), digest(&[&[Some("b")], &[Some("a")]]));
        let different = [
            digest(&[]),
            digest(&[&[None]]),
            digest(&[&[Some("")]]),
            digest(&[&[Some("ab"), Some("")]]),
            digest(&[&[Some("a"), Some("b")]]),
            digest(&[&[Some("a")], &[Some("b")]]),
        ];
        let hashes: std::collections::BTreeSet<&str> = different.iter().map(|d| d.hash.as_str()).collect();
        assert_eq!(hashes.len(), different.len());
    }
}
