//! The regret of some queries on small data, from candidates to the report. Times are not looked at.

use muster_lab::{
    Lab, Options,
    load::Quiet,
    regret::{
        Regime, RegretOptions, RegretReport, Subject,
        report::{QueryReport, RegimeReport, json, svg::svg, table::table},
    },
};
use std::{collections::HashSet, time::Duration};

const SCALE: f64 = 0.01;

fn lab(directory: &tempfile::TempDir) -> Lab {
    Lab::new(Options {
        directory: directory.path().to_owned(),
        scale: SCALE,
        pool_bytes: None,
        memory_limit_bytes: 1 << 30,
        page_size: 4096,
        threads: 1,
        preload: false,
        cov_max: 0.0,
        runs_max: 1,
        time_max: Duration::ZERO,
    })
}

async fn run(lab: &Lab, subject: Subject, queries: &[&str], regime: Regime) -> RegimeReport {
    lab.prepare_data(subject.data_set(SCALE), &Quiet).await.expect("the data load");
    let queries = queries.iter().map(|q| (*q).to_owned()).collect();
    let options = RegretOptions { subject, queries, plans_max: 12 };
    lab.regret(&options, regime, &Quiet).await.expect("the queries run")
}

fn check(query: &QueryReport) {
    let name = query.query;
    assert!(query.wrong.is_empty() && query.failed.is_empty(), "{name}: {:?} {:?}", query.wrong, query.failed);
    assert!(query.plans.len() > 4 && query.plans.len() <= 13, "{name}: {} plans", query.plans.len());
    assert!(query.plans[0].hints.is_empty() && query.plans[0].ms.is_some());
    let hints: HashSet<&String> = query.plans.iter().map(|p| &p.hints).collect();
    assert_eq!(hints.len(), query.plans.len());
    assert!(query.regret() >= 1.0 && query.best_ms > 0.0, "{name}: {} {}", query.chosen_ms, query.best_ms);
    // Every candidate is a plan, the same as another one, or not followed.
    assert_eq!(query.explained, query.plans.len() - 1 + query.same + query.not_followed.len(), "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_of_dbt3_in_all_regimes() {
    let directory = tempfile::tempdir().expect("a temporary folder");
    let lab = lab(&directory);
    let mut report = RegretReport { data: "dbt3", scale: SCALE, threads: 1, regimes: Vec::new() };
    for regime in Regime::ALL {
        let measured = run(&lab, Subject::Dbt3, &["q03", "q17"], regime).await;
        assert_eq!(measured.queries.iter().map(|q| q.query).collect::<Vec<_>>(), ["q03", "q17"]);
        measured.queries.iter().for_each(check);
        report.regimes.push(measured);
    }
    let text = table(&report);
    assert!(Regime::ALL.iter().all(|r| text.contains(r.name())) && !text.contains("WRONG"), "{text}");
    assert!(json(&[report.clone()]).contains("\"tenth-warm\"") && svg(&[report]).contains("q17"));
    let measured = run(&lab, Subject::Articles, &["seed-q3"], Regime::Memory).await;
    measured.queries.iter().for_each(check);
    let measured = run(&lab, Subject::Dbt3Skewed, &["q19"], Regime::Memory).await;
    measured.queries.iter().for_each(check);
}
