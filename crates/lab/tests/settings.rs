//! What crashes take with safe and with unsafe settings of the log, and settings that a database lacks.

use muster_engine::DatabaseOptions;
use muster_lab::{
    load::Quiet,
    tpcc::{
        self, RunOptions, Scale,
        settings::{Comparison, CrashKind, Host, LoadedDisk, SettingsOptions, SimulatedCrashes, compare, text},
    },
};
use std::time::Duration;

/// Runs until a crash takes what it may.
const ATTEMPTS: u64 = 5;

fn crashes() -> SimulatedCrashes {
    SimulatedCrashes { moments: 2, disks: 8, threads: 4, seed: 1, observer: Box::new(Quiet) }
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_settings_lose_and_safe_ones_do_not() {
    let mut crashes = crashes();
    let loaded = LoadedDisk::load(&crashes).await.expect("the tables load");
    let durability = Comparison::find("durability").expect("a comparison there is");
    for (name, loses, tears) in
        [("default", false, false), ("commit waits for nothing", true, false), ("no doublewrite", false, true)]
    {
        let variant = durability.variants.iter().find(|variant| variant.name == name).expect("a variant there is");
        // A slow machine may have acknowledged nothing in the last moment before a cut.
        let mut met = false;
        for seed in 1..=ATTEMPTS {
            crashes.seed = seed;
            let reports = loaded.crashes(variant, &crashes).await.expect("the mix runs");
            let [killed, cut] = reports.as_slice() else { panic!("{reports:?}") };
            assert_eq!((killed.kind, cut.kind), (CrashKind::KilledSimulated, CrashKind::PowerCut));
            assert_eq!((killed.crashes, cut.crashes), (2, 18));
            assert_eq!((killed.unusable, killed.inconsistent, cut.inconsistent), (0, 0, 0), "{name}: {reports:?}");
            assert!(loses || killed.lost + cut.lost == 0, "{name}: {reports:?}");
            assert!(tears || cut.unusable == 0, "{name}: {reports:?}");
            met = killed.acknowledged > 0 && (cut.lost > 0) == loses && (cut.unusable > 0) == tears;
            if met {
                break;
            }
        }
        assert!(met, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn variants_run_in_turn_and_unknown_settings_are_skipped() {
    let directory = tempfile::tempdir().expect("a folder for the test");
    let options = DatabaseOptions { buffer_pool_bytes: 32 << 20, threads: 1, ..DatabaseOptions::default() };
    let host = Host::Directory { path: directory.path().to_path_buf(), options: Box::new(options) };
    let run = RunOptions {
        schema: "t".into(),
        threads: 2,
        warm_up: Duration::ZERO,
        measured: Duration::from_secs(1),
        seed: 1,
        keeps_orders: false,
        ends_at_error: false,
        machine: None,
    };
    let options = SettingsOptions {
        scale: Scale { warehouses: 1, items: 300, customers: 30, seed: 1 },
        run,
        only: vec!["default".into(), "all unsafe, large log".into()],
        rounds: 2,
        kills: 1,
        simulated: None,
        reload: false,
    };
    let durability = Comparison::find("durability").expect("a comparison there is");
    let report = compare(&durability, &host, &options, &Quiet, &|_| ()).await.expect("the variants run");
    let names: Vec<&str> = report.variants.iter().map(|variant| variant.name).collect();
    assert_eq!(names, options.only);
    for variant in &report.variants {
        assert_eq!(variant.runs.len(), 2, "{}", variant.name);
        assert!(variant.runs.iter().all(|run| run.is_clean() && run.transactions > 0), "{}", text(&report));
        for run in &variant.runs {
            let shown = format!("innodb_doublewrite = {}", variant.settings["innodb_doublewrite"]);
            assert!(tpcc::text(run).contains(&shown), "{}", tpcc::text(run));
        }
    }
    let compressed = Comparison::find("compressed-log").expect("a comparison there is");
    let options = SettingsOptions { only: Vec::new(), ..options };
    let report = compare(&compressed, &host, &options, &Quiet, &|_| ()).await.expect("nothing runs");
    let reasons: Vec<&str> = report.variants.iter().filter_map(|variant| variant.skipped.as_deref()).collect();
    assert_eq!(reasons.len(), 3);
    assert!(reasons.iter().all(|reason| reason.contains("Unknown system variable")), "{reasons:?}");
}
