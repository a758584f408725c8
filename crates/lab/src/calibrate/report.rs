//! A calibration as text: the constants of before and after, then how near the model is to the statements.

use super::{Calibration, Verdict};
use crate::report::table::new_table;
use std::fmt::Write;

/// Constants, then statements.
pub fn report(calibration: &Calibration) -> String {
    let mut out = String::new();
    let header = ["constant", "default", "old", "new", ""].map(str::to_owned).to_vec();
    let mut constants = new_table(header);
    for cost in &calibration.costs {
        let (new, note) = match &cost.verdict {
            Verdict::Measured(value) => (number(*value), String::new()),
            Verdict::Kept(reason) => (number(cost.stored.value), format!("kept: {reason}")),
        };
        constants.add_row([
            cost.stored.name.clone(),
            number(cost.stored.default),
            number(cost.stored.value),
            new,
            note,
        ]);
    }
    let _ = writeln!(out, "{constants}\n");
    let header = ["statement", "measured ms", "by default", "error", "after", "error"].map(str::to_owned).to_vec();
    let mut statements = new_table(header);
    let mut errors = [Vec::new(), Vec::new()];
    for times in &calibration.statements {
        if times.measured_ms <= 0.0 || times.left_out.is_some() {
            continue;
        }
        let error = |ms: f64| (ms / times.measured_ms).max(times.measured_ms / ms.max(1e-9));
        let found = [error(times.before_ms), error(times.after_ms)];
        errors.iter_mut().zip(found).for_each(|(all, error)| all.push(error));
        statements.add_row([
            times.name.to_owned(),
            number(times.measured_ms),
            number(times.before_ms),
            format!("{:.2} x", found[0]),
            number(times.after_ms),
            format!("{:.2} x", found[1]),
        ]);
    }
    let _ = writeln!(out, "{statements}");
    for (name, all) in ["by default", "after"].iter().zip(&mut errors) {
        all.sort_by(f64::total_cmp);
        let at = |share: f64| all.get((all.len() as f64 * share) as usize).copied().unwrap_or(1.0);
        let _ = writeln!(out, "model error {name}: median {:.2} x, 90th percentile {:.2} x", at(0.5), at(0.9));
    }
    for times in &calibration.statements {
        if let Some(reason) = &times.left_out {
            let _ = writeln!(out, "not timed: {}: {reason}", times.name);
        }
    }
    out
}

/// Three digits or a little more.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        small if small < 1.0 => format!("{value:.3e}").parse::<f64>().unwrap_or(value).to_string(),
        large if large < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}
