//! The results of a comparison.

use super::{Comparison, Variant};
use crate::{statistics::Summary, tpcc::TpccReport};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Serialize)]
pub struct SettingsReport {
    pub comparison: &'static str,
    pub title: &'static str,
    pub database: String,
    pub variants: Vec<VariantReport>,
}

#[derive(Debug, Clone, Serialize)]
pub struct VariantReport {
    pub name: &'static str,
    pub settings: BTreeMap<&'static str, &'static str>,
    pub table_options: &'static str,
    /// Why the variant did not run.
    pub skipped: Option<String>,
    /// One for each round.
    pub runs: Vec<TpccReport>,
    /// New-Orders a minute over the rounds.
    pub new_orders_per_minute: Summary,
    /// Of all transactions, over the rounds.
    pub p95_ms: Summary,
    pub crashes: Vec<CrashReport>,
}

/// How a database is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashKind {
    /// A server's process gets SIGKILL; what it has written stays with the operating system.
    Killed,
    /// The same on a simulated machine.
    KilledSimulated,
    /// A simulated machine loses its power: of what was not synced, any sectors may be there.
    PowerCut,
}

/// What crashes of one kind have taken.
#[derive(Debug, Clone, Serialize)]
pub struct CrashReport {
    pub kind: CrashKind,
    pub crashes: u32,
    /// New-Orders whose commits were acknowledged in all runs before the crashes.
    pub acknowledged: u64,
    /// Those of them that are not there afterwards.
    pub lost: u64,
    /// Most lost in one crash.
    pub most_lost: u64,
    /// Crashes that have lost something.
    pub with_losses: u32,
    /// Crashes after which a consistency condition does not hold.
    pub inconsistent: u32,
    /// Crashes after which the database does not open, or cannot read its tables.
    pub unusable: u32,
    /// What was found after such crashes, and how often.
    pub damages: BTreeMap<String, u32>,
    /// The longest time until the database was open again.
    pub recovery_seconds_max: f64,
}

impl CrashReport {
    pub fn new(kind: CrashKind) -> CrashReport {
        CrashReport {
            kind,
            crashes: 0,
            acknowledged: 0,
            lost: 0,
            most_lost: 0,
            with_losses: 0,
            inconsistent: 0,
            unusable: 0,
            damages: BTreeMap::new(),
            recovery_seconds_max: 0.0,
        }
    }

    /// A crash after which the database was open again: so many acknowledged orders, so many of them lost, and the
    /// numbers of conditions that do not hold.
    pub fn add(&mut self, acknowledged: u64, lost: u64, violated: &[u32]) {
        self.crashes += 1;
        self.acknowledged += acknowledged;
        self.lost += lost;
        self.most_lost = self.most_lost.max(lost);
        self.with_losses += u32::from(lost > 0);
        if !violated.is_empty() {
            self.inconsistent += 1;
            *self.damages.entry(format!("conditions {violated:?} do not hold")).or_default() += 1;
        }
    }

    /// A crash after which nothing could be read.
    pub fn add_unusable(&mut self, acknowledged: u64, error: &str) {
        self.crashes += 1;
        self.acknowledged += acknowledged;
        self.unusable += 1;
        *self.damages.entry(error.to_owned()).or_default() += 1;
    }
}

impl SettingsReport {
    /// A report of variants that have not run yet.
    pub fn new(comparison: &Comparison, variants: &[&Variant], database: String) -> SettingsReport {
        let variants = variants.iter().map(|variant| VariantReport {
            name: variant.name,
            settings: variant.settings.iter().copied().collect(),
            table_options: variant.table_options,
            skipped: None,
            runs: Vec::new(),
            new_orders_per_minute: Summary::NOTHING,
            p95_ms: Summary::NOTHING,
            crashes: Vec::new(),
        });
        let variants = variants.collect();
        SettingsReport { comparison: comparison.name, title: comparison.title, database, variants }
    }
}
