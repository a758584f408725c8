//! Which of the measured constants are stored: those that some statement depends on, and that are of the order of
//! their defaults. What is far from that says more of the measurement than of the machine.

use super::{
    device::DeviceTimes,
    fit::Constant,
    measure::{is_constant, rows},
};
use crate::target::{Result, TargetError};
use muster_engine::Session;

/// A constant is measured if it has this share of the cost of a statement at least.
const SHARE_MIN: f64 = 0.1;
/// The largest factor between a constant of processors and its default, and of a device.
const PROCESSOR_FACTOR_MAX: f64 = 10.0;
const DEVICE_FACTOR_MAX: f64 = 200.0;

/// The constants of the device.
const DEVICE: [&str; 3] = ["sequential_read_ms", "queued_read_ms", "single_read_ms"];

/// A cost as its table has it before the calibration.
#[derive(Debug, Clone)]
pub struct StoredCost {
    pub table: &'static str,
    pub name: String,
    pub default: f64,
    /// The value in force.
    pub value: f64,
}

/// What becomes of a constant.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It gets this value.
    Measured(f64),
    /// It is kept, for this reason.
    Kept(String),
}

/// A constant before and after.
#[derive(Debug, Clone)]
pub struct CalibratedCost {
    pub stored: StoredCost,
    pub verdict: Verdict,
}

/// The constants of the cost model, as the tables of costs have them.
pub async fn stored_costs(session: &mut Session) -> Result<Vec<StoredCost>> {
    let mut found = Vec::new();
    for (table, condition) in [("server_cost", "TRUE"), ("engine_cost", "engine_name = 'default' AND device_type = 0")]
    {
        let sql = format!(
            "SELECT cost_name, default_value, COALESCE(cost_value, default_value) FROM mysql.{table} WHERE {condition}"
        );
        for row in rows(session, &sql).await? {
            let [name, default, value] = &row[..] else { continue };
            let number = |text: &String| text.parse().map_err(|e| TargetError::Answer(format!("{name}: {e}")));
            if is_constant(name) && !default.is_empty() {
                found.push(StoredCost { table, name: name.clone(), default: number(default)?, value: number(value)? });
            }
        }
    }
    Ok(found)
}

/// Decides about each constant.
pub fn verdicts(stored: &[StoredCost], constants: &[Constant], device: &DeviceTimes) -> Vec<CalibratedCost> {
    let verdict = |cost: &StoredCost| match DEVICE.contains(&cost.name.as_str()) {
        true => of_device(cost, device),
        false => of_processor(cost, constants),
    };
    stored.iter().map(|cost| CalibratedCost { stored: cost.clone(), verdict: verdict(cost) }).collect()
}

fn of_device(cost: &StoredCost, device: &DeviceTimes) -> Verdict {
    if !device.is_direct {
        return Verdict::Kept("the file system has no direct I/O".into());
    }
    let measured = match cost.name.as_str() {
        "sequential_read_ms" => device.sequential_ms,
        "queued_read_ms" => device.queued_ms,
        _ => device.single_ms,
    };
    measured.map_or_else(|| Verdict::Kept("not measured".into()), |ms| plausible(cost, ms, DEVICE_FACTOR_MAX))
}

fn of_processor(cost: &StoredCost, constants: &[Constant]) -> Verdict {
    match constants.iter().find(|constant| constant.name == cost.name) {
        Some(constant) if constant.share >= SHARE_MIN => {
            plausible(cost, cost.default * constant.factor, PROCESSOR_FACTOR_MAX)
        }
        Some(constant) => {
            Verdict::Kept(format!("no statement has more than {:.0} % of its time of it", constant.share * 100.0))
        }
        None => Verdict::Kept("no statement has work of it".into()),
    }
}

fn plausible(cost: &StoredCost, value: f64, factor_max: f64) -> Verdict {
    let factor = value / cost.default;
    match factor.is_finite() && factor > 1.0 / factor_max && factor < factor_max {
        true => Verdict::Measured(rounded(value)),
        false => Verdict::Kept(format!("implausible: {} is {factor:.3} times its default", rounded(value))),
    }
}

/// Three digits, more of which no measurement gives.
fn rounded(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Stores what was measured. Returns the number of costs.
pub async fn store(session: &mut Session, costs: &[CalibratedCost]) -> Result<usize> {
    session.query("START TRANSACTION").await?;
    let mut stored = 0;
    for cost in costs {
        let Verdict::Measured(value) = cost.verdict else { continue };
        let StoredCost { table, name, .. } = &cost.stored;
        let (columns, values) = match *table {
            "engine_cost" => ("engine_name, device_type, ", "'default', 0, "),
            _ => ("", ""),
        };
        let sql = format!(
            "INSERT INTO mysql.{table} ({columns}cost_name, cost_value, comment) \
             VALUES ({values}'{name}', {value}, CONCAT('measured ', CURDATE())) AS new \
             ON DUPLICATE KEY UPDATE cost_value = new.cost_value, comment = new.comment, last_update = NOW()"
        );
        session.query(&sql).await?;
        stored += 1;
    }
    session.query("COMMIT").await?;
    session.query("FLUSH OPTIMIZER_COSTS").await?;
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(name: &str, default: f64) -> StoredCost {
        StoredCost { table: "server_cost", name: name.into(), default, value: default }
    }

    fn verdict(name: &str, default: f64, constants: &[Constant], device: &DeviceTimes) -> Verdict {
        verdicts(&[cost(name, default)], constants, device).remove(0).verdict
    }

    #[test]
    fn only_what_is_known_and_plausible_is_stored() {
        let constant = |name: &str, factor, share| Constant { name: name.into(), factor, share };
        let constants = [
            constant("a_ns", 2.0, 0.5),
            constant("b_ns", 2.0, 0.01),
            constant("c_ns", 50.0, 0.9),
            constant("d_ns", 0.01, 0.9),
        ];
        let device =
            DeviceTimes { sequential_ms: Some(0.01234), queued_ms: None, single_ms: Some(900.0), is_direct: true };
        assert_eq!(verdict("a_ns", 1.5, &constants, &device), Verdict::Measured(3.0));
        assert_eq!(verdict("sequential_read_ms", 0.012, &constants, &device), Verdict::Measured(0.0123));
        for kept in ["b_ns", "c_ns", "d_ns", "e_ns", "queued_read_ms", "single_read_ms"] {
            let found = verdict(kept, 1.0, &constants, &device);
            assert!(matches!(found, Verdict::Kept(_)), "{kept}: {found:?}");
        }
        let cached = DeviceTimes { is_direct: false, ..device };
        assert!(matches!(verdict("sequential_read_ms", 0.012, &constants, &cached), Verdict::Kept(_)));
    }
}
