//! Functions of JSON (MySQL's manual 12.18). Documents are values in the binary form of [`muster_types::json`], or
//! texts that are read as JSON.
//!
//! ```text
//!   argument.rs  arguments as documents, paths and members, with their errors
//!   build.rs     JSON_OBJECT, JSON_ARRAY, JSON_QUOTE, JSON_UNQUOTE, JSON_PRETTY
//!   read.rs      JSON_EXTRACT, JSON_KEYS, JSON_LENGTH, JSON_DEPTH, JSON_TYPE, JSON_VALID, JSON_STORAGE_..
//!   column.rs    values in columns of JSON_TABLE
//!   contains.rs  JSON_CONTAINS, JSON_CONTAINS_PATH, JSON_OVERLAPS, MEMBER OF
//!   scalar.rs    JSON_VALUE
//!   schema.rs    JSON_SCHEMA_VALID, JSON_SCHEMA_VALIDATION_REPORT
//!   search.rs    JSON_SEARCH
//!   change.rs    JSON_SET, JSON_INSERT, JSON_REPLACE, JSON_REMOVE, JSON_ARRAY_APPEND, JSON_ARRAY_INSERT
//!   merge.rs     JSON_MERGE_PRESERVE, JSON_MERGE_PATCH
//! ```

mod argument;
mod build;
mod change;
pub mod column;
mod contains;
mod merge;
mod read;
pub mod scalar;
mod schema;
mod search;

use crate::{
    Function, ResultType, SessionValue,
    Takes::{AsIs, JsonScalar, Text},
    Typing, result,
};
use muster_types::{Collation, SqlType, TextKind};

pub const FUNCTIONS: &[Function] = &[
    Function::new("JSON_ARRAY", &[JsonScalar], document, build::array).optional(1).repeated().takes_null(),
    Function::new("JSON_OBJECT", &[AsIs, JsonScalar], document, build::object)
        .optional(2)
        .repeated()
        .in_groups(2)
        .takes_null(),
    Function::new("JSON_QUOTE", &[AsIs], quoted_text, build::quote),
    Function::new("JSON_UNQUOTE", &[AsIs], unquoted_text, build::unquote),
    Function::new("JSON_PRETTY", &[AsIs], long_text, build::pretty),
    Function::new("JSON_EXTRACT", &[AsIs, Text], document, read::extract).repeated().takes_null(),
    Function::new("JSON_KEYS", &[AsIs, Text], document, read::keys).optional(1).takes_null(),
    Function::new("JSON_LENGTH", &[AsIs, Text], result::bigint, read::length).optional(1).takes_null(),
    Function::new("JSON_DEPTH", &[AsIs], result::bigint, read::depth),
    Function::new("JSON_TYPE", &[AsIs], |_| ResultType::Of(varchar(TYPE_NAME)), read::type_name),
    Function::new("JSON_VALID", &[AsIs], result::truth, read::valid),
    Function::new("JSON_STORAGE_SIZE", &[AsIs], result::bigint, read::storage_size),
    Function::new("JSON_STORAGE_FREE", &[AsIs], result::bigint, read::storage_free),
    Function::new("JSON_CONTAINS", &[AsIs, AsIs, Text], result::truth, contains::contains).optional(1).takes_null(),
    Function::new("JSON_CONTAINS_PATH", &[AsIs, Text, Text], result::truth, contains::contains_path)
        .repeated()
        .takes_null(),
    Function::new("JSON_OVERLAPS", &[AsIs, AsIs], result::truth, contains::overlaps).takes_null(),
    Function::new("MEMBER OF", &[JsonScalar, AsIs], result::truth, contains::member_of),
    // The binder makes its arguments, of which the third one has the type of the result.
    Function::new("JSON_VALUE", &[AsIs, Text, AsIs, AsIs, AsIs, AsIs], value_type, scalar::value)
        .takes_null()
        .asks(&[SessionValue::DateModes]),
    Function::new("JSON_SCHEMA_VALID", &[AsIs, AsIs], result::truth, schema::valid),
    Function::new("JSON_SCHEMA_VALIDATION_REPORT", &[AsIs, AsIs], document, schema::report),
    Function::new("JSON_SEARCH", &[AsIs, Text, Text, Text, Text], document, search::search)
        .optional(2)
        .repeated()
        .takes_null(),
    Function::new("JSON_SET", &[AsIs, Text, JsonScalar], document, change::set).repeated().in_groups(2).takes_null(),
    Function::new("JSON_INSERT", &[AsIs, Text, JsonScalar], document, change::insert)
        .repeated()
        .in_groups(2)
        .takes_null(),
    Function::new("JSON_REPLACE", &[AsIs, Text, JsonScalar], document, change::replace)
        .repeated()
        .in_groups(2)
        .takes_null(),
    Function::new("JSON_ARRAY_APPEND", &[AsIs, Text, JsonScalar], document, change::array_append)
        .repeated()
        .in_groups(2)
        .takes_null(),
    Function::new("JSON_ARRAY_INSERT", &[AsIs, Text, JsonScalar], document, change::array_insert)
        .repeated()
        .in_groups(2)
        .takes_null(),
    Function::new("JSON_REMOVE", &[AsIs, Text], document, change::remove).repeated().takes_null(),
    Function::new("JSON_MERGE_PRESERVE", &[AsIs, AsIs], document, merge::preserve).repeated().takes_null(),
    Function::new("JSON_MERGE", &[AsIs, AsIs], document, merge::preserve).repeated().takes_null(),
    Function::new("JSON_MERGE_PATCH", &[AsIs, AsIs], document, merge::patch).repeated().takes_null(),
];

/// Characters of JSON_TYPE.
const TYPE_NAME: u32 = 17;

fn document(_: &Typing) -> ResultType {
    ResultType::Of(SqlType::Json)
}

fn value_type(typing: &Typing) -> ResultType {
    ResultType::Of(typing.args.get(2).map_or(SqlType::Json, |arg| arg.ty))
}

fn varchar(length: u32) -> SqlType {
    SqlType::varchar(length, Collation::Utf8mb4Bin)
}

fn long_text(_: &Typing) -> ResultType {
    ResultType::Of(SqlType::Text { kind: TextKind::LongText, length: u32::MAX, collation: Collation::Utf8mb4Bin })
}

/// A text of so many characters.
fn text_of(characters: u64) -> ResultType {
    const VARCHAR: u64 = 65_535 / 4;
    const MEDIUM: u64 = ((1 << 24) - 1) / 4;
    let kind = match characters {
        ..=VARCHAR => TextKind::VarChar,
        _ if characters <= MEDIUM => TextKind::MediumText,
        _ => TextKind::LongText,
    };
    let length = u32::try_from(characters).unwrap_or(u32::MAX);
    ResultType::Of(SqlType::Text { kind, length, collation: Collation::Utf8mb4Bin })
}

fn unquoted_text(typing: &Typing) -> ResultType {
    text_of(typing.characters(0))
}

/// A character may take six, and there are quotation marks.
fn quoted_text(typing: &Typing) -> ResultType {
    text_of(typing.characters(0).saturating_mul(6).saturating_add(2))
}
