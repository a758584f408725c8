//! The rows of a table, converted to what its columns are from now on, into files of their own: a bulk load whose
//! source is the table. Values of columns that stay as they are pass as arrays.

use super::{
    Built,
    algorithm::Algorithm,
    table::{AlteredTable, value_of_new},
};
use crate::{
    catalog::{TableEntry, schema_of},
    dml::{Conversion, Evaluation, Rules},
    statement::{BindEnvironment, StatementContext, StatementTables},
    tables::{Content, NewFiles, least_auto_increment, storage_error},
    threads,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use muster_algebra::{ColId, ColumnDef, DefaultValue, Expr};
use muster_sql::{
    Parameters,
    bind::{BoundRow, bind_row},
};
use muster_storage::{
    DuplicatePolicy, IndexSchema, LoadProgress, LoadedFiles, ReadView, Scan, ScanRequest, StorageError, Table,
    TableLoader, TableStatistics, array_of, arrow_type, load, value_at,
};
use muster_types::{
    ErrorCode, KeyPart, Result, SqlError, SqlType, TextKind, Value,
    store::{StoredType, implicit_default, store},
    time_zone::TimeZone,
};
use std::sync::Arc;

/// Rows of a batch.
const BATCH_ROWS: usize = 4096;

/// Copies all rows. Errors: those of values that do not fit; 1062, 3819, 1114, 1317. Nothing is left of the files then.
pub fn copy<'a>(context: &'a Arc<StatementContext>, entry: &TableEntry, altered: &AlteredTable) -> Result<Built<'a>> {
    let tables = &context.tables;
    let current = tables.current();
    let source = current.storage(entry.def.id, tables.store())?;
    let next = current.auto_increment(entry.def.id)?.next();
    let before = current.statistics(entry.def.id)?;
    drop(current);
    let schema = schema_of(&altered.def);
    // The loader takes a table whose rows it keeps: one without any.
    let empty = tables.create_files_for_rows(&altered.def, entry.def.id.is_temporary())?;
    let empty_files = tables.new_files(empty.clone());
    let target = tables.store().open_table(schema.clone(), empty, TableStatistics::of_no_rows(&schema))?;
    let progress: Arc<LoadProgress> = Arc::default();
    let loaded = threads::while_watching_kill(&context.cancel, &progress, || {
        fill(context, entry, altered, source, target, &progress)
    })?;
    drop(empty_files);
    let made = tables.new_files(loaded.files.clone());
    let content = Content { statistics: loaded.statistics.clone(), changed_rows: 0, loaded: None };
    let content = content.with_histograms_of(&before, &altered.sources);
    let number = altered.def.columns.iter().position(|column| column.auto_increment);
    let least = number.map_or(1, |column| least_auto_increment(&content.statistics, column));
    let asked = altered.auto_increment.unwrap_or(if number == entry.auto_increment_column() { next } else { 1 });
    let auto_increment = Some(asked.max(least));
    Ok(Built { files: loaded.files.clone(), made, content, auto_increment, rows: loaded.loaded })
}

fn fill(
    context: &Arc<StatementContext>,
    entry: &TableEntry,
    altered: &AlteredTable,
    source: Arc<Table>,
    target: Arc<Table>,
    progress: &Arc<LoadProgress>,
) -> Result<LoadedFiles> {
    let failed = |e: StorageError| storage_error(&altered.def, e);
    let options = context.database.load_options(DuplicatePolicy::Error, progress.clone());
    let mut loader = TableLoader::new(target, options).map_err(failed)?;
    each_batch(context, entry, altered, source, &mut |batch| loader.push(&batch).map_err(failed))?;
    loader.finish().map_err(failed)
}

/// Checks that all rows meet the CHECKs, and returns their number. Error 3819.
pub fn validate(context: &Arc<StatementContext>, entry: &TableEntry, altered: &AlteredTable) -> Result<u64> {
    let tables = &context.tables;
    let source = tables.current().storage(entry.def.id, tables.store())?;
    let mut rows = 0;
    each_batch(context, entry, altered, source, &mut |batch| {
        rows += batch.num_rows() as u64;
        Ok(())
    })?;
    Ok(rows)
}

/// Converts all rows in the order of their keys.
fn each_batch(
    context: &Arc<StatementContext>,
    entry: &TableEntry,
    altered: &AlteredTable,
    source: Arc<Table>,
    take: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let bindings = Bindings::new(context, entry, altered)?;
    let mut rows = RowCopy::new(context, entry, altered, &bindings)?;
    let sorted = sorted(context, entry, altered, &source)?;
    let (source, index) = match &sorted {
        Some(sorted) => (sorted.table.clone(), entry.def.indexes.len()),
        None => (source, 0),
    };
    let columns = (0..entry.def.columns.len()).collect();
    let all = ScanRequest::all(ReadView::latest(), index, columns, Arc::default());
    let request = ScanRequest { ordered: true, batch_rows: BATCH_ROWS, ..all };
    let mut cursor = Scan::new(source, request)?.cursor();
    while let Some(batch) = cursor.next_batch()? {
        context.check_interrupt()?;
        take(rows.convert(&batch)?)?;
    }
    Ok(())
}

/// A table with an index in the order that its rows are to be in.
struct Sorted<'a> {
    table: Arc<Table>,
    /// The index, which goes when the rows are copied.
    _file: NewFiles<'a>,
}

/// Characters of a long text, and bytes of a long byte string, that rows are ordered by.
const LONG_PREFIX: u32 = 255;

/// Builds an index of the columns of ORDER BY; `None` without one.
fn sorted<'a>(
    context: &'a StatementContext,
    entry: &TableEntry,
    altered: &AlteredTable,
    source: &Arc<Table>,
) -> Result<Option<Sorted<'a>>> {
    if altered.order.is_empty() {
        return Ok(None);
    }
    let part = |(column, descending): &(usize, bool)| {
        let column = altered.sources[*column]?;
        let prefix = entry.def.columns[column].ty.is_long().then_some(LONG_PREFIX);
        Some(KeyPart { column, prefix, descending: *descending })
    };
    let mut schema = entry.schema();
    let parts = altered.order.iter().filter_map(part).collect();
    schema.indexes.push(IndexSchema { id: entry.next_index_id, parts, unique: false });
    let options = context.database.load_options(DuplicatePolicy::Error, Default::default());
    let at = schema.indexes.len() - 1;
    let (file, _) = load::build_index(source, &schema, at, &options).map_err(|e| storage_error(&entry.def, e))?;
    let tables = &context.tables;
    let kept = tables.new_files(vec![file]);
    let files = entry.files.iter().copied().chain([file]).collect();
    let table = tables.store().open_table(schema, files, TableStatistics::default())?;
    Ok(Some(Sorted { table, _file: kept }))
}

/// The expressions that values of the new columns are computed with.
struct Bindings {
    /// Over the columns before: values for columns of other types.
    old: BoundRow,
    /// Over the columns from now on: defaults, generated columns, CHECKs.
    new: BoundRow,
    tables: Arc<StatementTables>,
}

impl Bindings {
    fn new(context: &Arc<StatementContext>, entry: &TableEntry, altered: &AlteredTable) -> Result<Bindings> {
        let tables = StatementTables::to_change(context);
        let environment = BindEnvironment::new(context);
        let env = environment.with(&tables, Parameters::Values(&[]));
        let changed = |(at, source): (usize, &Option<usize>)| {
            let ty = altered.def.columns[at].ty;
            source.filter(|old| entry.def.columns[*old].ty != ty).map(|old| (old, ty))
        };
        let copies: Vec<(usize, SqlType)> = altered.sources.iter().enumerate().filter_map(changed).collect();
        let old = bind_row(&entry.def, &copies, &env)?;
        let new = bind_row(&Arc::new(altered.def.clone()), &[], &env)?;
        Ok(Bindings { old, new, tables })
    }
}

/// Where the values of a new column come from.
enum ValueSource {
    /// The column before at this position, as it is.
    Same(usize),
    /// A TIMESTAMP column before at this position, of another number of digits.
    Timestamp(usize),
    /// An expression over the columns before.
    Converted {
        expr: Expr,
        /// True for a VARCHAR that was a longer one.
        is_shortened: bool,
    },
    Constant(Value),
    /// A value that rows may not have.
    Refused(SqlError),
    /// Numbers from 1 on: an AUTO_INCREMENT column.
    Numbers,
    /// The default, which is an expression.
    Default,
    Generated,
}

/// Makes rows of the altered table of those of the table before.
struct RowCopy<'a> {
    altered: &'a AlteredTable,
    sources: Vec<ValueSource>,
    /// The table's columns in the expressions over the columns before.
    old_columns: &'a [ColId],
    old: Evaluation<'a>,
    new: Evaluation<'a>,
    bindings: &'a Bindings,
    conversion: Conversion<'a>,
    /// Rows that were converted.
    rows: u64,
    /// True if MySQL would copy the table.
    is_copy: bool,
    schema: Arc<Schema>,
}

impl<'a> RowCopy<'a> {
    fn new(
        context: &'a Arc<StatementContext>,
        entry: &TableEntry,
        altered: &'a AlteredTable,
        bindings: &'a Bindings,
    ) -> Result<RowCopy<'a>> {
        let conversion = Conversion::new(context, false);
        let evaluation =
            |row: &'a BoundRow| Evaluation::new(context, conversion, &row.surroundings, &bindings.tables, &[], false);
        let mut converted = bindings.old.copies.iter();
        let mut sources = Vec::with_capacity(altered.sources.len());
        for (at, source) in altered.sources.iter().enumerate() {
            let column = &altered.def.columns[at];
            let old = source.map(|source| (source, &entry.def.columns[source]));
            let conversion_of = old.filter(|(_, old)| old.ty != column.ty).and_then(|_| converted.next());
            sources.push(match (old, conversion_of) {
                _ if column.generated.is_some() => ValueSource::Generated,
                (Some((old, def)), Some(expr)) => match (def.ty, column.ty) {
                    (SqlType::Timestamp { .. }, SqlType::Timestamp { .. }) => ValueSource::Timestamp(old),
                    (old, new) => {
                        let charset = |ty: SqlType| match ty {
                            SqlType::Text { kind: TextKind::VarChar, collation, .. } => Some(collation.charset()),
                            _ => None,
                        };
                        let is_shortened = charset(old).is_some() && charset(old) == charset(new);
                        ValueSource::Converted { expr: expr.clone(), is_shortened }
                    }
                },
                // The digits of FLOAT(M,D) have changed, without the type.
                (Some((old, def)), None) if def.digits != column.digits => {
                    let expr = Expr::Column(bindings.old.columns[old]);
                    ValueSource::Converted { expr, is_shortened: false }
                }
                (Some((old, _)), None) => ValueSource::Same(old),
                (None, _) => of_new(&conversion, column)?,
            });
        }
        let fields: Vec<Field> =
            altered.def.columns.iter().map(|c| Field::new(&c.name, arrow_type(&c.ty), true)).collect();
        Ok(RowCopy {
            altered,
            sources,
            old_columns: &bindings.old.columns,
            old: evaluation(&bindings.old)?,
            new: evaluation(&bindings.new)?,
            bindings,
            conversion,
            rows: 0,
            is_copy: altered.algorithm == Algorithm::Copy,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    fn convert(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let passes = |(column, source): (&ColumnDef, &ValueSource)| match source {
            ValueSource::Same(old) => {
                let array = batch.column(*old);
                (column.nullable || array.null_count() == 0).then(|| array.clone())
            }
            _ => None,
        };
        let mut arrays: Vec<Option<ArrayRef>> =
            self.altered.def.columns.iter().zip(&self.sources).map(passes).collect();
        let is_computed = |source: &ValueSource| matches!(source, ValueSource::Generated | ValueSource::Default);
        let others: Vec<usize> =
            (0..arrays.len()).filter(|at| arrays[*at].is_none() && !is_computed(&self.sources[*at])).collect();
        let mut values: Vec<Vec<Value>> = vec![Vec::with_capacity(rows); others.len()];
        for row in 0..rows {
            for (values, column) in values.iter_mut().zip(&others) {
                values.push(self.value(*column, batch, row)?);
            }
        }
        for (values, column) in values.iter().zip(others) {
            arrays[column] = Some(array_of(values, self.altered.def.columns[column].ty)?);
        }
        self.compute(&mut arrays, rows)?;
        self.rows += rows as u64;
        let arrays = arrays.into_iter().map(|array| array.ok_or_else(|| SqlError::internal("a column without values")));
        RecordBatch::try_new(self.schema.clone(), arrays.collect::<Result<_>>()?).map_err(SqlError::internal)
    }

    /// The value of a column in one of the rows; NULL for one that is computed of the others.
    fn value(&self, at: usize, batch: &RecordBatch, row: usize) -> Result<Value> {
        let (column, number) = (&self.altered.def.columns[at], self.rows + row as u64 + 1);
        match &self.sources[at] {
            ValueSource::Generated | ValueSource::Default => Ok(Value::Null),
            ValueSource::Same(old) => self.not_null(column, value_at(batch.column(*old), row)?, number),
            ValueSource::Timestamp(old) => {
                let (zone, date_modes) = (TimeZone::UTC, self.conversion.context.date_modes());
                let stored = StoredType { ty: column.ty, digits: None, zone, date_modes };
                let value = self.not_null(column, value_at(batch.column(*old), row)?, number)?;
                Ok(store(&value, stored).unwrap_or(value))
            }
            ValueSource::Converted { expr, is_shortened } => {
                let at = |id| self.old_columns.iter().position(|c| *c == id);
                let known = |id| at(id).and_then(|at| value_at(batch.column(at), row).ok());
                let value = self.not_null(column, self.old.value(expr, &known)?, number)?;
                let stored = self.conversion.stored(column, &value, number);
                stored.map_err(|e| if *is_shortened { truncated(column, e, number) } else { e })
            }
            ValueSource::Constant(value) => Ok(value.clone()),
            ValueSource::Refused(error) => Err(error.clone()),
            ValueSource::Numbers => self.conversion.stored(column, &Value::UInt(number), number),
        }
    }

    /// The value for a column that may not be NULL. Errors 1138 and, where MySQL copies, 1265; or with a warning of the
    /// latter the implicit default.
    fn not_null(&self, column: &ColumnDef, value: Value, row: u64) -> Result<Value> {
        if !value.is_null() || column.nullable {
            return Ok(value);
        }
        let message = format!("Data truncated for column '{}' at row {row}", column.name);
        if self.conversion.is_strict() {
            return Err(match self.is_copy {
                true => SqlError::new(ErrorCode::DataTruncated, message),
                false => SqlError::new(ErrorCode::InvalidUseOfNull, "Invalid use of NULL value"),
            });
        }
        self.conversion.context.warn(ErrorCode::DataTruncated, message);
        Ok(implicit_default(column.ty).unwrap_or(Value::Null))
    }

    /// Computes defaults that are expressions and generated columns, and checks the rows. Errors: 3819, those of values
    /// that do not fit.
    fn compute(&self, arrays: &mut [Option<ArrayRef>], rows: usize) -> Result<()> {
        let rules = Rules {
            rules: &self.bindings.new.rules,
            columns: &self.bindings.new.columns,
            defs: &self.altered.def.columns,
            evaluation: &self.new,
            conversion: &self.conversion,
        };
        let computed: Vec<usize> = (0..arrays.len()).filter(|at| arrays[*at].is_none()).collect();
        if computed.is_empty() && rules.rules.checks.is_empty() {
            return Ok(());
        }
        let mut values: Vec<Vec<Value>> = vec![Vec::with_capacity(rows); computed.len()];
        for at in 0..rows {
            let number = self.rows + at as u64 + 1;
            let known = |array: &Option<ArrayRef>| array.as_ref().map_or(Ok(Value::Null), |array| value_at(array, at));
            let mut row = arrays.iter().map(known).collect::<Result<Vec<_>>>()?;
            for column in &computed {
                if let Some(value) = rules.default(*column, &row, number)? {
                    row[*column] = value;
                }
            }
            rules.generate(&mut row, number)?;
            rules.passes(&row)?;
            for (values, column) in values.iter_mut().zip(&computed) {
                values.push(std::mem::replace(&mut row[*column], Value::Null));
            }
        }
        for (values, column) in values.iter().zip(computed) {
            arrays[column] = Some(array_of(values, self.altered.def.columns[column].ty)?);
        }
        Ok(())
    }
}

/// The error of a VARCHAR that is too long for a shorter one.
fn truncated(column: &ColumnDef, error: SqlError, row: u64) -> SqlError {
    match error.code {
        ErrorCode::DataTooLong => {
            SqlError::new(ErrorCode::DataTruncated, format!("Data truncated for column '{}' at row {row}", column.name))
        }
        _ => error,
    }
}

/// The value that all rows that are there get for a new column; `None` if they get different ones. Errors: those of a
/// default that is not one.
pub fn constant_of_new(context: &StatementContext, column: &ColumnDef) -> Result<Option<Value>> {
    if column.generated.is_some() {
        return Ok(None);
    }
    Ok(match of_new(&Conversion::new(context, false), column)? {
        ValueSource::Constant(value) => Some(value),
        _ => None,
    })
}

/// What rows that are there get for a new column.
fn of_new(conversion: &Conversion<'_>, column: &ColumnDef) -> Result<ValueSource> {
    Ok(match &column.default {
        _ if column.auto_increment => ValueSource::Numbers,
        Some(DefaultValue::Expr(_)) => ValueSource::Default,
        Some(DefaultValue::Value(value)) => ValueSource::Constant(value.clone()),
        Some(DefaultValue::CurrentTimestamp) => {
            ValueSource::Constant(Value::DateTime(conversion.context.clock.now_stored(column.ty)))
        }
        Some(DefaultValue::Dropped) => ValueSource::Constant(Value::Null),
        // The zero date may be one that the session's modes refuse, in a table that has rows.
        None => match conversion.kept_default(column, &value_of_new(column)) {
            Ok(value) => ValueSource::Constant(value),
            Err(error) => ValueSource::Refused(error),
        },
    })
}
