//! Fields to Arrow arrays, a column at a time.

use super::{
    format::TargetColumn,
    problem::{ProblemKind, Problems},
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, PrimitiveArray, StringViewArray,
    builder::{BinaryViewBuilder, LargeBinaryBuilder, StringViewBuilder, make_view},
    types::{
        ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
        Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type,
        UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{Buffer, NullBufferBuilder, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use muster_storage::{array_of, arrow_type};
use muster_types::{
    BytesKind, Collation, Result, SqlError, SqlType, TextKind, Value,
    cast::int_range,
    charset::Charset,
    json,
    sql_type::{DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION},
    store::{
        StoreFault, StoredType, Unfit, decimal_max, decimal_max_256, deprecated_delimiter, is_negative_number,
        loses_part, number, store_text, temporal, text,
    },
    temporal::{ZERO_DATE, datetime_of},
};
use std::sync::Arc;

const NULL_FOR_NOT_NULL: ProblemKind = ProblemKind::Value(StoreFault::NullForNotNull);

/// The position of a field in the bytes of its chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    /// Bytes, or one of the two marks.
    length: u32,
}

impl Span {
    pub const NULL: Span = Span { start: 0, length: u32::MAX };
    /// The line ended before this field.
    pub const MISSING: Span = Span { start: 0, length: u32::MAX - 1 };

    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, length: (end - start) as u32 }
    }

    pub fn has_bytes(self) -> bool {
        self.length < Span::MISSING.length
    }

    pub fn bytes(self, chunk: &[u8]) -> &[u8] {
        &chunk[self.start as usize..self.start as usize + self.length as usize]
    }
}

/// One column's fields in a chunk.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub chunk: &'a Buffer,
    /// The positions of all fields, row after row.
    pub spans: &'a [Span],
    /// Fields in a row.
    pub stride: usize,
    pub field: usize,
}

impl<'a> Fields<'a> {
    fn spans(&self) -> impl Iterator<Item = Span> + use<'a> {
        self.spans.iter().skip(self.field).step_by(self.stride).copied()
    }

    fn rows(&self) -> usize {
        self.spans.len() / self.stride
    }
}

/// The schema of batches of all columns of a table.
pub fn arrow_schema(columns: &[TargetColumn]) -> SchemaRef {
    let field = |c: &TargetColumn| Field::new(&c.name, arrow_type(&c.ty), c.nullable);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// The column's values; what is wrong with them goes to `problems`. When that is an error the array means nothing.
pub(super) fn convert(column: &TargetColumn, fields: Fields, problems: &mut Problems) -> Result<ArrayRef> {
    let converter = ColumnConverter { column, fields };
    macro_rules! int {
        ($t:ty, $range:expr) => {
            converter.numbers::<$t>(problems, 0, |text| {
                let cast = |n: i128| n as <$t as ArrowPrimitiveType>::Native;
                match number::integer(text, $range.0, $range.1) {
                    Ok(n) => Ok(cast(n)),
                    Err(unfit) => Err(unfit.map(cast)),
                }
            })
        };
    }
    let refuses_negative = matches!(column.ty, SqlType::Unsigned(_));
    Ok(match column.ty.stored_type() {
        SqlType::Int { width, unsigned } => {
            let range = int_range(width, unsigned);
            match arrow_type(&column.ty) {
                DataType::Int8 => int!(Int8Type, range),
                DataType::Int16 => int!(Int16Type, range),
                DataType::Int32 => int!(Int32Type, range),
                DataType::Int64 => int!(Int64Type, range),
                DataType::UInt8 => int!(UInt8Type, range),
                DataType::UInt16 => int!(UInt16Type, range),
                DataType::UInt32 => int!(UInt32Type, range),
                _ => int!(UInt64Type, range),
            }
        }
        SqlType::Decimal { precision, scale } => converter.decimals(problems, precision, scale),
        SqlType::Float => converter.numbers::<Float32Type>(problems, 0.0, |text| {
            let narrow = |x: f64| x as f32;
            let stored = signed(number::float(text, f32::MAX as f64, column.digits), refuses_negative, text);
            stored.map(narrow).map_err(|unfit| unfit.map(narrow))
        }),
        SqlType::Double => converter.doubles(problems, refuses_negative),
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } => converter.dates(problems),
        SqlType::Time { fsp } => converter.numbers::<DurationMicrosecondType>(problems, 0, |text| {
            temporal::time(converter.moment(text), fsp, column.date_modes)
        }),
        SqlType::Text { kind, length, .. } => converter.text(problems, kind, length)?,
        SqlType::Bytes { kind, length } => converter.byte_strings(problems, kind, length)?,
        SqlType::Json => converter.documents(problems),
        SqlType::Enum(_) | SqlType::Set(_) | SqlType::Year | SqlType::Bit { .. } => converter.named(problems),
        SqlType::Bool | SqlType::Null | SqlType::Unsigned(_) => {
            return Err(SqlError::internal("no column has this type"));
        }
    })
}

/// The number that a column stores; of an UNSIGNED one, which refuses negative numbers, zero instead.
fn signed<N: Default>(stored: Result<N, Unfit<N>>, refuses_negative: bool, text: &[u8]) -> Result<N, Unfit<N>> {
    match stored {
        Ok(_) | Err(Unfit { instead: Some(_), .. }) if refuses_negative && is_negative_number(text) => {
            Err(Unfit { fault: StoreFault::OutOfRange, instead: Some(N::default()) })
        }
        other => other,
    }
}

fn unsigned(value: &Value) -> u64 {
    match value {
        Value::UInt(number) => *number,
        _ => 0,
    }
}

/// Digits of a number that is a day with a time of it, at least.
const MOMENT_DIGITS_MIN: usize = 12;

/// The text of a date or time without the digits of the fraction of a second beyond `fsp`. Of other texts, and where
/// the point does not stand behind a second, all. `is_time`: the text is that of a TIME, where any number has seconds.
fn fraction_cut(text: &[u8], fsp: u8, is_time: bool) -> &[u8] {
    let Some(point) = text.iter().rposition(|b| *b == b'.') else { return text };
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    let is_number = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_digit);
    let has_seconds = whole.contains(&b':') || is_number(whole) && (is_time || whole.len() >= MOMENT_DIGITS_MIN);
    match has_seconds && is_number(fraction) && fraction.len() > usize::from(fsp) {
        // A point without digits behind it stays a point of the text.
        true if fsp == 0 => whole,
        true => &text[..=point + usize::from(fsp)],
        false => text,
    }
}

/// Converts the fields of one column to an Arrow array of the column's type.
struct ColumnConverter<'a> {
    column: &'a TargetColumn,
    fields: Fields<'a>,
}

impl ColumnConverter<'_> {
    /// Converts fields as `primitive` does, for types that have a zero.
    fn numbers<T: ArrowPrimitiveType>(
        &self,
        problems: &mut Problems,
        zero: T::Native,
        parse: impl Fn(&[u8]) -> Result<T::Native, Unfit<T::Native>>,
    ) -> ArrayRef {
        Arc::new(self.primitive::<T>(problems, Some(zero), parse))
    }

    /// Decimals in 64, 128 or 256 bits.
    fn decimals(&self, problems: &mut Problems, precision: u8, scale: u8) -> ArrayRef {
        let refuses_negative = matches!(self.column.ty, SqlType::Unsigned(_));
        let max = decimal_max(precision.min(DECIMAL128_MAX_PRECISION));
        if precision <= DECIMAL64_MAX_PRECISION {
            // At most 18 digits: the largest value fits.
            let narrow = |n: i128| n as i64;
            let parse = |text: &[u8]| {
                let stored = number::decimal(text, scale, max).map(narrow).map_err(|unfit| unfit.map(narrow));
                signed(stored, refuses_negative, text)
            };
            let array = self.primitive::<Decimal64Type>(problems, Some(0), parse);
            Arc::new(array.with_data_type(arrow_type(&self.column.ty)))
        } else if precision > DECIMAL128_MAX_PRECISION {
            let max = decimal_max_256(precision);
            let array = self.primitive::<Decimal256Type>(problems, Some(i256::ZERO), |text| {
                signed(number::decimal_256(text, scale, max), refuses_negative, text)
            });
            Arc::new(array.with_data_type(arrow_type(&self.column.ty)))
        } else {
            let array = self.primitive::<Decimal128Type>(problems, Some(0), |text| {
                signed(number::decimal(text, scale, max), refuses_negative, text)
            });
            Arc::new(array.with_data_type(arrow_type(&self.column.ty)))
        }
    }

    fn doubles(&self, problems: &mut Problems, refuses_negative: bool) -> ArrayRef {
        self.numbers::<Float64Type>(problems, 0.0, |text| {
            signed(number::float(text, f64::MAX, self.column.digits), refuses_negative, text)
        })
    }

    /// Dates of a DATE, DATETIME or TIMESTAMP column.
    fn dates(&self, problems: &mut Problems) -> ArrayRef {
        let TargetColumn { ty, time_zone: zone, date_modes: modes, .. } = *self.column;
        let (fsp, zero) = (ty.fsp(), datetime_of(ZERO_DATE, 0));
        match ty {
            SqlType::Date => self.numbers::<Date32Type>(problems, ZERO_DATE, |t| temporal::date(self.moment(t), modes)),
            SqlType::Timestamp { .. } => {
                let parse = |text: &[u8]| temporal::timestamp(self.moment(text), fsp, zone, modes);
                self.numbers::<TimestampMicrosecondType>(problems, zero, parse)
            }
            _ => self.numbers::<TimestampMicrosecondType>(problems, zero, |t| {
                temporal::datetime(self.moment(t), fsp, modes)
            }),
        }
    }

    /// The text of a date or time, with as many digits of its fraction as count.
    fn moment<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        match self.column.cuts_fractions {
            true => fraction_cut(text, self.column.ty.fsp(), matches!(self.column.ty, SqlType::Time { .. })),
            false => text,
        }
    }

    /// Numbers of an ENUM, SET, YEAR or BIT column.
    fn named(&self, problems: &mut Problems) -> ArrayRef {
        let stored = StoredType { zone: self.column.time_zone, ..StoredType::new(self.column.ty) };
        let parse = |text: &[u8]| match store_text(text, stored) {
            Ok(value) => Ok(unsigned(&value)),
            Err(unfit) => Err(unfit.map(|value| unsigned(&value))),
        };
        match arrow_type(&self.column.ty) {
            DataType::UInt8 => self.numbers::<UInt8Type>(problems, 0, |text| {
                parse(text).map(|n| n as u8).map_err(|unfit| unfit.map(|n| n as u8))
            }),
            DataType::UInt16 => self.numbers::<UInt16Type>(problems, 0, |text| {
                parse(text).map(|n| n as u16).map_err(|unfit| unfit.map(|n| n as u16))
            }),
            _ => self.numbers::<UInt64Type>(problems, 0, parse),
        }
    }

    /// `zero`: what IGNORE stores for a NULL in a NOT NULL column.
    #[inline]
    fn primitive<T: ArrowPrimitiveType>(
        &self,
        problems: &mut Problems,
        zero: Option<T::Native>,
        parse: impl Fn(&[u8]) -> Result<T::Native, Unfit<T::Native>>,
    ) -> PrimitiveArray<T> {
        let rows = self.fields.rows();
        let mut values: Vec<T::Native> = Vec::with_capacity(rows);
        let mut nulls = NullBufferBuilder::new(rows);
        let default = self.default_native::<T>();
        for (row, span) in self.fields.spans().enumerate() {
            if span.has_bytes() {
                let text = span.bytes(self.fields.chunk);
                match parse(text) {
                    Ok(value) => {
                        self.note(text, row, problems);
                        values.push(value);
                        nulls.append_non_null();
                    }
                    Err(unfit) => {
                        // Without a value to put in its place, NULL is put there, or it stays an error.
                        let fatal = unfit.instead.is_none() && !self.column.nullable;
                        let add = if fatal { Problems::add_fatal } else { Problems::add };
                        add(problems, row, &self.column.name, ProblemKind::Value(unfit.fault), text);
                        values.push(unfit.instead.unwrap_or_default());
                        nulls.append(unfit.instead.is_some());
                    }
                }
            } else {
                let is_missing = span == Span::MISSING;
                let instead = if is_missing { default } else { None };
                if instead.is_none() && !self.column.nullable && is_missing && zero.is_some() {
                    // The row was said to have no data for it.
                    values.push(zero.unwrap_or_default());
                    nulls.append_non_null();
                } else if instead.is_none() && !self.column.nullable {
                    let add = if zero.is_none() { Problems::add_fatal } else { Problems::add };
                    add(problems, row, &self.column.name, NULL_FOR_NOT_NULL, b"");
                    values.push(zero.unwrap_or_default());
                    nulls.append_non_null();
                } else {
                    values.push(instead.unwrap_or_default());
                    nulls.append(instead.is_some());
                }
            }
            if problems.strict && problems.first.as_ref().is_some_and(|first| first.row <= row) {
                values.resize(rows, T::Native::default());
                (row + 1..rows).for_each(|_| nulls.append_non_null());
                break;
            }
        }
        PrimitiveArray::new(ScalarBuffer::from(values), nulls.finish())
    }

    /// Notes what the column does not hold of a date, time or decimal that it stores, and deprecated delimiters.
    #[inline]
    fn note(&self, text: &[u8], row: usize, problems: &mut Problems) {
        match (self.column.ty.stored_type(), text) {
            // As nearly all are.
            (SqlType::Date, [_, _, _, _, b'-', _, _, b'-', _, _]) => {}
            (SqlType::Decimal { scale: 0, .. }, _) if text.iter().all(|b| *b != b'.') => {}
            (SqlType::Decimal { scale, .. }, _)
                if text.len().checked_sub(usize::from(scale) + 1).is_none_or(|at| text[at] == b'.') => {}
            (SqlType::Decimal { .. } | SqlType::Date, _) => self.note_of_slow(text, row, problems),
            (SqlType::Time { .. } | SqlType::DateTime { .. } | SqlType::Timestamp { .. }, _) => {
                self.note_of_slow(text, row, problems);
            }
            _ => {}
        }
    }

    fn note_of_slow(&self, text: &[u8], row: usize, problems: &mut Problems) {
        if let Some(delimiter) = deprecated_delimiter(self.column.ty, text) {
            problems.note(row, &self.column.name, ProblemKind::Delimiter(delimiter), text);
        }
        let Ok(written) = std::str::from_utf8(text) else { return };
        if loses_part(self.column.ty, &Value::Text(written.to_owned()), &Value::Null) {
            problems.note(row, &self.column.name, ProblemKind::LostPart, text);
        }
    }

    /// JSON documents. A text that is none is an error, with IGNORE too.
    fn documents(&self, problems: &mut Problems) -> ArrayRef {
        let mut documents = LargeBinaryBuilder::new();
        for (row, span) in self.fields.spans().enumerate() {
            let is_missing = span == Span::MISSING;
            if span.has_bytes() {
                let text = span.bytes(self.fields.chunk);
                match store_text(text, StoredType::new(SqlType::Json)) {
                    Ok(Value::Json(document)) => documents.append_value(document),
                    Ok(_) => documents.append_null(),
                    Err(unfit) => {
                        problems.add_fatal(row, &self.column.name, ProblemKind::Value(unfit.fault), text);
                        documents.append_null();
                    }
                }
            } else if let Some(Value::Json(default)) = self.column.default.as_ref().filter(|_| is_missing) {
                documents.append_value(default);
            } else if self.column.nullable {
                documents.append_null();
            } else {
                if !is_missing {
                    problems.add(row, &self.column.name, NULL_FOR_NOT_NULL, b"");
                }
                documents.append_value(json::NULL_BYTES);
            }
        }
        Arc::new(documents.finish())
    }

    fn default_native<T: ArrowPrimitiveType>(&self) -> Option<T::Native> {
        let array = constant(&self.column.ty, self.column.default.as_ref()?, 1).ok()?;
        let array = array.as_any().downcast_ref::<PrimitiveArray<T>>()?;
        (array.null_count() == 0).then(|| array.value(0))
    }

    fn default_bytes(&self) -> Option<&[u8]> {
        match self.column.default.as_ref()? {
            Value::Text(text) => Some(text.as_bytes()),
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Views into the chunk itself: no text is copied.
    fn text(&self, problems: &mut Problems, kind: TextKind, length: u32) -> Result<ArrayRef> {
        let rows = self.fields.rows();
        let mut views: Vec<u128> = Vec::with_capacity(rows);
        let mut nulls = NullBufferBuilder::new(rows);
        // The default stands in a buffer of its own.
        let default = self.default_bytes().map(|bytes| (make_view(bytes, 1, 0), bytes));
        for (row, span) in self.fields.spans().enumerate() {
            let (view, valid) = if span.has_bytes() {
                let value = span.bytes(self.fields.chunk);
                let bytes = match text::fitted(value, kind, length) {
                    // Other character sets count bytes in their own way.
                    _ if self.charset() != Charset::Utf8mb4 => value,
                    Ok(bytes) => {
                        if kind == TextKind::VarChar && bytes.len() < value.len() {
                            problems.note(row, &self.column.name, ProblemKind::LostPart, value);
                        }
                        bytes
                    }
                    Err(unfit) => self.cut(unfit, row, value, problems),
                };
                (make_view(bytes, 0, span.start), true)
            } else {
                self.instead_of_text(span, default.map(|d| d.0), row, problems)
            };
            views.push(view);
            nulls.append(valid);
        }
        let views = ScalarBuffer::from(views);
        let nulls = nulls.finish();
        let mut buffers = vec![self.fields.chunk.clone()];
        buffers.extend(default.map(|(_, bytes)| Buffer::from(bytes)));
        match StringViewArray::try_new(views.clone(), buffers.clone(), nulls.clone()) {
            Ok(array) if self.charset() == Charset::Utf8mb4 => Ok(Arc::new(array)),
            // Some text is not UTF-8, or is of another character set.
            _ => {
                let column = (kind, length, self.charset());
                self.repair_text(BinaryViewArray::try_new(views, buffers, nulls), column, problems)
            }
        }
    }

    /// The character set of the column.
    fn charset(&self) -> Charset {
        self.column.ty.collation().map_or(Charset::Utf8mb4, Collation::character_set)
    }

    /// Finds the values that are not UTF-8, of which IGNORE keeps what stands in front of the wrong byte; those with
    /// characters that the character set of the column does not have, which become `?`; those that are too long there.
    fn repair_text(
        &self,
        array: Result<BinaryViewArray, arrow_schema::ArrowError>,
        (kind, length, charset): (TextKind, u32, Charset),
        problems: &mut Problems,
    ) -> Result<ArrayRef> {
        let array = array.map_err(SqlError::internal)?;
        let mut builder = StringViewBuilder::with_capacity(array.len());
        for (row, value) in array.iter().enumerate() {
            builder.append_option(value.map(|bytes| {
                text::fitted_in_charset(bytes, kind, length, charset).unwrap_or_else(|unfit| {
                    let shown = match unfit.fault {
                        StoreFault::Incorrect(_) => &bytes[text::first_incorrect(bytes, charset)..],
                        _ => bytes,
                    };
                    problems.add_cut(row, &self.column.name, unfit.fault, shown);
                    unfit.instead.unwrap_or_default()
                })
            }));
        }
        Ok(Arc::new(builder.finish()))
    }

    /// The part of a text or byte string that is kept if it is too long.
    #[cold]
    fn cut<'b>(&self, unfit: Unfit<&'b [u8]>, row: usize, value: &[u8], problems: &mut Problems) -> &'b [u8] {
        problems.add_cut(row, &self.column.name, unfit.fault, value);
        unfit.instead.unwrap_or_default()
    }

    /// View and validity of a field that is NULL or missing.
    fn instead_of_text(&self, span: Span, default: Option<u128>, row: usize, problems: &mut Problems) -> (u128, bool) {
        let instead = if span == Span::MISSING { default } else { None };
        if instead.is_none() && !self.column.nullable {
            if span != Span::MISSING {
                problems.add(row, &self.column.name, NULL_FOR_NOT_NULL, b"");
            }
            return (0, true);
        }
        (instead.unwrap_or(0), instead.is_some())
    }

    fn byte_strings(&self, problems: &mut Problems, kind: BytesKind, length: u32) -> Result<ArrayRef> {
        let rows = self.fields.rows();
        let mut builder = BinaryViewBuilder::with_capacity(rows);
        for (row, span) in self.fields.spans().enumerate() {
            let bytes = if span.has_bytes() {
                span.bytes(self.fields.chunk)
            } else {
                match (span == Span::MISSING, self.default_bytes()) {
                    (true, Some(default)) => default,
                    _ if self.column.nullable => {
                        builder.append_null();
                        continue;
                    }
                    (is_missing, _) => {
                        if !is_missing {
                            problems.add(row, &self.column.name, NULL_FOR_NOT_NULL, b"");
                        }
                        b""
                    }
                }
            };
            let bytes = text::fitted_bytes(bytes, length).unwrap_or_else(|unfit| self.cut(unfit, row, bytes, problems));
            match text::padding(bytes, kind, length) {
                0 => builder.append_value(bytes),
                zeros => builder.append_value([bytes, &vec![0; zeros]].concat()),
            }
        }
        Ok(Arc::new(builder.finish()))
    }
}

/// An array of `rows` times this value. Error: a value of another type.
pub(super) fn constant(ty: &SqlType, value: &Value, rows: usize) -> Result<ArrayRef> {
    array_of(std::iter::repeat_n(value, rows), *ty)
}
