//! LOAD DATA [LOCAL] INFILE.

use super::{RowSource, comes_checked, load_into, server_file, target};
use crate::{
    LocalFiles,
    accounts::Privilege,
    catalog::TableEntry,
    charset,
    dml::{LoadCounts, LoadParts, TakeRows, load_rows, set_variables},
    statement::{Done, StatementContext, enter_to_build},
    tables::storage_error,
};
use arrow_array::RecordBatch;
use muster_algebra::{DefaultValue, Visibility};
use muster_formats::{
    DelimitedFormat, DelimitedOptions, DelimitedSummary, FieldTarget, Severity, TargetColumn, read_delimited,
};
use muster_sql::{LoadColumn, LoadData, OnDuplicate};
use muster_storage::{DuplicatePolicy, StorageError, value_at};
use muster_types::{
    BytesKind, ErrorCode, Result, SqlError, SqlModes, SqlType, TextKind, Value, charset::Charset,
    store::implicit_default,
};
use std::{io::Read, sync::Arc};

pub fn load_data(context: &Arc<StatementContext>, statement: &LoadData, local_files: &dyn LocalFiles) -> Result<Done> {
    let entry = target(context, &context.tables.current(), &statement.table)?;
    if statement.on_duplicate == OnDuplicate::Replace {
        context.check_table(&entry.def.database, &entry.def.name, Privilege::Delete, "DELETE")?;
    }
    let options = options(context, statement, &entry)?;
    let mut source: Box<dyn Read + Send> = if statement.local {
        if !context.database.globals().is_on("local_infile") {
            let message = "Loading local data is disabled; this must be enabled on both the client and server sides";
            return Err(SqlError::new(ErrorCode::LocalInfileDisabled, message));
        }
        local_files.open(&statement.path)?
    } else {
        Box::new(server_file::open(context, &statement.path)?)
    };
    let duplicates = match statement.on_duplicate {
        OnDuplicate::Replace => DuplicatePolicy::Replace,
        // Without a way to stop the client in the middle, LOCAL means IGNORE (manual 15.2.9).
        OnDuplicate::Error if statement.local => DuplicatePolicy::Ignore,
        OnDuplicate::Error => DuplicatePolicy::Error,
        OnDuplicate::Ignore => DuplicatePolicy::Ignore,
    };
    if !statement.assignments.is_empty() || comes_row_by_row(context, &entry, &options, duplicates)? {
        return load_row_by_row(context, &entry, (&options, &mut *source), duplicates, statement);
    }
    let mut variables = Vec::new();
    let progress = Arc::default();
    let rows = if statement.local { RowSource::Caller } else { RowSource::Files };
    let (summary, loaded) = load_into(context, &statement.table, duplicates, progress, rows, |_, loader| {
        read(context, &mut *source, &options, &mut |batch, _| {
            let rows = without_variables(&entry, batch, &mut variables)?;
            loader.push(&rows).map_err(|e| storage_error(&entry.def, e))
        })
    })?;
    set_variables(context, statement, &variables)?;
    let skipped = if duplicates == DuplicatePolicy::Ignore { loaded.duplicates } else { 0 };
    let deleted = if duplicates == DuplicatePolicy::Replace { loaded.duplicates } else { 0 };
    for ignored in loaded.ignored {
        let error = storage_error(&entry.def, StorageError::Duplicate { entry: ignored, index: 0 });
        context.warn(error.code, error.message);
    }
    let (records, warnings) = (summary.rows, summary.warnings + skipped);
    Ok(Done {
        affected_rows: loaded.loaded + deleted,
        info: format!("Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}"),
        ..Done::default()
    })
}

/// Returns true if rows are inserted one by one: in a transaction that may be rolled back, into a table that has rows,
/// which others may read meanwhile, where numbers are to be made, and where rows may have to go for the sake of a
/// secondary key. Into an empty table a statement of its own loads faster.
fn comes_row_by_row(
    context: &StatementContext,
    entry: &TableEntry,
    options: &DelimitedOptions,
    duplicates: DuplicatePolicy,
) -> Result<bool> {
    let tables = &context.tables;
    let is_given = |column| options.fields.contains(&FieldTarget::Column(column));
    let makes_numbers = entry.auto_increment_column().is_some_and(|column| !is_given(column));
    let has_unique = entry.def.indexes[1..].iter().any(|index| index.unique);
    if comes_checked(context, entry) {
        return Ok(true);
    }
    if makes_numbers || has_unique && duplicates != DuplicatePolicy::Error {
        return Ok(true);
    }
    let empty = || Ok::<bool, SqlError>(tables.current().storage(entry.def.id, tables.store())?.is_empty()?);
    Ok(context.transaction.is_open() || !empty()?)
}

/// The destination of a field for a column. What is given for a generated column is read and dropped.
fn field_of(entry: &TableEntry, column: usize) -> FieldTarget {
    match entry.def.columns[column].generated {
        Some(_) => FieldTarget::Skip,
        None => FieldTarget::Column(column),
    }
}

fn load_row_by_row(
    context: &Arc<StatementContext>,
    entry: &TableEntry,
    (options, source): (&DelimitedOptions, &mut (dyn Read + Send)),
    duplicates: DuplicatePolicy,
    statement: &LoadData,
) -> Result<Done> {
    let _admitted = if statement.local { None } else { Some(enter_to_build(context)?) };
    let table = (entry.def.database.as_str(), entry.def.name.as_str());
    let is_missing = |column: &usize| !options.fields.contains(&FieldTarget::Column(*column));
    let missing: Vec<usize> = (0..entry.def.columns.len()).filter(is_missing).collect();
    let reads_bytes = options.format.charset == Charset::Binary;
    let parts = LoadParts { missing: &missing, statement: Some(statement), reads_bytes };
    let (summary, loaded) = load_rows(context, table, duplicates, parts, |take| read(context, source, options, take))?;
    let LoadCounts { affected, deleted, skipped, last_insert_id } = loaded;
    let (records, warnings) = (summary.rows, summary.warnings + skipped);
    Ok(Done {
        affected_rows: affected,
        last_insert_id,
        info: format!("Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}"),
        ..Done::default()
    })
}

/// The columns of the table alone; what user variables take of the last row goes to `variables`.
fn without_variables(entry: &TableEntry, batch: &RecordBatch, variables: &mut Vec<Value>) -> Result<RecordBatch> {
    let width = entry.def.columns.len();
    if batch.num_columns() == width {
        return Ok(batch.clone());
    }
    if let Some(last) = batch.num_rows().checked_sub(1) {
        *variables = batch.columns()[width..].iter().map(|column| value_at(column, last)).collect::<Result<_>>()?;
    }
    batch.project(&(0..width).collect::<Vec<_>>()).map_err(SqlError::internal)
}

/// The place of what a user variable takes of a row: text of any length, or bytes of a file without a character set.
fn variable_column(context: &StatementContext, name: &str, charset: Charset) -> TargetColumn {
    let text = SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation: charset.default_collation() };
    let bytes = SqlType::Bytes { kind: BytesKind::LongBlob, length: u32::MAX };
    TargetColumn {
        name: format!("@{name}"),
        ty: if charset == Charset::Binary { bytes } else { text },
        digits: None,
        nullable: true,
        default: None,
        time_zone: context.clock.time_zone,
        date_modes: context.date_modes(),
        cuts_fractions: false,
    }
}

/// All rows of a delimited source, pushed.
pub(super) fn read(
    context: &StatementContext,
    source: &mut (dyn Read + Send),
    options: &DelimitedOptions,
    push: TakeRows<'_>,
) -> Result<DelimitedSummary> {
    let mut tell = |severity, code, message| match severity {
        Severity::Note => context.note(code, message),
        Severity::Warning => context.warn(code, message),
    };
    read_delimited(source, options, &mut tell, &mut |batch, before_row| push(&batch, before_row))
}

/// The columns of a table with what rows get that lack them.
pub(super) fn target_columns(context: &StatementContext, entry: &TableEntry) -> Result<Vec<TargetColumn>> {
    let column = |c: &muster_algebra::ColumnDef| TargetColumn {
        name: c.name.clone(),
        ty: c.ty,
        digits: c.digits,
        nullable: c.nullable || c.generated.is_some(),
        default: match &c.default {
            None => None,
            Some(DefaultValue::Value(value)) => Some(value.clone()),
            Some(DefaultValue::CurrentTimestamp) => Some(Value::DateTime(context.clock.now_stored(c.ty))),
            Some(DefaultValue::Dropped) => Some(Value::Null),
            // It is computed row by row.
            Some(DefaultValue::Expr(_)) => implicit_default(c.ty).filter(|_| !c.nullable),
        },
        time_zone: context.clock.time_zone,
        date_modes: context.date_modes(),
        cuts_fractions: context.session.variables.settings().modes.has(SqlModes::TIME_TRUNCATE_FRACTIONAL),
    };
    Ok(entry.def.columns.iter().map(column).collect())
}

/// The character set of the file, which is not the client's (manual 15.2.9).
fn file_charset(context: &StatementContext, statement: &LoadData) -> Result<Charset> {
    context.warn_of_charset(statement.charset.as_deref(), None);
    match &statement.charset {
        Some(name) => charset::client_charset(name),
        None => charset::client_charset(&context.session.variables.text("character_set_database")),
    }
}

fn options(context: &StatementContext, statement: &LoadData, entry: &TableEntry) -> Result<DelimitedOptions> {
    let mut columns = target_columns(context, entry)?;
    let charset = file_charset(context, statement)?;
    let mut next_variable = columns.len();
    let position = |name: &str| {
        let at = columns.iter().position(|c| c.name.eq_ignore_ascii_case(name));
        at.filter(|column| *column < entry.def.columns.len())
            .map(|column| field_of(entry, column))
            .ok_or_else(|| SqlError::unknown_column(name, "field list"))
    };
    let fields: Vec<FieldTarget> = match statement.columns.as_slice() {
        [] => {
            let is_shown = |column: &usize| entry.def.columns[*column].visibility == Visibility::Visible;
            (0..columns.len()).filter(is_shown).map(|column| field_of(entry, column)).collect()
        }
        list => list
            .iter()
            .map(|c| match c {
                LoadColumn::Column(name) => position(name),
                LoadColumn::Variable(_) => {
                    next_variable += 1;
                    Ok(FieldTarget::Optional(next_variable - 1))
                }
            })
            .collect::<Result<_>>()?,
    };
    columns.extend(statement.variables().map(|name| variable_column(context, name, charset)));
    // A column that SET gives a value to needs no default.
    for name in statement.assignments.iter().filter_map(|assignment| assignment.column.last()) {
        let is_it = |column: &&mut TargetColumn| column.name.eq_ignore_ascii_case(name) && !column.nullable;
        for column in columns.iter_mut().filter(is_it) {
            column.default = column.default.take().or_else(|| implicit_default(column.ty));
        }
    }
    // NULL stands for the next number.
    if let Some(column) = entry.auto_increment_column().filter(|c| !fields.contains(&FieldTarget::Column(*c))) {
        columns[column].nullable = true;
    }
    let ascii = |c: Option<char>, what: &str| match c {
        None => Ok(None),
        Some(c) if c.is_ascii() => Ok(Some(c as u8)),
        Some(_) => Err(SqlError::unsupported(format!("LOAD DATA with {what} a character that is not ASCII"))),
    };
    let format = DelimitedFormat {
        fields_terminated_by: statement.format.fields_terminated_by.clone().into_bytes(),
        fields_enclosed_by: ascii(statement.format.fields_enclosed_by, "ENCLOSED BY")?,
        fields_escaped_by: ascii(statement.format.fields_escaped_by, "ESCAPED BY")?,
        lines_starting_by: statement.format.lines_starting_by.clone().into_bytes(),
        lines_terminated_by: statement.format.lines_terminated_by.clone().into_bytes(),
        ignore_lines: statement.ignore_lines,
        empty_is_null: false,
        charset,
    };
    // IGNORE turns errors into warnings; so does a session that is not strict, and LOCAL without REPLACE.
    let ignores = match statement.on_duplicate {
        OnDuplicate::Ignore => true,
        OnDuplicate::Error => statement.local,
        OnDuplicate::Replace => false,
    };
    Ok(DelimitedOptions {
        format,
        fields,
        columns,
        file_name: statement.path.clone(),
        strict: context.is_strict() && !ignores,
        threads: context.database.options().threads,
    })
}
