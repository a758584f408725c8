//! Tables and rows are drawn from a seed. The same seed draws the same.

use crate::{ColumnSchema, IndexSchema, TableSchema, testing::random::Random};
use muster_types::{BytesKind, Collation, Decimal, KeyPart, SqlType, TextKind, Value};

/// Bytes of the column that fills rows up.
const FILLER: u32 = 20_000;
/// Characters of a column of texts that all begin alike, so that inner pages hold few of them.
const LONG: u32 = 120;
/// Numbers that keys are made of lie below this, so that keys meet.
const NUMBERS: usize = 1000;

fn text(length: u32, collation: Collation) -> SqlType {
    SqlType::Text { kind: TextKind::VarChar, length, collation }
}

/// The types of columns that keys are made of.
const KEY_TYPES: [SqlType; 8] = [
    SqlType::INT,
    SqlType::BIGINT_UNSIGNED,
    SqlType::Decimal { precision: 12, scale: 2 },
    SqlType::Decimal { precision: 30, scale: 4 },
    SqlType::Decimal { precision: 65, scale: 30 },
    SqlType::Double,
    SqlType::Date,
    SqlType::Bytes { kind: BytesKind::VarBinary, length: 40 },
];

const COLLATIONS: [Collation; 3] = [Collation::Utf8mb4_0900AiCi, Collation::Utf8mb4GeneralCi, Collation::Utf8mb4Bin];

/// Draws a table: two texts, some other columns, and bytes that may be too long for a page; a primary key (or none) and
/// one to four indexes.
pub(crate) fn schema(draw: &mut Random) -> TableSchema {
    let mut types: Vec<SqlType> = [*draw.pick(&[50, LONG]), 50].map(|n| text(n, *draw.pick(&COLLATIONS))).to_vec();
    types.extend((0..2 + draw.below(3)).map(|_| *draw.pick(&KEY_TYPES)));
    types.push(SqlType::Bytes { kind: BytesKind::Blob, length: FILLER });
    let mut columns: Vec<ColumnSchema> =
        types.into_iter().map(|ty| ColumnSchema { ty, nullable: draw.one_in(2) }).collect();
    let primary = if draw.one_in(5) { Vec::new() } else { key_parts(draw, &columns, true) };
    for part in &primary {
        columns[part.column].nullable = false;
    }
    let mut indexes = vec![IndexSchema { id: 1, parts: primary, unique: true }];
    for id in 2..3 + draw.below(4) as u32 {
        indexes.push(IndexSchema { id, parts: key_parts(draw, &columns, false), unique: draw.one_in(3) });
    }
    TableSchema { layouts: Default::default(), columns, indexes }
}

/// Draws a column that is added later.
pub(crate) fn added_column(draw: &mut Random) -> ColumnSchema {
    let types = [text(50, *draw.pick(&COLLATIONS)), SqlType::Bytes { kind: BytesKind::Blob, length: FILLER }];
    let ty = if draw.one_in(3) { *draw.pick(&types) } else { *draw.pick(&KEY_TYPES) };
    ColumnSchema { ty, nullable: draw.one_in(2) }
}

/// One to three parts of different columns. A primary key's are whole values, and never of the last column.
fn key_parts(draw: &mut Random, columns: &[ColumnSchema], primary: bool) -> Vec<KeyPart> {
    let mut parts: Vec<KeyPart> = Vec::new();
    for _ in 0..1 + draw.below(3) {
        let column = draw.below(columns.len() - usize::from(primary));
        if parts.iter().any(|part| part.column == column) {
            continue;
        }
        let is_filler = column + 1 == columns.len();
        let is_string = columns[column].ty.is_text() || columns[column].ty.is_bytes();
        let prefix = match is_string && !primary && (is_filler || draw.one_in(2)) {
            true => Some(1 + draw.below(4) as u32),
            false => None,
        };
        parts.push(KeyPart { column, prefix, descending: draw.one_in(3) });
    }
    parts
}

/// Draws a row.
pub(crate) fn row(draw: &mut Random, schema: &TableSchema) -> Vec<Value> {
    schema.columns.iter().map(|column| value(draw, column)).collect()
}

/// Draws a value of a column.
pub(crate) fn value(draw: &mut Random, column: &ColumnSchema) -> Value {
    if column.nullable && draw.one_in(5) {
        return Value::Null;
    }
    let number = draw.below(NUMBERS) as i64 - NUMBERS as i64 / 4;
    match column.ty {
        SqlType::Int { unsigned: true, .. } => {
            Value::UInt(if draw.one_in(30) { u64::MAX } else { number.unsigned_abs() })
        }
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal::new(i128::from(number), scale)),
        SqlType::Double => Value::Double(if number == 0 { -0.0 } else { number as f64 / 4.0 }),
        SqlType::Date => Value::Date(number as i32),
        SqlType::Text { length: LONG, .. } => Value::Text("so many letters ".repeat(6) + &string(draw, number)),
        SqlType::Text { .. } => Value::Text(string(draw, number)),
        SqlType::Bytes { length: FILLER, .. } => Value::Bytes(filler(draw)),
        SqlType::Bytes { .. } => Value::Bytes(match draw.below(4) {
            0 => vec![0; draw.below(4)],
            1 => vec![0xFF; draw.below(4)],
            _ => format!("{number}").into_bytes(),
        }),
        _ => Value::Int(if draw.one_in(30) { i64::from(i32::MAX) } else { number }),
    }
}

/// Texts of which some are equal to others but for case, accents and spaces at the end, and some begin alike for long.
fn string(draw: &mut Random, number: i64) -> String {
    let start = *draw.pick(&["", "", "a", "É", "ß ", "begins as many others do, and then: "]);
    let end = *draw.pick(&["", "", "", " ", "e", "é", "E", "\u{0}", "😀"]);
    format!("{start}{number}{end}")
}

/// Bytes of any length: now and then too many for a leaf, or for one page.
fn filler(draw: &mut Random) -> Vec<u8> {
    let len = match draw.below(20) {
        0 => 900 + draw.below(3000),
        1 => 4000 + draw.below(12_000),
        2..12 => 200 + draw.below(500),
        _ => draw.below(60),
    };
    let byte = draw.below(200) as u8;
    (0..len).map(|i| if i < 3 { byte } else { byte.wrapping_add(i as u8) }).collect()
}

/// The value with other cases of its letters, if it is a text.
pub(crate) fn other_case(value: &Value) -> Value {
    let swap = |c: char| match c.is_lowercase() {
        true => c.to_uppercase().collect::<Vec<_>>(),
        false => c.to_lowercase().collect(),
    };
    match value {
        // Some letters become two.
        Value::Text(text) => Value::Text(text.chars().flat_map(|c| if c == 'ß' { vec![c] } else { swap(c) }).collect()),
        value => value.clone(),
    }
}
