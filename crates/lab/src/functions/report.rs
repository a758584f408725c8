//! Medians of the calls on each database, their ratios, and which ratios are below their target.

use super::{Call, FunctionOptions};
use crate::{
    environment::DatabaseReport,
    report::table::{new_table, number},
    statistics::Summary,
};
use serde::Serialize;
use std::fmt::Write;

#[derive(Debug, Clone, Serialize)]
pub struct FunctionsReport {
    pub rows: u64,
    pub rounds: usize,
    pub databases: Vec<DatabaseReport>,
    pub calls: Vec<CallReport>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CallReport {
    pub function: &'static str,
    pub sql: &'static str,
    /// Milliseconds on each database, in their order.
    pub times_ms: Vec<Summary>,
    /// How many times as fast as the second database the first is to be.
    pub target: f64,
    /// The databases gave other rows, though the call does not vary.
    pub differs: bool,
    /// Why the call has no times.
    pub error: Option<String>,
}

impl CallReport {
    pub(super) fn new(call: &Call, databases: usize) -> CallReport {
        CallReport {
            function: call.function,
            sql: call.sql,
            times_ms: vec![Summary::NOTHING; databases],
            target: call.target(),
            differs: false,
            error: None,
        }
    }

    /// How many times as fast as the second database the first is, by their medians; `None` without both.
    pub fn ratio(&self) -> Option<f64> {
        match self.times_ms.as_slice() {
            [one, other, ..] if one.median > 0.0 && other.runs > 0 => Some(other.median / one.median),
            _ => None,
        }
    }

    pub fn is_below_target(&self) -> bool {
        self.ratio().is_some_and(|ratio| ratio < self.target)
    }
}

impl FunctionsReport {
    pub(super) fn new(options: &FunctionOptions) -> FunctionsReport {
        FunctionsReport { rows: options.rows, rounds: options.rounds, databases: Vec::new(), calls: Vec::new() }
    }

    /// Returns true if every call has its times, and all databases gave the same rows.
    pub fn is_clean(&self) -> bool {
        self.calls.iter().all(|call| call.error.is_none() && !call.differs)
    }

    /// How many calls are below their target, and how many have a ratio.
    pub fn below_target(&self) -> (usize, usize) {
        let compared = self.calls.iter().filter(|call| call.ratio().is_some());
        (self.calls.iter().filter(|call| call.is_below_target()).count(), compared.count())
    }
}

/// The report for a terminal: several lines, with a line end.
pub fn text(report: &FunctionsReport) -> String {
    let mut out = String::new();
    let letter = |number: usize| char::from(b'A' + (number % 26) as u8);
    // Writing to a String cannot fail.
    for (number, database) in report.databases.iter().enumerate() {
        let _ = writeln!(out, "{}: {}, {}", letter(number), database.name, database.environment.version);
    }
    let _ = writeln!(out, "{} rows; medians of {} runs at most, milliseconds\n", report.rows, report.rounds);
    let mut header = vec!["function".to_owned()];
    for number in 0..report.databases.len() {
        header.extend([letter(number).to_string(), "CoV".to_owned()]);
    }
    let is_compared = report.databases.len() > 1;
    if is_compared {
        header.extend(["B / A".to_owned(), String::new()]);
    }
    let mut table = new_table(header);
    table.add_rows(report.calls.iter().map(|call| cells(call, is_compared)));
    let _ = writeln!(out, "{table}");
    let (below, all) = report.below_target();
    if all > 0 {
        let _ = writeln!(out, "of {all} calls {below} below their target");
    }
    for call in &report.calls {
        match &call.error {
            Some(error) => {
                let _ = writeln!(out, "{} failed: {error}", call.sql);
            }
            None if call.differs => {
                let _ = writeln!(out, "{}: the databases give other rows", call.sql);
            }
            None => {}
        }
    }
    out
}

fn cells(call: &CallReport, is_compared: bool) -> Vec<String> {
    let mut cells = vec![call.sql.to_owned()];
    for times in &call.times_ms {
        match times.runs {
            0 => cells.extend(["-".to_owned(), "-".to_owned()]),
            _ => cells.extend([number(times.median), format!("{:.0} %", times.cov * 100.0)]),
        }
    }
    if is_compared {
        cells.push(call.ratio().map_or("-".to_owned(), |ratio| format!("{ratio:.1}")));
        cells.push(if call.is_below_target() { format!("< {:.0}", call.target) } else { String::new() });
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::CALLS;
    use std::time::Duration;

    #[test]
    fn calls_below_their_target_are_marked() {
        let time_max = Duration::from_secs(1);
        let options = FunctionOptions { rows: 1, only: vec![], reload: false, rounds: 1, time_max };
        let mut report = FunctionsReport::new(&options);
        let calls = |is_regular| CALLS.iter().find(|call| call.is_regular == is_regular).expect("there is one");
        for (is_regular, medians) in [(false, [10.0, 31.0]), (false, [10.0, 29.0]), (true, [10.0, 49.0])] {
            let times = medians.map(|median| Summary { min: median, median, cov: 0.0, runs: 3 });
            report.calls.push(CallReport { times_ms: times.to_vec(), ..CallReport::new(calls(is_regular), 2) });
        }
        report.calls.push(CallReport::new(calls(false), 2));
        assert_eq!(report.below_target(), (2, 3));
        assert!(text(&report).contains("of 3 calls 2 below their target"));
        assert!(report.is_clean());
        report.calls[0].differs = true;
        assert!(!report.is_clean() && text(&report).contains("give other rows"));
    }
}
