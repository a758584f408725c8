//! Reads Arrow IPC files and streams as batches of a table's columns.

use super::{
    convert::{arrow_schema, constant},
    format::{TargetColumn, no_default},
    ipc_bounds::{check_file, check_stream},
    problem::{Problem, ProblemKind},
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, PrimitiveArray, RecordBatch, RecordBatchReader, StringViewArray,
    TimestampMicrosecondArray,
    builder::BinaryViewBuilder,
    cast::AsArray,
    types::{
        ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
        Int32Type, TimestampMicrosecondType, UInt32Type,
    },
};
use arrow_cast::{
    CastOptions, cast_with_options,
    display::{ArrayFormatter, FormatOptions},
};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use muster_storage::arrow_type;
use muster_types::{
    BytesKind, ErrorCode, FloatDigits, IntWidth, Result, SqlError, SqlType, TextKind, Value,
    cast::int_range,
    sql_type::DECIMAL128_MAX_PRECISION,
    store::{StoreFault, decimal_max, decimal_max_256, temporal::to_utc, text},
    temporal::{Days, EpochMicros, MICROS_PER_DAY, ZERO_DATE, datetime_of},
    time_zone::TimeZone,
};
use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

/// The first bytes of an IPC file. A stream does not have them.
const FILE_MAGIC: &[u8; 6] = b"ARROW1";

/// Turns a panic of the library into an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, ArrowError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(ArrowError::IpcError("impossible content".into())))
}

/// Reads all of an Arrow IPC file or stream (told apart by the first bytes); gives batches with all columns of the
/// table to `take`. Columns are found by name, without case; what the file lacks gets its default. Values are cast to
/// the column's type; one that does not fit is an error with MySQL's number, as are NULLs in NOT NULL columns and
/// texts that are too long. Returns the number of rows.
pub fn read_arrow(
    path: &Path,
    columns: &[TargetColumn],
    take: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<u64> {
    let name = path.display().to_string();
    let broken = |e: &dyn std::fmt::Display| SqlError::new(ErrorCode::Unknown, format!("{name}: {e}"));
    let mut file = File::open(path).map_err(|e| broken(&e))?;
    let mut magic = [0; FILE_MAGIC.len()];
    let is_file = match file.read_exact(&mut magic) {
        Ok(()) => &magic == FILE_MAGIC,
        Err(_) => false,
    };
    if is_file { check_file(&mut file) } else { check_stream(&mut file) }.map_err(|e| broken(&e))?;
    file.seek(SeekFrom::Start(0)).map_err(|e| broken(&e))?;
    let file = BufReader::with_capacity(1 << 18, file);
    // The library trusts offsets and types within a message; damaged ones make it panic.
    let open = || -> Result<Box<dyn RecordBatchReader>, ArrowError> {
        Ok(if is_file {
            Box::new(FileReader::try_new(file, None)?)
        } else {
            Box::new(StreamReader::try_new(file, None)?)
        })
    };
    let mut reader = guarded(open).map_err(|e| broken(&e))?;
    let sources = match_columns(reader.schema().fields(), columns)?;
    let schema = arrow_schema(columns);
    let mut rows = 0;
    let mut next = || guarded(|| reader.next().transpose());
    while let Some(batch) = next().map_err(|e| broken(&e))? {
        let mut arrays = Vec::with_capacity(columns.len());
        let mut first: Option<Problem> = None;
        for (column, source) in columns.iter().zip(&sources) {
            arrays.push(match source {
                BatchSource::Field(i) => match cast_column(batch.column(*i), column) {
                    Ok(array) => array,
                    Err(CastError::Problem(problem)) => {
                        if first.as_ref().is_none_or(|f| problem.row < f.row) {
                            first = Some(problem);
                        }
                        arrow_array::new_null_array(&arrow_type(&column.ty), batch.num_rows())
                    }
                    Err(CastError::Other(e)) => return Err(e),
                },
                BatchSource::Constant(value) => constant(&column.ty, value, batch.num_rows())?,
            });
        }
        if let Some(problem) = first {
            let row = rows + problem.row as u64 + 1;
            return Err(problem.into_error(row, row, &name));
        }
        rows += batch.num_rows() as u64;
        if batch.num_rows() > 0 {
            take(RecordBatch::try_new(schema.clone(), arrays).map_err(SqlError::internal)?)?;
        }
    }
    Ok(rows)
}

enum BatchSource {
    Field(usize),
    Constant(Value),
}

/// Which field of the file each column is. Error 1054 for a field that is no column, 1364 for a column without value.
fn match_columns(fields: &arrow_schema::Fields, columns: &[TargetColumn]) -> Result<Vec<BatchSource>> {
    if let Some(unknown) = fields.iter().find(|f| !columns.iter().any(|c| same_name(&c.name, f.name()))) {
        return Err(SqlError::unknown_column(unknown.name(), "field list"));
    }
    let source = |column: &TargetColumn| match fields.iter().position(|f| same_name(&column.name, f.name())) {
        Some(i) => Ok(BatchSource::Field(i)),
        None => match &column.default {
            Some(value) => Ok(BatchSource::Constant(value.clone())),
            None if column.nullable => Ok(BatchSource::Constant(Value::Null)),
            None => Err(no_default(column)),
        },
    };
    columns.iter().map(source).collect()
}

fn same_name(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

enum CastError {
    Problem(Problem),
    Other(SqlError),
}

fn cast_column(array: &ArrayRef, column: &TargetColumn) -> Result<ArrayRef, CastError> {
    let problem = |row: usize, fault: StoreFault| {
        let value = ArrayFormatter::try_new(array, &FormatOptions::default())
            .map(|f| f.value(row).to_string())
            .unwrap_or_default();
        CastError::Problem(Problem { row, column: column.name.clone(), kind: ProblemKind::Value(fault), value })
    };
    let to = arrow_type(&column.ty);
    // What does not fit becomes NULL, so that the row is known.
    let options = CastOptions { safe: true, ..CastOptions::default() };
    let cast = |array: &ArrayRef, to: &DataType| {
        cast_with_options(array, to, &options).map_err(|e| {
            let message = format!("column '{}' of type {}: {e}", column.name, column.ty);
            CastError::Other(SqlError::new(ErrorCode::NotSupported, message))
        })
    };
    let cast_array = if array.data_type().is_floating() && to.is_integer() {
        // Arrow cuts fractions off, MySQL rounds.
        let float = cast(array, &DataType::Float64)?;
        let rounded = float.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even);
        cast(&(Arc::new(rounded) as ArrayRef), &to)?
    } else {
        cast(array, &to)?
    };
    if cast_array.null_count() > array.logical_null_count() {
        let nulls = array.logical_nulls();
        let lost = |row: &usize| cast_array.is_null(*row) && nulls.as_ref().is_none_or(|n| n.is_valid(*row));
        if let Some(row) = (0..array.len()).find(lost) {
            return Err(problem(row, lost_kind(&column.ty)));
        }
    }
    if !column.nullable && cast_array.null_count() > 0 {
        let row = (0..cast_array.len()).find(|&row| cast_array.is_null(row)).unwrap_or(0);
        return Err(problem(row, StoreFault::NullForNotNull));
    }
    if let Some((row, fault)) = out_of_bounds(&cast_array, &column.ty) {
        return Err(problem(row, fault));
    }
    let cast_array = match column.digits {
        Some(digits) => with_digits(&cast_array, digits).map_err(|row| problem(row, StoreFault::OutOfRange))?,
        None => cast_array,
    };
    let is_moment = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
    let cast_array = dated(cast_array).map_err(|row| problem(row, lost_kind(&column.ty)))?;
    match column.ty {
        SqlType::Timestamp { .. } => {
            let zone = if is_moment { TimeZone::UTC } else { column.time_zone };
            timestamps(&cast_array, zone).map_err(|(row, fault)| problem(row, fault))
        }
        _ => Ok(in_stored_form(cast_array, &column.ty)),
    }
}

/// Dates and datetimes of a file, which count from 1970-01-01, as the codes that columns hold; error: the first row
/// that is outside of the years 0 to 9999.
fn dated(array: ArrayRef) -> Result<ArrayRef, usize> {
    // What stands where an array is NULL can be anything.
    const DAYS: std::ops::Range<i64> = -719_527..2_932_897;
    let lost =
        |is_within: &dyn Fn(usize) -> bool| (0..array.len()).find(|row| array.is_valid(*row) && !is_within(*row));
    Ok(match array.data_type() {
        DataType::Date32 => {
            let days = array.as_primitive::<Date32Type>();
            lost(&|row| DAYS.contains(&days.value(row).into())).map_or(Ok(()), Err)?;
            let code = |d: i32| if DAYS.contains(&d.into()) { Days(d).code() } else { ZERO_DATE };
            Arc::new(days.unary::<_, Date32Type>(code))
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            let moments = array.as_primitive::<TimestampMicrosecondType>();
            lost(&|row| DAYS.contains(&moments.value(row).div_euclid(MICROS_PER_DAY))).map_or(Ok(()), Err)?;
            let is_within = |t: i64| DAYS.contains(&t.div_euclid(MICROS_PER_DAY));
            let datetime = |t: i64| if is_within(t) { EpochMicros(t).datetime() } else { datetime_of(ZERO_DATE, 0) };
            Arc::new(moments.unary::<_, TimestampMicrosecondType>(datetime))
        }
        _ => array,
    })
}

/// Local datetimes of `zone` in UTC; error: the first one that no TIMESTAMP holds.
fn timestamps(array: &ArrayRef, zone: TimeZone) -> Result<ArrayRef, (usize, StoreFault)> {
    let locals = array.as_primitive::<TimestampMicrosecondType>();
    let moment = |(row, local): (usize, Option<i64>)| {
        local.map(|t| to_utc(t, zone).map_err(|unfit| (row, unfit.fault))).transpose()
    };
    let moments: TimestampMicrosecondArray = locals.iter().enumerate().map(moment).collect::<Result<_, _>>()?;
    Ok(Arc::new(moments))
}

/// Floating-point numbers with the digits of their column; error: the first row that has more in front of the point.
fn with_digits(array: &ArrayRef, digits: FloatDigits) -> Result<ArrayRef, usize> {
    fn fitted<T: ArrowPrimitiveType>(
        array: &PrimitiveArray<T>,
        fit: impl Fn(T::Native) -> Result<T::Native, f64>,
    ) -> Result<ArrayRef, usize> {
        let fit = |(row, x): (usize, Option<T::Native>)| x.map(|x| fit(x).map_err(|_| row)).transpose();
        let numbers: PrimitiveArray<T> = array.iter().enumerate().map(fit).collect::<Result<_, _>>()?;
        Ok(Arc::new(numbers))
    }
    match array.data_type() {
        DataType::Float32 => fitted(array.as_primitive::<Float32Type>(), |x| digits.fit(x as f64).map(|x| x as f32)),
        DataType::Float64 => fitted(array.as_primitive::<Float64Type>(), |x| digits.fit(x)),
        _ => Ok(array.clone()),
    }
}

fn lost_kind(ty: &SqlType) -> StoreFault {
    match ty {
        SqlType::Date => StoreFault::Incorrect("date"),
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => StoreFault::Incorrect("datetime"),
        SqlType::Time { .. } => StoreFault::Incorrect("time"),
        SqlType::Text { .. } => StoreFault::Incorrect("string"),
        _ => StoreFault::OutOfRange,
    }
}

/// The first value that its Arrow type can hold and the column cannot.
fn out_of_bounds(array: &ArrayRef, ty: &SqlType) -> Option<(usize, StoreFault)> {
    let find = |bad: &dyn Fn(usize) -> bool| (0..array.len()).find(|&row| array.is_valid(row) && bad(row));
    match *ty {
        SqlType::Int { width: IntWidth::Medium, unsigned } => {
            let (min, max) = int_range(IntWidth::Medium, unsigned);
            let row = if unsigned {
                let values = array.as_primitive::<UInt32Type>().values();
                find(&|row| values[row] as i128 > max)
            } else {
                let values = array.as_primitive::<Int32Type>().values();
                find(&|row| !(min..=max).contains(&(values[row] as i128)))
            };
            Some((row?, StoreFault::OutOfRange))
        }
        SqlType::Decimal { precision, .. } => {
            let max = decimal_max(precision.min(DECIMAL128_MAX_PRECISION));
            let row = if let Some(array) = array.as_primitive_opt::<Decimal256Type>() {
                let max = decimal_max_256(precision);
                find(&|row| array.value(row) > max || array.value(row) < max.wrapping_neg())
            } else if let Some(array) = array.as_primitive_opt::<Decimal64Type>() {
                find(&|row| i128::from(array.value(row)).abs() > max)
            } else {
                let values = array.as_primitive::<Decimal128Type>().values();
                find(&|row| values[row].unsigned_abs() > max as u128)
            };
            Some((row?, StoreFault::OutOfRange))
        }
        SqlType::Text { kind, length, .. } => {
            let texts: &StringViewArray = array.as_string_view();
            let fits = |value: &str| {
                text::fitted(value.as_bytes(), kind, length).is_ok_and(|kept| {
                    // Spaces behind a VARCHAR that do not fit are an error here.
                    kind == TextKind::Char || kept.len() == value.len()
                })
            };
            Some((find(&|row| !fits(texts.value(row)))?, StoreFault::TooLong))
        }
        SqlType::Bytes { length, .. } => {
            let bytes: &BinaryViewArray = array.as_binary_view();
            Some((find(&|row| bytes.value(row).len() > length as usize)?, StoreFault::TooLong))
        }
        _ => None,
    }
}

/// CHAR without its padding, BINARY with it.
fn in_stored_form(array: ArrayRef, ty: &SqlType) -> ArrayRef {
    match *ty {
        SqlType::Text { kind: TextKind::Char, .. } => {
            let texts = array.as_string_view();
            if texts.iter().flatten().any(|t| t.ends_with(' ')) {
                let trimmed = texts.iter().map(|t| t.map(|t| t.trim_end_matches(' ')));
                Arc::new(trimmed.collect::<StringViewArray>())
            } else {
                array
            }
        }
        SqlType::Bytes { kind: BytesKind::Binary, length } => {
            let mut builder = BinaryViewBuilder::with_capacity(array.len());
            for bytes in array.as_binary_view().iter() {
                builder.append_option(bytes.map(|b| {
                    let mut padded = b.to_vec();
                    padded.resize(length as usize, 0);
                    padded
                }));
            }
            Arc::new(builder.finish())
        }
        _ => array,
    }
}

#[cfg(test)]
#[path = "arrow_ipc_tests.rs"]
mod tests;
