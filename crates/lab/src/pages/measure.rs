//! The measurement: each page on each database in turn, round by round, with the same values.

use super::{
    PAGES, Page, PageReport, PagesReport, data_set,
    report::PageTimes,
    values::{Random, with_values},
};
use crate::{
    in_turn::InTurn,
    load::LoadObserver,
    query_times::Digest,
    statistics::Sample,
    target::{AnyTarget, MeasuredDatabase, Result, TargetError, TargetSession},
};
use std::time::Instant;

#[derive(Debug, Clone)]
pub struct PageOptions {
    pub scale: f64,
    /// Names of pages, or beginnings of them; all if there are none.
    pub only: Vec<String>,
    /// Drop the databases and load them anew.
    pub reload: bool,
    /// Rounds, in each of which a page runs on each database.
    pub rounds: usize,
    /// Runs of a page in a round.
    pub runs: usize,
    /// Runs of a page before the first round, which are not counted.
    pub warm_ups: usize,
    pub seed: u64,
}

/// Loads the data unless they are there, and runs the pages. A page that fails has its error in the report, and the
/// others go on. `told` is given each page when it is done. Errors: those of the load; no page of these names.
pub async fn measure(
    databases: &[MeasuredDatabase],
    options: &PageOptions,
    observer: &dyn LoadObserver,
    told: &dyn Fn(&PageReport),
) -> Result<PagesReport> {
    let pages = chosen(options)?;
    let data = data_set(options.scale).map_err(|e| TargetError::Answer(e.to_string()))?;
    let mut report = PagesReport::new(options);
    let mut in_turn;
    (in_turn, report.databases) = InTurn::prepare(databases, &data, options.reload, observer, None).await?;
    for (number, page) in pages.into_iter().enumerate() {
        let seed = options.seed << 16 | number as u64;
        let mut measured = PageReport::new(page.name, databases.len());
        if let Err(e) = measure_page(&mut in_turn.targets, page, options, seed, &mut measured).await {
            measured.error = Some(e.to_string());
            in_turn.reconnect().await?;
        }
        told(&measured);
        report.pages.push(measured);
    }
    Ok(report)
}

fn chosen(options: &PageOptions) -> Result<Vec<&'static Page>> {
    let is_chosen = |page: &&Page| options.only.is_empty() || options.only.iter().any(|n| page.name.starts_with(n));
    let pages: Vec<&Page> = PAGES.iter().filter(is_chosen).collect();
    if pages.is_empty() {
        let names: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        return Err(TargetError::Answer(format!("no page of these names: there are {}", names.join(", "))));
    }
    Ok(pages)
}

async fn measure_page(
    targets: &mut [AnyTarget],
    page: &Page,
    options: &PageOptions,
    seed: u64,
    report: &mut PageReport,
) -> Result<()> {
    let mut random = Random::new(seed);
    let text = |random: &mut Random| with_values(page.sql, options.scale, random);
    for number in 0..options.warm_ups.max(1) {
        let text = text(&mut random);
        for (target, times) in targets.iter_mut().zip(&mut report.times) {
            let us = run(target, &text).await?.0;
            if number == 0 {
                times.first_us = us;
            }
        }
    }
    let mut samples = vec![Sample::default(); targets.len()];
    for round in 0..options.rounds.max(1) {
        let texts: Vec<String> = (0..options.runs.max(1)).map(|_| text(&mut random)).collect();
        let mut rows: Vec<Vec<Digest>> = vec![Vec::new(); targets.len()];
        for turn in 0..targets.len() {
            // None is always the first.
            let number = (turn + round) % targets.len();
            for text in &texts {
                let (us, digest) = run(&mut targets[number], text).await?;
                samples[number].add(us);
                rows[number].push(digest);
            }
        }
        let differs = |(i, digest): (usize, &Digest)| rows.iter().any(|other| other[i] != *digest).then(|| &texts[i]);
        if let Some(text) = rows[0].iter().enumerate().find_map(differs) {
            return Err(TargetError::Answer(format!("the databases give other rows: {text}")));
        }
    }
    for (times, sample) in report.times.iter_mut().zip(samples) {
        *times = PageTimes { us: sample.summary(), ..*times };
    }
    Ok(())
}

/// The microseconds until all rows have come, and the rows.
async fn run(target: &mut AnyTarget, text: &str) -> Result<(f64, Digest)> {
    let since = Instant::now();
    let answer = target.query(text).await?;
    let us = since.elapsed().as_secs_f64() * 1e6;
    Ok((us, Digest::of(vec![answer.texts()])))
}
