//! Encryption, random bytes and universal unique identifiers.
//!
//! ```text
//!   aes.rs          AES_ENCRYPT, AES_DECRYPT
//!   block_mode.rs   the modes of block_encryption_mode
//!   derivation.rs   keys of passwords: HKDF and PBKDF2 with SHA-512
//!   uuid.rs         UUID, UUID_SHORT, UUID_TO_BIN, BIN_TO_UUID, IS_UUID
//!   random_bytes.rs RANDOM_BYTES
//! ```

mod aes;
mod block_mode;
mod derivation;
mod random_bytes;
mod uuid;

pub use block_mode::BlockMode;

use crate::{
    Function, ResultType, SessionValue,
    Takes::{AsIs, Bytes, Int, Text},
    Typing,
    encoding::bytes_of,
    result,
};

/// The variables that UUID_SHORT needs.
const SERVER: &[SessionValue] = &[SessionValue::Variable("server_id")];
const MODE: &[SessionValue] = &[SessionValue::Variable("block_encryption_mode")];

pub const FUNCTIONS: &[Function] = &[
    Function::new("AES_ENCRYPT", &[Bytes, Bytes, Bytes, Bytes, Bytes, Bytes], encrypted, aes::encrypt)
        .optional(4)
        .takes_null()
        .asks(MODE),
    Function::new("AES_DECRYPT", &[Bytes, Bytes, Bytes, Bytes, Bytes, Bytes], decrypted, aes::decrypt)
        .optional(4)
        .takes_null()
        .asks(MODE),
    Function::new("RANDOM_BYTES", &[Int], |_| ResultType::Bytes(1024), random_bytes::random_bytes).volatile(),
    Function::new("UUID", &[], |_| ResultType::SystemText(36), uuid::uuid).volatile(),
    Function::new("UUID_SHORT", &[], result::bigint_unsigned, uuid::uuid_short).volatile().never_null().asks(SERVER),
    Function::new("UUID_TO_BIN", &[Text, AsIs], |_| ResultType::Bytes(16), uuid::uuid_to_bin).optional(1).takes_null(),
    Function::new("BIN_TO_UUID", &[Bytes, AsIs], |_| ResultType::ConnectionText(36), uuid::bin_to_uuid)
        .optional(1)
        .takes_null(),
    Function::new("IS_UUID", &[Text], result::truth, uuid::is_uuid),
];

/// AES_ENCRYPT: the next block is always begun.
fn encrypted(typing: &Typing) -> ResultType {
    ResultType::Bytes((typing.args.first().map_or(0, bytes_of) / 16 + 1) * 16)
}

fn decrypted(typing: &Typing) -> ResultType {
    ResultType::Bytes(typing.args.first().map_or(0, bytes_of))
}
