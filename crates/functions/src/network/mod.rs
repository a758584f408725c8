//! Addresses of networks: INET_ATON, INET_NTOA, INET6_ATON, INET6_NTOA, IS_IPV4, IS_IPV4_COMPAT, IS_IPV4_MAPPED,
//! IS_IPV6.

mod address;

use crate::{
    Call, Function, ResultType,
    Takes::{self, AsIs, Int, Text},
    result,
    strings::characters::Characters,
};
use address::{printed_ipv6, read_ipv4, read_ipv6, read_short_ipv4};
use muster_types::{Result, Value};
use std::net::Ipv4Addr;

pub const FUNCTIONS: &[Function] = &[
    Function::new("INET_ATON", &[Text], result::bigint_unsigned, inet_aton),
    Function::new("INET_NTOA", &[Int], |_| ResultType::ConnectionText(31), inet_ntoa),
    Function::new("INET6_ATON", &[Text], |_| ResultType::Bytes(16), inet6_aton),
    Function::new("INET6_NTOA", &[AsIs], |_| ResultType::ConnectionText(39), inet6_ntoa),
    truth("IS_IPV4", &[Text], is_ipv4),
    truth("IS_IPV6", &[Text], is_ipv6),
    truth("IS_IPV4_COMPAT", &[AsIs], is_ipv4_compat),
    truth("IS_IPV4_MAPPED", &[AsIs], is_ipv4_mapped),
];

/// A test of one argument.
const fn truth(
    name: &'static str,
    takes: &'static [Takes],
    value: fn(&mut Call, &[Value]) -> Result<Value>,
) -> Function {
    Function::new(name, takes, result::truth, value).null_of_null()
}

/// The number of an address, `1.2.3.4`; with fewer than four parts the last one counts for the rest.
fn inet_aton(call: &mut Call, args: &[Value]) -> Result<Value> {
    match read_short_ipv4(&Characters::of(args, 0).bytes) {
        Some(number) => Ok(Value::UInt(number.into())),
        None => {
            call.warn_wrong_value(0, "string");
            Ok(Value::Null)
        }
    }
}

fn inet_ntoa(call: &mut Call, args: &[Value]) -> Result<Value> {
    let number = match &args[0] {
        Value::Int(n) => u32::try_from(*n).ok(),
        Value::UInt(n) => u32::try_from(*n).ok(),
        _ => None,
    };
    match number {
        Some(number) => Ok(Value::Text(Ipv4Addr::from(number).to_string())),
        None => {
            call.warn_wrong_value(0, "integer");
            Ok(Value::Null)
        }
    }
}

/// The bytes of an address: 4 of version 4, 16 of version 6.
fn inet6_aton(call: &mut Call, args: &[Value]) -> Result<Value> {
    let text = Characters::of(args, 0).bytes;
    if let Some(address) = read_ipv4(&text) {
        return Ok(Value::Bytes(address.to_vec()));
    }
    if let Some(address) = read_ipv6(&text) {
        return Ok(Value::Bytes(address.to_vec()));
    }
    call.warn_wrong_value(0, "string");
    Ok(Value::Null)
}

fn inet6_ntoa(call: &mut Call, args: &[Value]) -> Result<Value> {
    if let Value::Bytes(bytes) = &args[0] {
        if let Ok(address) = <[u8; 4]>::try_from(bytes.as_slice()) {
            return Ok(Value::Text(Ipv4Addr::from(address).to_string()));
        }
        if let Ok(address) = <[u8; 16]>::try_from(bytes.as_slice()) {
            return Ok(Value::Text(printed_ipv6(address)));
        }
    }
    call.warn_wrong_value(0, "string");
    Ok(Value::Null)
}

fn is_ipv4(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(read_ipv4(&Characters::of(args, 0).bytes).is_some()))
}

fn is_ipv6(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(read_ipv6(&Characters::of(args, 0).bytes).is_some()))
}

/// The four parts of an address of version 6 in bytes, if the argument is one.
fn ipv6_parts(args: &[Value]) -> Option<[u32; 4]> {
    let Value::Bytes(bytes) = &args[0] else { return None };
    let bytes = <[u8; 16]>::try_from(bytes.as_slice()).ok()?;
    let number = u128::from_be_bytes(bytes);
    Some([number >> 96, number >> 64, number >> 32, number].map(|part| part as u32))
}

/// `::1.2.3.4`, without the addresses `::` and `::1`.
fn is_ipv4_compat(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(matches!(ipv6_parts(args), Some([0, 0, 0, 2..=u32::MAX]))))
}

/// `::ffff:1.2.3.4`.
fn is_ipv4_mapped(_: &mut Call, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(matches!(ipv6_parts(args), Some([0, 0, 0xFFFF, _]))))
}
