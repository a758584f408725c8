//! Medians of the pages on each database, and their ratios.

use super::PageOptions;
use crate::{
    environment::DatabaseReport,
    report::table::{new_table, number},
    statistics::Summary,
};
use serde::Serialize;
use std::fmt::Write;

/// A page of the first database that takes so many times as long as on another one is slower.
const SLOWER: f64 = 1.2;
/// One that takes at most this part is at least twice as fast.
const HALF: f64 = 0.5;

#[derive(Debug, Clone, Serialize)]
pub struct PagesReport {
    pub scale: f64,
    pub rounds: usize,
    pub runs: usize,
    pub databases: Vec<DatabaseReport>,
    pub pages: Vec<PageReport>,
}

#[derive(Debug, Clone, Serialize)]
pub struct PageReport {
    pub name: &'static str,
    /// On each database, in their order.
    pub times: Vec<PageTimes>,
    /// Why the page has no times.
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct PageTimes {
    /// Microseconds of the first run.
    pub first_us: f64,
    /// Microseconds of the runs that are counted.
    pub us: Summary,
}

impl PageReport {
    pub(super) fn new(name: &'static str, databases: usize) -> PageReport {
        PageReport { name, times: vec![PageTimes { first_us: 0.0, us: Summary::NOTHING }; databases], error: None }
    }

    /// The median on the first database divided by that on the second; `None` without both.
    pub fn ratio(&self) -> Option<f64> {
        match self.times.as_slice() {
            [one, other, ..] if one.us.runs > 0 && other.us.median > 0.0 => Some(one.us.median / other.us.median),
            _ => None,
        }
    }
}

impl PagesReport {
    pub(super) fn new(options: &PageOptions) -> PagesReport {
        let PageOptions { scale, rounds, runs, .. } = *options;
        PagesReport { scale, rounds, runs, databases: Vec::new(), pages: Vec::new() }
    }

    /// Returns true if every page has its times.
    pub fn is_clean(&self) -> bool {
        self.pages.iter().all(|page| page.error.is_none())
    }

    /// How many pages are slower on the first database than on the second, how many at least twice as fast, and how
    /// many there are with both.
    pub fn compared(&self) -> (usize, usize, usize) {
        let ratios: Vec<f64> = self.pages.iter().filter_map(PageReport::ratio).collect();
        let count = |is: &dyn Fn(f64) -> bool| ratios.iter().filter(|ratio| is(**ratio)).count();
        (count(&|ratio| ratio > SLOWER), count(&|ratio| ratio <= HALF), ratios.len())
    }
}

/// The report for a terminal: several lines, with a line end.
pub fn text(report: &PagesReport) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    for (number, database) in report.databases.iter().enumerate() {
        let letter = letter(number);
        let _ = writeln!(out, "{letter}: {}, {}", database.name, database.environment.version);
    }
    let (rounds, runs) = (report.rounds, report.runs);
    let _ = writeln!(out, "scale {}; {rounds} rounds of {runs} runs, microseconds at the client\n", report.scale);
    let mut header = vec![String::new()];
    for number in 0..report.databases.len() {
        let letter = letter(number);
        header.extend([format!("{letter} first"), format!("{letter} median"), "CoV".to_owned()]);
    }
    if report.databases.len() > 1 {
        header.push("A / B".to_owned());
    }
    let mut table = new_table(header);
    table.add_rows(report.pages.iter().map(|page| cells(page, report.databases.len())));
    let _ = writeln!(out, "{table}");
    let (slower, half, all) = report.compared();
    if all > 0 {
        let _ = writeln!(out, "of {all} pages {slower} above {SLOWER}, {half} at most {HALF}");
    }
    for page in &report.pages {
        if let Some(error) = &page.error {
            let _ = writeln!(out, "{} failed: {error}", page.name);
        }
    }
    out
}

fn letter(number: usize) -> char {
    char::from(b'A' + (number % 26) as u8)
}

fn cells(page: &PageReport, databases: usize) -> Vec<String> {
    let mut cells = vec![page.name.to_owned()];
    for times in &page.times {
        match times.us.runs {
            0 => cells.extend(["-".to_owned(), "-".to_owned(), "-".to_owned()]),
            _ => cells.extend([
                number(times.first_us),
                number(times.us.median),
                format!("{:.0} %", times.us.cov * 100.0),
            ]),
        }
    }
    if databases > 1 {
        cells.push(page.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(medians: [f64; 2]) -> PageReport {
        let times = medians.map(|median| PageTimes {
            first_us: 9.0,
            us: Summary { min: median, median, cov: 0.0, runs: usize::from(median > 0.0) },
        });
        PageReport { name: "a page", times: times.to_vec(), error: None }
    }

    #[test]
    fn pages_are_counted_by_their_ratios() {
        let options = PageOptions { scale: 1.0, only: vec![], reload: false, rounds: 1, runs: 1, warm_ups: 1, seed: 1 };
        let mut report = PagesReport::new(&options);
        report.pages = vec![page([50.0, 100.0]), page([51.0, 100.0]), page([120.0, 100.0]), page([121.0, 100.0])];
        assert_eq!(report.compared(), (1, 1, 4));
        report.pages.push(page([0.0, 100.0]));
        assert_eq!(report.compared(), (1, 1, 4));
        assert!(text(&report).contains("of 4 pages 1 above 1.2, 1 at most 0.5"));
    }
}
