//! The results of an experiment, and their presentation: as a table, as JSON, as a chart.

pub mod json;
pub mod svg;
pub mod table;

use crate::statistics::Summary;
use serde::Serialize;
use std::collections::BTreeMap;

/// One experiment.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub name: &'static str,
    pub title: &'static str,
    pub expectation: &'static str,
    pub workload: &'static str,
    pub scale: f64,
    pub pool_bytes: usize,
    pub threads: usize,
    pub preload: bool,
    /// In the experiment's order; the first is what the others are compared with.
    pub strategies: Vec<StrategyReport>,
}

/// One strategy, from an empty pool and from a warm one.
#[derive(Debug, Clone, Serialize)]
pub struct StrategyReport {
    pub name: &'static str,
    pub settings: Vec<&'static str>,
    /// EXPLAIN FORMAT=TREE of the first query.
    pub plan: String,
    /// Remarks about plans that are not those of their strategy.
    pub notes: Vec<String>,
    pub cold: Measurement,
    pub warm: Measurement,
}

/// Times of all runs, and what the first of them did.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    pub ms: Summary,
    pub pages: u64,
    pub bytes: u64,
    /// Read operations; one may read several neighbouring pages.
    pub reads: u64,
    /// Reads under way when a read began, itself among them.
    pub in_flight_mean: f64,
    pub in_flight_max: u32,
    /// The time that each modelled device would have worked, by its name.
    #[serde(serialize_with = "json::as_map")]
    pub device_ms: Vec<(&'static str, f64)>,
    /// Pages read of each index, by table.index.
    pub pages_by_index: BTreeMap<String, u64>,
    /// Status variables that changed.
    pub counters: BTreeMap<String, u64>,
    /// Accesses beyond those that a record keeps.
    pub unrecorded: u64,
}

impl Measurement {
    /// 0 for a device that is not modelled.
    pub fn device_ms(&self, name: &str) -> f64 {
        self.device_ms.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, ms)| *ms)
    }

    /// Pages read of all indexes of a table.
    pub fn pages_of(&self, table: &str) -> u64 {
        let of_table = |name: &String| name.split_once('.').is_some_and(|(t, _)| t == table);
        self.pages_by_index.iter().filter(|(name, _)| of_table(name)).map(|(_, pages)| pages).sum()
    }

    /// 0 for one that did not change.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::*;

    fn measurement(ms: f64, pages: u64) -> Measurement {
        Measurement {
            ms: Summary { min: ms, median: ms * 1.5, cov: 0.02, runs: 3 },
            pages,
            bytes: pages * 16384,
            reads: pages,
            in_flight_mean: 4.0,
            in_flight_max: 8,
            device_ms: vec![("disk", pages as f64 * 10.0), ("sata", pages as f64 * 0.1), ("nvme", pages as f64 * 0.05)],
            pages_by_index: BTreeMap::from([("t.PRIMARY".to_owned(), pages - 5), ("u.i".to_owned(), 5)]),
            counters: BTreeMap::from([("Handler_read_key".to_owned(), 7)]),
            unrecorded: 0,
        }
    }

    /// Two strategies; the second reads a tenth.
    pub fn report() -> Report {
        let strategy = |name, ms, pages| StrategyReport {
            name,
            settings: vec!["optimizer_switch = 'mrr=off'"],
            plan: "-> Table scan on t".into(),
            notes: Vec::new(),
            cold: measurement(ms, pages),
            warm: measurement(ms / 2.0, 10),
        };
        Report {
            name: "test",
            title: "One & two",
            expectation: "ten times fewer pages",
            workload: "dbt3",
            scale: 0.01,
            pool_bytes: 4 << 20,
            threads: 1,
            preload: false,
            strategies: vec![strategy("row by row", 200.0, 1000), strategy("MRR <big>", 20.0, 100)],
        }
    }

    #[test]
    fn pages_are_counted_by_table() {
        let report = report();
        let cold = &report.strategies[0].cold;
        assert_eq!((cold.pages_of("t"), cold.pages_of("u"), cold.pages_of("v")), (995, 5, 0));
        assert_eq!((cold.device_ms("disk"), cold.device_ms("tape")), (10_000.0, 0.0));
        assert_eq!((cold.counter("Handler_read_key"), cold.counter("Handler_write")), (7, 0));
    }
}
