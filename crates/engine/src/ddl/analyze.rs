//! ANALYZE TABLE: statistics, and histograms of columns (MySQL manual, "ANALYZE TABLE Statement").

use crate::{
    accounts::Privilege,
    catalog::TableEntry,
    metadata_locks::TableUse,
    rows::text_column,
    statement::{Done, StatementContext},
};
use muster_sql::{Analyze, HistogramChange, TableName};
use muster_types::{ErrorCode, Result, SqlType, Value};

/// The lines of the answer about one table.
struct Report {
    table: String,
    operation: &'static str,
    lines: Vec<Vec<Value>>,
}

impl Report {
    fn add(&mut self, kind: &str, message: impl Into<String>) {
        let cells = [self.table.clone(), self.operation.into(), kind.into(), message.into()];
        self.lines.push(cells.map(Value::Text).to_vec());
    }
}

/// Makes statistics anew where rows have changed since they were made, or changes histograms.
pub fn analyze(context: &StatementContext, analyze: &Analyze) -> Result<Done> {
    let columns = [("Table", 128), ("Op", 10), ("Msg_type", 10), ("Msg_text", 1024)];
    let lines = match &analyze.histograms {
        None => renew(context, &analyze.tables)?,
        Some(change) => change_histograms(context, &analyze.tables, change)?,
    };
    Ok(Done::result(columns.iter().map(|(name, length)| text_column(name, *length)).collect(), lines))
}

fn renew(context: &StatementContext, names: &[TableName]) -> Result<Vec<Vec<Value>>> {
    let mut lines = Vec::new();
    for name in names {
        let (database, name) = context.qualify(name)?;
        context.rights.check_table(&database, &name, Privilege::Select, "SELECT")?;
        let mut report = Report { table: format!("{database}.{name}"), operation: "analyze", lines: Vec::new() };
        let analyze = |context: &StatementContext| {
            let entry = context.lock_named(&database, &name, TableUse::Read)?;
            context.database.tables().analyze(entry.def.id)
        };
        match analyze(context) {
            Ok(()) => report.add("status", "OK"),
            Err(e) if e.code == ErrorCode::QueryInterrupted => return Err(e),
            Err(e) => {
                report.add("Error", e.message);
                report.add("status", "Operation failed");
            }
        }
        lines.extend(report.lines);
    }
    Ok(lines)
}

fn change_histograms(
    context: &StatementContext,
    names: &[TableName],
    change: &HistogramChange,
) -> Result<Vec<Vec<Value>>> {
    let mut report = Report { table: String::new(), operation: "histogram", lines: Vec::new() };
    let [name] = names else {
        report.add("Error", "Only one table can be specified while modifying histogram statistics.");
        return Ok(report.lines);
    };
    let (database, name) = context.qualify(name)?;
    context.rights.check_table(&database, &name, Privilege::Select, "SELECT")?;
    report.table = format!("{database}.{name}");
    let entry = match context.lock_named(&database, &name, TableUse::Read) {
        Ok(entry) => entry,
        Err(e) => {
            report.add("Error", e.message);
            report.add("status", "Operation failed");
            return Ok(report.lines);
        }
    };
    let (HistogramChange::Update { columns, .. } | HistogramChange::Drop { columns }) = change;
    let mut wanted = Vec::new();
    for column in columns {
        let Some(at) = entry.def.column(column).filter(|at| !wanted.contains(at)) else {
            let reason = match entry.def.column(column) {
                Some(_) => format!("The column '{column}' is specified multiple times."),
                None => format!("The column '{column}' does not exist."),
            };
            report.add("Error", reason);
            continue;
        };
        wanted.push(at);
    }
    match change {
        HistogramChange::Update { buckets, .. } => update(context, &entry, &wanted, *buckets as usize, &mut report)?,
        HistogramChange::Drop { .. } => drop_histograms(context, &entry, &wanted, &mut report)?,
    }
    Ok(report.lines)
}

fn update(
    context: &StatementContext,
    entry: &TableEntry,
    columns: &[usize],
    buckets: usize,
    report: &mut Report,
) -> Result<()> {
    let def = &entry.def;
    let mut made = Vec::new();
    for at in columns {
        let (name, ty) = (&def.columns[*at].name, def.columns[*at].ty);
        let is_unique = |index: &muster_algebra::IndexDef| {
            index.unique && matches!(index.parts.as_slice(), [part] if part.column == *at && part.prefix.is_none())
        };
        if def.indexes.iter().any(is_unique) {
            report.add("Error", format!("The column '{name}' is covered by a single-part unique index."));
        } else if matches!(ty, SqlType::Null) {
            report.add("Error", format!("The column '{name}' has an unsupported data type."));
        } else {
            made.push(*at);
        }
    }
    if made.is_empty() {
        return Ok(());
    }
    let stop = || context.check_interrupt().is_err();
    context.database.tables().update_histograms(def.id, &made, buckets, &stop)?;
    for at in made {
        report.add("status", format!("Histogram statistics created for column '{}'.", def.columns[at].name));
    }
    Ok(())
}

fn drop_histograms(
    context: &StatementContext,
    entry: &TableEntry,
    columns: &[usize],
    report: &mut Report,
) -> Result<()> {
    let dropped = context.database.tables().drop_histograms(entry.def.id, columns)?;
    for at in columns {
        let name = &entry.def.columns[*at].name;
        match dropped.contains(at) {
            true => report.add("status", format!("Histogram statistics removed for column '{name}'.")),
            false => report.add("Error", format!("No histogram statistics found for column '{name}'.")),
        }
    }
    Ok(())
}
