//! The generator against the published test vectors: whole files by checksum, first and last rows by text.

use muster_lab::ssb::{Scale, Table};
use serde_json::Value;
use sha2::{Digest, Sha256};

const UNITS_PER_CHUNK: u64 = 10_000;

fn vectors(scale: &str) -> Value {
    let text = include_str!("data/ssb-vectors-classic.json");
    let all: Value = serde_json::from_str(text).expect("the vectors are JSON");
    all["runs"]["full"][scale].clone()
}

/// The whole file, made in chunks that each start afresh.
fn check(table: Table, scale: Scale, want: &Value) {
    let mut hash = Sha256::new();
    let (mut bytes, mut lines) = (0, 0);
    let units = table.units(scale);
    for start in (0..units).step_by(UNITS_PER_CHUNK as usize) {
        let mut text = String::new();
        table.write_tbl(scale, start..(start + UNITS_PER_CHUNK).min(units), &mut text);
        if start == 0 {
            let first: Vec<&str> = text.lines().take(5).collect();
            assert_eq!(serde_json::json!(first), want["first_rows"], "first rows of {}", table.name());
        }
        bytes += text.len();
        lines += text.lines().count();
        hash.update(&text);
    }
    assert_eq!(lines, want["rows"].as_u64().unwrap() as usize, "rows of {}", table.name());
    assert_eq!(bytes, want["file_bytes"].as_u64().unwrap() as usize, "bytes of {}", table.name());
    let got: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(got, want["file_sha256"].as_str().unwrap(), "checksum of {}", table.name());
}

fn check_all(factor: &str) {
    let vectors = vectors(factor);
    let scale = Scale::new(factor.parse().unwrap(), true).unwrap();
    for table in Table::ALL {
        let name = if table == Table::Date { "date" } else { table.name() };
        check(table, scale, &vectors[name]);
    }
}

#[test]
fn scale_0_01() {
    check_all("0.01");
}

#[test]
fn scale_0_1() {
    check_all("0.1");
}

#[test]
fn scale_1() {
    check_all("1");
}

#[test]
fn a_complete_date_table_leaves_the_orders_as_they_are() {
    let cut = Scale::new(0.01, true).unwrap();
    let full = Scale::new(0.01, false).unwrap();
    assert_eq!((cut.dates, full.dates), (25, 2556));
    let (mut a, mut b) = (String::new(), String::new());
    Table::Lineorder.write_tbl(cut, 0..100, &mut a);
    Table::Lineorder.write_tbl(full, 0..100, &mut b);
    assert_eq!(a, b);
}
