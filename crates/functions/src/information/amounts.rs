//! Amounts of memory and time for people: FORMAT_BYTES, FORMAT_PICO_TIME.

use crate::{Call, call::double};
use muster_types::{Result, Value};

/// A unit, and how many of the smallest unit it is.
type Unit = (f64, &'static str);

const BYTES: [Unit; 6] = [
    (1_152_921_504_606_846_976.0, "EiB"),
    (1_125_899_906_842_624.0, "PiB"),
    (1_099_511_627_776.0, "TiB"),
    (1_073_741_824.0, "GiB"),
    (1_048_576.0, "MiB"),
    (1024.0, "KiB"),
];

const PICOSECONDS: [Unit; 7] =
    [(86_400e12, "d"), (3_600e12, "h"), (60e12, "min"), (1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")];

/// The amount in the largest unit of which there is one, with two digits behind the point; `width` is that of whole
/// numbers of the smallest unit. Amounts of many digits have an exponent.
fn printed(amount: f64, units: &[Unit], smallest: &str, width: usize) -> Value {
    let unit = units.iter().find(|(unit, _)| amount.abs() >= *unit);
    let Some((unit, name)) = unit else {
        return Value::Text(format!("{:width$} {smallest}", amount.trunc() + 0.0));
    };
    let count = amount / unit;
    if count.abs() < 100_000.0 {
        return Value::Text(format!("{count:.2} {name}"));
    }
    let text = format!("{count:.2e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    Value::Text(format!("{digits}e+{exponent:0>2} {name}"))
}

pub fn format_bytes(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(printed(double(args, 0), &BYTES, "bytes", 4))
}

pub fn format_pico_time(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(printed(double(args, 0), &PICOSECONDS, "ps", 3))
}
