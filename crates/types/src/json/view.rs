//! A document in its binary form, read where it lies.

use super::{
    binary::{
        DOUBLE, INT16, INT32, INT64, LARGE_ARRAY, LARGE_OBJECT, LITERAL, LITERAL_FALSE, LITERAL_NULL, LITERAL_TRUE,
        OPAQUE, OPAQUE_DATE, OPAQUE_DATETIME, OPAQUE_DECIMAL, OPAQUE_TIME, OPAQUE_TIMESTAMP, OffsetWidth, SMALL_ARRAY,
        SMALL_OBJECT, TEXT, UINT16, UINT32, UINT64,
    },
    value::name_order,
};
use crate::{
    Decimal,
    decimal::{DIGITS_MAX, fits_256, i256},
    temporal::{MICROS_PER_DAY, TIME_MAX_MICROS, date_code, datetime_of},
};
use std::cmp::Ordering;

/// A value of a document: its type, and the bytes from its beginning to the end of what holds it.
#[derive(Debug, Clone, Copy)]
pub struct JsonView<'a> {
    kind: u8,
    bytes: &'a [u8],
}

/// A value that has been looked at; the elements of a container have not.
#[derive(Debug, Clone, Copy)]
pub enum JsonNode<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Text(&'a str),
    Date(i32),
    DateTime(i64),
    Timestamp(i64),
    Time(i64),
    Opaque { field_type: u8, bytes: &'a [u8] },
    Array(ArrayView<'a>),
    Object(ObjectView<'a>),
}

/// Where the values of a container lie.
#[derive(Debug, Clone, Copy)]
struct Container<'a> {
    /// From its count to its last byte.
    bytes: &'a [u8],
    width: OffsetWidth,
    count: usize,
    /// Offset of the entries of values.
    entries: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct ArrayView<'a>(Container<'a>);

#[derive(Debug, Clone, Copy)]
pub struct ObjectView<'a>(Container<'a>);

/// The place of a value in a document, which may be kept apart from the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonPlace {
    kind: u8,
    offset: usize,
}

const NULL: JsonView<'static> = JsonView { kind: LITERAL, bytes: &[LITERAL_NULL] };

/// The greatest date and datetime.
const LAST_DATE: i32 = date_code(9999, 12, 31);
const LAST_MOMENT: i64 = datetime_of(LAST_DATE, MICROS_PER_DAY - 1);

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn offset_at(bytes: &[u8], at: usize, width: OffsetWidth) -> Option<usize> {
    Some(match width {
        OffsetWidth::Small => u16::from_le_bytes(bytes_at(bytes, at)?).into(),
        OffsetWidth::Large => u32::from_le_bytes(bytes_at(bytes, at)?) as usize,
    })
}

/// A length in groups of seven bits, and the bytes behind it.
fn length_prefixed(bytes: &[u8]) -> Option<&[u8]> {
    let mut length = 0usize;
    for (i, byte) in bytes.iter().take(5).enumerate() {
        length |= usize::from(byte & 0x7F) << (7 * i);
        if byte & 0x80 == 0 {
            return bytes.get(i + 1..(i + 1).checked_add(length)?);
        }
    }
    None
}

fn decimal(bytes: &[u8]) -> Option<Decimal> {
    let [_, scale, unscaled @ ..] = bytes else { return None };
    let sign = if unscaled.first()? & 0x80 == 0 { 0 } else { 0xFF };
    let mut whole = [sign; 32];
    whole.get_mut(32usize.checked_sub(unscaled.len())?..)?.copy_from_slice(unscaled);
    let unscaled = i256::from_be_bytes(whole);
    let is_decimal = u32::from(*scale) <= DIGITS_MAX && fits_256(unscaled);
    is_decimal.then_some(Decimal::wide(unscaled, *scale))
}

impl<'a> JsonView<'a> {
    /// The document of these bytes; no bytes are `null`.
    pub fn new(bytes: &'a [u8]) -> JsonView<'a> {
        match bytes.split_first() {
            Some((kind, bytes)) => JsonView { kind: *kind, bytes },
            None => NULL,
        }
    }

    pub fn node(self) -> JsonNode<'a> {
        self.checked().unwrap_or(JsonNode::Null)
    }

    fn checked(self) -> Option<JsonNode<'a>> {
        Some(match self.kind {
            LITERAL => match *self.bytes.first()? {
                LITERAL_TRUE => JsonNode::Bool(true),
                LITERAL_FALSE => JsonNode::Bool(false),
                _ => JsonNode::Null,
            },
            INT16 => JsonNode::Int(i16::from_le_bytes(bytes_at(self.bytes, 0)?).into()),
            INT32 => JsonNode::Int(i32::from_le_bytes(bytes_at(self.bytes, 0)?).into()),
            INT64 => JsonNode::Int(i64::from_le_bytes(bytes_at(self.bytes, 0)?)),
            UINT16 => JsonNode::UInt(u16::from_le_bytes(bytes_at(self.bytes, 0)?).into()),
            UINT32 => JsonNode::UInt(u32::from_le_bytes(bytes_at(self.bytes, 0)?).into()),
            UINT64 => JsonNode::UInt(u64::from_le_bytes(bytes_at(self.bytes, 0)?)),
            DOUBLE => JsonNode::Double(f64::from_le_bytes(bytes_at(self.bytes, 0)?)),
            TEXT => JsonNode::Text(std::str::from_utf8(length_prefixed(self.bytes)?).ok()?),
            OPAQUE => {
                let (field_type, rest) = self.bytes.split_first()?;
                let bytes = length_prefixed(rest)?;
                let code = |low: i64, high: i64| {
                    bytes_at(bytes, 0).map(i64::from_le_bytes).filter(|code| (low..=high).contains(code))
                };
                match *field_type {
                    OPAQUE_DECIMAL => JsonNode::Decimal(decimal(bytes)?),
                    OPAQUE_DATE => JsonNode::Date(i32::try_from(code(0, LAST_DATE.into())?).ok()?),
                    OPAQUE_TIME => JsonNode::Time(code(-TIME_MAX_MICROS, TIME_MAX_MICROS)?),
                    OPAQUE_DATETIME => JsonNode::DateTime(code(0, LAST_MOMENT)?),
                    OPAQUE_TIMESTAMP => JsonNode::Timestamp(code(0, LAST_MOMENT)?),
                    field_type => JsonNode::Opaque { field_type, bytes },
                }
            }
            SMALL_ARRAY => JsonNode::Array(ArrayView(Container::new(self.bytes, OffsetWidth::Small, 0)?)),
            LARGE_ARRAY => JsonNode::Array(ArrayView(Container::new(self.bytes, OffsetWidth::Large, 0)?)),
            SMALL_OBJECT => JsonNode::Object(ObjectView(Container::new(self.bytes, OffsetWidth::Small, 4)?)),
            LARGE_OBJECT => JsonNode::Object(ObjectView(Container::new(self.bytes, OffsetWidth::Large, 6)?)),
            _ => return None,
        })
    }

    /// The value as a document of its own.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.kind];
        let length = self.length().min(self.bytes.len());
        bytes.extend_from_slice(&self.bytes[..length]);
        bytes
    }

    /// Bytes of the value without its type.
    fn length(self) -> usize {
        match self.node() {
            JsonNode::Array(ArrayView(container)) | JsonNode::Object(ObjectView(container)) => container.bytes.len(),
            _ => match self.kind {
                LITERAL => 1,
                INT16 | UINT16 => 2,
                INT32 | UINT32 => 4,
                INT64 | UINT64 | DOUBLE => 8,
                TEXT => self.prefixed_length(0),
                OPAQUE => 1 + self.prefixed_length(1),
                _ => self.bytes.len(),
            },
        }
    }

    fn prefixed_length(self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        length_prefixed(rest).map_or(rest.len(), |bytes| bytes.as_ptr().addr() - rest.as_ptr().addr() + bytes.len())
    }

    /// The place of the value in the document that it was found in.
    pub fn place_in(self, whole: JsonView<'_>) -> JsonPlace {
        let offset = self.bytes.as_ptr().addr().wrapping_sub(whole.bytes.as_ptr().addr());
        JsonPlace { kind: self.kind, offset }
    }

    /// The value that [`Self::place_in`] has told the place of, in the same document.
    pub fn at(self, place: JsonPlace) -> JsonView<'a> {
        self.bytes.get(place.offset..).map_or(NULL, |bytes| JsonView { kind: place.kind, bytes })
    }

    /// Where the value lies: two values of one document are the same if this is.
    pub fn place(self) -> usize {
        self.bytes.as_ptr().addr()
    }

    /// MySQL's name of the value's type, as JSON_TYPE tells it.
    pub fn type_name(self) -> &'static str {
        use super::opaque;
        match self.node() {
            JsonNode::Null => "NULL",
            JsonNode::Bool(_) => "BOOLEAN",
            JsonNode::Int(_) => "INTEGER",
            JsonNode::UInt(_) => "UNSIGNED INTEGER",
            JsonNode::Double(_) => "DOUBLE",
            JsonNode::Decimal(_) => "DECIMAL",
            JsonNode::Text(_) => "STRING",
            JsonNode::Date(_) => "DATE",
            JsonNode::DateTime(_) => "DATETIME",
            JsonNode::Timestamp(_) => "TIMESTAMP",
            JsonNode::Time(_) => "TIME",
            JsonNode::Opaque { field_type, .. } => match field_type {
                opaque::BIT => "BIT",
                opaque::VARCHAR | opaque::TINY_BLOB..=opaque::STRING => "BLOB",
                _ => "OPAQUE",
            },
            JsonNode::Array(_) => "ARRAY",
            JsonNode::Object(_) => "OBJECT",
        }
    }

    /// Elements of a container; 1 for a scalar.
    pub fn count(self) -> usize {
        match self.node() {
            JsonNode::Array(array) => array.len(),
            JsonNode::Object(object) => object.len(),
            _ => 1,
        }
    }

    /// Containers within each other, and 1 for the scalar or empty container at the bottom.
    pub fn depth(self) -> usize {
        self.depth_within(super::DEPTH_MAX)
    }

    fn depth_within(self, rest: usize) -> usize {
        let below = |views: &mut dyn Iterator<Item = JsonView<'a>>| match rest {
            0 => 0,
            _ => views.map(|view| view.depth_within(rest - 1)).max().unwrap_or(0),
        };
        match self.node() {
            JsonNode::Array(array) => 1 + below(&mut array.iter()),
            JsonNode::Object(object) => 1 + below(&mut object.iter().map(|(_, value)| value)),
            _ => 1,
        }
    }
}

impl<'a> Container<'a> {
    /// `name_entry`: bytes of the entry of a name; 0 for an array.
    fn new(bytes: &'a [u8], width: OffsetWidth, name_entry: usize) -> Option<Container<'a>> {
        let (count, size) = (offset_at(bytes, 0, width)?, offset_at(bytes, width.bytes(), width)?);
        let bytes = bytes.get(..size)?;
        let entries = 2 * width.bytes() + count.checked_mul(name_entry)?;
        let head = entries.checked_add(count.checked_mul(1 + width.bytes())?)?;
        (head <= size).then_some(Container { bytes, width, count, entries })
    }

    /// The value of an entry; `null` where the bytes make no sense.
    fn value(self, i: usize) -> JsonView<'a> {
        self.checked_value(i).unwrap_or(NULL)
    }

    fn checked_value(self, i: usize) -> Option<JsonView<'a>> {
        let at = self.entries + i * (1 + self.width.bytes());
        let kind = *self.bytes.get(at)?;
        let in_entry = matches!(kind, LITERAL | INT16 | UINT16)
            || self.width == OffsetWidth::Large && matches!(kind, INT32 | UINT32);
        if in_entry {
            return Some(JsonView { kind, bytes: self.bytes.get(at + 1..at + 1 + self.width.bytes())? });
        }
        let offset = offset_at(self.bytes, at + 1, self.width)?;
        // What lies within a container begins behind its head, so that every step inwards makes the rest shorter.
        let is_inside = offset >= self.entries;
        is_inside.then_some(JsonView { kind, bytes: self.bytes.get(offset..)? })
    }

    /// The bytes of a name of an object.
    fn name(self, i: usize) -> &'a [u8] {
        let entry = 2 * self.width.bytes() + i * (self.width.bytes() + 2);
        let range = || {
            let start = offset_at(self.bytes, entry, self.width)?;
            let length = u16::from_le_bytes(bytes_at(self.bytes, entry + self.width.bytes())?);
            self.bytes.get(start..start.checked_add(length.into())?)
        };
        range().unwrap_or_default()
    }
}

impl<'a> ArrayView<'a> {
    pub fn len(self) -> usize {
        self.0.count
    }

    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    pub fn get(self, i: usize) -> Option<JsonView<'a>> {
        (i < self.0.count).then(|| self.0.value(i))
    }

    pub fn iter(self) -> impl Iterator<Item = JsonView<'a>> {
        (0..self.0.count).map(move |i| self.0.value(i))
    }
}

impl<'a> ObjectView<'a> {
    pub fn len(self) -> usize {
        self.0.count
    }

    pub fn is_empty(self) -> bool {
        self.0.count == 0
    }

    /// The member of this name, found by halves among the names.
    pub fn get(self, name: &str) -> Option<JsonView<'a>> {
        let (mut low, mut high) = (0, self.0.count);
        while low < high {
            let middle = (low + high) / 2;
            match name_order(self.0.name(middle), name.as_bytes()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(self.0.value(middle)),
            }
        }
        None
    }

    /// Names and values, in the order of the names.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, JsonView<'a>)> {
        (0..self.0.count).map(move |i| (std::str::from_utf8(self.0.name(i)).unwrap_or_default(), self.0.value(i)))
    }
}
