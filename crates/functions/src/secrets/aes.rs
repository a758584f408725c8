//! AES_ENCRYPT and AES_DECRYPT: `(text, key [, initial vector [, key derivation [, salt [, info or iterations]]]])`.

use super::{
    block_mode::{BLOCK_BYTES, BlockMode},
    derivation,
};
use crate::{Call, strings::characters::bytes_in_charset};
use muster_types::{ErrorCode, Result, SqlError, Value};

/// Iterations of PBKDF2, and how many there may be.
const ITERATIONS: u32 = 1000;
const ITERATIONS_MIN: u32 = 1000;
const ITERATIONS_MAX: u32 = 65535;

/// Most bytes of an option of the key derivation.
const OPTION_BYTES_MAX: usize = 255;

pub fn encrypt(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some((mode, key, initial_vector)) = keyed(call, args)? else { return Ok(Value::Null) };
    warn_of_key(call, args, mode);
    let text = bytes_in_charset(call, args, 0).into_owned();
    if !call.has_room(text.len() + BLOCK_BYTES)? {
        return Ok(Value::Null);
    }
    Ok(mode.encrypt(&key, initial_vector, &text).map_or(Value::Null, Value::Bytes))
}

pub fn decrypt(call: &mut Call, args: &[Value]) -> Result<Value> {
    let Some((mode, key, initial_vector)) = keyed(call, args)? else { return Ok(Value::Null) };
    let text = bytes_in_charset(call, args, 0);
    let decrypted = mode.decrypt(&key, initial_vector, &text);
    if decrypted.is_some() {
        warn_of_key(call, args, mode);
    }
    Ok(decrypted.map_or(Value::Null, Value::Bytes))
}

/// Warning 3237 for a key that is longer than the mode takes and is not derived.
fn warn_of_key(call: &mut Call, args: &[Value], mode: BlockMode) {
    let key_bytes = mode.key_bytes();
    if args.len() <= 3 && bytes_in_charset(call, args, 1).len() > key_bytes {
        let message = format!(
            "AES key size should be {key_bytes} bytes length or secure KDF methods hkdf or pbkdf2_hmac should be used, \
             please provide exact AES key size or use KDF methods for better security."
        );
        call.warn(ErrorCode::AesKeySize, message);
    }
}

/// The mode, the key and the initial vector of a call; `None` if its text or its key is NULL.
fn keyed(call: &mut Call, args: &[Value]) -> Result<Option<(BlockMode, Vec<u8>, [u8; BLOCK_BYTES])>> {
    let name = call.session_text(0);
    let mode = BlockMode::from_name(&name).ok_or_else(|| SqlError::internal(format!("mode {name}")))?;
    let needs_vector = mode.needs_initial_vector();
    if needs_vector && args.len() < 3 {
        let message = format!("Incorrect parameter count in the call to native function '{}'", call.name);
        return Err(SqlError::new(ErrorCode::WrongParamCountToNativeFct, message));
    }
    let options = (3..args.len()).map(|i| option(call, args, i)).collect::<Result<Vec<_>>>()?;
    if args[0].is_null() || args[1].is_null() {
        return Ok(None);
    }
    let password = bytes_in_charset(call, args, 1).into_owned();
    let key = match options.split_first() {
        Some((method, options)) => derived(method, options, &password, mode.key_bytes())?,
        None => folded(&password, mode.key_bytes()),
    };
    let mut vector = [0; BLOCK_BYTES];
    if needs_vector {
        let given = if args[2].is_null() { Vec::new() } else { bytes_in_charset(call, args, 2).into_owned() };
        let Some(first) = given.first_chunk::<BLOCK_BYTES>() else {
            let message = format!(
                "The initialization vector supplied to {} is too short. Must be at least {BLOCK_BYTES} bytes long",
                call.name
            );
            return Err(SqlError::new(ErrorCode::AesInvalidInitialVector, message));
        };
        vector = *first;
    } else if args.len() == 3 {
        call.warn(ErrorCode::OptionIgnored, "<IV> option ignored");
    }
    Ok(Some((mode, key, vector)))
}

/// An option of the key derivation. Error 3238: NULL, or too long.
fn option(call: &Call, args: &[Value], i: usize) -> Result<Vec<u8>> {
    let bytes = bytes_in_charset(call, args, i);
    if args[i].is_null() || bytes.len() > OPTION_BYTES_MAX {
        let message = "KDF option size is invalid, please provide valid size < 256 bytes and not NULL";
        return Err(SqlError::new(ErrorCode::KdfOptionSize, message));
    }
    Ok(bytes.into_owned())
}

/// A key of a password by HKDF or PBKDF2.
fn derived(method: &[u8], options: &[Vec<u8>], password: &[u8], key_bytes: usize) -> Result<Vec<u8>> {
    let option = |i: usize| options.get(i).map_or([].as_slice(), Vec::as_slice);
    match method {
        b"hkdf" => Ok(derivation::hkdf(password, option(0), option(1), key_bytes)),
        b"pbkdf2_hmac" => {
            let iterations = match options.get(1) {
                Some(text) => leading_number(text),
                None => ITERATIONS,
            };
            if !(ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations) {
                let message = "For KDF method pbkdf2_hmac iterations value less than 1000 or more than 65535 is not allowed \
                               due to security reasons. Please provide iterations >= 1000 and iterations < 65535";
                return Err(SqlError::new(ErrorCode::KdfIterations, message));
            }
            Ok(derivation::pbkdf2(password, option(0), iterations, key_bytes))
        }
        _ => {
            let message = "KDF method name is not valid. Please use hkdf or pbkdf2_hmac method name";
            Err(SqlError::new(ErrorCode::KdfMethod, message))
        }
    }
}

/// The number that a text begins with; 0 without one.
fn leading_number(text: &[u8]) -> u32 {
    let digits = text.iter().map_while(|b| (*b as char).to_digit(10));
    digits.fold(0, |number: u32, digit| number.saturating_mul(10).saturating_add(digit))
}

/// A key of a password that is used as it is: longer ones are folded. Warning 3237 for these.
fn folded(password: &[u8], key_bytes: usize) -> Vec<u8> {
    let mut key = vec![0; key_bytes];
    password.iter().enumerate().for_each(|(i, byte)| key[i % key_bytes] ^= byte);
    key
}
