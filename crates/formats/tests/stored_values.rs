//! What becomes of every kind of text in a column of every type: the value, or the number, SQLSTATE and words of the
//! error and of the warning. `stored_values.txt` holds it; `UPDATE_STORED_VALUES=1 cargo test -p muster-formats` writes
//! it anew.

use muster_formats::{DelimitedFormat, DelimitedOptions, TargetColumn, read_delimited};
use muster_storage::value_at;
use muster_types::{
    BytesKind, Collation, ErrorCode, IntWidth, SqlType, TextKind, Value, temporal::DateModes, time_zone::TimeZone,
};
use std::{fmt::Write, path::Path};

fn types() -> Vec<SqlType> {
    use IntWidth::*;
    let mut types = Vec::new();
    for width in [Tiny, Small, Medium, Int, Big] {
        types.extend([false, true].map(|unsigned| SqlType::Int { width, unsigned }));
    }
    types.extend([(5, 2), (38, 0), (65, 30), (20, 20)].map(|(p, s)| SqlType::decimal(p, s)));
    types.extend([SqlType::Float, SqlType::Double, SqlType::Date]);
    for fsp in [0, 3] {
        types.extend([SqlType::DateTime { fsp }, SqlType::Timestamp { fsp }, SqlType::Time { fsp }]);
    }
    let text = |kind, length| SqlType::Text { kind, length, collation: Collation::DEFAULT };
    types.extend([
        text(TextKind::Char, 3),
        text(TextKind::VarChar, 3),
        text(TextKind::TinyText, 4),
        SqlType::Bytes { kind: BytesKind::Binary, length: 3 },
        SqlType::Bytes { kind: BytesKind::VarBinary, length: 3 },
        SqlType::Bytes { kind: BytesKind::TinyBlob, length: 4 },
    ]);
    types
}

/// Fields as they stand in a file without quotes; `\N` is NULL.
const FIELDS: &[&[u8]] = &[
    b"\\N",
    b"",
    b" ",
    b"0",
    b"-0",
    b"7",
    b" 7 ",
    b"+7",
    b"127",
    b"128",
    b"-128",
    b"-129",
    b"255",
    b"65536",
    b"-8388609",
    b"4294967295",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1.005",
    b"-1.5",
    b"999.995",
    b"12abc",
    b"1.5x",
    b"abc",
    b".",
    b"1e3",
    b"1e39",
    b"-1e400",
    b"123456789012345678901234567890123456789",
    b"0.000000000000000000000000000000000000001",
    b"inf",
    b"1999-02-28",
    b"1999-02-29",
    b"1999-02-28 23:59:59.9995",
    b"19990228",
    b"0000-00-00",
    b"2038-01-19 03:14:08",
    b"1970-01-01 00:00:00",
    b"2024-03-31 02:30:00",
    b"9999-12-31 23:59:59.9999999",
    b"12:30:59.5",
    b"-838:59:59",
    b"839:00:00",
    b"abcd",
    b"abc  ",
    b"   ",
    "äöüß".as_bytes(),
    b"a\xFFb",
    b"\xE2\x82",
];

fn column(ty: SqlType, nullable: bool) -> TargetColumn {
    let time_zone = TimeZone::from_name("Europe/Berlin").expect("a zone");
    TargetColumn {
        name: "c".into(),
        ty,
        digits: None,
        nullable,
        default: None,
        time_zone,
        date_modes: DateModes::DEFAULT,
        cuts_fractions: false,
    }
}

/// The value or error that one field comes to, and the warnings.
fn outcome(column: TargetColumn, field: &[u8], strict: bool) -> String {
    let ty = column.ty;
    let options =
        DelimitedOptions { strict, ..DelimitedOptions::all_columns(DelimitedFormat::default(), vec![column], "f") };
    let line = [field, b"\n"].concat();
    let (mut told, mut values) = (String::new(), String::new());
    let result = read_delimited(
        &mut &line[..],
        &options,
        &mut |_, code: ErrorCode, message| {
            let _ = write!(told, "; {} {message}", code.number());
        },
        &mut |batch, _| {
            let value = value_at(batch.column(0), 0)?;
            let shown = match &value {
                Value::DateTime(_) | Value::Time(_) => value.to_text(ty.fsp()).unwrap_or_default(),
                other => other.to_string(),
            };
            values.push_str(&shown);
            Ok(())
        },
    );
    match result {
        Ok(_) => values + &told,
        Err(e) => format!("{} {} {}{told}", e.code.number(), e.code.sqlstate(), e.message),
    }
}

#[test]
fn every_text_in_every_type() {
    let mut found = String::new();
    for ty in types() {
        let _ = writeln!(found, "# {ty}");
        for field in FIELDS {
            let shown = field.escape_ascii();
            let strict = outcome(column(ty, true), field, true);
            let ignore = outcome(column(ty, true), field, false);
            let _ = writeln!(found, "{shown} => {strict}");
            if ignore != strict {
                let _ = writeln!(found, "  ignore => {ignore}");
            }
            for (mode, is_strict, nullable) in [("strict", true, &strict), ("ignore", false, &ignore)] {
                let not_null = outcome(column(ty, false), field, is_strict);
                if not_null != *nullable {
                    let _ = writeln!(found, "  not null, {mode} => {not_null}");
                }
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored_values.txt");
    if std::env::var_os("UPDATE_STORED_VALUES").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (i, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", i + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
