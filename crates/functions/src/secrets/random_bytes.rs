//! RANDOM_BYTES.

use crate::{Call, call::int};
use muster_types::{ErrorCode, Result, SqlError, Value};

/// Bytes of the operating system's generator, 1 to 1024.
pub fn random_bytes(call: &mut Call, args: &[Value]) -> Result<Value> {
    let length = usize::try_from(int(args, 0)).unwrap_or(0);
    if !(1..=1024).contains(&length) {
        let message = format!("length value is out of range in '{}'", call.name);
        return Err(SqlError::new(ErrorCode::DataOutOfRange, message));
    }
    let mut bytes = vec![0; length];
    fill(&mut bytes)?;
    Ok(Value::Bytes(bytes))
}

/// Error 1105: the operating system has no random numbers.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|e| SqlError::internal(format!("random numbers: {e}")))
}
