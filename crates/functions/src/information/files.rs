//! LOAD_FILE.

use crate::{Call, strings::characters::Characters};
use muster_types::{Result, Value};
use std::{fs, io::Read, path::Path};

/// The bytes of a file of the server, by its whole path. NULL without the privilege FILE, if `secure_file_priv` does
/// not allow it, if it cannot be read or if it is longer than `max_allowed_packet`.
pub fn load_file(call: &mut Call, args: &[Value]) -> Result<Value> {
    let path = String::from_utf8_lossy(&Characters::of(args, 0).bytes).into_owned();
    let allowed = match call.session.first() {
        Some(Value::Text(directory)) if call.session.get(2) == Some(&Value::Bool(true)) => directory.clone(),
        _ => return Ok(Value::Null),
    };
    let Some(bytes) = read(Path::new(&path), &allowed, call.session_int(1)) else { return Ok(Value::Null) };
    (call.reserve)(bytes.len())?;
    Ok(Value::Bytes(bytes))
}

/// The bytes of a file below a directory, of any file if that is empty.
fn read(path: &Path, allowed: &str, bytes_max: i64) -> Option<Vec<u8>> {
    let path = fs::canonicalize(path).ok().filter(|_| path.is_absolute())?;
    if !allowed.is_empty() && !path.starts_with(fs::canonicalize(allowed).ok()?) {
        return None;
    }
    let file = fs::File::open(path).ok()?;
    let about = file.metadata().ok()?;
    let bytes_max = u64::try_from(bytes_max).unwrap_or(0);
    if !about.is_file() || about.len() > bytes_max {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
