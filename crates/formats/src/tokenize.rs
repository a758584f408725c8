//! Bytes of a delimited file to fields, as MySQL's LOAD DATA reads them (manual 15.2.9, "Field and Line Handling").
//!
//! Two ways: `plain`, when nothing but the terminators has a meaning, leaves the bytes where they are; `general` takes
//! quotes and escapes away and writes the fields to a buffer of its own. Both give the same spans.

use super::{
    convert::Span,
    format::DelimitedFormat,
    problem::{ProblemKind, Problems},
};
use memchr::{memchr, memchr2, memmem};

/// The rows of a chunk.
#[derive(Debug, Default)]
pub(super) struct RowSpans {
    /// `stride` for every row.
    pub spans: Vec<Span>,
    /// The position of each row in the chunk as it was read.
    pub starts: Vec<u32>,
    /// The text that spans point into; `None` if that is the chunk itself.
    pub unescaped: Option<Vec<u8>>,
}

/// Cuts a chunk of whole records into `stride` fields for every row.
pub(super) fn tokenize(format: &DelimitedFormat, chunk: &[u8], stride: usize, problems: &mut Problems) -> RowSpans {
    let escape_free = format.fields_escaped_by.is_none_or(|e| memchr(e, chunk).is_none());
    if format.is_plain() && escape_free {
        plain(format, chunk, stride, problems)
    } else {
        general(format, chunk, stride, problems)
    }
}

fn plain(format: &DelimitedFormat, chunk: &[u8], stride: usize, problems: &mut Problems) -> RowSpans {
    let (separator, line_end) = (format.fields_terminated_by[0], format.lines_terminated_by[0]);
    let mut rows = RowSpans { spans: Vec::with_capacity(chunk.len() / 8), ..RowSpans::default() };
    let span = |start: usize, end: usize| {
        if start == end && format.empty_is_null { Span::NULL } else { Span::new(start, end) }
    };
    let (mut start, mut fields) = (0, 0);
    rows.starts.push(0);
    for at in memchr::memchr2_iter(separator, line_end, chunk) {
        if fields < stride {
            rows.spans.push(span(start, at));
        }
        fields += 1;
        if chunk[at] == line_end {
            // An empty field behind the last separator is no field.
            if fields > stride + 1 || fields == stride + 1 && start < at {
                problems.add(rows.starts.len() - 1, "", ProblemKind::TooManyFields, &chunk[start..at]);
            }
            end_row(&mut rows, fields, stride, problems);
            fields = 0;
            rows.starts.push(at as u32 + 1);
        }
        start = at + 1;
    }
    // The last line of a file may lack its end.
    if fields > 0 || start < chunk.len() {
        if fields < stride {
            rows.spans.push(span(start, chunk.len()));
        }
        if fields > stride || fields == stride && start < chunk.len() {
            problems.add(rows.starts.len() - 1, "", ProblemKind::TooManyFields, &chunk[start..]);
        }
        end_row(&mut rows, fields + 1, stride, problems);
    } else {
        rows.starts.pop();
    }
    rows
}

fn end_row(rows: &mut RowSpans, fields: usize, stride: usize, problems: &mut Problems) {
    if fields < stride {
        // MySQL says it once for each.
        for field in fields..stride {
            problems.add_missing(rows.starts.len() - 1, field);
        }
        rows.spans.resize(rows.starts.len() * stride, Span::MISSING);
    }
}

/// Takes what the general reader finds.
trait FieldSink {
    fn bytes(&mut self, bytes: &[u8]);
    fn end_field(&mut self, quoted: bool, null: bool);
}

/// Looks only for the ends of records.
struct NoFields;

impl FieldSink for NoFields {
    fn bytes(&mut self, _bytes: &[u8]) {}
    fn end_field(&mut self, _quoted: bool, _null: bool) {}
}

struct Collect<'a> {
    format: &'a DelimitedFormat,
    rows: RowSpans,
    buffer: Vec<u8>,
    field_start: usize,
    stride: usize,
    /// Fields of the current row so far.
    fields: usize,
    too_many: bool,
}

impl FieldSink for Collect<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    fn end_field(&mut self, quoted: bool, escaped_n: bool) {
        let (start, end) = (self.field_start, self.buffer.len());
        let field = &self.buffer[start..end];
        let word_null = self.format.fields_enclosed_by.is_some() && !quoted && field == b"NULL";
        let empty_null = self.format.empty_is_null && !quoted && field.is_empty();
        let null = word_null || empty_null || (escaped_n && field.len() == 1);
        if self.fields < self.stride {
            self.rows.spans.push(if null { Span::NULL } else { Span::new(start, end) });
        } else {
            // Only an empty field right behind the last separator is no field.
            self.too_many |= self.fields > self.stride || end > start || quoted;
        }
        self.fields += 1;
        self.field_start = end;
    }
}

fn general(format: &DelimitedFormat, chunk: &[u8], stride: usize, problems: &mut Problems) -> RowSpans {
    let buffer = Vec::with_capacity(chunk.len());
    let mut sink =
        Collect { format, rows: RowSpans::default(), buffer, field_start: 0, stride, fields: 0, too_many: false };
    let mut at = 0;
    while let Some(start) = record_start(format, chunk, at) {
        if start == chunk.len() {
            break;
        }
        sink.rows.starts.push(start as u32);
        (sink.fields, sink.too_many) = (0, false);
        at = match record_end(format, chunk, start, true, &mut sink) {
            Some(end) => end,
            None => chunk.len(),
        };
        if sink.too_many {
            problems.add(sink.rows.starts.len() - 1, "", ProblemKind::TooManyFields, b"");
        }
        end_row(&mut sink.rows, sink.fields, stride, problems);
    }
    RowSpans { unescaped: Some(sink.buffer), ..sink.rows }
}

/// The position of the fields of the record at `at`: behind the line prefix, if there is one. `None`: no prefix is
/// left.
fn record_start(format: &DelimitedFormat, bytes: &[u8], at: usize) -> Option<usize> {
    let prefix = &format.lines_starting_by;
    if prefix.is_empty() {
        return Some(at);
    }
    memmem::find(&bytes[at..], prefix).map(|i| at + i + prefix.len())
}

/// Reads the fields of one record from `at`; says where the next line begins. `last`: the file ends with `bytes`.
/// `None`: more bytes are needed to know.
fn record_end(
    format: &DelimitedFormat,
    bytes: &[u8],
    mut at: usize,
    last: bool,
    sink: &mut impl FieldSink,
) -> Option<usize> {
    loop {
        let (next, ends_record) = match format.fields_enclosed_by {
            Some(quote) if bytes.get(at) == Some(&quote) => quoted_field(format, quote, bytes, at, last, sink)?,
            Some(_) if at == bytes.len() && !last => return None,
            _ => bare_field(format, bytes, at, last, sink)?,
        };
        if ends_record {
            return Some(next);
        }
        at = next;
    }
}

/// The result of a test for a terminator: there is one, there may be one (more bytes are needed), or there is none.
enum At {
    FieldEnd(usize),
    RecordEnd(usize),
    Unknown,
    Other,
}

fn terminator(format: &DelimitedFormat, rest: &[u8], last: bool) -> At {
    let (line, field) = (&format.lines_terminated_by[..], &format.fields_terminated_by[..]);
    let unfinished = |t: &[u8]| !last && rest.len() < t.len() && t.starts_with(rest);
    if rest.starts_with(line) {
        At::RecordEnd(line.len())
    } else if unfinished(line) {
        At::Unknown
    } else if rest.starts_with(field) {
        At::FieldEnd(field.len())
    } else if unfinished(field) {
        At::Unknown
    } else {
        At::Other
    }
}

/// An escape sequence: the byte it means. `N` means itself and sets `null`.
fn unescape(byte: u8, null: &mut bool) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        b'N' => {
            *null = true;
            b'N'
        }
        other => other,
    }
}

/// A field without quotes: where the next begins, and whether the record ends with it.
fn bare_field(
    format: &DelimitedFormat,
    bytes: &[u8],
    mut at: usize,
    last: bool,
    sink: &mut impl FieldSink,
) -> Option<(usize, bool)> {
    let mut null = false;
    let (field, line) = (format.fields_terminated_by[0], format.lines_terminated_by[0]);
    loop {
        let rest = &bytes[at..];
        let stop = match format.fields_escaped_by {
            Some(escape) => memchr::memchr3(field, line, escape, rest),
            None => memchr2(field, line, rest),
        };
        let Some(stop) = stop else {
            if !last {
                return None;
            }
            sink.bytes(rest);
            sink.end_field(false, null);
            return Some((bytes.len(), true));
        };
        sink.bytes(&rest[..stop]);
        at += stop;
        if Some(bytes[at]) == format.fields_escaped_by {
            match bytes.get(at + 1) {
                Some(&b) => {
                    sink.bytes(&[unescape(b, &mut null)]);
                    at += 2;
                }
                None if last => {
                    sink.bytes(&bytes[at..]);
                    at += 1;
                }
                None => return None,
            }
            continue;
        }
        match terminator(format, &bytes[at..], last) {
            At::RecordEnd(n) => {
                sink.end_field(false, null);
                return Some((at + n, true));
            }
            At::FieldEnd(n) => {
                sink.end_field(false, null);
                return Some((at + n, false));
            }
            At::Unknown => return None,
            At::Other => {
                sink.bytes(&bytes[at..at + 1]);
                at += 1;
            }
        }
    }
}

/// Reads a field as `bare_field` does, but one that begins with the quote at `at`.
fn quoted_field(
    format: &DelimitedFormat,
    quote: u8,
    bytes: &[u8],
    at: usize,
    last: bool,
    sink: &mut impl FieldSink,
) -> Option<(usize, bool)> {
    let mut null = false;
    // A quote that is the escape character too means itself only when doubled.
    let escape = format.fields_escaped_by.filter(|e| *e != quote);
    let mut at = at + 1;
    loop {
        let rest = &bytes[at..];
        let Some(stop) = memchr2(quote, escape.unwrap_or(quote), rest) else {
            if !last {
                return None;
            }
            // The quote is never closed: the file ends with the field.
            sink.bytes(rest);
            sink.end_field(true, null);
            return Some((bytes.len(), true));
        };
        sink.bytes(&rest[..stop]);
        at += stop;
        let next = bytes.get(at + 1).copied();
        if next.is_none() && !last {
            return None;
        }
        if bytes[at] != quote {
            match next {
                Some(b) => sink.bytes(&[unescape(b, &mut null)]),
                None => sink.bytes(&bytes[at..]),
            }
            at = (at + 2).min(bytes.len());
            continue;
        }
        if next == Some(quote) {
            sink.bytes(&[quote]);
            at += 2;
            continue;
        }
        at += 1;
        let ends = match terminator(format, &bytes[at..], last) {
            _ if at == bytes.len() => Some((at, true)),
            At::RecordEnd(n) => Some((at + n, true)),
            At::FieldEnd(n) => Some((at + n, false)),
            At::Unknown => return None,
            At::Other => None,
        };
        match ends {
            Some(ends) => {
                sink.end_field(true, null);
                return Some(ends);
            }
            // A quote in the middle of a field is a plain character.
            None => sink.bytes(&[quote]),
        }
    }
}

/// Bytes of whole records at the front of `bytes`; the rest needs more. `from`: where a record is known to begin that
/// is the first not to be looked at yet; moved on, so that no record is read twice.
pub(super) fn whole_records(format: &DelimitedFormat, bytes: &[u8], from: &mut usize) -> usize {
    if format.fields_enclosed_by.is_none() {
        return last_line_end(format, bytes, *from);
    }
    while let Some(start) = record_start(format, bytes, *from) {
        if start == bytes.len() {
            break;
        }
        match record_end(format, bytes, start, false, &mut NoFields) {
            Some(end) => *from = end,
            None => break,
        }
    }
    *from
}

/// Behind the last line end that is not escaped; `from` if there is none.
fn last_line_end(format: &DelimitedFormat, bytes: &[u8], from: usize) -> usize {
    let mut end = bytes.len();
    while let Some(at) = memmem::rfind(&bytes[from..end], &format.lines_terminated_by) {
        let at = from + at;
        let escapes = match format.fields_escaped_by {
            Some(escape) => bytes[from..at].iter().rev().take_while(|b| **b == escape).count(),
            None => 0,
        };
        if escapes % 2 == 0 {
            return at + format.lines_terminated_by.len();
        }
        // Part of the terminator may still begin one byte earlier.
        end = at + format.lines_terminated_by.len() - 1;
    }
    from
}

/// Behind the first line end of `bytes`, for IGNORE n LINES. `None`: there is none yet.
pub(super) fn first_line_end(format: &DelimitedFormat, bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memmem::find(&bytes[from..], &format.lines_terminated_by)?;
        let escapes = match format.fields_escaped_by {
            Some(escape) => bytes[..at].iter().rev().take_while(|b| **b == escape).count(),
            None => 0,
        };
        if escapes % 2 == 0 {
            return Some(at + format.lines_terminated_by.len());
        }
        from = at + 1;
    }
}

#[cfg(test)]
#[path = "tokenize_tests.rs"]
mod tests;
