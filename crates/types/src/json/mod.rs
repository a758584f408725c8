//! JSON documents: values, text, the binary form that columns and expressions hold, paths and order.
//!
//! ```text
//!   value.rs   JsonValue: a document as a tree, which functions change
//!   binary.rs  a tree as bytes, and the limits of a document
//!   view.rs    JsonView: a document as bytes, of which a reader sees what it asks for
//!   text.rs    JSON text to trees, with the positions and words of MySQL's errors
//!   number.rs  numbers of JSON text
//!   print.rs   documents as text
//!   path.rs    paths such as `$.a[last].*`
//!   seek.rs    the places of a document that a path leads to
//!   order.rs   comparison, and keys to sort and group by
//!   sql.rs     SQL values as JSON scalars
//! ```
//!
//! The bytes are drawn in `docs/format.md`, "JSON documents". They are the value of a column
//! ([`crate::Value::Json`]): a path reads offsets and the one member it leads to, and what lies beside it is never
//! looked at. A change makes a tree of the document and writes it anew.
//!
//! Bytes that no writer makes (of a damaged page) are read as `null` where they make no sense; nothing panics and
//! nothing recurses deeper than [`DEPTH_MAX`].

mod binary;
pub mod fuzz;
mod number;
mod order;
mod path;
mod print;
mod seek;
mod sql;
mod text;
mod value;
mod view;

pub use binary::encode;
pub use order::{compare, group_key, order_key};
pub use path::{ArrayIndex, JsonPath, PathLeg};
pub use print::{pretty, quoted, scalar_text, to_text};
pub use seek::{has_match, seek, seek_in_arrays};
pub use sql::{scalar_of, scalar_or_document};
pub use text::{TextError, parse, parse_to_bytes, unescape};
pub use value::{JsonObject, JsonValue};
pub use view::{ArrayView, JsonNode, JsonPlace, JsonView, ObjectView};

use crate::{ErrorCode, SqlError};

/// Containers within each other that a document may have (MySQL: `JSON_DOCUMENT_MAX_DEPTH`).
pub const DEPTH_MAX: usize = 100;

/// The binary form of `null`.
pub const NULL_BYTES: [u8; 2] = [binary::LITERAL, binary::LITERAL_NULL];

/// The limit of documents that a value does not keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonLimit {
    TooDeep,
    KeyTooLong,
    TooLarge,
}

impl JsonLimit {
    /// 3157, 3151 or 3150.
    pub fn error(self) -> SqlError {
        match self {
            JsonLimit::TooDeep => {
                SqlError::new(ErrorCode::JsonDocumentTooDeep, "The JSON document exceeds the maximum depth.")
            }
            JsonLimit::KeyTooLong => {
                SqlError::new(ErrorCode::JsonKeyTooBig, "The JSON object contains a key name that is too long.")
            }
            JsonLimit::TooLarge => {
                SqlError::new(ErrorCode::JsonValueTooBig, "The JSON value is too big to be stored in a JSON column.")
            }
        }
    }
}

/// MySQL's numbers of the column types that opaque values come from (`enum_field_types`).
pub mod opaque {
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
}

#[cfg(test)]
mod tests;
