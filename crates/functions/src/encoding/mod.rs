//! Bytes as text and text as bytes, checksums of bytes, and compression.
//!
//! ```text
//!   digits.rs    HEX, UNHEX, TO_BASE64, FROM_BASE64, CHAR
//!   digest.rs    MD5, SHA1, SHA2
//!   compress.rs  COMPRESS, UNCOMPRESS, UNCOMPRESSED_LENGTH
//! ```

mod compress;
mod digest;
mod digits;

use crate::{
    ArgumentType, Function, ResultType,
    Takes::{Bits, Bytes, Int, Text, Whole},
    Typing, result,
};
use muster_types::{SqlType, TextKind};

pub const FUNCTIONS: &[Function] = &[
    Function::new("HEX", &[Whole], hexadecimal, digits::hex).null_of_null(),
    Function::new("UNHEX", &[Bytes], half, digits::unhex),
    Function::new("TO_BASE64", &[Bytes], base64_digits, digits::to_base64).null_of_null(),
    Function::new("FROM_BASE64", &[Text], three_quarters, digits::from_base64),
    Function::new("CHAR", &[Bits], four_bytes_each, digits::char).repeated().takes_null().never_null(),
    Function::new("MD5", &[Bytes], |_| ResultType::ConnectionText(32), digest::md5).null_of_null(),
    Function::new("SHA1", &[Bytes], |_| ResultType::ConnectionText(40), digest::sha1).also(&["SHA"]).null_of_null(),
    Function::new("SHA2", &[Bytes, Int], sha2_digits, digest::sha2).takes_null(),
    Function::new("COMPRESS", &[Bytes], compressed, compress::compress),
    Function::new("UNCOMPRESS", &[Bytes], |_| ResultType::Bytes(u32::MAX.into()), compress::uncompress),
    Function::new("UNCOMPRESSED_LENGTH", &[Bytes], result::bigint, compress::uncompressed_length).null_of_null(),
];

/// Most bytes of an argument in its character set.
pub fn bytes_of(arg: &ArgumentType) -> u64 {
    let each = match arg.given {
        // The length of a TEXT counts bytes.
        SqlType::Text { kind: TextKind::TinyText | TextKind::Text, .. } => 1,
        given => given.collation().map_or(1, |collation| collation.charset_max_bytes()),
    };
    u64::from(arg.characters) * u64::from(each)
}

fn bytes_at(typing: &Typing, i: usize) -> u64 {
    typing.args.get(i).map_or(0, bytes_of)
}

/// HEX: 16 digits of a number, else two of each byte.
fn hexadecimal(typing: &Typing) -> ResultType {
    let is_number = typing.args.first().is_some_and(|arg| arg.given.is_numeric());
    ResultType::ConnectionText(if is_number { 16 } else { 2 * bytes_at(typing, 0) })
}

fn half(typing: &Typing) -> ResultType {
    ResultType::Bytes(most_bytes_at(typing, 0).div_ceil(2))
}

/// Most bytes of an argument; those of a TEXT count as characters, too.
fn most_bytes_at(typing: &Typing, i: usize) -> u64 {
    typing.args.get(i).map_or(0, |arg| {
        let each = arg.given.collation().map_or(1, |collation| collation.charset_max_bytes());
        u64::from(arg.characters) * u64::from(each)
    })
}

fn base64_digits(typing: &Typing) -> ResultType {
    ResultType::ConnectionText(digits::base64_length(bytes_at(typing, 0)))
}

fn three_quarters(typing: &Typing) -> ResultType {
    ResultType::Bytes(most_bytes_at(typing, 0) * 3 / 4)
}

fn four_bytes_each(typing: &Typing) -> ResultType {
    ResultType::Bytes(4 * typing.args.len() as u64)
}

/// SHA2: as many digits as a constant number of bits makes; 128 if it is none.
fn sha2_digits(typing: &Typing) -> ResultType {
    let is_constant = typing.args.get(1).is_some_and(|arg| arg.value.is_some() || arg.is_null);
    ResultType::ConnectionText(match typing.constant_int(1) {
        Some(bits @ (224 | 384 | 512)) => bits as u64 / 4,
        _ if is_constant => 64,
        _ => 128,
    })
}

fn compressed(typing: &Typing) -> ResultType {
    ResultType::Bytes(compress::bound(bytes_at(typing, 0)))
}
