//! COLUMN_STATISTICS: the histograms that statements have made (MySQL manual, "The INFORMATION_SCHEMA COLUMN_STATISTICS
//! Table"). ESTIMATE_ERRORS: where estimates were far off. `mysql.innodb_table_stats` and `innodb_index_stats`: what is
//! known of tables and indexes (manual, "Configuring Persistent Optimizer Statistics Parameters").

use super::{text, uint};
use crate::{
    accounts::Privilege,
    catalog::TableEntry,
    estimate_errors::WorstError,
    statement::StatementContext,
    tables::{TableSet, data_and_index_bytes},
};
use muster_algebra::TableDef;
use muster_types::{
    Result, SqlType, Value,
    distribution::{Bucket, Histogram},
    temporal::EpochMicros,
};
use std::{fmt::Write, sync::Arc};

/// The collation that MySQL notes for values that are no text: latin1_swedish_ci.
const NUMERIC_COLLATION: u16 = 8;
/// The collation of byte strings.
const BINARY_COLLATION: u16 = 63;

fn visible<'a>(tables: &'a TableSet, context: &'a StatementContext) -> impl Iterator<Item = &'a Arc<TableEntry>> {
    let all = tables.definitions.schemas.values().flat_map(|schema| schema.tables.values());
    all.filter(|entry| context.rights.sees_table(&entry.def.database, &entry.def.name))
}

pub(super) fn column_statistics(tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for entry in visible(tables, context) {
        let Some(known) = tables.statistics(entry.def.id)?.distribution.clone() else { continue };
        let mut of_table: Vec<Vec<Value>> = Vec::new();
        for (column, histogram) in &known.histograms {
            let Some(column) = entry.def.columns.get(*column) else { continue };
            if !context.rights.sees_column(&entry.def.database, &entry.def.name, &column.name) {
                continue;
            }
            let names = [&entry.def.database, &entry.def.name, &column.name].map(text);
            of_table.push(names.into_iter().chain([text(json(histogram))]).collect());
        }
        of_table.sort_by_key(|row| row[2].to_text(0));
        rows.extend(of_table);
    }
    Ok(rows)
}

/// A histogram as MySQL's JSON, whose members come by the length of their names.
fn json(histogram: &Histogram) -> String {
    let is_singleton = histogram.is_singleton();
    let mut buckets: Vec<String> = Vec::with_capacity(histogram.buckets.len());
    for Bucket { lower, upper, until, distinct } in &histogram.buckets {
        let (lower, upper) = (json_value(lower, histogram.ty), json_value(upper, histogram.ty));
        buckets.push(match is_singleton {
            true => format!("[{upper}, {until:?}]"),
            false => format!("[{lower}, {upper}, {until:?}, {}]", distinct.round() as u64),
        });
    }
    let (data_type, collation) = data_type(histogram.ty);
    let updated = Value::DateTime(EpochMicros(histogram.updated).datetime()).to_text(6).unwrap_or_default();
    let mut found = String::new();
    let _ = write!(
        found,
        "{{\"buckets\": [{}], \"data-type\": \"{data_type}\", \"null-values\": {:?}, \"collation-id\": {collation}, \
         \"last-updated\": \"{updated}\", \"sampling-rate\": {:?}, \"histogram-type\": \"{}\", \
         \"number-of-buckets-specified\": {}}}",
        buckets.join(", "),
        histogram.null_share,
        histogram.sampling_rate,
        if is_singleton { "singleton" } else { "equi-height" },
        histogram.specified.unwrap_or_default(),
    );
    found
}

/// The name of a type in a histogram, and the number of the collation.
fn data_type(ty: SqlType) -> (&'static str, u16) {
    let collation = ty.collation().map_or(NUMERIC_COLLATION, |collation| collation.id());
    match ty {
        SqlType::Enum(_) => ("enum", collation),
        SqlType::Set(_) => ("set", collation),
        _ => match ty.stored_type() {
            SqlType::Int { unsigned: true, .. } | SqlType::Bit { .. } => ("uint", NUMERIC_COLLATION),
            SqlType::Decimal { .. } => ("decimal", NUMERIC_COLLATION),
            SqlType::Float | SqlType::Double => ("double", NUMERIC_COLLATION),
            SqlType::Date => ("date", NUMERIC_COLLATION),
            SqlType::DateTime { .. } | SqlType::Timestamp { .. } => ("datetime", NUMERIC_COLLATION),
            SqlType::Time { .. } => ("time", NUMERIC_COLLATION),
            SqlType::Text { .. } => ("string", collation),
            SqlType::Bytes { .. } => ("string", BINARY_COLLATION),
            _ => ("int", NUMERIC_COLLATION),
        },
    }
}

fn json_value(value: &Value, ty: SqlType) -> String {
    match (value, ty.stored_type()) {
        (Value::Text(bytes), _) => format!("\"base64:type254:{}\"", base64(bytes.as_bytes())),
        (Value::Bytes(bytes), _) => format!("\"base64:type254:{}\"", base64(bytes)),
        (Value::Double(x), _) => format!("{x:?}"),
        (Value::Float(x), _) => format!("{:?}", f64::from(*x)),
        (Value::Date(_) | Value::DateTime(_) | Value::Time(_), _) => {
            format!("\"{}\"", value.to_text(6).unwrap_or_default())
        }
        _ => value.to_text(0).unwrap_or_default(),
    }
}

/// Bytes in base 64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let is_there = digit <= chunk.len();
            let index = (word >> (18 - 6 * digit) & 63) as usize;
            text.push(if is_there { char::from(DIGITS[index]) } else { '=' });
        }
    }
    text
}

/// The time when the rows were loaded.
fn last_update(tables: &TableSet, context: &StatementContext, entry: &TableEntry) -> Result<Value> {
    let micros = tables.content(entry.def.id)?.loaded.unwrap_or(entry.created);
    let seconds = micros - micros.rem_euclid(1_000_000);
    Ok(Value::DateTime(context.clock.time_zone.local_datetime(EpochMicros(seconds))))
}

pub(super) fn innodb_table_stats(tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for entry in visible(tables, context) {
        let (clustered, others) = data_and_index_bytes(&*tables.statistics(entry.def.id)?, 1);
        rows.push(vec![
            text(&entry.def.database),
            text(&entry.def.name),
            last_update(tables, context, entry)?,
            uint(tables.row_count(entry.def.id)?),
            uint(clustered),
            uint(others),
        ]);
    }
    Ok(rows)
}

pub(super) fn innodb_index_stats(tables: &TableSet, context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    for entry in visible(tables, context) {
        let statistics = tables.statistics(entry.def.id)?;
        let updated = last_update(tables, context, entry)?;
        for (index, known) in entry.def.indexes.iter().zip(&statistics.indexes) {
            let mut line = |name: String, value: u64, sampled: Value, description: String| {
                let names = [&entry.def.database, &entry.def.name, &index.name].map(text);
                let rest = [updated.clone(), text(name), uint(value), sampled, text(description)];
                rows.push(names.into_iter().chain(rest).collect());
            };
            let columns = key_columns(&entry.def, index);
            for (parts, distinct) in known.distinct.iter().enumerate() {
                let described = columns[..=parts.min(columns.len().saturating_sub(1))].join(",");
                line(format!("n_diff_pfx{:02}", parts + 1), distinct.round() as u64, uint(known.leaf_pages), described);
            }
            let pages = known.leaf_pages.max(1);
            line("n_leaf_pages".into(), pages, Value::Null, "Number of leaf pages in the index".into());
            line("size".into(), pages, Value::Null, "Number of pages in the index".into());
        }
    }
    Ok(rows)
}

/// Where statements' estimates of rows were far off, the worst first. Error 1227 without the PROCESS privilege.
pub(super) fn estimate_errors(context: &StatementContext) -> Result<Vec<Vec<Value>>> {
    context.rights.check_global(Privilege::Process)?;
    let time = |micros: i64| {
        Value::DateTime(context.clock.time_zone.local_datetime(EpochMicros(micros - micros.rem_euclid(1_000_000))))
    };
    let row = |worst: WorstError| {
        let error = worst.error;
        vec![
            text(worst.digest),
            text(worst.digest_text),
            text(error.operator),
            text(error.columns),
            Value::Double(error.estimated_rows),
            Value::Double(error.actual_rows),
            Value::Double(error.factor),
            uint(worst.count),
            time(worst.seen),
            time(worst.last_seen),
        ]
    };
    Ok(context.database.estimate_errors().all().into_iter().map(row).collect())
}

fn key_columns(table: &TableDef, index: &muster_algebra::IndexDef) -> Vec<String> {
    index.parts.iter().map(|part| table.columns[part.column].name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64() {
        for (bytes, wanted) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes.as_bytes()), wanted);
        }
    }
}
