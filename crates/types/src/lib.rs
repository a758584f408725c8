//! MySQL's values, shared by every layer.
//!
//! ```text
//!   SqlType    what a column or an expression is        sql_type.rs
//!              bytes of a declared type            declared_bytes.rs
//!   Value      one value of it                          value.rs
//!   Decimal    exact decimal numbers                    decimal.rs
//!   wide       256-bit products for exact division      wide.rs
//!   temporal   days and microseconds, text both ways    temporal.rs
//!   TimeZone   local times of moments, and back         time_zone.rs
//!   MemberList the members of ENUM and SET          members.rs
//!   UnsignedNumber columns with UNSIGNED, ZEROFILL      unsigned_number.rs
//!   KeyPart    parts and ranges of index keys          key.rs
//!   Collation  how text compares: sort keys             collation/
//!   cast       conversion of values between types       cast.rs
//!   json       JSON documents: trees, bytes, text, paths  json/
//!   store      storing values into columns              store/
//!   order      how values compare, and where they lie between others  order.rs
//!   Distribution  how the values of a table are spread    distribution/
//!   charset    text to bytes of a character set     charset/
//!              tables of both, as files               tables/
//!   SqlModes   the modes of sql_mode                   sql_mode.rs
//!   SqlError   MySQL's error numbers and wording        error.rs
//! ```
//!
//! The crate knows neither SQL text nor pages nor operators, so all of them can share it.

pub mod cast;
pub mod charset;
pub mod collation;
pub mod decimal;
mod declared_bytes;
pub mod distribution;
pub mod error;
pub mod json;
pub mod key;
pub mod members;
pub mod order;
pub mod sql_mode;
pub mod sql_type;
pub mod store;
mod tables;
pub mod temporal;
pub mod time_zone;
pub mod unsigned_number;
pub mod value;
pub mod value_ref;
pub mod wide;

pub use cast::{CastWarning, cast, cast_from};
pub use collation::Collation;
pub use decimal::Decimal;
pub use error::{ErrorCode, Result, SqlError};
pub use key::{KeyInterval, KeyPart, KeyRange, prefix_end};
pub use members::MemberList;
pub use sql_mode::SqlModes;
pub use sql_type::{BytesKind, FloatDigits, IntWidth, SqlType, TextKind};
pub use unsigned_number::{NumberKind, UnsignedNumber};
pub use value::Value;
pub use value_ref::ValueRef;
