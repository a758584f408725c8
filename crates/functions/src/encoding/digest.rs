//! MD5, SHA1, SHA2.

use super::digits::hexadecimal;
use crate::{Call, call::int, strings::characters::bytes_in_charset};
use md5::Digest;
use muster_types::{ErrorCode, Result, Value};

fn digits(digest: &[u8]) -> Value {
    Value::Text(hexadecimal(digest, b"0123456789abcdef"))
}

pub fn md5(call: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(digits(&md5::Md5::digest(bytes_in_charset(call, args, 0))))
}

pub fn sha1(call: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(digits(&sha1::Sha1::digest(bytes_in_charset(call, args, 0))))
}

/// `SHA2(text, bits)`: 0 stands for 256 bits. NULL with warning 1583 for other numbers than those of the standard.
pub fn sha2(call: &mut Call, args: &[Value]) -> Result<Value> {
    let bits = if args[1].is_null() { -1 } else { int(args, 1) };
    if args[0].is_null() && matches!(bits, 0 | 224 | 256 | 384 | 512) {
        return Ok(Value::Null);
    }
    let bytes = bytes_in_charset(call, args, 0);
    Ok(match bits {
        224 => digits(&sha2::Sha224::digest(bytes)),
        0 | 256 => digits(&sha2::Sha256::digest(bytes)),
        384 => digits(&sha2::Sha384::digest(bytes)),
        512 => digits(&sha2::Sha512::digest(bytes)),
        _ => {
            let message = format!("Incorrect parameters in the call to native function '{}'", call.name);
            call.warn(ErrorCode::WrongParametersToNativeFct, message);
            Value::Null
        }
    })
}
