//! ANALYZE TABLE: statistics, and histograms of columns (MySQL manual, "ANALYZE TABLE Statement").

use crate::{
    accounts::Privilege,
    catalog::TableEntry,
    metadata_locks::TableUse,
    rows::text_column,
    statement::{Done, StatementContext},
};
use muster_algebra::IndexDef;
use muster_sql::{Analyze, HistogramChange, TableName};
use muster_types::{ErrorCode, Result, SqlError, Value};

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
        context.check_some_columns(&database, &name, &[Privilege::Select, Privilege::Insert])?;
        let mut report = Report { table: format!("{database}.{name}"), operation: "analyze", lines: Vec::new() };
        let analyze = |context: &StatementContext| {
            let entry = context.lock_named(&database, &name, TableUse::Read)?;
            context.database.tables().analyze(&context.tables.current(), entry.def.id)
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
    context.check_some_columns(&database, &name, &[Privilege::Select, Privilege::Insert])?;
    report.table = format!("{database}.{name}");
    let entry = match context.lock_named(&database, &name, TableUse::Read) {
        Ok(entry) => entry,
        Err(e) if e.code == ErrorCode::QueryInterrupted => return Err(e),
        Err(e) => {
            report.add("Error", e.message);
            return Ok(report.lines);
        }
    };
    let (HistogramChange::Update { columns, .. } | HistogramChange::Drop { columns }) = change;
    let mut names: Vec<&String> = columns.iter().collect();
    names.sort_by_key(|name| name.to_lowercase());
    if let Some(twice) = names.windows(2).find(|pair| pair[0].eq_ignore_ascii_case(pair[1])) {
        return Err(SqlError::new(ErrorCode::DupFieldName, format!("Duplicate column name '{}'", twice[1])));
    }
    match change {
        HistogramChange::Update { buckets, .. } => update(context, &entry, &names, *buckets as usize, &mut report)?,
        HistogramChange::Drop { .. } => drop_histograms(context, &entry, &names, &mut report)?,
    }
    Ok(report.lines)
}

fn update(
    context: &StatementContext,
    entry: &TableEntry,
    names: &[&String],
    buckets: usize,
    report: &mut Report,
) -> Result<()> {
    let def = &entry.def;
    let is_unique = |index: &IndexDef, column: usize| {
        index.unique && matches!(index.parts.as_slice(), [part] if part.column == column && part.prefix.is_none())
    };
    let made: Vec<usize> = names.iter().filter_map(|name| def.column(name)).collect();
    let made: Vec<usize> =
        made.into_iter().filter(|at| !def.indexes.iter().any(|index| is_unique(index, *at))).collect();
    if !made.is_empty() {
        let stop = || context.check_interrupt().is_err();
        let updated =
            context.database.tables().update_histograms(&context.tables.current(), def.id, &made, buckets, &stop);
        context.check_interrupt()?;
        updated?;
    }
    for name in names {
        match def.column(name) {
            None => report.add("Error", format!("The column '{name}' does not exist.")),
            Some(at) => {
                let name = &def.columns[at].name;
                match made.contains(&at) {
                    true => report.add("status", format!("Histogram statistics created for column '{name}'.")),
                    false => {
                        report.add("Error", format!("The column '{name}' is covered by a single-part unique index."));
                    }
                }
            }
        }
    }
    Ok(())
}

fn drop_histograms(
    context: &StatementContext,
    entry: &TableEntry,
    names: &[&String],
    report: &mut Report,
) -> Result<()> {
    let columns: Vec<usize> = names.iter().filter_map(|name| entry.def.column(name)).collect();
    let dropped = context.database.tables().drop_histograms(&context.tables.current(), entry.def.id, &columns)?;
    for name in names {
        match entry.def.column(name).is_some_and(|at| dropped.contains(&at)) {
            true => report.add("status", format!("Histogram statistics removed for column '{name}'.")),
            false => report.add("Error", format!("No histogram statistics found for column '{name}'.")),
        }
    }
    Ok(())
}
