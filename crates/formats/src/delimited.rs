//! Reads delimited text (LOAD DATA, `.tbl`, CSV) as batches of a table's columns.
//!
//! ```text
//!   reader thread: bytes -> chunks of whole records --> workers: chunk -> fields -> columns
//!                                                 \--> the caller's thread takes the batches in the file's order
//! ```
//!
//! The queues are bounded, so memory is a few chunks per worker however large the file is.

use super::{
    convert::{Fields, Span, arrow_schema, constant, convert},
    format::{DelimitedFormat, DelimitedOptions, FieldTarget, no_default},
    problem::{Problem, Problems, Severity},
    tokenize::{first_line_end, tokenize, whole_records},
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;
use muster_types::{
    ErrorCode, Result, SqlError, Value,
    charset::{self, Charset},
    store::implicit_default,
};
use parking_lot::Mutex;
use std::{
    borrow::Cow,
    io::Read,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};

/// Bytes read at a time; a batch is what its whole records hold.
const CHUNK_BYTES: usize = 1 << 20;
/// Longest record.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// The result of reading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DelimitedSummary {
    pub rows: u64,
    /// Adjusted values, also those beyond what was handed to `warn`.
    pub warnings: u64,
}

struct Chunk {
    bytes: Vec<u8>,
    /// Lines in front of it that belong to no row (IGNORE n LINES).
    skipped_lines: u64,
}

/// A chunk after a worker had it.
struct Parsed {
    /// All columns of the table; or what is wrong, with the number of newlines in front of its row.
    batch: Result<RecordBatch, (Problem, u64)>,
    rows: u64,
    /// Newlines, the skipped lines' included.
    lines: u64,
    skipped_lines: u64,
    warnings: Vec<Problem>,
    warning_count: u64,
}

type Outcome = Result<Parsed>;

/// Takes a batch. It may call the function that it is given before it takes a row of the batch, which then says what
/// is wrong with the rows up to this one: so warnings of taking rows stand where these rows stand. What it does not
/// ask for is said behind the batch.
pub type TakeBatch<'a> = &'a mut dyn FnMut(RecordBatch, &mut dyn FnMut(usize)) -> Result<()>;

/// Reads all of `source`; gives batches to `take` and warnings (when strict only those of values that are stored) to
/// `warn`, in the file's order. Batches have all columns of the table, Arrow types as [`muster_types::SqlType`]
/// documents.
///
/// Errors: what `take` returns; a malformed value (its MySQL number and words, with file, line and value behind them);
/// I/O. Batches taken before the error are to be thrown away by the caller.
pub fn read_delimited(
    source: &mut (dyn Read + Send),
    options: &DelimitedOptions,
    warn: &mut dyn FnMut(Severity, ErrorCode, String),
    take: TakeBatch<'_>,
) -> Result<DelimitedSummary> {
    options.check()?;
    let threads = options.threads.clamp(1, 64);
    let schema = arrow_schema(&options.columns);
    let defaults = Defaults::new(options)?;
    std::thread::scope(|scope| {
        let (to_workers, chunks) = sync_channel::<(Chunk, SyncSender<Outcome>)>(threads);
        let (to_order, in_order) = sync_channel::<Receiver<Outcome>>(2 * threads);
        let chunks = Arc::new(Mutex::new(chunks));
        // When the order's receiver goes away, the reader stops; when the reader stops, the workers do.
        let reader = scope.spawn(move || read_chunks(source, &options.format, &to_workers, &to_order));
        for _ in 0..threads {
            let (chunks, schema, defaults) = (chunks.clone(), schema.clone(), &defaults);
            scope.spawn(move || {
                loop {
                    let next = chunks.lock().recv();
                    let Ok((chunk, reply)) = next else { return };
                    // Nobody waits for it any more after an error.
                    let _ = reply.send(parse_chunk(chunk, options, defaults, &schema));
                }
            });
        }
        drop(chunks);
        let result = take_in_order(in_order, options, warn, take);
        let read = reader.join().unwrap_or_else(|_| Err(SqlError::internal("the reading thread died")));
        // An error of the reader ends the queue; rows in front of it were fine.
        result.and_then(|summary| read.map(|()| summary))
    })
}

fn take_in_order(
    in_order: Receiver<Receiver<Outcome>>,
    options: &DelimitedOptions,
    warn: &mut dyn FnMut(Severity, ErrorCode, String),
    take: TakeBatch<'_>,
) -> Result<DelimitedSummary> {
    let mut summary = DelimitedSummary::default();
    let mut lines = 0;
    for outcome in in_order {
        let mut parsed = outcome.recv().map_err(|_| SqlError::internal("a parsing thread died"))??;
        // They were found column by column.
        parsed.warnings.sort_by_key(|problem| problem.row);
        summary.warnings += parsed.warning_count;
        let before = summary.rows;
        let mut warn_of = |problem: &Problem| {
            warn(problem.severity(), problem.code(), problem.message(before + problem.row as u64 + 1))
        };
        match parsed.batch {
            Ok(batch) => {
                summary.rows += parsed.rows;
                lines += parsed.lines;
                let mut problems = parsed.warnings.iter().peekable();
                let mut warn_up_to = |row: usize| {
                    while let Some(problem) = problems.next_if(|problem| problem.row <= row) {
                        warn_of(problem);
                    }
                };
                take(batch, &mut warn_up_to)?;
                warn_up_to(usize::MAX);
            }
            Err((problem, lines_before)) => {
                parsed.warnings.iter().for_each(&mut warn_of);
                let row = summary.rows + problem.row as u64 + 1;
                let line = lines + parsed.skipped_lines + lines_before + 1;
                return Err(problem.into_error(row, line, &options.file_name));
            }
        }
    }
    Ok(summary)
}

/// Cuts the file into chunks of whole records.
fn read_chunks(
    source: &mut (dyn Read + Send),
    format: &DelimitedFormat,
    to_workers: &SyncSender<(Chunk, SyncSender<Outcome>)>,
    to_order: &SyncSender<Receiver<Outcome>>,
) -> Result<()> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut skip = format.ignore_lines;
    let mut skipped_lines = 0;
    // Bytes in which no end of a record was found yet, or all of whose records were found.
    let mut scanned = 0;
    let mut target = CHUNK_BYTES;
    loop {
        let last = fill(source, &mut bytes, target)?;
        while skip > 0 {
            let Some(end) = first_line_end(format, &bytes) else { break };
            skipped_lines += newlines(&bytes[..end]);
            bytes.drain(..end);
            skip -= 1;
        }
        if skip > 0 {
            if last {
                return Ok(());
            }
        } else {
            let whole = if last { bytes.len() } else { whole_records(format, &bytes, &mut scanned) };
            if whole > 0 {
                let rest = bytes[whole..].to_vec();
                bytes.truncate(whole);
                let chunk = Chunk { bytes: std::mem::replace(&mut bytes, rest), skipped_lines };
                let (reply, outcome) = sync_channel(1);
                if to_order.send(outcome).is_err() || to_workers.send((chunk, reply)).is_err() {
                    return Ok(());
                }
                (skipped_lines, scanned) = (0, 0);
                target = CHUNK_BYTES.max(bytes.len() + CHUNK_BYTES / 2);
            }
            if last {
                return Ok(());
            }
        }
        if bytes.len() >= target {
            target *= 2;
        }
        if target > RECORD_BYTES_MAX {
            let message = format!("a line is longer than {RECORD_BYTES_MAX} bytes; is its terminator right?");
            return Err(SqlError::new(ErrorCode::NetPacketTooLarge, message));
        }
    }
}

/// Reads until `bytes` has `target` bytes; `true` at the end of the file.
fn fill(source: &mut (dyn Read + Send), bytes: &mut Vec<u8>, target: usize) -> Result<bool> {
    let missing = target.saturating_sub(bytes.len());
    bytes.reserve(missing);
    let read = source.take(missing as u64).read_to_end(bytes);
    let read = read.map_err(|e| SqlError::new(ErrorCode::Unknown, format!("reading the file: {e}")))?;
    Ok(read < missing)
}

fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Values of the columns that no field goes to.
struct Defaults {
    values: Vec<Option<Value>>,
}

impl Defaults {
    fn new(options: &DelimitedOptions) -> Result<Defaults> {
        let mut values: Vec<Option<Value>> = Vec::with_capacity(options.columns.len());
        for (i, column) in options.columns.iter().enumerate() {
            let is_given = |field: &FieldTarget| [FieldTarget::Column(i), FieldTarget::Optional(i)].contains(field);
            values.push(if options.fields.iter().any(is_given) {
                None
            } else {
                Some(match &column.default {
                    Some(value) => value.clone(),
                    None if column.nullable => Value::Null,
                    None => implicit_default(column.ty).ok_or_else(|| no_default(column))?,
                })
            });
        }
        Ok(Defaults { values })
    }
}

fn parse_chunk(chunk: Chunk, options: &DelimitedOptions, defaults: &Defaults, schema: &SchemaRef) -> Outcome {
    let mut bytes = chunk.bytes;
    if !matches!(options.format.charset, Charset::Utf8mb4 | Charset::Utf8mb3 | Charset::Ascii | Charset::Binary) {
        bytes = text_of_lines(options.format.charset, bytes);
    }
    let is_optional = |field: &FieldTarget| matches!(field, FieldTarget::Optional(_));
    let mut problems = Problems::new(options.strict);
    problems.optional_fields = options.fields.iter().map(is_optional).collect();
    // A list of nothing but missing columns still has rows.
    let stride = options.fields.len().max(1);
    let bytes = Buffer::from_vec(bytes);
    let mut rows = tokenize(&options.format, &bytes, stride, &mut problems);
    let lines = newlines(&bytes);
    let fields = rows.unescaped.take().map_or_else(|| bytes.clone(), Buffer::from_vec);
    let starts = std::mem::take(&mut rows.starts);
    let done = |batch, problems: Problems| Parsed {
        batch,
        rows: starts.len() as u64,
        lines: lines + chunk.skipped_lines,
        skipped_lines: chunk.skipped_lines,
        warnings: problems.warnings,
        warning_count: problems.warning_count,
    };
    if let Some(first) = problems.first.take() {
        // The row is not as long as the others: values in front of it may be wrong too, and come first.
        rows.spans.truncate(first.row * stride);
        problems.first = Some(first);
    }
    let columns = columns_of(&fields, &rows.spans, stride, options, defaults, &mut problems)?;
    if let Some(first) = problems.first.take() {
        let lines = newlines(&bytes[..starts.get(first.row).map_or(0, |s| *s as usize)]);
        return Ok(done(Err((first, lines)), problems));
    }
    let batch = RecordBatch::try_new(schema.clone(), columns).map_err(SqlError::internal)?;
    Ok(done(Ok(batch), problems))
}

/// The lines as UTF-8. One that is not of the character set stays as it is, and its columns refuse it.
fn text_of_lines(charset: Charset, bytes: Vec<u8>) -> Vec<u8> {
    let changed = |text| match text {
        Cow::Owned(text) => Some(String::into_bytes(text)),
        Cow::Borrowed(_) => None,
    };
    match charset::decode(charset, &bytes).map(changed) {
        Some(Some(text)) => text,
        Some(None) => bytes,
        None => {
            let lines = bytes.split_inclusive(|b| *b == b'\n');
            let decoded = |line| charset::decode(charset, line).map_or(line.to_vec(), |text| text.into_owned().into());
            lines.flat_map(decoded).collect()
        }
    }
}

fn columns_of(
    chunk: &Buffer,
    spans: &[Span],
    stride: usize,
    options: &DelimitedOptions,
    defaults: &Defaults,
    problems: &mut Problems,
) -> Result<Vec<ArrayRef>> {
    let mut columns: Vec<Option<ArrayRef>> = vec![None; options.columns.len()];
    for (field, target) in options.fields.iter().enumerate() {
        if let FieldTarget::Column(i) | FieldTarget::Optional(i) = *target {
            let fields = Fields { chunk, spans, stride, field };
            columns[i] = Some(convert(&options.columns[i], fields, problems)?);
        }
    }
    let filled = columns.into_iter().zip(&options.columns).zip(&defaults.values);
    filled
        .map(|((array, column), default)| match (array, default) {
            (Some(array), _) => Ok(array),
            (None, Some(value)) => constant(&column.ty, value, spans.len() / stride),
            (None, None) => Err(SqlError::internal("a column without values")),
        })
        .collect()
}

#[cfg(test)]
#[path = "delimited_tests.rs"]
mod tests;
